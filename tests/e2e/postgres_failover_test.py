"""Two servers on one PostgreSQL database, and a job whose leader is killed, stopped and continued, and whose database ends and
comes back. Workers and clients are given the addresses of both servers. WINNOW_TEST_ROUNDS repeats that (default: once).
"""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import unittest

import processes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import with_postgres  # noqa: E402

from hundred_kills_test import METRIC, OBJECTIVE, TRIALS, job  # noqa: E402


ROUNDS = int(os.environ.get("WINNOW_TEST_ROUNDS", "1"))


class Door:
    """A port that leads to a server's, which is another one each time it starts and none while it does not listen."""

    def __init__(self, server):
        self.server = server
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(near,), daemon=True).start()

    def _pass_on(self, near):
        with near:
            try:
                far = socket.create_connection(("127.0.0.1", self.server.listens_at()))
            except OSError:
                return
            with far:
                back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
                back.start()
                self._pump(near, far)
                back.join()

    @staticmethod
    def _pump(one, other):
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class DatabaseServer(processes.Server):
    """winnow-server on PostgreSQL; start does not wait, since it may be a standby."""

    def __init__(self, folder, database):
        os.makedirs(folder, exist_ok=True)
        super().__init__(folder, database=database, flags=["--declare-workers", "4 x slots=1", "--state-dir",
                                                           os.path.join(folder, "state")])
        self.door = Door(self)

    def start(self):
        if os.path.exists(self.port_file):
            os.remove(self.port_file)
        self.began = len(self.log())
        self.arguments = [f"{processes.BIN}/winnow-server", "--db", self.database, "--listen", "127.0.0.1:0", "--port-file",
                          self.port_file, "--local-workers", "0", "--http", "off"] + self.flags
        processes.Program.start(self)

    def listens_at(self):
        """OSError: it does not listen."""
        with open(self.port_file, encoding="ascii") as file:
            return int(file.read())

    def leads(self):
        return self.alive() and " listens on " in self.log()[self.began:]


class Site:
    """Four workers, two servers and their database."""

    def __init__(self, database):
        self.database = database
        self.cluster = processes.Cluster(workers=0)
        self.folder = self.cluster.folder
        self.servers = [DatabaseServer(os.path.join(self.folder, name), database.address()) for name in ("a", "b")]
        self.address = ",".join(server.door.address for server in self.servers)
        self.workers = []

    def leader(self, but=None):
        return processes.wait_for_leader(server for server in self.servers if server is not but)

    def begin(self):
        self.leader()
        self.client = processes.Client(self.servers[0], self.address)
        self.workers = [processes.Worker(self, self.folder, f"w{i}") for i in range(4)]
        for worker in self.workers:
            worker.start()

    def kill_leader(self):
        leader = self.leader()
        leader.kill()
        self.leader(but=leader)
        leader.start()

    def stop_leader(self):
        """It stands still until the other leads, goes on, and ends by itself."""
        leader = self.leader()
        leader.signal(signal.SIGSTOP)
        self.leader(but=leader)
        leader.signal(signal.SIGCONT)
        leader.process.wait(processes.PATIENCE)
        if "nothing more can be recorded" not in leader.log():
            raise AssertionError("the former leader did not say why it ended:\n" + leader.log()[-2000:])
        leader.start()

    def restart_database(self):
        self.database.stop()
        self.database.start()

    def end(self, failed):
        for program in (*self.workers, *self.servers):
            program.kill()
            if failed:
                print(f"--- {program.log_file}\n" + program.log()[-4000:], file=sys.stderr)
        for server in self.servers:
            server.door.listener.close()
        self.cluster.__exit__(None)


