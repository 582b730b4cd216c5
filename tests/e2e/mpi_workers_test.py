"""Workers that mpirun starts: a job of three-node trials, one of the workers killed, and all asked to leave."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

import processes
from processes import wait_until

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
# Each of these workers is on one machine, so that it needs folders and ports of its own; elsewhere a node has one.
OWN = """exec {script} --server {server} --slots 1 --host 127.0.0.1 --work-dir {folder}/work-$OMPI_COMM_WORLD_RANK \\
  --rendezvous-port $(({port} + 16 * OMPI_COMM_WORLD_RANK))"""


def job(folder, name, nodes):
    channels = {channel: {"path": f"{folder}/{channel}.csv", "label": "y"} for channel in ("train", "validation")}
    return {"name": name, "trainer": {"builtin": "gbdt", "grace_period": "2s"}, "channels": channels, "strategy": "RANDOM",
            "cluster": {"nodes": nodes}, "limits": {"max_trials": 2}, "seed": 5,
            "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "10"},
            "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.1}}],
            "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"}}


def workers_of(mpirun):
    """Process ids of the workers under it."""
    return [pid for pid in processes.children_of(mpirun.pid)
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "winnow-worker"]


class MpiWorkers(unittest.TestCase):
    def test_workers_of_mpirun_train_on_three_nodes_survive_one_another_and_leave_together(self):
        with processes.Cluster(workers=0, server_flags=["--declare-workers", "3 x slots=1", "--lease", "3"]) as cluster:
            for seed, channel in enumerate(("train", "validation")):
                processes.write_table(f"{cluster.folder}/{channel}.csv", 500, seed)
            script = OWN.format(script=f"{EXAMPLES}/mpi-workers.sh", server=cluster.server.address, folder=cluster.folder,
                                port=20000 + os.getpid() % 150 * 48)
            mpirun = processes.Program(["mpirun", "--allow-run-as-root", "--oversubscribe", "--enable-recovery", "-np", "3",
                                        "sh", "-c", script], f"{cluster.folder}/mpirun.log")
            path = os.environ["PATH"]
            os.environ["PATH"] = processes.BIN + ":" + path
            try:
                mpirun.start()
            finally:
                os.environ["PATH"] = path
            cluster.workers.append(mpirun)  # it ends with the others
            wait_until(lambda: len(cluster.client.workers()) == 3, "three workers have joined")
            wide = cluster.client.submit(job(cluster.folder, "wide", 3), cluster.folder)
            self.assertEqual(cluster.watch(wide).to_end(), 0)
            ranks = cluster.client.json("describe", wide, "1")["attempts"][0]["ranks"]
            self.assertEqual(len({rank["worker"] for rank in ranks}), 3)

            os.kill(workers_of(mpirun)[-1], signal.SIGKILL)
            wait_until(lambda: len(cluster.client.workers()) == 2, "one is lost")
            narrow = cluster.client.submit(job(cluster.folder, "narrow", 2), cluster.folder)
            self.assertEqual(cluster.watch(narrow).to_end(), 0)
            self.assertEqual(len(workers_of(mpirun)), 2)

            mpirun.signal(signal.SIGTERM)
            wait_until(lambda: not mpirun.alive(), "mpirun ends")
            wait_until(lambda: not cluster.client.workers(), "all have left")


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: openmpi-bin is not installed")
        sys.exit(processes.SKIPPED)
    processes.main()
