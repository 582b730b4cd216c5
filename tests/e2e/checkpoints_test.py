"""A worker dies for good in the middle of a trial, with its disk. Another one, which shares no folder with it, goes on
from the checkpoint that had reached the server; the model is the one of an undisturbed run, byte by byte.
"""

import filecmp
import glob
import os
import re
import shutil
import signal
import subprocess
import unittest

import processes

LEASE = 2  # seconds

# Counts to WINNOW_RESOURCE_TO, a level per line, and keeps the count. At level 5 it waits for its gate to open.
SHELL = r"""
set -eu
count=0
if [ -e "$WINNOW_CHECKPOINT_DIR/count" ]; then count=$(cat "$WINNOW_CHECKPOINT_DIR/count"); fi
echo "begins at $count"
if [ ! -e "$WINNOW_CHECKPOINT_DIR/weights" ]; then
  head -c "$2" /dev/urandom > "$WINNOW_CHECKPOINT_DIR/weights.part"
  mv "$WINNOW_CHECKPOINT_DIR/weights.part" "$WINNOW_CHECKPOINT_DIR/weights"
fi
echo "has $(sha256sum < "$WINNOW_CHECKPOINT_DIR/weights")"
while [ "$count" -lt "$WINNOW_RESOURCE_TO" ]; do
  count=$((count + 1))
  echo "$count" > "$WINNOW_CHECKPOINT_DIR/count.part"
  mv "$WINNOW_CHECKPOINT_DIR/count.part" "$WINNOW_CHECKPOINT_DIR/count"
  echo "level=$count loss=$((100 - count))"
  while [ "$count" -eq 5 ] && [ ! -e "$1" ]; do sleep 0.05; done
done
cp "$WINNOW_CHECKPOINT_DIR/count" "$SM_MODEL_DIR/model"
"""


def builtin(folder, trainer):
    channels = {channel: {"path": f"{folder}/{channel}.csv", "label": "y"} for channel in ("train", "validation")}
    spec = {"name": trainer, "trainer": {"builtin": trainer}, "channels": channels, "strategy": "RANDOM",
            "limits": {"max_trials": 1}, "seed": 3}
    if trainer == "gbdt":
        return spec | {
            "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "4000",
                                       "max_depth": "6"},
            "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.1}}],
            "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"}}
    return spec | {
        "static_hyperparameters": {"epochs": "1000", "hidden_layers": "64,32", "batch_size": "96", "loss": "logistic"},
        "parameters": [{"name": "learning_rate", "continuous": {"min": 0.01, "max": 0.1}}],
        "objective": {"metric": "validation:loss", "goal": "MINIMIZE"}}


