"""Inputs whose outcomes are recorded: files of other tools and specs, whole and damaged, studies,
and models of the crosses of steps and of networks.

An input has a name, which tells all that is needed to build it, so that a table of names is enough
to build the inputs again. Damage is drawn from the name alone: a file that is added changes no
other input.
"""

from __future__ import annotations

import io
import json
import math
import random
import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

from slipstick import Answer, Simulation, solve
from slipstick.cli.main import main
from slipstick.errors import SlipstickError
from slipstick.expression.formula import _FUNCTIONS, read_expression
from slipstick.expression.nodes import Parameter
from slipstick.expression.tape import Tape
from slipstick.late import np
from slipstick.vocabulary import ACTIVITY, METHODS, NETWORK
from tests.agreement import HEADS
from tests.clocks import standing_clocks
from tests.every_step import every_model
from tests.measure.damage import damaged
from tests.measure.data import SAMPLES
from tests.mutations import SHIPPED, text_mutated
from tests.paired_constructs import WITH
from tests.paired_networks import network_pairs
from tests.recorded.drawn import DRAWN
from tests.recorded.further import (
    FILES_OF_HOSTS,
    commands_of_hosts,
    commands_of_shipped,
    host_of,
    laws_at_points,
    numbers_of_law,
    numbers_of_promise,
    promises,
)
from tests.recorded.generated import CREATED as GENERATED
from tests.recorded.written import written, written_names
from tests.shelf.shelf import cases

__all__ = ["Outcome", "candidates", "outcome"]

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(
    r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]*[a-zA-Z_]\w*\d)", re.IGNORECASE
)
REPEATED = re.compile(r"([^\w\s])(?: ?\1)+")
"""Lines and bars, whose length follows from numbers."""
RAW = 3
"""The status of a command that ends in an exception that is not of slipstick."""
DAMAGES, RESCALINGS = 6, 5
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "cycles": {"seed": 1, "cycles": 40, "kernel": "plain"},
    "precision": {"seed": 2, "precision": 0.3, "least": 30, "events": 3000, "kernel": "plain"},
    "replications": {"seed": 3, "cycles": 40, "replications": 3, "kernel": "plain"},
    "shares": {"seed": 4, "cycles": 30, "shares": 1, "kernel": "plain"},
    "check": {"seed": 5, "check": 1500, "kernel": "plain"},
}
"""Settings of simulations; the last is of the check of a default answer."""

SIMULATION = "simulation"


@dataclass(frozen=True)
class Outcome:
    """What came of an input.

    Attributes
    ----------
    status : 0 of an answer, or the status of the command; 2 of a refusal
    count : of the numbers in what was printed, or in the answer
    checksum : a sum over the numbers; each value, and the place where it stands, changes it
    words : a checksum of the text without its numbers
    """

    status: int
    count: int
    checksum: float
    words: str


def summed(status: int, numbers: Sequence[float], text: str = "") -> Outcome:
    """Return the outcome with a sum over logarithms of the numbers, so that a change of a millionth
    of one of them is seen, and rounding is not; and with a checksum of the words of a text.

    >>> summed(0, [1.0, 2.0]) == summed(0, [2.0, 1.0])
    False
    >>> summed(0, [1.0, -2.0]) == summed(0, [1.0, 2.0])
    False
    >>> summed(0, [], "at most 3  ms") == summed(0, [], "at most 12 ms")
    True
    >>> summed(0, [], "at most 3 ms") == summed(0, [], "at least 3 ms")
    False
    """
    total = 0.0
    for place, number in enumerate(numbers):
        weight = 1 + place * 0.6180339887498949 % 1
        magnitude = abs(number)
        if math.isnan(magnitude):
            total += 7 * weight
        elif math.isinf(magnitude):
            total += math.copysign(11 * weight, number)
        elif magnitude > 1e-13:
            total += weight * (math.log(magnitude) + 3 * (number > 0))
    words = REPEATED.sub(r"\1", NUMBER.sub("#", " ".join(text.split())))
    return Outcome(status, len(numbers), total, f"{crc32(words.encode()):08x}")


def outcome(name: str, folder: Path) -> Outcome:
    """Build an input of a name and return what comes of it.

    Parameters
    ----------
    name : of the input
    folder : the present folder, which is empty; files are put there
    """
    kind, _, rest = name.partition(" | ")
    with warnings.catch_warnings(), standing_clocks():
        warnings.simplefilter("ignore")  # as the command line does; tests make errors of warnings
        return _KINDS[kind](rest, folder)


