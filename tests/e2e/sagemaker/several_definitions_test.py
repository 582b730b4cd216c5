"""A tuning job with several training job definitions: an algorithm and ranges for each, one number of training jobs for all."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import os  # noqa: E402
import unittest  # noqa: E402

from botocore.exceptions import ClientError  # noqa: E402

import processes  # noqa: E402


def definition(name, ranges, metric="validation:auc", rounds=5, **static):
    request = sagemaker_clients.tuning_job("unused", "bucket", strategy="Random", rounds=rounds)["TrainingJobDefinition"]
    request["StaticHyperParameters"].update(static)
    return {**request, "DefinitionName": name, "TuningObjective": {"Type": "Maximize", "MetricName": metric}, "HyperParameterRanges": ranges}


DEPTHS = {"IntegerParameterRanges": [{"Name": "max_depth", "MinValue": "1", "MaxValue": "3"}]}
ETAS = {"ContinuousParameterRanges": [{"Name": "eta", "MinValue": "0.1", "MaxValue": "0.9"}]}


def request(name, definitions, jobs, parallel, **config):
    return {"HyperParameterTuningJobName": name, "TrainingJobDefinitions": definitions, "HyperParameterTuningJobConfig": {
        "Strategy": "Random", "ResourceLimits": {"MaxNumberOfTrainingJobs": jobs, "MaxParallelTrainingJobs": parallel}, **config}}


@unittest.skipUnless(sagemaker_clients.has_current_model(), "the boto3 of this machine is older than the endpoint")
class SeveralDefinitions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(sagemaker_clients.Endpoint(slots=2))
        cls.sagemaker, s3 = cls.cluster.boto3("sagemaker"), cls.cluster.boto3("s3")
        s3.create_bucket(Bucket="bucket")
        for name in ("train", "validation"):
            table = os.path.join(cls.cluster.folder, name + ".csv")
            sagemaker_clients.write_table(table, 300, len(name))
            s3.upload_file(table, "bucket", f"data/{name}/{name}.csv")

    def ended(self, name):
        return processes.wait_until(lambda: (lambda said: said if said["HyperParameterTuningJobStatus"] not in ("InProgress", "Stopping") else None)(
            self.sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName=name)), f"{name} ends")

    def children(self, name):
        return self.sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(
            HyperParameterTuningJobName=name, SortBy="FinalObjectiveMetricValue", SortOrder="Descending", MaxResults=100)["TrainingJobSummaries"]

    def test_definitions_share_the_training_jobs_and_the_best_is_that_of_all(self):
        # The first has only three combinations; what it cannot use is for the second. One runs at a time, so the second waits.
        self.sagemaker.create_hyper_parameter_tuning_job(**request(
            "two", [definition("depths", DEPTHS, booster="dart"), definition("etas", ETAS)], jobs=8, parallel=1))
        self.cluster.restart()  # in the middle
        described = self.ended("two")
        self.assertEqual(described["HyperParameterTuningJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual([each["DefinitionName"] for each in described["TrainingJobDefinitions"]], ["depths", "etas"])
        self.assertEqual(described["TrainingJobDefinitions"][0]["StaticHyperParameters"]["_tuning_objective_metric"], "validation:auc")
        children = self.children("two")
        self.assertEqual(len(children), 8)
        self.assertEqual(sorted(each["TunedHyperParameters"]["max_depth"] for each in children if each["TrainingJobDefinitionName"] == "depths"),
                         ["1", "2", "3"])
        self.assertTrue(all(set(each["TunedHyperParameters"]) == {"eta"} for each in children if each["TrainingJobDefinitionName"] == "etas"))
        self.assertEqual(len({each["TrainingJobName"] for each in children}), 8)
        best = described["BestTrainingJob"]
        self.assertEqual(best["TrainingJobName"], children[0]["TrainingJobName"])
        self.assertEqual(described["TrainingJobStatusCounters"]["Completed"], 8)
        for child in children:
            of = self.sagemaker.describe_training_job(TrainingJobName=child["TrainingJobName"])
            self.assertEqual("dart" == of["HyperParameters"].get("booster"), child["TrainingJobDefinitionName"] == "depths")
        objects = self.cluster.boto3("s3").list_objects_v2(Bucket="bucket", Prefix=f"output/{best['TrainingJobName']}/")["Contents"]
        self.assertEqual([each["Key"] for each in objects], [f"output/{best['TrainingJobName']}/output/model.tar.gz"])
        jobs = {name: self.cluster.client.json("describe", "two-" + name) for name in ("depths", "etas")}
        self.assertGreaterEqual(jobs["etas"]["create_time"], jobs["depths"]["end_time"])  # one at a time
        # A warm start finds the definition of its name.
        self.sagemaker.create_hyper_parameter_tuning_job(
            **request("again", [definition("etas", ETAS)], jobs=2, parallel=2),
            WarmStartConfig={"ParentHyperParameterTuningJobs": [{"HyperParameterTuningJobName": "two"}], "WarmStartType": "IdenticalDataAndAlgorithm"})
        self.assertEqual(self.ended("again")["HyperParameterTuningJobStatus"], "Completed")
        self.assertIn("5", self.cluster.client.json("describe", "again")["warm_start_text"])
        self.sagemaker.delete_hyper_parameter_tuning_job(HyperParameterTuningJobName="two")
        of = self.sagemaker.describe_training_job(TrainingJobName=children[0]["TrainingJobName"])
        self.assertEqual("dart" == of["HyperParameters"].get("booster"), children[0]["TrainingJobDefinitionName"] == "depths")

    def test_a_target_and_a_stop_end_all_definitions(self):
        self.sagemaker.create_hyper_parameter_tuning_job(**request(
            "target", [definition("a", ETAS), definition("b", ETAS)], jobs=400, parallel=2,
            TuningJobCompletionCriteria={"TargetObjectiveMetricValue": 0.1}))
        self.assertEqual(self.ended("target")["HyperParameterTuningJobStatus"], "Completed")
        self.assertLess(len(self.children("target")), 100)
        self.sagemaker.create_hyper_parameter_tuning_job(**request(
            "stopped", [definition(name, ETAS, rounds=200) for name in "abc"], jobs=600, parallel=2))
        processes.wait_until(lambda: self.children("stopped"), "a training job has begun")
        self.sagemaker.stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="stopped")
        self.assertEqual(self.ended("stopped")["HyperParameterTuningJobStatus"], "Stopped")
        states = [each["state"] for each in self.cluster.client.json("list")["jobs"] if each["spec"]["name"].startswith("stopped-")]
        self.assertEqual(states, ["STOPPED", "STOPPED"])  # the third never began

    def test_wrong_definitions_are_refused(self):
        two = [definition("a", ETAS), definition("b", ETAS)]
        cases = [([{name: value for name, value in two[0].items() if name != "DefinitionName"}, two[1]], {}, "needs a DefinitionName"),
                 ([two[0], two[0]], {}, "is given to two TrainingJobDefinitions"),
                 ([two[0], {**two[1], "TuningObjective": {"Type": "Minimize", "MetricName": "validation:error"}}], {}, "expected the same Type"),
                 ([two[0], {**two[1], "TuningObjective": {"Type": "Maximize", "MetricName": "auc"}}], {}, "expected validation:METRIC"),
                 (two, {"ResourceLimits": {"MaxNumberOfTrainingJobs": 1, "MaxParallelTrainingJobs": 1}}, "at least one for each"),
                 ([definition("a", DEPTHS), definition("b", DEPTHS)], {"ResourceLimits": {"MaxNumberOfTrainingJobs": 7, "MaxParallelTrainingJobs": 1}},
                  "enough combinations")]
        for definitions, config, text in cases:
            with self.subTest(text=text), self.assertRaises(ClientError) as caught:
                self.sagemaker.create_hyper_parameter_tuning_job(**request("never", definitions, 4, 2, **config))
            self.assertIn(text, caught.exception.response["Error"]["Message"])
            self.assertEqual(caught.exception.response["Error"]["Code"], "ValidationException")


if __name__ == "__main__":
    processes.main()
