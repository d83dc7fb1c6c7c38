"""The package speaks the field's words: one meaning for a name, no private words, a source at
every approximation.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.house.code import ROOT, functions, nodes_of, tree_of

MODULES = sorted((ROOT / "models").rglob("*.py"))

RETIRED = [
    "desk",
    "lot",
    "furnish",
    "gardener",
    "crowd",
    "reign",
    "surge",
    "surges",
    "grown",
    "sought",
    "watched",
    "gather",
    "sound",
]
"""Words that once named parts of the package; as names or parts of names they stay away."""

EMPTY_VERBS = ("Give", "Gives", "Say", "Says", "Tell", "Tells", "Let", "Lets")
"""Words that no docstring begins with: write what a function returns, computes or raises."""

PERSONS = (
    r"nobody\b|somebody\b|everybody\b|anybody\b|whoever\b|whom\b|for ever\b|in the way\b|a hair\b"
)
"""Words for persons where events are meant, and turns that need a second reading."""


def names(path: Path) -> set[str]:
    """Return the names that a module defines: classes, functions, their parameters, fields and
    variables.
    """
    nodes = nodes_of(path)
    return {
        *(node.name for node in (*nodes[ast.ClassDef], *nodes[ast.FunctionDef])),
        *(node.arg for node in nodes[ast.arg]),
        *(node.id for node in nodes[ast.Name] if isinstance(node.ctx, ast.Store)),
    }


def words(name: str) -> set[str]:
    """Split a name at underscores and capitals."""
    return {each.lower() for each in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield comments and strings with their lines; what a specification is called by is no
    prose.
    """
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def test_a_class_name_has_one_meaning() -> None:
    """No two classes share a name, underscores left out, and no alias of a type has the name of
    a class.
    """
    homes: dict[str, list[str]] = defaultdict(list)
    aliases: dict[str, str] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(path.relative_to(ROOT).as_posix())
            elif isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name):
                aliases[name.id.lstrip("_")] = path.relative_to(ROOT).as_posix()
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}
    assert {name: (homes[name], where) for name, where in aliases.items() if name in homes} == {}


def test_retired_words_name_nothing() -> None:
    retired = set(RETIRED)
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in MODULES
        for name in names(path)
        if words(name) & retired
    }
    assert sorted(found) == []


def test_docstrings_begin_with_a_verb_of_the_field() -> None:
    empty = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}: {documentation.splitlines()[0]}"
        for path in MODULES
        for node in (*functions(path), *nodes_of(path)[ast.ClassDef])
        if (documentation := ast.get_docstring(node) or "").partition(" ")[0] in EMPTY_VERBS
    ]
    assert empty == []


def test_events_have_no_persons() -> None:
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{line}: {hit[0]}"
        for path in MODULES
        if re.search(rf"\b(?:{PERSONS})", path.read_text(), re.IGNORECASE)
        for line, text in prose(path)
        for hit in re.finditer(rf"\b(?:{PERSONS})", text, re.IGNORECASE)
    ]
    assert found == []


def test_every_approximation_names_its_source() -> None:
    engines = [ROOT / "models" / each for each in ("slipstick_mean_value", "slipstick/queueing")]
    texts = {path: path.read_text() for path in MODULES if set(engines) & set(path.parents)}
    approximate = {path: text for path, text in texts.items() if re.search("[Aa]pproximat", text)}
    silent = [
        path.name
        for path, text in approximate.items()
        if not re.search("Sources?: |[Dd]eriv|[Ff]itted to|benchmark", text)
    ]
    assert approximate
    assert silent == []
