r"""Visits in a row: a customer that has been served and queues again at once, behind those that
came meanwhile.

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
from functools import cached_property

from slipstick.late import np
from slipstick.random_times import (
    Array,
    RandomTime,
    limited_to_range,
    sum_of_columns,
    without_zeros,
)
from slipstick.structure.visits import Places, Queue

MOST_PLACES = 16
"""Largest number of places of one queue: where visits go round in a loop, their numbers are found
together, by as many equations as the square of the places.
"""

_VISITS_UNTIL_GONE = 1024
"""Number of visits after which a customer that leaves the queue at some time is taken as gone."""

PASSES = 6
"""Number of passes after which the arrivals of a closed population have settled; derivatives need
one more.
"""


@dataclass(frozen=True)
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
    place_order : places, each behind those that it follows; None where visits go round in a loop
    """

    visits: tuple[int, ...]
    parts: Array
    onward: Array
    follows: Array
    first: Array
    place_order: tuple[int, ...] | None = None

    @cached_property
    def preceding(self) -> tuple[tuple[tuple[int, Array], ...], ...]:
        """For each place, the places that it follows, each with the part r of the visits at the
        place that follow it [...].
        """
        places = range(len(self.visits))
        return tuple(
            tuple(
                (earlier_place, self.follows[..., earlier_place, place])
                for earlier_place in places
                if self.follows[..., earlier_place, place].any()
            )
            for place in places
        )

    @cached_property
    def parts_by_power(self) -> list[Array]:
        """For each place, the factors b_jk of the powers P^k, see `_ClosedVisits` [powers, ...];
        they exist where visits form no loop.
        """
        first_parts = np.moveaxis(self.first, -1, 0)
        parts: dict[int, Array] = {}
        for place in self.place_order or ():
            earlier_parts = [
                part * parts[earlier_place] for earlier_place, part in self.preceding[place]
            ]
            parts[place] = _factors_of_powers(first_parts[place], earlier_parts)
        return [parts[place] for place in range(len(self.visits))]

    def by_place(self, column_by_visit: Mapping[int, Array]) -> Array:
        """Stack columns that are given by visit, one for each place [..., places]."""
        return stacked([column_by_visit[visit_index] for visit_index in self.visits])

    def with_mean_waits(
        self, wait_by_visit: Mapping[int, RandomTime], mean_waits: Array
    ) -> dict[int, RandomTime]:
        """Replace the mean wait at each visit by the mean of `mean_waits` over its places, and keep
        its scv.
        """
        new_waits: dict[int, RandomTime] = {}
        for visit_index in dict.fromkeys(self.visits):
            is_visit = np.array([visit_index == visit for visit in self.visits])
            mean_wait = (self.parts * mean_waits * is_visit).sum(axis=-1)
            wait_factor = mean_wait / without_zeros(wait_by_visit[visit_index].mean)
            new_waits[visit_index] = RandomTime(
                mean_wait, wait_by_visit[visit_index].variance * wait_factor * wait_factor
            )
        return new_waits

    def present(self, waits_by_place: Array, services_by_place: Array) -> Array:
        """Return, for each place, its share of the customers that are present at its visit [1]
        [..., places].
        """
        time_at_place = self.parts * (waits_by_place + services_by_place)
        is_same_visit = np.array(
            [
                [first_visit == second_visit for second_visit in self.visits]
                for first_visit in self.visits
            ]
        )
        shares_present: Array = time_at_place / without_zeros(time_at_place @ is_same_visit)
        return shares_present

    def open_waits(self, flows: Array, service: Array, residual: Array) -> Array:
        """Solve for the waits in an open stream [s] [..., places].

        What is found at random moments follows from the waits, so that the equations above are
        solved once without waits and once for a wait of 1 at each visit: they are linear in them.

        Parameters
        ----------
        flows : visits in a second [1/s] [..., places]
        service, residual : S, and the mean rest of a service in progress [s] [..., places]
        """
        place_count = len(self.visits)
        arrival_rates = flows * self.first
        arrivals = np.broadcast_to(arrival_rates[..., None, :], (*arrival_rates.shape, place_count))
        # The first trial has no waits, each further one a wait of 1 at one place.
        trial_waits = np.concatenate([np.zeros((1, place_count)), np.eye(place_count)])
        trial_waits = trial_waits.reshape(
            place_count + 1, *(1 for _ in flows.shape[:-1]), place_count
        )
        wait_at_random = (flows * (trial_waits * service + service * residual)).sum(axis=-1)
        waits = self.waits(wait_at_random, flows * (trial_waits + service), service, arrivals)
        wait_slopes = np.moveaxis(waits[1:] - waits[:1], 0, -1)
        solved_waits: Array = np.linalg.solve(
            np.eye(place_count) - wait_slopes, waits[0][..., None]
        )[..., 0]
        return solved_waits

    def waits(
        self,
        wait_at_random: Array,
        customers_at_random: Array,
        service_times: Array,
        arrival_rates: Array,
    ) -> Array:
        """Solve for the mean wait at each visit [s] [..., places].

        Parameters
        ----------
        wait_at_random : at visits that follow none [s] [...]
        customers_at_random : A [..., places]
        service_times : S [s] [..., places]
        arrival_rates : lambda, while a customer is at one visit [1/s] [..., from, places]
        """
        return self.waits_and_numbers(
            wait_at_random, customers_at_random, service_times, arrival_rates
        )[0]

    def waits_and_numbers(
        self,
        wait_at_random: Array,
        customers_at_random: Array,
        service_times: Array,
        arrival_rates: Array,
    ) -> tuple[Array, Array]:
        """Compute the mean wait at each visit [s] [..., places], and the mean numbers of customers
        that a customer finds there, by the visit at which they are [..., places, by place].
        """
        work_at_random = np.einsum("...m,...m->...", customers_at_random, service_times)
        base_waits = self.first * (wait_at_random - work_at_random)[..., None]
        arrivals_during_stay = np.einsum(
            "...ij,...i,...in->...jn", self.follows, base_waits + service_times, arrival_rates
        )
        right_side = (
            self.first[..., None] * customers_at_random[..., None, :] + arrivals_during_stay
        )
        numbers_found = (
            self._numbers_by_matrix(right_side, service_times, arrival_rates)
            if self.place_order is None
            else self._numbers_in_order(right_side, service_times, arrival_rates, self.place_order)
        )
        return base_waits + np.einsum(
            "...jn,...n->...j", numbers_found, service_times
        ), numbers_found

    def _numbers_in_order(
        self, own_numbers: Array, service: Array, arrival_rates: Array, place_order: Sequence[int]
    ) -> Array:
        """Compute the numbers found at each visit from those found at the visits that it follows,
        where the visits form no loop [..., places, by place].
        """
        numbers_found = own_numbers.copy()
        for place in place_order:
            numbers_at_place = numbers_found[..., place, :]
            onward_numbers = np.einsum("...m,...mn->...n", numbers_at_place, self.onward)
            newcomers = (numbers_at_place * service).sum(axis=-1)[..., None] * arrival_rates[
                ..., place, :
            ]
            numbers_found += (
                self.follows[..., place, :, None] * (onward_numbers + newcomers)[..., None, :]
            )
        return numbers_found

    def _numbers_by_matrix(self, own_numbers: Array, service: Array, arrival_rates: Array) -> Array:
        """Compute the mean numbers of customers that an arriving customer finds at each visit, by
        one system of linear equations, where the visits form a loop.
        """
        place_count = len(self.visits)
        # What is found at one visit becomes what is found at the next by this matrix.
        transfer = (
            self.onward[..., None, :, :] + service[..., None, :, None] * arrival_rates[..., None, :]
        )
        coefficients = np.einsum("...ij,...imn->...jnim", self.follows, transfer)
        matrix = np.eye(place_count**2) - coefficients.reshape(
            *coefficients.shape[:-4], place_count**2, place_count**2
        )
        numbers_found = np.linalg.solve(
            matrix, own_numbers.reshape(*own_numbers.shape[:-2], place_count**2, 1)
        )
        return np.asarray(numbers_found.reshape(own_numbers.shape))

    def closed_waits(
        self,
        wait_at_random: Array,
        numbers_at_random: Array,
        service: Array,
        flows: Array,
        other_processors: float,
    ) -> Array:
        """Solve for the waits in a closed population [s] [..., places].

        Parameters
        ----------
        wait_at_random, numbers_at_random, service : as for `waits`
        flows : visits in a second of the other customers [1/s] [..., places]
        other_processors : their number
        """
        arrival_rates = flows * self.first
        # Where all are present, a rest of 1e-9 away keeps their rate of arrival finite.
        processors_away = np.where(
            (other_processors - numbers_at_random.sum(axis=-1)).real > 0,
            other_processors - numbers_at_random.sum(axis=-1),
            1e-9,
        )
        time_away = processors_away / without_zeros(arrival_rates.sum(axis=-1))
        rate_factor = np.ones(len(self.visits))
        visits = _ClosedVisits(self, wait_at_random, numbers_at_random, service, arrival_rates)
        for _ in range(PASSES):
            waits, total_found = visits.waits_and_numbers(rate_factor)
            # Where the approximation gives a wait or a number below 0, the arrivals of the next
            # pass would grow without end.
            stay_times = limited_to_range(waits) + service
            numbers_elsewhere = limited_to_range(other_processors - limited_to_range(total_found))
            # Each customer elsewhere comes after an exponential time: the mean number within the
            # stay.
            newcomers = numbers_elsewhere * -np.expm1(-stay_times / time_away[..., None])
            rate_factor = newcomers / without_zeros(
                stay_times * arrival_rates.sum(axis=-1, keepdims=True)
            )
        return waits


