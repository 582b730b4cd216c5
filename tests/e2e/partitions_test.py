"""Harm to the network between a server and its workers, and between the ranks of a trial: cuts of both directions or one,
loss, delay and resets, shorter and longer than a lease. Whatever it is, the job ends with the undisturbed result.
"""

import functools
import sys
import time
import unittest

import network
import processes
import site_of_hosts

LEASE = 2.0  # seconds
LONG_LEASE = 6.0
SHORT = 1.0  # of a cut, to which the commands that make and mend it add, and the time until what was lost is sent again
METRIC = "validation:auc"


def job(folder, nodes=1):
    return {
        "name": f"partition-{nodes}",
        # A rank that hears nothing of the others for so long gives up.
        "trainer": {"builtin": "gbdt", "grace_period": "2s",
                    "environment": {"WINNOW_RANK_PATIENCE_SECONDS": "3"} if nodes > 1 else {}},
        "channels": {"train": {"path": f"{folder}/train.csv", "label": "y"},
                     "validation": {"path": f"{folder}/validation.csv", "label": "y"}},
        "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "500"},
        "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.5, "scaling": "LOG"}},
                       # Shallow trees of many rows: much to compute between the ranks' exchanges.
                       {"name": "max_depth", "integer": {"min": 5, "max": 8} if nodes == 1 else {"min": 2, "max": 3}}],
        "objective": {"metric": METRIC, "goal": "MAXIMIZE"}, "strategy": "RANDOM", "cluster": {"nodes": nodes},
        "limits": {"max_trials": 6 if nodes == 1 else 2, "max_attempts": 3, "max_lost_attempts": 20}, "seed": 3}


class PartitionsTest(unittest.TestCase):
    calm = {}  # records of undisturbed jobs, by nodes

    def run_job(self, nodes=1, disturb=None, lease=LEASE):
        """Its record, after `disturb(site, watch)` was called when 100 reports had come."""
        with site_of_hosts.Site(["w1", "w2", "w3"], server_flags=["--lease", str(lease)]) as site:
            processes.write_table(f"{site.folder}/train.csv", 12000 if nodes == 1 else 40000, 1)
            processes.write_table(f"{site.folder}/validation.csv", 1000, 2)
            name = site.client.submit(job(site.folder, nodes), site.folder)
            watch = site.watch(name)
            if disturb:
                processes.wait_until(lambda: watch.count("reported") >= 100, "100 reports come")
                disturb(site, watch)
            self.assertEqual(watch.to_end(), 0)
            site.client.run("replay", name, "--verify")
            return processes.Record(site.client, name)

    def expect_the_calm_result(self, record, nodes=1):
        if nodes not in self.calm:
            self.calm[nodes] = self.run_job(nodes)
        calm = self.calm[nodes]
        record.expect_same(self, calm)

    def lost(self, record):
        return [row for row in record.attempts if row[3] == "lost"]

    def until_lost(self, site, watch, harm, name="w1"):
        """Harms the worker's network while it trains, and waits until the server has given it up."""
        trainers = processes.wait_until(site.worker(name).trainers, "it trains")
        harm()
        processes.wait_until(lambda: watch.count("attempt_ended", f"worker {name} was not heard of"),
                             "its trial is given up")
        return trainers

    def expect_fenced(self, site, trainers, name="w1"):
        site.network[name].mend()
        processes.wait_until(lambda: all(processes.parent_of(pid) == -1 for pid in trainers), "its trainers end")
        processes.wait_until(lambda: "given this worker up" in site.worker(name).log(), "it learns of it")

    def test_a_cut_shorter_than_the_lease_costs_nothing(self):
        def disturb(site, watch):
            del watch
            site.network["w1"].cut()
            time.sleep(SHORT)  # its length is what is tested
            site.network["w1"].mend()

        record = self.run_job(disturb=disturb, lease=LONG_LEASE)
        self.assertEqual(self.lost(record), [])
        self.expect_the_calm_result(record)

    def test_a_cut_longer_than_the_lease_is_fenced(self):
        def disturb(site, watch):
            self.expect_fenced(site, self.until_lost(site, watch, site.network["w1"].cut))

        record = self.run_job(disturb=disturb)
        self.assertEqual(len(self.lost(record)), 1)
        self.expect_the_calm_result(record)

    def test_a_worker_that_hears_nothing_is_fenced(self):
        def disturb(site, watch):
            deafen = functools.partial(site.network["w1"].deafen, site.network["server"])
            self.expect_fenced(site, self.until_lost(site, watch, deafen))

        self.expect_the_calm_result(self.run_job(disturb=disturb))

    def test_a_worker_that_is_not_heard_is_fenced(self):
        def disturb(site, watch):
            deafen = functools.partial(site.network["server"].deafen, site.network["w1"])
            trainers = self.until_lost(site, watch, deafen)
            site.network["server"].mend()
            self.expect_fenced(site, trainers)

        self.expect_the_calm_result(self.run_job(disturb=disturb))

    def test_a_lossy_line_changes_nothing(self):
        def disturb(site, watch):
            del watch
            for name in ("w1", "w2"):
                site.network[name].lose(30)  # until the job ends

        self.expect_the_calm_result(self.run_job(disturb=disturb))

    def test_a_slow_line_changes_nothing(self):
        def disturb(site, watch):
            delay_file = site.relay("w1")
            reports = watch.count("reported")
            for delay in (0.1 * LEASE, 1.5 * LEASE, 0):
                with open(delay_file, "w", encoding="ascii") as file:
                    file.write(str(delay))
                reports = min(reports + 150, 1100)
                processes.wait_until(lambda: watch.count("reported") >= reports, "more reports come")

        self.expect_the_calm_result(self.run_job(disturb=disturb))

    def test_ranks_that_cannot_reach_each_other_begin_again_from_their_checkpoint(self):
        def disturb(site, watch):
            for name in ("w2", "w3"):
                site.network[name].deafen(site.network["w1"])
            processes.wait_until(lambda: watch.count("attempt_ended", " lost ") + watch.count("attempt_ended", " failed "),
                                 "the ranks give up")
            for name in ("w2", "w3"):
                site.network[name].mend()

        record = self.run_job(3, disturb)
        self.assertEqual([row for row in record.attempts if row[3] == "failed" and "exit code 75" not in row[4]], [])
        self.expect_the_calm_result(record, 3)

    def test_ranks_whose_connections_are_reset_begin_again(self):
        def disturb(site, watch):
            site.network["w2"].reset(site.network["w1"])
            processes.wait_until(lambda: watch.count("attempt_ended", " lost ") + watch.count("attempt_ended", " failed "),
                                 "the ranks give up")
            site.network["w2"].mend()

        self.expect_the_calm_result(self.run_job(3, disturb), 3)


if __name__ == "__main__":
    if network.why_not():
        print(f"skipped: {network.why_not()}")
        sys.exit(processes.SKIPPED)
    processes.main()
