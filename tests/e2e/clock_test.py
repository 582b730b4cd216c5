"""The clock of a worker's host is set while it trains. Needs libfaketime."""

import os
import unittest

import processes

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
DAY = 86400


@unittest.skipUnless(os.path.exists(FAKETIME), "libfaketime is not installed")
class ClockTest(unittest.TestCase):
    def test_a_trial_during_which_the_clock_is_set_forward_uses_up_no_more_of_its_jobs_time(self):
        with processes.Cluster(workers=0) as cluster:
            offset, began, gate = (os.path.join(cluster.folder, name) for name in ("offset", "began", "gate"))
            with open(offset, "w", encoding="ascii") as file:
                file.write("+0")
            os.mkfifo(began)
            os.mkfifo(gate)
            cluster.add_worker("w", slots=1, prefix=[
                "env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={offset}", "FAKETIME_NO_CACHE=1",
                "FAKETIME_DONT_FAKE_MONOTONIC=1"])
            job = cluster.client.submit({
                "name": "clock", "trainer": {"command": ["/bin/sh", "-c", f"echo > {began}; read line < {gate}; echo loss=1"],
                                             "metrics": [{"name": "loss", "regex": "loss=(.*)"}]},
                "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
                "limits": {"max_trials": 1, "max_node_seconds": DAY}}, cluster.folder)
            with open(began, encoding="ascii") as file:
                file.read()
            with open(offset + ".new", "w", encoding="ascii") as file:
                file.write("+300d")
            os.rename(offset + ".new", offset)
            with open(gate, "w", encoding="ascii") as file:
                file.write("go\n")
            self.assertEqual(cluster.watch(job).to_end(), 0)
            described = cluster.client.json("describe", job)
            self.assertEqual(int(described["trial_counts"]["completed"]), 1)
            self.assertLess(described["spend"]["billable_node_seconds"], DAY)


if __name__ == "__main__":
    processes.main()
