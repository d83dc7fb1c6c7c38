"""Events of a record from a trace of page faults that Linux wrote.

Read are lines of ftrace, of ``trace-cmd report`` and of ``perf script``. Each has the thread, the
time in seconds and the event:

- ``exceptions:page_fault_user`` and ``page_fault_kernel``, with the address and the error code of
  x86, of which bit 1 tells a write and bit 4 the fetch of an instruction, which is left out;
- probes of ``pthread_barrier_wait``, ``pthread_mutex_lock`` and ``pthread_mutex_unlock``, whose
  first argument, if there is one, names the barrier or the lock.

Other lines, such as those of other events and of call chains, are left out. Refused are samples of
the event ``page-faults``, which do not tell reads from writes, faults without an error code, and
traces that lost events.

Source: Linux, arch/x86/include/asm/trap_pf.h for the error code, Documentation/trace/ftrace.rst for
the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from slipstick.late import late_pattern

FAULT_EVENTS = ("page_fault_user", "page_fault_kernel")
ACCESS_OF_FUNCTION = {
    "pthread_barrier_wait": "barrier",
    "pthread_mutex_lock": "acquire",
    "pthread_mutex_unlock": "release",
}
_WRITE_BIT = 0b10
_INSTRUCTION_BIT = 0b10000
_SAMPLED_EVENTS = ("page-faults", "minor-faults", "major-faults", "faults")
_LOST_EVENTS = late_pattern(r"\[(?:LOST [0-9]+ EVENTS|[0-9]+ EVENTS DROPPED)\]")
_HEXADECIMAL = late_pattern(r"(?:0x)?[0-9a-fA-F]{1,16}")


class TraceLineError(ValueError):
    """A line of a trace from which no counts follow.

    Parameters
    ----------
    line : its number
    reason : what is wrong with it, and what to record instead
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


class TracedEvent(NamedTuple):
    """An event of a thread in a trace; its time is in microseconds."""

    thread: str
    event: str
    where: str
    begin_time: float
    line: int


class _TraceLine(NamedTuple):
    """A line of a trace: its thread, its time [us], the name of its event and the values of the
    event.
    """

    thread: str
    begin_time: float
    name: str
    values: dict[str, str]


def traced_events(lines: Iterable[str]) -> Iterator[TracedEvent]:
    """Yield the faults and the synchronizations in the lines of a trace.

    Raises
    ------
    TraceLineError : a line does not tell reads from writes, or says that events were lost

    >>> event = "page_fault_user: address=0x5000 ip=0x7f error_code=0x7"
    >>> line = f"prog-930 [003] d... 6288.896762: {event}"
    >>> next(traced_events([line]))
    TracedEvent(thread='prog-930', event='write', where='0x5000', begin_time=6288896762.0, line=1)
    """
    for line_number, line_text in enumerate(lines, 1):
        if _LOST_EVENTS.search(line_text):
            raise TraceLineError(
                line_number,
                "events were lost here, so that counts would be too small; record with a"
                " larger buffer",
            )
        trace_line = _parse_line(line_text)
        if trace_line is None:
            continue
        if trace_line.name in _SAMPLED_EVENTS:
            raise TraceLineError(
                line_number,
                f"a sample of {trace_line.name} does not tell reads from writes; record the event"
                " exceptions:page_fault_user",
            )
        if trace_line.name in FAULT_EVENTS:
            error_code = _error_code(trace_line, line_number)
            address = trace_line.values.get("address", "")
            if error_code & _INSTRUCTION_BIT or not address.startswith("0x"):
                continue
            event = "write" if error_code & _WRITE_BIT else "read"
            yield TracedEvent(trace_line.thread, event, address, trace_line.begin_time, line_number)
        elif trace_line.name in ACCESS_OF_FUNCTION:
            location = next(iter(trace_line.values.values()), trace_line.name)
            yield TracedEvent(
                trace_line.thread,
                ACCESS_OF_FUNCTION[trace_line.name],
                location,
                trace_line.begin_time,
                line_number,
            )


def _error_code(line: _TraceLine, line_number: int) -> int:
    """Return the error code of a fault; raise if the line has none."""
    code_text = line.values.get("error_code", "")
    if not _HEXADECIMAL.fullmatch(code_text):
        raise TraceLineError(
            line_number,
            f"a fault has the error code {code_text!r}, which does not tell reads from writes; a"
            " hexadecimal number such as 0x6 is wanted",
        )
    return int(code_text, 16)


def _parse_line(text: str) -> _TraceLine | None:
    """Return the thread, time [us], name and values of an event; None if the line is no event."""
    tokens = text.split()
    time_positions = [
        token_index for token_index, token in enumerate(tokens) if _parse_seconds(token) is not None
    ]
    if not time_positions or time_positions[0] == 0:
        return None
    time_position = time_positions[0]
    event_names = [token for token in tokens[time_position + 1 :] if token.endswith(":")]
    if not event_names:
        return None
    processor_positions = [
        index for index, token in enumerate(tokens[:time_position]) if token.startswith("[")
    ]
    thread_tokens = tokens[: processor_positions[0] if processor_positions else time_position]
    thread = " ".join(token for token in thread_tokens if not token.startswith("("))
    values = dict(token.split("=", 1) for token in tokens[time_position + 2 :] if "=" in token)
    seconds = _parse_seconds(tokens[time_position])
    name = event_names[0].rstrip(":").removesuffix(":u").split(":")[-1]
    return None if seconds is None else _TraceLine(thread, round(seconds * 1e6, 3), name, values)


def _parse_seconds(token: str) -> float | None:
    """Return the time that a token such as ``6288.896762:`` shows [s]; None if it shows none."""
    whole_seconds, point, fraction_digits = token.removesuffix(":").partition(".")
    is_time = (
        token.endswith(":") and point and whole_seconds.isdigit() and fraction_digits.isdigit()
    )
    return float(f"{whole_seconds}.{fraction_digits}") if is_time else None
