"""Two numbers of processors that a title compares, by measured and predicted times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isclose
from typing import NamedTuple

from slipstick.late import late_pattern, np
from slipstick.report.formatting import bracketed, plain_decimal, quantity
from slipstick.results.words import Words
from slipstick_measure.results import Fitting

_TIME_NAME = late_pattern(r"time\[([\d.]+)\]")
_STILL_FASTER = late_pattern(
    r"\b(?:(?:still|even) (?:fast|quick|soon)er|(?:fast|quick|soon)er still)\b(?! than)",
    re.IGNORECASE,
)
"""A title that asks for a gain without a second number of processors."""

_COUNT = late_pattern(
    r"(?<![\d.])\d+(?![\d.]*\d)"
    r"(?! ?(?:%|/|(?:[mun]?s|min|h|d|seconds?|minutes?|hours?|days?|percent|times)\b))"
)
"""A whole number in a title that is no amount of time and no share."""


def numbers_in(title: str) -> list[float]:
    """Return the different whole numbers in a title that may count processors, in its order.

    >>> numbers_in("Is it worth asking for 128 ranks in place of 64?")
    [128.0, 64.0]
    >>> numbers_in("Do 128 ranks finish within 64 s, 2.5 times as fast, at 50 %?")
    [128.0]
    """
    return [*dict.fromkeys(float(number) for number in _COUNT.findall(title))]


class CountTime(NamedTuple):
    """The time on a number of processors, with the ends of its interval [s].

    Parameters
    ----------
    processors : the number
    value : None where an interval alone is known
    low, high : equal to the value for a measured one
    is_measured : the mean of measured times
    """

    processors: float
    value: float | None
    low: float
    high: float
    is_measured: bool = False


UNDECIDED_GAIN = ", a gain that is undecided"
_NO_GAIN = 0.05  # difference of a factor from 1 that amounts with intervals do not show


class CountComparison(NamedTuple):
    """Times on two numbers of processors, at least one of them predicted.

    Parameters
    ----------
    smaller, larger : the times on the smaller and on the larger number
    rate : unit of throughputs and its size in base units; None for times
    """

    smaller: CountTime
    larger: CountTime
    rate: tuple[str, float] | None

    @property
    def factor_and_ends(self) -> tuple[float | None, float, float]:
        """How many times as fast the program is on the larger number, or as large its throughput,
        with the ends that both intervals leave.
        """
        scale = self.larger.processors / self.smaller.processors if self.rate else 1.0
        factor = (
            None
            if self.larger.value is None or self.smaller.value is None
            else scale * self.smaller.value / self.larger.value
        )
        return (
            factor,
            scale * self.smaller.low / self.larger.high,
            scale * self.smaller.high / self.larger.low,
        )

    def sentence(self, words: Words) -> str:
        """Return the factor between both values, whether it is a gain, and the values."""
        factor, low, high = self.factor_and_ends
        factor_text = bracketed(
            "" if factor is None else plain_decimal(factor, 3),
            plain_decimal(low, 3),
            plain_decimal(high, 3),
        ).strip()
        comparison = f"the program is {factor_text} times as fast as"
        if self.rate:
            comparison = f"the throughput is {factor_text} times that"
        conclusion = UNDECIDED_GAIN if low <= 1.0 < high else ""
        if conclusion and factor is not None and isclose(factor, 1.0, abs_tol=_NO_GAIN):
            # Rounded to the digits that intervals leave, the amounts may stand in either order.
            ends_text = f"({plain_decimal(low, 3)} to {plain_decimal(high, 3)} times)"
            comparison = f"the program is about as fast {ends_text} as"
            if self.rate:
                comparison = f"the throughput is about {ends_text} that"
        amounts = " against ".join(
            f"{self._amount(count_time)}{' measured' if count_time.is_measured else ''}"
            for count_time in (self.larger, self.smaller)
        )
        return (
            f"on {words.member_count(self.larger.processors)} {comparison} on"
            f" {self.smaller.processors:g}{conclusion}: {amounts}"
        )

    def _amount(self, count_time: CountTime) -> str:
        """Return a time, or the throughput where throughputs were measured, with its interval."""
        if self.rate is None:
            return quantity(count_time.value, "s", ends=(count_time.low, count_time.high))
        unit, unit_size = self.rate
        value, high, low = (
            "" if time is None else plain_decimal(count_time.processors / time / unit_size)
            for time in (count_time.value, count_time.low, count_time.high)
        )
        return f"{bracketed(value, low, high).strip()} {unit}"


def comparison_in_title(time_fits: Fitting, title: str) -> CountComparison | None:
    """Return the comparison of the two numbers of processors that a title names, of which one at
    least is predicted, or of the one that is to be "still faster" with the most measured; None if
    the title names no such numbers, or if times are of work that grows with the processors.
    """
    if not time_fits.has_law or (time_fits.weak_scaling and not time_fits.rate):
        return None
    time_by_count = _measured_times(time_fits.p, time_fits.time) | _predicted_times(time_fits)
    count_times = [time_by_count[number] for number in numbers_in(title) if number in time_by_count]
    if len(count_times) == 1 and _STILL_FASTER.search(title):
        count_times.append(time_by_count[max(time_fits.p)])
    if len(count_times) != 2 or all(count_time.is_measured for count_time in count_times):
        return None
    smaller, larger = sorted(count_times)
    return CountComparison(smaller, larger, time_fits.rate)


def _measured_times(
    processor_counts: Iterable[float], times: Iterable[float]
) -> dict[float, CountTime]:
    """Return the geometric mean of the times measured on each number of processors."""
    times_by_count: dict[float, list[float]] = {}
    for processors, time in zip(processor_counts, times, strict=True):
        times_by_count.setdefault(float(processors), []).append(float(time))
    means = {
        processors: float(np.exp(np.mean(np.log(times_on_count))))
        for processors, times_on_count in times_by_count.items()
    }
    return {
        processors: CountTime(processors, mean, mean, mean, is_measured=True)
        for processors, mean in means.items()
    }


def _predicted_times(time_fits: Fitting) -> dict[float, CountTime]:
    """Return the times that the preferred law predicts with an interval, and the intervals that
    need no law.
    """
    predictions = {
        float(match[1]): CountTime(float(match[1]), value.value, value.low, value.high)
        for name, value in time_fits.answers[0].values.items()
        if (match := _TIME_NAME.fullmatch(name)) and value.low and value.high
    }
    intervals_alone = {
        processors: CountTime(processors, None, low, high)
        for processors, (low, high) in time_fits.bounded.items()
    }
    return intervals_alone | predictions
