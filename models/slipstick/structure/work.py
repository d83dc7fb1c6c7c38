"""Work: the times of everything that one pass executes, added up whether it runs side by side or
not; and how much of it can be under way at once.

`ParallelWork` says what forks and pipelines keep busy beside the line that the account follows; the
module `slipstick.method.closed_form` derives its quantities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from slipstick.expression.nodes import TIME, Expr, Number, maximum, minimum, total, zero
from slipstick.expression.tape import Columns, Tape, Values, selected_values
from slipstick.late import Array, np
from slipstick.law.account import EFFICIENCY, SPEEDUP
from slipstick.model.activity import (
    WRITE,
    Hold,
    Pipeline,
    Step,
    timed_steps,
)
from slipstick.model.steps import (
    BY_STATE,
    Activity,
    Combination,
    distinct_activities,
    is_parallel,
    list_parallel_nodes,
    no_rule_error,
)
from slipstick.model.system import (
    Model,
    PhasedPopulation,
    ResourceKind,
    Station,
    SuperstepPopulation,
    is_processor,
)
from slipstick.structure.times import time_of_pass
from slipstick.vocabulary import REPLIES

PROCESSORS, NOWHERE = "own", ""
"""Stand for all processors, and for no resource, among those that steps are at."""

ROUNDING = 1e-12
"""The largest overlap, relative to the work of a component, that is taken as rounding [1]."""

AT_ONCE = "the number under way at once"
"""What messages call this rule."""

StepKey = Callable[[Step], "str | None"]
"""A function that returns the name under which the time of a step is added up; None if the time is
not counted.
"""


def total_work(
    activity: Activity,
    times_of_node: Callable[[Activity], dict[str, Expr]],
    work_by_node: dict[int, dict[str, Expr]] | None = None,
    *,
    with_least_executions: bool = False,
) -> dict[str, Expr]:
    """Return the times of all parts that one pass executes, added up by name, also where parts are
    executed at the same time [s].

    Parameters
    ----------
    activity : what is done
    times_of_node : the times that one execution of a node adds, without the nodes inside it
    work_by_node : sums of parts that trees share, by identity
    with_least_executions : whether parts whose number of executions depends on the state are left
        out, for a lower bound
    """
    work_by_node = {} if work_by_node is None else work_by_node
    # By identity: trees share parts, and without it the work would grow with the number of paths.
    if id(activity) not in work_by_node:
        work_of_children = [
            _scale_work(
                execution_count,
                total_work(
                    child, times_of_node, work_by_node, with_least_executions=with_least_executions
                ),
            )
            for execution_count, child in (
                activity.children_with_least_executions
                if with_least_executions
                else activity.weighted_children
            )
        ]
        # Shared parts are added up once: trees of alike branches would take exponential time.
        work_by_node[id(activity)] = _sum_by_name([times_of_node(activity), *work_of_children])
    return work_by_node[id(activity)]


def _combine_by_name(
    terms_of_parts: Iterable[Mapping[str, Expr]], combine: Callable[[list[Expr]], Expr]
) -> dict[str, Expr]:
    """Return, for each name, the terms that several mappings have under it, combined to one. Names
    are in the order of their first appearance.
    """
    terms_by_name: dict[str, list[Expr]] = {}
    for terms_of_part in terms_of_parts:
        for name, term in terms_of_part.items():
            terms_by_name.setdefault(name, []).append(term)
    return {name: combine(terms_of_name) for name, terms_of_name in terms_by_name.items()}


def _sum_by_name(terms_of_parts: Iterable[Mapping[str, Expr]]) -> dict[str, Expr]:
    """Return, for each name, the sum of the times that several mappings have under it [s]."""
    return _combine_by_name(terms_of_parts, lambda terms: total(terms, TIME))


def _scale_work(factor: Expr, work_by_name: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return the work under each name, multiplied by a factor."""
    return {
        name: time_or_count if time_or_count == zero(TIME) else factor * time_or_count
        for name, time_or_count in work_by_name.items()
    }


