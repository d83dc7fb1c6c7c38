"""Every message stands at one place in the code, and some test compares its words."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from tests.house.code import ROOT, modules, name_of

RAISERS = re.compile(r"(Error|[Pp]roblem|refused?|report|stop|Answer)$")
SHORTEST = 12
"""Fragments of fewer characters say too little to be looked for."""


def fragments(path: Path) -> list[str]:
    """List the longest fixed fragment of each message that a module raises or reports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found += [_longest(each) for each in ast.walk(node.exc) if isinstance(each, ast.JoinedStr)]
            found += [
                each.value
                for each in ast.walk(node.exc)
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and " " in each.value.strip()
            ]
    return [each.strip() for each in found if len(each.strip()) >= SHORTEST]


def _longest(text: ast.JoinedStr) -> str:
    parts = [str(each.value) for each in text.values if isinstance(each, ast.Constant)]
    return max(parts, key=len, default="")


def corpus() -> str:
    """Join all tests, string literals put together as the interpreter does."""
    words = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text())
        words += [
            each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
    return "\n".join(words)


def test_every_message_is_compared_in_some_test() -> None:
    tests = corpus()
    silent = {f"{name_of(path)}: {each}" for path in modules() for each in fragments(path) if each not in tests}
    assert silent == set()


def test_a_message_stands_at_one_place_only() -> None:
    counts = Counter(each for path in modules() for each in dict.fromkeys(fragments(path)))
    assert {each: count for each, count in counts.items() if count > 1} == {}
