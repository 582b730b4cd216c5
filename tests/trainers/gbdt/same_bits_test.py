#!/usr/bin/env python3
"""One model to the bit: winnow-gbdt on 1 to 8 ranks, 1 to 4 threads, with the portable, AVX2 and fastest kernels, each
rank reading all files or its own, in one go or going on from the checkpoint of another number of ranks, writes the
model.json and prints the metrics that it does alone in one thread. Under every objective, on the bank data with gaps.

The cells of that grid are dealt out to the objectives, so that each cell is run once.
Usage: same_bits_test.py WINNOW_GBDT. Needs bank-additional-full.csv.gz in the folder that WINNOW_DATA_DIR names;
without it the program says so and ends with code 77, which CTest counts as skipped."""

import concurrent.futures
import csv
import gzip
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from free_port import free_port  # noqa: E402

TRAIN_ROWS, VALIDATION_ROWS = 12000, 3000  # of 41,188: enough for full trees, few enough for the grid
PARTS = 8  # files of each folder: one for each of the most ranks
ROUNDS = 5
GAPS = 0.05  # the share of cells that are left out
DEADLINE = 120  # seconds for one run, which takes about one
FEATURES = ["age", "job", "marital", "education", "contact", "month", "campaign", "pdays", "emp.var.rate",
            "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed"]
LABELS = ["yes", "seconds", "share", "calls", "kind", "relevance"]
WEIGHT, GROUP = "weight", "query"
TOWN, TOWNS = "town", 1500  # a text of so many levels that its columns are sparse, beside the dense ones
WITH_TOWN = ["--max-levels", str(TOWNS)]

RANKS, THREADS, SIMD = (1, 2, 3, 4, 8), (1, 2, 4), ("off", "avx2", "")
GRID = list(itertools.product(RANKS, THREADS, SIMD, (False, True), (False, True)))

SAMPLING = {"subsample": 0.8, "colsample_bytree": 0.9, "colsample_bylevel": 0.8, "colsample_bynode": 0.8, "seed": 7,
            "num_round": ROUNDS}
LOSSGUIDE = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 24}
DART = {"booster": "dart", "rate_drop": 0.5, "one_drop": 1}

# Objective, label, hyperparameters, flags.
CASES = [
    ("binary:logistic", "yes", {"eval_metric": "auc,aucpr,logloss,error@0.3", "enable_categorical": True},
     ["--weight", WEIGHT]),
    ("binary:logitraw", "yes", {"eval_metric": "auc,logloss", **DART}, []),
    ("binary:hinge", "yes", {"eval_metric": "error,auc", "max_bin": 1000}, ["--weight", WEIGHT]),
    ("reg:squarederror", "seconds", {"eval_metric": "rmse,mae,mape,rmsle", **LOSSGUIDE}, WITH_TOWN),
    ("reg:squaredlogerror", "seconds", {"eval_metric": "rmsle,rmse", "num_parallel_tree": 3},
     ["--weight", WEIGHT, *WITH_TOWN]),
    ("reg:logistic", "share", {"eval_metric": "rmse,logloss", "enable_categorical": True, **LOSSGUIDE}, []),
    ("reg:absoluteerror", "seconds", {"eval_metric": "mae,rmse"}, ["--weight", WEIGHT]),
    ("reg:pseudohubererror", "share", {"eval_metric": "mphe,mae", "sample_type": "weighted", **DART}, WITH_TOWN),
    ("reg:quantileerror", "seconds",
     {"eval_metric": "quantile,mae", "quantile_alpha": 0.8, "num_parallel_tree": 2, "enable_categorical": True}, []),
    ("count:poisson", "calls", {"eval_metric": "poisson-nloglik,rmse", "max_bin": 16},
     ["--weight", WEIGHT, *WITH_TOWN]),
    ("reg:gamma", "seconds", {"eval_metric": "gamma-nloglik,gamma-deviance", "monotone_constraints": {"age": 1},
                               "gradient_bits": 30}, []),
    ("reg:tweedie", "seconds", {"eval_metric": "tweedie-nloglik@1.3,rmse", "enable_categorical": True}, []),
    ("multi:softprob", "kind", {"eval_metric": "mlogloss,merror,auc,aucpr", "num_class": 4}, ["--weight", WEIGHT]),
    ("multi:softmax", "kind", {"eval_metric": "merror,mlogloss", "num_class": 4, "multi_hessian": "lightgbm",
                                "num_parallel_tree": 2, **DART}, []),
    ("rank:ndcg", "relevance", {"eval_metric": "ndcg@5,ndcg-,map@10,auc"}, ["--group", GROUP]),
    ("rank:pairwise", "relevance", {"eval_metric": "pre@3,map,ndcg", **LOSSGUIDE},
     ["--group", GROUP, "--weight", WEIGHT]),
]
SPLITTING = {"reg:squaredlogerror", "reg:gamma"}  # these validate on a part of the training data


