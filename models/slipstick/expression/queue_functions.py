"""Functions of queues over whole arrays, each with its derivatives: Erlang's, Engset's and Palm's
losses, Poisson numbers, retried calls, and the queue with constant service.

Of the queue with constant service, M/D/1, the textbook's series alternate and lose all digits at a
few dozen customers. Here every term is positive: the numbers present follow from each other by
Ramaswami's recursion, and waits from the numbers present by Franx' sum.

Source: Ramaswami, Stochastic Models 4(1), 1988; Franx, Operations Research Letters 29(5), 2001.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count as count_from
from math import lgamma, log, pi

from slipstick.late import Array, np

MOST_SERVERS_COUNTED = 1e7
"""Largest number of servers that are counted one by one; for more, a function has no value."""

MOST_STAGES = 1024.0
"""Largest number of stages of switches: with two branches each, they have as many leaves as a
double can count.
"""


# (atanh(v) - v) / v^3 to the last bit for |v| < 0.1.
_ATANH_COEFFICIENTS = tuple(1 / k for k in range(3, 19, 2))


def series(coefficients: Sequence[float], x: Array) -> Array:
    """Return the value of a power series: the sum of coefficients[k] x^k."""
    value = np.zeros_like(x)
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value


def _limited_count(counts: Array, largest_count: float = MOST_SERVERS_COUNTED) -> Array:
    """Return counts with NaN in the place of counts above `largest_count`, for which sums would
    take too long.
    """
    return (
        counts
        if float(np.max(counts, initial=0.0)) <= largest_count
        else np.where(counts <= largest_count, counts, np.nan)
    )


def _largest_count(counts: Array) -> int:
    """Return the largest of some counts; NaN counts as 0."""
    return int(np.max(np.nan_to_num(counts), initial=0.0))


def _compute_loss(
    compute_ratio: Callable[[Array], Array], first_index: Array, servers: Array, out: Array
) -> None:
    """Compute a loss probability from its reciprocal I by I_k = 1 + compute_ratio(k) I_{k-1},
    from I = 1 at `first_index` up to k = `servers`; NaN without a number of servers.

    Counting from the end lets each point have its own number of servers: the ratio at 0 is 0, and I
    is 1 until then.
    """
    all_start_at_zero = not np.any(first_index)
    out[...] = 1.0
    for steps_to_end in range(_largest_count(servers - first_index) - 1, -1, -1):
        busy_servers = np.maximum(servers - steps_to_end, 0.0)
        out *= compute_ratio(
            busy_servers if all_start_at_zero else busy_servers * (busy_servers > first_index)
        )
        out += 1.0
        # What has overflowed stays infinite; to test that costs as much as a step.
        if steps_to_end % 256 == 0 and np.isinf(out).all():
            break
    np.divide(1.0, out, out=out)
    np.copyto(out, np.nan, where=np.isnan(servers))


def _first_term_index(index_of_largest_term: Array, servers: Array) -> Array:
    """Return the index from which a sum is computed: terms fall as exp(-i^2 / 2c) below the
    largest, so nine standard widths are enough.
    """
    first_index = np.floor(index_of_largest_term - 9.0 * np.sqrt(index_of_largest_term) - 40.0)
    return np.where((servers < 1000.0) | (first_index < 0.0), 0.0, first_index)


def erlang_b(operands: Sequence[Array], out: Array) -> None:
    """Compute Erlang's probability of loss into `out`, from the load and the number of servers."""
    load, servers = operands
    servers = _limited_count(servers)
    # Without load the answer is 0; a load next to nothing gives it, where 1/0 would meet 0 servers.
    inverse_load = 1.0 / np.maximum(load, 1e-300)
    _compute_loss(
        lambda busy_servers: busy_servers * inverse_load,
        _first_term_index(np.minimum(load, servers), servers),
        servers,
        out,
    )


