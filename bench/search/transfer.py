#!/usr/bin/env python3
"""What results of an earlier job do: medians of simple regret on a recorded table without them, with results on another
table of the same hyperparameters, and with wrong ones, the table's own values with the sign changed (bench/search/winnow.cc).
Needs numpy and build/bin/bench-search.

    bench/search/transfer.py --tables DIR --pairs TABLE:EARLIER[,...] [--seeds 20] [--strategies default,bayesian]
                             [--results 50] [--multiple 32] [--bin build/bin] [--jobs 2]

DIR holds tables as bench/search/recorded_table.h describes, TABLE.tab.gz.
"""

import argparse
import concurrent.futures
import gzip
import os
import pathlib

import judge
import player

CHUNK = 5  # seeds per process


def play(args, strategy, table, earlier, seeds):
    """The lines of seeds (first, last)."""
    return player.play(args.bin, strategy, table, seeds, earlier, args.multiple)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--tables", type=pathlib.Path, required=True)
    flags.add_argument("--pairs", required=True)
    flags.add_argument("--strategies", default=judge.JUDGED)
    flags.add_argument("--results", type=int, default=50, help="of the earlier job")
    flags.add_argument("--seeds", type=int, default=20)
    flags.add_argument("--multiple", type=float, default=32)
    flags.add_argument("--bin", type=pathlib.Path, default=judge.ROOT / "build/bin")
    flags.add_argument("--jobs", type=int, default=2)
    args = flags.parse_args()
    os.nice(10)
    multiples = [m for m in judge.MULTIPLES if m <= args.multiple]
    parts = [(first, min(first + CHUNK - 1, args.seeds)) for first in range(1, args.seeds + 1, CHUNK)]
    rows = []
    for pair in args.pairs.split(","):
        names = pair.split(":")
        table, other = (f"rows:{args.tables / name}.tab.gz" for name in names)
        results = ["--earlier-results", str(args.results)]
        for strategy in args.strategies.split(","):
            rows += [(names[0], strategy, "none", table, []),
                     (names[0], strategy, names[1], table, ["--earlier", other, *results]),
                     (names[0], strategy, "wrong", table, ["--earlier", table, "--earlier-wrong", *results])]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        played = [[pool.submit(play, args, strategy, table, earlier, part) for part in parts]
                  for _, strategy, _, table, earlier in rows]
        print("| table | strategy | earlier results | " + " | ".join(f"{m}x" for m in multiples) + " |")
        print("| --- | --- | --- |" + " --- |" * len(multiples))
        without = []
        for (name, strategy, earlier, table, _), runs in zip(rows, played):
            with gzip.open(table.removeprefix("rows:"), "rt") as file:
                levels = int(file.readline().split()[2])
            lines = [line for run in runs for line in run.result()]
            regrets = [judge.runs_of(lines, levels).median(m) for m in multiples]
            cells = [judge.number(regret) for regret in regrets]
            if earlier == "none":
                without = regrets
            else:
                cells = [f"{cell} ({judge.ratio(ours, none)})" for cell, ours, none in zip(cells, regrets, without)]
            print(f"| {name} | {strategy} | {earlier} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
