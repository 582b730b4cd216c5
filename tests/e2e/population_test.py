"""Population based training with real programs: a trial goes on from another one's checkpoint with its own
hyperparameters, on the same disk and through the artifact store, and when server and worker die in the middle. What each
checkpoint was made with is written in it, level by level: it must be what the schedule says.
"""

import glob
import json
import os
import unittest

import processes

LEASE = 2  # seconds

# Adds a line "LEVEL X TRIAL" to its checkpoint at each level. At level 5 it waits for its gate to open.
TRAINER = r"""
import json, os, sys, time
folder, trial = os.environ["WINNOW_CHECKPOINT_DIR"], os.environ["WINNOW_TRIAL"]
x = json.loads(os.environ["SM_HPS"])["x"]
history = []
if os.path.exists(folder + "/history"):
    history = open(folder + "/history").read().splitlines()
if len(history) < int(os.environ["WINNOW_RESOURCE_FROM"]):
    sys.exit(f"its checkpoint ends at level {len(history)}")
for level in range(len(history) + 1, int(os.environ["WINNOW_RESOURCE_TO"]) + 1):
    history.append(f"{level} {x} {trial}")
    with open(folder + "/history.part", "w") as file:
        file.write("\n".join(history) + "\n")
    os.rename(folder + "/history.part", folder + "/history")
    print(f"level={level} loss={abs(float(x) - 1 / level)}", flush=True)
    while level == 5 and not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
"""


