"""Specs for Python: from a name in the catalogue to something to compose with."""

from __future__ import annotations

from slipstick.errors import UnknownNameError
from slipstick.model.machine import Machine
from slipstick.model.network import QueueingNetwork
from slipstick.model.shared_memory import SharedMemory
from slipstick.model.system import Model
from slipstick.schema.build import build, machine_of
from slipstick.schema.inputs import FILES, resolve
from slipstick.schema.library import Library, machine_spec
from slipstick.schema.text.nodes import Mark, Scalar
from slipstick.schema.validate import validate


def load(reference: str) -> Machine | SharedMemory | Model | QueueingNetwork:
    """Load a machine to build on, or an activity or a queueing network as a model.

    Parameters
    ----------
    reference : ``machine/NAME``, ``activity/NAME`` or ``queueing-network/NAME`` of the catalogue, or a file for NAME

    Raises
    ------
    SpecError : the spec is wrong
    UnknownNameError : none of these kinds

    >>> load("machine/rs6000-43p-atm").network.medium
    'switched'
    """
    kind, _, name = reference.partition("/")
    library = Library()
    if kind == "machine":
        tree = library.load("machine", name)
        return machine_of(validate(machine_spec(tree), tree), name)
    if kind in FILES:
        library.load(kind, name)
        model = build(resolve({"model": Scalar(name, name, Mark("load", 1, 1), quoted=True)}, library)).model
        assert isinstance(model, Model | QueueingNetwork)
        return model
    raise UnknownNameError("kind to load", kind, ("machine", *FILES))
