"""Single stations by second roads: chains summed in fractions, simulation by formula, each
other's special cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from slipstick.errors import ModelError
from slipstick.expression.nodes import Parameter
from slipstick.expression.special import md1_late, md1_number
from slipstick.expression.tape import Tape
from slipstick.law import LAWS
from slipstick.method.methods import form_of

SERVICE, ARRIVALS = Fraction(1, 5), [Fraction(1), Fraction(4), Fraction(5), Fraction(7)]


def chain(
    rise: Callable[[int], Fraction], fall: Callable[[int], Fraction], most: int
) -> list[Fraction]:
    """Return the shares of time of a birth-death chain on 0..most."""
    weights = [Fraction(1)]
    for n in range(1, most + 1):
        weights.append(weights[-1] * rise(n - 1) / fall(n))
    return [weight / sum(weights) for weight in weights]


def station(arrivals: Fraction, servers: int, capacity: int) -> list[Fraction]:
    return chain(lambda _: arrivals, lambda n: min(n, servers) / SERVICE, capacity)


def mean(shares: Sequence[Fraction]) -> Fraction:
    return sum((n * share for n, share in enumerate(shares)), start=Fraction(0))


def law(name: str, **values: Any) -> float:
    return float(LAWS[name](**{key: float(value) for key, value in values.items()}))


@pytest.mark.turns(4)
@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize(("servers", "capacity"), [(1, 1), (1, 6), (2, 2), (3, 8), (5, 40)])
def test_finite_capacity_against_the_chain(arrivals: Fraction, servers: int, capacity: int) -> None:
    shares = station(arrivals, servers, capacity)
    at = {"capacity": capacity, "service": SERVICE, "arrivals": arrivals}
    let_in = arrivals * (1 - shares[-1])
    queue = sum((max(0, n - servers) * share for n, share in enumerate(shares)), start=Fraction(0))
    assert law("mmck-blocking", servers=servers, **at) == pytest.approx(
        float(shares[-1]), rel=1e-13
    )
    assert law("mmck-waiting-number", servers=servers, **at) == pytest.approx(
        float(queue), rel=1e-13
    )
    assert law("mmck-waiting-time", servers=servers, **at) == pytest.approx(
        float(queue / let_in), rel=1e-13
    )
    assert law("mmck-throughput", servers=servers, **at) == pytest.approx(float(let_in), rel=1e-13)
    response = SERVICE + queue / let_in
    assert law("mmck-response-time", servers=servers, **at) == pytest.approx(
        float(response), rel=1e-13
    )
    found = [
        law("mmck-number-probability", count=n, servers=servers, **at) for n in range(capacity + 1)
    ]
    assert found == pytest.approx([float(share) for share in shares], rel=1e-12)
    if servers == 1:
        assert law("mm1k-blocking", **at) == pytest.approx(float(shares[-1]), rel=1e-13)
        assert law("mm1k-number", **at) == pytest.approx(float(mean(shares)), rel=1e-13)
        assert law("mm1k-throughput", **at) == pytest.approx(float(let_in), rel=1e-13)
        assert law("mm1k-response-time", **at) == pytest.approx(
            float(mean(shares) / let_in), rel=1e-13
        )
        for n in range(capacity + 1):
            assert law("mm1k-number-probability", count=n, **at) == pytest.approx(
                float(shares[n]), rel=1e-13
            )
    if servers == capacity:
        at = {"servers": servers, "service": SERVICE, "arrivals": arrivals}
        assert law("erlang-b", **at) == pytest.approx(float(shares[-1]), rel=1e-13)
        assert law("erlang-b-carried", **at) == pytest.approx(float(mean(shares)), rel=1e-13)


@pytest.mark.parametrize("near", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("capacity", [1, 10, 1000])
def test_finite_capacity_at_a_load_of_one_and_on_both_sides(near: float, capacity: int) -> None:
    """Symmetric to first order around n = K/2; a textbook's formula loses half its digits here."""
    at = {"capacity": capacity, "service": 1.0}
    assert law("mm1k-number", arrivals=1.0, **at) == capacity / 2
    assert law("mm1k-blocking", arrivals=1.0, **at) == pytest.approx(1 / (capacity + 1), rel=1e-15)
    for arrivals in (1 - near, 1 + near):
        weights = np.exp(np.arange(capacity + 1) * math.log(arrivals))
        weights /= weights.sum()
        assert law("mm1k-number", arrivals=arrivals, **at) == pytest.approx(
            float(weights @ np.arange(capacity + 1)), rel=1e-12
        )
        assert law("mm1k-blocking", arrivals=arrivals, **at) == pytest.approx(
            float(weights[-1]), rel=1e-12
        )


