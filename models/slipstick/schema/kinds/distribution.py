"""Distributions in the place of a time, such as ``time: {lognormal: {mean: 10 ms, scv: 2}}``.

Each kind is one class, listed in `DISTRIBUTIONS`, which has the keys of its table, the distribution
of mean 1 that they describe, and writes such a distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, NoReturn

from pydantic import Discriminator, Field, Tag

from slipstick.errors import KeyMeaning, ModelError
from slipstick.expression.nodes import RATE, TIME, Expr, Number
from slipstick.schema.kinds.constraints import broken_rule
from slipstick.schema.kinds.quantity import (
    QUANTITY_KEYS,
    Given,
    Location,
    Quantity,
    QuantityReader,
    QuantityWriter,
    ReadInPlace,
    Spec,
    Time,
    TimeOrFormula,
)
from slipstick.time_distributions import (
    MeanAndDistribution,
    TimeDistribution,
    coxian,
    erlang,
    gamma,
    general_phases,
    hyperexponential,
    lognormal,
    pareto,
    samples,
    uniform,
    weibull,
)

AnyRate = Annotated[Given, Quantity(RATE, least=None)]
Rates = list[Annotated[Given, Quantity(RATE, least=None, above=0.0)]]


class KindSpec(Spec):
    """Base of the kinds of distributions. The mean is stated, or follows from the times that
    describe the distribution.
    """

    mean: TimeOrFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "mean time", "if given, the other times or rates are scaled to it"
        ),
    )

    def mean_and_distribution(self) -> MeanAndDistribution:
        """Return the distribution, and its mean if the stated times determine the mean [s]."""
        raise NotImplementedError

    @classmethod
    def write(cls, distribution: TimeDistribution) -> dict[str, Any]:
        """Write the keys of the distribution, except the mean."""
        raise NotImplementedError


class MeanKindSpec(KindSpec):
    """A kind of distribution whose mean must be stated."""

    mean: TimeOrFormula = Field(description="mean time")

    make_distribution: ClassVar[Any]
    key: ClassVar[str]

    def mean_and_distribution(self) -> MeanAndDistribution:
        return MeanAndDistribution(0.0, type(self).make_distribution(getattr(self, self.key)))

    @classmethod
    def write(cls, distribution: TimeDistribution) -> dict[str, Any]:
        shape_number = distribution.numbers[0][0]
        return {cls.key: int(shape_number) if cls.key == "phases" else shape_number}


class ErlangTimeSpec(MeanKindSpec):
    """The sum of equal exponential phases."""

    phases: int = Field(description="number of phases", ge=1, le=100)
    make_distribution = staticmethod(erlang)
    key = "phases"


class LognormalTimeSpec(MeanKindSpec):
    """A time whose logarithm has a normal distribution."""

    scv: float = Field(description="squared coefficient of variation", gt=0)
    make_distribution = staticmethod(lognormal)
    key = "scv"


class GammaTimeSpec(MeanKindSpec):
    """A time with a gamma distribution, by its squared coefficient of variation."""

    scv: float = Field(description="squared coefficient of variation", gt=0)
    make_distribution = staticmethod(gamma)
    key = "scv"


class WeibullTimeSpec(MeanKindSpec):
    """A time with a Weibull distribution, by its shape."""

    shape: float = Field(
        description=(
            "shape parameter; 1 is the exponential distribution, and smaller values vary more"
        )
    )
    make_distribution = staticmethod(weibull)
    key = "shape"


class ParetoTimeSpec(MeanKindSpec):
    """A time with a Pareto distribution, by the exponent of its tail."""

    shape: float = Field(description="exponent of the tail, above 2")
    make_distribution = staticmethod(pareto)
    key = "shape"


class UniformTimeSpec(KindSpec):
    """A time with a uniform distribution between two ends."""

    low: Time = Field(description="shortest time")
    high: Time = Field(description="longest time")

    def mean_and_distribution(self) -> MeanAndDistribution:
        return uniform(self.low.value, self.high.value)

    @classmethod
    def write(cls, distribution: TimeDistribution) -> dict[str, Any]:
        low, high = distribution.numbers[0]
        return {"low": f"{low!r} s", "high": f"{high!r} s"}


def _rate_texts(rates: Sequence[float]) -> list[str]:
    return [f"{value!r} /s" for value in rates]


class HyperexponentialTimeSpec(KindSpec):
    """A time that has one of several exponential distributions, each with its probability."""

    probabilities: list[float] = Field(description="probability of each distribution", min_length=1)
    rates: Rates = Field(description="rate of each distribution", min_length=1)

    def mean_and_distribution(self) -> MeanAndDistribution:
        return hyperexponential(self.probabilities, [1 / rate.value for rate in self.rates])

    @classmethod
    def write(cls, distribution: TimeDistribution) -> dict[str, Any]:
        probabilities, means = distribution.numbers
        return {
            "probabilities": list(probabilities),
            "rates": _rate_texts([1 / mean for mean in means]),
        }


class CoxianTimeSpec(KindSpec):
    """A Coxian time: exponential phases one after the other, each of which may be the last."""

    rates: Rates = Field(description="rate of each phase", min_length=1)
    onward: list[float] = Field(
        description="for each phase but the last, the probability that the next phase follows"
    )

    def mean_and_distribution(self) -> MeanAndDistribution:
        return coxian([1 / rate.value for rate in self.rates], self.onward)

    @classmethod
    def write(cls, distribution: TimeDistribution) -> dict[str, Any]:
        means, onward = distribution.numbers
        return {"rates": _rate_texts([1 / mean for mean in means]), "onward": list(onward)}


class PhaseTypeTimeSpec(KindSpec):
    """A phase-type time: the time until a small Markov chain ends, given by alpha and T."""

    alpha: list[float] = Field(description="for each phase, the probability that it is the first")
    T: list[list[AnyRate]] = Field(
        description=KeyMeaning.of(
            "matrix of the rates from phase to phase",
            ("each element on the diagonal is minus the total rate at which its phase ends"),
        )
    )

    def mean_and_distribution(self) -> MeanAndDistribution:
        return general_phases(self.alpha, [[rate.value for rate in row] for row in self.T])

    @classmethod
    def write(cls, distribution: TimeDistribution) -> dict[str, Any]:
        return {
            "alpha": list(distribution.numbers[0]),
            "T": [_rate_texts(row) for row in distribution.numbers[1:]],
        }


class SamplesTimeSpec(KindSpec):
    """Measured times, all equally likely: a list, or a column of a file."""

    values: list[Time] | None = Field(None, description="the times", min_length=1)
    file: str | None = Field(
        None,
        description=(
            "a table or a list of numbers; its path is relative to the folder of this file"
        ),
    )
    column: str | None = Field(
        None, description=("name of the column, if the table has a line of names")
    )
    unit: str | None = Field(
        None, description="unit of the times, such as ms, if the column does not state it"
    )

    def check_rules(self) -> None:
        if self.values is None:
            raise broken_rule(
                "give measured times as values or in a file; a file is read where it is written,"
                " not by --set"
            )

    def mean_and_distribution(self) -> MeanAndDistribution:
        return samples([value.value for value in self.values or ()])

    @classmethod
    def write(cls, distribution: TimeDistribution) -> dict[str, Any]:
        return {"values": [f"{value!r} s" for value in distribution.numbers[0]]}


DISTRIBUTIONS: dict[str, type[KindSpec]] = {
    "erlang": ErlangTimeSpec,
    "hyperexponential": HyperexponentialTimeSpec,
    "coxian": CoxianTimeSpec,
    "phase-type": PhaseTypeTimeSpec,
    "uniform": UniformTimeSpec,
    "lognormal": LognormalTimeSpec,
    "gamma": GammaTimeSpec,
    "weibull": WeibullTimeSpec,
    "pareto": ParetoTimeSpec,
    "samples": SamplesTimeSpec,
}
"""The kinds of distributions, by the key that tells each."""


class NamedTimeSpec(ReadInPlace):
    """A time with a named distribution: one of the following kinds."""

    hints: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("time", "mean", "scv"),
        "write {gamma: {mean: TIME, scv: NUMBER}}, or the time alone and its scv beside it: in a"
        " step scv: NUMBER, at a station scv: {CLASS: NUMBER}",
    )

    erlang: ErlangTimeSpec | None = Field(None, description="sum of equal exponential phases")
    hyperexponential: HyperexponentialTimeSpec | None = Field(
        None, description="one of several exponential distributions, each with its probability"
    )
    coxian: CoxianTimeSpec | None = Field(
        None, description="exponential phases one after the other, each of which may be the last"
    )
    phase_type: PhaseTypeTimeSpec | None = Field(
        None,
        alias="phase-type",
        description=("time until a small Markov chain ends, given by alpha and T"),
    )
    uniform: UniformTimeSpec | None = Field(None, description="uniform between two ends")
    lognormal: LognormalTimeSpec | None = Field(
        None, description=("a time whose logarithm has a normal distribution")
    )
    gamma: GammaTimeSpec | None = Field(None, description="a gamma time")
    weibull: WeibullTimeSpec | None = Field(None, description="a Weibull time")
    pareto: ParetoTimeSpec | None = Field(None, description="a tail that falls as a power")
    samples: SamplesTimeSpec | None = Field(None, description="measured times")

    @property
    def kind(self) -> tuple[str, KindSpec]:
        """The name of the distribution, with its keys."""
        for name in DISTRIBUTIONS:
            if (kind_spec := getattr(self, name.replace("-", "_"))) is not None:
                return name, kind_spec
        raise AssertionError

    def check_rules(self) -> None:
        given_kinds = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given_kinds) != 1:
            raise broken_rule(
                f"give one distribution, got {len(given_kinds)}: {', '.join(given_kinds)}"
            )
        try:
            self.kind[1].mean_and_distribution()
        except ModelError as error:
            raise broken_rule(str(error), self.kind[0]) from None

    @property
    def distribution(self) -> TimeDistribution:
        """The distribution, scaled to mean 1."""
        return self.kind[1].mean_and_distribution().distribution

    def expr(self, quantity_reader: QuantityReader, location: Location) -> Expr:
        """Return the mean as an expression [s]."""
        kind_name, kind_spec = self.kind
        if kind_spec.mean is not None:
            return quantity_reader.expr(kind_spec.mean, (*location, kind_name, "mean"), TIME)
        return Number(kind_spec.mean_and_distribution().mean, TIME)


def _tag_of_time(value: Any) -> str:
    """Return the tag of a time for pydantic: a quantity, or a distribution."""
    if isinstance(value, NamedTimeSpec):
        return "distribution"
    if not isinstance(value, dict):
        return "quantity"
    if "value" not in value and not set(NamedTimeSpec.hints).isdisjoint(value):
        return "distribution"
    known_keys = [*DISTRIBUTIONS, *QUANTITY_KEYS]
    # Misspelt keys decide too, so that the message is about the kind that was meant.
    close_keys = [name for key in value for name in get_close_matches(str(key), known_keys, n=1)]
    return "quantity" if set(close_keys) & {*QUANTITY_KEYS} else "distribution"


TimeOrDistribution = Annotated[
    Annotated[TimeOrFormula, Tag("quantity")] | Annotated[NamedTimeSpec, Tag("distribution")],
    Discriminator(_tag_of_time),
]
"""A time, or its distribution."""


def refuse_scv(*location: str) -> NoReturn:
    """Raise the error that a time has both a distribution and a squared coefficient of variation
    (scv).
    """
    raise broken_rule("a distribution has its own scv; leave scv out", *location)


def distribution_of(value: object) -> TimeDistribution | None:
    """Return the distribution that a field holds in the place of a time; None for a plain time."""
    return value.distribution if isinstance(value, NamedTimeSpec) else None


def time_as_data(
    mean: Expr, distribution: TimeDistribution | None, quantity_writer: QuantityWriter
) -> Any:
    """Write a time, or its distribution, as plain data."""
    if distribution is None:
        return quantity_writer.expr_as_data(mean)
    distribution_keys = DISTRIBUTIONS[distribution.kind].write(distribution)
    return {distribution.kind: {"mean": quantity_writer.expr_as_data(mean), **distribution_keys}}
