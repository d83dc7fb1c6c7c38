"""The page: a small one word for word, hostile names, and what each section says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from slipstick.answer import Value
from slipstick.errors import SlightlyBeyond
from slipstick.report.formatting import code, escape, question_section
from slipstick.report.page import gallery, report_in_markdown, sweep_text
from slipstick.results.question import QuestionResult
from slipstick.results.sweep import Axis
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.kinds.study import StudySpec
from slipstick_papers.compare import (
    CompareResult,
    PublishedTable,
    TableCell,
    TableRow,
    comparison_text,
    verdict,
)
from tests.report.made_up import ADAPTER, BASE, NETWORK, SMALL, SMALL_RESULTS, STUDY, US, sweep

PICTURES = {"bars": ["bars.png", "bars.svg"], "lines": ["lines.png", "lines.svg"]}

PAGE = """\
# A demonstration

- Wire: base 11.84 us (printed 12 us) and faster 5.2 us (printed 12 us).
- Measured: base 1705 us (measured 1759 us) and faster 853 us (measured 800 us).
- Half the send call saves most: 35 % of the time.
- Compared with base: 2 times as fast for faster.
- Base: time 1.705 ms; a processor spends 58.7 % of its time on useful work and 41.3 % on fault; diffs is limited by sends.
- 1 of 4 answers is approximate (closed form); waiting for own is ignored; no answer as given for broken, because the time comes out as inf s; 1 point has no answer, with a latency of the network adapter of 20 us for base: the time comes out as nan s.

|        |     time | time of fault |
| ------ | -------: | ------------: |
| base   | 1.705 ms |        705 us |
| faster |   853 us |             - |

[![Where the time goes](bars.png)](bars.svg)

See.

## About this study

What it is about.

Source: Somebody, 1997

## Comparisons: Table 4

- 3 printed cells are compared: 1 agrees within rounding, 1 is a slip of the source, 1 is a miss. Against 2 measured values the mean absolute error is 4.85 %.

Source: Table 4

| row      | [us]       |           base |        faster |
| -------- | ---------- | -------------: | ------------: |
| wire     | computed   |           11.8 |           5.2 |
|          | printed    |             12 |            12 |
|          | difference |           -0.2 | -6.8 (miss 1) |
| total    | computed   |         1705.0 |         853.0 |
|          | printed    |           1759 |             - |
|          | difference | -54.0 (slip 1) |             - |
| measured | computed   |         1705.0 |         853.0 |
|          | measured   |           1759 |           800 |
|          | error      |        -3.07 % |       +6.62 % |

Slips of the source, by our reading:

- slip 1: total: the +105 was left out

Misses:

- miss 1: wire, faster: computed 5.2, printed 12; rounding allows 0.5

- measured: mean absolute error 4.85 % over 2 measured values

## What would help most: base

- base: among single quantities, half of send_call helps most: it saves 35 % of the time

Change: less or more of the quantity by the same factor, whichever saves more; both are solved if the model has an answer. Share: if a time falls by 1 %, or a rate rises by 1 %, the time of the model falls by this share of 1 %; the shares of all quantities add up to 100 %. Elasticity: relative change of the time for a relative change of the quantity.

All rows have the same exact (no).

| parameter | meaning          | value | share | elasticity | change | time saved | by the opposite |
| --------- | ---------------- | ----: | ----: | ---------: | ------ | ---------: | --------------: |
| send_call | each send        | 42 us |  70 % |        0.7 | half   |       35 % |           -35 % |
| parts     | processors asked |     3 |     - |        0.2 | -      |          - |               - |

Without an answer: half and twice of `parts`.

Without effect here: `machine.memory.page`.

## Sweeps: latency

All rows have the same case (base) and method (closed-form).

| `machine.network.adapter` |    time | limit[diffs] | exact |
| ------------------------: | ------: | ------------ | ----- |
|                     10 us | 1.04 ms | sends        | yes   |
|                     20 us |       - | -            | -     |
|                     40 us | 1.16 ms | wire         | yes   |

- case = base, machine.network.adapter = 20 us: the time comes out as nan s

Limiting stage of diffs, along `machine.network.adapter`:

- base: sends at 10 us; then wire at 40 us

## Pictures

[![Time](lines.png)](lines.svg)

## What limits

