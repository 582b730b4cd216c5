"""A gate in front of a real server of S3, s3rver from npm, which does not look at signatures of version 4: botocore checks here
that each request is signed right and that its body is the one that was signed. The gate can be closed, and can refuse or hold
requests.
"""

import contextlib
import hashlib
import html
import http.client
import http.server
import os
import subprocess
import threading
import urllib.parse

import data_server

HERE = os.path.dirname(os.path.abspath(__file__))


def missing():
    """Why there is none here; "" if there can be one."""
    packages = os.environ.get("WINNOW_TEST_PACKAGES") or HERE
    if data_server.botocore is None:
        return "python3-botocore is not installed"
    if not os.path.isdir(os.path.join(packages, "node_modules", "s3rver")):
        return "there is no s3rver; get it with: npm ci --prefix tests/e2e/bucket"
    return ""


class Bucket:
    """The bucket "models", reached with `key`."""

    def __init__(self, folder, key):
        self.process = subprocess.Popen(["node", os.path.join(HERE, "serve.mjs"), folder], stdout=subprocess.PIPE, text=True)
        self.backend = int(self.process.stdout.readline())
        self.checks = data_server.DataServer(buckets={"models": {}, "absent": {}}, keys=[key])
        self.refused, self.seen = [], []  # codes; (method, path)
        self.failing = 0                  # so many requests are answered with 503
        self.hold = None                  # an Event for which requests of blobs by `held_method` wait; then `held` is set
        self.held_method, self.not_held = "PUT", 0  # so many of them do not wait
        self.held = threading.Event()
        self.lock = threading.Lock()
        self.port, self.tls = 0, None
        self.open()

    def open(self):
        """Listens, at the port that it had before."""
        bucket = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                bucket.answer(self)

            do_GET = do_PUT = do_DELETE = handle_one

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # a client that was killed

        self.http = Server(("127.0.0.1", self.port), Handler)
        self.port = self.http.server_address[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"
        if self.tls:
            self.http.socket = self.tls.wrap_socket(self.http.socket, server_side=True)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def over_tls(self, context):
        """From now on."""
        self.shut()
        self.tls = context
        self.open()

    def shut(self):
        """Nobody listens any more, and every request is cut off."""
        self.http.shutdown()
        self.http.server_close()
        self.http = None

    def close(self):
        if self.http:
            self.shut()
        if self.hold:
            self.hold.set()
        self.checks.__exit__()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def keys(self, prefix=""):
        """The keys of all objects, as the server behind the gate lists them."""
        query = urllib.parse.urlencode({"list-type": 2, "prefix": prefix})
        _, body = self.forward("GET", f"/models?{query}", b"", {})
        return [html.unescape(part.split("</Key>")[0]) for part in body.decode().split("<Key>")[1:]]

    def passes(self):
        """Whether a request is one of those that are not held."""
        with self.lock:
            self.not_held -= 1
            return self.not_held >= 0

    def put(self, key, body):
        """Writes an object, past the gate."""
        self.forward("PUT", "/models/" + urllib.parse.quote(key), body, {})

    def remove(self, key):
        self.forward("DELETE", "/models/" + urllib.parse.quote(key), b"", {})

    def forward(self, method, path, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.backend)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def answer(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.seen.append((request.command, request.path))
        try:
            if self.failing > 0:
                self.failing -= 1
                raise data_server.Refused(503, "SlowDown")
            self.checks.check_signature(request, urllib.parse.urlsplit(request.path))
            if hashlib.sha256(body).hexdigest() != request.headers["x-amz-content-sha256"]:
                raise data_server.Refused(400, "XAmzContentSHA256Mismatch")
            hold = self.hold
            if hold and request.command == self.held_method and "/blobs/" in request.path and not self.passes():
                self.held.set()
                hold.wait()
                request.close_connection = True
                return
            status, content = self.forward(request.command, request.path, body,
                                           {"Content-Type": request.headers.get("Content-Type", "")} if body else {})
        except data_server.Refused as refused:
            self.refused.append(refused.code)
            status, content = refused.status, f"<Error><Code>{refused.code}</Code></Error>".encode()
        if self.http is None:
            request.close_connection = True
            return
        request.send_response(status)
        if status != 204:
            request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if status != 204:
            with contextlib.suppress(ConnectionError):  # the other side was killed
                request.wfile.write(content)
