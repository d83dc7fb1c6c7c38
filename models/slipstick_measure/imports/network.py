"""A network's cost table from benchmarks of messages: lines in the size, between the jumps that the
times show.

A message of s bytes takes F + G s in a range of sizes; ranges differ where the protocol changes, as
from eager to rendezvous. What a benchmark measures is the whole way from send to receive. So the
parts that a table of costs has are shared by convention, and marked as assumed: the wire takes the
least G of all ranges, or the measured rate where that is faster; the rest, F included, is protocol
time, half at the sender and half at the receiver; adapters and switches are inside F.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from slipstick.errors import SpecError
from slipstick.late import Array, np
from slipstick.vocabulary import PLACEMENTS
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.measurements import Measurement, Measurements
from slipstick_measure.readers.messages import is_between_two_processes, name_without_number

MOST_RANGES, LEAST_POINTS = 4, 3
"""Ranges that are looked for, and sizes that each needs: two give its line, a third shows
whether it is one.
"""

LEAST_FIT_ERROR = 2e-3
"""Relative error below which no line fits better than another: tools print three or four digits."""


class MessageRange(NamedTuple):
    """A range of sizes whose times lie on a line: the indices of its first and last size, F [s] and
    G [s/B].
    """

    first_index: int
    last_index: int
    fixed_time: float
    time_per_byte: float


def message_ranges(sizes: Array, times: Array) -> list[MessageRange]:
    r"""Split sizes into ranges, each with a line of nonnegative F and G, by least squares of
    relative errors.

    Every division into at most `MOST_RANGES` ranges is compared, by dynamic programming over their
    ends; the number of ranges is that of the least criterion of Akaike for few observations, ``M
    ln(RSS / M) + 2 k M / (M - k - 1)``, with F, G and the end of each range and the scatter counted
    in k.

    Parameters
    ----------
    sizes : ascending [B], (M,)
    times : of a message of each size [s], (M,)

    Source: Bellman, Communications of the ACM 4(6), 1961, 284 (division into lines); Hurvich and
    Tsai, Biometrika 76(2), 1989.

    >>> sizes = 2.0 ** np.arange(3, 20)
    >>> times = np.where(sizes <= 4096, 1e-6 + 1e-9 * sizes, 3e-6 + 1e-10 * sizes)
    >>> [
    ...     (float(sizes[message_range.last_index]), round(message_range.fixed_time * 1e6, 3))
    ...     for message_range in message_ranges(sizes, times)
    ... ]
    [(4096.0, 1.0), (524288.0, 3.0)]
    """
    size_count = len(sizes)
    scored_divisions = [
        (_akaike_criterion(size_count, division[0], 3 * range_count), division[1])
        for range_count, division in enumerate(_best_divisions(sizes, times))
        if division and range_count
    ]
    return min(scored_divisions, key=lambda scored_division: scored_division[0])[1]


_Division = tuple[float, list[MessageRange]]
"""The ranges into which sizes are divided, behind the sum of squared errors of their lines."""


def _best_divisions(sizes: Array, times: Array) -> list[_Division | None]:
    """Return the division of all sizes with the least squared errors for each number of ranges from
    0 to `MOST_RANGES`; None where there is no division into so many.
    """
    size_count = len(sizes)
    squares_by_ends, fixed_time_by_ends, time_per_byte_by_ends = _fitted_lines(sizes, times)
    # By the number of ranges, the best division of the first sizes, by how many these are.
    best_divisions: list[list[_Division | None]] = [[(0.0, []), *[None] * size_count]]
    for range_count in range(MOST_RANGES):
        best_divisions.append([None] * (size_count + 1))
        for last_index in range(LEAST_POINTS - 1, size_count):
            shorter_divisions = [
                (first_index, best_divisions[range_count][first_index])
                for first_index in range(last_index - LEAST_POINTS + 2)
            ]
            divisions_before = [
                (division[0] + squares_by_ends[first_index, last_index], first_index, division[1])
                for first_index, division in shorter_divisions
                if division is not None
            ]
            if divisions_before:
                least_square_sum, first_index, previous_ranges = min(
                    divisions_before, key=lambda division_before: division_before[0]
                )
                last_range = MessageRange(
                    first_index,
                    last_index,
                    float(fixed_time_by_ends[first_index, last_index]),
                    float(time_per_byte_by_ends[first_index, last_index]),
                )
                best_divisions[-1][last_index + 1] = (
                    least_square_sum,
                    [*previous_ranges, last_range],
                )
    return [divisions[size_count] for divisions in best_divisions]


def _akaike_criterion(
    observation_count: int, squared_error_sum: float, parameter_count: int
) -> float:
    """Return Akaike's criterion with the correction for few observations."""
    if observation_count <= parameter_count + 1:
        return np.inf if parameter_count > 3 else 0.0  # one range needs no judgement
    return float(
        observation_count * np.log(max(squared_error_sum / observation_count, LEAST_FIT_ERROR**2))
        + 2 * parameter_count * observation_count / (observation_count - parameter_count - 1)
    )


