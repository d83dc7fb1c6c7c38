"""Kinds of models that are fitted: curves, and mechanisms with unknown demands.

All of them speak of one work. Shared by all processors (`Timings.each` false), p processors need W(p) processor
seconds for it, and the time is W(p) / p; where every processor has a work of its own, the time is W(p) itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from slipstick.errors import NoAnswerError, UnknownNameError
from slipstick.measure.fit.curves import amdahl, latency, phase_barrier, power_log, usl
from slipstick.measure.fit.forms import Family, Form
from slipstick.measure.fit.queue import closed_queue
from slipstick.measure.fit.timings import Timings

__all__ = ["FAMILIES", "family_called"]

_MVA = "Reiser, Lavenberg, J. ACM 27(2), 1980"


def _family(
    name: str, title: str, source: str, forms: Callable[[Timings], Iterator[Form]], sized: bool = False
) -> Family:
    """Make a family; where its forms have no size in them (`sized`), it fits the timings of one size only."""

    def of(timings: Timings) -> list[Form]:
        if timings.sized and not sized:
            count = len(set(timings.n.tolist()))
            raise NoAnswerError(
                f"the data have {count} sizes, and this family knows none; fit the runs of one (--size)"
            )
        return list(forms(timings))

    return Family(name, title, source, of)


FAMILIES: Mapping[str, Family] = {
    each.name: each
    for each in (
        _family("amdahl", "Amdahl's law", "Amdahl, AFIPS 1967", amdahl),
        _family("usl", "the universal scalability law", "Gunther, Guerrilla Capacity Planning, 2007", usl),
        _family("queue-1", "a closed queue: work outside, one station inside", _MVA, closed_queue(1)),
        _family("queue-2", "a closed queue: work outside, two stations inside", _MVA, closed_queue(2)),
        _family(
            "phase-barrier",
            "phases of random work between barriers",
            "David, Nagaraja, Order Statistics, 2003",
            phase_barrier,
        ),
        _family(
            "latency",
            "useful work and an average latency in powers and logarithms",
            "Scale-Graph, IEEE TSE 1997, equation 3",
            latency,
            sized=True,
        ),
        _family(
            "power-log",
            "a constant and one term in powers and logarithms",
            "Calotoiu et al., SC 2013 (the normal form of Extra-P)",
            power_log,
        ),
    )
}
"""Every family by name."""


def family_called(name: str) -> Family:
    """Give a family by name.

    Raises
    ------
    UnknownNameError : there is no such family
    """
    if name not in FAMILIES:
        raise UnknownNameError("family of models", name, list(FAMILIES))
    return FAMILIES[name]
