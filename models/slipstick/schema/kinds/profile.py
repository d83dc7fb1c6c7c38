"""Profile specs: runs with the elapsed time and where it was lost, as instrumentation prints them."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import Field

from slipstick.schema.kinds.quantity import Count, Described, Factor, Name, Spec, Time, Whole, broken_rule


class ProcessorSpec(Spec):
    """What one processor spent in one run."""

    busy: Time | None = Field(None, description="useful time, without waits")
    waits: dict[Name, Time] = Field(default_factory=dict, description="time lost, by cause")
    events: dict[Name, Count] = Field(default_factory=dict, description="how often each cause was timed")


class RunSpec(Spec):
    """One run."""

    processors: Whole = Field(description="how many took part")
    size: Factor | None = Field(None, description="size of the problem")
    repetition: int | None = Field(None, description="number of the run among its repetitions", ge=1)
    time: Time = Field(description="elapsed time")
    busy: Time | None = Field(None, description="useful time, without waits, added up over all processors")
    waits: dict[Name, Time] = Field(
        default_factory=dict, description="time lost, by cause, added up over all processors"
    )
    events: dict[Name, Count] = Field(
        default_factory=dict, description="how often each cause was timed, by all processors"
    )
    each: list[ProcessorSpec] = Field(
        default_factory=list, description="the same of each processor, in the place of the sums"
    )

    def check_rules(self) -> None:
        if self.each and (self.busy or self.waits or self.events):
            raise broken_rule("give busy, waits and events of each processor, or their sums, not both", "each")
        if self.each and len(self.each) != self.processors.value:
            why = f"{len(self.each)} processors are given, where the run has {self.processors.value:g}"
            raise broken_rule(why, "each")
        for key in ("waits", "events"):
            counts = Counter(name for one in self.each for name in getattr(one, key))
            lone = [name for name, count in counts.items() if count < len(self.each)]
            if lone:
                at = next(at for at, one in enumerate(self.each) if lone[0] in getattr(one, key))
                why = f"each processor has the same {key}; not given for all of them: {', '.join(lone)}"
                raise broken_rule(why, "each", at, key, lone[0])
        for name in self.events:
            if name not in self.waits:
                raise broken_rule(f"events of {name} need the wait of {name} beside them", "events", name)


class ProfileSpec(Described):
    """Measured runs of one program."""

    profile: Literal[1] = Field(1, description="version of this format")
    timer: Time | None = Field(None, description="cost of the timer itself at each event, contained in the waits")
    one_processor: Time | None = Field(None, description="elapsed time on one processor, without any timing")
    excess: list[Name] = Field(
        default_factory=list,
        description="causes that a run on one processor has as well, so that only what exceeds it is lost",
    )
    runs: list[RunSpec] = Field(description="the runs", min_length=1)
