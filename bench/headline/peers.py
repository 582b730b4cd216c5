"""XGBoost 1.7.4 in the post's place: on one node, on one shard, and on three nodes with sharded rows."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

import data
import models

RANK_SECONDS = 600
EXACT, HIST = "exact", "hist"  # XGBoost has no exact method on several nodes


def one_node(parts, seed, rounds):
    """The curves, and the seconds of training."""
    start = time.perf_counter()
    train = parts["train"]
    curves = models.untuned(train.features, train.labels, numpy.full(len(train.labels), data.COPIES),
                            models.watched(parts), EXACT, seed, rounds)
    return curves, time.perf_counter() - start


def one_shard_each(parts, sharding, seed, rounds):
    """The curves of a model of each shard alone."""
    train = parts["train"]
    watched = models.watched(parts)
    return [models.untuned(train.features[rows], train.labels[rows], weights, watched, EXACT, seed, rounds)
            for rows, weights in data.shard_weights(train.position, sharding, seed)]


def several_nodes(parts, sharding, seed, rounds):
    """The curves of one model of all shards, a process each, and the seconds with the start of the processes."""
    train = parts["train"]
    shards = data.shard_weights(train.position, sharding, seed)
    with tempfile.TemporaryDirectory(prefix="winnow-headline-rabit-") as name:
        folder = pathlib.Path(name)
        for part, (features, labels) in models.watched(parts).items():
            numpy.savez(folder / f"{part}.npz", features=features, labels=labels)
        for rank, (rows, weights) in enumerate(shards):
            numpy.savez(folder / f"rows-{rank}.npz", features=train.features[rows], labels=train.labels[rows],
                        weights=weights)
        start = time.perf_counter()
        _run_ranks(folder, len(shards), {
            "watched": {part: str(folder / f"{part}.npz") for part in models.watched(parts)}, "seed": seed,
            "rounds": rounds, "method": HIST, "result": str(folder / "curves.json")})
        return json.loads((folder / "curves.json").read_text()), time.perf_counter() - start


def _run_ranks(folder, ranks, job):
    from xgboost.tracker import RabitTracker  # its import opens nothing, but is slow
    program = pathlib.Path(__file__).with_name("rabit_rank.py")
    tracker = RabitTracker("127.0.0.1", ranks)
    tracker.start(ranks)
    running = []
    try:
        for rank in range(ranks):
            communicator = {**tracker.worker_envs(), "DMLC_TASK_ID": str(rank)}
            file = folder / f"job-{rank}.json"
            file.write_text(json.dumps({**job, "communicator": communicator, "rows": str(folder / f"rows-{rank}.npz")}))
            running.append(subprocess.Popen([sys.executable, "-B", program, file], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, text=True))
        for process in running:
            errors = process.communicate(timeout=RANK_SECONDS)[1]
            if process.returncode != 0:
                raise RuntimeError(f"a rank of XGBoost failed: {errors.strip()[-500:]}")
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
