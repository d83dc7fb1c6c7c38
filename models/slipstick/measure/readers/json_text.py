"""JSON in which every number is still text and knows its line, so that a wrong one can be named where it stands."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from slipstick.measure.readers.reading import Reading

__all__ = ["Number", "parse_json"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(-?[0-9][-+0-9.eE]*|NaN|-?Infinity)', re.DOTALL)


class Number(str):
    """A number as written, with its line."""

    __slots__ = ("line",)
    line: int


def parse_json(reading: Reading, text: str, first: int = 1) -> Any:
    """Parse JSON; a key that stands twice is refused, for one of its values would be lost.

    Parameters
    ----------
    reading : for problems
    text : the document
    first : line of the file on which it begins

    Raises
    ------
    SpecError : this is no JSON
    """
    # The parser meets numbers in the order of the text, and so does the pattern.
    ends = [match.start() for match in re.finditer("\n", text)]
    lines = iter([first + bisect_right(ends, match.start()) for match in _TOKEN.finditer(text) if match[1] is not None])

    def number(written: str) -> Number:
        made = Number(written)
        made.line = next(lines, first)
        return made

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                reading.refuse(first, key[:60], "this key stands twice in one object; its values would hide each other")
            made[key] = value
        return made

    try:
        return json.loads(text, parse_float=number, parse_int=number, parse_constant=number, object_pairs_hook=table)
    except json.JSONDecodeError as error:
        reading.refuse(first + error.lineno - 1, "", f"this is no JSON: {error.msg}, at character {error.colno}")
    except RecursionError:
        reading.refuse(first, "", "this is nested too deeply to be a table of measurements")
