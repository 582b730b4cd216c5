#!/usr/bin/env python3
"""Logistic regression by gradient descent on a small synthetic data set: an example of a trainer for Winnow.

It needs only Python and follows the trainer contract: hyperparameters as "--name value", one line per epoch on
standard output, a checkpoint to resume from, a level to train to, SIGTERM. It also runs without Winnow:

    python3 train.py --learning_rate 0.5 --momentum 0.9 --l2 0.001 --epochs 20
"""

import argparse
import json
import math
import os
import random
import signal
import sys

FEATURES = 8
ROWS = 400


def make_rows(seed):
    """Rows of (features, label): a noisy plane. The same seed gives the same rows."""
    source = random.Random(seed)
    plane = [source.gauss(0, 1) for _ in range(FEATURES)]
    rows = []
    for _ in range(ROWS):
        features = [source.gauss(0, 1) for _ in range(FEATURES)]
        score = sum(p * x for p, x in zip(plane, features)) + source.gauss(0, 1)
        rows.append((features, 1 if score > 0 else 0))
    return rows


def probability(weights, features):
    score = sum(w * x for w, x in zip(weights, features))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def loss_of(weights, rows):
    total = 0.0
    for features, label in rows:
        p = min(max(probability(weights, features), 1e-12), 1 - 1e-12)
        total -= math.log(p if label else 1 - p)
    return total / len(rows)


def train_epoch(state, rows, options):
    gradient = [options.l2 * w for w in state["weights"]]
    for features, label in rows:
        error = probability(state["weights"], features) - label
        for i, x in enumerate(features):
            gradient[i] += error * x / len(rows)
    state["velocity"] = [options.momentum * v - options.learning_rate * g for v, g in zip(state["velocity"], gradient)]
    state["weights"] = [w + v for w, v in zip(state["weights"], state["velocity"])]
    state["epoch"] += 1


def load(folder):
    """The newest checkpoint, or a fresh start."""
    path = os.path.join(folder, "checkpoint.json") if folder else ""
    if path and os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    return {"epoch": 0, "weights": [0.0] * FEATURES, "velocity": [0.0] * FEATURES}


def save(state, folder, name):
    """Written whole under another name, then renamed: whoever reads it never sees a half."""
    if not folder:
        return
    path = os.path.join(folder, name)
    with open(path + ".new", "w") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learning_rate", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--l2", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=20, help="where nothing else says how far to train")
    options = parser.parse_args()

    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))

    folder = os.environ.get("WINNOW_CHECKPOINT_DIR", "")
    last = int(os.environ.get("WINNOW_RESOURCE_TO", "0")) or options.epochs
    rows = make_rows(seed=7)
    train, validation = rows[: ROWS * 3 // 4], rows[ROWS * 3 // 4 :]

    state = load(folder)
    while state["epoch"] < last and not stopped:
        train_epoch(state, train, options)
        loss = loss_of(state["weights"], validation)
        print(f"epoch {state['epoch']} train_loss={loss_of(state['weights'], train):.6g} loss={loss:.6g}", flush=True)
    save(state, folder, "checkpoint.json")
    save(state["weights"], os.environ.get("SM_MODEL_DIR", ""), "model.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
