#!/usr/bin/env python3
"""docs/reference is what its sources say, and every link of it leads somewhere.

WINNOW_BIN_DIR names the folder with the programs.
"""

import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from reference import command_line, job_file, protos, roles  # noqa: E402

PAGES = ROOT / "docs/reference"
CONFIG = ROOT / "packaging/config"
MAKE = ROOT / "scripts/make-reference.py"
BIN = os.environ.get("WINNOW_BIN_DIR", ROOT / "build/bin")
MENDED_BY = "run scripts/make-reference.py --bin build/bin (or your build's bin folder), and commit what it has changed"
MOST_LINES = 40  # of a difference that is shown


def anchors_of(text):
    """Those that are written, and those that headings get."""
    written = re.findall(r'<a id="([^"]+)"></a>', text)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings]
    return written, slugs


def links_of(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]


def paths_of(value, message, contract, path=""):
    """The path of every field of a job file, as the reference names it."""
    fields = {field.name: field for field in contract.messages[message].fields}
    for name, content in value.items():
        field = fields[name]
        at = f"{path}.{name}" if path else name
        yield at
        inner = field.map_value or field
        if inner.type not in contract.messages:
            continue
        below = at + (".NAME" if field.map_value else "[]" if field.repeated else "")
        for one in content.values() if field.map_value else content if field.repeated else [content]:
            yield from paths_of(one, inner.type, contract, below)


def series_of(expression):
    """(metric, its labels) of each selector of a PromQL expression."""
    for name, labels in re.findall(r"\b((?:winnow|process)_\w+)(?:\{([^}]*)\})?", expression):
        yield name, set(re.findall(r"(\w+)\s*[!=]?[=~]", labels))


class Monitoring(unittest.TestCase):
    """examples/monitoring uses only what /metrics has."""

    def setUp(self):
        page = (PAGES / "metrics.md").read_text("utf-8")
        rows = re.findall(r'^\| <a id="\w+"></a>`(\w+)` \| (\w+) \|[^|]*\|([^|]*)\|', page, flags=re.MULTILINE)
        self.known = {name: {"job", *re.findall(r"`(\w+)`", labels)} for name, kind, labels in rows}
        for name, kind, _ in rows:
            if kind == "histogram":
                self.known.update({name + end: self.known[name] | {"le"} for end in ("_bucket", "_sum", "_count")})

    def check(self, expressions):
        self.assertGreater(len(expressions), 5)
        for expression in expressions:
            series = list(series_of(expression))
            self.assertTrue(series or expression.startswith("up"), expression)
            for name, labels in series:
                self.assertIn(name, self.known, expression)
                self.assertLessEqual(labels, self.known[name], expression)
            for labels in re.findall(r"by \(([^)]*)\)", expression):
                known = set().union(*(self.known[name] for name, _ in series))
                self.assertLessEqual({label.strip() for label in labels.split(",")}, known, expression)

    def test_the_panels_of_the_board(self):
        board = json.loads((ROOT / "examples/monitoring/grafana-dashboard.json").read_text("utf-8"))
        panels = [panel for panel in board["panels"] if panel["type"] != "row"]
        self.check([target["expr"] for panel in panels for target in panel["targets"]])
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))
        for panel in panels:
            self.assertLessEqual(panel["gridPos"]["x"] + panel["gridPos"]["w"], 24, panel["title"])

    def test_the_rules_of_the_alerts(self):
        self.check(re.findall(r"^ +expr: (.+)$", (ROOT / "examples/monitoring/alerts.yaml").read_text("utf-8"), flags=re.MULTILINE))


class Reference(unittest.TestCase):
    def test_each_page_is_as_its_sources_make_it(self):
        with tempfile.TemporaryDirectory() as folder:
            parts = {PAGES: pathlib.Path(folder, "pages"), CONFIG: pathlib.Path(folder, "config")}
            made = subprocess.run([MAKE, "--bin", BIN, "--out", parts[PAGES], "--config", parts[CONFIG]], capture_output=True,
                                  text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            for kept, fresh in parts.items():
                names = sorted(os.listdir(fresh))
                self.assertEqual(sorted(os.listdir(kept)), names, MENDED_BY)
                for name in names:
                    shown_name = kept.relative_to(ROOT) / name
                    old, new = ((where / name).read_text().splitlines() for where in (kept, fresh))
                    difference = list(difflib.unified_diff(old, new, str(shown_name), "as its sources make it", lineterm=""))
                    shown = "\n".join(difference[:MOST_LINES])
                    self.assertEqual(difference, [], f"{shown_name} is not what its sources say: {MENDED_BY}\n{shown}")

    def test_every_link_leads_somewhere(self):
        for page in [*PAGES.glob("*.md"), ROOT / "docs/job-file.md"]:
            for link in links_of(page.read_text()):
                file, _, anchor = link.partition("#")
                target = (page.parent / file).resolve() if file else page
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.exists())
                    if anchor:
                        written, slugs = anchors_of(target.read_text())
                        self.assertIn(anchor, written + slugs)

    def test_no_two_places_of_a_page_have_one_anchor(self):
        for page in PAGES.glob("*.md"):
            written, slugs = anchors_of(page.read_text())
            for anchors in (written, slugs):
                with self.subTest(page=page.name):
                    self.assertEqual([anchor for anchor in set(anchors) if anchors.count(anchor) > 1], [])

    def test_every_field_of_every_example_has_its_row(self):
        text = (PAGES / "job-file.md").read_text()
        contract = protos.read(ROOT / "proto")
        examples = sorted((ROOT / "examples").glob("*.json"))
        self.assertTrue(examples)
        for example in examples:
            for path in paths_of(json.loads(example.read_text()), job_file.ROOT, contract):
                with self.subTest(example=example.name, field=path):
                    self.assertIn(f"`{path}` |", text)


