"""Closed populations: N processors that repeat a cycle, or groups of them, each with a cycle of its own.

Where every station has product form, the exact solver of queueing networks answers; else the recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.method.mean_value.arrivals import ArrivalState
from slipstick.method.mean_value.maxima import Array, RandomTime, nonzero
from slipstick.method.mean_value.points import MeanValueTable, Numbers, at_points, at_rows, out_of_range, uncountable
from slipstick.method.mean_value.recursion import CycleState, PopulationState, Recursion, SolvedPopulation
from slipstick.method.mean_value.traversal import Traversal, VisitTimes
from slipstick.method.mean_value.visits import SPIN_LOCKS, LockAccess, Queue, VisitedHold, VisitedStep
from slipstick.model.activity import Activity, BarrierWait, Choice, Repeat, Step, Then, steps
from slipstick.model.resources import Lock, Station
from slipstick.model.system import ClosedPopulation, GroupedPopulation, Model


def solve_closed(model: Model, numbers: Numbers, account: bool) -> MeanValueTable:
    """Answer for a closed population at all points; of several groups, time and account are those of the first.

    Parameters
    ----------
    model : with a `ClosedPopulation` or a `GroupedPopulation`
    numbers : every number of the model [points]
    account : also find the account and the use of each queue
    """
    groups, wrong = model.population.groups, out_of_range(model, numbers)
    if isinstance(model.population, GroupedPopulation):
        _refuse_barriers(model)
    for index, group in enumerate(groups):
        what = f"the processors of group {group.name}" if group.name else f"the population of {model.name}"
        wrong = {**uncountable(numbers[group.processors], what, least=int(index == 0)), **wrong}
    recursion = Recursion(model, [group.cycle for group in groups])
    labels, queues = (recursion.labels, [queue.name for queue in recursion.queues]) if account else ([], [])
    size = np.array(numbers[groups[0].processors])
    table = MeanValueTable.blank(size, labels, queues, wrong, [group.name for group in groups if group.name])
    sizes = np.stack([np.rint(numbers[group.processors].real) for group in groups], axis=-1)
    if isinstance(model.population, ClosedPopulation) and has_product_form(model, recursion):
        found = _exact_populations(recursion, numbers, sizes[:, 0], table.answerable)
    else:
        found = recursion.solve(numbers, sizes, table.answerable, model.population.counts)
    for solved in found:
        parts, uses = (recursion.account(solved, labels), recursion.uses(solved)) if account else ({}, {})
        table.put(solved.points, solved.rows, solved.state.first.time.mean, parts, uses)
        for group, cycle in zip(groups, solved.state.cycles, strict=True):
            if group.name and cycle is not None:
                table.groups[group.name][solved.points] = at_rows(cycle.time.mean, solved.rows)
    return table


def _refuse_barriers(model: Model) -> None:
    for body in model.bodies:
        for node in steps(body):
            if isinstance(node, BarrierWait):
                raise NoAnswerError(
                    f"barrier {node.name} is met by groups whose cycles differ; mean-value has no answer for that, "
                    "simulation may"
                )


def has_product_form(model: Model, recursion: Recursion) -> bool:
    """Say whether all stations of a cycle have product form, whatever the numbers.

    Steps, choices and repeats only; at a first-come station one exponential service time for all visits. A lock is such
    a station too if it is held for one exponential delay.

    Source: Baskett, Chandy, Muntz and Palacios, J. ACM 22(2), 1975, 248-260.
    """
    root = recursion.tree.root
    if not _is_plain(root):
        return False
    for queue in recursion.queues:
        resource = model.resources.get(queue.name)
        if not (queue.lock or isinstance(resource, Station)):
            return False
        if isinstance(resource, Lock) and resource.kind in SPIN_LOCKS:
            return False
        served = _steps_held(root, queue.name) if queue.lock else [v.step for v in queue.visits if v.step is not None]
        alike = all(step.scv == 1.0 and step.time == served[0].time for step in served)
        if not (queue.sharing or alike):
            return False
    return True


def _is_plain(node: Activity) -> bool:
    match node:
        case VisitedStep() | VisitedHold(_, VisitedStep(_, None)):
            return True
        case Then(parts):
            return all(map(_is_plain, parts))
        case Choice(options):
            return all(_is_plain(body) for _, body in options)
        case Repeat(_, body):
            return _is_plain(body)
    return False


def _steps_held(node: Activity, lock: str) -> list[Step | LockAccess]:
    """List the steps that are done while a lock is held."""
    match node:
        case Then(parts):
            return [step for part in parts for step in _steps_held(part, lock)]
        case Choice(options):
            return [step for _, body in options for step in _steps_held(body, lock)]
        case Repeat(_, body):
            return _steps_held(body, lock)
        case VisitedHold(visit, VisitedStep(step, _)) if visit.queue == lock:
            return [step]
    return []


def _exact_populations(
    recursion: Recursion, numbers: Numbers, sizes: Array, points: Array
) -> Iterator[SolvedPopulation]:
    """Solve all points of each population at once, in product form."""
    for size in np.unique(sizes[points]):
        chosen = points[sizes[points] == size]
        here = at_points(numbers, chosen)
        yield SolvedPopulation(_exact_state(recursion, here, int(size)), here, chosen, np.arange(len(chosen)))


def _exact_state(recursion: Recursion, numbers: Numbers, processors: int) -> PopulationState:
    ratios = recursion.tree.visit_ratios(numbers)
    alone = Traversal(recursion.model, numbers, processors, {})
    time = alone.time(recursion.tree.root)
    services = alone.found.services
    demands = {
        queue.name: sum((ratios[v.index] * services[v.index].mean for v in queue.visits), np.zeros(1))
        for queue in recursion.queues
    }
    stretch = _stretch(recursion.queues, demands, time.mean, processors)
    mean, waits = time.mean, {}
    for queue in recursion.queues:
        mean = mean + demands[queue.name] * stretch[queue.name]
        for visit in queue.visits:
            service = services[visit.index].mean
            waits[visit.index] = RandomTime(service * stretch[queue.name], 0 * service)
    cycle = CycleState(processors, RandomTime(mean, time.variance), VisitTimes(waits, services))
    return PopulationState(processors, (cycle,), ArrivalState(processors))


def _stretch(queues: Sequence[Queue], demands: dict[str, Array], time: Array, processors: int) -> dict[str, Array]:
    """Give by queue the wait in parts of the service demand [1]."""
    # The engine of queueing networks is imported only where it is needed.
    from slipstick.queueing.exact import exact
    from slipstick.queueing.network import network_arrays

    columns = np.broadcast_arrays(*demands.values(), time)
    stretch: dict[str, Array] = {queue.name: np.zeros(len(columns[-1])) for queue in queues}
    takes = columns[-1].real > 0
    if queues and np.any(takes):
        demand = np.stack([column[takes] for column in columns[:-1]], axis=-1)
        think = columns[-1][takes] - demand.sum(axis=-1)
        # Rounding may leave a little less or more than 0.
        think = np.where(think.real > 1e-14 * columns[-1][takes].real, think, 0 * think)
        made = network_arrays(
            demand[:, None, :], population=processors, think=think[:, None], servers=[q.servers for q in queues]
        )
        residence = exact(made).residence[:, 0, :]
        for index, queue in enumerate(queues):
            used = residence[:, index] / nonzero(demand[:, index])
            # A queue without demand has no wait.
            used = np.where(demand[:, index].real > 0, used, 1.0)
            stretch[queue.name] = np.zeros(len(columns[-1]), dtype=used.dtype)
            stretch[queue.name][takes] = used - 1
    return stretch
