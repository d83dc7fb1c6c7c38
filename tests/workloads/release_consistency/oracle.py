"""Brute force: every word of every processor's copy, and what release consistency lets a read see.

`Values` carries the words themselves along with the protocol's messages. `Oracle` knows nothing of
the protocol: it keeps a vector clock for each processor, lock and barrier, and every write with its
clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

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
from slipstick_workloads.release_consistency.intervals import IntervalId
from slipstick_workloads.release_consistency.pages import Payload

Clock = tuple[int, ...]


class Values(Payload):
    """The words of every copy, moved as the protocol says."""

    def __init__(self, processors: int, words: int, word_count: int) -> None:
        self.memory = [[0] * words for _ in range(processors)]
        self.word_count = word_count
        self.diffs: dict[tuple[IntervalId, int], dict[int, int]] = {}

    def copy(self, source: int, target: int, page: int) -> None:
        here = slice(page * self.word_count, (page + 1) * self.word_count)
        self.memory[target][here] = self.memory[source][here]

    def cut(self, writer: int, interval: IntervalId, page: int, words: int) -> None:
        first = page * self.word_count
        changed = [first + k for k in range(self.word_count) if words >> k & 1]
        self.diffs[interval, page] = {word: self.memory[writer][word] for word in changed}

    def apply(self, target: int, page: int, intervals: Sequence[IntervalId]) -> None:
        for each in intervals:
            for word, value in self.diffs[each, page].items():
                self.memory[target][word] = value


class Made(NamedTuple):
    """A write: who, when, what."""

    writer: int
    clock: Clock
    value: int


class Oracle:
    """What happened before what, from locks and barriers alone."""

    def __init__(self, processors: int) -> None:
        self.clocks = [[0] * processors for _ in range(processors)]
        self.locks: dict[int, list[int]] = {}
        self.writes: dict[int, list[Made]] = {}
        self.meetings: dict[int, list[int]] = {}

    def wrote(self, writer: int, word: int, value: int) -> None:
        self.clocks[writer][writer] += 1
        self.writes.setdefault(word, []).append(Made(writer, tuple(self.clocks[writer]), value))

    def acquired(self, processor: int, lock: int) -> None:
        self._join(processor, self.locks.get(lock, self.clocks[processor]))

    def releases(self, processor: int, lock: int) -> None:
        self.locks[lock] = list(self.clocks[processor])

    def arrives(self, processor: int, barrier: int) -> None:
        meeting = self.meetings.setdefault(barrier, list(self.clocks[processor]))
        self.meetings[barrier] = [
            max(pair) for pair in zip(meeting, self.clocks[processor], strict=True)
        ]

    def leaves(self, processor: int, barrier: int) -> None:
        self._join(processor, self.meetings[barrier])

    def may_see(self, reader: int, word: int) -> set[int]:
        """Return the last values before this read, and those of writes at the same time."""
        made, now = self.writes.get(word, []), self.clocks[reader]
        before = [each for each in made if each.clock[each.writer] <= now[each.writer]]
        last = [each for each in before if not any(_precedes(each, other) for other in before)]
        beside = [each for each in made if each not in before]
        return {each.value for each in last + beside} | (set() if before else {0})

    def _join(self, processor: int, other: list[int]) -> None:
        self.clocks[processor] = [
            max(pair) for pair in zip(self.clocks[processor], other, strict=True)
        ]


def _precedes(one: Made, other: Made) -> bool:
    return one is not other and one.clock[one.writer] <= other.clock[one.writer]


class Step(NamedTuple):
    """One step of a small program: `read` or `write` a word, `acquire` or `release` a lock,
    `work`.
    """

    does: str
    number: int


class Small(NamedTuple):
    """A small program: for each phase and processor its steps."""

    processors: int
    words: int
    word_count: int
    phases: tuple[tuple[tuple[Step, ...], ...], ...]


class Checked:
    """A small program that compares every read with what the oracle allows."""

    def __init__(self, small: Small) -> None:
        self.small = small
        self.values = Values(small.processors, small.words, small.word_count)
        self.oracle = Oracle(small.processors)
        self.written, self.wrong, self.choices = 0, list[str](), list[int]()

    def program(self) -> SharedProgram:
        small = self.small
        pages = -(-small.words // small.word_count)
        return SharedProgram(
            "small", small.processors, pages, self.body, word_count=small.word_count
        )

    def body(self, me: int) -> Iterator[Access]:
        for index, phase in enumerate(self.small.phases):
            for step in phase[me]:
                yield from self.step(me, step)
            self.oracle.arrives(me, index)
            yield Arrive(f"phase {index}")
            self.oracle.leaves(me, index)

    def step(self, me: int, step: Step) -> Iterator[Access]:
        page, bit = divmod(step.number, self.small.word_count)
        if step.does == "read":
            yield Read(np.array([page]))
            self.check(me, step.number)
        elif step.does == "write":
            yield Write(np.array([page]), [1 << bit])
            self.written += 1
            self.values.memory[me][step.number] = self.written
            self.oracle.wrote(me, step.number, self.written)
        elif step.does == "acquire":
            yield Acquire(step.number)
            self.oracle.acquired(me, step.number)
        elif step.does == "release":
            self.oracle.releases(me, step.number)
            yield Release(step.number)
        else:
            yield Compute(step.number)

    def check(self, me: int, word: int) -> None:
        seen, allowed = self.values.memory[me][word], self.oracle.may_see(me, word)
        self.choices.append(len(allowed))
        if seen not in allowed:
            self.wrong.append(
                f"processor {me} reads {seen} in word {word}, allowed is {sorted(allowed)}"
            )
