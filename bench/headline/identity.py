"""The same training on 1, 2, 3 and 4 nodes: whether the model that the service hands out is the same file."""

import data
import jobs
import published

NODES = (1, 2, 3, 4)
ROUNDS, EPOCHS, SEED = 150, 5, 1
# Batches of 100 of all nodes together, which are cut into the same parts however many nodes there are.
DISTRIBUTION = {"distribution": "ALL_REDUCE"}


def _gbdt(setting, nodes):
    row = published.untuned_job(setting, data.BLOG, nodes, None, SEED, setting.few(ROUNDS, 10))
    return {"nodes": nodes, "digest": row["digest"], "score": row["validation"]["last"], "test": row["test"]["last"],
            "seconds": row["seconds"]}


def _mlp(setting, nodes):
    row = published.mnist_job(setting, "mnist-identity", "ALL_REDUCE", nodes,
                              published.cases.PUBLISHED | DISTRIBUTION | {"epochs": setting.few(EPOCHS, 1)}, SEED)
    if "failed" in row:
        raise RuntimeError(row["failed"])
    path = setting.service.download(row["job"], setting.work / "models" / row["job"]) / "model.safetensors"
    return {"nodes": nodes, "digest": jobs.digest(path), "score": row["accuracy"], "seconds": row["seconds"]}


def run(setting):
    setting.warm(data.BLOG)
    rows = {"gbdt": [_gbdt(setting, nodes) for nodes in NODES], "mlp": [_mlp(setting, nodes) for nodes in NODES]}
    for name, of in rows.items():
        setting.say(f"{name}: {len({row['digest'] for row in of})} model(s) on {len(of)} cluster sizes")
    return rows
