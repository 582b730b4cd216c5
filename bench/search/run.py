#!/usr/bin/env python3
"""Compares search strategies: plays Winnow's and the peers' on every family with the same budget and seeds, and prints
the report of bench/search/report.py.

    bench/search/run.py --seeds 30 [--families branin,crossing] [--winnow build/bin/bench-search --strategies asha,bohb]
                        [--table build/bench/direct-marketing-curves.csv] [--bin build/bin] [--jobs 2] [--quick]
                        [--optuna-head DIR] [--syne-tune DIR] [--dehb DIR] [--fresh]

--winnow: a program with the flags --family --seeds --strategy --multiple --table of bench/search/peers.py that prints the
same lines. Trajectories are kept under --cache by what they depend on (program, library, functions, budget), so each is
computed once; --fresh computes all again. --quick: 5 seeds and no table. A peer that cannot run is named with the
reason and left out. bench/search/make_table.py makes the table; without it that family is left out.
"""

import argparse
import concurrent.futures
import hashlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys

import peers  # first: it sets the numbers of threads
import families
import player
import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
MULTIPLE = 64
# Random search goes on, so that what a regret is worth in its budget can be told beyond 64x.
BASELINE_MULTIPLE = 1024
CHUNK = 5  # seeds per process


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def fingerprint(family):
    """Changes when the family's functions do."""
    source = numpy_source()
    points = [source.random(len(family.parameters)) for _ in range(20)]
    return digest(family.parameters, family.max_resource, family.optimum, *(family.curve(p, 1) for p in points))


def numpy_source():
    import numpy  # after the numbers of threads are set
    return numpy.random.default_rng(0)


def version(module, path):
    """What a peer's runs depend on: its own file, what it shares, and its library."""
    texts = [(HERE / name).read_text() for name in (f"{module}.py", "trajectory.py", "families.py")]
    if path:
        head = subprocess.run(["git", "-C", path, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
        return digest(*texts, head or path)
    return digest(*texts, importlib.metadata.version("optuna" if "optuna" in module else "numpy"))


class Task:
    """The seeds of one strategy on one family."""

    def __init__(self, command, strategy, family, multiple, depends_on, args):
        self.command, self.strategy, self.family, self.multiple = command, strategy, family, multiple
        self.folder = args.cache / f"{strategy}-{family}-{digest(depends_on, multiple)}"
        self.fresh = args.fresh
        self.table = args.table
        self.binaries = args.bin

    def file(self, seed):
        return self.folder / f"{seed}.csv"

    def missing(self, seeds):
        return [seed for seed in seeds if self.fresh or not self.file(seed).exists()]

    def chunks(self, seeds):
        """The missing seeds as (first, last) of at most CHUNK."""
        chunks = []
        for seed in self.missing(seeds):
            if chunks and chunks[-1][1] == seed - 1 and seed - chunks[-1][0] < CHUNK:
                chunks[-1] = (chunks[-1][0], seed)
            else:
                chunks.append((seed, seed))
        return chunks

    def play(self, first, last):
        """Raises RuntimeError with the program's reason."""
        table = ["--table", self.table] if self.family == "table" else []
        printed = player.start(self.command, self.strategy, self.family, (first, last), table, self.multiple)
        self.folder.mkdir(parents=True, exist_ok=True)
        for seed in range(first, last + 1):
            start = f"{self.strategy},{self.family},{seed},"
            lines = [line + "\n" for line in printed if line.startswith(start)]
            if not lines:
                raise RuntimeError(f"no line for seed {seed}")
            unfinished = self.file(seed).with_suffix(".part")
            unfinished.write_text("".join(lines))
            unfinished.rename(self.file(seed))


def tasks(args, chosen):
    """`chosen`: {family: Family}."""
    found = []
    paths = {"optuna-gp": args.optuna_head, "dehb": args.dehb}
    for family, functions in chosen.items():
        same = fingerprint(functions)
        for strategy, module in {**peers.INSTALLED, **peers.BY_PATH}.items():
            path = paths.get(strategy, args.syne_tune if strategy.startswith("syne-") else None)
            if strategy in peers.BY_PATH and not path:
                continue
            command = [sys.executable, HERE / "peers.py", "--bin", args.bin, *(["--path", path] if path else [])]
            multiple = BASELINE_MULTIPLE if strategy == report.BASELINE else MULTIPLE
            found.append(Task(command, strategy, family, multiple, (same, version(module, path)), args))
        for strategy in args.strategies.split(",") if args.winnow else ():
            depends_on = same, hashlib.sha256(args.winnow.read_bytes()).hexdigest()
            found.append(Task([args.winnow.resolve()], strategy, family, MULTIPLE, depends_on, args))
    return found


def play(found, seeds, jobs):
    """Plays what is missing; returns the strategies that could not run as {(strategy, family): reason}."""
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(task.play, *chunk): task for task in found for chunk in task.chunks(seeds)}
        for count, future in enumerate(concurrent.futures.as_completed(running), 1):
            task = running[future]
            try:
                future.result()
            except RuntimeError as error:
                failed[task.strategy, task.family] = str(error)
            print(f"\r{count} of {len(running)} parts ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return failed


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--seeds", type=int, default=30, help="seeds 1 to N")
    flags.add_argument("--families", help="names with commas between (default: all)")
    flags.add_argument("--winnow", type=pathlib.Path)
    flags.add_argument("--strategies", default="", help="Winnow's, with commas between")
    flags.add_argument("--table", type=pathlib.Path, default=ROOT / "build/bench/direct-marketing-curves.csv")
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    flags.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench/search-cache")
    flags.add_argument("--jobs", type=int, default=2, help="processes at a time")
    flags.add_argument("--optuna-head")
    flags.add_argument("--syne-tune")
    flags.add_argument("--dehb")
    flags.add_argument("--quick", action="store_true")
    flags.add_argument("--fresh", action="store_true")
    args = flags.parse_args()
    if args.winnow and not args.strategies:
        flags.error("--winnow needs --strategies")
    os.nice(10)
    names = [*families.names(args.bin), *(["table"] if args.table.exists() and not args.quick else [])]
    if args.families:
        names = args.families.split(",")
    chosen = {name: families.Family(args.bin, f"table:{args.table}" if name == "table" else name) for name in names}
    seeds = range(1, (5 if args.quick else args.seeds) + 1)

    found = tasks(args, chosen)
    failed = play(found, seeds, args.jobs)
    lines = [line for task in found if (task.strategy, task.family) not in failed
             for seed in seeds for line in task.file(seed).read_text().splitlines()]
    resources = {name: family.max_resource for name, family in chosen.items()}
    print("\n".join(report.report(report.read(lines, resources))))
    for (strategy, family), reason in failed.items():
        print(f"\n{strategy} on {family} did not run: {reason}")
    return 1 if any(strategy not in peers.NAMES for strategy, _ in failed) else 0


if __name__ == "__main__":
    sys.exit(main())
