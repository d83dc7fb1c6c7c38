"""The command that shows traces, and the question of a study that does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick.study.run import prepare, run
from slipstick_measure.commands.measured import VIEWS
from slipstick_measure.questions import traces as traces_module
from slipstick_measure.questions.traces import TracesResult
from tests.measure.traces.test_readers import SAMPLES

ASKING = "statements:\n  s: {says: x, value: '%s', of: [one], about: 1, within: 1}\n"

FILES = Path(__file__).parents[1] / "traces" / "files"


@pytest.mark.turns(4)
@pytest.mark.parametrize("view", VIEWS)
def test_a_simulated_run_is_shown_and_drawn(
    view: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, picture = tmp_path / "run.json", tmp_path / f"{view}.svg"
    assert main(["solve", "lock-and-bus", "--with", "closed-form", "--timeline", str(trace)]) == 0
    capsys.readouterr()
    assert (
        main(["trace", str(trace), "--view", view, "--window", "4 ms", "--picture", str(picture)])
        == 0
    )
    said = capsys.readouterr()
    assert said.err.startswith("wrote ")
    assert len(said.err.splitlines()) == 1
    for part in (
        "where the processors go",
        "Times that an activity was begun, by processor:",
        "By window:",
        "contention: door",
    ):
        assert part in said.out
    assert picture.stat().st_size > 5000


def test_json_holds_every_view_whole(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FILES / "records.csv")
    assert main(["trace", path, "--json", "--window", "25 us", "--machine", "bbn-gp1000"]) == 0
    document = json.loads(capsys.readouterr().out)["traces"][path]
    assert (document["processors"], document["objects"]) == (["0", "1"], ["1", "2", "3"])
    assert document["matrix"] == [[1.0, 0.0, 1.0], [0.0, 7.0, 1.0]]
    assert len(document["edges"]) == 5
    assert document["utilization"][1] == pytest.approx([0.8, 0.6, 1.0, 1.0])
    assert document["contention"]["module"] == [0, 0, 0, 0]
    assert document["answer"]["values"]["remote_accesses"]["value"] == 10.0
    assert document["answer"]["values"]["concurrency"]["value"] == pytest.approx(1.65)


@pytest.mark.turns(4)
def test_pictures_have_the_figures_of_a_matrix_and_say_which_lines_coincide(tmp_path: Path) -> None:
    path = str(FILES / "records.csv")
    for view in ("matrix", "contention"):
        picture = ["--picture", str(tmp_path / f"{view}.svg")]
        assert main(["trace", path, "--machine", "bbn-gp1000", "--view", view, *picture]) == 0
    matrix = (tmp_path / "matrix.svg").read_text()
    assert ">10 accesses, 10 of them to other nodes<" in matrix
    assert matrix.count(">7<") == 1, "of the cells; no number on the axes is 7"
    assert ">stage 2 (covers stage 1)<" in (tmp_path / "contention.svg").read_text()


def test_a_trace_is_measured_and_fitted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for processors in (1, 2, 4):
        rows = "".join(
            f"0,{each},create\n{60 // processors + 5},{each},end\n" for each in range(processors)
        )
        (tmp_path / f"{processors}.csv").write_text(f"time [ms],processor,event\n{rows}")
    files = [str(tmp_path / f"{each}.csv") for each in (1, 2, 4)]
    assert main(["measured", *files, "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [(each["point"]["p"], each["values"]["time"]["value"]) for each in answers] == [
        (1, pytest.approx(0.065)),
        (2, pytest.approx(0.035)),
        (4, pytest.approx(0.020)),
    ]
    assert main(["fit", *files, *files, "--model", "amdahl", "--json"]) == 0
    (fit,) = json.loads(capsys.readouterr().out)["answers"]
    assert fit["values"]["serial"]["value"] == pytest.approx(1 / 13, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--useful", "work"], "there is no activity in the trace 'work'"),
        (["--only", "p9"], "there is no processor in the trace 'p9'"),
        (["--from", "1 s"], "the trace lasts 0.0001 s; there is nothing from 1 s to 0.0001 s"),
        (["--machine", "atm-oc3"], "error: --machine: there is no machine 'atm-oc3'"),
        (["--window", "4 B"], "--window"),
        (
            ["--view", "contention", "--picture", "x.png"],
            "nothing waits in the trace; name --machine",
        ),
        (
            ["--picture", "x.gif"],
            "pictures are drawn into a file that ends in .png or .svg, not into x.gif",
        ),
    ],
)
def test_what_a_trace_cannot_show_is_refused(
    options: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", str(FILES / "records.csv"), *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        (b"time [us],processor,event\n0,\xff,create\n", "byte 0xff near byte 37 is not UTF-8"),
        (b"", "the file is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_for_that(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.csv"
    if content is not None:
        path.write_bytes(content)
    assert main(["trace", str(path)]) == 2
    assert said in capsys.readouterr().err


def study(tmp_path: Path, trace: str, more: str = "") -> str:
    """Write a study of one trace."""
    path = tmp_path / "mine.yaml"
    (tmp_path / "records.csv").write_text((FILES / "records.csv").read_text())
    path.write_text(
        f"study: 1\ntitle: t\nbase: {{model: lock-and-bus}}\ntraces:\n  one: {trace}\n{more}"
    )
    return str(path)


def test_a_study_shows_compares_and_draws_traces(tmp_path: Path) -> None:
    picture = "pictures:\n  - {kind: trace, name: m, title: t, traces: [one], view: matrix}\n"
    statement = "statements:\n  s: {says: x, value: accesses, of: [one], about: 10, within: 0.1}\n"
    prepared = prepare(
        study(tmp_path, "{data: records.csv, machine: bbn-gp1000}", picture + statement)
    )
    results = run(prepared)
    traces = results.questions["traces"]
    assert isinstance(traces, TracesResult)
    assert results.named_answer("one")["accesses"] == 10.0
    assert "1 hit, 0 misses" in results.questions["statements"].text()
    assert "on average 1.65 of them at useful work, at most 2;" in traces.text()
    assert [table.name for table in traces.tables()] == ["trace/one"]
    assert any(
        "Accesses, processors by objects" in part
        for part in traces.parts()
        if isinstance(part, str)
    )


def test_a_case_is_traced(tmp_path: Path) -> None:
    results = run(
        prepare(study(tmp_path, "{case: base, cycles: 2, from: 1 ms, to: 9 ms, window: 2 ms}"))
    )
    assert results.named_answer("one")["time"] == pytest.approx(8e-3)


@pytest.mark.parametrize(
    ("trace", "more", "said"),
    [
        ("{data: x.csv}", "", "there is no file of measurements 'x.csv'; check its name"),
        (
            "{case: base, data: x}",
            "",
            "a trace is read from data, or simulated from a case; give one of the two",
        ),
        ("{case: bas}", "", "there is no case 'bas'"),
        (
            "{case: base, useful: [wrok]}",
            "",
            "traces.one.useful: there is no activity in the trace 'wrok'",
        ),
        ("{case: base, from: 9 s}", "", "traces.one.from: the trace lasts"),
        (
            "{case: base}",
            "pictures:\n  - {kind: trace, name: m, title: t, traces: [two], view: matrix}\n",
            "pictures.0.traces.0: there is no trace 'two'; known: one",
        ),
    ],
)
def test_what_a_study_cannot_trace_is_refused(
    trace: str, more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", study(tmp_path, trace, more)]) == 2
    assert said in capsys.readouterr().err


def test_a_check_knows_the_values_of_a_run_by_their_kind_and_simulates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is between the brackets is looked up before anything is solved, when the study is
    run.
    """

    def asking(value: str) -> str:
        statement = (
            f"statements:\n  s: {{says: x, value: '{value}', of: [one], about: 1 s, within: 1 s}}\n"
        )
        return study(tmp_path, "{case: base}", statement)

    with monkeypatch.context() as patched:
        patched.setattr("slipstick.schema.inputs.BuiltModel.timeline", None)
        assert (
            main(["check", asking("contention[door]")])
            == main(["check", asking("contention[dor]")])
            == 0
        )
    assert main(["check", asking("contentoin[door]")]) == 2
    said = capsys.readouterr().err
    assert "statements.s.value: one, under of, has no value contentoin[door]; did you mean" in said
    with pytest.raises(
        SpecError, match=r"has no value contention\[dor\]; did you mean 'contention\[door\]'"
    ):
        prepare(asking("contention[dor]"))
    prepare(asking("contention[door]"))


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (
            "{data: records.csv, useful: [wrok]}",
            "traces.one.useful: there is no activity in the trace 'wrok'",
        ),
        (
            "{data: records.csv, only: p9}",
            "traces.one.only: there is no processor in the trace 'p9'",
        ),
        (
            "{data: records.csv, from: 1 s}",
            "traces.one.from: the trace lasts 0.0001 s; there is nothing from 1 s to",
        ),
        (
            "{data: records.csv, window: 1 ns}",
            "traces.one.window: 100,000 windows are too many; at most 10,000 are",
        ),
        (
            "{data: named.csv, machine: bbn-gp1000}",
            "traces.one.machine: 'door' is no number of a processor or module",
        ),
        ("{data: cut.csv}", "cut.csv:3:1: 2 values, where the header promises 3; is the line cut?"),
        (
            "{data: late.csv}",
            "late.csv:1:1: time: a time of 1e+15 s is out of range; is its unit right?",
        ),
    ],
)
def test_a_check_finds_what_is_wrong_with_a_trace_and_books_nothing(
    trace: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "slipstick_measure.traces.trace.TraceColumns._book_trace",
        lambda *_: pytest.fail("booked"),
    )
    head = "time [s],processor,event"
    (tmp_path / "named.csv").write_text(
        f"{head},destination\n0,0,create,\n1,0,access,door\n2,0,end,\n"
    )
    (tmp_path / "cut.csv").write_text(f"{head}\n0,0,create\n1,0\n")
    (tmp_path / "late.csv").write_text(f"{head}\n0,0,create\n1e15,0,end\n")
    assert main(["check", study(tmp_path, trace)]) == 2
    assert said in capsys.readouterr().err
    assert main(["check", study(tmp_path, "{data: records.csv}", ASKING % "accesses[0,3]")]) == 0
    assert main(["check", str(FILES / "records.csv")]) == 0


