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
from slipstick.law.spin_locks import ACCESS, ANDERSON, HANDOFF, SPINNERS, SPINNING
from slipstick.law.symbols import DENNING_BUZEN, HAND, MELLOR_CRUMMEY_SCOTT, PARSONS

_IN_TURN = "assumes that transactions are served in order of request"


_ACCESSES = Symbol("accesses", COUNT, "transactions of acquire and release", "a")
_SOFTWARE = Symbol("software", TIME, "instructions of acquire and release", "c")
LOCK_LATENCY = Law(
    name="lock-latency",
    title="Acquire and release of a free lock",
    gives=Symbol("time", TIME, "acquire and release without contention", "T"),
    equation=lambda accesses=_ACCESSES, software=_SOFTWARE, access=ACCESS: (
        software + accesses * access
    ),
    holds="accesses >= 0 and software >= 0 and access >= 0",
    source=MELLOR_CRUMMEY_SCOTT,
    checks=(Check((2, 3e-6, 1e-6), 5e-6, 1e-21, HAND),),
)

TEST_AND_SET_HANDOFF = Law(
    name="lock-test-and-set-handoff",
    title="From release to the next holder under test-and-set without back-off",
    gives=HANDOFF,
    equation=lambda spinners=SPINNERS, access=ACCESS: (spinners + 2) * access,
    holds=SPINNING,
    source=f"{ANDERSON}: the release waits behind one attempt of every spinner",
    note=f"{_IN_TURN}; the release and the next attempt come after the transactions under way",
    exact=False,
    checks=(Check((10, 1e-6), 12e-6, 1e-20, HAND),),
)


_REST = Symbol("delay", TIME, "rest between two attempts of a spinner; 0 without back-off", "d")
TEST_AND_SET_LOAD = Law(
    name="lock-test-and-set-load",
    title="Share of a resource that test-and-set spinners take",
    gives=Symbol("load", COUNT, "share of its time", r"\rho_s"),
    equation=lambda spinners=SPINNERS, delay=_REST, access=ACCESS: minimum(
        spinners * access / (delay + access), 1
    ),
    holds="spinners >= 0 and delay >= 0 and access > 0",
    source=ANDERSON,
    note="neglects that attempts wait for each other, which lowers it near 1",
    exact=False,
    checks=(
        Check((4, 9e-6, 1e-6), 0.4, 1e-16, HAND),
        Check((4, 0.0, 1e-6), 1.0, 0.0, f"{HAND}: one spinner is enough"),
    ),
)

TEST_AND_TEST_AND_SET_HANDOFF = Law(
    name="lock-test-and-test-and-set-handoff",
    title="From release to the next holder under test-and-test-and-set",
    gives=HANDOFF,
    equation=lambda spinners=SPINNERS, access=ACCESS: (spinners + 2) * access,
    holds=SPINNING,
    source=f"{ANDERSON}: spinning on a cached copy",
    note=f"{_IN_TURN}: the release, a read by every spinner, then the first attempt",
    exact=False,
    checks=(Check((10, 1e-6), 12e-6, 1e-20, HAND),),
)

TEST_AND_TEST_AND_SET_QUIESCENCE = Law(
    name="lock-test-and-test-and-set-quiescence",
    title="From a release until spinning traffic ends under test-and-test-and-set",
    gives=Symbol("time", TIME, "the resource is busy with spinners", "q"),
    equation=lambda spinners=SPINNERS, access=ACCESS: (
        access * (1 + 2 * spinners + spinners * (spinners - 1) / 2)
    ),
    holds=SPINNING,
    source=f"{ANDERSON}: of the order of the square of the spinners",
    note=(
        "counts the release, and the reads and attempts of all processors; after each failed"
        " attempt, the processors that spin read again"
    ),
    exact=False,
    checks=(Check((10, 1e-6), 66e-6, 1e-19, f"{HAND}: 1 + 10 + 10 + 45"),),
)


