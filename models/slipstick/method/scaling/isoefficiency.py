"""Isoefficiency: the work that N processors need to stay as efficient as fewer were.

Where a value reaches another, at many points at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from slipstick.errors import ModelError
from slipstick.expression.kernels import Array
from slipstick.method.scaling.overhead import Need, Run, Term, need_of, term_of

FURTHEST = 64.0
"""How far from 0 a root is looked for, either way."""

Function = Callable[..., Array]


def reached(function: Function, *points: Array, tolerance: float = 1e-12, furthest: float = FURTHEST) -> Array:
    """Find the x nearest to 0, to within a doubling, at which a function changes its sign.

    From x = 0 the search doubles its step, first upwards, then downwards, and once it has the root between two places hands
    it to Chandrupatla's method (SciPy). A place where the function is not a number is the end of the search on that side.

    Parameters
    ----------
    function : of x and of the points, all arrays of one length
    points : what else it depends on, aligned
    tolerance : to which x is found
    furthest : how far to look

    Returns
    -------
    x at each point; not a number where the sign does not change

    >>> reached(lambda x, goal: x**2 - goal, np.array([4.0, 9.0])).round(9)
    array([2., 3.])
    """
    count = len(points[0])
    here = np.asarray(function(np.zeros(count), *points), dtype=float)
    low, high = np.full(count, np.nan), np.full(count, np.nan)
    low[here == 0.0] = high[here == 0.0] = 0.0
    for side in (1.0, -1.0):
        _bracket(function, points, here, low, high, side, furthest)
    return _refined(function, points, low, high, tolerance)


def last_reached(function: Function, *points: Array, places: Array, tolerance: float = 1e-12) -> Array:
    """Find the largest x at which a function falls through 0, seen at the given places.

    Parameters
    ----------
    function, points, tolerance : as for `reached`
    places : where to look, in rising order

    Returns
    -------
    x at each point; not a number where it falls through 0 between no two places

    >>> last_reached(lambda x, top: (x - 1) * (top - x), np.array([4.5]), places=np.arange(10.0)).round(9)
    array([4.5])
    """
    count = len(points[0])
    low, high = np.full(count, np.nan), np.full(count, np.nan)
    before = np.asarray(function(np.full(count, places[0]), *points), dtype=float)
    for left, right in pairwise(places):
        after = np.asarray(function(np.full(count, right), *points), dtype=float)
        falls = (before > 0) & (after <= 0)
        low[falls], high[falls] = left, right
        before = after
    return _refined(function, points, low, high, tolerance)


def _refined(function: Function, points: tuple[Array, ...], low: Array, high: Array, tolerance: float) -> Array:
    from scipy.optimize.elementwise import find_root

    found = np.where(low == high, low, np.nan)
    open_ = np.flatnonzero(np.isfinite(low) & (low != high))
    if len(open_):
        result = find_root(
            function,
            (low[open_], high[open_]),
            args=tuple(each[open_] for each in points),
            tolerances={"xatol": tolerance, "xrtol": tolerance, "fatol": 0.0, "frtol": 0.0},
        )
        found[open_] = np.where(result.success, result.x, np.nan)
    return found


def _bracket(
    function: Function, points: tuple[Array, ...], here: Array, low: Array, high: Array, side: float, furthest: float
) -> None:
    """Write down, for each point that has none yet, two places between which the sign changes."""
    edge, step = np.zeros(len(here)), 0.5
    searching = np.isnan(low) & np.isfinite(here)
    while step <= furthest and searching.any():
        rows = np.flatnonzero(searching)
        value = np.asarray(function(np.full(len(rows), side * step), *(each[rows] for each in points)), dtype=float)
        crossed = rows[np.isfinite(value) & (np.sign(value) != np.sign(here[rows]))]
        low[crossed] = np.minimum(edge[crossed], side * step)
        high[crossed] = np.maximum(edge[crossed], side * step)
        searching[crossed] = False
        searching[rows[~np.isfinite(value)]] = False
        edge[rows] = side * step
        step *= 2.0


MOST_PROCESSORS = 2.0**40
"""Up to so many processors it is looked which term asks for the most work."""

RATIO = "efficiency_ratio"
"""Name of the symbol K = E / (1 - E)."""

_LOG_SIZES = np.arange(0.0, 700.0, 0.5)  # larger sizes have no double


@dataclass(frozen=True, slots=True)
class DominantTerm:
    """A term of the overhead that asks for the most work, from some number of processors on."""

    term: Any
    since: float


@dataclass(frozen=True)
class Isoefficiency:
    """How work must grow with the number of processors at one efficiency.

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
    needs: tuple[Need, ...]
    gains: tuple[Term, ...]
    limit: str = ""

    @property
    def ratio(self) -> float:
        """K = E / (1 - E) [1]."""
        return self.efficiency / (1.0 - self.efficiency)

    @property
    def ratio_symbol(self) -> Any:
        """The symbol that stands for K."""
        import sympy

        return sympy.Symbol(RATIO, positive=True)

    @property
    def order(self) -> Any:
        """How the work grows for large N: as the fastest growing need; None where no work is enough.

        An exponent that depends on the efficiency or on times is given as a number.
        """
        import sympy

        if self.limit:
            return None
        if not self.needs:
            return sympy.Integer(1)
        return self.order_of(self.leading)

    def order_of(self, need: Need) -> Any:
        """Give how a need grows, the numbers in its exponents written out."""
        return _rounded(need.order.subs(self._numbers))

    @property
    def leading(self) -> Need:
        """The need that grows fastest."""
        return max(self.needs, key=lambda need: need.rank(self._numbers, self.run.processors))

    @property
    def exact(self) -> Any:
        """W(N) from the whole overhead, an expression of N, K and the parameters [s]; None where only numbers can tell.

        There is one where the overhead is free of the size, or all its terms hold the same power of it, or the equation
        is one of the second degree in the size.
        """
        import sympy

        n, k = self.run.size, self.ratio_symbol
        if self.limit:
            return None
        if not self.run.overhead.has(n):
            return k * self.run.overhead
        equation = sympy.expand(self.run.work - k * self.run.overhead)
        common = sympy.Mul(*(n ** min(each.as_powers_dict().get(n, 0) for each in sympy.Add.make_args(equation)),))
        equation = sympy.expand(sympy.simplify(equation / common))
        if not equation.is_polynomial(n) or sympy.degree(equation, n) > 2:
            return None
        roots = sympy.roots(sympy.Poly(equation, n), multiple=True)
        found = [each for each in roots if self._is_ours(each)]
        return sympy.simplify(self.run.work.subs(n, found[0])) if len(found) == 1 else None

    def size(self, processors: Array) -> Array:
        """Solve E(n, N) = E for the size at each number of processors: the largest root; not a number where there is none."""
        overhead, work = [*(need.term for need in self.needs), *self.gains], _terms(self.run.work, self.run)

        def missing(x: Array, each: Array) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(self.ratio * self._sum(overhead, x, each) / self._sum(work, x, each) - 1.0)

        return np.asarray(np.exp(last_reached(missing, np.asarray(processors, dtype=float), places=_LOG_SIZES)))

    def work(self, processors: Array) -> Array:
        """Give the work W t_c at each number of processors that keeps the efficiency [s]."""
        sizes = np.log(self.size(processors))
        return self._sum(_terms(self.run.work, self.run), sizes, np.asarray(processors, dtype=float))

    def _sum(self, terms: Sequence[Term], x: Array, processors: Array) -> Array:
        """Add terms up at log n = x."""
        logs, found = np.log(processors), np.zeros(len(x))
        for each in terms:
            p, q = float(each.processors), float(each.processors_log)
            with np.errstate(all="ignore"):
                growth = np.exp(float(each.size) * x) * x ** float(each.size_log)
                found = found + self._value(each.coefficient) * growth * processors**p * logs**q
        return found

    @cached_property
    def dominant_terms(self) -> tuple[DominantTerm, ...]:
        """Say which term asks for the most work from which number of processors on, from 2 to `MOST_PROCESSORS`."""
        if self.limit or not self.needs:
            return ()
        places = np.geomspace(2.0, MOST_PROCESSORS, 400)
        table = np.stack([self._log_work(need, places) for need in self.needs])
        first = np.argmax(table, axis=0)
        changes = [0, *(np.flatnonzero(np.diff(first)) + 1)]
        return tuple(
            DominantTerm(self.needs[first[at]].term.expression, self._since(first, int(at), places)) for at in changes
        )

    def _since(self, first: Array, at: int, places: Array) -> float:
        """Narrow down where one need overtakes another."""
        if at == 0:
            return float(places[0])
        old, new = self.needs[int(first[at - 1])], self.needs[int(first[at])]
        low, high = float(places[at - 1]), float(places[at])
        for _ in range(60):
            middle = np.array([(low * high) ** 0.5])
            ahead = self._log_work(new, middle)[0] > self._log_work(old, middle)[0]
            low, high = (low, float(middle[0])) if ahead else (float(middle[0]), high)
        return high

    def _log_work(self, need: Need, processors: Array) -> Array:
        """Solve A log n + B log log n = log y for one need, and give log W; at least the work of the smallest size."""
        term, work = need.term, _leading(self.run)
        a, b = float(work.size - term.size), float(work.size_log - term.size_log)
        logs = np.log(processors)
        y = np.log(self.ratio * self._value(term.coefficient) / self._value(work.coefficient)) + (
            float(term.processors) * logs + float(term.processors_log) * np.log(logs)
        )
        if a == b == 0:
            return np.full(len(processors), -np.inf)
        x = y / a if b == 0 else np.exp(y / b) if a == 0 else _log_size(a, b, y)
        x = np.maximum(x, 1e-9)
        return np.asarray(
            np.log(self._value(work.coefficient)) + float(work.size) * x + float(work.size_log) * np.log(x)
        )

    def _value(self, expression: Any) -> float:
        return float(expression.subs(self.run.values))

    @property
    def _numbers(self) -> dict[Any, float]:
        return {**self.run.values, self.ratio_symbol: self.ratio}

    def _is_ours(self, root: Any) -> bool:
        """Tell the root that is a size from the others, by its value at some number of processors."""
        value = complex(root.subs(self._numbers).subs(self.run.processors, 1000))
        return abs(value.imag) < 1e-9 * abs(value) and value.real > 0


