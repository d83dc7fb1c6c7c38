"""Values derived from answers: the overhead, and its reduction from the base case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from slipstick.answer import Answer, Value
from slipstick.law.account import OVERHEAD_REDUCTION
from slipstick.results.study import Array

OVERHEAD, REDUCTION = "overhead", "overhead_reduction"
"""Time of a processor that is not useful: all that the account holds besides the useful; and 1 - after / before of it."""


def overhead(columns: Mapping[str, Array], useful: Sequence[str]) -> Array:
    """Take the useful parts of the account off the time [s, points].

    Parameters
    ----------
    columns : of the answers, ``time`` among them
    useful : components of the account
    """
    parts = [columns[f"account[{name}]"] for name in useful if f"account[{name}]" in columns]
    return columns["time"] - reduce(np.add, parts, np.zeros(len(columns["time"])))


def with_derived(cases: Mapping[str, Answer], base: str, wanted: Sequence[str]) -> dict[str, Answer]:
    """Give the answers of cases what of this kind is asked for.

    Parameters
    ----------
    cases : answers by case
    base : the case that the others are held against
    wanted : values that a study asks for
    """
    if not {OVERHEAD, REDUCTION} & set(wanted):
        return dict(cases)
    before = _overhead(cases[base]) if base in cases else None
    return {name: _with(answer, before if name != base else None) for name, answer in cases.items()}


def _overhead(answer: Answer) -> float | None:
    time = answer.find("time")
    if time is None or not answer.account:
        return None
    return time - sum(answer.account.get(name, 0.0) for name in answer.useful)


def _with(answer: Answer, before: float | None) -> Answer:
    after = _overhead(answer)
    if after is None:
        return answer
    values = {**answer.values, OVERHEAD: Value(after, "s")}
    if before:
        values[REDUCTION] = Value(float(OVERHEAD_REDUCTION.equation(before, after)), "1")
    return replace(answer, values=values)
