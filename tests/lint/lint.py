#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the form of the source: layers, sizes, formatting, and what must never be committed.

Prints one line a fault, `file:line: what`, and exits 1 when there is any."""
import os
import re
import subprocess
import sys

FUNCTION_MAX, FILE_MAX, HEADER_MAX, LINE_MAX = 100, 1000, 400, 100

# Folder -> folders whose headers it may include (its own is always allowed).
LAYERS = {
    "common": ["common"],
    "agent": ["common"],
    "server": ["common"],
    "cli": ["common"],
}
# Inside common: a later layer may use the earlier ones.
COMMON_ORDER = ["common", "common/model", "common/stats", "common/import", "common/compare"]
# Library header -> the only files that may include it.
ONLY_IN = {
    r"microhttpd\.h": r"server/(mhdloop|http|tls)[^/]*\.[ch]|tests/.*",
    r"gnutls/.*": r"server/tls[^/]*\.[ch]",
    r"libpq-fe\.h": r"server/(pqloop|migrate|db)[^/]*\.[ch]|tests/.*",
    r"curl/.*": r"agent/(curlloop|upload|enroll)[^/]*\.[ch]|cli/client\.[ch]|tests/.*",
    r"uv\.h": r"agent/.*|server/.*|tests/.*",
    r"Rmath\.h": r"common/stats/.*|tests/.*",
}
# Pure modules: no I/O.
PURE = re.compile(r"common/(stats|import|compare)/|common/(hist|hist_code|record)\.[ch]")
PURE_FORBIDDEN = re.compile(r"\b(fopen|fprintf|printf|puts|open|socket|getenv|time|clock_gettime)\s*\(")
# Names that must not be committed: machine paths and registry hosts (spelled in parts, so that
# this file does not find itself).
FORBIDDEN = re.compile("|".join(["/wo" + "rk/", "registry" + r"\.npmjs", "deb" + r"\.debian\.org"]))

faults = []


def fault(path, line, text):
    faults.append(f"{path}:{line}: {text}")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True).stdout
    return [p for p in out.splitlines() if os.path.exists(p)]


def common_layer(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else "common"


def check_include(path, n, name):
    top, target = path.split("/")[0], name.split("/")[0]
    for pattern, files in ONLY_IN.items():
        if re.fullmatch(pattern, name) and not re.fullmatch(files, path):
            fault(path, n, f"<{name}> belongs behind its glue file")
    if top not in LAYERS or target not in LAYERS:
        return
    if target != top and target not in LAYERS[top]:
        fault(path, n, f"{top} must not include {target}")
    if top == target == "common":
        mine, other = common_layer(path), common_layer(name)
        if other in COMMON_ORDER and mine in COMMON_ORDER and COMMON_ORDER.index(other) > COMMON_ORDER.index(mine):
            fault(path, n, f"{mine} must not include {other}")
        if mine == "common/stats" and other == "common/model":
            fault(path, n, "common/stats works on plain doubles, not on runs")


def check_api(path, n, line):
    if re.match(r"server/api_", path) and re.search(r"\b(PGconn|PGresult|MHD_\w+|uv_\w+)\b", line):
        fault(path, n, "api_* sees no MHD, no libpq and no uv")


def check_functions(path, lines):
    start = None
    for n, line in enumerate(lines, 1):
        if line == "{":
            start = n
        elif line.startswith("}") and start:
            if n - start - 1 > FUNCTION_MAX:
                fault(path, start, f"function of {n - start - 1} lines (at most {FUNCTION_MAX})")
            start = None


def check_c(path):
    text = open(path, encoding="utf-8").read()
    lines = text.split("\n")
    limit = FILE_MAX if path.endswith(".c") else HEADER_MAX
    if len(lines) > limit:
        fault(path, len(lines), f"file of {len(lines)} lines (at most {limit})")
    if "SPDX-License-Identifier: GPL-2.0-or-later" not in lines[0]:
        fault(path, 1, "first line must be the SPDX licence line")
    for n, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > LINE_MAX and "http" not in line and '"' not in line:
            fault(path, n, f"line longer than {LINE_MAX}")
        m = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if m:
            check_include(path, n, m.group(1))
        check_api(path, n, line)
        if PURE.match(path) and PURE_FORBIDDEN.search(re.sub(r'"(\\.|[^"\\])*"', '""', line)) \
                and not line.lstrip().startswith(("*", "/*")):
            fault(path, n, "a pure module does no I/O")
    check_functions(path, lines)


def check_format(paths):
    for i in range(0, len(paths), 50):
        run = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths[i:i + 50]],
                             capture_output=True, text=True)
        for m in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", run.stderr, re.M):
            fault(m.group(1), m.group(2), "not formatted: ./dev fmt")


def check_text():
    for path in tracked():
        if path.startswith("tests/data/") or path == "LICENSE":
            continue
        try:
            text = open(path, encoding="utf-8").read()
        except (UnicodeDecodeError, IsADirectoryError):
            continue
        for n, line in enumerate(text.split("\n"), 1):
            if FORBIDDEN.search(line):
                fault(path, n, "names a path of one machine or a registry host")


def check_openapi():
    run = subprocess.run([sys.executable, "tests/lint/openapi.py"], capture_output=True, text=True)
    if run.returncode:
        fault("docs/openapi.yaml", 1, (run.stdout + run.stderr).strip())


def check_sql():
    for path in tracked("sql/queries/*.sql"):
        body = re.sub(r"--.*", "", open(path, encoding="utf-8").read()).strip().rstrip(";")
        if ";" in re.sub(r"'[^']*'|\$\$.*?\$\$", "", body, flags=re.S):
            fault(path, 1, "more than one statement")


def main():
    sources = tracked("*.c", "*.h")
    for path in sources:
        check_c(path)
    check_format(sources)
    check_text()
    check_openapi()
    check_sql()
    print("\n".join(faults) if faults else f"lint: {len(sources)} source files, no fault")
    return 1 if faults else 0


sys.exit(main())
