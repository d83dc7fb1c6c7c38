"""The time of one pass through an activity without contention, as an expression."""

from __future__ import annotations

from slipstick.expression.nodes import (
    TIME,
    Booked,
    Expr,
    Number,
    maximum,
    total,
    zero,
)
from slipstick.law.pipeline import FLOW_LINE
from slipstick.model.activity import EarlyReply, Pipeline, Step, Then
from slipstick.model.steps import NOTHING, Activity, Combination, no_rule_error
from slipstick.model.system import Model, is_processor

RULE = "the time without contention"
"""What messages call this rule."""


def time_of_pass(
    activity: Activity,
    model: Model,
    books_labels: bool = True,
    time_by_node: dict[int, Expr] | None = None,
) -> Expr:
    """Return the time of one pass through an activity without contention [s].

    Sequences add, forks take the maximum, choices their mean, pipelines the flow-line time.

    Parameters
    ----------
    activity : what is done
    model : whose resources say what their use costs, such as a barrier
    books_labels : label each step's part, so that an account can be read off
    time_by_node : cache of the times of parts that several trees share, by the `id` of the part;
        the parts must exist as long as the cache

    Raises
    ------
    NoAnswerError : the activity has a kind of step without such a time
    """
    time_by_node = {} if time_by_node is None else time_by_node
    if id(activity) not in time_by_node:
        # By identity: bodies share parts, such as the options of a choice among copies.
        time_by_node[id(activity)] = _compute_time(activity, model, books_labels, time_by_node)
    return time_by_node[id(activity)]


def _compute_time(
    activity: Activity, model: Model, books_labels: bool, time_by_node: dict[int, Expr]
) -> Expr:
    """Compute the time of one pass, as `time_of_pass` does, without looking it up in `time_by_node`
    [s].
    """
    own_time_of_node = own_time(activity, model, books_labels)
    match activity.combination:
        case Combination.IN_TURN:
            # What goes on beside the processor adds no time to it.
            child_times = (
                execution_count * time_of_pass(child, model, books_labels, time_by_node)
                for execution_count, child in activity.weighted_children
                if child not in activity.unawaited_children
            )
            return total([own_time_of_node, *child_times], TIME)
        case Combination.LONGEST:
            # The mean of the first few of several random times may be below each of their means, so
            # that nothing is known of it here: no time of it is counted.
            branch_times = [
                time_of_pass(child, model, books_labels, time_by_node)
                for _, child in activity.weighted_children
                if child not in activity.unawaited_children
            ]
            return total(
                [own_time_of_node, maximum(*branch_times)] if branch_times else [own_time_of_node],
                TIME,
            )
        case Combination.ITEMS if isinstance(activity, Pipeline):
            return _pipeline_time(activity, model, books_labels)
        case _:
            raise no_rule_error(RULE, activity)


def own_time(activity: Activity, model: Model, books_labels: bool) -> Expr:
    """Return the time of one execution of a node itself, without its children and without
    contention: the time of a step, or the cost of using a resource [s].
    """
    if isinstance(activity, Step):
        step_time = model.time_alone(activity)
        return Booked(activity.name, step_time) if books_labels else step_time
    takes_no_time = isinstance(activity, Then | EarlyReply)
    if not activity.children and activity.use == NOTHING and not takes_no_time:
        raise no_rule_error(RULE, activity)
    # Other processors, as resources, cost nothing beside the time of the step.
    use_times = (
        model.resources[resource_name].use_time(
            resource_name, model.population.present, books_labels
        )
        for resource_name in activity.uses
        if not is_processor(resource_name)
    )
    return total(use_times, TIME)


def _pipeline_time(pipeline: Pipeline, model: Model, books_labels: bool) -> Expr:
    """Return the time of a pipeline without contention [s]. If all items are identical, it follows
    from the law of flow lines.
    """
    if not pipeline.identical:
        return _time_of_uneven_items(pipeline, model, books_labels)
    stage_times = [time_of_pass(stage.bodies[0], model, books_labels) for stage in pipeline.stages]
    serial_times = [
        stage_time
        for stage_time, stage in zip(stage_times, pipeline.stages, strict=True)
        if stage.kind == "serial"
    ]
    longest_serial_time = maximum(*serial_times) if serial_times else zero(TIME)
    # With identical items and constant times the longest serial stage sets the pace, and the others
    # fill and drain once.
    flow_line_time = FLOW_LINE(
        once=total(stage_times, TIME), longest=longest_serial_time, items=pipeline.items
    )
    assert isinstance(flow_line_time, Expr)
    return flow_line_time


def _time_of_uneven_items(pipeline: Pipeline, model: Model, books_labels: bool) -> Expr:
    """Return the time of a pipeline whose items differ [s]: end[j][s] = max(end[j-1][s] if s is
    serial, end[j][s-1]) + t[j][s].
    """
    assert isinstance(pipeline.items, Number)
    finish_times: list[Expr] = []
    previous_end_times: list[Expr] = []
    for item_index in range(int(pipeline.items.value)):
        end_time: Expr = zero(TIME)
        end_times: list[Expr] = []
        for stage_index, stage in enumerate(pipeline.stages):
            # Only a serial stage makes an item wait for the one before; a parallel one takes all at
            # once.
            waits_for_previous = stage.kind == "serial" and item_index > 0
            start_time = (
                maximum(previous_end_times[stage_index], end_time)
                if waits_for_previous
                else end_time
            )
            body = stage.bodies[item_index % len(stage.bodies)]
            end_time = total([start_time, time_of_pass(body, model, books_labels)], TIME)
            end_times.append(end_time)
        previous_end_times = end_times
        finish_times.append(end_time)
    # Items leave a serial stage in order; at a parallel one any item may be the last.
    return finish_times[-1] if pipeline.stages[-1].kind == "serial" else maximum(*finish_times)
