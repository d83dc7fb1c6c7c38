"""NumPy, imported when something is first computed with it, and regular expressions, compiled at
their first use: files are read and checked without this start-up time.
"""

from __future__ import annotations

import re
from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING

__all__ = ["Array", "Late", "NDArray", "late_pattern", "np"]


class Late:
    """A stand-in for a module, which is imported at the first use of an attribute."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        attribute = getattr(import_module(self._module), name)
        # The next access costs no more than that of an attribute of the module.
        setattr(self, name, attribute)
        return attribute


class LatePattern:
    """A stand-in for a regular expression, which is compiled at the first use of an attribute."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._arguments = text, flags

    def __getattr__(self, name: str) -> object:
        attribute = getattr(re.compile(*self._arguments), name)
        # The next access costs no more than that of an attribute of the expression.
        setattr(self, name, attribute)
        return attribute


if TYPE_CHECKING:
    from re import compile as late_pattern

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
else:
    late_pattern = LatePattern
    np = modules.get("numpy") or Late("numpy")  # one that is there already is taken as it is
    Array = object  # arrays are typed without importing NumPy

    class NDArray:
        """A stand-in for the type `numpy.typing.NDArray`."""

        def __class_getitem__(cls, item_type: object) -> type:
            return object
