"""Cases along trends: what projections and searches share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slipstick.late import Array
from slipstick.model.system import Model
from slipstick.report.formatting import NOTHING
from slipstick.schema.inputs import resolve
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import TECHNOLOGY
from slipstick.schema.text import Mark, Node, Scalar, at, value_mark
from slipstick.study.cases import Place, StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick_rates.files import CORE, TrendSpec, trend_of
from slipstick_rates.trend import PROCESSORS, Draws, PeriodRate, Trend, outside

_SHARED = ("benefit", "fully", "partly")
"""What a trend may say of how the processors' gain is passed on."""

_PROCESSORS = ("machine", "processors")

_ONE = Scalar(1, "1", Mark("trend", 1, 1), quoted=False)


@dataclass(frozen=True, slots=True)
class Trended:
    """A trend and the nodes that it sets in a case.

    Parameters
    ----------
    name, spec : of the trend
    laid : by path
    as_of : year whose knowledge is used; None is today's
    """

    name: str
    spec: TrendSpec
    laid: Mapping[str, Node]
    as_of: float | None = None

    @property
    def title(self) -> str:
        """The title of the trend."""
        return self.spec.title or self.name

    def trend(self, kind: str = CORE) -> Trend:
        """Build the trend for a kind of processors."""
        return trend_of(self.spec, self.name, kind, self.as_of)


@dataclass(frozen=True, slots=True)
class TrendedCase:
    """A case whose values follow a trend.

    Parameters
    ----------
    case : built with everything that the trend changes
    trend, base_year : what it goes along, and the year that its own values are of
    own : what the trend changes, at the case's own values
    kind_told : whether its machine tells what its processors are
    """

    case: Evaluator
    trend: Trend
    base_year: float
    own: Mapping[str, float]
    kind_told: bool = True

    @property
    def smoothed(self) -> TrendedCase:
        """A copy without default simulation, for the thousands of points of a sample."""
        return replace(self, case=self.case.smoothed)

    def values(self, years: Array, draws: Mapping[str, Draws] | None = None) -> dict[str, Array]:
        """Return the values that the trend changes, by path, for each sample [samples x years].

        Parameters
        ----------
        years : to answer for
        draws : by name, as the trend draws them; as stated by default
        """
        values_by_path = self.trend.values(self.base_year, years, self.own, draws)
        return {path: values.reshape(-1) for path, values in values_by_path.items()}

    @property
    def still(self) -> tuple[str, ...]:
        """The classes of cost in the case for which the trend has no rate."""
        model = self.case.built.model
        used = model.technologies if isinstance(model, Model) else []
        moved = set(self.trend.rates)
        if PROCESSORS in moved:
            technology = self.case.inputs.checked.technology
            moved |= {*technology.fully, *technology.partly}
        return tuple(name for name in used if name not in moved)

    @property
    def unmoved(self) -> tuple[str, ...]:
        """The values that the trend changes and that no time of the case depends on."""
        return tuple(
            name
            for name in self.trend.rates
            if f"{TECHNOLOGY}.{name}" not in self.case.form.parameters
        )


def trend_called(
    name: str, place: Place, study: StudyContext, as_of: float | None = None
) -> Trended:
    """Read the trend that a study names, as known in a given year.

    Raises
    ------
    SpecError : there is no such trend, or it is wrong
    """
    file = study.library.load(
        "trend", name, value_mark(study.tree, place), ".".join(map(str, place))
    )
    spec = validate(TrendSpec, file)
    shared_settings = {
        f"{TECHNOLOGY}.{key}": node for key in _SHARED if (node := at(file, [key])) is not None
    }
    short = name.rpartition("/")[2].removesuffix(".yaml").removesuffix(".yml")
    if as_of is not None and spec.rates is not None:
        why = (
            f"trend {short} has rates without points, so nothing tells what was known in"
            f" {as_of:g}; name one of series"
        )
        raise study.refusal(("project", "as_of"), why)
    return Trended(short, spec, shared_settings, as_of)


def trended_case(
    case: str, trended: Trended, base_year: float, place: Place, study: StudyContext
) -> TrendedCase:
    """Build a case that follows a trend, starting from the case's own technology.

    Parameters
    ----------
    case : its name
    trended, base_year : what it goes along, and the year that its values are of
    place : where the base year stands
    study : the study

    Raises
    ------
    SpecError : the case has no classes of cost, or the base year is outside the trend's periods
    """
    settings, library = study.cases[case], study.library
    inputs = resolve(settings, library)
    if inputs.kind not in ("program", "activity"):
        why = (
            f"{case} has no classes of cost, so no trend changes it; project a program or an"
            " activity"
        )
        raise study.refusal(place, why)
    kind = at(inputs.tree, [*_PROCESSORS, "kind"])
    trend = trended.trend(str(kind.value) if isinstance(kind, Scalar) else CORE)
    _check_base_year(trend, base_year, place, study)
    added = {path: node for path, node in trended.laid.items() if at(inputs.tree, path) is None}
    added |= {
        path: _ONE
        for name in trend.rates
        if at(inputs.tree, path := f"{TECHNOLOGY}.{name}") is None
    }
    built = evaluator(case, {**settings, **added}, library)
    own = {f"{TECHNOLOGY}.{name}": 1.0 for name in trend.rates}
    own = {path: built.built.parameters[path].value or 1.0 for path in own}
    return TrendedCase(built, trend, base_year, own, kind is not None)


def _check_base_year(trend: Trend, year: float, place: Place, study: StudyContext) -> None:
    for name, rate in trend.rates.items():
        if isinstance(rate, PeriodRate) and outside(rate, year, year):
            periods = rate.periods
            span = f"{periods[0].start:g} to {periods[-1].end:g}"
            why = (
                f"trend {trend.name} knows rates of {name} for {span} only, so nothing can start in"
                f" {year:g}"
            )
            raise study.refusal(place, why)


def beyond(trend: Trend, base_year: float, years: Sequence[float] | Array) -> tuple[str, ...]:
    """List the rates of a trend that are used outside their periods, between the base year and the
    given years.
    """
    first, last = float(min(base_year, *years)), float(max(base_year, *years))
    return tuple(
        f"{name} ({period.start:g} to {period.end:g})"
        for name, rate in trend.rates.items()
        for period, _, _ in outside(rate, first, last)
    )


def told_year(case: str, study: StudyContext) -> float | None:
    """Return the year of a case's machine; None if the machine has none."""
    node = at(resolve(study.cases[case], study.library).tree, ["machine", "year"])
    is_number = isinstance(node, Scalar) and isinstance(node.value, int | float)
    return float(node.value or 0) if isinstance(node, Scalar) and is_number else None


def year_of(case: str, given: float | None, place: Place, study: StudyContext) -> float:
    """Return the base year of a case: the given one, or that of its machine.

    Raises
    ------
    SpecError : neither tells it
    """
    if given is not None:
        return given
    own = told_year(case, study)
    if own is not None:
        return own
    tree = resolve(study.cases[case], study.library).tree
    title = at(tree, ["machine", "title"])
    machine = f"its machine ({title.text})" if isinstance(title, Scalar) else "its machine"
    why = f"{case}: {machine} does not tell its year; write base_year, or year in the machine"
    raise study.refusal(place, why)


def year(value: float | None) -> str:
    """Write a year, with one decimal where it is not whole; a dash for None.

    >>> year(2024.0), year(2024.46), year(None)
    ('2024', '2024.5', '-')
    """
    return NOTHING if value is None else f"{value:.1f}".removesuffix(".0")
