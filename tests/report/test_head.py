"""The head of a report: an answer in a reader's words, for every question in every state."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from slipstick import run as run_study
from slipstick import solve
from slipstick.answer import Answer, Value
from slipstick.cli.main import main
from slipstick.errors import NotConverged, SpecError
from slipstick.report.answer import answer_text
from slipstick.report.formatting import TextTable
from slipstick.report.head import decision_table, head_lines, is_title_answered
from slipstick.results.words import Words
from slipstick.study.check import check_reference
from slipstick.study.run import prepare, run
from slipstick_papers.compare import CompareResult, PublishedTable, TableCell, TableRow
from slipstick_questions.choose import ChooseResult, ChosenPoints
from slipstick_questions.crossing_years import YearBand
from slipstick_questions.requirements import UnmetRequirement
from slipstick_questions.seek import (
    ConditionSearch,
    SeekResult,
    UnansweredPlaces,
    search_text,
)
from slipstick_questions.sign_changes import Change
from tests.heads import UNWANTED, head_of, paths_in
from tests.report.made_up import with_sweeps

REPORTS = sorted((Path(__file__).parents[2] / "reports").glob("*/report.md"))
WORDS = Words({"base": "HDR", "ndr": "NDR"}, {"parameters.edge": "cells along an edge"})


@pytest.mark.turns(4)
@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.parent.name)
def test_no_head_of_a_report_has_a_path_an_option_or_a_file(report: Path) -> None:
    head = head_of(report)
    assert head
    for sentence in head:
        assert not paths_in(sentence), sentence
        assert not any(pattern.search(sentence) for pattern in UNWANTED), sentence


SEARCH = ConditionSearch(
    name="useful",
    case="base",
    of="parameters.edge",
    unit="1",
    trend="",
    condition="efficiency >= 0.8",
    first=8,
    last=1024,
    holds_first=False,
    holds_last=True,
    places=3,
    crossings=(Change(386, 385, starts=True),),
    nearest=386,
    margin=0.001,
)
NEVER = replace(SEARCH, crossings=(), holds_last=False)


@pytest.mark.parametrize(
    ("count", "further"), [(8, ""), (9, " and 1 further stretches"), (10, " and 2 further")]
)
def test_more_than_eight_stretches_without_an_answer_are_counted(count: int, further: str) -> None:
    stretches = tuple(
        UnansweredPlaces(10.0 * number, 10.0 * number + 5, None, None, False, False)
        for number in range(1, count + 1)
    )
    text = search_text(replace(SEARCH, unanswered=stretches))
    assert " and from 80 to 85" + (further or "") in text
    assert ("further" in text) == bool(further)


SEARCHED = "(cells along an edge from 8 to 1024)"


@pytest.mark.parametrize(("case_count", "unshown"), [(6, ""), (7, "; not shown: 3 further cases")])
def test_a_few_further_cases_of_a_search_are_shown_and_many_are_counted(
    case_count: int, unshown: str
) -> None:
    searches = [
        replace(SEARCH, case=f"case {number}", crossings=(Change(9 + number, 8, starts=True),))
        for number in range(case_count)
    ]
    result = SeekResult(tuple(searches))
    (line,) = result.headline(WORDS)
    assert line.endswith(unshown or f"{8 + case_count} for case {case_count - 1}")
    assert result.has_further_answers == bool(unshown)


@pytest.mark.parametrize(
    ("means", "ending"),
    [("HDR halves the time", " along an edge"), ("the time halves", " along an edge (HDR)")],
)
def test_a_case_that_the_condition_names_is_not_told_again(means: str, ending: str) -> None:
    search = replace(SEARCH, means=means, is_one_of_cases=True)
    (sentence,) = SeekResult((search,)).headline(WORDS)
    assert sentence.endswith(f"386 or more cells{ending}")


def test_of_many_years_with_bands_the_sentence_has_the_range_and_a_table_has_all() -> None:
    years_and_shares = {"A": (2021, 0.789), "B": (2028, 0.664), "C": (2014, 0.875)}

    def searches(names: str) -> tuple[ConditionSearch, ...]:
        return tuple(
            replace(
                SEARCH,
                case=name,
                of="year",
                unit="year",
                first=1996,
                last=2036,
                crossings=(Change(year, None, starts=True),),
                year_band=YearBand(2007, None, share, 2036, 256),
            )
            for name in names
            for year, share in [years_and_shares[name]]
        )

    few, many = (SeekResult(searches(names)) for names in ("ABC", "ABCB"))
    (sentence,) = few.headline(WORDS)
    assert sentence.count("random draws") == 3
    assert not few.columns_by_case(WORDS)
    (sentence,) = many.headline(WORDS)
    assert sentence == (
        "Efficiency is at least 80 % in all 4 cases, first for C, from 2014 on, and last for B,"
        " from 2028 on, at the stated rates; these years are uncertain: the change"
        " comes by 2036 in 66.4 % to 87.5 % of the random draws of the rates"
    )
    ((title, cells),) = many.columns_by_case(WORDS).items()
    assert title == "first year in which efficiency is at least 80 %"
    assert cells["A"] == "2021 (2007 or later)"


@pytest.mark.parametrize(
    ("searches", "expected"),
    [
        ((SEARCH,), "Efficiency is at least 80 % with 386 or more cells along an edge"),
        (
            (SEARCH, replace(SEARCH, case="ndr", crossings=(Change(203, 202, starts=True),))),
            (
                "Efficiency is at least 80 % with 386 or more cells along an edge for HDR and 203 "
                "for NDR"
            ),
        ),
        ((NEVER,), f"Efficiency is at least 80 %: never {SEARCHED}"),
        (
            (
                replace(NEVER, case="ndr", holds_first=True, holds_last=True),
                NEVER,
                SEARCH,
            ),
            (
                "Efficiency is at least 80 % with 386 or more cells along an edge for HDR; from 8 "
                "to 1024, as far as was searched, always for NDR; never for HDR"
            ),
        ),
        (
            (replace(NEVER, holds_first=True, holds_last=True, means="it is useful"),),
            f"It is useful: always {SEARCHED}",
        ),
        (
            (replace(NEVER, nearest=None, holds_first=None),),
            f"Efficiency is at least 80 %: no answer {SEARCHED}",
        ),
        (
            (replace(NEVER, undecided=((20.0, 30.0),)),),
            (
                "Efficiency is at least 80 %: false below 20, undecided from 20 to 30 and false"
                f" above 30 {SEARCHED}"
            ),
        ),
        (
            (
                replace(
                    NEVER,
                    holds_first=True,
                    undecided=((20.0, 30.0),),
                    unanswered=(UnansweredPlaces(31, 1024, 30, None, False, False),),
                ),
            ),
            (
                "Efficiency is at least 80 %: true below 20, undecided from 20 to 30 and without an"
                f" answer above 30 {SEARCHED}"
            ),
        ),
        (
            (replace(NEVER, unanswered=(UnansweredPlaces(60, 1024, 50, None, True, False),)),),
            (
                "Efficiency is at least 80 % with up to 50 cells along an edge (larger "
                "values have no answer)"
            ),
        ),
        (
            (
                replace(NEVER, unanswered=(UnansweredPlaces(8, 60, None, 61, False, True),)),
                SEARCH,
                replace(NEVER, case="ndr", nearest=None, holds_first=None),
            ),
            (
                "Efficiency is at least 80 % with 61 or more cells along an edge (smaller values"
                " have no answer) for HDR and 386 or more for HDR; NDR no answer"
            ),
        ),
    ],
    ids=[
        "one",
        "several",
        "nowhere",
        "a case each",
        "everywhere",
        "no answer",
        "undecided",
        "undecided before a gap",
        "saturated",
        "saturated in one of several cases",
    ],
)
def test_a_search_has_a_sentence_in_every_state(
    searches: tuple[ConditionSearch, ...], expected: str
) -> None:
    assert SeekResult(searches).headline(WORDS) == [expected]
    assert not paths_in(expected)


def test_of_searches_the_best_is_named_only_where_the_order_is_sure() -> None:
    sure = replace(SEARCH, case="ndr", crossings=(Change(203, 202, starts=True),))
    found = SeekResult((SEARCH, sure)).best(WORDS)
    assert found is not None
    assert found[0] == "ndr"
    near = replace(SEARCH, case="ndr", crossings=(Change(380, None, True, False, 370, 390),))
    unsure = replace(SEARCH, crossings=(Change(386, None, True, False, 376, 396),))
    assert SeekResult((unsure, near)).best(WORDS) is None


POINT = Answer(
    "choose",
    "simulation",
    {
        "objective": Value(27.0, "1"),
        "value[1]": Value(0.265, "s", 0.259, 0.272),
        "slack[1]": Value(0.035, "s"),
    },
    point={"stations.web.servers": 2.0, "stations.app.servers": 5.0},
)
CHOICE = ChosenPoints(
    "base",
    {"stations.web.servers": "1", "stations.app.servers": "1"},
    "cost",
    ("response_time_quantile[requests,0.99] <= 300 ms",),
    (16, 16),
    4,
    ordered=True,
    monotone=False,
    found=(POINT,),
)
CHEAPER = replace(POINT, point={**POINT.point, "stations.app.servers": 4.0})
NOT_EVEN = UnmetRequirement("processors have as many rows each", is_everywhere=True)
TOO_LARGE = UnmetRequirement(
    "the state must fit a processor",
    is_everywhere=True,
    violation="90 GB is not at most 80 GB",
    point={"stations.web.servers": 2.0, "stations.app.servers": 3.0},
)
PARTLY_BROKEN = tuple(replace(part, is_everywhere=False) for part in (NOT_EVEN, TOO_LARGE))
KEPT = "99 % of requests are answered within 265 (259 to 272) ms (limit 300 ms)"
UNITS = "in the units of the study"
CHEAPEST = f"cheapest are 2 web servers and 5 app servers, cost 27 {UNITS}; then {KEPT}"
SURELY_CHEAPEST = CHEAPEST.replace("cheapest are", "cheapest that surely suffice are")


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ((CHOICE,), f"The {CHEAPEST}"),
        (
            (CHOICE, replace(CHOICE, case="ndr")),
            (
                f"HDR: the {CHEAPEST}. NDR: 2 web servers and 5 app servers, cost 27,"
                " 265 (259 to 272) ms"
            ),
        ),
        (
            (replace(CHOICE, found=(), nearest=POINT),),
            (
                "No combination keeps the limit; 2 web servers and 5 app servers would come "
                f"nearest: then {KEPT}"
            ),
        ),
        (
            tuple(replace(CHOICE, case=case, found=(), nearest=POINT) for case in ("base", "ndr")),
            (
                "HDR and NDR: no combination keeps the limit; 2 web servers and 5 app servers"
                " would come nearest: then 99 % of requests are answered within 265 (259 to 272)"
                " ms for HDR and 265 (259 to 272) ms for NDR (limit 300 ms)"
            ),
        ),
        (
            (replace(CHOICE, found=()), replace(CHOICE, case="ndr")),
            (
                f"NDR: the {CHEAPEST}. HDR: no combination keeps the limit, because all are"
                " saturated"
            ),
        ),
        (
            (replace(CHOICE, undecided=(CHEAPER,)),),
            (
                f"The {SURELY_CHEAPEST}; it is undecided whether 2 web servers and 4 app servers"
                " would be better"
            ),
        ),
        (
            (replace(CHOICE, found=(), unanswered=4, reason="the mean is infinite"),),
            "No combination has an answer: the mean is infinite",
        ),
        (
            (replace(CHOICE, found=(), unanswered=4, unmet=(NOT_EVEN,)),),
            "No combination meets the requirement that processors have as many rows each",
        ),
        (
            (replace(CHOICE, found=(), unanswered=4, unmet=(TOO_LARGE,)),),
            (
                "No combination meets the requirement that the state must fit a processor; at best"
                " 90 GB is not at most 80 GB, with 2 web servers and 3 app servers"
            ),
        ),
        (
            (replace(CHOICE, found=(), unanswered=4, unmet=PARTLY_BROKEN),),
            (
                "No combination meets all of 2 requirements: processors have as many rows each; the"
                " state must fit a processor"
            ),
        ),
        ((replace(CHOICE, found=()),), "No combination keeps the limit, because all are saturated"),
    ],
    ids=[
        *("one", "several", "none", "none in two cases", "none in the first", "undecided"),
        *("no answer", "a requirement", "a requirement with its sides", "two requirements"),
        "saturated",
    ],
)
def test_a_choice_has_a_sentence_in_every_state(
    choices: tuple[ChosenPoints, ...], expected: str
) -> None:
    assert ChooseResult(choices).headline(WORDS) == [expected]
    assert not paths_in(expected)


def test_the_meaning_of_a_single_quantity_is_written_once() -> None:
    words = Words(meanings={"parameters.delay": "wait before each flush"})
    best = replace(POINT, point={"parameters.delay": 1e-3})
    later = replace(POINT, point={"parameters.delay": 2e-3})
    choice = replace(
        CHOICE,
        units={"parameters.delay": "s"},
        objective="time",
        conditions=(),
        found=(best,),
        undecided=(later,),
    )
    assert ChooseResult((choice,)).headline(words) == [
        (
            "The best wait before each flush is 1 ms, time 27; it is undecided whether 2 ms would"
            " be better"
        )
    ]


ACTIVITY = """\
activity: 1
title: A program
parameters: {work: {value: 10 ms, meaning: work of a step}, wait: 2 ms}
population: {processors: 4, called: thread}
cycle: [{name: compute, delay: work}, {name: rest, delay: wait, component: rest}]
"""


def study_of(
    folder: Path, text: str, program: str = ACTIVITY
) -> tuple[list[str], TextTable | None]:
    """Run a study of a small program, and return the head of its report and its table."""
    (folder / "program.yaml").write_text(program)
    (folder / "study.yaml").write_text(f"study: 1\n{text}")
    results = run(prepare(str(folder / "study.yaml")))
    return head_lines(results, results.answer), decision_table(results, results.answer)


def test_cases_of_the_same_work_are_compared_by_their_titles(tmp_path: Path) -> None:
    head, table = study_of(
        tmp_path,
        "base: {title: today, model: program.yaml}\n"
        "cases:\n  less-rest: {title: without rest, parameters.wait: 0 ms}\n"
        "  more-work: {parameters.work: 20 ms}\n",
    )
    assert head[:2] == [
        "Compared with today: 1.2 times as fast without rest.",
        "Time 12 ms for today and 22 ms for more work.",
    ]
    assert head[2].startswith(
        "Today: time 12 ms; a thread spends 83.3 % of its time on useful work"
    )
    assert head[-1] == "The formulas of the model are solved exactly, by closed form."
    assert table is not None
    assert [row[0] for row in table.rows] == ["today", "without rest", "more work"]


ONE_LOCK = """\
activity: 1
population: {processors: 32}
useful: [parse]
resources: {session: {lock: fifo}}
cycle:
- {name: parse, delay: 120 us, scv: 1, component: parse}
- {hold: session, body: [{name: update, delay: 15 us, scv: 1, component: update}]}
"""
FOUR_LOCKS = ONE_LOCK.replace("lock: fifo", "lock: fifo, count: 4")


@pytest.mark.parametrize(
    ("four", "compared"),
    [
        (FOUR_LOCKS, "2.88 times as much for four locks and 2 times as much for half the time"),
        (FOUR_LOCKS.replace("processors: 32", "arrivals: 9 /ms"), "2 times as much for half the"),
    ],
)
def test_a_case_of_another_file_is_compared_where_it_has_the_same_load(
    four: str, compared: str, tmp_path: Path
) -> None:
    """A lock for 15 us lets 66 670 threads pass in a second."""
    (tmp_path / "four.yaml").write_text(four)
    head, _ = study_of(
        tmp_path,
        "title: How much faster do threads become with four locks in place of one?\n"
        "base: {title: one lock, model: program.yaml}\n"
        "cases:\n  four: {title: four locks, model: four.yaml}\n"
        "  half: {title: half the time, cycle.1.body.0.delay: 7.5 us}\n"
        "answer: [throughput]\n",
        ONE_LOCK,
    )
    assert head[0].startswith(f"Throughput compared with one lock: {compared}")


_SERVICE = """queueing-network: 1
classes: {calls: {arrivals: 30 /s}}
stations:
  web: {servers: 2, service: {calls: 20 ms}}
  app: {servers: 2, service: {calls: 40 ms}}
  db: {servers: 2, service: {calls: 30 ms}}
