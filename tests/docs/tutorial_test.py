"""The commands of docs/tutorial.md, run as they stand there, in their order, in one shell: every one must succeed, and
what the page promises must come true. On the real data (WINNOW_DATA_DIR) also the numbers that the page shows.

WINNOW_BIN_DIR names the folder with the programs.
"""

import csv
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PAGE = os.path.join(ROOT, "docs/tutorial.md")
BIN = os.environ.get("WINNOW_BIN_DIR", "")
DATA = os.environ.get("WINNOW_DATA_DIR", "")
REAL = os.path.isfile(os.path.join(DATA, "bank-additional-full.csv.gz"))
PATIENCE = 400  # seconds for all of it
COMMANDS, SHOWN = "bash", "text"  # what fences say: commands to run, and what they print


def blocks_of(page):
    """[(language, line, text)] of the fenced blocks."""
    blocks, language, first = [], None, 0
    for number, line in enumerate(page.splitlines(keepends=True), 1):
        if line.startswith("```") and language is None:
            language, first, text = line[3:].strip(), number, ""
        elif line.startswith("```"):
            blocks.append((language, first, text))
            language = None
        elif language is not None:
            text += line
    return blocks


def free_address():
    """HOST:PORT on a loopback address of this test's own, so that nobody else takes the port before the server does."""
    host = f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}.{random.randrange(1, 255)}"
    with socket.socket() as probe:
        probe.bind((host, 0))
        return f"{host}:{probe.getsockname()[1]}"


def script_of(blocks, folder):
    """The blocks after each other; what the jobs came to is kept in `folder` before the last one stops the server."""
    lines = ["set -euo pipefail", "trap 'for job in $(jobs -p); do kill $job; done; wait' EXIT"]
    commands = [block for block in blocks if block[0] == COMMANDS]
    for _, line, text in commands:
        if line == commands[-1][1]:
            for name, told in (("jobs", "list"), ("trials", "trials tuned"), ("best", "best script")):
                lines.append(f"winnow {told} --output json > {shlex.quote(folder)}/{name}.json")
        lines += [f"echo '@@ {line}'", text.rstrip("\n")]
    return "\n".join(lines) + "\n"


class TutorialTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PAGE, encoding="utf-8") as file:
            cls.blocks = blocks_of(file.read())
        folder = tempfile.TemporaryDirectory(prefix="winnow-tutorial-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        repository = os.path.join(cls.folder, "winnow")
        for name in ("scripts", "examples"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(repository, name),
                            ignore=lambda path, names: ["data"] if path.endswith("examples") else [])
        cls.code, cls.printed = cls.run_shell(script_of(cls.blocks, cls.folder), repository)
        parts = re.split(r"^@@ (\d+)\n", cls.printed, flags=re.MULTILINE)
        cls.printed_by_line = {int(line): text for line, text in zip(parts[1::2], parts[2::2])}

    @classmethod
    def run_shell(cls, script, repository):
        """(exit code, all that it printed)."""
        address = free_address()
        environment = {
            "PATH": f"{BIN}:/usr/bin:/bin", "HOME": cls.folder, "LANG": "C.UTF-8",
            "WINNOW_SERVER": address, "WINNOW_HTTP": address.split(":", maxsplit=1)[0] + ":0",
            "WINNOW_DATA_URL": f"file://{cls.folder}/not-there.zip"}  # no network: then the data are generated
        if REAL:
            environment["WINNOW_DATA_DIR"] = DATA
        path = os.path.join(cls.folder, "tutorial.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        shell = subprocess.Popen(["bash", path], cwd=repository, env=environment, stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            printed, _ = shell.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGTERM)  # the shell's trap, and the server: it stops its workers
            printed, _ = shell.communicate()
        return shell.returncode, printed

    def load(self, name):
        with open(os.path.join(self.folder, name + ".json"), encoding="utf-8") as file:
            return json.load(file)

    def printed_after(self, command):
        """What the block that holds the command printed."""
        line = next(line for language, line, text in self.blocks if language == COMMANDS and command in text)
        return self.printed_by_line[line]

    def shown_after(self, command):
        """What the page says that it prints."""
        languages = iter(self.blocks)
        for language, _, text in languages:
            if language == COMMANDS and command in text:
                language, _, text = next(languages)
                self.assertEqual(language, SHOWN)
                return text
        raise AssertionError(f"no block with {command}")

    def test_every_command_succeeds(self):
        self.assertEqual(self.code, 0, f"it ended so:\n{self.printed[-3000:]}")
        # A block of another kind would be neither run nor seen to be none.
        self.assertEqual({language for language, *_ in self.blocks}, {COMMANDS, SHOWN})
        self.assertNotIn("|| true", "".join(text for language, _, text in self.blocks if language == COMMANDS))

    def test_one_node_and_three_make_the_same_model(self):
        digests = re.findall(r"^([0-9a-f]{64})  ", self.printed_after("sha256sum"), re.MULTILINE)
        self.assertEqual(len(digests), 2)
        self.assertEqual(len(set(digests)), 1)

    def test_all_jobs_completed(self):
        states = {job["id"]: job["state"] for job in self.load("jobs")["jobs"]}
        self.assertEqual(states, {name: "COMPLETED" for name in
                                  ("one-node", "three-nodes", "tuned", "sizes", "default", "script", "script-2")})

    def test_the_tuning_job_had_30_trials_on_three_nodes_that_were_sifted(self):
        trials = self.load("trials")["trials"]
        self.assertEqual(len(trials), 30)
        self.assertEqual({trial["nodes"] for trial in trials}, {3})
        self.assertEqual({trial["state"] for trial in trials}, {"COMPLETED", "PRUNED"})
        self.assertLessEqual(max(int(trial["resource"]) for trial in trials), 30)

    def test_the_best_is_told_and_its_model_predicts_better_than_chance(self):
        told = self.printed_after("submit examples/tutorial/tuned.json")
        self.assertRegex(told, r"(?m)^  best +validation:auc 0\.\d+")
        auc = float(re.search(r"AUC (0\.\d+) on 4,?119 rows", self.printed_after("auc.py")).group(1))
        self.assertGreater(auc, 0.5)

    def test_every_stop_is_explained_and_the_job_decided_again(self):
        pruned = [trial for trial in self.load("trials")["trials"] if trial["state"] == "PRUNED"]
        self.assertTrue(pruned)
        for trial in pruned:
            self.assertRegex(trial["state_reason"], r"^Hyperband: bracket \d .* rung \d .* the cut-off is ")
        self.assertIn("all the same", self.printed_after("replay tuned"))

    def test_the_number_of_nodes_changes_no_score(self):
        table = re.search(r"(?ms)^nodes,trials.*", self.printed_after("--by-nodes --output csv")).group()
        rows = list(csv.DictReader(table.splitlines()))
        self.assertEqual([row["nodes"] for row in rows], ["1", "2", "3"])
        self.assertEqual(len({row["best_objective"] for row in rows}), 1)

    def test_without_a_strategy_it_is_freeze_thaw(self):
        self.assertIn("default is running: FREEZE_THAW", self.printed_after("submit examples/tutorial/default.json"))

    def test_ones_own_script_is_tuned(self):
        self.assertLess(self.load("best")["best_objective"], 0.1)

    @unittest.skipUnless(REAL, "the page's numbers are those of the real data: WINNOW_DATA_DIR is not set")
    def test_the_page_shows_what_is_printed(self):
        for command, pattern in (("sha256sum", r"[0-9a-f]{64}"), ("submit examples/tutorial/tuned.json", r"^  best .*"),
                                 ("describe tuned", r"^  reason .*"), ("auc.py", r"AUC .*"),
                                 ("plan examples/tutorial/tuned.json", r"^ +\d: s = .*")):
            with self.subTest(command):
                shown = re.findall(pattern, self.shown_after(command), re.MULTILINE)
                self.assertTrue(shown)
                self.assertEqual(shown, re.findall(pattern, self.printed_after(command), re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
