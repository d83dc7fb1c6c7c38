"""A docstring that lists parameters lists those of the signature, all of them and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import slipstick
from tests.house.code import PACKAGE, modules, name_of, nodes_of, tree_of

Callable = ast.FunctionDef | ast.ClassDef
LISTED = re.compile(r"^Parameters\n-+\n((?:.+\n?)+)", re.MULTILINE)


@cache
def classes() -> dict[str, ast.ClassDef]:
    """Return the classes of the packages by their names."""
    nodes = (node for path in modules() for node in nodes_of(path)[ast.ClassDef])
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def documented(node: Callable) -> list[str] | None:
    """Return the parameters that a docstring lists; None without such a section."""
    section = LISTED.search(ast.get_docstring(node) or "")
    lines = section[1].splitlines() if section else []
    heads = [line.partition(" : ")[0] for line in lines if not line.startswith(" ")]
    return [name.strip(" *") for head in heads for name in head.split(",")] if section else None


def signature(node: Callable, method: bool) -> tuple[list[str], list[str]]:
    """Return the parameters of a function or of the construction of a class, without ``self``, and
    those that need no words: a class inherits them, or fills them itself.
    """
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        further = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *further]
        return [argument.arg for argument in named][1 if method else 0 :], []
    for step in node.body:
        if isinstance(step, ast.FunctionDef) and step.name == "__init__":
            return signature(step, method=True)
    known = classes()
    bases = [known[name] for name in map(ast.unparse, node.bases) if name in known]
    inherited = [name for base in bases for names in signature(base, True) for name in names]
    fields = {
        step.target.id: ast.unparse(step)
        for step in node.body
        if isinstance(step, ast.AnnAssign) and isinstance(step.target, ast.Name)
    }
    filled = [
        name for name, text in fields.items() if "ClassVar" in text or "default_factory" in text
    ]
    return [name for name in fields if name not in filled], [*inherited, *filled]


def public(tree: ast.AST, method: bool = False) -> Iterator[tuple[Callable, bool]]:
    """Yield the public functions, classes and methods, and whether each is a method."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            marks = {getattr(mark, "id", "") for mark in node.decorator_list}
            if "overload" not in marks:
                yield node, method and "staticmethod" not in marks
            if isinstance(node, ast.ClassDef):
                yield from public(node, method=True)


def test_documented_parameters_are_those_of_the_signature() -> None:
    differing = {}
    for path in modules():
        for node, method in public(tree_of(path)):
            names = documented(node)
            if names is not None:
                own, optional = signature(node, method)
                missing = {name for name in own if not name.startswith("_")} - {*names}
                wrong = {*names} - {*own, *optional}
                differing[f"{name_of(path)}:{node.name}"] = sorted(missing | wrong)
    assert {place: names for place, names in differing.items() if names} == {}


def test_the_front_door_documents_its_parameters() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    doors = {
        alias.name: PACKAGE.parent / f"{step.module.replace('.', '/')}.py"
        for step in stub.body
        if isinstance(step, ast.ImportFrom) and step.module
        for alias in step.names
    }
    assert doors.keys() <= {*dir(slipstick)}
    known = {*modules()}
    undocumented = [
        node.name
        for name, path in doors.items()
        for node, method in (public(tree_of(path)) if path in known else ())
        if node.name == name and signature(node, method)[0] and documented(node) is None
    ]
    assert undocumented == []
