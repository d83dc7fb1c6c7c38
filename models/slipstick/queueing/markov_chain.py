"""Markov chains in continuous time: exploration from the initial states, long-run probabilities,
and mean times until given states are reached.

The chain and its solutions serve chains of any kind; `slipstick_chains` makes those of queueing
networks and of activities.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from slipstick import limits
from slipstick.errors import ModelError, NoAnswerError, TooManyStatesError, Unsolvable
from slipstick.late import Late, NDArray, dataclass, np
from slipstick.limits import advice_on_limit

if TYPE_CHECKING:
    from scipy import sparse
    from scipy.sparse import csc_array, csgraph, csr_array, linalg
else:  # a model whose chain is too large to be solved needs no sparse matrices
    sparse = Late("scipy.sparse")
    csgraph = Late("scipy.sparse.csgraph")
    linalg = Late("scipy.sparse.linalg")

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class MarkovChain:
    """A finite Markov chain with its states in the order in which they were explored.

    A rate may be complex, theta (1 + ih): then every answer computed from the chain is complex too,
    and its imaginary part over h is the derivative.

    Parameters
    ----------
    states : state i is `states[i]`: anything hashable, or a row of whole numbers
    sources, targets : numbers of the states before and after each transition [transitions]
    rates : rate of each transition [1/s] [transitions]
    start : probability of each state at time 0 [1] [states]
    events : number of what happens at each transition, or -1; a transition from a state to itself
        changes nothing but is counted [transitions]
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
        """Return the matrix Q: rates off the diagonal, rows that add to 0 [1/s] [states, states].

        >>> there, back, half = np.array([0, 1]), np.array([1, 0]), np.array([0.5, 0.5])
        >>> MarkovChain(
        ...     "up and down".split(" and "), there, back, np.array([1.0, 9.0]), half, back
        ... ).generator().toarray()
        array([[-1.,  1.],
               [ 9., -9.]])
        """
        # The rate of a transition from a state to itself cancels on the diagonal.
        changes_state = self.sources != self.targets
        source_states = self.sources[changes_state]
        target_states = self.targets[changes_state]
        rates = self.rates[changes_state]
        row_and_column_indices = (
            np.concatenate([source_states, source_states]),
            np.concatenate([target_states, source_states]),
        )
        return sparse.csr_array(
            (np.concatenate([rates, -rates]), row_and_column_indices), shape=(self.size, self.size)
        )


def refuse_size(most_states: float, known_size: str) -> None:
    """Refuse a chain that is larger than the limit; `known_size` says how large it is."""
    raise TooManyStatesError(
        f"the chain has more than {most_states:,.0f} states ({known_size})",
        "ask for fewer customers or phases, use an approximate method or simulation,"
        f" {advice_on_limit('states')}",
    )


Rows = NDArray[np.integer]
"""States, one in each row."""

Transitions = tuple[NDArray[np.int64], Rows, Array, int]
"""Transitions of a block: the states they leave, the states after, the rates [1/s], and the
event, or -1.
"""

STATES_PER_BLOCK = 20_000
"""States whose transitions are computed in one call."""


