"""Unit grains: times added up by hand, who is in whose way, and the shapes of the paper's
figures that bounds show.
"""

from __future__ import annotations

import heapq
import random
from itertools import pairwise
from typing import Any

import pytest

import slipstick
from slipstick.answer import Answer
from slipstick.api import load
from slipstick.errors import ModelError
from slipstick.expression.nodes import TIME, Number, Parameter, zero
from slipstick.expression.tape import Tape
from slipstick.model.machine import Multistage, SharedMemory
from slipstick.model.system import Barrier, Model, Station
from slipstick.program import PROGRAMS
from slipstick.program.program import structural_number
from slipstick.vocabulary import LOCKS
from slipstick_workloads.shared_memory import barrier_cost
from tests.bounds import bounds
from tests.closed_form import solve
from tests.specs import shared_machine

US = 1e-6
UNIT = PROGRAMS["grain/unit"]


SYMMETRY, TC2000 = shared_machine("sequent-symmetry-s81"), shared_machine("bbn-tc2000")
LARGE = 128 * 1024


def unit(on: SharedMemory, **inputs: Any) -> Model:
    return UNIT.on(on, **inputs)


def with_modules(count: float) -> SharedMemory:
    """Return the GP1000 fewer memory modules, which are solved in less time."""
    gp1000 = shared_machine("bbn-gp1000")
    return gp1000._replace(memory=gp1000.memory._replace(modules=Number(count)))


def answer(on: SharedMemory, **inputs: Any) -> Answer:
    return solve(unit(on, **inputs))


def least(on: SharedMemory, **inputs: Any) -> float:
    """Return the least time of the test grain among its competitors [s]."""
    low = bounds(unit(on, **inputs)).values["time"].low
    assert low is not None
    return low


def most_efficient(on: SharedMemory, competitors: int, **inputs: Any) -> float:
    """Return the largest zeta that the bounds allow."""
    return least(on, competitors=0, **inputs) / least(on, competitors=competitors, **inputs)


def test_an_uncached_access_crosses_the_stages_to_and_fro() -> None:
    # Two stages of 8 x 8 switches join 64 ports: 2 (2 x 0.3) + 0.105 + 0.5 us.
    assert answer(TC2000, accesses=1)["time"] == pytest.approx(1.805 * US, rel=1e-3)


def test_a_miss_takes_the_bus_twice_and_a_write_sends_a_line_back() -> None:
    read = answer(SYMMETRY, accesses=1, elements=LARGE, stride=16)
    write = answer(SYMMETRY, access="write", accesses=1, elements=LARGE, stride=16)
    assert read["time"] == pytest.approx(0.8 * US)  # 0.1 + 0.4 + 0.3
    assert write["time"] == read["time"]  # side by side
    both = {"elements": LARGE, "stride": 16, "accesses": 1, "competitors": 20}
    assert least(SYMMETRY, access="write", **both) == pytest.approx(2 * least(SYMMETRY, **both))


def test_what_fits_in_the_cache_is_found_there() -> None:
    few = answer(SYMMETRY, accesses=5, elements=1024)
    assert few["time"] == pytest.approx(5 * 0.125 * US)
    one_in_four = answer(SYMMETRY, accesses=4, elements=LARGE)  # a line of 16 B holds four elements
    assert one_in_four["time"] == pytest.approx((0.8 + 3 * 0.125) * US)


def test_written_elements_are_fetched_again_as_often_as_another_wrote_last() -> None:
    times = [answer(SYMMETRY, access="write", accesses=1, competitors=n) for n in (0, 1, 3)]
    assert times[0]["time"] == pytest.approx(0.125 * US)
    assert [each.account.get("coherence", 0.0) for each in times] == pytest.approx(
        [0.0, 0.4 * US, 0.6 * US]
    )
    writers = {"other_access": "write", "other_accesses": 1}
    assert answer(SYMMETRY, accesses=1, competitors=3, **writers).account[
        "coherence"
    ] == pytest.approx(0.6 * US)
    among_readers = answer(SYMMETRY, access="write", accesses=1, competitors=3, other_access="read")
    assert among_readers.account["coherence"] == pytest.approx(0.75 * 0.1 * US)  # an invalidation


