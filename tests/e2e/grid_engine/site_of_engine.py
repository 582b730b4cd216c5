"""A Grid Engine of this machine: Debian's sge_qmaster and sge_execd, in a folder, set up and torn down by a test."""

import os
import shutil
import socket
import subprocess
import tempfile

from processes import free_ports, kill_all, processes_naming, wait_until

LIB, SHARE = "/usr/lib/gridengine", "/usr/share/gridengine"
PROGRAMS = ("sge_qmaster", "sge_execd", "spoolinit", "spooldefaults", "qconf", "qsub", "qstat", "qdel", "qrsh")


def why_not():
    """Why no Grid Engine can run here; "": it can."""
    missing = [name for name in PROGRAMS if not os.path.exists(f"{LIB}/{name}")]
    if missing:
        return f"these programs of Debian's gridengine-master, -exec and -client are missing: {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "sge_execd needs root"


class GridEngine:
    """Use it in `with`: one host with the queue all.q, and the parallel environment winnow, whose nodes are slots of it."""

    def __init__(self, slots=4):
        self.folder = tempfile.mkdtemp(prefix="winnow-sge-")
        self.slots, self.host = slots, socket.gethostname()
        qmaster, execd = free_ports(2)
        self.variables = {"SGE_ROOT": self.folder, "SGE_CELL": "default", "SGE_QMASTER_PORT": str(qmaster),
                          "SGE_EXECD_PORT": str(execd)}

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, name, *arguments, ok=True):
        done = subprocess.run([f"{LIB}/{name}", *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, **self.variables})
        if ok and done.returncode != 0:
            raise AssertionError(f"{name} {arguments}: {done.stdout}{done.stderr}")
        return done.stdout if done.returncode == 0 else ""

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return file.name

    def edited(self, text, changes):
        """The text of a configuration, with other values."""
        lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return "".join(f"{name} {changes.get(name, ''.join(value))}\n" for name, *value in lines)

    def __enter__(self):
        os.environ.update(self.variables)
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        os.chmod(self.folder, 0o755)
        for name in ("default/common", "qmaster/job_scripts", "execd", "db", "tmp", "bin", "utilbin"):
            os.makedirs(self.path(name))
        os.symlink(f"{SHARE}/util", self.path("util"))
        kind = subprocess.run([f"{SHARE}/util/arch"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("bin", "utilbin"):
            os.symlink(LIB, self.path(f"{name}/{kind}"))
        with open(f"{SHARE}/default-bootstrap", encoding="ascii") as file:
            self.write("default/common/bootstrap", "# Version: 6.2\n" + self.edited(file.read(), {
                "admin_user": "none", "ignore_fqdn": "true", "spooling_params": self.path("db"), "binary_path": LIB,
                "qmaster_spool_dir": self.path("qmaster")}))
        self.write("default/common/act_qmaster", self.host + "\n")
        self.write("default/common/cluster_name", "winnow\n")
        # It knows hosts by what an address resolves to.
        self.write("default/common/host_aliases", f"{self.host} localhost\n")
        with open(f"{SHARE}/default-configuration", encoding="ascii") as file:
            configuration = self.write("configuration", self.edited(file.read(), {
                "execd_spool_dir": self.path("execd"), "min_uid": "0", "min_gid": "0", "load_report_time": "00:00:01",
                "finished_jobs": "1000"}))
        self.command("spoolinit", "berkeleydb", "libspoolb", self.path("db"), "init")
        self.command("spooldefaults", "configuration", configuration)
        self.command("spooldefaults", "complexes", f"{SHARE}/util/resources/centry")
        self.command("spooldefaults", "usersets", f"{SHARE}/util/resources/usersets")
        self.command("spooldefaults", "managers", "root")
        self.command("sge_qmaster")
        wait_until(lambda: self.command("qconf", "-sh", ok=False), "qmaster answers")
        self.command("qconf", "-ah", self.host, ok=False)
        self.command("qconf", "-as", self.host)
        self.command("sge_execd")
        wait_until(lambda: self.command("qconf", "-sel", ok=False), "the host is known")
        self.command("qconf", "-Ap", self.write("pe", self.edited(self.pe_template(), {
            "pe_name": "winnow", "slots": "999", "allocation_rule": "$round_robin", "control_slaves": "TRUE",
            "job_is_first_task": "FALSE"})))
        self.command("qconf", "-Aq", self.write("queue", self.edited(self.command("qconf", "-sq"), {
            "qname": "all.q", "hostlist": self.host, "load_thresholds": "NONE", "pe_list": "winnow", "slots": str(self.slots),
            "shell": "/bin/sh", "tmpdir": self.path("tmp"), "notify": "00:00:20"})))
        self.command("qconf", "-Msconf", self.write("scheduler", self.edited(self.command("qconf", "-ssconf"), {
            "schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"})))

    @staticmethod
    def pe_template():
        return ("pe_name x\nslots 0\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args NONE\nstop_proc_args NONE\n"
                "allocation_rule 1\ncontrol_slaves TRUE\njob_is_first_task FALSE\nurgency_slots min\n"
                "accounting_summary FALSE\nqsort_args NONE\n")

    def jobs(self):
        """The ids of the jobs that have not ended."""
        return [line.split()[0] for line in self.command("qstat").splitlines()[2:]]

    def __exit__(self, *_):
        for name in self.variables:
            os.environ.pop(name, None)
        kill_all(processes_naming(self.folder))
        shutil.rmtree(self.folder, ignore_errors=True)
