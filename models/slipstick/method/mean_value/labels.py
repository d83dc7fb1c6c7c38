"""What time is booked to: steps, waits, barriers, and standing idle."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.method.closed_form.form import IDLE, IDLE_PROCESSORS
from slipstick.method.closed_form.times import BARRIER
from slipstick.method.mean_value.queues import label_of
from slipstick.method.mean_value.recursion import Recursion
from slipstick.model.activity import Barrier, Step, steps
from slipstick.model.system import Model

__all__ = ["classes_of", "labels_of"]


def labels_of(recursion: Recursion) -> list[str]:
    """List the labels of a cycle: its steps, in the order written, then its waits, then its barriers."""
    cycle = recursion.cycle
    mine = {node for node in steps(cycle) if isinstance(node, Step)}
    names = [step.name for step in recursion.model.steps if step in mine]
    waits = [label_of(visit) for visit in recursion.grown.visits]
    barriers = [f"{BARRIER}:{node.name}" for node in steps(cycle) if isinstance(node, Barrier)]
    return list(dict.fromkeys([*names, *waits, *barriers]))


def classes_of(model: Model, labels: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Give component and technology class of each label; waiting is a component and a class of its own."""
    known = {step.name: (step.component, step.technology) for step in model.steps}
    found = {}
    for label in labels:
        if label in known:
            found[label] = known[label]
        elif label.startswith(f"{BARRIER}:"):
            found[label] = (BARRIER, "software")
        else:
            found[label] = (IDLE, "application") if label == IDLE_PROCESSORS else (label, "wait")
    return found
