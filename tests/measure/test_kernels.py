"""The kernels of `slipstick calibrate`, run in Python on counted words: each access is one tick of
the clock, so that the times are the numbers of accesses of the locks and barriers as published.
"""

from __future__ import annotations

import ctypes
import threading
import time
import types
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from slipstick.vocabulary import LOCKS
from slipstick_measure.calibration import kernels
from slipstick_measure.calibration.analysis import SPEC_LOCKS

MOST_ACCESSES = 200_000
"""A lock that never frees ends with an error."""
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


class Words:
    """Shared words whose accesses are counted, one at a time."""

    def __init__(self) -> None:
        self.values = [0] * kernels.WORDS
        self.accesses = 0
        self.lock = threading.Lock()
        self.inside = 0
        self.most_inside = 0

    def change(self, index: int, value: Callable[[int], int]) -> int:
        time.sleep(0)  # lets another thread go on
        with self.lock:
            self.accesses += 1
            if self.accesses > MOST_ACCESSES:
                raise TimeoutError("no end")
            old = int(self.values[index])
            self.values[index] = value(old)
            return old

    def read_clock(self, clock: int, address: int) -> int:
        (ctypes.c_int64 * 2).from_address(address)[:] = [self.accesses, 0]
        return 0


class Memory:
    """Elements that are 0, and the indexes that were read and written; an access is a tick."""

    def __init__(self, words: Words | None = None) -> None:
        self.words = words or Words()
        self.read: list[int] = []
        self.written: list[int] = []

    def __getitem__(self, index: Any) -> np.int64:
        self.words.accesses += 1
        self.read.append(int(index))
        return np.int64(0)

    def __setitem__(self, index: Any, value: Any) -> None:
        assert value == 0
        self.written.append(int(index))


def in_python(words: Words) -> Mapping[str, Any]:
    """Return the kernels as Python functions of words."""
    functions = dict(vars(kernels))
    functions |= {
        "_GAUGE_TURNS": 2,
        "_read_clock": words.read_clock,
        "_load": lambda shared, index: words.change(index, lambda old: old),
        "_put": lambda shared, index, value: words.change(index, lambda old: int(value)),
        "_swap": lambda shared, index, value: words.change(index, lambda old: int(value)),
        "_add": lambda shared, index, value: words.change(index, lambda old: old + int(value)),
        "_compare_and_swap": lambda shared, index, expected, value: words.change(
            index, lambda old: int(value) if old == expected else old
        ),
    }
    for name, function in vars(kernels).items():
        if hasattr(function, "py_func"):
            functions[name] = types.FunctionType(function.py_func.__code__, functions, name)
    return functions


def ticks_of(seed: int = 12345) -> Any:
    return np.full(kernels.TICKS, seed * 2**40, dtype=np.int64)


def plan(parties: int = 1, **inputs: int) -> list[int]:
    names = ("elements", "accesses", "write", "compute", "lock", "critical", "barrier", "warming")
    return [parties, *(inputs.get(name, int(name == "elements")) for name in names), 3, 7]


def elapsed(ticks: Any) -> int:
    """Return the ticks of the elapsed clock; the clock of the thread is read just inside, and the
    gauge before and after.
    """
    assert ticks[0] == ticks[2]
    assert ticks[4] == ticks[6]
    assert ticks[8] == ticks[10] <= ticks[0]
    assert ticks[12] == ticks[14] == ticks[4]
    return int(ticks[4] - ticks[0])


def run_parties(count: int, work: Callable[[int, Any], Any]) -> list[Any]:
    """Run a kernel in as many threads, each with its clocks."""
    ticks = [ticks_of(rank + 1) for rank in range(count)]
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            work(rank, ticks[rank])
        except BaseException as error:  # noqa: BLE001  # a thread tells the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    return ticks


ACCESSES_ALONE = {"tas": 2, "ttas": 3, "ticket": 4, "array": 3, "mcs": 4}
"""Of an acquire and a release of a free lock, after Mellor-Crummey and Scott."""


@pytest.mark.parametrize("name", SPEC_LOCKS)
def test_a_free_lock_takes_the_accesses_of_its_kind(name: str) -> None:
    words, ticks = Words(), ticks_of()
    kind = 1 + list(SPEC_LOCKS).index(name)
    completed = in_python(words)["repeat_grain"](
        Memory(), None, 0, 10, plan(lock=kind, critical=2), ticks
    )
    # Beside the lock a grain writes one word in its section, and the last one says stop.
    assert elapsed(ticks) == 10 * (ACCESSES_ALONE[SPEC_LOCKS[name]] + 1) + 1
    assert completed == 10
    assert SPEC_LOCKS[name] in LOCKS


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("name", SPEC_LOCKS)
def test_one_processor_at_a_time_holds_a_lock(name: str, parties: int) -> None:
    words = Words()
    functions: Any = in_python(words)
    acquire, release = functions["acquire"], functions["release"]

    def watched_acquire(*arguments: Any) -> Any:
        acquired = acquire(*arguments)
        words.inside += 1
        words.most_inside = max(words.most_inside, words.inside)
        time.sleep(0)
        return acquired

    def watched_release(*arguments: Any) -> None:
        words.inside -= 1
        release(*arguments)

    functions["acquire"], functions["release"] = watched_acquire, watched_release
    shape = plan(parties, lock=1 + list(SPEC_LOCKS).index(name), critical=1)
    run_parties(
        parties,
        lambda rank, ticks: functions["repeat_grain"](Memory(), None, rank, 12, shape, ticks),
    )
    assert words.most_inside == 1
    assert words.inside == 0


