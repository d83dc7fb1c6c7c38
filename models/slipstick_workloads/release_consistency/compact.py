"""Compact counts: similar exchanges at their mean size, phases of one name added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from slipstick_workloads.counts import CountedPhase, Counts, Exchange, ProcessorTally

_SUMS = [each.name for each in fields(ProcessorTally) if each.default == 0]
"""Counts that are plain numbers."""


def compact(counts: Counts, most: int = 6) -> Counts:
    """Reduce counts to what costs depend on: totals stay, sizes are rounded to whole bytes.

    Exchanges of as many parts whose replies are within a power of two become one size, their mean.
    If there are more phases than `most`, those of one name become one, except the first, which
    alone has first misses; phases that end with a garbage collection stay separate.

    Parameters
    ----------
    counts : of a program
    most : phases that are kept as they are

    Notes
    -----
    Lost are the distribution of sizes within a power of two, and the differences of a processor's
    work between phases of one name: the sum of the maxima becomes the maximum of the sums.
    """
    merged = counts.phases if len(counts.phases) <= most else tuple(_merged(counts.phases))
    phases = tuple(
        CountedPhase(each.name, tuple(map(_rounded, each.tallies)), each.repeat) for each in merged
    )
    return Counts(counts.program, counts.processors, counts.page, counts.unit, phases)


def _merged(phases: Sequence[CountedPhase]) -> Iterable[CountedPhase]:
    alike: dict[tuple[str, bool], list[CountedPhase]] = {}
    for each in phases:
        collects = any(tally.collections for tally in each.tallies)
        alike.setdefault((each.name, collects), []).append(each)
    for first, *others in alike.values():
        yield first
        if others:
            tallies = zip(*(each.tallies for each in others), strict=True)
            yield CountedPhase(
                first.name, tuple(map(_added, tallies)), sum(each.repeat for each in others)
            )


def _added(tallies: Sequence[ProcessorTally]) -> ProcessorTally:
    made = ProcessorTally(**{name: sum(getattr(each, name) for each in tallies) for name in _SUMS})
    for each in tallies:
        made.faults.update(each.faults)
        made.collected.update(each.collected)
        made.acquisitions.update(each.acquisitions)
    made.sent = _messages(each.sent for each in tallies)
    made.received = _messages(each.received for each in tallies)
    return made


def _messages(tables: Iterable[Mapping[str, Exchange]]) -> dict[str, Exchange]:
    found = list(tables)
    kinds = dict.fromkeys(kind for each in found for kind in each)
    return {kind: _pairs_added(each.get(kind, (0, 0)) for each in found) for kind in kinds}


def _pairs_added(pairs: Iterable[Exchange]) -> Exchange:
    numbers, sizes = zip(*pairs, strict=True)
    return sum(numbers), sum(sizes)


def _rounded(tally: ProcessorTally) -> ProcessorTally:
    made = _added([tally])
    made.faults, made.collected = _classed(tally.faults), _classed(tally.collected)
    return made


def _classed(exchanges: Mapping[Exchange, int]) -> Counter[Exchange]:
    """Return exchanges of as many parts, and of sizes within a power of two, their mean size."""
    found: dict[Exchange, Exchange] = {}
    for (parts, size), number in exchanges.items():
        key = parts, (size // parts).bit_length()
        before, carried = found.get(key, (0, 0))
        found[key] = before + number, carried + number * size
    return Counter(
        {(parts, round(size / number)): number for (parts, _), (number, size) in found.items()}
    )
