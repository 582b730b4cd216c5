"""Optuna's studies: a study as earlier results of a job, and a job as a study that optuna-dashboard opens."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import math
import os
from typing import Any, Mapping, Optional, Union

from winnow import spaces
from winnow.job import Job
from winnow.reading import parameters_tried

_MOST_STEPS = 1000  # of a range with steps, as `winnow import` has it; beyond that all values between are tried
_STATES = {"COMPLETED": "COMPLETE", "PRUNED": "PRUNED", "FAILED": "FAIL", "CANCELLED": "FAIL"}


@dataclasses.dataclass(frozen=True)
class Study:
    """What an Optuna study holds."""

    name: str
    direction: str  # minimize or maximize
    space: dict[str, spaces.Range]  # parameters of every complete or pruned trial
    rows: list[dict[str, Any]]  # params, value and step of each of these trials

    def to_csv(self, path: Union[str, "os.PathLike[str]"]) -> str:
        """Writes a table for `warm_start.csv_files`; returns its absolute path."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["objective", "resource", *self.space])
            for row in self.rows:
                cells = [self.space[name].text(row["params"][name]) if name in row["params"] else "" for name in self.space]
                table.writerow([repr(row["value"]), row["step"], *cells])
        return os.path.abspath(path)

    def warm_start(self, path: Union[str, "os.PathLike[str]"]) -> dict[str, Any]:
        """Writes the table; returns the field of a job file that starts with it:
        tune(…, spec={"warm_start": study.warm_start("earlier.csv")})."""
        return {"csv_files": [self.to_csv(path)]}


def optuna(study: Any) -> Study:
    """Reads an optuna.Study with one objective. ValueError: it has several, or no trial with a value."""
    if len(study.directions) != 1:
        raise ValueError(f"study: {study.study_name!r} has {len(study.directions)} objectives; expected one")
    rows: list[dict[str, Any]] = []
    distributions: dict[str, Any] = {}
    for trial in study.get_trials(deepcopy=False):
        if trial.state.name not in ("COMPLETE", "PRUNED"):
            continue
        value = trial.value
        if value is None and trial.intermediate_values:
            value = trial.intermediate_values[max(trial.intermediate_values)]
        if value is None or not math.isfinite(value):
            continue
        steps = trial.intermediate_values
        rows.append({"params": dict(trial.params), "value": float(value), "step": max([1, *steps]),
                     "curve": dict(steps)})
        distributions.update(trial.distributions)
    if not rows:
        raise ValueError(f"study: {study.study_name!r} has no trial with a value")
    space = {name: _range(name, found) for name, found in distributions.items()}
    return Study(study.study_name, study.direction.name.lower(), space, rows)


def _range(name: str, found: Any) -> spaces.Range:
    kind = type(found).__name__
    if kind == "CategoricalDistribution":
        return spaces.choice(found.choices)
    step = getattr(found, "step", None)
    if kind in ("FloatDistribution", "UniformDistribution", "LogUniformDistribution", "DiscreteUniformDistribution"):
        if step and (found.high - found.low) / step < _MOST_STEPS:
            return spaces.discrete([found.low + i * step for i in range(round((found.high - found.low) / step) + 1)])
        return (spaces.log_uniform if found.log else spaces.uniform)(found.low, found.high)
    if kind in ("IntDistribution", "IntUniformDistribution", "IntLogUniformDistribution"):
        if step and step != 1 and not found.log and (found.high - found.low) / step < _MOST_STEPS:
            return spaces.discrete(list(range(found.low, found.high + 1, step)))
        return spaces.integers(found.low, found.high, log=found.log)
    raise ValueError(f"study: {name!r} has a {kind}, which is not known")


def export(job: Job, *, storage: Any = None, study_name: Optional[str] = None) -> Any:
    """Writes a job's ended trials into a new study of Optuna; returns it. `storage`: "sqlite:///study.db", which
    optuna-dashboard opens, or any other of Optuna's; default: in memory."""
    library = importlib.import_module("optuna")
    spec = job.spec
    if spec.get("objectives"):
        raise ValueError(f"job: {job.id!r} has several objectives; expected one")
    trials = [trial for trial in job.trials() if trial.state in _STATES]
    parameters = parameters_tried(job, trials)
    distributions = {one["name"]: _distribution(library.distributions, one) for one in parameters}
    curves = job.curves()
    written = []  # all of them before there is a study, so that no part of one is left behind
    for trial in trials:
        state = _STATES[trial.state]
        value = trial.value if state == "COMPLETE" else None
        values = dict(trial.params)
        for one in parameters:
            if "integer" in one and one["name"] in values:
                values[one["name"]] = int(values[one["name"]])
        written.append(library.trial.create_trial(
            state=library.trial.TrialState[state], value=value, params=values,
            distributions={name: distributions[name] for name in values},
            intermediate_values={step: found for step, found in curves.get(trial.number, [])},
            user_attrs={"winnow.trial": trial.number, "winnow.reason": trial.reason}))
    study = library.create_study(storage=storage, study_name=study_name or job.id,
                                 direction="maximize" if job.maximizes else "minimize")
    study.add_trials(written)
    return study


def _distribution(library: Any, parameter: Mapping[str, Any]) -> Any:
    if "categorical" in parameter:
        return library.CategoricalDistribution(parameter["categorical"]["values"])
    if "discrete" in parameter:
        return library.CategoricalDistribution(parameter["discrete"]["values"])
    kind = "integer" if "integer" in parameter else "continuous"
    found = parameter[kind]
    log = found.get("scaling") == "LOG"
    if kind == "integer":
        return library.IntDistribution(int(found["min"]), int(found["max"]), log=log)
    return library.FloatDistribution(float(found["min"]), float(found["max"]), log=log)
