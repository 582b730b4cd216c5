#!/usr/bin/env python3
"""The headline experiment's page and command line, from made-up results."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "bench/headline/run.py"
sys.path[:0] = [str(ROOT / "bench/headline"), str(ROOT / "bench")]

try:
    import page  # noqa: E402
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MACHINE = {"processor": "P", "processors": 2, "memory_gib": 8, "load_before": 0.1, "system": "S", "xgboost": "1", "optuna": "3",
           "numpy": "1", "python": "3"}


def part(result, quick=False):
    return {"date": "2020-01-02", "quick": quick, "repetition": 10, "machine": MACHINE, "winnow": "winnow 1", "seconds": 60.0,
            "result": result}


def row(seed, cost, elapsed, test, **more):
    return {"seed": seed, "validation": 0.78, "test": test, "rounds": 100, "node_seconds": cost, "elapsed": elapsed,
            "training": elapsed * 4, **more}


def tuned():
    reading = {"validation": 0.7, "test": 0.7, "rounds": 900}
    through = {"last_round": reading, "cut": reading, "same_trials": True}
    return {"split": "85/5/10", "rows": {
        "hyperband": [row(1, 30, 4, 0.75), row(2, 30, 4, 0.75)], "default": [row(1, 10, 2, 0.78), row(2, 10, 2, 0.79)],
        "run through": [row(1, 100, 10, 0.77, **through), row(2, 100, 10, 0.77, **through)],
        "one after the other": [row(1, 60, 20, 0.77)]}}


def identity(second):
    return {"gbdt": [{"nodes": 1, "digest": "aa", "score": 0.5, "seconds": 1.0}, {"nodes": 2, "digest": second, "score": 0.5, "seconds": 1.0}],
            "mlp": [{"nodes": 1, "digest": "cc", "score": 0.9, "seconds": 1.0}]}


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "results.md"

    def written(self, **parts):
        page.write(self.out, parts)
        return self.out.read_text()

    def test_savings_and_verdicts_are_those_of_the_results(self):
        text = self.written(tuned=part(tuned()))
        self.assertIn("node-seconds -90 % (reached), elapsed -80 % (reached), test AUC +0.0150 (reached)", text)
        self.assertIn("node-seconds -70 % (NOT reached), elapsed -60 % (NOT reached), test AUC -0.0200 (NOT reached)", text)

    def test_what_was_missed_is_said_to_fall_short(self):
        short = self.written(tuned=part(tuned())).split("## Limitations")[1]
        self.assertIn("Hyperband as published (1 to 30 rounds): node-seconds -80 % (NOT reached)", short)
        self.assertNotIn("default strategy", short)

    def test_a_model_that_differs_is_not_passed_over(self):
        self.assertIn("gbdt: **the same file**", self.written(identity=part(identity("aa"))))
        self.assertIn("gbdt: **2 DIFFERENT files**", self.written(identity=part(identity("bb"))))

    def test_a_part_that_was_not_run_has_its_command(self):
        self.assertIn("Not run: `bench/headline/run.py --bin build/bin --only others`", self.written(tuned=part(tuned())))

    def test_a_quick_run_is_called_one(self):
        self.assertIn("Made with `--quick` (tuned)", self.written(tuned=part(tuned(), quick=True)))
        self.assertNotIn("--quick", self.written(tuned=part(tuned())))

    def test_every_picture_that_is_shown_is_there_and_the_same_each_time(self):
        text = self.written(tuned=part(tuned()))
        names = [line.split("](")[1][:-1] for line in text.splitlines() if line.startswith("![")]
        first = [(self.out.parent / name).read_bytes() for name in names]
        self.assertEqual(len(first), 2)
        self.written(tuned=part(tuned()))
        self.assertEqual([(self.out.parent / name).read_bytes() for name in names], first)

    def test_page_alone_is_written_from_the_json_and_runs_nothing(self):
        self.out.with_suffix(".json").write_text(json.dumps({"parts": {"tuned": part(tuned())}}))
        subprocess.run([sys.executable, "-B", RUN, "--only", "page", "--bin", "/nowhere", "--out", self.out], check=True,
                       capture_output=True)
        self.assertIn("node-seconds -90 % (reached)", self.out.read_text())


class CommandLine(unittest.TestCase):
    def refused(self, *flags):
        done = subprocess.run([sys.executable, "-B", RUN, *flags], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_an_unknown_part_is_refused(self):
        self.assertIn("--only tuend: expected some of published", self.refused("--only", "tuend"))

    def test_missing_programs_and_data_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/results.md"
            self.assertIn("winnow-server", self.refused("--bin", folder, "--out", out))
            for name in ("winnow", "winnow-server", "winnow-worker", "winnow-gbdt", "winnow-mlp"):
                (pathlib.Path(folder) / name).touch(0o755)
            self.assertIn("bank-additional-full.csv.gz (or unpacked", self.refused("--bin", folder, "--data", folder, "--out", out))


if __name__ == "__main__":
    unittest.main()
