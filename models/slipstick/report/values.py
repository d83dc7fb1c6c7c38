"""Values of answers and sweeps by the names that studies use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from slipstick.answer import Answer
from slipstick.errors import UnknownNameError
from slipstick.results.study import Array, Axis, Results, Sweep

T = TypeVar("T")

_SECONDS = ("account", "technology", "step", "once", "overhead")


def split_name(name: str) -> tuple[str, str]:
    """Part a name from what stands in its brackets.

    >>> split_name("account[lock]"), split_name("time")
    (('account', 'lock'), ('time', ''))
    """
    kind, _, inside = name.partition("[")
    return kind, inside.removesuffix("]")


def unit_of(results: Results, name: str) -> str:
    """Find the base unit of a value: as the sweeps or the cases have it."""
    for sweep in results.sweeps:
        if name in sweep.units:
            return sweep.units[name]
    for answer in results.cases.values():
        if name in answer.values:
            return answer.values[name].unit
    return "s" if split_name(name)[0] in _SECONDS else "1"


def limit_of(answer: Answer, pipeline: str) -> str | None:
    """Name the stage that limits a pipeline."""
    return next((each.stage for each in answer.limits if each.pipeline == pipeline), None)


def limits_in(results: Results) -> list[str]:
    """List every pipeline with a limiting stage, in the order of cases and sweeps."""
    in_cases = (each.pipeline for answer in results.cases.values() for each in answer.limits)
    in_sweeps = (pipeline for sweep in results.sweeps for pipeline in sweep.limits)
    return _each_once([*in_cases, *in_sweeps])


def case_called(results: Results, name: str) -> Answer:
    """Find a case by its name, or measured runs as NAME-PROCESSORS; raises UnknownNameError."""
    return _known("case", name, results.named_answers())


def sweep_called(results: Results, name: str) -> Sweep:
    """Find a sweep by its name; raises UnknownNameError."""
    return _known("sweep", name, {sweep.name: sweep for sweep in results.sweeps})


def axis_of(sweep: Sweep, path: str) -> Axis:
    """Find the axis that varies a path; raises UnknownNameError."""
    return _known(f"axis of sweep {sweep.name}", path, {axis.path: axis for axis in sweep.axes})


def column_of(sweep: Sweep, name: str) -> Array:
    """Find the values of a sweep by their name; raises UnknownNameError."""
    return _known(f"value in sweep {sweep.name}", name, sweep.columns)


def stages_of(sweep: Sweep, pipeline: str) -> Sequence[str]:
    """Find the limiting stage of a pipeline at each point of a sweep; raises UnknownNameError."""
    return _known(f"limit in sweep {sweep.name}", pipeline, sweep.limits)


def _known(kind: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        raise UnknownNameError(kind, name, list(known))
    return known[name]


def _each_once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
