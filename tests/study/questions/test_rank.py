"""Rankings: shares, elasticities and effects beside differences and solving again."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from slipstick.answer import Value
from slipstick.errors import SpecError
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.inputs import solve_settings
from slipstick.schema.library import Library
from slipstick.study.run import prepare, run
from slipstick_questions.rank import Ranking, RankResult, _time_saved_table
from tests.questions import number, parameter, result_of
from tests.report.made_up import RANKING, ranked
from tests.specs import activity, settings, study

GIVEN = {
    "model": "dvsm/diff-request",
    "machine": "rs6000-43p-fast-ethernet",
    "method": "closed-form",
    "parts": "7",
    "request": "12 B",
    "reply": "4120 B",
    "send_call": "40 us",
    "compute": "1792 us",
    "remote_delay": "795 us",
}
BASE = "{" + ", ".join(f"{path}: {text}" for path, text in GIVEN.items()) + "}"


def ranking(folder: Path, *lines: str, base: str = BASE) -> Ranking:
    (folder / "x.yaml").write_text(study(*lines, base=base))
    return result_of(run(prepare(str(folder / "x.yaml"))), RankResult).rankings[0]


def time(**changes: str) -> float:
    (answer,), _ = solve_settings(settings(**{**GIVEN, **changes}), Library())
    value = answer["time"]
    assert value is not None
    return value


def written(path: str, value: float, unit: str) -> dict[str, str]:
    return {path.replace(".", "__"): repr(value) if unit == "1" else f"{value!r} {unit}"}


@pytest.mark.turns(4)
def test_effects_are_those_of_solving_again(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {change: 50%, most: 100}")
    assert len(found.rows) > 8
    base = time()
    for row in found.rows:
        if row["time_saved"] is None:
            continue
        changed = number(row, "value") * {"half": 0.5, "twice": 2.0}[str(row.point["change"])]
        assert (
            row["time_saved"]
            == 1.0 - time(**written(parameter(row), changed, row.unit("value"))) / base
        ), parameter(row)


@pytest.mark.turns(5)
def test_elasticities_are_those_of_small_differences(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {change: 1%, most: 100}")
    base = time()
    for row in found.rows:
        if parameter(row) in ("parts", "machine.processors.count"):
            continue
        up, down = (
            time(**written(parameter(row), number(row, "value") * factor, row.unit("value")))
            for factor in (1 + 1e-6, 1 - 1e-6)
        )
        assert (up - down) / (2e-6 * base) == pytest.approx(
            row["elasticity"], rel=1e-4, abs=1e-8
        ), parameter(row)


@pytest.mark.turns(4)
def test_shares_of_times_add_up_to_one(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {change: 50%, most: 1000}")
    shares = {
        parameter(row): number(row, "share") for row in found.rows if row["share"] is not None
    }
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-12)
    assert all(
        row["share"] == row["elasticity"] or row["share"] is None
        for row in found.rows
        if row.unit("value") in ("s", "s/B")
    )
    assert next(row for row in found.rows if parameter(row) == "parts")["share"] is None


@pytest.mark.turns(4)
def test_the_best_come_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    whole, few = ranking(tmp_path, "rank: {most: 100}"), ranking(tmp_path, "rank: {most: 3}")
    assert whole.rows[:3] == few.rows
    tried = [row for row in whole.rows if row["time_saved"] is not None]
    assert tuple(tried) == whole.rows[: len(tried)]
    effects = [number(row, "time_saved") for row in tried]
    assert effects == sorted(effects, reverse=True)


@pytest.mark.turns(4)
def test_less_of_some_is_no_help_and_more_is(tmp_path: Path) -> None:
    rows = {parameter(row): row for row in ranking(tmp_path, "rank: {most: 100}").rows}
    assert rows["machine.processors.speed"].point["change"] == "twice"
    assert rows["machine.network.adapter"].point["change"] == "half"


@pytest.mark.turns(4)
def test_a_change_that_is_not_allowed_has_no_effect_to_tell(tmp_path: Path) -> None:
    rows = {parameter(row): row for row in ranking(tmp_path, "rank: {change: 25%, most: 100}").rows}
    assert rows["parts"]["time_saved"] is None  # 5.25 and 9.33
    assert number(rows["parts"], "elasticity") > 0


@pytest.mark.turns(8)
def test_what_does_not_matter_is_named(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {most: 100}")
    assert "machine.processors.count" in found.idle
    assert not {parameter(row) for row in found.rows} & set(found.idle)


def test_what_a_study_names_and_does_not_matter_stands_in_the_headline(tmp_path: Path) -> None:
    """Such as a price, which shortens no time."""
    parameters = "{work: 9 ms, price: 3 /h}"
    head = f"population: {{processors: 2}}\nparameters: {parameters}"
    model = activity("{name: work, delay: work}", head=head)
    (tmp_path / "model.yaml").write_text(f"{model}\namounts: {{cost: price * time}}\n")
    base = f"{{model: {tmp_path}/model.yaml}}"
    found = ranking(tmp_path, "rank: {of: [parameters.work, parameters.price]}", base=base)
    assert found.named_idle == ("parameters.price",)
    (headline,) = RankResult((found,)).headline(NO_WORDS)
    assert headline.endswith("; the price has no effect on it")
    found = ranking(tmp_path, "rank: {most: 5}", base=base)
    assert found.named_idle == ()


def test_only_what_is_asked_for_is_ranked(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {of: [compute, reply]}")
    assert {parameter(row) for row in found.rows} == {"compute", "reply"}
    (tmp_path / "model.yaml").write_text(activity("{name: work, delay: 9 ms}"))
    found = ranking(
        tmp_path, "rank: {of: [cycle.0.delay]}", base=f"{{model: {tmp_path}/model.yaml}}"
    )
    assert [(parameter(row), row["share"], row["time_saved"]) for row in found.rows] == [
        ("cycle.work.delay", 1.0, 0.5)
    ]


def test_what_is_not_there_cannot_be_ranked(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        ranking(tmp_path, "rank: {of: [compute, machine.netwerk]}")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.path) == (3, 22, "rank.of.1")
    assert problem.message.startswith(
        "base has no quantity 'machine.netwerk'; did you mean 'machine."
    )


def test_a_case_without_an_answer_has_nothing_to_rank(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(
        activity(
            "{name: work, delay: a - b}",
            head="parameters: {a: 1 s, b: 2 s}\npopulation: {processors: 2}",
        )
    )
    found = ranking(tmp_path, "rank: {}", base=f"{{model: {tmp_path}/model.yaml}}")
    assert (found.rows, found.idle, found.failed) == ((), (), True)
    sentence = "no answer, so that no change can be ranked"
    result = RankResult((found,))
    assert result.headline(NO_WORDS) == [sentence]
    assert result.sentences() == [f"base: {sentence}"]


@pytest.mark.parametrize(("count", "shown"), [(3, 3), (4, 4), (6, 4)])
def test_the_head_has_the_best_change_of_a_few_cases(
    count: int, shown: int, tmp_path: Path
) -> None:
    (tmp_path / "model.yaml").write_text(activity("{name: work, delay: 9 ms}"))
    found = ranking(tmp_path, "rank: {}", base=f"{{model: {tmp_path}/model.yaml}}")
    rankings = tuple(replace(found, case=f"case {number}") for number in range(count))
    result = RankResult(rankings)
    head = result.headline(NO_WORDS)
    assert [line.partition(":")[0] for line in head] == [f"case {n}" for n in range(shown)]
    assert result.has_further_answers == (shown < count)


def test_changes_that_save_the_same_are_said_to(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 4, think_time: 1 s}}\n"
        "stations:\n  cpu: {service: {jobs: 100 ms}}\n  disk: {service: {jobs: 100 ms}}\n"
    )
    found = ranking(tmp_path, "rank: {change: 50%}", base=f"{{model: {tmp_path}/model.yaml}}")
    (head,) = RankResult((found,)).headline(NO_WORDS)
    assert re.fullmatch(
        r"half the service time of jobs at cpu saves most: [\d.]+ % of the time;"
        r" half the service time of jobs at disk saves as much",
        head,
    )


def test_a_law_can_be_ranked(tmp_path: Path) -> None:
    found = ranking(
        tmp_path,
        "rank: {change: 10%}",
        base="{model: law/flow-line, items: 3, once: 10 us, longest: 5 us}",
    )
    assert {parameter(row): row["share"] for row in found.rows} == {
        "items": None,
        "once": 0.5,
        "longest": 0.5,
    }


BUSY = """\
queueing-network: 1
parameters: {speed: 100 /s}
classes: {jobs: {arrivals: 95 /s}}
stations: {cpu: {discipline: fcfs, service: {jobs: 1 / speed}}}
"""


def test_near_saturation_the_change_that_helps_is_named_not_the_one_without_an_answer(
    tmp_path: Path,
) -> None:
    (tmp_path / "busy.yaml").write_text(BUSY)
    (tmp_path / "x.yaml").write_text(study("rank: {change: 10%}", base="{model: busy.yaml}"))
    found = result_of(run(prepare(str(tmp_path / "x.yaml"))), RankResult)
    first, second = found.rankings[0].rows
    assert (parameter(first), first.point["change"]) == ("parameters.speed", "11.1 % more")
    assert first["time_saved"] == pytest.approx(1 - (1 / (100 / 0.9 - 95)) / (1 / 5))
    assert first["opposite"] is None
    assert first.point["without an answer"] == "10 % less"
    assert (parameter(second), second.point["change"]) == ("classes.jobs.arrivals", "10 % less")
    assert "11.1 % more speed saves most" in found.headline(Words())[0]


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_said_to_help_most_does_and_its_opposite_does_not_help_more(
    tmp_path: Path, seed: int
) -> None:
    """The models are drawn near saturation, and every change is solved by the command's own
    road.
    """
    chance = random.Random(seed)
    speed, load = chance.uniform(50, 150), chance.uniform(0.85, 0.995)
    values = {
        "parameters.speed": (speed, "/s"),
        "classes.jobs.arrivals": (speed * load, "/s"),
        "stations.disk.service.jobs": (chance.uniform(0.3, 0.97) / (speed * load), "s"),
    }
    text = BUSY.replace("100 /s", f"{speed!r} /s").replace("95 /s", f"{speed * load!r} /s")
    disk = (
        f"  disk: {{discipline: fcfs, service: {{jobs: "
        f"{values['stations.disk.service.jobs'][0]!r} s}}}}\n"
    )
    (tmp_path / "busy.yaml").write_text(
        text.replace("stations: {cpu", "stations:\n  cpu").replace("}}}\n", "}}\n") + disk
    )
    change = chance.choice([0.01, 0.05, 0.2])
    base = f"{{model: {tmp_path / 'busy.yaml'}}}"
    found = ranking(tmp_path, f"rank: {{change: {change!r}}}", base=base)
    (before,), _ = solve_settings(settings(model=str(tmp_path / "busy.yaml")), Library())

    def saved(path: str, factor: float) -> float | None:
        value, unit = values[path]
        given = settings(model=str(tmp_path / "busy.yaml")) | settings(
            **{path.replace(".", "__"): f"{value * factor!r} {unit}"}
        )
        (after,), _ = solve_settings(given, Library())
        time = after.find("response_time[jobs]")
        return None if time is None else 1 - time / number(before, "response_time[jobs]")

    solved = {
        (path, is_more): saved(path, factor)
        for path in values
        for is_more, factor in ((False, 1 - change), (True, 1 / (1 - change)))
    }
    best = max((each, where) for where, each in solved.items() if each is not None)
    row = found.rows[0]
    is_more = str(row.point["change"]).endswith(" more")
    assert (parameter(row), is_more) == best[1]
    assert row["time_saved"] == pytest.approx(best[0], rel=1e-9)


def test_a_law_that_gives_no_time_is_not_ranked(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="gives speedup"):
        ranking(
            tmp_path, "rank: {}", base="{model: law/amdahl-speedup, serial: 0.1, processors: 16}"
        )


OVERLAP = """activity: 1
parameters: {compute: 2 ms, fetch: 0.5 ms, push: 0.1 ms}
useful: [busy]
resources: {nic: {}, queue: {lock: fifo}, step: {barrier: central}}
population: {processors: 16}
cycle:
  - fork:
      - [{name: compute, delay: compute, scv: 1}]
      - [{name: fetch, service: nic, time: fetch, component: communication}]
  - {hold: queue, body: [{name: push, delay: push, component: lock}]}
  - {barrier: step}