def test_a_write_through_cache_sends_every_write_to_memory() -> None:
    multimax = shared_machine("encore-multimax")
    assert answer(multimax, access="write", accesses=1)["time"] == pytest.approx(0.48 * US)
    assert answer(multimax, access="read", accesses=1)["time"] == pytest.approx(0.2 * US)


def test_a_free_lock_costs_its_measured_latency() -> None:
    for on, name, latency in (
        (SYMMETRY, "nat", 7.4),
        (TC2000, "nat", 12.1),
        (SYMMETRY, "mcs", 11.0),
    ):
        assert answer(on, accesses=0, lock=name)["time"] == pytest.approx(latency * US)


def test_computing_and_critical_sections_are_counted_in_units() -> None:
    whole = answer(
        TC2000,
        accesses=0,
        compute=300,
        lock="nat",
        critical=5,
        critical_accesses=2,
        critical_writes=0.5,
    )
    assert whole["time"] == pytest.approx((300 + 5 + 12.1 + 2 * 1.805) * US, rel=1e-4)
    assert whole.account["busy"] == pytest.approx(300 * US)
    assert whole.account["critical"] == pytest.approx(5 * US)


def test_a_ring_of_rings_is_crossed_to_reach_those_who_are_not_near() -> None:
    ksr = shared_machine("ksr-1")
    many = {"accesses": 1, "elements": 2**24, "stride": 16}
    assert answer(ksr, competitors=31, **many)["time"] == pytest.approx(7.5 * US)
    far = 1 - 31 / 62
    assert answer(ksr, competitors=62, **many)["time"] == pytest.approx(
        (7.5 * (1 - far) + 28.5 * far) * US
    )
    assert unit(ksr, **many).resources["ring"] == Station(servers=117)


def test_a_held_circuit_keeps_its_module() -> None:
    gp1000 = shared_machine("bbn-gp1000")
    assert answer(gp1000, accesses=1)["time"] == pytest.approx(
        4 * US
    )  # four stages: 2 (4 x 0.3417) + 1 + 0.2664
    assert least(gp1000, accesses=1, competitors=9) == pytest.approx(40 * US)


def test_a_crossbar_is_crossed_to_and_fro() -> None:
    found = answer(shared_machine("two-socket-server"), accesses=1, elements=2**24, stride=8)
    assert found["time"] == pytest.approx(2 * 39e-9 + 3.56e-9 + 0.3e-9)


def test_equal_grains_are_one_population_and_others_are_groups() -> None:
    assert [group.name for group in unit(TC2000, accesses=1, competitors=9).population.groups] == [
        ""
    ]
    mixed = unit(TC2000, accesses=1, competitors=9, other_stride=0)
    assert [group.name for group in mixed.population.groups] == ["test", "competitors"]
    same = answer(TC2000, accesses=1, competitors=9, other_accesses=1)
    assert same["time"] == answer(TC2000, accesses=1, competitors=9)["time"]


def test_competitors_may_do_nothing() -> None:
    alone = answer(TC2000, accesses=1, competitors=9, other_accesses=0)
    assert alone["time[competitors]"] == 0.0
    assert alone["time"] == answer(TC2000, accesses=1)["time"]


@pytest.mark.parametrize("name", ["central", "tree", "dissemination"])
def test_a_barrier_ends_the_grain(name: str) -> None:
    found = answer(TC2000, accesses=0, compute=10, barrier=name, competitors=7)
    kind = TC2000.barriers[name]
    cost = float(Tape([barrier_cost(kind, Parameter("n", value=8.0))]).run({})[0][0])
    assert found["time"] == pytest.approx(10 * US + cost)
    assert found.account["barrier"] == pytest.approx(cost)
    assert isinstance(unit(TC2000, compute=1, barrier=name).resources[name], Barrier)


# The shapes of the paper, as far as bounds show them; methods with contention are held to them as
# well.


