r"""The closed form: times added up without contention; exact where nothing waits and no maximum is
random.

`time` adds up one pass of an activity, `total_work` everything that is executed, and `most_at_once`
counts what can be under way together. `Contention` says where something may be waited for, or
random times be compared, so that the time alone is not exact; `Saturation` and `Deadlocks` where a
model has no steady state. `ParallelWork` says what forks and pipelines keep busy beside the line
that the account follows. `ClosedForm` compiles all of it with the account, the stages of pipelines
and the work asked of each station; of groups, time and account are those of the first. Then stand
the parameter values at which another stage of a pipeline becomes the longest (`with_takeovers`),
and laws, which are closed forms as they stand.

The account books each instant of a processor once. Where branches or items run in parallel it
follows those that the time waits for, so it cannot say how busy the others are. Four quantities
stand beside it, the same of every method. For a cycle of mean time T (of a program: its time, per
processor) let, for component c,

- W_c be the mean time of all executed steps of c, in all branches and of all items: sums of means,
  whatever waits;
- A_c be what the account books to c on the line that ends last.

Then

    occupation[c] = W_c / T              mean number of steps of c of one processor under way at once
    overlap[c]    = (W_c - A_c) / T      the part of it that is hidden behind the line of the account
    speedup       = N W_u / T            W_u adds up the useful components
    efficiency    = N W_u / (P T)        P processors and servers that can do useful work

    P = max(N, min(N w, sum_r min(c_r, N w_r)))

where w is the largest number of useful steps that one processor can have under way at once, w_r
that of steps at resource r, and c_r its servers: no limit for a delay, the N processors for steps
at processors. A model whose useful steps are outside forks and pipelines has w = 1, so P = N and
W_u = A_u: its efficiency is the useful part of the account. For a computation that overlaps a
transfer P = N too, and efficiency is the part of the time in which the processor computes. In a
pipeline of S serial stages P = S N, for each stage can work on an item.

The serial stages of a pipeline that is executed in mean time T_p, waits included, are idle while it
fills and drains, while one waits for the next, and while their items wait for resources:

    bubble[p] = 1 - sum_s W_s / (T_p sum_s w_s)

where W_s is the time of the steps of all items in serial stage s, and w_s how many of them can be
under way at once (1 but for a fork inside a stage). For identical stages of constant time it is (S
- 1) / (d + S - 1) with d items.

What uses a resource is given as its utilization: visits of all branches and items count in it.

Source: work and critical path as in Brent, J. ACM 21(2), 1974; the bubble as in Huang et al.,
GPipe, NeurIPS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import ge

from slipstick.answer import Limit, Takeover
from slipstick.errors import ModelError
from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import (
    TIME,
    Booked,
    Expr,
    Number,
    Parameter,
    maximum,
    minimum,
    parameters,
    substitute,
    total,
    zero,
)
from slipstick.expression.tape import Derivatives, Tape
from slipstick.late import Array, np
from slipstick.law import Law
from slipstick.law.account import EFFICIENCY, SPEEDUP
from slipstick.law.pipeline import FLOW_LINE
from slipstick.method.answers import (
    Columns,
    CompiledModel,
    Flags,
    Gradient,
    Remarks,
    SingleProcessorValues,
    Solution,
    Values,
    activity_solution,
    at,
    only,
)
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
from slipstick.model.system import (
    BARRIER,
    IDLE_PROCESSORS,
    MONITOR,
    HeldResource,
    Model,
    OpenPopulation,
    Permits,
    PhasedPopulation,
    Station,
    SuperstepPopulation,
    TaskPool,
    is_processor,
)
from slipstick.vocabulary import CLOSED_FORM

PROCESSORS, NOWHERE = "own", ""
"""Stand for all processors, and for no resource, among those that steps are at."""

ROUNDING = 1e-12
"""Overlap, as a part of the work of a component, up to which it is rounding."""

MANY = 1e300
"""Customers of a stream that may be present at once: any number."""

FEW = 3
"""Pipelines that are named one by one in notes."""

RANDOM = "takes the longest of random times at their means, which is below the mean of the longest"


def time(
    activity: Activity, model: Model, booked: bool = True, known: dict[int, Expr] | None = None
) -> Expr:
    """Add up one pass through an activity without contention [s].

    Sequences add, forks take the maximum, choices their mean, pipelines the flow-line time.

    Parameters
    ----------
    activity : what is done
    model : whose resources say what a barrier costs
    booked : label each step's part, so that an account can be read off
    known : times of parts that trees share, by identity, kept for the next tree; they must outlive
        it
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
    r"""Return work, time in the monitors and critical path of each problem of a pool, without what
    ends it [s].

    Each task is taken and each that another adds is added in a monitor; the path is the longest
    through tasks that add each other.

    Source: work and path as in Brent, J. ACM 21(2), 1974, and Graham, SIAM J. Appl. Math. 17(2),
    1969.
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


def _paths(
    roots: Sequence[int], tasks: Sequence[Sequence[tuple[int, int, int]]]
) -> list[tuple[int, int, int]]:
    """Count interior nodes, leaves and times in the monitor on the paths that no other exceeds
    in all three.
    """
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
    return [
        one for one in ends if not any(each != one and all(map(ge, each, one)) for each in ends)
    ]


def _pool_time(name: str, model: Model, booked: bool) -> Expr:
    """Return max(work / processors, path) and a last access, in the mean over the problems; the
    path's excess is a barrier's.
    """
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


def demands(activity: Activity, model: Model) -> dict[str, Expr]:
    """Add up all service that one pass asks of each resource, side by side or not; locks may
    have their words there [s].
    """

    def asked(node: Activity) -> dict[str, Expr]:
        match node:
            case Step(_, mean, used) if used is not None:
                return {used: mean}
            case Hold(name) if (word := model.held_resource(name).word) is not None:
                return {word: total(_access_time(name, model, booked=False), TIME)}
        return {}

    return total_work(activity, asked)


def total_work(
    activity: Activity,
    of: Callable[[Activity], dict[str, Expr]],
    known: dict[int, dict[str, Expr]] | None = None,
) -> dict[str, Expr]:
    """Add up times over everything that one pass executes, side by side or not, by name [s].

    Parameters
    ----------
    activity : what is done
    of : the times that one execution of a node adds, without the nodes inside it
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
                (
                    _times(items, total_work(stage.bodies[0], of, known))
                    if len(stage.bodies) == 1
                    else _added(total_work(body, of, known) for body in stage.bodies)
                )
                for stage in stages
            ]
        case _:
            inside = [total_work(child, of, known) for child in activity.children]
    known[id(activity)] = found = _added([of(activity), *inside])
    return found


