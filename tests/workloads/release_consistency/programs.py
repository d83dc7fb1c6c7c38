"""What Hypothesis draws: small programs without data races, and protocols to run them on."""

from __future__ import annotations

from hypothesis import strategies as st

from slipstick_workloads.release_consistency.protocol import Protocol
from tests.workloads.release_consistency.oracle import Small, Step

LOCKS = 2
READ_ONLY = -1


@st.composite
def small_programs(draw: st.DrawFn) -> Small:
    """Draw a program in which each word is, in each phase, one processor's, under a lock, or
    only read.
    """
    processors = draw(st.integers(2, 4))
    word_count = draw(st.sampled_from([2, 4]))
    words = word_count * draw(st.integers(1, 3))
    phases = []
    for _ in range(draw(st.integers(1, 4))):
        roles = draw(
            st.lists(st.integers(READ_ONLY, processors + LOCKS - 1), min_size=words, max_size=words)
        )
        phases.append(tuple(tuple(draw(_steps(me, processors, roles))) for me in range(processors)))
    return Small(processors, words, word_count, tuple(phases))


@st.composite
def _steps(draw: st.DrawFn, me: int, processors: int, roles: list[int]) -> list[Step]:
    steps: list[Step] = []
    mine = [word for word, role in enumerate(roles) if role in (me, READ_ONLY)]
    for _ in range(draw(st.integers(0, 4))):
        lock = draw(st.integers(-1, LOCKS - 1))
        if lock < 0:
            steps += draw(_touches(mine, roles))
        else:
            guarded = [word for word, role in enumerate(roles) if role == processors + lock]
            inside = draw(_touches(guarded + mine, roles))
            steps += [Step("acquire", lock), *inside, Step("release", lock)]
        if draw(st.booleans()):
            steps.append(Step("work", draw(st.integers(1, 3))))
    return steps


@st.composite
def _touches(draw: st.DrawFn, words: list[int], roles: list[int]) -> list[Step]:
    chosen = draw(st.lists(st.sampled_from(words), max_size=4)) if words else []
    return [Step(_does(draw, roles[word]), word) for word in chosen]


def _does(draw: st.DrawFn, role: int) -> str:
    return "read" if role == READ_ONLY or draw(st.booleans()) else "write"


def protocols() -> st.SearchStrategy[Protocol]:
    """Draw a protocol; some collect garbage at every chance."""
    return st.builds(
        Protocol,
        writers=st.sampled_from(["multiple", "single"]),
        release=st.sampled_from(["lazy", "eager"]),
        grant=st.sampled_from(["known", "before"]),
        ask=st.sampled_from(["every", "latest"]),
        start=st.sampled_from(["absent", "valid"]),
        collect_above=st.sampled_from([1, 100, 10**9]),
    )
