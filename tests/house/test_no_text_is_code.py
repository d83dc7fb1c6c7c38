"""No module of the package hands text to anything that runs it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.code import modules, name_of, nodes_of

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


def test_nothing_evaluates_text() -> None:
    forbidden = {name_of(path): _names_called(path) & FORBIDDEN for path in modules()}
    assert {module: names for module, names in forbidden.items() if names} == {}


def _names_called(path: Path) -> set[str]:
    """Return the names of functions and methods that a module calls."""
    calls = [node.func for node in nodes_of(path)[ast.Call]]
    names = {each.id for each in calls if isinstance(each, ast.Name)}
    # re.compile is a pattern, and a method compiles a model, not code.
    names |= {
        each.attr
        for each in calls
        if isinstance(each, ast.Attribute)
        and not (each.attr == "compile" and ast.unparse(each.value) in ("re", "self"))
    }
    return names
