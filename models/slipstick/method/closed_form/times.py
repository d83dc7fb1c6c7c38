"""Activities as expressions: the time of one pass, and the work asked of each resource."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import ge

from slipstick.errors import ModelError
from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Booked, Expr, Number, maximum, total, zero
from slipstick.law.pipeline import FLOW_LINE
from slipstick.method.names import BARRIER, MONITOR
from slipstick.model.activity import (
    Activity,
    Ask,
    BarrierWait,
    Choice,
    Fork,
    Hold,
    Pipeline,
    Repeat,
    Step,
    Then,
    UnitStep,
)
from slipstick.model.system import Model, TaskPool


def time(activity: Activity, model: Model, booked: bool = True, known: dict[int, Expr] | None = None) -> Expr:
    """Add up one pass through an activity without contention [s].

    Sequences add, forks take the maximum, choices their mean, pipelines the flow-line time.

    Parameters
    ----------
    activity : what is done
    model : whose resources say what a barrier costs
    booked : label each step's part, so that an account can be read off
    known : times of parts that trees share, by identity, kept for the next tree; they must outlive it
    """
    if known is None:
        return _time(activity, model, booked, None)
    if id(activity) not in known:
        known[id(activity)] = _time(activity, model, booked, known)
    return known[id(activity)]


def _time(activity: Activity, model: Model, booked: bool, known: dict[int, Expr] | None) -> Expr:
    match activity:
        case Step(name, mean):
            return Booked(name, mean) if booked else mean
        case Then(parts):
            return total((time(part, model, booked, known) for part in parts), TIME)
        case Fork(branches):
            return maximum(*(time(branch, model, booked, known) for branch in branches))
        case Choice(options):
            return total((p * time(body, model, booked, known) for p, body in options), TIME)
        case Repeat(count, body):
            return count * time(body, model, booked, known)
        case Hold(name, body):
            return total([*_access_time(name, model, booked), time(body, model, booked)], TIME)
        case BarrierWait(name):
            (cost,) = model.resources[name].expressions
            return Booked(f"{BARRIER}:{name}", cost) if booked else cost
        case Pipeline():
            return _pipeline_time(activity, model, booked)
        case UnitStep():
            return zero(TIME)
        case Ask(name):
            return _pool_time(name, model, booked)
    raise ModelError(f"an activity cannot be a {type(activity).__name__}")


def pool_work(pool: TaskPool) -> list[tuple[Expr, Expr, Expr]]:
    r"""Give work, time in the monitors and critical path of each problem of a pool, without what ends it [s].

    Each task is taken and each that another adds is added in a monitor; the path is the longest through tasks that add
    each other.

    Source: work and path as in Brent, J. ACM 21(2), 1974, and Graham, SIAM J. Appl. Math. 17(2), 1969.
    """
    found = []
    for roots, tasks in pool.source.problems():
        parts = [part for task in tasks for part in task]
        everything = sum(part[0] for part in parts), sum(part[1] for part in parts), 0
        changes = len(tasks) + sum(part[2] >= 0 for part in parts)
        paths = (_weighed(each, pool) for each in _paths(roots, tasks))
        found.append((_weighed(everything, pool), changes * pool.inside, maximum(*paths)))
    return found


def _weighed(counts: tuple[int, int, int], pool: TaskPool) -> Expr:
    """Add up interior nodes, leaves and times in the monitor [s]."""
    times = (pool.interior, pool.leaf, pool.inside)
    return total((count * each for count, each in zip(counts, times, strict=True) if count), TIME)


def _paths(roots: Sequence[int], tasks: Sequence[Sequence[tuple[int, int, int]]]) -> list[tuple[int, int, int]]:
    """Count interior nodes, leaves and times in the monitor on the paths that no other exceeds in all three."""
    ends = set()
    ahead = [(root, 0, 0, 1) for root in roots]
    while ahead:
        task, inner, outer, times = ahead.pop()
        for more_inner, more_outer, added in tasks[task]:
            inner, outer = inner + more_inner, outer + more_outer
            if added >= 0:
                times += 1
                ahead.append((added, inner, outer, times + 1))
        ends.add((inner, outer, times))
    return [one for one in ends if not any(each != one and all(map(ge, each, one)) for each in ends)]


def _pool_time(name: str, model: Model, booked: bool) -> Expr:
    """Give max(work / processors, path) and a last access, in the mean over the problems; the path's excess is a barrier's."""
    pool, population = model.resources[name], model.population
    assert isinstance(pool, TaskPool)
    processors = population.size if population.finite else total(population.counts)
    problems = pool_work(pool)
    labels, parts = (name, f"{MONITOR}:{name}", f"{BARRIER}:{name}"), list[Expr]()
    for work, inside, path in problems:
        shared = (work / processors, inside / processors)
        excess = maximum(path - total(shared, TIME), zero(TIME))
        each = (shared[0], shared[1] + pool.inside, excess)
        parts += map(Booked, labels, each) if booked else each
    return total(parts, TIME) / len(problems)


def demand(activity: Activity, resource: str, model: Model | None = None) -> Expr:
    """Add up all service that one pass asks of a resource, side by side or not [s].

    Parameters
    ----------
    activity : what is done
    resource : what is asked
    model : whose locks may have their words there; without it, accesses to lock words are not counted
    """

    def asked(node: Activity) -> Expr:
        match node:
            case Step(_, mean, used) if used == resource:
                return mean
            case Hold(name) if model is not None and model.held_resource(name).word == resource:
                return total(_access_time(name, model, booked=False), TIME)
        return zero(TIME)

    return total_work(activity, asked)


def total_work(activity: Activity, of: Callable[[Activity], Expr], known: dict[int, Expr] | None = None) -> Expr:
    """Add up a time over everything that one pass executes, side by side or not [s].

    Parameters
    ----------
    activity : what is done
    of : the time that one execution of a node adds, without the nodes inside it
    known : sums of parts that trees share, by identity
    """
    known = {} if known is None else known
    if id(activity) in known:
        return known[id(activity)]
    match activity:
        case Choice(options):
            inside = [_times(p, total_work(body, of, known)) for p, body in options]
        case Repeat(count, body):
            inside = [_times(count, total_work(body, of, known))]
        case Pipeline(stages, items):
            inside = [
                _times(items, total_work(stage.bodies[0], of, known))
                if len(stage.bodies) == 1
                else total((total_work(body, of, known) for body in stage.bodies), TIME)
                for stage in stages
            ]
        case _:
            inside = [total_work(child, of, known) for child in activity.children]
    known[id(activity)] = found = total([of(activity), *inside], TIME)
    return found


def held_time(activity: Activity, lock: str, model: Model) -> Expr:
    """Give how long one pass holds a lock, at least; a writer holds it in place of as many as can be readers [s]."""

    def held(node: Activity) -> Expr:
        if isinstance(node, Hold) and node.resource == lock:
            # It is held through the accesses to its word with which it is released.
            word = model.held_resource(lock)
            seconds = total([time(node.body, model, booked=False), word.accesses[1] * word.access], TIME)
            return model.resources[lock].capacity * seconds if node.mode == "write" else seconds
        return zero(TIME)

    return total_work(activity, held)


def _access_time(name: str, model: Model, booked: bool) -> list[Expr]:
    """Give the time of all accesses to a lock's word without contention, if there are any [s]."""
    held = model.held_resource(name)
    count = sum(held.accesses)
    if not count:
        return []
    seconds = count * held.access
    return [Booked(held.label(name), seconds) if booked else seconds]


