"""No module of the package hands text to anything that runs it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.code import modules, name_of

FORBIDDEN = {
    "eval",
    "exec",
    "compile",
    "sympify",
    "lambdify",
    "parse_expr",
    "S",
    "literal_eval",
    "__import__",
}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_nothing_evaluates_text(path: Path) -> None:
    calls = [
        node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
    ]
    names = {each.id for each in calls if isinstance(each, ast.Name)}
    # re.compile is a pattern, and a method compiles a model, not code.
    names |= {
        each.attr
        for each in calls
        if isinstance(each, ast.Attribute)
        and not (each.attr == "compile" and ast.unparse(each.value) in ("re", "self"))
    }
    assert names & FORBIDDEN == set()
