"""What `watch` and `tune` show while they wait."""

from __future__ import annotations

import importlib
import sys
from types import TracebackType
from typing import Any, Mapping, Optional

_DONE = ("completed", "pruned", "failed", "cancelled")


def line(job: Mapping[str, Any]) -> str:
    """What is known of a job in one line: its best value, or how many trials its front has, and what it has saved."""
    best, spend, front = job.get("best"), job.get("spend") or {}, int(job.get("front_trials") or 0)
    if best:
        error = f" ± {float(best['standard_error']):.2g}" if "standard_error" in best else ""
        unknown = f"; no value of {', '.join(best['unreported'])} yet" if best.get("unreported") else ""
        text = f"best {float(best['objective']):.6g}{error} (trial {best['trial']}{unknown})"
    else:
        text = f"{front} on the Pareto front" if front else "no best trial yet"
    saved = int(spend.get("saved_resource") or 0)
    full = int(spend.get("full_resource") or 0)
    if saved and full:
        text += f", {100 * saved // full} % of the training saved"
    failed = int(job["trial_counts"]["failed"])
    return text + (f", {failed} failed" if failed else "")


def ended(job: Mapping[str, Any]) -> int:
    """How many trials have ended."""
    return sum(int(job["trial_counts"][state]) for state in _DONE)


class Bar:
    """Shows a job's progress in a terminal or notebook: by tqdm where it is installed."""

    def __init__(self, show: Optional[bool]) -> None:
        self._bar: Any = None
        self._shown = ""
        self.on = (sys.stderr.isatty() or _in_notebook()) if show is None else show

    def update(self, job: Mapping[str, Any]) -> None:
        if not self.on:
            return
        planned, done = int(job.get("planned_trials") or 0), ended(job)
        if self._bar is None:
            try:
                self._bar = importlib.import_module("tqdm.auto").tqdm(
                    total=planned or None, unit="trial", desc=job["id"], file=sys.stderr)
            except ImportError:
                self._bar = False
        if self._bar:
            self._bar.set_postfix_str(line(job), refresh=False)
            self._bar.n = done
            self._bar.refresh()
            return
        text = f"{job['id']}: {done}{f'/{planned}' if planned else ''} trials, {line(job)}"
        if text != self._shown:
            print("\r" + text.ljust(len(self._shown)), end="", file=sys.stderr, flush=True)
            self._shown = text

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._bar:
            self._bar.close()
        elif self._shown:
            print(file=sys.stderr)


def bar(show: Optional[bool]) -> Bar:
    return Bar(show)


def _in_notebook() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
