#!/usr/bin/env python3
"""How many times a second Optuna decides: one ask with its suggestions and one tell, TPE, 6 parameters, in memory and on
SQLite, from a number of finished trials on (the study grows while it is measured). Prints JSON, for comparison with
Winnow's own decisions.

    bench/decide_peer.py [--trials 0,1000,10000] [--seconds 5]
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is loaded
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import argparse
import json
import pathlib
import sys
import tempfile
import time

import numpy
import optuna

PARAMETERS = 6
SPACE = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(PARAMETERS)}
LEAST, MOST = 3, 2000  # decisions measured, whatever the time


def value_of(parameters):
    return -sum((parameters[name] - 0.3) ** 2 for name in SPACE)


def study_of(trials, url):
    """A study with that many finished trials of random parameters."""
    sampler = optuna.samplers.TPESampler(seed=1)
    study = optuna.create_study(direction="maximize", sampler=sampler, storage=url)
    source = numpy.random.default_rng(1)
    finished = []
    for point in source.random((trials, PARAMETERS)).tolist():
        parameters = dict(zip(SPACE, point))
        finished.append(optuna.trial.create_trial(params=parameters, distributions=SPACE, value=value_of(parameters)))
    study.add_trials(finished)
    return study


def decisions_per_second(study, seconds):
    def decide():
        trial = study.ask(SPACE)
        study.tell(trial, value_of(trial.params))

    decide()  # imports and caches
    count, start = 0, time.perf_counter()
    while count < LEAST or (count < MOST and time.perf_counter() - start < seconds):
        decide()
        count += 1
    return count / (time.perf_counter() - start)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--trials", default="0,1000,10000")
    flags.add_argument("--seconds", type=float, default=5, help="for each figure")
    args = flags.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for storage in ("memory", "sqlite"):
            for trials in map(int, args.trials.split(",")):
                url = f"sqlite:///{pathlib.Path(folder, f'{trials}.db')}" if storage == "sqlite" else None
                rate = decisions_per_second(study_of(trials, url), args.seconds)
                results.append({"storage": storage, "finished_trials": trials, "decisions_per_second": round(rate, 2)})
                print(results[-1], file=sys.stderr)
    print(json.dumps({"peer": "optuna", "version": optuna.__version__, "sampler": "TPE", "parameters": PARAMETERS,
                      "results": results}, indent=1))


if __name__ == "__main__":
    main()