def shell(folder, weights=1):
    """`weights`: bytes of its checkpoint that are drawn once."""
    with open(f"{folder}/trainer.sh", "w", encoding="ascii") as file:
        file.write(SHELL)
    return {"name": "shell", "strategy": "RANDOM", "limits": {"max_trials": 1, "max_trial_resource": 9}, "seed": 3,
            "trainer": {"command": ["/bin/sh", f"{folder}/trainer.sh", f"{folder}/gate", str(weights)],
                        "resource_regex": "level=([0-9]+)",
                        "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}}


class CheckpointsTest(unittest.TestCase):
    def cluster(self, workers=2):
        cluster = processes.Cluster(workers=0, slots=1, server_flags=["--lease", str(LEASE)])
        self.addCleanup(lambda: cluster.__exit__(None))
        cluster.__enter__()
        for number in range(1, workers + 1):
            cluster.add_worker(f"w{number}", shared=f"{cluster.folder}/w{number}/shared")
        processes.wait_until(lambda: len(cluster.client.workers()) == workers, "all workers are there")
        return cluster

    def download(self, cluster, name, what=()):
        folder = f"{cluster.folder}/best-{name}-{len(what)}"
        told = cluster.client.json("best", name, "--download", folder, *what)
        self.assertEqual(sorted(file["path"] for file in told["files"]), sorted(os.listdir(folder)))
        return folder

    def assert_same_files(self, one, other):
        names = sorted(os.listdir(one))
        self.assertTrue(names)
        self.assertEqual(names, sorted(os.listdir(other)))
        self.assertEqual(filecmp.cmpfiles(one, other, names, shallow=False)[0], names)

    def runner(self, cluster):
        return processes.wait_until(lambda: next((w for w in cluster.workers if w.trainers()), None), "it trains")

    def lose(self, worker):
        """As a machine that never comes back."""
        ranks = worker.trainers()
        worker.kill()
        processes.wait_until(lambda: all(processes.parent_of(pid) == -1 for pid in ranks), "its ranks are gone")
        shutil.rmtree(worker.folder)

    def lose_worker_of(self, trainer, make_spec):
        calm = self.cluster()
        for path, count, seed in (("train", 20000, 1), ("validation", 2000, 2)):
            processes.write_table(f"{calm.folder}/{path}.csv", count, seed)
        open(f"{calm.folder}/gate", "w").close()
        calm_job = calm.client.submit(make_spec(calm.folder), calm.folder)
        self.assertEqual(calm.watch(calm_job).to_end(), 0)
        expected = self.download(calm, calm_job)

        cluster = self.cluster()
        for path in glob.glob(f"{calm.folder}/*.csv"):
            shutil.copy(path, cluster.folder)
        job = cluster.client.submit(make_spec(cluster.folder), cluster.folder)
        watch = cluster.watch(job)
        lost = self.runner(cluster)
        kept = processes.wait_until(lambda: self.kept(cluster, trainer), "a checkpoint is in the store")
        printed = lambda: lost.printed().get((1, 1), "").splitlines()  # noqa: E731
        if trainer != "shell":
            processes.wait_until(lambda: len(printed()) > kept, "the worker has its levels")
        before = printed()
        self.lose(lost)
        open(f"{cluster.folder}/gate", "w").close()
        self.assertEqual(watch.to_end(), 0)
        self.assertEqual(watch.count("attempt_ended", " lost "), 1)
        second = next(w for w in cluster.workers if w is not lost)
        self.assertIn(": its checkpoint has been fetched", second.log())
        # What it keeps of the data is its own, as that of another machine.
        self.assertEqual(bool(glob.glob(f"{second.folder}/cache/*.bin")), trainer != "shell")
        after = second.printed()[1, 2].splitlines()
        if trainer == "shell":
            self.assertEqual(after[0], "begins at 5")
        else:
            self.assert_went_on(trainer, kept, before, after, cluster)
        self.assert_same_files(expected, self.download(cluster, job))
        self.assert_kept_only_what_is_needed(cluster)
        return cluster, job

    def kept(self, cluster, trainer):
        """What is known of the checkpoint in the store: for a built-in trainer its level, else its digest."""
        found = processes.rows(cluster.server.database, "SELECT manifest FROM artifacts WHERE kind = 'checkpoint'")
        if not found:
            return None
        level = re.search(rb"checkpoint-0*(\d+)", found[0][0])
        if trainer != "shell":
            return int(level[1])
        # The digest of "5\n".
        return b"f0b5c2c2211c8d67ed15e75e656c7862d086e9245420892a7de62cd9ec582a06" in found[0][0]

    def assert_went_on(self, trainer, kept, before, after, cluster):
        """The levels of the checkpoint were not trained again: winnow-mlp's lines have the speed of each, and winnow-gbdt's
        rounds, which took two seconds until they were kept, came back at once."""
        self.assertGreater(kept, 0)
        self.assertEqual(after[:kept], before[:kept])
        if trainer == "mlp":
            self.assertRegex(before[0], "samples-per-second")
            return
        first, second = (processes.rows(
            cluster.server.database, "SELECT MAX(time_us) - MIN(time_us) FROM reports WHERE attempt = ? AND resource <= ?",
            attempt, kept)[0][0] for attempt in (1, 2))
        self.assertLess(second, first / 2, f"{kept} rounds")

    def assert_kept_only_what_is_needed(self, cluster):
        """The model, and at most the best trial's checkpoint; no file beyond what the rows name."""
        kinds = [kind for kind, in processes.rows(cluster.server.database, "SELECT kind FROM artifacts ORDER BY kind")]
        self.assertIn(kinds, (["model"], ["checkpoint", "model"]))
        named = {digest for digest, in processes.rows(cluster.server.database, "SELECT digest FROM blobs")}
        files = lambda: {os.path.basename(path) for path in  # noqa: E731
                         glob.glob(f"{cluster.server.database}.d/artifacts/blobs/*/*")}
        processes.wait_until(lambda: files() == named, "files that no row names are removed")

    def test_a_trial_of_two_nodes_loses_the_worker_of_rank_0(self):
        cluster = self.cluster(workers=3)
        # Shallow trees of many rows: much to compute between the ranks' exchanges.
        processes.write_table(f"{cluster.folder}/train.csv", 60000, 1)
        processes.write_table(f"{cluster.folder}/validation.csv", 2000, 2)
        spec = builtin(cluster.folder, "gbdt") | {"cluster": {"nodes": 2}}
        spec["static_hyperparameters"] |= {"num_round": "2000", "max_depth": "3"}
        job = cluster.client.submit(spec, cluster.folder)
        watch = cluster.watch(job)
        processes.wait_until(lambda: self.kept(cluster, "gbdt"), "a checkpoint is in the store")
        ranks = lambda attempt: [name for name, in processes.rows(  # noqa: E731
            cluster.server.database,
            f"SELECT w.name FROM assignments a JOIN workers w USING (worker) WHERE attempt = {attempt} "
            "ORDER BY rank")]
        before = ranks(1)
        lost = next(w for w in cluster.workers if w.name == before[0])
        self.lose(lost)
        self.assertEqual(watch.to_end(), 0)
        after = ranks(2)
        self.assertEqual(len(set(after)), 2)
        self.assertNotIn(lost.name, after)
        for worker in cluster.workers:
            if worker is not lost:
                self.assertIn(": its checkpoint has been fetched", worker.log())
        calm = cluster.client.submit(spec | {"name": "calm"}, cluster.folder)
        self.assertEqual(cluster.watch(calm).to_end(), 0)
        self.assert_same_files(self.download(cluster, calm), self.download(cluster, job))

    def test_gbdt(self):
        cluster, job = self.lose_worker_of("gbdt", lambda folder: builtin(folder, "gbdt"))
        cluster.client.run("delete", job)
        processes.wait_until(lambda: not glob.glob(f"{cluster.server.database}.d/artifacts/blobs/*/*"),
                             "what was kept of a deleted job is removed")
        self.assertEqual(processes.rows(cluster.server.database, "SELECT * FROM blobs"), [])

    def test_mlp(self):
        self.lose_worker_of("mlp", lambda folder: builtin(folder, "mlp"))

    def test_a_shell_trainer(self):
        self.lose_worker_of("shell", shell)

    def test_a_server_that_is_killed_meanwhile_loses_nothing_of_it(self):
        cluster = self.cluster()
        job = cluster.client.submit(shell(cluster.folder), cluster.folder)
        watch = cluster.watch(job)
        lost = self.runner(cluster)
        processes.wait_until(lambda: self.kept(cluster, "shell"), "a checkpoint is in the store")
        cluster.server.restart()
        self.lose(lost)
        cluster.server.restart()
        open(f"{cluster.folder}/gate", "w").close()
        self.assertEqual(watch.to_end(), 0)
        second = next(w for w in cluster.workers if w is not lost).printed()[1, 2]
        self.assertTrue(second.startswith("begins at 5\n"), second[:100])
        folder = self.download(cluster, job)
        with open(f"{folder}/model", encoding="ascii") as file:
            self.assertEqual(file.read(), "9\n")

    def test_a_server_that_is_killed_during_an_upload_gets_it_all_the_same(self):
        cluster = self.cluster()
        blobs = f"{cluster.server.database}.d/artifacts/blobs"
        job = cluster.client.submit(shell(cluster.folder, weights=100 << 20), cluster.folder)
        watch = cluster.watch(job)
        lost = self.runner(cluster)
        for least in (1, 8):
            processes.wait_until(lambda: len(glob.glob(f"{blobs}/*/*")) >= least, "blobs arrive")
            self.assertEqual(processes.rows(cluster.server.database, "SELECT * FROM artifacts"), [])
            cluster.server.restart()
        processes.wait_until(lambda: self.kept(cluster, "shell"), "a checkpoint is in the store")
        before = lost.printed()[1, 1]
        self.lose(lost)
        open(f"{cluster.folder}/gate", "w").close()
        self.assertEqual(watch.to_end(), 0)
        after = next(w for w in cluster.workers if w is not lost).printed()[1, 2]
        self.assertTrue(after.startswith("begins at 5\n"), after[:100])
        self.assertEqual(*(re.search("has (.*)", text)[1] for text in (before, after)))
        self.assertEqual(glob.glob(f"{blobs}/*/*.part"), [])
        cluster.server.stop()
        subprocess.run([f"{processes.BIN}/winnow-server", "--check", "--db", cluster.server.database], check=True,
                       stdout=subprocess.DEVNULL)

    def test_levels_that_a_killed_worker_could_not_tell_are_told_by_the_next_attempt(self):
        cluster = self.cluster(workers=1)
        job = cluster.client.submit(shell(cluster.folder), cluster.folder)
        watch = cluster.watch(job)
        worker = self.runner(cluster)
        processes.wait_until(lambda: watch.count("reported") == 5, "it waits at level 5")
        cluster.server.signal(signal.SIGSTOP)
        open(f"{cluster.folder}/gate", "w").close()
        processes.wait_until(lambda: "level=9" in str(worker.printed()) and not worker.trainers(), "it has trained")
        worker.kill()
        cluster.server.signal(signal.SIGCONT)
        worker.start()
        self.assertEqual(watch.to_end(), 0)
        self.assertEqual(watch.count("attempt_ended", " lost "), 1)
        self.assertEqual(worker.printed()[1, 2].split("\n")[0], "begins at 9")
        told = processes.rows(cluster.server.database, "SELECT DISTINCT resource, value FROM reports ORDER BY resource")
        self.assertEqual(told, [(level, 100 - level) for level in range(1, 10)])

    def test_a_damaged_checkpoint_is_not_trained_on(self):
        cluster = self.cluster()
        job = cluster.client.submit(shell(cluster.folder), cluster.folder)
        watch = cluster.watch(job)
        lost = self.runner(cluster)
        processes.wait_until(lambda: self.kept(cluster, "shell"), "a checkpoint is in the store")
        for path in glob.glob(f"{cluster.server.database}.d/artifacts/blobs/*/*"):
            if os.path.getsize(path) == 2:
                with open(path, "r+b") as file:
                    file.write(b"7")  # "5\n" becomes "7\n"
        self.lose(lost)
        open(f"{cluster.folder}/gate", "w").close()
        self.assertEqual(watch.to_end(), 0)
        printed = next(w for w in cluster.workers if w is not lost).printed()
        last = printed[max(printed)]
        self.assertTrue(last.startswith("begins at 0\n"), last[:100])
        levels = [int(level) for level in re.findall(r"level=(\d+)", last)]
        self.assertEqual(levels, list(range(1, 10)))

    def test_a_worker_that_leaves_hands_its_checkpoint_over(self):
        cluster = self.cluster()
        job = cluster.client.submit(shell(cluster.folder), cluster.folder)
        watch = cluster.watch(job)
        first = self.runner(cluster)
        processes.wait_until(lambda: "level=5" in str(first.printed()), "it waits at level 5")
        self.assertEqual(first.stop(), 0)
        shutil.rmtree(first.folder)
        open(f"{cluster.folder}/gate", "w").close()
        self.assertEqual(watch.to_end(), 0)
        second = next(w for w in cluster.workers if w is not first).printed()[1, 2]
        self.assertTrue(second.startswith("begins at 5\n"), second[:100])

    def test_what_cannot_be_downloaded_is_told(self):
        cluster = self.cluster()
        open(f"{cluster.folder}/gate", "w").close()
        job = cluster.client.submit(shell(cluster.folder), cluster.folder)
        self.assertEqual(cluster.watch(job).to_end(), 0)
        folder = self.download(cluster, job)
        self.assert_same_files(folder, self.download(cluster, job, ["--trial", "1"]))
        for arguments, code in ((["--download", folder], 1), (["--download", f"{folder}-2", "--trial", "2"], 1),
                                (["--trial", "1"], 2)):
            cluster.client.run("best", job, *arguments, ok=(code,))
        self.assertEqual(os.listdir(folder), ["model"])
        self.assertFalse(os.path.exists(f"{folder}-2"))


if __name__ == "__main__":
    processes.main()
