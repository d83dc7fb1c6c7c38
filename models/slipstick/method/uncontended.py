r"""Activities without contention: their time and work as expressions, what they keep busy, and what the time leaves out.

`time` adds up one pass, `total_work` everything that is executed, and `most_at_once` counts what can be under way together.
`Contention` says where something may be waited for, or random times be compared, so that the time alone is not exact.
`ParallelWork` says what forks and pipelines keep busy beside the line that the account follows.

The account books each instant of a processor once. Where branches or items run in parallel it follows those that the
time waits for, so it cannot say how busy the others are. Four quantities stand beside it, the same of every method. For a
cycle of mean time T (of a program: its time, per processor) let, for component c,

- W_c be the mean time of all executed steps of c, in all branches and of all items: sums of means, whatever waits;
- A_c be what the account books to c on the line that ends last.

Then

    occupation[c] = W_c / T              mean number of steps of c of one processor under way at once
    overlap[c]    = (W_c - A_c) / T      the part of it that is hidden behind the line of the account
    speedup       = N W_u / T            W_u adds up the useful components
    efficiency    = N W_u / (P T)        P processors and servers that can do useful work

    P = max(N, min(N w, sum_r min(c_r, N w_r)))

where w is the largest number of useful steps that one processor can have under way at once, w_r that of steps at
resource r, and c_r its servers: no limit for a delay, the N processors for steps at processors. A model whose useful steps
are outside forks and pipelines has w = 1, so P = N and W_u = A_u: its efficiency is the useful part of the account. For a
computation that overlaps a transfer P = N too, and efficiency is the part of the time in which the processor computes. In
a pipeline of S serial stages P = S N, for each stage can work on an item.

The serial stages of a pipeline that is executed in mean time T_p, waits included, are idle while it fills and drains,
while one waits for the next, and while their items wait for resources:

    bubble[p] = 1 - sum_s W_s / (T_p sum_s w_s)

where W_s is the time of the steps of all items in serial stage s, and w_s how many of them can be under way at once (1
but for a fork inside a stage). For identical stages of constant time it is (S - 1) / (d + S - 1) with d items.

What uses a resource is given as its utilization: visits of all branches and items count in it.

Source: work and critical path as in Brent, J. ACM 21(2), 1974; the bubble as in Huang et al., GPipe, NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import ge

import numpy as np

from slipstick.errors import ModelError
from slipstick.expression.nodes import TIME, Booked, Expr, Number, maximum, minimum, total, zero
from slipstick.expression.tape import Array, Tape
from slipstick.law.account import EFFICIENCY, SPEEDUP
from slipstick.law.pipeline import FLOW_LINE
from slipstick.method.answers import Columns, Flags, Values, at, only
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
    WaitUnit,
    each_once,
    steps,
)
from slipstick.model.system import Model, PhasedPopulation, SuperstepPopulation, TaskPool, is_processor

PROCESSORS = ""
"""Stands for all processors among the resources that steps are at."""

ROUNDING = 1e-12
"""Part of its work up to which a component that is never beside the line of the account may seem to be."""

MANY = 1e300
"""Customers of a stream that may be present at once: any number."""

FEW = 3
"""Pipelines that are named one by one in notes."""

RANDOM = "takes the longest of random times at their means, which is below the mean of the longest"


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


class ParallelWork:
    """The work in all branches and items of a model, compiled for many points.

    Parameters
    ----------
    model : the system; of groups, the first

    Attributes
    ----------
    components : those with a step inside a fork or a pipeline; of supersteps, which are many operations, only useful ones
    pipelines : those that have serial stages; of supersteps none
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        bodies = model.population.bodies if model.population.finite else model.population.bodies[:1]
        outer = [node for node in each_once(bodies) if isinstance(node, Fork | Pipeline)]
        inside = dict.fromkeys(node.component for node in each_once(outer) if isinstance(node, Step))
        supersteps = isinstance(model.population, SuperstepPopulation)
        self.components = tuple(name for name in inside if not supersteps or name in model.useful)
        pipelines = [] if supersteps else [node for node in outer if isinstance(node, Pipeline)]
        self.pipelines = {each.name: each for each in pipelines if any(stage.kind == "serial" for stage in each.stages)}
        self._numbers: dict[tuple[str, str | None], Expr] = {}
        useful = {step for step in model.steps if step.component in model.useful}
        if any(name in model.useful for name in self.components) and not model.population.open:
            self._numbers["most", ""] = _most(bodies, useful)
            for place in dict.fromkeys(_place(step) for step in model.steps if step in useful):
                self._numbers["at", place] = _most(bodies, {step for step in useful if _place(step) == place})
            self._numbers["work", ""] = _work_of(model, useful)
        for name in self.components:
            self._numbers["work of", name] = _work_of(model, {step for step in model.steps if step.component == name})
        for name, pipeline in self.pipelines.items():
            self._numbers["stages", name], self._numbers["places", name] = _serial_stages(pipeline)
        self._tape = Tape([*self._numbers.values()] or [zero(TIME)])

    def numbers(self, values: Values) -> dict[tuple[str, str | None], Array]:
        """Evaluate at aligned points: of the useful steps w, w_r and W_u, W of components, W and w of pipelines."""
        return dict(zip(self._numbers, self._tape.run(only(values, self._tape.parameters)), strict=False))

    def columns(self, values: Values, time: Array, size: Array, account: Columns, spans: Columns) -> dict[str, Array]:
        """Give what stands beside the account at aligned points, efficiency and speed-up included where they differ.

        Parameters
        ----------
        values : of the parameters
        time : of a cycle, or of the whole program [s]
        size : processors [1]
        account : seconds of a processor by component
        spans : mean time of one execution of each pipeline, where it is known [s]
        """
        numbers, found = self.numbers(values), dict[str, Array]()
        if ("work", "") in numbers:
            speedup = SPEEDUP.equation(size, EFFICIENCY.equation(numbers["work", ""], time))
            found = {"efficiency": speedup / self.workers(numbers, size), "speedup": speedup}
        for name in self.components:
            work = numbers["work of", name]
            found[f"occupation[{name}]"] = work / time
            # A maximum of random times is split approximately; a line cannot hold more than all branches.
            hidden = work - account.get(name, np.zeros(1))
            found[f"overlap[{name}]"] = np.where(hidden > ROUNDING * work, hidden, 0.0) / time
        for name in self.pipelines.keys() & spans.keys():
            found[f"bubble[{name}]"] = 1 - numbers["stages", name] / (numbers["places", name] * spans[name])
        return {name: np.broadcast_to(each, np.shape(time)) for name, each in found.items()}

    def workers(self, numbers: Mapping[tuple[str, str | None], Array], size: Array | float) -> Array:
        """Count the processors and servers P that can do useful work, of numbers as `numbers` gives them [1]."""
        limits = [self._limit(place, size * each, size) for (kind, place), each in numbers.items() if kind == "at"]
        found: Array = np.maximum(size, np.minimum(size * numbers["most", ""], sum(limits, np.zeros(1))))
        return found

    def _limit(self, place: str | None, asked: Array, size: Array | float) -> Array:
        """Limit the steps that all processors together can have under way at a place."""
        if place == PROCESSORS:
            # The others of a processor that is alone are outside the model.
            return np.where(np.equal(size, 1), asked, size)
        resource = None if place is None else self.model.resources[place]
        limited: Array = np.minimum(resource.capacity if resource else np.inf, asked)
        return limited


