"""Count specs: what a program made a shared memory do, derived or measured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from slipstick.errors import ModelError, Problem, SpecError
from slipstick.program.lrc.counts import Counts
from slipstick.schema.load import Library
from slipstick.schema.nodes import Mark
from slipstick.schema.spec import Described, Note, Spec
from slipstick.schema.validate import validate

__all__ = ["CountsSpec", "TallySpec", "load_counts"]


Whole = Annotated[int, Field(ge=0)]
Pair = Annotated[list[Whole], Field(min_length=2, max_length=2)]
Exchanges = list[Annotated[list[Whole], Field(min_length=3, max_length=3)]]


class MessagesSpec(Spec):
    """Messages by kind: how many, and their bytes in all."""

    arrive: Pair = Field([0, 0], description="at a barrier")
    leave: Pair = Field([0, 0], description="a barrier")
    request: Pair = Field([0, 0], description="for diffs or a page")
    diffs: Pair = Field([0, 0], description="sent for a request")
    page: Pair = Field([0, 0], description="sent for a request")
    lock_request: Pair = Field([0, 0], alias="lock request", description="to a lock's manager, or passed on by it")
    lock_reply: Pair = Field([0, 0], alias="lock reply", description="with the lock")
    notices: Pair = Field([0, 0], description="sent at a release, where release is eager")
    acknowledgement: Pair = Field([0, 0], description="of notices")


class TallySpec(Spec):
    """What one processor did in one phase; what is left out is 0."""

    work: Whole = Field(0, description="done, in the program's unit")
    faults: Exchanges = Field([], description="number of parts, bytes of all replies, how many such faults")
    write_faults: Whole = Field(0, description="on a page that is valid but write-protected")
    empty: Whole = Field(0, description="first misses of a page, which fetch the whole page")
    twins: Whole = Field(0, description="pages copied before a write")
    collected: Exchanges = Field([], description="as faults, but at a garbage collection")
    collections: Whole = Field(0, description="garbage collections")
    acquisitions: list[Pair] = Field([], description="of locks: hops, and how many of them")
    waits: Whole = Field(0, description="acquisitions that found the lock taken")
    ahead: Whole = Field(0, description="how many held or were promised the lock before, added up over these")
    intervals: Whole = Field(0, description="closed with at least one page written")
    notices: Whole = Field(0, description="write notices received and merged")
    invalidated: Whole = Field(0, description="pages")
    diffs_made: Whole = Field(0, description="for whoever asked, or before an invalidation")
    diff_bytes_made: Whole = Field(0, description="of these")
    served_diffs: Whole = Field(0, description="requests for diffs answered")
    served_pages: Whole = Field(0, description="requests for whole pages answered")
    forwarded: Whole = Field(0, description="requests for locks passed on as manager")
    granted: Whole = Field(0, description="locks handed over to others")
    sent: MessagesSpec = Field(MessagesSpec(), description="messages and bytes sent")
    received: MessagesSpec = Field(MessagesSpec(), description="messages and bytes received")


class PhaseSpec(Spec):
    """What all processors did between two barriers."""

    name: Note = Field(description="of the barrier that ends it; what start-up does is left out")
    repeat: int = Field(1, ge=1, description="how many phases this stands for, whose counts are added up")
    tallies: list[TallySpec] = Field(description="one for each processor")


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
        return Counts.from_dict(self.model_dump(include=names, exclude_defaults=True, by_alias=True))


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