| case | pipeline | limiting stage | one item at each serial stage |
| ---- | -------- | -------------- | ----------------------------- |
| base | diffs    | sends          | sends 146 us, wire 12 us      |

The 4 smallest changes of a single parameter after which another stage is the slowest. `slipstick solve --json` gives all.

| case | pipeline | nearest takeovers                                   |
| ---- | -------- | --------------------------------------------------- |
| base | diffs    | `machine.network.adapter` from 25 us to 40 us: wire |

## Cases

All rows have the same method (closed-form).

| case   | differs from the base in   |     time | notes | exact |
| ------ | -------------------------- | -------: | ----- | ----- |
| base   | -                          | 1.705 ms | 1     | no    |
| faster | machine.processors.speed 2 |   853 us |       | yes   |
| broken | parts 1e308                |        - |       | -     |

- case = broken: the time comes out as inf s

1. leaves out waiting for own

## Notes

- nothing else

## Inputs

Asked: time, account[fault] of 3 cases of dvsm/diff-request; 1 sweep of 3 points; comparisons; what would help most. Repeat with `slipstick run demo`. Every point is in [results.csv](results.csv), every input with its hash in [inputs.yaml](inputs.yaml).
"""


def test_a_small_page_word_for_word() -> None:
    assert report_in_markdown(SMALL_RESULTS, STUDY, PICTURES, "slipstick run demo") == PAGE


def test_what_was_found_comes_before_a_long_text(tmp_path: Path) -> None:
    text = report_in_markdown(
        replace(SMALL_RESULTS, text="What it is about. " * 20),
        STUDY,
        PICTURES,
        "slipstick run demo",
    )
    parts = [
        "# A demo",
        "- Wire: base",
        "[![Where the time goes]",
        "## About this study\n\nWhat",
        "Source: ",
        "## Comparisons",
    ]
    assert sorted(parts, key=text.index) == parts
    (tmp_path / "report.md").write_text(text)
    shown = gallery([tmp_path])
    assert shown.index("Wire: base") < shown.index(parts[2])
    assert "What it is about" not in shown


def test_a_page_has_no_dates_and_no_sign_outside_ascii() -> None:
    assert PAGE.isascii()
    assert "202" not in PAGE


HOSTILE = "a|b<script>alert(1)</script>`x`*y*[l](http://z)$m$"


def test_hostile_names_stay_text() -> None:
    answer = replace(BASE, model=HOSTILE, method=HOSTILE, notes=(HOSTILE,))
    results = replace(
        SMALL_RESULTS,
        title=HOSTILE,
        text=HOSTILE,
        source=HOSTILE,
        cases={HOSTILE: answer},
        settings={HOSTILE: {HOSTILE: HOSTILE}},
        sweeps=(sweep(HOSTILE, [Axis(HOSTILE, "1", (HOSTILE,))], lambda *_: 1.0, [HOSTILE]),),
        questions={
            "compare": CompareResult(
                (
                    PublishedTable(
                        HOSTILE,
                        HOSTILE,
                        HOSTILE,
                        "us",
                        ("a|b",),
                        (TableRow(HOSTILE, (_cell(slip=HOSTILE),)),),
                    ),
                )
            )
        },
        hashes={HOSTILE: HOSTILE},
        versions={HOSTILE: HOSTILE},
        notes=(HOSTILE + "\nsecond line",),
    )
    text = report_in_markdown(results, StudySpec(study=1), {}, HOSTILE)
    outside_code = re.sub(r"``.*?``", "", text)
    assert "<script>" not in outside_code
    assert outside_code.count("&lt;script>") > 10
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace(r"\|", "").count("|") for line in rows}) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        ("<script>", "&lt;script>"),
        ("`x`", r"\`x\`"),
        ("remote_compute", "remote_compute"),
        ("_x_", r"\_x\_"),
        ("limit[diffs]", "limit[diffs]"),
        ("[a](b)", r"[a\](b)"),
        ("two\nlines", "two lines"),
    ],
)
def test_escape(text: str, shown: str) -> None:
    assert escape(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [("a.b", "`a.b`"), ("a`b", "`` a`b ``"), ("a|b", r"`a\|b`")]
)
def test_code(text: str, shown: str) -> None:
    assert code(text) == shown


def _cell(
    computed: float | None = 1.0,
    printed: float | None = 2.0,
    within: float = 0.5,
    slip: str = "",
    case: str = "base",
) -> TableCell:
    return TableCell(case, computed, printed, within, slip)


def test_verdicts() -> None:
    assert verdict(_cell(computed=1.6)) == "agrees"
    assert verdict(_cell()) == "miss"
    assert verdict(_cell(slip="the paper forgot")) == "slip"
    assert verdict(_cell(printed=None)) == "nothing printed"
    assert verdict(_cell(computed=None)) == "nothing computed"


def test_a_summary_counts_every_printed_cell_once() -> None:
    row = TableRow(
        "r",
        (_cell(computed=2.0), _cell(), _cell(slip="x"), _cell(printed=None), _cell(computed=None)),
    )
    found = CompareResult(
        (PublishedTable("t", "", "", "us", ("a", "b", "c", "d", "e"), (row, row)),)
    )
    assert (
        question_section(found).splitlines()[2]
        == "- 6 printed cells are compared: 2 agree within rounding, 2 are slips of the source, 2"
        " are misses. 2 printed cells without a computed value."
    )


def test_a_wide_table_stands_computed_printed_and_difference_below_each_other() -> None:
    row = TableRow("wire", tuple(_cell(computed=11.84, printed=12, case=case) for case in "abcd"))
    measured = TableRow(
        "total",
        tuple(_cell(computed=90, printed=100, within=5, case=case) for case in "abcd"),
        True,
    )
    text = comparison_text(PublishedTable("t", "", "", "us", tuple("abcd"), (row, measured)))
    assert (
        text
        == """\