"""


def test_an_approximate_percentile_of_exact_means_is_not_called_exact(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The percentile of three stations, of which the second has several servers."""
    asked = 'answer: ["response_time_quantile[calls,0.95]", "response_time[calls]"]\n'
    head, _ = study_of(tmp_path, f"base: {{model: program.yaml}}\n{asked}", _SERVICE)
    assert head[-1] == (
        "The formulas of the model are solved exactly, by mean value analysis, except time within"
        " which 95 % of calls are answered (approximate, with an interval)."
    )
    assert main(["run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out")]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("base "))
    assert re.search(r"\(.* to .*\) ms +exact +no$", row)


def test_methods_that_are_compared_in_different_models_compare_no_models(tmp_path: Path) -> None:
    (tmp_path / "four.yaml").write_text(FOUR_LOCKS)
    study = (
        "base: {title: one lock, model: program.yaml}\n"
        "cases: {four: {%s}}\nanswer: [throughput]\n"
        "agree: {methods: [mean-value, bounds]}\n"
    )
    for case, is_compared in [("model: four.yaml", False), ("population.processors: 8", True)]:
        head, _ = study_of(tmp_path, study % case, ONE_LOCK)
        assert any("ompared with one lock" in line for line in head) is is_compared


def test_cases_with_the_same_ratio_are_listed_together(tmp_path: Path) -> None:
    head, _ = study_of(
        tmp_path,
        "base: {title: today, model: program.yaml}\n"
        "cases:\n  a: {title: A, parameters.wait: 0 ms}\n  b: {title: B, parameters.wait: 0 ms}\n"
        "  c: {title: C, parameters.wait: 14 ms}\n",
    )
    assert head[0] == "Compared with today: 1.2 times as fast for A and B; 2 times as long for C."


