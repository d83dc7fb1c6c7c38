"""Estimates from a simulation: means, quantiles and their confidence intervals.

Kernels write rows of cumulative statistics (`Layout`). Differences of rows are sums over a stretch
of the run, and every mean is a ratio of such sums; so rows are all that the estimates need,
whichever kernel wrote them. A `Record` keeps the rows of one long run, thinned out so that their
number stays small. The warm-up is found by MSER-5; intervals are those of batch means, or of
independent replications, with Student's t. Quantiles come from histograms (`Quantiles`) in memory
that does not grow: a bin is 0.2 % wide and keeps the sum of its values beside their number, so a
quantile is exact where all values of its bin are equal and off by at most 0.2 % elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Protocol

from slipstick.late import Array, NDArray, dataclass, np, replace
from slipstick.sim.deadlock import Wait
from slipstick.sim.heavy_traffic import least_relative_half_widths, open_queues
from slipstick.sim.plan.plan import Plan
from slipstick.sim.settings import Simulation

LEAST_CYCLES_PER_ROW = 40
"""Smallest number of cycles between two rows; a multiple of 5, for MSER-5."""


def cycles_per_row(plan: Plan) -> int:
    """Return the number of cycles between two rows of statistics: a multiple of the number of
    customers.

    Members in step then end their cycles together just before a row. Where nothing is random, one
    round.
    """
    customer_count = max(plan.population, 1)
    if not plan.is_random:
        return customer_count
    return customer_count * -(-LEAST_CYCLES_PER_ROW // customer_count)


class Layout:
    """The columns of a row of cumulative statistics, by the value that each of them holds.

    Attributes
    ----------
    time_column, event_count_column : of the simulated time [s], and of the number of events planned
        so far
    cycle_columns, cycle_time_columns : by group, cycles ended and the sum of their times [s]
    present_time_columns, busy_time_columns, ended_visit_columns : by resource, integrals of the
        customers present and of the servers busy [s], and number of visits that ended
    first_label_columns : by group, the first of the columns with its booked times over the cycles
        ended, one for each label [s]
    try_columns, refusal_columns : by tally, number of arrivals, and of arrivals turned away
    grant_columns, waiting_time_columns, squared_wait_columns : by lock, how often it was granted,
        and sums of the waiting times and of their squares [s, s^2]
    extra_time_column_by_station : by station that has rates, the times of its visits beyond those
        of a customer alone [s]
    given_up_time_column_by_station : by station whose services may be given up, the times of those
        services [s]
    execution_columns, execution_time_columns : by pipeline, number of executions, and the sum of
        their times [s]
    label_count : number of labels
    column_count : columns of a row
    """

    def __init__(self, plan: Plan) -> None:
        self.time_column = 0
        self.event_count_column = 1
        self.column_count = 2
        self.cycle_columns, self.cycle_time_columns = self._reserve_columns(2, len(plan.groups))
        self.present_time_columns, self.busy_time_columns, self.ended_visit_columns = (
            self._reserve_columns(3, len(plan.resources))
        )
        label_columns = self._reserve_columns(len(plan.labels), len(plan.groups))
        self.label_count = len(plan.labels)
        self.first_label_columns = (
            label_columns[0] if label_columns else [self.column_count] * len(plan.groups)
        )
        self.try_columns, self.refusal_columns = self._reserve_columns(2, len(plan.tallies))
        self.grant_columns, self.waiting_time_columns, self.squared_wait_columns = (
            self._reserve_columns(3, len(plan.locks))
        )
        self.extra_time_column_by_station = self._columns_of_stations(
            [bool(station.rates) for station in plan.stations]
        )
        self.given_up_time_column_by_station = self._columns_of_stations(
            [station.may_cut_services for station in plan.stations]
        )
        self.execution_columns, self.execution_time_columns = self._reserve_columns(
            2, len(plan.pipelines)
        )

    def _reserve_columns(self, columns_per_owner: int, owner_count: int) -> list[list[int]]:
        """Reserve `columns_per_owner` columns for each of `owner_count` groups or resources; return
        the column numbers, one list for each kind of column.
        """
        first_column = self.column_count
        self.column_count = self.column_count + columns_per_owner * owner_count
        return [
            list(range(first_column + column_kind, self.column_count, columns_per_owner))
            for column_kind in range(columns_per_owner)
        ]

    def _columns_of_stations(self, needs_column: Sequence[bool]) -> dict[int, int]:
        """Reserve a column for each station that needs one; return the column number of each such
        station, keyed by the number of the station.
        """
        station_indexes = [station for station, is_needed in enumerate(needs_column) if is_needed]
        return dict(
            zip(station_indexes, self._reserve_columns(1, len(station_indexes))[0], strict=True)
        )

    def column_weights(self, column_index: int) -> Array:
        """Return weights of the columns of a row: 1 for the column at `column_index`, 0 for all
        others.
        """
        return np.eye(1, self.column_count, column_index).ravel()


_ROUNDING = 1e-9
"""Largest relative difference of two sums of the same times in another order [1]."""

BATCHES = 32
"""Number of batches of which an interval is made: few, so that they are long and nearly
independent.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its confidence interval, whose ends are None where no interval can be trusted."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float:
        """Half the width of the confidence interval; infinite where there is none."""
        return math.inf if self.low is None or self.high is None else (self.high - self.low) / 2


