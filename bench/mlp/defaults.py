#!/usr/bin/python3
"""What the defaults of winnow-mlp, PyTorch and scikit-learn make of tables that nobody tuned for.

    bench/mlp/defaults.py --bin build/bin [--data FOLDER] [--tables iris,prices] [--seeds 1] [--epochs 20]
                          [--weight-init WORD]

Each system trains the same network with ReLU (128-64), batches of 128, and each learning rate of a grid, by SGD with
momentum 0.9 and by Adam. Initialisation, and whether the label of a regression is scaled, are each system's own
default; "PyTorch, scaled" has scaled labels. All get features of mean 0 and deviation 1, of the same rows. Tables are
scikit-learn's own, tables drawn from fixed seeds, and with --data (or WINNOW_DATA_DIR) the bank data. Columns:
  failed    share of the runs that end without a number, or with a model worse than a constant (for classes: worse
            than the most frequent one by more than 0.05)
  mean      of the score over all runs, a failed one counting 0: accuracy less that of the most frequent class over
            the rest, or R squared
  best      the mean over tables of the score at the best rate of the grid, mean over seeds
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import warnings

import numpy
import sklearn.exceptions
import torch
from sklearn import datasets, neural_network
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATES = {"sgd": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3], "adam": [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]}
MOMENTUM, LAYERS, BATCH, MOST_ROWS = 0.9, (128, 64), 128, 4000
TOLERATED = 0.05  # accuracy below that of the most frequent class


class Table:
    """Rows of one table, four fifths to train on; features scaled by these."""

    def __init__(self, name, features, label, classes):
        rng = numpy.random.default_rng(1)
        rows = rng.permutation(len(label))[:MOST_ROWS]
        cut = len(rows) // 5
        train, test = rows[cut:], rows[:cut]
        mean, deviation = features[train].mean(axis=0), features[train].std(axis=0)
        scaled = ((features - mean) / numpy.where(deviation > 0, deviation, 1)).astype(numpy.float32)
        self.name, self.classes = name, classes
        self.train, self.test, self.label, self.test_label = scaled[train], scaled[test], label[train], label[test]

    def score(self, predicted):
        """(score, failed) of predictions of the test rows."""
        if predicted is None or not numpy.isfinite(predicted).all():
            return 0, True
        if self.classes:
            right, base = (predicted == self.test_label).mean(), numpy.bincount(self.test_label).max() / len(self.test_label)
            return max(0.0, (right - base) / (1 - base)), right < base - TOLERATED
        r_squared = 1 - ((predicted - self.test_label) ** 2).mean() / self.test_label.var()
        return max(0.0, r_squared), r_squared < 0


def bank_table(path, target):
    """The columns of a bank file one-hot, and as label its answer or one of its columns of numbers."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    columns = []
    for name in rows[0]:
        texts = [row[name] for row in rows]
        if name in ("y", target, "duration"):  # the duration of the call is known only after it
            continue
        try:
            columns.append(numpy.array(texts, float)[:, None])
        except ValueError:
            levels = sorted(set(texts))
            columns.append(numpy.eye(len(levels))[[levels.index(text) for text in texts]])
    label = [row[target] for row in rows]
    return numpy.hstack(columns), numpy.array([text == "yes" for text in label], int) if target == "y" else \
        numpy.array(label, float)


def tables(data):
    for name in ("breast_cancer", "digits", "wine", "iris"):
        loaded = getattr(datasets, f"load_{name}")()
        yield Table(name, loaded.data, loaded.target, len(loaded.target_names))
    loaded = datasets.load_diabetes()
    yield Table("diabetes", loaded.data, loaded.target, 0)
    yield Table("friedman 1", *datasets.make_friedman1(2000, random_state=1), 0)
    yield Table("friedman 2", *datasets.make_friedman2(2000, random_state=1), 0)
    yield Table("friedman 3", *datasets.make_friedman3(2000, random_state=1), 0)
    rng = numpy.random.default_rng(1)
    features = rng.normal(size=(4000, 8))
    logs = 0.7 * features[:, 0] + 0.3 * features[:, 1] * features[:, 2] + 0.3 * rng.normal(size=4000)
    yield Table("prices", numpy.exp(features), numpy.exp(12 + logs), 0)  # skewed features, skewed label
    yield Table("prices in 100,000", numpy.exp(features), numpy.exp(12 + logs) / 1e5, 0)
    if data:
        yield Table("bank", *bank_table(pathlib.Path(data) / "bank-additional-full.csv.gz", "y"), 2)
        yield Table("bank balance", *bank_table(pathlib.Path(data) / "bank-full.csv.gz", "balance"), 0)


