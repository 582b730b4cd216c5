#!/usr/bin/env python3
"""The first touch: winnow.tune beside Optuna with SQLite, in the same run. Prints the lines of each program, the seconds
from import to the best, and the overhead per trial of a function that does nothing.

  WINNOW_BIN_DIR=build/bin python3 bench/first_touch.py [--trials 100 1000 10000] [--repeats 3] [--optuna-at-most 1000]
      [--processes 1 4]

Each measurement is a fresh process with a fresh directory on the same disk. The goal: at most a tenth of Optuna's
overhead. Optuna's default sampler is TPE; Winnow's for a function without steps is a Gaussian process. RANDOM on both
sides leaves out what the samplers cost. --optuna-at-most bounds Optuna's runs, since 10,000 trials take hours: with more its
time per trial is that of 50 trials after half of them were added to the study, marked by *. --processes: as many run trials at once;
both times are then seconds of wall time for each trial. Needs python3-optuna.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

WINNOW = """
import winnow

def f(x, y):
    return (x - 2) ** 2 + (y + 1) ** 2

result = winnow.tune(f, {{"x": winnow.uniform(-10, 10), "y": winnow.uniform(-10, 10)}}, max_trials={trials}{more})
print(result.best_params, result.best_value)
"""

OPTUNA = """
import optuna

def f(trial):
    x, y = trial.suggest_float("x", -10, 10), trial.suggest_float("y", -10, 10)
    return (x - 2) ** 2 + (y + 1) ** 2

study = optuna.create_study(storage="sqlite:///study.db"{more})
study.optimize(f, n_trials={trials})
print(study.best_params, study.best_value)
"""

# In `processes` at once. With `halfway` they go on from as many trials, and the time is that of each of theirs.
OPTUNA_PROCESSES = """
import multiprocessing
import random
import time
import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)
wide = optuna.distributions.FloatDistribution(-10, 10)

def f(trial):
    x, y = trial.suggest_float("x", -10, 10), trial.suggest_float("y", -10, 10)
    return (x - 2) ** 2 + (y + 1) ** 2

def work(trials):
    optuna.load_study(study_name="study", storage="sqlite:///study.db"{more}).optimize(f, n_trials=trials)

optuna.create_study(study_name="study", storage="sqlite:///study.db")
earlier = []
for _ in range({halfway}):
    x, y = random.uniform(-10, 10), random.uniform(-10, 10)
    earlier.append(optuna.trial.create_trial(params={{"x": x, "y": y}}, distributions={{"x": wide, "y": wide}},
                                             value=(x - 2) ** 2 + (y + 1) ** 2))
optuna.load_study(study_name="study", storage="sqlite:///study.db").add_trials(earlier)
begin = time.perf_counter()
workers = [multiprocessing.get_context("fork").Process(target=work, args=({trials} // {processes},)) for _ in range({processes})]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
    assert worker.exitcode == 0
print("each", (time.perf_counter() - begin) / ({trials} // {processes} * {processes}))
"""
HALFWAY_TRIALS = 50

TIMED = """
import time
_begin = time.perf_counter()
{program}
print("seconds", time.perf_counter() - _begin)
"""

RIVALS = {  # the default sampler, and random search
    "default": {"winnow": (WINNOW, ', directory="study"'), "optuna": (OPTUNA, "")},
    "random": {"winnow": (WINNOW, ', directory="study", strategy="random"'),
               "optuna": (OPTUNA, ", sampler=optuna.samplers.RandomSampler(seed=0)")}}


def seconds(program, what="seconds"):
    with tempfile.TemporaryDirectory(prefix="winnow-first-touch-") as folder:
        done = subprocess.run([sys.executable, "-c", TIMED.format(program=program)], cwd=folder, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"the program failed:\n{program}\n{done.stderr[-3000:]}")
        return float(done.stdout.split(what)[1].split()[0])


def measured(program, trials, repeats, more):
    """(seconds of the whole run, seconds of one trial more) in the median. A run of one trial is what the others share."""
    runs = [(seconds(program.format(trials=trials, more=more)), seconds(program.format(trials=1, more=more)))
            for _ in range(repeats)]
    whole, one = (statistics.median(times) for times in zip(*runs))
    return whole, (whole - one) / max(1, trials - 1)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--trials", type=int, nargs="+", default=[100, 1000])
    flags.add_argument("--repeats", type=int, default=3)
    flags.add_argument("--optuna-at-most", type=int, default=1_000_000, help="trials of Optuna's whole runs")
    flags.add_argument("--processes", type=int, nargs="+", default=[1])
    flags.add_argument("--samplers", nargs="+", choices=sorted(RIVALS), default=["default", "random"])
    options = flags.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT / "clients/python")
    for name, program in (("winnow", WINNOW), ("optuna", OPTUNA)):
        print(f"lines: {name} {sum(bool(line.strip()) for line in program.splitlines())}")
    print(f"{'sampler':8} {'trials':>6} {'procs':>5}  {'winnow s':>9} {'optuna s':>9}  {'winnow ms':>9} {'optuna ms':>9}  ratio")
    for sampler, trials, processes in itertools.product(options.samplers, options.trials, options.processes):
        ours, theirs = (RIVALS[sampler][name] for name in ("winnow", "optuna"))
        jobs = f", n_jobs={processes}"
        winnow = measured(ours[0], trials, options.repeats, ours[1] + jobs)
        halfway = trials // 2 if trials > options.optuna_at_most else 0
        if halfway or processes > 1:
            run = HALFWAY_TRIALS if halfway else trials
            each = statistics.median(
                seconds(OPTUNA_PROCESSES.format(trials=run, processes=processes, halfway=halfway, more=theirs[1]), "each")
                for _ in range(1 if halfway else options.repeats))
            optuna = trials * each, each
        else:
            optuna = measured(theirs[0], trials, options.repeats, theirs[1])
        mark = "*" if halfway else " "
        print(f"{sampler:8} {trials:6} {processes:5}  {winnow[0]:9.2f} {optuna[0]:9.2f}{mark} {1e3 * winnow[1]:9.2f} "
              f"{1e3 * optuna[1]:9.2f}{mark} {winnow[1] / optuna[1]:.3f}", flush=True)


if __name__ == "__main__":
    main()
