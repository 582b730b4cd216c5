"""Makes the tables of bench-fronts' recorded problems: for each table of bench/search/recorded_table.h given, one with the
size of its model, which follows from the configuration; and with --gbdt, winnow-gbdt's AUC and time of a prediction.

    bench/search/make_front_tables.py --into DIR [--gbdt build/bin/winnow-gbdt --data examples/data/direct-marketing] FILE.tab.gz ...

A table's problem is then DIR/NAME.error.tab+DIR/NAME.size.tab, that of winnow-gbdt DIR/gbdt.error.tab+DIR/gbdt.time.tab."""

import argparse
import gzip
import itertools
import json
import math
import pathlib
import random
import subprocess
import tempfile

# Weights of an operation of a cell of NAS-Bench-201, in squares of its channels.
CELL = {"nor_conv_1x1": 1, "nor_conv_3x3": 9}


def weights(inputs, widths, outputs):
    sides = [inputs, *widths, outputs]
    return sum((before + 1) * after for before, after in zip(sides, sides[1:]))


def size(values):
    """The number of weights, of a cell in units; None: the table says nothing of it."""
    if "n_units_1" in values:  # FCNet on protein structure: 9 inputs, one output
        return weights(9, [values["n_units_1"], values["n_units_2"]], 1)
    if "depth" in values and "width" in values:  # HPOBench's MLP on phoneme: 5 inputs, two classes
        return weights(5, [values["width"]] * int(values["depth"]), 2)
    if "op0" in values:
        return 1 + sum(CELL.get(values[f"op{i}"], 0) for i in range(6))
    if "hidden" in values:  # an MLP on digits: 64 inputs, ten classes
        return weights(64, [values["hidden"]], 10)
    return None


def derive(path, folder):
    name = path.name.split(".")[0]
    lines = (gzip.open(path, "rt") if path.suffix == ".gz" else open(path)).read().splitlines()
    goal, kind, levels, count, rows = lines[0].split()
    parameters = [line.split() for line in lines[1:1 + int(count)]]
    choices = [[float(word) for word in p[2:]] if p[1] == "disc" else p[2:] for p in parameters]
    body = lines[1 + int(count):]
    if kind == "grid":
        found = itertools.product(*choices)
    else:
        found = ([choices[i][int(float(number))] if p[1] == "cat" else float(number)
                  for i, (p, number) in enumerate(zip(parameters, line.split()))] for line in body)
    sizes = [size(dict(zip((p[0] for p in parameters), row))) for row in found]
    if None in sizes:
        raise SystemExit(f"{path}: its hyperparameters do not tell the size of the model")
    (folder / f"{name}.error.tab").write_text("\n".join(lines) + "\n")
    text = [f"minimize {kind} 1 {count} {rows}", *lines[1:1 + int(count)]]
    for line, weights_of in zip(body, sizes):
        at = "" if kind == "grid" else " ".join(line.split()[:int(count)]) + " "
        text.append(f"{at}{math.log10(weights_of):.6f}")
    (folder / f"{name}.size.tab").write_text("\n".join(text) + "\n")


SPACE = [("eta", "float", 0.01, 0.5, "log"), ("max_depth", "int", 2, 10, "lin"), ("max_leaves", "int", 4, 256, "log"),
         ("min_child_weight", "float", 0.5, 50, "log"), ("subsample", "float", 0.3, 1, "lin")]
ROUNDS = 81


def draw(dice, least, most, kind, scale):
    value = math.exp(dice.uniform(math.log(least), math.log(most))) if scale == "log" else dice.uniform(least, most)
    return round(value) if kind == "int" else value


def record(program, data, rows, folder):
    dice = random.Random(1)
    tables = {"error": [], "time": []}
    for _ in range(rows):
        values = [draw(dice, least, most, kind, scale) for _, kind, least, most, scale in SPACE]
        with tempfile.TemporaryDirectory() as work:
            given = {name: value for (name, *_), value in zip(SPACE, values)}
            given |= {"objective": "binary:logistic", "eval_metric": "auc", "num_round": ROUNDS, "prediction_time": True}
            hyperparameters = pathlib.Path(work, "hyperparameters.json")
            hyperparameters.write_text(json.dumps(given))
            done = subprocess.run([program, "--train", data / "train.csv", "--validation", data / "validation.csv",
                                   "--label", "y_yes", "--threads", "1", "--hyperparameters", hyperparameters,
                                   "--model-dir", work], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        curves = {"error": [], "time": []}
        for line in done.stdout.splitlines():
            for part in line.split("\t")[1:]:
                name, value = part.rsplit(":", 1)
                if name == "validation-auc":
                    curves["error"].append(1 - float(value))
                if name.startswith("prediction"):
                    curves["time"].append(math.log10(float(value)))
        for metric, curve in curves.items():
            tables[metric].append(" ".join(map(str, values + curve)))
    for metric, lines in tables.items():
        head = [f"minimize rows {len(lines[0].split()) - len(SPACE)} {len(SPACE)} {rows}",
                *(" ".join(map(str, parameter)) for parameter in SPACE)]
        (folder / f"gbdt.{metric}.tab").write_text("\n".join(head + lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", type=pathlib.Path)
    parser.add_argument("--into", required=True, type=pathlib.Path)
    parser.add_argument("--gbdt", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=300)
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    for table in given.tables:
        derive(table, given.into)
    if given.gbdt:
        record(given.gbdt, given.data, given.rows, given.into)


if __name__ == "__main__":
    main()
