"""Changes beside the same values set by hand; pairs within a budget; rankings under
technologies.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick.schema.inputs import Inputs
from slipstick.schema.text import Node
from slipstick.study.check import check_file
from slipstick_questions.rank import ChangeRanking, RankResult
from tests.questions import reported, result_of
from tests.study.small_program import alone, found, in_folder

RANK = """\
answer: [time, overhead]
rank:
  of: [parameters.memory, parameters.latency]
  under: [fast.yaml]
  changes:
    fewer: {times: {parameters.messages: 0.5}, cost: 3}
    nearer: {times: {parameters.latency: 0.5}, cost: 2}
    lean: {times: {technology.adapter: 0.2}, cost: 5}
    locality: {set: {parameters.memory: 1 ms}, cost: 6}
  budget: 8
"""
FAST = "technology: 1\nprocessors: 8\nadapter: {by: 0.5}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    in_folder(tmp_path, monkeypatch)
    Path("fast.yaml").write_text(FAST)
    return tmp_path


def choices(text: str = RANK) -> tuple[ChangeRanking, ChangeRanking]:
    one, other = result_of(found(text), RankResult).changes
    return one, other


def test_the_overhead_reduction_is_that_of_the_values_set_by_hand(folder: Path) -> None:
    now, then = choices()
    effects = {each.point["change"]: each for each in now.effects}
    # Overhead 3.8 ms: 3 of memory, 0.8 of the network.
    assert now.before["overhead"] == pytest.approx(3.8e-3)
    assert {name: each["overhead_reduction"] for name, each in effects.items()} == pytest.approx(
        {"fewer": 0.4 / 3.8, "nearer": 0.4 / 3.8, "lean": 0.64 / 3.8, "locality": 2 / 3.8}
    )
    assert effects["locality"]["time"] == pytest.approx(alone(parameters__memory="1 ms"))
    assert effects["locality"]["time_saved"] == pytest.approx(2 / 9.8)
    # Under a technology a factor comes on top of what that has: 0.5 becomes 0.1.
    lean = next(each for each in then.effects if each.point["change"] == "lean")
    assert lean["time"] == pytest.approx(
        alone(technology__processors="8", technology__adapter="0.1")
    )
    assert then.under == "fast.yaml"


def test_the_best_pair_within_the_budget_and_how_the_two_act_together(folder: Path) -> None:
    now, _ = choices()
    pairs = {each.point["change"]: each for each in now.pairs}
    # All six, those within the budget first; locality with nearer costs 8, with fewer or lean too
    # much.
    assert len(pairs) == 6
    assert [now.is_affordable(each) for each in now.pairs] == [True] * 4 + [False] * 2
    best = now.pairs[0]
    assert best.point["change"] == "nearer + locality"
    assert best["overhead_reduction"] == pytest.approx(best["apart"])
    assert best.point["cost"] == 8
    # Half of a half: a quarter is left, not nothing.
    both = pairs["fewer + nearer"]
    assert both["overhead_reduction"] == pytest.approx(0.6 / 3.8)
    assert both["apart"] == pytest.approx(0.8 / 3.8)


def test_two_factors_on_one_quantity_multiply(folder: Path) -> None:
    text = RANK.replace(
        "{set: {parameters.memory: 1 ms}, cost: 6}", "{times: {parameters.latency: 0.1}, cost: 6}"
    )
    pair = next(
        each for each in choices(text)[0].pairs if each.point["change"] == "nearer + locality"
    )
    assert pair["time"] == pytest.approx(alone(parameters__latency="1 us"))


def test_the_order_under_each_technology(folder: Path) -> None:
    made = result_of(found(RANK), RankResult)
    assert [(each.case, each.under) for each in made.rankings] == [
        ("base", ""),
        ("base", "fast.yaml"),
    ]
    saved = [
        {row.point["parameter"]: row["time_saved"] for row in each.rows} for each in made.rankings
    ]
    assert saved[0]["parameters.memory"] == pytest.approx(1.5 / 9.8)
    assert saved[1]["parameters.memory"] == pytest.approx(1.5 / (6 / 8 + 3 + 0.4))


def test_a_case_is_held_against_the_base(folder: Path) -> None:
    made = found(
        "answer: [time, overhead, overhead_reduction]\ncases: {slow: {parameters.memory: 6 ms}}"
    )
    assert made.cases["base"].find("overhead") == pytest.approx(3.8e-3)
    assert made.cases["base"].find("overhead_reduction") is None
    assert made.cases["slow"].find("overhead_reduction") == pytest.approx(-3 / 3.8)
    sweep = found("answer: [overhead]\nvary: {parameters.memory: [3 ms, 1 ms]}").sweeps[0]
    assert sweep.columns["overhead"] == pytest.approx([3.8e-3, 1.8e-3])


@pytest.mark.turns(6)
def test_the_page_the_table_and_json_have_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = "pictures:\n  - {name: bars, kind: changes, title: Changes, under: fast.yaml}\n"
    Path("study.yaml").write_text("study: 1\nbase: {model: model.yaml}\n" + RANK + picture)
    printed, page, rows, document = reported("changes", capsys)
    printed = " ".join(printed.split())
    assert (
        "base: among single changes, locality removes the most overhead: 52.6 % of 3.8 ms, in a"
        " time of 9.8 ms; the best pair within a budget of 8 is" in printed
    )
    assert "### base under fast.yaml" in page
    assert (
        "less than the 21.1 % that the two remove separately" not in page
    )  # only the best pair is spoken of
    assert Path("here/bars.png").is_file()
    assert len(rows) == 2 * (4 + 6)
    assert float(rows[0]["overhead_reduction [1]"]) == pytest.approx(0.4 / 3.8)
    answers = document["answers"]
    assert answers[0]["values"]["overhead_reduction"]["value"] == pytest.approx(0.4 / 3.8)


WRONG = [
    (
        "parameters.messages: 0.5",
        "parameters.mesages: 0.5",
        "base has no quantity 'parameters.mesages' to multiply; did you",
    ),
    ("parameters.messages: 0.5", "parameters.messages: -1", "rank.changes.fewer.times."),
    (
        "{set: {parameters.memory: 1 ms}, cost: 6}",
        "{cost: 6}",
        "a change needs something to change: set or times",
    ),
    (
        "{set: {parameters.memory: 1 ms}, cost: 6}",
        "{set: {parameters.memory: 1 ms}}",
        "locality needs a cost, because there is a budget",
    ),
    (
        "{set: {parameters.memory: 1 ms}, cost: 6}",
        "{set: {populaton.processors: 2}, cost: 6}",
        "there is no path 'populaton'; did you",
    ),
    (
        "under: [fast.yaml]",
        "under: [fst.yaml]",
        "there is no file 'fst.yaml'; did you mean 'fast.yaml'?",
    ),
    (
        "  budget: 8",
        "  cases: [bass]",
        "rank.cases.0: there is no case 'bass'; did you mean 'base'?",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in RANK
    Path("study.yaml").write_text("study: 1\nbase: {model: model.yaml}\n" + RANK.replace(old, new))
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    assert words in str(caught.value)


def test_a_budget_without_changes_and_a_picture_of_none_are_refused(folder: Path) -> None:
    head = "study: 1\nbase: {model: model.yaml}\n"
    Path("study.yaml").write_text(head + "rank: {budget: 3}\n")
    with pytest.raises(
        SpecError, match="a budget is for a pair of changes; name at least two under changes"
    ):
        check_file(Path("study.yaml"))
    Path("study.yaml").write_text(head + "pictures: [{name: x, kind: changes, title: x}]\n")
    with pytest.raises(
        SpecError, match="shows rank, which the study does not ask for; add the key rank"
    ):
        check_file(Path("study.yaml"))
    Path("study.yaml").write_text(
        head + RANK + "pictures: [{name: x, kind: changes, title: x, cases: [bsae]}]\n"
    )
    with pytest.raises(SpecError, match="rank has no changes of bsae; did you mean 'base'"):
        check_file(Path("study.yaml"))


def test_nothing_is_compiled_before_it_is_solved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("slipstick.method.methods.form_of", lambda *given: asked.append(given))
    Path("study.yaml").write_text(f"study: 1\nbase: {{model: model.yaml}}\n{RANK}")
    check_file(Path("study.yaml"))
    assert not asked


LOCKS = """\
study: 1
base:
  {model: grain/unit, machine: sequent-symmetry-s81, accesses: 0, compute: 500, critical: 20,
   scv: 1, lock: back-off, competitors: 3}