def _place(step: Step) -> str | None:
    return PROCESSORS if step.resource is not None and is_processor(step.resource) else step.resource


def _work_of(model: Model, counted: Collection[Step]) -> Expr:
    """Add up steps in all branches and items, for a processor in a cycle or a program [s]."""
    population, known = model.population, dict[int, Expr]()

    def work(body: Activity) -> Expr:
        return total_work(
            body, lambda node: node.time if isinstance(node, Step) and node in counted else zero(TIME), known
        )

    match population:
        case PhasedPopulation(phases):
            return total(
                (each.repeat * (each.processors / population.size) * work(each.cycle) for each in phases), TIME
            )
        case SuperstepPopulation(supersteps):
            means = (total(map(work, each.bodies), TIME) / len(each.bodies) + work(each.barrier) for each in supersteps)
            return total((each.repeat * mean for each, mean in zip(supersteps, means, strict=True)), TIME)
    return work(population.bodies[0])


def _most(bodies: Sequence[Activity], counted: Collection[Step] | None = None) -> Expr:
    """Count some of the steps, or all, that can be under way at once [1]."""
    known: dict[int, Expr] = {}

    def counts(node: Activity) -> bool:
        return isinstance(node, Step) and (counted is None or node in counted)

    return maximum(*dict.fromkeys(most_at_once(body, counts, known) for body in bodies))


