"""Jobs on a Kubernetes pool of winnow-server. The control plane is real; nodes are stand-ins for kubelets, which run the
pods' workers as processes of this machine."""

import json
import os
import sqlite3
import sys
import unittest

import control_plane
import processes
from processes import wait_until
from proxy import Proxy

SOON_GIVEN_UP = [{"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
                 for taint in ("unreachable", "not-ready")]
# Prints the same values for a configuration wherever it runs, and saves what it has.
TRAINER = ('i=$(cat "$WINNOW_CHECKPOINT_DIR/i" 2>/dev/null || echo 1); while [ $i -le {levels} ]; do '
           'echo "epoch $i: loss=$(( ({{{{x}}}} * 37 + i) % 101 ))"; i=$((i+1)); sleep {pause}; done')


def job(name, trials, levels=3, pause=0.1):
    """Trials of one node and of three."""
    return {"name": name, "seed": 5, "strategy": "RANDOM",
            "trainer": {"command": ["sh", "-c", TRAINER.format(levels=levels, pause=pause)], "resumes": False,
                        "grace_period": "1s", "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}],
                        "resource_regex": "epoch ([0-9]+)"},
            "parameters": [{"name": "x", "integer": {"min": 1, "max": 100000}},
                           {"name": "nodes", "discrete": {"values": [1, 3]}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, "limits": {"max_trials": trials},
            "cluster": {"nodes_parameter": "nodes"}}


class Site:
    """A server with one pool, "pods", of a control plane. Use it in `with`."""

    def __init__(self, plane, kubeconfig=None, **kubernetes):
        self.plane = plane
        self.cluster = processes.Cluster(workers=0, server_flags=["--require-tokens", "--lease", "2"])
        self.pool = {"name": "pods", "kind": "KUBERNETES", "max_nodes": 4, "idle_timeout_seconds": 1, "poll_seconds": 0.1,
                     "grace_seconds": 3, "start_timeout_seconds": 60, "cost_per_node_hour": 3.6,
                     "worker": {"slots": 1, "cpus": 1, "command": [f"{processes.BIN}/winnow-worker"]},
                     "kubernetes": {"kubeconfig": kubeconfig or plane.kubeconfig, "image": "winnow/worker",
                                    "tolerations": SOON_GIVEN_UP, "lost_pod_seconds": 1, **kubernetes}}

    def __enter__(self):
        file = f"{self.cluster.folder}/pools.json"
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"pools": [self.pool]}, out)
        self.cluster.server.flags += ["--pools", file]
        # Tokens are asked for, but not at the server's own socket.
        self.client.address = f"unix:{self.cluster.folder}/winnow.db.d/server.sock"
        self.cluster.__enter__()
        return self

    def __exit__(self, kind, *_):
        if kind is not None and self.server.alive():
            print(self.client.run("pools", ok=(0, 1)), file=sys.stderr)
        self.cluster.__exit__(kind)

    @property
    def client(self):
        return self.cluster.client

    @property
    def server(self):
        return self.cluster.server

    def submit(self, *arguments, **more):
        return self.client.submit(job(*arguments, **more), self.cluster.folder)

    def allocations(self):
        return self.client.json("pools")["pools"][0].get("allocations", [])

    def open(self):
        return [each for each in self.allocations() if each["state"] != "ENDED"]

    def end(self, name):
        """Waits for the job's end; its best, and its configurations by trial."""
        watch = self.cluster.watch(name)
        if watch.to_end() != 0:
            raise AssertionError(f"{name}: {self.client.run('describe', name)}\n{self.client.run('pools')}")
        return result(self.client, name)

    def wait_for_nothing(self):
        """Nothing is left in the tables and in the cluster."""
        wait_until(lambda: not self.open(), "all is given back", 60)
        left = lambda: [*self.plane.jobs(), *self.plane.secrets(), *self.plane.pods()]  # noqa: E731
        try:
            wait_until(lambda: not left(), "nothing is left", 30)
        except AssertionError as error:
            raise AssertionError(f"{error}: {left()}") from None

    def expect_exact(self, test, name):
        """No level of a trial is counted twice."""
        points = self.client.json("metrics", name)
        points = points["points"] if isinstance(points, dict) else points
        keys = [(point["trial"], point["metric"], point["resource"]) for point in points]
        test.assertEqual(len(keys), len(set(keys)))

    def rows(self, sql):
        connection = sqlite3.connect(self.server.database)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


def result(client, name):
    best = client.json("describe", name)["best"]
    trials = client.json("trials", name)
    trials = trials["trials"] if isinstance(trials, dict) else trials
    return (best["trial"], best["objective"]), {each["number"]: json.dumps(each["hyperparameters"], sort_keys=True)
                                                for each in trials}


class KubernetesJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = control_plane.start_for(cls)
        with processes.Cluster(workers=4, slots=1) as local:
            name = local.client.submit(job("calm", 6), local.folder)
            if local.watch(name).to_end() != 0:
                raise AssertionError(local.client.run("describe", name))
            cls.calm = result(local.client, name)

    def test_it_grows_trains_single_nodes_and_gangs_and_shrinks_to_nothing(self):
        with Site(self.plane) as site:
            self.assertEqual(site.allocations(), [])
            self.assertIn('"kind": "Job"', site.client.run("pools", "render", "pods"))
            name = site.submit("calm", 6)
            self.assertEqual(site.end(name), self.calm)
            seen = site.allocations()
            # A gang takes single nodes that are free; otherwise it gets an allocation of three.
            self.assertLessEqual({int(each["nodes"]) for each in seen}, {1, 3})
            for each in seen:
                self.assertTrue(each["id"] and each["hosts"], each)
            site.wait_for_nothing()
            self.assertEqual(site.rows("SELECT COUNT(*) FROM tokens WHERE revoke_us IS NULL OR revoke_us = 0"), [(0,)])
            site.expect_exact(self, name)

    def test_a_server_killed_between_a_submission_and_its_record_finds_it_by_its_name(self):
        proxy = Proxy(self.plane.port, self.plane.path("certs/apiserver.crt"))
        self.addCleanup(proxy.close)
        kubeconfig = self.plane.write_kubeconfig("proxied", {"token": self.plane.token}, server=proxy.url)
        with Site(self.plane, kubeconfig) as site:
            killed = []

            def kill_at_the_answer(method, path):
                if method != "POST" or not path.endswith("/jobs") or killed:
                    return None
                killed.append(path)
                return site.server.kill
            proxy.rules = kill_at_the_answer
            name = site.submit("calm", 6)
            wait_until(lambda: killed and not site.server.alive(), "it is killed")
            made = wait_until(self.plane.jobs, "its Job is there")
            self.assertEqual(len(made), 1)
            site.server.start()
            self.assertEqual(site.end(name), self.calm)
            names = [each["name"] for each in site.allocations()]
            self.assertIn(next(iter(made)), names)
            self.assertEqual(len(names), len(set(names)))
            created = [path for method, path in proxy.seen if method == "POST" and path.endswith("/jobs")]
            # Of the others only the name was recorded before the server was killed.
            submitted = [each["name"] for each in site.allocations() if each["id"]]
            self.assertEqual(len(created), len(submitted), "none was submitted twice")
            site.wait_for_nothing()


if __name__ == "__main__":
    if control_plane.why_not():
        print(f"skipped: {control_plane.why_not()}")
        sys.exit(processes.SKIPPED)
    processes.main()
