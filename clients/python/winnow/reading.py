"""What a server says of a tuning job."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import math
import warnings
from typing import Any, Mapping, Optional, Sequence

from winnow import transport

_PAGE = 10000  # trials or points of one response
_LOG_BYTES = 4 << 20
ENDED = ("COMPLETED", "STOPPED", "FAILED")


@dataclasses.dataclass(frozen=True)
class Best:
    """The best trial of a job."""

    trial: int
    value: float  # of the objective
    step: int  # the level of that value
    params: dict[str, Any]
    standard_error: Optional[float] = None  # of the mean over repeats; None: it has no two of them


@dataclasses.dataclass(frozen=True)
class TrialRecord:
    """What the server knows of a trial."""

    number: int
    state: str  # PENDING, RUNNING, PAUSED, COMPLETED, PRUNED, FAILED or CANCELLED
    params: dict[str, Any]
    value: Optional[float]  # that ranks it; None: it has reported none
    step: int  # the highest level that it has reported
    reason: str  # why it is in its state
    seconds: float  # of training
    start_time: Optional[datetime.datetime]
    end_time: Optional[datetime.datetime]
    values: dict[str, float] = dataclasses.field(default_factory=dict)  # with several metrics: the newest of each
    raw: Mapping[str, Any] = dataclasses.field(repr=False, default_factory=dict)  # as the server sent it


@dataclasses.dataclass(frozen=True)
class SchedulePart:
    """Levels of a training that had the same hyperparameters."""

    trial: int  # that trained them
    start: int  # the level at which it began
    end: int  # the highest level so far
    params: dict[str, Any]
    value: Optional[float]  # the newest of the objective up to there


class JobReader:
    """Looks at a tuning job. Every method asks the server, so that what it returns is of that moment."""

    def __init__(self, calls: transport.Transport, id: str, *, owned: object = None) -> None:
        self.id = id
        self._calls = calls
        self._path = "/v1/tuning-jobs/" + transport.quoted(id)
        self._spec: Optional[dict[str, Any]] = None
        self._owned = owned  # kept as long as the job, such as an embedded server

    def __repr__(self) -> str:
        return f"<winnow.Job {self.id!r} of {self._calls.address}>"

    def describe(self) -> dict[str, Any]:
        """The job as the server sends it: TuningJob in docs/reference/api.md."""
        found: dict[str, Any] = self._calls.call("GET", self._path)
        return found

    @property
    def spec(self) -> dict[str, Any]:
        """The job file."""
        if self._spec is None:
            self._spec = self.describe()["spec"]
        return self._spec

    @property
    def state(self) -> str:
        """RUNNING, STOPPING, COMPLETED, STOPPED or FAILED."""
        return str(self.describe()["state"])

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def metric(self) -> str:
        """The metric of the objective; with several objectives of the first."""
        return str(self._objective()["metric"])

    @property
    def maximizes(self) -> bool:
        return bool(self._objective()["goal"] == "MAXIMIZE")

    @property
    def objectives(self) -> int:
        """How many objectives it has."""
        return len(self.spec.get("objectives") or [self.spec["objective"]])

    def _objective(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.spec.get("objective") or self.spec["objectives"][0]
        return found

    def best(self) -> Optional[Best]:
        """The best trial; None while no trial has a value that satisfies metric_constraints, and with several objectives."""
        best = self.describe().get("best")
        if not best:
            return None
        trial = self._calls.call("GET", f"{self._path}/trials/{best['trial']}")["trial"]
        return Best(int(best["trial"]), transport.number(best["objective"]), int(best["resource"]),
                    dict(trial.get("configuration", {})),
                    transport.number(best["standard_error"]) if "standard_error" in best else None)

    def front(self) -> list[TrialRecord]:
        """The Pareto front of a job with several objectives, the best of the first objective first."""
        found = self._calls.call("GET", self._path + "/pareto-front")
        trials = [_record(member["trial"]) for member in found["trials"]]
        if int(found["total_size"]) > len(trials):
            warnings.warn(f"the front of {self.id} has {found['total_size']} trials, of which an answer of the server has no more "
                          f"than {len(trials)}", stacklevel=2)
        return trials

    def schedule(self, trial: Optional[int] = None) -> list[SchedulePart]:
        """With which hyperparameters a trial was trained, level by level; several parts under the strategy PBT.
        `trial`: default the best."""
        found = self._calls.call("GET", self._path + "/schedule", {"trial": trial or 0})
        return [SchedulePart(int(part["trial"]), int(part["resource_from"]), int(part["resource_to"]),
                             dict(part.get("configuration", {})),
                             transport.number(part["objective"]) if "objective" in part else None)
                for part in found["parts"]]

    def trial(self, number: int) -> TrialRecord:
        """One trial; `raw` also has its attempts and events."""
        found = self._calls.call("GET", f"{self._path}/trials/{number}")
        return dataclasses.replace(_record(found["trial"]), raw=found)

    def trials(self, states: Sequence[str] = (), *, tags: Sequence[str] = (),
               order_by: str = "number") -> list[TrialRecord]:
        """The trials in these states that have all of these tags; none given: all. `order_by`: number, objective,
        resource, training_seconds or a hyperparameter; with " desc" in the reverse order."""
        fields: dict[str, Any] = {"page_size": _PAGE, "order_by": order_by, "states": list(states), "tags": list(tags)}
        found: list[TrialRecord] = []
        while True:
            page = self._calls.call("GET", self._path + "/trials", fields)
            found += [_record(trial) for trial in page["trials"]]
            if not page["next_page_token"]:
                return found
            fields["page_token"] = page["next_page_token"]

    def curves(self, metric: Optional[str] = None, trials: Sequence[int] = ()) -> dict[int, list[tuple[int, float]]]:
        """Learning curves by trial: (step, value), by step. `metric`: default the objective's; `trials`: default all."""
        wanted = metric or self.metric
        return self._curves({"metrics": [wanted], "trials": list(trials)}).get(wanted, {})

    def all_curves(self) -> dict[str, dict[int, list[tuple[int, float]]]]:
        """The same for every metric, by its name."""
        return self._curves({})

    def _curves(self, wanted: Mapping[str, Any]) -> dict[str, dict[int, list[tuple[int, float]]]]:
        fields: dict[str, Any] = {**wanted, "page_size": _PAGE}
        found: dict[str, dict[int, list[tuple[int, float]]]] = {}
        while True:
            page = self._calls.call("GET", self._path + "/metrics", fields)
            for point in page["points"]:
                curve = found.setdefault(point["metric"], {}).setdefault(int(point["trial"]), [])
                curve.append((int(point["resource"]), transport.number(point["value"])))
            if not page["next_page_token"]:
                return found
            fields["page_token"] = page["next_page_token"]

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each trial: number, state, value, step, seconds, times, with several metrics the newest
        value of each, then a column for each hyperparameter, with the type of its range. Needs pandas."""
        return frame(self.trials(), self.spec["parameters"])

    def logs(self, trial: int, *, stream: str = "stdout", attempt: int = 0, rank: int = 0) -> str:
        """The output of a trial's process so far. `stream`: stdout or stderr; `attempt`: 0 is the newest."""
        fields: dict[str, Any] = {"stream": stream.upper(), "attempt": attempt, "rank": rank, "limit": _LOG_BYTES,
                                  "offset": 0}
        found = b""
        while True:
            page = self._calls.call("GET", f"{self._path}/trials/{trial}/logs", fields)
            data = base64.b64decode(page["data"])
            found += data
            if not data:
                return found.decode("utf-8", "replace")
            fields["offset"], fields["attempt"] = page["next_offset"], page["attempt"]

    def insight(self, name: str, **fields: Any) -> dict[str, Any]:
        """What the web page draws: "sieve", "curves", "parallel-coordinates", "importance" or "slices/PARAMETER", as
        docs/reference/api.md says."""
        found: dict[str, Any] = self._calls.call("GET", f"{self._path}/{name}", fields)
        return found

    def history(self) -> list[tuple[float, float, int]]:
        """How the best value improved: (seconds since the job was created, best value, trial)."""
        found = self._calls.call("GET", "/v1/progress", {"job_ids": [self.id], "max_points": 2000})["jobs"][0]
        return [(transport.number(at), transport.number(best), int(trial)) for at, best, trial in
                zip(found["elapsed_seconds"], found["best"], found["trial"])]


