"""A tuning job of a server."""

from __future__ import annotations

import math
import os
import time
import uuid
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from winnow import asking, model_files, notebook, plotting, progress, transport
from winnow.reading import ENDED, JobReader

_ASK_WAIT = 30.0  # seconds; the server allows 60
_PAUSE = 0.2  # seconds


class Job(JobReader):
    """A tuning job. Every method asks the server, so that what it returns is of that moment."""

    def _repr_html_(self) -> str:
        return notebook.html(self)

    @property
    def plot(self) -> plotting.Plots:
        """Figures of matplotlib: plot.history(), curves(), parallel(), importance(), sieve()."""
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
        fields = {**change, "reason": reason, "request_id": uuid.uuid4().hex}  # a call may be sent again
        found: dict[str, Any] = self._calls.call("POST", self._path + "/change", fields)
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
        none. The lease is renewed until the trial is completed, fails, its `with` block ends, or it is collected as
        garbage."""
        until = math.inf if wait is None else time.monotonic() + wait
        while True:
            asked = time.monotonic()
            wait_here = max(0.0, min(_ASK_WAIT, until - asked))
            trials, running = self.ask_many(1, wait=wait_here, client=client)
            if trials:
                return trials[0]
            if not running or time.monotonic() >= until:
                return None
            if early := max(0.0, asked + wait_here - time.monotonic()):  # an answer without a trial should not come early
                time.sleep(min(_PAUSE, early))

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
        return model_files.download(self, 0, directory, wait)

    def download(self, trial: int, directory: Union[str, "os.PathLike[str]"], *, wait: float = 60.0) -> list[str]:
        """The same for any trial."""
        return model_files.download(self, trial, directory, wait)


def _text(value: Any) -> str:
    return str(transport.as_text(value))
