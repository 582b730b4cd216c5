"""Programs that cannot resume and are suspended at rungs: what they train is counted by what they write down themselves, and
none is left when its job has ended."""

import os
import unittest

import processes

# Writes a line for each epoch that it has trained, into a file of its process, and then reports it.
TRAINER = """
import os, sys, time
x = float(sys.argv[1])
trained = open(os.path.join(os.environ["TRAINED"], os.environ["WINNOW_TRIAL"] + "." + str(os.getpid())), "w")
for epoch in range(1, int(os.environ["EPOCHS"]) + 1):
    time.sleep(0.03)
    trained.write(f"{epoch}\\n")
    trained.flush()
    print(f"epoch={epoch} loss={abs(x - 0.3) + 1 / epoch}", flush=True)
"""
MOST = 27


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


if __name__ == "__main__":
    processes.main()
