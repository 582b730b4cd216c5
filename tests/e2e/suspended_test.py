"""Programs that cannot resume and are suspended at rungs: what they train is counted by what they write down themselves, and
none is left when its job has ended."""

import os
import unittest

import processes

# Writes a line for each epoch that it has trained, into a file of its process, and then reports it. With HELD, it trains its
# second epoch only when the file GO is there, so that it cannot end before it is suspended; from that trial on its first too.
TRAINER = """
import os, select, sys, time
x = float(sys.argv[1])
trained = open(os.path.join(os.environ["TRAINED"], os.environ["WINNOW_TRIAL"] + "." + str(os.getpid())), "w")
held = int(os.environ.get("HELD", "0"))
free = 1 if int(os.environ["WINNOW_TRIAL"]) < held else 0
for epoch in range(1, int(os.environ["EPOCHS"]) + 1):
    while held and epoch > free and not os.path.exists(os.environ["GO"]):
        select.select([], [], [], 0.01)
    time.sleep(0.03 if not held else 0)
    trained.write(f"{epoch}\\n")
    trained.flush()
    print(f"epoch={epoch} loss={abs(x - 0.3) + 1 / epoch}", flush=True)
"""
MOST = 27
PAUSED = int(os.environ.get("WINNOW_TEST_PAUSED", "100"))


def job(cluster, name, warm, **more):
    trained = os.path.join(cluster.folder, "trained-" + name)
    os.mkdir(trained)
    script = os.path.join(cluster.folder, "train.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(TRAINER)
    return {
        "name": name,
        "trainer": {
            "command": ["python3", "-SE", script, "{{x}}"], "resumes": False, "warm": warm, "resource_regex": "epoch=([0-9]+)",
            "metrics": [{"name": "loss", "regex": "loss=([0-9.e+-]+)"}],
            "environment": {"TRAINED": trained, "EPOCHS": str(MOST)}},
        "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"},
        "strategy": "HYPERBAND", "hyperband": {"max_resource": MOST}, "seed": 7} | more


def trained(cluster, name):
    """The epochs that the programs have trained."""
    folder = os.path.join(cluster.folder, "trained-" + name)
    total = 0
    for file in os.listdir(folder):
        with open(os.path.join(folder, file), encoding="ascii") as lines:
            total += sum(1 for _ in lines)
    return total


