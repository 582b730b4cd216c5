#!/usr/bin/env python3
"""Runs a command with a PostgreSQL server of its own, whose address is in WINNOW_TEST_POSTGRES: a new cluster in a
temporary folder, reached by a socket in it, removed at the end. Its programs are those of Debian's package postgresql.

    with_postgres.py [--durable] COMMAND ARGUMENT...

--durable: the server syncs to disk as usual. Without it, it is faster and keeps nothing after a power cut.
"""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile


def programs():
    """The folder of initdb and postgres; None: they are not installed."""
    for folder in sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    return None


class Cluster:
    """A running server of its own. `durable`: it syncs to disk, which tests of speed need. `host`: of network.py, at whose
    address it listens too, for everyone."""

    def __init__(self, durable=False, settings=(), host=None):
        self.programs = programs()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="winnow-postgres-"))
        # PostgreSQL refuses to run as root.
        self.user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.data = self.folder / "data"
        self.host = host
        self.settings = [f"listen_addresses={host.address if host else ''}", f"unix_socket_directories={self.folder}", "max_connections=200", *settings]
        if not durable:
            self.settings.append("fsync=off")
        self._run("initdb", "-D", self.data, "-U", "winnow", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
                  "--no-instructions")
        if host:
            with open(self.data / "pg_hba.conf", "a", encoding="ascii") as file:
                file.write("host all all samenet trust\n")
        self.start()

    def _run(self, program, *arguments):
        as_user = dict(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[]) if self.user else {}
        prefix = []
        if self.host:  # which only root may enter
            as_user = {}
            prefix = [*self.host.prefix, "setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups"]
        done = subprocess.run([*prefix, self.programs / program, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **as_user)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stdout}")

    def start(self):
        options = " ".join(f"-c {setting!s}" if setting.split("=")[1] else f"-c {setting}''" for setting in self.settings)
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, mode="immediate"):
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def address(self, database="postgres"):
        return f"postgresql://winnow@/{database}?host={self.folder}"

    def psql(self, sql, database="postgres"):
        """The rows of a query as lines."""
        return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.address(database), "-c",
                               sql], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def remove(self):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def main():
    if programs() is None:
        print("skipped here: PostgreSQL's server (Debian's package postgresql) is not installed")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server ends too
    command = sys.argv[1:]
    durable = command[0] == "--durable"
    with Cluster(durable) as cluster:
        environment = dict(os.environ, WINNOW_TEST_POSTGRES=cluster.address())
        return subprocess.run(command[1:] if durable else command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
