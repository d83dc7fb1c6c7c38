"""Bottlenecks: which resource limits the throughput along an axis, by asymptotic bound analysis.

Source: Denning and Buzen, ACM Computing Surveys 10(3), 1978; Lazowska, Zahorjan, Graham and Sevcik,
Quantitative System Performance, 1984, chapter 5; saturation population: Kleinrock, Queueing Systems
vol. 2, 1976, section 4.12. Models with arrivals are in `slipstick_questions.open_bottleneck`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import ClassVar

from slipstick.answer import Answer
from slipstick.late import Array, dataclass, field, np, replace
from slipstick.method.bounds import CompiledBounds
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.model.network import ClosedClass, QueueingNetwork
from slipstick.model.system import Model, group_names
from slipstick.queueing.bounds import full_speed_demands
from slipstick.report.formatting import (
    as_number,
    as_percent,
    join_phrases,
    percent,
    quantity,
    setting_amount,
    setting_phrase,
    value_amount,
)
from slipstick.results.question import QuestionResult, ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.results.words import Words
from slipstick.study.cases import Place, StudyContext, SweepDefinition, quantity_node
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.sweep import PointGroup, check_sweep, plan_sweep, solve_plan
from slipstick.vocabulary import CLOSED_FORM
from slipstick_questions.limits import NEAR_LIMIT
from slipstick_questions.open_bottleneck import (
    OpenBottleneck,
    has_arrivals_alone,
    open_bottleneck,
    reason_without_open_bottleneck,
)
from slipstick_questions.specs import BottleneckSpec

_SPAN_NAME = "span"
_PLACE_OF_AXIS: Place = ("bottleneck", "along")
_MOST_RESOURCES = 8
_ROUNDING = 1e-9  # relative difference of values that rounding leaves


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
    near_limit : the least number of customers from which on the throughput is near its limit; None
        where the axis is not the population, or where it never is near
    far_from_limit : the largest number below it that was solved, if numbers between were not
    ends_of_limit : ends of the interval of the limit over its value, by the fit whose values the
        case has [1]; None without a fit that tells them
    source_of_fit : where fitted values of the case come from; empty without any

    >>> import numpy as np
    >>> population = np.array([1.0, 20.0])
    >>> bottlenecks = CaseBottlenecks(
    ...     case="base",
    ...     provenance=Provenance(["exact"] * 2, [True] * 2),
    ...     path="n",
    ...     unit="1",
    ...     values=population,
    ...     population=population,
    ...     throughput=np.array([0.1, 1.0]),
    ...     cycle=np.array([10.0, 10.0]),
    ...     demands={"bus": np.array([1.0, 1.0])},
    ... )
    >>> bound = bottlenecks.throughput_bound.tolist()
    >>> bound, bottlenecks.saturation.tolist(), bottlenecks.bottlenecks
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
    near_limit: float | None = None
    far_from_limit: float | None = None
    ends_of_limit: tuple[float, float] | None = None
    source_of_fit: str = ""

    @property
    def largest_demand(self) -> Array:
        """The largest service demand per server [s]."""
        return np.asarray(np.max(list(self.demands.values()), axis=0))

    @property
    def is_along_population(self) -> bool:
        """Whether the axis is the number of customers, and nothing else changes along it."""
        return np.array_equal(self.population, self.values) and bool(
            np.allclose(self.largest_demand, self.largest_demand[-1], rtol=_ROUNDING, atol=0.0)
        )

    @property
    def bottlenecks(self) -> tuple[str, ...]:
        """The resource with the largest demand at each point."""
        resource_names = list(self.demands)
        return tuple(
            resource_names[int(index)] for index in np.argmax(list(self.demands.values()), axis=0)
        )

    @property
    def ties(self) -> list[tuple[str, ...]]:
        """The resources with the largest demand at each point; several if their demands are
        equal.
        """
        resource_names = np.array(list(self.demands))
        demands = np.array(list(self.demands.values()))
        is_largest = demands >= self.largest_demand * (1 - _ROUNDING)
        return [tuple(resource_names[column].tolist()) for column in is_largest.T]

    @property
    def is_saturated(self) -> Array:
        """At which points more customers are present than the saturation population."""
        return np.asarray(self.population > self.saturation * (1 + _ROUNDING))

    @property
    def throughput_bound(self) -> Array:
        """The asymptotic upper bound on the throughput [1/s]."""
        return np.minimum(self.population / self.cycle, 1.0 / self.largest_demand)

    @property
    def saturation(self) -> Array:
        """The saturation population N* at each point [1]."""
        return self.cycle / self.largest_demand

    def utilization(self, resource: str) -> Array:
        """Return the utilization of a resource at each point by the utilization law, U = X D [1]; X
        is at most the bound.
        """
        return np.minimum(self.throughput, self.throughput_bound) * self.demands[resource]

    @property
    def is_above_bound(self) -> Array:
        """At which points the throughput exceeds the bound, as it can if the method ignores waiting
        or is inexact.
        """
        # At saturation the throughput equals the bound, and may exceed it by rounding.
        return np.asarray(self.throughput > self.throughput_bound * (1 + _ROUNDING))


@dataclass(frozen=True, slots=True)
class BottleneckResult(QuestionResult):
    """The bottlenecks along an axis, case by case."""

    title: ClassVar[str] = "Bottlenecks"
    asked_by: ClassVar[str] = r"\b(?:limit|bottleneck|saturate)s?\b"
    reading: ClassVar[str] = (
        "The bottleneck is the resource with the largest service demand per server, D. With N"
        " customers, and a cycle that takes T_0 without waiting, the throughput X is at most N /"
        " T_0 and at most 1 / D. These bounds meet at the saturation population N* = T_0 / D: below"
        " it, the bottleneck has idle time; above it, customers queue. The utilization is X D; if"
        " the computed throughput exceeds a bound, X is the bound. With arrivals at a rate X, the"
        " utilization is X D, and the largest throughput is 1 / D."
    )
    bottleneck: tuple[CaseBottlenecks, ...]
    with_arrivals: tuple[OpenBottleneck, ...] = ()

    def sentences(self) -> list[str]:
        """Return sentences on which resource limits each case."""
        return [
            *(bottleneck.sentence() for bottleneck in self.with_arrivals),
            *(
                f"{case_bottlenecks.case}: {line}"
                for case_bottlenecks in self.bottleneck
                for line in _range_sentences(case_bottlenecks)
            ),
        ]

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.bottleneck) + len(self.with_arrivals) > 2

    def headline(self, words: Words) -> list[str]:
        """Return sentences on which resource limits the first cases, and from which value on."""
        are_several = words.has_several_cases or len(self.bottleneck) + len(self.with_arrivals) > 1

        def title_of(case: str) -> str:
            """Return the title of a case if there are several."""
            return words.case(case) if are_several else ""

        headlines = [
            bottleneck.headline(title_of(bottleneck.case), words)
            for bottleneck in self.with_arrivals[:2]
        ]
        headlines += [
            _case_headline(bottlenecks, title_of(bottlenecks.case), words)
            for bottlenecks in self.bottleneck[:2]
        ]
        return headlines[:2]

    def searched_paths(self) -> list[str]:
        """List the quantities along which bottlenecks are looked at."""
        return list(dict.fromkeys(bottlenecks.path for bottlenecks in self.bottleneck))

    def parts(self) -> Iterator[ResultTable]:
        """Yield for each case a table of the points along the axis, and a table of the resources at
        both of its ends.
        """
        for bottleneck in self.with_arrivals:
            yield bottleneck.table()
        for case_bottlenecks in self.bottleneck:
            yield _points_table(case_bottlenecks)
            yield _resources_table(case_bottlenecks)


def read(question: BottleneckSpec, study: StudyContext) -> Question:
    """Read the axis, and build the models; nothing is solved.

    Raises
    ------
    SpecError : a path leads nowhere, a value is not allowed, or a case has several populations, or
        no resource
    """
    sweep_by_case: dict[str, SweepDefinition] = {}
    cases_with_arrivals = list[str]()
    for index, case in enumerate(question.cases):
        model = evaluator(case, study.cases[case], study.library).built.model
        is_open = has_arrivals_alone(model)
        reason_without = reason_without_open_bottleneck if is_open else _reason_without_analysis
        if reason := reason_without(model):
            raise study.refusal(("bottleneck", "cases", index), f"{case} {reason}")
        if is_open:
            cases_with_arrivals.append(case)
            continue
        if not question.along:
            message = (
                f"{case} is a closed population; write along: {{PATH: VALUES}}, such as numbers of"
                " processors"
            )
            raise study.refusal(("bottleneck",), message)
        sweep_by_case[case] = study.sweep_over_axes(_PLACE_OF_AXIS, question.along, case)
        (axis, *_), _ = check_sweep(sweep_by_case[case], case, study)
        if axis.has_names:
            raise study.refusal(
                _PLACE_OF_AXIS, "an axis of numbers is wanted, such as the number of processors"
            )
        # Sentences say from which value on a resource limits.
        axis_numbers = map(float, axis.values)
        if any(number <= number_before for number_before, number in pairwise(axis_numbers)):
            raise study.refusal(_PLACE_OF_AXIS, f"list the values of {axis.path} in rising order")

    if question.along and not sweep_by_case:
        message = (
            "with arrivals, the bottleneck is that of each case as given; leave along out, or write"
            " a case for each value"
        )
        raise study.refusal(_PLACE_OF_AXIS, message)

    def solve(answers: BaseAnswers) -> BottleneckResult:
        return BottleneckResult(
            tuple(_case_bottlenecks(case, sweep, study) for case, sweep in sweep_by_case.items()),
            tuple(
                open_bottleneck(case, evaluator(case, study.cases[case], study.library).built.model)
                for case in cases_with_arrivals
            ),
        )

    return Question(solve, points=len(sweep_by_case) * len(axis.values) if sweep_by_case else 0)


_WAY_OUT_WITH_ARRIVALS = (
    "Beside others, the resource with the highest utilization limits arrivals: write"
    " utilization[NAME] under answer, or search the largest arrivals with seek"
)


def _reason_without_analysis(model: object) -> str:
    """Return the reason why bottleneck analysis does not apply to a model; empty if it applies."""
    if isinstance(model, QueueingNetwork):
        has_single_closed_class = not model.chains and list(map(type, model.classes.values())) == [
            ClosedClass
        ]
        if model.regions:
            return "has a region, whose limit is no demand at a station; a bottleneck is a station"
        return (
            ""
            if has_single_closed_class
            else "has several classes that are not all arrivals; a bottleneck is that of one closed"
            " class, or of arrivals alone."
            f" {_WAY_OUT_WITH_ARRIVALS}"
        )
    if isinstance(model, Model) and group_names(model) and not model.population.streams:
        return _reason_with_groups(model)
    if not (isinstance(model, Model) and len(model.population.groups) == 1):
        return (
            "is neither one closed population of processors nor arrivals alone; a bottleneck is"
            " that of one cycle."
            f" {_WAY_OUT_WITH_ARRIVALS}"
        )
    has_limiting_resource = CompiledBounds(model).causes != (_SPAN_NAME,)
    return (
        ""
        if has_limiting_resource
        else "asks no resource for service, so nothing limits its throughput"
    )


def _reason_with_groups(model: Model) -> str:
    """Return the reason why several groups have no bottleneck of one cycle, with cases that show
    what limits them, and the waits that tell the sides of a buffer apart.
    """
    groups = group_names(model)
    last_group = groups[-1]
    waits = [f"wait[{name}]" for name in model.counters]
    waits_text = f" with {join_phrases(waits)}, which tell the side that waits" * bool(waits)
    return (
        f"has several groups, {join_phrases(groups)}, and a bottleneck is that of one cycle. Write"
        " a case with more of each group and resource, such as cases: {more:"
        f" {{groups.{last_group}.processors: NUMBER}}}}, and throughput[{last_group}] under"
        f" answer{waits_text}: the case that raises the throughput has more of what limits it"
    )


def _case_bottlenecks(case: str, sweep: SweepDefinition, study: StudyContext) -> CaseBottlenecks:
    """Solve a case along the axis. Return its bottlenecks."""
    plan = plan_sweep(sweep, study.cases, study.library)
    model = plan.groups[0].solvable.model
    throughput_name = (
        f"throughput[{next(iter(model.classes))}]"
        if isinstance(model, QueueingNetwork)
        else "throughput"
    )
    solved_sweep = solve_plan("bottleneck", plan, [throughput_name])
    point_count = len(plan.case_by_point)
    throughput = solved_sweep.columns.get(throughput_name, np.full(point_count, np.nan))
    population = np.empty(point_count)
    cycle_time = np.empty(point_count)
    demand_by_resource: dict[str, Array] = {}
    for group in plan.groups:
        is_model = isinstance(group.solvable.model, Model)
        compute_demands = _demands_of_model if is_model else _demands_of_network
        population[group.rows], cycle_time[group.rows], group_demands = compute_demands(group)
        for resource, demand in group_demands.items():
            demand_by_resource.setdefault(resource, np.zeros(point_count))[group.rows] = demand
    axis = plan.axes[0]
    axis_values = np.array(axis.values, dtype=float)
    bottlenecks = CaseBottlenecks(
        case,
        solved_sweep.provenance,
        axis.path,
        axis.unit,
        axis_values,
        population,
        throughput,
        cycle_time,
        demand_by_resource,
        solved_sweep.failed,
        source_of_fit=evaluator(
            case, study.cases[case], study.library
        ).built.uncertain_values.source,
    )
    fitted = study.fitted
    if fitted and fitted.settings.items() <= study.cases[case].items():
        bottlenecks = replace(bottlenecks, ends_of_limit=fitted.ends_of_largest_rate)

    def throughput_at(customer_count: int) -> float:
        """Return the throughput with a number of customers [1/s]."""
        settings = {
            **study.cases[case],
            axis.path: quantity_node(customer_count, "1", sweep.node.mark),
        }
        table = evaluator(case, settings, study.library).point_table({}, [throughput_name])
        return float(table.columns[throughput_name][0])

    is_estimate = np.isfinite(solved_sweep.ends(throughput_name)[0]).any()
    return _with_value_near_limit(bottlenecks, None if is_estimate else throughput_at)


def _with_value_near_limit(
    bottlenecks: CaseBottlenecks, throughput_at: Callable[[int], float] | None
) -> CaseBottlenecks:
    """Add to the bottlenecks the smallest number of customers at which the throughput is near its
    limit. Leave that number out if the throughput is not near it at the last point, or if the
    axis is not the population.

    Parameters
    ----------
    bottlenecks : along an axis
    throughput_at : the throughput with a number of customers, by which the number is bisected
        between two points; without it, the point is the answer
    """
    if not bottlenecks.is_along_population or bottlenecks.is_above_bound.any():
        return bottlenecks
    is_near = bottlenecks.throughput * bottlenecks.largest_demand[-1] >= NEAR_LIMIT
    if not is_near[-1]:
        return bottlenecks
    # All points behind the last one that is not near are near.
    first_index = 0 if is_near.all() else len(is_near) - int(np.argmin(is_near[::-1]))
    first_near_value = float(bottlenecks.values[first_index])
    if first_index == 0:
        return replace(bottlenecks, near_limit=first_near_value)
    too_small_number, sufficient_number = (
        int(bottlenecks.values[first_index - 1]),
        int(first_near_value),
    )
    if throughput_at is None:
        return replace(
            bottlenecks, near_limit=first_near_value, far_from_limit=float(too_small_number)
        )
    while sufficient_number - too_small_number > 1:
        middle_number = (too_small_number + sufficient_number) // 2
        if throughput_at(middle_number) * float(bottlenecks.largest_demand[-1]) >= NEAR_LIMIT:
            sufficient_number = middle_number
        else:
            too_small_number = middle_number
    return replace(bottlenecks, near_limit=float(sufficient_number))


def _demands_of_model(group: PointGroup) -> tuple[Array, Array, dict[str, Array]]:
    """Return N, the time of a cycle without waiting [s] and the demand per server of each resource
    [s]: the lower bounds on the time of a cycle, divided by N.
    """
    assert isinstance(group.solvable.model, Model)
    bounds = CompiledBounds(group.solvable.model)
    population, least_times, _ = bounds.terms(
        {path: array for path, array in group.values.items() if path in bounds.parameters}
    )
    return (
        population,
        least_times[_SPAN_NAME],
        {
            name: least_time / population
            for name, least_time in least_times.items()
            if name != _SPAN_NAME
        },
    )


def _demands_of_network(group: PointGroup) -> tuple[Array, Array, dict[str, Array]]:
    """Return N, the time of a cycle without waiting [s] and the demand per server of each station
    [s] of a network with one closed class; delays are left out.
    """
    assert isinstance(group.solvable.model, QueueingNetwork)
    layout = NetworkLayout(group.solvable.model)
    parameter_values = {
        path: array for path, array in group.values.items() if path in layout.tape.parameters
    }
    network = layout.network_points(layout.columns(parameter_values)).network
    cycle_time, demand = full_speed_demands(network)
    demand_by_station = {
        name: demand[:, 0, index].real
        for index, name in enumerate(layout.stations)
        if not network.is_delay[index]
    }
    return (
        np.asarray(network.population[:, 0].real, dtype=float),
        cycle_time[:, 0].real,
        demand_by_station,
    )


def _range_sentences(bottlenecks: CaseBottlenecks) -> list[str]:
    """Return sentences on the ranges in which each resource is the bottleneck, on saturation, and
    on points whose throughput exceeds the bound.
    """
    ties = bottlenecks.ties
    bottleneck_clauses = [
        f"{join_phrases(tie)} {'is the bottleneck' if len(tie) == 1 else 'are the bottlenecks'}"
        for tie in ties
    ]
    first_value, last_value = (_value_text(bottlenecks, point_index) for point_index in (0, -1))
    sentences = [
        f"{bottleneck_clauses[0]} for {bottlenecks.path} from {first_value} to {last_value}"
    ]
    change_indexes = [
        point_index
        for point_index in range(1, len(bottleneck_clauses))
        if bottleneck_clauses[point_index] != bottleneck_clauses[point_index - 1]
    ]
    if change_indexes:
        sentences = [f"{bottleneck_clauses[0]} for {bottlenecks.path} from {first_value} on"]
        sentences += [
            f"{bottleneck_clauses[point_index]} from {_value_text(bottlenecks, point_index)} on,"
            f" {join_phrases(ties[point_index - 1])} up to"
            f" {_value_text(bottlenecks, point_index - 1)}"
            for point_index in change_indexes
        ]
    is_saturated = bottlenecks.is_saturated
    if is_saturated.any():
        point_index = int(np.argmax(is_saturated))
        population_text = (
            f"N = {bottlenecks.population[point_index]:g} is above N* ="
            f" {bottlenecks.saturation[point_index]:.4g}"
        )
        sentences.append(
            f"saturated from {bottlenecks.path} = {_value_text(bottlenecks, point_index)} on, where"
            f" {population_text}"
        )
        if bottlenecks.near_limit is not None:
            sentences[-1] += (
                f"; {percent(NEAR_LIMIT)} of the limit is reached from"
                f" {bottlenecks.near_limit:g} on"
            )
    else:
        point_index = int(np.argmax(bottlenecks.population / bottlenecks.saturation))
        population_text = (
            f"N = {bottlenecks.population[point_index]:g}, and N* ="
            f" {bottlenecks.saturation[point_index]:.4g}"
        )
        sentences.append(
            f"not saturated anywhere; nearest at {bottlenecks.path} ="
            f" {_value_text(bottlenecks, point_index)}"
            f" with {population_text}"
        )
    if bottlenecks.is_above_bound.any():
        point_index = int(np.argmax(bottlenecks.is_above_bound))
        largest_excess = (
            float(
                np.max(
                    bottlenecks.throughput[bottlenecks.is_above_bound]
                    / bottlenecks.throughput_bound[bottlenecks.is_above_bound]
                )
            )
            - 1
        )
        method = bottlenecks.provenance.methods[point_index]
        advice = (
            "; it leaves waiting out, mean-value and simulation do not"
            if method == CLOSED_FORM
            else ""
        )
        first_point_above = f"{bottlenecks.path} = {_value_text(bottlenecks, point_index)}"
        sentences.append(
            f"the throughput by {method} is above the bound from {first_point_above} on, by up to"
            f" {percent(largest_excess)}{advice}"
        )
    return sentences


def _case_headline(bottlenecks: CaseBottlenecks, case: str, words: Words) -> str:
    """Return a sentence on which resource limits the throughput at the end of the axis: the limit,
    and the value or the population from which it limits. If nothing is saturated, say so.
    """
    ties = bottlenecks.ties
    last_index = len(ties) - 1
    first_index = last_index
    while first_index and ties[first_index - 1] == ties[last_index]:
        first_index -= 1
    case_prefix = f"{case}: " if case else ""
    largest_throughput = 1.0 / float(bottlenecks.largest_demand[last_index])
    throughput_limit, *limits_at_ends = (
        words.rate_with_noun(
            "throughput", value_amount("throughput", factor * largest_throughput, "1/s")
        )
        for factor in (1.0, *(bottlenecks.ends_of_limit or ()))
    )
    if limits_at_ends:
        throughput_limit += f" ({' to '.join(limits_at_ends)} by the fit)"
    elif bottlenecks.source_of_fit:
        throughput_limit += f", with values {bottlenecks.source_of_fit}"
    end_of_axis = setting_phrase(
        bottlenecks.path, float(bottlenecks.values[last_index]), bottlenecks.unit, words
    )
    resources = join_phrases([words.resource(name) for name in ties[last_index]])
    are_several = len(ties[last_index]) > 1
    limit_text = (
        f"{case_prefix}{resources} {'limit' if are_several else 'limits'} the"
        f" {words.value('throughput')} to {throughput_limit}"
    )
    is_saturated = bottlenecks.is_saturated
    if not is_saturated[last_index]:
        return (
            f"{case_prefix}nothing is saturated up to {end_of_axis}; the most used"
            f" {'are' if are_several else 'is'} {resources}, which can reach a"
            f" {words.value('throughput')} of {throughput_limit}"
        )
    if first_index == 0:
        return f"{limit_text}{_near_limit_clause(bottlenecks, words)}"
    first_limited_value = float(bottlenecks.values[first_index])
    first_setting = setting_phrase(bottlenecks.path, first_limited_value, bottlenecks.unit, words)
    return f"{limit_text} from {first_setting} on"


def _near_limit_clause(bottlenecks: CaseBottlenecks, words: Words) -> str:
    """Return a clause on the number of customers with which the throughput is near its limit; if no
    number suffices, a clause on the fraction of the limit at the last point.
    """
    if not bottlenecks.is_along_population or bottlenecks.is_above_bound.any():
        return ""
    path, unit = bottlenecks.path, bottlenecks.unit
    if bottlenecks.near_limit is None:
        last_value = float(bottlenecks.values[-1])
        share_of_limit = float(bottlenecks.throughput[-1] * bottlenecks.largest_demand[-1])
        setting_text = setting_phrase(path, last_value, unit, words)
        return (
            f"; {setting_text} reach {percent(share_of_limit)} of it"
            if np.isfinite(share_of_limit)
            else ""
        )
    if bottlenecks.near_limit == bottlenecks.values[0]:
        setting_text = f"already with {setting_phrase(path, bottlenecks.near_limit, unit, words)}"
    elif bottlenecks.far_from_limit is not None:
        setting_text = (
            f"with {setting_phrase(path, bottlenecks.near_limit, unit, words)}, and not yet with"
            f" {setting_amount(path, bottlenecks.far_from_limit, unit, words)}"
        )
    else:
        # A fitted limit has an interval, and so has the number that comes near it.
        about = "about " if bottlenecks.ends_of_limit else ""
        setting_text = f"from {about}{setting_phrase(path, bottlenecks.near_limit, unit, words)} on"
    return f"; {percent(NEAR_LIMIT)} of it is reached {setting_text}"


def _value_text(bottlenecks: CaseBottlenecks, index: int) -> str:
    """Return the value of the axis at a point as text."""
    return quantity(float(bottlenecks.values[index]), bottlenecks.unit)


def _points_table(bottlenecks: CaseBottlenecks) -> ResultTable:
    """Return a table with the bottleneck, the throughput and its bound at each point."""
    bottleneck_names = bottlenecks.bottlenecks
    utilizations = [
        bottlenecks.utilization(resource_name)[index]
        for index, resource_name in enumerate(bottleneck_names)
    ]
    columns = [
        ResultColumn("case", [bottlenecks.case] * len(bottleneck_names), place=True),
        ResultColumn(bottlenecks.path, bottlenecks.values, bottlenecks.unit, place=True),
        ResultColumn("population", bottlenecks.population, "1", title="N", written=as_number),
        ResultColumn("throughput", bottlenecks.throughput, "1/s"),
        ResultColumn("throughput_bound", bottlenecks.throughput_bound, "1/s", title="at most"),
        ResultColumn(
            "above_bound",
            [str(bool(is_above)).lower() for is_above in bottlenecks.is_above_bound],
            title="above the bound",
        ),
        ResultColumn("bottleneck", bottleneck_names),
        ResultColumn(
            "its_utilization",
            utilizations,
            "1",
            title="its utilization",
            written=as_percent,
            in_file=False,
        ),
        *(
            ResultColumn(
                f"utilization[{resource_name}]",
                bottlenecks.utilization(resource_name),
                "1",
                on_page=False,
            )
            for resource_name in bottlenecks.demands
        ),
        ResultColumn("saturation_population", bottlenecks.saturation, "1", title="N*"),
    ]
    return ResultTable("bottleneck", columns, bottlenecks.provenance, bottlenecks.failed)


def _resources_table(bottlenecks: CaseBottlenecks) -> ResultTable:
    """Return the table of resources at the first and the last point, by decreasing demand."""
    names_by_demand = sorted(
        bottlenecks.demands, key=lambda name: -float(np.max(bottlenecks.demands[name]))
    )[:_MOST_RESOURCES]
    columns = [ResultColumn("resource", names_by_demand, place=True)]
    for index in (0, -1):
        point_text = f"at {_value_text(bottlenecks, index)}"
        demands = [float(bottlenecks.demands[name][index]) for name in names_by_demand]
        utilizations = [float(bottlenecks.utilization(name)[index]) for name in names_by_demand]
        columns.append(ResultColumn("D", demands, "s", title=f"D {point_text}"))
        columns.append(
            ResultColumn(
                "utilization",
                utilizations,
                "1",
                title=f"utilization {point_text}",
                written=as_percent,
            )
        )
    return ResultTable(
        "",
        columns,
        Provenance.of(
            [Answer("", **bottlenecks.provenance.common_answer_fields)] * len(names_by_demand)
        ),
    )
