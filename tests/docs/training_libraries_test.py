"""The callbacks for training libraries in docs/your-own-code.md: those of XGBoost are run with it, as they stand there, and
the others are at least Python. Skips, visibly, where XGBoost is not installed."""

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs/your-own-code.md")
sys.path.insert(0, os.path.join(ROOT, "worker"))

import winnow_trainer  # noqa: E402

try:
    import numpy
    import xgboost
except ImportError:
    print("skipped: XGBoost for Python is not installed")
    sys.exit(77)

PARAMS = {"objective": "binary:logistic", "eval_metric": "logloss", "nthread": 1}


def blocks():
    """The Python of the section."""
    with open(PAGE, encoding="utf-8") as file:
        section = file.read().split("\n## Training libraries\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def told(output):
    return [json.loads(line) for line in output.getvalue().splitlines() if line.startswith("{")]


class TrainingLibraries(unittest.TestCase):
    def setUp(self):
        draws = numpy.random.default_rng(1)
        inputs = draws.normal(size=(400, 4))
        labels = (inputs[:, 0] + draws.normal(size=400) > 0).astype(int)
        self.names = {"xgboost": xgboost, "winnow": winnow_trainer, "os": os, "params": PARAMS,
                      "train": xgboost.DMatrix(inputs[:300], labels[:300]),
                      "test": xgboost.DMatrix(inputs[300:], labels[300:])}
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def test_every_block_is_python(self):
        self.assertEqual(len(blocks()), 6)
        for block in blocks():
            ast.parse(block)

    def test_xgboost_reports_every_round(self):
        output = io.StringIO()
        exec(blocks()[0], self.names)
        with contextlib.redirect_stdout(output):
            xgboost.train(PARAMS, self.names["train"], 5, evals=[(self.names["test"], "test")],
                          callbacks=[self.names["Report"]()], verbose_eval=False)
        self.assertEqual([line["step"] for line in told(output)], [1, 2, 3, 4, 5])
        self.assertEqual(set(told(output)[0]), {"step", "test-logloss"})

    def test_xgboost_goes_on_where_it_was_paused(self):
        through = xgboost.train(PARAMS, self.names["train"], 100, evals=[(self.names["test"], "test")], verbose_eval=False)
        checkpoint = os.path.join(self.folder, "checkpoint")
        os.mkdir(checkpoint)
        values = []
        for first, last in ((0, 7), (7, 20), (20, 0)):  # the third part goes on to the end
            environment = {"WINNOW_CHECKPOINT_DIR": checkpoint, "WINNOW_RESOURCE_FROM": str(first),
                           "WINNOW_RESOURCE_TO": str(last)}
            output = io.StringIO()
            with contextlib.redirect_stdout(output), unittest.mock.patch.dict(os.environ, environment):
                exec(blocks()[-1], self.names)
            values += told(output)
        self.assertEqual([value["step"] for value in values], list(range(1, 101)))
        self.assertEqual(self.names["model"].get_dump(), through.get_dump())


if __name__ == "__main__":
    unittest.main()
