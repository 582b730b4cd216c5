"""Two winnow-servers on one PostgreSQL database, each on a host of its own (a network namespace) with TLS and tokens, and busy
workers on another host, for benches that harm the servers or the database.
"""

import os
import signal
import sys

import busy_workers
import certificates
import processes

WORKERS = 64
ROUND = 20   # troubles of one job; then a new one, so that its size stays that of a usual search
PORT = 7070


class Server(processes.Program):
    """winnow-server on its host; start does not wait, since it may be a standby."""

    def __init__(self, host, folder, database, prefix=()):
        self.host, self.folder = host, os.path.join(folder, host.name)
        os.makedirs(self.folder)
        self.address = f"{host.address}:{PORT}"
        self.state = os.path.join(self.folder, "state")
        super().__init__(
            [f"{processes.BIN}/winnow-server", "--db", database, "--listen", self.address, "--local-workers", "0", "--http", "off",
             "--state-dir", self.state, "--declare-workers", f"{WORKERS} x slots=1", "--tls-cert", f"{folder}/server.pem",
             "--tls-key", f"{folder}/server.key", "--leader-ca", f"{folder}/ca.pem"],
            os.path.join(self.folder, "log"), [*host.prefix, *prefix])
        self.began = 0

    def start(self):
        self.began = len(self.log())
        super().start()

    def said(self, text):
        return text in self.log()[self.began:]

    def leads(self):
        return self.alive() and self.said(" listens on ")

    def waits(self):
        return self.alive() and self.said("answers reads at")


class TwoServers:
    """`make(host)`: a Server. `psql(sql)`: the rows of a query. `folder`: with everything that belongs to them."""

    def __init__(self, hosts, workers, folder, make, psql):
        certificates.make_certificates(folder, ",".join(f"IP:{host.address}" for host in hosts))
        self.folder, self.psql, self.workers_host = folder, psql, workers
        self.servers = [make(host) for host in hosts]
        self.addresses = ",".join(server.address for server in self.servers)
        self.crew = self.job = self.counts = None
        self.jobs = 0

    def begin(self):
        first, second = self.servers
        first.start()
        processes.wait_until(first.leads, "the first server leads")
        second.start()
        self.counts = busy_workers.Counts(self.psql)
        secret = self.admin().json("token", "create", "--role", "worker", "--name", "workers")["secret"]
        with open(f"{self.folder}/token", "w", encoding="ascii") as file:
            file.write(secret)
        os.chmod(f"{self.folder}/token", 0o600)

    def leader(self, but=None):
        return processes.wait_for_leader(server for server in self.servers if server is not but)

    def admin(self):
        return processes.Client(None, f"unix:{self.leader().state}/server.sock")

    def keep(self):
        """Starts what has ended by itself, as a supervisor would."""
        for server in self.servers:
            if not server.alive():
                server.start()

    def begin_job(self, name):
        self.job = self.admin().submit(busy_workers.job(f"{name}-{self.jobs}", WORKERS), self.folder)
        self.crew = busy_workers.Crew(WORKERS, self.jobs, self.addresses, f"{self.folder}/ca.pem", f"{self.folder}/token",
                                      self.workers_host.prefix)
        self.jobs += 1
        self.crew.until_all_acknowledged()

    def end_job(self):
        self.counts.end(self.crew, self.job)
        self.admin().run("replay", self.job, "--verify")
        self.admin().run("stop", self.job)

    def end(self):
        if self.crew:
            self.crew.kill()
        for server in self.servers:
            server.kill()


def end_on_signals():
    """A first SIGTERM ends the bench and what it started; a second one does not disturb that."""
    def end(*_):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        sys.exit(1)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
