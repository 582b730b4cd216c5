"""Programs that wait for their trial's next part: the same search and the same models, bit for bit, as without them;
none is left when its job has ended, and none when its worker was killed."""

import hashlib
import os
import re
import signal
import unittest

import processes

KEPT = 8


def job(name, builtin, table):
    levels = "num_round" if builtin == "gbdt" else "epochs"
    metric = "validation:auc" if builtin == "gbdt" else "validation:accuracy"
    rate = "eta" if builtin == "gbdt" else "learning_rate"
    return {
        "name": name,
        "trainer": {"builtin": builtin},
        "static_hyperparameters": {levels: "9", "nthread": "1"} | (
            {"objective": "binary:logistic", "eval_metric": "auc"} if builtin == "gbdt" else {"hidden_layers": "8"}),
        "parameters": [{"name": rate, "continuous": {"min": 0.01, "max": 0.5, "scaling": "LOG"}}],
        "objective": {"metric": metric, "goal": "MAXIMIZE"},
        "channels": {"train": {"path": table, "label": "y", "validation_fraction": 0.25}},
        "strategy": "ASHA", "pruner": {"max_resource": 9},
        "limits": {"max_trials": 12, "max_parallel_trials": 1}, "seed": 3}


def models_of(worker, name):
    """Trial and file -> a digest of what the trial's model directory has."""
    found = {}
    root = os.path.join(worker.shared, "jobs", name, "trials")
    for folder, _, files in os.walk(root):
        relative = os.path.relpath(folder, root)
        if "model" not in relative.split(os.sep):
            continue
        for file in files:
            with open(os.path.join(folder, file), "rb") as content:
                found[relative, file] = hashlib.sha256(content.read()).hexdigest()
    return found


class WarmTrainersTest(unittest.TestCase):
    def result(self, builtin, flags):
        """The curves, the models, and how many parts a waiting program went on with."""
        with processes.Cluster(workers=1, slots=1, worker_flags=flags) as cluster:
            table = os.path.join(cluster.folder, "table.csv")
            processes.write_table(table, 300, 5)
            name = cluster.client.submit(job("warm", builtin, table), cluster.folder)
            self.assertEqual(cluster.watch(name).to_end(), 0)
            worker = cluster.workers[0]
            processes.wait_until(lambda: not worker.trainers(), "no program of the job is left")
            models = models_of(worker, name)
            continued = len(re.findall(r"continued \S+: ", worker.log()))
            record = processes.Record(cluster.client, name)
            record.points = [point for point in record.points if point["metric"] != "samples-per-second"]
            return record, models, continued

    def same(self, builtin):
        warm, warm_models, continued = self.result(builtin, ["--warm-trainers", str(KEPT)])
        cold, cold_models, started = self.result(builtin, ["--warm-trainers", "0"])
        self.assertGreater(continued, 0)
        self.assertEqual(started, 0)
        warm.expect_same(self, cold)
        self.assertEqual(warm_models, cold_models)
        self.assertGreaterEqual(len(warm_models), 12)

    def test_gbdt(self):
        self.same("gbdt")

    def test_mlp(self):
        self.same("mlp")

    def test_killed_worker_leaves_nothing(self):
        with processes.Cluster(workers=1, slots=1, worker_flags=["--warm-trainers", str(KEPT)]) as cluster:
            table = os.path.join(cluster.folder, "table.csv")
            processes.write_table(table, 300, 5)
            spec = job("killed", "gbdt", table)
            spec["limits"]["max_trials"] = 200
            name = cluster.client.submit(spec, cluster.folder)
            worker = cluster.workers[0]
            # More than its slot can hold: some of them wait.
            left = processes.wait_until(lambda: worker.trainers() if len(worker.trainers()) > 2 else None,
                                        "programs wait")
            worker.signal(signal.SIGKILL)
            worker.process.wait()
            processes.wait_until(lambda: all(processes.parent_of(pid) == -1 for pid in left), "they are gone")
            worker.start()
            self.assertEqual(cluster.watch(name).to_end(), 0)
            states = {trial["state"] for trial in cluster.client.json("trials", name)["trials"]}
            self.assertNotIn("FAILED", states)

    def test_leaving_worker_ends_them(self):
        with processes.Cluster(workers=1, slots=1, worker_flags=["--warm-trainers", str(KEPT)]) as cluster:
            table = os.path.join(cluster.folder, "table.csv")
            processes.write_table(table, 300, 5)
            spec = job("leaves", "gbdt", table)
            spec["limits"]["max_trials"] = 200
            cluster.client.submit(spec, cluster.folder)
            worker = cluster.workers[0]
            left = processes.wait_until(lambda: worker.trainers() if len(worker.trainers()) > 2 else None,
                                        "programs wait")
            self.assertEqual(worker.stop(), 0)
            self.assertTrue(all(processes.parent_of(pid) == -1 for pid in left))


if __name__ == "__main__":
    unittest.main(verbosity=2)
