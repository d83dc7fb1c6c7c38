"""Locks and barriers.

Locks: time from one holder to the next, traffic, saturation and throughput.

Spinners are the processors that wait for the lock. A transaction is an access to the resource that
holds the lock's word: a bus transaction, or a remote access to a memory module that serves one at a
time.

Barriers: time from the last arrival until all have left, and number of messages.
"""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, RATE, TIME, ceil_log, maximum, minimum
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import DENNING_BUZEN, HAND, MELLOR_CRUMMEY_SCOTT, PARSONS
from slipstick_laws.spin_locks import ACCESS, ANDERSON, HANDOFF, SPINNERS, SPINNING

_IN_TURN = "the law assumes that transactions are served in order of request"


_ACCESSES = Symbol("accesses", COUNT, "number of transactions of acquire and release", "a")
_SOFTWARE = Symbol("software", TIME, "time of the instructions of acquire and release", "c")
LOCK_LATENCY = Law(
    name="lock-latency",
    title="Time to acquire and release a free lock",
    gives=Symbol("time", TIME, "time of acquire and release without contention", "T"),
    equation=lambda accesses=_ACCESSES, software=_SOFTWARE, access=ACCESS: (
        software + accesses * access
    ),
    holds="accesses >= 0 and software >= 0 and access >= 0",
    source=MELLOR_CRUMMEY_SCOTT,
    checks=(Check((2, 3e-6, 1e-6), 5e-6, 1e-21, HAND),),
)

TEST_AND_SET_HANDOFF = Law(
    name="lock-test-and-set-handoff",
    title=(
        "Time from a release until the next processor holds a test-and-set lock without back-off"
    ),
    gives=HANDOFF,
    equation=lambda spinners=SPINNERS, access=ACCESS: (spinners + 2) * access,
    holds=SPINNING,
    source=f"{ANDERSON}: the release waits for one attempt of every spinner",
    note=f"{_IN_TURN}; the release and the next attempt come after the transactions in progress",
    exact=False,
    checks=(Check((10, 1e-6), 12e-6, 1e-20, HAND),),
)


_REST = Symbol("delay", TIME, "pause between two attempts of a spinner; 0 without back-off", "d")
TEST_AND_SET_LOAD = Law(
    name="lock-test-and-set-load",
    title="Share of a resource that test-and-set spinners take",
    gives=Symbol("load", COUNT, "share of the time of the resource", r"\rho_s"),
    equation=lambda spinners=SPINNERS, delay=_REST, access=ACCESS: minimum(
        spinners * access / (delay + access), 1
    ),
    holds="spinners >= 0 and delay >= 0 and access > 0",
    source=ANDERSON,
    note=(
        "attempts are assumed not to wait for each other; if the share is near 1, the true share"
        " is lower"
    ),
    exact=False,
    checks=(
        Check((4, 9e-6, 1e-6), 0.4, 1e-16, HAND),
        Check((4, 0.0, 1e-6), 1.0, 0.0, f"{HAND}: one spinner is enough"),
    ),
)

TEST_AND_TEST_AND_SET_HANDOFF = Law(
    name="lock-test-and-test-and-set-handoff",
    title="Time from a release until the next processor holds a test-and-test-and-set lock",
    gives=HANDOFF,
    equation=lambda spinners=SPINNERS, access=ACCESS: (spinners + 2) * access,
    holds=SPINNING,
    source=f"{ANDERSON}: spinning on a cached copy",
    note=(
        f"{_IN_TURN}; the time is that of the release, a read by every spinner, and the first"
        " attempt"
    ),
    exact=False,
    checks=(Check((10, 1e-6), 12e-6, 1e-20, HAND),),
)

TEST_AND_TEST_AND_SET_QUIESCENCE = Law(
    name="lock-test-and-test-and-set-quiescence",
    title=(
        "Time from a release until the traffic of spinning processors ends, for a"
        " test-and-test-and-set lock"
    ),
    gives=Symbol("time", TIME, "time for which the resource is busy with spinners", "q"),
    equation=lambda spinners=SPINNERS, access=ACCESS: (
        access * (1 + 2 * spinners + spinners * (spinners - 1) / 2)
    ),
    holds=SPINNING,
    source=f"{ANDERSON}: the time grows with the square of the number of spinners",
    note=(
        "the time covers the release, and the reads and attempts of all processors; after each"
        " failed attempt, the spinning processors read again"
    ),
    exact=False,
    checks=(Check((10, 1e-6), 66e-6, 1e-19, f"{HAND}: 1 + 10 + 10 + 45"),),
)


