"""Functions fit on a screen; public names are documented; every package says what it is and why
it has its shape.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import slipstick
from tests.house.code import ROOT, functions, modules, name_of, tree_of

MODULES = modules()
LARGEST_FUNCTION = 540
"""The most tokens of a function, without its docstring; layout cannot change them."""

COMPILED = {("slipstick.queueing.compiled", "newton_steps")}
"""Loops that are compiled alone, and so cannot call functions of their own."""


def test_functions_are_short() -> None:
    sizes = {
        (name_of(path), function.name): _tokens(ast.unparse(_body(function)))
        for path in MODULES
        for function in _not_short(path)
    }
    too_large = {name: size for name, size in sizes.items() if size > LARGEST_FUNCTION}
    assert too_large.keys() == COMPILED, too_large


def _not_short(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions that may have more tokens than allowed: whose text has half as many words
    and signs, for the brackets that `ast.unparse` adds are fewer than these.
    """
    lines = [len(re.findall(r"\w+|[^\w\s]", line)) for line in path.read_text().splitlines()]
    for function in functions(path):
        if sum(lines[function.lineno - 1 : function.end_lineno]) > LARGEST_FUNCTION / 2:
            yield function


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.Module:
    """Return the statements of a function without its docstring."""
    return ast.Module(function.body[1 if ast.get_docstring(function) else 0 :], type_ignores=[])


def _tokens(code: str) -> int:
    """Count the tokens of code; line ends and indentation are none. A formatted string is one, as
    before Python 3.12, which reads it in parts. Code of few characters, which cannot have too
    many, has 0.
    """
    if len(code) <= LARGEST_FUNCTION:
        return 0
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    starts, ends = (getattr(tokenize, f"FSTRING_{end}", None) for end in ("START", "END"))
    count = depth = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        count += token.type not in layout and depth == 0
        depth += (token.type == starts) - (token.type == ends)
    return count


def test_public_names_are_documented() -> None:
    undocumented = {name_of(path): _undocumented(path) for path in MODULES}
    assert {module: names for module, names in undocumented.items() if names} == {}


def _undocumented(path: Path) -> list[str]:
    """Name the public definitions of a module without docstring, and the module if it has none."""
    tree = tree_of(path)
    public = [
        each
        for each in tree.body
        if isinstance(each, ast.ClassDef | ast.FunctionDef)
        and not each.name.startswith("_")
        and not _variants(each)
    ]
    missing = [each.name for each in public if not ast.get_docstring(each)]
    return missing if ast.get_docstring(tree) else ["the module", *missing]


def _variants(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """Return whether a definition only declares a type: an overload."""
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)


def test_every_name_at_the_front_door_is_there() -> None:
    assert [
        name
        for name in dir(slipstick)
        if getattr(slipstick, name) is None and not name.startswith("_")
    ] == []


def test_every_package_says_why_it_has_its_shape() -> None:
    """A first line alone says what a package is; what follows says why it is cut as it is."""
    packages = [name_of(path) for path in MODULES if path.name == "__init__.py"]
    documented = {name: import_module(name).__doc__ or "" for name in packages}
    assert [name for name, words in documented.items() if not words.split("\n\n")[0].strip()] == []
    large = [
        name
        for name in packages
        if sum(each.startswith(f"{name}.") for each in map(name_of, MODULES)) > 3
    ]
    assert [name for name in large if "\n\n" not in documented[name]] == []


def test_every_package_is_installed_layered_and_listed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    names = {path.parent.name for path in (ROOT / "models").glob("*/__init__.py")}
    wheel = settings["hatch"]["build"]["targets"]["wheel"]["packages"]
    contracts = {rule["name"]: rule for rule in settings["importlinter"]["contracts"]}
    beside = contracts["the calculator imports no package beside it"]["forbidden_modules"]
    assert {Path(path).name for path in wheel} == names
    assert {*settings["importlinter"]["root_packages"]} == names
    # Measurements have a contract of their own.
    assert {*beside} == names - {"slipstick", "slipstick_measure"}
    guide = (ROOT / "models" / "slipstick" / "documentation" / "extending.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in guide] == []
