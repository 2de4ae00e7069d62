# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the records of an agent's spool: an independent decoder of the table in docs/PROTOCOL.md."""
import json
import struct
from pathlib import Path

HEADER = struct.Struct("<HBBIQIIqqI")
SEGMENT_HEADER_LEN = 64
MAGIC = 0x5253
RUN_START, RUN_END, SERIES, HIST, COUNTER, VALUE, GAP = 1, 2, 3, 4, 5, 6, 7
BREACH, ENVIRONMENT, PHASE, LOG = 8, 9, 10, 11


def varint(data, pos):
    value = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, pos
        shift += 7


def items(payload):
    pos = 0
    while pos < len(payload):
        kind, pos = varint(payload, pos)
        length, pos = varint(payload, pos)
        yield kind, payload[pos:pos + length]
        pos += length


def records(segment):
    """(sequence, run ordinal, [(type, bytes)]) of one segment file, up to a footer or torn tail."""
    data = Path(segment).read_bytes()
    pos = SEGMENT_HEADER_LEN
    while pos + HEADER.size <= len(data):
        magic, _version, _flags, length, seq, run, *_ = HEADER.unpack_from(data, pos)
        if magic != MAGIC or pos + length > len(data):
            return
        yield seq, run, list(items(data[pos + HEADER.size:pos + length]))
        pos += length


class Run:
    def __init__(self, start):
        self.start, self.end, self.series, self.values, self.phases = start, None, {}, {}, []
        self.environment = None

    @property
    def factors(self):
        return self.start["factors"]


def runs(spool):
    """The runs of every stream in the spool, in the order of their streams' segments."""
    found, environments = [], {}
    for segment in sorted(Path(spool).glob("*/*.seg"), key=lambda p: p.stat().st_mtime):
        for _seq, _ordinal, parts in records(segment):
            for kind, data in parts:
                take(kind, data, found, environments)
    return found


def take(kind, data, found, environments):
    if kind == ENVIRONMENT:
        import hashlib
        environments[hashlib.sha256(data).hexdigest()] = json.loads(data)
    elif kind == RUN_START:
        run = Run(json.loads(data))
        run.environment = environments[run.start["environment_sha256"]]
        found.append(run)
    elif kind == RUN_END:
        end = json.loads(data)
        next(r for r in found if r.start["run_uid"] == end["run_uid"]).end = end
    elif kind == SERIES:
        number, pos = varint(data, 0)
        found[-1].series[number] = json.loads(data[pos:])
    elif kind == VALUE:
        number, pos = varint(data, 0)
        found[-1].values[found[-1].series[number]["metric"]] = struct.unpack("<d", data[pos:])[0]
    elif kind == PHASE:
        found[-1].phases.append((data[0], struct.unpack("<q", data[1:9])[0]))
