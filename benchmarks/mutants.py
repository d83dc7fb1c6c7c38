"""Mutation test: change one operator or number at a time, and see whether a test fails.

A mutant is one of the packages with a single change, drawn by the seed: an arithmetic operator, a
comparison, an `and` or `or`, or a number; what draws pictures and pages is left out, for most of
its numbers are places on paper. No file is changed.

Each recorded input (tests/recorded) and each other test of the sample, which SLIPSTICK_SAMPLE
numbers as for `make test`, runs once, and the lines of the mutants that it executes are kept. A
mutant is tried in a fork of a process that has all tests loaded: the functions of its module get
the changed code, and then run the recorded inputs that execute its line, the quickest first, and
after them the other tests that do, up to `--most` seconds of processor time, until one fails. A
change that an import executes, or that is compiled, is tried by new imports of the package; its
tests are those that execute a line with the name that it defines. What fails must pass without the
change.

A run has a limit of processor time, several times what its tests take without the change: at the
limit the mutant counts as killed (a loop without an end). What ends otherwise by a signal gives no
verdict, and is counted as unknown. With `--folder`, the map and the results are kept as they come,
and what stands there is not done again. A survivor that changes no answer is no gap in the tests;
this is judged by hand.

    SLIPSTICK_SAMPLE=$(git rev-list --count HEAD) python benchmarks/mutants.py [--count 200]
        [--seed 1] [--under slipstick slipstick_measure slipstick_questions] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import math
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_loader
from itertools import accumulate
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "models"
CHANGED = tuple(
    sorted(
        path.parent.name
        for path in MODELS.glob("slipstick*/__init__.py")
        if path.parent.name not in ("slipstick_pages", "slipstick_pictures")
    )
)
WITHOUT = ("house", "live_pages", "test_benchmarks.py")
"""Tests of the text of the code, of browsers and of the benchmarks, which look at no mutant."""

_LIBRARIES = "numpy pydantic scipy.optimize scipy.stats scipy.sparse.linalg sympy yaml"
"""What children find loaded; nothing of the package itself."""

_MEMORY = 4 * 2**30
"""Of a run of tests, beside what is loaded [B]: a loop without an end may take more and more."""

_TIMES, _LEAST, _COMPILE = 5, 10, 240
"""Processor time of a run: so many times what its tests take without the change, and so many
seconds more; with the seconds that compiling may take."""

_WAIT = 600
"""Elapsed time [s] after which a run that takes no processor time is ended, without a verdict."""

_COMPILED = (
    MODELS / "slipstick_compiled" / "loop.py",
    MODELS / "slipstick" / "queueing" / "compiled.py",
    MODELS / "slipstick_measure" / "calibration" / "kernels.py",
)
"""What Numba compiles."""

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

MONITORING: Any = getattr(sys, "monitoring", None)
"""What tells of executed lines; before Python 3.12 the lines are traced, which takes longer."""

Line = tuple[str, int]
"""The path of a module and a line of it, from 1."""


@dataclass(frozen=True)
class Mutant:
    """One change: lines from `first` to `last` of a module, from 1, become `after`; columns
    count bytes.
    """

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
        inside = self.path.relative_to(MODELS)
        return (
            f"{inside}: {' '.join(line.strip() for line in lines)} [{self.start}] -> {self.after}"
        )

    def apply(self, text: str) -> str:
        """Return the text of the module with the change."""
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
    elif (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        yield repr(node.value * 2 if node.value not in (0, 1) else node.value + 1)


def valid(mutant: Mutant, text: str) -> bool:
    """Return whether the change gives a program, and another one: positions inside f-strings are
    not exact.
    """
    try:
        return ast.dump(ast.parse(mutant.apply(text))) != ast.dump(ast.parse(text))
    except (SyntaxError, UnicodeDecodeError):
        return False


def drawn(count: int, seed: int, roots: Iterable[str]) -> tuple[list[Mutant], int]:
    """Draw mutants of packages or modules; say of how many."""
    paths = [
        path for root in roots for path in sorted((MODELS / root).rglob("*.py")) or [MODELS / root]
    ]
    every = [mutant for path in paths for mutant in mutants(path)]
    chosen: list[Mutant] = []
    for mutant in random.Random(seed).sample(every, len(every)):
        if len(chosen) < count and valid(mutant, mutant.path.read_text()):
            chosen.append(mutant)
    return chosen, len(every)


# The lines that show that a test executes a mutant


def shown_by(mutant: Mutant) -> tuple[set[Line], set[Line]]:
    """Return the lines that execute a mutant, and lines to be taken where no test has these."""
    path, tree = str(mutant.path), ast.parse(mutant.path.read_text())
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and node.lineno <= mutant.first
        and mutant.last <= (node.end_lineno or 0)
    ]
    statement = around[-1]  # `walk` yields what is inside after what is around it
    whole_module = {(path, line) for line in range(1, (tree.body[-1].end_lineno or 0) + 1)}
    if mutant.path in _COMPILED or _inside_function(mutant, tree):
        lines = {(path, line) for line in range(mutant.first, mutant.last + 1)}
        of_statement = range(statement.lineno, (statement.end_lineno or 0) + 1)
        if mutant.path in _COMPILED:
            return lines, whole_module
        return lines, {(path, line) for line in of_statement}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        body = range(statement.body[0].lineno, (statement.end_lineno or 0) + 1)
        return {(path, line) for line in body}, whole_module
    names = [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    in_class = any(isinstance(node, ast.ClassDef) for node in around)
    used = [rf"\.{name}\b|\b{name}=" if in_class else rf"\b{name}\b" for name in names]
    return set(_lines_with("|".join(used))) if names else set(), whole_module


def _inside_function(mutant: Mutant, tree: ast.Module) -> bool:
    """Return whether a change is in the body of a function, which the import does not execute."""
    place = (mutant.first, mutant.start)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = node.body if isinstance(node, ast.Lambda) else node.body[0]
            end = (node.end_lineno or 0, node.end_col_offset or 0)
            if (body.lineno, body.col_offset) <= place < end:
                return True
    return False


def _lines_with(pattern: str) -> Iterator[Line]:
    for path in MODELS.rglob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(pattern, line):
                yield str(path), number


class Executed:
    """Keeps which of some lines are executed since the last start."""

    def __init__(self, numbers_by_line: Mapping[Line, Sequence[int]]) -> None:
        self.numbers_by_line = numbers_by_line
        self.seen: set[int] = set()
        self._files = {path for path, _ in numbers_by_line}

    def start(self) -> None:
        """Begin anew."""
        self.seen.clear()
        if MONITORING is None:
            sys.settrace(self._traced)
            return
        if not MONITORING.get_tool(MONITORING.PROFILER_ID):
            MONITORING.use_tool_id(MONITORING.PROFILER_ID, "mutants")
            event = MONITORING.events.LINE
            MONITORING.register_callback(MONITORING.PROFILER_ID, event, self._line)
            MONITORING.set_events(MONITORING.PROFILER_ID, event)
        MONITORING.restart_events()

    def stop(self) -> None:
        """Look at no further line."""
        if MONITORING is None:
            sys.settrace(None)
        else:
            MONITORING.free_tool_id(MONITORING.PROFILER_ID)

    def _line(self, code: types.CodeType, line: int) -> Any:
        self.seen.update(self.numbers_by_line.get((code.co_filename, line), ()))
        return MONITORING and MONITORING.DISABLE

    def _traced(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        self._line(frame.f_code, frame.f_lineno)
        return self._traced


# Recorded inputs and tests are run inside pytest, by this plugin, which ends its process


Check = Callable[[], str]
"""Run a recorded input or a test, and return what fails, or nothing."""


class Session:
    """Collects the tests, and does some work with the checks by their names."""

    def __init__(self, work: Callable[[Mapping[str, Check]], object]) -> None:
        self.work = work
        self.failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        self.pytest_runtest_logreport(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        checks: dict[str, Check] = {}
        for item in session.items:
            outcomes = getattr(item, "callspec", None) and item.callspec.params.get("outcomes")  # type: ignore[attr-defined]
            if item.nodeid.startswith(RECORDED) and outcomes:
                for name, outcome in outcomes.items():
                    checks[f"{INPUT}{name}"] = partial(_compared, name, outcome)
            else:
                checks[item.nodeid] = partial(self._run, item)
        self.work(checks)
        return True

    def _run(self, item: pytest.Item) -> str:
        self.failed = ""
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.failed


RECORDED, INPUT = "tests/recorded/test_recorded.py", "recorded | "


def _compared(name: str, outcome: Any) -> str:
    differences = import_module("tests.recorded.record").differences
    return "".join(differences({name: outcome}))


def _pytest(tests: Iterable[str], plugin: Session) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main([*options, *tests], plugins=[plugin])


def _prepare() -> None:
    """Let this process import the packages of this checkout, without a stored form."""
    os.chdir(ROOT)
    sys.path.insert(0, str(MODELS))
    sys.dont_write_bytecode = True
    os.environ["PYTHONPATH"] = str(MODELS)


class Changed(MetaPathFinder):
    """Imports one module with a change."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin != str(self.mutant.path):
            return None
        loader = _ChangedLoader(name, str(self.mutant.path))
        loader.mutant = self.mutant
        return spec_from_loader(name, loader, origin=spec.origin)