def _by_name(
    parts: Iterable[Mapping[str, Expr]], joined: Callable[[list[Expr]], Expr]
) -> dict[str, Expr]:
    """Join what stands under the same name, in order."""
    terms: dict[str, list[Expr]] = {}
    for part in parts:
        for name, each in part.items():
            terms.setdefault(name, []).append(each)
    return {name: joined(each) for name, each in terms.items()}


def _added(parts: Iterable[Mapping[str, Expr]]) -> dict[str, Expr]:
    return _by_name(parts, lambda terms: total(terms, TIME))


def _times(count: Expr, work: Mapping[str, Expr]) -> dict[str, Expr]:
    return {name: each if each == zero(TIME) else count * each for name, each in work.items()}


def held_times(activity: Activity, model: Model) -> dict[str, Expr]:
    """Return how long one pass holds each lock, at least; a writer holds it in place of as many as
    can be readers [s].
    """

    def held(node: Activity) -> dict[str, Expr]:
        if not isinstance(node, Hold):
            return {}
        # It is held through the accesses to its word with which it is released.
        word = model.held_resource(node.resource)
        seconds = total(
            [time(node.body, model, booked=False), word.accesses[1] * word.access], TIME
        )
        capacity = model.resources[node.resource].capacity
        return {node.resource: capacity * seconds if node.mode == "write" else seconds}

    return total_work(activity, held)


def _time_of(node: Activity, key: Callable[[Step], str | None]) -> dict[str, Expr]:
    """Return the time of a step under its key; nothing of what is no step, or has none."""
    name = key(node) if isinstance(node, Step) else None
    return {name: node.time} if isinstance(node, Step) and name is not None else {}


