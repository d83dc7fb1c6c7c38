"""How a model scales: the work that more processors need, and the overhead that limits it.

Two methods give the same number. One analyses the closed form with SymPy: the total overhead T_o =
N T - W t_c of a model is a sum of powers and logarithms, and for each term follow the work that it
needs by itself and how that grows. The other solves any compiled model, whatever its method, for
the size at each number of processors. Algebra explains the growth, but only for closed forms; root
finding gives numbers for all models. The tests compare both where both apply.

A term of an overhead is c n^a log(n)^b N^p log(N)^q. Work grows as c_w n^e log(n)^d. With K = E /
(1 - E), a term is paid for when W = K T_o, that is when n^A log(n)^B = y(N) with A = e - a, B = d -
b and y = K c / c_w N^p log(N)^q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import Booked, Expr, Operation, keep_booked, parameters, walk
from slipstick.expression.symbolic import sympy, to_sympy
from slipstick.late import Array, NDArray, dataclass, field, np, replace
from slipstick.law import Law
from slipstick.method.answers import Answers, CompiledModel
from slipstick.method.closed_form import ClosedForm
from slipstick.model.system import Labels, Model, PhasedPopulation
from slipstick.results.sweep import PointTable, Provenance
from slipstick_laws.account import AVERAGE_LATENCY
from slipstick_laws.scalability import LATENCY_SCALABILITY

USEFUL = "useful"
ONE_PROCESSOR = "one-processor"
KINDS_OF_WORK = (USEFUL, ONE_PROCESSOR)
"""What counts as the work: the useful part of the account, or the time that one processor takes."""

_ROUNDING_OPERATORS = ("ceil", "floor", "ceil_log")


@dataclass(frozen=True, slots=True)
class Run:
    """A parallel run in symbols.

    Parameters
    ----------
    time : on all processors, T(n, N), a SymPy expression [s]
    work : time of the sequential algorithm, W t_c, of the size alone [s]
    size : the symbol n, a size parameter, or the factor on several
    processors : the symbol N
    values : number of every other symbol, in base units
    rounded : steps that round were taken without rounding
    """

    time: Any
    work: Any
    size: Any
    processors: Any
    values: Mapping[Any, float] = field(default_factory=dict)
    rounded: bool = False

    @property
    def overhead(self) -> Any:
        """Total overhead T_o = N T - W t_c, a sum [s] (Grama, Gupta, Kumar, 1993)."""
        total_overhead = self.processors * self.time - self.work
        return sympy.expand(sympy.expand_log(sympy.expand(total_overhead), force=True))


def run_in_symbols(
    model: Model | Law,
    size: str | Mapping[str, float],
    processors: str = "population.processors",
    *,
    against: str = USEFUL,
    values: Mapping[str, float] | None = None,
) -> Run:
    """Return the time and the work of a model as SymPy expressions of a size and the number of
    processors.

    Parameters
    ----------
    model : an activity of one population or a program of phases, by its closed form; or a law that
        gives a time
    size : the size parameter, or several in stated proportion: each grows as the common factor to
        its power [1]
    processors : the parameter that stands for N
    against : what the work is: ``useful``, the useful part of the account of all processors, or
        ``one-processor``, the time of the same model with N = 1
    values : numbers of a law's symbols, and of a model's parameters where they differ from its own,
        in base units

    Raises
    ------
    ModelError : a parameter is not there, the model has no account, its useful work depends on the
        number of processors, or the closed form holds a maximum, which no sum of terms can show

    >>> from slipstick.expression.nodes import TIME
    >>> from slipstick.expression.nodes import Parameter
    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> n, t, N = Parameter("n", value=64.0), Parameter("t", TIME, 1.0), Parameter("N", value=4.0)
    >>> add = delay(n / N * t, name="add", component="busy") >> delay(
    ...     t * 2, name="exchange", component="communication"
    ... )
    >>> run_in_symbols(closed_model(add, N), "n", "N").overhead
    2*N*t
    """
    if against not in KINDS_OF_WORK:
        raise ModelError(
            f"there is no work {against!r} to hold a run"
            f" against{did_you_mean(against, KINDS_OF_WORK)}"
        )
    time, useful = _time_and_useful_time(model, against)
    powers = {size: 1.0} if isinstance(size, str) else dict(size)
    _check_paths(model.name, (time, useful), powers, processors)
    symbols = {
        parameter.name: sympy.Symbol(parameter.name, positive=True)
        for parameter in parameters(time, useful)
    }
    value_by_name = {
        parameter.name: parameter.value for parameter in parameters(time, useful)
    } | dict(values or {})
    size_symbol = (
        symbols[next(iter(powers))] if len(powers) == 1 else sympy.Symbol("growth", positive=True)
    )
    if len(powers) > 1:
        symbols |= {
            name: _exact_number(value_by_name[name]) * size_symbol ** _exact_number(power)
            for name, power in powers.items()
        }
    processors_symbol = symbols[processors]
    time_expression, work = (
        _without_rounding(model.name, to_sympy(expression, symbols), processors_symbol)
        for expression in (time, useful)
    )
    work = (
        sympy.simplify(processors_symbol * work)
        if against == USEFUL
        else time_expression.subs(processors_symbol, 1)
    )
    if work.has(processors_symbol):
        raise ModelError(
            f"the useful work of {model.name} depends on {processors}; hold it against"
            f" {ONE_PROCESSOR}"
            " instead"
        )
    known_values = {
        symbol: float(value)
        for name, symbol in symbols.items()
        if name not in powers and name != processors and (value := value_by_name[name]) is not None
    }
    nodes = (node for expression in (time, useful) for node in walk(expression))
    is_rounded = any(
        isinstance(node, Operation) and node.operator in _ROUNDING_OPERATORS for node in nodes
    )
    return Run(time_expression, work, size_symbol, processors_symbol, known_values, is_rounded)


def _time_and_useful_time(model: Model | Law, against: str) -> tuple[Expr, Expr]:
    """Return the time, and the useful time of one processor."""
    if isinstance(model, Law):
        if against == USEFUL:
            raise ModelError(
                f"law {model.name} has no account of what is useful; hold it against"
                f" {ONE_PROCESSOR} instead"
            )
        return model.right_side, model.right_side
    if not (len(model.population.groups) == 1 or isinstance(model.population, PhasedPopulation)):
        raise ModelError(
            f"{model.name} is not a run of N processors; give it one population, or phases"
        )
    form = ClosedForm(model)
    labels = Labels.from_model(model)
    booked_labels = dict.fromkeys(
        node.label for node in walk(form.account) if isinstance(node, Booked)
    )
    useful = keep_booked(
        form.account, [name for name in booked_labels if labels.component(name) in model.useful]
    )
    return form.time, useful


def _check_paths(
    name: str, times: tuple[Expr, ...], powers: Mapping[str, float], processors: str
) -> None:
    """Raise if a time has no parameter at one of the paths of the sizes or of the processors."""
    paths = [parameter.name for parameter in parameters(*times)]
    for path in (*powers, processors):
        if path not in paths:
            raise ModelError(
                f"the time of {name} does not depend on {path!r}{did_you_mean(path, paths)}"
            )


def _without_rounding(name: str, expr: Any, processors: Any) -> Any:
    """Return an expression without its rounding operators, for at least one processor; raise if a
    maximum or a choice remains.
    """
    smooth = expr.replace(sympy.ceiling, lambda inner: inner).replace(
        sympy.floor, lambda inner: inner
    )
    smooth = smooth.xreplace({sympy.Max(1, processors, evaluate=False): processors})
    if smooth.has(sympy.Max, sympy.Min, sympy.Piecewise):
        raise ModelError(
            f"the time of {name} holds a maximum or a choice, so its overhead is no sum of terms"
        )
    return smooth


def _exact_number(value: float | None) -> Any:
    """Return a number as an exact fraction."""
    return sympy.nsimplify(value, rational=True)


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum: coefficient n^size log(n)^size_log N^processors log(N)^processors_log."""

    expression: Any
    coefficient: Any
    size: Any
    size_log: Any
    processors: Any
    processors_log: Any

    @property
    def is_negative(self) -> bool:
        """Whether the term is negative."""
        return bool(self.coefficient.could_extract_minus_sign())


