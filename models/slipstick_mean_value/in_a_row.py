r"""Visits in a row: a customer that has been served and queues again at once, behind the customers
that arrived meanwhile.

Such a customer does not find the numbers of customers that one finds at a random moment. All
customers that it found at its visit before have been served. So it finds those of them that came
back, at their next visits, and the customers that arrived while it waited and was served. Let F_i
be the numbers found at visit i, by the visits at which these customers are, P the probability that
another visit follows at once, S the services, W the waits, and lambda the rate of arrivals, at each
visit, that do not follow another visit. Then::

    F_j = sum over i of r_ij (F_i P + lambda (W_i + S_i)) + e_j A,      W_j = F_j S

r_ij is the part of the visits j that follow visit i, e_j the part that follows none; customers at
the latter find the numbers A and wait as others do. Long services of others delay a customer once,
not at each of its visits: with the numbers A at every visit, five short visits and a long one of an
open stream took 2.7 times too long.

For one first-come server and Poisson arrivals the mean is exact, because every equation is linear
in the numbers. For a loop of many visits the number of turns is taken as geometric. The arrivals of
a closed population are those of the customers that are elsewhere, each after an exponential time.

Source: derived here; for random feedback with one service time Takacs, Bell System Tech. J. 42(2),
1963, 505-519. Checked in tests/method/mean_value/test_in_a_row.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from slipstick.late import dataclass, np
from slipstick.random_times import (
    Array,
    RandomTime,
    limited_to_range,
    sum_of_columns,
    without_zeros,
)
from slipstick.structure.visits import Places
from slipstick_mean_value.queues import Queue

MOST_PLACES = 16
"""Largest number of places of the cycle with visits to one queue: if these visits form a loop, the
number of equations is the square of the number of places.
"""

_VISITS_UNTIL_GONE = 1024
"""Number of visits in a row after which nearly every customer must have left the queue; else the
equations have no solution.
"""

PASSES = 6
"""Number of iterations after which the rates of arrivals of a closed population have settled;
derivatives need one more.
"""


@dataclass(frozen=True)
class SuccessiveVisits:
    """The probabilities with which visits to one queue immediately follow each other, by the places
    of the cycle at which the visits are made.

    Parameters
    ----------
    visits : index of the visit at each place
    share_of_visit : share of the executions of a visit that is made at each place [1] [..., places]
    probability_onward : P, the probability that a visit at another place follows at once [1] [...,
        from, to]
    share_following : r, the share of the visits at a place that follow a visit at another place [1]
        [..., from, to]
    share_following_none : e, the share of the visits at each place that follow no other visit [1]
        [..., places]
    place_order : all places, each after the places that it follows; None where visits form a loop
    """

    visits: tuple[int, ...]
    share_of_visit: Array
    probability_onward: Array
    share_following: Array
    share_following_none: Array
    place_order: tuple[int, ...] | None = None

    @cached_property
    def places_before(self) -> tuple[tuple[tuple[int, Array], ...], ...]:
        """Return, for each place, the places that it follows, each with the share r of the visits
        that follow it [1] [...].
        """
        places = range(len(self.visits))
        return tuple(
            tuple(
                (earlier_place, self.share_following[..., earlier_place, place])
                for earlier_place in places
                if self.share_following[..., earlier_place, place].any()
            )
            for place in places
        )

    @cached_property
    def factors_by_power(self) -> list[Array]:
        """Return, for each place j, the factors b_jk of the powers P^k (see `_ClosedVisits`) [1]
        [powers, ...]. They exist only where the visits form no loop.
        """
        shares_following_none = np.moveaxis(self.share_following_none, -1, 0)
        factors_by_place: dict[int, Array] = {}
        for place in self.place_order or ():
            earlier_factors = [
                share * factors_by_place[earlier_place]
                for earlier_place, share in self.places_before[place]
            ]
            factors_by_place[place] = _factors_of_powers(
                shares_following_none[place], earlier_factors
            )
        return [factors_by_place[place] for place in range(len(self.visits))]

    def stack_by_place(self, column_by_visit: Mapping[int, Array]) -> Array:
        """Return the columns of the visits at each place as one array [..., places]."""
        return stacked_columns([column_by_visit[visit_index] for visit_index in self.visits])

    def with_mean_waits(
        self, wait_by_visit: Mapping[int, RandomTime], mean_waits: Array
    ) -> dict[int, RandomTime]:
        """Return the waits at each visit with the mean of `mean_waits` over the places of the visit
        as new mean; the squared coefficient of variation of each wait stays.

        Parameters
        ----------
        wait_by_visit : waits before
        mean_waits : mean wait at each place [s] [..., places]
        """
        new_waits: dict[int, RandomTime] = {}
        for visit_index in dict.fromkeys(self.visits):
            is_visit = np.array([visit_index == visit for visit in self.visits])
            mean_wait = (self.share_of_visit * mean_waits * is_visit).sum(axis=-1)
            wait_factor = mean_wait / without_zeros(wait_by_visit[visit_index].mean)
            new_waits[visit_index] = RandomTime(
                mean_wait, wait_by_visit[visit_index].variance * wait_factor * wait_factor
            )
        return new_waits

    def shares_present(self, waits_by_place: Array, services_by_place: Array) -> Array:
        """Return, for each place, its share of the customers that are present at all places of the
        same visit [1] [..., places].

        Parameters
        ----------
        waits_by_place, services_by_place : mean wait and service at each place [s] [..., places]
        """
        time_at_place = self.share_of_visit * (waits_by_place + services_by_place)
        is_same_visit = np.array(
            [
                [first_visit == second_visit for second_visit in self.visits]
                for first_visit in self.visits
            ]
        )
        shares_present: Array = time_at_place / without_zeros(time_at_place @ is_same_visit)
        return shares_present

    def open_waits(self, flows: Array, service: Array, residual: Array) -> Array:
        """Return the mean waits in an open stream [s] [..., places].

        The numbers found at random moments depend on the waits, and the waits are linear in these
        numbers. So the equations are solved once without waits and once for a wait of 1 s at each
        place, and the waits follow from a system of linear equations.

        Parameters
        ----------
        flows : visits in a second [1/s] [..., places]
        service, residual : S, and the mean remaining time of a service in progress [s] [...,
            places]
        """
        place_count = len(self.visits)
        arrival_rates = flows * self.share_following_none
        arrival_rates_during_stay = np.broadcast_to(
            arrival_rates[..., None, :], (*arrival_rates.shape, place_count)
        )
        # The first trial has no waits, each further one a wait of 1 at one place.
        trial_waits = np.concatenate([np.zeros((1, place_count)), np.eye(place_count)])
        trial_waits = trial_waits.reshape(
            place_count + 1, *(1 for _ in flows.shape[:-1]), place_count
        )
        wait_at_random = (flows * (trial_waits * service + service * residual)).sum(axis=-1)
        waits = self.waits(
            wait_at_random, flows * (trial_waits + service), service, arrival_rates_during_stay
        )
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
        """Return the mean wait at each visit [s] [..., places].

        Parameters
        ----------
        wait_at_random : mean wait at visits that follow no other visit [s] [...]
        customers_at_random : A, the mean numbers found at a random moment [1] [..., places]
        service_times : S, the mean services [s] [..., places]
        arrival_rates : lambda, the rates of arrivals while a customer is at each visit [1/s] [...,
            from, places]
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
        """Return the mean wait at each visit [s] [..., places], and the mean numbers of customers
        that a customer finds there, by the place at which they are [1] [..., places, by place]. The
        parameters are those of `waits`.
        """
        work_at_random = np.einsum("...m,...m->...", customers_at_random, service_times)
        # A customer that comes at a random moment finds a service in progress, not a whole one:
        # the difference to the work of the numbers found.
        residual_waits = self.share_following_none * (wait_at_random - work_at_random)[..., None]
        arrivals_during_stay = np.einsum(
            "...ij,...i,...in->...jn",
            self.share_following,
            residual_waits + service_times,
            arrival_rates,
        )
        numbers_from_outside = (
            self.share_following_none[..., None] * customers_at_random[..., None, :]
            + arrivals_during_stay
        )
        numbers_found = (
            self._numbers_by_matrix(numbers_from_outside, service_times, arrival_rates)
            if self.place_order is None
            else self._numbers_in_order(
                numbers_from_outside, service_times, arrival_rates, self.place_order
            )
        )
        return residual_waits + np.einsum(
            "...jn,...n->...j", numbers_found, service_times
        ), numbers_found

    def _numbers_in_order(
        self,
        numbers_from_outside: Array,
        service: Array,
        arrival_rates: Array,
        place_order: Sequence[int],
    ) -> Array:
        """Return the mean numbers of customers found at each visit [1] [..., places, by place],
        computed from the numbers found at the visits that it follows; only where the visits form no
        loop.

        Parameters
        ----------
        numbers_from_outside : the part of these numbers that does not come from numbers found at
            other visits [1] [..., places, by place]
        """
        numbers_found = numbers_from_outside.copy()
        for place in place_order:
            numbers_at_place = numbers_found[..., place, :]
            numbers_coming_back = np.einsum(
                "...m,...mn->...n", numbers_at_place, self.probability_onward
            )
            newcomers = (numbers_at_place * service).sum(axis=-1)[..., None] * arrival_rates[
                ..., place, :
            ]
            numbers_found += (
                self.share_following[..., place, :, None]
                * (numbers_coming_back + newcomers)[..., None, :]
            )
        return numbers_found

    def _numbers_by_matrix(
        self, numbers_from_outside: Array, service: Array, arrival_rates: Array
    ) -> Array:
        """Return the mean numbers of customers found at each visit [1] [..., places, by place], by
        one system of linear equations, where the visits form a loop. The parameters are those of
        `_numbers_in_order`.
        """
        place_count = len(self.visits)
        # This matrix turns the numbers found at one visit into the numbers found at the next.
        transfer_rates = (
            self.probability_onward[..., None, :, :]
            + service[..., None, :, None] * arrival_rates[..., None, :]
        )
        coefficients = np.einsum("...ij,...imn->...jnim", self.share_following, transfer_rates)
        coefficient_matrix = np.eye(place_count**2) - coefficients.reshape(
            *coefficients.shape[:-4], place_count**2, place_count**2
        )
        numbers_found = np.linalg.solve(
            coefficient_matrix,
            numbers_from_outside.reshape(*numbers_from_outside.shape[:-2], place_count**2, 1),
        )
        return np.asarray(numbers_found.reshape(numbers_from_outside.shape))

    def closed_waits(
        self,
        wait_at_random: Array,
        numbers_at_random: Array,
        service: Array,
        flows: Array,
        other_processors: float,
    ) -> Array:
        """Return the mean waits in a closed population [s] [..., places].

        Parameters
        ----------
        wait_at_random : mean wait at visits that follow no other visit [s] [...]
        numbers_at_random : A, the mean numbers found at a random moment [1] [..., places]
        service : S, the mean services [s] [..., places]
        flows : visits of the other customers in a second [1/s] [..., places]
        other_processors : number of the other customers
        """
        arrival_rates = flows * self.share_following_none
        # Where all customers are present, a rest of 1e-9 elsewhere keeps their rate of arrival
        # finite.
        processors_away = np.where(
            (other_processors - numbers_at_random.sum(axis=-1)).real > 0,
            other_processors - numbers_at_random.sum(axis=-1),
            1e-9,
        )
        time_away = processors_away / without_zeros(arrival_rates.sum(axis=-1))
        rate_factor = np.ones(len(self.visits))
        closed_visits = _ClosedVisits(
            self, wait_at_random, numbers_at_random, service, arrival_rates
        )
        for _ in range(PASSES):
            waits, total_found = closed_visits.waits_and_numbers(rate_factor)
            # Where the approximation gives a wait or a number below 0, the arrivals of the next
            # pass would grow without end.
            stay_times = limited_to_range(waits) + service
            numbers_elsewhere = limited_to_range(other_processors - limited_to_range(total_found))
            # Each customer that is elsewhere arrives after an exponential time; this is the mean
            # number of them that arrive within the stay.
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
    visits_in_row : the visits
    wait_at_random, numbers_at_random, service : as for `SuccessiveVisits.closed_waits`
    arrival_rates : lambda, the rate of arrivals at each place [1/s] [..., places]
    """

    def __init__(
        self,
        visits_in_row: SuccessiveVisits,
        wait_at_random: Array,
        numbers_at_random: Array,
        service: Array,
        arrival_rates: Array,
    ) -> None:
        self._visits_in_row = visits_in_row
        self._values_at_random = (wait_at_random, numbers_at_random, service)
        self._arrival_rates = arrival_rates
        if visits_in_row.place_order is None:
            return
        # The two columns are P^k S and P^k 1, for one power k after the other [..., places, 2].
        weights = np.stack(np.broadcast_arrays(service, np.ones(1)), axis=-1)
        products_of_found, products_of_arriving = [], []
        for _ in range(max(map(len, visits_in_row.factors_by_power))):
            products_of_found.append(_products_of_numbers(numbers_at_random, weights))
            products_of_arriving.append(_products_of_numbers(arrival_rates, weights))
            weights = visits_in_row.probability_onward @ weights
        work_found, number_found = np.moveaxis(np.stack(products_of_found), -1, 0)
        self._work_arriving, self._number_arriving = np.moveaxis(
            np.stack(products_of_arriving), -1, 0
        )
        residual_waits = (
            visits_in_row.share_following_none * (wait_at_random - work_found[0])[..., None]
        )
        # The first axis of these arrays is that of the places.
        self._services = np.moveaxis(service, -1, 0)
        self._waits_of_found = [
            residual_wait + _weighted_sum(factors, work_found)
            for residual_wait, factors in zip(
                np.moveaxis(residual_waits, -1, 0), visits_in_row.factors_by_power, strict=True
            )
        ]
        self._numbers_of_found = [
            _weighted_sum(factors, number_found) for factors in visits_in_row.factors_by_power
        ]

    def waits_and_numbers(self, rate_factor: Array) -> tuple[Array, Array]:
        """Return the mean wait at each visit [s], and the mean number of customers that a customer
        finds there, at all places together [1] [..., places].

        Parameters
        ----------
        rate_factor : f, the factor on the rates of arrivals while a customer is at each place [1]
            [..., places]
        """
        visits_in_row = self._visits_in_row
        if visits_in_row.place_order is None:
            arrival_rates = rate_factor[..., None] * self._arrival_rates[..., None, :]
            waits, numbers_found = visits_in_row.waits_and_numbers(
                *self._values_at_random, arrival_rates
            )
            return waits, numbers_found.sum(axis=-1)
        waits_by_place = list(self._waits_of_found)
        numbers_by_place = list(self._numbers_of_found)
        scaled_stays = dict[int, Array]()
        factors_by_place = dict[int, Array]()
        for place in visits_in_row.place_order:
            if places_before := visits_in_row.places_before[place]:
                factors = factors_by_place[place] = _factors_of_powers(
                    sum_of_columns(
                        share * scaled_stays[earlier_place]
                        for earlier_place, share in places_before
                    ),
                    [
                        share * factors_by_place[earlier_place]
                        for earlier_place, share in places_before
                        if earlier_place in factors_by_place
                    ],
                )
                waits_by_place[place] = waits_by_place[place] + _weighted_sum(
                    factors, self._work_arriving
                )
                numbers_by_place[place] = numbers_by_place[place] + _weighted_sum(
                    factors, self._number_arriving
                )
            stay_time = waits_by_place[place] + self._services[place]
            scaled_stays[place] = rate_factor[..., place] * stay_time
        return stacked_columns(waits_by_place), stacked_columns(numbers_by_place)


def _factors_of_powers(factor_of_power_0: Array, earlier_factors: Sequence[Array]) -> Array:
    """Return the factors of the powers of P at a place [powers, ...]: the factor of the power 0,
    and for each higher power the sum of the factors of earlier places for the power below.
    """
    power_count = 1 + max(map(len, earlier_factors), default=0)
    factors_shape = np.broadcast_shapes(
        factor_of_power_0.shape, *(factors.shape[1:] for factors in earlier_factors)
    )
    summed_factors = np.zeros(
        (power_count, *factors_shape), np.result_type(factor_of_power_0, *earlier_factors)
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


def successive_visits(queue: Queue, places: Places) -> SuccessiveVisits | None:
    """Return the visits to a queue that immediately follow each other. Return None if there are
    none, if all have the same exponential service, if there are more than `MOST_PLACES`, or if the
    equations do not hold, as at several servers, shared servers and locks.

    Parameters
    ----------
    queue : the queue
    places : places of the cycle at which all queues are visited
    """
    visits = queue.visits
    indices_of_queue = [visit.index for visit in visits]
    places_of_queue = [
        place for place, visit in enumerate(places.visits) if visit.index in indices_of_queue
    ]
    if not _is_plain_station(queue) or not 1 < len(places_of_queue) <= MOST_PLACES:
        return None
    executions_by_pair = {
        place_pair: executions
        for place_pair, executions in places.return_counts.items()
        if place_pair[0] in places_of_queue
    }
    distinct_services = {
        (visit.step.time, visit.step.scv) for visit in visits if visit.step is not None
    }
    if not executions_by_pair or (
        len(distinct_services) == 1 and next(iter(distinct_services))[1] == 1.0
    ):
        return None  # in product form a customer finds the mean numbers at any visit
    following_executions = _following_executions(executions_by_pair, places_of_queue)
    executions_by_place = stacked_columns([places.executions[place] for place in places_of_queue])
    share_following = following_executions / without_zeros(executions_by_place)[..., None, :]
    share_following_none = 1.0 - share_following.sum(axis=-2)
    # A sum of probabilities that misses 1 by no more than 1e-9 misses it by rounding.
    share_following_none = np.where(share_following_none.real > 1e-9, share_following_none, 0.0)
    probability_onward = following_executions / without_zeros(executions_by_place)[..., :, None]
    # Customers that never leave the queue do not arrive there at a random moment.
    remaining_probabilities = np.linalg.matrix_power(probability_onward.real, _VISITS_UNTIL_GONE)
    if remaining_probabilities.sum(axis=-1).max() > 0.99:
        return None
    visit_indices = tuple(places.visits[place].index for place in places_of_queue)
    is_same_visit = np.array(
        [
            [first_index == second_index for second_index in visit_indices]
            for first_index in visit_indices
        ]
    )
    share_of_visit = executions_by_place / without_zeros(executions_by_place @ is_same_visit)
    return SuccessiveVisits(
        visit_indices,
        share_of_visit,
        probability_onward,
        share_following,
        share_following_none,
        _order_of_places(share_following),
    )


def _is_plain_station(queue: Queue) -> bool:
    """Return whether a queue is a single server that serves in order, and a visit holds nothing
    else.
    """
    return (
        not (queue.serves_at_once or queue.is_lock or queue.order)
        and queue.copies == queue.servers == queue.requests == 1
        and not any(visit.held_resources or visit.released_locks for visit in queue.visits)
    )


def _following_executions(
    executions_by_pair: Mapping[tuple[int, int], Array], places: Sequence[int]
) -> Array:
    """Return how often a visit at each place immediately follows a visit at each earlier place, in
    a cycle [1] [..., earlier places, places].
    """
    no_executions = np.zeros(1)
    executions_after_place = [
        stacked_columns(
            [
                executions_by_pair.get((earlier_place, later_place), no_executions)
                for later_place in places
            ]
        )
        for earlier_place in places
    ]
    return np.stack(np.broadcast_arrays(*executions_after_place), axis=-2)


def _order_of_places(share_following: Array) -> tuple[int, ...] | None:
    """Return the places in an order in which each place comes after all places that it follows;
    None if the places form a loop.
    """
    place_count = share_following.shape[-1]
    # A share of 0 may have a derivative, which is its imaginary part.
    is_followed = (share_following != 0).reshape(-1, place_count, place_count).any(axis=0)
    place_order: list[int] = []
    while len(place_order) < place_count:
        next_places = [
            place
            for place in range(place_count)
            if place not in place_order and not np.delete(is_followed[:, place], place_order).any()
        ]
        if not next_places:
            return None
        place_order += next_places
    return tuple(place_order)


def stacked_columns(columns: Sequence[Array]) -> Array:
    """Return several columns, one for each place and broadcast to one shape, as one array [...,
    places].
    """
    return np.stack(np.broadcast_arrays(*columns), axis=-1)
