"""What the endpoint answers: as botocore models it, to each its own, and to wrong requests with the errors that clients know."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import datetime  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import tarfile  # noqa: E402
import time  # noqa: E402
import unittest  # noqa: E402
import urllib.error  # noqa: E402
import urllib.parse  # noqa: E402
import urllib.request  # noqa: E402
from unittest import mock  # noqa: E402

import botocore.auth  # noqa: E402
import botocore.awsrequest  # noqa: E402
import botocore.credentials  # noqa: E402
import botocore.parsers  # noqa: E402
import botocore.serialize  # noqa: E402
import botocore.session  # noqa: E402
from botocore.exceptions import ClientError  # noqa: E402

import processes  # noqa: E402
from shapes import differences  # noqa: E402

KEYS = [{"access_key_id": f"WNWTESTKEY{number:06}", "secret_access_key": f"secret-of-test-key-{number}",
         "account": f"{number:012}", "name": f"user{number}"} for number in range(1, 4)]


@unittest.skipUnless(sagemaker_clients.has_current_model(), "the boto3 of this machine is older than the endpoint")
class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(sagemaker_clients.Endpoint(keys=KEYS))
        cls.seen, cls.wrong = set(), []
        cls.sagemaker = cls.client()
        cls.s3 = cls.cluster.boto3("s3")
        cls.s3.create_bucket(Bucket="bucket")
        for name, rows in (("train", 800), ("validation", 400)):
            table = os.path.join(cls.cluster.folder, name + ".csv")
            sagemaker_clients.write_table(table, rows, rows)
            cls.s3.upload_file(table, "bucket", f"data/{name}/{name}.csv")

    @classmethod
    def client(cls, key=0, service="sagemaker"):
        client = cls.cluster.boto3(service, key)
        client.meta.events.register("after-call", cls.check_answer)
        return client

    @classmethod
    def check_answer(cls, http_response, parsed, model, **_):
        raw = json.loads(http_response.content or b"{}")
        cls.seen.add((model.name, http_response.status_code))
        if http_response.status_code == 200:
            wrong = differences(model.output_shape, raw) if model.output_shape else [f"{name}: unknown" for name in raw]
        else:
            code = raw.pop("__type", "no __type")
            shapes = [shape for shape in model.error_shapes if shape.name == code]
            wrong = differences(shapes[0], raw) if shapes and shapes[0].members else []
            modelled = code in ("ResourceNotFound", "ResourceInUse", "ResourceLimitExceeded")
            if set(raw) != {"Message" if modelled else "message"}:
                wrong.append(f"an error with {sorted(raw)}")
        cls.wrong += [f"{model.name}: {each}" for each in wrong]
        if not parsed["ResponseMetadata"].get("RequestId"):
            cls.wrong.append(f"{model.name}: no request id")

    def refused(self, code, text, call, **request):
        with self.assertRaises(ClientError) as caught:
            call(**request)
        error = caught.exception.response["Error"]
        self.assertEqual(error["Code"], code, error)
        self.assertIn(text, error["Message"])
        return error["Message"]

    def wait(self, describe, status, **name):
        return processes.wait_until(lambda: (lambda said: said if said[status] not in ("InProgress", "Stopping") else None)(
            describe(**name)), f"{name} ends")

    def object(self, uri, ask, **request):
        """The object's content; nothing, after asking once more, while there is none."""
        bucket, key = uri.removeprefix("s3://").split("/", 1)
        try:
            return self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except self.s3.exceptions.NoSuchKey:
            ask(**request)
            return None

    def check_pages(self, between):
        """Pages of two have what one page has, in every order; `between`: a job that is created between two pages moves none."""
        call = self.sagemaker

        def names(page):
            return [each["TrainingJobName"] for each in page["TrainingJobSummaries"]]

        for by in ("CreationTime", "Name", "Status"):
            for order in ("Ascending", "Descending"):
                sorting = {"SortBy": by, "SortOrder": order}
                paged = [name for page in call.get_paginator("list_training_jobs").paginate(**sorting, PaginationConfig={"PageSize": 2})
                         for name in names(page)]
                self.assertEqual(paged, names(call.list_training_jobs(**sorting, MaxResults=100)))
                self.assertGreaterEqual(len(paged), 5)
        sorting = {"SortBy": "CreationTime", "SortOrder": "Descending"}
        before = names(call.list_training_jobs(**sorting))
        page = call.list_training_jobs(**sorting, MaxResults=2)
        paged = names(page)
        call.create_training_job(**sagemaker_clients.training_job(between, "bucket"))
        while "NextToken" in page:
            page = call.list_training_jobs(**sorting, MaxResults=2, NextToken=page["NextToken"])
            paged += names(page)
        self.assertEqual(paged, before)

    def test_every_answer_is_as_botocore_models_it(self):
        call = self.sagemaker
        request = sagemaker_clients.training_job("single", "bucket")
        arn = call.create_training_job(**request, Tags=[{"Key": "a", "Value": "1"}])["TrainingJobArn"]
        self.assertEqual(arn, "arn:aws:sagemaker:us-east-1:000000000001:training-job/single")
        call.describe_training_job(TrainingJobName="single")
        described = self.wait(call.describe_training_job, "TrainingJobStatus", TrainingJobName="single")
        self.assertEqual(described["TrainingJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual(described["OutputDataConfig"]["KmsKeyId"], "")
        self.assertEqual([each["Status"] for each in described["SecondaryStatusTransitions"]],
                         ["Starting", "Training", "Completed"])
        self.assertEqual(call.add_tags(ResourceArn=arn, Tags=[{"Key": "b", "Value": "2"}])["Tags"],
                         [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
        call.delete_tags(ResourceArn=arn, TagKeys=["a"])
        self.assertEqual(call.list_tags(ResourceArn=arn)["Tags"], [{"Key": "b", "Value": "2"}])

        tuning = sagemaker_clients.tuning_job("tuned", "bucket", jobs=4, strategy="Random", rounds=3)
        call.create_hyper_parameter_tuning_job(**tuning)
        self.refused("ResourceInUse", "already exists", call.create_hyper_parameter_tuning_job, **tuning)
        call.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="tuned")
        described = self.wait(call.describe_hyper_parameter_tuning_job, "HyperParameterTuningJobStatus",
                              HyperParameterTuningJobName="tuned")
        self.assertEqual(described["HyperParameterTuningJobStatus"], "Completed", described.get("FailureReason"))
        self.assertEqual(described["TrainingJobStatusCounters"]["Completed"], 4, described)
        definition = described["TrainingJobDefinition"]
        self.assertEqual(definition["ResourceConfig"]["InstanceType"], "ml.m5.xlarge")
        self.assertTrue(definition["AlgorithmSpecification"]["MetricDefinitions"])
        best = described["BestTrainingJob"]["TrainingJobName"]
        self.assertRegex(best, "^tuned-00[1-4]-[0-9a-f]{8}$")
        child = call.describe_training_job(TrainingJobName=best)
        self.assertEqual(child["TuningJobArn"], described["HyperParameterTuningJobArn"])
        self.assertEqual(child["HyperParameters"]["_tuning_objective_metric"], "validation:auc")
        listed = call.list_training_jobs_for_hyper_parameter_tuning_job(
            HyperParameterTuningJobName="tuned", SortBy="FinalObjectiveMetricValue", SortOrder="Descending", MaxResults=3)
        self.assertEqual([len(listed["TrainingJobSummaries"]), listed["TrainingJobSummaries"][0]["TrainingJobName"]], [3, best])
        rest = call.list_training_jobs_for_hyper_parameter_tuning_job(
            HyperParameterTuningJobName="tuned", SortBy="FinalObjectiveMetricValue", SortOrder="Descending", MaxResults=3,
            NextToken=listed["NextToken"])
        self.assertEqual((len(rest["TrainingJobSummaries"]), "NextToken" in rest), (1, False))
        self.check_pages("between")
        # The model of the best is there by itself, and that of another one when somebody asks where it is.
        other = rest["TrainingJobSummaries"][0]["TrainingJobName"]
        self.assertNotEqual(other, best)
        uri = call.describe_training_job(TrainingJobName=other)["ModelArtifacts"]["S3ModelArtifacts"]
        content = processes.wait_until(lambda: self.object(uri, call.describe_training_job, TrainingJobName=other), "its model is there")
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            self.assertEqual(tar.getnames(), ["xgboost-model"])


        call.create_hyper_parameter_tuning_job(**sagemaker_clients.tuning_job("stopped", "bucket", jobs=500, strategy="Bayesian", rounds=200))
        call.stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="stopped")
        described = self.wait(call.describe_hyper_parameter_tuning_job, "HyperParameterTuningJobStatus",
                              HyperParameterTuningJobName="stopped")
        self.assertEqual(described["HyperParameterTuningJobStatus"], "Stopped")
        self.refused("ValidationException", "already", call.stop_hyper_parameter_tuning_job, HyperParameterTuningJobName="stopped")
        call.create_training_job(**sagemaker_clients.training_job("long", "bucket", rounds=100_000))
        self.refused("ResourceInUse", "not in a terminal state", call.delete_training_job, TrainingJobName="long")
        call.stop_training_job(TrainingJobName="long")
        self.assertEqual(self.wait(call.describe_training_job, "TrainingJobStatus", TrainingJobName="long")["TrainingJobStatus"], "Stopped")
        self.refused("ValidationException", "in status Stopped", call.stop_training_job, TrainingJobName="long")
        names = [each["HyperParameterTuningJobName"] for each in
                 call.list_hyper_parameter_tuning_jobs(NameContains="TUNE", SortBy="CreationTime")["HyperParameterTuningJobSummaries"]]
        self.assertEqual(names, ["tuned"])
        names = [each["TrainingJobName"] for each in call.list_training_jobs(StatusEquals="Stopped", NameContains="long")["TrainingJobSummaries"]]
        self.assertEqual(names, ["long"])
        call.delete_hyper_parameter_tuning_job(HyperParameterTuningJobName="tuned")
        self.refused("ResourceNotFound", "can't find a tuning job called tuned", call.describe_hyper_parameter_tuning_job,
                     HyperParameterTuningJobName="tuned")
        self.assertEqual(call.describe_training_job(TrainingJobName=best)["HyperParameters"], child["HyperParameters"])
        call.delete_training_job(TrainingJobName="single")
        self.refused("ValidationException", "Requested resource not found.", call.describe_training_job, TrainingJobName="single")
        operations = {name for name, status in self.seen if status == 200}
        self.assertEqual(operations, {"CreateTrainingJob", "DescribeTrainingJob", "ListTrainingJobs", "StopTrainingJob",
                                      "DeleteTrainingJob", "CreateHyperParameterTuningJob", "DescribeHyperParameterTuningJob",
                                      "ListHyperParameterTuningJobs", "ListTrainingJobsForHyperParameterTuningJob",
                                      "StopHyperParameterTuningJob", "DeleteHyperParameterTuningJob", "AddTags", "ListTags",
                                      "DeleteTags"})
        self.assertEqual(self.wrong, [])

    def tuned(self, name, jobs, metric="validation:auc", **more):
        """What is said of a tuning job with so many training jobs that has ended."""
        request = {**sagemaker_clients.tuning_job(name, "bucket", jobs=jobs, strategy="Random"), **more}
        request["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]["MetricName"] = metric
        self.sagemaker.create_hyper_parameter_tuning_job(**request)
        return self.wait(self.sagemaker.describe_hyper_parameter_tuning_job, "HyperParameterTuningJobStatus", HyperParameterTuningJobName=name)

    def children(self, name):
        return self.sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(HyperParameterTuningJobName=name, MaxResults=100)["TrainingJobSummaries"]

    def tags_of(self, arn):
        return {tag["Key"]: tag["Value"] for tag in self.sagemaker.list_tags(ResourceArn=arn)["Tags"]}

    def test_training_jobs_begin_with_the_tags_of_their_tuning_job(self):
        said = self.tuned("tagged", 2, Tags=[{"Key": "team", "Value": "vision"}, {"Key": "cost", "Value": "7"}])
        arns = [each["TrainingJobArn"] for each in self.children("tagged")]
        self.assertEqual([self.tags_of(arn) for arn in arns], [{"team": "vision", "cost": "7"}] * 2)
        # Later changes of the one are none of the other.
        self.sagemaker.add_tags(ResourceArn=said["HyperParameterTuningJobArn"], Tags=[{"Key": "team", "Value": "speech"}])
        self.sagemaker.delete_tags(ResourceArn=arns[0], TagKeys=["cost"])
        self.assertEqual([self.tags_of(arn) for arn in arns], [{"team": "vision"}, {"team": "vision", "cost": "7"}])

    def test_the_metrics_that_only_the_image_of_the_service_has(self):
        for metric, direction in (("accuracy", "Maximize"), ("f1", "Maximize"), ("mse", "Minimize")):
            with self.subTest(metric=metric):
                request = sagemaker_clients.tuning_job("by-" + metric, "bucket", jobs=2, strategy="Random")
                request["TrainingJobDefinition"]["StaticHyperParameters"]["eval_metric"] = "error,rmse"
                request["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"] = {
                    "Type": direction, "MetricName": "validation:" + metric}
                self.sagemaker.create_hyper_parameter_tuning_job(**request)
                said = self.wait(self.sagemaker.describe_hyper_parameter_tuning_job, "HyperParameterTuningJobStatus",
                                 HyperParameterTuningJobName="by-" + metric)
                self.assertEqual(said["HyperParameterTuningJobStatus"], "Completed", said.get("FailureReason"))
                self.assertIn("validation:" + metric, [
                    each["Name"] for each in said["TrainingJobDefinition"]["AlgorithmSpecification"]["MetricDefinitions"]])
                best = self.sagemaker.describe_training_job(TrainingJobName=said["BestTrainingJob"]["TrainingJobName"])
                found = {each["MetricName"]: each["Value"] for each in best["FinalMetricDataList"]}
                self.assertEqual(said["BestTrainingJob"]["FinalHyperParameterTuningJobObjectiveMetric"]["Value"],
                                 found["validation:" + metric])
                if metric == "mse":
                    self.assertAlmostEqual(found["validation:mse"], found["validation:rmse"] ** 2, delta=1e-5)
                else:
                    self.assertAlmostEqual(found["validation:" + metric], 1 - found["validation:error"],
                                           delta=1e-6 if metric == "accuracy" else 0.2)

    def test_the_name_of_a_deleted_tuning_job_may_be_used_again(self):
        names, values = [], {}
        for jobs in (5, 2, 3):
            said = self.tuned("again", jobs)
            self.assertEqual(said["TrainingJobStatusCounters"]["Completed"], jobs)
            children = self.children("again")
            self.assertEqual(len(children), jobs)
            self.assertIn(said["BestTrainingJob"]["TrainingJobName"], [each["TrainingJobName"] for each in children])
            self.sagemaker.delete_hyper_parameter_tuning_job(HyperParameterTuningJobName="again")
            names += [each["TrainingJobName"] for each in children]
            values.update({each["TrainingJobName"]: each["FinalHyperParameterTuningJobObjectiveMetric"]["Value"] for each in children})
        # The training jobs of the deleted ones stay as they were.
        self.assertEqual(len(set(names)), 10)
        for name in names:
            described = self.sagemaker.describe_training_job(TrainingJobName=name)
            self.assertTrue(described["TuningJobArn"].endswith("/again"))
            self.assertEqual({each["MetricName"]: each["Value"] for each in described["FinalMetricDataList"]}["validation:auc"], values[name])
        self.assertEqual(self.wrong, [])

    def test_the_overall_best_training_job_may_be_of_a_parent(self):
        def from_parent(kind, parent="parent"):
            return {"WarmStartConfig": {"ParentHyperParameterTuningJobs": [{"HyperParameterTuningJobName": parent}], "WarmStartType": kind}}

        best = self.tuned("parent", 6)["BestTrainingJob"]
        request = sagemaker_clients.tuning_job("weak", "bucket", jobs=1, strategy="Random")["HyperParameterTuningJobConfig"]
        request["ParameterRanges"]["ContinuousParameterRanges"][0].update(MinValue="0", MaxValue="0")  # eta: it learns nothing
        weak = self.tuned("weak", 1, HyperParameterTuningJobConfig=request, **from_parent("IdenticalDataAndAlgorithm"))
        self.assertEqual(weak["OverallBestTrainingJob"], best)
        self.assertEqual(weak["BestTrainingJob"]["TuningJobName"], "weak")
        other = self.tuned("other", 1, **from_parent("TransferLearning"))
        self.assertNotIn("OverallBestTrainingJob", other)
        request = sagemaker_clients.tuning_job("never", "bucket", jobs=1, strategy="Random")
        request["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]["MetricName"] = "validation:aucpr"
        self.refused("ValidationException", "parent tuning job parent is validation:auc; expected validation:aucpr",
                     self.sagemaker.create_hyper_parameter_tuning_job, **request, **from_parent("TransferLearning"))
        self.assertEqual(self.wrong, [])

    def test_the_second_column_of_csv_may_be_weights(self):
        with open(os.path.join(self.cluster.folder, "train.csv"), encoding="ascii") as file:
            rows = [line.split(",", 1) for line in file]
        # A row of weight 0 counts as none.
        for name, lines in (("weighted", [f"{label},{n % 2},{rest}" for n, (label, rest) in enumerate(rows)]),
                            ("half", [f"{label},{rest}" for label, rest in rows[1::2]])):
            self.s3.put_object(Bucket="bucket", Key=f"{name}/train.csv", Body="".join(lines).encode())
            request = sagemaker_clients.training_job(name, "bucket", **({"csv_weights": "1"} if name == "weighted" else {}))
            request["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] = f"s3://bucket/{name}"
            self.sagemaker.create_training_job(**request)
        found = [self.wait(self.sagemaker.describe_training_job, "TrainingJobStatus", TrainingJobName=name) for name in ("weighted", "half")]
        values = [{each["MetricName"]: each["Value"] for each in one.get("FinalMetricDataList", [])} for one in found]
        self.assertEqual([one["TrainingJobStatus"] for one in found], ["Completed"] * 2, found[0].get("FailureReason"))
        self.assertAlmostEqual(values[0]["validation:auc"], values[1]["validation:auc"], delta=0.02)

    def test_autotune_proposes_ranges_and_keeps_what_cannot_be_tuned(self):
        request = sagemaker_clients.tuning_job("auto", "bucket", jobs=2, strategy="Random", rounds=3)
        definition = request["TrainingJobDefinition"]
        hints = {"num_round": "3", "eta": "0.3", "objective": "binary:logistic"}
        definition["StaticHyperParameters"] = {"eval_metric": "auc"}
        ranges = {"AutoParameters": [{"Name": name, "ValueHint": hint} for name, hint in hints.items()],
                  "IntegerParameterRanges": [{"Name": "max_depth", "MinValue": "2", "MaxValue": "4"}]}
        request["HyperParameterTuningJobConfig"]["ParameterRanges"] = ranges
        self.refused("ValidationException", "only with Autotune", self.sagemaker.create_hyper_parameter_tuning_job, **request)
        self.sagemaker.create_hyper_parameter_tuning_job(Autotune={"Mode": "Enabled"}, **request)
        described = self.wait(self.sagemaker.describe_hyper_parameter_tuning_job, "HyperParameterTuningJobStatus", HyperParameterTuningJobName="auto")
        self.assertEqual((described["HyperParameterTuningJobStatus"], described["Autotune"]), ("Completed", {"Mode": "Enabled"}),
                         described.get("FailureReason"))
        tuned = described["BestTrainingJob"]["TunedHyperParameters"]
        self.assertEqual(set(tuned), {"eta", "max_depth"})
        self.assertTrue(0.01 <= float(tuned["eta"]) <= 0.5 and 2 <= int(tuned["max_depth"]) <= 4, tuned)
        spec = self.cluster.client.json("describe", "auto")["spec"]
        self.assertEqual(spec["static_hyperparameters"]["num_round"], "3")

    def call_cloudwatch(self, operation, parameters, form):
        """Over JSON or as a form, which this botocore may not speak by itself: status and parsed answer."""
        model = botocore.session.get_session().get_service_model("cloudwatch").operation_model(operation)
        serializer = botocore.serialize.create_serializer("query" if form else "json", include_validation=False)
        sent = serializer.serialize_to_request(parameters, model)
        body = urllib.parse.urlencode(sent["body"]).encode() if form else sent["body"]
        request = botocore.awsrequest.AWSRequest("POST", self.cluster.url + "/", data=body, headers=sent["headers"])
        key = self.cluster.keys[0]
        credentials = botocore.credentials.Credentials(key["access_key_id"], key["secret_access_key"])
        botocore.auth.SigV4Auth(credentials, "monitoring", "us-east-1").add_auth(request)
        prepared = request.prepare()
        try:
            with urllib.request.urlopen(urllib.request.Request(prepared.url, data=prepared.body, headers=dict(prepared.headers))) as answer:
                status, headers, content = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            status, headers, content = error.code, error.headers, error.read()
            error.close()
        if not form and status == 200:
            self.assertEqual(differences(model.output_shape, json.loads(content)), [])
        parser = botocore.parsers.create_parser("query" if form else "json")
        return status, parser.parse({"status_code": status, "headers": {name.lower(): value for name, value in headers.items()},
                                     "body": content}, model.output_shape)

    def test_metrics_in_each_protocol_logs_and_roles(self):
        self.sagemaker.create_training_job(**sagemaker_clients.training_job("watched", "bucket", rounds=7))
        described = self.wait(self.sagemaker.describe_training_job, "TrainingJobStatus", TrainingJobName="watched")
        final = {each["MetricName"]: each["Value"] for each in described["FinalMetricDataList"]}
        cloudwatch = self.cluster.boto3("cloudwatch")
        metric = {"Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": "validation:auc",
                  "Dimensions": [{"Name": "TrainingJobName", "Value": "watched"}]}
        times = {"StartTime": described["TrainingStartTime"], "EndTime": described["TrainingEndTime"] + datetime.timedelta(minutes=1)}
        asked = {**metric, **times, "Period": 3600, "Statistics": ["Average", "Maximum", "Minimum", "Sum", "SampleCount"]}
        said = cloudwatch.get_metric_statistics(**asked)
        self.assertEqual(sum(point["SampleCount"] for point in said["Datapoints"]), 7)  # two periods if the hour ended meanwhile
        self.assertTrue(all(point["Minimum"] <= point["Average"] <= point["Maximum"] for point in said["Datapoints"]))
        self.assertTrue(any(point["Minimum"] <= final["validation:auc"] <= point["Maximum"] for point in said["Datapoints"]))
        # Each protocol says the same.
        for form in (False, True):
            status, other = self.call_cloudwatch("GetMetricStatistics", asked, form)
            self.assertEqual((status, other["Datapoints"], other["Label"]), (200, said["Datapoints"], said["Label"]))
            status, other = self.call_cloudwatch("GetMetricStatistics", {**asked, "Period": 7}, form)
            self.assertEqual((status, other["Error"]["Code"]), (400, "InvalidParameterValue"))
        for wrong, code in (({"Period": 7}, "InvalidParameterValue"), ({"Statistics": ["Median"]}, "InvalidParameterValue"),
                            ({"EndTime": times["StartTime"]}, "InvalidParameterValue"),
                            ({"Period": 60, "StartTime": datetime.datetime(2020, 1, 1)}, "InvalidParameterCombination")):
            self.refused(code, "", cloudwatch.get_metric_statistics, **{**asked, **wrong})
        self.assertEqual(cloudwatch.get_metric_statistics(**{**asked, "Namespace": "AWS/EC2"})["Datapoints"], [])
        query = {"Id": "auc", "MetricStat": {"Metric": metric, "Period": 3600, "Stat": "Maximum"}}
        data = cloudwatch.get_metric_data(MetricDataQueries=[query, {**query, "Id": "again", "ReturnData": False}], **times)
        self.assertEqual([(each["Id"], each["StatusCode"], max(each["Values"])) for each in data["MetricDataResults"]],
                         [("auc", "Complete", max(point["Maximum"] for point in said["Datapoints"]))])
        self.assertEqual(set(data["MetricDataResults"][0]["Timestamps"]), {point["Timestamp"] for point in said["Datapoints"]})
        self.refused("ValidationError", "expressions are not offered", cloudwatch.get_metric_data,
                     MetricDataQueries=[{"Id": "a", "Expression": "SUM(METRICS())"}], **times)
        self.assertEqual({each["MetricName"] for each in cloudwatch.list_metrics(Dimensions=metric["Dimensions"])["Metrics"]}, set(final))
        self.refused("InvalidAction", "PutMetricData of CloudWatch is not offered", cloudwatch.put_metric_data, Namespace="a", MetricData=[])
        for form in (False, True):
            asked = {"MetricDataQueries": [query], **times}
            self.assertEqual(self.call_cloudwatch("GetMetricData", asked, form)[1]["MetricDataResults"], data["MetricDataResults"])
            self.assertEqual(len(self.call_cloudwatch("ListMetrics", {"Dimensions": metric["Dimensions"]}, form)[1]["Metrics"]), len(final))
        logs = self.client(service="logs")
        group = {"logGroupName": "/aws/sagemaker/TrainingJobs"}
        streams = logs.describe_log_streams(logStreamNamePrefix="watched/", **group)["logStreams"]
        self.assertEqual([each["logStreamName"] for each in streams], ["watched/algo-1"])
        lines, times_ms, token = [], [], {}
        while not token or len(lines) < 1000:  # three at a time
            got = logs.get_log_events(logStreamName="watched/algo-1", limit=3, startFromHead=True, **group, **token)
            lines += [event["message"] for event in got["events"]]
            times_ms += [event["timestamp"] for event in got["events"]]
            if token == {"nextToken": got["nextForwardToken"]}:
                break
            token = {"nextToken": got["nextForwardToken"]}
        self.assertEqual(lines, [event["message"] for event in logs.get_log_events(logStreamName="watched/algo-1", **group)["events"]])
        self.assertEqual(sum("validation-auc:" in line for line in lines), 7)
        # A line has the time at which the server received it.
        self.assertEqual(times_ms, sorted(times_ms))
        self.assertEqual((streams[0]["firstEventTimestamp"], streams[0]["lastEventTimestamp"]), (times_ms[0], times_ms[-1]))
        self.assertGreaterEqual(times_ms[0], streams[0]["creationTime"])
        self.assertLessEqual(times_ms[-1], 1000 * time.time())
        since = logs.get_log_events(logStreamName="watched/algo-1", startTime=times_ms[-1], **group)["events"]
        self.assertEqual([event["message"] for event in since], lines[times_ms.index(times_ms[-1]):])
        self.assertEqual(logs.get_log_events(logStreamName="watched/algo-1", endTime=times_ms[0], **group)["events"], [])
        for wrong, code in (({"logStreamName": "other/algo-1"}, "ResourceNotFoundException"),
                            ({"logStreamName": "watched/algo-1", "nextToken": "x"}, "InvalidParameterException")):
            self.refused(code, "", logs.get_log_events, **group, **wrong)
        self.refused("ResourceNotFoundException", "log group", logs.describe_log_streams, logGroupName="other")
        self.assertEqual(self.cluster.boto3("iam").get_role(RoleName="any")["Role"]["Arn"], f"arn:aws:iam::{KEYS[0]['account']}:role/any")
        self.refused("AccessDenied", "not offered", self.cluster.boto3("iam").list_roles)
        self.assertEqual(self.wrong, [])

    def test_wrong_requests_start_nothing_and_say_why(self):
        call = self.sagemaker.create_training_job
        good = sagemaker_clients.training_job("never", "bucket")

        def with_(path, value):
            request = json.loads(json.dumps(good))
            *way, last = path.split(".")
            at = request
            for step in way:
                at = at[int(step) if step.isdigit() else step]
            if value is None:
                del at[last]
            else:
                at[last] = value
            return request

        cases = [("TrainingJobName", "a_b", "regular expression pattern"), ("TrainingJobName", "x" * 64, "length less than or equal to 63"),
                 ("RoleArn", "arn:aws:iam::1:role/abcdef", "roleArn"),
                 ("AlgorithmSpecification.TrainingInputMode", "Files", "enum value set: [Pipe, File, FastFile]"),
                 ("AlgorithmSpecification.TrainingImage", "other:1", "is not offered here"),
                 ("ResourceConfig.InstanceType", "local", "enum value set: [ml."),
                 ("ResourceConfig.InstanceCount", 65, "expected 1 to 64"),
                 ("StoppingCondition.MaxRuntimeInSeconds", 10_000_000, "less than or equal to"),
                 ("OutputDataConfig.S3OutputPath", "s3://nowhere/x", "nowhere"),
                 ("InputDataConfig.0.DataSource.S3DataSource.S3Uri", "s3://bucket/none", "No S3 objects found under S3 URL"),
                 ("InputDataConfig.0.DataSource.S3DataSource.S3DataType", "ManifestFile", "expected S3Prefix"),
                 ("InputDataConfig.0.ContentType", "application/x-parquet", "expected text/csv or"),
                 ("InputDataConfig.0.ChannelName", "a b", "inputDataConfig.1.member.channelName"),
                 ("HyperParameters.num_round", None, "num_round is required"), ("HyperParameters.num_round", "none", "num_round"),
                 ("HyperParameters.eta", "2", "eta"), ("HyperParameters.unknown", "1", "unknown"),
                 ("StoppingCondition.MaxWaitTimeInSeconds", 7200, "EnableManagedSpotTraining"),
                 ("Environment", {"9": "x"}, "environment.key"), ("Tags", [{"Key": "k#", "Value": ""}], "tags.1.member.key")]
        for path, value, text in cases:
            with self.subTest(path=path, value=value):
                self.refused("ValidationException", text, call, **with_(path, value))
        said = self.refused("ValidationException", "cluster.nodes: is 64", call, **with_("ResourceConfig.InstanceCount", 64))
        self.assertEqual(said.count("cluster.nodes"), 1, said)
        good = sagemaker_clients.tuning_job("never", "bucket")
        call = self.sagemaker.create_hyper_parameter_tuning_job
        config = "HyperParameterTuningJobConfig."
        cases = [("HyperParameterTuningJobName", "x" * 33, "less than or equal to 32"), (config + "Strategy", "Best", "enum value set"),
                 (config + "StrategyConfig", None, "MaxResource parameter is not provided"),
                 (config + "TrainingJobEarlyStoppingType", "Auto", "must be Off"), (config + "Strategy", "Random", "only with the strategy Hyperband"),
                 (config + "HyperParameterTuningJobObjective", None, "A metric is required"),
                 (config + "HyperParameterTuningJobObjective.MetricName", "auc", "expected validation:METRIC"),
                 (config + "ParameterRanges.ContinuousParameterRanges.0.ScalingType", "Logarithmic", "greater than 0"),
                 (config + "ParameterRanges.ContinuousParameterRanges.0.MinValue", "low", "is not a number"),
                 (config + "ParameterRanges.ContinuousParameterRanges.0.MinValue", "3", "greater than its maximum"),
                 (config + "ParameterRanges.IntegerParameterRanges.0.MaxValue", "2.5", "integers"),
                 (config + "ParameterRanges.IntegerParameterRanges.0.Name", "eta", "two ranges"),
                 (config + "ParameterRanges.IntegerParameterRanges.0.Name", "num_round", "both static and tunable"),
                 ("TrainingJobDefinition.StaticHyperParameters.num_round", None, "num_round is required"),
                 (config + "ResourceLimits.MaxRuntimeInSeconds", 10**9, "less than or equal to 15768000"),
                 ("WarmStartConfig", {"ParentHyperParameterTuningJobs": [{"HyperParameterTuningJobName": "no"}],
                                      "WarmStartType": "TransferLearning"}, "can't find a tuning job called no")]
        for path, value, text in cases:
            with self.subTest(path=path, value=value):
                code = "ResourceNotFound" if path == "WarmStartConfig" else "ValidationException"
                self.refused(code, text, call, **with_(path, value))
        self.refused("ValidationException", "CreateEndpoint is not offered", self.sagemaker.create_endpoint, EndpointName="e", EndpointConfigName="c")
        self.refused("ValidationException", "NextToken", self.sagemaker.list_training_jobs, NextToken="@@")
        jobs = self.cluster.client.json("list")
        self.assertNotIn("never", json.dumps(jobs))

    def test_a_wrong_key_a_wrong_clock_and_no_signature_are_refused(self):
        self.refused("InvalidSignatureException", "does not match", self.client_with(secret="x" * 20).list_training_jobs)
        self.refused("UnrecognizedClientException", "invalid", self.client_with(key="UNKNOWNKEY0000001").list_training_jobs)
        late = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=20)
        name = "get_current_datetime" if hasattr(botocore.auth, "get_current_datetime") else None
        if name:
            with mock.patch.object(botocore.auth, name, lambda *_, **__: late.replace(tzinfo=None)):
                self.refused("InvalidSignatureException", "Signature expired", self.sagemaker.list_training_jobs)
                self.refused("RequestTimeTooSkewed", "too large", self.s3.list_buckets)
        for headers in ({"X-Amz-Target": "SageMaker.ListTrainingJobs"}, {}):
            request = urllib.request.Request(self.cluster.url + "/", data=b"{}", headers=headers)
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request)
            self.assertIn(b"not signed", caught.exception.read())
            caught.exception.close()

    def client_with(self, key=KEYS[0]["access_key_id"], secret=KEYS[0]["secret_access_key"]):
        import boto3
        return boto3.client("sagemaker", endpoint_url=self.cluster.url, region_name="us-east-1", aws_access_key_id=key,
                            aws_secret_access_key=secret)

    def test_accounts_do_not_see_each_other(self):
        other, s3 = self.client(1), self.cluster.boto3("s3", 1)
        self.assertEqual(self.cluster.boto3("sts", 1).get_caller_identity()["Account"], KEYS[1]["account"])
        self.assertEqual(s3.list_buckets()["Buckets"], [])
        self.refused("NoSuchBucket", "bucket", s3.list_objects_v2, Bucket="bucket")
        s3.create_bucket(Bucket="bucket")
        self.assertEqual(s3.list_objects_v2(Bucket="bucket")["KeyCount"], 0)
        self.assertEqual(other.list_training_jobs()["TrainingJobSummaries"], [])


if __name__ == "__main__":
    processes.main()
