"""A pool on a real Slurm of this machine whose jobs have to give way to others, in both ways that Slurm has."""

import unittest

import slurm_server
import slurm_site
from processes import wait_until
from slurm_server import Site


def preempting(mode):
    """Two nodes, of which jobs of the partition "high" take those of "low"."""
    return slurm_site.Slurm(
        nodes=2, settings=["PreemptType=preempt/partition_prio", f"PreemptMode={mode}"],
        partitions=["PartitionName=low Nodes=n[1-2] Default=YES MaxTime=60 State=UP PriorityTier=1",
                    "PartitionName=high Nodes=n[1-2] MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF"])


def begin_at_once(slurm):
    """Slurm holds back what it has requeued for two minutes."""
    for job, (state, _) in slurm.jobs().items():
        if state == "PENDING":
            slurm.command("scontrol", "update", f"JobId={job}", "StartTime=now", ok=False)


class SlurmPreemption(unittest.TestCase):
    def preempt(self, site):
        """Starts a job, lets Slurm take its nodes, and waits for its end."""
        name = site.submit_held("preempted", 4)
        wait_until(lambda: site.joined() == 2, "two workers have joined")
        wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
        urgent = site.slurm.command("sbatch", "--parsable", "--partition=high", "--nodes=2", "--exclusive",
                                    "--output=/dev/null", "--wrap=sleep 1").strip()
        wait_until(lambda: site.slurm.jobs().get(urgent, ("RUNNING",))[0] == "RUNNING", "the urgent job has the nodes")
        site.open_gate()
        wait_until(lambda: urgent not in site.slurm.jobs(), "the urgent job has ended")
        begin_at_once(site.slurm)
        site.expect_whole(self, name)
        return name

    def test_allocations_that_are_cancelled_for_others(self):
        with Site(preempting("CANCEL"), max_nodes=2, settings={"partition": "low"}) as site:
            self.preempt(site)
            ended = [each.get("reason", "") for each in site.allocations()]
            self.assertTrue(any("PREEMPTED" in reason for reason in ended), ended)

    def test_allocations_that_come_back_under_their_old_ids(self):
        with Site(preempting("REQUEUE"), max_nodes=2, settings={"partition": "low", "arguments": ["--requeue"]}) as site:
            self.preempt(site)
            # The same allocations, with new workers under the old names.
            self.assertEqual(len(site.allocations()), 2, site.allocations())
            ids = site.rows("SELECT name, COUNT(*) FROM workers GROUP BY name")
            self.assertTrue(any(count > 1 for _, count in ids), ids)

    def test_allocations_that_were_to_be_requeued_are_not_unless_the_pool_says_so(self):
        with Site(preempting("REQUEUE"), max_nodes=2, settings={"partition": "low"}) as site:
            self.preempt(site)
            ended = [each.get("reason", "") for each in site.allocations()]
            self.assertTrue(any("PREEMPTED" in reason for reason in ended), ended)


if __name__ == "__main__":
    slurm_server.main()
