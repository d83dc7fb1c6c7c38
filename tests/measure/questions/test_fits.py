"""Measured runs in a study: accounts, fits, and what-ifs of a fitted base."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from slipstick.cli.main import main
from slipstick.errors import NoAnswerError, SpecError
from slipstick.report.head import head_lines
from slipstick.report.page import report_in_markdown
from slipstick.results.study import Results
from slipstick.results.words import Words
from slipstick.schema.inputs import build, resolve
from slipstick.schema.kinds.study import BarsSpec
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick_measure.questions.fits import FitsResult
from slipstick_measure.questions.measured import MeasuredResult
from slipstick_measure.report.fits import fits_text, main_findings
from slipstick_papers.compare import CompareResult
from slipstick_pictures.pictures import stacked_heights
from slipstick_questions.bottleneck import BottleneckResult
from slipstick_questions.seek import SeekResult
from tests.questions import result_of

MODEL = """activity: 1
parameters: {work: 1 s, serial: 1 s, p: 1}
population: {processors: 1}
cycle:
  - {name: work, delay: work / p}
  - {name: serial, delay: serial, component: serial}
"""
START = "  - {name: start, delay: start, component: start}\n"
STUDY = """study: 1
base: {model: model.yaml, parameters.p: 64}
fits:
  runs:
    data: runs.csv
    free: [parameters.work, parameters.serial=0 s..100 s]
    population: parameters.p
    families: [amdahl]
    at: [64]
cases:
  no-serial: {parameters.serial: 0 s}
"""


def written(folder: Path, study: str = STUDY) -> Path:
    (folder / "model.yaml").write_text(MODEL)
    rows = [f"{p},{time}" for p in (1, 2, 4, 8, 16) for time in (5 + 95 / p, 5.1 + 94 / p)]
    (folder / "runs.csv").write_text("\n".join(["p,time [s]", *rows]) + "\n")
    (folder / "study.yaml").write_text(study)
    return folder / "study.yaml"


def answered(path: Path) -> Results:
    return run(prepare(str(path)))


@pytest.mark.turns(4)
def test_the_base_is_fitted_and_then_asked_cases(tmp_path: Path) -> None:
    path = written(tmp_path)
    prepared = prepare(str(path))
    found = run(prepared)
    assert found.cases["base"]["time"] == pytest.approx(5.05 + 94.5 / 64, rel=0.01)
    assert found.cases["no-serial"]["time"] == pytest.approx(94.5 / 64, rel=0.01)
    fitting = result_of(found, FitsResult).fits["runs"]
    assert {answer.model for answer in fitting.answers} == {"model", "amdahl"}
    built = build(resolve(prepared.cases["base"], prepared.context.library))
    assert built.entries["parameters.serial"].source == "fitted to runs.csv"
    assert sorted(found.hashes) == ["model.yaml", "runs.csv", "study.yaml"]
    text = report_in_markdown(found, prepared.spec, {}, "slipstick run study")
    assert "Fitted to runs.csv." in text
    assert "| parameters.serial |" in text
    assert check_file(path) == "study"


@pytest.mark.parametrize(
    ("heading", "called", "noun"),
    [("cores", "", "core"), ("p", "", "processor"), ("cores", ", called: rank", "rank")],
)
def test_a_head_calls_processors_by_one_noun(
    tmp_path: Path, heading: str, called: str, noun: str
) -> None:
    path = written(tmp_path)
    for name, old, new in (
        ("runs.csv", "p,time", f"{heading},time"),
        ("model.yaml", "processors: 1", f"processors: 1{called}"),
    ):
        file = tmp_path / name
        file.write_text(file.read_text().replace(old, new, 1))
    head = " ".join(head_lines(answered(path), ["time"]))
    assert f"; a {noun} spends " in head
    assert re.search(rf"\b64 {noun}s\b", head)
    other_nouns = {"core", "processor", "rank"} - {noun}
    assert not re.search(rf"\b(?:{'|'.join(other_nouns)})s?\b", head)


@pytest.mark.turns(4)
def test_json_and_tables_have_the_fits_and_the_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = STUDY.replace("cases:", "measured: {runs: {data: runs.csv}}\ncases:")
    assert (
        main(["run", str(written(tmp_path, text)), "--out", str(tmp_path / "out"), "--json"]) == 0
    )
    document = json.loads(capsys.readouterr().out)
    found = document["fits"]["runs"]
    assert found["verdict"].startswith("the data")
    best = found["answers"][0]
    assert len(document["measured"]["runs"]) == 5
    with (tmp_path / "out/fits.csv").open(newline="") as lines:
        rows = {(row["model"], row["value"]): row for row in csv.DictReader(lines)}
    predicted = rows[best["model"], "time[64]"]
    assert (float(predicted["is"]), predicted["unit"]) == (best["values"]["time[64]"]["value"], "s")
    assert float(predicted["low"]) < float(predicted["is"]) < float(predicted["high"])
    with (tmp_path / "out/results.csv").open(newline="") as lines:
        runs = [row for row in csv.DictReader(lines) if row["sweep"] == "measured/runs"]
    assert [row["p [1]"] for row in runs] == ["1.0", "2.0", "4.0", "8.0", "16.0"]
    assert [float(row["speedup [1]"]) for row in runs] == pytest.approx(
        [each["values"]["speedup"]["value"] for each in document["measured"]["runs"]]
    )


@pytest.mark.turns(4)
def test_made_up_timings_are_a_case_with_noise_from_a_seed(tmp_path: Path) -> None:
    made = (
        "made: {case: base, processors: [1, 2, 4, 8, 16], population: parameters.p, cycles: false,"
        " noise: 2%}"
    )
    text = STUDY.replace("data: runs.csv", made).replace(
        "parameters.serial: 0 s", "parameters.serial: 2 s"
    )
    one, other = (
        result_of(answered(written(tmp_path, text)), FitsResult).fits["runs"] for _ in range(2)
    )
    assert one.time == other.time
    assert one.truth == {64.0: pytest.approx((1 / 64 + 1) / 64)}
    assert one.source == "timings made up from base"


@pytest.mark.turns(4)
def test_made_up_timings_vary_by_the_noise_that_is_told(tmp_path: Path) -> None:
    """Logarithms of the ratios to the truth, 1 s / p and 1 s for p cycles, have the standard
    deviation given: of 400 of them it lies within a sixth, 4.7 of its own standard deviations.
    """
    made = (
        "made: {case: base, processors: [1, 4], repetitions: 200, population: parameters.p,"
        " cycles: false, noise: 3%}"
    )
    text = STUDY.replace("data: runs.csv", made)
    timings = result_of(answered(written(tmp_path, text)), FitsResult).fits["runs"].time
    truth = [1 + 1, (1 / 4 + 1) / 4]
    logarithms = [
        math.log(time / min(truth, key=lambda own: abs(own - time))) for time in np.ravel(timings)
    ]
    assert len(logarithms) == 400
    assert np.mean(logarithms) == pytest.approx(0, abs=0.006)
    assert np.std(logarithms) == pytest.approx(0.03, rel=1 / 6)


def test_measured_runs_stand_beside_what_was_printed(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("""study: 1
measured:
  lucier: {data: lucier-1988}