def explore_rows(
    start_rows: Rows,
    transitions: Callable[[Rows], Iterable[Transitions]],
    *,
    state_limit: float | None = None,
    reachable_states: Rows | None = None,
    describe_size: Callable[[], str] = lambda: "as many as have been found",
) -> MarkovChain:
    """Explore a chain from its initial state, the nearest states first, and sort its states.

    Sorted states have their neighbours near, so that matrices fill up less when factored.

    Parameters
    ----------
    start_rows : the first state [1, columns]
    transitions : gives all transitions of a block of states
    state_limit : states at most; by default that of `slipstick.limits`
    reachable_states : states known to be reachable, all different, so that more are explored at a
        time [states, columns]
    describe_size : returns what a refusal says of the size

    Raises
    ------
    NoAnswerError : there are more states than the limit

    >>> def around(rows):
    ...     yield np.arange(len(rows)), (rows + 1) % 3, np.ones(len(rows)), 0
    >>> explore_rows(np.zeros((1, 1), dtype=np.int16), around).states.ravel()
    array([0, 1, 2], dtype=int16)
    """
    most_states = limits.limit_in_force("states") if state_limit is None else state_limit
    # Each key that is not there yet gets the next number.
    number_by_state: defaultdict[bytes, int] = defaultdict()
    number_by_state.default_factory = number_by_state.__len__
    _state_numbers(start_rows, number_by_state)
    state_block = start_rows
    explored_states = 0
    if reachable_states is not None:
        state_block = np.concatenate(
            [start_rows, reachable_states[_state_numbers(reachable_states, number_by_state) > 0]]
        )
    state_blocks = [state_block]
    no_numbers = np.zeros(0, dtype=np.int64)
    transitions_by_event: list[tuple[Array, Array, Array, Array]] = [
        (no_numbers, no_numbers, np.zeros(0), no_numbers)
    ]
    # Blocks, not single states: the cost of a call is shared by thousands of states.
    while len(state_block):
        new_blocks = [state_block[STATES_PER_BLOCK:]]
        state_block = state_block[:STATES_PER_BLOCK]
        for source_indices, target_rows, rates, event in transitions(state_block):
            state_count_before = len(number_by_state)
            target_numbers = _state_numbers(target_rows, number_by_state)
            transitions_by_event.append(
                (
                    source_indices + explored_states,
                    target_numbers,
                    rates,
                    np.full(len(source_indices), event),
                )
            )
            if len(number_by_state) > most_states:
                refuse_size(most_states, describe_size())
            if len(number_by_state) > state_count_before:
                # The first to reach each new state, in the order of the numbers given.
                _, first_rows = np.unique(target_numbers, return_index=True)
                new_blocks.append(
                    target_rows[first_rows[target_numbers[first_rows] >= state_count_before]]
                )
        explored_states += len(state_block)
        state_blocks += new_blocks[1:]
        state_block = np.concatenate(new_blocks)
    return _sorted_chain(np.concatenate(state_blocks), transitions_by_event)


def _sorted_chain(
    states: Rows, transitions_by_event: Sequence[tuple[Array, Array, Array, Array]]
) -> MarkovChain:
    """Return the chain of some states in sorted order, from transitions that refer to the states in
    the order given: their sources, targets, rates and events.
    """
    # Numbered as they were explored, neighbours lie far apart: sorted, the factors have fewer
    # entries.
    row_order = np.lexsort(states.T[::-1])
    sorted_state_number = np.argsort(row_order)
    sources, targets, rates, events = (
        np.concatenate(field_arrays) for field_arrays in zip(*transitions_by_event, strict=True)
    )
    return MarkovChain(
        states[row_order],
        sorted_state_number[sources],
        sorted_state_number[targets],
        rates,
        (row_order == 0) * 1.0,
        events,
    )


def _state_numbers(rows: Rows, number_by_state: defaultdict[bytes, int]) -> NDArray[np.int64]:
    """Return the number of the state that each row holds; a state without a number gets the next
    one.
    """
    rows = np.ascontiguousarray(rows)
    bytes_per_row = rows.shape[1] * rows.itemsize
    keys: list[Any] = rows.view(np.dtype((np.void, bytes_per_row))).ravel().tolist()
    return np.fromiter(map(number_by_state.__getitem__, keys), dtype=np.int64, count=len(keys))


METHODS = ("gth", "direct", "iterative")
"""The methods for long-run probabilities: elimination without subtraction, factorization, and
iteration.
"""
MOST_ELIMINATED_STATES = 200
"""States up to which elimination without subtraction is used by default."""

MOST_DIRECT_STATES = 4_000
"""States above which iteration is tried first by default: factors fill up."""

MOST_RESIDUAL = 1e-12
"""Largest component of pi Q that is accepted for a solution, as a fraction of the largest rate."""

ROUNDING = 1e-13
"""Largest size of a negative probability that is taken as rounding and set to 0; a larger one is an
error.
"""

MOST_PROBABILITY_RATIO = 1e4
"""Largest ratio of the likeliest state's probability to that of the state whose probability is
fixed: a larger ratio costs as many digits.
"""