### t

| row   | [us]       |     a |     b |     c |     d |
| ----- | ---------- | ----: | ----: | ----: | ----: |
| wire  | computed   |  11.8 |  11.8 |  11.8 |  11.8 |
|       | printed    |    12 |    12 |    12 |    12 |
|       | difference |  -0.2 |  -0.2 |  -0.2 |  -0.2 |
| total | computed   |  90.0 |  90.0 |  90.0 |  90.0 |
|       | measured   |   100 |   100 |   100 |   100 |
|       | error      | -10 % | -10 % | -10 % | -10 % |

- total: mean absolute error 10 % over 4 measured values"""
    )


def test_one_slip_in_several_columns_has_one_number() -> None:
    row = TableRow("r", (_cell(slip="same"), _cell(slip="same"), _cell(slip="other")))
    text = comparison_text(PublishedTable("t", "", "", "us", ("a", "b", "c"), (row,)))
    assert text.count("(slip 1)") == 2
    assert "- slip 1: r: same\n- slip 2: r: other" in text


def test_a_large_sweep_is_told_by_ends_extremes_and_changes_of_the_limiting_stage() -> None:
    networks = Axis(NETWORK, "1", ("fe", "atm"))
    latencies = Axis(ADAPTER, "s", tuple(index * US for index in range(1, 31)))
    made = sweep(
        "s",
        [networks, latencies],
        lambda _, network, adapter: abs(adapter - 10 * US) + (1e-3 if network == "atm" else 2e-3),
        limit=lambda _, network, adapter: (
            "wire" if network == "atm" and adapter > 20 * US else "sends"
        ),
    )
    assert (
        sweep_text(made, ["time"])
        == """\
### s

`machine.network`: fe, atm; `machine.network.adapter`: 30 values from 1 us to 30 us; 60 points in 1 case.

All rows have the same case (base), value (time), method (closed-form) and exact (yes).

| `machine.network` | first            | last             | least         | greatest         |
| ----------------- | ---------------- | ---------------- | ------------- | ---------------- |
| fe                | 2.009 ms at 1 us | 2.02 ms at 30 us | 2 ms at 10 us | 2.02 ms at 30 us |
| atm               | 1.009 ms at 1 us | 1.02 ms at 30 us | 1 ms at 10 us | 1.02 ms at 30 us |

Limiting stage of diffs, along `machine.network.adapter`:

