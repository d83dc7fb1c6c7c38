"""Fuzz the loader of specs: whatever a file holds, it is valid or refused with a line, at once; a
fault is found where it is.

Every shipped spec is changed at random, sign by sign, line by line and word by word, and checked as
``slipstick check`` does; then single faults of 14 kinds are planted at known lines, and each must
be named there and nowhere else; then generated specs, half of them with a small mistake, are
checked and solved, and both must agree whether they are valid.

Run ``python benchmarks/specs.py`` for the figures of a release, 100,000 mutated and 2,500 planted
(6 minutes on two processors); the exit status is 1 if a promise does not hold.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import FrameType

# Not by sys.path: other distributions install packages called tests, too.
_tests = types.ModuleType("tests")
_tests.__path__ = [str(Path(__file__).resolve().parent.parent / "tests")]
sys.modules["tests"] = _tests

from tests.agreement import agree, spec
from tests.mutations import FAULTS, Outcome, checked, mutated, planted, planted_lines

MEMORY = 1 << 30
CHUNK = 100


class Late(BaseException):
    """A check took longer than the alarm; not an Exception, so that nobody catches it in
    passing.
    """


@dataclass
class Found:
    """What came of some checks."""

    kinds: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    broken: list[tuple[str, str]] = field(default_factory=list)

    def add(self, kind: str, outcome: Outcome, text: str, promised: bool) -> None:
        self.kinds[kind] += 1
        self.slowest = max(self.slowest, (outcome.seconds, text))
        if not promised:
            self.broken.append((f"{kind}: {outcome.words[:500]}", text))


def main() -> int:
    """Run both kinds and print the counts."""
    options = arguments()
    is_kept = True
    signal.signal(signal.SIGPROF, ring)
    for kind, count in (
        ("mutated", options.mutated),
        ("planted", options.planted),
        ("agreed", options.agreed),
    ):
        start, totals = perf_counter(), Found()
        with ProcessPoolExecutor(max(1, options.jobs), initializer=limit, initargs=(kind,)) as pool:
            mapped = pool.map if options.jobs else map
            pieces = (
                zip(*tasks(kind, count, options.seed, options.seconds), strict=True)
                if count
                else ()
            )
            for piece in mapped(checks, *pieces) if count else ():
                totals.kinds += piece.kinds
                totals.slowest = max(totals.slowest, piece.slowest)
                totals.broken += piece.broken
        counts = ", ".join(f"{number:,} {name}" for name, number in sorted(totals.kinds.items()))
        print(
            f"{count:,} {kind}: {counts}; slowest {totals.slowest[0] * 1e3:.0f} ms;"
            f" {perf_counter() - start:.0f} s"
        )
        for number, (message, text) in enumerate(totals.broken):
            print(message)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{kind}-{number}.yaml").write_bytes(
                    text.encode("utf-8", "surrogatepass")
                )
        is_kept = is_kept and not totals.broken
    return 0 if is_kept else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--mutated", type=int, default=100_000, help="texts changed at random")
    parser.add_argument(
        "--planted", type=int, default=2500, help="texts with one fault at a known line"
    )
    parser.add_argument(
        "--agreed", type=int, default=2000, help="generated specs, checked and then solved"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=5, help="what a check may take at most")
    parser.add_argument(
        "--jobs",
        type=int,
        default=2,
        help="processes; 0 for none but this one, without a limit of memory",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where to keep the texts that broke a promise"
    )
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    if options.short:
        options.mutated = options.planted = options.agreed = 5
        options.seconds, options.jobs = 120, 0
    return options


def tasks(kind: str, count: int, seed: int, seconds: int) -> Iterator[tuple[str, str, int, int]]:
    """Cut the work into pieces that do not depend on how many processes share it."""
    for start in range(0, count, CHUNK):
        yield kind, f"{kind} {seed} {start}", min(CHUNK, count - start), seconds


def limit(kind: str) -> None:
    """Bound the memory of a worker, so that what allocates without end is seen as an error;
    solving takes more.
    """
    allowed = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = 8 * MEMORY if kind == "agreed" else MEMORY
    most = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGPROF, ring)


def ring(number: int, frame: FrameType | None) -> None:
    raise Late


def checks(kind: str, seed: str, count: int, seconds: int) -> Found:
    """Check some texts; the same seed gives the same texts."""
    chance, results = random.Random(seed), Found()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.yaml"
        for _ in range(count):
            if kind == "mutated":
                _, text = mutated(chance)
                outcome = timed(text, path, seconds)
                results.add(outcome.kind, outcome, text, outcome.kind in ("valid", "refused"))
            elif kind == "agreed":
                text = spec(chance)
                message = agree(text, Path(folder))
                outcome = Outcome("disagree" if message else "agree", frozenset(), message, 0.0)
                results.add(outcome.kind, outcome, text, not message)
            else:
                fault = planted(chance)
                outcome = timed(fault.text, path, seconds)
                right = planted_lines(fault, outcome)
                word = "on the right line" if right else f"{fault.kind} not on the right line"
                results.add(word, outcome, f"# line {fault.line}\n{fault.text}", right)
    return results


def timed(text: str, path: Path, seconds: int) -> Outcome:
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time: the machine may be loaded
    try:
        return checked(text, path)
    except Late:
        return Outcome(f"over {seconds} s", frozenset(), "", float(seconds))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    assert len(FAULTS) >= 8
    sys.exit(main())
