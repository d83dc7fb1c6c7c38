"""Small queueing networks solved in symbols: throughput and response time over the demands."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from slipstick.expression.nodes import TIME, zero
from slipstick.expression.tape import Tape
from slipstick.late import dataclass
from slipstick.model.network import ClosedClass, NetworkStation, QueueingNetwork
from slipstick.vocabulary import DISCIPLINES, NEVER, SAME_EXPONENTIAL
from slipstick_equations.equations import reasons_without_formula

LONGEST_EQUATION = 300
"""Characters of an equation that is short enough to be read."""

MOST_TERMS = LONGEST_EQUATION // len(" + D[a,b]")
"""The most terms of a denominator in such an equation. Each demand is a symbol of its own, so only
a single term can cancel, and a longer polynomial is not completed."""


MOST_POPULATIONS = 2_000
"""The most populations up to the requested one; each needs a polynomial of its own."""


@dataclass(frozen=True, slots=True)
class SymbolicSolution:
    """An equation of a solved network, in plain text and in LaTeX for ``align*``."""

    text: str
    latex: str


def solve_in_symbols(model: QueueingNetwork) -> tuple[SymbolicSolution, ...]:
    r"""Return the throughput and the response time as rational functions of demands D and think
    times Z.

        X_r = G(N - e_r) / G(N),   R_r = N_r / X_r - Z_r
        G_k(n) = G_(k-1)(n) + sum over r of D_rk G_k(n - e_r)

    starting with G_0(n) = prod Z_r^n_r / n_r!. Polynomials all the way, so only the last quotient
    is reduced. Only for closed classes at single servers and delays in product form, and where the
    equations are short.

    Parameters
    ----------
    model : the network, its populations as they are

    Source: Buzen, Comm. ACM 16(9), 1973, 527-531; Reiser and Lavenberg, J. ACM 27(2), 1980,
    313-322.

    >>> from slipstick.model.network import closed_class, network, station
    >>> pair = network(
    ...     {"j": closed_class(2)}, {name: station(demand={"j": 1.0}) for name in ("a", "b")}
    ... )
    >>> print(solve_in_symbols(pair)[0].text)
    X[j] = (D[j,a] + D[j,b])/(D[j,a]**2 + D[j,a]*D[j,b] + D[j,b]**2)
    """
    has_further_constructs = model.chains or model.constructs
    if (
        not model.classes
        or has_further_constructs
        or not all(map(_has_single_server_form, model.stations.values()))
    ):
        return ()
    closed_classes = [
        customer_class
        for customer_class in model.classes.values()
        if isinstance(customer_class, ClosedClass)
    ]
    if len(closed_classes) < len(model.classes):
        return ()
    populations = [
        int(column[0]) for column in Tape([member.population for member in closed_classes]).run({})
    ]
    if prod(population + 1 for population in populations) > MOST_POPULATIONS:
        return ()
    # The values decide, too: constant times alone have no product form.
    if reasons_without_formula(model):
        return ()
    demands, think_times, delay_sums, latex_names = _class_symbols(model, closed_classes)
    throughputs, response_times = _mean_values(demands, think_times, populations)
    if not throughputs:
        return ()
    # What is spent at delays is away from the queues, but not from the stations.
    response_times = [
        response_time + delay if population else response_time
        for response_time, delay, population in zip(
            response_times, delay_sums, populations, strict=True
        )
    ]
    class_names = list(model.classes)
    relations = [
        *zip("X" * len(class_names), class_names, throughputs, strict=True),
        *zip("R" * len(class_names), class_names, response_times, strict=True),
    ]
    equations = (
        _equation(letter, label, expression, latex_names) for letter, label, expression in relations
    )
    return tuple(equation for equation in equations if len(equation.text) <= LONGEST_EQUATION)


def _has_single_server_form(station: NetworkStation) -> bool:
    """Return whether a station is a single server or a delay that has product form for its
    classes.
    """
    product_form = DISCIPLINES[station.discipline].product_form
    needs_equal_service = product_form == SAME_EXPONENTIAL and (
        len(station.visitors()) > 1 or bool(station.scv)
    )
    return not (
        station.servers != 1
        or station.rates
        or any(map(station.loses, station.visitors()))
        or product_form == NEVER
        or needs_equal_service
    )


def _class_symbols(
    model: QueueingNetwork, closed_classes: list[ClosedClass]
) -> tuple[list[list[Any]], list[Any], list[Any], dict[Any, str]]:
    """Return the symbols of each class: its demands at queues, its time away from queues, and the
    share of this time at delays. Return also the LaTeX of each symbol.
    """
    import sympy

    latex_names: dict[Any, str] = {}

    def new_symbol(sign: str, index: str) -> Any:
        symbol = sympy.Symbol(f"{sign}[{index}]", positive=True)
        latex_names[symbol] = rf"{sign}_{{\text{{{index.replace('_', chr(92) + '_')}}}}}"
        return symbol

    queue_names = [
        name
        for name, station in model.stations.items()
        if not DISCIPLINES[station.discipline].delay
    ]
    demands_by_class = []
    think_times = []
    delay_sums = []
    for label, class_member in zip(model.classes, closed_classes, strict=True):
        is_visited = {name: label in station.visitors() for name, station in model.stations.items()}
        demands_by_class.append(
            [
                new_symbol("D", f"{label},{name}") if is_visited[name] else sympy.Integer(0)
                for name in queue_names
            ]
        )
        delay_symbols = [
            new_symbol("D", f"{label},{name}")
            for name in model.stations
            if is_visited[name] and name not in queue_names
        ]
        think_symbols = [] if class_member.think_time == zero(TIME) else [new_symbol("Z", label)]
        delay_sums.append(sum(delay_symbols, sympy.Integer(0)))
        think_times.append(sum(think_symbols, delay_sums[-1]))
    return demands_by_class, think_times, delay_sums, latex_names


def _mean_values(
    demands: list[list[Any]], think_times: list[Any], populations: list[int]
) -> tuple[list[Any], list[Any]]:
    """Return the throughput and the response time of each class, 0 without customers; empty lists
    if the equations would be too long.
    """
    import sympy
    from sympy.polys.rings import ring

    symbol_rows = [*demands, think_times]
    symbols = sorted(
        {
            free_symbol
            for symbol_row in symbol_rows
            for symbol in symbol_row
            for free_symbol in symbol.free_symbols
        },
        key=str,
    )
    polynomials, *_ = ring(symbols or [sympy.Symbol("x")], sympy.QQ)
    *loads, delays = [
        [polynomials.from_expr(coefficient) for coefficient in symbol_row]
        for symbol_row in symbol_rows
    ]
    lattice = list(product(*(range(customer_count + 1) for customer_count in populations)))
    with_one_customer_less = {
        n: [tuple(m - (i == r) for i, m in enumerate(n)) for r in range(len(n))] for n in lattice
    }
    constants = dict.fromkeys(lattice, polynomials.one)
    for n in lattice:
        for r in [r for r, count in enumerate(n) if count][:1]:
            constants[n] = constants[with_one_customer_less[n][r]] * delays[r] / n[r]
    for station_index in range(len(loads[0])):
        for n in lattice:
            for r in (r for r, count in enumerate(n) if count):
                constants[n] = (
                    constants[n] + loads[r][station_index] * constants[with_one_customer_less[n][r]]
                )
            if len(constants[n]) > MOST_TERMS:
                return [], []
    constant = constants[lattice[-1]]
    if not constant:
        return [], []
    throughputs = [sympy.Integer(0)] * len(loads)
    response_times = [sympy.Integer(0)] * len(loads)
    for r, count in enumerate(populations):
        if count:
            constant_with_one_less = constants[with_one_customer_less[lattice[-1]][r]]
            throughputs[r], response_times[r] = (
                _quotient(constant_with_one_less, constant),
                _quotient(
                    count * constant - delays[r] * constant_with_one_less, constant_with_one_less
                ),
            )
    return throughputs, response_times


def _quotient(numerator: Any, denominator: Any) -> Any:
    """Return a quotient with its common factors cancelled."""
    numerator, denominator = numerator.cancel(denominator)
    return numerator.as_expr() / denominator.as_expr()


def _equation(
    letter: str, label: str, right_side: Any, latex_names: dict[Any, str]
) -> SymbolicSolution:
    """Return the equation of a symbol, in plain text and in LaTeX."""
    import sympy

    symbol_text = rf"{letter}_{{\text{{{label}}}}}"
    return SymbolicSolution(
        f"{letter}[{label}] = {right_side}",
        f"{symbol_text} &= {sympy.latex(right_side, symbol_names=latex_names)}",
    )
