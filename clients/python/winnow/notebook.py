"""How a job shows itself in a notebook."""

from __future__ import annotations

import html as text
import math
from typing import Any, Sequence

from winnow import errors, progress, transport
from winnow.reading import JobReader

_WIDTH, _HEIGHT = 420, 120  # of the curves, in pixels
_CURVES = 30


def html(job: JobReader) -> str:
    """State, best trial and small learning curves; where the server cannot be reached, that."""
    try:
        described = job.describe()
        curves = job.insight("curves", max_curves=_CURVES, max_points=100)["curves"]
    except errors.ServerError as error:
        return f"<div><b>{text.escape(job.id)}</b>: {text.escape(str(error))}</div>"
    rows = [("State", f"{described['state']} {described['state_reason']}".strip()),
            ("Trials", f"{progress.ended(described)} ended of {described['planned_trials'] or '?'}; "
                       f"{described['trial_counts']['running']} running")]
    if job.objectives > 1:
        rows.append(("Pareto front", f"{described.get('front_trials') or 0} trials"))
    best = described.get("best")
    if best:
        params = job.trial(int(best["trial"])).params
        listed = ", ".join(f"{name} = {_short(value)}" for name, value in params.items())
        rows.append(("Best", f"{job.metric} = {_short(transport.number(best['objective']))} in trial {best['trial']}"))
        rows.append(("", listed))
    cells = "".join(f"<tr><th style='text-align:left'>{text.escape(name)}</th>"
                    f"<td style='text-align:left'>{text.escape(content)}</td></tr>" for name, content in rows)
    return f"<div><b>{text.escape(job.id)}</b><table>{cells}</table>{_drawn(curves)}</div>"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _drawn(curves: Sequence[Any]) -> str:
    lines = []
    for curve in curves:
        points = [(transport.number(x), transport.number(y)) for x, y in zip(curve["resource"], curve["value"])]
        lines.append([(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)])
    lines = [line for line in lines if len(line) > 1]
    if not lines:
        return ""
    xs, ys = [x for line in lines for x, _ in line], [y for line in lines for _, y in line]
    low, high, bottom, top = min(xs), max(xs), min(ys), max(ys)

    def at(x: float, y: float) -> str:
        return (f"{(x - low) / (high - low or 1) * (_WIDTH - 4) + 2:.1f},"
                f"{(top - y) / (top - bottom or 1) * (_HEIGHT - 4) + 2:.1f}")

    drawn = "".join(f"<polyline fill='none' stroke='#2a6fbb' stroke-opacity='{1.0 if i == 0 else 0.35}' points='"
                    + " ".join(at(x, y) for x, y in line) + "'/>" for i, line in enumerate(lines))
    return f"<svg width='{_WIDTH}' height='{_HEIGHT}' role='img' aria-label='learning curves'>{drawn}</svg>"
