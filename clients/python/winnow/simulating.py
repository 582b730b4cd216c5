"""What other strategies would have found: strategies played over recorded learning curves, or with a known function."""

from __future__ import annotations

import csv
import dataclasses
import inspect
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from winnow import embedded, errors, spaces, tuning_spec
from winnow.client import Client, read_spec
from winnow.job import Job
from winnow.reading import parameters_tried

Strategy = Union[str, Mapping[str, Any]]
Source = Union[Job, Callable[..., float], str, "os.PathLike[str]"]

STRATEGIES: tuple[Strategy, ...] = ("RANDOM", "BAYESIAN", "HYPERBAND", "BOHB", "ASHA", "FREEZE_THAW")
_WITHOUT_STEPS: tuple[Strategy, ...] = ("RANDOM", "BAYESIAN", {"sampler": {"kind": "TPE"}})
_KEPT = ("parameters", "objective", "constraints")  # of a job's spec
_NEAR = 0.01  # of the distance from the best value to the median trial's: as good as the best


@dataclasses.dataclass(frozen=True)
class SimulatedRun:
    """One job in simulation."""

    strategy: str
    seed: int
    best: Optional[float]  # None: no trial has reported a value
    found: bool  # whether it reached the target; without a target whether `best` is known
    trials: int
    units: int  # that it trained
    seconds: Optional[float]  # of virtual time; None: not simulated


@dataclasses.dataclass(frozen=True)
class StrategySummary:
    """The runs of one strategy."""

    strategy: str
    found: float  # fraction of the runs that reached the target
    units: float  # median; of runs that did not reach the target, all that they were allowed
    trials: float  # median
    best: float  # median; NaN: unknown


@dataclasses.dataclass(frozen=True)
class Simulation:
    """What `simulate` returns."""

    runs: list[SimulatedRun]
    target: Optional[float]  # at which a run ended
    budget: int  # units that a run could train
    maximizes: bool

    def strategies(self) -> list[StrategySummary]:
        """Each strategy, the best first: by runs that reached the target, then by units, then by value."""
        found = []
        for name in dict.fromkeys(run.strategy for run in self.runs):
            own = [run for run in self.runs if run.strategy == name]
            known = [run.best for run in own if run.best is not None]
            found.append(StrategySummary(
                name, sum(run.found for run in own) / len(own), statistics.median(run.units for run in own),
                statistics.median(run.trials for run in own), statistics.median(known) if known else math.nan))
        sign = -1 if self.maximizes else 1

        def order(one: StrategySummary) -> tuple[float, ...]:
            if self.target is not None:
                return -one.found, one.units, sign * one.best
            return float(math.isnan(one.best)), sign * one.best, one.units

        return sorted(found, key=order)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each run. Needs pandas."""
        import pandas  # noqa: PLC0415

        return pandas.DataFrame([dataclasses.asdict(run) for run in self.runs])

    def __str__(self) -> str:
        width = max([8, *(len(run.strategy) for run in self.runs)])
        goal = "" if self.target is None else f"; a run ends at {self.target:.6g}"
        lines = [f"{'strategy':{width}}  found  units  trials  best   (medians; at most {self.budget} units{goal})"]
        lines += [f"{one.strategy:{width}}  {one.found:5.0%}  {one.units:5.0f}  {one.trials:6.0f}  {one.best:.6g}"
                  for one in self.strategies()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{name}</th>" for name in ("strategy", "found", "units", "trials", "best"))
        rows = "".join(f"<tr><td>{one.strategy}</td><td>{one.found:.0%}</td><td>{one.units:.0f}</td>"
                       f"<td>{one.trials:.0f}</td><td>{one.best:.6g}</td></tr>" for one in self.strategies())
        return f"<table><tr>{heads}</tr>{rows}</table>"


def simulate(source: Source, strategies: Union[Strategy, Iterable[Strategy]] = (), *, budget: Optional[int] = None,
             target: Optional[float] = None, seeds: int = 10, slots: int = 1, spec: Union[Mapping[str, Any], str, None] = None,
             space: Optional[spaces.Space] = None, max_steps: Optional[int] = None,
             direction: str = "minimize") -> Simulation:
    """Which strategy finds the best with the least training: each is played `seeds` times, up to `budget` units.

    source:
        a Job that has reported: every configuration has the recorded curve of the nearest trial; beyond its end a curve
            keeps its last value. target: default nearly the job's best value, nearer by 99 % than the median trial's.
            budget: default what the job has trained.
        the path of a table, a CSV file with a column for each hyperparameter, optionally seconds_per_unit, and a column for
            each level (1, 2, …); with `spec`, the job file. budget is required.
        a function, called as function(x=…, y=…, step=…) and returning its value at that step, or function(x=…, y=…)
            where there are no steps; with its `space`, and `max_steps` where it takes a step. budget is required.
    strategies: one or several: names as in a job file ("ASHA"), or dictionaries of `strategy`, `sampler` and `pruner`; default:
        all but GRID.
    target: a run ends at this value. slots: trials at once, in virtual time; with a function one.
    """
    chosen: list[Strategy] = [strategies] if isinstance(strategies, (str, Mapping)) else list(strategies)
    for name, number in (("seeds", seeds), ("slots", slots), ("budget", 1 if budget is None else budget)):
        if number < 1:
            raise ValueError(f"{name}: is {number!r}; expected 1 or more")
    if callable(source) and not isinstance(source, Job):
        return _of_function(source, chosen, budget, target, seeds, space, max_steps, direction)
    with tempfile.TemporaryDirectory(prefix="winnow-simulation-") as folder:
        if isinstance(source, Job):
            base, table, levels = _recorded(source, pathlib.Path(folder))
            target = _as_good(source) if target is None else target
            budget = budget or max(levels, int(source.describe()["spend"]["resource"]))
        else:
            if spec is None or budget is None:
                raise ValueError("spec, budget: are required with a table; expected a job file, and a number of units")
            base, table = _base(read_spec(spec)), pathlib.Path(source)
            levels = _levels(table)
        runs = []
        for strategy in chosen or STRATEGIES:
            label, wanted = _spec(base, strategy, levels, budget, target)
            runs += _played(pathlib.Path(folder), table, label, wanted, seeds, slots, target, budget)
    return Simulation(runs, target, budget, base["objective"].get("goal") == "MAXIMIZE")


def _label(strategy: Strategy) -> str:
    if isinstance(strategy, str):
        return strategy.upper()
    parts = [strategy.get("strategy")] + [(strategy.get(field) or {}).get("kind") for field in ("sampler", "pruner")]
    return "+".join(str(part).upper() for part in parts if part)


def _spec(base: Mapping[str, Any], strategy: Strategy, levels: int, budget: int,
          target: Optional[float]) -> tuple[str, dict[str, Any]]:
    """A strategy's name, and the job file that plays it."""
    fields: dict[str, Any] = {"strategy": strategy.upper()} if isinstance(strategy, str) else dict(strategy)
    limits: dict[str, Any] = {"max_total_resource": budget, "max_trial_resource": levels}
    found = {**base, **fields, "limits": limits}
    if target is not None:
        found["completion"] = {"target_objective": target}
    return _label(strategy), found


