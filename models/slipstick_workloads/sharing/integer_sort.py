"""IS: keys are counted into buckets, which migrate from processor to processor under a lock; then
all read them.

Each processor counts its own keys privately, then adds its counts to the shared buckets under the
lock; after a barrier it reads them all and ranks its keys. Keys are the mean of four uniform
numbers, as in the NAS benchmark, so buckets at the ends get few keys, and a processor changes only
buckets that have keys of its own. The first processor of an iteration resets the buckets.

The paper says little of what makes processors reach the lock apart: that they have unequal
overheads and that there is little contention for locks. `unequal` spreads the times in which they
count equally many keys evenly about their mean, as unequal caches or other programs on the nodes
do.

The paper's scan has 2^28 keys, more than 64 MB nodes hold; 2^20 is taken here, over 10 iterations
(both chosen). Keys are private.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slipstick_workloads import START
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Compute,
    Release,
    SharedProgram,
)
from slipstick_workloads.sharing.layout import Items, MemoryLayout, items_of_processor

INTEGER_BYTES = 4


def integer_sort(
    processors: int = 8,
    keys: int = 2**20,
    buckets: int = 2**9,
    iterations: int = 10,
    page: int = 4096,
    seed: int = 1,
    message: float = 2500,
    unequal: float = 0.0,
) -> SharedProgram:
    """Return a program that ranks keys by a bucket sort.

    Parameters
    ----------
    processors : each with an equal share of the keys
    keys, buckets : how many
    iterations : each of a counting and a ranking phase
    page : its size [B]
    seed : of the keys
    message : keys counted in the time of a message, for the clock that orders requests for the lock
    unequal : by how much the slowest processor takes longer than the fastest for equally many keys
        [part of the mean]

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1; Bailey et al., The
    NAS parallel benchmarks, 1991, for the keys.

    >>> from slipstick_workloads.release_consistency.run import run
    >>> counts = run(integer_sort(processors=4, keys=2**12, iterations=3)).without("start-up")
    >>> counts.total("acquisitions"), [phase.name for phase in counts.phases[:2]]
    (12, ['count', 'rank'])
    """
    layout = MemoryLayout(page)
    bucket_array = layout.array(buckets, INTEGER_BYTES)
    buckets_by_processor = [
        _buckets_with_keys(_key_count(keys, processors, processor), buckets, seed, processor)
        for processor in range(processors)
    ]
    used_buckets = np.unique(np.concatenate(buckets_by_processor))
    addition_counts: list[int] = []

    def accesses_of_processor(processor: int) -> Iterator[Access]:
        """Yield the accesses of one processor."""
        counting_work = round(
            _key_count(keys, processors, processor) * _relative_time(processors, unequal, processor)
        )
        if processor == 0:
            addition_counts[:] = [0] * iterations
            yield bucket_array.write_span(0, buckets)
        yield Arrive(START)
        for iteration in range(iterations):
            yield Compute(counting_work)
            yield Acquire(0)
            changed_buckets = (
                buckets_by_processor[processor] if addition_counts[iteration] else used_buckets
            )
            addition_counts[iteration] += 1
            yield bucket_array.read(changed_buckets)
            yield Compute(len(changed_buckets))
            yield bucket_array.write(changed_buckets)
            yield Release(0)
            yield Arrive("count")
            yield bucket_array.read_span(0, buckets)
            yield Compute(counting_work)
            yield Arrive("rank")

    return SharedProgram(
        "IS",
        processors,
        layout.pages,
        accesses_of_processor,
        "keys or buckets",
        layout.words_per_page,
        message,
    )


def _key_count(keys: int, processors: int, processor: int) -> int:
    """Return the number of keys of a processor."""
    first_key, end_key = items_of_processor(keys, processors, processor)
    return end_key - first_key


def _relative_time(processors: int, unequal: float, processor: int) -> float:
    """Return the time of a processor for a key, relative to the mean over all processors."""
    return 1.0 + unequal * (processor / max(processors - 1, 1) - 0.5)


def _buckets_with_keys(keys: int, buckets: int, seed: int, processor: int) -> Items:
    """Return the buckets in which a processor has keys."""
    key_values = np.random.default_rng([seed, processor]).random((keys, 4)).mean(axis=1)
    return np.unique((key_values * buckets).astype(np.int64))
