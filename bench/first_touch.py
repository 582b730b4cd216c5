#!/usr/bin/env python3
"""The first touch: winnow.tune beside Optuna with SQLite, in the same run. Prints the lines of each program, the seconds
from import to the best, and the overhead per trial of a function that does nothing.

  WINNOW_BIN_DIR=build/bin python3 bench/first_touch.py [--trials 100 1000 10000] [--repeats 3] [--optuna-at-most 1000]

Each measurement is a fresh process with a fresh directory on the same disk. The goal: at most a tenth of Optuna's
overhead. Optuna's default sampler is TPE; Winnow's for a function without steps is a Gaussian process. RANDOM on both
sides leaves out what the samplers cost. --optuna-at-most bounds Optuna's runs, since 10,000 trials take hours: with more its
time per trial is that of 50 trials after half of them were added to the study, marked by *. Needs python3-optuna.
"""

import argparse
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

OPTUNA_HALFWAY = """
import random
import time
import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)
wide = optuna.distributions.FloatDistribution(-10, 10)

def f(trial):
    x, y = trial.suggest_float("x", -10, 10), trial.suggest_float("y", -10, 10)
    return (x - 2) ** 2 + (y + 1) ** 2

study = optuna.create_study(storage="sqlite:///study.db"{more})
for _ in range({trials} // 2):
    x, y = random.uniform(-10, 10), random.uniform(-10, 10)
    study.add_trial(optuna.trial.create_trial(params={{"x": x, "y": y}}, distributions={{"x": wide, "y": wide}},
                                              value=(x - 2) ** 2 + (y + 1) ** 2))
study.optimize(f, n_trials=1)
begin = time.perf_counter()
study.optimize(f, n_trials=50)
print("each", (time.perf_counter() - begin) / 50)
"""

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


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--trials", type=int, nargs="+", default=[100, 1000])
    flags.add_argument("--repeats", type=int, default=3)
    flags.add_argument("--optuna-at-most", type=int, default=1_000_000, help="trials of Optuna's whole runs")
    flags.add_argument("--samplers", nargs="+", choices=sorted(RIVALS), default=["default", "random"])
    options = flags.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT / "clients/python")
    for name, program in (("winnow", WINNOW), ("optuna", OPTUNA)):
        print(f"lines: {name} {sum(bool(line.strip()) for line in program.splitlines())}")
    print(f"{'sampler':8} {'trials':>6}  {'winnow s':>9} {'optuna s':>9}  {'winnow ms':>9} {'optuna ms':>9}  ratio")
    for sampler in options.samplers:
        for trials in options.trials:
            whole, each = {}, {}
            for name, (program, more) in RIVALS[sampler].items():
                if name == "optuna" and trials > options.optuna_at_most:
                    one = seconds(OPTUNA_HALFWAY.format(trials=trials, more=more), "each")
                    whole[name], each[name] = trials * one, 1e3 * one
                    continue
                runs = [(seconds(program.format(trials=trials, more=more)), seconds(program.format(trials=1, more=more)))
                        for _ in range(options.repeats)]
                whole[name] = statistics.median(run for run, _ in runs)
                each[name] = 1e3 * (whole[name] - statistics.median(one for _, one in runs)) / max(1, trials - 1)
            mark = "*" if trials > options.optuna_at_most else " "
            print(f"{sampler:8} {trials:6}  {whole['winnow']:9.2f} {whole['optuna']:9.2f}{mark} {each['winnow']:9.2f} "
                  f"{each['optuna']:9.2f}{mark} {each['winnow'] / each['optuna']:.3f}", flush=True)


if __name__ == "__main__":
    main()
