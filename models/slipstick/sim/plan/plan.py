"""Plans: what a kernel runs, as frozen flat data.

Every member of the population has a place in one list of instructions, as on a small machine: where it
waits it stays, what it books its time to is an operand. Resources, draws and labels go by number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum

from slipstick.errors import ModelError, did_you_mean
from slipstick.sim.plan.distributions import Distribution
from slipstick.vocabulary import SIMULATED_DISCIPLINES

OPERANDS = 7


class Op(IntEnum):
    """What an instruction does; the operands stand behind it."""

    DELAY = 0  # draw, label
    SERVE = 1  # station, draw, label, label of the wait, where (see Where), rank
    PICK = 2  # draw, first member, members: aim at one of the others at random
    EACH = 3  # first member, members: aim at the j-th other for branch or item j
    CHOOSE = 4  # draw, first target, targets
    JUMP = 5  # target
    SET = 6  # register, count, draw: a fraction of the count is a chance of one more
    LOOP = 7  # register, target once the register is used up
    SWITCH = 8  # first target: by number of the branch or item
    END = 9  # goes on behind it, lost: of a cycle: again, leave or finish, by kind of population
    FORK = 10  # first target, targets, where to go on
    JOIN = 11
    PIPE = 12  # count, draw, where an item begins, where to go on
    ENTER = 13  # serial stage, by number among the pipeline's serial stages
    LEAVE = 14
    ACQUIRE = 15  # lock, label
    RELEASE = 16  # lock
    ASK = 17  # lock: from now on one more wants it
    TRY = 18  # lock, target if it is held
    WATCH = 19  # lock, label: wait until it is not held
    BACK = 20  # draw, label, register, base, most: back off by base x 2^register, the register one up
    NUMBER = 21  # lock, register: take the next number
    CALL = 22  # lock, label, register, draw, target: hold the lock if one's number is up, else wait until the next is
    MEET = 23  # barrier, parties, label
    COMBINE = 24  # first node, members a node, radix, children at this level, barrier, label, where to go on
    FREE = 25  # barrier: all who wait go on
    POST = 26  # first flag, distance, members: raise the flag of the member that far on
    AWAIT = 27  # first flag, label: take one's own flag down, waiting for it
    ADMIT = 28  # gate, station, most present (0 is no limit), target of who finds so many there and is refused
    BEGIN = 29  # time counts as response from here on


class Where(IntEnum):
    """Which station of a row of them."""

    FIXED = 0
    OWN = 1  # the member's own
    AIMED = 2  # that of the member aimed at


@dataclass(frozen=True, slots=True)
class Draw:
    """A random quantity and the name of its stream."""

    stream: str
    distribution: Distribution


@dataclass(frozen=True, slots=True)
class StationPlan:
    """Servers with a queue; stations of one name are one resource in answers.

    Parameters
    ----------
    name : in answers
    servers : how many [1]
    discipline : one of `slipstick.vocabulary.SIMULATED_DISCIPLINES`
    rates : speed of all service together with 1, 2, 3 ... present, the last for more; none if there are servers [1]
    """

    name: str
    servers: int = 1
    discipline: str = "fcfs"
    rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.discipline not in SIMULATED_DISCIPLINES:
            raise ModelError(
                f"station {self.name}: no kernel knows the discipline {self.discipline!r}"
                + did_you_mean(self.discipline, SIMULATED_DISCIPLINES)
            )
        if self.servers < 1:
            raise ModelError(f"station {self.name}: at least 1 server must be there, got {self.servers}")
        if self.rates and (self.discipline not in ("fcfs", "ps") or self.servers != 1):
            raise ModelError(
                f"station {self.name}: rates are simulated of one server that is fcfs or ps, got {self.servers} that "
                f"are {self.discipline}"
            )
        for rate in self.rates:
            if not 0 < rate < math.inf:
                raise ModelError(f"station {self.name}: a simulation needs every rate to be above 0, got {rate:g}")


@dataclass(frozen=True, slots=True)
class Members:
    """Who runs through the instructions, and how often.

    Parameters
    ----------
    name : of the class, in answers
    kind : closed (round and round), open (arrive, once, leave) or once (a program, all begin at 0)
    starts : first instruction of each member; of every arrival if open
    arrivals : draw of the time between two arrivals, if open
    """

    name: str
    kind: str
    starts: tuple[int, ...]
    arrivals: int = -1


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole simulation but for its seed.

    Parameters
    ----------
    code : instructions: an `Op` and its operands
    targets, odds : places to go to, and the cumulative probabilities that belong to them
    counts : numbers of rounds and items [1], and times of back-off [s]
    draws : random quantities
    stations, locks : resources; their statistics are kept in this order
    barriers : names; nodes of trees and flags are numbered apart
    nodes, flags : how many
    gates : names of what counts who comes, and who is refused
    labels : what time is booked to
    members : classes of the population
    registers : counters that a member needs
    names : what an instruction is called, for timelines and deadlocks
    """

    code: tuple[tuple[int, ...], ...]
    members: tuple[Members, ...]
    draws: tuple[Draw, ...] = ()
    stations: tuple[StationPlan, ...] = ()
    locks: tuple[str, ...] = ()
    barriers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    targets: tuple[int, ...] = ()
    odds: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    nodes: int = 0
    flags: int = 0
    registers: int = 0
    gates: tuple[str, ...] = ()
    once: bool = field(init=False)

    def __post_init__(self) -> None:
        kinds = {each.kind for each in self.members}
        if not kinds <= {"closed", "open", "once"} or ("once" in kinds and len(kinds) > 1):
            raise ModelError(f"members cannot be {', '.join(sorted(kinds))}: write closed and open, or once alone")
        object.__setattr__(self, "once", kinds == {"once"})

    @property
    def random(self) -> bool:
        """Say whether anything is drawn at random."""
        return any(not draw.distribution.constant for draw in self.draws)

    @property
    def population(self) -> int:
        """Members that are there from the start."""
        return sum(len(each.starts) for each in self.members if each.kind != "open")

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of what keeps statistics: stations, then locks."""
        return (*(each.name for each in self.stations), *self.locks)
