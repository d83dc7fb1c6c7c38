"""The methods that a refusal names as ways out have an answer, or it says why they have none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.api import run, solve
from slipstick.cli.console import NO_ANSWER
from slipstick.cli.main import main
from slipstick.errors import NoAnswerError, SlipstickError
from slipstick.method.methods import form_of
from slipstick.model.network import network, open_class, station
from slipstick.results.question import answer_document
from slipstick.vocabulary import EXACT, MARKOV_CHAIN, METHODS, NETWORK, SIMULATION
from tests.ways_out import NO_WAY, SHORT, dead_ends, drawn_network, study_dead_ends

NO_METHOD = 20261138
"""The seed of a network that blocks where services have phases, which no method covers."""


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", [*range(20261128, 20261140), 20261153])
def test_no_refusal_leads_in_a_circle(seed: int) -> None:
    try:
        model = drawn_network(seed)
    except SlipstickError:
        return  # no such network
    assert list(dead_ends(model)) == []


def test_where_no_method_answers_the_reasons_of_all_that_are_named_are_given() -> None:
    model = drawn_network(NO_METHOD)
    with pytest.raises(NoAnswerError) as refused:
        solve(model, method=EXACT, simulation=SHORT)
    said = str(refused.value)
    assert (
        "ask for markov-chain or simulation; no other method has an answer here; simulation" in said
    )
    assert said.count(NO_WAY) == 1


def test_a_refusal_carries_the_method_that_has_an_answer_as_data(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(NoAnswerError) as refused:
        solve("hedged-reads", method=MARKOV_CHAIN)
    assert refused.value.other_method == SIMULATION
    arguments = ["solve", "hedged-reads", "--with", MARKOV_CHAIN]
    assert main(arguments) == main([*arguments, "--json"]) == NO_ANSWER
    shown = capsys.readouterr()
    assert shown.err.rstrip().endswith("(--with simulation; in a file, method: simulation)")
    (problem,) = json.loads(shown.out)["problems"]
    assert problem["other_method"] == SIMULATION


def test_an_answer_that_is_missing_names_the_method_of_its_refusal() -> None:
    crowd = open_class(0.5)
    busy = station(service={"c": 1.0}, scv={"c": 4.0}, patience={"c": 9.0})
    answer = form_of(network({"c": crowd}, {"k": busy}), {}, EXACT).points({}).answer(0)
    assert answer.other_method in METHODS[NETWORK]
    assert answer.refusal.startswith(f"{answer.failed} (--with {answer.other_method};")
    document = answer_document(answer)
    assert document["other_method"] == answer.other_method


def test_a_study_names_the_case_without_an_answer_and_the_method_that_has_one() -> None:
    cases = {"chained": {"method": MARKOV_CHAIN}}
    asked = {"study": 1, "base": {"model": "hedged-reads", "simulation.events": 3000}}
    with pytest.raises(
        NoAnswerError, match="case chained: markov-chain cannot solve backup requests"
    ) as refused:
        run({**asked, "cases": cases})
    assert refused.value.other_method == SIMULATION


def test_a_study_by_bounds_joins_them_and_a_condition_on_them_is_undecided() -> None:
    population = "classes.jobs.population"
    base = {"model": "central-server", "method": "bounds"}
    choose = {"vary": {population: [1, 2]}, "minimize": population}
    choose["where"] = "throughput[jobs] >= 1 /s"
    results = run({"study": 1, "base": base, "choose": choose})
    low, high = results.cases["base"].ends("throughput[jobs]")
    assert 0.0 < (low or 0.0) < (high or 0.0)
    assert results.questions["choose"].headline(results.words)[0].startswith("No combination has")


def test_a_transient_value_without_an_answer_takes_no_other_from_a_study(tmp_path: Path) -> None:
    (tmp_path / "steady.yaml").write_text(CONSTANT)
    name = "time_until[d,2]"
    asked = {"base": {"model": str(tmp_path / "steady.yaml")}, "answer": ["response_time[c]", name]}
    answer = run({"study": 1, **asked}).cases["base"]
    assert answer.find("response_time[c]")
    assert "d is no resource whose customers a simulation counts" in answer.asked[name].why


CONSTANT = """\
queueing-network: 1
classes: {c: {population: 3, think_time: 2 s}}
stations:
  k: {discipline: lcfs, service: {c: 0.3 s}, scv: {c: 0}}
  d: {discipline: is, service: {c: 1 s}}
"""


@pytest.mark.turns(5)
def test_no_refusal_of_a_study_leads_in_a_circle(tmp_path: Path) -> None:
    assert list(study_dead_ends(drawn_network(2026112893), tmp_path)) == []
