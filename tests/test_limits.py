"""A cost over its limit is refused with the way to raise it, and that way works: command line,
study and Python alike.
"""

from __future__ import annotations

import gzip
import io
import json
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from slipstick import Model, closed_model, delay, fork, run, service, solve, sweep
from slipstick.cli.main import main
from slipstick.errors import InputError, NoAnswerError, SlipstickError, SpecError, UnknownNameError
from slipstick.limits import (
    ANNOUNCE,
    ANNOUNCED,
    LIMITS,
    WorkPace,
    announcing_progress,
    check_cost,
    given_limits,
    with_limits,
    with_summed_costs,
)
from slipstick.schema.text import standard_input
from slipstick.study.engine import Engine, Limits
from slipstick.study.points import Block, PointBlock, SolvedBlock, solve_block
from slipstick_measure.traces.readers import read_trace
from tests.study.test_engine import blocks, times

PROCESSORS = "population.processors"
STUDY = """study: 1
limits: {points: 4}
base: {model: lock-and-bus}
vary: {parameters.work: [1 ms, 2 ms, 3 ms], population.processors: [1, 2]}
"""


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("over", [1.0004, 1.09, 7.77, 1e4])
def test_the_number_that_a_refusal_names_is_enough(name: str, over: float) -> None:
    cost = over * LIMITS[name].value
    check_cost(name, LIMITS[name].value, "this", "ask for less")
    with pytest.raises(NoAnswerError) as caught:
        check_cost(name, cost, "this", "ask for less")
    told = float(str(caught.value).partition(f"--limit {name}=")[2].split()[0])
    with with_limits({name: told}):
        check_cost(name, cost, "this", "ask for less")
    assert not given_limits()


def test_what_takes_long_is_told_before_it_is_paid() -> None:
    told: list[str] = []
    token, each = ANNOUNCE.set(told.append), LIMITS["lattice"].seconds
    try:
        check_cost("lattice", 0.9 * ANNOUNCED / each, "this", "ask for less")
        check_cost("lattice", 0.9 * ANNOUNCED / each, "that", "ask for less", point_count=4)
    finally:
        ANNOUNCE.reset(token)
    assert told == ["that at each of 4 points: about 18 s of processor time"]


def test_work_in_parts_tells_its_length_once_by_the_pace_without_the_first_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    token, now = ANNOUNCE.set(told.append), iter([0.0, 2.0, 2.4, 3.0, 4.0, 0.0, 2.0, 3.0])
    monkeypatch.setattr("slipstick.limits.thread_time", lambda: next(now))
    try:
        long = WorkPace()
        for done in (1, 2, 6, 8):
            long.check(done, 106, "this")
        short = WorkPace()
        for done in (1, 6):
            short.check(done, 11, "that")
    finally:
        ANNOUNCE.reset(token)
    assert told == ["this: about 23 s of processor time"]  # 3 s, and 100 parts more at 5 a second


def test_points_that_are_reported_tell_how_long_all_of_them_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    token, now = ANNOUNCE.set(told.append), iter([0.0, 2.0, 4.0])
    monkeypatch.setattr("slipstick.limits.thread_time", lambda: next(now))
    reported: list[int] = []
    try:
        report_solved = announcing_progress(110, "110 points are solved", reported.append)
        report_solved(4)
        report_solved(6)
    finally:
        ANNOUNCE.reset(token)
    # 4 s for 10 points, and 100 points more at 6 in 2 s.
    assert told == ["110 points are solved: about 37 s of processor time"]
    assert reported == [4, 6]


