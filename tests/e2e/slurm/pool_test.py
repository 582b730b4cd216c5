"""A pool on a real Slurm of this machine: it grows, trains, and shrinks to nothing."""

import os
import stat
import unittest

import processes
import slurm_server
from pool_server import job, result_of
from processes import wait_until
from slurm_server import Site


class SlurmPool(unittest.TestCase):
    def test_it_grows_trains_gangs_and_shrinks_to_nothing(self):
        calm = {}
        with processes.Cluster(workers=3, slots=1) as local:
            for name, nodes in (("singles", 1), ("gangs", 3)):
                spec = job(name, 6 if nodes == 1 else 3, nodes)
                local.client.submit(spec, local.folder)
                self.assertEqual(local.watch(name).to_end(), 0)
                calm[name] = result_of(local.client, name)
        with Site() as site:
            self.assertEqual(site.allocations(), [])
            site.submit("singles", 6)
            site.wait_for_end("singles")
            site.wait_for_nothing()
            site.submit("gangs", 3, 3)
            site.wait_for_end("gangs")
            for name in ("singles", "gangs"):
                self.assertEqual(result_of(site.client, name), calm[name])
                site.expect_exact(self, name)
            most = max(int(each["nodes"]) for each in site.allocations())
            self.assertEqual(most, 3, "the gang's nodes come in one allocation")
            site.wait_for_nothing()
            self.assertTrue(all(each.get("workers", 0) == each["nodes"] for each in site.allocations()),
                            site.allocations())
            self.assertGreater(site.state()["node_seconds"], 0)
            self.assertGreater(site.state()["cost"], 0)

    def test_workers_leave_before_the_time_limit_and_others_come(self):
        with Site(time_limit_seconds=60, grace_seconds=54, max_nodes=2) as site:
            # Short beside the six seconds that a worker stays, and together longer than two workers have.
            name = site.submit("limited", 12, levels=4, pause=0.3)
            site.wait_for_end(name)
            site.expect_exact(self, name)
            self.assertGreater(len(site.allocations()), 2)
            self.assertTrue(any("its workers have left" in each.get("reason", "") for each in site.allocations()),
                            site.allocations())
            site.wait_for_nothing()

    def test_a_token_is_bound_to_its_allocation_and_dies_with_it(self):
        with Site(processes_flags=["--require-tokens"]) as site:
            name = site.submit_held("tokens", 2)
            wait_until(lambda: any(each.get("workers", 0) for each in site.open()), "a worker has joined")
            allocation = site.open()[0]["name"]
            token = f"{site.cluster.folder}/winnow.db.d/pools/slurm/{allocation}/token"
            self.assertEqual(stat.S_IMODE(os.stat(token).st_mode), 0o600)
            with open(token, encoding="ascii") as file:
                secret = file.read()
            self.assertTrue(secret.startswith("wnw_"), secret)
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        self.assertNotIn(secret.strip().encode(), line.read())
                except OSError:
                    pass
            stolen = f"{site.cluster.folder}/stolen"
            with open(stolen, "w", encoding="ascii") as file:
                file.write(secret)
            os.chmod(stolen, 0o600)
            stranger = processes.Worker(site.cluster.server, site.cluster.folder, "stranger",
                                        flags=["--token-file", stolen])
            stranger.start()
            wait_until(lambda: not stranger.alive() or "is not one of the workers" in stranger.log(), "it is refused")
            self.assertIn("is not one of the workers of allocation", stranger.log())
            stranger.kill()
            site.open_gate()
            site.wait_for_end(name)
            site.wait_for_nothing()
            tokens = site.client.json("token", "list")
            tokens = tokens["tokens"] if isinstance(tokens, dict) else tokens
            self.assertTrue(tokens and all("revoke_time" in each for each in tokens), tokens)

    def test_doctor_and_render(self):
        with Site() as site:
            rendered = site.client.run("pools", "render", "slurm", "--nodes", "3")
            self.assertIn("--nodes=3", rendered)
            told = site.client.run("doctor", "--pool", "slurm")
            for step in ("is submitted", "submitted winnow-", "has joined", "the pool works"):
                self.assertIn(step, told)
            site.wait_for_nothing()


if __name__ == "__main__":
    slurm_server.main()
