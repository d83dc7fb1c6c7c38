"""Times made of exponential phases: what a Markov chain can hold of a time that is not exponential."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slipstick.errors import ModelError
from slipstick.queueing.markov.chain import Array

MOST_PHASES = 100
"""Phases at most: a squared coefficient of variation of 0.01."""


@dataclass(frozen=True, slots=True, eq=False)
class PhaseType:
    """The time until a small chain ends.

    Parameters
    ----------
    start : probability of each phase to be the first [1] [phases]
    rates : rate at which each phase ends [1/s] [phases]
    onward : probability of each phase to follow each; what a row lacks of 1 ends the time [1] [phases, phases]

    >>> time = erlang(6.0, 3)
    >>> print(time.mean, time.scv)
    6.0 0.333
    """

    start: Array
    rates: Array
    onward: Array

    @property
    def phases(self) -> int:
        """How many phases there are."""
        return len(self.rates)

    @property
    def exits(self) -> Array:
        """Probability that the time ends with each phase [1] [phases]."""
        exits: Array = 1.0 - self.onward.sum(axis=1)
        return exits

    def moment(self, order: int) -> Any:
        """Give a moment, ``k! a (-T)^-k 1`` with T = diag(rates) (onward - I) [s^order]."""
        away = self.rates[:, None] * (np.eye(self.phases) - self.onward)
        value: Array = np.ones(self.phases)
        for k in range(1, order + 1):
            value = k * np.linalg.solve(away, value)
        return self.start @ value

    @property
    def mean(self) -> Any:
        """The mean [s]."""
        return self.moment(1)

    @property
    def scv(self) -> Any:
        """Squared coefficient of variation [1]."""
        return self.moment(2) / self.mean**2 - 1.0


def exponential(mean: complex) -> PhaseType:
    """Give one phase of a mean [s].

    >>> exponential(2.0).rates
    array([0.5])
    """
    return PhaseType(np.ones(1), np.array([1.0 / _above(mean)]), np.zeros((1, 1)))


def erlang(mean: complex, phases: int) -> PhaseType:
    """Give equal phases one after the other; scv = 1 / phases.

    >>> erlang(6.0, 3).rates
    array([0.5, 0.5, 0.5])
    """
    if not 1 <= phases <= MOST_PHASES:
        raise ModelError(f"an Erlang time has 1 to {MOST_PHASES} phases, got {phases}")
    first = np.zeros(phases)
    first[0] = 1.0
    return PhaseType(first, np.full(phases, phases / _above(mean)), np.eye(phases, k=1))


def hyperexponential(mean: complex, scv: complex) -> PhaseType:
    """Give one of two phases that hold as much of the mean each (balanced means); scv above 1.

    With ``p = (1 + sqrt((scv - 1) / (scv + 1))) / 2`` the rates are 2 p / mean and 2 (1 - p) / mean.

    Source: Tijms, A First Course in Stochastic Models, Wiley 2003, appendix B.

    >>> print(hyperexponential(1.0, 3.0).scv)
    3.0
    """
    if not complex(scv).real >= 1:
        raise ModelError(f"a hyperexponential time has an scv of at least 1, got {scv}")
    p = (1.0 + np.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
    first = np.array([p, 1.0 - p])
    return PhaseType(first, 2.0 * first / _above(mean), np.zeros((2, 2)))


def coxian(mean: complex, scv: complex) -> PhaseType:
    """Give a row of phases that may be cut short at one end; scv of 0.01 and more.

    Two phases if scv is at least 1/2, the second reached with probability 1 / (2 scv)::

        rates 2 / mean and 1 / (mean scv)

    else k equal phases, 1/k <= scv < 1/(k - 1), of which the first is passed by with probability p::

        p = (k scv - sqrt(k (1 + scv) - k^2 scv)) / (1 + scv)       rate = (k - p) / mean

    Source: Bolch, Greiner, de Meer and Trivedi, Queueing Networks and Markov Chains, Wiley 2006, section 1.3 (two
    phases); Tijms, A First Course in Stochastic Models, Wiley 2003, appendix B (more).

    >>> time = coxian(2.0, 0.4)
    >>> print(time.phases, time.mean, time.scv)
    3 2.0 0.4
    """
    size = complex(scv).real
    if not 1 / MOST_PHASES <= size < np.inf:
        raise ModelError(
            f"a Coxian time has an scv of at least {1 / MOST_PHASES}, got {scv}; simulate what varies less"
        )
    if size >= 0.5:
        onward = np.array([[0.0, 0.5 / scv], [0.0, 0.0]])
        return PhaseType(np.array([1.0, 0.0]), np.array([2.0, 1.0 / scv]) / _above(mean), onward)
    # Rounded down a hair, so that an scv of 1/k takes k phases.
    k = int(np.ceil(1.0 / size - 1e-9))
    p = (k * scv - np.sqrt(k * (1.0 + scv) - k * k * scv)) / (1.0 + scv)
    first = np.zeros(k, dtype=np.asarray(p).dtype)
    first[0], first[1] = 1.0 - p, p
    return PhaseType(first, np.full(k, (k - p) / _above(mean)), np.eye(k, k=1))


def phase_type(mean: complex, scv: complex) -> PhaseType:
    """Give a time of a mean and an scv: exponential, hyperexponential above 1, Coxian below.

    >>> phase_type(1.0, 1.0).phases, phase_type(1.0, 4.0).phases, phase_type(1.0, 0.25).phases
    (1, 2, 4)
    """
    if scv == 1:
        return exponential(mean)
    return hyperexponential(mean, scv) if complex(scv).real > 1 else coxian(mean, scv)


def _above(mean: complex) -> complex:
    if not 0 < complex(mean).real < np.inf:
        raise ModelError(f"a time made of phases needs a finite mean above 0 s, got {mean}")
    return mean
