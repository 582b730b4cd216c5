"""The same trials and rounds given to Optuna (TPE + Hyperband) over XGBoost, and to Winnow with one node a trial."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy

import data
import jobs
import tuned

SEEDS = 5
OPTUNA = "optuna"
PROGRAM = pathlib.Path(__file__).with_name("optuna_study.py")


def _rows_file(setting, split):
    """The rows that Winnow's channel has, as arrays."""
    path = setting.work / f"rows-{split.replace('/', '-')}.npz"
    if not path.exists():
        parts, files = setting.split(split), setting.files
        rows = data.repeated(numpy.arange(len(parts["train"].labels)), files.repetition, files.seed)
        numpy.savez(path, features=parts["train"].features[rows], labels=parts["train"].labels[rows],
                    weight=data.COPIES / files.repetition, validation_features=parts["validation"].features,
                    validation_labels=parts["validation"].labels)
    return path


def _run(command):
    """What it printed; none of its processes outlives the call."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
    try:
        printed, errors = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode != 0:
        raise RuntimeError(f"Optuna: {errors.strip()[-1000:]}")
    return printed


def _optuna(setting, split, seed):
    folder = setting.work / f"optuna-{seed}"
    folder.mkdir()
    start = time.perf_counter()
    row = json.loads(_run([sys.executable, "-B", PROGRAM, json.dumps({
        "rows": str(_rows_file(setting, split)), "folder": str(folder), "seed": seed, "parallel": jobs.PARALLEL,
        "trials": setting.few(jobs.TRIALS, 6), "max_resource": jobs.MAX_RESOURCE})]))
    row["elapsed"] = time.perf_counter() - start
    return {**row, "test": tuned.test_auc(setting, split, folder / f"trial-{row['trial']}", row["rounds_of_best"])}


def run(setting, split):
    setting.warm(split)
    _rows_file(setting, split)  # before any clock runs, too
    rows = {OPTUNA: [], jobs.HYPERBAND: [], jobs.DEFAULT: []}
    for seed in setting.seeds(SEEDS):
        rows[OPTUNA].append({"seed": seed, **_optuna(setting, split, seed)})
        for kind in (jobs.HYPERBAND, jobs.DEFAULT):
            rows[kind].append({"seed": seed, **tuned.search(setting, kind, split, seed, nodes=1)[0]})
        setting.say(f"seed {seed}: " + ", ".join(tuned.said(name, of[-1]) for name, of in rows.items()))
    return {"split": split, "rows": rows}
