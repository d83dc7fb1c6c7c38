"""Mutation test: change one operator or number at a time, and see whether a test fails.

A mutant is one of the packages with a single change, drawn by the
seed: an arithmetic operator, a comparison, an `and` or `or`, or a number; what draws pictures and
pages is left out, for most of its numbers are places on paper. It is written into a copy
of the sources, never into the checkout. The tests run once with marks at the places of the drawn
mutants; so it is known which tests execute a place, and how long each takes. A mutant is tried with
these tests, the quickest first, until one fails; after them with other tests of the same files, its
module and its folder, for a fixture or a cache may have executed the place for several. A change
inside a function is made in a process that has all tests loaded, by exchange of the code; a change
that the import executes, or that is compiled, is tried by new imports.

A run has a limit of processor time, several times what its tests take without the change: at the
limit the mutant counts as killed (a loop without an end). What ends otherwise by a signal gives no
verdict, and is counted as unknown. A test that fails must pass without the change. The map and the
results are appended to files of one folder as they come, and what stands there is not done again
while the sources are the same. A survivor that changes no answer is no gap in the tests; this is
judged by hand.

With `--parts 3 --part 1` the map is of all drawn mutants, and the first third of them is tried. So
tests can be written for the survivors of one part, and be judged by the next.

    python benchmarks/mutants.py --folder FOLDER [--count 200] [--seed 1] [--retry]
        [--parts 1] [--part 1]
"""

from __future__ import annotations

import argparse
import ast
import builtins
import gc
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "models"
CHANGED = tuple(
    sorted(
        path.name
        for path in MODELS.glob("slipstick*")
        if (path / "__init__.py").exists()
        if path.name not in ("slipstick_pages", "slipstick_pictures")
    )
)
TESTS = tuple(
    sorted(
        path.name
        for path in (ROOT / "tests").iterdir()
        if any(path.rglob("test_*.py")) or path.name.startswith("test_")
        if path.name not in ("house", "live_pages", "test_benchmarks.py")
    )
)
"""The tests that are run; the doctests of the changed packages as well. Those of the text of the
code, of browsers and of the benchmarks look at no mutant."""

_TESTS_OF = {
    "chains": "method",
    "compiled": "sim",
    "laws": "law",
    "mean_value": "method/mean_value",
    "questions": "study",
}
"""The folder of the tests of a package beside slipstick, where it has another name."""

_LIBRARIES = "numpy pydantic scipy.optimize scipy.stats scipy.sparse.linalg sympy yaml"
"""What children find loaded; nothing of the package itself."""

_MEMORY = 4 * 2**30
"""Of a run of tests, beside what is loaded [B]: a loop without an end may take more and more."""

_TIMES, _LEAST, _COMPILE = 5, 10, 240
"""Processor time of a run: so many times what its tests take without the change, and at least so
many seconds; with the seconds that compiling the simulator may take."""

_WAIT = 600
"""Elapsed time [s] after which a run that takes no processor time is ended, without a verdict."""

_MARK = "_mutant_executed"

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


Place = tuple[tuple[int, int], tuple[int, int], int]
"""First and last position of an expression, each a line and a column, and the number of its
mark.
"""


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
    def begins(self) -> tuple[int, int]:
        return self.first, self.start

    @property
    def ends(self) -> tuple[int, int]:
        return self.last, self.end

    @property
    def text(self) -> str:
        """What is replaced, with its module: what a later run knows a mutant by."""
        lines = self.path.read_text().splitlines()[self.first - 1 : self.last]
        inside = self.path.relative_to(MODELS)
        return (
            f"{inside}: {' '.join(each.strip() for each in lines)} [{self.start}] -> {self.after}"
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


def marked(text: str, places: Sequence[Place]) -> str:
    """Put marks around expressions; what cannot be marked, as in a pattern of `match`, is left
    as it is.
    """
    markable_places: list[Place] = []
    for place in places if not _parses(_inserted(text, places)) else ():
        if _parses(_inserted(text, [*markable_places, place])):
            markable_places.append(place)
    return _inserted(text, markable_places or places)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, UnicodeDecodeError):
        return False
    return True


def _inserted(text: str, places: Sequence[Place]) -> str:
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    edits = [(end, 0, b"))") for _, end, _ in places]
    edits += [(start, 1, f"({_MARK}({number})or(".encode()) for start, _, number in places]
    for (line, column), _, inside in sorted(
        edits, reverse=True
    ):  # from the last position back; ends stand before starts
        lines[line - 1] = lines[line - 1][:column] + inside + lines[line - 1][column:]
    return b"".join(lines).decode()


