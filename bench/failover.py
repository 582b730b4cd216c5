#!/usr/bin/env python3
"""Two servers on one PostgreSQL database and 64 busy workers: the leader is killed, stopped, cut off, and has its clock set
wrong, in turn. How long nothing is acknowledged, whether all that was acknowledged is there, once, and whether a server that
no longer leads committed anything.

    bench/failover.py [TROUBLES, default 4, one of each kind [BIN_DIR, default build/bin]]

Needs root, ip, nft, PostgreSQL's server and libfaketime. Each server is on a host of its own (a network namespace), with TLS and
tokens; the workers are bench-busy-worker, each a process with a connection of its own, and report ten times a second. A worker's
gap is the longest time between two of its acknowledgements around a trouble; the service's gap is that between two
acknowledgements of any worker. A commit counts as one of a server that no longer leads if PostgreSQL committed it
(track_commit_timestamp) after the epoch that followed.
"""

import os
import pathlib
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ["WINNOW_BIN_DIR"] = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("WINNOW_BIN_DIR", str(ROOT / "build/bin"))
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/support")]
import busy_workers  # noqa: E402
import certificates  # noqa: E402
import network  # noqa: E402
import processes  # noqa: E402
import with_postgres  # noqa: E402

WORKERS = 64
ROUND = 20           # troubles of one job; then a new one, so that its size stays that of a usual search
KINDS = ("killed", "stopped", "cut off", "clock set wrong")
CLOCKS = ("+1d", "-1d", "+10y", "-3600s")
GOAL_SECONDS = 5.0
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
PORT = 7070

# What each transaction that writes reports says of its writer, and when leaders changed.
WITNESS = """
CREATE TABLE witness_writes (epoch BIGINT NOT NULL, xid XID NOT NULL);
CREATE TABLE witness_epochs (epoch BIGINT NOT NULL, xid XID NOT NULL);
CREATE FUNCTION witness_write() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO witness_writes VALUES (substring(current_setting('application_name') FROM '[0-9]+$')::bigint,
                                     pg_current_xact_id()::xid);
  RETURN NULL; END $$;
CREATE FUNCTION witness_epoch() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO witness_epochs VALUES (NEW.epoch, pg_current_xact_id()::xid);
  RETURN NULL; END $$;
CREATE TRIGGER witness AFTER INSERT ON reports FOR EACH STATEMENT EXECUTE FUNCTION witness_write();
CREATE TRIGGER witness AFTER UPDATE OF epoch ON leader FOR EACH ROW EXECUTE FUNCTION witness_epoch();
"""
FENCED_COMMITS = """
SELECT COUNT(*) FROM witness_writes w JOIN witness_epochs e ON e.epoch = w.epoch + 1
WHERE pg_xact_commit_timestamp(w.xid) > pg_xact_commit_timestamp(e.xid)
"""


class Server(processes.Program):
    """winnow-server on its host, with a clock that can be set; start does not wait, since it may be a standby."""

    def __init__(self, site, name):
        self.host, self.folder = site.net[name], os.path.join(site.folder, name)
        os.makedirs(self.folder)
        self.clock = os.path.join(self.folder, "clock")
        self.set_clock("+0s")
        self.address = f"{self.host.address}:{PORT}"
        self.state = os.path.join(self.folder, "state")
        faked = ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={self.clock}", "FAKETIME_DONT_FAKE_MONOTONIC=1",
                 "FAKETIME_CACHE_DURATION=1"]
        super().__init__(
            [f"{processes.BIN}/winnow-server", "--db", site.database.tcp_address(), "--listen", self.address, "--local-workers",
             "0", "--http", "off", "--state-dir", self.state, "--declare-workers", f"{WORKERS} x slots=1", "--tls-cert",
             f"{site.folder}/server.pem", "--tls-key", f"{site.folder}/server.key", "--leader-ca", f"{site.folder}/ca.pem"],
            os.path.join(self.folder, "log"), [*self.host.prefix, *faked])
        self.began = 0

    def set_clock(self, offset):
        with open(self.clock + ".part", "w", encoding="ascii") as file:
            file.write(offset + "\n")
        os.rename(self.clock + ".part", self.clock)

    def start(self):
        self.set_clock("+0s")
        self.began = len(self.log())
        super().start()

    def said(self, text):
        return text in self.log()[self.began:]

    def leads(self):
        return self.alive() and self.said(" listens on ")


class Database(with_postgres.Cluster):
    def tcp_address(self):
        return f"postgresql://winnow@{self.host.address}/postgres"


