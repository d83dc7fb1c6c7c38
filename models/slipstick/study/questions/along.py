"""A case along a trend: its answers in any year, with the rates as stated or drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slipstick.errors import SpecError
from slipstick.model.trend import Trend, outside
from slipstick.results.study import Array
from slipstick.schema.binding.scene import Settings, stage
from slipstick.schema.binding.technology import TECHNOLOGY
from slipstick.schema.binding.trend import trend_of
from slipstick.schema.kinds.trend import TrendSpec
from slipstick.schema.load import Library
from slipstick.schema.text.nodes import Mark, Node, Scalar, at, value_mark
from slipstick.schema.validate import problem, validate
from slipstick.study.points.evaluate import Evaluator, evaluator

__all__ = ["Along", "Trended", "along", "beyond", "factors_of", "trend_called"]

Place = tuple[str | int, ...]

_SHARED = ("benefit", "fully", "partly")
"""What a trend may say of how the processors' gain is passed on."""


_ONE = Scalar(1, "1", Mark("trend", 1, 1), quoted=False)


@dataclass(frozen=True, slots=True)
class Trended:
    """A trend as read, with the nodes that it lays over a case."""

    trend: Trend
    laid: Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Along:
    """A case along a trend.

    Parameters
    ----------
    case : built with everything that the trend changes
    trend, base_year : what it goes along, and the year that its own values are of
    own : what the trend changes, at the case's own values
    """

    case: Evaluator
    trend: Trend
    base_year: float
    own: Mapping[str, float]

    def values(self, years: Array, factors: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Give what the trend changes, by path, sample by sample [samples x years].

        Parameters
        ----------
        years : to answer for
        factors : yearly factors by name [samples, periods]; as stated by default
        """
        found = self.trend.values(self.base_year, years, factors or self.trend.stated(), self.own)
        return {path: each.reshape(-1) for path, each in found.items()}

    @property
    def unmoved(self) -> tuple[str, ...]:
        """What the trend changes and no time of the case is computed from."""
        return tuple(name for name in self.trend.rates if f"{TECHNOLOGY}.{name}" not in self.case.form.parameters)


def trend_called(name: str, tree: Node, place: Place, library: Library) -> Trended:
    """Read a trend that a study names.

    Raises
    ------
    SpecError : there is no such trend, or it is wrong
    """
    file = library.load("trend", name, value_mark(tree, place), ".".join(map(str, place)))
    spec = validate(TrendSpec, file)
    laid = {f"{TECHNOLOGY}.{key}": node for key in _SHARED if (node := at(file, [key])) is not None}
    short = name.rpartition("/")[2].removesuffix(".yaml").removesuffix(".yml")
    return Trended(trend_of(spec, short), laid)


def along(
    case: str, settings: Settings, trended: Trended, base_year: float, library: Library, tree: Node, place: Place
) -> Along:
    """Build a case along a trend; what the case says of its own technology is where the trend starts from.

    Parameters
    ----------
    case, settings : the case
    trended, base_year : what it goes along, and the year that its values are of
    library : what was read so far
    tree, place : the study, and where the base year stands

    Raises
    ------
    SpecError : the case has no classes of cost, or the base year is outside the trend's periods
    """
    scene = stage(settings, library)
    if scene.kind not in ("program", "activity"):
        why = f"{case} has no classes of cost, so no trend changes it; project a program or an activity"
        raise SpecError([problem(tree, place, why)])
    _check_base_year(trended.trend, base_year, tree, place)
    added = {path: node for path, node in trended.laid.items() if at(scene.tree, path) is None}
    added |= {path: _ONE for name in trended.trend.rates if at(scene.tree, path := f"{TECHNOLOGY}.{name}") is None}
    built = evaluator(case, {**settings, **added}, library)
    own = {f"{TECHNOLOGY}.{name}": 1.0 for name in trended.trend.rates}
    own = {path: built.bound.parameters[path].value or 1.0 for path in own}
    return Along(built, trended.trend, base_year, own)


def _check_base_year(trend: Trend, year: float, tree: Node, place: Place) -> None:
    for name, periods in trend.rates.items():
        if outside(periods, year, year):
            span = f"{periods[0].start:g} to {periods[-1].end:g}"
            why = f"trend {trend.name} knows rates of {name} for {span} only, so nothing can start in {year:g}"
            raise SpecError([problem(tree, place, why)])


def beyond(trend: Trend, base_year: float, years: Array) -> tuple[str, ...]:
    """Name the rates that are used outside their periods between the base year and any of the years."""
    first, last = float(min(base_year, years.min())), float(max(base_year, years.max()))
    return tuple(
        f"{name} ({period.start:g} to {period.end:g})"
        for name, periods in trend.rates.items()
        for period, _, _ in outside(periods, first, last)
    )


def factors_of(trend: Trend, drawn: Mapping[str, Array]) -> dict[str, Array]:
    """Arrange drawn rates by name [samples, periods]."""
    return {
        name: np.stack([drawn[f"{name}.{index}"] for index in range(len(periods))], axis=1)
        for name, periods in trend.rates.items()
    }
