"""A server with every listener that it can have, killed while its local workers train: each time it is back at once.

WINNOW_TEST_KILLS says how often; it prints how long the slowest return took.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import processes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from free_port import free_port  # noqa: E402

KILLS = int(os.environ.get("WINNOW_TEST_KILLS", "4"))
WORKERS = 2


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def runs_a_shell(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().startswith(b"sh\0")
    except OSError:
        return False


def open_files(pid):
    """What each descriptor of the process leads to, beside the three that every program has."""
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            if int(number) > 2:
                found[int(number)] = os.readlink(f"/proc/{pid}/fd/{number}")
        except OSError:
            pass  # closed since
    return found


class Server(processes.Program):
    """winnow-server with gRPC over TCP and its Unix socket, the page over HTTP, port files and local workers."""

    def __init__(self, folder, tls):
        self.folder, self.ports = folder, []
        while len(self.ports) < 2:
            port = free_port() + 2 * len(self.ports)
            self.ports.append(port)
        self.port_files = [f"{folder}/port", f"{folder}/http-port"]
        self.state = f"{folder}/winnow.db.d"
        self.socket = f"{self.state}/server.sock"
        arguments = [f"{processes.BIN}/winnow-server", "--db", f"{folder}/winnow.db", "--listen",
                     f"127.0.0.1:{self.ports[0]}", "--port-file", self.port_files[0], "--http",
                     f"127.0.0.1:{self.ports[1]}", "--http-port-file", self.port_files[1], "--local-workers",
                     str(WORKERS), "--slots", "1", "--require-tokens"]
        if tls:
            processes.make_certificate(folder)
            arguments += ["--tls-cert", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem"]
        super().__init__(arguments, f"{folder}/server.log")

    def winnow(self, *arguments):
        return subprocess.run([f"{processes.BIN}/winnow", "--server", f"unix:{self.socket}", *arguments],
                              capture_output=True, text=True, timeout=processes.PATIENCE, check=False)

    def start(self):
        """Seconds until all of them answer."""
        begin = time.monotonic()
        for file in self.port_files:
            if os.path.exists(file):
                os.remove(file)
        super().start()
        processes.wait_until(
            lambda: not self.alive() or all(map(os.path.exists, self.port_files)), "the server listens")
        if not self.alive():
            raise AssertionError("winnow-server did not start:\n" + self.log()[-3000:])
        if not all(map(connects, self.ports)):
            raise AssertionError("a port does not answer")
        taken = time.monotonic() - begin
        listed = self.winnow("list")
        if listed.returncode != 0:
            raise AssertionError(listed.stderr)
        return taken

    def workers(self):
        """Process ids of the local workers that live, whoever started them."""
        pids = []
        for number in range(1, WORKERS + 1):
            try:
                with open(f"{self.state}/workers/local-{number}/lock", encoding="ascii") as file:
                    pids.append(int(file.read().split()[0]))
            except (OSError, ValueError, IndexError):
                pass
        return [pid for pid in pids if processes.parent_of(pid) != -1]

    def trainers(self):
        """Process ids of the trainers that have begun. Before that a process has what its worker has, for a moment."""
        return [pid for worker in self.workers() for pid in processes.children_of(worker) if runs_a_shell(pid)]


class BackAfterKillTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.server = None
        self.addCleanup(self.clear)

    def clear(self):
        if self.server is not None:
            left = self.server.trainers() + self.server.workers()
            self.server.kill()
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            processes.wait_until(lambda: all(processes.parent_of(pid) == -1 for pid in left), "all have ended")
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self, tls):
        """A server that trains in each of its slots, without end."""
        self.server = Server(self.folder, tls)
        self.server.start()
        job = {"name": "endless", "working_directory": self.folder,
               "trainer": {"command": ["sh", "-c", "while read line; do :; done < pipe"],
                           "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
               "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
               "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
               "limits": {"max_trials": 50, "max_lost_attempts": 100}}
        os.mkfifo(f"{self.folder}/pipe")
        with open(f"{self.folder}/job.json", "w", encoding="utf-8") as file:
            file.write(processes.json.dumps(job))
        submitted = self.server.winnow("submit", f"{self.folder}/job.json")
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        processes.wait_until(lambda: len(self.server.trainers()) >= WORKERS, "each worker trains")

    def expect_nothing_inherited(self):
        """Neither workers nor trainers hold a socket, a pipe end or a file of those who started them."""
        server = set(open_files(self.server.pid).values())
        self.assertTrue(any(name.startswith("socket:") for name in server))
        self.assertTrue(any(name.endswith("winnow.db") for name in server))
        for worker in self.server.workers():
            held = set(open_files(worker).values())
            own = {name for name in server & held if not name.startswith(("anon_inode:", "/dev/"))}
            self.assertEqual(own, set(), f"worker {worker} holds what its server opened")
            for trainer in processes.children_of(worker):
                kept = set(open_files(trainer).values()) & (server | held)
                kept = {name for name in kept if not name.startswith(("anon_inode:", "/dev/"))}
                self.assertEqual(kept, set(), f"trainer {trainer} holds what was opened above it")

    def kill_again_and_again(self):
        slowest = 0
        for _ in range(KILLS):
            workers = self.server.workers()
            self.server.kill()
            slowest = max(slowest, self.server.start())
            self.assertEqual(self.server.workers(), workers, "its local workers train on")
            self.expect_nothing_inherited()
        print(f"{KILLS} kills: back after {slowest:.2f} s at most")

    def test_every_listener_is_back_at_once(self):
        self.begin(tls=False)
        self.expect_nothing_inherited()
        self.kill_again_and_again()
        self.assertEqual(self.server.stop(), 0)

    def test_over_tls_too(self):
        self.begin(tls=True)
        self.kill_again_and_again()


if __name__ == "__main__":
    processes.main()
