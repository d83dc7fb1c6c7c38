"""The clock of the protocol's runs: who requests a lock first, and who waits for how many
faults.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from slipstick_workloads.counts import ProcessorTally
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Compute,
    Release,
    SharedProgram,
    Write,
)
from slipstick_workloads.release_consistency.run import run

PAGE = np.array([0])


def tallies(work: tuple[int, ...], message: float) -> tuple[ProcessorTally, ...]:
    """Let each processor work, then write one page under the lock that processor 0 manages."""

    def body(me: int) -> Iterator[Access]:
        if me == 0:
            yield Write(PAGE, [1])
        yield Arrive("start")
        yield Compute(work[me])
        yield Acquire(0)
        yield Write(PAGE, [1 << me])
        yield Release(0)
        yield Arrive("end")

    return run(SharedProgram("queue", len(work), 1, body, message=message)).phases[1].tallies


@pytest.mark.parametrize(("message", "waits"), [(0.0, 0), (1.0, 0), (10.0, 1), (30.0, 2)])
def test_requests_meet_when_messages_take_longer_than_the_work_between_them(
    message: float, waits: int
) -> None:
    # Processor 2 gets the lock by two messages, and its first miss takes two more; processor 1
    # misses twice.
    found = tallies((130, 30, 0), message)
    assert sum(each.waits for each in found) == waits
    assert found[2].waits == 0


def test_who_waits_sees_the_faults_of_all_ahead() -> None:
    found = tallies((0, 0, 0, 0), 1.0)
    # The manager needs no message and no fault, and is done when the others request the lock.
    assert [each.waits for each in found] == [0, 0, 1, 1]
    assert [each.ahead for each in found] == [0, 0, 1, 2]
    # Processor 1 fetches the page; processor 2 fetches it too, and then the diff of processor 1.
    assert [each.ahead_faults for each in found] == [0, 0, 1, 3]


def test_a_long_section_delays_the_next_request_in_line() -> None:
    early, late = tallies((0, 50), 40.0)
    assert (early.waits, late.waits) == (0, 0)  # the manager needs no message and no fault
    late, early = tallies((50, 0), 40.0)
    assert (early.waits, late.waits) == (0, 1)
    assert late.ahead_faults == 1
