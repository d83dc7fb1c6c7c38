"""Answers: labelled values with units, the account of time, shares, and how it was got."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its base unit and, where the method gives them, bounds or an interval."""

    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None


class Later(Mapping[str, Mapping[str, float]]):
    """Numbers by value and path that are computed when somebody first looks at them, as derivatives are.

    Parameters
    ----------
    make : computes them

    >>> Later(lambda: {"time": {"work": 0.9}})["time"]
    {'work': 0.9}
    """

    def __init__(self, make: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, Mapping[str, float]]:
        return self._make()

    def __getitem__(self, name: str) -> Mapping[str, float]:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


@dataclass(frozen=True, slots=True)
class Takeover:
    """At `value` of the parameter `path`, which is `now`, another stage becomes the longest."""

    path: str
    now: float
    value: float
    unit: str
    stage: str


@dataclass(frozen=True, slots=True)
class Limit:
    """Which serial stage limits a pipeline, and where another takes over.

    Parameters
    ----------
    pipeline, stage : their names
    stages : time of one item at each serial stage [s]
    takeovers : nearest change of the limiting stage along each parameter, the smallest change first
    """

    pipeline: str
    stage: str
    stages: Mapping[str, float]
    takeovers: tuple[Takeover, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What one method says of one model at one point.

    Parameters
    ----------
    model, method : names
    values : by name, such as ``time`` or ``processors_lost[lock]``
    account : seconds of a processor in a cycle (or the whole program), by component; adds up to the time
    technology : the same seconds by technology class
    steps : the same seconds by step
    once : time of one execution of each step [s]
    useful : components that count as useful
    share : by value and path, the part of one percent that one percent less buys; adds up to 1 for a time or a rate
    gradient : by value and path, the derivative in base units
    exact : equal to the model's expectation to rounding
    failed : why there is no answer, or None
    notes : what the method left out or assumed
    limits : the limiting stage of each pipeline
    point : coordinates on the axes of a study
    given : what was set beside the files
    seed : key of the random streams of a simulation
    converged : whether a simulation reached the wished precision; None of other methods
    promise : usual relative error of the time of an approximate method, as its benchmark shows it [1]
    interrupted : somebody stopped the method before it was done
    """

    model: str
    method: str
    values: Mapping[str, Value] = field(default_factory=dict)
    account: Mapping[str, float] = field(default_factory=dict)
    technology: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    once: Mapping[str, float] = field(default_factory=dict)
    useful: tuple[str, ...] = ()
    share: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    gradient: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    exact: bool = False
    failed: str | None = None
    notes: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    point: Mapping[str, float | str] = field(default_factory=dict)
    given: Mapping[str, float | str] = field(default_factory=dict)
    seed: int | None = None
    converged: bool | None = None
    promise: float | None = None
    interrupted: bool = False

    def __getitem__(self, name: str) -> float | None:
        """Give a value by name, in its base unit."""
        return self.values[name].value

    @property
    def names(self) -> tuple[str, ...]:
        """The names of everything that `find` gives a number for."""
        return (*self.values, *(f"{kind}[{key}]" for kind, book in self._books.items() for key in book))

    def find(self, name: str) -> float | None:
        """Find a number by the name that columns have, in its base unit; None where there is none.

        >>> Answer("m", "closed-form", account={"lock": 2.0}).find("account[lock]")
        2.0
        """
        if name in self.values:
            return self.values[name].value
        kind, _, inside = name.partition("[")
        return self._books[kind].get(inside.removesuffix("]")) if kind in self._books else None

    def unit(self, name: str) -> str:
        """Give the base unit of a number by its name; empty where there is none."""
        if name in self.values:
            return self.values[name].unit
        return "s" if self.find(name) is not None else ""

    @property
    def _books(self) -> dict[str, Mapping[str, float]]:
        return {"account": self.account, "technology": self.technology, "step": self.steps, "once": self.once}
