#!/usr/bin/env python3
"""winnow-gbdt against XGBoost (hist) on random small tables without sampling, where both must grow the same trees:
lambda, alpha, gamma, min_child_weight, max_depth, max_leaves, max_delta_step, weights, missing values, all objectives.

XGBoost decides between gains that differ by a rounding error of its floats only, so a tenth of the tables may differ.
Usage: xgboost_agreement_test.py WINNOW_GBDT. Ends with code 77 (skipped) where the module xgboost is absent."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
TABLES = 60
ROUNDS = 8


def draw_parameters(draw):
    objective = draw.choice(["binary:logistic", "binary:logitraw", "reg:squarederror", "multi:softprob"])
    parameters = {
        "objective": objective, "eta": draw.choice([0.1, 0.3, 1]), "lambda": draw.choice([0, 1, 3]),
        "alpha": draw.choice([0, 0, 0.5]), "gamma": draw.choice([0, 0, 0.3]),
        "min_child_weight": draw.choice([0, 1, 5]), "max_depth": draw.choice([1, 3, 6, 0]),
        "max_delta_step": draw.choice([0, 0, 0.7]), "max_leaves": draw.choice([0, 0, 5]),
    }
    if parameters["lambda"] == 0 and (parameters["max_delta_step"] > 0 or parameters["eta"] == 1):
        parameters["lambda"] = 0.5  # else many gains are equal but for rounding
    if objective.startswith("multi"):
        parameters["num_class"] = 3
    if objective.startswith("binary"):
        parameters["scale_pos_weight"] = draw.choice([1, 2.5])
        parameters["base_score"] = draw.choice([0.5, 0.3])
    return parameters


def draw_table(numpy, seed, objective):
    rng = numpy.random.default_rng(seed)
    rows, columns = int(rng.integers(30, 800)), int(rng.integers(1, 8))
    table = numpy.round(rng.normal(size=(rows, columns)) * rng.choice([1, 3, 10]))
    score = table[:, 0] + numpy.sin(table[:, -1]) + rng.normal(size=rows) / 2
    if rng.random() < 0.7:
        table[rng.random((rows, columns)) < rng.choice([0.05, 0.3])] = numpy.nan
    if objective.startswith("binary"):
        label = (score > 0.3).astype(int)
    else:
        label = numpy.digitize(score, [-0.5, 0.5]) if objective.startswith("multi") else numpy.round(score, 3)
    weight = rng.integers(1, 4, size=rows) if rng.random() < 0.4 else None
    return table, label, weight


def write_csv(numpy, path, table, label, weight):
    names = ["y"] + [f"f{i}" for i in range(table.shape[1])] + (["w"] if weight is not None else [])
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(names) + "\n")
        for i, row in enumerate(table):
            cells = [repr(float(label[i]))] + ["" if numpy.isnan(cell) else repr(float(cell)) for cell in row]
            file.write(",".join(cells + ([str(weight[i])] if weight is not None else [])) + "\n")


def run_winnow(binary, folder, parameters, weighted):
    (folder / "hp.json").write_text(json.dumps({**parameters, "num_round": ROUNDS}))
    train = folder / "train.csv"
    subprocess.run([binary, "--train", train, "--label", "y", "--hyperparameters", folder / "hp.json", "--model-dir",
                    folder] + (["--weight", "w"] if weighted else []), check=True, stdout=subprocess.DEVNULL)
    output = subprocess.run([binary, "predict", "--model", folder / "model.json", "--data", train, "--margin"],
                            check=True, capture_output=True, text=True).stdout
    return [[float(cell) for cell in line.split(",")] for line in output.splitlines()[1:]]


def main():
    try:
        import numpy
        import xgboost
    except ImportError as error:
        print(f"SKIPPED: {sys.executable}: {error}", file=sys.stderr)
        sys.exit(77)
    xgboost.set_config(verbosity=0)
    differing = []
    with tempfile.TemporaryDirectory(prefix="winnow-agreement-") as name:
        for seed in range(TABLES):
            parameters = draw_parameters(random.Random(seed))
            table, label, weight = draw_table(numpy, seed, parameters["objective"])
            write_csv(numpy, pathlib.Path(name) / "train.csv", table, label, weight)
            ours = numpy.array(run_winnow(sys.argv[1], pathlib.Path(name), parameters, weight is not None))
            data = xgboost.DMatrix(table, label=label, weight=weight)
            booster = xgboost.train({**parameters, "tree_method": "hist", "nthread": 1}, data, ROUNDS)
            theirs = booster.predict(data, output_margin=True).reshape(ours.shape)
            largest = float(numpy.abs(ours - theirs).max())
            if largest > 1e-3:
                differing.append(seed)
                print(f"table {seed}: margins differ by up to {largest:.3g} with {parameters}")
    print(f"{TABLES - len(differing)} of {TABLES} tables: the same margins as XGBoost {xgboost.__version__}")
    sys.exit(1 if len(differing) * 10 > TABLES else 0)


if __name__ == "__main__":
    main()
