#!/usr/bin/env python3
"""Which search finds the best model in the same time, on the same processor?

    /usr/bin/python3 bench/equal_time.py --bin build/bin [--seconds 4,12] [--seeds 5] [--first-seed 1] [--rounds 3]
                                         [--tables auc,rmse,classes,rare,counts]

Generated tables of five shapes (11,400 x 10 with AUC; 27,400 x 9 with RMSE; 9,100 x 54 with 7 classes and log loss;
16,000 x 30 with one label in twenty and log loss; 20,000 x 12 with counts and Poisson's log likelihood), and as many rows
of each that a boosting round takes about --rounds milliseconds. 7 hyperparameters, at most 100 rounds a trial, one slot, one
thread. Each has the last of --seconds, and is also judged at the earlier ones: Winnow's default, HYPERBAND and RANDOM through
the real server (the job's own limit of wall time), and Optuna's TPE with its Hyperband pruner over XGBoost (python3-optuna,
python3-xgboost) in this process, with the data in memory before its time begins. The methods take turns within a seed, so
that a busy machine slows all alike.

The value is the best validation value of any round that was reported in time. Printed for each of --seconds: its median over
the seeds, and how often a method is ahead of RANDOM and of Optuna. At the end, for Winnow's: how long a round took, and how
much of the time was not training.
"""

import argparse
import dataclasses
import datetime
import math
import pathlib
import statistics
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import parts  # noqa: E402  (the path must be set first)
import service  # noqa: E402

TOP = 100
VALIDATION = 0.25
# rows at 3 ms a round on the machine of docs/measurements.md; scaled by a trial of the same run
TABLES = {
    "auc": {"rows": 11_400, "features": 10, "objective": "binary:logistic", "metric": "auc", "maximize": True},
    "rmse": {"rows": 27_400, "features": 9, "objective": "reg:squarederror", "metric": "rmse", "maximize": False},
    "classes": {"rows": 9_100, "features": 54, "objective": "multi:softprob", "metric": "mlogloss", "maximize": False,
                "classes": 7},
    "rare": {"rows": 16_000, "features": 30, "objective": "binary:logistic", "metric": "logloss", "maximize": False,
             "share": 0.05},
    "counts": {"rows": 20_000, "features": 12, "objective": "count:poisson", "metric": "poisson-nloglik", "maximize": False},
}
PARAMETERS = [
    {"name": "eta", "continuous": {"min": 0.01, "max": 0.5, "scaling": "LOG"}},
    {"name": "max_depth", "integer": {"min": 2, "max": 8}},
    {"name": "min_child_weight", "continuous": {"min": 0.5, "max": 50, "scaling": "LOG"}},
    {"name": "subsample", "continuous": {"min": 0.5, "max": 1}},
    {"name": "colsample_bytree", "continuous": {"min": 0.4, "max": 1}},
    {"name": "lambda", "continuous": {"min": 0.01, "max": 100, "scaling": "LOG"}},
    {"name": "gamma", "continuous": {"min": 0.0001, "max": 10, "scaling": "LOG"}},
]
OPTUNA = "Optuna TPE + Hyperband, XGBoost"
STRATEGIES = {"default": None, "HYPERBAND": "HYPERBAND", "RANDOM": "RANDOM"}


def make_table(table, rows, seed):
    """Features and label: a sum of steps, products and waves of some features, with noise."""
    draw = numpy.random.default_rng(seed)
    x = draw.normal(size=(rows, table["features"]))
    scores = []
    for _ in range(table.get("classes", 1)):
        a, b, c, d = draw.permutation(table["features"])[:4]
        weights = draw.normal(size=4)
        scores.append(weights[0] * x[:, a] + weights[1] * x[:, b] * x[:, c] + weights[2] * (x[:, d] > 0.5)
                      + weights[3] * numpy.sin(2 * x[:, a] + x[:, d]) + draw.normal(size=rows))
    if table["objective"].startswith("multi"):
        return x, numpy.argmax(scores, axis=0)
    if "share" in table:
        return x, (scores[0] > numpy.quantile(scores[0], 1 - table["share"])).astype(int)
    if table["objective"].startswith("binary"):
        return x, (scores[0] > 0.3).astype(int)
    if table["objective"].startswith("count"):
        return x, draw.poisson(numpy.exp(numpy.clip(0.5 * scores[0], -3, 3)))
    return x, scores[0] * 3


