#!/usr/bin/python3
"""A round of winnow-gbdt beside one of XGBoost (hist) under each objective, metric and hyperparameter that changes what
is computed, so that none of them has a slow path.

    bench/gbdt/hyperparameters.py --bin build/bin [--repeats 3] [--rounds 40] [--only PART,...]

Most cases change one thing of a plain job: logistic loss with `logloss` on 30,000 x 10, depth 6, one thread. A round is
training and the metric of these rows and of 10,000 validation rows; the least mean of the repeats, which take turns.
Printed: milliseconds of both and their ratio, XGBoost's divided by winnow-gbdt's (above 1, winnow-gbdt is faster); at the
end the geometric mean, and the cases in which XGBoost is faster. --only: cases whose name contains one of these.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before libgomp is loaded
os.environ["WINNOW_CACHE_DIR"] = "off"  # data files made for one run

import numpy  # noqa: E402  (the environment must be set first)
import xgboost  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import many_cases  # noqa: E402  (the path must be set first)

ROWS, VALIDATION, FEATURES, CLASSES = 30_000, 10_000, 10, 7
PLAIN = {"objective": "binary:logistic", "eval_metric": "logloss", "eta": 0.1, "max_depth": 6, "min_child_weight": 1,
         "lambda": 1, "max_bin": 256, "tree_method": "hist", "nthread": 1, "seed": 1}
MONOTONE = "(" + ",".join(["1", "-1"] + ["0"] * (FEATURES - 2)) + ")"


class Table:
    """rows: so many to train on, and a third of them to validate. gaps: the share of missing values; levels: the last
    feature is so many categories; groups: rows of a query."""

    def __init__(self, label="binary", rows=ROWS, features=FEATURES, gaps=0.0, levels=0, groups=0):
        self.label, self.rows, self.features = label, rows, features
        self.gaps, self.levels, self.groups = gaps, levels, groups

    def make(self):
        draw = numpy.random.default_rng(5)
        count = self.rows + self.rows // 3
        x = draw.normal(size=(count, self.features))
        score = x[:, 0] + x[:, 1] * x[:, 2] - 0.5 * x[:, 3] + numpy.sin(3 * x[:, 4]) + draw.normal(size=count)
        if self.levels:
            x[:, -1] = draw.integers(self.levels, size=count)
            score += draw.normal(size=self.levels)[x[:, -1].astype(int)]
        label = {
            "binary": lambda: (score > 0.3).astype(float),
            "number": lambda: score,
            "positive": lambda: numpy.exp(numpy.clip(score / 2, -3, 3)),
            "count": lambda: draw.poisson(numpy.exp(numpy.clip(score / 2, -3, 3))).astype(float),
            "share": lambda: 1 / (1 + numpy.exp(-score)),
            "class": lambda: numpy.digitize(score, numpy.quantile(score, numpy.arange(1, CLASSES) / CLASSES)).astype(float),
            "relevance": lambda: numpy.digitize(score, [0, 1, 2, 3]).astype(float),
        }[self.label]()
        if self.gaps:
            x[draw.random(x.shape) < self.gaps] = numpy.nan
        return x, label


class Case:
    def __init__(self, name, table=Table(), **changed):
        self.name, self.table, self.parameters = name, table, PLAIN | changed


def of_objective(objective, label, metric=None, **changed):
    extra = {"num_class": CLASSES} if objective.startswith("multi:") else {}
    table = Table(label, groups=20 if objective.startswith("rank:") else 0)
    return Case(f"{objective}, {metric}", table, objective=objective, eval_metric=metric, **extra, **changed)


def cases():
    yield Case("plain")
    for objective, label, metrics in (
            ("binary:logistic", "binary", ("auc", "aucpr", "error")), ("binary:hinge", "binary", ("error",)),
            ("reg:squarederror", "number", ("rmse", "mae")), ("reg:absoluteerror", "number", ("mae",)),
            ("reg:pseudohubererror", "number", ("mphe",)), ("reg:squaredlogerror", "positive", ("rmsle",)),
            ("reg:logistic", "share", ("rmse",)), ("count:poisson", "count", ("poisson-nloglik",)),
            ("reg:gamma", "positive", ("gamma-nloglik", "gamma-deviance")),
            ("reg:tweedie", "count", ("tweedie-nloglik@1.5",)), ("multi:softprob", "class", ("mlogloss", "merror")),
            ("rank:pairwise", "relevance", ("ndcg", "map")), ("rank:ndcg", "relevance", ("ndcg@10",))):
        for metric in metrics:
            yield of_objective(objective, label, metric)
    for name, value in (("alpha", 1), ("max_delta_step", 0.5), ("gamma", 1), ("subsample", 0.5),
                        ("colsample_bytree", 0.5), ("colsample_bylevel", 0.5), ("colsample_bynode", 0.5),
                        ("scale_pos_weight", 5), ("min_child_weight", 50), ("max_bin", 16), ("max_bin", 64),
                        ("max_bin", 1024), ("max_depth", 2), ("max_depth", 10), ("max_depth", 16),
                        ("num_parallel_tree", 4), ("monotone_constraints", MONOTONE),
                        ("interaction_constraints", "[[0,1,2],[3,4,5,6,7,8,9]]")):
        yield Case(f"{name} {value}", **{name: value})
    yield Case("alpha, depth 10", alpha=1, max_depth=10)
    yield Case("monotone_constraints, depth 10", monotone_constraints=MONOTONE, max_depth=10)
    yield Case("lossguide, 64 leaves", grow_policy="lossguide", max_leaves=64, max_depth=0)
    yield Case("lossguide, 512 leaves", grow_policy="lossguide", max_leaves=512, max_depth=0)
    yield Case("dart", booster="dart", rate_drop=0.1)
    for gaps in (0.1, 0.9):
        yield Case(f"{gaps:.0%} missing", Table(gaps=gaps))
        yield Case(f"{gaps:.0%} missing, alpha", Table(gaps=gaps), alpha=1)
    for levels in (3, 50, 1000):
        yield Case(f"{levels} categories", Table(levels=levels))
    for rows in (300, 3_000):
        for depth in (3, 8):
            yield Case(f"{rows} rows, depth {depth}", Table(rows=rows), max_depth=depth)
    yield Case("3,000 rows of counts, depth 8", Table("count", rows=3000), objective="count:poisson",
               eval_metric="poisson-nloglik", max_depth=8)
    yield Case("3,000 rows of 7 classes, alpha, depth 8", Table("class", rows=3000, features=50), objective="multi:softprob",
               eval_metric="mlogloss", num_class=CLASSES, alpha=0.1, max_depth=8)
    yield Case("3,000 x 500", Table(rows=3000, features=500))


class Prepared:
    """A case's files for winnow-gbdt and matrices for XGBoost."""

    def __init__(self, case, folder):
        self.case = case
        x, label = case.table.make()
        parts = {"train": slice(0, case.table.rows), "validation": slice(case.table.rows, None)}
        self.files = {name: folder / f"{name}.{'libsvm' if case.table.groups else 'csv'}" for name in parts}
        for name, part in parts.items():
            self.write(self.files[name], x[part], label[part])
        types = ["q"] * x.shape[1]
        if case.table.levels:
            types[-1] = "c"
        self.matrices = {}
        for name, part in parts.items():
            matrix = xgboost.DMatrix(x[part], label[part], nthread=1, feature_types=types,
                                     enable_categorical=bool(case.table.levels))
            if case.table.groups:
                rows = len(label[part])
                matrix.set_group([case.table.groups] * (rows // case.table.groups)
                                 + ([rows % case.table.groups] if rows % case.table.groups else []))
            self.matrices[name] = matrix

    def write(self, path, x, label):
        table = self.case.table
        with open(path, "w", encoding="ascii") as file:
            if table.groups:
                for row, (values, y) in enumerate(zip(x.tolist(), label.tolist())):
                    cells = " ".join(f"{i + 1}:{value:.5g}" for i, value in enumerate(values))
                    file.write(f"{y:g} qid:{row // table.groups} {cells}\n")
                return
            file.write("label," + ",".join(f"x{i}" for i in range(x.shape[1])) + "\n")
            for values, y in zip(x.tolist(), label.tolist()):
                cells = ["" if value != value else f"{value:.5g}" for value in values]
                if table.levels and cells[-1]:
                    cells[-1] = "c" + cells[-1]
                file.write(f"{y:.6g}," + ",".join(cells) + "\n")


def winnow_round(binary, prepared, rounds, folder):
    """Milliseconds of a round after the first."""
    hyperparameters = folder / "hyperparameters.json"
    own = {"num_round": rounds, "enable_categorical": prepared.case.table.levels > 0}
    hyperparameters.write_text(json.dumps(prepared.case.parameters | own), encoding="ascii")
    label = [] if prepared.case.table.groups else ["--label", "label"]
    process = subprocess.Popen(
        [binary, "--train", prepared.files["train"], "--validation", prepared.files["validation"], *label,
         "--hyperparameters", hyperparameters, "--model-dir", folder / "model", "--threads", "1", "--max-levels", "1000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    times = [time.perf_counter() for _ in process.stdout]
    errors = process.stderr.read()
    if process.wait() != 0:
        raise RuntimeError(errors.strip())
    return (times[-1] - times[0]) / (len(times) - 1) * 1e3


def xgboost_round(prepared, rounds):
    train, validation = prepared.matrices["train"], prepared.matrices["validation"]
    booster = xgboost.Booster(prepared.case.parameters, [train, validation])
    for number in range(rounds):
        booster.update(train, number)
        booster.eval_set([(train, "train"), (validation, "validation")], number)
        if number == 0:
            begun = time.perf_counter()
    return (time.perf_counter() - begun) / (rounds - 1) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-gbdt")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="parts of names of cases")
    arguments = parser.parse_args()
    binary, rounds = arguments.bin / "winnow-gbdt", arguments.rounds

    def times_of(case, folder):
        prepared = Prepared(case, folder)
        return lambda: winnow_round(binary, prepared, rounds, folder), lambda: xgboost_round(prepared, rounds)

    print(f"XGBoost {xgboost.__version__}; ms a round: winnow-gbdt, XGBoost; ratio")
    many_cases.compare(cases(), arguments.only, arguments.repeats, "XGBoost", times_of)


if __name__ == "__main__":
    main()
