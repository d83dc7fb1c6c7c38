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
from slipstick_workloads.sharing.layout import Items, MemoryLayout, share

INTEGER = 4


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
    """Rank keys by a bucket sort.

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
    shared = layout.array(buckets, INTEGER)
    hit = [
        _buckets_hit(_share_of(keys, processors, me), buckets, seed, me) for me in range(processors)
    ]
    any_hit = np.unique(np.concatenate(hit))
    added: list[int] = []

    def body(me: int) -> Iterator[Access]:
        mine = round(_share_of(keys, processors, me) * _slowness(processors, unequal, me))
        if me == 0:
            added[:] = [0] * iterations
            yield shared.write_span(0, buckets)
        yield Arrive(START)
        for iteration in range(iterations):
            yield Compute(mine)
            yield Acquire(0)
            changed_buckets = hit[me] if added[iteration] else any_hit
            added[iteration] += 1
            yield shared.read(changed_buckets)
            yield Compute(len(changed_buckets))
            yield shared.write(changed_buckets)
            yield Release(0)
            yield Arrive("count")
            yield shared.read_span(0, buckets)
            yield Compute(mine)
            yield Arrive("rank")

    return SharedProgram(
        "IS", processors, layout.pages, body, "keys or buckets", layout.word_count, message
    )


def _share_of(keys: int, processors: int, me: int) -> int:
    begin, end = share(keys, processors, me)
    return end - begin


def _slowness(processors: int, unequal: float, me: int) -> float:
    """Return the time of a processor for a key, of which the mean over processors is 1."""
    return 1.0 + unequal * (me / max(processors - 1, 1) - 0.5)


def _buckets_hit(keys: int, buckets: int, seed: int, me: int) -> Items:
    means = np.random.default_rng([seed, me]).random((keys, 4)).mean(axis=1)
    return np.unique((means * buckets).astype(np.int64))