@dataclass(frozen=True, slots=True)
class TermNeed:
    """The work that keeps the efficiency constant if one term is the only overhead.

    Parameters
    ----------
    term : the term
    work : the work W t_c that pays for it, an expression of N and K = E / (1 - E) [s]; exact where
        the term allows it, else the leading part for large N; None where no work pays
    exact : whether `work` is exact
    order : how it grows with N, without constant factors; an exponential keeps those in its
        exponent
    never : why no work pays for it, from some N on; empty where it can be paid
    """

    term: Term
    work: Any
    exact: bool
    order: Any
    never: str = ""

    def rank(self, values: Mapping[Any, float], processors: Any) -> tuple[float, ...]:
        """Return the sort key of a need by its growth: needs that no work meets first, then
        exponentials, powers of N, of log N, and of log log N.
        """
        if self.never:
            return (math.inf,)
        order = sympy.log(self.order.subs(values))
        log_processors = sympy.Symbol("x", positive=True)
        # With N = exp(x) a power is linear in x and a logarithm is log x.
        exponent_terms = sympy.expand(
            sympy.expand_log(order.subs(processors, sympy.exp(log_processors)), force=True)
        )
        exponential_terms = [
            term for term in sympy.Add.make_args(exponent_terms) if term.has(sympy.exp)
        ]
        power = float(exponent_terms.coeff(log_processors)) if not exponential_terms else math.inf
        largest_exponent = max(
            (
                float(sympy.log(term.subs(log_processors, 30.0)).evalf())
                for term in exponential_terms
            ),
            default=0.0,
        )
        log_power = exponent_terms.coeff(sympy.log(log_processors))
        power_of_loglog = exponent_terms.coeff(sympy.log(sympy.log(log_processors)))
        return largest_exponent, power, float(log_power), float(power_of_loglog)


def term_of(expression: Any, size: Any, processors: Any) -> Term:
    """Return a product of powers and logarithms of n and N as a term.

    Raises
    ------
    ModelError : it is something else
    """
    powers: dict[Any, Any] = dict.fromkeys(
        (size, sympy.log(size), processors, sympy.log(processors)), sympy.Integer(0)
    )
    remaining_factor = sympy.Integer(1)
    for base, exponent in sympy.powsimp(expression).as_powers_dict().items():
        if base in powers and not exponent.has(size, processors):
            powers[base] += exponent
        else:
            remaining_factor *= base**exponent
    if remaining_factor.has(size, processors):
        raise ModelError(
            f"{expression} is no product of powers and logarithms of {size} and {processors}"
        )
    return Term(expression, remaining_factor, *powers.values())


def need_of(term: Term, work: Term, ratio: Any, size: Any, processors: Any) -> TermNeed:
    """Return the work W that solves W = K T_o if the overhead T_o is one positive term.

    Parameters
    ----------
    term, work : of the overhead, and the leading term of the work
    ratio : the symbol K = E / (1 - E)
    size, processors : the symbols n and N
    """
    log_n = sympy.log(processors)
    power = work.size - term.size
    log_power = work.size_log - term.size_log
    factor_of_work = (
        ratio
        * term.coefficient
        / work.coefficient
        * processors**term.processors
        * log_n**term.processors_log
    )
    growth_of_processors = _growth_sign((term.processors, term.processors_log))
    if _growth_sign((power, log_power)) <= 0:
        return _uncompensated_need(
            term, work, size, growth_of_processors, _growth_sign((power, log_power))
        )
    if power == 0:
        log_size = factor_of_work ** (1 / log_power)  # log n
        work_needed = work.coefficient * sympy.exp(work.size * log_size) * log_size**work.size_log
        return TermNeed(
            term, sympy.powsimp(work_needed), True, _order_of_power(work, log_size, processors)
        )
    if growth_of_processors <= 0:
        return TermNeed(
            term,
            work.coefficient * factor_of_work if term.size == term.size_log == 0 else None,
            True,
            sympy.Integer(1),
        )
    if log_power == 0 or term.size == term.size_log == 0:
        exponent = work.size / power
        work_needed = work.coefficient * factor_of_work**exponent
        if term.size == term.size_log == 0 or work.size_log == 0:
            return TermNeed(
                term,
                sympy.powsimp(sympy.expand_power_base(work_needed, force=True)),
                True,
                _need_of_bare_term(term, exponent, log_n, processors),
            )
    log_of_variable = sympy.log(processors) if term.processors != 0 else sympy.log(log_n)
    power_of_variable = term.processors if term.processors != 0 else term.processors_log
    # This is log n for large N, up to constants.
    asymptotic_log_size = log_of_variable * power_of_variable / power
    work_needed = (
        work.coefficient
        * (factor_of_work / asymptotic_log_size**log_power) ** (work.size / power)
        * asymptotic_log_size**work.size_log
    )
    order = _need_of_bare_term(term, work.size / power, log_n, processors) * log_of_variable ** (
        work.size_log - log_power * work.size / power
    )
    return TermNeed(term, sympy.powsimp(work_needed), False, order)


