"""Specs made wrong: at random, to see what the loader does with anything, and by one fault at a
known line.

The tests take a sample; ``benchmarks/specs.py`` the full numbers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter

from slipstick.errors import SpecError
from slipstick.schema.text import Entry, Listing, Node, Scalar, Table, read_text
from slipstick.study.check import check_file
from tests.payloads import PAYLOADS

__all__ = [
    "FAULTS",
    "SHIPPED",
    "Outcome",
    "Planted",
    "checked",
    "mutated",
    "planted",
    "planted_lines",
    "text_mutated",
]

SHIPPED: dict[str, str] = {
    f"{path.parent.name}/{path.stem}": path.read_text()
    for path in sorted((Path(__file__).parent.parent / "specs").rglob("*.yaml"))
}
"""Every shipped spec, by folder and name."""

SIGNS = ":-[]{},'\"#&*!|>?%@`<~=. \n\t\r\\\0\x85é\ud800\ufeff0179eunxs"
TOKENS = (
    *(
        "no",
        "1e3",
        "12:30",
        "017",
        ".nan",
        "-.inf",
        "nan",
        "inf",
        "-1 us",
        "5",
        "0",
        "-0.0",
        "1e-320 s",
        "1e308 s",
    ),
    *(
        "null",
        "~",
        "''",
        "[]",
        "{}",
        "[[]]",
        "{a: {b: {}}}",
        "&a",
        "*a",
        "<<",
        "!!int",
        "1e400",
        "9" * 18,
        "9" * 30,
    ),
    *(
        "5 us",
        "4 KiB",
        "3 B/s",
        "50%",
        "5 us/us",
        "1 / 0",
        "max()",
        "(((",
        "work * work",
        "machine.processors.count",
    ),
    *(
        "{from: 1, to: 9, step: 0}",
        "{from: 1, to: 1e9, step: 1}",
        "{from: -1e308, to: 1e308, count: 3}",
    ),
    *(
        "{from: 1 us, to: 2 B, count: 3}",
        "{from: 1, to: 1000000, count: 1000000}",
        "[1, us, 3 s, {value: 2}]",
    ),
    *(
        "{value: 3 us, source: me}",
        "{value: 3 us, sorce: me}",
        "{value: }",
        "{value: [1]}",
        "x.yaml",
        "../x.yaml",
        "/",
    ),
    *(
        "extends: ",
        "use: [",
        "axes: ",
        "base",
        "time",
        "limit[diffs]",
        "true",
        "True",
        "1",
        "2",
        "x" * 300,
        "a.b",
        "a b",
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of checking a text.

    Parameters
    ----------
    kind : ``valid``, ``refused``, ``without a line`` or ``traceback``
    lines : of the problems in the text itself
    words : what was said
    seconds : how long it took [s]
    """

    kind: str
    lines: frozenset[int]
    words: str
    seconds: float


def checked(text: str, path: Path) -> Outcome:
    """Write a text to a file and check it as the command line does."""
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    start = perf_counter()
    try:
        check_file(path)
    except SpecError as error:
        lines = frozenset(each.line for each in error.problems if each.file == str(path))
        last = len(re.split("\r\n|[\n\r\x85]", text)) + 1
        placed = all(
            min(each.line, each.column) >= 1 and Path(each.file).is_file()
            for each in error.problems
        )
        placed = placed and bool(error.problems) and all(line <= last for line in lines)
        return Outcome(
            "refused" if placed else "without a line", lines, str(error), perf_counter() - start
        )
    except Exception as error:  # noqa: BLE001  # a traceback is what is looked for
        return Outcome(
            "traceback", frozenset(), f"{type(error).__name__}: {error}", perf_counter() - start
        )
    return Outcome("valid", frozenset(), "", perf_counter() - start)


# Mutations at random


def mutated(chance: random.Random, longest: int = 1 << 20) -> tuple[str, str]:
    """Draw a shipped spec of at most so many characters and change it in one to four places. Return
    its name and the new text.
    """
    name = chance.choice([name for name, text in SHIPPED.items() if len(text) <= longest])
    return name, text_mutated(SHIPPED[name], chance)


def text_mutated(text: str, chance: random.Random) -> str:
    """Change a text in one to four places."""
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(_MUTATIONS)(text, chance)
    return text


