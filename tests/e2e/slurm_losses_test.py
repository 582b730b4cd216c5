"""A pool on a real Slurm of this machine, of which parts are killed."""

import os
import signal
import unittest

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
            site.wait_for_end(name)
            site.expect_exact(self, name)
            site.wait_for_nothing()

    def test_a_killed_slurmd_with_all_that_it_had_started(self):
        with Site(slurm_site.Slurm(nodes=2), max_nodes=2) as site:
            name = site.submit("node", 3, levels=10, pause=0.3)
            wait_until(lambda: any(each.get("workers", 0) for each in site.open()), "a worker has joined")
            node = next(each for each in site.open() if each.get("workers", 0))["hosts"][0]
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


if __name__ == "__main__":
    slurm_server.main()