class Site:
    def __init__(self, net):
        self.net = net
        self.folder = tempfile.mkdtemp(prefix="winnow-failover-")
        self.database = Database(durable=True, settings=["track_commit_timestamp=on"], host=net["db"])
        self.servers = []
        self.crew = None

    def begin(self):
        names = ("a", "b")
        certificates.make_certificates(self.folder, ",".join(f"IP:{self.net[name].address}" for name in names))
        self.servers = [Server(self, name) for name in names]
        self.addresses = ",".join(server.address for server in self.servers)
        leader = self.servers[0]
        leader.start()
        processes.wait_until(leader.leads, "the first server leads")
        self.servers[1].start()
        self.database.psql(WITNESS)
        secret = self.admin().json("token", "create", "--role", "worker", "--name", "workers")["secret"]
        with open(f"{self.folder}/token", "w", encoding="ascii") as file:
            file.write(secret)
        os.chmod(f"{self.folder}/token", 0o600)

    def leader(self, but=None):
        return processes.wait_for_leader(server for server in self.servers if server is not but)

    def admin(self):
        return processes.Client(None, f"unix:{self.leader().state}/server.sock")

    def begin_job(self, number):
        self.job = self.admin().submit(busy_workers.job(f"failover-{number}", WORKERS), self.folder)
        self.crew = busy_workers.Crew(WORKERS, number, self.addresses, f"{self.folder}/ca.pem", f"{self.folder}/token",
                                      self.net["workers"].prefix)
        self.crew.until_all_acknowledged()

    def end_job(self):
        counts = self.crew.end(self.database.psql, self.job)
        self.admin().run("replay", self.job, "--verify")
        self.admin().run("stop", self.job)
        return counts

    def trouble(self, kind, number):
        """Makes it, and waits until all is as before; the service's gap and those of the workers."""
        leader = self.leader()
        other = next(server for server in self.servers if server is not leader)
        processes.wait_until(lambda: other.alive() and other.said("answers reads at"), "the other is a standby")
        self.crew.until_all_acknowledged()
        begin = time.monotonic()
        if kind == "killed":
            leader.kill()
        elif kind == "stopped":
            leader.signal(signal.SIGSTOP)
        elif kind == "cut off":
            leader.host.cut()
        else:
            leader.set_clock(CLOCKS[number % len(CLOCKS)])
            time.sleep(3)  # the new time is read within a second; its effects are what is looked for
        if kind != "clock set wrong":
            self.leader(but=leader)
        self.crew.until_all_acknowledged()
        end = time.monotonic()
        if kind == "stopped":
            leader.signal(signal.SIGCONT)
        elif kind == "cut off":
            leader.host.mend()
        elif kind == "clock set wrong":
            leader.set_clock("+0s")
        if kind in ("stopped", "cut off"):
            leader.process.wait(processes.PATIENCE)
            if not leader.said("nothing more can be recorded"):
                raise AssertionError("the former leader did not say why it ended:\n" + leader.log()[-2000:])
        if kind != "clock set wrong":
            leader.start()
        return self.crew.gaps(begin, end)

    def end(self):
        if self.crew:
            self.crew.kill()
        for server in self.servers:
            server.kill()
        self.database.remove()


def main():
    troubles = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    missing = network.why_not() or ("" if with_postgres.programs() else "PostgreSQL's server is not installed") or (
        "" if os.path.exists(FAKETIME) else "libfaketime is not installed")
    if missing:
        print(f"skipped here: {missing}")
        return processes.SKIPPED
    gaps = {kind: ([], []) for kind in KINDS}
    acknowledged = lost = repeated = 0
    with network.Network(["db", "a", "b", "workers"]) as net:
        site = Site(net)
        try:
            site.begin()
            for number in range(troubles):
                if number % ROUND == 0:
                    site.begin_job(number // ROUND)
                kind = KINDS[number % len(KINDS)]
                service, workers = site.trouble(kind, number // len(KINDS))
                gaps[kind][0].append(service)
                gaps[kind][1].extend(workers)
                print(f"{number + 1:>4} {kind:<16} nothing acknowledged for {service:5.2f} s; of a worker at most "
                      f"{max(workers):5.2f} s", flush=True)
                if number % ROUND == ROUND - 1 or number == troubles - 1:
                    counts = site.end_job()
                    acknowledged, lost, repeated = (a + b for a, b in zip((acknowledged, lost, repeated), counts))
            fenced = int(site.database.psql(FENCED_COMMITS))
            epochs = int(site.database.psql("SELECT epoch FROM leader"))
        finally:
            site.end()
    print(f"\n{troubles} troubles, {WORKERS} workers")
    p95 = busy_workers.print_gaps(gaps)
    print(f"\n{acknowledged} reports acknowledged: {lost} of them lost, {repeated} recorded twice; "
          f"{fenced} commits by a server that no longer led; {epochs} epochs")
    print(f"p95 of a worker's gap {p95:.2f} s; goal {GOAL_SECONDS:g} s: {p95 / GOAL_SECONDS:.2f} of it")
    return 0 if lost == repeated == fenced == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
