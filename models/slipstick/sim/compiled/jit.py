"""The compiler, where it is installed: functions written for it stay plain Python where it is not.

Compiled code is kept in a directory named after the text of these modules, as numba itself looks only at
the file of the outermost function when it decides whether what it kept is still good.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["AVAILABLE", "compiled", "inlined"]

AVAILABLE = find_spec("numba") is not None

F = TypeVar("F", bound=Callable[..., Any])


def _place() -> str:
    text = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text.update(path.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "slipstick" / f"loop-{text.hexdigest()[:16]}")


def compiled(function: F) -> F:
    """Compile a function, and keep what came of it for the next process.

    Without reference counts (`_nrt`): nothing is allocated, and counting forty tables at every inlined call
    makes the loop forty times slower.
    """
    if not AVAILABLE:
        return function
    numba = import_module("numba")
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or _place()
    try:
        made: F = numba.njit(cache=True, _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = before
    return made


def inlined(function: F) -> F:
    """Compile a function into each that calls it."""
    if not AVAILABLE:
        return function
    made: F = import_module("numba").njit(forceinline=True, _nrt=False)(function)
    return made
