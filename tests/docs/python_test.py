"""The blocks of docs/python.md, run as they stand there, in their order: every one must succeed, and print what the page
says. WINNOW_BIN_DIR names the folder with the programs. Skipped where what the page uses is not installed."""

import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from tutorial_test import BIN, ROOT, blocks_of

PAGE = os.path.join(ROOT, "docs/python.md")
PATIENCE = 300  # seconds for all of it
LANGUAGES = {"bash", "python", "text"}
NEEDED = ("wheel", "venv", "ensurepip", "pandas", "matplotlib", "sklearn", "optuna")
SKIPPED = 77


class PythonPage(unittest.TestCase):
    def test_every_block_does_what_the_page_says(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = blocks_of(file.read())
        self.assertEqual({language for language, *_ in blocks}, LANGUAGES)
        folder = tempfile.mkdtemp(prefix="winnow-python-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name in ("scripts", "clients", "worker", "CMakeLists.txt", "LICENSE"):
            os.symlink(os.path.abspath(os.path.join(ROOT, name)), os.path.join(folder, name))
        os.mkdir(os.path.join(folder, "build"))
        os.symlink(os.path.abspath(BIN), os.path.join(folder, "build/bin"))

        self.run_in(folder, ["bash", "-euo", "pipefail"], "".join(text for kind, _, text in blocks if kind == "bash"))
        script, expected, previous = io.StringIO(), {}, 0
        for language, line, text in blocks:
            if language == "python":
                script.write(f"print('@@ {line}')\n{text}")
                expected[line] = ""
                previous = line
            elif language == "text":
                expected[previous] = text
        with open(os.path.join(folder, "page.py"), "w", encoding="utf-8") as file:
            file.write(script.getvalue())
        printed = self.run_in(folder, ["venv/bin/python", "-B", "page.py"], "")
        found = {}
        for line in printed.splitlines(keepends=True):
            if line.startswith("@@ "):
                number = int(line[3:])
                found[number] = ""
            else:
                found[number] += line
        self.assertEqual(found, expected)

    def run_in(self, folder, command, typed):
        """What it printed on standard output."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "MPLBACKEND": "agg"}
        process = subprocess.Popen(command, cwd=folder, env=environment, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            printed, errors = process.communicate(typed, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, errors = process.communicate()
        self.assertEqual(process.returncode, 0, printed[-2000:] + errors[-3000:])
        return printed


if __name__ == "__main__":
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        print("skipped: not installed:", ", ".join(lacking))
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
