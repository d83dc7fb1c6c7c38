"""How large the package is, how many files one question passes through, and how fast commands
start.

    python benchmarks/structure.py [CHECKOUT ...]

Each checkout is one column; with an older checkout beside this one, it shows before and after.
Counted is the calculator (`models/slipstick`) without the papers' programs, wherever a checkout
keeps those; the packages beside it have rows of their own, so that what moved is seen apart from
what was saved. Tokens leave out comments, docstrings and layout. Empty names are those of
`EMPTY_NAMES`; add synonyms as they appear. Files passed are files with a function that ran, work
done while importing left out; more than `QUESTIONS` allows fail. Start-up is processor time, user
and system, as the least of several runs, and as a ratio to ``python -c "import numpy"`` of the same
environment.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import TypeGuard

from tabulate import tabulate

RUNS = 5
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
EMPTY_NAMES = frozenset(
    [
        "each",
        "found",
        "made",
        "said",
        "asked",
        "whole",
        "one",
        "other",
        "others",
        "further",
        "given",
        "known",
        "kept",
        "wanted",
        "here",
        "there",
        "left",
        "met",
        "parts",
        "part",
        "what",
        "written",
        "laid",
        "drawn",
    ]
)
"""Names of one word that say nothing of what a variable holds."""

KINDS = {
    "step": frozenset(
        [
            "Step",
            "Then",
            "Fork",
            "Choice",
            "Repeat",
            "Hold",
            "Pipeline",
            "BarrierWait",
            "WaitUnit",
            "SignalUnit",
            "UnitStep",
            "Ask",
            "VisitedStep",
            "VisitedHold",
        ]
    ),
    "population": frozenset(
        [
            "ClosedPopulation",
            "OpenPopulation",
            "StreamsPopulation",
            "PhasedPopulation",
            "SuperstepPopulation",
        ]
    ),
    "resource": frozenset(
        [
            "Station",
            "Lock",
            "Permits",
            "ReaderWriterLock",
            "Monitor",
            "Semaphores",
            "Barrier",
            "TaskPool",
            "HeldResource",
        ]
    ),
}
"""Classes that a method tells apart, where it does not read what the class says of itself."""
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
    cycle = delay(9e-3, name="work", scv=1) >> hold("door", service("bus", 1e-3, name="update"))
    model = closed(cycle, processors=8)
    sys.setprofile(watch)
    solve(model, method="mean-value")
output, sys.stdout = sys.stdout, open(os.devnull, "w")
eval(compile(sys.argv[2], "<question>", "eval"))
sys.setprofile(None)
print(len(passed), file=output)
"""

QUESTIONS = {
    "one mean-value solve in Python": ("mean_value()", 38),
    "slipstick solve lock-and-bus": ("command('solve', 'lock-and-bus')", 71),
    "slipstick run trend-primer": ("command('run', 'trend-primer', '--out', os.devnull + 'x')", 98),
}
"""What is asked, and the most files that it may pass through: as many as on 28 November 2026. They
were 18, 28 and 60 before facts about models stood in modules of one subject each, methods on one
ladder, and a simulation looked at each default answer; 32, 57 and 74 before trends, times by name
and checks of arguments; 68 of `solve` before the width of intervals was held against heavy traffic,
and 70 before the kinds of resources had a module of their own, which queueing networks read without
the steps. Of the last, 21 stand in packages beside the core."""

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
    options = parser.parse_args()
    checkouts = [checkout.resolve() for checkout in options.checkouts] or [
        Path(__file__).resolve().parents[1]
    ]
    rows: dict[str, list[object]] = defaultdict(list)
    for checkout in checkouts:
        for name, value in (
            *sizes(checkout, options.short),
            *passed(checkout, options.short),
            *start_up(checkout, options.short),
        ):
            rows[name].append(value)
    print(
        tabulate(
            [[name, *values] for name, values in rows.items()],
            ["", *(checkout.name for checkout in checkouts)],
        )
    )
    passed_by_question = {name: rows[f"files passed by {name}"] for name in QUESTIONS}
    over = [
        f"{name} passes through {counts[0]} files; at most {QUESTIONS[name][1]} are allowed"
        for name, counts in passed_by_question.items()
        if counts and not (isinstance(counts[0], int) and counts[0] <= QUESTIONS[name][1])
    ]
    print(*over, sep="\n")
    return bool(over)


