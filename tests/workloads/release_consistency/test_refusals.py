"""What the protocol and its counts refuse, word for word."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from slipstick.errors import ModelError
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
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.run import run

ONCE = "; they must be ascending, each once, within 0 to 0"
WORDS = " pages; each needs its set of words 0 to 1023"


def running(*bodies: list[Access], pages: int = 1) -> Callable[[], object]:
    def body(me: int) -> Iterator[Access]:
        yield from bodies[me]

    return lambda: run(SharedProgram("mine", len(bodies), pages, body))


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Protocol(writers="two"), "writers of a protocol is multiple or single, got 'two'"),  # type: ignore[arg-type]
    (lambda: Protocol(collect_above=0), "collect_above must be more than 0 B, got 0"),
    (running([], pages=0), "program mine needs at least one processor and one page of one word"),
    (running([Release(3)]), "processor 0 releases lock 3, which it does not hold"),
    (running([Acquire(3), Acquire(3)]), "processor 0 requests lock 3, which it holds already"),
    (running([Acquire(3)]), "processor 0 ends without releasing lock 3"),
    (running([Compute(-1)]), "processor 0 does -1 units of work; it must be at least 0"),
    (running(["work"]), "processor 0 yields 'work', which is not an access"),  # type: ignore[list-item]
    (running([Read(np.array([0, 0]))]), f"processor 0 names pages 0, 0{ONCE}"),
    (running([Read(np.array([1]))]), f"processor 0 names pages 1{ONCE}"),
    (running([Read(np.array([-1]))]), f"processor 0 names pages -1{ONCE}"),
    (running([Write(np.array([0]), [])]), f"processor 0 writes 1{WORDS}"),
    (running([Write(np.array([0]), [1 << 1024])]), f"processor 0 writes 1{WORDS}"),
    (running([Arrive("a")], [Arrive("b")]), "processors arrive at different barriers: a, b"),
    (
        running([Arrive("a")], []),
        "program mine stops: 1 processors have ended, [0] wait at a barrier, held: no lock",
    ),
    (
        running([Acquire(1), Arrive("a"), Release(1)], [Acquire(1), Release(1), Arrive("a")]),
        "program mine stops: 0 processors have ended, [0] wait at a barrier, held: lock 1 by 0",
    ),
]


@pytest.mark.parametrize(("does", "text"), REFUSED, ids=[text[:60] for _, text in REFUSED])
def test_the_whole_text(does: Callable[[], object], text: str) -> None:
    with pytest.raises(ModelError) as caught:
        does()
    assert str(caught.value) == text
