"""Which region of the program is the whole, and which are its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.measure.reduced import Point

__all__ = ["Regions", "regions_of"]

ARROW = "->"
OVERLAP = 1.02
"""Parts may add up to this much of the whole, for clocks differ."""


@dataclass(frozen=True, slots=True)
class Regions:
    """The whole and its parts.

    Parameters
    ----------
    whole : the region whose elapsed time is the time; empty where the file has no name for it
    parts : regions that follow one another inside it
    notes : why there are no parts, or what was left out
    """

    whole: str
    parts: tuple[str, ...] = ()
    notes: tuple[Problem, ...] = ()

    def short(self, region: str) -> str:
        """Name a part without the path that leads to it."""
        return region.rpartition(ARROW)[2].strip() or region


def regions_of(points: Sequence[Point], wanted: str | None = None) -> Regions:
    """Find the whole: the region asked for, the one without a name, the only one, or the root of all call paths.

    Its parts are the regions one call deeper or, where the whole has no name and nothing is a call path, all others.

    Parameters
    ----------
    points : all that was measured
    wanted : the region asked for

    Raises
    ------
    UnknownNameError : the region asked for is not there
    SpecError : which region is the whole cannot be told
    """
    names = list(dict.fromkeys(region for point in points for region in point.regions("time")))
    if wanted is not None and wanted not in names:
        raise UnknownNameError("region with a time", wanted, names)
    if not names:
        return Regions("")
    whole = wanted if wanted is not None else _whole(points, names)
    below = [name for name in names if name != whole and _inside(name, whole)]
    parts = tuple(name for name in below if ARROW not in name.removeprefix(whole).removeprefix(ARROW))
    return _without_overlap(points, whole, parts)


def _whole(points: Sequence[Point], names: Sequence[str]) -> str:
    if "" in names:
        return ""
    roots = [name for name in names if all(_inside(other, name) or other == name for other in names)]
    if len(roots) != 1:
        run = next(found.run for point in points for (metric, _, _), found in point.values.items() if metric == "time")
        listed = ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in names[:8]) + (
            ", ..." if len(names) > 8 else ""
        )
        why = f"which region is the whole? there are {listed}; name it with --region, or leave it empty in the file"
        raise SpecError([Problem(run.file, run.line, 1, "region", why)])
    return roots[0]


def _inside(name: str, whole: str) -> bool:
    return not whole or name.startswith(f"{whole}{ARROW}")


def _without_overlap(points: Sequence[Point], whole: str, parts: tuple[str, ...]) -> Regions:
    """Keep parts only where they add up to no more than the whole."""
    for point in points:
        found = point.find("time", whole)
        inside = [each for part in parts if (each := point.find("time", part))]
        if found and sum(each.value for each in inside) > OVERLAP * found.value:
            run = inside[0].run
            total = sum(each.value for each in inside)
            why = (
                f"the regions take {total:g} s at p = {point.p}, the whole {found.value:g} s; they overlap, or are "
                "added up over processors, so the account leaves them out"
            )
            return Regions(whole, (), (Problem(run.file, run.line, 1, "region", why),))
    return Regions(whole, parts)
