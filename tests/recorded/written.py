"""Commands and files that other tests write, so that all that comes of them is recorded.

The tests look at a part of it. They are copies: what they hold stays as it is when the tests are
changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["written", "written_names"]


@cache
def _read() -> Mapping[str, Any]:
    texts: Mapping[str, Any] = json.loads(
        Path(__file__).with_name("written.json").read_text("utf-8")
    )
    return texts


def written_names() -> Iterator[str]:
    """Yield the names of all inputs, which tell the module and the test."""
    yield from _read()


def written(name: str) -> tuple[str, Mapping[str, str]]:
    """Return the commands of an input, and its files by their names."""
    return _read()[name]["commands"], _read()[name]["files"]
