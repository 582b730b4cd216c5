"""A pool that asks a real slurmrestd of this machine, at a unix socket and by a token. Server, workers and slurmrestd are of
another user than root, as slurmrestd demands; there are no commands of Slurm's where the server looks for them."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import processes
import slurm_accounts
import slurm_server
import slurm_site
from processes import wait_until

USER = 65534  # nobody
JWT = "/usr/lib/x86_64-linux-gnu/slurm-wlm/auth_jwt.so"
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


class Slurmrestd:
    """Use it in `with`."""

    def __init__(self, slurm, folder, jwt):
        self.slurm, self.folder, self.jwt, self.process = slurm, folder, jwt, None
        self.port = processes.free_ports(1)[0]

    def settings(self):
        if not self.jwt:
            return {"url": f"unix:{self.folder}/rest.socket"}
        token = self.slurm.command("scontrol", "token", "username=nobody", "lifespan=3600")
        path = f"{self.folder}/token"
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(token)
        os.chown(path, USER, USER)
        return {"url": f"http://127.0.0.1:{self.port}", "user": "nobody", "token_file": path}

    def __enter__(self):
        address = f"127.0.0.1:{self.port}" if self.jwt else f"unix:{self.folder}/rest.socket"
        plugins = ",".join(f"openapi/v0.0.{version}" for version in (36, 37, 38))
        environment = dict(self.slurm.environment, **({"SLURM_JWT": "daemon"} if self.jwt else {}))
        log = open(f"{self.folder}/rest.log", "wb")
        self.process = subprocess.Popen([*AS_USER, "slurmrestd", "-s", plugins, "-a", f"rest_auth/{'jwt' if self.jwt else 'local'}",
                                         address], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        log.close()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Site(slurm_server.Site):
    """As slurm_server.Site, with the server as another user. It looks for commands in a folder without them."""

    def __init__(self, jwt, accounts=None):
        settings = []
        if jwt:
            self.key = tempfile.NamedTemporaryFile()
            self.key.write(os.urandom(32))
            self.key.flush()
            settings = ["AuthAltTypes=auth/jwt", f"AuthAltParameters=jwt_key={self.key.name}"]
        super().__init__(slurm_site.Slurm(nodes=4, settings=settings, accounts=accounts), processes_flags=["--lease", "5"])
        self.rest = Slurmrestd(self.slurm, self.cluster.folder, jwt)

    def __enter__(self):
        os.chown(self.cluster.folder, USER, USER)
        self.server.prefix = [*AS_USER, "env", "PATH=/nowhere"]
        return super().__enter__()

    def write(self):
        # Slurm runs by now.
        self.rest.__enter__()
        self.pool["slurm"]["rest"] = self.rest.settings()
        self.pool["slurm"]["arrays"] = True
        super().write()

    def __exit__(self, kind, *_):
        if self.rest.process is not None:
            self.rest.__exit__()
        super().__exit__(kind)


class SlurmRest(unittest.TestCase):
    def train_and_give_back(self, site):
        self.assertIn("/slurm/v0.0.38/job/submit", site.client.run("pools", "render", "slurm"))
        for name, trials, nodes in (("singles", 6, 1), ("gangs", 2, 3)):
            job = site.submit(name, trials, nodes)
            site.wait_for_end(job)
            site.expect_exact(self, job)
            site.wait_for_nothing()
        self.assertIn(3, [int(each["nodes"]) for each in site.allocations() if each.get("workers", 0) == 3])

    def test_at_a_unix_socket(self):
        with Site(jwt=False) as site:
            self.train_and_give_back(site)
            # A job is cancelled by somebody, and slurmrestd is away for a while.
            job = site.submit_held("losses", 2, 3)
            wait_until(lambda: site.client.json("metrics", job).get("points"), "it trains")
            # Workers may join before the pool has told the job's id.
            site.slurm.command("scancel", wait_until(lambda: site.open()[0].get("id"), "the id is told"))
            wait_until(lambda: any("CANCELLED" in each.get("reason", "") for each in site.allocations()), "it is told")
            site.rest.__exit__()
            wait_until(lambda: "rest.socket" in site.state().get("state_reason", ""), "the service is missed")
            os.remove(f"{site.cluster.folder}/rest.socket")
            site.rest.__enter__()
            site.open_gate()
            site.wait_for_end(job)
            site.expect_exact(self, job)
            site.wait_for_nothing()

    @unittest.skipIf(slurm_accounts.why_not(), slurm_accounts.why_not())
    def test_limits_of_a_quality_of_service_of_which_it_does_not_say_which(self):
        accounts = slurm_accounts.Accounts(quality=["MaxSubmitJobsPerUser=2", "MaxNodesPerJob=2", "Flags=DenyOnLimit"])
        with Site(jwt=False, accounts=accounts) as site:
            # Three are asked for at once, of which two are taken.
            job = site.submit_held("singles", 3)
            wait_until(lambda: site.joined() == 2, "two workers have joined")
            wait_until(lambda: "Job violates accounting/QOS policy" in site.state().get("state_reason", ""), "the limit is told")
            self.assertNotIn("pauses", site.state()["state_reason"])
            site.open_gate()
            site.wait_for_end(job)
            site.expect_exact(self, job)
            site.wait_for_nothing()
            # More nodes than any job may have.
            job = site.submit("wide", 1, 3)
            wait_until(lambda: "pauses" in site.state().get("state_reason", ""), "the pool pauses")
            self.assertIn("Job violates accounting/QOS policy", site.client.json("describe", job)["state_reason"])
            site.client.run("stop", job)
            site.wait_for_nothing()

    def test_a_controller_that_dies_when_it_has_just_taken_a_job(self):
        with Site(jwt=False) as site:
            for delay in (0, 0.5):
                job = site.submit_held(f"just-{delay}", 2)
                wait_until(lambda: any(each.get("id") for each in site.open()), "the id is told")
                # Slurm has sent the job to a node by then, or has not. In the first case it may start it once more, which
                # fails there, and then it holds the job.
                time.sleep(delay)
                site.slurm.kill_controller()
                site.slurm.start_controller()
                site.open_gate()
                site.wait_for_end(job)
                site.expect_exact(self, job)
                site.wait_for_nothing()
                os.remove(site.gate)
                # A controller that has forgotten the job lets its workers run until it hears of them. They would take the
                # next job's trials, for which nothing would be asked of Slurm.
                wait_until(lambda: not site.client.workers(), "no worker is left")

    def test_what_no_node_can_run_now_is_submitted_once(self):
        with Site(jwt=False) as site:
            site.slurm.command("scontrol", "update", "NodeName=n[1-4]", "State=DRAIN", "Reason=test")
            job = site.submit("drained", 2)
            wait_until(lambda: len([each for each in site.allocations() if each.get("reason")]) >= 2, "the pool says why it waits")
            site.slurm.command("scontrol", "update", "NodeName=n[1-4]", "State=RESUME")
            site.wait_for_end(job)
            site.wait_for_nothing()
            self.assertEqual([each.get("workers", 0) for each in site.allocations()], [1, 1])

    def test_by_a_token(self):
        if not os.path.exists(JWT):
            self.skipTest("Debian's slurm-wlm-jwt-plugin is not installed")
        with Site(jwt=True) as site:
            self.train_and_give_back(site)
            with open(site.rest.settings()["token_file"], "w", encoding="ascii") as file:
                file.write("SLURM_JWT=none")
            job = site.submit("later", 1)
            wait_until(lambda: site.state().get("state_reason", ""), "the token is refused")
            site.rest.settings()
            site.wait_for_end(job)
            site.wait_for_nothing()


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin"
    if shutil.which("slurmrestd") is None or shutil.which("setpriv") is None:
        print("skipped: slurmrestd or setpriv is not installed")
        sys.exit(processes.SKIPPED)
    if subprocess.run([*AS_USER, f"{processes.BIN}/winnow-server", "--version"], capture_output=True, check=False).returncode != 0:
        print("skipped: another user may not run winnow-server where it is")
        sys.exit(processes.SKIPPED)
    slurm_server.main()
