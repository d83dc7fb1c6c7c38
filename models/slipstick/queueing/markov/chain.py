"""Markov chains in continuous time: states, rates and initial probabilities, explored from the initial states.

`explore_states` takes states of any hashable kind, one at a time; `explore_rows` takes rows of whole numbers, many
at a time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from slipstick.errors import ModelError, TooManyStatesError

Array = NDArray[Any]
ChainState = TypeVar("ChainState", bound=Hashable)
STATE_LIMIT = 300_000
"""States at most, unless told otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkovChain:
    """A finite chain, as it was explored.

    A rate may be complex, theta (1 + ih): then every answer computed from the chain is complex too, and its
    imaginary part over h is the derivative.

    Parameters
    ----------
    states : state i is `states[i]`: anything hashable, or a row of whole numbers
    sources, targets : numbers of the states before and after each transition [transitions]
    rates : rate of each transition [1/s] [transitions]
    start : probability of each state at time 0 [1] [states]
    events : number of what happens at each transition, or -1; a transition from a state to itself changes nothing
        but is counted [transitions]
    """

    states: Sequence[Any] | Array
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rates: Array
    start: NDArray[np.float64]
    events: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.start)

    def generator(self) -> csr_array:
        """Give the matrix Q: rates off the diagonal, rows that add to 0 [1/s] [states, states].

        >>> explore_states("up", {"up": [("down", 1.0)], "down": [("up", 9.0)]}.__getitem__).generator().toarray()
        array([[-1.,  1.],
               [ 9., -9.]])
        """
        moved = self.sources != self.targets
        here, there, rates = self.sources[moved], self.targets[moved], self.rates[moved]
        places = np.concatenate([here, here]), np.concatenate([there, here])
        return csr_array((np.concatenate([rates, -rates]), places), shape=(self.size, self.size))


def explore_states(
    start: ChainState | Mapping[ChainState, float],
    transitions: Callable[[ChainState], Iterable[tuple[ChainState, complex]]],
    *,
    limit: int = STATE_LIMIT,
) -> MarkovChain:
    """Explore a chain from where it starts, the nearest states first.

    Parameters
    ----------
    start : the state at time 0, or the probability of each [1]
    transitions : gives the states that follow a state, each with its rate [1/s]; a rate of 0 is no move
    limit : states at most

    Raises
    ------
    ModelError : a rate or a probability is out of range, or there are more states than the limit

    >>> chain = explore_states(0, lambda n: [(n + 1, 0.5)] * (n < 3) + [(n - 1, 1.0)] * (n > 0))
    >>> chain.states
    [0, 1, 2, 3]
    """
    begin: dict[ChainState, float] = dict(start) if isinstance(start, Mapping) else {start: 1.0}
    _check_start(begin)
    number = {state: at for at, state in enumerate(begin)}
    states = list(number)
    sources: list[int] = []
    targets: list[int] = []
    rates: list[complex] = []
    for here, state in enumerate(states):  # grows while it is read
        for target, rate in transitions(state):
            _check_rate(state, target, rate)
            if rate == 0:
                continue
            if target not in number:
                number[target] = len(states)
                states.append(target)
                if len(states) > limit:
                    refuse_size(limit, f"{here:,} of them looked at")
            sources.append(here)
            targets.append(number[target])
            rates.append(rate)
    first = np.zeros(len(states))
    first[: len(begin)] = list(begin.values())
    return MarkovChain(
        states,
        np.array(sources, dtype=np.int64),
        np.array(targets, dtype=np.int64),
        np.array(rates) * 1.0,  # whole numbers are rates too
        first,
        np.full(len(rates), -1),
    )


def _check_start(begin: Mapping[Any, float]) -> None:
    worst = min(begin.values(), default=0.0)
    if not (worst >= 0 and math.isclose(sum(begin.values()), 1.0, abs_tol=1e-12)):
        raise ModelError(
            "the probabilities of the states at the start must be at least 0 and add up to 1, "
            f"got {list(begin.values())[:8]}"
        )


def _check_rate(state: Any, target: Any, rate: complex) -> None:
    if not 0 <= complex(rate).real < math.inf:
        raise ModelError(f"the rate from {state} to {target} must be finite and at least 0, got {rate}")


def refuse_size(limit: int, size_hint: str) -> None:
    """Refuse a chain that is larger than the limit; `size_hint` says what is known of its size."""
    raise TooManyStatesError(
        f"the chain has more than {limit:,} states ({size_hint})",
        "allow more with limit=..., which costs memory and time, ask for fewer customers or phases, or use an "
        "approximate method or simulation",
    )


Rows = NDArray[np.integer]
"""States, one in each row."""

Transitions = tuple[NDArray[np.int64], Rows, Array, int]
"""Which states of a block move, where to, at what rate [1/s], and the event, or -1."""

BLOCK = 20_000
"""States looked at together."""


def explore_rows(
    start: Rows,
    transitions: Callable[[Rows], Iterable[Transitions]],
    *,
    limit: int = STATE_LIMIT,
    reachable: Rows | None = None,
    size_hint: Callable[[], str] = lambda: "as many as have been found",
) -> MarkovChain:
    """Explore a chain from equally likely initial states, the nearest states first, and sort its states.

    Parameters
    ----------
    start : the first states, all different [states, columns]
    transitions : gives all transitions of a block of states
    limit : states at most
    reachable : states known to be reachable, all different, so that more are explored at a time [states, columns]
    size_hint : gives what a refusal says of the size

    Raises
    ------
    NoAnswerError : there are more states than the limit

    >>> def around(rows):
    ...     yield np.arange(len(rows)), (rows + 1) % 3, np.ones(len(rows)), 0
    >>> explore_rows(np.zeros((1, 1), dtype=np.int16), around).states.ravel()
    array([0, 1, 2], dtype=int16)
    """
    # Each key that is not there yet gets the next number.
    number: defaultdict[bytes, int] = defaultdict()
    number.default_factory = number.__len__
    _numbered(start, number)
    block, looked_at = start, 0
    if reachable is not None:
        there = _numbered(reachable, number)
        block = np.concatenate([start, reachable[there >= len(start)]])
    seen = [block]
    found: list[tuple[Array, Array, Array, Array]] = []
    while len(block):
        fresh = [block[BLOCK:]]
        block = block[:BLOCK]
        for here, rows, rates, event in transitions(block):
            before = len(number)
            there = _numbered(rows, number)
            found.append((here + looked_at, there, rates, np.full(len(here), event)))
            if len(number) > limit:
                refuse_size(limit, size_hint())
            if len(number) > before:
                # The first to reach each new state, in the order of the numbers given.
                _, first = np.unique(there, return_index=True)
                fresh.append(rows[first[there[first] >= before]])
        looked_at += len(block)
        seen += fresh[1:]
        block = np.concatenate(fresh)
    return _sorted(np.concatenate(seen), len(start), _columns(found))


def _sorted(states: Rows, starts: int, columns: tuple[Array, Array, Array, Array]) -> MarkovChain:
    """Put the states in the order of their numbers: neighbours lie near, and matrices fill up less when factored."""
    order = np.lexsort(states.T[::-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    start = np.zeros(len(states))
    start[place[:starts]] = 1 / starts
    sources, targets, rates, events = columns
    return MarkovChain(states[order], place[sources], place[targets], rates, start, events)


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
