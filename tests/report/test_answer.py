"""Answers in the terminal: one word for word, and what must never happen to any."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slipstick import delay, network, open_class, service, solve, station
from slipstick.answer import (
    ANSWERED,
    Answer,
    AskedValue,
    Limit,
    Rejected,
    Takeover,
    Value,
    Verdict,
)
from slipstick.cli.main import main
from slipstick.errors import SlightlyBeyond
from slipstick.expression.nodes import RATE, TIME
from slipstick.model.system import grouped_model
from slipstick.report.answer import answer_text, answers_text, stated_rate_unit, sweep_text
from slipstick.report.formatting import (
    WIDTH,
    common_and_differing_columns,
    plain_table,
    setting_amount,
)
from slipstick.results.words import NO_WORDS
from slipstick.schema.kinds.quantity import DescribedValue, Given
from slipstick.vocabulary import AGREED, METHODS, NOT_CHECKED, REPLACED, SIMULATION, UNDECIDED
from tests.report.made_up import BASE, BROKEN, FASTER

TEXT = """\
dvsm/diff-request: time 1.705 ms, throughput 586.5 /s
where the time goes: 58.7 % useful work, 41.3 % fault
dvsm/diff-request in closed form, without queueing; the notes say what is left out

value         amount
----------  --------
time        1.705 ms
throughput  586.5 /s

component      time    part
-----------  ------  ------
busy           1 ms  58.7 %
fault        705 us  41.3 %

technology class      time    part
------------------  ------  ------
protocol            1.2 ms  70.4 %
wire                505 us  29.6 %

step      once    in all    part
------  ------  --------  ------
send    400 us    1.2 ms  70.4 %
wire    505 us    505 us  29.6 %

what shortens time         change    saves    share    now  meaning
-----------------------  --------  -------  -------  -----  -----------------------------
send_call                    -1 %    0.7 %     70 %  42 us  extra system time of one send
machine.network.adapter      -1 %    0.3 %     30 %

diffs is limited by sends (one item: sends 146 us, wire 12 us)
  machine.network.adapter, 25 us now: wire from 40 us on