def core(checkout: Path) -> list[Path]:
    """List the modules of the calculator."""
    package = checkout / "models" / "slipstick"
    files = sorted(package.rglob("*.py"))
    return [path for path in files if not path.relative_to(package).as_posix().startswith(PAPERS)]


def packages(checkout: Path) -> list[Path]:
    """List the packages beside the calculator."""
    folders = sorted((checkout / "models").glob("slipstick*"))
    return [folder for folder in folders if folder.is_dir() and folder.name != "slipstick"]


def sizes(checkout: Path, short: bool) -> Iterator[tuple[str, object]]:
    """Yield the size of the packages, and how their code is written."""
    files = core(checkout)[:: 20 if short else 1]
    texts = {path: path.read_text() for path in files}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    counts = [tokens(text) for text in texts.values()]
    statements = sum(count_statements(tree) for tree in trees.values())
    yield "tokens of the core", sum(counts)
    for package in packages(checkout):
        modules = sorted(package.rglob("*.py"))[:: 20 if short else 1]
        yield f"tokens of {package.name}", sum(tokens(path.read_text()) for path in modules)
    yield "tokens per statement of the core", round(sum(counts) / statements, 2)
    yield "files of the core", len(files)
    functions = [node for tree in trees.values() for node in ast.walk(tree) if is_function(node)]
    yield "functions of the core", len(functions)
    lengths = sorted(tokens(ast.unparse(function)) for function in functions)
    yield "tokens of a function: median", lengths[len(lengths) // 2]
    yield "tokens of a function: most", lengths[-1]
    empty = sum(has_empty_name(function) for function in functions)
    yield "functions with empty names [%]", round(100 * empty / len(functions), 1)
    comments = sum(line.lstrip().startswith("#") for text in texts.values() for line in lines(text))
    yield (
        "comments per 100 lines",
        round(100 * comments / sum(map(len, map(lines, texts.values()))), 2),
    )
    for kind, names in KINDS.items():
        yield f"tests for a kind of {kind}", sum(kind_tests(tree, names) for tree in trees.values())
    silent = sum(silent_matches(tree) for tree in trees.values())
    yield "match statements over nodes that pass over an unknown kind", silent
    yield "circles of imports", len(circles(checkout, trees))
    yield (
        "modules with one importer, in their own folder",
        sum(1 for _ in only_importers(checkout, trees)),
    )
    yield "class names with several meanings", repeated_classes(checkout, short)


lines = str.splitlines


def tokens(text: str) -> int:
    """Count tokens without comments, docstrings and layout, which cannot change the number. A
    formatted string is one token, as before Python 3.12, which reads it in parts.
    """
    documented = set(docstring_positions(ast.parse(text)))
    starts, ends = (getattr(tokenize, f"FSTRING_{end}", None) for end in ("START", "END"))
    token_count = depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and token.start in documented
        token_count += token.type not in LAYOUT and not is_docstring and depth == 0
        depth += (token.type == starts) - (token.type == ends)
    return token_count


def docstring_positions(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield where strings stand alone: docstrings, and those below a constant or field."""
    for node in ast.walk(tree):
        for statement in (
            getattr(node, "body", []) if isinstance(node, ast.stmt | ast.Module) else []
        ):
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, statement.col_offset


def count_statements(tree: ast.Module) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def has_empty_name(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a parameter or variable has a name that says nothing of what it holds."""
    arguments = {argument.arg for argument in [*function.args.args, *function.args.kwonlyargs]}
    stored = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return bool((arguments | stored) & EMPTY_NAMES)


def kind_tests(tree: ast.Module, names: frozenset[str]) -> int:
    """Count the places where a kind is told apart: cases of a match, and isinstance."""
    classes: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchClass):
            classes.append(node.cls)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            classes += [
                name_node
                for name_node in ast.walk(node.args[1])
                if isinstance(name_node, ast.Name | ast.Attribute)
            ]
    return sum(class_name(expression) in names for expression in classes)


def class_name(expression: ast.AST) -> str:
    return str(getattr(expression, "id", getattr(expression, "attr", "")))


def silent_matches(tree: ast.Module) -> int:
    """Count the match statements over kinds of nodes whose last case does not raise."""
    silent_count = 0
    for match in ast.walk(tree):
        if isinstance(match, ast.Match):
            patterns = [case.pattern for case in match.cases]
            kinds = {
                class_name(pattern.cls)
                for pattern in patterns
                if isinstance(pattern, ast.MatchClass)
            }
            last_case = match.cases[-1]
            catches = (
                isinstance(last_case.pattern, ast.MatchAs) and last_case.pattern.pattern is None
            )
            raises = catches and any(isinstance(step, ast.Raise) for step in last_case.body)
            silent_count += bool(kinds & KINDS["step"]) and not raises
    return silent_count


def circles(checkout: Path, trees: dict[Path, ast.Module]) -> set[frozenset[Path]]:
    """List the pairs of modules that import each other, at any depth of the code."""
    importers = imported_by(checkout, trees)
    pairs = ((path, user) for path, users in importers.items() for user in users)
    return {frozenset(pair) for pair in pairs if pair[0] in importers.get(pair[1], ())}


def repeated_classes(checkout: Path, short: bool) -> int:
    """Count the names that several classes of all packages have."""
    files = sorted((checkout / "models").rglob("*.py"))[:: 20 if short else 1]
    modules = [ast.parse(path.read_text()) for path in files]
    names = Counter(
        node.name for tree in modules for node in tree.body if isinstance(node, ast.ClassDef)
    )
    return sum(count > 1 for count in names.values())


def imported_by(checkout: Path, trees: dict[Path, ast.Module]) -> dict[Path, set[Path]]:
    """Return the modules that import each module."""
    paths = {dotted(path, checkout): path for path in trees}
    importers: dict[Path, set[Path]] = defaultdict(set)
    for user, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    path = paths.get(f"{node.module}.{alias.name}") or paths.get(node.module)
                    if path is not None and path != user:
                        importers[path].add(user)
    return importers


def only_importers(checkout: Path, trees: dict[Path, ast.Module]) -> Iterator[Path]:
    """Yield the modules that a single module imports, one of the same folder."""
    for path, users in imported_by(checkout, trees).items():
        only = next(iter(users)) if len(users) == 1 else None
        if path.name != "__init__.py" and only is not None and only.parent == path.parent:
            yield path


def dotted(path: Path, checkout: Path) -> str:
    names = path.relative_to(checkout / "models").with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def passed(checkout: Path, short: bool) -> Iterator[tuple[str, object]]:
    for name, (question, _) in list(QUESTIONS.items())[: 2 if short else None]:
        question = question.replace(
            "os.devnull + 'x'", repr(str(scratch() / name.replace(" ", "-")))
        )
        process = run(checkout, "-c", PASSED, str(checkout), question)
        yield (
            f"files passed by {name}",
            int(process.stdout) if process.returncode == 0 else process.stderr.splitlines()[-1],
        )


def start_up(checkout: Path, short: bool) -> Iterator[tuple[str, object]]:
    runs = 1 if short else RUNS
    numpy_seconds = min(seconds(checkout, "-c", "import numpy") for _ in range(runs))
    yield "import numpy [s]", round(numpy_seconds, 3)
    for name, words in list(COMMANDS.items())[: 1 if short else None]:
        took = min(seconds(checkout, "-m", "slipstick", *words) for _ in range(runs))
        yield f"{name} / import numpy", round(took / numpy_seconds, 2)


def seconds(checkout: Path, *words: str) -> float:
    """Measure the processor time of one process [s]."""
    usage_before = getrusage(RUSAGE_CHILDREN)
    run(checkout, *words)
    usage_after = getrusage(RUSAGE_CHILDREN)
    return (
        usage_after.ru_utime - usage_before.ru_utime + usage_after.ru_stime - usage_before.ru_stime
    )


def run(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "models")}
    environment["XDG_CACHE_HOME"] = os.devnull  # each question is answered without what is kept
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