# Tests are run inside pytest, by these plugins; each ends its process, which is a fork.


@dataclass(frozen=True)
class Tried:
    """What is known of a test: its processor time [s], and the numbers of the mutants whose
    places it executes.
    """

    seconds: float
    passed: bool
    executed: frozenset[int]


class Mapping:
    """Runs every test, and keeps what it executes."""

    def __init__(self, map_file: Path, trial_by_test: dict[str, Tried]) -> None:
        self.kept, self.known = map_file, trial_by_test
        self.seen: set[int] = set()
        self.passed = True
        setattr(builtins, _MARK, self.seen.add)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed &= not report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with self.kept.open("a") as file:
            self._keep(file, "", 0.0)
            for item in session.items:
                if item.nodeid in self.known:
                    continue
                self.seen.clear()
                self.passed, start = True, time.process_time()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                self._keep(file, item.nodeid, time.process_time() - start)
        return True

    def _keep(self, file: Any, test: str, seconds: float) -> None:
        line = {
            "test": test,
            "seconds": seconds,
            "passed": self.passed,
            "executed": sorted(self.seen),
        }
        file.write(json.dumps(line) + "\n")
        file.flush()


Tries = Callable[["Mutant | None", Sequence[str]], str]
"""Run tests of loaded ones with a mutant, or with none; give the test that fails."""


class Exchanging:
    """Tries mutants inside functions, each in a fork of the process that has loaded all tests."""

    def __init__(self, try_mutants: Callable[[Tries], None], source: Path) -> None:
        self.each, self.source = try_mutants, source
        self.items: dict[str, Any] = {}
        self.failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.each(self._tried)
        return True

    def _tried(self, mutant: Mutant | None, tests: Sequence[str]) -> str:
        """Run tests in this process, which is a fork, with the code exchanged; give the test
        that fails.
        """
        if mutant is not None and not exchanged(mutant, self.source):
            return "no function found"
        for item in (
            self.items[test] for test in tests if test in self.items
        ):  # the map may name tests of before
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if self.failed:
                break
        return self.failed


def exchanged(mutant: Mutant, source: Path) -> int:
    """Return the functions of a module in this process the code of the mutant; say how many there
    are.
    """
    path = str(source / mutant.path.relative_to(MODELS))
    text = mutant.path.read_text()
    module = mutant.path.relative_to(MODELS).with_suffix("")
    import_module(".".join(module.parts).removesuffix(".__init__"))  # which tests load when used
    codes = list(
        zip(
            _codes(compile(text, path, "exec")),
            _codes(compile(mutant.apply(text), path, "exec")),
            strict=True,
        )
    )
    new_code_by_old = {old: new for old, new in codes if old != new}
    function_count = 0
    gc.unfreeze()  # the tests freeze what is collected, which is not listed then
    for collected_object in gc.get_objects():
        if (
            isinstance(collected_object, types.FunctionType)
            and collected_object.__code__.co_filename == path
            and collected_object.__code__ in new_code_by_old
        ):
            collected_object.__code__ = new_code_by_old[collected_object.__code__]
            function_count += 1
    return function_count


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _pytest(tests: Sequence[str], plugin: object) -> int:
    return int(
        pytest.main(
            ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests], plugins=[plugin]
        )
    )


def apart(source: Path, limit: float, work: Callable[[], str]) -> tuple[int, str]:
    """Do some work in a fork within a limit of processor time; give how it ended and what it
    said.
    """
    with tempfile.NamedTemporaryFile() as message_file:
        child = os.fork()
        if not child:
            _inside(source, limit, work, Path(message_file.name))
        end = time.monotonic() + _WAIT if math.isfinite(limit) else math.inf
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.005)
        return os.waitstatus_to_exitcode(ended[1]), Path(message_file.name).read_text()


def _inside(source: Path, limit: float, work: Callable[[], str], message_path: Path) -> NoReturn:
    """Work in this fork, and end it."""
    if math.isfinite(limit):
        # The soft limit sends SIGXCPU; at the hard one, which must be above it, Linux sends
        # SIGKILL.
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
        memory = (
            int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + _MEMORY
        )
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(source)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    code = 0
    try:
        message_path.write_text(work())
    except BaseException as error:  # noqa: BLE001  # a child reports to its parent alone
        message_path.write_text(repr(error))
        code = 99
    os._exit(code)


def fresh(source: Path) -> None:
    """Let this process import the package from a copy of the sources."""
    sys.path.insert(0, str(source))
    sys.dont_write_bytecode = True