note: leaves out waiting for own
"""


def _entry(path: str, meaning: str) -> DescribedValue:
    return DescribedValue(path, Given(42e-6, TIME, "42 us"), meaning, "")


def test_an_answer_word_for_word() -> None:
    described = {"send_call": _entry("send_call", "extra system time of one send")}
    assert answer_text(replace(BASE, described=described), in_full=True) == TEXT


def test_stages_that_take_the_same_time_are_told_as_a_range() -> None:
    stages = {"a": 1e-3, **{f"work.{k}": 2e-3 for k in range(1, 65)}, "b": 3e-3, "c": 3e-3}
    text = answer_text(replace(BASE, limits=(Limit("line", "b", stages, ()),)), in_full=True)
    assert (
        "line is limited by b (one item: a 1 ms, work.1 to work.64 2 ms each, b 3 ms, c 3 ms)"
        in text
    )


def test_an_answer_fits_a_screen_and_says_what_it_leaves_out() -> None:
    values = {f"wait[s-{letter}]": Value(1.0, "s") for letter in "abcdefghijklmnopqrstuvwxyz"}
    text = answer_text(replace(BASE, values={**BASE.values, **values}))
    assert len(text.splitlines()) < 45
    assert "and 14 more" in text
    assert "technology class " not in text
    assert text.endswith(
        "slipstick solve --all adds: technology classes, steps, the rows that are left out above,"
        " takeovers\n"
    )


def test_an_answer_without_a_value_says_why_and_nothing_else() -> None:
    assert (
        answer_text(BROKEN)
        == "dvsm/diff-request by closed-form: no answer: the time comes out as inf s\n"
    )


def test_several_answers_are_parted_by_a_line() -> None:
    text = answers_text([FASTER, BROKEN])
    assert text == answer_text(FASTER) + "\n" + "=" * 72 + "\n\n" + answer_text(BROKEN)


def test_the_most_important_values_come_first() -> None:
    values = {
        name: Value(1.0, "1")
        for name in ("wait[b]", "efficiency", "processors_lost[x]", "speedup", "time")
    }
    lines = answer_text(Answer("m", "closed-form", values=values)).splitlines()
    found = [line.split()[0] for line in lines[5:10]]
    assert found == ["time", "speedup", "efficiency", "processors_lost[x]", "wait[b]"]


def test_bounds_are_shown_beside_the_value() -> None:
    text = answer_text(Answer("m", "bounds", values={"time": Value(None, "s", 1.0, 2.0)}))
    assert text.splitlines()[-1].split() == ["time", "1", "to", "2", "s"]


def test_the_largest_shares_are_shown_and_the_rest_counted() -> None:
    text = answer_text(
        replace(BASE, share={"time": {f"p{index}": index / 100 for index in range(14)}})
    )
    assert "p13" in text
    assert "p9 " in text
    assert "p8 " not in text
    assert "and 8 more" in text


def test_everything_fits_the_terminal_in_ascii() -> None:
    path = ".".join(["machine"] * 30)
    long = Answer(
        "m" * 60,
        "closed-form",
        values={f"processors_lost[{'x' * 64}]": Value(0.1, "1"), "time": Value(1.0, "s")},
        account={"fault" * 12: 1.0, "bµsy": 2.0},
        steps={"s" * 64: 1.0, "t" * 64: 2.0},
        once={"s" * 64: 1.0},
        share={"time": {path: 0.6, "b": 0.4}},
        notes=("naïve " * 60,),
        limits=(
            Limit(
                "p" * 60, "s", {"s" * 60: 1.0, "t" * 60: 0.5}, (Takeover(path, 2.0, 1.0, "s", "t"),)
            ),
        ),
        point={path[:200]: 0.25, "b": "name"},
        given={"c": 1e-6},
        described={path: _entry(path, "what it means, at length, " * 20)},
    )
    text = answer_text(long, in_full=True)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= WIDTH


def test_stations_of_which_the_same_is_said_take_one_line() -> None:
    values = {f"utilization[memory-{number}]": Value(0.25, "1") for number in range(256)}
    note = f"waiting at {', '.join(f'memory-{number}' for number in range(256))}: approximate"
    made = Answer(
        "demo",
        "mean-value",
        values=values | {"utilization[memory-7]": Value(0.5, "1")},
        notes=(note,),
    )
    text = answer_text(made)
    assert "utilization[memory-0 to 255, 255 of them], each      0.25" in text
    assert "utilization[memory-7]                                 0.5" in text
    assert "note: waiting at memory-0 to 255: approximate" in text


def test_a_table_is_parted_before_its_words_are_broken() -> None:
    rows = [
        ["processors_lost[lock:table]", "5.245", "5.385 (5.166 to 5.604)"],
        ["time", "32 us", "33 us"],
    ]
    text = plain_table(["value", "mean-value (exact)", "simulation"], rows, [1, 2], width=60)
    assert text.count("processors_lost[lock:table]") == 2
    assert max(map(len, text.splitlines())) <= 60


def test_a_bound_within_the_interval_is_no_doubt_of_the_heading() -> None:
    """As in tables: the mean of a run is on either side of a bound that is the expectation
    itself.
    """
    beyond = "throughput is below 0.9 1/s"
    made = Answer(
        "m", "simulation", values={"time": Value(1.0, "s", 0.9, 1.1)}, converged=True, bound=beyond
    )
    assert beyond in answer_text(made)
    assert answer_text(replace(made, bound=SlightlyBeyond(beyond))).startswith(
        "m: time 1 (0.9 to 1.1) s\nm by simulation: estimated, each value with its interval\n"
    )


def test_an_answer_without_notes_does_not_refer_to_them() -> None:
    answer = Answer("m", "quick", values={"time": Value(1.0, "s")})
    assert answer_text(answer).splitlines()[1] == "m by quick: not exact"
    noted = replace(answer, notes=("leaves out waiting",))
    assert "m by quick: not exact; the notes say what is left out\n" in answer_text(noted)


def test_what_is_the_same_in_every_row_does_not_run_into_its_title() -> None:
    head = ["case", "time <= 7", "slack of 1", "cost"]
    rows = [[f"a{cost}", "6 s", "1 s", cost] for cost in "123"]
    assert (
        common_and_differing_columns(head, rows)[0]
        == "All rows have the same time <= 7 (6 s) and slack of 1 (1 s)."
    )


def test_an_exact_solution_says_that_an_asked_quantile_is_estimated() -> None:
    name = "response_time_quantile[requests,0.95]"
    values = {"time": Value(0.1, "s"), name: Value(0.2, "s", 0.15, 0.25)}
    answer = Answer("web", "exact", values=values, exact=True)
    assert "web by exact: solved exactly\n" in answer_text(answer)
    asked = replace(answer, asked={name: AskedValue(ANSWERED)})
    assert "web by exact: solved exactly; some values have an interval\n" in answer_text(asked)
    certain = replace(asked, values={**values, name: Value(0.2, "s", 0.2, 0.2)})
    assert "web by exact: solved exactly\n" in answer_text(certain)


def test_a_steep_saving_is_written_as_about_that_much() -> None:
    """1 % faster service at a queue 95 % busy saves 16.8 %, where the slope says 20."""
    queue = network({"jobs": open_class(0.95)}, {"cpu": station(service={"jobs": 1.0}, servers=1)})
    text = answer_text(solve(queue), in_full=True)
    assert "about 20 %" in text
    faster = network(
        {"jobs": open_class(0.95)}, {"cpu": station(service={"jobs": 0.99}, servers=1)}
    )
    times = [solve(model)["response_time[jobs]"] or 0.0 for model in (queue, faster)]
    assert times[1] / times[0] == pytest.approx(1 - 0.168, abs=1e-3)


def test_meanings_are_left_out_where_they_would_take_a_line_for_each_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = solve("three-tier")
    monkeypatch.setenv("COLUMNS", "100")
    assert "now  meaning" in answer_text(answer)
    monkeypatch.setenv("COLUMNS", "90")
    assert "now\n" in answer_text(answer)
    assert "meaning" not in answer_text(answer)


def test_the_account_of_several_groups_names_the_group_whose_time_it_divides() -> None:
    think = delay(1.0, name="think", scv=1.0)
    groups = {
        "users": (4, think >> service("db", 0.1, name="query", scv=1.0)),
        "batch": (1, service("db", 0.3, name="job", scv=1.0)),
    }
    answer = replace(solve(grouped_model(groups)), groups=tuple(groups))
    assert "where the time of users goes: 74 % useful work, 26 % waiting for db" in answer_text(
        answer
    )


@pytest.mark.parametrize(("value", "written"), [(123_456.0, "123456"), (1.234567, "1.235")])
def test_a_whole_setting_keeps_its_digits_and_another_four(value: float, written: str) -> None:
    assert setting_amount("parameters.n", value, "1", NO_WORDS) == written


@pytest.mark.turns(5)
@pytest.mark.parametrize("method", sorted({name for names in METHODS.values() for name in names}))
@pytest.mark.parametrize("word", [AGREED, REPLACED, UNDECIDED, NOT_CHECKED])
@pytest.mark.parametrize("exact", [True, False])
def test_an_answer_that_its_check_left_open_is_not_told_as_solved_exactly(
    word: str, method: str, exact: bool
) -> None:
    rejected = Rejected("mean-value", "time", 2.0, "s") if word == REPLACED else None
    check = Verdict(word, "a short simulation says 1 +- 0.2 s", rejected)
    answer = Answer("m", method, values={"time": Value(1.0, "s")}, exact=exact, check=check)
    heading = " ".join(answer_text(answer).partition("\n\n")[0].split())
    is_settled = word in (AGREED, REPLACED)
    is_exact = "no time is random" if method == SIMULATION else "solved exactly"
    assert (is_exact in heading) == (exact and is_settled)
    assert ("exact by its equations, not confirmed" in heading) == (exact and not is_settled)
    assert (f"; {word}: a short simulation says 1 +- 0.2 s" in heading) == (not is_settled)


def test_columns_without_room_are_named_in_the_order_of_the_table() -> None:
    text = " ".join(sweep_text(solve("lock-and-bus", {"population.processors": [1, 2, 4]})).split())
    names = text.partition("more columns: ")[2].split(", ")
    assert names[:2] == ["processors_lost[lock]", "processors_lost[barrier]"]
    assert names[-2:] == ["step[lock:door]", "step[wait:bus]"]


def test_an_efficiency_of_more_than_the_processors_says_by_what_the_speedup_is_divided() -> None:
    """A disk of its own works beside four processors, so that useful work of five is possible."""
    model = {
        "activity": 1,
        "useful": ["busy", "io"],
        "population": {"processors": 4},
        "resources": {"disk": {"servers": 1}},
        "cycle": [
            {"name": "work", "delay": "9 ms", "component": "busy"},
            {
                "fork": [
                    [{"name": "a", "service": "disk", "time": "1 ms", "component": "io"}],
                    [{"name": "b", "delay": "2 ms", "component": "busy"}],
                ]
            },
        ],
    }
    answer = solve(model)
    speedup, efficiency = answer["speedup"], answer["efficiency"]
    assert speedup is not None
    assert efficiency is not None
    assert speedup / efficiency == pytest.approx(5)
    first_line = " ".join(answer_text(answer).partition("where the time goes")[0].split())
    assert "(speed-up divided by 5 processors and servers)" in first_line
    del model["useful"]
    assert "divided by" not in answer_text(solve(model)).partition("where the time goes")[0]


@pytest.mark.parametrize("method", ["markov-chain", "simulation"])
def test_a_throughput_is_told_without_what_later_stations_lose(method: str) -> None:
    """As many as the last station serves: its busy servers over the time of a service."""
    line: dict[str, Any] = {
        "queueing-network": 1,
        "classes": {"calls": {"arrivals": "8 /s"}},
        "stations": {
            "door": {"service": {"calls": "50 ms"}, "capacity": 12},
            "desk": {"service": {"calls": "100 ms"}, "capacity": 3},
        },
    }
    answer = solve(line, method=method)
    counted, utilization = answer["throughput[calls]"], answer["utilization[calls,desk]"]
    assert counted is not None
    assert utilization is not None
    assert utilization / 0.1 < 0.9 * counted
    first_line = " ".join(answer_text(answer).partition("where the time goes")[0].split())
    told = re.search(r"\(([0-9.]+) /s without those that later stations lose\)", first_line)
    assert told is not None
    assert float(told[1]) == pytest.approx(utilization / 0.1, rel=0.02)
    line["stations"]["desk"].pop("capacity")
    assert "later stations lose" not in answer_text(solve(line))


def test_what_later_stations_lose_is_told_only_where_the_order_of_stations_is_known() -> None:
    """The desk is listed first and visited last, so the losses at the door are no later ones."""
    stations = {
        "desk": {"service": {"calls": "100 ms"}, "capacity": 3},
        "door": {"service": {"calls": "50 ms"}, "capacity": 2},
    }
    line: dict[str, Any] = {
        "queueing-network": 1,
        "classes": {"calls": {}},
        "chains": {
            "calls": {"arrivals": "8 /s", "classes": ["calls"], "reference": ["calls", "door"]}
        },
        "stations": stations,
        "routing": [
            {"from": ["calls", "door"], "to": ["calls", "desk"], "probability": 1.0},
            {"from": ["calls", "desk"], "to": "out", "probability": 1.0},
        ],
    }
    assert "later stations lose" not in answer_text(solve(line))


@pytest.mark.parametrize(
    ("written", "throughputs", "present"),
    [("4.8 /min", ("4.8 /min", "2.5 /min"), "4.8 /min"), ("", ("0.08 /s", "0.04167 /s"), "")],
)
def test_all_rates_of_an_answer_have_the_unit_in_which_the_model_states_one(
    written: str, throughputs: tuple[str, str], present: str
) -> None:
    """Each in its own unit, they would be 0.08 /s and 2.5 /min."""
    path = "classes.calls.arrivals"
    rates = {"throughput[calls]": Value(0.08, "1/s"), "throughput[mails]": Value(2.5 / 60, "1/s")}
    described = {path: DescribedValue(path, Given(0.08, RATE, written), "", "")} if written else {}
    desk = Answer(
        "desk",
        "exact",
        values=rates,
        described=described,
        share={"time": {path: 1.0}},
        exact=True,
    )
    rows = answer_text(desk, in_full=True).splitlines()
    assert [row.split(maxsplit=1)[1] for row in rows if row.startswith("throughput[")] == [
        *throughputs
    ]
    assert f"throughput of calls {throughputs[0]}" in rows[0]
    (row,) = [row for row in rows if row.startswith(path)]
    assert row.endswith(present)


@pytest.mark.parametrize(
    ("path", "text", "unit"),
    [
        ("parameters.load", "0.08 /min", "1/min"),
        ("parameters.failures", "0.2 /h", ""),
        ("groups.calls.arrivals", "0.08/s", "1/s"),
        ("machine.processors.flops", "19.5e12 /s", ""),
        ("parameters.price_of_arrivals", "3.49 /h", ""),
        ("parameters.peak", "312e12 /s", ""),
        ("parameters.load", "3 per hour", ""),
        ("parameters.price", "3.49 /h", ""),
    ],
)
def test_rates_of_arithmetic_choose_no_unit(path: str, text: str, unit: str) -> None:
    """A rate that is no key for arrivals counts if it is as large as the throughput."""
    amount = float(text.replace("/", " ").split()[0])
    described = {path: DescribedValue(path, Given(amount, RATE, text), "", "")}
    values = {"throughput[calls]": Value(0.0801, "1/s")}
    desk = Answer("desk", "exact", values=values, described=described)
    assert stated_rate_unit(desk) == unit


def test_arrivals_choose_the_unit_of_rates_before_costs_and_failures() -> None:
    texts = {
        "parameters.hourly_cost": "3 /h",
        "parameters.failure_rate": "2 /h",
        "classes.calls.arrivals": "15 /s",
        "classes.mails.arrivals": "15 /min",
    }
    described = {
        path: DescribedValue(path, Given(1.0, RATE, text), "", "") for path, text in texts.items()
    }
    assert stated_rate_unit(Answer("desk", "exact", described=described)) == "1/s"


def test_a_meaning_of_an_author_is_shown_whole_and_that_of_a_key_without_its_clause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "x.yaml").write_text(
        "queueing-network: 1\nparameters: {work: {value: 9 ms, meaning: work; in two runs}}\n"
        "classes: {a: {arrivals: 1 /s}}\nstations: {s: {service: {a: work}, visits: {a: 2}}}\n"
    )
    assert main(["solve", str(tmp_path / "x.yaml"), "--all"]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert any(line.endswith("  work; in two runs") for line in lines)
    (arrivals,) = (line for line in lines if line.startswith("classes.a.arrivals "))
    assert arrivals.endswith("  rate of arrivals of customers that pass through once and leave")
