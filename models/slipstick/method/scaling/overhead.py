"""Total overhead in closed form: what all processors spend beyond the work of one.

Overheads term by term: how much work each asks for by itself, and how that grows with N.

A term is c n^a log(n)^b N^p log(N)^q. Work grows as c_w n^e log(n)^d. With K = E / (1 - E), a term is paid for when
W = K T_o, that is when n^A log(n)^B = y(N) with A = e - a, B = d - b and y = K c / c_w N^p log(N)^q.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import Booked, Expr, Operation, only_booked, parameters, walk
from slipstick.expression.symbolic import to_sympy
from slipstick.law import Law
from slipstick.method.closed_form.form import ClosedForm
from slipstick.method.names import Labels
from slipstick.model.system import ClosedPopulation, Model, PhasedPopulation

USEFUL, ONE = "useful", "one-processor"
AGAINST = (USEFUL, ONE)
"""What counts as the work: the useful part of the account, or the time that one processor takes."""

_ROUNDED = ("ceil", "floor", "ceil_log")


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
        import sympy

        whole = self.processors * self.time - self.work
        return sympy.expand(sympy.expand_log(sympy.expand(whole), force=True))


def run_of(
    model: Model | Law,
    size: str | Mapping[str, float],
    processors: str = "population.processors",
    *,
    against: str = USEFUL,
    values: Mapping[str, float] | None = None,
) -> Run:
    """Take time and work of a model as SymPy expressions of a size and the number of processors.

    Parameters
    ----------
    model : an activity of one population or a program of phases, by its closed form; or a law that gives a time
    size : the size parameter, or several in stated proportion: each grows as the common factor to its power [1]
    processors : the parameter that stands for N
    against : what the work is: ``useful``, the useful part of the account of all processors, or ``one-processor``, the
        time of the same model with N = 1
    values : numbers of a law's symbols, and of a model's parameters where they differ from its own, in base units

    Raises
    ------
    ModelError : a parameter is not there, the model has no account, its useful work depends on the number of
        processors, or the closed form holds a maximum, which no sum of terms can show

    >>> from slipstick.expression.dimension import TIME
    >>> from slipstick.expression.nodes import Parameter
    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> n, t, N = Parameter("n", value=64.0), Parameter("t", TIME, 1.0), Parameter("N", value=4.0)
    >>> add = delay(n / N * t, name="add", component="busy") >> delay(t * 2, name="exchange", component="communication")
    >>> run_of(closed_model(add, N), "n", "N").overhead
    2*N*t
    """
    if against not in AGAINST:
        raise ModelError(f"there is no work {against!r} to hold a run against{did_you_mean(against, AGAINST)}")
    time, useful = _times(model, against)
    powers = {size: 1.0} if isinstance(size, str) else dict(size)
    _check(model.name, (time, useful), powers, processors)
    import sympy

    known = {each.name: sympy.Symbol(each.name, positive=True) for each in parameters(time, useful)}
    numbers = {each.name: each.value for each in parameters(time, useful)} | dict(values or {})
    factor = known[next(iter(powers))] if len(powers) == 1 else sympy.Symbol("growth", positive=True)
    if len(powers) > 1:
        known |= {name: _number(numbers[name]) * factor ** _number(power) for name, power in powers.items()}
    n = known[processors]
    spent, work = (_smooth(model.name, to_sympy(each, known), n) for each in (time, useful))
    work = sympy.simplify(n * work) if against == USEFUL else spent.subs(n, 1)
    if work.has(n):
        raise ModelError(f"the useful work of {model.name} depends on {processors}; hold it against {ONE} instead")
    given = {
        symbol: float(number)
        for name, symbol in known.items()
        if name not in powers and name != processors and (number := numbers[name]) is not None
    }
    nodes = (node for each in (time, useful) for node in walk(each))
    rounded = any(isinstance(node, Operation) and node.operator in _ROUNDED for node in nodes)
    return Run(spent, work, factor, n, given, rounded)


def _times(model: Model | Law, against: str) -> tuple[Expr, Expr]:
    """Give the time, and the useful time of one processor."""
    if isinstance(model, Law):
        if against == USEFUL:
            raise ModelError(f"law {model.name} has no account of what is useful; hold it against {ONE} instead")
        return model.right, model.right
    if not isinstance(model.population, ClosedPopulation | PhasedPopulation):
        raise ModelError(f"{model.name} is no run of N processors; give it one population, or phases")
    form = ClosedForm(model)
    labels = Labels.of(model)
    booked = dict.fromkeys(node.label for node in walk(form.account) if isinstance(node, Booked))
    useful = only_booked(form.account, [name for name in booked if labels.component(name) in model.useful])
    return form.time, useful


def _check(name: str, times: tuple[Expr, ...], powers: Mapping[str, float], processors: str) -> None:
    there = [each.name for each in parameters(*times)]
    for path in (*powers, processors):
        if path not in there:
            raise ModelError(f"the time of {name} does not depend on {path!r}{did_you_mean(path, there)}")


def _smooth(name: str, expr: Any, processors: Any) -> Any:
    """Leave rounding out: a count that is rounded up is taken as it is. There is at least one processor."""
    import sympy

    smooth = expr.replace(sympy.ceiling, lambda inner: inner).replace(sympy.floor, lambda inner: inner)
    smooth = smooth.xreplace({sympy.Max(1, processors, evaluate=False): processors})
    if smooth.has(sympy.Max, sympy.Min, sympy.Piecewise):
        raise ModelError(f"the time of {name} holds a maximum or a choice, so its overhead is no sum of terms")
    return smooth


def _number(value: float | None) -> Any:
    """Take a number as a fraction where it is meant as one."""
    import sympy

    return sympy.nsimplify(value, rational=True)


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum: coefficient x n^size log(n)^size_log N^processors log(N)^processors_log."""

    expression: Any
    coefficient: Any
    size: Any
    size_log: Any
    processors: Any
    processors_log: Any

    @property
    def negative(self) -> bool:
        """Say whether the term takes away from the sum."""
        return bool(self.coefficient.could_extract_minus_sign())


