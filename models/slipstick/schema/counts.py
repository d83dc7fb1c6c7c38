"""Count specs: what a program made a shared memory do, derived or measured."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from slipstick.errors import ModelError, Problem, SpecError
from slipstick.program.lrc.counts import Counts
from slipstick.schema.load import Library
from slipstick.schema.nodes import Mark
from slipstick.schema.spec import Described, Note, Spec
from slipstick.schema.validate import validate

__all__ = ["CountsSpec", "load_counts"]


class PhaseSpec(Spec):
    """What all processors did between two barriers."""

    name: Note = Field(description="of the barrier that ends it; what start-up does is left out")
    repeat: int = Field(1, ge=1, description="how many phases this stands for, whose counts are added up")
    tallies: list[dict[str, Any]] = Field(description="one for each processor: counts by name; what is left out is 0")


class CountsSpec(Described):
    """What a program made the protocol do, by phase and processor."""

    counts: Literal[1] = Field(description="version of this format")
    command: Note = Field("", description="that made the file, with all parameters")
    version: Note = Field("", description="of slipstick that made the file")
    program: Note = Field(description="its name")
    processors: int = Field(ge=1, le=4096, description="that ran it; the first one manages barriers")
    page: int = Field(ge=1, description="size of a page, in bytes")
    unit: Note = Field(description="what one unit of work is")
    phases: list[PhaseSpec] = Field(description="the phases, in order", min_length=1)

    def counted(self) -> Counts:
        """Give the counts themselves.

        Raises
        ------
        ModelError : something is not counted, or is no whole number
        """
        names = {"program", "processors", "page", "unit", "phases"}
        return Counts.from_dict(self.model_dump(include=names))


def load_counts(reference: str, mark: Mark, library: Library) -> Counts:
    """Read counts by their name in the catalogue, or from a file.

    Raises
    ------
    SpecError : there are none of that name; everything that is wrong with the file
    """
    tree = library.load("counts", reference, mark, "counts")
    try:
        return validate(CountsSpec, tree).counted()
    except ModelError as error:
        at = tree.mark
        raise SpecError([Problem(at.file, at.line, at.column, "phases", str(error))]) from None
