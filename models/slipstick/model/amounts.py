"""Amounts: plain numbers that follow from the values of an answer, such as a cost or an energy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from slipstick.answer import unit_of
from slipstick.arguments import instance_of, mapped_by_name
from slipstick.expression.nodes import BYTES, COUNT, RATE, TIME, Expr, Parameter, parameters

_PREFIX = "answer."
AMOUNTS = mapped_by_name(instance_of(Expr, 'an expression, such as 2 * answer_value("throughput")'))
_DIMENSIONS = {"s": TIME, "1/s": RATE, "B": BYTES, "1": COUNT}


def answer_value(name: str) -> Parameter:
    """Return the parameter that stands for a value of the answer in the expression of an amount.

    Parameters
    ----------
    name : of the value, as answers have it

    >>> answer_value("utilization[cpu]"), str(answer_value("throughput").dimension)
    (answer.utilization.cpu, '1/s')
    """
    dotted_name = re.sub(r"[^A-Za-z0-9_-]+", ".", name).strip(".")
    return Parameter(_PREFIX + dotted_name, _DIMENSIONS[unit_of(name)])


def is_answer_value(name: str) -> bool:
    """Return whether a parameter stands for a value of the answer.

    >>> is_answer_value("answer.throughput"), is_answer_value("parameters.price")
    (True, False)
    """
    return name.startswith(_PREFIX)


def input_parameters(expressions: Iterable[Expr]) -> dict[str, Parameter]:
    """Return, by name, the parameters of expressions that do not stand for values of the answer."""
    all_parameters = parameters(*expressions)
    return {
        parameter.name: parameter
        for parameter in all_parameters
        if not is_answer_value(parameter.name)
    }


def answer_parameter_names(amount: Expr) -> frozenset[str]:
    """Return the names of the parameters of an amount that stand for values of the answer."""
    parameter_names = (parameter.name for parameter in parameters(amount))
    return frozenset(name for name in parameter_names if is_answer_value(name))


def computable_amounts(amounts: Mapping[str, Expr], value_names: Iterable[str]) -> list[str]:
    """List the amounts of a model, such as its cost, that can be computed from the values of an
    answer.

    Parameters
    ----------
    amounts : by name
    value_names : of the values that an answer has

    >>> from slipstick.expression.nodes import Number
    >>> computable_amounts({"cost": Number(2.0) * answer_value("queue_length[cpu]")}, ["time"])
    []
    """
    if not amounts:
        return []
    known_parameter_names = {answer_value(name).name for name in value_names}
    return [
        name
        for name, amount in amounts.items()
        if answer_parameter_names(amount) <= known_parameter_names
    ]
