"""The ranges of hyperparameters."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any, Mapping, Optional, Sequence, Union

Value = Union[int, float, str, bool, None]


@dataclasses.dataclass(frozen=True)
class Range:
    """The range of one hyperparameter: made by `uniform`, `log_uniform`, `integers`, `choice` or `discrete`."""

    kind: str  # integer, continuous, discrete or categorical
    content: Mapping[str, Any]  # the range as in a job file
    values: Optional[tuple[Any, ...]] = None  # of `choice` and `discrete`: as they were given
    parameter: Optional[str] = None  # the condition: this parameter
    among: tuple[Value, ...] = ()  # has one of these values
    belief: Optional[Mapping[str, Any]] = None  # as `prior` in a job file

    def when(self, parameter: str, *values: Union[Value, Sequence[Value]]) -> Range:
        """The hyperparameter exists only if `parameter`, which is declared earlier, has one of these values, which may be
        a list."""
        if not values:
            raise ValueError(f"when({parameter!r}): no value is given; expected one or more values of {parameter!r}")
        among = [one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,))]
        return dataclasses.replace(self, parameter=parameter, among=tuple(among))

    def prior(self, value: Value, confidence: str = "MEDIUM") -> Range:
        """You believe the best value to be near `value`; `confidence`: LOW, MEDIUM or HIGH."""
        return dataclasses.replace(self, belief={"value": _text(value), "confidence": confidence})

    def contains(self, value: Any) -> bool:
        """Whether `value` is in the range."""
        if self.values is not None:
            return any(_same(value, own) for own in self.values)
        if isinstance(value, (bool, str)) or value is None:
            return False
        whole = self.kind != "integer" or float(value).is_integer()
        return whole and bool(self.content["min"] <= value <= self.content["max"])

    def text(self, value: Any) -> str:
        """`value` as a job file has it."""
        if self.values is not None:
            for own in self.values:
                if _same(value, own):
                    return _text(own)
        return _text(value)

    def value(self, stored: Any) -> Any:
        """The value as it was given: 1 and not "1", None and not "None"."""
        if self.values is not None:
            for own in self.values:
                if self.kind == "discrete" and float(own) == float(stored) or _text(own) == stored:
                    return own
        return int(stored) if self.kind == "integer" else float(stored) if self.kind == "continuous" else stored

    def spec(self, name: str, others: Mapping[str, Range]) -> dict[str, Any]:
        """The hyperparameter as in a job file."""
        found: dict[str, Any] = {"name": name, self.kind: dict(self.content)}
        if self.parameter is not None:
            if self.parameter not in others:
                raise ValueError(f"space: {name!r} depends on {self.parameter!r}, which is not in the space")
            above = others[self.parameter]
            found["condition"] = {"parameter": self.parameter, "values": [above.text(value) for value in self.among]}
        if self.belief is not None:
            found["prior"] = dict(self.belief)
        return found


Space = Mapping[str, Union[Range, Sequence[Any]]]


def uniform(low: float, high: float) -> Range:
    """Real numbers from `low` to `high`."""
    return Range("continuous", {**_ends("uniform", low, high), "scaling": "LINEAR"})


def log_uniform(low: float, high: float) -> Range:
    """Real numbers from `low` to `high`, both above 0, evenly by their logarithm: for quantities that vary by factors."""
    _positive("log_uniform", low)
    return Range("continuous", {**_ends("log_uniform", low, high), "scaling": "LOG"})


def integers(low: int, high: int, *, log: bool = False) -> Range:
    """Integers from `low` to `high`, both included; with `log` evenly by their logarithm."""
    for name, value in (("low", low), ("high", high)):
        if not _is_finite(value) or int(value) != value:
            raise ValueError(f"integers: {name} is {value!r:.100}; expected an integer")
    if log:
        _positive("integers", low)
    _ends("integers", low, high)
    return Range("integer", {"min": int(low), "max": int(high), "scaling": "LOG" if log else "LINEAR"})


def choice(values: Sequence[Any], *, ordered: bool = False) -> Range:
    """One of `values`: strings, numbers, booleans or None. `ordered`: neighbours are similar."""
    own = _distinct("choice", values)
    return Range("categorical", {"values": [_text(value) for value in own], "ordered": ordered}, own)


def discrete(values: Sequence[float]) -> Range:
    """One of these numbers, which are equally spaced for the search: 16, 32, 64."""
    own = _distinct("discrete", values)
    for value in own:
        if not _is_finite(value):
            raise ValueError(f"discrete: {value!r:.100} is not a number")
    own = tuple(sorted(own))
    return Range("discrete", {"values": [float(value) for value in own]}, own)


def as_space(space: Space) -> dict[str, Range]:
    """`space` with a plain list as `choice` of its values. ValueError names what is wrong."""
    if not isinstance(space, Mapping) or not space:
        raise ValueError(f"space: is {space!r}; expected a dictionary of names and ranges")
    found: dict[str, Range] = {}
    for name, value in space.items():
        if isinstance(value, Range):
            found[name] = value
        elif isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value)):
            ends = f"({value[0]!r}, {value[1]!r})"
            whole = all(isinstance(end, numbers.Integral) for end in value)
            raise ValueError(f"space: {name!r} is {value!r}, which may mean a range or two values; expected winnow.uniform{ends}"
                             f"{f' or winnow.integers{ends}' if whole else ''}, or the list {list(value)!r} for these two "
                             "values alone")
        elif isinstance(value, (list, tuple)):
            found[name] = _named(name, value)
        else:
            raise ValueError(f"space: {name!r} is {value!r}; expected winnow.uniform, log_uniform, integers, choice or "
                             "discrete, or a list of values")
    return found


def _named(name: str, values: Sequence[Any]) -> Range:
    try:
        return choice(values)
    except ValueError as error:
        raise ValueError(f"space: {name!r}: {error}") from None


def parameters(space: Mapping[str, Range]) -> list[dict[str, Any]]:
    """The space as `parameters` of a job file."""
    return [content.spec(name, space) for name, content in space.items()]


def values_of(space: Mapping[str, Range], configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A trial's configuration, with values as they were given to the space."""
    return {name: space[name].value(value) if name in space else value for name, value in configuration.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    try:
        return _is_number(value) and math.isfinite(value)
    except OverflowError:  # an int beyond what a float can be
        return False


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _ends(name: str, low: float, high: float) -> dict[str, float]:
    for end, value in (("low", low), ("high", high)):
        if not _is_finite(value):
            raise ValueError(f"{name}: {end} is {value!r:.100}; expected a finite number")
    if low > high:
        raise ValueError(f"{name}: low is {low!r} and high is {high!r}; expected low <= high")
    return {"min": float(low), "max": float(high)}


def _positive(name: str, low: float) -> None:
    if _is_number(low) and not low > 0:
        raise ValueError(f"{name}: low is {low!r}; expected a number above 0")


def _distinct(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(values, str):
        raise ValueError(f"{name}: is {values!r}; expected a list of values")
    own = tuple(values)
    if not own:
        raise ValueError(f"{name}: no value is given; expected one or more")
    known: set[str] = set()
    for text in map(_text, own):
        if text in known:
            raise ValueError(f"{name}: {text!r} is given twice; expected different values")
        known.add(text)
    return own
