"""How likely a condition is, in one word, from the part of the random draws in which it is true."""

from __future__ import annotations

from slipstick.results.question import NO, UNDECIDED, YES

_LEAST_PROBABLE = 0.55
"""The part of the draws from which a condition is called probable."""


def likelihood_word(share: float) -> str:
    """Return the word that answers a title that asks yes or no.

    Parameters
    ----------
    share : part of the draws in which the condition is true [1]; NaN if no draw has an answer

    >>> [likelihood_word(share) for share in (1.0, 0.8, 0.5, 0.2, 0.0)]
    ['Yes', 'Probably', 'Undecided', 'Probably not', 'No']
    >>> likelihood_word(float("nan"))
    'Undecided'
    """
    if share in (0.0, 1.0):
        return YES if share else NO
    if share >= _LEAST_PROBABLE:
        return "Probably"
    # Not `share <= 1 - _LEAST_PROBABLE`, which rounds to below 0.45.
    return "Probably not" if 1 - share >= _LEAST_PROBABLE else UNDECIDED
