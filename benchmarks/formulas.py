"""Fuzz the reader of formulas: whatever the text, a tree or a FormulaError, at once.

Byte mutation finds what the tokenizer did not expect; texts made by the grammar find what takes
long. What is accepted is written, read again and evaluated: both must give the same bits.

Run ``python benchmarks/formulas.py --mutated 500000 --generated 200000`` for the figures of a
release; the exit status is 1 if anything but a FormulaError came out, a text took too long, or a
tree read back differently.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from time import perf_counter
from types import FrameType

from slipstick.errors import FormulaError, ModelError
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    TIME,
    TIME_PER_BYTE,
    Expr,
    Number,
    Parameter,
    walk,
)
from slipstick.expression.tape import Tape
from slipstick.schema.kinds.quantity import read_condition, read_expression

PARAMETERS = [
    Parameter("parts", COUNT, 3.0),
    Parameter("n", COUNT, 0.7),
    Parameter("tree.radix", COUNT, 36.0),
    Parameter("t", TIME, 9e-3),
    Parameter("fault.per_page", TIME, 1.7e-5),
    Parameter("bytes", BYTES, 4120.0),
    Parameter("gap", TIME_PER_BYTE, 8e-8),
]
KNOWN: dict[str, Expr] = {each.name: each for each in PARAMETERS}
NUMBERS = [
    "0",
    "1",
    "2",
    "8",
    "64",
    "4096",
    "1.5",
    ".25",
    "1e3",
    "2.5E-3",
    "1e308",
    "5e-324",
    "017",
    "9999999999",
]
SEEDS = [
    "ceil(bytes / 4096 B) * fault.per_page + gap * bytes",
    "max(t, parts * fault.per_page, 0) / (parts - 1)",
    "t * (1 - n) ** -2 + ceil_log(parts, tree.radix) * fault.per_page",
    "2 ** -1 * log2(parts) - sqrt(1e3) / .5 + min(n, 1)",
    "1 <= parts < 8 and bytes <= 4 KiB and t > 3 ms",
    "select(bytes, 4 KiB, t, 2 * t) != 0 and n == 0.7",
]
SECONDS = 3.0


class Late(BaseException):
    """A text took longer than the alarm; not an Exception, so that nobody catches it in passing."""


def main() -> int:
    """Run both kinds of fuzz and the timing of the seeds; print the counts."""
    options = arguments()
    chance = random.Random(options.seed)
    signal.signal(signal.SIGALRM, ring)
    counts: dict[str, Counter[str]] = {}
    for kind, texts in (
        ("mutated", islice(mutated(chance), options.mutated)),
        ("generated", islice(generated(chance), options.generated)),
    ):
        counts[kind] = report(kind, texts)
    for seed in SEEDS:
        print(f"{microseconds(reader_of(seed), seed, 1 if options.short else 500):8.1f} us  {seed}")
    return int(
        any(
            count[failure]
            for count in counts.values()
            for failure in ("traceback", "over time", "differs")
        )
    )


def arguments() -> argparse.Namespace:
    """Read the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutated", type=int, default=60_000, help="byte-mutated texts")
    parser.add_argument("--generated", type=int, default=20_000, help="texts made by the grammar")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    if options.short:
        options.mutated = options.generated = 100
    return options


def ring(number: int, frame: FrameType | None) -> None:
    """Interrupt a text that takes too long."""
    raise Late


def report(kind: str, texts: Iterator[str]) -> Counter[str]:
    """Try each text, print and return the counts."""
    count: Counter[str] = Counter()
    slowest, start = 0.0, perf_counter()
    for text in texts:
        start_of_text = perf_counter()
        count[outcome(text)] += 1
        slowest = max(slowest, perf_counter() - start_of_text)
    print(
        f"{kind}: {sum(count.values())} texts in {perf_counter() - start:.1f} s, slowest"
        f" {1000 * slowest:.1f} ms"
    )
    for name in ("accepted", "refused", "traceback", "over time", "differs"):
        print(f"{count[name]:8d} {name}")
    return count


def outcome(text: str) -> str:
    """Read one text as an expression and as a condition, write both and read them back. Return the
    result in a word.
    """
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        results = {tried(text, reader) for reader in (read_back, read_condition)}
    except Late:
        print(f"over time: {text[:200]!r}")
        return "over time"
    except Exception as error:  # noqa: BLE001
        print(f"{type(error).__name__}: {text[:200]!r}")
        return "traceback"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return next(word for word in ("differs", "accepted", "refused") if word in results)


