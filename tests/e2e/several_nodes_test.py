"""Programs that know nothing of Winnow, on one node and on three: PyTorch DDP, torchrun and MPI; ranks are killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import processes
from processes import wait_until

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
EPOCHS = 400
HAS_TORCH = subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode == 0
HAS_MPI = shutil.which("mpirun") is not None and shutil.which("mpicc") is not None


def processes_of(folder):
    """Ids of processes that trainers in this folder have started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                found += [pid] if f"\0WINNOW_WORK_DIR={folder}/".encode() in b"\0" + file.read() else []
        except OSError:
            pass
    return found


class SeveralNodes(unittest.TestCase):
    def setUp(self):
        # The examples' python3 is Debian's, which has Debian's torch.
        self.path = os.environ["PATH"]
        os.environ["PATH"] = "/usr/bin:" + self.path

    def tearDown(self):
        os.environ["PATH"] = self.path

    def levels(self, cluster, job):
        return [int(point["resource"]) for point in cluster.client.json("metrics", job)["points"]]

    def train_through_a_kill(self, example, nodes, processes_in_all):
        """Trains one trial on so many nodes; kills the last rank in the middle. What its rank 0 printed, by attempt."""
        with processes.Cluster(workers=nodes, slots=1) as cluster:
            copy = os.path.join(cluster.folder, "examples")
            shutil.copytree(EXAMPLES, copy)
            if example == "mpi":
                subprocess.run(["mpicc", "-O2", "-o", f"{copy}/mpi/train", f"{copy}/mpi/train.c"], check=True)
            with open(f"{copy}/{example}.json", encoding="utf-8") as file:
                spec = json.load(file)
            spec.update(cluster={"nodes": nodes}, strategy="RANDOM",
                        limits={"max_trials": 1, "max_trial_resource": EPOCHS, "max_attempts": 3})
            del spec["hyperband"]
            job = cluster.client.submit(spec, copy)
            watch = cluster.watch(job)
            wait_until(lambda: len(self.levels(cluster, job)) > 5, "it trains")
            attempt = cluster.client.json("describe", job, "1")["attempts"][-1]
            victim = attempt["ranks"][-1]["worker"]
            worker = next(worker for worker in cluster.workers if worker.name == victim)
            for pid in worker.trainers():
                os.kill(pid, signal.SIGKILL)
            self.assertEqual(watch.to_end(), 0)
            attempts = cluster.client.json("describe", job, "1")["attempts"]
            self.assertEqual([each["outcome"] for each in attempts], ["failed", "finished"])
            # Lines that mpirun or torchrun had not passed on are lost with it; the checkpoint may be beyond them.
            lost = sorted(set(range(1, EPOCHS + 1)) - set(self.levels(cluster, job)))
            self.assertNotIn(EPOCHS, lost)
            self.assertEqual(lost, list(range(lost[0], lost[0] + len(lost))) if lost else [], "one gap, at the kill")
            self.assertLess(len(lost), EPOCHS // 2)
            self.assertEqual(cluster.client.json("describe", job).get("notices", []), [])
            wait_until(lambda: not processes_of(cluster.folder), "nothing is left of its processes")
            printed = {}
            for each in cluster.workers:
                printed.update({attempt: text for (_, attempt), text in each.printed().items()})
        # The second attempt went on where a checkpoint was, and all processes trained one model.
        first = int(printed[2].split("epoch ")[1].split(":")[0])
        self.assertGreater(first, 1)
        for text in printed.values():
            self.assertEqual({line.split("(")[1] for line in text.splitlines()}, {f"{processes_in_all} processes)"})

    @unittest.skipUnless(HAS_TORCH, "python3-torch is not installed")
    def test_ddp_on_one_node(self):
        self.train_through_a_kill("ddp", 1, 1)

    @unittest.skipUnless(HAS_TORCH, "python3-torch is not installed")
    def test_ddp_on_three_nodes(self):
        self.train_through_a_kill("ddp", 3, 3)

    @unittest.skipUnless(HAS_TORCH and shutil.which("torchrun"), "python3-torch is not installed")
    def test_torchrun_with_two_processes_on_one_node(self):
        self.train_through_a_kill("torchrun", 1, 2)

    @unittest.skipUnless(HAS_TORCH and shutil.which("torchrun"), "python3-torch is not installed")
    def test_torchrun_with_two_processes_on_each_of_three_nodes(self):
        self.train_through_a_kill("torchrun", 3, 6)

    @unittest.skipUnless(HAS_MPI, "openmpi-bin and libopenmpi-dev are not installed")
    def test_mpi_on_one_node(self):
        self.train_through_a_kill("mpi", 1, 1)

    @unittest.skipUnless(HAS_MPI, "openmpi-bin and libopenmpi-dev are not installed")
    def test_mpi_on_three_nodes_without_ssh(self):
        self.train_through_a_kill("mpi", 3, 3)


if __name__ == "__main__":
    sys.exit(processes.main())
