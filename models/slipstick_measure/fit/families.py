"""Families of models that are fitted: curves over the number of processors, and mechanisms with
unknown demands.

All describe one work. Shared by all processors (strong scaling), it takes p processors W(p)
processor seconds, and the time is W(p) / p; if every processor has work of its own (weak scaling),
the time is W(p) itself.

Curves are laws of speed-up, latencies, powers and logarithms, and the slowest of several
processors. Mechanisms are closed queueing networks: work outside, stations with one server inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import lgamma

from slipstick.errors import NoAnswerError, look_up
from slipstick.late import Array, NDArray, np
from slipstick.law.law import Law
from slipstick.queueing.network import NetworkSolution, network_arrays
from slipstick_laws.speedup import AMDAHL_SPEEDUP, UNIVERSAL_SCALABILITY
from slipstick_measure.fit.formula import (
    Basis,
    Family,
    FitParameter,
    LostTimes,
    TimeFormula,
    Timings,
    linear_formula,
    nonnegative_coefficients,
    work_divisor,
)

FAMILIES: dict[str, Family] = {}
"""Every family by name."""

_MakeFormulas = Callable[[Timings], Iterator[TimeFormula]]


def family_named(name: str) -> Family:
    """Return a family by name.

    Raises
    ------
    UnknownNameError : there is no such family
    """
    return look_up("family of models", name, FAMILIES)


def _register_family(
    name: str, title: str, source: str, has_sizes: bool = False
) -> Callable[[_MakeFormulas], _MakeFormulas]:
    """Return a decorator that registers a family, for a function that yields its formulas. Unless
    `has_sizes`, the family fits data of one size only.
    """

    def register(make_formulas: _MakeFormulas) -> _MakeFormulas:
        def checked_formulas(timings: Timings) -> list[TimeFormula]:
            if timings.has_sizes and not has_sizes:
                size_count = len(set(timings.n.tolist()))
                raise NoAnswerError(
                    f"the data have {size_count} sizes, and this family has no size; fit the runs"
                    " of one"
                    " size (--size)"
                )
            return list(make_formulas(timings))

        FAMILIES[name] = Family(name, title, source, checked_formulas)
        return make_formulas

    return register


_SINGLE_TIME = FitParameter("single", "s", "time on one processor")


def _divisor_text(timings: Timings) -> str:
    """Return the division by the processors in the text of a formula; empty if each processor has
    work of its own.
    """
    return "" if timings.weak_scaling else " / p"


def _formula_of_law(
    law: Law,
    name: str,
    text: str,
    parameters: tuple[FitParameter, ...],
    terms: list[Basis],
    causes: tuple[str, ...],
) -> TimeFormula:
    """Build a formula from a law of speed-up: the work is a sum of terms, and each parameter after
    the first has a cause of loss.
    """

    def time(theta: Array, points: Timings) -> Array:
        single_time, *law_values = theta
        values_by_name = {
            parameter.name: value
            for parameter, value in zip(parameters[1:], law_values, strict=True)
        }
        times: Array = (
            single_time
            * points.p
            / law.equation(**values_by_name, processors=points.p)
            / work_divisor(points)
        )
        return times

    def lost_times(theta: Array, points: Timings) -> LostTimes:
        times_with_terms = [
            time(theta * (np.arange(len(theta)) <= term_index), points)
            for term_index in range(1, len(theta))
        ]
        time_pairs = pairwise([theta[0] / work_divisor(points), *times_with_terms])
        return {
            cause: time_after - time_before
            for cause, (time_before, time_after) in zip(causes, time_pairs, strict=True)
        }

    def starting_points(points: Timings) -> list[Array]:
        coefficients = nonnegative_coefficients(
            np.column_stack([term(points) for term in terms]) / work_divisor(points)[:, None],
            points.time,
        )
        first_coefficient = coefficients[0] if coefficients[0] > 0 else float(points.time[0])
        return [np.array([first_coefficient, *(coefficients[1:] / first_coefficient)])]

    return TimeFormula(name, text, parameters, time, starting_points, lost_times=lost_times)


_TERMS: list[Basis] = [
    lambda at: np.ones(len(at)),
    lambda at: at.p - 1,
    lambda at: at.p * (at.p - 1),
]


@_register_family("amdahl", "Amdahl's law", "Amdahl, AFIPS 1967")
def _amdahl_formulas(timings: Timings) -> Iterator[TimeFormula]:
    parameters = (_SINGLE_TIME, FitParameter("serial", "1", "serial part of the work", 1.0))
    text = f"T = single (1 + serial (p - 1)){_divisor_text(timings)}"
    yield _formula_of_law(AMDAHL_SPEEDUP, "amdahl", text, parameters, _TERMS[:2], ("serial part",))


@_register_family(
    "usl", "the universal scalability law", "Gunther, Guerrilla Capacity Planning, 2007"
)
def _usl_formulas(timings: Timings) -> Iterator[TimeFormula]:
    contention = FitParameter("contention", "1", "part of the work that queues", 1.0)
    coherency = FitParameter("coherency", "1", "cost of keeping each pair of processors consistent")
    text = f"T = single (1 + contention (p - 1) + coherency p (p - 1)){_divisor_text(timings)}"
    parameters = (_SINGLE_TIME, contention, coherency)
    yield _formula_of_law(
        UNIVERSAL_SCALABILITY, "usl", text, parameters, _TERMS, ("contention", "coherency")
    )


def cycle_times(time_outside: Array | float, demands: Array, populations: Array) -> Array:
    """Return the exact mean cycle time N / X for each population [s]. Beyond
    `MOST_SUMMED_CUSTOMERS` customers, two demands that differ by less than
    `LEAST_DEMAND_DIFFERENCE` give a relative error of up to half of that limit.

    Parameters
    ----------
    time_outside : time outside the stations [s], a number or (M,)
    demands : service at each station in a cycle, (K,) or (M, K) [s]
    populations : whole numbers of at least 1, (M,)

    >>> cycle_times(9.0, np.array([1.0]), np.array([1.0, 2.0, 64.0])).round(3).tolist()
    [10.0, 10.1, 64.0]
    """
    demand_rows = np.broadcast_to(demands, (len(populations), demands.shape[-1]))
    times_outside = np.broadcast_to(time_outside, populations.shape)
    times_by_population = np.empty(len(populations))
    has_closed_form = _has_distinct_demands(demand_rows)
    have_similar_demands = ~has_closed_form & (demands.shape[-1] == 2)
    is_summed = have_similar_demands & (populations <= MOST_SUMMED_CUSTOMERS)
    selections_and_methods = (
        (has_closed_form, _cycle_times_of_few_stations),
        (is_summed, _cycle_times_by_sum),
        (have_similar_demands & ~is_summed, _cycle_times_of_similar_stations),
        (~has_closed_form & ~have_similar_demands, _times_by_recursion),
    )
    for is_selected, compute_times in selections_and_methods:
        if is_selected.any():
            times_by_population[is_selected] = compute_times(
                times_outside[is_selected], demand_rows[is_selected], populations[is_selected]
            )
    return times_by_population


LEAST_DEMAND_DIFFERENCE = 1e-4
"""Relative difference of two demands from which the closed form of two stations is taken: its
subtraction loses digits. The error is at most 1.5e-9 of the time here, with 900 to 1,000,000
customers (beside decimals of 60 digits, as in `tests/measure/fit/test_parts.py`)."""
MOST_SUMMED_CUSTOMERS = 1024
"""Customers up to which the states of two stations with nearly the same demand are summed; each
evaluation of a fit takes as many terms."""


def _has_distinct_demands(demand_rows: Array) -> NDArray[np.bool_]:
    """Return at which rows of demands there is one station, or two whose demands differ enough for
    the closed form.
    """
    if demand_rows.shape[1] > 2:
        return np.zeros(len(demand_rows), dtype=bool)
    largest_demands = demand_rows.max(axis=1)
    smallest_demands = demand_rows.min(axis=1)
    are_distinct: NDArray[np.bool_] = (demand_rows.shape[1] == 1) | (
        largest_demands - smallest_demands > LEAST_DEMAND_DIFFERENCE * largest_demands
    )
    return are_distinct


def _cycle_times_by_sum(time_outside: Array, demands: Array, populations: Array) -> Array:
    """Return cycle times with two stations whose demands are alike, by a sum of positive terms,
    which loses no digits.

    ::

        T = N G(N) / G(N - 1),   G(n) = sum over k = 0..n of Z^(n - k) / (n - k)! h(k)
        h(k) = sum over i = 0..k of D^i E^(k - i) = m^k (1 - e^2)^((k + 1) / 2) sinh((k + 1) a) / e
        D, E = m (1 + e), m (1 - e),   a = artanh(e)

    Source: Buzen, Comm. ACM 16(9), 1973 (normalizing constants).
    """
    smallest_number = np.finfo(float).tiny
    mean_demands = np.maximum(demands.mean(axis=1), smallest_number)[:, None]
    # Below 1e-9 the difference changes no digit, for its square counts; at 0 it could not divide.
    half_differences = np.maximum(np.ptp(demands, axis=1)[:, None] / 2 / mean_demands, 1e-9)
    log_time_outside = np.log(np.maximum(time_outside, smallest_number))[:, None]
    customers_inside = np.arange(populations.max() + 1)[None]
    log_inside = (
        customers_inside * np.log(mean_demands)
        + (customers_inside + 1) / 2 * np.log1p(-(half_differences**2))
        + np.log(np.sinh((customers_inside + 1) * np.arctanh(half_differences)) / half_differences)
    )

    def log_constant(customers: Array) -> Array:
        customers_outside = customers[:, None] - customers_inside
        log_terms = (
            customers_outside * log_time_outside
            - _log_factorial(np.maximum(customers_outside, 0))
            + log_inside
        )
        return _log_of_sum(np.where(customers_outside >= 0, log_terms, -np.inf).T)

    log_ratio = log_constant(populations) - log_constant(populations - 1)
    return np.asarray(populations * np.exp(log_ratio))


def _cycle_times_of_similar_stations(
    time_outside: Array, demands: Array, populations: Array
) -> Array:
    """Return cycle times with two stations of nearly the same demand, by the closed form for
    demands that are moved apart around their mean.

    The cycle time rises with each demand, and in proportion to all times together. So it changes by
    no more than the demands do, half of `LEAST_DEMAND_DIFFERENCE`.
    """
    mean_demand = np.maximum(demands.mean(axis=1, keepdims=True), 1e-290)
    return _cycle_times_of_few_stations(
        time_outside,
        mean_demand * np.array([1 + LEAST_DEMAND_DIFFERENCE / 2, 1 - LEAST_DEMAND_DIFFERENCE / 2]),
        populations,
    )


def _cycle_times_of_few_stations(time_outside: Array, demands: Array, populations: Array) -> Array:
    """Return cycle times with one or two stations, in closed form.

    ::

        S(n, a) = sum over k = 0..n of n! / (n - k)! a^-k,    a = Z / D
        one station    T = Z / S(N - 1, a) + N D
        two, D > E     T = (Z (D - E) + N (D^2 S - E^2 S')) / (D S - E S')

    The normalizing constant of one station is ``Z^N / N! S(N, Z / D)``, that of two the quotient of
    the differences of ``D`` times that of the one and ``E`` times that of the other; S is the
    reciprocal of Erlang's loss formula, and S and S' stand for N - 1 customers.
    """
    smallest_number = np.finfo(float).tiny
    sorted_demands = np.maximum(np.sort(demands, axis=1)[:, ::-1], smallest_number)
    positive_time_outside = np.maximum(time_outside, smallest_number)
    with np.errstate(over="ignore", under="ignore"):
        loads = np.minimum(positive_time_outside[:, None] / sorted_demands, 1e250)
        log_sums = [_log_state_sum(populations - 1, station_load) for station_load in loads.T]
        probability_alone = np.exp(-log_sums[0])
        larger_demand = sorted_demands[:, 0]
        if len(log_sums) == 1:
            times_of_one_station: Array = (
                positive_time_outside * probability_alone + populations * larger_demand
            )
            return times_of_one_station
        smaller_demand = sorted_demands[:, 1]
        state_sum_ratio = np.exp(log_sums[1] - log_sums[0])
        demand_difference = larger_demand - smaller_demand * state_sum_ratio
        numerator = positive_time_outside * (larger_demand - smaller_demand) * probability_alone
        times: Array = (
            numerator + populations * (larger_demand**2 - smaller_demand**2 * state_sum_ratio)
        ) / demand_difference
    return times


MOST_SUMMED_TERMS = 20_000
"""Terms of sums over customers up to which they are summed without SciPy, which takes 0.3 s of
processor time and 28 MB to be imported."""


def _are_few_and_whole(numbers: Array) -> bool:
    """Return whether numbers of customers are whole and at most `MOST_SUMMED_CUSTOMERS`."""
    are_few = numbers.max(initial=0) <= MOST_SUMMED_CUSTOMERS
    return bool(are_few and np.equal(numbers % 1, 0).all())


@cache
def _log_factorials() -> Array:
    """Return the logarithm of the factorial of each number up to `MOST_SUMMED_CUSTOMERS`."""
    return np.array([lgamma(number + 1.0) for number in range(MOST_SUMMED_CUSTOMERS + 1)])


def _log_factorial(numbers: Array) -> Array:
    """Return the logarithm of the factorial; infinity for negative numbers."""
    if _are_few_and_whole(numbers):
        log_factorials = _log_factorials()[np.maximum(numbers, 0).astype(int)]
        return np.where(numbers < 0, np.inf, log_factorials)
    from scipy.special import gammaln

    return np.asarray(gammaln(numbers + 1))


def _log_state_sum(customers: Array, load: Array) -> Array:
    """Return the logarithm of S(n, a) of `_cycle_times_of_few_stations`: of few customers by its
    terms, else by the Poisson distribution or, where its probability underflows, term by term,
    because the terms then fall fast.
    """
    are_few = customers.size * (customers.max(initial=0) + 1) <= MOST_SUMMED_TERMS
    if are_few and _are_few_and_whole(customers):
        customers_left = customers[..., None] - np.arange(customers.max(initial=0) + 1)
        log_terms = customers_left * np.log(load)[..., None] - _log_factorial(customers_left)
        log_factors = _log_factorial(customers) - customers * np.log(load)
        return np.asarray(_log_of_sum(np.moveaxis(log_terms, -1, 0)) + log_factors)
    from scipy.special import gammaincc, gammaln

    probability_below = gammaincc(customers + 1, load)
    log_probabilities = customers * np.log(load) - load - gammaln(customers + 1)
    has_underflow = probability_below < 1e-250
    log_sums: Array = np.log(np.where(has_underflow, 1.0, probability_below)) - log_probabilities
    if has_underflow.any():
        largest_term_ratio = float((customers[has_underflow] / load[has_underflow]).max())
        term_count = 2 + int(-40 / np.log(min(max(largest_term_ratio, 1e-18), 0.9999)))
        customers_left_of_row = np.maximum(
            customers[has_underflow, None] - np.arange(term_count), 0.0
        )
        log_sums[has_underflow] = np.log1p(
            np.cumprod(customers_left_of_row / load[has_underflow, None], axis=1).sum(axis=1)
        )
    return log_sums


def _times_by_recursion(time_outside: Array, demands: Array, populations: Array) -> Array:
    """Return cycle times by mean value analysis, customer by customer."""
    times: Array = populations / _solve_network(time_outside, demands, populations).throughput[:, 0]
    return times


def _solve_network(
    time_outside: Array | float, demands: Array, populations: Array
) -> NetworkSolution:
    """Solve the closed network of a time outside and stations with one server each, exactly, for
    each population.
    """
    # Data and studies are checked without what solves networks.
    from slipstick.queueing.exact import exact

    demand_rows = demands if demands.ndim == 1 else demands[:, None, :]
    # A search may try demands so small that the throughput overflows: the cycle time is then 0.
    with np.errstate(over="ignore"):
        return exact(
            network_arrays(
                demand_rows,
                population=populations[:, None],
                think=np.reshape(time_outside, (-1, 1)),
            )
        )


def _formulas_of_closed_queue(station_count: int) -> _MakeFormulas:
    """Return a function that yields the formula of a closed queueing network with a number of
    stations; its parameters are the time outside and the demand at each station.
    """
    demand_names = (
        ["service"]
        if station_count == 1
        else [f"service{station_number}" for station_number in range(1, station_count + 1)]
    )
    demand_parameters = [
        FitParameter(name, "s", "service demand at a station with one server")
        for name in demand_names
    ]
    parameters = (FitParameter("outside", "s", "time outside the stations"), *demand_parameters)

    def time(theta: Array, points: Timings) -> Array:
        times: Array = cycle_times(theta[0], theta[1:].T, points.p) / work_divisor(points)
        return times

    def lost_times(theta: Array, points: Timings) -> LostTimes:
        waits = (
            _solve_network(theta[0], theta[1:], points.p).residence[:, 0] - theta[1:]
        ) / work_divisor(points)[:, None]
        return {
            f"waiting for {name}": waits[:, station_column]
            for station_column, name in enumerate(demand_names)
        }

    def starting_points(points: Timings) -> list[Array]:
        work_times = points.time * work_divisor(points)
        least_work_time = float(work_times.min())
        last_slope = float((work_times / points.p).min())
        # The slope at the end is the largest demand if the station is saturated there; it is not
        # larger.
        demand_guesses = [0.999 * last_slope, 0.5 * last_slope, 0.1 * last_slope]
        return [
            np.array(
                [
                    max(least_work_time - demand_guess, 0.05 * least_work_time),
                    *(demand_guess * 0.5**station_index for station_index in range(station_count)),
                ]
            )
            for demand_guess in demand_guesses
        ]

    def formulas(timings: Timings) -> Iterator[TimeFormula]:
        text = f"T = cycle of a closed queueing network{_divisor_text(timings)}"
        yield TimeFormula(
            f"queue-{station_count}", text, parameters, time, starting_points, lost_times=lost_times
        )

    return formulas


for _stations, _word in (1, "one station"), (2, "two stations"):
    _title = f"a closed queue: work outside, {_word} inside"
    _register_family(f"queue-{_stations}", _title, "Reiser, Lavenberg, J. ACM 27(2), 1980")(
        _formulas_of_closed_queue(_stations)
    )


def expected_largest(number_counts: Array) -> Array:
    r"""Return the expected largest of N independent standard normal numbers, for each N.

    ::

        E[max] = int_0^oo (1 - F(x)^N - F(-x)^N) dx        F: the normal distribution

    Parameters
    ----------
    number_counts : N, at least 1, (M,)

    Source: David and Nagaraja, Order Statistics, 3rd edition, 2003, section 3.1.

    >>> expected_largest(np.array([1.0, 2.0, 3.0, 10.0])).round(5).tolist()
    [0.0, 0.56419, 0.84628, 1.53875]
    """
    return np.array(
        [_mean_largest_of_normals(float(number_count)) for number_count in number_counts]
    )


@cache
def _mean_largest_of_normals(number_count: float) -> float:
    """Return the expected largest of `number_count` independent standard normal numbers."""
    from scipy.special import ndtr

    abscissas = np.linspace(
        0.0, 12.0, 4801
    )  # beyond 12, the largest of 10^30 adds nothing to 15 digits
    return float(
        np.trapezoid(
            1 - ndtr(abscissas) ** number_count - ndtr(-abscissas) ** number_count, abscissas
        )
    )


@_register_family(
    "phase-barrier",
    "phases of random work between barriers",
    "David, Nagaraja, Order Statistics, 2003",
)
def _phase_barrier_formulas(timings: Timings) -> Iterator[TimeFormula]:
    """Yield the formula of phases of random work, each of which lasts until the slowest processor
    is done, and of a barrier with a cost per doubling of processors.
    """
    is_weak_scaling = timings.weak_scaling

    def spread_column(points: Timings) -> Array:
        return expected_largest(points.p) / (
            np.ones(len(points)) if points.weak_scaling else np.sqrt(points.p)
        )

    yield linear_formula(
        "phase-barrier",
        f"T = work{_divisor_text(timings)} + spread"
        f" largest(p){'' if is_weak_scaling else ' / sqrt(p)'} + step"
        " log2(p)",
        [
            (
                FitParameter("work", "s", "mean work between two barriers"),
                lambda at: 1 / work_divisor(at),
            ),
            (
                FitParameter("spread", "s", "standard deviation of the work between two barriers"),
                spread_column,
            ),
            (
                FitParameter("step", "s", "cost of the barrier per doubling of processors"),
                lambda at: np.log2(at.p),
            ),
        ],
        cause_by_parameter={"spread": "waiting for the slowest", "step": "barrier"},
    )


@_register_family(
    "servers",
    "work outside, and a queue with as many servers as the hardware has",
    "the machine repairman with several repairmen: Feller, vol. 1, 3rd ed., 1968, XVII.7",
)
def _closed_queue_formulas(timings: Timings) -> Iterator[TimeFormula]:
    """Yield the formula of the cycle time of a closed queue with as many servers as the hardware
    has.
    """
    if timings.servers is None:
        raise NoAnswerError("say how many processors the hardware has (--servers)")

    def time(theta: Array, points: Timings) -> Array:
        times: Array = repairman_cycle_time(
            theta[0], theta[1], points.servers or 1, points.p
        ) / work_divisor(points)
        return times

    def starting_points(points: Timings) -> list[Array]:
        least_work_time = float((points.time * work_divisor(points)).min())
        return [
            np.array([fraction * least_work_time, (1 - fraction) * least_work_time])
            for fraction in (0.05, 0.3, 0.7)
        ]

    parameters = (
        FitParameter("outside", "s", "time outside the queue"),
        FitParameter("service", "s", "service demand at a queue with all servers of the hardware"),
    )
    text = f"T = cycle of a closed queue with {timings.servers} servers{_divisor_text(timings)}"
    yield TimeFormula("servers", text, parameters, time, starting_points)


def _log_of_sum(logarithms: Array) -> Array:
    """Return the logarithm of the sum over the first axis of values given by their logarithms. The
    function of SciPy for it takes longer than all else in a fit of a few rows.
    """
    largest = logarithms.max(axis=0)
    log_sum: Array = largest + np.log(np.exp(logarithms - largest).sum(axis=0))
    return log_sum


def repairman_cycle_time(
    time_outside: Array, service_demand: Array, servers: int, populations: Array
) -> Array:
    """Return the exact mean cycle time of N customers at a station with c servers [s].

    With n of N at the station, its probability goes with ``N! / (N - n)! (D / Z)^n / prod min(k,
    c)``. From c on these add up to ``binom(N, c) (D / Z)^c S(N - c, c Z / D)``, with the sum S of
    `_cycle_times_of_few_stations`. The cycle time is N D over the mean number of busy servers.

    Parameters
    ----------
    time_outside, service_demand : Z and D [s], numbers or (M,)
    servers : c
    populations : N, (M,)

    >>> repairman_cycle_time(np.array([9.0]), np.array([1.0]), 1, np.array([2.0])).round(3).tolist()
    [10.1]
    """
    customers = np.round(populations)
    smallest_number = np.finfo(float).tiny
    positive_time_outside = np.maximum(
        np.broadcast_to(time_outside, customers.shape), smallest_number
    )
    positive_demand = np.maximum(
        np.broadcast_to(service_demand, customers.shape),
        positive_time_outside * 1e-250 + smallest_number,
    )
    time_ratio = positive_time_outside / positive_demand
    customers_inside = np.arange(min(servers, int(customers.max())) + 1.0)[:, None]
    log_weights = (
        _log_factorial(customers)
        - _log_factorial(customers - customers_inside)
        - _log_factorial(customers_inside)
        - customers_inside * np.log(time_ratio)
    )
    if servers <= customers.max():
        log_weights[-1] += _log_state_sum(
            np.maximum(customers - servers, 0.0), servers * time_ratio
        )
    log_servers = np.log(np.maximum(customers_inside, smallest_number))
    busy_servers = np.exp(_log_of_sum(log_weights + log_servers) - _log_of_sum(log_weights))
    times: Array = customers * positive_demand / busy_servers
    return times


EXPONENT_OF_SMOOTH_MAXIMUM = 8
"""Exponent of the smooth maximum: where both sides are equal it is 9 % above them."""


def _smooth_maximum(first_values: Array, second_values: Array) -> Array:
    """Return a maximum of two arrays that is differentiable everywhere and at most 9 % above the
    larger value.
    """
    larger_values = np.maximum(np.maximum(first_values, second_values), 1e-300)
    maximum: Array = larger_values * (
        (first_values / larger_values) ** EXPONENT_OF_SMOOTH_MAXIMUM
        + (second_values / larger_values) ** EXPONENT_OF_SMOOTH_MAXIMUM
    ) ** (1 / EXPONENT_OF_SMOOTH_MAXIMUM)
    return maximum


@_register_family(
    "saturating",
    "work, and work that a shared limit such as memory bandwidth holds up",
    "the roofline of Williams, Waterman and Patterson, CACM 52(4), 2009, over processors",
)
def _saturating_formulas(timings: Timings) -> Iterator[TimeFormula]:
    """Yield the formula T = rest / p + max(work / p, floor / domains), with one domain if the data
    name none.
    """
    processors_per_domain = timings.domain

    def time(theta: Array, points: Timings) -> Array:
        serial_time, work, least_domain_time = theta
        domains = np.ceil(points.p / points.domain) if points.domain else np.ones(len(points))
        times: Array = (
            serial_time + _smooth_maximum(work, least_domain_time * points.p / domains)
        ) / work_divisor(points)
        return times

    def starting_points(points: Timings) -> list[Array]:
        work_times = points.time * work_divisor(points)
        least_work_time = float(work_times.min())
        least_slope = float((work_times / points.p).min())
        return [
            np.array(
                [
                    fraction * least_work_time,
                    (1 - fraction) * least_work_time,
                    fraction_of_slope * least_slope,
                ]
            )
            for fraction in (0.1, 0.5)
            for fraction_of_slope in (0.5, 0.9)
        ]

    parameters = (
        FitParameter("rest", "s", "work that nothing holds up"),
        FitParameter("work", "s", "work that the shared limit holds up"),
        FitParameter("floor", "s", "least time of that work in one domain"),
    )
    domains_text = f" / ceil(p / {processors_per_domain})" if processors_per_domain else ""
    divisor_text = _divisor_text(timings)
    text = f"T = rest{divisor_text} + max(work{divisor_text}, floor{domains_text})"
    if timings.weak_scaling:
        text = f"T = rest + max(work, floor p{domains_text})"
    yield TimeFormula("saturating", text, parameters, time, starting_points)


@_register_family("nodes", "work that is slower by a part beyond one node", "own")
def _formulas_with_nodes(timings: Timings) -> Iterator[TimeFormula]:
    """Yield the formula T = work (1 + slower [p > node]) / p + serial, where `node` is the
    processors of a node that the data state.
    """
    if timings.domain is None:
        raise NoAnswerError("say how many processors a node has (--domain)")

    def time(theta: Array, points: Timings) -> Array:
        work, serial, slowdown = theta
        is_beyond_node = points.p > (points.domain or 1)
        times: Array = (work * (1 + slowdown * is_beyond_node) + serial * points.p) / work_divisor(
            points
        )
        return times

    def starting_points(points: Timings) -> list[Array]:
        work = float((points.time * work_divisor(points)).min())
        return [np.array([work, 1e-3 * work, slowdown]) for slowdown in (0.01, 0.3)]

    parameters = (
        FitParameter("work", "s", "work that is shared"),
        FitParameter("serial", "s", "part that does not get shorter"),
        FitParameter("slower", "1", "part by which processors of several nodes are slower"),
    )
    text = f"T = work (1 + slower [p > {timings.domain}]){_divisor_text(timings)} + serial"
    yield TimeFormula("nodes", text, parameters, time, starting_points)


_POWERS = sorted({Fraction(k, 4) for k in range(13)} | {Fraction(k, 3) for k in range(10)})
_POWERS_OF_LATENCY = [Fraction(halves, 2) for halves in range(5)]
_LOG_POWERS = (0, 1, 2)


@_register_family(
    "latency",
    "useful work and an average latency in powers and logarithms",
    "Scale-Graph, IEEE TSE 1997, equation 3",
    has_sizes=True,
)
def _latency_formulas(timings: Timings) -> Iterator[TimeFormula]:
    """Yield the formulas T = work n / p + latency p^a log2(p)^b n^c (Scale-Graph, equation 3): one
    for each choice of the exponents.
    """
    if timings.weak_scaling and not timings.has_sizes:
        raise NoAnswerError("for one size and weak scaling, latency is the same as power-log")
    size_powers = [Fraction(0), Fraction(1, 2), Fraction(1)] if timings.has_sizes else [Fraction(0)]
    work = FitParameter("work", "s", "time of one unit of work on one processor")
    useful_term: tuple[FitParameter, Basis] = (work, lambda points: points.n / work_divisor(points))
    for power, log_power, size_power in product(_POWERS_OF_LATENCY, _LOG_POWERS, size_powers):
        term_text = " ".join(
            filter(None, [_term_text("p", power, log_power), _term_text("n", size_power, 0)])
        )
        parameter = FitParameter("latency", "s", "factor of the average latency")
        text = f"T = work n{_divisor_text(timings)} + latency {term_text}".rstrip()
        terms = [useful_term, (parameter, _power_basis(power, log_power, size_power))]
        yield linear_formula(
            "latency",
            text,
            terms,
            chosen_exponents=2 + timings.has_sizes,
            cause_by_parameter={"latency": "latency"},
        )


@_register_family(
    "power-log",
    "a constant and one term in powers and logarithms",
    "Calotoiu et al., SC 2013 (the normal form of Extra-P)",
)
def _power_log_formulas(timings: Timings) -> Iterator[TimeFormula]:
    """Yield formulas with one power of p times one power of log p; falling powers only where the
    work is divided among processors.
    """
    constant_term: tuple[FitParameter, Basis] = (
        FitParameter("constant", "s", "part that does not depend on p"),
        _TERMS[0],
    )
    yield linear_formula("power-log", "T = constant", [constant_term])
    falling_powers = [] if timings.weak_scaling else [-power for power in _POWERS if 0 < power <= 1]
    for power, log_power in product([*falling_powers, *_POWERS], _LOG_POWERS):
        if power or log_power:
            power_term = (
                FitParameter("factor", "s", "of the term in p"),
                _power_basis(power, log_power),
            )
            text = f"T = constant + factor {_term_text('p', power, log_power)}"
            yield linear_formula("power-log", text, [constant_term, power_term], chosen_exponents=2)


def _power_basis(power: Fraction, log_power: int, size_power: Fraction = Fraction(0)) -> Basis:
    """Return the function of points p^a log2(p)^b n^c, for the exponents `power`, `log_power` and
    `size_power`.
    """

    def basis(points: Timings) -> Array:
        column: Array = (
            points.p ** float(power)
            * np.log2(points.p) ** log_power
            * points.n ** float(size_power)
        )
        return column

    return basis


def _term_text(parameter: str, power: Fraction, log_power: int) -> str:
    """Return the text of a parameter to a power, times its logarithm to a power."""
    exponent = f"^{power}" if power.denominator == 1 else f"^({power})"
    power_text = "" if power == 0 else parameter + ("" if power == 1 else exponent)
    log_text = (
        "" if log_power == 0 else f"log2({parameter})" + ("" if log_power == 1 else f"^{log_power}")
    )
    return " ".join(filter(None, [power_text, log_text]))
