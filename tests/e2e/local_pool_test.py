"""A pool of this machine's own processes: it grows, trains, and shrinks; a killed server finds what it had started."""

import os
import sys
import unittest

import pool_server
import processes
from pool_server import job, result_of
from processes import wait_until


class Site(pool_server.PoolServer):
    def __init__(self, **pool):
        super().__init__({"name": "here", "kind": "LOCAL", "idle_timeout_seconds": 1, "poll_seconds": 0.2, **pool})
        self.pool["local"] = {"scratch_dir": self.cluster.folder}

    def workers(self):
        """The process ids of the pool's workers."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line:
                    text = line.read()
            except OSError:
                continue
            if b"winnow-worker" in text and self.cluster.folder.encode() in text:
                found.append(int(pid))
        return found

    def wait_for_nothing(self):
        self.wait_until_given_back()
        wait_until(lambda: not self.workers(), "no worker is left")
        folder = f"{self.cluster.folder}/winnow.db.d/pools/here"
        wait_until(lambda: not os.listdir(folder), "no files are left")


class LocalPool(unittest.TestCase):
    def test_it_grows_trains_gangs_and_shrinks_like_workers_that_are_always_there(self):
        with processes.Cluster(workers=3, slots=1) as local:
            name = local.client.submit(job("gangs", 3, 3), local.folder)
            self.assertEqual(local.watch(name).to_end(), 0)
            calm = result_of(local.client, name)
        with Site() as site:
            name = site.submit(job("gangs", 3, cluster={"nodes": 3, "pools": ["here"]}))
            described = site.wait_for_end(name)
            self.assertEqual(result_of(site.client, name), calm)
            site.expect_exact(self, name)
            [spent] = described["spend"]["pools"]
            self.assertEqual(spent["pool"], "here")
            self.assertAlmostEqual(spent["cost"], described["spend"]["cost"])
            self.assertAlmostEqual(spent["node_seconds"] * 3.6 / 3600, spent["cost"])  # one slot a node
            site.wait_for_nothing()
            self.assertGreaterEqual(site.state()["cost"], spent["cost"])
            with self.assertRaisesRegex(AssertionError, r'cluster.pools\[0\].* is "there", which is not a pool; expected here'):
                site.submit(job("other", 1, cluster={"pools": ["there"]}))

    def test_a_killed_server_goes_on_with_what_it_had_started(self):
        with Site() as site:
            name = site.submit(job("killed", 3, trainer=pool_server.held(site.gate)))
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            site.server.kill()
            before = site.workers()
            self.assertTrue(before)
            site.server.start()
            site.open_gate()
            site.wait_for_end(name)
            site.expect_exact(self, name)
            self.assertLessEqual(len(site.allocations()), 3)
            site.wait_for_nothing()

    def test_what_has_not_ended_of_a_pool_that_is_not_declared_any_more_is_named(self):
        with Site() as site:
            name = site.submit(job("kept", 1, trainer=pool_server.held(site.gate)))
            wait_until(site.joined, "a worker has joined")
            [allocation] = site.open()
            for pool in ("there", "here"):
                site.pool["name"] = pool
                site.write()
                site.server.stop()
                site.server.start()
            self.assertIn(f"{allocation['name']} of pool here has not ended, but --pools does not declare that pool",
                          site.server.log())
            site.open_gate()
            site.wait_for_end(name)
            site.wait_for_nothing()

    def test_the_doctor_says_why_no_worker_came_and_does_not_wait_for_the_end_of_a_pause(self):
        with Site(worker={"slots": 1, "command": ["/no/such/winnow-worker"]}) as site:
            told = site.client.run("doctor", "--pool", "here", ok=(1,))
            self.assertRegex(told, "has ended: .*/no/such/winnow-worker: not found")
            self.assertIn("No worker came.", told)
            told = site.client.run("doctor", "--pool", "here", "--patience", "3", ok=(1,))
            self.assertEqual(told.count("It pauses for"), 1, told)
            self.assertIn("Nothing was submitted", told)

    def test_workers_that_cannot_reach_the_server_say_where_they_are_and_which_address_it_was(self):
        worker = {"slots": 1, "command": [f"{processes.BIN}/winnow-worker"], "server": "127.0.0.1:1",
                  "arguments": ["--host", "node-7", "--join-timeout", "1"]}
        with Site(worker=worker, start_timeout_seconds=60) as site:
            site.submit(job("never", 1))
            ended = wait_until(lambda: [each for each in site.allocations() if each["state"] == "ENDED"], "one has ended")
            self.assertRegex(ended[0]["reason"], r"worker winnow-\S+ on node-7 has had no answer from the server at "
                                                 r"127\.0\.0\.1:1 for 1 s: Connection refused")


if __name__ == "__main__":
    sys.exit(processes.main())
