"""Bottlenecks: which resource limits the throughput along an axis, by asymptotic bound analysis.

Source: Denning and Buzen, ACM Computing Surveys 10(3), 1978; Lazowska, Zahorjan, Graham and Sevcik,
Quantitative System Performance, 1984, chapter 5; saturation population: Kleinrock, Queueing Systems
vol. 2, 1976, section 4.12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from slipstick.answer import Answer
from slipstick.late import Array, np
from slipstick.method.bounds import CompiledBounds
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.model.network import ClosedClass, QueueingNetwork
from slipstick.model.system import Model
from slipstick.queueing.bounds import full_speed_demands
from slipstick.report.formatting import (
    as_number,
    as_percent,
    limit_phrase,
    percent,
    quantity,
    setting_phrase,
    value_amount,
)
from slipstick.results.question import MOST_FURTHER_CASES, QuestionResult, ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.results.words import Words
from slipstick.study.cases import Place, StudyContext, SweepDefinition
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.sweep import PointGroup, check_sweep, plan_sweep, solve_plan
from slipstick.vocabulary import CLOSED_FORM
from slipstick_questions.specs import BottleneckSpec

_SPAN = "span"
_PLACE: Place = ("bottleneck", "along")
_MOST_RESOURCES = 8


@dataclass(frozen=True, slots=True)
class CaseBottlenecks:
    """The bottleneck of one case along one axis; arrays run along the axis.

    Parameters
    ----------
    case : what was solved
    provenance : how each point was solved
    path, unit : what is varied, and its base unit
    values : of the axis, in base units
    population : customers N
    throughput : cycles of all customers [1/s]
    cycle : time of a cycle without waiting, T_0 [s]
    demands : service demand per server of each resource, D [s]
    failed : why a point has no answer, by its index

    >>> import numpy as np
    >>> one, two, both = np.array([1.0, 20.0]), np.array([0.1, 1.0]), np.array([10.0, 10.0])
    >>> found = CaseBottlenecks(
    ...     "base",
    ...     Provenance(["exact"] * 2, [True] * 2),
    ...     "n",
    ...     "1",
    ...     one,
    ...     one,
    ...     two,
    ...     both,
    ...     {"bus": np.array([1.0, 1.0])},
    ... )
    >>> found.bound.tolist(), found.saturation.tolist(), found.bottlenecks
    ([0.1, 1.0], [10.0, 10.0], ('bus', 'bus'))
    """

    case: str
    provenance: Provenance
    path: str
    unit: str
    values: Array
    population: Array
    throughput: Array
    cycle: Array
    demands: Mapping[str, Array]
    failed: Mapping[int, str] = field(default_factory=dict)

    @property
    def largest(self) -> Array:
        """The largest service demand per server [s]."""
        return np.asarray(np.max(list(self.demands.values()), axis=0))

    @property
    def bottlenecks(self) -> tuple[str, ...]:
        """The resource with the largest demand at each point."""
        names = list(self.demands)
        return tuple(names[int(place)] for place in np.argmax(list(self.demands.values()), axis=0))

    @property
    def bound(self) -> Array:
        """Asymptotic upper bound on the throughput [1/s]."""
        return np.minimum(self.population / self.cycle, 1.0 / self.largest)

    @property
    def saturation(self) -> Array:
        """Saturation population N* [1]."""
        return self.cycle / self.largest

    def utilization(self, resource: str) -> Array:
        """Utilization of a resource by the utilization law, U = X D [1]; X is at most the bound."""
        return np.minimum(self.throughput, self.bound) * self.demands[resource]

    @property
    def above(self) -> Array:
        """Return whether the throughput exceeds the bound, as it can where the method ignores
        waiting or is inexact.
        """
        # At saturation the throughput equals the bound, and may exceed it by rounding.
        return np.asarray(self.throughput > self.bound * (1 + 1e-9))


@dataclass(frozen=True, slots=True)
class BottleneckResult(QuestionResult):
    """The bottlenecks of all cases."""

    title: ClassVar[str] = "Bottlenecks"
    reading: ClassVar[str] = (
        "The resource with the largest service demand per server, D, is the bottleneck: with N"
        " customers, and T_0 the time of a cycle without waiting, the throughput X is at most N /"
        " T_0 and at most 1 / D. The two bounds meet at the saturation population N* = T_0 / D:"
        " below it the bottleneck has time to spare, above it customers queue. The utilization is X"
        " D, with the bound as X where the throughput of the method is above it."
    )
    bottleneck: tuple[CaseBottlenecks, ...]

    def sentences(self) -> list[str]:
        """Return for each case which resource limits it."""
        return [
            f"{case_bottlenecks.case}: {line}"
            for case_bottlenecks in self.bottleneck
            for line in _sentences(case_bottlenecks)
        ]

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.bottleneck) > 2

    def headline(self, words: Words) -> list[str]:
        """Return for the first cases which resource limits them, and from where on."""
        are_several = len(self.bottleneck) > 1
        return [
            _head(bottlenecks, words.case(bottlenecks.case) if are_several else "", words)
            for bottlenecks in self.bottleneck[: 1 + MOST_FURTHER_CASES]
        ][:2]

    def parts(self) -> Iterator[ResultTable]:
        """Yield the points along the axis, and the resources at both of its ends, case by case."""
        for case_bottlenecks in self.bottleneck:
            yield _points(case_bottlenecks)
            yield _resources(case_bottlenecks)


def read(question: BottleneckSpec, study: StudyContext) -> Question:
    """Read the axis, and build the models; nothing is solved.

    Raises
    ------
    SpecError : a path leads nowhere, a value is not allowed, or a case has several populations, or
        no resource
    """
    swept: dict[str, SweepDefinition] = {}
    for index, case in enumerate(question.cases):
        if reason := _unfit(evaluator(case, study.cases[case], study.library).built.model):
            raise study.refusal(("bottleneck", "cases", index), f"{case} {reason}")
        swept[case] = study.axes_in(_PLACE, question.along, case)
        (axis, *_), _ = check_sweep(swept[case], case, study)
        if axis.has_names:
            raise study.refusal(
                _PLACE, "an axis of numbers is wanted, such as the number of processors"
            )

    def solve(answers: BaseAnswers) -> BottleneckResult:
        return BottleneckResult(
            tuple(_case_bottlenecks(case, sweep, study) for case, sweep in swept.items())
        )

    return Question(solve, points=len(swept) * len(axis.values))


def _unfit(model: object) -> str:
    """Return why bottleneck analysis does not apply to a model; empty if it applies."""
    if isinstance(model, QueueingNetwork):
        single_closed_class = not model.chains and list(map(type, model.classes.values())) == [
            ClosedClass
        ]
        if model.regions:
            return "has a region, whose limit is no demand at a station; a bottleneck is a station"
        return (
            ""
            if single_closed_class
            else "has several classes or arrivals; a bottleneck is that of one closed class"
        )
    if not (isinstance(model, Model) and len(model.population.groups) == 1):
        return "is no closed population of processors; a bottleneck is that of one cycle"
    limited = CompiledBounds(model).causes != (_SPAN,)
    return "" if limited else "asks no resource for service, so nothing limits its throughput"


def _case_bottlenecks(case: str, sweep: SweepDefinition, study: StudyContext) -> CaseBottlenecks:
    plan = plan_sweep(sweep, study.cases, study.library)
    model = plan.groups[0].solvable.model
    name = (
        f"throughput[{next(iter(model.classes))}]"
        if isinstance(model, QueueingNetwork)
        else "throughput"
    )
    solved_sweep = solve_plan("bottleneck", plan, [name])
    count = len(plan.cases)
    throughput = solved_sweep.columns.get(name, np.full(count, np.nan))
    population = np.empty(count)
    cycle = np.empty(count)
    demands: dict[str, Array] = {}
    for group in plan.groups:
        group_columns = (
            _demands_of_model(group)
            if isinstance(group.solvable.model, Model)
            else _demands_of_network(group)
        )
        population[group.rows], cycle[group.rows] = group_columns[0], group_columns[1]
        for resource, demand in group_columns[2].items():
            demands.setdefault(resource, np.zeros(count))[group.rows] = demand
    axis = plan.axes[0]
    values = np.array(axis.values, dtype=float)
    return CaseBottlenecks(
        case,
        solved_sweep.provenance,
        axis.path,
        axis.unit,
        values,
        population,
        throughput,
        cycle,
        demands,
        solved_sweep.failed,
    )


def _demands_of_model(group: PointGroup) -> tuple[Array, Array, dict[str, Array]]:
    """Return N, the cycle without waiting and the demand per server of each resource: lower bounds
    on the time, over N.
    """
    assert isinstance(group.solvable.model, Model)
    form = CompiledBounds(group.solvable.model)
    size, lows, _ = form.terms(
        {path: array for path, array in group.values.items() if path in form.parameters}
    )
    return size, lows[_SPAN], {name: low / size for name, low in lows.items() if name != _SPAN}


def _demands_of_network(group: PointGroup) -> tuple[Array, Array, dict[str, Array]]:
    """Return N, the cycle without waiting and the demand per server of each station of a network
    with one closed class, without delays.
    """
    assert isinstance(group.solvable.model, QueueingNetwork)
    compiled = NetworkLayout(group.solvable.model)
    parameters_known = {
        path: array for path, array in group.values.items() if path in compiled.tape.parameters
    }
    network = compiled.network_points(compiled.columns(parameters_known)).network
    cycle, demand = full_speed_demands(network)
    demands = {
        name: demand[:, 0, index].real
        for index, name in enumerate(compiled.stations)
        if not network.delays[index]
    }
    return np.asarray(network.population[:, 0].real, dtype=float), cycle[:, 0].real, demands


def _sentences(bottlenecks: CaseBottlenecks) -> list[str]:
    """Return sentences on the ranges in which each resource is the bottleneck, on saturation, and
    on points whose throughput exceeds the bound.
    """
    names = bottlenecks.bottlenecks
    first, last = (_value(bottlenecks, index) for index in (0, -1))
    lines = [f"{names[0]} is the bottleneck for {bottlenecks.path} from {first} to {last}"]
    changes = [index for index in range(1, len(names)) if names[index] != names[index - 1]]
    if changes:
        lines = [f"{names[0]} is the bottleneck for {bottlenecks.path} from {first} on"]
        lines += [
            f"{names[index]} is the bottleneck from {_value(bottlenecks, index)} on, "
            f"{names[index - 1]} up to {_value(bottlenecks, index - 1)}"
            for index in changes
        ]
    saturated = bottlenecks.population > bottlenecks.saturation
    if saturated.any():
        index = int(np.argmax(saturated))
        place = (
            f"N = {bottlenecks.population[index]:g} is above N* ="
            f" {bottlenecks.saturation[index]:.4g}"
        )
        lines.append(
            f"saturated from {bottlenecks.path} = {_value(bottlenecks, index)} on, where {place}"
        )
    else:
        index = int(np.argmax(bottlenecks.population / bottlenecks.saturation))
        place = (
            f"N = {bottlenecks.population[index]:g}, and N* = {bottlenecks.saturation[index]:.4g}"
        )
        lines.append(
            f"not saturated anywhere; nearest at {bottlenecks.path} = {_value(bottlenecks, index)}"
            f" with {place}"
        )
    if bottlenecks.above.any():
        index = int(np.argmax(bottlenecks.above))
        excess = (
            float(
                np.max(
                    bottlenecks.throughput[bottlenecks.above] / bottlenecks.bound[bottlenecks.above]
                )
            )
            - 1
        )
        method = bottlenecks.provenance.methods[index]
        advice = (
            "; it leaves waiting out, mean-value and simulation do not"
            if method == CLOSED_FORM
            else ""
        )
        first = f"{bottlenecks.path} = {_value(bottlenecks, index)}"
        lines.append(
            f"the throughput by {method} is above the bound from {first} on, by up to"
            f" {percent(excess)}{advice}"
        )
    return lines


def _head(bottlenecks: CaseBottlenecks, case: str, words: Words) -> str:
    """Return the sentence on which resource limits the throughput at the end of the axis, to how
    much, and from which value or population on; or that nothing is saturated.
    """
    names = bottlenecks.bottlenecks
    last = len(names) - 1
    since = last
    while since and names[since - 1] == names[last]:
        since -= 1
    lead = f"{case}: " if case else ""
    most = value_amount("throughput", 1.0 / float(bottlenecks.largest[last]), "1/s")
    place = setting_phrase(
        bottlenecks.path, float(bottlenecks.values[last]), bottlenecks.unit, words
    )
    limit = f"{lead}{words.resource(names[last])} limits the throughput to {most}"
    saturated = bottlenecks.population > bottlenecks.saturation
    if not saturated[last]:
        return (
            f"{lead}nothing is saturated up to {place}; the most used is"
            f" {words.resource(names[last])}, with room for {most}"
        )
    if since == 0 and not saturated.all():
        saturation = float(bottlenecks.saturation[last])
        same = bool(np.allclose(bottlenecks.saturation, saturation, rtol=1e-9))
        knee = f"; more than about {saturation:.3g} {words.members} bring little" if same else ""
        return f"{limit}{knee}"
    change_in_words = ""
    if since:
        value = float(bottlenecks.values[since])
        change_in_words = (
            f" {limit_phrase(bottlenecks.path, value, bottlenecks.unit, words, is_lower=True)}"
        )
    return f"{limit}{change_in_words}"


def _value(bottlenecks: CaseBottlenecks, index: int) -> str:
    return quantity(float(bottlenecks.values[index]), bottlenecks.unit)


def _points(bottlenecks: CaseBottlenecks) -> ResultTable:
    names = bottlenecks.bottlenecks
    utilizations = [bottlenecks.utilization(name)[index] for index, name in enumerate(names)]
    columns = [
        ResultColumn("case", [bottlenecks.case] * len(names), place=True),
        ResultColumn(bottlenecks.path, bottlenecks.values, bottlenecks.unit, place=True),
        ResultColumn("population", bottlenecks.population, "1", title="N", written=as_number),
        ResultColumn("throughput", bottlenecks.throughput, "1/s"),
        ResultColumn("throughput_bound", bottlenecks.bound, "1/s", title="at most"),
        ResultColumn(
            "above_bound",
            [str(bool(is_above)).lower() for is_above in bottlenecks.above],
            title="above the bound",
        ),
        ResultColumn("bottleneck", names),
        ResultColumn(
            "its_utilization",
            utilizations,
            "1",
            title="its utilization",
            written=as_percent,
            in_file=False,
        ),
        *(
            ResultColumn(f"utilization[{name}]", bottlenecks.utilization(name), "1", on_page=False)
            for name in bottlenecks.demands
        ),
        ResultColumn("saturation_population", bottlenecks.saturation, "1", title="N*"),
    ]
    return ResultTable("bottleneck", columns, bottlenecks.provenance, bottlenecks.failed)


def _resources(bottlenecks: CaseBottlenecks) -> ResultTable:
    """Return the table of resources at the first and the last point, by decreasing demand."""
    names_by_demand = sorted(
        bottlenecks.demands, key=lambda name: -float(np.max(bottlenecks.demands[name]))
    )[:_MOST_RESOURCES]
    columns = [ResultColumn("resource", names_by_demand, place=True)]
    for index in (0, -1):
        place = f"at {_value(bottlenecks, index)}"
        demands = [float(bottlenecks.demands[name][index]) for name in names_by_demand]
        utilizations = [float(bottlenecks.utilization(name)[index]) for name in names_by_demand]
        columns.append(ResultColumn("D", demands, "s", title=f"D {place}"))
        columns.append(
            ResultColumn(
                "utilization", utilizations, "1", title=f"utilization {place}", written=as_percent
            )
        )
    return ResultTable(
        "",
        columns,
        Provenance.of(
            [Answer("", **bottlenecks.provenance.common_answer_fields)] * len(names_by_demand)
        ),
    )
