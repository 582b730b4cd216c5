#!/usr/bin/env python3
"""PostgreSQL as two nodes under Patroni, in synchronous mode, and the primary killed again and again under 64 busy workers: how
long nothing is acknowledged, how much of that PostgreSQL has no primary, and whether all that was acknowledged is there, once.

    bench/patroni.py [KILLS, default 5 [BIN_DIR, default build/bin]]

Needs Debian's packages patroni, etcd-server and postgresql. A kill ends all processes of the primary's node at once (SIGKILL to
Patroni and PostgreSQL); the node comes back as a standby of the new primary before the next kill. Two winnow-servers; whichever
has ended by itself is started again, as a supervisor would.
"""

import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ["WINNOW_BIN_DIR"] = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("WINNOW_BIN_DIR", str(ROOT / "build/bin"))
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/support")]
import busy_workers  # noqa: E402
import processes  # noqa: E402
import with_postgres  # noqa: E402
from free_port import free_port  # noqa: E402

WORKERS = 64
ROUND = 5   # kills of one job; then a new one, so that its size stays that of a usual search
TTL = 20    # seconds after which Patroni holds a silent primary for dead; the least that it allows


class Node:
    """A PostgreSQL server and its Patroni."""

    def __init__(self, site, name):
        self.name, self.user = name, site.user
        self.folder = os.path.join(site.folder, name)
        os.makedirs(self.folder)
        os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.port, self.api = free_port(), free_port()
        self.process = None
        config = {
            "scope": "winnow", "name": name, "etcd3": {"hosts": site.etcd},
            "restapi": {"listen": f"127.0.0.1:{self.api}", "connect_address": f"127.0.0.1:{self.api}"},
            "bootstrap": {
                "dcs": {"ttl": TTL, "loop_wait": 2, "retry_timeout": 5, "maximum_lag_on_failover": 1048576,
                        "synchronous_mode": True, "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 200}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": f"{self.folder}/data", "bin_dir": str(with_postgres.programs()),
                "remove_data_directory_on_diverged_timelines": True,
                "pgpass": f"{self.folder}/pgpass", "parameters": {"unix_socket_directories": self.folder},
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust",
                           "host replication all 127.0.0.1/32 trust"],
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"}}}}
        self.config = os.path.join(self.folder, "patroni.json")  # JSON is YAML
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(config, file)

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(["patroni", self.config], stdout=log, stderr=log, cwd=self.folder, user=self.user.pw_uid,
                                            group=self.user.pw_gid, extra_groups=[], start_new_session=True)

    def kill(self):
        """All at once, as far as signals go."""
        if self.process is None:
            return
        pids = [self.process.pid, *processes.processes_naming(self.folder)]
        try:
            with open(f"{self.folder}/data/postmaster.pid", encoding="ascii") as file:
                postmaster = int(file.readline())
            pids += [postmaster, *processes.children_of(postmaster)]
        except OSError:
            pass
        processes.kill_all(pids)
        self.process.wait()

    def cluster(self):
        """Name -> (role, state) of the members; {}: it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api}/cluster", timeout=5) as answer:
                return {member["name"]: (member["role"], member["state"]) for member in json.load(answer)["members"]}
        except (OSError, ValueError):
            return {}


class Server(processes.Program):
    """start does not wait, since it may be a standby."""

    def __init__(self, site, name):
        folder = os.path.join(site.folder, f"server-{name}")
        os.makedirs(folder)
        self.address = f"127.0.0.1:{free_port()}"
        super().__init__(
            [f"{processes.BIN}/winnow-server", "--db", site.address, "--listen", self.address, "--local-workers", "0", "--http", "off",
             "--lease", "60", "--state-dir", f"{folder}/state", "--declare-workers", f"{WORKERS} x slots=1"], os.path.join(folder, "log"))


class Site:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-patroni-")
        os.chmod(self.folder, 0o755)
        self.user = pwd.getpwnam("nobody" if os.geteuid() == 0 else os.environ["USER"])
        client, peer = free_port(), free_port()
        self.etcd = f"127.0.0.1:{client}"
        self.store = processes.Program(
            ["etcd", "--data-dir", f"{self.folder}/etcd", "--listen-client-urls", f"http://{self.etcd}", "--advertise-client-urls",
             f"http://{self.etcd}", "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
             f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"], f"{self.folder}/etcd.log")
        self.nodes = [Node(self, name) for name in ("pg1", "pg2")]
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        self.address = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=2"
        self.servers = [Server(self, name) for name in ("a", "b")]
        self.crew = None

    def psql(self, sql):
        return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.address, "-c", sql], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    def primary(self, but=None):
        """The node whose PostgreSQL accepts writes."""
        for node in self.nodes:
            if node is but or not os.path.exists(f"{node.folder}/data/postmaster.pid"):
                continue
            done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(node.port), "-U", "postgres", "-c",
                                   "SELECT pg_is_in_recovery()"], capture_output=True, text=True, check=False)
            if done.stdout.strip() == "f":
                return node
        return None

    def whole(self):
        members = self.nodes[0].cluster()
        return sorted(role for role, _ in members.values()) == ["leader", "sync_standby"]

    def keep_servers(self):
        for server in self.servers:
            if not server.alive():
                server.start()
        return True

    def begin(self):
        self.store.start()
        self.nodes[0].start()
        processes.wait_until(self.primary, "the first node is primary")
        self.nodes[1].start()
        processes.wait_until(self.whole, "the second node is its synchronous standby")
        self.keep_servers()
        self.client = processes.Client(None, ",".join(server.address for server in self.servers))

    def begin_job(self, number):
        self.job = processes.wait_until(lambda: self.try_submit(number), "a job is submitted")
        self.crew = busy_workers.Crew(WORKERS, number, self.client.address)
        self.crew.until_all_acknowledged()

    def try_submit(self, number):
        try:
            return self.client.submit(busy_workers.job(f"patroni-{number}", WORKERS), self.folder)
        except AssertionError:
            return None  # no server leads yet

    def end_job(self):
        counts = self.crew.end(self.psql, self.job)
        self.client.run("replay", self.job, "--verify")
        self.client.run("stop", self.job)
        return counts

    def kill_primary(self):
        """The workers' and the service's gaps, and how long PostgreSQL had no primary."""
        processes.wait_until(self.whole, "both nodes are there")
        self.crew.until_all_acknowledged()
        primary = self.primary()
        begin = time.monotonic()
        primary.kill()
        processes.wait_until(lambda: self.keep_servers() and self.primary(but=primary), "the other node is primary")
        without_primary = time.monotonic() - begin
        self.crew.until_all_acknowledged(meanwhile=self.keep_servers)
        end = time.monotonic()
        primary.start()
        return without_primary, *self.crew.gaps(begin, end)

    def end(self):
        if self.crew:
            self.crew.kill()
        for server in self.servers:
            server.kill()
        for node in self.nodes:
            node.kill()
        self.store.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    missing = [name for name, there in (("patroni", shutil.which("patroni")), ("etcd-server", shutil.which("etcd")),
                                        ("postgresql", with_postgres.programs())) if not there]
    if missing:
        print(f"skipped here: {', '.join(missing)} not installed")
        return processes.SKIPPED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    gaps, without = ([], []), []
    acknowledged = lost = repeated = 0
    site = Site()
    try:
        site.begin()
        for number in range(kills):
            if number % ROUND == 0:
                site.begin_job(number // ROUND)
            without_primary, service, workers = site.kill_primary()
            gaps[0].append(service)
            gaps[1].extend(workers)
            without.append(without_primary)
            print(f"{number + 1:>4} no primary for {without_primary:5.1f} s; nothing acknowledged for {service:5.1f} s; of a worker "
                  f"at most {max(workers):5.1f} s", flush=True)
            if number % ROUND == ROUND - 1 or number == kills - 1:
                acknowledged, lost, repeated = (a + b for a, b in zip((acknowledged, lost, repeated), site.end_job()))
    finally:
        site.end()
    print(f"\n{kills} kills of the primary, {WORKERS} workers; Patroni's ttl {TTL} s")
    busy_workers.print_gaps({"primary killed": gaps})
    print(f"\nwithout a primary: p50 {busy_workers.quantile(without, 0.5):.1f} s, max {max(without):.1f} s")
    print(f"{acknowledged} reports acknowledged: {lost} of them lost, {repeated} recorded twice")
    return 0 if lost == repeated == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
