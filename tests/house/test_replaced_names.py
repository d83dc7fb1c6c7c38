"""What tests replace for their time is there: a renamed function is not replaced by its old name,
and the test says so before it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

from tests.house.code import ROOT, by_class, nodes_of

Nodes = Mapping[type[ast.AST], list[Any]]
"""The nodes of a file by their class."""


def imported_names(nodes: Nodes) -> dict[str, str]:
    """Return the modules and objects of the packages that a file imports, by their names in it."""
    return {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in nodes[ast.ImportFrom]
        if (node.module or "").startswith("slipstick")
        for alias in node.names
    }


def replaced_names(nodes: Nodes) -> Iterator[tuple[str, str]]:
    """Yield what calls of `setattr`, `patch` and `patch.object` replace: the owner's place, and the
    name. The owner may be a class of an imported module.
    """
    names = imported_names(nodes)
    for node in nodes[ast.Call]:
        if called_name(node) not in ("setattr", "patch", "object"):
            continue
        match node.args:
            case [ast.Constant(value=str(place)), *_] if place.startswith("slipstick"):
                yield place.rpartition(".")[::2]
            case [ast.Name() | ast.Attribute() as owner, ast.Constant(value=str(name)), *_]:
                first, _, rest = ast.unparse(owner).partition(".")
                if first in names:
                    yield f"{names[first]}{'.' if rest else ''}{rest}", name
                elif first.startswith("slipstick"):
                    yield ast.unparse(owner), name


def called_name(call: ast.Call) -> str:
    """Return the last name of what is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def has_name(place: str, name: str) -> bool:
    """Return whether the object at a place, or the module of this name, has a name."""
    owners: list[Any] = []
    for owner_place in (place, place.replace(":", ".")):
        with suppress(ImportError, AttributeError):
            owners.append(resolve_name(owner_place))
    return any(hasattr(owner, name) for owner in owners)


def test_what_tests_replace_is_there() -> None:
    places = {
        (path.name, *replaced)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for replaced in replaced_names(nodes_of(path))
    }
    assert len(places) > 50
    assert sorted(each for each in places if not has_name(*each[1:])) == []


def test_a_name_that_is_gone_is_seen() -> None:
    tree = ast.parse(
        "from slipstick.method import second_road\n"
        "patch.setattr(second_road, 'no_such_check', 1)\n"
        "patch.setattr('slipstick.api.no_such_name', 1)\n"
        "patch.setattr('slipstick.api.solve', 1)\n"
        "from slipstick.sim.plain import kernel\n"
        "patch.setattr(kernel.Kernel, '_no_such_method', 1)\n"
        "mock.patch.object(kernel.Kernel, 'run', 1)\n"
        "patch('slipstick.sim.plain.kernel.Kernel._no_such_method', 1)\n"
    )
    assert [has_name(*replaced) for replaced in replaced_names(by_class(tree))] == [
        *(False, False, True),
        *(False, True, False),
    ]
