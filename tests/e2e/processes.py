"""Real winnow processes for tests: a server, workers and what the command line says of their jobs.

WINNOW_BIN_DIR names the folder with the programs. Everything that a test starts ends with its Cluster.
"""

import json
import os
import random
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = os.environ.get("WINNOW_BIN_DIR", "")
PATIENCE = int(os.environ.get("WINNOW_TEST_PATIENCE", "240"))  # seconds after which something that must happen has not
SKIPPED = 77    # exit code by which ctest knows a skipped test


def wait_until(condition, what, patience=PATIENCE):
    """Returns the first true value of `condition`. Looking takes at most a quarter of the time: a look may be a process of
    its own, and what is waited for needs the processors too."""
    end = time.monotonic() + patience
    while True:
        begin = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"in {patience} s it did not happen that {what}")
        select.select([], [], [], max(0.01, min(0.25, 3 * (now - begin))))


def wait_for_leader(servers):
    """Returns the one of these servers of one PostgreSQL database that leads. One that has ended by itself is started again,
    as a supervisor would, such as a former leader after its database was away."""
    servers = list(servers)

    def find():
        for server in servers:
            if not server.alive():
                server.start()
        return next((server for server in servers if server.leads()), None)
    return wait_until(find, "a server leads")


def rows(database, sql, *values):
    """What a database that is a file says, beside its server."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def free_ports(count):
    """Ports of this machine, away from those that the system gives out."""
    found = []
    while len(found) < count:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                found.append(port)
            except OSError:
                pass
    return found


def write_table(path, rows, seed, columns=12):
    """A CSV of numbers whose label "y" depends on them and on noise."""
    draw = random.Random(seed)
    with open(path, "w", encoding="ascii") as file:
        file.write("y," + ",".join(f"x{c}" for c in range(columns)) + "\n")
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(columns)]
            score = x[0] * x[1] + 0.5 * x[3] - (x[4] > 0.5) + abs(x[2]) - 0.8 + draw.gauss(0, 1)
            file.write(("1," if score > 0 else "0,") + ",".join(f"{v:.4f}" for v in x) + "\n")


def make_certificate(folder):
    """cert.pem and key.pem, of localhost."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
                   check=True, capture_output=True)


def processes_naming(folder):
    """Ids of other processes that name the folder in their environment or command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/cmdline", "rb") as line:
                if folder.encode() in environ.read() + line.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def kill_all(pids):
    """Kills those of the processes that are still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def parent_of(pid):
    """-1 for a process that is gone or only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            state, parent = file.read().rsplit(")", 1)[1].split()[:2]
        return -1 if state == "Z" else int(parent)
    except (OSError, IndexError):
        return -1


def is_parent(pid):
    """Whether it is a parent, by the variable that it was started with. A rank that it has forked has another there."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return re.search(rb"(^|\0)WINNOW_ASSIGNMENT=[^\0]*\.parent-", file.read()) is not None
    except OSError:
        return False


def children_of(parent):
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == parent]