class _ChangedLoader(SourceFileLoader):
    mutant: Mutant

    def get_code(self, fullname: str) -> types.CodeType:
        text = self.mutant.apply(self.mutant.path.read_text())
        return compile(text, self.path, "exec", dont_inherit=True)


def functions() -> Mapping[str, Sequence[types.FunctionType]]:
    """Return all functions of the packages by the paths of their modules, which are imported."""
    for package in CHANGED:
        for module in walk_packages([str(MODELS / package)], f"{package}."):
            if not module.name.endswith("__main__"):
                try:
                    import_module(module.name)
                except ImportError:  # of a library that is not installed
                    continue
    functions_by_path: dict[str, list[types.FunctionType]] = {}
    gc.unfreeze()  # the tests freeze what is collected, which is not listed then
    for collected_object in gc.get_objects():
        if isinstance(collected_object, types.FunctionType):
            path = collected_object.__code__.co_filename
            if path.startswith(str(MODELS)):
                functions_by_path.setdefault(path, []).append(collected_object)
    return functions_by_path


def exchange(mutant: Mutant, candidates: Iterable[types.FunctionType]) -> int:
    """Give functions of a module the code of the mutant; return how many there are."""
    text, path = mutant.path.read_text(), str(mutant.path)
    old, new = (
        list(_codes(compile(version, path, "exec", dont_inherit=True)))
        for version in (text, mutant.apply(text))
    )
    new_code_by_old = {
        before: after for before, after in zip(old, new, strict=True) if before != after
    }
    count = 0
    for function in candidates:
        if function.__code__ in new_code_by_old:
            function.__code__ = new_code_by_old[function.__code__]
            count += 1
    return count


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def apart(limit: float, work: Callable[[], object]) -> tuple[int, str]:
    """Do some work in a fork within a limit of processor time; return how it ended and what it
    returned.
    """
    with tempfile.NamedTemporaryFile() as file:
        child = os.fork()
        if not child:
            code = 99
            try:
                _limit(limit)
                Path(file.name).write_text(str(work() or ""))
                code = 0
            except BaseException as error:  # noqa: BLE001  # a child reports to its parent alone
                Path(file.name).write_text(repr(error))
            os._exit(code)
        end, pause = time.monotonic() + _WAIT, 0.001
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if math.isfinite(limit) and time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return os.waitstatus_to_exitcode(ended[1]), Path(file.name).read_text()


