"""What a method needs to be exact, decided in one place by the model and the values at a point.

Mean value is exact in product form. Product form needs something random: where nothing is, all
processors stay as they started, in step or not, and no mean of all states is what they do. Two
processors that work 1 s and then share another for 1 s each take 3 s if they start together; product
form says 2.5 s. Of several groups something in each must be random: else the members of one of them
may stay in step.
"""

from __future__ import annotations

from slipstick.expression.columns import Flags, Values, only
from slipstick.expression.nodes import total
from slipstick.expression.tape import Tape
from slipstick.late import np
from slipstick.model.steps import NEVER
from slipstick.model.system import Model
from slipstick.structure.contention import variation


class Variation:
    """The places of a model where a time or a count is random, compiled for many points.

    Parameters
    ----------
    model : the system

    Attributes
    ----------
    possible : whether anything is in every group, at some values

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> [Variation(closed_model(delay(1.0, scv=scv) >> service("cpu", 1.0), 2)).possible for scv in (0, 1)]
    [False, True]
    """

    def __init__(self, model: Model) -> None:
        groups = model.population.groups
        variation_of_groups = [variation([group.cycle]) for group in groups if len(groups) > 1]
        varied = variation_of_groups or [
            total([variation(model.bodies), model.population.variation])
        ]
        self.possible = NEVER not in varied
        self._count = len(varied)
        self._tape = Tape([*varied, *(group.processors for group in groups if variation_of_groups)])

    def there(self, values: Values) -> Flags:
        """Return at which points a time or a count is random in every group."""
        columns = np.broadcast_arrays(*self._tape.run(only(values, self._tape.parameters)))
        varied, sizes = np.stack(columns[: self._count]), columns[self._count :]
        # A group without processors takes no part, so that its constant times do not count.
        empty = np.stack(sizes) == 0 if sizes else False
        flags: Flags = np.atleast_1d(((varied > 0) | empty).all(axis=0))
        return flags
