#!/usr/bin/env python3
"""winnow.simulate: strategies over the curves of a job, over a table and with a known function."""

import math
import pathlib
import unittest

from servers import WithFolder, main
import winnow
from winnow import reading

SPACE = {"rate": winnow.log_uniform(1e-4, 1), "kind": ["a", "b"]}


def loss(rate, kind, step):
    """Falls with the step; its order by rate is the same at every step."""
    return abs(math.log10(rate) + 2) + math.exp(-0.3 * step) + (kind == "b") * 0.5


def report(rate, kind, trial):
    for step in range(1, 10):
        trial.report(step, loss(rate, kind, step))


class Recorded(WithFolder):
    def test_the_trials_of_a_job_are_played_through_strategies(self):
        with winnow.serve(self.folder) as client:
            tuned = winnow.tune(report, SPACE, max_trials=30, max_steps=9, strategy="random", server=client)
            found = winnow.simulate(tuned.job, ["RANDOM", "ASHA"], seeds=9, target=tuned.best_value)
            again = winnow.simulate(tuned.job, ["RANDOM", "ASHA"], seeds=9, target=tuned.best_value)
            whole = winnow.simulate(tuned.job, [{"sampler": {"kind": "GP"}}], seeds=1, budget=90, target=-1.0)
        self.assertEqual(found.runs, again.runs)
        self.assertEqual(found.budget, 270)
        # Curves do not cross: what stops the weak early finds the same with less.
        by_name = {one.strategy: one for one in found.strategies()}
        self.assertLess(by_name["ASHA"].units, by_name["RANDOM"].units)
        recorded = {trial.value for trial in tuned.trials}
        self.assertTrue(all(run.best in recorded for run in found.runs if run.strategy == "RANDOM"))
        self.assertEqual([run.found for run in whole.runs], [False])
        self.assertEqual(whole.runs[0].units, 90)
        self.assertIn("ASHA", str(found))

    def test_curves_of_pruned_trials_keep_their_last_value(self):
        with winnow.serve(self.folder) as client:
            job = winnow.tune(report, SPACE, max_trials=25, max_steps=9, server=client).job
            self.assertTrue(job.trials(["PRUNED"]))
            found = winnow.simulate(job, ["BAYESIAN"], seeds=2)
        self.assertEqual([run.seed for run in found.runs], [0, 1])
        self.assertTrue(all(math.isfinite(run.best) for run in found.runs))

    def test_ranges_that_were_changed_have_the_trials_of_before_and_after(self):
        with winnow.serve(self.folder) as client:
            job = client.submit({"name": "changed", "trainer": {"external": True}, "strategy": "RANDOM", "limits": {"max_trials": 6},
                                 "parameters": [{"name": "rate", "continuous": {"min": 0, "max": 1}},
                                                {"name": "kind", "categorical": {"values": ["a", "b"]}}],
                                 "objective": {"metric": "loss", "goal": "MAXIMIZE"}})
            for number, trial in enumerate(job.asked()):
                with trial:
                    trial.report(1, trial.params["rate"])
                if number == 2:
                    job.change_range("rate", min=0.5, max=5)
                    job.change_range("kind", add=["c"], drop=["a", "b"])
            self.assertEqual({trial.params["kind"] for trial in job.trials()} - {"a", "b"}, {"c"})
            rate, kind = reading.parameters_tried(job, job.trials())
            self.assertEqual((rate["continuous"]["min"], rate["continuous"]["max"]), (0, 5))
            self.assertEqual(kind["categorical"]["values"], ["a", "b", "c"])
            found = winnow.simulate(job, ["RANDOM"], seeds=1)
        self.assertEqual(found.budget, 6)
        self.assertIsNotNone(found.runs[0].best)

    def test_a_table_with_its_job_file(self):
        table = pathlib.Path(self.folder, "curves.csv")
        table.write_text("x,1,2\n" + "".join(f"{x / 10},{x},{x / 2}\n" for x in range(1, 11)))
        spec = {"parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                "objective": {"metric": "loss", "goal": "MAXIMIZE"}}
        found = winnow.simulate(table, ["RANDOM"], spec=spec, budget=200, target=10, seeds=3)
        self.assertEqual([run.best for run in found.runs], [10.0] * 3)
        self.assertTrue(all(run.found and run.units < 200 for run in found.runs))

    def test_one_strategy_needs_no_list(self):
        table = pathlib.Path(self.folder, "curves.csv")
        table.write_text("x,1,2\n0.1,3,2\n0.9,2,1\n")
        spec = {"parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                "objective": {"metric": "loss", "goal": "MINIMIZE"}}
        for one, label in (("random", "RANDOM"), ({"sampler": {"kind": "TPE"}}, "TPE")):
            found = winnow.simulate(table, one, spec=spec, budget=4, seeds=2)
            self.assertEqual([run.strategy for run in found.runs], [label, label])
        found = winnow.simulate(lambda x: x * x, "RANDOM", space={"x": winnow.uniform(-3, 3)}, budget=2, seeds=1)
        self.assertEqual([run.strategy for run in found.runs], ["RANDOM"])

    def test_what_is_missing_or_wrong_is_named(self):
        with self.assertRaisesRegex(ValueError, "space, budget"):
            winnow.simulate(loss)
        with self.assertRaisesRegex(ValueError, "max_steps"):
            winnow.simulate(loss, space=SPACE, budget=9)
        with self.assertRaisesRegex(ValueError, "seeds: is 0"):
            winnow.simulate(loss, space=SPACE, budget=9, max_steps=3, seeds=0)
        table = pathlib.Path(self.folder, "curves.csv")
        table.write_text("x,1\n0.5,1\n")
        spec = {"parameters": [{"name": "y", "continuous": {"min": 0, "max": 1}}],
                "objective": {"metric": "loss", "goal": "MINIMIZE"}}
        with self.assertRaisesRegex(winnow.InvalidArgument, 'RANDOM: .*"x" is not a hyperparameter'):
            winnow.simulate(table, ["RANDOM"], spec=spec, budget=5)
        for field, value in (("metric_constraints", [{"metric": "size", "at_most": 5}]), ("repeats", {"seeds": 3})):
            with self.assertRaisesRegex(ValueError, f"spec.{field}: is given"):
                winnow.simulate(table, ["RANDOM"], spec={**spec, field: value}, budget=5)


class Functions(unittest.TestCase):
    def test_a_function_with_steps(self):
        found = winnow.simulate(loss, ["ASHA", "RANDOM"], space=SPACE, max_steps=9, budget=180, seeds=3, target=0.15)
        by_name = {one.strategy: one for one in found.strategies()}
        self.assertEqual(len(found.runs), 6)
        self.assertLess(by_name["ASHA"].units, by_name["RANDOM"].units)
        self.assertTrue(all(run.units <= 180 for run in found.runs))

    def test_a_function_without_steps(self):
        found = winnow.simulate(lambda x: x * x, space={"x": winnow.uniform(-3, 3)}, budget=15, seeds=2)
        self.assertEqual(found.strategies()[0].strategy, "BAYESIAN")
        self.assertEqual({run.units for run in found.runs}, {15})


if __name__ == "__main__":
    main()
