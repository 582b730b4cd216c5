#!/usr/bin/env python3
"""What docs/design.md says of the tree is so: its folders exist, and the functions it names are in the files it names."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/design.md").read_text()


def section(title):
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


class DesignPage(unittest.TestCase):
    def test_every_folder_of_the_house_exists_and_every_folder_is_in_it(self):
        named, last = set(), {}
        for line in section("The house").split("```")[1].splitlines():
            match = re.match(r"( *)((?:[\w/]+/ )+)", line)
            if match and len(match.group(1)) <= 2:
                above = last["top"] if match.group(1) else ""
                folders = [above + name.strip() for name in match.group(2).split()]
                if not match.group(1):
                    last["top"] = folders[0]
                named.update(folders)
        self.assertGreater(len(named), 30)
        self.assertEqual([name for name in sorted(named) if not (ROOT / name).is_dir()], [])
        tops = {name.split("/")[0] for name in named}
        mine = {path.name for path in ROOT.iterdir()
                if path.is_dir() and not path.name.startswith((".", "build")) and path.name not in ("cmake", "docs", "data")}
        self.assertEqual(sorted(name for name in mine - tops if any((ROOT / name).rglob("*.*"))), [])

    def test_the_functions_named_are_where_the_page_says(self):
        rows = re.findall(r"^\| (.*\?) \| `([\w/.]+)`: `(\w+)` \|$", section("Where is the rule that …"), re.M)
        self.assertGreaterEqual(len(rows), 10)
        for question, file, function in rows:
            with self.subTest(question):
                text = (ROOT / file).read_text()
                self.assertRegex(text, rf"(?m)^\w[^;=]*\b{function}\(", f"{file} defines {function}")


if __name__ == "__main__":
    sys.exit(unittest.main())
