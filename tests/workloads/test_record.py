"""Counts from a record: those of the program whose accesses it has, and refusals by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick_workloads.record import recorded_counts
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Arrive,
    Compute,
    Read,
    Release,
    SharedProgram,
    Write,
)
from slipstick_workloads.release_consistency.compact import compact
from slipstick_workloads.release_consistency.run import run

HEAD = "processor,event,where,time [us],end [us],bytes\n"


def body(me: int) -> Iterator[Access]:
    """Write an own page, read the next processor's, and add to a shared word under a lock."""
    yield Arrive("start")
    for _ in range(3):
        yield Compute(100 + 10 * me)
        yield Write(np.array([me]), [(1 << 16) - 1])
        yield Arrive("written")
        yield Compute(50)
        yield Read(np.array([(me + 1) % 3]))
        yield Compute(20 + me)
        yield Acquire(0)
        yield Read(np.array([3]))
        yield Write(np.array([3]), [0b11])
        yield Release(0)
        yield Arrive("added")


def written(path: Path) -> Path:
    """Write what `body` does as a record, each event at the time of its work, with addresses."""
    lines = []
    for me in range(3):
        now = 0
        for access in body(me):
            match access:
                case Compute(amount):
                    now += amount
                case Read(pages):
                    lines.append((f"node{me}", "read", hex(4096 * int(pages[0])), now, now, ""))
                case Write(pages, (words,)):
                    size = str(4 * words.bit_count())
                    lines.append((f"node{me}", "write", hex(4096 * int(pages[0])), now, now, size))
                case Acquire() | Release():
                    name = type(access).__name__.lower()
                    lines.append((f"node{me}", name, "sum", now, now, ""))
                case Arrive(phase):
                    lines.append((f"node{me}", "barrier", phase, now, now, ""))
    path.write_text(HEAD + "".join(",".join(map(str, line)) + "\n" for line in lines))
    return path


def test_a_record_of_all_accesses_gives_the_counts_of_its_program(tmp_path: Path) -> None:
    program = SharedProgram("faults", 3, 4, body, "us")
    found = recorded_counts(written(tmp_path / "faults.csv"))
    assert found.total("faults") > 0
    assert found.to_dict() == compact(run(program)).to_dict()


@pytest.mark.turns(4)
def test_the_command_writes_a_file_that_a_model_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, out = written(tmp_path / "faults.csv"), tmp_path / "mine.yaml"
    assert main(["counts", str(record), "--out", str(out)]) == 0
    assert main(["check", str(out)]) == 0
    given = ["--set", f"counts={out}", "--set", "sequential=1 ms"]
    capsys.readouterr()
    assert main(["solve", "dvsm/application", "--machine", "linux-cluster", *given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"][0]["values"]["time"]["value"] > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,move,0,1,,", "an event is one of read, write, acquire, release, barrier; got 'move'"),
        ("a,write,0,1,,", "how many bytes does this write change?"),
        ("a,read,0,5,4,", "an event begins at a time from 0 on, and ends no earlier"),
    ],
)
def test_a_wrong_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "faults.csv"
    path.write_text(f"{HEAD}a,read,0,0,,\n{line}\n")
    with pytest.raises(SpecError) as caught:
        recorded_counts(path)
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert message in problem.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a record lacks processor, event, where, time"),
        ("processor,event,where,time\n", "times have no unit; write time [us], [s], [ms] or [ns]"),
        (HEAD, "there are no events below the head"),
    ],
)
def test_a_table_that_is_no_record_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "faults.csv"
    path.write_text(text)
    with pytest.raises(SpecError, match=message.replace("[", r"\[")):
        recorded_counts(path)


def test_parameters_of_a_record_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = written(tmp_path / "faults.csv")
    assert main(["counts", str(record), "--set", "pages=4096"]) == 2
    assert "there is no parameter of a record 'pages'; did you mean 'page'?" in (
        capsys.readouterr().err
    )
    assert main(["counts", str(tmp_path / "none.csv")]) == 2
    assert "there is no file" in capsys.readouterr().err