def _access_time(name: str, model: Model, booked: bool) -> list[Expr]:
    """Return the time of all accesses to a lock's word without contention, if there are any [s]."""
    held = model.held_resource(name)
    count = sum(held.accesses)
    if not count:
        return []
    seconds = count * held.access
    return [Booked(held.label(name), seconds) if booked else seconds]


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
    components : those with a step inside a fork or a pipeline; of supersteps, which are many
        operations, only useful ones
    pipelines : those that have serial stages; of supersteps none
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        bodies = model.population.bodies if model.population.finite else model.population.bodies[:1]
        outer = [node for node in each_once(bodies) if isinstance(node, Fork | Pipeline)]
        inside = dict.fromkeys(
            node.component for node in each_once(outer) if isinstance(node, Step)
        )
        supersteps = isinstance(model.population, SuperstepPopulation)
        self.components = tuple(name for name in inside if not supersteps or name in model.useful)
        pipelines = [] if supersteps else [node for node in outer if isinstance(node, Pipeline)]
        self.pipelines = {
            each.name: each
            for each in pipelines
            if any(stage.kind == "serial" for stage in each.stages)
        }
        self._numbers: dict[tuple[str, str], Expr] = {}
        useful = {step for step in model.steps if step.component in model.useful}
        if any(name in model.useful for name in self.components) and not model.population.open:
            self._numbers["most", ""] = _most(bodies, lambda step: "" if step in useful else None)[
                ""
            ]
            places = _most(bodies, lambda step: _place(step) if step in useful else None)
            self._numbers |= {("at", place): each for place, each in places.items()}
            self._numbers["work", ""] = _work_of_steps(
                model, lambda step: "" if step in useful else None
            )[""]
        works = _work_of_steps(model, lambda step: step.component)
        self._numbers |= {("work of", name): works[name] for name in self.components}
        for name, pipeline in self.pipelines.items():
            self._numbers["stages", name], self._numbers["places", name] = _serial_work(pipeline)
        self._tape = Tape([*self._numbers.values()] or [zero(TIME)])

    def numbers(self, values: Values) -> dict[tuple[str, str], Array]:
        """Evaluate at aligned points: of the useful steps w, w_r and W_u, W of components, W and
        w of pipelines.
        """
        return dict(
            zip(self._numbers, self._tape.run(only(values, self._tape.parameters)), strict=False)
        )

    def columns(
        self, values: Values, time: Array, size: Array, account: Columns, spans: Columns
    ) -> dict[str, Array]:
        """Return occupation, overlap and bubbles at aligned points, and efficiency and speed-up
        where they differ from the account.

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
            # A maximum of random times is split approximately; a line cannot hold more than all
            # branches.
            hidden = work - account.get(name, np.zeros(1))
            found[f"overlap[{name}]"] = np.where(hidden > ROUNDING * work, hidden, 0.0) / time
        for name in self.pipelines.keys() & spans.keys():
            found[f"bubble[{name}]"] = 1 - numbers["stages", name] / (
                numbers["places", name] * spans[name]
            )
        return {name: np.broadcast_to(each, np.shape(time)) for name, each in found.items()}

    def workers(self, numbers: Mapping[tuple[str, str], Array], size: Array | float) -> Array:
        """Count the processors and servers P that can do useful work, of numbers as `numbers`
        gives them [1].
        """
        limits = [
            self._limit(place, size * each, size)
            for (kind, place), each in numbers.items()
            if kind == "at"
        ]
        found: Array = np.maximum(
            size, np.minimum(size * numbers["most", ""], sum(limits, np.zeros(1)))
        )
        return found

    def _limit(self, place: str, asked: Array, size: Array | float) -> Array:
        """Limit the steps that all processors together can have under way at a place."""
        if place == PROCESSORS:
            # The others of a processor that is alone are outside the model.
            return np.where(np.equal(size, 1), asked, size)
        limited: Array = np.minimum(
            np.inf if place == NOWHERE else self.model.resources[place].capacity, asked
        )
        return limited


def _place(step: Step) -> str:
    if step.resource is None:
        return NOWHERE
    return PROCESSORS if is_processor(step.resource) else step.resource


def _work_of_steps(model: Model, key: Callable[[Step], str | None]) -> dict[str, Expr]:
    """Add up steps in all branches and items by a key, for a processor in a cycle or a program
    [s].
    """
    population, known = model.population, dict[int, dict[str, Expr]]()

    def work(body: Activity) -> dict[str, Expr]:
        return total_work(body, lambda node: _time_of(node, key), known)

    match population:
        case PhasedPopulation(phases):
            shares = (each.repeat * (each.processors / population.size) for each in phases)
            return _added(
                _times(share, work(each.cycle)) for share, each in zip(shares, phases, strict=True)
            )
        case SuperstepPopulation(supersteps):
            means = (
                {
                    name: one / len(each.bodies)
                    for name, one in _added(map(work, each.bodies)).items()
                }
                for each in supersteps
            )
            whole = (
                _added([mean, work(each.barrier)])
                for mean, each in zip(means, supersteps, strict=True)
            )
            return _added(
                _times(each.repeat, one) for each, one in zip(supersteps, whole, strict=True)
            )
    return work(population.bodies[0])


def _most(bodies: Sequence[Activity], key: Callable[[Step], str | None]) -> dict[str, Expr]:
    """Count steps by a key that can be under way at once [1]."""
    known: dict[int, dict[str, Expr]] = {}

    def counted(node: Activity) -> str | None:
        return key(node) if isinstance(node, Step) else None

    return _by_name((most_at_once(body, counted, known) for body in bodies), _largest)


def most_at_once(
    activity: Activity, counted: Callable[[Activity], str | None], known: dict[int, dict[str, Expr]]
) -> dict[str, Expr]:
    """Return the largest numbers of requests of an activity that can be under way at once, servers
    and locks left aside [1].

    Parameters
    ----------
    activity : what is done
    counted : what a step or a hold is counted under, if it counts
    known : numbers of parts that trees share, by identity
    """
    if id(activity) not in known:
        inside = [most_at_once(child, counted, known) for child in activity.children]
        match activity:
            case Fork():
                found = _by_name(inside, total)
            case Pipeline(stages, items):
                bodies = iter(inside)
                each = [
                    _by_name([next(bodies) for _ in stage.bodies], _largest) for stage in stages
                ]
                lines = [
                    {
                        name: one if stage.kind == "serial" else items * one
                        for name, one in ones.items()
                    }
                    for stage, ones in zip(stages, each, strict=True)
                ]
                most = _by_name(each, _largest)
                # An item is at one stage at a time.
                found = {
                    name: minimum(all_, items * most[name])
                    for name, all_ in _by_name(lines, total).items()
                }
            case _:
                name = counted(activity) if isinstance(activity, Step | Hold) else None
                found = _by_name([{} if name is None else {name: Number(1.0)}, *inside], _largest)
        known[id(activity)] = found
    return known[id(activity)]


def _largest(terms: Iterable[Expr]) -> Expr:
    return maximum(*dict.fromkeys(terms))


def _serial_work(pipeline: Pipeline) -> tuple[Expr, Expr]:
    """Return the time of all steps in the serial stages in one execution [s], and how many can be
    under way at once [1].
    """
    serial = tuple(stage for stage in pipeline.stages if stage.kind == "serial")
    alone = replace(pipeline, stages=serial)
    work = total_work(alone, lambda node: _time_of(node, lambda _: ""))
    places = [_most(stage.bodies, lambda _: "").get("", Number(0.0)) for stage in serial]
    return work.get("", zero(TIME)), total(places)


_IN_WORDS = {
    "own": "its own processor",
    "other": "another processor",
    "each-other": "each other's processor",
}
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
        """List what is left out at one point; an empty list means that the answer is exact."""
        crowded = [
            _IN_WORDS.get(name, name) for name, flags in self.crowded.items() if at(flags, index)
        ]
        waiting = [f"leaves out waiting for {', '.join(crowded)}"] if crowded else []
        return (*waiting, *(note for note, flags in self.others.items() if at(flags, index)))

    def nothing(self) -> Flags:
        """Say at which points nothing is left out."""
        none = np.zeros(1, dtype=bool)
        return ~reduce(np.logical_or, [*self.crowded.values(), *self.others.values()], none)


class Contention:
    """What the time of one pass leaves out, waiting and the spread of random times, compiled for
    many points.

    It depends on how many there are, of processors or items: each part is a count that must exceed
    a number.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        population = _present(model)
        held = [node for node in each_once(model.bodies) if isinstance(node, Hold)]
        written = {node.resource for node in held if node.mode == "write"}
        # What can be waited for: the resources that steps use, then the locks.
        queues = dict.fromkeys(
            [step.resource for step in model.steps] + [node.resource for node in held]
        )
        asked = _asked_at_once(model, population, [name for name in queues if name is not None])
        self._crowded = {
            name: (
                count,
                1 if is_processor(name) or name in written else model.resources[name].capacity,
            )
            for name, count in asked.items()
        }
        for node in each_once(model.bodies):
            if isinstance(node, WaitUnit):
                self._crowded[node.counter] = (Number(1.0), 0)
            elif isinstance(node, Ask):
                self._crowded[f"tasks of {node.pool}"] = (population, 1)
            elif isinstance(node, BarrierWait):
                self._crowded[node.name] = _met_by_others(model, node, population)
        self._others = {**_longest_of_random(model, population), **_shared_stages(model)}
        self._tape = Tape([count for count, _ in (*self._crowded.values(), *self._others.values())])

    def left_out(self, values: Values) -> LeftOut:
        """Find what is left out at aligned points."""
        counts = iter(self._tape.run(only(values, self._tape.parameters)))
        crowded, others = (
            {name: next(counts) > most for name, (_, most) in part.items()}
            for part in (self._crowded, self._others)
        )
        return LeftOut(crowded, others)


