"""Layout of arrays in shared memory: pages and words of an access, and division of items among
processors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick.late import dataclass
from slipstick_workloads.release_consistency.accesses import WORD_BYTES, Read, Write

Items = NDArray[np.int64]
Field = tuple[int, int]
"""Offset of a field in an item, and its size [B]."""


class MemoryLayout:
    """Shared memory that fills up from page 0; each array begins on a page of its own.

    Parameters
    ----------
    page : its size [B]

    >>> layout = MemoryLayout(page=4096)
    >>> grid = layout.array(count=1000, size=8)
    >>> layout.pages, grid.read(np.array([0, 511, 512])).pages
    (2, array([0, 1]))
    """

    def __init__(self, page: int = 4096) -> None:
        if page < WORD_BYTES or page % WORD_BYTES:
            raise ModelError(f"a page holds whole words of {WORD_BYTES} B, got {page} B")
        self.words_per_page = page // WORD_BYTES
        self.pages = 0

    def array(self, count: int, size: int) -> SharedArray:
        """Return an array of items of a size [B], laid out after the arrays before."""
        if count < 1 or size < WORD_BYTES or size % WORD_BYTES:
            raise ModelError(
                f"an array has items of whole words of {WORD_BYTES} B, got {count} of {size} B"
            )
        shared_array = SharedArray(
            self.pages * self.words_per_page, count, size // WORD_BYTES, self.words_per_page
        )
        self.pages += -(-count * shared_array.item_words // self.words_per_page)
        return shared_array


@dataclass(frozen=True, slots=True)
class SharedArray:
    """An array in shared memory.

    Parameters
    ----------
    first_word : in shared memory
    count : items
    item_words : words in an item
    words_per_page : words in a page
    """

    first_word: int
    count: int
    item_words: int
    words_per_page: int

    def read(self, items: Items) -> Read:
        """Return the access that reads items, each as a whole."""
        first_words = self.first_word + items * self.item_words
        last_words = first_words + self.item_words - 1
        return Read(np.unique(np.concatenate((first_words, last_words)) // self.words_per_page))

    def read_span(self, first_item: int, end_item: int) -> Read:
        """Return the access that reads the items from `first_item` up to, but without,
        `end_item`.
        """
        return Read(self._span_pages(*self._word_span(first_item, end_item)))

    def write(self, items: Items, *fields: Field) -> Write:
        """Return the access that writes fields of items, or whole items."""
        word_numbers = (
            self.first_word + np.sort(items)[:, None] * self.item_words + self._word_offsets(fields)
        ).ravel()
        pages, page_index = np.unique(word_numbers // self.words_per_page, return_inverse=True)
        is_written = np.zeros((len(pages), self.words_per_page), np.bool_)
        is_written[page_index.ravel(), word_numbers % self.words_per_page] = True
        packed_bits = np.packbits(is_written, axis=1, bitorder="little")
        return Write(
            pages, [int.from_bytes(mask_row.tobytes(), "little") for mask_row in packed_bits]
        )

    def write_span(self, first_item: int, end_item: int) -> Write:
        """Return the access that writes the items from `first_item` up to, but without,
        `end_item`.
        """
        first_word, end_word = self._word_span(first_item, end_item)
        pages = self._span_pages(first_word, end_word)
        word_masks = [(1 << self.words_per_page) - 1] * len(pages)
        if word_masks:
            word_masks[0] &= ~((1 << first_word % self.words_per_page) - 1)
            word_masks[-1] &= (1 << (end_word - 1) % self.words_per_page + 1) - 1
        return Write(pages, word_masks)

    def _word_offsets(self, fields: Sequence[Field]) -> Items:
        """Return the words of an item that fields cover; all words without fields."""
        all_words = [(0, self.item_words * WORD_BYTES)]
        return np.concatenate(
            [
                np.arange(offset // WORD_BYTES, (offset + size) // WORD_BYTES)
                for offset, size in fields or all_words
            ]
        )

    def _word_span(self, first_item: int, end_item: int) -> tuple[int, int]:
        """Return the first word of an item and the word after the last item."""
        return (
            self.first_word + first_item * self.item_words,
            self.first_word + end_item * self.item_words,
        )

    def _span_pages(self, first_word: int, end_word: int) -> Items:
        """Return the pages of the words from `first_word` up to, but without, `end_word`."""
        if first_word >= end_word:
            return np.arange(0)
        return np.arange(
            first_word // self.words_per_page, (end_word - 1) // self.words_per_page + 1
        )


def items_of_processor(count: int, processors: int, processor: int) -> tuple[int, int]:
    """Return the first item of a processor and the item after its last one; the numbers of items of
    two processors differ by one at most.

    >>> [items_of_processor(10, 4, processor) for processor in range(4)]
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    """
    if count < processors:
        raise ModelError(f"{count} items cannot be divided among {processors} processors")
    return processor * count // processors, (processor + 1) * count // processors
