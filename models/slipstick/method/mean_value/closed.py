"""Closed cycles: N processors go round for ever."""

from __future__ import annotations

import numpy as np

from slipstick.method.mean_value.curves import booked, stops
from slipstick.method.mean_value.labels import labels_of
from slipstick.method.mean_value.outcome import Outcome, Use, uses
from slipstick.method.mean_value.product_form import has_product_form, solved
from slipstick.method.mean_value.quantities import Numbers
from slipstick.method.mean_value.recursion import Recursion, State
from slipstick.method.mean_value.sound import counted, unsound
from slipstick.method.mean_value.spans import Array
from slipstick.model.system import Cyclic, Model

__all__ = ["solve_closed"]


def solve_closed(model: Model, numbers: Numbers, account: bool) -> Outcome:
    """Answer for a closed cycle at all points.

    Parameters
    ----------
    model : with a `Cyclic` population
    numbers : every number of the model [points]
    account : also find the account and the use of each queue
    """
    assert isinstance(model.population, Cyclic)
    size = model.population.processors
    recursion = Recursion(model, model.population.cycle)
    wrong = {**counted(numbers[size], f"the population of {model.name}"), **unsound(model, numbers)}
    labels = labels_of(recursion) if account else []
    queues = [queue.name for queue in recursion.queues] if account else []
    outcome = Outcome.blank(np.array(numbers[size]), labels, queues, wrong)
    points = np.array([index for index in range(len(outcome.size)) if index not in wrong], dtype=int)
    sizes = np.rint(outcome.size.real)
    found = solved if has_product_form(model, recursion.grown, recursion.queues) else stops
    for stop in found(recursion, numbers, sizes, points, size):
        parts = booked(recursion, stop, labels) if account else {}
        used = _uses(recursion, stop.state, stop.numbers) if account else {}
        outcome.put(stop.points, stop.rows, stop.state.time.mean, parts, used)
    return outcome


def _uses(recursion: Recursion, state: State, numbers: Numbers) -> dict[str, Use]:
    time, crowd = state.time.mean, state.crowd
    rate: Array = state.processors / np.where(time > 0, time, np.inf)
    often = recursion.grown.frequencies(numbers)
    among = {index: rate * often[index] * wait for index, wait in state.found.among.items()}
    present = {index: each + among.get(index, 0.0) for index, each in crowd.present.items()}
    return uses(recursion.queues, state.processors, often, rate, crowd.served, present, recursion.loads(crowd, numbers))