def _uncompensated_need(
    term: Term, work: Term, size: Any, growth_of_processors: int, growth_of_size: int
) -> TermNeed:
    """Return the need of a term that no size can compensate for, because it grows with the size at
    least as fast as the work does. A term in constant proportion to the work does not depend on N.
    """
    if growth_of_size == 0 and growth_of_processors < 0:
        return TermNeed(term, None, True, sympy.Integer(1))
    if growth_of_size == 0 and growth_of_processors == 0:
        reason = (
            f"{term.expression} grows with {size} as fast as the work, and so bounds the efficiency"
            " whatever the size"
        )
        return TermNeed(term, None, True, sympy.Integer(1), reason)
    speed = "as fast as" if growth_of_size == 0 else "faster than"
    return TermNeed(
        term,
        None,
        True,
        sympy.Integer(1),
        f"{term.expression} grows with {size} {speed} the work, so a larger size cannot pay for it",
    )


def _need_of_bare_term(term: Term, exponent: Any, log_n: Any, processors: Any) -> Any:
    """Return the work that is needed for a term that does not depend on the size."""
    return processors ** (term.processors * exponent) * log_n ** (term.processors_log * exponent)


def _order_of_power(work: Term, log_reached: Any, processors: Any) -> Any:
    """Return the growth of the work at x = log n: exp(e x) x^d with the exponents e and d of the
    work, which is a power of N if x is a multiple of log N.
    """
    log_n = sympy.log(processors)
    slope = sympy.simplify(log_reached / log_n)
    growing_factor = log_reached.as_independent(processors, as_Add=False)[1]
    exponential_factor = (
        sympy.exp(work.size * log_reached)
        if slope.has(processors)
        else processors ** (work.size * slope)
    )
    return exponential_factor * growing_factor**work.size_log


def _growth_sign(powers: tuple[Any, Any]) -> int:
    """Return 1 for growth, -1 for decay and 0 for neither, from the powers of a variable and of its
    logarithm.
    """
    largest_power = next((power for power in powers if power != 0), 0)
    return bool(largest_power > 0) - bool(largest_power < 0)


_TOLERANCE_OF_SIMULATION = 1e-3
"""Tolerance of the logarithm of a factor if each point takes a simulation."""

_TOLERANCE_OF_ARRAYS = 1e-12
"""Tolerance of the logarithm of a factor if points are computed as arrays, and so are cheap."""

LARGEST_ROOT_DISTANCE = 64.0
"""Largest distance from 0 at which a root is searched."""

Function = Callable[..., Array]


def nearest_root(
    function: Function,
    *points: Array,
    tolerance: float = _TOLERANCE_OF_ARRAYS,
    furthest: float = LARGEST_ROOT_DISTANCE,
) -> Array:
    """Return the root of a function that is nearest to 0, to within a factor of two in distance,
    for each of some points.

    From x = 0 the search doubles its step, first upwards, then downwards, and solves by
    Chandrupatla's method (SciPy) once the root is between two places. Where the function is not a
    number, the search bisects towards the last place where it is one, because a time may grow
    without limit up to there; it ends there on that side. If points are cheap, by the tolerance,
    and no sign has changed, every multiple of 1/2 is tried, and the minimum between them.

    Parameters
    ----------
    function : of x and of the points, all arrays of one length
    points : what else it depends on, aligned
    tolerance : of x
    furthest : largest distance from 0 [1]

    Returns
    -------
    x at each point; not a number where the sign does not change

    >>> nearest_root(lambda x, goal: x**2 - goal, np.array([4.0, 9.0])).round(9)
    array([2., 3.])
    """
    point_count = len(points[0])
    margins = np.asarray(function(np.zeros(point_count), *points), dtype=float)
    low = np.full(point_count, np.nan)
    high = np.full(point_count, np.nan)
    low[margins == 0.0] = high[margins == 0.0] = 0.0
    for direction in (1.0, -1.0):
        _store_brackets(function, points, margins, low, high, direction, furthest, tolerance)
    if tolerance <= _TOLERANCE_OF_ARRAYS:
        _bracket_between(function, points, margins, low, high, furthest)
    return _refined_root(function, points, low, high, tolerance)


def largest_root(function: Function, *points: Array, candidates: Array) -> Array:
    """Return the largest root at which a function falls through 0, between neighbouring candidates,
    for each of some points.

    Parameters
    ----------
    function, points : as for `nearest_root`
    candidates : values of x in rising order; a root between two neighbours is refined

    Returns
    -------
    x at each point; NaN where it falls through 0 between no two candidates

    >>> largest_root(
    ...     lambda x, top: (x - 1) * (top - x), np.array([4.5]), candidates=np.arange(10.0)
    ... ).round(9)
    array([4.5])
    """
    point_count = len(points[0])
    low = np.full(point_count, np.nan)
    high = np.full(point_count, np.nan)
    value_before = np.asarray(function(np.full(point_count, candidates[0]), *points), dtype=float)
    for lower_place, upper_place in pairwise(candidates):
        value_after = np.asarray(function(np.full(point_count, upper_place), *points), dtype=float)
        falls = (value_before > 0) & (value_after <= 0)
        low[falls], high[falls] = lower_place, upper_place
        value_before = value_after
    return _refined_root(function, points, low, high, _TOLERANCE_OF_ARRAYS)


