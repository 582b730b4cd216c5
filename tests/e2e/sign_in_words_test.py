"""What the server's log says where a provider is not as the flags say, or refuses: a provider that the test plays."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import shutil
import sys
import tempfile
import threading
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import processes
from processes import wait_until


class Provider:
    """Answers with its discovery document, and with `status` to whoever wants a token. Use it in `with`."""

    def __init__(self, path=""):
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def say(self, status, answer):
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                provider.asked += 1
                provider.answers.wait(processes.PATIENCE)
                with contextlib.suppress(OSError):  # who asked may have gone
                    self.say(200, provider.document())

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/device":
                    self.say(200, {"device_code": "d", "user_code": "AB-CD", "verification_uri": provider.url,
                                   "expires_in": 600, "interval": 1})
                else:
                    self.say(provider.status, {"error": "authorization_pending"} if provider.status == 400 else {})

            def log_message(self, *_):
                pass
        self.path, self.status, self.asked = path, 503, 0
        self.answers = threading.Event()
        self.answers.set()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def document(self):
        return {"issuer": self.url + self.path, "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/keys",
                "device_authorization_endpoint": f"{self.url}/device"}

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class SignInWords(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-sign-in-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def begin(self, provider):
        """A server whose people sign in with the provider; host and port of its page."""
        port = os.path.join(self.folder, "http-port")
        self.server = processes.Server(self.folder, flags=[
            "--require-tokens", "--http", "127.0.0.1:0", "--http-port-file", port, "--oidc-issuer", provider.url,
            "--oidc-client-id", "winnow", "--oidc-default-role", "viewer"])
        self.addCleanup(self.server.kill)
        self.server.start()
        with open(port, encoding="ascii") as file:
            return f"127.0.0.1:{int(file.read())}"

    @staticmethod
    def get(host, path, cookie=""):
        connection = http.client.HTTPConnection(host)
        connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer

    @staticmethod
    def post(host, path, body, token=""):
        connection = http.client.HTTPConnection(host)
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    def test_the_providers_error_and_its_description_are_in_the_log(self):
        with Provider() as provider:
            host = self.begin(provider)
            begun = self.get(host, "/sign-in?to=/")
            state = urllib.parse.parse_qs(urllib.parse.urlparse(begun.headers["Location"]).query)["state"][0]
            query = urllib.parse.urlencode({"state": state, "error": "invalid_scope",
                                            "error_description": "no scope\ngroups"})
            back = self.get(host, f"/sign-in/callback?{query}", begun.headers["Set-Cookie"].split(";")[0])
            self.assertEqual(back.headers["Location"], "/login?refused=provider&to=%2F")
            wait_until(lambda: "the provider answered with the error invalid_scope: no scope?groups" in self.server.log(),
                       f"the log tells: {self.server.log()}")

    def test_a_provider_that_is_away_for_a_moment_is_told_and_ends_no_login_of_a_device(self):
        with Provider() as provider:
            host = self.begin(provider)
            begun = self.get(host, "/sign-in?to=/")
            state = urllib.parse.parse_qs(urllib.parse.urlparse(begun.headers["Location"]).query)["state"][0]
            back = self.get(host, f"/sign-in/callback?state={state}&code=c", begun.headers["Set-Cookie"].split(";")[0])
            self.assertEqual(back.headers["Location"], "/login?refused=provider&to=%2F")
            _, begun = self.post(host, "/sign-in/device", {})
            poll = {"device": begun["device"]}
            wait_until(lambda: self.post(host, "/sign-in/token", poll)[0] == 503, "the provider is asked")
            provider.status = 400
            self.assertEqual(self.post(host, "/sign-in/token", poll)[0], 202)

    def test_who_logs_out_does_not_wait_for_the_provider(self):
        with Provider() as provider, concurrent.futures.ThreadPoolExecutor(12) as threads:
            provider.answers.clear()
            self.addCleanup(provider.answers.set)
            host = self.begin(provider)
            admin = processes.Client(self.server, "unix:" + os.path.join(self.folder, "winnow.db.d", "server.sock"))
            token = admin.run("token", "create", "--role", "viewer", "--name", "ana").strip()
            begun = [threads.submit(self.get, host, "/sign-in?to=/") for _ in range(12)]
            wait_until(lambda: provider.asked >= 4, "those who sign in wait")
            self.assertEqual(self.post(host, "/logout", {}, token)[0], 200)
            self.assertLess(sum(each.done() for each in begun), 8)  # who waited in its place would see 8 or more give up
            provider.answers.set()

    def test_the_issuer_of_the_discovery_document_is_named(self):
        with Provider("/") as provider:
            self.begin(provider)
            words = f'its discovery document is of issuer "{provider.url}/"; expected "{provider.url}", as --oidc-issuer'
            wait_until(lambda: words in self.server.log(), f"the log tells: {self.server.log()}")


if __name__ == "__main__":
    sys.exit(processes.main())