def test_zeta_is_the_same_for_one_to_four_elements_and_better_for_every_further_four() -> None:
    zeta = {m: most_efficient(TC2000, 31, accesses=1, elements=m) for m in (1, 2, 3, 4, 8, 12, 16)}
    assert zeta[1] == zeta[2] == zeta[3] == zeta[4]
    assert zeta[4] < zeta[8] < zeta[12] < zeta[16]
    assert most_efficient(TC2000, 31, accesses=1, elements=256) > 0.9


@pytest.mark.turns(4)
@pytest.mark.parametrize("competitors", [10, 20])
def test_zeta_rises_with_computing_and_more_for_writes(competitors: int) -> None:
    walk = {"elements": LARGE, "stride": 16, "accesses": 1, "start": 2}
    read, write = (
        [most_efficient(SYMMETRY, competitors, access=access, compute=c, **walk) for c in range(11)]
        for access in ("read", "write")
    )
    assert all(a <= b for each in (read, write) for a, b in pairwise(each))
    assert write[-1] / write[0] > read[-1] / read[0] > 1


def test_longer_critical_sections_lower_zeta() -> None:
    for on, compute, most in ((SYMMETRY, 120, 14), (TC2000, 300, 30)):
        zeta = [
            most_efficient(on, 20, accesses=0, compute=compute, lock="mcs", critical=c)
            for c in range(0, most + 1, 2)
        ]
        assert all(a >= b for a, b in pairwise(zeta))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            {"accesses": 0},
            "the test grain does nothing; give it accesses, compute, a lock or a barrier",
        ),
        ({"accesses": 0, "other_accesses": 1}, "the test grain does nothing"),
        ({"lock": "mcss"}, "sequent-symmetry-s81 has no lock 'mcss'; did you mean 'mcs'?"),
        (
            {"compute": 1, "barrier": "three"},
            "sequent-symmetry-s81 has no barrier 'three'; did you mean 'tree'?",
        ),
        ({"access": "wirte"}, "access cannot be 'wirte'; did you mean 'write'?"),
        (
            {"elements": 2.0**25},
            "elements must be at least 1 and at most 1.67772e+07 [1], got 3.35544e+07",
        ),
        ({"access": 1}, "access is a word, one of read, write; got 1"),
        ({"lock": 1.0}, "lock is a word, one of the machine's locks, or none; got 1.0"),
        ({"compute": "many"}, "compute is a quantity, not a word; got 'many'"),
        (
            {"accesses": 1, "elements": Parameter("n")},
            "elements shapes the model: write a number, not n",
        ),
    ],
)
def test_a_grain_that_cannot_be_is_refused(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        unit(SYMMETRY, **inputs)
    assert str(caught.value).startswith(message)


def test_each_program_runs_on_its_kind_of_machine() -> None:
    with pytest.raises(
        ModelError, match="grain/unit runs on a machine with shared memory, as load"
    ):
        UNIT.on(load("machine/rs6000-43p-atm"), accesses=1)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"runs on a machine, as load.*got sequent-symmetry-s81"):
        PROGRAMS["dvsm/message"].on(SYMMETRY)


def test_the_time_alone_is_of_the_same_accesses_as_among_others() -> None:
    """Half of the data of 64 processors lie on the other ring: that is distance, and no
    interference.
    """
    given: dict[str, Any] = {"elements": 2**24, "pattern": "random", "competitors": 63}
    answer = solve(unit(shared_machine("ksr-1"), **given), method="mean-value")
    assert answer["grain_efficiency"] == pytest.approx(1.0)
    assert answer["grain_interference"] == pytest.approx(0.0, abs=1e-9)
    assert answer["time_alone"] == pytest.approx(answer["time"])


def test_a_simulated_grain_alone_has_an_efficiency_of_one() -> None:
    """Nanda and Ni: zeta is above 0 and at most 1, and 1 without competitors."""
    given: dict[str, Any] = {"elements": LARGE, "pattern": "random", "competitors": 0}
    answer = solve(unit(shared_machine("sequent-symmetry-s81"), **given), method="simulation")
    assert (answer["grain_efficiency"], answer["grain_interference"]) == (1.0, 0.0)
    assert answer.ends("grain_efficiency") == (1.0, 1.0)


