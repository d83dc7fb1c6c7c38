"""Fuzz every command that reads: whatever files and options hold, the command ends with 0, 1, 2 or
130, soon and small.

Soon is 5 s of processor time, unless the command said on standard error how long it takes: a bar
with the time left of a study's points, or an estimate in words before what takes long (``slipstick
limits``). Such inputs are counted as told, and stopped after a minute.

An input is a command line with one file. The file is a shipped spec, sample or model of another
tool, or a study made of parts that the tests have, changed in one to four places: values by hostile
ones, numbers by factors, keys dropped, renamed and doubled, parts moved, nested, repeated and taken
from other files, text damaged sign by sign and byte by byte. Each is drawn from the seed and its
index alone, and answered by a child process of its own, which is forked from a process that has
imported slipstick, and whose processor time and memory are measured.

``python benchmarks/fuzz.py`` runs 100,000; the exit status is 1 if one breaks a promise. ``--case
INDEX`` runs one and prints it; what broke a promise is printed with the fewest lines that break it
the same way. ``--record FILE`` keeps what came of each block of inputs as a line of JSON; blocks
that stand there are not run again.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
# Not by sys.path: other distributions install packages called tests, too.
_tests = types.ModuleType("tests")
_tests.__path__ = [str(ROOT / "tests")]
sys.modules["tests"] = _tests

from slipstick.cli.main import main as slipstick
from tests.agreement import HEADS
from tests.measure.damage import damaged
from tests.mutations import SHIPPED, TOKENS, text_mutated
from tests.payloads import PAYLOADS

# At the speed of C: writing a changed spec in Python takes as long as most commands take to answer
# it.
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

SECONDS, MEMORY = 5.0, 3 << 28
"""Processor time, and memory beside that of the process the child is forked from, which holds
the imports (a quarter GiB).
"""
TOLD = re.compile(r"\d+/\d+ \[[\d:]+<[\d:]+|about [\d,]+ s")
MOST_TOLD = 60.0
"""Seconds after which a command that said how long it takes is stopped."""
BLOCK = 50
MACHINE, WORKLOAD = "rs6000-43p-fast-ethernet", "dvsm/diff-request"


@dataclass(frozen=True)
class Input:
    """A command line, and the file it reads, if any."""

    kind: str
    arguments: tuple[str, ...]
    name: str = ""
    content: bytes = b""

    @property
    def command(self) -> str:
        return self.arguments[0]


@dataclass(frozen=True)
class Outcome:
    """How an input ended: ``status N``, ``told``, ``traceback ...``, ``signal N``, ``over 5 s``
    or ``over 1 GB``.
    """

    verdict: str
    seconds: float
    memory: float
    words: str

    @property
    def kept(self) -> bool:
        return self.verdict in ("status 0", "status 1", "status 2", "status 130", "told")


# Files


def _model_files(folder: str) -> list[str]:
    return [
        name for name in SHIPPED if name.startswith(f"{folder}/") and len(SHIPPED[name]) < 20_000
    ]


SPECS = {
    folder: _model_files(folder)
    for folder in sorted({name.partition("/")[0] for name in SHIPPED} - {"studies"})
}
TREES: dict[str, Any] = {}


def _tree(name: str) -> Any:
    if name not in TREES:
        TREES[name] = yaml.load(SHIPPED[name], Loader)
    return json.loads(json.dumps(TREES[name], default=str))


SAMPLES = {
    "measured": sorted((ROOT / "tests/measure/files").glob("*/*.*")),
    "trace": [
        *sorted((ROOT / "tests/measure/traces/files").iterdir()),
        ROOT / "specs/runs/polls.csv",
    ],
    "import": [
        *sorted((ROOT / "tests/measure/imports/files").iterdir()),
        *sorted((ROOT / "tests/measure/files").glob("[oinp]*/*.txt")),
    ],
}
ODD: tuple[Any, ...] = (
    *(
        0,
        -1,
        1,
        2,
        0.5,
        1e308,
        -1e308,
        1e-320,
        10**7,
        10**9,
        10**12,
        10**18,
        float("nan"),
        float("inf"),
        2**31,
        100_000,
    ),
    *(
        "",
        "1e400",
        "9" * 30,
        "0 s",
        "-1 s",
        "1e308 s",
        "1e-300 s",
        "5 B",
        "3 B/s",
        "1000000",
        "1e5",
        "x" * 5000,
        "\u202e",
        "a\nb",
    ),
    *(
        None,
        True,
        [],
        {},
        [[]],
        {"a": {}},
        [1, "us"],
        {"value": 3},
        {"from": 1, "to": 1e9, "step": 1},
        "a.b",
        "é" * 20,
    ),
    *(
        "engset(1, 1e5, 0.5)",
        "erlang_c(1e6, 2)",
        "ceil_log(1e300, 1.0000001)",
        "select(1e9, 1, 2)",
        "n ** n ** n ** n",
    ),
    *(
        "1 / 0",
        "max()",
        "(" * 300,
        "1 + " * 500 + "1",
        "work * work",
        "machine.processors.count",
        "2 ** 1e9",
        "{from: 1, to: 1e6, count: 1000000}",
    ),
)
FACTORS = (0, -1, 0.5, 2, 10, 100, 1e3, 1e4, 1e6, 1e9, 1e15, 1e300, 1e-9)


GENTLE = (2, 3, 4, 8, 10)
"""Changes that a loader mostly accepts, so that what comes after it is tried as well."""


def changed(tree: Any, chance: random.Random, donor_tree: Any, gentle: bool) -> Any:
    """Change a tree in one place."""
    places = list(_places(tree))
    if not places:
        return chance.choice(ODD)
    holder, key = chance.choice(places)
    value = holder[key]
    match chance.choice(GENTLE) if gentle else chance.randrange(12):
        case 0 | 1:
            holder[key] = chance.choice(ODD)
        case 2 | 3 | 4:
            # A number, the one of a quantity as well; the rest of the places get a token instead.
            numbers = [
                (h, k)
                for h, k in places
                if re.search("[0-9]", str(h[k])) and not isinstance(h[k], dict | list)
            ]
            holder, key = chance.choice(numbers or [(holder, key)])
            holder[key] = _scaled(holder[key], chance)
        case 5:
            del holder[key]
        case 6 if isinstance(holder, dict):
            new = chance.choice(
                (
                    f"{key}x",
                    chance.choice(PAYLOADS),
                    "x" * 300,
                    str(chance.choice(places)[1]),
                    "a.b",
                    0,
                )
            )
            holder[new] = holder.pop(key)
        case 7:
            where, at = chance.choice(places)
            where[at], holder[key] = json.loads(json.dumps(value, default=str)), where[at]
        case 8 if isinstance(holder, list):
            holder[key:key] = [value] * int(10 ** chance.uniform(0, 3.3))
        case 8 if isinstance(holder, dict):
            for number in range(int(10 ** chance.uniform(0, 3.3))):
                holder[f"{key}{number}"] = value
        case 9:
            for _ in range(chance.choice((1, 2, 10, 60))):
                value = [value] if chance.random() < 0.5 else {str(key): value}
            holder[key] = value
        case 10:
            # What stands under the same key in another file of the kind, or anything in it.
            all_places = list(_places(donor_tree))
            places_of_key = [(h, k) for h, k in all_places if k == key] or all_places
            if places_of_key:
                table, place = chance.choice(places_of_key)
                holder[key] = table[place]
        case _:
            holder[key] = chance.choice((*TOKENS, *PAYLOADS))
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(tree, dict):
        items = list(tree.items())
    elif isinstance(tree, list):
        items = list(enumerate(tree[:200]))
    for key, value in items:
        yield tree, key
        yield from _places(value)


def _scaled(value: Any, chance: random.Random) -> Any:
    factor = chance.choice(FACTORS)
    if isinstance(value, str):
        return re.sub(
            r"[0-9.]+(e[0-9]+)?", lambda number: f"{_float(number[0]) * factor:.6g}", value, count=1
        )
    return (
        (int(value * factor) if isinstance(value, int) and abs(factor) >= 1 else value * factor)
        if value
        else factor
    )


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _spec(chance: random.Random, folder: str, text: str = "") -> bytes:
    """Write a spec of a folder, or a text, changed."""
    name = chance.choice(SPECS[folder])
    tree = yaml.load(text, Loader) if text else _tree(name)
    donor_tree = _tree(chance.choice(SPECS[folder]))
    kind = chance.random()
    if kind < 0.75:
        gentle = chance.random() < 0.6
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
            tree = changed(tree, chance, donor_tree, gentle)
        text = yaml.dump(
            tree,
            Dumper=Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=200,
            default_flow_style=None,
        )
    else:
        text = text_mutated(text or SHIPPED[name], chance)
    if chance.random() < 0.05:
        return _bombed(text, chance)
    return text.encode("utf-8", "surrogatepass")


def _bombed(text: str, chance: random.Random) -> bytes:
    """Return a spec with aliases that grow, endless brackets, many keys, other encodings, missing
    line ends or random bytes.
    """
    match chance.randrange(7):
        case 0:
            levels = "\n".join(
                f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else '1'}]" for n in range(9)
            )
            text = f"{text}\n{levels}\n"
        case 1:
            text += "\nx: " + chance.choice("[{") * chance.choice((100, 5000))
        case 2:
            text += "".join(f"\nk{number}: 1" for number in range(chance.choice((500, 4000))))
        case 3:
            return text.encode(
                chance.choice(("utf-16", "utf-32", "utf-8-sig", "latin-1")), "replace"
            )
        case 4:
            text += "\n" + "- " * chance.choice((40, 2000)) + "x"
        case 5:
            text = "<<: [*a, {}]\n" + text
        case 6:
            data = bytearray(text.encode("utf-8", "surrogatepass"))
            for _ in range(chance.choice((1, 5, 50))):
                data[chance.randrange(len(data))] = chance.randrange(256)
            return bytes(data)
    return text.encode("utf-8", "surrogatepass")


# Inputs by command


def _any_spec(chance: random.Random) -> tuple[str, bytes]:
    folder = chance.choice((*SPECS, "studies"))
    return folder, _study(chance)[1] if folder == "studies" else _spec(chance, folder)


def _study(chance: random.Random) -> tuple[str, bytes]:
    head, sections = chance.choice(list(HEADS.items()))
    chosen = {
        section.partition(":")[0]: section
        for section in chance.sample(sections, chance.randint(1, 3))
    }
    text = (head + "\n".join(chosen.values())).replace("MODEL", "lock-and-bus") + "\n"
    return "studies", _spec(chance, "activities", text)


def _check(chance: random.Random) -> Input:
    kind, content = _any_spec(chance)
    return Input(kind, ("check", "spec.yaml"), "spec.yaml", content)


def _show(chance: random.Random) -> Input:
    kind, content = _any_spec(chance)
    return Input(kind, ("show", "spec.yaml"), "spec.yaml", content)


def _solved(
    command: str, options: Callable[[random.Random], Sequence[str]]
) -> Callable[[random.Random], Input]:
    def made(chance: random.Random) -> Input:
        kind = chance.choice(
            ("activities",) * 4 + ("queueing",) * 3 + ("machines", "workloads", "technologies")
        )
        content = _spec(chance, kind)
        if kind in ("activities", "queueing"):
            arguments = ["spec.yaml"]
        elif kind == "machines":
            arguments = [chance.choice(("dvsm/lock", WORKLOAD)), "--machine", "spec.yaml"]
        else:
            arguments = [
                "--machine",
                MACHINE,
                f"--{'workload' if kind == 'workloads' else 'technology'}",
                "spec.yaml",
                WORKLOAD,
            ]
            if kind == "workloads" and (
                model_name := re.search(rb"^model: *(\S+)", content, re.MULTILINE)
            ):
                arguments[-1] = model_name[1].decode("utf-8", "replace")
        return Input(kind, (command, *arguments, *options(chance)), "spec.yaml", content)

    return made


METHODS = (
    "closed-form",
    "mean-value",
    "simulation",
    "bounds",
    "exact",
    "convolution",
    "schweitzer",
    "linearizer",
    "markov-chain",
    "mean-value,simulation",
    "exact,bounds",
    "nothing",
)


CHANGED_PATHS = (
    "population.processors",
    "parameters.work",
    "classes.jobs.population",
    "a..b",
)


def _solve_options(chance: random.Random) -> list[str]:
    arguments = [] if chance.random() < 0.5 else ["--with", chance.choice(METHODS)]
    if chance.random() < 0.1:
        value = chance.choice((0, 1, 3, 1000, "1e6", "1e9", -1, "nan", "x", "1 s", "[1, 2]"))
        arguments += [
            "--set",
            f"{chance.choice(CHANGED_PATHS)}={value}",
        ]
    if chance.random() < 0.05:
        arguments += ["--timeline", chance.choice(("t.json", "t.svg"))]
    return arguments + ["--json"] * (chance.random() < 0.2)


def _run(chance: random.Random) -> Input:
    kind, content = _study(chance)
    return Input(kind, ("run", "spec.yaml", "--out", "out"), "spec.yaml", content)


def _sample(chance: random.Random, command: str) -> tuple[Path, bytes]:
    path = chance.choice(SAMPLES[command])
    content = damaged(path.read_text(errors="replace"), chance)[1]
    if chance.random() < 0.3:
        content = re.sub(
            rb"[0-9]+(\.[0-9]+)?",
            lambda number: (
                str(_scaled(_float(number[0].decode()), chance)).encode()
                if chance.random() < 0.02
                else number[0]
            ),
            content,
        )
    return path, content[: 1 << 20]


def _measured(chance: random.Random) -> Input:
    path, content = _sample(chance, "measured")
    arguments = ["--unit", "s"] * (chance.random() < 0.7)
    arguments += ["--processors", chance.choice(("4", "1", "0", "1e9", "x"))] * (
        chance.random() < 0.4
    )
    arguments += ["--time", "3 s"] * (chance.random() < 0.3)
    arguments += [
        "--format",
        chance.choice(("csv", "extra-p", "perf-stat", "pop", "osu", "profile")),
    ] * (chance.random() < 0.1)
    return Input(path.parent.name, ("measured", path.name, *arguments), path.name, content)


def _fit(chance: random.Random) -> Input:
    """Draw measurements of an invented program, changed at random, or any file of measurements."""
    if chance.random() < 0.3:
        path, content = _sample(chance, "measured")
        return Input(path.parent.name, ("fit", path.name, "--unit", "s"), path.name, content)
    runs = [2**k for k in range(chance.randint(1, 7))] * chance.randint(1, 3)
    text = "p,time [s]\n" + "".join(
        f"{p},{(1 / p + 0.02 + 0.001 * p) * chance.uniform(0.97, 1.03):.5g}\n" for p in runs
    )
    arguments = ["--at", chance.choice(("64", "64,128", "0", "1e9", "1e300", "x"))] * (
        chance.random() < 0.5
    )
    return Input("timings", ("fit", "t.csv", *arguments), "t.csv", damaged(text, chance)[1])


def _trace(chance: random.Random) -> Input:
    path, content = _sample(chance, "trace")
    arguments = ["--window", chance.choice(("5 ms", "1 ns", "0 s", "1e9 s", "x"))] * (
        chance.random() < 0.3
    )
    arguments += [
        "--view",
        chance.choice(("matrix", "concurrency", "utilization", "work")),
        "--picture",
        "p.svg",
    ] * (chance.random() < 0.1)
    return Input(
        path.suffix[1:], ("trace", path.name, "--unit", "us", *arguments), path.name, content
    )


def _import(chance: random.Random) -> Input:
    path, content = _sample(chance, "import")
    return Input(path.stem, ("import", path.name, "-o", "made.yaml"), path.name, content)


SIZES = {
    "sor": {"rows": 64, "columns": 32},
    "is": {"keys": 4096},
    "barnes": {"bodies": 64, "steps": 1},
    "sphere": {"pitch": 8},
    "water": {"molecules": 16},
    "raytrace": {"image": 16},
    "x": {"y": 1},
}
"""Programs whose counts are made, with sizes smaller than their own, which take up to a minute."""


def _counts(chance: random.Random) -> Input:
    program = chance.choice(list(SIZES))
    settings: dict[str, Any] = dict(SIZES[program])
    for _ in range(chance.randint(1, 2)):
        name = chance.choice((*settings, "processors", "page", "steps", "iterations"))
        settings[name] = chance.choice(
            (0, -1, 1.5, 3, 16, 100, 1e5, 1e6, "1e9", "1e15", "1e308", "nan", "x", "[1]", "1 s")
        )
    sets = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return Input("counts", ("counts", program, *sets))


def _new(chance: random.Random) -> Input:
    kind, content = _any_spec(chance)
    known_names = (
        "machine",
        "network",
        "workload",
        "technology",
        "trend",
        "activity",
        "queueing-network",
        "study",
        "profile",
        "x",
    )
    arguments = ["--from", "spec.yaml"] if chance.random() < 0.7 else []
    return Input(
        kind,
        ("new", chance.choice(known_names), *arguments, "-o", "made.yaml"),
        "spec.yaml",
        content,
    )


COMMANDS: dict[str, tuple[float, Callable[[random.Random], Input]]] = {
    "check": (0.22, _check),
    "solve": (0.13, _solved("solve", _solve_options)),
    "explain": (0.09, _solved("explain", lambda chance: ["--latex"] * (chance.random() < 0.5))),
    "run": (0.03, _run),
    "measured": (0.19, _measured),
    "fit": (0.02, _fit),
    "trace": (0.16, _trace),
    "import": (0.10, _import),
    "counts": (0.01, _counts),
    "show": (0.04, _show),
    "new": (0.01, _new),
    "page": (0.01, _solved("page", lambda chance: ["-o", "p.html"])),
}
"""The share of each command among the inputs, and how an input is drawn; what answers within
milliseconds is drawn more often.
"""


def drawn(seed: int, index: int, only: Sequence[str]) -> Input:
    """Draw an input; the same seed and index give the same one."""
    chance = random.Random(f"{seed} {index}")
    command_names = only or tuple(COMMANDS)
    command = chance.choices(
        command_names, [COMMANDS[command_name][0] for command_name in command_names]
    )[0]
    while True:
        try:
            return COMMANDS[command][1](chance)
        except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError):
            continue  # a change that cannot be written down, such as a number with too many digits


# Answers


def answered(inputs: Sequence[Input], folder: Path) -> list[Outcome]:
    """Run inputs in a child process, each in its own folder, and return how they ended. It stops at
    an input that ends the process.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    child = os.fork()
    if not child:
        _child(inputs, folder)
    _, code, _ = os.wait4(child, 0)
    results = [
        Outcome(**json.loads(line)) for line in (folder / "outcomes").read_text().splitlines()
    ]
    if len(results) < len(inputs) and (not results or results[-1].memory <= MEMORY):
        number = os.WTERMSIG(code) if os.WIFSIGNALED(code) else 0
        late = number in (signal.SIGPROF, signal.SIGALRM)
        output = (
            (folder / str(len(results)) / "said.txt").read_text(errors="replace") if late else ""
        )
        verdict = _late(output) if late else f"signal {number}"
        results.append(Outcome(verdict, MOST_TOLD * late, 0.0, output[-1500:]))
    return results


