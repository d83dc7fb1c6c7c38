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

MOST = 1e7
"""Servers are counted one by one; more of them than this give no number."""

MOST_STAGES = 1024.0
"""The same for stages of switches: with two branches each, as many leaves as a double can count."""


# (atanh(v) - v) / v^3 to the last bit for |v| < 0.1.
_ODD = tuple(1 / k for k in range(3, 19, 2))


def series(terms: Sequence[float], x: Array) -> Array:
    """Evaluate a power series: sum of terms[k] x^k."""
    total = np.zeros_like(x)
    for term in reversed(terms):
        total = total * x + term
    return total


def _counted(count: Array, most: float = MOST) -> Array:
    """Return counts with those above `most` replaced by NaN, because sums over them would not
    end.
    """
    return (
        count
        if float(np.max(count, initial=0.0)) <= most
        else np.where(count <= most, count, np.nan)
    )


def _most(count: Array) -> int:
    return int(np.max(np.nan_to_num(count), initial=0.0))


def _inverse_loss(
    ratio: Callable[[Array], Array], first: Array, servers: Array, out: Array
) -> None:
    """Compute the reciprocal of a loss probability by I_k = 1 + ratio(k) I_{k-1}, from I = 1 at k =
    first up to k = servers.

    Counting from the end lets each point have its own number of servers: the ratio at 0 is 0, and I
    is 1 until then.
    """
    all_go_on = not np.any(first)
    out[...] = 1.0
    for back in range(_most(servers - first) - 1, -1, -1):
        k = np.maximum(servers - back, 0.0)
        out *= ratio(k if all_go_on else k * (k > first))
        out += 1.0
        # What has overflowed stays infinite; to test that costs as much as a step.
        if back % 256 == 0 and np.isinf(out).all():
            break


def _first(largest: Array, servers: Array) -> Array:
    """Return the index from which a sum is computed: terms fall as exp(-i^2 / 2c) below the
    largest, so nine standard widths are enough.
    """
    begin = np.floor(largest - 9.0 * np.sqrt(largest) - 40.0)
    return np.where((servers < 1000.0) | (begin < 0.0), 0.0, begin)


def erlang_b(args: Sequence[Array], out: Array) -> None:
    """Compute Erlang's probability of loss."""
    load = args[0]
    servers = _counted(args[1])
    # Without load the answer is 0; a load next to nothing gives it, where 1/0 would meet 0 servers.
    service_per_load = 1.0 / np.maximum(load, 1e-300)
    _inverse_loss(
        lambda k: k * service_per_load, _first(np.minimum(load, servers), servers), servers, out
    )
    np.divide(1.0, out, out=out)
    np.copyto(out, np.nan, where=np.isnan(servers))


def erlang_b_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Compute the derivatives of `erlang_b`."""
    load, servers = args
    slope = value * (servers / load - 1.0 + value)
    return [bar * np.where(load == 0.0, servers == 1.0, slope), None]


def _palm_sums(load: Array, services: Array) -> tuple[Array, Array, Array]:
    """Return Palm's function and its derivatives by load and services; infinite where it
    overflows.
    """
    shape = np.broadcast_shapes(np.shape(load), np.shape(services))
    term, total, by_load, by_services, sums = (
        np.full(shape, start) for start in (1.0, 1.0, 0.0, 0.0, 0.0)
    )
    for k in range(1, int(MOST)):
        term = term * (load / (services + k))
        sums = sums + 1.0 / (services + k)
        total = total + term
        by_load = by_load + k * term
        by_services = by_services - term * sums
        # The terms rise up to k = load - services, and fall for good behind it.
        if (np.isinf(total) | (k * term <= 1e-18 * total) | np.isnan(total)).all():
            break
    return total, by_load / np.where(load == 0.0, 1.0, load), by_services


def palm(args: Sequence[Array], out: Array) -> None:
    """Compute the reciprocal of Palm's function of a queue that customers abandon."""
    np.divide(1.0, _palm_sums(*args)[0], out=out)


def palm_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Compute the derivatives of `palm`."""
    slopes = _palm_sums(*args)[1:]
    return [bar * np.where(value == 0.0, 0.0, -slope * value**2) for slope in slopes]


def engset(args: Sequence[Array], out: Array) -> None:
    """Compute Engset's time congestion."""
    load = args[0]
    sources = args[2]
    servers = np.where(
        sources >= args[1], _counted(args[1]), np.nan
    )  # with fewer sources the sum below has no end
    first = _first(np.minimum(servers, (sources + 1.0) * load / (1.0 + load)), servers)
    sources_per_load = 1.0 / load
    _inverse_loss(lambda k: k / (sources - k + 1.0) * sources_per_load, first, servers, out)
    np.divide(1.0, out, out=out)
    np.copyto(out, np.nan, where=np.isnan(servers))


