"""Applications from counts: each term against an operation alone, and the whole by three roads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import slipstick
from slipstick import PROGRAMS, Simulation, load
from slipstick.errors import ModelError
from slipstick.expression.nodes import Parameter
from slipstick.method.names import names_of
from slipstick.model.machine import Machine
from slipstick.model.system import Model, scaled_model
from slipstick.program.program import structural_number
from slipstick.schema.inputs import build_once
from slipstick.schema.library import Library
from slipstick.schema.programs import load_data
from slipstick.schema.text import Mark
from slipstick_workloads.counts import CountedPhase, Counts, ProcessorTally
from tests.closed_form import solve
from tests.examples import PART
from tests.paper import PAPER, US
from tests.specs import settings

FE, ATM = "rs6000-43p-fast-ethernet", "rs6000-43p-atm"


def machine(name: str = FE) -> Machine:
    found = load(f"machine/{name}")
    assert isinstance(found, Machine)
    return found


def counts(*phases: tuple[ProcessorTally, ...]) -> Counts:
    made = tuple(CountedPhase(f"phase {number}", tallies) for number, tallies in enumerate(phases))
    return Counts("by hand", len(phases[0]), 4096, "units", made)


def model(given: Counts, name: str = FE, sequential: float = 10.0, **more: float) -> Model:
    return PROGRAMS["dvsm/application"].on(
        machine(name), counts=given, sequential=sequential, **more
    )


def idle_pair(tally: ProcessorTally) -> Counts:
    """Let one of two processors do everything."""
    return counts((tally, ProcessorTally(work=1)))


def barrier(name: str = FE) -> float:
    """Time a barrier of two without notices."""
    times = dict.fromkeys(("merge", "invalidate", "notices"), 0.0)
    given = {"arrive": 0.0, "release": 0.0, "processors": 2.0}
    return solve(PROGRAMS["dvsm/barrier-slave"].on(machine(name), **given, **times))["time"] or 0.0


def line(tally: ProcessorTally, name: str = FE, **more: float) -> float:
    """Return the time of a tally's operations: all but work and the barrier."""
    answer = solve(model(idle_pair(tally), name, **more))
    work = 10.0 * tally.work / (tally.work + 1)
    return (answer["time"] or 0.0) - work - barrier(name)


DIFF = {"send_call": 72e-6, "remote_call": 115e-6, "remote_compute": 84e-6}
DIFF["remote_delay"] = 75e-6 + 115.6e-6  # of two requests of one fault


def test_a_fault_costs_what_the_operation_alone_costs() -> None:
    alone = PROGRAMS["dvsm/diff-request"].on(
        machine(),
        parts=2.0,
        reply=300.0,
        receive_call=300 * 0.0365e-6,
        compute=2 * (129e-6 + 300 * 0.040e-6),
        **DIFF,
    )
    tally = ProcessorTally(work=9, faults=Counter({(2, 600): 7}))
    assert line(tally) == pytest.approx(7 * (solve(alone)["time"] or 0.0), rel=1e-9)


@pytest.mark.turns(4)
def test_an_empty_miss_and_a_lock_cost_what_they_cost_alone() -> None:
    page = PROGRAMS["dvsm/page-fault"].on(
        machine(), call=747e-6, remote_compute=283e-6, remote_delay=75e-6
    )
    assert line(ProcessorTally(work=9, empty=5)) == pytest.approx(
        5 * (solve(page)["time"] or 0.0), rel=1e-9
    )
    for hops, call in ((1, 99e-6), (2, 148.5e-6)):
        lock = PROGRAMS["dvsm/lock"].on(
            machine(),
            parties=hops + 1.0,
            reply=0.0,
            call=call,
            compute=133.5e-6,
            remote_compute=31.5e-6,
            remote_delay=96e-6,
        )
        found = line(ProcessorTally(work=9, acquisitions=Counter({hops: 3, 0: 50})))
        assert found == pytest.approx(3 * (solve(lock)["time"] or 0.0), rel=1e-9)


