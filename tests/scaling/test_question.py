"""Scaling in a study: the shipped example beside the models solved one by one, and what is
refused.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slipstick.answer import Verdict
from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick.method import second_road
from slipstick.method.answers import Solution
from slipstick.schema.inputs import solve_settings
from slipstick.schema.library import Library
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick.vocabulary import AGREED, REPLACED
from slipstick_scaling.question import ScaleResult, Scaling
from tests.questions import result_of, whole_report
from tests.specs import activity, settings

HEAD = """\
parameters: {items: 4096, processors: 4, step: 1 us, start: 20 us}
population: {processors: processors}
"""
ITEMS = (
    "{name: add, delay: items / processors * step, component: busy}",
    "{name: send, delay: log2(processors) * start + processors * step, component: send}",
)
COUNT = np.array([2.0, 4.0, 16.0, 64.0])
SCALE = """\
study: 1
base: {model: model.yaml}
cases: {other: {parameters.step: 2 us}}
scale:
  processors: {parameters.processors: [2, 4, 16, 64]}
  size: {parameters.items: 1}
  ways: [fixed-size, time-bound, efficiency-conserved, memory-bound]
  time: 1 ms
  efficiency: 70%
  memory: {used: parameters.items * 8 B / parameters.processors, most: 4 KiB}
  threshold: 60%
pictures:
  - {name: bands, kind: bands, title: What the processors do}
  - {name: growth, kind: growth, title: Work that keeps the efficiency}