def _refined_root(
    function: Function, points: tuple[Array, ...], low: Array, high: Array, tolerance: float
) -> Array:
    """Return the roots between the ends of brackets, to a tolerance; NaN for points without a
    bracket.
    """
    from scipy.optimize.elementwise import find_root

    roots = np.where(low == high, low, np.nan)
    open_points = np.flatnonzero(np.isfinite(low) & (low != high))
    if len(open_points):
        solution = find_root(
            function,
            (low[open_points], high[open_points]),
            args=tuple(point[open_points] for point in points),
            tolerances={"xatol": tolerance, "xrtol": tolerance, "fatol": 0.0, "frtol": 0.0},
        )
        roots[open_points] = np.where(solution.success, solution.x, np.nan)
    return roots


def _store_brackets(
    function: Function,
    points: tuple[Array, ...],
    margins: Array,
    low: Array,
    high: Array,
    direction: float,
    furthest: float,
    tolerance: float,
) -> None:
    """Store, for each point without a bracket, two values of x between which the function changes
    its sign.
    """
    inner_edge = np.zeros(len(margins))
    step = 0.5
    is_searching = np.isnan(low) & np.isfinite(margins)
    while step <= furthest and is_searching.any():
        rows = np.flatnonzero(is_searching)
        values_at_step = np.asarray(
            function(np.full(len(rows), direction * step), *(point[rows] for point in points)),
            dtype=float,
        )
        crossed_rows = rows[
            np.isfinite(values_at_step) & (np.sign(values_at_step) != np.sign(margins[rows]))
        ]
        low[crossed_rows] = np.minimum(inner_edge[crossed_rows], direction * step)
        high[crossed_rows] = np.maximum(inner_edge[crossed_rows], direction * step)
        is_searching[crossed_rows] = False
        for row in rows[~np.isfinite(values_at_step)]:
            is_searching[row] = False
            point = tuple(coordinates[row : row + 1] for coordinates in points)
            inner_end = inner_edge[row]
            outer_end = direction * step
            while abs(outer_end - inner_end) > tolerance:
                middle = (inner_end + outer_end) / 2
                (margin,) = np.asarray(function(np.array([middle]), *point), dtype=float)
                if np.isfinite(margin) and np.sign(margin) != np.sign(margins[row]):
                    low[row], high[row] = sorted((inner_end, middle))
                    break
                inner_end, outer_end = (
                    (middle, outer_end) if np.isfinite(margin) else (inner_end, middle)
                )
        inner_edge[rows] = direction * step
        step *= 2.0


def _bracket_between(
    function: Function,
    points: tuple[Array, ...],
    margins: Array,
    low: Array,
    high: Array,
    furthest: float,
) -> None:
    """Store a bracket for each point without one whose function changes its sign twice between two
    places of `_store_brackets`, such as an efficiency that rises with the size and then falls.
    """
    from scipy.optimize.elementwise import find_minimum

    candidates = np.arange(-furthest, furthest + 0.25, 0.5)
    rows = np.flatnonzero(np.isnan(low) & np.isfinite(margins))
    if not len(rows):
        return
    points_of_rows = (np.sign(margins[rows]), *(coordinates[rows] for coordinates in points))

    def signed(x: Array, sign: Array, *point: Array) -> Array:
        """Return the value of the function, with its sign changed if it is negative at 0, so that
        it falls to a root.
        """
        return np.asarray(sign * function(x, *point), dtype=float)

    signed_values = signed(
        np.tile(candidates, len(rows)),
        *(np.repeat(coordinates, len(candidates)) for coordinates in points_of_rows),
    ).reshape(len(rows), len(candidates))
    signed_values[~np.isfinite(signed_values)] = np.inf
    nearest = signed_values.argmin(axis=1)
    distances = np.where(signed_values <= 0, abs(candidates), np.inf)
    is_crossed = np.isfinite(distances).any(axis=1)
    nearest = np.where(is_crossed, distances.argmin(axis=1), nearest)
    roots = np.where(is_crossed, candidates[nearest], np.nan)
    has_neighbours = (nearest > 0) & (nearest < len(candidates) - 1)
    places = np.clip(nearest[:, None] + [-1, 0, 1], 0, len(candidates) - 1)
    is_finite = np.isfinite(np.take_along_axis(signed_values, places, axis=1)).all(axis=1)
    dip_rows = np.flatnonzero(~is_crossed & has_neighbours & is_finite)
    if len(dip_rows):
        minimum = find_minimum(
            signed,
            tuple(candidates[places[dip_rows]].T),
            args=tuple(coordinates[dip_rows] for coordinates in points_of_rows),
        )
        roots[dip_rows] = np.where(minimum.f_x <= 0, minimum.x, np.nan)
    inner_places = candidates[nearest - np.sign(candidates[nearest]).astype(int)]
    low[rows] = np.minimum(roots, inner_places)
    high[rows] = np.maximum(roots, inner_places)


MOST_PROCESSORS = 2.0**40
"""The largest number of processors for which the term that needs the most work is sought."""

_PROCESSORS_TRIED = 1e24
"""Processors on which sizes are tried if a term grows faster with the size than the work, and so
bounds the size from above, but does not grow with the processors.
"""

RATIO_NAME = "efficiency_ratio"
"""Name of the symbol K = E / (1 - E)."""

_LOG_SIZES = (0.0, 700.0, 0.5)  # larger sizes have no double


@dataclass(frozen=True, slots=True)
class DominantTerm:
    """The term of the overhead that requires the most work from a given number of processors on."""

    term: Any
    since: float


