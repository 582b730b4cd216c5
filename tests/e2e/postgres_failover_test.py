"""Two servers on one PostgreSQL database, and a job whose leader is killed, stopped and continued, and whose database ends and
comes back.

Both servers are reached by one port: a proxy of the test that connects to whichever listens.
"""

import os
import re
import signal
import socket
import sys
import threading
import unittest

import processes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import with_postgres  # noqa: E402

from hundred_kills_test import METRIC, OBJECTIVE, job  # noqa: E402

TRIALS = 60


class LeaderProxy:
    """A port that leads to the first of some servers that takes connections. Connections to a server that `cut` names end."""

    def __init__(self, servers):
        self.servers, self.open = servers, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.avoided = None
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self, server):
        with self.lock:
            self.avoided = server
            for owner, near, far in self.open:
                if owner is server:
                    self._end(near)
                    self._end(far)

    def _serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near):
        for server in self.servers:
            if server.port == 0 or server is self.avoided:
                continue
            try:
                far = socket.create_connection(("127.0.0.1", server.port), timeout=1)
                far.settimeout(None)
            except OSError:
                continue
            with self.lock:
                self.open.append((server, near, far))
            back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
            back.start()
            self._pump(near, far)
            back.join()
            with self.lock:
                self.open = [pair for pair in self.open if pair[1] is not near]
                near.close()
                far.close()
            return
        near.close()

    @staticmethod
    def _pump(one, other):
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
        except OSError:
            pass
        LeaderProxy._end(one)
        LeaderProxy._end(other)

    @staticmethod
    def _end(one):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class DatabaseServer(processes.Server):
    """winnow-server on PostgreSQL; start does not wait, since it may be a standby."""

    def __init__(self, folder, database):
        os.makedirs(folder, exist_ok=True)
        super().__init__(folder, database=database, flags=["--declare-workers", "4 x slots=1", "--state-dir",
                                                           os.path.join(folder, "state")])

    def start(self):
        if os.path.exists(self.port_file):
            os.remove(self.port_file)
        self.port = 0
        self.arguments = [f"{processes.BIN}/winnow-server", "--db", self.database, "--listen", "127.0.0.1:0", "--port-file",
                          self.port_file, "--local-workers", "0", "--http", "off"] + self.flags
        processes.Program.start(self)

    def leads(self):
        if not self.alive() or not os.path.exists(self.port_file):
            return False
        with open(self.port_file, encoding="ascii") as file:
            self.port = int(file.read())
        return True


class Site:
    """Four workers, two servers and their database."""

    def __init__(self, database):
        self.database = database
        self.cluster = processes.Cluster(workers=0)
        self.folder = self.cluster.folder
        self.servers = [DatabaseServer(os.path.join(self.folder, name), database.address()) for name in ("a", "b")]
        self.proxy = LeaderProxy(self.servers)

    def leader(self):
        return processes.wait_until(lambda: next((s for s in self.servers if s is not self.proxy.avoided and s.leads()), None),
                                    "a server leads")

    def begin(self):
        for server in self.servers:
            server.start()
        self.leader()
        self.client = processes.Client(self.servers[0], self.proxy.address)
        target = type("Target", (), {"address": self.proxy.address})
        self.workers = [processes.Worker(target, self.folder, f"w{i}") for i in range(4)]
        for worker in self.workers:
            worker.start()

    def kill_leader(self):
        leader = self.leader()
        leader.kill()
        leader.port = 0
        self.leader()
        leader.start()

    def stop_leader(self):
        """It stands still until the other leads, goes on, and ends by itself."""
        leader = self.leader()
        leader.signal(signal.SIGSTOP)
        self.proxy.cut(leader)
        self.leader()
        leader.signal(signal.SIGCONT)
        leader.process.wait(processes.PATIENCE)
        if "another winnow-server leads" not in leader.log() and "nothing more can be recorded" not in leader.log():
            raise AssertionError("the former leader did not say why it ended:\n" + leader.log()[-2000:])
        leader.start()
        self.proxy.avoided = None

    def restart_database(self):
        self.database.stop()
        self.database.start()

    def end(self):
        for program in (*getattr(self, "workers", ()), *self.servers):
            program.kill()
        self.proxy.listener.close()
        self.cluster.__exit__(None)


class PostgresFailoverTest(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(self):
        with with_postgres.Cluster() as database:
            site = Site(database)
            try:
                self.run_job(site)
            finally:
                site.end()

    def run_job(self, site):
        site.begin()
        processes.write_table(f"{site.folder}/train.csv", 6000, 1)
        processes.write_table(f"{site.folder}/validation.csv", 1000, 2)
        name = site.client.submit(job(site.folder), site.folder)
        acts = [site.kill_leader, site.stop_leader, site.restart_database, site.kill_leader]
        done = []
        reports = [0]

        def on_event(event):
            if event["kind"] != "reported":
                return
            reports[0] += 1
            if len(done) < len(acts) and reports[0] >= 40 * (len(done) + 1):
                done.append(acts[len(done)])
                done[-1]()

        watch = processes.Watch(site.client, name, on_event)
        self.assertEqual(watch.to_end(), 0)
        self.assertEqual(len(done), len(acts))
        site.client.run("replay", name, "--verify")
        points = site.client.json("metrics", name)
        points = points["points"] if isinstance(points, dict) else points
        curves = {}
        for point in points:
            key = int(point["trial"]), point["metric"], int(point["resource"])
            self.assertNotIn(key, curves)
            curves[key] = point["value"]
        # What was once told as recorded was told once, and what a worker has seen a rank print is recorded.
        told = [int(event["sequence"]) for event in watch.events if event["kind"] == "reported"]
        self.assertEqual(len(told), len(set(told)))
        lines = 0
        for worker in site.workers:
            for (trial, _), text in worker.printed().items():
                for level, value in re.findall(rf"^\[(\d+)\].*{METRIC}:([0-9.]+)$", text, re.MULTILINE):
                    lines += 1
                    self.assertEqual(curves.get((trial, OBJECTIVE, int(level) + 1)), float(value))
        self.assertGreater(lines, 100)
        trials = int(site.database.psql("SELECT COUNT(*) FROM trials"))
        self.assertEqual(trials, TRIALS)
        doubled = site.database.psql("SELECT COUNT(*) FROM (SELECT job, sequence FROM reports WHERE sequence > 0"
                                     " GROUP BY 1, 2 HAVING COUNT(*) > 1) d")
        self.assertEqual(doubled, "0")
        for server in site.servers:
            server.stop()
        check = processes.subprocess.run([f"{processes.BIN}/winnow-server", "--check", "--db", site.database.address()],
                                         capture_output=True, text=True, check=False)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        file = os.path.join(site.folder, "copy.db")
        copy = processes.subprocess.run([f"{processes.BIN}/winnow-server", "--db", site.database.address(), "--copy-to", file],
                                        capture_output=True, text=True, check=False)
        self.assertEqual(copy.returncode, 0, copy.stdout + copy.stderr)
        check = processes.subprocess.run([f"{processes.BIN}/winnow-server", "--check", "--db", file], capture_output=True,
                                         text=True, check=False)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        print(f"{reports[0]} reports told, {lines} printed, {len(done)} troubles")


if __name__ == "__main__":
    if with_postgres.programs() is None:
        print("skipped here: PostgreSQL's server (Debian's package postgresql) is not installed")
        sys.exit(processes.SKIPPED)
    processes.main()
