"""Choices beside the best of all points, each solved: by a sweep over the same values."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from slipstick import solve
from slipstick.answer import Answer, Value
from slipstick.errors import SpecError
from slipstick.report.head import decision_table, head_lines
from slipstick.results.sweep import Sweep
from slipstick.results.words import Words
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick_questions import choose
from slipstick_questions.choices_picture import SolvedChoices, choices_figure
from slipstick_questions.choose import (
    MOST_SIMULATED_POINTS,
    ChooseResult,
    ChosenPoints,
    nearest_failure,
)
from slipstick_questions.specs import ChoicesPictureSpec
from tests.heads import paths_in
from tests.questions import number, reported, result_of
from tests.study.small_program import alone

TIERS = """\
queueing-network: 1
classes: {requests: {arrivals: 90 /s}}
stations:
  web: {servers: 2, discipline: fcfs, service: {requests: 10 ms}, visits: {requests: 1}}
  app: {servers: 6, discipline: fcfs, service: {requests: 40 ms}, visits: {requests: 1}}
  db: {servers: 3, discipline: fcfs, service: {requests: 20 ms}, visits: {requests: 1}}
"""
PATHS = [f"stations.{tier}.servers" for tier in ("web", "app", "db")]
COST = np.array([1.0, 2.0, 5.0])
CHOOSE = """\
  vary: {stations.*.servers: {from: 3, to: 6, step: 1}}
  cost: {stations.db.servers: 5, stations.app.servers: 2, stations.*.servers: 1}
  minimize: cost
  where: response_time[requests] <= 90 ms
"""
TIME = "response_time[requests]"
ARRIVALS = "classes.requests.arrivals"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tiers.yaml").write_text(TIERS)
    return tmp_path


def written(choose: str, base: str = "{model: tiers.yaml}", more: str = "") -> Path:
    path = Path("study.yaml")
    path.write_text(f'study: 1\nbase: {base}\nanswer: ["{TIME}"]\n{more}choose:\n{choose}')
    return path


def chosen(choose: str, base: str = "{model: tiers.yaml}") -> ChosenPoints:
    (found,) = result_of(run(prepare(str(written(choose, base)))), ChooseResult).choices
    return found


def everything() -> tuple[Sweep, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Solve every point, and give the cost of each."""
    axes = ", ".join(f"{path}: {{from: 3, to: 6, step: 1}}" for path in PATHS)
    (sweep,) = run(prepare(str(written(CHOOSE, more=f"vary: {{{axes}}}\n")))).sweeps
    return (
        sweep,
        np.stack([np.asarray(sweep.points[path], dtype=float) for path in PATHS], axis=1) @ COST,
    )


@pytest.mark.turns(5)
def test_the_choice_and_the_runners_up_are_the_best_of_all_points(folder: Path) -> None:
    sweep, cost = everything()
    for limit, monotone in product((75e-3, 90e-3, 120e-3), (False, True)):
        text = CHOOSE.replace("90 ms", f"{limit!r} s") + f"  monotone: {str(monotone).lower()}\n"
        found = chosen(text)
        meet = sweep.columns[TIME] <= limit
        assert [number(each, "objective") for each in found.found] == np.sort(cost[meet])[
            :4
        ].tolist()
        for each in found.found:
            row = np.all(
                [np.asarray(sweep.points[path]) == each.point[path] for path in PATHS], axis=0
            )
            assert number(each, "value[1]") == pytest.approx(sweep.columns[TIME][row][0], rel=1e-12)
            assert number(each, "slack[1]") == pytest.approx(limit - number(each, "value[1]"))
        assert found.points == (64, 64)
        # Nothing that costs more than the last runner-up, but for what completes a block of 32.
        assert found.solved <= (40 if monotone else np.sum(cost <= np.sort(cost[meet])[3]) + 32)


@pytest.mark.turns(6)
def test_an_approximate_quantile_meets_a_limit_with_its_whole_interval(folder: Path) -> None:
    name = "response_time_quantile[requests,0.99]"
    ways = list(product(range(3, 7), range(4, 7), range(3, 7)))  # three of app are saturated
    answers = [solve("tiers.yaml", dict(zip(PATHS, way, strict=True))) for way in ways]
    known = [
        (float(way @ COST), *answer.ends(name))
        for way, answer in zip(map(np.array, ways), answers, strict=True)
    ]
    limit = sorted(high for _, _, high in known if high is not None)[20]
    found = chosen(
        CHOOSE.replace("response_time[requests] <= 90 ms", f"{name} <= {limit!r} s"),
        "{model: tiers.yaml, method: exact}",
    )
    surely = sorted(cost for cost, low, high in known if (limit if high is None else high) <= limit)
    assert [number(each, "objective") for each in found.found] == surely[:4]
    open_ = sorted(
        cost
        for cost, low, high in known
        if cost < surely[0] and (low or 0.0) <= limit < (high or 0.0)
    )
    assert [number(each, "objective") for each in found.undecided] == open_ != []