@pytest.mark.parametrize("parties", [2, 3, 5])
@pytest.mark.parametrize("barrier", [1, 2])
def test_no_processor_leaves_a_barrier_before_all_arrive(barrier: int, parties: int) -> None:
    words = Words()
    functions: Any = in_python(words)
    wait = functions["_pass_barrier"]
    arrived = [0] * parties

    def watched(shared: Any, kind: int, rank: int, count: int, turn: int) -> None:
        for _ in range(30 * (rank == turn % parties)):  # each is late at one turn
            time.sleep(0)
        arrived[rank] += 1
        wait(shared, kind, rank, count, turn)
        assert min(arrived) >= turn

    functions["_pass_barrier"] = watched
    completed: dict[int, int] = {}

    def work(rank: int, ticks: Any) -> None:
        completed[rank] = functions["repeat_grain"](
            Memory(), None, rank, 6, plan(parties, barrier=barrier), ticks
        )

    run_parties(parties, work)
    assert set(completed.values()) == {6}
    assert arrived == [6] * parties


def test_a_word_passes_from_rank_to_rank() -> None:
    words = Words()
    functions: Any = in_python(words)
    written: list[tuple[int, int]] = []
    put = functions["_put"]

    def watched(shared: Any, index: int, value: int) -> int:
        written.append((index, int(value)))
        return int(put(shared, index, value))

    functions["_put"] = watched
    run_parties(3, lambda rank, ticks: functions["time_handovers"](None, rank, 3, 4, ticks))
    assert written == [(kernels.COUNT, number) for number in range(1, 13)]


def test_an_exchange_is_one_access() -> None:
    words, ticks = Words(), ticks_of()
    assert in_python(words)["time_swaps"](None, 9, ticks) == 0
    assert elapsed(ticks) == 9


def test_a_grain_reads_and_writes_elements_at_random() -> None:
    memory = Memory()
    shape = plan(elements=8, accesses=3, write=1, compute=2, warming=5)
    completed = in_python(Words())["repeat_grain"](memory, None, 0, 100, shape, ticks_of())
    assert completed == 100
    assert len(memory.read) == 5 + 300
    assert memory.written == memory.read[5:]
    # Each element is equally likely: a share of 1/8 in 300 draws has a deviation of 0.019.
    shares = [memory.written.count(element) / 300 for element in range(8)]
    assert shares == pytest.approx([1 / 8] * 8, abs=4 * 0.019)


def test_a_pair_is_the_first_element_of_a_block_and_one_a_stride_further() -> None:
    words, ticks = Words(), ticks_of()
    memory = Memory(words)
    in_python(words)["time_pairs"](memory, None, 6, 64, 16, 200, ticks)
    assert elapsed(ticks) == 200 * 2
    first, second = memory.read[::2], memory.read[1::2]
    assert {index % 64 for index in first} == {0}
    assert {index // 64 for index in first} == set(range(6))
    assert second == [index + 16 for index in first]


def test_a_visit_reads_a_quarter_of_the_lines_of_a_page_each_once() -> None:
    words, ticks = Words(), ticks_of()
    memory = Memory(words)
    in_python(words)["time_visits"](memory, None, 4, 3, 50, ticks)
    assert elapsed(ticks) == 50 * 16
    lines = [index // 8 for index in memory.read]
    visits = [lines[start : start + 16] for start in range(0, len(lines), 16)]
    assert len(visits) == 53
    assert all(len(set(visit)) == 16 for visit in visits)
    assert all(len({line // 64 for line in visit}) == 1 for visit in visits)
    assert {line // 64 for line in lines} == {0, 1, 2, 3}
    assert {index % 8 for index in memory.read} == {0}
    # In no order: neighbours in time are seldom neighbours in memory.
    steps = [abs(b - a) for visit in visits for a, b in pairwise(visit)]
    assert sum(step == 1 for step in steps) / len(steps) < 0.1


def test_a_stream_reads_pieces_in_their_order_and_begins_again() -> None:
    memory = Memory()
    in_python(Words())["time_sums"](memory, None, 1, 40, 5, 2, 3, ticks_of())
    assert memory.read == [*range(40, 45), *range(45, 50), *range(40, 45)]
