"""Trend files: how fast each class of cost gets cheaper, period by period."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from slipstick.expression.dimension import COUNT, TIME
from slipstick.schema.kinds.distribution import (
    DistributionSpec,
    NormalSpec,
    Spread,
    Uncertain,
    distribution_of,
    quantities,
)
from slipstick.schema.kinds.quantity import Described, Factor, Given, Quantity, Spec, Year, broken_rule
from slipstick.schema.kinds.technology import Part, Technology

if TYPE_CHECKING:
    from slipstick.model.uncertainty import Period, Trend, Uncertainty

_YEAR = 31_557_600.0  # a year of 365.25 days [s]

Span = Annotated[Given, Quantity(TIME, least=None, above=0.0)]


class PeriodSpec(Spec):
    """The rate of one period: exactly one of factor, doubling, halving and uncertain."""

    first: Year = Field(alias="from", description="year in which the period begins")
    to: Year = Field(description="year in which it ends")
    factor: Factor | None = Field(None, description="how many times faster each year")
    doubling: Span | None = Field(None, description="time in which it gets twice as fast, such as 18 month")
    halving: Span | None = Field(None, description="time in which it gets half as fast")
    uncertain: DistributionSpec | None = Field(None, description="how many times faster each year, as a distribution")
    spread: Spread | None = Field(
        None, description="standard deviation of the logarithm of the yearly factor, such as 3%; 0 by default"
    )

    @model_validator(mode="after")
    def _one_rate(self) -> PeriodSpec:
        rates = (self.factor, self.doubling, self.halving, self.uncertain)
        if sum(each is not None for each in rates) != 1:
            raise broken_rule("a period needs exactly one of factor, doubling, halving and uncertain")
        if self.spread is not None and self.uncertain is not None:
            raise broken_rule("uncertain says how far the rate spreads; leave out spread", "spread")
        if not self.to > self.first:
            raise broken_rule(f"the period ends in {self.to:g}, before it has begun in {self.first:g}", "to")
        if isinstance(self.uncertain, Uncertain):
            self._check_uncertain(self.uncertain)
        return self

    def _check_uncertain(self, spec: Uncertain) -> None:
        if spec.dimension != COUNT:
            raise broken_rule(f"a yearly factor is a plain number, not a [{spec.dimension}]", "uncertain")
        if isinstance(spec, NormalSpec) or any(each.value <= 0 for each in quantities(spec).values()):
            raise broken_rule("a yearly factor is more than 0, and this one need not be; use another", "uncertain")


Periods = Annotated[list[PeriodSpec], Field(min_length=1)]


class RatesSpec(Spec):
    """Periods, in order, of each thing that changes."""

    processors: Periods | None = Field(None, description="the processors, and with them the software")
    application: Periods | None = Field(None, description="application time, beside the processors")
    software: Periods | None = Field(None, description="run-time software, beside the processors")
    system: Periods | None = Field(None, description="system calls, beside the processors")
    protocol: Periods | None = Field(None, description="protocol software, beside the processors")
    signal: Periods | None = Field(None, description="signals, beside the processors")
    adapter: Periods | None = Field(None, description="adapter latency")
    switch: Periods | None = Field(None, description="switch latency")
    wire: Periods | None = Field(None, description="time on the wire, as bandwidth has it")
    memory: Periods | None = Field(None, description="memory time")

    @property
    def listed(self) -> dict[str, list[PeriodSpec]]:
        """Give the periods of everything that changes, by name."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: periods for name, periods in given.items() if periods is not None}

    @model_validator(mode="after")
    def _without_gaps(self) -> RatesSpec:
        for name, periods in self.listed.items():
            for index, (before, after) in enumerate(pairwise(periods), 1):
                if after.first != before.to:
                    what = "overlaps the one before" if after.first < before.to else "leaves a gap after the one before"
                    why = f"the period from {after.first:g} {what}, which ends in {before.to:g}"
                    raise broken_rule(why, name, index, "from")
        if not self.listed:
            raise broken_rule("name at least one class of cost that changes, such as processors")
        return self


class TrendSpec(Described):
    """How fast each class of cost gets cheaper; what is not listed stays as it is."""

    trend: Literal[1] = Field(description="version of this format")
    rates: RatesSpec = Field(description="rates of processors and of classes of cost")
    benefit: Part | None = Field(
        None, description="part of each doubling of the processors that classes under partly realize; all by default"
    )
    fully: list[Technology] | None = Field(None, description="classes whose time is divided by processors")
    partly: list[Technology] | None = Field(None, description="classes that gain a part only")


def trend_of(spec: TrendSpec, name: str) -> Trend:
    """Build the trend of a checked file, its source keys spelt out."""
    from slipstick.model.uncertainty import Trend

    rates = {key: tuple(_period(each, spec) for each in periods) for key, periods in spec.rates.listed.items()}
    return Trend(name, spec.title or name, rates)


def _period(spec: PeriodSpec, trend: TrendSpec) -> Period:
    from slipstick.model.uncertainty import Period

    given = spec.uncertain or spec.factor or spec.doubling or spec.halving
    assert given is not None
    source = given.source or trend.source
    factor = distribution_of(spec.uncertain) if isinstance(spec.uncertain, Uncertain) else _factor(spec)
    return Period(spec.first, spec.to, factor, trend.sources.get(source, source), given.assumed)


def _factor(spec: PeriodSpec) -> Uncertainty:
    from slipstick.model.uncertainty import Fixed, Lognormal

    if spec.factor:
        yearly = spec.factor.value
    elif spec.doubling:
        yearly = math.exp2(_YEAR / spec.doubling.value)
    else:
        assert spec.halving is not None
        yearly = math.exp2(-_YEAR / spec.halving.value)
    return Lognormal(yearly, spec.spread.value) if spec.spread and spec.spread.value else Fixed(yearly)