def test_an_answer_from_assumed_inputs_is_not_said_to_be_without_a_doubt(tmp_path: Path) -> None:
    """The work takes most of the time; what is assumed and does not change it is not counted."""
    assumed = ACTIVITY.replace("meaning: work of a step}", "meaning: work, assumed: true}").replace(
        "wait: 2 ms}", "wait: {value: 2 ms, assumed: true}, none: {value: 3 ms, assumed: true}}"
    )
    assumed = assumed.replace("delay: work}", "delay: work + 0 * none}")
    head, _ = study_of(tmp_path, "base: {model: program.yaml}\n", assumed)
    assert head[-1] == (
        "The formulas of the model are solved exactly, by closed form; 2 of its inputs are assumed:"
        " work and wait."
    )
    head, _ = study_of(tmp_path, "base: {model: program.yaml, parameters.work: 1 ms}\n", assumed)
    assert head[-1].endswith("solved exactly, by closed form; one of its inputs is assumed: wait.")


def test_a_title_that_asks_what_if_is_answered_by_each_case(tmp_path: Path) -> None:
    """More work as well: what each case takes is told, and not that one is faster."""
    head, _ = study_of(
        tmp_path,
        "title: What if the threads rest less, or do more?\n"
        "base: {title: today, model: program.yaml}\n"
        "cases:\n  less-rest: {title: without rest, parameters.wait: 0 ms}\n"
        "  more-work: {title: twice the work, parameters.work: 20 ms}\n",
    )
    assert head[:2] == [
        "Without rest: time 10 ms instead of 12 ms, 16.7 % less.",
        "Twice the work: time 22 ms instead of 12 ms, 83.3 % more.",
    ]
    assert head[2].startswith("Today: time 12 ms;")


def test_a_case_that_saturates_says_so_in_the_head(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    text = (
        "study: 1\ntitle: What if half of the application servers are away?\n"
        "base: {model: service.yaml, classes.requests.arrivals: 180 /s}\n"
        "cases: {half: {title: Two servers, stations.app.servers: 2}}\n"
    )
    (tmp_path / "study.yaml").write_text(text)
    results = run(prepare(str(tmp_path / "study.yaml")))
    assert head_lines(results, results.answer)[0] == (
        "Two servers: no answer, because station app is saturated: arrivals need 2.16 s of service"
        " a second, and it gives less than 2."
    )


def test_a_parameter_that_is_the_number_of_processors_needs_no_meaning(tmp_path: Path) -> None:
    text = ACTIVITY.replace("processors: 4", "processors: p").replace(
        "parameters: {", "parameters: {p: 4, "
    )
    (tmp_path / "program.yaml").write_text(text)
    (tmp_path / "study.yaml").write_text(
        "study: 1\nbase: {model: program.yaml}\nvary: {parameters.p: [1, 2, 8]}\n"
        "answer: [throughput]\n"
    )
    results = run(prepare(str(tmp_path / "study.yaml")))
    assert "with 1 thread to" in head_lines(results, results.answer)[1]


def test_a_title_that_is_no_text_is_refused_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="write a title, a few words for the report") as refused:
        study_of(tmp_path, "base: {title: [a], model: program.yaml}\n")
    assert refused.value.problems[0].path == "base.title"


def test_a_changed_parameter_keeps_its_meaning(tmp_path: Path) -> None:
    head, _ = study_of(
        tmp_path,
        "base: {model: program.yaml, parameters.work: 20 ms}\nrank: {of: [parameters.work]}\n",
    )
    assert head[0] == "Half the work of a step saves most: 45.5 % of the time."


def test_a_sweep_alone_is_told_from_end_to_end(tmp_path: Path) -> None:
    head, _ = study_of(
        tmp_path, "base: {model: program.yaml}\nvary: {parameters.work: [1 ms, 2 ms, 4 ms]}\n"
    )
    assert (
        "Time goes from 3 ms with a work of a step of 1 ms to 6 ms with a work of a step of 4"
        in head[1]
    )


def test_a_title_that_asks_how_a_value_changes_is_answered_by_the_sweep(tmp_path: Path) -> None:
    head, _ = study_of(
        tmp_path,
        "title: How does the time of a step grow with its work?\n"
        "base: {model: program.yaml}\nvary: {parameters.work: [1 ms, 4 ms]}\n",
    )
    assert head[0].startswith("Time goes from 3 ms with a work of a step of 1 ms to 6 ms")


def test_a_ranking_does_not_answer_how_long_a_step_takes(tmp_path: Path) -> None:
    head, _ = study_of(
        tmp_path,
        "title: How long is a step?\nbase: {model: program.yaml}\nrank: {of: [parameters.work]}\n",
    )
    assert head[0].startswith("As given: time 12 ms; a thread spends")
    assert head[1].startswith("Half the work of a step saves most")


SERVICE = """
queueing-network: 1
title: A service
classes: {requests: {arrivals: 140 /s}}
stations:
  app: {servers: 4, service: {requests: 12 ms}}
  db: {servers: 1, service: {requests: 5 ms}}
"""


