"""Specs of what a study asks about scaling: the sizes that more processors need, and its
pictures.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from slipstick.expression.nodes import BYTES, COUNT, TIME
from slipstick.schema.kinds.constraints import Distinct, Name, Note, broken_rule
from slipstick.schema.kinds.quantity import Given, Quantity, Spec
from slipstick.schema.kinds.study import (
    AxisValues,
    DistinctNames,
    Drawn,
    Fraction,
    Processors,
    QuestionKey,
    QuestionSpec,
)


class MemoryLimitSpec(Spec):
    """The memory of a processor, and how much it may be."""

    used: Note = Field(
        description="a formula of the case's quantities that gives bytes, such as items * each / 8"
    )
    most: Annotated[Given, Quantity(BYTES, least=None, above=0.0)] = Field(
        description="memory of a processor"
    )


class PrintedCell(Spec):
    """A published cell of the matrix of scalability."""

    fewer: Processors = Field(alias="from", description="processors of the smaller run, N")
    more: Processors = Field(alias="to", description="processors of the larger run, N'")
    scalability: dict[Literal["time-bound", "efficiency-conserved", "memory-bound"], float] = Field(
        description="the latency metric by way, as printed", min_length=1
    )
    source: Note = Field("", description="where it is printed")
    lacks: dict[Literal["time-bound", "efficiency-conserved", "memory-bound"], Note] = Field(
        {}, description="by way, the mechanism that the model is known to lack, where it misses"
    )


class ScaleSpec(QuestionSpec):
    """How the base and its differences scale: the size that each number of processors needs."""

    cases: DistinctNames = Field(["base"], description="the cases to scale", min_length=1)
    processors: dict[Annotated[str, StringConstraints(max_length=256)], AxisValues] = Field(
        description="numbers of processors, rising, by the path that stands for them",
        min_length=1,
        max_length=1,
    )
    size: dict[Annotated[str, StringConstraints(max_length=256)], float] = Field(
        {},
        description=(
            "size parameters by path, each with the power of the common factor that it grows as,"
            " such as 1"
        ),
    )
    ways: Annotated[
        list[Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"]], Distinct
    ] = Field(["fixed-size"], description="how the size goes with the processors", min_length=1)
    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(
        None, description="the time to keep"
    )
    efficiency: Fraction | None = Field(None, description="the efficiency to keep")
    memory: MemoryLimitSpec | None = Field(None, description="the memory to keep")
    against: Literal["useful", "one-processor"] = Field(
        "useful",
        description=(
            "what the work is: the useful part of the account, or the time of one processor"
        ),
    )
    threshold: Fraction = Field(
        Given(0.5, COUNT, "50%"), description="efficiency to stay above at a fixed size"
    )
    printed: list[PrintedCell] = Field(
        [], description="published cells of the matrix, to stand beside ours"
    )

    def check_rules(self) -> None:
        goals = {
            "time-bound": "time",
            "efficiency-conserved": "efficiency",
            "memory-bound": "memory",
        }
        for index, way in enumerate(self.ways):
            if way in goals and getattr(self, goals[way]) is None:
                raise broken_rule(f"{way} needs {goals[way]}: what is to be kept", "ways", index)
            if way in goals and not self.size:
                raise broken_rule(f"{way} needs size: what is to grow", "ways", index)
        for path, power in self.size.items():
            if power == 0:
                raise broken_rule(
                    f"{path} does not grow with a power of 0; leave it out", "size", path
                )
        for index, cell in enumerate(self.printed):
            for way in cell.scalability:
                if way not in self.ways:
                    raise broken_rule(
                        f"{way} is none of the ways that are asked for",
                        "printed",
                        index,
                        "scalability",
                        way,
                    )


class BandsSpec(Drawn):
    """Processors lost by cause, against the number of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["bands"] = Field(
        description="processors by cause against their number, a band each"
    )
    case: Name = Field("base", description="the case to draw, one that scale names")
    way: Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"] = Field(
        "fixed-size", description="how the size goes with the processors, one that scale names"
    )


class GrowthPictureSpec(Drawn):
    """The work that keeps what a way of scaling keeps, against the number of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["growth"] = Field(
        description="work against the number of processors, a line for each case of scale"
    )
    way: Literal["time-bound", "efficiency-conserved", "memory-bound"] = Field(
        "efficiency-conserved",
        description="how the size goes with the processors, one that scale names",
    )


class ScalabilityPictureSpec(Drawn):
    """The scalability between all pairs of numbers of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["scalability"] = Field(
        description="a triangle of numbers of processors, in each cell the scalability of each way"
    )
    case: Name = Field("base", description="the case to draw, one that scale names")


SCALE = QuestionKey(
    ScaleSpec | None,
    Field(None, description="the size that more processors need"),
    "slipstick_scaling.question:read",
    (BandsSpec, GrowthPictureSpec, ScalabilityPictureSpec),
    position=90,
)