_LOCK_SOFTWARE = Symbol(
    "software",
    TIME,
    "time of the instructions between finding the next processor and writing its flag",
    "c",
)
QUEUE_LOCK_HANDOFF = Law(
    name="lock-queue-handoff",
    title=(
        "Time from a release until the next processor holds a queue lock (MCS or array of flags)"
    ),
    gives=HANDOFF,
    equation=lambda software=_LOCK_SOFTWARE, access=ACCESS: software + 2 * access,
    holds="software >= 0 and access >= 0",
    source=(
        f"{MELLOR_CRUMMEY_SCOTT}: one write to the flag on which the next processor spins, and one"
        " read by that processor, however many wait"
    ),
    checks=(
        Check((1e-6, 1e-6), 3e-6, 1e-21, HAND),
        Check((3e-06, 1e-06), 5e-06, 1e-17, HAND),
    ),
)

_THINK = Symbol("think", TIME, "time of a processor between critical sections", "Z")
_LATENCY = Symbol("latency", TIME, "time of acquire and release while the lock is free", "T")
_SECTION = Symbol("section", TIME, "time of the critical section", "s")
_NEXT_HOLDER = Symbol("handoff", TIME, "time from the release to the next holder", "h")
LOCK_SATURATION = Law(
    name="lock-saturation",
    title="Processors that saturate a lock",
    gives=Symbol("processors", COUNT, "number of processors above which some always wait", "N^*"),
    equation=lambda think=_THINK, latency=_LATENCY, section=_SECTION, handoff=_NEXT_HOLDER: (
        (think + latency + section) / (section + handoff)
    ),
    holds="think >= 0 and latency >= 0 and section >= 0 and section + handoff > 0",
    source=DENNING_BUZEN,
    checks=(
        Check((9.0, 0.0, 1.0, 0.0), 10.0, 0.0, HAND),
        Check((9.0, 2.0, 1.0, 0.5), 8.0, 8e-14, f"{HAND}: 12 / 1.5"),
    ),
)

_USERS = Symbol("processors", COUNT, "number of processors that use the lock", "N")
LOCK_THROUGHPUT_BOUND = Law(
    name="lock-throughput-bound",
    title="Bound on the throughput of a lock",
    gives=Symbol("throughput", RATE, "rate of critical sections of all processors", "X"),
    equation=lambda processors=_USERS, think=_THINK, latency=_LATENCY, section=_SECTION, handoff=_NEXT_HOLDER: (
        processors / maximum(think + latency + section, processors * (section + handoff))
    ),
    holds=(
        "processors >= 1 and think >= 0 and latency >= 0 and section >= 0 and handoff >= 0 and"
        " section > 0"
    ),
    source=DENNING_BUZEN,
    note="this is an upper bound; for random times see law/machine-repairman-throughput",
    checks=(
        Check((20, 9.0, 0.0, 1.0, 0.25), 0.8, 0.0, HAND),
        Check((5, 8.0, 1.0, 1.0, 1.0), 0.5, 0.0, HAND),
        Check((20, 9.0, 2.0, 1.0, 0.5), 0.6666666666666666, 7e-15, f"{HAND}: 20 / 30"),
        Check((5, 9.0, 2.0, 1.0, 0.5), 0.4166666666666667, 4e-15, f"{HAND}: 5 / 12"),
    ),
)


_TOGETHER = "all processors arrive together, which is the worst case"
_PROCESSORS = Symbol("processors", COUNT, "number of processors that take part", "N")
_COST = Symbol("time", TIME, "time from the last arrival until all have left", "T_B")
_SENT = Symbol("messages", COUNT, "number of remote accesses of all processors", "n")
_MESSAGE = Symbol(
    "message",
    TIME,
    "time of one remote access, from the write until the other processor has seen it",
    "t",
)


_UPDATE = Symbol("update", TIME, "time of one update of the counter; updates are serial", "t_u")
_NOTICE = Symbol(
    "notice",
    TIME,
    "time of one read of the changed flag; the reads of the processors are serial",
    "t_n",
)
CENTRAL_BARRIER = Law(
    name="barrier-central",
    title="Time of a barrier on one counter",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, update=_UPDATE, notice=_NOTICE: (
        processors * update + (processors - 1) * notice
    ),
    holds="processors >= 1 and update >= 0 and notice >= 0",
    source=f"{MELLOR_CRUMMEY_SCOTT}: the sense-reversing centralized barrier",
    note=(
        f"{_TOGETHER}; if the change of the flag is broadcast, set notice to 0 and add the time of"
        " one broadcast"
    ),
    checks=(
        Check((8, 1.0, 0.5), 11.5, 0.0, f"{HAND}: 8 + 3.5"),
        Check((8, 0.2, 0.5), 5.1, 5e-14, f"{HAND}: 1.6 + 3.5"),
    ),
)

