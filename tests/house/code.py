"""The packages as text and as syntax trees, for the tests that watch it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import slipstick

PACKAGE = Path(slipstick.__file__).parent
ROOT = PACKAGE.parent.parent


def modules() -> list[Path]:
    """List the modules of the calculator and of the packages beside it."""
    return sorted(path for path in PACKAGE.parent.rglob("*.py") if "_specs" not in path.parts)


def name_of(path: Path) -> str:
    """Return a module's dotted name."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a module, once for all tests of a process."""
    return ast.parse(path.read_text())


def by_class(tree: ast.AST) -> dict[type[ast.AST], list[Any]]:
    """Sort the nodes of a tree by their class."""
    nodes = defaultdict(list)
    for node in ast.walk(tree):
        nodes[type(node)].append(node)
    return nodes


@cache
def nodes_of(path: Path) -> dict[type[ast.AST], list[Any]]:
    """Sort the nodes of a module by their class, once for all tests of a process."""
    return by_class(tree_of(path))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function of a module, methods included."""
    yield from nodes_of(path)[ast.FunctionDef]
    yield from nodes_of(path)[ast.AsyncFunctionDef]