def test_points_that_take_long_tell_how_long_without_those_kept_of_an_earlier_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class First:
        """A store that has the first point alone."""

        def find(self, block: Block, limits: Limits) -> SolvedBlock | None:
            return (
                solve_block(block)
                if isinstance(block, PointBlock) and block.values[PROCESSORS] == 1
                else None
            )

        def keep(self, block: Block, found: SolvedBlock, seconds: float, limits: Limits) -> None:
            pass

    told: list[str] = []
    done: list[int] = []
    token, now = ANNOUNCE.set(told.append), count(0.0, 2.0)
    monkeypatch.setattr("slipstick.limits.monotonic", lambda: next(now))
    try:
        with Engine(store=First()) as engine:
            engine.solve(blocks(1, 2, 3, 4, 5), done.append)
    finally:
        ANNOUNCE.reset(token)
    assert told == ["4 points are solved: about 8 s"]  # at 2 s each
    assert done == [1] * 5


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "asked",
    [
        (
            "solve lock-and-bus --with simulation --set simulation.precision=0.0001 --set"
            " simulation.events=200000"
        ),
        "solve lock-and-bus --with mean-value --set population.processors=100",
        "solve central-server --with markov-chain",
    ],
)
def test_a_long_answer_tells_how_long_it_takes(
    asked: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each look at the clock finds it a second later, so that no machine is too fast."""
    seconds = count(0.0, 1.0)
    monkeypatch.setattr("slipstick.limits.thread_time", lambda: next(seconds))
    monkeypatch.setattr("slipstick.limits.ANNOUNCED", 0.02)
    assert main(asked.split()) == 0
    assert "s of processor time" in capsys.readouterr().err


def test_a_program_says_how_long_counting_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--set", "bodies=1e6", "--set", "steps=100"]
    assert main(["counts", "barnes", *sizes, "--limit", "counting=10"]) == 1
    words = (
        "counting barnes takes 25,911 s; the limit is 10: take a smaller size, or allow more with"
        " --limit counting=27000"
    )
    assert words in capsys.readouterr().err


def test_points_that_belong_together_are_within_one_limit() -> None:
    with with_summed_costs() as spent:
        check_cost("states", 10_000, "this", "ask for less", point_count=2)
        with pytest.raises(
            NoAnswerError, match="this, for each of many points; together they are over the limit:"
        ):
            check_cost("states", 12_000, "this", "ask for less")
    assert spent == [pytest.approx(2 / 3), 0.4]
    check_cost("states", 12_000, "this", "ask for less")


@pytest.mark.turns(4)
def test_a_page_leaves_out_a_grid_that_takes_more_than_an_answer_may(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    wanted = ["page", "central-server", "-o", str(page), "--limit"]
    for most, fixed in (("lattice=1e5", True), ("lattice=2e8", False)):
        assert main([*wanted, most]) == 0
        assert ("more than the limits of one answer allow" in page.read_text()) == fixed


def test_a_limit_holds_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["solve", "bolch-8-4", "--with", "markov-chain", "--json"]
    assert main([*asked, "--limit", "states=3"]) == 1
    failed = json.loads(capsys.readouterr().out)["answers"][0]["failed"]
    assert failed.startswith("the chain has more than 3 states")
    assert main(asked) == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sates=3", "--limit sates: sates: unknown key; did you mean 'states'?"),
        ("states=0", "--limit states: states: more than 0; got 0"),
        ("time=3s", "time is a limit of the points of a study; here are states, ticks"),
        ("states", "write NAME=VALUE, such as states=1e6 or time=60s"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(
    given: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "bolch-8-4", "--limit", given]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.turns(4)
def test_a_limit_of_a_study_holds_and_the_command_line_goes_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    for command in (["check", str(study)], ["run", str(study), "--out", str(tmp_path / "out")]):
        assert main(command) == 2
        assert "vary: 6 points; the limit is 4" in capsys.readouterr().err
    assert (
        main(
            ["run", str(study), "--no-html", "--out", str(tmp_path / "out"), "--limit", "points=6"]
        )
        == 0
    )
    assert len(run(study, limits={"points": 10}).sweeps[0]) == 6


def test_a_limit_holds_in_python() -> None:
    axes = sweep({"parameters.work": [0.001] * 3, "population.processors": [1, 2]})
    with pytest.raises(SlipstickError, match="6 points; the limit is 5"):
        solve("lock-and-bus", axes, limits={"points": 5})
    with pytest.raises(UnknownNameError, match="there is no limit 'point'; did you mean 'points'"):
        solve("lock-and-bus", axes, limits={"point": 5})
    with pytest.raises(
        InputError,
        match=r"solve: limits\['points'\] must be a finite number of at least 0, got nan",
    ):
        solve("lock-and-bus", axes, limits={"points": float("nan")})


def test_a_limit_holds_in_the_threads_of_an_engine_and_is_part_of_what_a_point_is_kept_by() -> None:
    (plain,) = keys = [each.key for each in blocks(4)]
    with with_limits({"visits": 0.5}), Engine("threads", 2) as engine:
        assert np.isnan(times(engine.solve(blocks(2, 3)))).all()
        assert [each.key for each in blocks(4)] != keys
    assert blocks(4)[0].key == plain


def test_all_limits_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n{name} " in told for name in LIMITS)
    assert main(["limits", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["limits"]
    assert {name: each["value"] for name, each in values.items()} == {
        name: each.value for name, each in LIMITS.items()
    }


SPEC = (
    "queueing-network: 1\nclasses: {a: {population: 2}}\nstations: {cpu: {service: {a: 10 ms}}}\n"
)
DATA = "p,time [s]\n1,8\n2,5\n"
TRACE = "processor,event,source,destination,time [us]\na,enter,,work,0\na,leave,,work,5\n"
ARRIVALS = (
    "queueing-network: 1\nclasses: {a: {trace: {file: data.csv, of: gaps}}}\nstations: {cpu:"
    " {service: {a: 10 ms}}}\n"
)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("files", "command", "name", "least"),
    [
        ({"a.yaml": SPEC}, ["check", "a.yaml"], "spec_bytes", len(SPEC)),
        ({"a.yaml": SPEC}, ["check", "a.yaml"], "spec_values", 9),
        ({"t.csv": DATA}, ["measured", "t.csv"], "data_bytes", len(DATA)),
        ({"t.csv": DATA}, ["fit", "t.csv"], "data_bytes", len(DATA)),
        ({"t.csv": TRACE}, ["trace", "t.csv"], "trace_bytes", len(TRACE)),
        ({"t.csv": TRACE}, ["measured", "t.csv"], "events", 4),
        (
            {"a.yaml": ARRIVALS, "data.csv": "gap [s]\n1\n2\n"},
            ["check", "a.yaml"],
            "data_bytes",
            12,
        ),
        ({"a.yaml": ARRIVALS, "data.csv": "gap [s]\n1\n2\n"}, ["check", "a.yaml"], "arrivals", 2),
        ({}, ["measured", "-"], "input_bytes", len(DATA)),
    ],
)
def test_readers_refuse_more_than_their_limit_and_read_what_it_allows(
    files: dict[str, str],
    command: list[str],
    name: str,
    least: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(DATA.encode())))
    standard_input.cache_clear()
    assert main([*command, "--limit", f"{name}={least - 1}"]) == 2
    refused = capsys.readouterr().err
    assert f"the limit is {least - 1}" in refused or f"more than {least - 1} " in refused
    assert f"or allow more with --limit {name}=" in refused
    assert main([*command, "--limit", f"{name}={least}"]) in (
        0,
        1,
    ), capsys.readouterr().err  # a fit needs more runs
    standard_input.cache_clear()


def test_a_file_over_its_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.prv").write_text("#Paraver (1):9:1:1\n")
    for read in ("open", "os.open"):
        monkeypatch.setattr(f"builtins.{read}" if read == "open" else read, pytest.fail)
    with (
        with_limits({"trace_bytes": 5}),
        pytest.raises(SpecError, match="19 bytes are too many; the limit is 5"),
    ):
        read_trace(tmp_path / "t.prv")


def test_what_a_packed_trace_unpacks_to_counts(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TRACE.encode() + b"\n" * 100_000))
    with (
        with_limits({"trace_bytes": 5_000}),
        pytest.raises(SpecError, match="more than 5,000 bytes; cut the trace"),
    ):
        read_trace(tmp_path / "t.csv.gz")


def test_a_fork_of_many_different_branches_is_refused_and_one_of_alike_branches_is_not() -> None:
    def forked(stations: int) -> Model:
        branches = (service(f"b{k % stations}", 1.0, name=f"s{k}") for k in range(4))
        return closed_model(fork(*branches) >> delay(9.0, name="think"), 2)

    with (
        with_limits({"branches": 3}),
        pytest.raises(
            NoAnswerError, match="would join 4 branches that use different resources; the"
        ),
    ):
        solve(forked(4), method="mean-value")
    with with_limits({"branches": 3}):
        assert (solve(forked(1), method="mean-value")["time"] or 0) > 9


def test_a_limit_that_is_no_number_is_refused() -> None:
    with (
        pytest.raises(InputError, match="the limit states is a number above 0, not nan"),
        with_limits({"states": float("nan")}),
    ):
        pass