- base, fe: sends from 1 us to 30 us
- base, atm: sends from 1 us to 20 us; then wire from 21 us to 30 us"""
    )


def test_a_plane_of_many_points_is_counted_by_stage() -> None:
    x, y = (Axis(name, "1", tuple(float(index) for index in range(20))) for name in "xy")
    text = sweep_text(
        sweep("s", [x, y], lambda _, u, v: u + v, limit=lambda _, u, v: "a" if u > v else "b"),
        ["time"],
    )
    assert (
        "| base | time  | 0 s at (0, 0) | 38 s at (19, 19) | 0 s at (0, 0) | 38 s at (19, 19) |"
        " closed-form | yes   |" in text
    )
    assert "- base: b at 210 points, a at 190 points" in text


def test_a_sweep_without_any_value_says_so_in_dashes() -> None:
    x = Axis("x", "1", tuple(float(index) for index in range(50)))
    text = sweep_text(
        sweep("s", [x], lambda *_: float("nan"), failed=dict.fromkeys(range(50), "too large")),
        ["time"],
    )
    assert "first" not in text.splitlines()[5]
    assert "50 points have no answer; the first, base at 0: too large" in text


def test_a_point_is_outside_of_its_bounds_only_with_its_interval() -> None:
    beyond, by_chance = "time is below its lower bound 2 s", SlightlyBeyond("time is a bit below")
    large = sweep("large", [Axis("n", "1", tuple(range(50)))], lambda _, n: 1.0 + n)
    both = replace(large.provenance, outside={7: by_chance, 9: beyond, 11: by_chance})
    text = sweep_text(replace(large, provenance=both), ["time"])
    assert (
        "1 point lies outside of the bounds, the first at 9: time is below its lower bound 2 s. At"
        " 2 points the estimate is beyond a bound by less than twice the half-width of its"
        " interval, which is not counted as a contradiction." in text
    )
    assert both.contradictions == {9: beyond}
    assert both.common_answer_fields["bound"] == f"1 points, the first: {beyond}"
    alone = replace(both, outside={0: by_chance})
    text = sweep_text(replace(large, provenance=alone), ["time"])
    assert "At 1 point the estimate is beyond a bound" in text
    assert "outside of" not in text
    assert isinstance(alone.common_answer_fields["bound"], SlightlyBeyond)


def test_paths_without_effect_are_named() -> None:
    assert "Without effect: `a.b`." in sweep_text(replace(SMALL, idle=("a.b",)), ["time"])


def test_a_study_with_nothing_but_cases_has_no_empty_sections() -> None:
    bare = replace(SMALL_RESULTS, sweeps=(), questions={}, notes=(), hashes={}, versions={})
    text = report_in_markdown(bare, StudySpec(study=1), {}, "slipstick run demo")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# A demonstration",
        "## About this study",
        "## What limits",
        "## Cases",
        "## Inputs",
    ]


def test_each_pipeline_has_the_lines_on_its_limiting_stage_below_its_own_name() -> None:
    found = replace(
        SMALL, limits={"diffs": SMALL.limits["diffs"], "replies": ["wire"] * len(SMALL)}
    )
    text = sweep_text(found, ["time"])
    first, second = (
        text.index(f"Limiting stage of {pipeline}, along {code(ADAPTER)}:\n\n- ")
        for pipeline in ("diffs", "replies")
    )
    assert first < second
    assert "wire from 10 us to 40 us" in text[second:]


@pytest.mark.parametrize("part", [0.9966, 1.0034])
def test_a_case_is_not_said_to_be_once_as_fast(part: float) -> None:
    near = replace(SMALL_RESULTS.cases["faster"], values={"time": Value(1705 * US * part, "s")})
    results = replace(SMALL_RESULTS, cases={"base": BASE, "faster": near})
    text = report_in_markdown(results, STUDY, PICTURES, "slipstick run demo")
    assert "as fast for faster" not in text  # its questions are answered
    alone = replace(results, questions={})
    assert "about as fast for faster." in report_in_markdown(alone, STUDY, PICTURES, "slipstick")


class _FarResult(QuestionResult):
    title = "Far"

    def sentences(self) -> list[str]:
        return ["It is near", "64 processors are far", "something else"]

    def doubt(self, words: Words = NO_WORDS) -> str:
        return f"64 {words.members} are far"


def test_a_doubt_that_the_head_states_with_a_noun_is_not_repeated() -> None:
    results = replace(SMALL_RESULTS, words=Words(member="thread"), questions={"far": _FarResult()})
    text = report_in_markdown(results, STUDY, PICTURES, "slipstick run demo")
    assert "64 threads are far" in text
    assert "64 processors are far" not in text
    assert "- something else" in text