@dataclass(frozen=True)
class Isoefficiency:
    """The growth of the work with the number of processors that keeps an efficiency constant.

    Parameters
    ----------
    run : time and work in symbols
    efficiency : E, held constant [1]
    needs : what each positive term of the overhead asks for, in the order of the sum
    gains : the terms that take away from the overhead
    limit : why the efficiency is out of reach whatever the size; empty where it is reached
    """

    run: Run
    efficiency: float
    needs: tuple[TermNeed, ...]
    gains: tuple[Term, ...]
    limit: str = ""

    @property
    def ratio(self) -> float:
        """The ratio K = E / (1 - E) [1]."""
        return self.efficiency / (1.0 - self.efficiency)

    @property
    def ratio_symbol(self) -> Any:
        """The SymPy symbol for K."""
        return sympy.Symbol(RATIO_NAME, positive=True)

    @property
    def order(self) -> Any:
        """The asymptotic growth of the work for large N, which is the growth of the fastest growing
        need; None if no work is enough.

        An exponent that depends on the efficiency or on times is given as a number.
        """
        if self.limit:
            return None
        if not self.needs:
            return sympy.Integer(1)
        return self.order_of(self.leading)

    def order_of(self, need: TermNeed) -> Any:
        """Return the order of growth of the work that a term needs, with the numbers in its
        exponents evaluated.
        """
        return _with_rounded_numbers(need.order.subs(self._numbers))

    @property
    def leading(self) -> TermNeed:
        """The need that grows fastest with N."""
        return max(self.needs, key=lambda need: need.rank(self._numbers, self.run.processors))

    @property
    def exact(self) -> Any:
        """The work W(N) as an expression of N, K and the parameters [s], from the total overhead;
        None if it must be solved numerically.

        There is one where the overhead is free of the size, or all its terms hold the same power of
        it, or the equation is one of the second degree in the size.
        """
        size_symbol = self.run.size
        ratio_symbol = self.ratio_symbol
        if self.limit:
            return None
        if not self.run.overhead.has(size_symbol):
            return ratio_symbol * self.run.overhead
        equation = sympy.expand(self.run.work - ratio_symbol * self.run.overhead)
        common_power = sympy.Mul(
            *(
                size_symbol
                ** min(
                    term.as_powers_dict().get(size_symbol, 0)
                    for term in sympy.Add.make_args(equation)
                ),
            )
        )
        equation = sympy.expand(sympy.simplify(equation / common_power))
        if not equation.is_polynomial(size_symbol) or sympy.degree(equation, size_symbol) > 2:
            return None
        roots = sympy.roots(sympy.Poly(equation, size_symbol), multiple=True)
        root_values = [
            complex(root.subs(self._numbers).subs(self.run.processors, 1000)) for root in roots
        ]
        # The root that is a size is real and positive, at any number of processors.
        sizes_found = [
            root
            for root, value in zip(roots, root_values, strict=True)
            if abs(value.imag) < 1e-9 * abs(value) and value.real > 0
        ]
        return (
            sympy.simplify(self.run.work.subs(size_symbol, sizes_found[0]))
            if len(sizes_found) == 1
            else None
        )

    def reached_on(self, processors: float) -> bool:
        """Return whether some size, from 1 on, gives the efficiency on a number of processors."""
        log_sizes = np.arange(*_LOG_SIZES)
        with np.errstate(all="ignore"):
            overhead = self._sum_of_terms(self._overhead, log_sizes, processors)
            work_over_overhead = (
                self._sum_of_terms(_terms_of_sum(self.run.work, self.run), log_sizes, processors)
                / overhead
            )
        return bool(np.any(work_over_overhead >= self.ratio))

    @property
    def _overhead(self) -> list[Term]:
        """The terms of the overhead: the positive and the negative ones."""
        return [*(need.term for need in self.needs), *self.gains]

    def size(self, processors: Array) -> Array:
        """Return the size at each number of processors at which the efficiency is E: the largest
        root of E(n, N) = E; NaN if there is none.
        """
        overhead_terms = self._overhead
        work_terms = _terms_of_sum(self.run.work, self.run)

        def relative_shortfall(log_size: Array, processors: Array) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(
                    self.ratio
                    * self._sum_of_terms(overhead_terms, log_size, processors)
                    / self._sum_of_terms(work_terms, log_size, processors)
                    - 1.0
                )

        return np.asarray(
            np.exp(
                largest_root(
                    relative_shortfall,
                    np.asarray(processors, dtype=float),
                    candidates=np.arange(*_LOG_SIZES),
                )
            )
        )

    def work(self, processors: Array) -> Array:
        """Return the work W t_c at each number of processors that keeps the efficiency [s]."""
        log_sizes = np.log(self.size(processors))
        return self._sum_of_terms(
            _terms_of_sum(self.run.work, self.run), log_sizes, np.asarray(processors, dtype=float)
        )

    def _sum_of_terms(
        self, terms: Sequence[Term], log_size: Array, processors: Array | float
    ) -> Array:
        """Return the sum of terms at a size, given by its logarithm."""
        log_processors = np.log(processors)
        total_sum = np.zeros(len(log_size))
        for term in terms:
            p = float(term.processors)
            q = float(term.processors_log)
            with np.errstate(all="ignore"):
                growth = np.exp(float(term.size) * log_size) * log_size ** float(term.size_log)
                total_sum = (
                    total_sum
                    + self._value(term.coefficient) * growth * processors**p * log_processors**q
                )
        return total_sum

    @cached_property
    def dominant_terms(self) -> tuple[DominantTerm, ...]:
        """The terms of the overhead that need the most work on some number of processors between 2
        and `MOST_PROCESSORS`, in rising order of the smallest such number, each with that number.
        """
        if self.limit or not self.needs:
            return ()
        processor_counts = np.geomspace(2.0, MOST_PROCESSORS, 400)
        log_works = np.stack([self._log_work(need, processor_counts) for need in self.needs])
        if np.isinf(log_works).all():
            return ()
        dominant_indices = np.argmax(log_works, axis=0)
        changes = [0, *(np.flatnonzero(np.diff(dominant_indices)) + 1)]
        return tuple(
            DominantTerm(
                self.needs[dominant_indices[index]].term.expression,
                self._overtaking_processor_count(dominant_indices, int(index), processor_counts),
            )
            for index in changes
        )

    def _overtaking_processor_count(
        self, dominant_indices: Array, index: int, processor_counts: Array
    ) -> float:
        """Return the number of processors at which one need overtakes another, by bisection."""
        if index == 0:
            return float(processor_counts[0])
        need_before = self.needs[int(dominant_indices[index - 1])]
        need_after = self.needs[int(dominant_indices[index])]
        low = float(processor_counts[index - 1])
        high = float(processor_counts[index])
        for _ in range(60):
            # Processors range over many powers of ten, so that the middle is the geometric one.
            middle = np.array([(low * high) ** 0.5])
            has_overtaken = (
                self._log_work(need_after, middle)[0] > self._log_work(need_before, middle)[0]
            )
            low, high = (low, float(middle[0])) if has_overtaken else (float(middle[0]), high)
        return high

    def _log_work(self, need: TermNeed, processors: Array) -> Array:
        """Return log W for one need, by solving a log n + b log log n = log y; at least the work of
        the smallest size.
        """
        term = need.term
        work = _leading_term_of_work(self.run)
        a = float(work.size - term.size)
        b = float(work.size_log - term.size_log)
        log_processors = np.log(processors)
        log_y = np.log(
            self.ratio * self._value(term.coefficient) / self._value(work.coefficient)
        ) + (
            float(term.processors) * log_processors
            + float(term.processors_log) * np.log(log_processors)
        )
        if _growth_sign((a, b)) <= 0:  # a larger size does not pay for it
            return np.full(len(processors), -np.inf)
        log_size = (
            log_y / a
            if b == 0
            else np.exp(log_y / b)
            if a == 0
            else _root_of_linear_plus_log(a, b, log_y)
        )
        # x = log n is at least 0, for the smallest size is 1; above 0, because its logarithm is
        # taken.
        log_size = np.maximum(log_size, 1e-9)
        return np.asarray(
            np.log(self._value(work.coefficient))
            + float(work.size) * log_size
            + float(work.size_log) * np.log(log_size)
        )

    def _value(self, expression: Any) -> float:
        # The search for a size asks for the same few coefficients at every step.
        """Return the number that an expression has for the values of the run."""
        if expression not in self._values:
            self._values[expression] = float(expression.subs(self.run.values))
        return self._values[expression]

    @cached_property
    def _values(self) -> dict[Any, float]:
        """The numbers of expressions that `_value` has computed, by expression."""
        return {}

    @property
    def _numbers(self) -> dict[Any, float]:
        """The values of the symbols of the run, and of the ratio K."""
        return {**self.run.values, self.ratio_symbol: self.ratio}