QUANTILE = "response_time_quantile[requests,0.95]"
CHOOSE_BY_QUANTILE = (
    "  vary: {stations.web.servers: [2], stations.app.servers: {from: 4, to: 7, step: 1},"
    " stations.db.servers: {from: 2, to: 5, step: 1}}\n"
    "  cost: {stations.db.servers: 5, stations.app.servers: 2, stations.web.servers: 1}\n"
    f"  minimize: cost\n  where: '{QUANTILE} <= 183 ms'\n"
)


@pytest.mark.turns(8)
def test_points_that_approximate_values_leave_undecided_are_simulated(folder: Path) -> None:
    by_default = chosen(CHOOSE_BY_QUANTILE)
    by_simulation = chosen(CHOOSE_BY_QUANTILE, "{model: tiers.yaml, method: simulation}")
    approximate = chosen(CHOOSE_BY_QUANTILE, "{model: tiers.yaml, method: exact}")
    # The approximate interval contains the limit at the cheapest point that meets it.
    assert number(by_default.found[0], "objective") < number(approximate.found[0], "objective")
    assert approximate.simulated == 0 < by_default.simulated <= MOST_SIMULATED_POINTS
    best, best_by_simulation = by_default.found[0], by_simulation.found[0]
    assert best.point == best_by_simulation.point
    assert best.values["value[1]"] == best_by_simulation.values["value[1]"]
    assert by_default.undecided == by_simulation.undecided == ()
    result, approximate_result = ChooseResult((by_default,)), ChooseResult((approximate,))
    assert "undecided" not in result.headline(Words())[0]
    assert "simulated, because approximate values do not decide" in result.doubt()
    assert "would be better; a simulation would tell" in approximate_result.headline(Words())[0]
    # The head names the last point of the table, which a shortened table keeps.
    (table,) = approximate_result.parts()
    *_, last_answer = table.answers()
    assert last_answer.point["choice"] == "undecided"
    assert approximate.undecided[0].point.items() <= last_answer.point.items()


