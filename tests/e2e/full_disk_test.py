"""Disks that are full: the server's database's, and a worker's. Needs root, for small file systems in memory."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import processes

METRIC = "validation:auc"
INODES = 200  # of a small disk: folders take nothing else there


def job(folder):
    return {
        "name": "full", "trainer": {"builtin": "gbdt"},
        "channels": {"train": {"path": f"{folder}/train.csv", "label": "y"},
                     "validation": {"path": f"{folder}/validation.csv", "label": "y"}},
        "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "150"},
        "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.5, "scaling": "LOG"}}],
        "objective": {"metric": METRIC, "goal": "MAXIMIZE"}, "strategy": "RANDOM",
        "limits": {"max_trials": 6, "max_lost_attempts": 50}, "seed": 3}


@contextlib.contextmanager
def small_disk(megabytes):
    """The folder of a file system of that size."""
    folder = tempfile.mkdtemp(prefix="winnow-disk-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,nr_inodes={INODES}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)
        os.rmdir(folder)


def fill(folder):
    """Writes until nothing more fits, no file either; the folder that holds it."""
    filler = os.path.join(folder, "filler")
    os.mkdir(filler)
    with open(os.path.join(filler, "bytes"), "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size) == size:
                    pass
    with contextlib.suppress(OSError):
        for number in range(INODES):
            os.mkdir(os.path.join(filler, str(number)))
    return filler


def newest_report(database):
    return processes.rows(database, "SELECT MAX(sequence) FROM reports")[0][0]


class FullDiskTest(unittest.TestCase):
    def run_job(self, cluster, disturb=None):
        """Its record and what its watch told."""
        with cluster:
            processes.write_table(f"{cluster.folder}/train.csv", 12000, 1)
            processes.write_table(f"{cluster.folder}/validation.csv", 1000, 2)
            name = cluster.client.submit(job(cluster.folder), cluster.folder)
            watch = cluster.watch(name)
            if disturb:
                disturb(cluster, watch)
            self.assertEqual(watch.to_end(), 0)
            cluster.client.run("replay", name, "--verify")
            return processes.Record(cluster.client, name), watch.events

    def expect_the_calm_result(self, record):
        calm, _ = self.run_job(processes.Cluster(workers=2, slots=1))
        record.expect_same(self, calm)

    def test_a_server_whose_disk_is_full_loses_nothing_and_goes_on_when_there_is_room(self):
        def disturb(cluster, watch):
            processes.wait_until(lambda: watch.count("reported") >= 100, "100 reports come")
            filler = fill(os.path.dirname(cluster.server.database))
            processes.wait_until(lambda: all("nothing that was acknowledged is lost" in worker.log() for worker in cluster.workers),
                                 "the workers are refused")
            refused = subprocess.run(cluster.client.command("submit", f"{cluster.folder}/full.json"),
                                     capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("not recorded", refused.stderr)
            for worker in cluster.workers:  # what runs goes on, to its end, and what it says is kept there
                processes.wait_until(lambda worker=worker: not worker.trainers(), "the trial that ran has ended")
            # All that is recorded is told, and nothing else.
            recorded = newest_report(cluster.server.database)
            processes.wait_until(lambda: watch.newest("reported") >= recorded, "what is recorded is told")
            self.assertEqual(watch.newest("reported"), recorded)
            shutil.rmtree(filler)

        with small_disk(8) as disk:
            cluster = processes.Cluster(workers=2, slots=1, server_flags=["--lease", "2"])
            cluster.server.database = os.path.join(disk, "winnow.db")
            cluster.server.flags += ["--state-dir", os.path.join(cluster.folder, "state")]
            record, events = self.run_job(cluster, disturb)
        told = [int(event["sequence"]) for event in events if event["kind"] == "reported"]
        since = [sequence for sequence in record.sequences() if sequence >= min(told)]  # the watch began
        self.assertEqual(sorted(told), sorted(since))
        self.assertEqual(record.integrity, "ok")
        self.assertEqual([row for row in record.attempts if row[3] == "lost"], [])
        self.expect_the_calm_result(record)

    def test_a_worker_whose_disk_is_full_gives_its_trials_to_others(self):
        with small_disk(1) as disk:
            record, _ = self.run_job(ClusterWithAFullWorker(disk))
        turned_away = [row for row in record.attempts if row[3] != "finished"]
        self.assertNotEqual(turned_away, [])
        self.assertIn("space", turned_away[0][4])
        self.expect_the_calm_result(record)


class ClusterWithAFullWorker(processes.Cluster):
    """A worker whose folder is on `disk`, which is full once it has registered, and then another."""

    def __init__(self, disk):
        super().__init__(workers=1, slots=1)
        self.disk = disk

    def begin(self):
        self.server.start()
        full = processes.Worker(self.server, self.folder, "full", rendezvous_port=19990)
        full.arguments[full.arguments.index("--work-dir") + 1] = self.disk
        self.workers.append(full)
        full.start()
        processes.wait_until(lambda: "registered" in full.log(), "it registers")
        fill(self.disk)
        self.add_worker("w1")


if __name__ == "__main__":
    probe = tempfile.mkdtemp()
    mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "tmpfs", probe], check=False).returncode == 0
    if mounted:
        subprocess.run(["umount", probe], check=False)
    os.rmdir(probe)
    if not mounted:
        print("skipped: no file system can be mounted here")
        sys.exit(processes.SKIPPED)
    processes.main()
