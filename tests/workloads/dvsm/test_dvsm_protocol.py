"""The protocol as processes: against trees and closed forms, and by what no run may break."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache
from typing import Any

import pytest

from slipstick.errors import ModelError
from tests.closed_form import solve
from tests.contention import (
    ALONE,
    CELLS,
    DISPATCH,
    EXCHANGES,
    column,
    fault_time,
    inputs,
    simulated,
)
from tests.paper import NETWORKS, PAPER, US, lock, machine
from tests.workloads.dvsm.reference_protocol import Requests, diff_phase, lock_phase

FAULTS = 150

every_cell = pytest.mark.parametrize(("table", "network", "phase"), CELLS)


@cache
def phase_run(table: int, network: str, phase: str, variation: float = 0.05) -> Requests:
    return diff_phase(machine(network), faults=FAULTS, **inputs(table, network, phase, variation))


def locks(network: str, parties: int, **more: Any) -> Requests:
    """Acquire a lock of Table 6, the delay at each hop being that of Table 3."""
    printed, hops = PAPER["table_6"][network][parties], parties - 1
    return lock_phase(
        machine(network),
        parties=parties,
        request=PAPER["platform"]["request"]["lock"],
        reply=PAPER["platform"]["reply"]["lock"],
        call=printed["call"] * US,
        compute=printed["compute"] * US,
        remote_compute=printed["remote_compute"] / hops * US,
        remote_delay=DISPATCH[network] * US,
        **more,
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(("table", "network", "phase"), ALONE)
def test_one_asker_takes_as_long_as_the_tree_says(table: int, network: str, phase: str) -> None:
    run = phase_run(table, network, phase)
    assert run.time / US == pytest.approx(fault_time(simulated(table, network, phase)), rel=1e-3)
    assert run.delays == pytest.approx([DISPATCH[network] * US] * len(run.delays))


@pytest.mark.turns(7)
@pytest.mark.parametrize(("table", "network", "phase"), EXCHANGES)
def test_an_exchange_takes_as_long_as_the_tree_says(table: int, network: str, phase: str) -> None:
    in_step = phase_run(table, network, phase, 0.0)
    assert in_step.time / US == pytest.approx(
        fault_time(simulated(table, network, phase, 0.0)), rel=5e-3
    )
    assert phase_run(table, network, phase).time / US == pytest.approx(
        fault_time(simulated(table, network, phase)), rel=0.03
    )


@pytest.mark.turns(6)
@pytest.mark.parametrize(("table", "network", "phase"), EXCHANGES)
def test_the_delay_of_an_exchange_is_predicted(table: int, network: str, phase: str) -> None:
    """Between 70 and 105 % of the measured delay, which the paper had to be given; 8 to 22 % are
    the dispatch.
    """
    measured = column(table, network, phase)["remote_delay"]
    predicted = phase_run(table, network, phase).delay / US
    assert 0.7 * measured < predicted < 1.05 * measured
    assert DISPATCH[network] < 0.25 * measured


@pytest.mark.turns(6)
@every_cell
def test_no_message_is_lost(table: int, network: str, phase: str) -> None:
    run, given = phase_run(table, network, phase), inputs(table, network, phase)
    requests = int(given["askers"] * (given["processors"] - 1)) * FAULTS
    assert run.sent == run.received == 2 * requests
    assert len(run.delays) == requests
    assert len(run.times) == given["askers"] * FAULTS


@pytest.mark.turns(4)
@every_cell
def test_littles_law_holds_at_every_processor(table: int, network: str, phase: str) -> None:
    """Mean number present = visits a second x mean stay, exactly, for all who came have left."""
    run = phase_run(table, network, phase)
    for queue, visits in zip(run.queue, run.visits, strict=True):
        assert queue * run.end == pytest.approx(math.fsum(visits), rel=1e-9)


@every_cell
def test_the_accounts_of_askers_add_up(table: int, network: str, phase: str) -> None:
    run = phase_run(table, network, phase)
    ends = [math.fsum(account.values()) for account in run.accounts]
    assert max(ends) == pytest.approx(run.end, rel=1e-9)
    # What a fault does not take is what was served before it began.
    assert math.fsum(run.times) <= math.fsum(ends) * (1 + 1e-9)
    if phase != "II":
        assert math.fsum(run.times) == pytest.approx(run.end, rel=1e-9)


def test_a_seed_is_a_run() -> None:
    given = inputs(4, "atm", "II")
    first, again, other = (
        diff_phase(machine("atm"), faults=5, seed=seed, **given) for seed in (1, 1, 2)
    )
    assert first.times == again.times != other.times


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("parties", [2, 3])
def test_a_lock_that_nobody_else_wants_is_the_closed_form(network: str, parties: int) -> None:
    model = lock(network, parties)
    expected = solve(model, {"remote_delay": DISPATCH[network] * US})["time"]
    run = locks(network, parties)
    assert run.time == pytest.approx(expected, rel=1e-12)
    assert run.sent == run.received == parties
    measured = PAPER["table_6"][network][parties]["measured_total"]
    assert 0.89 < run.time / US / measured < 1.02


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("parties", [2, 3])
def test_locks_are_held_by_one_at_a_time(network: str, parties: int) -> None:
    run = locks(network, parties, askers=5, acquisitions=20, held=300e-6, think=500e-6)
    assert len(run.holds) == 5 * 20
    holds = sorted(run.holds)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(holds))
    assert run.sent == run.received
    assert all(math.fsum(account.values()) <= run.end * (1 + 1e-12) for account in run.accounts)


@pytest.mark.parametrize("parties", [2, 3])
def test_a_contended_lock_waits_for_its_holders(parties: int) -> None:
    """With n askers that do nothing else, each waits for the n - 1 others to have held it."""
    alone = locks("atm", parties).time
    run = locks("atm", parties, askers=4, acquisitions=30, held=5e-3, think=100e-6)
    assert run.time > 3 * 5e-3 > alone
    assert run.time < 4 * (5e-3 + alone)


def test_a_lock_that_is_here_costs_no_message() -> None:
    run = locks("atm", 2, acquisitions=10)
    assert run.sent == 2
    assert Counter(run.times) == Counter({run.times[0]: 1, 0.0: 9})


def test_impossible_phases_are_refused() -> None:
    cluster = machine("atm")
    with pytest.raises(ModelError, match=r"^a phase needs at least one of faults, got 0$"):
        diff_phase(cluster, faults=0)
    with pytest.raises(ModelError, match=r"^a phase needs at least one of acquisitions, got 0$"):
        lock_phase(cluster, acquisitions=0)
    with pytest.raises(
        ModelError,
        match=r"^a lock request passes one manager at most, so there are 2 or 3 parties, got 4$",
    ):
        lock_phase(cluster, parties=4)
    with pytest.raises(ModelError, match=r"^dvsm/lock has no input 'held_by'"):
        lock_phase(cluster, held_by=1.0)
