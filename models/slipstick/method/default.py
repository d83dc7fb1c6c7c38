"""The method that answers where none is named, chosen for each point.

The closed form answers wherever it is exact: nothing can be waited for there, and no maximum of random times is taken.
Elsewhere one other method answers, the same for all points of a model: mean value or simulation, see
`slipstick.method.methods.default_method`. So one sweep may have two methods, and every row says which it is by; where the
one takes over from the other they agree, for both are exact there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from slipstick.expression.nodes import parameters
from slipstick.method.answers import CompiledModel, Solution, Values, joined, only
from slipstick.method.closed_form.form import ClosedForm
from slipstick.model.system import Model
from slipstick.vocabulary import SIMULATION

Rows = NDArray[np.intp]

SIMULATED = (
    "simulated by default: there the closed form leaves waiting out, and mean value promises no error; "
    "'method: closed-form' and 'method: mean-value' are faster, and give shares"
)


class DefaultForm(CompiledModel):
    """An activity compiled for the closed form where that is exact, and for another method elsewhere.

    Parameters
    ----------
    model : the system
    choose : names the other method; called when a point is not exact
    compiled : compiles the model for it

    >>> from slipstick.method.methods import form_of
    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    >>> form = form_of(closed_model(cycle, processors=10), {})
    >>> form.points({"population.processors": np.array([1.0, 10.0])}).provenance().methods
    ['closed-form', 'mean-value']
    """

    def __init__(self, model: Model, choose: Callable[[], str], compiled: Callable[[str], CompiledModel]) -> None:
        self.model = model
        self.closed = ClosedForm(model)
        self._choose, self._compiled = choose, cache(compiled)

    @cached_property
    def method(self) -> str:
        """Name of the method that answers where the closed form is not exact."""
        return self._choose()

    @property
    def block(self) -> int:  # type: ignore[override]
        """How many points of the other method are to be given at a time."""
        return 1 if self.method == SIMULATION else ClosedForm.block

    @property
    def estimated(self) -> bool:  # type: ignore[override]
        """Say whether the other method gives estimates; what the closed form gives then has intervals without width."""
        return self.method == SIMULATION

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        used = (each.name for each in parameters(*self.model.expressions()))
        return tuple(dict.fromkeys([*self.closed.parameters, *used]))

    def blocks(self, values: Values, count: int) -> Iterator[Rows]:
        """Part aligned points by method, then into those that are to be solved together."""
        for rows, form in self._parts(values, count):
            yield from (rows[cut] for cut in form.blocks({}, len(rows)))

    def simulated(self, values: Values, count: int) -> int:
        """Count the points that are simulated."""
        others = count - int(np.broadcast_to(self.closed.exact(values), (count,)).sum())
        return others if others and self.method == SIMULATION else 0

    def brief(self, values: Values) -> Solution:
        """Solve for the time alone, each point by its method."""
        return self._solved(values, lambda form, given: form.brief(given))

    def solution(self, values: Values) -> Solution:
        """Solve each point by its method."""
        return self._solved(values, lambda form, given: form.solution(given))

    def _parts(self, values: Values, count: int) -> list[tuple[Rows, CompiledModel]]:
        """Part the points into those of the closed form and the others."""
        exact = np.broadcast_to(self.closed.exact(values), (count,))
        parts: list[tuple[Rows, CompiledModel]] = [(np.flatnonzero(exact), self.closed)] if exact.any() else []
        return parts if exact.all() else [*parts, (np.flatnonzero(~exact), self._compiled(self.method))]

    def _solved(self, values: Values, solve: Callable[[CompiledModel, Values], Solution]) -> Solution:
        if not values.keys() <= set(self.parameters):
            self.closed.tape.check_names(values)
        count = max((np.size(each) for each in values.values()), default=1)
        parts = self._parts(values, count)
        if len(parts) == 1:
            ((_, form),) = parts
            return self._alike(solve(form, only(values, form.parameters)))
        pieces = []
        for rows, form in parts:
            cut = {name: np.broadcast_to(each, (count,))[rows] for name, each in values.items()}
            pieces.append((rows, self._alike(solve(form, only(cut, form.parameters)))))
        return joined(pieces)

    def _alike(self, found: Solution) -> Solution:
        """Give what is exact an interval without width where other points are estimates."""
        if not self.estimated or found.low:
            return found
        books = {"account": found.account, "technology": found.technology, "step": found.steps}
        booked = {f"{book}[{name}]": each for book, parts in books.items() for name, each in parts.items()}
        every = {**found.values, **booked}
        return replace(found, low=every, high=every)