@pytest.mark.turns(4)
def test_the_flags_of_an_array_lock_are_spread_over_the_modules() -> None:
    """Only the counter is hot; a flag is in the memory of the processor that waits on it."""
    given: dict[str, Any] = {"accesses": 0, "lock": "distributed", "competitors": 39}
    answer = solve(unit(with_modules(16.0), **given), method="mean-value")
    counter, flag = answer["utilization[memory-0]"], answer["utilization[memory-1]"]
    assert counter is not None
    assert flag is not None
    assert counter == pytest.approx((1 + 1 / 16) * 16 * flag)
    assert counter < 0.5
    assert answer["time_alone"] == pytest.approx(20 * US)


def test_more_processors_than_a_machine_has_are_noted() -> None:
    machine = shared_machine("sequent-symmetry-s81")
    assert unit(machine, competitors=29).notes == ()
    (note,) = unit(machine, competitors=30).notes
    assert "has 30 processors; with 31 the answer is for a larger one of its kind" in note


def test_accesses_to_the_own_module_take_no_network() -> None:
    """MIN-Graph: local to remote access time is up to 1 : 15 without load on the GP1000."""
    machine = with_modules(16.0)
    remote, own, half = (answer(machine, local=share)["time"] for share in (0.0, 1.0, 0.5))
    assert (remote, own, half) == pytest.approx((4 * US, 0.2664 * US, 2.1332 * US))
    assert (remote or 0) / (own or 1) == pytest.approx(15, rel=0.002)
    with pytest.raises(ModelError, match="belong to no processor; leave out local"):
        unit(SYMMETRY, local=0.5)


def circuits_one_by_one(
    processors: int, modules: int, held: float, pause: float, until: float
) -> float:
    """Circuits a second where each refused one is tried again, for the same module, after a
    pause.
    """
    draw = random.Random(1)
    attempts = [(0.0, one, draw.randrange(modules)) for one in range(processors)]
    free, made = [0.0] * modules, 0
    while attempts[0][0] < until:
        now, one, module = attempts[0]
        if free[module] <= now:
            free[module], made = now + held, made + 1
            heapq.heapreplace(attempts, (now + held, one, draw.randrange(modules)))
        else:
            heapq.heapreplace(attempts, (now + pause, one, module))
    return made / until


def test_refused_circuits_are_tried_again_after_the_machine_s_pause() -> None:
    """As a simulation that shares no code; in a queue, more get through."""
    gp1000 = with_modules(4.0)
    assert isinstance(gp1000.interconnect, Multistage)
    machine = gp1000._replace(
        interconnect=gp1000.interconnect._replace(retry=Number(1.3 * US, TIME))
    )
    given: dict[str, Any] = {"pattern": "random", "elements": 4, "competitors": 5}
    retried, queued = (unit(machine, refused=how, **given) for how in ("retry", "queue"))
    found, approximate = (
        slipstick.solve(retried, method=each)["throughput"] for each in ("simulation", "mean-value")
    )
    waiting = slipstick.solve(queued, method="simulation")["throughput"]
    assert found is not None
    assert waiting is not None
    assert found == pytest.approx(circuits_one_by_one(6, 4, 4 * US, 1.3 * US, 20e-3), rel=0.03)
    assert approximate == pytest.approx(found, rel=0.05)
    assert waiting > 1.02 * found


def test_circuits_are_refused_where_there_are_any_and_with_a_pause() -> None:
    gp1000 = shared_machine("bbn-gp1000")
    assert isinstance(gp1000.interconnect, Multistage)
    with pytest.raises(
        ModelError,
        match="has no circuit switching, so no request is refused; leave out refused: retry",
    ):
        unit(SYMMETRY, refused="retry")
    at_once = gp1000._replace(interconnect=gp1000.interconnect._replace(retry=zero(TIME)))
    with pytest.raises(
        ModelError, match=r"has no pause after a refusal; give machine\.interconnect\.retry"
    ):
        unit(at_once, refused="retry")


