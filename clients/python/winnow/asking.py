"""Ask and tell: trials that this process trains."""

from __future__ import annotations

import math
import threading
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Mapping, Optional

from winnow import errors
from winnow.reading import JobReader

_RENEWALS = 4  # in the time of one lease
_LEAST_PAUSE = 0.2  # seconds


class Trial:
    """A trial that this process trains, from `resource_from` to `resource_to`.

    Use it in `with`: the trial is completed at the end, or has failed if an exception was raised; TrialPruned only ends
    the block. If the server could not be reached for so long that a call of the block gave up, its lease ends, and the
    trial begins again. Otherwise call `complete` or `fail`.
    """

    def __init__(self, job: JobReader, found: Mapping[str, Any], lease: float) -> None:
        self.job = job
        self.number = int(found["trial"])
        self.attempt = int(found["attempt"])
        self.params: dict[str, Any] = dict(found.get("configuration") or _by_name(found["hyperparameters"]))
        self.resource_from = int(found["resource_from"])  # resume from your own checkpoint of this level; 0: none
        self.resource_to = int(found["resource_to"])  # train to this level; 0: to the end
        self.seed = int(found["seed"])  # for random choices
        self.reason = str(found["choice_reason"])  # why this configuration
        self.step = 0  # the newest level that was reported
        self.value: Optional[float] = None  # the newest value of the objective that was reported
        self.pruned = False
        self.ended = False  # pruned, completed or failed
        self._told = False  # that it is completed, or has failed
        self.stops_at_end = False  # whether report raises TrialPruned at `resource_to` too
        self._repeat = 0  # see as_repeat
        self._kept: dict[str, list[float]] = {}  # the values of a repeat, by metric
        self.raw = dict(found)
        self._pause = max(_LEAST_PAUSE, lease / _RENEWALS)  # seconds between renewals
        self._path = f"{job._path}/trials/{self.number}"
        _RENEWER.add(self)

    def __repr__(self) -> str:
        return f"<winnow.Trial {self.number} of {self.job.id!r}: {self.params}>"

    def steps(self) -> range:
        """The levels to train, for a trial whose last level is known."""
        if self._repeat:
            raise ValueError(f"trial {self.number} has no last level: each repeat trains to the function's own end")
        if not self.resource_to:
            raise ValueError(f"trial {self.number} has no last level; give the job a pruner.max_resource or a "
                             "limits.max_trial_resource (in winnow.tune: max_steps=…)")
        return range(self.resource_from + 1, self.resource_to + 1)

    def as_repeat(self) -> None:
        """For a job with repeats.seeds: trains from the start to the program's own end, which is one level of the job. What
        is reported stays here, and `complete` tells which of it counts."""
        self._repeat, self.resource_from, self.resource_to = self.resource_to, 0, 0

    def report(self, step: int, value: Optional[float] = None, *, raise_pruned: bool = True, **metrics: float) -> bool:
        """Records values at a level (1, 2, 3…) and renews the lease. `value`: of the objective.

        If the trial should not be trained any further it raises TrialPruned, or returns True where `raise_pruned` is
        False. AttemptLost: the trial is another client's now.
        """
        points = self._points(step, value, metrics)
        if self._repeat:
            for point in points:
                self._kept.setdefault(point["metric"], []).append(point["value"])
            points = []
        try:
            answer = self.job._calls.call("POST", self._path + "/report", {"attempt": self.attempt, "points": points})
        except errors.FailedPrecondition as error:
            self._over()
            raise errors.AttemptLost(error.code, error.message, error.violations) from error
        self.step, self.value = step, self.value if value is None else float(value)
        if answer["stop"]:
            self.pruned = True
            self._over()
            if raise_pruned:
                raise errors.TrialPruned(answer["reason"])
        elif self.stops_at_end and 0 < self.resource_to <= self.step:
            raise errors.TrialPruned(f"trained to {self.resource_to}, as far as it was to be")
        return self.pruned

    def complete(self, value: Optional[float] = None, *, step: Optional[int] = None, **metrics: float) -> None:
        """The trial is trained to `resource_to`. `value`: of the objective, at `step` (default: `resource_to`, or one
        more than the last reported)."""
        values = {**({} if value is None else {self.job.metric: value}), **metrics}
        self.complete_with(values, step=step)

    def complete_with(self, values: Mapping[str, float], *, step: Optional[int] = None) -> None:
        """The same, with the values of metrics by name."""
        at = self._repeat or step or self.resource_to or self.step + 1
        values = {**values, **{metric: self._counting(metric, kept) for metric, kept in self._kept.items()}}
        self._end({"points": self._points(at, None, values) if values else []})
        if self.job.metric in values:
            self.value = float(values[self.job.metric])

    def fail(self, reason: str) -> None:
        """The trial has failed."""
        self._end({"failed": True, "reason": _utf8(reason)})

    def renew(self) -> None:
        """Renews the lease; without a call it is renewed on a thread of its own."""
        # On a connection that has died unnoticed it waits no longer than for the next renewal, which opens another.
        calls = self.job._calls
        calls.call("POST", self._path + "/report", {"attempt": self.attempt, "points": []}, patience=0,
                   timeout=min(calls.timeout, max(1.0, self._pause)))

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 _: Optional[TracebackType]) -> bool:
        if isinstance(error, errors.TrialPruned):
            return True
        if not self.ended:
            try:
                if error is None:
                    self.complete()
                elif not isinstance(error, (errors.Unavailable, errors.CallTimeout)):
                    self.fail(said(error))
            finally:
                self._over()  # where the server could not be told: nobody trains it any more
        return False

    def _points(self, step: int, value: Optional[float], metrics: Mapping[str, float]) -> list[dict[str, Any]]:
        try:
            level = int(step)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"step: is {step!r:.100}; expected a whole number, such as 3") from None
        if isinstance(step, float) and step % 1:
            raise ValueError(f"step: is {step!r}; expected a whole number")
        if level < 1:
            raise ValueError(f"step: is {step!r}; expected 1 or more: steps count from 1")
        if 0 < self.resource_to < level:
            raise ValueError(f"step: is {step!r}; this part ends at {self.resource_to}; report every step up to it")
        values = {**({} if value is None else {self.job.metric: value}), **metrics}
        return [{"resource": level, "metric": metric, "value": _number(metric, content)}
                for metric, content in values.items()]

    def _counting(self, metric: str, kept: list[float]) -> float:
        """Which of a metric's values is that of the repeat: as a worker decides for a program's."""
        if metric != self.job.metric:
            return kept[-1]
        for number in kept:
            if not math.isfinite(number):
                return number
        which = self.job.spec["objective"]["value"]
        if which == "LAST":
            return kept[-1]
        if which == "MEAN":
            return math.fsum(kept) / len(kept)
        return max(kept) if self.job.maximizes else min(kept)

    def _end(self, fields: dict[str, Any]) -> None:
        if self._told:
            raise ValueError(f"trial {self.number} has been completed, or has failed, already")
        try:
            self.job._calls.call("POST", self._path + "/complete", {"attempt": self.attempt, **fields})
        except errors.FailedPrecondition as error:
            self._over()
            # A call that is sent again because its answer was lost finds the attempt ended, by itself.
            if not self._has_ended("failed" if fields.get("failed") else "finished"):
                raise errors.AttemptLost(error.code, error.message, error.violations) from error
        self._told = True
        self._over()

    def _has_ended(self, outcome: str) -> bool:
        attempts = self.job._calls.call("GET", self._path)["attempts"]
        return any(int(found["number"]) == self.attempt and found["outcome"] == outcome for found in attempts)

    def _over(self) -> None:
        self.ended = True
        _RENEWER.remove(self)


