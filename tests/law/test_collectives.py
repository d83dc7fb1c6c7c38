"""Collective algorithms executed message by message: the data arrive, in the rounds and bytes
that their laws count.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick import solve
from slipstick.expression.nodes import Number, as_expr
from slipstick.law.collectives import ALGORITHMS

Vectors = list[dict[int, float]]
"""What each rank holds: for each part of the vector, the ranks of which it is the sum."""

FIGURES = {(each.operation, each.name): each.figures for each in ALGORITHMS}


def counted(operation: str, name: str, ranks: int) -> tuple[float, float, float]:
    """Return rounds, and bytes moved and combined, of a vector of as many bytes as there are
    ranks.
    """
    found = FIGURES[operation, name](Number(float(ranks)), Number(float(ranks)))
    values = [each.value for each in map(as_expr, found) if isinstance(each, Number)]
    assert len(values) == 3
    return values[0], values[1], values[2]


class Ranks:
    """Ranks that exchange parts of a vector in rounds, each sending and receiving one message at
    a time.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.held: list[list[frozenset[int]]] = [
            [frozenset([rank])] * ranks for rank in range(ranks)
        ]
        self.rounds = self.moved = self.combined = 0

    def exchange(self, messages: dict[int, tuple[int, list[int]]], combine: bool) -> None:
        """Let each sender pass parts of its vector to a receiver, all at the same time."""
        receivers = [receiver for receiver, _ in messages.values()]
        assert len(set(receivers)) == len(receivers)
        sent = {
            receiver: [(part, self.held[sender][part]) for part in parts]
            for sender, (receiver, parts) in messages.items()
        }
        for receiver, parts in sent.items():
            for part, value in parts:
                mine = self.held[receiver][part]
                assert not (combine and mine & value), "a contribution is added twice"
                self.held[receiver][part] = mine | value if combine else value
        longest = max(len(parts) for parts in sent.values())
        self.rounds, self.moved = self.rounds + 1, self.moved + longest
        self.combined += longest if combine else 0

    def complete(self) -> bool:
        """Return whether each rank holds the sum over all ranks."""
        whole = frozenset(range(self.ranks))
        return all(part == whole for rank in self.held for part in rank)


def ring_allreduce(ranks: int) -> Ranks:
    made = Ranks(ranks)
    for combine in (True, False):
        for step in range(ranks - 1):
            first = 0 if combine else 1
            messages = {
                rank: ((rank + 1) % ranks, [(rank - step + first) % ranks]) for rank in range(ranks)
            }
            made.exchange(messages, combine)
    return made


def doubling_allreduce(ranks: int) -> Ranks:
    made, every = Ranks(ranks), list(range(ranks))
    power = 1 << (ranks.bit_length() - 1)
    if extra := ranks - power:
        made.exchange({power + rank: (rank, every) for rank in range(extra)}, True)
    for level in range(power.bit_length() - 1):
        made.exchange({rank: (rank ^ (1 << level), every) for rank in range(power)}, True)
    if extra:
        made.exchange({rank: (power + rank, every) for rank in range(extra)}, False)
    return made


def rabenseifner_allreduce(ranks: int) -> Ranks:
    """Halve and double; only for powers of two, where each rank keeps an equal part."""
    made = Ranks(ranks)
    parts = [list(range(ranks)) for _ in range(ranks)]
    levels = ranks.bit_length() - 1
    for level in reversed(range(levels)):
        keep = [
            [part for part in mine if (part ^ rank) & (1 << level) == 0]
            for rank, mine in enumerate(parts)
        ]
        messages = {rank: (rank ^ (1 << level), keep[rank ^ (1 << level)]) for rank in range(ranks)}
        made.exchange(messages, True)
        parts = keep
    for level in range(levels):
        made.exchange({rank: (rank ^ (1 << level), parts[rank]) for rank in range(ranks)}, False)
        parts = [mine + parts[rank ^ (1 << level)] for rank, mine in enumerate(parts)]
    return made


@pytest.mark.parametrize(
    ("name", "execute", "sizes"),
    [
        ("ring", ring_allreduce, range(2, 20)),
        ("recursive-doubling", doubling_allreduce, range(2, 20)),
        ("rabenseifner", rabenseifner_allreduce, (2, 4, 8, 16)),
    ],
)
def test_an_executed_allreduce_takes_the_rounds_and_bytes_of_its_law(
    name: str, execute: Callable[[int], Ranks], sizes: range
) -> None:
    for ranks in sizes:
        made = execute(ranks)
        assert made.complete()
        assert (made.rounds, made.moved, made.combined) == pytest.approx(
            counted("allreduce", name, ranks)
        )