@dataclass(frozen=True, slots=True)
class Need:
    """What one term of the overhead asks of the work at a constant efficiency.

    Parameters
    ----------
    term : the term
    work : the work W t_c that pays for it, an expression of N and K = E / (1 - E) [s]; exact where the term allows it,
        else the leading part for large N; None where no work pays
    exact : whether `work` is exact
    order : how it grows with N, without constant factors; an exponential keeps those in its exponent
    never : why no work pays for it, from some N on; empty where it can be paid
    """

    term: Term
    work: Any
    exact: bool
    order: Any
    never: str = ""

    def rank(self, values: Mapping[Any, float], processors: Any) -> tuple[float, ...]:
        """Order needs by how fast they grow: never, exponentials, powers of N, of log N, of log log N."""
        import sympy

        if self.never:
            return (math.inf,)
        order = sympy.log(self.order.subs(values))
        x = sympy.Symbol("x", positive=True)
        # With N = exp(x) a power is linear in x and a logarithm is log x.
        parts = sympy.expand(sympy.expand_log(order.subs(processors, sympy.exp(x)), force=True))
        steep = [each for each in sympy.Add.make_args(parts) if each.has(sympy.exp)]
        power = float(parts.coeff(x)) if not steep else math.inf
        fastest = max((float(sympy.log(each.subs(x, 30.0)).evalf()) for each in steep), default=0.0)
        log, loglog = parts.coeff(sympy.log(x)), parts.coeff(sympy.log(sympy.log(x)))
        return fastest, power, float(log), float(loglog)