def _heads(folder: Path, text: str) -> list[str]:
    (folder / "service.yaml").write_text(SERVICE)
    (folder / "study.yaml").write_text(f"study: 1\ntitle: t\nbase: {{model: service.yaml}}\n{text}")
    prepared = prepare(str(folder / "study.yaml"))
    return head_lines(run(prepared), prepared.spec.answer)


@pytest.mark.parametrize(
    ("title", "beginning"),
    [
        ("How much faster are eight servers?", "Response time of requests compared with base: "),
        ("How much time does a request take?", "Base: response time of requests "),
    ],
)
def test_a_comparison_answers_how_much_faster_a_case_is(
    title: str, beginning: str, tmp_path: Path
) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    (tmp_path / "study.yaml").write_text(
        f"study: 1\ntitle: {title}\nbase: {{model: service.yaml}}\n"
        "cases: {eight-servers: {stations.app.servers: 8}}\n"
    )
    prepared = prepare(str(tmp_path / "study.yaml"))
    assert head_lines(run(prepared), prepared.spec.answer)[0].startswith(beginning)


@pytest.mark.parametrize(
    ("title", "answer"),
    [
        (
            "Would a slow disk help?",
            "No, slow disk takes 1.5 times as long as today; half the work",
        ),
        (
            "Would less rest help?",
            "Yes, less rest saves 8.33 % of the time; half the work of a step",
        ),
        ("Would half the work of a step help?", "Yes, half the work of a step saves most: 41.7 %"),
        (
            "Would it help to have half the rest?",
            "Today: half the work of a step saves most: 41.7 %",
        ),
        ("Would less rest not help?", "Today: half the work of a step saves most: 41.7 %"),
        (
            "Would a slow disk with less rest help?",
            "Today: half the work of a step saves most: 41.7 %",
        ),
        ("Does less rest or a slow disk help most?", "Less rest is the fastest of 3: 11"),
    ],
)
def test_a_title_that_asks_whether_a_change_helps_is_answered_by_the_ranking(
    title: str, answer: str, tmp_path: Path
) -> None:
    """A step works for 10 ms and rests for 2 ms."""
    (tmp_path / "more.yaml").write_text(ACTIVITY.replace("wait: 2 ms", "wait: 8 ms"))
    (tmp_path / "less.yaml").write_text(ACTIVITY.replace("wait: 2 ms", "wait: 1 ms"))
    head, _ = study_of(
        tmp_path,
        f"title: {title}\nbase: {{title: today, model: program.yaml}}\nrank: {{cases: [base]}}\n"
        "cases: {disk: {title: slow disk, model: more.yaml},"
        " rest: {title: less rest, model: less.yaml}}\n",
    )
    assert head[0].startswith(answer)
    results = run(prepare(str(tmp_path / "study.yaml")))
    is_answered = answer.startswith(("No", "Yes", "Less"))
    assert is_title_answered(results) is is_answered


SEEK_WAIT = (
    "seek: {even: {of: parameters.wait, from: 0.1 ms, to: 9 ms, cases: [quick],"
    " where: time <= 11.5 ms}}\n"
)


@pytest.mark.parametrize("order", [*permutations(("rank: {cases: [base, quick]}\n", SEEK_WAIT))])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize(
    "title", ["Which of two offers has the lower time?", "Is Birch faster than Amber?"]
)
def test_the_case_that_a_title_asks_for_comes_first_beside_any_questions(
    title: str, count: int, order: tuple[str, ...], tmp_path: Path
) -> None:
    head, table = study_of(
        tmp_path,
        f"title: {title}\nbase: {{title: Amber, model: program.yaml}}\n"
        "cases: {quick: {title: Birch, parameters.wait: 1 ms}}\n" + "".join(order[:count]),
    )
    if count == 0 and title.startswith("Is"):
        return
    assert head[0].startswith("Birch is the fastest of 2: 11 ms; next is Amber, 12 ms")
    assert table is not None
    assert [row[0] for row in table.rows] == ["Amber", "Birch"]


@pytest.mark.parametrize(
    ("title", "words_of_line"),
    [
        ("How far does it scale, and what limits it?", ("at least 70 %", "limits the throughput")),
        ("What limits it, and how far does it scale?", ("limits the throughput", "at least 70 %")),
        ("What limits it, and what would help most?", ("limits the throughput", "saves most")),
        ("What would help most, and what limits it?", ("saves most", "limits the throughput")),
    ],
)
def test_the_first_line_answers_in_the_order_of_the_title_and_names_the_cases(
    title: str, words_of_line: tuple[str, str], tmp_path: Path
) -> None:
    program = (
        "activity: 1\nparameters: {shade: 18 ms, decode: 0.9 ms}\npopulation: {processors: 8}\n"
        "useful: [shade]\nresources: {decoder: {servers: 1}}\n"
        "cycle:\n  - {name: shade, delay: shade, component: shade}\n"
        "  - {name: decode, service: decoder, time: decode}\n"
    )
    head, _ = study_of(
        tmp_path,
        f"title: {title}\nbase: {{title: One decoder, model: program.yaml}}\n"
        "cases: {two: {title: Two decoders, resources.decoder.servers: 2}}\n"
        "answer: [throughput, efficiency]\n"
        "bottleneck: {along: {population.processors: {from: 1, to: 64, step: 1}}}\n"
        "seek: {good: {of: population.processors, from: 1, to: 64, step: 1,"
        " cases: [base, two], where: efficiency >= 0.7}}\nrank: {change: 50%}\n",
        program,
    )
    places = [head[0].find(words) for words in words_of_line]
    assert 0 <= places[0] < places[1]
    # Each sentence on one case names it.
    for sentence in head[0].split("; "):
        if "limits the throughput" in sentence or "saves most" in sentence:
            assert sentence.casefold().startswith("one decoder: ")


def test_laws_side_by_side_are_told_at_the_end_of_their_axis(tmp_path: Path) -> None:
    head = _heads(
        tmp_path,
        "cases:\n"
        "  amdahl: {title: Amdahl, model: law/amdahl-speedup, serial: 5%, processors: 64}\n"
        "  gustafson:\n"
        "    {title: Gustafson, model: law/gustafson-speedup, serial: 5%, processors: 64}\n"
        "answer: ['response_time[requests]', speedup]\n"
        "vary: {laws: {cases: [amdahl, gustafson], axes: {processors: [1, 256]}}}\n",
    )
    assert "With 256 processors the speed-up is 18.62 for Amdahl and 243.2 for Gustafson." in head


def test_values_of_two_kinds_at_the_end_of_an_axis_are_apart_by_a_comma(tmp_path: Path) -> None:
    head = _heads(
        tmp_path,
        "cases:\n"
        "  amdahl: {title: Amdahl, model: law/amdahl-speedup, serial: 5%, processors: 64}\n"
        "  usl: {title: USL, model: law/universal-scalability, contention: 5%, coherency: 0.001,"
        " processors: 64}\n"
        "answer: [speedup, capacity]\n"
        "vary: {laws: {cases: [amdahl, usl], axes: {processors: [1, 256]}}}\n",
    )
    beginning = "With 256 processors the speed-up is 18.62 for Amdahl, and the capacity is "
    assert any(line.startswith(beginning) for line in head), head


@pytest.mark.turns(4)
def test_the_base_says_what_a_search_looked_for_and_a_network_calls_its_customers(
    tmp_path: Path,
) -> None:
    chosen = _heads(
        tmp_path,
        "choose: {vary: {stations.app.servers: [2, 3, 4, 5]}, cost: {stations.app.servers: 1},"
        " minimize: cost, where: 'response_time[requests] <= 40 ms'}\n",
    )
    assert chosen[0].startswith("The cheapest is 3 app servers") or chosen[0].startswith(
        "The cheapest are 3 app servers"
    )
    assert chosen[1].startswith("As given (4 app servers): response time of requests ")
    assert "; a request spends " in chosen[1]
    sought = _heads(
        tmp_path,
        "cases: {two: {title: two db servers, stations.db.servers: 2}}\n"
        "seek: {load: {of: classes.requests.arrivals, from: 20 /s, to: 195 /s, step: 5 /s,"
        " where: 'response_time[requests] <= 20 ms', cases: [base, two]}}\n",
    )
    assert [line for line in sought if "requests a second for base and " in line], sought
    assert [line for line in sought if line.startswith("Base as given (140 requests a s")], sought
    never = _heads(
        tmp_path,
        "seek: {few: {of: stations.db.servers, from: 1, to: 9, step: 1,"
        " where: 'response_time[requests] <= 3 ms'}}\n",
    )
    assert "never (db servers from 1 to 9; at best " in never[0]


