"""The command line: statuses, what goes where, one JSON document, and that nothing in a spec is
executed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import slipstick
from slipstick.cli import console
from slipstick.cli.main import _portable_path, main
from slipstick.errors import Problem
from slipstick.schema.library import catalogue_folder
from tests.examples import sample
from tests.payloads import PAYLOADS
from tests.processes import HANGS
from tests.specs import DESIGN, activity, study
from tests.study.test_all_questions import ACTIVITY, STUDY, TREND

LOCK = ["solve", "dvsm/lock", "--machine", "rs6000-43p-atm"]
HEAVY = {
    "sympy",
    "numpy",
    "scipy",
    "matplotlib",
    "polars",
    "tabulate",
    "tqdm",
    "slipstick_measure.formats",
}


class Said(NamedTuple):
    """What a command answered."""

    status: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def slip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line within this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Said:
        status = main(arguments)
        return Said(status, *capfd.readouterr())

    return run


def child(*arguments: str, folder: Path, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "slipstick", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, timeout=HANGS, check=False, **more
    )


# Statuses, and what goes where


def test_what_is_done_has_status_0_and_speaks_on_standard_output(slip: Run) -> None:
    Path("x.yaml").write_text(DESIGN)
    for command in (
        ["--help"],
        ["check", "x.yaml"],
        ["schema", "study"],
        ["list"],
        ["solve", "x.yaml"],
        [*LOCK, "--set", "parties=3"],
    ):
        status, out, err = slip(*command)
        assert (status, err, bool(out)) == (0, "", True), command
    assert (
        slip("check", "x.yaml").out
        == "x.yaml: a valid activity; no scv, therefore constant: 8 of 9 times\n"
    )


def test_of_several_methods_those_that_answer_are_shown(slip: Run) -> None:
    for others, said in (
        ("bounds", "mean-value has no answer"),
        ("mean-value", "by mean-value: no answer"),
    ):
        status, out, err = slip("solve", "task-pool", "--with", f"closed-form,mean-value,{others}")
        assert (status, err) == (1, "")
        assert f"{said}: mean value has no approximation of waits for loop" in " ".join(out.split())
        assert "throughput" in out


def test_no_answer_has_status_1_and_says_why_on_standard_error(slip: Run) -> None:
    law = [
        "solve",
        "law/flow-line",
        "--set",
        "items=3",
        "--set",
        "once=1 us",
        "--set",
        "longest=3 us",
    ]
    why = "law flow-line holds for items >= 1 and once >= longest only"
    assert slip(*law) == (1, "", f"no answer: {why}\n")
    status, out, err = slip(*law, "--json")
    assert (status, err, json.loads(out)["answers"][0]["failed"]) == (1, "", why)


@pytest.mark.turns(4)
def test_several_methods_are_put_side_by_side_and_the_seed_is_kept(slip: Run) -> None:
    Path("x.yaml").write_text(DESIGN)
    status, out, err = slip(
        "solve", "x.yaml", "--with", "closed-form,simulation,bounds", "--precision", "20%"
    )
    assert (status, err) == (0, "")
    assert "simulation lies within the bounds" in out
    again = [
        slip(
            "solve", "x.yaml", "--with", "simulation", "--seed", "7", "--precision", "20%", "--json"
        )
        for _ in range(2)
    ]
    assert again[0] == again[1]
    answer = json.loads(again[0].out)["answers"][0]
    assert (answer["seed"], answer["method"], answer["converged"]) == (7, "simulation", True)
    assert (
        answer["values"]["time"]["low"]
        < answer["values"]["time"]["value"]
        < answer["values"]["time"]["high"]
    )
    seeded = ("--set", "simulation.seed=8", "--precision", "20%", "--json")
    other = json.loads(slip("solve", "x.yaml", "--with", "simulation", *seeded).out)
    assert other["answers"][0]["values"]["time"] != answer["values"]["time"]


@pytest.mark.turns(4)
def test_a_timeline_is_written_beside_the_answer(slip: Run) -> None:
    Path("x.yaml").write_text(DESIGN)
    status, _, err = slip("solve", "x.yaml", "--timeline", "run.json")
    assert (status, err) == (0, "The time line of the first cycles is in run.json.\n")
    assert json.loads(Path("run.json").read_text())["traceEvents"]
    status, _, err = slip(
        "solve", "law/flow-line", "--timeline", "run.json", *("--set", "items=3"), *FLOW
    )
    assert status == 2
    assert "a timeline takes a model of an activity, not a law" in err


def test_a_timeline_that_is_refused_costs_no_answer(
    slip: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def solved(*_: object, **__: object) -> None:
        raise AssertionError("it was solved first")

    monkeypatch.setattr("slipstick.method.methods.compute_answers", solved)
    status, _, err = slip("solve", "central-server", "--timeline", "run.svg")
    assert (status, "a timeline takes a model of an activity, not a queueing network" in err) == (
        2,
        True,
    )


def test_an_interrupted_simulation_gives_what_it_has_with_status_130(
    slip: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slipstick.sim.plain.kernel import Kernel

    run, calls = Kernel.run, iter(range(10**6))

    def interrupted(self: Kernel, events: int) -> bool:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return run(self, events)

    monkeypatch.setattr(Kernel, "run", interrupted)
    monkeypatch.setattr("slipstick.sim.run.can_compile", lambda: False)
    Path("x.yaml").write_text(DESIGN)
    status, out, _ = slip("solve", "x.yaml", "--with", "simulation", "--precision", "0.01%")
    assert status == 130
    assert "note: unfinished: it was interrupted, after " in out
    Path("s.yaml").write_text(
        "{study: 1, base: {model: x.yaml, method: simulation, simulation.precision: 0.01%}}"
    )
    calls = iter(range(10**6))
    status, out, err = slip("run", "s.yaml", "--out", "report")
    assert (status, out, err.strip()) == (130, "", "interrupted; nothing half-written is left")
    assert not Path("report").exists()


FLOW = ["--set", "once=10 us", "--set", "longest=3 us"]

WRONG = [
    (
        ["solve", "nothing"],
        "MODEL: there is no model 'nothing'; known: dvsm/message, dvsm/page-fault",
    ),
    (
        ["solve", "dvsm/lock"],
        "MODEL: machine: dvsm/lock runs on a machine; name one of linux-cluster, rs6000-43p-atm",
    ),
    (
        [*LOCK[:2], "--machine", "rs"],
        "--machine: there is no machine 'rs'; known: a64fx, archer2, bbn-gp1000",
    ),
    ([*LOCK, "--set", "parties"], "--set parties: write PATH=VALUE, such as parts=3"),
    ([*LOCK, "--set", "=3"], "--set =3: write PATH=VALUE, such as parts=3"),
    ([*LOCK, "--set", " =3"], "--set : a value needs a path, such as machine.network.adapter"),
    ([*LOCK, "--set", "partis=3"], "--set partis: unknown key; did you mean 'parties'?"),
    ([*LOCK, "--set", "parties=017"], "--set parties: '017' is ambiguous; write 17 or 0o17"),
    (
        [*LOCK, "--set", "parties=.nan"],
        "--set parties: '.nan' is not a finite number; write one, or put quotes",
    ),
    ([*LOCK, "--set", "call=5"], "--set call: write a number with a unit, such as '5 us'; got 5"),
    ([*LOCK, "--set", "call=-5 us"], "--set call: must be at least 0 s, got -5 us"),
    (
        [*LOCK, "--set", "machine.netwerk=x"],
        "--set machine.netwerk: unknown key; did you mean 'network'?",
    ),
    (
        [*LOCK, "--with", "closed-from"],
        "command line: there is no method 'closed-from'; did you mean 'closed-form'?",
    ),
    (["check", "none.yaml"], "none.yaml:1:1: there is no such file; check its name"),
    (["check", "."], ".:1:1: this is a directory; name a file in it"),
    (
        ["schema", "machin"],
        "command line: there is no kind of spec 'machin'; did you mean 'machine'?",
    ),
    (
        ["show", "machine/x"],
        "machine/x: there is no machine 'x'; known: a64fx, archer2, bbn-gp1000, bbn-tc2000",
    ),
    (["show", "touur"], "command line: there is no spec 'touur'; did you mean 'tour'?"),
    (
        ["list", "x"],
        (
            "command line: there is no kind 'x'; known: machine, network, workload, technology,"
            " fitted, activity, queueing-network, study, profile, trend, batch-server, counts"
        ),
    ),
    (["run", "x"], "x: there is no study 'x'; known: 1997-looks-ahead, agreement, "),
    (["check"], "command line: Missing argument 'SPECS...'"),
    (["solv"], "command line: No such command 'solv'."),
    (["solve", "x", "--sett", "a=1"], "command line: No such option"),
    (
        ["solve", "lock-and-bus", "--method", "exact"],
        "command line: there is no option --method; write --with METHOD",
    ),
    (
        ["page", "lock-and-bus", "--value", "response_time_quantile[requests,0.95]"],
        "command line: there is no option --value; slipstick solve has it, and a study",
    ),
    (
        ["solve", "lock-and-bus", "--sweep", "a=1..4"],
        (
            "command line: there is no option --sweep; several values of a setting are a study:"
            " write its axes under vary, and slipstick run STUDY"
        ),
    ),
    (
        ["solve", "lock-and-bus", "--with", "mva"],
        "command line: there is no method 'mva'; write mean-value",
    ),
    (
        ["solve", "central-server", "--with", "mva"],
        "command line: there is no method 'mva'; write exact",
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[" ".join(each[0]) for each in WRONG])
def test_wrong_input_has_status_2_and_is_named(slip: Run, arguments: list[str], words: str) -> None:
    status, out, err = slip(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    # What click says of itself has no place in a file.
    assert words.removeprefix("command line: ") in err
    assert "Traceback" not in err
    if arguments[0] in ("solve", "check", "run") and arguments not in (["solv"],):
        status, out, err = slip(*arguments, "--json")
        document = json.loads(out)
        assert (status, err, list(document)) == (2, "", ["problems"])
        first, *_ = [str(Problem(**each)) for each in document["problems"]]
        assert first.startswith(words)


def test_all_problems_of_all_files_come_at_once(slip: Run) -> None:
    Path("a.yaml").write_text(activity("{delay: 5}", "{dellay: 1 s}"))
    Path("b.yaml").write_text("machine: 1\nnetwork: nowhere\n")
    Path("c.yaml").write_text(DESIGN)
    status, out, err = slip("check", "c.yaml", "b.yaml", "none.yaml", "a.yaml")
    assert (status, out) == (
        2,
        "c.yaml: a valid activity; no scv, therefore constant: 8 of 9 times\n",
    )
    places = [line.removeprefix("error: ").split(": ")[0] for line in err.splitlines()]
    assert places == ["a.yaml:4:13", "a.yaml:5:6", "b.yaml:1:1", "b.yaml:2:10", "none.yaml:1:1"]
    document = json.loads(slip("check", "c.yaml", "b.yaml", "none.yaml", "a.yaml", "--json").out)
    assert [each["line"] for each in document["problems"]] == [4, 5, 1, 2, 1]


def test_a_value_set_is_checked_like_a_written_one(slip: Run) -> None:
    for value, fragment in (
        ("5", "write a number with a unit"),
        ("-1 ms", "must be at least 0 s"),
        ("1 B", "quantity in B"),
        ("wrok", "there is no name"),
    ):
        Path("x.yaml").write_text(activity(f"{{name: work, delay: {value}}}"))
        written = slip("check", "x.yaml").err
        Path("x.yaml").write_text(activity("{name: work, delay: 1 s}"))
        given = slip("solve", "x.yaml", "--set", f"cycle.work.delay={value}").err
        assert fragment in written
        words = given.partition("delay: ")[2].removeprefix(
            "cycle.0.delay: "
        )  # a path that is not the one typed
        assert written.partition("delay: ")[2] == words


@pytest.mark.turns(4)
def test_a_point_without_an_answer_fails_alone(slip: Run) -> None:
    Path("model.yaml").write_text(
        activity(
            "{name: w, delay: 1 s - gap}",
            head="parameters: {gap: 1 ms}\npopulation: {processors: 2}",
        )
        .replace("1 s - gap", "whole - gap")
        .replace("{gap", "{whole: 1 s, gap")
    )
    Path("s.yaml").write_text(
        study("vary: {parameters.gap: [1 ms, 5 s, 2 ms]}", base="{model: model.yaml}")
    )
    status, out, err = slip("run", "s.yaml", "--out", "report", "--json")
    answers = json.loads(out)["answers"]
    assert (status, [answer["failed"] is None for answer in answers]) == (
        1,
        [True, True, False, True],
    )
    assert "Traceback" not in err
    assert [bool(answer["values"]) for answer in answers] == [True, True, False, True]
    assert Path("report/results.csv").read_text().count("\n") > 3


SEARCHES = "".join(
    f"  quick{limit}: {{of: parameters.gap, from: 1 ms, to: 9 s, where: time <= {limit} s}}\n"
    for limit in range(1, 7)
)


SAMPLE = """\
sample:
  of: {parameters.work: {distribution: uniform, from: 1 ms, to: 2 ms}}
  samples: 16
  answer: [time, efficiency]
