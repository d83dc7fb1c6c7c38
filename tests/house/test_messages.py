"""Every message stands at one place in the code, and some test compares its words."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tests.house.code import ROOT, modules, name_of, nodes_of

SHORTEST = 12
"""Fragments of fewer characters say too little to be looked for."""


def templates(path: Path) -> list[list[str]]:
    """List the messages that a module raises, each as its fixed parts."""
    found = []
    for node in nodes_of(path)[ast.Raise]:
        if isinstance(node.exc, ast.Call):
            inside = [each for each in ast.walk(node.exc) if isinstance(each, ast.JoinedStr)]
            parts = {id(part) for each in inside for part in ast.walk(each) if part is not each}
            found += [_fixed(each) for each in inside if id(each) not in parts]
            found += [
                [each.value]
                for each in ast.walk(node.exc)
                if isinstance(each, ast.Constant)
                and isinstance(each.value, str)
                and id(each) not in parts
            ]
    return [
        each
        for each in found
        if len(max(each, key=len).strip()) >= SHORTEST and " " in max(each, key=len)
    ]


def _fixed(text: ast.JoinedStr) -> list[str]:
    return [str(each.value) for each in text.values if isinstance(each, ast.Constant)] or [""]


def corpus() -> str:
    """Join all tests, string literals put together as the interpreter does."""
    words = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        words += [
            each.value for each in nodes_of(path)[ast.Constant] if isinstance(each.value, str)
        ]
    return "\n".join(words)


def test_every_message_is_compared_in_some_test() -> None:
    tests = corpus()
    checked = (
        path for path in modules() if "slipstick_workloads" not in path.parts
    )  # its inputs are declared, and checked here
    longest = {(path, max(each, key=len).strip()) for path in checked for each in templates(path)}
    assert (
        sorted(f"{name_of(path)}: {words}" for path, words in longest if words not in tests) == []
    )


def test_a_message_stands_at_one_place_only() -> None:
    counts = Counter("...".join(each) for path in modules() for each in templates(path))
    assert {words: count for words, count in counts.items() if count > 1} == {}