def _compiled(source: Path) -> str:
    """Compile the simulator, so that it is found by what comes after."""
    fresh(source)
    setattr(builtins, _MARK, lambda number: None)
    solve = import_module("slipstick").solve
    settings = import_module("slipstick.sim.settings").Simulation(kernel="compiled", cycles=100)
    return type(solve("lock-and-bus", method="simulation", simulation=settings)).__name__


@dataclass
class Trial:
    """A drawn sample of mutants, the map of the tests, and the results so far."""

    folder: Path
    asked: Sequence[str]
    mutants: list[Mutant]
    most: float
    tried: range
    compiling: bool
    known: dict[str, Tried] = field(default_factory=dict)
    at_import: frozenset[int] = frozenset()
    results: dict[str, str] = field(default_factory=dict)
    out: int = field(default_factory=lambda: os.dup(1))
    _sound: dict[str, bool] = field(default_factory=dict)

    def read(self, retry: bool) -> None:
        """Read what earlier runs found of the same sources."""
        for line in _lines(self.folder / "map.jsonl"):
            if line["test"]:
                self.known[line["test"]] = Tried(
                    line["seconds"], line["passed"], frozenset(line["executed"])
                )
            else:
                self.at_import |= frozenset(line["executed"])
        results = self.folder / "results.jsonl"
        if retry:
            killed = [line for line in _lines(results) if verdict(line["by"]) == "killed"]
            results.write_text("".join(f"{json.dumps(line)}\n" for line in killed))
        for line in _lines(results):
            self.results[line["mutant"]] = line["by"]

    def measure(self) -> None:
        """Run the tests once with marks, and keep what each executes."""
        source = self._copied("marked")
        for path in {*(mutant.path for mutant in self.mutants), *_CALLERS.values()}:
            if path not in _COMPILED:
                module = _used(path)
                text = path.read_text()
                places = [(*place, module) for place in _returned(text)]
                places += [
                    (mutant.begins, mutant.ends, number)
                    for number, mutant in enumerate(self.mutants)
                    if mutant.path == path
                ]
                (source / path.relative_to(MODELS)).write_text(marked(text, places))

        def work() -> str:
            fresh(source)
            setattr(builtins, _MARK, lambda number: None)
            os.environ["PYTHONPATH"] = str(MODELS)  # other processes do not know the marks
            return str(_pytest(self.asked, Mapping(self.folder / "map.jsonl", self.known)))

        if not self.known and self.compiling:
            _told("compiled", apart(source, math.inf, partial(_compiled, source)))
        status = apart(source, math.inf, work)
        _told("map", status)
        self.read(False)
        if not self.known:
            sys.exit("the tests were not run: no mutant has a verdict")

    def tests(self, number: int) -> list[str]:
        """List the tests for a mutant: those that execute its place, then others of their files,
        of its module, of its folder.
        """
        sound = {name: test for name, test in self.known.items() if test.passed}
        place = {name for name, test in sound.items() if number in test.executed}
        files = {name.partition("::")[0] for name in place}
        mates = {name for name in sound if name.partition("::")[0] in files} - place
        path = self.mutants[number].path
        module = _used(_CALLERS.get(path, path))
        users = {name for name, test in sound.items() if module in test.executed} - place - mates
        package, *folders = path.relative_to(MODELS).parts
        beside = package.removeprefix("slipstick_")
        folder = f"tests/{folders[0] if beside == package else _TESTS_OF.get(beside, beside)}/"
        tests_of_folder = (
            {name for name in sound if name.startswith(folder)} - place - mates - users
        )
        chosen: list[str] = []
        seconds_left = self.most
        for group in (
            place,
            mates if number not in self.at_import else set(),
            users,
            tests_of_folder,
        ):
            for name in sorted(group, key=lambda test: (sound[test].seconds, test)):
                seconds_left -= sound[name].seconds
                if seconds_left < 0 and chosen:
                    return chosen
                chosen.append(name)
        return chosen

    def run(self) -> None:
        """Try each mutant that has no result: first by exchange of the code, then what is left
        by new imports.
        """
        todo = [number for number in self.tried if self.mutants[number].text not in self.results]
        source = self._copied("models")
        if todo and self.compiling:
            _told("compiled", apart(source, math.inf, partial(_compiled, source)))
        inside = [number for number in todo if not self._imported(number)]
        if inside:

            def work() -> str:
                fresh(source)
                return str(
                    _pytest(
                        self.asked,
                        Exchanging(lambda tried: self._each(inside, source, tried), source),
                    )
                )

            _told("tries", apart(source, math.inf, work))
            self.read(False)
        for number in todo:
            if (
                self.mutants[number].text not in self.results
                or self.results[self.mutants[number].text] == "no function found"
            ):
                self._anew(number, source)

    def _imported(self, number: int) -> bool:
        """Return whether a place is executed by an import, or compiled."""
        return (
            number in self.at_import
            or self.mutants[number].path in _COMPILED
            or self.mutants[number].path.name == "plan.py"
        )

    def _each(self, numbers: Sequence[int], source: Path, tried: Tries) -> None:
        for number in numbers:
            self._keep(number, self._judged(source, number, 0.0, tried))

    def _anew(self, number: int, source: Path) -> None:
        """Try a mutant by new imports."""
        path = self.mutants[number].path
        place, text = source / path.relative_to(MODELS), path.read_text()

        def run(mutant: Mutant | None, tests: Sequence[str]) -> str:
            place.write_text(mutant.apply(text) if mutant else text)
            fresh(source)
            first_failure = Telling()
            code = _pytest(
                ["--pyargs", *dict.fromkeys(_runnable(test) for test in tests)], first_failure
            )
            return first_failure.failed or (
                f"pytest ended with {code}" if code not in (0, 5) else ""
            )

        try:
            compiles = path in _COMPILED or "sim" in path.parts
            killer = self._judged(source, number, _COMPILE if compiles else 0.0, run)
        finally:
            shutil.copy2(path, place)
        self._keep(number, killer)

    def _judged(self, source: Path, number: int, more: float, run: Tries) -> str:
        """Run tests against a mutant; say what killed it, or nothing."""
        tests = self.tests(number)
        while tests:
            limit = max(_LEAST, _TIMES * sum(self.known[test].seconds for test in tests)) + more
            code, failed_test = apart(source, limit, partial(run, self.mutants[number], tests))
            if code == -signal.SIGXCPU:
                return f"over {limit:.0f} s of processor time"
            if code:
                return f"unknown: ended with {code} {failed_test}"
            if failed_test in tests and failed_test not in self._sound:
                self._sound[failed_test] = apart(
                    source, 120 + more, partial(run, None, [failed_test])
                ) == (0, "")
            if failed_test not in tests or self._sound[failed_test]:
                return failed_test
            tests = [test for test in tests if test != failed_test]
        return ""

    def _keep(self, number: int, by: str) -> None:
        mutant = self.mutants[number]
        self.results[mutant.text] = by
        with (self.folder / "results.jsonl").open("a") as file:
            file.write(json.dumps({"mutant": mutant.text, "line": mutant.first, "by": by}) + "\n")
        line = f"{number:4} {verdict(by):8} {mutant.text}" + f"\n     by {by[:110]}" * bool(by)
        os.write(self.out, f"{line}\n".encode())

    def _copied(self, name: str) -> Path:
        source = self.folder / name
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(ROOT / "models", source, ignore=shutil.ignore_patterns("__pycache__"))
        for shipped in ("specs", "tests", "reports"):  # what a checkout has beside its sources
            if not (link := self.folder / shipped).is_symlink():
                link.symlink_to(ROOT / shipped)
        return source


