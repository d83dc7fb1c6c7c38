"""Distributions of times in models of JSIM that are no formula of a few numbers: normal times,
which JMT draws again below zero, phases, processes of arrivals, and times from a file.

Sources: JMT's classes Normal, PhaseTypePar, MAPPar and ReplayerPar; moments of phases and of
Markovian arrival processes: Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, chapter
2.
"""

from __future__ import annotations

import math
from pathlib import Path, PureWindowsPath

from slipstick.late import np
from slipstick.limits import limit_in_force
from slipstick_measure.readers.reading import NUMBER

MOST_PHASES = 100
_ROUNDING = 1e-6
"""Difference of sums of probabilities and of rates that is rounding, as a part."""

Matrix = list[list[float]]


def moments_of_truncated_normal(mean: float, deviation: float) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of a normal time that is drawn again
    if it is not above zero.

    >>> moments_of_truncated_normal(10.0, 1.0)
    (10.0, 0.01)
    >>> mean, scv = moments_of_truncated_normal(0.0, 1.0)  # half of a normal distribution
    >>> mean == math.sqrt(2 / math.pi), round(scv, 9) == round(math.pi / 2 - 1, 9)
    (True, True)
    """
    standard_limit = -mean / deviation
    probability_above = math.erfc(standard_limit / math.sqrt(2)) / 2
    hazard = math.exp(-(standard_limit**2) / 2) / math.sqrt(2 * math.pi) / probability_above
    truncated_mean = mean + deviation * hazard
    variance = deviation**2 * (1 + standard_limit * hazard - hazard**2)
    return truncated_mean, variance / truncated_mean**2


def phase_moments(start_probabilities: list[float], rates: Matrix) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of a phase-type time.

    Parameters
    ----------
    start_probabilities : probabilities of the phase in which it begins
    rates : rates between phases, and on the diagonal minus the rate at which a phase ends; the time
        ends at the rate by which a row adds up to less than 0 [1/s]

    Raises
    ------
    ArithmeticError : the probabilities do not add up to 1, a rate is below 0, or rows add up to
        more than 0

    >>> phase_moments([1.0, 0.0], [[-2.0, 2.0], [0.0, -2.0]])  # Erlang, two phases of 0.5 s
    (1.0, 0.5)
    """
    phase_rates = np.array(rates)
    if min(start_probabilities) < 0 or not math.isclose(
        math.fsum(start_probabilities), 1.0, rel_tol=_ROUNDING
    ):
        raise ArithmeticError
    _check_rates(phase_rates, -phase_rates.sum(axis=1))
    return _moments_of_markov_process(np.array(start_probabilities), phase_rates)


def arrival_moments(rates_without_event: Matrix, rates_with_event: Matrix) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of the times between the events of a
    Markovian arrival process.

    Parameters
    ----------
    rates_without_event, rates_with_event : rates between its states without an event
        and with one, D0 and D1 [1/s]

    Raises
    ------
    ArithmeticError : a rate is below 0, or rows of both together do not add up to 0

    >>> arrival_moments([[-2.0]], [[2.0]])
    (0.5, 1.0)
    """
    hidden_rates = np.array(rates_without_event)
    observed_rates = np.array(rates_with_event)
    row_sums = hidden_rates.sum(axis=1) + observed_rates.sum(axis=1)
    _check_rates(hidden_rates, observed_rates)
    _check_rates(hidden_rates, -np.abs(row_sums))
    transitions_at_events = np.linalg.solve(-hidden_rates, observed_rates)
    equations = np.vstack(
        [
            transitions_at_events.T - np.eye(len(transitions_at_events)),
            np.ones(len(transitions_at_events)),
        ]
    )
    start = np.linalg.lstsq(
        equations, np.append(np.zeros(len(transitions_at_events)), 1.0), rcond=None
    )[0]
    return _moments_of_markov_process(start, hidden_rates)


def _check_rates(inner_rates: np.ndarray, other_rates: np.ndarray) -> None:
    """Raise ArithmeticError if a rate between states, or another rate, is below 0 by more than
    rounding.
    """
    leaving_rates = -np.diag(inner_rates)
    off_diagonal_rates = inner_rates + np.diag(leaving_rates)
    if (
        min(off_diagonal_rates.min(), other_rates.min()) < -_ROUNDING * leaving_rates.max()
        or leaving_rates.min() <= 0
    ):
        raise ArithmeticError


def _moments_of_markov_process(
    start_probabilities: np.ndarray, rates: np.ndarray
) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of a phase-type time that begins in
    each phase with the probability in `start_probabilities`.
    """
    ones = np.ones(len(start_probabilities))
    mean_by_phase = np.linalg.solve(-rates, ones)
    mean = float(start_probabilities @ mean_by_phase)
    mean_square = 2 * float(start_probabilities @ np.linalg.solve(-rates, mean_by_phase))
    return mean, mean_square / mean**2 - 1


def moments_of_file(model_file: str, name: str) -> tuple[float, float] | None:
    """Return the mean and the squared coefficient of variation of the times in a file beside a
    model; None if there is no such file, or no list of times in it.

    Parameters
    ----------
    model_file : path of the model
    name : of the file, as the model has it, with the folder of its author
    """
    file_path = Path(model_file).parent / PureWindowsPath(name).name
    if not file_path.is_file() or file_path.stat().st_size > limit_in_force("data_bytes"):
        return None
    texts = file_path.read_bytes().decode("utf-8", "replace").split()
    if not texts or not all(NUMBER.fullmatch(time_text) for time_text in texts):
        return None
    times = [float(time_text) for time_text in texts]
    mean = math.fsum(times) / len(times)
    if min(times) < 0 or not 0 < mean < math.inf:
        return None
    return mean, math.fsum((time - mean) ** 2 for time in times) / len(times) / mean**2
