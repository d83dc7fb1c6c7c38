"""The adaptive Euler program under the askfor monitor: its trees from the solver, its passes as
pools of tasks.

Each time step of the solver is three passes over the tree of that step:

- pass 1 solves the Riemann problems at the leaves and passes information up: tasks are parts of the
  tree, cut by `min_size`;
- pass 2a, from the root down, prunes, updates and adds nodes: the same tasks, each with less work,
  and unequal: a node that is made or removed takes as much more as it calls more locks;
- pass 2b, clean-up over all nodes, is one task: a processor works, and all others wait in the
  monitor.

All processors share the machine's bus. With `bus`, the part of its work for which a lone processor
uses it, N processors at work wait for each other there, and work takes longer by the law of one
server with N sources (`slipstick_laws.finite_population`). Approximation: all N are taken to work
all the time, though some wait for tasks; so the rise is at most this. Pass 2b has one processor at
work.

Waits are booked by how they end, for each pass: ``entry:pass-1`` (critical region), ``task:pass-1``
and ``barrier:pass-1`` (lack of parallelism). The locks of single nodes, which a processor holds for
a few instructions, are left out.

The paper prints the partition, the passes and the monitor; it prints no time of a node. Node times
are ours, from 2.4 ms for each lock call of a node and step, which is T_1 of 6050 s over 38 s / 15
us of lock calls; `serial` is chosen so that pass 2b costs the printed 1.7 of 16 processors of
passes 2a and 2b.
"""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, TIME, Expr
from slipstick.model.activity import ask, then
from slipstick.model.machine import SharedMemory
from slipstick.model.system import Model, TaskPool, phased_model
from slipstick.model.tasks import Trees
from slipstick.program.program import Input, InputValues, Program, number, value_of, word
from slipstick_laws.finite_population import MACHINE_REPAIRMAN_RESPONSE
from slipstick_workloads.euler.solver import (
    cells_by_step,
    subtree_count_by_node,
    work_by_updated_node,
)

NAME = "euler/adaptive"
TOLERANCE = 3.753e-3
"""Chosen so that the last tree has the printed 339 nodes."""

ONE_TASK_SIZE = 10**6
"""A `min_size` that keeps every tree in one task."""