class Telling:
    """Keeps the first test that fails, or what cannot be imported."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = f"the import of {report.nodeid}"


def _told(work_name: str, ended: tuple[int, str]) -> None:
    print(f"{work_name}: status {ended[0]} {ended[1]}", flush=True)


def _runnable(test: str) -> str:
    """Return what pytest is asked for: of a doctest, whose identity it does not take, the
    module.
    """
    if test.startswith("tests/"):
        return test
    name = test.partition("::")[2]
    while (
        "." in name
        and not (path := MODELS.joinpath(*name.split("."))).is_dir()
        and not path.with_suffix(".py").is_file()
    ):
        name = name.rpartition(".")[0]
    return name


_NO_VERDICT = ("unknown", "pytest ended", "no function found")


def verdict(by: str) -> str:
    """Return what a result means."""
    return "SURVIVES" if not by else "unknown" if by.startswith(_NO_VERDICT) else "killed"


_COMPILED = (
    MODELS / "slipstick_compiled" / "loop.py",
    MODELS / "slipstick" / "queueing" / "compiled.py",
    MODELS / "slipstick_measure" / "calibration" / "kernels.py",
)
"""What Numba compiles, which knows no marks."""

_CALLERS = {
    _COMPILED[0]: MODELS / "slipstick_compiled" / "kernel.py",
    _COMPILED[2]: MODELS / "slipstick_measure" / "calibration" / "timing.py",
}
"""What calls a compiled module, and has marks in its place."""


def _used(path: Path) -> int:
    """Return the number of the mark that a module is used."""
    return -1 - sorted(MODELS.rglob("*.py")).index(path)


def _returned(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """List the places of the values that functions return, which show that a test uses a module."""
    values = [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Return) and node.value is not None
    ]
    return [
        ((value.lineno, value.col_offset), (value.end_lineno or 0, value.end_col_offset or 0))
        for value in values
    ]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def asked_tests(folders: Sequence[str], with_examples: bool) -> list[str]:
    """Return the arguments of pytest for folders of tests and the doctests of the packages."""
    examples = ["--pyargs", *(folder.replace("/", ".") for folder in CHANGED)]
    return [
        *(str(ROOT / "tests" / folder) for folder in folders),
        *(examples if with_examples else ()),
    ]


def drawn(options: argparse.Namespace) -> tuple[list[Mutant], int]:
    """Draw mutants; say of how many."""
    roots = (
        options.under
        if options.under
        else ["slipstick/queueing/routes.py"]
        if options.short
        else CHANGED
    )
    paths = [
        path for root in roots for path in sorted((MODELS / root).rglob("*.py")) or [MODELS / root]
    ]
    every = [mutant for path in paths for mutant in mutants(path)]
    order = random.Random(options.seed).sample(every, len(every))
    chosen: list[Mutant] = []
    for mutant in order:
        if len(chosen) < (1 if options.short else options.count) and valid(
            mutant, mutant.path.read_text()
        ):
            chosen.append(mutant)
    return chosen, len(every)


def main() -> int:
    """Draw mutants, run the tests, and print what survives."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--count", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument(
        "--most", type=float, default=20.0, help="tests for a mutant take at most this together [s]"
    )
    arguments.add_argument(
        "--under",
        nargs="*",
        default=[],
        help="folders or modules below models/, instead of the changed packages",
    )
    arguments.add_argument("--tests", nargs="*", default=TESTS, help="folders of tests")
    arguments.add_argument("--folder", type=Path, help="where the map and the results are kept")
    arguments.add_argument(
        "--parts", type=int, default=1, help="the drawn mutants in so many parts"
    )
    arguments.add_argument("--part", type=int, default=1, help="try the mutants of this part")
    arguments.add_argument(
        "--quick",
        action="store_true",
        help="without the doctests and without a compiled simulator, for tests that use none",
    )
    arguments.add_argument(
        "--retry",
        action="store_true",
        help="try what was not killed again, with all tests of today",
    )
    arguments.add_argument(
        "--short", action="store_true", help="a mutant of one module, by its doctests"
    )
    options = arguments.parse_args()
    for name in _LIBRARIES.split():
        import_module(name)
    chosen, existing = drawn(options)
    with tempfile.TemporaryDirectory() as place:
        # Of one name for one sample of one text of the sources: what was compiled there is found
        # again.
        sources = sha256("".join(mutant.text for mutant in chosen).encode()).hexdigest()[:12]
        folder = (options.folder or Path(place)).resolve() / sources
        folder.mkdir(parents=True, exist_ok=True)
        tests = (
            ["--pyargs", "slipstick.queueing.routes"]
            if options.short
            else asked_tests(options.tests, not options.quick)
        )
        part_size = math.ceil(len(chosen) / options.parts)
        tried = range(len(chosen))[(options.part - 1) * part_size : options.part * part_size]
        compiling = not (options.short or options.quick)
        trial = Trial(folder, tests, chosen, options.most, tried, compiling)
        trial.read(options.retry)
        trial.measure()
        trial.run()
    by = {
        verdict: [
            mutant
            for mutant in (chosen[number] for number in tried)
            if verdict_of(trial, mutant) == verdict
        ]
        for verdict in ("killed", "SURVIVES", "unknown")
    }
    print(
        f"{len(by['killed'])} of {len(tried)} mutants killed"
        f" ({len(by['killed']) / len(tried):.0%}), {len(by['unknown'])} without a verdict, of"
        f" {existing:,} there are; not killed:"
    )
    for mutant in by["SURVIVES"] + by["unknown"]:
        print(f"  line {mutant.first} of {mutant.text}")
    return 0


def verdict_of(trial: Trial, mutant: Mutant) -> str:
    return verdict(trial.results.get(mutant.text, "unknown"))


if __name__ == "__main__":
    sys.exit(main())
