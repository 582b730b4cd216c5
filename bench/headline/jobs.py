"""Job files of the experiment, and what is kept of a job that has ended."""

import hashlib
import json

import data

METRIC = "validation:auc"
OBJECTIVE = {"metric": METRIC, "goal": "MAXIMIZE"}
STATIC = {"objective": "binary:logistic", "eval_metric": "auc"}
# The post's estimator; tree_method=exact besides, which winnow-gbdt does not have, and rate_drop, which does nothing.
ROUNDS = 150
UNTUNED = {**STATIC, "eta": 0.3, "colsample_bylevel": 0.5, "colsample_bytree": 0.8}
MAX_RESOURCE, TRIALS, PARALLEL, NODES = 30, 30, 4, 3
HYPERBAND, DEFAULT, THROUGH = "hyperband", "default", "run through"


def search_space():
    """The post's ranges, as the example has them."""
    example = json.loads((data.ROOT / "examples/direct-marketing.json").read_text())
    return example["parameters"]


def _job(name, channels, static, nodes, **members):
    return {"name": name, "trainer": {"builtin": "gbdt"}, "channels": channels, "objective": OBJECTIVE,
            "static_hyperparameters": static, "cluster": {"nodes": nodes}, **members}


def single(name, channels, hyperparameters, nodes, seed, builtin="gbdt", objective=None):
    """One training with all of its hyperparameters given."""
    texts = {key: str(value).lower() if isinstance(value, bool) else value for key, value in hyperparameters.items()}
    job = _job(name, channels, texts, nodes, parameters=[{"name": "seed", "discrete": {"values": [seed]}}],
               strategy="GRID", limits={"max_parallel_trials": 1}, seed=seed)
    return {**job, "trainer": {"builtin": builtin}, "objective": objective or OBJECTIVE}


def search(kind, channels, seed, nodes=NODES, trials=TRIALS, parallel=PARALLEL, parameters=None):
    """The tuning job. THROUGH trains the very trials of HYPERBAND, to the num_round of each."""
    how = {HYPERBAND: {"strategy": "HYPERBAND", "hyperband": {"min_resource": 1, "max_resource": MAX_RESOURCE}},
           DEFAULT: {},
           THROUGH: {"sampler": {"kind": "SOBOL"}, "pruner": {"kind": "NONE"}}}[kind]
    limits = {"max_trials": trials, "max_parallel_trials": parallel}
    if kind == DEFAULT:
        limits["max_trial_resource"] = MAX_RESOURCE
    return _job(kind.replace(" ", "-"), channels, STATIC, nodes, parameters=parameters or search_space(), **how,
                limits=limits, seed=seed)


def configurations(trials):
    """{trial: its hyperparameters}."""
    return {int(trial["number"]): {value["name"]: next(value[kind] for kind in value if kind != "name")
                                   for value in trial["hyperparameters"]} for trial in trials}


def spent(job):
    """What the service says of a job that has ended."""
    spend = job["spend"]
    return {"validation": job["best"]["objective"], "trial": int(job["best"]["trial"]),
            "rounds_of_best": int(job["best"]["resource"]), "rounds": int(spend["resource"]),
            "elapsed": spend["elapsed_seconds"], "training": spend["training_seconds"],
            "node_seconds": spend["billable_node_seconds"]}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