def erlang_b_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoint of each operand of `erlang_b`: the adjoint of the value, times the
    derivative of the value by the operand; None for the number of servers.
    """
    load, servers = operands
    slope = value * (servers / load - 1.0 + value)
    return [adjoint * np.where(load == 0.0, servers == 1.0, slope), None]


def _palm_sums(load: Array, services: Array) -> tuple[Array, Array, Array]:
    """Return Palm's function, the sum over k of load^k / ((services + 1) ... (services + k)), and
    its derivatives by load and services; infinite where it overflows.

    Parameters
    ----------
    load : arrivals in a mean patience time [1]
    services : services that all servers can end in this time [1]
    """
    result_shape = np.broadcast_shapes(np.shape(load), np.shape(services))
    term_value, palm_value, slope_by_load, slope_by_services, reciprocal_sum = (
        np.full(result_shape, initial_value) for initial_value in (1.0, 1.0, 0.0, 0.0, 0.0)
    )
    for customer_number in range(1, int(MOST_SERVERS_COUNTED)):
        term_value = term_value * (load / (services + customer_number))
        reciprocal_sum = reciprocal_sum + 1.0 / (services + customer_number)
        palm_value = palm_value + term_value
        slope_by_load = slope_by_load + customer_number * term_value
        slope_by_services = slope_by_services - term_value * reciprocal_sum
        # The terms rise up to customer load - services, and fall for good behind it.
        if (
            np.isinf(palm_value)
            | (customer_number * term_value <= 1e-18 * palm_value)
            | np.isnan(palm_value)
        ).all():
            break
    return palm_value, slope_by_load / np.where(load == 0.0, 1.0, load), slope_by_services


def palm(operands: Sequence[Array], out: Array) -> None:
    """Compute the reciprocal of Palm's function of a queue that customers abandon."""
    np.divide(1.0, _palm_sums(*operands)[0], out=out)


def palm_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoint of each operand of `palm`: the adjoint of the value, times the derivative
    of the value by the operand.
    """
    slopes = _palm_sums(*operands)[1:]
    return [adjoint * np.where(value == 0.0, 0.0, -slope * value**2) for slope in slopes]


def engset(operands: Sequence[Array], out: Array) -> None:
    """Compute Engset's time congestion into `out`, from load, servers and sources."""
    load, given_servers, sources = operands
    # With fewer sources than servers the sum below has no end.
    servers = np.where(sources >= given_servers, _limited_count(given_servers), np.nan)
    first_index = _first_term_index(
        np.minimum(servers, (sources + 1.0) * load / (1.0 + load)), servers
    )
    inverse_load = 1.0 / load
    _compute_loss(
        lambda busy_servers: busy_servers / (sources - busy_servers + 1.0) * inverse_load,
        first_index,
        servers,
        out,
    )


def engset_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoint of each operand of `engset`: the adjoint of the value, times the
    derivative of the value by the load; None for servers and sources.
    """
    load, servers, sources = operands
    busy_servers = load * (sources - (sources - servers) * value) / (1.0 + load)
    return [adjoint * value * (servers - busy_servers) / load, None, None]


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_FACTORIALS = [
    # Below 16 the series of Stirling has not settled, so its error is stored exactly.
    lgamma(n + 1.0) - (n + 0.5) * log(n or 1.0) + n - 0.5 * log(2.0 * pi)
    for n in range(16)
]
"""log n! less Stirling's formula without its series."""


def poisson(operands: Sequence[Array], out: Array) -> None:
    """Compute the probability of a Poisson count into `out`, from the mean and the count."""
    mean, count = operands
    large_count = np.maximum(count, 16.0)
    stirling_error = np.where(
        count < 16.0,
        np.take(_FACTORIALS, np.clip(np.nan_to_num(count), 0.0, 15.0).astype(int)),
        series(_STIRLING, 1.0 / large_count**2) / large_count,
    )
    stirling_factor = 1.0 / np.sqrt(2.0 * pi * np.maximum(count, 1.0))
    # n log(n/a) + a - n, by its series where n and a are close.
    relative_gap = (count - mean) / (count + mean)
    log_ratio = count * np.log(np.where(count > 0.0, count, 1.0) / mean) + mean - count
    if np.min(np.abs(relative_gap)) < 0.1:
        log_ratio_series = (count - mean) * relative_gap + 2.0 * count * relative_gap**3 * series(
            _ATANH_COEFFICIENTS, relative_gap**2
        )
        log_ratio = np.where(np.abs(relative_gap) < 0.1, log_ratio_series, log_ratio)
    np.multiply(np.exp(-stirling_error - log_ratio), stirling_factor, out=out)
    np.copyto(out, np.exp(-mean), where=count <= 0.0)


