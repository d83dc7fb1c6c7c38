"""Forks: the longest of the branches, or what a resource takes that several of them ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstick.method.mean_value.longest import first_largest, longest, longest_of_alike
from slipstick.method.mean_value.queues import label_of
from slipstick.method.mean_value.spans import Array, Span, one_after_the_other, plus, rounds
from slipstick.method.mean_value.tree import Node, Series, Visit, frequencies, inside
from slipstick.model.system import Station, is_processor

if TYPE_CHECKING:
    from slipstick.method.mean_value.passes import Pass

__all__ = ["fork_time"]


def fork_time(made: Pass, branches: Sequence[Node]) -> Span:
    """Give the time until all branches are done.

    Where branches ask for one resource of fewer servers, that is not over before the resource has served all
    of them: a wait, the work of all, and the least of what comes before and after.
    """
    found = longest([made.span(branch) for branch in branches])
    for name in _shared(branches):
        users = [branch for branch in branches if any(visit.queue == name for visit in inside(branch))]
        resource = made.model.resources.get(name)
        servers = resource.servers if isinstance(resource, Station) else 1
        if len(users) > servers:
            found = _longer(found, _burst(made, users, name, servers))
    return found


def _shared(branches: Sequence[Node]) -> list[str]:
    """Name the queues that several branches of one fork join; another processor is another for each."""
    used = [dict.fromkeys(visit.queue for visit in inside(branch)) for branch in branches]
    names = dict.fromkeys(name for each in used for name in each)
    one = [name for name in names if not is_processor(name) or name == "own" or name.startswith("processor[")]
    return [name for name in one if sum(name in each for each in used) > 1]


def _longer(a: Span, b: Span) -> Span:
    """Choose between two times that depend on each other so much that one is nearly always the longer."""
    larger = b.mean.real > a.mean.real
    kind = "constant" if a.kind == b.kind == "constant" else "general"
    return Span(np.where(larger, b.mean, a.mean), np.where(larger, b.variance, a.variance), kind)


def _burst(made: Pass, branches: Sequence[Node], name: str, servers: int) -> Span:
    """Give the time from the fork until one resource has done what all branches ask of it."""
    visits = [[visit for visit in inside(branch) if visit.queue == name] for branch in branches]
    often = [frequencies(branch, made.numbers) for branch in branches]
    works = [
        one_after_the_other([rounds(count[v.index], made.services[v.index]) for v in here])
        for here, count in zip(visits, often, strict=True)
    ]
    calls = sum((count[v.index] for here, count in zip(visits, often, strict=True) for v in here), np.zeros(1))
    flat = [visit for here in visits for visit in here]
    last, behind, spread = _served(works, servers)
    if made.frozen is None:
        made.found.beside.update({visit.index: behind / 2 * len(works) / plus(calls) for visit in flat})
    else:
        # The services of one's other branches are waits of the last.
        behind = behind.real * made.factor(label_of(flat[0]))
    waits = [made.wait(visit) for visit in flat]
    wait = first_largest([each.mean for each in waits])
    heads, tails = zip(*(_ends(made, branch, name) for branch in branches), strict=True)
    constant = all(each.kind == "constant" for each in (*works, *waits))
    return Span(
        _smallest(heads) + wait + behind + last.mean + _smallest(tails),
        spread + waits[0].variance,
        "constant" if constant else "general",
    )


def _served(works: Sequence[Span], servers: int) -> tuple[Span, Array, Array]:
    """Give the last service of a burst, how long it waits for the others, and the variance of all together."""
    count = len(works)
    mean = sum((work.mean for work in works), np.zeros(1)) / count
    variance = sum((work.variance for work in works), np.zeros(1)) / count
    kinds = {work.kind for work in works}
    typical = Span(mean, variance, kinds.pop() if len(kinds) == 1 else "general")
    last = longest_of_alike(typical, np.full(1, float(servers)))
    return last, mean * (count - servers) / servers, count * variance / servers**2


def _smallest(values: Sequence[Array]) -> Array:
    return -first_largest([-value for value in values])


def _ends(made: Pass, branch: Node, name: str) -> tuple[Array, Array]:
    """Give the mean times before a branch first comes to a queue, and after it leaves it last."""
    parts = branch.parts if isinstance(branch, Series) else (branch,)
    at = [index for index, part in enumerate(parts) if _uses(part, name)]
    head = one_after_the_other([made.span(part) for part in parts[: at[0]]])
    tail = one_after_the_other([made.span(part) for part in parts[at[-1] + 1 :]])
    return head.mean, tail.mean


def _uses(node: Node, name: str) -> bool:
    used: Sequence[Visit] = list(inside(node))
    return any(visit.queue == name for visit in used)
