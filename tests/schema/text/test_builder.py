"""Texts that are small and mean a lot of work: all are refused, soon and briefly."""

from __future__ import annotations

from itertools import pairwise

import pytest

from slipstick.errors import SpecError
from slipstick.schema.text import MOST_PROBLEMS, Table, node_at, read_text

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BOMBS = {
    "brackets": "[" * 200_000,
    "braces": "{a: " * 100_000,
    "dashes": "- " * 200_000,
    "question marks": "? " * 200_000,
    "aliases": (
        "a: &a [1, 2]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise(LETTERS))
    ),
    "merges": (
        "a: &a {x: 1}\n"
        + "".join(f"{b}: &{b} {{<<: [*{a}, *{a}]}}\n" for a, b in pairwise(LETTERS))
    ),
    "base 60": "a: " + ":".join(["59"] * 100_000),
    "small values": "a: [" + "1, " * 300_000 + "1]",
    "problems": "a: [" + "&a 01, " * 45_000 + "1]",
    "tabs": "\t\n" * 450_000,
    "lines": "\n" * 1_000_000,
    "staircase": "".join(" " * depth + "a:\n" for depth in range(1300)),
    "zeros": "a: " + "0" * 8192,
    "quoted": 'a: "' + "\\x00" * 250_000 + '"',
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_no_bomb_is_answered_at_length(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_text(text, "f.yaml")
    assert len(str(caught.value)) < 10_000
    assert len(caught.value.problems) <= MOST_PROBLEMS + 2  # those of one event are kept together


def test_a_thousand_quantities_are_a_thousand_entries() -> None:
    lines = "".join(f"  q{n}: {{value: {n}.5 ms, source: 'run {n}'}}\n" for n in range(1000))
    quantities = node_at(read_text(f"workload: 1\nquantities:\n{lines}", "f"), ["quantities"])
    assert isinstance(quantities, Table)
    assert len(quantities.entries) == 1000