def adaptive(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of the program: the passes over the trees of some time steps, spread evenly
    up to the last.
    """
    cells_of_steps = cells_by_step(number(inputs, "tolerance"), int(number(inputs, "deepest")))
    step_count = min(int(number(inputs, "steps")), len(cells_of_steps))
    chosen_indices = [
        len(cells_of_steps) * (step_number + 1) // step_count - 1
        for step_number in range(step_count)
    ]
    return _model_of_passes(
        inputs,
        tuple(subtree_count_by_node(cells_of_steps[step_index]) for step_index in chosen_indices),
        tuple(
            work_by_updated_node(cells_of_steps[max(step_index - 1, 0)], cells_of_steps[step_index])
            for step_index in chosen_indices
        ),
    )


def sample(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of the passes over one tree of three nodes, for which the solver need not
    run.
    """
    return _model_of_passes(inputs, ((2, 0, 0),), ((1, 1, 1),))


def bus_slowdown(bus_share: float, processors: float) -> float:
    """Return the factor by which work takes longer on processors that share a bus [1].

    Parameters
    ----------
    bus_share : part of its work for which one processor alone uses the bus [1]
    processors : at work [1]

    >>> bus_slowdown(0.02, 1), round(bus_slowdown(0.5, 2), 3)
    (1.0, 1.25)
    """
    if not bus_share:
        return 1.0
    if bus_share == 1:
        return processors
    bus_time = MACHINE_REPAIRMAN_RESPONSE(
        sources=processors, think=1 - bus_share, service=bus_share
    )
    return float(1 - bus_share + bus_time)


def _model_of_passes(
    inputs: InputValues, shapes: tuple[tuple[int, ...], ...], updates: tuple[tuple[int, ...], ...]
) -> Model:
    """Build the model of the passes over trees, given by the subtrees of their nodes and the work
    of their updates.
    """
    processors = number(inputs, "processors")
    step_count = len(shapes)
    min_size = int(number(inputs, "min_size"))
    small_trees = Trees(shapes, min_size)
    update_trees = Trees(shapes, min_size, updates)
    whole_trees = Trees(shapes, ONE_TASK_SIZE)
    time_inside = value_of(inputs, "inside")
    task_order = word(inputs, "order")
    queue_count = int(number(inputs, "queues"))

    def task_pool(trees: Trees, leaf_time: Expr, interior_time: Expr) -> TaskPool:
        return TaskPool(trees, leaf_time, interior_time, time_inside, task_order, queue_count)

    slowdown = bus_slowdown(number(inputs, "bus"), processors)
    leaf_time, interior_time = (slowdown * value_of(inputs, name) for name in ("leaf", "interior"))
    update_share = value_of(inputs, "update")
    pool_by_name = {
        "pass-1": task_pool(small_trees, leaf_time, interior_time),
        "pass-2a": task_pool(update_trees, update_share * leaf_time, update_share * interior_time),
        "pass-2b": task_pool(whole_trees, value_of(inputs, "serial"), value_of(inputs, "serial")),
    }
    pool_names = {"all": [*pool_by_name], "1": ["pass-1"], "2": ["pass-2a", "pass-2b"]}[
        word(inputs, "passes")
    ]
    cycle = then(*map(ask, pool_names))
    resources = {name: pool_by_name[name] for name in pool_names}
    useful_components = ("busy", "monitor")
    return phased_model(
        (step_count, processors, cycle), name=NAME, resources=resources, useful=useful_components
    )


ADAPTIVE = Program(
    NAME,
    "An adaptive solver of the Euler equations, with a monitor that distributes its tree",
    "Lucier, SIGMETRICS 1988; the solver is ours: Sod's tube, HLL flux, refinement by second"
    " differences",
    (
        Input(
            "processors", COUNT, "processors that ask for work", 16.0, least=1, most=1e4, whole=True
        ),
        Input(
            "min_size",
            COUNT,
            "size that a task exceeds: it has from min_size + 1 to 3 min_size nodes of the tree",
            2.0,
            least=1,
            whole=True,
        ),
        Input(
            "steps",
            COUNT,
            "time steps of the run that are executed, the last among them",
            8.0,
            least=1,
            whole=True,
        ),
        Input(
            "tolerance",
            COUNT,
            "second difference of the density that halves a cell",
            TOLERANCE,
            least=1e-6,
            most=1.0,
        ),
        Input("deepest", COUNT, "halvings of a cell at most", 9.0, least=3, most=14, whole=True),
        Input("leaf", TIME, "work at a leaf in pass 1", 8e-3),
        Input("interior", TIME, "work at any other node in pass 1", 1e-3),
        Input(
            "update",
            COUNT,
            "work at a node that stays in pass 2a, as a part of that in pass 1",
            0.25,
        ),
        Input("serial", TIME, "work at a node in pass 2b", 26e-6),
        Input(
            "bus",
            COUNT,
            "part of its work for which a processor alone uses the bus",
            0.0,
            most=1.0,
        ),
        Input("inside", TIME, "time in the monitor to take or to add a task", 150e-6),
        Input(
            "queues",
            COUNT,
            "queues of tasks, each with a monitor; 1 is the paper's stack",
            1.0,
            least=1,
            whole=True,
        ),
        Input(
            "order",
            COUNT,
            "which task of its queue a processor takes",
            "lifo",
            options=("lifo", "fifo"),
        ),
        Input(
            "passes",
            COUNT,
            "which passes: 1, 2 for 2a and 2b, or all",
            "all",
            options=("all", "1", "2"),
        ),
    ),
    adaptive,
    SharedMemory,
    sample,
)