def isoefficiency(run: Run, efficiency: float) -> Isoefficiency:
    """Say how the work must grow for an efficiency to stay: W t_c = E / (1 - E) T_o(W, N).

    Each term of the overhead is balanced against the work by itself; the one that then grows fastest gives the order.
    Rounding is left out, and so is that no more processors can be used than the size allows.

    Parameters
    ----------
    run : time and work of a model, as `run_of` gives them
    efficiency : E, above 0 and below 1 [1]

    Raises
    ------
    ModelError : the efficiency is out of range, a term is no product of powers and logarithms, or a parameter has no value

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
    import sympy

    missing = sorted(map(str, (run.overhead + run.work).free_symbols - {run.size, run.processors, *run.values}))
    if missing:
        raise ModelError(f"an isoefficiency needs a value for {', '.join(missing)}")
    n, count, ratio = run.size, run.processors, sympy.Symbol(RATIO, positive=True)
    terms = _terms(run.overhead, run)
    work = _leading(run)
    needs = tuple(need_of(each, work, ratio, n, count) for each in terms if not each.negative)
    found = Isoefficiency(run, efficiency, needs, tuple(each for each in terms if each.negative))
    limit = _limit(found, work)
    # Constant shares that leave room for the efficiency ask for nothing more.
    return (
        replace(found, limit=limit) if limit else replace(found, needs=tuple(replace(each, never="") for each in needs))
    )


def _limit(found: Isoefficiency, work: Term) -> str:
    """Say why no size reaches the efficiency; constant shares of the work are out of reach only together."""
    growing = [
        need for need in found.needs if need.never and (need.term.processors, need.term.processors_log) != (0, 0)
    ]
    if growing:
        return growing[0].never + _last(found, growing[0].term, work)
    shares = [
        need
        for need in found.needs
        if need.never and (need.term.size, need.term.size_log) == (work.size, work.size_log)
    ]
    faster = [need for need in found.needs if need.never and need not in shares]
    if faster:
        return faster[0].never
    total = sum(found._value(need.term.coefficient / work.coefficient) for need in shares)
    return f"{shares[0].never}: it stays under {1 / (1 + total):.4g}" if total * found.ratio >= 1 else ""


def _last(found: Isoefficiency, term: Term, work: Term) -> str:
    """Say up to how many processors a share of the work that grows with them still leaves the efficiency."""
    if (term.size, term.size_log) != (work.size, work.size_log):
        return ""
    share, p, q = found._value(found.ratio * term.coefficient / work.coefficient), term.processors, term.processors_log
    most = reached(lambda s, c: c + float(p) * np.exp(s) + float(q) * s, np.log(np.array([share])))
    return f": no size reaches {found.efficiency:g} on more than {float(np.exp(np.exp(most[0]))):.4g}"


def _leading(run: Run) -> Term:
    """Give the term of the work that grows fastest with the size."""
    return max(_terms(run.work, run), key=lambda term: (term.size, term.size_log))


def _terms(whole: Any, run: Run) -> list[Term]:
    """Read a sum term by term."""
    import sympy

    return [term_of(each, run.size, run.processors) for each in sympy.Add.make_args(sympy.expand(whole)) if each != 0]


def _log_size(a: float, b: float, y: Array) -> Array:
    """Solve a x + b log x = y for the larger x."""
    start = np.log(max(-b / a, 1e-9)) if b < 0 else 0.0
    return np.asarray(np.exp(start + reached(lambda s, goal: a * np.exp(start + s) + b * (start + s) - goal, y)))


def _rounded(expression: Any) -> Any:
    """Write the numbers of an order with four digits."""
    import sympy

    short = {each: float(f"{float(each):.4g}") for each in expression.atoms(sympy.Float)}
    return expression.xreplace(
        {old: sympy.Integer(int(new)) if new.is_integer() else sympy.Float(new, 4) for old, new in short.items()}
    )
