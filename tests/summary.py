#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds up JUnit files: names the failed and skipped, closes with 'N passed, N failed, N skipped'."""
import sys
import xml.etree.ElementTree as ET


def main(paths):
    passed = failed = skipped = 0
    for path in paths:
        for case in ET.parse(path).getroot().iter("testcase"):
            name = f"{case.get('classname') or ''} {case.get('name')}".strip()
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                failed += 1
                print(f"FAILED  {name}")
            elif skip is not None or case.get("status") in ("notrun", "disabled"):
                skipped += 1
                reason = (skip.get("message") if skip is not None else None) or "no reason given"
                print(f"SKIPPED {name}: {reason}")
            else:
                passed += 1
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{tail}")
    return 1 if failed or not passed else 0


sys.exit(main(sys.argv[1:]))