def _fitted_lines(sizes: Array, times: Array) -> tuple[Array, Array, Array]:
    """Fit a line F + G s to each range of consecutive sizes. Return the sums of squared relative
    errors, F and G, (M, M) each, by the first and the last index of the range.
    """
    inverse_times = 1 / times
    relative_sizes = sizes / times
    cumulative_sums = (
        np.append(0.0, np.cumsum(product))
        for product in (
            inverse_times * inverse_times,
            inverse_times * relative_sizes,
            relative_sizes * relative_sizes,
            inverse_times,
            relative_sizes,
        )
    )
    sum_ff, sum_fg, sum_gg, sum_f, sum_g = (
        running_sum[None, 1:] - running_sum[:-1, None] for running_sum in cumulative_sums
    )
    # Values are undefined where the last index is below the first, and where all sizes are 0.
    with np.errstate(all="ignore"):
        fixed_times = (sum_f * sum_gg - sum_g * sum_fg) / (sum_ff * sum_gg - sum_fg**2)
        times_per_byte = (sum_g * sum_ff - sum_f * sum_fg) / (sum_ff * sum_gg - sum_fg**2)
        is_falling = ~(times_per_byte >= 0)
        is_below_zero = fixed_times < 0
        fixed_times = np.where(is_falling, sum_f / sum_ff, fixed_times)
        times_per_byte = np.where(is_falling, 0.0, times_per_byte)
        fixed_times = np.where(is_below_zero, 0.0, fixed_times)
        times_per_byte = np.where(is_below_zero, sum_g / sum_gg, times_per_byte)
    size_counts = np.arange(1, len(sizes) + 1) - np.arange(len(sizes))[:, None]
    return (
        np.maximum(size_counts - fixed_times * sum_f - times_per_byte * sum_g, 0.0),
        fixed_times,
        times_per_byte,
    )


def network_spec(tables: Sequence[Measurements], placement: str) -> ImportedSpec:
    """Build the spec of a network from latencies of messages and, where there is one, a bandwidth.

    Parameters
    ----------
    tables : as read from the files
    placement : of the two processes, one of `PLACEMENTS`

    Raises
    ------
    SpecError : no latencies of messages between two processes, of several benchmarks, or of too few
        sizes
    """
    records = [run for table in tables for run in table.records]
    pair_records = [run for run in records if is_between_two_processes(run.region)]
    latencies = _latencies_of_pairs(records, pair_records)
    sizes = np.unique([run.n or 0.0 for run in latencies])
    if len(sizes) < LEAST_POINTS:
        raise SpecError(
            [latencies[0].problem(f"{len(sizes)} sizes; a line needs {LEAST_POINTS} or more", "")]
        )
    times = np.array(
        [np.median([run.value for run in latencies if (run.n or 0.0) == size]) for size in sizes]
    )
    ranges = message_ranges(sizes, times)
    # A benchmark that has latencies of its own, of which others were taken, may count two ways.
    other_regions = {run.region for run in pair_records if run.metric == "time"} - {
        latencies[0].region
    }
    rates = [
        run
        for run in pair_records
        if run.metric == "throughput" and "bi" not in run.region.casefold() and run.value > 0
        if run.region not in other_regions
    ]
    spec = ImportedSpec("network", _title_of_network(tables), latencies[0].file)
    numbered_titles = tuple(f"range-{range_number}" for range_number in range(1, len(ranges) + 1))
    range_names = (
        _PROTOCOLS[_is_adapter_operation(latencies[0])] if len(ranges) == 2 else numbered_titles
    )
    wire_time_per_byte, wire_source = _wire_time(ranges, rates)
    spec.document |= {
        "source": "measured",
        "sources": {
            "measured": (
                f"{'; '.join(table.source for table in tables)}; the processes were placed:"
                f" {PLACEMENTS[placement]}"
            ),
            "halves": (
                "half of what a line fitted to the latencies has, for the sender and the receiver"
                " each"
            ),
            "inside": "inside the protocol time, because a latency includes all parts of the path",
        },
        "protocol": {
            "added": quantity(0, "B", "inside", True),
            "ranges": dict(
                _cost_of_range(message_range, name, index, sizes, wire_time_per_byte, len(ranges))
                for index, (message_range, name) in enumerate(zip(ranges, range_names, strict=True))
            ),
        },
        "wire": {
            "per_byte": quantity(wire_time_per_byte * 1e9, "ns/B", wire_source, True),
            "added": quantity(0, "B", "inside", True),
        },
        "adapter": quantity(0, "us", "inside", True),
        "switch": quantity(0, "us", "inside", True),
        "medium": "switched",
    }
    _add_fit_table(spec, latencies, ranges, sizes, times)
    _note_unused_benchmarks(spec, records, {id(run) for run in (*latencies, *rates)})
    return spec