def tried(text: str, reader: Callable[[str, dict[str, Expr]], object]) -> str:
    """Read one text in one way."""
    try:
        result = reader(text, KNOWN)
    except FormulaError:
        return "refused"
    return "differs" if result is None else "accepted"


def read_back(text: str, expressions: dict[str, Expr]) -> Expr | None:
    """Read an expression that was written; None if its text reads as a different one."""
    tree = read_expression(text, expressions)
    written_text = repr(tree)
    if len(written_text) > 4096 or any(
        isinstance(node, Number) and loses(node) for node in walk(tree)
    ):
        return tree
    again = read_expression(written_text, expressions)
    return tree if evaluated(again) == evaluated(tree) and repr(again) == written_text else None


def evaluated(tree: Expr) -> bytes:
    """Return the bits of the value; none where a radix turns out to be none, which only evaluation
    can tell.
    """
    try:
        return Tape([tree]).run({})[0].tobytes()
    except ModelError:
        return b""


def loses(number: Number) -> bool:
    """Return whether text leaves out something of a number: its unit, or the sign of zero."""
    return number.dimension != COUNT or repr(number.value) == "-0.0"


def mutated(chance: random.Random) -> Iterator[str]:
    """Yield good texts with a few bytes changed, dropped, doubled or moved."""
    while True:
        text = bytearray(chance.choice(SEEDS).encode())
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text) + 1)
            other_place = chance.randrange(len(text) + 1)
            text[at : at + chance.randint(0, 2)] = chance.choice(
                [
                    bytes([chance.randrange(256)]),
                    b"",
                    text[other_place : other_place + chance.randint(1, 8)],
                    b"*",
                    b"(",
                    b")",
                    b" ",
                ]
            )
        yield text.decode("utf-8", errors="replace")


def generated(chance: random.Random) -> Iterator[str]:
    """Yield texts that the grammar allows, large ones and towers of powers among them."""
    while True:
        text = expression(chance, chance.randint(0, 9))
        if chance.random() < 0.3:
            text = f"{text} {chance.choice(['<', '<=', '==', '!='])} {expression(chance, 3)}"
        yield text


def expression(chance: random.Random, depth: int) -> str:
    """Make one text of the grammar."""
    if depth == 0:
        return chance.choice(
            [
                *KNOWN,
                *NUMBERS,
                f"{chance.choice(NUMBERS)} {chance.choice(['B', 'KiB', 'page', 'ms'])}",
            ]
        )

    def inner() -> str:
        return expression(chance, chance.randint(0, depth - 1))

    kind = chance.randrange(12)
    if kind < 5:
        signs = chance.choice(["+", "-", "*", "/", "+-*/"])
        return inner() + "".join(
            f" {chance.choice(signs)} {inner()}" for _ in range(chance.randint(1, 3))
        )
    if kind < 7:
        return f"({inner()})"
    if kind == 7:
        return f"{chance.choice('+-')}{inner()}"
    if kind == 8:
        return (
            f"({inner()}) ** {chance.choice(['2', '-3', '64', '2 ** 3', '9 ** 9', f'({inner()})'])}"
        )
    name = chance.choice(["max", "min", "ceil", "floor", "log2", "sqrt", "ceil_log", "select"])
    argument_count = {"max": chance.randint(1, 6), "min": 2, "ceil_log": 2, "select": 4}.get(
        name, 1
    )
    return f"{name}({', '.join(inner() for _ in range(argument_count))})"


def reader_of(text: str) -> Callable[[str, dict[str, Expr]], object]:
    """Choose the reader a seed is for."""
    return read_condition if any(sign in text for sign in "<>=") else read_expression


def microseconds(reader: Callable[[str, dict[str, Expr]], object], text: str, times: int) -> float:
    """Time one text: the best of a few rounds."""
    best = float("inf")
    for _ in range(5):
        start = perf_counter()
        for _ in range(times):
            reader(text, KNOWN)
        best = min(best, (perf_counter() - start) / times)
    return 1e6 * best


if __name__ == "__main__":
    sys.exit(main())
