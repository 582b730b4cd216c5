"""Tunes a Python function."""

from __future__ import annotations

import dataclasses
import inspect
import json
import mmap
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import tempfile
import warnings
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from winnow import asking, embedded, errors, progress, spaces, transport, tuning_spec
from winnow.client import Client, connect
from winnow.job import Job
from winnow.reading import ENDED, Best, TrialRecord, frame

_POLL = 0.5  # seconds between two looks at the job while workers train
_END = 10.0  # seconds in which a worker must end
_GONE = ("the server of winnow.tune has stopped with it; the Result has the trials. For jobs that can be asked later: "
         "with winnow.serve() as client: winnow.tune(…, server=client)")

Function = Callable[..., Any]
Asked = Callable[[], Optional[asking.Trial]]  # gives the next trial; None: the job has ended


class TuningFailed(errors.WinnowError):
    """No trial has reported a value, or none kept the bounds on metrics."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What a tuning has found. With several objectives `best_…` are of the first trial of `front`, which is the best in the
    first objective."""

    best_params: dict[str, Any]
    best_value: float
    best_trial: int
    best_step: int  # the step of the best value; 1 for a function that reports no steps
    trials: list[TrialRecord]
    state: str  # of the job: COMPLETED, STOPPED or FAILED
    reason: str  # why it has ended
    job: Job  # usable while its server runs
    front: list[TrialRecord] = dataclasses.field(repr=False, default_factory=list)  # with several objectives: the Pareto front
    curves: dict[str, dict[int, list[tuple[int, float]]]] = dataclasses.field(repr=False, default_factory=dict)

    def __repr__(self) -> str:
        return (f"<winnow.Result of {len(self.trials)} trials: best_value={self.best_value!r}, "
                f"best_params={self.best_params!r}>")

    def to_pandas(self) -> Any:
        """What Job.to_pandas returns, also once the server has stopped. Needs pandas."""
        return frame(self.trials, self.job.spec["parameters"])


