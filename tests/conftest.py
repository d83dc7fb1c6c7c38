"""What holds for all tests: properties are drawn the same on every machine, none is timed, and
tables have one width.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_SH, flock
from functools import partial
from importlib import import_module
from itertools import compress
from operator import not_
from pathlib import Path
from pkgutil import resolve_name
from subprocess import DEVNULL, Popen
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

os.environ["OPENBLAS_NUM_THREADS"] = (
    "1"  # as the command line sets it, before NumPy is loaded: see slipstick.limits
)

from tests.processes import CACHE

os.environ["XDG_CACHE_HOME"] = str(CACHE)

import pytest
from hypothesis import settings

from slipstick.report.formatting import WIDTH
from slipstick_compiled.kernel import CompiledKernel
from slipstick_pictures.look import save_figure
from tests.clocks import CLOCKS
from tests.examples import examples, most_cases, tried_cases

if TYPE_CHECKING:
    from matplotlib.figure import Figure

settings.register_profile("house", deadline=None, derandomize=True, max_examples=examples(100))
settings.load_profile("house")

os.environ["COLUMNS"] = str(WIDTH)  # as without a terminal, also where the tests run in one

gc.set_threshold(
    50_000, 20, 20
)  # as the command line sets it: 11,000 collected tests stay, and are searched for cycles


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the rate of the clocks, which imitates a faster or slower machine."""
    parser.addoption(
        "--clock-rate",
        type=float,
        default=1.0,
        help="run the package's clocks so many times as fast: 5 for a machine of a fifth the speed",
    )


def _scaled(read: Callable[[], float], rate: float) -> float:
    """Read a clock as on a machine on which everything takes `rate` times as long [s]."""
    return rate * read()


WITHOUT_PIXELS = ("tests/cli/", "tests/scaling/", "tests/study/")
"""Folders whose tests write reports, and look at no pixel of their pictures: those that do are in
tests/report, and each shipped report is drawn by tests/house.
"""
_bytes_by_ending: dict[str, bytes] = {}


def _store(figure: Figure, path: Path) -> None:
    """Write a picture, in folders without pixels the first one that was stored with its ending."""
    drawn = not os.environ.get("PYTEST_CURRENT_TEST", "").startswith(WITHOUT_PIXELS)
    if drawn or path.suffix not in _bytes_by_ending:
        save_figure(figure, path)
        if not drawn:
            _bytes_by_ending[path.suffix] = path.read_bytes()
    else:
        path.write_bytes(_bytes_by_ending[path.suffix])


_COMPILING = pytest.StashKey["Popen[bytes]"]()
_LOCK = "SLIPSTICK_TESTS_COMPILING"  # the file whose lock the compiling process holds


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let one process compile the loop of the simulator for all workers, while they collect and run
    the first tests.

    It holds the lock of an open file for as long as it runs, and each worker waits for that lock
    before its first run.
    """
    if getattr(session.config.option, "tx", None) and not hasattr(session.config, "workerinput"):
        with NamedTemporaryFile(delete=False) as file:
            flock(file, LOCK_EX)
            session.config.stash[_COMPILING] = Popen(
                [sys.executable, "-m", "tests.compiling"],
                cwd=Path(__file__).parents[1],
                stdout=DEVNULL,
                stderr=DEVNULL,
                pass_fds=[file.fileno()],
            )
        os.environ[_LOCK] = file.name
    elif path := os.environ.get(_LOCK):
        run = CompiledKernel.run

        def run_when_compiled(self: CompiledKernel, events: int) -> Any:
            CompiledKernel.run = run  # type: ignore[method-assign]
            with open(path) as file:
                flock(file, LOCK_SH)
            return run(self, events)

        CompiledKernel.run = run_when_compiled  # type: ignore[method-assign]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the cases of long tests whose turn is at another commit; `make thorough` runs all."""
    tests = [(item.nodeid.partition("[")[0], turns_of(item)) for item in items]
    tried = tried_cases(tests, whole_suite=len(items) >= WHOLE_SUITE)
    config.stash[MOST_CASES_IN_A_SAMPLE] = most_cases(tests)
    config.hook.pytest_deselected(items=list(compress(items, map(not_, tried))))
    items[:] = compress(items, tried)


MOST_CASES_IN_A_SAMPLE = pytest.StashKey["dict[str, int]"]()
"""The cases of each test in its longest sample: another commit has another sample."""

WHOLE_SUITE = 5000
"""Tests in a run of the whole suite, at least."""


def turns_of(item: pytest.Item) -> int:
    """Return at how many commits a test tries its cases: 1, or the turns of its mark."""
    mark = item.get_closest_marker("turns")
    return mark.args[0] if mark else 1


def pytest_collection_finish(session: pytest.Session) -> None:
    """Replace for all tests what depends on the machine, and keep what is collected out of every
    later search for cycles.

    Fixtures would replace it anew for each of the 11,000 tests, which takes 6 s.
    """
    rate: float = session.config.getoption("--clock-rate")
    if rate != 1:
        for clock in CLOCKS:
            _replace(clock, partial(_scaled, resolve_name(clock), rate))
    # The note on compilation appears only on a machine that has not run the tests before.
    _replace("slipstick.sim.run.announce_compilation", lambda: None)
    if any(item.nodeid.startswith(WITHOUT_PIXELS) for item in session.items):
        _replace("slipstick_pictures.pictures.save_figure", _store)
    gc.freeze()


def _replace(name: str, value: Callable[..., Any]) -> None:
    """Replace a name of a module for the whole run."""
    module, _, attribute = name.rpartition(".")
    setattr(import_module(module), attribute, value)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the compilation where the tests ended first."""
    if compiling := session.config.stash.get(_COMPILING, None):
        compiling.kill()
        compiling.wait()
        Path(os.environ.pop(_LOCK)).unlink()
