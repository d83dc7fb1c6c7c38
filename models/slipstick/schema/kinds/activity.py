"""Activity files: the model algebra as YAML."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from slipstick.expression.dimension import COUNT, RATE
from slipstick.schema.kinds.quantity import (
    ITEMS,
    ONE,
    SPELT,
    AnyQuantity,
    Count,
    CountFormula,
    Described,
    Formula,
    Given,
    Name,
    Quantity,
    Spec,
    TimeFormula,
    broken_rule,
    one_of,
)
from slipstick.schema.kinds.technology import Factors, Technology
from slipstick.vocabulary import ACTIVITY_DISCIPLINES, BACK_OFFS, BARRIERS, LOCKS, in_words

_LABEL = r"^[A-Za-z][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*(\[[0-9]+\])?$"
_WORD = r"^[A-Za-z][A-Za-z0-9_]*$"
SPELT[_LABEL] = "write a name: letters, digits and _, with single - and . between them, starting with a letter"
SPELT[_WORD] = "write a name that can stand in arithmetic: letters, digits and _, starting with a letter"

Label = Annotated[str, StringConstraints(pattern=_LABEL, max_length=64)]
"""A resource, one processor of them included, or a component of the account."""

Word = Annotated[str, StringConstraints(pattern=_WORD, max_length=64)]

Probability = Annotated[Given | Formula, Quantity(COUNT, most=1.0, formula=True)]
Items = Annotated[Given | Formula, Quantity(COUNT, least=1.0, whole=True, formula=True)]
Members = Annotated[Given | Formula, Quantity(COUNT, whole=True, formula=True)]
ArrivalRate = Annotated[Given | Formula, Quantity(RATE, least=None, above=0.0, formula=True)]


class StepSpec(Spec):
    """What every leaf says of itself."""

    name: Name | None = Field(None, description="what tables call the step; the resource's name by default")
    scv: Count | None = Field(None, description="squared coefficient of variation of the time; 0, constant, by default")
    component: Label = Field("busy", description="what the account books the time to")
    technology: Technology = Field("application", description="technology class: what a what-if scales the time with")


class DelaySpec(StepSpec):
    """Time spent where nobody is in the way."""

    delay: TimeFormula = Field(description="mean time")


class ServiceSpec(StepSpec):
    """Time spent at a resource."""

    service: Label = Field(description="the resource, or a processor: own, other, each-other, processor[i]")
    time: TimeFormula = Field(description="mean service time")


class HoldSpec(Spec):
    """A body done while holding a lock."""

    hold: Name = Field(description="the lock")
    body: list[Item] = Field(description="what is done while holding it", min_length=1)


class ForkSpec(Spec):
    """Requests issued together, all of which are waited for."""

    fork: list[list[Item]] = Field(description="the branches", min_length=1)


class OptionSpec(Spec):
    """One of several ways on."""

    p: Probability = Field(description="its probability")
    do: list[Item] = Field(description="what is done; may be nothing")


class ChooseSpec(Spec):
    """One of several, at random."""

    choose: list[OptionSpec] = Field(description="the options; their probabilities add up to 1", min_length=1)


class RepeatSpec(Spec):
    """The same, several times in a row."""

    repeat: CountFormula = Field(description="how many times")
    body: list[Item] = Field(description="what is repeated", min_length=1)


class StageSpec(Spec):
    """A stage of a pipeline: exactly one of the four kinds."""

    name: Name | None = Field(None, description="what answers call the stage")
    serial: list[Item] | None = Field(None, description="takes one item at a time, in order", min_length=1)
    parallel: list[Item] | None = Field(None, description="takes all items at once", min_length=1)
    serial_each: list[list[Item]] | None = Field(None, description="serial, a body for each item", min_length=1)
    parallel_each: list[list[Item]] | None = Field(None, description="parallel, a body for each item", min_length=1)

    @model_validator(mode="after")
    def _one_kind(self) -> StageSpec:
        kinds = [kind for kind in STAGE_KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise broken_rule(f"a stage is exactly one of {', '.join(STAGE_KINDS)}")
        return self


class PipelineSpec(Spec):
    """Items that pass through stages."""

    pipeline: Items = Field(description="how many items, all ready at the start")
    stages: list[StageSpec] = Field(description="in order", min_length=1)
    name: Name | None = Field(None, description="what answers call the pipeline")


class BarrierSpec(Spec):
    """A meeting of the whole population."""

    barrier: Name = Field(description="the barrier")
    parties: int | None = Field(None, description="how many meet, if not all", ge=1, le=10**9)


STAGE_KINDS = ("serial", "parallel", "serial_each", "parallel_each")


def _item_kind(value: Any) -> str | None:
    """Tell an item by the one key that only its kind has."""
    if isinstance(value, dict):
        return next((kind for kind in ITEMS if kind in value), None)
    return next((kind for kind in ITEMS if kind in getattr(value, "model_fields_set", ())), None)


Item = Annotated[
    Annotated[DelaySpec, Tag("delay")]
    | Annotated[ServiceSpec, Tag("service")]
    | Annotated[HoldSpec, Tag("hold")]
    | Annotated[ForkSpec, Tag("fork")]
    | Annotated[ChooseSpec, Tag("choose")]
    | Annotated[RepeatSpec, Tag("repeat")]
    | Annotated[PipelineSpec, Tag("pipeline")]
    | Annotated[BarrierSpec, Tag("barrier")],
    Discriminator(
        _item_kind,
        custom_error_type="item",
        custom_error_message="an item of an activity has one of the keys " + ", ".join(ITEMS),
    ),
]


class StationSpec(Spec):
    """Servers with a queue."""

    servers: int = Field(1, description="how many serve at the same time", ge=1, le=10**9)
    discipline: Annotated[str, one_of(ACTIVITY_DISCIPLINES)] = Field("fcfs", description=in_words(ACTIVITY_DISCIPLINES))


class LockSpec(Spec):
    """A lock."""

    lock: Annotated[str, one_of(LOCKS)] = Field(description="how it is done")
    word: Name | None = Field(None, description="the station that holds the lock word; none if that costs nothing")
    access: TimeFormula | None = Field(None, description="time that one access to the lock word occupies the station")
    back_off: Annotated[str, one_of(BACK_OFFS)] = Field("none", description="pause after a failure")
    base: TimeFormula | None = Field(None, description="pause after the first failure")
    most: TimeFormula | None = Field(None, description="longest pause")

    @model_validator(mode="after")
    def _complete(self) -> LockSpec:
        if (self.word is None) != (self.access is None):
            raise broken_rule("a lock with a word needs the time of an access, and the other way round")
        if self.back_off != "none" and self.base is None:
            raise broken_rule("a back-off needs its base, the pause after the first failure", "back_off")
        if self.back_off == "exponential" and self.most is None:
            raise broken_rule("an exponential back-off needs its longest pause, most", "back_off")
        return self


class MeetingSpec(Spec):
    """A barrier's implementation."""

    barrier: Annotated[str, one_of(BARRIERS)] = Field(description="how it is done")
    cost: TimeFormula | None = Field(None, description="what it costs beyond waiting for the last arrival")


