"""The post's tuning job by Optuna 3.1 (TPE, HyperbandPruner) over XGBoost 1.7.4 (hist), several processes on one study.

    optuna_study.py JOB: a JSON object {"rows", "folder", "seed", "parallel", "trials", "max_resource"}

Prints what it came to, as a JSON object. Reports every round and asks whether to prune, as Optuna's documentation
shows it; a trial is told its best value. The model of each trial is kept as it ended.
"""

import json
import multiprocessing
import os
import pathlib
import sys
import warnings

os.environ["OMP_WAIT_POLICY"] = "passive"
os.environ["OMP_NUM_THREADS"] = "1"

import numpy  # noqa: E402
import optuna  # noqa: E402
import xgboost  # noqa: E402

import jobs  # noqa: E402

STUDY_PATIENCE_SECONDS = 120  # for SQLite's lock, which all processes want


def storage(job):
    return optuna.storages.RDBStorage(f"sqlite:///{job['folder']}/study.db",
                                      engine_kwargs={"connect_args": {"timeout": STUDY_PATIENCE_SECONDS}})


def suggest(trial, parameter):
    name = parameter["name"]
    if "integer" in parameter:
        return trial.suggest_int(name, parameter["integer"]["min"], parameter["integer"]["max"])
    return trial.suggest_float(name, parameter["continuous"]["min"], parameter["continuous"]["max"])


def open_study(job, process):
    """Every process draws its own numbers. constant_liar: what Optuna has for trials that run at the same time."""
    sampler = optuna.samplers.TPESampler(seed=job["seed"] * 100 + process, multivariate=True, constant_liar=True)
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=job["max_resource"], reduction_factor=3)
    # The pruner draws a trial's bracket from the study's name.
    return optuna.create_study(study_name=f"headline-{job['seed']}", storage=storage(job), direction="maximize",
                               sampler=sampler, pruner=pruner, load_if_exists=True)


def train(job, rows, validation, trial):
    chosen = {parameter["name"]: suggest(trial, parameter) for parameter in jobs.search_space()}
    rounds = min(chosen.pop("num_round"), job["max_resource"])
    booster = xgboost.Booster({**jobs.STATIC, **chosen, "tree_method": "hist", "nthread": 1, "seed": job["seed"]},
                              [rows, validation])
    best = 0.0
    try:
        for level in range(1, rounds + 1):
            booster.update(rows, level - 1)
            value = float(booster.eval(validation).rsplit(":", 1)[1])
            best = max(best, value)
            trial.report(value, level)
            if trial.should_prune():
                raise optuna.TrialPruned
    finally:
        folder = pathlib.Path(job["folder"]) / f"trial-{trial.number}"
        folder.mkdir()
        booster.save_model(folder / "model.json")
    return best


def work(job, process, tickets):
    """Takes trials until all have been begun."""
    quiet()
    loaded = numpy.load(job["rows"])
    rows = xgboost.DMatrix(loaded["features"], loaded["labels"], nthread=1,
                           weight=numpy.full(len(loaded["labels"]), loaded["weight"]))
    validation = xgboost.DMatrix(loaded["validation_features"], loaded["validation_labels"], nthread=1)
    study = open_study(job, process)
    while True:
        with tickets.get_lock():
            if tickets.value == 0:
                return
            tickets.value -= 1
        study.optimize(lambda trial: train(job, rows, validation, trial), n_trials=1)


def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    xgboost.set_config(verbosity=0)


def told(job):
    """As Winnow tells it: the best value of any trial at any level."""
    trials = open_study(job, 0).trials
    best = max((value, -level, trial.number) for trial in trials for level, value in trial.intermediate_values.items())
    seconds = [(trial.datetime_complete - trial.datetime_start).total_seconds() for trial in trials]
    whole = max(trial.datetime_complete for trial in trials) - min(trial.datetime_start for trial in trials)
    return {"validation": best[0], "rounds_of_best": -best[1], "trial": best[2], "trials": len(trials),
            "rounds": sum(len(trial.intermediate_values) for trial in trials), "training": sum(seconds),
            "node_seconds": sum(seconds), "elapsed_without_start": whole.total_seconds()}


def main():
    job = json.loads(sys.argv[1])
    quiet()
    open_study(job, 0)
    context = multiprocessing.get_context("fork")
    tickets = context.Value("i", job["trials"])
    running = [context.Process(target=work, args=(job, number, tickets)) for number in range(1, job["parallel"] + 1)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    if any(process.exitcode != 0 for process in running):
        sys.exit("a process of the study failed")
    print(json.dumps(told(job)))


if __name__ == "__main__":
    main()
