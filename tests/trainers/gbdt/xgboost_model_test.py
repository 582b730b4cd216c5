#!/usr/bin/env python3
"""Model files between winnow-gbdt and XGBoost 1.7, both ways: models of either, in JSON and UBJSON, are loaded by the
other, which predicts the same to 1e-6, with the same contributions (1e-5), importances and leaves.

Usage: xgboost_model_test.py WINNOW_GBDT. Ends with code 77 (skipped) where the module xgboost is absent."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
ROWS = 400
NAMES = ["a", "b", "c", "shape"]
KINDS = ["weight", "gain", "cover", "total_gain", "total_cover"]

try:
    import numpy
    import xgboost
except ImportError:
    sys.exit(77)

BINARY = sys.argv[1]
FAILURES = []


def check(what, holds, detail=""):
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what} {detail}")


def close(what, ours, theirs, tolerance):
    ours, theirs = numpy.asarray(ours, float), numpy.asarray(theirs, float)
    if ours.shape != theirs.shape:
        check(what, False, f"shapes {ours.shape} and {theirs.shape}")
        return
    worst = (abs(ours - theirs) / numpy.maximum(1, abs(theirs))).max(initial=0)
    check(what, worst <= tolerance, f"they differ by {worst:.2g}")


def draw_table(seed, categories=12):
    """Three real columns with missing values, and one of category codes, with a value no model has seen."""
    rng = numpy.random.default_rng(seed)
    table = rng.normal(size=(ROWS, 4)).astype(numpy.float32)
    table[:, 3] = rng.integers(0, categories, ROWS)
    score = table[:, 0] + numpy.sin(3 * table[:, 1]) + (table[:, 3] % 3 == 1) + rng.normal(size=ROWS) / 3
    table[rng.random((ROWS, 4)) < 0.1] = numpy.nan
    return table, score, rng.integers(1, 4, ROWS).astype(float)


def label_for(objective, score):
    if objective.startswith("binary") or objective == "reg:logistic":
        return (score > 0.5).astype(float)
    if objective.startswith("multi"):
        return numpy.digitize(score, [0, 1]).astype(float)
    if objective.startswith("rank"):
        return numpy.digitize(score, [-0.5, 0.5, 1.5]).astype(float)
    if objective == "count:poisson":
        return numpy.floor(numpy.exp(numpy.clip(score, -2, 2)))
    return numpy.exp(score / 2) if objective != "reg:squarederror" else score


def write_csv(path, table, label=None, weight=None, header=True):
    names = NAMES[:table.shape[1]] + (["y"] if label is not None else []) + (["w"] if weight is not None else [])
    with open(path, "w", encoding="utf-8") as file:
        if header:
            file.write(",".join(names) + "\n")
        for i, row in enumerate(table):
            cells = ["" if numpy.isnan(cell) else repr(float(cell)) for cell in row]
            cells += [repr(float(label[i]))] if label is not None else []
            cells += [repr(float(weight[i]))] if weight is not None else []
            file.write(",".join(cells) + "\n")


def run(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{arguments}: {done.stderr}")
    return done.stdout


def predict(model, data, *flags):
    """winnow-gbdt's table: [row][column], of one column [row]."""
    rows = list(csv.reader(run("predict", "--model", model, "--data", data, *flags).splitlines()))[1:]
    values = numpy.array(rows, float)
    return values[:, 0] if values.shape[1] == 1 else values


def compare(what, booster, matrix, model, data, rounds=0):
    """Everything that both say of one model."""
    used = (0, rounds) if rounds else (0, booster.best_iteration + 1)
    flags = ["--rounds", rounds] if rounds else []
    theirs = {"": dict(), "--margin": dict(output_margin=True), "--leaf": dict(pred_leaf=True)}
    if "exact" in what:  # it prunes nodes, without which we number the others
        del theirs["--leaf"]
    for flag, options in theirs.items():
        expected = booster.predict(matrix, iteration_range=used, **options)
        ours = predict(model, data, *flags, *([flag] if flag else []))
        close(f"{what}: predictions {flag}", ours, expected.reshape(ours.shape), 1e-6)
    expected = booster.predict(matrix, pred_contribs=True, iteration_range=used)
    close(f"{what}: contributions", predict(model, data, *flags, "--contribs"), expected.reshape(ROWS, -1), 1e-5)
    if rounds:
        return
    for kind in KINDS:
        scores = json.loads(run("importance", "--model", model, "--type", kind, "--output", "json"))
        expected = booster.get_score(importance_type=kind)
        check(f"{what}: features of {kind}", scores.keys() == expected.keys(), f"{scores} {expected}")
        close(f"{what}: {kind}", [scores.get(name, 0) for name in expected], list(expected.values()), 1e-5)


