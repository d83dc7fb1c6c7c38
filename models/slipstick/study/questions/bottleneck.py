"""Bottlenecks: which resource limits the throughput along an axis, by asymptotic bound analysis.

Source: Denning and Buzen, ACM Computing Surveys 10(3), 1978; Lazowska, Zahorjan, Graham and Sevcik, Quantitative System
Performance, 1984, chapter 5; saturation population: Kleinrock, Queueing Systems vol. 2, 1976, section 4.12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slipstick.method.bounds import CompiledBounds
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.model.network import ClosedClass, QueueingNetwork
from slipstick.model.system import ClosedPopulation, Model
from slipstick.queueing.bounds import full_speed_demands
from slipstick.report.questions.bottleneck import BottleneckResult, CaseBottlenecks
from slipstick.results.study import Array
from slipstick.schema.kinds.study import BottleneckSpec, SweepSpec
from slipstick.schema.text.nodes import Entry, Table, at
from slipstick.study.cases import Place, StudyContext, SweepDefinition
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.sweep import PointGroup, SweepPlan, carried_out, planned

_SPAN = "span"
_PLACE: Place = ("bottleneck", "along")


@dataclass(frozen=True)
class BottleneckQuestion(Question):
    """Cases to find the bottleneck of, each with its points along the axis."""

    plans: dict[str, SweepPlan]

    @property
    def points(self) -> int:
        """How many points there are."""
        return sum(len(plan.cases) for plan in self.plans.values())

    def solve(self, answers: BaseAnswers) -> BottleneckResult:
        """Solve every point by the method of its case, and compare it with the asymptotic bounds."""
        return BottleneckResult(tuple(_solved(case, plan, answers.jobs) for case, plan in self.plans.items()))


def read(asked: BottleneckSpec, study: StudyContext) -> BottleneckQuestion:
    """Read the axis, and build the models; nothing is solved.

    Raises
    ------
    SpecError : a path leads nowhere, a value is not allowed, or a case has several populations, or no resource
    """
    written = at(study.tree, _PLACE)
    assert written is not None
    node = Table({"axes": Entry(written.mark, written)}, written.mark)
    plans = {}
    for index, case in enumerate(asked.cases):
        if why := _unfit(evaluator(case, study.cases[case], study.library).built.model):
            raise study.refusal(("bottleneck", "cases", index), f"{case} {why}")
        sweep = SweepDefinition("bottleneck", SweepSpec(axes=asked.along, cases=[case]), node, ("bottleneck",))
        plans[case] = planned(sweep, study.cases, study.library)
        if plans[case].axes[0].named:
            raise study.refusal(_PLACE, "an axis of numbers is wanted, such as the number of processors")
    return BottleneckQuestion(plans)


def _unfit(model: object) -> str:
    """Say why a model has no bottleneck in this sense; nothing if it has."""
    if isinstance(model, QueueingNetwork):
        classes = [*model.classes.values(), *model.chains.values()]
        one = len(classes) == 1 and not model.chains and isinstance(classes[0], ClosedClass)
        return "" if one else "has several classes or arrivals; a bottleneck is that of one closed class"
    if not (isinstance(model, Model) and isinstance(model.population, ClosedPopulation)):
        return "is no closed population of processors; a bottleneck is that of one cycle"
    shared = [name for name in CompiledBounds(model).causes if name != _SPAN]
    return "" if shared else "asks no resource for service, so nothing limits its throughput"


def _solved(case: str, plan: SweepPlan, jobs: int) -> CaseBottlenecks:
    model = plan.groups[0].built.model
    name = f"throughput[{next(iter(model.classes))}]" if isinstance(model, QueueingNetwork) else "throughput"
    found = carried_out("bottleneck", plan, [name], jobs=jobs)
    count = len(plan.cases)
    throughput = found.columns.get(name, np.full(count, np.nan))
    population, cycle = np.empty(count), np.empty(count)
    demands: dict[str, Array] = {}
    for group in plan.groups:
        here = _of_model(group) if isinstance(group.built.model, Model) else _of_network(group)
        population[group.rows], cycle[group.rows] = here[0], here[1]
        for resource, demand in here[2].items():
            demands.setdefault(resource, np.zeros(count))[group.rows] = demand
    axis = plan.axes[0]
    values = np.array(axis.values, dtype=float)
    return CaseBottlenecks(
        case, found.provenance, axis.path, axis.unit, values, population, throughput, cycle, demands, found.failed
    )


def _of_model(group: PointGroup) -> tuple[Array, Array, dict[str, Array]]:
    """Give N, the cycle without waiting and the demand per server of each resource: lower bounds on the time, over N."""
    assert isinstance(group.built.model, Model)
    form = CompiledBounds(group.built.model)
    size, lows, _ = form.terms({path: each for path, each in group.values.items() if path in form.parameters})
    return size, lows[_SPAN], {name: low / size for name, low in lows.items() if name != _SPAN}


def _of_network(group: PointGroup) -> tuple[Array, Array, dict[str, Array]]:
    """Give the same of a network of one closed class; delays limit nothing."""
    assert isinstance(group.built.model, QueueingNetwork)
    compiled = NetworkLayout(group.built.model)
    known = {path: each for path, each in group.values.items() if path in compiled.tape.parameters}
    network = compiled.arrays(compiled.columns(known)).network
    cycle, demand = full_speed_demands(network)
    stations = [index for index in range(len(compiled.stations)) if not network.delays[index]]
    demands = {name: demand[:, 0, index].real for index, name in enumerate(compiled.stations) if index in stations}
    return np.asarray(network.population[:, 0].real, dtype=float), cycle[:, 0].real, demands
