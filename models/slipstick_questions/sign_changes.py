"""Changes of a condition along one parameter: where it starts or stops holding, found on a grid and
then by root finding.
"""

from __future__ import annotations

from collections.abc import Callable

from slipstick.expression.formula import Comparison
from slipstick.late import Array, NDArray, dataclass, np

_LARGEST_MARGIN_AT_ROOT = 1e-6
"""A margin that is larger than this at the root says that the condition jumps there."""


MARGIN_OF_EQUAL_SIDES = 1e-12
"""Margin up to which the sides of a condition are taken as equal [1]: a method's last digits are
no change of an answer.
"""


@dataclass(frozen=True, slots=True)
class Change:
    """A place on the axis of a search where a condition starts or stops holding.

    Parameters
    ----------
    value : where, in base units, or the year; of a condition that is seen at single values only,
        the first on the far side
    before : the last place seen on the near side, of such a condition
    starts : it holds from there on, and not before
    jump : a side of the condition jumps there
    low, high : ends of the interval of the place, where the sides are estimates, or its band, where
        they are drawn; of a condition that is seen at single values only, of the first or the last
        value at which it holds
    part : how much of the draws cross there at all [1]
    """

    value: float
    before: float | None
    starts: bool
    jump: bool = False
    low: float | None = None
    high: float | None = None
    part: float | None = None

    def is_open_at(self, place: float) -> bool:
        """Return whether the interval leaves open what the condition is at a place.

        >>> at_single_values = Change(17.0, 16.0, starts=False, low=15.0, high=16.0)
        >>> [place for place in (15.0, 16.0, 17.0) if at_single_values.is_open_at(place)]
        [16.0]
        >>> at_single_values = Change(6.0, 5.0, starts=True, low=5.0, high=7.0)
        >>> [place for place in (4.0, 5.0, 6.0, 7.0) if at_single_values.is_open_at(place)]
        [5.0, 6.0]
        """
        if self.low is None or self.high is None or not self.low <= place <= self.high:
            return False
        if self.before is None:
            return self.low < place < self.high
        return place != (self.high if self.starts else self.low)


def margin(comparison: Comparison, left_side: Array, right_side: Array) -> Array:
    """Return the margin of a condition, above 0 where it holds: the difference of its sides
    relative to their size [1].

    Parameters
    ----------
    comparison : by <, <=, > or >=
    left_side, right_side : values of its sides, in base units
    """
    size_of_sides = np.abs(left_side) + np.abs(right_side)
    with np.errstate(all="ignore"):
        difference = np.where(size_of_sides == 0, 0.0, (left_side - right_side) / size_of_sides)
    # A time without limit differs from every other by its own size; of two such nothing is known.
    is_one_infinite = np.isinf(left_side) != np.isinf(right_side)
    difference = np.where(
        is_one_infinite & ~np.isnan(size_of_sides),
        np.where(np.isinf(left_side), np.sign(left_side), -np.sign(right_side)),
        difference,
    )
    return np.asarray(-difference if comparison.relation.startswith("<") else difference)


def find_changes(
    margins: Array,
    holds: NDArray[np.bool_],
    places: Array,
    margin_at: Callable[[float], float] | None,
) -> list[Change]:
    """Return the changes of a condition between neighbouring places of a grid, in order.

    No change is found next to a place without a margin. Two changes between neighbours are not
    seen.

    Parameters
    ----------
    margins, holds : of the condition at the places; not a number where there is no answer
    places : rising
    margin_at : returns the margin at any place, for Brent's method (SciPy); None if there are only
        those places

    >>> x = np.linspace(0.0, 3.0, 7)
    >>> [change.value for change in find_changes(x**2 - 2, x**2 >= 2, x, lambda x: x**2 - 2)]
    [1.4142135623730951]
    """
    found_changes = []
    for index in range(len(places) - 1):
        margin_before = margins[index]
        margin_after = margins[index + 1]
        if (
            not (np.isfinite(margin_before) and np.isfinite(margin_after))
            or holds[index] == holds[index + 1]
        ):
            continue
        low = float(places[index])
        high = float(places[index + 1])
        starts = bool(holds[index + 1])
        if margin_at is None:
            found_changes.append(Change(high, low, starts))
            continue
        value = _root_between_places(
            margin_at, low, high, float(margin_before), float(margin_after)
        )
        found_changes.append(
            Change(value, None, starts, jump=abs(margin_at(value)) > _LARGEST_MARGIN_AT_ROOT)
        )
    return found_changes


