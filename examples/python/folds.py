#!/usr/bin/env python3
"""Cross-validation: one line per fold. examples/folds.json tunes the mean over the folds.

    python3 folds.py --neighbours 5 --power 2
"""

import argparse
import random

FOLDS = 5


def make_points(seed, count=200):
    """Points of two classes that overlap: (x, y, class)."""
    source = random.Random(seed)
    return [(source.gauss(c, 1), source.gauss(c, 1), c) for c in (0, 1) for _ in range(count // 2)]


def predict(train, x, y, neighbours, power):
    nearest = sorted((abs(x - a) ** power + abs(y - b) ** power, c) for a, b, c in train)[:neighbours]
    return 1 if 2 * sum(c for _, c in nearest) > len(nearest) else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--neighbours", type=int, default=5)
    parser.add_argument("--power", type=float, default=2.0)
    options = parser.parse_args()

    points = make_points(3)
    random.Random(4).shuffle(points)
    for fold in range(FOLDS):
        test = points[fold::FOLDS]
        train = [p for i, p in enumerate(points) if i % FOLDS != fold]
        right = sum(predict(train, x, y, options.neighbours, options.power) == c for x, y, c in test)
        print(f"fold {fold + 1}: accuracy {right / len(test):.4f}")


if __name__ == "__main__":
    main()
