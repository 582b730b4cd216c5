#!/usr/bin/env python3
"""WinnowSearchCV beside scikit-learn's RandomizedSearchCV and HalvingRandomSearchCV, on five of scikit-learn's data sets
and on three that its generators make.

  WINNOW_BIN_DIR=build/bin python3 bench/search_cv.py [--seeds 10] [--first-seed 0] [--n-iter 20] [--data iris wine]

Each seed draws a test part (30 %), the folds, and the search. Every search has the fits of n-iter configurations in 5 folds:

  random    RandomizedSearchCV
  halving   HalvingRandomSearchCV over the number of samples; a fit on a part of them counts as that part of a fit
  winnow    WinnowSearchCV with max_fits, so with as many configurations as these fits allow
  same n    WinnowSearchCV with n_iter configurations, which takes fewer fits

cv: the chosen configuration's mean score in the 5 folds, which is what the searches maximise. test: the score on the test
part of the configuration fitted to all other rows. Each is accuracy, or R2 for diabetes. Then the mean differences from random
and halving over the seeds, with the 95 % interval of Student's t, and a verdict: worse only if the whole interval is below 0.
Needs python3-sklearn.
"""

import argparse
import math
import os
import pathlib
import statistics
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "clients/python"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from scipy import stats  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.base import clone, is_classifier  # noqa: E402
from sklearn.experimental import enable_halving_search_cv  # noqa: E402,F401
from sklearn.model_selection import (HalvingRandomSearchCV, KFold, RandomizedSearchCV, StratifiedKFold,  # noqa: E402
                                     cross_val_score, train_test_split)
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, SVR  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from winnow.sklearn import WinnowSearchCV  # noqa: E402

FOLDS, FACTOR = 5, 3
SEARCHES = ("random", "halving", "winnow", "same n")
SVC_SPACE = {"svc__C": stats.loguniform(1e-3, 1e3), "svc__gamma": stats.loguniform(1e-5, 1e1),
             "svc__class_weight": [None, "balanced"]}
TREE_SPACE = {"max_depth": stats.randint(1, 21), "min_samples_leaf": stats.randint(1, 31),
              "min_samples_split": stats.randint(2, 41), "ccp_alpha": stats.loguniform(1e-6, 1e-1),
              "max_features": stats.uniform(0.1, 0.9), "criterion": ["gini", "entropy"]}
SVR_SPACE = {"svr__C": stats.loguniform(1e-2, 1e4), "svr__gamma": stats.loguniform(1e-5, 1e1),
             "svr__epsilon": stats.loguniform(1e-2, 1e2)}
DATA = {
    "iris": (datasets.load_iris, make_pipeline(StandardScaler(), SVC()), SVC_SPACE),
    "wine": (datasets.load_wine, make_pipeline(StandardScaler(), SVC()), SVC_SPACE),
    "breast_cancer": (datasets.load_breast_cancer, make_pipeline(StandardScaler(), SVC()), SVC_SPACE),
    "digits": (datasets.load_digits, DecisionTreeClassifier(random_state=0), TREE_SPACE),
    "diabetes": (datasets.load_diabetes, make_pipeline(StandardScaler(), SVR()), SVR_SPACE),
}
# Sets that nobody had looked at when the rule of WinnowSearchCV was chosen.
DATA.update({
    "moons": (lambda return_X_y: datasets.make_moons(300, noise=0.35, random_state=0), SVC(),
              {name.removeprefix("svc__"): found for name, found in SVC_SPACE.items()}),
    "hastie": (lambda return_X_y: datasets.make_hastie_10_2(1000, random_state=0), DecisionTreeClassifier(random_state=0),
               TREE_SPACE),
    "friedman1": (lambda return_X_y: datasets.make_friedman1(300, noise=1.0, random_state=0),
                  make_pipeline(StandardScaler(), SVR()), SVR_SPACE),
})


