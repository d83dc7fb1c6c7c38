"""Arrivals in files of activities and of queueing networks; and files of times, which are read into
the tree of a model: times between arrivals, and measured times of steps and visits.

The numbers are put into the tree as it is read, so that whatever is made of the tree depends on
them, and not on a file that changes later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from slipstick.errors import KeyMeaning, ModelError
from slipstick.expression.nodes import RATE, TIME
from slipstick.limits import check_cost
from slipstick.profiles import NO_ARRIVALS, OTHER_PATTERN, Profile, mean_rate_of
from slipstick.schema.columns import numbered_times_in
from slipstick.schema.kinds.constraints import broken_rule
from slipstick.schema.kinds.quantity import (
    Formula,
    Given,
    Quantity,
    Servers,
    Spec,
    TimeOrFormula,
)
from slipstick.schema.spec_files import SpecFiles
from slipstick.schema.text import (
    Listing,
    Mark,
    Node,
    Scalar,
    Table,
    from_plain,
    node_at,
    plain_data,
    replace,
)
from slipstick.vocabulary import MOST_HOLDERS


def with_data(tree: Table, library: SpecFiles) -> Node:
    """Return the tree of a model in which files of samples and of arrival times are replaced by
    their numbers.
    """
    return with_traces(with_samples(tree, library), library)


def with_traces(tree: Node, library: SpecFiles) -> Node:
    """Return a tree in which the files of arrival times that classes, chains or groups name are
    replaced by their numbers. Each file is in the folder of the file that names it.

    Parameters
    ----------
    tree : the file
    library : finds the files, and remembers what was read

    Raises
    ------
    SpecError : a file is not there, or does not say when customers arrive
    """
    for section in ("classes", "chains", "groups", "population"):
        section_table = node_at(tree, [section])
        entry_paths = (
            [[entry_name] for entry_name in section_table.entries]
            if isinstance(section_table, Table)
            else []
        )
        for entry_path in [[]] if section == "population" else entry_paths:
            tree = _with_trace_at(tree, [section, *entry_path], library)
    return tree


def _with_trace_at(tree: Node, entry_path: list[str], library: SpecFiles) -> Node:
    """Return a tree in which the trace of one class, chain or group has its numbers in place of its
    file; the tree itself if there is no such trace, or if its keys are wrong.
    """
    trace_path = [*entry_path, "trace"]
    trace_node = node_at(tree, trace_path)
    file_node = node_at(tree, [*trace_path, "file"])
    if (
        not isinstance(trace_node, Table)
        or not isinstance(file_node, Scalar)
        or not isinstance(file_node.value, str)
    ):
        return tree
    nodes_by_key = {key: entry.node for key, entry in trace_node.entries.items()}
    value_by_key = {
        key: node.value for key, node in nodes_by_key.items() if isinstance(node, Scalar)
    }
    unfit_keys = [
        key for key, value in value_by_key.items() if not isinstance(value, str) or key == "gaps"
    ]
    if unfit_keys or value_by_key.get("of", "times") not in _TRACE_KINDS:
        return tree  # wrong keys are reported when they are checked
    file_path = library.measurement_file(file_node.text, file_node.mark)
    gaps = _parse_gaps(
        file_path, {key: str(value) for key, value in value_by_key.items()}, file_node.mark
    )
    library.keep_hash(file_path)
    mean_gap = math.fsum(gaps) / len(gaps)
    # Relative to their mean, so that the rate of arrivals can vary.
    gap_text = " ".join(repr(gap / mean_gap) for gap in gaps)
    tree = replace(tree, trace_path, from_plain({"gaps": gap_text}, trace_node.mark))
    # The trace gives the rate of arrivals where the file states none.
    rate_path = [*entry_path, "arrivals"]
    if node_at(tree, rate_path) is None:
        tree = replace(tree, rate_path, from_plain(f"{1 / mean_gap!r} /s", file_node.mark))
    return tree


def with_samples(tree: Node, library: SpecFiles) -> Node:
    """Return a tree in which the files of measured times that distributions name are replaced by
    their numbers. Each file is in the folder of the file that names it.

    Parameters
    ----------
    tree : the file of a model
    library : finds the files, and remembers what was read

    Raises
    ------
    SpecError : a file is not there, or holds no times
    """
    for samples_path in list(_sample_paths(tree, ())):
        samples_node = node_at(tree, samples_path)
        file_node = node_at(tree, [*samples_path, "file"])
        if not isinstance(samples_node, Table) or not isinstance(file_node, Scalar):
            continue
        value_by_key = {
            key: plain_data(entry.node)
            for key, entry in samples_node.entries.items()
            if key != "mean"
        }
        if (
            not all(isinstance(text, str) for text in value_by_key.values())
            or "values" in value_by_key
        ):
            continue  # wrong keys are reported when they are checked
        file_path = library.measurement_file(file_node.text, file_node.mark)
        text_by_key = {key: str(text) for key, text in value_by_key.items()}
        numbered_times = numbered_times_in(file_path, text_by_key, file_node.mark, "samples.file")
        library.keep_hash(file_path)
        values_table = from_plain(
            {"values": [f"{value!r} s" for _, value in numbered_times]}, file_node.mark
        )
        assert isinstance(values_table, Table)
        mean_entry = {key: entry for key, entry in samples_node.entries.items() if key == "mean"}
        tree = replace(
            tree, samples_path, Table({**mean_entry, **values_table.entries}, samples_node.mark)
        )
    return tree


def _sample_paths(node: Node, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield the places in a tree at which a file of measured times is named."""
    if isinstance(node, Listing):
        for index, item in enumerate(node.items):
            yield from _sample_paths(item, (*path, index))
    elif isinstance(node, Table):
        for key, entry in node.entries.items():
            if key == "samples" and node_at(entry.node, ["file"]) is not None:
                yield (*path, key)
            else:
                yield from _sample_paths(entry.node, (*path, key))


