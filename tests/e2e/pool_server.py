"""A server with one pool, for tests, whatever its engine is, and jobs for it."""

import json
import os
import sqlite3
import sys

import processes
from processes import wait_until

# Prints the same values for a configuration wherever it runs.
TRAINER = ('i=1; while [ $i -le {levels} ]; do echo "epoch $i: loss=$(( ({{{{x}}}} * 37 + i) % 101 ))"; i=$((i+1)); '
           'sleep {pause}; done')


def held(file, trainer=TRAINER):
    """The same, but it waits after each level until there is the file, so that it trains until the test has done its part."""
    return trainer.replace("sleep {pause}", f"while [ ! -e {file} ]; do sleep 0.05; done; sleep {{pause}}")


def job(name, trials, nodes=1, levels=3, pause=0.1, trainer=TRAINER, **more):
    spec = {"name": name, "seed": 5, "strategy": "RANDOM",
            "trainer": {"command": ["sh", "-c", trainer.format(levels=levels, pause=pause)], "resumes": False,
                        "grace_period": "1s", "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}],
                        "resource_regex": "epoch ([0-9]+)"},
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
    return (best["trial"], best["objective"]), {each["number"]: json.dumps(each["hyperparameters"], sort_keys=True)
                                                for each in trials}


class PoolServer:
    """A server with one pool. Use it in `with`. `fault`: where it kills itself, until it is started again."""

    def __init__(self, pool, server_flags=(), workers=0, fault=""):
        self.fault = fault
        self.cluster = processes.Cluster(workers=workers, slots=1, server_flags=list(server_flags))
        self.file = f"{self.cluster.folder}/pools.json"
        self.pool = {"worker": {"slots": 1, "cpus": 1, "command": [f"{processes.BIN}/winnow-worker"]},
                     "max_nodes": 4, "start_timeout_seconds": 60, "cost_per_node_hour": 3.6, **pool}
        if "--require-tokens" in server_flags:  # but not at the server's own socket
            self.client.address = f"unix:{self.cluster.folder}/winnow.db.d/server.sock"

    def __enter__(self):
        self.write()
        self.server.flags += ["--pools", self.file]
        if self.fault:
            os.environ["WINNOW_FAULT_POINT"] = self.fault
        try:
            self.cluster.__enter__()
        finally:
            os.environ.pop("WINNOW_FAULT_POINT", None)
        return self

    def __exit__(self, kind, *_):
        if kind is not None and self.server.alive():
            print(self.client.run("pools", ok=(0, 1)), file=sys.stderr)
        self.cluster.__exit__(kind)

    def write(self):
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump({"pools": [self.pool]}, file)

    @property
    def client(self):
        return self.cluster.client

    @property
    def server(self):
        return self.cluster.server

    @property
    def gate(self):
        """The file for which trainers that are held wait."""
        return f"{self.cluster.folder}/gate"

    def open_gate(self):
        with open(self.gate, "w", encoding="ascii"):
            pass

    def submit(self, spec):
        return self.client.submit(spec, self.cluster.folder)

    def state(self):
        return self.client.json("pools")["pools"][0]

    def allocations(self):
        return self.state().get("allocations", [])

    def open(self):
        return [each for each in self.allocations() if each["state"] != "ENDED"]

    def placed(self):
        """The open allocations with a worker, of which the engine has told the hosts."""
        return [each for each in self.open() if each.get("workers", 0) and each["hosts"]]

    def joined(self):
        """The workers of the allocations that have not ended."""
        return sum(each.get("workers", 0) for each in self.open())

    def wait_for_end(self, name):
        if (code := self.cluster.watch(name).to_end()) != 0:
            raise AssertionError(f"{name}: exit code {code}: {self.client.run('describe', name, ok=(0, 1))}"
                                 f"{self.client.run('pools')}")
        return self.client.json("describe", name)

    def wait_until_given_back(self):
        wait_until(lambda: not self.open(), f"all is given back: {self.client.run('pools')}")

    def rows(self, sql):
        connection = sqlite3.connect(self.server.database)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def expect_exact(self, test, name):
        """No trial is lost, and no level of a trial is counted twice."""
        spec = self.client.json("describe", name)
        test.assertEqual(int(spec["trial_counts"].get("completed", 0)), int(spec["spec"]["limits"]["max_trials"]), spec)
        points = self.client.json("metrics", name)
        points = points["points"] if isinstance(points, dict) else points
        keys = [(point["trial"], point["metric"], point["resource"]) for point in points]
        test.assertEqual(len(keys), len(set(keys)))
