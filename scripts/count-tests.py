#!/usr/bin/env python3
"""Closes a test run with its counts, and names what was skipped: count-tests.py RESULTS.xml"""

import sys
import xml.etree.ElementTree as ElementTree

suite = ElementTree.parse(sys.argv[1]).getroot()
skipped = [case.get("name") for case in suite.iter("testcase") if case.get("status") == "notrun"]
failed = [case.get("name") for case in suite.iter("testcase") if case.get("status") == "fail"]
total = sum(1 for _ in suite.iter("testcase"))
for name in skipped:
    print(f"skipped: {name}")
print(f"{total - len(skipped) - len(failed)} passed, {len(failed)} failed, {len(skipped)} skipped")
sys.exit(1 if failed else 0)
