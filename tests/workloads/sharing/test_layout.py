"""Pages and words of arrays, against one byte after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import ModelError
from slipstick_workloads.sharing.layout import MemoryLayout, SharedArray, items_of_processor


@st.composite
def arrays(draw: st.DrawFn) -> SharedArray:
    layout = MemoryLayout(4 * draw(st.integers(1, 9)))
    layout.array(draw(st.integers(1, 5)), 4)
    return layout.array(draw(st.integers(1, 12)), 4 * draw(st.integers(1, 12)))


def touched(array: SharedArray, items: list[int], begin: int, size: int) -> dict[int, int]:
    """Return the words of each page that the bytes of a field of items lie in, byte by byte."""
    found: dict[int, int] = {}
    for item in items:
        for byte in range(begin, begin + size):
            word = array.first_word + (item * array.item_words * 4 + byte) // 4
            page, bit = divmod(word, array.words_per_page)
            found[page] = found.get(page, 0) | 1 << bit
    return found


@given(arrays(), st.data())
def test_items_lie_where_their_bytes_do(array: SharedArray, data: st.DataObject) -> None:
    items = data.draw(st.lists(st.integers(0, array.count - 1), min_size=1, unique=True))
    begin = 4 * data.draw(st.integers(0, array.item_words - 1))
    size = 4 * data.draw(st.integers(1, array.item_words - begin // 4))
    written = array.write(np.array(items), (begin, size))
    assert dict(zip(written.pages.tolist(), written.words, strict=True)) == touched(
        array, items, begin, size
    )
    everywhere = touched(array, items, 0, array.item_words * 4)
    assert (
        set(everywhere)
        >= set(array.read(np.array(items)).pages.tolist())
        >= set(written.pages.tolist())
        & {page for item in items for page in (min(touched(array, [item], 0, 4)),)}
    )


@given(arrays(), st.data())
def test_a_span_is_its_items(array: SharedArray, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, array.count - 1))
    end = data.draw(st.integers(begin, array.count))
    span, items = array.write_span(begin, end), array.write(np.arange(begin, end))
    assert (span.pages.tolist(), list(span.words)) == (items.pages.tolist(), list(items.words))
    assert array.read_span(begin, end).pages.tolist() == span.pages.tolist()


@pytest.mark.parametrize(
    ("does", "text"),
    [
        (lambda: MemoryLayout(6), "a page holds whole words of 4 B, got 6 B"),
        (
            lambda: MemoryLayout().array(3, 6),
            "an array has items of whole words of 4 B, got 3 of 6 B",
        ),
        (lambda: items_of_processor(3, 4, 0), "3 items cannot be divided among 4 processors"),
    ],
)
def test_the_whole_text(does: Callable[[], object], text: str) -> None:
    with pytest.raises(ModelError) as caught:
        does()
    assert str(caught.value) == text


@given(st.integers(1, 20), st.integers(0, 100))
def test_shares_are_all_items_once(processors: int, more: int) -> None:
    shares = [items_of_processor(processors + more, processors, me) for me in range(processors)]
    assert [item for begin, end in shares for item in range(begin, end)] == list(
        range(processors + more)
    )
    assert {end - begin for begin, end in shares} <= {
        (processors + more) // processors,
        -(-(processors + more) // processors),
    }
