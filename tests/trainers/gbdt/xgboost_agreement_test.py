#!/usr/bin/env python3
"""winnow-gbdt against XGBoost (hist) on random small tables without sampling, where both must grow the same trees:
lambda, alpha, gamma, min_child_weight, max_depth, max_leaves, grow_policy, max_delta_step, monotone and interaction
constraints, categories, weights, missing values, all common objectives.

The gradients of the first round are whole multiples of a power of two here, which winnow-gbdt does not round: its
trees must divide the rows as XGBoost's do. Later gradients are rounded to 16 bits, and of cuts that are nearly as good
as each other now this one, now that one is made: there both must fit the table as well.
XGBoost decides between equal gains by rounding errors of its own, so one table in twenty may differ.
Usage: xgboost_agreement_test.py WINNOW_GBDT. Ends with code 77 (skipped) where the module xgboost is absent."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["WINNOW_CACHE_DIR"] = "off"  # what another program has left there is not this one's work
TABLES = 120
ROUNDS = 8
LOSS_MARGIN = 0.02  # of the loss: what other choices between nearly equal cuts are worth on a table of 30 rows
LEVELS = "abcdefghijklmnop"


def draw_parameters(draw, columns, with_levels):
    objective = draw.choice(["binary:logistic", "binary:logitraw", "reg:squarederror", "multi:softprob"])
    parameters = {
        "objective": objective, "eta": draw.choice([0.1, 0.3, 1]), "lambda": draw.choice([0, 1, 3]),
        "alpha": draw.choice([0, 0, 0.5]), "gamma": draw.choice([0, 0, 0.3]),
        "min_child_weight": draw.choice([0, 1, 5]), "max_depth": draw.choice([1, 3, 6, 0]),
        "max_delta_step": draw.choice([0, 0, 0.7]), "max_leaves": draw.choice([0, 0, 5]),
        "grow_policy": draw.choice(["depthwise", "lossguide"]),
    }
    if parameters["lambda"] == 0 and (parameters["max_delta_step"] > 0 or parameters["eta"] == 1):
        parameters["lambda"] = 0.5  # else many gains are equal but for rounding
    if objective.startswith("multi"):
        parameters["num_class"] = 4
    if objective.startswith("binary"):
        parameters["scale_pos_weight"] = draw.choice([1, 2.5])
    parameters["base_score"] = 0 if objective == "binary:logitraw" else 0.5
    limits = draw.choice(["none", "none", "monotone", "interaction"])
    if limits == "monotone":
        directions = [draw.choice(["-1", "0", "1"]) for _ in range(columns)]
        if with_levels:
            directions[-1] = "0"  # categories have no direction
        parameters["monotone_constraints"] = f"({','.join(directions)})"
    if limits == "interaction" and columns > 2:
        parameters["interaction_constraints"] = json.dumps([[0, 1], list(range(1, columns))])
    if with_levels:
        parameters.update(enable_categorical=True, max_cat_to_onehot=draw.choice([1, 4, 100]))
    return parameters


class Table:
    """Columns of whole numbers and, where `with_levels`, a last one of text, with gaps in some tables."""

    def __init__(self, numpy, seed, columns, objective, with_levels):
        rng = numpy.random.default_rng(seed)
        rows = int(rng.integers(30, 800))
        self.values = numpy.round(rng.normal(size=(rows, columns)) * rng.choice([1, 3, 10]))
        score = self.values[:, 0] + numpy.sin(self.values[:, -1]) + rng.normal(size=rows) / 2
        if with_levels:
            levels = rng.integers(0, rng.integers(2, len(LEVELS)), size=rows)
            score += numpy.sin(3 * levels) * 2
            self.values[:, -1] = numpy.unique(levels, return_inverse=True)[1]
        if rng.random() < 0.7:
            self.values[rng.random((rows, columns)) < rng.choice([0.05, 0.3])] = numpy.nan
        if objective.startswith("binary"):
            self.label = (score > 0.3).astype(int)
        elif objective.startswith("multi"):
            self.label = numpy.digitize(score, [-1, 0, 1])
        else:
            self.label = numpy.round(score * 4) / 4
        self.weight = rng.integers(1, 4, size=rows) if rng.random() < 0.4 else None
        self.with_levels = with_levels

    def cell(self, value, column):
        if value != value:
            return ""
        is_level = self.with_levels and column == self.values.shape[1] - 1
        return LEVELS[int(value)] if is_level else repr(float(value))

    def write_csv(self, path):
        names = ["y"] + [f"f{i}" for i in range(self.values.shape[1])] + (["w"] if self.weight is not None else [])
        with open(path, "w", encoding="utf-8") as file:
            file.write(",".join(names) + "\n")
            for i, row in enumerate(self.values):
                cells = [repr(float(self.label[i]))] + [self.cell(value, column) for column, value in enumerate(row)]
                file.write(",".join(cells + ([str(self.weight[i])] if self.weight is not None else [])) + "\n")

    def matrix(self, xgboost):
        count = self.values.shape[1]
        kinds = ["q"] * (count - 1) + ["c" if self.with_levels else "q"]
        return xgboost.DMatrix(self.values, label=self.label, weight=self.weight, enable_categorical=True,
                               feature_types=kinds, feature_names=[f"f{i}" for i in range(count)])


def train_winnow(xgboost, binary, folder, parameters, table):
    (folder / "hp.json").write_text(json.dumps({**parameters, "num_round": ROUNDS}))
    table.write_csv(folder / "train.csv")
    subprocess.run([binary, "--train", folder / "train.csv", "--label", "y", "--hyperparameters", folder / "hp.json",
                    "--model-dir", folder] + (["--weight", "w"] if table.weight is not None else []),
                   check=True, stdout=subprocess.DEVNULL)
    return xgboost.Booster(model_file=folder / "model.json")


def parts(numpy, tree, values, rows, node=0):
    """How a tree divides the rows, and divides the parts again: sets of two parts, at last of rows."""
    if tree["left_children"][node] < 0:
        return rows.tobytes()
    column = values[rows, tree["split_indices"][node]]
    if tree["split_type"][node] == 1:
        at = tree["categories_nodes"].index(node)
        begin = tree["categories_segments"][at]
        right = numpy.isin(column, tree["categories"][begin:begin + tree["categories_sizes"][at]])
    else:
        right = column >= tree["split_conditions"][node]
    left = numpy.where(numpy.isnan(column), bool(tree["default_left"][node]), ~right)
    return frozenset((parts(numpy, tree, values, rows[left], tree["left_children"][node]),
                      parts(numpy, tree, values, rows[~left], tree["right_children"][node])))


def first_trees(numpy, booster, table, count):
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][:count]
    return [parts(numpy, tree, table.values, numpy.arange(len(table.values))) for tree in trees]


def loss(numpy, objective, margin, table):
    weight = numpy.ones(len(table.label)) if table.weight is None else table.weight
    if objective == "reg:squarederror":
        losses = (margin - table.label) ** 2
    elif objective.startswith("binary"):
        losses = numpy.logaddexp(0, numpy.where(table.label == 1, -margin, margin))
    else:
        losses = numpy.logaddexp.reduce(margin, axis=1) - margin[numpy.arange(len(margin)), table.label]
    return float((losses * weight).sum() / weight.sum())


def difference(numpy, ours, theirs, data, table, objective):
    """What tells the two models apart, or None."""
    classes = 4 if objective.startswith("multi") else 1
    if first_trees(numpy, ours, table, classes) != first_trees(numpy, theirs, table, classes):
        return "the first trees differ"
    first = [booster.predict(data, output_margin=True, iteration_range=(0, 1)) for booster in (ours, theirs)]
    if numpy.abs(first[0] - first[1]).max() > 1e-5:
        return f"margins of the first round differ by up to {numpy.abs(first[0] - first[1]).max():.3g}"
    losses = [loss(numpy, objective, booster.predict(data, output_margin=True), table) for booster in (ours, theirs)]
    if abs(losses[0] - losses[1]) > LOSS_MARGIN * losses[1] + 1e-3:
        return f"loss {losses[0]:.5g}, XGBoost's {losses[1]:.5g}"
    return None


def main():
    try:
        import numpy
        import xgboost
    except ImportError as error:
        print(f"SKIPPED: {sys.executable}: {error}", file=sys.stderr)
        sys.exit(77)
    xgboost.set_config(verbosity=0)
    differing = 0
    with tempfile.TemporaryDirectory(prefix="winnow-agreement-") as name:
        for seed in range(TABLES):
            draw = random.Random(seed)
            columns, with_levels = draw.randint(1, 7), draw.random() < 0.3
            parameters = draw_parameters(draw, columns, with_levels)
            table = Table(numpy, seed, columns, parameters["objective"], with_levels)
            ours = train_winnow(xgboost, sys.argv[1], pathlib.Path(name), parameters, table)
            data = table.matrix(xgboost)
            theirs = xgboost.train({**parameters, "tree_method": "hist", "nthread": 1}, data, ROUNDS)
            told_apart = difference(numpy, ours, theirs, data, table, parameters["objective"])
            if told_apart:
                differing += 1
                print(f"table {seed}: {told_apart} with {parameters}")
    print(f"{TABLES - differing} of {TABLES} tables: XGBoost {xgboost.__version__} grows the same trees")
    sys.exit(1 if differing * 20 > TABLES else 0)


if __name__ == "__main__":
    main()
