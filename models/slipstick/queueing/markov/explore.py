"""Explore a chain whose states are rows of whole numbers, many states at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.queueing.markov.chain import LIMIT, Array, Chain, refuse_size

__all__ = ["Move", "Rows", "explore"]

Rows = NDArray[np.integer]
"""States, one in each row."""
Move = tuple[NDArray[np.int64], Rows, Array, int]
"""Which states of a block move, where to, at what rate [1/s], and the event, or -1."""

BLOCK = 20_000
"""States looked at together."""


def explore(
    start: Rows,
    moves: Callable[[Rows], Iterable[Move]],
    *,
    limit: int = LIMIT,
    sure: Rows | None = None,
    known: Callable[[], str] = lambda: "as many as have been found",
) -> Chain:
    """Explore a chain from equally likely first states, the nearest states first; give them sorted.

    Parameters
    ----------
    start : the first states, all different [states, columns]
    moves : gives all moves of a block of states
    limit : states at most
    sure : states that are reached for sure, all different, to look at more at a time [states, columns]
    known : what a refusal says of the size

    Raises
    ------
    NoAnswerError : there are more states than the limit

    >>> def around(rows):
    ...     yield np.arange(len(rows)), (rows + 1) % 3, np.ones(len(rows)), 0
    >>> explore(np.zeros((1, 1), dtype=np.int16), around).states.ravel()
    array([0, 1, 2], dtype=int16)
    """
    # Each key that is not there yet gets the next number.
    number: defaultdict[bytes, int] = defaultdict()
    number.default_factory = number.__len__
    _numbered(start, number)
    block, looked_at = start, 0
    if sure is not None:
        there = _numbered(sure, number)
        block = np.concatenate([start, sure[there >= len(start)]])
    seen = [block]
    found: list[tuple[Array, Array, Array, Array]] = []
    while len(block):
        fresh = [block[BLOCK:]]
        block = block[:BLOCK]
        for here, rows, rates, event in moves(block):
            before = len(number)
            there = _numbered(rows, number)
            found.append((here + looked_at, there, rates, np.full(len(here), event)))
            if len(number) > limit:
                refuse_size(limit, known())
            if len(number) > before:
                # The first to reach each new state, in the order of the numbers given.
                _, first = np.unique(there, return_index=True)
                fresh.append(rows[first[there[first] >= before]])
        looked_at += len(block)
        seen += fresh[1:]
        block = np.concatenate(fresh)
    return _sorted(np.concatenate(seen), len(start), _columns(found))


def _sorted(states: Rows, starts: int, columns: tuple[Array, Array, Array, Array]) -> Chain:
    """Put the states in the order of their numbers: neighbours lie near, and matrices fill up less when factored."""
    order = np.lexsort(states.T[::-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    start = np.zeros(len(states))
    start[place[:starts]] = 1 / starts
    sources, targets, rates, events = columns
    return Chain(states[order], place[sources], place[targets], rates, start, events)


def _numbered(rows: Rows, number: defaultdict[bytes, int]) -> NDArray[np.int64]:
    """Give each row its number; rows that are new get the next ones."""
    rows = np.ascontiguousarray(rows)
    width = rows.shape[1] * rows.itemsize
    keys: list[Any] = rows.view(np.dtype((np.void, width))).ravel().tolist()
    return np.fromiter(map(number.__getitem__, keys), dtype=np.int64, count=len(keys))


def _columns(found: list[tuple[Array, Array, Array, Array]]) -> tuple[Array, Array, Array, Array]:
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0), none
    sources, targets, rates, events = (np.concatenate(each) for each in zip(*found, strict=True))
    return sources, targets, rates, events
