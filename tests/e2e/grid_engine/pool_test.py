"""examples/grid-engine.py, as a pool of the kind COMMAND, on a real Grid Engine of this machine."""

import os
import sys
import unittest

import site_of_engine
import pool_server
import processes
from pool_server import job, result_of
from processes import wait_until

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "grid-engine.py")


class Site(pool_server.PoolServer):
    """A Grid Engine and a server with one pool of it. Use it in `with`. `options`: of qsub."""

    def __init__(self, options=(), **pool):
        self.engine = site_of_engine.GridEngine()
        program = [sys.executable, os.path.abspath(EXAMPLE)]
        command = {"submit": [*program, "submit", "--pe", "winnow", "--", "-q", "all.q", *options],
                   "list": [*program, "list"], "cancel": [*program, "cancel"]}
        super().__init__({"name": "grid", "kind": "COMMAND", "idle_timeout_seconds": 1, "poll_seconds": 0.5,
                          "command": command, **pool})

    def __enter__(self):
        self.engine.__enter__()
        self.pool["command"]["scratch_dir"] = self.cluster.folder
        try:
            return super().__enter__()
        except BaseException as error:
            self.__exit__(type(error))
            raise

    def __exit__(self, kind, *_):
        super().__exit__(kind)
        self.engine.__exit__()

    def wait_for_nothing(self):
        self.wait_until_given_back()
        wait_until(lambda: not self.engine.jobs(), "Grid Engine has no job")


class GridEngine(unittest.TestCase):
    def test_single_nodes_and_gangs_train_as_on_local_workers_and_all_is_given_back(self):
        specs = [job("singles", 3), job("gangs", 2, 3)]
        with processes.Cluster(workers=3, slots=1) as local:
            calm = {}
            for spec in specs:
                name = local.client.submit(spec, local.folder)
                self.assertEqual(local.watch(name).to_end(), 0)
                calm[name] = result_of(local.client, name)
        with Site() as site:
            for spec in specs:
                name = site.submit(spec)
                site.wait_for_end(name)
                self.assertEqual(result_of(site.client, name), calm[name])
                site.expect_exact(self, name)
                site.wait_for_nothing()
            seen = site.allocations()
            self.assertIn(3, [int(each["nodes"]) for each in seen if each.get("workers", 0) == 3], seen)

    def test_a_job_that_is_deleted_under_a_gang_loses_and_doubles_nothing(self):
        with Site(worker={"slots": 1, "command": [f"{processes.BIN}/winnow-worker"]}) as site:
            name = site.submit(job("deleted", 2, 3, trainer=pool_server.held(site.gate)))
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            first = wait_until(lambda: site.open()[0].get("id"), "the id is told")
            site.engine.command("qdel", first)
            wait_until(lambda: any(each.get("id") == first and each["state"] == "ENDED" for each in site.allocations()),
                       "the pool has noticed it")
            site.open_gate()
            site.wait_for_end(name)
            site.expect_exact(self, name)
            site.wait_for_nothing()
            self.assertEqual(len([each for each in site.allocations() if each.get("workers", 0) == 3]), 2)

    def test_a_limit_on_jobs_is_told_and_waited_for(self):
        with Site() as site:
            limited = site.engine.edited(site.engine.command("qconf", "-sconf"), {"max_u_jobs": "1"})
            site.engine.command("qconf", "-Mconf", site.engine.write("global", limited))
            name = site.submit(job("limited", 2, trainer=pool_server.held(site.gate)))
            wait_until(lambda: "current job count" in site.state().get("state_reason", ""), "the limit is told")
            site.open_gate()
            site.wait_for_end(name)
            site.wait_for_nothing()

    def test_a_job_that_it_cannot_start_is_deleted_and_another_is_asked_for(self):
        folder = "/nowhere/to/be/found"  # it changes to this one first
        with Site(options=["-wd", folder]) as site:
            name = site.submit(job("unstarted", 1))
            wait_until(lambda: "pauses" in site.state().get("state_reason", ""), "the pool pauses")
            failed = [each for each in site.allocations() if "Eqw" in each.get("reason", "")]
            self.assertEqual({each["state"] for each in failed}, {"ENDED"})
            self.assertIn(folder, failed[0]["reason"])
            site.client.run("stop", name)
            site.wait_for_nothing()


def main():
    why = site_of_engine.why_not()
    if why:
        print("skipped:", why)
        sys.exit(processes.SKIPPED)
    processes.main()


if __name__ == "__main__":
    main()
