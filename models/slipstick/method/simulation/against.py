"""What others cost a processor, as a simulation saw it: its time among them against its time alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from slipstick.answer import Answer, Value
from slipstick.expression.tape import Tape
from slipstick.law.grain import GRAIN_EFFICIENCY, GRAIN_INTERFERENCE
from slipstick.method.closed_form.form import ClosedForm
from slipstick.method.simulation.estimated import ROUNDING
from slipstick.model.system import Alone, Model

__all__ = ["told_against"]

Solve = Callable[[Model, Mapping[str, float]], Answer]


def told_against(answer: Answer, alone: Alone, values: Mapping[str, float], simulated: Solve) -> Answer:
    """Tell a time among others against that of one processor alone.

    The time alone is the closed form's where that is exact, and is simulated only where it is not. Its interval and that
    of the time among others are taken as independent; those of their ratios follow to first order.

    Parameters
    ----------
    answer : of the model, by simulation
    alone : the processor alone
    values : parameters that differ from the model's own, in base units
    simulated : simulates a model
    """
    form = ClosedForm(alone.model)
    known = {name: each for name, each in values.items() if name in form.parameters}
    plain = form.points(known).answer(0)
    single = plain.values["time"] if plain.exact else simulated(alone.model, known).values["time"]
    if plain.exact:
        single = replace(single, low=single.value, high=single.value)
    among = answer.values["time"]
    if not (single.value and among.value):
        return answer
    if math.isclose(single.value, among.value, rel_tol=ROUNDING):
        # Nobody was in the way; the clock of the simulation is rounded, and less than nothing is no interference.
        single = replace(single, value=among.value)
    assert single.value
    spread = math.hypot(_relative(single), _relative(among))
    efficiency = float(GRAIN_EFFICIENCY.equation(single.value, among.value))
    interference = float(GRAIN_INTERFERENCE.equation(single.value, among.value))
    found = {
        "time_alone": single,
        "grain_efficiency": _within(efficiency, spread * efficiency),
        "grain_interference": _within(interference, spread / efficiency),
    }
    if alone.words is not None:
        tape = Tape([alone.words])
        words = float(tape.run({name: each for name, each in values.items() if name in tape.parameters})[0][0])
        rate = answer.values["throughput"]
        ends = (None if each is None else words * each for each in (rate.value, rate.low, rate.high))
        value, low, high = ends
        found["warps"] = Value(value, "1/s", low, high)
    return replace(answer, values={**answer.values, **found})


def _relative(time: Value) -> float:
    """Give half the interval in parts of the mean; NaN if there is none."""
    if time.low is None or time.high is None:
        return math.nan
    assert time.value
    return (time.high - time.low) / 2 / time.value


def _within(value: float, half: float) -> Value:
    return Value(value, "1") if math.isnan(half) else Value(value, "1", value - half, value + half)
