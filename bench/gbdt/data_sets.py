"""The data sets of the boosted-tree benchmarks: made once from fixed seeds into a folder, as text files that every
system reads (CSV without a header, the label first; LIBSVM for the sparse ones). XGBoost and LightGBM read no texts:
a set with a text column has the same rows one-hot for them."""

import functools
import os
import pathlib
import subprocess
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHUNK = 4096  # rows formatted at a time


class DataSet:
    """Where a data set lies and what is asked of it. metric: auc, rmse or mlogloss, of the validation part."""

    # levels: of its text column, if there is one; then peer_train and peer_validation are its one-hot form.
    def __init__(self, name, folder, objective, metric, rounds, suffix="csv", classes=0, levels=0):
        self.name, self.objective, self.metric, self.rounds, self.classes = name, objective, metric, rounds, classes
        self.suffix, self.levels = suffix, levels
        self.train, self.validation = folder / f"train.{suffix}", folder / f"validation.{suffix}"
        peer_suffix = "libsvm" if levels else suffix
        self.peer_train, self.peer_validation = folder / f"train.{peer_suffix}", folder / f"validation.{peer_suffix}"


def write_csv(path, label, table):
    line = "%.6g," + ",".join(["%.5g"] * table.shape[1]) + "\n"
    with open(path, "w", encoding="ascii") as file:
        for begin in range(0, len(label), CHUNK):
            rows = table[begin:begin + CHUNK].tolist()
            file.writelines(line % (y, *row) for y, row in zip(label[begin:begin + CHUNK].tolist(), rows))


def write_libsvm(path, label, levels, width):
    """Column i of `levels` becomes the one-hot features i * width + 1 .. (i + 1) * width."""
    indices = levels + numpy.arange(levels.shape[1]) * width + 1
    line = "%d " + " ".join(["%d:1"] * levels.shape[1]) + "\n"
    with open(path, "w", encoding="ascii") as file:
        file.writelines(line % (y, *row) for y, row in zip(label.tolist(), indices.tolist()))


def write_entries(path, label, entries):
    """entries: the indices and the values of each row."""
    with open(path, "w", encoding="ascii") as file:
        for y, (indices, values) in zip(label.tolist(), entries):
            cells = " ".join(f"{index + 1}:{value:g}" for index, value in zip(indices.tolist(), values.tolist()))
            file.write(f"{y} {cells}\n")


def write_text(path, label, texts, numbers):
    """A text column and a column of numbers, as CSV."""
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{y},t{text:04d},{number:.4g}\n"
                        for y, text, number in zip(label.tolist(), texts.tolist(), numbers.tolist()))


def write_one_hot_text(path, label, texts, numbers):
    """The same as write_text one-hot, in LIBSVM."""
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{y} {text + 1}:1 {TEXT_LEVELS + 1}:{number:.4g}\n"
                        for y, text, number in zip(label.tolist(), texts.tolist(), numbers.tolist()))


def chance(rng, score):
    return (rng.random(len(score)) < 1 / (1 + numpy.exp(-score))).astype(int)


def make_higgs_like(rows, seed):
    """21 measured quantities and 7 derived from them, as in the HIGGS data; the classes overlap."""
    rng = numpy.random.default_rng(seed)
    measured = rng.normal(size=(rows, 21)).astype(numpy.float32)
    measured[:, 0:7] = numpy.exp(measured[:, 0:7] / 2)
    measured[:, 7:14] = rng.uniform(-numpy.pi, numpy.pi, size=(rows, 7))
    p, phi, eta = measured[:, 0:7], measured[:, 7:14], measured[:, 14:21]
    shifted = numpy.roll(numpy.arange(7), -1)
    derived = numpy.sqrt(p * p[:, shifted] * numpy.abs(numpy.cosh(numpy.clip(eta - eta[:, shifted], -3, 3))
                                                       - numpy.cos(phi - phi[:, shifted])))
    score = (numpy.sin(derived[:, 0] * 2) + 0.8 * (derived[:, 1] > 1.5) * eta[:, 3] - 0.7 * derived[:, 2]
             + numpy.cos(phi[:, 4]) * p[:, 4] + 0.5 * eta[:, 5] * eta[:, 6])
    return chance(rng, 1.2 * (score - score.mean())), numpy.hstack([measured, derived.astype(numpy.float32)])