SOLVER_PASSES = 3
"""Number of passes of the iterative solver; each is to gain six digits."""

SYMMETRIC_OPTIONS = {
    "permc_spec": "MMD_AT_PLUS_A",
    "diag_pivot_thresh": 0.0,
    "options": {"SymmetricMode": True},
}
"""An M-matrix needs no pivots off the diagonal, and a symmetric order fills up least."""

Solve = Callable[[Array], Array]
SolvedBySize: TypeAlias = "dict[int, tuple[csr_array, Array, Solve]]"
"""By size: a real generator, its stationary distribution, and the solver with its factors."""


def stationary(
    chain: MarkovChain, method: str | None = None, solved_before: SolvedBySize | None = None
) -> Array:
    """Return the probability of each state in the long run.

    Solves pi Q = 0 with sum(pi) = 1. One state's probability is set to 1 and its equation left out,
    which leaves a regular M-matrix. If rates are complex, pi = p + ih dp with ``dp Q = -p dQ`` and
    sum(dp) = 0, from the same factors.

    Parameters
    ----------
    chain : the chain; transient states have probability 0
    method : `gth` (elimination without subtraction: no cancellation, work grows with the cube of
        the states), `direct` (sparse LU), `iterative` (GMRES, preconditioned by an incomplete LU);
        by default by size, with `direct` to follow where iteration fails its check
    solved_before : solutions of other chains, to which this one is added: chains that differ in
        derivatives alone are factored once

    Raises
    ------
    NoAnswerError : the chain ends in one of several closed sets of states, or the solution fails
        its check

    Source: Stewart, Introduction to the Numerical Solution of Markov Chains, Princeton 1994, ch. 2
    and 4.

    >>> def around(rows):
    ...     yield np.arange(len(rows)), (rows + 1) % 3, 1.0 + rows[:, 0], 0
    >>> stationary(explore_rows(np.zeros((1, 1), dtype=np.int16), around))
    array([0.545, 0.273, 0.182])
    """
    if method is not None and method not in METHODS:
        raise ModelError(
            f"there is no method {method!r} for the steady state; known: {', '.join(METHODS)}"
        )
    generator = chain.generator()
    closed_states = _closed_states(sparse.csr_array(generator.real))
    closed_generator = generator[closed_states][:, closed_states].tocsr()
    start_probability = chain.start[closed_states]
    closed_size = len(closed_states)
    start_probability = (
        start_probability / start_probability.sum()
        if start_probability.sum() > 0
        else np.full(closed_size, 1 / closed_size)
    )
    # Elimination works on the full matrix; factors of a large chain fill up, so there iteration is
    # tried before them.
    methods_of_size = (
        ("gth",)
        if closed_size <= MOST_ELIMINATED_STATES
        else ("direct",)
        if closed_size <= MOST_DIRECT_STATES
        else ("iterative", "direct")
    )
    probabilities = _solved_by_methods(
        closed_generator,
        (method,) if method else methods_of_size,
        start_probability,
        {} if solved_before is None else solved_before,
    )
    probability_by_state = np.zeros(chain.size, dtype=probabilities.dtype)
    probability_by_state[closed_states] = probabilities
    return probability_by_state


def _solved_by_methods(
    generator: csr_array,
    methods: tuple[str, ...],
    start_probability: NDArray[np.float64],
    solved_before: SolvedBySize,
) -> Array:
    """Return the long-run probabilities by the first method that succeeds; an error of the last one
    is raised.
    """
    for method in methods[:-1]:
        try:
            return _solved_by_method(generator, method, start_probability, solved_before)
        except NoAnswerError:
            continue
    return _solved_by_method(generator, methods[-1], start_probability, solved_before)


