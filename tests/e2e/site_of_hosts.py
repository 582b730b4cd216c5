"""A server and its workers, each on a host of its own: with TLS, tokens, and no folder that two of them share."""

import os
import subprocess
import sys

import network
import processes

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 7070


class Site(processes.Cluster):
    """A host "server" and a host for each worker. Job files and data lie in `folder`, which is the same everywhere."""

    def __init__(self, workers, slots=1, server_flags=(), worker_flags=()):
        declared = ["--declare-workers", f"{len(workers)} x slots={slots}"]
        super().__init__(0, slots, [*declared, *server_flags], worker_flags)
        self.names = list(workers)
        self.network = network.Network(["server", *workers])
        self.relays = []

    def begin(self):
        self.network.__enter__()
        host = self.network["server"]
        credentials = f"{self.folder}/credentials"
        subprocess.run([os.path.join(HERE, "../../docker/make-credentials.sh"), credentials, "server", host.address],
                       check=True)
        flags = ["--tls-cert", f"{credentials}/server.pem", "--tls-key", f"{credentials}/server.key"]
        self.server = processes.Server(self.folder, f"{host.address}:{PORT}", [*flags, *self.server.flags], host.prefix)
        self.server.start()
        # Who runs the server reaches it by its socket, whatever happens to the network.
        self.client = processes.Client(self.server, f"unix:{self.server.database}.d/server.sock")
        secret = self.client.json("token", "create", "--role", "worker", "--name", "workers")["secret"]
        with open(f"{self.folder}/token", "w", encoding="ascii") as file:
            file.write(secret)
        os.chmod(f"{self.folder}/token", 0o600)
        self.flags = ["--tls-ca", f"{credentials}/ca.pem", "--token-file", f"{self.folder}/token", *self.worker_flags]
        for name in self.names:
            self.add_worker(name)

    def add_worker(self, name, **options):
        host = self.network[name]
        worker = processes.Worker(self.server, self.folder, name, slots=self.slots, flags=self.flags, prefix=host.prefix,
                                  host=host.address, shared=f"{self.folder}/{name}/shared", **options)
        self.workers.append(worker)
        worker.start()
        return worker

    def worker(self, name):
        return next(worker for worker in self.workers if worker.name == name)

    def relay(self, name):
        """From now on that worker, started anew, reaches the server through a relay; returns the relay's delay file."""
        worker, host = self.worker(name), self.network[name]
        delay_file = f"{self.folder}/{name}/delay"
        relay = processes.Program([sys.executable, "-B", os.path.join(HERE, "relay.py"), f"127.0.0.1:{PORT}",
                                   self.server.address, delay_file], f"{self.folder}/{name}.relay.log", host.prefix)
        relay.start()
        self.relays.append(relay)
        worker.arguments[worker.arguments.index("--server") + 1] = f"127.0.0.1:{PORT}"
        worker.stop()
        worker.start()
        return delay_file

    def __exit__(self, *error):
        super().__exit__(*(error or (None,)))
        for relay in self.relays:
            relay.kill()
        self.network.remove()
