#!/usr/bin/env python3
"""Judges the default strategy on Winnow's families and on recorded tables: medians of simple regret at five budgets,
beside Winnow's ASHA and BAYESIAN and random search. Needs numpy and build/bin/bench-search.

    bench/search/judge.py --tables DIR [--seeds 20] [--first-seed 1] [--families branin,crossing] [--play rows,smooth] [--only TEXT]
                          [--strategies default,asha,bayesian] [--multiple 64] [--workers 1] [--bin build/bin]
                          [--jobs 2] [--fresh]

DIR holds tables as bench/search/recorded_table.h describes, *.tab.gz. A table with learning curves is played by its
nearest row and as a smooth landscape; one with a single level by its nearest row alone. "worth": the budget that random
search needs for the same median regret, as a multiple; random search runs to 256 times the largest resource, over at
least 100 seeds, because its median moves by chance as much as others' do, and it costs little.
Trajectories are kept under --cache by the programs that made them. Exit code 1 if a run failed.
"""

import argparse
import concurrent.futures
import csv
import gzip
import os
import pathlib
import statistics
import sys

import player
import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
MULTIPLES = (4, 8, 16, 32, 64)
BASELINE, BASELINE_MULTIPLE, BASELINE_SEEDS = "random", 256, 100
JUDGED, RIVALS = "default", ("asha", "bayesian")
FAMILIES = ("branin", "hartmann6", "counting_ones", "crossing", "noisy", "d20")
FAMILY_RESOURCE = 81
WITHIN = 1.1
LEAST = 1e-9  # regrets below count as this in ratios
CHUNK = 5  # seeds per process


def problems(args):
    """{label: (the program's --family, max_resource)}"""
    found = {name: (name, FAMILY_RESOURCE) for name in args.families.split(",") if name}
    for path in sorted(args.tables.glob("*.tab.gz")) if args.tables else ():
        with gzip.open(path, "rt") as file:
            levels = int(file.readline().split()[2])
        for play in args.play.split(","):
            if levels > 1 or play == "rows":
                found[f"{path.name.removesuffix('.tab.gz')} {play}"] = (f"{play}:{path}", levels)
    return {label: problem for label, problem in found.items() if args.only in label}


def runs_of(lines, resource):
    """The runs in lines of bench-search."""
    points = {}
    for *_, seed, spent, regret in csv.reader(lines):
        points.setdefault(int(seed), []).append((float(spent), float(regret)))
    return report.Runs(points, resource)


def play(args, strategy, label, problem, seeds):
    """The lines of seeds (first, last). Raises RuntimeError with the program's reason."""
    family, _ = problem
    multiple = BASELINE_MULTIPLE if strategy == BASELINE else args.multiple
    name = "-".join(map(str, (strategy, label.replace(" ", "-"), *seeds, multiple, args.workers, args.digest)))
    return player.kept(args.cache / f"{name}.csv", args.fresh, lambda: player.play(
        args.bin, strategy, family, seeds, ["--workers", str(args.workers)], multiple))


def number(value):
    return "0" if value == 0 else f"{value:.3g}"


def ratio(ours, best):
    """Ours over the best; bold where it is more than WITHIN."""
    text = f"{max(ours, LEAST) / max(best, LEAST):.2f}"
    return text if ours <= WITHIN * max(best, LEAST) else f"**{text}**"


def worth(baseline, regret, multiple):
    """How many times the budget random search needs; at least, where it does not reach the regret."""
    reached = baseline.reach(regret)
    return (reached or BASELINE_MULTIPLE) / multiple, reached is not None


def row(label, strategy, each, multiples):
    """A line of Markdown. `each`: {strategy: report.Runs}"""
    regrets = [each[strategy].median(m) for m in multiples]
    cells = [number(regret) for regret in regrets]
    rivals = [name for name in RIVALS if name in each]
    if strategy == JUDGED and rivals:
        bests = [min(each[name].median(m) for name in rivals) for m in multiples]
        cells = [f"{cell} ({ratio(regret, best)})" for cell, regret, best in zip(cells, regrets, bests)]
    worths = [worth(each[BASELINE], regret, m) for regret, m in zip(regrets, multiples)]
    shown = " / ".join(f"{'' if reached else '> '}{times:.1f}" for times, reached in worths)
    return f"| {label} | {strategy} | " + " | ".join(cells) + f" | {shown} |"


def tell(found, strategies, multiples):
    """Lines of Markdown. `found`: {label: {strategy: report.Runs}}"""
    yield "| problem | strategy | " + " | ".join(f"{m}x" for m in multiples) + " | worth |"
    yield "| --- | --- |" + " --- |" * (len(multiples) + 1)
    for label, each in found.items():
        for strategy in strategies:
            yield row(label, strategy, each, multiples)
    if JUDGED not in strategies or not all(name in strategies for name in RIVALS):
        return
    cells = [(each, m, each[JUDGED].median(m)) for each in found.values() for m in multiples]
    within = sum("*" not in ratio(regret, min(each[name].median(m) for name in RIVALS)) for each, m, regret in cells)
    worse = sum(regret > each[BASELINE].median(m) for each, m, regret in cells)
    worths = {m: [worth(each[BASELINE], each[JUDGED].median(m), m)[0] for each in found.values()] for m in multiples}
    means = ", ".join(f"{statistics.geometric_mean(worths[m]):.1f} at {m}x" for m in multiples)
    yield ""
    yield (f"default within {100 * (WITHIN - 1):.0f} % of the better of ASHA and BAYESIAN (ratios in brackets): {within} "
           f"of {len(cells)} cells; worse than random search: {worse}. Worth in the geometric mean: {means}")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--tables", type=pathlib.Path)
    flags.add_argument("--play", default="rows,smooth")
    flags.add_argument("--only", default="", help="problems whose label contains this")
    flags.add_argument("--families", default=",".join(FAMILIES))
    flags.add_argument("--strategies", default=",".join((JUDGED, *RIVALS)))
    flags.add_argument("--seeds", type=int, default=20)
    flags.add_argument("--first-seed", type=int, default=1, help="to judge by other seeds than were developed on")
    flags.add_argument("--multiple", type=float, default=64)
    flags.add_argument("--workers", type=int, default=1)
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    flags.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench/judge")
    flags.add_argument("--jobs", type=int, default=2)
    flags.add_argument("--fresh", action="store_true", help="compute all again")
    args = flags.parse_args()
    args.digest = player.digest(args.bin)
    os.nice(10)
    chosen = problems(args)
    strategies = args.strategies.split(",")
    def parts(strategy):
        end = args.first_seed + (max(args.seeds, BASELINE_SEEDS) if strategy == BASELINE else args.seeds)
        return [(first, min(first + CHUNK, end) - 1) for first in range(args.first_seed, end, CHUNK)]
    cells = [(strategy, label, part) for label in chosen for strategy in {*strategies, BASELINE} for part in parts(strategy)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {cell: pool.submit(play, args, cell[0], cell[1], chosen[cell[1]], cell[2]) for cell in cells}
    failed = [str(run.exception()) for run in runs.values() if run.exception()]
    if failed:
        print("\n".join(failed), file=sys.stderr)
        return 1
    found = {label: {strategy: runs_of((line for part in parts(strategy) for line in runs[strategy, label, part].result()), resource)
                     for strategy in {*strategies, BASELINE}} for label, (_, resource) in chosen.items()}
    print("\n".join(tell(found, strategies, [m for m in MULTIPLES if m <= args.multiple])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
