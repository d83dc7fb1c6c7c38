"""Where addresses fall: ratios against counting every access one by one."""

from __future__ import annotations

from collections import Counter, OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick_workloads.unit_grains import Addresses
from tests.strategies import quick

SIZES = st.integers(1, 60)


@quick
@given(SIZES, st.integers(0, 70), SIZES, st.integers(1, 9))
def test_ratios_are_those_of_a_walk(
    elements: int, stride: int, per_block: int, modules: int
) -> None:
    walk = [step * stride % elements for step in range(elements)]
    counts = Counter(element // per_block % modules for element in walk)
    found = Addresses(elements, stride).module_ratios(per_block, modules, all_processors=False)
    assert found == pytest.approx([counts[module] / elements for module in range(modules)])


@quick
@given(SIZES, st.integers(0, 70), st.integers(0, 70), st.integers(1, 9))
def test_ratios_of_all_processors_are_those_of_a_walk_of_each(
    elements: int, stride: int, offset: int, per_block: int
) -> None:
    walks = [
        (who * offset + step * stride) % elements
        for who in range(elements)
        for step in range(elements)
    ]
    counts = Counter(element // per_block % 4 for element in walks)
    found = Addresses(elements, stride, offset).module_ratios(per_block, 4, all_processors=True)
    assert found == pytest.approx([counts[module] / len(walks) for module in range(4)])


def missed(addresses: Addresses, per_line: int, lines: int) -> float:
    """Run a walk through a fully associative cache until it has settled, and count."""
    cache: OrderedDict[int, None] = OrderedDict()
    rounds, misses = 4 * addresses.element_count, 0
    for step in range(2 * rounds):
        line = step * addresses.stride % addresses.element_count // per_line
        misses += step >= rounds and line not in cache
        cache[line] = None
        cache.move_to_end(line)
        if len(cache) > lines:
            cache.popitem(last=False)
    return misses / rounds


@quick
@given(
    st.integers(1, 12),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 40),
)
def test_misses_are_those_of_a_walk_through_a_cache(
    blocks: int, stride: int, per_line: int, lines: int
) -> None:
    # Whole numbers of strides and lines: the walk comes back to where it began, as the experiments'
    # walks do.
    addresses = Addresses(element_count=blocks * 16, stride=stride)
    assert addresses.miss_ratio(per_line, lines) == pytest.approx(
        missed(addresses, per_line, lines)
    )


def test_random_addresses_miss_as_often_as_a_line_is_not_there() -> None:
    addresses = Addresses(element_count=1024, is_random=True)
    assert addresses.miss_ratio(4, 64) == pytest.approx(1 - 64 / 256)
    assert addresses.miss_ratio(4, 256) == 0.0
    assert addresses.module_ratios(4, 4, all_processors=True) == (0.25, 0.25, 0.25, 0.25)
