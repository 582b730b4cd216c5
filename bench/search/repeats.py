#!/usr/bin/env python3
"""What repeats are worth where a single training tells little: the true mean of the configuration that a job hands out,
with repeats, without, and by Optuna's TPE with its WilcoxonPruner, all with the same number of trainings.

    bench/search/repeats.py --optuna DIR [--problems branin,hartmann6,noisy] [--seeds 30] [--trainings 100,200]
                            [--tables DIR] [--bin build/bin]

DIR of --optuna: a checkout of Optuna 4 or later. A problem is a family of bench/search/families.h, or with --tables the
stem of a recorded table in DIR, played smoothly; bench/search/repeated.h says what noise it has. A configuration has at
most 5 trainings. Without repeats each trial is one training with a seed of its own, and the best observed is handed
out. WilcoxonPruner is used as its documentation shows: the repeats in random order, the mean so far as the value of a
pruned trial; of Optuna's trials the best one with all its repeats is handed out, or if there is none the best. Regret:
the optimum less the true mean, which no strategy sees. "p": Wilcoxon's signed-rank test over the seeds, one-sided.
"""

import argparse
import concurrent.futures
import pathlib
import random
import statistics
import sys
import warnings

import player

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPEATS = 5
SEED_STRIDE = 1 << 20  # as in bench/search/winnow.cc


def winnow(args, problem, trainings, repeats):
    """{seed: regret}"""
    rows = (line.split(",") for line in player.play(args.bin, "bayesian", problem, (1, args.seeds),
                                                    ["--repeats", str(repeats)], trainings / REPEATS))
    return {int(row[-3]): float(row[-1]) for row in rows}


def wilcoxon(args, problem, trainings):
    sys.path.insert(0, str(args.optuna))
    import optuna
    import families
    import peer_optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    family = families.Family(args.bin, problem)
    regrets = {}
    for seed in range(1, args.seeds + 1):
        left = trainings
        order = random.Random(seed)

        def objective(trial):
            nonlocal left
            values, observed = family.curve(
                family.to_unit({each.name: peer_optuna.suggest(trial, each) for each in family.parameters}),
                seed * SEED_STRIDE)
            trial.set_user_attr("regret", family.optimum - values[0])
            seen = []
            for repeat in order.sample(range(REPEATS), REPEATS):
                if left == 0:
                    break
                left -= 1
                seen.append(observed[repeat])
                trial.report(observed[repeat], repeat)
                if trial.should_prune():
                    break
            trial.set_user_attr("whole", len(seen) == REPEATS)
            if left == 0:
                trial.study.stop()
            return statistics.mean(seen) if seen else float("-inf")

        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed),
                                    pruner=optuna.pruners.WilcoxonPruner(p_threshold=0.1))
        study.optimize(objective)
        best = max(study.trials, key=lambda trial: (trial.user_attrs["whole"], trial.value))
        regrets[seed] = best.user_attrs["regret"]
    return regrets


def play(args, job):
    problem, trainings, how = job
    return wilcoxon(args, problem, trainings) if how == "optuna" else winnow(args, problem, trainings, how)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--optuna", type=pathlib.Path, required=True)
    flags.add_argument("--problems", default="branin,hartmann6,noisy")
    flags.add_argument("--seeds", type=int, default=30)
    flags.add_argument("--trainings", default="100,200")
    flags.add_argument("--tables", type=pathlib.Path)
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    args = flags.parse_args()
    from scipy import stats

    def named(problem):
        table = args.tables / f"{problem}.tab.gz" if args.tables else None
        return f"repeated:smooth:{table}" if table and table.exists() else f"repeated:{problem}"

    jobs = [(named(problem), int(trainings), how) for problem in args.problems.split(",")
            for trainings in args.trainings.split(",") for how in (REPEATS, 1, "optuna")]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        results = dict(zip(jobs, pool.map(play, [args] * len(jobs), jobs)))
    print("Regret of the mean of what is handed out: mean over seeds (median)\n\n"
          "| problem | trainings | with repeats | without | p | Optuna, Wilcoxon | p |\n| --- " + "| --- " * 6 + "|")
    for problem, trainings, how in jobs:
        if how != REPEATS:
            continue
        ours = results[problem, trainings, REPEATS]
        cells = []
        for other in (1, "optuna"):
            theirs = results[problem, trainings, other]
            seeds = sorted(set(ours) & set(theirs))
            pairs = [ours[seed] - theirs[seed] for seed in seeds]
            p = stats.wilcoxon(pairs, alternative="less").pvalue if any(pairs) else 1
            cells += [summary(theirs), f"{p:.2g}"]
        print(f"| {pathlib.Path(problem).name.removeprefix('repeated:').removesuffix('.tab.gz')} | {trainings} | "
              f"{summary(ours)} | " + " | ".join(cells) + " |")


def summary(regrets):
    values = list(regrets.values())
    return f"{statistics.mean(values):.3g} ({statistics.median(values):.3g})"


if __name__ == "__main__":
    main()