@pytest.mark.turns(4)
def test_the_number_of_simulated_points_is_limited(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    approximate = chosen(CHOOSE_BY_QUANTILE, "{model: tiers.yaml, method: exact}")
    monkeypatch.setattr(choose, "MOST_SIMULATED_POINTS", 0)
    choice = chosen(CHOOSE_BY_QUANTILE)
    # Only the point that surely meets the limit is simulated.
    assert choice.simulated == 1
    assert choice.found[0].point == approximate.found[0].point
    assert choice.found[0].method == "simulation"
    assert choice.undecided == approximate.undecided
    assert (
        "would be better; a simulation would tell" in ChooseResult((choice,)).headline(Words())[0]
    )


@pytest.mark.turns(6)
def test_a_study_without_pictures_draws_the_points_that_were_solved(folder: Path) -> None:
    prepared = prepare(str(written(CHOOSE)))
    (picture,) = prepared.spec.pictures
    result = result_of(run(prepared), ChooseResult)
    (choice,) = result.choices
    spec = ChoicesPictureSpec.model_validate(picture.model_dump())
    assert spec.title == "Response time of requests is at most 90 ms"
    points = choice.solved_choices
    assert points is not None
    # Saturated points have no value to draw.
    sweep, cost = everything()
    costlier = points.objectives.max()
    expected_times = sweep.columns[TIME][cost < costlier]
    drawn_times = points.values[0][points.objectives < costlier]
    assert np.sort(drawn_times) == pytest.approx(
        np.sort(expected_times[np.isfinite(expected_times)])
    )
    assert points.limits == pytest.approx(0.09)
    assert points.meets_all.tolist() == (points.values[0] <= 0.09).tolist()
    lines = {str(line.get_label()): line for line in result.draw(spec, {}).axes[0].get_lines()}
    ring = lines["chosen"].get_xydata()
    best = choice.found[0]
    assert np.asarray(ring)[0] == pytest.approx(
        (best["objective"], 1e3 * (best["value[1]"] or 0.0))
    )
    assert len(np.asarray(lines["meets all conditions"].get_xydata())) == sum(points.meets_all)


def test_a_picture_of_choices_may_show_all_cases(folder: Path) -> None:
    pictures = "pictures: [{kind: choices, name: a, title: b}]\n"
    (picture,) = prepare(str(written(CHOOSE, more=pictures))).spec.pictures
    assert ChoicesPictureSpec.model_validate(picture.model_dump()).case is None


PARTS = """\
activity: 1
parameters: {parts: {value: 1, meaning: parts}, rows: 24, row: 1 GB, memory: 10 GB, work: 1 s}
requires:
  even: {that: floor(rows / parts) == rows / parts, says: parts have as many rows each}
  fits: {that: rows * row / parts <= memory, says: a part must fit the memory}
population: {processors: 2}
cycle: [{name: work, delay: work / parts}]
"""


@pytest.mark.parametrize(
    ("parts", "headline"),
    [
        (
            "[1, 2]",
            (
                "no combination meets the requirement that a part must fit the memory; at best"
                " 12 GB is not at most 10 GB, with 2 parts"
            ),
        ),
        (
            "[5, 7]",
            "no combination meets the requirement that parts have as many rows each",
        ),
        (
            "[2, 5]",
            (
                "no combination meets all of 2 requirements: parts have as many rows each; a part"
                " must fit the memory"
            ),
        ),
        ("[1, 2, 3]", "the best is 3 parts; then the time is 333.3 ms (limit 10 s)"),
    ],
)
def test_where_the_model_allows_no_point_its_requirement_is_named(
    folder: Path, parts: str, headline: str
) -> None:
    Path("parts.yaml").write_text(PARTS)
    choose = f"  vary: {{parameters.parts: {parts}}}\n  minimize: time\n  where: time <= 10 s\n"
    study = "study: 1\nbase: {model: parts.yaml}\nchoose:\n"
    Path("layout.yaml").write_text(study + choose)
    results = run(prepare("layout.yaml"))
    words = Words(meanings={"parameters.parts": "parts"})
    (line,) = result_of(results, ChooseResult).headline(words)
    assert line[0].lower() + line[1:] == headline
    # The base, which has a part that does not fit, is only where the choice begins.
    assert check_file(Path("layout.yaml")) == "study"
    assert not any("as given" in sentence for sentence in head_lines(results, ["time"]))
    Path("alone.yaml").write_text("study: 1\nbase: {model: parts.yaml}\n")
    with pytest.raises(SpecError, match="24 GB is not at most 10 GB"):
        check_file(Path("alone.yaml"))


def test_a_picture_of_a_case_without_a_choice_is_refused(folder: Path) -> None:
    pictures = "pictures: [{kind: choices, name: a, title: b, case: slow}]\n"
    with pytest.raises(SpecError, match="there is no case 'slow'"):
        prepare(str(written(CHOOSE, more=pictures)))


@pytest.mark.turns(4)
def test_a_choice_by_a_formula_is_told_in_words_without_paths(folder: Path) -> None:
    formulas = (
        "stations.web.servers + 2 * stations.app.servers",
        f"10 /s * {TIME} + stations.web.servers + 2 * stations.app.servers + stations.db.servers",
    )
    titles = []
    for formula in formulas:
        cases = "cases: {more: {title: More load, classes.requests.arrivals: 100 /s}}\n"
        text = CHOOSE.replace("minimize: cost", f"minimize: {formula}\n  cases: [base, more]")
        text = text.replace("from: 3", "from: 5")
        results = run(prepare(str(written(text, more=cases))))
        result = result_of(results, ChooseResult)
        decision = result.decision(results.words)
        assert decision is not None
        head, rows = decision
        assert not any(map(paths_in, head))
        assert [row[0] for row in rows] == ["base", "More load"]
        titles.append(head[4])
        # The picture has the points of both cases.
        picture = ChoicesPictureSpec(kind="choices", name="a", title="b")
        figure = result.draw(picture, {}, results.words)
        panels = [axes.get_title(loc="left") for axes in figure.axes]
        assert panels == ["base", "More load"]
        titles.append(figure.get_supxlabel())
    assert titles == [
        *["web servers plus 2 times app servers"] * 2,
        *("least value", "value that is minimized"),
    ]


@pytest.mark.turns(4)
def test_servers_are_not_chosen_for_stations_that_have_none(folder: Path) -> None:
    Path("tiers.yaml").write_text(
        f"{TIERS}  net: {{discipline: is, service: {{requests: 5 ms}}}}\n"
        "  cache: {discipline: ps, rates: [1, 1.5], service: {requests: 1 ms}}\n"
    )
    assert [*chosen(CHOOSE).units] == PATHS


@pytest.mark.turns(4)
def test_an_objective_of_answers_within_a_budget(folder: Path) -> None:
    sweep, cost = everything()
    budget = CHOOSE.replace("minimize: cost", f"minimize: 2 * {TIME}").replace(
        f"{TIME} <= 90 ms", "cost <= 30"
    )
    found = chosen(budget)
    within = cost <= 30
    assert found.points == (64, int(within.sum()))
    assert found.solved == np.count_nonzero(within)
    assert number(found.found[0], "objective") == pytest.approx(
        2 * np.nanmin(sweep.columns[TIME][within])
    )
    assert not found.ordered


@pytest.mark.turns(4)
def test_cases_that_are_choices_begin_with_the_best_one(folder: Path) -> None:
    text = f"  cases: [base, quick]\n  vary: {{stations.db.servers: [3, 4]}}\n  minimize: {TIME}\n"
    text += f"  where: {TIME} <= 90 ms\n"
    cases = "cases: {quick: {classes.requests.arrivals: 60 /s}}\n"
    for among, names in (
        ("", ["base", "quick"]),
        ("  cases_are_choices: true\n", ["quick", "base"]),
    ):
        results = run(prepare(str(written(text + among, more=cases))))
        found = result_of(results, ChooseResult).choices
        assert [choice.case for choice in found] == names


def test_saturated_points_are_told_from_those_without_an_answer(folder: Path) -> None:
    """Where all points have to be solved, those that are saturated are asked about together."""
    text = (
        "  vary: {classes.requests.arrivals: [100 /s, 900 /s, 950 /s], stations.db.servers: "
        "[3, 4]}\n"
    )
    found = chosen(text + f"  minimize: {TIME}\n  where: {TIME} <= 90 ms\n")
    assert (found.solved, found.unanswered) == (6, 0)
    assert found.found[0].point["classes.requests.arrivals"] == 100.0


def test_numbers_that_shape_no_model_are_chosen_among_as_well(folder: Path) -> None:
    text = (
        "  vary: {stations.db.servers: [3, 4], classes.requests.arrivals: [140 /s, 100 /s, 120 /s,"
        " 149 /s]}\n"
    )
    text += (
        f"  minimize: 0 - classes.requests.arrivals\n  where: {TIME} <= 90 ms and"
        " stations.db.servers < 4\n"
    )
    found = chosen(text)
    assert found.points == (8, 4)
    assert found.found[0].point == {"stations.db.servers": 3.0, "classes.requests.arrivals": 100.0}
    rates = {100: 90e-3, 120: 0.0, 140: 0.0}
    given = {"model": "tiers.yaml", "stations__db__servers": "3"}
    assert alone(TIME, **given, classes__requests__arrivals="100 /s") <= rates[100]
    assert alone(TIME, **given, classes__requests__arrivals="120 /s") > rates[100]


@pytest.mark.turns(3)
@pytest.mark.parametrize("is_searched", [False, True])
def test_the_table_of_a_choice_has_the_load_unless_it_is_chosen(
    folder: Path, is_searched: bool
) -> None:
    text = CHOOSE.replace("to: 6", "to: 4").replace("90 ms", "1 s")
    if is_searched:
        # The cheapest servers for either load: 60 requests a second need the fewest.
        text = text.replace("step: 1}}\n", f"step: 1}}, {ARRIVALS}: [60 /s, 90 /s]}}\n")
    cases = f"cases: {{fewer: {{title: fewer requests, {ARRIVALS}: 50 /s}}}}\n"
    results = run(prepare(str(written(f"{text}  cases: [base, fewer]\n", more=cases))))
    table = decision_table(results, results.answer)
    assert table is not None
    (column,) = [
        [row[index] for row in table.rows]
        for index, heading in enumerate(table.titles)
        if heading == "arrivals of requests"
    ]
    assert column == (["60 /s", "60 /s"] if is_searched else ["90 /s", "50 /s"])


@pytest.mark.turns(4)
def test_permits_of_an_activity_are_chosen_among(folder: Path) -> None:
    text = "  vary: {resources.*.permits: {from: 1, to: 4, step: 1}}\n"
    text += (
        "  minimize: resources.threads.permits + 4 * resources.connections.permits\n  where: time"
        " <= 1.7 s\n"
    )
    Path("study.yaml").write_text(
        "study: 1\nbase: {model: layered-service, method: mean-value}\nvary:"
        " {resources.threads.permits: [1, 2, 3, 4], resources.connections.permits: [1, 2, 3,"
        f" 4]}}\nchoose:\n{text}"
    )
    results = run(prepare("study.yaml"))
    (found,), (sweep,) = result_of(results, ChooseResult).choices, results.sweeps
    threads, connections = (
        np.array(sweep.points[f"resources.{each}.permits"], float)
        for each in ("threads", "connections")
    )
    cost = (threads + 4 * connections)[sweep.columns["time"] <= 1.7]
    assert number(found.found[0], "objective") == cost.min()


@pytest.mark.parametrize(("limit", "is_below"), [("69 ms", True), ("71 ms", False)])
def test_a_limit_below_the_time_without_waiting_is_said_to_be_out_of_reach(
    folder: Path, limit: str, is_below: bool
) -> None:
    """A request is served for 70 ms, however many servers there are."""
    found = chosen(CHOOSE.replace("90 ms", limit))
    assert not found.found
    assert (found.without_waiting is not None) is is_below
    (line,) = ChooseResult((found,)).headline(Words())
    if is_below:
        assert found.without_waiting is not None
        assert number(found.without_waiting, "value[1]") == pytest.approx(0.07, rel=1e-6)
        assert line == (
            "No combination keeps the limit, and no larger number of servers would: without any"
            " waiting, the response time of requests is 70 ms (limit 69 ms)"
        )
    else:
        assert "6 db servers would come nearest" in line


def test_of_points_that_random_errors_do_not_tell_apart_the_cheapest_is_nearest() -> None:
    ends_and_costs = [((-3.0, -1.0), 9.0), ((-3.5, -1.5), 5.0), ((-9.0, -7.0), 1.0)]
    failures = [
        (
            (low + high) / 2,
            0,
            Answer(
                "choose",
                "simulation",
                values={
                    "slack[1]": Value((low + high) / 2, "s", low, high),
                    "objective": Value(cost, "1"),
                },
            ),
        )
        for (low, high), cost in ends_and_costs
    ]
    closest = nearest_failure(failures)
    assert closest is not None
    assert closest[2]["objective"] == 5.0


@pytest.mark.turns(4)
def test_where_nothing_meets_the_conditions_the_nearest_is_named(folder: Path) -> None:
    narrow = CHOOSE.replace("<= 90 ms", "<= 71 ms and utilization[db] <= 0.9")
    found, pruned = chosen(narrow), chosen(narrow + "  monotone: true\n")
    assert (found.found, found.solved, pruned.solved) == ((), 64, 4)
    for each in (found, pruned):
        assert each.nearest is not None
        assert each.nearest.point == dict.fromkeys(PATHS, 6.0)
        assert each.conditions[each.worst] == "response_time[requests] <= 71 ms"
    (line,) = ChooseResult((found,)).sentences()
    assert (
        line == "base: no point meets all conditions; nearest is stations.web.servers = 6,"
        " stations.app.servers = 6, stations.db.servers = 6, where response_time[requests] <= 71"
        " ms fails with 73.33 ms, 3.18 % off; 64 of 64 points were solved"
    )
    assert (
        "none of 64 points meets the conditions on what is varied"
        in ChooseResult((chosen(CHOOSE.replace("<= 90 ms", "<= 1 s and cost < 18")),)).text()
    )


def test_where_every_point_is_saturated_the_choice_says_so(folder: Path) -> None:
    Path("one.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 3 /s}}\nstations: {web: {service: {jobs:"
        " 1 s}}}\n"
    )
    Path("study.yaml").write_text(
        'study: 1\nbase: {model: one.yaml}\nanswer: ["response_time[jobs]"]\nchoose:\n  vary:'
        " {stations.web.servers: [1, 2, 3]}\n  minimize: stations.web.servers\n  where:"
        ' "response_time[jobs] <= 2 s"\n'
    )
    prepared = prepare("study.yaml")
    result = result_of(run(prepared), ChooseResult)
    (picture,) = prepared.spec.pictures
    figure = result.draw(ChoicesPictureSpec.model_validate(picture.model_dump()), {})
    assert [text.get_text() for text in figure.axes[0].texts] == ["no point has an answer"]
    (line,) = result.sentences()
    assert (
        line == "base: no point has the values of all conditions: station web is saturated:"
        " arrivals need 3 s of service a second, and it gives less than 1; lower the"
        " arrivals, shorten the demand, or add servers; 3 of 3 points were solved"
    )
    (headline,) = result.headline(Words())
    assert headline == (
        "No combination keeps the limit, because all are saturated, even with 3 web servers:"
        " station web is saturated: arrivals need 3 s of service a second, and it gives less than 3"
    )


@pytest.mark.turns(4)
def test_a_limit_that_noise_hides_leaves_a_cheaper_point_undecided(folder: Path) -> None:
    Path("one.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 8 /s}}\nstations: {web: {servers: 10,"
        " discipline: fcfs, service: {jobs: 1 s}, visits: {jobs: 1}}}\n"
    )
    quantile = "response_time_quantile[jobs,0.99]"
    limit = alone(quantile, model="one.yaml")
    base = "{model: one.yaml, method: simulation, simulation.cycles: 1000}"
    Path("study.yaml").write_text(
        f"study: 1\nbase: {base}\nchoose:\n  vary: {{stations.web.servers: [10, 16]}}\n"
        f"  minimize: stations.web.servers\n  where: '{quantile} <= {limit!r} s'\n"
    )
    (found,) = result_of(run(prepare("study.yaml")), ChooseResult).choices
    assert [each.point["stations.web.servers"] for each in found.found] == [16]
    assert [each.point["stations.web.servers"] for each in found.undecided] == [10]
    slack = found.found[0].values["slack[1]"]
    assert slack.low is not None
    assert slack.low > 0
    result = ChooseResult((found,))
    assert (
        "undecided, because a limit lies in the interval: 10 at stations.web.servers = 10"
        in result.text()
    )
    assert "it is undecided whether 10 web servers would be better" in result.headline(Words())[0]


@pytest.mark.turns(4)
def test_the_page_the_table_and_json_have_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(CHOOSE)
    printed, page, rows, document = reported("choose", capsys)
    assert "the least cost, 28, is at " in printed
    assert "## Choices" in page
    (best,) = (line for line in page.splitlines() if line.startswith("| chosen"))
    assert best.endswith(" 87.97 ms | 2.029 ms |")
    assert [row["choice"] for row in rows] == ["chosen", *["runner-up"] * 3]
    assert [float(rows[0][path + " [1]"]) for path in PATHS] == [3, 5, 3]
    assert (rows[0]["method"], rows[0]["exact"]) == ("exact", "yes")
    assert document["answers"][0]["values"]["objective"]["value"] == 28
    assert document["choices"][0]["solved"] < 64


WRONG = [
    (
        "stations.*.servers: {from",
        "stations.*.server: {from",
        "base has no quantity 'stations.*.server' to choose",
    ),
    (
        "stations.db.servers: 5",
        "stations.bd.servers: 5",
        "base has no quantity 'stations.bd.servers' to choose",
    ),
    (
        "{from: 3, to: 6, step: 1}",
        "[1, 2.5]",
        "stations.web.servers: must be a whole number, got 2.5",
    ),
    (
        "stations.*.servers: {from: 3, to: 6, step: 1}",
        "method: [exact, bounds]",
        "method is no number; what is chosen among is numbers, such as servers",
    ),
    (
        "minimize: cost",
        "minimize: costs",
        "choose.minimize: there is no name 'costs'; did you mean 'cost'?",
    ),
    ("<= 90 ms", "== 90 ms", "at == nothing starts or stops holding"),
    (
        "<= 90 ms",
        "<= 90",
        "choose.where: cannot compare [s] and [1]: response_time[requests] and 90;",
    ),
    (
        "response_time[requests] <= 90 ms",
        "utilization[web] <= 80",
        "utilization[web] is a share, which is at most 1, or 100 %, but 80 is 8000 %; write 0.8",
    ),
    (
        "response_time[requests] <= 90 ms",
        "classes.requests.arrivals <= 90 /s",
        "classes.requests.arrivals is an input with one value here; a condition compares values of",
    ),
    (
        "  cost: {stations.db.servers: 5, stations.app.servers: 2, stations.*.servers: 1}\n",
        "",
        "choose.minimize: there is no cost; write cost: {PATH: NUMBER}, the cost of one unit of a",
    ),
    ("minimize: cost", "minimize: price", "there is no name 'price'; did you mean 'cost'?"),
    ("  cost: {", "  prices: {", "choose.prices: unknown key; write cost: {PATH: NUMBER}"),
    (
        "{from: 3, to: 6, step: 1}",
        "{from: 1, to: 101, step: 1}",
        "1,030,301 points to choose among; the limit is 20,000: vary less",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in CHOOSE
    with pytest.raises(SpecError) as caught:
        check_file(written(CHOOSE.replace(old, new)))
    assert words in str(caught.value)


SLOWER_WITH_MORE = """\
activity: 1
parameters: {n: 4, piece: 1 us}
population: {processors: 2}
cycle:
  - {name: share, delay: 100 * piece / n}
  - {name: ask, delay: n * piece, component: ask}
"""
"""25 us at 5 and at 20: more of n breaks a condition on the time that less of it meets."""


@pytest.mark.parametrize(
    ("values", "limit"), [("[6, 8, 10, 12, 16, 30]", 25), ("[6, 8, 10, 12]", 20.3)]
)
def test_an_assumption_that_solved_points_contradict_is_named(
    folder: Path, values: str, limit: float
) -> None:
    """The most of n, or one more than the least that is enough, breaks the condition."""
    Path("n.yaml").write_text(SLOWER_WITH_MORE)
    Path("study.yaml").write_text(
        f"""\
study: 1
base: {{model: n.yaml}}
choose:
  vary: {{parameters.n: {values}}}
  minimize: parameters.n
  where: time <= {limit} us
  monotone: true
"""
    )
    result = result_of(run(prepare("study.yaml")), ChooseResult)
    (choice,) = result.choices
    assert choice.contradicted is not None
    held, failed = choice.contradicted
    assert (held["slack[1]"] or 0.0) >= 0.0 > (failed["slack[1]"] or 0.0)
    assert any("the assumption is wrong here" in each for each in result.sentences())


def test_an_objective_that_is_chosen_itself_is_told_once(folder: Path) -> None:
    Path("one.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 8 /s}}\n"
        "stations: {web: {servers: 10, service: {jobs: 1 s}}}\n"
    )
    Path("study.yaml").write_text(
        "study: 1\nbase: {model: one.yaml}\nchoose:\n"
        "  vary: {stations.web.servers: {from: 9, to: 20, step: 1}}\n"
        "  minimize: stations.web.servers\n  where: 'response_time[jobs] <= 1.1 s'\n"
    )
    result = result_of(run(prepare("study.yaml")), ChooseResult)
    (found,) = result.choices
    servers = found.found[0].point["stations.web.servers"]
    value = found.found[0].values["value[1]"].value
    assert value is not None
    head = result.headline(Words())[0]
    assert head.startswith(
        f"The fewest are {servers:g} web servers; then the response time of jobs is"
    )
    decision = result.decision(Words())
    assert decision is not None
    titles, rows = decision
    limit = "response time of jobs (at most 1.1 s)"
    assert found.case == "base"
    assert rows[0][:2] == ["chosen", f"{servers:g}"]
    assert titles == ["", "web servers", limit, "highest utilization"]
    assert [len(row) for row in rows] == [4]


def test_a_total_is_minimized_by_its_name(folder: Path) -> None:
    """It is the same as its formula in its place."""
    formula = "stations.web.servers + stations.app.servers"
    total = f"  totals: {{servers: {formula}}}\n"
    by_name, by_formula = (
        chosen(CHOOSE.replace("minimize: cost", f"minimize: {text}") + total)
        for text in ("servers", formula)
    )
    assert by_name.totals == by_formula.totals
    points = [[answer.point for answer in choice.found] for choice in (by_name, by_formula)]
    assert points[0] == points[1]


def test_a_total_may_stand_in_conditions_and_formulas(folder: Path) -> None:
    total = "  totals: {servers: stations.web.servers + stations.app.servers}\n"
    text = CHOOSE.replace("minimize: cost", "minimize: 2 * servers")
    (by_name,) = chosen(f"{text.rstrip()} and servers >= 12\n{total}").found[:1]
    (plain,) = chosen(f"{text}{total}").found[:1]
    servers = [sum(float(answer.point[path]) for path in PATHS[:2]) for answer in (by_name, plain)]
    assert servers[0] == 12 > servers[1]


def test_totals_and_words_of_values_stand_in_the_sentence_and_the_table(folder: Path) -> None:
    called = f'called: {{"{TIME}": mean time of an answer}}\n'
    total = "  totals: {servers: stations.web.servers + stations.app.servers}\n"
    path = written(CHOOSE + total, more=called)
    (choice,) = result_of(run(prepare(str(path))), ChooseResult).choices
    web, app, _ = (float(choice.found[0].point[name]) for name in PATHS)
    assert choice.totals == {"servers": f"{web + app:g}"}
    words = Words(meanings={TIME: "mean time of an answer"})
    result = ChooseResult((choice,))
    (sentence,) = result.headline(words)
    assert f"{web + app:g} servers in all, " in sentence
    assert "; then the mean time of an answer is " in sentence
    decision = result.decision(words)
    assert decision is not None
    head, (row,) = decision
    assert head[1] == "servers"
    assert head[-2:] == ["mean time of an answer (at most 90 ms)", "highest utilization"]
    assert row[1] == f"{web + app:g}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'called: {"response_time[request]": mean time}\n',
            (
                "called.response_time[request]: answer has no response_time[request]; write a"
                " value of answer, or add it there"
            ),
        ),
        (
            "  totals: {much: 'utilization[web]'}\n",
            (
                "choose.totals.much: much needs a value that is not varied; write a formula of what"
                " vary has"
            ),
        ),
    ],
)
def test_totals_and_words_that_lead_nowhere_are_refused(
    folder: Path, text: str, message: str
) -> None:
    is_total = text.startswith("  ")
    path = written(CHOOSE + text) if is_total else written(CHOOSE, more=text)
    with pytest.raises(SpecError, match=re.escape(message)):
        check_file(path)


