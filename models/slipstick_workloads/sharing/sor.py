"""SOR: red-black over-relaxation on a grid; neighbouring processors share the rows at their
borders.

The points of each colour are an array of their own, row after row, so that half a sweep reads one
array and writes the other. Rows do not end at pages: at a border two processors write one page. A
barrier ends each half sweep.

Not printed in the paper and chosen here: 10 iterations; the split into two arrays; every point gets
a new value in every sweep; each processor lays out its own rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from slipstick_workloads import START
from slipstick_workloads.release_consistency.accesses import Access, Arrive, Compute, SharedProgram
from slipstick_workloads.sharing.layout import MemoryLayout, items_of_processor

DOUBLE_BYTES = 8


def sor(
    processors: int = 8,
    rows: int = 2000,
    columns: int = 1000,
    iterations: int = 10,
    page: int = 4096,
) -> SharedProgram:
    """Return a program that over-relaxes a grid whose outermost rows are fixed.

    Parameters
    ----------
    processors : each with a band of rows
    rows, columns : of doubles in the grid; half of each row is red
    iterations : each of a red and a black half sweep
    page : its size [B]

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1 (2000 x 1000
    doubles).

    >>> from slipstick_workloads.release_consistency.run import run
    >>> counts = run(sor(processors=4, rows=64, columns=1024, iterations=2))
    >>> counts.phases[-1].name, counts.total("acquisitions")
    ('black', 0)
    """
    layout = MemoryLayout(page)
    colours = {name: layout.array(rows, columns // 2 * DOUBLE_BYTES) for name in ("red", "black")}

    def body(processor: int) -> Iterator[Access]:
        begin, end = items_of_processor(rows, processors, processor)
        for array in colours.values():
            yield array.write_span(begin, end)
        yield Arrive(START)
        first = max(begin, 1)
        last = min(end, rows - 1)
        for _ in range(iterations):
            for updated, read in (("red", "black"), ("black", "red")):
                yield colours[read].read_span(first - 1, last + 1)
                yield colours[updated].write_span(first, last)
                yield Compute((last - first) * (columns // 2))
                yield Arrive(updated)

    return SharedProgram("SOR", processors, layout.pages, body, "points updated", layout.word_count)