rank:
  changes:
    longer: {set: {machine.locks.back-off.base: 40 us}, cost: 1}
    shorter: {set: {machine.locks.back-off.most: 20 us}, cost: 1}
    fewer: {times: {compute: 0.5}, cost: 1}
    short: {times: {critical: 0.5}, cost: 1}
  budget: 2
"""


def test_a_pair_is_refused_where_a_rule_is_about_both(tmp_path: Path) -> None:
    """Each change is allowed alone; the two give a back-off that begins with more than its most."""
    (tmp_path / "study.yaml").write_text(LOCKS)
    with pytest.raises(SpecError) as caught:
        check_file(tmp_path / "study.yaml")
    assert "the longest pause of a back-off, most, must be at least its base" in str(caught.value)
    for name in ("longer", "shorter"):
        kept = "\n".join(line for line in LOCKS.splitlines() if f"  {name}:" not in line)
        (tmp_path / "study.yaml").write_text(kept)
        assert check_file(tmp_path / "study.yaml") == "study"


def test_pairs_without_a_common_rule_are_not_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four changes make six pairs; only the two of the machine are put together."""
    (tmp_path / "study.yaml").write_text(LOCKS.replace("most: 20 us", "most: 80 us"))
    checked: list[str] = []
    with_value = Inputs.with_value

    def counted(inputs: Inputs, path: str, node: Node) -> Inputs:
        checked.append(path)
        return with_value(inputs, path, node)

    monkeypatch.setattr(Inputs, "with_value", counted)
    check_file(tmp_path / "study.yaml")
    assert len(checked) == 4 + 2


