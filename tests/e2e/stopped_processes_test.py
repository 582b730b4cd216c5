"""Processes that stand still for longer than a lease (SIGSTOP), and go on: a worker's agent, then the server."""

import signal
import time
import unittest

import processes

LEASE = 3.0  # seconds


def job(folder):
    return {
        "name": "stopped", "trainer": {"builtin": "gbdt"},
        "channels": {"train": {"path": f"{folder}/train.csv", "label": "y"},
                     "validation": {"path": f"{folder}/validation.csv", "label": "y"}},
        "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "150"},
        "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.5, "scaling": "LOG"}},
                       {"name": "max_depth", "integer": {"min": 4, "max": 8}}],
        "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"}, "strategy": "RANDOM",
        "limits": {"max_trials": 8}, "seed": 3}


class StoppedProcessesTest(unittest.TestCase):
    def run_job(self, disturb=None):
        """Its record, after `disturb(cluster, job)` was called when 100 reports had come."""
        with processes.Cluster(workers=3, slots=1, server_flags=["--lease", str(LEASE)]) as cluster:
            processes.write_table(f"{cluster.folder}/train.csv", 20000, 1)
            processes.write_table(f"{cluster.folder}/validation.csv", 1000, 2)
            name = cluster.client.submit(job(cluster.folder), cluster.folder)
            watch = cluster.watch(name)
            if disturb:
                processes.wait_until(lambda: watch.count("reported") >= 100, "100 reports come")
                disturb(cluster, watch)
            self.assertEqual(watch.to_end(), 0)
            cluster.client.run("replay", name, "--verify")
            return processes.Record(cluster.client, name)

    def expect_the_same(self, record):
        calm = self.run_job()
        record.expect_same(self, calm)

    def test_a_worker_that_stood_still_is_fenced_and_begins_anew(self):
        def disturb(cluster, watch):
            worker = cluster.workers[0]
            trainers = processes.wait_until(worker.trainers, "it trains")
            lost = watch.count("attempt_ended", " lost ")
            worker.signal(signal.SIGSTOP)
            processes.wait_until(lambda: watch.count("attempt_ended", " lost ") > lost, "its trial is given up")
            self.assertEqual(
                [row["state"] for row in cluster.client.workers("--all") if row["name"] == worker.name], ["LOST"])
            worker.signal(signal.SIGCONT)
            processes.wait_until(lambda: all(processes.parent_of(pid) == -1 for pid in trainers), "its trainers end")
            processes.wait_until(lambda: worker.name in [row["name"] for row in cluster.client.workers()],
                                 "it registers again")
            self.assertIn("the server has given this worker up", worker.log())

        record = self.run_job(disturb)
        self.assertEqual(len({trial for trial, _, _, outcome, _ in record.attempts if outcome == "lost"}), 1)
        self.expect_the_same(record)

    def test_a_server_that_stood_still_gives_nobody_up(self):
        def disturb(cluster, watch):
            del watch
            before = sorted(row["id"] for row in cluster.client.workers())
            cluster.server.signal(signal.SIGSTOP)
            time.sleep(1.5 * LEASE)  # its length is what is tested
            cluster.server.signal(signal.SIGCONT)
            self.assertEqual(sorted(row["id"] for row in cluster.client.workers()), before)

        record = self.run_job(disturb)
        self.assertEqual([row for row in record.attempts if row[3] != "finished"], [])
        self.expect_the_same(record)


if __name__ == "__main__":
    processes.main()