def tune(function: Function, space: spaces.Space, *, max_trials: Optional[int] = None, timeout: Optional[float] = None,
         direction: str = "minimize", objectives: Mapping[str, str] = {}, thresholds: Mapping[str, float] = {},
         at_most: Mapping[str, float] = {}, at_least: Mapping[str, float] = {}, n_jobs: int = 1, seed: int = 0,
         strategy: Optional[str] = None, sampler: Union[str, Mapping[str, Any], None] = None,
         pruner: Union[str, Mapping[str, Any], None] = None, max_steps: Optional[int] = None, value: str = "best",
         resumes: bool = False, repeats: int = 1, first: Sequence[Mapping[str, Any]] = (),
         target: Optional[float] = None, spec: Optional[Mapping[str, Any]] = None,
         server: Union[Client, embedded.Server, str, None] = None,
         directory: Union[str, "os.PathLike[str]", None] = None, name: Optional[str] = None,
         show: Optional[bool] = None, with_curves: bool = False) -> Result:
    """Searches for the parameters with which `function` returns the smallest value.

    function: called as function(x=…, y=…), with what the space has; a parameter named `trial` gets the winnow.Trial,
        for trial.report(step, value). It returns a number, or nothing if it has reported one. An exception fails the
        trial. With n_jobs above 1 it runs in forked processes.
    space: winnow.uniform, log_uniform, integers, choice or discrete by name; a list is a choice.
    max_trials: default 100, if there is no timeout. timeout: seconds. direction: "minimize" or "maximize".
    objectives: two to four metrics and their directions, {"error": "minimize", "size": "minimize"}; the function then
        returns or reports a number for each by its name, and Result.front has the trials that no other betters in all.
        thresholds: values of objectives below which, or above which, nothing is of use.
    at_most, at_least: bounds on metrics, which the function also returns; with one objective its name is "value".
    strategy, sampler, pruner: as in a job file (docs/job-file.md). Default: the sampler GP, above 1,000 trials TPE; for a
        function with `trial` also the MEDIAN pruner, which stops trials that are worse than the median at the same step.
    max_steps: the last step of a trial; strategies with rungs need it. value: which reported value of a trial counts:
        "best", "last" or "mean". resumes: whether the function goes on from trial.resource_from by itself.
    repeats: calls the function up to so many times for a configuration, each with another trial.seed, and ranks it by the
        mean; a configuration that is hopeless is not repeated.
    first: parameters to try first. target: ends the search at this value. spec: further fields of a job file.
    server: a Client, or an address; default: an embedded server, whose database is in `directory` (default: a temporary
        one). A call with the directory and name of an earlier one that was interrupted goes on with its trials.
    show: a progress bar; default: in terminals and notebooks. with_curves: Result.curves has every reported value, by
        metric and trial, as (step, value).
    """
    own = spaces.as_space(space)
    takes_trial = _check(function, own)
    n_jobs = tuning_spec.count("n_jobs", n_jobs)
    goals = tuning_spec.Goals(direction, objectives, thresholds, at_most, at_least)
    wanted = tuning_spec.of_function(
        function, own, steps=takes_trial, goals=goals, search=tuning_spec.Search(strategy, sampler, pruner), name=name,
        max_trials=max_trials, timeout=timeout, n_jobs=n_jobs, seed=seed, max_steps=max_steps, value=value,
        resumes=resumes, repeats=repeats, first=first, target=target, further=spec)
    if server is not None and directory is not None:
        raise ValueError("directory: is given; expected none with a server, which has its own")
    started = embedded.Server(directory) if server is None else None
    client: Optional[Client] = None
    try:
        client = _client_of(started if server is None else server)
        with tempfile.TemporaryDirectory(prefix="winnow-taken-") as scratch:
            keep = started is not None and directory is not None
            folder = pathlib.Path(started.directory if started and keep else scratch)
            job = _job(client, wanted, folder if keep else None)
            run = _Run(job, function, own, takes_trial, goals, n_jobs, folder / "taken" / job.id, keep or n_jobs > 1)
            if keep:
                run.adopt()
            try:
                run.all(n_jobs, show)
            except BaseException:
                if not keep:
                    _stop(job)
                raise
            return _result(job, own, run.newest_error, with_curves)
    finally:
        if started is not None:
            started.stop()
            if client is not None:
                client.close(gone=_GONE)


def _client_of(server: Union[Client, embedded.Server, str, None]) -> Client:
    if isinstance(server, Client):
        return server
    return server.client if isinstance(server, embedded.Server) else connect(server)


def _stop(job: Job) -> None:
    try:
        job.stop()
    except errors.WinnowError as error:
        warnings.warn(f"{job!r} was not stopped: {error}", stacklevel=2)


def _check(function: Function, space: Mapping[str, spaces.Range]) -> bool:
    """Whether the function takes the trial. TypeError: it cannot be called with the space's parameters."""
    if not callable(function):
        raise TypeError(f"function: {function!r} is not callable")
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    any_name = any(found.kind is found.VAR_KEYWORD for found in parameters.values())
    for name in space:
        if name not in parameters and not any_name:
            raise TypeError(f"function: takes no parameter {name!r}, which is in the space; it takes "
                            f"{', '.join(parameters) or 'none'}")
    for name, found in parameters.items():
        required = found.default is found.empty and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)
        if required and name not in space and name != "trial":
            raise TypeError(f"function: its parameter {name!r} is not in the space and has no default")
        if required and name in space and space[name].parameter is not None:
            raise TypeError(f"function: its parameter {name!r} needs a default, because the space has it only under a "
                            "condition")
    return "trial" in parameters and "trial" not in space


