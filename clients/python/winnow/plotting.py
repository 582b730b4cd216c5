"""Figures of a job, by matplotlib."""

from __future__ import annotations

import importlib
import math
from typing import Any, Optional, Sequence

from winnow import transport
from winnow.reading import JobReader

_STATES = {"COMPLETED": "#2a6fbb", "PRUNED": "#d98b2b", "FAILED": "#c0392b", "CANCELLED": "#888888",
           "RUNNING": "#3a9a5b", "PAUSED": "#7f6fbf", "PENDING": "#bbbbbb"}


class Plots:
    """Each method returns matplotlib's Axes, on `axes` if given. ImportError: matplotlib is not installed."""

    def __init__(self, job: JobReader) -> None:
        self._job = job

    def history(self, *, axes: Any = None) -> Any:
        """Every trial's value, and the best so far of those that have not failed and satisfy metric_constraints."""
        axes = _axes(axes)
        trials = [trial for trial in self._job.trials() if trial.value is not None and math.isfinite(trial.value)]
        for state in sorted({trial.state for trial in trials}):
            own = [trial for trial in trials if trial.state == state]
            axes.scatter([trial.number for trial in own], [trial.value for trial in own], s=14, label=state.lower(),
                         color=_STATES.get(state, "#888888"))
        better = max if self._job.maximizes else min
        best: list[float] = []
        for trial in trials:
            value = float(trial.value or 0.0)
            if trial.state == "FAILED" or transport.number(trial.raw["violation"]) > 0:
                value = math.nan
            best.append(value if not best or math.isnan(best[-1]) else best[-1] if math.isnan(value) else better(best[-1], value))
        axes.step([trial.number for trial in trials], best, where="post", color="black", linewidth=1, label="best so far")
        axes.set(xlabel="trial", ylabel=self._job.metric, title=self._job.id)
        axes.legend(fontsize="small")
        return axes

    def curves(self, *, metric: Optional[str] = None, most: int = 50, axes: Any = None) -> Any:
        """Learning curves of the `most` best trials, and the median of all."""
        axes = _axes(axes)
        fields = {"metric": metric} if metric else {}
        found = self._job.insight("curves", max_curves=most, **fields)
        for place, curve in enumerate(found["curves"]):
            axes.plot(_numbers(curve["resource"]), _numbers(curve["value"]), linewidth=1.6 if place == 0 else 0.8,
                      color=_STATES.get(curve["state"], "#888888"), alpha=1.0 if place == 0 else 0.5)
        envelope = found["envelope"]
        axes.plot(_numbers(envelope["resource"]), _numbers(envelope["median"]), color="black", linestyle="--",
                  linewidth=1, label="median of all")
        axes.set(xlabel="step", ylabel=found["metric"], title=self._job.id)
        axes.legend(fontsize="small")
        return axes

    def parallel(self, *, most: int = 100, axes: Any = None) -> Any:
        """Parallel coordinates of the `most` best trials; the darker, the better."""
        axes = _axes(axes)
        found = self._job.insight("parallel-coordinates", max_lines=most)
        names = [axis["name"] for axis in found["axes"]]
        positions = _numbers(found["position"])
        colors = importlib.import_module("matplotlib").colormaps["viridis"]
        count = len(found["trial"])
        for place in reversed(range(count)):
            row = positions[place * len(names):(place + 1) * len(names)]
            axes.plot(range(len(names)), row, color=colors(place / max(1, count - 1)), linewidth=0.8, alpha=0.7)
        for place, axis in enumerate(found["axes"]):
            for position, text in zip(_numbers(axis["tick_position"]), axis["tick_text"]):
                axes.text(place, position, text, fontsize="x-small", ha="right", va="center")
        axes.set(ylim=(-0.03, 1.03), yticks=[], title=self._job.id)
        axes.set_xticks(range(len(names)), [self._job.metric if name == "#objective" else name for name in names])
        return axes

    def importance(self, *, axes: Any = None) -> Any:
        """The fraction of the objective's variance that each hyperparameter explains (functional ANOVA)."""
        axes = _axes(axes)
        found = self._job.insight("importance")
        rows = list(reversed(found["parameters"]))
        axes.barh([row["parameter"] for row in rows], [transport.number(row["importance"]) for row in rows],
                  xerr=[transport.number(row["deviation"]) for row in rows], color="#2a6fbb", ecolor="#888888")
        axes.set(xlabel="importance", title=found["note"] or f"{self._job.id}, {found['trials']} trials")
        return axes

    def sieve(self, *, axes: Any = None) -> Any:
        """Where trials ended: each at its level, with its best value."""
        axes = _axes(axes)
        found = self._job.insight("sieve")
        for state, color in _STATES.items():
            points = [(level, value) for cell in found["cells"]
                      for level, value, own in zip(_numbers(cell["at_resource"]), _numbers(cell["best"]), cell["state"])
                      if own == state and math.isfinite(value)]
            if points:
                axes.scatter([x for x, _ in points], [y for _, y in points], s=16, color=color, label=state.lower())
        for cell in found["cells"]:
            cutoff = transport.number(cell["cutoff"])
            if math.isfinite(cutoff):
                axes.plot([transport.number(cell["resource"])], [cutoff], marker="_", markersize=18, color="black")
        axes.set(xlabel="step", ylabel=self._job.metric, title=self._job.id)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small")
        return axes


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    return importlib.import_module("matplotlib.pyplot").subplots()[1]


def _numbers(values: Sequence[Any]) -> list[float]:
    return [transport.number(value) for value in values]
