"""Lines keep the limit of .clang-format, comments begin with their subject, and every test can be named in a list of CMake's."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = int(re.search(r"ColumnLimit: (\d+)", (ROOT / ".clang-format").read_text()).group(1))
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)  # its lines are what users or other programs read
TEST_NAME = re.compile(r'^TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', re.M)
COMMENT = re.compile(r"^(?!\s*//).*\n\s*//+ *((?:Of|Those of) .*)", re.M)  # the first line of a comment


def sources():
    listed = subprocess.run(["git", "ls-files", "*.h", "*.cc"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in listed.stdout.split():
        if (ROOT / path).exists():
            yield path, (ROOT / path).read_text()


class Style(unittest.TestCase):
    def test_lines_keep_the_limit(self):
        wrong = []
        for path, text in sources():
            code = RAW_STRING.sub(lambda raw: "\n" * raw.group().count("\n"), text)
            wrong += [f"{path}:{number}: {len(line)} columns" for number, line in enumerate(code.split("\n"), 1)
                      if len(line) > LIMIT and "://" not in line]  # an address is not broken
        self.assertEqual(wrong, [], "wrap these:\n" + "\n".join(wrong))

    def test_comments_begin_with_their_subject(self):
        wrong = [f"{path}: {comment}" for path, text in sources() for comment in COMMENT.findall("\n" + text)]
        self.assertEqual(wrong, [], "say what it is first:\n" + "\n".join(wrong))

    def test_ctest_finds_every_test(self):
        names = [(path, name) for path, text in sources() for name in TEST_NAME.findall(text)]
        self.assertGreater(len(names), 1000)
        wrong = [f"{path}: {name}" for path, name in names if re.search(r"[;\[\]]", name)]
        self.assertEqual(wrong, [], "CMake takes ';' for the end of a name and '[' for the beginning of a list:\n" + "\n".join(wrong))


if __name__ == "__main__":
    sys.exit(unittest.main())