def write_table(path, x, y):
    head = "label," + ",".join(f"x{i}" for i in range(x.shape[1]))
    numpy.savetxt(path, numpy.column_stack([y, x]), delimiter=",", header=head, comments="", fmt="%.5g")


def fixed(table):
    """What all trials share, in XGBoost's and winnow-gbdt's words."""
    values = {"objective": table["objective"], "eval_metric": table["metric"], "nthread": 1, "max_bin": 256,
              "tree_method": "hist"}
    return values | ({"num_class": table["classes"]} if "classes" in table else {})


def spec_of(table, strategy, paths, seconds, seed):
    spec = {
        "name": "equal-time",
        "trainer": {"builtin": "gbdt"},
        "static_hyperparameters": {key: str(value) for key, value in fixed(table).items()} | {"num_round": str(TOP)},
        "parameters": PARAMETERS,
        "objective": {"metric": f"validation:{table['metric']}", "goal": "MAXIMIZE" if table["maximize"] else "MINIMIZE",
                      "value": "BEST"},
        "channels": {name: {"path": str(path), "label": "label"} for name, path in paths.items()},
        "limits": {"max_wall_time": f"{seconds}s", "max_trial_resource": TOP},
        "seed": seed,
    }
    if strategy is not None:
        spec["strategy"] = strategy
    if strategy == "HYPERBAND":
        spec["hyperband"] = {"max_resource": TOP, "reduction_factor": 3}
    return spec


def best_of(values, maximize):
    finite = [value for value in values if math.isfinite(value)]
    return (max if maximize else min)(finite) if finite else -math.inf if maximize else math.inf


@dataclasses.dataclass
class Search:
    """One search: when which values came, in seconds since its start; for Winnow's also what the time went to."""
    values: list  # (seconds, value) of each round
    trials: int
    unit: float = math.nan  # seconds of a round
    idle: float = math.nan  # seconds that were not training

    def best(self, seconds, maximize):
        return best_of([value for at, value in self.values if at <= seconds], maximize)


def winnow(one, table, strategy, paths, seconds, seed):
    job = one.run(spec_of(table, strategy, paths, seconds, seed), failure_is_an_answer=True)
    metric = f"validation:{table['metric']}"
    points = [point for point in one.json("metrics", job["id"])["points"] if point["metric"] == metric]
    elapsed, unit, _ = parts.costs_of(points, {}, job["id"], slots=1)
    begun = service_seconds(job["create_time"])
    values = [(service_seconds(point["time"]) - begun, float(point["value"])) for point in points]
    return Search(values, len({point["trial"] for point in points}), unit, elapsed - len(points) * unit)


def optuna_study(table, data, seconds, seed):
    import optuna
    import xgboost
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    (train_x, train_y), (valid_x, valid_y) = data
    train, valid = xgboost.DMatrix(train_x, train_y, nthread=1), xgboost.DMatrix(valid_x, valid_y, nthread=1)
    values, trials = [], []  # as in Search, and the trials' numbers

    def suggest(trial, parameter):
        if "integer" in parameter:
            return trial.suggest_int(parameter["name"], parameter["integer"]["min"], parameter["integer"]["max"])
        between = parameter["continuous"]
        return trial.suggest_float(parameter["name"], between["min"], between["max"], log="scaling" in between)

    begun = time.monotonic()

    def objective(trial):
        trials.append(trial.number)
        booster = xgboost.Booster(fixed(table) | {p["name"]: suggest(trial, p) for p in PARAMETERS}, [train, valid])
        seen = []
        for level in range(1, TOP + 1):
            booster.update(train, level - 1)
            value = float(booster.eval(valid, "validation").rsplit(":", 1)[1])
            elapsed = time.monotonic() - begun
            if elapsed > seconds:
                break
            values.append((elapsed, value))
            seen.append(value)
            trial.report(value, level)
            if trial.should_prune():
                raise optuna.TrialPruned
        if not seen:
            raise optuna.TrialPruned
        return best_of(seen, table["maximize"])

    study = optuna.create_study(
        study_name=f"equal-time-{seed}", direction="maximize" if table["maximize"] else "minimize",
        sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True),
        pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=TOP, reduction_factor=3))
    study.optimize(objective, timeout=seconds)
    return Search(values, len(trials))


