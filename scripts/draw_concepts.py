#!/usr/bin/env python3
"""Draws the pictures of docs/concepts.md from jobs that it runs with real processes:

    scripts/draw_concepts.py [--bin build/bin] [--data examples/data/direct-marketing-85-5-10] [--out docs/images]

  concepts-hyperband.svg    brackets as sieves, and what is paid of each trial
  concepts-freeze-thaw.svg  which trial the default strategy trained, and when
  concepts-sums.svg         one sum in parts: floating point beside whole numbers
The data are made by scripts/get-data.sh. Python package: matplotlib, as Debian's python3-matplotlib has it.
"""

import argparse
import csv
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import matplotlib  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "winnow", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False, "figure.constrained_layout.use": True})

import matplotlib.pyplot as plt  # noqa: E402

from service import Service, require_programs  # noqa: E402

GREY, BLUE, ORANGE, GREEN, RED = "#b8b8b8", "#1f5fa8", "#d9822b", "#2e8b57", "#b03a3a"
METRIC = "validation:auc"
MOST = 81         # R of the picture of brackets
FURTHEST, UNITS = 30, 600  # of the picture of freeze-thaw: a trial's rounds and the job's
SEED = 10         # of whose brackets one is ended as weak
WORKERS, SLOTS = 2, 2
MOST_RANKS = 8
BITS = 15         # of a gradient in fixed point, beside its sign
ROUNDS_BEFORE_SUM = 10  # so that gradients have values of all kinds


def save(figure, folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"concepts-{name}.svg", metadata={"Date": None})
    plt.close(figure)
    print(folder / f"concepts-{name}.svg")


def job_file(name, data, **members):
    example = json.loads((ROOT / "examples/direct-marketing.json").read_text())
    channels = {part: {"path": str(data / f"{part}.csv"), "label": "y_yes"} for part in ("train", "validation")}
    return {"name": name, "trainer": {"builtin": "gbdt"}, "channels": channels, "parameters": example["parameters"],
            "static_hyperparameters": example["static_hyperparameters"], "objective": example["objective"],
            "seed": SEED, **members}