@pytest.mark.turns(4)
def test_a_prefetched_fault_costs_all_sends_and_receives_and_a_prefetched_lock_one_send() -> None:
    # By hand from Table 2 and the machine: 12 B and 300 B at the source, twice each, and the
    # handler.
    send, receive = 102e-6 + 58 * 0.03865e-6 + 72e-6, 102e-6 + 346 * 0.03865e-6 + 300 * 0.0365e-6
    tally = ProcessorTally(work=9, faults=Counter({(2, 600): 7}))
    by_hand = 7 * (2 * send + 2 * receive + 2 * (129e-6 + 300 * 0.040e-6))
    assert line(tally, prefetched_faults=1.0) == pytest.approx(by_hand, rel=1e-9)
    half = (line(tally) + by_hand) / 2
    assert line(tally, prefetched_faults=0.5) == pytest.approx(half, rel=1e-9)
    locks = ProcessorTally(work=9, acquisitions=Counter({1: 4, 2: 6}))
    assert line(locks, prefetched_locks=1.0) == pytest.approx(
        10 * (102e-6 + 70 * 0.03865e-6), rel=1e-9
    )


def test_empty_misses_are_not_hidden_and_destinations_pay_in_full() -> None:
    tally = ProcessorTally(
        work=9, empty=5, served_diffs=8, served_pages=2, forwarded=1, sent={"diffs": (8, 400)}
    )
    assert line(tally, prefetched_faults=1.0, prefetched_locks=1.0) == pytest.approx(
        line(tally), rel=1e-12
    )


def test_serving_is_on_the_server_and_not_taken_off_the_fault() -> None:
    asks, serves = ProcessorTally(work=5, faults=Counter({(1, 20): 10})), ProcessorTally(work=5)
    serves.served_diffs, serves.sent = 10, {"diffs": (10, 200)}
    alone, both = (solve(model(counts((asks, each)))) for each in (ProcessorTally(work=5), serves))
    assert both.account["fault"] == pytest.approx(alone.account["fault"])
    assert both["time"] == pytest.approx(alone["time"])  # who serves waits for who asks anyway
    served = 40e-6 + 102e-6 + 58 * 0.03865e-6 + 115e-6 + 84e-6 + 102e-6 + 66 * 0.03865e-6
    assert both.account["sigio"] == pytest.approx(10 * served / 2, rel=1e-9)
    assert both.account["idle"] == pytest.approx(alone.account["idle"] - 10 * served / 2, rel=1e-6)


@pytest.mark.turns(4)
def test_time_is_the_slowest_of_each_phase_and_the_account_adds_up() -> None:
    fault = Counter({(1, 20): 10})
    given = counts(
        (ProcessorTally(work=6, faults=fault), ProcessorTally(work=2)),
        (ProcessorTally(work=2), ProcessorTally(work=6, faults=fault)),
    )
    answer = solve(model(given, sequential=16.0))
    one = line(ProcessorTally(work=9, faults=fault))
    assert answer["time"] == pytest.approx(12.0 + 2 * one + 2 * barrier(), rel=1e-6)
    assert sum(answer.account.values()) == pytest.approx(answer["time"])
    assert answer.account["busy"] == pytest.approx(8.0)
    assert answer["speedup"] == pytest.approx(16.0 / (answer["time"] or 0.0))
    assert answer["efficiency"] == pytest.approx(8.0 / (answer["time"] or 0.0))
    assert sum(answer.share["time"].values()) == pytest.approx(1.0)


@pytest.mark.turns(4)
def test_technology_scales_its_class_of_the_account() -> None:
    given = model(idle_pair(ProcessorTally(work=9, faults=Counter({(1, 4096): 50}), empty=9)))
    before, halved = (
        solve(given),
        solve(scaled_model(given, {"protocol": Parameter("technology.protocol", value=0.5)})),
    )
    saved = (before["time"] or 0.0) - (halved["time"] or 0.0)
    # The busy processor's own line counts, not the mean of the two.
    lines = 2 * sum(
        t
        for step, t in before.steps.items()
        if step.endswith("protocol") and not step.startswith("barrier")
    )
    meeting = sum(
        t
        for step, t in before.steps.items()
        if step.endswith("protocol") and step.startswith("barrier")
    )
    assert saved == pytest.approx((lines + meeting) / 2, rel=1e-9)


