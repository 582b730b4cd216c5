"""Script mode: what a script is given, and a PyTorch script on one and two instances that is interrupted."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import contextlib  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import subprocess  # noqa: E402
import tarfile  # noqa: E402
import unittest  # noqa: E402
import zipfile  # noqa: E402

import processes  # noqa: E402

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # Debian's, which has PyTorch
PYTORCH = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.13-cpu-py39"
METRICS = [{"Name": "accuracy", "Regex": "accuracy=([0-9.]+)"}, {"Name": "train_loss", "Regex": "train_loss=([0-9.]+)"}]


def has(module):
    return subprocess.run([PYTHON, "-c", "import " + module], capture_output=True, check=False).returncode == 0


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = sagemaker_clients.Endpoint(slots=4)
        cls.cluster.images = {"pytorch-training": {"command": [PYTHON]}}
        cls.enterClassContext(cls.cluster)
        cls.s3, cls.sagemaker = cls.cluster.boto3("s3"), cls.cluster.boto3("sagemaker")
        cls.s3.create_bucket(Bucket="bucket")
        for n in (1, 2):
            table = os.path.join(cls.cluster.folder, f"part-{n}.csv")
            sagemaker_clients.write_table(table, 300, n)
            cls.s3.upload_file(table, "bucket", f"train/part-{n}.csv")

    def code(self, name, **files):
        """Uploads a sourcedir.tar.gz, as the SDK makes it; returns the hyperparameters that name it."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            tar.add(os.path.join(SCRIPTS, name), name)
            for each, content in files.items():
                entry = tarfile.TarInfo(each)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        self.s3.put_object(Bucket="bucket", Key="code/sourcedir.tar.gz", Body=archive.getvalue())
        return {"sagemaker_program": json.dumps(name), "sagemaker_submit_directory": json.dumps("s3://bucket/code/sourcedir.tar.gz"),
                "sagemaker_container_log_level": "20", "sagemaker_region": json.dumps("us-east-1")}

    def request(self, name, hyperparameters, instances=1, metrics=METRICS, **more):
        return {"TrainingJobName": name, "RoleArn": sagemaker_clients.ROLE, "HyperParameters": hyperparameters,
                "AlgorithmSpecification": {"TrainingImage": PYTORCH, "TrainingInputMode": "File", "MetricDefinitions": metrics},
                "InputDataConfig": [sagemaker_clients.channel("train", "s3://bucket/train",
                                                              S3DataDistributionType="ShardedByS3Key" if instances > 1 else "FullyReplicated")],
                "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
                "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": instances, "VolumeSizeInGB": 30},
                "StoppingCondition": {"MaxRuntimeInSeconds": 3600}, **more}

    def ended(self, name):
        described = processes.wait_until(lambda: (lambda said: said if said["TrainingJobStatus"] not in ("InProgress", "Stopping") else None)(
            self.sagemaker.describe_training_job(TrainingJobName=name)), f"{name} ends")
        return described

    def model(self, described, name):
        bucket, key = described["ModelArtifacts"]["S3ModelArtifacts"][len("s3://"):].split("/", 1)
        with tarfile.open(fileobj=io.BytesIO(self.s3.get_object(Bucket=bucket, Key=key)["Body"].read())) as tar:
            return tar.extractfile(name).read()

    def output(self, name, archive="output.tar.gz"):
        """What the script left in output/data."""
        content = self.s3.get_object(Bucket="bucket", Key=f"output/{name}/output/{archive}")["Body"].read()
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            return {each.name: tar.extractfile(each).read().decode() for each in tar.getmembers()}

    def log(self, name, instance=1):
        events = self.cluster.boto3("logs").get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", startFromHead=True,
                                                           logStreamName=f"{name}/algo-{instance}")["events"]
        return "\n".join(event["message"] for event in events)

    def test_a_script_has_the_folders_variables_and_arguments_of_sagemaker(self):
        hyperparameters = {**self.code("look.py"), "learning-rate": "0.1", "optimizer": '"adam"', "layers": "[1, 2]", "name": "plain", "n": "5",
                           "nothing": "null", "flag": "true"}
        self.sagemaker.create_training_job(**self.request(
            "look", hyperparameters, metrics=[{"Name": "score", "Regex": "score: ([0-9.]+)"}, {"Name": "loss", "Regex": "loss=([0-9.]+)#011"}],
            Environment={"OWN": "value"}, CheckpointConfig={"S3Uri": "s3://bucket/checkpoints"}))
        described = self.ended("look")
        self.assertEqual(described["TrainingJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual({each["MetricName"]: each["Value"] for each in described["FinalMetricDataList"]}["loss"], 3.5)
        self.assertEqual(described["HyperParameters"], hyperparameters)
        seen = json.loads(self.model(described, "seen.json"))
        self.assertEqual(seen["arguments"], ["--flag", "True", "--layers", "[1, 2]", "--learning-rate", "0.1", "-n", "5", "--name", "plain",
                                             "--nothing", "None", "--optimizer", "adam"])
        environment = seen["environment"]
        for name, value in {"SM_HP_LEARNING-RATE": "0.1", "SM_HP_OPTIMIZER": "adam", "SM_HP_LAYERS": "[1,2]", "SM_HP_NOTHING": "",
                            "SM_HOSTS": '["algo-1"]', "SM_CURRENT_HOST": "algo-1", "SM_CURRENT_INSTANCE_TYPE": "ml.c5.xlarge",
                            "SM_USER_ENTRY_POINT": "look.py", "SM_MODULE_NAME": "look", "SM_CHANNELS": '["train"]', "SM_NUM_GPUS": "0",
                            "TRAINING_JOB_NAME": "look", "OWN": "value", "AWS_REGION": "us-east-1",
                            "TRAINING_JOB_ARN": described["TrainingJobArn"]}.items():
            self.assertEqual(environment.get(name), value, name)
        self.assertEqual(json.loads(environment["SM_HPS"]), {"learning-rate": 0.1, "optimizer": "adam", "layers": [1, 2], "name": "plain", "n": 5,
                                                             "nothing": None, "flag": True})
        base = environment["SAGEMAKER_BASE_DIR"]
        self.assertEqual(environment["SM_CHANNEL_TRAIN"], base + "/input/data/train")
        self.assertEqual(environment["SM_MODEL_DIR"], base + "/model")
        files = seen["files"]
        self.assertEqual(json.loads(files["input/config/hyperparameters.json"]), hyperparameters)
        self.assertEqual(json.loads(files["input/config/inputdataconfig.json"])["train"],
                         {"ContentType": "text/csv", "TrainingInputMode": "File", "S3DistributionType": "FullyReplicated",
                          "RecordWrapperType": "None"})
        self.assertEqual(json.loads(files["input/config/resourceconfig.json"])["hosts"], ["algo-1"])
        self.assertEqual(json.loads(files["input/config/checkpointconfig.json"]), {"LocalPath": "/opt/ml/checkpoints"})
        self.assertEqual(self.output("look"), {"notes.txt": "noted"})
        self.assertNotIn("SAGEMAKER_ACCESS", environment)
        for name in ("input/data/train/part-1.csv", "input/data/train/part-2.csv", "code/look.py"):
            self.assertIn(name, files)

    def test_the_file_failure_says_why_and_requirements_are_installed(self):
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as file:
            info = "winnow_wanted-1.0.dist-info/"
            file.writestr("winnow_wanted.py", "VALUE = 7\n")
            file.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: winnow-wanted\nVersion: 1.0\n")
            file.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr(info + "RECORD", "")
        name = "winnow_wanted-1.0-py3-none-any.whl"
        if has("pip"):
            code = self.code("look.py", **{name: wheel.getvalue(), "requirements.txt": f"./{name}\n".encode()})
            self.sagemaker.create_training_job(**self.request("packages", code, metrics=[], Environment={"WANTED_PACKAGE": "winnow_wanted"}))
            described = self.ended("packages")
            self.assertEqual(described["TrainingJobStatus"], "Completed", described.get("FailureReason"))
            self.assertEqual(json.loads(self.model(described, "seen.json"))["package"], 7)
        self.sagemaker.create_training_job(**self.request("fails", {**self.code("look.py"), "fail": "1"}, metrics=[]))
        described = self.ended("fails")
        self.assertEqual(described["TrainingJobStatus"], "Failed")
        self.assertIn("the data are no good", described["FailureReason"])
        self.assertEqual(self.output("fails"), {"notes.txt": "noted"})

    def test_checkpoints_are_in_the_bucket_and_come_from_there(self):
        pause = os.path.join(self.cluster.folder, "pause-of-keep")
        with open(pause, "w", encoding="ascii"):
            pass
        config = {"CheckpointConfig": {"S3Uri": "s3://bucket/kept/"}, "metrics": [{"Name": "score", "Regex": "score=([0-9]+)"}]}
        self.sagemaker.create_training_job(**self.request("keeps", {**self.code("keep.py"), "pause-file": json.dumps(pause), "large-mib": "20"}, instances=2, **config))

        def kept():
            listed = self.s3.list_objects_v2(Bucket="bucket", Prefix="kept/").get("Contents", [])
            return {each["Key"]: each["Size"] if each["Size"] > 9 else self.s3.get_object(Bucket="bucket", Key=each["Key"])["Body"].read()
                    for each in listed}

        large = {"kept/large": 20 << 20}  # which is put in parts, and brought in ranges

        processes.wait_until(lambda: kept() == {**large, "kept/state/epoch": b"2"}, "the checkpoint is in the bucket while the script runs")
        # The host is lost, with the checkpoints that it had.
        worker = self.cluster.workers[0]
        groups = worker.trainers()
        worker.kill()
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        folder = os.path.join(worker.shared, "jobs")
        processes.wait_until(lambda: shutil.rmtree(folder, ignore_errors=True) or not os.path.exists(folder), "nothing is left of the host")
        worker.start()
        processes.wait_until(lambda: "the large file is whole" in self.log("keeps"), "the script has resumed")
        self.assertIn("resumed after epoch 2\nthe large file is whole: True", self.log("keeps"))
        os.remove(pause)
        described = self.ended("keeps")
        self.assertEqual(described["TrainingJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual(kept(), {**large, "kept/state/epoch": b"3"})
        self.assertEqual((self.output("keeps"), self.output("keeps", "output-algo-2.tar.gz")), ({"rank": "0"}, {"rank": "1"}))
        # Another training job goes on from there.
        self.sagemaker.create_training_job(**self.request("goes-on", {**self.code("keep.py"), "epochs": "4", "large-mib": "20"}, **config))
        described = self.ended("goes-on")
        self.assertEqual(described["TrainingJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual([line for line in self.log("goes-on").splitlines() if "epoch" in line or "large" in line],
                         ["resumed after epoch 3", "the large file is whole: True", "epoch 4; score=4"])
        self.assertEqual(kept(), {**large, "kept/state/epoch": b"4"})

    @unittest.skipUnless(has("torch"), "python3-torch is not installed")
    def test_a_pytorch_script_on_two_instances_goes_on_after_an_interruption(self):
        pause = os.path.join(self.cluster.folder, "pause")
        with open(pause, "w", encoding="ascii"):
            pass
        self.sagemaker.create_training_job(**self.request(
            "spot", {**self.code("train.py"), "epochs": "5", "pause-file": json.dumps(pause)}, instances=2, EnableManagedSpotTraining=True,
            StoppingCondition={"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 3600},
            CheckpointConfig={"S3Uri": "s3://bucket/checkpoints", "LocalPath": "/opt/ml/checkpoints"}))
        processes.wait_until(lambda: "epoch 2;" in self.log_or_nothing("spot"), "the script has trained two epochs")
        self.cluster.workers[0].kill()
        self.cluster.workers[0].start()
        processes.wait_until(lambda: "resumed after epoch 2" in self.log("spot"), "the script has resumed")
        os.remove(pause)
        described = self.ended("spot")
        self.assertEqual(described["TrainingJobStatus"], "Completed", described.get("FailureReason"))
        log = self.log("spot")
        self.assertIn("resumed after epoch 2", log)
        self.assertEqual([line.split(";")[0] for line in log.splitlines() if line.startswith("epoch ")], [f"epoch {n}" for n in range(1, 6)])
        shards = [next(line for line in self.log("spot", n).splitlines() if "trains on" in line).split(" of ")[1] for n in (1, 2)]
        self.assertEqual(shards, ["['part-1.csv']", "['part-2.csv']"])
        self.assertGreater({each["MetricName"]: each["Value"] for each in described["FinalMetricDataList"]}["accuracy"], 0.6)
        self.assertGreater(len(self.model(described, "model.pth")), 100)

    def log_or_nothing(self, name):
        try:
            return self.log(name)
        except self.cluster.boto3("logs").exceptions.ResourceNotFoundException:
            return ""

    @unittest.skipUnless(has("torch"), "python3-torch is not installed")
    def test_a_pytorch_script_is_tuned_by_hyperband_on_two_instances_and_interrupted(self):
        pause = os.path.join(self.cluster.folder, "pause-of-tuning")
        with open(pause, "w", encoding="ascii"):
            pass
        definition = self.request(
            "", {**self.code("train.py"), "epochs": "4", "pause-file": json.dumps(pause)}, instances=2, EnableManagedSpotTraining=True,
            StoppingCondition={"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 3600}, CheckpointConfig={"S3Uri": "s3://bucket/tuned"})
        del definition["TrainingJobName"]
        definition["StaticHyperParameters"] = definition.pop("HyperParameters")
        self.sagemaker.create_hyper_parameter_tuning_job(
            HyperParameterTuningJobName="torch", TrainingJobDefinition=definition, HyperParameterTuningJobConfig={
                "Strategy": "Hyperband", "StrategyConfig": {"HyperbandStrategyConfig": {"MinResource": 1, "MaxResource": 4}},
                "HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "accuracy"},
                "ResourceLimits": {"MaxNumberOfTrainingJobs": 4, "MaxParallelTrainingJobs": 2},
                "ParameterRanges": {"ContinuousParameterRanges": [{"Name": "lr", "MinValue": "0.001", "MaxValue": "1"}],
                                    "CategoricalParameterRanges": [{"Name": "optimizer", "Values": ['"sgd"', '"adam"']}]}})

        def in_second_epoch():
            jobs = self.sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(HyperParameterTuningJobName="torch")["TrainingJobSummaries"]
            return [each["TrainingJobName"] for each in jobs if "epoch 2;" in self.log_or_nothing(each["TrainingJobName"])]

        interrupted = processes.wait_until(in_second_epoch, "a training job is in its second epoch")[0]
        self.cluster.workers[0].kill()
        self.cluster.workers[0].start()
        processes.wait_until(lambda: "resumed after epoch 2" in self.log(interrupted), "it has resumed")
        os.remove(pause)
        described = processes.wait_until(lambda: (lambda said: said if said["HyperParameterTuningJobStatus"] != "InProgress" else None)(
            self.sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="torch")), "the tuning job ends")
        self.assertEqual(described["HyperParameterTuningJobStatus"], "Completed", described.get("FailureReason"))
        listed = self.sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(HyperParameterTuningJobName="torch")["TrainingJobSummaries"]
        self.assertEqual(described["ObjectiveStatusCounters"], {"Succeeded": 4, "Pending": 0, "Failed": 0}, [
            (each["TrainingJobName"], each["TrainingJobStatus"], each.get("FailureReason")) for each in listed])
        best = self.sagemaker.describe_training_job(TrainingJobName=described["BestTrainingJob"]["TrainingJobName"])
        self.assertIn(best["HyperParameters"]["optimizer"], ('"sgd"', '"adam"'))
        self.assertGreater(described["BestTrainingJob"]["FinalHyperParameterTuningJobObjectiveMetric"]["Value"], 0.6)


if __name__ == "__main__":
    processes.main()
