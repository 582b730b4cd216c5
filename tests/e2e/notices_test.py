"""What looks wrong in a job is told, once for each kind: by `winnow watch` and with the job, also after a restart."""

import os
import unittest

import processes

# Prints the levels 1 to its budget, whatever its hyperparameters are.
LEVELS = """
first=${FIRST:-1}
for level in $(seq "$first" $((WINNOW_RESOURCE_TO + ${MORE:-0}))); do
  echo "epoch $level loss={{x}}"
done
"""

# A rank that knows of no other: it prints, and stays until somebody has noticed. It begins with more lines at once than
# its worker reads at once: while some are unread, nobody knows whether they came before its world ended.
ALONE = """
import os, sys, time
rank, level, begun = int(os.environ["RANK"]), 0, os.environ["NOTICED"] + ".begun"
while rank == 0 and not os.path.exists(begun):  # both print at the same time, however slow the machine is
    time.sleep(0.05)
while level < 3 or rank > 0 and not os.path.exists(os.environ["NOTICED"]):
    level += 1
    print(f"epoch {level} loss={level}")
    if rank > 0:
        open(begun, "w").close()
        if level == 1:
            sys.stdout.write("epoch 1 loss=1\\n" * 100000)
            sys.stdout.flush()
    time.sleep(0.05)  # a level's training
"""

# Ranks that meet at MASTER_PORT, and all print. Each of the others stays connected until rank 0 has heard of all that
# they have printed it.
JOINED = """
import os, socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    listener = socket.create_server(address)
    others = [listener.accept()[0] for _ in range(1, world)]
else:
    while True:
        try:
            others = [socket.create_connection(address)]
            break
        except ConnectionRefusedError:
            pass
for level in (1, 2, 3):
    print(f"epoch {level} loss={level}")
    for other in others:
        other.sendall(b"x")
        other.recv(1)
"""


def job(name, command, trials=1, levels=2, **more):
    return {
        "name": name,
        "trainer": {"command": command, "resource_regex": "epoch ([0-9]+)",
                    "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}], "environment": {}},
        "parameters": [{"name": "x", "continuous": {"min": 0.1, "max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
        "limits": {"max_trials": trials, "max_trial_resource": levels}, **more}


class NoticesTest(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(processes.Cluster(workers=2, slots=2))

    def run_job(self, spec, meanwhile=None):
        """The kinds that were told of the job, with their texts: while it ran, and by the server that comes after."""
        client = self.cluster.client
        name = client.submit(spec, self.cluster.folder)
        watch = self.cluster.watch(name)
        if meanwhile:
            meanwhile(name)
        watch.to_end()
        told = [event["text"] for event in watch.events if event["kind"] == "noticed"]
        notices = self.notices(name)
        # What came before the watch began is with the job alone.
        self.assertEqual(len(set(told)), len(told))
        self.assertLessEqual(set(told), {text for _, text in notices})
        self.assertEqual(len({kind for kind, _ in notices}), len(notices))
        self.cluster.server.restart()
        self.assertEqual(self.notices(name), notices)
        client.run("replay", name, "--verify")
        return dict(notices)

    def notices(self, name):
        return [(notice["kind"], notice["text"]) for notice in self.cluster.client.json("describe", name).get("notices", [])]

    def test_a_job_with_nothing_wrong_gives_none(self):
        self.assertEqual(self.run_job(job("sound", ["/bin/sh", "-c", LEVELS, "trainer"], trials=8)), {})

    def test_levels_below_one(self):
        spec = job("zero", ["/bin/sh", "-c", LEVELS, "trainer"], trials=3)
        spec["trainer"]["environment"] = {"FIRST": "0"}
        told = self.run_job(spec)
        self.assertEqual(list(told), ["LEVEL_BELOW_ONE"])
        self.assertIn("set trainer.resource_offset to 1", told["LEVEL_BELOW_ONE"])

    def test_levels_beyond_the_budget(self):
        spec = job("beyond", ["/bin/sh", "-c", LEVELS, "trainer"], trials=3)
        spec["trainer"]["environment"] = {"MORE": "3"}
        told = self.run_job(spec)
        self.assertEqual(list(told), ["BEYOND_BUDGET"])
        # What was trained beyond is not recorded as if it had been asked for.
        self.assertEqual(max(int(point["resource"]) for point in self.points("beyond")), 2)

    def points(self, name):
        points = self.cluster.client.json("metrics", name)
        return points["points"] if isinstance(points, dict) else points

    def test_parts_that_begin_anew(self):
        spec = job("anew", ["/bin/sh", "-c", LEVELS, "trainer"], trials=9, levels=9)
        del spec["limits"]["max_trial_resource"]
        spec.update(strategy="HYPERBAND", hyperband={"min_resource": 1, "max_resource": 9, "reduction_factor": 3})
        told = self.run_job(spec)
        self.assertEqual(list(told), ["PART_BEGAN_ANEW"])

    def test_a_program_that_ignores_its_hyperparameters(self):
        told = self.run_job(job("constant", ["/bin/sh", "-c", LEVELS.replace("{{x}}", "0.5"), "trainer"], trials=5))
        self.assertEqual(told, {"IDENTICAL_CURVES": "All 5 trials reported the same values of loss: does the program read "
                                                    "its arguments?"})

    def test_a_metric_that_no_line_matches(self):
        spec = job("unmatched", ["/bin/sh", "-c", LEVELS, "trainer"], trials=3)
        spec["trainer"]["metrics"].append({"name": "auc", "regex": "auc=([0-9.]+)"})
        told = self.run_job(spec)
        self.assertEqual(list(told), ["UNMATCHED_METRIC"])
        self.assertIn("`auc` (regex `auc=([0-9.]+)`)", told["UNMATCHED_METRIC"])

    def test_an_objective_that_no_line_matches_is_why_the_trial_failed(self):
        spec = job("nothing", ["/bin/sh", "-c", "echo step 3 Loss: {{x}}", "trainer"])
        spec["trainer"]["metrics"][0]["regex"] = "loss=([0-9.]+)"
        self.assertEqual(list(self.run_job(spec)), ["UNMATCHED_METRIC"])
        why = self.cluster.client.json("describe", "nothing")["state_reason"]
        self.assertRegex(why, r"Its only trial failed: The program exited without printing `loss` \(regex `loss=.*` matched none of 1 "
                              r"line; the last was `step 3 Loss: 0\.")

    def gang(self, name, program):
        path = os.path.join(self.cluster.folder, name + ".py")
        with open(path, "w", encoding="ascii") as file:
            file.write(program)
        spec = job(name, ["/usr/bin/python3", path, "{{x}}"], levels=3, cluster={"nodes": 2})
        self.noticed = os.path.join(self.cluster.folder, name + ".noticed")
        spec["trainer"]["environment"] = {"NOTICED": self.noticed}
        return spec

    def test_ranks_that_are_worlds_of_one(self):
        def end_when_noticed(name):
            processes.wait_until(lambda: self.notices(name), "it is noticed while it runs")
            with open(self.noticed, "w", encoding="ascii"):
                pass

        told = self.run_job(self.gang("alone", ALONE), end_when_noticed)
        self.assertEqual(list(told), ["SEPARATE_WORLDS"])
        self.assertIn("Rank 1 of 2 of trial 1", told["SEPARATE_WORLDS"])

    def test_ranks_that_have_joined_are_one_world_though_all_print(self):
        self.assertEqual(self.run_job(self.gang("joined", JOINED)), {})


if __name__ == "__main__":
    processes.main()
