"""What a source does not print: draws that agree, statements that depend on an input, and where
they turn, on a model whose time is a sum; what is refused at its line.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick.results.words import Words
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick_papers.page import RangedRow
from slipstick_papers.unpublished import UnpublishedResult
from tests.questions import result_of
from tests.specs import activity
from tests.study.small_program import found, in_folder

# Computing 6 ms, memory 3 ms, network 0.8 ms: the time is 9.8 ms, and 6.8 ms without the memory's.
CASES = "cases: {far: {parameters.latency: 40 us}}"
MEMORY = (
    "  memory: {title: time of memory, reason: not printed, path: parameters.memory, from: 1 ms,"
    " to: 9 ms}"
)
STATEMENTS = [
    "statements:",
    "  printed: {says: so, value: time, of: [base], to: 13 ms, counted: false}",
    "  short: {says: so, value: time, of: [base], to: 10.8 ms}",
    "  long: {says: so, value: time, of: [base], from: 7 ms}",
    "  longer: {says: so, value: time, of: [base], from: 14 ms}",
    "  farther: {says: so, value: time, of: [far], above: [base]}",
    "  either: {says: so, value: time, of: [base], readings: {near: {to: 8 ms}, far: {to: 20 ms}}}",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return in_folder(tmp_path, monkeypatch)


def drawn(*lines: str, draws: int = 200, agree: str = "[]") -> UnpublishedResult:
    asked = [
        "unpublished:",
        f"  draws: {draws}",
        f"  agree: {agree}",
        "  inputs:",
        *[f"  {line}" for line in lines],
    ]
    return result_of(found(CASES, *STATEMENTS, *asked), UnpublishedResult)


def test_a_statement_always_holds_or_depends_or_never_holds(folder: Path) -> None:
    made = drawn(MEMORY, agree="[printed]")
    rows = {row.statement: row for row in made.rows}
    # The time is the memory's and 6.8 ms: at most 13 ms where the memory takes at most 6.2
    # of 1 to 9.
    assert made.kept / made.drawn == pytest.approx(5.2 / 8, abs=0.1)
    verdicts = {name: row.verdict for name, row in rows.items()}
    assert verdicts == {
        "printed": "input",
        "short": "depends",
        "long": "always",
        "longer": "never",
        "farther": "always",
        "either": "depends",
    }
    part = int(rows["short"].holds.partition(" of ")[0]) / made.kept
    assert part == pytest.approx(3 / 5.2, abs=0.1)  # up to 4 ms of 1 to 6.2
    assert rows["either"].holds.endswith(f"undecided in {sum_undecided(rows['either'].holds)}")
    assert made.text().startswith(f"5 statements over {made.kept} of 200 draws that agree")


def sum_undecided(holds: str) -> int:
    hits, _, rest = holds.partition(" of ")
    return int(rest.partition(",")[0]) - int(hits)


def test_the_turn_is_solved_on_both_sides(folder: Path) -> None:
    row = next(row for row in drawn(MEMORY).rows if row.statement == "short")
    assert row.decided_by == "time of memory"
    # With the rest as it is, the time is 10.8 ms with 4 ms of memory, one of the 33 values.
    assert row.turns.endswith("it holds at 4 ms and does not at 4.25 ms")


@pytest.mark.turns(4)
def test_values_take_the_place_of_a_range_and_draws_are_the_same_again(folder: Path) -> None:
    values = (
        "  memory: {title: time of memory, reason: not printed, path: parameters.memory, values: [1"
        " ms, 9 ms], cases: [base]}"
    )
    made = drawn(values, draws=50)
    (short,) = (row for row in made.rows if row.statement == "short")
    assert "up to 1 ms it holds in" in short.turns
    assert short.turns.endswith("it holds at 1 ms and does not at 9 ms")
    assert drawn(values, draws=50) == made


@pytest.mark.turns(4)
def test_few_combinations_of_values_are_taken_once_each_and_many_are_drawn(folder: Path) -> None:
    inputs = [
        "  memory: {title: m, reason: r, path: parameters.memory, values: [1 ms, 3 ms, 9 ms]}",
        "  latency: {title: l, reason: r, path: parameters.latency, values: [10 us, 40 us]}",
    ]
    whole = drawn(*inputs, draws=6)
    (short,) = (row for row in whole.rows if row.statement == "short")
    # The time is the memory's and 6.8 ms, or more with the greater latency: 9 ms is too much.
    assert (whole.drawn, short.holds, short.complete) == (6, "4 of 6", "yes")
    assert whole.text().startswith("5 statements over 6 of 6 combinations")
    part = drawn(*inputs, draws=5)
    assert (part.drawn, part.is_complete, part.rows[0].complete) == (5, False, "")


@pytest.mark.turns(4)
def test_two_inputs_that_replace_the_same_are_never_drawn_together(folder: Path) -> None:
    inputs = [
        f"  {name}: {{title: {name}, reason: r, path: parameters.memory, values: [few, as it is],"
        f" instead: {{3 ms: [{value}, 3 ms]}}}}"
        for name, value in (("one", "1 ms"), ("other", "9 ms"))
    ]
    made = drawn(*inputs, draws=400)
    # Of four pairs one has both another value.
    assert (made.drawn, made.is_complete) == (3, True)
    (ranged,) = (each for each in made.ranges if each.statement == "long")
    assert ranged.low == pytest.approx(7.8e-3)
    assert ranged.high == pytest.approx(15.8e-3)


@pytest.mark.turns(4)
def test_two_inputs_that_replace_the_same_are_drawn_together_where_the_study_names_both(
    folder: Path,
) -> None:
    made = drawn(
        "  few: {title: few, reason: r, path: parameters.memory, values: [few, as it is],"
        " instead: {3 ms: [1 ms, 3 ms]}}",
        "  slow: {title: slow, reason: r, path: parameters.memory, values: [slow, as it is],"
        " instead: {3 ms: [9 ms, 3 ms], 1 ms: [12 ms, 1 ms]}}",
        draws=400,
    )
    assert made.drawn == 4
    (ranged,) = (each for each in made.ranges if each.statement == "long")
    # Few and slow is neither 1 ms nor 9 ms, but what the study names for both.
    assert ranged.low == pytest.approx(7.8e-3)
    assert ranged.high == pytest.approx(18.8e-3)


def test_a_value_within_a_change_is_drawn_there_alone(folder: Path) -> None:
    asked = [
        "rank: {changes: {nearer: {times: {parameters.latency: 0.5}}}, cases: [base]}",
        "statements: {s: {says: so, value: overhead_reduction, of: [base-nearer], to: 10 %}}",
        "unpublished:",
        "  inputs:",
        "    latency:",
        (
            "      {title: latency, reason: no, path: parameters.latency, from: 0 us, to: 20 us, "
            "change: nearer}"
        ),
    ]
    made = result_of(found("answer: [time, overhead]", *asked), UnpublishedResult)
    (row,), (ranged,) = made.rows, made.ranges
    # The network takes 0.8 ms of the overhead of 3.8 ms, by messages of 20 us each: half saves
    # 10.5 %.
    assert row.verdict == "depends"
    assert ranged.value == pytest.approx(0.4 / 3.8)
    assert ranged.low == pytest.approx(0, abs=0.01)
    assert ranged.high == pytest.approx(0.8 / 3.8, abs=0.01)


SCALE = """\
study: 1
base: {model: scaled.yaml}
cases: {other: {parameters.step: 2 us}}
scale:
  cases: [base, other]
  processors: {parameters.processors: [2, 4, 16]}
  size: {parameters.items: 1}
  ways: [memory-bound]
  memory: {used: parameters.items * 8 B / parameters.processors, most: 4 KiB}
