r"""Visits in a row: a customer that has been served and queues again at once, behind those that came
meanwhile.

Such a customer does not find what one finds that comes at a random moment. All that it found before
have been served, so that those which come back stand ahead of it at their next visits, and beside
them only those that arrived while it waited and was served. With numbers F_i found at visit i, by
their visits, the probability P that another visit follows at once, services S and the rate of
arrivals lambda at each visit that do not follow another one::

    F_j = sum over i of r_ij (F_i P + lambda (W_i + S_i)) + e_j A,      W_j = F_j S

r_ij is the part of the visits j that follow visit i, e_j the part that follows none; those find the
numbers A and wait as others do. Long services of others delay a customer once, not at each of its
visits: with the numbers A at every visit, five short visits and a long one of an open stream took
2.7 times too long.

One first-come server and Poisson arrivals: exact for the mean, because every step is linear in the
numbers. For a loop of many visits
the number of turns is taken as geometric. Of a closed population the arrivals
are those of the customers that are elsewhere, each after an exponential time.

Source: derived here; for random feedback with one service time Takacs, Bell System Tech. J. 42(2),
1963, 505-519. Checked in tests/method/mean_value/test_in_a_row.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.late import np
from slipstick.random_times import (
    Array,
    RandomTime,
    clamped,
    nonzero,
)
from slipstick.structure.visits import Places, Queue

MOST_PLACES = 16
"""Places of one queue at most: where visits go round in a loop their numbers are found together, in
equations of its square."""

_LEFT_AFTER = 1024
"""Visits after which a customer that ever leaves the queue is taken as gone."""

PASSES = 6
"""Passes that settle the arrivals of a closed population; derivatives need one more."""


@dataclass(frozen=True, slots=True)
class InARow:
    """The probabilities with which visits to one queue immediately follow each other, by the places
    of the cycle at which the visits are made.

    Parameters
    ----------
    visits : index of the visit of each place
    parts : the part of the visits of each index that is made at a place [..., places]
    onward : P, the probability that one place follows another at once [..., from, to]
    follows : r, the part of the visits at one place that follow another [..., from, to]
    first : e, the part of the visits that follow none [..., places]
    order : places, each behind those that it follows; None where visits go round in a loop
    """

    visits: tuple[int, ...]
    parts: Array
    onward: Array
    follows: Array
    first: Array
    order: tuple[int, ...] | None = None

    def by_place(self, columns: Mapping[int, Array]) -> Array:
        """Stack the columns of the visits, one for each place [..., places]."""
        return stacked([columns[index] for index in self.visits])

    def replaced(self, waits: Mapping[int, RandomTime], means: Array) -> dict[int, RandomTime]:
        """Replace the mean wait at each visit by the mean of `means` over its places, and keep its
        scv.
        """
        new_waits: dict[int, RandomTime] = {}
        for index in dict.fromkeys(self.visits):
            is_visit = np.array([index == visit for visit in self.visits])
            mean = (self.parts * means * is_visit).sum(axis=-1)
            factor = mean / nonzero(waits[index].mean)
            new_waits[index] = RandomTime(mean, waits[index].variance * factor * factor)
        return new_waits

    def present(self, waits: Array, service: Array) -> Array:
        """Return, for each place, its share of the customers present at its visit [1] [...,
        places].
        """
        stay = self.parts * (waits + service)
        same = np.array([[row == column for column in self.visits] for row in self.visits])
        numbers_present: Array = stay / nonzero(stay @ same)
        return numbers_present

    def open_waits(self, flows: Array, service: Array, residual: Array) -> Array:
        """Solve for the waits in an open stream [s] [..., places].

        What is found at random moments follows from the waits, so that the equations above are
        solved once without waits and once for a wait of 1 at each visit: they are linear in them.

        Parameters
        ----------
        flows : visits in a second [1/s] [..., places]
        service, residual : S, and the mean rest of a service in progress [s] [..., places]
        """
        size = len(self.visits)
        rates = flows * self.first
        arrivals = np.broadcast_to(rates[..., None, :], (*rates.shape, size))
        tried = np.concatenate([np.zeros((1, size)), np.eye(size)])
        tried = tried.reshape(size + 1, *(1 for _ in flows.shape[:-1]), size)
        first_wait = (flows * (tried * service + service * residual)).sum(axis=-1)
        waits = self.waits(first_wait, flows * (tried + service), service, arrivals)
        slopes = np.moveaxis(waits[1:] - waits[:1], 0, -1)
        solved: Array = np.linalg.solve(np.eye(size) - slopes, waits[0][..., None])[..., 0]
        return solved

    def waits(
        self, first_wait: Array, found_before: Array, service: Array, arrivals: Array
    ) -> Array:
        """Solve for the mean wait at each visit [s] [..., places].

        Parameters
        ----------
        first_wait : at visits that follow none [s] [...]
        found_before : A [..., places]
        service : S [s] [..., places]
        arrivals : lambda, while a customer is at one visit [1/s] [..., from, places]
        """
        return self._solved(first_wait, found_before, service, arrivals)[0]

    def _solved(
        self, first_wait: Array, present: Array, service: Array, arrivals: Array
    ) -> tuple[Array, Array]:
        """Compute the mean wait at each visit [s], and the mean numbers of customers that it finds
        at the other visits [..., places, by place].
        """
        own_work = np.einsum("...m,...m->...", present, service)
        begins = self.first * (first_wait - own_work)[..., None]
        staying = np.einsum("...ij,...i,...in->...jn", self.follows, begins + service, arrivals)
        right = self.first[..., None] * present[..., None, :] + staying
        numbers = (
            self._by_matrix(right, service, arrivals)
            if self.order is None
            else self._by_turns(right, service, arrivals, self.order)
        )
        return begins + np.einsum("...jn,...n->...j", numbers, service), numbers

    def _by_turns(
        self, right: Array, service: Array, arrivals: Array, order: Sequence[int]
    ) -> Array:
        """Compute the numbers found at each visit from those found at the visits that it follows,
        where the visits form no loop [..., places, by place].
        """
        numbers = right.copy()
        for place in order:
            present = numbers[..., place, :]
            served = np.einsum("...m,...mn->...n", present, self.onward)
            newcomers = (present * service).sum(axis=-1)[..., None] * arrivals[..., place, :]
            numbers += self.follows[..., place, :, None] * (served + newcomers)[..., None, :]
        return numbers

    def _by_matrix(self, right: Array, service: Array, arrivals: Array) -> Array:
        """Compute the mean numbers of customers that an arriving customer finds at each visit, by
        one system of linear equations, where the visits form a loop.
        """
        size = len(self.visits)
        # What is found at one visit becomes what is found at the next by this matrix.
        moved = self.onward[..., None, :, :] + service[..., None, :, None] * arrivals[..., None, :]
        big = np.einsum("...ij,...imn->...jnim", self.follows, moved)
        matrix = np.eye(size**2) - big.reshape(*big.shape[:-4], size**2, size**2)
        solved = np.linalg.solve(matrix, right.reshape(*right.shape[:-2], size**2, 1))
        return np.asarray(solved.reshape(right.shape))

    def closed_waits(
        self,
        first_wait: Array,
        present: Array,
        service: Array,
        flows: Array,
        other_processors: float,
    ) -> Array:
        """Solve for the waits in a closed population [s] [..., places].

        Parameters
        ----------
        first_wait, present, service : as for `waits`
        flows : visits in a second of the other customers [1/s] [..., places]
        other_processors : their number
        """
        rates = flows * self.first
        # Where all are present, a rest of 1e-9 away keeps their rate of arrival finite.
        away = np.where(
            (other_processors - present.sum(axis=-1)).real > 0,
            other_processors - present.sum(axis=-1),
            1e-9,
        )
        absent = away / nonzero(rates.sum(axis=-1))
        arrivals = np.broadcast_to(rates[..., None, :], (*rates.shape, rates.shape[-1]))
        for _ in range(PASSES):
            waits, numbers = self._solved(first_wait, present, service, arrivals)
            # Where the approximation gives a wait or a number below 0, the arrivals of the next
            # pass would grow without end.
            staying = clamped(waits) + service
            elsewhere = clamped(other_processors - clamped(numbers.sum(axis=-1)))
            # Each customer elsewhere comes after an exponential time: the mean number within the
            # stay.
            newcomers = elsewhere * -np.expm1(-staying / absent[..., None])
            factor = newcomers / nonzero(staying * rates.sum(axis=-1, keepdims=True))
            arrivals = factor[..., None] * rates[..., None, :]
        return waits


def in_a_row(queue: Queue, places: Places) -> InARow | None:
    """Return which visits to a queue immediately follow each other. None where none do, where all
    have the same exponential service, where the equations do not hold, such as at several servers,
    shared servers and locks, or where there are more than `MOST_PLACES` visits.

    Parameters
    ----------
    queue : the queue
    places : of all queues
    """
    visits = queue.visits
    indices = [visit.index for visit in visits]
    places_there = [place for place, visit in enumerate(places.visits) if visit.index in indices]
    is_single_server = (
        not (queue.sharing or queue.lock or queue.order) and queue.copies == queue.servers == 1
    )
    holds_nothing = queue.requests == 1 and not any(
        visit.held or visit.released for visit in visits
    )
    if not is_single_server or not holds_nothing or not 1 < len(places_there) <= MOST_PLACES:
        return None
    pairs = {key: times for key, times in places.follows.items() if key[0] in places_there}
    kinds = {(visit.step.time, visit.step.scv) for visit in visits if visit.step is not None}
    if not pairs or (len(kinds) == 1 and next(iter(kinds))[1] == 1.0):
        return None  # in product form what is found at any visit is what there is on average
    zero = np.zeros(1)
    rows = [
        stacked([pairs.get((before, after), zero) for after in places_there])
        for before in places_there
    ]
    table = np.stack(np.broadcast_arrays(*rows), axis=-2)
    executed = stacked([places.executed[place] for place in places_there])
    follows = table / nonzero(executed)[..., None, :]
    first_arrivals = 1.0 - follows.sum(axis=-2)
    # A sum of probabilities that misses 1 by no more than 1e-9 misses it by rounding.
    first_arrivals = np.where(first_arrivals.real > 1e-9, first_arrivals, 0.0)
    onward = table / nonzero(executed)[..., :, None]
    # Customers that never leave the queue come at no random moment.
    if np.linalg.matrix_power(onward.real, _LEFT_AFTER).sum(axis=-1).max() > 0.99:
        return None
    visit_indices = tuple(places.visits[place].index for place in places_there)
    same = np.array(
        [[index == second_index for second_index in visit_indices] for index in visit_indices]
    )
    fractions = executed / nonzero(executed @ same)
    return InARow(visit_indices, fractions, onward, follows, first_arrivals, _turns(follows))


def _turns(follows: Array) -> tuple[int, ...] | None:
    """Sort the places so that each comes after those that it follows; None where they form a loop."""
    size = follows.shape[-1]
    # A part of 0 may have a derivative.
    linked = (follows != 0).reshape(-1, size, size).any(axis=0)
    order: list[int] = []
    while len(order) < size:
        free = [
            place
            for place in range(size)
            if place not in order and not np.delete(linked[:, place], order).any()
        ]
        if not free:
            return None
        order += free
    return tuple(order)


def stacked(columns: Sequence[Array]) -> Array:
    """Stack columns, one for each place, along a last axis [..., places]."""
    return np.stack(np.broadcast_arrays(*columns), axis=-1)
