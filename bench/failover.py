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
import network  # noqa: E402
import processes  # noqa: E402
import two_servers  # noqa: E402
import with_postgres  # noqa: E402

KINDS = ("killed", "stopped", "cut off", "clock set wrong")
CLOCKS = ("+1d", "-1d", "+10y", "-3600s")
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
BEATS = 6  # of a leader, in more time than that after which another one takes over from a silent leader


class Server(two_servers.Server):
    """One with a clock that can be set."""

    def __init__(self, host, folder, database):
        self.clock = os.path.join(folder, f"clock-{host.name}")
        super().__init__(host, folder, database, ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={self.clock}",
                                                  "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_CACHE_DURATION=1"])

    def set_clock(self, offset):
        with open(self.clock + ".part", "w", encoding="ascii") as file:
            file.write(offset + "\n")
        os.rename(self.clock + ".part", self.clock)

    def start(self):
        self.set_clock("+0s")
        super().start()


class Database(with_postgres.Cluster):
    def tcp_address(self):
        return f"postgresql://winnow@{self.host.address}/postgres"


class Site:
    def __init__(self, net):
        self.database = Database(durable=True, settings=["track_commit_timestamp=on"], host=net["db"])
        folder = tempfile.mkdtemp(prefix="winnow-failover-")
        self.pair = two_servers.TwoServers([net["a"], net["b"]], net["workers"], folder,
                                           lambda host: Server(host, folder, self.database.tcp_address()), self.database.psql)

    def newest_report(self):
        """When it was received, in seconds by the clock of the server that leads."""
        return int(self.database.psql("SELECT time_us FROM reports ORDER BY job DESC, trial DESC, attempt DESC, resource DESC"
                                      " LIMIT 1")) / 1e6

    def beats(self):
        return int(self.database.psql("SELECT beats FROM leader_beats"))

    def trouble(self, kind, number):
        """Makes it, and waits until all is as before; the service's gap and those of the workers."""
        leader, crew = self.pair.leader(), self.pair.crew
        other = next(server for server in self.pair.servers if server is not leader)
        processes.wait_until(other.waits, "the other is a standby")
        crew.until_all_acknowledged()
        begin = time.monotonic()
        if kind == "killed":
            leader.kill()
        elif kind == "stopped":
            leader.signal(signal.SIGSTOP)
        elif kind == "cut off":
            leader.host.cut()
        else:
            leader.set_clock(CLOCKS[number % len(CLOCKS)])
            processes.wait_until(lambda: abs(self.newest_report() - time.time()) > 1800, "it has read the new time")
            beats = self.beats()
            processes.wait_until(lambda: self.beats() >= beats + BEATS, "time enough has passed for a takeover")
        if kind != "clock set wrong":
            self.pair.leader(but=leader)
        crew.until_all_acknowledged()
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
        return crew.gaps(begin, end)

    def end(self):
        self.pair.end()
        self.database.remove()


def main():
    troubles = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    missing = network.why_not() or ("" if with_postgres.programs() else "PostgreSQL's server is not installed") or (
        "" if os.path.exists(FAKETIME) else "libfaketime is not installed")
    if missing:
        print(f"skipped here: {missing}")
        return processes.SKIPPED
    gaps = {kind: ([], []) for kind in KINDS}
    with network.Network(["db", "a", "b", "workers"]) as net:
        two_servers.end_on_signals()
        site = Site(net)
        try:
            site.pair.begin()
            for number in range(troubles):
                if number % two_servers.ROUND == 0:
                    site.pair.begin_job("failover")
                kind = KINDS[number % len(KINDS)]
                service, workers = site.trouble(kind, number // len(KINDS))
                gaps[kind][0].append(service)
                gaps[kind][1].extend(workers)
                print(f"{number + 1:>4} {kind:<16} nothing acknowledged for {service:5.2f} s; of a worker at most "
                      f"{max(workers):5.2f} s", flush=True)
                if number % two_servers.ROUND == two_servers.ROUND - 1 or number == troubles - 1:
                    site.pair.end_job()
        finally:
            site.end()
    print(f"\n{troubles} troubles, {two_servers.WORKERS} workers")
    busy_workers.print_gaps(gaps)
    kept = site.pair.counts.kept()
    busy_workers.in_time([gap for _, workers in gaps.values() for gap in workers])  # told alone: a busy machine has no such goal
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
