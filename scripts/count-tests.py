#!/usr/bin/env python3
"""Closes a test run with its counts: count-tests.py RESULTS.xml [RESULTS-OF-THE-SECOND-RUN.xml]

Names what was skipped, and what failed beside other tests but passed in the second run. Exits with 1 if a test failed in
both runs, or if there are no results."""

import os
import sys
import xml.etree.ElementTree as ElementTree


def names_by_status(path):
    names = {"run": [], "notrun": [], "fail": []}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        names.setdefault(case.get("status"), []).append(case.get("name"))
    return names


first = names_by_status(sys.argv[1])
again = names_by_status(sys.argv[2]) if len(sys.argv) > 2 and os.path.exists(sys.argv[2]) else {"run": []}
passed_alone = sorted(set(first["fail"]) & set(again["run"]))
failed = sorted(set(first["fail"]) - set(again["run"]))
for name in first["notrun"]:
    print(f"skipped: {name}")
for name in passed_alone:
    print(f"failed beside other tests, passed alone: {name}")
for name in failed:
    print(f"failed: {name}")
total = sum(map(len, first.values()))
skipped = len(first["notrun"])
print(f"{total - skipped - len(failed)} passed ({len(passed_alone)} of them only alone), {len(failed)} failed, {skipped} skipped")
sys.exit(1 if failed or not total else 0)
