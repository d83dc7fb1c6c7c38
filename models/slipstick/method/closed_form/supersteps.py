"""Supersteps in closed form: each as long as its slowest processor, and the meeting."""

from __future__ import annotations

from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Booked, Expr, maximum, total
from slipstick.method.closed_form.times import time
from slipstick.model.system import Model, Supersteps

__all__ = ["superstep_account", "superstep_time"]


def superstep_time(population: Supersteps, model: Model) -> Expr:
    """Add up all supersteps: T = sum of repeat x (max over processors of their lines + meeting) [s]."""
    known: dict[int, Expr] = {}
    parts = (
        each.repeat * (maximum(*(time(line, model, True, known) for line in each.lines)) + time(each.meeting, model))
        for each in population.supersteps
    )
    return total(parts, TIME)


def superstep_account(population: Supersteps, model: Model, idle: str) -> Expr:
    """Give the same time as the mean of the processors' own lines, each idle until the slowest has come [s].

    Parameters
    ----------
    population, model : the program
    idle : label of the time that is left until the slowest has come
    """
    booked: dict[int, Expr] = {}
    plain: dict[int, Expr] = {}
    parts: list[Expr] = []
    for each in population.supersteps:
        lines = [time(line, model, False, plain) for line in each.lines]
        longest, count = maximum(*lines), len(lines)
        own = (time(line, model, True, booked) for line in each.lines)
        left = (Booked(idle, longest - line) for line in lines)
        mean = total([*own, *left], TIME) / count
        parts.append(each.repeat * (mean + time(each.meeting, model)))
    return total(parts, TIME)
