"""The job files in examples/ for scripts of one's own run as they are, and give what their pages promise."""

import json
import os
import unittest

import processes

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


class Examples(unittest.TestCase):
    def run_example(self, cluster, name):
        job = cluster.client.json("submit", os.path.join(EXAMPLES, f"{name}.json"))["id"]
        self.assertEqual(cluster.watch(job).to_end(), 0)
        return job

    def test_a_script_that_knows_nothing_of_winnow_resumes_and_leaves_its_model(self):
        with processes.Cluster(workers=1, slots=4) as cluster:
            job = self.run_example(cluster, "unchanged-script")
            best = cluster.client.json("describe", job)["best"]
            model = os.path.join(cluster.folder, "model")
            cluster.client.run("best", job, "--download", model)
            with open(os.path.join(model, "last.json"), encoding="utf-8") as file:
                trained = json.load(file)["epoch"]
            printed = cluster.workers[0].printed()
        # Each part goes on where the one before ended, and no epoch is trained twice.
        parts = [text for (trial, _), text in sorted(printed.items()) if trial == int(best["trial"])]
        epochs = [int(line.split()[1].rstrip(":")) for text in parts for line in text.splitlines()]
        self.assertGreater(len(parts), 1)
        self.assertEqual(epochs, list(range(1, trained + 1)))

    def test_cross_validation_is_ranked_by_the_mean_of_its_folds(self):
        with processes.Cluster(workers=1, slots=4) as cluster:
            job = self.run_example(cluster, "folds")
            best = cluster.client.json("describe", job)["best"]
            folds = {}
            for point in cluster.client.json("metrics", job)["points"]:
                folds.setdefault(int(point["trial"]), []).append(point["value"])
        means = {trial: sum(values) / len(values) for trial, values in folds.items() if len(values) == 5}
        self.assertAlmostEqual(best["objective"], max(means.values()), places=12)
        self.assertAlmostEqual(means[int(best["trial"])], max(means.values()), places=12)


if __name__ == "__main__":
    unittest.main()