def circuits_through_stages(processors: int, held: float, until: float) -> float:
    """Return the rate of accesses to four modules over two stages of 2 x 2 switches; a circuit
    holds outputs and waits for the next.
    """
    draw, made, owned = random.Random(4), 0, dict[str, int]()
    queues: dict[str, list[int]] = {}
    paths: dict[int, list[str]] = {}
    taken = dict.fromkeys(range(processors), 0)
    ends: list[tuple[float, int]] = []

    def go_on(one: int, now: float) -> None:
        while taken[one] < len(paths[one]):
            place = paths[one][taken[one]]
            if owned.setdefault(place, one) != one:
                queues.setdefault(place, []).append(one)
                return
            taken[one] += 1
        heapq.heappush(ends, (now + held, one))

    def begin(one: int, now: float) -> None:
        source, target = draw.randrange(2), draw.randrange(4)
        paths[one], taken[one] = [f"output {2 * source + target // 2}", f"module {target}"], 0
        go_on(one, now)

    for one in range(processors):
        begin(one, 0.0)
    while ends and ends[0][0] < until:
        now, one = heapq.heappop(ends)
        made += 1
        for place in reversed(paths[one]):
            del owned[place]
            if queues.get(place):
                following = queues[place].pop(0)
                owned[place] = following
                go_on(following, now)
        begin(one, now)
    return made / until


@pytest.mark.turns(4)
def test_circuits_hold_the_outputs_of_switches_while_they_wait_for_the_next() -> None:
    """As a simulation that shares no code; and accesses to other modules are delayed by those to
    a hot one.
    """
    small = with_modules(4.0)
    assert isinstance(small.interconnect, Multistage)
    radix, ports = Number(2.0), Number(4.0)
    machine = small._replace(interconnect=small.interconnect._replace(radix=radix, ports=ports))
    given: dict[str, Any] = {
        "pattern": "random",
        "elements": 4,
        "competitors": 5,
        "stages": "contend",
    }
    found = slipstick.solve(unit(machine, **given), method="simulation")
    held = slipstick.solve(unit(machine, **given | {"competitors": 0}), method="simulation")["time"]
    assert found["throughput"] == pytest.approx(
        circuits_through_stages(6, held or 0.0, 20e-3), rel=0.03
    )
    hot = {**given, "other_pattern": "uniform", "other_stride": 0}
    free, contended = (
        slipstick.solve(unit(machine, **hot | {"stages": each}), method="simulation")[
            "grain_efficiency"
        ]
        or 0.0
        for each in ("free", "contend")
    )
    assert contended < 0.8 * free


def circuits_given_up(
    processors: int, held: float, pause: float, compute: float, until: float
) -> float:
    """Return the rate of accesses to four modules over two stages of 2 x 2 switches; who finds a
    taken output tries again later.
    """
    draw, made, free = random.Random(4), 0, dict[str, float]()

    def path() -> tuple[str, str]:
        source, target = draw.randrange(2), draw.randrange(4)
        return f"output {2 * source + target // 2}", f"module {target}"

    attempts = [(0.0, one, path()) for one in range(processors)]
    while attempts[0][0] < until:
        now, one, way = attempts[0]
        if all(free.get(each, 0.0) <= now for each in way):
            free.update(dict.fromkeys(way, now + held))
            after = held + (draw.expovariate(1 / compute) if compute else 0.0)
            made += 1
            heapq.heapreplace(attempts, (now + after, one, path()))
        else:
            heapq.heapreplace(attempts, (now + pause, one, way))
    return made / until