def frame(trials: Sequence[TrialRecord], parameters: Sequence[Mapping[str, Any]]) -> Any:
    """The DataFrame of `to_pandas`; `parameters` as in a job file."""
    import pandas  # noqa: PLC0415

    columns: dict[str, Any] = {
        "number": pandas.array([trial.number for trial in trials], dtype="int64"),
        "state": pandas.Categorical([trial.state for trial in trials]),
        "value": pandas.array([math.nan if trial.value is None else trial.value for trial in trials],
                              dtype="float64"),
        "step": pandas.array([trial.step for trial in trials], dtype="int64"),
        "seconds": pandas.array([trial.seconds for trial in trials], dtype="float64"),
        "start_time": pandas.to_datetime([trial.start_time for trial in trials], utc=True),
        "end_time": pandas.to_datetime([trial.end_time for trial in trials], utc=True),
    }
    for metric in dict.fromkeys(name for trial in trials for name in trial.values):
        if metric != "value":
            columns[metric if metric not in columns else "metric." + metric] = pandas.array(
                [trial.values.get(metric, math.nan) for trial in trials], dtype="float64")
    for parameter in parameters:
        name = parameter["name"]
        values = [trial.params.get(name) for trial in trials]
        kind = ("Int64" if "integer" in parameter else "category" if "categorical" in parameter else "float64")
        if kind == "float64":
            values = [math.nan if value is None else value for value in values]
        if kind == "category" and any(isinstance(value, (list, dict)) for value in values):
            kind = "object"  # pandas' categories are hashable
        columns[name if name not in columns else "param." + name] = pandas.Series(values, dtype=kind)
    return pandas.DataFrame(columns)