@pytest.mark.turns(8)
def test_the_choice_has_the_values_that_were_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the chosen network, solved by itself: its values are printed, with the resource that
    is used most, and stand in results.csv.
    """
    asked = ["queue_length[requests,app]", "utilization[db]"]
    study = written(CHOOSE)
    study.write_text(study.read_text().replace(f'answer: ["{TIME}"]', f"answer: {asked}"))
    _, _, rows, _ = reported("choose", capsys)
    (result,) = [result_of(run(prepare(str(study))), ChooseResult)]
    best = result.choices[0].found[0]
    alone = solve("tiers.yaml", {path: best.point[path] for path in PATHS})
    (chosen_row,) = [row for row in rows if row["choice"] == "chosen"]
    for name in asked:
        assert float(chosen_row[f"{name} [1]"]) == pytest.approx(alone[name], rel=1e-9)
    highest, most_used = max(
        (alone[f"utilization[{name}]"] or 0.0, name) for name in ("web", "app", "db")
    )
    share = f"{100 * highest:.3g} % ({most_used})"
    assert "utilization" not in result.headline(Words())[0]
    decision = result.decision(Words())
    assert decision is not None
    titles, (row,) = decision
    assert titles[-2:] == ["number of requests at app", "highest utilization"]
    assert row[-1] == share
    assert float(row[-2]) == pytest.approx(alone[asked[0]], rel=1e-3)


def test_a_further_case_names_its_quantities_and_the_value_that_is_limited(folder: Path) -> None:
    more = "cases: {more: {classes.requests.arrivals: 70 /s}}\n"
    path = written(f"{CHOOSE}  cases: [base, more]\n", more=more)
    result = result_of(run(prepare(str(path))), ChooseResult)
    (headline,) = result.headline(Words())
    best = result.choices[1].found[0]
    web, app, db = (best.point[name] for name in PATHS)
    chosen_servers = {path: best.point[path] for path in PATHS}
    alone = solve("tiers.yaml", {**chosen_servers, ARRIVALS: "70 /s"})
    cost = 1 * float(web) + 2 * float(app) + 5 * float(db)
    time = 1e3 * (alone[TIME] or 0.0)
    assert headline.endswith(
        f"More: {web:g} web servers, {app:g} app servers and {db:g} db servers, cost {cost:g}"
        f", {time:.4g} ms"
    )


def test_a_picture_draws_points_whose_interval_contains_the_limit_as_undecided() -> None:
    values = np.array([[250.0, 290.0, 340.0], [240.0, 270.0, 330.0], [260.0, 310.0, 350.0]])
    choices = SolvedChoices(
        "cost",
        "time",
        "1",
        "s",
        np.array([3.0, 2.0, 1.0]),
        values,
        np.full(3, 300.0),
        np.array([True, False, False]),
    )
    figure = choices_figure({"base": choices}, "Time against cost", Words())
    (axes,) = [axes for axes in figure.axes if axes.lines]
    points = {str(line.get_label()): np.asarray(line.get_xdata()).tolist() for line in axes.lines}
    assert (points["meets all conditions"], points["undecided"], points["fails"]) == (
        [3.0],
        [2.0],
        [1.0],
    )


@pytest.mark.parametrize("servers", ["[1, 2]", "[1]"])
def test_a_saturated_server_meets_a_lower_limit_on_a_time(folder: Path, servers: str) -> None:
    """The time without end is longer than 1 s; with 2 servers it is 1 s of work and a wait."""
    Path("one.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 1.5 /s}}\nstations: {web: {service: {jobs:"
        " 1 s}}}\n"
    )
    Path("study.yaml").write_text(
        'study: 1\nbase: {model: one.yaml}\nanswer: ["response_time[jobs]"]\nchoose:\n  vary:'
        f" {{stations.web.servers: {servers}}}\n  minimize: stations.web.servers\n  where:"
        ' "response_time[jobs] > 1 s"\n'
    )
    prepared = prepare("study.yaml")
    result = result_of(run(prepared), ChooseResult)
    (choice,) = result.choices
    assert [dict(answer.point) for answer in choice.found] == [
        {"stations.web.servers": float(count)} for count in range(1, 1 + len(servers) // 3)
    ]
    assert choice.meets_conditions
    assert choice.found[0]["value[1]"] is None
    assert all(number(answer, "value[1]") > 1 for answer in choice.found[1:])
    (headline,) = result.headline(Words())
    assert "1 web server" in headline
    assert "is beyond any limit (a resource is saturated) (limit 1 s)" in headline
    assert "is met there: the value is beyond any limit" in " ".join(result.sentences())
    (picture,) = prepared.spec.pictures
    figure = result.draw(ChoicesPictureSpec.model_validate(picture.model_dump()), {})
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert ("no point has an answer" in texts) == (servers == "[1]")


@pytest.mark.parametrize(
    ("minimize", "where", "told"),
    [
        (TIME, f"{TIME} <= 90 ms", False),
        (TIME, "'utilization[web]' <= 0.7", True),
        ("stations.web.servers + stations.app.servers", f"{TIME} <= 90 ms", True),
    ],
)
def test_an_objective_is_told_unless_its_limit_tells_it(
    minimize: str, where: str, told: bool, folder: Path
) -> None:
    quoted = where.replace("'", "")
    choice = chosen(
        f"  vary: {{stations.*.servers: {{from: 4, to: 6, step: 1}}}}\n"
        f'  minimize: "{minimize}"\n  where: "{quoted}"\n'
    )
    sentence = ChooseResult((choice,)).headline(Words())[0]
    assert "; then " in sentence
    assert (choose._objective_text(choice, Words()) in sentence) == told