statements:
  cell: {says: so, value: "scalability[memory-bound]", of: [base-4-to-16], from: 0.8}
unpublished:
  inputs:
    bound: {title: the bound, reason: not printed, path: scale.memory.most, BOUND}
"""


def scaled_study(bound: str) -> None:
    """Write a study of a program whose losses are a tenth of the work and 20 us for each doubling
    of the processors.
    """
    head = "parameters: {items: 4096, processors: 4, step: 1 us, start: 20 us}\n"
    items = (
        "{name: add, delay: items / processors * step, component: busy}",
        (
            "{name: send, delay: log2(processors) * start + items / processors * step / 10,"
            " component: send}"
        ),
    )
    Path("scaled.yaml").write_text(
        activity(*items, head=f"{head}population: {{processors: processors}}\n")
    )
    Path("study.yaml").write_text(SCALE.replace("BOUND", bound))


def test_a_quantity_of_a_question_is_drawn(folder: Path) -> None:
    scaled_study("from: 1 KiB, to: 64 KiB, spacing: geometric")
    made = result_of(run(prepare("study.yaml")), UnpublishedResult)
    (row,), (ranged,) = made.rows, made.ranges
    # (40 us + x) / (80 us + x) is 0.8 where x, a tenth of the work of a processor, is 120 us: 1200
    # items of 8 B.
    assert (row.verdict, row.decided_by) == ("depends", "the bound")
    holds = int(row.holds.split()[0])
    assert holds / made.kept == pytest.approx(math.log(65536 / 9600) / math.log(64), abs=0.1)
    assert ranged.value == pytest.approx((40 + 51.2) / (80 + 51.2))
    assert ranged.low == pytest.approx((40 + 12.8) / (80 + 12.8), abs=0.02)
    assert ranged.high == pytest.approx((40 + 819.2) / (80 + 819.2), abs=0.02)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("values: [1 KiB, 2 KiB]", "of a quantity of a question a range is drawn; write from"),
        ("from: 1 ms, to: 2 ms", "1 ms has another unit than 4 KiB"),
    ],
    ids=str,
)
def test_what_is_no_range_of_a_question_is_refused(bound: str, words: str, folder: Path) -> None:
    scaled_study(bound)
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    assert words in caught.value.problems[0].message
    study = Path("study.yaml").read_text().replace("scale.memory.most", "scale.memory.least")
    Path("study.yaml").write_text(study)
    with pytest.raises(SpecError, match=r"the study has no quantity scale\.memory\.least"):
        check_file(Path("study.yaml"))


def test_the_page_counts_statements_over_what_is_not_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["study: 1", "title: A small study", "base: {model: model.yaml}", CASES]
    lines += [*STATEMENTS, "  apart: {says: so, value: time, of: [base], to: 1 s, apart: no paper}"]
    lines += ["  again: {says: so, value: time, of: [base], to: 1 s, repeats: other short}"]
    Path("study.yaml").write_text(
        "\n".join([*lines, "unpublished:", "  draws: 50", "  inputs:", f"  {MEMORY}", ""])
    )
    assert main(["run", "study.yaml", "--out", "out"]) == 0
    Path("before.csv").write_text(
        "study,statement,verdict,commit,changed\nout,short,miss,abc,a range\nout,lost,miss,abc,\n"
    )
    assert main(["statements", "out", "--before", "before.csv", "--out", "papers.md"]) == 0
    page = Path("papers.md").read_text()
    Path("together.csv").write_text(
        "name,program,sentences,wanted,least,greatest,together\n"
        "sphere-locks,Sphere,more than half,8 %,23 %,33 %,no\n"
    )
    assert main(["statements", "out", "--together", "together.csv"]) == 0
    sentence = "contradict each other: more than half. Wanted: 8 %; possible: 23 % to 33 %."
    assert f"- **Sphere**, {sentence}" in capsys.readouterr().out
    counts = (
        "always (2), depends (3), never (0), undecided (0), inputs (1), counted elsewhere (1) and"
        " apart (1)"
    )
    assert counts in page
    assert "5 statements of the papers" in page
    # 0.95 = 1 - (1 - 0.0582)^50
    assert "with 95 % confidence, in at most 5.82 % where 50 are kept." in page
    assert "known to within 13.9 % of them" in page  # 1.96 * 0.5 / sqrt(50)
    assert "- **time of memory**: short (out), longer (out), either (out)\n" in page
    assert "of them are now: 1 depends, 1 gone" in page
    with Path("out/ranges.csv").open() as file:
        assert {row["kept"] for row in csv.DictReader(file)} == {"50"}
    Path("before.csv").write_text("study\nout\n")
    capsys.readouterr()
    assert main(["statements", "out", "--before", "before.csv"]) == 2
    assert "the columns of before.csv have to be study" in capsys.readouterr().err


INPUT = "title: t, reason: r, path: parameters.memory"
REFUSED = [
    (f"{{{INPUT}}}", "write from and to, or values"),
    (f"{{{INPUT}, from: 1 ms, to: 2 ms, values: [1 ms, 2 ms]}}", "write from and to, or values"),
    (f"{{{INPUT}, values: [1 ms]}}", "a single value is no range; write at least two"),
    (f"{{{INPUT}, from: 2 ms, to: 1 ms}}", "1 ms is not above 2 ms"),
    (f"{{{INPUT}, from: 1 ms, to: 2 B}}", "2 B has another unit than 1 ms"),
    (f"{{{INPUT}, values: [1 ms, 2 B]}}", "2 B has another unit than 1 ms"),
    (f"{{{INPUT}, values: [1 ms, 2]}}", "2 has another unit than 1 ms"),
    (f"{{{INPUT}, from: 0 ms, to: 2 ms, spacing: geometric}}", "a geometric range begins above 0"),
    (
        f"{{{INPUT}, values: [1 ms, 2 ms], instead: {{a: [b]}}}}",
        "write one for each of the 2 values",
    ),
    ("{title: t, reason: r, path: parameters.memry, from: 1 ms, to: 2 ms}", "no case of the study"),
    (f"{{{INPUT}, from: 1 B, to: 2 B}}", "s"),
    (f"{{{INPUT}, from: 1 ms, to: 2 ms, change: nearer}}", "rank has no change 'nearer'"),
    (f"{{{INPUT}, from: 1 ms, to: 2 ms}}, agree: [shrt]", "there is no statement 'shrt'"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_refused(text: str, words: str, folder: Path) -> None:
    entry, _, rest = text.partition("}, agree")
    inputs = f"{{inputs: {{x: {entry}}}{'}' if rest else ''}{f', agree{rest}' if rest else ''}}}"
    lines = ["study: 1", "base: {model: model.yaml}", CASES, *STATEMENTS, f"unpublished: {inputs}"]
    Path("study.yaml").write_text("\n".join([*lines, ""]))
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    assert words in "".join(problem.message for problem in caught.value.problems)


def test_one_reading_is_none(folder: Path) -> None:
    lines = ["study: 1", "base: {model: model.yaml}", "statements:"]
    lines += ["  s: {says: so, value: time, of: [base], readings: {near: {to: 1 s}}}", ""]
    Path("study.yaml").write_text("\n".join(lines))
    with pytest.raises(SpecError, match="write at least two, or none"):
        check_file(Path("study.yaml"))


def test_a_reading_has_a_name_of_its_own(folder: Path) -> None:
    reading = "says: so, value: time, of: [base]"
    lines = ["study: 1", "base: {model: model.yaml}", "statements:"]
    lines += [f"  s: {{{reading}, readings: {{near: {{to: 1 s}}, far: {{to: 2 s}}}}}}"]
    Path("study.yaml").write_text("\n".join([*lines, f"  s-2: {{{reading}, to: 1 s}}", ""]))
    with pytest.raises(SpecError, match="its readings are called s-1 and so on, and s-2 stands"):
        check_file(Path("study.yaml"))


@pytest.mark.parametrize(
    ("source_clause", "inputs_text"),
    [(" of the source", "inputs that it does not print"), ("", "inputs with ranges")],
)
def test_a_single_statement_is_told_with_the_share_of_the_draws_in_which_it_is_true(
    source_clause: str, inputs_text: str
) -> None:
    row = RangedRow(
        "in-time", "depends", "it is in time", "", "400", "191 of 400", "the number of records"
    )
    result = UnpublishedResult((), 400, 400, (), (row,), (), source_clause=source_clause)
    (sentence,) = result.headline(Words())
    assert sentence == (
        f"the one statement{source_clause} depends on the {inputs_text}, true in"
        " 191 of 400 draws; it depends on the number of records"
    )


def test_draws_that_saturate_a_server_decide_statements_on_times(folder: Path) -> None:
    """One server of 10 jobs/s answers within 0.4 s up to 7.5 /s: at a quarter of 5 to 15 /s."""
    (folder / "station.yaml").write_text(
        "queueing-network: 1\nparameters: {rate: 5 /s}\nclasses: {jobs: {arrivals: rate}}\n"
        "stations: {server: {service: {jobs: 100 ms}}}\n"
    )
    value = 'says: so, value: "response_time[jobs]", of: [base]'
    made = result_of(
        found(
            "statements:",
            f"  within: {{{value}, to: 0.4 s}}",
            f"  beyond: {{{value}, from: 0.4 s}}",
            "unpublished:",
            "  draws: 400",
            "  inputs:",
            "    rate: {title: rate, reason: not printed, path: parameters.rate, from: 5 /s, to:"
            " 15 /s}",
            base="{model: station.yaml}",
        ),
        UnpublishedResult,
    )
    within, beyond = made.rows
    counts = [int(row.holds.split()[0]) for row in (within, beyond)]
    assert sum(counts) == 400
    # Four standard deviations of a quarter of 400 random draws.
    assert counts[0] == pytest.approx(100, abs=35)
    assert "undecided" not in within.holds + beyond.holds