class SuspendedTest(unittest.TestCase):
    def finish(self, cluster, name):
        """The finished job; its record replays."""
        self.assertEqual(cluster.watch(name).to_end(), 0)
        cluster.client.run("replay", name, "--verify")
        for worker in cluster.workers:
            processes.wait_until(lambda w=worker: not w.trainers(), "no program of the job is left")
        trials = cluster.client.json("trials", name)["trials"]
        self.assertNotIn("FAILED", {trial["state"] for trial in trials})
        return cluster.client.json("describe", name), trials

    def test_hyperband_trains_less_and_finds_the_same(self):
        with processes.Cluster(workers=2, slots=1, worker_flags=["--warm-trainers", "64"]) as cluster:
            totals = {}
            for warm in ("OFF", "SUSPEND"):
                name = cluster.client.submit(job(cluster, warm.lower(), warm), cluster.folder)
                described, trials = self.finish(cluster, name)
                distance = {int(t["number"]): abs(float(t["hyperparameters"][0]["continuous"]) - 0.3) for t in trials}
                self.assertEqual(int(described["best"]["trial"]), min(distance, key=distance.get))
                totals[warm] = trained(cluster, name)
                self.assertLessEqual(totals[warm], 0.5 * MOST * len(trials))
                if warm == "SUSPEND":
                    # No epoch was trained twice.
                    levels = {(int(p["trial"]), int(p["resource"])) for p in cluster.client.json("metrics", name)["points"]}
                    self.assertEqual(int(described["spend"]["resource"]), len(levels))
            print("epochs trained, of", MOST * len(trials), totals)
            self.assertLess(totals["SUSPEND"], totals["OFF"])

    def hold(self, cluster, trials, held, slots):
        """A job of one bracket, in which every trial from `held` on waits for the file "go" before its first epoch. Returns its
        name when all trials before are paused at their first rung, and as many as there are slots are held."""
        name = "held"
        spec = job(cluster, name, "SUSPEND", strategy=None, sampler={"kind": "RANDOM"},
                   pruner={"kind": "SUCCESSIVE_HALVING", "trials": trials, "reduction_factor": 3, "min_resource": 1,
                           "max_resource": MOST})
        for gone in ("strategy", "hyperband"):
            del spec[gone]
        spec["trainer"]["environment"].update(HELD=str(held), GO=os.path.join(cluster.folder, "go"))
        name = cluster.client.submit(spec, cluster.folder)
        processes.wait_until(lambda: len(self.programs(cluster, range(held, trials + 1))) == slots
                             and int(cluster.client.json("describe", name)["trial_counts"].get("paused", 0)) == held - 1,
                             "all are paused but those that are held")
        return name

    def programs(self, cluster, trials):
        """{trial: process ids} of the programs of these trials that are there."""
        found = {}
        for file in os.listdir(os.path.join(cluster.folder, "trained-held")):
            trial, pid = map(int, file.split("."))
            if trial in trials and processes.parent_of(pid) >= 0:
                found.setdefault(trial, []).append(pid)
        return found

    def go(self, cluster):
        with open(os.path.join(cluster.folder, "go"), "w", encoding="ascii"):
            pass

    def test_a_worker_that_is_killed_takes_its_suspended_programs_with_it_and_their_trials_begin_anew(self):
        with processes.Cluster(workers=1, slots=1, worker_flags=["--warm-trainers", "64"]) as cluster:
            name = self.hold(cluster, trials=9, held=7, slots=1)
            first = self.programs(cluster, range(1, 7))
            self.assertEqual(sorted(first), list(range(1, 7)))  # suspended, all of them
            cluster.workers[0].kill()
            processes.wait_until(lambda: not self.programs(cluster, range(1, 10)), "the kernel has killed them")
            self.go(cluster)
            cluster.workers[0].start()
            described, trials = self.finish(cluster, name)
            self.assertEqual({trial["state"] for trial in trials}, {"COMPLETED", "PRUNED"})
            distance = {int(t["number"]): abs(float(t["hyperparameters"][0]["continuous"]) - 0.3) for t in trials}
            self.assertEqual(int(described["best"]["trial"]), min(distance, key=distance.get))
            # Nobody's attempt was his fault, and no epoch counts that nobody has trained.
            self.assertEqual([trial for trial in trials if int(trial.get("failures", 0)) > 0], [])
            self.assertLessEqual(int(described["spend"]["resource"]), trained(cluster, name))

    def test_a_job_that_is_stopped_leaves_no_suspended_program_and_its_worker_is_free(self):
        with processes.Cluster(workers=1, slots=1, worker_flags=["--warm-trainers", "64"]) as cluster:
            name = self.hold(cluster, trials=9, held=7, slots=1)
            self.assertEqual(sorted(self.programs(cluster, range(1, 8))), list(range(1, 8)))
            cluster.client.run("stop", name)
            cluster.watch(name).to_end()
            self.assertEqual(cluster.client.json("describe", name)["state"], "STOPPED")
            processes.wait_until(lambda: not self.programs(cluster, range(1, 10)), "no program of the job is left")
            self.assertEqual(cluster.workers[0].children(), [])
            after = cluster.client.submit(job(cluster, "after", "OFF", hyperband={"max_resource": 1}), cluster.folder)
            self.finish(cluster, after)

    def test_of_many_paused_trials_as_many_are_suspended_as_the_worker_allows(self):
        with processes.Cluster(workers=1, slots=2, worker_flags=["--warm-trainers", "16"]) as cluster:
            name = self.hold(cluster, trials=PAUSED + 2, held=PAUSED + 1, slots=2)
            processes.wait_until(lambda: len(self.programs(cluster, range(1, PAUSED + 1))) == 16, "those beyond the limit are gone")
            self.go(cluster)
            described, trials = self.finish(cluster, name)
            distance = {int(t["number"]): abs(float(t["hyperparameters"][0]["continuous"]) - 0.3) for t in trials}
            self.assertEqual(int(described["best"]["trial"]), min(distance, key=distance.get))


if __name__ == "__main__":
    processes.main()
