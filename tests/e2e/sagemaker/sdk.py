"""A notebook with SageMaker's own Python SDK, version 2: trains on 1 and 2 instances, tunes, attaches, runs a script, and tunes two
algorithms in one job. Prints what came of it as JSON.

Usage: sdk.py FOLDER, which has train-1.csv, train-2.csv, validation.csv and source/train.py; the rest is in the environment that
`winnow sagemaker env` prints.
"""

import json
import os
import sys
import tarfile

import sagemaker
from sagemaker import image_uris
from sagemaker.analytics import HyperparameterTuningJobAnalytics
from sagemaker.estimator import Estimator
from sagemaker.inputs import TrainingInput
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import (CategoricalParameter, ContinuousParameter, HyperbandStrategyConfig, HyperparameterTuner, IntegerParameter,
                             StrategyConfig)

ROLE = "arn:aws:iam::123456789012:role/winnow"


class Notebook:
    def __init__(self, folder):
        self.folder = folder
        self.session = sagemaker.Session()
        self.bucket = self.session.default_bucket()
        for n in (1, 2):
            self.session.upload_data(os.path.join(folder, f"train-{n}.csv"), bucket=self.bucket, key_prefix="bank/train")
        self.session.upload_data(os.path.join(folder, "validation.csv"), bucket=self.bucket, key_prefix="bank/validation")

    def inputs(self, distribution="FullyReplicated"):
        return {"train": TrainingInput(f"s3://{self.bucket}/bank/train", content_type="csv", distribution=distribution),
                "validation": TrainingInput(f"s3://{self.bucket}/bank/validation", content_type="csv")}

    def estimator(self, instances=1):
        return Estimator(image_uris.retrieve("xgboost", "us-east-1", "latest"), ROLE, instance_count=instances, instance_type="ml.m5.xlarge",
                         sagemaker_session=self.session, output_path=f"s3://{self.bucket}/bank/output",
                         hyperparameters={"objective": "binary:logistic", "eval_metric": "auc", "num_round": 20, "tree_method": "exact", "eta": 0.3})

    def train(self, instances):
        trained = self.estimator(instances)
        trained.fit(self.inputs("ShardedByS3Key" if instances > 1 else "FullyReplicated"), job_name=f"bank-{instances}")
        frame = trained.training_job_analytics.dataframe()
        return {"model": trained.model_data, "metrics": sorted(set(frame["metric_name"])), "least": float(frame["value"].min())}

    def tune(self):
        tuner = HyperparameterTuner(
            self.estimator(), "validation:auc",
            {"eta": ContinuousParameter(0, 1), "max_depth": IntegerParameter(1, 8), "booster": CategoricalParameter(["gbtree", "dart"])},
            strategy="Hyperband", strategy_config=StrategyConfig(hyperband_strategy_config=HyperbandStrategyConfig(max_resource=9, min_resource=1)),
            early_stopping_type="Off", max_jobs=8, max_parallel_jobs=4)
        tuner.fit(self.inputs(), job_name="bank-tuning", include_cls_metadata=False)
        attached = HyperparameterTuner.attach("bank-tuning")
        frame = HyperparameterTuningJobAnalytics("bank-tuning").dataframe()
        best = attached.best_training_job()
        chosen = attached.best_estimator()
        sagemaker.s3.S3Downloader.download(chosen.model_data, self.folder)
        with tarfile.open(os.path.join(self.folder, "model.tar.gz")) as tar, open(os.path.join(self.folder, "best.model"), "wb") as file:
            file.write(tar.extractfile("xgboost-model").read())
        return {"values": frame["FinalObjectiveValue"].tolist(), "eta": chosen.hyperparameters()["eta"],
                "best_value": float(frame[frame["TrainingJobName"] == best]["FinalObjectiveValue"].iloc[0]),
                "seconds": float(frame["TrainingElapsedTimeSeconds"].mean())}

    def script(self):
        trained = PyTorch("train.py", source_dir=os.path.join(self.folder, "source"), role=ROLE, framework_version="1.13", py_version="py39",
                          instance_count=2, instance_type="ml.c5.xlarge", hyperparameters={"epochs": 2, "lr": 0.5},
                          sagemaker_session=self.session, metric_definitions=[{"Name": "accuracy", "Regex": "accuracy=([0-9.]+)"}],
                          output_path=f"s3://{self.bucket}/torch", code_location=f"s3://{self.bucket}/torch")
        trained.fit({"train": TrainingInput(f"s3://{self.bucket}/bank/train", distribution="ShardedByS3Key")}, job_name="torch-script")
        return {"model": trained.model_data, "metrics": sorted(set(trained.training_job_analytics.dataframe()["metric_name"]))}

    def tune_two(self):
        """Two algorithms in one tuning job."""
        tuner = HyperparameterTuner.create(
            estimator_dict={"shallow": self.estimator(), "deep": self.estimator()},
            objective_metric_name_dict={"shallow": "validation:auc", "deep": "validation:auc"},
            hyperparameter_ranges_dict={"shallow": {"eta": ContinuousParameter(0.1, 0.5), "max_depth": IntegerParameter(1, 2)},
                                        "deep": {"alpha": ContinuousParameter(0, 2), "max_depth": IntegerParameter(5, 8)}},
            strategy="Random", max_jobs=6, max_parallel_jobs=2)
        tuner.fit(inputs={"shallow": self.inputs(), "deep": self.inputs()}, job_name="several",
                  include_cls_metadata={"shallow": False, "deep": False})
        attached = HyperparameterTuner.attach("several", estimator_cls={"shallow": "sagemaker.estimator.Estimator", "deep": "sagemaker.estimator.Estimator"})
        frame = attached.analytics().dataframe()
        return {"names": sorted(attached.estimator_dict), "best": attached.best_training_job(), "status": attached.describe()[
            "HyperParameterTuningJobStatus"], "rows": json.loads(frame.to_json(orient="records"))}


def main(folder, *more):
    notebook = Notebook(folder)
    said = {"version": sagemaker.__version__, "bucket": notebook.bucket, "one": notebook.train(1), "two": notebook.train(2),
            "tuning": notebook.tune()}
    if "torch" in more:
        said["script"] = notebook.script()
    if "two" in more:
        said["several"] = notebook.tune_two()
    with open(os.path.join(folder, "said.json"), "w", encoding="utf-8") as file:
        json.dump(said, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
