"""SageMaker's own Python SDK, version 2, as it is: where a Python of this machine has it (PYTHONPATH, or pip install "sagemaker<3")."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import processes
import sagemaker_clients
import scripts_test

HERE = os.path.dirname(os.path.abspath(__file__))


def python_with_sdk():
    """None: there is none."""
    for python in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if python and subprocess.run([python, "-W", "ignore", "-c", "from sagemaker.tuner import HyperparameterTuner"], capture_output=True,
                                     check=False).returncode == 0:
            return python
    return None


class Sdk(unittest.TestCase):
    def test_a_notebook_with_the_sdk(self):
        python = python_with_sdk()
        if python is None:
            self.skipTest("no Python here has the SageMaker SDK of version 2")
        cluster = sagemaker_clients.Endpoint(slots=4)
        cluster.images = {"pytorch-training": {"command": [scripts_test.PYTHON]}}
        with cluster:
            for n, name in enumerate(("train-1", "train-2", "validation")):
                sagemaker_clients.write_table(os.path.join(cluster.folder, name + ".csv"), 500, n)
            os.mkdir(os.path.join(cluster.folder, "source"))
            shutil.copy(os.path.join(HERE, "train.py"), os.path.join(cluster.folder, "source"))
            variables = cluster.client.json("sagemaker", "env", "--url", cluster.url, "--keys", cluster.keys_file, "--folder",
                                            os.path.join(cluster.folder, "sdk"))
            torch = ["torch"] if scripts_test.has("torch") else []
            done = subprocess.run([python, "-W", "ignore", "-B", os.path.join(HERE, "sdk.py"), cluster.folder, *torch, "two"],
                                  env={**os.environ, **variables}, capture_output=True, text=True, timeout=3 * processes.PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:] + cluster.server.log()[-3000:])
            with open(os.path.join(cluster.folder, "said.json"), encoding="utf-8") as file:
                self.check(json.load(file), torch)

    def check(self, said, torch):
        self.assertEqual(said["bucket"], "sagemaker-123456789012")  # as the configuration says that winnow sagemaker env writes
        for each in ("one", "two"):
            self.assertEqual(said[each]["metrics"], ["train:auc", "validation:auc"])
            self.assertGreater(said[each]["least"], 0.5)
        tuning = said["tuning"]
        self.assertEqual((len(tuning["values"]), max(tuning["values"])), (8, tuning["best_value"]))
        if torch:
            self.assertEqual(said["script"]["metrics"], ["accuracy"])
        several = said["several"]
        self.assertEqual((several["names"], several["status"]), (["deep", "shallow"], "Completed"))
        self.assertEqual(len(several["rows"]), 6)
        for row in several["rows"]:
            self.assertEqual(row["TrainingJobDefinitionName"] == "shallow", float(row["max_depth"]) <= 2)


if __name__ == "__main__":
    processes.main()