def test_finite_capacity_far_beyond_saturation() -> None:
    at = {"capacity": 1000, "service": 5.0, "arrivals": 1.0}
    assert law("mm1k-blocking", **at) == pytest.approx(0.8, rel=1e-15)
    assert law("mm1k-number", **at) == pytest.approx(1000 - 0.25, rel=1e-15)
    assert law("mm1k-throughput", **at) == pytest.approx(0.2, rel=1e-15)
    assert law("mm1k-response-time", **at) == pytest.approx(5 * (1000 - 0.25), rel=1e-15)
    assert law("mm1k-number-probability", count=0, **at) == pytest.approx(0.0, abs=1e-300)
    assert law("mm1k-number-probability", count=998, **at) == pytest.approx(0.8 / 25, rel=1e-14)
    assert law(
        "mmck-blocking", servers=3, capacity=1000, service=5.0, arrivals=3.0
    ) == pytest.approx(0.8, rel=1e-15)
    assert law(
        "mmck-waiting-number", servers=3, capacity=1000, service=5.0, arrivals=3.0
    ) == pytest.approx(997 - 0.25)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("servers", "arrivals"), [(1, 4), (2, 4), (3, 14), (5, 24), (40, 190)])
def test_several_servers_against_the_chain(servers: int, arrivals: int) -> None:
    """A capacity so large that its end does not show."""
    at = {"servers": servers, "service": SERVICE, "arrivals": arrivals}
    if 0.2 * arrivals / servers < 0.9:
        shares = [float(share) for share in station(Fraction(arrivals), servers, servers + 400)]
        number = sum(n * share for n, share in enumerate(shares))
        assert law("mmc-number", **at) == pytest.approx(number, rel=1e-10)
        assert law("mmc-response-time", **at) == pytest.approx(number / arrivals, rel=1e-10)
        assert law("erlang-c", **at) == pytest.approx(sum(shares[servers:]), rel=1e-10)
        for n in (0, 1, servers, servers + 3):
            assert law("mmc-number-probability", count=n, **at) == pytest.approx(
                shares[n], rel=1e-10
            )
    total = LAWS["mmc-number-probability"](
        count=np.arange(servers + 1500.0), servers=servers, service=0.2, arrivals=arrivals
    )
    assert total.sum() == pytest.approx(1.0, abs=1e-12)


def test_one_of_several_servers_is_the_single_server() -> None:
    for arrivals in (0.1, 2.5, 4.9):
        at = {"service": 0.2, "arrivals": arrivals}
        for several, single in (
            ("waiting-time", "waiting-time"),
            ("response-time", "response-time"),
            ("number",) * 2,
        ):
            assert law(f"mmc-{several}", servers=1, **at) == pytest.approx(
                law(f"mm1-{single}", **at), rel=1e-12
            )
        assert law("erlang-c", servers=1, **at) == pytest.approx(0.2 * arrivals, rel=1e-12)
        for share in (0.0, 0.5, 0.99):
            wait = law("mm1-waiting-quantile", share=share, **at)
            assert law("mmc-waiting-quantile", share=share, servers=1, **at) == pytest.approx(
                wait, rel=1e-10, abs=1e-12
            )
        for n in (0, 1, 7):
            share = law("mm1-number-probability", count=n, **at)
            assert law("mmc-number-probability", count=n, servers=1, **at) == pytest.approx(
                share, rel=1e-12
            )
        late = law("mmc-response-tail", limit=0.7, servers=1, **at)
        assert late == pytest.approx(math.exp(-0.7 / law("mm1-response-time", **at)), rel=1e-12)


def test_very_much_room_is_as_good_as_no_limit() -> None:
    at = {"service": 0.2, "arrivals": 4.0}
    assert law("mm1k-number", capacity=2000, **at) == pytest.approx(
        law("mm1-number", **at), rel=1e-13
    )
    assert law("mm1k-response-time", capacity=2000, **at) == pytest.approx(
        law("mm1-response-time", **at), rel=1e-13
    )
    wait = law("mmck-waiting-time", capacity=5000, servers=3, service=0.2, arrivals=14.0)
    assert wait == pytest.approx(
        law("mmc-waiting-time", servers=3, service=0.2, arrivals=14.0), rel=1e-13
    )