Excess = tuple[Expr, int]
"""A count, and the number that it must exceed."""


def _met_by_others(model: Model, wait: BarrierWait, population: Expr) -> Excess:
    """Count those that a barrier makes wait though their times are constant: groups that differ,
    or all but its parties.
    """
    if wait.parties is not None:
        return population, wait.parties
    there = [
        minimum(group.processors, 1)
        for group in model.population.groups
        if any(
            isinstance(node, BarrierWait) and node.name == wait.name for node in steps(group.cycle)
        )
    ]
    return total(there), 1


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
    return any(
        (isinstance(node, Step) and node.scv > 0) or isinstance(node, Choice)
        for node in steps(activity)
    )


def _shared_stages(model: Model) -> dict[str, Excess]:
    """Name the resources that several stages of one pipeline share; many pipelines that share
    the same in one note.
    """
    sharing: dict[tuple[str, ...], dict[str, Expr]] = {}
    for node in each_once(model.bodies):
        if isinstance(node, Pipeline):
            users = [_used(stage.bodies) for stage in node.stages]
            shared = tuple(
                name
                for name in sorted(set().union(*users))
                if sum(name in used for used in users) > 1
            )
            if shared:
                sharing.setdefault(shared, {})[node.name] = node.items
    notes: dict[str, Excess] = {}
    for shared, items in sharing.items():
        used = (
            "as separate servers, though several use"
            f" {', '.join(_IN_WORDS.get(name, name) for name in shared)}"
        )
        if len(items) > FEW:
            notes[f"takes the stages of {len(items)} pipelines {used}"] = (
                maximum(*items.values()),
                1,
            )
        else:
            notes |= {
                f"takes the stages of {name} {used}": (each, 1) for name, each in items.items()
            }
    return notes


def _used(bodies: Iterable[Activity]) -> set[str]:
    found = {node.resource for body in bodies for node in steps(body) if isinstance(node, Step)}
    return {name for name in found if name not in (None, "each-other")}


def _asked_at_once(model: Model, present: Expr, names: Sequence[str]) -> dict[str, Expr]:
    """Bound from above how many requests each resource can have at one moment [1]."""
    if isinstance(model.population, SuperstepPopulation):
        return dict.fromkeys(names, present)
    known: dict[int, dict[str, Expr]] = {}
    widths = [
        most_at_once(body, lambda node: getattr(node, "resource", None), known)
        for body in model.bodies
    ]
    counts = [each.processors for each in model.population.groups]

    def at_once(name: str) -> Expr:
        each = [width.get(name, Number(0.0)) for width in widths]
        if (
            name == "each-other"
        ):  # each item or branch asks another processor, but so may every other asker
            return present
        if counts and not is_processor(name):
            return total(width * count for width, count in zip(each, counts, strict=True))
        if name == "own":
            return _largest(each) + (present - 1 if {"other", "each-other"} & set(names) else 0.0)
        return _largest(each) * present

    return {name: at_once(name) for name in names}


def _present(model: Model) -> Expr:
    """Return how many processors are present at most [1]."""
    population = model.population
    return (
        Number(MANY)
        if population.open
        else population.size
        if population.finite
        else total(population.counts)
    )


