#!/usr/bin/python3
"""Whether winnow-gbdt's models are as good as XGBoost's (hist): every objective that both have, on data sets of
scikit-learn, the bank data and synthetic ones, over several splits into training and validation rows.

    bench/gbdt/parity.py --bin build/bin [--tables dense,sparse] [--kinds plain,sampled] [--seeds 5]
                         [--rounds 50] [--configurations 50] [--only NAME,...] [--json FILE] [--check] [--xgboost PATH]

The validation metric is computed here from both systems' predictions. The table's difference is winnow-gbdt's metric
less XGBoost's on the same split, paired, with its standard error; "within" says |mean| <= 2 standard errors + the
tolerance of the metric (the column says which), else which way it lies. Each case runs plainly, where both should grow
the same trees but for rounding and cut points, and sampled (subsample, colsample_bytree and colsample_bylevel 0.7),
where they cannot.
--tables sparse: every objective on a table of 1,200 nearly empty columns, which winnow-gbdt keeps as lists of values.
--configurations N: N random configurations of the published direct-marketing ranges on both sides, each under --seeds
seeds, and Spearman's rank correlation of their validation AUCs, beside XGBoost's with itself under other seeds.
--xgboost PATH: another XGBoost's python-package folder than the installed one's. From 2.0 on it estimates base_score;
here it gets winnow-gbdt's, so that the difference is in the trees.
--check: exit code 1 if more than one case in twenty is worse, which chance may do, or one by twice as much, or the
correlation of the means over the seeds is below 0.95. Code 77 (skipped): no XGBoost.
WINNOW_DATA_DIR: folder of the bank data; those cases are left out without it.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before libgomp is loaded
os.environ["WINNOW_CACHE_DIR"] = "off"  # data files made for one run

if "--xgboost" in sys.argv[:-1]:
    sys.path.insert(0, sys.argv[sys.argv.index("--xgboost") + 1])
try:
    import numpy
    import pandas
    import scipy.sparse
    import scipy.stats
    import xgboost

    import parity_cases
except ImportError as missing:
    print(f"SKIPPED: {sys.executable}: {missing}", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAIN = {"eta": 0.3, "max_depth": 4}
SAMPLED = {**PLAIN, "subsample": 0.7, "colsample_bytree": 0.7, "colsample_bylevel": 0.7}
KINDS = {"plain": PLAIN, "sampled": SAMPLED}
WANTED_CORRELATION = 0.95  # of means over the seeds; one seed's AUCs are too noisy for it
ESTIMATED_BY_BOTH = ("reg:absoluteerror", "reg:quantileerror")


class Refused(Exception):
    """winnow-gbdt does not take the hyperparameters."""


def write_csv(path, label, table):
    frame = pandas.DataFrame(table.astype(numpy.float32), columns=[f"f{i}" for i in range(table.shape[1])])
    frame.insert(0, "y", label.astype(numpy.float32))
    frame.to_csv(path, index=False, float_format="%.9g")


def write_libsvm(path, label, table, groups):
    """With qid where there are groups, features counted from 1; what a sparse table does not have is absent."""
    table = scipy.sparse.csr_matrix(table.astype(numpy.float32))
    query = [""] * len(label) if groups is None else [f"qid:{q} " for q in numpy.repeat(numpy.arange(len(groups)), groups)]
    with open(path, "w", encoding="ascii") as file:
        for i, (y, q) in enumerate(zip(label, query)):
            part = slice(table.indptr[i], table.indptr[i + 1])
            cells = " ".join(f"{at + 1}:{value:.9g}" for at, value in zip(table.indices[part], table.data[part]))
            file.write(f"{y:.9g} {q}{cells}\n")


class Winnow:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.suffix = binary, folder, "csv"

    def write(self, part, rows):
        self.suffix = "csv" if rows.groups is None and not scipy.sparse.issparse(rows.table) else "libsvm"
        path = self.folder / f"{part}.{self.suffix}"
        if self.suffix == "csv":
            write_csv(path, rows.label, rows.table)
        else:
            write_libsvm(path, rows.label, rows.table, rows.groups)

    def run(self, *arguments):
        done = subprocess.run([self.binary, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr.strip().replace(f"{self.folder}/", ""))
        return done.stdout

    def predictions(self, parameters, rounds):
        """Of the validation rows, after training on the training rows."""
        (self.folder / "hp.json").write_text(json.dumps({**parameters, "num_round": rounds}))
        label = ["--label", "y"] if self.suffix == "csv" else []
        self.run("--train", self.folder / f"train.{self.suffix}", *label, "--hyperparameters", self.folder / "hp.json",
                 "--model-dir", self.folder / "model", "--threads", "1")
        lines = self.run("predict", "--model", self.folder / "model/model.json", "--data",
                         self.folder / f"validation.{self.suffix}").splitlines()[1:]
        return numpy.array([[float(cell) for cell in line.split(",")] for line in lines]).squeeze()


class Peer:
    def __init__(self):
        xgboost.set_config(verbosity=0)
        self.data = {}
        self.estimates = self.version() >= 2

    @staticmethod
    def version():
        """The main one."""
        return int(xgboost.__version__.split(".", maxsplit=1)[0])

    def write(self, part, rows):
        self.data[part] = xgboost.DMatrix(rows.table.astype(numpy.float32), label=rows.label)
        if rows.groups is not None:
            self.data[part].set_group(rows.groups)

    def predictions(self, parameters, rounds):
        given = {"tree_method": "hist", "nthread": 1}
        if self.estimates and parameters["objective"] not in ESTIMATED_BY_BOTH:
            given["base_score"] = 0.5
        booster = xgboost.train({**parameters, **given}, self.data["train"], rounds)
        return booster.predict(self.data["validation"])


def compare(case, parameters, seeds, rounds, systems):
    """[(ours, theirs)] metric values by seed."""
    pairs = []
    for seed in range(seeds):
        train, validation = case.split(seed)
        for system in systems:
            system.write("train", train)
            system.write("validation", validation)
        asked = {**parameters, **case.parameters, "objective": case.objective, "seed": seed}
        pairs.append(tuple(case.judge(validation, system.predictions(asked, rounds)) for system in systems))
    return pairs


def verdict(case, pairs):
    """Mean metrics, mean difference, its standard error, and whether it is within noise."""
    ours, theirs = numpy.array(pairs).T
    difference = ours - theirs
    error = float(difference.std(ddof=1) / len(pairs) ** 0.5) if len(pairs) > 1 else 0.0
    better = float(difference.mean()) * (1 if case.metric in parity_cases.LARGER_IS_BETTER else -1)
    tolerance = case.tolerance * (1 if case.absolute else abs(float(theirs.mean())))
    answer = "yes" if abs(better) <= 2 * error + tolerance else "better" if better > 0 else "WORSE"
    return {"case": case.name, "objective": case.objective, "metric": case.metric, "ours": float(ours.mean()),
            "theirs": float(theirs.mean()), "difference": float(difference.mean()), "error": error,
            "tolerance": tolerance, "within": answer, "far": -better > 2 * (2 * error + tolerance),
            "largest": float(numpy.abs(difference).max())}


def run_cases(cases, kinds, seeds, rounds, systems):
    rows = []
    for kind in kinds:
        parameters = KINDS[kind]
        settings = ", ".join(f"{name} {value}" for name, value in parameters.items())
        print(f"\n### {kind}: {rounds} rounds, {settings}, {seeds} splits\n")
        print("| data | objective | metric | winnow-gbdt | XGBoost | difference | standard error | tolerance "
              "| within |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for case in cases:
            if case.since > Peer.version():
                continue
            try:
                row = {"kind": kind, **verdict(case, compare(case, parameters, seeds, rounds, systems))}
            except Refused as refused:
                print(f"| {case.name} | {case.objective} | not run: {refused} |", flush=True)
                continue
            rows.append(row)
            print("| {case} | {objective} | {metric} | {ours:.5f} | {theirs:.5f} | {difference:+.5f} | {error:.5f} | "
                  "{tolerance:.5f} | {within} |".format(**row), flush=True)
    return rows


def draw_configuration(draw):
    """One of the published ranges, all linear."""
    return {"eta": draw.random(), "min_child_weight": draw.uniform(1, 10), "alpha": draw.uniform(0, 2),
            "max_depth": draw.randint(1, 10), "colsample_bylevel": draw.random(), "colsample_bytree": draw.random(),
            "objective": "binary:logistic"}, draw.randint(100, 200)


def run_configurations(case, count, seeds, systems):
    """Spearman's correlation of validation AUCs, one seed each and means over `seeds` seeds: of winnow-gbdt's with
    XGBoost's, and of XGBoost's with itself under as many other seeds, which is as good as it can be."""
    train, validation = case.split(0)
    for system in systems:
        system.write("train", train)
        system.write("validation", validation)
    aucs = numpy.empty((count, 3, seeds))  # ours, theirs, theirs again
    for number in range(count):
        parameters, rounds = draw_configuration(random.Random(number))
        for column, (system, first) in enumerate(zip((*systems, systems[1]), (0, 0, seeds))):
            aucs[number, column] = [
                case.judge(validation, system.predictions({**parameters, "seed": first + seed}, rounds))
                for seed in range(seeds)]
    row = {"configurations": count, "seeds": seeds, "aucs": aucs.tolist()}
    print(f"\n### {count} random configurations of the published ranges, {case.name}\n\n"
          "| Spearman's correlation of validation AUCs | winnow-gbdt with XGBoost | XGBoost with itself |\n"
          "| --- | --- | --- |")
    for name, values in (("one", aucs[:, :, 0]), (f"mean of {seeds}", aucs.mean(axis=2))):
        row[name.split()[0]] = [scipy.stats.spearmanr(values[:, 1], values[:, i])[0] for i in (0, 2)]
        print(f"| {name} seed{'s' * (name != 'one')} | {row[name.split()[0]][0]:.4f} | {row[name.split()[0]][1]:.4f} |")
    ours, theirs = aucs[:, 0].mean(axis=1), aucs[:, 1].mean(axis=1)
    error = (ours - theirs).std(ddof=1) / count ** 0.5
    print(f"\nmean difference of the AUCs {(ours - theirs).mean():+.5f} (standard error {error:.5f}); "
          f"best configuration {ours.max():.5f}, XGBoost {theirs.max():.5f}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--tables", default="dense,sparse")
    parser.add_argument("--kinds", default="plain,sampled")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--configurations", type=int, default=50)
    parser.add_argument("--only", help="names of cases, with commas between")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--xgboost", help="python-package folder")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="winnow-parity-") as name:
        folder = pathlib.Path(name)
        made = {"dense": lambda: parity_cases.dense_cases(folder), "sparse": parity_cases.sparse_cases}
        if unknown := set(options.tables.split(",")) - set(made):
            parser.error(f"--tables: {', '.join(sorted(unknown))}; expected dense, sparse or both")
        if unknown := set(options.kinds.split(",")) - set(KINDS):
            parser.error(f"--kinds: {', '.join(sorted(unknown))}; expected plain, sampled or both")
        cases = [case for kind in options.tables.split(",") for case in made[kind]()]
        if options.only:
            cases = [case for case in cases if case.name in options.only.split(",")]
        systems = (Winnow(options.bin / "winnow-gbdt", folder), Peer())
        print(f"winnow-gbdt and XGBoost {xgboost.__version__} hist")
        rows = run_cases(cases, options.kinds.split(","), options.seeds, options.rounds, systems)
        worse = [row for row in rows if row["within"] == "WORSE"]
        failed = 20 * len(worse) > len(rows) or any(row["far"] for row in worse)
        bank = [case for case in cases if case.name == "bank-additional"]
        if options.configurations and bank:
            rows.append(run_configurations(bank[0], options.configurations, options.seeds, systems))
            failed = failed or rows[-1]["mean"][0] < WANTED_CORRELATION
    names = ", ".join(f"{row['case']} {row['objective']} ({row['kind']})" for row in worse)
    print(f"\nworse than noise: {names or 'none'}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    sys.exit(1 if options.check and failed else 0)


if __name__ == "__main__":
    main()