compare:
  - {title: T1, unit: s, columns: [lucier-1, lucier-16],
     rows: [{row: estimate, sum: [one_processor_estimate], printed: [6012, 6176]}]}
""")
    found = answered(path)
    assert [cell.agrees for cell in result_of(found, CompareResult).compared[0].rows[0].cells] == [
        True,
        True,
    ]
    assert found.cases == {}
    assert len(result_of(found, MeasuredResult).measured["lucier"]) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "data: runs.csv",
            "data: run.csv",
            (
                "study.yaml:5:11: data: there is no file of measurements 'run.csv'; did you"
                " mean 'runs.csv'?"
            ),
        ),
        (
            "[amdahl]",
            "[amdal]",
            (
                "study.yaml:8:15: fits.runs.families: there is no family of models 'amdal'; did "
                "you mean"
            ),
        ),
        (
            "[parameters.work,",
            "[parameters.wrk,",
            "study.yaml:6:12: free: model has no number at 'parameters.wrk'",
        ),
        (
            "    data: runs.csv\n",
            "",
            "give a fit either data, or a case that makes up the timings (made)",
        ),
        (
            "data: runs.csv",
            "made: {case: bas, processors: [1]}",
            "fits.runs.made.case: there is no case 'bas'",
        ),
        (
            "    at: [64]",
            "    at: [64]\n    of_size: 7",
            (
                "study.yaml:5:11: fits.runs.data: no run has the size 7; known: none, because no"
                " run has a size"
            ),
        ),
        (
            "    at: [64]",
            "    at: [64]\n    region: door",
            "study.yaml:10:13: fits.runs.region: there is no region",
        ),
        (
            "data: runs.csv",
            "made: {case: base, processors: [1]}\n    region: a",
            "made-up timings have no regions and one size; leave out region and of_size",
        ),
        (
            "cases:",
            "pictures: [{kind: fits, name: a, title: a, fit: rns}]\ncases:",
            "there is no fit 'rns'; did you mean 'runs'?",
        ),
        (
            "base: {model: model.yaml, parameters.p: 64}",
            "measured: {a: {data: runs.csv, region: door}}",
            "study.yaml:2:40: measured.a.region: there is no region",
        ),
        ("  no-serial: {", "  no-serial: {model: model.yaml, ", ""),
        (
            "cases:",
            "  more: {data: runs.csv, free: [parameters.work]}\ncases:",
            "the base is fitted to runs already; a study has one base, so one fit with free paths",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, STUDY.replace(old, new))
    if not message:
        assert check_file(path) == "study"
        return
    with pytest.raises(SpecError) as caught:
        check_file(path)
    assert message in str(caught.value)


@pytest.mark.turns(4)
def test_a_base_that_the_data_do_not_support_is_said_to_be_so(tmp_path: Path) -> None:
    path = written(tmp_path, STUDY.replace("[amdahl]", "[usl]"))
    rows = [
        f"{p},{100 / p * (1 + 0.02 * (p - 1) + 0.01 * p * (p - 1)) * (1 + 0.001 * (p % 3))}"
        for p in (1, 2, 3, 4, 8, 16, 24)
    ]
    (tmp_path / "runs.csv").write_text("\n".join(["p,time [s]", *rows]) + "\n")
    prepared = prepare(str(path))
    results = run(prepared)
    found = result_of(results, FitsResult).fits["runs"]
    assert (found.answers[0].model, found.laid) == ("usl", "model")
    behind = found.answers[1]["behind"]
    words = (
        f"the base, model, is {behind:.1f} behind usl: the data do not support what its cases say"
    )
    assert found.warnings[-1] == words
    text = report_in_markdown(results, prepared.spec, {}, "slipstick run study")
    assert f"- warning: {words}" in text
    assert "| parameters.serial |" in text


def test_free_paths_need_a_base(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        STUDY.replace("base: {model: model.yaml, parameters.p: 64}\n", "").replace(
            "{parameters", "{model: model.yaml, parameters"
        ),
    )
    with pytest.raises(
        SpecError, match="free paths belong to the model of the base; name that model"
    ):
        check_file(path)


def test_data_that_tell_too_little_leave_the_base_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "model.yaml").write_text(
        MODEL.replace("serial: 1 s", "serial: 1 s, start: 1 s") + START
    )
    path.write_text(STUDY.replace("[parameters.work,", "[parameters.start, parameters.work,"))
    rows = [f"{p},{10 / p + 0.1 * again}" for p in (1, 2) for again in range(4)]
    (tmp_path / "runs.csv").write_text("\n".join(["p,time [s]", *rows]))
    with pytest.raises(NoAnswerError, match="the base cannot be fitted to"):
        prepare(str(path))


def test_a_size_that_the_data_do_not_have_is_refused(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        STUDY.replace(
            "population: parameters.p", "population: parameters.p\n    size: parameters.n"
        ),
    )
    (tmp_path / "model.yaml").write_text(
        MODEL.replace("p: 1}", "p: 1, n: 8}").replace("work / p", "work * n / p")
    )
    with pytest.raises(
        NoAnswerError,
        match=r"the data have no sizes, so parameters\.n would be 1; give them a column size",
    ):
        answered(path)


@pytest.mark.turns(4)
def test_a_fit_of_a_study_keeps_the_efficiency_that_it_names(tmp_path: Path) -> None:
    path = written(tmp_path, STUDY.replace("    at: [64]\n", "    at: [64]\n    efficiency: 60%\n"))
    assert (
        "Efficiency is at least 60 % up to "
        in main_findings(result_of(answered(path), FitsResult).fits["runs"])[1]
    )


def test_bars_show_measured_runs_by_cause(tmp_path: Path) -> None:
    (tmp_path / "waits.csv").write_text(
        "p,region,metric,unit,value\n2,,time,s,10\n2,door,wait,s,4\n"
    )
    bars = "{kind: bars, name: bars, title: t, cases: [runs-2], stack: component}"
    path = tmp_path / "study.yaml"
    path.write_text(f"study: 1\nmeasured: {{runs: {{data: waits.csv}}}}\npictures:\n  - {bars}\n")
    prepared = prepare(str(path))
    (picture,) = prepared.spec.pictures
    assert isinstance(picture, BarsSpec)
    assert stacked_heights(run(prepared), picture) == {"runs-2": {"busy": 8.0, "door": 2.0}}
    picture = picture.model_copy(update={"times": 3.0})
    assert stacked_heights(run(prepared), picture) == {"runs-2": {"busy": 24.0, "door": 6.0}}
    path.write_text(path.read_text().replace("[runs-2]", "[runs-4]"))
    with pytest.raises(SpecError, match=r"there is no case 'runs-4'; did you mean 'runs-2'\?"):
        prepare(str(path))


def test_a_study_of_fits_alone_has_their_picture(tmp_path: Path) -> None:
    times = {1: 512.3, 2: 262.1, 4: 137.0, 8: 74.9, 16: 44.6, 32: 30.8}
    rows = "".join(f"{p},{time}\n" for p, time in times.items())
    (tmp_path / "nodes.csv").write_text(f"nodes,time [s]\n{rows}")
    path = written(
        tmp_path, "study: 1\ntitle: t\nfits: {nodes: {data: nodes.csv, families: [usl]}}\n"
    )
    prepared = prepare(str(path))
    assert [picture.kind for picture in prepared.spec.pictures] == ["fits"]
    results = run(prepared)
    (fitting,) = result_of(results, FitsResult).fits.values()
    assert fitting.curves
    assert (
        result_of(results, FitsResult)
        .headline(Words())[0]
        .startswith("by the fit of the universal scalability law, speed-up is largest, ")
    )


@pytest.mark.parametrize(
    ("times", "first"),
    [
        ([100, 52, 29, 31, 12, 17, 14], "No prediction at 96 cores, beyond the rows, as no law"),
        ([100, 52, 29, 17.5, 11.8, 9.1], "On 96 cores: time "),
    ],
    ids=["no law", "a law"],
)
def test_the_number_of_a_title_is_answered_first(
    tmp_path: Path, times: list[float], first: str
) -> None:
    rows = "".join(f"{2**power},{time} s\n" for power, time in enumerate(times))
    (tmp_path / "cores.csv").write_text(f"cores,time\n{rows}")
    title = "title: How long does a step take on 96 cores?"
    path = written(tmp_path, f"study: 1\n{title}\nfits: {{it: {{data: cores.csv, at: [96]}}}}\n")
    results = answered(path)
    head = head_lines(results, results.answer)
    assert head[0].startswith(first)
    assert sum(line.count("no law describes") for line in head) == first.startswith("No")


SOLVER_TIMES = {
    1: (903.3, 911.7, 903.7),
    2: (456.7, 453.3, 457.3),
    4: (239.0, 237.1, 238.8),
    8: (126.4, 126.7, 126.3),
    16: (71.5, 73.7, 73.4),
    24: (56.8, 55.3, 55.3),
}


def solver_study(folder: Path, at: str) -> Path:
    rows = [f"{p},{time}" for p, times in SOLVER_TIMES.items() for time in times]
    (folder / "solver.csv").write_text("\n".join(["nodes,time [s]", *rows]) + "\n")
    title = "How many nodes should I ask for?"
    return written(
        folder, f"study: 1\ntitle: {title}\nfits: {{solver: {{data: solver.csv, at: {at}}}}}\n"
    )


@pytest.mark.turns(4)
def test_a_study_and_the_command_give_the_same_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = run(prepare(str(solver_study(tmp_path, "[32, 48]"))))
    (of_study,) = result_of(results, FitsResult).fits.values()
    assert main(["fit", str(tmp_path / "solver.csv"), "--at", "32,48", "--json"]) == 0
    of_command = json.loads(capsys.readouterr().out)
    assert of_command["warnings"] == list(of_study.warnings)
    for answer, printed in zip(of_study.answers, of_command["answers"], strict=True):
        assert answer.model == printed["model"]
        for name in ("time[32]", "time[48]") if not answer.failed else ():
            value, printed_value = answer.values[name], printed["values"][name]
            assert printed_value["value"] == value.value
            assert printed_value.get("low") == value.low
            assert printed_value.get("high") == value.high
    # A throughput that rises no further takes as long on 48 nodes as on 24.
    slowest = max(SOLVER_TIMES[24])
    assert (of_study.answers[0].values["time[48]"].high or 0.0) > slowest - 1
    assert "throughput that rises no further" in of_study.warnings[-1]


@pytest.mark.turns(6)
def test_a_largest_speedup_is_told_only_if_the_laws_that_describe_the_rows_agree_on_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    results = run(prepare(str(solver_study(tmp_path / "a", "[32, 48]"))))
    (fitting,) = result_of(results, FitsResult).fits.values()
    # By hand: the time of one law rises again beyond 68 nodes, that of the second law does not.
    names = [answer.model for answer in fitting.undistinguished]
    assert names == ["usl", "phase-barrier"]
    usl, barrier = (dict(fitting.answers[k].values) for k in (0, 1))
    s, a, b = (usl[name].value or 0.0 for name in ("single", "contention", "coherency"))
    times = {p: s * (1 + a * (p - 1) + b * p * (p - 1)) / p for p in range(1, 73)}
    assert min(times, key=times.__getitem__) == 68
    assert barrier["largest_speedup_processors"].value == barrier["most_processors"].value
    # So the headline has the interval of the farthest prediction, and names the law.
    low, high = (times_of_48 := usl["time[48]"]).low or 0.0, times_of_48.high or 0.0
    spread = sorted(law["time[48]"].value or 0.0 for law in (usl, barrier))
    assert spread[1] - spread[0] < 0.5 * (high - low)
    first, *_ = result_of(results, FitsResult).headline(Words(title=results.title))
    assert first == (
        "up to 17 nodes (17 to 18), by the fit of the universal scalability law, for an efficiency"
        " of at least 75 % (the level where none is asked for). Beyond 24 nodes, the extrapolation"
        " is uncertain: at 48 nodes, the"
        f" interval is {low:.4g} s to {high:.4g} s, though the laws that describe the rows give"
        f" {spread[0]:.4g} s to {spread[1]:.4g} s"
    )
    report = " ".join(fits_text(fitting).split())
    assert "Speed-up is largest" not in report
    ends = f"({usl['largest_speedup'].low:.3g} to {usl['largest_speedup'].high:.3g})"
    assert f"By this law alone, speed-up is largest, 22.4 {ends}, at 68 nodes" in report
    doubt = result_of(results, FitsResult).doubt(Words(title=results.title))
    assert doubt.startswith("the prediction for 48 nodes is extrapolated to 2 times")
    # Without a prediction, each law has its own largest speed-up.
    (fitting,) = result_of(
        run(prepare(str(solver_study(tmp_path / "b", "[]")))), FitsResult
    ).fits.values()
    assert main_findings(fitting)[1].endswith(
        "Beyond 24 nodes, the laws that describe the rows differ: by usl, speed-up is largest,"
        " 22.4, at 68 nodes; by phase-barrier, speed-up still rises, to 25.9, at 72 nodes."
    )


DEADLINE = """study: 1
title: How many nodes does the program need to end within 8 s?
base: {model: model.yaml, parameters.p: 8}
answer: [time]
fits:
  runs:
    {data: runs.csv, free: [parameters.work, parameters.serial=0 s..100 s],
      population: parameters.p, families: [amdahl], at: [32], efficiency: 60%}