@pytest.mark.turns(4)
def test_waiting_for_a_lock_is_for_each_processor_ahead_and_its_faults() -> None:
    alone, *queued = (
        line(ProcessorTally(work=9, ahead=ahead, ahead_faults=faults, faults=Counter({(1, 20): 1})))
        for ahead, faults in ((0, 0), (1, 0), (2, 0), (0, 1))
    )
    assert queued[1] - alone == pytest.approx(2 * (queued[0] - alone), rel=1e-9)
    assert queued[2] == pytest.approx(2 * alone, rel=1e-9)


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", ["prefetched_faults", "prefetched_locks"])
def test_waits_behind_others_follow_what_is_prefetched(name: str) -> None:
    """Sections ahead are shorter by their faults, and a lock that was requested early has its turn
    while its processor computes.
    """

    def tally(ahead: int, faults: int) -> ProcessorTally:
        return ProcessorTally(
            work=9,
            acquisitions=Counter({1: 4}),
            faults=Counter({(1, 20): 1}),
            ahead=ahead,
            ahead_faults=faults,
        )

    free, queued, faulting = tally(0, 0), tally(4, 0), tally(4, 4)

    def waits(tally: ProcessorTally) -> list[float]:
        given: list[dict[str, Any]] = [{name: each} for each in (0.0, 0.5, 1.0)]
        return [line(tally, **each) - line(free, **each) for each in given]

    section, behind = waits(queued), waits(faulting)
    assert behind[0] > 2 * section[0] > 0
    assert behind[1] == pytest.approx((behind[0] + behind[2]) / 2, rel=1e-6)
    if name == "prefetched_faults":
        assert section == pytest.approx([section[0]] * 3, rel=1e-6)
        assert behind[2] == pytest.approx(section[2], rel=1e-6)
    else:
        assert [section[2], behind[2]] == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.parametrize(("network", "alone"), [("fast-ethernet", 75.0), ("atm", 77.0)])
def test_the_delay_of_further_requests_is_the_slope_of_the_printed_ones(
    network: str, alone: float
) -> None:
    """Least squares through the delay of a request alone, over the six columns of Tables 4 and
    5.
    """
    columns = [
        column for table in ("table_4", "table_5") for column in PAPER[table][network].values()
    ]
    further = [column["parts"] - 1 for column in columns]
    beyond = [column["remote_delay"] - alone for column in columns]
    slope = sum(x * y for x, y in zip(further, beyond, strict=True)) / sum(x * x for x in further)
    dvsm = machine(f"rs6000-43p-{network}").dvsm
    assert dvsm is not None
    stated = [
        structural_number(each, "a delay") / US
        for each in (dvsm.serve_delay, dvsm.serve_delay_more)
    ]
    assert stated == pytest.approx([alone, slope], abs=0.06)
    errors = [abs(y - slope * x) / (y + alone) for x, y in zip(further, beyond, strict=True)]
    assert sum(errors) / len(errors) == pytest.approx({75.0: 0.30, 77.0: 0.47}[alone], abs=0.005)


@pytest.mark.turns(8)
@pytest.mark.parametrize("network", [FE, ATM] if PART >= 1 else [ATM])
@pytest.mark.parametrize(
    ("name", "sequential", "given"),
    [
        ("sor", 0.4, {"rows": 200, "columns": 1000, "iterations": 3}),
        ("is", 0.1, {"keys": 2**14, "iterations": 2}),
        ("barnes", 2.0, {"bodies": 512, "steps": 1}),
        ("sphere", 0.5, {"pitch": 12, "steps": 1, "sweeps": 2}),
        ("water", 1.0, {"molecules": 64, "steps": 1}),
        ("raytrace", 1.0, {"image": 32, "generations": 2}),
    ],
)
def test_three_roads_agree(
    network: str, name: str, sequential: float, given: dict[str, float]
) -> None:
    built = PROGRAMS[f"dvsm/{name}"].on(machine(network), sequential=sequential, **given)
    added, predicted = solve(built), solve(built, method="mean-value")
    seen = solve(built, method="simulation", simulation=Simulation(seed=1))
    assert (added["time"] or 0.0) < (predicted["time"] or 0.0)
    assert predicted["time"] == pytest.approx(seen["time"], rel=0.04)
    assert added["time"] == pytest.approx(seen["time"], rel=0.15)
    assert sum(predicted.account.values()) == pytest.approx(predicted["time"])
    for component in ("busy", "sigio"):
        assert predicted.account[component] == pytest.approx(seen.account[component], rel=0.02)


