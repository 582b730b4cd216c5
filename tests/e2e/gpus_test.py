"""GPUs with names and without hardware: trials get devices of their own, whatever is killed."""

import os
import subprocess
import sys
import unittest

import processes
from processes import wait_until

# Writes down what it was given, when it began and when it ended, which it does not before there is a file "go". A device has two halves, files that a trainer locks as long
# as it lives: both of each device that it has alone, one of a device that it shares.
TRAINER = """
import fcntl, os, sys, time
folder, halves, units = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
given = os.environ["CUDA_VISIBLE_DEVICES"]
same = given == os.environ["ROCR_VISIBLE_DEVICES"] == os.environ["NVIDIA_VISIBLE_DEVICES"]
host = os.path.basename(os.path.dirname(os.environ["WINNOW_WORK_DIR"]))
def note(what):
    with open(os.path.join(folder, "notes"), "a") as file:
        file.write(f"{what} {host} {given} {os.environ['WINNOW_TRIAL']} {time.time()}\\n")
held = []
for device in given.split(","):
    wanted = len(held) + halves
    for half in range(2):
        if len(held) == wanted:
            break
        file = open(os.path.join(folder, f"{host}.{device}.{half}"), "w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.append(file)
        except OSError:
            file.close()
note("start" if same and len(held) == halves * len(given.split(",")) else "OVERLAP")
for unit in range(units):
    time.sleep(0.05)
    print(f"loss={unit}", flush=True)
while not os.path.exists(os.path.join(folder, "go")):
    time.sleep(0.05)
note("end")
"""


