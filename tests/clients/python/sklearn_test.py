#!/usr/bin/env python3
"""WinnowSearchCV in the place of RandomizedSearchCV, with scikit-learn itself. Skipped where that is not installed."""

import importlib.util
import os
import pickle
import subprocess
import sys
import unittest
import warnings

from servers import PACKAGE, PATIENCE, WithFolder, main, processes
import winnow

if importlib.util.find_spec("sklearn") is None:
    print("skipped: scikit-learn is not installed")
    sys.exit(processes.SKIPPED)

import numpy  # noqa: E402
from scipy.stats import loguniform, norm, randint, uniform  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.exceptions import FitFailedWarning  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GroupKFold, RandomizedSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402
from winnow.sklearn import WinnowSearchCV, _range as range_of  # noqa: E402

X, Y = make_classification(240, 8, n_informative=4, flip_y=0.1, random_state=1)
TREE = {"max_depth": randint(1, 9), "min_samples_leaf": [1, 5, 20, 80], "criterion": ["gini", "entropy"]}


class Search(WithFolder):
    @classmethod
    def setUpClass(cls):
        cls.server = winnow.serve()
        cls.addClassCleanup(cls.server.stop)

    def search(self, estimator, space, **options):
        return WinnowSearchCV(estimator, space, **{"n_iter": 8, "random_state": 1, "server": self.server.address, **options})

    def test_without_pruning_it_has_what_randomized_search_has(self):
        ours = self.search(DecisionTreeClassifier(random_state=0), TREE, prune=False, return_train_score=True).fit(X, Y)
        theirs = RandomizedSearchCV(DecisionTreeClassifier(random_state=0), TREE, n_iter=8, random_state=1,
                                    return_train_score=True).fit(X, Y)
        self.assertEqual(set(ours.cv_results_), set(theirs.cv_results_))
        self.assertEqual((ours.n_splits_, ours.n_fits_, ours.multimetric_), (5, 40, False))
        lacking = {name for name in vars(theirs) if name.endswith("_")} - set(vars(ours))
        self.assertEqual(lacking, set())
        best = ours.best_index_
        self.assertEqual(ours.cv_results_["rank_test_score"][best], 1)
        self.assertEqual(ours.best_score_, max(ours.cv_results_["mean_test_score"]))
        # Its scores are those of scikit-learn for the same parameters.
        again = RandomizedSearchCV(DecisionTreeClassifier(random_state=0),
                                   {name: [value] for name, value in ours.best_params_.items()}, n_iter=1).fit(X, Y)
        self.assertAlmostEqual(again.best_score_, ours.best_score_)
        self.assertTrue((again.predict(X) == ours.predict(X)).all())
        self.assertEqual(list(ours.classes_), [0, 1])

    def test_weak_configurations_stop_after_a_few_folds(self):
        space = {"max_depth": winnow.integers(1, 9), "min_samples_leaf": [1, 120]}
        search = self.search(DecisionTreeClassifier(random_state=0), space, n_iter=24, cv=8).fit(X, Y)
        results = search.cv_results_
        fitted = sum(numpy.isfinite(results[f"split{fold}_test_score"]).astype(int) for fold in range(8))
        self.assertEqual(fitted.sum(), search.n_fits_)
        self.assertLess(search.n_fits_, 24 * 8)
        self.assertEqual(fitted[search.best_index_], 8)
        self.assertTrue((results["rank_test_score"][fitted < 8] > results["rank_test_score"][fitted == 8].max()).all())

    def test_a_number_of_fits_bounds_it_instead_of_configurations(self):
        search = self.search(DecisionTreeClassifier(random_state=0), TREE, n_iter=None, max_fits=42).fit(X, Y)
        self.assertLessEqual(search.n_fits_, 42)
        self.assertGreater(search.n_fits_, 42 - 5)
        self.assertGreater(len(search.cv_results_["params"]), 8)
        for wrong, message in (({"n_iter": None}, "n_iter: is None"), ({"max_fits": 4}, "max_fits: is 4")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                self.search(DecisionTreeClassifier(), TREE, **wrong).fit(X, Y)

    def test_a_pipeline_with_distributions_groups_and_processes(self):
        groups = numpy.arange(len(Y)) % 6
        search = self.search(make_pipeline(StandardScaler(), LogisticRegression()),
                             {"logisticregression__C": loguniform(1e-3, 1e3), "standardscaler__with_mean": [True, False],
                              "logisticregression__tol": uniform(1e-5, 1e-3)},
                             cv=GroupKFold(3), n_jobs=2, scoring="roc_auc").fit(X, Y, groups=groups)
        self.assertEqual(search.n_splits_, 3)
        self.assertGreater(search.score(X, Y), 0.6)
        self.assertEqual(search.best_estimator_[1].C, search.best_params_["logisticregression__C"])

    def test_refit_can_be_off(self):
        search = self.search(DecisionTreeClassifier(), TREE, refit=False, n_iter=2).fit(X, Y)
        self.assertFalse(hasattr(search, "best_estimator_"))
        self.assertEqual(set(search.best_params_), set(TREE))

    def test_what_it_cannot_do_is_refused(self):
        for why, call in (
                ("one metric", lambda: self.search(DecisionTreeClassifier(), TREE, scoring=["accuracy", "f1"]).fit(X, Y)),
                ("expected a list", lambda: self.search(DecisionTreeClassifier(), {"max_depth": norm(1, 2)}).fit(X, Y)),
                ("n_iter: is 0; expected 1 or more", lambda: self.search(DecisionTreeClassifier(), TREE, n_iter=0).fit(X, Y)),
                ("random_state", lambda: self.search(DecisionTreeClassifier(), TREE, random_state="x").fit(X, Y))):
            with self.subTest(why), self.assertRaisesRegex(ValueError, why):
                call()

    def test_a_fold_that_cannot_be_scored_fails_its_configuration(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search = self.search(LogisticRegression(), {"C": [1.0, -1.0]}, strategy="grid", cv=3).fit(X, Y)
        self.assertEqual(search.best_params_, {"C": 1.0})
        with self.assertRaisesRegex(ValueError, "error_score: is 'raise', and {'C': -1.0} failed: .*C"):
            self.search(LogisticRegression(), {"C": [1.0, -1.0]}, strategy="grid", cv=3, error_score="raise").fit(X, Y)

    def test_a_number_as_error_score_is_the_score_of_a_fold_that_fails(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search = self.search(LogisticRegression(), {"C": [1.0, -1.0]}, strategy="grid", cv=3, error_score=0.25,
                                 prune=False, return_train_score=True).fit(X, Y)
        place = [found["C"] for found in search.cv_results_["params"]].index(-1.0)
        for column in ("mean_test_score", "mean_train_score", "split2_test_score"):
            self.assertEqual(search.cv_results_[column][place], 0.25)
        self.assertEqual(sum(found.category is FitFailedWarning for found in caught), 3)

    def test_error_score_raise_ends_the_search_with_the_first_fold_that_fails(self):
        fits = []

        class Broken(LogisticRegression):
            def fit(self, x, y, sample_weight=None):
                fits.append(self.C)
                if len(fits) > 4:
                    raise RuntimeError("no such solver")
                return super().fit(x, y, sample_weight)

        for most, why in ((4, "error_score: is 'raise', and {'C': .*} failed: RuntimeError: no such solver"),
                          (0, "no configuration could be fitted and scored: .*RuntimeError: no such solver")):
            fits[:] = [0] * (4 - most)
            with self.subTest(why), self.assertRaisesRegex(ValueError, why):
                self.search(Broken(), {"C": loguniform(1e-3, 1)}, n_iter=50, cv=2, error_score="raise").fit(X, Y)
            self.assertEqual(len(fits), 5)

    def test_configurations_that_fail_in_a_later_fold_are_told_as_such_and_rank_last(self):
        fits = []

        class Sometimes(DecisionTreeClassifier):
            def fit(self, x, y, sample_weight=None):
                fits.append(self.max_depth)
                if fits.count(self.max_depth) == 2 and self.max_depth >= lowest:
                    raise RuntimeError(f"too deep: {self.max_depth}")
                return super().fit(x, y, sample_weight)

        options = {"strategy": "grid", "n_iter": 4, "cv": 3, "prune": False}
        lowest = 1
        with self.assertRaisesRegex(ValueError, "could be fitted and scored: .*All 3 trials failed. Trial 1: RuntimeError: too deep"):
            self.search(Sometimes(), {"max_depth": [1, 2, 3]}, **options).fit(X, Y)
        fits.clear()
        lowest = 2
        results = self.search(Sometimes(), {"max_depth": [1, 2, 3]}, **options).fit(X, Y).cv_results_
        self.assertEqual(results["rank_test_score"][list(results["param_max_depth"]).index(1)], 1)

    def test_a_search_is_cloned_pickled_and_nested_whatever_its_server_is(self):
        for server in (self.server, self.server.client, self.server.address, None):
            with self.subTest(server):
                search = self.search(DecisionTreeClassifier(random_state=0), TREE, n_iter=3, cv=2, server=server)
                self.assertEqual(len(cross_val_score(search, X, Y, cv=2)), 2)
                search.fit(X, Y)
                again = pickle.loads(pickle.dumps(search))
                self.assertTrue((again.predict(X) == search.predict(X)).all())
                self.assertEqual(clone(again).fit(X, Y).best_params_, search.best_params_)

    def test_a_range_of_integers_is_one(self):
        for given, kind in ((range(2, 9), "integer"), (range(2, 9, 2), "discrete")):
            self.assertEqual(range_of("max_depth", given).kind, kind)
            search = self.search(DecisionTreeClassifier(), {"max_depth": given}, n_iter=3, cv=2).fit(X, Y)
            self.assertIn(search.best_params_["max_depth"], given)

    def test_parameters_of_fit_are_split_as_the_rows_are(self):
        seen = []

        class Weighted(DecisionTreeClassifier):
            def fit(self, x, y, sample_weight=None):
                seen.append(len(sample_weight) == len(x))
                return super().fit(x, y, sample_weight)

        self.search(Weighted(), {"max_depth": [1, 2]}, n_iter=2, cv=3).fit(X, Y, sample_weight=numpy.ones(len(Y)))
        self.assertGreater(len(seen), 3)
        self.assertTrue(all(seen))

    def test_newer_versions_of_scikit_learn(self):
        """They have no _check_fit_params, and their cross_validate takes `params`."""
        code = """
import sys
import sklearn.model_selection as selection, sklearn.utils.validation as checks
older = selection.cross_validate
def newer(estimator, X, y=None, *, groups=None, scoring=None, cv=None, n_jobs=None, verbose=0, params=None,
          return_train_score=False, error_score="raise"):
    return older(estimator, X, y, scoring=scoring, cv=cv, fit_params=params, error_score=error_score)
if hasattr(checks, "_check_fit_params"):
    selection.cross_validate = newer
    del checks._check_fit_params
from winnow.sklearn import WinnowSearchCV
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
X, y = load_iris(return_X_y=True)
search = WinnowSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, n_iter=2, cv=3, server=sys.argv[1])
print(search.fit(X, y, sample_weight=[1.0] * len(y)).best_params_)
"""
        done = subprocess.run([sys.executable, "-c", code, self.server.address], capture_output=True, text=True, timeout=PATIENCE,
                              check=False, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        self.assertEqual((done.stdout, done.stderr), ("{'max_depth': 3}\n", ""))

    def test_checks_of_scikit_learn(self):
        search = self.search(LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, cv=2)
        for name in ("check_get_params_invariance", "check_set_params", "check_no_attributes_set_in_init",
                     "check_dict_unchanged", "check_estimators_pickle",
                     "check_fit_score_takes_y", "check_estimators_fit_returns_self", "check_estimators_unfitted",
                     "check_n_features_in", "check_fit2d_predict1d", "check_methods_sample_order_invariance",
                     "check_methods_subset_invariance", "check_estimators_overwrite_params",
                     "check_fit_idempotent", "check_supervised_y_2d"):
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(estimator_checks, name)("WinnowSearchCV", clone(search))


if __name__ == "__main__":
    main()
