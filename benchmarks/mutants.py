"""Mutation test of the numeric code: change one operator or number at a time, and see whether a test fails.

A mutant is one of the packages law, queueing, method and sim with a single change, drawn by the seed: an arithmetic
operator, a comparison, an `and` or `or`, or a number. It is written into a copy of the sources, never into the checkout.
With `--measure` the tests run once under coverage.py, with a context for each test; the map from lines to tests, and the
times of the tests, are kept in a folder. A mutant is tried with the tests that execute its lines, the quickest first, until
one fails; for a line that runs at import, or is compiled, with the tests that execute anything in its module. The module's
doctests come first, and the tests named by `--new` last: they are not in the map yet. A run of tests that takes more than
the limit of processor time kills the mutant too (most of these are loops without an end). Results are appended to a file as they
come, and killed mutants that stand there are not tried again. A survivor that computes the same whatever its arguments is
no gap in the tests, and is judged by hand.

    python benchmarks/mutants.py --measure --map FOLDER
    python benchmarks/mutants.py --map FOLDER [--count 200] [--seed 1] [--new tests/sim/test_run.py ...]
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "models" / "slipstick"
CHANGED = ("law", "queueing", "method", "sim")
TESTS = ("law", "queueing", "method", "sim", "model", "published", "expression", "program", "study")
"""The folders of the tests that the map covers."""

_LIBRARIES = "numpy pydantic scipy.optimize scipy.stats scipy.sparse.linalg sympy yaml"
"""What children find loaded; nothing of the package itself."""

_MEMORY = 4 * 2**30
"""Of a run of tests [B]: a loop without an end may take more and more."""

_NEAR = 40
"""Tests of the same folder that are tried first."""

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

    @property
    def text(self) -> str:
        """What is replaced, with its module: what a later run knows a mutant by."""
        lines = self.path.read_text().splitlines()[self.first - 1 : self.last]
        inside = self.path.relative_to(PACKAGE)
        return f"{inside}: {' '.join(each.strip() for each in lines)} [{self.start}] -> {self.after}"

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


# The map is made inside pytest, which loads this module as a plugin.

_SECONDS: dict[str, float] = {}


def pytest_runtest_logstart(nodeid: str) -> None:
    """Begin the context of a test, where coverage is measured."""
    if "coverage" in sys.modules and (running := sys.modules["coverage"].Coverage.current()) is not None:
        running.switch_context(nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Keep the time that a test took."""
    _SECONDS[report.nodeid] = _SECONDS.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Write the times down."""
    if place := os.environ.get("MUTANTS_MAP"):
        path = Path(place, "seconds.json")
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**known, **_SECONDS}))


def measure(folder: Path, names: Sequence[str]) -> int:
    """Run the tests of some folders under coverage, and add to a map which lines each executes."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "coverage.ini"
    (folder / "modules.json").write_text(
        json.dumps({str(each.relative_to(PACKAGE)): _hash(each) for each in _modules()})
    )
    sources = "".join(f"\n    {PACKAGE / each}" for each in CHANGED)
    settings.write_text(f"[run]\nsource ={sources}\ndata_file = {folder / 'lines.sqlite'}\n")
    command = [
        sys.executable,
        "-m",
        "coverage",
        "run",
        "--append",
        f"--rcfile={settings}",
        "-m",
        *_pytest(),
        "-p",
        "benchmarks.mutants",
    ]
    tests = [str(ROOT / "tests" / each) for each in names]
    return subprocess.run(
        [*command, *tests], cwd=ROOT, env={**os.environ, "MUTANTS_MAP": str(folder)}, check=False
    ).returncode


def _modules() -> list[Path]:
    return [path for each in CHANGED for path in sorted((PACKAGE / each).rglob("*.py"))]


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _pytest() -> list[str]:
    return ["pytest", "-q", "-x", "-p", "no:cacheprovider"]


class Covered:
    """Which tests execute which lines."""

    def __init__(self, folder: Path) -> None:
        from coverage import CoverageData  # type: ignore[import-not-found,unused-ignore]

        self._data = CoverageData(str(folder / "lines.sqlite"))
        self._data.read()
        self._seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())
        self._measured: dict[str, str] = json.loads((folder / "modules.json").read_text())
        self._lines: dict[Path, dict[int, list[str]]] = {}

    def tests(self, mutant: Mutant, most: float) -> list[str]:
        """List the tests for a mutant, the quickest first, of together at most so many seconds."""
        inside = str(mutant.path.relative_to(PACKAGE))
        if inside == "sim/compiled/loop.py":  # compiled, so no line of it is seen: take the tests of what calls it
            return self.tests(replace(mutant, path=mutant.path.with_name("kernel.py"), first=0, last=0), most)
        if mutant.path not in self._lines:
            measured = [each for each in self._data.measured_files() if each.endswith(f"/slipstick/{inside}")]
            self._lines[mutant.path] = self._data.contexts_by_lineno(measured[0]) if measured else {}
        lines = self._lines[mutant.path]
        spanned: set[str] = set()
        if self._measured[inside] == _hash(mutant.path):  # else the numbers of the lines are others
            spanned = {test for line in range(mutant.first, mutant.last + 1) for test in lines.get(line, ()) if test}
        found = spanned or {each for tests in lines.values() for each in tests if each}
        chosen: list[str] = []
        left = most
        for test in sorted(found, key=lambda each: (self._seconds.get(each, 1.0), each)):
            left -= self._seconds.get(test, 1.0)
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen


def failure(source: Path, tests: Sequence[str], limit: float) -> str:
    """Run tests against a copy of the sources, in a child that has the libraries already; name what fails, or nothing."""
    if not tests:
        return ""
    with tempfile.NamedTemporaryFile() as told:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            _run_tests(source, tests, Path(told.name))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        failed = Path(told.name).read_text()
    if code == -signal.SIGXCPU:
        return "over the limit of processor time"
    if code in (3, 4) and "::" not in failed:
        if code == 3 and not failed:
            return "pytest has an internal error"
        raise RuntimeError(f"the tests did not run: {failed}")
    # 5 is that there are no tests.
    return "" if code in (0, 5) else failed or f"pytest ended with {code}"


def _run_tests(source: Path, tests: Sequence[str], told: Path) -> None:
    """Run tests in this child, and end it."""
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(source)
    os.environ.pop("NUMBA_CACHE_DIR", None)  # then compiled code is kept by the text that it is made of
    sys.path.insert(0, str(source))
    sys.dont_write_bytecode = True
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)

    class First:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed and not told.read_text():
                told.write_text(report.nodeid)

    try:
        code = int(pytest.main([*_pytest()[1:], "--pyargs", *tests], plugins=[First()]))
    except BaseException as error:  # noqa: BLE001, for this child has no one to tell but its parent
        told.write_text(repr(error))
        code = 3
    os._exit(code)


@cache
def _passes(source: Path, test: str, limit: float) -> bool:
    """Say whether a test passes without a change: others kill nothing."""
    return not failure(source, [test], limit)


def killer(source: Path, mutant: Mutant, groups: Sequence[Sequence[str]], limit: float) -> str:
    """Run groups of tests against a mutant; say what killed it, or nothing."""
    place, text = source / "slipstick" / mutant.path.relative_to(PACKAGE), mutant.path.read_text()
    unfit: set[str] = set()
    for tests in groups:
        left = tests
        while True:
            left = [each for each in left if each not in unfit]
            place.write_text(mutant.apply(text))
            try:
                how = failure(source, left, limit)
            finally:
                place.write_text(text)
            if how.startswith("::") or "::" not in how or how in unfit or _passes(source, how, limit):
                break
            unfit.add(how)
        if how:
            return how
    return ""


def drawn(asked: argparse.Namespace) -> tuple[list[Mutant], int]:
    """Draw mutants; say of how many."""
    roots = [asked.under] if asked.under else ["queueing/routes.py"] if asked.short else []
    paths = [
        each for root in roots for each in sorted((PACKAGE / root).rglob("*.py")) or [PACKAGE / root]
    ] or _modules()
    every = [each for path in paths for each in mutants(path)]
    return random.Random(asked.seed).sample(every, min(1 if asked.short else asked.count, len(every))), len(every)


def main() -> int:
    """Draw mutants, run the tests, and print what survives."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--limit", type=float, default=60.0, help="of processor time, of one run of tests [s]")
    arguments.add_argument("--most", type=float, default=15.0, help="tests for a mutant take at most this together [s]")
    arguments.add_argument("--under", default="", help="a folder or module of the package, instead of all four")
    arguments.add_argument("--map", type=Path, help="the folder of the map from lines to tests")
    arguments.add_argument("--measure", action="store_true", help="make that map, and end")
    arguments.add_argument("--tests", nargs="*", default=TESTS, help="folders of tests that are added to the map")
    arguments.add_argument("--new", nargs="*", default=[], help="tests that are not in the map")
    arguments.add_argument("--results", type=Path, help="a file of results; what is killed there is not tried again")
    arguments.add_argument("--short", action="store_true", help="a mutant of one module, by its doctests")
    asked = arguments.parse_args()
    if asked.measure:
        return measure(asked.map, asked.tests)
    for name in _LIBRARIES.split():
        import_module(name)
    covered = Covered(asked.map) if asked.map else None
    chosen, existing = drawn(asked)
    lines = asked.results.read_text().splitlines() if asked.results and asked.results.exists() else []
    known = {each["mutant"]: each["by"] for each in map(json.loads, lines)}
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        # At one place, where what was compiled for an earlier run is found again.
        source = (asked.map.resolve() if asked.map else Path(folder)) / "models"
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(ROOT / "models", source, ignore=shutil.ignore_patterns("__pycache__"))
        for number, mutant in enumerate(chosen, 1):
            how = known.get(mutant.text, "")
            if not how:
                inside = mutant.path.relative_to(PACKAGE.parent).with_suffix("")
                tests = covered.tests(mutant, asked.most) if covered else []
                near = [each for each in tests if each.startswith(f"tests/{inside.parts[1]}/")][:_NEAR]
                groups = [[".".join(inside.parts), *near], [each for each in tests if each not in near], asked.new]
                how = killer(source, mutant, groups, asked.limit)
                if asked.results:
                    with asked.results.open("a") as results:
                        results.write(json.dumps({"mutant": mutant.text, "line": mutant.first, "by": how}) + "\n")
            survivors += [] if how else [mutant]
            print(
                f"{number:4} {'killed' if how else 'SURVIVES':8} {mutant.text}",
                *([f"\n     by {how[:110]}"] * bool(how)),
                flush=True,
            )
    killed = len(chosen) - len(survivors)
    print(
        f"{killed} of {len(chosen)} mutants killed ({killed / len(chosen):.0%}), of {existing:,} there are; survivors:"
    )
    for mutant in survivors:
        print(f"  line {mutant.first} of {mutant.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