class Saturation:
    """The loads of the resources of an open model, compiled together; of other models there are
    none.

    A station is busy for the service that is asked of it. A lock or a number of permits is held for
    what is done while it is held, waits at other resources left out, so a model that is not
    saturated here may be saturated all the same.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import open_model
    >>> Saturation(open_model(hold("door", delay(0.2, name="a")), 6.0)).reasons({})[0][:47]
    'lock door is saturated: 6/s arrive, fewer than '
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._work: dict[str, Expr] = {}
        if isinstance(model.population, OpenPopulation):
            cycle = model.population.cycle
            asked = demands(cycle, model) | held_times(cycle, model)
            kinds = (Station, HeldResource)
            self._work = {
                k: asked.get(k, zero(TIME))
                for k, each in model.resources.items()
                if isinstance(each, kinds)
            }
            self._tape = Tape([model.population.rate, *self._work.values()])

    def reasons(self, values: Values) -> dict[int, str]:
        """Find the aligned points, by number, at which a resource is saturated, with the first
        of them in words.
        """
        if not self._work:
            return {}
        columns = self._tape.run(only(values, self._tape.parameters))
        rate, *work = (np.broadcast_to(each, (_points(values),)) for each in columns)
        found: dict[int, str] = {}
        for name, each in zip(self._work, work, strict=True):
            loads = rate * each / self._model.resources[name].capacity
            for index in np.flatnonzero(loads >= 1):
                found.setdefault(
                    int(index),
                    saturated_text(self._model, name, float(rate[index]), float(loads[index])),
                )
        return found


def without(column: Array, points: Collection[int]) -> Array:
    """Replace a column by NaN at some points."""
    if not points:
        return column
    taken = np.isin(np.arange(len(column)), list(points))
    return np.where(taken, np.nan, column)


def saturated_text(model: Model, name: str, rate: float, load: float) -> str:
    """Word the saturation of one resource.

    Parameters
    ----------
    model, name : the resource
    rate : of the arrivals [1/s]
    load : time for which it is asked, over the time that there is [1]
    """
    resource = model.resources[name]
    kind = (
        "station"
        if isinstance(resource, Station)
        else "permits"
        if isinstance(resource, Permits)
        else "lock"
    )
    return (
        f"{kind} {name} is saturated: {rate:g}/s arrive, fewer than {rate / load:.4g}/s can be"
        f" served (load {load:.3g}, the limit is 1); lower the arrivals, or shorten what is asked"
        " of it"
    )


class Deadlocks:
    """The processors that can wait for each other without end at locks taken in a cycle; see
    `lock_cycle`.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        self._words, self._processors = lock_cycle(model)
        self._population = model.population
        self._tape = Tape(list(self._population.counts))

    def reasons(self, values: Values) -> dict[int, tuple[str]]:
        """Find the aligned points, by number, with enough processors for a deadlock."""
        return (
            self.among(self._tape.run(only(values, self._tape.parameters)), _points(values))
            if self._words
            else {}
        )

    def among(self, sizes: Sequence[Array], points: int) -> dict[int, tuple[str]]:
        """Find them from the sizes of the populations, in the order of `counts`: of phases, of
        groups, or of all [points].
        """
        if not self._words:
            return {}
        present = np.full(points, np.inf if self._population.open else 0.0)
        for each in sizes:
            present = (
                np.maximum(present, each.real) if self._population.finite else present + each.real
            )
        return {int(index): (self._words,) for index in np.flatnonzero(present >= self._processors)}


def lock_cycle(model: Model) -> tuple[str, int]:
    """Find locks, or permits of one, that are taken in a cycle, so that their holders may wait for
    each other.

    Two requests are no danger to each other if one lock is held at both, or if a barrier of all
    processors or the end of a phase is between them.

    Source: Coffman, Elphick and Shoshani, ACM Computing Surveys 3(2), 1971, 67-78 (circular wait).

    Parameters
    ----------
    model : the system

    Returns
    -------
    which locks they are, in words, and the processors that it takes: one for each lock, or one
    whose branches take them; no words where there are none

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import closed_model
    >>> there, back = hold("a", hold("b", delay(1.0, name="x"))), hold("b", hold("a", delay(1.0, name="y")))
    >>> lock_cycle(closed_model(there >> back, processors=2))[0][:45], lock_cycle(closed_model(there, processors=2))
    ('locks a and b are taken in both orders: their', ('', 0))
    """
    exclusive = [
        each for each in model.resources.values() if each.use == "hold" and each.capacity == 1
    ]
    together = bool(model.population.groups)
    found: dict[_NestedHold, None] = {}
    for number, body in enumerate(model.bodies if len(exclusive) > 1 else ()):
        found.update(dict.fromkeys(_nested_holds(model, body, 0 if together else number)))
    requests = _without_ends(list(found))
    locks = next(filter(None, (_closing((request,), requests) for request in requests)), ())
    if not locks:
        return "", 0
    branches = any(_requests_in_branches(body, locks) for body in model.bodies)
    *others, last = locks
    order = "in a cycle" if len(others) > 1 else "in both orders"
    words = (
        f"locks {', '.join(others)} and {last} are taken {order}: their holders may wait for each"
        " other without end"
    )
    return f"{words}; take them in one order", 1 if branches else len(locks)


@dataclass(frozen=True, slots=True)
class _NestedHold:
    """A lock requested while another is held, in a part of a body between two barriers of all
    processors.

    Parameters
    ----------
    held, wanted : the two locks
    guards : all locks held at that moment
    section : number of the part
    """

    held: str
    wanted: str
    guards: frozenset[str]
    section: tuple[int, int]


def _without_ends(requests: list[_NestedHold]) -> list[_NestedHold]:
    """Remove requests that are in no cycle, because a path ends there; where locks have an
    order, these are all.
    """
    while True:
        going_on = {(each.section, each.held) for each in requests}
        kept = [each for each in requests if (each.section, each.wanted) in going_on]
        if len(kept) == len(requests):
            return kept
        requests = kept