def scaled(one, table, folder, milliseconds, seed):
    """(paths, data in memory, milliseconds of a round), with rows for rounds of so many milliseconds."""
    rows = table["rows"]
    for attempt in range(3):
        x, y = make_table(table, rows, seed)
        cut = int(rows * (1 - VALIDATION))
        pieces = {"train": (x[:cut], y[:cut]), "validation": (x[cut:], y[cut:])}
        paths = {name: folder / f"{table['metric']}-{milliseconds}-{attempt}-{name}.csv" for name in pieces}
        for name, (features, label) in pieces.items():
            write_table(paths[name], features, label)
        spec = spec_of(table, "RANDOM", paths, 600, 1)
        spec["limits"] = {"max_trials": 6, "max_parallel_trials": 1, "max_trial_resource": TOP}
        times = {}
        for point in one.json("metrics", one.run(spec)["id"])["points"]:
            times.setdefault(point["trial"], set()).add(service_seconds(point["time"]))
        unit = statistics.median((max(t) - min(t)) / (TOP - 1) for t in times.values()) * 1e3
        if attempt == 2 or 0.7 < unit / milliseconds < 1.4:
            return paths, (pieces["train"], pieces["validation"]), unit, rows
        rows = max(600, int(rows * milliseconds / unit))


def service_seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def measure(one, name, arguments, folder):
    table = TABLES[name]
    paths, data, unit, rows = scaled(one, table, folder, arguments.rounds, 17)
    print(f"\n{name}: {rows} x {table['features']}, a round {unit:.2f} ms; {table['metric']}", flush=True)
    last = arguments.seconds[-1]
    results = {method: [] for method in [*STRATEGIES, OPTUNA]}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for method, strategy in STRATEGIES.items():
            results[method].append(winnow(one, table, strategy, paths, last, seed))
        results[OPTUNA].append(optuna_study(table, data, last, seed))
    better = (lambda a, b: a > b) if table["maximize"] else (lambda a, b: a < b)
    for seconds in arguments.seconds:
        print(f"  after {seconds:g} s")
        bests = {method: [run.best(seconds, table["maximize"]) for run in runs] for method, runs in results.items()}
        for method, values in bests.items():
            ahead = [sum(map(better, values, bests[peer])) for peer in ("RANDOM", OPTUNA)]
            print(f"    {method:32} median {statistics.median(values):.5f}; ahead of RANDOM {ahead[0]}/{len(values)}, "
                  f"of Optuna {ahead[1]}/{len(values)}")
    for method, runs in results.items():
        rounds, trials, unit, idle = (statistics.median(column) for column in zip(
            *((len(run.values), run.trials, run.unit, run.idle) for run in runs)))
        times = "" if method == OPTUNA else f"; a round {unit * 1e3:.1f} ms, {idle:.2f} s not training"
        print(f"  {method:32} {rounds:6.0f} rounds in {trials:5.0f} trials{times}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--seconds", type=lambda text: sorted(map(float, text.split(","))), default=[4.0],
                        help="after which each search is judged; the last ends it")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--rounds", type=float, default=3, help="milliseconds of a boosting round")
    parser.add_argument("--tables", default=",".join(TABLES))
    arguments = parser.parse_args()
    service.require_programs(arguments.bin)
    with tempfile.TemporaryDirectory(prefix="winnow-equal-time-") as folder:
        with service.Service(arguments.bin, folder, workers=1, slots=1) as one:
            for name in arguments.tables.split(","):
                measure(one, name, arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