def candidates() -> Iterator[str]:
    """Yield the names of all inputs that may be recorded."""
    for kind, listed in _LISTED.items():
        for rest in listed():
            yield f"{kind} | {rest}"


# Files of measurements and of models of other tools


@cache
def _readings() -> Mapping[str, Sequence[str]]:
    """Return the commands that read each file, by its path."""
    commands: dict[str, list[str]] = {}
    for case in cases():
        commands.setdefault(f"tests/shelf/{case.reader}/{case.file}", []).append(
            " && ".join(case.run)
        )
    for path, hints in SAMPLES.values():
        options = ""
        told = asdict(hints)
        if told.get("unit"):
            options += f" --unit {told['unit']}"
        if told.get("processors"):
            options += f" --processors {told['processors']}"
        place = str(path.relative_to(ROOT))
        commands.setdefault(place, []).append(f"measured {{file}}{options} --json")
        commands[place].append(f"measured {{file}}{options}")
        commands[place].append(f"fit {{file}}{options}")
        commands[place].append(f"measured {{file}}{options} --scalability")
    for path in sorted((ROOT / "tests/measure/imports/files").iterdir()):
        place = str(path.relative_to(ROOT))
        commands.setdefault(place, []).append(
            "import {file} -o {out}/spec.yaml && solve {out}/spec.yaml --json"
        )
    for path in sorted((ROOT / "tests/measure/traces/files").iterdir()):
        place = str(path.relative_to(ROOT))
        commands.setdefault(place, []).append("trace {file} --unit us")
        commands[place].append("trace {file} --unit us --json --window 5ms")
    return commands


def _files() -> Iterator[str]:
    for path, commands in _readings().items():
        for command in commands:
            for damage in range(DAMAGES):
                yield f"{path} | {damage} | {command}"
            for number in range(RESCALINGS):
                yield f"{path} | rescaled {number} | {command}"


def _read(rest: str, folder: Path) -> Outcome:
    path, damage, command = rest.split(" | ")
    source = ROOT / path
    content = source.read_bytes()
    text = content.decode("utf-8", "replace")
    if damage.startswith("rescaled"):
        content = _rescaled(text, random.Random(f"{path} {damage}")).encode()
    elif damage != "0":
        content = damaged(text, random.Random(f"{path} {damage}"))[1]
    (folder / source.name).write_bytes(content)
    return _printed([line.format(file=source.name, out=".") for line in command.split(" && ")])


# Specs


OF_KIND: Mapping[str, Sequence[str]] = {
    "activities": (
        *("check {file}", "explain {file}", "solve {file}"),
        *(f"solve {{file}} --json --with {method}" for method in METHODS[ACTIVITY]),
        "solve {file} --json",
        "solve {file} --all",
    ),
    "queueing": (
        *("check {file}", "explain {file}", "solve {file}"),
        *(f"solve {{file}} --json --with {method}" for method in METHODS[NETWORK]),
        "solve {file} --json",
    ),
    "": ("check {file}", "show {file}", "show {file} --json"),
}


def _specs() -> Iterator[str]:
    for name, text in SHIPPED.items():
        kind = name.partition("/")[0]
        if len(text) < 20_000 and kind != "studies":
            for command in OF_KIND.get(kind, OF_KIND[""]):
                for mutation in range(DAMAGES + 4):
                    yield f"{name} | {mutation} | {command}"


def _told(rest: str, folder: Path) -> Outcome:
    name, mutation, command = rest.split(" | ")
    return _of_text(_changed(SHIPPED[name], name, mutation), command, folder)


def _changed(text: str, name: str, mutation: str) -> str:
    if mutation == "0":
        return text
    chance = random.Random(f"{name} {mutation}")
    return text_mutated(text, chance) if int(mutation) % 2 else _rescaled(text, chance, 2)


