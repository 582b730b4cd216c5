#!/usr/bin/env python3
"""Figures, notebooks' view, Optuna's studies and types. What is not installed is skipped."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import types
import unittest
import unittest.mock

from servers import PACKAGE, PATIENCE, WithFolder, main
import winnow
from winnow import progress


def needs(module):
    return unittest.skipIf(importlib.util.find_spec(module) is None, f"{module} is not installed")


def f(x, kind, trial):
    for step in range(1, 5):
        trial.report(step, x / step + (kind == "b"))


SPACE = {"x": winnow.uniform(0, 1), "kind": ["a", "b"]}


class Shown(WithFolder):
    @needs("matplotlib")
    def test_figures(self):
        os.environ["MPLBACKEND"] = "agg"
        with winnow.serve(self.folder) as client:
            result = winnow.tune(f, SPACE, max_trials=30, server=client, max_steps=4)
            plot = result.job.plot
            for name in ("history", "curves", "parallel", "importance", "sieve"):
                with self.subTest(name):
                    path = pathlib.Path(self.folder, name + ".png")
                    getattr(plot, name)().figure.savefig(path)
                    self.assertEqual(path.read_bytes()[:4], b"\x89PNG")
            self.assertEqual({text.get_text() for text in plot.importance().get_yticklabels()}, {"x", "kind"})
            scattered = sum(len(found.get_offsets()) for found in plot.history().collections)
            self.assertEqual(scattered, 30)
            self.assertEqual([text.get_text() for text in plot.parallel().get_xticklabels()], ["x", "kind", "value"])
            bounded = winnow.tune(lambda x: {"value": x, "memory": 1 - x}, {"x": winnow.uniform(0, 1)}, max_trials=8,
                                  at_most={"memory": 0.5}, server=client, name="bounded")
            self.assertEqual(bounded.job.plot.history().lines[0].get_ydata()[-1], bounded.best_value)

    def test_the_line_of_a_job(self):
        with winnow.serve(self.folder) as client:
            several = winnow.tune(lambda x: {"error": x, "score": x * x}, {"x": winnow.uniform(0, 1)}, max_trials=4,
                                  objectives={"error": "minimize", "score": "maximize"}, server=client)
            self.assertEqual(progress.line(several.job.describe()), "4 on the Pareto front")
            self.assertIn("Pareto front</th><td style='text-align:left'>4 trials</td>", several.job._repr_html_())
            repeated = winnow.tune(lambda x, trial: x + trial.seed % 7, {"x": winnow.uniform(0, 1)}, max_trials=2, repeats=2,
                                   server=client, name="repeated").job
            self.assertRegex(progress.line(repeated.describe()), r"^best [0-9.]+ ± [0-9.]+ \(trial \d\)")
            self.assertEqual(repeated.best().standard_error, repeated.describe()["best"]["standard_error"])

    def test_the_view_of_a_job(self):
        with winnow.serve(self.folder) as client:
            job = winnow.tune(f, SPACE, max_trials=5, server=client, name="shown").job
            view = job._repr_html_()
        self.assertIn("COMPLETED", view)
        self.assertIn("polyline", view)
        self.assertRegex(view, r"value = [0-9.e-]+ in trial \d")
        gone = winnow.connect(job._calls.address.text, patience=0).job
        with self.assertRaises(winnow.Unavailable):
            gone(job.id)


class Studies(WithFolder):
    @needs("optuna")
    def test_a_study_is_read_as_earlier_results(self):
        import optuna
        from winnow import importing

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(direction="minimize")

        def objective(trial):
            kind = trial.suggest_categorical("kind", ["a", "b"])
            x = trial.suggest_float("x", 0, 1)
            return x + (kind == "b") + 0 * trial.suggest_int("n", 1, 4)

        study.optimize(objective, n_trials=12)
        found = importing.optuna(study)
        self.assertEqual((found.direction, len(found.rows), list(found.space)), ("minimize", 12, ["kind", "x", "n"]))
        result = winnow.tune(lambda kind, x, n: x + (kind == "b"), found.space, max_trials=3, directory=self.folder,
                             spec={"warm_start": found.warm_start(pathlib.Path(self.folder, "earlier.csv"))})
        self.assertEqual(len(result.trials), 3)
        with winnow.serve(self.folder) as client:
            self.assertIn("12 ", client.job(result.job.id).describe()["warm_start_text"])

    @needs("optuna")
    def test_steps_of_a_study_are_found_again(self):
        import optuna
        from winnow import importing

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        study.optimize(lambda trial: trial.suggest_float("rate", 0.1, 0.7, step=0.2) + trial.suggest_int("n", 0, 10**7, step=2), n_trials=20)
        found = importing.optuna(study)
        self.assertEqual([found.space["rate"].kind, found.space["n"].kind], ["discrete", "integer"])
        with winnow.serve(self.folder) as client:
            result = winnow.tune(lambda rate, n: rate + n, {**found.space, "rate": winnow.discrete([0.1, 0.3, 0.5, 0.7])}, max_trials=3, server=client,
                                 strategy="random", spec={"warm_start": found.warm_start(pathlib.Path(self.folder, "earlier.csv"))})
            self.assertRegex(result.job.describe()["warm_start_text"], "^20 results used")

    @needs("optuna")
    def test_a_job_is_written_as_a_study(self):
        import optuna
        from winnow import importing

        storage = f"sqlite:///{self.folder}/study.db"
        with winnow.serve(pathlib.Path(self.folder, "tuning")) as client:
            result = winnow.tune(f, SPACE, max_trials=20, server=client, name="written")
            importing.export(result.job, storage=storage)
        study = optuna.load_study(study_name="written", storage=storage)
        self.assertEqual(len(study.trials), 20)
        self.assertEqual(study.best_value, min(t.value for t in result.trials if t.state == "COMPLETED"))
        self.assertEqual({trial.state.name for trial in study.trials}, {"COMPLETE", "PRUNED"})
        self.assertEqual(study.trials[0].params, result.trials[0].params)
        self.assertEqual(set(study.trials[0].intermediate_values), {1, 2, 3, 4})


    def test_a_job_whose_range_was_widened_is_written_as_a_study(self):
        from winnow import importing

        def create_trial(params, distributions, **_):
            for name, value in params.items():
                if value not in distributions[name]:
                    raise ValueError(f"{name} = {value} is not in {distributions[name]}")
            return params

        study = unittest.mock.Mock()
        optuna = types.SimpleNamespace(
            create_study=unittest.mock.Mock(return_value=study),
            distributions=types.SimpleNamespace(IntDistribution=lambda low, high, log: range(low, high + 1)),
            trial=types.SimpleNamespace(TrialState={"COMPLETE": 1}, create_trial=create_trial))
        with winnow.serve(self.folder) as client, unittest.mock.patch.dict(sys.modules, {"optuna": optuna}):
            job = client.submit({"name": "wide", "trainer": {"external": True}, "strategy": "RANDOM", "limits": {"max_trials": 4},
                                 "parameters": [{"name": "n", "integer": {"min": 1, "max": 3}}],
                                 "objective": {"metric": "loss", "goal": "MINIMIZE"}})
            for number, trial in enumerate(job.asked()):
                with trial:
                    trial.report(1, trial.params["n"])
                if number == 1:
                    job.change_range("n", min=3, max=20)
            self.assertIs(importing.export(job), study)
            study.add_trials.assert_called_once_with([trial.params for trial in job.trials()])
            optuna.create_study.reset_mock()
            optuna.trial.create_trial = unittest.mock.Mock(side_effect=ValueError("not this one"))
            with self.assertRaisesRegex(ValueError, "not this one"):
                importing.export(job)
            optuna.create_study.assert_not_called()


class Types(unittest.TestCase):
    @unittest.skipIf(shutil.which("mypy", path="/usr/bin") is None, "mypy is not installed")
    def test_mypy_strict(self):
        cache = os.environ.get("TMPDIR", "/tmp") + "/winnow-mypy-cache"
        done = subprocess.run(["/usr/bin/mypy", "--strict", "--cache-dir", cache, "winnow"], cwd=PACKAGE, text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_only_the_standard_library_is_imported(self):
        names = ("winnow", "winnow.importing", "winnow.plotting")
        script = f"import sys; import {', '.join(names)}; print(' '.join(sorted(sys.modules)))"
        done = subprocess.run(["/usr/bin/python3", "-I", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); " + script],
                              text=True, capture_output=True, timeout=PATIENCE, check=True)
        self.assertEqual(set(done.stdout.split()) & {"numpy", "pandas", "tqdm", "matplotlib", "optuna", "sklearn"}, set())


if __name__ == "__main__":
    main()