def test_shares_of_mean_value_add_up() -> None:
    small = counts(
        (
            ProcessorTally(work=6, faults=Counter({(1, 20): 10})),
            ProcessorTally(work=6, faults=Counter({(1, 20): 9})),
        )
    )
    shares = solve(model(small), method="mean-value").share["time"]
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("workload", "used"), [("sor", False), ("is", True)])
def test_a_prefetched_part_needs_no_other_model(workload: str, used: bool) -> None:
    given = {"workload": workload, "machine": "rs6000-43p-fast-ethernet"}
    _, built = build_once(settings(**given, prefetched_locks="0.5"), Library())
    assert built.can_vary(["prefetched_locks"])
    assert ("prefetched_locks" in built.free_paths) == used
    _, none = build_once(settings(**given, prefetched_locks="0"), Library())
    assert isinstance(built.model, Model)
    assert isinstance(none.model, Model)
    assert {each.name for each in built.model.steps} == {each.name for each in none.model.steps}


@pytest.mark.turns(4)
def test_every_method_gives_the_mean_size_of_each_kind_of_message() -> None:
    asked, served = (
        ProcessorTally(work=4, faults=Counter({(1, 100): 2, (1, 40): 1})),
        ProcessorTally(work=4, served_diffs=3),
    )
    served.sent = {"diffs": (3, 240), "lock reply": (2, 30)}
    made = model(counts((asked, served)))
    for method in ("closed-form", "mean-value", "simulation"):
        answer = slipstick.solve(made, method=method)
        assert (answer["bytes[diffs]"], answer["bytes[lock-reply]"]) == (80.0, 15.0)
        assert answer.values["bytes[diffs]"].unit == "B"
        assert answer["parts"] == 1.0


def test_what_cannot_be_modelled_is_refused() -> None:
    given = idle_pair(ProcessorTally(work=9))
    program = PROGRAMS["dvsm/application"]
    bare = load("machine/rs6000-43p-atm")
    assert isinstance(bare, Machine)
    bare = Machine(bare.name, bare.processors, bare.speed, bare.page, bare.signal, bare.network)
    with pytest.raises(
        ModelError,
        match="has no costs of a distributed virtual shared memory; give its spec a section dvsm",
    ):
        program.on(bare, counts=given, sequential=1.0)
    with pytest.raises(
        ModelError, match="needs sequential: the time of the program on one processor"
    ):
        program.on(machine(), counts=given)
    with pytest.raises(
        ModelError, match="dvsm/application needs counts: counts of a program, derived or measured"
    ):
        program.on(machine(), sequential=1.0)
    with pytest.raises(ModelError, match=r"counts takes counts, got 3\.0"):
        program.on(machine(), counts=3.0, sequential=1.0)
    with pytest.raises(ModelError, match="hold no work after start-up; no time follows from them"):
        program.on(machine(), counts=counts((ProcessorTally(), ProcessorTally())), sequential=1.0)
    with pytest.raises(ModelError, match="prefetched_faults must be at least 0 and at most 1"):
        program.on(machine(), counts=given, sequential=1.0, prefetched_faults=1.5)


def test_what_equal_machines_counts_and_inputs_give_is_built_once() -> None:
    given = idle_pair(ProcessorTally(work=99))
    assert model(given) is model(given)
    assert model(given) is not model(given, sequential=11.0)
    assert model(given) is not model(given, ATM)
    # Other counts are others even where they hold the same; nothing compares what may be changed.
    assert model(given) is not model(idle_pair(ProcessorTally(work=99)))


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", ["raytrace-image-128", "is"])
def test_a_sample_has_names_and_parameters_of_the_whole(name: str) -> None:
    """A study is checked by it, so what it lacks may be there, but what it has must be."""
    given, on = load_data("counts", name, Mark("", 1, 1), Library()), machine()
    build, build_sample = PROGRAMS["dvsm/application"].builders(on, counts=given, sequential=10.0)
    assert build_sample is not None
    whole, part = build(), build_sample()
    assert part.parameters.keys() == whole.parameters.keys()
    assert set(names_of(part, None)) < set(names_of(whole, None))


def test_a_sample_is_refused_where_the_whole_is() -> None:
    idle = counts((ProcessorTally(empty=1),))
    for make in PROGRAMS["dvsm/application"].builders(machine(), counts=idle, sequential=10.0):
        assert make is not None
        with pytest.raises(ModelError, match="hold no work"):
            make()