class Program:
    """A process, its log, and its death. `cache`: the folder for what its trainers keep, instead of the user's; trials that run
    as others have one of their own."""

    def __init__(self, arguments, log, prefix=(), cache=None):
        self.arguments, self.log_file, self.prefix, self.cache = list(arguments), log, list(prefix), cache
        self.process = None

    def start(self):
        environment = dict(os.environ)
        if self.cache and "--run-as" not in self.arguments:
            environment.setdefault("WINNOW_CACHE_DIR", self.cache)
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self.prefix + self.arguments, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=environment)

    @property
    def pid(self):
        """Of the program itself; a prefix such as "ip netns exec" becomes it by exec."""
        return self.process.pid

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.alive():
            self.process.kill()
            self.process.wait()

    def stop(self, patience=PATIENCE):
        """Asks it to end; its exit code."""
        if self.alive():
            self.process.terminate()
        return self.process.wait(patience)

    def log(self):
        try:
            with open(self.log_file, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""


def new_schema(address, folder):
    """The address of a new schema of a PostgreSQL database, named after the folder."""
    name = "e2e_" + "".join(c if c.isalnum() else "_" for c in os.path.basename(folder)).lower()
    subprocess.run(["psql", "-X", "-q", "-d", address, "-c", f"CREATE SCHEMA {name}"], check=True)
    return f"{address}&options=-csearch_path%3D{name}"


class Server(Program):
    """winnow-server, without local workers unless a flag is --local-workers; a restart keeps its port. Its database is a file; or
    where the test runs under tests/support/with_postgres.py, a schema of that PostgreSQL server."""

    def __init__(self, folder, listen="127.0.0.1:0", flags=(), prefix=(), database=None):
        postgres = os.environ.get("WINNOW_TEST_POSTGRES", "")
        self.database = database or (new_schema(postgres, folder) if postgres else os.path.join(folder, "winnow.db"))
        self.port_file = os.path.join(folder, "port")
        self.flags = list(flags)
        if self.database.startswith("postgresql:") and "--state-dir" not in self.flags:
            self.flags += ["--state-dir", os.path.join(folder, "winnow.db.d")]
        self.host, port = listen.rsplit(":", 1)
        self.port = int(port)
        super().__init__([], os.path.join(folder, "server.log"), prefix, os.path.join(folder, "cache"))

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def start(self):
        if os.path.exists(self.port_file):
            os.remove(self.port_file)
        self.arguments = [f"{BIN}/winnow-server", "--db", self.database, "--listen", self.address, "--port-file",
                          self.port_file] + self.flags
        if "--local-workers" not in self.flags:
            self.arguments += ["--local-workers", "0"]
        if "--http" not in self.flags:
            self.arguments += ["--http", "off"]
        super().start()
        wait_until(lambda: os.path.exists(self.port_file) or not self.alive(), "the server listens")
        if not self.alive():
            raise AssertionError("winnow-server did not start:\n" + self.log()[-3000:])
        with open(self.port_file, encoding="ascii") as file:
            self.port = int(file.read())

    def restart(self):
        self.kill()
        self.start()

    def database_file(self):
        """Its database as a SQLite file. REQUIRES: it has ended."""
        if not self.database.startswith("postgresql:"):
            return self.database
        file = self.port_file + ".db"
        subprocess.run([f"{BIN}/winnow-server", "--db", self.database, "--copy-to", file], check=True,
                       stdout=subprocess.DEVNULL)
        return file


class Worker(Program):
    def __init__(self, server, folder, name, slots=1, shared=None, flags=(), prefix=(), host="127.0.0.1",
                 rendezvous_port=None):
        self.name, self.folder = name, os.path.join(folder, name)
        self.work = os.path.join(self.folder, "work")
        self.shared = shared or os.path.join(folder, "shared")
        os.makedirs(self.folder, exist_ok=True)
        arguments = [f"{BIN}/winnow-worker", "--server", server.address, "--name", name, "--slots", str(slots),
                     "--work-dir", self.work, "--shared-dir", self.shared, "--host", host]
        if rendezvous_port:
            arguments += ["--rendezvous-port", str(rendezvous_port)]
        super().__init__(arguments + list(flags), os.path.join(folder, f"{name}.log"), prefix,
                         os.path.join(self.folder if shared else folder, "cache"))

    def trainers(self):
        """Process ids of the ranks that it runs."""
        return [pid for pid in self.children() if not is_parent(pid)]

    def parents(self):
        """Process ids of the parents from which it forks ranks."""
        return [pid for pid in self.children() if is_parent(pid)]

    def children(self):
        return children_of(self.pid) if self.alive() else []

    def printed(self):
        """(trial, attempt) -> what rank 0 was seen to print, as this worker keeps it."""
        texts = {}
        for folder, _, files in os.walk(os.path.join(self.work, "jobs")):
            for name in files:
                match = re.fullmatch(r"attempt-(\d+)-rank-0\.stdout\.log", name)
                if match:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        texts[int(os.path.basename(folder)), int(match[1])] = file.read()
        return texts


class Client:
    """The command line of one server, at its own address or at another that leads there."""

    def __init__(self, server, address=None):
        self.server, self.address = server, address

    def command(self, *arguments):
        return [f"{BIN}/winnow", *arguments, "--server", self.address or self.server.address]

    def run(self, *arguments, ok=(0,)):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode not in ok:
            raise AssertionError(f"winnow {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *arguments, ok=(0,)):
        return json.loads(self.run(*arguments, "-o", "json", ok=ok))

    def submit(self, spec, folder):
        path = os.path.join(folder, spec["name"] + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        return self.json("submit", path)["id"]

    def workers(self, *flags):
        found = self.json("workers", *flags)
        return found["workers"] if isinstance(found, dict) else found


class Watch:
    """What `winnow watch` tells of a job, over restarts of the server too; `on_event` is called on its thread."""

    def __init__(self, client, job, on_event=None):
        self.events, self.on_event, self.failure = [], on_event, None
        self.process = subprocess.Popen(client.command("watch", job, "--from-start", "-o", "json"), stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            if "kind" not in event:
                continue  # the job itself, at the end
            self.events.append(event)
            if self.on_event and not self.failure:
                try:
                    self.on_event(event)
                except BaseException as error:  # told by to_end, on the test's thread
                    self.failure = error

    def count(self, kind, text=""):
        return sum(event["kind"] == kind and text in event["text"] for event in self.events)

    def newest(self, kind):
        """The sequence of the newest event of that kind; 0: none has come."""
        return max((int(event["sequence"]) for event in self.events if event["kind"] == kind), default=0)

    def to_end(self, patience=PATIENCE):
        self.thread.join(patience)
        if self.failure:
            raise self.failure
        if self.thread.is_alive():
            raise AssertionError(f"the job did not end in {patience} s; the newest event: {self.events[-1:]}")
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.thread.join(PATIENCE)
        self.process.stdout.close()


class Record:
    """What a server and, once it is stopped, its database say of a job."""

    def __init__(self, client, job):
        points = client.json("metrics", job)
        self.points = points["points"] if isinstance(points, dict) else points
        described = client.json("describe", job)
        self.best = described["best"]["trial"], described["best"]["objective"]
        client.server.stop()
        connection = sqlite3.connect(client.server.database_file())
        rows = lambda sql: connection.execute(sql).fetchall()  # noqa: E731
        self.configurations = dict(rows("SELECT trial, configuration FROM trials"))
        self.states = dict(rows("SELECT trial, state FROM trials"))
        self.reports = rows("SELECT trial, attempt, resource, metric, value, sequence FROM reports")
        self.attempts = rows("SELECT trial, attempt, rank, outcome, reason FROM assignments ORDER BY assignment")
        self.integrity = rows("PRAGMA integrity_check")[0][0]
        connection.close()

    def curves(self):
        """By trial, metric and level. AssertionError where a level stands twice."""
        curves = {}
        for point in self.points:
            key = int(point["trial"]), point["metric"], int(point["resource"])
            if key in curves:
                raise AssertionError(f"counted twice: {point}")
            curves[key] = point["value"]
        return curves

    def sequences(self):
        """Of the recorded values of the objective, each of one trial, attempt and level."""
        return [sequence for *_, sequence in self.reports if sequence > 0]

    def disagreements(self):
        """Reports of a level that differ from those of another attempt."""
        known = {}
        return [row for row in self.reports if known.setdefault((row[0], row[2], row[3]), row[4]) != row[4]]

    def expect_same(self, test, calm):
        """Fails `test` unless this is, to the last digit, what the undisturbed job came to."""
        test.assertEqual(self.disagreements(), [])
        test.assertEqual(self.curves(), calm.curves())
        test.assertEqual(self.configurations, calm.configurations)
        test.assertEqual(self.states, calm.states)
        test.assertEqual(self.best, calm.best)


class Cluster:
    """A folder with a server and workers in it. Use it in `with`."""

    def __init__(self, workers=2, slots=2, server_flags=(), worker_flags=()):
        self.folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        # Jobs may be submitted before the workers have registered.
        declared = ["--declare-workers", f"{workers} x slots={slots}"] if workers else []
        self.server = Server(self.folder, flags=[*declared, *server_flags])
        self.client = Client(self.server)
        self.worker_count, self.slots, self.worker_flags = workers, slots, worker_flags
        self.workers, self.watches = [], []

    def __enter__(self):
        try:
            self.begin()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def begin(self):
        self.server.start()
        for number in range(self.worker_count):
            self.add_worker(f"w{number + 1}")

    def add_worker(self, name, **options):
        options.setdefault("slots", self.slots)
        # Ports of its own for each worker of this machine, away from those that the system gives out.
        options.setdefault("rendezvous_port", 20000 + (os.getpid() * 16 + len(self.workers)) % 800 * 12)
        worker = Worker(self.server, self.folder, name, flags=self.worker_flags, **options)
        self.workers.append(worker)
        worker.start()
        return worker

    def watch(self, job, on_event=None):
        self.watches.append(Watch(self.client, job, on_event))
        return self.watches[-1]

    def __exit__(self, kind, *_):
        for watch in self.watches:
            watch.close()
        for program in [*self.workers, self.server]:
            if program.process is not None:
                if program.alive():
                    program.signal(signal.SIGCONT)
                program.kill()
            if kind is not None:
                print(f"--- {program.log_file}\n" + program.log()[-4000:], file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    """Runs the tests of the calling script; the exit code tells ctest whether all were skipped."""
    if not os.path.exists(f"{BIN}/winnow-server"):
        print("skipped: WINNOW_BIN_DIR names no folder with winnow-server")
        sys.exit(SKIPPED)
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    # A class that is skipped while it is set up counts once among the skipped, and its tests are not run.
    skipped = sum(isinstance(test, unittest.TestCase) for test, _ in result.skipped)
    if result.wasSuccessful() and result.testsRun == skipped:
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)