def most_at_once(activity: Activity, counted: Callable[[Activity], bool], known: dict[int, Expr]) -> Expr:
    """Give the largest number of requests of an activity that can be under way at once, servers and locks left aside [1].

    Parameters
    ----------
    activity : what is done
    counted : the steps and holds that count
    known : numbers of parts that trees share, by identity
    """
    if id(activity) not in known:
        inside = [most_at_once(child, counted, known) for child in activity.children]
        match activity:
            case Step() | Hold():
                own = [Number(1.0)] if counted(activity) else []
                found = maximum(*dict.fromkeys([*own, *inside])) if own or inside else Number(0.0)
            case Fork():
                found = total(inside)
            case Pipeline(stages, items):
                bodies = iter(inside)
                each = [maximum(*dict.fromkeys(next(bodies) for _ in stage.bodies)) for stage in stages]
                lines = [
                    one if stage.kind == "serial" else items * one for stage, one in zip(stages, each, strict=True)
                ]
                # An item is at one stage at a time.
                found = minimum(total(lines), items * maximum(*dict.fromkeys(each)))
            case _:
                found = maximum(*dict.fromkeys(inside)) if inside else Number(0.0)
        known[id(activity)] = found
    return known[id(activity)]


def _serial_stages(pipeline: Pipeline) -> tuple[Expr, Expr]:
    """Give the time of all steps in the serial stages in one execution [s], and how many can be under way at once [1]."""
    serial = tuple(stage for stage in pipeline.stages if stage.kind == "serial")
    alone = replace(pipeline, stages=serial)
    work = total_work(alone, lambda node: node.time if isinstance(node, Step) else zero(TIME))
    places = [_most(stage.bodies) for stage in serial]
    return work, total(places)


_IN_WORDS = {"own": "its own processor", "other": "another processor", "each-other": "each other's processor"}
"""What a note calls the processors that serve each other."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the time of one pass leaves out at aligned points; an array of length 1 holds for all.

    Parameters
    ----------
    crowded : by resource or lock, whether waiting is possible there
    others : by the text of a note, whether it applies
    """

    crowded: Mapping[str, Flags]
    others: Mapping[str, Flags]

    def notes(self, index: int) -> tuple[str, ...]:
        """Say what is left out at one point; nothing means that the answer is exact."""
        crowded = [_IN_WORDS.get(name, name) for name, flags in self.crowded.items() if at(flags, index)]
        waiting = [f"leaves out waiting for {', '.join(crowded)}"] if crowded else []
        return (*waiting, *(note for note, flags in self.others.items() if at(flags, index)))

    def nothing(self) -> Flags:
        """Say at which points nothing is left out."""
        none = np.zeros(1, dtype=bool)
        return ~reduce(np.logical_or, [*self.crowded.values(), *self.others.values()], none)


