"""What the protocol and its counts refuse, word for word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from slipstick.errors import ModelError
from slipstick.program.counts import Counts, ProcessorTally
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
HEAD: dict[str, Any] = {"program": "mine", "processors": 1, "page": 4096, "unit": "1", "phases": []}


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
    (running([Arrive("a")], []), "program mine stops: 1 processors have ended, [0] wait at a barrier, held: no lock"),
    (
        running([Acquire(1), Arrive("a"), Release(1)], [Acquire(1), Release(1), Arrive("a")]),
        "program mine stops: 0 processors have ended, [0] wait at a barrier, held: lock 1 by 0",
    ),
    (lambda: ProcessorTally().total("fault"), "there is no count 'fault'; did you mean 'faults'?"),
    (lambda: ProcessorTally.from_dict({"twin": 1}), "a tally cannot hold 'twin'; did you mean 'twins'?"),
    (lambda: ProcessorTally.from_dict({"twins": 1.5}), "twins is counted in whole numbers from 0, got 1.5"),
    (lambda: ProcessorTally.from_dict({"faults": [[1, 20, -1]]}), "faults is counted in whole numbers from 0, got -1"),
    (lambda: ProcessorTally.from_dict({"waits": True}), "waits is counted in whole numbers from 0, got True"),
    (lambda: Counts.from_dict({**HEAD, "pages": 1}), "counts cannot hold 'pages'; did you mean 'page'?"),
    (lambda: Counts.from_dict({"program": "mine"}), "counts lack processors, page, unit, phases"),
    (
        lambda: Counts.from_dict({**HEAD, "phases": [{"name": "a", "tallies": []}]}),
        "phase 'a' has 0 tallies, but there are 1 processors",
    ),
]


@pytest.mark.parametrize(("does", "text"), REFUSED, ids=[text[:60] for _, text in REFUSED])
def test_the_whole_text(does: Callable[[], object], text: str) -> None:
    with pytest.raises(ModelError) as caught:
        does()
    assert str(caught.value) == text


def test_counts_measured_elsewhere_leave_out_what_is_zero() -> None:
    tally = {"work": 7, "faults": [[2, 40, 3]], "acquisitions": [[2, 4]], "sent": {"diffs": [6, 120]}}
    counts = Counts.from_dict({**HEAD, "phases": [{"name": "step", "tallies": [tally]}]})
    assert counts.to_dict()["phases"][0]["tallies"] == [tally]
    assert (counts.total("faults"), counts.total("acquisitions"), counts.bytes_sent()) == (3, 4, 120)
    assert counts.without("step").phases == ()
    assert Counts.from_dict(json.loads(json.dumps(counts.to_dict()))) == counts