"""


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("questions", "names_on_terminal"),
    [
        (f"seek:\n{SEARCHES}", [f"quick{limit}, base:" for limit in range(1, 7)]),
        (
            f"seek:\n{SEARCHES}{SAMPLE}rank: {{of: [parameters.gap, parameters.work]}}\n",
            ["quick6, base:", "base: among single quantities"],
        ),
        # The head answers what is asked here, so that it is not printed twice.
        (f"seek:\n{SEARCHES[: SEARCHES.index('  quick3')]}", []),
    ],
)
def test_answers_that_exceed_the_head_follow_it(
    slip: Run, questions: str, names_on_terminal: list[str]
) -> None:
    Path("model.yaml").write_text(
        activity(
            "{name: w, delay: gap}\n  - {name: v, delay: work}",
            head="parameters: {gap: 1 ms, work: 1 ms}\npopulation: {processors: 2}",
        )
    )
    Path("s.yaml").write_text(study(questions, base="{model: model.yaml}"))
    status, out, _ = slip("run", "s.yaml", "--out", "report", "--no-html")
    assert status == 0
    for name in names_on_terminal:
        assert f"\n{name}" in out
    assert ("\nquick1, base:" in out) == bool(names_on_terminal)
    _, whole, _ = slip("run", "s.yaml", "--out", "report", "--no-html", "--all")
    assert "\nquick1, base:" in whole


def test_bounds_are_no_estimates_and_their_rows_no_failures(slip: Run) -> None:
    Path("s.yaml").write_text(study(base="{model: lock-and-bus, method: bounds}"))
    status, out, _ = slip("run", "s.yaml", "--out", "report", "--all")
    assert (status, "failed" in out, "simulated" in out) == (0, False, False)
    assert "at least" in out


# JSON


KEYS = {
    "model",
    "method",
    "point",
    "given",
    "values",
    "account",
    "useful",
    "share",
    "gradient",
    "exact",
    "failed",
    "notes",
}
UNITS = {"s", "B", "1", "1/s", "B/s"}


def check_document(text: str) -> dict[str, Any]:
    """Hold a document against the contract."""
    document = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert isinstance(document, dict)
    assert document["slipstick"] == slipstick.__version__
    assert document["problems"] == []
    for answer in document.get("answers", []):
        assert set(answer) >= KEYS
        assert all(
            set(each) == {"value", "unit", "low", "high"} for each in answer["values"].values()
        )
        assert {each["unit"] for each in answer["values"].values()} <= UNITS
        assert all(isinstance(each, float) for each in answer["account"].values())
        assert isinstance(answer["exact"], bool)
        assert answer["failed"] is None or isinstance(answer["failed"], str)
        for name in (*answer["values"], *answer["account"], *answer["given"]):
            assert " " not in name
        if answer["failed"] is None and "time" in answer["values"] and answer["account"]:
            assert sum(answer["account"].values()) == pytest.approx(
                answer["values"]["time"]["value"], rel=1e-12
            )
            assert sum(answer["share"]["time"].values()) == pytest.approx(1.0, rel=1e-12)
        assert (
            set(answer["useful"]) == {"busy"}
            or answer["method"] != "closed-form"
            or answer["model"] != "lock-and-bus"
        )
    return document


def test_solve_prints_one_document_and_nothing_else(slip: Run) -> None:
    status, out, err = slip(
        "solve",
        "lock-and-bus",
        "--set",
        "population.processors=32",
        "--set",
        "cycle.0.delay=3 ms",
        "--json",
    )
    assert (status, err) == (0, "")
    (answer,) = check_document(out)["answers"]
    assert (answer["model"], answer["method"], answer["point"]) == (
        "lock-and-bus",
        "mean-value",
        {},
    )
    assert answer["given"] == {"population.processors": 32.0, "cycle.work.delay": 3e-3}
    check_document(slip(*LOCK, "--set", "parties=3", "--json").out)
    law = check_document(
        slip(
            "solve",
            "law/flow-line",
            "--set",
            "items=3",
            "--set",
            "once=3 us",
            "--set",
            "longest=1 us",
            "--json",
        ).out
    )
    assert law["answers"][0]["exact"] is True


@pytest.mark.turns(4)
def test_run_prints_one_document_and_nothing_else(slip: Run) -> None:
    Path("s.yaml").write_text(
        study(
            "cases: {atm: {machine: rs6000-43p-atm}}",
            "vary: {parties: [2, 3], machine.network: [atm-oc3, 25gbe-tcp]}",
        )
    )
    status, out, _ = slip("run", "s.yaml", "--out", "report", "--json", "--set", "call=5 us")
    assert status == 0
    answers = check_document(out)["answers"]
    assert [answer["point"] for answer in answers] == [
        {},
        {},
        *(
            {"parties": parties, "machine.network": network}
            for parties in (2.0, 3.0)
            for network in ("atm-oc3", "25gbe-tcp")
        ),
    ]
    assert answers[1]["given"] == {"machine": "rs6000-43p-atm"}


def test_a_study_whose_cases_have_no_common_base_is_reported(slip: Run) -> None:
    Path("s.yaml").write_text(
        study("cases: {one: {model: adding-numbers}, two: {model: lock-and-bus}}", base="{}")
    )
    status, out, err = slip("run", "s.yaml", "--out", "report", "--no-html")
    assert (status, err) == (0, "")
    assert "adding-numbers" in out


@pytest.mark.turns(6)
def test_of_many_points_the_table_is_named_instead(slip: Run) -> None:
    Path("s.yaml").write_text(
        study("vary: {machine.network.adapter: {from: 1 us, to: 2 us, count: 10001}}")
    )
    status, out, _ = slip("run", "s.yaml", "--out", "report", "--json")
    document = check_document(out)
    assert (status, document["results"], "answers" in document) == (0, "report/results.csv", False)
    assert Path("report/results.csv").read_text().count("\n") > 10_000


def test_check_prints_one_document_and_nothing_else(slip: Run) -> None:
    Path("x.yaml").write_text(DESIGN)
    assert check_document(slip("check", "x.yaml", "--json").out)["answers"] == []


@pytest.mark.turns(4)
def test_a_schema_is_json(slip: Run) -> None:
    for kind in ("machine", "network", "workload", "activity", "study"):
        assert json.loads(slip("schema", kind).out)["type"] == "object"


# Ends


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""The environment of most users: what is left in a buffer is written when the interpreter ends."""