def _closed_states(generator: csr_array) -> NDArray[np.int64]:
    """Return the states of the only set of states that the chain never leaves."""
    set_count, set_of_state = csgraph.connected_components(
        generator, directed=True, connection="strong"
    )
    if set_count == 1:
        return np.arange(generator.shape[0])
    transitions = generator.tocoo()
    leaves_set = set_of_state[transitions.row] != set_of_state[transitions.col]
    is_open_set = np.zeros(set_count, dtype=bool)
    is_open_set[set_of_state[transitions.row[leaves_set]]] = True
    closed_sets = np.flatnonzero(~is_open_set)
    # Of several closed sets the start, and chance, decide which one the chain ends in.
    if len(closed_sets) > 1:
        raise NoAnswerError(
            f"the chain ends in one of {len(closed_sets)} sets of states and stays there, so"
            " the steady state depends on chance; every state must be reachable from every other"
        )
    return np.flatnonzero(set_of_state == closed_sets[0])


def _solved_by_method(
    generator: csr_array,
    method: str,
    start_probability: NDArray[np.float64],
    solved_by_size: SolvedBySize,
) -> Array:
    """Return the long-run probabilities by one method; a solver of the same real rates is taken
    from `solved_by_size`, and a complex part is one more solve.
    """
    # A chain of one state is always there; no equations are left to solve.
    if generator.shape[0] == 1:
        return np.ones(1)
    if method == "gth":
        return gth_elimination(generator.toarray())
    real_generator = sparse.csr_array(generator.real)
    if (
        len(start_probability) not in solved_by_size
        or abs(solved_by_size[len(start_probability)][0] - real_generator).max() > 0
    ):
        try:
            pi, solve = _solved_with_fixed(real_generator, method, start_probability)
        except RuntimeError as error:  # rates so far apart that a factor is singular
            raise NoAnswerError(
                f"the steady state of {len(start_probability):,} states was not found: {error}; try"
                f" another method: {', '.join(METHODS)}"
            ) from error
        _check_distribution(real_generator, pi)
        solved_by_size[len(start_probability)] = real_generator, pi, solve
        # Two sizes at most are kept: the factors of a chain may take a large part of the memory.
        if len(solved_by_size) > 2:
            solved_by_size.pop(next(iter(solved_by_size)))
    _, pi, solve = solved_by_size[len(start_probability)]
    if not np.iscomplexobj(generator.data):
        return pi
    # A step so small that its square is nothing must survive: scale it up to solve, and down again.
    generator_slope = sparse.csr_array(generator.imag)
    slope_scale = float(np.abs(generator_slope.data).max(initial=0.0)) or 1.0
    scaled_change = solve(-(pi @ (generator_slope / slope_scale)))
    complex_pi: Array = pi + 1j * slope_scale * (scaled_change - scaled_change.sum() * pi)
    return complex_pi


def _solved_with_fixed(
    generator: csr_array, method: str, start_probability: NDArray[np.float64]
) -> tuple[NDArray[np.float64], Solve]:
    """Return the long-run probabilities pi, which solve pi Q = 0 for real rates, and a solver of
    x Q = b with x = 0 at a fixed state.
    """
    fixed_state = (_likeliest_state_at_random_time if method == "direct" else _likely_state)(
        generator, start_probability
    )
    # An unlikely state makes a bad yardstick; the likeliest of the first answer a good one.
    for _ in range(3):
        solve = _row_solver(generator, fixed_state, method)
        with np.errstate(over="ignore", invalid="ignore"):
            pi = -solve(np.asarray(generator[[fixed_state]].toarray()).ravel())
        pi[fixed_state] = 1.0
        likeliest_state = int(np.argmax(np.where(np.isfinite(pi), np.abs(pi), -1.0)))
        if np.isfinite(pi).all() and abs(pi[likeliest_state]) < MOST_PROBABILITY_RATIO:
            break
        fixed_state = likeliest_state
    with np.errstate(invalid="ignore"):
        return pi / pi.sum(), solve  # what is not finite fails the check


def _likeliest_state_at_random_time(
    generator: csr_array, start_probability: NDArray[np.float64]
) -> int:
    """Return the likeliest state at a random time, exponential and so long that the fastest state
    is left 1e8 times.

    Its distribution is r (r I - Q)^-1 from the start, with r the rate of that time: one more
    factorization.
    """
    # Slow enough to reach the long run of most chains, and large enough that the factors do not
    # lose it to rounding.
    restart_rate = 1e-8 * float(-generator.diagonal().min())
    matrix = sparse.csc_array(restart_rate * sparse.eye_array(len(start_probability)) - generator.T)
    return int(np.argmax(linalg.splu(matrix, **SYMMETRIC_OPTIONS).solve(start_probability)))


