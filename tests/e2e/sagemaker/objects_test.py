"""S3 of the endpoint: what SDKs send, and what is left of it when the server is killed."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import datetime  # noqa: E402
import hashlib  # noqa: E402
import os  # noqa: E402
import sqlite3  # noqa: E402
import threading  # noqa: E402
import unittest  # noqa: E402
import urllib.error  # noqa: E402
import urllib.request  # noqa: E402

import botocore.auth  # noqa: E402
import botocore.awsrequest  # noqa: E402
import botocore.credentials  # noqa: E402
from boto3.s3.transfer import TransferConfig  # noqa: E402
from botocore.exceptions import BotoCoreError, ClientError  # noqa: E402

import processes  # noqa: E402

MIB = 1 << 20
SIZE = int(os.environ.get("WINNOW_TEST_OBJECT_MIB", "40")) * MIB


class Objects(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0))
        self.s3 = self.cluster.boto3("s3")
        self.s3.create_bucket(Bucket="bucket")

    def refused(self, code, call, **request):
        with self.assertRaises(ClientError) as caught:
            call(**request)
        self.assertEqual(caught.exception.response["Error"]["Code"], code)

    def files(self):
        """What is on the disk for objects and parts."""
        return [os.path.join(at, name) for at, _, names in
                os.walk(os.path.join(self.cluster.folder, "winnow.db.d", "sagemaker", "objects", "files")) for name in names]

    def test_objects_with_names_of_any_kind_ranges_conditions_and_copies(self):
        s3 = self.s3
        for key in ("a", "a/b", "a/b/../c", "ä ö+&<>%41\x7f", "//x//", "a/" + "n" * 1000, "dir/"):
            etag = s3.put_object(Bucket="bucket", Key=key, Body=key.encode(), Metadata={"who": "me"}, ContentType="text/x")["ETag"]
            got = s3.get_object(Bucket="bucket", Key=key)
            self.assertEqual((got["Body"].read(), got["ETag"], got["Metadata"], got["ContentType"]),
                             (key.encode(), etag, {"who": "me"}, "text/x"))
            self.assertEqual(etag, '"' + hashlib.md5(key.encode()).hexdigest() + '"')
        listed = s3.list_objects_v2(Bucket="bucket")
        keys = [each["Key"] for each in listed["Contents"]]
        self.assertEqual(keys, sorted(keys, key=str.encode))
        self.assertEqual(len(keys), 7)
        pages = [page for page in s3.get_paginator("list_objects_v2").paginate(
            Bucket="bucket", Delimiter="/", PaginationConfig={"PageSize": 1})]
        self.assertEqual([each["Key"] for page in pages for each in page.get("Contents", [])], ["a", "ä ö+&<>%41\x7f"])
        self.assertEqual([each["Prefix"] for page in pages for each in page.get("CommonPrefixes", [])], ["/", "a/", "dir/"])
        s3.put_object(Bucket="bucket", Key="n", Body=b"0123456789")
        for text, expected in (("bytes=2-4", b"234"), ("bytes=7-", b"789"), ("bytes=-3", b"789"), ("bytes=5-99", b"56789")):
            self.assertEqual(s3.get_object(Bucket="bucket", Key="n", Range=text)["Body"].read(), expected)
        self.refused("InvalidRange", s3.get_object, Bucket="bucket", Key="n", Range="bytes=10-")
        self.refused("PreconditionFailed", s3.get_object, Bucket="bucket", Key="n", IfMatch='"x"')
        self.refused("304", s3.get_object, Bucket="bucket", Key="n", IfNoneMatch=s3.head_object(Bucket="bucket", Key="n")["ETag"])
        made = s3.head_object(Bucket="bucket", Key="n")["LastModified"]
        earlier = made - datetime.timedelta(seconds=1)
        self.refused("304", s3.get_object, Bucket="bucket", Key="n", IfModifiedSince=made)
        self.refused("PreconditionFailed", s3.get_object, Bucket="bucket", Key="n", IfUnmodifiedSince=earlier)
        s3.get_object(Bucket="bucket", Key="n", IfModifiedSince=earlier, IfUnmodifiedSince=made)
        self.refused("404", s3.head_object, Bucket="bucket", Key="none")
        self.refused("NoSuchKey", s3.get_object, Bucket="bucket", Key="none")
        self.refused("NoSuchBucket", s3.put_object, Bucket="bucket2", Key="k", Body=b"")
        self.refused("InvalidBucketName", s3.create_bucket, Bucket="a..b")
        s3.copy_object(Bucket="bucket", Key="copy", CopySource={"Bucket": "bucket", "Key": "n"})
        s3.delete_object(Bucket="bucket", Key="n")
        self.assertEqual(s3.get_object(Bucket="bucket", Key="copy")["Body"].read(), b"0123456789")
        self.refused("BucketNotEmpty", s3.delete_bucket, Bucket="bucket")
        keys = [{"Key": each["Key"]} for each in s3.list_objects_v2(Bucket="bucket")["Contents"]]
        self.assertEqual(len(s3.delete_objects(Bucket="bucket", Delete={"Objects": keys})["Deleted"]), len(keys))
        s3.delete_bucket(Bucket="bucket")
        self.assertEqual((s3.list_buckets()["Buckets"], self.files()), ([], []))

    def test_a_listing_ends_also_where_nothing_is_greater_than_a_prefix(self):
        signer = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(
            self.cluster.keys[0]["access_key_id"], self.cluster.keys[0]["secret_access_key"]), "s3", "us-east-1")

        def call(method, target):
            signed = botocore.awsrequest.AWSRequest(method, self.cluster.url + target, data=b"" if method == "PUT" else None)
            signer.add_auth(signed)
            request = urllib.request.Request(signed.url, data=signed.data, method=method, headers={"Content-Type": "", **signed.headers})
            with urllib.request.urlopen(request, timeout=processes.PATIENCE) as answer:
                return answer.read()

        # Names of bytes that are no text: the greatest that there are.
        for key in ("a", "%FFa", "%FFb", "%FF%FF"):
            call("PUT", "/bucket/" + key)
        for after, count in (("", 2), ("a", 1), ("%FF", 0)):
            listed = call("GET", f"/bucket?delimiter=%FF&encoding-type=url&list-type=2&start-after={after}")
            self.assertEqual(listed.count(b"<Key>") + listed.count(b"<CommonPrefixes>"), count, listed)

    def test_presigned_urls_digests_and_external_entities(self):
        self.s3.put_object(Bucket="bucket", Key="a b", Body=b"content")
        for version in ("s3", "s3v4"):
            signer = self.cluster.boto3("s3", config={"signature_version": version})
            url = signer.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "a b"}, ExpiresIn=60)
            with urllib.request.urlopen(url) as answer:
                self.assertEqual(answer.read(), b"content")
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(url.replace("a%20b", "c"))
            self.assertEqual(caught.exception.code, 403)
            caught.exception.close()
            put = signer.generate_presigned_url("put_object", Params={"Bucket": "bucket", "Key": version}, ExpiresIn=60)
            with urllib.request.urlopen(urllib.request.Request(put, data=b"put", method="PUT", headers={"Content-Type": ""})):
                pass
            self.assertEqual(self.s3.get_object(Bucket="bucket", Key=version)["Body"].read(), b"put")
            # Who was given the URL gets no other object by it.
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(urllib.request.Request(put, data=b"", method="PUT", headers={
                    "Content-Type": "", "x-amz-copy-source": "bucket/a%20b"}))
            self.assertEqual(caught.exception.code, 403)
            caught.exception.close()
        self.refused("BadDigest", self.s3.put_object, Bucket="bucket", Key="bad", Body=b"x", ContentMD5="AAAAAAAAAAAAAAAAAAAAAA==")
        self.refused("404", self.s3.head_object, Bucket="bucket", Key="bad")
        url = self.cluster.boto3("s3", config={"signature_version": "s3v4"}).generate_presigned_url(
            "complete_multipart_upload", Params={"Bucket": "bucket", "Key": "x", "UploadId": "none"}, ExpiresIn=60)
        entity = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><CompleteMultipartUpload><Part><ETag>&e;</ETag></Part></CompleteMultipartUpload>'
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(url, data=entity, method="POST", headers={"Content-Type": ""}))
        self.assertIn(b"MalformedXML", caught.exception.read())
        caught.exception.close()

    def test_writes_have_conditions_and_none_is_ignored(self):
        s3, at = self.s3, {"Bucket": "bucket", "Key": "k"}
        self.refused("NoSuchKey", s3.put_object, Body=b"1", IfMatch='"x"', **at)
        etag = s3.put_object(Body=b"1", IfNoneMatch="*", **at)["ETag"]
        upload = {**at, "UploadId": s3.create_multipart_upload(**at)["UploadId"]}
        parts = {"Parts": [{"PartNumber": 1, "ETag": s3.upload_part(PartNumber=1, Body=b"2", **upload)["ETag"]}]}
        copy = {**at, "CopySource": {"Bucket": "bucket", "Key": "k"}}
        for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"x"'}):
            self.refused("PreconditionFailed", s3.put_object, Body=b"2", **at, **condition)
            self.refused("PreconditionFailed", s3.complete_multipart_upload, MultipartUpload=parts, **upload, **condition)
        self.refused("NotImplemented", s3.put_object, Body=b"2", IfNoneMatch='"x"', **at)
        self.refused("NotImplemented", s3.copy_object, CopySourceIfMatch='"x"', **copy)
        self.refused("NotImplemented", s3.delete_object, IfMatch='"x"', **at)
        self.assertEqual(s3.get_object(**at)["Body"].read(), b"1")
        s3.complete_multipart_upload(MultipartUpload=parts, IfMatch=etag, **upload)
        self.assertEqual(s3.get_object(**at)["Body"].read(), b"2")

    def test_a_get_chooses_six_headers_of_its_answer_and_adds_none(self):
        self.s3.put_object(Bucket="bucket", Key="k", Body=b"content", ContentType="text/x", Metadata={"who": "me"})
        got = self.s3.get_object(Bucket="bucket", Key="k", ResponseContentType="text/y", ResponseContentDisposition="attachment",
                                 ResponseCacheControl="no-store", ResponseContentLanguage="en", ResponseContentEncoding="x")
        self.assertEqual((got["ContentType"], got["ContentDisposition"], got["CacheControl"], got["ContentLanguage"], got["ContentEncoding"]),
                         ("text/y", "attachment", "no-store", "en", "x"))
        self.refused("InvalidArgument", self.s3.get_object, Bucket="bucket", Key="k", ResponseContentType="text/x\r\nSet-Cookie: x=1")
        # The older signature does not cover other names.
        url = self.cluster.boto3("s3", config={"signature_version": "s3"}).generate_presigned_url(
            "get_object", Params={"Bucket": "bucket", "Key": "k"}, ExpiresIn=60)
        with urllib.request.urlopen(url + "&response-x-amz-meta-who=you%0d%0aSet-Cookie:%20x=1") as answer:
            self.assertEqual((answer.headers["x-amz-meta-who"], answer.headers["Set-Cookie"]), ("me", None))

    def test_a_large_file_comes_back_and_leaves_one_object(self):
        path, back = (os.path.join(self.cluster.folder, name) for name in ("large", "back"))
        content = os.urandom(MIB) * (SIZE // MIB) + b"end"
        with open(path, "wb") as file:
            file.write(content)
        for _ in range(2):  # the second replaces the first
            self.s3.upload_file(path, "bucket", "large")
        self.s3.download_file("bucket", "large", back)
        with open(back, "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).digest(), hashlib.sha256(content).digest())
        self.assertEqual(self.s3.get_object(Bucket="bucket", Key="large")["Body"].read(), content)
        self.assertEqual(sum(os.path.getsize(file) for file in self.files()), len(content))
        self.s3.copy({"Bucket": "bucket", "Key": "large"}, "bucket", "copy")  # in parts
        self.assertEqual(self.s3.get_object(Bucket="bucket", Key="copy")["Body"].read(), content)

    def test_the_parts_of_an_upload_that_nobody_completes_are_removed(self):
        uploads = {}
        for key in ("old", "new"):
            uploads[key] = {"Bucket": "bucket", "Key": key, "UploadId": self.s3.create_multipart_upload(Bucket="bucket", Key=key)["UploadId"]}
            self.s3.upload_part(PartNumber=1, Body=key.encode(), **uploads[key])
        self.assertEqual(len(self.files()), 2)
        self.cluster.server.kill()
        with sqlite3.connect(os.path.join(self.cluster.folder, "winnow.db.d", "sagemaker", "objects", "index.db")) as index:
            index.execute("UPDATE uploads SET created_us = created_us - 8 * 86400 * 1000000 WHERE key = 'old'")
        index.close()
        self.cluster.restart()
        processes.wait_until(lambda: len(self.files()) == 1, "the old part is removed")
        self.refused("NoSuchUpload", self.s3.list_parts, **uploads["old"])
        self.assertEqual([part["PartNumber"] for part in self.s3.list_parts(**uploads["new"])["Parts"]], [1])

    def test_a_killed_server_leaves_whole_objects_only(self):
        path = os.path.join(self.cluster.folder, "large")
        with open(path, "wb") as file:
            file.write(os.urandom(MIB) * (SIZE // MIB))
        self.s3.put_object(Bucket="bucket", Key="kept", Body=b"kept")
        killed = threading.Event()

        def kill(_):
            if not killed.is_set():
                killed.set()
                self.cluster.server.kill()

        with self.assertRaises((BotoCoreError, ClientError, Exception)):
            self.s3.upload_file(path, "bucket", "half", Callback=kill, Config=TransferConfig(max_concurrency=2))
        self.assertTrue(killed.is_set())
        self.cluster.restart()
        self.assertEqual([each["Key"] for each in self.s3.list_objects_v2(Bucket="bucket")["Contents"]], ["kept"])
        self.s3.upload_file(path, "bucket", "half")
        with open(path, "rb") as file:
            self.assertEqual(self.s3.get_object(Bucket="bucket", Key="half")["Body"].read(), file.read())


if __name__ == "__main__":
    processes.main()
