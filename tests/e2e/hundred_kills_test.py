"""A job of 60 trials while its server, its workers and single ranks are killed 100 times, at moments that a seed draws.

WINNOW_TEST_SEED draws other moments. On PostgreSQL: tests/support/with_postgres.py python3 tests/e2e/hundred_kills_test.py
"""

import os
import random
import re
import unittest

import processes

KILLS = 100
TRIALS = 60
OBJECTIVE, METRIC = "validation:auc", "validation-auc"  # as jobs and as trainers write it


def job(folder, nodes):
    return {
        "name": "hundred-kills", "trainer": {"builtin": "gbdt"},
        "channels": {"train": {"path": f"{folder}/train.csv", "label": "y"},
                     "validation": {"path": f"{folder}/validation.csv", "label": "y"}},
        "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "100"},
        "parameters": [
            {"name": "eta", "continuous": {"min": 0.01, "max": 0.5, "scaling": "LOG"}},
            {"name": "max_depth", "integer": {"min": 2, "max": 8}},
            {"name": "subsample", "continuous": {"min": 0.5, "max": 1}}],
        "objective": {"metric": OBJECTIVE, "goal": "MAXIMIZE"},
        "strategy": "HYPERBAND", "hyperband": {"min_resource": 3, "max_resource": 81, "reduction_factor": 3},
        "cluster": {"nodes": nodes},
        "limits": {"max_trials": TRIALS, "max_attempts": 100, "max_lost_attempts": 100}, "seed": 11}


class Killer:
    """Kills something, and starts it again, after every few reports."""

    def __init__(self, cluster, draw, reports):
        self.cluster, self.draw = cluster, draw
        self.kills = {"server": 0, "worker": 0, "rank": 0}
        self.progress = 0
        # The moments, in reports that were recorded; the last tenth is left for the end.
        self.moments = sorted(draw.sample(range(2, int(reports * 0.9)), KILLS))
        self.targets = [("server", "worker", "rank")[i % 3] for i in range(KILLS)]
        draw.shuffle(self.targets)

    def on_event(self, event):
        if event["kind"] != "reported":
            return
        self.progress += 1
        while self.targets and self.progress >= self.moments[len(self.moments) - len(self.targets)]:
            if not self.kill(self.targets[-1]):
                return  # no rank runs at this moment: the next report will find one
            self.kills[self.targets.pop()] += 1

    def kill(self, target):
        cluster = self.cluster
        if target == "server":
            cluster.server.restart()
        elif target == "worker":
            worker = self.draw.choice(cluster.workers)
            worker.kill()
            worker.start()
        else:
            ranks = sorted(pid for worker in cluster.workers for pid in worker.trainers())
            if not ranks:
                return False
            try:
                os.kill(self.draw.choice(ranks), 9)
            except ProcessLookupError:
                return False
        return True


class HundredKillsTest(unittest.TestCase):
    def run_job(self, nodes, killer_of=None):
        """The record of the job, what its watch told, what its ranks printed, and the killer."""
        with processes.Cluster(workers=4, slots=1) as cluster:
            processes.write_table(f"{cluster.folder}/train.csv", 24000, 1)
            processes.write_table(f"{cluster.folder}/validation.csv", 1000, 2)
            name = cluster.client.submit(job(cluster.folder, nodes), cluster.folder)
            killer = killer_of(cluster) if killer_of else None
            watch = cluster.watch(name, killer.on_event if killer else None)
            self.assertEqual(watch.to_end(), 0)
            cluster.client.run("replay", name, "--verify")
            spend = cluster.client.json("describe", name)["spend"]
            record = processes.Record(cluster.client, name)
            record.spend = spend
            return record, watch.events, [worker.printed() for worker in cluster.workers], killer

    def test_a_hundred_kills_change_nothing(self):
        self.change_nothing(nodes=2)

    def test_nor_where_programs_are_forked_and_wait(self):
        for record in self.change_nothing(nodes=1):
            self.assertGreater(int(record.spend["forked_parts"]), 0)

    def change_nothing(self, nodes):
        """The records of an undisturbed run and of one with kills."""
        calm, _, _, _ = self.run_job(nodes)
        self.assertEqual(len(calm.configurations), TRIALS)
        reports = len(calm.sequences())
        seed = int(os.environ.get("WINNOW_TEST_SEED", "1"))
        stormy, events, printed, killer = self.run_job(
            nodes, lambda cluster: Killer(cluster, random.Random(seed), reports))
        print(f"seed {seed}: kills {killer.kills}, {reports} reports undisturbed, {len(stormy.sequences())} with "
              f"those that were repeated; {len(calm.attempts)} and {len(stormy.attempts)} ranks")
        self.assertEqual(sum(killer.kills.values()), KILLS)

        # What was once told as recorded is recorded, and was told once.
        told = [int(event["sequence"]) for event in events if event["kind"] == "reported"]
        since = [sequence for sequence in stormy.sequences() if sequence >= min(told)]  # the watch began
        self.assertEqual(sorted(told), sorted(since))
        # What a worker has seen a rank print, in whichever attempt, is recorded.
        curves, lines, missing = stormy.curves(), 0, []
        for texts in printed:
            for (trial, attempt), text in texts.items():
                for level, value in re.findall(rf"^\[(\d+)\].*{METRIC}:([0-9.]+)$", text, re.MULTILINE):
                    lines += 1
                    if curves.get((trial, OBJECTIVE, int(level) + 1)) != float(value):
                        missing.append((trial, attempt, int(level) + 1, value))
        self.assertEqual(missing, [])
        self.assertGreaterEqual(lines, reports)
        # No level counts twice, attempts agree, and all is as if nothing had happened.
        self.assertEqual(stormy.disagreements(), [])
        self.assertEqual(curves, calm.curves())
        self.assertEqual(stormy.configurations, calm.configurations)
        self.assertEqual(stormy.states, calm.states)
        self.assertEqual(stormy.best, calm.best)
        self.assertEqual(stormy.integrity, "ok")
        return calm, stormy


if __name__ == "__main__":
    processes.main()
