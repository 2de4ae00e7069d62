# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as docs/PROTOCOL.md describes them: an independent reader, and posting them."""
import json
import struct
import subprocess

from conftest import RECGEN

HEADER = struct.Struct("<HBBIQIIqqI")
RUN_START, RUN_END, SERIES, HIST, COUNTER, VALUE, GAP, BREACH, ENVIRONMENT, PHASE, LOG = range(1, 12)


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def recgen(path, **options):
    """Runs the generator; returns its records."""
    args = [str(RECGEN), "--out", str(path)]
    for name, value in options.items():
        name = "--" + name.replace("_", "-")
        args += [name] if value is True else [name, str(value)]
    subprocess.run(args, check=True)
    with open(path, "rb") as f:
        return split(f.read())


class Record:
    def __init__(self, data):
        self.data = data
        (magic, version, _, self.length, self.seq, self.run, self.samples, _, self.realtime_ns,
         self.crc) = HEADER.unpack_from(data)
        assert magic == 0x5253 and version == 1 and self.length == len(data)

    def items(self):
        r = Reader(self.data[HEADER.size:])
        while r.left():
            kind, length = r.varint(), r.varint()
            yield kind, r.take(length)


def split(data):
    records = []
    while data:
        length = HEADER.unpack_from(data)[3]
        records.append(Record(data[:length]))
        data = data[length:]
    return records


def make(seq, run, items, realtime_ns=1_700_000_000_000_000_000):
    """A record of (type, bytes) items."""
    payload = b"".join(varint(k) + varint(len(d)) + d for k, d in items)
    head = HEADER.pack(0x5253, 1, 0, HEADER.size + len(payload), seq, run, 0, 1, realtime_ns, 0)
    crc = crc32c(head[:-4] + payload)
    return Record(head[:-4] + struct.pack("<I", crc) + payload)


def varint(v):
    out = b""
    while v > 0x7F:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        assert self.left() >= n
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        v = shift = 0
        while True:
            byte = self.take(1)[0]
            v |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return v
            shift += 7

    def zigzag(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def rest(self):
        return self.take(self.left())


def slot_edges(slot):
    """[lo, hi) of a slot of the fixed layout."""
    if slot < 256:
        return slot, slot + 1
    e = (slot >> 7) + 6
    width = 1 << (e - 7)
    lo = (128 + (slot & 127)) * width
    return lo, lo + width


class Hist:
    """A histogram of the fixed layout."""

    def __init__(self):
        self.buckets = {}
        self.overflow = self.negative = self.lost = 0
        self.min = self.max = None
        self.sum = 0

    @property
    def count(self):
        return sum(self.buckets.values()) + self.overflow + self.negative

    @classmethod
    def read(cls, data):
        h, r = cls(), Reader(data)
        head = r.take(1)[0]
        assert head & 15 == 0
        h.overflow, h.negative, h.lost = r.varint(), r.varint(), r.varint()
        if h.overflow:
            r.zigzag()
        if head & 0x10:
            h.min = r.zigzag()
        if head & 0x20:
            h.max = r.zigzag()
        h.sum = r.zigzag() if head & 0x40 else None
        slot = 0
        for _ in range(r.varint()):
            slot += r.varint()
            h.buckets[slot] = r.varint()
            slot += 1
        assert not r.left()
        return h

    def add(self, other):
        for slot, n in other.buckets.items():
            self.buckets[slot] = self.buckets.get(slot, 0) + n
        self.overflow += other.overflow
        self.negative += other.negative
        self.lost += other.lost
        if other.min is not None:
            self.min = other.min if self.min is None else min(self.min, other.min)
            self.max = other.max if self.max is None else max(self.max, other.max)
        self.sum = None if None in (self.sum, other.sum) else self.sum + other.sum

    def quantile(self, q):
        """The interval of the sample of rank ceil(q * count)."""
        rank = -(-int(round(q * 10000)) * self.count // 10000)
        seen = self.negative
        for slot in sorted(self.buckets):
            seen += self.buckets[slot]
            if seen >= rank:
                lo, hi = slot_edges(slot)
                return max(lo, self.min), min(hi - 1, self.max)
        return None


def post(server, stream, records, host="box1", **overrides):
    """POST /api/v1/ingest; overrides replace headers (None leaves one out) or `body`."""
    body = overrides.pop("body", b"".join(r.data for r in records))
    headers = {
        "Content-Type": "application/x-rigstat-records",
        "X-Rigstat-Stream": stream,
        "X-Rigstat-First": str(records[0].seq) if records else "1",
        "X-Rigstat-Last": str(records[-1].seq) if records else "1",
        "X-Rigstat-CRC32C": f"{crc32c(body):08x}",
        "X-Rigstat-Host": host,
    }
    headers.update({k.replace("_", "-"): v for k, v in overrides.items()})
    headers = {k: v for k, v in headers.items() if v is not None}
    return server.request("POST", "/api/v1/ingest", body=body, headers=headers)


def gap(stream, seq, from_seq, to_seq, samples=7, reason="quota"):
    """A record that stands for from_seq..to_seq."""
    text = json.dumps({"stream": stream, "from_seq": from_seq, "to_seq": to_seq,
                       "samples": samples, "reason": reason, "text": "dropped"})
    return make(seq, 0, [(GAP, text.encode())])
