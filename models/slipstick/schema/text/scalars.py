"""What a plain YAML text stands for, by the YAML 1.2 core schema, and what is refused."""

from __future__ import annotations

import re

__all__ = ["NULLS", "meaning", "short"]

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
MOST_DIGITS = 18

_BOOLS = {text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")}
_DECIMAL = re.compile(r"([-+]?)0*([0-9]+)")
_RADIX = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)


def meaning(text: str) -> tuple[str | int | float | bool | None, str]:
    """Give what a text without quotes stands for, and what is wrong with it, if anything.

    >>> [meaning(text)[0] for text in ("0x10", "1e3", "TRUE", "~", "no", "12:30")]
    [16, 1000.0, True, None, 'no', '12:30']
    >>> meaning("08")[1]
    "'08' is ambiguous; write 8"
    """
    if text in NULLS:
        return None, ""
    if text in _BOOLS:
        return _BOOLS[text], ""
    if text[0] not in "+-.0123456789":
        return text, ""
    if number := _DECIMAL.fullmatch(text):
        return _whole(text, number[1], number[2])
    if _RADIX.fullmatch(text):
        value = int(text, 0)
        return value, _too_long(text) if value >= 10**MOST_DIGITS else ""
    if _NOT_FINITE.fullmatch(text):
        return text, f"{short(text)} is not a finite number; write one, or put quotes around text"
    return _fraction(text) if _FLOAT.fullmatch(text) else (text, "")


def short(text: str) -> str:
    """Quote what somebody wrote, in 60 characters at most.

    >>> short("ab" * 5000)
    "'abababababababababababababababababababababababababababab..."
    """
    quoted = repr(text[:60])
    return quoted if len(quoted) <= 60 else f"{quoted[:57]}..."


def _whole(text: str, sign: str, digits: str) -> tuple[int, str]:
    if len(digits) > MOST_DIGITS:
        return 0, _too_long(text)
    if len(text) > len(sign + digits):
        octal = "" if sign or set(digits) & {"8", "9"} else f" or 0o{digits}"
        return 0, f"{short(text)} is ambiguous; write {sign}{digits}{octal}"
    return int(text), ""


def _too_long(text: str) -> str:
    return f"{short(text)} is an integer of more than {MOST_DIGITS} digits; write it as in 1e20, or quote it as text"


def _fraction(text: str) -> tuple[float, str]:
    value = float(text)
    vanished = value == 0 and re.search("[1-9]", re.split("[eE]", text)[0])
    if vanished or value in (float("inf"), float("-inf")):
        way = "underflows" if vanished else "overflows"
        return value, f"{short(text)} {way} a double; write 0, or a size from 5e-324 to 1.7e308"
    return value, ""
