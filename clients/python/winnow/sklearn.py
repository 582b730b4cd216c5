"""A search for scikit-learn: WinnowSearchCV in the place of RandomizedSearchCV."""

from __future__ import annotations

import inspect
import math
import numbers
import os
import time
import warnings
from typing import Any, Mapping, Optional, Sequence, Union

import numpy
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv, cross_validate
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import indexable

from winnow import embedded, spaces, tuning, tuning_spec
from winnow.asking import Trial, said
from winnow.errors import TrialPruned
from winnow.job import Job

_MASKED: Any = numpy.ma.MaskedArray

__all__ = ["WinnowSearchCV"]

_PAIRED, _MOST_PAIRED = ("BAYESIAN", "RANDOM", "GRID"), 100  # strategies and folds that the PAIRED_TEST pruner takes
# What cross_validate calls them: since scikit-learn 1.4 "params".
_FIT_PARAMS = "params" if "params" in inspect.signature(cross_validate).parameters else "fit_params"
_STANDING = {"COMPLETED": 0, "FAILED": 2}  # in the order of ranks; those that were stopped are between
_UNIFORM, _LOG, _INTEGERS = "uniform", ("loguniform", "reciprocal"), "randint"


class WinnowSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Searches an estimator's parameters by cross-validation; stops weak configurations after a few folds.

    estimator, scoring, n_jobs, refit, cv, verbose, error_score, return_train_score: as in RandomizedSearchCV; one metric.
    param_distributions: lists, range(…), scipy.stats' uniform, loguniform and randint, or winnow's ranges, by name.
    n_iter: the number of configurations. max_fits: a bound on folds fitted, without that of `refit`; with it n_iter may be
        None: as many configurations as the fits allow. random_state: an int (None: 0); the same gives the same search with
        n_jobs=1.
    strategy: "BAYESIAN" or any other sampler's name as in a job file.
    prune: whether a configuration that is unlikely to be the best is not fitted on its other folds: by the PAIRED_TEST
        pruner (docs/search.md), with more than 100 folds or another strategy than BAYESIAN, RANDOM or GRID by MEDIAN.
    server: as in winnow.tune; default: a server that lives as long as the search. A search that is pickled keeps its
        address.

    Attributes as of RandomizedSearchCV. In cv_results_, a configuration that was stopped early has NaN in the folds that
    were not fitted; its mean is of the others, and it ranks behind all that were not stopped. n_fits_: folds fitted.
    """

    _required_parameters = ["estimator", "param_distributions"]

    def __init__(self, estimator: Any, param_distributions: Mapping[str, Any], *, n_iter: Optional[int] = 10,
                 max_fits: Optional[int] = None, scoring: Any = None, n_jobs: Optional[int] = None, refit: Any = True,
                 cv: Any = None, verbose: int = 0, random_state: Optional[int] = None, error_score: Any = math.nan,
                 return_train_score: bool = False, strategy: str = "BAYESIAN", prune: bool = True,
                 server: Any = None) -> None:
        super().__init__(estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
                         error_score=error_score, return_train_score=return_train_score)
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.max_fits = max_fits
        self.random_state = random_state
        self.strategy = strategy
        self.prune = prune
        self.server = server

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any) -> WinnowSearchCV:
        """Searches, and fits the best configuration to all data unless `refit` is False."""
        estimator = self.estimator
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring: is {self.scoring!r}; expected one metric: a name or a callable. For several, "
                             "tune with a job that has objectives")
        from sklearn.metrics import check_scoring  # noqa: PLC0415

        scorer = check_scoring(estimator, self.scoring)
        space = _space(self.param_distributions)
        X, y, groups = indexable(X, y, groups)
        folds = list(check_cv(self.cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
        base = clone(estimator)

        def evaluate(trial: Trial) -> None:
            candidate = clone(base).set_params(**clone_values(trial.params))
            for step in trial.steps():
                try:
                    values = self._fold(candidate, X, y, scorer, folds[step - 1], fit_params)
                except Exception as error:
                    if not self._raises():
                        raise
                    trial.fail(said(error))
                    if isinstance(trial.job, Job):
                        trial.job.stop()
                    raise TrialPruned("the search ends with the first fold that fails") from error
                score = values.pop("test_score")
                if self.verbose > 1:
                    print(f"[CV {step}/{len(folds)}] {trial.params}: score {score:.6g}, fitted in {values['fit_time']:.3g} s")
                if not math.isfinite(score):
                    raise ValueError(f"the score of fold {step} is {score}")
                trial.report(step, score, **values)

        for name, given in (("n_iter", self.n_iter), ("max_fits", self.max_fits)):
            if given is not None and tuning_spec.whole(name, given) < 1:
                raise ValueError(f"{name}: is {given!r}; expected 1 or more")
        if self.n_iter is None and self.max_fits is None:
            raise ValueError("n_iter: is None; expected a number, or max_fits")
        if self.max_fits is not None and self.max_fits < len(folds):
            raise ValueError(f"max_fits: is {self.max_fits!r}; expected at least one fit for each of the {len(folds)} folds")
        jobs = self._jobs()
        try:
            result = tuning.tune(_Evaluate(evaluate), space, name="search-cv", max_trials=self.n_iter or self.max_fits,
                                 direction="maximize", n_jobs=jobs, seed=_seed(self.random_state), server=self.server,
                                 show=self.verbose > 0, with_curves=True, **self._search(len(folds)))
        except tuning.TuningFailed as failed:
            raise ValueError(f"no configuration could be fitted and scored: {failed}") from failed
        for trial in result.trials:
            if self._raises() and trial.state == "FAILED":
                raise ValueError(f"error_score: is 'raise', and {trial.params} failed: {trial.reason}")
        self._take(result, folds, space)
        self.scorer_ = scorer
        self.multimetric_ = False
        self.n_splits_ = len(folds)
        if self.refit:
            if callable(self.refit):
                self.best_index_ = self.refit(self.cv_results_)
                self.best_params_ = self.cv_results_["params"][self.best_index_]
            self.best_estimator_ = clone(base).set_params(**clone_values(self.best_params_))
            start = time.time()
            if y is None:
                self.best_estimator_.fit(X, **fit_params)
            else:
                self.best_estimator_.fit(X, y, **fit_params)
            self.refit_time_ = time.time() - start
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if isinstance(state.get("server"), embedded.Server):
            state["server"] = f"http://{state['server'].address}"  # its process stays here
        return state

    def _fold(self, candidate: Any, X: Any, y: Any, scorer: Any, fold: Any, fit_params: Mapping[str, Any]) -> dict[str, Any]:
        """Fits and scores a configuration in one fold: its scores and times."""
        names = ["test_score", "fit_time", "score_time"] + (["train_score"] if self.return_train_score else [])
        try:
            found = cross_validate(candidate, X, y, scoring=scorer, cv=[fold], return_train_score=self.return_train_score,
                                   error_score="raise", **{_FIT_PARAMS: fit_params})
        except Exception as error:
            if not isinstance(self.error_score, numbers.Real) or math.isnan(self.error_score):
                raise
            warnings.warn(f"a fold failed and counts {self.error_score!r}: {error!r}", FitFailedWarning, stacklevel=2)
            return {name: float(self.error_score) if name.endswith("_score") else 0.0 for name in names}
        if "test_score" not in found:
            raise ValueError("scoring: gives several metrics; expected one number")
        return {name: float(found[name][0]) for name in names}

    def _run_search(self, evaluate_candidates: Any) -> None:
        raise NotImplementedError("fit searches by itself")

    def _search(self, folds: int) -> dict[str, Any]:
        """What tune is told about the search. A fold is a level."""
        strategy = self.strategy.upper()
        limits = {"max_total_resource": int(self.max_fits)} if self.max_fits else {}
        if self.prune and strategy in _PAIRED and 2 <= folds <= _MOST_PAIRED:
            # Folds are repeats: after each, a configuration is compared with the best in the folds that both have.
            return {"strategy": strategy, "spec": {"limits": limits, "repeats": {"folds": folds}}}
        pruner: dict[str, Any] = {"kind": "NONE"}
        if self.prune:
            pruner = {"kind": "MEDIAN", "warm_up_trials": min(4, self.n_iter or 4)}
        return {"sampler": {"BAYESIAN": "GP"}.get(strategy, strategy), "pruner": pruner, "max_steps": folds,
                "value": "mean", "spec": {"limits": limits}}

    def _raises(self) -> bool:
        return isinstance(self.error_score, str) and self.error_score == "raise"

    def _jobs(self) -> int:
        if self.n_jobs is None:
            return 1
        if self.n_jobs < 0:
            return max(1, (os.cpu_count() or 1) + 1 + int(self.n_jobs))
        return int(self.n_jobs)

    def _take(self, result: tuning.Result, folds: Sequence[Any], space: Mapping[str, spaces.Range]) -> None:
        """Makes cv_results_ and what belongs to it."""
        trials = result.trials
        count, n_folds = len(trials), len(folds)
        table: dict[str, Any] = {}

        def column(metric: str) -> Any:
            cells = numpy.full((count, n_folds), numpy.nan)
            for place, trial in enumerate(trials):
                for step, value in result.curves.get(metric, {}).get(trial.number, []):
                    cells[place, step - 1] = value
            return cells

        def mean_and_std(cells: Any) -> tuple[Any, Any]:
            known = numpy.isfinite(cells)
            number = known.sum(axis=1)
            filled = numpy.where(known, cells, 0.0)
            with numpy.errstate(invalid="ignore", divide="ignore"):
                mean = filled.sum(axis=1) / number
                spread = numpy.sqrt((numpy.where(known, cells - mean[:, None], 0.0) ** 2).sum(axis=1) / number)
            return mean, spread

        for name in ("fit_time", "score_time"):
            table[f"mean_{name}"], table[f"std_{name}"] = mean_and_std(column(name))
        for name in space:
            cells: Any = _MASKED(numpy.empty(count, dtype=object), mask=True)
            for place, trial in enumerate(trials):
                if name in trial.params:
                    cells[place] = trial.params[name]
            table[f"param_{name}"] = cells
        table["params"] = [trial.params for trial in trials]
        for kind, metric in (("test", "value"), ("train", "train_score")):
            if kind == "train" and not self.return_train_score:
                continue
            scores = column(metric)
            for fold in range(n_folds):
                table[f"split{fold}_{kind}_score"] = scores[:, fold]
            table[f"mean_{kind}_score"], table[f"std_{kind}_score"] = mean_and_std(scores)
        means = table["mean_test_score"]
        standing = [_STANDING.get(trial.state, 1) for trial in trials]
        order = sorted(range(count), key=lambda i: (standing[i], -means[i] if math.isfinite(means[i]) else math.inf))
        ranks = numpy.empty(count, dtype=numpy.int32)
        for position, place in enumerate(order):
            before = order[position - 1] if position else place
            same = position and standing[before] == standing[place] and means[before] == means[place]
            ranks[place] = ranks[before] if same else position + 1
        table["rank_test_score"] = ranks
        self.cv_results_ = table
        self.best_index_ = order[0]
        self.best_params_ = table["params"][order[0]]
        self.best_score_ = float(means[order[0]])
        self.n_fits_ = int(numpy.isfinite(column("fit_time")).sum())


class _Evaluate:
    """A function of any parameters that takes the trial."""

    def __init__(self, evaluate: Any) -> None:
        self._evaluate = evaluate

    def __call__(self, trial: Trial, **_: Any) -> None:
        self._evaluate(trial)


def clone_values(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters whose values are estimators are cloned, as set_params needs it."""
    return {name: clone(value, safe=False) for name, value in params.items()}


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, numpy.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state: is {random_state!r}; expected None, an integer or a RandomState")


