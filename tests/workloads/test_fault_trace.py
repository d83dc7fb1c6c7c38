"""Traces of page faults: lines as three tools print them, what is left out, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick_workloads.fault_trace import traced_events
from slipstick_workloads.record import recorded_counts

FTRACE = (
    "bash-930   [003] d...  6288.896762: page_fault_user: address=0x5010 ip=0x7f error_code=0x7"
)
TRACE_CMD = (
    "   bash-930   [003]  6288.896762: page_fault_user:      address=0x5010 ip=0x7f error_code=0x7"
)
PERF = (
    "my prog   930 [003]  6288.896762: exceptions:page_fault_user: address=0x5010 ip=0x7f "
    "error_code=0x4"
)


def test_lines_of_each_tool_are_read() -> None:
    found = list(traced_events([FTRACE, TRACE_CMD, PERF]))
    assert [event.event for event in found] == ["write", "write", "read"]
    assert [event.thread for event in found] == ["bash-930", "bash-930", "my prog 930"]
    assert {(event.where, event.begin_time) for event in found} == {("0x5010", 6288896762.0)}


@pytest.mark.parametrize(
    "line",
    [
        "# tracer: nop",
        "",
        "            7f39 memset+0x1a (/usr/lib/libc.so.6)",
        FTRACE.replace("0x7", "0x14").replace("ip=0x14f", "ip=0x7f"),
        "bash-930 [003] d... 6288.8: sched_switch: prev_comm=bash prev_pid=930",
    ],
    ids=range(5),
)
def test_other_lines_are_left_out(line: str) -> None:
    assert list(traced_events([line])) == []


def trace(folder: Path) -> Path:
    """Write two threads of which the second reads what the first wrote, after a barrier."""
    lines = [
        "a-1 [000] ..... 1.000000: page_fault_user: address=0x5000 ip=0x7f error_code=0x6",
        "a-1 [000] ..... 1.000100: pthread_barrier_wait: (0x7f10) at=0x99",
        "b-2 [001] ..... 1.000050: pthread_barrier_wait: (0x7f10) at=0x99",
        "b-2 [001] ..... 1.000200: pthread_mutex_lock: (0x7f20) lock=0x88",
        "b-2 [001] ..... 1.000250: page_fault_user: address=0x5000 ip=0x7f error_code=0x4",
        "b-2 [001] ..... 1.000400: pthread_mutex_unlock: (0x7f30) lock=0x88",
    ]
    path = folder / "faults.txt"
    path.write_text("\n".join(lines))
    return path


def test_counts_follow_the_protocol(tmp_path: Path) -> None:
    counts = recorded_counts(trace(tmp_path), changed_bytes=64)
    assert counts.processors == 2
    assert counts.total("acquisitions") == 1
    # The second thread has never had the page: it fetches it whole.
    assert counts.total("empty") == 1
    assert counts.total("work") == 100 + 50 + 350


def test_bytes_of_a_write_that_are_none_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(trace(tmp_path))
    assert main(["counts", path, "--set", "bytes=-3", "--out", str(tmp_path / "mine.yaml")]) == 2
    message = "does a write change? A trace does not tell; --set bytes=NUMBER, at least 1; got -3"
    assert message in " ".join(capsys.readouterr().err.split())


def test_the_command_refuses_what_does_not_tell_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(trace(tmp_path))
    assert main(["counts", path, "--set", "bytes=64", "--out", str(tmp_path / "mine.yaml")]) == 0
    capsys.readouterr()
    for text, said in (
        (None, "how many bytes does a write change? A trace does not tell; --set bytes=NUMBER"),
        (
            "prog 930 [003] 6288.8: 1 page-faults:u: 7f10",
            (
                "faults.txt:1:1: a sample of page-faults does not tell reads from writes; "
                "record the event exceptions:page_fault_user"
            ),
        ),
        (
            f"{FTRACE}\nCPU:3 [LOST 42 EVENTS]",
            (
                "faults.txt:2:1: events were lost here, so that counts would be too small; record"
                " with a larger buffer"
            ),
        ),
        (
            FTRACE.replace("error_code=0x7", "error_code=user"),
            (
                "faults.txt:1:1: a fault has the error code 'user', which does not tell reads from"
                " writes; a hexadecimal number such as 0x6 is wanted"
            ),
        ),
        (
            "nothing",
            (
                "there is no page fault here; give a table of events in a .csv file, or what "
                "perf script, trace-cmd report or ftrace print of exceptions:page_fault_user"
            ),
        ),
    ):
        if text is not None:
            Path(path).write_text(text)
        assert main(["counts", path]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_a_trace_of_too_many_lines_is_refused_and_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipstick_workloads.record._MOST_LINES", 3)
    with pytest.raises(SpecError, match="a record has at most 3 lines; cut it"):
        recorded_counts(trace(tmp_path), changed_bytes=64)
