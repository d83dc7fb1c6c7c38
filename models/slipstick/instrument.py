"""Timed locks, barriers, monitors, pools and loops for programs of your own, and the recorder: see
`slipstick_measure.instrument`.

They measure and compute nothing, so they are kept with what reads measurements, and are found here
when they are asked for.
"""

from typing import Any

from slipstick.extensions import import_object


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return import_object(f"slipstick_measure.instrument:{name}")
