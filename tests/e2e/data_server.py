"""A server of data for tests: files with Range, ETag and connections that are cut, and buckets of an S3-compatible
service, whose signatures botocore checks.

It counts what it sends, so that a test can say how often something was downloaded.
"""

import calendar
import collections
import contextlib
import hashlib
import http.server
import json
import socket
import threading
import time
import urllib.parse
import xml.sax.saxutils

try:
    import botocore.auth
    import botocore.awsrequest
    import botocore.credentials
except ImportError:
    botocore = None

Key = collections.namedtuple("Key", "id secret token region expired", defaults=(None, "us-east-1", False))
Sent = collections.namedtuple("Sent", "method path code begin bytes")

CLOCK_SECONDS = 900  # how far a request's time may be away
LISTED = 3           # keys on a page of a listing, so that listings have several


def aws_quoted(text, safe=""):
    """As SigV4 wants a part of a URL to be encoded."""
    return urllib.parse.quote(text, safe=safe + "-_.~")


class RoleServer:
    """The services by which containers and machines of a cloud give credentials: at /container with an authorization, and IMDSv2
    with one role. `credentials` is what they answer; None: there is no role."""

    AUTHORIZATION, SESSION, ROLE = "Basic d29ya2Vy", "session-0123==", "tuning"

    def __init__(self, credentials):
        self.credentials, self.asked = credentials, []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_PUT(self):
                lifetime = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
                server.asked.append("PUT " + self.path)
                self.reply(200 if self.path == "/latest/api/token" and lifetime else 400, server.SESSION)

            def do_GET(self):
                server.asked.append("GET " + self.path)
                roles = "/latest/meta-data/iam/security-credentials/"
                if self.path == "/container":
                    allowed = self.headers.get("Authorization") == server.AUTHORIZATION
                    return self.reply(200 if allowed else 401, json.dumps(server.credentials) if allowed else "")
                if self.headers.get("X-aws-ec2-metadata-token") != server.SESSION:
                    return self.reply(401, "")
                if server.credentials is None or self.path not in (roles, roles + server.ROLE):
                    return self.reply(404, "")
                return self.reply(200, server.ROLE if self.path == roles else json.dumps(server.credentials))

            def reply(self, status, text):
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