def test_a_value_that_a_part_of_a_trace_lacks_is_refused_before_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check goes by the names in the file; which of them have time in the part only the booked
    trace can tell.
    """
    asked = ASKING % "processors_lost[lock:door]"
    assert (
        main(["check", study(tmp_path, "{data: records.csv}", asked.replace("lock:door", "door"))])
        == 2
    )
    assert (
        "no value processors_lost[door]; did you mean 'processors_lost[lock:door]'"
        in capsys.readouterr().err
    )
    prepare(study(tmp_path, "{data: records.csv, to: 30 us}", asked))
    path = study(tmp_path, "{data: records.csv, to: 10 us}", asked)
    assert main(["check", path]) == 0
    with pytest.raises(
        SpecError, match=r"one, under of, has no value processors_lost\[lock:door\]"
    ):
        prepare(path)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(
    "more", ["", ", to: 1 ms", ", useful: [busy, 'lock:door'], machine: bbn-gp1000"]
)
def test_a_check_knows_all_values_of_a_trace_with_their_units(
    name: str, more: str, tmp_path: Path
) -> None:
    try:
        question = prepare(study(tmp_path, f"{{data: '{FILES / name}'{more}}}")).questions["traces"]
    except SpecError:  # of the samples, only the table of records has modules
        assert "machine" in more
        assert name != "records.csv"
        return
    (names,) = question.answer_names.values()
    assert isinstance(names, traces_module._TraceValueUnits)
    assert dict(names) == names.requested_trace.views.answer.units


def test_a_trace_of_one_processor_has_the_values_of_such_a_run(tmp_path: Path) -> None:
    rows = "0,0,create,\n1,0,enter,lock:a\n2,0,leave,\n60,0,end,\n"
    (tmp_path / "one.csv").write_text(f"time [ms],processor,event,destination\n{rows}")
    asked = (ASKING % "one_processor_time").replace(
        "about: 1, within: 1", "about: 60 ms, within: 1 ms"
    )
    assert run(prepare(study(tmp_path, "{data: one.csv}", asked))).named_answer("one")[
        "speedup"
    ] == pytest.approx(59 / 60)


def test_accesses_to_other_nodes_are_told_apart_where_a_network_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "records.csv"
    path.write_text(
        "time [us],processor,event,destination,count\n0,0,create,,\n0,1,create,,\n"
        "10,0,access,0,10\n10,1,access,0,7\n20,1,access,1,3\n50,0,end,,\n50,1,end,,\n"
    )
    assert main(["trace", str(path), "--machine", "bbn-gp1000"]) == 0
    assert "Accesses, processors by objects; 7 of 20 to other nodes:" in capsys.readouterr().out
