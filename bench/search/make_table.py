#!/usr/bin/env python3
"""Trains random configurations of the direct-marketing job with winnow-gbdt and writes their curves of validation AUC:
the table of real curves on which search strategies are compared (bench/search/curve_table.h says how it is read).

    bench/search/make_table.py [--bin build/bin] [--data examples/data/direct-marketing]
                               [--out build/bench/direct-marketing-curves.csv] [--rows 1000] [--rounds 200] [--jobs 2]

The ranges are those of examples/direct-marketing.json without num_round; the data: scripts/get-data.sh. The same seed
draws the same configurations. Stopped and started again, it goes on where it was.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
METRIC = "validation-auc:"


def columns(spec):
    """The job's ranges as (name, kind, min, max) in its order."""
    ranges = []
    for parameter in spec["parameters"]:
        if parameter["name"] == "num_round":  # the level of a curve stands for it
            continue
        kind = "integer" if "integer" in parameter else "continuous"
        ranges.append((parameter["name"], kind, parameter[kind]["min"], parameter[kind]["max"]))
    return ranges


def draw(ranges, seed, row):
    """The configuration of a row: a function of the seed and the row's number."""
    source = random.Random(f"{seed}/{row}")
    return {name: source.randint(low, high) if kind == "integer" else source.uniform(low, high)
            for name, kind, low, high in ranges}


def train(program, data, fixed, configuration, rounds):
    """Seconds per round and the validation AUC after each round."""
    with tempfile.TemporaryDirectory() as folder:
        hyperparameters = pathlib.Path(folder, "hyperparameters.json")
        hyperparameters.write_text(json.dumps({**fixed, **configuration, "num_round": rounds}))
        process = subprocess.Popen(
            [program, "--train", data / "train.csv", "--validation", data / "validation.csv", "--label", "y_yes",
             "--threads", "1", "--hyperparameters", hyperparameters, "--model-dir", folder],
            stdout=subprocess.PIPE, text=True)
        curve, times = [], []
        for line in process.stdout:
            if METRIC in line:
                curve.append(line.split(METRIC)[1].split()[0])
                times.append(time.monotonic())
        if process.wait() != 0 or len(curve) != rounds:
            raise RuntimeError(f"winnow-gbdt ended with code {process.returncode} after {len(curve)} rounds: "
                               f"{configuration}")
    return (times[-1] - times[0]) / max(1, rounds - 1), curve


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    flags.add_argument("--data", type=pathlib.Path, default=ROOT / "examples/data/direct-marketing")
    flags.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench/direct-marketing-curves.csv")
    flags.add_argument("--rows", type=int, default=1000)
    flags.add_argument("--rounds", type=int, default=200)
    flags.add_argument("--seed", type=int, default=1729)
    flags.add_argument("--jobs", type=int, default=2, help="processes at a time")
    args = flags.parse_args()
    for path in (args.bin / "winnow-gbdt", args.data / "train.csv", args.data / "validation.csv"):
        if not path.exists():
            sys.exit(f"{path} is not there")

    spec = json.loads((ROOT / "examples/direct-marketing.json").read_text())
    ranges = columns(spec)
    header = ",".join([f"{name}:{kind}:{low}:{high}" for name, kind, low, high in ranges] + ["seconds_per_round"] +
                      [str(level) for level in range(1, args.rounds + 1)]) + "\n"
    args.out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = args.out.with_name(f"{args.out.name}.seed{args.seed}.part")
    lines = unfinished.read_text().splitlines(keepends=True) if unfinished.exists() else []
    if lines and lines[0] != header:
        sys.exit(f"{unfinished}: other columns than this run's; remove it")
    lines = [line for line in lines if line.endswith("\n")] or [header]  # without a half-written end
    unfinished.write_text("".join(lines))

    def row(number):
        configuration = draw(ranges, args.seed, number)
        seconds, curve = train(args.bin / "winnow-gbdt", args.data, spec["static_hyperparameters"], configuration,
                               args.rounds)
        return ",".join([*map(repr, configuration.values()), f"{seconds:.6f}", *curve]) + "\n"

    with unfinished.open("a") as file, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for number, line in enumerate(pool.map(row, range(len(lines) - 1, args.rows)), len(lines)):
            file.write(line)
            file.flush()
            if number % 100 == 0:
                print(f"{number} of {args.rows} rows", flush=True)
    unfinished.rename(args.out)
    print(args.out)


if __name__ == "__main__":
    main()
