#!/usr/bin/env python3
"""examples/grpc_client.py with stubs that Debian's protoc makes from proto/. Skipped where gRPC's Python is not installed."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from servers import BIN, PATIENCE, ROOT, WithFolder, main, processes, wait_until
from certificates import make_certificates
import winnow

PLUGIN = shutil.which("grpc_python_plugin")
if PLUGIN is None or shutil.which("protoc") is None or importlib.util.find_spec("grpc") is None:
    print("skipped: grpc_python_plugin, protoc or python3-grpcio is not installed")
    sys.exit(processes.SKIPPED)


class GrpcClient(WithFolder):
    def setUp(self):
        super().setUp()
        self.stubs = pathlib.Path(self.folder, "stubs")
        self.stubs.mkdir()
        subprocess.run(["protoc", "-I", ROOT / "proto", f"--python_out={self.stubs}", f"--grpc_out={self.stubs}",
                        f"--plugin=protoc-gen-grpc={PLUGIN}", *(ROOT / "proto/winnow/v1").glob("*.proto")], check=True)

    def serve_grpc(self, flags=(), local_workers=0):
        """A server, and its address."""
        port = pathlib.Path(self.folder, "port")
        server = self.serve(["--port-file", str(port), *flags], local_workers)
        wait_until(lambda: port.exists() and port.read_text().strip(), "the server listens")
        return server, "127.0.0.1:" + port.read_text().strip()

    def begin(self, *flags, program=(ROOT / "examples/grpc_client.py",)):
        process = subprocess.Popen([sys.executable, "-B", *program, *map(str, flags)], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": str(self.stubs)})
        self.addCleanup(process.kill)
        return process

    def result(self, process, server):
        printed, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        found = subprocess.run([f"{BIN}/winnow", "--server", server, "best", "grpc", "--output", "json"], check=True,
                               capture_output=True, text=True)
        number = json.loads(found.stdout)["number"]
        self.assertIn(f"COMPLETED: trial {number} has loss 0.", printed.splitlines()[-1])
        return printed

    def test_a_job_is_submitted_watched_and_its_best_is_printed(self):
        _, address = self.serve_grpc(local_workers=1)
        printed = self.result(self.begin("--server", address), address)
        self.assertGreater(len(printed.splitlines()), 8)

    def test_a_job_that_ends_without_a_best_trial_says_why(self):
        _, address = self.serve_grpc(local_workers=1)
        failing = (f"import sys; sys.path.insert(0, {str(ROOT / 'examples')!r}); import grpc_client; "
                   'grpc_client.JOB["trainer"]["command"] = ["/bin/false"]; grpc_client.main()')
        process = self.begin("--server", address, program=("-c", failing))
        _, errors = process.communicate(timeout=PATIENCE)
        found = subprocess.run([f"{BIN}/winnow", "--server", address, "describe", "grpc", "--output", "json"], check=True,
                               capture_output=True, text=True)
        job = json.loads(found.stdout)
        self.assertEqual((process.returncode, errors, job["state"]), (1, f"FAILED: {job['state_reason']}\n", "FAILED"))
        self.assertIn("failed", errors)

    def test_it_watches_on_over_a_restart(self):
        server, address = self.serve_grpc()
        process = self.begin("--server", address)
        client = winnow.connect(server.http)
        wait_until(client.jobs, "it has submitted a job, which has no worker yet")
        server.kill()
        for flag, value in (("--listen", address), ("--local-workers", "1")):
            server.flags[server.flags.index(flag) + 1] = value
        server.start()
        self.result(process, address)

    def test_tls_and_a_token_whose_role_may_not_submit(self):
        make_certificates(self.folder)
        server, address = self.serve_grpc(["--tls-cert", f"{self.folder}/server.pem", "--tls-key",
                                           f"{self.folder}/server.key"])
        local = f"unix:{server.database}.d/server.sock"
        made = subprocess.run([f"{BIN}/winnow", "--server", local, "token", "create", "--role", "viewer",
                               "-o", "json"], capture_output=True, check=True, timeout=PATIENCE)
        pathlib.Path(self.folder, "token").write_text(json.loads(made.stdout)["secret"] + "\n")
        process = self.begin("--server", address, "--tls-ca", f"{self.folder}/ca.pem",
                             "--token-file", f"{self.folder}/token")
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, errors.count("\n")), (1, 1), errors)
        self.assertTrue(errors.startswith("PERMISSION_DENIED: "), errors)


if __name__ == "__main__":
    main()
