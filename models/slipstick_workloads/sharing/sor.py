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
    array_by_colour = {
        name: layout.array(rows, columns // 2 * DOUBLE_BYTES) for name in ("red", "black")
    }

    def accesses_of_processor(processor: int) -> Iterator[Access]:
        """Yield the accesses of one processor."""
        first_row, end_row = items_of_processor(rows, processors, processor)
        for array in array_by_colour.values():
            yield array.write_span(first_row, end_row)
        yield Arrive(START)
        first_updated_row = max(first_row, 1)
        end_updated_row = min(end_row, rows - 1)
        for _ in range(iterations):
            for updated_colour, read_colour in (("red", "black"), ("black", "red")):
                yield array_by_colour[read_colour].read_span(
                    first_updated_row - 1, end_updated_row + 1
                )
                yield array_by_colour[updated_colour].write_span(first_updated_row, end_updated_row)
                yield Compute((end_updated_row - first_updated_row) * (columns // 2))
                yield Arrive(updated_colour)

    return SharedProgram(
        "SOR",
        processors,
        layout.pages,
        accesses_of_processor,
        "points updated",
        layout.words_per_page,
    )
