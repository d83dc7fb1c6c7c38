"""The queues of an activity. All visits to one resource make a `Queue`; the processors together
are one queue whose servers are the processors.

Lumping: one resource stands for several alike ones, so that a model with many of them stays small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from slipstick.expression.nodes import Expr
from slipstick.late import Array, dataclass, field, np, replace
from slipstick.model.activity import Choice, Hold, Pipeline, Step
from slipstick.model.steps import (
    HELD,
    MET,
    NOTHING,
    Activity,
    Combination,
    is_parallel,
    no_rule_error,
    non_default_fields,
    requested_resource,
    steps,
)
from slipstick.model.system import Model, ReaderWriterLock, is_processor
from slipstick.structure.visits import PROCESSORS, Visit, VisitTree, visit_of

LUMPED_FROM = 8
"""The least number of alike resources that are lumped into one; fewer cost little."""


@dataclass(frozen=True, slots=True)
class LumpedActivities:
    """Activities in which one resource represents several resources that are alike, such as the
    modules of a memory.

    Exact but for rounding: a choice takes each copy with the same probability and does the same
    there, so by symmetry all copies have the same use, and an arrival at one of m copies finds 1/m
    of the processors at all of them.

    Parameters
    ----------
    activities : with one option of a choice in the place of all alike ones
    copies_by_resource : by resource that is kept, the names of all that it stands for
    copies_by_label : by label that is kept, the labels of steps and waits that it stands for
    options_by_probability : by the probability of an option that is kept, the probability of each
        option that it stands for, and their number
    """

    activities: tuple[Activity, ...]
    copies_by_resource: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies_by_label: dict[str, tuple[str, ...]] = field(default_factory=dict)
    options_by_probability: dict[Expr, tuple[Expr, int]] = field(default_factory=dict)

    def divide_account(
        self, booked_by_label: Mapping[str, Array], listed_labels: Sequence[str]
    ) -> dict[str, Array]:
        """Divide the time booked to each label equally among the labels that it stands for, and
        list them in the order of `listed_labels`.
        """
        time_by_label: dict[str, Array] = {}
        for label, label_time in booked_by_label.items():
            for represented_label in (
                represented_labels := self.copies_by_label.get(label, (label,))
            ):
                time_by_label[represented_label] = time_by_label.get(
                    represented_label, np.zeros(1)
                ) + label_time / len(represented_labels)
        return {label: time_by_label[label] for label in listed_labels}

    def copy_uses(
        self, lumped_uses: Mapping[str, Array], listed_names: Sequence[str]
    ) -> dict[str, Array]:
        """Copy the use of each queue to all queues that it stands for, in the order of
        `listed_names`.
        """
        uses_by_name = {
            queue_name: column
            for lumped_name, column in lumped_uses.items()
            for queue_name in self.copies_by_resource.get(lumped_name, (lumped_name,))
        }
        return {queue_name: uses_by_name[queue_name] for queue_name in listed_names}


def lump_alike_resources(activities: Sequence[Activity], model: Model) -> LumpedActivities:
    """Return activities in which one resource represents several resources that are alike.
    Activities with forks, pipelines or barriers, which compare times, are returned unchanged.
    """
    all_nodes = [node for activity in activities for node in steps(activity)]
    lumped_activities = LumpedActivities(())
    if any(is_parallel(node) or node.use == MET for node in all_nodes):
        return replace(lumped_activities, activities=tuple(activities))
    use_counts = Counter(map(requested_resource, all_nodes))
    use_counts_by_names: dict[tuple[tuple[str, ...], ...], Counter[str | None]] = {}
    for node in (node for node in all_nodes if isinstance(node, Choice)):
        for shapes, options in _alike_options(node, model):
            used_names = (
                requested_resource(node_inside)
                for _, body in options
                for node_inside in steps(body)
            )
            use_counts_by_names.setdefault(
                tuple(shape.names for shape in shapes), Counter()
            ).update(used_names)
    # A resource with further uses elsewhere, or with a lock's word, differs from the others of its
    # choice, whatever the options look like.
    lock_words = {resource.word for resource in model.resources.values()}
    lumped_names = {
        resource_names
        for resource_names, option_use_counts in use_counts_by_names.items()
        if len(resource_names) > 1
        and all(
            resource_name not in lock_words
            and option_use_counts[resource_name] == use_counts[resource_name]
            for option_names in resource_names
            for resource_name in option_names
        )
    }

    def with_lumped_options(node: Activity) -> Activity:
        """Return a node in which one option of each choice represents all alike options."""
        if not isinstance(node, Choice):
            return node.rebuilt([with_lumped_options(child) for child in node.children])
        lumped_options: list[tuple[Expr, Activity]] = []
        for shapes, options in _alike_options(node, model):
            names_of_options = tuple(shape.names for shape in shapes)
            if names_of_options not in lumped_names:
                lumped_options += [
                    (probability, with_lumped_options(body)) for probability, body in options
                ]
                continue
            # Options that differ only in which of alike resources they use become one option, of
            # the sum of their probabilities, at the first of the resources.
            probability, body = options[0]
            lumped_options.append((probability * len(names_of_options), body))
            lumped_activities.options_by_probability[probability * len(names_of_options)] = (
                probability,
                len(names_of_options),
            )
            lumped_activities.copies_by_resource.update(
                zip(names_of_options[0], zip(*names_of_options, strict=True), strict=True)
            )
            labels_of_options = [shape.labels for shape in shapes]
            lumped_activities.copies_by_label.update(
                zip(labels_of_options[0], zip(*labels_of_options, strict=True), strict=True)
            )
        return Choice(tuple(lumped_options))

    return replace(lumped_activities, activities=tuple(map(with_lumped_options, activities)))


class _Shape:
    """The structure of a part of an activity, in which resources have numbers in place of names;
    the names and labels are listed separately, in their order.
    """

    def __init__(self, body: Activity, model: Model) -> None:
        self._model = model
        self._number_by_resource = dict[str, int]()
        self._labels = list[str]()
        self.key = self._structure_key(body)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the resources, in the order of their first uses."""
        return tuple(self._number_by_resource)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the steps, and the labels that waiting is booked to."""
        return tuple(self._labels)

    def _structure_key(self, node: Activity) -> tuple[object, ...]:
        """Return the structure of a node, and record the names and labels that it has."""
        match node:
            case Step(name, time, resource):
                self._labels.append(name)
                number_and_resource = resource and self._resource_number(
                    resource, f"wait:{resource}"
                )
                return (
                    time,
                    node.scv,
                    node.distribution,
                    number_and_resource,
                    non_default_fields(node),
                )
            case Hold(resource, body, mode):
                label = self._model.held_resource(resource).label(resource)
                return (
                    self._resource_number(resource, label),
                    mode,
                    self._structure_key(body),
                    non_default_fields(node),
                )
            case _ if node.use == NOTHING:
                shapes_of_children = map(self._structure_key, node.children)
                return type(node), node.expressions, non_default_fields(node), *shapes_of_children
            case _:
                raise no_rule_error("the comparison of resources", node)

    def _resource_number(self, resource_name: str, label: str) -> tuple[int, object]:
        """Return the number that stands for the name of a resource, and the resource itself."""
        self._labels.append(label)
        return self._number_by_resource.setdefault(
            resource_name, len(self._number_by_resource)
        ), self._model.resources.get(resource_name)


_Option = tuple[Expr, Activity]


def _alike_options(
    choice: Choice, model: Model
) -> Iterator[tuple[Sequence[_Shape], Sequence[_Option]]]:
    """Yield groups of the options of a choice, with the shapes of their bodies. Options are in one
    group if they have the same probability and the same structure at different resources.
    """
    options_by_shape: dict[object, list[tuple[_Shape, _Option]]] = {}
    for probability, body in choice.options:
        shape = _Shape(body, model)
        options_by_shape.setdefault((probability, shape.key), []).append(
            (shape, (probability, body))
        )
    for alike_options in options_by_shape.values():
        shapes = [shape for shape, _ in alike_options]
        options = [option for _, option in alike_options]
        resource_names = [name for shape in shapes for name in shape.names]
        # Options that share a resource are not symmetric: each name occurs once.
        if (
            len(alike_options) >= LUMPED_FROM
            and len(set(resource_names)) == len(resource_names) > 0
        ):
            yield shapes, options
        else:
            yield from (([shape], [option]) for shape, option in alike_options)


def _largest_request_count(node: Activity, queue_name: str) -> int:
    """Return the largest number of requests that one processor can have at a queue at once; a
    pipeline can have one at each stage.
    """
    request_counts_of_children = [
        _largest_request_count(child, queue_name) for child in node.children
    ]
    visit = visit_of(node)
    is_visit_to_queue = visit is not None and visit.queue == queue_name
    match node.combination:
        case Combination.IN_TURN:
            return max(int(is_visit_to_queue), *request_counts_of_children, 0)
        case Combination.LONGEST:
            return sum(request_counts_of_children)
        case Combination.ITEMS if isinstance(node, Pipeline):
            remaining_counts = iter(request_counts_of_children)
            return sum(max(next(remaining_counts) for _ in stage.bodies) for stage in node.stages)
        case _:
            raise no_rule_error("the number of requests at once", node)


@dataclass(frozen=True, slots=True)
class Queue:
    """A station, a lock, or all processors, with its visits.

    Parameters
    ----------
    name : in answers
    visits : to this queue
    servers : of the station, or of each processor
    serves_at_once : whether all present are served at once: they share the servers, or have one
        each
    is_lock : whether it is a lock, whose service is what is done while it is held
    is_spin_lock : whether it is a lock whose waiting processors access its word
    requests : the most requests that one processor can have there at once
    copies : alike queues that this one stands for, each visit to any of them; see
        `LumpedActivities`
    order : of a reader-writer lock, whose waits `shared_locks` gives; empty for others
    """

    name: str
    visits: tuple[Visit, ...]
    servers: int = 1
    serves_at_once: bool = False
    is_lock: bool = False
    is_spin_lock: bool = False
    requests: int = 1
    copies: int = 1
    order: str = ""

    def all_servers(self, processors: int) -> int:
        """Return the number of servers; the queue of the processors has one server for each
        processor.
        """
        return processors if self.name == PROCESSORS else self.servers

    @property
    def label(self) -> str:
        """The label to which waiting at this queue is booked."""
        return self.visits[0].label if self.is_lock else f"wait:{self.visits[0].queue}"


def queues_of(
    model: Model, trees: Sequence[VisitTree], copies_by_resource: Mapping[str, Sequence[str]]
) -> tuple[Queue, ...]:
    """List the queues of all trees, in the order of their first visits."""
    visits_by_queue: dict[str, list[Visit]] = {}
    for visit in (visit for tree in trees for visit in tree.visits):
        queue_name = PROCESSORS if is_processor(visit.queue) else visit.queue
        visits_by_queue.setdefault(queue_name, []).append(visit)
    queues = []
    for queue_name, visits in visits_by_queue.items():
        resource = model.resources.get(queue_name)
        discipline = model.service_discipline(queue_name)
        queues.append(
            Queue(
                queue_name,
                tuple(visits),
                resource.capacity if resource is not None else 1,
                discipline is not None and discipline.at_once,
                resource is not None and resource.use == HELD,
                resource is not None and resource.spins,
                max(1, *(_largest_request_count(tree.root, queue_name) for tree in trees)),
                # A queue without copies stands for itself: the text has one character.
                len(copies_by_resource.get(queue_name, "1")),
                resource.order if isinstance(resource, ReaderWriterLock) else "",
            )
        )
    return tuple(queues)
