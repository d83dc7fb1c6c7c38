"""Forks: the longest of the branches, or what a resource takes that several of them ask for.

Pipelines of random stages: a recursion over maxima that keeps track of how they depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstick.method.mean_value.maxima import (
    Array,
    Span,
    first_largest,
    longest,
    longest_of_alike,
    normal,
    one_after_the_other,
    plus,
    rounds,
)
from slipstick.method.mean_value.visits import Leaf, Line, Node, Series, Visit, frequencies, inside, label_of
from slipstick.model.resources import Station
from slipstick.model.system import is_processor

if TYPE_CHECKING:
    from slipstick.method.mean_value.traversal import Pass


def fork_time(made: Pass, branches: Sequence[Node]) -> Span:
    """Give the time until all branches are done.

    Where branches ask for one resource of fewer servers, that is not over before the resource has served all
    of them: a wait, the work of all, and the least of what comes before and after.
    """
    found = longest([made.span(branch) for branch in branches])
    for name in _shared(branches):
        users = [branch for branch in branches if any(visit.queue == name for visit in inside(branch))]
        resource = made.model.resources.get(name)
        servers = resource.servers if isinstance(resource, Station) else 1
        if len(users) > servers:
            found = _longer(found, _burst(made, users, name, servers))
            if any(len(_places(branch, name)) > 1 for branch in users):
                # What is between two visits of a branch is passed before its last.
                found = _longer(found, _last_burst(made, users, name, servers))
    return found


def _shared(branches: Sequence[Node]) -> list[str]:
    """Name the queues that several branches of one fork join; another processor is another for each."""
    used = [dict.fromkeys(visit.queue for visit in inside(branch)) for branch in branches]
    names = dict.fromkeys(name for each in used for name in each)
    one = [name for name in names if not is_processor(name) or name == "own" or name.startswith("processor[")]
    return [name for name in one if sum(name in each for each in used) > 1]


def _longer(a: Span, b: Span) -> Span:
    """Choose between two times that depend on each other so much that one is nearly always the longer."""
    larger = b.mean.real > a.mean.real
    kind = "constant" if a.kind == b.kind == "constant" else "general"
    return Span(np.where(larger, b.mean, a.mean), np.where(larger, b.variance, a.variance), kind)


def _burst(made: Pass, branches: Sequence[Node], name: str, servers: int) -> Span:
    """Give the time from the fork until one resource has done what all branches ask of it."""
    visits = [[visit for visit in inside(branch) if visit.queue == name] for branch in branches]
    often = [frequencies(branch, made.numbers) for branch in branches]
    works = [
        one_after_the_other([rounds(count[v.index], made.services[v.index]) for v in here])
        for here, count in zip(visits, often, strict=True)
    ]
    calls = sum((count[v.index] for here, count in zip(visits, often, strict=True) for v in here), np.zeros(1))
    flat = [visit for here in visits for visit in here]
    last, behind, spread = _served(works, servers)
    if made.frozen is None:
        made.found.beside.update({visit.index: behind / 2 * len(works) / plus(calls) for visit in flat})
    else:
        # The services of one's other branches are waits of the last.
        behind = behind.real * made.factor(label_of(flat[0]))
    waits = [made.wait(visit) for visit in flat]
    wait = first_largest([each.mean for each in waits])
    heads, tails = zip(*(_ends(made, branch, name) for branch in branches), strict=True)
    constant = all(each.kind == "constant" for each in (*works, *waits))
    return Span(
        _smallest(heads) + wait + behind + last.mean + _smallest(tails),
        spread + waits[0].variance,
        "constant" if constant else "general",
    )


def _last_burst(made: Pass, branches: Sequence[Node], name: str, servers: int) -> Span:
    """Give the time until all are done, if each but for its last visit to a resource is on its own."""
    visits, heads, tails = [], [], []
    for branch in branches:
        parts, last = _parts(branch), _places(branch, name)[-1]
        visits.append([visit for visit in inside(parts[last]) if visit.queue == name])
        heads.append(one_after_the_other([made.span(part) for part in parts[:last]]).mean)
        tails.append(one_after_the_other([made.span(part) for part in parts[last + 1 :]]).mean)
    often = [frequencies(branch, made.numbers) for branch in branches]
    works = [
        one_after_the_other([rounds(count[v.index], made.services[v.index]) for v in here])
        for here, count in zip(visits, often, strict=True)
    ]
    last_served, behind, spread = _served(works, servers)
    if made.frozen is not None:
        behind = behind.real * made.factor(label_of(visits[0][0]))
    wait = first_largest([made.wait(visit).mean for here in visits for visit in here])
    constant = all(work.kind == "constant" for work in works)
    return Span(
        _smallest(heads) + wait + behind + last_served.mean + _smallest(tails),
        spread,
        "constant" if constant else "general",
    )


def _served(works: Sequence[Span], servers: int) -> tuple[Span, Array, Array]:
    """Give the last service of a burst, how long it waits for the others, and the variance of all together."""
    count = len(works)
    mean = sum((work.mean for work in works), np.zeros(1)) / count
    variance = sum((work.variance for work in works), np.zeros(1)) / count
    kinds = {work.kind for work in works}
    typical = Span(mean, variance, kinds.pop() if len(kinds) == 1 else "general")
    last = longest_of_alike(typical, np.full(1, float(servers)))
    return last, mean * (count - servers) / servers, count * variance / servers**2


def _smallest(values: Sequence[Array]) -> Array:
    return -first_largest([-value for value in values])


def _ends(made: Pass, branch: Node, name: str) -> tuple[Array, Array]:
    """Give the mean times before a branch first comes to a queue, and after it leaves it last."""
    parts, at = _parts(branch), _places(branch, name)
    head = one_after_the_other([made.span(part) for part in parts[: at[0]]])
    tail = one_after_the_other([made.span(part) for part in parts[at[-1] + 1 :]])
    return head.mean, tail.mean


def _parts(branch: Node) -> Sequence[Node]:
    return branch.parts if isinstance(branch, Series) else (branch,)


def _places(branch: Node, name: str) -> list[int]:
    """Number the parts of a branch that come to a queue."""
    return [index for index, part in enumerate(_parts(branch)) if _uses(part, name)]


def _uses(node: Node, name: str) -> bool:
    used: Sequence[Visit] = list(inside(node))
    return any(visit.queue == name for visit in used)


MOST_ITEMS = 64
"""Items followed one by one; each further one takes as long as the last of these."""


def line_time(made: Pass, line: Line) -> Span:
    """Give the time until the last item has left the last stage.

    An item begins a stage when it has left the one before, and a place is free: a serial stage has one, a
    parallel one as many as its station has servers, or any number.
    """
    items = made.numbers[line.pipeline.items]
    stages = [[made.span(body) for body in bodies] for bodies in line.stages]
    most = min(int(np.floor(np.max(items.real))) + 1, MOST_ITEMS)
    places = [_lines_places(made, line, index) for index in range(len(stages))]
    follow = _Follow(stages, places, _waits(made, line), items if _shares(made, line) else None)
    ends = [follow.item(number) for number in range(most)]
    for index, waited in enumerate(follow.waited if made.frozen is None else ()):
        (body, *_) = line.stages[index]
        if isinstance(body, Leaf) and body.visit is not None and line.pipeline.stages[index].kind == "parallel":
            made.found.among[body.visit.index] = waited / most
    constant = all(body.kind == "constant" for bodies in stages for body in bodies)
    mean, variance = (_reached([end[part] for end in ends], items) for part in (0, 1))
    return Span(mean, variance, "constant" if constant else "general")


def _reached(ends: list[Array], items: Array) -> Array:
    """Read a sequence at a number of items, between two and beyond the last by a straight line."""
    if len(ends) == 1:
        return ends[0]
    table = np.stack(np.broadcast_arrays(*ends), axis=-1)
    at = np.clip(np.floor(items.real).astype(int), 1, len(ends) - 1) - 1
    pick = np.broadcast_to(at[..., None], (*table.shape[:-1], 1))
    low, high = (np.take_along_axis(table, pick + step, axis=-1)[..., 0] for step in (0, 1))
    result: Array = low + (items - (at + 1)) * (high - low)
    return result


class _Follow:
    """Follows items through the stages.

    Parameters
    ----------
    stages : time at each, one body for all items or one for each
    places : items that each takes at once; None for any number
    waits : factor on the time that items wait for a place, where an account is read off, by stage
    together : items that share the servers of the first stage, if they do
    """

    def __init__(
        self, stages: list[list[Span]], places: list[int | None], waits: dict[int, Array], together: Array | None
    ) -> None:
        self.stages, self.places, self.waits, self.together = stages, places, waits, together
        self.waited: list[Array] = [np.zeros(1) for _ in stages]
        self._table = Ends()
        self._taken: list[list[int]] = [[] for _ in stages]
        self._last: int | None = None

    def item(self, number: int) -> tuple[Array, Array]:
        """Give mean and variance of the time when this item and all before it are done."""
        table = self._table
        end: int | None = None
        for index, bodies in enumerate(self.stages):
            ready, taken = end, self._taken[index]
            begin = ready
            if self.places[index] is not None and len(taken) == self.places[index]:
                free = taken.pop(0)
                begin = self._begun(index, ready, free if ready is None else table.later(free, ready))
            body = bodies[number % len(bodies)]
            end = table.after(begin, body if index else self._shared(number, body))
            if self.places[index] is not None:
                taken.append(end)
        assert end is not None
        self._last = end if self._last is None or self.places[-1] == 1 else table.later(self._last, end)
        table.keep({self._last, *(each for taken in self._taken for each in taken)})
        return table.mean[self._last], table.covariance[self._last, self._last]

    def _begun(self, index: int, ready: int | None, begin: int) -> int:
        """Count the wait for a place; where an account is read off it is booked as such, not to who is waited for."""
        arrived = np.zeros(1) if ready is None else self._table.mean[ready]
        waited = self._table.mean[begin] - arrived
        self.waited[index] = self.waited[index] + waited
        factor = self.waits.get(index)
        return begin if factor is None else self._table.moved(begin, arrived + waited.real * factor)

    def _shared(self, number: int, body: Span) -> Span:
        """Give an item's time at a first stage that all share from the start: the more alike they are, the later all end."""
        places = self.places[0]
        if self.together is None or places is None:
            return body
        apart = np.where(body.scv.real < 1, body.scv, 1)
        if number >= places:
            return Span(apart * body.mean, apart * body.variance)
        more = (1 - apart) * body.mean * np.where(self.together.real > places, self.together - places, 0) / places
        if 0 in self.waits:
            more = more.real * self.waits[0]
        return Span(body.mean + more, body.variance)


