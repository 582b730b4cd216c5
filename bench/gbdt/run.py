#!/usr/bin/python3
"""winnow-gbdt beside XGBoost (hist) and LightGBM on the same files, hyperparameters and numbers of threads.

    bench/gbdt/run.py --bin build/bin [--lightgbm PATH] [--xgboost PATH] [--sets dense-1m,wide-20k] [--threads 1,2]
                      [--repeats 3] [--json FILE] [--cache FOLDER]

Each training is a process; systems take turns, so that a busy machine is busy for all. Columns of the table:
  set-up s    reading the text file and binning it, until the first round's work begins
  ms a round  training alone, no metric: of each round the median over the repeats, then the mean over the rounds
  least       the same with the least over the repeats, which a busy machine troubles less
  CPU ms      the same in processor time of all threads, waiting left out; the least over the repeats
  x           each, divided by winnow-gbdt's: above 1, winnow-gbdt is faster
  CPU s       processor seconds until training ends, set-up included; of a Python module, from after its imports
  MiB         peak memory; of a Python module, less what the interpreter holds after its imports
  metric      of the validation part, computed from the predictions by scikit-learn for all alike
--lightgbm: LightGBM's python-package folder with its built library. --xgboost: the same of another XGBoost than the
installed one. A system that is not there is named and left out. WINNOW_DATA_DIR: where the real bank data is.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy
from sklearn import metrics

import data_sets
import first_round
import systems

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What else than the default hyperparameters is measured, on which set.
SAMPLED = {"subsample": 0.5, "colsample": 0.5}
QUANTISED = "LightGBM, quantised gradients"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-gbdt")
    parser.add_argument("--lightgbm", type=pathlib.Path)
    parser.add_argument("--xgboost", type=pathlib.Path)
    parser.add_argument("--sets", default=",".join([*data_sets.SETS, "dense-1m-sampled"]))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, help="instead of each set's own")
    parser.add_argument("--eta", type=float, default=0.1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--cache", default=ROOT / "build/bench/gbdt-data", type=pathlib.Path)
    parser.add_argument("--no-first-round", action="store_true", help="leave out the start of a second trial")
    return parser.parse_args()


def present(peer):
    """Whether the module can be imported; says so if not."""
    code = f"import sys; sys.path.insert(0, {peer.path!r}) if {peer.path!r} else None; import {peer.module} as m; " \
           "print(m.__version__)"
    tried = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if tried.returncode != 0:
        print(f"{peer.name} is left out: {tried.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return False
    peer.name = peer.name.replace(",", f" {tried.stdout.strip()},", 1) if "," in peer.name \
        else f"{peer.name} {tried.stdout.strip()}"
    return True


def peers_of(options):
    peers = [systems.Peer("XGBoost", "xgboost")]
    if options.xgboost:
        peers.append(systems.Peer("XGBoost", "xgboost", options.xgboost))
    if options.lightgbm:
        peers.append(systems.Peer("LightGBM", "lightgbm", options.lightgbm))
        peers.append(systems.Peer(QUANTISED, "lightgbm", options.lightgbm, quantised=True))
    return [peer for peer in peers if present(peer)]


def judge(metric, labels, predictions):
    if metric == "auc":
        return metrics.roc_auc_score(labels, predictions)
    if metric == "rmse":
        return metrics.mean_squared_error(labels, predictions) ** 0.5
    predictions = predictions / predictions.sum(axis=1, keepdims=True)
    return metrics.log_loss(labels, predictions, labels=range(predictions.shape[1]))


def summary(runs, score):
    """One row of the table from the repeats of one system."""
    by_round = list(zip(*(run["round_seconds"] for run in runs)))
    return {"round_ms": 1e3 * statistics.mean(map(statistics.median, by_round)),
            "least_round_ms": 1e3 * statistics.mean(map(min, by_round)),
            "round_cpu_ms": 1e3 * min(run["round_cpu_seconds"] for run in runs),
            **{key: statistics.median(run[key] for run in runs)
               for key in ("setup_seconds", "peak_mib", "cpu_seconds")},
            "metric": score, "runs": runs}


def measure(data, job, measured, options, work):
    """{system's name: row} for one data set and number of threads."""
    labels = data_sets.labels_of(data.validation)
    runs = {system.name: [] for system in measured}
    scores = {}
    for repeat in range(options.repeats):
        for system in measured:
            predictions = work / "predictions.npy" if repeat == 0 else None
            if repeat > 0 and system.name not in scores:
                continue  # it has failed
            try:
                runs[system.name].append(system.train(job, predictions))
            except RuntimeError as error:
                print(f"{system.name} is left out of {data.name}: {error}", file=sys.stderr)
                continue
            if predictions:
                scores[system.name] = judge(data.metric, labels, numpy.load(predictions))
    return {name: summary(runs[name], score) for name, score in scores.items()}


def print_table(title, metric, rows):
    print(f"\n### {title}\n\n| system | set-up s | ms a round | x | least | x | CPU ms | x | CPU s | MiB "
          f"| validation {metric} |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ours = rows["winnow-gbdt"]
    for name, row in rows.items():
        times = " | ".join(f"{row[key]:.2f} | {row[key] / ours[key]:.2f}"
                           for key in ("round_ms", "least_round_ms", "round_cpu_ms"))
        print(f"| {name} | {row['setup_seconds']:.2f} | {times} | {row['cpu_seconds']:.1f} | {row['peak_mib']:.0f} | "
              f"{row['metric']:.5f} |", flush=True)


def main():
    options = parse()
    peers = peers_of(options)
    report = []
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as name:
        work = pathlib.Path(name)
        ours = systems.Winnow(options.bin, work)
        names = ", ".join(peer.name for peer in peers)
        print(f"winnow-gbdt and {names}; {options.repeats} repeats")
        for set_name in options.sets.split(","):
            sampled = set_name.endswith("-sampled")
            data = data_sets.get(set_name.removesuffix("-sampled"), options.cache)
            data.rounds = options.rounds or data.rounds
            dense = data.name == "dense-1m"
            for threads in map(int, options.threads.split(",")):
                job = systems.job_of(data, threads, options.eta, **(SAMPLED if sampled else {}))
                measured = [ours] + [peer for peer in peers if not peer.quantised or dense]
                rows = measure(data, job, measured, options, work)
                title = f"{set_name}, {threads} thread{'s' * (threads > 1)}, {data.rounds} rounds"
                print_table(title, data.metric, rows)
                report.append({"set": set_name, "threads": threads, "rounds": data.rounds, "systems": rows})
        if not options.no_first_round:
            rows = first_round.measure(ours, data_sets.get("direct-marketing", options.cache), options.repeats, work)
            first_round.print_table(rows)
            report.append({"set": "direct-marketing", "first_round": rows})
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
