"""How long until a chain ends, what it earns until then, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov.chain import Array, Chain

__all__ = ["Absorption", "absorption"]


@dataclass(frozen=True, slots=True, eq=False)
class Absorption:
    """The end of a chain.

    Parameters
    ----------
    ends : numbers of the states where it ends [ends]
    reward : mean reward until the end from each state; the mean time [s] if the reward is 1 a second [states]
    mean : mean reward until the end from where the chain starts
    probability : of each end, from where the chain starts [1] [ends]
    """

    ends: NDArray[np.int64]
    reward: Array
    mean: complex
    probability: Array


def absorption(chain: Chain, ends: Sequence[int] | None = None, reward: ArrayLike = 1.0) -> Absorption:
    """Give the mean time, or reward, until a chain ends, and where it ends.

    With T the rates among the states that are not ends, and E those from them to the ends::

        -T m = reward        b = p(0) (-T)^-1 E

    Rates may be complex (see `Chain`).

    Parameters
    ----------
    chain : the chain; it starts at `chain.start`
    ends : numbers of the states to end in; by default those that nothing leaves
    reward : what each state earns a second: one number or one for each state

    Raises
    ------
    ModelError : there is no end, or it is not a state
    NoAnswerError : from some state no end can be reached

    Source: Kemeny and Snell, Finite Markov Chains, Van Nostrand 1960, ch. 3.

    >>> from slipstick.queueing.markov.chain import build
    >>> absorption(build(0, lambda n: [(n + 1, 2.0)] * (n < 3))).mean
    1.5
    """
    generator = chain.generator()
    final = _ends(chain, generator, ends)
    inside = np.delete(np.arange(chain.size), final)
    _check_reachable(chain, generator, final)
    earned = np.broadcast_to(np.asarray(reward), (chain.size,))[inside]
    kind = np.result_type(generator.dtype, earned.dtype, np.float64)
    total = np.zeros(chain.size, dtype=kind)
    ended = chain.start[final].astype(kind)
    if len(inside):
        factors = splu(csc_array(-generator[inside][:, inside]).astype(kind))
        total[inside] = factors.solve(earned.astype(kind))
        visits = factors.solve(chain.start[inside].astype(kind), trans="T")
        ended = ended + visits @ generator[inside][:, final]
    return Absorption(final, total, (chain.start @ total).item(), ended)


def _ends(chain: Chain, generator: csr_array, ends: Sequence[int] | None) -> NDArray[np.int64]:
    final = np.flatnonzero(generator.diagonal() == 0) if ends is None else np.unique(np.asarray(ends, dtype=np.int64))
    if not len(final):
        raise ModelError("no state ends this chain, as each is left; name the ends, or ask for the long run")
    if final[0] < 0 or final[-1] >= chain.size:
        raise ModelError(f"an end must be the number of a state from 0 to {chain.size - 1}, got {final.tolist()}")
    return final


def _check_reachable(chain: Chain, generator: csr_array, final: NDArray[np.int64]) -> None:
    """Walk backwards from the ends, put together as one state more."""
    moves = generator.tocoo()
    size = chain.size
    sources = np.concatenate([moves.col, np.full(len(final), size)])
    targets = np.concatenate([moves.row, final])
    back = csr_array((np.ones(len(sources)), (sources, targets)), shape=(size + 1, size + 1))
    reached = breadth_first_order(back, size, return_predecessors=False)
    if len(reached) < size + 1:
        lost = int(np.setdiff1d(np.arange(size), reached)[0])
        raise NoAnswerError(f"from state {chain.states[lost]} no end can be reached, so the mean time is infinite")
