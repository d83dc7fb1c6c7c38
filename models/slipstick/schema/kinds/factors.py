"""What scales the classes of cost of a model, in its section `technology`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from slipstick.expression.dimension import COUNT
from slipstick.expression.nodes import Expr, Parameter
from slipstick.model.activity import TECHNOLOGIES
from slipstick.model.system import faster
from slipstick.schema.kinds.quantity import Factor, Given, Quantity, Spec, broken_rule

Technology = Literal["application", "software", "system", "protocol", "signal", "adapter", "switch", "wire", "memory"]
"""A class of cost, as `slipstick.model.activity.TECHNOLOGIES` lists them."""

Part = Annotated[Given, Quantity(COUNT, most=1.0)]


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

    def check_rules(self) -> None:
        for index, each in enumerate(self.partly):
            if each in self.fully:
                raise broken_rule(f"{each} stands under fully, too; a class gains in one way", "partly", index)


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
