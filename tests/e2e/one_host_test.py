"""Several workers of one host with the default flags: they share its ports, and none is taken for faulty."""

import json
import subprocess
import unittest

import processes

SINGLE = "echo loss={{x}}; test \"$MASTER_PORT\" -gt 0 && test \"$WINNOW_SLOT\" -ge 0"

# Both ranks meet where rank 0 was told to listen.
GANG = """
import os, socket
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    listener = socket.create_server(address)
    listener.accept()[0].sendall(b"x")
    print("loss=1")
else:
    while True:
        try:
            socket.create_connection(address).recv(1)
            break
        except ConnectionRefusedError:
            pass
"""


def job(name, command, trials, nodes=1):
    return {
        "name": name, "trainer": {"command": command, "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
        "parameters": [{"name": "x", "continuous": {"min": 0.1, "max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "cluster": {"nodes": nodes},
        "limits": {"max_trials": trials, "max_attempts": 1, "max_lost_attempts": 1}}


class OneHostTest(unittest.TestCase):
    def run_on(self, workers, slots):
        with processes.Cluster(workers=0) as cluster:
            cluster.server.flags += ["--declare-workers", f"{workers} x slots={slots}"]
            cluster.server.restart()
            for number in range(workers):
                # As somebody starts one for each GPU; without a port of its own for each.
                cluster.add_worker(f"gpu{number}", slots=slots, rendezvous_port=None)
            for spec in (job("single", ["/bin/sh", "-c", SINGLE], 16),
                         job("gang", ["/usr/bin/python3", "-c", GANG, "{{x}}"], 8, nodes=2)):
                name = cluster.client.submit(spec, cluster.folder)
                self.assertEqual(cluster.watch(name).to_end(), 0)
                counts = cluster.client.json("describe", name)["trial_counts"]
                self.assertEqual(int(counts["completed"]), spec["limits"]["max_trials"], counts)
            self.assertEqual([worker["scheduling"] for worker in cluster.client.workers()], ["OPEN"] * workers)

    def test_a_trial_is_not_on_workers_that_cannot_reach_each_other(self):
        gang = job("gang", ["/usr/bin/python3", "-c", GANG, "{{x}}"], 4, nodes=2)
        with processes.Cluster(workers=0, slots=1) as cluster:
            cluster.add_worker("here")
            cluster.add_worker("elsewhere", host="192.0.2.1")
            processes.wait_until(lambda: len(cluster.client.workers()) == 2, "both are there")
            with open(f"{cluster.folder}/gang.json", "w", encoding="utf-8") as file:
                json.dump(gang, file)
            refused = subprocess.run(cluster.client.command("submit", f"{cluster.folder}/gang.json"), capture_output=True,
                                     text=True, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("2 ranks of 1 slot: the largest is 1 (all workers together have room for 2, of which 1 on "
                          "workers whose host is a loopback address", refused.stderr)
            cluster.add_worker("beside")
            processes.wait_until(lambda: len(cluster.client.workers()) == 3, "the third is there")
            name = cluster.client.submit(gang, cluster.folder)
            self.assertEqual(cluster.watch(name).to_end(), 0)
            cluster.server.restart()  # which knows them from its database
            name = cluster.client.submit(gang, cluster.folder)
            self.assertEqual(cluster.watch(name).to_end(), 0)
            used = processes.rows(cluster.server.database, "SELECT DISTINCT w.name FROM assignments a JOIN workers w "
                                                           "USING (worker) ORDER BY w.name")
            self.assertEqual(used, [("beside",), ("here",)])

    def test_four_workers_of_one_slot(self):
        self.run_on(4, 1)

    def test_two_workers_of_four_slots(self):
        self.run_on(2, 4)


if __name__ == "__main__":
    processes.main()
