"""Technology specs: what scales the classes of cost, in a file and in the section of the same name of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from slipstick.expression.dimension import COUNT
from slipstick.expression.nodes import Expr, Parameter
from slipstick.model.activity import TECHNOLOGIES
from slipstick.model.system import faster
from slipstick.schema.kinds.quantity import Described, Factor, Given, Note, Quantity, Spec, broken_rule

Technology = Literal["application", "software", "system", "protocol", "signal", "adapter", "switch", "wire", "memory"]
"""A class of cost, as `slipstick.model.activity.TECHNOLOGIES` lists them."""

Part = Annotated[Given, Quantity(COUNT, most=1.0)]
AnyValue = Annotated[Given, Quantity(None, least=None)]
ValuePath = Annotated[str, StringConstraints(max_length=256)]


class Gain(Spec):
    """Which classes of cost gain by faster processors, and how much."""

    processors: Factor | None = Field(None, description="how many times faster the processors are")
    benefit: Part | None = Field(
        None, description="part of each doubling of the processors that classes under partly realize; all by default"
    )
    fully: list[Technology] = Field(
        ["application", "software"], description="classes whose time is divided by processors"
    )
    partly: list[Technology] = Field(
        ["system", "protocol", "signal"],
        description="classes that each doubling of processors makes faster by 1 + benefit only",
    )

    @model_validator(mode="after")
    def _once(self) -> Gain:
        for index, each in enumerate(self.partly):
            if each in self.fully:
                raise broken_rule(f"{each} stands under fully, too; a class gains in one way", "partly", index)
        return self


class Factors(Gain):
    """How a technology scales classes of cost; 1 leaves a class as it is."""

    application: Factor | None = Field(None, description="factor on application time")
    software: Factor | None = Field(None, description="factor on run-time software")
    system: Factor | None = Field(None, description="factor on extra system-call time")
    protocol: Factor | None = Field(None, description="factor on protocol software")
    signal: Factor | None = Field(None, description="factor on signals")
    adapter: Factor | None = Field(None, description="factor on adapter latency")
    switch: Factor | None = Field(None, description="factor on switch latency")
    wire: Factor | None = Field(None, description="factor on time on the wire")
    memory: Factor | None = Field(None, description="factor on memory time")


QUANTITIES = {
    "signal": "machine.system.signal",
    "adapter": "machine.network.adapter",
    "switch": "machine.network.switch",
    "wire": "machine.network.wire.per_byte",
}
"""The quantity of a machine that is the whole cost of a class, by class."""


class ClassChange(Spec):
    """What a technology makes of a class of cost: a factor, or the value that its quantity of the machine takes.

    A bare number is refused, for it reads as either: 0.5 may be half the time or 0.5 us.
    """

    by: Factor | None = Field(None, description="factor on the time of the class")
    to: AnyValue | None = Field(None, description="what its quantity of the machine becomes, such as 500 ns")
    source: Note = Field("", description="where the value comes from")
    assumed: bool = Field(False, description="whether it is a guess")

    @model_validator(mode="before")
    @classmethod
    def _keyed(cls, written: Any) -> Any:
        if not isinstance(written, dict):
            raise broken_rule("write {by: 0.5} for a factor on its time, or {to: 500 ns} for the time that it becomes")
        return written

    @model_validator(mode="after")
    def _either(self) -> ClassChange:
        if (self.by is None) == (self.to is None):
            raise broken_rule("write one of the keys by, a factor, and to, a value")
        return self


class TechnologySpec(Described, Gain):
    """A technology by name: what it makes of classes of cost, of the machine and of the workload."""

    technology: Literal[1] = Field(1, description="version of this format")
    application: ClassChange | None = Field(None, description="application time")
    software: ClassChange | None = Field(None, description="run-time software")
    system: ClassChange | None = Field(None, description="extra system-call time")
    protocol: ClassChange | None = Field(None, description="protocol software")
    signal: ClassChange | None = Field(None, description="signals")
    adapter: ClassChange | None = Field(None, description="adapter latency")
    switch: ClassChange | None = Field(None, description="switch latency")
    wire: ClassChange | None = Field(None, description="time on the wire, to: per byte")
    memory: ClassChange | None = Field(None, description="memory time")
    prefetched_faults: Part | None = Field(
        None, description="part of the faults that are prefetched, of programs that have such an input"
    )
    prefetched_locks: Part | None = Field(
        None, description="part of the lock acquisitions that are prefetched, of programs that have such an input"
    )
    values: dict[ValuePath, AnyValue] = Field(
        default_factory=dict, description="what quantities of the machine become, by path such as machine.system.signal"
    )

    @model_validator(mode="after")
    def _values_of_machines(self) -> TechnologySpec:
        for path in self.values:
            if not path.startswith("machine."):
                why = "a technology sets quantities of the machine only, such as machine.network.adapter"
                raise broken_rule(why, "values", path)
        return self

    @model_validator(mode="after")
    def _one_quantity_to_set(self) -> TechnologySpec:
        for name in TECHNOLOGIES:
            change = getattr(self, name)
            if change is not None and change.to is not None and name not in QUANTITIES:
                why = f"the cost of {name} is no single quantity of a machine; write by, a factor, or set values"
                raise broken_rule(why, name, "to")
            if change is not None and change.to is not None and QUANTITIES[name] in self.values:
                raise broken_rule(f"{QUANTITIES[name]} stands under values, too; write it once", name, "to")
        return self


def factors(spec: Factors, parameters: Mapping[str, Parameter]) -> dict[str, Expr]:
    """Give the factor of each technology class that the section ``technology`` of a model sets.

    Parameters
    ----------
    spec : the section, checked
    parameters : every quantity of the model, by path
    """
    own: dict[str, Expr] = {
        name: parameters[f"technology.{name}"] for name in TECHNOLOGIES if getattr(spec, name) is not None
    }
    if spec.processors is None:
        return own
    benefit = parameters.get("technology.benefit")
    return faster(own, parameters["technology.processors"], spec.fully, spec.partly, benefit)
