"""Images of one's own, with real podman: a program `train` that knows /opt/ml alone, on one and two instances, interrupted, and tuned."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import glob  # noqa: E402
import os  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
import unittest  # noqa: E402

import containers_test  # noqa: E402
import processes  # noqa: E402

IMAGE = "localhost/winnow-own-image:1"
# Of the kind of the published example: no SDK, no toolkit, only files. It trains three epochs, and waits in the second while
# hyperparameters.json names a file that is there.
TRAIN = """#!/usr/bin/python3
import json, os, socket, time
config = json.load(open("/opt/ml/input/config/hyperparameters.json"))
resources = json.load(open("/opt/ml/input/config/resourceconfig.json"))
rows = sum(len(open(f"/opt/ml/input/data/train/{name}").readlines()) for name in os.listdir("/opt/ml/input/data/train"))
print(resources["current_host"], "of", resources["hosts"], [socket.gethostbyname(host) for host in resources["hosts"]], "has", rows, "rows", flush=True)
state = "/opt/ml/checkpoints/epoch"
epoch = int(open(state).read()) if os.path.exists(state) else 0
if epoch:
    print("resumed after epoch", epoch, flush=True)
while epoch < 3:
    epoch += 1
    if resources["current_host"] == "algo-1":
        with open(state + ".tmp", "w") as file:
            file.write(str(epoch))
        os.rename(state + ".tmp", state)
    print(f"epoch {epoch} score={float(config['x']) + epoch:.3f}", flush=True)
    while epoch == 2 and config.get("pause") and os.path.exists(config["pause"]):
        time.sleep(0.05)
if resources["current_host"] == "algo-1":
    json.dump(config, open("/opt/ml/model/config.json", "w"))