def test_thousands_of_servers_against_the_halfin_whitt_limit() -> None:
    """With c = a + b sqrt a, the share that waits tends to 1 / (1 + sqrt(2 pi) b Phi(b) exp(b^2
    / 2)).
    """
    for servers, close in ((10_000, 8e-3), (1_000_000, 8e-4)):
        load = servers - math.sqrt(servers)
        b = (servers - load) / math.sqrt(load)
        below = 0.5 * math.erfc(-b / math.sqrt(2))
        wanted = 1 / (1 + math.sqrt(2 * math.pi) * b * below * math.exp(b * b / 2))
        found = law("erlang-c", servers=servers, service=1.0, arrivals=load)
        assert found == pytest.approx(wanted, rel=close)
        assert 0 < law("mmc-waiting-time", servers=servers, service=1.0, arrivals=load) < 1


@pytest.mark.parametrize(
    ("servers", "arrivals"), [(1, 4.0), (2, 5.0), (2, 9.0), (3, 10.0), (3, 10.000001), (8, 39.0)]
)
def test_the_tail_of_the_response_time_by_integration(servers: int, arrivals: float) -> None:
    """Wait, 0 or exponential, plus service: the integral over the wait by the midpoint rule."""
    at = {"servers": servers, "service": 0.2, "arrivals": arrivals}
    waits, spare = law("erlang-c", **at), servers / 0.2 - arrivals
    for limit in (0.0, 0.1, 1.0):
        steps = (np.arange(200_000) + 0.5) * (limit / 200_000)
        ends = np.exp(-spare * steps) * spare * np.exp(-(limit - steps) / 0.2)
        late = (1 - waits) * math.exp(-limit / 0.2) + waits * (
            math.exp(-spare * limit) + float(ends.sum()) * limit / 200_000
        )
        assert law("mmc-response-tail", limit=limit, **at) == pytest.approx(late, rel=1e-8)
    assert 0 <= law("mmc-response-tail", limit=1e4, **at) < 1e-100


def test_quantiles_leave_their_share_above() -> None:
    at = {"service": 0.2, "arrivals": 4.0}
    several = {"servers": 3, "service": 0.2, "arrivals": 13.0}
    for share in (0.0, 0.3, 0.5, 0.9, 0.999):
        limit = law("mm1-response-quantile", share=share, **at)
        assert law("mmc-response-tail", servers=1, limit=limit, **at) == pytest.approx(
            1 - share, rel=1e-12
        )
        wait = law("mmc-waiting-quantile", share=share, **several)
        waits = law("erlang-c", **several)
        spare = 3 / 0.2 - 13
        assert wait == 0 or waits * math.exp(-spare * wait) == pytest.approx(1 - share, rel=1e-12)
        assert (wait == 0) == (waits <= 1 - share)


def test_the_number_present_adds_up() -> None:
    at = {"service": 0.2, "arrivals": 4.0}
    shares = [law("mm1-number-probability", count=n, **at) for n in range(200)]
    assert sum(shares) == pytest.approx(1.0, abs=1e-14)
    assert sum(n * share for n, share in enumerate(shares)) == pytest.approx(
        law("mm1-number", **at), rel=1e-12
    )
    assert sum(shares[7:]) == pytest.approx(law("mm1-number-tail", count=7, **at), rel=1e-12)
    shares = [
        law("mminf-number-probability", count=n, service=0.5, arrivals=8.0) for n in range(60)
    ]
    assert sum(n * share for n, share in enumerate(shares)) == pytest.approx(4.0, rel=1e-12)