class Contention:
    """What the time of one pass leaves out, waiting and the spread of random times, compiled for many points.

    It depends on how many there are, of processors or items: each part is a count that must exceed a number.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        population = _present(model)
        self._crowded = {
            name: (_asked_at_once(model, name, population), _servers(model, name)) for name in _queues(model)
        }
        for node in each_once(model.bodies):
            if isinstance(node, WaitUnit):
                self._crowded[node.counter] = (Number(1.0), 0)
            elif isinstance(node, Ask):
                self._crowded[f"tasks of {node.pool}"] = (population, 1)
        self._others = {**_longest_of_random(model, population), **_shared_stages(model)}
        self._tape = Tape([count for count, _ in (*self._crowded.values(), *self._others.values())])

    def left_out(self, values: Values) -> LeftOut:
        """Say what is left out at aligned points."""
        counts = iter(self._tape.run(only(values, self._tape.parameters)))
        crowded, others = (
            {name: next(counts) > most for name, (_, most) in part.items()} for part in (self._crowded, self._others)
        )
        return LeftOut(crowded, others)


Excess = tuple[Expr, int]
"""A count, and the number that it must exceed."""


def _longest_of_random(model: Model, population: Expr) -> dict[str, Excess]:
    nodes = [node for node in each_once(model.bodies) if isinstance(node, Fork | Pipeline)]
    together = [
        body
        for body in model.bodies
        if model.population.finite or any(isinstance(node, BarrierWait) for node in steps(body))
    ]
    if any(map(_is_random, nodes)):
        return {RANDOM: (Number(1.0), 0)}
    return {RANDOM: (population, 1)} if any(map(_is_random, together)) else {}


def _is_random(activity: Activity) -> bool:
    return any((isinstance(node, Step) and node.scv > 0) or isinstance(node, Choice) for node in steps(activity))


def _shared_stages(model: Model) -> dict[str, Excess]:
    """Name the resources that several stages of one pipeline share; many pipelines that share the same in one note."""
    sharing: dict[tuple[str, ...], dict[str, Expr]] = {}
    for node in each_once(model.bodies):
        if isinstance(node, Pipeline):
            users = [_used(stage.bodies) for stage in node.stages]
            shared = tuple(name for name in sorted(set().union(*users)) if sum(name in used for used in users) > 1)
            if shared:
                sharing.setdefault(shared, {})[node.name] = node.items
    notes: dict[str, Excess] = {}
    for shared, items in sharing.items():
        used = f"as separate servers, though several use {', '.join(_IN_WORDS.get(name, name) for name in shared)}"
        if len(items) > FEW:
            notes[f"takes the stages of {len(items)} pipelines {used}"] = (maximum(*items.values()), 1)
        else:
            notes |= {f"takes the stages of {name} {used}": (each, 1) for name, each in items.items()}
    return notes


def _used(bodies: Iterable[Activity]) -> set[str]:
    found = {node.resource for body in bodies for node in steps(body) if isinstance(node, Step)}
    return {name for name in found if name not in (None, "each-other")}


def _queues(model: Model) -> list[str]:
    """List what can be waited for: the resources that steps use, then the locks."""
    used = [step.resource for step in model.steps if step.resource is not None]
    held = [node.resource for node in each_once(model.bodies) if isinstance(node, Hold)]
    return list(dict.fromkeys([*used, *held]))


def _servers(model: Model, name: str) -> int:
    writers = any(
        isinstance(node, Hold) and (node.resource, node.mode) == (name, "write") for node in each_once(model.bodies)
    )
    return 1 if is_processor(name) or writers else model.resources[name].capacity


def _asked_at_once(model: Model, name: str, present: Expr) -> Expr:
    """Bound from above how many requests a resource can have at one moment [1]."""
    if isinstance(model.population, SuperstepPopulation) or name == "each-other":
        # Each item or branch asks another processor, but so may every other asker.
        return present
    known: dict[int, Expr] = {}
    widths = [most_at_once(body, lambda node: _asks(node, name), known) for body in model.bodies]
    if model.population.groups and not is_processor(name):
        return total(width * each.processors for width, each in zip(widths, model.population.groups, strict=True))
    width = maximum(*dict.fromkeys(widths))
    if name == "own":
        others = present - 1 if {step.resource for step in model.steps} & {"other", "each-other"} else 0.0
        return width + others
    return width * present


def _asks(node: Activity, name: str) -> bool:
    return isinstance(node, Step | Hold) and node.resource == name


def _present(model: Model) -> Expr:
    """Give how many processors are present at most [1]."""
    population = model.population
    return Number(MANY) if population.open else population.size if population.finite else total(population.counts)
