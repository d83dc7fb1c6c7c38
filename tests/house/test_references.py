"""What a docstring or a comment refers to in backticks exists: a renamed or moved function is not
called by its old name.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name

from tests.house.code import PACKAGE, ROOT, modules, nodes_of

REFERENCE = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)`(?!`)")
"""A name in single backticks, with or without its module."""

GROUPS = set(re.findall(r'entry-points\."([^"]+)"', (ROOT / "pyproject.toml").read_text()))
"""The groups of entry points, which look like modules."""


def exists(reference: str) -> bool:
    """Return whether a dotted name is a module, a name in it, or a field of a class in it."""
    with suppress(ImportError, AttributeError, ValueError):
        return resolve_name(reference) is not None or True
    owner, _, name = reference.rpartition(".")
    with suppress(ImportError, AttributeError, ValueError):
        return name in getattr(resolve_name(owner), "__annotations__", {})
    return False


def words_of(path: Path) -> set[str]:
    """Return the names in the code of a module, and the words of its short strings."""
    nodes = nodes_of(path)
    texts = [node.value for node in nodes[ast.Constant] if isinstance(node.value, str)]
    return {
        *(node.id for node in nodes[ast.Name]),
        *(node.attr for node in nodes[ast.Attribute]),
        *(node.arg for node in (*nodes[ast.arg], *nodes[ast.keyword]) if node.arg),
        *(node.name for node in (*nodes[ast.FunctionDef], *nodes[ast.ClassDef])),
        *(
            word
            for text in texts
            if len(text) < 60 and "`" not in text
            for word in re.findall(r"\w+", text)
        ),
        *path.relative_to(PACKAGE.parent).with_suffix("").parts,
    }


def test_references_lead_to_what_exists() -> None:
    references = {
        (path.relative_to(ROOT).as_posix(), reference)
        for path in modules()
        for reference in REFERENCE.findall(path.read_text())
    }
    assert len(references) > 1000
    known_words = set().union(*map(words_of, modules()))
    lost = {
        (place, reference)
        for place, reference in references
        if reference.rpartition(".")[2] not in known_words
        or (
            reference.startswith("slipstick")
            and "." in reference
            and reference not in GROUPS
            and not exists(reference)
        )
    }
    assert sorted(lost) == []
