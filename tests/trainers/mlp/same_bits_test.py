#!/usr/bin/env python3
"""One network to the bit: winnow-mlp on 1 to 4 ranks, 1 and 2 threads, with the kernels of each instruction set that
rounds alike, each rank reading all files or its own, in one go or going on from the checkpoint of another number of
ranks, writes the model.safetensors and the checkpoint and prints the metrics that it does alone in one thread. With
every optimizer, loss and way of leaving rows or units out, on images and on a table with gaps and texts.

Every case meets every number of ranks under every distribution; the cells of the other grid are dealt out.
Usage: same_bits_test.py WINNOW_MLP. Needs MNIST's training files and bank-additional-full.csv.gz in the folder that
WINNOW_DATA_DIR names; without them the program says so and ends with code 77, which CTest counts as skipped."""

import concurrent.futures
import csv
import gzip
import itertools
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from free_port import free_port  # noqa: E402

TRAIN_ROWS, VALIDATION_ROWS = 1200, 320
PARTS = 4  # files of each folder: one for each of the most ranks
EPOCHS = 3
GAPS = 0.05  # the share of cells that are left out
DEADLINE = 60  # seconds for one run, which takes less than one
TEXTS = ["job", "marital", "contact", "month"]
FEATURES = ["age", "campaign", "pdays", "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", *TEXTS]
LABELS, WEIGHT = ["yes", "seconds", "education"], "weight"

RANKS, THREADS = (1, 2, 3, 4), (1, 2)
TEACHER = "the-teacher"
# "": the widest of the machine. Of bf16 products, those of sets that have them are like no other's.
FUSING = ("avx2", "avx512", "")
ROUNDING_BF16_ALIKE = ("avx2", "avx512")
DISTRIBUTIONS = ("ALL_REDUCE", "ZERO", "PIPELINE")
OF_TIME = ("samples-per-second", "bubble-share")  # metrics that no two runs share

SGD = {"learning_rate": 0.05, "momentum": 0.9}
ADAM = {"learning_rate": 0.003}
SIFTING = {**SGD, "sift_beta": 1, "sift_delay": 0.5, "loss_history_length": 300}

# Name, data, hyperparameters. "yes", "seconds" and "education" are labels of the table; with "+" rows have weights.
CASES = [
    ("sgd", "images", {"learning_rate": 0.1}),
    ("momentum", "images", SGD),
    ("nesterov", "images", {**SGD, "nesterov": True, "weight_decay": 0.001, "schedule": "cosine"}),
    ("adam", "images", {**ADAM, "optimizer": "adam", "weight_decay": 0.001, "activation": "gelu"}),
    ("adamw", "images", {**ADAM, "optimizer": "adamw", "weight_decay": 0.1, "warmup_epochs": 1.5}),
    ("lamb", "images", {**ADAM, "optimizer": "lamb", "weight_decay": 0.01, "activation": "tanh"}),
    ("dropout", "images", {**SGD, "dropout": 0.3, "input_dropout": 0.1}),
    ("batch norm", "images", {**SGD, "batch_norm": "synchronised", "activation": "leaky_relu"}),
    ("clipping", "images", {**SGD, "clip_norm": 0.5, "schedule": "step", "step_epochs": 1, "step_factor": 0.5}),
    ("bf16", "images", {**SGD, "precision": "bf16"}),
    ("bf16 with all", "images", {**ADAM, "optimizer": "adam", "precision": "bf16", "dropout": 0.2, "clip_norm": 1,
                                 "batch_norm": "synchronised", "batch_size": 101, "sift_beta": 0.5}),
    ("sifting", "images", SIFTING),
    ("sifting with reuse", "images", {**SIFTING, "sift_reuse_epochs": 2, "dropout": 0.1}),
    ("smoothing", "images", {**SGD, "label_smoothing": 0.1, "eval_metric": "top3,auc,logloss,accuracy"}),
    ("teacher", "images", {**SGD, "teacher": None, "teacher_temperature": 3, "teacher_weight": 0.7}),
    ("odd batches", "images", {**SGD, "batch_size": 37, "virtual_shards": 5}),
    ("large batches", "images", {"batch_size": 1200, "virtual_shards": 24}),
    ("small batches", "images", {"batch_size": 7, "virtual_shards": 7, "learning_rate": 0.01}),
    ("many layers", "images", {**ADAM, "optimizer": "adam", "hidden_layers": "40,33,17,16,15,1,9",
                               "weight_init": "glorot", "activation": "tanh"}),
    ("logistic", "yes", {**SGD, "loss": "logistic", "eval_metric": "auc,logloss,error"}),
    ("weighted logistic", "yes+", {**ADAM, "optimizer": "adam", "loss": "logistic"}),
    ("regression", "seconds", {"learning_rate": 0.01, "loss": "mse", "clip_norm": 1, "eval_metric": "mae,rmse"}),
    ("weighted regression", "seconds+", {**ADAM, "optimizer": "lamb", "loss": "huber", "batch_size": 129}),
    ("text classes", "education", {**SGD, "batch_norm": "synchronised", "dropout": 0.1}),
    ("early stopping", "education+", {**SGD, "early_stopping_epochs": 2, "sift_beta": 1, "sift_delay": 1}),
]