class Sources(unittest.TestCase):
    """What a source leaves out is an error that names it."""

    def contract_with(self, old, new):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "proto/winnow", pathlib.Path(folder) / "winnow")
            file = pathlib.Path(folder) / "winnow/v1/tuning.proto"
            text = file.read_text()
            self.assertIn(old, text)
            file.write_text(text.replace(old, new))
            return protos.read(folder)

    def test_a_field_of_the_job_file_without_a_comment_is_named(self):
        contract = self.contract_with("uint64 seed = 11;", "uint64 seed = 11;\n  bool quiet = 99;")
        with self.assertRaisesRegex(protos.Lack, "TuningJobSpec.quiet has no comment"):
            job_file.page(contract)

    def test_a_field_whose_default_is_not_said_is_named(self):
        contract = self.contract_with("uint64 seed = 11;", "uint64 seed = 11;\n  // Prints nothing.\n  bool quiet = 99;")
        with self.assertRaisesRegex(protos.Lack, 'TuningJobSpec.quiet: the comment says neither "Default: …" nor "Required"'):
            job_file.page(contract)

    def test_a_new_field_is_on_the_page_by_its_comment_alone(self):
        contract = self.contract_with("uint64 seed = 11;", "uint64 seed = 11;\n  // Prints nothing. Default: false.\n  bool quiet = 99;")
        self.assertIn("`quiet` | boolean | false | Prints nothing. |", job_file.page(contract))

    def test_a_method_that_nobody_may_call_is_named(self):
        with self.assertRaisesRegex(protos.Lack, "TuningService.Sing: server/grpc/roles.cc has no row"):
            roles.in_words(None, "TuningService.Sing")

    def test_the_least_role_stands_for_those_that_may_do_more(self):
        permissions = roles.read((ROOT / "server/grpc/roles.cc").read_text())
        words = {method: roles.in_words(who, method) for (_, method), who in permissions.items()}
        self.assertEqual([words[method] for method in ("ListTrials", "StopTuningJob", "Sync", "Backup", "GetCaller")],
                         ["viewer", "submitter", "worker", "admin", "viewer or worker"])

    def test_help_is_read_as_it_is_printed(self):
        said = command_line.parsed("""What it does.
Usage: tool [OPTIONS] FILE [TRIAL]

Positionals:
  FILE                        what to read
  TRIAL                       its number

Options:
  -h,--help                   Print this help message and exit
  -o,--output FORMAT          text (default) or json
  --seed INT:INT in [0 - 1e+09]=7
                              of the first run
  --ca FILE REQUIRED          who vouches (PEM; default: the system's)
  --label NAME[=VALUE] ...    what jobs ask for
  --slots N                   trials at a time, in words that take more than a line of the
                              terminal (1 to 64; default 4)
[Option Group: What to write]
  Instead of predictions 
  [At most 1 of the following options are allowed]
  Options:
    --leaf                      the leaf's number
""")
        flags = {entry.names[-1]: (entry.value, entry.default, "; ".join([entry.meaning, *entry.notes]))
                 for _, entries in said.groups for entry in entries}
        self.assertEqual(said.description, "What it does.")
        self.assertEqual(flags["FILE"], ("", "required", "what to read"))
        self.assertEqual(flags["TRIAL"], ("", "", "its number"))
        self.assertEqual(flags["--output"], ("`FORMAT`", "text", "text or json"))
        self.assertEqual(flags["--seed"], ("integer, 0 to 1e9", "7", "of the first run"))
        self.assertEqual(flags["--ca"], ("`FILE`", "the system's", "who vouches (PEM)"))
        self.assertEqual(flags["--label"], ("`NAME[=VALUE]`", "", "what jobs ask for; may be given again"))
        self.assertEqual(flags["--slots"], ("integer", "4", "trials at a time, in words that take more than a line of the terminal (1 to 64)"))
        self.assertEqual(flags["--leaf"], ("", "", "the leaf's number; instead of predictions; at most one of `--leaf`"))


    def test_commands_are_found_in_every_group(self):
        said = command_line.parsed("""Tool.
Usage: tool [OPTIONS] COMMAND

Options:
  -h,--help                   Print this help message and exit

Jobs:
  start                       Starts one

Ask and tell:
  ask                         Asks
""")
        self.assertEqual(said.subcommands, [("start", "Starts one"), ("ask", "Asks")])
        self.assertEqual([title for title, _ in said.groups], ["Options"])


if __name__ == "__main__":
    unittest.main()
