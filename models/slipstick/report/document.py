"""Answers as plain data: the JSON contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from slipstick.answer import Answer
from slipstick.results.question import QuestionResult

if TYPE_CHECKING:
    from slipstick.schema.values import DescribedValue

_KEYS = (
    *("model", "method", "point", "given", "values", "account", "technology", "steps", "intervals", "useful", "share"),
    *("gradient", "exact", "promise", "bound", "error", "failed", "notes", "seed", "converged", "limits"),
)


def answer_document(answer: Answer) -> dict[str, Any]:
    """Lay an answer out for JSON: every key always there, numbers in base units, no NaN."""
    found = {key: as_data(getattr(answer, key)) for key in _KEYS}
    ends = {name: {"low": low, "high": high} for name, (low, high) in found["intervals"].items()}
    return {**found, "intervals": ends, "bound": answer.bound or None, "error": answer.error or None}


def question_document(found: QuestionResult) -> dict[str, Any]:
    """Lay out what a question found for JSON: its data by the names of its fields."""
    return {each.name: as_data(getattr(found, each.name)) for each in fields(found) if each.repr}  # type: ignore[arg-type]


def as_data(value: Any) -> Any:
    """Turn results into what JSON knows: numbers in base units, null for none, no NaN and no infinity.

    >>> as_data({"low": float("nan"), 2: (1.5, "a")})
    {'low': None, '2': [1.5, 'a']}
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Answer):
        return answer_document(value)
    if is_dataclass(value):
        return {each.name: as_data(getattr(value, each.name)) for each in fields(value) if each.repr}
    if isinstance(value, Mapping):
        return {str(key): as_data(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return list(map(as_data, value))
    return as_data(value.tolist())


def value_documents(entries: Mapping[str, DescribedValue]) -> dict[str, Any]:
    """Lay the quantities of a spec out for JSON, by path: each in its base unit, as written, with meaning and source."""
    return {
        path: {
            "value": as_data(each.given.value),
            "unit": str(each.given.dimension),
            "text": each.given.text,
            "meaning": each.meaning,
            "source": each.source,
            "assumed": each.given.assumed,
        }
        for path, each in entries.items()
    }
