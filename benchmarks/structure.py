"""How large the package is, how many files one question passes through, and how fast commands
start.

    python benchmarks/structure.py [CHECKOUT ...]

Each checkout is one column; with an older checkout beside this one, it shows before and after.
Counted are the calculator (`models/slipstick`) without the papers' programs, wherever a checkout
keeps those, and the lines of the packages beside it. Files passed are files with a function that
ran, work done while importing left out; more than `QUESTIONS` allows fail. Start-up is processor
time, user and system, as the least of several runs, and as a ratio to ``python -c "import numpy"``
of the same environment.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from tabulate import tabulate

RUNS = 5
PAPERS = ("program/lrc", "program/sharing", "program/billiards", "program/application")
"""Where an older checkout keeps the papers' programs, inside the package."""

PASSED = """
import os, sys
from pathlib import Path
package = Path(sys.argv[1]).resolve() / "models"
passed, importing = set(), 0
def watch(frame, event, _):
    global importing
    if frame.f_code.co_name == "<module>":
        importing += {"call": 1, "return": -1}.get(event, 0)
    elif event == "call" and not importing and frame.f_code.co_filename.startswith(str(package)):
        passed.add(frame.f_code.co_filename)
def command(*words):
    from slipstick.cli.main import main
    sys.argv = ["slipstick", *words]
    sys.setprofile(watch)
    try:
        main()
    except SystemExit:
        pass
def mean_value():
    try:
        from slipstick import closed_model as closed
    except ImportError:
        from slipstick import closed
    from slipstick import delay, hold, service, solve
    model = closed(delay(9e-3, name="work", scv=1) >> hold("door", service("bus", 1e-3, name="update")), processors=8)
    sys.setprofile(watch)
    solve(model, method="mean-value")
output, sys.stdout = sys.stdout, open(os.devnull, "w")
eval(compile(sys.argv[2], "<question>", "eval"))
sys.setprofile(None)
print(len(passed), file=output)
"""

QUESTIONS = {
    "one mean-value solve in Python": ("mean_value()", 18),
    "slipstick solve lock-and-bus": ("command('solve', 'lock-and-bus')", 28),
    "slipstick run trend-primer": ("command('run', 'trend-primer', '--out', os.devnull + 'x')", 60),
}
"""What is asked, and the most files that it may pass through."""

