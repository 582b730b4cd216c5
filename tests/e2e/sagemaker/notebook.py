"""The calls of the published notebook, in its order, with boto3 alone. Prints what came of them as JSON.

Usage: notebook.py TRAIN.csv VALIDATION.csv FOLDER; the rest is in AWS's environment variables.
"""

import datetime
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


def metric_frame(cloudwatch, name, described):
    """The rows of the SDK's TrainingJobAnalytics: seconds since the first value, name, average of a minute."""
    rows = []
    for metric in ("train:auc", "validation:auc"):
        points = cloudwatch.get_metric_statistics(
            Namespace="/aws/sagemaker/TrainingJobs", MetricName=metric, Dimensions=[{"Name": "TrainingJobName", "Value": name}],
            StartTime=described["TrainingStartTime"], EndTime=described["TrainingEndTime"] + datetime.timedelta(minutes=1),
            Period=60, Statistics=["Average"])["Datapoints"]
        first = min(point["Timestamp"] for point in points)
        rows += [{"timestamp": (point["Timestamp"] - first).total_seconds(), "metric_name": metric, "value": point["Average"]}
                 for point in sorted(points, key=lambda point: point["Timestamp"])]
    return rows


def log_lines(logs, name):
    """As Estimator.fit prints them, of all instances."""
    lines = {}
    for stream in logs.describe_log_streams(logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix=name + "/")["logStreams"]:
        token, lines[stream["logStreamName"]] = {}, []
        while True:
            got = logs.get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamName=stream["logStreamName"],
                                      startFromHead=True, **token)
            lines[stream["logStreamName"]] += [event["message"] for event in got["events"]]
            if got["nextForwardToken"] == token.get("nextToken"):
                break
            token = {"nextToken": got["nextForwardToken"]}
    return lines


def main(train, validation, folder):
    s3, sagemaker = client("s3"), client("sagemaker")
    cloudwatch, logs = client("cloudwatch"), client("logs")
    bucket, prefix = "notebook-bucket", "xgboost-bank"
    role = "arn:aws:iam::123456789012:role/service-role/AmazonSageMaker-ExecutionRole"
    image = "811284229777.dkr.ecr.us-east-1.amazonaws.com/xgboost:1"
    s3.create_bucket(Bucket=bucket)
    s3.head_bucket(Bucket=bucket)
    with open(train, encoding="ascii") as file:
        rows = file.readlines()
    for n in range(3):
        part = os.path.join(folder, f"part-{n + 1}.csv")
        with open(part, "w", encoding="ascii") as file:
            file.writelines(rows[n * len(rows) // 3:(n + 1) * len(rows) // 3])
        s3.upload_file(part, bucket, f"{prefix}/train/part-{n + 1}.csv")
    s3.upload_file(validation, bucket, f"{prefix}/validation/validation.csv")
    said = {"boto3": boto3.__version__, "keys": [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"]]}

    def channel(name, distribution):
        return {"ChannelName": name, "ContentType": "csv", "CompressionType": "None",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3DataDistributionType": distribution,
                                                "S3Uri": f"s3://{bucket}/{prefix}/{name}"}}}

    static = {"objective": "binary:logistic", "eval_metric": "auc", "tree_method": "exact", "num_round": "150", "rate_drop": "0.0",
              "eta": "0.3", "colsample_bylevel": "0.5", "colsample_bytree": "0.8"}
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
                      "frame": metric_frame(cloudwatch, name, described), "logs": log_lines(logs, name),
                      "model": described["ModelArtifacts"]["S3ModelArtifacts"],
                      "reason": described.get("FailureReason", "")}

    tuning = "bank-tuning"
    ranges = {"eta": (0, 1), "min_child_weight": (1, 10), "alpha": (0, 2), "colsample_bylevel": (0, 1), "colsample_bytree": (0, 1)}
    static = {name: value for name, value in static.items() if name not in (*ranges, "num_round")}
    sagemaker.create_hyper_parameter_tuning_job(
        HyperParameterTuningJobName=tuning,
        HyperParameterTuningJobConfig={
            "Strategy": "Hyperband", "StrategyConfig": {"HyperbandStrategyConfig": {"MinResource": 1, "MaxResource": 30}},
            "HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "validation:auc"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 30, "MaxParallelTrainingJobs": 4},
            "ParameterRanges": {
                "IntegerParameterRanges": [
                    {"Name": "num_round", "MinValue": "100", "MaxValue": "200", "ScalingType": "Auto"},
                    {"Name": "max_depth", "MinValue": "1", "MaxValue": "10", "ScalingType": "Auto"}],
                "CategoricalParameterRanges": [],
                "ContinuousParameterRanges": [{"Name": name, "MinValue": str(least), "MaxValue": str(most), "ScalingType": "Auto"}
                                              for name, (least, most) in ranges.items()]},
            "TrainingJobEarlyStoppingType": "Off"},
        TrainingJobDefinition={
            "StaticHyperParameters": static, "RoleArn": role,
            "AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "File"},
            "InputDataConfig": [channel("train", "ShardedByS3Key"), channel("validation", "FullyReplicated")],
            "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/{prefix}/output"},
            "HyperParameterTuningResourceConfig": {"InstanceType": "ml.m4.xlarge", "InstanceCount": 3, "VolumeSizeInGB": 10},
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
