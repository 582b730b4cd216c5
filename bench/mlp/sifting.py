#!/usr/bin/python3
"""What sifting saves: winnow-mlp with sift_beta 0.5 beside itself without, on MNIST and Fashion-MNIST.

    bench/mlp/sifting.py --bin build/bin --data FOLDER [--sets mnist,fashion-mnist] [--schedules cosine,constant]
                         [--seeds 5] [--epochs 20] [--delay 1] [--reuse 3] [--json FILE]
    bench/mlp/sifting.py ... --try          the choices of sift_delay and sift_reuse_epochs beside each other

784-256-128-10, batches of 128, SGD with learning rate 0.1 and momentum 0.9, one thread; as many epochs with as without,
`schedule` cosine or constant. The goal is an accuracy that training without sifting reaches late: its median over the
seeds after 75 % of its epochs. Time to the goal is the training time (wall, and processor) until the first epoch after
which the test images' accuracy is at least that; evaluation is left out. A run that never gets there counts with all
its time, and is counted ("not there"). Columns are medians over the seeds, "saved" that of the ratios of the same
seed; the final accuracy is the mean of each run's last three epochs, its mean over the seeds beside the standard error
of the difference.
Wanted: at least 30 % less wall time to the goal, and the final accuracy at most 0.002 lower.
Fashion-MNIST: Debian's package dataset-fashion-mnist; without it that set is left out, and said to be.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import sys
import tempfile

import systems

ROOT = pathlib.Path(__file__).resolve().parents[2]
BETA = 0.5
GOAL_AT = 0.75  # of the epochs
LAST = 3  # epochs whose mean is the final accuracy: one epoch's is noisy at a constant learning rate
WANTED_SAVING, WANTED_LOSS = 0.30, 0.002
TRIED = list(itertools.product((0, 1, 3), (0, 1, 3, 8)))  # sift_delay, sift_reuse_epochs


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-mlp")
    parser.add_argument("--data", type=pathlib.Path, help="folder of MNIST; default: WINNOW_DATA_DIR")
    parser.add_argument("--sets", default="mnist,fashion-mnist")
    parser.add_argument("--schedules", default="cosine,constant")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--delay", type=float, default=1, help="sift_delay")
    parser.add_argument("--reuse", type=int, default=3, help="sift_reuse_epochs")
    parser.add_argument("--try", dest="tries", action="store_true", help="compare choices of these two")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def sifting(delay, reuse):
    return {"sift_beta": BETA, "sift_delay": delay, "sift_reuse_epochs": reuse}


def train_all(winnow, folder, choices, schedule, options):
    """[choice][seed] of what the runs say; choices take turns, so that a busy machine is busy for all."""
    runs = [[] for _ in choices]
    for seed in range(1, options.seeds + 1):
        for number, choice in enumerate(choices):
            hyperparameters = {"epochs": options.epochs, "seed": seed, "schedule": schedule, **choice}
            runs[number].append(winnow.train(systems.job_of(folder, validation=systems.images(folder, "t10k"),
                                                            hyperparameters=hyperparameters)))
    return runs


def figures(run, goal):
    """Of one run: seconds to the goal, and what it has at its end."""
    accuracy = run["validation-accuracy"]
    reached = next((epoch for epoch, value in enumerate(accuracy) if value >= goal), None)
    used = len(accuracy) if reached is None else reached + 1
    return {"reached": reached is not None, "epochs": used, "wall": sum(run["epoch_seconds"][:used]),
            "cpu": sum(run["epoch_cpu_seconds"][:used]), "all_wall": sum(run["epoch_seconds"]),
            "all_cpu": sum(run["epoch_cpu_seconds"]), "final": statistics.mean(accuracy[-LAST:]),
            "kept": statistics.mean(run["kept-share"]) if run["kept-share"] else 1.0}


def compare(plain, sifted, epochs):
    """The row of one choice beside training without sifting."""
    at = max(1, round(GOAL_AT * epochs)) - 1
    goal = statistics.median(run["validation-accuracy"][at] for run in plain)
    without, with_sifting = ([figures(run, goal) for run in runs] for runs in (plain, sifted))
    row = {"goal": goal, "without": without, "with": with_sifting}
    for key in ("wall", "cpu", "all_wall", "all_cpu"):
        row[f"saved_{key}"] = statistics.median(1 - b[key] / a[key] for a, b in zip(without, with_sifting))
    gaps = [b["final"] - a["final"] for a, b in zip(without, with_sifting)]
    row["gap"] = statistics.mean(gaps)
    row["error"] = statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else 0.0
    row["short"] = sum(not one["reached"] for one in without), sum(not one["reached"] for one in with_sifting)
    return row


def median_of(rows, key):
    return statistics.median(row[key] for row in rows)


def verdict(row):
    """In words; a choice that saves too little or costs accuracy does not pay."""
    short = []
    if row["saved_wall"] < WANTED_SAVING:
        short.append("saves less" if row["saved_wall"] > 0 else "saves nothing")
    if row["gap"] < -WANTED_LOSS:
        short.append("loses accuracy")
    return "yes" if not short else "NO: " + ", ".join(short)


HEAD = ("| set | schedule | delay, reuse | goal | s to goal without | with | saved: wall | processor "
        "| of all epochs: wall | processor | final accuracy without | with | difference | pays |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")


def print_row(set_name, schedule, choice, row):
    finals = [statistics.mean(one["final"] for one in row[key]) for key in ("without", "with")]
    seconds = [f"{median_of(row[key], 'wall'):.2f} ({median_of(row[key], 'epochs'):.0f} epochs"
               + (f", {short} not there" if short else "") + ")"
               for key, short in zip(("without", "with"), row["short"])]
    print(f"| {set_name} | {schedule} | {choice['sift_delay']:g}, {choice['sift_reuse_epochs']} | {row['goal']:.4f} | "
          f"{seconds[0]} | {seconds[1]} | {row['saved_wall']:.0%} | {row['saved_cpu']:.0%} | "
          f"{row['saved_all_wall']:.0%} | {row['saved_all_cpu']:.0%} | {finals[0]:.4f} | {finals[1]:.4f} | {row['gap']:+.4f} ± {row['error']:.4f} | "
          f"{verdict(row)} |", flush=True)


def main():
    options = parse()
    folders = {"mnist": systems.mnist_folder(options.data), "fashion-mnist": systems.FASHION}
    choices = [sifting(*pair) for pair in TRIED] if options.tries else [sifting(options.delay, options.reuse)]
    print(f"### sift_beta {BETA}, {options.seeds} seeds, {options.epochs} epochs\n\n{HEAD}", flush=True)
    report = []
    with tempfile.TemporaryDirectory(prefix="winnow-sifting-") as name:
        winnow = systems.Winnow(options.bin, name)
        for set_name, schedule in itertools.product(options.sets.split(","), options.schedules.split(",")):
            folder = folders[set_name]
            if not pathlib.Path(systems.images(folder, "train")).exists():
                print(f"{set_name} is left out: {folder} is not there (dataset-fashion-mnist)", file=sys.stderr)
                continue
            plain, *sifted = train_all(winnow, folder, [{}, *choices], schedule, options)
            for choice, runs in zip(choices, sifted):
                row = compare(plain, runs, options.epochs)
                print_row(set_name, schedule, choice, row)
                report.append({"set": set_name, "schedule": schedule, **choice, **row})
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