def parameters_tried(job: JobReader, trials: Sequence[TrialRecord]) -> list[dict[str, Any]]:
    """The parameters of the job file, with ranges that have the values of `trials` too: somebody may have widened and
    narrowed them meanwhile."""
    now = {one["name"]: one for one in job.describe().get("parameters", ())}
    return [_joined(one, now.get(one["name"], one), [trial.params[one["name"]] for trial in trials if one["name"] in trial.params])
            for one in job.spec["parameters"]]


def _joined(then: Mapping[str, Any], now: Mapping[str, Any], values: Sequence[Any]) -> dict[str, Any]:
    """The parameter `then` with the range of both, and with `values`."""
    kind = next(kind for kind in ("integer", "continuous", "discrete", "categorical") if kind in then)
    both = [then[kind], now.get(kind, then[kind])]
    if kind == "categorical":
        found = list(dict.fromkeys([*both[0]["values"], *both[1]["values"], *map(str, values)]))
        return {**then, kind: {**then[kind], "values": found}}
    if kind == "discrete":
        found = sorted({float(value): value for value in [*both[0]["values"], *both[1]["values"], *values]}.values(), key=float)
        return {**then, kind: {**then[kind], "values": found}}
    number = int if kind == "integer" else float
    ends = [number(value) for one in both for value in (one["min"], one["max"])] + list(map(number, values))
    return {**then, kind: {**then[kind], "min": min(ends), "max": max(ends)}}


def _record(trial: Mapping[str, Any]) -> TrialRecord:
    value = trial.get("value")
    return TrialRecord(int(trial["number"]), str(trial["state"]), dict(trial.get("configuration", {})),
                       None if value is None else transport.number(value), int(trial["resource"]),
                       str(trial["state_reason"]), float(trial["training_seconds"]), to_time(trial.get("start_time")),
                       to_time(trial.get("end_time")),
                       {found["metric"]: transport.number(found["value"]) for found in trial.get("metrics", ())}, trial)


def to_time(text: Optional[str]) -> Optional[datetime.datetime]:
    """A time of a response, to the microsecond."""
    if not text:
        return None
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(f"{whole}.{(fraction + '000000')[:6]}+00:00")