def job(folder):
    with open(f"{folder}/trainer.py", "w", encoding="ascii") as file:
        file.write(TRAINER)
    return {"name": "population", "strategy": "PBT", "seed": 5,
            "pruner": {"trials": 4, "min_resource": 3, "max_resource": 9, "reduction_factor": 2},
            "trainer": {"command": ["/usr/bin/python3", f"{folder}/trainer.py", f"{folder}/gate"],
                        "resource_regex": "level=([0-9]+)", "metrics": [{"name": "loss", "regex": "loss=([0-9.e-]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0.01, "max": 1, "scaling": "LOG"}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE", "value": "LAST"}}


class PopulationTest(unittest.TestCase):
    def cluster(self, **options):
        cluster = processes.Cluster(server_flags=["--lease", str(LEASE)], **options)
        self.addCleanup(lambda: cluster.__exit__(None))
        return cluster.__enter__()

    def trials(self, cluster, name):
        found = cluster.client.json("trials", name)
        return found["trials"] if isinstance(found, dict) else found

    def trained(self, cluster, name):
        """Units over all trials."""
        return sum(int(trial["trained_resource"]) for trial in self.trials(cluster, name))

    def histories(self, cluster, name, trial):
        """Of every disk that has a checkpoint of the trial: (level, x, trial) for each level."""
        found = []
        for shared in {worker.shared for worker in cluster.workers}:
            for path in glob.glob(f"{shared}/jobs/{name}/trials/{trial}/checkpoint/history"):
                with open(path, encoding="ascii") as file:
                    lines = [line.split() for line in file]
                found.append([(int(level), float(x), int(of)) for level, x, of in lines])
        return found

    def assert_trained_as_told(self, cluster, name):
        """The parts of all schedules together; every trial that completed has a checkpoint made as its schedule says."""
        completed = [int(trial["number"]) for trial in self.trials(cluster, name) if trial["state"] == "COMPLETED"]
        self.assertEqual(len(completed), 4)
        parts = 0
        for trial in completed:
            schedule = cluster.client.json("best", name, "--schedule", "--of", str(trial))
            expected = []
            for part in schedule["parts"]:
                x = part["configuration"]["x"]
                expected += [(level, x, int(part["trial"]))
                             for level in range(int(part["resource_from"]) + 1, int(part["resource_to"]) + 1)]
            self.assertEqual([level for level, *_ in expected], list(range(1, 10)))
            self.assertIn(expected, self.histories(cluster, name, trial))
            parts += len(schedule["parts"])
        self.assertIn("schedule of trial", cluster.client.run("best", name, "--schedule"))
        cluster.client.run("replay", name, "--verify")
        return parts

    def test_on_one_disk_and_as_planned(self):
        cluster = self.cluster(workers=2, slots=2)
        open(f"{cluster.folder}/gate", "w").close()
        name = cluster.client.submit(job(cluster.folder), cluster.folder)
        watch = cluster.watch(name)
        self.assertEqual(watch.to_end(), 0)
        self.assertGreater(self.assert_trained_as_told(cluster, name), 4)
        told = [event["text"] for trial in self.trials(cluster, name)
                for event in cluster.client.json("describe", name, str(trial["number"]))["events"]
                if "goes on from trial" in event["text"]]
        self.assertEqual(len(told), 4)  # two places at each of two rungs
        self.assertRegex(told[0], r"goes on from trial \d's checkpoint at resource 3 with x .* -> ")
        self.assertTrue(any("its own copy of trial" in worker.log() for worker in cluster.workers))
        self.assertEqual(self.trained(cluster, name), 36)
        self.assertEqual(int(cluster.client.json("describe", name)["spend"]["saved_resource"]), 0)

    def test_between_disks_while_server_and_worker_die(self):
        cluster = self.cluster(workers=0, slots=2)
        for number in (1, 2):
            cluster.add_worker(f"w{number}", shared=f"{cluster.folder}/w{number}/shared")
        processes.wait_until(lambda: len(cluster.client.workers()) == 2, "both workers are there")
        name = cluster.client.submit(job(cluster.folder), cluster.folder)
        watch = cluster.watch(name)
        processes.wait_until(lambda: any((int(trial["number"]), trial["state"]) == (5, "RUNNING")
                                         for trial in self.trials(cluster, name)), "a trial goes on from another")
        cluster.server.restart()
        cluster.workers[0].kill()
        processes.wait_until(lambda: watch.count("attempt_ended", " lost "), "the worker's trials are lost")
        cluster.workers[0].start()
        open(f"{cluster.folder}/gate", "w").close()
        self.assertEqual(watch.to_end(), 0)
        self.assert_trained_as_told(cluster, name)

    def test_a_learning_rate_changes_while_winnow_mlp_trains(self):
        cluster = self.cluster(workers=1, slots=2)
        for path, count, seed in (("train", 2000, 1), ("validation", 500, 2)):
            processes.write_table(f"{cluster.folder}/{path}.csv", count, seed)
        channels = {channel: {"path": f"{cluster.folder}/{channel}.csv", "label": "y"}
                    for channel in ("train", "validation")}
        spec = {"name": "rates", "strategy": "PBT", "trainer": {"builtin": "mlp"}, "channels": channels, "seed": 3,
                "pruner": {"trials": 4, "min_resource": 2, "reduction_factor": 2},
                "static_hyperparameters": {"epochs": "6", "hidden_layers": "16", "batch_size": "96", "loss": "logistic"},
                "parameters": [{"name": "learning_rate", "continuous": {"min": 0.001, "max": 0.5, "scaling": "LOG"}}],
                "objective": {"metric": "validation:loss", "goal": "MINIMIZE"}}
        name = cluster.client.submit(spec, cluster.folder)
        self.assertEqual(cluster.watch(name).to_end(), 0)
        described = cluster.client.json("describe", name)
        self.assertEqual(described["state"], "COMPLETED")
        self.assertEqual(self.trained(cluster, name), 24)  # none began anew
        for (trial, attempt), text in cluster.workers[0].printed().items():
            if attempt == 1 and trial > 4:
                self.assertNotIn("[0]", text)
        refused = cluster.client.run("submit", self.with_layers(cluster, spec), ok=(1, 2))
        self.assertEqual(refused, "")

    def with_layers(self, cluster, spec):
        layers = {"name": "layer_width", "integer": {"min": 8, "max": 64}}
        fixed = {key: value for key, value in spec["static_hyperparameters"].items() if key != "hidden_layers"}
        path = f"{cluster.folder}/layers.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec | {"name": "layers", "parameters": [layers], "static_hyperparameters": fixed}, file)
        return path


if __name__ == "__main__":
    processes.main()