class _ClosedVisits:
    """The waits at visits of a closed population, for any rates of arrival at each visit.

    Where visits form no loop, the numbers F_j found at visit j are sums over the powers of P::

        F_j = sum over k of (b_jk A + h_jk lambda) P^k
        b_j0 = e_j,                                  b_j,k+1 = sum over i of r_ij b_ik
        h_j0 = sum over i of r_ij f_i (W_i + S_i),   h_j,k+1 = sum over i of r_ij h_ik

    with the rate f_i lambda of arrivals while a customer is at visit i. Waits and total numbers
    need the products of A P^k and lambda P^k with S and 1 alone.

    Parameters
    ----------
    in_row : the visits
    wait_at_random, numbers_at_random, service : as for `InARow.waits`
    arrival_rates : lambda [1/s] [..., places]
    """

    def __init__(
        self,
        in_row: InARow,
        wait_at_random: Array,
        numbers_at_random: Array,
        service: Array,
        arrival_rates: Array,
    ) -> None:
        self._in_row = in_row
        self._at_random = (wait_at_random, numbers_at_random, service)
        self._arrival_rates = arrival_rates
        if in_row.place_order is None:
            return
        # By power of P, P^k S and P^k 1 [..., places, 2].
        weights = np.stack(np.broadcast_arrays(service, np.ones(1)), axis=-1)
        products_of_found, products_of_arriving = [], []
        for _ in range(max(map(len, in_row.parts_by_power))):
            products_of_found.append(_products_of_numbers(numbers_at_random, weights))
            products_of_arriving.append(_products_of_numbers(arrival_rates, weights))
            weights = in_row.onward @ weights
        work_found, number_found = np.moveaxis(np.stack(products_of_found), -1, 0)
        self._work_arriving, self._number_arriving = np.moveaxis(
            np.stack(products_of_arriving), -1, 0
        )
        base_waits = in_row.first * (wait_at_random - work_found[0])[..., None]
        # With the places first.
        self._services = np.moveaxis(service, -1, 0)
        self._waits_of_found = [
            base_wait + _weighted_sum(parts, work_found)
            for base_wait, parts in zip(
                np.moveaxis(base_waits, -1, 0), in_row.parts_by_power, strict=True
            )
        ]
        self._numbers_of_found = [
            _weighted_sum(parts, number_found) for parts in in_row.parts_by_power
        ]

    def waits_and_numbers(self, rate_factor: Array) -> tuple[Array, Array]:
        """Compute the mean wait at each visit [s], and the mean number of customers that a customer
        finds there, at all visits together [..., places].

        Parameters
        ----------
        rate_factor : f [..., places]
        """
        in_row = self._in_row
        if in_row.place_order is None:
            arrivals = rate_factor[..., None] * self._arrival_rates[..., None, :]
            waits, numbers_found = in_row.waits_and_numbers(*self._at_random, arrivals)
            return waits, numbers_found.sum(axis=-1)
        waits_by_place = list(self._waits_of_found)
        numbers_by_place = list(self._numbers_of_found)
        arrivals_in_stay = dict[int, Array]()
        parts_by_place = dict[int, Array]()
        for place in in_row.place_order:
            if preceding := in_row.preceding[place]:
                parts = parts_by_place[place] = _factors_of_powers(
                    sum_of_columns(
                        part * arrivals_in_stay[earlier_place] for earlier_place, part in preceding
                    ),
                    [
                        part * parts_by_place[earlier_place]
                        for earlier_place, part in preceding
                        if earlier_place in parts_by_place
                    ],
                )
                waits_by_place[place] = waits_by_place[place] + _weighted_sum(
                    parts, self._work_arriving
                )
                numbers_by_place[place] = numbers_by_place[place] + _weighted_sum(
                    parts, self._number_arriving
                )
            stay = waits_by_place[place] + self._services[place]
            arrivals_in_stay[place] = rate_factor[..., place] * stay
        return stacked(waits_by_place), stacked(numbers_by_place)