seek:
  deadline: {title: The program ends within 8 s, of: parameters.p, from: 1, to: 64, step: 1,
    where: time <= 8 s}
"""


def deadline_study(folder: Path, slower: float = 1.0) -> list[str]:
    """Return the head of a study of a deadline; the last of its rows may be slower."""
    path = written(folder, DEADLINE)
    model = MODEL.replace("{processors: 1}", "{processors: p, called: node}")
    (folder / "model.yaml").write_text(model)
    random = np.random.default_rng(2026113023)
    rows = [
        f"{p},{(5 + 95 / p) * (slower if p == 16 else 1.0) * math.exp(0.02 * random.normal())}"
        for p in (1, 2, 4, 8, 16)
        for _ in range(3)
    ]
    (folder / "runs.csv").write_text("\n".join(["nodes,time [s]", *rows]) + "\n")
    prepared = prepare(str(path))
    return head_lines(run(prepared), prepared.spec.answer)


@pytest.mark.turns(3)
def test_a_base_with_fitted_values_is_not_called_as_given(tmp_path: Path) -> None:
    """The file has a serial part of 1 s, and the rows one of 5 s."""
    text = " ".join(deadline_study(tmp_path))
    assert "As fitted (8 nodes): time 16." in text, text
    assert "as given" not in text


@pytest.mark.turns(3)
def test_a_deadline_in_the_title_is_answered_first_with_the_range_of_the_fit(
    tmp_path: Path,
) -> None:
    first, *others = deadline_study(tmp_path)
    places = re.fullmatch(
        r"The program ends within 8 s with (\d+) or more nodes \(undecided from (\d+)\); with"
        r" the doubt about its form, the time is (\S+) s to (\S+) s at \1 nodes\.",
        first,
    )
    assert places, first
    high, low, least_time, most_time = map(float, places.groups())
    # The truth, 95 / 3 nodes, lies within; two parameters known to a few percent leave a few nodes.
    assert low <= 32 <= high
    assert 0 < high - low <= 12
    # The fit itself is less sure than its parameters.
    assert least_time < 5 + 95 / high < 8 < most_time
    assert any("fficiency" in line for line in others)


@pytest.mark.turns(3)
def test_a_number_that_a_fit_refuses_is_named_beside_the_farthest_prediction(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, STUDY.replace("at: [64]", "at: [32, 100000]"))
    doubt = result_of(answered(path), FitsResult).doubt(Words())
    assert "the prediction for 32 processors is extrapolated to 2 times" in doubt
    assert "; no prediction at 100000 processors" in doubt
    # The headline has the cause of a number in the title.
    doubt = result_of(answered(path), FitsResult).doubt(Words(title="How fast on 100000 ranks?"))
    assert "no prediction" not in doubt


@pytest.mark.turns(3)
def test_cases_of_a_fitted_base_are_compared_by_the_fitted_values(tmp_path: Path) -> None:
    (line,) = [
        text
        for text in head_lines(answered(written(tmp_path)), ["time"])
        if text.startswith("Compared with")
    ]
    assert line.startswith("Compared with base, by the fitted values alone: ")


@pytest.mark.turns(3)
def test_a_deadline_beyond_rows_that_no_law_describes_says_so(tmp_path: Path) -> None:
    first, *_ = deadline_study(tmp_path, slower=1.6)
    assert first.startswith("The program ends within 8 s: never (")
    assert first.endswith("; no prediction beyond 16 nodes, as no law describes the rows.")


def test_another_amount_in_the_title_leaves_the_order() -> None:
    for title, is_first in (
        ("within 8 s", True),
        ("within 18 s", False),
        ("within 12 ms", False),
    ):
        search = SimpleNamespace(condition="time <= 8 s", of="parameters.n")
        assert SeekResult((search,)).answers_amount_in(title) is is_first  # type: ignore[arg-type]


NUMBERS_OF_NODES = (1, 2, 4, 8, 16, 32, 64)


def goal_study(folder: Path, goal: str, title: str, column: str = "time [s]") -> Path:
    """Write a study of runs whose time is 1200 s / p + 10 s, or whose throughput of p nodes is that
    of cycles with this time, within 1 %, and a goal.
    """
    rows = []
    for p in NUMBERS_OF_NODES:
        for factor in (0.99, 1.0, 1.01):
            time = factor * (1200 / p + 10)
            rows.append(f"{p},{time if 'time' in column else 1e4 / time}")
    (folder / "runs.csv").write_text("\n".join([f"nodes,{column}", *rows]) + "\n")
    study = folder / "study.yaml"
    study.write_text(
        f"study: 1\ntitle: {title}\nfits:\n  runs: {{data: runs.csv, at: [64], {goal}}}\n"
    )
    return study


@pytest.mark.parametrize(
    ("goal", "column", "needed", "words"),
    [
        ("time: 40 s", "time [s]", 40, "a time of at most 40 s needs"),
        ("throughput: 200 /s", "throughput [/s]", 30, "a throughput of at least 200 /s needs"),
    ],
)
def test_the_nodes_for_a_goal_are_those_of_the_law_behind_the_rows(
    tmp_path: Path, goal: str, column: str, needed: int, words: str
) -> None:
    # 1200 / 40 + 10 = 40, and 1e4 / (1200 / 30 + 10) = 200.
    study = goal_study(tmp_path, goal, "How many nodes are needed?", column)
    results = run(prepare(str(study)))
    fit = result_of(results, FitsResult).fits["runs"]
    count = fit.answers[0].values["needed_processors"]
    assert count.value is not None
    assert count.low is not None
    assert count.high is not None
    assert count.low <= needed <= count.high <= 1.1 * needed
    assert abs(count.value - needed) <= 1
    first_line = head_lines(results, [])[0]
    assert f"{words} {count.value:g} nodes" in first_line
    assert "efficiency" not in first_line
    (measured,) = [line for line in main_findings(fit) if line.startswith("Measured: a t")]
    next_count = next(p for p in NUMBERS_OF_NODES if p >= needed)
    assert f"is kept on {next_count} nodes" in measured
    assert f"is not kept on {next_count // 2} nodes" in measured


@pytest.mark.parametrize(
    ("goal", "column", "option"),
    [
        ("time: 40 s", "time [s]", ("--longest-time", "40 s")),
        ("throughput: 200 /s", "throughput [/s]", ("--least-throughput", "200 /s")),
    ],
)
def test_the_command_has_the_goals_and_the_sentences_of_the_question(
    tmp_path: Path,
    goal: str,
    column: str,
    option: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = run(prepare(str(goal_study(tmp_path, goal, "How many nodes are needed?", column))))
    sentences = main_findings(result_of(results, FitsResult).fits["runs"])
    data = str(tmp_path / "runs.csv")
    assert main(["fit", data, "--at", "64", *option]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    sentences_on_goal = [sentence for sentence in sentences if option[1] in sentence]
    assert " needs " in " ".join(sentences_on_goal)
    for sentence in sentences_on_goal:
        assert sentence in printed
    # A goal that the data cannot have names the option that they can have.
    names = {"--longest-time": "3 s", "--least-throughput": "3 /s"}
    del names[option[0]]
    ((wrong_option, value),) = names.items()
    assert main(["fit", data, wrong_option, value]) == 2
    assert f"error: {wrong_option}: the data have " in (error := capsys.readouterr().err)
    assert f"write {option[0]}" in error


def test_a_goal_beyond_the_least_time_is_not_reached(tmp_path: Path) -> None:
    results = run(prepare(str(goal_study(tmp_path, "time: 2 s", "How many nodes are needed?"))))
    assert "a time of at most 2 s is not reached up to" in head_lines(results, [])[0]


@pytest.mark.parametrize(("limit", "verdict"), [("40 s", "Yes"), ("20 s", "No")])
def test_a_title_on_a_goal_has_a_verdict(tmp_path: Path, limit: str, verdict: str) -> None:
    title = f"Do 64 nodes finish within {limit}?"
    results = run(prepare(str(goal_study(tmp_path, f"time: {limit}", title))))
    assert head_lines(results, [])[0].startswith(f"{verdict}, on 64 nodes: time 28.")


@pytest.mark.parametrize(
    ("goal", "column", "problem"),
    [
        ("time: 40 s", "throughput [/s]", "the data have throughputs in /s, and no times"),
        ("throughput: 9 /s", "time [s]", "the data have times, and no throughputs"),
        ("throughput: 9 GB/s", "throughput [/s]", "with the unit of the data, such as 10 /s"),
        ("throughput: 0 /s", "throughput [/s]", "write a number above 0"),
    ],
)
def test_a_goal_that_the_data_cannot_have_is_refused(
    tmp_path: Path, goal: str, column: str, problem: str
) -> None:
    with pytest.raises(SpecError, match=re.escape(problem)):
        prepare(str(goal_study(tmp_path, goal, "How many?", column)))


def test_the_number_that_a_title_asks_for_stands_first_and_a_further_gain_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    title = "On how many nodes does it end within 40 s, and is it still faster on 128?"
    study = goal_study(tmp_path, "time: 40 s, families: [amdahl]", title)
    study.write_text(study.read_text().replace("at: [64]", "at: [128]"))
    results = run(prepare(str(study)))
    first, second, *_ = result_of(results, FitsResult).headline(results.words)
    assert "a time of at most 40 s needs 40 nodes" in first
    # 1200 s / p + 10 s on the most measured and on 128.
    factor = (1200 / max(NUMBERS_OF_NODES) + 10) / (1200 / 128 + 10)
    number = re.search(r"on 128 nodes the program is ([\d.]+)", second)
    assert number
    assert float(number[1]) == pytest.approx(factor, rel=0.02)
    assert f"times as fast as on {max(NUMBERS_OF_NODES)}" in second


@pytest.mark.parametrize(
    ("limit", "column", "advice"),
    [
        ("150 s", "time [s]", "write time: 150 s in the fit"),
        ("30 /s", "throughput [/s]", "the fit takes it from the title, as throughput: 30 /s"),
        ("60 %", "time [s]", "write efficiency: 60 % in the fit"),
        ("64 nodes", "time [s]", ""),
    ],
)
def test_a_limit_of_the_title_that_no_key_has_is_told_by_check_and_run(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    column: str,
    advice: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    title = f"How many nodes are needed for at least {limit}?"
    study = goal_study(tmp_path, "families: [amdahl]", title, column)
    assert main(["check", study.name]) == 0
    told_by_check = capsys.readouterr().err
    assert main(["run", study.name, "--no-html"]) == 0
    told_by_run = capsys.readouterr().err
    for told in (told_by_check, told_by_run):
        assert (f"stands nowhere else in the study: {advice}" in told) == bool(advice)
        assert told.count("stands nowhere") == bool(advice)
    key = advice.partition("write ")[2].partition(" in ")[0]
    key = key or advice.partition(", as ")[2]
    if key:
        # A share may be written as a number.
        for key_as_written in (key, key.replace("60 %", "0.6")):
            study = goal_study(tmp_path, key_as_written, title, column)
            assert main(["check", study.name]) == 0
            assert "stands nowhere" not in capsys.readouterr().err


@pytest.mark.turns(8)
def test_a_limit_by_fitted_values_has_the_interval_and_the_threshold_of_the_fit() -> None:
    results = run(prepare("lock-diagnosis"))
    fit = result_of(results, FitsResult).fits["throughput"]
    (limit,) = result_of(results, BottleneckResult).bottleneck
    best = fit.answers[0]
    speedup, time = best.values["largest_speedup"], best.values["time[64]"]
    assert limit.ends_of_limit is not None
    assert speedup.value
    assert time.low
    largest_rate = 1.0 / float(limit.largest_demand[-1])
    # The highest end of the limit is that of the prediction for 64 threads.
    assert limit.ends_of_limit[1] * largest_rate == pytest.approx(64 / time.low, rel=0.01)
    assert limit.near_limit == best["level_processors"]
    (first_line, *_) = head_lines(results, [])
    assert re.search(r"\d /s \([\d.]+ /s to [\d.]+ /s by the fit\)", first_line)
    assert f"95 % of it is reached from about {limit.near_limit:g} threads on" in first_line


_OWN_MODEL = """\
activity: 1
parameters: {p: 8, shared: 900 s, serial: 2 s}
population: {processors: p}
cycle:
  - {name: work, delay: shared / p, component: busy}
  - {name: once, delay: serial, component: serial}