def skip(reason):
    print(f"SKIPPED: {reason}", file=sys.stderr)
    sys.exit(77)


def part_of(rows, part):
    """Rows of a part: all of different sizes."""
    bounds = [0, rows // 3, rows // 2 + 7, rows - rows // 5, rows]
    return range(bounds[part], bounds[part + 1])


def write_images(source, folder):
    """The folders images/train and images/validation, of files of images and of labels."""
    pixels = gzip.open(source / "train-images-idx3-ubyte.gz").read()[16:]
    labels = gzip.open(source / "train-labels-idx1-ubyte.gz").read()[8:]
    size = 28 * 28
    for name, first, rows in (("train", 0, TRAIN_ROWS), ("validation", TRAIN_ROWS, VALIDATION_ROWS)):
        (folder / "images" / name).mkdir(parents=True)
        for part in range(PARTS):
            own = part_of(rows, part)
            begin, end = first + own.start, first + own.stop
            (folder / f"images/{name}/part{part}-images-idx3-ubyte").write_bytes(
                struct.pack(">4I", 0x803, len(own), 28, 28) + pixels[begin * size:end * size])
            (folder / f"images/{name}/part{part}-labels-idx1-ubyte").write_bytes(
                struct.pack(">2I", 0x801, len(own)) + labels[begin:end])


def write_tables(source, folder):
    """The folders table/train and table/validation."""
    with gzip.open(source / "bank-additional-full.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    draw = random.Random(11)
    draw.shuffle(rows)
    for name, first, count in (("train", 0, TRAIN_ROWS), ("validation", TRAIN_ROWS, VALIDATION_ROWS)):
        (folder / "table" / name).mkdir(parents=True)
        for part in range(PARTS):
            with open(folder / f"table/{name}/part-{part}.csv", "w", encoding="utf-8", newline="") as file:
                out = csv.writer(file, lineterminator="\n")
                out.writerow(FEATURES + LABELS + [WEIGHT])
                for number in part_of(count, part):
                    row = rows[first + number]
                    cells = ["" if draw.random() < GAPS else row[feature] for feature in FEATURES]
                    labels = [row["y"], float(row["duration"]) / 60, row["education"]]
                    out.writerow(cells + labels + [draw.choice([0, 0.25, 1, 3.7])])


def lines_without_times(lines):
    return [[field for field in line.split("\t") if not field.startswith(OF_TIME)] for line in lines.splitlines()]


def checkpoint_without_times(data):
    """A checkpoint's bytes before and behind its history, without the checksum, and its history by metric."""
    at = len(b"winnow-mlp checkpoint\n")

    def number():
        nonlocal at
        at += 8
        return struct.unpack_from("=Q", data, at - 8)[0]

    def text():
        nonlocal at
        size = number()
        at += size
        return data[at - size:at]

    number()  # the version
    for _ in range(2 * number()):
        text()  # hyperparameters
    for _ in range(4):
        text()  # parameters, two slots of the optimizer, statistics
    number(), text(), number(), number(), text(), number()  # up to the number of outputs
    before = data[:at]
    names = [text().decode() for _ in range(number())]
    history = [[number() for _ in range(number())] for _ in range(number())]
    return before, {name: values for name, values in zip(names, zip(*history)) if name not in OF_TIME}, data[at:-8]


class Failure(Exception):
    pass


class Bench:
    """One case's runs, and where they leave what they make."""

    def __init__(self, binary, folder, name, data, hyperparameters):
        self.name, self.binary, self.data = name, binary, folder
        self.folder = folder / name.replace(" ", "-")
        self.folder.mkdir()
        self.hyperparameters = {"hidden_layers": "24,16", "batch_size": 96, "epochs": EPOCHS, **hyperparameters}
        if "teacher" in hyperparameters:
            self.hyperparameters["teacher"] = str(folder / TEACHER / "taught/model/model.safetensors")
        self.channel, self.table = {}, "images"
        if data != "images":
            self.table, label = "table", data.rstrip("+")
            self.channel = {"label": label, "drop": [name for name in LABELS if name != label]}
            if data.endswith("+"):
                self.channel["weight"] = WEIGHT
            else:
                self.channel["drop"].append(WEIGHT)
        self.distributions = [distribution for distribution in DISTRIBUTIONS
                              if distribution != "PIPELINE" or "batch_norm" not in hyperparameters]
        self.simd = FUSING if hyperparameters.get("precision") != "bf16" else ROUNDING_BF16_ALIKE

    def run(self, name, distribution, ranks, threads, simd, sharded, cached, epochs=EPOCHS, checkpoints=None):
        """Model, checkpoint and printed lines, the latter without times."""
        folder = self.folder / name
        folder.mkdir()
        checkpoints = checkpoints or folder / "checkpoints"
        channel = {**self.channel, "distribution": "sharded" if sharded else "replicated"}
        hyperparameters = {**self.hyperparameters, "distribution": distribution, "nthread": threads}
        environment = {"PATH": os.environ["PATH"], "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port()), "WINNOW_TRIAL": f"{self.folder.name} {name}",
                       "WINNOW_CACHE_DIR": str(self.data / "cache") if cached else "off",
                       "SM_HPS": json.dumps(hyperparameters), "WINNOW_SEED": "7",
                       "SM_CHANNEL_TRAIN": str(self.data / self.table / "train"),
                       "SM_CHANNEL_VALIDATION": str(self.data / self.table / "validation"),
                       "SM_INPUT_DATA_CONFIG": json.dumps({"train": channel, "validation": channel}),
                       "SM_MODEL_DIR": str(folder / "model"), "WINNOW_CHECKPOINT_DIR": str(checkpoints),
                       "WINNOW_RESOURCE_FROM": "0", "WINNOW_RESOURCE_TO": str(epochs)}
        if simd:
            environment["WINNOW_SIMD"] = simd
        running = []
        for rank in range(ranks):
            with open(folder / f"out-{rank}", "w") as out, open(folder / f"err-{rank}", "w") as err:
                running.append(subprocess.Popen([self.binary], stdout=out, stderr=err,
                                                env={**environment, "RANK": str(rank)}))
        try:
            codes = [process.wait(DEADLINE) for process in running]
        finally:
            for process in running:
                process.kill()
        errors = "".join((folder / f"err-{rank}").read_text() for rank in range(ranks))
        if any(codes) or errors:  # errors are also what says that a checkpoint was not gone on from
            raise Failure(f"exit codes {codes}: {errors.strip()}")
        if any((folder / f"out-{rank}").read_text() for rank in range(1, ranks)):
            raise Failure("a rank beyond 0 prints metrics")
        return ((folder / "model/model.safetensors").read_bytes(),
                checkpoint_without_times((checkpoints / f"checkpoint-{epochs:08}.mlp").read_bytes()),
                lines_without_times((folder / "out-0").read_text()))

    def reference(self, distribution):
        return self.run(f"reference-{distribution}", distribution, 1, 1, self.simd[0], False, False)

    def check(self, distribution, ranks, cell, number, reference):
        """Raises a Failure where the run of this cell is not the reference's."""
        threads, simd, sharded, resumed = cell
        simd = self.simd[simd % len(self.simd)]
        cached, checkpoints = number % 3 == 0, None
        if resumed:  # the first epochs were of another number of ranks, threads and another way of reading
            checkpoints = self.folder / f"checkpoints-{number}"
            other = [count for count in RANKS if count != ranks][number % (len(RANKS) - 1)]
            self.run(f"first-{number}", distribution, other, 3 - threads, self.simd[0], not sharded, cached,
                     1 + number % (EPOCHS - 1), checkpoints)
        made = self.run(f"run-{number}", distribution, ranks, threads, simd, sharded, cached, EPOCHS, checkpoints)
        for what, mine, theirs in zip(("model", "checkpoint", "lines"), made, reference):
            if mine != theirs:
                raise Failure(f"another {what}" + (f":\n{mine}instead of\n{theirs}" if what == "lines" else ""))


def weights_of(model):
    """The tensors of a model.safetensors, without the hyperparameters beside them."""
    size = struct.unpack_from("<Q", model)[0]
    header = json.loads(model[8:8 + size])
    header.pop("__metadata__")
    return header, model[8 + size:]


def make_jobs(benches):
    """(bench, distribution, ranks, (threads, number of the instruction set, sharded, resumed)), each once."""
    draw, dealt, jobs = random.Random(3), [], []
    cells = [(bench, distribution) for bench in benches for distribution in bench.distributions]
    for (bench, distribution), ranks in itertools.product(cells, RANKS):
        if not dealt:
            dealt = list(itertools.product(THREADS, range(len(FUSING)), (False, True), (False, True)))
            draw.shuffle(dealt)
        jobs.append((bench, distribution, ranks, dealt.pop()))
    return jobs


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = pathlib.Path(os.environ.get("WINNOW_DATA_DIR", ""))
    for name in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "bank-additional-full.csv.gz"):
        if "WINNOW_DATA_DIR" not in os.environ or not (source / name).is_file():
            skip(f"WINNOW_DATA_DIR does not name a folder with {name}")
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="winnow-same-bits-") as name:
        folder = pathlib.Path(name)
        write_images(source, folder)
        write_tables(source, folder)
        Bench(binary, folder, TEACHER, "images", ADAM).run("taught", "ALL_REDUCE", 1, 2, "", False, False)
        benches = [Bench(binary, folder, *case) for case in CASES]
        jobs = make_jobs(benches)

        def reference(key):
            bench, distribution = key
            try:
                return bench.reference(distribution)
            except (Failure, OSError, subprocess.TimeoutExpired) as failure:
                sys.exit(f"{bench.name}, {distribution}, alone: {failure}")

        def check(number):
            bench, distribution, ranks, cell = jobs[number]
            try:
                bench.check(distribution, ranks, cell, number, references[bench, distribution])
            except (Failure, OSError, subprocess.TimeoutExpired) as failure:
                threads, simd, sharded, resumed = cell
                return (f"{bench.name}, {distribution} on {ranks} ranks of {threads} threads, instruction set {simd}"
                        f"{', sharded' if sharded else ''}{', resumed' if resumed else ''}: {failure}")
            return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            keys = [(bench, distribution) for bench in benches for distribution in bench.distributions]
            references = dict(zip(keys, pool.map(reference, keys)))
            failures = [failure for failure in pool.map(check, range(len(jobs))) if failure]
    for bench, distribution in keys:
        if weights_of(references[bench, distribution][0]) != weights_of(references[bench, DISTRIBUTIONS[0]][0]):
            failures.append(f"{bench.name}: {distribution} makes other weights than {DISTRIBUTIONS[0]}")
    if len({weights_of(references[bench, DISTRIBUTIONS[0]][0])[1] for bench in benches}) != len(benches):
        failures.append("two cases have the same weights")
    print("\n".join(failures))
    print(f"{len(jobs)} runs of {len(benches)} cases: {len(failures)} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