def _factors_of_powers(factor_of_power_0: Array, earlier_factors: Sequence[Array]) -> Array:
    """Return the factors of the powers of P at a place: that of the power 0, and those of earlier
    places for one power more, added up [powers, ...].
    """
    power_count = 1 + max(map(len, earlier_factors), default=0)
    shape = np.broadcast_shapes(
        factor_of_power_0.shape, *(factors.shape[1:] for factors in earlier_factors)
    )
    summed_factors = np.zeros(
        (power_count, *shape), np.result_type(factor_of_power_0, *earlier_factors)
    )
    summed_factors[0] = factor_of_power_0
    for factors in earlier_factors:
        summed_factors[1 : 1 + len(factors)] += _with_more_dimensions(factors, summed_factors.ndim)
    return summed_factors


def _with_more_dimensions(factors: Array, dimensions: int) -> Array:
    """Return factors of powers with axes of length 1 inserted after the first one, up to a number
    of dimensions [powers, ...].
    """
    missing_dimensions = (1,) * (dimensions - factors.ndim)
    return factors.reshape(len(factors), *missing_dimensions, *factors.shape[1:])


def _weighted_sum(factors: Array, products: Array) -> Array:
    """Return the sum over the powers of P of a place's factors times the products of numbers at the
    same powers [...].
    """
    aligned_factors = _with_more_dimensions(factors, products.ndim)
    sum_over_powers: Array = (aligned_factors * products[: len(factors)]).sum(axis=0)
    return sum_over_powers