useful: [busy]
"""


@pytest.mark.turns(3)
@pytest.mark.parametrize("has_own_model", [False, True])
def test_a_title_that_asks_for_the_fastest_or_compares_two_is_answered_by_the_fit(
    tmp_path: Path, has_own_model: bool
) -> None:
    """No efficiency that nobody asked for; the intervals of the fit decide, not its values."""
    solver_study(tmp_path, "[48]")
    if has_own_model:
        (tmp_path / "own.yaml").write_text(_OWN_MODEL)
        study = (
            "study: 1\ntitle: Do 48 nodes finish sooner than 24?\n"
            "base: {title: 24 nodes, model: own.yaml, parameters.p: 24}\n"
            "cases: {more: {title: 48 nodes, parameters.p: 48}}\n"
            "fits: {it: {data: solver.csv, at: [24, 48], free: [parameters.shared,"
            " parameters.serial], population: parameters.p}}\n"
            "statements: {sooner: {value: time, of: [more], below: [base],"
            " says: 48 nodes finish sooner than 24}}\n"
        )
    else:
        # 240 s / p + 4 s + 50 ms * p is least on 69 nodes.
        rows = [f"{p},{240 / p + 4 + 0.05 * p}" for p in (1, 2, 4, 8, 16, 32, 64, 96)]
        (tmp_path / "solver.csv").write_text("\n".join(["nodes,time [s]", *rows]) + "\n")
        study = (
            "study: 1\ntitle: On how many nodes does it finish soonest?\n"
            "fits: {it: {data: solver.csv, at: [48]}}\n"
        )
    results = answered(written(tmp_path, study))
    first, *_ = head_lines(results, results.answer)
    if has_own_model:
        assert re.match(
            r"Yes: on 48 nodes the program is [\d.]+ \([\d.]+ to [\d.]+\) times", first
        ), first
    else:
        assert "efficiency" not in first
        assert re.match(
            r"On (68|69|70) nodes \(\d+ to \d+\), by the fit of the universal scalability law:"
            r" least time 10.93 s, speed-up 22.3",
            first,
        )


def test_a_title_that_a_fit_leaves_open_leads_to_its_limits_which_answer_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The time on 64 processors is about 5 s and 95 s / 64, and its interval ends below 12 s."""
    note = (
        "write a limit as time, throughput or efficiency of the fit, and ask for it in the title,"
        " such as at most 5 s on 64 processors"
    )
    fit = "fits:\n  runs: {data: runs.csv, families: [amdahl], at: [64]"
    for title, limit, is_open in (
        ("Is it too slow on 64 processors?", "", True),
        ("Does it take at most 12 s on 64 processors?", ", time: 12 s", False),
    ):
        path = written(tmp_path, f"study: 1\ntitle: {title}\n{fit}{limit}}}\n")
        # Only the solved study tells what a fit answers.
        assert main(["check", str(path)]) == 0
        assert "nothing in the study answers it" not in capsys.readouterr().out
        assert main(["run", str(path), "--no-html", "--out", str(tmp_path / "out")]) == 0
        assert (note in capsys.readouterr().err) == is_open
        head = head_lines(answered(path), [])
        assert head[0].startswith("Yes, on 64 processors:") != is_open
