"""A pool on a real Slurm of this machine, which refuses, cancels, and does not answer."""

import unittest

import pool_server
import slurm_server
from processes import wait_until
from slurm_server import Site


class SlurmTroubles(unittest.TestCase):
    def test_an_allocation_that_is_cancelled_under_a_gang_loses_and_doubles_nothing(self):
        with Site() as site:
            name = site.submit_held("gangs", 2, 3)
            wait_until(lambda: any(each.get("workers", 0) == 3 for each in site.open()), "the gang's workers have joined")
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            site.slurm.command("scancel", wait_until(lambda: site.open()[0].get("id"), "the id is told"))
            wait_until(lambda: any("CANCELLED" in each.get("reason", "") for each in site.allocations()), "it is told")
            site.open_gate()
            site.wait_for_end(name)
            site.expect_exact(self, name)
            site.wait_for_nothing()

    def test_a_trial_whose_trainer_ends_well_at_the_engines_signal_has_not_finished(self):
        # It does what the contract says: it ends with 0 at SIGTERM, which scancel sends to all processes at once.
        with Site(max_nodes=1) as site:
            name = site.submit_held("early", 2, levels=9, trainer="trap 'exit 0' TERM; " + pool_server.TRAINER,
                                    limits={"max_trials": 2, "max_trial_resource": 9})
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            site.slurm.command("scancel", wait_until(lambda: site.open()[0].get("id"), "the id is told"))
            wait_until(lambda: any("CANCELLED" in each.get("reason", "") for each in site.allocations()), "it is told")
            site.open_gate()
            site.expect_whole(self, name)
            reached = {}
            for point in site.client.json("metrics", name)["points"]:
                reached[point["trial"]] = max(reached.get(point["trial"], 0), int(point["resource"]))
            self.assertEqual(reached, {1: 9, 2: 9})

    def test_an_answer_of_sbatch_that_is_lost(self):
        lost = """#!/bin/sh
if [ ! -e "$0.lost" ]; then
  touch "$0.lost"
  /usr/bin/sbatch "$@" > /dev/null
  echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)" >&2
  exit 1
fi
exec /usr/bin/sbatch "$@"
"""
        with Site(wrapper={"sbatch": lost}) as site:
            name = site.submit("lost", 2)
            site.wait_for_end(name)
            site.expect_exact(self, name)
            # The engine's jobs are those of the table, and none was submitted again.
            self.assertTrue(all(each.get("workers", 0) == 1 for each in site.allocations()), site.allocations())
            self.assertLessEqual(len(site.allocations()), 2)
            site.wait_for_nothing()

    def test_three_allocations_without_a_worker_pause_the_pool_which_says_why(self):
        worker = {"slots": 1, "command": ["/no/such/winnow-worker"]}
        with Site(worker=worker) as site:
            site.submit("never", 1)
            wait_until(lambda: "pauses" in site.state().get("state_reason", ""), "the pool pauses")
            self.assertIn("/no/such/winnow-worker", site.state()["state_reason"])
            self.assertEqual(len(site.allocations()), 3)


if __name__ == "__main__":
    slurm_server.main()
