"""Trials of three nodes on three hosts, of which one is cut off for good: the trial goes on elsewhere from its checkpoint.

What it leaves is what an undisturbed run leaves, byte by byte. The hosts share no folder.
"""

import glob
import os
import sys
import unittest

import network
import processes
import site_of_hosts

LEASE = 2.0  # seconds


def job(folder, name, trainer):
    channels = {channel: {"path": f"{folder}/{channel}.csv", "label": "y"} for channel in ("train", "validation")}
    spec = {"name": name, "trainer": {"builtin": trainer, "grace_period": "2s"}, "channels": channels, "strategy": "RANDOM",
            "cluster": {"nodes": 3}, "limits": {"max_trials": 1}, "seed": 5}
    if trainer == "gbdt":
        return spec | {
            "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "700",
                                       "max_depth": "3"},
            "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.1}}],
            "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"}}
    return spec | {
        "static_hyperparameters": {"epochs": "60", "hidden_layers": "256,128", "batch_size": "3840", "loss": "logistic"},
        "parameters": [{"name": "learning_rate", "continuous": {"min": 0.01, "max": 0.1}}],
        "objective": {"metric": "validation:loss", "goal": "MINIMIZE"}}


class LostHostTest(unittest.TestCase):
    def models(self, site, name):
        """The files that each host has as the trial's model, by host."""
        found = {}
        for worker in site.workers:
            for path in glob.glob(f"{worker.shared}/jobs/{name}/trials/1/model/*"):
                with open(path, "rb") as file:
                    found.setdefault(worker.name, {})[os.path.basename(path)] = file.read()
        return found

    def ranks(self, site, attempt):
        """The workers' names by rank, of the newest job."""
        return [name for name, in processes.rows(
            site.server.database,
            "SELECT w.name FROM assignments a JOIN workers w USING (worker) WHERE a.attempt = ? AND a.job = "
            "(SELECT MAX(job) FROM jobs) ORDER BY a.rank", attempt)]

    def finish(self, site, name, watch):
        self.assertEqual(watch.to_end(), 0)
        site.client.run("replay", name, "--verify")
        points = site.client.json("metrics", name)
        points = points["points"] if isinstance(points, dict) else points
        curve = {(point["metric"], int(point["resource"])): point["value"] for point in points}
        self.assertEqual(len(curve), len(points))
        return {key: value for key, value in curve.items() if key[0] != "samples-per-second"}

    def run_with_a_cut(self, trainer, lost_rank):
        with site_of_hosts.Site(["w1", "w2", "w3", "w4"], server_flags=["--lease", str(LEASE)]) as site:
            # Many rows and shallow trees or large batches: much to compute between the ranks' exchanges, each of which waits for
            # three processes of a machine that may have fewer processors.
            processes.write_table(f"{site.folder}/train.csv", 120000, 1)
            processes.write_table(f"{site.folder}/validation.csv", 2000, 2)
            name = site.client.submit(job(site.folder, f"{trainer}-calm", trainer), site.folder)
            calm = self.finish(site, name, site.watch(name))
            expected = self.models(site, name)
            self.assertEqual(len(expected), 1)

            name = site.client.submit(job(site.folder, f"{trainer}-cut", trainer), site.folder)
            watch = site.watch(name)
            kept = processes.wait_until(
                # What was reported a while before it was put there is in it. The time between levels needs two of them, and a
                # while between them beside which the time in which they come back is short.
                lambda: processes.rows(site.server.database,
                                       "SELECT MAX(r.resource) AS level FROM artifacts a JOIN reports r ON r.job = a.job "
                                       "AND r.time_us < a.create_us - 3000000 WHERE a.kind = 'checkpoint' AND a.job = "
                                       "(SELECT MAX(job) FROM jobs) HAVING level > 1 AND MAX(r.time_us) - MIN(r.time_us) > 1000000"),
                "a checkpoint of two levels is kept")[0][0]
            before = self.ranks(site, 1)
            lost = site.worker(before[lost_rank])
            cut_off = lost.trainers()
            site.network[lost.name].cut()
            curve = self.finish(site, name, watch)

            after = self.ranks(site, 2)
            self.assertEqual(watch.count("attempt_ended", " lost "), 1)
            self.assertEqual(len(set(after)), 3)
            self.assertNotIn(lost.name, after)
            # What the checkpoint knew came at once, and not as slowly as it had been trained.
            span = lambda attempt: processes.rows(  # noqa: E731
                site.server.database, "SELECT MAX(time_us) - MIN(time_us) FROM reports WHERE attempt = ? AND resource <= ? AND job = "
                "(SELECT MAX(job) FROM jobs)", attempt, kept)[0][0]
            print(f"{trainer}: ranks on {before}, then {after}; {kept} levels took {span(1) / 1e6:.2f} s to train and "
                  f"{span(2) / 1e6:.2f} s to come back")
            self.assertLess(span(2), span(1) / 2)
            self.assertEqual(curve, calm)
            models = self.models(site, name)
            self.assertEqual(models[after[0]], next(iter(expected.values())))

            # The host comes back: what still ran there is ended, and it is a worker again.
            site.network[lost.name].mend()
            processes.wait_until(lambda: all(processes.parent_of(pid) == -1 for pid in cut_off), "its ranks end")
            processes.wait_until(lambda: lost.name in [row["name"] for row in site.client.workers()],
                                 "it registers again")
            # The best model can be had from the server, wherever it was trained.
            site.client.run("best", name, "--download", f"{site.folder}/best")
            for file, content in next(iter(expected.values())).items():
                with open(f"{site.folder}/best/{file}", "rb") as downloaded:
                    self.assertEqual(downloaded.read(), content)

    def test_gbdt_loses_the_host_of_rank_0(self):
        self.run_with_a_cut("gbdt", 0)

    def test_mlp_loses_the_host_of_rank_2(self):
        self.run_with_a_cut("mlp", 2)


if __name__ == "__main__":
    if network.why_not():
        print(f"skipped: {network.why_not()}")
        sys.exit(processes.SKIPPED)
    processes.main()
