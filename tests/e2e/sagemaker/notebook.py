"""The calls of the published notebook, in its order, with boto3 alone. Prints what came of them as JSON.

Usage: notebook.py TRAIN.csv VALIDATION.csv FOLDER; the rest is in AWS's environment variables.
"""

import json
import os
import sys
import tarfile
import time

import boto3
import botocore

# Before botocore 1.31 no variable named the endpoint.
OLD = tuple(map(int, botocore.__version__.split(".")[:2])) < (1, 31)


def client(service):
    return boto3.client(service, **({"endpoint_url": os.environ["AWS_ENDPOINT_URL"]} if OLD else {}))


def main(train, validation, folder):
    s3, sagemaker = client("s3"), client("sagemaker")
    bucket, prefix = "notebook-bucket", "xgboost-bank"
    role = "arn:aws:iam::123456789012:role/service-role/AmazonSageMaker-ExecutionRole"
    image = "811284229777.dkr.ecr.us-east-1.amazonaws.com/xgboost:1"
    s3.create_bucket(Bucket=bucket)
    s3.head_bucket(Bucket=bucket)
    s3.upload_file(train, bucket, f"{prefix}/train/part-1.csv")
    s3.upload_file(train, bucket, f"{prefix}/train/part-2.csv")
    s3.upload_file(train, bucket, f"{prefix}/train/part-3.csv")
    s3.upload_file(validation, bucket, f"{prefix}/validation/validation.csv")
    said = {"boto3": boto3.__version__, "keys": [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]]}

    def channel(name, distribution):
        return {"ChannelName": name, "ContentType": "csv", "CompressionType": "None",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3DataDistributionType": distribution,
                                                "S3Uri": f"s3://{bucket}/{prefix}/{name}"}}}

    static = {"objective": "binary:logistic", "eval_metric": "auc", "tree_method": "exact", "num_round": "9",
              "rate_drop": "0.3"}
    for instances in (1, 3):
        name = f"bank-{instances}-instances"
        sagemaker.create_training_job(
            TrainingJobName=name, RoleArn=role, HyperParameters=static,
            AlgorithmSpecification={"TrainingImage": image, "TrainingInputMode": "File"},
            InputDataConfig=[channel("train", "ShardedByS3Key" if instances > 1 else "FullyReplicated"),
                             channel("validation", "FullyReplicated")],
            OutputDataConfig={"S3OutputPath": f"s3://{bucket}/{prefix}/output"},
            ResourceConfig={"InstanceType": "ml.m4.xlarge", "InstanceCount": instances, "VolumeSizeInGB": 10},
            StoppingCondition={"MaxRuntimeInSeconds": 3600})
        sagemaker.get_waiter("training_job_completed_or_stopped").wait(
            TrainingJobName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 200})
        described = sagemaker.describe_training_job(TrainingJobName=name)
        said[name] = {"status": described["TrainingJobStatus"], "seconds": described["TrainingTimeInSeconds"],
                      "metrics": {each["MetricName"]: each["Value"] for each in described["FinalMetricDataList"]},
                      "model": described["ModelArtifacts"]["S3ModelArtifacts"],
                      "reason": described.get("FailureReason", "")}

    tuning = "bank-tuning"
    sagemaker.create_hyper_parameter_tuning_job(
        HyperParameterTuningJobName=tuning,
        HyperParameterTuningJobConfig={
            "Strategy": "Hyperband", "StrategyConfig": {"HyperbandStrategyConfig": {"MinResource": 1, "MaxResource": 9}},
            "HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "validation:auc"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 30, "MaxParallelTrainingJobs": 4},
            "ParameterRanges": {
                "IntegerParameterRanges": [{"Name": "max_depth", "MinValue": "1", "MaxValue": "10", "ScalingType": "Auto"}],
                "CategoricalParameterRanges": [],
                "ContinuousParameterRanges": [
                    {"Name": "eta", "MinValue": "0", "MaxValue": "1", "ScalingType": "Auto"},
                    {"Name": "colsample_bytree", "MinValue": "0", "MaxValue": "1", "ScalingType": "Auto"},
                    {"Name": "subsample", "MinValue": "0", "MaxValue": "1", "ScalingType": "Auto"},
                    {"Name": "alpha", "MinValue": "0", "MaxValue": "2", "ScalingType": "Auto"}]},
            "TrainingJobEarlyStoppingType": "Off"},
        TrainingJobDefinition={
            "StaticHyperParameters": static, "RoleArn": role,
            "AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "File"},
            "InputDataConfig": [channel("train", "FullyReplicated"), channel("validation", "FullyReplicated")],
            "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/{prefix}/output"},
            "HyperParameterTuningResourceConfig": {"InstanceType": "ml.m4.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 10},
            "StoppingCondition": {"MaxRuntimeInSeconds": 43200}},
        Tags=[{"Key": "project", "Value": "bank"}])
    while True:
        described = sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName=tuning)
        if described["HyperParameterTuningJobStatus"] not in ("InProgress", "Stopping"):
            break
        time.sleep(0.5)  # as notebooks do
    rows = []
    pages = sagemaker.get_paginator("list_training_jobs_for_hyper_parameter_tuning_job")
    for page in pages.paginate(HyperParameterTuningJobName=tuning, SortBy="FinalObjectiveMetricValue",
                               SortOrder="Descending", PaginationConfig={"PageSize": 7}):
        rows += [{"name": each["TrainingJobName"], "status": each["TrainingJobStatus"],
                  "objective": each["FinalHyperParameterTuningJobObjectiveMetric"]["Value"],
                  "seconds": (each["TrainingEndTime"] - each["TrainingStartTime"]).total_seconds(),
                  **each["TunedHyperParameters"]} for each in page["TrainingJobSummaries"]]
    best = described["BestTrainingJob"]
    of_best = sagemaker.describe_training_job(TrainingJobName=best["TrainingJobName"])
    model = of_best["ModelArtifacts"]["S3ModelArtifacts"]
    said["tuning"] = {"status": described["HyperParameterTuningJobStatus"], "rows": rows,
                      "counters": described["TrainingJobStatusCounters"], "best": best["TrainingJobName"],
                      "value": best["FinalHyperParameterTuningJobObjectiveMetric"]["Value"], "model": model,
                      "static": described["TrainingJobDefinition"]["StaticHyperParameters"],
                      "hyperparameters": of_best["HyperParameters"]}
    for name, uri in (("best", model), ("three", said["bank-3-instances"]["model"])):
        archive = os.path.join(folder, name + ".tar.gz")
        at, key = uri[len("s3://"):].split("/", 1)
        s3.download_file(at, key, archive)
        with tarfile.open(archive) as tar:
            with open(os.path.join(folder, name + ".model"), "wb") as file:
                file.write(tar.extractfile("xgboost-model").read())
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