COMMANDS = {
    "check a study": ("check", "specs/studies/dvsm-what-if.yaml"),
    "check an activity": ("check", "specs/activities/lock-and-bus.yaml"),
    "check a queueing network": ("check", "specs/queueing/central-server.yaml"),
    "check a machine": ("check", "specs/machines/rs6000-43p-atm.yaml"),
    "check a network": ("check", "specs/networks/atm-oc3.yaml"),
    "check a workload": ("check", "specs/workloads/diff-request.yaml"),
    "solve lock-and-bus": ("solve", "lock-and-bus"),
    "solve central-server": ("solve", "central-server"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, metavar="CHECKOUT")
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    asked = parser.parse_args()
    checkouts = [each.resolve() for each in asked.checkouts] or [
        Path(__file__).resolve().parents[1]
    ]
    rows: dict[str, list[object]] = defaultdict(list)
    for checkout in checkouts:
        for name, value in (
            *sizes(checkout, asked.short),
            *passed(checkout, asked.short),
            *start_up(checkout, asked.short),
        ):
            rows[name].append(value)
    print(
        tabulate(
            [[name, *values] for name, values in rows.items()],
            ["", *(each.name for each in checkouts)],
        )
    )
    counted = {name: rows[f"files passed by {name}"] for name in QUESTIONS}
    over = [
        f"{name} passes through {counts[0]} files; at most {QUESTIONS[name][1]} are allowed"
        for name, counts in counted.items()
        if counts and not (isinstance(counts[0], int) and counts[0] <= QUESTIONS[name][1])
    ]
    print(*over, sep="\n")
    return bool(over)


def core(checkout: Path) -> list[Path]:
    """List the modules of the calculator."""
    package = checkout / "models" / "slipstick"
    files = sorted(package.rglob("*.py"))
    return [each for each in files if not each.relative_to(package).as_posix().startswith(PAPERS)]


def lines(files: Iterable[Path]) -> int:
    return sum(each.read_text().count("\n") for each in files)


def sizes(checkout: Path, short: bool) -> Iterator[tuple[str, object]]:
    files, every = core(checkout), list((checkout / "models").rglob("*.py"))
    if short:
        files = every = files[::20]
    everything = {each: ast.parse(each.read_text()) for each in every}
    trees = {each: everything[each] for each in files}
    yield "files of the core", len(files)
    yield "lines of the core", lines(files)
    for package in ("slipstick_measure", "slipstick_workloads"):
        yield f"lines of {package}", lines((checkout / "models" / package).rglob("*.py"))
    yield "lines of all packages", lines(every)
    yield (
        "modules with one importer, in their own folder",
        sum(1 for _ in only_importers(checkout, trees)),
    )
    classes = Counter(
        node.name
        for tree in everything.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    )
    yield "class names with several meanings", sum(1 for count in classes.values() if count > 1)
    functions = sorted(length for tree in trees.values() for length in lengths(tree))
    yield "functions", len(functions)
    yield "lines of a function, docstring left out: median", functions[len(functions) // 2]
    yield "the same: longest", functions[-1]


def only_importers(checkout: Path, trees: dict[Path, ast.Module]) -> Iterator[Path]:
    """Yield the modules that a single module imports, one of the same folder."""
    paths = {dotted(each, checkout): each for each in trees}
    importers: dict[Path, set[Path]] = defaultdict(set)
    for each, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    found = paths.get(name) or paths.get(node.module)
                    if found is not None:
                        importers[found].add(each)
    for each, users in importers.items():
        if (
            each.name != "__init__.py"
            and len(users) == 1
            and next(iter(users)).parent == each.parent
        ):
            yield each


def dotted(path: Path, checkout: Path) -> str:
    parts = path.relative_to(checkout / "models").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def lengths(tree: ast.Module) -> Iterator[int]:
    """Yield the length of every function without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            first = node.body[0]
            text = (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and ast.get_docstring(node)
            )
            yield (
                node.end_lineno
                - node.lineno
                + 1
                - ((first.end_lineno or 0) - first.lineno + 1 if text else 0)
            )


def passed(checkout: Path, short: bool) -> Iterator[tuple[str, object]]:
    for name, (question, _) in list(QUESTIONS.items())[: 2 if short else None]:
        question = question.replace(
            "os.devnull + 'x'", repr(str(scratch() / name.replace(" ", "-")))
        )
        done = run(checkout, "-c", PASSED, str(checkout), question)
        yield (
            f"files passed by {name}",
            int(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[-1],
        )


def start_up(checkout: Path, short: bool) -> Iterator[tuple[str, object]]:
    runs = 1 if short else RUNS
    least = min(seconds(checkout, "-c", "import numpy") for _ in range(runs))
    yield "import numpy [s]", round(least, 3)
    for name, words in list(COMMANDS.items())[: 1 if short else None]:
        took = min(seconds(checkout, "-m", "slipstick", *words) for _ in range(runs))
        yield f"{name} / import numpy", round(took / least, 2)


def seconds(checkout: Path, *words: str) -> float:
    """Measure the processor time of one process [s]."""
    before = getrusage(RUSAGE_CHILDREN)
    run(checkout, *words)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def run(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "models")}
    # Users do not compile the package at each start, and do not limit the threads of NumPy's
    # libraries.
    for name in ("PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def scratch() -> Path:
    from tempfile import gettempdir

    return Path(gettempdir()) / "slipstick-structure"


if __name__ == "__main__":
    sys.exit(main())