@pytest.mark.turns(4)
@pytest.mark.parametrize(("compute", "promised"), [(0, 0.07), (4, 0.03)])
def test_refused_circuits_give_up_all_outputs_on_their_way(compute: int, promised: float) -> None:
    """As a simulation that shares no code; mean value with a pause of a quarter of the time for
    which a circuit is held.
    """
    small = with_modules(4.0)
    assert isinstance(small.interconnect, Multistage)
    held = (2 * 2 * 0.3417 + 1 + 0.2664) * US
    pause = Number(held / 4, TIME)
    machine = small._replace(
        interconnect=small.interconnect._replace(radix=Number(2.0), ports=Number(4.0), retry=pause)
    )
    given: dict[str, Any] = {
        "pattern": "random",
        "elements": 4,
        "competitors": 5,
        "compute": compute,
        "scv": 1,
    }
    both = unit(machine, **given, stages="contend", refused="retry")
    found, approximate = (
        slipstick.solve(both, method=each)["throughput"] for each in ("simulation", "mean-value")
    )
    step = (
        slipstick.solve(unit(machine, accesses=0, compute=1), method="closed-form")["time"] or 0.0
    )
    alone = circuits_given_up(6, held, held / 4, compute * step, 30e-3)
    assert found == pytest.approx(alone, rel=0.02)
    assert approximate == pytest.approx(alone, rel=promised)


def test_drawing_the_element_of_an_access_takes_its_own_time() -> None:
    walk: dict[str, Any] = {"elements": 64, "accesses": 3}
    drawn, free = (
        answer(TC2000, pattern="random", index=index, **walk)["time"] or 0.0 for index in (0.5, 0)
    )
    step = answer(TC2000, accesses=0, compute=1)["time"] or 0.0
    assert drawn - free == pytest.approx(3 * 0.5 * step)
    counted, plain = (answer(TC2000, index=index, **walk)["time"] for index in (0.5, 0))
    assert counted == plain


@pytest.mark.parametrize(("lock", "held"), [("mcs", 2 / 5), ("tas", 1 / 2)])
def test_of_a_lock_the_instructions_of_the_hand_over_are_serial(lock: str, held: float) -> None:
    """A list of waiting processors is entered while others hold the lock."""
    kind = SYMMETRY.locks[lock]
    accesses = LOCKS[kind.kind].acquire + LOCKS[kind.kind].release
    latency, access = (structural_number(each, "a time") for each in (kind.latency, kind.access))
    found = answer(SYMMETRY, accesses=0, lock=lock, critical=1).steps
    instructions = latency - accesses * access
    assert found["lock.release"] == pytest.approx(held * instructions)
    assert found["lock.acquire"] == pytest.approx((1 - held) * instructions)


@pytest.mark.turns(4)
def test_a_hot_spot_delays_others_less_where_refused_circuits_give_up_their_outputs() -> None:
    """A circuit that waits holds what others need (tree saturation); one that is refused leaves
    it free.
    """
    small = with_modules(4.0)
    assert isinstance(small.interconnect, Multistage)
    machine = small._replace(
        interconnect=small.interconnect._replace(radix=Number(2.0), ports=Number(4.0))
    )
    computing = {"compute": 1, "scv": 1, "other_compute": 1, "other_scv": 1}
    hot: dict[str, Any] = {
        "pattern": "random",
        "elements": 4,
        "competitors": 5,
        "other_pattern": "uniform",
        "other_stride": 0,
    }
    free, queued, retried = (
        slipstick.solve(
            unit(machine, **hot, **computing, stages=stages, refused=refused), method="simulation"
        )["time"]
        or 0.0
        for stages, refused in (("free", "retry"), ("contend", "queue"), ("contend", "retry"))
    )
    assert free < retried < 0.9 * queued


def test_packets_take_one_output_after_the_other() -> None:
    given: dict[str, Any] = {"elements": 4, "competitors": 0, "stages": "contend"}
    found = slipstick.solve(unit(TC2000, **given), method="simulation")
    assert found["time"] == pytest.approx(
        1.805 * US + 0.105 * US
    )  # two stages; the second output is the module's link
    assert found["grain_efficiency"] == 1.0


def test_stages_contend_where_there_are_any_and_not_too_many() -> None:
    with pytest.raises(
        ModelError,
        match="sequent-symmetry-s81 has no stages of switches; leave out stages: contend",
    ):
        unit(SYMMETRY, stages="contend")
    with pytest.raises(ModelError, match="at most 4096; give fewer elements or modules"):
        unit(shared_machine("bbn-gp1000"), stages="contend", elements=LARGE, pattern="random")
