"""Answers as plain data: the JSON contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from slipstick.answer import Answer
from slipstick.results.question import QuestionResult


def answer_document(answer: Answer) -> dict[str, Any]:
    """Lay an answer out for JSON: every key always there, numbers in base units, no NaN."""
    values = {
        name: {"value": each.value, "unit": each.unit, "low": each.low, "high": each.high}
        for name, each in answer.values.items()
    }
    return {
        "model": answer.model,
        "method": answer.method,
        "point": dict(answer.point),
        "given": dict(answer.given),
        "values": values,
        "account": dict(answer.account),
        "technology": dict(answer.technology),
        "steps": dict(answer.steps),
        "intervals": {name: {"low": low, "high": high} for name, (low, high) in answer.intervals.items()},
        "useful": list(answer.useful),
        "share": {name: dict(each) for name, each in answer.share.items()},
        "gradient": {name: dict(each) for name, each in answer.gradient.items()},
        "exact": answer.exact,
        "bound": answer.bound or None,
        "failed": answer.failed,
        "notes": list(answer.notes),
        "seed": answer.seed,
        "converged": answer.converged,
        "limits": [
            {
                "pipeline": limit.pipeline,
                "stage": limit.stage,
                "stages": dict(limit.stages),
                "takeovers": [
                    {"path": each.path, "now": each.now, "value": each.value, "unit": each.unit, "stage": each.stage}
                    for each in limit.takeovers
                ],
            }
            for limit in answer.limits
        ],
    }


def question_document(found: QuestionResult) -> dict[str, Any]:
    """Lay out what a question found for JSON: its data by the names of its fields."""
    return {each.name: as_data(getattr(found, each.name)) for each in fields(found) if each.repr}  # type: ignore[arg-type]


def as_data(value: Any) -> Any:
    """Turn results into what JSON knows: numbers in base units, null for none, no NaN and no infinity.

    >>> as_data({"low": float("nan"), 2: (1.5, "a")})
    {'low': None, '2': [1.5, 'a']}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Answer):
        return answer_document(value)
    if is_dataclass(value):
        return {each.name: as_data(getattr(value, each.name)) for each in fields(value) if each.repr}
    if isinstance(value, Mapping):
        return {str(key): as_data(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return list(map(as_data, value))
    return as_data(value.tolist())
