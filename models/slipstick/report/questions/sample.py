"""What uncertain quantities make of the answers: quantiles, and which quantity causes the variance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slipstick.answer import Answer, Value
from slipstick.errors import UnknownNameError
from slipstick.expression.dimension import Dimension
from slipstick.report.formatting import code, escape, finite, markdown_table, percent, prose, quantity
from slipstick.report.pictures.figures import FILLS, STROKES, axis_title, sheet, title_of
from slipstick.results.study import Array, QuestionResult
from slipstick.units import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import HistogramSpec


@dataclass(frozen=True, slots=True)
class SensitivityIndex:
    """How much of the variance of an answer one quantity causes, alone and with all it acts together with [1]."""

    path: str
    first_order: float
    total: float


@dataclass(frozen=True, slots=True)
class SampledValue:
    """How one sampled answer is distributed.

    Parameters
    ----------
    name, unit : of the answer
    stated : with every quantity as the case gives it, in base units
    mean : of the points
    quantiles : by part, each with the ends of its 95 % interval
    points : all values, in the order in which they were drawn
    influences : of each quantity, the largest total first; empty where they were not asked for, or cannot be told
    why : they cannot be told
    """

    name: str
    unit: str
    stated: float | None
    mean: float
    quantiles: Mapping[float, tuple[float, float, float]]
    points: Array
    influences: tuple[SensitivityIndex, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class SampleStudy:
    """What uncertain quantities make of the answers of one case.

    Parameters
    ----------
    case, method : what was solved, and how
    of : each distribution in words, by path
    outcomes : of each answer
    samples, draw, seed : how points were drawn
    without : points without an answer
    """

    case: str
    method: str
    of: Mapping[str, str]
    outcomes: tuple[SampledValue, ...]
    samples: int
    draw: str
    seed: int
    without: int = 0


_READING = (
    "First order: the part of the variance that the quantity causes alone; total: with all that it acts together with. "
    "Their sums differ from 100 % as far as quantities act together, and by what the number of points leaves open. Brackets "
    "hold the 95 % interval of a quantile."
)


@dataclass(frozen=True, slots=True)
class SampleResult(QuestionResult):
    """What uncertain quantities make of the answers, case by case."""

    studies: tuple[SampleStudy, ...]

    def section(self) -> str:
        return "\n\n".join(["## Uncertain quantities", prose(_READING), *map(_part, self.studies)])

    def text(self) -> str:
        return "\n".join(f"{found.case}: {_sentence(each)}" for found in self.studies for each in found.outcomes)

    def answers(self) -> list[Answer]:
        return [answer for each in self.studies for answer in _answers(each)]

    def columns(self, head: Callable[[str], str]) -> list[dict[str, Any]]:
        return [_columns(each, head) for each in self.studies]

    def draw(self, spec: HistogramSpec) -> Figure:
        """Draw how a sampled value is distributed, its quantiles as lines."""
        outcomes = {each.name: each for found in self.studies if found.case == spec.case for each in found.outcomes}
        if spec.value not in outcomes:
            raise UnknownNameError("sampled value", spec.value, list(outcomes))
        figure = sheet(6.8, 4.0)
        axes = figure.subplots()
        _histogram(axes, outcomes[spec.value])
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", alignment="left")
        title_of(figure, spec.title)
        return figure


def _part(found: SampleStudy) -> str:
    drawn = f"{found.samples} {found.draw} points, seed {found.seed}"
    missing = f"; {found.without} have no answer" if found.without else ""
    of = "\n".join(f"- {code(path)}: {escape(words)}" for path, words in found.of.items())
    parts = [f"### {escape(found.case)} by {escape(found.method)}", f"{drawn}{missing}.", of]
    parts.append("\n".join(f"- {escape(_sentence(each))}" for each in found.outcomes))
    return "\n\n".join([*parts, _quantiles(found.outcomes), _influences(found.outcomes)]).strip()


def _sentence(each: SampledValue) -> str:
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


def _quantiles(outcomes: Sequence[SampledValue]) -> str:
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


def _interval(each: SampledValue, part: float) -> str:
    middle, low, high = each.quantiles[part]
    return quantity(middle, each.unit, ends=(low, high))


def _influences(outcomes: Sequence[SampledValue]) -> str:
    rows = [
        [escape(each.name), code(one.path), percent(one.first_order, 2), percent(one.total, 2)]
        for each in outcomes
        for one in each.influences
    ]
    return markdown_table(["value", "quantity", "first order", "total"], rows, [2, 3]) if rows else ""


def _columns(found: SampleStudy, head: Callable[[str], str]) -> dict[str, Any]:
    parts = list(found.outcomes[0].quantiles) if found.outcomes else []
    columns: dict[str, Any] = {"sweep": ["sample"] * len(parts), "case": [found.case] * len(parts), "quantile": parts}
    for each in found.outcomes:
        for number, name in enumerate(("", "low ", "high ")):
            columns[f"{name}{head(each.name)}"] = [each.quantiles[part][number] for part in parts]
    return columns


def _answers(found: SampleStudy) -> Iterator[Answer]:
    for each in found.outcomes:
        for part, (middle, low, high) in each.quantiles.items():
            values = {each.name: Value(finite(middle), each.unit, finite(low), finite(high))}
            point: dict[str, float | str] = {"case": found.case, "quantile": part}
            yield Answer("sample", found.method, values=values, point=point, seed=found.seed)


_MOST_BINS = 40


def _histogram(axes: Axes, each: SampledValue) -> None:
    import numpy as np

    known = each.points[np.isfinite(each.points)]
    unit, factor = choose(known.tolist(), Dimension.of(each.unit))
    counts, edges = np.histogram(known / factor, bins=min(_MOST_BINS, max(8, len(known) // 25)))
    axes.bar(
        edges[:-1],
        counts / len(known),
        np.diff(edges),
        align="edge",
        color=FILLS[3][0],
        edgecolor="black",
        linewidth=0.5,
    )
    for index, (part, (middle, _, _)) in enumerate(each.quantiles.items()):
        colour, _, dashes = STROKES[index]
        axes.axvline(middle / factor, color=colour, linestyle=dashes, label=f"{percent(part)} of the points below")
    if each.stated is not None:
        axes.axvline(each.stated / factor, color=STROKES[3][0], linestyle=STROKES[3][2], label="as stated")
    axes.set_xlabel(axis_title(each.name, unit))
    axes.set_ylabel(axis_title("part of the points", "1"))