def _signs(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    new = "".join(chance.choices(SIGNS, k=chance.randint(0, 3)))
    return text[:at] + new + text[at + chance.randint(0, 4) :]


def _lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(to, lines[at])
        case 2:
            lines[at], lines[to] = lines[to], lines[at]
        case 3:
            lines[at] = " " * chance.randint(0, 6) + lines[at].lstrip()
        case 4:
            del lines[min(at, to) : min(at, to) + chance.randint(1, 20)]
    return "\n".join(lines)


_TOKEN = re.compile(r"[^\s\[\]{},:]+")


def _tokens(text: str, chance: random.Random) -> str:
    found = list(_TOKEN.finditer(text))
    if not found:
        return text
    one, other = chance.choice(found), chance.choice(found)
    new = chance.choice(
        (
            other[0],
            chance.choice(TOKENS),
            chance.choice(TOKENS),
            chance.choice(PAYLOADS),
            one[0] + "x",
        )
    )
    return text[: one.start()] + new + text[one.end() :]


def _numbers(text: str, chance: random.Random) -> str:
    found = list(re.finditer(r"[0-9.]+", text))
    if not found:
        return text
    one = chance.choice(found)
    new = chance.choice(
        ("-1", "0", "1e9", "1e300", "1e-300", "0.5", "7", "1000000", "", "08", "1e400")
    )
    return text[: one.start()] + new + text[one.end() :]


def _bytes(text: str, chance: random.Random) -> str:
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)
    return data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()


_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _signs,
    _lines,
    _tokens,
    _tokens,
    _numbers,
    _bytes,
)


# One fault at a known line