_FAN = Symbol("fan", COUNT, "number of processors, or of counters, that share a counter", "k")
_TREE_UPDATE = Symbol("update", TIME, "time of one update of a counter; updates are serial", "t_u")
_TREE_NOTICE = Symbol("notice", TIME, "time of one read of a changed flag; reads are serial", "t_n")
COMBINING_TREE_BARRIER = Law(
    name="barrier-combining-tree",
    title="Time of a barrier on a tree of counters",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, fan=_FAN, update=_TREE_UPDATE, notice=_TREE_NOTICE: (
        ceil_log(processors, fan) * (fan * update + (fan - 1) * notice)
    ),
    holds="fan >= 2 and fan == floor(fan) and processors >= 1 and update >= 0 and notice >= 0",
    source="Yew, Tzeng and Lawrie, IEEE Transactions on Computers C-36(4), 1987",
    note=f"{_TOGETHER}; the time covers the way up the tree to the root and the way down again",
    checks=(
        Check((60, 4, 1.0, 0.5), 16.5, 0.0, f"{HAND}: 3 levels of 4 + 1.5"),
        Check((64, 4, 1.0, 0.0), 12.0, 0.0, f"{HAND}: 3 levels"),
        Check((60, 4, 0.2, 0.5), 6.9, 7e-14, f"{HAND}: 3 levels of 0.8 + 1.5"),
    ),
)

_RELEASE = Symbol(
    "release",
    TIME,
    (
        "time of one round of the way back; 0 if the flag of the champion is broadcast, whose time"
        " is then added separately"
    ),
    "t_r",
)
TOURNAMENT_BARRIER = Law(
    name="barrier-tournament",
    title="Time of a tournament barrier",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, message=_MESSAGE, release=_RELEASE: (
        ceil_log(processors, 2) * (message + release)
    ),
    holds="processors >= 1 and message >= 0 and release >= 0",
    source=(
        f"{MELLOR_CRUMMEY_SCOTT}; Hensgen, Finkel and Manber, International Journal of Parallel"
        " Programming 17(1), 1988"
    ),
    checks=(Check((9, 1.0, 0.5), 6.0, 0.0, f"{HAND}: 4 rounds up and down"),),
)

TOURNAMENT_BARRIER_MESSAGES = Law(
    name="barrier-tournament-messages",
    title="Remote accesses of a tournament barrier",
    gives=_SENT,
    equation=lambda processors=_PROCESSORS: 2 * processors - 2,
    holds="processors >= 1",
    source=(
        f"{MELLOR_CRUMMEY_SCOTT}: in each round, every processor that drops out writes once and is"
        " signalled once"
    ),
    checks=(Check((8,), 14.0, 0.0, HAND),),
)

DISSEMINATION_BARRIER = Law(
    name="barrier-dissemination",
    title="Time of a dissemination barrier",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, message=_MESSAGE: ceil_log(processors, 2) * message,
    holds="processors >= 1 and message >= 0",
    source=(
        f"{MELLOR_CRUMMEY_SCOTT}; Hensgen, Finkel and Manber, International Journal of Parallel"
        " Programming 17(1), 1988"
    ),
    note=(
        "the law neglects contention between the processors, which all send in every round; on a"
        " bus, the time is that of a message times law/barrier-dissemination-messages"
    ),
    checks=(
        Check((9, 1.0), 4.0, 0.0, f"{HAND}: rounds are whole"),
        Check((8, 1.0), 3.0, 0.0, HAND),
        Check((1, 1.0), 0.0, 0.0, f"{HAND}: no one to wait for"),
        Check((9, 0.25), 1.0, 1e-14, f"{HAND}: 4 rounds"),
    ),
)

DISSEMINATION_BARRIER_MESSAGES = Law(
    name="barrier-dissemination-messages",
    title="Remote accesses of a dissemination barrier",
    gives=_SENT,
    equation=lambda processors=_PROCESSORS: processors * ceil_log(processors, 2),
    holds="processors >= 1",
    source=f"{MELLOR_CRUMMEY_SCOTT}: every processor signals one other processor in every round",
    checks=(Check((5,), 15.0, 0.0, f"{HAND}: 3 rounds of 5"), Check((8,), 24.0, 0.0, HAND)),
)

_ARRIVAL = Symbol("arrival", TIME, "time of the manager to process one arrival", "t_a")
_DEPARTURE = Symbol("departure", TIME, "time of the manager to send one departure", "t_d")
_TRANSIT = Symbol("transit", TIME, "time of a message from one side to the other", "t_x")
MANAGER_BARRIER = Law(
    name="barrier-manager",
    title="Time of a barrier at which a manager receives and sends messages",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, arrival=_ARRIVAL, departure=_DEPARTURE, transit=_TRANSIT: (
        (processors - 1) * (arrival + departure) + 2 * transit
    ),
    holds="processors >= 1 and arrival >= 0 and departure >= 0 and transit >= 0",
    source=f"{PARSONS}: the barrier of TreadMarks",
    note=(
        f"{_TOGETHER}, and the manager is one of them; the law does not cover a single processor,"
        " which has no cost"
    ),
    checks=(Check((8, 1.0, 0.5, 2.0), 14.5, 0.0, f"{HAND}: 10.5 + 4"),),
)
