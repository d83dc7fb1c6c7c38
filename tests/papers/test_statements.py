"""Statements of a source: ranges, stated values and orders of answers, by hand; what is refused
at its line.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick.results.words import Words
from slipstick.study.check import check_file
from slipstick_papers.statements import ComparedNumber, StatementsResult, _lies_between
from tests.questions import result_of, whole_report
from tests.study.small_program import found, in_folder

# Computing 6 ms, memory 3 ms, network 0.8 ms; overhead 3.8 ms.
CASES = (
    "cases: {slow: {parameters.memory: 12 ms}, far: {parameters.latency: 40 us}, near:"
    " {parameters.latency: 0 us}}"
)
RANK = "rank: {changes: {nearer: {times: {parameters.latency: 0.5}}}, cases: [base, far]}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return in_folder(tmp_path, monkeypatch)


def checked(*statements: str) -> StatementsResult:
    lines = [f"  s{number}: {{says: so, {text}}}" for number, text in enumerate(statements)]
    return result_of(
        found(CASES, RANK, "answer: [time, overhead]", "statements:", *lines), StatementsResult
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("value: time, of: [base], about: 9.8 ms, within: 0.05 ms", "hit"),
        ("value: time, of: [base], about: 9.9 ms, within: 0.05 ms", "miss"),
        ("value: time, of: [base, far], from: 9.8 ms, to: 11 ms", "hit"),
        ("value: time, of: [base, slow], to: 11 ms", "miss"),
        ('value: "account[network]", of: [near], from: 0 s, to: 0 s', "hit"),
        ("value: time, of: [base, slow], to: 11 ms, at_least: 1", "hit"),
        ("value: time, of: [slow, far], above: [base]", "hit"),
        ("value: time, of: [base, far], above: [far, base]", "miss"),
        ("value: time, of: [base], above: [base]", "miss"),
        ("value: time, of: [base, far], below: [slow]", "hit"),
        ("value: time, of: [base, far, slow], greatest: [slow]", "hit"),
        ("value: time, of: [base, far, slow], greatest: [far]", "miss"),
        ("value: time, of: [base, far, slow], smallest: [base, far]", "hit"),
        ('value: "account[memory]", per: overhead, of: [base], about: 79 %, within: 0.5 %', "hit"),
        ("value: time, of: [far], relative_to: [base], about: 108 %, within: 0.5 %", "hit"),
        ("value: overhead, other: [time], of: [base, far], below: [base, far]", "hit"),
        ("value: overhead, other: [time], of: [base, far], above: [base]", "miss"),
        ('value: time, other: [overhead, "account[memory]"], of: [base], above: [base]', "hit"),
        (
            (
                'value: overhead, added: ["account[memory]"], per: time, of: [base], from: 69 %,'
                " to: 70 %"
            ),
            "hit",
        ),
        (
            (
                "value: overhead, other: [time], of: [base], relative_to: [base], about: 38.8 %,"
                " within: 0.5 %"
            ),
            "hit",
        ),
        (
            "value: overhead_reduction, of: [base-nearer, far-nearer], smallest: [base-nearer]",
            "hit",
        ),
        ("value: overhead_reduction, of: [base-nearer], about: 10.5 %, within: 0.1 %", "hit"),
    ],
)
def test_a_statement_holds_where_its_numbers_say_so(text: str, verdict: str, folder: Path) -> None:
    assert checked(text).statements[0].verdict == verdict


def test_what_is_derived_is_there_without_being_an_answer_of_the_study(folder: Path) -> None:
    lines = [
        "statements: {s: {says: so, value: overhead, of: [base], about: 3.8 ms, within: 0.05 ms}}"
    ]
    assert result_of(found(*lines), StatementsResult).statements[0].verdict == "hit"


def test_what_was_put_in_is_no_agreement(folder: Path) -> None:
    made = checked(
        "value: time, of: [base], to: 9.8 ms, counted: false", "value: time, of: [slow], to: 9.8 ms"
    )
    assert made.text() == "1 statement checked: 0 hits, 1 miss (s1); 1 input beside them (s0)"
    inputs_alone = checked("value: time, of: [base], to: 9.8 ms, counted: false")
    assert list(inputs_alone.headline(Words({}, {}))) == []


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "the one statement"), (2, "both statements"), (3, "all 3 statements")],
)
def test_the_head_counts_statements_that_all_hold(count: int, words: str, folder: Path) -> None:
    """Sentences of the author's own are no statements of a source. Few statements are quoted, and
    the heading of the section stands for many.
    """
    statement = "value: time, of: [base], to: 9.8 ms"
    made = checked(*[statement] * count)
    quotes = " and ".join(['"so"'] * count)
    which = f": {quotes}" if count < 3 else ' (all under "Statements")'
    assert list(made.headline(Words())) == [f"the computed values confirm {words}{which}"]
    assert made.heading == "Statements"
    of_a_paper = checked(*[f"{statement}, source: a paper"] * count)
    which = which.replace("Statements", "Statements of the source")
    head = f"the computed values confirm {words} of the source{which}"
    assert list(of_a_paper.headline(Words())) == [head]
    assert of_a_paper.heading == "Statements of the source"


def test_parts_and_readings_of_a_statement_count_once(folder: Path) -> None:
    holds, fails = "value: time, of: [base], to: 9.8 ms", "value: time, of: [slow], to: 9.8 ms"
    lines = [
        f"  s: {{says: so, {holds}}}",
        f"  s-2: {{says: so, part_of: s, {fails}, counted: false}}",
        f"  s-3: {{says: so, part_of: s, reading: near, {holds}}}",
        f"  open: {{says: so, reading: far, part_of: both, {holds}}}",
        f"  shut: {{says: so, reading: near, part_of: both, {fails}}}",
        f"  all: {{says: so, {holds}}}",
        f"  all-2: {{says: so, part_of: all, {fails}}}",
    ]
    made = result_of(found(CASES, "statements:", *lines), StatementsResult)
    assert made.text() == "3 statements checked: 1 hit, 1 miss (all), 1 undecided (both)"
    assert "**shut: miss.** near: so. Wanted" in "".join(map(str, made.parts()))


def test_a_miss_has_its_cause_with_the_numbers_of_the_run(folder: Path) -> None:
    cause = (
        "missed: 'memory takes {slow account[memory]}, {slow account[memory] / time} of {slow"
        " time}, {slow time / base time} of before at {slow efficiency %}'"
    )
    made = checked(
        f"value: time, of: [slow], to: 9.8 ms, {cause}",
        f"value: time, of: [slow], from: 9 ms, {cause}",
    )
    missed, _ = made.statements
    computing = 6 / 18.8  # of the time in ms, with memory of 12 and network of 0.8
    assert (
        missed.missed
        == f"memory takes 12 ms, 63.8 % of 18.8 ms, 192 % of before at {100 * computing:.3g} %"
    )
    first, second = made.files()["statements.csv"]
    assert (first["missed"], second["missed"]) == (missed.missed, "")
    assert f"Cause: {missed.missed}" in "".join(map(str, made.parts()))


def test_the_statements_of_several_reports_make_one_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["study: 1", "title: A small study", "base: {model: model.yaml}", "statements:"]
    lines += [
        "  held: {says: 'short, as told', value: time, of: [base], to: 1 s, source: Figure 2}"
    ]
    Path("study.yaml").write_text(
        "\n".join([*lines, "  lost: {says: long, value: time, of: [base], from: 1 s}", ""])
    )
    assert main(["run", "study.yaml", "--out", "out", "--all"]) == 0
    Path("other").mkdir()
    assert main(["statements", "other", "out", "--out", "papers.md"]) == 0
    page = Path("papers.md").read_text()
    assert "## A small study" in page
    assert "2 statements of the papers" in page
    assert "- **held**: always. Short, as told (Figure 2)\n" in page
    (totals,) = (line for line in page.splitlines() if line.startswith("| all"))
    assert totals.replace(" ", "") == "|all|1|0|1|0|0|0|0|"
    capsys.readouterr()
    assert main(["statements", "other"]) == 2
    assert "has a file statements.csv; run a study with statements" in capsys.readouterr().err


def test_the_page_says_why_statements_never_hold_and_which_readings_do(folder: Path) -> None:
    lines = ["study: 1", "title: A small study", "base: {model: model.yaml}", "statements:"]
    long = "says: so, value: time, of: [base], from: 1 s"
    lines += [
        f"  lost: {{{long}, lacks: the queue}}",
        f"  shut: {{{long}, excluded: Table 1, lacks: 'the queue, not {{base time}} of waiting'}}",
        f"  dark: {{{long}}}",
        "  part-1: {says: so, value: time, of: [base], to: 1 s, part_of: whole, lacks: nothing}",
        f"  part-2: {{{long}, part_of: whole, excluded: Table 2}}",
        (
            "  open: {says: so, value: time, of: [base], readings: {short: {to: 1 s}, long: {from: "
            "1 s}}}"
        ),
    ]
    Path("study.yaml").write_text("\n".join([*lines, ""]))
    assert main(["run", "study.yaml", "--out", "out", "--all"]) == 0
    assert main(["statements", "out", "--out", "papers.md"]) == 0
    page = Path("papers.md").read_text()
    assert "In all: 2 mechanism missing, 2 excluded by the source, 1 cause not known." in page
    section = page.partition("## Why statements are never true")[2].partition("\n## ")[0]
    assert [line for line in section.splitlines() if "(out)" in line] == [
        "- **lost** (out): so. Mechanism missing: the queue",
        (
            "- **shut** (out): so. Mechanism missing: the queue, not 9.8 ms of waiting; excluded by"
            " the source: Table 1"
        ),
        "- **dark** (out): so. Cause not known",
        "- **whole** (out): so. Excluded by the source: Table 2",
    ]
    assert "Holds as 'short', not as 'long'" in page


def test_what_excludes_a_statement_has_figures_of_the_table_of_sentences(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shut = (
        "{says: so, value: time, of: [base], from: 1 s, excluded: at most {cells greatest} of it}"
    )
    study = f"study: 1\ntitle: Small\nbase: {{model: model.yaml}}\nstatements:\n  shut: {shut}\n"
    Path("study.yaml").write_text(study.replace("at most {", "'at most {").replace(" it}", " it'}"))
    assert main(["run", "study.yaml", "--out", "out", "--all"]) == 0
    head = "name,program,sentences,wanted,least,greatest,together\n"
    Path("table.csv").write_text(f"{head}cells,P,one,8 %,23 %,33 %,no\n")
    capsys.readouterr()
    assert main(["statements", "out", "--together", "table.csv"]) == 0
    assert "at most 33 % of it" in capsys.readouterr().out
    assert main(["statements", "out"]) == 2
    assert (
        "statement shut (out) names the row cells of a table of sentences that were checked for"
        " whether they can hold together; give a table with that row by --together"
    ) in " ".join(capsys.readouterr().err.split())


def test_the_last_line_names_what_misses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = checked("value: time, of: [base], to: 9.8 ms", "value: time, of: [slow], to: 9.8 ms")
    assert made.text() == "2 statements checked: 1 hit, 1 miss (s1)"
    assert main(["run", "study.yaml", "--out", "out", "--all"]) == 0
    assert "2 statements checked: 1 hit, 1 miss (s1)" in capsys.readouterr().out.splitlines()[-3:]
    assert "slow 18.8 ms (miss)" in whole_report("out")


SIMULATED = "cases: {rare: {simulation.seed: 2}}"
"""The same model from another seed: equal times, of which neither is the longer."""


def test_what_an_interval_leaves_open_is_undecided(folder: Path) -> None:
    model = Path("model.yaml").read_text().replace("delay: computing", "delay: computing, scv: 1")
    Path("random.yaml").write_text(model)
    lines = ["  near: {says: so, value: time, of: [base], below: [rare]}"]
    lines += ["  far: {says: so, value: time, of: [base], from: 1 ms, to: 1 s}"]
    base = (
        "{model: random.yaml, method: simulation, simulation.precision: 0.02, simulation.seed: 1}"
    )
    made = result_of(found(SIMULATED, "statements:", *lines, base=base), StatementsResult)
    assert [each.verdict for each in made.statements] == ["undecided", "hit"]
    assert made.text().endswith("1 hit, 0 misses, 1 undecided (near)")


def test_an_answer_that_is_lacking_leaves_it_open(folder: Path) -> None:
    cases = "cases: {over: {parameters.memory: 1e308 s, parameters.computing: 1e308 s}}"
    made = found(cases, "statements:", "  s: {says: so, value: time, of: [over], to: 1 s}")
    assert (
        result_of(made, StatementsResult).text()
        == "1 statement checked: 0 hits, 0 misses, 1 undecided (s)"
    )


ONE = "write one of about (and within), from and to, above, below, greatest and smallest"
REFUSED = [
    ("value: time, of: [base]", ONE),
    ("value: time, of: [base], to: 1 s, above: [slow]", ONE),
    (
        "value: time, of: [base], about: 1 s",
        "about and within go together: the stated value, and how far from it its digits reach",
    ),
    (
        "value: speedup, of: [base], about: 3, within: 1 %",
        "1 % of what is open beside 3: write a plain number",
    ),
    (
        "value: time, of: [base, far, slow], above: [base, far]",
        "write one answer, or one for each of the 3 answers that `of` names",
    ),
    ("value: time, of: [base], greatest: [slow]", "slow does not stand under of"),
    (
        "value: time, of: [base], to: 1 s, at_least: 2",
        "at most 1, as many as there are answers under of",
    ),
    (
        "value: time, of: [base, far], greatest: [far], at_least: 2",
        "at most 1, as many as there are answers under greatest",
    ),
    (
        "value: time, of: [base], smallest: [base]",
        "leave at least one answer under `of` out of these",
    ),
    (
        "value: time, of: [base], to: 50 %",
        "50 % is compared with a quantity in s; write such a value",
    ),
    (
        "value: time, of: [far], relative_to: [base], to: 50 ms",
        "50 ms is compared with a plain number; write such a value",
    ),
    ("value: tme, of: [base], to: 1", "base, under of, has no value tme; did you mean 'time'?"),
    (
        "value: time, other: [overhead], of: [base], to: 1 s",
        "other is for answers under relative_to, above or below; write one of them",
    ),
    (
        "value: time, other: [efficiency], of: [base], above: [base]",
        "values of several units are compared: 1, s",
    ),
    (
        "value: time, other: [overhad], of: [base], above: [base]",
        "base, under above, has no value overhad; did you mean",
    ),
    (
        "value: time, per: efficiency, of: [base], to: 1 s",
        "values of several units are compared: 1, s",
    ),
    ("value: time, of: [bas], to: 1 s", "there is no case 'bas'; did you mean 'base'?"),
    (
        "value: time, of: [base], to: 1 s, reading: far",
        "part_of names the statement that this is a reading of",
    ),
    (
        "value: time, of: [base], to: 1 s, missed: 'for {time}'",
        "{time} is not CASE VALUE, CASE VALUE %",
    ),
    (
        "value: time, of: [base], to: 1 s, missed: '{bas time}'",
        "there is no case 'bas'; did you mean 'base'?",
    ),
    (
        "value: time, of: [base], to: 1 s, missed: '{base tme}'",
        "base has no value tme; did you mean 'time'?",
    ),
    (
        "value: time, of: [base], to: 1 s, missed: '{base time / efficiency}'",
        "divides values of several units",
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("text", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_refused_at_its_line(text: str, words: str, folder: Path) -> None:
    lines = [
        "study: 1",
        "base: {model: model.yaml}",
        CASES,
        "statements:",
        f"  s: {{says: so, {text}}}",
        "",
    ]
    Path("study.yaml").write_text("\n".join(lines))
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    (problem,) = caught.value.problems
    assert (problem.line, words in problem.message) == (5, True), problem


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.1, 2.9, True),
        (1.0, 2.0, None),
        (2.0, 3.0, None),
        (0.5, 1.0, False),
        (3.0, 4.0, False),
        (0.5, 2.0, None),
        (2.0, 3.5, None),
    ],
)
def test_a_value_within_limits_touches_neither(
    low: float, high: float, verdict: bool | None
) -> None:
    value = ComparedNumber((low + high) / 2, low, high)
    least, most = ComparedNumber(1.0, 1.0, 1.0), ComparedNumber(3.0, 3.0, 3.0)
    assert _lies_between(value, least, most) is verdict
    assert _lies_between(None, least, most) is None


def test_each_of_the_44_earlier_misses_is_on_the_page_with_what_changed() -> None:
    reports = Path(__file__).parents[2] / "reports"
    with (reports / "papers-before.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({(row["study"], row["statement"]) for row in rows}) == len(rows) == 44
    assert all(row["verdict"] == "miss" and row["changed"] for row in rows)
    page = (reports / "papers.md").read_text(encoding="utf-8")
    section = page[page.index("## Before and after") : page.index("## Which statements")]
    assert "The 44 statements below had these verdicts" in section
    assert "gone" not in section
    assert {row["statement"] for row in rows} == set(
        re.findall(r"^- \*\*(\S+)\*\* \(", section, re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("first", "second", "error", "verdict"),
    [
        (1.02, 1.0, 0.005, True),
        (1.009, 1.0, 0.005, None),
        (1.0, 1.009, 0.005, None),
        (1.0, 1.02, 0.005, False),
        (1.0006, 1.0, 0.0, True),
    ],
)
def test_approximations_are_ordered_only_beyond_their_error(
    first: float, second: float, error: float, verdict: bool | None
) -> None:
    value, limit = (
        ComparedNumber(number, number, number, error * number) for number in (first, second)
    )
    assert _lies_between(value, limit, ComparedNumber(9.0, 9.0, 9.0)) is verdict


def test_times_at_a_saturated_server_miss_every_limit_and_exceed_every_time(folder: Path) -> None:
    """One server of 10 jobs/s: at 5 /s a job takes 1 / (10 - 5) s, at 12 /s and 15 /s there is no
    mean, and nothing orders the two.
    """
    (folder / "station.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 5 /s}}\n"
        "stations: {server: {service: {jobs: 100 ms}}}\n"
    )
    value = 'says: so, value: "response_time[jobs]"'
    statements = [
        (f"{value}, of: [full], to: 1 s", "miss"),
        (f"{value}, of: [full], from: 1 s", "hit"),
        (f"{value}, of: [base], below: [full]", "hit"),
        (f"{value}, of: [base], above: [full]", "miss"),
        (f"{value}, of: [full], above: [base]", "hit"),
        (f"{value}, of: [full], above: [fuller]", "undecided"),
        (f"{value}, of: [full], relative_to: [base], from: 2", "hit"),
        (f"{value}, of: [base], relative_to: [full], to: 2", "undecided"),
        ('says: so, value: "utilization[server]", of: [full], from: 0.9', "undecided"),
    ]
    made = result_of(
        found(
            "cases: {full: {classes.jobs.arrivals: 12 /s}, fuller: {classes.jobs.arrivals: 15 /s}}",
            "statements:",
            *[f"  s{number}: {{{text}}}" for number, (text, _) in enumerate(statements)],
            base="{model: station.yaml}",
        ),
        StatementsResult,
    )
    assert [row.verdict for row in made.statements] == [verdict for _, verdict in statements]
    assert made.statements[0].computed == ("full beyond any limit (a resource is saturated) (miss)")


@pytest.mark.parametrize(
    ("statement", "computed"),
    [
        (
            "value: time, of: [slow], relative_to: [base], from: 1.5",
            "slow 1.918 times as long as base",
        ),
        (
            "value: overhead, of: [slow], relative_to: [base], from: 3",
            "slow 3.368 times as much as base",
        ),
        ("value: time, of: [slow], relative_to: [base], from: 150 %", "slow 192 % of base"),
    ],
)
def test_a_ratio_names_what_it_is_relative_to(statement: str, computed: str, folder: Path) -> None:
    """18.8 ms against 9.8 ms, and 12.8 ms of overhead against 3.8 ms."""
    assert checked(statement).statements[0].computed == computed