def _rescaled(text: str, chance: random.Random, most: int = 0) -> str:
    """Change numbers by factors, a tenth of all or so many at most: mostly accepted, so that what
    comes after them is tried as well.
    """
    numbers = list(re.finditer(r"(?<![\w.])\d+(\.\d+)?", text))
    count = min(most or max(2, len(numbers) // 10), len(numbers))
    for found in sorted(chance.sample(numbers, count), key=lambda each: -each.start()):
        value = float(found[0]) * chance.choice((0, 0.5, 2, 3, 10))
        text = f"{text[: found.start()]}{value:g}{text[found.end() :]}"
    return text


def _of_text(text: str, command: str, folder: Path) -> Outcome:
    (folder / "spec.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    return _printed([line.format(file="spec.yaml") for line in command.split(" && ")])


# Studies


def _studies() -> Iterator[str]:
    for head_number, parts in enumerate(HEADS.values()):
        for index in range(len(parts)):
            for mutation in range(DAMAGES):
                yield f"{head_number} {index} | {mutation}"


def _run(rest: str, folder: Path) -> Outcome:
    place, mutation = rest.split(" | ")
    head_number, index = map(int, place.split())
    head, parts = list(HEADS.items())[head_number]
    text = f"{head}{parts[index]}\n".replace("MODEL", "model.yaml")
    (folder / "model.yaml").write_text(SHIPPED["activities/lock-and-bus"])
    text = _changed(text, place, mutation)
    return _of_text(text, "check {file} && run {file} --out out --no-html", folder)


# Models of the crosses


def _steps() -> Iterator[str]:
    for title, _ in every_model():
        for method in METHODS[ACTIVITY]:
            if method != SIMULATION:
                yield f"{title} | {method}"
        for settings in SETTINGS:
            yield f"{title} | {SIMULATION} {settings}"


def _networks() -> Iterator[str]:
    for pair in network_pairs():
        for method in METHODS[NETWORK]:
            if method != SIMULATION:
                yield f"{pair.title} | {method}"
        for settings in SETTINGS:
            yield f"{pair.title} | {SIMULATION} {settings}"


@cache
def _step_makers() -> Mapping[str, Callable[[], Any]]:
    return dict(every_model())


@cache
def _network_makers() -> Mapping[str, Callable[[], Any]]:
    return {pair.title: lambda build=pair.build: build(WITH) for pair in network_pairs()}  # type: ignore[misc]


def _solved(makers: Mapping[str, Callable[[], Any]], rest: str) -> Outcome:
    title, _, method = rest.rpartition(" | ")
    name, _, settings = method.partition(" ")
    simulation = Simulation(**SETTINGS[settings or "cycles"])
    asked = None if settings == "check" else name
    try:
        answer = solve(makers[title](), method=asked, simulation=simulation)
    except SlipstickError as error:
        return summed(2, _numbers_of(str(error)), str(error))
    names = (*answer.values, *answer.account, *answer.steps, *answer.share, *answer.gradient)
    return summed(0, list(_numbers_in(answer)), " ".join((*sorted(names), *answer.notes)))


def _numbers_in(answer: Answer) -> Iterator[float]:
    """Yield the numbers of an answer, in the order of their names."""
    for name in sorted(answer.values):
        value = answer.values[name]
        for number in (value.value, value.low, value.high):
            yield math.nan if number is None else number
    for booking in (answer.account, answer.steps):
        for name in sorted(booking):
            yield booking[name]
    for shares in (answer.share, answer.gradient):
        for name in sorted(shares):
            yield from (shares[name][parameter] for parameter in sorted(shares[name]))
    yield from _numbers_of(" ".join(answer.notes))


# Functions of formulas

RELATIONS = ("a + b * c", "a ** 3 / c", "a - b ** 2", "max(a, b, c)", "min(a, b) / c")
CALLS: Mapping[int, str] = {1: "(a)", 2: "(a, b)", 3: "(a, b, c)", 4: "(a, b, c, d)"}
VALUES = (0.0, 0.3, 0.7, 0.97, 1.0, 1.4, 2.0, 3.0, 5.0, 12.0)
POINTS = 24


def _formulas() -> Iterator[str]:
    for name, (_, operand_count) in _FUNCTIONS.items():
        if operand_count:
            yield f"{name}{CALLS[operand_count]}"
    yield from RELATIONS


def _evaluated(rest: str) -> Outcome:
    """Evaluate a formula and its slopes at points, which are drawn."""
    chance = random.Random(rest)
    names = ("a", "b", "c", "d")
    expression = read_expression(rest, {name: Parameter(name) for name in names})
    values = {
        name: np.array([chance.choice(VALUES) for _ in range(POINTS)])
        for name in names
        if re.search(rf"\b{name}\b", rest)
    }
    if rest.startswith("ceil_log"):  # of a whole number of at least 2
        values["b"] = np.floor(values["b"]) + 2
    tape = Tape([expression])
    numbers = tape.run(values)[0].tolist()
    slopes = tape.differentiate(values).derivative_by_parameter
    for name in sorted(slopes):
        numbers += slopes[name].tolist()
    return summed(0, numbers)


# What is generated

CREATED = {**GENERATED, **DRAWN}


def _created(kind: str, rest: str, folder: Path) -> Outcome:
    commands, files = (CREATED[kind][1] if kind in CREATED else written)(rest)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return _printed(commands.split(" && "))


# Hosts and what is shipped


def _calibrated(rest: str, folder: Path) -> Outcome:
    name, _, commands = rest.partition(" | ")
    for file, text in FILES_OF_HOSTS.items():
        (folder / file).write_text(text)
    with host_of(name):
        return _printed(commands.split(" && "))


def _shipped(rest: str, folder: Path) -> Outcome:
    place, mutation, commands = rest.split(" | ")
    kind, _, name = place.partition(" ")
    if kind == "study":
        (folder / "s.yaml").write_bytes(
            _changed(SHIPPED[f"studies/{name}"], place, mutation).encode("utf-8", "surrogatepass")
        )
    if kind == "trace":
        (folder / Path(name).name).write_bytes((ROOT / name).read_bytes())
        commands = commands.replace("trace f", f"trace {Path(name).name}")
    return _printed(commands.split(" && "))


# Commands


def _printed(lines: Sequence[str]) -> Outcome:
    """Run commands until one fails, and return the outcome of all."""
    numbers: list[float] = []
    status, text = 0, ""
    for line in lines:
        status, printed = _command(shlex.split(line))
        numbers += _numbers_of(printed)
        text += printed
        if status:
            break
    return summed(status, numbers, text.replace(str(Path.cwd()), "FOLDER"))


def _command(words: Sequence[str]) -> tuple[int, str]:
    if words[0] == "cat":
        path = Path(words[1])
        return 0, path.read_text("utf-8") if path.exists() else ""
    output, notes = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(notes):
        try:
            status = main(list(words))
        except SystemExit as ended:
            status = int(ended.code or 0)
        except Exception:  # noqa: BLE001  # what a user would see as a traceback
            status = RAW
    # A message names files of the project by their paths, which differ from checkout to checkout.
    printed = output.getvalue() + notes.getvalue()
    return status, printed.replace(str(ROOT), "PROJECT")


def _numbers_of(text: str) -> list[float]:
    """Return the numbers in a text: of a JSON document all its values, in their order."""
    if text.startswith(("{", "[")):
        try:
            return list(_leaves(json.loads(text)))
        except ValueError:
            pass
    return [float(found) for found in NUMBER.findall(text)]


def _leaves(document: Any) -> Iterator[float]:
    if isinstance(document, Mapping):
        for key in sorted(document):
            yield from _leaves(document[key])
    elif isinstance(document, list):
        for member in document:
            yield from _leaves(member)
    elif isinstance(document, bool | int | float):
        yield float(document)
    elif isinstance(document, str):
        yield from (float(found) for found in NUMBER.findall(document))


_LISTED: Mapping[str, Callable[[], Iterator[str]]] = {
    "file": _files,
    "spec": _specs,
    "study": _studies,
    "step": _steps,
    "network": _networks,
    "formula": _formulas,
    "host": commands_of_hosts,
    "law": laws_at_points,
    "promise": promises,
    "shipped": commands_of_shipped,
    "written": written_names,
    **{kind: names for kind, (names, _) in CREATED.items()},
}
_KINDS: Mapping[str, Callable[[str, Path], Outcome]] = {
    "file": _read,
    "spec": _told,
    "study": _run,
    "step": lambda rest, _: _solved(_step_makers(), rest),
    "network": lambda rest, _: _solved(_network_makers(), rest),
    "formula": lambda rest, _: _evaluated(rest),
    "host": _calibrated,
    "law": lambda rest, _: summed(0, numbers_of_law(rest)),
    "promise": lambda rest, _: summed(0, numbers_of_promise(rest)),
    "shipped": _shipped,
    **{kind: partial(_created, kind) for kind in (*CREATED, "written")},
}
