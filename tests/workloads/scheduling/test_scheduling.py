"""Static and dynamic scheduling: counted accesses against those of simulated runs, and what the
size of groups does to the time.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from slipstick import Simulation, solve
from slipstick.answer import Answer
from slipstick.errors import ModelError
from slipstick.method.simulation.flatten import timeline
from slipstick_measure.traces.trace import ProgramTrace, trace_of_timeline
from slipstick_measure.traces.views import access_matrix
from slipstick_workloads.scheduling.matching import (
    MATCHING,
    WORD_LETTERS,
    comparisons_by_task,
    random_sequence,
    word_links,
)
from slipstick_workloads.scheduling.newton import BLOCKS, accesses_by_processor, count_iterations
from tests.specs import shared_machine

GP1000, TC2000 = shared_machine("bbn-gp1000"), shared_machine("bbn-tc2000")
PLAIN = Simulation(kernel="plain")
SMALL: dict[str, float | str] = {"blocks": 5, "variables": 4, "data": 6, "iterations": 3}


def answer(**given: float | str) -> Answer:
    return solve(BLOCKS.on(GP1000, **SMALL | given), method="simulation", simulation=PLAIN)


def run(**given: float | str) -> ProgramTrace:
    return trace_of_timeline(timeline(BLOCKS.on(GP1000, **SMALL | given)), "blocks")


def test_the_blocks_converge_as_newton_does_and_change_moves_on_by_a_block() -> None:
    assert count_iterations(1, 30, 0.5, 1) <= 6
    # Without coupling blocks do not wait for each other; with it, the last takes longer the more
    # there are.
    assert count_iterations(14, 30, 0.0, 1) <= 6
    counts = [count_iterations(blocks, 30, 8.0, 1) for blocks in (2, 6, 14)]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("reads", ["all", "one"])
def test_static_reads_are_a_band_and_counted_as_the_simulation_makes_them(reads: str) -> None:
    trace = run(reads=reads)
    each = [4 * (block if reads == "all" else 1) * 3 for block in range(1, 5)]
    found = np.zeros((5, 4))
    found[range(1, 5), range(4)] = each
    assert access_matrix(trace).tolist() == found.tolist()
    values = answer(reads=reads)
    assert values["accesses[remote]"] == values["accesses[neighbour]"] == sum(each)
    assert values["accesses[local]"] == 3 * 5 * (6 + 4 + 4)


def test_dynamic_accesses_are_counted_as_the_simulation_makes_them() -> None:
    counts, values = access_matrix(run(scheduling="dynamic")), answer(scheduling="dynamic")
    assert counts.sum() == values["accesses[remote]"]
    assert np.trace(counts) == 0
    assert np.trace(counts, -1) == values["accesses[neighbour]"]


def test_blocks_that_are_taken_at_random_are_read_from_everywhere_alike() -> None:
    random, count, found = np.random.default_rng(3), 8, Counter[tuple[int, int]]()
    for _ in range(400):
        for line in accesses_by_processor(
            random.permutation(count).tolist(), variables=1, data_words=0, reads_all_blocks=False
        ):
            found[line[0].processor, line[0].module] += 1
    expected = 400 / count
    squares = sum(
        (found[p, m] - expected) ** 2 / expected for p in range(count) for m in range(count)
    )
    assert squares < chi2.ppf(0.999, (count - 1) ** 2)


@pytest.mark.turns(4)
@pytest.mark.parametrize("hop", ["1 ns", "0.25 us", "10 us"])
def test_static_scheduling_is_faster_whatever_a_remote_access_costs(hop: str) -> None:
    given = {**SMALL, "inside": "0 us", "machine.interconnect.hop": hop}
    static, dynamic = (
        solve(
            "newton/blocks",
            {**given, "scheduling": each},
            machine="bbn-gp1000",
            method="simulation",
        )["time"]
        for each in ("static", "dynamic")
    )
    assert 0 < (static or 0) < (dynamic or 0)


def test_blocks_need_modules_of_their_own() -> None:
    with pytest.raises(
        ModelError,
        match=(
            "the memory modules of sequent-symmetry-s81 belong to no processor; newton/blocks "
            "runs on switches"
        ),
    ):
        BLOCKS.on(shared_machine("sequent-symmetry-s81"))
    with pytest.raises(
        ModelError, match="has 32 memory modules; newton/blocks needs one for each of 40 blocks"
    ):
        BLOCKS.on(TC2000, blocks=40)


def test_core_blocks_are_those_of_a_search_of_all_pairs() -> None:
    text = random_sequence(600, 0.6, 2)
    words = [text[at : at + WORD_LETTERS] for at in range(len(text) - WORD_LETTERS + 1)]
    expected = [
        (a, b) for b in range(len(words)) for a in range(b - 1, -1, -1) if words[a] == words[b]
    ]
    nearest = {b: a for a, b in reversed(expected)}
    assert list(word_links(text)) == sorted(
        ((a, b) for b, a in nearest.items()), key=lambda pair: pair[1]
    )
    assert len(comparisons_by_task(600, 0.6, 2)) < len(
        nearest
    )  # a core block is begun once, by the first of its words


def test_groups_have_a_best_size_and_their_accesses_are_counted() -> None:
    def at(group: float) -> Answer:
        return solve(
            MATCHING.on(TC2000, letters=8000, group=group), method="simulation", simulation=PLAIN
        )

    times = [at(group)["time"] or 0 for group in (1, 8, 60)]
    assert times[1] < min(times[0], times[2])
    trace = trace_of_timeline(
        timeline(MATCHING.on(TC2000, letters=2000, group=4), events=10**6), "matching"
    )
    count = MATCHING.on(TC2000, letters=2000, group=4).counted["accesses"]
    assert (trace.objects, float(access_matrix(trace).sum())) == (("queue",), count)


def test_shares_end_with_the_longest() -> None:
    work = comparisons_by_task(8000, 0.5, 1)
    found = solve(MATCHING.on(TC2000, letters=8000, scheduling="static", processors=4))
    share = -(-len(work) // 4)
    longest = max(sum(work[k * share : (k + 1) * share]) for k in range(4))
    assert found["time"] == pytest.approx(longest * 1e-6)
    with pytest.raises(
        ModelError, match="no word repeats in a sequence of 100 letters; give more letters"
    ):
        MATCHING.on(TC2000, letters=100, repeated=0.0)


def test_a_monitor_adds_its_time_to_each_access_of_a_processor() -> None:
    """In each of three iterations a block reads its data and variables, the variables of those
    before it, and writes its own: 14 words and four for each block before it.
    """
    plain, recorded = (answer(recording=time) for time in (0.0, 1e-3))
    words = [6 + 4 + 4 * block + 4 for block in range(5)]
    assert recorded.account["monitor"] == pytest.approx(3e-3 * sum(words) / 5)
    assert recorded["time"] == pytest.approx((plain["time"] or 0) + 3e-3 * max(words), rel=0.02)
