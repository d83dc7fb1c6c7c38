"""Forks: the longest of the branches, or what a resource takes that several of them ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipstick.method.mean_value.longest import first_largest, longest, longest_of_alike
from slipstick.method.mean_value.queues import label_of
from slipstick.method.mean_value.spans import Array, Span, one_after_the_other, rounds
from slipstick.method.mean_value.tree import Node, Series, Visit, frequencies, inside
from slipstick.model.system import Station, is_processor

if TYPE_CHECKING:
    from slipstick.method.mean_value.passes import Pass

__all__ = ["fork_time"]


def fork_time(made: Pass, branches: Sequence[Node]) -> Span:
    """Give the time until all branches are done."""
    found = longest([made.span(branch) for branch in branches])
    for name in _shared(branches):
        burst = _burst(made, branches, name)
        if burst is None:
            continue
        larger = burst.mean.real > found.mean.real
        found = Span(
            np.where(larger, burst.mean, found.mean),
            np.where(larger, burst.variance, found.variance),
            "constant" if found.kind == burst.kind == "constant" else "general",
        )
    return found


def _shared(branches: Sequence[Node]) -> list[str]:
    """Name the queues that several branches of one fork join."""
    used = [dict.fromkeys(visit.queue for visit in inside(branch)) for branch in branches]
    names = dict.fromkeys(name for each in used for name in each)
    one = [name for name in names if name == "own" or not is_processor(name) or name.startswith("processor[")]
    return [name for name in one if sum(name in each for each in used) > 1]


def _burst(made: Pass, branches: Sequence[Node], name: str) -> Span | None:
    """Give the time from the fork until one resource has done what all branches ask of it."""
    heads, works, tails, counts = [], [], [], []
    visits: list[Visit] = []
    for branch in branches:
        here = [visit for visit in inside(branch) if visit.queue == name]
        if not here:
            continue
        often = frequencies(branch, made.numbers)
        head, tail = _ends(made, branch, name)
        heads.append(head)
        tails.append(tail)
        works.append(one_after_the_other([rounds(often[v.index], made.found.services[v.index]) for v in here]))
        counts.append(sum((often[v.index] for v in here), np.zeros(1)))
        visits += here
    resource = made.model.resources.get(name)
    servers = resource.servers if isinstance(resource, Station) else 1
    jobs = len(works)
    if jobs <= servers:
        return None
    label = label_of(visits[0])
    each = one_after_the_other(works).scaled(np.full(1, 1.0 / jobs))
    each = Span(each.mean, each.variance * jobs, works[0].kind if all(w.kind == works[0].kind for w in works) else "general")
    before = each.mean * (jobs - servers) / servers
    last = longest_of_alike(each, np.full(1, float(servers)))
    spread = sum((work.variance for work in works), np.zeros(1)) / servers**2
    waits = [made.wait(visit) for visit in visits]
    wait = first_largest([each.mean for each in waits])
    if made.frozen is None:
        for visit in visits:
            calls = sum(counts, np.zeros(1)) / jobs + 1e-300
            made.found.beside[visit.index] = before / 2 / calls
    behind = before.real * made.factor(label) if made.frozen is not None else before
    mean = _smallest(heads) + wait + behind + last.mean + _smallest(tails)
    constant = all(w.kind == "constant" for w in (*works, *waits)) and not np.any(spread.real > 0)
    return Span(mean, spread + waits[0].variance, "constant" if constant else "general")


def _smallest(values: Sequence[Array]) -> Array:
    return -first_largest([-value for value in values])


def _ends(made: Pass, branch: Node, name: str) -> tuple[Array, Array]:
    """Give the mean times before a branch first comes to a queue, and after it leaves it last."""
    parts = branch.parts if isinstance(branch, Series) else (branch,)
    at = [index for index, part in enumerate(parts) if any(visit.queue == name for visit in inside(part))]
    head = one_after_the_other([made.span(part) for part in parts[: at[0]]])
    tail = one_after_the_other([made.span(part) for part in parts[at[-1] + 1 :]])
    return head.mean, tail.mean
