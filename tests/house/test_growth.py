"""No regular expression and no reader takes more steps than in proportion to its text."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples import sample
from tests.growth import LINEAR, growth
from tests.house.code import modules, name_of, tree_of

OF_OWN_TEXTS = {("slipstick.cli.catalogue", r"^- (\*\*(?:.+?)\*\*.*?): ?((?:.*\n)(?:  .*\n)*)")}
"""Expressions that read texts of the package alone."""

TURNS = 6
"""How often the shorter of two texts repeats a part; the longer one has four times as many."""

HELPERS = {"_has": "search", "first_match": "search", "parse_quantiles": "every"}
"""Functions of the package that look for the expressions that they are given, by lines."""

WAYS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")


def way_of(method: str) -> str:
    """Return how a method looks for a pattern."""
    return method if method in ("match", "fullmatch", "search") else "every"


def inline(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the expressions that a module gives to functions of `re`, and how they are used."""
    text = path.read_text()
    for node in ast.walk(tree_of(path)) if re.search(r"^import re$", text, re.MULTILINE) else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in WAYS
            and isinstance(node.args[0], ast.Constant)
        ):
            flags = [
                getattr(re, flag.attr)
                for flag in ast.walk(node)
                if isinstance(flag, ast.Attribute) and flag.attr.isupper()
            ]
            yield str(node.args[0].value), way_of(node.func.attr), str(int(sum(flags)))


def of_helpers(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the expressions that a module gives to functions which look for them."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            way = HELPERS.get(node.func.id)
            for argument in node.args if way else ():
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value, str(way), str(int(re.MULTILINE))


def compiled(path: Path, uses: dict[str, set[str]]) -> Iterator[tuple[str, str, str]]:
    """Yield the expressions that a module compiles, and how it, or another one, uses them."""
    module = importlib.import_module(name_of(path))
    source = path.read_text()
    for name, value in vars(module).items():
        several = value if isinstance(value, tuple | list) else [value]
        flat = [each for some in several for each in (some if isinstance(some, tuple) else [some])]
        found = [each for each in flat if isinstance(each, re.Pattern)]
        if not found or not re.search(rf"\b{name}\b.*=", source):
            continue
        own = set(re.findall(rf"\b{name}\.({'|'.join(WAYS)})\(", source))
        ways = {way_of(way) for way in own or uses.get(name, set())} or {"fullmatch"}
        for pattern, way in ((each, way) for each in found for way in ways):
            if isinstance(pattern.pattern, str):
                yield pattern.pattern, way, str(int(pattern.flags))


def expressions() -> dict[tuple[str, str, str, str], None]:
    """List all regular expressions with the module, the way they are used, and their flags."""
    uses: dict[str, set[str]] = {}
    for path in modules():
        for name, method in re.findall(r"\b([A-Z_]+)\.(\w+)\(", path.read_text()):
            uses.setdefault(name, set()).update({method} & {*WAYS})
    found: dict[tuple[str, str, str, str], None] = {}
    for path in modules():
        for each in (*inline(path), *of_helpers(path), *compiled(path, uses)):
            found[name_of(path), *each] = None
    return found


@pytest.mark.turns(4)
def test_no_regular_expression_grows_faster_than_its_text() -> None:
    found = expressions()
    assert len(found) > 100
    wrong = []
    # One pattern in several modules is looked at once.
    unique = {each[1:]: each[0] for each in found}
    for (pattern, way, flags), module in sample(unique.items(), least=40):
        if (module, pattern) not in OF_OWN_TEXTS:
            ratio, text = growth(re.compile(pattern, int(flags)), way, TURNS)
            if ratio > LINEAR:
                wrong.append(f"{module}: {way} {pattern!r} takes {ratio:.3g} for {text[:60]!r}")
    assert wrong == []


@pytest.mark.parametrize(
    ("pattern", "way", "linear"),
    [
        (r"[0-9]+\.?[0-9]*", "fullmatch", False),
        (r"[0-9]+(?:\.[0-9]*)?", "fullmatch", True),
        (r"#?\s*(?:output:)?\s*contended", "match", False),
        (r"#?\s*+(?:output:\s*+)?contended", "match", True),
        (r"\s*foo", "search", False),
        (r"(?<!\s)\s++foo", "search", True),
        (r"(a+)+b", "fullmatch", False),
        (r"(?:a|ab)*c", "match", True),
        (r"(?:a|a)*c", "match", False),
    ],
)
def test_the_growth_of_known_expressions_is_seen(pattern: str, way: str, linear: bool) -> None:
    assert (growth(re.compile(pattern), way, TURNS)[0] <= LINEAR) is linear
