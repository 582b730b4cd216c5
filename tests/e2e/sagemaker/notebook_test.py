"""The published notebook's calls with every boto3 of the machine, and XGBoost opens what was trained."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import processes
import sagemaker_clients

NOTEBOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "notebook.py")
PREPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/prepare_direct_marketing.py")
# The notebook's own data, if they are here.
BANK = os.path.join(os.environ.get("WINNOW_DATA_DIR", ""), "bank-additional-full.csv.gz")
# The AUC of a model file on a table whose first column is the label.
JUDGE = """
import sys, numpy, xgboost
table = numpy.loadtxt(sys.argv[2], delimiter=",")
scores = xgboost.Booster(model_file=sys.argv[1]).predict(xgboost.DMatrix(table[:, 1:]))
ones, zeros = scores[table[:, 0] == 1][:, None], scores[table[:, 0] == 0][None, :]
print((ones > zeros).mean() + (ones == zeros).mean() / 2)
"""


class Notebook(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(sagemaker_clients.Endpoint(slots=12))
        self.train = os.path.join(self.cluster.folder, "train.csv")
        self.validation = os.path.join(self.cluster.folder, "validation.csv")
        if os.path.exists(BANK):  # as the notebook prepares it, but with a header, which XGBoost's image does not expect
            subprocess.run([sys.executable, PREPARE, "--input", BANK, "--output", self.cluster.folder, "--split", "85/5/10"], check=True)
            for table in (self.train, self.validation):
                with open(table, encoding="ascii") as file:
                    rows = file.readlines()[1:]
                with open(table, "w", encoding="ascii") as file:
                    file.writelines(rows)
        else:
            sagemaker_clients.write_table(self.train, 1500, 1)
            sagemaker_clients.write_table(self.validation, 800, 2)

    def run_notebook(self, python):
        done = subprocess.run([python, "-B", NOTEBOOK, self.train, self.validation, self.cluster.folder],
                              env={**os.environ, **self.cluster.environment()}, capture_output=True, text=True,
                              timeout=processes.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + self.cluster.server.log()[-3000:])
        return json.loads(done.stdout)

    def auc(self, name):
        model = os.path.join(self.cluster.folder, name + ".model")
        done = subprocess.run(["/usr/bin/python3", "-c", JUDGE, model, self.validation], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(done.stdout)

    def check(self, said):
        self.assertEqual(said["keys"], [f"xgboost-bank/train/part-{n}.csv" for n in (1, 2, 3)]
                         + ["xgboost-bank/validation/validation.csv"])
        for name in ("bank-1-instances", "bank-3-instances"):
            self.assertEqual(said[name]["status"], "Completed", said[name])
            self.assertGreater(said[name]["metrics"]["validation:auc"], 0.7)
            self.assertIn("train:auc", said[name]["metrics"])
            # The data frame of metrics: an average of each minute, between the values of the first and of the last round.
            rows = [row for row in said[name]["frame"] if row["metric_name"] == "validation:auc"]
            self.assertEqual(rows[0]["timestamp"], 0)
            self.assertTrue(all(0.5 < row["value"] < 1 for row in said[name]["frame"]), said[name]["frame"])
            self.assertEqual(list(said[name]["logs"]), [f"{name}/algo-{n + 1}" for n in range(int(name.split("-")[1]))])
            self.assertEqual(sum("validation-auc:" in line for line in said[name]["logs"][f"{name}/algo-1"]), 150)
        tuning = said["tuning"]
        self.assertEqual(tuning["status"], "Completed")
        self.assertEqual(sum(tuning["counters"].values()), 30)
        self.assertEqual(len(tuning["rows"]), 30)
        objectives = [row["objective"] for row in tuning["rows"]]
        self.assertEqual(objectives, sorted(objectives, reverse=True))
        self.assertEqual(len({row["eta"] for row in tuning["rows"]}), 30)
        self.assertTrue(all(100 <= int(row["num_round"]) <= 200 for row in tuning["rows"]))
        self.assertEqual(tuning["static"]["_tuning_objective_metric"], "validation:auc")
        best = next(row for row in tuning["rows"] if row["name"] == tuning["best"])
        self.assertEqual(best["objective"], tuning["value"])
        for name in ("eta", "max_depth", "alpha"):
            self.assertEqual(tuning["hyperparameters"][name], best[name])
        # What the endpoint says of a model is true of the file that it hands out.
        self.assertAlmostEqual(self.auc("best"), tuning["value"], places=5)
        self.assertAlmostEqual(self.auc("three"), said["bank-3-instances"]["metrics"]["validation:auc"], places=5)
        # The jobs are Winnow's own.
        job = self.cluster.client.json("describe", "bank-tuning")
        self.assertEqual((job["state"], job["spec"]["strategy"]), ("COMPLETED", "HYPERBAND"))
        self.assertEqual(self.cluster.client.json("describe", "bank-3-instances")["spec"]["cluster"]["nodes"], 3)

    def test_the_newest_boto3_of_the_machine(self):
        python = max(shutil.which("python3"), sys.executable, key=sagemaker_clients.version_of_boto3)
        if not sagemaker_clients.version_of_boto3(python):
            self.skipTest("no Python here has boto3")
        self.check(self.run_notebook(python))

    def test_the_boto3_of_debian_12(self):
        if not sagemaker_clients.version_of_boto3("/usr/bin/python3"):
            self.skipTest("python3-boto3 is not installed")
        self.check(self.run_notebook("/usr/bin/python3"))


if __name__ == "__main__":
    processes.main()
