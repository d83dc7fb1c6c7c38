"""Ranges and fits go on into answers as intervals, with what causes their width."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slipstick import run, solve
from slipstick.answer import Value
from slipstick.cli.main import main
from slipstick.errors import ModelError, NoAnswerError, SpecError
from slipstick.report.head import head_lines
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, from_plain
from slipstick.schema.uncertain import UncertainValues, separate_uncertain
from slipstick.study.uncertain import (
    _quadratic_values,
    _range_notes,
    _with_wider_interval,
    drawn_settings,
    width_shares,
)
from slipstick_papers.statements import StatementsResult
from slipstick_questions.choose import ChooseResult
from slipstick_questions.rank import RankResult
from slipstick_questions.seek import SeekResult
from tests.questions import result_of
from tests.specs import activity

TWO = """
activity: 1
parameters: {work: 4 ms, start: 1 ms, n: 2}
population: {processors: 1}
cycle:
  - {name: work, delay: work}
  - {name: start, delay: start * n}
"""

FIT = """
fitted: 1
model: two
rows: 12
parameters:
  parameters.work: {value: 4 ms}
  parameters.start: {value: 1 ms}
unknowns: [parameters.work, parameters.start, parameters.work machine=a]
centre: [-5.521460917862246, -6.907755278982137, 0.6931471805599453]
covariance: [[0.01, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
spread: {parameters.work machine: 0.2}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two.yaml").write_text(TWO)
    (tmp_path / "fit.yaml").write_text(FIT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def solved(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["solve", "two.yaml", "--json", *options]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert answer["exact"] is False
    return {**answer["values"]["time"], "notes": answer["notes"]}


def test_a_range_gives_the_interval_of_the_formula(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A monotone answer of one range has the answers at its ends as its interval."""
    time = solved(capsys, "--set", "parameters.work=2 ms..8 ms")
    assert time["value"] == pytest.approx(4e-3 + 2e-3)
    assert time["low"] == pytest.approx(2e-3 + 2e-3, rel=0.02)
    assert time["high"] == pytest.approx(8e-3 + 2e-3, rel=0.02)


def test_two_ranges_share_the_width(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("parameters.work=2..8 ms", "parameters.start=0.9 ms..1.1 ms")
    time = solved(capsys, *(word for option in options for word in ("--set", option)))
    (words,) = [note for note in time["notes"] if "in the width" in note]
    assert words.startswith("shares in the width of the interval of time: parameters.work 9")


def test_a_fit_adds_the_spread_for_a_new_owner_only(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = solved(capsys, "--fitted", "fit.yaml")
    known = solved(capsys, "--fitted", "fit.yaml", "--set", "fitted.machine=a")
    assert new["value"] == pytest.approx(6e-3)
    assert known["value"] == pytest.approx(8e-3 + 2e-3)
    sigma = np.hypot(0.1, 0.2)
    assert new["high"] == pytest.approx(4e-3 * np.exp(1.645 * sigma) + 2e-3, rel=0.02)
    assert known["high"] == pytest.approx(8e-3 * np.exp(1.645 * 0.1) + 2e-3, rel=0.02)
    own = solved(capsys, "--fitted", "fit.yaml", "--set", "parameters.work=1 ms")
    assert own["value"] == pytest.approx(3e-3)


def test_a_study_carries_a_fit_into_its_cases(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "study.yaml").write_text(
        "study: 1\nbase: {model: two.yaml, fitted: fit.yaml}\ncases:\n"
        "  known: {fitted.machine: a}\nanswer: [time]\n"
    )
    assert main(["run", "study.yaml", "--out", "found", "--json"]) == 0
    base, known = json.loads(capsys.readouterr().out)["answers"]
    assert base["values"]["time"]["low"] < 6e-3 < base["values"]["time"]["high"]
    assert known["values"]["time"]["value"] == pytest.approx(10e-3)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("parameters.work=2 ms..5 B", ": these are of different kinds"),
        ("parameters.work=5 ms..2 ms", "a range is from a value above 0 to a larger one; got"),
        ("fitted.gpu=a", "the fit has no owners called 'gpu'; it has machine"),
        ("fitted.machine=z", "the fit has seen no machine 'z'; it has a; leave fitted.machine out"),
    ],
)
def test_mistakes_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, words: str
) -> None:
    assert main(["solve", "two.yaml", "--fitted", "fit.yaml", "--set", option]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_fits_that_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, words in (
        (FIT.replace("parameters.start: {", "parameters.n: {"), "is not among the unknowns"),
        (FIT.replace("spread: {", "noises: {"), "did you mean 'noise'?"),
    ):
        (folder / "wrong.yaml").write_text(text)
        assert main(["check", "wrong.yaml"]) == 2
        assert words in " ".join(capsys.readouterr().err.split())
    settings = {"fitted": from_plain({"a": 1}, Mark("here", 1, 1))}
    with pytest.raises(SpecError, match=r"write the name of a fit, or a file that ends in .yaml"):
        separate_uncertain(settings, Library())


def test_a_range_where_none_can_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--set", "stations.cpu.servers=2..4"]
    assert main(["solve", "central-server", *options]) == 1
    words = "shapes the model, so it has no range; solve for each of its values"
    assert words in " ".join(capsys.readouterr().err.split())
    with pytest.raises(ModelError, match="every setting has as many points as there are values"):
        width_shares({"a": np.ones(2)}, np.ones(3))


def test_names_with_dots_are_no_ranges() -> None:
    mark = Mark("here", 1, 1)
    settings = {"model": from_plain("../models/two.yaml", mark)}
    assert separate_uncertain(settings, Library())[0] == settings
    with pytest.raises(SpecError, match="above 0"):
        separate_uncertain({"x": from_plain("0..2", mark)}, Library())


def test_whole_numbers_keep_a_whole_middle() -> None:
    node = from_plain("8..32", Mark("here", 1, 1))
    plain, uncertain = separate_uncertain({"population.processors": node}, Library())
    assert getattr(plain["population.processors"], "value", None) == 16
    points = drawn_settings(uncertain)["population.processors"]
    assert np.quantile(points, [0.05, 0.95]).tolist() == [8, 32]


def test_shares_of_the_width_add_up() -> None:
    random = np.random.default_rng(5)
    points = {"a": np.exp(random.normal(size=400)), "b": np.exp(0.5 * random.normal(size=400))}
    shares = width_shares(points, points["a"] * points["b"])
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["a"] == pytest.approx(0.8, abs=0.06)


def test_a_ranking_takes_the_same_draws_on_both_sides(
    folder: Path,
) -> None:
    """Half of the work saves work / 2 of work + 2 ms, whatever the range of the work is."""
    (folder / "study.yaml").write_text(
        "study: 1\nbase: {model: two.yaml, parameters.work: 2 ms..8 ms}\nanswer: [time]\n"
        "rank: {cases: [base], of: [parameters.work, parameters.start]}\n"
        "seek:\n  start: {cases: [base], of: parameters.start, from: 0.1 ms, to: 20 ms,"
        " where: time <= 20 ms}\n"
    )
    questions = run("study.yaml").questions
    ranked, sought = questions["rank"], questions["seek"]
    assert isinstance(ranked, RankResult)
    assert isinstance(sought, SeekResult)
    rows = {str(each.point["parameter"]): each for each in ranked.rankings[0].rows}
    work = rows["parameters.work"].values["time_saved"]
    assert work.value == pytest.approx(2e-3 / 6e-3)
    assert work.low == pytest.approx(1e-3 / 4e-3, rel=0.03)
    assert work.high == pytest.approx(4e-3 / 10e-3, rel=0.03)
    (change,) = sought.searches[0].crossings
    assert change.value == pytest.approx(8e-3)
    assert change.low == pytest.approx(6e-3, rel=0.05)
    assert change.high == pytest.approx(9e-3, rel=0.05)


STUDY = """
study: 1
base: {model: two.yaml, parameters.work: 2 ms..8 ms}
answer: [time]
vary: {parts: {cases: [base], axes: {parameters.n: [1, 2, 4]}}}
choose:
  cases: [base]
  vary: {parameters.n: [1, 2, 4]}
  minimize: time
  where: time <= 1 s
"""


def test_points_of_sweeps_have_the_intervals_of_the_formula(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY)
    (swept,) = run("study.yaml").sweeps
    low, high = swept.ends("time")
    parts = np.array([1.0, 2.0, 4.0])
    assert np.asarray(swept.column("time")) == pytest.approx(4e-3 + 1e-3 * parts)
    assert low == pytest.approx(2e-3 + 1e-3 * parts, rel=0.05)
    assert high == pytest.approx(8e-3 + 1e-3 * parts, rel=0.05)
    assert not np.any(swept.provenance.exact)


def test_a_value_of_zero_has_the_interval_of_its_draws(folder: Path) -> None:
    """Time beyond a limit is 0 at the middle of the range, and what the draws exceed it by."""
    (folder / "two.yaml").write_text(TWO + 'amounts: {over: "max(0 s, time - 6 ms) / 1 s"}\n')
    study = STUDY.replace("answer: [time]", 'answer: [time, "amount[over]"]')
    (folder / "study.yaml").write_text(study)
    (swept,) = run("study.yaml").sweeps
    assert np.asarray(swept.column("amount[over]")) == pytest.approx([0.0, 0.0, 2e-3])
    low, high = swept.ends("amount[over]")
    assert low[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert high == pytest.approx(swept.ends("time")[1] - 6e-3, rel=1e-9)


def test_the_noise_of_a_fit_adds_to_the_intervals_of_points_by_its_square(folder: Path) -> None:
    (folder / "fit.yaml").write_text(FIT + "noise: {time: 0.3}\n")
    (folder / "study.yaml").write_text(
        "study: 1\nbase: {model: two.yaml, fitted: fit.yaml}\nvary: {parameters.n: [1, 4]}\n"
    )
    results = run("study.yaml")
    (swept,) = results.sweeps
    time = 4e-3 + 1e-3 * np.array([1.0, 4.0])
    for end, sign in zip(swept.ends("time"), (-1, 1), strict=True):
        of_fit = 4e-3 * np.expm1(sign * 1.645 * np.hypot(0.1, 0.2))
        of_noise = time * np.expm1(sign * 1.645 * 0.3)
        assert end == pytest.approx(time + sign * np.hypot(of_fit, of_noise), rel=0.03)


@pytest.mark.turns(4)
def test_a_choice_is_undecided_only_where_the_same_draws_differ(folder: Path) -> None:
    """One part is the best of work + parts * start whatever the work is, though intervals overlap;
    of work / parts + parts * start it depends on the work.
    """
    (folder / "study.yaml").write_text(STUDY)
    choice = run("study.yaml").questions["choose"]
    assert isinstance(choice, ChooseResult)
    (chosen,) = choice.choices
    assert chosen.found[0].point["parameters.n"] == 1
    assert chosen.found[0].values["objective"].high == pytest.approx(9e-3, rel=0.05)
    assert not chosen.rivals
    assert not chosen.found[0].exact
    (folder / "two.yaml").write_text(TWO.replace("delay: work", "delay: work / n", 1))
    (folder / "study.yaml").write_text(STUDY.replace("2 ms..8 ms", "1 ms..16 ms"))
    choice = run("study.yaml").questions["choose"]
    assert isinstance(choice, ChooseResult)
    assert {rival.point["parameters.n"] for rival in choice.choices[0].rivals} == {1, 4}
    words = " ".join(choice.sentences())
    assert "undecided within the ranges against parameters.n = " in words


@pytest.mark.turns(4)
def test_a_limit_is_undecided_within_the_ranges(folder: Path) -> None:
    text = STUDY.replace("1 s", "5.5 ms") + "rank: {cases: [base]}\nseek:\n"
    text += "  n: {cases: [base], of: parameters.n, from: 1, to: 1.1, where: time >= 5.05 ms}\n"
    (folder / "study.yaml").write_text(text)
    found = run("study.yaml").questions
    words = " ".join(line for question in found.values() for line in question.sentences())
    assert "undecided within the ranges, because a limit lies in the interval: 5" in words
    assert "of their draws change there)" in words
    assert "undecided within the ranges (" in words
    text = text.replace("from: 1, to: 1.1", "from: 1, to: 1.01")
    (folder / "study.yaml").write_text(text.replace(">= 5.05 ms", ">= 5.2 ms"))
    (sentence,) = run("study.yaml").questions["seek"].sentences()
    assert "undecided from 1" in sentence
    assert "helps most" in words
    assert "undecided within the ranges" in words.partition("helps most")[2]


def test_cases_are_compared_by_the_same_draws(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A later start is slower whatever the work is; whether a wait for all of the work is shorter
    than one for half of it and a start depends on the work.
    """
    (folder / "two.yaml").write_text(
        "activity: 1\n"
        "parameters: {work: 4 ms, start: 2 ms, part: 0.5}\n"
        "population: {processors: 1}\n"
        "useful: [work]\ncycle:\n  - {name: work, delay: work, component: work}\n"
        "  - {name: wait, delay: part * work + start}\n"
    )
    (folder / "study.yaml").write_text(
        "study: 1\nbase: {model: two.yaml, parameters.work: 1 ms..16 ms}\nanswer: [time]\ncases:\n"
        "  later: {parameters.start: 3 ms}\n"
        "  whole: {parameters.part: 1, parameters.start: 0.5 ms}\n"
    )
    assert main(["run", "study.yaml", "--out", "found", "--no-html", "--all"]) == 0
    head = " ".join(capsys.readouterr().out.split())
    assert "1.06 times as long for whole (undecided within the ranges)" in head
    assert "1.12 times as long for later" in head
    assert "1.12 times as long for later (" not in head


def test_changes_are_ranked_by_the_same_draws(folder: Path) -> None:
    """Without the start the overhead is half of the work; a smaller part leaves a quarter of it and
    the start. Which removes more depends on the work, a little less of the start never does.
    """
    (folder / "two.yaml").write_text(
        "activity: 1\n"
        "parameters: {work: 4 ms, start: 1 ms, part: 0.5}\n"
        "population: {processors: 1}\n"
        "useful: [work]\ncycle:\n  - {name: work, delay: work, component: work}\n"
        "  - {name: wait, delay: part * work + start}\n"
    )
    (folder / "study.yaml").write_text(
        "study: 1\nbase: {model: two.yaml, parameters.work: 1 ms..16 ms}\nanswer: [time]\n"
        "rank:\n  cases: [base]\n  changes:\n    sooner: {set: {parameters.start: 0.01 ms}}\n"
        "    shorter: {times: {parameters.part: 0.5}}\n"
        "    little: {times: {parameters.start: 0.9}}\n"
    )
    ranked = run("study.yaml").questions["rank"]
    words = " ".join(ranked.sentences())
    assert "undecided within the ranges against sooner" in words or (
        "undecided within the ranges against shorter" in words
    )
    assert "against sooner, little" not in words
    assert "against shorter, little" not in words
    assert isinstance(ranked, RankResult)
    effects = {str(each.point["change"]): each for each in ranked.changes[0].effects}
    low, high = effects["little"].ends("overhead_reduction")
    assert low == pytest.approx(1e-4 / 9e-3, rel=0.05)
    assert high == pytest.approx(1e-4 / 1.5e-3, rel=0.05)


QUEUES = """
activity: 1
parameters: {work: 12 ms, first: 4 ms, second: 3 ms}
population: {processors: 5}
resources: {one: {servers: 1}, two: {servers: 1}}
cycle:
  - {name: work, delay: work, scv: 1}
  - {name: first, service: one, time: first, scv: 1}
  - {name: second, service: two, time: second, scv: 1}
"""


@pytest.mark.turns(4)
def test_ranges_of_a_simulation_cost_few_runs_and_have_the_ends_of_the_exact_method(
    folder: Path,
) -> None:
    """Two ranges, so nine simulations, or 25, in place of 512; either station may be the slower, so
    that the answer is no product of powers.
    """
    (folder / "queues.yaml").write_text(QUEUES)
    for method in ("mean-value", "simulation"):
        (folder / f"{method}.yaml").write_text(
            "study: 1\ntitle: Ranges\n"
            f"base: {{model: queues.yaml, method: {method}, parameters.first: 3 ms..6 ms,"
            " parameters.second: 2 ms..5 ms}\n"
        )
    exact, simulated = (run(f"{name}.yaml").cases["base"] for name in ("mean-value", "simulation"))
    words = (
        "the interval is interpolated between 5 simulations, and tested by 4 more near its ends; if"
        " these differ by more than 3 %, 16 more correct it. Its ends have errors of about 1 %, and"
        " of up to 17 % with ranges of a factor of 3"
    )
    assert words in simulated.notes
    middles = [answer.find("time") or np.nan for answer in (exact, simulated)]
    ends = [np.array(answer.ends("time"), dtype=float) for answer in (exact, simulated)]
    assert ends[1] / middles[1] == pytest.approx(ends[0] / middles[0], rel=0.03)


TERMINALS = """
queueing-network: 1
classes: {users: {population: 20, think_time: 1 s}}
stations:
  cpu: {discipline: ps, demand: {users: 50 ms}}
  disk: {discipline: fcfs, demand: {users: 80 ms}}
"""


def test_counts_are_drawn_as_whole_numbers(folder: Path) -> None:
    """The ends are those of a sweep at the ends of the draws, near 1 and 40; a factor between whole
    ends may have fractions.
    """
    (folder / "terminals.yaml").write_text(TERMINALS)
    path = "classes.users.population"
    answer = solve("terminals.yaml", {path: "1..40"})
    assert set(answer.draws[path]) <= set(range(1, 200))
    ends_of_draws = np.quantile(answer.draws[path], [0.05, 0.95])
    assert ends_of_draws == pytest.approx([1, 40], rel=0.06)
    ends = solve("terminals.yaml", {path: np.rint(ends_of_draws)})["response_time[users]"]
    assert answer.ends("response_time[users]") == pytest.approx(tuple(ends), rel=0.02)
    assert not any("no answer" in note for note in answer.notes)
    factor = solve("two.yaml", {"parameters.n": "1..4"}).draws["parameters.n"]
    assert (factor != np.rint(factor)).all()


def test_a_range_between_neighbours_draws_both(folder: Path) -> None:
    """The value itself is that of 2 users, as 2.4 are none; about half of the draws have 3."""
    (folder / "terminals.yaml").write_text(TERMINALS)
    path = "classes.users.population"
    answer = solve("terminals.yaml", {path: "2..3"})
    assert np.mean(answer.draws[path] == 3) == pytest.approx(0.43, abs=0.02)
    two, three = solve("terminals.yaml", {path: [2.0, 3.0]})["response_time[users]"]
    assert answer["response_time[users]"] == pytest.approx(two)
    assert answer.ends("response_time[users]") == pytest.approx((two, three))


def test_a_parameter_that_is_the_number_of_processors_is_drawn_as_one(folder: Path) -> None:
    """Fractions of a processor have no answer."""
    head = "parameters: {p: 8}\npopulation: {processors: p}\nresources: {cpu: {servers: 1}}\n"
    cycle = ("{name: think, delay: 1 s, scv: 1}", "{name: use, service: cpu, time: 80 ms, scv: 1}")
    (folder / "sized.yaml").write_text(activity(*cycle, head=head))
    answer = solve("sized.yaml", {"parameters.p": "4..20"})
    draws = answer.draws["parameters.p"]
    assert (draws == np.rint(draws)).all()
    ends = solve("sized.yaml", {"parameters.p": np.quantile(draws, [0.05, 0.95])})["time"]
    assert answer.ends("time") == pytest.approx(tuple(ends), rel=1e-6)


def test_points_without_an_answer_stand_in_the_first_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From 12.5 arrivals a second on the disk is saturated, which is part of the range."""
    (folder / "arrivals.yaml").write_text(
        TERMINALS.replace("population: 20, think_time: 1 s", "arrivals: 9 /s")
    )
    path = "classes.users.arrivals"
    answer = solve("arrivals.yaml", {path: "8..14 /s"})
    unanswered = int((answer.draws[path] >= 12.5).sum())
    assert unanswered > 10
    words = f"{unanswered} of 512 points of the ranges have no answer"
    assert any(note.startswith(words) for note in answer.notes)
    main(["solve", "arrivals.yaml", "--set", f"{path}=8..14 /s"])
    screen = " ".join(capsys.readouterr().out.split())
    assert words in screen.partition("where the time goes")[0]
    assert screen.count(words) == 1
    study = {"title": "Arrivals", "base": {"model": "arrivals.yaml", path: "8..14 /s"}}
    results = run({"study": 1, **study})
    assert words in head_lines(results, ["response_time[users]"])[0]


def test_counts_of_a_simulation_are_refused_with_the_way_out(folder: Path) -> None:
    """No function is interpolated between the draws of a count."""
    (folder / "terminals.yaml").write_text(TERMINALS)
    words = (
        "is a whole number, between whose values no simulation is interpolated, so it has no range"
        " here; solve for each of its values: as an axis of 'vary' in a study"
    )
    with pytest.raises(NoAnswerError, match=words):
        run(
            {
                "study": 1,
                "title": "Terminals",
                "base": {
                    "model": "terminals.yaml",
                    "method": "simulation",
                    "classes.users.population": "1..40",
                },
            }
        )


ATTEMPTS = """
activity: 1
parameters: {work: 4 ms, query: 6 ms}
population: {processors: 4}
resources: {pool: {permits: 2}}
cycle:
  - {name: work, delay: work, scv: 0.3}
  - attempt: [{hold: pool, body: [{name: query, delay: query, scv: 0.3}]}]
    timeout: 8 ms
    retries: 1
    back_off: 1 ms
    otherwise: [{name: error, delay: 1 ms}]
"""


@pytest.mark.turns(4)
def test_ranges_go_on_where_only_simulation_answers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ends are about the answers at the ends of the range."""
    (folder / "attempts.yaml").write_text(ATTEMPTS)

    def time(query: str) -> dict[str, float]:
        options = ("--precision", "1%", "--set", f"parameters.query={query}")
        assert main(["solve", "attempts.yaml", "--json", *options]) == 0
        (answer,) = json.loads(capsys.readouterr().out)["answers"]
        assert answer["method"] == "simulation"
        found: dict[str, float] = answer["values"]["time"]
        return found

    ranged, low, high = time("4 ms..9 ms"), time("4 ms"), time("9 ms")
    assert ranged["low"] == pytest.approx(low["value"], rel=0.05)
    assert ranged["high"] == pytest.approx(high["value"], rel=0.05)


@pytest.mark.parametrize("has_logarithm", [True, False], ids=["positive", "negative"])
def test_values_between_runs_follow_a_quadratic_in_each_direction(has_logarithm: bool) -> None:
    """By hand: a + b z + c z^2 in two directions is given back exactly; where values are positive,
    its exponential.
    """
    slopes, bends = np.array([0.4, -0.3]), np.array([0.2, -0.1])

    def value(normals: Any) -> Any:
        exponent = normals @ slopes + normals**2 @ bends
        return (np.exp(exponent) if has_logarithm else exponent - 3)[:, None]

    runs = np.vstack([np.zeros(2), np.eye(2), -np.eye(2)])
    draws = np.random.default_rng(3).normal(size=(40, 2))
    np.testing.assert_allclose(_quadratic_values(value(runs), draws), value(draws), rtol=1e-10)


@pytest.mark.parametrize(("largest", "is_known"), [(9.6, True), (14, False)])
def test_draws_without_an_answer_lie_beyond_the_ends(
    largest: float, is_known: bool, folder: Path
) -> None:
    """A server of 10 jobs/s takes 1 / (10 - A) s: the ends are those at the 5 % and 95 % quantiles
    of A, the ends of its range, and a range beyond 10 /s has no upper end.
    """
    model = {
        "queueing-network": 1,
        "classes": {"jobs": {"arrivals": "5 /s"}},
        "stations": {"server": {"service": {"jobs": "100 ms"}}},
    }
    path = "classes.jobs.arrivals"
    arrivals = f"6 /s..{largest} /s"
    answer = solve(model, {path: arrivals})
    saturated = (answer.draws[path] >= 10).mean()
    assert (0 < saturated < 0.05) if is_known else (saturated > 0.05)
    low, high = answer.ends("response_time[jobs]")
    if is_known:
        assert low == pytest.approx(1 / (10 - 6), rel=0.1)
        assert high == pytest.approx(1 / (10 - largest), rel=0.15)
    else:
        assert (low, high) == (-np.inf, np.inf)
    study = {
        "study": 1,
        "base": {"model": model, path: arrivals},
        "statements": {
            "fast": {
                "value": "response_time[jobs]",
                "of": ["base"],
                "to": "1 s",
                "says": "it is fast",
            }
        },
    }
    (statement,) = result_of(run(study), StatementsResult).statements
    assert statement.verdict == "undecided"


def test_no_setting_has_more_than_the_whole_width() -> None:
    """What settings that are drawn together have in common is divided in proportion."""
    random = np.random.default_rng(1)
    logs, other_logs = random.normal(size=1000), random.normal(size=1000)
    draws = {"a": np.exp(logs), "b": np.exp(0.1 * logs + 0.1 * other_logs)}
    columns = {"time": draws["a"] / draws["b"] ** 0.2}
    shares = width_shares(draws, columns["time"])
    assert sum(shares.values()) == pytest.approx(1)
    own_variances = {"a": logs.var(), "b": 0.04 * np.log(draws["b"]).var()}
    assert shares["b"] / shares["a"] == pytest.approx(own_variances["b"] / own_variances["a"])
    assert width_shares({"a": np.ones(1000)}, draws["a"]) == {"a": 0}
    form = SimpleNamespace(quantity="time", is_estimated=False)
    settings = UncertainValues(tuple(draws), (0.0, 0.0), ((1.0, 0.0), (0.0, 1.0)))
    notes = [*_range_notes(SimpleNamespace(form=form), settings, columns, draws)]  # type: ignore[arg-type]
    (note,) = [note for note in notes if "shares in the width" in note]
    assert note.startswith("shares in the width of the interval of time: a 100 %")


def test_an_interval_is_wider_by_the_spread_of_its_draws_and_the_noise_of_a_fit() -> None:
    """Distances of logarithms add up as squares, at each end those of this end."""
    value = Value(2.0, "s", 1.0, 6.0)
    kept = _with_wider_interval(value, np.full(101, 2.0), np.full(1, 2.0), 0.0)
    assert (kept.low, kept.high) == pytest.approx((1.0, 6.0))
    draws = np.full(1, 2.0) * np.exp(np.linspace(-0.4, 0.8, 101))
    wider = _with_wider_interval(value, draws, np.full(1, 2.0), 0.1)
    noise = 1.6448536 * 0.1
    assert wider.low == pytest.approx(
        2 * np.exp(-np.sqrt(0.34**2 + np.log(2) ** 2 + noise**2)), rel=1e-6
    )
    assert wider.high == pytest.approx(
        2 * np.exp(np.sqrt(0.74**2 + np.log(3) ** 2 + noise**2)), rel=1e-6
    )
    without = Value(2.0, "s")
    assert _with_wider_interval(without, np.full(101, 2.0), np.full(1, 2.0), 0.0) is without
