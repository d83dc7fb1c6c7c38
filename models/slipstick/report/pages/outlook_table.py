"""Projections, changes, samples and what was sought, as columns of the table of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slipstick.results.outlook import Choice, Projection, Sampling, Sought
from slipstick.results.study import Results

__all__ = ["column_type", "outlook_columns"]


def outlook_columns(results: Results, head: Callable[[str], str]) -> list[dict[str, Any]]:
    """Lay out each question as columns by name, all as long as its ``case``.

    ``sweep`` says the question: ``project`` (with ``trend``, ``year``, the values, and the ends of their bands as
    ``low`` and ``high`` of each), ``seek`` (a row for each place found), ``sample`` (a row for each quantile) and
    ``changes`` (a row for each change, under each technology).

    Parameters
    ----------
    results : of a study
    head : writes the name of a value with its unit
    """
    found = [_track_columns(results.projection, index, head) for index in range(_tracks(results.projection))]
    found += [_sought_columns(results.sought)] if any(each.crossings for each in results.sought) else []
    found += [_sampling_columns(each, head) for each in results.samplings]
    return found + [_choice_columns(each) for each in results.choices]


def column_type(values: Sequence[object]) -> Any:
    """Tell columns of text from columns of numbers."""
    import polars as pl

    return pl.String if any(isinstance(each, str) for each in values) else pl.Float64


def _tracks(projection: Projection | None) -> int:
    return len(projection.tracks) if projection else 0


def _track_columns(found: Projection | None, index: int, head: Callable[[str], str]) -> dict[str, Any]:
    assert found is not None
    track, count = found.tracks[index], len(found.years)
    columns: dict[str, Any] = {
        "sweep": ["project"] * count,
        "case": [track.case] * count,
        "trend": [track.trend] * count,
    }
    if found.factors is not None:
        columns["processors"] = found.factors
    columns["year"] = found.years
    for name, column in track.columns.items():
        columns[head(name)] = column
        for end, band in (("low", track.low), ("high", track.high)):
            if name in band:
                columns[f"{end} {head(name)}"] = band[name]
    return {**columns, "failed": [track.failed.get(place) for place in range(count)]}


def _sought_columns(sought: Sequence[Sought]) -> dict[str, Any]:
    rows = [(each, crossing) for each in sought for crossing in each.crossings]
    return {
        "sweep": ["seek"] * len(rows),
        "case": [each.case for each, _ in rows],
        "trend": [each.trend or None for each, _ in rows],
        "sought": [each.name for each, _ in rows],
        "at": [crossing.value for _, crossing in rows],
        "unit": [each.unit for each, _ in rows],
        "holds": ["from there" if crossing.starts else "until there" for _, crossing in rows],
    }


def _sampling_columns(found: Sampling, head: Callable[[str], str]) -> dict[str, Any]:
    parts = list(found.outcomes[0].quantiles) if found.outcomes else []
    columns: dict[str, Any] = {"sweep": ["sample"] * len(parts), "case": [found.case] * len(parts), "quantile": parts}
    for each in found.outcomes:
        for number, name in enumerate(("", "low ", "high ")):
            columns[f"{name}{head(each.name)}"] = [each.quantiles[part][number] for part in parts]
    return columns


def _choice_columns(found: Choice) -> dict[str, Any]:
    effects = [*found.effects, *(pair.effect for pair in found.pairs)]
    return {
        "sweep": ["changes"] * len(effects),
        "case": [found.case] * len(effects),
        "technology": [found.under or None for _ in effects],
        "change": [each.name for each in effects],
        "cost": [each.cost for each in effects],
        "time [s]": [each.time for each in effects],
        "overhead [s]": [each.overhead for each in effects],
        "time_saved [1]": [each.saved for each in effects],
        "overhead_reduction [1]": [each.reduction for each in effects],
        "failed": [each.failed or None for each in effects],
    }
