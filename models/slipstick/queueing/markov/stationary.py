"""Where a chain is in the long run, and how that changes with its rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, gmres, spilu, splu

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov.chain import Array, Chain

__all__ = ["METHODS", "gth", "stationary"]

METHODS = ("gth", "direct", "iterative")
SMALL = 200
"""States up to which elimination without subtraction is used unless told otherwise."""
LARGE = 4_000
"""States above which iteration is tried first unless told otherwise: factors fill up."""
RESIDUAL = 1e-12
"""What pi Q may be at most, as a part of the largest rate."""
ROUNDING = 1e-13
"""A probability this little below 0 is rounding; one further below is an error."""

MOST_RATIO = {"direct": 1e100, "iterative": 1e4}
"""How much likelier a state may be than the one that is fixed: elimination keeps small numbers, iteration loses them."""
PASSES = 3
"""Passes of the iterative solver; each is to gain six digits."""
SYMMETRIC = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
"""An M-matrix needs no pivots off the diagonal, and a symmetric order fills up least."""

Solve = Callable[[Array], Array]


def stationary(chain: Chain, method: str | None = None) -> Array:
    """Give the probability of each state in the long run.

    Solves pi Q = 0 with sum(pi) = 1. One state's probability is set to 1 and its equation left out, which leaves
    a regular M-matrix. If rates are complex, pi = p + ih dp with ``dp Q = -p dQ`` and sum(dp) = 0, from the
    same factors.

    Parameters
    ----------
    chain : the chain; states that are left for ever have probability 0
    method : `gth` (elimination without subtraction: no cancellation, work grows with the cube of the states),
        `direct` (sparse LU), `iterative` (GMRES, preconditioned by an incomplete LU); by default by size, with
        `direct` to follow where iteration fails its check

    Raises
    ------
    NoAnswerError : the chain ends in one of several closed sets of states, or the solution fails its check

    Source: Stewart, Introduction to the Numerical Solution of Markov Chains, Princeton 1994, ch. 2 and 4.

    >>> from slipstick.queueing.markov.chain import build
    >>> stationary(build(0, lambda n: [(n + 1, 0.5)] * (n < 2) + [(n - 1, 1.0)] * (n > 0)))
    array([0.571, 0.286, 0.143])
    """
    if method is not None and method not in METHODS:
        raise ModelError(f"there is no method {method!r} for the long run; known: {', '.join(METHODS)}")
    whole = chain.generator()
    closed = _closed(csr_array(whole.real))
    inside = whole[closed][:, closed].tocsr()
    found = _first_that_holds(inside, (method,) if method else _by_size(len(closed)), _start(chain, closed))
    answer = np.zeros(chain.size, dtype=found.dtype)
    answer[closed] = found
    return answer


def _by_size(size: int) -> tuple[str, ...]:
    if size <= SMALL:
        return ("gth",)
    return ("direct",) if size <= LARGE else ("iterative", "direct")


def _first_that_holds(generator: csr_array, methods: tuple[str, ...], start: NDArray[np.float64]) -> Array:
    """Try methods in turn; the last may fail."""
    for method in methods[:-1]:
        try:
            return _solved(generator, method, start)
        except NoAnswerError:
            continue
    return _solved(generator, methods[-1], start)


def _start(chain: Chain, closed: NDArray[np.int64]) -> NDArray[np.float64]:
    start = chain.start[closed]
    mass = start.sum()
    return start / mass if mass > 0 else np.full(len(closed), 1 / len(closed))


def _closed(generator: csr_array) -> NDArray[np.int64]:
    """Give the states of the one set that is never left."""
    count, label = connected_components(generator, directed=True, connection="strong")
    if count == 1:
        return np.arange(generator.shape[0])
    across = generator.tocoo()
    left = label[across.row] != label[across.col]
    open_sets = np.zeros(count, dtype=bool)
    open_sets[label[across.row[left]]] = True
    final = np.flatnonzero(~open_sets)
    if len(final) > 1:
        raise NoAnswerError(
            f"the chain ends in one of {len(final)} sets of states and stays there, so the long run depends on chance; "
            "ask for the absorption instead"
        )
    return np.flatnonzero(label == final[0])


def _solved(generator: csr_array, method: str, start: NDArray[np.float64]) -> Array:
    if generator.shape[0] == 1:
        return np.ones(1)
    if method == "gth":
        return gth(generator.toarray())
    real = csr_array(generator.real)
    pi, solve = _balanced(real, method, start)
    _check(real, pi)
    if not np.iscomplexobj(generator.data):
        return pi
    # A step so small that its square is nothing must survive: scale it up to solve, and down again.
    slope = csr_array(generator.imag)
    scale = float(np.abs(slope.data).max(initial=0.0)) or 1.0
    change = solve(-(pi @ (slope / scale)))
    answer: Array = pi + 1j * scale * (change - change.sum() * pi)
    return answer


def _balanced(generator: csr_array, method: str, start: NDArray[np.float64]) -> tuple[NDArray[np.float64], Solve]:
    """Solve pi Q = 0 over the reals; also give what solves x Q = b with x[fixed] = 0."""
    fixed = _likely(generator, start)
    # An unlikely state makes a bad yardstick; the likeliest of the first answer a good one.
    for _ in range(3):
        solve = _solver(generator, fixed, method)
        with np.errstate(over="ignore", invalid="ignore"):
            pi = -solve(np.asarray(generator[[fixed]].toarray()).ravel())
        pi[fixed] = 1.0
        top = int(np.argmax(np.where(np.isfinite(pi), np.abs(pi), -1.0)))
        if np.isfinite(pi).all() and abs(pi[top]) < MOST_RATIO[method]:
            break
        fixed = top
    with np.errstate(invalid="ignore"):
        return pi / pi.sum(), solve  # what is not finite fails the check


def _likely(generator: csr_array, start: NDArray[np.float64]) -> int:
    """Walk from the start until the likeliest state stays the same for as many steps as were made before."""
    rate = 1.05 * float(-generator.diagonal().min())
    step = csr_array(generator.T / rate)
    at, top, steps = start, -1, 64
    while top != (now := int(np.argmax(at))) and steps <= 4096:
        top = now
        for _ in range(steps):
            at = at + step @ at
        steps *= 2
    return top


def _solver(generator: csr_array, fixed: int, method: str) -> Solve:
    """Give what solves x Q = b for x with x[fixed] = 0, equation `fixed` left out."""
    rest = np.delete(np.arange(generator.shape[0]), fixed)
    matrix = csc_array(generator[rest][:, rest].T)
    inner = splu(matrix, **SYMMETRIC).solve if method == "direct" else _iterative(matrix)

    def solve(right: Array) -> Array:
        x = np.zeros(len(right))
        x[rest] = inner(right[rest])
        return x

    return solve


def _iterative(matrix: csc_array) -> Solve:
    rough = spilu(matrix, drop_tol=1e-3, fill_factor=20, **SYMMETRIC)
    before = LinearOperator(matrix.shape, rough.solve, dtype=np.float64)

    def solve(right: Array) -> Array:
        x = np.zeros(len(right))
        # Each pass solves for what the last one left, which keeps digits that one long pass would lose.
        for _ in range(PASSES):
            x = x + gmres(matrix, right - matrix @ x, rtol=1e-6, atol=0.0, restart=60, maxiter=5, M=before)[0]
        return x

    return solve


def _check(generator: csr_array, pi: NDArray[np.float64]) -> None:
    """Refuse what does not solve the equations, and call a rounding below 0 a 0."""
    with np.errstate(invalid="ignore"):
        rest = float(np.abs(pi @ generator).max()) / float(-generator.diagonal().min())
    least = float(pi.min())
    if not (rest <= RESIDUAL and least >= -ROUNDING):
        raise NoAnswerError(
            f"the long run of {len(pi):,} states did not come out: pi Q is {rest:.1e} of the largest rate (at most "
            f"{RESIDUAL:g}) and the least probability {least:.1e}; try another method: {', '.join(METHODS)}"
        )
    pi[pi < 0] = 0.0


def gth(generator: Array) -> Array:
    """Give the long run by elimination without subtraction.

    Takes the states out one by one, the last first; what a state loses is the sum of what it passes on,
    so that nothing is subtracted and every digit holds, however small the probability. Rates may be complex.

    Parameters
    ----------
    generator : Q, irreducible; its diagonal is not read [1/s] [states, states]

    Source: Grassmann, Taksar and Heyman, Operations Research 33(5), 1985, 1107-1116.

    >>> gth(np.array([[-1.0, 1.0], [9.0, -9.0]]))
    array([0.9, 0.1])
    """
    q = np.array(generator)
    size = len(q)
    for last in range(size - 1, 0, -1):
        q[:last, last] /= q[last, :last].sum()
        q[:last, :last] += np.outer(q[:last, last], q[last, :last])
    pi = np.ones(size, dtype=q.dtype)
    for state in range(1, size):
        pi[state] = pi[:state] @ q[:state, state]
    return np.asarray(pi / pi.sum())
