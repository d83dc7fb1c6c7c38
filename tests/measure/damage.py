"""Files of measurements, damaged: cut, doubled, reordered, misspelt, misencoded."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["DAMAGES", "damaged"]

SIGNS = ",;:\t|-+.eE{}[]()\"'#%\x00\x07é\ud7ff0179 nanxs\r\n"
TOKENS = (
    "nan",
    "inf",
    "-5",
    "1e999",
    "",
    "1,5",
    "sec",
    "9" * 400,
    "0x10",
    "null",
    "[]",
    "{}",
    "->",
    "%",
    "<not counted>",
)

Damage = Callable[[str, random.Random], str]


def _a_line(text: str, chance: random.Random, change: Callable[[list[str], int], object]) -> str:
    lines = text.split("\n")
    change(lines, chance.randrange(len(lines)))
    return "\n".join(lines)


def _cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text))]


def _line_lost(text: str, chance: random.Random) -> str:
    return _a_line(text, chance, lambda lines, at: lines.pop(at))


def _line_twice(text: str, chance: random.Random) -> str:
    return _a_line(text, chance, lambda lines, at: lines.insert(at, lines[at]))


def _lines_swapped(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _sign(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chance.choice(SIGNS) + text[at + chance.randrange(2) :]


def _token(text: str, chance: random.Random) -> str:
    """Put something else in the place of a number or a word."""
    words = [at for at in range(len(text)) if text[at].isalnum() and not text[at - 1].isalnum()]
    if not words:
        return text
    at = chance.choice(words)
    end = at
    while end < len(text) and (text[end].isalnum() or text[end] == "."):
        end += 1
    return text[:at] + chance.choice(TOKENS) + text[end:]


def _other_delimiter(text: str, chance: random.Random) -> str:
    return text.replace(chance.choice(",;"), chance.choice(";,\t|"))


def _other_delimiter_once(text: str, chance: random.Random) -> str:
    return text.replace(chance.choice(",;:"), chance.choice(";|"), chance.randrange(1, 5))


def _line_ends(text: str, chance: random.Random) -> str:
    return text.replace("\n", chance.choice(("\r\n", "\r", "\n\n", " \n")))


DAMAGES: dict[str, Damage] = {
    "cut": _cut,
    "line lost": _line_lost,
    "line twice": _line_twice,
    "lines swapped": _lines_swapped,
    "sign": _sign,
    "token": _token,
    "delimiter": _other_delimiter,
    "one delimiter": _other_delimiter_once,
    "line ends": _line_ends,
}


def damaged(text: str, chance: random.Random) -> tuple[str, bytes]:
    """Damage a text in one to three ways; give the ways and what is left, in UTF-8 or something
    else.
    """
    ways = chance.choices(list(DAMAGES), k=chance.randrange(1, 4))
    for way in ways:
        text = DAMAGES[way](text, chance) if text else text
    encoding = chance.choice(("utf-8",) * 8 + ("utf-16", "utf-8-sig"))
    return ", ".join([*ways, encoding]), text.encode(encoding, "replace")
