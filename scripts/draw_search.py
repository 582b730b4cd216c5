#!/usr/bin/env python3
"""Draws the picture of docs/search.md, what the default strategy does, from a job that it runs with real processes:

    scripts/draw_search.py [--bin build/bin] [--data examples/data/direct-marketing-85-5-10] [--out docs/images]

Above, the best value so far; below, every part that was trained: from left to right as the job spends its units, from the
level where it began up to the level where it ended, in the colour of the rule that chose it. The rules are read from the
recorded suggestions. The data are made by scripts/get-data.sh. Python package: matplotlib, as Debian's
python3-matplotlib has it.
"""

import collections
import json
import pathlib
import sqlite3
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import draw_concepts as concepts  # noqa: E402  (sets up matplotlib)
import matplotlib.pyplot as plt  # noqa: E402

from service import Service  # noqa: E402

# SuggestionRule of scheduler/state/facts.h: name and colour.
RULES = {1: ("start", "#9a9a9a"), 0: ("model", "#1f5fa8"), 2: ("breadth", "#2e8b57"), 5: ("density", "#d9822b"),
         4: ("straight", "#8b3fa0")}
FURTHEST = 81     # R
MULTIPLE = 12     # the job's units, in R


def parts_of(database):
    """[(rule, trial, from, to)] of the parts that were trained, in the order in which they began."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    rule_of, parts = {}, []
    for kind, trial, detail in connection.execute("SELECT kind, trial, detail FROM events ORDER BY sequence"):
        fact = json.loads(detail)
        if kind == "suggested":
            rule_of[trial] = int(fact.get("rule", 0))
        elif kind == "attempt_started":
            parts.append((rule_of[trial], trial, int(fact["from"]), int(fact["to"])))
    connection.close()
    return parts


def draw(job, parts, curves, folder):
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5.4), sharex=True, height_ratios=[1, 2])
    spent, best, steps, last = 0, float("-inf"), [], {}
    units = collections.Counter()
    for rule, trial, begin, end in parts:
        values = curves[trial][concepts.METRIC]
        end = min(end or len(values), len(values))
        name, colour = RULES[rule]
        units[name] += end - begin
        if trial in last:
            below.plot([last[trial], spent], [begin, begin], color="#dddddd", linewidth=0.7, zorder=1)
        below.plot([spent, spent + end - begin], [begin, end], color=colour, linewidth=1.8, solid_capstyle="round", zorder=2)
        for level in range(begin, end):
            if values[level] > best:
                best = values[level]
                steps.append((spent + level + 1 - begin, best, colour))
        spent += end - begin
        last[trial] = spent
    above.step([x for x, *_ in steps] + [spent], [y for _, y, _ in steps] + [best], where="post", color="#444444", linewidth=1)
    for x, y, colour in steps:
        above.plot([x], [y], "o", color=colour, markersize=4)
    above.set(ylabel=f"best {concepts.METRIC}\nso far", ylim=(steps[len(steps) // 4][1] - 0.005, best + 0.004))
    below.set(xlabel=f"rounds that the job has trained ({FURTHEST * len(last):,} would train its {len(last)} trials through)",
              ylabel="round of the trial", xlim=(0, spent), ylim=(0, FURTHEST * 1.1))
    below.set_yscale("symlog", base=3, linthresh=1, linscale=0.6)
    below.set_yticks([0, 1, 3, 9, 27, 81], ["0", "1", "3", "9", "27", "81"])
    for name, colour in RULES.values():
        if units[name]:
            below.plot([], [], color=colour, linewidth=2.5, label=f"{name}: {units[name] / spent:.0%}")
    above.legend(*below.get_legend_handles_labels(), loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(RULES), frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "search-default.svg", metadata={"Date": None})
    print(folder / "search-default.svg")
    print(f"  {job['state']}, {job['spend']['resource']} units, {len(last)} trials, best {job['best']['objective']:.4f}, "
          f"shares {dict(units)}")


def main():
    options = concepts.read_options(__doc__)
    limits = {"max_total_resource": MULTIPLE * FURTHEST, "max_trial_resource": FURTHEST, "max_parallel_trials": 1}
    with tempfile.TemporaryDirectory(prefix="winnow-search-") as work, Service(options.bin, work, 1, 1) as service:
        job = service.run(concepts.job_file("search", options.data, limits=limits))
        curves = service.curves(job["id"])
        draw(job, parts_of(service.folder / "winnow.db"), curves, options.out)


if __name__ == "__main__":
    main()
