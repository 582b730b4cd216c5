#!/usr/bin/env python3
"""Ten thousand idle connections, and a hundred that drip in their requests: a winnow-server goes on answering over
HTTP, and its workers' Sync over gRPC, within the bounds that it has without them."""

import contextlib
import http.client
import json
import os
import pathlib
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = pathlib.Path(os.environ["WINNOW_BIN_DIR"])
IDLE = 10_000
SLOW = 100
# A worker's lease: one whose Sync is not answered in it has lost its trials.
LEASE_SECONDS = 15
TRIALS = 60
JOB = {
    "spec": {
        "name": "crowd",
        "trainer": {
            "command": ["/bin/sh", "-c", "echo loss=0.{{x}}"],
            "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}],
            "resumes": False,
        },
        "parameters": [{"name": "x", "integer": {"min": 1, "max": 1000}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"},
        "strategy": "RANDOM",
        "limits": {"maxTrials": TRIALS},
        "workingDirectory": "/tmp",
    }
}


def files_for(connections: int) -> bool:
    """Whether this process, and the server that it starts, may have so many open files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < connections + 2048:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True


class Connections:
    """SLOW connections whose request gets a byte each second, and IDLE ones that say nothing. What the server closes, as it
    does after its time limits, is connected anew."""

    def __init__(self, port: int):
        self.port = port
        self.all = [self.connect(number) for number in range(SLOW + IDLE)]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.keep)
        self.thread.start()

    def connect(self, number: int) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port))
        if number < SLOW:
            connection.sendall(b"GET /v1/tuning-jobs HTTP/1.1\r\nHost: loc")
        return connection

    def closed(self) -> list[int]:
        """The numbers of those that the server has closed; it sends nothing on the others."""
        poll = select.poll()
        for connection in self.all:
            poll.register(connection, select.POLLIN | select.POLLRDHUP)
        files = {file for file, _ in poll.poll(0)}
        return [number for number, connection in enumerate(self.all) if connection.fileno() in files]

    def keep(self):
        while not self.ended.wait(1):
            for number in self.closed():
                self.all[number].close()
                self.all[number] = self.connect(number)
            for slow in self.all[:SLOW]:
                with contextlib.suppress(OSError):  # closed since then
                    slow.sendall(b"a")

    def count_open(self) -> int:
        """Nothing more is sent and connected from now on."""
        self.ended.set()
        self.thread.join()
        return len(self.all) - len(self.closed())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.count_open()
        for connection in self.all:
            connection.close()


class Crowd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        self.log = open(folder / "log", "wb")
        self.server = subprocess.Popen(
            [BIN / "winnow-server", "--db", folder / "w.db", "--listen", "127.0.0.1:0", "--port-file", folder / "port",
             "--http", "127.0.0.1:0", "--http-port-file", folder / "http-port", "--slots", "2",
             "--lease", str(LEASE_SECONDS)], stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while not ((folder / "http-port").exists() and (folder / "port").exists()):
            self.assertIsNone(self.server.poll(), "winnow-server has ended")
            self.assertLess(time.monotonic(), deadline, "winnow-server does not listen")
            time.sleep(0.01)
        self.port = int((folder / "http-port").read_text())

    def tearDown(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(60), 0)
        self.log.close()
        self.folder.cleanup()

    def ask(self, method: str, path: str, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        self.assertEqual(reply.status, 200, text)
        return json.loads(text)

    def run_job(self) -> tuple[float, dict]:
        """Seconds from its creation to its end, as its events say."""
        begin = time.monotonic()
        job = self.ask("POST", "/v1/tuning-jobs", JOB)["id"]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", f"/v1/tuning-jobs/{job}/events")
        events = connection.getresponse().read()
        connection.close()
        self.assertTrue(events.endswith(b"event: end\ndata: {}\n\n"), events[-300:])
        return time.monotonic() - begin, self.ask("GET", f"/v1/tuning-jobs/{job}")

    def test_sync_is_answered_beside_them(self):
        alone, _ = self.run_job()
        with Connections(self.port) as crowd:
            answers = []
            for _ in range(50):
                begin = time.monotonic()
                self.ask("GET", "/v1/workers")
                answers.append(time.monotonic() - begin)
            beside, job = self.run_job()
            self.assertEqual(job["state"], "COMPLETED")
            self.assertEqual(job["trial_counts"]["completed"], TRIALS)
            workers = self.ask("GET", "/v1/workers?include_gone=true")["workers"]
            self.assertEqual([worker["state"] for worker in workers], ["LIVE"], workers)  # never silent for a lease
            memory = [line for line in pathlib.Path(f"/proc/{self.server.pid}/status").read_text().splitlines()
                      if line.startswith("VmRSS")][0].split()[1]
            print(f"\n{TRIALS} trials in {alone:.2f} s alone and {beside:.2f} s beside {len(crowd.all)} connections; "
                  f"an answer over HTTP takes {sorted(answers)[25] * 1000:.1f} ms (slowest {max(answers) * 1000:.1f}); "
                  f"the server has {int(memory) // 1024} MiB")
            # The server may have closed slow ones since they were looked at.
            self.assertGreaterEqual(crowd.count_open(), IDLE)


if __name__ == "__main__":
    if not files_for(IDLE + SLOW):
        print(f"skipped here: no {IDLE} connections with the limit of open files that this system sets")
        sys.exit(77)
    unittest.main()
