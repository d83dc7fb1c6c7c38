"""The whole text of every error that the engine raises.

The table is complete: the last test compares the lines that its rows reach with the `raise`
statements in the source.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import slipstick
from slipstick import dump, load, solve
from slipstick.errors import (
    ModelError,
    ModelFaultsError,
    NoAnswerError,
    SlipstickError,
    UnitError,
    UnknownNameError,
)
from slipstick.expression.formula import compare
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    RATE,
    TIME,
    Dimension,
    Number,
    Parameter,
    ceil_log,
    log2,
    maximum,
    parameters,
    select,
    sqrt,
    substitute,
)
from slipstick.expression.special import engset
from slipstick.expression.tape import Tape
from slipstick.law import LAWS
from slipstick.law.law import Check, Law, Symbol
from slipstick.method.closed_form import ClosedForm
from slipstick.model.activity import (
    Stage,
    Step,
    attempt,
    barrier,
    choose,
    delay,
    fork,
    hold,
    if_late,
    pick,
    pipeline,
    repeat,
    reply,
    serial,
    service,
)
from slipstick.model.network import closed_class, network, open_class, region, route, station
from slipstick.model.steps import BY_STATE, NEVER, NOTHING, ONCE, Activity, Combination
from slipstick.model.system import (
    ArrivalPattern,
    Barrier,
    Breaker,
    ClosedPopulation,
    Group,
    Lock,
    Model,
    Permits,
    Station,
    StreamsPopulation,
    closed_model,
    grouped_model,
    open_model,
    phased_model,
    superstep_model,
)
from slipstick.program import PROGRAMS, counted_program
from slipstick.program.operations import MachineOperations
from slipstick_chains.breakdowns import Breakdown, model_with_breakdowns, network_with_breakdowns
from slipstick_chains.lowering import lower_network
from slipstick_chains.routed_programs import END, START, program_of_routes
from slipstick_rounds.model import BatchServer, OpenCustomers
from slipstick_workloads.counts import Counts, ProcessorTally
from tests.method.test_task_pools import REFUSED as POOLS_REFUSED
from tests.method.test_waits_for_signals import REFUSED as WAITS_REFUSED
from tests.paper import machine
from tests.specs import shared_machine
from tests.workloads.dvsm.reference_protocol import diff_phase, lock_phase

SOURCES = (
    *(f"{package}/*.py" for package in ("expression", "law", "model", "program")),
    "method/answers.py",
    "method/closed_form.py",
)
T, B, N = Parameter("t", TIME, 2.0), Parameter("b", BYTES, 4.0), Parameter("n", COUNT, 3.0)
NAMELESS, RATES = Parameter("x", COUNT), Parameter("rate", RATE, 1.0)
UNIT, SHARED = PROGRAMS["grain/unit"], shared_machine("bbn-tc2000")
PHASES = PROGRAMS["grain/phases"]
A, C = delay(1.0, name="a"), delay(2.0, name="c")
FLOW = LAWS["flow-line"]
DIFFS = PROGRAMS["dvsm/diff-request"]
FE = machine("fast-ethernet")
TWO_BYTES = (Number(2.0, BYTES), Number(2.0))
COUNTS: dict[str, Any] = {
    "program": "mine",
    "processors": 1,
    "page": 4096,
    "unit": "1",
    "phases": [],
}


def counts_of(tally: dict[str, Any]) -> Counts:
    """Count a phase of two processors, of which the other one does nothing."""
    return Counts.from_dict(
        {**COUNTS, "processors": 2, "phases": [{"name": "a", "tallies": [tally, {}]}]}
    )


NAMING = "write letters, digits, _ - and dots"


class Case(NamedTuple):
    """One refusal: what is done, which error, its whole text."""

    does: Callable[[], Any]
    error: type[SlipstickError]
    text: str


def bad(does: Callable[[], Any], text: str, error: type[SlipstickError] = ModelError) -> Case:
    return Case(does, error, text)


def _picked_by_work(option: Activity, resources: dict[str, Any]) -> Model:
    return closed_model(pick(service("desk", 1.0), option, by="least-work"), resources=resources)


EXPRESSION = [
    bad(
        lambda: Dimension.of("ms"),
        "'ms' is not a dimension; write base units as in 's/B': s, B, op, request, page, message,"
        " cycle",
        UnitError,
    ),
    bad(lambda: Number(math.nan), "a number in an expression must be finite, got nan"),
    bad(
        lambda: N + math.inf,
        "an operand must be a finite number in base units, such as 9e-3, or an expression, got inf",
    ),
    bad(
        lambda: engset(0.5, 4, 3),
        "engset(load, servers, sources) takes at least as many sources as servers, 4; got 3"
        " sources",
    ),
    bad(lambda: maximum(1e308, 2) * 10, "a number in an expression must be finite, got inf"),
    bad(lambda: Number(1e308) + 1e308, "a number in an expression must be finite, got inf"),
    bad(lambda: Parameter("two words"), f"'two words' cannot name a parameter: {NAMING}"),
    bad(lambda: Parameter("1st"), f"'1st' cannot name a parameter: {NAMING}"),
    bad(lambda: Parameter("x" * 300), f"{'x' * 60!r} cannot name a parameter: {NAMING}"),
    bad(
        lambda: Parameter("x", value=math.nan),
        "Parameter: value must be a finite number, or None, got nan",
    ),
    bad(
        lambda: ceil_log(8, 1), "the radix of ceil_log must be a whole number of at least 2, got 1"
    ),
    bad(
        lambda: ceil_log(8, 2.5),
        "the radix of ceil_log must be a whole number of at least 2, got 2.5",
    ),
    bad(
        lambda: Tape([ceil_log(8, N)]).run({"n": 2.5}),
        "the radix of ceil_log must be a whole number of at least 2, got 2.5",
    ),
    bad(
        lambda: Tape([ceil_log(8, N)]).run({"n": math.nan}),
        "the radix of ceil_log must be a whole number of at least 2, got nan",
    ),
    bad(
        lambda: parameters(N, Parameter("n", COUNT, 4.0)),
        "parameter n stands for two values, 3.0 and 4.0; give each a name of its own",
    ),
    bad(lambda: T + B, "cannot add [s] and [B]: t and b; multiply the [B] by a quantity in [s/B]"),
    bad(
        lambda: B - T,
        "cannot subtract [B] and [s]: b and t; multiply the [s] by a quantity in [B/s]",
    ),
    bad(lambda: T + 1, "cannot add [s] and [1]: t and 1; write '1 s' or '1 ms'"),
    bad(
        lambda: maximum(T, B),
        "cannot compare [s] and [B]: t and b; multiply the [B] by a quantity in [s/B]",
    ),
    bad(
        lambda: select(N, 1, T, B),
        "cannot choose between [s] and [B]: t and b; multiply the [B] by a quantity in [s/B]",
    ),
    bad(
        lambda: substitute(T, {"t": B}),
        (
            "cannot put in the place of t [s] and [B]: t and b; multiply the [B] by a quantity in "
            "[s/B]"
        ),
    ),
    bad(lambda: compare(T, "<", 3), "cannot compare [s] and [1]: t and 3; write '3 s' or '3 ms'"),
    bad(
        lambda: B + maximum(*(T * n for n in range(2, 20))),
        "cannot add [B] and [s]: b and max(t * 2, t * 3, t * 4, t * 5, t * 6, t * 7, t * 8, t"
        " * ...; multiply the [s] by a quantity in [B/s]",
    ),
    bad(lambda: sqrt(T), "sqrt takes a plain number, got [s]: t"),
    bad(lambda: ceil_log(B, 2), "ceil_log takes a plain number, got [B]: b"),
    bad(lambda: T / 0, "division by zero: t / 0"),
    bad(lambda: N**0.5, "an exponent must be a whole number from -64 to 64, got 0.5"),  # type: ignore[operator]
    bad(lambda: N**65, "an exponent must be a whole number from -64 to 64, got 65"),
    bad(lambda: Number(0.0) ** -1, "0 ** -1 is not a finite number"),
    bad(lambda: Number(1e300) ** 2, "1e+300 ** 2 is not a finite number"),
    bad(lambda: maximum(), "max needs at least one operand"),
    bad(lambda: sqrt(-1), "sqrt has no value at -1"),
    bad(lambda: log2(0), "log2 has no value at 0"),
    bad(lambda: compare(N, "=", 3), "there is no relation '='; write one of <= >= < > == !="),
    bad(
        lambda: Tape([T * N]).run({"m": 1.0, "k": 2.0}),
        "no parameter is named m, k; there are t, n",
    ),
    bad(lambda: Tape([NAMELESS]).run({}), "parameter x has no value"),
    bad(
        lambda: Tape([T * N]).run({"t": np.ones(2), "n": np.ones(3)}),
        "varied parameters must have equally many points, got [2, 3]",
    ),
]

ABOUT_LAWS = [
    bad(lambda: law_that_gives(BYTES).right_side, "law made gives a [s], not a [B]"),
    bad(
        lambda: FLOW(onc=1, longest=1, items=1),
        "law flow-line has no symbol 'onc'; did you mean 'once'?",
    ),
    bad(
        lambda: FLOW(once=1.0),
        "law flow-line needs longest [s]: time of one item at the longest serial stage; "
        "items [1]: number of items, all ready at the start",
    ),
    bad(
        lambda: FLOW(once=3.0, longest=1.0, items=0.5),
        "law flow-line holds for items >= 1; got once = 3, longest = 1, items = 0.5",
    ),
    bad(
        lambda: FLOW(once=np.ones(2), longest=np.array([1, 2]), items=np.ones(2)),
        "law flow-line holds for once >= longest; got an array outside that",
    ),
]

ACTIVITIES = [
    bad(
        lambda: delay(1.0, name="two words"),
        f"'two words' cannot be a name: {NAMING}, starting with a letter",
    ),
    bad(lambda: delay(1.0, name=""), f"'' cannot be a name: {NAMING}, starting with a letter"),
    bad(lambda: hold("1", A), f"'1' cannot be a name: {NAMING}, starting with a letter"),
    bad(
        lambda: hold("x" * 70, A),
        f"{'x' * 64!r} cannot be a name: {NAMING}, starting with a letter",
    ),
    bad(
        lambda: delay(1.0, name="a", technology="adaptor"),
        "step a: there is no technology class 'adaptor'; did you mean 'adapter'?",
    ),
    bad(
        lambda: delay(1.0, name="a", scv=-1.0),
        "delay: scv must be a finite number of at least 0, got -1.0",
    ),
    bad(lambda: Step("a", T, scv=math.nan), "step a: scv must be at least 0, got nan"),
    bad(lambda: delay(-1.0), "the time of delay must be at least 0 s, got -1.0"),
    bad(
        lambda: service("bus", math.nan),
        (
            "service: time must be a finite number in base units, such as 9e-3, or an expression, "
            "got nan"
        ),
    ),
    bad(
        lambda: service("bus", math.inf),
        (
            "service: time must be a finite number in base units, such as 9e-3, or an expression, "
            "got inf"
        ),
    ),
    bad(lambda: delay(B, name="a"), "the time of a must be a [s], got [B]: b"),
    bad(
        lambda: LAWS["amdahl-time"](serial=1.0, parallel=math.inf, processors=2),
        "law amdahl-time: parallel must be a finite number, got inf",
    ),
    bad(
        lambda: LAWS["amdahl-time"](serial="1", parallel=1.0, processors=2),
        "law amdahl-time: serial must be a number, an array of numbers or an expression, got '1'",
    ),
    bad(lambda: fork(), "fork needs at least one branch"),
    bad(
        lambda: fork(A, C, join=3),
        "a fork of 2 branches waits for a whole number of them, from 0 to 2, got 3",
    ),
    bad(
        lambda: closed_model(hold("door", A, permits=2), 2),
        "a hold takes several permits at once, and door is a lock; give it permits",
    ),
    bad(
        lambda: closed_model(hold("door", A, permits=4), 2, resources={"door": Permits(3)}),
        (
            "a hold takes 4 permits of door at once, and there are 3: it would wait without end; "
            "take at most 3, or have more of them"
        ),
    ),
    bad(
        lambda: closed_model(
            attempt(hold("door", A, permits=2), queue=1), 2, resources={"door": Permits(3)}
        ),
        "an attempt at door that may find its queue full takes one permit at a time; leave out its"
        " queue, or its permits",
    ),
    bad(
        lambda: phased_model((1, 2, fork(A, C, join=1))),
        "a branch that a fork does not wait for may outlast a program that ends; give it to"
        " processors that repeat a cycle, or to arrivals",
    ),
    bad(
        lambda: fork([A, C]),  # type: ignore[arg-type]
        (
            "fork: branches[0] must be an activity, such as delay(1.0), got [delay(1.0, name='a'), "
            "delay(2.0, name='c')]"
        ),
    ),
    bad(
        lambda: choose([(0.5, A), (0.5, C)]),  # type: ignore[arg-type]
        (
            "choose: options[0][0] must be a finite number in base units, such as 9e-3, or an "
            "expression, got (0.5, delay(1.0, name='a'))"
        ),
    ),
    bad(lambda: choose((1.5, A)), "a probability of choose must lie between 0 and 1, got 1.5"),
    bad(
        lambda: choose((0.5, A), (0.4, C)), "the probabilities of choose must add up to 1, got 0.9"
    ),
    bad(lambda: choose((T, A)), "a probability must be a [1], got [s]: t"),
    bad(lambda: choose(), "the probabilities of choose must add up to 1, got 0"),
    bad(lambda: repeat(-1, A), "the count of repeat must be at least 0, got -1"),
    bad(lambda: repeat(T, A), "the count of repeat must be a [1], got [s]: t"),
    bad(
        lambda: model_with_breakdowns(open_model(A, 1.0), {}),
        "stations break down beside processors that repeat a cycle; write a stream of requests as a"
        " queueing network",
    ),
    bad(
        lambda: network_with_breakdowns(
            network(
                {"jobs": closed_class(1)}, {"cpu": station(demand={"jobs": 1.0}, discipline="ps")}
            ),
            {"cpu": Breakdown(T, T)},
        ),
        "a breakdown interrupts a service, which is resumed later, at stations with the discipline"
        " fcfs or priority-preemptive; cpu has ps",
    ),
    bad(
        lambda: network_with_breakdowns(
            network({"jobs": closed_class(1)}, {"cpu": station(demand={"jobs": 1.0}, rates=[1])}),
            {"cpu": Breakdown(T, T)},
        ),
        "cpu cannot break down with rates: a server in repair would count among the customers"
        " present",
    ),
    bad(
        lambda: repeat(2.5, A, scv=0.03),
        (
            "the scv of a count with mean 2.5 is at least 0.04, that of the whole numbers next to "
            "it, got 0.03"
        ),
    ),
    bad(
        lambda: repeat(2, A, "geometric", scv=0.5),
        "a repeat has an scv or probabilities, or the spread geometric; not both",
    ),
    bad(
        lambda: repeat([0.5, 0.5], A, scv=0.5),
        "a repeat has probabilities of its counts, or an scv; not both",
    ),
    bad(lambda: repeat([0.5, 0.4], A), "the probabilities of repeat must add up to 1, got 0.9"),
    bad(lambda: pipeline([A], 0), "the items of a pipeline must be at least 1, got 0"),
    bad(lambda: pipeline([], 3, name="line"), "pipeline line needs at least one stage"),
    bad(lambda: Stage("serial", (), "empty"), "stage empty has nothing to do; give it an activity"),
    bad(
        lambda: pipeline([serial(A, C, name="each")], 3),
        "stage each has 2 bodies, one for each item, but the pipeline has 3 items",
    ),
    bad(
        lambda: pipeline([serial(A, C, name="each")], N),
        "stage each has 2 bodies, one for each item, but the pipeline has n items",
    ),
    bad(
        lambda: pipeline([A, C, A], 2, name="line"),
        "the stages of pipeline line need names of their own; used twice: a",
    ),
    bad(
        lambda: barrier("meet", parties=0),
        "barrier: parties must be a whole number of at least 1, or None, got 0",
    ),
]

SYSTEMS = [
    bad(
        lambda: Station(servers=0),
        "Station: servers must be a whole number from 1 to 1,000,000, got 0",
    ),
    bad(
        lambda: Station(discipline="elevator"),
        (
            "there is no discipline 'elevator'; known: fcfs, ps, lcfs, random, lcfs-pr, is, "
            "priority, priority-preemptive"
        ),
    ),
    bad(
        lambda: Station(discipline="lifo"),
        "there is no discipline 'lifo'; did you mean 'lcfs'?",
    ),
    bad(lambda: Station(2, "is"), "an is station serves everyone at once; leave servers out"),
    bad(lambda: Station(rates=(1.0, 0.0)), "the rates of a station must be above 0, got 0"),
    bad(lambda: service("cpu", 1.0, weight=0), "the weight of step cpu must be above 0, got 0"),
    bad(
        lambda: closed_model(service("cpu", 1.0, weight=2), 2),
        (
            "step cpu has a weight, but cpu does not share its server; give a station the "
            "discipline ps"
        ),
    ),
    bad(
        lambda: Lock("spin"), "there is no lock 'spin'; known: fifo, tas, ttas, ticket, array, mcs"
    ),
    bad(
        lambda: Lock("mcs", together=True),
        "locks that are taken together have the kind tas, a back-off, and no word",
    ),
    bad(
        lambda: Lock("tas", back_off="grow"),
        "there is no back-off 'grow'; known: none, constant, exponential",
    ),
    bad(lambda: grouped_model({}), "give at least one group of processors"),
    bad(lambda: Barrier("centre"), "there is no barrier 'centre'; did you mean 'central'?"),
    bad(
        lambda: Model("m", closed_model(service("bus", 1.0)).population, {"bos": Station()}),
        "bus needs a station called 'bus', which does not exist; did you mean 'bos'?",
    ),
    bad(
        lambda: closed_model(service("bus", 1.0), resources={"bus": Lock()}),
        "bus needs a station, but 'bus' is a lock",
    ),
    bad(
        lambda: closed_model(hold("bus", A), resources={"bus": Station()}),
        "hold needs a lock, permits or a monitor, but 'bus' is a station",
    ),
    bad(lambda: Permits(0), "Permits: number must be a whole number from 1 to 1,000,000, got 0"),
    bad(
        lambda: closed_model(barrier("bus"), resources={"bus": Station()}),
        "barrier needs a barrier, but 'bus' is a station",
    ),
    bad(
        lambda: closed_model(A >> delay(2.0, name="a")),
        "two different steps are called a; give each a name of its own",
    ),
    bad(
        lambda: closed_model(pipeline([A], 2) >> pipeline([C], 2)),
        "two different pipelines are called pipeline; give each a name of its own",
    ),
    bad(
        lambda: closed_model(A, name="two\nlines"),
        "'two\\nlines' cannot name a model: write at most 255 characters that can be printed",
    ),
    bad(lambda: closed_model(A, 0), "a population needs at least 1 processor, got 0"),
    bad(lambda: closed_model(A, T), "processors must be a [1], got [s]: t"),
    bad(lambda: open_model(A, T), "arrivals must be a [1/s], got [s]: t"),
    bad(lambda: open_model(A, -0.5), "the rate of arrivals must be at least 0, got -0.5"),
    bad(
        lambda: open_model(A, math.nan),
        (
            "open_model: rate must be a finite number in base units, such as 9e-3, or an "
            "expression, got nan"
        ),
    ),
    bad(lambda: phased_model(), "a program needs at least one phase"),
    bad(lambda: phased_model((-1, 2, A)), "the repeat of a phase must be at least 0, got -1"),
    bad(
        lambda: superstep_model((1, [A], C), (1, [A, A], C)),
        "supersteps need at least one processor, and the same number of them in each",
    ),
    bad(lambda: phased_model((1, 0, A)), "the processors of a phase must be at least 1, got 0"),
    bad(lambda: phased_model((T, 1, A)), "repeat must be a [1], got [s]: t"),
]

SOLVING = [
    Case(
        lambda: ByQueue().weighted_children,
        NoAnswerError,
        (
            "how often steps of the kind by-queue execute their parts depends on the state of the"
            " system, which only markov-chain and simulation follow"
        ),
    ),
    bad(
        lambda: ClosedForm(closed_model(A)).times({"b": 1.0}),
        "no parameter is named b; there are a, population.processors",
    ),
    bad(
        lambda: solve(closed_model(A, name="slow"), {"a": math.inf}),
        "a must be a finite number in base units, or text with a unit, got inf",
    ),
    bad(
        lambda: solve(closed_model(A), {"a": -1.0}),
        "a must be a number of at least 0, got -1",
    ),
]

NETWORK = [
    bad(
        lambda: station(discipline="fcsf"),
        "a queue cannot have the discipline 'fcsf'; did you mean 'fcfs'?",
    ),
    bad(
        lambda: station(capacity=1, blocking="repaet"),
        "a full queue cannot have the blocking 'repaet'; did you mean 'repeat'?",
    ),
    bad(
        lambda: region(["cpu"], 2, blocking="lost"),
        "a full region cannot have the blocking 'lost'; did you mean 'loss'?",
    ),
    bad(
        lambda: station(servers=0),
        "station: servers must be a whole number from 1 to 9,007,199,254,740,992, got 0",
    ),
    bad(lambda: station(demand={"a": -1.0}), "the demand of a cannot be negative, got -1"),
    bad(
        lambda: station(demand={"a": float("nan")}),
        (
            "station: demand['a'] must be a finite number in base units, such as 9e-3, or an "
            "expression, got nan"
        ),
    ),
    bad(lambda: station(service={"a": N}), "the service of a is a [s], but n is a [1]"),
    bad(lambda: closed_class(2.5), "a population must be a whole number, got 2.5"),
    bad(
        lambda: open_class(1.0, burst_time=1.0),
        "arrivals in bursts need a burst_time and a quiet_time",
    ),
    bad(
        lambda: open_class(1.0, batch=0),
        "open_class: batch must be a whole number from 1 to 9,007,199,254,740,992, got 0",
    ),
    bad(
        lambda: open_class(1.0, batch=2, trace=[1.0]),
        "a trace says when customers arrive; leave bursts and batches out",
    ),
    bad(
        lambda: open_class(1.0, trace=[0.0, 0.0]),
        "the times between the arrivals of a trace must be finite, not negative, and not all 0",
    ),
    bad(
        lambda: open_class("3 /s"),  # type: ignore[arg-type]
        (
            "open_class: rate must be a finite number in base units, such as 9e-3, or an "
            "expression, got '3 /s'"
        ),
    ),
    bad(
        lambda: network(
            {"a": closed_class(1)}, {"cpu": station(demand={"a": 1.0, "b": 1.0}), "disk": station()}
        ),
        "stations.cpu.demand.b: there is no class 'b'; known: a; "
        "stations.disk: no class visits disk; give it a demand, or leave it out",
        ModelFaultsError,
    ),
    bad(
        lambda: program_of_routes(
            [
                (START, 0, ONCE),
                *((a, b, Number(0.1)) for a in range(9) for b in (*range(9), END)),
            ],
            lambda place: delay(1.0, name=f"at-{place}"),
        ),
        "the routes make a program of more than 2,000 steps; keep the network, or leave out some of"
        " its ways",
        NoAnswerError,
    ),
    bad(
        lambda: lower_network(
            network(
                {"a": closed_class(1)},
                {"cpu": station(demand={"a": 1.0}, servers=3, capacity=2)},
            )
        ),
        "network cannot be written as an activity: cpu has a capacity, and no queue of which some"
        " places are left",
        NoAnswerError,
    ),
]

PROGRAM = [
    bad(
        lambda: UNIT.on(SHARED, accesses=0),
        "the test grain does nothing; give it accesses, compute, a lock or a barrier",
    ),
    bad(
        lambda: PHASES.on(SHARED),
        "there are no phases; give repeat, a list with the grains of each processor in every phase",
    ),
    bad(
        lambda: PHASES.on(SHARED, repeat=(Number(1.0),), processors=(Number(2.0), Number(3.0))),
        "processors has 2 values, but repeat has 1 phases",
    ),
    bad(
        lambda: PHASES.on(SHARED, repeat=(Number(1.0),), processors=(Number(2.0),)),
        "phase 1 does nothing; give it accesses, compute or a critical section",
    ),
    bad(lambda: UNIT.on(SHARED, lock="mcss"), "bbn-tc2000 has no lock 'mcss'; did you mean 'mcs'?"),
    bad(
        lambda: UNIT.on(shared_machine("ksr-1"), local=0.5),
        "the memory modules of ksr-1 belong to no processor; leave out local",
    ),
    bad(
        lambda: UNIT.on(SHARED, compute=1, barrier="tee"),
        "bbn-tc2000 has no barrier 'tee'; did you mean 'tree'?",
    ),
    bad(lambda: UNIT.on(SHARED, access="wirte"), "access cannot be 'wirte'; did you mean 'write'?"),
    bad(lambda: UNIT.on(SHARED, access=1), "access is a word, one of read, write; got 1"),
    bad(lambda: UNIT.on(SHARED, compute="many"), "compute is a quantity, not a word; got 'many'"),
    bad(
        lambda: UNIT.on(SHARED, accesses=1, elements=NAMELESS),
        "elements shapes the model: write a number, not x",
    ),
    bad(
        lambda: delay("9 ms", name="work"),  # type: ignore[arg-type]
        (
            "delay: time must be a finite number in base units, such as 9e-3, or an expression, "
            "got '9 ms'"
        ),
    ),
    bad(
        lambda: solve(delay(1.0, name="work")),  # type: ignore[call-overload]
        "solve takes a model, not a Step; wrap an activity with closed_model(...), or load one by"
        " name",
    ),
    bad(
        lambda: dump(load("group-commit")),  # type: ignore[arg-type]
        "dump takes a model of an activity, not a server that works in rounds",
    ),
    bad(
        lambda: DIFFS.on("rs6000-43p-atm"),  # type: ignore[arg-type]
        (
            "dvsm/diff-request runs on a machine, as load('machine/...') gives it; got "
            "'rs6000-43p-atm'"
        ),
    ),
    bad(
        lambda: closed_model(
            hold("door", delay(1.0, name="a") >> hold("door", delay(1.0, name="b")))
        ),
        "door is requested by a processor that holds it already, which is a deadlock",
    ),
    bad(
        lambda: closed_model(barrier("meet", parties=9), processors=4),
        "barrier meet waits for 9 processors, but there are 4, which is a deadlock",
    ),
    bad(
        lambda: delay(Number(3.0, TIME) + Parameter("a", TIME, 1.0), name="work"),
        "the time of work holds a constant of 3 s; make it a parameter, so that its share can be"
        " computed",
    ),
    bad(
        lambda: MachineOperations(FE, "sum", "busy").collective(
            "reduce", *TWO_BYTES, "ring", "network", None
        ),
        "reduce has no algorithm 'ring'; known: tree, rabenseifner, levels, best",
    ),
    bad(
        lambda: MachineOperations(FE, "sum", "busy").collective(
            "reduce", *TWO_BYTES, "levels", None, None
        ),
        "reduce works in levels over nodes; give machine.node",
    ),
    bad(
        lambda: MachineOperations(FE, "sum", "busy").collective(
            "allreduce", *TWO_BYTES, "in-switch", "network", None
        ),
        "in-switch needs switches that compute; give machine.network.in_switch:"
        " {algorithm: in-switch, per_byte: RATE}",
    ),
    bad(
        lambda: MachineOperations(FE, "send", "busy").message(TWO_BYTES[0], "node"),
        "send is within a node, which this machine does not have; give machine.node",
    ),
    bad(
        lambda: MachineOperations(FE, "sum", "busy").compute(TWO_BYTES[1]),
        "sum needs machine.processors.flops, which this machine does not give; add it, as in"
        " machine: {extends: NAME, processors: {flops: ...}}",
    ),
    bad(
        lambda: DIFFS.on(FE, part=3), "dvsm/diff-request has no input 'part'; did you mean 'parts'?"
    ),
    bad(lambda: DIFFS.on(FE, parts=0), "parts must be at least 1 [1], got 0"),
    bad(lambda: DIFFS.on(FE, compute=-1e-6), "compute must be at least 0 [s], got -1e-06"),
    bad(
        lambda: DIFFS.on(FE, compute=math.nan),
        "compute must be a finite number in base units or an expression, got nan",
    ),
    bad(
        lambda: PROGRAMS["dvsm/application"].on(FE, sequential=1.0),
        "dvsm/application needs counts: counts of a program, derived or measured",
    ),
    bad(lambda: PROGRAMS["dvsm/application"].on(FE, counts=3.0), "counts takes counts, got 3.0"),
    bad(
        lambda: counted_program("lock"),
        "there is no program with counts 'lock'; known: sor, is, barnes, sphere, water, raytrace",
        UnknownNameError,
    ),
    bad(
        lambda: ProcessorTally().total("fault"), "there is no count 'fault'; did you mean 'faults'?"
    ),
    bad(
        lambda: ProcessorTally.from_dict({"twin": 1}),
        "a tally cannot hold 'twin'; did you mean 'twins'?",
    ),
    bad(
        lambda: ProcessorTally.from_dict({"twins": 1.5}),
        "twins is counted in whole numbers from 0, got 1.5",
    ),
    bad(
        lambda: ProcessorTally.from_dict({"faults": [[1, 20, -1]]}),
        "faults is counted in whole numbers from 0, got -1",
    ),
    bad(
        lambda: ProcessorTally.from_dict({"waits": True}),
        "waits is counted in whole numbers from 0, got True",
    ),
    bad(
        lambda: Counts.from_dict({**COUNTS, "pages": 1}),
        "counts cannot hold 'pages'; did you mean 'page'?",
    ),
    bad(
        lambda: Counts.from_dict({"program": "mine"}), "counts lack processors, page, unit, phases"
    ),
    bad(
        lambda: Counts.from_dict({**COUNTS, "phases": [{"name": "a", "tallies": []}]}),
        "phase 'a' has 0 tallies, but there are 1 processors",
    ),
    bad(
        lambda: counts_of({"faults": [[2, 40, 3]]}),
        "processor 0 in phase 'a': faults of 2 parts; there are 1 other processors to ask",
    ),
    bad(
        lambda: counts_of({"acquisitions": [[2, 3]]}),
        "processor 0 in phase 'a': acquisitions of 2 hops; among 2 processors there are at most 1,"
        " to the lock's manager and from there to its last holder",
    ),
    bad(
        lambda: counts_of({"served_diffs": 3}),
        "processor 0 in phase 'a': 3 served_diffs, but 0 messages in sent.diffs; give both",
    ),
    bad(
        lambda: counts_of({"acquisitions": [[1, 3]]}),
        "3 acquisitions of 1 or 2 hops, but 0 counted in granted; each is served by one processor",
    ),
    bad(lambda: DIFFS.on(FE, parts=2.5), "parts must be a whole number, got 2.5"),
    bad(
        lambda: DIFFS.on(FE, parts=math.inf),
        "parts must be a finite number in base units or an expression, got inf",
    ),
    bad(lambda: DIFFS.on(FE, replies=20.0), "replies must be a list of values, one for each part"),
    bad(lambda: DIFFS.on(FE, replies=()), "replies must be a list of values, one for each part"),
    bad(lambda: DIFFS.on(FE, request=(B, B)), "request must be one value, not a list of 2"),
    bad(
        lambda: PROGRAMS["dvsm/diff-phase"].on(FE, askers=2 * N),
        "askers shapes the model: write a number, not 2 * n",
    ),
    bad(
        lambda: PROGRAMS["dvsm/diff-phase"].on(FE, processors=4, askers=5),
        "dvsm/diff-phase has 5 askers among 4 processors; let there be fewer",
    ),
    bad(lambda: diff_phase(FE, faults=0), "a phase needs at least one of faults, got 0"),
    bad(
        lambda: lock_phase(FE, parties=4),
        "a lock request passes one manager at most, so there are 2 or 3 parties, got 4",
    ),
]

OPEN = Parameter("open", TIME, 1.0)

PATTERNS = [
    bad(
        lambda: attempt(delay(1.0), timeout=2.0),
        "an attempt is one step at a station, or one hold, and no delay",
    ),
    bad(
        lambda: attempt(service("desk", 1.0)),
        "an attempt at desk has a timeout or a patience, or a queue that may be full",
    ),
    bad(
        lambda: pick(service("desk", 1.0), A, by="chance"),
        "a pick cannot choose by 'chance'; known: shortest, shorter-of-two, in-turn, least-work",
    ),
    bad(lambda: pick(A), "a pick needs at least two bodies to choose from"),
    bad(
        lambda: route(("a", "b"), ("a", "c"), by="least-wok"),
        "a route cannot be selected by 'least-wok'; did you mean 'least-work'?",
    ),
    bad(
        lambda: closed_model(pick(service("desk", 1.0), A)),
        (
            "each part of a pick begins with a step at a station, or a hold of a fifo lock or of "
            "permits; one begins at nothing"
        ),
    ),
    *(
        bad(
            partial(_picked_by_work, option, resource),
            (
                "a pick by least-work needs stations whose servers have one speed, where the work "
                "of a visit is known when it begins; "
            )
            + words,
        )
        for resource, option, words in (
            ({"room": Permits(2)}, hold("room", A), "room is permits"),
            (
                {"fast": Station(1, "ps", (1.0, 2.0))},
                service("fast", 1.0),
                "fast is a station with rates",
            ),
            (
                {"wide": Station(1, "is")},
                service("wide", 1.0),
                "wide is a station where none waits",
            ),
        )
    ),
    bad(
        lambda: closed_model(A >> delay(1.0, name="rest", think=True), 2),
        (
            "step rest has think: true; think time must be the first step of a cycle with other "
            "steps; elsewhere, and for arrivals and programs, leave think out"
        ),
    ),
    bad(
        lambda: service("desk", 1.0).__class__("ask", A.time, "desk", think=True),
        "step ask: think time is spent at no resource; make it a delay",
    ),
    bad(
        lambda: attempt(service("desk", 1.0), queue=1, balking=[0.5]),
        "an attempt at desk cannot have both a queue and balking; to limit the queue by balking,"
        " write 1 as the last probability",
    ),
    bad(
        lambda: attempt(service("desk", 1.0), balking=[0.5, 0.2]),
        "probabilities of balking do not fall with the queue, and are at most 1, got 0.5, 0.2",
    ),
    bad(
        lambda: attempt(service("desk", 1.0), timeout=1.0, limits="visits"),
        "an attempt at desk cannot limit 'visits'; did you mean 'visit'?",
    ),
    bad(
        lambda: attempt(hold("desk", A), timeout=1.0, limits="visit"),
        "an attempt at desk with limits: visit needs a timeout or a patience, and a service at a"
        " station, whose server it frees",
    ),
    bad(
        lambda: closed_model(
            attempt(service("desk", 1.0), timeout=1.0, limits="visit"),
            2,
            resources={"desk": Station(1, "fcfs", (1.0, 2.0))},
        ),
        (
            "a service at desk, a station with rates, cannot be given up; write limits: wait, or "
            "servers in the place of rates"
        ),
    ),
    bad(
        lambda: closed_model(
            attempt(service("desk", 1.0), timeout=1.0, limits="visit", queue=2),
            2,
            resources={"desk": Station(1, "ps")},
        ),
        "an attempt at desk, whose servers are shared, finds no queue that is full; leave its queue"
        " out, or hold permits around the service",
    ),
    bad(
        lambda: Breaker(3, OPEN, of=2),
        "a circuit breaker cannot find 3 failures among 2 calls; let it look back at 3 or more",
    ),
    bad(
        lambda: closed_model(
            attempt(service("desk", 1.0), timeout=1.0, breaker="gaurd"),
            2,
            resources={"guard": Breaker(3, OPEN)},
        ),
        (
            "attempt needs a circuit breaker called 'gaurd', which does not exist; did you mean "
            "'guard'?"
        ),
    ),
    bad(
        lambda: closed_model(
            attempt(service("desk", 1.0), timeout=1.0, breaker="guard"),
            2,
            resources={"guard": Station()},
        ),
        "attempt needs a circuit breaker, but 'guard' is a station",
    ),
    bad(
        lambda: attempt(service("desk", 1.0), timeout=1.0, retries=2000),
        "an attempt at desk has from 0 to 1000 retries, got 2000",
    ),
    bad(
        lambda: attempt(service("desk", 1.0), timeout=1.0, back_off=1.0),
        "a pause before another attempt at desk needs retries, and its doubling a back_off",
    ),
    bad(
        lambda: serial(A) >> A,
        (
            "serial(...) is a stage of a pipeline, not an activity; write fork(a, b) for work done "
            "side by side, then(a, b) for one after the other"
        ),
    ),
    bad(
        lambda: repeat(2.5, A, spread="geometrical"),
        "the count of a repeat has no spread 'geometrical'; did you mean 'geometric'?",
    ),
    bad(lambda: ArrivalPattern(batch=0), "a batch is at least 1 customer, got 0"),
    bad(
        lambda: ArrivalPattern(arrivals_scv=-1.0),
        "the scv of times between arrivals is at least 0, got -1",
    ),
    bad(
        lambda: ArrivalPattern(burst_time=T),
        "bursts need both a burst_time and a quiet_time, or neither",
    ),
    bad(
        lambda: ArrivalPattern(arrivals_scv=2.0, trace=(1.0, 2.0)),
        "arrivals follow one pattern: arrivals that are not Poisson or recorded arrivals, not both",
    ),
    bad(
        lambda: ArrivalPattern(profile=((1.0, 2.0), (0.0, 1.0))),
        "a piece of a profile lasts longer than 0 s, got 0 s",
    ),
    bad(
        lambda: ArrivalPattern(profile=((1.0, -2.0),)),
        "the rate of a piece of a profile is at least 0 /s, got -2 /s",
    ),
    bad(
        lambda: ArrivalPattern(profile=((1.0, 0.0),)),
        "a profile needs a piece in which customers arrive",
    ),
    bad(
        lambda: open_class(1.0, trace=[1.0], profile=[(1.0, 2.0)]),
        "a profile says at which rate customers arrive; leave bursts and traces out",
    ),
    bad(
        lambda: StreamsPopulation((Group("clerks", Number(2.0), A),)),
        "group clerks does not arrive; a population of processors and arrivals is a"
        " ClosedPopulation",
    ),
    bad(
        lambda: ClosedPopulation((Group("calls", Number(0.0), A, RATES),)),
        "beside groups of processors, the first group must be one of them, but calls arrives;"
        " write a group with processors first",
    ),
    bad(
        lambda: closed_model(service("desk", 1.0, rank=2), 2),
        (
            "step desk has a rank, but desk does not serve by rank; give a station the discipline "
            "priority"
        ),
    ),
    bad(
        lambda: closed_model(
            attempt(service("desk", 1.0), timeout=1.0),
            2,
            resources={"desk": Station(discipline="ps")},
        ),
        (
            "an attempt needs a queue: a station that is not shared and interrupts no service, a "
            "fifo lock, or permits; desk is a station of the discipline ps; limits: visit gives up "
            "services there, too"
        ),
    ),
    bad(
        lambda: closed_model(service("own", 1.0), 2, resources={"own": Station()}),
        (
            "own is the name of a processor in steps, not of a resource; give the resource another "
            "name, such as own_desk"
        ),
    ),
    bad(
        lambda: closed_model(repeat(2, reply("door")), 2),
        "a reply to door stands inside a hold of door; there is none around it",
    ),
    bad(
        lambda: closed_model(fork(A, if_late(C)), 2),
        "if_late stands in a branch of a fork with a join, and leaves its steps out when the fork"
        " waits no longer; give the fork around it a join, such as 1",
    ),
    bad(
        lambda: closed_model(
            hold("door", repeat(2, reply("door"))), 2, resources={"door": Permits(1)}
        ),
        "a reply to door cannot stand inside a repeat that may execute it several times, or goes on"
        " beside its processor; put it directly into the body of the hold, a choice, or a fork that"
        " waits for all branches",
    ),
    bad(
        lambda: closed_model(
            hold("door", fork(reply("door"), reply("door"))), 2, resources={"door": Permits(1)}
        ),
        "the body of the hold of door may reply twice; its processor goes on once: leave one reply"
        " out, or put them into options of a choice",
    ),
    bad(
        lambda: closed_model(
            hold("door", choose((1.0, reply("door"))), after=delay(1.0)),
            2,
            resources={"door": Permits(1)},
        ),
        (
            "the hold of door has a reply, so what is done after it is part of its body; leave "
            "after out"
        ),
    ),
    bad(
        lambda: closed_model(
            hold("door", A, after=reply("door")), 2, resources={"door": Permits(1)}
        ),
        "a reply to door stands in what is done after the body of its hold, when its processor has"
        " gone on; leave this reply out",
    ),
    bad(
        lambda: closed_model(hold("door", A, after=C), 2, resources={"door": Lock("tas")}),
        "a second phase must hold a fifo lock or permits, not door, a lock",
    ),
    bad(
        lambda: closed_model(hold("door", A, after=barrier("all")), 2, resources={"door": Lock()}),
        (
            "the second phase at door cannot wait for other processors, because its own has gone "
            "on; leave barriers and pools out of it"
        ),
    ),
    bad(
        lambda: phased_model((1, 2, hold("door", A, after=C)), resources={"door": Lock()}),
        (
            "the second phase at door may outlast a program that ends; give it to processors that "
            "repeat a cycle, or to arrivals"
        ),
    ),
    bad(
        lambda: BatchServer("x", OpenCustomers(RATES), {}, {}),
        (
            "phases: a server that works in rounds needs at least one phase; round: a server that "
            "works in rounds needs the time of a round"
        ),
        ModelFaultsError,
    ),
]

WAITS = [bad(does, text) for does, text in (*WAITS_REFUSED, *POOLS_REFUSED)]
ALL_CASES = [
    *WAITS,
    *PATTERNS,
    *EXPRESSION,
    *ABOUT_LAWS,
    *ACTIVITIES,
    *SYSTEMS,
    *SOLVING,
    *NETWORK,
    *PROGRAM,
]


class ByQueue(Activity):
    """One of its parts, by the state of their queues."""

    made_of, word, variation = (), "by-queue", NEVER
    combination, use, executions = Combination.IN_TURN, NOTHING, (BY_STATE,)


def law_that_gives(dimension: Dimension) -> Law:
    time = Symbol("t", TIME, "a time", "t")
    gives = Symbol("y", dimension, "something", "y")
    return Law(
        "made", "Made up", gives, lambda t=time: t, "nobody", (Check((1.0,), 1.0, 0.0, "nobody"),)
    )


def refusal(case: Case) -> tuple[type[Exception] | None, str]:
    """Return the error that a case raises, with its text."""
    try:
        case.does()
    except SlipstickError as error:
        return type(error), str(error)
    return None, ""


def test_the_whole_texts() -> None:
    expected = [(case.error, case.text) for case in ALL_CASES]
    raised = [refusal(case) for case in ALL_CASES]
    assert [pair for pair in zip(raised, expected, strict=True) if pair[0] != pair[1]] == []


def raised_at(case: Case) -> tuple[str, int]:
    """Return the file and line where a case's error is raised."""
    try:
        case.does()
    except SlipstickError as error:
        frame = error.__traceback__
        assert frame is not None
        while frame.tb_next is not None:
            frame = frame.tb_next
        return frame.tb_frame.f_code.co_filename, frame.tb_lineno
    raise AssertionError(case.text)


def test_every_raise_of_the_engine_has_its_text_in_the_table() -> None:
    reached = {raised_at(case) for case in ALL_CASES}
    root, forgotten = Path(slipstick.__file__).parent, []
    found = {pattern: sorted(root.glob(pattern)) for pattern in SOURCES}
    assert all(found.values()), "a module has moved"
    # What the reader of formulas says, and at which column, is in
    # tests/schema/text/test_formula.py; what series of points refuse is in
    # tests/model/test_series.py.
    elsewhere = ("formula.py", "series.py")
    for path in (path for paths in found.values() for path in paths if path.name not in elsewhere):
        # Passing an error on is no message of its own.
        raises = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Raise) and node.exc
        ]
        lines = {line for name, line in reached if name == str(path)}
        for node in raises:
            ours = not ast.unparse(node).startswith(("raise TypeError", "raise UnfitError"))
            if ours and lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
                forgotten.append(
                    f"{path.relative_to(root)}:{node.lineno}: {ast.unparse(node)[:80]}"
                )
    assert forgotten == []
