#!/usr/bin/env python3
"""The module that every trial finds: with Winnow's variables around it, and without."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

MODULE = pathlib.Path(__file__).resolve().parents[2] / "worker"


def run(program, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WINNOW_", "SM_"))}
    return subprocess.run([sys.executable, "-B", "-c", "import winnow_trainer as winnow\n" + program],
                          env={**environment, "PYTHONPATH": str(MODULE), **variables}, capture_output=True, text=True,
                          check=False, timeout=60)


class WinnowTrainer(unittest.TestCase):
    def test_without_winnow_it_prints_and_never_stops(self):
        done = run("winnow.report(1, loss=0.5)\nprint(winnow.resume(), winnow.should_stop(), winnow.hyperparameters())\n"
                   "open('/dev/null')\nprint(winnow.save('/dev/null'))")
        self.assertEqual(done.stdout, '{"step": 1, "loss": 0.5}\nNone False {}\n/dev/null\n', done.stderr)

    def test_a_report_is_a_line_of_json(self):
        done = run("winnow.report(2, loss=float('nan'), acc=1)")
        self.assertEqual(done.stdout, '{"step": 2, "loss": NaN, "acc": 1.0}\n')
        for wrong in ("winnow.report(1.5, loss=1)", "winnow.report(1)", "winnow.report(1, loss='x')"):
            self.assertNotEqual(run(wrong).returncode, 0, wrong)

    def test_it_stops_at_its_level(self):
        done = run("for level in range(1, 9):\n    winnow.report(level, loss=1)\n    if winnow.should_stop():\n        break",
                   WINNOW_RESOURCE_TO="3", WINNOW_ASSIGNMENT="a")
        self.assertEqual([json.loads(line)["step"] for line in done.stdout.splitlines()], [1, 2, 3])

    def test_it_stops_when_it_is_asked_to(self):
        done = run("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nprint(winnow.should_stop())", WINNOW_ASSIGNMENT="a")
        self.assertEqual(done.stdout, "True\n", done.stderr)
        # A program's own handler stays.
        own = run("import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: print('mine'))\n"
                  "os.kill(os.getpid(), signal.SIGTERM)\nprint(winnow.should_stop())", WINNOW_ASSIGNMENT="a")
        self.assertEqual(own.stdout, "mine\nFalse\n", own.stderr)
        self.assertEqual(run("import os\nos.kill(os.getpid(), 15)").returncode, -signal.SIGTERM)

    def test_what_is_saved_is_found_again_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            kept, work = os.path.join(folder, "kept"), os.path.join(folder, "work")
            os.makedirs(os.path.join(work, "model", "inner"))
            os.makedirs(kept)
            variables = {"WINNOW_CHECKPOINT_DIR": kept, "WINNOW_RESOURCE_FROM": "4", "WINNOW_ASSIGNMENT": "a"}
            self.assertEqual(run("print(winnow.resume())", **variables).stdout, "None\n")
            for text in ("one", "two"):
                pathlib.Path(work, "state").write_text(text, encoding="ascii")
                pathlib.Path(work, "model", "inner", "w").write_text(text, encoding="ascii")
                done = run("print(winnow.save('state'))\nprint(winnow.save('model/', 'best'))".replace(
                    "'state'", repr(work + "/state")).replace("'model/'", repr(work + "/model/")), **variables)
                self.assertEqual(done.stdout, f"{kept}/state\n{kept}/best\n", done.stderr)
                self.assertEqual(pathlib.Path(kept, "state").read_text(encoding="ascii"), text)
                self.assertEqual(pathlib.Path(kept, "best", "inner", "w").read_text(encoding="ascii"), text)
            self.assertEqual(sorted(os.listdir(kept)), ["best", "state"])
            self.assertEqual(run("print(winnow.resume())", **variables).stdout, f"('{kept}', 4)\n")
            self.assertNotEqual(run("winnow.save('/nowhere/x')", **variables).returncode, 0)


if __name__ == "__main__":
    unittest.main()