def _limit(limit: float) -> None:
    """Limit the processor time and the memory of this fork, and let it print nothing."""
    if math.isfinite(limit):
        # The soft limit sends SIGXCPU; at the hard one, which must be above it, Linux sends
        # SIGKILL.
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)


@dataclass(frozen=True)
class Trial:
    """A drawn sample of mutants, the tests that are run, and the folder of the map and results."""

    folder: Path
    mutants: Sequence[Mutant]
    tests: Sequence[str]
    most: float
    workers: int
    out: int
    is_short: bool = False

    def say(self, text: str) -> None:
        """Print a line, past what pytest keeps of the output."""
        os.write(self.out, f"{text}\n".encode())

    def read(self, name: str) -> list[Any]:
        """Read the map or the results, as far as they are."""
        path = self.folder / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def keep(self, name: str, **line: object) -> None:
        """Add a line to the map or the results."""
        with (self.folder / f"{name}.jsonl").open("a") as file:
            file.write(f"{json.dumps(line)}\n")

    def results(self) -> dict[int, str]:
        """Return what killed each mutant that was tried, or nothing."""
        return {line["mutant"]: line["by"] for line in self.read("results")}

    def run(self) -> None:
        """Make the map, and try each mutant that has no result."""
        numbers_by_line: dict[Line, list[int]] = {}
        for number, mutant in enumerate(self.mutants):
            for place, lines in enumerate(shown_by(mutant)):
                for line in lines:
                    numbers_by_line.setdefault(line, []).append(number + place * len(self.mutants))
        executed = Executed(numbers_by_line)

        def work() -> None:
            _prepare()
            executed.start()
            _pytest(self.tests, Session(partial(self._in_session, executed)))

        _, failed = apart(math.inf, work)
        if failed or not self.read("map"):
            sys.exit(f"the tests were not run: no mutant has a verdict {failed}")
        chosen = self.chosen()
        results = self.results()
        for number, mutant in enumerate(self.mutants):
            if number not in results and number in chosen:
                self._keep_result(
                    number, self._judged(number, chosen[number], partial(_anew, mutant))
                )

    def _in_session(self, executed: Executed, checks: Mapping[str, Check]) -> None:
        """Make the map, and try the changes inside functions, in a process with all tests."""
        at_import = set(executed.seen)
        known = {line["check"] for line in self.read("map")}
        todo = [name for name in checks if name not in known]
        if not self.is_short:  # otherwise each fork would load the compiled simulator
            slipstick = import_module("slipstick")
            settings = slipstick.Simulation(kernel="compiled", cycles=100)
            slipstick.solve("lock-and-bus", method="simulation", simulation=settings)
        self._share(lambda worker: self._map(executed, checks, todo[worker :: self.workers]))
        executed.stop()
        self.keep("map", check="", seconds=0.0, passed=True, executed=sorted(at_import))
        chosen, results, functions_by_path = self.chosen(), self.results(), functions()
        inside = [
            number
            for number, mutant in enumerate(self.mutants)
            if number not in results and number in chosen and mutant.path not in _COMPILED
            if _inside_function(mutant, ast.parse(mutant.path.read_text()))
        ]

        def tried(mutant: Mutant | None, names: Sequence[str], source: str) -> str:
            if mutant and not exchange(mutant, functions_by_path.get(source, ())):
                return NO_FUNCTION
            return next((name for name in names if checks[name]()), "")

        def judge(worker: int) -> None:
            for number in inside[worker :: self.workers]:
                mutant = self.mutants[number]
                names = {name: time for name, time in chosen[number].items() if name in checks}

                def run(names: Sequence[str], changed: bool, mutant: Mutant = mutant) -> str:
                    return tried(mutant if changed else None, names, str(mutant.path))

                by = self._judged(number, names, run)
                if by != NO_FUNCTION and (by or number not in at_import):
                    self._keep_result(number, by)

        self._share(judge)

    def _share(self, work: Callable[[int], None]) -> None:
        """Do the work of each worker in a fork."""
        children = []
        for worker in range(self.workers):
            child = os.fork()
            if not child:
                try:
                    work(worker)
                except BaseException as error:  # noqa: BLE001  # it has no other place to go
                    self.say(f"worker {worker}: {error!r}")
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)

    def _map(self, executed: Executed, checks: Mapping[str, Check], names: Iterable[str]) -> None:
        """Run each check once, and keep what it executes."""
        for name in names:
            executed.start()
            start = time.process_time()
            failed = checks[name]()
            seconds = time.process_time() - start
            numbers = sorted(executed.seen)
            self.keep("map", check=name, seconds=seconds, passed=not failed, executed=numbers)

    def chosen(self) -> dict[int, dict[str, float]]:
        """Return the checks of each mutant in their order, with their processor time [s]: recorded
        inputs before tests, the quickest first, up to the limit.
        """
        seconds_by_number: dict[int, dict[str, float]] = {}
        for line in self.read("map"):
            if line["passed"] and line["check"]:
                for number in line["executed"]:
                    seconds_by_number.setdefault(number, {})[line["check"]] = line["seconds"]
        chosen = {}
        for number in range(len(self.mutants)):
            seconds = seconds_by_number.get(number) or seconds_by_number.get(
                number + len(self.mutants), {}
            )
            names = sorted(seconds, key=lambda name: (not name.startswith(INPUT), seconds[name]))
            totals = accumulate(seconds[name] for name in names if not name.startswith(INPUT))
            inputs = [name for name in names if name.startswith(INPUT)]
            count = len(inputs) + max(1, sum(total <= self.most for total in totals))
            chosen[number] = {name: seconds[name] for name in names[:count]}
        return chosen

    def _judged(
        self,
        number: int,
        seconds: Mapping[str, float],
        run: Callable[[Sequence[str], bool], str],
    ) -> str:
        """Run checks against a mutant; return what killed it, or nothing."""
        names = list(seconds)
        more = _LEAST + (_COMPILE if self.mutants[number].path in _COMPILED else 0)
        while names:
            limit = _TIMES * sum(seconds[name] for name in names) + more
            code, by = apart(limit, partial(run, names, True))
            if code == -signal.SIGXCPU:
                return f"over {limit:.0f} s of processor time"
            if code and code != 99:
                return f"{UNKNOWN}: ended with {code}"
            if not by or by not in names or not apart(limit, partial(run, [by], False))[1]:
                return by
            names.remove(by)
        return ""

    def _keep_result(self, number: int, by: str) -> None:
        mutant = self.mutants[number]
        self.keep("results", mutant=number, line=mutant.first, text=mutant.text, by=by)
        self.say(
            f"{number:4} {verdict(by):8} line {mutant.first} of {mutant.text}\n     {by[:150]}"
        )


