"""The second road: small evaluators that share no code with the package.

`dual` follows an expression recursively in plain Python, each value with its derivative (forward
mode, where the tape goes backwards). `flow_line` runs a pipeline event by event; `plain_time`
follows an activity with it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from slipstick.expression.nodes import Booked, Expr, Number, Operation, Parameter
from slipstick.model.activity import BarrierWait, Choice, Fork, Hold, Pipeline, Repeat, Step, Then
from slipstick.model.steps import Activity
from slipstick.model.system import Barrier, Model

Dual = tuple[float, float]


def value(expr: Expr, values: Mapping[str, float]) -> float:
    """Evaluate an expression."""
    return dual(expr, values)[0]


def dual(expr: Expr, values: Mapping[str, float], by: str = "") -> Dual:
    """Evaluate an expression and its derivative by one parameter."""
    if isinstance(expr, Number):
        return expr.value, 0.0
    if isinstance(expr, Parameter):
        given = values.get(expr.name, expr.value)
        assert given is not None
        return given, float(expr.name == by)
    if isinstance(expr, Booked):
        return dual(expr.inner_expr, values, by)
    assert isinstance(expr, Operation)
    args = [dual(operand, values, by) for operand in expr.operands]
    return _OPERATORS[expr.operator](args)


def _sum(args: list[Dual]) -> Dual:
    total, slope = args[0]
    for more, more_slope in args[1:]:
        total, slope = total + more, slope + more_slope
    return total, slope


def _quotient(args: list[Dual]) -> Dual:
    (a, da), (b, db) = args
    return a / b, (da * b - a * db) / (b * b)


def _power(args: list[Dual]) -> Dual:
    (x, dx), (n, _) = args
    result = 1.0
    for _ in range(int(abs(n))):
        result *= x
    result = result if n >= 0 else 1.0 / result
    return result, n * result / x * dx if x else float(n == 1) * dx


def _first(best: Callable[[list[float]], float]) -> Callable[[list[Dual]], Dual]:
    def choose(args: list[Dual]) -> Dual:
        return next(arg for arg in args if arg[0] == best([each for each, _ in args]))

    return choose


def _log2(args: list[Dual]) -> Dual:
    x, dx = args[0]
    # NumPy's own logarithm: the last bit differs from the C library's.
    return float(np.log2(np.array([x]))[0]), dx / (x * math.log(2))


def _levels(args: list[Dual]) -> Dual:
    (count, _), (radix, _) = args
    k = 0
    while int(radix) ** k < count:
        k += 1
    return float(k), 0.0


_OPERATORS: dict[str, Callable[[list[Dual]], Dual]] = {
    "sum": _sum,
    "difference": lambda args: (args[0][0] - args[1][0], args[0][1] - args[1][1]),
    "product": lambda args: (
        args[0][0] * args[1][0],
        args[0][1] * args[1][0] + args[0][0] * args[1][1],
    ),
    "quotient": _quotient,
    "power": _power,
    "max": _first(max),
    "min": _first(min),
    "ceil": lambda args: (float(math.ceil(args[0][0])), 0.0),
    "floor": lambda args: (float(math.floor(args[0][0])), 0.0),
    "sqrt": lambda args: (math.sqrt(args[0][0]), args[0][1] / (2 * math.sqrt(args[0][0]))),
    "log2": _log2,
    "ceil_log": _levels,
    "select": lambda args: args[2] if args[0][0] <= args[1][0] else args[3],
}


def flow_line(kinds: Sequence[str], times: Sequence[Sequence[float]]) -> float:
    """Run items through stages event by event and say when the last has left.

    Parameters
    ----------
    kinds : serial or parallel, one for each stage
    times : of each item at each stage; times[item][stage] [s]
    """
    items, last = len(times), len(kinds)
    waiting: list[set[int]] = [set() for _ in kinds]
    turn = [0] * last  # the item that a serial stage takes next
    busy = [False] * last
    events = [(0.0, item, -1) for item in range(items)]  # (when, item, stage just finished)
    heapq.heapify(events)
    now = 0.0
    while events:
        now, item, stage = heapq.heappop(events)
        if stage >= 0 and kinds[stage] == "serial":
            busy[stage] = False
        if stage + 1 < last:
            waiting[stage + 1].add(item)
        for place in {max(stage, 0), min(stage + 1, last - 1)}:
            if kinds[place] == "parallel":
                for each in waiting[place]:
                    heapq.heappush(events, (now + times[each][place], each, place))
                waiting[place].clear()
            elif not busy[place] and turn[place] in waiting[place]:
                each, turn[place], busy[place] = turn[place], turn[place] + 1, True
                waiting[place].remove(each)
                heapq.heappush(events, (now + times[each][place], each, place))
    return now


def plain_time(activity: Activity, model: Model, values: Mapping[str, float]) -> float:
    """Return the time of one pass through an activity without contention."""

    def inside(part: Activity) -> float:
        return plain_time(part, model, values)

    match activity:
        case Step():
            return value(activity.time, values)
        case Then(parts):
            return sum(inside(part) for part in parts)
        case Fork(branches):
            return max(inside(branch) for branch in branches)
        case Choice(options):
            return sum(value(p, values) * inside(body) for p, body in options)
        case Repeat(often, body):
            return value(often, values) * inside(body)
        case Hold(_, body):
            return inside(body)
        case BarrierWait(name):
            meeting = model.resources[name]
            assert isinstance(meeting, Barrier)
            return value(meeting.cost, values)
        case Pipeline(stages, items):
            each = range(round(value(items, values)))
            times = [
                [inside(stage.bodies[item % len(stage.bodies)]) for stage in stages]
                for item in each
            ]
            return flow_line([stage.kind for stage in stages], times)
    raise AssertionError(activity)