def _times(count: Expr, work: Expr) -> Expr:
    return work if work == zero(TIME) else count * work


def _pipeline_time(pipeline: Pipeline, model: Model, booked: bool) -> Expr:
    if not pipeline.identical:
        return _uneven_items(pipeline, model, booked)
    each = [time(stage.bodies[0], model, booked) for stage in pipeline.stages]
    serial = [t for t, stage in zip(each, pipeline.stages, strict=True) if stage.kind == "serial"]
    longest = maximum(*serial) if serial else zero(TIME)
    made = FLOW_LINE(once=total(each, TIME), longest=longest, items=pipeline.items)
    assert isinstance(made, Expr)
    return made


def _uneven_items(pipeline: Pipeline, model: Model, booked: bool) -> Expr:
    """Follow each item: end[j][s] = max(end[j-1][s] if s is serial, end[j][s-1]) + t[j][s]."""
    assert isinstance(pipeline.items, Number)
    finished: list[Expr] = []
    before: list[Expr] = []
    for item in range(int(pipeline.items.value)):
        end: Expr = zero(TIME)
        ends: list[Expr] = []
        for index, stage in enumerate(pipeline.stages):
            waits = stage.kind == "serial" and item > 0
            start = maximum(before[index], end) if waits else end
            body = stage.bodies[item % len(stage.bodies)]
            end = total([start, time(body, model, booked)], TIME)
            ends.append(end)
        before = ends
        finished.append(end)
    return finished[-1] if pipeline.stages[-1].kind == "serial" else maximum(*finished)
