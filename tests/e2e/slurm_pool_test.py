"""A pool on a real Slurm of this machine: it grows, trains, shrinks to nothing, and copes with what happens to Slurm, to its
allocations and to the server."""

import json
import os
import signal
import sqlite3
import stat
import sys
import unittest

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

    def result(self, name):
        """Best, and configurations by trial."""
        best = self.client.json("describe", name)["best"]
        trials = self.client.json("trials", name)
        trials = trials["trials"] if isinstance(trials, dict) else trials
        return (best["trial"], best["objective"]), {each["number"]: json.dumps(each["configuration"], sort_keys=True)
                                                    for each in trials}

    def expect_exact(self, test, name):
        """No level of a trial is counted twice."""
        points = self.client.json("metrics", name)
        points = points["points"] if isinstance(points, dict) else points
        keys = [(point["trial"], point["metric"], point["resource"]) for point in points]
        test.assertEqual(len(keys), len(set(keys)))


class SlurmPool(unittest.TestCase):
    def test_it_grows_trains_gangs_and_shrinks_to_nothing(self):
        calm = {}
        with processes.Cluster(workers=3, slots=1) as local:
            for name, nodes in (("singles", 1), ("gangs", 3)):
                spec = job(name, 6 if nodes == 1 else 3, nodes)
                local.client.submit(spec, local.folder)
                self.assertEqual(local.watch(name).to_end(), 0)
                calm[name] = Site.result(local_site(local), name)
        with Site() as site:
            self.assertEqual(site.allocations(), [])
            site.submit("singles", 6)
            site.wait_for_end("singles")
            site.submit("gangs", 3, 3)
            site.wait_for_end("gangs")
            for name in ("singles", "gangs"):
                self.assertEqual(site.result(name), calm[name])
                site.expect_exact(self, name)
            most = max(int(each["nodes"]) for each in site.allocations())
            self.assertEqual(most, 3, "the gang's nodes come in one allocation, or it takes those that are there")
            site.wait_for_nothing()
            self.assertTrue(all(each.get("workers", 0) == each["nodes"] for each in site.allocations()), site.allocations())
            self.assertGreater(site.state()["node_seconds"], 0)
            self.assertGreater(site.state()["cost"], 0)


    def test_an_allocation_that_is_cancelled_under_a_gang_loses_and_doubles_nothing(self):
        with Site() as site:
            name = site.submit("gangs", 2, 3, levels=8, pause=0.3)
            wait_until(lambda: site.open() and site.open()[0].get("workers", 0) == 3, "the gang's workers have joined")
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            site.slurm.command("scancel", site.open()[0]["id"])
            site.wait_for_end(name)
            site.expect_exact(self, name)
            ended = [each.get("reason", "") for each in site.allocations() if "CANCELLED" in each.get("reason", "")]
            self.assertTrue(ended, site.allocations())
            site.wait_for_nothing()

    def test_the_controller_dies_and_comes_back(self):
        with Site() as site:
            site.slurm.kill_controller()
            name = site.submit("later", 2)
            wait_until(lambda: "could not be asked" in site.state().get("state_reason", ""),
                       "the pool says that its engine does not answer")
            site.slurm.start_controller()
            site.wait_for_end(name)
            site.expect_exact(self, name)
            site.wait_for_nothing()

    def test_a_killed_slurmd_with_all_that_it_had_started(self):
        with Site(slurm_site.Slurm(nodes=2), max_nodes=2) as site:
            name = site.submit("node", 3, levels=10, pause=0.3)
            wait_until(lambda: any(each.get("workers", 0) for each in site.open()), "a worker has joined")
            node = next(each for each in site.open() if each.get("workers", 0))["hosts"][0]
            os.kill(site.slurm.node_pid(node), signal.SIGKILL)
            for pid in site.slurm.own_processes():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        text = line.read()
                    with open(f"/proc/{pid}/environ", "rb") as environ:
                        of_node = f"SLURMD_NODENAME={node}".encode() in environ.read()
                    if of_node or (b"slurmstepd" in text and node.encode() in text):
                        os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            site.wait_for_end(name)
            site.expect_exact(self, name)

    def test_an_answer_of_sbatch_that_is_lost(self):
        lost = """#!/bin/sh
if [ ! -e "$0.lost" ]; then
  touch "$0.lost"
  /usr/bin/sbatch "$@" > /dev/null
  echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)" >&2
  exit 1
fi
exec /usr/bin/sbatch "$@"
"""
        with Site(wrapper={"sbatch": lost}) as site:
            name = site.submit("lost", 2)
            site.wait_for_end(name)
            site.expect_exact(self, name)
            # The engine's jobs are those of the table, and none was submitted again.
            self.assertTrue(all(each.get("workers", 0) == 1 for each in site.allocations()), site.allocations())
            self.assertLessEqual(len(site.allocations()), 2)
            site.wait_for_nothing()

    def test_a_limit_on_submissions_is_told_and_waited_for(self):
        limit = """#!/bin/sh
if [ ! -e "$0.limited" ]; then
  touch "$0.limited"
  echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2
  echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)" >&2
  exit 1
fi
exec /usr/bin/sbatch "$@"
"""
        with Site(wrapper={"sbatch": limit}) as site:
            name = site.submit("limit", 1)
            wait_until(lambda: "QOSMaxSubmitJobPerUserLimit" in site.state().get("state_reason", ""), "the pool says it")
            site.wait_for_end(name)
            site.wait_for_nothing()

    def test_workers_leave_before_the_time_limit_and_others_come(self):
        with Site(time_limit_seconds=60, grace_seconds=54, max_nodes=2) as site:
            name = site.submit("limited", 6, levels=8, pause=0.3)
            site.wait_for_end(name)
            site.expect_exact(self, name)
            self.assertGreater(len(site.allocations()), 2)
            self.assertTrue(any("its workers have left" in each.get("reason", "") for each in site.allocations()),
                            site.allocations())
            site.wait_for_nothing()

    def test_three_allocations_without_a_worker_pause_the_pool_which_says_why(self):
        worker = {"slots": 1, "command": ["/no/such/winnow-worker"]}
        with Site(worker=worker) as site:
            site.submit("never", 1)
            wait_until(lambda: "pauses" in site.state().get("state_reason", ""), "the pool pauses")
            self.assertIn("/no/such/winnow-worker", site.state()["state_reason"])
            self.assertEqual(len(site.allocations()), 3)

    def test_a_token_is_bound_to_its_allocation_and_dies_with_it(self):
        with Site(processes_flags=["--require-tokens"]) as site:
            name = site.submit("tokens", 2, levels=6, pause=0.3)
            wait_until(lambda: any(each.get("workers", 0) for each in site.open()), "a worker has joined")
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        self.assertNotIn(b"wnw_", line.read())
                except OSError:
                    pass
            allocation = site.open()[0]["name"]
            token = f"{site.cluster.folder}/winnow.db.d/pools/slurm/{allocation}/token"
            self.assertEqual(stat.S_IMODE(os.stat(token).st_mode), 0o600)
            with open(token, encoding="ascii") as file:
                secret = file.read()
            stolen = f"{site.cluster.folder}/stolen"
            with open(stolen, "w", encoding="ascii") as file:
                file.write(secret)
            os.chmod(stolen, 0o600)
            stranger = processes.Worker(site.cluster.server, site.cluster.folder, "stranger",
                                        flags=["--token-file", stolen])
            stranger.start()
            wait_until(lambda: not stranger.alive() or "is not one of the workers" in stranger.log(), "it is refused")
            self.assertIn("is not one of the workers of allocation", stranger.log())
            stranger.kill()
            site.wait_for_end(name)
            site.wait_for_nothing()
            tokens = site.client.json("token", "list")
            tokens = tokens["tokens"] if isinstance(tokens, dict) else tokens
            self.assertTrue(tokens and all("revoke_time" in each for each in tokens), tokens)

    def test_the_server_is_killed_at_each_step(self):
        for fault in ("pools: recorded", "pools: before submit", "pools: after submit", "pools: before cancel",
                      "pools: after cancel", "pools: before forget"):
            with self.subTest(fault), Site(fault=fault, max_nodes=1) as site:
                name = site.submit("killed", 2)
                wait_until(lambda: not site.cluster.server.alive(), f"the server dies: {fault}")
                site.cluster.server.start()
                site.wait_for_end(name)
                site.expect_exact(self, name)
                site.wait_for_nothing()
                names = [row[0] for row in site.rows("SELECT name FROM allocations")]
                self.assertEqual(len(names), len(set(names)))
                submitted = sum(each.get("workers", 0) for each in site.allocations())
                self.assertLessEqual(submitted, 2, site.allocations())

    def test_doctor_and_render(self):
        with Site() as site:
            rendered = site.client.run("pools", "render", "slurm", "--nodes", "3")
            self.assertIn("--nodes=3", rendered)
            told = site.client.run("doctor", "--pool", "slurm")
            for step in ("is submitted", "submitted winnow-", "has joined", "the pool works"):
                self.assertIn(step, told)
            site.wait_for_nothing()


class local_site:
    """What Site.result needs, of a cluster without a pool."""

    def __init__(self, cluster):
        self.client = cluster.client


if __name__ == "__main__":
    why = slurm_site.why_not()
    if why:
        print("skipped:", why)
        sys.exit(processes.SKIPPED)
    sys.exit(processes.main())
