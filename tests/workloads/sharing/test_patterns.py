"""What is particular to each program: its counts worked out by hand, or by brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from slipstick.errors import ModelError
from slipstick_workloads.counts import CountedPhase, Counts
from slipstick_workloads.release_consistency.accesses import Write
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.run import run
from slipstick_workloads.sharing.barnes import barnes
from slipstick_workloads.sharing.integer_sort import integer_sort
from slipstick_workloads.sharing.layout import items_of_processor
from slipstick_workloads.sharing.raytrace import raytrace
from slipstick_workloads.sharing.sor import sor
from slipstick_workloads.sharing.sphere import sphere
from slipstick_workloads.sharing.water import _places_by_step, water

PAGE = 4096


def faults(phase: CountedPhase) -> list[int]:
    return [tally.total("faults") for tally in phase.tallies]


def test_sor_exchanges_the_rows_at_borders_and_nothing_else() -> None:
    """Rows of one page each: a processor needs one row of each neighbour, of one colour, in each
    half sweep.
    """
    counts = run(sor(processors=4, rows=64, columns=1024, iterations=4))
    for phase in counts.phases[3:]:
        assert faults(phase) == [
            1,
            2,
            2,
            1,
        ], "each neighbour's row, after the first sweep fetched it whole"
        assert {size for tally in phase.tallies for _, size in tally.faults} == {12 + 4 + PAGE}
    assert counts.total("empty") == 2 * 2 * 3, "two colours, both sides of three borders"
    assert counts.total("work") == 4 * 2 * 62 * 512


def test_sor_has_two_writers_on_a_page_where_rows_do_not_end_at_pages() -> None:
    counts = run(sor(processors=2, rows=20, columns=250, iterations=4))
    after = counts.phases[3:]
    assert all(tally.total("faults") == 1 for phase in after for tally in phase.tallies)
    assert all(
        size < PAGE for phase in after for tally in phase.tallies for _, size in tally.faults
    )


def test_is_takes_the_lock_once_for_each_processor_and_iteration() -> None:
    processors, iterations = 4, 5
    counts = run(integer_sort(processors, keys=2**14, iterations=iterations)).without("start-up")
    for phase in counts.phases:
        counted = phase.name == "count"
        assert [tally.total("acquisitions") for tally in phase.tallies] == [
            int(counted)
        ] * processors
    assert counts.total("waits") == iterations * (processors - 1), "all come at once"
    ranks = [phase for phase in counts.phases if phase.name == "rank"]
    assert all(sorted(faults(phase)) == [0, 1, 1, 1] for phase in ranks), "all but the last writer"


@pytest.mark.parametrize("unequal", [0.0, 0.1, 0.4, 0.8, 1.4])
def test_processors_of_is_that_count_unequally_fast_wait_for_fewer_at_the_lock(
    unequal: float,
) -> None:
    """The queue of one count phase against its recursion, written apart."""
    processors, keys, message = 8, 2**17, 500.0
    program = integer_sort(processors, keys, iterations=2, message=message, unequal=unequal)
    _, count = (phase for phase in run(program).phases if phase.name == "count")
    tallies = count.tallies
    works = [keys / processors * (1 + unequal * (me / 7 - 0.5)) for me in range(processors)]
    mean = (sum(tally.work for tally in tallies) - keys) / processors
    assert 0 <= mean <= 600, "the buckets that are added up, beside equal work in all"
    # The lock is taken from its request on, which two messages bring to its holder and one answers;
    # a fault takes two. One that waited gets the lock by one message.
    freed, behind = 0.0, 0
    for arrival in works:
        waits = freed > arrival
        behind += waits
        freed = (freed + 3 * message if waits else arrival + 5 * message) + mean
    assert sum(tally.waits for tally in tallies) == pytest.approx(behind, abs=1)


def test_is_changes_only_the_buckets_that_its_keys_hit() -> None:
    few, many = (run(integer_sort(4, keys=keys, iterations=2)) for keys in (64, 2**16))
    sizes = [
        max(size for p in c.phases for t in p.tallies for _, size in t.faults) for c in (few, many)
    ]
    assert sizes[0] < sizes[1] <= 4 * (12 + 4 * 2**9 + 4 * 2**8), (
        "at most all buckets of four diffs"
    )


@pytest.mark.turns(4)
def test_barnes_alternates_between_processor_0_and_the_others() -> None:
    counts = run(barnes(processors=4, bodies=1024, steps=3, scattered=True)).without("start-up")
    by_name = {
        name: [each for each in counts.phases if each.name == name][1:]
        for name in ("tree", "forces")
    }
    for phase in by_name["tree"]:
        first, *others = faults(phase)
        assert first > 20
        assert others == [0, 0, 0]
    for phase in by_name["forces"]:
        first, *others = faults(phase)
        assert first == 0, "it read all bodies and wrote all cells before"
        assert min(others) > 30
    for phase in by_name["forces"]:
        done = [tally.work for tally in phase.tallies]
        assert max(done) < 1.1 * min(done), "zones of equal cost"


@pytest.mark.turns(4)
def test_barnes_asks_fewer_if_bodies_lie_in_the_tree_s_order() -> None:
    scattered, ordered = (
        run(barnes(4, bodies=1024, steps=2, scattered=each)) for each in (True, False)
    )
    means = []
    for counts in (scattered, ordered):
        parts = counts.faults_by_parts()
        means.append(
            sum(each * number for each, (number, _) in parts.items()) / counts.total("faults")
        )
    assert means[0] > 1.5 * means[1]


@pytest.mark.turns(4)
def test_diffs_of_barnes_shrink_with_the_steps_unless_bodies_are_sorted_again() -> None:
    def mean_size(steps: int, sorted_again: bool) -> float:
        """Return the mean size of a message that carries diffs [B]."""
        counts = run(barnes(4, bodies=1024, steps=steps, sorted_again=sorted_again))
        received = [
            (tally.received.get("diffs", (0, 0)), phase.repeat)
            for phase in counts.without("start-up").phases
            for tally in phase.tallies
        ]
        return sum(size * repeat for (_, size), repeat in received) / sum(
            number * repeat for (number, _), repeat in received
        )

    assert mean_size(8, sorted_again=False) < 0.75 * mean_size(2, sorted_again=False)
    assert mean_size(8, sorted_again=True) == pytest.approx(mean_size(2, True), rel=0.1)


def test_water_computes_each_near_pair_once_and_locks_each_molecule_of_it() -> None:
    molecules, processors = 40, 4
    place = _places_by_step(molecules, 1, seed=1)[0]
    apart = np.abs(place[:, None] - place[None])
    near = (np.minimum(apart, 1 - apart) ** 2).sum(axis=2) < 0.25
    pairs = [(i, j) for i in range(molecules) for j in range(i + 1, molecules) if near[i, j]]
    program = water(processors, molecules, steps=1)
    forces = run(program).phases[2]
    assert forces.name == "forces"
    assert sum(tally.work for tally in forces.tallies) == len(pairs)
    for me, tally in enumerate(forces.tallies):
        begin, end = items_of_processor(molecules, processors, me)
        mine = [
            (i, j)
            for i, j in pairs
            if begin <= (i if (j - i) * 2 < molecules or (j - i) * 2 == molecules else j) < end
        ]
        assert tally.work == len(mine)
        assert tally.total("acquisitions") == len({each for pair in mine for each in pair}) + 1


@pytest.mark.turns(4)
def test_water_faults_after_each_grant_where_sections_have_their_own_notices() -> None:
    """A page holds six molecules: its first visit by a processor brings all six where a grant
    carries what its giver knows, and each of their locks brings its own else.
    """
    counts = [
        run(water(4, molecules=240, steps=2), Protocol(grant=grant)).phases[-3]
        for grant in ("known", "before")
    ]
    assert {phase.name for phase in counts} == {"forces"}
    remote = [
        sum(
            number for tally in phase.tallies for hops, number in tally.acquisitions.items() if hops
        )
        for phase in counts
    ]
    assert remote[0] == pytest.approx(remote[1], rel=0.05)
    ratios = [sum(faults(phase)) / number for phase, number in zip(counts, remote, strict=True)]
    assert ratios[0] < 0.4
    assert 0.7 < ratios[1] < 1.2, "as many faults as locks that come from another processor"


def test_sphere_filters_no_row_at_90_degrees_and_more_from_45() -> None:
    rows = {}
    for filtered in (45, 60, 90):
        counts = run(sphere(4, pitch=12, steps=1, sweeps=2, filtered=filtered))
        last = [phase for phase in counts.phases if phase.name == "filter"]
        rows[filtered] = sum(
            tally.total("acquisitions") for phase in last for tally in phase.tallies
        )
    assert rows == {
        filtered: sum(abs(90 - 90 * row / 12) > filtered for row in range(25)) for filtered in rows
    }
    assert rows[90] == 0 < rows[60] < rows[45]


def test_sphere_locks_every_row_of_its_band_and_sends_few() -> None:
    processors, pitch, steps, sweeps = 4, 18, 2, 3
    counts = run(sphere(processors, pitch, steps, sweeps, locks=5)).without("start-up")
    rows, polar = (
        2 * pitch + 1,
        sum(abs(90 - 90 * row / pitch) > 60 for row in range(2 * pitch + 1)),
    )
    assert polar == 12
    assert counts.total("acquisitions") == steps * (sweeps * (rows + processors - 1) + polar)
    late = Counts("late", processors, PAGE, "cells", counts.phases[sweeps + 1 :])
    assert late.total("empty") == 0, "what is read only is fetched once"
    remote = sum(number for hops, number in acquisitions(late).items() if hops)
    assert remote > 0.8 * late.total("acquisitions"), "locks stand for many rows, so they travel"
    assert late.total("faults") < 0.5 * remote, "rows do not"


def acquisitions(counts: Counts) -> Counter[int]:
    found: Counter[int] = Counter()
    for phase in counts.phases:
        for tally in phase.tallies:
            found.update(tally.acquisitions)
    return found


@pytest.mark.turns(4)
def test_raytrace_writes_every_pixel_once_and_steals_what_it_must() -> None:
    program = raytrace(processors=4, image=64, generations=3)
    written: Counter[tuple[int, int]] = Counter()
    bodies = [program.body(me) for me in range(4)]
    for body in bodies:
        writes = [each for each in body if isinstance(each, Write)]
        pixels = [each for each in writes if sum(words.bit_count() for words in each.words) == 32]
        written.update(
            (page, words)
            for each in pixels
            for page, words in zip(each.pages.tolist(), each.words, strict=True)
        )
    assert sum(words.bit_count() for _, words in written) == 64 * 64
    assert set(written.values()) == {1}
    render = run(program).phases[1]
    own = [sum(job_tests) for job_tests in _own_work(program.processors)]
    done = [tally.work for tally in render.tallies]
    assert sum(done) == sum(own)
    assert max(own) > 1.3 * min(own)
    assert max(done) < 1.1 * min(done)


def _own_work(processors: int) -> list[list[int]]:
    """Return the work of each rectangle, found by tracing it alone."""
    from slipstick_workloads.sharing.raytrace import Balls, pixels

    tests = Balls(3).trace(pixels(64, 64)).test_counts.reshape(64, 64)
    assert processors == 4
    return [tests[y : y + 32, x : x + 32].ravel().tolist() for y in (0, 32) for x in (0, 32)]


def test_an_image_too_small_for_its_processors_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        raytrace(processors=8, image=2, generations=1)
    assert (
        str(caught.value)
        == "an image of 2 x 2 pixels has too few pixels for jobs of 16 x 2 on 4 x 2 processors"
    )