def demands(
    activity: Activity, model: Model, *, with_least_executions: bool = False
) -> dict[str, Expr]:
    """Return the service time that one pass demands of each resource, added up over all branches;
    accesses to a lock's word count at the station that holds the word [s]. With least executions it
    is a lower bound: parts whose number of executions depends on the state of the system are left
    out.
    """

    def demands_of_node(node: Activity) -> dict[str, Expr]:
        """Return the service times that one execution of a node itself demands, by resource [s]."""
        if isinstance(node, Step):
            return dict.fromkeys(node.uses, node.time)
        held_resources = [model.held_resource(resource_name) for resource_name in node.held]
        return {
            lock.word: lock.access_time("", False)
            for lock in held_resources
            if lock.word is not None
        }

    return total_work(activity, demands_of_node, with_least_executions=with_least_executions)


def held_times(
    activity: Activity, model: Model, *, with_least_executions: bool = False
) -> dict[str, Expr]:
    """Return a lower bound on the time for which one pass holds each lock [s]. A writer holds all
    the places that readers could hold. With least executions, activities whose number of executions
    depends on the state of the system are left out.
    """

    def hold_times_of_node(node: Activity) -> dict[str, Expr]:
        """Return the time for which one execution of a node itself holds each lock [s]."""
        return {
            lock_name: _held_time(node, lock_name, model, with_least_executions)
            for lock_name in node.held
        }

    return total_work(activity, hold_times_of_node, with_least_executions=with_least_executions)


def _held_time(node: Activity, lock_name: str, model: Model, with_least_executions: bool) -> Expr:
    """Return the time for which one execution of a node holds a lock or permits, times the number
    of permits [s].
    """
    # It is held through the accesses to its word with which it is released.
    held_resource = model.held_resource(lock_name)
    child_times = (
        [_least_time(node, model)]
        if with_least_executions
        else [
            execution_count * time_of_pass(child, model, books_labels=False)
            for execution_count, child in node.weighted_children
        ]
    )
    held_time = total([*child_times, held_resource.accesses[1] * held_resource.access], TIME)
    if isinstance(node, Hold) and node.permits is not None:
        held_time = node.permits * held_time
    return held_resource.capacity * held_time if node.mode == WRITE else held_time


def _least_time(node: Activity, model: Model) -> Expr:
    """Return a lower bound on the time of the children of a node; children whose number of
    executions depends on the state of the system count 0 [s].
    """
    if is_parallel(node):  # the sum of branches is no lower bound
        return zero(TIME)
    child_times = []
    for execution_count, child in node.children_with_least_executions:
        has_counts_by_state = any(
            BY_STATE in inner_node.executions for inner_node in distinct_activities([child])
        )
        child_time = (
            _least_time(child, model)
            if has_counts_by_state
            else time_of_pass(child, model, books_labels=False)
        )
        child_times.append(execution_count * child_time)
    return total(child_times, TIME)


def step_time_by_name(node: Activity, model: Model, name_of_step: StepKey) -> dict[str, Expr]:
    """Return the time of a step without contention [s], by the name from `name_of_step`. The dict
    is empty for a node that is no step, and for a step without a name.
    """
    if not isinstance(node, Step) or (step_name := name_of_step(node)) is None:
        return {}
    return {step_name: model.time_alone(node)}


def work_of_steps(model: Model, name_of_step: StepKey) -> dict[str, Expr]:
    """Return the work of a processor in a cycle or a program: the times of its steps in all
    branches and items, added up by the names that `name_of_step` gives them [s].
    """
    population = model.population
    work_by_node = dict[int, dict[str, Expr]]()

    def work_of_body(body: Activity) -> dict[str, Expr]:
        """Return the times of the steps of one body, added up by their names [s]."""
        return total_work(
            body, lambda node: step_time_by_name(node, model, name_of_step), work_by_node
        )

    match population:
        case PhasedPopulation(phases):
            # A processor takes part in a phase with the probability that it is one of its
            # processors.
            phase_weights = (
                phase.repeat * (phase.processors / population.size) for phase in phases
            )
            return _sum_by_name(
                _scale_work(weight, work_of_body(phase.cycle))
                for weight, phase in zip(phase_weights, phases, strict=True)
            )
        case SuperstepPopulation(supersteps):
            mean_work_by_superstep = (
                {
                    name: body_work / len(superstep.bodies)
                    for name, body_work in _sum_by_name(map(work_of_body, superstep.bodies)).items()
                }
                for superstep in supersteps
            )
            work_by_superstep = (
                _sum_by_name([mean_work, work_of_body(superstep.barrier)])
                for mean_work, superstep in zip(mean_work_by_superstep, supersteps, strict=True)
            )
            return _sum_by_name(
                _scale_work(superstep.repeat, superstep_work)
                for superstep, superstep_work in zip(supersteps, work_by_superstep, strict=True)
            )
    return work_of_body(population.bodies[0])


