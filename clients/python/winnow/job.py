"""A tuning job of a server."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import hashlib
import math
import os
import pathlib
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from winnow import asking, errors, notebook, progress, transport

if TYPE_CHECKING:
    from winnow import plotting

_PAGE = 10000  # trials or points of one response
_ASK_WAIT = 30.0  # seconds; the server allows 60
_LOG_BYTES = 4 << 20
_BETWEEN_LOOKS = 0.3  # seconds
_MODEL_COMES = datetime.timedelta(minutes=1)
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


class Job:
    """A tuning job. Every method asks the server, so that what it returns is of that moment."""

    def __init__(self, calls: transport.Transport, id: str, *, owned: object = None) -> None:
        self.id = id
        self._calls = calls
        self._path = "/v1/tuning-jobs/" + transport.quoted(id)
        self._spec: Optional[dict[str, Any]] = None
        self._owned = owned  # kept as long as the job, such as an embedded server

    def __repr__(self) -> str:
        return f"<winnow.Job {self.id!r} of {self._calls.address}>"

    def _repr_html_(self) -> str:
        return notebook.html(self)

    # ------------------------------------------------------------------------------------------------ reading

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
        return [_record(found["trial"]) for found in self._calls.call("GET", self._path + "/pareto-front")["trials"]]

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
        """A DataFrame with a row for each trial: number, state, value, step, seconds, times, then a column for each
        hyperparameter, with the type of its range. Needs pandas."""
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

    @property
    def plot(self) -> plotting.Plots:
        """Figures of matplotlib: plot.history(), curves(), parallel(), importance(), sieve()."""
        from winnow import plotting  # noqa: PLC0415

        return plotting.Plots(self)

    # ----------------------------------------------------------------------------------------------- waiting

    def events(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """What happens in the job, until it ends: those after the event `after`, then new ones. Goes on over restarts of
        the server."""
        yield from self._calls.events(self._path + "/events", {"after_sequence": after}, resume="after_sequence")

    def watch(self, *, show: Optional[bool] = None) -> dict[str, Any]:
        """Waits for the end of the job; returns what describe() does. `show`: a progress bar; default: in terminals and
        notebooks."""
        with progress.bar(show) as bar:
            job = self.describe()
            bar.update(job)
            if job["state"] not in ENDED:
                for event in self.events(int(job["last_sequence"])):
                    if event.get("job"):
                        bar.update(event["job"])
            job = self.describe()
            bar.update(job)
        return job

    def stop(self) -> dict[str, Any]:
        """Stops the running trials and starts no further ones."""
        found: dict[str, Any] = self._calls.call("POST", self._path + "/stop")
        return found

    def pause(self, reason: str = "") -> dict[str, Any]:
        """Nothing starts until the job is resumed; what runs trains its part to the end."""
        return self._change({"pause": True}, reason)

    def resume(self, reason: str = "") -> dict[str, Any]:
        """Lets a paused job go on."""
        return self._change({"resume": True}, reason)

    def limit(self, reason: str = "", **limits: float) -> dict[str, Any]:
        """Replaces limits of a job that runs: ChangedLimits in docs/reference/api.md, such as max_trials; 0: none."""
        return self._change({"limits": limits}, reason)

    def continue_with(self, reason: str = "", **limits: float) -> dict[str, Any]:
        """Has a job that ended go on within these limits, such as max_trials; 0: none."""
        return self._change({"continue_with": limits}, reason)

    def stop_trial(self, trial: int, reason: str = "") -> dict[str, Any]:
        """Ends one trial; it counts with what it has reported."""
        return self._change({"stop_trial": trial}, reason)

    def keep_trial(self, trial: int, reason: str = "") -> dict[str, Any]:
        """Keeps one trial from being pruned: it is trained to its full level, within the budget."""
        return self._change({"keep_trial": trial}, reason)

    def release_trial(self, trial: int, reason: str = "") -> dict[str, Any]:
        """Lets a kept trial be pruned again; if it went on only because it was kept, it ends."""
        return self._change({"release_trial": trial}, reason)

    def enqueue(self, params: Mapping[str, Any], reason: str = "") -> dict[str, Any]:
        """The next new trial gets this configuration: a value for each tuned hyperparameter."""
        texts = {name: _text(value) for name, value in params.items()}
        return self._change({"enqueue": {"hyperparameters": texts}}, reason)

    def change_priority(
        self, reason: str = "", *, priority: Optional[int] = None, weight: Optional[float] = None
    ) -> dict[str, Any]:
        """Changes the job's share of the slots: `scheduling` of the job file."""
        given = {"priority": priority, "weight": weight}
        return self._change({"scheduling": {name: value for name, value in given.items() if value is not None}}, reason)

    def change_range(
        self,
        parameter: str,
        reason: str = "",
        *,
        min: Optional[float] = None,
        max: Optional[float] = None,
        add: Sequence[Any] = (),
        drop: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Narrows or widens the range of a hyperparameter, for what is tried from now on: `min` and `max` of numbers; values
        to `add` or `drop` of a list."""
        for name, values in (("add", add), ("drop", drop)):
            if isinstance(values, str):
                raise TypeError(f"{name}: is {values!r}; expected a list of values")
        changed: dict[str, Any] = {"parameter": parameter, "add": [_text(value) for value in add],
                                   "drop": [_text(value) for value in drop]}
        changed.update({name: _text(value) for name, value in (("min", min), ("max", max)) if value is not None})
        return self._change({"range": changed}, reason)

    def _change(self, change: Mapping[str, Any], reason: str) -> dict[str, Any]:
        found: dict[str, Any] = self._calls.call("POST", self._path + "/change", {**change, "reason": reason})
        return found

    def annotate(self, tags: Sequence[str] = (), note: str = "", *, trial: int = 0) -> dict[str, Any]:
        """Replaces the tags and the note of the job, or of one of its trials, also after its end. Returns both, and who
        wrote them when: Annotation in docs/reference/api.md. Without arguments it removes them."""
        if isinstance(tags, str):
            raise TypeError(f"tags: is {tags!r}; expected a list of words")
        fields = {"trial": trial, "tags": list(tags), "note": note}
        found: dict[str, Any] = self._calls.call("POST", self._path + "/annotation", fields)["annotation"]
        return found

    def delete(self) -> None:
        """Deletes an ended job."""
        self._calls.call("DELETE", self._path)

    # ------------------------------------------------------------------------------------------- ask and tell

    def ask(self, *, wait: Optional[float] = None, client: str = "") -> Optional[asking.Trial]:
        """A trial to train, of a job with an external trainer. None: the job has ended, or in `wait` seconds there was
        none. The lease is renewed until the trial is completed, fails, or is collected as garbage."""
        until = math.inf if wait is None else time.monotonic() + wait
        while True:
            trials, running = self.ask_many(1, wait=max(0.0, min(_ASK_WAIT, until - time.monotonic())), client=client)
            if trials:
                return trials[0]
            if not running or time.monotonic() >= until:
                return None

    def ask_many(self, count: int, *, wait: float = 0.0, client: str = "") -> tuple[list[asking.Trial], bool]:
        """At most `count` trials to train, and whether the job still runs. Waits at most `wait` seconds, up to 60, for
        the first."""
        fields = self._question(count, wait, client)
        found = self._calls.call("POST", self._path + "/suggest", fields, timeout=self._calls.timeout + wait)
        return self._answer(found)

    def ask_ahead(self) -> Callable[[], Optional[asking.Trial]]:
        """Asks for the next trial without waiting for it; what is returned does what `ask` does. Call it before the end of
        the present trial is told: then the server decides about both at once. What is returned must be called, in this
        thread, before the next ask_ahead."""
        fields = self._question(1, _ASK_WAIT, "")
        begun = self._calls.begin("POST", self._path + "/suggest", fields, timeout=self._calls.timeout + _ASK_WAIT)

        def answer() -> Optional[asking.Trial]:
            trials, running = self._answer(begun())
            return trials[0] if trials else self.ask() if running else None

        return answer

    @staticmethod
    def _question(count: int, wait: float, client: str) -> dict[str, Any]:
        return {"client": client or f"python-{os.getpid()}", "count": count, "wait": transport.seconds(wait)}

    def _answer(self, found: Mapping[str, Any]) -> tuple[list[asking.Trial], bool]:
        lease = float(str(found.get("lease") or "60s").rstrip("s"))
        return [asking.Trial(self, trial, lease) for trial in found["trials"]], found["job_state"] == "RUNNING"

    def asked(self, *, client: str = "") -> Iterator[asking.Trial]:
        """Trials to train, one after the other, until the job ends."""
        while True:
            trial = self.ask(client=client)
            if trial is None:
                return
            yield trial

    # -------------------------------------------------------------------------------------------- model files

    def download_best(self, directory: Union[str, "os.PathLike[str]"], *, wait: float = 60.0) -> list[str]:
        """Writes the model files of the best trial; returns their paths. `directory`: a new or an empty one. `wait`:
        seconds in which the server may still fetch the files from the worker that has them."""
        return self._download(0, directory, wait)

    def download(self, trial: int, directory: Union[str, "os.PathLike[str]"], *, wait: float = 60.0) -> list[str]:
        """The same for any trial."""
        return self._download(trial, directory, wait)

    def _download(self, trial: int, directory: Union[str, "os.PathLike[str]"], wait: float) -> list[str]:
        base = pathlib.Path(directory).absolute()
        if base.exists() and (not base.is_dir() or any(base.iterdir())):
            raise FileExistsError(f"directory: {base} exists and is not an empty directory")
        until = time.monotonic() + wait
        while True:
            try:
                found = self._calls.call("GET", f"{self._path}/trials/{trial}/artifact", {"kind": "MODEL"})
                break
            except errors.NotFound:
                if time.monotonic() > until or not self._may_come():
                    raise
                time.sleep(_BETWEEN_LOOKS)
        base.mkdir(parents=True, exist_ok=True)
        paths = []
        for file in found["manifest"]["files"]:
            path = base.joinpath(*_parts(file["path"]))
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(path.name + ".part")
            with open(part, "wb") as out:
                for blob in file["blobs"]:
                    data = self._calls.blob(blob["digest"], int(blob["size"]))
                    if hashlib.sha256(data).hexdigest() != blob["digest"]:
                        raise errors.ServerError("DATA_LOSS", f"{file['path']}: a blob is not what its digest says")
                    out.write(data)
            if file["executable"]:
                part.chmod(0o755)
            part.replace(path)
            paths.append(str(path))
        return paths

    def _may_come(self) -> bool:
        """Whether a model that is not there may be on its way: the job runs, or has ended a moment ago."""
        end = _time(self.describe().get("end_time"))
        return end is None or datetime.datetime.now(datetime.timezone.utc) - end < _MODEL_COMES


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


def _parts(path: str) -> list[str]:
    """Of a file's path in a manifest. ValueError: it leads elsewhere."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"the server named a file {path!r}; expected a relative path")
    return parts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _record(trial: Mapping[str, Any]) -> TrialRecord:
    value = trial.get("value")
    return TrialRecord(int(trial["number"]), str(trial["state"]), dict(trial.get("configuration", {})),
                       None if value is None else transport.number(value), int(trial["resource"]),
                       str(trial["state_reason"]), float(trial["training_seconds"]), _time(trial.get("start_time")),
                       _time(trial.get("end_time")),
                       {found["metric"]: transport.number(found["value"]) for found in trial.get("metrics", ())}, trial)


def _time(text: Optional[str]) -> Optional[datetime.datetime]:
    """A time of a response, to the microsecond."""
    if not text:
        return None
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(f"{whole}.{(fraction + '000000')[:6]}+00:00")
