"""A job with two objectives and a metric constraint under the default strategy: AUC against the time of a prediction, as
examples/two-objectives.json has it, with a server that is killed in the middle."""

import json
import os
import unittest

import processes

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "two-objectives.json")
AUC, TIME, LEAVES = "validation:auc", "prediction:microseconds_per_row", "model:leaves"
MOST_LEAVES = 40


def dominates(a, b):
    """Of pairs (AUC, time)."""
    return a[0] >= b[0] and a[1] <= b[1] and a != b


class TwoObjectivesTest(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(processes.Cluster(workers=1, slots=2))
        self.client = self.cluster.client
        table = os.path.join(self.cluster.folder, "table.csv")
        processes.write_table(table, 1000, seed=1)
        with open(EXAMPLE, encoding="ascii") as file:
            self.spec = json.load(file)
        self.spec["channels"] = {"train": {"path": table, "label": "y", "validation_fraction": 0.3}}
        self.spec["static_hyperparameters"]["num_round"] = "9"
        self.spec["objectives"][0]["threshold"] = 0.5
        self.spec["objectives"][1]["threshold"] = 1000
        self.spec["metric_constraints"] = [{"metric": LEAVES, "at_most": MOST_LEAVES}]

    def readings(self, trial):
        return {each["metric"]: each["value"] for each in trial["metrics"]}

    def test_a_front_survives_a_kill_and_a_target_ends_the_job(self):
        # Nearly every model is this good, and predicts in less than half a millisecond.
        self.spec["completion"] = {"target_hypervolume": 0.1 * 500}
        self.spec["limits"] = {"max_trials": 40, "max_parallel_trials": 2}
        name = self.client.submit(self.spec, self.cluster.folder)
        processes.wait_until(lambda: self.client.json("metrics", name).get("points"), "a trial has reported")
        self.cluster.server.restart()
        self.cluster.watch(name).to_end()
        job = self.client.json("describe", name)
        self.assertEqual(job["state"], "COMPLETED")
        self.assertIn("hypervolume", job["state_reason"])
        self.client.run("replay", name, "--verify")

    def test_the_front_is_the_feasible_trials_that_none_dominates(self):
        self.spec["limits"] = {"max_trials": 16, "max_parallel_trials": 2}
        self.spec["completion"] = {}
        name = self.client.submit(self.spec, self.cluster.folder)
        processes.wait_until(lambda: len(self.client.json("trials", name)["trials"]) > 4, "some trials have begun")
        self.cluster.server.restart()
        self.cluster.watch(name).to_end()

        trials = {int(trial["number"]): self.readings(trial) for trial in self.client.json("trials", name)["trials"]}
        infeasible = {number for number, values in trials.items() if values.get(LEAVES, 0) > MOST_LEAVES}
        self.assertTrue(infeasible, "no trial violates the constraint")
        points = {number: (values[AUC], values[TIME]) for number, values in trials.items()
                  if number not in infeasible and AUC in values and TIME in values}
        front = {number for number, point in points.items()
                 if not any(dominates(other, point) for other in points.values())}
        told = self.client.json("best", name, "--front")
        self.assertEqual({int(member["trial"]["number"]) for member in told["trials"]}, front)
        self.assertEqual(int(told["infeasible_trials"]), len(infeasible))
        # Rectangles above the next best AUC each; the reference point is the thresholds.
        steps = sorted((points[number] for number in front), reverse=True)
        floors = [auc for auc, _ in steps[1:]] + [0.5]
        hypervolume = sum(max(0, auc - max(floor, 0.5)) * (1000 - time) for (auc, time), floor in zip(steps, floors))
        self.assertAlmostEqual(told["hypervolume"], hypervolume, places=6)
        self.assertAlmostEqual(told["history"][-1]["hypervolume"], told["hypervolume"], places=6)

        row, = self.client.json("compare", name)["rows"]
        self.assertAlmostEqual(row["hypervolume"], told["hypervolume"], places=6)
        self.assertEqual(int(row["front_trials"]), len(front))
        member = min(front)
        self.assertIn("front", self.client.run("best", name))
        self.client.run("best", name, "--download", os.path.join(self.cluster.folder, "model"), "--trial", str(member))
        self.assertTrue(os.path.exists(os.path.join(self.cluster.folder, "model", "model.json")))
        # The server has the models of the whole front, and no others but those that were asked for.
        def kept():
            return {trial for trial, in processes.rows(self.cluster.server.database,
                                                       "SELECT trial FROM artifacts WHERE kind = 'model'")}
        processes.wait_until(lambda: kept() == front, "the models of the front are kept")
        models = os.path.join(self.cluster.folder, "models")
        got = self.client.json("best", name, "--front", "--download", models)
        self.assertEqual({int(model["trial"]) for model in got["trials"]}, front)
        for trial in front:
            self.assertTrue(os.path.exists(os.path.join(models, str(trial), "model.json")), trial)
        self.client.run("replay", name, "--verify")


if __name__ == "__main__":
    processes.main()
