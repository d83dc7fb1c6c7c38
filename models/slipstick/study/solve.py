"""One model with settings, solved by one or several methods: what ``slipstick solve`` does.

This module imports only what a single answer needs; `slipstick.study.run` solves whole studies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slipstick.answer import Answer
from slipstick.errors import UnknownNameError
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model, need_model
from slipstick.schema.inputs import BuiltModel, Inputs, Settings, build, resolve
from slipstick.schema.library import Library
from slipstick.schema.text import Scalar, canonical, plain

if TYPE_CHECKING:
    from slipstick.results.study import Agreement, Timeline


def solve_settings(
    settings: Settings, library: Library, methods: Sequence[str | None] = (None,), values: Sequence[str] = ()
) -> tuple[tuple[Answer, ...], BuiltModel]:
    """Answer for one set of settings by one or several methods.

    Parameters
    ----------
    settings : values by path
    library : what was read so far
    methods : by name, each gives one answer, bounds of a network several; None is what the settings say, or the default
    values : further ones, such as ``time_until[door,2]``, that answers have where they are asked for

    Raises
    ------
    SpecError : something is wrong with the settings
    UnknownNameError : there is no such method, or no such value
    """
    from slipstick.method.methods import answered

    inputs = resolve(settings, library)
    built = build(inputs)
    given = given_values(settings, inputs, built)
    answers = (
        each
        for method in methods
        for each in answered(built.model, built.parameters, method or built.options.method, built.options.simulation)
    )
    own = built.model.notes if isinstance(built.model, Model) else ()
    notes = (*built.notes, *own, *_without_effect(settings, inputs, built))
    found = tuple(
        replace(answer, given=given, notes=(*notes, *answer.notes), described=built.entries) for answer in answers
    )
    if not values:
        return found, built
    from slipstick.study.points import with_transient

    names = built.shape.names(None)
    if odd := next((name for name in values if name not in names), None):
        stations = built.model.stations if isinstance(built.model, QueueingNetwork) else ()
        raise UnknownNameError("value of an answer", odd, [*(f"time_until[{each},1]" for each in stations), *names])
    known = {path: each.given.value for path, each in built.entries.items()}
    return tuple(with_transient(answer, built.model, values, known) for answer in found), built


_SHAPES = (
    *("memory.modules", "memory.block", "memory.element", "cache.size", "cache.line", "processors.count"),
    *("interconnect.slots", "interconnect.upper_slots"),
)
"""Keys of a machine with shared memory that are read while a model is built, so that no formula of it has them."""


def _without_effect(settings: Settings, inputs: Inputs, built: BuiltModel) -> list[str]:
    """Name the settings of a machine with shared memory that nothing in the model depends on."""
    if not isinstance(built.model, Model) or not any(
        path.startswith("machine.interconnect.") for path in built.entries
    ):
        return []
    paths = (canonical(inputs.tree, path) for path in settings)
    return [
        f"{path} has no effect on this model"
        for path in paths
        if path in built.entries and path.startswith("machine.") and path not in built.free
        if path.removeprefix("machine.") not in _SHAPES
    ]


def side_by_side(answers: Sequence[Answer]) -> Agreement | None:
    """Compare the answers of several methods to one question; None for a single answer."""
    if len(answers) < 2:
        return None
    from slipstick.method.agreement import agreement

    found = agreement(answers[0].model, answers)
    return found if len(found.methods) > 1 else None  # several kinds of bounds are one method


def given_values(settings: Settings, inputs: Inputs, built: BuiltModel) -> dict[str, float | str]:
    """Give the settings, without the model's own name: numbers in base units, all else as written."""
    given: dict[str, float | str] = {}
    for path, node in settings.items():
        if (name := canonical(inputs.tree, path)) in built.entries:
            given[name] = built.entries[name].given.value
        elif path != "model":
            given[path] = node.text if isinstance(node, Scalar) else str(plain(node))
    return given


def timeline_of(built: BuiltModel, cycles: int = 3, events: int = 20_000) -> Timeline:
    """Simulate the first cycles of a model and keep what every processor does when.

    Raises
    ------
    ModelError : it is a law, or it cannot be simulated
    """
    from slipstick.method.simulation.flatten import timeline

    need_model(built.model, "a timeline")
    assert isinstance(built.model, Model)
    return timeline(built.model, None, built.options.simulation.seed, cycles, events)
