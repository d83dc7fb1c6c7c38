"""Tasks of a pool, each with the tasks that it adds: loops cut into chunks, and trees cut into
parts.

A task is a sequence of parts (interior, leaves, added): numbers of interior and other nodes or
iterations that are worked on, then the number of the task that is added to the pool, or -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import ge
from typing import NamedTuple

from slipstick.arguments import checked, either_kind, list_of, whole_number
from slipstick.errors import ModelError
from slipstick.expression.nodes import TIME, Expr, maximum, total
from slipstick.late import dataclass

TaskPart = tuple[int, int, int]
"""Numbers of interior nodes and of leaves that are worked on, and the number of the task that is
added to the pool afterwards, -1 for none.
"""
TaskSet = tuple[tuple[int, ...], tuple[tuple[TaskPart, ...], ...]]
"""The numbers of the tasks that are in the pool at the start, and the parts of every task."""

MOST_NODES = 10**6
"""The largest number of nodes of a tree, or of iterations of a loop."""


_ITERATIONS = either_kind(
    f"a number of iterations from 1 to {MOST_NODES:,}, or a list of the work of each",
    whole_number(1, MOST_NODES),
    list_of(whole_number(0), 1, MOST_NODES),
)


@checked(iterations=_ITERATIONS, chunk=whole_number(1, MOST_NODES))
@dataclass(frozen=True, slots=True)
class Loop:
    """A parallel loop, cut into tasks of `chunk` iterations each. All tasks exist at the start.

    Parameters
    ----------
    iterations : number of iterations; or a list, or a generator, with the work of each iteration in
        units
    chunk : number of iterations in a task; the last task may have fewer

    >>> Loop(7, 3).problems()
    (((0, 1, 2), (((0, 3, -1),), ((0, 3, -1),), ((0, 1, -1),))),)
    >>> Loop((5, 0, 2), 2).problems()
    (((0, 1), (((0, 5, -1),), ((0, 2, -1),))),)
    """

    iterations: int | tuple[int, ...]
    chunk: int = 1

    def problems(self) -> tuple[TaskSet, ...]:
        """Return the tasks into which the iterations are cut, as a single problem."""
        work_by_iteration = (
            (1,) * self.iterations if isinstance(self.iterations, int) else self.iterations
        )
        tasks = [
            ((0, sum(work_by_iteration[first_iteration : first_iteration + self.chunk]), -1),)
            for first_iteration in range(0, len(work_by_iteration), self.chunk)
        ]
        return ((tuple(range(len(tasks))), tuple(tasks)),)


@checked(
    shapes=list_of(list_of(whole_number(0)), 1),
    min_size=whole_number(1),
    work=list_of(list_of(whole_number(0))),
)
@dataclass(frozen=True, slots=True)
class Trees:
    """Trees of work, which processors execute from the root down in tasks of a few nodes.

    Each tree is a problem of its own.

    A processor that takes a subtree works on the root, and then walks down into the largest subtree
    below it. The processor keeps a smaller subtree as long as it then has at most 3 `min_size`
    nodes; otherwise it adds the subtree to the pool. The walk ends when the processor has more than
    `min_size` nodes, or when the rest fits. The processor then works on the nodes that it has kept.
    In a binary tree these are `min_size` + 1 to 3 `min_size` nodes, or fewer if the tree is
    smaller. The nodes on the way down come in addition.

    Parameters
    ----------
    shapes : for each tree the number of subtrees of each node, with a node before its subtrees. The
        numbers are a list, or the output of a generator
    min_size : size that controls the partition, a number of nodes
    work : for each tree the work of each node, as a multiple of the time of a node of this kind; 1
        by default

    Source: Lucier, SIGMETRICS 1988, for the partition of a tree by `min_size`; the case of more
    than two subtrees is our extension.

    >>> Trees(((2, 2, 0, 0, 0),), min_size=1).problems()
    (((0,), (((2, 3, -1),),)),)
    """

    shapes: tuple[tuple[int, ...], ...]
    min_size: int = 1
    work: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        for shape in self.shapes:
            _subtree_sizes(shape)
        if self.work and [*map(len, self.work)] != [*map(len, self.shapes)]:
            raise ModelError(
                "work of trees has one number for each node of each tree, or is left out"
            )

    def problems(self) -> tuple[TaskSet, ...]:
        """Return the tasks into which the trees are cut; each tree is one problem."""
        # Without stated work each node has one unit.
        work_by_tree = self.work or tuple((1,) * len(shape) for shape in self.shapes)
        return tuple(
            ((0,), tuple(_tree_tasks(shape, self.min_size, node_work)))
            for shape, node_work in zip(self.shapes, work_by_tree, strict=True)
        )


def _subtree_sizes(child_counts: Sequence[int]) -> list[int]:
    """Return the number of nodes of the subtree of each node, from the number of its children."""
    subtree_sizes = [0] * len(child_counts)
    roots_without_parent: list[
        int
    ] = []  # roots of subtrees behind this node that have no parent yet, the nearest last
    # Backwards: nodes come before their subtrees, so that these are known by then.
    for node in range(len(child_counts) - 1, -1, -1):
        if not 0 <= child_counts[node] <= len(roots_without_parent):
            raise ModelError(
                f"node {node} of a tree has {child_counts[node]} subtrees, but"
                f" {len(roots_without_parent)} follow it"
            )
        child_roots = [roots_without_parent.pop() for _ in range(child_counts[node])]
        subtree_sizes[node] = 1 + sum(subtree_sizes[child] for child in child_roots)
        roots_without_parent.append(node)
    if len(roots_without_parent) != 1 or len(child_counts) > MOST_NODES:
        raise ModelError(
            f"a tree has one root and at most {MOST_NODES} nodes; this one has"
            f" {len(roots_without_parent)} roots and {len(child_counts)} nodes"
        )
    return subtree_sizes


def _tree_tasks(
    child_counts: Sequence[int], min_size: int, work_by_node: Sequence[int]
) -> Iterator[tuple[TaskPart, ...]]:
    """Yield the parts of each task into which a tree is cut, the first task with the root."""
    subtree_sizes = _subtree_sizes(child_counts)
    task_roots = [0]
    for node in task_roots:  # which grows by the subtrees that are added
        task_parts: list[TaskPart] = []
        own_roots: list[int] = []
        interior_work = node_count = 0
        # Walk down the largest subtrees: the nodes above them stay in this task, as interior work.
        while node_count <= min_size and node_count + subtree_sizes[node] > 3 * min_size:
            interior_work += work_by_node[node]
            # The largest subtree is taken apart further; the smaller ones fit whole, or become
            # tasks.
            *smaller_roots, largest_root = _child_roots(child_counts, subtree_sizes, node)
            for subtree in smaller_roots:
                # A subtree joins the task as long as the task stays within three times `min_size`;
                # else it becomes a task of its own.
                if node_count + subtree_sizes[subtree] <= 3 * min_size:
                    own_roots.append(subtree)
                    node_count += subtree_sizes[subtree]
                else:
                    task_parts.append((interior_work, 0, len(task_roots)))
                    task_roots.append(subtree)
                    interior_work = 0
            node = largest_root
        if node_count + subtree_sizes[node] <= 3 * min_size:
            own_roots.append(node)
        else:
            task_parts.append((interior_work, 0, len(task_roots)))
            task_roots.append(node)
            interior_work = 0
        own_nodes = [
            node_index
            for root in own_roots
            for node_index in range(root, root + subtree_sizes[root])
        ]
        leaf_work = sum(
            work_by_node[node_index] for node_index in own_nodes if not child_counts[node_index]
        )
        interior_work += sum(
            work_by_node[node_index] for node_index in own_nodes if child_counts[node_index]
        )
        yield (*task_parts, (interior_work, leaf_work, -1))


def _child_roots(child_counts: Sequence[int], subtree_sizes: Sequence[int], node: int) -> list[int]:
    """List the roots of the subtrees directly below a node, smallest subtree first."""
    child_roots = [node + 1]
    while len(child_roots) < child_counts[node]:
        child_roots.append(child_roots[-1] + subtree_sizes[child_roots[-1]])
    return sorted(child_roots, key=lambda root: subtree_sizes[root])


TaskSource = Loop | Trees


class ProblemTimes(NamedTuple):
    """The times of one problem of a pool [s]: all its work, all its time in the monitors, and its
    critical path, the longest path through tasks that add each other.
    """

    work: Expr
    inside: Expr
    path: Expr


def problem_times(problem: TaskSet, interior: Expr, leaf: Expr, inside: Expr) -> ProblemTimes:
    """Compute the work, the time in the monitors and the critical path of a problem, without the
    search for tasks at its end [s].

    Each task is taken and each that another adds is added in a monitor; the path is the longest
    through tasks that add each other.

    Parameters
    ----------
    problem : the tasks
    interior, leaf, inside : time of a node with subtrees, of an iteration or a leaf, and of one
        access to a queue [s]

    Source: work and path as in Brent, J. ACM 21(2), 1974, and Graham, SIAM J. Appl. Math. 17(2),
    1969.
    """
    roots, tasks = problem
    unit_times = (interior, leaf, inside)
    task_parts = [task_part for task in tasks for task_part in task]
    total_counts = (
        sum(interior_nodes for interior_nodes, _, _ in task_parts),
        sum(leaves for _, leaves, _ in task_parts),
        0,
    )
    # Each task is taken out once, and each part that adds a task puts one in: both are inside the
    # monitor.
    access_count = len(tasks) + sum(added_task >= 0 for _, _, added_task in task_parts)
    path_times = (
        _time_of_counts(counts_of_path, unit_times)
        for counts_of_path in longest_paths(roots, tasks)
    )
    return ProblemTimes(
        _time_of_counts(total_counts, unit_times), access_count * inside, maximum(*path_times)
    )


def _time_of_counts(counts: tuple[int, int, int], unit_times: tuple[Expr, Expr, Expr]) -> Expr:
    """Return the time of a number of interior nodes, of leaves and of accesses to the queue [s],
    from the time of a single node, leaf and access.

    Parameters
    ----------
    counts : of interior nodes, which have subtrees, of leaves, which have none, and of accesses to
        the queue of tasks inside its monitor
    unit_times : time of one of each [s]
    """
    counts_and_times = zip(counts, unit_times, strict=True)
    return total((count * seconds for count, seconds in counts_and_times if count), TIME)


def longest_paths(
    roots: Sequence[int], tasks: Sequence[Sequence[TaskPart]]
) -> list[tuple[int, int, int]]:
    """Return, for each path through the tasks, its numbers of interior nodes, leaves and accesses
    to the queue. Paths that have at most as many of each as another path are left out.
    """
    counts_of_paths = set()
    open_paths = [(root, 0, 0, 1) for root in roots]
    while open_paths:
        task_number, interior_nodes, leaves, accesses = open_paths.pop()
        for part_nodes, part_leaves, added_task in tasks[task_number]:
            interior_nodes = interior_nodes + part_nodes
            leaves = leaves + part_leaves
            if added_task >= 0:
                accesses += 1
                open_paths.append((added_task, interior_nodes, leaves, accesses + 1))
        counts_of_paths.add((interior_nodes, leaves, accesses))
    # Which path is longest depends on the times, so that all that may be longest are kept.
    return [
        counts_of_path
        for counts_of_path in counts_of_paths
        if not any(
            other_count != counts_of_path and all(map(ge, other_count, counts_of_path))
            for other_count in counts_of_paths
        )
    ]
