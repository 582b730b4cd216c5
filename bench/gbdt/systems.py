"""The systems under measurement, each trained in a process of its own on a data_sets.DataSet."""

import json
import os
import pathlib
import statistics
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
NO_CACHE = {"WINNOW_CACHE_DIR": "off"}
# Runs a command and writes its peak memory in KiB and its processor seconds to the file that is named first. What the kernel
# counts as a process's peak begins with the memory of the process that started it; so this small one starts it.
COUNTED = """
import os, sys
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    file.write(f"{usage.ru_maxrss} {usage.ru_utime + usage.ru_stime}")
sys.exit(abs(os.waitstatus_to_exitcode(status)))
"""


def job_of(data, threads, eta=0.1, depth=6, max_bin=256, subsample=1.0, colsample=1.0, seed=1):
    return {"train": str(data.train), "validation": str(data.validation), "peer_train": str(data.peer_train),
            "peer_validation": str(data.peer_validation), "levels": data.levels, "objective": data.objective,
            "classes": data.classes, "rounds": data.rounds, "threads": threads, "eta": eta, "depth": depth,
            "max_bin": max_bin, "subsample": subsample, "colsample": colsample, "seed": seed}


def processor_seconds(pid):
    """Of all threads of a process until now."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) * 1e-9


def only_child(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())


def run_and_wait(command, text="", environment=None):
    """Standard output."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, **(environment or {})})
    process.stdin.write(text)
    process.stdin.close()
    output, errors = process.stdout.read(), process.stderr.read()
    if process.wait() != 0:
        raise RuntimeError(f"{command[0]} ended with code {process.returncode}: {errors.strip()[-500:]}")
    return output


class Peer:
    """XGBoost or LightGBM through its Python module; `path` is put before the installed modules."""

    def __init__(self, name, library, path="", quantised=False):
        self.name, self.module, self.path, self.quantised = name, library, str(path), quantised

    def train(self, job, predictions):
        # A waiting thread that spins takes the processor of the others' threads.
        environment = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(job["threads"])}
        if self.module == "xgboost" and self.path:
            environment["PYTHONPATH"] = self.path
        text = json.dumps({**job, "train": job["peer_train"], "validation": job["peer_validation"],
                           "library": self.module, "lightgbm": self.path, "quantised": self.quantised,
                           "predictions": predictions and str(predictions)})
        output = run_and_wait([sys.executable, HERE / "peer_process.py"], text, environment)
        return json.loads(output.splitlines()[-1])


class Winnow:
    """The program winnow-gbdt of the folder `bin_folder`; `work` gets what it writes."""

    def __init__(self, bin_folder, work, name="winnow-gbdt"):
        self.name, self.binary, self.work = name, pathlib.Path(bin_folder) / "winnow-gbdt", pathlib.Path(work)

    def command(self, job, rounds):
        parameters = {"objective": job["objective"], "eta": job["eta"], "max_depth": job["depth"],
                      "max_bin": job["max_bin"], "subsample": job["subsample"], "seed": job["seed"],
                      "colsample_bytree": job["colsample"], "num_round": rounds}
        if job["classes"]:
            parameters["num_class"] = job["classes"]
        (self.work / "hp.json").write_text(json.dumps(parameters))
        sparse = job["train"].endswith(".libsvm")
        reading = ["--format", "libsvm"] if sparse else ["--format", "csv", "--header", "no", "--label", "0"]
        reading += ["--max-levels", str(job["levels"])] if job["levels"] else []
        return [self.binary, "--train", job["train"], *reading, "--hyperparameters", self.work / "hp.json",
                "--model-dir", self.work / "model", "--threads", str(job["threads"])]

    def train(self, job, predictions):
        result = self.timed(job)
        if predictions:
            output = run_and_wait([self.binary, "predict", "--model", self.work / "model/model.json", "--data",
                                      job["validation"]])
            rows = [[float(cell) for cell in line.split(",")] for line in output.splitlines()[1:]]
            numpy.save(predictions, numpy.array(rows).squeeze())
        return result

    def timed(self, job):
        """Without a cache of read data: each run reads its files, as the peers do."""
        timing, counted = self.work / "timing.json", self.work / "counted"
        timing.unlink(missing_ok=True)
        command = [*self.command(job, job["rounds"]), "--timing", timing]
        process = subprocess.Popen([sys.executable, "-S", "-E", "-c", COUNTED, counted, *command], text=True,
                                   stdout=subprocess.PIPE, env={**os.environ, **NO_CACHE})
        at_line = []
        for _ in process.stdout:  # a line a round, with its metric
            try:
                at_line.append(processor_seconds(only_child(process.pid)))
            except (OSError, ValueError):
                pass  # it has ended meanwhile; the rounds before tell
        if process.wait() != 0:
            raise RuntimeError(f"winnow-gbdt ended with code {process.returncode}")
        peak_kib, cpu_seconds = map(float, counted.read_text().split())
        said = json.loads(timing.read_text())
        rounds = said["round_seconds"]
        usual = statistics.median(rounds[1:11])
        training = sum(rounds[1:]) / (sum(rounds[1:]) + sum(said["evaluate_seconds"][1:]))
        return {**said, "setup_seconds": said["setup_seconds"] + max(0, rounds[0] - usual), "round_seconds": rounds[1:],
                "round_cpu_seconds": training * (at_line[-1] - at_line[0]) / (len(at_line) - 1),
                "peak_mib": peak_kib / 1024, "cpu_seconds": cpu_seconds}
