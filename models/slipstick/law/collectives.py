"""Collective operations over p ranks: how long each algorithm takes on a network without
contention.

Three numbers on its longest path describe each algorithm: rounds, one message after the other;
bytes moved in all of them; bytes combined with others by arithmetic. Its law is::

    time = rounds * latency + moved * per_byte + combined * combine

Items of an activity are built from the same three numbers (`slipstick.program.operations`). A rank
sends and receives one message at a time, in both directions at once. Where p is no power of two,
recursive algorithms let the ranks beyond the next lower power pass their part to a neighbour before
the first round and get the result after the last.

Source: the costs that the comments of MPICH, src/mpi/coll, state for its algorithms (2026), after
Thakur, Rabenseifner and Gropp, International Journal of High Performance Computing Applications
19(1), 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    TIME,
    TIME_PER_BYTE,
    Expr,
    Like,
    Parameter,
    as_expr,
    ceil_log,
    floor,
    log2,
    minimum,
    walk,
)
from slipstick.late import dataclass
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND

MPICH = (
    "MPICH, src/mpi/coll, comments on costs, 2026; Thakur, Rabenseifner and Gropp, IJHPCA 19(1),"
    " 2005"
)

SWITCH = (
    "Klenk, Jiang, Thorson and Dennison, An in-network architecture for accelerating shared-memory"
    " multiprocessor collectives, ISCA 2020; Graham and others, SHARP, COMHPC 2016"
)

TREES = (
    "Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and"
    " scan, Parallel Computing 35(12), 2009; NVIDIA/nccl, src/graph/tuning.cc, commit 5067397, 2026"
)

NEAR_FIRST, PARTS, RING, SHIFT = "near-first", "parts", "ring", "shift"
"""The orders in which a rank exchanges data with the others, where ranks fill one node after the
other.

