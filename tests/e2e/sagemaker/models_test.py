"""Every answer and error of CloudWatch (in each of its protocols), Logs, STS, IAM and S3 is as botocore models it."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import datetime  # noqa: E402
import http.client  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import unittest  # noqa: E402
import urllib.error  # noqa: E402
import urllib.parse  # noqa: E402
import urllib.request  # noqa: E402
from unittest import mock  # noqa: E402

import botocore.auth  # noqa: E402
import botocore.awsrequest  # noqa: E402
import botocore.credentials  # noqa: E402
import botocore.serialize  # noqa: E402
import botocore.session  # noqa: E402
from botocore.exceptions import ClientError  # noqa: E402

import processes  # noqa: E402
import shapes  # noqa: E402

PROTOCOLS = ("cbor", "json", "query")
BODIES = {"GetObject"}  # whose answer is an object


@unittest.skipUnless(sagemaker_clients.has_current_model(), "the boto3 of this machine is older than the endpoint")
class Models(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(sagemaker_clients.Endpoint())
        self.seen, self.wrong = {}, []

    def look(self, service, protocol, model, status, headers, content, code):
        """Compares an answer; `code`: of an error, as clients see it."""
        self.seen.setdefault((service, protocol), set()).add(code or model.name)
        if status >= 300:
            # An answer to HEAD has no body.
            found = shapes.error_differences(protocol, model, content, headers, code) if content else []
        elif protocol == "cbor":
            found = shapes.differences(model.output_shape, shapes.of_cbor(content))
        elif protocol == "json":
            found = shapes.differences(model.output_shape, json.loads(content))
        elif protocol == "query":
            found = shapes.query_differences(model, content)
        else:
            found = [] if model.name in BODIES else shapes.s3_differences(model, content)
        self.wrong += [f"{service}, {protocol}, {model.name}: {each}" for each in found]

    def client(self, service):
        client = self.cluster.boto3(service)

        def after(http_response, parsed, model, **_):
            kind = http_response.headers.get("Content-Type", "")
            protocol = ("rest-xml" if service == "s3" else "cbor" if "cbor" in kind else "json" if "json" in kind else "query")
            content = b"" if model.name in BODIES and http_response.status_code < 300 else http_response.content
            self.look(service, protocol, model, http_response.status_code, http_response.headers, content, parsed.get("Error", {}).get("Code"))

        client.meta.events.register("after-call", after)
        return client

    def refused(self, code, call, **request):
        with self.assertRaises(ClientError) as caught:
            call(**request)
        self.assertEqual(caught.exception.response["Error"]["Code"], code)

    def over(self, protocol, operation, parameters, code=None):
        """CloudWatch in a protocol that this botocore may not use by itself."""
        model = botocore.session.get_session().get_service_model("cloudwatch").operation_model(operation)
        sent = botocore.serialize.create_serializer({"cbor": "smithy-rpc-v2-cbor"}.get(protocol, protocol), include_validation=False).serialize_to_request(parameters, model)
        body = urllib.parse.urlencode(sent["body"]).encode() if protocol == "query" else sent["body"]
        request = botocore.awsrequest.AWSRequest("POST", self.cluster.url + sent["url_path"], data=body, headers=sent["headers"])
        key = self.cluster.keys[0]
        botocore.auth.SigV4Auth(botocore.credentials.Credentials(key["access_key_id"], key["secret_access_key"]), "monitoring", "us-east-1").add_auth(request)
        prepared = request.prepare()
        try:
            answer = urllib.request.urlopen(urllib.request.Request(prepared.url, data=prepared.body, headers=dict(prepared.headers)))
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            content = answer.read()
            self.assertEqual(answer.status >= 300, code is not None, content)
            self.look("cloudwatch", protocol, model, answer.status, {name.lower(): value for name, value in answer.headers.items()}, content, code)

    def test_metrics_logs_and_identities(self):
        s3, sagemaker = self.cluster.boto3("s3"), self.cluster.boto3("sagemaker")
        s3.create_bucket(Bucket="bucket")
        for name in ("train", "validation"):
            table = os.path.join(self.cluster.folder, name + ".csv")
            sagemaker_clients.write_table(table, 200, 1)
            s3.upload_file(table, "bucket", f"data/{name}/{name}.csv")
        sagemaker.create_training_job(**sagemaker_clients.training_job("watched", "bucket", rounds=3))
        described = processes.wait_until(lambda: (lambda said: said if said["TrainingJobStatus"] == "Completed" else None)(
            sagemaker.describe_training_job(TrainingJobName="watched")), "it has trained")
        metric = {"Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": "validation:auc",
                  "Dimensions": [{"Name": "TrainingJobName", "Value": "watched"}]}
        times = {"StartTime": described["TrainingStartTime"], "EndTime": described["TrainingEndTime"] + datetime.timedelta(minutes=1)}
        statistics = {**metric, **times, "Period": 60, "Statistics": ["Average", "Maximum", "Minimum", "Sum", "SampleCount"]}
        query = {"Id": "auc", "MetricStat": {"Metric": metric, "Period": 1, "Stat": "Maximum"}}
        good = {"GetMetricStatistics": statistics, "GetMetricData": {"MetricDataQueries": [query, {**query, "Id": "more"}], "MaxDatapoints": 1, **times},
                "ListMetrics": {"Dimensions": metric["Dimensions"]}}
        bad = [("InvalidParameterValue", "GetMetricStatistics", {**statistics, "Period": 7}),
               ("InvalidParameterCombination", "GetMetricStatistics", {**statistics, "StartTime": datetime.datetime(2020, 1, 1)}),
               ("MissingParameter", "GetMetricStatistics", {**statistics, "Namespace": ""}),
               ("InvalidNextToken", "GetMetricData", {**good["GetMetricData"], "NextToken": "x"}),
               ("ValidationError", "GetMetricData", {"MetricDataQueries": [{"Id": "a", "Expression": "SUM(METRICS())"}], **times}),
               ("InvalidAction", "PutMetricData", {"Namespace": "a", "MetricData": []})]
        cloudwatch = self.client("cloudwatch")
        methods = {"GetMetricStatistics": cloudwatch.get_metric_statistics, "GetMetricData": cloudwatch.get_metric_data,
                   "ListMetrics": cloudwatch.list_metrics, "PutMetricData": cloudwatch.put_metric_data}
        for operation, request in good.items():
            methods[operation](**request)
            for protocol in PROTOCOLS:
                self.over(protocol, operation, request)
        for code, operation, request in bad:
            if request.get("Namespace") != "":  # which botocore refuses itself
                self.refused(code, methods[operation], **request)
            for protocol in PROTOCOLS:
                self.over(protocol, operation, request, code)
        logs, group = self.client("logs"), {"logGroupName": "/aws/sagemaker/TrainingJobs"}
        logs.describe_log_streams(logStreamNamePrefix="watched/", **group)
        logs.get_log_events(logStreamName="watched/algo-1", **group)
        self.refused("ResourceNotFoundException", logs.get_log_events, logStreamName="other/algo-1", **group)
        self.refused("InvalidParameterException", logs.get_log_events, logStreamName="watched/algo-1", nextToken="x", **group)
        self.client("sts").get_caller_identity()
        self.refused("AccessDenied", self.client("sts").get_session_token)
        self.client("iam").get_role(RoleName="any")
        self.refused("ValidationError", self.client("iam").get_role, RoleName="a b")
        self.refused("AccessDenied", self.client("iam").list_roles)
        self.assertEqual(self.wrong, [])
        errors = {code for code, _, _ in bad}
        self.assertEqual(self.seen, {
            **{("cloudwatch", protocol): set(good) | errors for protocol in PROTOCOLS},
            ("logs", "json"): {"DescribeLogStreams", "GetLogEvents", "ResourceNotFoundException", "InvalidParameterException"},
            ("sts", "query"): {"GetCallerIdentity", "AccessDenied"}, ("iam", "query"): {"GetRole", "ValidationError", "AccessDenied"}})

    def test_buckets_and_objects(self):
        s3, bucket = self.client("s3"), {"Bucket": "bucket"}
        s3.create_bucket(**bucket)
        s3.head_bucket(**bucket)
        s3.list_buckets()
        s3.get_bucket_location(**bucket)
        for key in ("a/1", "a/2", "b"):
            s3.put_object(Key=key, Body=b"0123456789", **bucket)
        s3.get_object(Key="b", **bucket)["Body"].read()
        s3.head_object(Key="b", **bucket)
        s3.list_objects_v2(Delimiter="/", MaxKeys=1, StartAfter="a", **bucket)
        s3.list_objects(Delimiter="/", MaxKeys=1, **bucket)
        s3.copy_object(Key="copy", CopySource={"Bucket": "bucket", "Key": "b"}, **bucket)
        upload = {"Key": "parts", "UploadId": s3.create_multipart_upload(Key="parts", **bucket)["UploadId"], **bucket}
        part = s3.upload_part(PartNumber=1, Body=b"part", **upload)["ETag"]
        s3.list_parts(**upload)
        s3.complete_multipart_upload(MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]}, **upload)
        self.refused("NoSuchUpload", s3.list_parts, **upload)
        s3.abort_multipart_upload(Key="c", UploadId=s3.create_multipart_upload(Key="c", **bucket)["UploadId"], **bucket)
        s3.delete_object(Key="b", **bucket)
        self.refused("NoSuchKey", s3.get_object, Key="b", **bucket)
        self.refused("NoSuchBucket", s3.list_objects_v2, Bucket="other")
        self.refused("BucketNotEmpty", s3.delete_bucket, **bucket)
        self.refused("BucketAlreadyOwnedByYou", s3.create_bucket, **bucket)
        self.refused("InvalidRange", s3.get_object, Key="copy", Range="bytes=99-", **bucket)
        self.refused("PreconditionFailed", s3.get_object, Key="copy", IfMatch='"x"', **bucket)
        self.refused("BadDigest", s3.put_object, Key="bad", Body=b"x", ContentMD5="AAAAAAAAAAAAAAAAAAAAAA==", **bucket)
        self.refused("NotImplemented", s3.get_object_acl, Key="copy", **bucket)
        self.refused("404", s3.head_object, Key="none", **bucket)
        s3.delete_objects(Delete={"Objects": [{"Key": key} for key in ("a/1", "a/2", "copy", "parts")]}, **bucket)
        s3.delete_bucket(**bucket)
        self.assertEqual(self.wrong, [])
        operations = {"ListBuckets", "CreateBucket", "HeadBucket", "DeleteBucket", "GetBucketLocation", "ListObjects", "ListObjectsV2", "PutObject",
                      "GetObject", "HeadObject", "DeleteObject", "DeleteObjects", "CopyObject", "CreateMultipartUpload", "UploadPart", "ListParts",
                      "CompleteMultipartUpload", "AbortMultipartUpload"}
        self.assertEqual({name for name in self.seen[("s3", "rest-xml")] if name in operations}, operations)

    def test_every_error_of_s3(self):
        s3, bucket = self.client("s3"), {"Bucket": "bucket"}
        s3.create_bucket(**bucket)
        s3.put_object(Key="k", Body=b"0123456789", **bucket)
        upload = {"Key": "parts", "UploadId": s3.create_multipart_upload(Key="parts", **bucket)["UploadId"], **bucket}
        parts = [{"PartNumber": n, "ETag": s3.upload_part(PartNumber=n, Body=b"small", **upload)["ETag"]} for n in (1, 2)]

        def complete(listed):
            return {"MultipartUpload": {"Parts": listed}, **upload}

        of_sdk = [("AccessDenied", s3.list_objects_v2, {"ExpectedBucketOwner": "999999999999", **bucket}),
                  ("BadDigest", s3.put_object, {"Key": "bad", "Body": b"x", "ContentMD5": "AAAAAAAAAAAAAAAAAAAAAA==", **bucket}),
                  ("BucketAlreadyOwnedByYou", s3.create_bucket, bucket),
                  ("BucketNotEmpty", s3.delete_bucket, bucket),
                  ("EntityTooSmall", s3.complete_multipart_upload, complete(parts)),
                  ("InvalidArgument", s3.list_objects_v2, {"MaxKeys": -1, **bucket}),
                  ("InvalidBucketName", s3.create_bucket, {"Bucket": "a..b"}),
                  ("InvalidPart", s3.complete_multipart_upload, complete([{"PartNumber": 1, "ETag": "x"}])),
                  ("InvalidPartOrder", s3.complete_multipart_upload, complete(parts[::-1])),
                  ("InvalidRange", s3.get_object, {"Key": "k", "Range": "bytes=99-", **bucket}),
                  ("KeyTooLongError", s3.put_object, {"Key": "n" * 1025, "Body": b"", **bucket}),
                  ("MalformedXML", s3.complete_multipart_upload, complete([])),
                  ("NoSuchBucket", s3.list_objects_v2, {"Bucket": "other"}),
                  ("NoSuchKey", s3.get_object, {"Key": "none", **bucket}),
                  ("NoSuchUpload", s3.list_parts, {**upload, "UploadId": "none"}),
                  ("NotImplemented", s3.get_object_acl, {"Key": "k", **bucket}),
                  ("PreconditionFailed", s3.get_object, {"Key": "k", "IfMatch": '"x"', **bucket})]
        for code, call, request in of_sdk:
            self.refused(code, call, **request)
            if hasattr(s3.exceptions, code):  # what the service models is an exception of its own
                with self.assertRaises(getattr(s3.exceptions, code)):
                    call(**request)

        # What no SDK sends: a request that is wrong before or after it was signed.
        key, model = self.cluster.keys[0], s3.meta.service_model.operation_model("PutObject")
        statuses = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in s3.meta.service_model.error_shapes if "error" in shape.metadata}

        def raw(code, secret=key["secret_access_key"], key_id=key["access_key_id"], signer=botocore.auth.S3SigV4Auth,
                before=lambda request: None, after=lambda request: None):
            request = botocore.awsrequest.AWSRequest("PUT", self.cluster.url + "/bucket/raw", data=b"0123456789")
            before(request)
            signer(botocore.credentials.Credentials(key_id, secret), "s3", "us-east-1").add_auth(request)
            after(request)
            prepared = request.prepare()
            connection = http.client.HTTPConnection(self.cluster.address)
            connection.request("PUT", prepared.url.removeprefix(self.cluster.url), prepared.body, dict(prepared.headers))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.look("s3", "rest-xml", model, answer.status, answer.headers, content, code)
            self.assertGreaterEqual(answer.status, 400)
            self.assertEqual(answer.status, statuses.get(code, answer.status), content)

        def far_away(*given):
            return botocore.auth.S3SigV4QueryAuth(*given, expires=10_000_000)

        raw("SignatureDoesNotMatch", secret="another secret of some length")
        raw("InvalidAccessKeyId", key_id="NOBODYSACCESSKEY")
        raw("AccessDenied", after=lambda request: request.headers.__delitem__("Authorization"))
        raw("XAmzContentSHA256Mismatch", after=lambda request: setattr(request, "data", b"9876543210"))
        raw("InvalidRequest", signer=botocore.auth.SigV4Auth)  # without the digest of the body
        raw("IncompleteBody", before=lambda request: request.context.update(checksum={"request_algorithm": {"in": "trailer"}}))
        raw("AuthorizationQueryParametersError", signer=far_away, before=lambda request: setattr(request, "data", None))
        raw("EntityTooLarge", after=lambda request: (request.headers.__setitem__("Content-Length", str(65 << 20)), setattr(request, "data", None)))
        with mock.patch.object(botocore.auth, "get_current_datetime", lambda *_, **__: datetime.datetime(2020, 1, 1)):
            raw("RequestTimeTooSkewed")
        self.assertEqual(self.wrong, [])
        sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../server/sagemaker")
        named = set()
        for file in ("s3/object_store.cc", "s3/payload.cc", "s3/s3_service.cc", "wire/signature.cc", "wire/xml.cc"):
            with open(os.path.join(sources, file), encoding="utf-8") as text:
                named |= set(re.findall(r'AwsError\(\s*"([A-Za-z0-9]+)"', text.read()))
        of_others = {"InvalidSignatureException"}
        seen = self.seen[("s3", "rest-xml")]
        self.assertEqual({code for code in named - of_others if code not in seen}, set())
        self.assertLessEqual({"SignatureDoesNotMatch", "InvalidAccessKeyId", "EntityTooLarge"}, seen)


if __name__ == "__main__":
    processes.main()