"""


@pytest.mark.turns(4)
def test_a_change_is_compared_with_an_answer_of_the_same_method(tmp_path: Path) -> None:
    """Mean value is 20 % off for this model, so a check replaces it by a simulation: half of the
    small time under the lock shortens the time, and does not lengthen it by 19 %.
    """
    (tmp_path / "overlap.yaml").write_text(OVERLAP)
    (tmp_path / "x.yaml").write_text(
        "study: 1\nbase: {model: overlap.yaml}\nrank: {of: [parameters.push], change: 50%}\n"
    )
    results = run(prepare(str(tmp_path / "x.yaml")))
    (row,) = result_of(results, RankResult).rankings[0].rows
    assert results.cases["base"].method == row.method == "simulation"
    assert row.values["time_saved"].value == pytest.approx(0.0, abs=0.03)


@pytest.mark.turns(4)
def test_a_change_of_another_method_is_compared_with_the_case_by_that_method(
    tmp_path: Path,
) -> None:
    """A Markov chain takes the case but no change of its variability, which mean value takes: the
    difference of their errors is ten times the effect, and said that more variability saves time.
    """
    path = "cycle.2.body.second.scv"
    model = "{model: layered-serial}"
    lines = ("rank:", f"  of: [{path}]", "  change: 10 %")
    (row,) = ranking(tmp_path, *lines, base=model).rows
    by_mean_value = []
    for scv in ("1", "0.9", repr(1 / 0.9)):
        given = settings(model="layered-serial", method="mean-value", **{path: scv})
        (answer,), _ = solve_settings(given, Library())
        by_mean_value.append(number(answer, "time"))
    before, less, more = by_mean_value
    assert row.method == "markov-chain and mean-value"
    assert row["time_saved"] == pytest.approx(1 - less / before)
    assert row["opposite"] == pytest.approx(1 - more / before)
    assert number(row, "opposite") < 0 < number(row, "time_saved")


def test_of_several_groups_the_first_is_ranked_by_its_name(tmp_path: Path) -> None:
    """Readers and buyers of a shop: the study was refused, as no value is called time."""
    (tmp_path / "shop.yaml").write_text(
        "activity: 1\nresources: {web: {servers: 1}}\ngroups:\n"
        "  readers: {arrivals: 20 /s, cycle: [{name: read, service: web, time: 10 ms, scv: 1}]}\n"
        "  buyers: {arrivals: 4 /s, cycle: [{name: order, service: web, time: 50 ms}]}\n"
    )
    (tmp_path / "x.yaml").write_text(
        "study: 1\nbase: {model: shop.yaml}\nanswer: ['response_time[readers]']\n"
        "rank: {of: [groups.readers.cycle.read.time, groups.buyers.cycle.order.time], change: "
        "50%}\n"
    )
    result = result_of(run(prepare(str(tmp_path / "x.yaml"))), RankResult)

    def response(read: float, order: float) -> float:
        load = 20 * read + 4 * order
        return read + (20 * 2 * read**2 + 4 * order**2) / 2 / (1 - load)

    before = response(0.01, 0.05)
    saved = {
        "groups.readers.cycle.read.time": 1 - response(0.005, 0.05) / before,
        "groups.buyers.cycle.order.time": 1 - response(0.01, 0.025) / before,
    }
    for row in result.rankings[0].rows:
        assert row["time_saved"] == pytest.approx(saved[parameter(row)], rel=1e-9)
    (head,) = result.headline(Words())
    assert " of the time of readers; next comes " in head
    assert "of the time of readers" in result.sentences()[0]


@pytest.mark.turns(8)
def test_the_size_of_a_machine_is_no_lever_unless_it_is_asked_for(tmp_path: Path) -> None:
    """Half of the processors at a memory give each twice the bandwidth, and are no improvement."""
    base = "{model: step-on-nodes, parameters.p: 1024, parameters.operations: 2000}"
    path = "machine.memory.domain.processors"
    found = ranking(tmp_path, "rank: {change: 50%, most: 100}", base=base)
    assert path not in [parameter(row) for row in found.rows]
    assert path not in found.idle
    assert "machine.memory.domain.bandwidth" in [parameter(row) for row in found.rows]
    asked = ranking(tmp_path, f"rank: {{of: [{path}], change: 50%}}", base=base)
    assert [parameter(row) for row in asked.rows] == [path]


def test_a_change_that_saves_next_to_nothing_is_not_called_the_next(tmp_path: Path) -> None:
    Path(tmp_path / "two.yaml").write_text(
        activity(
            "{name: write, delay: write}",
            "{name: parse, delay: parse}",
            head="parameters: {write: 10 ms, parse: 1 ns}\npopulation: {processors: 1}\n",
        )
    )
    found = ranking(tmp_path, "rank: {change: 50%}", base="{model: two.yaml}")
    assert RankResult((found,)).headline(Words()) == [
        "half the write saves most: 50 % of the time; no other saves 0.1 %"
    ]


def test_a_change_without_an_answer_is_not_said_to_shorten_nothing(tmp_path: Path) -> None:
    """70 % of 283 processors are no whole number; 70 % of 300 are, and save time."""
    (tmp_path / "server.yaml").write_text(
        "activity: 1\nparameters: {p: 283, work: 10 ms}\npopulation: {processors: p}\n"
        "resources: {server: {servers: 2}}\n"
        "cycle: [{name: think, delay: 1 s, scv: 1}, {name: use, service: server, time: work}]\n"
    )
    lines = ("rank:", "  of: [parameters.p]", "  change: 30 %")
    (words,) = RankResult((ranking(tmp_path, *lines, base="{model: server.yaml}"),)).headline(
        NO_WORDS
    )
    assert words == "no quantity has an answer when it is changed by a factor of 1.429"
    base = "{model: server.yaml, parameters.p: 300}"
    (words,) = RankResult((ranking(tmp_path, *lines, base=base),)).headline(NO_WORDS)
    assert "saves most" in words


def test_a_cost_and_a_rate_are_changed_by_equal_factors(tmp_path: Path) -> None:
    """A time of 6 ms and a rate that makes 4 ms: half of the time saves 3 of 10 ms, twice the rate
    2 of them; one and a half times the rate would save 1.33.
    """
    (tmp_path / "two.yaml").write_text(
        activity(
            "{name: write, delay: write}",
            "{name: parse, delay: 8 MB / speed}",
            head="parameters: {write: 6 ms, speed: 2 GB/s}\npopulation: {processors: 1}\n",
        )
    )
    found = ranking(tmp_path, "rank: {}", base="{model: two.yaml}")
    assert RankResult((found,)).headline(Words()) == [
        "half the write saves most: 30 % of the time; next comes twice the speed (20 %)"
    ]
    assert RankResult((found,)).sentences() == [
        (
            "base: among single quantities, half of parameters.write helps most: it saves 30 % of"
            " the time"
        )
    ]


def test_all_of_a_quantity_has_no_opposite_change(tmp_path: Path) -> None:
    message = "no factor is the opposite of 100 % less; write a smaller change, such as 99%"
    with pytest.raises(SpecError, match=message):
        ranking(tmp_path, "rank: {change: 100%}")


def test_a_table_of_one_ranking_has_no_name_of_a_case() -> None:
    rows = tuple(ranked(path, path, Value(1.0, "s"), 0.7, 0.7, 0.3) for path in ("work", "send"))
    one, second = (replace(RANKING, case=case, rows=rows) for case in ("base", "few"))
    table, pair = (_time_saved_table(rankings, Words()) for rankings in ([one], [one, second]))
    assert table is not None
    assert pair is not None
    assert (table[0], pair[0]) == (["change", "time saved"], ["time saved by", "base", "few"])


CACHE = """activity: 1
parameters: {lookup: 18 us, update: 1.5 us, threads: 24}
population: {processors: threads, called: thread}
resources: {map: {lock: fifo}}
cycle:
  - {name: lookup, delay: lookup, scv: 1, component: lookup}
  - {hold: map, body: [{name: update, delay: update, scv: 1, component: update}]}
"""


@pytest.mark.turns(2)
def test_fewer_threads_are_no_improvement_whatever_their_parameter_is_called(
    tmp_path: Path,
) -> None:
    """Half the threads shorten the cycle, and serve fewer requests a second."""
    (tmp_path / "cache.yaml").write_text(CACHE)
    path = tmp_path / "study.yaml"
    path.write_text("study: 1\nbase: {model: cache.yaml}\nrank: {change: 50%}\n")
    results = run(prepare(str(path)))
    ranking_result = result_of(results, RankResult)
    assert "threads" not in " ".join(ranking_result.headline(results.words))
    _, rows = ranking_result.decision(results.words) or ([], [])
    assert [row[0] for row in rows][:1] == ["half the update"]
    assert not any("threads" in row[0] for row in rows)
    # The details have all that was solved.
    (ranking_of_base,) = ranking_result.rankings
    assert "parameters.threads" in [row.point["parameter"] for row in ranking_of_base.rows]