def engset_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Compute the derivatives of `engset`."""
    load, servers, sources = args
    busy = load * (sources - (sources - servers) * value) / (1.0 + load)
    return [bar * value * (servers - busy) / load, None, None]


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_FACTORIALS = [
    lgamma(n + 1.0) - (n + 0.5) * log(n or 1.0) + n - 0.5 * log(2.0 * pi) for n in range(16)
]
"""log n! less Stirling's formula without its series."""


def poisson(args: Sequence[Array], out: Array) -> None:
    """Compute the probability of a Poisson count."""
    mean, count = args
    large = np.maximum(count, 16.0)
    corrected = np.where(
        count < 16.0,
        np.take(_FACTORIALS, np.clip(np.nan_to_num(count), 0.0, 15.0).astype(int)),
        series(_STIRLING, 1.0 / large**2) / large,
    )
    scale = 1.0 / np.sqrt(2.0 * pi * np.maximum(count, 1.0))
    # n log(n/a) + a - n, by its series where n and a are close.
    gap = (count - mean) / (count + mean)
    apart = count * np.log(np.where(count > 0.0, count, 1.0) / mean) + mean - count
    if np.min(np.abs(gap)) < 0.1:
        near = (count - mean) * gap + 2.0 * count * gap**3 * series(_ODD, gap**2)
        apart = np.where(np.abs(gap) < 0.1, near, apart)
    np.multiply(np.exp(-corrected - apart), scale, out=out)
    np.copyto(out, np.exp(-mean), where=count <= 0.0)


def poisson_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Compute the derivatives of `poisson`."""
    return [bar * value * (args[1] / args[0] - 1.0), None]


def _after(rate: Array, inputs: Array, outputs: Array) -> Array:
    """Return the rate after one stage, by logarithms because 1 - m/b loses digits for small m."""
    result: Array = -np.expm1(inputs * np.log1p(-rate / outputs))
    return result


def _through(rate: Array, inputs: Array, outputs: Array, stages: Array) -> tuple[Array, Array]:
    """Return the rate after all stages, and its derivative by the rate before them."""
    stages = _counted(stages, MOST_STAGES)
    slope = np.ones(
        np.broadcast_shapes(*(np.shape(operand) for operand in (rate, inputs, outputs, stages)))
    )
    rate = np.where(np.isnan(stages), np.nan, rate * slope)
    for stage in range(_most(stages)):
        going = stages > stage
        accepted = np.exp((inputs - 1.0) * np.log1p(-rate / outputs)) * inputs / outputs
        slope = np.where(going, slope * accepted, slope)
        rate = np.where(going, _after(rate, inputs, outputs), rate)
    return rate, slope


def drop_stages(args: Sequence[Array], out: Array) -> None:
    """Compute the rate after stages of switches that drop colliding requests."""
    rate, inputs, outputs, stages = args
    if len(stages) > 1 or not stages[0] <= MOST_STAGES:
        out[...] = _through(rate, inputs, outputs, stages)[0]
        return
    out[...] = rate
    # The common case, many points of one network: three passes a stage, in place.
    for _ in range(int(stages[0])):
        np.multiply(out, -1.0 / outputs, out=out)
        np.log1p(out, out=out)
        np.multiply(out, inputs, out=out)
        np.expm1(out, out=out)
        np.negative(out, out=out)


def drop_stages_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Compute the derivatives of `drop_stages`."""
    return [bar * _through(*args)[1], None, None, None]


def retried_rate(args: Sequence[Array], out: Array) -> None:
    """Compute the rate on an input link when dropped requests are repeated."""
    rate, inputs, outputs, stages = args
    fan = np.power(outputs / inputs, stages)
    rates = np.array(np.broadcast_to(rate, out.shape))
    going = np.ones(out.shape, dtype=bool)
    # The balance is concave and rises: Newton's steps from below stay below, until rounding stops
    # them.
    for _ in range(60):
        behind, slope = _through(rates, inputs, outputs, stages)
        lacking = rate * (1.0 - rates) - fan * behind * (1.0 - rate)
        step = lacking / (fan * slope * (1.0 - rate) + rate)
        # Each point stops for itself, so that a sweep has the bits of its points.
        going &= np.abs(step) > 1e-15 * rates
        if not going.any():
            break
        rates = np.where(going, np.minimum(rates + step, 1.0), rates)
    out[...] = np.where(stages <= MOST_STAGES, rates, np.nan)


