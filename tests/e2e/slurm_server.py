"""A server with a pool of a Slurm of this machine, for tests, and jobs for it."""

import json
import os
import sqlite3
import sys

import processes
import slurm_site
from processes import wait_until

# Prints the same values for a configuration wherever it runs.
TRAINER = ('i=1; while [ $i -le {levels} ]; do echo "epoch $i: loss=$(( ({{{{x}}}} * 37 + i) % 101 ))"; i=$((i+1)); '
           'sleep {pause}; done')


def job(name, trials, nodes=1, levels=3, pause=0.1, **more):
    spec = {"name": name, "seed": 5, "strategy": "RANDOM",
            "trainer": {"command": ["sh", "-c", TRAINER.format(levels=levels, pause=pause)], "resumes": False,
                        "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}], "resource_regex": "epoch ([0-9]+)"},
            "parameters": [{"name": "x", "integer": {"min": 1, "max": 100000}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, "limits": {"max_trials": trials},
            "cluster": {"nodes": nodes}}
    spec.update(more)
    return spec


def result_of(client, name):
    """Of the job: the best trial with its objective, and the configurations by trial."""
    best = client.json("describe", name)["best"]
    trials = client.json("trials", name)
    trials = trials["trials"] if isinstance(trials, dict) else trials
    return (best["trial"], best["objective"]), {each["number"]: json.dumps(each["configuration"], sort_keys=True)
                                                for each in trials}


class Site:
    """A Slurm and a server with one pool of it, "slurm". Use it in `with`."""

    def __init__(self, slurm=None, wrapper=None, fault="", processes_flags=(), **pool):
        self.slurm = slurm or slurm_site.Slurm(nodes=4)
        self.cluster = processes.Cluster(workers=0, server_flags=list(processes_flags))
        if "--require-tokens" in processes_flags:
            self.cluster.client.address = f"unix:{self.cluster.folder}/winnow.db.d/server.sock"
        self.pool = {"name": "slurm", "kind": "SLURM", "max_nodes": 4, "idle_timeout_seconds": 2, "poll_seconds": 0.2,
                     "start_timeout_seconds": 60, "cost_per_node_hour": 3.6,
                     "worker": {"slots": 1, "cpus": 1, "command": [f"{processes.BIN}/winnow-worker"]}, "slurm": {}}
        self.pool.update(pool)
        self.wrapper, self.fault = wrapper, fault

    def __enter__(self):
        self.slurm.__enter__()
        try:
            folder = self.cluster.folder
            self.pool["slurm"].setdefault("scratch_dir", folder)
            if self.wrapper:
                os.makedirs(f"{folder}/bin")
                for name, text in self.wrapper.items():
                    with open(f"{folder}/bin/{name}", "w", encoding="utf-8") as file:
                        file.write(text)
                    os.chmod(file.name, 0o755)
                for name in ("sbatch", "squeue", "scancel"):
                    if name not in self.wrapper:
                        os.symlink(f"/usr/bin/{name}", f"{folder}/bin/{name}")
                self.pool["slurm"]["bin_dir"] = f"{folder}/bin"
            self.file = f"{folder}/pools.json"
            self.write()
            self.cluster.server.flags += ["--pools", self.file]
            if self.fault:
                os.environ["WINNOW_FAULT_POINT"] = self.fault
            self.cluster.__enter__()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        finally:
            os.environ.pop("WINNOW_FAULT_POINT", None)
        return self

    def write(self):
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump({"pools": [self.pool]}, file)

    def __exit__(self, kind, *_):
        if kind is not None and self.cluster.server.alive():
            print(self.client.run("pools", ok=(0, 1)), file=sys.stderr)
        self.cluster.__exit__(kind)
        self.slurm.__exit__()

    @property
    def client(self):
        return self.cluster.client

    def submit(self, *arguments, **more):
        return self.client.submit(job(*arguments, **more), self.cluster.folder)

    def state(self):
        return self.client.json("pools")["pools"][0]

    def allocations(self):
        return self.state().get("allocations", [])

    def open(self):
        return [each for each in self.allocations() if each["state"] != "ENDED"]

    def wait_for_end(self, name):
        watch = self.cluster.watch(name)
        code = watch.to_end()
        if code != 0:
            raise AssertionError(f"{name}: exit code {code}: {self.client.run('describe', name, ok=(0, 1))}"
                                 f"{self.client.run('pools')}")
        return self.client.json("describe", name)

    def wait_for_nothing(self):
        """Nothing is left at the engine, in the tables and on the disk."""
        wait_until(lambda: not self.open(), f"all is given back: {self.client.run('pools')}", 90)
        wait_until(lambda: not self.slurm.jobs(), "Slurm has no job", 60)
        folder = f"{self.cluster.folder}/winnow.db.d/pools/slurm"
        wait_until(lambda: not os.path.isdir(folder) or not os.listdir(folder), "no files are left", 30)

    def rows(self, sql):
        connection = sqlite3.connect(self.cluster.server.database)
        found = connection.execute(sql).fetchall()
        connection.close()
        return found

    def expect_exact(self, test, name):
        """No level of a trial is counted twice."""
        points = self.client.json("metrics", name)
        points = points["points"] if isinstance(points, dict) else points
        keys = [(point["trial"], point["metric"], point["resource"]) for point in points]
        test.assertEqual(len(keys), len(set(keys)))


def main():
    """Runs the tests of the calling script, if a Slurm can run here."""
    why = slurm_site.why_not()
    if why:
        print("skipped:", why)
        sys.exit(processes.SKIPPED)
    processes.main()
