"""The protocol's own examples: the paper's appendix, locks by way of their manager, false
sharing, collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pytest
from hypothesis import given

from slipstick_workloads.counts import Counts
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Compute,
    Read,
    Release,
    SharedProgram,
    Write,
)
from slipstick_workloads.release_consistency.protocol import Protocol, Sizes
from slipstick_workloads.release_consistency.run import run
from tests.workloads.release_consistency.oracle import Checked, Small
from tests.workloads.release_consistency.programs import protocols, small_programs

PAGE = np.array([0])
VALID = Protocol(start="valid")


def read() -> Read:
    return Read(PAGE)


def write(*words: int) -> Write:
    return Write(PAGE, [sum(1 << word for word in words)])


def locked(lock: int, *accesses: Access) -> list[Access]:
    return [Acquire(lock), *accesses, Release(lock)]


def counted(protocol: Protocol, *bodies: Sequence[Access]) -> Counts:
    def body(me: int) -> Iterator[Access]:
        yield from bodies[me]

    return run(SharedProgram("example", len(bodies), 1, body), protocol)


def appendix(protocol: Protocol) -> Counts:
    """Processors 0 and 2 write one page under two locks; then 1 acquires both and reads."""
    reader: list[Access] = [Compute(1), *locked(0), *locked(2), read()]
    return counted(protocol, locked(0, write(0)), reader, locked(2, write(9)))


def test_the_appendix_asks_two_writers_for_their_diffs() -> None:
    counts = appendix(VALID)
    first, reader, third = counts.phases[0].tallies
    assert (first.twins, third.twins, reader.twins) == (1, 1, 0)
    assert (first.write_faults, third.write_faults) == (1, 1)
    assert (reader.notices, reader.invalidated) == (2, 1)
    assert reader.faults == {(2, 2 * 20): 1}
    assert (first.served_diffs, third.served_diffs) == (1, 1)
    assert reader.acquisitions == {1: 2}
    assert reader.sent == {"lock request": (2, 48), "request": (2, 24)}


def test_notices_of_a_lazy_release_wait_for_the_next_acquire() -> None:
    bodies: list[list[Access]] = [locked(0, write(0)), [read(), Compute(1), read()]]
    lazy, eager = (
        counted(VALID, *bodies),
        counted(Protocol(start="valid", release="eager"), *bodies),
    )
    assert (lazy.total("invalidated"), lazy.total("faults"), lazy.total("sent")) == (0, 0, 0)
    assert (eager.total("invalidated"), eager.total("faults")) == (1, 1)
    assert eager.phases[0].tallies[0].sent["notices"][0] == 1
    assert eager.phases[0].tallies[1].sent["acknowledgement"] == (1, 4)


@pytest.mark.parametrize(
    ("asker", "holder", "hops"), [(0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 2, 2), (2, 1, 2)]
)
def test_a_lock_is_found_by_way_of_its_manager(asker: int, holder: int, hops: int) -> None:
    bodies: list[list[Access]] = [[], [], []]
    bodies[holder] += locked(0)
    bodies[asker] += [Compute(1), *locked(0)]
    tally = counted(VALID, *bodies).phases[0].tallies[asker]
    before = Counter({0 if holder == 0 else 1: 1} if asker == holder else {})
    assert tally.acquisitions == before + Counter({hops: 1})
    requests = sum(hop * number for hop, number in tally.acquisitions.items())
    asked = counted(VALID, *bodies)
    assert sum(
        each.sent.get("lock request", (0, 0))[0] for each in asked.phases[0].tallies
    ) == requests + (1 if asker != holder != 0 else 0)


def test_who_finds_the_lock_taken_waits_and_is_granted_it_in_turn() -> None:
    slow: list[Access] = [Acquire(0), Compute(5), Release(0)]
    others: list[Access] = [Compute(1), *locked(0)]
    tallies = counted(VALID, slow, others, others).phases[0].tallies
    assert [each.waits for each in tallies] == [0, 1, 1]
    assert [each.granted for each in tallies] == [1, 1, 0]
    assert tallies[2].acquisitions == {2: 1}, (
        "the manager forwards to who asked last, not to who holds it"
    )


def test_two_writers_of_one_page_exchange_diffs_or_the_page() -> None:
    bodies = [
        [
            phase
            for _ in range(3)
            for phase in (write(me), Compute(1), write(me), Arrive("step"), read())
        ]
        for me in range(2)
    ]
    many, single = (
        counted(VALID, *bodies),
        counted(Protocol(start="valid", writers="single"), *bodies),
    )
    assert many.faults_by_parts() == {1: (6, 6 * 20)}
    assert many.total("twins") == 6
    assert single.total("twins") == single.total("diffs_made") == 0
    assert single.faults_by_parts()[1][0] > 6, "the page goes to and fro"
    assert single.bytes_sent() > 10 * many.bytes_sent()


def test_the_diffs_of_two_intervals_come_in_one_message() -> None:
    """As in Barnes, where a step writes its bodies in two intervals, and others read them after
    both: the diff is made when it is asked for, so one fault brings the words of both.
    """
    far, near = range(0, 20, 2), range(1, 21, 2)
    writer: list[Access] = [
        write(*far),
        Arrive("forces"),
        Compute(9),
        write(*near),
        Arrive("places"),
    ]
    readers: list[list[Access]] = [
        [Arrive("forces"), Arrive("places"), read()],
        [Arrive("forces"), read(), Arrive("places"), read()],
    ]
    at_once, between = (counted(VALID, writer, reader).phases for reader in readers)
    one, both = (Sizes().diff_size(sum(1 << word for word in words)) for words in (far, range(20)))
    faults = [
        sum((phase.tallies[1].faults for phase in run), Counter()) for run in (at_once, between)
    ]
    assert faults == [{(1, both): 1}, {(1, one): 2}]
    replies = [
        sum(phase.tallies[0].sent.get("diffs", (0, 0))[0] for phase in run)
        for run in (at_once, between)
    ]
    assert replies == [1, 2]


def test_the_latest_writer_passes_on_what_it_holds() -> None:
    chain: list[list[Access]] = [[Compute(1 + me), *locked(0, read(), write(3))] for me in range(4)]
    latest, every = counted(VALID, *chain), counted(Protocol(start="valid", ask="every"), *chain)
    assert every.faults_by_parts() == {1: (1, 20), 2: (1, 40), 3: (1, 60)}
    assert latest.faults_by_parts() == {1: (3, 120)}


@pytest.mark.parametrize(
    ("grant", "write_faults", "diffs", "faults"),
    [("known", 1, 1, {(1, 12 + 4 + 4 * 6): 1}), ("before", 6, 6, {(1, 20): 6})],
)
def test_locks_whose_words_share_a_page_invalidate_it_once_or_each_time(
    grant: Literal["known", "before"],
    write_faults: int,
    diffs: int,
    faults: dict[tuple[int, int], int],
) -> None:
    """Six words of a page have a lock each: the first processor writes them in turn, then the
    second. A lock that brings all that its giver knows brings all six at once.
    """
    first = [step for word in range(6) for step in locked(word, write(word))]
    second: list[Access] = [
        Compute(1),
        *(step for word in range(6) for step in locked(word, read())),
    ]
    counts = counted(Protocol(start="valid", grant=grant), first, second)
    writer, reader = counts.phases[0].tallies
    assert (writer.write_faults, writer.diffs_made, writer.twins) == (write_faults, diffs, diffs)
    assert reader.faults == faults
    assert reader.notices == reader.invalidated == len(faults) * sum(faults.values())


@pytest.mark.parametrize("grant", ["known", "before"])
def test_the_appendix_is_the_same_whatever_a_grant_brings(
    grant: Literal["known", "before"],
) -> None:
    """Each of its processors writes once before its lock is requested."""
    assert appendix(Protocol(start="valid", grant=grant)) == appendix(VALID)


def test_a_page_is_fetched_once_and_costs_its_first_owner_nothing() -> None:
    counts = counted(
        Protocol(), [write(0), write(1), Arrive("start")], [Arrive("start"), read(), read()]
    )
    assert (counts.total("empty"), counts.total("twins"), counts.total("notices")) == (1, 0, 0)
    assert counts.phases[1].tallies[0].sent == {"page": (1, 4096)}


def test_garbage_is_collected_by_everybody_and_costs_faults() -> None:
    bodies: list[list[Access]] = [
        [write(me), Arrive("a"), write(2 + me), Arrive("b"), read(), Arrive("c")] for me in range(2)
    ]
    kept, dropped = (
        counted(VALID, *bodies),
        counted(Protocol(start="valid", collect_above=1), *bodies),
    )
    assert (kept.total("collections"), kept.total("collected")) == (0, 0)
    assert dropped.total("collections") == 4, "two barriers with something to drop, two processors"
    assert (dropped.total("collected"), dropped.total("faults")) == (4, 0)


def test_the_paper_s_diff_of_one_word_has_20_bytes() -> None:
    sizes = Sizes()
    assert sizes.diff_size(1 << 700) == 20
    assert abs(sizes.diff_size((1 << 1024) - 1) - 4120) <= 8, "as Tables 4 and 5 have it"


def messages(counts: Counts, side: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for phase in counts.phases:
        for tally in phase.tallies:
            for kind, (number, size) in getattr(tally, side).items():
                found.update({f"{kind} number": number, f"{kind} bytes": size})
    return found


@pytest.mark.turns(4)
@given(small_programs(), protocols())
def test_what_is_sent_is_received_and_served(small: Small, protocol: Protocol) -> None:
    checked = Checked(small)
    counts = run(checked.program(), protocol)
    sent = messages(counts, "sent")
    assert sent == messages(counts, "received")
    parts = sum(
        parts * number
        for name in ("faults", "collected")
        for parts, (number, _) in counts.faults_by_parts(name).items()
    )
    served = counts.total("served_diffs") + counts.total("served_pages")
    assert served == parts + counts.total("empty") == sent["request number"]
    assert sent["lock reply number"] == counts.total("granted")
    hops = sum(
        hop * number
        for phase in counts.phases
        for each in phase.tallies
        for hop, number in each.acquisitions.items()
    )
    assert sent["lock request number"] == hops
    assert (
        sent["arrive number"] == sent["leave number"] == len(small.phases) * (small.processors - 1)
    )
    assert counts.total("diffs_made") <= counts.total("twins")
    assert Counts.from_dict(counts.to_dict()) == counts
    assert counts == run(Checked(small).program(), protocol), "the same program, the same counts"
