"""Solver options of a model: its method and, for a simulation, the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.expression.dimension import COUNT
from slipstick.schema.kinds.quantity import Given, Quantity, Spec
from slipstick.schema.text.nodes import Entry, Mark, Node, Scalar, Table
from slipstick.schema.validate import validate
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import METHODS

METHOD = "method"
SECTION = "simulation."

_DEFAULT = Simulation()
_KNOWN = tuple(dict.fromkeys(name for names in METHODS.values() for name in names))


class SimulationSpec(Spec):
    """The section `simulation` of a file: the fields of `Simulation`."""

    seed: int = Field(0, description="key of all random streams", ge=0, le=2**63 - 1)
    precision: Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=0.5)] = Field(
        Given(_DEFAULT.precision, COUNT, "2%"),
        description="half-width of the interval of the mean time, relative to it, at which to stop",
    )
    level: Annotated[Given, Quantity(COUNT, least=0.5, most=0.9999)] = Field(
        Given(_DEFAULT.level, COUNT, "95%"), description="confidence level of the intervals"
    )
    least: int = Field(_DEFAULT.least, description="minimum number of cycles, or of runs of a program", ge=1, le=10**9)
    events: int = Field(_DEFAULT.events, description="maximum number of events", ge=1, le=10**12)
    cycles: int | None = Field(None, description="simulate exactly this many cycles, or runs", ge=1, le=10**12)
    shares: int = Field(
        0, description="number of parameters whose shares are estimated, two more runs each", ge=0, le=1000
    )
    kernel: Literal["auto", "plain", "compiled"] = Field("auto", description="event loop; all give the same results")


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """The method that solves a model and the settings of a simulation.

    Parameters
    ----------
    method : by name; None is the default of the model's kind
    simulation : used where the method is simulation
    """

    method: str | None = None
    simulation: Simulation = _DEFAULT


def is_solver_option(path: str) -> bool:
    """Say whether a path is a solver option, not a value of the model."""
    return path == METHOD or path.startswith(SECTION)


def solver_options(settings: Mapping[str, Node]) -> SolverOptions:
    """Read the solver options from settings by path.

    Raises
    ------
    SpecError : there is no such method, or a setting of the simulation is wrong
    """
    return SolverOptions(_method(settings.get(METHOD)), _simulation(settings))


def _method(node: Node | None) -> str | None:
    if node is None:
        return None
    name = node.value if isinstance(node, Scalar) else None
    if name not in _KNOWN:
        words = str(UnknownNameError(METHOD, str(name)[:100], _KNOWN))
        raise SpecError([Problem(node.mark.file, node.mark.line, node.mark.column, METHOD, words)])
    return str(name)


def _simulation(settings: Mapping[str, Node]) -> Simulation:
    written = {path.removeprefix(SECTION): node for path, node in settings.items() if path.startswith(SECTION)}
    if not written:
        return _DEFAULT
    inside = {name: Entry(node.mark, node) for name, node in written.items()}
    mark = Mark("", 1, 1)
    spec = validate(_Options, Table({"simulation": Entry(mark, Table(inside, mark))}, mark)).simulation
    given = {name: getattr(spec, name) for name in SimulationSpec.model_fields}
    values: dict[str, Any] = {name: each.value if isinstance(each, Given) else each for name, each in given.items()}
    return Simulation(**values)


class _Options(Spec):
    """The place of the section, so that its problems name it."""

    simulation: SimulationSpec = SimulationSpec()
