#!/usr/bin/env python3
"""PostgreSQL as two nodes under Patroni in synchronous mode, two winnow-servers and 64 busy workers: the primary is killed again
and again. How long nothing is acknowledged, how much of that PostgreSQL has no primary, whether all that was acknowledged is
there, once, and whether a server that no longer led committed anything.

    bench/patroni.py [KILLS, default 5 [BIN_DIR, default build/bin [TTL, default that of the recipe]]]

Four kills of five are of the primary's PostgreSQL alone (SIGKILL to the postmaster): its Patroni finds out and gives the lead
away. The fifth is the loss of a machine: its network goes, and then all its processes; nothing but the end of Patroni's ttl tells
the other node. Before the next kill the node is a synchronous standby again. A server that has ended by itself is started again,
as a supervisor would; the servers have the default lease.

The configuration is the recipe of docs/postgresql.md, but for DIFFERENCES. Each node, the store of Patroni (etcd), each server and
the workers are on hosts of their own (network namespaces). With another TTL, loop_wait and retry_timeout are 1. The exit code is 0
if nothing was lost, recorded twice or committed by a server that no longer led, and the 95 % quantile of a worker's gap is below
5 s, or below 5 s more than the ttl where a machine is lost.

Needs root, ip, nft and Debian's packages curl, patroni, etcd-server and postgresql.
"""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ["WINNOW_BIN_DIR"] = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("WINNOW_BIN_DIR", str(ROOT / "build/bin"))
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/support")]
import busy_workers  # noqa: E402
import network  # noqa: E402
import processes  # noqa: E402
import two_servers  # noqa: E402
import with_postgres  # noqa: E402

KINDS = ("PostgreSQL killed", "machine lost")
# What is not as in the recipe: names, folders, no TLS and no passwords, and what the count of fenced commits needs.
DIFFERENCES = {
    "etcd1:2379,etcd2:2379,etcd3:2379": "{etcd}:2379",
    "name: pg1": "name: {name}",
    '"pg1:8008"': '"{address}:8008"',
    '"pg1:5432"': '"{address}:5432"',
    "/var/lib/postgresql/15/winnow": "{folder}/data",
    "/usr/lib/postgresql/15/bin": "{programs}\n  parameters: {{unix_socket_directories: {folder}}}",
    "use_pg_rewind: true": "use_pg_rewind: true, parameters: {{track_commit_timestamp: true}}",
    "local all all peer": "local all all trust",
    "hostssl all all samenet scram-sha-256": "host all all samenet trust",
    "hostssl replication replicator samenet scram-sha-256": "host replication replicator samenet trust",
}


def recipe(ttl):
    """The file of the recipe with the differences, for `format`; and its ttl."""
    text = re.search(r"```yaml\n(# /etc/patroni/config.yml.*?)```", (ROOT / "docs/postgresql.md").read_text(encoding="utf-8"),
                     re.DOTALL)[1].replace("{", "{{").replace("}", "}}")
    for there, here in DIFFERENCES.items():
        if there not in text:
            raise AssertionError(f"docs/postgresql.md does not contain: {there}")
        text = text.replace(there, here)
    if ttl:
        for name, seconds in ("ttl", ttl), ("loop_wait", 1), ("retry_timeout", 1):
            text = re.sub(rf"(?m)^(    {name}:) \d+", rf"\1 {seconds}", text)
    return text, int(re.search(r"(?m)^    ttl: (\d+)", text)[1])


