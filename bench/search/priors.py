#!/usr/bin/env python3
"""What a prior on every parameter does: medians of simple regret without a prior, with a right and with a wrong one, on
Winnow's families (bench/search/winnow.cc says what right and wrong are). Needs numpy and build/bin/bench-search.

    bench/search/priors.py [--seeds 20] [--families branin,crossing] [--strategies default,bayesian] [--multiple 64]
                           [--confidences medium] [--bin build/bin] [--jobs 2]
"""

import argparse
import concurrent.futures
import os
import pathlib

import judge
import player

PRIORS = (None, "right", "wrong")
CHUNK = 5  # seeds per process


def play(args, strategy, family, prior, confidence, seeds):
    """The lines of seeds (first, last)."""
    given = ["--prior", prior, "--confidence", confidence] if prior else []
    return player.play(args.bin, strategy, family, seeds, given, args.multiple)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--families", default=",".join(judge.FAMILIES))
    flags.add_argument("--strategies", default=judge.JUDGED)
    flags.add_argument("--confidences", default="medium")
    flags.add_argument("--seeds", type=int, default=20)
    flags.add_argument("--multiple", type=float, default=64)
    flags.add_argument("--bin", type=pathlib.Path, default=judge.ROOT / "build/bin")
    flags.add_argument("--jobs", type=int, default=2)
    args = flags.parse_args()
    os.nice(10)
    multiples = [m for m in judge.MULTIPLES if m <= args.multiple]
    parts = [(first, min(first + CHUNK - 1, args.seeds)) for first in range(1, args.seeds + 1, CHUNK)]
    rows = [(strategy, family, prior, confidence) for strategy in args.strategies.split(",")
            for family in args.families.split(",") for prior in PRIORS
            for confidence in (args.confidences.split(",") if prior else [""])]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        played = {row: [pool.submit(play, args, *row, part) for part in parts] for row in rows}
        print("| family | strategy | prior | " + " | ".join(f"{m}x" for m in multiples) + " |")
        print("| --- | --- | --- |" + " --- |" * len(multiples))
        without = []
        for strategy, family, prior, confidence in rows:
            lines = [line for part in played[strategy, family, prior, confidence] for line in part.result()]
            regrets = [judge.runs_of(lines, judge.FAMILY_RESOURCE).median(m) for m in multiples]
            cells = [judge.number(regret) for regret in regrets]
            if prior is None:
                without = regrets
            else:
                cells = [f"{cell} ({judge.ratio(ours, none)})" for cell, ours, none in zip(cells, regrets, without)]
            name = f"{prior}, {confidence.upper()}" if prior else "none"
            print(f"| {family} | {strategy} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
