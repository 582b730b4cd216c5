#!/usr/bin/env python3
"""The cost of a part: what a search pays each time it leaves one trial for another.

    python3 bench/parts.py --bin build/bin [--units 1200] [--repeats 3] [--only gbdt] [--slots 1] [--rows 11400 120000]
                           [--depth 6]

On generated tables of 11,400 x 10 and 120,000 x 10 (--rows), one worker with one slot (--slots) and one thread a trainer. A
job under ASHA, which trains in many short parts, beside RANDOM, which trains the same number of units in few long ones: with
waiting trainers and parents that fork (warm) and with --warm-trainers 0 (cold), in turns in the same run, so that a busy
machine slows all of them alike. What the parts cost weighs less where a unit takes longer, so each ratio is printed with the
time of a unit: about 0.5 ms and 3 ms for winnow-gbdt on these tables, and 5 ms for winnow-mlp on the first.

ASHA prefers deep trees, whose units take longer than those that RANDOM trains. With --depth all trees of winnow-gbdt are
equally deep, so that the two differ in their parts alone.

A part's cost is the time from the last report of the part before to its first report, less the mean time of a unit; with
several slots, of the part whose slot was free last. The worker's log tells parts that started a process, were
forked, or were continued in a waiting trainer.
"""

import argparse
import datetime
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import service  # noqa: E402  (the path must be set first)

FEATURES = 10
KINDS = ("started", "forked", "continued")
METRICS = {"gbdt": ("validation:auc", "MAXIMIZE"), "mlp": ("validation:loss", "MINIMIZE")}
SEARCH = {
    "gbdt": [{"name": "eta", "continuous": {"min": 0.02, "max": 0.5, "scaling": "LOG"}},
             {"name": "max_depth", "integer": {"min": 2, "max": 6}},
             {"name": "min_child_weight", "continuous": {"min": 1, "max": 50, "scaling": "LOG"}}],
    "mlp": [{"name": "learning_rate", "continuous": {"min": 0.0005, "max": 0.05, "scaling": "LOG"}},
            {"name": "weight_decay", "continuous": {"min": 0.000001, "max": 0.01, "scaling": "LOG"}}],
}
STATIC = {
    "gbdt": {"objective": "binary:logistic", "eval_metric": "auc", "nthread": 1},
    "mlp": {"hidden_layers": "16", "batch_size": 1024, "nthread": 1},
}


def write_table(path, rows):
    """A label that depends on half of the columns, with noise."""
    draw = random.Random(11)
    with open(path, "w", encoding="ascii") as file:
        file.write("label," + ",".join(f"x{i}" for i in range(FEATURES)) + "\n")
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(FEATURES)]
            score = x[0] + x[1] * x[2] - 0.5 * x[3] + 0.3 * x[4] ** 2 + draw.gauss(0, 1)
            file.write(f"{int(score > 0.3)}," + ",".join(f"{v:.5f}" for v in x) + "\n")


class OneWorker(service.Service):
    """A server, and one worker whose log says what it started."""

    def __init__(self, binaries, folder, flags, slots):
        super().__init__(binaries, folder, workers=0)
        self.flags, self.slots = flags, slots

    def __enter__(self):
        super().__enter__()
        with open(self.folder / "worker.log", "wb") as log:
            self.worker = subprocess.Popen(
                [self.binaries / "winnow-worker", "--server", self.address, "--slots", str(self.slots), "--name", "bench",
                 "--work-dir", self.folder / "worker", *self.flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**service.os.environ, "WINNOW_CACHE_DIR": str(self.folder / "cache")})
        return self

    def __exit__(self, *_):
        self.worker.terminate()
        self.worker.wait()
        super().__exit__()

    def starts(self):
        """(job, trial, attempt) -> "started", "forked" or "continued", of all parts."""
        log = (self.folder / "worker.log").read_text(errors="replace")
        return {(job, int(trial), int(attempt)): how for how, job, trial, attempt in
                re.findall(r"\b(started|forked|continued) \S+: (\S+) trial (\d+) attempt (\d+)", log)}


def spec_of(trainer, strategy, units, table, depth=None):
    metric, goal = METRICS[trainer]
    top = 100
    fixed = {"max_depth": depth} if trainer == "gbdt" and depth else {}
    spec = {
        "name": f"parts-{trainer}-{strategy.lower()}",
        "trainer": {"builtin": trainer},
        "static_hyperparameters": {key: str(value) for key, value in (STATIC[trainer] | fixed).items()}
                                  | {"num_round" if trainer == "gbdt" else "epochs": str(top)},
        "parameters": [parameter for parameter in SEARCH[trainer] if parameter["name"] not in fixed],
        "objective": {"metric": metric, "goal": goal},
        "channels": {"train": {"path": str(table), "label": "label", "validation_fraction": 0.25}},
        "strategy": strategy,
        "limits": {"max_total_resource": units, "max_trials": 100_000},
        "seed": 5,
    }
    if strategy == "ASHA":
        spec["pruner"] = {"max_resource": top}
    return spec


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def costs_of(points, starts, job, slots):
    """(elapsed, seconds of a unit, {"started": [...], "forked": [...], "continued": [...]}) in seconds."""
    times = {}
    for point in points:
        times.setdefault((int(point["trial"]), int(point["attempt"])), {})[int(point["resource"])] = \
            seconds(point["time"])
    parts = sorted((sorted(levels.values()), key) for key, levels in times.items())
    # a worker that reads several lines at once gives them one time, so the mean is taken
    unit = sum(levels[-1] - levels[0] for levels, _ in parts) / max(1, sum(len(levels) - 1 for levels, _ in parts))
    costs = {kind: [] for kind in KINDS}
    free = [levels[-1] for levels, _ in parts[:slots]]  # when each slot's part has ended
    for levels, (trial, attempt) in parts[slots:]:
        before = min(free, key=lambda end: (end > levels[0], -end))  # the slot that was free last
        free[free.index(before)] = levels[-1]
        costs[starts.get((job, trial, attempt), "started")].append(max(0.0, levels[0] - before - unit))
    return max(levels[-1] for levels, _ in parts) - parts[0][0][0], unit, costs


