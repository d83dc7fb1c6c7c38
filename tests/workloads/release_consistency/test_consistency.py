"""Every read of a program without data races sees the last value written before it, whatever the
protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings

from slipstick_workloads.release_consistency.intervals import IntervalId, IntervalRecords
from slipstick_workloads.release_consistency.pages import (
    WRITABLE,
    ManyWriters,
    SharedPages,
    SingleWriter,
)
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.run import run
from slipstick_workloads.release_consistency.synchronization import Notices
from tests.examples import PART, examples, sample
from tests.workloads.release_consistency.oracle import Checked, Small
from tests.workloads.release_consistency.programs import protocols, small_programs


def wrong_reads(small: Small, protocol: Protocol) -> list[str]:
    checked = Checked(small)
    run(checked.program(), protocol, checked.values)
    assert set(checked.choices) <= {1}, "the program has a data race"
    return checked.wrong


@pytest.mark.turns(5)
@settings(max_examples=examples(200))
@given(small_programs(), protocols())
def test_every_read_sees_the_last_value_before_it(small: Small, protocol: Protocol) -> None:
    assert wrong_reads(small, protocol) == []


def never(*_: Any, **__: Any) -> None:
    """Do nothing."""


def backwards(self: IntervalRecords, intervals: Any) -> list[IntervalId]:
    return ORDER(self, intervals)[::-1]


def leaves_writable(self: ManyWriters, writer: int, page: int) -> None:
    CUT(self, writer, page)
    self.states[writer, page] = WRITABLE


def asks_one_only(self: ManyWriters, page: int, wanted: Any) -> Any:
    return WHOM(self, page, wanted[:1])


def takes_a_growing_twin_as_whole(self: ManyWriters, reader: int, owner: int, page: int) -> None:
    self.twin_interval_by_page[owner].pop(page, None)
    FETCHED(self, reader, owner, page)


def leaves_exclusive(self: SharedPages, reader: int, page: int) -> None:
    before = self.states[self.owner_by_page[page], page]
    FETCH(self, reader, page)
    self.states[self.owner_by_page[page], page] = before


def takes_no_copy(self: SingleWriter, writer: int, owner: int, page: int) -> None:
    self.owner_by_page[page] = writer


ORDER, CUT, WHOM = (
    IntervalRecords.sort_by_precedence,
    ManyWriters._make_diff,
    ManyWriters._diffs_to_request,
)
FETCHED, FETCH = ManyWriters._record_fetch, SharedPages._fetch_page
VALID, SINGLE = Protocol(start="valid", collect_above=10**9), Protocol(writers="single")
MISTAKES: dict[str, tuple[type, str, Callable[..., Any], Protocol]] = {
    "notices are lost": (SharedPages, "notice", never, VALID),
    "notices are lost, one writer": (SharedPages, "notice", never, SINGLE),
    "notices of an eager release are lost": (
        Notices,
        "_send_notices",
        never,
        Protocol(release="eager"),
    ),
    "locks carry no notices": (Notices, "learn_from_giver", lambda *_: 0, VALID),
    "diffs are applied backwards": (IntervalRecords, "sort_by_precedence", backwards, VALID),
    "a page stays writable after its diff": (ManyWriters, "_make_diff", leaves_writable, VALID),
    "words are not remembered": (ManyWriters, "_record_words", never, VALID),
    "every copy is thought to be new": (ManyWriters, "_has_applied", lambda *_: True, VALID),
    "a part of a fault is left out": (ManyWriters, "_diffs_to_request", asks_one_only, VALID),
    "a growing twin is taken as whole": (
        ManyWriters,
        "_record_fetch",
        takes_a_growing_twin_as_whole,
        Protocol(),
    ),
    "a shared page stays exclusive": (SharedPages, "_fetch_page", leaves_exclusive, Protocol()),
    "ownership moves without the page": (SingleWriter, "_become_owner", takes_no_copy, SINGLE),
    "an owner's page stays writable": (SingleWriter, "_record_notices", never, SINGLE),
    "garbage is dropped without updates": (
        ManyWriters,
        "_update",
        never,
        Protocol(collect_above=1),
    ),
}


def fails(small: Small, protocol: Protocol) -> bool:
    try:
        return bool(wrong_reads(small, protocol))
    except KeyError:
        return True


def test_every_mistake_replaces_a_method_that_exists() -> None:
    missing = [name for name, (place, method, *_) in MISTAKES.items() if not hasattr(place, method)]
    assert missing == []


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", sample(MISTAKES, part=max(PART, 0.25)))
def test_a_protocol_with_a_mistake_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, attribute, mistake, protocol = MISTAKES[name]
    monkeypatch.setattr(place, attribute, mistake)
    only_look = settings(max_examples=3000, phases=[Phase.generate], database=None)
    assert find(small_programs(), lambda small: fails(small, protocol), settings=only_look)