def _late(output: str) -> str:
    """Return the verdict on a slow command: told, if its output estimates the time."""
    return "told" if TOLD.search(output) else f"over {SECONDS:g} s"


def _child(inputs: Sequence[Input], folder: Path) -> None:
    """Run the inputs, each with a minute of processor time; the process ends at once where that
    is over, or at 1 GB.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    resource.setrlimit(resource.RLIMIT_AS, (8 * MEMORY, 8 * MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    outcomes = os.open(folder / "outcomes", os.O_CREAT | os.O_WRONLY)
    before = _peak()
    try:
        for number, case in enumerate(inputs):
            outcome = _ended(case, folder / str(number), before)
            os.write(outcomes, f"{json.dumps(asdict(outcome))}\n".encode())
            if outcome.memory > MEMORY:
                break
    finally:
        os._exit(0)


def _ended(case: Input, folder: Path, before: float) -> Outcome:
    folder.mkdir()
    os.chdir(folder)
    if case.name:
        Path(case.name).write_bytes(case.content)
    signal.setitimer(signal.ITIMER_PROF, MOST_TOLD)
    signal.alarm(600)
    start = process_time()
    with open("said.txt", "w+", encoding="utf-8") as output:
        sys.stdout = sys.stderr = output
        try:
            verdict = f"status {slipstick([word.replace(chr(0), '') for word in case.arguments])}"
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is what is looked for
            frames = traceback.extract_tb(error.__traceback__)
            last = next(
                (frame for frame in reversed(frames) if "/models/" in frame.filename), frames[-1]
            )
            verdict = (
                f"traceback {type(error).__name__} at"
                f" {last.filename.rpartition('models/')[2]}:{last.lineno}"
            )
            output.write("".join(traceback.format_exception(error)))
        seconds, memory = process_time() - start, _peak() - before
        output.seek(0)
        words = output.read()
    if verdict.startswith("status"):
        if "Traceback (most recent call last)" in words:
            verdict = "traceback printed"
        elif seconds > SECONDS:
            verdict = _late(words)
        elif memory > MEMORY:
            verdict = "over 1 GB"
    return Outcome(verdict, seconds, memory, words[-1500:])


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def smallest(case: Input, verdict: str, folder: Path, tries: int = 200) -> Input:
    """Leave out lines as long as the input breaks the promise in the same way."""
    lines, width = case.content.split(b"\n"), max(1, case.content.count(b"\n") // 2)
    while width and tries > 0:
        at = 0
        while at < len(lines) and tries > 0:
            tries -= 1
            fewer = lines[:at] + lines[at + width :]
            shorter = Input(case.kind, case.arguments, case.name, b"\n".join(fewer))
            if fewer and answered([shorter], folder)[0].verdict == verdict:
                lines = fewer
            else:
                at += width
        width //= 2
    return Input(case.kind, case.arguments, case.name, b"\n".join(lines))


@dataclass
class Found:
    """Results of some inputs: verdicts by command and by kind, the largest costs, and the broken
    promises.
    """

    verdicts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    kinds: Counter[str] = field(default_factory=Counter)
    worst: dict[str, tuple[float, int, float, int]] = field(default_factory=dict)
    broken: list[tuple[int, str]] = field(default_factory=list)

    def add(self, index: int, case: Input, outcome: Outcome) -> None:
        verdict = outcome.verdict if outcome.kept else outcome.verdict.partition(" ")[0]
        self.verdicts[case.command][verdict] += 1
        self.kinds[case.kind] += 1
        costs = (outcome.seconds, index, outcome.memory, index)
        self._worst(case.command, costs)
        if not outcome.kept:
            self.broken.append((index, outcome.verdict))

    def join(self, block: Found) -> None:
        for command, counts in block.verdicts.items():
            self.verdicts[command] += counts
            self._worst(command, block.worst[command])
        self.kinds += block.kinds
        self.broken += block.broken

    def _worst(self, command: str, costs: tuple[float, int, float, int]) -> None:
        old = self.worst.get(command, (0.0, 0, 0.0, 0))
        self.worst[command] = (*max(old[:2], costs[:2]), *max(old[2:], costs[2:]))


def block(seed: int, start: int, count: int, only: Sequence[str]) -> Found:
    """Answer some inputs."""
    result = Found()
    with tempfile.TemporaryDirectory() as folder:
        inputs = [drawn(seed, index, only) for index in range(start, start + count)]
        at = 0
        while at < count:
            for outcome in answered(inputs[at:], Path(folder) / "case"):
                if not outcome.kept:  # perhaps because of what ran before it
                    outcome = answered([inputs[at]], Path(folder) / "case")[0]
                result.add(start + at, inputs[at], outcome)
                at += 1
    return result


def warm() -> None:
    """Import what the commands import, once for all children."""
    with tempfile.TemporaryDirectory() as folder:
        for line in (
            *(
                "run lock-diagnosis --out out",
                "solve lock-and-bus",
                "solve lock-and-bus --with simulation",
                "explain tour --latex",
            ),
            *(
                "solve central-server --with exact,simulation,schweitzer,linearizer,markov-chain",
                "check my-program",
            ),
            *(
                f"solve {WORKLOAD} --machine {MACHINE}",
                "page lock-and-bus -o p.html",
                "import x -o y",
                "new machine",
            ),
            *(
                f"fit {ROOT}/specs/runs/my-program.csv --picture p.svg",
                f"trace {ROOT}/specs/runs/my-trace.json",
            ),
        ):
            with open(os.devnull, "w") as nowhere:
                streams, start_folder = (sys.stdout, sys.stderr), os.getcwd()
                sys.stdout = sys.stderr = nowhere
                os.chdir(folder)
                try:
                    slipstick(line.split())
                finally:
                    os.chdir(start_folder)
                    sys.stdout, sys.stderr = streams
    gc.freeze()  # what children share stays shared


def main() -> int:
    """Run the inputs and print what came of them."""
    options = arguments()
    os.environ.update(
        dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    )
    if options.case is not None:
        return one(options)
    start, total = perf_counter(), Found()
    recorded_blocks = recorded(options)
    pieces = []
    for at in range(0, options.inputs, BLOCK):
        count = min(BLOCK, options.inputs - at)
        if (at, count) in recorded_blocks:
            total.join(recorded_blocks[at, count])
        else:
            pieces.append((at, count))
    if options.jobs:
        with ProcessPoolExecutor(options.jobs, initializer=warm) as pool:
            blocks = [
                pool.submit(block, options.seed, at, count, options.only) for at, count in pieces
            ]
            for (at, count), future in zip(pieces, blocks, strict=True):
                block_result = future.result()
                total.join(block_result)
                record(options, at, count, block_result)
                for index, verdict in block_result.broken:
                    print(f"{verdict}: --seed {options.seed} --case {index}", flush=True)
    else:
        for at, count in pieces:
            total.join(block(options.seed, at, count, options.only))
    for command, counts in sorted(total.verdicts.items()):
        counts_in_words = ", ".join(
            f"{number:,} {verdict}" for verdict, number in sorted(counts.items())
        )
        seconds, slow, memory, large = total.worst[command]
        print(
            f"{command:8} {counts.total():7,}: {counts_in_words}; longest {seconds:.2f} s (case"
            f" {slow}),"
            f" largest {memory / 1e6:.0f} MB (case {large})"
        )
    print("kinds:", ", ".join(f"{kind} {number:,}" for kind, number in sorted(total.kinds.items())))
    print(
        f"{options.inputs:,} inputs of seed {options.seed}: {len(total.broken)} broke a promise;"
        f" {perf_counter() - start:.0f} s"
    )
    first = {verdict: index for index, verdict in reversed(total.broken)}
    for verdict, index in list(first.items())[: options.shown]:
        show(options, index, verdict)
    return 1 if total.broken else 0


def recorded(options: argparse.Namespace) -> dict[tuple[int, int], Found]:
    """Read what an earlier run found of the same seed and commands, by the first index and the
    number of inputs.
    """
    results: dict[tuple[int, int], Found] = {}
    if options.record and options.record.exists():
        for line in map(json.loads, options.record.read_text().splitlines()):
            if (line["seed"], tuple(line["only"])) == (options.seed, options.only):
                verdicts = {
                    command: Counter(counts) for command, counts in line["verdicts"].items()
                }
                worst_costs = {command: tuple(costs) for command, costs in line["worst"].items()}
                broken = [(index, verdict) for index, verdict in line["broken"]]
                results[line["first"], line["count"]] = Found(
                    verdicts, Counter(line["kinds"]), worst_costs, broken
                )
    return results


def record(options: argparse.Namespace, first: int, count: int, block: Found) -> None:
    """Store the results of a block of inputs."""
    if options.record:
        line = {
            "seed": options.seed,
            "only": options.only,
            "first": first,
            "count": count,
            **vars(block),
        }
        with options.record.open("a") as file:
            file.write(json.dumps(line) + "\n")


def show(options: argparse.Namespace, index: int, verdict: str) -> None:
    """Print an input with the fewest lines."""
    with tempfile.TemporaryDirectory() as folder:
        smallest_input = smallest(
            drawn(options.seed, index, options.only),
            verdict,
            Path(folder) / "case",
            6 if "over" in verdict else 200,
        )
        outcome = answered([smallest_input], Path(folder) / "case")[0]
    print(
        f"\n--seed {options.seed} --case {index}: {outcome.verdict}; slipstick"
        f" {' '.join(smallest_input.arguments)}"
    )
    print(smallest_input.content[:3000].decode("utf-8", "replace"))
    print("|", outcome.words.strip().replace("\n", "\n| "))


def one(options: argparse.Namespace) -> int:
    """Run one input, and print it whole if it keeps the promise."""
    warm()
    with tempfile.TemporaryDirectory() as folder:
        drawn_input = drawn(options.seed, options.case, options.only)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / (drawn_input.name or "none")).write_bytes(drawn_input.content)
        outcome = answered([drawn_input], Path(folder) / "case")[0]
    if not outcome.kept:
        show(options, options.case, outcome.verdict)
        return 1
    print(
        "slipstick"
        f" {' '.join(drawn_input.arguments)}\n"
        f"{drawn_input.content.decode('utf-8', 'replace')}\n{outcome}"
    )
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only",
        type=lambda text: tuple(text.split(",")),
        default=(),
        help="commands, as check,solve",
    )
    parser.add_argument("--case", type=int, help="the index of one input, to run and print it")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where to write the file of that input"
    )
    parser.add_argument(
        "--shown", type=int, default=20, help="broken promises to print, one of each way"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes; 0 for none but this one")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="what came of each block; it is not run again"
    )
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    if options.short:
        options.inputs, options.jobs = 24, 0
    return options


if __name__ == "__main__":
    sys.exit(main())
