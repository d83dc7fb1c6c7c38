"""Workload specs: a program and the values of its inputs."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from slipstick.law import Law
from slipstick.model.shared_memory import SharedMemory
from slipstick.program.program import Input, Program
from slipstick.schema.kinds.machine import MachineSpec
from slipstick.schema.kinds.quantity import Described, Formula, Given, Name, Note, Quantity, Spec
from slipstick.schema.kinds.shared_memory import SharedMemorySpec
from slipstick.schema.kinds.technology import Factors


class WorkloadSpec(Described):
    """Values for the inputs of a program, as measured or assumed."""

    workload: Literal[1] = Field(description="version of this format")
    model: Note = Field(description="the program, as slipstick list names it")
    inputs: dict[str, Any] = Field(default_factory=dict, description="values of the program's inputs, by name")


@cache
def program_spec(program: Program) -> type[BaseModel]:
    """Make the model that checks everything a program is solved with: machine, inputs, technology."""
    fields: dict[str, Any] = {each.name: _field(each) for each in program.inputs}
    machine = Field(description="the machine: a name in the catalogue, a file, or in place")
    kind = SharedMemorySpec if program.machine is SharedMemory else MachineSpec
    return create_model(program.name, __base__=Spec, machine=(kind, machine), technology=(Factors, Factors()), **fields)


@cache
def law_spec(law: Law) -> type[BaseModel]:
    """Make the model that checks the symbols of a law."""
    fields: dict[str, Any] = {
        each.name: (Annotated[Given, Quantity(each.dimension, least=None)], Field(description=each.meaning))
        for each in law.symbols
    }
    return create_model(law.name, __base__=Spec, **fields)


def _field(each: Input) -> tuple[Any, Any]:
    """Turn an input into a field; one that is not given takes the program's default."""
    if each.options:
        return Literal[each.options] | None, Field(None, description=each.meaning)
    if each.named:
        return Name | None, Field(None, description=each.meaning)
    if each.counts:
        return Note, Field(description=each.meaning)
    limits = Quantity(each.dimension, least=each.least, most=each.most, whole=each.whole, formula=not each.many)
    if each.many:
        return list[Annotated[Given, limits]] | None, Field(None, description=each.meaning, min_length=1)
    return Annotated[Given | Formula, limits] | None, Field(None, description=each.meaning)
