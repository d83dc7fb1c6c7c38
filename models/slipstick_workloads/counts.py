"""Counts of the operations of each processor in each phase, as whole numbers and bytes, and the
files that hold them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import Parameter
from slipstick.late import dataclass
from slipstick.program.program import ProgramData
from slipstick.schema.kinds.constraints import Note, broken_rule
from slipstick.schema.kinds.quantity import Described, Spec

Exchange = tuple[int, int]
"""Number of parts of a fault, and the bytes of all replies to it."""

Messages = tuple[int, int]
"""Number of messages of one kind, and their bytes."""


@dataclass(slots=True)
class ProcessorTally:
    """Counts of one processor in one phase.

    Parameters
    ----------
    work : done, in the program's unit
    faults : handled by requests to others, by (number of parts, bytes of all replies)
    write_faults : on a page that is valid but write-protected: no message
    empty : first misses of a page, which fetch the whole page; diffs still missing are a fault
        besides
    twins : pages copied before a write
    collected : as `faults`, but at a garbage collection
    collections : garbage collections
    acquisitions : of locks, by hops: 0 if the lock was last held here, 1 if the processor that got
        the request held it, 2 if the manager forwarded the request
    waits : acquisitions that found the lock held
    ahead : processors that held the lock or were in its queue at these acquisitions, added up
    ahead_faults : faults and first misses of these processors while they held the lock
    intervals : closed with at least one page written
    notices : write notices received and merged, at acquires and barriers
    invalidated : pages
    diffs_made : on request, or before an invalidation
    diff_bytes_made : of these [B]
    served_diffs : requests for diffs served, at faults and collections
    served_pages : requests for whole pages served
    forwarded : requests for locks forwarded as manager
    granted : locks passed on to others
    sent : messages and bytes sent, by kind
    received : messages and bytes received, by kind
    """

    work: int = 0
    faults: Counter[Exchange] = field(default_factory=Counter)
    write_faults: int = 0
    empty: int = 0
    twins: int = 0
    collected: Counter[Exchange] = field(default_factory=Counter)
    collections: int = 0
    acquisitions: Counter[int] = field(default_factory=Counter)
    waits: int = 0
    ahead: int = 0
    ahead_faults: int = 0
    intervals: int = 0
    notices: int = 0
    invalidated: int = 0
    diffs_made: int = 0
    diff_bytes_made: int = 0
    served_diffs: int = 0
    served_pages: int = 0
    forwarded: int = 0
    granted: int = 0
    sent: dict[str, Messages] = field(default_factory=dict)
    received: dict[str, Messages] = field(default_factory=dict)

    def total(self, name: str) -> int:
        """Return the sum of a count over parts, hops or kinds of message, by the name of the count.

        >>> ProcessorTally(faults=Counter({(2, 40): 3, (1, 20): 1})).total("faults")
        4
        """
        if name not in _COUNT_NAMES:
            raise ModelError(f"there is no count {name!r}{did_you_mean(name, _COUNT_NAMES)}")
        value = getattr(self, name)
        if name in _MESSAGE_NAMES:
            return sum(count for count, _ in value.values())
        return value.total() if isinstance(value, Counter) else int(value)

    def bytes_sent(self) -> int:
        """Return the bytes of all messages sent [B]."""
        return sum(total_bytes for _, total_bytes in self.sent.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the counts that are not zero as plain data."""
        plain_counts = {name: _plain_count(name, getattr(self, name)) for name in _COUNT_NAMES}
        return {name: value for name, value in plain_counts.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ProcessorTally:
        """Return a tally from the plain data that `to_dict` returns; missing counts are zero."""
        _refuse_unknown_keys("a tally", data, _COUNT_NAMES)
        return cls(**{name: _read_count(name, value) for name, value in data.items()})


_COUNT_NAMES = tuple(tally_field.name for tally_field in fields(ProcessorTally))
_EXCHANGE_NAMES = ("faults", "collected")
_MESSAGE_NAMES = ("sent", "received")


@dataclass(frozen=True, slots=True)
class CountedPhase:
    """Counts of all processors between two barriers.

    Parameters
    ----------
    name : of the barrier that ends it
    tallies : one for each processor
    repeat : number of phases whose counts the tallies add up
    """

    name: str
    tallies: tuple[ProcessorTally, ...]
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class Counts(ProgramData):
    """Counts of the operations of the protocol in a program; measured counts may have the same
    form.

    Parameters
    ----------
    program : its name
    processors : that ran it; the first one is the manager of barriers
    page : its size [B]
    unit : of work
    phases : in order
    """

    program: str
    processors: int
    page: int
    unit: str
    phases: tuple[CountedPhase, ...]

    def total(self, name: str) -> int:
        """Return the sum of a count over all phases and processors."""
        return sum(tally.total(name) for phase in self.phases for tally in phase.tallies)

    def bytes_sent(self) -> int:
        """Return the bytes of all messages [B]."""
        return sum(tally.bytes_sent() for phase in self.phases for tally in phase.tallies)

    def faults_by_parts(self, name: str = "faults") -> dict[int, tuple[int, int]]:
        """Return for each number of parts the number of faults, and the bytes of their replies
        [B].
        """
        exchanges_by_parts: dict[int, tuple[int, int]] = {}
        for phase in self.phases:
            for tally in phase.tallies:
                for (part_count, reply_bytes), fault_count in getattr(tally, name).items():
                    count_before, bytes_before = exchanges_by_parts.get(part_count, (0, 0))
                    exchanges_by_parts[part_count] = (
                        count_before + fault_count,
                        bytes_before + fault_count * reply_bytes,
                    )
        return dict(sorted(exchanges_by_parts.items()))

    def notes(self, name: str, machine: Mapping[str, Parameter]) -> Iterator[str]:
        """Yield a note for each size in which the machine differs from the one that was counted."""
        for path, counted_value, unit in (
            ("machine.memory.page", self.page, " B"),
            ("machine.processors.count", self.processors, ""),
        ):
            machine_value = machine[path].value
            if machine_value != counted_value:
                yield (
                    f"{path} is {machine_value:g}{unit}, but {name} was counted with"
                    f" {counted_value}{unit}, which the model uses; count again for another value"
                )

    def without(self, *names: str) -> Counts:
        """Return the counts without the phases of the given names, such as a start-up that was not
        measured.
        """
        phases_kept = tuple(phase for phase in self.phases if phase.name not in names)
        return Counts(self.program, self.processors, self.page, self.unit, phases_kept)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: dictionaries, lists, text and whole numbers."""
        phases = [_phase_data(phase) for phase in self.phases]
        first_fields = {
            "program": self.program,
            "processors": self.processors,
            "page": self.page,
            "unit": self.unit,
        }
        return {**first_fields, "phases": phases}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Counts:
        """Return counts from the plain data that `to_dict` returns, or from measured counts of that
        form.

        Raises
        ------
        ModelError : something is not counted, is no whole number, a processor is missing, or
            requests and services differ
        """
        keys = ("program", "processors", "page", "unit", "phases")
        _refuse_unknown_keys("counts", data, keys)
        if missing_keys := [key for key in keys if key not in data]:
            raise ModelError(f"counts lack {', '.join(missing_keys)}")
        processors = _whole_count("processors", data["processors"])
        page = _whole_count("page", data["page"])
        phases = tuple(_parse_phase(phase_data, processors) for phase_data in data["phases"])
        counts = cls(data["program"], processors, page, data["unit"], phases)
        counts._check_requests()
        return counts

    def _check_requests(self) -> None:
        """Raise if requests and services differ: a processor must have served each request for
        diffs, a page or a lock.
        """
        for phase in self.phases:
            for index, tally in enumerate(phase.tallies):
                self._check_tally(tally, f"processor {index} in phase {phase.name!r}")
        requested_parts = sum(
            part_count * fault_count
            for name in _EXCHANGE_NAMES
            for part_count, (fault_count, _) in self.faults_by_parts(name).items()
        )
        acquisitions_by_hops = sum(
            (tally.acquisitions for phase in self.phases for tally in phase.tallies), Counter[int]()
        )
        for subject, request_count, service_names in (
            (
                "parts of faults and first misses",
                requested_parts + self.total("empty"),
                ("served_diffs", "served_pages"),
            ),
            (
                "acquisitions of 1 or 2 hops",
                acquisitions_by_hops[1] + acquisitions_by_hops[2],
                ("granted",),
            ),
            ("acquisitions of 2 hops", acquisitions_by_hops[2], ("forwarded",)),
        ):
            if request_count != (served_count := sum(map(self.total, service_names))):
                raise ModelError(
                    f"{request_count} {subject}, but {served_count} counted in"
                    f" {' and '.join(service_names)}; each is served by one processor"
                )

    def _check_tally(self, tally: ProcessorTally, tally_text: str) -> None:
        """Raise if the counts of a processor contradict one another."""
        other_processors = self.processors - 1
        for name in _EXCHANGE_NAMES:
            for part_count, _ in getattr(tally, name):
                if not 1 <= part_count <= other_processors:
                    raise ModelError(
                        f"{tally_text}: {name} of {part_count} parts; there are {other_processors}"
                        " other"
                        " processors to ask"
                    )
        for hops in tally.acquisitions:
            if hops > min(2, other_processors):
                raise ModelError(
                    f"{tally_text}: acquisitions of {hops} hops; among {self.processors} processors"
                    f" there are at most {min(2, other_processors)}, to the lock's manager and from"
                    " there to its last holder"
                )
        reply_count, _ = tally.sent.get("diffs", (0, 0))
        if reply_count != tally.served_diffs:
            raise ModelError(
                f"{tally_text}: {tally.served_diffs} served_diffs, but {reply_count} messages in"
                " sent.diffs;"
                " give both"
            )


def _phase_data(phase: CountedPhase) -> dict[str, Any]:
    """Return a phase as plain data."""
    repeat_entry = {"repeat": phase.repeat} if phase.repeat != 1 else {}
    return {
        "name": phase.name,
        **repeat_entry,
        "tallies": [tally.to_dict() for tally in phase.tallies],
    }


def _parse_phase(data: Mapping[str, Any], processors: int) -> CountedPhase:
    """Return a phase from plain data; raise if it is not of that form."""
    _refuse_unknown_keys("a phase", data, ("name", "repeat", "tallies"))
    tallies = tuple(ProcessorTally.from_dict(tally_data) for tally_data in data["tallies"])
    if len(tallies) != processors:
        raise ModelError(
            f"phase {data['name']!r} has {len(tallies)} tallies, but there are {processors}"
            " processors"
        )
    return CountedPhase(data["name"], tallies, _whole_count("repeat", data.get("repeat", 1)))


def _plain_count(name: str, value: Any) -> Any:
    """Return a count of a tally as plain data."""
    if name in _EXCHANGE_NAMES:
        return [
            [part_count, reply_bytes, fault_count]
            for (part_count, reply_bytes), fault_count in sorted(value.items())
        ]
    if name == "acquisitions":
        return [list(pair) for pair in sorted(value.items())]
    return (
        {kind: list(pair) for kind, pair in sorted(value.items())}
        if name in _MESSAGE_NAMES
        else value
    )


def _read_count(name: str, value: Any) -> Any:
    """Return a count of a tally from plain data; raise if it is not of that form."""
    if name in _EXCHANGE_NAMES:
        exchanges: Counter[Exchange] = Counter()
        for part_count, size, count in value:
            exchanges[_whole_count(name, part_count), _whole_count(name, size)] += _whole_count(
                name, count
            )
        return exchanges
    if name == "acquisitions":
        return Counter(
            {_whole_count(name, hops): _whole_count(name, count) for hops, count in value}
        )
    if name in _MESSAGE_NAMES:
        return {
            kind: (_whole_count(name, count), _whole_count(name, size))
            for kind, (count, size) in value.items()
        }
    return _whole_count(name, value)


def _whole_count(name: str, value: object) -> int:
    """Return a whole number of at least 0; raise for other values."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ModelError(f"{name} is counted in whole numbers from 0, got {value!r}")
    return value


def _refuse_unknown_keys(subject: str, data: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise if plain data have keys that are not among the given names."""
    allowed_names = list(names)
    for name in data:
        if name not in allowed_names:
            raise ModelError(f"{subject} cannot hold {name!r}{did_you_mean(name, allowed_names)}")


NaturalNumber = Annotated[int, Field(ge=0)]
Pair = Annotated[list[NaturalNumber], Field(min_length=2, max_length=2)]
Triple = Annotated[list[NaturalNumber], Field(min_length=3, max_length=3)]


class MessagesSpec(Spec):
    """Messages by kind: their number and their bytes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    request: Pair | None = Field(None, description="requests for diffs or a page")
    page: Pair | None = Field(None, description="whole pages")
    diffs: Pair | None = Field(None, description="replies with diffs")
    lock_request: Pair | None = Field(
        None, alias="lock request", description="requests for a lock, including forwarded ones"
    )
    lock_reply: Pair | None = Field(
        None, alias="lock reply", description="the lock with its write notices"
    )
    arrive: Pair | None = Field(None, description="arrivals, sent to the manager of a barrier")
    leave: Pair | None = Field(None, description="departures, sent by the manager of a barrier")
    notices: Pair | None = Field(None, description="write notices at an eager release")
    acknowledgement: Pair | None = Field(None, description="acknowledgements of notices")


class TallySpec(Spec):
    """The counts of one processor in one phase. The default of each count is 0."""

    work: NaturalNumber = Field(0, description="units of work done")
    faults: list[Triple] = Field(
        [], description=("faults, as [parts, bytes of all replies, how many]")
    )
    write_faults: NaturalNumber = Field(
        0, description=("write faults on a valid, write-protected page")
    )
    empty: NaturalNumber = Field(
        0, description="first misses of a page, which fetch the whole page"
    )
    twins: NaturalNumber = Field(0, description="pages copied before a write")
    collected: list[Triple] = Field(
        [],
        description=(
            "faults during a garbage collection, as [parts, bytes of all replies, how many]"
        ),
    )
    collections: NaturalNumber = Field(0, description="garbage collections")
    acquisitions: list[Pair] = Field([], description="lock acquisitions, as [hops, how many]")
    waits: NaturalNumber = Field(0, description="acquisitions for which the lock was taken")
    ahead: NaturalNumber = Field(
        0,
        description=("sum over these acquisitions of the number of processors ahead in the queue"),
    )
    ahead_faults: NaturalNumber = Field(
        0, description="faults and first misses of the processors ahead, while they held the lock"
    )
    intervals: NaturalNumber = Field(
        0, description=("intervals in which at least one page was written")
    )
    notices: NaturalNumber = Field(0, description="write notices received")
    invalidated: NaturalNumber = Field(0, description="pages invalidated")
    diffs_made: NaturalNumber = Field(0, description="diffs made")
    diff_bytes_made: NaturalNumber = Field(0, description="bytes of these diffs")
    served_diffs: NaturalNumber = Field(0, description="requests for diffs that it answered")
    served_pages: NaturalNumber = Field(0, description="requests for whole pages that it answered")
    forwarded: NaturalNumber = Field(
        0, description="requests for locks that it passed on as manager"
    )
    granted: NaturalNumber = Field(0, description="locks that it handed over to others")
    sent: MessagesSpec = Field(
        MessagesSpec(), description=("messages sent, by kind, as [how many, bytes]")
    )
    received: MessagesSpec = Field(
        MessagesSpec(), description="messages received, by kind, as [how many, bytes]"
    )


class CountedPhaseSpec(Spec):
    """The operations of all processors between two barriers."""

    name: Note = Field(
        description=(
            "name of the barrier that ends the phase; the start of the program is not counted"
        )
    )
    repeat: int = Field(
        1, ge=1, description="number of equal phases whose counts are added up here"
    )
    tallies: list[TallySpec] = Field(description="counts of each processor")


class CountsSpec(Described):
    """Counts of the protocol's operations, by phase and processor."""

    counts: Literal[1] = Field(description="version of this format")
    command: Note = Field("", description="command that made the file, with all its parameters")
    version: Note = Field("", description="version of slipstick that made the file")
    program: Note = Field(description="name of the program")
    processors: int = Field(
        ge=1, le=4096, description="number of processors; the first one manages the barriers"
    )
    page: int = Field(ge=1, description="size of a page in bytes")
    unit: Note = Field(description="meaning of one unit of work")
    phases: list[CountedPhaseSpec] = Field(description="phases in order", min_length=1)

    def check_rules(self) -> None:
        for index, phase in enumerate(self.phases):
            if len(phase.tallies) != self.processors:
                message = (
                    f"give one tally for each of the {self.processors} processors; here are"
                    f" {len(phase.tallies)}"
                )
                raise broken_rule(message, "phases", index, "tallies")
        try:
            _ = self.data
        except ModelError as error:
            raise broken_rule(str(error), "phases") from None

    @staticmethod
    def recorded(path: Path, **parameters: float) -> dict[str, Any]:
        """Count the operations in a record of page faults. Return the counts as the keys of a file;
        `slipstick_workloads.record.recorded_counts` describes the parameters.
        """
        from slipstick_workloads.record import recorded_counts

        given_fields = {
            "changed_bytes" if name == "bytes" else name: int(value)
            for name, value in parameters.items()
        }
        return recorded_counts(path, **given_fields).to_dict()

    @cached_property
    def data(self) -> Counts:
        """The counts of the file."""
        names = {"program", "processors", "page", "unit", "phases"}
        return Counts.from_dict(
            self.model_dump(include=names, by_alias=True, exclude_none=True, exclude_unset=True)
        )

    def summary(self) -> str:
        """Return the totals over all phases and processors, one count on each line."""
        counts = self.data
        lines = [
            f"processors: {counts.processors}",
            f"page: {counts.page} B",
            f"phases: {len(counts.phases)}",
        ]
        totals = {name: counts.total(name) for name in _COUNT_NAMES}
        lines += [
            f"{name}: {total}" + (f" {counts.unit}" if name == "work" else "")
            for name, total in totals.items()
            if total
        ]
        return "\n".join([*lines, f"bytes sent: {counts.bytes_sent()}"])
