"""Accounting for a Slurm of this machine: Debian's slurmdbd, with a MariaDB of its own, so that associations and qualities of
service have limits, which slurmctld enforces."""

import os
import shutil
import subprocess

from processes import wait_until

PROGRAMS = ("mariadbd", "slurmdbd", "sacctmgr")
PLUGIN = "/usr/lib/x86_64-linux-gnu/slurm-wlm/accounting_storage_mysql.so"
SYSTEM_TABLES = "/usr/share/mysql/mysql_system_tables.sql"
ACCOUNT = "ml"


def why_not():
    """Why no accounting can run here; "": it can."""
    os.environ["PATH"] = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    missing += [file for file in (PLUGIN, SYSTEM_TABLES) if not os.path.exists(file)]
    packages = "Debian's slurmdbd, slurm-wlm-mysql-plugin and mariadb-server-core"
    return f"of {packages} are missing: {', '.join(missing)}" if missing else ""


class Accounts:
    """For Slurm(accounts=...). `association`: limits of root's association, such as MaxJobs=1; `quality`: of the quality of
    service that all jobs have."""

    def __init__(self, association=(), quality=()):
        self.association, self.quality = list(association), list(quality)
        self.processes = []

    def start(self, slurm, free_ports):
        """Returns the lines for slurm.conf. REQUIRES munged listens."""
        folder = slurm.path("accounts")
        os.makedirs(f"{folder}/data")
        database, port = free_ports(2)
        common = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/data", "--innodb-log-file-size=8M",
                  "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900"]
        with open(SYSTEM_TABLES, encoding="utf-8") as tables:
            subprocess.run(common + ["--bootstrap"], input="CREATE DATABASE mysql;\nUSE mysql;\n" + tables.read(), text=True,
                           capture_output=True, check=True)
        self.run(folder, common + [f"--socket={folder}/socket", f"--port={database}", "--bind-address=127.0.0.1",
                                   f"--pid-file={folder}/mariadbd.pid", "--skip-grant-tables", "--skip-networking=0"])
        wait_until(lambda: os.path.exists(f"{folder}/socket"), "MariaDB listens")
        conf = f"{folder}/slurmdbd.conf"
        with open(os.open(conf, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write("\n".join([
                "AuthType=auth/munge", f"AuthInfo=socket={slurm.socket}", "DbdHost=localhost", f"DbdPort={port}",
                "SlurmUser=root", f"LogFile={folder}/slurmdbd.log", f"PidFile={folder}/slurmdbd.pid",
                "StorageType=accounting_storage/mysql", "StorageHost=127.0.0.1", f"StoragePort={database}",
                "StorageUser=root", "StoragePass=none", "StorageLoc=slurm"]) + "\n")
        self.run(folder, ["slurmdbd", "-D"], dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf"))
        return ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1",
                f"AccountingStoragePort={port}", f"AccountingStoragePass={slurm.socket}", "AccountingStorageEnforce=limits,qos"]

    def run(self, folder, command, environment=None):
        with open(f"{folder}/{command[0]}.out", "ab") as log:
            self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment))

    def fill(self, slurm):
        """Writes the limits. REQUIRES slurm.conf is there; slurmctld need not run."""
        wait_until(lambda: slurm.command("sacctmgr", "-n", "show", "qos", ok=False), "slurmdbd answers")
        for order in (["add", "cluster", "winnow"], ["add", "account", ACCOUNT], ["add", "user", "root,nobody", f"account={ACCOUNT}"],
                      ["modify", "user", "root", "set", *self.association] if self.association else [],
                      ["modify", "qos", "normal", "set", *self.quality] if self.quality else []):
            if order:
                slurm.command("sacctmgr", "-i", *order)

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