def decide(margins: Array, holds: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return for each place whether a condition on estimates holds (1), does not hold (-1), or is
    within noise (0).

    Parameters
    ----------
    margins : value, low end and high end of the margin [3, places]
    holds : the values themselves meet the condition [places]

    >>> decide(
    ...     np.array([[0.1, 0.1, -0.1], [-0.1, 0.05, -0.2], [0.3, 0.2, -0.05]]),
    ...     np.array([True, True, False]),
    ... )
    array([ 0,  1, -1], dtype=int8)
    """
    _, low, high = margins
    return np.where((low > 0) | (high < 0) | (low == high), np.where(holds, 1, -1), 0).astype(
        np.int8
    )


def find_estimated_changes(
    margins: Array, holds: NDArray[np.bool_], places: Array, *, has_only_places: bool
) -> tuple[list[Change], list[tuple[float, float]]]:
    """Return the changes of a condition on estimates, and the ranges in which it is within noise.

    A change lies between two places at which the condition is decided differently. Its interval
    begins where one end of the interval of the margin crosses 0 and ends where the other end does;
    between neighbours, margins are taken as straight lines. Undecided places in between are noise,
    and give no change of their own.

    Parameters
    ----------
    margins, holds : as for `decide`; not a number where there is no answer
    places : rising
    has_only_places : nothing lies between the places; a change is then at the first place on its
        far side

    Returns
    -------
    the changes, and the first and the last place of each further stretch of undecided places; if
    something lies between the places, the decided places on both sides of it

    >>> margins = np.array([[-2.0, -0.5, 1.0], [-3.0, -1.5, 0.5], [-1.0, 0.5, 1.5]])
    >>> (change,), stretches = find_estimated_changes(
    ...     margins, margins[0] > 0, np.array([0.0, 1.0, 2.0]), has_only_places=False
    ... )
    >>> round(change.low, 3), round(change.value, 3), round(change.high, 3), stretches
    (0.667, 1.333, 1.75, [])
    """
    states = decide(margins, holds)
    has_answer = np.isfinite(margins[0])
    changes_found: list[Change] = []
    stretches: list[tuple[float, float]] = []
    last_decided: int | None = None
    undecided_since: int | None = None

    for index in range(len(places) + 1):
        has_run_ended = index == len(places) or not has_answer[index]
        if not has_run_ended and not states[index]:
            undecided_since = index if undecided_since is None else undecided_since
            continue
        if last_decided is not None and not has_run_ended and states[index] != states[last_decided]:
            changes_found.append(
                _estimated_change(
                    margins,
                    places,
                    last_decided,
                    index,
                    bool(states[index] > 0),
                    has_only_places=has_only_places,
                )
            )
        elif undecided_since is not None:
            first_index, last_index = undecided_since, index - 1
            # Between places, all that lies up to the decided neighbours is unknown.
            if not has_only_places and last_decided is not None:
                first_index = last_decided
            if not has_only_places and not has_run_ended:
                last_index = index
            stretches.append((float(places[first_index]), float(places[last_index])))
        last_decided = None if has_run_ended else index
        undecided_since = None
    return changes_found, stretches


def _estimated_change(
    margins: Array,
    places: Array,
    decided_before: int,
    decided_after: int,
    starts: bool,
    *,
    has_only_places: bool,
) -> Change:
    """Return the change of a condition between two places at which it is decided."""
    middle, low, high = (
        margins[:, decided_before : decided_after + 1]
        if starts
        else -margins[:, decided_before : decided_after + 1]
    )
    first_curve, last_curve = (high, low) if starts else (low, high)
    # The curve that comes to 0 first does so for the first time, the others for the last time.
    indices_below_zero = [
        np.flatnonzero(np.append(True, is_below))
        for is_below in (middle[1:-1] < 0, last_curve[1:-1] <= 0)
    ]
    interval_indices = (
        int(np.argmax(first_curve[1:] >= 0)),
        *(int(indices[-1]) for indices in indices_below_zero),
    )
    if has_only_places:
        near_indices = decided_before + np.array(interval_indices)
        # The first place at which it holds is on the far side, the last one on the near side.
        low_place, _, high_place = map(float, places[near_indices + starts])
        value, place_before = float(places[near_indices[1] + 1]), float(places[near_indices[1]])
        return Change(value, place_before, starts, low=low_place, high=high_place)
    low_place, value, high_place = (
        float(
            np.interp(
                0.0,
                margin_row[interval_index : interval_index + 2],
                places[decided_before + interval_index : decided_before + interval_index + 2],
            )
        )
        for interval_index, margin_row in zip(
            interval_indices, (first_curve, middle, last_curve), strict=True
        )
    )
    return Change(value, None, starts, low=min(low_place, value), high=max(high_place, value))


def _root_between_places(
    margin_at: Callable[[float], float],
    low: float,
    high: float,
    margin_at_low: float,
    margin_at_high: float,
) -> float:
    """Return the place between two others at which a margin is 0."""
    from scipy.optimize import brentq

    if margin_at_low * margin_at_high >= 0.0:
        # Held with equality, but for rounding, at a place itself, or just not any more.
        return low if abs(margin_at_low) <= abs(margin_at_high) else high
    # The ends are known; NaN inside would end the search anywhere, and counts as the far side.
    values_known = {low: margin_at_low, high: margin_at_high}

    def known_or_computed(x: float) -> float:
        value = values_known.get(x, float("nan"))
        value = margin_at(x) if np.isnan(value) else value
        return margin_at_high if np.isnan(value) else value

    # The smallest rtol that brentq accepts: the place is exact but for rounding.
    return float(
        brentq(
            known_or_computed,
            low,
            high,
            xtol=1e-14 * max(abs(low), abs(high)),
            rtol=8.9e-16,
            maxiter=500,
        )
    )