"""

LAW = """\
study: 1
base: {model: law/amdahl-time, processors: 1, parallel: 8 s, serial: 2 s}
scale:
  processors: {processors: [2, 4, 16, 64]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(activity(*ITEMS, head=HEAD))
    return tmp_path


def scaling(text: str = SCALE) -> Scaling:
    Path("study.yaml").write_text(text)
    (found,) = result_of(run(prepare("study.yaml")), ScaleResult).scalings
    return found


def alone(processors: float, items: float) -> dict[str, float | None]:
    given = settings(
        model="model.yaml",
        parameters__processors=f"{processors:g}",
        parameters__items=repr(float(items)),
    )
    (answer,), _ = solve_settings(given, Library())
    return {"time": answer["time"], "efficiency": answer["efficiency"]}


@pytest.mark.turns(4)
def test_each_size_gives_what_it_is_to_keep_when_solved_alone(folder: Path) -> None:
    found = scaling()
    goals = {"time-bound": ("time", 1e-3), "efficiency-conserved": ("efficiency", 0.7)}
    for way, (name, goal) in goals.items():
        for count, items in zip(COUNT, found.ways[way]["parameters.items"], strict=True):
            assert alone(count, items)[name] == pytest.approx(goal, rel=1e-9)
    assert found.ways["memory-bound"]["parameters.items"] == pytest.approx(512 * COUNT, rel=1e-9)
    assert found.ways["fixed-size"]["parameters.items"].tolist() == [4096.0] * 4


@pytest.mark.turns(8)
def test_the_fastest_number_is_the_one_that_solving_all_finds(folder: Path) -> None:
    found = scaling()
    times = {count: alone(count, 4096)["time"] or 0.0 for count in range(2, 65)}
    assert found.fastest.processors == min(times, key=times.__getitem__)
    assert found.fastest.value.value == pytest.approx(min(times.values()))
    assert not found.fastest.at_the_end
    above = [count for count in times if (alone(count, 4096)["efficiency"] or 0.0) >= 0.6]
    assert (found.largest.processors, found.largest.at_the_end) == (max(above), False)


@pytest.mark.turns(4)
def test_accounts_add_up_to_the_time_and_latency_is_what_is_not_useful(folder: Path) -> None:
    for each in scaling().ways.values():
        assert each["account[busy]"] + each["account[send]"] == pytest.approx(each["time"])
        assert each["latency"] == pytest.approx(each["account[send]"])


@pytest.mark.turns(4)
def test_the_symbols_say_the_order_and_what_decides_it(folder: Path) -> None:
    growth = scaling().growth
    assert growth is not None
    assert growth.work == "items*step"
    assert (growth.order, growth.limit) == ("processors**2", "")
    assert {term.text: term.order for term in growth.terms} == {
        "processors*start*log(processors)/log(2)": "processors*log(processors)",
        "processors**2*step": "processors**2",
    }
    since = {term.text: term.since for term in growth.terms}
    # start log2(N) = step N at N = 143.9...
    place = since["processors**2*step"]
    assert place is not None
    assert 20 * np.log2(place) == pytest.approx(place)
    assert growth.exact.startswith("K*(")


def test_a_law_scales_against_one_processor(folder: Path) -> None:
    text = (
        LAW + "  against: one-processor\n  size: {parallel: 1}\n  ways: [time-bound,"
        " efficiency-conserved]\n"
    )
    text += "  time: 3 s\n  efficiency: 70%\n"
    found = scaling(text)
    assert found.ways["time-bound"]["parallel"] == pytest.approx(COUNT)
    # E = (s + p) / (N s + p) = 0.7
    expected = (0.7 * COUNT - 1) * 2 / 0.3
    assert found.ways["efficiency-conserved"]["parallel"] == pytest.approx(expected)
    assert found.growth is not None
    assert found.growth.order == "processors"


@pytest.mark.turns(4)
def test_what_no_size_keeps_says_what_there_is(folder: Path) -> None:
    found = scaling(SCALE.replace("time: 1 ms", "time: 100 us").replace("most: 4 KiB", "most: 1 B"))
    # 64 processors exchange for 184 us.
    assert found.ways["time-bound"].failed == {
        3: "no size within a factor of 2^64 keeps 0.0001 s; the case's own gives 0.000248"
    }
    assert np.isnan(found.ways["time-bound"]["time"][3])
    assert np.isfinite(found.ways["time-bound"]["time"][:3]).all()


@pytest.mark.turns(4)
def test_other_methods_have_no_symbols_but_sizes(folder: Path) -> None:
    found = scaling(SCALE.replace("base: {", "base: {method: mean-value, "))
    assert set(found.ways["fixed-size"].provenance.methods) == {"mean-value"}
    assert (found.growth, found.no_growth) == (None, "only a closed form has one")
    closed = scaling()
    for way, each in found.ways.items():
        # Nobody waits for anything, so both are right.
        assert each["parameters.items"] == pytest.approx(
            closed.ways[way]["parameters.items"], rel=1e-8
        )


@pytest.mark.turns(4)
def test_a_published_cell_is_held_against_that_of_the_matrix(folder: Path) -> None:
    cell = (
        "  threshold: 60%\n  printed: [{from: 4, to: 64, scalability: {time-bound: 0.5,"
        " memory-bound: 0.25}}]"
    )
    found = scaling(SCALE.replace("  threshold: 60%", cell))
    assert [(each.way, each.printed, each.computed) for each in found.printed] == [
        ("time-bound", 0.5, found.matrix["time-bound"][1, 3]),
        ("memory-bound", 0.25, found.matrix["memory-bound"][1, 3]),
    ]


@pytest.mark.turns(4)
def test_a_statement_may_be_about_a_cell_of_the_matrix(folder: Path) -> None:
    cell = (
        'statements:\n  s: {says: so, value: "scalability[time-bound]", of: [base-4-to-64], to: 1,'
        " missed: '{base-4-to-64 scalability[memory-bound]}'}\n"
    )
    Path("study.yaml").write_text(SCALE + cell)
    results = run(prepare("study.yaml"))
    scale = results.questions["scale"]
    assert isinstance(scale, ScaleResult)
    answers = scale.named_answers()
    assert len(answers) == 6, "pairs of four numbers of processors"
    value = answers["base-4-to-64"].values["scalability[time-bound]"].value
    assert value == scale.scalings[0].matrix["time-bound"][1, 3]
    (row,) = results.questions["statements"].files()["statements.csv"]
    assert (row["verdict"], row["computed"][:12]) == ("hit", "base-4-to-64")


@pytest.mark.turns(4)
def test_json_and_the_table_have_the_same_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study.yaml").write_text(SCALE)
    assert main(["run", "study.yaml", "--out", "out", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["scalings"]
    with Path("out/results.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["sweep"] == "scale/time-bound"]
    sizes = found["ways"]["time-bound"]["columns"]["parameters.items"]
    assert [float(row["parameters.items [1]"]) for row in rows] == sizes
    assert [float(row["time [s]"]) for row in rows] == pytest.approx([1e-3] * 4)
    assert float(rows[3]["scalability[4] [1]"]) == found["matrix"]["time-bound"][1][3]
    assert rows[1]["scalability[4] [1]"] == ""


@pytest.mark.turns(6)
def test_the_classical_programs_grow_as_published() -> None:
    """Grama, Gupta and Kumar, 1993; Gupta and Kumar, 1993: from the shipped activities, at 50 %."""
    found = {
        each.case: each for each in result_of(run(prepare("isoefficiency")), ScaleResult).scalings
    }
    orders = {case: each.growth.order for case, each in found.items() if each.growth is not None}
    assert orders == {
        "base": "processors*log(processors)",
        "fft-hypercube": "processors**2*log(processors)",  # K t_w / t_c = 2
        "fft-mesh": "sqrt(processors)*exp(2*sqrt(processors)*log(2))",
        "cannon": "processors**(3/2)",
    }
    kept = found["base"].ways["efficiency-conserved"]["parameters.n"]
    # n t_c = N (t_s + t_c) log2 N
    numbers = found["base"].ways["efficiency-conserved"][found["base"].path]
    assert kept == pytest.approx(numbers * 13.5 * np.log2(numbers))
    cannon = found["cannon"].ways["efficiency-conserved"]["parameters.n"]
    assert cannon / cannon[0] == pytest.approx(
        np.sqrt(found["cannon"].ways["efficiency-conserved"][found["cannon"].path] / 4)
    )
    mesh = found["fft-mesh"].ways["efficiency-conserved"]["parameters.n"]
    # Words alone ask for log2 n = 2 sqrt(N).
    assert mesh[-1] == pytest.approx(2**32, rel=1e-3)


@pytest.mark.turns(4)
def test_the_command_line_says_it_in_a_few_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study.yaml").write_text(SCALE)
    assert main(["run", "study.yaml", "--out", "here", "--all"]) == 0
    printed = capsys.readouterr().out
    assert "base: At a fixed size it is fastest on " in printed
    assert "base: To keep 70 % the work must grow as processors**2" in printed
    page = whole_report()
    for way in ("time-bound", "efficiency-conserved", "memory-bound"):
        assert f"#### Matrix of scalability: {way}" in page
    assert Path("here/bands.png").is_file()
    assert Path("here/growth.png").is_file()


WRONG = [
    (
        "{parameters.items: 1}",
        "{parameters.itens: 1}",
        "base has no quantity 'parameters.itens' that can grow; did you mean 'parameters.items'?",
    ),
    (
        "{parameters.items: 1}",
        "{parameters.items: 0}",
        "parameters.items does not grow with a power of 0; leave it out",
    ),
    ("[2, 4, 16, 64]", "[2, 16, 4]", "scale.processors: the numbers of processors must rise"),
    (
        "{parameters.processors: [2, 4, 16, 64]}",
        "{method: [closed-form, mean-value]}",
        "give numbers of processors, got closed-form",
    ),
    ("  time: 1 ms\n", "", "scale.ways.1: time-bound needs time: what is to be kept"),
    ("  size: {parameters.items: 1}\n", "", "scale.ways.1: time-bound needs size: what is to grow"),
    (
        "used: parameters.items * 8 B",
        "used: 4096 * 8 B",
        "does not depend on parameters.items, so no size fills the memory",
    ),
    (
        "used: parameters.items * 8 B",
        "used: items * 8 B",
        "scale.memory.used: there is no name 'items'",
    ),
    (
        "used: parameters.items * 8 B / parameters.processors",
        "used: parameters.items",
        "gives a [1], but a [B] is wanted",
    ),
    (
        "title: What the processors do",
        "title: x, case: other",
        "scale has no case 'other', so there is nothing to draw",
    ),
    (
        "[fixed-size, time-bound, efficiency-conserved, memory-bound]",
        "[fixed-size, time-bound, memory-bound]",
        "scale has no way 'efficiency-conserved', so there is nothing to draw",
    ),
    (
        "  threshold: 60%",
        "  cases: [bass]",
        "scale.cases.0: there is no case 'bass'; did you mean 'base'?",
    ),
    (
        "  threshold: 60%",
        "  printed: [{from: 2, to: 8, scalability: {time-bound: 0.5}}]",
        "scale.printed.0.to: the cell from 2 to 8 processors is not in the matrix; list 8 as well",
    ),
    (
        "ways: [fixed-size, time-bound, efficiency-conserved, memory-bound]",
        "ways: [time-bound]\n  printed: [{from: 2, to: 4, scalability: {memory-bound: 0.5}}]",
        "memory-bound is none of the ways that are asked for",
    ),
    (
        "base: {model: model.yaml}",
        "base: {model: model.yaml, parameters.items: 0}",
        "parameters.items is 0, and no factor makes it grow; give it a value above 0",
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in SCALE
    Path("study.yaml").write_text(SCALE.replace(old, new))
    for reading in (lambda: check_file(Path("study.yaml")), lambda: prepare("study.yaml")):
        with pytest.raises(SpecError) as caught:
            reading()
        assert words in str(caught.value)


def test_the_path_of_the_processors_gives_their_number(folder: Path) -> None:
    Path("model.yaml").write_text(
        activity(
            *ITEMS, head=HEAD.replace("{processors: processors}", "{processors: 3 * processors}")
        )
    )
    with pytest.raises(SpecError) as caught:
        scaling(SCALE)
    assert (
        "base has 6 processors where parameters.processors is 2; name a path that is their number"
        in str(caught.value)
    )


def test_a_law_does_not_say_what_is_useful(folder: Path) -> None:
    with pytest.raises(SpecError) as caught:
        scaling(LAW)
    assert "base is a law, which does not say what is useful; write against: one-processor" in str(
        caught.value
    )


def test_what_is_built_anew_needs_one_processor_to_be_listed(folder: Path) -> None:
    text = (
        "study: 1\nbase: {model: dvsm/diff-request, machine: rs6000-43p-atm, workload:"
        " diff-request}\nscale: {processors: {method: [1]}, against: one-processor}\n"
    )
    shapes = text.replace("method: [1]", "machine.processors.count: [2, 4, 8]")
    with pytest.raises(SpecError) as caught:
        scaling(shapes)
    assert (
        "is built anew for each number of processors, so list 1 as well, with which the others"
        " are compared"
    ) in str(caught.value)


def test_every_method_that_answers_is_named(folder: Path) -> None:
    text = (
        "study: 1\nbase: {model: lock-and-bus}\nscale: {processors: {population.processors: [1,"
        " 4]}}\n"
    )
    assert scaling(text).ways["fixed-size"].provenance.methods == ["closed-form", "mean-value"]


@pytest.mark.turns(4)
def test_an_efficiency_that_falls_between_two_numbers_is_told(folder: Path) -> None:
    """Processors that do not divide the work into fours wait for those that have more."""
    idle = (
        "{name: idle, delay: (4 * ceil(processors / 4) - processors) * 20 * start, component: idle}"
    )
    work = "{name: add, delay: items / processors * step, component: busy}"
    Path("model.yaml").write_text(activity(work, idle, head=HEAD))
    largest = scaling(SCALE.replace("[2, 4, 16, 64]", "[2, 4, 8, 16]")).largest

    def efficient(count: float) -> bool:
        return (alone(count, 4096)["efficiency"] or 0.0) >= 0.6

    counts = np.arange(2.0, 17.0).tolist()
    assert largest.processors == max(filter(efficient, counts))
    missing = [n for n in counts if n < largest.processors and not efficient(n)]
    assert list(largest.missing) == missing
    assert largest.doubt.startswith(f", but not on {missing[0]:g}, ")


CROWDED = """\
activity: 1
parameters: {all: 64 ms, each: 3 ms, processors: 4}
population: {processors: processors}
resources: {bus: {servers: 1}}
cycle:
- {name: work, delay: all / processors, scv: 1}
- {name: send, service: bus, time: each, scv: 1}
"""
LISTED = """\
study: 1
base: {{model: crowded.yaml, method: {method}}}
scale:
  processors: {{parameters.processors: {numbers}}}
  threshold: 40%
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", ["mean-value", "markov-chain"])
@pytest.mark.parametrize("numbers", [[1, 3, 12], [3, 5, 6], [2, 3, 4]])
def test_what_stands_out_is_said_of_the_numbers_that_were_solved(
    folder: Path, method: str, numbers: list[int]
) -> None:
    """Each sentence is held against a run on every number that it is said of."""
    Path("crowded.yaml").write_text(CROWDED)
    found = scaling(LISTED.format(method=method, numbers=numbers))
    between = list(range(numbers[0], numbers[-1] + 1))
    said_of = numbers if found.fastest.examined else between
    assert found.fastest.examined in ((), tuple(map(float, numbers)))
    columns = {}
    for number in said_of:
        given = settings(model="crowded.yaml", method=method, parameters__processors=f"{number}")
        (answer,), _ = solve_settings(given, Library())
        columns[number] = answer["time"] or 0.0, answer["efficiency"] or 0.0
    fastest = min(columns, key=lambda number: columns[number][0])
    efficient = [number for number in columns if columns[number][1] >= 0.4]
    assert (found.fastest.processors, found.largest.processors) == (
        fastest,
        max(efficient, default=None),
    )
    first, second = result_sentences(found)
    assert (", the smallest number examined" in first) == (fastest == numbers[0] > 1)
    listed = f" (of {', '.join(map(str, numbers))})"
    assert (listed in first) == bool(found.fastest.examined)
    assert (listed in second) == bool(found.largest.examined)


def result_sentences(found: Scaling) -> list[str]:
    return ScaleResult(scalings=(found,)).sentences()[:2]


def test_more_servers_for_requests_are_no_more_requests(folder: Path) -> None:
    Path("model.yaml").write_text(
        activity(
            "{name: serve, service: cpu, time: 1 s, scv: 1}",
            head="parameters: {arrive: 3 /s, servers: 4}\npopulation: {arrivals: arrive}\n"
            "resources: {cpu: {servers: servers}}\n",
        )
    )
    text = """\
study: 1
base: {model: model.yaml, method: mean-value}
scale:
  processors: {parameters.servers: [4, 8]}
  size: {parameters.arrive: 1}
  ways: [fixed-size, time-bound]
  time: 1000 s
"""
    Path("study.yaml").write_text(text)
    result = result_of(run(prepare("study.yaml")), ScaleResult)
    assert result.sentences() == [
        (
            "base: At a fixed size it is fastest on 8 processors, the largest number examined (of"
            " 4, 8): 1.003 s"
        ),
        "base: At a fixed size its efficiency is not defined",
    ]
    assert "its efficiency is not defined" in result.headline(result.words)[0]
    # M/M/c just before saturation: the wait is nearly 1 / (c - arrivals).
    arrivals = result.scalings[0].ways["time-bound"]["parameters.arrive"]
    assert 1 / (np.array([4.0, 8.0]) - arrivals) == pytest.approx([1000.0] * 2, rel=0.01)


def test_a_case_without_answers_is_not_said_to_have_no_defined_efficiency(folder: Path) -> None:
    Path("model.yaml").write_text(
        activity(
            "{name: serve, delay: 1 s}",
            head="parameters: {count: 4}\npopulation: {processors: count}\n"
            "requires: {few: {that: count <= 4}}\n",
        )
    )
    Path("study.yaml").write_text(
        "study: 1\nbase: {model: model.yaml}\n"
        "scale: {processors: {parameters.count: [8, 16]}, size: {parameters.count: 1},"
        " ways: [fixed-size]}\n"
    )
    result = result_of(run(prepare("study.yaml")), ScaleResult)
    reason = "it has no efficiency, because no number of processors has an answer"
    assert result.sentences()[1] == f"base: At a fixed size {reason}"
    assert reason in result.headline(result.words)[0]


@pytest.mark.turns(4)
def test_a_search_by_simulation_says_that_not_all_sizes_were_tried(folder: Path) -> None:
    found = scaling(
        SCALE.partition("pictures")[0]
        .replace("base: {", "base: {method: simulation, ")
        .replace("time: 1 ms", "time: 1 us")
        .replace("[2, 4, 16, 64]", "[4, 64]")
        .replace(", efficiency-conserved, memory-bound", "")
        .replace("  efficiency: 70%\n", "")
    )
    assert (
        found.ways["time-bound"]
        .failed[0]
        .startswith("no size within a factor of 2^64, of those that were tried, keeps 1e-06 s")
    )


QUEUED = """\
activity: 1
population: {processors: 8}
useful: [busy]
resources: {bus: {}}
cycle:
- {name: work, delay: 90 ms, scv: 1}
- {name: ask, service: bus, time: 10 ms, scv: 0.5, component: io}
"""
LOOKED_AT = """\
study: 1
base: {model: queued.yaml, simulation.check: again}
scale:
  processors: {population.processors: [2, 8, 24]}
  size: {cycle.work.delay: 1}
  ways: [efficiency-conserved]
  efficiency: 80%
"""


@pytest.mark.turns(8)
@pytest.mark.parametrize("verdict", [AGREED, REPLACED])
def test_trial_sizes_are_looked_at_only_where_a_look_rejects_an_answer(
    verdict: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("queued.yaml").write_text(QUEUED)
    looks: list[int] = []

    def look(subject: object, values: object, solution: Solution, *_: object) -> Solution:
        looks.append(solution.count)
        return replace(solution, checks={0: Verdict(verdict)})

    monkeypatch.setattr(second_road, "check_solution", look)
    found = scaling(LOOKED_AT)
    assert found.ways["efficiency-conserved"]["efficiency"] == pytest.approx(0.8)
    # The fixed size on all numbers, the sizes that were found, and the case itself.
    assert (len(looks) <= 4) == (verdict == AGREED)


def test_cells_at_many_points_are_those_of_studies_with_these_values(folder: Path) -> None:
    Path("study.yaml").write_text(SCALE.partition("pictures")[0])
    solve_at = prepare("study.yaml").questions["scale"].solve_at
    assert solve_at is not None
    steps = np.array([1e-6, 3e-6, 5e-5])
    times = np.array([1e-3, 4e-3, 1e-5])  # no size makes the last one so short
    bounds = np.array([4096.0, 512.0, 65536.0])
    columns = {"parameters.step": steps, "scale.time": times, "scale.memory.most": bounds}
    answers = solve_at(columns, 3, ["base-4-to-64", "base-2-to-4"])
    for point, by_cell in enumerate(answers):
        text = SCALE.replace("base: {", f"base: {{parameters.step: {steps[point]} s, ")
        text = text.replace("time: 1 ms", f"time: {times[point]} s")
        alone = scaling(text.replace("most: 4 KiB", f"most: {bounds[point]} B"))
        assert by_cell.keys() == {"base-4-to-64", "base-2-to-4"}
        for way, matrix in alone.matrix.items():
            for cell, row, column in (("base-4-to-64", 1, 3), ("base-2-to-4", 0, 1)):
                together = by_cell[cell][f"scalability[{way}]"]
                expected = matrix[row, column]
                assert together == (
                    pytest.approx(expected, rel=1e-9) if np.isfinite(expected) else None
                )
    assert answers[2]["base-4-to-64"]["scalability[time-bound]"] is None
