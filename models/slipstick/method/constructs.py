"""Which method knows which construct, so that none passes over what it has no rule for.

A part of a model says which constructs it has (`slipstick.model.steps.constructs_of`): fields that
have not their defaults. A method says here which it knows; a model with any other it refuses by name,
and the ladder goes on to the next method. A construct that is added to a model later is thereby
refused by every method, also of other packages, until that method declares it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from slipstick.errors import NoAnswerError
from slipstick.model.system import Model
from slipstick.vocabulary import (
    ATTEMPTS,
    BOUNDS,
    CLOSED_FORM,
    CONSTRUCTS,
    FULL_QUEUES,
    GEOMETRIC_COUNT,
    MARKOV_CHAIN,
    MEAN_VALUE,
    RANKS,
    ROUTES_BY_STATE,
    SECOND_PHASES,
    SIMULATION,
)

KNOWN: Mapping[str, frozenset[str]] = {
    CLOSED_FORM: frozenset({GEOMETRIC_COUNT, RANKS}),
    BOUNDS: frozenset(CONSTRUCTS) - {ATTEMPTS, FULL_QUEUES, ROUTES_BY_STATE},
    MEAN_VALUE: frozenset({GEOMETRIC_COUNT}),
    MARKOV_CHAIN: frozenset(
        {GEOMETRIC_COUNT, SECOND_PHASES, RANKS, ATTEMPTS, FULL_QUEUES, ROUTES_BY_STATE}
    ),
    SIMULATION: frozenset(CONSTRUCTS),
}
"""The constructs that each method for activities knows."""


def refuse_unknown(model: Model, method: str, known: Collection[str]) -> None:
    """Raise a NoAnswerError for a model with a construct that a method does not know.

    >>> from slipstick.model.activity import delay, repeat
    >>> from slipstick.model.system import closed_model
    >>> refuse_unknown(closed_model(repeat(2, delay(1.0), spread="geometric")), "quick", ())
    Traceback (most recent call last):
        ...
    slipstick.errors.NoAnswerError: quick has no rule for geometric counts (a repetition whose number of rounds is geometric); markov-chain, simulation have
    """
    for construct in sorted(model.constructs - set(known)):
        methods = [name for name in (MARKOV_CHAIN, SIMULATION) if construct in KNOWN[name]]
        raise NoAnswerError(
            f"{method} has no rule for {construct} ({CONSTRUCTS.get(construct, construct)});"
            f" {', '.join(methods)} {'have' if len(methods) > 1 else 'has'}"
        )