@pytest.mark.parametrize(("sources", "servers"), [(1, 1), (2, 1), (2, 2), (5, 2), (20, 3), (60, 7)])
@pytest.mark.parametrize("think", [Fraction(1, 100), Fraction(1), Fraction(30)])
def test_few_customers_against_the_chain(sources: int, servers: int, think: Fraction) -> None:
    shares = chain(lambda n: (sources - n) / think, lambda n: min(n, servers) / SERVICE, sources)
    served = (
        sum((min(n, servers) * share for n, share in enumerate(shares)), start=Fraction(0))
        / SERVICE
    )
    at = {"sources": sources, "think": think, "service": SERVICE}
    found = law("machine-repairman-several-throughput", servers=servers, **at)
    assert found == pytest.approx(float(served), rel=1e-12)
    if servers == 1:
        assert law("machine-repairman-throughput", **at) == pytest.approx(float(served), rel=1e-13)
        response = law("machine-repairman-response-time", **at)
        assert response == pytest.approx(float(sources / served - think), rel=1e-11)
    if sources > servers:
        lost = chain(lambda n: (sources - n) / think, lambda n: n / SERVICE, servers)
        at["servers"] = Fraction(servers)
        assert law("engset-time-congestion", **at) == pytest.approx(float(lost[-1]), rel=1e-13)
        asked = sum(((sources - n) * share for n, share in enumerate(lost)), start=Fraction(0))
        wanted = (sources - servers) * lost[-1] / asked
        assert law("engset-call-congestion", **at) == pytest.approx(float(wanted), rel=1e-13)


def test_mean_value_analysis_gives_the_machine_repairman() -> None:
    """The arrival theorem's recursion, up to 5000 customers."""
    queue, think, service = 0.0, 100.0, 0.3
    for customers in range(1, 5001):
        response = service * (1 + queue)
        throughput = customers / (think + response)
        queue = throughput * response
        if customers in (1, 10, 300, 340, 5000):
            at = {"sources": customers, "think": think, "service": service}
            assert law("machine-repairman-throughput", **at) == pytest.approx(throughput, rel=1e-10)
            assert law("machine-repairman-response-time", **at) == pytest.approx(response, rel=1e-9)


def test_without_think_time_the_server_is_never_idle() -> None:
    assert law("machine-repairman-throughput", sources=3, think=0.0, service=0.5) == 2.0
    assert law("machine-repairman-response-time", sources=3, think=0.0, service=0.5) == 1.5


def test_a_load_of_zero_waits_for_nothing() -> None:
    assert law("mm1-response-time", service=0.2, arrivals=0.0) == 0.2
    assert law("mmc-waiting-time", servers=3, service=0.2, arrivals=0.0) == 0.0
    assert law("mg1-waiting-time", scv=1.0, service=0.2, arrivals=0.0) == 0.0
    form = form_of(
        LAWS["mmc-waiting-time"],
        {
            each.name: Parameter(each.name, each.dimension, value)
            for each, value in zip(LAWS["mmc-waiting-time"].symbols, (1.0, 0.2, 0.0), strict=True)
        },
    )
    answer = form.points({}).answer(0)
    assert all(math.isfinite(each) for each in answer.gradient["wait"].values())
    assert answer.gradient["wait"]["arrivals"] == pytest.approx(0.04)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "name",
    [
        "mm1-response-time",
        "mm1-number",
        "mmc-waiting-time",
        "erlang-c",
        "mg1-waiting-time",
        "gg1-kingman",
        "ggc-allen-cunneen",
        "mg1-priority-low-waiting-time",
        "mg1-preemptive-low-response-time",
        "mmc-response-tail",
    ],
)
@pytest.mark.parametrize("load", [1.0, 1.0 + 1e-12, 1.5, 1e6])
def test_saturation_is_refused_by_name(name: str, load: float) -> None:
    found = LAWS[name]
    row = dict(found.given(found.checks[0]))
    rate = "low_arrivals" if "low_arrivals" in row else "arrivals"
    service = row[rate.replace("arrivals", "service")]
    busy = row.get("high_arrivals", 0.0) * row.get("high_service", 0.0)
    row[rate] = (load * row.get("servers", 1.0) - busy) / service * (1 + 1e-15)
    with pytest.raises(ModelError, match=rf"^law {name} holds for .* < (1|servers); got "):
        found(**row)