class Refused(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class DataServer:
    """`files`: path -> bytes, for http://; `buckets`: bucket -> key -> bytes, for s3:// with one of `keys`."""

    def __init__(self, files=None, buckets=None, keys=(), virtual_host=None, etags=True):
        self.files, self.buckets, self.keys = dict(files or {}), dict(buckets or {}), {key.id: key for key in keys}
        self.virtual_host, self.etags = virtual_host, etags
        self.cuts = []            # (path, bytes after which the connection is cut); each is used once
        self.broken = {}          # path -> HTTP status, how often
        self.redirects = {}       # path -> URL
        self.answered = []        # Sent
        self.tags = {}            # id of a body -> ETag, and the body, so that no other gets its id
        self.lock = threading.Lock()
        self.together = None      # a Barrier at which requests of files wait for each other
        self.listed = LISTED      # keys on a page of a listing
        self.gate = None          # an Event for which bodies wait that do not begin at byte 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a body follows its head at once

            def do_GET(self):
                server.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self.http = Server(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.gate:
            self.gate.set()
        self.http.shutdown()
        self.http.server_close()

    def sent(self, path=None):
        """What was sent of the path, of all paths without it."""
        with self.lock:
            return [each for each in self.answered if path is None or each.path == path]

    def bytes_sent(self, path=None):
        return sum(each.bytes for each in self.sent(path))

    def tag_of(self, body):
        """Its ETag; that of a long body is computed once."""
        with self.lock:
            known = self.tags.get(id(body))
            if known is None:
                known = self.tags[id(body)] = f'"{hashlib.md5(body).hexdigest()}"', body
            return known[0]

    # --------------------------------------------------------------------------------------------- a request

    def answer(self, request):
        split = urllib.parse.urlsplit(request.path)
        path = urllib.parse.unquote(split.path)
        try:
            host = request.headers.get("Host", "").rsplit(":", 1)[0]
            if self.virtual_host and host.endswith("." + self.virtual_host):
                self.bucket(request, split, host[:-len(self.virtual_host) - 1], path[1:])
            elif path.count("/") >= 1 and path[1:].split("/", 1)[0] in self.buckets:
                bucket, _, key = path[1:].partition("/")
                self.bucket(request, split, bucket, key)
            else:
                self.file(request, path, self.files)
        except Refused as refused:
            body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{refused.code}</Code>'
                    f"<Message>what it says about {refused.code}</Message></Error>").encode()
            self.reply(request, path, refused.status, {"Content-Type": "application/xml"}, body)
        except (BrokenPipeError, ConnectionResetError):
            request.close_connection = True

    def reply(self, request, path, status, headers, body, begin=0, of=None):
        with self.lock:
            cut = next((each for each in self.cuts if each[0] == path), None) if status in (200, 206) else None
            if cut and begin <= cut[1] < begin + len(body):
                self.cuts.remove(cut)
            else:
                cut = None
        count = len(body) if cut is None else cut[1] - begin
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        if status != 304:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command == "HEAD" or status == 304:
            count = 0
        gate = self.gate
        if begin and gate:
            gate.wait()
        try:
            if count:
                request.wfile.write(memoryview(body)[:count])
                request.wfile.flush()
        finally:
            with self.lock:
                self.answered.append(Sent(request.command, path, status, begin, count))
        if cut is not None:
            request.close_connection = True
            # What was written still arrives; then the connection is reset.
            with contextlib.suppress(OSError):  # the other side was first
                request.connection.shutdown(socket.SHUT_WR)

    def file(self, request, path, files, real=None):
        real = real or path
        if together := self.together:
            together.wait()
        with self.lock:
            status, times = self.broken.get(path, (0, 0))
            if times > 0:
                self.broken[path] = status, times - 1
        if times > 0:
            raise Refused(status, "SlowDown" if status == 503 else "InternalError")
        if path in self.redirects:
            return self.reply(request, real, 302, {"Location": self.redirects[path]}, b"")
        if path not in files:
            raise Refused(404, "NoSuchKey")
        body = files[path]
        tag = self.tag_of(body)
        headers = {"Accept-Ranges": "bytes", **({"ETag": tag} if self.etags else {})}
        if self.etags and request.headers.get("If-None-Match") == tag:
            return self.reply(request, real, 304, headers, b"")
        span = request.headers.get("Range", "")
        same = request.headers.get("If-Range") in (None, tag) and request.headers.get("If-Match") in (None, tag)
        if span.startswith("bytes=") and same:
            first, last = span[6:].split("-")
            first, last = int(first), int(last or len(body) - 1)
            if first >= len(body):
                return self.reply(request, real, 416, {"Content-Range": f"bytes */{len(body)}"}, b"")
            headers["Content-Range"] = f"bytes {first}-{min(last, len(body) - 1)}/{len(body)}"
            return self.reply(request, real, 206, headers, body[first:last + 1], first)
        return self.reply(request, real, 200, headers, body)

    # ---------------------------------------------------------------------------------------------- a bucket

    def bucket(self, request, split, bucket, key):
        self.check_signature(request, split)
        if bucket not in self.buckets:
            raise Refused(404, "NoSuchBucket")
        objects = self.buckets[bucket]
        if key:
            return self.file(request, key, objects, f"{bucket}/{key}")
        asked = dict(urllib.parse.parse_qsl(split.query, keep_blank_values=True))
        if asked.get("list-type") != "2":
            raise Refused(501, "NotImplemented")
        names = sorted(name for name in objects if name.startswith(asked.get("prefix", "")))
        begin = int(asked.get("continuation-token", "token+/=0")[len("token+/="):])
        page, rest = names[begin:begin + self.listed], names[begin + self.listed:]
        contents = "".join(
            f"<Contents><Key>{xml.sax.saxutils.escape(urllib.parse.quote_plus(name) if asked.get('encoding-type') == 'url' else name)}"
            f"</Key><ETag>&quot;{hashlib.md5(objects[name]).hexdigest()}&quot;</ETag><Size>{len(objects[name])}</Size>"
            f"<StorageClass>STANDARD</StorageClass></Contents>" for name in page)
        more = f"<NextContinuationToken>token+/={begin + self.listed}</NextContinuationToken>" if rest else ""
        body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                f"<Name>{bucket}</Name>{'<EncodingType>url</EncodingType>' if asked.get('encoding-type') == 'url' else ''}"
                f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>{contents}{more}"
                f"</ListBucketResult>").encode()
        return self.reply(request, f"{bucket}?", 200, {"Content-Type": "application/xml"}, body)

    def check_signature(self, request, split):
        """As S3 does, with botocore's signer; a server without keys lets everybody in."""
        if not self.keys:
            return
        text = request.headers.get("Authorization", "")
        if not text.startswith("AWS4-HMAC-SHA256 "):
            raise Refused(403, "AccessDenied")
        fields = dict(part.strip().split("=", 1) for part in text.split(" ", 1)[1].split(","))
        identity, date, region, service, _ = fields["Credential"].split("/")
        key = self.keys.get(identity)
        if key is None:
            raise Refused(403, "InvalidAccessKeyId")
        if service != "s3" or region != key.region:
            raise Refused(400, "AuthorizationHeaderMalformed")
        if key.expired:
            raise Refused(400, "ExpiredToken")
        if key.token and request.headers.get("x-amz-security-token") != key.token:
            raise Refused(400, "InvalidToken")
        at = request.headers.get("x-amz-date", "")
        if not at.startswith(date) or abs(calendar.timegm(time.strptime(at, "%Y%m%dT%H%M%SZ")) - time.time()) > CLOCK_SECONDS:
            raise Refused(403, "RequestTimeTooSkewed")
        if "x-amz-content-sha256" not in request.headers:
            raise Refused(400, "InvalidRequest")
        names = fields["SignedHeaders"].split(";")
        for name in request.headers:
            if name.lower().startswith("x-amz-") and name.lower() not in names:
                raise Refused(403, "AccessDenied")
        if "host" not in names:
            raise Refused(403, "AccessDenied")
        # Not as it was sent, but as it must be encoded.
        path = aws_quoted(urllib.parse.unquote(split.path), "/")
        query = "&".join(sorted(f"{aws_quoted(name)}={aws_quoted(value)}" for name, value in
                                urllib.parse.parse_qsl(split.query, keep_blank_values=True)))
        signed = botocore.awsrequest.AWSRequest(
            method=request.command, url=f"http://{request.headers['Host']}{path}" + (f"?{query}" if query else ""))
        for name in names:
            signed.headers[name] = request.headers[name]
        signed.context["timestamp"] = at
        signer = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(key.id, key.secret, key.token), "s3", region)
        wanted = signer.signature(signer.string_to_sign(signed, signer.canonical_request(signed)), signed)
        if wanted != fields["Signature"]:
            raise Refused(403, "SignatureDoesNotMatch")