_TRACE_KINDS = ("times", "gaps")


def _parse_gaps(path: Path, text_by_key: dict[str, str], mark: Mark) -> list[float]:
    """Parse the times between arrivals in a file, which lists these times or the times of the
    arrivals [s].
    """

    def file_error(message: str) -> Exception:
        return mark.error(f"{path.name}: {message}", "trace.file")

    numbered_values = numbered_times_in(path, text_by_key, mark, "trace.file")
    check_cost(
        "arrivals",
        len(numbered_values),
        f"has {len(numbered_values):,} arrivals",
        "keep a part of them",
        file_error,
    )
    if text_by_key.get("of") != "gaps":
        numbered_values = [
            (line_number, later_time - earlier_time)
            for (_, earlier_time), (line_number, later_time) in pairwise(numbered_values)
        ]
    for line_number, gap in numbered_values:
        if gap < 0:
            fault = (
                "a gap is negative"
                if text_by_key.get("of") == "gaps"
                else "the time is before that of the arrival above"
            )
            raise file_error(
                f"line {line_number}: {fault}; sort the file, or say whether it has times or"
                " gaps as of"
            )
    if not math.fsum(gap for _, gap in numbered_values) > 0:
        raise file_error("needs arrivals at two different times at least")
    return [gap for _, gap in numbered_values]


Arrivals = Annotated[Given | Formula, Quantity(RATE, formula=True)]


class ArrivalTraceSpec(Spec):
    """Recorded arrival times of customers, or the times between them."""

    file: str | None = Field(
        None,
        description=(
            "a table or a list of numbers; its path is relative to the folder of this file"
        ),
    )
    column: str | None = Field(
        None, description=("name of the column, if the table has a line of names")
    )
    unit: str | None = Field(
        None, description="unit of the times, such as ms, if the column does not state it"
    )
    of: Literal["times", "gaps"] = Field(
        "times",
        description=("whether the numbers are times of arrivals or the gaps between arrivals"),
    )
    gaps: str | None = Field(
        None,
        description=(
            "times between arrivals, separated by spaces, in place of a file; only their ratios"
            " matter"
        ),
    )

    def check_rules(self) -> None:
        if (self.file is None) == (self.gaps is None):
            raise broken_rule(
                "give a trace a file, or gaps; a file is read where it is written, not by --set"
            )

    def numbers(self) -> tuple[float, ...]:
        """Parse the times between arrivals [s]."""
        try:
            return tuple(map(float, (self.gaps or "").split()))
        except ValueError as error:
            raise ModelError(f"gaps of a trace are numbers with spaces between: {error}") from None


