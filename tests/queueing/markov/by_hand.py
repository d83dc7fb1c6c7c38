"""Chains written out by hand for tests: states of any hashable kind, explored one at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np

from slipstick.queueing.markov_chain import MarkovChain, refuse_size

ChainState = TypeVar("ChainState", bound=Hashable)


def explore_states(
    start: ChainState | Mapping[ChainState, float],
    transitions: Callable[[ChainState], Iterable[tuple[ChainState, complex]]],
    *,
    limit: float = 3e5,
) -> MarkovChain:
    """Explore a chain from where it starts, the nearest states first.

    Parameters
    ----------
    start : the state at time 0, or the probability of each [1]
    transitions : gives the states that follow a state, each with its rate [1/s]; a rate of 0 is no
        move
    limit : states at most

    >>> chain = explore_states(0, lambda n: [(n + 1, 0.5)] * (n < 3) + [(n - 1, 1.0)] * (n > 0))
    >>> chain.states
    [0, 1, 2, 3]
    """
    begin: dict[ChainState, float] = dict(start) if isinstance(start, Mapping) else {start: 1.0}
    number = {state: at for at, state in enumerate(begin)}
    states = list(number)
    sources: list[int] = []
    targets: list[int] = []
    rates: list[complex] = []
    for here, state in enumerate(states):  # grows while it is read
        for target, rate in transitions(state):
            assert 0 <= complex(rate).real < math.inf, (state, target, rate)
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