class Winnow:
    name = "winnow-mlp"

    def __init__(self, options, work):
        self.binary, self.work, self.init = options.bin / "winnow-mlp", work, options.weight_init

    def files(self, table):
        """CSV files of the table, the label first."""
        paths = []
        for part, features, label in (("train", table.train, table.label), ("test", table.test, table.test_label)):
            path = self.work / f"{table.name}-{part}.csv"
            if not path.exists():
                names = ",".join(["y"] + [f"x{i}" for i in range(features.shape[1])])
                numpy.savetxt(path, numpy.hstack([label[:, None], features]), "%.9g", ",", header=names, comments="")
            paths.append(path)
        return paths

    def predict(self, table, optimizer, rate, seed, epochs):
        train, test = self.files(table)
        settings = {"hidden_layers": ",".join(map(str, LAYERS)), "batch_size": BATCH, "optimizer": optimizer,
                    "learning_rate": rate, "epochs": epochs, "seed": seed,
                    "loss": "cross_entropy" if table.classes else "mse"}
        settings |= {"momentum": MOMENTUM} if optimizer == "sgd" else {}
        settings |= {"weight_init": self.init} if self.init else {}
        (self.work / "hp.json").write_text(json.dumps(settings))
        done = subprocess.run([self.binary, "--train", train, "--label", "y", "--model-dir", self.work / "model",
                               "--hyperparameters", self.work / "hp.json"], capture_output=True, text=True)
        if done.returncode != 0:
            if "may be too high" not in done.stderr:
                raise RuntimeError(done.stderr)
            return None
        done = subprocess.run([self.binary, "predict", "--model", self.work / "model/model.safetensors", "--data", test],
                              capture_output=True, text=True, check=True)
        return numpy.array(done.stdout.splitlines()[1:], float)


class PyTorch:
    def __init__(self, scaled):
        self.name, self.scaled = "PyTorch, scaled" if scaled else "PyTorch", scaled
        torch.set_num_threads(1)

    def predict(self, table, optimizer, rate, seed, epochs):
        torch.manual_seed(seed)
        widths = [table.train.shape[1], *LAYERS, table.classes or 1]
        layers = [layer for pair in zip(widths, widths[1:]) for layer in (nn.Linear(*pair), nn.ReLU())][:-1]
        network, data = nn.Sequential(*layers), torch.from_numpy(table.train)
        mean, deviation = (table.label.mean(), table.label.std()) if self.scaled and not table.classes else (0, 1)
        label = torch.from_numpy(table.label if table.classes else
                                 ((table.label - mean) / deviation).astype(numpy.float32))
        moves = torch.optim.Adam(network.parameters(), rate) if optimizer == "adam" else \
            torch.optim.SGD(network.parameters(), rate, momentum=MOMENTUM)
        for _ in range(epochs):
            for rows in torch.randperm(len(label)).split(BATCH):
                moves.zero_grad()
                outputs = network(data[rows])
                loss = nn.functional.cross_entropy(outputs, label[rows]) if table.classes else \
                    nn.functional.mse_loss(outputs[:, 0], label[rows])
                loss.backward()
                moves.step()
        with torch.no_grad():
            outputs = network(torch.from_numpy(table.test)).numpy().astype(float)
        if not numpy.isfinite(outputs).all():
            return None
        return outputs.argmax(axis=1) if table.classes else outputs[:, 0] * deviation + mean


class ScikitLearn:
    name = "scikit-learn"

    def predict(self, table, optimizer, rate, seed, epochs):
        kind = neural_network.MLPClassifier if table.classes else neural_network.MLPRegressor
        model = kind(LAYERS, solver=optimizer, learning_rate_init=rate, momentum=MOMENTUM, batch_size=min(BATCH, len(table.label)),
                     max_iter=epochs, random_state=seed)
        try:
            return model.fit(table.train, table.label).predict(table.test)
        except ValueError:  # "Solver produced non-finite parameter weights"
            return None


def print_rows(what, systems, found, names):
    for system in systems:
        for optimizer, rates in RATES.items():
            runs = [found[system.name, optimizer, name] for name in names]
            failed = statistics.mean(failed for table in runs for at_rate in table for _, failed in at_rate)
            mean = statistics.mean(0 if failed else score for table in runs for at_rate in table for score, failed in at_rate)
            best = statistics.mean(max(statistics.mean(score for score, _ in at_rate) for at_rate in table) for table in runs)
            print(f"| {what} | {optimizer}, {rates[0]} to {rates[-1]} | {system.name} | {100 * failed:.0f} % | {mean:.3f} | "
                  f"{best:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--data", default=os.environ.get("WINNOW_DATA_DIR"))
    parser.add_argument("--tables", help="names, with commas between; default: all")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--weight-init", help="instead of winnow-mlp's default")
    options = parser.parse_args()
    warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
    warnings.simplefilter("ignore", RuntimeWarning)  # overflow in a run that fails
    os.environ["WINNOW_CACHE_DIR"] = "off"
    wanted = options.tables.split(",") if options.tables else None
    used = [table for table in tables(options.data) if not wanted or table.name in wanted]
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as name:
        systems = [Winnow(options, pathlib.Path(name)), PyTorch(False), PyTorch(True), ScikitLearn()]
        found = {}
        for table in used:
            for system in systems:
                for optimizer, rates in RATES.items():
                    found[system.name, optimizer, table.name] = [
                        [table.score(system.predict(table, optimizer, rate, seed, options.epochs))
                         for seed in range(1, options.seeds + 1)] for rate in rates]
                    scores = " ".join(f"{statistics.mean(s for s, _ in at):.2f}{'!' * any(f for _, f in at)}"
                                      for at in found[system.name, optimizer, table.name])
                    print(f"{table.name}, {system.name}, {optimizer}: {scores}", file=sys.stderr, flush=True)
    print("| tables | learning rates | system | failed | mean | best |\n| --- | --- | --- | --- | --- | --- |")
    for what, names in (("classes", [t.name for t in used if t.classes]), ("regression", [t.name for t in used if not t.classes])):
        if names:
            print_rows(f"{what}, {len(names)}", systems, found, names)


if __name__ == "__main__":
    main()
