"""NumPy, imported when something is first computed with it: files are read and checked without
its start-up time.
"""

from __future__ import annotations

from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING

__all__ = ["Array", "Late", "NDArray", "np"]


class Late:
    """A stand-in for a module, which is imported at the first use of an attribute."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        attribute = getattr(import_module(self._module), name)
        # The next access costs no more than that of an attribute of the module.
        setattr(self, name, attribute)
        return attribute


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
else:
    np = modules.get("numpy") or Late("numpy")  # one that is there already is taken as it is
    Array = object  # arrays are typed without importing NumPy

    class NDArray:
        """A stand-in for the type `numpy.typing.NDArray`."""

        def __class_getitem__(cls, item_type: object) -> type:
            return object
