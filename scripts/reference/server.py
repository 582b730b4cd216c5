"""A winnow-server that runs for a moment, for what only it can say."""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.request

from reference.protos import Lack

PATIENCE = 60  # seconds after which something that must happen has not
PAUSE = 0.02   # seconds between two looks


def wait_for(look, what):
    """The first true value of `look`."""
    end = time.monotonic() + PATIENCE
    while not (value := look()):
        if time.monotonic() > end:
            raise Lack(f"in {PATIENCE} s it did not happen that {what}")
        time.sleep(PAUSE)
    return value


class Running:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever the environment says

    def text(self, path):
        with self.opener.open(self.url + path, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def openapi(self):
        return json.loads(self.text("/v1/openapi.json"))

    def metrics(self):
        """What /metrics says once a call was made and a batch has been counted, so that every family has a sample."""
        self.text("/v1/caller")
        self.text("/healthz")  # asks for a batch

        def counted():
            text = self.text("/metrics")
            return text if "winnow_workers{" in text and "winnow_call_duration_seconds_sum{" in text else ""
        return wait_for(counted, "the server counts its workers and a call")


@contextlib.contextmanager
def running(folder):
    """A server of `folder`'s program, with an empty database and no worker, on ports chosen by the system."""
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)
        command = [pathlib.Path(folder).resolve() / "winnow-server", "--db", place / "winnow.db", "--local-workers", "0", "--listen",
                   "127.0.0.1:0", "--http", "127.0.0.1:0", "--http-port-file", place / "http", "--port-file", place / "grpc"]
        with open(place / "log", "wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            # --port-file is written last.
            wait_for(lambda: (place / "grpc").exists() or server.poll() is not None, "winnow-server listens")
            if server.poll() is not None:
                raise Lack("winnow-server has ended:\n" + (place / "log").read_text())
            yield Running((place / "http").read_text().strip())
        finally:
            server.terminate()
            server.wait()