def term_of(expression: Any, size: Any, processors: Any) -> Term:
    """Read a product as powers and logarithms of n and N.

    Raises
    ------
    ModelError : it is something else
    """
    import sympy

    powers: dict[Any, Any] = dict.fromkeys((size, sympy.log(size), processors, sympy.log(processors)), sympy.Integer(0))
    rest = sympy.Integer(1)
    for base, exponent in sympy.powsimp(expression).as_powers_dict().items():
        if base in powers and not exponent.has(size, processors):
            powers[base] += exponent
        else:
            rest *= base**exponent
    if rest.has(size, processors):
        raise ModelError(f"{expression} is no product of powers and logarithms of {size} and {processors}")
    return Term(expression, rest, *powers.values())


def need_of(term: Term, work: Term, ratio: Any, size: Any, processors: Any) -> Need:
    """Solve W = K T_o for one positive term.

    Parameters
    ----------
    term, work : of the overhead, and the leading term of the work
    ratio : the symbol K = E / (1 - E)
    size, processors : the symbols n and N
    """
    import sympy

    log_n = sympy.log(processors)
    power, logs = work.size - term.size, work.size_log - term.size_log
    wanted = ratio * term.coefficient / work.coefficient * processors**term.processors * log_n**term.processors_log
    grows = _sign((term.processors, term.processors_log))
    if _sign((power, logs)) <= 0:
        return _unpaid(term, work, size, grows, _sign((power, logs)))
    if power == 0:
        reached = wanted ** (1 / logs)  # log n
        needed = work.coefficient * sympy.exp(work.size * reached) * reached**work.size_log
        return Need(term, sympy.powsimp(needed), True, _order_of_power(work, reached, processors))
    if grows <= 0:
        return Need(
            term, work.coefficient * wanted if term.size == term.size_log == 0 else None, True, sympy.Integer(1)
        )
    if logs == 0 or term.size == term.size_log == 0:
        exponent = work.size / power
        needed = work.coefficient * wanted**exponent
        if term.size == term.size_log == 0 or work.size_log == 0:
            return Need(
                term,
                sympy.powsimp(sympy.expand_power_base(needed, force=True)),
                True,
                _bare(term, exponent, log_n, processors),
            )
    large = sympy.log(processors) if term.processors != 0 else sympy.log(log_n)
    rise = term.processors if term.processors != 0 else term.processors_log
    long = large * rise / power  # log n for large N, but for constants
    needed = work.coefficient * (wanted / long**logs) ** (work.size / power) * long**work.size_log
    order = _bare(term, work.size / power, log_n, processors) * large ** (work.size_log - logs * work.size / power)
    return Need(term, sympy.powsimp(needed), False, order)


def _unpaid(term: Term, work: Term, size: Any, grows: int, falls: int) -> Need:
    """Say why a term that keeps up with the work is never paid for; a constant share is paid, or not, from the start."""
    import sympy

    if falls == 0 and grows < 0:
        return Need(term, None, True, sympy.Integer(1))
    if falls == 0 and grows == 0:
        why = f"{term.expression} grows with {size} as fast as the work, and so bounds the efficiency whatever the size"
        return Need(term, None, True, sympy.Integer(1), why)
    speed = "as fast as" if falls == 0 else "faster than"
    return Need(
        term,
        None,
        True,
        sympy.Integer(1),
        f"{term.expression} grows with {size} {speed} the work, so a larger size cannot pay for it",
    )


def _bare(term: Term, exponent: Any, log_n: Any, processors: Any) -> Any:
    return processors ** (term.processors * exponent) * log_n ** (term.processors_log * exponent)


def _order_of_power(work: Term, reached: Any, processors: Any) -> Any:
    """Give exp(e x) x^d for x = log n: a power of N where x is a multiple of log N."""
    import sympy

    log_n = sympy.log(processors)
    slope = sympy.simplify(reached / log_n)
    bare = reached.as_independent(processors, as_Add=False)[1]
    steep = sympy.exp(work.size * reached) if slope.has(processors) else processors ** (work.size * slope)
    return steep * bare**work.size_log


def _sign(powers: tuple[Any, Any]) -> int:
    """Tell growth from decay: the power decides, then the logarithm's."""
    first = next((each for each in powers if each != 0), 0)
    return bool(first > 0) - bool(first < 0)
