"""What is to come, for the terminal and for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from slipstick.answer import Answer, Value
from slipstick.report.findings.questions import choice_text, projection_text, sampling_text, sought_text
from slipstick.results.outlook import Choice, Effect, Projection, Sampling, Sought
from slipstick.results.study import Results


def outlook_texts(results: Results) -> list[str]:
    """Say in a few lines for each question what was found."""
    found = [*map(choice_text, results.choices)]
    found += [projection_text(results.projection)] if results.projection else []
    return [*found, *map(sought_text, results.sought), *map(sampling_text, results.samplings)]


def outlook_answers(results: Results) -> list[Answer]:
    """Lay out every question as answers: the point says which question, case and place; low and high are the band."""
    found = list(_projected(results.projection)) if results.projection else []
    found += [_sought(each) for each in results.sought]
    found += [answer for each in results.samplings for answer in _sampled(each)]
    return found + [_changed(each, effect) for each in results.choices for effect in _effects(each)]


def _projected(found: Projection) -> Iterator[Answer]:
    for track in found.tracks:
        for index, year in enumerate(found.years):
            values = {}
            for name, column in track.columns.items():
                low, high = (float(band[name][index]) if name in band else None for band in (track.low, track.high))
                if isfinite(column[index]):
                    values[name] = Value(float(column[index]), found.units[name], _known(low), _known(high))
            point: dict[str, float | str] = {"case": track.case, "trend": track.trend, "year": float(year)}
            if found.factors is not None:
                point["processors"] = float(found.factors[index])
            yield Answer("project", track.method, values=values, point=point, failed=track.failed.get(index))


def _sought(found: Sought) -> Answer:
    point: dict[str, float | str] = {"case": found.case, "seek": found.name}
    values = {
        f"{'starts' if each.starts else 'stops'}.{index}": Value(each.value, found.unit)
        for index, each in enumerate(found.crossings)
    }
    return Answer("seek", "search", values=values, point=point, notes=(sought_text(found),))


def _sampled(found: Sampling) -> Iterator[Answer]:
    for each in found.outcomes:
        for part, (middle, low, high) in each.quantiles.items():
            values = {each.name: Value(_known(middle), each.unit, _known(low), _known(high))}
            point: dict[str, float | str] = {"case": found.case, "quantile": part}
            yield Answer("sample", found.method, values=values, point=point, seed=found.seed)


def _effects(found: Choice) -> list[Effect]:
    return [*found.effects, *(pair.effect for pair in found.pairs)]


def _changed(found: Choice, effect: Effect) -> Answer:
    point: dict[str, float | str] = {"case": found.case, "technology": found.under, "change": effect.name}
    numbers = {"time": (effect.time, "s"), "overhead": (effect.overhead, "s"), "time_saved": (effect.saved, "1")}
    values = {name: Value(value, unit) for name, (value, unit) in numbers.items() if isfinite(value)}
    if effect.reduction is not None:
        values["overhead_reduction"] = Value(effect.reduction, "1")
    return Answer("changes", "difference", values=values, point=point, failed=effect.failed or None)


def _known(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