def halving_plan(candidates, samples, smallest):
    """(samples that it begins with, fits on all samples in one fold that it amounts to) of HalvingRandomSearchCV."""
    rounds = 1 + min(int(math.log(candidates, FACTOR) + 1e-9), int(math.log(samples / smallest, FACTOR) + 1e-9))
    least = samples // FACTOR ** (rounds - 1)
    return least, sum(candidates // FACTOR**i * least * FACTOR**i / samples for i in range(rounds))


def halving_candidates(fits, samples, smallest):
    """The most candidates whose fits stay within `fits`, and the samples that they begin with."""
    within = [n for n in range(2, 500) if halving_plan(n, samples, smallest)[1] * FOLDS <= fits]
    return max(within), halving_plan(max(within), samples, smallest)[0]


def searched(name, estimator, space, folds, n_iter, seed, X, y):
    """A fitted search, and the fits that it took."""
    common = {"cv": folds, "random_state": seed}
    if name == "random":
        found = RandomizedSearchCV(estimator, space, n_iter=n_iter, **common).fit(X, y)
        return found, n_iter * FOLDS
    if name == "halving":
        smallest = 2 * FOLDS * (len(set(y)) if is_classifier(estimator) else 1)  # scikit-learn's own rule
        candidates, least = halving_candidates(n_iter * FOLDS, len(X), smallest)
        found = HalvingRandomSearchCV(estimator, space, n_candidates=candidates, min_resources=least, factor=FACTOR,
                                      **common).fit(X, y)
        return found, FOLDS * sum(n * r for n, r in zip(found.n_candidates_, found.n_resources_)) / len(X)
    bounds = {"n_iter": None, "max_fits": n_iter * FOLDS} if name == "winnow" else {"n_iter": n_iter}
    found = WinnowSearchCV(estimator, space, **bounds, **common).fit(X, y)
    return found, found.n_fits_


def difference(ours, theirs):
    """The mean paired difference, and half of its 95 % interval."""
    differences = [a - b for a, b in zip(ours, theirs)]
    mean = statistics.fmean(differences)
    if len(differences) < 2:
        return mean, math.inf
    return mean, float(stats.t.ppf(0.975, len(differences) - 1)) * statistics.stdev(differences) / math.sqrt(len(differences))


def verdict(mean, half):
    return "worse" if mean + half < 0 else "better" if mean - half > 0 else "equal"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--seeds", type=int, default=10)
    flags.add_argument("--first-seed", type=int, default=0)
    flags.add_argument("--n-iter", type=int, default=20)
    flags.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    options = flags.parse_args()
    warnings.filterwarnings("ignore")
    lost = []
    print(f"{'data':14} {'search':8} {'fits':>6}  {'cv':>7} {'test':>7}")
    for data in options.data:
        load, estimator, space = DATA[data]
        X, y = load(return_X_y=True)
        kind = StratifiedKFold if is_classifier(estimator) else KFold
        scores = {name: {"fits": [], "cv": [], "test": []} for name in SEARCHES}
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            part = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y if kind is StratifiedKFold else None)
            train, test, train_y, test_y = part
            folds = kind(FOLDS, shuffle=True, random_state=seed)
            for name in SEARCHES:
                found, fits = searched(name, estimator, space, folds, options.n_iter, seed, train, train_y)
                chosen = clone(estimator).set_params(**found.best_params_)
                scores[name]["fits"].append(fits)
                scores[name]["cv"].append(float(cross_val_score(chosen, train, train_y, cv=folds).mean()))
                scores[name]["test"].append(float(found.score(test, test_y)))
        for name in SEARCHES:
            mean = {column: statistics.fmean(values) for column, values in scores[name].items()}
            print(f"{data:14} {name:8} {mean['fits']:6.1f}  {mean['cv']:7.4f} {mean['test']:7.4f}")
        for ours in ("winnow", "same n"):
            for rival in ("random", "halving"):
                for column in ("cv", "test"):
                    mean, half = difference(scores[ours][column], scores[rival][column])
                    found = verdict(mean, half)
                    print(f"{'':14} {ours} - {rival}, {column}: {mean:+.4f} ± {half:.4f}, {found}")
                    if found == "worse":
                        lost.append(f"{data}: {ours} against {rival}, {column}")
        sys.stdout.flush()
    print("worse beyond noise:", "; ".join(lost) or "nowhere")


if __name__ == "__main__":
    main()
