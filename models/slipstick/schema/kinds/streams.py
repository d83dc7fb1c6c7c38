"""How customers arrive, in files of activities and of queueing networks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstick.errors import ModelError
from slipstick.expression.nodes import RATE
from slipstick.schema.kinds.constraints import broken_rule
from slipstick.schema.kinds.quantity import (
    Formula,
    Given,
    Quantity,
    Servers,
    Spec,
    TimeOrFormula,
)

Arrivals = Annotated[Given | Formula, Quantity(RATE, formula=True)]


class ArrivalTraceSpec(Spec):
    """When customers arrive: a file, or the times between arrivals."""

    file: str | None = Field(
        None, description="a table or a list of numbers, from the folder of this file"
    )
    column: str | None = Field(None, description="name of its column, where it has a line of names")
    unit: str | None = Field(
        None, description="unit of its times, such as ms, where the column does not say it"
    )
    of: Literal["times", "gaps"] = Field(
        "times", description="times of arrivals, or the gaps between them"
    )
    gaps: str | None = Field(
        None,
        description=(
            "in the place of a file: times between arrivals, in proportion, with spaces between"
        ),
    )

    def check_rules(self) -> None:
        if (self.file is None) == (self.gaps is None):
            raise broken_rule(
                "give a trace a file, or gaps; a file is read where it is written, not by --set"
            )

    def numbers(self) -> tuple[float, ...]:
        """Return the times between arrivals."""
        try:
            return tuple(map(float, (self.gaps or "").split()))
        except ValueError as error:
            raise ModelError(f"gaps of a trace are numbers with spaces between: {error}") from None


class StreamSpec(Spec):
    """Customers that arrive, pass through once and leave.

    Attributes
    ----------
    stream : what messages call them
    """

    arrivals: Arrivals | None = Field(
        None,
        description=(
            "rate of arrivals of customers that pass through once and leave; with bursts the rate"
            " between bursts"
        ),
    )
    burst_arrivals: Arrivals | None = Field(
        None, description="rate of arrivals in a burst; 0 by default"
    )
    burst_time: TimeOrFormula | None = Field(
        None, description="mean duration of a burst of arrivals, exponential"
    )
    quiet_time: TimeOrFormula | None = Field(
        None, description="mean time between two bursts, exponential"
    )
    batch: Servers | None = Field(None, description="customers of one arrival; 1 by default")
    trace: ArrivalTraceSpec | None = Field(
        None,
        description=(
            "times at which customers arrive, for simulation; with arrivals they are scaled to that"
            " rate"
        ),
    )

    target_time: TimeOrFormula | None = Field(
        None, description="response time: within_target is the share of the responses within it"
    )

    stream: ClassVar[str] = "a stream"

    def check_rules(self) -> None:
        bursts = {key: getattr(self, key) for key in ("burst_arrivals", "burst_time", "quiet_time")}
        keys_given = [key for key, value in bursts.items() if value is not None]
        if self.trace is not None and self.trace.gaps is not None and self.arrivals is None:
            raise broken_rule(
                "gaps say how arrivals follow each other; give their rate as arrivals", "trace"
            )
        if self.batch is not None and self.arrivals is None:
            raise broken_rule(f"a batch belongs to {self.stream}; give it arrivals", "batch")
        if keys_given and self.arrivals is None:
            raise broken_rule(f"bursts belong to {self.stream}; give it arrivals", keys_given[0])
        if keys_given and (self.burst_time is None or self.quiet_time is None):
            raise broken_rule("bursts need both a burst_time and a quiet_time", keys_given[0])