def most_requests_at_once(
    activity: Activity,
    name_of_request: Callable[[Activity], str | None],
    requests_by_node: dict[int, dict[str, Expr]],
) -> dict[str, Expr]:
    """Return the largest number of requests of an activity that can be under way at once, by name,
    if no server or lock limited them [1].

    Parameters
    ----------
    activity : what is done
    name_of_request : the name under which a node is counted; None if it is not counted
    requests_by_node : numbers of parts that trees share, by identity
    """
    if id(activity) not in requests_by_node:
        requests_of_children = [
            most_requests_at_once(child, name_of_request, requests_by_node)
            for child in activity.children
        ]
        request_name = name_of_request(activity)
        own_request = {} if request_name is None else {request_name: Number(1.0)}
        match activity.combination:
            # Of children that are executed in turn only one is under way, of branches all are.
            case Combination.IN_TURN:
                requests_by_name = _combine_by_name(
                    [own_request, *requests_of_children], maximum_of_distinct
                )
            case Combination.LONGEST:
                weighted_branches = zip(
                    activity.weighted_children, requests_of_children, strict=True
                )
                requests_of_branches = [
                    _scale_work(execution_count, branch_requests)
                    for (execution_count, _), branch_requests in weighted_branches
                ]
                requests_by_name = _combine_by_name(
                    [own_request, _combine_by_name(requests_of_branches, total)],
                    maximum_of_distinct,
                )
            case Combination.ITEMS if isinstance(activity, Pipeline):
                requests_by_name = _item_requests_at_once(activity, requests_of_children)
            case _:
                raise no_rule_error(AT_ONCE, activity)
        requests_by_node[id(activity)] = requests_by_name
    return requests_by_node[id(activity)]


def _item_requests_at_once(
    pipeline: Pipeline, requests_of_bodies: Sequence[Mapping[str, Expr]]
) -> dict[str, Expr]:
    """Return the largest number of requests that the items of a pipeline can have under way at
    once, by name [1].
    """
    remaining_requests = iter(requests_of_bodies)
    requests_of_stages = [
        _combine_by_name([next(remaining_requests) for _ in stage.bodies], maximum_of_distinct)
        for stage in pipeline.stages
    ]
    # A serial stage holds one item at a time, a parallel one any number of them.
    item_requests_of_stages = [
        stage_requests if stage.kind == "serial" else _scale_work(pipeline.items, stage_requests)
        for stage, stage_requests in zip(pipeline.stages, requests_of_stages, strict=True)
    ]
    requests_of_one_item = _combine_by_name(requests_of_stages, maximum_of_distinct)
    # An item is at one stage at a time.
    return {
        request_name: minimum(request_count, pipeline.items * requests_of_one_item[request_name])
        for request_name, request_count in _combine_by_name(item_requests_of_stages, total).items()
    }


def maximum_of_distinct(terms: Iterable[Expr]) -> Expr:
    """Return the maximum of some expressions; equal ones are compared only once."""
    return maximum(*dict.fromkeys(terms))