def _job(client: Client, wanted: dict[str, Any], folder: Optional[pathlib.Path]) -> Job:
    """A new job; where `folder` knows an earlier one of this name that goes on or is complete, that one."""
    note = folder / f"{wanted['name']}.job.json" if folder else None
    if note and note.exists():
        earlier = json.loads(note.read_text("utf-8"))
        job = client.job(earlier["id"])
        same, state = earlier["spec"] == json.loads(json.dumps(wanted)), job.state
        if same and state == "COMPLETED":
            warnings.warn(f"the search {wanted['name']!r} in {folder} has ended, and its result is returned; choose another "
                          "name to search again", stacklevel=3)
        if same and state not in ("STOPPED", "FAILED"):
            return job
        if state not in ENDED:
            raise ValueError(f"directory: {folder} has an unfinished search {wanted['name']!r} with other settings; repeat "
                             "that call to go on with it, or choose another name or directory")
    job = client.submit(wanted)
    if note:
        part = note.with_suffix(".part")
        part.write_text(json.dumps({"id": job.id, "spec": wanted}), "utf-8")
        part.replace(note)
    return job


def _result(job: Job, space: Mapping[str, spaces.Range], cause: Optional[BaseException], with_curves: bool) -> Result:
    described, best, front = job.describe(), job.best(), []
    if job.objectives > 1:
        front = [_as_given(space, trial) for trial in job.front()]
        if front:
            best = Best(front[0].number, front[0].value or 0.0, front[0].step, front[0].params)
    trials = [_as_given(space, trial) for trial in job.trials()]
    if best is None:
        raise TuningFailed(_why_none(job, described, trials)) from cause
    return Result(spaces.values_of(space, best.params), best.value, best.trial, best.step, trials, described["state"],
                  described["state_reason"], job, front, job.all_curves() if with_curves else {})


def _why_none(job: Job, described: Mapping[str, Any], trials: list[TrialRecord]) -> str:
    """Why there is no best trial."""
    failed = [trial for trial in trials if trial.state == "FAILED"]
    if any(trial.value is not None and trial.state != "FAILED" for trial in trials):
        return "no trial kept the bounds on metrics" + _nearest(job, trials)
    if failed and described["state"] != "FAILED":
        return f"every trial that began has failed; trial {failed[-1].number}: {failed[-1].reason}"
    return described["state_reason"] or "no trial has reported a value"


def _nearest(job: Job, trials: list[TrialRecord]) -> str:
    """The trial that violates the bounds least, and which: "; the nearest is trial 3: memory = 12, expected at most 10"."""
    known = [trial for trial in trials if trial.value is not None and trial.state != "FAILED"]
    if not known:
        return ""
    nearest = min(known, key=lambda trial: transport.number(trial.raw["violation"]))
    texts = []
    for bound in job.spec.get("metric_constraints", ()):
        value = nearest.values.get(bound["metric"])
        if value is None:
            texts.append(f"{bound['metric']} has no value")
        elif "at_least" in bound and value < bound["at_least"]:
            texts.append(f"{bound['metric']} = {value:.6g}, expected at least {bound['at_least']:.6g}")
        elif "at_most" in bound and value > bound["at_most"]:
            texts.append(f"{bound['metric']} = {value:.6g}, expected at most {bound['at_most']:.6g}")
    return f"; the nearest is trial {nearest.number}: {'; '.join(texts)}"


def _as_given(space: Mapping[str, spaces.Range], trial: TrialRecord) -> TrialRecord:
    """With parameters as they were given to the space."""
    return dataclasses.replace(trial, params=spaces.values_of(space, trial.params))


