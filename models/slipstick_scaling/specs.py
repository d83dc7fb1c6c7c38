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
    """The memory that a processor uses, and the memory that it has."""

    used: Note = Field(description="formula for the bytes used, such as items * each / 8")
    most: Annotated[Given, Quantity(BYTES, least=None, above=0.0)] = Field(
        description="memory of a processor"
    )


class PrintedCell(Spec):
    """A published cell of the matrix of scalability."""

    fewer: Processors = Field(alias="from", description="processors of the smaller run, N")
    more: Processors = Field(alias="to", description="processors of the larger run, N'")
    scalability: dict[Literal["time-bound", "efficiency-conserved", "memory-bound"], float] = Field(
        description="printed ratio of latencies, by way of scaling", min_length=1
    )
    source: Note = Field("", description="where the value is printed")
    lacks: dict[Literal["time-bound", "efficiency-conserved", "memory-bound"], Note] = Field(
        {},
        description=(
            "if the model misses the value: the mechanism that it is known to lack, by way of"
            " scaling"
        ),
    )
    checked: bool = Field(
        True,
        description="whether the cell is a statement by itself; false where `statements` has it",
    )


class ScaleSpec(QuestionSpec):
    """What a study asks of scaling: the problem size that each number of processors needs, for the
    base and other cases.
    """

    cases: DistinctNames = Field(["base"], description="names of the cases", min_length=1)
    processors: dict[Annotated[str, StringConstraints(max_length=256)], AxisValues] = Field(
        description="numbers of processors in rising order, by their path",
        min_length=1,
        max_length=1,
    )
    size: dict[Annotated[str, StringConstraints(max_length=256)], float] = Field(
        {},
        description=(
            "size parameters by path, each with the power of the common factor with which it grows,"
            " such as 1"
        ),
    )
    ways: Annotated[
        list[Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"]], Distinct
    ] = Field(
        ["fixed-size"],
        description=("what stays constant while the size grows with the processors"),
        min_length=1,
    )
    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(
        None, description="time to keep constant"
    )
    efficiency: Fraction | None = Field(None, description="efficiency to keep constant")
    memory: MemoryLimitSpec | None = Field(None, description="memory to keep constant")
    against: Literal["useful", "one-processor"] = Field(
        "useful",
        description=(
            "measure of the work: the useful part of the account, or the time on one processor"
        ),
    )
    threshold: Fraction = Field(
        Given(0.5, COUNT, "50%"), description="lowest efficiency at a fixed size"
    )
    printed: list[PrintedCell] = Field(
        [], description="published cells of the scalability matrix, for comparison"
    )

    def check_rules(self) -> None:
        """Raise if keys of the scaling contradict one another."""
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
    """A picture of the processors lost to each cause, against the number of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["bands"] = Field(
        description="a band for each cause, against the number of processors"
    )
    case: Name = Field("base", description="name of the case, one that scale lists")
    way: Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"] = Field(
        "fixed-size",
        description=("how the size grows with the processors: one of the ways of scale"),
    )


class GrowthPictureSpec(Drawn):
    """A picture of the work that more processors need, against the number of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["growth"] = Field(
        description="work against the number of processors, with a line for each case of scale"
    )
    way: Literal["time-bound", "efficiency-conserved", "memory-bound"] = Field(
        "efficiency-conserved",
        description="how the size grows with the processors: one of the ways of scale",
    )


class ScalabilityPictureSpec(Drawn):
    """A picture of the scalability between all pairs of numbers of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["scalability"] = Field(
        description=(
            "a triangle of numbers of processors; each cell has the scalability of each way"
        )
    )
    case: Name = Field("base", description="name of the case, one that scale lists")


SCALE = QuestionKey(
    ScaleSpec | None,
    Field(None, description="the problem size that more processors need"),
    "slipstick_scaling.question:read",
    (BandsSpec, GrowthPictureSpec, ScalabilityPictureSpec),
    position=90,
)
