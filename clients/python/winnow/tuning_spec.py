"""The job of a Python function: the job file that `tune` submits."""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
import re
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from winnow import spaces

METRIC = "value"  # of a function with one objective
LEASE = 60.0  # seconds
_FIRST_FAILURES = 3
_MANY = 1000  # trials, above which TPE is the default: it uses all results, a Gaussian process 200 of them
_WITH_RUNGS = ("HYPERBAND", "SUCCESSIVE_HALVING", "ASHA", "BOHB", "FREEZE_THAW", "PBT")  # strategies and pruners
_DIRECTIONS = ("minimize", "maximize")


@dataclasses.dataclass(frozen=True)
class Goals:
    """What is tuned for. With `objectives`: several metrics and their directions, with thresholds where they are known."""

    direction: str = "minimize"
    objectives: Mapping[str, str] = dataclasses.field(default_factory=dict)
    thresholds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    at_most: Mapping[str, float] = dataclasses.field(default_factory=dict)
    at_least: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        _known("direction", self.direction, _DIRECTIONS)
        for field in ("objectives", "thresholds", "at_most", "at_least"):
            if not isinstance(getattr(self, field), Mapping):
                example = '"minimize"' if field == "objectives" else "1.5"
                raise TypeError(f"{field}: is {getattr(self, field)!r}; expected a dictionary by metric, "
                                f'such as {{"error": {example}}}')
        for name, direction in self.objectives.items():
            _known(f"objectives[{name!r}]", direction, _DIRECTIONS)
        if len(self.objectives) == 1:
            raise ValueError("objectives: has one; expected two to four, or direction=… for one")
        for name in self.thresholds:
            if name not in self.objectives:
                raise ValueError(f"thresholds: {name!r} is not in objectives")
        if "step" in self.metrics():
            raise ValueError("a metric is named \"step\"; expected another name, because trial.report has that parameter")

    def metrics(self) -> tuple[str, ...]:
        """What a trial must report: the objectives and what is bounded."""
        return tuple(dict.fromkeys([*(self.objectives or [METRIC]), *self.at_most, *self.at_least]))

    def fields(self, value: str) -> dict[str, Any]:
        """Of the job file. `value`: which reported value of a trial counts."""
        _known("value", value, ("best", "last", "mean"))
        found: dict[str, Any] = {}
        if self.objectives:
            if value == "mean":
                raise ValueError("value: is \"mean\"; with several objectives a trial counts its newest values")
            found["objectives"] = [
                {"metric": name, "goal": direction.upper(),
                 **({"threshold": float(self.thresholds[name])} if name in self.thresholds else {})}
                for name, direction in self.objectives.items()]
        else:
            found["objective"] = {"metric": METRIC, "goal": self.direction.upper(), "value": value.upper()}
        bounds = [{"metric": name, side: float(bound)} for side in ("at_most", "at_least")
                  for name, bound in getattr(self, side).items()]
        if bounds:
            found["metric_constraints"] = bounds
        return found


@dataclasses.dataclass(frozen=True)
class Search:
    """How it is searched. Names in upper or lower case."""

    strategy: Optional[str] = None
    sampler: Union[str, Mapping[str, Any], None] = None
    pruner: Union[str, Mapping[str, Any], None] = None

    def fields(self) -> dict[str, Any]:
        """Of the job file."""
        found: dict[str, Any] = {}
        if self.strategy is not None:
            found["strategy"] = self.strategy.upper()
        for field, given in (("sampler", self.sampler), ("pruner", self.pruner)):
            if given is not None:
                found[field] = {"kind": given.upper()} if isinstance(given, str) else dict(given)
        return found

    def rungs(self) -> str:
        """What was named that stops trials at rungs; "": nothing."""
        named = (given.upper() for given in (self.strategy, self.pruner) if isinstance(given, str))
        return next((name for name in named if name in _WITH_RUNGS), "")

    def fields_for(self, *, steps: bool, resumes: bool, max_trials: Optional[int]) -> dict[str, Any]:
        """The same; where nothing was chosen, the default for a function that reports steps, or does not."""
        found = self.fields()
        if found:
            return found
        kind = "GP" if (max_trials or 0) <= _MANY else "TPE"
        if steps:
            return {} if resumes else {"sampler": {"kind": kind}, "pruner": {"kind": "MEDIAN"}}
        return {"strategy": "BAYESIAN"} if kind == "GP" else {"sampler": {"kind": kind}}