def spread(values):
    if not values:
        return "none"
    ordered = sorted(values)
    at = lambda share: ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3
    return f"{len(ordered):4d}: p50 {at(0.5):5.1f} ms, p99 {at(0.99):5.1f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--units", type=int, default=1200, help="units of each job")
    parser.add_argument("--repeats", type=int, default=3, help="of every job; the medians are printed")
    parser.add_argument("--slots", type=int, default=1, help="of the worker, and trials at once")
    parser.add_argument("--only", choices=list(METRICS), help="one trainer")
    parser.add_argument("--rows", type=int, nargs="+", default=[11_400, 120_000],
                        help="of the tables; winnow-mlp trains on the first")
    parser.add_argument("--depth", type=int, help="of all trees; by default 2 to 6, which is searched")
    parser.add_argument("--kinds", nargs="+", default=["cold", "warm"], choices=["cold", "warm"], help="of workers")
    parser.add_argument("--cold-flags", nargs="*", default=["--warm-trainers=0"], help="of the cold worker")
    arguments = parser.parse_args()
    service.require_programs(arguments.bin)
    trainers = [arguments.only] if arguments.only else list(METRICS)
    with tempfile.TemporaryDirectory(prefix="winnow-parts-") as temporary:
        folder = pathlib.Path(temporary)
        tables = {rows: folder / f"table-{rows}.csv" for rows in arguments.rows}
        for rows, table in tables.items():
            write_table(table, rows)
        kinds = {kind: arguments.cold_flags if kind == "cold" else [] for kind in arguments.kinds}
        services = {}
        for kind, flags in kinds.items():
            (folder / kind).mkdir()
            services[kind] = OneWorker(arguments.bin, folder / kind, flags, arguments.slots).__enter__()
        try:
            for trainer in trainers:
                for rows, table in tables.items():
                    if trainer == "mlp" and rows != arguments.rows[0]:
                        continue
                    print(f"{trainer:4} on {rows:,} x {FEATURES}:", flush=True)
                    measure(trainer, services, arguments, table)
        finally:
            for one in services.values():
                one.__exit__()


def measure(trainer, services, arguments, table):
    taken = {}
    for kind, one in services.items():  # the cache of the table is made, and is not measured
        one.run(spec_of(trainer, "RANDOM", 100, table, arguments.depth))
    for _ in range(arguments.repeats):
        for kind, one in services.items():
            for strategy in ("RANDOM", "ASHA"):
                begun = time.monotonic()
                job = one.run(spec_of(trainer, strategy, arguments.units, table, arguments.depth))
                wall = time.monotonic() - begun
                points = one.json("metrics", job["id"])["points"]
                metric = METRICS[trainer][0]
                result = costs_of([p for p in points if p["metric"] == metric], one.starts(), job["id"],
                                  arguments.slots)
                taken.setdefault((kind, strategy), []).append((wall, *result))
    for (kind, strategy), runs in taken.items():
        elapsed = statistics.median(run[1] for run in runs)
        unit = statistics.median(run[2] for run in runs)
        costs = {k: [c for run in runs for c in run[3][k]] for k in KINDS}
        print(f"{trainer:4} {kind:4} {strategy:6} {elapsed:6.2f} s, a unit {unit * 1e3:4.1f} ms; parts "
              + "; ".join(f"{k} {spread(costs[k])}" for k in KINDS), flush=True)
    for kind in services:
        ratio = statistics.median(a[1] / r[1] for a, r in zip(taken[kind, "ASHA"], taken[kind, "RANDOM"]))
        unit = statistics.median(run[2] for run in taken[kind, "RANDOM"])
        print(f"{trainer:4} {kind:4} ASHA beside run-through: {ratio:.2f} of its time, with units of {unit * 1e3:.1f} ms",
              flush=True)
    if len(services) < 2:
        return
    ratio = statistics.median(w[1] / c[1] for w, c in zip(taken["warm", "ASHA"], taken["cold", "ASHA"]))
    print(f"{trainer:4} ASHA, warm beside cold: {ratio:.2f} of its time", flush=True)


if __name__ == "__main__":
    main()
