"""Trials that are forked from a parent: the same models, bit for bit, as those of new processes; a parent that is killed
or stopped costs a start and no failure; none is left when its job has ended, or when its worker was killed; and what a
Python script does before winnow_trainer.serve is done once for many trials."""

import os
import re
import signal
import sys
import unittest

import processes
import warm_trainers_test

SERVED = """
import os, sys, time
print("imports", flush=True)
time.sleep(0.5)
import winnow_trainer as winnow

imported = os.getpid()

def main():
    rate = float(sys.argv[sys.argv.index("--rate") + 1])
    assert rate == winnow.hyperparameters()["rate"] == float(os.environ["SM_HP_RATE"])
    print("forked" if imported != os.getpid() else "alone", os.environ["WINNOW_TRIAL"], os.getcwd(), flush=True)
    for level in range(1, 4):
        winnow.report(level, loss=rate * level)

winnow.serve(main)
"""


def endless(name, table):
    spec = warm_trainers_test.job(name, "gbdt", table)
    del spec["pruner"]
    spec["strategy"] = "RANDOM"
    spec["limits"] = {"max_trials": 100_000, "max_parallel_trials": 2}
    return spec


def forked(worker):
    return len(re.findall(r"\bforked \S+: ", worker.log()))


class ForkedTrainersTest(unittest.TestCase):
    def result(self, builtin, flags):
        with processes.Cluster(workers=1, slots=2, worker_flags=flags) as cluster:
            table = os.path.join(cluster.folder, "table.csv")
            processes.write_table(table, 300, 5)
            spec = warm_trainers_test.job("forks", builtin, table)
            del spec["pruner"]
            spec["strategy"] = "RANDOM"
            spec["limits"]["max_trials"] = 60
            name = cluster.client.submit(spec, cluster.folder)
            self.assertEqual(cluster.watch(name).to_end(), 0)
            worker = cluster.workers[0]
            processes.wait_until(lambda: not worker.children(), "neither a program nor a parent of the job is left")
            spend = cluster.client.json("describe", name)["spend"]
            record = processes.Record(cluster.client, name)
            record.points = [point for point in record.points if point["metric"] != "samples-per-second"]
            return record, warm_trainers_test.models_of(worker, name), spend

    def same(self, builtin):
        warm, warm_models, spend = self.result(builtin, [])
        cold, cold_models, cold_spend = self.result(builtin, ["--warm-trainers", "0"])
        self.assertGreater(int(spend["forked_parts"]), 0)
        self.assertGreater(int(spend["new_process_parts"]), 0)
        self.assertEqual(int(cold_spend.get("forked_parts", 0)), 0)
        self.assertGreaterEqual(int(cold_spend["new_process_parts"]), 60)
        warm.expect_same(self, cold)
        self.assertEqual(warm_models, cold_models)
        self.assertGreaterEqual(len(warm_models), 60)

    def test_gbdt(self):
        self.same("gbdt")

    def test_mlp(self):
        self.same("mlp")

    def test_deaths(self):
        with processes.Cluster(workers=1, slots=2) as cluster:
            table = os.path.join(cluster.folder, "table.csv")
            processes.write_table(table, 300, 5)
            name = cluster.client.submit(endless("deaths", table), cluster.folder)
            worker = cluster.workers[0]

            def next_forks():
                before = forked(worker)
                processes.wait_until(lambda: forked(worker) > before, "a trial is forked")

            def the_parent():
                # A program that was just forked looks like one for a moment.
                seen = processes.wait_until(lambda: worker.parents(), "there is a parent")
                next_forks()
                return processes.wait_until(lambda: set(seen).intersection(worker.parents()), "it stays").pop()

            next_forks()
            first = the_parent()
            os.kill(first, signal.SIGKILL)
            processes.wait_until(lambda: processes.parent_of(first) == -1, "the parent is gone")
            next_forks()
            second = the_parent()
            os.kill(second, signal.SIGSTOP)
            # It may have been stopped between two forks, or within one.
            processes.wait_until(lambda: "the parent has forked no process (" in worker.log(), "it is noticed")
            processes.wait_until(lambda: processes.parent_of(second) == -1, "the stopped parent is gone")
            next_forks()
            left = [*worker.trainers(), the_parent()]
            worker.signal(signal.SIGKILL)
            worker.process.wait()
            processes.wait_until(lambda: all(processes.parent_of(pid) == -1 for pid in left), "they are gone")
            worker.start()
            next_forks()
            cluster.client.run("stop", name)
            processes.wait_until(lambda: not worker.children(), "neither a program nor a parent of the job is left")
            counts = cluster.client.json("describe", name)["trial_counts"]
            self.assertEqual(int(counts.get("failed", 0)), 0)

    def served(self, command, script=SERVED, trials=8, warm="FORK"):
        """What each trial printed, how its program started, and the worker's log."""
        with processes.Cluster(workers=1, slots=1) as cluster:
            with open(os.path.join(cluster.folder, "train.py"), "w", encoding="ascii") as file:
                file.write(script)
            name = cluster.client.submit({
                "name": "served", "trainer": {"command": command, "warm": warm,
                                              "metrics": [{"name": "loss"}]},
                "parameters": [{"name": "rate", "continuous": {"min": 0.01, "max": 0.5}}],
                "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
                "limits": {"max_trials": trials, "max_parallel_trials": 1}, "seed": 3}, cluster.folder)
            self.assertEqual(cluster.watch(name).to_end(), 0)
            worker = cluster.workers[0]
            processes.wait_until(lambda: not worker.children(), "neither a program nor a parent of the job is left")
            trials_of = cluster.client.json("trials", name)["trials"]
            self.assertEqual({trial["state"] for trial in trials_of}, {"COMPLETED"})
            for point in cluster.client.json("metrics", name)["points"]:
                rate = next(float(value["continuous"]) for trial in trials_of
                            if trial["number"] == point["trial"] for value in trial["hyperparameters"])
                self.assertAlmostEqual(float(point["value"]), rate * int(point["resource"]))
            starts = [cluster.client.json("describe", name, str(trial["number"]))["attempts"][0].get("part_start")
                      for trial in sorted(trials_of, key=lambda one: int(one["number"]))]
            printed = worker.printed()
            return [printed[trial, 1] for trial in range(1, trials + 1)], starts, worker.log(), cluster.folder

    def test_python_imports_once(self):
        printed, starts, _, folder = self.served([sys.executable, "train.py"])
        self.assertEqual(starts[0], "NEW_PROCESS")
        self.assertEqual(starts[-1], "FORKED")
        for number, (text, start) in enumerate(zip(printed, starts), 1):
            self.assertEqual("imports" in text, start == "NEW_PROCESS", text)
            kind = "alone" if start == "NEW_PROCESS" else "forked"
            self.assertIn(f"{kind} {number} {folder}\n", text)

    def test_what_cannot_fork_starts_as_ever(self):
        for command, script, warm in (
                ([sys.executable, "train.py"], SERVED.replace("winnow.serve(main)", "main()"), "FORK"),
                (["sh", "-c", sys.executable + " train.py --rate {{rate}}"], SERVED, "FORK"),
                ([sys.executable, "train.py"], SERVED, "PROCESS")):
            printed, starts, _, _ = self.served(command, script.replace("0.5", "0.01", 1), 5, warm)
            self.assertEqual(starts, ["NEW_PROCESS"] * 5)
            self.assertTrue(all("imports" in text for text in printed))


if __name__ == "__main__":
    unittest.main(verbosity=2)
