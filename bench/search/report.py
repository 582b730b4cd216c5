#!/usr/bin/env python3
"""Medians and quartiles of simple regret against what was spent, and what it costs to reach a given regret, as Markdown.

    bench/search/report.py TRAJECTORIES.csv... [--resource 81] [--table-resource 200]

Reads lines strategy,family,seed,spent,regret (a header may be there). A strategy that is not one of bench/search/peers.py
--list is Winnow's.
"""

import argparse
import collections
import csv
import pathlib
import sys

import numpy

import peers
from trajectory import FIELDS

MULTIPLES = (1, 4, 8, 16, 32, 64)
COMPARED = (4, 16, 64)  # where a strategy has to be ahead of every peer
BASELINE = "random"


class Runs:
    """The runs of one strategy on one family, a seed each; `resource` is the family's max_resource."""

    def __init__(self, points, resource):
        """`points`: {seed: [(spent, regret), ...]}, ascending."""
        self.seeds = sorted(points)
        self.resource = resource
        self._runs = [numpy.array(points[seed]) for seed in self.seeds]

    def regrets(self, spent):
        """Each seed's regret after `spent` units; before the first report infinite."""
        found = []
        for run in self._runs:
            count = numpy.searchsorted(run[:, 0], spent, side="right")
            found.append(run[count - 1, 1] if count else numpy.inf)
        return numpy.array(found)

    def median(self, multiple):
        return float(numpy.median(self.regrets(multiple * self.resource)))

    def quartiles(self, multiple):
        """First quartile, median, third quartile."""
        return tuple(float(q) for q in numpy.percentile(self.regrets(multiple * self.resource), (25, 50, 75)))

    def reach(self, target):
        """The smallest multiple of the resource after which the median regret over the seeds is at most `target`; None
        if there is none."""
        changes = numpy.unique(numpy.concatenate([run[:, 0] for run in self._runs]))
        regrets = numpy.full((len(self._runs), len(changes)), numpy.inf)
        for row, run in zip(regrets, self._runs):
            counts = numpy.searchsorted(run[:, 0], changes, side="right")
            row[counts > 0] = run[counts[counts > 0] - 1, 1]
        below = numpy.nonzero(numpy.median(regrets, axis=0) <= target)[0]
        return float(changes[below[0]]) / self.resource if len(below) else None

    def last(self):
        """The multiple up to which every seed is known."""
        return min(run[-1, 0] for run in self._runs) / self.resource


def read(lines, resources):
    """{(family, strategy): Runs} of CSV lines; `resources`: {family: max_resource}, a table's under "table"."""
    points = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in csv.reader(lines):
        if tuple(row) == FIELDS or not row:
            continue
        strategy, family, seed, spent, regret = row
        points[family.split(":")[0], strategy][int(seed)].append((float(spent), float(regret)))
    return {key: Runs(seeds, resources[key[0]]) for key, seeds in points.items()}


def best_peer(results, family, multiple):
    """The least median regret of a peer at that multiple and its name."""
    return min((runs.median(multiple), name) for (each, name), runs in results.items()
               if each == family and name in peers.NAMES)


def number(value):
    return f"{value:.3g}"


def regret_table(results, family):
    rows = {name: runs for (each, name), runs in results.items() if each == family}
    least = {m: min(runs.median(m) for runs in rows.values()) for m in MULTIPLES}
    yield f"| {family} | seeds | " + " | ".join(f"{m}x" for m in MULTIPLES) + " |"
    yield "| --- | --- |" + " --- |" * len(MULTIPLES)
    for name, runs in rows.items():
        cells = []
        for multiple in MULTIPLES:
            low, middle, high = runs.quartiles(multiple)
            bold = "**" if middle == least[multiple] else ""
            cells.append(f"{bold}{number(middle)}{bold} [{number(low)}, {number(high)}]")
        yield f"| {name} | {len(runs.seeds)} | " + " | ".join(cells) + " |"


def reach_table(results, family):
    best, best_name = best_peer(results, family, 32)
    baseline = results[family, BASELINE]
    baseline_end = baseline.median(64)
    worth = lambda runs, multiple: worth_of(baseline, runs.median(multiple), multiple)
    yield (f"| {family} | multiples of R to {number(best)} ({best_name} at 32x) | "
           f"to {number(baseline_end)} ({BASELINE} at 64x) | 8x is worth | 32x is worth |")
    yield "| --- | --- | --- | --- | --- |"
    for (each, name), runs in results.items():
        if each != family:
            continue
        cells = [f"{reached:.2f}" if (reached := runs.reach(target)) else "not reached"
                 for target in (best, baseline_end)]
        yield f"| {name} | {cells[0]} | {cells[1]} | {worth(runs, 8)} | {worth(runs, 32)} |"


def worth_of(baseline, regret, multiple):
    """How many times the budget random search needs for that regret."""
    needed = baseline.reach(regret)
    return f"{needed / multiple:.1f}" if needed else f"> {baseline.last() / multiple:.0f}"


def verdicts(results, family, name):
    """Whether `name` meets each goal on the family: {goal: (met, figure)}; a figure is better below 1."""
    runs = results[family, name]
    found = {}
    for multiple in COMPARED:
        ours, (theirs, _) = runs.median(multiple), best_peer(results, family, multiple)
        if theirs == 0:
            found[f"median at {multiple}x below every peer"] = (ours == 0, "both 0" if ours == 0 else "peer 0")
        else:
            found[f"median at {multiple}x below every peer"] = (ours < theirs, f"{ours / theirs:.2f}")
    for goal, target, limit in (
            ("best peer's 32x regret for at most 16x", best_peer(results, family, 32)[0], 16),
            ("random's 64x regret for at most 6.4x", results[family, BASELINE].median(64), 6.4)):
        reached = runs.reach(target)
        found[goal] = (reached is not None and reached <= limit, f"{reached:.2f}x" if reached else "not reached")
    return found


def goal_table(results, name):
    families = [family for family, each in results if each == name]
    found = {family: verdicts(results, family, name) for family in families}
    yield f"| {name} | " + " | ".join(families) + " | met on |"
    yield "| --- |" + " --- |" * (len(families) + 1)
    for goal in found[families[0]]:
        cells = [("yes " if met else "NO ") + figure for met, figure in (found[family][goal] for family in families)]
        met = sum(found[family][goal][0] for family in families)
        yield f"| {goal} | " + " | ".join(cells) + f" | {met} of {len(families)} |"


def report(results):
    """Lines of Markdown. Families in which random search or the goals' multiples are missing are an error (KeyError)."""
    families = list(dict.fromkeys(family for family, _ in results))
    yield "## Regret: median [first quartile, third quartile], after multiples of R"
    for family in families:
        yield from ("", *regret_table(results, family))
    yield from ("", "## Resource to reach a regret (by the median); worth: times the budget that random search needs")
    for family in families:
        yield from ("", *reach_table(results, family))
    ours = list(dict.fromkeys(name for _, name in results if name not in peers.NAMES))
    if ours:
        yield from ("", "## Goals; beside each verdict: our median over the best peer's, or the multiple of R needed")
    for name in ours:
        yield from ("", *goal_table(results, name))


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("files", nargs="+", type=pathlib.Path)
    flags.add_argument("--resource", type=int, default=81, help="max_resource of closed-form families")
    flags.add_argument("--table-resource", type=int, default=200)
    args = flags.parse_args()
    lines = [line for path in args.files for line in path.read_text().splitlines()]
    resources = collections.defaultdict(lambda: args.resource, table=args.table_resource)
    print("\n".join(report(read(lines, resources))))


if __name__ == "__main__":
    sys.exit(main())
