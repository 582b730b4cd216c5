"""What the tests of the Python client share: a real server over HTTP, the package, and how a test ends."""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "clients/python"
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests/e2e")]

import processes  # noqa: E402
import winnow  # noqa: E402

BIN, PATIENCE, wait_until, main = processes.BIN, processes.PATIENCE, processes.wait_until, processes.main

EXTERNAL = {
    "name": "external", "trainer": {"external": True, "lease": "2s"}, "strategy": "RANDOM", "seed": 5,
    "parameters": [{"name": "x", "continuous": {"min": -1, "max": 1}}, {"name": "n", "integer": {"min": 1, "max": 9}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "limits": {"max_trials": 4}}

SHELL = {
    "name": "shell", "strategy": "RANDOM", "seed": 5, "limits": {"max_trials": 3},
    "trainer": {"command": ["/bin/sh", "-c",
                            'for i in 1 2 3; do echo "step=$i loss=$1"; done; echo "x is $1" > "$SM_MODEL_DIR/model.txt"; '
                            'mkdir "$SM_MODEL_DIR/deep"; head -c 5000000 /dev/zero > "$SM_MODEL_DIR/deep/weights.bin"; '
                            "echo done >&2", "trainer", "{{x}}"],
                "metrics": [{"name": "loss", "regex": "loss=([-+0-9.e]+)"}], "resource_regex": "step=([0-9]+)"},
    "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "working_directory": "/tmp"}


class HttpServer(processes.Program):
    """winnow-server with --http on a port that a restart keeps."""

    def __init__(self, folder, flags=(), local_workers=0):
        self.database, self.http_file, self.http_port = f"{folder}/winnow.db", f"{folder}/http", 0
        self.flags = ["--listen", "127.0.0.1:0", "--local-workers", str(local_workers), *flags]
        super().__init__([], f"{folder}/server.log", cache=f"{folder}/cache")

    def start(self):
        if os.path.exists(self.http_file):
            os.remove(self.http_file)
        self.arguments = [f"{BIN}/winnow-server", "--db", self.database, "--http", f"127.0.0.1:{self.http_port}",
                          "--http-port-file", self.http_file, *self.flags]
        super().start()
        wait_until(lambda: os.path.exists(self.http_file) or not self.alive(), "the server listens")
        if not self.alive():
            raise AssertionError("winnow-server did not start:\n" + self.log()[-3000:])
        self.http_port = int(pathlib.Path(self.http_file).read_text("ascii"))

    @property
    def http(self):
        return f"127.0.0.1:{self.http_port}"


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-client-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def serve(self, flags=(), local_workers=0):
        server = HttpServer(self.folder, flags, local_workers)
        self.addCleanup(lambda: server.process and server.stop())
        server.start()
        return server