def _base(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What every strategy is played with."""
    if "objective" not in spec:
        raise ValueError("spec: has several objectives; expected one, because a table has one metric")
    for field in ("metric_constraints", "repeats"):
        if spec.get(field):
            raise ValueError(f"spec.{field}: is given; expected none, because a table has one value for each level")
    kept = {field: spec[field] for field in _KEPT if spec.get(field)}
    return {"name": "simulation", "trainer": {"external": True, "resumes": True}, **kept}


def _recorded(job: Job, folder: pathlib.Path) -> tuple[dict[str, Any], pathlib.Path, int]:
    """The base of the job files, the table of the job's curves, and its levels."""
    base = _base(job.spec)
    curves = job.curves()
    trials = [trial for trial in job.trials() if any(math.isfinite(value) for _, value in curves.get(trial.number, []))]
    if not trials:
        raise ValueError(f"job: {job.id!r} has no trial with a value; expected one or more")
    base["parameters"] = parameters_tried(job, trials)
    levels = max(max(step for step, _ in curves[trial.number]) for trial in trials)
    names = [parameter["name"] for parameter in base["parameters"]]
    texts = {parameter["name"]: _cell(parameter) for parameter in base["parameters"]}
    table = folder / "table.csv"
    with open(table, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_NONE, escapechar=None, lineterminator="\n")
        try:
            rows.writerow([*names, "seconds_per_unit", *range(1, levels + 1)])
            for trial in trials:
                seconds = trial.seconds / max(1, int(trial.raw["trained_resource"]))
                cells = [texts[name](trial.params[name]) if name in trial.params else "" for name in names]
                rows.writerow([*cells, repr(max(seconds, 1e-6)), *map(repr, _filled(curves[trial.number], levels))])
        except csv.Error as error:
            raise ValueError(f"job: {job.id!r} has a category with a comma or a quote, which a table cannot have") from error
    return base, table, levels


def _as_good(job: Job) -> Optional[float]:
    """A value that is nearly the job's best."""
    best = job.best()
    values = [trial.value for trial in job.trials() if trial.value is not None and math.isfinite(trial.value)]
    return None if best is None else best.value + _NEAR * (statistics.median(values) - best.value)


def _cell(parameter: Mapping[str, Any]) -> Callable[[Any], str]:
    """How a table has the values of a hyperparameter."""
    if "categorical" in parameter:
        return str
    return repr


def _filled(curve: Sequence[tuple[int, float]], levels: int) -> list[float]:
    """A value for each level: where none was reported that of the level before, at the beginning the first."""
    known = {step: value for step, value in curve if math.isfinite(value)}
    value = known[min(known)]
    filled = []
    for level in range(1, levels + 1):
        value = known.get(level, value)
        filled.append(value)
    return filled


def _levels(table: pathlib.Path) -> int:
    with open(table, encoding="utf-8") as file:
        last = file.readline().rstrip("\r\n").rpartition(",")[2]
    if not last.isdigit():
        raise ValueError(f"{table}: its last column is {last!r}; expected a level")
    return int(last)


def _played(folder: pathlib.Path, table: pathlib.Path, label: str, spec: Mapping[str, Any], seeds: int, slots: int,
            target: Optional[float], budget: int) -> list[SimulatedRun]:
    """By `winnow simulate`, in virtual time."""
    file = folder / "job.json"
    file.write_text(json.dumps(spec), "utf-8")
    command = [embedded.find_program("winnow"), "simulate", str(file), "--table", str(table), "--slots", str(slots),
               "--seeds", str(seeds), "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise errors.InvalidArgument("INVALID_ARGUMENT", f"{label}: {(done.stderr or done.stdout).strip()}")
    found = []
    for run in json.loads(done.stdout)["runs"]:
        search = run["search"]
        best = search.get("best_objective")
        value = None if best is None else float(best)
        reached = _reaches(value, target, spec["objective"].get("goal") == "MAXIMIZE")
        units = int(search["resource"]) if reached or target is None else budget
        found.append(SimulatedRun(label, int(run["seed"]), value, reached, int(search["trials"]), units,
                                  float(search["elapsed_seconds"])))
    return found


def _reaches(value: Optional[float], target: Optional[float], maximizes: bool) -> bool:
    if value is None or target is None:
        return value is not None
    return value >= target if maximizes else value <= target


# ------------------------------------------------------------------------------------------------ a known function


def _of_function(function: Callable[..., float], strategies: Sequence[Strategy], budget: Optional[int],
                 target: Optional[float], seeds: int, space: Optional[spaces.Space], max_steps: Optional[int],
                 direction: str) -> Simulation:
    if space is None or budget is None:
        raise ValueError("space, budget: are required with a function; expected ranges by name, and a number of units")
    own = spaces.as_space(space)
    goals = tuning_spec.Goals(direction)
    takes_step = "step" in inspect.signature(function).parameters
    if takes_step != (max_steps is not None):
        raise ValueError("max_steps: is given for a function without a parameter step; expected none" if max_steps else
                         "max_steps: is not given; expected the last step of the function")
    base = {"name": "simulation", "trainer": {"external": True, "resumes": True},
            "parameters": spaces.parameters(own), **goals.fields("best")}
    default = STRATEGIES if takes_step else _WITHOUT_STEPS
    runs = []
    with embedded.serve() as client:
        for strategy in strategies or default:
            label, wanted = _spec(base, strategy, max_steps or 1, budget, target)
            for seed in range(seeds):
                runs.append(_play(client, function, own, label, {**wanted, "seed": seed}, takes_step, target, budget))
    return Simulation(runs, target, budget, direction == "maximize")


def _play(client: Client, function: Callable[..., float], space: Mapping[str, spaces.Range], label: str,
          spec: Mapping[str, Any], takes_step: bool, target: Optional[float], budget: int) -> SimulatedRun:
    """One job of an embedded server."""
    job = client.submit({**spec, "limits": {**spec["limits"], "max_parallel_trials": 1}})
    for trial in job.asked():
        params = spaces.values_of(space, trial.params)
        with trial:
            for step in trial.steps():
                trial.report(step, float(function(**params, step=step) if takes_step else function(**params)))
    described, best = job.describe(), job.best()
    value = None if best is None else best.value
    reached = _reaches(value, target, job.maximizes)
    units = int(described["spend"]["resource"]) if reached or target is None else budget
    return SimulatedRun(label, int(spec["seed"]), value, reached, len(job.trials()), units, None)
