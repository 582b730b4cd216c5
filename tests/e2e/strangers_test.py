"""Peers without a token that send what takes memory: the server holds no more than it says, and answers others.

WINNOW_TEST_SECONDS says for how long each of them goes on; what is printed is what was measured.
"""

import os
import shutil
import tempfile
import threading
import time
import unittest

import http2
import processes

SECONDS = float(os.environ.get("WINNOW_TEST_SECONDS", "2"))
MOST_MIB = 512  # what docs/operations.md says that strangers can make the server hold


SYNC = "/winnow.v1.WorkerService/Sync"
SYNC_REQUEST = b"\x0a\x20" + b"0123456789abcdef" * 2 + b"\x12\x05probe" + b"\x20\x01"  # id, name, 1 slot


def memory(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name + ":"))


class Others:
    """A worker and a reader with tokens, who go on calling; the longest that each waited."""

    def __init__(self, port, tls, tokens):
        self.port, self.tls, self.tokens = port, tls, tokens
        self.longest, self.failures, self.calls = {}, [], 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._go, args=which) for which in
                        (("Sync", SYNC, SYNC_REQUEST, "worker"),
                         ("read", http2.LIST, b"", "viewer"))]

    def _go(self, name, path, body, role):
        connection = http2.Connection(self.port, self.tls)
        while not self.over.is_set():
            begin = time.monotonic()
            answer = connection.call(path, body, self.tokens[role])
            self.longest[name] = max(self.longest.get(name, 0), time.monotonic() - begin)
            self.calls += 1
            if answer is None or not answer[1]:
                self.failures.append((name, answer))
                return
            self.over.wait(0.005)
        connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(processes.PATIENCE)


class StrangersTest(unittest.TestCase):
    tls = False

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.server = processes.Server(self.folder, flags=self.flags())
        self.server.start()
        self.calm = memory(self.server.pid, "VmRSS")
        client = processes.Client(self.server, f"unix:{self.folder}/winnow.db.d/server.sock")
        self.tokens = {role: client.run("token", "create", "--role", role, "--name", role).split()[0]
                       for role in ("worker", "viewer")}

    def flags(self):
        if not self.tls:
            return ["--require-tokens"]
        processes.make_certificate(self.folder)
        return ["--tls-cert", f"{self.folder}/cert.pem", "--tls-key", f"{self.folder}/key.pem"]

    def tearDown(self):
        self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, count=1):
        return [http2.Connection(self.server.port, self.tls, settled=False) for _ in range(count)]

    def expect_bounded(self, name, attack):
        """Runs the attack beside others' calls."""
        pid = self.server.pid
        with Others(self.server.port, self.tls, self.tokens) as others:
            processes.wait_until(lambda: len(others.longest) == len(others.threads) or others.failures, "others are answered")
            calm = others.calls
            sent = attack()
            processes.wait_until(lambda: others.calls > calm + 2 or others.failures, "others are still answered")
        self.assertTrue(self.server.alive(), self.server.log())
        grown = memory(pid, "VmHWM") - self.calm
        waits = ", ".join(f"{what} {1000 * most:.0f} ms" for what, most in sorted(others.longest.items()))
        print(f"{name}{' over TLS' if self.tls else ''}: {self.calm:.0f} MiB at the start, {grown:.0f} more at most, "
              f"{memory(pid, 'VmRSS') - self.calm:.0f} more after; {sent / 1e6:.1f} MB sent; longest waits: {waits}")
        self.assertEqual(others.failures, [])
        self.assertLess(grown, MOST_MIB)

    def flood(self, make, count):
        """Comes back as soon as it is cut off, until its time is over."""
        sent, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                connections = self.connect(count)
            except OSError:
                continue
            sent += http2.flood(connections, [make() for _ in connections], end - time.monotonic())
            for connection in connections:
                connection.close()
        return sent

    def test_a_compressed_message_is_refused_before_it_is_unpacked(self):
        def attack():
            connection = http2.Connection(self.server.port, self.tls)
            self.assertIn(b"Compression algorithm 'gzip' is disabled", http2.send_compressed(connection, 40))
            # One that has arrived whole.
            packed = http2.zeros_compressed(40)
            answer = connection.call(http2.CREATE, packed, more=http2.header("grpc-encoding", "gzip"), flag=b"\1")
            self.assertIn(b"Compression algorithm 'gzip' is disabled", answer[0])
            connection.close()
            return len(packed)

        self.expect_bounded("compressed messages", attack)

    def test_floods_of_headers(self):
        self.expect_bounded("headers, one connection", lambda: self.flood(http2.header_floods, 1))
        self.expect_bounded("headers, 20 connections", lambda: self.flood(http2.header_floods, 20))

    def test_floods_of_continuations_and_messages_that_never_end(self):
        self.expect_bounded("continuations", lambda: self.flood(http2.continuation_floods, 1))
        self.expect_bounded("messages, one connection", lambda: self.flood(http2.data_floods, 1))
        self.expect_bounded("messages, 20 connections", lambda: self.flood(http2.data_floods, 20))

    def test_more_connections_than_are_kept(self):
        def attack():
            kept = self.connect(560)
            processes.wait_until(lambda: sum(connection.ended for connection in kept) >= 55, "the oldest are ended")
            for connection in kept:
                connection.close()
            return 0

        self.expect_bounded("560 idle connections", attack)


class StrangersOverTlsTest(unittest.TestCase):
    """The same through TLS, where gRPC's threads come to the same bytes by another way."""

    def test_floods_of_headers(self):
        site = StrangersTest()
        site.tls = True
        site.setUp()
        self.addCleanup(site.tearDown)
        site.expect_bounded("headers, one connection", lambda: site.flood(http2.header_floods, 1))


if __name__ == "__main__":
    processes.main()