def retried_rate_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Compute the derivatives of `retried_rate`."""
    rate, inputs, outputs, stages = args
    fan = np.power(outputs / inputs, stages)
    behind, slope = _through(value, inputs, outputs, stages)
    return [
        bar * (fan * behind + 1.0 - value) / (fan * slope * (1.0 - rate) + rate),
        None,
        None,
        None,
    ]


MOST_PRESENT = 1000.0
"""Customers are counted one by one; more of them than this give no number."""

_REACH = 128
"""Arrivals within one service time that matter: each further one is rarer by more than the queue
is longer.
"""


def _md1_levels(load: Array) -> Iterator[tuple[Array, Array]]:
    """Yield, for 0, 1, 2, ... without end, the probability of that number of customers, and its
    derivative by the load.

    With a_i the chance of i arrivals in a service time and A_k that of k or more,

        p_0 = 1 - a,  p_j = (p_0 A_j + sum_{i=1..j-1} p_i A_(j+1-i)) / a_0.
    """
    empty = 1.0 - load
    yield empty, np.full_like(load, -1.0)
    arrived = [np.exp(-load)]
    for count in range(1, _REACH + 16):
        arrived.append(arrived[-1] * load / count)
    more = np.cumsum(np.array(arrived)[::-1], axis=0)[::-1]
    # What j + 1 - i arrivals or more are multiplied with: the latest level comes with two of them.
    before: deque[tuple[Array, Array]] = deque(maxlen=_REACH)
    for level in count_from(1):
        near = level <= _REACH
        value = empty * more[level] if near else np.zeros_like(load)
        slope = empty * arrived[level - 1] - more[level] if near else np.zeros_like(load)
        for back, (earlier_value, its) in enumerate(before):
            value = value + earlier_value * more[back + 2]
            slope = slope + its * more[back + 2] + earlier_value * arrived[back + 1]
        value = value / arrived[0]
        slope = slope / arrived[0] + value
        before.appendleft((value, slope))
        yield value, slope


def _all_levels(load: Array, count: Array, use: Callable[[int, Array, Array], None]) -> None:
    most = int(np.max(np.where(count <= MOST_PRESENT, count, 0.0), initial=0.0))
    for level, (value, slope) in enumerate(_md1_levels(load)):
        use(level, value, slope)
        if level >= most:
            return


def _numbers(load: Array, count: Array) -> tuple[Array, Array]:
    shape = np.broadcast_shapes(np.shape(load), np.shape(count))
    values = np.full(shape, np.nan)
    slopes = np.full(shape, np.nan)

    def take(level: int, value: Array, slope: Array) -> None:
        at_level = count == level
        np.copyto(values, value, where=at_level)
        np.copyto(slopes, slope, where=at_level)

    _all_levels(load, count, take)
    return values, slopes


def md1_number(args: Sequence[Array], out: Array) -> None:
    """Compute the probability of a number of customers present at M/D/1, from load and count."""
    out[...] = _numbers(args[0], args[1])[0]


def md1_number_slopes(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Return the derivative of `md1_number` by the load; there is none by the count."""
    return [bar * _numbers(args[0], args[1])[1], None]


def _in_time(load: Array, elapsed: Array) -> tuple[Array, Array, Array]:
    """Return the probability of a wait of at most a number of service times, and its derivatives by
    load and time.

    With k the next whole number above x, P(W <= x) = sum_{j=0..k-1} P(N <= k - j) pi_j, where pi_j
    is the chance of j arrivals in k - x service times.
    """
    load, elapsed = np.broadcast_arrays(load, elapsed)
    following = np.floor(elapsed) + 1.0
    rest = following - elapsed
    mean = np.maximum(load * rest, 1e-300)
    total, by_load, by_time = (np.zeros(load.shape) for _ in range(3))
    present = np.zeros(load.shape)
    its = np.zeros(load.shape)

    def add(level: int, value: Array, slope: Array) -> None:
        nonlocal present, its
        present = present + value
        its = its + slope
        if not level:
            return
        arrivals = following - level
        chance = np.empty(load.shape)
        one_less = np.empty(load.shape)
        poisson([mean, np.maximum(arrivals, 0.0)], chance)
        poisson([mean, np.maximum(arrivals - 1.0, 0.0)], one_less)
        arriving = arrivals >= 0.0
        change = np.where(arrivals >= 1.0, one_less, 0.0) - chance
        np.add(total, present * chance, out=total, where=arriving)
        np.add(by_load, its * chance + present * change * rest, out=by_load, where=arriving)
        np.subtract(by_time, present * change * load, out=by_time, where=arriving)

    _all_levels(load, following, add)
    beyond = following > MOST_PRESENT
    for column in (total, by_load, by_time):
        column[beyond] = np.nan
    return total, by_load, by_time


def md1_late(args: Sequence[Array], out: Array) -> None:
    """Compute the probability of a wait of more than a number of service times at M/D/1, from load
    and time.
    """
    np.subtract(1.0, _in_time(args[0], args[1])[0], out=out)


def md1_late_slopes(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Return the derivatives of `md1_late` by load and by time; that by time exists except at whole
    numbers of service times.
    """
    _, by_load, by_time = _in_time(args[0], args[1])
    return [-bar * by_load, -bar * by_time]
