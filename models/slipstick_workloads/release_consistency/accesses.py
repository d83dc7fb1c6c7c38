"""Accesses of a processor to shared memory: the input of the protocol.

A program is written as a generator for each processor, which yields accesses. Pages are numbered
from 0; a set of words within a page is an integer whose bit k stands for the k-th word of four
bytes.

>>> import numpy as np
>>> from slipstick_workloads.release_consistency.run import run
>>> def body(me):
...     for step in range(2):
...         yield Acquire(0)
...         yield Read(np.array([0]))
...         yield Write(np.array([0]), [0b1])  # the first word of page 0
...         yield Release(0)
...         yield Arrive("step")
>>> counts = run(SharedProgram("counter", processors=2, pages=1, body=body))
>>> counts.total("acquisitions"), counts.total("faults")
(4, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from slipstick.late import dataclass

WORD_BYTES = 4
"""Bytes of the word that diffs compare."""

Pages = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Read:
    """An access that reads something in each of some pages, in ascending order."""

    pages: Pages


@dataclass(frozen=True, slots=True)
class Write:
    """Write pages, in ascending order; `words` holds for each page the set of words that get a new
    value.

    A page with an empty set is written with the values that it has: it costs a fault, but no diff.
    """

    pages: Pages
    words: Sequence[int]


@dataclass(frozen=True, slots=True)
class Acquire:
    """An access that acquires a lock; the generator continues when the lock is granted."""

    lock: int


@dataclass(frozen=True, slots=True)
class Release:
    """An access that releases a lock."""

    lock: int


@dataclass(frozen=True, slots=True)
class Arrive:
    """An access that arrives at the barrier which ends the phase of this name."""

    phase: str


@dataclass(frozen=True, slots=True)
class Compute:
    """Work of the program between accesses, in the program's own unit."""

    amount: int


Access = Read | Write | Acquire | Release | Arrive | Compute


@dataclass(frozen=True, slots=True)
class SharedProgram:
    """A program, given by the accesses of its processors to shared memory.

    Parameters
    ----------
    name : of the program
    processors : that run it
    pages : of shared memory, numbered from 0
    body : gives the accesses of one processor, by its number
    unit : what one unit of `Compute` is
    word_count : words in a page; a page is four times as many bytes
    message : units of work that take as long as a message, for the clock by which processors take
        turns
    """

    name: str
    processors: int
    pages: int
    body: Callable[[int], Iterator[Access]]
    unit: str = "1"
    word_count: int = 1024
    message: float = 0.0