def draw_hyperband(service, data, folder):
    """A bracket is a column. Above, its learning curves, which end where a rung was cut; below, the rounds of each
    trial that were trained, of those that all would have taken."""
    job = service.run(job_file("hyperband", data, hyperband={"max_resource": MOST}))
    trials, curves = service.trials(job["id"]), service.curves(job["id"])
    brackets = job["brackets"]
    lowest = sorted(curve[METRIC][0] for curve in curves.values())[len(curves) // 10]
    highest = job["best"]["objective"]
    figure, rows = plt.subplots(2, len(brackets), figsize=(9, 4.6), sharey="row", height_ratios=[3, 1.6])
    for column, bracket in enumerate(brackets):
        above, below = rows[0][column], rows[1][column]
        members = [trial for trial in trials if int(trial["bracket"]) == column]
        for trial in members:
            values = curves[int(trial["number"])][METRIC]
            best = int(trial["number"]) == int(job["best"]["trial"])
            through = trial["state"] == "COMPLETED"
            above.plot(range(1, len(values) + 1), values, linewidth=2 if best else 0.9,
                       color=RED if best else BLUE if through else GREY, zorder=3 if best else 2 if through else 1)
        for rung in bracket["rungs"][:-1]:
            if "cutoff" in rung:
                above.plot([int(rung["resource"])], [rung["cutoff"]], "_", color="black", markersize=9, zorder=4)
            above.axvline(int(rung["resource"]), color="black", linewidth=0.4, linestyle=":")
        title = f"bracket {column + 1}: {len(members)} trials"
        above.set(xscale="log", xlim=(0.9, MOST * 1.1), ylim=(lowest, highest + 0.01))
        above.set_title(title + ("\nended as weak" if bracket.get("end_reason") else "\n"), fontsize=9)
        above.set_xticks([1, 3, 9, 27, 81], ["1", "3", "9", "27", "81"])
        above.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        lengths = sorted((int(trial["resource"]) for trial in members), reverse=True)
        places = [place / len(lengths) for place in range(len(lengths))]
        below.bar(places, [MOST] * len(lengths), width=1 / len(lengths), align="edge", color="#efefef")
        below.bar(places, lengths, width=1 / len(lengths), align="edge", color=BLUE)
        paid = sum(lengths)
        below.set_xlabel(f"{paid:,} of {MOST * len(lengths):,} rounds")
        below.set_xticks([])
    rows[0][0].set_ylabel(METRIC)
    rows[0][len(brackets) // 2].set_xlabel("round")
    rows[1][0].set_ylabel("rounds paid")
    save(figure, folder, "hyperband")
    return job


def parts_of(service, job):
    """[(trial, from, to)] of the parts that were trained, in the order in which they began."""
    parts = []
    for number in range(1, len(service.trials(job)) + 1):
        for attempt in service.json("describe", job, number)["attempts"]:
            parts.append((attempt["start_time"], number, int(attempt["resource_from"]), int(attempt["resource_to"])))
    return [part[1:] for part in sorted(parts)]


def draw_freeze_thaw(service, data, folder):
    """A line a trial; a bar is a part of its training, from left to right as the job spends its units."""
    job = service.run(job_file("freeze-thaw", data, limits={"max_total_resource": UNITS, "max_trial_resource": FURTHEST,
                                                            "max_parallel_trials": 1}))
    curves = service.curves(job["id"])
    best_value, best_trial = job["best"]["objective"], int(job["best"]["trial"])
    figure, axes = plt.subplots(figsize=(9, 4))
    spent, last = 0, {}
    palette, worst = plt.get_cmap("viridis"), sorted(curve[METRIC][0] for curve in curves.values())[len(curves) // 4]
    for number, begin, end in parts_of(service, job["id"]):
        values = curves[number][METRIC]
        end = min(end or len(values), len(values))
        value = max(values[:end])
        colour = palette(min(1.0, max(0.0, (value - worst) / (best_value - worst))))
        if number in last:
            axes.plot([last[number], spent], [number, number], color=GREY, linewidth=0.8, zorder=1)
        axes.barh(number, end - begin, left=spent, height=0.8, color=colour, zorder=2)
        spent += end - begin
        last[number] = spent
    axes.plot([last[best_trial]], [best_trial], "*", color=RED, markersize=11, zorder=3)
    axes.annotate(" the best", (last[best_trial], best_trial), fontsize=8, va="center", xytext=(6, 0),
                  textcoords="offset points")
    axes.set(xlabel=f"rounds that the job has trained ({FURTHEST * len(curves):,} would train all trials through)",
             ylabel="trial", xlim=(0, None), ylim=(len(curves) + 1, 0))
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(worst, best_value), palette)
    bar = figure.colorbar(scale, ax=axes)
    bar.set_label(f"best {METRIC} so far")
    save(figure, folder, "freeze-thaw")
    return job


def single(value):
    """As a 32-bit float."""
    return struct.unpack("f", struct.pack("f", value))[0]


def sum_in_parts(values, ranks, add):
    """Each of so many ranks sums its rows; then the sums are summed, from rank to rank."""
    size = -(-len(values) // ranks)
    total = 0
    for rank in range(ranks):
        part = 0
        for value in values[rank * size:(rank + 1) * size]:
            part = add(part, value)
        total = add(total, part)
    return total


def gradients(service, data):
    """What round 11 of a training would sum: the prediction minus the label, of each row."""
    static = {"objective": "binary:logistic", "eval_metric": "auc", "num_round": ROUNDS_BEFORE_SUM}
    job = service.run({**job_file("gradients", data, strategy="GRID"), "static_hyperparameters": static,
                       "parameters": [{"name": "seed", "discrete": {"values": [SEED]}}]})
    model = service.model_on_this_host(job["id"], 1) / "model.json"
    told = subprocess.run([service.binaries / "winnow-gbdt", "predict", "--model", model, "--data", data / "train.csv"],
                          capture_output=True, text=True, check=True).stdout.split()[1:]
    with open(data / "train.csv", newline="", encoding="utf-8") as file:
        labels = [int(row["y_yes"]) for row in csv.DictReader(file)]
    return [single(float(prediction) - label) for prediction, label in zip(told, labels)]


def draw_sums(service, data, folder):
    values = gradients(service, data)
    scale = (1 << BITS) / max(map(abs, values))
    # Up or down at random, but of a row always the same.
    whole = [math.floor(value * scale + random.Random(row).random()) for row, value in enumerate(values)]
    ranks = range(1, MOST_RANKS + 1)
    floating = [sum_in_parts(values, count, lambda a, b: single(a + b)) for count in ranks]
    fixed = [sum_in_parts(whole, count, lambda a, b: a + b) / scale for count in ranks]
    figure, axes = plt.subplots(figsize=(7, 2.8))
    axes.plot(ranks, [value - floating[0] for value in floating], "o-", color=ORANGE, label="32-bit floating point")
    axes.plot(ranks, [value - fixed[0] for value in fixed], "o-", color=GREEN, label="whole numbers (fixed point)")
    axes.set(xlabel=f"ranks that {len(values):,} gradients are shared out to",
             ylabel="sum minus the sum\nof one rank")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes.legend(frameon=False)
    save(figure, folder, "sums")
    print(f"  exact {math.fsum(values):.4f}, floating {min(floating):.4f} to {max(floating):.4f}, fixed point "
          f"{min(fixed):.4f} to {max(fixed):.4f}")


def read_options(description):
    """The flags of a program that draws a job over the direct-marketing data. Exits if programs or data are missing."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "examples/data/direct-marketing-85-5-10")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/images")
    options = parser.parse_args()
    require_programs(options.bin)
    options.data = options.data.resolve()
    if not (options.data / "train.csv").is_file():
        sys.exit(f"--data {options.data}: no train.csv there; scripts/get-data.sh makes it")
    return options


def main():
    options = read_options(__doc__)
    with tempfile.TemporaryDirectory(prefix="winnow-concepts-") as work, \
            Service(options.bin, work, WORKERS, SLOTS) as service:
        for draw in (draw_hyperband, draw_freeze_thaw):
            job = draw(service, options.data, options.out)
            print(f"  {job['state']}, {job['spend']['resource']} units, best {job['best']['objective']:.4f}; "
                  f"ended early: {[bracket['index'] for bracket in job['brackets'] if bracket.get('end_reason')]}")
        draw_sums(service, options.data, options.out)


if __name__ == "__main__":
    main()