def _likely_state(generator: csr_array, start_probability: NDArray[np.float64]) -> int:
    """Return a state that is likely in the long run: jump from the start until the likeliest state
    stays the same for as many jumps as before.

    Jumps need no clock, which the fastest rate would set; one in twenty is left out, or a chain
    that alternates between two sets of states would not settle.
    """
    exit_rates = -generator.diagonal()
    jump_matrix = sparse.csr_array((0.95 * generator / exit_rates[:, None]).T)
    state_weights = start_probability
    previous_likeliest = -1
    jump_count = 64
    while (
        previous_likeliest != (likeliest := int(np.argmax(state_weights / exit_rates)))
        and jump_count <= 8192
    ):
        previous_likeliest = likeliest
        for _ in range(jump_count):
            state_weights = state_weights + jump_matrix @ state_weights
        jump_count *= 2
    return likeliest


def _row_solver(generator: csr_array, fixed_state: int, method: str) -> Solve:
    """Return a function that solves x Q = b for x with x[fixed_state] = 0, without the equation
    of this state.
    """
    free_states = np.delete(np.arange(generator.shape[0]), fixed_state)
    matrix = sparse.csc_array(generator[free_states][:, free_states].T)
    solve_free_states = (
        linalg.splu(matrix, **SYMMETRIC_OPTIONS).solve
        if method == "direct"
        else _iterative_solver(matrix)
    )

    def solve(right_side: Array) -> Array:
        """Return x for a right side b, with 0 at the fixed state."""
        solution = np.zeros(len(right_side))
        solution[free_states] = solve_free_states(right_side[free_states])
        return solution

    return solve


def _iterative_solver(matrix: csc_array) -> Solve:
    """Return a function that solves equations by GMRES, preconditioned by an incomplete
    factorization.
    """
    # A coarse factor: a finer one (1e-3, 20) halves the iterations, and takes 2 to 4 times as long
    # as all of them.
    rough_factors = linalg.spilu(matrix, drop_tol=1e-2, fill_factor=5, **SYMMETRIC_OPTIONS)
    preconditioner = linalg.LinearOperator(matrix.shape, rough_factors.solve, dtype=np.float64)

    def solve(right_side: Array) -> Array:
        """Return x for a right side b, after a few passes of GMRES."""
        solution = np.zeros(len(right_side))
        # Each pass solves for what the last one left, which keeps digits that one long pass would
        # lose.
        for _ in range(SOLVER_PASSES):
            # Few digits in each pass: the passes together gain the digits, and short ones restart
            # from an exact residual.
            solution = (
                solution
                + linalg.gmres(
                    matrix,
                    right_side - matrix @ solution,
                    # Each round gains six digits, so that a few rounds of refinement reach
                    # rounding.
                    rtol=1e-6,
                    atol=0.0,
                    restart=60,
                    maxiter=5,
                    M=preconditioner,
                )[0]
            )
        return solution

    return solve


def _check_distribution(generator: csr_array, pi: NDArray[np.float64]) -> None:
    """Raise if a distribution does not solve the equations; set rounding below 0 to 0."""
    # Checked by the comparison below: NaN fails it.
    with np.errstate(invalid="ignore"):
        residual = float(np.abs(pi @ generator).max()) / float(-generator.diagonal().min())
    least_probability = float(pi.min())
    if not (residual <= MOST_RESIDUAL and least_probability >= -ROUNDING):
        raise NoAnswerError(
            f"the steady state of {len(pi):,} states was not found: pi Q is {residual:.1e} of the"
            f" largest rate (at most {MOST_RESIDUAL:g}) and the least probability"
            f" {least_probability:.1e}; try another method: {', '.join(METHODS)}"
        )
    # What is below 0 here is rounding, by the check above.
    pi[pi < 0] = 0.0