def test_poisson_arrivals_and_exponential_service_make_the_general_formulas_m_m() -> None:
    for arrivals in (0.5, 4.0, 4.99):
        at = {"service": 0.2, "arrivals": arrivals}
        wait = law("mm1-waiting-time", **at)
        assert law("mg1-waiting-time", scv=1.0, **at) == pytest.approx(wait, rel=1e-13)
        assert law("md1-waiting-time", **at) == pytest.approx(wait / 2, rel=1e-13)
        assert law("md1-waiting-time", **at) == pytest.approx(
            law("mg1-waiting-time", scv=0.0, **at), rel=1e-13
        )
        assert law("gg1-bound", arrivals_scv=1.0, scv=1.0, **at) >= wait
        for scv in (0.0, 0.5, 1.0, 7.0):
            exact = law("mg1-waiting-time", scv=scv, **at)
            for name in ("gg1-kingman", "gg1-kraemer-langenbach-belz"):
                assert law(name, arrivals_scv=1.0, scv=scv, **at) == pytest.approx(exact, rel=1e-13)
            for name in ("ggc-allen-cunneen", "ggc-kraemer-langenbach-belz"):
                assert law(name, arrivals_scv=1.0, scv=scv, servers=1, **at) == pytest.approx(
                    exact, rel=1e-12
                )
    at = {"servers": 6, "service": 0.2, "arrivals": 28.0}
    wait = law("mmc-waiting-time", **at)
    assert law("ggc-allen-cunneen", arrivals_scv=1.0, scv=1.0, **at) == pytest.approx(
        wait, rel=1e-13
    )


def exact_wait(transform: Callable[[float], float]) -> float:
    """Wait at a server of service time 1, exponential, renewal arrivals: sigma / (1 - sigma),
    sigma = A*(1 - sigma).
    """
    low, high = 0.0, 1 - 1e-9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if transform(1 - middle) > middle else (low, middle)
    return low / (1 - low)


def renewal(load: float) -> dict[float, Callable[[float], float]]:
    """Return transforms of times between arrivals by their scv: constant, Erlang, hyperexponential
    of balanced means.
    """

    def hyper(scv: float) -> Callable[[float], float]:
        p = 0.5 * (1 + math.sqrt((scv - 1) / (scv + 1)))
        fast, slow = 2 * p * load, 2 * (1 - p) * load
        return lambda s: p * fast / (fast + s) + (1 - p) * slow / (slow + s)

    return {
        0.0: lambda s: math.exp(-s / load),
        0.5: lambda s: (2 * load / (2 * load + s)) ** 2,
        2.0: hyper(2.0),
        4.0: hyper(4.0),
        9.0: hyper(9.0),
    }


@pytest.mark.parametrize(
    ("load", "kingman", "belz"), [(0.5, 0.97, 0.1), (0.7, 0.34, 0.1), (0.9, 0.08, 0.1)]
)
def test_approximations_are_as_near_as_their_notes_say(
    load: float, kingman: float, belz: float
) -> None:
    for scv, transform in renewal(load).items():
        exact = exact_wait(transform)
        at = {"arrivals_scv": scv, "scv": 1.0, "service": 1.0, "arrivals": load}
        assert -0.001 <= law("gg1-kingman", **at) / exact - 1 <= kingman
        assert abs(law("gg1-kraemer-langenbach-belz", **at) / exact - 1) <= belz
        assert law("gg1-bound", **at) >= exact


def test_the_correction_at_a_low_load_is_as_near_as_its_note_says() -> None:
    for scv, transform in renewal(0.3).items():
        at = {"arrivals_scv": scv, "scv": 1.0, "service": 1.0, "arrivals": 0.3}
        error = abs(law("gg1-kraemer-langenbach-belz", **at) / exact_wait(transform) - 1)
        assert error <= (0.15 if scv <= 4 else 0.35)


def constant_service(servers: int, load: float) -> float:
    """Wait at M/D/c: who is there one service time later are those who had to wait, and Poisson
    arrivals.
    """
    arrivals, most = servers * load, 300
    came = np.array(
        [math.exp(k * math.log(arrivals) - arrivals - math.lgamma(k + 1)) for k in range(most)]
    )
    present = came
    for _ in range(4000):
        left = np.concatenate(
            [[present[: servers + 1].sum()], present[servers + 1 :], np.zeros(servers)]
        )
        last, present = present, np.convolve(left, came)[:most]
        if float(np.abs(last - present).max()) < 1e-14:
            break
    return float((present @ np.arange(most) - arrivals) / arrivals)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("load", "error"), [(0.5, 0.34), (0.7, 0.19), (0.9, 0.05)])