def server_with(*arguments):
    """Runs winnow-server to its end; what it printed."""
    done = subprocess.run([f"{processes.BIN}/winnow-server", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"winnow-server {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class PostgresFailoverTest(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(self):
        with with_postgres.Cluster() as database:
            site = Site(database)
            failed = True
            try:
                self.run_job(site)
                failed = False
            finally:
                site.end(failed)

    def run_job(self, site):
        site.begin()
        processes.write_table(f"{site.folder}/train.csv", 6000, 1)
        processes.write_table(f"{site.folder}/validation.csv", 1000, 2)
        name = site.client.submit(job(site.folder, nodes=2), site.folder)
        acts = [site.kill_leader, site.stop_leader, site.restart_database, site.kill_leader] * ROUNDS
        every = 1200 // len(acts)  # reports, of 1,692
        done = []
        reports = [0]

        def on_event(event):
            if event["kind"] != "reported":
                return
            reports[0] += 1
            if len(done) < len(acts) and reports[0] >= every * (len(done) + 1):
                done.append(acts[len(done)])
                done[-1]()

        watch = processes.Watch(site.client, name, on_event)
        try:
            self.assertEqual(watch.to_end(), 0)
        finally:
            watch.close()
        self.assertEqual(len(done), len(acts))
        site.client.run("replay", name, "--verify")
        points = site.client.json("metrics", name)
        points = points["points"] if isinstance(points, dict) else points
        curves = {}
        for point in points:
            key = int(point["trial"]), point["metric"], int(point["resource"])
            self.assertNotIn(key, curves)
            curves[key] = point["value"]
        # What was once told as recorded is recorded and was told once.
        told = [int(event["sequence"]) for event in watch.events if event["kind"] == "reported"]
        self.assertEqual(len(told), len(set(told)))
        recorded = site.database.psql("SELECT sequence FROM reports WHERE sequence > 0").split()
        self.assertEqual(len(recorded), len(set(recorded)))
        self.assertEqual(set(told) - {int(sequence) for sequence in recorded}, set())
        # What a worker has seen a rank print is recorded.
        lines = 0
        for worker in site.workers:
            for (trial, _), text in worker.printed().items():
                for level, value in re.findall(rf"^\[(\d+)\].*{METRIC}:([0-9.]+)$", text, re.MULTILINE):
                    lines += 1
                    self.assertEqual(curves.get((trial, OBJECTIVE, int(level) + 1)), float(value))
        self.assertGreater(lines, 100)
        self.assertEqual(int(site.database.psql("SELECT COUNT(*) FROM trials")), TRIALS)
        # Each server that led has counted up the epoch once: the first, and one after each act on the leader.
        self.assertGreaterEqual(int(site.database.psql("SELECT epoch FROM leader")), 1 + 3 * ROUNDS)
        for server in site.servers:
            server.stop()
        self.move(site)
        print(f"{reports[0]} reports told, {lines} printed, {len(done)} troubles")

    def move(self, site):
        """The database is sound, and is the same after it was copied to a file and from there to another database."""
        address = site.database.address()
        self.assertIn("is sound", server_with("--check", "--db", address))
        file = os.path.join(site.folder, "copy.db")
        self.assertIn("they are the same", server_with("--db", address, "--copy-to", file))
        self.assertIn("is sound", server_with("--check", "--db", file))
        site.database.psql("CREATE DATABASE back TEMPLATE template0 ENCODING 'UTF8'")
        back = site.database.address("back")
        self.assertIn("they are the same", server_with("--db", file, "--copy-to", back))
        self.assertIn("is sound", server_with("--check", "--db", back))
        rows = "SELECT COUNT(*), SUM(value) FROM reports"
        count, total = sqlite3.connect(file).execute(rows).fetchone()
        there, sum_there = site.database.psql(rows, "back").split("|")
        self.assertEqual((count, round(total, 6)), (int(there), round(float(sum_there), 6)))


if __name__ == "__main__":
    if with_postgres.programs() is None:
        print("skipped here: PostgreSQL's server (Debian's package postgresql) is not installed")
        sys.exit(processes.SKIPPED)
    processes.main()
