"""Counts as files: read, named by workloads, and refused where they are wrong."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.errors import ModelError, SpecError
from slipstick.limits import ANNOUNCE
from slipstick.schema.library import Library
from slipstick.schema.programs import load_data
from slipstick.schema.text import Mark
from slipstick_workloads.application.programs import IS
from slipstick_workloads.counts import Counts, ProcessorTally, TallySpec

MEASURED = """counts: 1
title: Measured elsewhere
program: mine
processors: 2
page: 4096
unit: rows
phases:
  - name: sweep
    repeat: 10
    tallies:
      - {work: 60, faults: [[1, 400, 20]]}
      - {work: 40, served_diffs: 20, sent: {diffs: [20, 8000]}}
"""


def test_counts_measured_elsewhere_are_solved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MEASURED)
    found = load_data("counts", str(path), Mark("here", 1, 1), Library())
    assert isinstance(found, Counts)
    assert (found.total("work"), found.total("faults"), found.phases[0].repeat) == (100, 20, 10)
    assert Counts.from_dict(found.to_dict()) == found
    given = ["--machine", "rs6000-43p-atm", "--set", f"counts={path}", "--set", "sequential=10 s"]
    assert main(["solve", "dvsm/application", *given]) == 0
    assert "busy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("work: 40", "wrok: 40"), "unknown key; did you mean 'work'?"),
        (("work: 40", "work: 4.5"), "phases.0.tallies.1.work"),
        (("[[1, 400, 20]]", "[[1, 400]]"), "phases.0.tallies.0.faults"),
        (
            ("      - {work: 40, served_diffs: 20, sent: {diffs: [20, 8000]}}\n", ""),
            "give one tally for each of the 2 processors; here are 1",
        ),
        (("repeat: 10", "repeats: 10"), "unknown key; did you mean 'repeat'?"),
        (
            ("[[1, 400, 20]]", "[[2, 400, 20]]"),
            "processor 0 in phase 'sweep': faults of 2 parts; there are 1 other processors to ask",
        ),
        (
            ("work: 60", "work: 60, acquisitions: [[5, 10]]"),
            (
                "acquisitions of 5 hops; among 2 processors there are at most 1, to the lock's"
                " manager and from there to its last holder"
            ),
        ),
        (
            ("work: 60", "work: 60, acquisitions: [[1, 10]]"),
            (
                "10 acquisitions of 1 or 2 hops, but 0 counted in granted; each is served by one"
                " processor"
            ),
        ),
        (
            ("work: 60", "work: 60, empty: 3"),
            "23 parts of faults and first misses, but 20 counted in served_diffs",
        ),
        (
            ("served_diffs: 20", "served_diffs: 19"),
            (
                "processor 1 in phase 'sweep': 19 served_diffs, but 20 messages in sent.diffs; give"
                " both"
            ),
        ),
    ],
)
def test_wrong_counts_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MEASURED.replace(*change))
    with pytest.raises(SpecError) as caught:
        load_data("counts", str(path), Mark("here", 1, 1), Library())
    assert message in str(caught.value)


@pytest.mark.turns(4)
def test_a_machine_that_is_not_that_of_the_counts_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MEASURED)
    given = [
        "--set",
        f"counts={path}",
        "--set",
        "sequential=10 s",
        "--set",
        "machine.memory.page=16 KiB",
    ]
    assert main(["solve", "dvsm/application", "--all", "--machine", "rs6000-43p-atm", *given]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "machine.memory.page is 16384 B, but" in told
    assert "machine.processors.count is 8, but" in told
    assert "machine.network is not the one" not in told
    given[-1] = "machine.network=infiniband-hdr"
    assert main(["solve", "dvsm/application", "--all", "--machine", "rs6000-43p-atm", *given]) == 0
    assert "the dvsm costs of the machine were measured on a network other than" in " ".join(
        capsys.readouterr().out.split()
    )


def test_unknown_counts_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--machine", "rs6000-43p-atm", "--set", "counts=sorr", "--set", "sequential=10 s"]
    assert main(["solve", "dvsm/application", *given]) == 2
    assert "sorr" in capsys.readouterr().err


def test_counts_without_a_name_are_refused_where_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "workload: 1\nmodel: dvsm/application\ninputs: {counts: '', sequential: 10 s}\n"
    )
    assert main(["check", str(path)]) == 2
    assert "w.yaml:3:18: counts: at least 1 character; got ''" in capsys.readouterr().err


def test_counting_for_many_processors_tells_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        "slipstick_workloads.application.programs._count_operations", lambda *_: None
    )
    token = ANNOUNCE.set(told.append)
    try:
        for processors in (10, 100):
            IS.count(keys=4096.0, iterations=100.0, processors=float(processors))
    finally:
        ANNOUNCE.reset(token)
    assert told == [
        "counting is takes 10 s: about 10 s of processor time"
    ]  # of which the keys take 16 ms


def test_a_phase_of_data_is_strict() -> None:
    with pytest.raises(ModelError, match="a phase cannot hold 'phase'"):
        Counts.from_dict(
            {"program": "x", "processors": 1, "page": 1, "unit": "u", "phases": [{"phase": 1}]}
        )


def test_a_file_may_hold_all_that_is_counted() -> None:
    assert set(TallySpec.model_fields) == {each.name for each in fields(ProcessorTally)}
