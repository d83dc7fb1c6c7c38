r"""What forks and pipelines keep busy beside the line that the account follows: occupation, overlap, bubble, efficiency.

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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from slipstick.expression.dimension import TIME
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Expr, Number, maximum, minimum, total, zero
from slipstick.expression.tape import Tape
from slipstick.law.account import EFFICIENCY, SPEEDUP
from slipstick.method.answers import Columns, Values, only
from slipstick.method.closed_form.times import total_work
from slipstick.model.activity import Activity, Fork, Pipeline, Step, each_once
from slipstick.model.system import Model, PhasedPopulation, SuperstepPopulation, is_processor

PROCESSORS = ""
"""Stands for all processors among the resources that steps are at."""

ROUNDING = 1e-12
"""Part of its work up to which a component that is never beside the line of the account may seem to be."""


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


def _most(bodies: Sequence[Activity], counted: Collection[Step]) -> Expr:
    known: dict[int, Expr] = {}
    return maximum(*dict.fromkeys(most_at_once(body, counted, known) for body in bodies))


def most_at_once(activity: Activity, counted: Collection[Step] | None, known: dict[int, Expr] | None = None) -> Expr:
    """Give the largest number of steps of an activity that can be under way at once, servers and locks left aside [1].

    Parameters
    ----------
    activity : what is done
    counted : the steps that count; None: all
    known : numbers of parts that trees share, by identity
    """
    known = {} if known is None else known
    if id(activity) not in known:
        inside = [most_at_once(child, counted, known) for child in activity.children]
        match activity:
            case Step():
                found: Expr = Number(float(counted is None or activity in counted))
            case Fork():
                found = total(inside)
            case Pipeline(stages, items):
                bodies = iter(inside)
                each = [maximum(*dict.fromkeys(next(bodies) for _ in stage.bodies)) for stage in stages]
                lines = [
                    one if stage.kind == "serial" else items * one for stage, one in zip(stages, each, strict=True)
                ]
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
    places = [maximum(*dict.fromkeys(most_at_once(body, None) for body in stage.bodies)) for stage in serial]
    return work, total(places)