def isoefficiency(run: Run, efficiency: float) -> Isoefficiency:
    """Return the work that keeps the efficiency constant: W t_c = E / (1 - E) T_o(W, N).

    Each term of the overhead is balanced against the work by itself; the term that then grows
    fastest gives the order. Rounding and the limit on the number of processors at a size are left
    out.

    Parameters
    ----------
    run : time and work of a model, as `run_in_symbols` gives them
    efficiency : E, above 0 and below 1 [1]

    Raises
    ------
    ModelError : the efficiency is out of range, a term is no product of powers and logarithms, or a
        parameter has no value

    Notes
    -----
    Grama, Gupta and Kumar, IEEE Parallel & Distributed Technology 1(3), 1993.

    >>> import sympy
    >>> n, N = sympy.symbols("n N", positive=True)
    >>> adding = isoefficiency(Run(n / N + 2 * sympy.log(N, 2), n, n, N), 0.8)
    >>> adding.order, adding.work(np.array([4.0, 8.0])).round(6)
    (N*log(N), array([ 64., 192.]))
    """
    if not 0.0 < efficiency < 1.0:
        raise ModelError(f"an efficiency to keep lies between 0 and 1; got {efficiency:g}")
    missing_sizes = sorted(
        map(str, (run.overhead + run.work).free_symbols - {run.size, run.processors, *run.values})
    )
    if missing_sizes:
        raise ModelError(f"an isoefficiency needs a value for {', '.join(missing_sizes)}")
    size_symbol = run.size
    processor_symbol = run.processors
    ratio = sympy.Symbol(RATIO_NAME, positive=True)
    terms = _terms_of_sum(run.overhead, run)
    work = _leading_term_of_work(run)
    needs = tuple(
        need_of(term, work, ratio, size_symbol, processor_symbol)
        for term in terms
        if not term.is_negative
    )
    needs_found = Isoefficiency(
        run, efficiency, needs, tuple(term for term in terms if term.is_negative)
    )
    limit = _reason_without_size(needs_found, work)
    # Constant shares that leave room for the efficiency ask for nothing more.
    return (
        replace(needs_found, limit=limit)
        if limit
        else replace(needs_found, needs=tuple(replace(need, never="") for need in needs))
    )


def _reason_without_size(isoefficiency_found: Isoefficiency, work: Term) -> str:
    """Return the reason why no size reaches the efficiency; shares of the work that stay constant
    can exclude it together.
    """
    unpaid_needs = [need for need in isoefficiency_found.needs if need.never]
    growing_needs = [
        need
        for need in unpaid_needs
        if _growth_sign((need.term.processors, need.term.processors_log)) > 0
    ]
    if growing_needs:
        return growing_needs[0].never + _largest_efficient_processors(isoefficiency_found, work)
    shares = [
        need
        for need in unpaid_needs
        if (need.term.size, need.term.size_log) == (work.size, work.size_log)
    ]
    faster_needs = [need for need in unpaid_needs if need not in shares]
    if faster_needs and not isoefficiency_found.reached_on(_PROCESSORS_TRIED):
        return faster_needs[0].never
    share_sum = sum(
        isoefficiency_found._value(need.term.coefficient / work.coefficient) for need in shares
    )
    return (
        f"{shares[0].never}: it stays under {1 / (1 + share_sum):.4g}"
        if share_sum * isoefficiency_found.ratio >= 1
        else ""
    )