def test_several_servers_with_constant_service_are_as_near_as_the_note_says(
    load: float, error: float
) -> None:
    for servers in (1, 2, 5, 20):
        exact = constant_service(servers, load)
        at = {
            "arrivals_scv": 1.0,
            "scv": 0.0,
            "servers": servers,
            "service": 1.0,
            "arrivals": servers * load,
        }
        for name in ("ggc-allen-cunneen", "ggc-kraemer-langenbach-belz"):
            found = law(name, **at) / exact - 1
            assert -error <= found <= 1e-9
            assert servers > 1 or found == pytest.approx(0.0, abs=1e-9)


def queue(
    seed: int, order: Callable[[list[tuple[float, int, float]]], int], preempt: bool
) -> dict[int, float]:
    """Serve two classes of Poisson customers one by one; give the mean response of each class."""
    rng = np.random.default_rng(seed)
    arrivals: list[tuple[float, int, float]] = []
    for rank, (rate, service) in enumerate(((1.0, 0.3), (0.8, 0.5))):
        times = np.cumsum(rng.exponential(1 / rate, int(40_000 * rate)))
        works = rng.exponential(service, len(times)) if rank == 0 else np.full(len(times), service)
        arrivals += [
            (float(time), rank, float(work)) for time, work in zip(times, works, strict=True)
        ]
    arrivals.sort()
    waiting: list[tuple[float, int, float]] = []
    spent: dict[int, list[float]] = {0: [], 1: []}
    now, index = 0.0, 0
    while index < len(arrivals) or waiting:
        if not waiting:
            now = max(now, arrivals[index][0])
        while index < len(arrivals) and arrivals[index][0] <= now:
            waiting.append(arrivals[index])
            index += 1
        came, rank, work = waiting.pop(order(waiting))
        end = now + work
        if preempt and index < len(arrivals) and arrivals[index][0] < end:
            waiting.append((came, rank, end - arrivals[index][0]))
            now = arrivals[index][0]
        else:
            now = end
            spent[rank].append(end - came)
    return {rank: float(np.mean(each)) for rank, each in spent.items()}


def first_of_the_highest(waiting: list[tuple[float, int, float]]) -> int:
    return min(range(len(waiting)), key=lambda each: (waiting[each][1], waiting[each][0]))


TWO = {
    "high_scv": 1.0,
    "high_service": 0.3,
    "high_arrivals": 1.0,
    "low_scv": 0.0,
    "low_service": 0.5,
    "low_arrivals": 0.8,
}


@pytest.mark.turns(8)
@pytest.mark.parametrize("preempt", [False, True])
def test_priorities_against_a_queue_served_customer_by_customer(preempt: bool) -> None:
    runs = [queue(seed, first_of_the_highest, preempt) for seed in range(4)]
    means = {rank: np.array([run[rank] for run in runs]) for rank in (0, 1)}
    if preempt:
        high = law("mg1-response-time", scv=1.0, service=0.3, arrivals=1.0)
        low = law("mg1-preemptive-low-response-time", **TWO)
    else:
        high = 0.3 + law("mg1-priority-high-waiting-time", **TWO)
        low = 0.5 + law("mg1-priority-low-waiting-time", **TWO)
    for rank, wanted in ((0, high), (1, low)):
        assert abs(means[rank].mean() - wanted) < 4 * means[rank].std(ddof=1) / 2 + 0.01 * wanted


def test_priorities_keep_the_work_that_waits() -> None:
    """Kleinrock's conservation: loads weigh the waits to what they are without priorities; three
    classes.
    """
    classes = [(2.0, 0.1, 1.0), (0.5, 0.4, 3.0), (0.2, 2.0, 0.5)]
    residual = sum(law("residual-work", arrivals=a, service=s, scv=v) for a, s, v in classes)
    loads = [a * s for a, s, _ in classes]
    for order in itertools.permutations(range(3)):
        weighed, above = 0.0, 0.0
        for each in order:
            up_to = above + loads[each]
            weighed += loads[each] * law(
                "mg1-priority-waiting-time", above=above, up_to=up_to, residual=residual
            )
            above = up_to
        assert weighed == pytest.approx(sum(loads) * residual / (1 - sum(loads)), rel=1e-12)


