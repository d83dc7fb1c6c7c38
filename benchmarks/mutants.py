"""Mutation test of the numeric code: change one operator or number at a time, and see whether a test fails.

A mutant is one of the packages law, queueing, method and sim with a single change, drawn by the seed: an arithmetic
operator, a comparison, an `and` or `or`, or a number. It is written into a copy of the sources, never into the checkout.
The tests are the doctests of the module, then the tests in the folder of the same name, and with --wide those of the whole
package and of one that uses it: the first that fails kills the mutant, and one that takes more than the limit of time is
killed too (most of these are loops without an end). Survivors are listed with the line before and after;
one that computes the same whatever its arguments is no gap in the tests, and has to be judged by hand.

    python benchmarks/mutants.py [--count 60] [--seed 1] [--limit 300] [--under queueing/markov]
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "models" / "slipstick"
CHANGED = ("law", "queueing", "method", "sim")
USERS = {"queueing": "method/networks", "sim": "method/simulation", "law": "method/closed_form", "method": "study"}
"""Tests of what uses a package, after its own."""

_PAIRS = (
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.And, ast.Or),
)
OPERATORS: dict[type[ast.AST], Any] = {
    **{one: other for pair in _PAIRS for one, other in (pair, pair[::-1])},
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """One change: lines from `first` to `last` of a module, from 1, become `after`; columns count bytes."""

    path: Path
    first: int
    start: int
    last: int
    end: int
    after: str

    def apply(self, text: str) -> str:
        """Give the text of the module with the change."""
        lines = text.splitlines(keepends=True)
        head = "".join(lines[: self.first - 1]) + _cut(lines[self.first - 1], 0, self.start)
        rest = _cut(lines[self.last - 1], self.end, None) + "".join(lines[self.last :])
        return f"{head}{self.after}{rest}"


def _cut(line: str, start: int, end: int | None) -> str:
    """Cut a line at columns as `ast` counts them, in bytes."""
    return line.encode()[start:end].decode()


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        for after in _changes(node):
            end_line, end = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
            yield Mutant(path, node.lineno, node.col_offset, end_line, end, after)  # type: ignore[attr-defined]


def _changes(node: ast.AST) -> Iterator[str]:
    """Yield what an expression is changed to."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
        old, node.op = node.op, OPERATORS[type(node.op)]()
        yield f"({ast.unparse(node)})"
        node.op = old
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        olds, node.ops = node.ops, [OPERATORS[type(node.ops[0])](), *node.ops[1:]]
        yield f"({ast.unparse(node)})"
        node.ops = olds
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield repr(node.value * 2 if node.value not in (0, 1) else node.value + 1)


def tests_of(path: Path, wide: bool) -> list[list[str]]:
    """List the tests that cover a module, the nearest first; `wide` for those of its package and of one that uses it."""
    inside = path.relative_to(PACKAGE)
    near, package = ROOT / "tests" / inside.parent, ROOT / "tests" / inside.parts[0]
    groups = [[str(near)] if near.is_dir() else [], [str(package)], [str(ROOT / "tests" / USERS[inside.parts[0]])]]
    found = [each for index, each in enumerate(groups) if each and each not in groups[:index]]
    return found if wide else found[:1]


def fails(source: Path, tests: list[str], limit: float) -> str:
    """Run tests against a copy of the sources; say how they failed, or nothing."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return "over the limit of time"
    failed = [each for each in done.stdout.splitlines() if each.startswith(("FAILED", "ERROR"))]
    # 5 is that there are no tests.
    return "" if done.returncode in (0, 5) else (failed or [f"pytest ended with {done.returncode}"])[0]


@cache
def _passes(source: Path, tests: tuple[str, ...], limit: float) -> bool:
    """Say whether tests pass without a change: others kill nothing."""
    how = fails(source, list(tests), limit)
    if how:
        print(f"left out, for they fail without a change: {' '.join(tests)} ({how})", flush=True)
    return not how


def killer(source: Path, mutant: Mutant, groups: list[list[str]], limit: float) -> str:
    """Run groups of tests against a mutant; say what killed it, or nothing."""
    inside = mutant.path.relative_to(PACKAGE)
    place, text = source / "slipstick" / inside, mutant.path.read_text()
    place.write_text(mutant.apply(text))
    try:
        return next((how for tests in groups if (how := fails(source, tests, limit))), "")
    finally:
        place.write_text(text)


def main() -> int:
    """Draw mutants, run the tests, and print what survives."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--limit", type=float, default=300.0, help="of one run of tests [s]")
    arguments.add_argument("--under", default="", help="a folder or module of the package, instead of all four")
    arguments.add_argument("--wide", action="store_true", help="try survivors with more tests")
    arguments.add_argument("--short", action="store_true", help="a mutant of one module, by its doctests")
    asked = arguments.parse_args()
    roots = [asked.under] if asked.under else ["queueing/routes.py"] if asked.short else list(CHANGED)
    paths = [each for root in roots for each in sorted((PACKAGE / root).rglob("*.py")) or [PACKAGE / root]]
    every = [each for path in paths for each in mutants(path)]
    drawn = random.Random(asked.seed).sample(every, min(1 if asked.short else asked.count, len(every)))
    killed = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "models"
        shutil.copytree(ROOT / "models", source, ignore=shutil.ignore_patterns("__pycache__"))
        for number, mutant in enumerate(drawn, 1):
            inside = mutant.path.relative_to(PACKAGE.parent).with_suffix("")
            groups = [["--pyargs", ".".join(inside.parts)], *([] if asked.short else tests_of(mutant.path, asked.wide))]
            groups = [each for each in groups if _passes(source, tuple(each), asked.limit)]
            how = killer(source, mutant, groups, asked.limit)
            killed += bool(how)
            where = f"{mutant.path.relative_to(PACKAGE)}:{mutant.first}"
            line = mutant.path.read_text().splitlines()[mutant.first - 1].strip()
            print(f"{number:4} {'killed' if how else 'SURVIVES':8} {where}: {line} -> {mutant.after}", flush=True)
            if how:
                print(f"     by {how[:110]}", flush=True)
    print(f"{killed} of {len(drawn)} mutants killed ({killed / len(drawn):.0%}), of {len(every):,} there are")
    return 0


if __name__ == "__main__":
    sys.exit(main())
