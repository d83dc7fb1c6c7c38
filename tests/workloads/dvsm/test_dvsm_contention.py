"""Phases of diff requests with contention: against the closed forms where there is none, and
against what was measured.
"""

from __future__ import annotations

import math
from statistics import fmean

import pytest

from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, Parameter
from slipstick.program import PROGRAMS
from tests import simulation
from tests.closed_form import solve
from tests.contention import (
    ALONE,
    CELLS,
    EXCHANGES,
    column,
    fault_time,
    inputs,
    phase_model,
    simulated,
)
from tests.paper import NETWORKS, PAPER, US, diff_request, machine, page_fault

PHASE = PROGRAMS["dvsm/diff-phase"]

PREDICTED = {
    (4, "fast-ethernet", "I"): 86.3,
    (4, "fast-ethernet", "II"): 91.4,
    (4, "fast-ethernet", "III"): 77.7,
    (4, "atm", "I"): 85.0,
    (4, "atm", "II"): 98.4,
    (4, "atm", "III"): 76.1,
    (5, "fast-ethernet", "I"): 87.3,
    (5, "fast-ethernet", "II"): 100.7,
    (5, "fast-ethernet", "III"): 68.3,
    (5, "atm", "I"): 91.3,
    (5, "atm", "II"): 115.6,
    (5, "atm", "III"): 69.2,
}
"""What the model makes of each cell, in percent of the measured total: no paper's number, but a
change would show.
"""

every_cell = pytest.mark.parametrize(("table", "network", "phase"), CELLS)


def share(table: int, network: str, phase: str) -> float:
    """Return a prediction in percent of the measured total."""
    measured: float = column(table, network, phase)["measured_total"]
    return 100 * fault_time(simulated(table, network, phase)) / measured


def without_measured_delay(table: int, network: str, phase: str) -> float:
    """Return the paper's closed form with the delay of Table 3 in place of the measured one
    [us].
    """
    given = {"remote_delay": inputs(table, network, phase)["dispatch"]}
    time = solve(diff_request(table, network, phase), given)["time"]
    assert time is not None
    return time / US


def error(shares: list[float]) -> float:
    return fmean(abs(100 - each) for each in shares)


@pytest.mark.turns(4)
@every_cell
def test_every_cell_of_the_prediction(table: int, network: str, phase: str) -> None:
    within = 1.5 if phase == "II" else 0.1
    assert share(table, network, phase) == pytest.approx(
        PREDICTED[table, network, phase], abs=within
    )


@pytest.mark.turns(4)
def test_mean_absolute_error_over_the_twelve_cells() -> None:
    """Above the aim of 14.7 %, which the paper needed the measured delays for; without them it
    would have 24.9 %.
    """
    ours = error([share(*cell) for cell in CELLS])
    without = error(
        [100 * without_measured_delay(*cell) / column(*cell)["measured_total"] for cell in CELLS]
    )
    assert ours == pytest.approx(15.4, abs=0.4)
    assert without == pytest.approx(24.9, abs=0.05)
    assert PAPER["mean_absolute_error_percent"] < ours < without


@pytest.mark.turns(4)
def test_without_variation_the_error_is_larger() -> None:
    """Eight processors in step: the assumption of a few percent matters by being made, not by
    its size.
    """
    shares = [
        100 * fault_time(simulated(*cell, 0.0)) / column(*cell)["measured_total"] for cell in CELLS
    ]
    assert error(shares) == pytest.approx(17.3, abs=0.1)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_exchange_among_eight_is_predicted_better_than_the_paper_did(network: str) -> None:
    cell = (5, network, "II")
    assert abs(100 - share(*cell)) < 0.75 * abs(100 - column(*cell)["share"])


def test_exchanges_have_a_third_of_the_papers_error() -> None:
    ours = error([share(*cell) for cell in EXCHANGES])
    papers = error([column(*cell)["share"] for cell in EXCHANGES])
    assert 3 * ours < papers + 0.5
    assert ours == pytest.approx(6.6, abs=0.9)


@pytest.mark.parametrize(("table", "network", "phase"), ALONE)
def test_one_asker_is_the_closed_form_with_the_delay_of_an_idle_destination(
    table: int, network: str, phase: str
) -> None:
    """The pipeline's law takes sends and receives as two servers; they are one, so the closed
    form is a lower bound.
    """
    ours, law = (
        fault_time(simulated(table, network, phase)),
        without_measured_delay(table, network, phase),
    )
    assert law * (1 - 1e-9) <= ours <= law * 1.02
    if (table, network, phase) == (5, "atm", "I"):
        # Six sends are not over when the first reply is there.
        assert ours > law * 1.015
    elif (table, phase) != (5, "I"):
        assert ours == pytest.approx(law, rel=2e-3)


@pytest.mark.parametrize("network", NETWORKS)
def test_one_asker_of_one_other_is_the_page_fault_of_table_3(network: str) -> None:
    printed = PAPER["table_3"][network]
    model = PHASE.on(
        machine(network),
        processors=2,
        request=PAPER["platform"]["request"]["page_fault"],
        reply=PAPER["platform"]["reply"]["page_fault"],
        receive_call=printed["call"] * US,
        remote_compute=printed["remote_compute"] * US,
        dispatch=inputs(4, network, "I")["dispatch"],
    )
    expected = solve(page_fault(network))["time"]
    assert solve(model)["time"] == pytest.approx(expected, rel=1e-12)
    assert simulation.solve(model)["time"] == pytest.approx(expected, rel=1e-9)


