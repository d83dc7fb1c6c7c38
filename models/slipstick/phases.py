"""Times made of exponential phases, for a given mean and squared coefficient of variation (scv).

    0 < scv < 1   a row of exponential phases of which the last may be missing (`phases_below_one`);
                  an Erlang time where 1/scv is whole
    scv 1         exponential
    scv > 1       one of two exponential phases that contribute half of the mean each
                  (`balanced_means`)

No array is made when this module is imported, so that checks of files do not load NumPy.
"""

from __future__ import annotations

from typing import Any

from slipstick.errors import ModelError
from slipstick.late import NDArray, dataclass, np

Array = NDArray[Any]
"""Real or, for derivatives, complex numbers along the points of a sweep."""

# A chain has a state for each phase of a time: a hundred phases make it a hundred times as large.
MOST_PHASES = 100
"""The largest number of phases of a time."""
LEAST_SCV = 1 / MOST_PHASES
"""The least squared coefficient of variation of a time made of phases."""


@dataclass(frozen=True, slots=True, eq=False)
class PhaseType:
    """A phase-type distribution: the time until a small Markov chain ends.

    Parameters
    ----------
    start : probability of each phase to be the first [1] [phases]
    rates : rate at which each phase ends [1/s] [phases]
    onward : probability of each phase to follow each; what a row lacks of 1 ends the time [1]
        [phases, phases]

    >>> time = phase_type(6.0, 1 / 3)
    >>> print(time.mean, time.scv)
    6.0 0.333
    """

    start: Array
    rates: Array
    onward: Array

    @property
    def phases(self) -> int:
        """Number of phases."""
        return len(self.rates)

    @property
    def exits(self) -> Array:
        """Probability that the time ends after each phase [1] [phases]."""
        exit_probabilities: Array = 1.0 - self.onward.sum(axis=1)
        return exit_probabilities

    def scaled(self, factor: complex) -> PhaseType:
        """Return the time multiplied by a factor."""
        return PhaseType(self.start, self.rates / factor, self.onward)

    def moment(self, order: int) -> Any:
        """Return a moment, ``k! a (-T)^-k 1`` with T = diag(rates) (onward - I) [s^order]."""
        minus_generator = self.rates[:, None] * (np.eye(self.phases) - self.onward)
        moment_by_phase: Array = np.ones(self.phases)
        for power in range(1, order + 1):
            # One solve for each order instead of the inverse, which would lose digits.
            moment_by_phase = power * np.linalg.solve(minus_generator, moment_by_phase)
        return self.start @ moment_by_phase

    @property
    def mean(self) -> Any:
        """The mean [s]."""
        return self.moment(1)

    @property
    def scv(self) -> Any:
        """Squared coefficient of variation [1]."""
        return self.moment(2) / self.mean**2 - 1.0


def exponential(mean: complex) -> PhaseType:
    """Return an exponential time of a mean [s], as one phase.

    >>> exponential(2.0).rates
    array([0.5])
    """
    return PhaseType(np.ones(1), np.array([1.0 / _checked_mean(mean)]), np.zeros((1, 1)))


def balanced_means(scv: complex | Array) -> Any:
    """Return the probability of the shorter of two phases that contribute half of the mean each;
    scv is at least 1.

        p = (1 + sqrt((scv - 1) / (scv + 1))) / 2    means 1 / (2 p) and 1 / (2 (1 - p)) of the mean

    Source: Tijms, A First Course in Stochastic Models, Wiley 2003, appendix B.
    """
    return (1.0 + np.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0


def hyperexponential(mean: complex, scv: complex) -> PhaseType:
    """Return a hyperexponential time: one of two phases with balanced means; see `balanced_means`.

    >>> print(hyperexponential(1.0, 3.0).scv)
    3.0
    """
    # So written, NaN is refused too.
    if not complex(scv).real >= 1:
        raise ModelError(f"a hyperexponential time has an scv of at least 1, got {scv}")
    short_probability = balanced_means(scv)
    start_probabilities = np.array([short_probability, 1.0 - short_probability])
    return PhaseType(
        start_probabilities, 2.0 * start_probabilities / _checked_mean(mean), np.zeros((2, 2))
    )


def phases_below_one(scv: complex) -> tuple[int, Any, Any, Any]:
    """Return, for a time with mean 1 and scv below 1, the number of equal phases, their mean, the
    probability of one more phase, and its mean.

    Two phases where 1/2 <= scv < 1: one of mean 1/2, and with probability 1 / (2 scv) one of mean
    scv. They become one exponential time at scv 1, with a derivative. Below, k phases of mean 1 /
    (k - p) where 1/k <= scv < 1/(k - 1), the last of them with probability 1 - p::

        p = (k scv - sqrt(k (1 + scv) - k^2 scv)) / (1 + scv)

    Source: Bolch, Greiner, de Meer and Trivedi, Queueing Networks and Markov Chains, Wiley 2006,
    section 1.3 (two phases); Tijms, A First Course in Stochastic Models, Wiley 2003, appendix B
    (more).

    Returns
    -------
    number of phases that always are, mean of each, probability of the one more, and its mean

    >>> phases_below_one(0.5)
    (1, 0.5, 1.0, 0.5)
    >>> phases_below_one(0.25)[0]
    3
    """
    real_scv = complex(scv).real
    if real_scv >= 0.5:
        return 1, 0.5, 0.5 / scv, scv
    # Lowered slightly, so that an scv of 1/k takes k phases.
    k = int(np.ceil(1.0 / real_scv - 1e-9))
    p = (k * scv - np.sqrt(k * (1.0 + scv) - k * k * scv)) / (1.0 + scv)
    return k - 1, 1.0 / (k - p), 1.0 - p, 1.0 / (k - p)


def coxian(mean: complex, scv: complex, owner: str = "a Coxian time") -> PhaseType:
    """Return a Coxian time: a chain of phases whose last one may be skipped, for scv from 0.01 on;
    see `phases_below_one`. An error for a smaller scv names the owner of the time.

    >>> time = coxian(2.0, 0.4)
    >>> print(time.phases, time.mean, time.scv)
    3 2.0 0.4
    """
    if not LEAST_SCV <= complex(scv).real < np.inf:
        raise ModelError(
            f"{owner} needs an scv of at least {LEAST_SCV} to be made of phases, got {scv};"
            " simulate what varies less"
        )
    certain_phase_count, phase_mean, last_probability, last_mean = phases_below_one(scv)
    start_probabilities = np.zeros(certain_phase_count + 1)
    start_probabilities[0] = 1.0
    phase_means = np.array([*[phase_mean] * certain_phase_count, last_mean]) * _checked_mean(mean)
    onward = np.eye(certain_phase_count + 1, k=1, dtype=phase_means.dtype)
    onward[-2, -1] = last_probability
    return PhaseType(start_probabilities, 1.0 / phase_means, onward)


def phase_type(mean: complex, scv: complex, owner: str = "a Coxian time") -> PhaseType:
    """Return a time with a mean and an scv: exponential for scv 1, hyperexponential above, Coxian
    below. An error for a too small scv names the owner of the time.

    >>> phase_type(1.0, 1.0).phases, phase_type(1.0, 4.0).phases, phase_type(1.0, 0.25).phases
    (1, 2, 4)
    """
    if scv == 1:
        return exponential(mean)
    return hyperexponential(mean, scv) if complex(scv).real > 1 else coxian(mean, scv, owner)


def _checked_mean(mean: complex) -> complex:
    if not 0 < complex(mean).real < np.inf:
        raise ModelError(f"a time made of phases needs a finite mean above 0 s, got {mean}")
    return mean