def test_laws_of_two_classes_are_the_laws_of_several() -> None:
    first = law("residual-work", arrivals=1.0, service=0.3, scv=1.0)
    both = first + law("residual-work", arrivals=0.8, service=0.5, scv=0.0)
    at = {"above": 0.3, "up_to": 0.7, "residual": both}
    assert law("mg1-priority-low-waiting-time", **TWO) == pytest.approx(
        law("mg1-priority-waiting-time", **at)
    )
    upper = law("mg1-priority-waiting-time", above=0.0, up_to=0.3, residual=both)
    assert law("mg1-priority-high-waiting-time", **TWO) == pytest.approx(upper)
    assert law("mg1-preemptive-low-response-time", **TWO) == pytest.approx(
        law("mg1-preemptive-response-time", service=0.5, **at)
    )
    alone = law("mg1-preemptive-response-time", above=0.0, up_to=0.3, service=0.3, residual=first)
    assert alone == pytest.approx(law("mg1-response-time", scv=1.0, service=0.3, arrivals=1.0))


def test_a_great_deal_of_room_overflows_nothing() -> None:
    at = {"capacity": 5000, "servers": 3, "service": 1.0}
    full = [
        law("mmck-number-probability", count=n, arrivals=15.0, **at) for n in (5000, 4999, 4000, 2)
    ]
    assert full == pytest.approx([0.8, 0.16, 0.8 * 0.2**1000, 0.0], rel=1e-12)
    hardly = [law("mmck-number-probability", count=n, arrivals=0.3, **at) for n in (0, 1, 5000)]
    assert hardly == pytest.approx([math.exp(-0.3), 0.3 * math.exp(-0.3), 0.0], rel=1e-3)


@pytest.mark.parametrize("sources", [1, 2, 7, 40])
@pytest.mark.parametrize("think", [Fraction(1, 10), Fraction(2), Fraction(9)])
def test_those_at_a_shared_server_against_the_chain(sources: int, think: Fraction) -> None:
    shares = chain(lambda n: (sources - n) / think, lambda _: 1 / SERVICE, sources)
    at = {"sources": sources, "think": think, "service": SERVICE}
    found = [law("machine-repairman-number-probability", count=n, **at) for n in range(sources + 1)]
    assert found == pytest.approx([float(share) for share in shares], rel=1e-12)
    busy = law("machine-repairman-throughput", **at) * float(SERVICE)
    assert 1 - found[0] == pytest.approx(busy, rel=1e-12)


NUMBER, LATE = (
    Tape([md1_number(Parameter("load"), Parameter("n"))]),
    Tape([md1_late(Parameter("load"), Parameter("x"))]),
)


@pytest.mark.turns(4)
@pytest.mark.parametrize("load", [0.05, 0.5, 0.9])
def test_constant_service_against_its_means(load: float) -> None:
    counts = np.arange(300.0)
    (shares,) = NUMBER.run({"load": load, "n": counts})
    assert shares.sum() == pytest.approx(1.0, abs=1e-13)
    # Little's law, from Pollaczek and Khinchin's mean.
    wait = law("md1-waiting-time", service=1.0, arrivals=load)
    assert shares @ counts == pytest.approx(load * (1 + wait), rel=1e-12)
    # The mean wait is the area under its tail, which is smooth within each service time: Simpson's
    # rule.
    (late,) = LATE.run({"load": load, "x": np.linspace(0.0, 60.0, 1201)[:-1]})
    assert np.all(np.diff(late) <= 1e-14)
    assert late[0] == pytest.approx(load, rel=1e-13)
    inside = late.reshape(60, 20)
    ends = np.append(late[20::20], 0.0)
    weights = np.array([1.0, *[4.0, 2.0] * 9, 4.0])
    # The tail jumps nowhere, so the end of one service time is the beginning of the next.
    assert ((inside @ weights + ends) / 60).sum() == pytest.approx(wait, rel=1e-5)


def test_constant_service_against_waits_drawn() -> None:
    """Lindley's recursion, w <- max(w + S - A, 0), for many arrivals."""
    random, load = np.random.default_rng(1), 0.6
    wait, waits = 0.0, []
    for gap in random.exponential(1 / load, 100_000):
        waits.append(wait)
        wait = max(wait + 1.0 - gap, 0.0)
    for limit in (0.5, 1.0, 2.7, 6.0):
        seen = float(np.mean(np.array(waits) > limit))
        assert law(
            "md1-response-tail", limit=1 + limit, service=1.0, arrivals=load
        ) == pytest.approx(seen, abs=0.01)
