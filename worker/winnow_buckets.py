"""Files in buckets of S3, by signed requests (version 4): winnow_sagemaker puts there what a training leaves. It needs nothing but
Python 3.7."""

import datetime
import hashlib
import hmac
import http.client
import os
import ssl
import time
import urllib.parse
import xml.etree.ElementTree

SPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"
PATIENCE = 60.0  # seconds of retries, such as while the server is started again
PART = 16 << 20


class BucketError(Exception):
    repeated = False  # whether the request had been sent before


def split(uri):
    """ "bucket", "prefix/a" of "s3://bucket/prefix/a"."""
    bucket, _, key = uri[len("s3://"):].partition("/")
    return bucket, key


class Buckets:
    """The buckets that a key may use. Errors are BucketError."""

    def __init__(self, access, region="us-east-1"):
        """`access`: "ID:SECRET@URL"."""
        keys, _, url = access.partition("@")
        self.key, _, self.secret = keys.partition(":")
        self.url, self.region = urllib.parse.urlsplit(url), region

    def put(self, uri, path, metadata=None):
        """Puts the file as one object, which is there whole or not at all."""
        headers = {"x-amz-meta-" + name: value for name, value in (metadata or {}).items()}
        with open(path, "rb") as file:
            first = file.read(PART)
            rest = file.read(PART)
            if not rest:
                self.call("PUT", uri, body=first, headers=headers)
                return
            upload = self.call("POST", uri, {"uploads": ""}, headers=headers)[1]
            upload = xml.etree.ElementTree.fromstring(upload).findtext(SPACE + "UploadId")
            try:
                parts, size = [], 0
                for body in self.parts(first, rest, file):
                    answer = self.call("PUT", uri, {"partNumber": str(len(parts) + 1), "uploadId": upload}, body)[0]
                    parts.append(f"<Part><PartNumber>{len(parts) + 1}</PartNumber><ETag>{answer['etag']}</ETag></Part>")
                    size += len(body)
                whole = "<CompleteMultipartUpload>" + "".join(parts) + "</CompleteMultipartUpload>"
                self.complete(uri, upload, whole.encode(), size)
            except BucketError:
                try:
                    self.call("DELETE", uri, {"uploadId": upload})
                except BucketError:
                    pass  # the first error says more
                raise

    def complete(self, uri, upload, whole, size):
        try:
            self.call("POST", uri, {"uploadId": upload}, whole)
        except BucketError as error:
            # An upload whose first answer was lost is gone because it is complete.
            if not (error.repeated and "NoSuchUpload" in str(error) and self.has(uri, size)):
                raise

    def has(self, uri, size):
        try:
            return int(self.call("HEAD", uri)[0]["content-length"]) == size
        except BucketError:
            return False

    @staticmethod
    def parts(first, rest, file):
        yield first
        while rest:
            yield rest
            rest = file.read(PART)

    def get(self, uri, size, path):
        """Writes the object, of that size, to a file; returns its metadata."""
        with open(path, "wb") as file:
            for at in range(0, max(size, 1), PART):
                part = {"range": f"bytes={at}-{at + PART - 1}"} if size > PART else {}
                headers, body = self.call("GET", uri, headers=part)
                file.write(body)
            if file.tell() != size:
                raise BucketError(f"GET {uri}: {file.tell()} bytes; expected {size}")
        return {name[len("x-amz-meta-"):]: value for name, value in headers.items() if name.startswith("x-amz-meta-")}

    def list(self, uri):
        """The sizes of the objects whose keys begin with the URI's, by key. Bytes that are no text are as in names of files."""
        bucket, prefix = split(uri)
        sizes, token = {}, None
        while True:
            query = {"list-type": "2", "encoding-type": "url", "prefix": prefix, **({"continuation-token": token} if token else {})}
            page = xml.etree.ElementTree.fromstring(self.call("GET", f"s3://{bucket}/", query)[1])
            for each in page.findall(SPACE + "Contents"):
                key = urllib.parse.unquote_plus(each.findtext(SPACE + "Key"), errors="surrogateescape")
                sizes[key] = int(each.findtext(SPACE + "Size"))
            token = page.findtext(SPACE + "NextContinuationToken")
            if not token:
                return sizes

    def call(self, method, uri, query=None, body=b"", headers=None):
        begin, pause, repeated = time.monotonic(), 0.1, False
        while True:
            try:
                status, answer, content = self.once(method, uri, query or {}, body, headers or {})
                if status < 300:
                    return answer, content
                error = BucketError(f"{method} {uri}: status {status}: {content[:300].decode(errors='replace')}")
                error.repeated = repeated
                if status < 500:
                    raise error
            except (OSError, http.client.HTTPException) as failure:
                error = BucketError(f"{method} {uri}: {failure}")
            if time.monotonic() - begin > PATIENCE:
                raise error
            time.sleep(pause)
            repeated = True
            pause = min(pause * 2, 5.0)

    def once(self, method, uri, query, body, headers):
        bucket, key = split(uri)
        path = urllib.parse.quote(f"{self.url.path.rstrip('/')}/{bucket}/{key}", safe="/~", errors="surrogateescape")
        text = "&".join(f"{urllib.parse.quote(name, safe='~')}={urllib.parse.quote(query[name], safe='~')}" for name in sorted(query))
        secure = self.url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        context = {"context": ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE") or None)} if secure else {}
        connection = kind(self.url.hostname, self.url.port, timeout=PATIENCE, **context)
        try:
            connection.request(method, path + ("?" + text if text else ""), body, self.signed(method, path, text, body, headers))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def signed(self, method, path, query, body, headers):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        headers = {**headers, "host": self.url.netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
        names = ";".join(sorted(headers))
        request = "\n".join([method, path, query, *[f"{name}:{headers[name]}" for name in sorted(headers)], "", names, digest])
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = ("AWS4" + self.secret).encode()
        for part in (*scope.split("/"), text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
        return headers