class Node:
    """A PostgreSQL server and its Patroni on a host of their own."""

    def __init__(self, site, name, text):
        self.host, self.folder, self.user, self.process = site.net[name], os.path.join(site.folder, name), site.user, None
        os.makedirs(self.folder)
        os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.config = os.path.join(self.folder, "config.yml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text.format(name=name, address=self.host.address, folder=self.folder, etcd=site.net["etcd"].address,
                                   programs=with_postgres.programs()))

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self.host.prefix, "unshare", "--pid", "--fork", "--mount-proc", "setpriv", f"--reuid={self.user.pw_uid}",
                 f"--regid={self.user.pw_gid}", "--clear-groups", "env", f"HOME={self.folder}", "patroni", self.config],
                stdout=log, stderr=log, cwd=self.folder)

    def kill_postgres(self):
        """The postmaster alone; the others of its processes have other names."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode().split("\0")
            except OSError:
                continue
            if words[0].endswith("/postgres") and f"{self.folder}/data" in words:
                os.kill(int(pid), signal.SIGKILL)

    def kill(self):
        """All its processes: their namespace ends with Patroni, which is its first."""
        if self.process is not None:
            processes.kill_all(processes.children_of(self.process.pid))
            self.process.wait()

    def ask(self, sql, user="postgres", database="postgres"):
        """None: it does not answer."""
        done = subprocess.run([with_postgres.programs() / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder,
                               "-U", user, "-c", sql, database], capture_output=True, text=True, check=False)
        return None if done.returncode != 0 else done.stdout.strip()

    def is_primary(self):
        return self.ask("SELECT pg_is_in_recovery()") == "f"

    def is_whole(self):
        """Whether it is primary and has a synchronous standby, as Patroni knows too."""
        streams = self.ask("SELECT NOT pg_is_in_recovery() AND EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
                           " AND state = 'streaming')")
        if streams != "t":
            return False
        done = subprocess.run([*self.host.prefix, "curl", "-s", "-m", "5", f"http://{self.host.address}:8008/cluster"],
                              capture_output=True, text=True, check=False)
        members = json.loads(done.stdout)["members"] if done.returncode == 0 else []
        return sorted((member["role"], member["state"]) for member in members) in (
            [("leader", "running"), ("sync_standby", state)] for state in ("running", "streaming"))


class Site:
    def __init__(self, net, text):
        self.net = net
        self.folder = tempfile.mkdtemp(prefix="winnow-patroni-")
        os.chmod(self.folder, 0o755)
        self.user = pwd.getpwnam("nobody")
        urls = [f"http://{net['etcd'].address}:{port}" for port in (2379, 2380)]
        self.memory = tempfile.mkdtemp(prefix="winnow-etcd-", dir="/dev/shm")  # so that PostgreSQL's disk does not slow it
        self.store = processes.Program(
            ["etcd", "--data-dir", self.memory, "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
             "--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1], "--initial-cluster", f"default={urls[1]}"],
            f"{self.folder}/etcd.log", net["etcd"].prefix)
        self.nodes = [Node(self, name, text) for name in ("pg1", "pg2")]
        hosts = ",".join(node.host.address for node in self.nodes)
        database = f"postgresql://winnow@{hosts}/winnow?target_session_attrs=read-write&connect_timeout=2"
        self.pair = two_servers.TwoServers([net["a"], net["b"]], net["workers"], self.folder,
                                           lambda host: two_servers.Server(host, self.folder, database), self.psql)

    def psql(self, sql):
        rows = self.primary().ask(sql, "winnow", "winnow")
        if rows is None:
            raise AssertionError(f"PostgreSQL did not answer {sql}")
        return rows

    def primary(self, but=None):
        return next((node for node in self.nodes if node is not but and node.is_primary()), None)

    def begin(self):
        self.store.start()
        processes.wait_until(lambda: "ready to serve client requests" in self.store.log(), "etcd is there")
        first, second = self.nodes
        first.start()
        processes.wait_until(first.is_primary, "the first node is primary")
        for sql in "CREATE ROLE winnow LOGIN", "CREATE DATABASE winnow OWNER winnow ENCODING 'UTF8' TEMPLATE template0":
            first.ask(sql)
        second.start()
        processes.wait_until(first.is_whole, "the second node is its synchronous standby")
        self.pair.begin()

    def kill_primary(self, kind):
        """How long PostgreSQL had no primary, the service's gap and the workers'."""
        crew = self.pair.crew
        primary = processes.wait_until(lambda: next((node for node in self.nodes if node.is_whole()), None), "both nodes are there")
        crew.until_all_acknowledged(meanwhile=self.pair.keep)
        begin = time.monotonic()
        if kind == "machine lost":
            primary.host.cut()
            primary.kill()
        else:
            primary.kill_postgres()

        def taken_over():
            self.pair.keep()
            time.sleep(0.1)  # what asks must not slow what is measured
            return self.primary(but=primary)

        processes.wait_until(taken_over, "the other node is primary")
        without_primary = time.monotonic() - begin
        crew.until_all_acknowledged(meanwhile=self.pair.keep)
        end = time.monotonic()
        if kind == "machine lost":
            primary.host.mend()
            primary.start()
        return without_primary, *crew.gaps(begin, end)

    def end(self, failed):
        self.pair.end()
        for node in self.nodes:
            node.kill()
            if failed and node.process:
                with open(f"{node.folder}/log", encoding="utf-8", errors="replace") as log:
                    print(f"--- {node.host.name}\n" + log.read()[-4000:], file=sys.stderr)
        self.store.kill()
        for folder in self.memory, self.folder:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    missing = network.why_not() or ", ".join(
        name for name, there in (("curl", shutil.which("curl")), ("patroni", shutil.which("patroni")),
                                 ("etcd-server", shutil.which("etcd")), ("postgresql", with_postgres.programs())) if not there)
    if missing:
        print(f"skipped here, for want of: {missing}")
        return processes.SKIPPED
    text, ttl = recipe(int(sys.argv[3]) if len(sys.argv) > 3 else None)
    gaps = {kind: ([], []) for kind in KINDS}
    without = {kind: [] for kind in KINDS}
    with network.Network(["etcd", "pg1", "pg2", "a", "b", "workers"]) as net:
        two_servers.end_on_signals()
        site = Site(net, text)
        failed = True
        try:
            site.begin()
            site.pair.begin_job("patroni")
            for number in range(kills):
                kind = KINDS[number % 5 == 4]
                without_primary, service, workers = site.kill_primary(kind)
                gaps[kind][0].append(service)
                gaps[kind][1].extend(workers)
                without[kind].append(without_primary)
                print(f"{number + 1:>4} {kind:<18} no primary for {without_primary:5.2f} s; nothing acknowledged for {service:5.2f} s;"
                      f" of a worker at most {max(workers):5.2f} s", flush=True)
            site.pair.end_job()
            failed = False
        finally:
            site.end(failed)
    print(f"\n{kills} kills of the primary, {two_servers.WORKERS} workers; Patroni's ttl {ttl} s")
    busy_workers.print_gaps(gaps)
    print("\nseconds without a primary")
    for kind, seconds in without.items():
        if seconds:
            print(f"  {kind:<20} {len(seconds):>4} times          p50 {busy_workers.quantile(seconds, 0.5):.2f}, "
                  f"max {max(seconds):.2f}")
    kept = site.pair.counts.kept()
    for kind, goal in zip(KINDS, (busy_workers.GOAL_SECONDS, ttl + busy_workers.GOAL_SECONDS)):
        if gaps[kind][1]:
            kept = busy_workers.in_time(gaps[kind][1], f", {kind},", goal) and kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