def _largest_efficient_processors(isoefficiency_found: Isoefficiency, work: Term) -> str:
    """Return in words the largest number of processors with an efficient size, if terms that grow
    with the size as fast as the work decide it together; empty if some term grows faster.
    """
    terms = [need.term for need in isoefficiency_found.needs if need.never]
    if any((term.size, term.size_log) != (work.size, work.size_log) for term in terms):
        return ""
    ratio = isoefficiency_found.ratio
    value = isoefficiency_found._value
    shares = [
        (
            ratio * value(term.coefficient / work.coefficient),
            float(term.processors),
            float(term.processors_log),
        )
        for term in terms
    ]

    def log_excess(x: Array) -> Array:
        """Return the logarithm of K times the shares of the work, at log log N = x."""
        log_shares = [np.log(share) + p * np.exp(x) + q * x for share, p, q in shares]
        return np.asarray(np.logaddexp.reduce(log_shares))

    # N - 1 in equal ratios from 1e-9 to 1e300: the efficient range may end just above one
    # processor, or at any power of ten.
    log_candidates = np.log(np.log1p(np.geomspace(1e-9, 1e300, 4000)))
    margins = log_excess(log_candidates)
    if margins[0] > 0 or not margins[-1] > 0:
        return ""
    index = int(np.argmax(margins > 0))
    root = _refined_root(
        log_excess,
        (),
        log_candidates[index - 1 : index],
        log_candidates[index : index + 1],
        _TOLERANCE_OF_ARRAYS,
    )
    return (
        f": no size reaches {isoefficiency_found.efficiency:g} on more than"
        f" {float(np.exp(np.exp(root[0]))):.4g}"
    )


def _leading_term_of_work(run: Run) -> Term:
    """Return the term of the work of a run that grows fastest with the size."""
    return max(_terms_of_sum(run.work, run), key=lambda term: (term.size, term.size_log))


def _terms_of_sum(expression: Any, run: Run) -> list[Term]:
    """Return the terms of a sum of powers and logarithms."""
    return [
        term_of(term, run.size, run.processors)
        for term in sympy.Add.make_args(sympy.expand(expression))
        if term != 0
    ]


def _root_of_linear_plus_log(a: float, b: float, y: Array) -> Array:
    """Return the larger solution x of a x + b log x = y."""
    # For b < 0 the left side is least at x = -b / a; the larger root lies beyond it.
    start_value = np.log(max(-b / a, 1e-9)) if b < 0 else 0.0
    return np.asarray(
        np.exp(
            start_value
            + nearest_root(
                lambda s, goal: a * np.exp(start_value + s) + b * (start_value + s) - goal, y
            )
        )
    )


def _with_rounded_numbers(expression: Any) -> Any:
    """Return an expression whose numbers are rounded to four digits."""
    rounded_by_number = {
        value: float(f"{float(value):.4g}") for value in expression.atoms(sympy.Float)
    }
    return expression.xreplace(
        {
            number_node: sympy.Integer(int(rounded_node))
            if rounded_node.is_integer()
            else sympy.Float(rounded_node, 4)
            for number_node, rounded_node in rounded_by_number.items()
        }
    )


FIXED_SIZE = "fixed-size"
MEMORY_BOUND = "memory-bound"
TIME_BOUND, EFFICIENCY_CONSERVED = "time-bound", "efficiency-conserved"
"""How the size depends on the number of processors: constant, or so that time, efficiency or
memory stays constant.
"""

# Doublings of the size within which a factor is searched.
_LARGEST_LOG_FACTOR = 64.0

Columns = Mapping[str, Array]
NO_FURTHER_VALUES: Columns = {}