def test_several_ranked_cases_stand_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    (tmp_path / "study.yaml").write_text(
        "study: 1\ntitle: t\nbase: {title: today, model: service.yaml}\n"
        "cases: {two: {title: two db servers, stations.db.servers: 2}}\n"
        "rank: {change: 10%, cases: [base, two]}\n"
    )
    prepared = prepare(str(tmp_path / "study.yaml"))
    results = run(prepared)
    lines = head_lines(results, prepared.spec.answer)
    assert lines[0].startswith("Today: 10 % less ")
    assert lines[1].startswith("Two db servers: 10 % less ")
    table = decision_table(results, prepared.spec.answer)
    assert table is not None
    assert table.titles == ["time saved by", "today", "two db servers"]
    assert all(row[1] and row[2] for row in table.rows)


SHOP = """\
queueing-network: 1
classes: {requests: {arrivals: 60 /s}}
stations: {web: {servers: 2, service: {requests: 8 ms}}, db: {service: {requests: 12 ms}}}
"""
CHANGES = """\
base: {model: shop.yaml}
cases:
  db: {title: A second database server, stations.db.servers: 2}
  web: {title: Two more web servers, stations.web.servers: 4}
answer: ["response_time[requests]"]
"""


CROSSING = """\
activity: 1
parameters: {start: 1 ms, per_row: 1 ms, rows: {value: 10, meaning: rows of a step}}
population: {processors: 4}
cycle:
  - {name: compute, delay: 10 ms}
  - {name: copy, delay: start + per_row * rows, component: copy}
"""


def test_the_best_case_is_told_with_its_setting_and_where_a_sweep_has_another(
    tmp_path: Path,
) -> None:
    """By hand 11 + n ms and 14 + n / 10 ms: the order changes between 3 and 4 rows."""
    cases = "cases: {other: {parameters.start: 4 ms, parameters.per_row: 0.1 ms}}\n"
    vary = "vary: {rows: {axes: {parameters.rows: [2, 3, 4, 10]}, cases: [base, other]}}\n"
    text = f"title: Which is faster?\nbase: {{model: program.yaml}}\n{cases}"
    head, _ = study_of(tmp_path, text + vary, CROSSING)
    assert head[0] == (
        "Other is the fastest of 2 with 10 rows of a step: 15 ms; next is base,"
        " 21 ms; base is faster with 2 rows of a step and 3 rows of a step."
    )
    # What does less work is faster everywhere, and is not compared.
    (tmp_path / "small.yaml").write_text(CROSSING.replace("10 ms", "1 ms"))
    unlike = "cases: {small: {model: small.yaml}, other"
    third = text.replace("cases: {other", unlike) + vary.replace("other]", "small, other]")
    head, _ = study_of(tmp_path, third, CROSSING)
    best = next(line for line in head if "is the fastest of" in line)
    assert best.endswith("; base is faster with 2 rows of a step and 3 rows of a step.")
    head, _ = study_of(tmp_path, text + vary.replace("2, 3, ", ""), CROSSING)
    assert head[0] == (
        "Other is the fastest of 2 with 10 rows of a step: 15 ms; next is base, 21 ms."
    )