def said(error: BaseException) -> str:
    """The exception in one line."""
    text = " ".join(_utf8(str(error)).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _utf8(text: str) -> str:
    """The text without the halves of characters that names of files may have."""
    return text.encode("utf-8", "backslashreplace").decode()


def _number(metric: str, given: Any) -> float:
    """`given` as a float. TypeError: it is none."""
    try:
        return float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{metric}: is {given!r:.100}; expected a number") from None
    except OverflowError:
        raise ValueError(f"{metric}: is beyond what a float can be; expected a number") from None


def _by_name(hyperparameters: Any) -> dict[str, Any]:
    values = {}
    for found in hyperparameters:
        for kind in ("integer", "continuous", "categorical"):
            if kind in found:
                values[found["name"]] = found[kind]
    return values


class _Renewer:
    """Renews the leases of the trials of this process, on one thread."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._changed = threading.Condition()
        self._pauses: weakref.WeakKeyDictionary[Trial, float] = weakref.WeakKeyDictionary()  # seconds between renewals
        self._wakes = -math.inf  # when the thread looks again by itself
        self._thread: Optional[threading.Thread] = None

    def add(self, trial: Trial) -> None:
        with self._changed:
            self._pauses[trial] = pause = trial._pause
            if time.monotonic() + pause < self._wakes:
                self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="winnow-leases", daemon=True)
                self._thread.start()

    def remove(self, trial: Trial) -> None:
        with self._changed:
            self._pauses.pop(trial, None)

    def _run(self) -> None:
        renewed = time.monotonic()
        while True:
            trials = self._when_due(renewed)
            renewed = time.monotonic()
            self._renew(trials)
            del trials  # those that nobody else holds are collected

    def _renew(self, trials: list[Trial]) -> None:
        for trial in trials:
            try:
                trial.renew()
            except errors.FailedPrecondition:
                self.remove(trial)  # the next call of the trainer says so
            except errors.WinnowError:
                continue  # the server may come back in time

    def _when_due(self, renewed: float) -> list[Trial]:
        """Waits until the shortest pause since `renewed` is over; the trials."""
        with self._changed:
            while (rest := renewed + min(self._pauses.values(), default=math.inf) - time.monotonic()) > 0:
                self._wakes = time.monotonic() + rest
                self._changed.wait(min(rest, threading.TIMEOUT_MAX))
            return list(self._pauses)


_RENEWER = _Renewer()


def _after_fork(forget: Callable[[], None]) -> None:
    import os  # noqa: PLC0415

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


_after_fork(_RENEWER._forget)
