#!/usr/bin/env python3
"""Plays strategies of other libraries on a family, one worker, and prints what bench/search/report.py reads: lines
strategy,family,seed,spent,regret, one whenever the incumbent's regret changes, and one at the end
(bench/search/trajectory.py).

    bench/search/peers.py --strategy optuna-tpe --family branin --seeds 1..30 [--multiple 64] [--table CSV]
                          [--bin build/bin] [--path FOLDER]

The budget is --multiple times the family's max_resource. --path: the folder, or folders with colons between, to import
the peer's library from; without it the installed one is taken. With --list the strategies are printed instead, those that
need --path last.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is loaded
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import argparse
import pathlib
import sys
import warnings

import families
import trajectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALLED = {"random": "peer_random", "optuna-tpe": "peer_optuna", "optuna-tpe-hyperband": "peer_optuna",
             "optuna-tpe-halving": "peer_optuna"}
BY_PATH = {"optuna-gp": "peer_optuna", "syne-asha": "peer_syne_tune", "syne-hyperband": "peer_syne_tune",
           "syne-bohb": "peer_syne_tune", "dehb": "peer_dehb"}
NAMES = (*INSTALLED, *BY_PATH)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--strategy", choices=NAMES)
    flags.add_argument("--family", help="a closed-form family, or table")
    flags.add_argument("--table", help="the CSV of the family named table")
    flags.add_argument("--seeds", default="1..1", help="A..B, both included")
    flags.add_argument("--multiple", type=float, default=64)
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    flags.add_argument("--path")
    flags.add_argument("--list", action="store_true")
    args = flags.parse_args()
    if args.list:
        print("\n".join(NAMES))
        return
    if not args.strategy or not args.family or (args.family == "table") != bool(args.table):
        flags.error("--strategy and --family are needed, and --table with --family table")
    if args.path:
        sys.path[:0] = args.path.split(os.pathsep)
    warnings.filterwarnings("ignore")  # of libraries: experimental features, versions
    try:
        peer = __import__({**INSTALLED, **BY_PATH}[args.strategy])
    except ImportError as error:
        sys.exit(f"{args.strategy} cannot run: {error}")
    family = families.Family(args.bin, f"table:{args.table}" if args.table else args.family)
    first, last = map(int, args.seeds.split(".."))
    for seed in range(first, last + 1):
        meter = trajectory.Meter(family, seed, int(args.multiple * family.max_resource))
        try:
            peer.run(args.strategy, family, seed, meter)
            sys.exit(f"{args.strategy} ended on its own at {meter.spent} of {meter.budget} units")
        except trajectory.BudgetSpent:
            pass
        for spent, regret in meter.points:
            print(f"{args.strategy},{args.family},{seed},{spent},{regret!r}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