def make_friedman_like(rows, seed, columns=100):
    rng = numpy.random.default_rng(seed)
    table = rng.random((rows, columns)).astype(numpy.float32)
    label = sum(10 * numpy.sin(numpy.pi * table[:, i] * table[:, i + 1]) + 20 * (table[:, i + 2] - 0.5) ** 2
                + 10 * table[:, i + 3] + 5 * table[:, i + 4] for i in range(0, 25, 5))
    return label + rng.normal(size=rows), table


def make_one_hot(rows, seed, columns=25, width=20):
    """Levels of `columns` text columns, frequent ones first; effects are the same for every seed."""
    effects = numpy.random.default_rng(1).normal(size=(columns, width)) / 3
    pairs = numpy.random.default_rng(2).normal(size=(columns // 2, width, width)) / 3
    rng = numpy.random.default_rng(seed)
    frequency = 1 / numpy.arange(1, width + 1)
    levels = rng.choice(width, size=(rows, columns), p=frequency / frequency.sum())
    score = effects[numpy.arange(columns), levels].sum(axis=1)
    score += sum(pairs[i][levels[:, 2 * i], levels[:, 2 * i + 1]] for i in range(columns // 2))
    return chance(rng, score), levels


def make_sparse(rows, seed, columns, present=50):
    """Rows of at most `present` values in columns that are drawn evenly; effects are the same for every seed."""
    effects = numpy.random.default_rng(1).normal(size=columns)
    rng = numpy.random.default_rng(seed)
    indices = [numpy.unique(rng.integers(columns, size=present)) for _ in range(rows)]
    entries = [(of_row, numpy.round(rng.exponential(size=len(of_row)) + 0.01, 3)) for of_row in indices]
    score = numpy.array([effects[of_row] @ values for of_row, values in entries])
    return chance(rng, score / 4), entries


TEXT_LEVELS = 5000


def make_text(rows, seed):
    """A text column of TEXT_LEVELS levels, each with an effect, and a column of numbers."""
    effects = numpy.random.default_rng(1).normal(size=TEXT_LEVELS)
    rng = numpy.random.default_rng(seed)
    texts, numbers = rng.integers(TEXT_LEVELS, size=rows), rng.normal(size=rows)
    return chance(rng, effects[texts] + numbers), texts, numbers


def make_tile_sizes(rows, seed):
    """14 columns of 2 to 4 values each, and the logarithm of a running time, as in the SGEMM data."""
    values = [[16, 32, 64, 128]] * 2 + [[16, 32]] + [[8, 16, 32]] * 4 + [[2, 8]] + [[1, 2, 4, 8]] * 2 + [[0, 1]] * 4
    rng = numpy.random.default_rng(seed)
    table = numpy.stack([rng.choice(of_column, size=rows) for of_column in values], axis=1).astype(numpy.float32)
    logs = numpy.log2(table[:, :10])
    label = 8 - 0.5 * logs[:, 0] - 0.4 * logs[:, 1] + 0.3 * (logs[:, 0] - logs[:, 3]) * (logs[:, 1] - logs[:, 4]) / 2
    label += 0.25 * logs[:, 8] * table[:, 12] - 0.2 * logs[:, 9] * (1 - table[:, 13]) + 0.1 * logs[:, 2] * logs[:, 7]
    return label + rng.normal(size=rows) / 10, table


def make_wide(rows, seed, columns=2000):
    rng = numpy.random.default_rng(seed)
    table = rng.normal(size=(rows, columns)).astype(numpy.float32)
    score = sum(table[:, i] * (table[:, i + 1] > 0) for i in range(0, 40, 2))
    return chance(rng, score), table


def make_seven_classes(rows, seed):
    """10 continuous columns and two one-hot groups of 4 and 40, as in the covertype data."""
    rng = numpy.random.default_rng(seed)
    continuous = numpy.round(rng.normal(size=(rows, 10)) * 50 + 200)
    area, soil = rng.integers(4, size=rows), rng.integers(40, size=rows)
    level = (continuous[:, 0] - 200) / 25 + numpy.abs(continuous[:, 1] - 200) / 50 + area * 0.5 + (soil % 7) * 0.4
    level += numpy.sin(continuous[:, 2] / 20) + rng.normal(size=rows) / 2
    table = numpy.hstack([continuous, numpy.eye(4)[area], numpy.eye(40)[soil]])
    return numpy.digitize(level, [-0.5, 0.7, 1.7, 2.6, 3.6, 5.0]), table


def make_direct_marketing(folder):
    """The bank data of scripts/get-data.sh without its headers: the real one where WINNOW_DATA_DIR has it."""
    subprocess.run([ROOT / "scripts/get-data.sh", folder], check=True, stdout=subprocess.DEVNULL)
    for part in ("validation", "train"):
        with open(folder / "direct-marketing" / f"{part}.csv", encoding="utf-8") as file:
            lines = file.readlines()
        (folder / f"{part}.csv").write_text("".join(lines[1:]))


def make_parts(folder, make, rows, write, suffix):
    for part, count, seed in (("validation", rows // 10, 12), ("train", rows, 11)):  # train.csv says that all is there
        write(folder / "unfinished", *make(count, seed))
        os.replace(folder / "unfinished", folder / f"{part}.{suffix}")


# name: objective, metric, rounds, classes, suffix, maker, rows
SETS = {
    "direct-marketing": ("binary:logistic", "auc", 150, 0, "csv", None, 0),
    "dense-1m": ("binary:logistic", "auc", 30, 0, "csv", make_higgs_like, 1_000_000),
    "dense-100k": ("reg:squarederror", "rmse", 100, 0, "csv", make_friedman_like, 100_000),
    "one-hot-200k": ("binary:logistic", "auc", 100, 0, "libsvm", make_one_hot, 200_000),
    "sparse-20k-100k": ("binary:logistic", "auc", 20, 0, "libsvm", functools.partial(make_sparse, columns=100_000),
                        20_000),
    "sparse-100k-10k": ("binary:logistic", "auc", 20, 0, "libsvm", functools.partial(make_sparse, columns=10_000),
                        100_000),
    "sparse-100k-100k": ("binary:logistic", "auc", 20, 0, "libsvm", functools.partial(make_sparse, columns=100_000),
                         100_000),
    "text-300k": ("binary:logistic", "auc", 20, 0, "csv", make_text, 300_000),
    "few-valued-240k": ("reg:squarederror", "rmse", 100, 0, "csv", make_tile_sizes, 241_600),
    "wide-20k": ("binary:logistic", "auc", 50, 0, "csv", make_wide, 20_000),
    "7-class-200k": ("multi:softprob", "mlogloss", 30, 7, "csv", make_seven_classes, 200_000),
}


def get(name, cache):
    """The data set `name`, made in the folder `cache` if it is not there yet."""
    objective, metric, rounds, classes, suffix, make, rows = SETS[name]
    folder = pathlib.Path(cache) / name
    data = DataSet(name, folder, objective, metric, rounds, suffix, classes,
                   levels=TEXT_LEVELS if make is make_text else 0)
    if data.train.exists():  # written last
        return data
    print(f"making {name} in {folder}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    if make is None:
        make_direct_marketing(folder)
        return data
    if data.levels:
        make_parts(folder, make, rows, write_one_hot_text, "libsvm")
    write = write_text if data.levels else write_csv
    if suffix == "libsvm":
        write = write_entries if name.startswith("sparse-") else \
            lambda path, label, levels: write_libsvm(path, label, levels, 20)
    make_parts(folder, make, rows, write, suffix)
    return data


def labels_of(path):
    """The labels of a file written here."""
    with open(path, encoding="ascii") as file:
        return numpy.array([float(line.split("," if path.suffix == ".csv" else " ", 1)[0]) for line in file])
