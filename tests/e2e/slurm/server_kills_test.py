"""A pool on a real Slurm of this machine, whose server is killed at each step of an allocation's life."""

import unittest

import slurm_server
from processes import wait_until
from slurm_server import Site


class SlurmServerKills(unittest.TestCase):
    def test_the_server_is_killed_at_each_step(self):
        for fault in ("pools: recorded", "pools: before submit", "pools: after submit", "pools: before cancel",
                      "pools: after cancel", "pools: before forget"):
            with self.subTest(fault), Site(fault=fault, max_nodes=1) as site:
                name = site.submit("killed", 2)
                wait_until(lambda: not site.cluster.server.alive(), f"the server dies: {fault}")
                site.cluster.server.start()
                site.expect_whole(self, name)
                names = [row[0] for row in site.rows("SELECT name FROM allocations")]
                self.assertEqual(len(names), len(set(names)))
                submitted = sum(each.get("workers", 0) for each in site.allocations())
                self.assertLessEqual(submitted, 2, site.allocations())


if __name__ == "__main__":
    slurm_server.main()