def t_quantile(level: float, degree_count: int) -> float:
    """Return the quantile of Student's t for a two-sided interval, by degrees of freedom.

    In the expansion z is the quantile of the normal distribution and n the degrees of freedom.

    Exact for one and two degrees, else by the expansion of Cornish and Fisher: at level 0.95 within
    0.12 % for three degrees and 1e-5 from nine on, at level 0.99 within 0.8 % and 1e-4
    (tests/sim/test_theory.py).

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.7.5.

    >>> t_quantile(0.95, 31), t_quantile(0.95, 1)
    (2.0395, 12.7062)
    """
    if degree_count <= 2:
        return (
            math.tan(math.pi * level / 2)
            if degree_count == 1
            else level * math.sqrt(2 / (1 - level**2))
        )
    z = NormalDist().inv_cdf((1 + level) / 2)
    n = float(degree_count)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def warm_up_length(series: Array) -> int:
    """Return the number of leading values to drop as warm-up, by MSER: the number that minimizes
    the error of the mean of the remaining values.

        minimize over d <= n/2:  sum_{i >= d} (x_i - mean_d)^2 / (n - d)^2

    Source: White, Simulation 69(6), 1997, 323-334. The values are means of at least 5 observations
    (MSER-5).

    >>> warm_up_length(np.array([9.0, 5.0, 1.0, 1.5, 1.0, 1.5, 1.0, 1.5, 1.0, 1.5]))
    2
    """
    value_count = len(series)
    if value_count < 4:
        return 0
    # Centring keeps the difference of squares exact where values are nearly equal.
    centred_series = series - series[value_count // 2 :].mean()
    # Sums from the end serve all lengths of the warm-up in one pass.
    values_left = np.arange(value_count, 0, -1)
    remaining_sums = np.cumsum(centred_series[::-1])[::-1]
    remaining_squares = np.cumsum((centred_series**2)[::-1])[::-1]
    squared_error = (
        np.maximum(remaining_squares - remaining_sums**2 / values_left, 0.0)
        / values_left.astype(np.float64) ** 2
    )
    # At most half: a minimum further on only says that few values are left (White, 1997).
    return int(np.argmin(squared_error[: value_count // 2 + 1]))


def least_half_widths_of_run(plan: Plan, column_sums: Array, level: float) -> dict[int, float]:
    """Return the least half-width of the interval of the mean wait at each station, relative to the
    mean wait, by the number of the station [1], from the sums of the columns of a whole run; see
    `least_relative_half_widths`.
    """
    layout = Layout(plan)
    servers = np.array([station.servers for station in plan.stations])
    server_times = column_sums[layout.time_column] * servers
    busy_times, ended_services = (
        column_sums[columns[: len(servers)]]
        for columns in (layout.busy_time_columns, layout.ended_visit_columns)
    )
    return least_relative_half_widths(
        plan,
        float(column_sums[layout.cycle_columns].sum()),
        ended_services,
        1 - busy_times / np.where(server_times > 0, server_times, np.inf),
        level,
    )


def sums_by_batch(row_sums: Array, batch_count: int = BATCHES) -> Array:
    """Return the sums of the rows over batches of equally many rows [batches, columns]. The first
    rows are left out if their number is not a multiple of the number of batches.
    """
    rows_per_batch = len(row_sums) // batch_count
    batch_sums: Array = (
        row_sums[len(row_sums) - rows_per_batch * batch_count :]
        .reshape(batch_count, rows_per_batch, -1)
        .sum(axis=1)
    )
    return batch_sums


ROWS_OF_PERIODS = 8
"""Smallest number of rows in a batch of whole periods: a row that covers the end of one period and
the beginning of the next counts for the one in which most of it lies.
"""


def sums_by_period(row_sums: Array, time_column: int, period: float) -> Array:
    """Return the sums of the rows over each whole period; if a period has fewer than
    `ROWS_OF_PERIODS` rows, over several successive periods together. Rows of an unfinished last
    period are left out, unless it is the only one.

    Parameters
    ----------
    row_sums : the sums over each row [rows, columns]
    time_column : the column of the time that a row lasts [s]
    period : duration of a period [s]

    >>> sums_by_period(np.ones((35, 1)), 0, 16.0).ravel().tolist()
    [16.0, 16.0]
    """
    row_ends = np.cumsum(row_sums[:, time_column])
    if not len(row_ends) or row_ends[-1] < period:
        return row_sums
    periods_per_sum = math.ceil(ROWS_OF_PERIODS * row_ends[-1] / period / len(row_ends))
    row_middles = row_ends - row_sums[:, time_column] / 2
    period_by_row = (row_middles // (periods_per_sum * period)).astype(np.int64)
    sum_count = int((row_ends[-1] + row_sums[-1, time_column] / 2) // (periods_per_sum * period))
    if not sum_count:
        return row_sums
    is_whole = period_by_row < sum_count
    _, first_rows = np.unique(period_by_row[is_whole], return_index=True)
    sums_by_periods: Array = np.add.reduceat(row_sums[is_whole], first_rows, axis=0)
    return sums_by_periods


def estimated_ratio(
    numerator: Array, denominator: Array, level: float = 0.95, in_one_run: bool = False
) -> Estimate:
    """Estimate a ratio of means from batches: sum of `numerator` / sum of `denominator`.

        residual e_b = numerator_b - R denominator_b
        var(R) = c sum e_b^2 k / (k - 1) / sum(denominator)^2
        c = (1 + r) / (1 - r),  r = max(0, sum e_b e_{b+1} / sum e_b^2)

    over the k batches in which something was counted; c = 1 if the batches are not successive
    batches of one run. A single batch has no interval.

    What correlation is left between successive batches is that of an autoregressive process of
    first order, as in Tafazzoli and Wilson, IIE Transactions 43(2), 2011, 110-128. Without it a run
    that is stopped as soon as its interval is narrow is stopped where the batches happen to show
    too little variance (benchmarks/interval_coverage.py).

    Parameters
    ----------
    numerator, denominator : sums of each batch [batches]
    level : of the interval [1]
    in_one_run : the batches follow one another in one run

    >>> estimated_ratio(np.array([2.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0]))
    Estimate(mean=2.0, low=2.0, high=2.0)
    >>> estimated_ratio(np.array([0.0, 6.0, 0.0]), np.array([0.0, 3.0, 0.0]))
    Estimate(mean=2.0, low=None, high=None)
    """
    denominator_sum = float(denominator.sum())
    if denominator_sum == 0:
        # Time that was spent on nothing that ended has no mean, unlike nothing at all.
        return Estimate(math.nan if numerator.sum() > 0 else 0.0)
    mean = float(numerator.sum()) / denominator_sum
    # Of a class that starves, nothing ended in most batches, and these say nothing of the spread.
    batch_count = int(np.count_nonzero((numerator != 0) | (denominator != 0)))
    if batch_count < 2:
        return Estimate(mean)
    residual = numerator - mean * denominator
    squared_residuals = float((residual**2).sum())
    autocorrelation = (
        float((residual[1:] * residual[:-1]).sum()) / squared_residuals
        if in_one_run and squared_residuals
        else 0.0
    )
    variance_inflation = (
        (1 + autocorrelation) / (1 - autocorrelation) if autocorrelation > 0 else 1.0
    )
    # The residuals add up to 0 by the choice of R, hence k - 1 degrees of freedom.
    half_width = (
        t_quantile(level, batch_count - 1)
        * math.sqrt(variance_inflation * squared_residuals * batch_count / (batch_count - 1))
        / abs(denominator_sum)
    )
    return Estimate(mean, mean - half_width, mean + half_width)


def is_correlated(batch_means: Array, negligible_difference: float = 1e-12) -> bool:
    """Return whether successive batches are clearly correlated, over all runs together. They are
    then too short for an interval.

    Tests the first autocorrelation, which of independent batches is nearly normal with variance 1 /
    batches, at a level of 5 %.

    Parameters
    ----------
    batch_means : means of the successive batches of independent runs [..., batches]
    negligible_difference : differences from their mean, relative to it, up to which they are taken
        as equal [1]

    >>> is_correlated(np.linspace(1.0, 2.0, 32)), is_correlated(np.linspace(1.0, 1.0001, 32), 0.001)
    (True, False)
    """
    overall_mean = batch_means.mean()
    centred_means = batch_means - overall_mean
    squared_sum = float((centred_means**2).sum())
    # A constant series would be judged by its rounding.
    if float(np.abs(centred_means).max()) <= negligible_difference * abs(float(overall_mean)):
        return False
    return float(
        (centred_means[..., 1:] * centred_means[..., :-1]).sum()
    ) / squared_sum > 1.645 / math.sqrt(batch_means.size)


# Neighbouring bins differ by 1 / 500, so that a quantile is known within 0.2 %; from 1e-12 s on,
# 32,000 bins reach beyond 1e15 s.
_BINS_PER_FACTOR_E = 500.0
_LEAST_VALUE = 1e-12
_MOST_BINS = 32_000


class Quantiles:
    """Histograms of response times, one for each section of equally many successive values. The
    confidence interval of a quantile follows from the differences between the sections.

    Parameters
    ----------
    section_size : values in a section at first; it doubles whenever there are 64

    >>> quantiles = Quantiles(section_size=2)
    >>> quantiles.add(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    >>> quantiles.estimate(0.5).mean
    3.0
    """

    SECTIONS = 64

    def __init__(self, section_size: int = 256) -> None:
        self.section_size = section_size
        self._full_sections: list[tuple[NDArray[np.int64], Array]] = []
        self._section_parts: list[Array] = []
        self._part_length = 0

    def add(self, new_values: Array) -> None:
        """Add response times to the histogram, in the order in which the cycles ended."""
        while len(new_values):
            free_places = self.section_size - self._part_length
            self._section_parts.append(new_values[:free_places])
            self._part_length += len(self._section_parts[-1])
            new_values = new_values[free_places:]
            if self._part_length == self.section_size:
                self._full_sections.append(_histogram(np.concatenate(self._section_parts)))
                self._section_parts = []
                self._part_length = 0
                # Sections are joined in pairs, so that memory does not grow with the run and each
                # stays nearly independent of its neighbours.
                if len(self._full_sections) == self.SECTIONS:
                    section_pairs = (
                        _counts_and_sums(self._full_sections[first_section : first_section + 2])
                        for first_section in range(0, self.SECTIONS, 2)
                    )
                    self._full_sections = [
                        (counts.sum(axis=0), sums) for counts, sums in section_pairs
                    ]
                    self.section_size *= 2

    def join(self, later_quantiles: Quantiles, dropped_count: int) -> None:
        """Add the sections of another run, without the warm-up of that run: the sections of about
        its first `dropped_count` values.
        """
        self._full_sections += later_quantiles._full_sections[
            later_quantiles._first_section(dropped_count) :
        ]
        # Nothing is added behind joined sections, so neither an overfull part nor sections of
        # another length matter.
        self._section_parts += later_quantiles._section_parts
        self._part_length += later_quantiles._part_length

    def _first_section(self, dropped_count: int) -> int:
        """Return the index of the first section that begins after the first `dropped_count` values,
        but at most the index of the last full section.
        """
        # The last full section stays whatever is dropped, so that there is a quantile.
        return min(-(-dropped_count // self.section_size), max(len(self._full_sections) - 1, 0))

    def _histograms_of_sections(self, dropped_count: int) -> list[tuple[NDArray[np.int64], Array]]:
        """List the histograms of all sections without the sections of the first `dropped_count`
        values; the last section may not be full.
        """
        unfinished_section = (
            [_histogram(np.concatenate(self._section_parts))] if self._part_length else []
        )
        return [*self._full_sections[self._first_section(dropped_count) :], *unfinished_section]

    def share_within(self, time: float, dropped_count: int = 0, level: float = 0.95) -> Estimate:
        """Estimate the fraction of the values that are at most `time`, without the first
        `dropped_count` values [1]. Half of the values in the same bin as `time` count, or all of
        them if their mean is at most `time`.

        >>> quantiles = Quantiles(section_size=2)
        >>> quantiles.add(np.array([1.0, 2.0, 3.0, 4.0]))
        >>> quantiles.share_within(3.0).mean
        0.75
        """
        sections = self._histograms_of_sections(dropped_count)
        if not sections:
            return Estimate(math.nan)
        counts_by_section, sums_by_bin = _counts_and_sums(sections)
        bin_index = _bin_numbers(np.array([time]))[0]
        counts_by_bin = counts_by_section.sum(axis=0)
        if bin_index >= len(counts_by_bin):
            return Estimate(1.0, 1.0, 1.0)
        bin_mean = (
            sums_by_bin[bin_index] / counts_by_bin[bin_index] if counts_by_bin[bin_index] else time
        )
        # Inside a bin the values are not known apart; their mean tells on which side of the time
        # most of them lie.
        counted_share_of_bin = 1.0 if bin_mean <= time * (1 + 1e-12) else 0.5
        counts_within = (
            counts_by_section[:, :bin_index].sum(axis=1)
            + counted_share_of_bin * counts_by_section[:, bin_index]
        )
        share = float(counts_within.sum() / counts_by_bin.sum())
        full_section_count = len(sections) - bool(self._part_length)
        if full_section_count < 8:  # too few sections for the error of a share
            return Estimate(share)
        share_deviation = float(
            (
                counts_within[:full_section_count]
                / counts_by_section[:full_section_count].sum(axis=1)
            ).std(ddof=1)
        )
        half_width = (
            t_quantile(level, full_section_count - 1)
            * share_deviation
            / math.sqrt(full_section_count)
        )
        return Estimate(share, max(share - half_width, 0.0), min(share + half_width, 1.0))

    def estimate(self, p: float, dropped_count: int = 0, level: float = 0.95) -> Estimate:
        """Estimate the p-quantile, without the first `dropped_count` values.

        The interval holds the quantiles at p plus and minus the error of the fraction of values
        below.
        """
        sections = self._histograms_of_sections(dropped_count)
        if not sections:
            return Estimate(math.nan)
        counts_by_section, sums_by_bin = _counts_and_sums(sections)
        cumulative_counts = np.cumsum(counts_by_section.sum(axis=0))
        bin_mean = _bin_mean(cumulative_counts, sums_by_bin, p)
        full_section_count = len(sections) - bool(self._part_length)
        if full_section_count < 8:  # too few sections for the error of a fraction
            return Estimate(bin_mean)
        # The error of the fraction below is turned into one of the quantile by the quantiles
        # themselves, so that no density has to be estimated. The last, unfinished section is left
        # out of the error.
        fractions = np.array(
            [
                [_fraction_below(section_counts, p, cumulative_counts)]
                for section_counts in counts_by_section[:full_section_count]
            ]
        ).ravel()
        share_error = (
            t_quantile(level, full_section_count - 1)
            * float(fractions.std(ddof=1))
            / math.sqrt(full_section_count)
        )
        return Estimate(
            bin_mean,
            _bin_mean(cumulative_counts, sums_by_bin, max(p - share_error, 0.0)),
            _bin_mean(cumulative_counts, sums_by_bin, min(p + share_error, 1.0)),
        )


def _bin_numbers(values: Array) -> NDArray[np.int64]:
    """Return the number of the histogram bin that holds each value."""
    # Bins of equal ratios: a quantile is known to 0.2 %, whatever its size, and the mean of its bin
    # is closer.
    bin_positions = np.log(np.maximum(values, _LEAST_VALUE) / _LEAST_VALUE) * _BINS_PER_FACTOR_E
    return np.minimum(bin_positions, _MOST_BINS - 1).astype(np.int64)


def _histogram(values: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the number of values in each bin, and the sum of the values in each bin."""
    bin_numbers = _bin_numbers(values)
    sums_by_bin: Array = np.bincount(bin_numbers, weights=values).astype(np.float64)
    return np.bincount(bin_numbers).astype(np.int64), sums_by_bin


def _counts_and_sums(
    sections: Sequence[tuple[NDArray[np.int64], Array]],
) -> tuple[NDArray[np.int64], Array]:
    """Return the counts by section and bin [sections, bins], and the sums of the values by bin over
    all sections [bins].
    """
    bin_count = max(len(counts) for counts, _ in sections)
    counts = np.zeros((len(sections), bin_count), dtype=np.int64)
    sums_by_bin = np.zeros(bin_count)
    for counts_of_section, (section_counts, section_sums) in zip(counts, sections, strict=True):
        counts_of_section[: len(section_counts)] = section_counts
        sums_by_bin[: len(section_sums)] += section_sums
    return counts, sums_by_bin


def _bin_mean(cumulative_counts: NDArray[np.int64], sums_by_bin: Array, p: float) -> float:
    """Return the mean of the bin that holds the p-quantile."""
    # The p-quantile is the smallest value that at least the fraction p of the values do not exceed.
    value_rank = max(math.ceil(p * cumulative_counts[-1]), 1)
    bin_index = int(np.searchsorted(cumulative_counts, value_rank))
    bin_size = cumulative_counts[bin_index] - (cumulative_counts[bin_index - 1] if bin_index else 0)
    return float(sums_by_bin[bin_index] / bin_size)


def _fraction_below(
    counts_by_bin: NDArray[np.int64], p: float, cumulative_counts: NDArray[np.int64]
) -> float:
    """Return the fraction of a section's values that are below the p-quantile of all sections; half
    of the values in the bin of the quantile count.
    """
    bin_index = int(
        np.searchsorted(cumulative_counts, max(math.ceil(p * cumulative_counts[-1]), 1))
    )
    # Half of the bin of the limit: times inside a bin are taken as evenly spread, so that the error
    # is at most half of the bin.
    return float(counts_by_bin[:bin_index].sum() + 0.5 * counts_by_bin[bin_index]) / float(
        counts_by_bin.sum()
    )


FEWEST_REPLICATIONS = 10
"""Smallest number of replications of a program from which an interval is computed."""


@dataclass(frozen=True, slots=True)
class ReplicationResult:
    """The statistics of one replication after the warm-up. Of a program, which has no cycles, there
    is at most one row of statistics, and there are no quantiles.

    Parameters
    ----------
    batches : sums over batches of cycles, or over replications, by the columns of `Layout`
    quantiles : of the cycle times, by group
    stop_cause : why it ended: precision, events, cycles, complete (a program without randomness) or
        interrupted
    is_trusted : the intervals can be trusted
    dropped_cycle_count : number of cycles left out as the warm-up
    cycles, events : total numbers, the warm-up included
    """

    batches: Array
    quantiles: tuple[Quantiles, ...]
    stop_cause: str
    is_trusted: bool
    dropped_cycle_count: int
    cycles: int
    events: int


@dataclass(frozen=True, slots=True)
class Result(ReplicationResult):
    """The statistics of a simulation after the warm-up, of all its replications together.

    Parameters
    ----------
    plan : what was run
    settings : seed, precision and budget of the run
    converged : the intervals are as narrow as asked for, and can be trusted
    is_pooled : the batches are of several replications, and the quantiles are without their
        warm-ups
    """

    plan: Plan
    settings: Simulation
    converged: bool = False
    is_pooled: bool = False

    @property
    def layout(self) -> Layout:
        """The columns of the batches."""
        return Layout(self.plan)

    def estimated_ratio(self, numerator: Array, denominator: Array) -> Estimate:
        """Estimate a ratio of two sums of statistics. Numerator and denominator are the weights of
        the statistics in each sum, by the columns of `Layout`.
        """
        if not len(self.batches):
            return Estimate(math.nan)
        estimate = estimated_ratio(
            self.batches @ numerator,
            self.batches @ denominator,
            self.settings.level,
            # Replications of a program are independent; successive batches of one run are not.
            in_one_run=not self.plan.is_program,
        )
        estimate = self._widened_for_heavy_traffic(estimate, numerator)
        return self._with_trusted_interval(estimate)

    def _widened_for_heavy_traffic(self, estimate: Estimate, numerator: Array) -> Estimate:
        """Return an estimate whose interval is at least as wide as heavy-traffic theory requires
        for the waits that it contains; see `slipstick.sim.heavy_traffic`.

        A time of cycles contains the waits at all stations, here by their part of the time of all
        customers; a sum over those present at a station contains the wait there, and so does a sum
        of times that are booked to it.
        """
        queues = open_queues(self.plan)
        if not queues or estimate.low is None or not estimate.mean:
            return estimate
        layout = self.layout
        column_sums = self.batches.sum(axis=0)
        half_widths = least_half_widths_of_run(self.plan, column_sums, self.settings.level)
        is_cycle_time = bool(numerator[layout.cycle_time_columns].any())
        sum_of_numerator = float(
            column_sums[layout.cycle_time_columns].sum()
            if is_cycle_time
            else column_sums @ numerator
        )
        waiting_times = (
            column_sums[layout.present_time_columns] - column_sums[layout.busy_time_columns]
        )
        waits_contained = (
            waiting_times
            if is_cycle_time
            else waiting_times * numerator[layout.present_time_columns]
        )
        for station_index in () if is_cycle_time else half_widths:
            wait_columns = [
                first_column + label
                for first_column in layout.first_label_columns
                for label in queues[station_index].wait_labels
            ]
            waits_contained[station_index] += column_sums[wait_columns] @ numerator[wait_columns]
        least_half_width = math.hypot(
            *(
                half_width * float(waits_contained[station_index]) / sum_of_numerator
                for station_index, half_width in half_widths.items()
            )
        )
        relative_half_width = max(estimate.half_width / abs(estimate.mean), least_half_width)
        if not least_half_width:
            return estimate
        return _with_error_of_reciprocal(estimate.mean, relative_half_width)

    def _with_trusted_interval(self, estimate: Estimate) -> Estimate:
        """Return an estimate without its interval if the interval cannot be trusted, and with an
        interval of width 0 if nothing in the plan is random.
        """
        if self.stop_cause == "complete":
            return Estimate(estimate.mean, estimate.mean, estimate.mean)
        return estimate if self.is_trusted else Estimate(estimate.mean)

    def mean_time(self, group_index: int = 0) -> Estimate:
        """Estimate the mean time of a cycle of a group, or of a program [s].

        Of a closed group it is the time of all its customers over the cycles that they ended, by
        Little's law; see `weights_of_time`. A group that ended no cycle has none.
        """
        batch_rows = self.batches
        layout = self.layout
        cycle_weights = layout.column_weights(layout.cycle_columns[group_index])
        if len(batch_rows) and not (batch_rows @ cycle_weights).any():
            return Estimate(math.nan)
        time_weights = weights_of_time(self.plan, batch_rows, group_index)
        return self._widened_for_end_effects(
            self.estimated_ratio(time_weights, cycle_weights), group_index
        )

    def unended_share(self, group_index: int = 0) -> float:
        """Return the share of a closed group's time that belongs to unfinished cycles [1].

        It is 0 where it is so small that the cycles under way at both ends explain it.
        """
        return unended_share_of(self.plan, self.batches, group_index)

    def counts_unended(self, group_index: int = 0) -> bool:
        """Return whether the mean time of a closed group includes the time of unfinished cycles."""
        return bool(self.unended_share(group_index)) or ended_few_cycles(
            self.plan, self.batches, group_index
        )

    def with_convergence(self) -> Result:
        """Return this result with `converged` set: whether the mean time of a program is as precise
        as requested.
        """
        is_precise = self.stop_cause == "complete" or is_precise_enough(
            self.mean_time(), self.settings.precision
        )
        is_trusted = self.is_trusted or self.stop_cause == "complete"
        return replace(
            self,
            is_trusted=is_trusted,
            converged=is_trusted and is_precise and self.stop_cause != "interrupted",
        )

    def cycle_time(self, group_index: int = 0) -> Estimate:
        """Estimate the mean time of a cycle of a closed group, thinking included [s]."""
        cycle_weights = self.layout.column_weights(self.layout.cycle_columns[group_index])
        time_weights = weights_of_cycle_time(self.plan, self.batches, group_index)
        return self._widened_for_end_effects(
            self.estimated_ratio(time_weights, cycle_weights), group_index
        )

    def _widened_for_end_effects(self, estimate: Estimate, group_index: int) -> Estimate:
        """Return the mean time of a closed group with an interval widened by the effect of the
        cycles that are unfinished at the start and the end of the run.

        All customers start together, and with times that hardly vary they remain so for long. The
        time of unfinished cycles then grows or falls during the whole run, by nearly as much in
        each batch, and batches that hardly differ do not show it: of 20 runs of 5,040 cycles of 16
        customers, N x elapsed / cycles was 0.035 % too long on average, with intervals of +- 0.05
        %, and the mean of the ended cycles, which is without this error, 0.0002 %. The difference
        of the two is added. Where customers starve, it says nothing of the ends.

        Parameters
        ----------
        estimate : mean time, from the time elapsed or from the ended cycles
        """
        if self.plan.groups[group_index].kind != "closed" or self.plan.is_program:
            return estimate
        if estimate.low is None or estimate.high is None or self.unended_share(group_index):
            return estimate
        if estimate.half_width <= _ROUNDING * estimate.mean:
            return estimate  # all ended cycles have one time, which the unfinished ones have too
        column_sums = self.batches.sum(axis=0)
        unbooked_time = abs(column_sums @ weights_of_unbooked_time(self.plan, group_index))
        end_effect = float(unbooked_time / column_sums[self.layout.cycle_columns[group_index]])
        return Estimate(estimate.mean, estimate.low - end_effect, estimate.high + end_effect)

    def share_within(self, time: float, group_index: int = 0) -> Estimate:
        """Estimate the share of the cycles that take at most `time` seconds [1]."""
        dropped_cycles = (
            0 if self.is_pooled else dropped_cycle_count_of(self, self.layout, group_index)
        )
        estimate = self.quantiles[group_index].share_within(
            time, dropped_cycles, self.settings.level
        )
        return self._with_trusted_interval(estimate)

    def time_quantile(self, p: float, group_index: int = 0) -> Estimate:
        """Estimate a quantile of the time of a cycle [s]."""
        dropped_cycles = (
            0 if self.is_pooled else dropped_cycle_count_of(self, self.layout, group_index)
        )
        estimate = self.quantiles[group_index].estimate(p, dropped_cycles, self.settings.level)
        return self._with_trusted_interval(estimate)


def _with_error_of_reciprocal(mean: float, relative_half_width: float) -> Estimate:
    """Return the confidence interval of a mean from the error of its reciprocal, which is the same
    for every value of the mean:

        |1 / mean - 1 / T| <= h / mean    for the true value T and the relative half-width h

    So it is in a queue near saturation, whose mean is proportional to 1 / (1 - u), and whose
    variance to 1 / (1 - u)^4: a mean that is low by chance has batches that vary little, too. From
    h = 1 on there is no upper end.
    """
    if relative_half_width >= 1:
        return Estimate(mean)
    low = mean / (1 + relative_half_width)
    high = mean / (1 - relative_half_width)
    return Estimate(mean, low, high)


def weights_of_time(plan: Plan, sums: Array, group_index: int) -> Array:
    """Return weights of the columns of a row; the weighted sum of the columns is the time that a
    group spends [s].

    A closed group of N customers spends N times the elapsed time, so by Little's law its mean time
    of a cycle is N x elapsed / cycles ended. The mean of the ended cycles alone is wrong where some
    customers starve: their cycles do not end and so would not count. Where customers think outside
    of the time that is counted, or some are lost, the ended cycles are taken as they are, and the
    cycles that have not ended are added only where there is more of them than the ends of the run
    explain: the thinking of many customers at both ends would be all noise. So are the cycles of a
    plan without anything random, which are exact.

    Parameters
    ----------
    plan : what was run
    sums : rows of statistics, each over a stretch of the run [rows, columns]
    group_index : number of the group
    """
    layout = Layout(plan)
    time_of_ended = layout.column_weights(layout.cycle_time_columns[group_index])
    if plan.groups[group_index].kind != "closed":
        return time_of_ended
    has_uncounted_time = _has_uncounted_time(plan, sums, group_index)
    if (has_uncounted_time or not plan.is_random) and not unended_share_of(plan, sums, group_index):
        return time_of_ended
    weights: Array = time_of_ended + weights_of_unbooked_time(plan, group_index)
    return weights


def weights_of_cycle_time(plan: Plan, sums: Array, group_index: int) -> Array:
    """Return weights of the columns of a row. The weighted sum is the time of all whole cycles of a
    closed group, think time included [s]. It is N times the elapsed time or, in a plan without
    randomness, the time of the cycles that ended.
    """
    if plan.groups[group_index].kind != "closed":
        return weights_of_time(plan, sums, group_index)
    booked_weights = _weights_of_booked_time(plan, group_index)
    return (
        booked_weights
        if not plan.is_random
        else booked_weights + weights_of_unbooked_time(plan, group_index)
    )


def weights_of_unbooked_time(plan: Plan, group_index: int) -> Array:
    """Return weights of the columns of a row; the weighted sum of the columns is the time that the
    customers of a closed group spend in unfinished cycles [s].
    """
    layout = Layout(plan)
    elapsed_weights: Array = len(plan.groups[group_index].starts) * layout.column_weights(
        layout.time_column
    )
    return elapsed_weights - _weights_of_booked_time(plan, group_index)


def _has_uncounted_time(plan: Plan, sums: Array, group_index: int) -> bool:
    """Return whether the cycles of a closed group contain time, such as think time, that its
    response time leaves out.
    """
    layout = Layout(plan)
    column_sums = sums.sum(axis=0)
    booked_weights = _weights_of_booked_time(plan, group_index)
    uncounted_weights = booked_weights - layout.column_weights(
        layout.cycle_time_columns[group_index]
    )
    # Both add up the same times in another order, and differ by rounding.
    booked_time = float(column_sums @ booked_weights)
    return float(column_sums @ uncounted_weights) > _ROUNDING * booked_time


CYCLES_AT_ENDS = 4.0
"""Largest number of cycles of each customer that the beginning and the end of a run can leave
unfinished.
"""


def unended_share_of(plan: Plan, sums: Array, group_index: int) -> float:
    """Return the share of a closed group's time that belongs to unfinished cycles [1]. It is 0 up
    to 1 %, or if the start and the end of the run can explain it.

    Parameters
    ----------
    plan, sums, group_index : as for `weights_of_time`
    """
    if plan.groups[group_index].kind != "closed" or not len(sums):
        return 0.0
    layout = Layout(plan)
    column_sums = sums.sum(axis=0)
    customers = len(plan.groups[group_index].starts)
    ended_cycles = float(column_sums[layout.cycle_columns[group_index]])
    time_of_customers = customers * float(column_sums[layout.time_column])
    unended_share = (
        float(column_sums @ weights_of_unbooked_time(plan, group_index)) / time_of_customers
        if time_of_customers > 0
        else 0.0
    )
    explained_by_ends = CYCLES_AT_ENDS * customers / ended_cycles if ended_cycles else 0.0
    # Up to 1 % the unfinished cycles matter less than the precision that runs have by default.
    return unended_share if unended_share > max(0.01, explained_by_ends) else 0.0


def ended_few_cycles(plan: Plan, sums: Array, group_index: int) -> bool:
    """Return whether so few cycles of a group ended that unfinished cycles at the start and the end
    of the run would bias the mean time. Little's law then gives the mean time. False for groups
    that are not closed or have think time.

    Parameters
    ----------
    plan, sums, group_index : as for `weights_of_time`
    """
    if plan.groups[group_index].kind != "closed" or not plan.is_random or not len(sums):
        return False
    ended_cycles = float(sums.sum(axis=0)[Layout(plan).cycle_columns[group_index]])
    has_few_cycles = ended_cycles <= CYCLES_AT_ENDS * len(plan.groups[group_index].starts)
    return has_few_cycles and not _has_uncounted_time(plan, sums, group_index)


def _weights_of_booked_time(plan: Plan, group_index: int) -> Array:
    """Return weights of the columns of a row; the weighted sum of the columns is the time of the
    ended cycles of a group [s].
    """
    layout = Layout(plan)
    weights = np.zeros(Layout(plan).column_count)
    first_column = layout.first_label_columns[group_index]
    weights[first_column : first_column + layout.label_count] = 1.0
    return weights


def dropped_cycle_count_of(
    run: Result | ReplicationResult, layout: Layout, group_index: int
) -> int:
    """Return how many of the cycles dropped as warm-up belong to a group, in proportion to the
    cycles that each group ended.
    """
    cycles_by_group = run.batches[:, layout.cycle_columns].sum(axis=0)
    return (
        round(run.dropped_cycle_count * cycles_by_group[group_index] / cycles_by_group.sum())
        if cycles_by_group.sum()
        else run.dropped_cycle_count
    )


def is_precise_enough(estimate: Estimate, precision: float) -> bool:
    """Return whether an interval is as narrow, relative to its mean, as `precision` asks for. An
    interval about a mean of 0 is never precise enough: the event that takes time may be too rare to
    have occurred.
    """
    # Written so that a mean below zero, NaN or a missing interval is not.
    return estimate.half_width <= precision * estimate.mean and estimate.mean > 0


MOST_ROWS = 1024
"""Largest number of rows that are kept of a run; when there are more, every second one is dropped.
A batch is then at least 16 of 512 rows.
"""


class AnyKernel(Protocol):
    """The interface of both kernels; each row and each response time is returned once."""

    @property
    def now(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def unawaited_branches(self) -> int: ...
    @property
    def unended_branches(self) -> int: ...
    def run(self, events: int) -> bool: ...
    def waits(self) -> list[Wait]: ...
    def take_rows(self) -> Array: ...
    def take_responses(self, group_index: int) -> Array: ...


class Record:
    """The rows of one long run; rows that a kernel wrote in advance stay pending until they are
    added.

    Parameters
    ----------
    plan : what is run

    Attributes
    ----------
    row_count : rows added so far
    last_row : the last of them
    quantiles : of the cycle times, by group
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.layout = Layout(plan)
        self.quantiles = tuple(Quantiles() for _ in plan.groups)
        self.last_row = np.zeros(self.layout.column_count)
        self.row_count = 0
        self._row_step = 1
        self._rows = np.zeros((1, self.layout.column_count))
        self._pending_rows = np.zeros((0, self.layout.column_count))
        self._pending_times = [np.zeros(0) for _ in plan.groups]

    @property
    def pending(self) -> int:
        """The number of rows that wait to be added."""
        return len(self._pending_rows)

    def take(self, kernel: AnyKernel) -> None:
        """Take over the rows and response times that a kernel wrote."""
        self._pending_rows = np.concatenate([self._pending_rows, kernel.take_rows()])
        self._pending_times = [
            np.concatenate([pending_times, kernel.take_responses(group_index)])
            for group_index, pending_times in enumerate(self._pending_times)
        ]

    def add(self, row_count: int, event_limit: int) -> Array:
        """Take the next `row_count` pending rows over into the record, but none after the first row
        at which `event_limit` events were planned; return the last row taken over.
        """
        rows_beyond = np.flatnonzero(
            self._pending_rows[:row_count, self.layout.event_count_column] >= event_limit
        )
        added_count = (
            int(rows_beyond[0]) + 1 if len(rows_beyond) else min(row_count, len(self._pending_rows))
        )
        added_rows = self._pending_rows[:added_count]
        self._pending_rows = self._pending_rows[added_count:]
        # Of the whole run every row whose number is a multiple of the step is kept, however many
        # rows are added at a time.
        first_kept_row = (-self.row_count - 1) % self._row_step
        self._rows = np.concatenate([self._rows, added_rows[first_kept_row :: self._row_step]])
        # Rows are cumulative, so without every second one the sums over longer stretches stay
        # exact.
        while len(self._rows) > MOST_ROWS:
            self._rows = self._rows[::2]
            self._row_step *= 2
        for group_index, quantiles in enumerate(self.quantiles):
            ended_cycles = int(
                added_rows[-1][self.layout.cycle_columns[group_index]]
                - self.last_row[self.layout.cycle_columns[group_index]]
            )
            quantiles.add(self._pending_times[group_index][:ended_cycles])
            self._pending_times[group_index] = self._pending_times[group_index][ended_cycles:]
        self.row_count += added_count
        self.last_row = added_rows[-1]
        return self.last_row

    def sums(self) -> Array:
        """Return the sums over each stretch of the run between two kept rows [stretches,
        columns].
        """
        return np.diff(self._rows, axis=0)