@pytest.mark.turns(4)
def test_a_title_that_asks_which_is_answered_by_the_best_case(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    head, _ = study_of(tmp_path, f"title: Which change helps most?\n{CHANGES}")
    assert head[0] == (
        "A second database server is the best of 3: the shortest response time of requests"
        ", 22.28 ms; next is Two more web servers, 50.86 ms."
    )
    search = (
        "seek: {load: {of: classes.requests.arrivals, from: 1 /s, to: 400 /s,"
        " where: 'response_time[requests] <= 50 ms', cases: [base, db]}}\n"
    )
    best = "A second database server is the best of 3 with 60 requests a second: the"
    head, _ = study_of(tmp_path, f"title: Which change helps most?\n{CHANGES}{search}")
    assert head[0].startswith(best)
    head, _ = study_of(tmp_path, f"title: How many requests can it take?\n{CHANGES}{search}")
    assert head[0].startswith(
        "There can be at most 59.25 requests a second for base and at most 138.3"
    )
    assert head[0].endswith("; then response time of requests is at most 50 ms.")
    assert [line for line in head[1:] if line.startswith(best)]
    head, _ = study_of(tmp_path, f"title: What helps?\n{CHANGES}")
    assert not any("best of" in sentence for sentence in head)
    first, second, *_ = head
    assert first.startswith("Response time of requests compared with base: 0.")
    head, _ = study_of(tmp_path, f"title: How fast is the shop?\n{CHANGES}")
    # A title that asks for the value of the base is answered by it first.
    assert head[1] == first
    assert head[0] == second


SOUGHT = """\
seek:
  soon: {{of: parameters.work, from: 1 ms, to: 40 ms, where: time <= {limit}}}
"""
CHOSEN = """\
choose:
  vary: {parameters.work: [4 ms, 5 ms, 10 ms]}
  minimize: 0 - parameters.work
  where: time <= 8 ms
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("title", "questions", "expected"),
    [
        (
            "Does a cycle end within 20 ms?",
            SOUGHT.format(limit="20 ms"),
            (
                "Yes, with a work of a step of 10 ms: time is at most 20 ms if the work of a step "
                "is at most 18 ms."
            ),
        ),
        (
            "Does a cycle end within 8 ms?",
            SOUGHT.format(limit="8 ms"),
            (
                "No, with a work of a step of 10 ms: time is at most 8 ms if the work of a step is "
                "at most 6 ms."
            ),
        ),
        (
            "Do the methods agree?",
            "agree: {methods: [closed-form, simulation]}\n",
            "Yes: all methods agree within their stated errors.",
        ),
        (
            "Does a cycle take longer than 8 ms?",
            (
                "statements:\n"
                "  long: {value: time, of: [base], from: 8 ms, says: It takes 8 ms or more}\n"
            ),
            "Yes: it is true that it takes 8 ms or more; computed: base 12 ms.",
        ),
        (
            "Is a cycle over in 8 ms?",
            "statements:\n  over: {value: time, of: [base], to: 8 ms, says: It is over in 8 ms}\n",
            "No: it is not true that it is over in 8 ms; computed: base 12 ms.",
        ),
        (
            "Is ATM over in 8 ms?",
            "statements:\n  over: {value: time, of: [base], to: 8 ms, says: ATM is over in 8 ms}\n",
            "No: it is not true that ATM is over in 8 ms; computed: base 12 ms.",
        ),
        (
            "Can a cycle end within 8 ms?",
            CHOSEN,
            "Yes: the best work of a step is 5 ms,",
        ),
    ],
    ids=["sought", "sought in vain", "methods", "opposite", "statement", "abbreviation", "choice"],
)
def test_a_title_that_asks_yes_or_no_is_answered_in_the_first_line(
    tmp_path: Path, title: str, questions: str, expected: str
) -> None:
    head, _ = study_of(tmp_path, f"title: {title}\nbase: {{model: program.yaml}}\n{questions}")
    assert head[0].startswith(expected)


def test_a_title_that_may_ask_for_the_opposite_of_a_search_gets_neither_yes_nor_no(
    tmp_path: Path,
) -> None:
    """The search knows where a cycle is short; the title asks whether it is long."""
    title = "Does a cycle take longer than 8 ms?"
    head, _ = study_of(
        tmp_path, f"title: {title}\nbase: {{model: program.yaml}}\n{SOUGHT.format(limit='8 ms')}"
    )
    assert not head[0].startswith(("Yes", "No"))
    note = (
        "the title is a yes-or-no question, and nothing in the study answers it: write what has to"
        " be true under statements"
    )
    assert note in check_reference(str(tmp_path / "study.yaml"))[0]


@pytest.mark.parametrize(
    ("place", "held"),
    [(385, False), (386, True), (400, None), (2000, None), (500, True)],
)
def test_a_search_knows_whether_its_condition_holds_at_a_place(
    place: float, held: bool | None
) -> None:
    search = replace(SEARCH, undecided=((390.0, 410.0),))
    assert search.holds_at(place) is held


WEAK = """\
p,size,time [s]
1,1000,10.0
2,2000,10.2
4,4000,10.4
8,8000,10.6
16,16000,10.8
32,32000,11.0
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize(("target", "word"), [(40, "Yes, on"), (60, "Undecided, on")])
def test_a_prediction_that_the_title_names_is_answered_yes_or_no(
    tmp_path: Path, target: int, word: str
) -> None:
    """A throughput that rises no further would take 22 s, which is an efficiency of 45 %."""
    (tmp_path / "weak.csv").write_text(WEAK)
    (tmp_path / "study.yaml").write_text(
        f"study: 1\ntitle: Is my program at least {target} % efficient on 64 processors?\n"
        f"fits: {{runs: {{data: weak.csv, at: [64], efficiency: {target}%}}}}\n"
    )
    results = run(prepare(str(tmp_path / "study.yaml")))
    first, *_ = head_lines(results, results.answer)
    assert first.startswith(f"{word} 64 processors")
    assert ": time 11 (8.1 to 22) s and efficiency 8" in first


@pytest.mark.turns(4)
def test_an_undecided_prediction_is_told_once(tmp_path: Path) -> None:
    """The runs scatter by some 5 %, so that the efficiency on 32 processors is 41 % to 73 %."""
    times = ["10.0", "10.3", "5.3", "5.1", "2.8", "2.7", "1.49", "1.6", "0.92", "0.85"]
    rows = [f"{2 ** (index // 2)},{time}\n" for index, time in enumerate(times)]
    (tmp_path / "runs.csv").write_text("p,time [s]\n" + "".join(rows))
    (tmp_path / "study.yaml").write_text(
        "study: 1\ntitle: Is the efficiency on 32 processors at least 52 %?\n"
        "fits: {runs: {data: runs.csv, at: [32], efficiency: 52%}}\n"
    )
    results = run(prepare(str(tmp_path / "study.yaml")))
    first, *lines = head_lines(results, results.answer)
    beginning = "Undecided, on 32 processors (52 % lies within the interval): time "
    assert first.startswith(beginning)
    assert not any(first.removeprefix(beginning) in line for line in lines)


def _costing(case: str, cost: Value) -> ChosenPoints:
    point = replace(POINT, values={**POINT.values, "objective": cost})
    return replace(CHOICE, case=case, currency="dollars", found=(point,))


@pytest.mark.parametrize(
    ("costs", "first_clause", "second"),
    [
        ((27.0, 30.0), "HDR is the cheapest of 2, with", "next comes NDR (2 and 5, 30 dollars)"),
        (
            (27.0, 27.0),
            "HDR, like NDR, is the cheapest of 2, with",
            "next comes NDR (2 and 5, 27 dollars)",
        ),
        (
            (27.0, 28.0, 40.0),
            "HDR (undecided against NDR) is the cheapest of 3, with",
            (
                "next come NDR (2 and 5, 28 (26 to 30) dollars)"
                " and xdr (2 and 5, 40 (38 to 42) dollars)"
            ),
        ),
    ],
    ids=["apart", "equal", "intervals overlap"],
)
def test_of_a_choice_among_cases_the_best_its_equals_and_its_currency_are_named(
    costs: tuple[float, ...], first_clause: str, second: str
) -> None:
    values = [
        Value(cost, "1", cost - 2, cost + 2) if len(costs) > 2 else Value(cost, "1")
        for cost in costs
    ]
    choices = tuple(map(_costing, ("base", "ndr", "xdr"), values))
    first_head, second_head = ChooseResult(choices, True).headline(WORDS)
    cost = "27 (25 to 29)" if len(costs) > 2 else "27"
    assert first_head == (
        f"{first_clause} 2 web servers and 5 app servers, cost {cost} dollars; then {KEPT}"
    )
    assert second_head == second


def test_saturated_points_keep_no_limit_and_points_without_an_answer_decide_nothing() -> None:
    saturated, unanswered = (replace(CHOICE, found=(), unanswered=count) for count in (0, 4))
    words = [
        ChooseResult(choices).verdict(WORDS, {}).word
        for choices in ((saturated,), (unanswered,), (CHOICE, saturated), (CHOICE,))
    ]
    assert words == ["No", "Undecided", "In part", "Yes"]


def test_a_case_whose_lesser_value_is_undecided_may_be_cheaper() -> None:
    cheaper = replace(CHEAPER, values={**CHEAPER.values, "objective": Value(25.0, "1")})
    undecided_case = replace(CHOICE, case="ndr", found=(), nearest=POINT, undecided=(cheaper,))
    (head,) = ChooseResult((CHOICE, undecided_case), True).headline(WORDS)
    assert head.startswith("HDR (undecided against NDR) is the cheapest of 2, with")


def test_what_is_minimized_is_not_told_again_beside_an_equal_total() -> None:
    total = replace(CHOICE, totals={"all_servers": "7"}, is_objective_told=True)
    result = ChooseResult((total,))
    assert result.headline(WORDS) == [
        f"The cheapest are 7 all servers in all, 2 web servers and 5 app servers; then {KEPT}"
    ]
    decision = result.decision(WORDS)
    assert decision is not None
    assert decision[0][:4] == ["", "all servers", "web servers", "app servers"]
    assert decision[1][0][:4] == ["HDR", "7", "2", "5"]


def test_a_search_leaves_out_cases_that_differ_in_more_than_what_it_varies(tmp_path: Path) -> None:
    """A case with another number of processors is a point of the search over that number."""
    head, _ = study_of(
        tmp_path,
        "base: {title: four, model: program.yaml}\n"
        "cases:\n  eight: {population.processors: 8}\n  less-rest: {parameters.wait: 1 ms}\n"
        "seek: {wait: {of: population.processors, from: 1, to: 9, where: 'time <= 40 ms'}}\n",
    )
    (line,) = [line for line in head if line.startswith("The search varies")]
    assert line == "The search varies the threads in one case only, four; it leaves out less rest."


def test_many_remarks_on_the_answers_are_sentences_of_their_own(tmp_path: Path) -> None:
    long = "work of a step of the program that all threads do together in each of its many cycles"
    assumed = ACTIVITY.replace(
        "{value: 10 ms, meaning: work of a step}",
        f"{{value: 10 ms, assumed: true, meaning: {long}}}",
    ).replace(
        "wait: 2 ms}", f"wait: {{value: 2 ms, assumed: true, meaning: time after the {long}}}}}"
    )
    head, _ = study_of(tmp_path, "base: {model: program.yaml}\n", assumed)
    assert head[-1].startswith(
        "The formulas of the model are solved exactly, by closed form. 2 of its inputs are assumed:"
    )


def test_measured_values_have_the_best_and_the_worst_table_beside_their_mean_error() -> None:
    tables = tuple(
        PublishedTable(
            title,
            "",
            "",
            "us",
            ("a",),
            (TableRow("row", (TableCell("base", computed, 100.0, 0.0),), measured=True),),
        )
        for title, computed in (("ring", 110.0), ("tree", 101.0), ("mesh", 140.0))
    )
    (head,) = CompareResult(tables).headline(WORDS)
    assert head.endswith(", from 1 % (tree) to 40 % (mesh) in individual tables"), head


@pytest.mark.parametrize(
    ("ends", "clause"),
    [
        ((9e-3, 11e-3), "The answer is simulated and has an interval."),
        ((None, None), "The answer is simulated and has an interval; some values have none."),
    ],
)
def test_a_value_without_an_interval_is_told_beside_those_that_have_one(
    ends: tuple[float | None, float | None], clause: str
) -> None:
    quantile = Value(10e-3, "s", *ends)
    values = {"time": Value(5e-3, "s", 4e-3, 6e-3), "time_quantile[0.99]": quantile}
    answer = Answer("m", "simulation", values=values, exact=False)
    results = replace(with_sweeps(), cases={"base": answer})
    assert head_lines(results, list(values))[-1].startswith(clause)


def test_simulations_that_have_not_converged_are_counted_and_the_first_is_named() -> None:
    answers = {
        case: Answer(
            "m",
            "simulation",
            values={"time": Value(5e-3, "s", 4e-3, 6e-3)},
            exact=False,
            notes=(NotConverged.because(f"the mean time is known within {percent} %"),),
        )
        for case, percent in (("base", 20), ("slow", 30))
    }
    results = replace(with_sweeps(), cases=answers)
    line = head_lines(results, ["time"])[-1]
    assert "2 simulations have not converged, the first for base: the mean time is known" in line
    assert line.count("onverged") == 1


def test_a_value_that_is_equal_in_all_cases_has_no_column_unless_the_title_asks_for_it() -> None:
    """Two cases with the same serial time: the title decides whether it is shown."""
    answers = {
        case: Answer(
            "m",
            "closed-form",
            values={
                "time": Value(seconds, "s"),
                "account[serial]": Value(1.0, "s"),
                "account[busy]": Value(seconds - 1.0, "s"),
            },
        )
        for case, seconds in (("base", 5.0), ("slow", 6.0))
    }
    results = replace(with_sweeps(), cases=answers, title="Which is faster?")
    names = ["time", "account[serial]", "account[busy]"]
    table = decision_table(results, names)
    assert table is not None
    assert [*table.titles] == ["", "time", "time of useful work"]
    table = decision_table(replace(results, title="How long is the time of serial?"), names)
    assert table is not None
    assert [*table.titles] == ["", "time", "time of serial", "time of useful work"]


def test_no_case_is_best_of_equals(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    equal = CHANGES.replace("stations.db.servers: 2", "stations.db.servers: 1").replace(
        "stations.web.servers: 4", "stations.web.servers: 2"
    )
    head, _ = study_of(tmp_path, f"title: Which change helps most?\n{equal}")
    assert head[0].startswith("Response time of requests compared with")
    assert not [line for line in head if "best of" in line or "shortest" in line]
    head, _ = study_of(tmp_path, f"title: What if the shop grows?\n{equal}")
    assert [line for line in head if line.endswith(" (equal).")]


@pytest.mark.parametrize(
    "model",
    [
        "activity: 1\npopulation: {processors: 2}\ncycle: [{name: work, delay: 1 s}]\n",
        (
            "queueing-network: 1\nclasses: {jobs: {arrivals: 1 /s}}\n"
            "stations: {desk: {service: {jobs: 0.1 s}}}\n"
        ),
    ],
    ids=["activity", "network"],
)
def test_the_error_that_a_model_states_is_in_its_answers_and_heads(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(f"{model}measured_error: 5 to 16 % too fast on my machine\n")
    stated = "measured error of the model: 5 to 16 % too fast on my machine"
    answer = solve("mine.yaml")
    assert stated in answer.notes
    assert f"note: {stated}" in answer_text(answer)
    results = run_study({"study": 1, "base": {"model": "mine.yaml"}})
    sentence = head_lines(results, [*answer.values][:1])[-1]
    assert stated in sentence
    assert sentence.startswith("The formulas of the model are solved exactly, by ")
    Path("mended.yaml").write_text(
        f"{model.partition(chr(10))[0]}\nextends: mine.yaml\nmeasured_error: ''\n"
    )
    assert not [note for note in solve("mended.yaml").notes if "measured error" in note]


SLOW = "  busy: {title: on release day, classes.requests.arrivals: 900 /s}\n"


def test_a_case_and_a_point_without_an_answer_are_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    head, _ = study_of(
        tmp_path,
        "title: The application servers\n"
        "base: {title: now, model: service.yaml}\n"
        f"cases:\n{SLOW}vary: {{stations.app.servers: [1, 2, 8]}}\n",
    )
    assert "No answer as given on release day, because station" in head[-1]
    assert re.search(
        r"\d points? ha(s|ve) no answer, (the first )?with 1 app server for now: station app is"
        r" saturated: arrivals need [\d.]+ s of service a second, and it gives less than 1\.",
        head[-1],
    )


def test_a_case_after_one_that_saturates_has_its_value(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    head, _ = study_of(
        tmp_path,
        "title: What if there are more servers?\n"
        "base: {title: two servers, model: service.yaml,"
        " stations.app.servers: 1, classes.requests.arrivals: 180 /s}\n"
        "cases: {more: {title: many servers, stations.app.servers: 30}}\n",
    )
    assert re.match(r"Many servers: response time of requests [\d.]+ ms\.$", head[0])
    assert head[1].startswith("Two servers: no answer: station app is saturated")


def test_a_title_that_asks_which_case_is_faster_is_answered_before_searches(tmp_path: Path) -> None:
    """The two do different work, and a search along another quantity examines both."""
    cases = (
        "base: {title: old, model: program.yaml}\n"
        "cases: {new: {title: new, parameters.work: 5 ms}}\n"
        "seek: {half: {cases: [base, new], of: parameters.wait, from: 0 ms, to: 100 ms,"
        " where: efficiency >= 0.5}}\n"
    )
    head, _ = study_of(tmp_path, f"title: Which program is faster?\n{cases}")
    assert head[0] == "Of 2, new has the shortest time with a wait of 2 ms: 7 ms (old 12 ms)."
    head, _ = study_of(tmp_path, f"title: Which wait leaves half of the time?\n{cases}")
    assert head[0].startswith("Efficiency is at least 50 % if the")


def test_a_title_that_asks_yes_or_no_and_has_no_answer_begins_with_the_base(tmp_path: Path) -> None:
    text = "title: %s\nbase: {model: program.yaml}\ncases: {more: {parameters.wait: 1 ms}}\n"
    head, _ = study_of(tmp_path, text % "Does a cycle end within 15 ms?")
    assert head[0].startswith("Base: time 12 ms;")
    head, _ = study_of(tmp_path, text % "Is a shorter wait worth it?")
    assert head[0].startswith("Compared with base: ")
    results = run(prepare(str(tmp_path / "study.yaml")))
    assert not is_title_answered(results)
    assert is_title_answered(replace(results, title="How long does it take?"))


def test_a_stated_error_names_the_cases_of_its_model(tmp_path: Path) -> None:
    stated = "measured_error: 5 % too fast\n"
    (tmp_path / "program.yaml").write_text(ACTIVITY + stated)
    (tmp_path / "other.yaml").write_text(ACTIVITY)
    (tmp_path / "study.yaml").write_text(
        "study: 1\nbase: {title: measured, model: program.yaml}\n"
        "cases: {other: {title: another, model: other.yaml}}\n"
    )
    results = run(prepare(str(tmp_path / "study.yaml")))
    basis = head_lines(results, results.answer)[-1]
    assert "easured error of the model of measured: 5 % too fast" in basis


SAMPLED = "sample: {of: {parameters.work: {distribution: uniform, from: 5 ms, to: 15 ms}}%s}\n"
STATED = "statements: {soon: {value: time, of: [base], to: 15 ms, says: a cycle ends soon}}\n"
SEARCHED = SOUGHT.format(limit="15 ms")
UNDER_STATEMENTS = (
    'what has to be true under statements, such as it: {value: "time", of: [base], to: LIMIT, says:'
    ' "THE TITLE AS A STATEMENT"}'
)


@pytest.mark.parametrize(
    ("title", "questions", "way_out"),
    [
        ("Does it end in time?", "", f"the condition under seek or choose, or {UNDER_STATEMENTS}"),
        ("Does it end in time?", SEARCHED, ""),
        ("Does it take less than 15 ms?", SEARCHED, ""),
        ("Does it take more than 15 ms?", SEARCHED, UNDER_STATEMENTS),
        ("Does it take less than 16 ms?", SEARCHED, UNDER_STATEMENTS),
        ("Does it take less than 15 ms?", STATED, ""),
        ("Does it take less than 15 ms?", SAMPLED % "", "the condition under watch of sample"),
        ("Does it end in time?", SAMPLED % "" + STATED, "the condition under watch of sample"),
        ("Does it take less than 15 ms?", SAMPLED % ", watch: [time <= 15 ms]", ""),
        ("Does it end in time?", SAMPLED % ", watch: [time <= 15 ms]" + STATED, ""),
        ("How long does it take?", "", ""),
    ],
)
def test_check_and_run_give_the_same_advice_on_a_title_that_nothing_answers(
    title: str, questions: str, way_out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _ = study_of(tmp_path, f"title: {title}\nbase: {{model: program.yaml}}\n{questions}")
    path, out = str(tmp_path / "study.yaml"), str(tmp_path / "out")
    assert main(["run", path, "--no-html", "--out", out]) == 0
    notes_of_run = [line for line in capsys.readouterr().err.splitlines() if "yes-or-no" in line]
    notes_of_check = [
        note for note in "; ".join(check_reference(path)).split("; ") if "yes-or-no" in note
    ]
    beginning = "the title is a yes-or-no question, and nothing in the study answers it: write "
    assert notes_of_check == [beginning + way_out] * bool(way_out)
    assert notes_of_run == [f"note: {beginning}{way_out}"] * bool(way_out)
    # Where there is no note, something answers the title.
    if not way_out and title.endswith("time?"):
        assert re.match("Yes|No|Undecided|Probably", head[0])


def test_a_table_of_searches_has_the_asked_values_at_each_limit(tmp_path: Path) -> None:
    """At 6 and at 9 jobs a second, with 0.1 s and 0.08 s each, a queue of one server has the
    utilization of the rate times the time, and the response time of this over its idle share.
    """
    (tmp_path / "desk.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 1 /s}}\n"
        "stations: {desk: {service: {jobs: 0.1 s}}}\n"
    )
    path = tmp_path / "study.yaml"
    path.write_text(
        "study: 1\ntitle: t\nbase: {model: desk.yaml}\n"
        "cases: {fast: {stations.desk.service.jobs: 0.08 s}}\n"
        "answer: ['response_time[jobs]', 'utilization[desk]']\n"
        "seek: {load: {of: classes.jobs.arrivals, from: 1 /s, to: 12 /s, step: 1 /s,"
        " where: 'response_time[jobs] <= 0.3 s', cases: [base, fast]}}\n"
    )
    prepared = prepare(str(path))
    table = decision_table(run(prepared), prepared.spec.answer)
    assert table is not None
    assert [*table.titles][2:] == [
        "response time of jobs at the limit",
        "utilization of desk at the limit",
    ]
    assert [row[1:] for row in table.rows] == [
        ["at most 6 /s", "250 ms", "60 %"],
        ["at most 9 /s", "285.7 ms", "72 %"],
    ]


def test_a_title_that_asks_for_the_best_case_has_the_table_of_cases_first(tmp_path: Path) -> None:
    """The table of a search repeats its sentence; what the title asks for is the time, which the
    table has with the setting at which the cases are compared.
    """
    (tmp_path / "shop.yaml").write_text(SHOP)
    (tmp_path / "study.yaml").write_text(
        f"study: 1\ntitle: Which change helps most?\n{CHANGES}"
        "seek: {load: {of: classes.requests.arrivals, from: 1 /s, to: 400 /s,"
        " where: 'response_time[requests] <= 50 ms', cases: [base, db]}}\n"
    )
    prepared = prepare(str(tmp_path / "study.yaml"))
    results = run(prepared)
    table = decision_table(results, prepared.spec.answer)
    assert table is not None
    assert [*table.titles] == ["with 60 requests a second", "response time of requests"]
    times = [answer["response_time[requests]"] or 0.0 for answer in results.cases.values()]
    assert [row[1] for row in table.rows] == [f"{time / 1e-3:.4g} ms" for time in times]


_TWO_GROUPS = (
    "activity: 1\ngroups:\n  readers: {processors: 4, cycle: [{name: think, delay: 9 ms, component:"
    " busy}, {name: read, service: bus, time: 1 ms, component: bus}]}\n  writers: {processors: 2,"
    " cycle: [{name: rest, delay: 3 ms, component: busy}, {name: write, service: bus, time: 2 ms,"
    " component: bus}]}\nresources: {bus: {servers: 1}}\n"
)


def test_the_parts_of_a_time_name_the_group_that_they_belong_to(tmp_path: Path) -> None:
    head, _ = study_of(tmp_path, "base: {model: program.yaml}\n", _TWO_GROUPS)
    assert head[0].startswith("Time of readers ")
    assert "; a processor of the group readers spends " in head[0]


def test_a_simulation_without_random_times_is_told_apart_from_formulas(tmp_path: Path) -> None:
    base = "base: {model: program.yaml}\n"
    simulated = "each simulated answer is computed by one run; no time is random, so there is no"
    alone = "groups.readers.processors: 1, groups.writers.processors: 1, resources.bus.servers: 2"
    for cases, formulas in (("", False), (f"cases: {{alone: {{{alone}}}}}\n", True)):
        head, _ = study_of(tmp_path, base + cases, _TWO_GROUPS)
        assert simulated in head[-1].replace("Each", "each")
        assert ("solved exactly, by" in head[-1]) == formulas, head[-1]
        assert "by simulation" not in head[-1]
    answer = solve(str(tmp_path / "program.yaml"))
    assert answer.exact
    assert "by simulation: without sampling error, since no time is random" in answer_text(answer)


def test_every_note_of_a_solved_model_is_in_the_report_of_a_study(tmp_path: Path) -> None:
    """Notes of the model's file, such as on messages that share an adapter, and of its methods."""
    (tmp_path / "model.yaml").write_text(
        "activity: 1\nmachine: machine.yaml\nparameters: {cells: 150000}\n"
        "population: {processors: 64}\nuseful: [arithmetic]\n"
        "cycle:\n  - {name: physics, flops: cells * 900, component: arithmetic}\n"
        "  - {name: halo, message: 300 kB}\n"
        "  - {collective: allreduce, size: 64 B}\n"
    )
    (tmp_path / "machine.yaml").write_text(
        "machine: 1\ntitle: Nodes\nprocessors: {count: 64, flops: 1e10 /s}\n"
        "network: infiniband-hdr\n"
        "node: {processors: 16, adapters: 1, network: shared-memory-2016}\n"
    )
    (tmp_path / "study.yaml").write_text("study: 1\nbase: {model: model.yaml}\nanswer: [time]\n")
    notes = solve(str(tmp_path / "model.yaml")).notes
    assert any("alone" in note for note in notes)
    assert any("collective" in note for note in notes)
    results = run(prepare(str(tmp_path / "study.yaml")))
    assert results.cases["base"].notes == notes
    main(["run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out"), "--no-html"])
    pages = " ".join(page.read_text() for page in (tmp_path / "out").glob("*.md"))
    assert all(note in pages.replace("\\", "") for note in notes)