def ours_to_theirs(folder):
    objectives = ["binary:logistic", "binary:logitraw", "binary:hinge", "reg:squarederror", "reg:squaredlogerror",
                  "reg:logistic", "reg:absoluteerror", "reg:pseudohubererror", "count:poisson", "reg:gamma",
                  "reg:tweedie", "multi:softmax", "multi:softprob"]
    cases = [(objective, {}) for objective in objectives] + [("multi:softprob", {"multi_hessian": "lightgbm"})]
    for number, (objective, more) in enumerate(cases):
        table, score, weight = draw_table(number)
        write_csv(folder / "train.csv", table, label_for(objective, score), weight)
        write_csv(folder / "test.csv", table)
        parameters = {"objective": objective, "num_round": 7, "max_depth": 4, "eta": 0.4, "max_delta_step": 0.6, **more}
        if objective.startswith("multi"):
            parameters["num_class"] = 3
        (folder / "hyperparameters.json").write_text(json.dumps(parameters))
        run("--train", folder / "train.csv", "--label", "y", "--weight", "w", "--model-dir", folder,
            "--hyperparameters", folder / "hyperparameters.json")
        run("convert", "--model", folder / "model.json", "--output", folder / "model.ubj")
        matrix = xgboost.DMatrix(table, feature_names=NAMES)
        what = " ".join(["our", objective, *more.values()])
        for name in ["model.json", "model.ubj"]:
            booster = xgboost.Booster(model_file=folder / name)
            compare(f"{what} in {name}", booster, matrix, folder / name, folder / "test.csv")
        # XGBoost holds exactly what we wrote.
        written = json.loads((folder / "model.json").read_text())["learner"]["gradient_booster"]
        check(f"{what}: XGBoost writes the same trees", json.loads(booster.save_raw("json"))["learner"]
              ["gradient_booster"] == written)
        run("convert", "--model", folder / "model.ubj", "--output", folder / "again.json")
        check(f"{what}: the same after JSON, UBJSON, JSON",
              (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes())


def their_models():
    """Name, parameters, feature types."""
    plain, coded = None, ["q", "q", "q", "c"]
    yield "binary", dict(objective="binary:logistic", base_score=0.3), plain
    yield "raw", dict(objective="binary:logitraw"), plain
    yield "hinge", dict(objective="binary:hinge"), plain
    yield "regression", dict(objective="reg:squarederror", alpha=0.5), plain
    yield "poisson", dict(objective="count:poisson"), plain
    yield "gamma", dict(objective="reg:gamma"), plain
    yield "tweedie", dict(objective="reg:tweedie", tweedie_variance_power=1.3), plain
    yield "pseudo-huber", dict(objective="reg:pseudohubererror", huber_slope=2), plain
    yield "absolute error", dict(objective="reg:absoluteerror"), plain
    yield "ranking", dict(objective="rank:ndcg"), plain
    yield "classes", dict(objective="multi:softprob", num_class=3), plain
    yield "most likely class", dict(objective="multi:softmax", num_class=3), plain
    yield "forest", dict(objective="binary:logistic", num_parallel_tree=3, subsample=0.5), plain
    yield "forest of classes", dict(objective="multi:softprob", num_class=3, num_parallel_tree=2, subsample=0.5), plain
    yield "dart", dict(objective="binary:logistic", booster="dart", rate_drop=0.5, one_drop=True), plain
    yield "dart of classes", dict(objective="multi:softprob", num_class=3, booster="dart", rate_drop=0.5), plain
    yield "leaf-wise", dict(objective="reg:squarederror", grow_policy="lossguide", max_depth=0, max_leaves=40), plain
    yield "exact", dict(objective="reg:squarederror", tree_method="exact", gamma=0.5), plain
    yield "one-hot", dict(objective="binary:logistic", max_cat_to_onehot=100), coded
    yield "partition", dict(objective="binary:logistic", max_cat_to_onehot=1), coded
    yield "partition of classes", dict(objective="multi:softprob", num_class=3, max_cat_to_onehot=1), coded


def theirs_to_ours(folder):
    for number, (name, parameters, types) in enumerate(their_models()):
        table, score, weight = draw_table(100 + number)
        label = label_for(parameters["objective"], score)
        for named in [True, False]:
            options = dict(feature_types=types, enable_categorical=True, feature_names=NAMES if named else None)
            train = xgboost.DMatrix(table, label, **options)
            if name == "ranking":
                train.set_group([ROWS // 20] * 20)
            else:
                train.set_weight(weight)
            booster = xgboost.train({"tree_method": "hist", "max_depth": 4, "seed": number, **parameters}, train, 6)
            other, _, _ = draw_table(200 + number)
            if types:  # categories that the model does not know
                other[:40, 3] = numpy.tile([-1, 12, 31.5, 32, 64, 2.0, 3.75, 1e7, 16777216, 3e9], 4)
            matrix = xgboost.DMatrix(other, feature_names=NAMES if named else None)
            write_csv(folder / "test.csv", other, header=named)
            for file in ["theirs.json", "theirs.ubj"]:
                booster.save_model(folder / file)
                compare(f"their {name} in {file}", booster, matrix, folder / file, folder / "test.csv")
            compare(f"their {name}, first rounds", booster, matrix, folder / "theirs.json", folder / "test.csv", 4)
            run("convert", "--model", folder / "theirs.ubj", "--output", folder / "ours.ubj")
            again = xgboost.Booster(model_file=folder / "ours.ubj")
            close(f"their {name}, converted", again.predict(matrix), booster.predict(matrix),
                  1e-6)


def of_other_versions(folder):
    """Files as XGBoost 1.0, 2 and 3.1 write them: what these changed, done to a file of 1.7."""
    table, score, _ = draw_table(1)
    train = xgboost.DMatrix(table, label_for("multi:softprob", score))
    booster = xgboost.train({"objective": "multi:softprob", "num_class": 3, "max_depth": 3}, train, 3)
    write_csv(folder / "test.csv", table, header=False)
    expected = booster.predict(train)
    original = booster.save_raw("json")

    def after(what, change, target):
        document = json.loads(original)
        change(document["learner"])
        (folder / "changed.json").write_text(json.dumps(document))
        close(what, predict(folder / "changed.json", folder / "test.csv"), target, 1e-6)

    def as_first(learner):
        del learner["feature_names"], learner["feature_types"]
        del learner["learner_model_param"]["num_target"], learner["learner_model_param"]["boost_from_average"]
        del learner["gradient_booster"]["model"]["gbtree_model_param"]["num_parallel_tree"]
        for tree in learner["gradient_booster"]["model"]["trees"]:
            for key in ["split_type", "categories", "categories_nodes", "categories_segments", "categories_sizes"]:
                del tree[key]
            tree["default_left"] = [left == 1 for left in tree["default_left"]]

    def as_second(learner):
        learner["gradient_booster"]["model"]["iteration_indptr"] = [0, 3, 6, 9]
        learner["gradient_booster"]["model"]["gbtree_model_param"].pop("size_leaf_vector")

    def as_third(learner):
        learner["learner_model_param"]["base_score"] = "[5E-1,5E-1,5E-1]"
        learner["gradient_booster"]["model"]["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}

    def with_different_bases(learner):
        learner["learner_model_param"]["base_score"] = "[5E-1,1.5E0,-5E-1]"

    after("a file of XGBoost 1.0", as_first, expected)
    after("a file of XGBoost 2", as_second, expected)
    after("a file of XGBoost 3.1", as_third, expected)
    def with_weights_in_the_model(learner):
        learner["gradient_booster"]["model"]["weight_drop"] = [1.0] * 3 + [0.5] * 6

    first = booster.predict(train, output_margin=True, iteration_range=(0, 1))
    margin = (first + booster.predict(train, output_margin=True)) / 2
    after("a file of XGBoost 3.4 with DART", with_weights_in_the_model,
          numpy.exp(margin) / numpy.exp(margin).sum(axis=1, keepdims=True))
    margin = booster.predict(train, output_margin=True) + numpy.array([0, 1, -1])
    after("a base score for each class", with_different_bases,
          numpy.exp(margin) / numpy.exp(margin).sum(axis=1, keepdims=True))


def names_of_categories(folder):
    """XGBoost 3.1 and later keep the categories of data frames beside the trees; here they are given to a model."""
    table, score, _ = draw_table(8, categories=3)
    table = table[~numpy.isnan(table[:, 3])]
    train = xgboost.DMatrix(table, (score[:len(table)] > 0).astype(int) ^ (table[:, 3] == 1),
                            feature_types=["q", "q", "q", "c"], enable_categorical=True, feature_names=NAMES)
    booster = xgboost.train({"objective": "binary:logistic", "max_cat_to_onehot": 1, "max_depth": 4,
                             "tree_method": "approx"}, train, 3)
    document = json.loads(booster.save_raw("json"))
    encoded = list("ringeggöl".encode())
    signed = [byte - 256 if byte > 127 else byte for byte in encoded]
    for what, entry, names in [
            ("names", {"offsets": [0, 4, 7, 10], "values": signed}, ["ring", "egg", "öl"]),
            ("numbers", {"type": 15, "values": [30, 7, 200]}, ["30", "7", "200"])]:
        nothing = {"offsets": [], "values": []}
        document["learner"]["gradient_booster"]["model"]["cats"] = {"enc": [nothing, nothing, nothing, entry]}
        (folder / "named.json").write_text(json.dumps(document))
        write_csv(folder / "test.csv", table)
        lines = (folder / "test.csv").read_text().splitlines()
        named = [line.rsplit(",", 1)[0] + "," + names[int(float(line.rsplit(",", 1)[1]))] for line in lines[1:]]
        (folder / "test.csv").write_text("\n".join(lines[:1] + named) + "\n")
        close(f"{what} of categories", predict(folder / "named.json", folder / "test.csv"), booster.predict(train),
              1e-6)


def early_stopping_and_further_training(folder):
    table, score, _ = draw_table(5)
    label = label_for("binary:logistic", score)
    write_csv(folder / "train.csv", table, label)
    write_csv(folder / "validation.csv", *(lambda t, s, _: (t, 1 - label_for("binary:logistic", s)))(*draw_table(6)))
    (folder / "hyperparameters.json").write_text(json.dumps(
        {"objective": "binary:logistic", "num_round": 40, "early_stopping_rounds": 3}))
    run("--train", folder / "train.csv", "--validation", folder / "validation.csv", "--label", "y",
        "--model-dir", folder, "--hyperparameters", folder / "hyperparameters.json")
    booster = xgboost.Booster(model_file=folder / "model.json")
    matrix = xgboost.DMatrix(table, label, feature_names=NAMES)
    check("early stopping: fewer rounds are used than there are", booster.best_iteration + 1
          < booster.num_boosted_rounds())
    compare("our model that stopped early", booster, matrix, folder / "model.json", folder / "train.csv")
    more = xgboost.train({"objective": "binary:logistic"}, matrix, 3, xgb_model=folder / "model.json")
    more.save_model(folder / "more.json")
    check("XGBoost trains on from our model", more.num_boosted_rounds() == booster.num_boosted_rounds() + 3)
    compare("our model, trained on by XGBoost", more, matrix, folder / "more.json", folder / "train.csv")


def features_without_names(folder):
    """XGBoost's own names are f0, f1, …: what it trained on a LIBSVM file, and what we train on one."""
    table, score, _ = draw_table(7)
    label = label_for("binary:logistic", score)
    with open(folder / "train.libsvm", "w", encoding="utf-8") as file:
        for row, target in zip(table, label):
            cells = [f"{i}:{float(cell)!r}" for i, cell in enumerate(row) if not numpy.isnan(cell)]
            file.write(f"{int(target)} {' '.join(cells)}\n")
    matrix = xgboost.DMatrix(table, label)
    theirs = xgboost.train({"objective": "binary:logistic"}, matrix, 4)
    theirs.save_model(folder / "theirs.json")
    compare("their model on a LIBSVM file", theirs, matrix, folder / "theirs.json", folder / "train.libsvm")
    (folder / "hyperparameters.json").write_text(json.dumps({"objective": "binary:logistic", "num_round": 4}))
    run("--train", folder / "train.libsvm", "--model-dir", folder, "--hyperparameters",
        folder / "hyperparameters.json")
    ours = xgboost.Booster(model_file=folder / "model.json")
    compare("our model of a LIBSVM file", ours, matrix, folder / "model.json", folder / "train.libsvm")


def names_that_xgboost_refuses(folder):
    """Names with "<", "[" and "]", which a DMatrix must not have: they have "_" instead."""
    table, score, _ = draw_table(9)
    write_csv(folder / "train.csv", table, label_for("binary:logistic", score))
    text = (folder / "train.csv").read_text().splitlines()
    (folder / "train.csv").write_text("\n".join(["a<1,b[0],a_1,shape,y"] + text[1:]) + "\n")
    (folder / "hyperparameters.json").write_text(json.dumps({"objective": "binary:logistic", "num_round": 4}))
    run("--train", folder / "train.csv", "--label", "y", "--model-dir", folder, "--hyperparameters",
        folder / "hyperparameters.json")
    booster = xgboost.Booster(model_file=folder / "model.json")
    check("names that XGBoost refuses", booster.feature_names == ["a_1_2", "b_0_", "a_1", "shape"], booster.feature_names)
    matrix = xgboost.DMatrix(table, feature_names=booster.feature_names)
    close("our model with names that XGBoost refuses", predict(folder / "model.json", folder / "train.csv"),
          booster.predict(matrix), 1e-6)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours_to_theirs(folder)
        theirs_to_ours(folder)
        of_other_versions(folder)
        early_stopping_and_further_training(folder)
        features_without_names(folder)
        names_of_categories(folder)
        names_that_xgboost_refuses(folder)
    print(f"{len(FAILURES)} failures")
    sys.exit(1 if FAILURES else 0)


main()