class _Run:
    """Trains the trials of a job, here or in processes."""

    def __init__(self, job: Job, function: Function, space: Mapping[str, spaces.Range], takes_trial: bool,
                 goals: tuning_spec.Goals, n_jobs: int, taken: pathlib.Path, note: bool) -> None:
        self.job, self._function, self._space, self._takes_trial = job, function, space, takes_trial
        self._metrics = goals.metrics()
        self._taken, self._notes = taken, note
        self._note: Optional[_Note] = None  # of this process
        # With more trials at once than processes the next would be suggested without the result of the present one.
        self._ahead = job.spec["limits"].get("max_parallel_trials") == n_jobs
        self._earlier: list[dict[str, Any]] = []
        self.newest_error: Optional[BaseException] = None
        self._warned = False
        if note:
            taken.mkdir(parents=True, exist_ok=True)

    def adopt(self) -> None:
        """Goes on with the trials that an interrupted call was training; nobody else trains here. Those that it had not
        even noted come from the server, which does not tell their seed again."""
        noted = {(found["trial"], found["attempt"]): found for found in map(_read, self._taken.glob("*.json")) if found}
        for record in self.job.trials(["RUNNING"]):
            trial = self.job.trial(record.number).raw
            attempt = trial["attempts"][-1]
            running = {"trial": record.number, "attempt": attempt["number"], "configuration": record.params,
                       "resource_from": attempt["resource_from"], "resource_to": attempt["resource_to"],
                       "seed": record.number, "choice_reason": trial["trial"]["choice_reason"]}
            self._earlier.append(noted.get((record.number, attempt["number"]), running))
        for file in self._taken.glob("*.json"):
            file.unlink(missing_ok=True)

    def all(self, n_jobs: int, show: Optional[bool]) -> None:
        with progress.bar(show) as bar:
            if n_jobs == 1:
                self._loop(self._earlier, lambda: bar.update(self.job.describe()) if bar.on else None)
            else:
                self._processes(n_jobs, bar)
            if bar.on:
                bar.update(self.job.describe())

    def _loop(self, earlier: Sequence[Mapping[str, Any]], after: Callable[[], None] = lambda: None) -> None:
        """Trains what an interrupted call had taken, then what the server gives, until the job ends."""
        left = list(earlier)
        following: Asked = self.job.ask
        self._note = _Note(self._taken / f"{os.getpid()}.json") if self._notes else None
        while True:
            trial = asking.Trial(self.job, left.pop(0), tuning_spec.LEASE) if left else following()
            if trial is None:
                break
            following = self._train(trial, self._ahead and not left)
            after()
        if self._note is not None:
            self._note.remove()

    def _train(self, trial: asking.Trial, ahead: bool) -> Asked:
        """Returns what gives the next trial. `ahead`: it is asked for just before the server is told how this one ended,
        so that both take the time of one call and one commit."""
        following: Asked = self.job.ask
        if self._note is not None:
            self._note.write(trial.raw)
        trial.stops_at_end = True
        if self.job.spec.get("repeats", {}).get("seeds"):  # with folds the function needs the level, which is the fold
            trial.as_repeat()
        trial.params = spaces.values_of(self._space, trial.params)
        try:
            end = self._call(trial)
            if ahead:
                following = self.job.ask_ahead()
            end()
        except errors.AttemptLost:
            pass  # the job has ended, or the lease: the result is not wanted
        return following

    def _call(self, trial: asking.Trial) -> Callable[[], None]:
        """Calls the function; returns what tells the server how it ended."""
        arguments = {**trial.params, "trial": trial} if self._takes_trial else trial.params
        try:
            value = self._function(**arguments)
        except errors.TrialPruned:
            return (lambda: None) if trial.ended else (lambda: trial.complete())
        except Exception as error:
            if isinstance(error, errors.ServerError) and not isinstance(error, errors.InvalidArgument):
                raise
            # The function's own.
            self.newest_error = error
            reason = asking.said(error)
            return lambda: trial.fail(reason)
        problem = self._problem(trial, value)
        if problem:
            return lambda: trial.fail(problem)
        if trial.step and not isinstance(value, Mapping):
            return trial.complete
        values = value if isinstance(value, Mapping) else {self._metrics[0]: value}
        # What it returns beside what it has reported, such as a metric that is bounded, is of the last step.
        return lambda: trial.complete_with(values, step=trial.step or max(1, trial.resource_to))

    def _problem(self, trial: asking.Trial, value: Any) -> str:
        """Why what the function returned cannot be recorded; "": it can."""
        if value is None and trial.step:
            return ""
        if isinstance(value, Mapping):
            for name in () if trial.step else self._metrics:
                if name not in value:
                    expected = ", ".join(map(repr, self._metrics))
                    return (f"the function returned a dictionary without {name!r}; expected "
                            + (f"a number, or one with {expected}" if len(self._metrics) == 1 else expected))
            for name, number in value.items():
                if _number(number) is None:
                    return f"the function returned {number!r:.100} as {name!r}; expected a number"
            return ""
        expected = "a number" if len(self._metrics) == 1 else f"a dictionary with {', '.join(self._metrics)}"
        number = _number(value)
        if number is None or len(self._metrics) > 1 and not trial.step:
            return f"the function returned {value!r:.100}; expected {expected}"
        same = number == trial.value or number != number and trial.value != trial.value  # NaN is none of itself
        if trial.step and not same and not self._warned:
            self._warned = True
            warnings.warn(f"trial {trial.number} returned {number!r}, but reported {trial.value!r} at its last step; "
                          "reported values count", stacklevel=2)
        return ""

    # ------------------------------------------------------------------------------------ worker processes

    def _processes(self, n_jobs: int, bar: progress.Bar) -> None:
        context = multiprocessing.get_context("fork")
        workers: list[Any] = []

        def start(earlier: Sequence[Mapping[str, Any]]) -> None:
            worker = context.Process(target=self._work, args=(earlier, os.getpid()), name="winnow-tune")
            worker.start()
            workers.append(worker)

        try:
            for place in range(n_jobs):
                start(self._earlier[place::n_jobs])
            while True:
                multiprocessing.connection.wait([worker.sentinel for worker in workers], _POLL)
                dead = [worker for worker in workers if not worker.is_alive()]
                for worker in dead:
                    worker.join()
                    workers.remove(worker)
                described = self.job.describe()
                bar.update(described)
                if described["state"] in ENDED:
                    return
                for worker in dead:
                    self._fail_taken(worker)
                while len(workers) < n_jobs and described["state"] == "RUNNING":  # while it stops there is no trial to take
                    start(())
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join(_END)
                if worker.is_alive():
                    worker.kill()
                    worker.join()

    def _work(self, earlier: Sequence[Mapping[str, Any]], parent: int) -> None:
        """What a worker process does."""
        embedded.end_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # it ended before
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._loop(earlier)

    def _fail_taken(self, worker: Any) -> None:
        """The trial of a worker process that has ended in the midst of it has failed."""
        code = worker.exitcode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        file = self._taken / f"{worker.pid}.json"
        if found := _read(file) if file.exists() else None:
            trial = asking.Trial(self.job, found, tuning_spec.LEASE)
            try:
                trial.fail(f"its process {how}")
            except errors.AttemptLost:
                pass  # it had ended already
        file.unlink(missing_ok=True)