def _closing(path: tuple[_NestedHold, ...], requests: Sequence[_NestedHold]) -> tuple[str, ...]:
    """Follow requests from lock to lock until the first is reached again; give the locks passed,
    or nothing.
    """
    first, last = path[0], path[-1]
    if last.wanted == first.held:
        return tuple(each.held for each in path)
    for request in requests:
        apart = request.section == first.section and not any(
            request.guards & each.guards for each in path
        )
        if request.held == last.wanted and apart:
            locks = _closing((*path, request), requests)
            if locks:
                return locks
    return ()


def _requests_in_branches(body: Activity, locks: Sequence[str]) -> bool:
    """Return whether some of the locks are taken in a fork or pipeline, whose parts run at the same
    time.
    """
    branches = (node for node in steps(body) if isinstance(node, Fork | Pipeline))
    return any(
        isinstance(each, Hold) and each.resource in locks
        for node in branches
        for each in steps(node)
    )


def _nested_holds(model: Model, cycle: Activity, body: int) -> Iterator[_NestedHold]:
    """List the requests of a body, section by section; `body` numbers those that run one after
    the other.
    """
    found, sections = list[_NestedHold](), 0

    def visit(node: Activity, held: frozenset[str]) -> None:
        nonlocal sections
        sections += isinstance(node, BarrierWait) and node.parties is None
        if isinstance(node, Hold) and model.resources[node.resource].capacity == 1:
            found.extend(
                _NestedHold(each, node.resource, held, (body, sections)) for each in sorted(held)
            )
            held = held | {node.resource}
        for part in node.children:
            visit(part, held)

    visit(cycle, frozenset())
    # What comes after the last barrier is done with what comes before the first.
    yield from (
        replace(each, section=(body, 0)) if each.section[1] == sections else each for each in found
    )


def _points(values: Values) -> int:
    return max([1, *(np.size(each) for each in values.values())])


