#!/usr/bin/python3
"""What sifting saves: winnow-mlp with sift_beta 0.5 beside itself without, on MNIST and Fashion-MNIST.

    bench/mlp/sifting.py --bin build/bin --data FOLDER [--sets mnist,fashion-mnist]
                         [--settings cosine:0.1,cosine:0.02,constant:0.1] [--seeds 5] [--epochs 20]
                         [--delay 3] [--reuse 8] [--json FILE]
    bench/mlp/sifting.py ... --try          the choices of sift_delay and sift_reuse_epochs beside each other

784-256-128-10, batches of 128, SGD with momentum 0.9, one thread, as many epochs with as without; a setting is the
schedule and learning rate of both. Accuracy is of the test images, after each epoch, its mean over the seeds: a single
run's is noisier than what is compared. The goals are what training without sifting has after 50 and 75 % of its
epochs; the time to a goal is that of training (wall, and processor; the median over the seeds; no evaluation) until
the first epoch with at least that accuracy. "never": not within the epochs. The final accuracy is the mean of the last
three epochs, its difference beside that difference's standard error.
The defaults are of what --try compares the choice that saved most on MNIST.
Wanted: at least 30 % less wall time to the later goal, and the final accuracy at most 0.002 lower.
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
GOALS_AT = (0.5, 0.75)  # of the epochs
LAST = 3  # epochs whose mean is the final accuracy: one epoch's is noisy at a constant learning rate
WANTED_SAVING, WANTED_LOSS = 0.30, 0.002
TRIED = list(itertools.product((0.25, 1, 3), (0, 1, 3, 8)))  # sift_delay, sift_reuse_epochs


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-mlp")
    parser.add_argument("--data", type=pathlib.Path, help="folder of MNIST; default: WINNOW_DATA_DIR")
    parser.add_argument("--sets", default="mnist,fashion-mnist")
    parser.add_argument("--settings", default="cosine:0.1,cosine:0.02,constant:0.1", help="schedule:learning rate")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--delay", type=float, default=3, help="sift_delay")
    parser.add_argument("--reuse", type=int, default=8, help="sift_reuse_epochs")
    parser.add_argument("--try", dest="tries", action="store_true", help="compare choices of these two")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def sifting(delay, reuse):
    return {"sift_beta": BETA, "sift_delay": delay, "sift_reuse_epochs": reuse}


def train_all(winnow, folder, choices, setting, options):
    """[choice][seed] of what the runs say; choices take turns, so that a busy machine is busy for all."""
    schedule, rate = setting.split(":")
    runs = [[] for _ in choices]
    for seed in range(1, options.seeds + 1):
        for number, choice in enumerate(choices):
            hyperparameters = {"epochs": options.epochs, "seed": seed, "schedule": schedule,
                               "learning_rate": float(rate), **choice}
            runs[number].append(winnow.train(systems.job_of(folder, validation=systems.images(folder, "t10k"),
                                                            hyperparameters=hyperparameters)))
    return runs


def curve(runs):
    """Mean accuracy after each epoch."""
    return [statistics.mean(values) for values in zip(*(run["validation-accuracy"] for run in runs))]


def seconds_of(runs, epochs):
    """Wall and processor seconds of the first `epochs`."""
    return [statistics.median(sum(run[key][:epochs]) for run in runs) for key in ("epoch_seconds", "epoch_cpu_seconds")]


def towards(runs, goal):
    """(epochs, wall, processor seconds) until the goal, or None."""
    epochs = next((epoch for epoch, value in enumerate(curve(runs), 1) if value >= goal), None)
    return epochs and (epochs, *seconds_of(runs, epochs))


def compare(plain, sifted, epochs):
    """The row of one choice beside training without sifting."""
    goals = []
    for share in GOALS_AT:
        goal = curve(plain)[max(1, round(share * epochs)) - 1]
        goals.append({"goal": goal, "without": towards(plain, goal), "with": towards(sifted, goal)})
    finals = [[statistics.mean(run["validation-accuracy"][-LAST:]) for run in runs] for runs in (plain, sifted)]
    gaps = [b - a for a, b in zip(*finals)]
    error = statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else 0.0
    kept = statistics.mean(share for run in sifted for share in run["kept-share"])
    return {"goals": goals, "finals": [statistics.mean(of) for of in finals], "gap": statistics.mean(gaps),
            "error": error, "kept": kept, "all": [seconds_of(runs, epochs) for runs in (plain, sifted)]}


def saved(before, after):
    return f"{1 - after / before:.0%}"


def verdict(row):
    """In words: a choice that saves too little or costs accuracy does not pay."""
    goal, short = row["goals"][-1], []
    if not goal["with"]:
        short.append("the later goal is never reached")
    elif 1 - goal["with"][1] / goal["without"][1] < WANTED_SAVING:
        short.append("saves less")
    if row["gap"] < -WANTED_LOSS:
        short.append("loses accuracy")
    return "yes" if not short else "NO: " + ", ".join(short)


HEAD = ("| set | setting | delay, reuse | kept "
        + "".join(f"| goal at {share:.0%} | s (epochs) without | with | saved: wall | processor " for share in GOALS_AT)
        + "| saved, all epochs: wall | processor | final accuracy without | with | difference | pays |\n")
HEAD += "| --- " * (HEAD.count("|") - 1) + "|"


def print_row(set_name, setting, choice, row):
    cells = [set_name, setting, f"{choice['sift_delay']:g}, {choice['sift_reuse_epochs']}", f"{row['kept']:.2f}"]
    for goal in row["goals"]:
        without, sifted = goal["without"], goal["with"]
        cells += [f"{goal['goal']:.4f}", f"{without[1]:.2f} ({without[0]})"]
        cells += [f"{sifted[1]:.2f} ({sifted[0]})", saved(without[1], sifted[1]), saved(without[2], sifted[2])] \
            if sifted else ["never", "", ""]
    plain, sifted = row["all"]
    cells += [saved(plain[0], sifted[0]), saved(plain[1], sifted[1]), *(f"{value:.4f}" for value in row["finals"]),
              f"{row['gap']:+.4f} ± {row['error']:.4f}", verdict(row)]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    options = parse()
    folders = {"mnist": systems.mnist_folder(options.data), "fashion-mnist": systems.FASHION}
    choices = [sifting(*pair) for pair in TRIED] if options.tries else [sifting(options.delay, options.reuse)]
    print(f"### sift_beta {BETA}, {options.seeds} seeds, {options.epochs} epochs\n\n{HEAD}", flush=True)
    report = []
    with tempfile.TemporaryDirectory(prefix="winnow-sifting-") as name:
        winnow = systems.Winnow(options.bin, name)
        for set_name, setting in itertools.product(options.sets.split(","), options.settings.split(",")):
            folder = folders[set_name]
            if not pathlib.Path(systems.images(folder, "train")).exists():
                print(f"{set_name} is left out: {folder} is not there (dataset-fashion-mnist)", file=sys.stderr)
                continue
            plain, *sifted = train_all(winnow, folder, [{}, *choices], setting, options)
            for choice, runs in zip(choices, sifted):
                row = compare(plain, runs, options.epochs)
                print_row(set_name, setting, choice, row)
                report.append({"set": set_name, "setting": setting, **choice, **row})
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
