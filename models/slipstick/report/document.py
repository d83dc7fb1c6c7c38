"""Answers as plain data: the JSON contract."""

from __future__ import annotations

from math import isfinite
from typing import Any

from slipstick.answer import Answer
from slipstick.results.scaling import Array, Extreme, Grown, Growth, Scaling
from slipstick.results.study import Fitting, Results


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
        "useful": list(answer.useful),
        "share": {name: dict(each) for name, each in answer.share.items()},
        "gradient": {name: dict(each) for name, each in answer.gradient.items()},
        "exact": answer.exact,
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


def findings_document(results: Results) -> dict[str, Any]:
    """Lay out what a study found beside its answers; a question that it does not ask has no key.

    Parameters
    ----------
    results : of a study
    """
    found: dict[str, Any] = {
        "scalings": [_scaling(each) for each in results.scalings],
        "fits": {name: fitting_document(each) for name, each in results.fits.items()},
        "measured": {name: list(map(answer_document, answers)) for name, answers in results.measured.items()},
    }
    return {name: each for name, each in found.items() if each}


def fitting_document(fitting: Fitting) -> dict[str, Any]:
    """Lay out fits: an answer for each model, best first, and what the data tell."""
    return {
        "answers": list(map(answer_document, fitting.answers)),
        "verdict": fitting.verdict,
        "warnings": list(fitting.warnings),
    }


def _scaling(found: Scaling) -> dict[str, Any]:
    return {
        "case": found.case,
        "method": found.method,
        "processors": {"path": found.path, "values": _plain(found.processors)},
        "size": {path: {"unit": found.units[path], "power": power} for path, power in found.powers.items()},
        "ways": {way: _grown(each) for way, each in found.ways.items()},
        "matrix": {way: [_plain(row) for row in table] for way, table in found.matrix.items()},
        "fastest": _extreme(found.fastest, "s"),
        "threshold": found.threshold,
        "largest": _extreme(found.largest, "1"),
        "isoefficiency": _growth(found.growth) if found.growth is not None else None,
        "no_isoefficiency": found.no_growth or None,
        "printed": [
            {
                "from": each.processors,
                "to": each.more_processors,
                "way": each.way,
                "printed": each.printed,
                "computed": each.computed if isfinite(each.computed) else None,
                "source": each.source,
            }
            for each in found.printed
        ],
    }


def _grown(each: Grown) -> dict[str, Any]:
    """Lay out one way: lists run along the processors; null where no size keeps what is to be kept."""
    return {
        "goal": each.goal,
        "unit": None if each.goal is None else each.unit,
        "sizes": {path: _plain(values) for path, values in each.sizes.items()},
        "time": _plain(each.time),
        "efficiency": _plain(each.efficiency),
        "latency": _plain(each.latency),
        "account": {name: _plain(values) for name, values in each.account.items()},
        "failed": [each.failed.get(index) for index in range(len(each.time))],
    }


def _growth(growth: Growth) -> dict[str, Any]:
    return {
        "efficiency": growth.efficiency,
        "overhead": growth.overhead,
        "work": growth.work,
        "terms": [{"term": each.text, "order": each.order or None, "since": each.since} for each in growth.terms],
        "order": growth.order or None,
        "exact": growth.exact or None,
        "limit": growth.limit or None,
    }


def _extreme(best: Extreme, unit: str) -> dict[str, Any]:
    value = None if best.processors is None else best.value
    return {"processors": best.processors, "value": value, "unit": unit, "at_the_end": best.at_the_end}


def _plain(values: Array) -> list[float | None]:
    return [float(value) if isfinite(value) else None for value in values]