ONE_WAY_BENCHMARKS = ("PingPong", "MPI Latency")
"""The benchmarks of Intel and of OSU that measure the way of one message. Others have two messages
under way, or are of one-sided operations.
"""


def _latencies_of_pairs(
    records: Sequence[Measurement], pair_records: Sequence[Measurement]
) -> list[Measurement]:
    """Return the latencies of messages between two processes. Refuse files without any, with those
    of several benchmarks, or with a latency of 0.

    Parameters
    ----------
    records : measurements of the files; a lack of latencies is refused at the line of the first
    pair_records : measurements between two processes
    """
    latencies = [
        run for run in pair_records if run.metric == "time" and "read" not in run.region.casefold()
    ]
    if not latencies:
        are_throughputs_alone = all(run.metric == "throughput" for run in records)
        advice = (
            "give the file of its latencies as well"
            if are_throughputs_alone
            else "a collective is read by measured and fit"
        )
        message = f"there is no latency of messages between two processes; {advice}"
        raise SpecError([records[0].problem(message, "")])
    names = list(dict.fromkeys(run.region for run in latencies))
    if one_way_name := next((name for name in ONE_WAY_BENCHMARKS if name in names), None):
        names = [name for name in names if name_without_number(name) == one_way_name]
        latencies = [run for run in latencies if run.region in names]
    if len(names) > 1:
        message = f"latencies of several benchmarks, {', '.join(names)}; give one"
        raise SpecError([latencies[0].problem(message, "")])
    if zero_run := next((run for run in latencies if not run.value > 0), None):
        raise SpecError([zero_run.problem("is 0; a message takes some time")])
    return latencies


def _wire_time(ranges: Sequence[MessageRange], rates: Sequence[Measurement]) -> tuple[float, str]:
    """Return the time of a byte on the wire [s/B] and its source: from the largest rate, or from
    the fitted lines if their least time is shorter.
    """
    least_time = min(message_range.time_per_byte for message_range in ranges)
    fastest_run = max(rates, key=lambda run: run.value, default=None)
    if fastest_run is not None and 1 / fastest_run.value < least_time:
        return 1 / fastest_run.value, f"largest rate, {fastest_run.text}, line {fastest_run.line}"
    return least_time, "the least time of a byte in the lines fitted to the latencies"


def _note_unused_benchmarks(
    spec: ImportedSpec, records: Sequence[Measurement], used_ids: Container[int]
) -> None:
    """Add to the spec a note on each benchmark with measurements that the network does not use,
    those whose `id` is not in `used_ids`, with its largest rate.
    """
    runs_by_region: dict[str, list[Measurement]] = {}
    for run in records:
        if id(run) not in used_ids:
            runs_by_region.setdefault(run.region, []).append(run)
    for region, runs in runs_by_region.items():
        rates = [run for run in runs if run.metric == "throughput"]
        fastest_run = max(rates, key=lambda run: run.value, default=None)
        rate_text = (
            f": at most {fastest_run.text} of {fastest_run.p} processes together"
            if fastest_run
            else ""
        )
        spec.add_note(
            f"{region} is not used, because a network has the costs of one message at a time"
            f"{rate_text}"
        )


