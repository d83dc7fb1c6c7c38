"""The methods that a refusal names as ways out have an answer, or it says why they have none."""

from __future__ import annotations

import pytest

from slipstick.api import solve
from slipstick.errors import NoAnswerError, SlipstickError
from slipstick.vocabulary import EXACT
from tests.ways_out import NO_WAY, SHORT, dead_ends, drawn_network

NO_METHOD = 20261138
"""The seed of a network that blocks where services have phases, which no method covers."""


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
    assert "ask for markov-chain or simulation; markov-chain has no answer either: c0 from" in said
    assert said.count(NO_WAY) == 2
