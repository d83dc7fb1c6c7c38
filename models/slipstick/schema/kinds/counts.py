"""Count specs: what a program made a shared memory do, derived or measured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from slipstick.errors import ModelError
from slipstick.program.counts import Counts
from slipstick.schema.kinds.quantity import Described, Note, Spec, broken_rule

WholeNumber = Annotated[int, Field(ge=0)]
Pair = Annotated[list[WholeNumber], Field(min_length=2, max_length=2)]
Triple = Annotated[list[WholeNumber], Field(min_length=3, max_length=3)]


class MessagesSpec(Spec):
    """Messages by kind: how many, and their bytes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    request: Pair | None = Field(None, description="for diffs or a page")
    page: Pair | None = Field(None, description="whole pages")
    diffs: Pair | None = Field(None, description="replies with diffs")
    lock_request: Pair | None = Field(None, alias="lock request", description="for a lock, forwarded or not")
    lock_reply: Pair | None = Field(None, alias="lock reply", description="the lock with its write notices")
    arrive: Pair | None = Field(None, description="to a barrier's manager")
    leave: Pair | None = Field(None, description="from a barrier's manager")
    notices: Pair | None = Field(None, description="at an eager release")
    acknowledgement: Pair | None = Field(None, description="of notices")


class TallySpec(Spec):
    """What one processor did in one phase; what is left out is 0."""

    work: WholeNumber = Field(0, description="done, in the program's unit")
    faults: list[Triple] = Field(default_factory=list, description="[parts, bytes of all replies, how many]")
    write_faults: WholeNumber = Field(0, description="on a page that is valid but write-protected")
    empty: WholeNumber = Field(0, description="first misses of a page, which fetch the whole page")
    twins: WholeNumber = Field(0, description="pages copied before a write")
    collected: list[Triple] = Field(default_factory=list, description="as faults, but at a garbage collection")
    collections: WholeNumber = Field(0, description="garbage collections")
    acquisitions: list[Pair] = Field(default_factory=list, description="of locks: [hops, how many]")
    waits: WholeNumber = Field(0, description="acquisitions that found the lock taken")
    ahead: WholeNumber = Field(0, description="of these, how many were before it, added up")
    ahead_faults: WholeNumber = Field(0, description="faults and first misses of those before it, under the lock")
    intervals: WholeNumber = Field(0, description="closed with at least one page written")
    notices: WholeNumber = Field(0, description="write notices received")
    invalidated: WholeNumber = Field(0, description="pages")
    diffs_made: WholeNumber = Field(0, description="diffs made")
    diff_bytes_made: WholeNumber = Field(0, description="of these, in bytes")
    served_diffs: WholeNumber = Field(0, description="requests for diffs answered")
    served_pages: WholeNumber = Field(0, description="requests for whole pages answered")
    forwarded: WholeNumber = Field(0, description="requests for locks passed on as manager")
    granted: WholeNumber = Field(0, description="locks handed over to others")
    sent: MessagesSpec = Field(MessagesSpec(), description="by kind of message: [how many, bytes]")
    received: MessagesSpec = Field(MessagesSpec(), description="by kind of message: [how many, bytes]")


class CountedPhaseSpec(Spec):
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
    phases: list[CountedPhaseSpec] = Field(description="the phases, in order", min_length=1)

    @model_validator(mode="after")
    def _one_each(self) -> CountsSpec:
        for index, each in enumerate(self.phases):
            if len(each.tallies) != self.processors:
                why = f"give one tally for each of the {self.processors} processors; here are {len(each.tallies)}"
                raise broken_rule(why, "phases", index, "tallies")
        try:
            self.counted()
        except ModelError as error:
            raise broken_rule(str(error), "phases") from None
        return self

    def counted(self) -> Counts:
        """Give the counts themselves."""
        names = {"program", "processors", "page", "unit", "phases"}
        return Counts.from_dict(self.model_dump(include=names, by_alias=True, exclude_none=True))
