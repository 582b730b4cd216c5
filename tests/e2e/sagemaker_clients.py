"""An endpoint of SageMaker in front of real workers, and boto3 as it is on the machine."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import processes

ROLE = "arn:aws:iam::123456789012:role/winnow"
XGBOOST = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"


def version_of_boto3(python):
    """() where it has none."""
    done = subprocess.run([python, "-c", "import boto3; print(boto3.__version__)"], capture_output=True, text=True, check=False)
    return tuple(map(int, done.stdout.strip().split("."))) if done.returncode == 0 else ()


def with_newest_boto3():
    """Goes on in the Python that has the newest boto3: Debian's, or a newer one that is first in PATH."""
    if "WINNOW_TEST_BOTO3" in os.environ:
        return
    pythons = [python for python in (sys.executable, shutil.which("python3")) if python]
    best = max(pythons, key=version_of_boto3)
    if not version_of_boto3(best):
        print("skipped: no Python here has boto3")
        sys.exit(processes.SKIPPED)
    os.environ["WINNOW_TEST_BOTO3"] = best
    if best != sys.executable:
        os.execv(best, [best, "-B", *sys.argv])


def has_current_model():
    """Whether this boto3 knows the operations that the endpoint has: Debian 12's is older."""
    return version_of_boto3(sys.executable) >= (1, 35)


class Endpoint(processes.Cluster):
    """A cluster whose server answers clients of SageMaker, with one access key."""

    def __init__(self, workers=1, slots=4, keys=None, server_flags=()):
        super().__init__(workers=workers, slots=slots, server_flags=server_flags)
        self.port_file = os.path.join(self.folder, "sagemaker-port")
        self.keys_file = os.path.join(self.folder, "winnow.db.d", "sagemaker", "keys.json")
        self.address = "127.0.0.1:0"
        self.given = keys
        self.images = None  # what image names stand for

    def begin(self):
        if self.given:
            self.keys_file = os.path.join(self.folder, "keys.json")
            self.server.flags += ["--sagemaker-keys", self.keys_file]
            with open(self.keys_file, "w", encoding="ascii") as file:
                json.dump(self.given, file)
        if self.images:
            images = os.path.join(self.folder, "images.json")
            self.server.flags += ["--sagemaker-images", images]
            with open(images, "w", encoding="ascii") as file:
                json.dump(self.images, file)
        self.flags = list(self.server.flags)
        self.server.flags = self.flags + ["--sagemaker", self.address, "--sagemaker-port-file", self.port_file]
        super().begin()
        self.found()

    def found(self):
        with open(self.port_file, encoding="ascii") as file:
            self.address = f"127.0.0.1:{int(file.read())}"
        with open(self.keys_file, encoding="ascii") as file:
            self.keys = json.load(file)

    def restart(self):
        """Kills the server and starts it again, at the same port."""
        self.server.kill()
        os.remove(self.port_file)
        self.server.flags = self.flags + ["--sagemaker", self.address, "--sagemaker-port-file", self.port_file]
        self.server.start()
        processes.wait_until(lambda: os.path.exists(self.port_file), "the endpoint listens")

    @property
    def url(self):
        return "http://" + self.address

    def environment(self, key=0):
        """The variables of somebody who uses the endpoint."""
        return {"AWS_ACCESS_KEY_ID": self.keys[key]["access_key_id"],
                "AWS_SECRET_ACCESS_KEY": self.keys[key]["secret_access_key"], "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": self.url, "AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere"}

    def boto3(self, service, key=0, url=None, **more):
        import boto3  # of the Python that runs the test
        from botocore.config import Config
        config = Config(retries={"max_attempts": 1}, **more.pop("config", {}))
        return boto3.client(service, endpoint_url=url or self.url, region_name="us-east-1", config=config,
                            aws_access_key_id=self.keys[key]["access_key_id"],
                            aws_secret_access_key=self.keys[key]["secret_access_key"], **more)


def write_table(path, rows, seed):
    """A CSV as XGBoost's image reads it: no header, the label first."""
    named = path + ".named"
    processes.write_table(named, rows, seed)
    with open(named, encoding="ascii") as file, open(path, "w", encoding="ascii") as bare:
        next(file)
        shutil.copyfileobj(file, bare)
    os.remove(named)


def put_tables(cluster, s3):
    """Makes the bucket "bucket" with a table for each channel of training_job. Gives the table's path here."""
    table = os.path.join(cluster.folder, "table.csv")
    write_table(table, 50, 1)
    s3.create_bucket(Bucket="bucket")
    for name in ("train/train.csv", "validation/validation.csv"):
        s3.upload_file(table, "bucket", "data/" + name)
    return table


def has(module):
    return importlib.util.find_spec(module) is not None


def channel(name, uri, **more):
    return {"ChannelName": name, "ContentType": "text/csv",
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri, **more}}}


def training_job(name, bucket, instances=1, rounds=10, **hyperparameters):
    """A request of CreateTrainingJob."""
    return {"TrainingJobName": name, "RoleArn": ROLE,
            "AlgorithmSpecification": {"TrainingImage": XGBOOST, "TrainingInputMode": "File"},
            "HyperParameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": str(rounds),
                                **hyperparameters},
            "InputDataConfig": [channel("train", f"s3://{bucket}/data/train",
                                        S3DataDistributionType="ShardedByS3Key" if instances > 1 else "FullyReplicated"),
                                channel("validation", f"s3://{bucket}/data/validation/validation.csv")],
            "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/output"},
            "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": instances, "VolumeSizeInGB": 30},
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600}}


def tuning_job(name, bucket, jobs=30, parallel=4, strategy="Hyperband", rounds=9):
    """A request of CreateHyperParameterTuningJob."""
    definition = training_job(name, bucket, rounds=rounds)
    definition["StaticHyperParameters"] = definition.pop("HyperParameters")
    del definition["TrainingJobName"]
    config = {"Strategy": strategy,
              "HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "validation:auc"},
              "ResourceLimits": {"MaxNumberOfTrainingJobs": jobs, "MaxParallelTrainingJobs": parallel},
              "ParameterRanges": {"ContinuousParameterRanges": [
                                      {"Name": "eta", "MinValue": "0", "MaxValue": "1", "ScalingType": "Linear"},
                                      {"Name": "alpha", "MinValue": "0", "MaxValue": "2"}],
                                  "IntegerParameterRanges": [{"Name": "max_depth", "MinValue": "1", "MaxValue": "8"}],
                                  "CategoricalParameterRanges": [{"Name": "booster", "Values": ["gbtree", "dart"]}]},
              "TrainingJobEarlyStoppingType": "Off"}
    if strategy == "Hyperband":
        config["StrategyConfig"] = {"HyperbandStrategyConfig": {"MinResource": 1, "MaxResource": rounds}}
    return {"HyperParameterTuningJobName": name, "HyperParameterTuningJobConfig": config,
            "TrainingJobDefinition": definition, "Tags": [{"Key": "project", "Value": "bank"}]}
