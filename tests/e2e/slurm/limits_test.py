"""A pool on a real Slurm of this machine that has limits: of accounts and qualities of service, with Debian's slurmdbd and
MariaDB, of slurmctld, and of a partition."""

import unittest

import pool_server
import processes
import slurm_accounts
import slurm_server
import slurm_site
from processes import wait_until
from slurm_server import Site

# Each allocation has a node of its own.
WORKER = {"slots": 1, "cpus": 2, "command": [f"{processes.BIN}/winnow-worker"]}


class SlurmLimits(unittest.TestCase):
    def begin(self, site):
        """Submits a job whose three trials train once there is the file that is returned; its name, and the file."""
        file = f"{site.cluster.folder}/go"
        wait = f"while [ ! -e {file} ]; do sleep 0.1; done; "
        return site.submit("limits", 3, levels=2, trainer=wait + pool_server.TRAINER), file

    def expect_words(self, site, words):
        wait_until(lambda: words in site.state().get("state_reason", ""), f"the pool says {words}")

    def end(self, site, name, file):
        with open(file, "w", encoding="ascii"):
            site.wait_for_end(name)
        site.expect_exact(self, name)
        site.wait_for_nothing()

    @unittest.skipIf(slurm_accounts.why_not(), slurm_accounts.why_not())
    def test_limits_of_an_account_and_of_a_quality_of_service(self):
        accounts = slurm_accounts.Accounts(association=["MaxJobs=1"], quality=["MaxSubmitJobsPerUser=2"])
        with Site(slurm_site.Slurm(nodes=3, accounts=accounts), max_nodes=3, worker=WORKER) as site:
            name, file = self.begin(site)
            # Three were asked for at once, which is too many. Two are taken, of which one has to wait.
            self.expect_words(site, "QOSMaxSubmitJobPerUserLimit")
            wait_until(lambda: any("AssocMaxJobsLimit" in each.get("reason", "") for each in site.open()),
                       "the pool says why an allocation waits")
            wait_until(lambda: site.joined() == 1, "a worker has joined")
            self.assertEqual(len(site.slurm.jobs()), 2)
            self.end(site, name, file)

    @unittest.skipIf(slurm_accounts.why_not(), slurm_accounts.why_not())
    def test_a_limit_of_a_quality_of_service_that_no_waiting_helps_against(self):
        accounts = slurm_accounts.Accounts(quality=["MaxWall=30", "Flags=DenyOnLimit"])
        with Site(slurm_site.Slurm(nodes=1, accounts=accounts), time_limit_seconds=3600) as site:
            name = site.submit("long", 1)
            wait_until(lambda: "QOSMaxWallDurationPerJobLimit" in site.client.json("describe", name).get("state_reason", ""),
                       "the job that waits says what the engine says")
            self.expect_words(site, "pauses")
            site.client.run("stop", name)
            site.wait_for_nothing()

    def test_a_limit_of_slurmctld_at_which_sbatch_asks_again_by_itself(self):
        slurm = slurm_site.Slurm(nodes=3, settings=["MaxJobCount=3", "MinJobAge=2"])
        with Site(slurm, max_nodes=3, worker=WORKER) as site:
            name, file = self.begin(site)
            self.expect_words(site, "Slurm temporarily unable to accept job")
            wait_until(lambda: site.joined() == len(site.slurm.jobs()) > 0, "workers have joined")
            self.end(site, name, file)

    def test_a_limit_of_a_partition_that_no_waiting_helps_against(self):
        slurm = slurm_site.Slurm(nodes=3, settings=["EnforcePartLimits=ALL"], partitions=[
            "PartitionName=all Nodes=n[1-3] Default=YES MaxTime=60 MaxNodes=2 State=UP"])
        with Site(slurm, max_nodes=3) as site:
            name = site.submit("wide", 1, 3)
            wait_until(lambda: "Node count specification invalid" in site.client.json("describe", name).get("state_reason", ""),
                       "the job that waits says what the engine says")
            self.expect_words(site, "pauses")
            site.client.run("stop", name)
            site.wait_for_nothing()


if __name__ == "__main__":
    slurm_server.main()
