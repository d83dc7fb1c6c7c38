"""Projections in words and tables, for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from slipstick.report.words import NOTHING, code, counted, escape, markdown_table, percent, prose, quantity
from slipstick.results.outlook import Crossing, Projection, Track, UsedRate, Watched

__all__ = ["projection_section", "projection_text", "year"]

_MOST_YEARS = 12
_BANDS = "in brackets, with one draw of a rate for all years. Outside of a band lies also what nobody drew: that a trend is wrong."


def year(value: float) -> str:
    """Write a year, and the tenth of it where it is not whole.

    >>> year(2024.0), year(2024.46)
    ('2024', '2024.5')
    """
    return f"{value:.1f}".removesuffix(".0")


def projection_section(found: Projection | None, command: str) -> str:
    """Write what the years ahead bring: findings in words, tables, every rate with its source.

    Parameters
    ----------
    found : of a study; none gives no section
    command : what was typed
    """
    if found is None:
        return ""
    parts = [
        "## The years ahead",
        _head(found),
        "\n".join(f"- {escape(line)}" for line in [*_findings(found), *_warnings(found)]),
        *(_table(found, track) for track in found.tracks),
        "### Rates",
        _rates(found),
        f"Redo it with {code(command)}.",
    ]
    return "\n\n".join(part for part in parts if part)


def projection_text(found: Projection) -> str:
    """Say in a few lines for the terminal what the years ahead bring."""
    return "\n".join([*_findings(found), *_warnings(found)])


def _head(found: Projection) -> str:
    titles = ", and ".join(f"{name} ({title})" for name, title in found.titles.items())
    drawn = f" {counted(found.samples, 'draw')} of the rates give the band of {percent(found.band)} {_BANDS}"
    return prose(f"From {year(found.base_year)}, along {titles}.{drawn if found.samples else ''}")


def _findings(found: Projection) -> Iterator[str]:
    for track in found.tracks:
        who = f"{track.case} along {track.trend}"
        if goes := list(_goes(found, track)):
            yield f"{who}, {year(found.years[0])} to {year(found.years[-1])}: {', '.join(goes)}"
        yield from (f"{who}: {each}" for each in _reigns(track))
        yield from (f"{who}: {_watched(each, found)}" for each in track.watched)
    yield from _unmoved(found)


def _unmoved(found: Projection) -> Iterator[str]:
    """Say which rates change nothing, once for all cases of which it holds."""
    cases: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for track in found.tracks:
        if track.unmoved:
            cases.setdefault((track.trend, track.unmoved), []).append(track.case)
    for (trend, names), listed in cases.items():
        of = f"of {', '.join(listed)} " if len(listed) < len({each.case for each in found.tracks}) else ""
        yield f"{trend}: no step {of}is of the class {' or '.join(names)}, so {'these rates change' if len(names) > 1 else 'that rate changes'} nothing"


def _goes(found: Projection, track: Track) -> Iterator[str]:
    for name, column in track.columns.items():
        unit, first, last = found.units.get(name, "1"), float(column[0]), float(column[-1])
        if isfinite(first) and isfinite(last):
            yield f"{name} from {quantity(first, unit)} to {quantity(last, unit)}{_band(track, name, -1, unit)}"


def _band(track: Track, name: str, index: int, unit: str) -> str:
    if name not in track.low:
        return ""
    return f" ({quantity(float(track.low[name][index]), unit)} to {quantity(float(track.high[name][index]), unit)})"


def _reigns(track: Track) -> Iterator[str]:
    reigns = track.reigns
    if len(reigns) == 1:
        yield f"{reigns[0].name} takes the most time in all years"
    elif reigns:
        rest = "".join(f", {each.name} from {year(each.first)}" for each in reigns[1:])
        yield f"{reigns[0].name} takes the most time until {year(reigns[0].last)}{rest}"


def _watched(each: Watched, found: Projection) -> str:
    if not each.crossings:
        span = f"from {year(found.years[0])} to {year(found.years[-1])}"
        if each.holds_first is None:
            return f"{each.condition} has no answer in {year(found.years[0])}"
        return f"{each.condition} holds {span}" if each.holds_first else f"{each.condition} holds in no year {span}"
    words = [_crossing(crossing) for crossing in each.crossings]
    return f"{each.condition} {', '.join(words)}"


def _crossing(each: Crossing) -> str:
    said = f"{'holds from' if each.starts else 'holds until'} {year(each.value)}{' on' if each.starts else ''}"
    if each.low is not None and each.high is not None:
        most = "" if each.part is None or each.part > 0.999 else f", in {percent(each.part)} of the draws"
        said += f" ({year(each.low)} to {year(each.high)}{most})"
    elif each.part == 0.0:
        said += " (in none of the draws)"
    return said + (", by a jump" if each.jump else "")


def _warnings(found: Projection) -> Iterator[str]:
    """Say which rates are guesses, and which are used outside their periods, trend by trend."""
    for trend in found.titles:
        rates = [each for each in found.rates if each.trend == trend]
        guesses = [f"{each.name} {_span(each)}" for each in rates if each.assumed]
        some = f"these rates are guesses: {', '.join(guesses)}" if guesses else "no rate is marked as a guess"
        said = "every rate that is used is a guess" if len(guesses) == len(rates) else some
        spans: dict[tuple[float, float], list[str]] = {}
        for each in rates:
            for span in each.beyond:
                spans.setdefault(span, []).append(each.name)
        outside = "; ".join(
            f"{', '.join(names)} for {year(start)} to {year(end)}" for (start, end), names in spans.items()
        )
        yield f"{trend}: {said}; {f'used outside their periods: {outside}' if outside else 'none is used outside its period'}"


def _span(each: UsedRate) -> str:
    return f"{year(each.start)} to {year(each.end)}"


def _table(found: Projection, track: Track) -> str:
    rows = []
    for index in _chosen(len(found.years)):
        cells = [*([] if found.factors is None else [f"{found.factors[index]:.4g}"]), year(found.years[index])]
        for name, column in track.columns.items():
            unit, value = found.units.get(name, "1"), float(column[index])
            cells.append(f"{quantity(value, unit)}{_band(track, name, index, unit)}" if isfinite(value) else NOTHING)
        rows.append(cells)
    head = [*([] if found.factors is None else ["processors"]), "year", *map(escape, track.columns)]
    why = "\n".join(f"- {year(found.years[index])}: {escape(text)}" for index, text in track.failed.items())
    title = f"### {escape(track.case)} along {escape(track.trend)} by {escape(track.method)}"
    return "\n\n".join(part for part in (title, markdown_table(head, rows, range(len(head))), why) if part)


def _chosen(count: int) -> list[int]:
    """Choose a few years, the first and the last among them; all are in results.csv."""
    if count <= _MOST_YEARS:
        return list(range(count))
    step = -(-(count - 1) // (_MOST_YEARS - 2))
    return [*range(0, count - 1, step), count - 1]


def _rates(found: Projection) -> str:
    shared: dict[UsedRate, list[str]] = {}
    for each in found.rates:
        # What one trend takes over from another is listed once.
        shared.setdefault(replace(each, trend=""), []).append(each.trend)
    rows = [
        [
            escape(", ".join(trends)),
            escape(each.name),
            _span(each),
            f"{each.factor:.3g}",
            f"{each.low:.3g} to {each.high:.3g}" if each.high > each.low else NOTHING,
            "; ".join(f"{year(start)} to {year(end)}" for start, end in each.beyond) or NOTHING,
            f"guess: {escape(each.source)}" if each.assumed else escape(each.source),
        ]
        for each, trends in shared.items()
    ]
    head = ["trend", "of", "period", "times faster a year", percent(found.band), "used outside", "source"]
    return markdown_table(head, rows, [3])
