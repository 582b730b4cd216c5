#!/usr/bin/env python3
"""Logistic regression by gradient descent, as an ordinary script without any use of Winnow.

    python3 ordinary.py --learning-rate 0.5 --momentum 0.9 --epochs 20 --out runs/a
    python3 ordinary.py --learning-rate 0.5 --momentum 0.9 --epochs 40 --out runs/a --resume

examples/unchanged-script.json tunes it as it is.
"""

import argparse
import json
import math
import os
import random

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
    gradient = [0.0] * FEATURES
    for features, label in rows:
        error = probability(state["weights"], features) - label
        for i, x in enumerate(features):
            gradient[i] += error * x / len(rows)
    state["velocity"] = [options.momentum * v - options.learning_rate * g for v, g in zip(state["velocity"], gradient)]
    state["weights"] = [w + v for w, v in zip(state["weights"], state["velocity"])]
    state["epoch"] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", default="run")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out, if there is one")
    options = parser.parse_args()

    os.makedirs(options.out, exist_ok=True)
    last = os.path.join(options.out, "last.json")
    state = {"epoch": 0, "weights": [0.0] * FEATURES, "velocity": [0.0] * FEATURES}
    if options.resume and os.path.exists(last):
        with open(last, encoding="utf-8") as file:
            state = json.load(file)

    rows = make_rows(1)
    held_out = make_rows(1)[ROWS // 2:]
    while state["epoch"] < options.epochs:
        train_epoch(state, rows[: ROWS // 2], options)
        print(f"Epoch {state['epoch']}: validation loss {loss_of(state['weights'], held_out):.6f}")
        with open(last + ".tmp", "w", encoding="utf-8") as file:
            json.dump(state, file)
        os.replace(last + ".tmp", last)


if __name__ == "__main__":
    main()