# Files of others


@pytest.mark.turns(4)
def test_a_run_refuses_a_folder_with_files_of_others_before_it_solves(slip: Run) -> None:
    Path("s.yaml").write_text(study(base="{model: lock-and-bus}"))
    Path("found").mkdir()
    Path("found/report.html").write_text("mine")
    status, out, err = slip("run", "s.yaml", "--out", "found")
    assert (status, out) == (2, "")
    assert "found has report.html, which no report of slipstick wrote" in err
    assert os.listdir("found") == ["report.html"]
    assert slip("run", "s.yaml", "--out", "found", "--no-html").status == 0
    assert Path("found/report.html").read_text() == "mine"
    assert slip("run", "s.yaml", "--out", "found", "--force").status == 0
    assert Path("found/report.html").read_text().startswith("<!doctype html>")
    assert slip("run", "s.yaml", "--out", "found").status == 0


@pytest.mark.turns(10)
def test_links_that_lead_in_a_circle_are_named(slip: Run, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    for arguments in (
        ["run", "my-program", "--out", "circle"],
        ["new", "activity", "--out", "circle"],
        ["check", "circle"],
    ):
        said = slip(*arguments)
        assert said.status == 2
        assert said.err.startswith("error: ")
        assert "circle" in said.err.splitlines()[0]
    assert (tmp_path / "circle").is_symlink()


@pytest.mark.turns(6)
def test_a_run_into_the_current_folder_leaves_it(slip: Run) -> None:
    Path("s.yaml").write_text(study(base="{model: lock-and-bus}"))
    for _ in range(2):
        assert slip("run", "s.yaml", "--out", ".").status == 0
        assert Path("s.yaml").exists()
        assert slip("status", ".").out.startswith(". is up to date")


@pytest.mark.turns(4)
def test_a_run_that_was_ended_on_the_way_is_named_and_completed(
    slip: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("s.yaml").write_text(study(base="{model: lock-and-bus}"))
    with monkeypatch.context() as patch:
        patch.setattr("slipstick.report.folder._move_file", ended)
        with pytest.raises(RuntimeError, match="ended"):
            slip("run", "s.yaml", "--out", "found")
    status, out, _ = slip("status", "found")
    assert status == 0
    assert "- the run that wrote it was ended before all files were in place" in out
    assert slip("run", "s.yaml", "--out", "found").status == 0
    assert slip("status", "found").out.startswith("found is up to date")


def ended(*_: object) -> None:
    """End a run in the middle."""
    raise RuntimeError("ended")


@pytest.mark.turns(6)
def test_a_single_file_that_cannot_be_written_whole_is_named_and_as_it_was(
    slip: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("p.html").write_text("old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, _, err = slip("page", "lock-and-bus", "--out", "p.html")
    assert (status, err) == (
        2,
        "error: p.html: No space left on device; choose another place with --out\n",
    )
    assert (os.listdir(), Path("p.html").read_text()) == (["p.html"], "old")


def test_a_current_folder_that_was_removed_is_named(slip: Run, tmp_path: Path) -> None:
    os.rmdir(tmp_path)
    try:
        status, _, err = slip("page", "lock-and-bus")
    finally:
        tmp_path.mkdir()
    assert (status, err) == (
        2,
        "error: the current folder was removed; change to another folder\n",
    )


@pytest.mark.turns(4)
def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    for command in (
        "schema study",
        "list",
        "show machine/rs6000-43p-atm",
        "explain dvsm/diff-request",
    ):
        script = f"{sys.executable} -m slipstick {command} | head -1; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=BUFFERED,
            capture_output=True,
            timeout=HANGS,
            check=False,
        )
        assert done.stdout.count(b"\n") == 1
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr
        assert done.returncode == 0, command


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    "control", ["\x1b]0;title\x07", "\x1b[31m", "\x9b", "\x7f", "\u202e", "\r"]
)
def test_no_name_controls_a_terminal(slip: Run, tmp_path: Path, control: str) -> None:
    """A key of a file, an option and a file name reach the screen with their control characters
    escaped.
    """
    name = f"a{control}b"
    (tmp_path / "key.yaml").write_text(json.dumps({"activity": 1, name: {name: 1}}))
    for arguments in (
        ["check", "key.yaml"],
        ["solve", "lock-and-bus", "--set", f"{name}=1"],
        ["solve", name],
        ["measured", name],
        ["new", "activity", "--out", f"{name}.yaml"],
        ["solve", "lock-and-bus", "--limit", f"{name}=1"],
    ):
        said = slip(*arguments)
        assert said.status in (0, 2)
        assert not set(control) & set("\x1b\x07\x9b\x7f\u202e\r") & set(said.out + said.err)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_a_full_output_is_named_once_with_status_2(tmp_path: Path, options: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "slipstick", "solve", "lock-and-bus", *options]
        ended = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, timeout=HANGS, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr.count(b"No space left") == ended.stderr.count(b"\n") == 1


@pytest.mark.turns(6)
def test_an_ascii_terminal_gets_every_word(tmp_path: Path) -> None:
    text = activity(
        "{name: work, delay: 3 \N{MICRO SIGN}s}",
        head="title: na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve\npopulation: {processors: 2}",
    )
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(
        text.replace("\N{MICRO SIGN}s", "\N{MICRO SIGN}x"), encoding="utf-8"
    )
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    for command, status in (
        (["solve", "x.yaml"], 0),
        (["check", "bad.yaml"], 2),
        (["solve", "x.yaml", "--json"], 0),
        (["explain", "x.yaml"], 0),
    ):
        done = child(*command, folder=tmp_path, env=ascii_only)
        assert (done.returncode, b"Traceback" in done.stderr) == (status, False)
        assert done.stdout + done.stderr


WAITS_FOR_INTERRUPT = """
import signal, sys
from slipstick.cli.main import main
from slipstick.study.engine import Engine
def solve(*_):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    print("solving", file=sys.stderr, flush=True)
    while True:
        signal.pause()
Engine.solve = solve
sys.exit(main(sys.argv[1:]))
"""
"""A command that is solving its points until it is interrupted."""


@pytest.mark.turns(4)
def test_an_interrupt_ends_with_status_130_and_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(study())
    command = [sys.executable, "-c", WAITS_FOR_INTERRUPT, "run", "s.yaml", "--out", "report"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"solving\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert b"interrupted; nothing half-written is left" in err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["s.yaml"]


INTERRUPTED_AT_AN_IMPORT = """
import os, signal, sys
moment = sys.argv.pop(1)
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            sys.meta_path.remove(self)
            print("interrupted", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
sys.meta_path.insert(0, Interrupting())
if moment == "the end":
    import atexit
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
from slipstick.__main__ import main
sys.exit(main())
"""
"""The command line, to which an interrupt is sent while it imports a module, or while it ends."""


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "moment",
    [
        "slipstick.cli",
        "slipstick.cli.main",
        "click",
        "slipstick.cli.console",
        "slipstick.vocabulary",
        "yaml",
        "pydantic",
        "slipstick.program",
        "the end",
    ],
)
def test_an_interrupt_while_modules_are_imported_ends_quietly(moment: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED_AT_AN_IMPORT, moment, "check", "lock-and-bus"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    lines = run.stderr.decode().splitlines()
    if moment == "the end":
        assert (run.returncode, lines) == (130, [])
        assert run.stdout
        return
    assert (run.returncode, run.stdout, lines[0]) == (130, b"", "interrupted")
    assert "".join(lines[1:]) in ("", "interrupted; nothing half-written is left")


def test_nothing_is_imported_before_an_interrupt_is_handled() -> None:
    """What the interpreter and the script of an installer do before is theirs."""
    lines = [
        "import sys; before = set(sys.modules)",
        "import slipstick.__main__",
        "print(*sorted(set(sys.modules) - before - set(sys.builtin_module_names)))",
    ]
    command = [sys.executable, "-c", "; ".join(lines)]
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    assert run.stdout.split() == ["slipstick", "slipstick.__main__"]


# What is loaded


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["check", "--help"],
        *(
            ["check", name]
            for name in (
                "a.yaml",
                "m.yaml",
                "s.yaml",
                "questions.yaml",
                "central-server",
                "two-cores",
            )
        ),
    ],
)
def test_help_and_check_load_no_heavy_library(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.yaml").write_text(DESIGN)
    (tmp_path / "m.yaml").write_text("machine: 1\nextends: rs6000-43p-atm\n")
    (tmp_path / "s.yaml").write_text(
        study("vary: {parties: [2, 3], call: {from: 1 us, to: 9 us, count: 5, spacing: geometric}}")
    )
    (tmp_path / "questions.yaml").write_text("""\
study: 1
base: {model: lock-and-bus}
rank: {of: [parameters.work]}
seek: {s: {of: parameters.work, from: 1 ms, to: 9 ms, where: efficiency > 0.5}}
project: {trends: [milestones], base_year: 2000, years: [2000, 2004], watch: [efficiency > 0.5]}
pictures: [{name: p, title: p, kind: projection, y: [time]}]
""")
    assert loaded(command, HEAVY, tmp_path) == "[] 0"


@pytest.mark.turns(4)
def test_help_reads_no_format(tmp_path: Path) -> None:
    assert loaded(["--help"], {"pydantic", "yaml"}, tmp_path) == "[] 0"


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "command",
    [
        ["solve", "lock-and-bus"],
        ["solve", "central-server"],
        ["solve", "law/speed-up", "--set", "processors=4", "--set", "efficiency=0.5"],
    ],
)
def test_solve_of_a_small_model_loads_only_what_it_uses(tmp_path: Path, command: list[str]) -> None:
    assert loaded(command, HEAVY - {"numpy"}, tmp_path) == "[] 0"


CHECK_EACH = f"""
import sys
from slipstick.errors import SpecError
from slipstick.study.check import check_reference
for path in sys.argv[1:]:
    try:
        found = check_reference(path)
    except SpecError:
        found = ["refused"]
    heavy = sorted({HEAVY - {"slipstick_measure.formats"}} & set(sys.modules))
    print(path, ",".join(found), *heavy, sep="|", flush=True)
"""


@pytest.mark.turns(5)
def test_a_file_of_any_kind_is_checked_without_the_numerical_libraries(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    paths = sorted((root / "specs").rglob("*.*"))
    # It needs the processors and the time, which are told beside it.
    specs = [path for path in paths if path.name != "server-locks.txt"]
    # The rows of a validation are read into arrays.
    study = re.sub(r"\nvalidation:\n(?: .*\n)*", "\n", STUDY)
    for name, text in (("asks.yaml", ACTIVITY), ("trend.yaml", TREND), ("everything.yaml", study)):
        (tmp_path / name).write_text(text)
        specs.append(tmp_path / name)
    data = [
        each
        for folder in ("files", "traces/files")
        for each in sorted((root / "tests/measure" / folder).rglob("*.*"))
    ]
    # What a model requires, arithmetic that shapes it, and a machine of another year are computed,
    # which takes arrays.
    texts = {path: path.read_text("utf-8") for path in specs}
    with_requirements = ["autoscaled-service", "looks-ahead", "years-ahead", "which-node-lasts"]
    with_requirements += [path.stem for path, text in texts.items() if "\nrequires:" in text]
    # Some studies, and of other files one for each set of keys: what is loaded depends on them.
    shapes = {
        (path.parent, frozenset(re.findall(r"^\w+:", text, re.MULTILINE)))
        if path.parent.name != "studies"
        else path: path
        for path, text in texts.items()
        if not any(name in path.stem for name in with_requirements)
        and not any(name in text for name in with_requirements)
    }
    studies = [path for path in shapes.values() if path.parent.name == "studies"]
    specs = [path for path in shapes.values() if path not in studies]
    specs = [*specs, *sample(studies, least=6)]
    command = [sys.executable, "-c", CHECK_EACH, *map(str, [*specs, *data])]
    done = subprocess.run(command, capture_output=True, timeout=HANGS, check=False)
    assert not done.stderr
    found = [line.split("|") for line in done.stdout.decode().splitlines()]
    assert [path for path, *_ in found] == command[3:]
    assert [
        each for each in found if len(each) > 2
    ] == []  # the first one tells what loads a library, for it stays
    assert [path for path, kind, *_ in found[: len(specs)] if kind == "refused"] == []
    assert {kind for _, kind, *_ in found} > {
        "study",
        "table of measurements",
        "profile",
        "machine",
        "refused",
    }


def loaded(command: list[str], libraries: set[str], folder: Path) -> str:
    """Return which of the libraries a command loads, and its status."""
    code = (
        f"import sys; from slipstick.cli.main import main; status = main({command});"
        f" print(sorted({libraries} & set(sys.modules)), status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, timeout=HANGS, check=False
    )
    return done.stdout.decode().splitlines()[-1]


# Nothing in a spec is executed


def hostile(payload: str) -> dict[str, tuple[str, bool]]:
    """Write files with a payload as a key, a name, a value; and say whether it is words that may
    be anything.
    """
    quoted = json.dumps(payload)
    free = activity(
        "{name: work, delay: 1 s}",
        head=f"title: {quoted}\nsource: {quoted}\npopulation: {{processors: 2}}",
    )
    return {
        "title": (free, True),
        "time": (activity(f"{{name: work, delay: {quoted}}}"), False),
        "count": (activity("{delay: 1 s}", head=f"population: {{processors: {quoted}}}"), False),
        "probability": (activity(f"{{choose: [{{p: {quoted}, do: []}}]}}"), False),
        "parameter": (
            activity(
                "{delay: x}", head=f"parameters: {{x: {quoted}}}\npopulation: {{processors: 2}}"
            ),
            False,
        ),
        "parameter's name": (
            activity(
                "{delay: 1 s}", head=f"parameters: {{{quoted}: 1 s}}\npopulation: {{processors: 2}}"
            ),
            False,
        ),
        "step's name": (activity(f"{{name: {quoted}, delay: 1 s}}"), False),
        "component": (activity(f"{{component: {quoted}, delay: 1 s}}"), False),
        "technology": (activity(f"{{technology: {quoted}, delay: 1 s}}"), False),
        "resource": (activity(f"{{service: {quoted}, time: 1 s}}"), False),
        "resource's name": (
            activity(
                "{delay: 1 s}", head=f"resources: {{{quoted}: {{}}}}\npopulation: {{processors: 2}}"
            ),
            False,
        ),
        "key": (activity(f"{{{quoted}: 1, delay: 1 s}}"), False),
        "first key": (f"{quoted}: 1\n", False),
        "base": (f"machine: 1\nextends: {quoted}\n", False),
        "network": (f"machine: 1\nextends: rs6000-43p-atm\nnetwork: {quoted}\n", False),
        "page": (f"machine: 1\nextends: rs6000-43p-atm\nmemory: {{page: {quoted}}}\n", False),
        "input": (f"workload: 1\nmodel: dvsm/lock\ninputs: {{parties: {quoted}}}\n", False),
        "input's name": (f"workload: 1\nmodel: dvsm/lock\ninputs: {{{quoted}: 3}}\n", False),
        "model": (f"workload: 1\nmodel: {quoted}\n", False),
        "case": (study(f"cases: {{{quoted}: {{parties: 3}}}}"), False),
        "path": (study(f"cases: {{a: {{{quoted}: 3}}}}"), False),
        "setting": (study(f"cases: {{a: {{parties: {quoted}}}}}"), False),
        "axis": (study(f"vary: {{{quoted}: [1, 2]}}"), False),
        "axis value": (study(f"vary: {{parties: [2, {quoted}]}}"), False),
        "end": (study(f"vary: {{parties: {{from: 2, to: {quoted}, count: 2}}}}"), False),
        "where": (study(f"vary: {{s: {{axes: {{parties: [2]}}, where: {quoted}}}}}"), False),
        "column": (study(f"answer: [{quoted}]"), False),
        "unit": (
            study(
                f"compare: [{{title: t, unit: {quoted}, columns: [base], rows: [{{row: r, sum:"
                " [time], printed: [1]}]}]"
            ),
            False,
        ),
        "ranked": (study(f"rank: {{cases: [{quoted}]}}"), False),
        "picture": (
            study(
                f"pictures: [{{name: {quoted}, title: t, kind: bars, cases: [base], stack:"
                " component}]"
            ),
            False,
        ),
    }


@pytest.mark.turns(6)
@pytest.mark.parametrize("payload", sample(PAYLOADS, least=12))
def test_no_payload_is_executed(slip: Run, tmp_path: Path, payload: str) -> None:
    marker = tmp_path / "marker"
    payload = payload.format(marker=marker)
    for place, (text, free) in hostile(payload).items():
        Path("x.yaml").write_text(text)
        status, _, err = slip("check", "x.yaml")
        assert (status, "Traceback" in err) == (0 if free else 2, False), place
        if free:
            assert [slip(command, "x.yaml").status for command in ("solve", "explain")] == [0, 0]
    commands = (
        [*LOCK, "--set", f"{payload}=3"],
        [*LOCK, "--set", f"parties={payload}"],
        [*LOCK, "--set", f"call={payload}"],
        [*LOCK, "--set", f"machine.network={payload}"],
        [*LOCK, "--with", payload],
        ["solve", payload],
        ["solve", f"law/{payload}"],
        ["solve", "dvsm/lock", "--machine", payload],
        ["solve", "--workload", payload, "--machine", "rs6000-43p-atm", "dvsm/lock"],
        ["explain", payload],
        ["show", f"machine/{payload}"],
        ["show", payload],
        ["list", payload],
        ["run", payload],
        ["schema", payload],
    )
    for command in commands:
        status, _, err = slip(*command)
        assert (status, "Traceback" in err) == (2, False), command
    assert not marker.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.yaml"]


# What is large


def nasty(folder: Path) -> dict[str, Path]:
    """Write files that are a lot of work, or none."""
    files = {
        name: folder / f"{index}.yaml"
        for index, name in enumerate(("large", "deep", "binary", "empty", "zeros", "wide"))
    }
    with files["large"].open("wb") as file:
        for _ in range(50):
            file.write(b"# a comment that goes on\n" * 40_000)
    files["deep"].write_text("activity: 1\ncycle: " + "[" * 10_000 + "]" * 10_000)
    files["binary"].write_bytes(bytes(range(256)) * 100)
    files["empty"].write_bytes(b"")
    files["zeros"].write_bytes(b"\0" * 100_000)
    files["wide"].write_text("activity: 1\ncycle:\n" + "  - {dellay: 1 s}\n" * 40_000)
    return files


@pytest.mark.turns(5)
def test_what_is_large_or_no_text_gets_a_short_answer_soon_and_in_little_memory(
    tmp_path: Path,
) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (500 * 2**20,) * 2)"
    for name, path in nasty(tmp_path).items():
        code = (
            f"{limit}; import sys; from slipstick.cli.main import main; sys.exit(main(['check',"
            f" {str(path)!r}]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, timeout=HANGS, check=False
        )
        assert (done.returncode, done.stdout) == (2, b""), name
        assert done.stderr.startswith(b"error: ")
        assert b"Traceback" not in done.stderr
        assert len(done.stderr) < 10_000
    with contextlib.suppress(FileNotFoundError):
        os.remove(tmp_path / "0.yaml")


@pytest.mark.turns(6)
def test_a_terminal_that_goes_away_is_no_error(tmp_path: Path) -> None:
    script = f"{sys.executable} -m slipstick list >&-"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, timeout=HANGS, check=False
    )
    assert b"Traceback" not in done.stderr


