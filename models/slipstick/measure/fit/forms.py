"""Formulas with free parameters, as plain arithmetic on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.measure.fit.timings import Array, Timings

__all__ = ["Form", "Letter", "linear"]


@dataclass(frozen=True, slots=True)
class Letter:
    """A free parameter: its name, its base unit and what it means; it is at least 0.

    Parameters
    ----------
    name, unit, meaning : in words
    most : largest value
    """

    name: str
    unit: str
    meaning: str
    most: float = np.inf


@dataclass(frozen=True, slots=True)
class Form:
    """One formula.

    Parameters
    ----------
    family : the kind of model
    text : the formula in plain text
    letters : its free parameters
    time : from parameters and timings, the times at their points [s]
    starts : from timings, parameters to begin a search at; several where there may be several valleys
    chosen : how many exponents were chosen by looking at the data, to be counted as parameters
    """

    family: str
    text: str
    letters: tuple[Letter, ...]
    time: Callable[[Array, Timings], Array]
    starts: Callable[[Timings], Sequence[Array]]
    chosen: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(letter.name for letter in self.letters)


Basis = Callable[[Timings], Array]


def linear(family: str, text: str, terms: Sequence[tuple[Letter, Basis]], chosen: int = 0) -> Form:
    """Make a form that is a sum of terms, each a parameter times a function of the point.

    Parameters
    ----------
    family, text, chosen : as for `Form`
    terms : each parameter with its function
    """

    def columns(timings: Timings) -> Array:
        return np.column_stack([basis(timings) for _, basis in terms])

    def time(theta: Array, timings: Timings) -> Array:
        found: Array = columns(timings) @ theta
        return found

    def starts(timings: Timings) -> list[Array]:
        return [nonnegative(columns(timings), timings.time)]

    return Form(family, text, tuple(letter for letter, _ in terms), time, starts, chosen)


def nonnegative(columns: Array, time: Array) -> Array:
    """Give coefficients of at least 0 that make the relative errors least in squares."""
    from scipy.optimize import nnls

    scaled = columns / time[:, None]
    # Columns differ by many powers of ten; equal lengths keep the search sound.
    lengths = np.linalg.norm(scaled, axis=0)
    lengths[lengths == 0] = 1.0
    found, _ = nnls(scaled / lengths, np.ones(len(time)))
    coefficients: Array = found / lengths
    return coefficients
