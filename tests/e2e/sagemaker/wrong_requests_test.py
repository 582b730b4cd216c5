"""Wrong requests of every operation, made from botocore's own model: each field missing, of another type, too long, too short,
badly patterned, beyond its bounds, or not of its enumeration."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import http.client  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import unittest  # noqa: E402
import unittest.mock  # noqa: E402

import botocore.auth  # noqa: E402
import botocore.awsrequest  # noqa: E402
import botocore.credentials  # noqa: E402
import botocore.parsers  # noqa: E402
import botocore.session  # noqa: E402
import processes  # noqa: E402

OPERATIONS = ["CreateTrainingJob", "DescribeTrainingJob", "ListTrainingJobs", "StopTrainingJob", "DeleteTrainingJob",
              "CreateHyperParameterTuningJob", "DescribeHyperParameterTuningJob", "ListHyperParameterTuningJobs",
              "ListTrainingJobsForHyperParameterTuningJob", "StopHyperParameterTuningJob", "DeleteHyperParameterTuningJob",
              "AddTags", "ListTags", "DeleteTags"]
# Members that have no effect here, whatever they say (docs/sagemaker.md).
WITHOUT_EFFECT = {
    "DebugHookConfig", "DebugRuleConfigurations", "TensorBoardOutputConfig", "ExperimentConfig", "ProfilerConfig",
    "ProfilerRuleConfigurations", "RemoteDebugConfig", "InfraCheckConfig", "SessionChainingConfig", "ServerlessJobConfig",
    "MlflowConfig", "ModelPackageConfig", "TrainingImageConfig", "InstancePlacementConfig", "TrainingPlanArn",
    "TrainingPlanArnEquals", "ModelAccessConfig", "HubAccessConfig", "DatasetSource", "InstanceGroupNames"}
TEXTS = ["job-1", "arn:aws:iam::123456789012:role/winnow", "s3://bucket/key", "fs-12345678", "name",
         "arn:aws:sagemaker:us-east-1:123456789012:training-job/x", "NAME"]


def path_of(path, name):
    name = name[0].lower() + name[1:]
    return f"{path}.{name}" if path else name


class Sample:
    """A request with all members, and what may be wrong with it."""

    def __init__(self, shape):
        self.cases = []  # (what, request, code, texts of the message)
        self.request = self.value(shape)
        self.walk(shape, self.request, "", lambda changed: changed)

    def value(self, shape):
        kind = shape.type_name
        if kind == "structure":
            return {name: self.value(member) for name, member in shape.members.items() if name not in WITHOUT_EFFECT}
        if kind == "list":
            return [self.value(shape.member)] * max(1, shape.metadata.get("min", 0))
        if kind == "map":
            return {"NAME": self.value(shape.value)}
        if kind == "string":
            if shape.enum:
                return shape.enum[0]
            return next(text for text in TEXTS if self.fits(shape, text))
        if kind == "boolean":
            return True
        if kind == "timestamp":
            return 1700000000
        return max(1, shape.metadata.get("min", 1))

    @staticmethod
    def fits(shape, text):
        return (shape.metadata.get("min", 0) <= len(text) <= shape.metadata.get("max", 1 << 30)
                and (not Sample.pattern(shape) or re.fullmatch(Sample.pattern(shape), text)))

    @staticmethod
    def pattern(shape):
        """What Python reads of the model's pattern; "" for what it cannot read."""
        pattern = shape.metadata.get("pattern", "")
        return "" if r"\p{" in pattern or pattern == ".*" else pattern

    def add(self, what, put, value, code, *texts):
        self.cases.append((what, put(value), code, texts))

    def walk(self, shape, value, path, put):
        kind = shape.type_name
        valid, types = "ValidationException", "SerializationException"
        if path:
            self.add(f"{path} has another type", put, 7 if kind in ("string", "boolean", "list", "map", "structure") else "x", types, path)
        for least, most, made in ((shape.metadata.get("min"), shape.metadata.get("max"), self.resized(shape, value)),):
            if kind in ("integer", "long"):
                if least is not None:
                    self.add(f"{path} is too small", put, least - 1, valid, f"'{path}'", f"value greater than or equal to {least}")
                if most is not None:
                    self.add(f"{path} is too large", put, most + 1, valid, f"'{path}'", f"value less than or equal to {most}")
            elif made is not None:
                if least:
                    self.add(f"{path} is too short", put, made(least - 1), valid, f"'{path}'", f"length greater than or equal to {least}")
                if most is not None and most < 10_000:
                    self.add(f"{path} is too long", put, made(most + 1), valid, f"'{path}'", f"length less than or equal to {most}")
        if kind == "string" and shape.enum:
            self.add(f"{path} is not of its enumeration", put, "Nonsense", valid, f"Value 'Nonsense' at '{path}'", "Member must satisfy enum value set: [")
        elif kind == "string" and self.pattern(shape):
            for text in ("_-_", "a b!", "\x01" * 30):
                if shape.metadata.get("min", 0) <= len(text) <= shape.metadata.get("max", 1 << 30) and not re.fullmatch(self.pattern(shape), text):
                    self.add(f"{path} has a bad pattern", put, text, valid, f"'{path}'", "Member must satisfy regular expression pattern: ")
                    break
        if kind == "structure":
            for name, member in shape.members.items():
                if name in WITHOUT_EFFECT:
                    continue
                under = path_of(path, name)
                if name in shape.required_members:
                    self.add(f"{under} is missing", put, {each: of for each, of in value.items() if each != name}, valid,
                             f"Value null at '{under}' failed to satisfy constraint: Member must not be null")
                self.walk(member, value[name], under, lambda changed, name=name: put({**value, name: changed}))
        elif kind == "list":
            self.walk(shape.member, value[0], f"{path}.1.member", lambda changed: put([changed] + value[1:]))
        elif kind == "map":
            self.walk(shape.value, value["NAME"], f"{path}.NAME.value", lambda changed: put({"NAME": changed}))
            if self.pattern(shape.key):
                self.add(f"{path} has a bad key", put, {"a b": value["NAME"]}, valid, f"'{path}.key'", "regular expression")

    @staticmethod
    def resized(shape, value):
        if shape.type_name == "string" and not shape.enum:
            return lambda size: "a" * size
        if shape.type_name == "list":
            return lambda size: (value * (size + 1))[:size]
        if shape.type_name == "map":
            return lambda size: {f"n{n}": value["NAME"] for n in range(size)}
        return None


