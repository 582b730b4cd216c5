#!/usr/bin/env python3
"""Prepares the Bank Marketing data (bank-additional-full.csv) as the published direct-marketing experiment does.

Two indicator columns are added, text columns become one 0/1 column a level, the columns that are only known after
a call or that describe the economy are dropped, and the rows are shuffled and cut into train, validation and test.

Writes train.csv, validation.csv and test.csv: separated by commas, with a header, the label y_yes first. The same
input gives the same bytes, and a file appears under its name only when all three are whole.
"""

import argparse
import csv
import gzip
import io
import os
import random
import sys
import zlib

NUMERIC = ["age", "campaign", "pdays", "previous"]
TEXT = ["job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week", "poutcome"]
DROPPED = ["duration", "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed"]
LABEL = "y"
NOT_WORKING = {"student", "retired", "unemployed"}
SPLITS = {"70/20/10": (0.7, 0.9), "85/5/10": (0.85, 0.9)}
SHUFFLE_SEED = 1729


class InputError(Exception):
    """The input is not the table that is expected; the text says where and why."""


def shuffled_indices(count, seed=SHUFFLE_SEED):
    """0 .. count-1 in the order of pandas' sample(frac=1, random_state=seed): a Fisher-Yates shuffle from the end,
    its draws taken from the Mersenne Twister (seeded as by std::mt19937) by masking and rejection."""
    state = [seed]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
    twister = random.Random()
    twister.setstate((3, tuple(state) + (624,), None))
    draw = twister.getrandbits
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        mask = (1 << i.bit_length()) - 1
        j = draw(32) & mask
        while j > i:
            j = draw(32) & mask
        order[i], order[j] = order[j], order[i]
    return order


def read_table(path):
    """The columns of `path` by name, each a list of texts."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), delimiter=";")
    header = next(rows, [])
    expected = set(NUMERIC + TEXT + DROPPED + [LABEL])
    for name in sorted(expected - set(header)):
        raise InputError(f"{path}:1: no column {name!r}; expected the semicolon-separated bank-additional-full.csv")
    records = []
    for record in rows:
        if len(record) != len(header):
            raise InputError(f"{path}:{rows.line_num}: {len(record)} fields found, expected {len(header)}")
        records.append(record)
    if not records:
        raise InputError(f"{path}: a header but no rows")
    return dict(zip(header, map(list, zip(*records))))


def prepare(table):
    """The names of the prepared columns, label first, and the rows as lines of text, in the order of the input."""
    for name in NUMERIC:
        for line, value in enumerate(table[name], start=2):
            if not value.lstrip("-").isdigit():
                raise InputError(f"line {line}: column {name!r}: {value!r}; expected a whole number")
    levels = {name: sorted(set(table[name]), key=lambda level: level.encode()) for name in TEXT}
    if sorted(set(table[LABEL])) != ["no", "yes"]:
        raise InputError(f"column {LABEL!r} holds {sorted(set(table[LABEL]))}; expected both 'no' and 'yes'")

    names = ["y_yes", *NUMERIC, "no_previous_contact", "not_working"]
    columns = [["1" if value == "yes" else "0" for value in table[LABEL]]]
    columns += [table[name] for name in NUMERIC]
    columns.append(["1" if value == "999" else "0" for value in table["pdays"]])
    columns.append(["1" if value in NOT_WORKING else "0" for value in table["job"]])
    for name in TEXT:
        names += [f"{name}_{level}" for level in levels[name]]
        # A text column's one-hot columns as one piece of text: "0,1,0".
        piece = {}
        for i, level in enumerate(levels[name]):
            piece[level] = ",".join("1" if j == i else "0" for j in range(len(levels[name])))
        columns.append([piece[value] for value in table[name]])
    return names, [",".join(row) for row in zip(*columns)]


def write_parts(folder, names, lines, split):
    """Writes the three parts; returns {part: (rows, positives)}."""
    first_cut, second_cut = (int(share * len(lines)) for share in SPLITS[split])
    order = shuffled_indices(len(lines))
    parts = {"test": order[second_cut:], "validation": order[first_cut:second_cut], "train": order[:first_cut]}
    os.makedirs(folder, exist_ok=True)
    unfinished = {}
    try:
        for part, indices in parts.items():
            unfinished[part] = os.path.join(folder, f".{part}.csv.{os.getpid()}")
            with open(unfinished[part], "w", encoding="utf-8", newline="\n") as file:
                file.write(",".join(names) + "\n")
                file.writelines(lines[i] + "\n" for i in indices)
        for part in list(unfinished):  # train.csv last: once it is there, all are
            os.replace(unfinished[part], os.path.join(folder, f"{part}.csv"))
            del unfinished[part]
    finally:
        for path in unfinished.values():
            if os.path.exists(path):
                os.remove(path)
    return {part: (len(i), sum(lines[k][0] == "1" for k in i)) for part, i in parts.items()}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", required=True, help="bank-additional-full.csv, plain or gzip")
    parser.add_argument("--output", required=True, help="folder for train.csv, validation.csv and test.csv")
    parser.add_argument("--split", choices=sorted(SPLITS), default="70/20/10", help="train/validation/test, percent")
    options = parser.parse_args(arguments)
    try:
        names, lines = prepare(read_table(options.input))
        counts = write_parts(options.output, names, lines, options.split)
    except (InputError, UnicodeDecodeError, csv.Error) as error:
        where = "" if str(error).startswith(options.input) else f"{options.input}: "
        print(f"prepare_direct_marketing: {where}{error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"prepare_direct_marketing: {options.output}: cannot be written: {error}", file=sys.stderr)
        return 1
    for part in ("train", "validation", "test"):
        rows, positives = counts[part]
        print(f"{options.output}/{part}.csv: {rows} rows, {positives} positive, {len(names) - 1} features")
    return 0


if __name__ == "__main__":
    sys.exit(main())
