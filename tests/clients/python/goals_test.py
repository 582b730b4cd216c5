#!/usr/bin/env python3
"""What winnow.tune tunes for: several objectives, bounds on metrics, the mean of repeats. And the order of its calls."""

import math
import random
import unittest
import unittest.mock
import warnings

from servers import WithFolder, main
import winnow

LINE = {"x": winnow.uniform(0, 1)}
SEVERAL = {"error": "minimize", "score": "maximize"}


class SeveralObjectives(unittest.TestCase):
    def test_the_front_has_what_no_other_betters(self):
        for n_jobs in (1, 2):
            with self.subTest(n_jobs=n_jobs):
                result = winnow.tune(lambda x: {"error": x, "score": x * x}, LINE, max_trials=14, objectives=SEVERAL,
                                     thresholds={"error": 1, "score": 0}, n_jobs=n_jobs)
                self.assertEqual(len(result.front), 14)  # more of one is less of the other
                errors = [trial.values["error"] for trial in result.front]
                self.assertEqual(errors, sorted(errors))
                self.assertEqual((result.best_value, result.best_params), (errors[0], result.front[0].params))
                self.assertEqual(result.front[0].values["score"], result.best_params["x"] ** 2)

    def test_a_front_that_an_answer_does_not_hold_whole_is_told(self):
        with winnow.serve() as client:
            job = winnow.tune(lambda x: {"error": x, "score": x * x}, LINE, max_trials=4, objectives=SEVERAL, server=client).job
            call = job._calls.call
            whole = call("GET", job._path + "/pareto-front")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(len(job.front()), 4)
            with unittest.mock.patch.object(job._calls, "call", return_value={**whole, "total_size": 1234}), \
                 self.assertWarnsRegex(UserWarning, "the front of .* has 1234 trials, of which .* no more than 4"):
                job.front()

    def test_the_table_has_a_column_for_each_metric(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        result = winnow.tune(lambda x: {"error": x, "score": 1 - x, "state": 3}, LINE, max_trials=3, objectives=SEVERAL, at_most={"state": 5})
        table = result.to_pandas()
        self.assertEqual(list(table.columns), ["number", "state", "value", "step", "seconds", "start_time", "end_time",
                                               "error", "score", "metric.state", "x"])
        self.assertTrue((table["score"] == 1 - table["x"]).all() and (table["metric.state"] == 3).all())

    def test_reported_values_count_too(self):
        def f(x, trial):
            for step in (1, 2):
                trial.report(step, error=x / step, score=1 - x)

        result = winnow.tune(f, LINE, max_trials=8, max_steps=2, objectives=SEVERAL, strategy="random")
        self.assertEqual(len(result.front), 1)  # the smallest x is the best in both
        self.assertEqual(result.best_params["x"], min(trial.params["x"] for trial in result.trials))

    def test_what_is_wrong_is_named(self):
        for wrong, message in (({"objectives": {"a": "minimize"}}, "objectives: has one"),
                               ({"objectives": {"a": "min", "b": "maximize"}}, r"objectives\['a'\]: is 'min'"),
                               ({"thresholds": {"a": 1}}, "thresholds: 'a' is not in objectives"),
                               ({"objectives": SEVERAL, "value": "mean"}, "value: is \"mean\""),
                               ({"repeats": 0}, "repeats: is 0")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                winnow.tune(lambda x: x, LINE, **wrong)
        with self.assertRaisesRegex(winnow.TuningFailed, "returned a dictionary without 'score'; expected 'error', 'score'"):
            winnow.tune(lambda x: {"error": x}, LINE, objectives=SEVERAL, max_trials=5)
        with self.assertRaisesRegex(winnow.TuningFailed, "expected a dictionary with error, score"):
            winnow.tune(lambda x: x, LINE, objectives=SEVERAL, max_trials=5)


class Bounds(unittest.TestCase):
    def test_the_best_keeps_the_bounds(self):
        result = winnow.tune(lambda x: {"value": x, "memory": 1 - x}, LINE, max_trials=15, at_most={"memory": 0.6})
        self.assertGreaterEqual(result.best_params["x"], 0.4)
        self.assertLess(min(trial.params["x"] for trial in result.trials), 0.4)  # some did not keep it

    def test_a_metric_that_is_returned_after_reported_steps_counts(self):
        def f(x, trial):
            for step in (1, 2):
                trial.report(step, x / step)
            return {"memory": 1 - x}

        result = winnow.tune(f, LINE, max_trials=15, at_most={"memory": 0.6})
        self.assertGreaterEqual(result.best_params["x"], 0.4)
        self.assertEqual(result.best_step, 2)

    def test_none_keeps_the_bounds(self):
        with self.assertRaisesRegex(
                winnow.TuningFailed, "no trial kept the bounds on metrics; the nearest is trial 1: memory = 1, expected at least 2"):
            winnow.tune(lambda x: {"value": x, "memory": 1}, LINE, max_trials=4, at_least={"memory": 2})


class Repeats(unittest.TestCase):
    def test_a_configuration_counts_its_mean_over_the_same_seeds(self):
        called = {}

        def f(x, trial):
            called.setdefault(trial.number, []).append(trial.seed)
            return x + random.Random(trial.seed).gauss(0, 0.05)

        result = winnow.tune(f, LINE, max_trials=12, repeats=3)
        whole = called[result.best_trial]
        self.assertEqual(len(set(whole)), 3)
        self.assertTrue(all(seeds == whole[:len(seeds)] for seeds in called.values()))
        self.assertLess(min(map(len, called.values())), 3)  # what is hopeless was not repeated
        values = [result.best_params["x"] + random.Random(seed).gauss(0, 0.05) for seed in whole]
        self.assertAlmostEqual(result.best_value, sum(values) / 3)

    def test_a_function_that_reports_steps_trains_to_its_own_end_in_each_repeat(self):
        for value, counts in (("best", 1), ("last", 10), ("mean", 5.5)):
            for maximize in (False, True):
                calls, sign = [], -1 if maximize else 1

                def f(x, trial):
                    calls.append([trial.number, trial.resource_from])
                    for step in [3, 1, 2, 4, 5, 6, 7, 8, 9, 10]:
                        trial.report(step, sign * step, accuracy=step)
                        calls[-1].append(step)

                with self.subTest(value=value, maximize=maximize):
                    result = winnow.tune(f, LINE, max_trials=3, repeats=2, value=value, with_curves=True,
                                         direction="maximize" if maximize else "minimize")
                    for number, since, *steps in calls:
                        self.assertEqual((since, steps[0], steps[-1], len(steps)), (0, 3, 10, 10))
                    self.assertEqual([number for number, *_ in calls].count(result.best_trial), 2)
                    self.assertEqual((result.best_value, result.best_step), (sign * counts, 2))
                    self.assertEqual(result.curves["accuracy"][result.best_trial], [(1, 10), (2, 10)])

    def test_a_value_of_a_repeat_that_is_no_number_counts(self):
        def f(x, trial):
            trial.report(1, math.nan if trial.number == 1 else x)
            trial.report(2, x)

        result = winnow.tune(f, LINE, max_trials=3, repeats=2)
        self.assertEqual(result.trials[0].state, "FAILED")
        self.assertIn("nan", result.trials[0].reason.lower())
        self.assertNotIn("Error", result.trials[0].reason)

    def test_a_repeat_has_no_last_level(self):
        with self.assertRaisesRegex(winnow.TuningFailed, "trial 1 has no last level: each repeat trains to the function's own end"):
            winnow.tune(lambda x, trial: trial.steps(), LINE, max_trials=3, repeats=2)

    def test_a_repeat_may_report_or_return_what_counts_beside_other_metrics(self):
        def f(x, trial):
            if trial.number == 2:
                trial.report(4, x)
            return {"value": x, "memory": 7} if trial.number != 2 else {"memory": 7}

        result = winnow.tune(f, LINE, max_trials=3, repeats=2, with_curves=True)
        self.assertEqual(result.best_value, result.best_params["x"])
        self.assertEqual(result.curves["memory"][1], [(1, 7), (2, 7)])
        self.assertEqual(result.curves["memory"][2][0], (1, 7))


class OrderOfCalls(WithFolder):
    def test_asking_ahead_changes_no_choice(self):
        with winnow.serve(self.folder) as client:
            tuned = winnow.tune(lambda x: (x - 0.3) ** 2, LINE, max_trials=12, server=client, name="ahead")
            job = client.submit({**tuned.job.spec, "name": "one-by-one"})
            for trial in job.asked():
                trial.complete((trial.params["x"] - 0.3) ** 2, step=1)
            self.assertEqual([trial.params for trial in job.trials()], [trial.params for trial in tuned.trials])

    def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next(self):
        with winnow.serve(self.folder) as client:
            spec = {"trainer": {"external": True}, "strategy": "RANDOM", "limits": {"max_trials": 3},
                    "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                    "objective": {"metric": "loss", "goal": "MINIMIZE"}}
            client.submit({**spec, "name": "left"}).ask_ahead()
            job = client.submit({**spec, "name": "taken", "seed": 7})
            self.assertEqual(job.ask_ahead()().params, job.trial(1).params)

    def test_what_was_asked_ahead_comes_after_a_restart_of_the_server(self):
        server = self.serve()
        client = winnow.connect(server.http)
        job = client.submit({
            "name": "ahead", "trainer": {"external": True, "lease": "2s"}, "strategy": "RANDOM",
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, "limits": {"max_trials": 3, "max_parallel_trials": 1}})
        first = job.ask()
        following = job.ask_ahead()
        server.kill()
        server.start()
        first.complete(0.5)
        second = following()
        self.assertEqual(second.number, 2)
        following = job.ask_ahead()
        second.complete(0.25)
        following().complete(0.75)
        self.assertIsNone(job.ask())
        self.assertEqual(job.best().trial, 2)


if __name__ == "__main__":
    main()