@unittest.skipUnless(sagemaker_clients.has_current_model(), "the boto3 of this machine is older than the endpoint")
class WrongRequests(unittest.TestCase):
    def test_of_every_operation_are_refused_with_the_error_that_clients_match(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0))
        model = botocore.session.get_session().get_service_model("sagemaker")
        credentials = botocore.credentials.Credentials(cluster.keys[0]["access_key_id"], cluster.keys[0]["secret_access_key"])
        signer = botocore.auth.SigV4Auth(credentials, "sagemaker", "us-east-1")
        parser = botocore.parsers.create_parser("json")
        connection = http.client.HTTPConnection(cluster.address)
        self.addCleanup(connection.close)

        def call(operation, request):
            signed = botocore.awsrequest.AWSRequest("POST", cluster.url + "/", data=json.dumps(request).encode(), headers={
                "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "SageMaker." + operation, "Host": cluster.address})
            signer.add_auth(signed)
            connection.request("POST", "/", signed.data, dict(signed.headers))
            answer = connection.getresponse()
            body = answer.read()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, parser.parse({"status_code": answer.status, "headers": headers, "body": body},
                                               model.operation_model(operation).output_shape)

        wrong, count = [], 0
        for operation in OPERATIONS:
            if operation not in model.operation_names:  # of an old botocore
                continue
            for what, request, code, texts in Sample(model.operation_model(operation).input_shape).cases:
                status, answer = call(operation, request)
                count += 1
                error = answer.get("Error", {})
                if status != 400 or error.get("Code") != code or not all(text in error["Message"] for text in texts):
                    wrong.append(f"{operation}: {what}: {status} {error}; expected {code} with {texts}")
        self.assertFalse(wrong, f"{len(wrong)} of {count} requests:\n" + "\n".join(wrong))
        self.assertGreaterEqual(count, 200)
        self.assertNotIn("job-1", json.dumps(cluster.client.json("list")))

    def test_a_body_that_is_nested_without_end_is_refused_and_the_server_goes_on(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0))
        signer = botocore.auth.SigV4Auth(botocore.credentials.Credentials(
            cluster.keys[0]["access_key_id"], cluster.keys[0]["secret_access_key"]), "sagemaker", "us-east-1")
        depth = 200_000
        for begin, end in ((b'{"a":', b"}"), (b"[", b"]")):
            signed = botocore.awsrequest.AWSRequest("POST", cluster.url + "/", data=b'{"a":' + begin * depth + b"1" + end * depth + b"}", headers={
                "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "SageMaker.ListTags", "Host": cluster.address})
            signer.add_auth(signed)
            connection = http.client.HTTPConnection(cluster.address)
            self.addCleanup(connection.close)
            connection.request("POST", "/", signed.data, dict(signed.headers))
            answer = connection.getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())["__type"]), (400, "SerializationException"))
        self.assertTrue(cluster.server.alive())