_LOCK_SOFTWARE = Symbol(
    "software", TIME, "instructions between finding the next one and writing its flag", "c"
)
QUEUE_LOCK_HANDOFF = Law(
    name="lock-queue-handoff",
    title="From release to the next holder under a queue lock, MCS or distributed array",
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
_LATENCY = Symbol("latency", TIME, "acquire and release while the lock is free", "T")
_SECTION = Symbol("section", TIME, "the critical section", "s")
_NEXT_HOLDER = Symbol("handoff", TIME, "from release to the next holder", "h")
LOCK_SATURATION = Law(
    name="lock-saturation",
    title="Processors that saturate a lock",
    gives=Symbol("processors", COUNT, "with more processors, some always wait", "N^*"),
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

_USERS = Symbol("processors", COUNT, "processors that use the lock", "N")
LOCK_THROUGHPUT_BOUND = Law(
    name="lock-throughput-bound",
    title="Bound on the throughput of a lock",
    gives=Symbol("throughput", RATE, "critical sections of all processors", "X"),
    equation=lambda processors=_USERS, think=_THINK, latency=_LATENCY, section=_SECTION, handoff=_NEXT_HOLDER: (
        processors / maximum(think + latency + section, processors * (section + handoff))
    ),
    holds=(
        "processors >= 1 and think >= 0 and latency >= 0 and section >= 0 and handoff >= 0 and"
        " section > 0"
    ),
    source=DENNING_BUZEN,
    note="an upper bound; for random times see law/machine-repairman-throughput",
    checks=(
        Check((20, 9.0, 0.0, 1.0, 0.25), 0.8, 0.0, HAND),
        Check((5, 8.0, 1.0, 1.0, 1.0), 0.5, 0.0, HAND),
        Check((20, 9.0, 2.0, 1.0, 0.5), 0.6666666666666666, 7e-15, f"{HAND}: 20 / 30"),
        Check((5, 9.0, 2.0, 1.0, 0.5), 0.4166666666666667, 4e-15, f"{HAND}: 5 / 12"),
    ),
)


_TOGETHER = "all arrive together, which is the worst case"
_PROCESSORS = Symbol("processors", COUNT, "processors that take part", "N")
_COST = Symbol("time", TIME, "from the last arrival until all have left", "T_B")
_SENT = Symbol("messages", COUNT, "remote accesses of all processors", "n")
_MESSAGE = Symbol(
    "message", TIME, "one remote access: a write until the other processor has seen it", "t"
)


_UPDATE = Symbol("update", TIME, "one update of the counter, one after the other", "t_u")
_NOTICE = Symbol(
    "notice", TIME, "one processor's read of the changed flag, one after the other", "t_n"
)
CENTRAL_BARRIER = Law(
    name="barrier-central",
    title="A barrier on one counter",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, update=_UPDATE, notice=_NOTICE: (
        processors * update + (processors - 1) * notice
    ),
    holds="processors >= 1 and update >= 0 and notice >= 0",
    source=f"{MELLOR_CRUMMEY_SCOTT}: the sense-reversing centralized barrier",
    note=f"{_TOGETHER}; with a broadcast, notice is 0 but for the one that all share: add it once",
    checks=(
        Check((8, 1.0, 0.5), 11.5, 0.0, f"{HAND}: 8 + 3.5"),
        Check((8, 0.2, 0.5), 5.1, 5e-14, f"{HAND}: 1.6 + 3.5"),
    ),
)

_FAN = Symbol("fan", COUNT, "processors, or counters, that share a counter", "k")
_TREE_UPDATE = Symbol("update", TIME, "one update of a counter, one after the other", "t_u")
_TREE_NOTICE = Symbol("notice", TIME, "one read of a changed flag, one after the other", "t_n")
COMBINING_TREE_BARRIER = Law(
    name="barrier-combining-tree",
    title="A barrier on a tree of counters",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, fan=_FAN, update=_TREE_UPDATE, notice=_TREE_NOTICE: (
        ceil_log(processors, fan) * (fan * update + (fan - 1) * notice)
    ),
    holds="fan >= 2 and fan == floor(fan) and processors >= 1 and update >= 0 and notice >= 0",
    source="Yew, Tzeng and Lawrie, IEEE Transactions on Computers C-36(4), 1987",
    note=f"{_TOGETHER}; up the tree to the root, and down again",
    checks=(
        Check((60, 4, 1.0, 0.5), 16.5, 0.0, f"{HAND}: 3 levels of 4 + 1.5"),
        Check((64, 4, 1.0, 0.0), 12.0, 0.0, f"{HAND}: 3 levels"),
        Check((60, 4, 0.2, 0.5), 6.9, 7e-14, f"{HAND}: 3 levels of 0.8 + 1.5"),
    ),
)

_RELEASE = Symbol(
    "release",
    TIME,
    "a round of the way back; 0 if the champion's flag is broadcast, added apart",
    "t_r",
)
TOURNAMENT_BARRIER = Law(
    name="barrier-tournament",
    title="A barrier as a tournament",
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
    source=f"{MELLOR_CRUMMEY_SCOTT}: every loser writes once and is signalled once",
    checks=(Check((8,), 14.0, 0.0, HAND),),
)

DISSEMINATION_BARRIER = Law(
    name="barrier-dissemination",
    title="A barrier by dissemination",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, message=_MESSAGE: ceil_log(processors, 2) * message,
    holds="processors >= 1 and message >= 0",
    source=(
        f"{MELLOR_CRUMMEY_SCOTT}; Hensgen, Finkel and Manber, International Journal of Parallel"
        " Programming 17(1), 1988"
    ),
    note=(
        "neglects contention between the processors, which all send in every round; on a bus, the"
        " time is that of a message times law/barrier-dissemination-messages"
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
    source=f"{MELLOR_CRUMMEY_SCOTT}: every processor signals one other in every round",
    checks=(Check((5,), 15.0, 0.0, f"{HAND}: 3 rounds of 5"), Check((8,), 24.0, 0.0, HAND)),
)

_ARRIVAL = Symbol("arrival", TIME, "the manager's time to take one arrival", "t_a")
_DEPARTURE = Symbol("departure", TIME, "the manager's time to send one departure", "t_d")
_TRANSIT = Symbol("transit", TIME, "a message from one side to the other", "t_x")
MANAGER_BARRIER = Law(
    name="barrier-manager",
    title="A barrier kept by a manager, with messages",
    gives=_COST,
    equation=lambda processors=_PROCESSORS, arrival=_ARRIVAL, departure=_DEPARTURE, transit=_TRANSIT: (
        (processors - 1) * (arrival + departure) + 2 * transit
    ),
    holds="processors >= 1 and arrival >= 0 and departure >= 0 and transit >= 0",
    source=f"{PARSONS}: the barrier of TreadMarks",
    note=(
        f"{_TOGETHER}, and the manager is one of them; one processor alone pays nothing, which this"
        " leaves out"
    ),
    checks=(Check((8, 1.0, 0.5, 2.0), 14.5, 0.0, f"{HAND}: 10.5 + 4"),),
)