def of_function(function: Callable[..., Any], space: Mapping[str, spaces.Range], *, steps: bool, goals: Goals,
                search: Search, name: Optional[str], max_trials: Optional[int], timeout: Optional[float], n_jobs: int,
                seed: int, max_steps: Optional[int], value: str, resumes: bool, repeats: int,
                first: Sequence[Mapping[str, Any]], target: Optional[float],
                further: Optional[Mapping[str, Any]]) -> dict[str, Any]:
    """The job file. `steps`: whether the function takes the trial, so that it may report steps."""
    limits: dict[str, Any] = {"max_first_failures": _FIRST_FAILURES, "max_parallel_trials": n_jobs}
    if max_trials is None and timeout is None:
        max_trials = 100
    if max_trials is not None:
        limits["max_trials"] = max_trials = count("max_trials", max_trials)
    if timeout is not None:
        if not isinstance(timeout, numbers.Real) or not 0 < timeout < math.inf:
            raise ValueError(f"timeout: is {timeout!r}; expected seconds above 0")
        limits["max_wall_time"] = f"{max(timeout, 0.001):.3f}s"  # 0 would be no limit
    if max_steps is not None:
        limits["max_trial_resource"] = count("max_steps", max_steps)
    elif search.rungs() and not {"hyperband", "pruner", "limits"} & set(further or {}):
        raise ValueError(f"max_steps: is not given; expected the last step of the function, which {search.rungs()} needs")
    found: dict[str, Any] = {
        "name": name or _name(function), "trainer": {"external": True, "lease": f"{LEASE:g}s", "resumes": resumes},
        "parameters": spaces.parameters(space), "seed": whole("seed", seed), "limits": limits, **goals.fields(value)}
    repeats = count("repeats", repeats)
    if repeats != 1:
        found["repeats"] = {"seeds": repeats}
        found.update(search.fields())
    else:
        found.update(search.fields_for(steps=steps, resumes=bool(resumes and max_steps), max_trials=max_trials))
    if first:
        found["initial_configurations"] = [_first(one, space) for one in first]
    if target is not None:
        found["completion"] = {"target_objective": float(target)}
    for field, content in (further or {}).items():
        both = isinstance(content, Mapping) and isinstance(found.get(field), Mapping)
        found[field] = {**found[field], **content} if both else content
    return found


def whole(field: str, given: Any) -> int:
    """`given` as an int, which a JSON text can have: numpy's integers too. TypeError: it is none, such as 10.0."""
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{field}: is {given!r}, of type {type(given).__name__}; expected an int, such as 10") from None


def count(field: str, given: Any) -> int:
    """The same of a number of things, 1 or more."""
    number = whole(field, given)
    if number < 1:
        raise ValueError(f"{field}: is {given!r}; expected 1 or more")
    return number


def _known(field: str, given: str, expected: Sequence[str]) -> None:
    if given not in expected:
        listed = ", ".join(f'"{one}"' for one in expected[:-1])
        raise ValueError(f"{field}: is {given!r}; expected {listed} or \"{expected[-1]}\"")


def _first(one: Mapping[str, Any], space: Mapping[str, spaces.Range]) -> dict[str, Any]:
    if not isinstance(one, Mapping):
        raise TypeError(f"first: has {one!r}; expected a list of dictionaries, each with a value for every parameter")
    for name in one:
        if name not in space:
            raise ValueError(f"first: {name!r} is not in the space")
    return {"hyperparameters": {name: space[name].text(value) for name, value in one.items()}}


def _name(function: Callable[..., Any]) -> str:
    own = re.sub(r"[^A-Za-z0-9_.-]+", "", str(getattr(function, "__name__", "")))[:50].lstrip("_.-")
    return own or "tune"
