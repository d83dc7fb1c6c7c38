"""Cycles in product form, which the queueing engine solves exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.arrivals import Crowd
from slipstick.method.mean_value.maxima import Array, Span, plus
from slipstick.method.mean_value.quantities import Numbers, only
from slipstick.method.mean_value.recursion import Recursion, State, Stop
from slipstick.method.mean_value.traversal import Found, Pass
from slipstick.method.mean_value.visits import (
    SPINNING,
    Access,
    Grown,
    Leaf,
    Locked,
    Node,
    Options,
    Queue,
    Rounds,
    Series,
)
from slipstick.model.activity import Step
from slipstick.model.resources import Lock, Station
from slipstick.model.system import Model


def has_product_form(model: Model, grown: Grown, queues: Sequence[Queue]) -> bool:
    """Say whether the stations of a cycle are all of product form, whatever the numbers.

    Steps, choices and repeats only; at a first-come station one exponential service time for all visits, which
    a lock may be as well, held for one exponential delay.

    Source: Baskett, Chandy, Muntz and Palacios, J. ACM 22(2), 1975, 248-260.
    """
    if not _plain(grown.root):
        return False
    for queue in queues:
        if not (queue.lock or isinstance(model.resources.get(queue.name), Station)):
            return False
        lock = model.resources.get(queue.name)
        if isinstance(lock, Lock) and lock.kind in SPINNING:
            return False
        steps = _held(grown.root, queue.name) if queue.lock else [v.step for v in queue.visits if v.step is not None]
        alike = all(step.scv == 1.0 and step.time == steps[0].time for step in steps)
        if not (queue.sharing or alike):
            return False
    return True


def _plain(node: Node) -> bool:
    match node:
        case Leaf():
            return True
        case Series(parts):
            return all(map(_plain, parts))
        case Options(options):
            return all(_plain(body) for _, body in options)
        case Rounds(_, body):
            return _plain(body)
        case Locked(_, Leaf(_, None)):
            return True
    return False


def _held(node: Node, lock: str) -> list[Step | Access]:
    """List the steps that are done under a lock."""
    match node:
        case Series(parts):
            return [step for part in parts for step in _held(part, lock)]
        case Options(options):
            return [step for _, body in options for step in _held(body, lock)]
        case Rounds(_, body):
            return _held(body, lock)
        case Locked(visit, Leaf(step, _)) if visit.queue == lock:
            return [step]
    return []


def solved(recursion: Recursion, numbers: Numbers, sizes: Array, points: Array, apart: Expr) -> Iterator[Stop]:
    """Solve all points at once; as `curves.stops`, one stop for each population that is asked about."""
    for size in np.unique(sizes[points]):
        chosen = points[sizes[points] == size]
        here = only(numbers, chosen)
        yield Stop(_state(recursion, here, int(size)), here, chosen, np.arange(len(chosen)))


def _state(recursion: Recursion, numbers: Numbers, processors: int) -> State:
    often = recursion.grown.frequencies(numbers)
    alone = Pass(recursion.model, numbers, processors, {})
    time = alone.span(recursion.grown.root)
    work = {
        queue.name: sum((often[v.index] * alone.found.services[v.index].mean for v in queue.visits), np.zeros(1))
        for queue in recursion.queues
    }
    stretch, rate = _stretch(recursion.queues, work, time.mean, processors)
    waits, served, present = {}, {}, {}
    mean = time.mean
    for queue in recursion.queues:
        mean = mean + work[queue.name] * stretch[queue.name]
        for visit in queue.visits:
            service = alone.found.services[visit.index].mean
            waits[visit.index] = Span(service * stretch[queue.name], 0 * service)
            served[visit.index] = rate * often[visit.index] * service
            present[visit.index] = served[visit.index] * (1 + stretch[queue.name])
    found = Found(waits, alone.found.services)
    return State(processors, Span(mean, time.variance), found, Crowd(processors, present, served))


def _stretch(
    queues: Sequence[Queue], work: dict[str, Array], time: Array, processors: int
) -> tuple[dict[str, Array], Array]:
    """Give by what part each service is lengthened, and the cycles of all in a second."""
    # The engine of queueing networks brings SciPy along, which is not needed elsewhere.
    from slipstick.queueing.exact import exact
    from slipstick.queueing.network import network_arrays

    columns = np.broadcast_arrays(*work.values(), time)
    rows = len(columns[-1])
    stretch: dict[str, Array] = {queue.name: np.zeros(rows) for queue in queues}
    rate = np.zeros(rows, dtype=columns[-1].dtype)
    takes = columns[-1].real > 0
    if queues and np.any(takes):
        demand = np.stack([column[takes] for column in columns[:-1]], axis=-1)
        think = columns[-1][takes] - demand.sum(axis=-1)
        # Rounding may leave a hair below nothing.
        think = np.where(think.real > 1e-14 * columns[-1][takes].real, think, 0 * think)
        made = network_arrays(
            demand[:, None, :], population=processors, think=think[:, None], servers=[q.servers for q in queues]
        )
        answer = exact(made)
        for index, queue in enumerate(queues):
            used = answer.residence[:, 0, index] / plus(demand[:, index])
            # What is not asked for is not lengthened.
            used = np.where(demand[:, index].real > 0, used, 1.0)
            stretch[queue.name] = np.zeros(rows, dtype=used.dtype)
            stretch[queue.name][takes] = used - 1
        rate = rate.astype(answer.throughput.dtype)
        rate[takes] = answer.throughput[:, 0]
    elif not queues:
        rate = processors / np.where(takes, columns[-1], np.inf)
    return stretch, rate
