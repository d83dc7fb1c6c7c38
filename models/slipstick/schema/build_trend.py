"""Checked trends and distributions as what the engine reads."""

from __future__ import annotations

import math

from slipstick.model.trend import Period, Trend
from slipstick.model.uncertainty import Discrete, Fixed, Lognormal, Normal, Triangular, Uncertainty, Uniform
from slipstick.schema.kinds.distribution import (
    DiscreteSpec,
    LognormalSpec,
    NormalSpec,
    TriangularSpec,
    Uncertain,
    UniformSpec,
)
from slipstick.schema.kinds.technology import PeriodSpec, TrendSpec

_YEAR = 31_557_600.0


def distribution_of(spec: Uncertain) -> Uncertainty:
    """Read a checked distribution, values in base units."""
    match spec:
        case NormalSpec():
            return Normal(spec.mean.value, spec.deviation.value)
        case LognormalSpec():
            return Lognormal(spec.median.value, spec.spread.value)
        case UniformSpec():
            return Uniform(spec.low.value, spec.to.value)
        case TriangularSpec():
            return Triangular(spec.low.value, spec.mode.value, spec.to.value)
        case DiscreteSpec():
            weights = [each.value for each in spec.weights] if spec.weights else [1.0] * len(spec.values)
            return Discrete([each.value for each in spec.values], weights)
    raise TypeError(spec)


def trend_of(spec: TrendSpec, name: str) -> Trend:
    """Read a checked trend, source keys spelt out."""
    rates = {key: tuple(_period(each, spec) for each in periods) for key, periods in spec.rates.listed.items()}
    return Trend(name, spec.title or name, rates)


def _period(spec: PeriodSpec, trend: TrendSpec) -> Period:
    given = spec.uncertain or spec.factor or spec.doubling or spec.halving
    assert given is not None
    source = given.source or trend.source
    factor = distribution_of(spec.uncertain) if isinstance(spec.uncertain, Uncertain) else _factor(spec)
    return Period(spec.first, spec.to, factor, trend.sources.get(source, source), given.assumed)


def _factor(spec: PeriodSpec) -> Uncertainty:
    if spec.factor:
        yearly = spec.factor.value
    elif spec.doubling:
        yearly = math.exp2(_YEAR / spec.doubling.value)
    else:
        assert spec.halving is not None
        yearly = math.exp2(-_YEAR / spec.halving.value)
    return Lognormal(yearly, spec.spread.value) if spec.spread and spec.spread.value else Fixed(yearly)