def _resource_kind(value: Any) -> str:
    keys = value if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    return next((kind for kind in ("lock", "barrier") if kind in keys), "station")


ResourceSpec = Annotated[
    Annotated[StationSpec, Tag("station")] | Annotated[LockSpec, Tag("lock")] | Annotated[MeetingSpec, Tag("barrier")],
    Discriminator(_resource_kind),
]


class PhaseSpec(Spec):
    """Identical iterations on some of the processors."""

    repeat: CountFormula = Field(ONE, description="how many iterations")
    processors: Items = Field(description="on how many processors")
    cycle: list[Item] = Field(description="one iteration", min_length=1)


class GroupSpec(Spec):
    """Processors of one kind among others."""

    processors: Members = Field(description="how many there are; a group but the first may have none")
    cycle: list[Item] = Field(description="what each of them repeats", min_length=1)


class PopulationSpec(Spec):
    """Who goes through the activity: exactly one of the three."""

    processors: Items | None = Field(None, description="processors that repeat the cycle for ever")
    arrivals: ArrivalRate | None = Field(None, description="rate of askers that go through the cycle once")
    phases: list[PhaseSpec] | None = Field(None, description="a finite program; in place of the cycle", min_length=1)


class ActivitySpec(Described):
    """A model written as a file."""

    activity: Literal[1] = Field(description="version of this format")
    parameters: dict[Word, AnyQuantity] = Field(
        default_factory=dict, description="named quantities, or arithmetic on earlier ones, for use in times and counts"
    )
    population: PopulationSpec | None = Field(None, description="who goes through the cycle")
    useful: list[Label] = Field(["busy"], description="the components that count as useful work")
    resources: dict[Name, ResourceSpec] = Field(
        default_factory=dict, description="stations, locks and barriers by name"
    )
    cycle: list[Item] | None = Field(None, description="what each processor or asker does", min_length=1)
    phases: list[PhaseSpec] | None = Field(
        None, description="a finite program, in place of population and cycle", min_length=1
    )
    groups: dict[Word, GroupSpec] | None = Field(
        None,
        description="several kinds of processors side by side, in place of population and cycle; answers are about the first",
        min_length=1,
    )
    technology: Factors = Field(Factors(), description="factors by technology class")

    @model_validator(mode="after")
    def _one_population(self) -> ActivitySpec:
        population = self.population
        told: list[object] = [self.phases, self.groups]
        told += [] if population is None else [population.processors, population.arrivals, population.phases]
        alone = self.phases is not None or self.groups is not None
        if sum(each is not None for each in told) != 1 or (population is not None and alone):
            raise broken_rule("say who runs: population with processors, arrivals or phases, or phases or groups alone")
        program = alone or (population is not None and population.phases is not None)
        if program == (self.cycle is not None):
            raise broken_rule("a cycle goes with processors or arrivals; phases and groups bring their own")
        return self


for _model in (
    HoldSpec,
    ForkSpec,
    OptionSpec,
    RepeatSpec,
    StageSpec,
    PhaseSpec,
    GroupSpec,
    PopulationSpec,
    ActivitySpec,
):
    _model.model_rebuild()
