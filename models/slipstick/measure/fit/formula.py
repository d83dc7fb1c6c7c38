"""Formulas with free parameters, as plain arithmetic on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.measure.fit.timings import Array, Timings


@dataclass(frozen=True, slots=True)
class Letter:
    """A free parameter: its name, its base unit and what it means.

    Parameters
    ----------
    name, unit, meaning : in words
    most, least : what it may be
    """

    name: str
    unit: str
    meaning: str
    most: float = np.inf
    least: float = 0.0


Lost = Mapping[str, Array]
"""Seconds of a processor that are not useful, by cause, at each point."""


def nothing_lost(theta: Array, timings: Timings) -> Lost:
    """Book nothing: a curve does not say what the time is lost to."""
    return {}


@dataclass(frozen=True, slots=True)
class Form:
    """One formula.

    Parameters
    ----------
    family : the kind of model
    text : the formula in plain text
    letters : its free parameters
    time : from parameters, (k,) or (k, M), and timings, the times at their points [s]
    starts : from timings, parameters to begin a search at; several where there may be several valleys
    chosen : how many exponents were chosen by looking at the data, to be counted as parameters
    far : multiples of the largest number of processors measured that are looked at for limits
    lost : from parameters and timings, what the times are lost to; nothing where the formula does not say
    """

    family: str
    text: str
    letters: tuple[Letter, ...]
    time: Callable[[Array, Timings], Array]
    starts: Callable[[Timings], Sequence[Array]]
    chosen: int = 0
    far: float = 64.0
    lost: Callable[[Array, Timings], Lost] = nothing_lost

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(letter.name for letter in self.letters)

    @property
    def least(self) -> Array:
        """The smallest values of the parameters, (k,)."""
        return np.array([letter.least for letter in self.letters])

    @property
    def most(self) -> Array:
        """The largest values of the parameters, (k,)."""
        return np.array([letter.most for letter in self.letters])

    def times(self, thetas: Array, timings: Timings) -> Array:
        """Evaluate for several sets of parameters in one call.

        Parameters
        ----------
        thetas : the sets, (D, k)
        timings : M points

        Returns
        -------
        times [s], (D, M)
        """
        # Repetitions are at the same point: what the form says of it is asked once.
        distinct, where = np.unique(np.stack([timings.p, timings.n]), axis=1, return_inverse=True)
        count, points = len(thetas), distinct.shape[1]
        p, n = (np.tile(each, count) for each in distinct)
        found = self.time(np.repeat(thetas.T, points, axis=1), Timings(p, n, p, timings.each))
        return np.broadcast_to(found, (count * points,)).reshape(count, points)[:, where.reshape(-1)]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of model.

    Parameters
    ----------
    name, title, source : what it is called, what it says, where it comes from
    forms : the forms that it may take for some timings
    """

    name: str
    title: str
    source: str
    forms: Callable[[Timings], Sequence[Form]]


def shared(timings: Timings) -> Array:
    """Give what processor seconds are divided by to be a time."""
    return np.ones(len(timings)) if timings.each else timings.p


Basis = Callable[[Timings], Array]


def linear(
    family: str,
    text: str,
    terms: Sequence[tuple[Letter, Basis]],
    chosen: int = 0,
    lost: Mapping[str, str] | None = None,
) -> Form:
    """Make a form that is a sum of terms, each a parameter times a function of the point.

    Parameters
    ----------
    family, text, chosen : as for `Form`
    terms : each parameter with its function
    lost : cause of the loss that a term is, by the term's parameter
    """

    def columns(timings: Timings) -> Array:
        return np.column_stack([basis(timings) for _, basis in terms])

    def time(theta: Array, timings: Timings) -> Array:
        found: Array = (columns(timings) * theta.T).sum(axis=1)
        return found

    def starts(timings: Timings) -> list[Array]:
        return [nonnegative(columns(timings), timings.time)]

    def losses(theta: Array, timings: Timings) -> Lost:
        named = zip(terms, theta, strict=True)
        causes = lost or {}
        return {causes[each.name]: value * basis(timings) for (each, basis), value in named if each.name in causes}

    return Form(family, text, tuple(letter for letter, _ in terms), time, starts, chosen, lost=losses)


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