def skip(reason):
    print(f"SKIPPED: {reason}", file=sys.stderr)
    sys.exit(77)


def write_tables(source, folder):
    """The folders train and validation, whose parts end where a query does."""
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    draw = random.Random(11)
    draw.shuffle(rows)
    marital = {"married": 0, "single": 1, "divorced": 2, "unknown": 3}
    for name, begin, end in (("train", 0, TRAIN_ROWS), ("validation", TRAIN_ROWS, TRAIN_ROWS + VALIDATION_ROWS)):
        (folder / name).mkdir()
        queries, size = [], 0  # a list of rows each
        while size < end - begin:
            queries.append(rows[begin + size:min(begin + size + draw.randrange(1, 40), end)])
            size += len(queries[-1])
        for part in range(PARTS):
            with open(folder / name / f"part-{part}.csv", "w", encoding="utf-8", newline="") as file:
                out = csv.writer(file, lineterminator="\n")
                out.writerow(FEATURES + [TOWN] + LABELS + [WEIGHT, GROUP])
                for query in range(part * len(queries) // PARTS, (part + 1) * len(queries) // PARTS):
                    weight = draw.choice([0, 0.25, 1, 3.7])
                    for row in queries[query]:
                        seconds = int(row["duration"])
                        labels = [int(row["y"] == "yes"), seconds + 1, min(1, seconds / 2000), row["campaign"],
                                  marital[row["marital"]], min(4, seconds // 150)]
                        cells = ["" if draw.random() < GAPS else row[feature] for feature in FEATURES]
                        cells.append(f"town {draw.randrange(TOWNS)}")
                        out.writerow(cells + labels + [weight, query])


class Failure(Exception):
    pass


class Bench:
    """One objective's command, and where its runs leave what they make."""

    def __init__(self, binary, folder, number):
        objective, label, hyperparameters, flags = CASES[number]
        self.folder, self.objective, self.data = folder / f"case-{number}", objective, folder
        self.folder.mkdir()
        self.hyperparameters = {"objective": objective, **SAMPLING, **hyperparameters}
        # Columns that have another part in other cases, and for `kind` the one it is made of.
        unused = [name for name in LABELS + [WEIGHT, GROUP] if name != label and name not in flags]
        if label == "kind":
            unused.append("marital")
        if WITH_TOWN[0] not in flags:
            unused.append(TOWN)
        self.command = [binary, "--train", folder / "train", "--label", label, "--drop", ",".join(unused), *flags]
        self.command += (["--validation-fraction", "0.2", "--split-seed", "5"] if objective in SPLITTING else
                         ["--validation", folder / "validation"])

    def run(self, name, ranks, threads, simd, sharded, cached, rounds=ROUNDS, checkpoints=None):
        """Model, printed lines and number of rounds that were trained now."""
        folder = self.folder / name
        folder.mkdir()
        hyperparameters = folder / "hp.json"
        hyperparameters.write_text(json.dumps({**self.hyperparameters, "num_round": rounds}))
        command = self.command + ["--hyperparameters", hyperparameters, "--model-dir", folder / "model",
                                  "--threads", str(threads)]
        command += ["--sharded"] if sharded else []
        command += ["--checkpoint-dir", checkpoints] if checkpoints else []
        environment = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port()), "WINNOW_TRIAL": f"{self.folder.name} {name}",
                       "WINNOW_CACHE_DIR": str(self.data / "cache") if cached else "off"}
        environment.pop("WINNOW_SIMD", None)
        if simd:
            environment["WINNOW_SIMD"] = simd
        running = []
        for rank in range(ranks):
            out, err = open(folder / f"out-{rank}", "w"), open(folder / f"err-{rank}", "w")
            timing = ["--timing", folder / "timing.json"] if rank == 0 else []
            running.append(subprocess.Popen(command + timing, stdout=out, stderr=err,
                                            env={**environment, "RANK": str(rank)}))
            out.close()
            err.close()
        try:
            codes = [process.wait(DEADLINE) for process in running]
        finally:
            for process in running:
                process.kill()
        errors = "".join((folder / f"err-{rank}").read_text() for rank in range(ranks))
        if any(codes) or errors:
            raise Failure(f"exit codes {codes}: {errors.strip()}")
        if any((folder / f"out-{rank}").read_text() for rank in range(1, ranks)):
            raise Failure("a rank beyond 0 prints metrics")
        return ((folder / "model/model.json").read_bytes(), (folder / "out-0").read_text(),
                len(json.loads((folder / "timing.json").read_text())["round_seconds"]))

    def check(self, cell, number, reference):
        """Raises a Failure where the run of this cell is not the reference's."""
        ranks, threads, simd, sharded, resumed = cell
        cached, checkpoints, first = number % 3 == 0, None, 0
        if resumed:  # the first rounds were of another number of ranks, threads and another distribution
            checkpoints, first = self.folder / f"checkpoints-{number}", 1 + number % (ROUNDS - 1)
            other = [count for count in RANKS if count != ranks][number % (len(RANKS) - 1)]
            self.run(f"first-{number}", other, 1 + number % 2, "", not sharded, cached, first, checkpoints)
        model, lines, trained = self.run(f"run-{number}", ranks, threads, simd, sharded, cached, ROUNDS, checkpoints)
        if trained != ROUNDS - first:
            raise Failure(f"{trained} rounds trained after {first} of {ROUNDS}")
        if lines != reference[1]:
            raise Failure(f"prints\n{lines}instead of\n{reference[1]}")
        if model != reference[0]:
            raise Failure("another model.json")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = pathlib.Path(os.environ.get("WINNOW_DATA_DIR", "")) / "bank-additional-full.csv.gz"
    if "WINNOW_DATA_DIR" not in os.environ or not source.is_file():
        skip("WINNOW_DATA_DIR does not name a folder with bank-additional-full.csv.gz")
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="winnow-same-bits-") as name:
        folder = pathlib.Path(name)
        write_tables(source, folder)
        cells = GRID[:]
        random.Random(3).shuffle(cells)
        benches = [Bench(binary, folder, number) for number in range(len(CASES))]

        def reference(bench):
            return bench.run("reference", 1, 1, "", False, False)

        def check(number):
            bench, cell = benches[number % len(benches)], cells[number]
            try:
                bench.check(cell, number, references[number % len(benches)])
            except (Failure, subprocess.TimeoutExpired) as failure:
                ranks, threads, simd, sharded, resumed = cell
                return (f"{bench.objective} on {ranks} ranks of {threads} threads, WINNOW_SIMD={simd}"
                        f"{', sharded' if sharded else ''}{', resumed' if resumed else ''}: {failure}")
            return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            references = list(pool.map(reference, benches))
            failures = [failure for failure in pool.map(check, range(len(cells))) if failure]
        if len({model for model, _, _ in references}) != len(benches):
            failures.append("two objectives have one model")
    print("\n".join(failures))
    print(f"{len(cells)} runs of {len(benches)} objectives: {len(failures)} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
