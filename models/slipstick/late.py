"""NumPy, imported when something is first computed with it: files are read and checked without its start-up time."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Array", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
else:
    Array = object  # an array is typed without importing NumPy

    class _Late:
        """Stands for the module until an attribute of it is asked for."""

        def __getattr__(self, name: str) -> object:
            import numpy

            return getattr(numpy, name)

    np = _Late()