def _anew(mutant: Mutant, names: Sequence[str], changed: bool) -> str:
    """Run checks by new imports; return the first that fails."""
    _prepare()
    if changed:
        sys.meta_path.insert(0, Changed(mutant))
    if mutant.path in _COMPILED:  # what was compiled without the change is not to be found
        cache = import_module("numba.core.caching").FunctionCache
        cache.load_overload = cache.save_overload = lambda *arguments: None
    found: list[str] = []

    def work(checks: Mapping[str, Check]) -> None:
        for name in names:
            if name in checks and checks[name]():
                found.append(name)
                return

    inputs = [name for name in names if name.startswith(INPUT)]
    files = dict.fromkeys(name.partition("::")[0] for name in names if name not in inputs)
    for tests in ([RECORDED] if inputs else [], list(files)):
        session = Session(work)
        if tests and not found:
            _pytest(tests, session)
            if session.failed and not found:
                return f"the import of {session.failed}"
    return found[0] if found else ""


UNKNOWN, NO_FUNCTION = "unknown", "no function found"


def verdict(by: str) -> str:
    """Return what a result means."""
    return "SURVIVES" if not by else "unknown" if by.startswith(UNKNOWN) else "killed"


def main() -> int:
    """Draw mutants, run the tests, and print what survives."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--count", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument(
        "--most", type=float, default=60.0, help="tests for a mutant take at most this together [s]"
    )
    arguments.add_argument(
        "--under",
        nargs="*",
        default=CHANGED,
        help="folders or modules below models/, instead of the changed packages",
    )
    arguments.add_argument("--tests", nargs="*", help="instead of the tests of the sample")
    arguments.add_argument("--folder", type=Path, help="where the map and the results are kept")
    arguments.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments.add_argument(
        "--short", action="store_true", help="a mutant of one module, by its doctests"
    )
    options = arguments.parse_args()
    if options.short:
        options.count, options.workers = 1, 1
        options.under, options.tests = ("slipstick/queueing/routes.py",), None
    for name in _LIBRARIES.split():
        import_module(name)
    ignored = [f"--ignore=tests/{name}" for name in WITHOUT]
    tests = options.tests or (
        ["models/slipstick/queueing/routes.py"] if options.short else ["tests", "models", *ignored]
    )
    chosen, existing = drawn(options.count, options.seed, options.under)
    with tempfile.TemporaryDirectory() as place:
        folder = (options.folder or Path(place)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        trial = Trial(
            folder, chosen, tests, options.most, options.workers, os.dup(1), options.short
        )
        trial.run()
        results = trial.results()
    verdicts = [verdict(results.get(number, "")) for number in range(len(chosen))]
    print(
        f"{verdicts.count('killed')} of {len(chosen)} mutants killed"
        f" ({verdicts.count('killed') / len(chosen):.0%}), {verdicts.count('unknown')} without a"
        f" verdict, of {existing:,} there are; up to {options.most:g} s of tests for each, after"
        " the recorded inputs; not killed:"
    )
    for mutant, judged in zip(chosen, verdicts, strict=True):
        if judged != "killed":
            print(f"  line {mutant.first} of {mutant.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