def spec(name, folder, cluster, trials, halves=2, units=20):
    return {"name": name,
            "trainer": {"command": ["python3", "-c", TRAINER, folder, str(halves), str(units)], "resumes": False,
                        "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
            "limits": {"max_trials": trials, "max_parallel_trials": 64}, "cluster": cluster}


def go(folder):
    open(os.path.join(folder, "go"), "w", encoding="ascii").close()


def notes(folder, what):
    try:
        with open(os.path.join(folder, "notes"), encoding="ascii") as file:
            return [line.split()[1:] for line in file if line.startswith(what + " ")]
    except FileNotFoundError:
        return []


class Gpus(unittest.TestCase):
    def test_trials_never_meet_on_a_device_whoever_is_killed(self):
        with processes.Cluster(workers=0) as cluster:
            for name in ("w1", "w2"):
                worker = processes.Worker(cluster.server, cluster.folder, name, slots=8, flags=["--gpus", "0,1,2,3"])
                cluster.workers.append(worker)
                worker.start()
            wait_until(lambda: len(cluster.client.workers()) == 2, "both workers are there")
            job = cluster.client.submit(spec("alone", cluster.folder, {"gpus": 1}, 8, units=2), cluster.folder)
            for worker in cluster.workers:
                wait_until(lambda: len(notes(cluster.folder, "start")) >= 8, "eight trials run")
                taken = cluster.client.workers()
                self.assertTrue(all(gpu.get("used", 0) <= 1 for other in taken for gpu in other["gpus"]))
                started = len(notes(cluster.folder, "start"))
                worker.kill()
                worker.start()
                wait_until(lambda: len(notes(cluster.folder, "start")) > started, "lost trials go on")
            cluster.server.restart()
            go(cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 0)
            self.assertEqual(notes(cluster.folder, "OVERLAP"), [])
            self.assertEqual({trial for _, _, trial, _ in notes(cluster.folder, "end")}, {str(n) for n in range(1, 9)})
            self.assertEqual({(host, gpu) for host, gpu, *_ in notes(cluster.folder, "start")},
                             {(host, str(gpu)) for host in ("w1", "w2") for gpu in range(4)})
            described = cluster.client.json("describe", job, "1")
            self.assertTrue(all(len(rank["gpus"]) == 1 for attempt in described["attempts"] for rank in attempt["ranks"]))

            # Parts of devices: two trials on each at most, and whole devices beside them.
            parts = os.path.join(cluster.folder, "parts")
            os.mkdir(parts)
            go(parts)
            shared = cluster.client.submit(spec("shared", parts, {"gpu_share": 0.5}, 8, halves=1), parts)
            pairs = cluster.client.submit(spec("pairs", parts, {"gpus": 2}, 4, units=5), cluster.folder)
            for each in (shared, pairs):
                self.assertEqual(cluster.watch(each).to_end(), 0)
            self.assertEqual(notes(parts, "OVERLAP"), [])
            self.assertEqual(len(notes(parts, "end")), 12)

    def test_a_device_with_a_fault_gets_no_trials_until_it_is_healthy(self):
        with processes.Cluster(workers=0) as cluster:
            go(cluster.folder)
            broken = os.path.join(cluster.folder, "broken")
            open(broken, "w", encoding="ascii").close()
            health = f'test ! -e {broken} -o "$CUDA_VISIBLE_DEVICES" != GPU-b || {{ echo row remapping failed; exit 1; }}'
            worker = processes.Worker(cluster.server, cluster.folder, "w1", slots=4, flags=[
                "--gpus", "GPU-a,GPU-b", "--gpu-health-command", health, "--gpu-health-interval", "8"])
            cluster.workers.append(worker)
            worker.start()
            wait_until(lambda: [[gpu.get("fault", "") for gpu in each["gpus"]] for each in cluster.client.workers()] ==
                       [["", "row remapping failed"]], "the fault is known")
            self.assertIn("GPU GPU-b of w1 gets no trials: row remapping failed", cluster.client.run("workers"))
            job = cluster.client.submit(spec("one", cluster.folder, {"gpus": 1}, 3, units=3), cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 0)
            self.assertEqual({gpu for _, gpu, *_ in notes(cluster.folder, "start")}, {"GPU-a"})
            both = cluster.client.submit(spec("both", cluster.folder, {"gpus": 2}, 1, units=3), cluster.folder)
            wait_until(lambda: "Waiting for workers: 1 rank of 1 slot and 2 GPUs at once" in
                       cluster.client.run("describe", both), "the job says what it waits for")
            os.remove(broken)
            self.assertEqual(cluster.watch(both).to_end(), 0)
            self.assertEqual(notes(cluster.folder, "end")[-1][1], "GPU-a,GPU-b")

    def test_the_use_of_devices_is_shown(self):
        with processes.Cluster(workers=0) as cluster:
            tools = os.path.join(cluster.folder, "tools")
            os.makedirs(tools)
            with open(f"{tools}/nvidia-smi", "w", encoding="ascii") as file:
                file.write("#!/bin/sh\ncase $1 in\n"
                           "  *utilization*) echo 0, GPU-a, 80, 10240, 40960; echo 1, GPU-b, 20, '[N/A]', 40960;;\n"
                           "  *) echo 0, GPU-a, A100; echo 1, GPU-b, A100;;\nesac\n")
            os.chmod(f"{tools}/nvidia-smi", 0o755)
            worker = processes.Worker(cluster.server, cluster.folder, "w1",
                                      prefix=["env", "-u", "CUDA_VISIBLE_DEVICES", f"PATH={tools}:{os.environ['PATH']}"])
            cluster.workers.append(worker)
            worker.start()
            use = lambda: [(gpu.get("utilization"), gpu.get("memory")) for each in cluster.client.workers()  # noqa: E731
                           for gpu in each["gpus"]]
            wait_until(lambda: use() == [(0.8, 0.25), (0.2, None)], "their use is known")
            self.assertIn("0/2 at 50 %", cluster.client.run("workers"))

    def test_what_no_worker_has_is_refused_and_a_wrong_list_is_told(self):
        with processes.Cluster(workers=0) as cluster:
            worker = processes.Worker(cluster.server, cluster.folder, "w1", slots=2, flags=["--gpus", "0,1"])
            cluster.workers.append(worker)
            worker.start()
            wait_until(lambda: len(cluster.client.workers()) == 1, "the worker is there")
            for cluster_spec, text in (
                    ({"gpus": 3}, "cluster.gpus: is 3, but the most that a registered worker has is 2"),
                    ({"gpus": 1, "gpu_share": 0.5}, "cluster.gpu_share: is 0.5 beside cluster.gpus 1"),
                    ({"gpu_share": 1.5}, "cluster.gpu_share: is 1.5; expected a share of one GPU"),
                    ({"gpus": -1}, "cluster.gpus: is -1; expected 0 to 1024 GPUs per rank")):
                with self.assertRaises(AssertionError) as refused:
                    cluster.client.submit(spec("much", cluster.folder, cluster_spec, 1), cluster.folder)
                self.assertIn(text, str(refused.exception))
            for program in ("winnow-worker", "winnow-server"):
                wrong = subprocess.run([f"{processes.BIN}/{program}", "--gpus", "0,1,0", "--check"], capture_output=True,
                                       text=True, timeout=processes.PATIENCE, check=False)
                self.assertEqual(wrong.returncode, 2)
                self.assertIn('--gpus: "0,1,0" names 0 twice; expected each GPU once', wrong.stderr)

            # A job that asks for none sees what its worker sees.
            plain = spec("plain", cluster.folder, {}, 1)
            plain["trainer"]["command"] = ["sh", "-c", "echo loss=${CUDA_VISIBLE_DEVICES-42}$WINNOW_SLOT"]
            job = cluster.client.submit(plain, cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 0)
            self.assertEqual(cluster.client.json("describe", job)["best"]["objective"], 420)


if __name__ == "__main__":
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    sys.exit(processes.main())
