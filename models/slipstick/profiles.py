"""Profiles over the day: how the rate of arrivals changes in each period."""

from __future__ import annotations

import math

from slipstick.errors import ModelError

Profile = tuple[tuple[float, float], ...]
"""The pieces of a period, one after the other: how long each lasts [s], and its rate of arrivals
[1/s]. A model scales the rates so that their mean is its rate of arrivals.
"""

OTHER_PATTERN = "a profile says at which rate customers arrive; leave bursts and traces out"
"""The message on a profile beside another pattern of arrivals."""
NO_ARRIVALS = "a profile needs a piece in which customers arrive"
"""The message on a profile without arrivals."""


def period_of(profile: Profile) -> float:
    """Return the duration of a period [s].

    >>> period_of(((3600.0, 1.0), (7200.0, 4.0)))
    10800.0
    """
    return math.fsum(duration for duration, _ in profile)


def mean_rate_of(profile: Profile) -> float:
    """Return the mean rate over a period [1/s].

    >>> mean_rate_of(((3600.0, 1.0), (7200.0, 4.0)))
    3.0
    """
    return math.fsum(duration * rate for duration, rate in profile) / period_of(profile)


def check_profile(profile: Profile, has_other_pattern: bool) -> None:
    """Raise if a profile is not possible, or if arrivals follow another pattern as well.

    Parameters
    ----------
    profile : the pieces, at least one
    has_other_pattern : whether arrivals come in bursts or by a trace

    Raises
    ------
    ModelError : a piece has no duration, no piece has arrivals, or there is another pattern
    """
    if has_other_pattern:
        raise ModelError(OTHER_PATTERN)
    for duration, rate in profile:
        if not 0 < duration < math.inf:
            raise ModelError(f"a piece of a profile lasts longer than 0 s, got {duration:g} s")
        if not 0 <= rate < math.inf:
            raise ModelError(f"the rate of a piece of a profile is at least 0 /s, got {rate:g} /s")
    if not 0 < mean_rate_of(profile) < math.inf:
        raise ModelError(NO_ARRIVALS)
