"""Compact counts: similar exchanges at their mean size, phases of one name added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from slipstick_workloads.counts import CountedPhase, Counts, Exchange, Messages, ProcessorTally

_PLAIN_COUNTS = [
    tally_field.name for tally_field in fields(ProcessorTally) if tally_field.default == 0
]
"""Counts that are plain numbers."""


def compact(counts: Counts, most_phases: int = 6) -> Counts:
    """Return counts with fewer phases and classes of exchanges, and with the same costs: totals
    stay the same, and sizes are rounded to whole bytes.

    Exchanges with equally many parts whose replies are within a power of two get one size, their
    mean. If there are more phases than `most_phases`, those of one name become one, except the
    first, which alone has first misses; phases that end with a garbage collection stay separate.

    Parameters
    ----------
    counts : of a program
    most_phases : up to so many, phases stay as they are

    Notes
    -----
    Lost are the distribution of sizes within a power of two, and the differences of a processor's
    work between phases of one name: the sum of the maxima becomes the maximum of the sums.
    """
    merged_phases = (
        counts.phases if len(counts.phases) <= most_phases else tuple(_merged_phases(counts.phases))
    )
    phases = tuple(
        CountedPhase(phase.name, tuple(map(_rounded_tally, phase.tallies)), phase.repeat)
        for phase in merged_phases
    )
    return Counts(counts.program, counts.processors, counts.page, counts.unit, phases)


def _merged_phases(phases: Sequence[CountedPhase]) -> Iterable[CountedPhase]:
    """Yield the first phase of each name and kind, and one phase with the sum of all later ones;
    the kind says whether the phase ends with a garbage collection.
    """
    phases_by_kind: dict[tuple[str, bool], list[CountedPhase]] = {}
    for phase in phases:
        has_collections = any(tally.collections for tally in phase.tallies)
        phases_by_kind.setdefault((phase.name, has_collections), []).append(phase)
    for first_phase, *other_phases in phases_by_kind.values():
        yield first_phase
        if other_phases:
            tallies = zip(*(phase.tallies for phase in other_phases), strict=True)
            yield CountedPhase(
                first_phase.name,
                tuple(map(_sum_of_tallies, tallies)),
                sum(phase.repeat for phase in other_phases),
            )


def _sum_of_tallies(tallies: Sequence[ProcessorTally]) -> ProcessorTally:
    """Return the sum of tallies."""
    tally_sum = ProcessorTally(
        **{name: sum(getattr(tally, name) for tally in tallies) for name in _PLAIN_COUNTS}
    )
    for tally in tallies:
        tally_sum.faults.update(tally.faults)
        tally_sum.collected.update(tally.collected)
        tally_sum.acquisitions.update(tally.acquisitions)
    tally_sum.sent = _sum_of_messages(tally.sent for tally in tallies)
    tally_sum.received = _sum_of_messages(tally.received for tally in tallies)
    return tally_sum


def _sum_of_messages(
    messages_by_kind_of_tallies: Iterable[Mapping[str, Messages]],
) -> dict[str, Messages]:
    """Return the sum of tables of messages, by kind."""
    message_tables = list(messages_by_kind_of_tallies)
    kinds = dict.fromkeys(kind for table in message_tables for kind in table)
    return {
        kind: _sum_of_pairs(table.get(kind, (0, 0)) for table in message_tables) for kind in kinds
    }


def _sum_of_pairs(counts_and_sizes: Iterable[Messages]) -> Messages:
    """Return the sum of numbers of messages and the sum of their bytes."""
    message_counts, byte_counts = zip(*counts_and_sizes, strict=True)
    return sum(message_counts), sum(byte_counts)


def _rounded_tally(tally: ProcessorTally) -> ProcessorTally:
    """Return a tally with similar exchanges merged."""
    rounded_tally = _sum_of_tallies([tally])
    rounded_tally.faults = _merge_similar_exchanges(tally.faults)
    rounded_tally.collected = _merge_similar_exchanges(tally.collected)
    return rounded_tally


def _merge_similar_exchanges(exchanges: Mapping[Exchange, int]) -> Counter[Exchange]:
    """Return the number of exchanges by class. A class has the same number of parts, mean part
    sizes within a power of two, and the mean size of its exchanges.
    """
    totals_by_class: dict[tuple[int, int], tuple[int, int]] = {}
    for (part_count, reply_bytes), exchange_count in exchanges.items():
        exchange_class = part_count, (reply_bytes // part_count).bit_length()
        count_before, bytes_before = totals_by_class.get(exchange_class, (0, 0))
        totals_by_class[exchange_class] = (
            count_before + exchange_count,
            bytes_before + exchange_count * reply_bytes,
        )
    return Counter(
        {
            (part_count, round(total_bytes / exchange_count)): exchange_count
            for (part_count, _), (exchange_count, total_bytes) in totals_by_class.items()
        }
    )
