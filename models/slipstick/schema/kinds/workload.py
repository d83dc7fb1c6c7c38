"""Workload files: a program and the values of its inputs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from slipstick.schema.kinds.quantity import Described, Note


class WorkloadSpec(Described):
    """Values for the inputs of a program, as measured or assumed."""

    workload: Literal[1] = Field(description="version of this format")
    model: Note = Field(description="the program, as slipstick list names it")
    inputs: dict[str, Any] = Field(default_factory=dict, description="values of the program's inputs, by name")