@every_cell
def test_the_account_adds_up(table: int, network: str, phase: str) -> None:
    answer = simulated(table, network, phase)
    assert math.fsum(answer.account.values()) == pytest.approx(answer["time"], rel=1e-9)
    assert math.fsum(answer.steps.values()) == pytest.approx(answer["time"], rel=1e-9)


@pytest.mark.parametrize(("table", "network", "phase"), EXCHANGES)
def test_the_processor_is_never_busier_than_always(table: int, network: str, phase: str) -> None:
    """Work conservation: in a cycle each processor serves as many requests as it makes."""
    given = inputs(table, network, phase)
    once = simulated(table, network, phase).once
    work = (given["processors"] - 1) * (once["send"] + once["serve"] + once["receive"]) + once[
        "compute"
    ]
    time, use = (
        simulated(table, network, phase)["time"],
        simulated(table, network, phase)["utilization[own]"],
    )
    assert time is not None
    assert use is not None
    assert work <= time * 1.01
    assert use == pytest.approx(work / time, rel=0.01)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("table", "network", "phase"), EXCHANGES)
def test_the_assumed_variation_decides_little(table: int, network: str, phase: str) -> None:
    base = fault_time(simulated(table, network, phase))
    assert fault_time(simulated(table, network, phase, 0.1)) == pytest.approx(base, rel=0.03)


def test_in_step_without_any_variation_eight_processors_do_all_work_within_the_fault() -> None:
    answer = simulated(5, "atm", "II", 0.0)
    once = answer.once
    work = 6 * (once["send"] + once["serve"] + once["receive"]) + once["compute"]
    assert fault_time(answer) * US == pytest.approx(work, rel=1e-3)


def test_more_askers_wait_longer() -> None:
    given = inputs(5, "fast-ethernet", "II")
    models = [
        PHASE.on(machine("fast-ethernet"), **{**given, "askers": askers}) for askers in (1, 4, 7)
    ]
    one, four, seven = (simulation.solve(model)["time"] or 0.0 for model in models)
    assert one < four < seven
    assert seven > 2 * one


@pytest.mark.parametrize("network", NETWORKS)
def test_large_replies_queue_for_the_medium_or_the_link(network: str) -> None:
    """With software for nothing the wire is what is left: seven frames, one at a time."""
    given = {
        **inputs(5, network, "III"),
        "reply": 65536.0,
        "send_call": 0.0,
        "receive_call": 0.0,
        "compute": 0.0,
    }
    fast = machine(network).speed
    assert isinstance(fast, Parameter)
    answer = simulation.solve(PHASE.on(machine(network), **given), {fast.name: 1e6})
    table = PAPER["table_2"][network]
    frame = table["wire_per_byte"] * (65536 + table["wire_added"])
    assert fault_time(answer) == pytest.approx(7 * frame, rel=0.01)
    assert fault_time(answer) > 7 * frame


HELD = {"fast-ethernet": {4: 0.3, 5: -0.2}, "atm": {4: -5.5, 5: -7.6}}
"""Errors [percent] of phase III, given the measured delays, if wire and receive do not overlap;
those of the paper are -15.4 to -26.8."""


@pytest.mark.parametrize("network", NETWORKS)
def test_replies_that_hold_the_source_explain_the_rest_of_phase_three(network: str) -> None:
    measured = {4: {"fast-ethernet": 4268, "atm": 4273}, 5: {"fast-ethernet": 8661, "atm": 7699}}
    for table, wanted in HELD[network].items():
        given = inputs(table, network, "III") | {
            "dispatch": column(table, network, "III")["remote_delay"] * US
        }
        held = fault_time(solve(PHASE.on(machine(network), **given, held=1.0), method="simulation"))
        assert 100 * (held / measured[table][network] - 1) == pytest.approx(wanted, abs=0.1)


@pytest.mark.parametrize("network", NETWORKS)
def test_one_reply_takes_as_long_whether_it_holds_the_source_or_not(network: str) -> None:
    given = inputs(4, network, "III") | {"processors": 2}
    free, held = (
        solve(PHASE.on(machine(network), **given, held=each))["time"] for each in (0.0, 1.0)
    )
    assert held == pytest.approx(free, rel=1e-9)


def test_impossible_phases_are_refused() -> None:
    with pytest.raises(
        ModelError, match=r"^dvsm/diff-phase has 5 askers among 4 processors; let there be fewer$"
    ):
        PHASE.on(machine("atm"), processors=4, askers=5)
    with pytest.raises(
        ModelError, match=r"^variation shapes the model: write a number, not 2 \* spread$"
    ):
        PHASE.on(machine("atm"), variation=2 * Parameter("spread", COUNT, 0.1))
    with pytest.raises(ModelError, match=r"^dispatch must be one value, not a list of 2$"):
        PHASE.on(machine("atm"), dispatch=(Parameter("a", COUNT, 0.1), Parameter("b", COUNT, 0.1)))


def test_phases_are_built_from_the_machine_alone_when_nothing_is_given() -> None:
    answer = simulation.solve(phase_model(4, "atm", "I"))
    assert answer["time[idle]"] == pytest.approx(1e-3)
    assert PHASE.on(machine("atm")).population.first.name == "asker"  # type: ignore[union-attr]
