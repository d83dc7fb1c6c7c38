"""The time or the throughput that a fit is to reach, in the unit of the data."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NoReturn

from slipstick_measure.results import TimeGoal


def goal_of_fit(
    time: tuple[str, float] | None,
    throughput: str,
    rate: tuple[str, float] | None,
    names: tuple[str, str],
    refuse: Callable[[str, str], NoReturn],
) -> TimeGoal | None:
    """Return the time or the throughput that a fit is to reach; None without one.

    Parameters
    ----------
    time : the longest time wanted, as written and in base units [s]
    throughput : the least throughput wanted, as written; empty without one
    rate : unit of throughputs in the data and its size in base units; None where times were
        measured
    names : of both limits, as a user writes them
    refuse : raises an error on the limit of a name, for a goal that the data cannot have
    """
    time_name, throughput_name = names
    if time is not None and rate is not None:
        message = f"the data have throughputs in {rate[0]}, and no times; write {throughput_name}"
        refuse(time_name, message)
    if throughput and rate is None:
        message = (
            f"the data have times, and no throughputs; write {time_name}, the longest time wanted"
        )
        refuse(throughput_name, message)
    if time is not None:
        return TimeGoal(*time)
    if not throughput or rate is None:
        return None
    unit, unit_size = rate
    number_text = throughput.removesuffix(unit.lstrip()).strip()
    try:
        value = float(number_text) * unit_size
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        message = (
            f"write a number above 0 with the unit of the data, such as 10 {unit.lstrip()}; got"
            f" {throughput!r}"
        )
        refuse(throughput_name, message)
    return TimeGoal(f"{number_text} {unit.lstrip()}", throughput=value)
