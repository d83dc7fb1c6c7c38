"""Projections: answers for the years ahead along trends, with a band where rates are uncertain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from slipstick.answer import Answer, Value
from slipstick.errors import UnknownNameError
from slipstick.expression.dimension import Dimension
from slipstick.report.formatting import (
    NO_ENDS,
    NOTHING,
    Ends,
    counted,
    escape,
    finite,
    markdown_table,
    percent,
    prose,
    quantity,
)
from slipstick.report.pictures.figures import STROKES, axis_title, logarithmic, sheet, title_of
from slipstick.report.questions.seek import Crossing, year
from slipstick.results.study import Array, Provenance, QuestionResult
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import ProjectionPictureSpec


@dataclass(frozen=True, slots=True)
class UsedRate:
    """A rate that a projection uses.

    Parameters
    ----------
    trend, name : whose rate it is, and of what
    start, end : its period, in years
    factor : how many times faster each year [1]
    low, high : ends of the band of the factor [1]
    source : where it comes from
    assumed : it is a guess
    beyond : years outside its period that it is used for, from and to; None if there are none
    """

    trend: str
    name: str
    start: float
    end: float
    factor: float
    low: float
    high: float
    source: str
    assumed: bool
    beyond: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class DominantClass:
    """A class of cost that takes the most time from one year to another."""

    name: str
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class ConditionHistory:
    """When a condition holds along a track: at the first year, where that changes, and where estimates do not tell."""

    condition: str
    holds_first: bool | None
    crossings: tuple[Crossing, ...]
    undecided: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectedCase:
    """One case along one trend; arrays run along the years.

    Parameters
    ----------
    case, trend : which
    provenance : how each year was solved
    columns : answers with the rates as stated, in base units
    low, high : band of each answer, or its interval where it is simulated; empty if neither is known
    dominant : the class of cost that takes the most time, from when to when
    conditions : when conditions hold
    unmoved : what the trend changes and the case does not have
    failed : why a year has no answer
    """

    case: str
    trend: str
    provenance: Provenance
    columns: Mapping[str, Array]
    low: Mapping[str, Array]
    high: Mapping[str, Array]
    dominant: tuple[DominantClass, ...] = ()
    conditions: tuple[ConditionHistory, ...] = ()
    unmoved: tuple[str, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Projection:
    """Years ahead, for several cases along several trends.

    Parameters
    ----------
    base_year : that the cases' values are of
    years : rising
    tracks : case by case, trend by trend
    units : base unit of each answer
    rates : every rate that is used
    titles : of the trends, by name
    samples, band, seed : draws, and the part of them that the band holds
    factors : how many times faster processors are in each of the years, if that was asked
    """

    base_year: float
    years: Array
    tracks: tuple[ProjectedCase, ...]
    units: Mapping[str, str]
    rates: tuple[UsedRate, ...]
    titles: Mapping[str, str]
    samples: int
    band: float
    seed: int
    factors: Array | None = None


@dataclass(frozen=True, slots=True)
class ProjectResult(QuestionResult):
    """The years ahead."""

    projection: Projection

    def section(self) -> str:
        found = self.projection
        parts = [
            "## The years ahead",
            _head(found),
            "\n".join(f"- {escape(line)}" for line in _sentences(found)),
            *(_table(found, track) for track in found.tracks),
            "### Rates",
            _rates(found),
        ]
        return "\n\n".join(part for part in parts if part)

    def text(self) -> str:
        return "\n".join(_sentences(self.projection))

    def answers(self) -> list[Answer]:
        return list(_answers(self.projection))

    def columns(self, head: Callable[[str], str]) -> list[dict[str, Any]]:
        return [_columns(self.projection, track, head) for track in self.projection.tracks]

    def draw(self, spec: ProjectionPictureSpec) -> Figure:
        """Draw values over the years, a line with its band for each case and trend; a panel for each value."""
        return _panels(self.projection, spec)


_MOST_YEARS = 12

_BANDS = "in brackets, with one draw of a rate for all years. A band does not cover an error of the trend itself."


def _head(found: Projection) -> str:
    titles = ", and ".join(f"{name} ({title})" for name, title in found.titles.items())
    drawn = f" {counted(found.samples, 'draw')} of the rates give the band of {percent(found.band)} {_BANDS}"
    return prose(f"From {year(found.base_year)}, along {titles}.{drawn if found.samples else ''}")


def _sentences(found: Projection) -> list[str]:
    return [*_outcomes(found), *_warnings(found)]


def _outcomes(found: Projection) -> Iterator[str]:
    for track in found.tracks:
        who = f"{track.case} along {track.trend}"
        if goes := list(_goes(found, track)):
            yield f"{who}, {year(found.years[0])} to {year(found.years[-1])}: {', '.join(goes)}"
        yield from (f"{who}: {each}" for each in _dominant(track))
        yield from (f"{who}: {_condition_text(each, found)}" for each in track.conditions)
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


def _goes(found: Projection, track: ProjectedCase) -> Iterator[str]:
    for name, column in track.columns.items():
        unit, first, last = found.units.get(name, "1"), float(column[0]), float(column[-1])
        if isfinite(first) and isfinite(last):
            ends = [quantity(each, unit, ends=_band(track, name, at)) for at, each in ((0, first), (-1, last))]
            yield f"{name} from {ends[0]} to {ends[1]}"


def _band(track: ProjectedCase, name: str, index: int) -> Ends:
    return (float(track.low[name][index]), float(track.high[name][index])) if name in track.low else NO_ENDS


def _dominant(track: ProjectedCase) -> Iterator[str]:
    first, *others = track.dominant or (None,)
    if first is not None and not others:
        yield f"{first.name} takes the most time in all years"
    elif first is not None:
        rest = "".join(f", {each.name} from {year(each.first)}" for each in others if each)
        yield f"{first.name} takes the most time until {year(first.last)}{rest}"


def _condition_text(each: ConditionHistory, found: Projection) -> str:
    open_ = [
        f"is undecided in {year(first)}" if first == last else f"is undecided from {year(first)} to {year(last)}"
        for first, last in each.undecided
    ]
    if not each.crossings and not open_:
        span = f"from {year(found.years[0])} to {year(found.years[-1])}"
        if each.holds_first is None:
            return f"{each.condition} has no answer in {year(found.years[0])}"
        return f"{each.condition} holds {span}" if each.holds_first else f"{each.condition} holds in no year {span}"
    words = [*(_crossing(crossing) for crossing in each.crossings), *open_]
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


def _table(found: Projection, track: ProjectedCase) -> str:
    rows, how = [], track.provenance.shown(track.failed)
    for index in _chosen(len(found.years)):
        cells = [*([] if found.factors is None else [f"{found.factors[index]:.4g}"]), year(found.years[index])]
        for name, column in track.columns.items():
            unit, value = found.units.get(name, "1"), float(column[index])
            cells.append(quantity(value, unit, ends=_band(track, name, index)) if isfinite(value) else NOTHING)
        rows.append([*cells, *(escape(column[index] or NOTHING) for column in how.values())])
    head = [*([] if found.factors is None else ["processors"]), "year", *map(escape, track.columns), *how]
    why = "\n".join(f"- {year(found.years[index])}: {escape(text)}" for index, text in track.failed.items())
    title = f"### {escape(track.case)} along {escape(track.trend)} {escape(track.provenance.common)}".rstrip()
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


def _columns(found: Projection, track: ProjectedCase, head: Callable[[str], str]) -> dict[str, Any]:
    count = len(found.years)
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
    how = track.provenance.columns(track.failed)
    return {**columns, **how, "failed": [track.failed.get(place) for place in range(count)]}


def _answers(found: Projection) -> Iterator[Answer]:
    for track in found.tracks:
        for index, each in enumerate(found.years):
            values = {}
            for name, column in track.columns.items():
                low, high = (float(band[name][index]) if name in band else None for band in (track.low, track.high))
                if isfinite(column[index]):
                    values[name] = Value(float(column[index]), found.units[name], finite(low), finite(high))
            point: dict[str, float | str] = {"case": track.case, "trend": track.trend, "year": float(each)}
            if found.factors is not None:
                point["processors"] = float(found.factors[index])
            how, failed = track.provenance, track.failed.get(index)
            exact = bool(how.exact[index]) and not failed
            bound = how.outside.get(index, "")
            yield Answer("project", how.methods[index], values, point=point, exact=exact, bound=bound, failed=failed)


def _panels(found: Projection, spec: ProjectionPictureSpec) -> Figure:
    figure = sheet(8.2, 1.0 + 3.0 * len(spec.y))
    panels = figure.subplots(len(spec.y), 1, sharex=True, squeeze=False)[:, 0]
    for name, axes in zip(spec.y, panels, strict=True):
        _lines(axes, found, name, spec)
    if found.factors is None:
        panels[-1].set_xlabel("year")
    else:
        logarithmic(panels[-1].xaxis, found.factors)
        panels[-1].set_xlabel("times that processors are as fast")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", alignment="left", title="case, trend")
    title_of(figure, spec.title)
    return figure


def _lines(axes: Axes, found: Projection, name: str, spec: ProjectionPictureSpec) -> None:
    import numpy as np

    tracks = [each for each in found.tracks if name in each.columns]
    if name not in found.units:
        raise UnknownNameError("projected value", name, list(found.units))
    across = found.years if found.factors is None else found.factors
    shown = np.concatenate([np.full(1, np.nan), *(each.columns[name] for each in tracks)])
    unit, factor = choose(shown[np.isfinite(shown)].tolist(), Dimension.of(found.units[name]))
    for index, each in enumerate(tracks):
        colour, marker, dashes = STROKES[index % len(STROKES)]
        label = f"{each.case}, {each.trend}"
        axes.plot(
            across, each.columns[name] / factor, color=colour, marker=marker, linestyle=dashes, markevery=5, label=label
        )
        if name in each.low:
            low, high = each.low[name] / factor, each.high[name] / factor
            axes.fill_between(across, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.set_ylabel(axis_title(name, unit))
    if spec.log == "y":
        logarithmic(axes.yaxis, shown / factor)
    elif np.min(shown, initial=0.0, where=np.isfinite(shown)) >= 0:
        axes.set_ylim(bottom=0)