@dataclass(frozen=True, slots=True)
class Runs:
    """A model that can be solved at any size, on the numbers of processors for which it was
    compiled.

    Parameters
    ----------
    forms : (form, numbers of processors it stands for); a form that can vary N stands for all
    processors : the parameter that stands for N
    size : base value and power of each size parameter: it is base x factor^power
    against : what the work is, see `run_in_symbols`
    """

    forms: Sequence[tuple[CompiledModel, Array]]
    processors: str
    size: Mapping[str, tuple[float, float]]
    against: str

    @property
    def varies_processors(self) -> bool:
        """Whether the number of processors can vary without building the model again."""
        return self.processors in self.forms[0][0].parameters

    @property
    def exact(self) -> bool:
        """Whether points are computed as arrays, so that factors on sizes are exact up to
        rounding.
        """
        return self.forms[0][0].block_size > 1

    def without_check(self) -> Runs:
        """Return the same runs without the check of their answers by a short simulation."""
        return replace(
            self, forms=[(form.without_check(), numbers) for form, numbers in self.forms]
        )

    @property
    def tolerance(self) -> float:
        """The tolerance to which the logarithm of a factor on sizes is solved."""
        return _TOLERANCE_OF_ARRAYS if self.exact else _TOLERANCE_OF_SIMULATION

    def sizes(self, factor: Array, others: Columns = NO_FURTHER_VALUES) -> dict[str, Array]:
        """Return the value of each size parameter at a factor, in base units; a size parameter
        among `others` grows from its value there.
        """
        return {
            path: others.get(path, base) * factor**power
            for path, (base, power) in self.size.items()
        }

    def columns(
        self, factor: Array, processor_counts: Array, others: Columns = NO_FURTHER_VALUES
    ) -> dict[str, Array]:
        """Return the answers at aligned factors, numbers of processors and values of other
        parameters, by column; time and efficiency are always included.

        Columns are those of the form. Against one processor, the efficiency is T(1) / (N T(N)) at
        the same size.
        """
        return self._answers_at(factor, processor_counts, others)[0]

    def solved(
        self, factor: Array, processor_counts: Array, others: Columns = NO_FURTHER_VALUES
    ) -> PointTable:
        """Return the answers as `columns` does, in a table that has the method of each point."""
        columns, points_and_answers = self._answers_at(factor, processor_counts, others)
        rows_and_provenances = (
            (rows, points.provenance(len(rows))) for rows, points in points_and_answers
        )
        return PointTable(columns, Provenance.join(len(processor_counts), rows_and_provenances))

    def _answers_at(
        self, factor: Array, processor_counts: Array, others: Columns = NO_FURTHER_VALUES
    ) -> tuple[dict[str, Array], list[tuple[NDArray[np.intp], Answers]]]:
        """Return the columns of the answers, and the answers of each group of points with the same
        model.
        """
        columns_found, points_and_answers = self._solve_points(factor, processor_counts, others)
        quantity_name = self.forms[0][0].quantity
        names_of_ends = (
            [("", ""), ("low", "high"), ("high", "low")]
            if f"low[{quantity_name}]" in columns_found
            else [("", "")]
        )
        one_processor = (
            self._solve_points(factor, np.ones(len(processor_counts)), others)[0]
            if self.against == ONE_PROCESSOR
            else {}
        )
        for end, other_end in names_of_ends:
            columns_found[_end_column(end, "time")] = columns_found[_end_column(end, quantity_name)]
            if self.against == ONE_PROCESSOR:
                # Divided by the other end: the widest that the interval of the ratio can be.
                with np.errstate(all="ignore"):
                    column_alone = one_processor.get(
                        _end_column(end, quantity_name), one_processor[quantity_name]
                    )
                    columns_found[_end_column(end, "efficiency")] = column_alone / (
                        processor_counts * columns_found[_end_column(other_end, quantity_name)]
                    )
        columns_found.setdefault("efficiency", np.full(len(processor_counts), np.nan))
        return columns_found, points_and_answers

    def _solve_points(
        self, factor: Array, processor_counts: Array, others: Columns
    ) -> tuple[dict[str, Array], list[tuple[NDArray[np.intp], Answers]]]:
        """Return the columns of the compiled models, and the answers of each group of points with
        the same model.
        """
        points_and_answers: list[tuple[NDArray[np.intp], Answers]] = []
        for form, numbers_of_form in self.forms:
            rows = (
                np.arange(len(processor_counts))
                if self.varies_processors
                else np.flatnonzero(np.isin(processor_counts, numbers_of_form))
            )
            others_of_rows = {path: array[rows] for path, array in others.items()}
            sizes = self.sizes(factor[rows], others_of_rows)
            values_by_path = {
                path: array
                for path, array in {**others_of_rows, **sizes}.items()
                if path in form.parameters
            }
            if self.varies_processors:
                values_by_path[self.processors] = processor_counts[rows]
            for block_rows in form.blocks(values_by_path, len(rows)):
                values_of_rows = {path: array[block_rows] for path, array in values_by_path.items()}
                points_and_answers.append((rows[block_rows], form.points(values_of_rows)))
        blocks = [(rows, points.columns()) for rows, points in points_and_answers]
        columns_found = {
            name: np.full(len(processor_counts), np.nan)
            for _, columns in blocks
            for name in columns
        }
        for rows, columns in blocks:
            for name, column in columns.items():
                columns_found[name][rows] = column
        return columns_found, points_and_answers


def _end_column(end: str, name: str) -> str:
    """Return the name of the column that holds an end of the interval of a value."""
    return f"{end}[{name}]" if end else name


def size_factors(
    runs: Runs,
    way: str,
    processor_counts: Array,
    goal: float | Array = 0.0,
    memory: Callable[[Array, Array, Columns], Array] | None = None,
    others: Columns = NO_FURTHER_VALUES,
) -> Array:
    """Return the factor on the size at each number of processors that keeps a goal.

    Parameters
    ----------
    runs : the model
    way : how the size goes with N
    processor_counts : numbers of processors
    goal : what is kept: the time [s], the efficiency [1], or the memory of a processor [B]
    memory : memory of a processor, of the factor, N and the values of other parameters [B]
    others : values of other parameters, aligned with the numbers of processors

    Returns
    -------
    the factor nearest to 1; not a number where none between 2^-64 and 2^64 keeps what is to be kept
    """
    if way == FIXED_SIZE:
        return np.ones(len(processor_counts))

    def relative_difference(
        log_factors: Array, processors: Array, goals: Array, *values: Array
    ) -> Array:
        others_at_points = dict(zip(others, values, strict=True))
        with np.errstate(all="ignore"):
            if way == MEMORY_BOUND:
                assert memory is not None
                return memory(2.0**log_factors, processors, others_at_points) / goals - 1.0
            columns = runs.columns(2.0**log_factors, processors, others_at_points)
            return columns["time" if way == TIME_BOUND else "efficiency"] / goals - 1.0

    tolerance = _TOLERANCE_OF_ARRAYS if way == MEMORY_BOUND else runs.tolerance
    points = (processor_counts, np.broadcast_to(goal, processor_counts.shape), *others.values())
    return np.asarray(
        2.0
        ** nearest_root(
            relative_difference, *points, tolerance=tolerance, furthest=_LARGEST_LOG_FACTOR
        )
    )


def scalability(time: Array, efficiency: Array) -> Array:
    """Return the latency metric L(N) / L(N') for each pair of runs with N' > N, as an upper
    triangle; all other elements are NaN.

    Parameters
    ----------
    time, efficiency : of each run, by rising number of processors

    Notes
    -----
    With L = T (1 - E) it is (4) of Scale-Graph, IEEE TSE 1997, where E is kept, and (12) where T
    is. A run without latency, such as one on one processor, has nothing to compare.

    >>> scalability(np.array([100.0, 100.0]), np.array([0.5, 0.39])).round(2)
    array([[ nan, 0.82],
           [ nan,  nan]])
    """
    latency = AVERAGE_LATENCY.equation(time, efficiency)
    ratios_of_pairs = np.full((len(time), len(time)), np.nan)
    with np.errstate(all="ignore"):
        positive_latency = np.where(latency > 0, latency, np.nan)
        rows, columns = np.triu_indices(len(time), 1)
        ratios_of_pairs[rows, columns] = LATENCY_SCALABILITY.equation(
            positive_latency[rows], positive_latency[columns]
        )
    return ratios_of_pairs
