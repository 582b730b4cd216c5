"""The bank data as the published experiment prepares them: arrays for XGBoost, files for Winnow's channels.

The post repeats each training and validation row 100 times to make the job big enough. A row that stands r times with
weight 100 / r has the same gradients, hessians and metrics as one that stands 100 times, so r changes no result (but
for rounding) and only says how much work a round is: REPETITION is the least at which a trial's training is much longer
than the start of its processes, and at which everything fits half an hour on 2 processors.
"""

import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import prepare_direct_marketing as preparation  # noqa: E402

COPIES = 100  # of each row, in the post
REPETITION = 8
BLOG, OTHER = "85/5/10", "70/20/10"  # the post's split; that of two notebooks beside it
SHARDS = 3
LABEL, WEIGHT = preparation.LABEL + "_yes", "weight"
SHUFFLED, THIRDS, BY_DATE = "shuffled copies", "shuffled thirds", "in date order"
SHARDINGS = (SHUFFLED, THIRDS, BY_DATE)


class Part:
    """Rows of a split: `position` of each in the published file, which is ordered by date."""

    def __init__(self, position, values):
        self.position, self.labels, self.features = position, values[:, 0], values[:, 1:]


class Bank:
    """The prepared table: names of its columns, label first, and its lines in the order of the file."""

    def __init__(self, source):
        self.names, self.lines = preparation.prepare(preparation.read_table(str(source)))
        self.values = numpy.loadtxt(self.lines, delimiter=",", dtype=numpy.float32)
        self.order = numpy.array(preparation.shuffled_indices(len(self.lines)))

    def split(self, name):
        """{"train", "validation", "test": Part}."""
        first, second = (int(share * len(self.order)) for share in preparation.SPLITS[name])
        cut = {"train": self.order[:first], "validation": self.order[first:second], "test": self.order[second:]}
        return {part: Part(rows, self.values[rows]) for part, rows in cut.items()}

    def write(self, path, positions, weight):
        """A file of the rows at these positions, all of one weight."""
        tail = f",{weight:g}\n"
        with open(path, "w", encoding="ascii") as file:
            file.write(",".join([*self.names, WEIGHT]) + "\n")
            file.writelines(self.lines[position] + tail for position in positions)


def shard_weights(rows, sharding, seed, shards=SHARDS):
    """For each shard the rows in it (indices into a part of which `rows` holds the positions by date) and their
    weights, as if every row stood COPIES times. SHUFFLED is what the notebook makes: all copies shuffled, then cut."""
    draw = numpy.random.default_rng(seed)
    if sharding == SHUFFLED:
        copies = numpy.repeat(numpy.arange(len(rows)), COPIES)
        draw.shuffle(copies)
        counts = [numpy.bincount(piece, minlength=len(rows)) for piece in numpy.array_split(copies, shards)]
        return [(numpy.nonzero(count)[0], count[count > 0]) for count in counts]
    indices = numpy.argsort(rows, kind="stable") if sharding == BY_DATE else draw.permutation(len(rows))
    return [(piece, numpy.full(len(piece), COPIES)) for piece in numpy.array_split(indices, shards)]


def repeated(positions, repetition, seed):
    """Each position `repetition` times, shuffled."""
    rows = numpy.repeat(positions, repetition)
    numpy.random.default_rng(seed).shuffle(rows)
    return rows


class Files:
    """What channels name, written when it is asked for first."""

    def __init__(self, bank, folder, repetition, seed=0):
        self.bank, self.folder, self.repetition, self.seed = bank, pathlib.Path(folder), repetition, seed

    def channels(self, split, sharding=None):
        """Train and validation of a job. With a sharding, each rank reads its own file of a folder: SHUFFLED rows, or
        those of a third of the time each (BY_DATE)."""
        folder = self.folder / split.replace("/", "-")
        kind = {None: "whole", SHUFFLED: "shuffled", BY_DATE: "by-date"}[sharding]
        train = folder / kind / "train.csv" if sharding is None else folder / kind
        if not (folder / kind).exists():
            self._write(folder, kind, self.bank.split(split))
        columns = {"label": LABEL, "weight": WEIGHT}
        channels = {"train": {"path": str(train), **columns},
                    "validation": {"path": str(folder / "validation.csv"), **columns}}
        if sharding is not None:
            channels["train"]["distribution"] = "sharded"
        return channels

    def _write(self, folder, kind, parts):
        weight = COPIES / self.repetition
        (folder / kind).mkdir(parents=True)
        # AUC does not change when all rows have one weight: validation rows need no repetition.
        self.bank.write(folder / "validation.csv", parts["validation"].position, COPIES)
        rows = parts["train"].position
        if kind == "by-date":
            pieces = [repeated(piece, self.repetition, self.seed)
                      for piece in numpy.array_split(numpy.sort(rows), SHARDS)]
        else:
            pieces = numpy.array_split(repeated(rows, self.repetition, self.seed), 1 if kind == "whole" else SHARDS)
        for number, piece in enumerate(pieces):
            name = "train.csv" if kind == "whole" else f"part-{number}.csv"
            self.bank.write(folder / kind / name, piece, weight)
