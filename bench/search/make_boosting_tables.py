#!/usr/bin/python3
"""Records curves of winnow-gbdt with the time of a round: the tables on which searches of boosted trees are played
(bench/search/recorded_table.h says how they are read; bench-search --timed plays their times too).

    bench/search/make_boosting_tables.py --bin build/bin [--out build/bench/boosting] [--tables auc,rmse] [--rows 250]
                                         [--seed 101]

The data and the ranges are those of bench/equal_time.py, drawn by --seed, which is another one there; as many rows of each
as had rounds of 3 ms. --rows random configurations a table, 100 rounds each, one thread. A row's time is the median of its
rounds, with their metric.
"""

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import equal_time  # noqa: E402  (the path must be set first)

DATA_ROWS = {"auc": 75_929, "rmse": 67_245, "classes": 2_324, "rare": 58_505, "counts": 29_877}


def draw(source, parameter):
    if "integer" in parameter:
        return source.randint(parameter["integer"]["min"], parameter["integer"]["max"])
    low, high = parameter["continuous"]["min"], parameter["continuous"]["max"]
    if "scaling" in parameter["continuous"]:
        return math.exp(source.uniform(math.log(low), math.log(high)))
    return source.uniform(low, high)


def heading(parameter):
    kind = "int" if "integer" in parameter else "float"
    between = parameter["integer" if "integer" in parameter else "continuous"]
    return f"{parameter['name']} {kind} {between['min']} {between['max']} {'log' if 'scaling' in between else 'lin'}"


def train(binary, folder, hyperparameters):
    """Seconds of a round, and the curve as texts."""
    (folder / "hyperparameters.json").write_text(json.dumps(hyperparameters), encoding="ascii")
    done = subprocess.run(
        [binary, "--train", folder / "train.csv", "--validation", folder / "validation.csv", "--label", "label",
         "--hyperparameters", folder / "hyperparameters.json", "--model-dir", folder / "model", "--threads", "1",
         "--timing", folder / "timing.json"], stdout=subprocess.PIPE, text=True, check=True,
        env={**os.environ, "WINNOW_CACHE_DIR": str(folder / "cache")})
    curve = [line.split("\tvalidation-")[1].split(":")[1].split("\t")[0] for line in done.stdout.splitlines()
             if "\tvalidation-" in line]
    timing = json.loads((folder / "timing.json").read_text())
    return statistics.median(map(sum, zip(timing["round_seconds"], timing["evaluate_seconds"]))), curve


def record(binary, name, rows, seed, path):
    table = equal_time.TABLES[name]
    x, y = equal_time.make_table(table, DATA_ROWS[name], seed)
    cut = int(len(y) * (1 - equal_time.VALIDATION))
    source, lines = random.Random(seed), []
    with tempfile.TemporaryDirectory(prefix="winnow-tables-") as folder:
        folder = pathlib.Path(folder)
        equal_time.write_table(folder / "train.csv", x[:cut], y[:cut])
        equal_time.write_table(folder / "validation.csv", x[cut:], y[cut:])
        for row in range(rows):
            configuration = {parameter["name"]: draw(source, parameter) for parameter in equal_time.PARAMETERS}
            fixed = equal_time.fixed(table) | {"num_round": equal_time.TOP, "seed": row}
            seconds, curve = train(binary, folder, fixed | configuration)
            lines.append(" ".join([*map(repr, configuration.values()), f"{seconds:.6f}", *curve]))
    goal = "maximize" if table["maximize"] else "minimize"
    head = [f"{goal} rows {equal_time.TOP} {len(equal_time.PARAMETERS)} {rows} timed",
            *map(heading, equal_time.PARAMETERS)]
    path.write_text("\n".join([*head, *lines]) + "\n", encoding="ascii")
    print(path, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-gbdt")
    parser.add_argument("--out", default=ROOT / "build/bench/boosting", type=pathlib.Path)
    parser.add_argument("--tables", default=",".join(DATA_ROWS))
    parser.add_argument("--rows", type=int, default=250)
    parser.add_argument("--seed", type=int, default=101)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.tables.split(","):
        record(arguments.bin / "winnow-gbdt", name, arguments.rows, arguments.seed, arguments.out / f"{name}.tab")


if __name__ == "__main__":
    main()