def _space(distributions: Any) -> dict[str, spaces.Range]:
    if not isinstance(distributions, Mapping):
        raise TypeError(f"param_distributions: is {type(distributions).__name__}; expected one dictionary")
    return {name: _range(name, found) for name, found in distributions.items()}


def _range(name: str, found: Any) -> spaces.Range:
    if isinstance(found, spaces.Range):
        return found
    if isinstance(found, range):
        return spaces.integers(found[0], found[-1]) if found and found.step == 1 else spaces.discrete(found)
    if isinstance(found, (list, tuple, numpy.ndarray)):
        return spaces.choice([value.item() if isinstance(value, numpy.generic) else value for value in found])
    kind = getattr(getattr(found, "dist", None), "name", "")
    low_high: Union[tuple[float, float], None] = found.support() if kind else None
    if kind == _UNIFORM and low_high:
        return spaces.uniform(*map(float, low_high))
    if kind in _LOG and low_high:
        return spaces.log_uniform(*map(float, low_high))
    if kind == _INTEGERS and low_high:
        return spaces.integers(int(low_high[0]), int(low_high[1]))
    raise ValueError(f"param_distributions: {name!r} is {found!r}; expected a list, a range(…), scipy.stats.uniform, "
                     "loguniform or randint, or one of winnow's ranges")
