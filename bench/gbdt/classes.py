#!/usr/bin/python3
"""Errors on several classes: winnow-gbdt with each `multi_hessian`, grown by depth and by leaf, beside XGBoost and LightGBM
with the same learning rate, leaves, penalties and rounds.

    bench/gbdt/classes.py --bin build/bin --letter letter-recognition.data [--lightgbm PATH] [--seeds 5] [--rounds 100]
                          [--eta 0.1]

--letter: the file of bench/public_tables.py --get letter (20,000 rows, 26 classes, the label first), or the same data as
CSV with a header from another source, such as LetterRecognition of R's mlbench. Without it only scikit-learn's digits are
trained on. --lightgbm: LightGBM's python-package folder with its built library.
Each split takes a quarter of the rows to validate on. Columns: error and mlogloss, means over the splits, and the
standard error of the paired difference of the error from XGBoost's.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy
from sklearn import datasets

import parity
import parity_cases

DEPTH, LEAVES = 6, 64
PLAIN = {"max_depth": DEPTH, "min_child_weight": 1, "lambda": 1}
BY_LEAF = {"grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0}


class LightGbm:
    def __init__(self, path, depth):
        sys.path.insert(0, str(path))
        import lightgbm
        self.module, self.depth, self.parts = lightgbm, depth, {}

    def write(self, part, rows):
        self.parts[part] = rows

    def predictions(self, parameters, rounds):
        asked = {"objective": "multiclass", "num_class": parameters["num_class"], "learning_rate": parameters["eta"],
                 "max_depth": self.depth, "num_leaves": LEAVES, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1,
                 "lambda_l2": 1, "num_threads": 1, "verbosity": -1, "seed": parameters["seed"]}
        train = self.parts["train"]
        booster = self.module.train(asked, self.module.Dataset(train.table, train.label, params=asked), rounds)
        return booster.predict(self.parts["validation"].table)


class With:
    """A system with further hyperparameters."""

    def __init__(self, system, **more):
        self.system, self.more = system, more

    def write(self, part, rows):
        self.system.write(part, rows)

    def predictions(self, parameters, rounds):
        return self.system.predictions({**parameters, **self.more}, rounds)


def letter(path):
    lines = pathlib.Path(path).read_text(encoding="ascii").split()
    rows = [line.split(",") for line in lines if line.split(",")[1].isdigit()]  # a header has none
    return parity_cases.Rows(numpy.array([[float(cell) for cell in row[1:]] for row in rows]),
                             numpy.array([ord(row[0]) - ord("A") for row in rows]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=parity.ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--letter", type=pathlib.Path)
    parser.add_argument("--lightgbm", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--eta", type=float, default=0.1)
    options = parser.parse_args()
    digits = parity_cases.built_in(datasets.load_digits)
    tables = [("digits", digits, 10)] + ([("letter", letter(options.letter), 26)] if options.letter else [])
    with tempfile.TemporaryDirectory(prefix="winnow-classes-") as name:
        winnow = parity.Winnow(options.bin / "winnow-gbdt", pathlib.Path(name))
        systems = {"XGBoost": parity.Peer(), "winnow-gbdt": winnow,
                   "winnow-gbdt, multi_hessian lightgbm": With(winnow, multi_hessian="lightgbm"),
                   "winnow-gbdt, by leaf": With(winnow, **BY_LEAF),
                   "winnow-gbdt, by leaf, multi_hessian lightgbm": With(winnow, multi_hessian="lightgbm", **BY_LEAF)}
        if options.lightgbm:
            systems["LightGBM, depth 6"] = LightGbm(options.lightgbm, DEPTH)
            systems["LightGBM"] = LightGbm(options.lightgbm, -1)
        print(f"{options.rounds} rounds, eta {options.eta}, {options.seeds} splits\n")
        print("| data | system | error | mlogloss | error less XGBoost's | standard error |\n"
              "| --- | --- | --- | --- | --- | --- |")
        for data, rows, classes in tables:
            case = parity_cases.Case(data, rows, "multi:softprob", "merror", num_class=classes)
            first = None
            for title, system in systems.items():
                errors, losses = [], []
                for seed in range(options.seeds):
                    train, validation = case.split(seed)
                    system.write("train", train)
                    system.write("validation", validation)
                    found = system.predictions({**PLAIN, "eta": options.eta, "objective": "multi:softprob", "seed": seed,
                                                "num_class": classes}, options.rounds)
                    errors.append(case.judge(validation, found))
                    losses.append(parity_cases.multi_logloss(validation.label, found))
                first = first or errors
                away = numpy.subtract(errors, first)
                noise = away.std(ddof=1) / len(away) ** 0.5 if len(away) > 1 else 0
                print(f"| {data} | {title} | {numpy.mean(errors):.4f} | {numpy.mean(losses):.4f} | {away.mean():+.4f} | "
                      f"{noise:.4f} |", flush=True)


if __name__ == "__main__":
    main()