SHOP = """\
queueing-network: 1
title: A shop
classes: {buyers: {arrivals: 60 /s}}
stations:
  app: {service: {buyers: 10 ms}}
  db: {service: {buyers: 12 ms}}
"""
SHOP_STUDY = """\
study: 1
title: Which upgrade of the shop should I buy?
base: {title: now, model: shop.yaml}
answer: ["response_time[buyers]", "utilization[app]", "utilization[db]"]
rank:
  changes:
    index: {times: {stations.db.service.buyers: 0.5}}
    cache: {times: {stations.app.service.buyers: 0.5}}
"""


def test_a_service_has_a_response_time_and_no_overhead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Second road: the sum of 1 / (1 / service - arrivals) of two M/M/1 queues."""
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(SHOP)
    Path("study.yaml").write_text(SHOP_STUDY)
    now, with_index = (
        sum(1 / (1 / service - 60) for service in services)
        for services in ((0.010, 0.012), (0.010, 0.006))
    )
    _, page, rows, _ = reported("changes", capsys)
    head = page.partition("## ")[0]
    share = 100 * (1 - with_index / now)
    assert (
        "- Of single changes, index shortens the response time of buyers most: by"
        f" {share:.1f} % of {1e3 * now:.2f} ms." in head
    )
    assert "time removed" in head
    assert "overhead" not in page.casefold()
    assert "| base | " in page
    assert "utilization[db]" in page  # asked, and few
    assert float(rows[0]["time_saved [1]"]) == pytest.approx(1 - with_index / now)