class OddRequests(unittest.TestCase):
    """With any boto3."""

    def endpoint(self, workers):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=workers))
        sagemaker_clients.put_tables(cluster, cluster.boto3("s3"))
        return cluster

    def test_what_is_null_within_a_list_is_absent(self):
        cluster = self.endpoint(workers=0)
        request = sagemaker_clients.tuning_job("nulls", "bucket")
        request["Tags"] = [None]
        definition = {**request.pop("TrainingJobDefinition"), "EnableManagedSpotTraining": None, "CheckpointConfig": None}
        request["TrainingJobDefinitions"] = [definition]
        signed = botocore.awsrequest.AWSRequest("POST", cluster.url + "/", data=json.dumps(request).encode(), headers={
            "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "SageMaker.CreateHyperParameterTuningJob", "Host": cluster.address})
        botocore.auth.SigV4Auth(botocore.credentials.Credentials(
            cluster.keys[0]["access_key_id"], cluster.keys[0]["secret_access_key"]), "sagemaker", "us-east-1").add_auth(signed)
        connection = http.client.HTTPConnection(cluster.address)
        self.addCleanup(connection.close)
        connection.request("POST", "/", signed.data, dict(signed.headers))
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()[:200]), (200, unittest.mock.ANY))
        cluster.restart()
        described = cluster.boto3("sagemaker").describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="nulls")
        self.assertEqual(described["HyperParameterTuningJobStatus"], "InProgress")

    def test_a_long_reason_is_cut_between_two_characters(self):
        cluster = self.endpoint(workers=0)
        s3, sagemaker = cluster.boto3("s3"), cluster.boto3("sagemaker")
        begins = ("", "a", "ab")  # 1,024 bytes end within a character in two of these cases
        for begin in begins:
            key = begin + "語" * 340
            s3.put_object(Bucket="bucket", Key=key, Body=b"1,2\n")
            request = sagemaker_clients.training_job("long" + begin, "bucket")
            request["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] = "s3://bucket/" + key
            sagemaker.create_training_job(**request)
            s3.delete_object(Bucket="bucket", Key=key)  # so that the reason names it
        cluster.add_worker("late")
        for begin in begins:
            described = processes.wait_until(lambda name="long" + begin: (lambda said: said if said["TrainingJobStatus"] == "Failed" else None)(
                sagemaker.describe_training_job(TrainingJobName=name)), "the job fails")
            self.assertIn(begin + "語" * 100, described["FailureReason"])
            self.assertIn(len(described["FailureReason"].encode()), (1022, 1023, 1024))
        self.assertTrue(cluster.server.alive())


if __name__ == "__main__":
    processes.main()