class ClosedForm(CompiledModel):
    """A model compiled for its closed form; many points cost little more than one.

    Parameters
    ----------
    model : the system

    Attributes
    ----------
    time : the time of a cycle, or of the whole program, as an expression [s]
    account : the same time, each processor's parts booked to its own line [s]
    stages : time of one item at each serial stage of each pipeline of identical items [s]
    tape : everything compiled together

    Of groups, time and account are those of the first; the others' times stand beside them.

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="work") >> service("bus", 3.0, component="wait")
    >>> ClosedForm(closed_model(cycle, processors=4)).times({"work": np.array([6.0, 9.0])})
    array([ 9., 12.])
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.time = whole_time(model)
        self.stages = _stage_times(model)
        self.account = _account_time(model)
        self._work = _demands(model.bodies[0], model) if model.population.groups else {}
        self._contention = Contention(model)
        self._groups = _groups(model)
        self._parallel = ParallelWork(model)
        self._spans = {
            name: time(each, model, booked=False) for name, each in self._parallel.pipelines.items()
        }
        stage_times = [t for each in self.stages.values() for t in each.values()]
        of_groups = [
            each
            for times, size, work in self._groups.values()
            for each in (times, size, *work.values())
        ]
        others = [
            model.population.size,
            *stage_times,
            *self._work.values(),
            *of_groups,
            *self._spans.values(),
        ]
        self.tape = Tape([self.time, self.account, *others])
        self.parameters = tuple(self.tape.parameters)
        self._time_alone = Tape([self.time])
        self._saturation, self._deadlocks = Saturation(model), Deadlocks(model)
        self._single = (
            SingleProcessorValues(model.single, ClosedForm(model.single.model))
            if model.single
            else None
        )

    def brief(self, values: Values) -> Solution:
        """Evaluate the time alone: the fast path for large sweeps [s, points]; NaN where it
        comes out negative.
        """
        self.tape.check_names(values)
        result = _not_negative(self._time_alone.run(only(values, self._time_alone.parameters))[0])
        points = [np.size(value) for value in values.values() if np.size(value) != 1]
        time = np.full(points[0], result) if points and len(result) == 1 else result
        time = without(time, self._saturation.reasons(values))
        return Solution(
            model=self.model.name,
            method=CLOSED_FORM,
            count=len(time),
            exact=self.exact(values),
            values={self.quantity: time},
        )

    def exact(self, values: Values) -> Flags:
        """Say at which points nothing is left out; one flag where it is the same at all of them."""
        return self._contention.left_out(values).nothing()

    def solution(self, values: Values) -> Solution:
        """Evaluate time, account and derivatives at aligned points."""
        whole = self.tape.differentiate(values, 0)
        split = whole if self.account is self.time else self.tape.differentiate(values, 1)
        others = iter(self.tape.run(values)[2:])
        size = next(others)
        stages = {
            name: {stage: next(others) for stage in each} for name, each in self.stages.items()
        }
        work = {name: next(others) for name in self._work}
        groups = {
            name: (next(others), next(others), {station: next(others) for station in asked})
            for name, (_, _, asked) in self._groups.items()
        }
        left_out = self._contention.left_out(values)
        spans = {name: next(others) for name in self._spans}
        nothing, time = left_out.nothing(), _not_negative(whole.value)
        saturated, deadlocks = self._saturation.reasons(values), self._deadlocks.reasons(values)
        time = without(time, saturated)
        single = self._single.values(values, whole.value, size) if self._single else {}
        with np.errstate(all="ignore"):
            busy = {
                name: size / time * each + _asked_by_others(name, groups)
                for name, each in work.items()
            }
        return activity_solution(
            self.model,
            CLOSED_FORM,
            time,
            size,
            split.booked,
            exact=nothing,
            groups={name: (each, members) for name, (each, members, _) in groups.items()},
            single={name: np.where(nothing, each, np.nan) for name, each in single.items()},
            uses={
                name: _use(each, self.model.resources[name].capacity, nothing)
                for name, each in busy.items()
            },
            beside=lambda account: self._parallel.columns(values, time, size, account, spans),
            other_labels="memory",
            once=whole.once,
            stages=stages,
            remarks=lambda index: (
                Remarks(failed=saturated[index])
                if index in saturated
                else self._remarks(
                    at(whole.value, index),
                    at(size, index),
                    (*left_out.notes(index), *deadlocks.get(index, ())),
                )
            ),
            gradient=lambda index: _gradient(self.quantity, whole, self.tape, index),
        )

    def _remarks(self, time: float, size: float, left_out: tuple[str, ...]) -> Remarks:
        counted = bool(self.model.population.groups)
        if counted and size < 1:
            return Remarks(
                failed=(
                    f"the population of {self.model.name} comes out as {size:g} processors; one or"
                    " more work"
                )
            )
        if counted and size != math.floor(size):
            left_out = (
                f"{size:g} processors are no whole number; each formula takes them as they are",
                *left_out,
            )
        if not (math.isfinite(time) and time >= 0):
            cause = (
                "a time cannot be negative"
                if time < 0
                else "a value is too large, or a divisor is 0"
            )
            return Remarks(failed=f"the time of {self.model.name} comes out as {time!r} s: {cause}")
        return Remarks(notes=left_out)


def _gradient(quantity: str, found: Derivatives, tape: Tape, index: int) -> Gradient:
    slopes, inputs = (
        {name: at(each, index) for name, each in group.items()}
        for group in (found.by_parameter, found.inputs)
    )
    return Gradient({quantity: slopes}, inputs, tape.parameters)


def _not_negative(time: Array) -> Array:
    return time if np.min(time, initial=0.0) >= 0 else np.where(time >= 0, time, np.nan)


def _asked_by_others(
    resource: str, groups: Mapping[str, tuple[Array, Array, Mapping[str, Array]]]
) -> Array:
    """Add up the busy servers that the groups after the first take."""
    busy = np.zeros(1)
    for cycle, size, work in list(groups.values())[1:]:
        # A group with nothing to do takes no time and asks for nothing.
        busy = busy + np.where(work[resource] > 0, size * work[resource] / cycle, 0.0)
    return busy


def _use(busy: Array, servers: int, nothing: Flags) -> tuple[Array, Array, Array]:
    """Return the use of a station that never makes anyone wait: its busy servers are all requests
    present.
    """
    none = np.where(nothing, np.zeros(len(busy)), np.nan)
    return busy / servers + none, busy + none, none


def whole_time(model: Model) -> Expr:
    """Add up a cycle, or all phases or supersteps."""
    known: dict[int, Expr] = {}
    return model.population.time(lambda body: time(body, model, known=known))


def _account_time(model: Model) -> Expr:
    """Return the same time, its parts weighed by the share of processors that do them; the rest
    are idle.
    """
    if isinstance(model.population, SuperstepPopulation):
        return _superstep_account(model.population, model)
    if not isinstance(model.population, PhasedPopulation):
        return whole_time(model)
    n = model.population.size
    parts: list[Expr] = []
    for phase in model.population.phases:
        busy = phase.processors / n
        parts.append(phase.repeat * (busy * time(phase.cycle, model)))
        if phase.processors != n:
            # The same time again, its steps unlabelled, so that idle processors book nothing else.
            parts.append(
                Booked(
                    IDLE_PROCESSORS,
                    phase.repeat * ((1 - busy) * time(phase.cycle, model, booked=False)),
                )
            )
    return total(parts, TIME)


def _superstep_account(population: SuperstepPopulation, model: Model) -> Expr:
    """Return the same time as the mean of the processors' own lines, each idle until the slowest
    has come [s].
    """
    booked: dict[int, Expr] = {}
    plain: dict[int, Expr] = {}
    parts: list[Expr] = []
    for each in population.supersteps:
        lines = [time(line, model, False, plain) for line in each.bodies]
        longest = maximum(*lines)
        own = (time(line, model, True, booked) for line in each.bodies)
        left = (Booked(IDLE_PROCESSORS, longest - line) for line in lines)
        mean = total([*own, *left], TIME) / len(lines)
        parts.append(each.repeat * (mean + time(each.barrier, model)))
    return total(parts, TIME)


def _demands(cycle: Activity, model: Model) -> dict[str, Expr]:
    used = dict.fromkeys(step.resource for step in model.steps if step.resource in model.resources)
    asked = demands(cycle, model)
    return {name: asked.get(name, zero(TIME)) for name in used if name is not None}


def _groups(model: Model) -> dict[str, tuple[Expr, Expr, dict[str, Expr]]]:
    """Return each group's cycle time, its size, and the work that a cycle of it asks of each
    station.
    """
    return {
        group.name: (
            time(group.cycle, model, booked=False),
            group.processors,
            _demands(group.cycle, model),
        )
        for group in model.population.groups
        if group.name
    }


def _stage_times(model: Model) -> dict[str, dict[str, Expr]]:
    """Return the serial stages of each pipeline; of supersteps none, where a pipeline is one of
    many operations.
    """
    if isinstance(model.population, SuperstepPopulation):
        return {}
    found = {}
    for pipeline in (node for node in each_once(model.bodies) if isinstance(node, Pipeline)):
        serial = [stage for stage in pipeline.stages if stage.kind == "serial"]
        if pipeline.identical and serial:
            found[pipeline.name] = {
                each.name: time(each.bodies[0], model, booked=False) for each in serial
            }
    return found


SPAN = 1e4
"""A takeover is looked for from 1/SPAN to SPAN times the parameter's value."""

