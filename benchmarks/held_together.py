"""Which sentences of a paper cannot hold together, whatever its programs do.

The costs of operations are those that the paper prints; how often a program does each is not
printed. So the counts are free: every mix of faults (one part, 200 to 6000 bytes of diffs), remote
locks and idling is allowed, in any proportion. Without contention the time of each kind of
operation, and what a change takes off it, is proportional to its count, so that a sentence about
parts of the overhead is a linear inequality in the parts of today, and whether sentences can hold
together is a linear program (HiGHS, by SciPy). Idling is free too; a change takes away at most the
part of it that the change takes off the operation that gains most, and faster processors or the
other network make it at most as much longer as the operation that suffers most.

Assumed: eight equal processors, locks by way of a third, one part a fault, nobody waits for
another.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from slipstick import Answer, solve

SIZES = (200, 1000, 3000, 6000)
LOCKS = "locks"
KINDS = [LOCKS, *(f"faults of {size} B" for size in SIZES)]
IDLE = len(KINDS)
CHANGES: dict[str, dict[str, Any]] = {
    "half of the faults": {"prefetched_faults": 0.5},
    "half of the locks": {"prefetched_locks": 0.5},
    "half the protocol": {"technology.protocol": 0.5},
    "twice the bandwidth": {"technology.wire": 0.5},
    "ten times the bandwidth": {"technology.wire": 0.1},
}
FASTER: dict[str, Any] = {"technology.processors": 8, "technology.benefit": 1}
FASTER_HALF: dict[str, Any] = {**FASTER, "technology.benefit": 0.5}
SIXTEEN = 16
SPEED_UPS = {"SOR": 6.9, "Sphere (1)": 3.7, "Sphere (2)": 4.5, "Water": 3.1}
"""Table 1, on Fast Ethernet."""
COUNT = 8000


def counts(kind: int, folder: Path) -> str:
    """Write the counts of a program that makes operations of one kind alone."""
    rows = []
    for _ in range(8):
        if kind == 0:
            rows.append(
                f"  - {{work: 1000000, acquisitions: [[2, {COUNT}]], forwarded: {COUNT}, granted:"
                f" {COUNT}, sent: {{lock reply: [{COUNT}, {20 * COUNT}]}}}}"
            )
        else:
            size = SIZES[kind - 1]
            rows.append(
                f"  - {{work: 1000000, faults: [[1, {size}, {COUNT}]], served_diffs: {COUNT}, sent:"
                f" {{diffs: [{COUNT}, {COUNT * size}]}}}}"
            )
    head = "counts: 1\ntitle: one kind\nprogram: one kind\nprocessors: 8\npage: 4096\nunit: cells\n"
    path = folder / f"kind-{kind}.yaml"
    path.write_text(head + "\n".join(["phases:", "- name: sweep", "  tallies:", *rows, ""]))
    return str(path)


def solved(kind: int, folder: Path, network: str = "fast-ethernet", **values: Any) -> Answer:
    """Solve a program of one kind of operations."""
    answer: Answer = solve(
        "dvsm/application",
        {"counts": counts(kind, folder), "sequential": "800 s", **values},
        machine=f"rs6000-43p-{network}",
        method="closed-form",
    )
    return answer


def overhead(kind: int, folder: Path, network: str = "fast-ethernet", **values: Any) -> float:
    """Return the overhead of a program of one kind of operations [s]."""
    answer = solved(kind, folder, network, **values)
    return float(answer["time"] or 0.0) - answer.account["busy"]


def requested(kind: int, folder: Path) -> float:
    """Return the part of the overhead of one kind that is at its requester; the rest is serving,
    which the paper books apart.
    """
    answer = solved(kind, folder)
    spent = answer.account["lock" if kind == 0 else "fault"]
    return spent / (float(answer["time"] or 0.0) - answer.account["busy"])


class Costs(NamedTuple):
    """By kind of operation: the part of its overhead that each change takes off, today and with
    faster processors, with the full and with half the benefit to system software; its overhead with
    faster processors and on ATM over that of today, the part of it at the requester; and by how
    much more 16 times faster processors shorten computing than it, with the full and with half the
    benefit.
    """

    today: dict[str, np.ndarray]
    then: dict[str, np.ndarray]
    half: dict[str, np.ndarray]
    faster: np.ndarray
    atm: np.ndarray
    own: np.ndarray
    left_behind: tuple[np.ndarray, np.ndarray]

    def locks_at_least(self, fraction: float) -> np.ndarray:
        """Return that locks, as the paper books them, are a part of the overhead or more."""
        return np.asarray(fraction * ALL - row(self.own * (np.arange(len(KINDS)) == 0)))

    def faults_at_least(self, fraction: float) -> np.ndarray:
        """Return that faults, as the paper books them, are a part of the overhead or more."""
        return np.asarray(fraction * ALL - row(self.own * (np.arange(len(KINDS)) > 0)))


def costs(folder: Path) -> Costs:
    """Solve every kind of operation with every change."""
    kinds = range(len(KINDS))

    def overheads(values: dict[str, Any], network: str = "fast-ethernet") -> np.ndarray:
        return np.array([overhead(kind, folder, network, **values) for kind in kinds])

    def taken_off(settings: dict[str, Any]) -> dict[str, np.ndarray]:
        base = overheads(settings)
        return {
            name: 1 - overheads({**change, **settings}) / base for name, change in CHANGES.items()
        }

    now = overheads({})
    full, half = (
        SIXTEEN * overheads({"technology.processors": SIXTEEN, "technology.benefit": benefit}) / now
        for benefit in (1, 0.5)
    )
    return Costs(
        taken_off({}),
        taken_off(FASTER),
        taken_off(FASTER_HALF),
        overheads(FASTER) / now,
        overheads({}, "atm") / now,
        np.array([requested(kind, folder) for kind in kinds]),
        (full, half),
    )


# Unknowns: the part of today's overhead by kind, that of idling, what the change takes off idling,
# and idling with faster processors or on the other network; all are at least 0.
TAKEN, LATER, UNKNOWNS = IDLE + 1, IDLE + 2, IDLE + 3


def row(
    kinds: Any = 0.0, idle: float = 0.0, reduced: float = 0.0, later: float = 0.0
) -> np.ndarray:
    """Return the coefficients of an inequality."""
    return np.concatenate([np.broadcast_to(kinds, len(KINDS)), [idle, reduced, later]])


def range_of(
    value: np.ndarray, at_most_zero: list[np.ndarray], total: np.ndarray
) -> tuple[float, float] | None:
    """Return the least and the greatest value of a linear form over all mixes in which others are
    at most zero, and a whole is one; nothing where there is no such mix.
    """
    ends = []
    for sign in (1, -1):
        optimum = linprog(
            sign * value,
            A_ub=np.array(at_most_zero) if at_most_zero else None,
            b_ub=np.zeros(len(at_most_zero)) if at_most_zero else None,
            A_eq=total[None],
            b_eq=[1.0],
            bounds=[(0, None)] * UNKNOWNS,
            method="highs",
        )
        if optimum.status != 0:
            return None
        ends.append(sign * float(optimum.fun))
    return ends[0], ends[1]


def reduction(
    cost: Costs, change: str, constraints: list[np.ndarray], *, faster: bool = False
) -> tuple[float, float] | None:
    """Return between what a change takes off the overhead, over all mixes for which others hold."""
    reductions = (cost.then if faster else cost.today)[change]
    scale = cost.faster if faster else np.ones(len(KINDS))
    idle = row(later=1.0) if faster else row(idle=1.0)
    most = float(reductions.max())
    limits = [*constraints, row(reduced=1.0) - most * idle]
    if faster:
        limits.append(row(later=1.0) - float(scale.max()) * row(idle=1.0))
    return range_of(row(reductions * scale, reduced=1.0), limits, row(scale) + idle)


ALL = row(1.0, idle=1.0)
NO_LOCKS = row(np.eye(len(KINDS))[0])
NO_SMALL = row(np.eye(len(KINDS))[[1, 2]].sum(axis=0))
NO_IDLING = row(idle=1.0)


class Contradiction(NamedTuple):
    """Sentences of one program, what the last of them wants, and between what it lies by the
    others.
    """

    name: str
    program: str
    sentences: str
    wanted: str
    least: str
    greatest: str
    together: str


def contradiction(
    name: str,
    program: str,
    sentences: str,
    claim: str,
    ends: tuple[float, float] | None,
    printed: tuple[float, float],
) -> Contradiction:
    """Compare what a sentence prints with the range that the others leave."""
    least, greatest = ends or (float("nan"), float("nan"))
    low, high = printed
    fits = ends is not None and least <= high and greatest >= low
    texts = ("-", "-") if ends is None else (f"{least:.1%}", f"{greatest:.1%}")
    return Contradiction(name, program, sentences, claim, *texts, "yes" if fits else "no")


def of_sphere(cost: Costs) -> Iterator[Contradiction]:
    for name, share, words in (
        ("sphere-locks", 0.5, "more than half of the overhead is in locks"),
        ("sphere-fifth", 0.2, "locks are a fifth of the overhead or more"),
    ):
        yield contradiction(
            name,
            "Sphere",
            f"{words}; half of the lock time takes 8 to 20 percent off",
            "half of the locks prefetched: 8 to 20 %",
            reduction(cost, "half of the locks", [cost.locks_at_least(share)]),
            (0.08, 0.20),
        )


def of_barnes(cost: Costs) -> Iterator[Contradiction]:
    large_faults = [NO_LOCKS, NO_SMALL]
    alone = "faults are the overhead, without idling"
    half = cost.faults_at_least(0.5)
    for name, change, words, limit in (
        ("barnes-ten-times", "ten times the bandwidth", alone, NO_IDLING),
        ("barnes-twice", "twice the bandwidth", alone, NO_IDLING),
        ("barnes-half", "ten times the bandwidth", "faults are more than half", half),
    ):
        yield contradiction(
            name,
            "Barnes",
            f"diffs have over 3 Kbyte; {words}; bandwidth is unimportant",
            f"{change}: at most 5 %",
            reduction(cost, change, [*large_faults, limit]),
            (0.0, 0.05),
        )
    for name, change in (
        ("barnes-first", "ten times the bandwidth"),
        ("barnes-before-twice", "twice the bandwidth"),
    ):
        ahead = (cost.then["half of the faults"] - cost.then[change]) * cost.faster
        yield contradiction(
            name,
            "Barnes",
            "diffs have over 3 Kbyte; no locks; without idling; prefetching has the greatest impact"
            f" with processors eight times as fast, read against {change}",
            f"half of the faults less {change}: above 0 %",
            range_of(row(ahead), [*large_faults, NO_IDLING], row(cost.faster, idle=1.0)),
            (1e-9, 1.0),
        )


def of_several(cost: Costs) -> Iterator[Contradiction]:
    yield contradiction(
        "largest",
        "any",
        "half of the faults prefetched takes up to 56 percent off with processors eight times as"
        " fast",
        "half of the faults prefetched: 56 %",
        reduction(cost, "half of the faults", [], faster=True),
        (0.555, 0.565),
    )
    for name, constraints, words in (
        ("protocol-alone", [NO_IDLING], "without idling"),
        ("protocol", [], "with idling"),
    ):
        yield contradiction(
            name,
            "Barnes and Water",
            f"half the protocol cost takes 15 percent off; {words}",
            "half the protocol: 15 %",
            reduction(cost, "half the protocol", constraints),
            (0.145, 0.155),
        )


def of_billiards() -> Contradiction:
    waiting, both = np.array([1.0, 0, 0, 0, 0]), np.array([1.0, 1.0, 0, 0, 0])
    rises, falls = np.array([1.01, -1.0, 0, 0, 0]), np.array([-0.99, 1.0, 0, 0, 0])
    return contradiction(
        "billiards",
        "the billiard balls (Scale-Graph)",
        "waiting at barriers rises with the processors; the idle time falls with the processors;"
        " both of 16 and 32 processors at one size, where they are one value",
        "the value of 16 processors: any",
        range_of(row(waiting), [row(rises), row(falls)], row(both)),
        (0.0, 1.0),
    )


def of_networks(cost: Costs) -> Iterator[Contradiction]:
    slower = row(cost.atm, later=1.0)
    idle_on_atm = float(cost.atm.min()) * row(idle=1.0) - row(later=1.0)
    most_on_atm = row(later=1.0) - float(cost.atm.max()) * row(idle=1.0)
    in_locks = "more than half of the overhead is in locks"
    for name, program, constraints, words, ratio in (
        ("sphere-locks-on-atm", "Sphere", [cost.locks_at_least(0.5)], in_locks, 0.87),
        ("sphere-on-atm", "Sphere", [], "any mix", 0.87),
        ("water-on-atm", "Water", [], "any mix", 0.98),
    ):
        yield contradiction(
            name,
            program,
            f"{words}; Table 1: overhead on ATM over that on Fast Ethernet",
            f"{ratio:.0%}",
            range_of(slower, [*constraints, idle_on_atm, most_on_atm], ALL),
            (ratio - 0.005, ratio + 0.005),
        )


def kept(
    cost: Costs, program: str, constraints: list[np.ndarray], *, half: bool
) -> tuple[float, float] | None:
    """Return between what part of its efficiency of Table 1 a program keeps with processors 16
    times as fast.
    """
    behind = cost.left_behind[half]
    limits = [
        row(later=1.0) - float(behind.max()) * row(idle=1.0),
        float(behind.min()) * row(idle=1.0) - row(later=1.0),
    ]
    ends = range_of(row(behind, later=1.0), [*constraints, *limits], ALL)
    overhead_today = 8 / SPEED_UPS[program] - 1  # over computing
    return (
        None
        if ends is None
        else (
            (1 + overhead_today) / (1 + overhead_today * ends[1]),
            (1 + overhead_today) / (1 + overhead_today * ends[0]),
        )
    )


def of_faster_processors(cost: Costs) -> Iterator[Contradiction]:
    _, most_of_water = kept(cost, "Water", [], half=True) or (0.0, 0.0)
    least_of_sor, _ = kept(cost, "SOR", [], half=False) or (0.0, 0.0)
    for name, share, words in (
        ("sphere-most", 0.0, "any mix"),
        ("sphere-locks-most", 0.5, "more than half of the overhead is in locks"),
    ):
        yield contradiction(
            name,
            "Sphere (2)",
            f"{words}; Table 1; with half the benefit Sphere loses more than Water",
            f"efficiency kept: below {most_of_water:.1%}, the most that Water keeps",
            kept(cost, "Sphere (2)", [cost.locks_at_least(share)], half=True),
            (0.0, most_of_water),
        )
    yield contradiction(
        "sphere-retains",
        "Sphere (1)",
        "Table 1; with the full benefit Sphere retains the most",
        f"efficiency kept: above {least_of_sor:.1%}, the least that SOR keeps",
        kept(cost, "Sphere (1)", [], half=False),
        (least_of_sor, 1.0),
    )
    yield contradiction(
        "sor-falls",
        "SOR",
        "Table 1; with half the benefit the efficiency of all decreases rapidly",
        "efficiency kept: at most 50 %",
        kept(cost, "SOR", [], half=True),
        (0.0, 0.5),
    )


def of_sor(cost: Costs) -> Iterator[Contradiction]:
    dominated = reduction(cost, "half of the faults", [NO_LOCKS, cost.faults_at_least(0.5)])
    for name, words, printed in (
        ("sor-digit", "to the digit", (0.125, 0.135)),
        ("sor-tenth", "within a tenth", (0.117, 0.143)),
    ):
        yield contradiction(
            name,
            "SOR",
            f"faults are more than half of the overhead; half of them take 13 percent off, {words}",
            "half of the faults prefetched: 13 %",
            dominated,
            printed,
        )
    ahead = cost.half["half the protocol"] - cost.half["half of the faults"]
    yield contradiction(
        "sor-protocol",
        "SOR",
        "no locks; without idling; protocol software is the most important, with half the benefit",
        "half the protocol less half of the faults: above 0 %",
        range_of(row(ahead), [NO_LOCKS, NO_IDLING], ALL),
        (1e-9, 1.0),
    )
    # Idling gains at most what the operation gains that gains most by half the protocol.
    most = float(cost.half["half the protocol"].max())
    first = -row(ahead, reduced=1.0)
    yield contradiction(
        "sor-idling",
        "SOR",
        "no locks; protocol software is the most important, with half the benefit",
        "idling: some of the overhead",
        range_of(row(idle=1.0), [NO_LOCKS, first, row(reduced=1.0) - most * row(idle=1.0)], ALL),
        (1e-9, 1.0),
    )


def checked(cost: Costs) -> list[Contradiction]:
    """Check the sets of sentences."""
    return [
        *of_sphere(cost),
        *of_barnes(cost),
        *of_several(cost),
        of_billiards(),
        *of_networks(cost),
        *of_faster_processors(cost),
        *of_sor(cost),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="the same: it takes seconds")
    parser.add_argument("--out", type=Path, help="write the table as a CSV file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        contradictions = checked(costs(Path(folder)))
    for row in contradictions:
        print(
            f"{row.name}: {row.program}: {row.sentences}. Wanted: {row.wanted}; possible:"
            f" {row.least} to {row.greatest}; together: {row.together}"
        )
    if options.out is not None:
        with options.out.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Contradiction._fields)
            writer.writerows(contradictions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