@given(st.integers(1, 5000))
def test_no_algorithm_beats_the_bounds_of_its_operation(ranks: int) -> None:
    """Chan and others 2007, of networks with one port: rounds of a tree, and the bytes that a
    rank must receive.
    """
    levels, others = ceil(log2(ranks)) if ranks > 1 else 0, ranks - 1
    least = {"broadcast": ranks, "reduce": ranks, "allreduce": 2 * others, "barrier": 0}
    for algorithm in (each for each in ALGORITHMS if not each.in_switch):
        rounds, moved, combined = counted(algorithm.operation, algorithm.name, ranks)
        bytes_ = least.get(algorithm.operation, others) if ranks > 1 else 0
        assert rounds >= levels - 1e-9
        assert moved >= bytes_ - 1e-9
        assert not algorithm.combines or combined >= others - 1e-9


@pytest.mark.parametrize("ranks", range(2, 20))
def test_bytes_of_a_link_are_counted_for_a_reduction_in_the_switch(ranks: int) -> None:
    """Each rank's link, part by part: reads that leave, sums that arrive, writes, copies to all."""
    out, into = [0.0] * ranks, [0.0] * ranks
    for owner in range(ranks):
        for rank in range(ranks):  # the switch reads the part of all, and adds them up
            out[rank] += 1
        into[owner] += 1
        out[owner] += 1  # the owner writes the sum, the switch copies it to all
        for rank in range(ranks):
            into[rank] += 1
    _, moved, combined = counted("allreduce", "in-switch", ranks)
    assert set(out) == set(into) == {ranks + 1}
    assert moved == pytest.approx(ranks + 1)
    assert combined == 0
    assert counted("allreduce", "switch-tree", ranks) == (2, ranks, 0)


def test_one_rate_of_the_links_explains_measured_reductions_in_the_switch() -> None:
    """Bus bandwidths of all-reduce on 5 to 8 H200 and 6 to 8 B200 (Bekman, Machine Learning
    Engineering, network benchmarks), by the bytes of a link, are one rate each.
    """
    for measured in (
        {5: 414.2, 6: 435.6, 7: 460.0, 8: 473.1},
        {6: 778.2, 7: 811.2, 8: 838.0},
    ):
        rates = [
            bus / (2 * (ranks - 1) / ranks) * counted("allreduce", "in-switch", ranks)[1] / ranks
            for ranks, bus in measured.items()
        ]
        assert max(rates) / min(rates) < 1.025
        buses = list(measured.values())
        assert max(buses) / min(buses) > 1.07


def parents_of_tree(ranks: int) -> dict[int, int]:
    """Return the parent of each rank but 0 in a binary tree whose odd ranks are leaves or inner
    ranks by their lowest set bit; ranks is a power of 2.
    """
    parents = {}
    for rank in range(1, ranks):
        bit = rank & -rank
        parent = (rank ^ bit) | (bit << 1)
        parents[rank] = parent if parent < ranks else rank ^ bit
    return parents


@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 64])
def test_two_trees_load_a_rank_as_the_law_counts(ranks: int) -> None:
    """Half of the vector passes up and down each tree; the second is the first in reverse order,
    so that inner ranks of one are leaves of the other. The largest load in one direction counts.
    """
    first = parents_of_tree(ranks)
    second = {ranks - 1 - rank: ranks - 1 - parent for rank, parent in first.items()}
    sent = dict.fromkeys(range(ranks), 0.0)
    received = dict.fromkeys(range(ranks), 0.0)
    combined = dict.fromkeys(range(ranks), 0.0)
    half = ranks / 2
    deepest = 0
    for tree in (first, second):
        for rank, parent in tree.items():
            for sender, receiver in ((rank, parent), (parent, rank)):
                sent[sender] += half
                received[receiver] += half
            combined[parent] += half
            depth = 0
            while rank in tree:
                rank = tree[rank]
                depth += 1
            deepest = max(deepest, depth)
    rounds, moved_bytes, combined_bytes = counted("allreduce", "double-tree", ranks)
    assert rounds == 2 * deepest
    assert max([*sent.values(), *received.values()]) == moved_bytes
    assert max(combined.values()) == combined_bytes


def test_each_doubling_of_nodes_adds_the_same_round(tmp_path: Path) -> None:
    """Recursive doubling exchanges the whole vector with one more node in each further round."""
    (tmp_path / "c.yaml").write_text(
        "activity: 1\nmachine: archer2\nparameters: {size: 1 KiB}\npopulation: {processors: 128}\n"
        "cycle: [{name: sum, collective: allreduce, size: size}]\n"
    )
    times = [
        solve(
            str(tmp_path / "c.yaml"),
            set={"population.processors": 128 * nodes},
            method="closed-form",
        )["time"]
        or 0
        for nodes in (2, 4, 8, 16)
    ]
    rounds = np.diff(times)
    assert rounds == pytest.approx(rounds[0])
