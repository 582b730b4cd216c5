"""A job with repeats: each configuration is trained with several seeds or folds, from scratch, and ranked by its mean."""

import collections
import json
import os
import statistics
import unittest

import processes

# Prints a curve whose best value is x plus what the seed says, and leaves a checkpoint that no other repeat may find.
TRAINER = """
import json, os, sys
x = float(sys.argv[1])
seed = int(os.environ["WINNOW_SEED"])
number = os.environ.get("WINNOW_REPEAT") or "fold " + os.environ["WINNOW_FOLD"] + " of " + os.environ["WINNOW_FOLDS"]
checkpoint = os.path.join(os.environ["WINNOW_CHECKPOINT_DIR"], "state")
found = os.path.exists(checkpoint)
open(checkpoint, "w").close()
with open(os.environ["SEEN"], "a") as seen:
    seen.write(json.dumps([os.environ["WINNOW_TRIAL"], number, seed, found]) + "\\n")
for epoch in (1, 2, 3):
    print("epoch", epoch, "score", x + 0.1 * (seed % 1000) / 1000 - 0.01 * abs(epoch - 2), flush=True)
"""


def job(name, folder, repeats, **more):
    path = os.path.join(folder, "train.py")
    with open(path, "w", encoding="ascii") as file:
        file.write(TRAINER)
    return {
        "name": name,
        "trainer": {"command": ["/usr/bin/python3", path, "{{x}}"], "resource_regex": "epoch ([0-9]+)",
                    "metrics": [{"name": "score", "regex": "score ([0-9.]+)"}],
                    "environment": {"SEEN": os.path.join(folder, name + ".seen")}},
        "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
        "objective": {"metric": "score", "goal": "MAXIMIZE"},
        "repeats": repeats, "limits": {"max_trials": 8}, **more}


class RepeatsTest(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(processes.Cluster(workers=2, slots=1))
        self.client = self.cluster.client

    def run_job(self, spec):
        name = self.client.submit(spec, self.cluster.folder)
        self.cluster.watch(name).to_end()
        with open(spec["trainer"]["environment"]["SEEN"], encoding="ascii") as file:
            return name, [json.loads(line) for line in file]

    def test_seeds(self):
        name, seen = self.run_job(job("seeds", self.cluster.folder, {"seeds": 4}))
        self.assertFalse([run for run in seen if run[3]], "a repeat found the checkpoint of another")
        seeds = collections.defaultdict(set)
        for _, number, seed, _ in seen:
            seeds[number].add(seed)
        self.assertEqual(sorted(seeds), ["1", "2", "3", "4"])
        self.assertTrue(all(len(each) == 1 for each in seeds.values()), "trials have different seeds in one repeat")
        self.assertEqual(len(set.union(*seeds.values())), 4)

        described = self.client.json("describe", name)
        self.assertEqual(described["state"], "COMPLETED")
        best = described["best"]
        points = [point["value"] for point in self.client.json("metrics", name)["points"]
                  if int(point["trial"]) == int(best["trial"])]
        self.assertEqual(len(points), 4)
        self.assertAlmostEqual(best["objective"], statistics.mean(points), places=12)
        self.assertAlmostEqual(best["standard_error"], statistics.stdev(points) / 2, places=12)
        self.assertIn("mean of 4 repeats", self.client.run("best", name))
        trials = self.client.json("trials", name)["trials"]
        self.assertTrue([trial for trial in trials if trial["state"] == "PRUNED" and int(trial["resource"]) == 1])
        self.client.run("replay", name, "--verify")

    def test_folds(self):
        name, seen = self.run_job(job("folds", self.cluster.folder, {"folds": 3}, strategy="RANDOM"))
        self.assertEqual({number for _, number, _, _ in seen}, {f"fold {fold} of 3" for fold in (1, 2, 3)})
        self.client.run("replay", name, "--verify")

    def test_a_restart_of_the_server_keeps_the_repeats_that_are_done(self):
        spec = job("restarted", self.cluster.folder, {"seeds": 3})
        name = self.client.submit(spec, self.cluster.folder)
        processes.wait_until(lambda: self.client.json("metrics", name).get("points"), "a repeat has ended")
        self.cluster.server.restart()
        self.cluster.watch(name).to_end()
        keys = collections.Counter((point["trial"], point["resource"])
                                   for point in self.client.json("metrics", name)["points"])
        self.assertEqual(set(keys.values()), {1})
        self.client.run("replay", name, "--verify")


if __name__ == "__main__":
    processes.main()
