"""The published table as it is: the un-tuned estimator on 1 and 3 nodes, models of one shard, MNIST on 1 and 4."""

import concurrent.futures
import multiprocessing
import pathlib
import sys

import data
import jobs
import models
import peers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "headline-mnist"))

import cases  # noqa: E402

SEEDS, MNIST_SEEDS, EPOCHS = 3, 3, 20
ACCURACY = "validation:accuracy"
MNIST_CASES = (cases.ONE_WORKER, cases.COLLAPSE, "momentum-correction", cases.ALL_REDUCE)
PROCESSES = 2


def summaries(curves):
    return {name: models.summary(curve) for name, curve in curves.items()}


def _in_processes(jobs_to_do):
    """Each (function, arguments) in one of PROCESSES processes; the results in order."""
    with concurrent.futures.ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        try:
            return [future.result() for future in
                    [pool.submit(function, *arguments) for function, arguments in jobs_to_do]]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _xgboost(setting, split, rounds):
    """Rows of the table for one split; the first seed's curves of one node are kept for the picture."""
    parts, seeds = setting.split(split), setting.seeds(SEEDS)
    one = _in_processes([(peers.one_node, (parts, seed, rounds)) for seed in seeds])
    setting.say(f"{split}: XGBoost on one node")
    # Sums over all ranks do not depend on who has which rows: the two that differ most are enough.
    shardings = (data.SHUFFLED, data.BY_DATE) if split == data.BLOG else (data.SHUFFLED,)
    three = {sharding: [peers.several_nodes(parts, sharding, seed, rounds) for seed in seeds] for sharding in shardings}
    setting.say(f"{split}: XGBoost on {data.SHARDS} nodes")
    shards = {}
    if split == data.BLOG:
        for sharding in data.SHARDINGS:
            shards[sharding] = _in_processes([(peers.one_shard_each, (parts, sharding, seed, rounds))
                                              for seed in seeds])
        setting.say(f"{split}: XGBoost on single shards")
    return {
        "one node": [{**summaries(curves), "seconds": seconds} for curves, seconds in one],
        "three nodes": {name: [{**summaries(curves), "seconds": seconds} for curves, seconds in of]
                        for name, of in three.items()},
        "one shard": {name: [[summaries(curves) for curves in models_of_seed] for models_of_seed in of]
                      for name, of in shards.items()},
        "curves": {"one node": one[0][0], **{f"three nodes, {name}": of[0][0] for name, of in three.items()},
                   **{f"one shard, {name}": of[0][0] for name, of in shards.items()}}}


def untuned_job(setting, split, nodes, sharding, seed, rounds):
    """(summaries, seconds, digest, validation curve) of one training through the service, its test AUC by XGBoost."""
    service = setting.service
    job = service.run(jobs.single("untuned", setting.files.channels(split, sharding),
                                  {**jobs.UNTUNED, "num_round": rounds}, nodes, seed))
    curves = {name.split(":")[0]: curve for name, curve in service.curves(job["id"])[1].items()}
    path = service.download(job["id"], setting.work / "models" / job["id"]) / "model.json"
    curves["test"] = models.Model(path).curve(setting.split(split)["test"])
    return {**summaries(curves), "seconds": job["spend"]["training_seconds"], "digest": jobs.digest(path),
            "curves": curves}


def _winnow(setting, split, rounds):
    seeds = setting.seeds(SEEDS)
    ways = {"one node": (1, None), "three nodes, shuffled copies": (data.SHARDS, data.SHUFFLED)}
    if split == data.BLOG:
        ways["three nodes, in date order"] = (data.SHARDS, data.BY_DATE)
    rows = {name: [untuned_job(setting, split, nodes, sharding, seed, rounds) for seed in seeds]
            for name, (nodes, sharding) in ways.items()}
    setting.say(f"{split}: Winnow on one and {data.SHARDS} nodes")
    return {**rows, "curves": {name: [row.pop("curves") for row in of][0] for name, of in rows.items()}}


def mnist_job(setting, name, title, ranks, hyperparameters, seed):
    """What came of one training: accuracies by epoch, or why there are none."""
    folder = setting.mnist
    channels = {"train": {"path": str(folder / "train-images-idx3-ubyte.gz")},
                "validation": {"path": str(folder / "t10k-images-idx3-ubyte.gz")}}
    static = {key: value for key, value in hyperparameters.items() if key != "seed"}
    objective = {"metric": ACCURACY, "goal": "MAXIMIZE"}
    job = setting.service.run(jobs.single(name, channels, static, ranks, seed, "mlp", objective),
                              failure_is_an_answer=True)
    curve = setting.service.curves(job["id"]).get(1, {}).get(ACCURACY, [])
    if job["state"] != "COMPLETED":
        return {"title": title, "ranks": ranks, "failed": job["state_reason"], "curve": curve}
    return {"title": title, "ranks": ranks, "accuracy": curve[-1], "best": max(curve), "curve": curve,
            "seconds": job["spend"]["training_seconds"], "job": job["id"]}


def _mnist(setting):
    epochs, rows = setting.few(EPOCHS, 1), {}
    for case in (case for case in cases.CASES if case.name in MNIST_CASES):
        rows[case.name] = [mnist_job(setting, f"mnist-{case.name}", case.full_title, case.ranks,
                                     case.hyperparameters(epochs, seed), seed) for seed in setting.seeds(MNIST_SEEDS)]
        setting.say(f"MNIST: {case.full_title}, {case.ranks} nodes")
    return {"epochs": epochs, "rows": rows}


def run(setting):
    rounds = setting.few(jobs.ROUNDS, 10)
    splits = {split: {"xgboost": _xgboost(setting, split, rounds), "winnow": _winnow(setting, split, rounds)}
              for split in (data.BLOG, data.OTHER)}
    return {"rounds": rounds, "splits": splits, "mnist": _mnist(setting)}