def _title_of_network(tables: Sequence[Measurements]) -> str:
    """Return the title of the network, which names the tools that measured it."""
    return f"Network measured with {', '.join(dict.fromkeys(table.title for table in tables))}"


_PROTOCOLS = (("eager", "rendezvous"), ("inline", "by-address"))
"""How two ranges of sizes are called: of MPI, and of operations of an adapter."""


def _is_adapter_operation(run: Measurement) -> bool:
    """Return whether a benchmark measures an operation of an adapter (a verb), and not of MPI."""
    return re.match("(RDMA_)?(Send|Write|Read)", run.region, re.IGNORECASE) is not None


def _cost_of_range(
    message_range: MessageRange,
    name: str,
    range_index: int,
    sizes: Array,
    wire_per_byte: float,
    range_count: int,
) -> tuple[str, dict[str, Any]]:
    """Return the name and the plain data of the costs of a range of sizes; each end has half of the
    cost that the wire does not take.
    """
    fixed = quantity(message_range.fixed_time / 2 * 1e6, "us", "halves", True)
    per_byte = quantity(
        max(0.0, message_range.time_per_byte - wire_per_byte) / 2 * 1e9, "ns/B", "halves", True
    )
    cost: dict[str, Any] = {"total": {"fixed": fixed, "per_byte": per_byte}}
    if range_index < range_count - 1:
        end_size = sizes[message_range.last_index]
        next_size = sizes[message_range.last_index + 1]
        note = (
            f"the times change between {end_size:.0f} B and {next_size:.0f} B, the next size"
            " measured"
        )
        cost = {"up_to": quantity(end_size, "B", note, True), **cost}
    return name, cost


def _add_fit_table(
    spec: ImportedSpec,
    latencies: Sequence[Measurement],
    ranges: Sequence[MessageRange],
    sizes: Array,
    times: Array,
) -> None:
    """Add to the spec a table of how well the lines fit, and notes on where they jump and which
    sizes they do not cover.
    """
    fitted_times = np.concatenate(
        [
            message_range.fixed_time
            + message_range.time_per_byte
            * sizes[message_range.first_index : message_range.last_index + 1]
            for message_range in ranges
        ]
    )
    errors = fitted_times / times - 1
    spec.table_heading = ["size", "measured", "fitted", "error"]
    spec.table_rows = [
        [
            f"{size:.0f} B",
            f"{time * 1e6:.4g} us",
            f"{fitted_time * 1e6:.4g} us",
            f"{100 * error:+.1f} %",
        ]
        for size, time, fitted_time, error in zip(sizes, times, fitted_times, errors, strict=True)
    ]
    spec.add_note(
        "the fitted times differ from the measured ones by at most"
        f" {100 * np.abs(errors).max():.1f} %"
    )
    largest_jump = max(
        (
            upper_range.fixed_time - lower_range.fixed_time
            for lower_range, upper_range in pairwise(ranges)
        ),
        default=0.0,
    )
    for lower_range, upper_range in pairwise(ranges):
        limit_in_words = (
            f"the {_PROTOCOLS[_is_adapter_operation(latencies[0])][0]} limit lies"
            if upper_range.fixed_time - lower_range.fixed_time == largest_jump > 0
            else "a range of sizes ends"
        )
        jump_in_words = (
            f"{lower_range.fixed_time * 1e6:.3g} us before, {upper_range.fixed_time * 1e6:.3g}"
            " us after"
        )
        spec.add_note(
            f"{limit_in_words} between {sizes[lower_range.last_index]:.0f} B and"
            f" {sizes[upper_range.first_index]:.0f} B; fixed part {jump_in_words}"
        )
    if len(latencies) > len(sizes):
        spec.add_note(f"{len(latencies)} times of {len(sizes)} sizes; the median of each is used")
