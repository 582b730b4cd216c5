#!/usr/bin/env python3
"""winnow-gbdt beside XGBoost (hist), one thread each, on the prepared bank data, split 70/20/10: the un-tuned estimator
of the direct-marketing experiment at 150 rounds. Prints both AUCs for each seed and the time of a round, as a ratio.

--check asserts that the mean AUCs over the seeds differ by at most 0.01 on validation and test, and prints no times.
Needs bank-additional-full.csv.gz in the folder that WINNOW_DATA_DIR names, and the Python module xgboost; without
them it says so and ends with code 77, which CTest counts as skipped.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before libgomp is loaded
os.environ["WINNOW_CACHE_DIR"] = "off"  # data files made for one run
ROOT = pathlib.Path(__file__).resolve().parents[1]
ROUNDS = 150
HYPERPARAMETERS = {"objective": "binary:logistic", "eval_metric": "auc", "eta": 0.3, "colsample_bylevel": 0.5,
                   "colsample_bytree": 0.8}
LABEL = "y_yes"
TOLERANCE = 0.01


def skip(reason):
    print(f"SKIPPED: {reason}", file=sys.stderr)
    sys.exit(77)


def auc(labels, scores):
    """By ranks, ties at their mean rank."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    rank_sum, positives, at = 0.0, 0, 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        tied_positives = sum(1 for i in order[at:end] if labels[i] == 1)
        rank_sum += tied_positives * (at + 1 + end) / 2
        positives += tied_positives
        at = end
    return (rank_sum - positives * (positives + 1) / 2) / (positives * (len(labels) - positives))


def read_table(path):
    """Labels and feature rows of a prepared file."""
    with open(path, encoding="utf-8") as file:
        header = file.readline().strip().split(",")
        label = header.index(LABEL)
        rows = [[float(cell) for cell in line.split(",")] for line in file]
    return [row[label] for row in rows], [row[:label] + row[label + 1:] for row in rows]


def run_winnow(binary, folder, seed):
    """Validation AUC at the last round, test AUC, seconds a round."""
    hyperparameters = folder / "hp.json"
    hyperparameters.write_text(json.dumps({**HYPERPARAMETERS, "num_round": ROUNDS, "seed": seed}))
    model = folder / "model"
    process = subprocess.Popen(
        [binary, "--train", folder / "train.csv", "--validation", folder / "validation.csv", "--label", LABEL,
         "--hyperparameters", hyperparameters, "--model-dir", model, "--threads", "1"],
        stdout=subprocess.PIPE, text=True)
    first = last = None
    for line in process.stdout:
        last = line
        first = first or time.perf_counter()
    elapsed = time.perf_counter() - first
    if process.wait() != 0:
        sys.exit(f"winnow-gbdt ended with code {process.returncode}")
    output = subprocess.run([binary, "predict", "--model", model / "model.json", "--data", folder / "test.csv"],
                            check=True, capture_output=True, text=True).stdout
    scores = [float(score) for score in output.splitlines()[1:]]
    validation = float(last.split("validation-auc:")[1])
    return validation, auc(read_table(folder / "test.csv")[0], scores), elapsed / (ROUNDS - 1)


def run_xgboost(xgboost, data, seed):
    """The same three of XGBoost."""
    times = []

    class Clock(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            times.append(time.perf_counter())
            return False

    result = {}
    booster = xgboost.train({**HYPERPARAMETERS, "tree_method": "hist", "nthread": 1, "seed": seed}, data["train"],
                            ROUNDS, evals=[(data["train"], "train"), (data["validation"], "validation")],
                            evals_result=result, verbose_eval=False, callbacks=[Clock()])
    test = auc(data["test"].get_label().tolist(), booster.predict(data["test"]).tolist())
    return result["validation"]["auc"][-1], test, (times[-1] - times[0]) / (ROUNDS - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "build/bin/winnow-gbdt", help="winnow-gbdt")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="assert that the AUCs are close; no times")
    options = parser.parse_args()
    source = pathlib.Path(os.environ.get("WINNOW_DATA_DIR", "")) / "bank-additional-full.csv.gz"
    if "WINNOW_DATA_DIR" not in os.environ or not source.is_file():
        skip("WINNOW_DATA_DIR does not name a folder with bank-additional-full.csv.gz")
    try:
        import numpy
        import xgboost
    except ImportError as error:
        skip(f"{sys.executable}: {error}")
    xgboost.set_config(verbosity=0)

    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, ROOT / "scripts/prepare_direct_marketing.py", "--input", source, "--output",
                        folder, "--split", "70/20/10"], check=True, stdout=subprocess.DEVNULL)
        data = {}
        for part in ("train", "validation", "test"):
            labels, rows = read_table(folder / f"{part}.csv")
            data[part] = xgboost.DMatrix(numpy.array(rows), label=numpy.array(labels))
        ours, theirs = [], []
        print(f"XGBoost {xgboost.__version__} hist and winnow-gbdt, {ROUNDS} rounds, 1 thread")
        for seed in range(options.seeds):  # in turns, so that a busy machine is busy for both
            ours.append(run_winnow(options.binary, folder, seed))
            theirs.append(run_xgboost(xgboost, data, seed))
            print(f"seed {seed}: validation {ours[-1][0]:.4f} (XGBoost {theirs[-1][0]:.4f}), "
                  f"test {ours[-1][1]:.4f} (XGBoost {theirs[-1][1]:.4f})")

    failed = False
    for column, part in enumerate(("validation", "test")):
        mean, other = (statistics.mean(run[column] for run in runs) for runs in (ours, theirs))
        print(f"mean {part} AUC: {mean:.4f}, XGBoost {other:.4f}, difference {mean - other:+.4f}")
        failed = failed or abs(mean - other) > TOLERANCE
    if options.check:
        print("FAILED: the AUCs differ by more than 0.01" if failed else "the AUCs are within 0.01")
        sys.exit(1 if failed else 0)
    mine, other = (statistics.median(run[2] for run in runs) for runs in (ours, theirs))
    print(f"a round with its two AUCs: {mine * 1e3:.2f} ms, XGBoost {other * 1e3:.2f} ms, "
          f"{other / mine:.2f} times as fast")


if __name__ == "__main__":
    main()
