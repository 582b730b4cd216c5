"""A pool on a real Slurm of this machine, whose nodes go down and are drained, which forgets jobs, and whose parts die."""

import os
import signal
import unittest

import processes
import slurm_server
import slurm_site
from processes import wait_until
from slurm_server import Site


def step_processes(slurm):
    """The processes of slurmstepd, which start and watch what runs on the nodes."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as environ:
                if line.read().startswith(b"slurmstepd:") and slurm.folder.encode() in environ.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def site(slurm, **pool):
    """Each allocation has a node of its own."""
    worker = {"slots": 1, "cpus": 2, "command": [f"{processes.BIN}/winnow-worker"]}
    return Site(slurm, max_nodes=2, worker=worker, **pool)


class SlurmNodes(unittest.TestCase):
    def begin(self, at):
        """Submits a job of three trials to two nodes; its name, once it trains. It ends when the gate is open."""
        name = at.submit_held("nodes", 3)
        wait_until(lambda: at.joined() == 2, "two workers have joined")
        wait_until(lambda: at.client.json("metrics", name).get("points"), "it trains")
        return name

    def test_a_node_that_is_set_down_and_one_that_is_drained(self):
        with site(slurm_site.Slurm(nodes=3)) as at:
            name = self.begin(at)
            placed = wait_until(lambda: len(at.placed()) == 2 and at.placed(), "two hosts are told")
            down, drained = (each["hosts"][0] for each in placed)
            at.slurm.command("scontrol", "update", f"NodeName={drained}", "State=DRAIN", "Reason=test")
            at.slurm.command("scontrol", "update", f"NodeName={down}", "State=DOWN", "Reason=test")
            wait_until(lambda: any("NODE_FAIL" in each.get("reason", "") for each in at.allocations()),
                       "the pool says why the allocation has ended")
            at.open_gate()
            at.expect_whole(self, name)

    def test_jobs_that_slurm_has_forgotten_before_it_is_asked_again(self):
        with site(slurm_site.Slurm(nodes=2, settings=["MinJobAge=2"]), poll_seconds=6) as at:
            name = self.begin(at)
            wait_until(lambda: all(each.get("id") for each in at.open()), "the ids are told")
            ids = [each["id"] for each in at.open()]
            at.slurm.command("scancel", *ids)
            wait_until(lambda: not any(each in at.slurm.command("squeue", "-h", "--states=all", "-r", "-o", "%i").split()
                                       for each in ids), "Slurm has forgotten them")
            at.open_gate()
            at.expect_whole(self, name)

    def test_a_killed_slurmstepd(self):
        with site(slurm_site.Slurm(nodes=2)) as at:
            name = self.begin(at)
            steps = step_processes(at.slurm)
            self.assertTrue(steps)
            for pid in steps:
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: any(each["state"] == "ENDED" for each in at.allocations()), "Slurm has noticed it")
            at.open_gate()
            at.expect_whole(self, name)


if __name__ == "__main__":
    slurm_server.main()
