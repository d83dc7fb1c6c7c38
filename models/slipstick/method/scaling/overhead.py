"""Total overhead in closed form: what all processors spend beyond the work of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import Expr, Operation, only_booked, parameters, walk
from slipstick.expression.symbolic import to_sympy
from slipstick.law import Law
from slipstick.method.closed_form.form import ClosedForm
from slipstick.model.system import Cyclic, Model, Program

__all__ = ["AGAINST", "ONE", "USEFUL", "Run", "run_of"]

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
    >>> from slipstick.model.system import closed
    >>> n, t, N = Parameter("n", value=64.0), Parameter("t", TIME, 1.0), Parameter("N", value=4.0)
    >>> add = delay(n / N * t, name="add", component="busy") >> delay(t * 2, name="exchange", component="communication")
    >>> run_of(closed(add, N), "n", "N").overhead
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
    return Run(spent, work, factor, n, given, any(_holds(each, _ROUNDED) for each in (time, useful)))


def _times(model: Model | Law, against: str) -> tuple[Expr, Expr]:
    """Give the time, and the useful time of one processor."""
    if isinstance(model, Law):
        if against == USEFUL:
            raise ModelError(f"law {model.name} has no account of what is useful; hold it against {ONE} instead")
        return model.right, model.right
    if not isinstance(model.population, Cyclic | Program):
        raise ModelError(f"{model.name} is no run of N processors; give it one population, or phases")
    form = ClosedForm(model)
    useful = only_booked(form.account, [name for name, (part, _) in form.labels.items() if part in model.useful])
    return form.time, useful


def _check(name: str, times: tuple[Expr, ...], powers: Mapping[str, float], processors: str) -> None:
    there = [each.name for each in parameters(*times)]
    for path in (*powers, processors):
        if path not in there:
            raise ModelError(f"the time of {name} does not depend on {path!r}{did_you_mean(path, there)}")


def _holds(expr: Expr, operators: tuple[str, ...]) -> bool:
    return any(isinstance(node, Operation) and node.operator in operators for node in walk(expr))


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
