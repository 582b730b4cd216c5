"""Workers remove the directories of a deleted job, also one that was away meanwhile, and no others."""

import os
import unittest

import processes


def job(name):
    return {
        "name": name, "strategy": "RANDOM", "limits": {"max_trials": 2, "max_trial_resource": 1},
        "trainer": {"command": ["/bin/sh", "-c", "echo x > $WINNOW_CHECKPOINT_DIR/weights; echo level=1 loss=1"],
                    "resource_regex": "level=([0-9]+)", "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}]},
        "cluster": {"nodes": 2}, "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}}


def folders(worker, name):
    return [path for path in (f"{worker.work}/jobs/{name}", f"{worker.shared}/jobs/{name}") if os.path.exists(path)]


class DeletedFoldersTest(unittest.TestCase):
    def test_of_a_deleted_job_nothing_is_left_on_workers(self):
        cluster = processes.Cluster(workers=0, slots=1, server_flags=["--lease", "2"])
        self.addCleanup(lambda: cluster.__exit__(None))
        cluster.__enter__()
        here, away = [cluster.add_worker(name, shared=f"{cluster.folder}/{name}/shared") for name in ("here", "away")]
        processes.wait_until(lambda: len(cluster.client.workers()) == 2, "both workers are there")
        for name in ("old", "new"):
            self.assertEqual(cluster.watch(cluster.client.submit(job(name), cluster.folder)).to_end(), 0)
        strangers = f"{here.shared}/jobs/stranger/.marks"
        os.makedirs(strangers)
        open(f"{strangers}/0123456789abcdef-old", "w", encoding="ascii").close()
        for worker in (here, away):
            self.assertEqual(len(folders(worker, "old")), 2)
        away.stop()
        cluster.client.run("delete", "old")
        processes.wait_until(lambda: not folders(here, "old"), "the worker that is there has removed them")
        self.assertEqual(len(folders(away, "old")), 2)
        cluster.server.restart()
        away.start()
        processes.wait_until(lambda: not folders(away, "old"), "the worker that is back has removed them")
        for worker in (here, away):
            self.assertEqual(len(folders(worker, "new")), 2)
        self.assertTrue(os.path.exists(f"{strangers}/0123456789abcdef-old"))


if __name__ == "__main__":
    processes.main()
