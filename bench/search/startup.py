#!/usr/bin/env python3
"""Compares Winnow's strategies where every part of a trial costs start-up: medians of simple regret at equal time, which is
units trained and, for every part, so many units more. Needs nothing but Python and build/bin/bench-search.

    bench/search/startup.py [--startup 0,1,10] [--seeds 10] [--families branin,crossing] [--strategies default,asha]
                            [--bin build/bin] [--jobs 2] [--table build/bench/direct-marketing-curves.csv] [--fresh]

Prints a table per start-up and family, and for each whether the default's median is within 10 % of the best one's.
Trajectories are kept under --cache by the program that made them. Exit code 1 if a run failed.
"""

import argparse
import concurrent.futures
import csv
import math
import os
import pathlib
import statistics
import sys

import player

ROOT = pathlib.Path(__file__).resolve().parents[2]
MULTIPLES = (4, 8, 16, 32, 64)  # of R
STRATEGIES = ("default", "asha", "hyperband", "bayesian", "bohb", "random")
FAMILIES = ("branin", "hartmann6", "counting_ones", "crossing", "noisy", "d20")
RESOURCE = 81  # R of the closed-form families
TABLE_RESOURCE = 200
WITHIN = 1.1


def play(args, strategy, family, startup):
    """The lines of all seeds. Raises RuntimeError with the program's reason."""
    table = ["--table", str(args.table)] if family == "table" else []
    file = args.cache / f"{strategy}-{family}-{startup:g}-{args.seeds}-{player.digest(args.bin)}.csv"
    return player.kept(file, args.fresh, lambda: player.play(
        args.bin, strategy, family, (1, args.seeds), ["--startup", str(startup), *table]))


def medians(lines, resource):
    """Over the seeds, at each of MULTIPLES."""
    runs = {}
    for _, _, seed, spent, regret in csv.reader(lines):
        runs.setdefault(seed, []).append((float(spent), float(regret)))
    return [statistics.median(max([(-math.inf, math.inf), *(p for p in run if p[0] <= m * resource)])[1]
                              for run in runs.values()) for m in MULTIPLES]


def table(startup, family, found):
    """Lines of Markdown; `found`: {strategy: medians}."""
    best = [min(column) for column in zip(*found.values())]
    yield f"| {family}, start-up {startup:g} | " + " | ".join(f"{m}x" for m in MULTIPLES) + " |"
    yield "| --- |" + " --- |" * len(MULTIPLES)
    for strategy, values in found.items():
        cells = (f"**{value:.3g}**" if value == least else f"{value:.3g}" for value, least in zip(values, best))
        yield f"| {strategy} | " + " | ".join(cells) + " |"
    if "default" in found:
        within = (f"yes, {ratio(ours, least)}" if ours <= WITHIN * least else f"NO, {ratio(ours, least)}"
                  for ours, least in zip(found["default"], best))
        yield "| default within 10 % of the best | " + " | ".join(within) + " |"
    yield ""


def ratio(ours, best):
    return f"{ours / best:.2f}" if best > 0 else "both 0" if ours == 0 else "best 0"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--startup", default="0,1,10", help="units that every part costs before its first")
    flags.add_argument("--seeds", type=int, default=10)
    flags.add_argument("--families", default=",".join(FAMILIES), help="of bench-search; table is one with --table")
    flags.add_argument("--strategies", default=",".join(STRATEGIES))
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    flags.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench/startup")
    flags.add_argument("--table", type=pathlib.Path, default=ROOT / "build/bench/direct-marketing-curves.csv")
    flags.add_argument("--jobs", type=int, default=2)
    flags.add_argument("--fresh", action="store_true", help="compute all again")
    args = flags.parse_args()
    os.nice(10)
    strategies, families = args.strategies.split(","), args.families.split(",")
    startups = [float(each) for each in args.startup.split(",")]
    cells = [(strategy, family, startup) for startup in startups for family in families for strategy in strategies]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {cell: pool.submit(play, args, *cell) for cell in cells}
    failed = [run.exception() for run in runs.values() if run.exception()]
    if failed:
        print("\n".join(map(str, failed)), file=sys.stderr)
        return 1
    for startup in startups:
        for family in families:
            resource = TABLE_RESOURCE if family == "table" else RESOURCE
            found = {strategy: medians(runs[strategy, family, startup].result(), resource) for strategy in strategies}
            print("\n".join(table(startup, family, found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
