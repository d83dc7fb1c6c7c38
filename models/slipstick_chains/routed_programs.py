"""Routes between places as a program: choices and geometric repetitions that take the same ways
with the same probabilities.

Places are taken out one by one, as in Kleene's construction of an expression from an automaton. A
place that a customer enters, stays at with the probability s by ways back to it, and leaves,
becomes a geometric number of such ways, s / (1 - s) in the mean, and a choice of the ways out, each
with its probability over 1 - s. So the program is equal to the routes, not only in the mean.

Source: Kleene, Representation of Events in Nerve Nets and Finite Automata, Automata Studies, 1956;
with probabilities: Brzozowski and McCluskey, IEEE Trans. Electronic Computers 12(2), 1963, 67-76.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr, total
from slipstick.model.activity import GEOMETRIC, Choice, Repeat, Then, then
from slipstick.model.steps import ONCE, Activity, steps

MOST_STEPS = 2000
"""The largest number of steps of a program of routes; a part that occurs several times counts each
time.
"""

START, END = "start", "end"
PlaceOrEnd = Any
"""A place of the network, or `START` or `END` of the program."""


class Way(NamedTuple):
    """A way from one place to another: its probability, and the activity that is executed on it."""

    probability: Expr
    activity: Activity


def program_of_routes(
    routes: Iterable[tuple[PlaceOrEnd, PlaceOrEnd, Expr]],
    visit_activity: Callable[[PlaceOrEnd], Activity],
) -> Activity:
    """Return the program of a customer that takes routes at random from `START` to `END`.

    Parameters
    ----------
    routes : each from a point to another, with its probability [1]
    visit_activity : returns the activity of a visit to a place

    Raises
    ------
    NoAnswerError : the program would have more than `MOST_STEPS` steps

    >>> from slipstick.expression.nodes import Number
    >>> from slipstick.model.activity import delay
    >>> again, done = Number(0.25), Number(0.75)
    >>> routes = [(START, "a", Number(1.0)), ("a", "a", again), ("a", END, done)]
    >>> program_of_routes(routes, lambda place: delay(1.0, name=place))
    delay(1.0, name='a') >> repeat(0.333333, delay(1.0, name='a'), spread='geometric')
    """
    ways_by_ends: dict[tuple[PlaceOrEnd, PlaceOrEnd], list[Way]] = {}
    for source, target, probability in routes:
        activity = Then(()) if target == END else visit_activity(target)
        ways_by_ends.setdefault((source, target), []).append(Way(probability, activity))
    places = dict.fromkeys(
        point for end_places in ways_by_ends for point in end_places if point not in (START, END)
    )
    while places:
        place = min(places, key=lambda point: _count_ways_through(ways_by_ends, point))
        # Its moves stand in those of its predecessors now.
        del places[place]
        ways_by_ends = _without_place(ways_by_ends, place)
    return _choice_between(ways_by_ends[START, END])


def _count_ways_through(
    ways_by_ends: dict[tuple[PlaceOrEnd, PlaceOrEnd], list[Way]], place: PlaceOrEnd
) -> int:
    """Return the number of pairs of a way into a place and a way out of it."""
    way_in_count, way_out_count = (
        sum(bool(end_places[end_index] == place) for end_places in ways_by_ends)
        for end_index in (1, 0)
    )
    return way_in_count * way_out_count


def _without_place(
    ways_by_ends: dict[tuple[PlaceOrEnd, PlaceOrEnd], list[Way]], place: PlaceOrEnd
) -> dict[tuple[PlaceOrEnd, PlaceOrEnd], list[Way]]:
    """Return the ways that remain when a place is eliminated; each pair of ways through the place
    becomes one way.
    """
    ways_back = ways_by_ends.get((place, place), [])
    remaining_ways = {
        end_places: list(ways_between)
        for end_places, ways_between in ways_by_ends.items()
        if place not in end_places
    }
    stay_probability = total([way.probability for way in ways_back])
    repeated_stay = (
        Repeat(stay_probability / (ONCE - stay_probability), _choice_between(ways_back), GEOMETRIC)
        if ways_back
        else Then(())
    )
    sources_and_ways = [
        (end_places[0], ways_by_ends[end_places])
        for end_places in ways_by_ends
        if end_places[1] == place and end_places[0] != place
    ]
    targets_and_ways = [
        (end_places[1], ways_by_ends[end_places])
        for end_places in ways_by_ends
        if end_places[0] == place and end_places[1] != place
    ]
    for source, entering_ways in sources_and_ways:
        for target, leaving_ways in targets_and_ways:
            entry_probability = total([way.probability for way in entering_ways])
            leave_probability = total([way.probability for way in leaving_ways]) / (
                ONCE - stay_probability
            )
            activity = then(
                _choice_between(entering_ways), repeated_stay, _choice_between(leaving_ways)
            )
            _refuse_long_program(activity)
            remaining_ways.setdefault((source, target), []).append(
                Way(entry_probability * leave_probability, activity)
            )
    return remaining_ways


def _refuse_long_program(activity: Activity) -> None:
    """Raise if an activity has more than `MOST_STEPS` steps."""
    if sum(1 for _ in steps(activity)) > MOST_STEPS:
        raise NoAnswerError(
            f"the routes make a program of more than {MOST_STEPS:,} steps; keep the network, or"
            " leave out some of its ways"
        )


def _choice_between(ways: list[Way]) -> Activity:
    """Return a choice among ways between two places, each with its share of their total
    probability.
    """
    if len(ways) == 1:
        return ways[0].activity
    total_probability = total([way.probability for way in ways])
    return Choice(tuple((way.probability / total_probability, way.activity) for way in ways))
