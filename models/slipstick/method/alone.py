"""What others cost a processor: its time among them, told against its time alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from slipstick.expression.kernels import Array
from slipstick.expression.tape import Tape
from slipstick.law.grain import GRAIN_EFFICIENCY, GRAIN_INTERFERENCE, WORDS_ACCESSED_RANDOMLY
from slipstick.model.system import SingleProcessor

Values = Mapping[str, "Array | float"]


class Timed(Protocol):
    """A model compiled by a method, as far as its time goes."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied."""

    def times(self, values: Values) -> Array:
        """Evaluate the time alone [s, points]."""


class Against:
    """The values that tell a time among others against the time alone.

    Parameters
    ----------
    alone : the processor alone
    form : its model, compiled by the method that the time among others is from
    """

    def __init__(self, alone: SingleProcessor, form: Timed) -> None:
        self._form = form
        self._words = None if alone.words is None else Tape([alone.words])

    def values(self, values: Values, among: Array, size: Array) -> dict[str, Array]:
        """Give ``time_alone``, ``grain_efficiency``, ``grain_interference`` and, where words are counted, ``warps``.

        Parameters
        ----------
        values : of the parameters
        among : time of a processor among the others [s, points]
        size : processors of its kind, all of which access as many words [1, points]
        """
        alone = self._form.times(_known(values, self._form.parameters))
        with np.errstate(all="ignore"):
            found = {
                "time_alone": alone,
                "grain_efficiency": GRAIN_EFFICIENCY.equation(alone, among),
                "grain_interference": GRAIN_INTERFERENCE.equation(alone, among),
            }
            if self._words is not None:
                (words,) = self._words.run(_known(values, tuple(self._words.parameters)))
                found["warps"] = WORDS_ACCESSED_RANDOMLY.equation(size, words, among)
        return {name: np.broadcast_to(each, np.shape(among)) for name, each in found.items()}


def _known(values: Values, names: tuple[str, ...]) -> dict[str, Array | float]:
    return {name: each for name, each in values.items() if name in names}