def poisson_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoint of each operand of `poisson`: the adjoint of the value, times the
    derivative of the value by the mean; None for the count.
    """
    mean, count = operands
    return [adjoint * value * (count / mean - 1.0), None]


def _rate_after_stage(rate: Array, inputs: Array, outputs: Array) -> Array:
    """Return the request rate of a link after one stage of switches:
    1 - (1 - rate / outputs)^inputs.

    By logarithms, because 1 - rate / outputs loses the digits of a small rate.
    """
    rate_after_stage: Array = -np.expm1(inputs * np.log1p(-rate / outputs))
    return rate_after_stage


def _rate_and_slope_after_stages(
    rate: Array, inputs: Array, outputs: Array, stages: Array
) -> tuple[Array, Array]:
    """Return the request rate of a link after all stages of switches, and its derivative by the
    rate before them.
    """
    stages = _limited_count(stages, MOST_STAGES)
    slope = np.ones(
        np.broadcast_shapes(*(np.shape(operand) for operand in (rate, inputs, outputs, stages)))
    )
    rate = np.where(np.isnan(stages), np.nan, rate * slope)
    for stage in range(_largest_count(stages)):
        passes_stage = stages > stage
        stage_slope = np.exp((inputs - 1.0) * np.log1p(-rate / outputs)) * inputs / outputs
        slope = np.where(passes_stage, slope * stage_slope, slope)
        rate = np.where(passes_stage, _rate_after_stage(rate, inputs, outputs), rate)
    return rate, slope


def drop_stages(operands: Sequence[Array], out: Array) -> None:
    """Compute the rate after stages of switches that drop colliding requests."""
    rate, inputs, outputs, stages = operands
    if len(stages) > 1 or not stages[0] <= MOST_STAGES:
        out[...] = _rate_and_slope_after_stages(rate, inputs, outputs, stages)[0]
        return
    out[...] = rate
    # The common case, many points of one network: three passes a stage, in place.
    for _ in range(int(stages[0])):
        np.multiply(out, -1.0 / outputs, out=out)
        np.log1p(out, out=out)
        np.multiply(out, inputs, out=out)
        np.expm1(out, out=out)
        np.negative(out, out=out)


def drop_stages_adjoint(
    operands: Sequence[Array], value: Array, adjoint: Array
) -> list[Array | None]:
    """Return the adjoint of each operand of `drop_stages`: the adjoint of the value, times the
    derivative of the value by the rate; None for counts.
    """
    return [adjoint * _rate_and_slope_after_stages(*operands)[1], None, None, None]


def retried_rate(operands: Sequence[Array], out: Array) -> None:
    """Compute the rate on an input link when dropped requests are repeated."""
    rate, inputs, outputs, stages = operands
    fan_out = np.power(outputs / inputs, stages)
    retried_rates = np.array(np.broadcast_to(rate, out.shape))
    is_unfinished = np.ones(out.shape, dtype=bool)
    # The balance is concave and rises: Newton's steps from below stay below, until rounding stops
    # them.
    for _ in range(60):
        delivered_rate, slope = _rate_and_slope_after_stages(retried_rates, inputs, outputs, stages)
        imbalance = rate * (1.0 - retried_rates) - fan_out * delivered_rate * (1.0 - rate)
        newton_step = imbalance / (fan_out * slope * (1.0 - rate) + rate)
        # Each point stops for itself, so that a sweep has the bits of its points.
        is_unfinished &= np.abs(newton_step) > 1e-15 * retried_rates
        if not is_unfinished.any():
            break
        retried_rates = np.where(
            is_unfinished, np.minimum(retried_rates + newton_step, 1.0), retried_rates
        )
    out[...] = np.where(stages <= MOST_STAGES, retried_rates, np.nan)


def retried_rate_adjoint(
    operands: Sequence[Array], value: Array, adjoint: Array
) -> list[Array | None]:
    """Return the adjoint of each operand of `retried_rate`: the adjoint of the value, times the
    derivative of the value by the rate; None for counts.
    """
    rate, inputs, outputs, stages = operands
    fan_out = np.power(outputs / inputs, stages)
    delivered_rate, slope = _rate_and_slope_after_stages(value, inputs, outputs, stages)
    return [
        adjoint
        * (fan_out * delivered_rate + 1.0 - value)
        / (fan_out * slope * (1.0 - rate) + rate),
        None,
        None,
        None,
    ]


MOST_PRESENT = 1000.0
"""Largest number of customers that are counted one by one; for more, a function has no value."""

_MOST_ARRIVALS = 128
"""Largest number of arrivals within one service time that is considered: each further arrival is
rarer by more than the queue becomes longer.
"""


def _md1_probabilities_and_slopes(load: Array) -> Iterator[tuple[Array, Array]]:
    """Yield, for 0, 1, 2, ... without end, the probability of that number of customers at an M/D/1
    station, and its derivative by the load.

    With a_i the chance of i arrivals in a service time and A_k that of k or more,

        p_0 = 1 - a,  p_j = (p_0 A_j + sum_{i=1..j-1} p_i A_(j+1-i)) / a_0.
    """
    empty_probability = 1.0 - load
    yield empty_probability, np.full_like(load, -1.0)
    arrival_probabilities = [np.exp(-load)]
    for count in range(1, _MOST_ARRIVALS + 16):
        arrival_probabilities.append(arrival_probabilities[-1] * load / count)
    # Summed from the smallest: 1 minus the head would lose the digits of a small tail.
    tail_probabilities = np.cumsum(np.array(arrival_probabilities)[::-1], axis=0)[::-1]
    # What j + 1 - i arrivals or more are multiplied with: the latest level comes with two of them.
    earlier_probabilities_and_slopes: deque[tuple[Array, Array]] = deque(maxlen=_MOST_ARRIVALS)
    for customer_count in count_from(1):
        is_within_reach = customer_count <= _MOST_ARRIVALS
        probability = (
            empty_probability * tail_probabilities[customer_count]
            if is_within_reach
            else np.zeros_like(load)
        )
        slope = (
            empty_probability * arrival_probabilities[customer_count - 1]
            - tail_probabilities[customer_count]
            if is_within_reach
            else np.zeros_like(load)
        )
        for distance, (earlier_probability, earlier_slope) in enumerate(
            earlier_probabilities_and_slopes
        ):
            probability = probability + earlier_probability * tail_probabilities[distance + 2]
            slope = (
                slope
                + earlier_slope * tail_probabilities[distance + 2]
                + earlier_probability * arrival_probabilities[distance + 1]
            )
        probability = probability / arrival_probabilities[0]
        slope = slope / arrival_probabilities[0] + probability
        earlier_probabilities_and_slopes.appendleft((probability, slope))
        yield probability, slope


def _for_each_customer_count(
    load: Array, count: Array, use_probability: Callable[[int, Array, Array], None]
) -> None:
    """Call `use_probability` for 0, 1, ... customers up to the largest count, with the number, its
    probability, and the derivative of the probability by the load.
    """
    largest_count = int(np.max(np.where(count <= MOST_PRESENT, count, 0.0), initial=0.0))
    for customer_count, (probability, slope) in enumerate(_md1_probabilities_and_slopes(load)):
        use_probability(customer_count, probability, slope)
        if customer_count >= largest_count:
            return


def _md1_probability_and_slope(load: Array, count: Array) -> tuple[Array, Array]:
    """Return the probability of `count` customers at an M/D/1 station, and its derivative by the
    load.
    """
    result_shape = np.broadcast_shapes(np.shape(load), np.shape(count))
    probabilities = np.full(result_shape, np.nan)
    slopes = np.full(result_shape, np.nan)

    def copy_probability(customer_count: int, probability: Array, slope: Array) -> None:
        """Copy the probability of a level to the points whose count it is."""
        has_this_count = count == customer_count
        np.copyto(probabilities, probability, where=has_this_count)
        np.copyto(slopes, slope, where=has_this_count)

    _for_each_customer_count(load, count, copy_probability)
    return probabilities, slopes


def md1_number(operands: Sequence[Array], out: Array) -> None:
    """Compute the probability of a number of customers present at M/D/1, from load and count."""
    load, count = operands
    probabilities, _ = _md1_probability_and_slope(load, count)
    out[...] = probabilities


def md1_number_adjoint(
    operands: Sequence[Array], value: Array, adjoint: Array
) -> list[Array | None]:
    """Return the adjoint of each operand of `md1_number`: the adjoint of the value, times the
    derivative of the value by the load; None for the count.
    """
    load, count = operands
    _, slopes = _md1_probability_and_slope(load, count)
    return [adjoint * slopes, None]


def _wait_probability_and_slopes(load: Array, wait: Array) -> tuple[Array, Array, Array]:
    """Return the probability that the wait at an M/D/1 station is at most a number of service
    times, and its derivatives by the load and by this number.

    With k the next whole number above x, P(W <= x) = sum_{j=0..k-1} P(N <= k - j) pi_j, where pi_j
    is the chance of j arrivals in k - x service times.
    """
    load, wait = np.broadcast_arrays(load, wait)
    whole_number_above = np.floor(wait) + 1.0
    time_to_whole = whole_number_above - wait
    # The logarithm of the mean is taken below; without load it must be finite.
    mean_arrivals = np.maximum(load * time_to_whole, 1e-300)
    probability, slope_by_load, slope_by_time = (np.zeros(load.shape) for _ in range(3))
    cumulative_probability = np.zeros(load.shape)
    cumulative_slope = np.zeros(load.shape)

    def add_terms(customer_count: int, count_probability: Array, count_slope: Array) -> None:
        """Add the terms for `customer_count` customers present to the probability and its
        derivatives.
        """
        nonlocal cumulative_probability, cumulative_slope
        cumulative_probability = cumulative_probability + count_probability
        cumulative_slope = cumulative_slope + count_slope
        if not customer_count:
            return
        arrival_count = whole_number_above - customer_count
        arrival_probability = np.empty(load.shape)
        one_less_probability = np.empty(load.shape)
        poisson([mean_arrivals, np.maximum(arrival_count, 0.0)], arrival_probability)
        poisson([mean_arrivals, np.maximum(arrival_count - 1.0, 0.0)], one_less_probability)
        is_possible = arrival_count >= 0.0
        slope_by_mean = (
            np.where(arrival_count >= 1.0, one_less_probability, 0.0) - arrival_probability
        )
        np.add(
            probability,
            cumulative_probability * arrival_probability,
            out=probability,
            where=is_possible,
        )
        np.add(
            slope_by_load,
            cumulative_slope * arrival_probability
            + cumulative_probability * slope_by_mean * time_to_whole,
            out=slope_by_load,
            where=is_possible,
        )
        np.subtract(
            slope_by_time,
            cumulative_probability * slope_by_mean * load,
            out=slope_by_time,
            where=is_possible,
        )

    _for_each_customer_count(load, whole_number_above, add_terms)
    is_beyond_limit = whole_number_above > MOST_PRESENT
    for result in (probability, slope_by_load, slope_by_time):
        result[is_beyond_limit] = np.nan
    return probability, slope_by_load, slope_by_time


def md1_late(operands: Sequence[Array], out: Array) -> None:
    """Compute the probability of a wait of more than a number of service times at M/D/1, from load
    and time.
    """
    load, time = operands
    probability, _, _ = _wait_probability_and_slopes(load, time)
    np.subtract(1.0, probability, out=out)


def md1_late_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoint of each operand of `md1_late`: the adjoint of the value, times the
    derivative of the value by load and by time. The derivative by time does not exist at whole
    numbers of service times.
    """
    load, time = operands
    _, slope_by_load, slope_by_time = _wait_probability_and_slopes(load, time)
    return [-adjoint * slope_by_load, -adjoint * slope_by_time]