@dataclass(frozen=True, slots=True)
class Planted:
    """A spec with one fault.

    Parameters
    ----------
    kind : of fault
    name : of the spec
    line : where it is
    text : the spec
    """

    kind: str
    name: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class _Spot:
    """A key with its value, or an item of a list, as it stands in the text."""

    path: tuple[str | int, ...]
    entry: Entry

    @property
    def key(self) -> str:
        """The nearest key above: an item of a list goes by its list's."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), "")

    @property
    def parent(self) -> str:
        parts = [part for part in self.path if isinstance(part, str)]
        return parts[-2] if len(parts) > 1 else ""

    @property
    def scalar(self) -> Scalar | None:
        return (
            self.entry.node
            if isinstance(self.entry.node, Scalar) and not self.entry.node.quoted
            else None
        )


_NAMED_BY_USER = (
    "groups",
    *("sources", "cases", "vary", "ranges", "slips", "stack", "resources", "parameters"),
    *("classes", "chains", "stations", "waits", "events", "locks", "barriers", "seek", "changes"),
)
_LISTED = (
    "medium",
    "kind",
    "spacing",
    "log",
    "discipline",
    "lock",
    "combine",
    "distribution",
    "fully",
    "partly",
)
_REFERENCES = (
    "trend",
    "trends",
    "network",
    "machine",
    "model",
    "extends",
    "sweep",
    "cases",
    "columns",
    "use",
    "service",
    "hold",
    "case",
)
_QUANTITY = re.compile(r"[0-9.]+ [A-Za-z/]+")
_NUMBER = re.compile(r"[0-9.]+( [A-Za-z/]+)?")


def planted(chance: random.Random) -> Planted:
    """Draw a kind of fault and plant one, on a random line of a random spec."""
    while True:
        kind, name = chance.choice(list(FAULTS)), chance.choice(list(SHIPPED))
        if kind == "wrong name" and name.startswith("fitted/"):
            continue  # what a fit is of is a note, as a file of the user may be
        spots = [spot for spot in _spots_of(name) if FAULTS[kind][0](spot)]
        chance.shuffle(spots)
        for spot in spots:
            made = FAULTS[kind][1](SHIPPED[name], spot, chance)
            if made is not None:
                return Planted(kind, name, *made)


def planted_lines(fault: Planted, outcome: Outcome) -> bool:
    """Return whether a fault was refused and reported at its own line only."""
    return outcome.kind == "refused" and outcome.lines == {fault.line}


def _spots(node: Node, path: tuple[str | int, ...] = ()) -> Iterator[_Spot]:
    match node:
        case Table():
            for key, entry in node.entries.items():
                yield _Spot((*path, key), entry)
                yield from _spots(entry.node, (*path, key))
        case Listing():
            for index, item in enumerate(node.items):
                yield _Spot((*path, index), Entry(item.mark, item))
                yield from _spots(item, (*path, index))
        case Scalar():
            pass


_Made = tuple[int, str] | None


def _put(text: str, spot: _Spot, new: str, at_key: bool = False) -> _Made:
    """Put a text in the place of a value or key that stands whole on its line."""
    lines = text.split("\n")
    mark = spot.entry.key_mark if at_key else spot.entry.node.mark
    old = str(spot.path[-1]) if at_key else (spot.scalar.text if spot.scalar else "")
    line, at = lines[mark.line - 1], mark.column - 1
    if not old or not line.startswith(old, at):
        return None
    lines[mark.line - 1] = line[:at] + new + line[at + len(old) :]
    return mark.line, "\n".join(lines)


def _misspelt(text: str, spot: _Spot, chance: random.Random) -> _Made:
    key = str(spot.path[-1])
    at = chance.randrange(len(key))
    new = chance.choice(
        (key[:at] + key[at + 1 :], key[:at] + "x" + key[at:], key[:at] + key[at] + key[at:])
    )
    return (
        _put(text, spot, new, at_key=True)
        if new and new != key and not new.endswith((".", "-"))
        else None
    )


def _inserted(text: str, spot: _Spot, chance: random.Random) -> _Made:
    lines, mark = text.split("\n"), spot.entry.key_mark
    # A bracket that goes on from the line before would be broken, and told at its beginning.
    is_in_bracket = mark.line > 1 and lines[mark.line - 2].rstrip().endswith(",")
    if lines[mark.line - 1][: mark.column - 1].strip() or is_in_bracket:
        return None
    lines.insert(
        mark.line - 1,
        " " * (mark.column - 1) + chance.choice(("zzz: 1", "zzz: true", "zzz: {a: 5}")),
    )
    return mark.line, "\n".join(lines)


def _doubled(text: str, spot: _Spot, chance: random.Random) -> _Made:
    lines, mark = text.split("\n"), spot.entry.key_mark
    line = lines[mark.line - 1]
    before, whole = line[: mark.column - 1], line[mark.column - 1 :]
    if (
        before.strip(" -")
        or not isinstance(spot.entry.node, Scalar)
        or whole.rstrip().endswith((":", ">-", "|"))
    ):
        return None
    lines.insert(mark.line, " " * (mark.column - 1) + whole)
    return mark.line + 1, "\n".join(lines)


def _valued(
    change: Callable[[str, random.Random], str | None],
) -> Callable[[str, _Spot, random.Random], _Made]:
    def made(text: str, spot: _Spot, chance: random.Random) -> _Made:
        new = change(spot.scalar.text, chance) if spot.scalar else None
        return _put(text, spot, new) if new is not None else None

    return made


def _other_unit(old: str, chance: random.Random) -> str:
    number, unit = old.split()
    return f"{number} {'s' if unit.endswith('B') else 'B'}"


def _mistyped(old: str, chance: random.Random) -> str:
    at = chance.randrange(len(old))
    return old[:at] + "qx" + old[at + 1 :]


def _is_key(spot: _Spot) -> bool:
    return isinstance(spot.path[-1], str) and spot.parent not in _NAMED_BY_USER


def _is_number(spot: _Spot) -> bool:
    return bool(
        spot.scalar
        and _NUMBER.fullmatch(spot.scalar.text)
        and spot.key not in ("title", "source", "text", "device")
    )


def _is_quantity(spot: _Spot) -> bool:
    # A parameter may be a quantity of any kind; what is wrong with it shows where it is used.
    # Values of what a paper does not print may be labels of files.
    return bool(
        _is_number(spot)
        and spot.scalar
        and _QUANTITY.fullmatch(spot.scalar.text)
        and spot.path[0] not in ("parameters", "unpublished")
        and not str(spot.path[-1]).startswith("parameters.")
    )


def _is_reference(spot: _Spot) -> bool:
    under = spot.path[0] in ("cycle", "resources")
    return bool(spot.scalar and (spot.key in _REFERENCES or (spot.key == "barrier" and under)))


def _is_value(spot: _Spot) -> bool:
    return spot.scalar is not None


FAULTS: dict[str, tuple[Callable[[_Spot], bool], Callable[[str, _Spot, random.Random], _Made]]] = {
    "misspelt key": (_is_key, _misspelt),
    "unknown key": (
        lambda spot: isinstance(spot.path[-1], str) and spot.parent != "parameters",
        _inserted,
    ),
    "duplicate key": (lambda spot: isinstance(spot.path[-1], str), _doubled),
    "missing unit": (_is_quantity, _valued(lambda old, _: old.split()[0])),
    "wrong unit": (_is_quantity, _valued(_other_unit)),
    "no such unit": (_is_quantity, _valued(lambda old, _: old + "x")),
    "text for a number": (
        _is_number,
        _valued(lambda old, chance: chance.choice(("some text", "many", "3 three us"))),
    ),
    "negative": (
        _is_quantity,
        _valued(lambda old, _: f"-{old}" if re.search("[1-9]", old) else None),
    ),
    "not in the list": (lambda spot: spot.key in _LISTED, _valued(_mistyped)),
    "wrong name": (_is_reference, _valued(_mistyped)),
    "wrong type": (
        _is_value,
        _valued(lambda _, chance: chance.choice(("[1, [2]]", "{a: 1}", "[]"))),
    ),
    "not finite": (
        _is_value,
        _valued(lambda _, chance: chance.choice((".nan", ".inf", "-.Inf", "1e400"))),
    ),
    "leading zero": (_is_number, _valued(lambda old, _: f"0{old}" if old.isdigit() else None)),
    "anchor": (_is_value, _valued(lambda old, _: f"&a {old}")),
}
"""Kinds of fault: where one can be planted, and how; the planter gives the line and the text, or
nothing.
"""


@cache
def _spots_of(name: str) -> Sequence[_Spot]:
    return list(_spots(read_text(SHIPPED[name], name)))