def _products_of_numbers(numbers: Array, weights: Array) -> Array:
    """Return the sums over the places of numbers times each of several columns of weights [...,
    weights].
    """
    products: Array = (numbers[..., None, :] @ weights)[..., 0, :]
    return products


def in_a_row(queue: Queue, places: Places) -> InARow | None:
    """Return the visits to a queue that immediately follow each other. Return None if there are
    none, if all have the same exponential service, if there are more than `MOST_PLACES`, or if the
    equations do not hold, as at several servers, shared servers and locks.

    Parameters
    ----------
    queue : the queue
    places : of all queues
    """
    visits = queue.visits
    indices_of_queue = [visit.index for visit in visits]
    places_of_queue = [
        place for place, visit in enumerate(places.visits) if visit.index in indices_of_queue
    ]
    is_single_server = (
        not (queue.sharing or queue.lock or queue.order) and queue.copies == queue.servers == 1
    )
    holds_nothing = queue.requests == 1 and not any(
        visit.held or visit.released for visit in visits
    )
    if not is_single_server or not holds_nothing or not 1 < len(places_of_queue) <= MOST_PLACES:
        return None
    executions_by_pair = {
        place_pair: executions
        for place_pair, executions in places.follows.items()
        if place_pair[0] in places_of_queue
    }
    distinct_services = {
        (visit.step.time, visit.step.scv) for visit in visits if visit.step is not None
    }
    if not executions_by_pair or (
        len(distinct_services) == 1 and next(iter(distinct_services))[1] == 1.0
    ):
        return None  # in product form what is found at any visit is what there is on average
    no_executions = np.zeros(1)
    executions_after_place = [
        stacked(
            [
                executions_by_pair.get((earlier_place, later_place), no_executions)
                for later_place in places_of_queue
            ]
        )
        for earlier_place in places_of_queue
    ]
    following_executions = np.stack(np.broadcast_arrays(*executions_after_place), axis=-2)
    executions_by_place = stacked([places.executions[place] for place in places_of_queue])
    follows = following_executions / without_zeros(executions_by_place)[..., None, :]
    first_parts = 1.0 - follows.sum(axis=-2)
    # A sum of probabilities that misses 1 by no more than 1e-9 misses it by rounding.
    first_parts = np.where(first_parts.real > 1e-9, first_parts, 0.0)
    onward = following_executions / without_zeros(executions_by_place)[..., :, None]
    # Customers that never leave the queue come at no random moment.
    if np.linalg.matrix_power(onward.real, _VISITS_UNTIL_GONE).sum(axis=-1).max() > 0.99:
        return None
    visit_indices = tuple(places.visits[place].index for place in places_of_queue)
    is_same_visit = np.array(
        [
            [first_index == second_index for second_index in visit_indices]
            for first_index in visit_indices
        ]
    )
    parts_of_visits = executions_by_place / without_zeros(executions_by_place @ is_same_visit)
    return InARow(
        visit_indices, parts_of_visits, onward, follows, first_parts, _order_of_places(follows)
    )


def _order_of_places(follows: Array) -> tuple[int, ...] | None:
    """Sort the places so that each place comes after all places that it follows; None if the places
    form a loop.
    """
    place_count = follows.shape[-1]
    # A part of 0 may have a derivative.
    is_followed = (follows != 0).reshape(-1, place_count, place_count).any(axis=0)
    order: list[int] = []
    while len(order) < place_count:
        free_places = [
            place
            for place in range(place_count)
            if place not in order and not np.delete(is_followed[:, place], order).any()
        ]
        if not free_places:
            return None
        order += free_places
    return tuple(order)


def stacked(columns: Sequence[Array]) -> Array:
    """Stack columns, broadcast to one shape, one for each place, along a last axis [...,
    places].
    """
    return np.stack(np.broadcast_arrays(*columns), axis=-1)