near-first: at distances 1, 2, 4 and so on, first those of its node, with all that these alone would
move; parts: the same, with the parts of the ranks of its node only; ring: its two neighbours, of
which one rank of a node has one in another node; shift: ranks at all distances in turn, of both
kinds in each round.
"""

BRUCK = "bruck"
"""An all-to-all in few rounds: in each, a rank gathers half of its blocks and sends them."""

Figures = Callable[[Expr, Expr], tuple[Like, Expr, Expr]]
"""A function from the number of ranks [1] and the size [B] to the rounds [1], the bytes moved [B]
and the bytes combined [B].
"""

_SYMBOLS: tuple[Symbol, ...] = (
    Symbol("ranks", COUNT, "number of ranks that take part", "p"),
    Symbol(
        "size",
        BYTES,
        (
            "size of the vector; for allgather and reduce-scatter that of all ranks, for alltoall"
            " that of the data that a rank sends"
        ),
        "n",
    ),
    Symbol("latency", TIME, "time of a message without its bytes", r"\alpha"),
    Symbol("per_byte", TIME_PER_BYTE, "time of one more byte of a message", r"\beta"),
    Symbol(
        "combine", TIME_PER_BYTE, "time to combine a byte with another by arithmetic", r"\gamma"
    ),
)
_CONDITIONS = {"ranks": "ranks >= 1 and ranks == floor(ranks)"}
_CHECK_VALUES = {"ranks": 6, "size": 6e6, "latency": 1e-6, "per_byte": 1e-9, "combine": 1e-10}


@dataclass(frozen=True)
class CollectiveAlgorithm:
    """One algorithm of a collective operation, with the numbers of rounds and bytes that its time
    follows from.

    Parameters
    ----------
    operation, name : what it does, and how it is called
    figures : rounds, bytes moved and bytes combined, from ranks and size
    in_switch : the switch combines the parts and moves bytes at a rate of its own
    is_pipelined : the vector moves in pieces that are taken as infinitely small, so that only a
        library that lists the algorithm is taken to have it
    order : in which a rank meets the others, one of `NEAR_FIRST`, `PARTS`, `RING` and `SHIFT`
    check : time of 6 ranks, 6 MB, 1 us a message, 1 ns to move and 0.1 ns to combine a byte, by
        hand [s]
    check_of_eight : the same of 8 ranks, where the algorithm differs for powers of 2 [s]
    """

    operation: str
    name: str
    figures: Figures
    check: float
    in_switch: bool = False
    is_pipelined: bool = False
    order: str = ""
    check_of_eight: float | None = None

    @property
    def combines(self) -> bool:
        """Return whether the ranks compute on the data that they receive, as in a reduction."""
        return "reduce" in self.operation and not self.in_switch

    @cached_property
    def law(self) -> Law:
        """The time of the operation by this algorithm."""

        any_ranks = Parameter("ranks", COUNT)

        def equation(
            size: Expr,
            latency: Expr,
            per_byte: Expr,
            combine: Expr | None = None,
            ranks: Expr = any_ranks,
        ) -> Expr:
            """Return the time of the operation [s]."""
            rounds, moved_bytes, combined_bytes = self.figures(ranks, size)
            time = rounds * latency + moved_bytes * per_byte
            return time if combine is None else time + combined_bytes * combine

        symbols = _SYMBOLS if self.combines else _SYMBOLS[:-1]
        rounds_and_bytes = self.figures(any_ranks, Parameter("size", BYTES))
        if any_ranks not in walk(*map(as_expr, rounds_and_bytes)):
            symbols = symbols[1:]  # the time is the same for any number of ranks
        condition = " and ".join(
            _CONDITIONS.get(symbol.name, f"{symbol.name} >= 0") for symbol in symbols
        )
        checks = tuple(
            Check(
                tuple({**_CHECK_VALUES, "ranks": ranks}[symbol.name] for symbol in symbols),
                time,
                1e-12,
                HAND,
            )
            for ranks, time in ((6, self.check), (8, self.check_of_eight))
            if time is not None
        )
        return Law(
            name=f"{self.operation}-{self.name}",
            title=f"Time of {self.operation} by the {self.name} algorithm",
            gives=Symbol(
                "time", TIME, "time from the common start to the end at the last rank", "T"
            ),
            symbols=symbols,
            equation=equation,
            holds=condition,
            source=SWITCH if self.in_switch else TREES if self.is_pipelined else MPICH,
            note=(
                "contention is neglected; a rank sends one message and receives one message at the"
                " same time"
            ),
            checks=checks,
        )


def _tree_rounds(ranks: Expr) -> Expr:
    """Return the rounds of a tree: ceil(log2 p)."""
    return ceil_log(ranks, 2)


def _ring_rounds(ranks: Expr) -> Expr:
    """Return the rounds of a ring: p - 1."""
    return ranks - 1


def _bytes_of_others(ranks: Expr, size: Expr) -> Expr:
    """Return the bytes of a vector that belong to all ranks but one, if the ranks have equal parts
    of it [B].
    """
    return size * ((ranks - 1) / ranks)


def _rounds_and_bytes_of_tree(pass_count: int, ranks: Expr, size: Expr) -> tuple[Expr, Expr, Expr]:
    """Return rounds, bytes moved and bytes combined where the whole vector passes down a tree, up
    it, or both.
    """
    round_count = _tree_rounds(ranks)
    return pass_count * round_count, (pass_count * round_count) * size, round_count * size


def _rounds_and_bytes_of_parts(
    count_rounds: Callable[[Expr], Expr], pass_count: int, ranks: Expr, size: Expr
) -> tuple[Expr, Expr, Expr]:
    """Return rounds, bytes moved and bytes combined where all of the vector but one rank's part is
    moved once in each pass.
    """
    moved_bytes = _bytes_of_others(ranks, size)
    return count_rounds(ranks), pass_count * moved_bytes, moved_bytes


def _extra_ranks_flag(ranks: Expr) -> Expr:
    """Return 1 if the number of ranks is not a power of two, else 0."""
    # ceil(log2 p) exceeds floor(log2 p) by 1 except at powers of two.
    return _tree_rounds(ranks) - floor(log2(ranks))


def _rounds_and_bytes_of_doubling(ranks: Expr, size: Expr) -> tuple[Expr, Expr, Expr]:
    """Return rounds, bytes moved and bytes combined of recursive doubling, which exchanges the
    whole vector in each round, with ranks at distances 1, 2, 4 and so on.
    """
    level_count = floor(log2(ranks))
    extra_ranks_flag = _extra_ranks_flag(ranks)
    # Ranks beyond a power of two send their vector to a partner first and receive the result last:
    # two more rounds.
    round_count = level_count + 2 * extra_ranks_flag
    return round_count, round_count * size, (level_count + extra_ranks_flag) * size


def _rounds_and_bytes_of_rabenseifner(
    pass_count: int, ranks: Expr, size: Expr
) -> tuple[Expr, Expr, Expr]:
    """Return rounds, bytes moved and bytes combined of a reduce-scatter by recursive halving and a
    gather or allgather; ranks beyond a power of two pass the vector once or twice.
    """
    moved_bytes = _bytes_of_others(ranks, size)
    extra_ranks_flag = _extra_ranks_flag(ranks)
    round_count = 2 * floor(log2(ranks)) + pass_count * extra_ranks_flag
    return (
        round_count,
        2 * moved_bytes + (pass_count * extra_ranks_flag) * size,
        moved_bytes + extra_ranks_flag * size,
    )


def _rounds_and_bytes_of_two_trees(ranks: Expr, size: Expr) -> tuple[Expr, Expr, Expr]:
    """Return rounds, bytes moved and bytes combined where the two halves of the vector pass up and
    down two binary trees; the leaves of one tree are inner nodes of the other.

    A rank receives its half from each of two children, and sends both halves up, then the same
    down; two ranks have one child each.
    """
    child_count = minimum(2, ranks - 1)
    return 2 * _tree_rounds(ranks), child_count * size, (child_count / 2) * size


def _rounds_and_bytes_of_switch(ranks: Expr, size: Expr) -> tuple[Like, Expr, Expr]:
    """Return rounds, bytes moved and bytes combined where each rank reads the sum of its part
    through the switch, then writes it to all at once.

    A link carries in each direction the vector once and one part more: reads of all parts leave a
    rank, and its own sum; its sum arrives, and the sums of all.
    """
    return 2, size + size / ranks, 0 * size


def _rounds_and_bytes_of_switch_tree(ranks: Expr, size: Expr) -> tuple[Like, Expr, Expr]:
    """Return rounds, bytes moved and bytes combined where each rank sends its vector to switches
    that add in a tree, and receives the sum.
    """
    return 2, 1 * size, 0 * size


ALGORITHMS = (
    CollectiveAlgorithm("broadcast", "tree", partial(_rounds_and_bytes_of_tree, 1), 0.018003),
    CollectiveAlgorithm(
        "broadcast",
        "recursive-doubling",
        partial(_rounds_and_bytes_of_parts, lambda p: 2 * _tree_rounds(p), 2),
        0.010006,
    ),
    CollectiveAlgorithm(
        "broadcast",
        "ring",
        partial(_rounds_and_bytes_of_parts, lambda p: _tree_rounds(p) + _ring_rounds(p), 2),
        0.010008,
    ),
    CollectiveAlgorithm("reduce", "tree", partial(_rounds_and_bytes_of_tree, 1), 0.019803),
    CollectiveAlgorithm(
        "reduce", "rabenseifner", partial(_rounds_and_bytes_of_rabenseifner, 1), 0.017105
    ),
    CollectiveAlgorithm("allreduce", "tree", partial(_rounds_and_bytes_of_tree, 2), 0.037806),
    CollectiveAlgorithm(
        "allreduce",
        "recursive-doubling",
        _rounds_and_bytes_of_doubling,
        0.025804,
        order=NEAR_FIRST,
        check_of_eight=0.019803,
    ),
    CollectiveAlgorithm(
        "allreduce",
        "rabenseifner",
        partial(_rounds_and_bytes_of_rabenseifner, 2),
        0.023106,
        order=NEAR_FIRST,
        check_of_eight=0.011031,
    ),
    CollectiveAlgorithm(
        "allreduce",
        "ring",
        partial(_rounds_and_bytes_of_parts, lambda p: 2 * _ring_rounds(p), 2),
        0.01051,
        order=RING,
    ),
    CollectiveAlgorithm(
        "allreduce", "double-tree", _rounds_and_bytes_of_two_trees, 0.012606, is_pipelined=True
    ),
    CollectiveAlgorithm(
        "allreduce", "in-switch", _rounds_and_bytes_of_switch, 0.007002, in_switch=True
    ),
    CollectiveAlgorithm(
        "allreduce", "switch-tree", _rounds_and_bytes_of_switch_tree, 0.006002, in_switch=True
    ),
    CollectiveAlgorithm(
        "allgather",
        "recursive-doubling",
        partial(_rounds_and_bytes_of_parts, _tree_rounds, 1),
        0.005003,
        order=PARTS,
    ),
    CollectiveAlgorithm(
        "allgather",
        "ring",
        partial(_rounds_and_bytes_of_parts, _ring_rounds, 1),
        0.005005,
        order=RING,
    ),
    CollectiveAlgorithm(
        "reduce-scatter",
        "recursive-halving",
        partial(_rounds_and_bytes_of_parts, _tree_rounds, 1),
        0.005503,
    ),
    CollectiveAlgorithm(
        "reduce-scatter", "ring", partial(_rounds_and_bytes_of_parts, _ring_rounds, 1), 0.005505
    ),
    CollectiveAlgorithm(
        "alltoall",
        BRUCK,
        lambda p, n: (_tree_rounds(p), _tree_rounds(p) * (n / 2), n),
        0.009003,
        order=NEAR_FIRST,
    ),
    CollectiveAlgorithm(
        "alltoall",
        "pairwise",
        partial(_rounds_and_bytes_of_parts, _ring_rounds, 1),
        0.005005,
        order=PARTS,
    ),
    CollectiveAlgorithm("barrier", "dissemination", lambda p, n: (_tree_rounds(p), 0 * n, n), 3e-6),
)
"""The algorithms; those of one operation stand next to each other."""

OPERATIONS = tuple(dict.fromkeys(algorithm.operation for algorithm in ALGORITHMS))
"""The collective operations."""

COLLECTIVE_LAWS = tuple(
    algorithm.law for algorithm in ALGORITHMS if algorithm.operation != "barrier"
)
"""The laws of these algorithms, except the barrier's, which is
`slipstick_laws.synchronization.DISSEMINATION_BARRIER`. The catalogue takes them from this tuple;
see `slipstick.law.law.laws_of`. No other code names it.
"""


@dataclass(frozen=True)
class LibraryRule:
    """The algorithm that a library takes for messages up to a size.

    Parameters
    ----------
    up_to : the largest size: of all-reduce the vector, of all-gather the vector of all ranks, of
        all-to-all what a rank sends to another [B]; None: of any size
    algorithm : its name
    order : how ranks meet, where it differs from the algorithm's own
    """

    up_to: int | None
    algorithm: str
    order: str = ""


LIBRARIES: Mapping[str, Mapping[str, tuple[LibraryRule, ...]]] = {
    "open-mpi": {
        "allreduce": (LibraryRule(9999, "recursive-doubling"), LibraryRule(None, "ring")),
        # Beyond 50 kB even numbers of ranks exchange with two neighbours, which moves what a ring
        # moves in half of the messages; it is taken as a ring.
        "allgather": (LibraryRule(49_999, "recursive-doubling"), LibraryRule(None, "ring")),
        # Up to 3,000 B all messages are started at once, beyond that one partner after the other
        # at growing distance: both cost a rank the same software and bytes.
        "alltoall": (LibraryRule(199, BRUCK), LibraryRule(None, "pairwise", SHIFT)),
    },
    "mpich": {
        "allreduce": (LibraryRule(2048, "recursive-doubling"), LibraryRule(None, "rabenseifner")),
        "allgather": (LibraryRule(524_287, "recursive-doubling"), LibraryRule(None, "ring")),
        # Up to 32 KiB all messages are started at once; beyond that partners differ in one pattern
        # of bits, so that all ranks of a node have theirs inside, or all outside.
        "alltoall": (
            LibraryRule(256, BRUCK),
            LibraryRule(32_768, "pairwise", SHIFT),
            LibraryRule(None, "pairwise"),
        ),
    },
}
"""The algorithms that libraries choose by the size of a message, for many ranks, a power of two.

Sources, looked up in November 2026: open-mpi/ompi, v4.0.3, ompi/mca/coll/tuned, the fixed decisions
and the defaults of coll_tuned_component.c (10,000 B; 50,000 B; 200 and 3,000 B); pmodels/mpich,
commit 6a79bf6, src/mpi/coll/cvars.txt (2,048 B; 512 KiB where ranks are a power of two; 256 B and
32 KiB). The study ``collectives`` shows the errors row by row.
"""