def _number(value: Any) -> Optional[float]:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _read(file: pathlib.Path) -> Optional[dict[str, Any]]:
    try:
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except ValueError:
        return None  # its process was killed while it wrote
    return found


class _Note:
    """The newest trial that this process has taken, in a file that outlives the process. It is written through a mapping: a
    write call may wait for the disk, because the file system keeps this file's times beside those of the server's database,
    which is being synchronised."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._file = path.open("w+b", buffering=0)
        self._map: Optional[mmap.mmap] = None

    def write(self, trial: Mapping[str, Any]) -> None:
        text = json.dumps(trial).encode()
        if self._map is None or len(text) > len(self._map):
            self._map = self._mapped(len(text))
        # A process that is killed in the midst leaves what is not JSON.
        self._map[0:1] = b" "
        self._map[1:] = text[1:].ljust(len(self._map) - 1)
        self._map[0:1] = text[:1]

    def _mapped(self, least: int) -> mmap.mmap:
        size = -(-least // mmap.PAGESIZE) * mmap.PAGESIZE
        self._file.seek(0)
        self._file.write(b" " * size)  # where the disk is full this is an error, and a mapping without its blocks a signal
        return mmap.mmap(self._file.fileno(), size)

    def remove(self) -> None:
        self._map = None
        self._file.close()
        self._path.unlink(missing_ok=True)
