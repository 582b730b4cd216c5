"""winnow-server as a job of a real Slurm of this machine, with a standby and a pool of the same Slurm."""

import json
import os
import signal
import unittest

import pool_server
import processes
import slurm_server
import slurm_site
from processes import wait_until

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/slurm-server.sh")


class SlurmStandby(unittest.TestCase):
    def test_the_standby_goes_on_with_the_jobs_of_a_server_that_was_killed(self):
        with slurm_site.Slurm(nodes=3) as slurm:
            site = pool_server.PoolServer({"name": "slurm", "kind": "SLURM", "max_nodes": 2, "idle_timeout_seconds": 2,
                                           "poll_seconds": 0.2, "slurm": {}})
            self.addCleanup(site.cluster.__exit__, None)
            site.pool["slurm"]["scratch_dir"] = site.cluster.folder
            site.write()
            [port] = processes.free_ports(1)
            site.server.port = port
            site.client.address = f"127.0.0.1:{port}"
            os.environ["WINNOW_SERVER_PROGRAM"] = f"{processes.BIN}/winnow-server"
            self.addCleanup(os.environ.pop, "WINNOW_SERVER_PROGRAM")
            slurm.environment["WINNOW_SERVER_PROGRAM"] = os.environ["WINNOW_SERVER_PROGRAM"]
            ids = [slurm.command("sbatch", "--parsable", "--output", f"{site.cluster.folder}/server.%j.log", SCRIPT, "--db",
                                 site.server.database, "--listen", site.client.address, "--http", "off", "--pools", site.file,
                                 "--state-dir", f"{site.cluster.folder}/winnow.db.d").strip() for _ in range(2)]
            wait_until(lambda: slurm.jobs().get(ids[0], ("",))[0] == "RUNNING", "the first server runs")
            self.assertEqual(slurm.jobs()[ids[1]][0], "PENDING")
            wait_until(lambda: self.answers(site), "it answers")
            name = site.submit(pool_server.job("standby", 3, levels=10, pause=0.3))
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            [server] = [pid for pid in slurm.own_processes() if self.is_server(pid)]
            os.kill(server, signal.SIGKILL)
            wait_until(lambda: slurm.jobs().get(ids[1], ("",))[0] == "RUNNING", "the standby runs")
            wait_until(lambda: self.answers(site), "it answers")
            site.wait_for_end(name)
            site.expect_exact(self, name)
            site.wait_until_given_back()
            wait_until(lambda: set(slurm.jobs()) == {ids[1]}, "nothing but the standby is left")

    @staticmethod
    def answers(site):
        try:
            return json.loads(site.client.run("pools", "-o", "json", ok=(0,))) is not None
        except (AssertionError, ValueError):
            return False

    @staticmethod
    def is_server(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                return line.read().split(b"\0")[0].endswith(b"winnow-server")
        except OSError:
            return False


if __name__ == "__main__":
    slurm_server.main()