def _waits(made: Pass, line: Line) -> dict[int, Array]:
    """Give the factor on waits of items for a station, where they are booked as such."""
    found = {}
    for index, (body, *_) in enumerate(line.stages):
        parallel = line.pipeline.stages[index].kind == "parallel"
        if made.frozen is not None and parallel and isinstance(body, Leaf) and body.visit is not None:
            found[index] = made.factor(label_of(body.visit))
    return found


def _shares(made: Pass, line: Line) -> bool:
    """Say whether all items are at once at a station that shares its servers, from the start."""
    (body, *_) = line.stages[0]
    if line.pipeline.stages[0].kind == "serial" or not isinstance(body, Leaf) or body.visit is None:
        return False
    resource = made.model.resources.get(body.visit.queue)
    return isinstance(resource, Station) and resource.discipline == "ps"


def _lines_places(made: Pass, line: Line, index: int) -> int | None:
    """Say how many items a stage takes at once; None for as many as there are."""
    if line.pipeline.stages[index].kind == "serial":
        return 1
    (node, *_) = line.stages[index]
    if isinstance(node, Leaf) and node.visit is not None:
        resource = made.model.resources.get(node.visit.queue)
        return resource.servers if isinstance(resource, Station) else None
    return None


class Ends:
    """Times of ends, jointly normal: means and covariances by number.

    Source: Clark, Operations Research 9(2), 1961, 145-162: the maximum of two normal variates, and its
    covariance with a third.
    """

    def __init__(self) -> None:
        self.mean: dict[int, Array] = {}
        self.covariance: dict[tuple[int, int], Array] = {}
        self._next = 0

    def _new(self, mean: Array, variance: Array, with_others: dict[int, Array]) -> int:
        made = self._next
        self._next += 1
        self.mean[made] = mean
        self.covariance[made, made] = variance
        for other, each in with_others.items():
            self.covariance[made, other] = self.covariance[other, made] = each
        return made

    def after(self, before: int | None, span: Span) -> int:
        """Add an independent time to an end, or to the start of all."""
        if before is None:
            return self._new(span.mean, span.variance, {other: np.zeros(1) for other in self.mean})
        with_others = {other: self.covariance[before, other] for other in self.mean}
        return self._new(self.mean[before] + span.mean, self.covariance[before, before] + span.variance, with_others)

    def later(self, a: int, b: int) -> int:
        """Give the later of two ends."""
        ma, mb = self.mean[a], self.mean[b]
        va, vb, cab = self.covariance[a, a], self.covariance[b, b], self.covariance[a, b]
        square = va + vb - 2 * cab
        scale = (ma + mb) * (ma + mb) * 1e-20 + 1e-300
        theta = np.sqrt(np.where(square.real > scale.real, square, scale))
        alpha = (ma - mb) / theta
        first, second = normal(alpha), normal(-alpha)
        density = np.exp(-alpha * alpha / 2) / np.sqrt(2 * np.pi)
        mean = ma * first + mb * second + theta * density
        # About the larger mean, so that nothing cancels.
        da, db = ma - mean, mb - mean
        variance = (da * da + va) * first + (db * db + vb) * second + (da + db) * theta * density
        sure = square.real <= scale.real
        mean = np.where(sure, first_largest([ma, mb]), mean)
        variance = np.where(sure, np.where(ma.real >= mb.real, va, vb), variance)
        first = np.where(sure, np.where(ma.real >= mb.real, 1.0, 0.0), first)
        with_others = {o: self.covariance[a, o] * first + self.covariance[b, o] * (1 - first) for o in self.mean}
        return self._new(mean, variance, with_others)

    def moved(self, end: int, mean: Array) -> int:
        """Give an end another mean."""
        made = self.after(end, Span(np.zeros(1), np.zeros(1)))
        self.mean[made] = mean
        return made

    def keep(self, wanted: set[int]) -> None:
        """Forget all other ends."""
        self.mean = {key: each for key, each in self.mean.items() if key in wanted}
        self.covariance = {(a, b): each for (a, b), each in self.covariance.items() if a in wanted and b in wanted}
