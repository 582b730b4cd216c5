#!/usr/bin/env python3
"""The published experiment's choice: 238 positive validation rows choose among 30 trials. What the model that a job hands out
is worth on the test rows, chosen by the best value seen and by the expected one, and where every trial is trained through.

    bench/honest_best.py [--bin build/bin] [--data examples/data/direct-marketing-85-5-10] [--seeds 20]

The job is examples/direct-marketing.json (R = 30 rounds) with the default strategy, and RANDOM with every trial trained to R.
The data are made by scripts/get-data.sh. A trial is used after the round of its value. Needs scipy.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from service import Service, require_programs

ROOT = pathlib.Path(__file__).resolve().parents[1]
FURTHEST, TRIALS = 30, 30
METRIC = "validation:auc"


def auc(labels, values):
    """By ranks; ties count half."""
    order = sorted(range(len(values)), key=values.__getitem__)
    total, at, positives = 0.0, 0, sum(labels)
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        total += (at + end + 1) / 2 * sum(labels[order[i]] for i in range(at, end))
        at = end
    return (total - positives * (positives + 1) / 2) / (positives * (len(labels) - positives))


class Test:
    def __init__(self, data, binaries):
        self.path, self.binaries = data / "test.csv", binaries
        with open(self.path, newline="", encoding="utf-8") as file:
            self.labels = [int(row["y_yes"]) for row in csv.DictReader(file)]

    def auc(self, folder, rounds):
        told = subprocess.run([self.binaries / "winnow-gbdt", "predict", "--model", folder / "model.json", "--data",
                               self.path, "--rounds", str(rounds)], capture_output=True, text=True, check=True).stdout
        return auc(self.labels, list(map(float, told.split()[1:])))


def play(service, data, test, seed, through):
    """(test AUC of the best value seen, of the best expected one; the value seen and the expected one of the first)"""
    example = json.loads((ROOT / "examples/direct-marketing.json").read_text())
    spec = {"name": f"honest-{seed}", "trainer": {"builtin": "gbdt"}, "parameters": example["parameters"],
            "channels": {part: {"path": str(data / f"{part}.csv"), "label": "y_yes"} for part in ("train", "validation")},
            "static_hyperparameters": example["static_hyperparameters"],
            "objective": {**example["objective"], "selection": "EXPECTED"}, "seed": seed,
            "limits": {"max_trials": TRIALS, "max_trial_resource": FURTHEST}}
    if through:
        spec["strategy"] = "RANDOM"
    job = service.run(spec)
    trials = {int(trial["number"]): trial for trial in service.trials(job["id"]) if "value" in trial}
    seen = max(trials, key=lambda number: (trials[number]["value"], -number))
    chosen = int(job["best"]["trial"])
    result = [test.auc(service.model_on_this_host(job["id"], number), trials[number]["value_resource"])
              for number in (seen, chosen)]
    return (*result, trials[seen]["value"], job["best"]["expected"], int(job["spend"]["resource"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "examples/data/direct-marketing-85-5-10")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    require_programs(options.bin)
    data = options.data.resolve()
    if not (data / "test.csv").is_file():
        sys.exit(f"--data {data}: no test.csv there; scripts/get-data.sh makes it")
    from scipy import stats
    os.nice(10)
    test = Test(data, options.bin.resolve())
    rows = {}
    with tempfile.TemporaryDirectory(prefix="winnow-honest-") as work, Service(options.bin, work, 1, 2) as service:
        for name, through in (("default", False), ("RANDOM, all through", True)):
            rows[name] = [play(service, data, test, seed, through) for seed in range(1, options.seeds + 1)]
            seen, expected, told, honest, units = zip(*rows[name])
            print(f"{name}: {statistics.mean(units):.0f} units; test AUC of SEEN {statistics.mean(seen):.4f} ± "
                  f"{statistics.stdev(seen) / len(seen) ** 0.5:.4f}, of EXPECTED {statistics.mean(expected):.4f} ± "
                  f"{statistics.stdev(expected) / len(expected) ** 0.5:.4f}; value seen {statistics.mean(told):.4f}, "
                  f"expected {statistics.mean(honest):.4f}; chosen differently {sum(a != b for a, b in zip(seen, expected))}",
                  flush=True)
    through = [row[0] for row in rows["RANDOM, all through"]]
    for label, place in (("SEEN", 0), ("EXPECTED", 1)):
        ours = [row[place] for row in rows["default"]]
        p = stats.wilcoxon([a - b for a, b in zip(ours, through)], alternative="less").pvalue
        print(f"default, {label}, less than RANDOM trained through, SEEN: {statistics.mean(ours) - statistics.mean(through):+.4f}, "
              f"p = {p:.2g} that it is lower")


if __name__ == "__main__":
    main()