STEPS = 161
ROUNDS = 7


def with_takeovers(
    form: ClosedForm, limits: tuple[Limit, ...], values: Mapping[str, float]
) -> tuple[Limit, ...]:
    """Add to each limit the nearest value of each parameter, below and above, at which another
    stage binds.

    The stages are evaluated on a geometric grid from each parameter's value on, and the step on
    which the binding stage first changes is divided again and again. A parameter of value 0 has no
    grid and is passed over.

    Parameters
    ----------
    form : the compiled model
    limits : as the answer gives them
    values : parameters that differ from the model's own, in base units
    """
    return tuple(replace(limit, takeovers=_takeovers(form, limit, values)) for limit in limits)


def _takeovers(form: ClosedForm, limit: Limit, values: Mapping[str, float]) -> tuple[Takeover, ...]:
    stages = form.stages[limit.pipeline]
    tape = Tape(list(stages.values()))
    here = {name: value for name, value in values.items() if name in tape.parameters}
    found = []
    for parameter in parameters(*stages.values()):
        value = here.get(parameter.name, parameter.value)
        if value:
            found += _along(tape, list(stages), parameter, float(value), here)
    # Equal changes stay in the order of the formula; they differ in the last digits only.
    return tuple(sorted(found, key=lambda each: round(abs(math.log(each.value / each.now)), 6)))


def _along(
    tape: Tape, names: list[str], parameter: Parameter, value: float, here: Mapping[str, float]
) -> list[Takeover]:
    """Look up and down from a parameter's value."""

    def at(points: Array) -> Array:
        columns = tape.run({**here, parameter.name: points})
        return np.stack([np.broadcast_to(column, points.shape) for column in columns])

    found = []
    for ratio in (1 / SPAN, SPAN):
        change = _change(at, value, value * ratio) if 0 < value * ratio < np.inf else None
        if change is not None:
            where, stage = change
            found.append(
                Takeover(parameter.name, value, where, str(parameter.dimension), names[stage])
            )
    return found


def _change(at: Callable[[Array], Array], near: float, far: float) -> tuple[float, int] | None:
    """Narrow down where the binding stage first changes on the way, and which one binds then; None
    if never.

    Each round divides the step on which it changes into as many steps again, so a third stage that
    binds in between is found as well.
    """
    binds = 0
    for _ in range(ROUNDS):
        grid = np.geomspace(near, far, STEPS)
        times = at(grid)
        binding = np.argmax(times, axis=0)
        changed = np.flatnonzero(binding != binding[0])
        if not changed.size or not np.isfinite(times).all():
            return None
        index = int(changed[0])
        near, far, binds = float(grid[index - 1]), float(grid[index]), int(binding[index])
        if np.nextafter(near, far) == far:
            break
    before, after = at(np.array([near, far])).T
    # At a tie the other stage binds as soon as the value moves.
    tied = before[int(np.argmax(before))] == before[binds]
    return (near if tied else far), int(np.argmax(after))


class CompiledLaw(CompiledModel):
    """A law compiled for many points.

    Parameters
    ----------
    law : the formula
    parameters : a parameter with a value for each symbol
    """

    def __init__(self, law: Law, parameters: Mapping[str, Parameter]) -> None:
        self.law = law
        self.quantity = law.gives.name
        self.tape = Tape([substitute(law.right, parameters)])
        self.parameters = tuple(self.tape.parameters)
        self.conditions = tuple(
            Comparison(
                substitute(each.left, parameters), each.relation, substitute(each.right, parameters)
            )
            for each in law.conditions
        )

    def brief(self, values: Values) -> Solution:
        """Evaluate the law without its derivatives."""
        result = self.tape.run(values)[0]
        return self._solved(result, self._holds(values, len(result)))

    def unit(self, column: str) -> str:
        return str(self.law.gives.dimension)

    def solution(self, values: Values) -> Solution:
        """Evaluate the law with its derivatives."""
        found = self.tape.differentiate(values)
        holds = self._holds(values, len(found.value))
        return replace(
            self._solved(found.value, holds),
            gradient=lambda index: _gradient(self.quantity, found, self.tape, index),
        )

    def _solved(self, found: Array, holds: Flags) -> Solution:
        """Make a solution of values, NaN where the law does not hold."""
        return Solution(
            model=f"law/{self.law.name}",
            method=CLOSED_FORM,
            count=len(found),
            exact=np.array([self.law.exact]),
            values={self.quantity: np.where(holds, found, np.nan)},
            remarks=lambda index: self._remarks(at(found, index), bool(holds[index])),
            unit=self.unit,
        )

    def _remarks(self, value: float, holds: bool) -> Remarks:
        if not holds:
            conditions = " and ".join(map(str, self.law.conditions))
            return Remarks(failed=f"law {self.law.name} holds for {conditions} only")
        if not math.isfinite(value):
            return Remarks(failed=f"law {self.law.name} comes out as {value!r}")
        return Remarks(notes=(self.law.note,) if self.law.note else ())

    def _holds(self, values: Values, points: int) -> Flags:
        held = np.ones(points, dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(values)
        return held
