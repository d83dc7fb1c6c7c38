"""Answers as plain data: the JSON contract."""

from __future__ import annotations

from typing import Any

from slipstick.answer import Answer


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
