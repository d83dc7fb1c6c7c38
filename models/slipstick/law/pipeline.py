"""Pipelines of identical items."""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, TIME
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, PARSONS

_ONCE = Symbol("once", TIME, "time of one item through all stages", r"\sum_s t_s")
_LONGEST = Symbol(
    "longest",
    TIME,
    "time of one item at the longest serial stage",
    r"\max_{s\,\mathrm{serial}} t_s",
)
_ITEMS = Symbol("items", COUNT, "number of items, all ready at the start", "d")
FLOW_LINE = Law(
    name="flow-line",
    title="Time of identical items through a pipeline",
    gives=Symbol("time", TIME, "time from the start until the last item has left", "T"),
    equation=lambda once=_ONCE, longest=_LONGEST, items=_ITEMS: once + (items - 1) * longest,
    holds="items >= 1 and once >= longest",
    source=f"{PARSONS}: the estimate for a diff request of several parts",
    note=(
        "the law is exact for identical items; items of different sizes need the recursion over"
        " items and stages"
    ),
    checks=(
        Check(
            (1412.42e-6, 146.24e-6, 3),
            1705e-6,
            0.5e-6,
            "Table 4, Fast Ethernet, phase I, total estimated",
        ),
        Check((10.0, 3.0, 4), 19.0, 0.0, f"{HAND}: 10 + 3 + 3 + 3"),
    ),
)
