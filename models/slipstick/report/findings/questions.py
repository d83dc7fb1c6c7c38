"""What changes do to the overhead, alone and in pairs, in words and tables.

What uncertain quantities make of the answers, in words and tables.

Where conditions start or stop holding, in words.

Projections in words and tables, for pages and for the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite

from slipstick.report.words import NOTHING, code, counted, escape, markdown_table, percent, prose, quantity
from slipstick.results.outlook import (
    Choice,
    Crossing,
    Effect,
    Outcome,
    Pair,
    Projection,
    Sampling,
    Sought,
    Track,
    UsedRate,
    Watched,
)

_MOST_PAIRS = 10

_READING = (
    "Overhead: the time of a processor that is not useful. Overhead reduction: 1 - after / before. A pair gains more than the "
    "sum of its changes where one makes room for the other, and less where both take away the same."
)


def choices_section(found: Sequence[Choice]) -> str:
    """Write what changes do, case by case and technology by technology; none give no section."""
    return "\n\n".join(["## Changes", prose(_READING), *map(_part, found)]) if found else ""


def choice_text(found: Choice) -> str:
    """Say in one line what to change."""
    return f"{_where(found)}: {_verdict(found)}"


def _where(found: Choice) -> str:
    return f"{found.case} under {found.under}" if found.under else found.case


def _part(found: Choice) -> str:
    before = f"Before: {quantity(found.time, 's')}, of which {quantity(found.overhead, 's')} are overhead."
    head = ["change", "cost", "time", "overhead", "time saved", "overhead reduction"]
    rows = [_row(each) for each in found.effects]
    failed = "\n".join(f"- {escape(each.name)}: {escape(each.failed)}" for each in found.effects if each.failed)
    parts = [
        f"### {escape(_where(found))}",
        f"{escape(_verdict(found))}. {before}",
        markdown_table(head, rows, range(1, 6)),
        failed,
        _pairs(found),
    ]
    return "\n\n".join(part for part in parts if part)


def _row(each: Effect) -> list[str]:
    return [
        escape(each.name),
        _cost(each.cost),
        quantity(each.time, "s") if not each.failed else NOTHING,
        quantity(each.overhead, "s") if not each.failed else NOTHING,
        percent(each.saved),
        percent(each.reduction),
    ]


def _cost(cost: float | None) -> str:
    return NOTHING if cost is None else f"{cost:g}"


def _verdict(found: Choice) -> str:
    best = max(found.effects, key=lambda each: each.reduction or 0.0)
    if not best.reduction or best.reduction <= 0:
        return "no change takes overhead away"
    words = f"{best.name} takes away the most overhead of all single changes, {percent(best.reduction)}"
    pair = next((each for each in found.pairs if each.affordable), None)
    budget = "" if found.budget is None else f" within {found.budget:g}"
    if pair is None:
        return words + (f"; no pair costs less than {found.budget:g}" if found.budget is not None else "")
    return f"{words}; the best pair{budget} is {pair.effect.name}, {percent(pair.effect.reduction)} ({_together(pair)})"


def _together(pair: Pair) -> str:
    gain = pair.effect.reduction or 0.0
    if abs(gain - pair.apart) < 5e-4:
        return "as much as the two gain apart"
    return f"{'more' if gain > pair.apart else 'less'} than the {percent(pair.apart)} that the two gain apart"


def _pairs(found: Choice) -> str:
    rows = [
        [
            escape(each.effect.name),
            _cost(each.effect.cost),
            "yes" if each.affordable else "no",
            percent(each.effect.reduction),
            percent(each.apart),
            percent(round((each.effect.reduction or 0.0) - each.apart, 12), signed=True),
        ]
        for each in found.pairs[:_MOST_PAIRS]
    ]
    head = ["pair", "cost", "within the budget", "overhead reduction", "sum of the two", "difference"]
    return markdown_table(head, rows, [1, 3, 4, 5]) if rows else ""


_SamplingREADING = (
    "First order: the part of the variance that the quantity causes alone; total: with all that it acts together with. "
    "Their sums differ from 100 % as far as quantities act together, and by what the number of points leaves open. Brackets "
    "hold the 95 % interval of a quantile."
)


def sampling_section(found: Sequence[Sampling]) -> str:
    """Write what was sampled, case by case; none give no section."""
    return (
        "\n\n".join(["## Uncertain quantities", prose(_SamplingREADING), *map(_sampling_part, found)]) if found else ""
    )


def sampling_text(found: Sampling) -> str:
    """Say in a line for each answer how it is distributed."""
    return "\n".join(f"{found.case}: {_sentence(each)}" for each in found.outcomes)


def _sampling_part(found: Sampling) -> str:
    drawn = f"{found.samples} {found.draw} points, seed {found.seed}"
    missing = f"; {found.without} have no answer" if found.without else ""
    of = "\n".join(f"- {code(path)}: {escape(words)}" for path, words in found.of.items())
    parts = [f"### {escape(found.case)} by {escape(found.method)}", f"{drawn}{missing}.", of]
    parts.append("\n".join(f"- {escape(_sentence(each))}" for each in found.outcomes))
    return "\n\n".join([*parts, _quantiles(found.outcomes), _influences(found.outcomes)]).strip()


def _sentence(each: Outcome) -> str:
    parts = list(each.quantiles)
    low, high = (quantity(each.quantiles[part][0], each.unit) for part in (parts[0], parts[-1]))
    stated = "" if each.stated is None else f", {quantity(each.stated, each.unit)} as stated"
    cause = ""
    if each.influences:
        first = each.influences[0]
        cause = f"; {first.path} causes the most of the variance, {percent(first.total)} in total"
    elif each.why:
        cause = f"; {each.why}"
    return f"{each.name} lies between {low} and {high} in {percent(parts[-1] - parts[0])} of the points{stated}{cause}"


def _quantiles(outcomes: Sequence[Outcome]) -> str:
    parts = list(outcomes[0].quantiles) if outcomes else []
    rows = [
        [
            escape(each.name),
            quantity(each.stated, each.unit),
            quantity(each.mean, each.unit),
            *(_interval(each, part) for part in parts),
        ]
        for each in outcomes
    ]
    return markdown_table(["value", "as stated", "mean", *map(percent, parts)], rows, [1, 2])


def _interval(each: Outcome, part: float) -> str:
    middle, low, high = each.quantiles[part]
    return f"{quantity(middle, each.unit)} ({quantity(low, each.unit)} to {quantity(high, each.unit)})"


def _influences(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [escape(each.name), code(one.path), percent(one.first_order, 2), percent(one.total, 2)]
        for each in outcomes
        for one in each.influences
    ]
    return markdown_table(["value", "quantity", "first order", "total"], rows, [2, 3]) if rows else ""


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


_YEAR = "year"


def sought_section(found: Sequence[Sought]) -> str:
    """Write where conditions start or stop holding; none give no section."""
    if not found:
        return ""
    asked = {each.name: [one for one in found if one.name == each.name] for each in found}
    lines = [line for cases in asked.values() for line in _question(cases)]
    return "\n\n".join(["## Where conditions hold", "\n".join(lines)])


def _question(cases: Sequence[Sought]) -> Iterator[str]:
    """Write a question of several cases once, and a line for each."""
    first = cases[0]
    if len(cases) == 1:
        yield f"- {escape(sought_text(first))}"
        return
    yield f"- {escape(f'{first.name}{_along(first)}: {first.condition}, looked at {_ends(first)}{_beyond(first)}')}"
    for each in cases:
        said = _said(each) if each.crossings else _none(each, _ends(each))
        yield f"  - {escape(f'{each.case}: {said}{_gaps(each)}')}"


def sought_text(found: Sought) -> str:
    """Say in one line where a condition starts or stops holding, or why it does nowhere."""
    who, ends, gaps = f"{found.name}, {found.case}{_along(found)}: {found.condition}", _ends(found), _gaps(found)
    said = f"{_said(found)} (looked at {ends}{gaps})" if found.crossings else f"{_none(found, ends)}{gaps}"
    return f"{who} {said}{_beyond(found)}"


def _along(found: Sought) -> str:
    return f" along {found.trend}" if found.trend else ""


def _ends(found: Sought) -> str:
    return f"{found.of} from {_value(found, found.first)} to {_value(found, found.last)}"


def _beyond(found: Sought) -> str:
    return f"; used outside their periods: {', '.join(found.beyond)}" if found.beyond else ""


def _said(found: Sought) -> str:
    return ", ".join(_sought_crossing(found, each) for each in found.crossings)


def _sought_crossing(found: Sought, each: Crossing) -> str:
    at = f"{found.of} = {_value(found, each.value)}" if found.of != _YEAR else year(each.value)
    if each.before is not None:
        before = _value(found, each.before)
        return (
            f"holds from {at} on, not yet at {before}" if each.starts else f"holds up to {before}, not any more at {at}"
        )
    jump = ", by a jump" if each.jump else ""
    return f"holds from {at} on{jump}" if each.starts else f"holds up to {at}{jump}"


def _none(found: Sought, ends: str) -> str:
    """Give the reason why nothing changes: both ends, and the nearest approach."""
    if found.nearest is None or found.margin is None:
        return f"has no answer anywhere for {ends}"
    holds = "holds throughout" if found.holds_first or found.holds_last else "holds nowhere"
    first, last, near = (_sides(found, pair) for pair in found.sides)
    at = _value(found, found.nearest)
    approach = f"it comes nearest to changing at {at}, with {near}, {percent(found.margin)} apart"
    return f"{holds} for {ends}: {first} at one end and {last} at the other; {approach}"


def _sides(found: Sought, pair: tuple[float, float]) -> str:
    left, right = (quantity(each, found.side_unit) for each in pair)
    return f"{left} against {right}"


def _value(found: Sought, value: float) -> str:
    return year(value) if found.of == _YEAR else quantity(value, found.unit, 6)


def _gaps(found: Sought) -> str:
    missing = [name for name, holds in (("first", found.holds_first), ("last", found.holds_last)) if holds is None]
    return f", without an answer at the {' and the '.join(missing)}" if missing and found.nearest is not None else ""
