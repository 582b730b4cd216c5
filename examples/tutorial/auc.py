#!/usr/bin/env python3
"""The AUC of predictions: auc.py TABLE LABEL PREDICTIONS. TABLE and PREDICTIONS are CSV files with a header and the same
rows; LABEL is a column of TABLE with 0 and 1."""

import csv
import sys


def auc(labels, scores):
    """The chance that a row of label 1 has a higher score than one of label 0; equal ones count half."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks, positives = 0.0, sum(labels)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and scores[order[last + 1]] == scores[order[first]]:
            last += 1
        rank = (first + last) / 2 + 1
        ranks += rank * sum(labels[row] for row in order[first : last + 1])
        first = last + 1
    return (ranks - positives * (positives + 1) / 2) / (positives * (len(labels) - positives))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    table, label, predictions = sys.argv[1:]
    with open(table, newline="", encoding="utf-8") as file:
        labels = [int(row[label]) for row in csv.DictReader(file)]
    with open(predictions, newline="", encoding="utf-8") as file:
        scores = [float(row["prediction"]) for row in csv.DictReader(file)]
    if len(labels) != len(scores) or not 0 < sum(labels) < len(labels):
        sys.exit(f"{table} has {len(labels)} rows and {predictions} {len(scores)}: expected the same, of both classes")
    print(f"AUC {auc(labels, scores):.4f} on {len(labels)} rows")


if __name__ == "__main__":
    main()
