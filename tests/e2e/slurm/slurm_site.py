"""A Slurm of this machine: Debian's slurmctld and some slurmd, in a folder, set up and torn down by a test."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile

from processes import free_ports, kill_all, processes_naming, wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")


def why_not():
    """Why no Slurm can run here; "": it can."""
    os.environ["PATH"] = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"these programs of Debian's slurm-wlm and munge are missing: {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "slurmd needs root"


class Slurm:
    """Use it in `with`: slurmctld, and so many nodes n1, n2, ... of two processors each. `accounts`: slurm_accounts.Accounts,
    or none."""

    def __init__(self, nodes=3, settings=(), partitions=None, accounts=None):
        self.folder = tempfile.mkdtemp(prefix="winnow-slurm-")
        self.names = [f"n{i}" for i in range(1, nodes + 1)]
        self.settings = list(settings)
        self.partitions = partitions or [f"PartitionName=all Nodes=n[1-{nodes}] Default=YES MaxTime=60 State=UP"]
        self.conf = os.path.join(self.folder, "slurm.conf")
        self.environment = dict(os.environ, SLURM_CONF=self.conf)
        self.accounts = accounts
        self.munge = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        os.chmod(self.folder, 0o755)
        os.environ["SLURM_CONF"] = self.conf
        # A munged of its own, so that the machine's is not touched.
        munge = self.path("munge")
        os.makedirs(munge, mode=0o755)
        with open(f"{munge}/key", "wb") as key:
            key.write(os.urandom(128))
        os.chmod(f"{munge}/key", 0o400)
        self.socket = f"{munge}/socket"
        self.munge = subprocess.Popen(
            ["munged", "--foreground", "--force", f"--socket={self.socket}", f"--key-file={munge}/key",
             f"--log-file={munge}/log", f"--pid-file={munge}/pid", f"--seed-file={munge}/seed"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self.socket), "munged listens")
        host = socket.gethostname().split(".")[0]
        ports = free_ports(1 + len(self.names))
        self.port = ports[0]
        lines = [
            "ClusterName=winnow", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root",
            "AuthType=auth/munge", f"AuthInfo=socket={self.socket}", "CredType=cred/munge",
            f"SlurmctldPort={self.port}",
            f"StateSaveLocation={self.path('state')}", f"SlurmdSpoolDir={self.path('spool')}/%n",
            f"SlurmctldPidFile={self.path('ctl.pid')}", f"SlurmdPidFile={self.path('d-%n.pid')}",
            f"SlurmctldLogFile={self.path('ctl.log')}", f"SlurmdLogFile={self.path('%n.log')}",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
            "MpiDefault=none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
            "SchedulerType=sched/backfill", "ReturnToService=2", "SlurmdParameters=config_overrides",
            "SlurmdTimeout=6", "MessageTimeout=3", "KillWait=15", "InactiveLimit=0",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=2",
        ] + self.settings
        if self.accounts is not None:
            lines += self.accounts.start(self, free_ports)
        for name, port in zip(self.names, ports[1:]):
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2000")
        with open(self.conf, "w", encoding="ascii") as file:
            file.write("\n".join(lines + self.partitions) + "\n")
        os.makedirs(self.path("state"))
        for name in self.names:
            os.makedirs(f"{self.path('spool')}/{name}")
        if self.accounts is not None:
            self.accounts.fill(self)
        self.start_controller(clean=True)
        for name in self.names:
            self.start_node(name)
        wait_until(lambda: self.command("sinfo", "-h", "-N", "-o", "%N %t").count("idle") >= len(self.names),
                   "all nodes are idle")

    def start_controller(self, clean=False):
        subprocess.run(["slurmctld", "-f", self.conf] + (["-c"] if clean else []), check=True, env=self.environment,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: "UP" in self.command("scontrol", "ping", ok=False), "slurmctld answers")

    def start_node(self, name):
        subprocess.run(["slurmd", "-f", self.conf, "-N", name], check=True, env=self.environment,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def command(self, *arguments, ok=True):
        done = subprocess.run(arguments, capture_output=True, text=True, env=self.environment, timeout=60, check=False)
        if ok and done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def jobs(self):
        """The jobs that have not ended: id -> (state, name)."""
        lines = self.command("squeue", "-h", "-r", "-o", "%i|%T|%j").splitlines()
        return {line.split("|")[0]: tuple(line.split("|")[1:]) for line in lines}

    @staticmethod
    def pid_of(file):
        try:
            with open(file, encoding="ascii") as text:
                return int(text.read())
        except (OSError, ValueError):
            return 0

    def kill_controller(self):
        pid = self.pid_of(self.path("ctl.pid"))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "slurmctld is gone")

    def node_pid(self, name):
        return self.pid_of(self.path(f"d-{name}.pid"))

    def own_processes(self):
        return processes_naming(self.folder)

    def __exit__(self, *_):
        if os.path.exists(self.path("ctl.pid")):
            self.command("scancel", "--signal=KILL", "--quiet", "--user=root", ok=False)
        me = {os.getpid(), os.getppid()}
        files = [self.path("ctl.pid")] + [self.path(f"d-{name}.pid") for name in self.names]
        kill_all(pid for pid in map(self.pid_of, files) if pid)
        kill_all(pid for pid in self.own_processes() if pid not in me)
        if self.accounts is not None:
            self.accounts.stop()
        if self.munge is not None:
            self.munge.kill()
            self.munge.wait()
        os.environ.pop("SLURM_CONF", None)
        shutil.rmtree(self.folder, ignore_errors=True)
