"""One rank of XGBoost's own distributed training (rabit): the post's estimator on this rank's rows.

    rabit_rank.py JOB.json: {"communicator", "rows", "watched", "seed", "rounds", "method", "result"}

`rows` is an .npz of features, labels and weights; `watched` names others, each with features and labels, of which
every rank has all. Rank 0 writes the curves to `result`.
"""

import json
import pathlib
import sys

import numpy
from xgboost import collective

import models


def main():
    job = json.loads(pathlib.Path(sys.argv[1]).read_text())
    with collective.CommunicatorContext(**job["communicator"]):
        rows = numpy.load(job["rows"])
        watched = {name: (part["features"], part["labels"])
                   for name, part in ((name, numpy.load(path)) for name, path in job["watched"].items())}
        curves = models.untuned(rows["features"], rows["labels"], rows["weights"], watched, job["method"], job["seed"],
                                job["rounds"])
        if collective.get_rank() == 0:
            pathlib.Path(job["result"]).write_text(json.dumps(curves))


if __name__ == "__main__":
    main()