def gth_elimination(generator: Array) -> Array:
    """Return the long-run probabilities of a chain by elimination without subtraction.

    Takes the states out one by one, the last first; what a state loses is the sum of what it passes
    on, so that nothing is subtracted and every digit holds, however small the probability. Rates
    may be complex.

    Parameters
    ----------
    generator : Q, irreducible; its diagonal is not read [1/s] [states, states]

    Source: Grassmann, Taksar and Heyman, Operations Research 33(5), 1985, 1107-1116.

    >>> gth_elimination(np.array([[-1.0, 1.0], [9.0, -9.0]]))
    array([0.9, 0.1])
    """
    remaining_rates = np.array(generator)
    state_count = len(remaining_rates)
    for last_state in range(state_count - 1, 0, -1):
        remaining_rates[:last_state, last_state] /= remaining_rates[last_state, :last_state].sum()
        remaining_rates[:last_state, :last_state] += np.outer(
            remaining_rates[:last_state, last_state], remaining_rates[last_state, :last_state]
        )
    pi = np.ones(state_count, dtype=remaining_rates.dtype)
    for state in range(1, state_count):
        pi[state] = pi[:state] @ remaining_rates[:state, state]
    return np.asarray(pi / pi.sum())


def mean_times(chain: MarkovChain, end_states: Sequence[int] | NDArray[np.int64]) -> Array:
    """Return the mean time spent in each state before a chain first reaches one of some states [s].

    With T the rates among the other states, the mean times m from each of them follow from ``-T m =
    1``. Rates may be complex (see `MarkovChain`).

    Parameters
    ----------
    chain : the chain; it starts at `chain.start`
    end_states : numbers of the states to end in

    Raises
    ------
    ModelError : an end is not a state
    NoAnswerError : from some state no end can be reached

    Source: Kemeny and Snell, Finite Markov Chains, Van Nostrand 1960, ch. 3.

    >>> def up(rows):
    ...     yield np.arange(len(rows)), np.minimum(rows + 1, 3), np.full(len(rows), 2.0), 0
    >>> mean_times(explore_rows(np.zeros((1, 1), dtype=np.int16), up), [3]).sum().item()
    1.5
    """
    generator = chain.generator()
    final_states = np.unique(np.asarray(end_states, dtype=np.int64))
    if not len(final_states) or final_states[0] < 0 or final_states[-1] >= chain.size:
        raise ModelError(
            f"an end must be the number of a state from 0 to {chain.size - 1}, got"
            f" {final_states.tolist()}"
        )
    _check_reachable(chain, generator, final_states)
    transient_states = np.delete(np.arange(chain.size), final_states)
    mean_time_by_state = np.zeros(chain.size, dtype=generator.dtype)
    if len(transient_states):
        leaving_rates = sparse.csc_array(-generator[transient_states][:, transient_states].T)
        try:
            solve = linalg.splu(leaving_rates).solve
        except RuntimeError:  # of a pivot that is 0, which SciPy says in no other way
            raise NoAnswerError(
                "the rates of the chain differ by more than doubles hold, so its times cannot be"
                " solved; ask for simulation"
            ) from None
        mean_time_by_state[transient_states] = solve(
            chain.start[transient_states].astype(generator.dtype)
        )
    return mean_time_by_state


def _check_reachable(
    chain: MarkovChain, generator: csr_array, final_states: NDArray[np.int64]
) -> None:
    """Raise if some state cannot reach an end: walk backwards from the ends, joined into one more
    state.
    """
    transitions = generator.tocoo()
    state_count = chain.size
    sources = np.concatenate([transitions.col, np.full(len(final_states), state_count)])
    targets = np.concatenate([transitions.row, final_states])
    backward_graph = sparse.csr_array(
        (np.ones(len(sources)), (sources, targets)), shape=(state_count + 1, state_count + 1)
    )
    reached_states = csgraph.breadth_first_order(
        backward_graph, state_count, return_predecessors=False
    )
    if len(reached_states) < state_count + 1:
        stranded_state = int(np.setdiff1d(np.arange(state_count), reached_states)[0])
        reason = Unsolvable(
            f"from state {chain.states[stranded_state]} no end can be reached, so the mean time"
            " is infinite"
        )
        raise NoAnswerError(reason)
