"""The size of the cluster: trainings by their nodes, a search with the nodes among its hyperparameters, and,
as the post proposes, the tuning job again for each size; each as `winnow compare` has it."""

import data
import jobs

NODES = (1, 2, 3, 4)
SEED, ROUNDS, SEARCH_TRIALS = 1, 100, 40
PARAMETER = "nodes"


def _parameter(values):
    return {"name": PARAMETER, "discrete": {"values": list(values)}}


def _trainings(setting):
    """The same configurations on each size, one training at a time: what a size buys a training."""
    spec = jobs.single("sizes", setting.files.channels(data.BLOG), {**jobs.STATIC, "colsample_bylevel": 0.5,
                       "colsample_bytree": 0.8, "num_round": setting.few(ROUNDS, 10), "seed": SEED}, 1, SEED)
    spec["parameters"] = [_parameter(NODES), {"name": "max_depth", "discrete": {"values": [4, 6]}},
                          {"name": "eta", "discrete": {"values": [0.1, 0.3]}}]
    spec["cluster"] = {"nodes_parameter": PARAMETER}
    return setting.service.json("compare", setting.service.run(spec)["id"], "--by-nodes")


def _search(setting):
    """Nodes among the ranges of the published search, by the default strategy."""
    spec = jobs.search(jobs.DEFAULT, setting.files.channels(data.BLOG), SEED, trials=setting.few(SEARCH_TRIALS, 8),
                       parameters=[*jobs.search_space(), _parameter(NODES)])
    spec["cluster"] = {"nodes_parameter": PARAMETER}
    return setting.service.json("compare", setting.service.run(spec)["id"], "--by-nodes")


def _tuning_jobs(setting):
    """The published tuning job for each size, side by side."""
    ids = {}
    for nodes in NODES:
        spec = jobs.search(jobs.HYPERBAND, setting.files.channels(data.BLOG), SEED, nodes, setting.few(jobs.TRIALS, 6))
        ids[setting.service.run({**spec, "name": f"nodes-{nodes}"})["id"]] = nodes
    told = setting.service.json("compare", *ids)
    return {**told, "rows": [{**row, PARAMETER: ids[row["job"]]} for row in told["rows"]]}


def run(setting):
    told = {}
    setting.warm(data.BLOG)
    for name, part in (("trainings", _trainings), ("search", _search), ("tuning jobs", _tuning_jobs)):
        told[name] = part(setting)
        setting.say(f"{name}: best by " + ", ".join(
            f"{row[PARAMETER]} nodes: {row['best_objective']:.4f}" for row in told[name]["rows"]))
    return told
