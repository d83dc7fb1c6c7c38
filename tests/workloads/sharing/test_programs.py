"""What holds for all six programs: no data race, work that does not depend on who does it,
silence of one alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slipstick_workloads import START
from slipstick_workloads.counts import Counts
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Release,
    SharedProgram,
    Write,
)
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.run import run
from tests.workloads.release_consistency.oracle import Clock, Oracle
from tests.workloads.sharing.small import SMALL
from tests.workloads.sharing.table_1 import TABLE_1


class Watched:
    """A program whose writes are compared: two of one word must have a lock or a barrier between
    them.
    """

    def __init__(self, program: SharedProgram) -> None:
        self.program, self.oracle = program, Oracle(program.processors)
        self.last: dict[int, list[tuple[int, Clock, int]]] = {}
        self.races: list[str] = []

    def watched(self) -> SharedProgram:
        old = self.program
        return SharedProgram(
            old.name, old.processors, old.pages, self.body, old.unit, old.word_count
        )

    def body(self, me: int) -> Iterator[Access]:
        oracle, barriers = self.oracle, 0
        for access in self.program.body(me):
            match access:
                case Arrive():
                    oracle.arrives(me, barriers)
                case Release(lock):
                    oracle.releases(me, lock)
                case Write():
                    self.wrote(me, access)
                case _:
                    pass
            yield access
            match access:
                case Arrive():
                    oracle.leaves(me, barriers)
                    barriers += 1
                case Acquire(lock):
                    oracle.acquired(me, lock)
                case _:
                    pass

    def wrote(self, me: int, write: Write) -> None:
        clock = self.oracle.clocks[me]
        clock[me] += 1
        for page, words in zip(write.pages.tolist(), write.words, strict=True):
            kept = []
            for writer, before, theirs in self.last.get(page, []):
                if writer != me and theirs & words and before[writer] > clock[writer]:
                    self.races.append(f"{writer} and {me} write page {page}")
                if theirs & ~words:
                    kept.append((writer, before, theirs & ~words))
            self.last[page] = [*kept, (me, tuple(clock), words)]


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SMALL)
def test_no_two_processors_write_one_word_at_once(name: str) -> None:
    watched = Watched(SMALL[name](4))
    run(watched.watched())
    assert watched.last
    assert watched.races == []


def test_a_race_would_be_noticed() -> None:
    program = SMALL["Water"](4)

    def unlocked(me: int) -> Iterator[Access]:
        return (each for each in program.body(me) if not isinstance(each, Acquire | Release))

    watched = Watched(SharedProgram("unlocked", 4, program.pages, unlocked))
    run(watched.watched())
    assert watched.races


def work(counts: Counts) -> int:
    return counts.total("work")


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", sorted(set(SMALL) - {"IS"}))
def test_the_work_is_the_same_whoever_does_it(name: str) -> None:
    alone, together = run(SMALL[name](1)), run(SMALL[name](4))
    assert work(alone) == work(together) > 0
    assert [each.name for each in alone.phases] == [each.name for each in together.phases]


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SMALL)
def test_one_processor_alone_sends_nothing_and_faults_never(name: str) -> None:
    alone = run(SMALL[name](1))
    silent = ("sent", "faults", "write_faults", "empty", "twins", "invalidated", "notices")
    assert {each: alone.total(each) for each in silent} == dict.fromkeys(silent, 0)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SMALL)
def test_the_same_program_gives_the_same_counts_again(name: str) -> None:
    program = SMALL[name](4)
    assert run(program) == run(program)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SMALL)
def test_several_writers_send_less_than_one_where_pages_are_shared_falsely(name: str) -> None:
    many, single = run(SMALL[name](4)), run(SMALL[name](4), Protocol(writers="single"))
    assert work(many) == work(single)
    assert many.without(START).bytes_sent() < single.without(START).bytes_sent()


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SMALL)
def test_eager_release_sends_no_less_and_locks_as_often(name: str) -> None:
    lazy, eager = run(SMALL[name](4)), run(SMALL[name](4), Protocol(release="eager"))
    assert eager.total("sent") >= lazy.total("sent")
    assert eager.total("acquisitions") == lazy.total("acquisitions")


def test_table_1_names_eight_runs_on_eight_processors() -> None:
    assert len(TABLE_1) == 8
    built = {name: TABLE_1[name]() for name in ("SOR", "Sphere (1)", "Sphere (2)", "Water")}
    assert {each.processors for each in built.values()} == {8}
    assert built["SOR"].pages == 2 * -(-2000 * 4000 // 4096)
    assert built["Sphere (2)"].pages > 3 * built["Sphere (1)"].pages
