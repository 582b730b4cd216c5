#!/usr/bin/env python3
"""What hostile calls cost a server and those who call it beside them: memory, and the longest waits for a Sync and a list.

  WINNOW_BIN_DIR=build/bin python3 bench/hostile_calls.py [--seconds 5] [--tls]

Each row is a server of its own that asks for tokens, on this machine's loopback; everything is bounded in count and time.
"""

import argparse
import http.client
import json
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"))
import http2  # noqa: E402
import processes  # noqa: E402
import strangers_test  # noqa: E402

JOB = {"name": "hostile", "strategy": "RANDOM", "limits": {"maxTrials": 3}, "workingDirectory": "/tmp",
       "trainer": {"command": ["/bin/true"], "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
       "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
       "objective": {"metric": "loss", "goal": "MINIMIZE"}}


class Site(strangers_test.StrangersTest):
    """A server with a page, and tokens of each role."""

    def __init__(self, tls):
        super().__init__()
        self.tls = tls

    def setUp(self):
        super().setUp()
        client = processes.Client(self.server, f"unix:{self.folder}/winnow.db.d/server.sock")
        self.tokens["submitter"] = client.run("token", "create", "--role", "submitter", "--name", "s").split()[0]

    def flags(self):
        return [*super().flags(), "--http", "127.0.0.1:0", "--http-port-file", f"{self.folder}/http-port"]

    def post(self, path, body, role=None, patience=30):
        """How the server answered, in a few words."""
        with open(f"{self.folder}/http-port", encoding="ascii") as file:
            port = int(file.read())
        make = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        options = {"context": http2.trusting()} if self.tls else {}
        connection = make("127.0.0.1", port, timeout=patience, **options)
        headers = {"Content-Type": "application/json"}
        if role:
            headers["Authorization"] = "Bearer " + self.tokens[role]
        try:
            connection.request("POST", path, body if isinstance(body, str) else json.dumps(body), headers)
            answer = connection.getresponse()
            return f"{answer.status} {json.loads(answer.read()).get('message', '')[:60]}".strip()
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            connection.close()


def metrics(_):
    job = json.loads(json.dumps(JOB))
    job["trainer"]["metrics"] += [{"name": f"m{i}", "regex": "(.*.*.*x{1,900})"} for i in range(5000)]
    return lambda site: site.post("/v1/preview", {"spec": job}, "viewer", 20)


def allowed_metrics(_):
    job = json.loads(json.dumps(JOB))
    job["trainer"]["metrics"] += [{"name": f"m{i}", "regex": "(.*.*.*x{1,900})"} for i in range(99)]
    return lambda site: [site.post("/v1/preview", {"spec": job}, "viewer", 20) for _ in range(20)][-1]


def initial(count):
    def make(_):
        job = {**JOB, "initialConfigurations": [{"hyperparameters": {"x": str(i / count)}} for i in range(count)]}
        return lambda site: site.post("/v1/preview", {"spec": job}, "viewer", 20)
    return make


def pipe(_):
    def attack(site):
        os.mkfifo(f"{site.folder}/study.db")
        job = {**JOB, "strategy": "BAYESIAN",
               "warmStart": {"optunaStudies": [{"file": f"{site.folder}/study.db", "study": "x"}]}}
        return site.post("/v1/tuning-jobs", {"spec": job}, "submitter", 5)
    return attack


def wide(_):
    job = {**JOB, "parameters": [{"name": "k", "categorical": {"values": [f"v{i}" for i in range(300000)]}}]}
    return lambda site: [site.post("/v1/tuning-jobs", {"spec": job}, "submitter") for _ in range(3)][-1]


def login(_):
    def attack(site):
        answers, end = [], time.monotonic() + site.seconds

        def go():
            while time.monotonic() < end:
                answers.append(site.post("/login", "[" * 4_190_000))

        threads = [threading.Thread(target=go) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return f"{len(answers)} x {answers[-1]}"
    return attack


def flood(make, count):
    return lambda _: lambda site: f"{site.flood(make, count) / 1e6:.1f} MB sent"


def compressed(_):
    def attack(site):
        connection = http2.Connection(site.server.port, site.tls)
        packed = http2.zeros_compressed(100)
        answer = connection.call(http2.CREATE, packed, more=http2.header("grpc-encoding", "gzip"), flag=b"\1")
        connection.close()
        return "refused" if answer and b"is disabled" in answer[0] else "unpacked"
    return attack


def idle(_):
    def attack(site):
        kept = site.connect(900)
        ended = sum(connection.wait(lambda c=connection: c.ended, 0) for connection in kept)
        for connection in kept:
            connection.close()
        return f"{ended} of 900 ended"
    return attack


ATTACKS = [
    ("100 MiB of zeros, compressed", compressed),
    ("headers without end, 1 connection", flood(http2.header_floods, 1)),
    ("headers without end, 20 connections", flood(http2.header_floods, 20)),
    ("CONTINUATION without end", flood(http2.continuation_floods, 1)),
    ("1,000 messages of 16 MiB, 1 connection", flood(http2.data_floods, 1)),
    ("1,000 messages of 16 MiB, 20 connections", flood(http2.data_floods, 20)),
    ("900 idle connections", idle),
    ("login: 4 MB of [, 8 at a time", login),
    ("viewer: preview, 5,000 metrics", metrics),
    ("viewer: preview, 100 metrics, 20 times", allowed_metrics),
    ("viewer: preview, 10,000 configurations", initial(10_000)),
    ("viewer: preview, 50,000 configurations", initial(50_000)),
    ("submitter: warm start from a named pipe", pipe),
    ("submitter: 3 jobs of 300,000 values", wide),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="how long each flood goes on")
    parser.add_argument("--tls", action="store_true")
    flags = parser.parse_args()
    strangers_test.SECONDS = flags.seconds
    print("| attack | MiB before | most, beyond | after, beyond | Sync, at most ms | list, at most ms | answer | SIGTERM s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, make in ATTACKS:
        attack = make(None)
        site = Site(flags.tls)
        site.seconds = flags.seconds
        site.setUp()
        try:
            pid = site.server.pid
            before = strangers_test.memory(pid, "VmRSS")
            with strangers_test.Others(site.server.port, flags.tls, site.tokens) as others:
                answer = attack(site)
            waits = [f"{1000 * others.longest.get(what, 0):.0f}" + (" (failed)" if what in dict(others.failures) else "")
                     for what in ("Sync", "read")]
            most = strangers_test.memory(pid, "VmHWM") - before
            after = strangers_test.memory(pid, "VmRSS") - before
            begin = time.monotonic()
            try:
                site.server.stop(30)
                stopped = f"{time.monotonic() - begin:.1f}"
            except processes.subprocess.TimeoutExpired:
                stopped = "more than 30"
            print(f"| {name} | {before:.0f} | {most:.0f} | {after:.0f} | {waits[0]} | {waits[1]} | {answer} | {stopped} |",
                  flush=True)
        finally:
            site.tearDown()


if __name__ == "__main__":
    main()