"""


def make_image(podman):
    """Python of this host, and the program."""
    podman.make_image()
    root, python = f"{podman.folder}/root", os.path.realpath("/usr/bin/python3")
    library = "/usr/lib/" + os.path.basename(python)
    os.makedirs(f"{root}/usr/bin")
    shutil.copy(python, f"{root}/usr/bin/python3")
    shutil.copytree(library, root + library, symlinks=False, ignore_dangling_symlinks=True,
                    ignore=shutil.ignore_patterns("__pycache__", "test", "idlelib", "tkinter", "config-*", "dist-packages", "lib2to3"))
    for path in [python, *glob.glob(library + "/lib-dynload/*.so")]:
        for word in subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.split():
            if word.startswith("/") and not os.path.exists(root + word):
                os.makedirs(os.path.dirname(root + word), exist_ok=True)
                shutil.copy(os.path.realpath(word), root + word)
    with open(f"{root}/usr/bin/train", "w", encoding="ascii") as file:
        file.write(TRAIN)
    os.chmod(f"{root}/usr/bin/train", 0o755)
    subprocess.run(["tar", "-C", root, "-cf", f"{podman.folder}/own.tar", "."], check=True)
    podman.run("import", "--change=ENV PATH=/usr/bin:/bin", f"{podman.folder}/own.tar", IMAGE)


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if containers_test.why_not():
            raise unittest.SkipTest(containers_test.why_not())
        cls.podman = containers_test.Podman()
        cls.addClassCleanup(cls.podman.remove)
        try:
            make_image(cls.podman)
            cls.podman.run("run", "--rm", "--network=host", IMAGE, "id")
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest(f"podman runs no container here: {error.stderr.strip()[-500:]}") from error
        os.environ.update(cls.podman.environment)
        cls.cluster = sagemaker_clients.Endpoint(slots=4)
        cls.cluster.images = {"own-image": {"container": IMAGE}}
        cls.enterClassContext(cls.cluster)
        cls.s3, cls.sagemaker, cls.logs = (cls.cluster.boto3(service) for service in ("s3", "sagemaker", "logs"))
        cls.s3.create_bucket(Bucket="bucket")
        for n in (1, 2):
            cls.s3.put_object(Bucket="bucket", Key=f"train/part-{n}", Body=b"row\n" * n)

    def definition(self, hyperparameters, instances):
        return {"RoleArn": sagemaker_clients.ROLE, "HyperParameters": hyperparameters,
                "AlgorithmSpecification": {"TrainingImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/own-image:latest", "TrainingInputMode": "File",
                                           "MetricDefinitions": [{"Name": "score", "Regex": "score=([0-9.]+)"}]},
                "InputDataConfig": [sagemaker_clients.channel("train", "s3://bucket/train", S3DataDistributionType="ShardedByS3Key")],
                "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
                "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": instances, "VolumeSizeInGB": 30},
                "StoppingCondition": {"MaxRuntimeInSeconds": 3600}}

    def log(self, name, instance=1):
        try:
            events = self.logs.get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamName=f"{name}/algo-{instance}", startFromHead=True)
        except self.logs.exceptions.ResourceNotFoundException:
            return ""
        return "\n".join(event["message"] for event in events["events"])

    def test_an_own_image_on_two_instances_goes_on_after_an_interruption(self):
        # The only folders of the host in the container are those of the trial: the pause is in its checkpoints.
        self.sagemaker.create_training_job(TrainingJobName="own", CheckpointConfig={"S3Uri": "s3://bucket/checkpoints"},
                                           **self.definition({"x": "0.5", "pause": "/opt/ml/checkpoints/epoch"}, 2))
        processes.wait_until(lambda: "epoch 2" in self.log("own"), "it has trained two epochs")
        self.cluster.workers[0].kill()
        self.cluster.workers[0].start()
        described = processes.wait_until(lambda: (lambda said: said if said["TrainingJobStatus"] != "InProgress" else None)(
            self.sagemaker.describe_training_job(TrainingJobName="own")), "it ends")
        self.assertEqual(described["TrainingJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual([{"score": each["Value"]} for each in described["FinalMetricDataList"]], [{"score": 3.5}])
        self.assertIn("resumed after epoch 2", self.log("own"))
        for n in (1, 2):
            self.assertIn(f"algo-{n} of ['algo-1', 'algo-2'] ['127.0.0.1', '127.0.0.1'] has {n} rows", self.log("own", n))
        self.assertEqual(self.s3.list_objects_v2(Bucket="bucket", Prefix="output/own/output/model.tar.gz")["KeyCount"], 1)

    def test_an_own_image_is_tuned_on_two_instances_and_interrupted(self):
        definition = {**self.definition({"pause": "/opt/ml/checkpoints/epoch"}, 2), "CheckpointConfig": {"S3Uri": "s3://bucket/tuned"}}
        definition["StaticHyperParameters"] = definition.pop("HyperParameters")
        self.sagemaker.create_hyper_parameter_tuning_job(
            HyperParameterTuningJobName="tuned", TrainingJobDefinition=definition, HyperParameterTuningJobConfig={
                "Strategy": "Random", "HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "score"},
                "ResourceLimits": {"MaxNumberOfTrainingJobs": 2, "MaxParallelTrainingJobs": 2},
                "ParameterRanges": {"ContinuousParameterRanges": [{"Name": "x", "MinValue": "0", "MaxValue": "1"}]}})

        def names():
            jobs = self.sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(HyperParameterTuningJobName="tuned")
            return [each["TrainingJobName"] for each in jobs["TrainingJobSummaries"]]

        processes.wait_until(lambda: [name for name in names() if "epoch 2" in self.log(name)][1:], "both have trained two epochs")
        self.cluster.workers[0].kill()
        self.cluster.workers[0].start()
        described = processes.wait_until(lambda: (lambda said: said if said["HyperParameterTuningJobStatus"] != "InProgress" else None)(
            self.sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="tuned")), "the tuning job ends")
        self.assertEqual(described["HyperParameterTuningJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual(described["ObjectiveStatusCounters"], {"Succeeded": 2, "Pending": 0, "Failed": 0})
        for name in names():
            self.assertIn("resumed after epoch 2", self.log(name))
            self.assertEqual(self.s3.get_object(Bucket="bucket", Key=f"tuned/{name}/epoch")["Body"].read(), b"3")
        best = described["BestTrainingJob"]
        self.assertAlmostEqual(best["FinalHyperParameterTuningJobObjectiveMetric"]["Value"], 3 + float(best["TunedHyperParameters"]["x"]), places=3)


if __name__ == "__main__":
    processes.main()
