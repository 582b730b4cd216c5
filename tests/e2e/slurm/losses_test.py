"""A pool on a real Slurm of this machine, of which parts are killed."""

import os
import signal
import unittest

import pool_server
import processes
import slurm_server
import slurm_site
from processes import wait_until
from slurm_server import Site


class SlurmLosses(unittest.TestCase):
    def test_the_controller_dies_and_comes_back(self):
        with Site() as site:
            site.slurm.kill_controller()
            name = site.submit("later", 2)
            wait_until(lambda: "could not be asked" in site.state().get("state_reason", ""),
                       "the pool says that its engine does not answer")
            site.slurm.start_controller()
            site.expect_whole(self, name)

    def test_the_controller_dies_under_a_gang_that_trains(self):
        with Site() as site:
            name = site.submit("gangs", 2, 3, levels=10, pause=0.3)
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            site.slurm.kill_controller()
            wait_until(lambda: "could not be asked" in site.state().get("state_reason", ""),
                       "the pool says that its engine does not answer")
            site.slurm.start_controller()
            site.expect_whole(self, name)

    def test_the_controller_dies_when_it_has_just_taken_a_job(self):
        # It may have forgotten the job, or start it a second time on the node where it runs.
        with Site() as site:
            name = site.submit("just", 2, levels=4, pause=0.3)
            wait_until(lambda: any(each.get("id") for each in site.open()), "the id is told")
            site.slurm.kill_controller()
            site.slurm.start_controller()
            site.expect_whole(self, name)

    def test_a_time_limit_in_the_middle_of_a_part_of_a_worker_that_does_not_know_it(self):
        worker = {"slots": 1, "cpus": 2, "command": [f"{processes.BIN}/winnow-worker"]}
        with Site(slurm_site.Slurm(nodes=2), max_nodes=1, worker=worker) as site:
            file = f"{site.cluster.folder}/go"
            # The first attempt of a trial trains until it is ended.
            trainer = f'while [ ! -e {file} ]; do sleep 0.1; done; ' + pool_server.TRAINER
            name = site.submit("limit", 2, levels=2, trainer=trainer)
            wait_until(lambda: site.client.json("describe", name)["trial_counts"].get("running"), "it trains")
            limited = wait_until(lambda: site.open()[0].get("id"), "the id is told")
            site.slurm.command("scontrol", "update", f"JobId={limited}", "EndTime=now+1")
            wait_until(lambda: any("TIMEOUT" in each.get("reason", "") for each in site.allocations()), "the pool says it")
            with open(file, "w", encoding="ascii"):
                site.wait_for_end(name)
            site.expect_exact(self, name)
            site.wait_for_nothing()

    def test_a_killed_slurmd_with_all_that_it_had_started(self):
        with Site(slurm_site.Slurm(nodes=2), max_nodes=2) as site:
            name = site.submit("node", 3, levels=10, pause=0.3)
            node = wait_until(site.placed, "a worker has joined, and its host is told")[0]["hosts"][0]
            os.kill(site.slurm.node_pid(node), signal.SIGKILL)
            for pid in site.slurm.own_processes():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        text = line.read()
                    with open(f"/proc/{pid}/environ", "rb") as environ:
                        of_node = f"SLURMD_NODENAME={node}".encode() in environ.read()
                    if of_node or (b"slurmstepd" in text and node.encode() in text):
                        os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            site.wait_for_end(name)
            site.expect_exact(self, name)
            site.slurm.start_node(node)
            site.wait_for_nothing()


if __name__ == "__main__":
    slurm_server.main()