class ProfilePieceSpec(Spec):
    """A part of a period, such as a day, with its duration and its rate of arrivals."""

    hints: ClassVar[Mapping[str, str]] = {
        "time": "write lasts",
        "arrivals": "write rate",
        "once": (
            "for a burst that comes once, end the profile with a part of rate 0 that lasts until"
            " all are served; each period then repeats the burst"
        ),
    }

    lasts: Annotated[Given, Quantity(TIME, least=None, above=0.0)] = Field(
        description="duration of this part"
    )
    rate: Annotated[Given, Quantity(RATE)] = Field(description="rate of arrivals during this part")


class StreamSpec(Spec):
    """Customers that arrive, pass through once and leave.

    Attributes
    ----------
    stream : what messages call them
    """

    arrivals: Arrivals | None = Field(
        None,
        description=KeyMeaning.of(
            ("rate of arrivals of customers that pass through once and leave"),
            "with bursts, the rate between bursts",
        ),
    )
    burst_arrivals: Arrivals | None = Field(
        None, description=KeyMeaning.of("rate of arrivals during a burst", "0 by default")
    )
    burst_time: TimeOrFormula | None = Field(
        None, description="mean duration of a burst, exponential"
    )
    quiet_time: TimeOrFormula | None = Field(
        None, description="mean time between two bursts, exponential"
    )
    batch: Servers | None = Field(
        None,
        description=KeyMeaning.of(
            "customers that arrive together", "arrivals counts batches; 1 by default"
        ),
    )
    trace: ArrivalTraceSpec | None = Field(
        None,
        description=(
            "recorded arrival times, for simulation; with arrivals, they are scaled to that rate"
        ),
    )

    profile: list[ProfilePieceSpec] | None = Field(
        None,
        description=(
            "parts of a day or of another period that repeats, each with its rate of arrivals, for"
            " simulation; with arrivals, the rates are scaled so that their mean equals it"
        ),
        min_length=1,
    )

    backlog: int | None = Field(
        None,
        description=(
            "number of customers that wait at time 0, for values before the steady state; 0 by"
            " default"
        ),
        ge=0,
        le=MOST_HOLDERS,
    )

    target_time: TimeOrFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "a response time",
            ("within_target is then the share of the responses that take at most this time"),
        ),
    )

    stream: ClassVar[str] = "a stream"

    def model_post_init(self, context: object) -> None:
        if self.profile is not None and self.arrivals is None:
            mean_rate = mean_rate_of(self.pieces())
            if not mean_rate > 0:
                raise broken_rule(NO_ARRIVALS, "profile")
            # The profile gives the rate of arrivals where the file states none.
            object.__setattr__(self, "arrivals", Given(mean_rate, RATE, f"{mean_rate!r} /s"))
        super().model_post_init(context)

    def pieces(self) -> Profile:
        """Return the durations [s] and rates [1/s] of the profile."""
        return tuple((piece.lasts.value, piece.rate.value) for piece in self.profile or ())

    def check_rules(self) -> None:
        burst_values = {
            key: getattr(self, key) for key in ("burst_arrivals", "burst_time", "quiet_time")
        }
        burst_keys = [key for key, value in burst_values.items() if value is not None]
        if self.trace is not None and self.trace.gaps is not None and self.arrivals is None:
            raise broken_rule(
                "gaps say how arrivals follow each other; give their rate as arrivals", "trace"
            )
        if self.batch is not None and self.arrivals is None:
            raise broken_rule(f"a batch belongs to {self.stream}; give it arrivals", "batch")
        if self.backlog and self.arrivals is None:
            raise broken_rule(f"a backlog belongs to {self.stream}; give it arrivals", "backlog")
        if self.profile is not None and (burst_keys or self.trace is not None):
            raise broken_rule(OTHER_PATTERN, "profile")
        if burst_keys and self.arrivals is None:
            raise broken_rule(f"bursts belong to {self.stream}; give it arrivals", burst_keys[0])
        if burst_keys and (self.burst_time is None or self.quiet_time is None):
            raise broken_rule("bursts need both a burst_time and a quiet_time", burst_keys[0])


def pattern_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a stream with its trace and its profile as files state them."""
    trace, profile = data.get("trace"), data.get("profile")
    written_trace = {"trace": {"gaps": " ".join(map(repr, trace))}} if trace else {}
    piece_data = [
        {"lasts": f"{duration!r} s", "rate": f"{rate!r} /s"} for duration, rate in profile or ()
    ]
    return {**data, **written_trace, **({"profile": piece_data} if piece_data else {})}
