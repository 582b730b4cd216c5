#!/usr/bin/env python3
"""What objective.selection EXPECTED is worth: the true regret of the trial that a job hands out, and how much the value
that is told of it promises too much.

    bench/search/handed_out.py [--problems noisy,repeated:branin] [--strategies default,bayesian] [--seeds 20]
                               [--multiple 16] [--bin build/bin] [--jobs 2]

A problem is a family of bench/search/families.h; "repeated:NAME" is one training of each configuration with noise of a fifth
of the distance from the median to the optimum (bench/search/repeated.h), 5 trainings a multiple. "too much": the mean of
the value seen, or of the expected one, less the true value of the trial that SEEN hands out. "p": Wilcoxon's signed-rank
test over the seeds, one-sided, that EXPECTED's regret is lower. Needs scipy and build/bin/bench-search.
"""

import argparse
import concurrent.futures
import os
import pathlib
import statistics

import player

ROOT = pathlib.Path(__file__).resolve().parents[2]


def play(args, strategy, problem, seed):
    """(regret under SEEN, under EXPECTED, the value seen less the truth, the expected one less the truth)"""
    more = ["--handed-out"] + (["--repeats", "1"] if problem.startswith("repeated:") else [])
    line, = player.play(args.bin, strategy, problem, (seed, seed), more, args.multiple)
    return tuple(map(float, line.split(",")[-4:]))


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--problems", default="noisy,repeated:branin,repeated:hartmann6,repeated:noisy")
    flags.add_argument("--strategies", default="default,bayesian")
    flags.add_argument("--seeds", type=int, default=20)
    flags.add_argument("--multiple", type=float, default=16)
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    flags.add_argument("--jobs", type=int, default=2)
    args = flags.parse_args()
    from scipy import stats
    os.nice(10)
    rows = [(problem, strategy) for problem in args.problems.split(",") for strategy in args.strategies.split(",")
            if not problem.startswith("repeated:") or strategy in ("bayesian", "random")]
    seeds = range(1, args.seeds + 1)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        played = {row: [pool.submit(play, args, row[1], row[0], seed) for seed in seeds] for row in rows}
        print("| problem | strategy | SEEN | EXPECTED | p | seen: too much | expected: too much |\n" + "| --- " * 7 + "|")
        for problem, strategy in rows:
            seen, expected, told, honest = zip(*(each.result() for each in played[problem, strategy]))
            pairs = [b - a for a, b in zip(seen, expected)]
            p = stats.wilcoxon(pairs, alternative="less").pvalue if any(pairs) else 1
            print(f"| {problem} | {strategy} | {summary(seen)} | {summary(expected)} | {p:.2g} | "
                  f"{statistics.mean(told):.3g} | {statistics.mean(honest):.3g} |", flush=True)


def summary(regrets):
    """The mean over seeds, and the median."""
    return f"{statistics.mean(regrets):.3g} ({statistics.median(regrets):.3g})"


if __name__ == "__main__":
    main()