def _most_steps_at_once(bodies: Sequence[Activity], name_of_step: StepKey) -> dict[str, Expr]:
    """Return the largest number of steps that can be under way at once, by the name that
    `name_of_step` gives them [1].
    """
    requests_by_node: dict[int, dict[str, Expr]] = {}

    def name_of_node(node: Activity) -> str | None:
        return name_of_step(node) if isinstance(node, Step) else None

    return _combine_by_name(
        (most_requests_at_once(body, name_of_node, requests_by_node) for body in bodies),
        maximum_of_distinct,
    )


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
        # How often a child is executed by state is known only from a solution, and so is its work.
        has_counts_by_state = any(
            BY_STATE in node.executions for node in distinct_activities(bodies)
        )
        parallel_nodes = [] if has_counts_by_state else list_parallel_nodes(bodies)
        parallel_components = dict.fromkeys(step.component for step in timed_steps(parallel_nodes))
        has_supersteps = isinstance(model.population, SuperstepPopulation)
        self.components = tuple(
            name for name in parallel_components if not has_supersteps or name in model.useful
        )
        pipelines = (
            []
            if has_supersteps
            else [node for node in parallel_nodes if isinstance(node, Pipeline)]
        )
        # Only serial stages limit how many items of a pipeline overlap; without them its steps are
        # parallel work like that of a fork.
        self.pipelines = {
            pipeline.name: pipeline
            for pipeline in pipelines
            if any(stage.kind == "serial" for stage in pipeline.stages)
        }
        self._expr_by_symbol: dict[tuple[str, str], Expr] = {}
        useful_steps = {step for step in model.steps if step.component in model.useful}
        # Of branches that are not waited for any number may be under way.
        may_count_useful_work = REPLIES not in model.constructs
        may_count_useful_work = may_count_useful_work and not any(
            node.unawaited_children for node in parallel_nodes
        )
        may_count_useful_work = may_count_useful_work and any(
            name in model.useful for name in self.components
        )
        if may_count_useful_work and not model.population.open:
            self._add_useful_expressions(model, bodies, useful_steps)
        work_by_component = (
            {} if has_counts_by_state else work_of_steps(model, lambda step: step.component)
        )
        self._expr_by_symbol |= {
            ("work of", name): work_by_component[name] for name in self.components
        }
        for name, pipeline in self.pipelines.items():
            self._expr_by_symbol["stages", name], self._expr_by_symbol["places", name] = (
                _serial_work_and_step_count(pipeline, model)
            )
        self._tape = Tape([*self._expr_by_symbol.values()] or [zero(TIME)])

    def _add_useful_expressions(
        self, model: Model, bodies: Sequence[Activity], useful_steps: set[Step]
    ) -> None:
        """Add the expressions of the useful steps: their work, how many can be under way at once,
        and at which servers.
        """

        def name_of_useful_step(step: Step) -> str | None:
            """Return one common name for all useful steps; None for other steps."""
            return "" if step in useful_steps else None

        def place_of_useful_step(step: Step) -> str | None:
            """Return the resource of a useful step; None for other steps."""
            return _resource_of_step(step) if step in useful_steps else None

        self._expr_by_symbol["most", ""] = _most_steps_at_once(bodies, name_of_useful_step)[""]
        step_count_by_place = _most_steps_at_once(bodies, place_of_useful_step)
        self._expr_by_symbol |= {
            ("at", resource_name): step_count
            for resource_name, step_count in step_count_by_place.items()
        }
        resource_by_name = {
            resource_name: model.resources[resource_name]
            for resource_name in step_count_by_place
            if resource_name in model.resources
        }
        self._expr_by_symbol |= {
            ("servers", resource_name): _server_count(resource)
            for resource_name, resource in resource_by_name.items()
        }
        self._expr_by_symbol["work", ""] = work_of_steps(model, name_of_useful_step)[""]

    def values_by_symbol(self, values: Values) -> dict[tuple[str, str], Array]:
        """Return the values of the expressions at many points, keyed by a symbol and a name.

        The symbols are: ``work``, the work of the useful steps; ``most``, the largest number of
        useful steps that one processor can have under way at once; ``at``, the same number for one
        resource; ``servers``, the servers of a resource; ``work of``, the work of a component;
        ``stages``, the work in the serial stages of a pipeline; ``places``, the largest number of
        steps that can be under way at once in these stages.
        """
        return dict(
            zip(
                self._expr_by_symbol,
                self._tape.run(selected_values(values, self._tape.parameters)),
                strict=False,
            )
        )

    def columns(
        self,
        values: Values,
        time: Array,
        processors: Array,
        account: Columns,
        span_by_pipeline: Columns,
    ) -> dict[str, Array]:
        """Return, at many points, the occupation and the overlap of each component and the bubble
        (idle share) of each pipeline; also the efficiency and the speed-up, if useful steps can run
        in parallel on one processor [points].

        Parameters
        ----------
        values : of the parameters
        time : of a cycle, or of the whole program [s]
        processors : number of processors [1]
        account : seconds of a processor by component
        span_by_pipeline : mean time of one execution of each pipeline, where it is known [s]
        """
        value_by_symbol = self.values_by_symbol(values)
        column_by_name = dict[str, Array]()
        if ("work", "") in value_by_symbol:
            speedup = SPEEDUP.equation(
                processors, EFFICIENCY.equation(value_by_symbol["work", ""], time)
            )
            column_by_name = {
                "efficiency": speedup / self.worker_count(value_by_symbol, processors),
                "speedup": speedup,
            }
        for name in self.components:
            component_work = value_by_symbol["work of", name]
            column_by_name[f"occupation[{name}]"] = component_work / time
            # The account follows the line that ends last; all other work of a component is hidden
            # behind it. A maximum of random times is split approximately, so that the difference
            # may be below 0: then nothing is hidden.
            hidden_work = component_work - account.get(name, np.zeros(1))
            column_by_name[f"overlap[{name}]"] = (
                np.where(hidden_work > ROUNDING * component_work, hidden_work, 0.0) / time
            )
        for name in self.pipelines.keys() & span_by_pipeline.keys():
            column_by_name[f"bubble[{name}]"] = 1 - value_by_symbol["stages", name] / (
                value_by_symbol["places", name] * span_by_pipeline[name]
            )
        return {
            name: np.broadcast_to(column, np.shape(time)) for name, column in column_by_name.items()
        }

    def worker_count(
        self, value_by_symbol: Mapping[tuple[str, str], Array], processors: Array | float
    ) -> Array:
        """Return the number of processors and servers P that can do useful work, from the result of
        `values_by_symbol` [1].
        """
        worker_counts = [
            _worker_count_at(
                resource_name,
                processors * step_counts,
                processors,
                value_by_symbol.get(("servers", resource_name), np.inf),
            )
            for (symbol, resource_name), step_counts in value_by_symbol.items()
            if symbol == "at"
        ]
        # A processor counts even while it waits. Steps side by side need servers, so that there are
        # never more workers than the places for them.
        worker_count: Array = np.maximum(
            processors,
            np.minimum(processors * value_by_symbol["most", ""], sum(worker_counts, np.zeros(1))),
        )
        return worker_count