@pytest.mark.turns(4)
def test_limits_are_kept_in_the_command_of_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text("study: 1\ntitle: t\nbase: {model: lock-and-bus}\n")
    out = str(tmp_path / "o")
    given = ["--limit", "states=2e6", "--limit", "time=90 s", "--limit", "memory=2 GB"]
    assert main(["run", str(tmp_path / "s.yaml"), "--out", out, *given]) == 0
    told = "--limit states=2e+06 --limit 'time=90 s' --limit 'memory=2000000000 B'"
    assert told in (tmp_path / "o" / "report.md").read_text()
    capsys.readouterr()
    assert main(["status", out]) == 0
    assert "up to date" in capsys.readouterr().out


@pytest.mark.turns(10)
@pytest.mark.parametrize("closed", ["2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_streams_are_no_error(closed: str, tmp_path: Path) -> None:
    Path(tmp_path, "s.yaml").write_text(study(base="{model: lock-and-bus}"))
    command = f'"$0" -m slipstick run s.yaml --out found --limit time=60s {closed}'
    status = subprocess.run(["sh", "-c", command, sys.executable], cwd=tmp_path, check=False)
    assert status.returncode == 0
    assert {"report.md", "report.html"} < {*os.listdir(tmp_path / "found")}
    for path in (tmp_path / "found").iterdir():  # no message went into a file
        assert b"wrote" not in path.read_bytes()[:100]


@pytest.mark.turns(5)
def test_a_report_holds_no_folder_of_this_machine(slip: Run, tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home" / "somebody", tmp_path / "elsewhere"
    home.mkdir(parents=True)
    elsewhere.mkdir()
    (home / "m.yaml").write_text("activity: 1\nextends: lock-and-bus\n")
    (home / "data.csv").write_text("p,time [s]\n1,1\n2,0.6\n4,0.4\n8,0.3\n")
    (home / "s.yaml").write_text(
        study(
            "vary: {population.processors: [1, 2, 4]}",
            "text: See the table.",
            base=f"{{model: {home / 'm.yaml'}}}",
        )
    )
    os.chdir(elsewhere)
    for command in (
        ["run", str(home / "s.yaml"), "--out", str(elsewhere / "one")],
        ["run", str(home / "s.yaml"), "--set", f"model={home / 'm.yaml'}", "--out", "two"],
    ):
        assert slip(*command).status == 0
    for folder in ("one", "two"):
        for path in Path(folder).iterdir():
            if path.suffix != ".sqlite":
                assert os.fsencode(tmp_path) not in path.read_bytes(), path
                assert b"somebody" not in path.read_bytes(), path
    os.chdir(home)
    assert slip("run", str(home / "s.yaml"), "--out", "three").status == 0
    assert "command: slipstick run s.yaml" in Path("three/inputs.yaml").read_text()
    assert slip("status", "three").out.startswith("three is up to date")
    # A shipped study is named as the catalogue names it, whatever was typed.
    assert (
        _portable_path(str(catalogue_folder() / "studies" / "trend-primer.yaml")) == "trend-primer"
    )


@pytest.mark.turns(4)
def test_a_full_standard_error_leaves_the_status() -> None:
    command = [sys.executable, "-m", "slipstick", "check", "no-such-thing"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stderr=full, stdout=subprocess.DEVNULL, env=BUFFERED, check=False
        )
        assert done.returncode == 2


class Terminal(StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.turns(6)
def test_long_work_on_a_terminal_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file or a pipe, and for short work, nothing is written."""
    monkeypatch.setattr(console, "FIRST_PROGRESS", 1)
    for stream, expected in ((Terminal(), "working for 1 s, 4 of 10 points\r"), (StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", stream)
        with console.ProgressLine(10) as add:
            add(4)
            time.sleep(1.5)
        written = stream.getvalue()
        assert written.startswith(expected)
        assert bool(written) == bool(expected)
        assert not expected or written.endswith(" \r")
    monkeypatch.setattr(console, "FIRST_PROGRESS", 3)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with console.ProgressLine():
        time.sleep(0.1)
    assert terminal.getvalue() == ""


DESK = """\
queueing-network: 1
classes: {calls: {arrivals: 4.8 /min}, mails: {arrivals: 2.5 /min}}
stations:
  desk: {servers: 5, discipline: ps, service: {calls: 30 s, mails: 40 s}}
"""


@pytest.mark.parametrize("methods", ["exact", "exact,linearizer"])
def test_rates_of_answers_have_the_unit_in_which_the_file_states_them(
    slip: Run, tmp_path: Path, methods: str
) -> None:
    (tmp_path / "desk.yaml").write_text(DESK)
    printed = slip("solve", "desk.yaml", "--with", methods, "--all").out
    (calls, mails) = [line for line in printed.splitlines() if line.startswith("throughput[")][:2]
    assert calls.split()[1:3] == ["4.8", "/min"]
    assert mails.split()[1:3] == ["2.5", "/min"]
    assert " /s" not in printed


CALLS = """\
queueing-network: 1
classes: {calls: {arrivals: 740.74 /min}}
stations: {desk: {service: {calls: 10 ms}}}
"""


def test_a_rate_in_a_sentence_is_rounded_in_the_unit_in_which_it_is_written(
    slip: Run, tmp_path: Path
) -> None:
    (tmp_path / "calls.yaml").write_text(CALLS)
    # Four digits of 12.3457 /s would be 741 a minute.
    assert "throughput of calls 740.7 /min" in slip("solve", "calls.yaml").out


def test_shares_leave_out_parameters_that_only_amounts_use(slip: Run, tmp_path: Path) -> None:
    (tmp_path / "priced.yaml").write_text(
        f'{CALLS}parameters: {{price: 30}}\namounts: {{cost: "price * utilization[desk]"}}\n'
    )
    document = json.loads(slip("solve", "priced.yaml", "--with", "exact", "--json").out)
    shares = document["answers"][0]["share"]
    assert "parameters.price" not in shares["response_time[calls]"]
    assert shares["amount[cost]"]["parameters.price"] == pytest.approx(1, abs=1e-6)


def test_a_report_has_rates_in_the_unit_in_which_its_model_states_them(
    slip: Run, tmp_path: Path
) -> None:
    (tmp_path / "desk.yaml").write_text(DESK)
    (tmp_path / "load.yaml").write_text(
        "study: 1\ntitle: How many calls?\nbase: {model: desk.yaml}\n"
        'answer: ["response_time[calls]", "throughput[calls]"]\n'
        "seek:\n  most: {of: classes.calls.arrivals, from: 0.5 /min, to: 6 /min,"
        ' where: "response_time[calls] <= 45 s"}\n'
    )
    printed = slip("run", "load.yaml", "--out", "report").out
    assert "with at most 4.544 calls a minute" in printed
    assert "As given (4.8 calls a minute)" in printed
    assert " /s" not in (tmp_path / "report" / "report.md").read_text()
