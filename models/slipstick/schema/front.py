"""Specs for Python: from a name in the catalogue to something to compose with."""

from __future__ import annotations

from slipstick.errors import UnknownNameError
from slipstick.model.machine import Machine
from slipstick.model.system import Model
from slipstick.schema.bind import bind, machine_of
from slipstick.schema.load import Library
from slipstick.schema.machine import MachineSpec
from slipstick.schema.nodes import Mark, Scalar
from slipstick.schema.scene import stage
from slipstick.schema.validate import validate

__all__ = ["load"]


def load(reference: str) -> Machine | Model:
    """Load a machine to build on, or an activity as a model.

    Parameters
    ----------
    reference : ``machine/NAME`` or ``activity/NAME`` of the catalogue, or either with a file for a name

    Raises
    ------
    SpecError : the spec is wrong
    UnknownNameError : neither a machine nor an activity

    >>> load("machine/rs6000-43p-atm").network.medium
    'switched'
    """
    kind, _, name = reference.partition("/")
    library = Library()
    if kind == "machine":
        return machine_of(validate(MachineSpec, library.load("machine", name)), name)
    if kind == "activity":
        model = bind(stage({"model": Scalar(name, name, Mark("load", 1, 1), quoted=True)}, library)).model
        assert isinstance(model, Model)
        return model
    raise UnknownNameError("kind to load", kind, ("machine", "activity"))