def _worker_count_at(
    resource_name: str,
    request_counts: Array,
    processor_counts: Array | float,
    server_counts: Array | float,
) -> Array:
    """Return how many requests of all processors a resource can serve at the same time. For work
    that needs no resource it is the number of processors [1].
    """
    if resource_name == PROCESSORS:
        # The others of a processor that is alone are outside the model.
        return np.where(np.equal(processor_counts, 1), request_counts, processor_counts)
    served_request_counts: Array = np.minimum(server_counts, request_counts)
    return served_request_counts


def _server_count(server_resource: ResourceKind) -> Expr:
    """Return how many steps a resource can serve at once; for a station with rates, its greatest
    speed relative to that for one step.
    """
    speed_alone = server_resource.speed_alone
    if isinstance(server_resource, Station) and speed_alone is not None:
        return maximum(*server_resource.rates) / speed_alone
    return Number(float(server_resource.capacity))


def _resource_of_step(step: Step) -> str:
    """Return the name of the resource of a step: `PROCESSORS` for all processors, `NOWHERE` for a
    delay.
    """
    if step.resource is None:
        return NOWHERE
    return PROCESSORS if is_processor(step.resource) else step.resource


def _serial_work_and_step_count(pipeline: Pipeline, model: Model) -> tuple[Expr, Expr]:
    """Return the time of all steps in the serial stages of a pipeline in one execution [s], and the
    largest number of these steps that can be under way at once [1].
    """
    serial_stages = tuple(stage for stage in pipeline.stages if stage.kind == "serial")
    pipeline_of_serial_stages = replace(pipeline, stages=serial_stages)
    work_by_name = total_work(
        pipeline_of_serial_stages, lambda node: step_time_by_name(node, model, lambda _: "")
    )
    step_counts_of_stages = [
        _most_steps_at_once(stage.bodies, lambda _: "").get("", Number(0.0))
        for stage in serial_stages
    ]
    return work_by_name.get("", zero(TIME)), total(step_counts_of_stages)
