"""The tables of the page on methods: what each method answers for each construct, and the errors
that were measured.

What a method of activities knows is in its registry (`slipstick.vocabulary.KNOWN`), and the errors
of mean value stand beside its rules. Methods of networks say with each model what they take, so
that each of them solves an example here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slipstick import Answer, QueueingNetwork, Simulation, solve
from slipstick.errors import MeasuredError, NoAnswerError
from slipstick.vocabulary import (
    BEST,
    BOUNDS,
    CLOSED_FORM,
    CONSTRUCTS,
    KNOWN,
    MARKOV_CHAIN,
    MEAN_VALUE,
    METHODS,
    NETWORK,
    REGIONS,
    RETRIES,
    SIMULATION,
)
from slipstick_mean_value.measured_errors import (
    ALL,
    MEASURED_ERRORS,
    MEASURED_SCVS,
    ROW_BY_CONSTRUCT,
    Errors,
)

REFUSED, EXACT, SIMULATED = "refused", "exact", "simulated"

AIM_MEDIAN, AIM_HIGH = 2.0, 10.0
"""Errors of mean value above which a cell is bold: the median, and the 95th percentile [%]."""

_ANSWER_BY_METHOD = {
    CLOSED_FORM: "exact if nothing waits",
    BOUNDS: "bounds",
    MARKOV_CHAIN: EXACT,
    SIMULATION: SIMULATED,
}

_RUN = Simulation(seed=3, events=3_000)


def constructs_of_activities() -> Iterator[str]:
    """Yield the table of the constructs of activities."""
    yield from _head("construct", KNOWN)
    for construct, words in CONSTRUCTS.items():
        if construct not in (REGIONS, RETRIES):
            cells = [_cell_of_activity(method, construct) for method in KNOWN]
            yield _row(f"{construct}: {words}", cells)
    yield ""


def _cell_of_activity(method: str, construct: str) -> str:
    if construct not in KNOWN[method]:
        return REFUSED
    if method != MEAN_VALUE:
        return _ANSWER_BY_METHOD[method]
    exponential = MEASURED_SCVS.index(1.0)
    median, high, _ = MEASURED_ERRORS[ROW_BY_CONSTRUCT[construct]][exponential]
    return f"approximate: {median:g} % ({high:g} %)"


def errors_of_mean_value() -> Iterator[str]:
    """Yield the table of the errors of mean value; errors beyond the aim are bold."""
    yield from _head(
        "construct", [f"scv {scv:g}" if scv else "constant times" for scv in MEASURED_SCVS]
    )
    for name, errors in MEASURED_ERRORS.items():
        yield _row(f"**{name}**" if name == ALL else name, list(map(_errors_in_words, errors)))
    yield ""


def _errors_in_words(errors: Errors) -> str:
    median, high, largest = errors
    numbers = [
        f"**{error:.1f}**" if error > aim else f"{error:.1f}"
        for error, aim in ((median, AIM_MEDIAN), (high, AIM_HIGH))
    ]
    return f"{' / '.join(numbers)} / {largest}"


def constructs_of_networks() -> Iterator[str]:
    """Yield the table of the constructs of networks, each of which its example has."""
    from tests.network_examples import EXAMPLES  # the networks of the tests

    methods = [method for method in METHODS[NETWORK] if method != BEST]
    yield from _head("construct", methods)
    for words, example in EXAMPLES.items():
        network = example()
        yield _row(words, [cell_of_network(network, method) for method in methods])
    yield ""


def cell_of_network(network: QueueingNetwork, method: str) -> str:
    """Return what a method answers for a network: refused, exact, simulated, bounds, or
    approximate with the measured error of the response time.
    """
    try:
        answer = solve(network, method=method, simulation=_RUN)
    except NoAnswerError:
        return REFUSED
    if method in (BOUNDS, SIMULATION):
        return _ANSWER_BY_METHOD[method]
    if method == MARKOV_CHAIN:
        return EXACT if answer.exact else "exact in phases"
    return EXACT if answer.exact else f"approximate: {_measured_error(answer)}"


def _measured_error(answer: Answer) -> str:
    """Return the median and the 95th percentile of the error that an answer states."""
    for note in answer.notes:
        if isinstance(note, MeasuredError):
            median, high = note.response_errors
            return f"{median:g} % ({high:g} %)"
    return "error not measured"


def _head(name: str, columns: Sequence[str] | Mapping[str, object]) -> Iterator[str]:
    yield _row(name, list(columns))
    yield "|" + " --- |" * (1 + len(columns))


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"
