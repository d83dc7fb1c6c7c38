"""How a model is to be solved: the method, and what a simulation needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.expression.dimension import COUNT
from slipstick.method.names import NAMES
from slipstick.method.settings import Trial
from slipstick.schema.kinds.quantity import Given, Quantity, Spec
from slipstick.schema.text.nodes import Entry, Mark, Node, Scalar, Table
from slipstick.schema.validate import validate
from slipstick.sim.settings import Effort

METHOD = "method"
SECTION = "simulation."

_DEFAULT = Effort()
_KNOWN = tuple(dict.fromkeys(name for names in NAMES.values() for name in names))


class SimulationSpec(Spec):
    """How a simulation is to be done."""

    seed: int = Field(0, description="key of all random streams", ge=0, le=2**63 - 1)
    precision: Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=0.5)] = Field(
        Given(_DEFAULT.precision, COUNT, "2%"),
        description="half-width of the interval of the mean time, relative to it, at which to stop",
    )
    level: Annotated[Given, Quantity(COUNT, least=0.5, most=0.9999)] = Field(
        Given(_DEFAULT.level, COUNT, "95%"), description="how often an interval is to hold the mean"
    )
    least: int = Field(_DEFAULT.least, description="cycles, or runs of a program, to simulate at least", ge=1, le=10**9)
    events: int = Field(_DEFAULT.events, description="events to simulate at most", ge=1, le=10**12)
    cycles: int | None = Field(None, description="simulate exactly so many cycles, or runs", ge=1, le=10**12)
    shares: int = Field(0, description="of how many parameters shares are wanted, two more runs each", ge=0, le=1000)


@dataclass(frozen=True, slots=True)
class How:
    """How a model is to be solved.

    Parameters
    ----------
    method : by name; None is the default of the model's kind
    trial : for a simulation
    """

    method: str | None = None
    trial: Trial = field(default_factory=Trial)


def says_how(path: str) -> bool:
    """Say whether a path is about how to solve, not about what."""
    return path == METHOD or path.startswith(SECTION)


def how(settings: Mapping[str, Node]) -> How:
    """Read how to solve from settings by path.

    Raises
    ------
    SpecError : there is no such method, or a value of the simulation is wrong
    """
    return How(_method(settings.get(METHOD)), _trial(settings))


def _method(node: Node | None) -> str | None:
    if node is None:
        return None
    name = node.value if isinstance(node, Scalar) else None
    if name not in _KNOWN:
        words = str(UnknownNameError(METHOD, str(name)[:100], _KNOWN))
        raise SpecError([Problem(node.mark.file, node.mark.line, node.mark.column, METHOD, words)])
    return str(name)


def _trial(settings: Mapping[str, Node]) -> Trial:
    given = {path.removeprefix(SECTION): node for path, node in settings.items() if path.startswith(SECTION)}
    if not given:
        return Trial()
    inside = {name: Entry(node.mark, node) for name, node in given.items()}
    mark = Mark("", 1, 1)
    spec = validate(_Scene, Table({"simulation": Entry(mark, Table(inside, mark))}, mark)).simulation
    effort = Effort(spec.precision.value, spec.level.value, spec.least, spec.events, spec.cycles)
    return Trial(spec.seed, effort, spec.shares)


class _Scene(Spec):
    """The place of the section, so that its problems name it."""

    simulation: SimulationSpec = SimulationSpec()
