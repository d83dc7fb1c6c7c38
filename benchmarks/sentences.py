"""Draw questions of `seek`, `rank` and `choose` near saturation, and execute each sentence.

Every sentence is held against formulas that are written here: open tandems of M/M/c queues. A
sentence of `seek` is read as what it says of every place of the range, and compared at random
places and on both sides of each place that it names; that of `rank` with every change of every
quantity; that of `choose` with all points.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from slipstick.study.run import prepare, run
from slipstick.units import parse

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.sentences_of_fits import false_fit
from tests.sentences_of_projection import false_project
from tests.sentences_of_scaling import false_scale, response
from tests.sentences_of_statements import false_statement

PLACES = 40
"""Random places at which a sentence of `seek` is compared."""

BESIDE = 6e-6
"""Relative distance from a place that a sentence names: it is written with six digits."""


@dataclass
class Tandem:
    """Queues in a row, each of every customer once."""

    arrivals: float
    servers: list[int]
    services: list[float]

    def time(self, **changes: float) -> float | None:
        """Return the response time, with quantities changed by name."""
        arrivals, total = changes.get("arrivals", self.arrivals), 0.0
        for k, (servers, service) in enumerate(zip(self.servers, self.services, strict=True)):
            time_of_one = response(
                arrivals, changes.get(f"servers{k}", servers), changes.get(f"service{k}", service)
            )
            if time_of_one is None:
                return None
            total += time_of_one
        return total

    @property
    def capacity(self) -> float:
        """The arrivals that saturate the first of them."""
        return min(c / s for c, s in zip(self.servers, self.services, strict=True))

    def text(self) -> str:
        """Write the network."""
        lines = [
            f"  s{k}: {{servers: {c}, discipline: fcfs, service: {{jobs: {s!r} s}}}}\n"
            for k, (c, s) in enumerate(zip(self.servers, self.services, strict=True))
        ]
        head = f"queueing-network: 1\nclasses: {{jobs: {{arrivals: {self.arrivals!r} /s}}}}\n"
        return f"{head}stations:\n{''.join(lines)}"


PATHS = {"arrivals": "classes.jobs.arrivals"}
PATHS |= {f"servers{k}": f"stations.s{k}.servers" for k in range(3)}
PATHS |= {f"service{k}": f"stations.s{k}.service.jobs" for k in range(3)}
NAMES = {path: name for name, path in PATHS.items()}
TIME = "response_time[jobs]"


def drawn(chance: random.Random) -> Tandem:
    """Draw a tandem whose busiest queue is 80 to 99.9 % busy."""
    count = chance.choice([1, 2, 3])
    servers = [chance.choice([1, 1, 2, 4, 7]) for _ in range(count)]
    tandem = Tandem(1.0, servers, [math.exp(chance.uniform(-6, 0)) for _ in range(count)])
    busy = 1 - math.exp(chance.uniform(math.log(1e-3), math.log(0.2)))
    return Tandem(tandem.capacity * busy, servers, tandem.services)


def question(tandem: Tandem, lines: str, folder: Path) -> list[str]:
    """Answer one question, and return its sentences."""
    (folder / "model.yaml").write_text(tandem.text())
    (folder / "study.yaml").write_text(
        f'study: 1\nbase: {{model: model.yaml}}\nanswer: ["{TIME}"]\n{lines}\n'
    )
    (result,) = run(prepare(str(folder / "study.yaml"))).questions.values()
    return list(result.sentences())


NUMBER = r"([-+0-9.e]+(?: ?[a-z/]+)?)"
CLAIMS = {
    "starts": re.compile(rf"holds from (?:\S+ = )?{NUMBER} on"),
    "stops": re.compile(rf"holds up to (?:\S+ = )?{NUMBER}(?=,| \()"),
    "last answer": re.compile(rf"as far as there are answers, up to (?:\S+ = )?{NUMBER}"),
    "first answer": re.compile(rf"as far as there are answers, from (?:\S+ = )?{NUMBER}"),
}


def claims(sentence: str) -> list[tuple[float, str]]:
    """Read the places that a sentence names, rising; of equal ones as they are written."""
    claims_found = [
        (parse(hit[1])[0], hit.start(), kind)
        for kind, pattern in CLAIMS.items()
        for hit in pattern.finditer(sentence)
    ]
    return [(place, kind) for place, _, kind in sorted(claims_found)]


def said(sentence: str, named: list[tuple[float, str]], place: float) -> bool:
    """Return whether a sentence says that the condition holds at a place that has an answer."""
    if not named:
        return "holds throughout" in sentence
    begins = ("starts", "first answer")
    before = [kind for at, kind in named if at < place or (at == place and kind in begins)]
    if before:
        return before[-1] in begins
    return named[0][1] in ("stops", "last answer")


def false_seek(tandem: Tandem, chance: random.Random, folder: Path) -> str:
    """Ask for a limit, and return the false statements of the sentence; empty if there are none."""
    of = chance.choice(["arrivals", "service0", "servers0"])
    is_count = of == "servers0"
    own = getattr(tandem, of, None) or (
        tandem.services[0] if of == "service0" else float(tandem.servers[0])
    )
    first_value = 1.0 if is_count else own * chance.uniform(0.05, 0.9)
    last_value = (
        float(chance.randint(8, 60)) if is_count else own * math.exp(chance.uniform(0.02, 4))
    )
    service = sum(tandem.services)
    limit = service * math.exp(chance.uniform(0.01, 12))
    relation = chance.choice(["<=", "<=", ">="])
    unit = {"arrivals": " /s", "service0": " s", "servers0": ""}[of]
    ends = (
        (f"{first_value:g}", f"{last_value:g}")
        if is_count
        else (repr(first_value), repr(last_value))
    )
    (sentence,) = question(
        tandem,
        f"seek: {{q: {{of: {PATHS[of]}, from: {ends[0]}{unit}, to: {ends[1]}{unit},"
        f" where: '{TIME} {relation} {limit!r} s'}}}}",
        folder,
    )
    claims_named = claims(sentence)
    places = [chance.uniform(first_value, last_value) for _ in range(PLACES)] + [
        first_value,
        last_value,
    ]
    if is_count:
        places = [float(value_text) for value_text in range(int(first_value), int(last_value) + 1)]
    else:
        places += [at * (1 + side * BESIDE) for at, _ in claims_named for side in (-2, 2)]
    for place in places:
        if not first_value <= place <= last_value or any(
            abs(place / at - 1) < BESIDE for at, _ in claims_named if not is_count
        ):
            continue
        time = tandem.time(**{of: place})
        if time is None:
            if "saturated" not in sentence:
                return f"{sentence}\n  at {place!r} a station is saturated"
            continue
        holds = time <= limit if relation == "<=" else time >= limit
        if abs(time / limit - 1) > 1e-9 and holds != said(sentence, claims_named, place):
            return f"{sentence}\n  at {place!r} it {'holds' if holds else 'does not hold'}: {time}"
    for at, kind in claims_named:
        point_beyond = at * (1 + 3 * BESIDE) if kind == "last answer" else at * (1 - 3 * BESIDE)
        if (
            not is_count
            and kind.endswith("answer")
            and tandem.time(**{of: point_beyond}) is not None
        ):
            return f"{sentence}\n  {point_beyond!r} has an answer"
    return ""


BEST = re.compile(
    r"(?:\d[\d.]* % (less|more) of|(half|twice)(?: of)?) (\S+) helps most: it saves ([\d.]+) %"
)


def false_rank(tandem: Tandem, chance: random.Random, folder: Path) -> str:
    """Ask which change helps most, and return the false statements of the sentence."""
    change = chance.choice([0.01, 0.05, 0.1, 0.5, 0.9])
    (sentence,) = question(tandem, f"rank: {{change: {change!r}}}", folder)
    time_before = tandem.time()
    assert time_before is not None
    effects: list[tuple[float, str, str]] = []
    # The offered load is no lever.
    for k, service in enumerate(tandem.services):
        effects += _effects(tandem, f"service{k}", service, change, time_before)
    for k, count in enumerate(tandem.servers):
        effects += _effects(tandem, f"servers{k}", float(count), change, time_before)
    largest_effect, direction, name = max(effects, default=(0.0, "", ""))
    hit = BEST.search(sentence)
    if hit is None:
        return (
            ""
            if largest_effect <= 1e-9
            else f"{sentence}\n  {direction} of {name} saves {largest_effect:.3%}"
        )
    solved = {(NAMES[PATHS[parameter]], how): time_saved for time_saved, how, parameter in effects}
    claimed_direction = hit[1] or {"half": "less", "twice": "more"}[hit[2]]
    claimed = solved.get((NAMES.get(hit[3], ""), claimed_direction))
    if claimed is None or claimed < largest_effect * (1 - 1e-9):
        return f"{sentence}\n  {direction} of {name} saves {largest_effect:.3%}, that {claimed}"
    if abs(100 * claimed - float(hit[4])) > 0.006 * abs(100 * claimed):
        return f"{sentence}\n  it saves {claimed:.4%}"
    return ""


def _effects(
    tandem: Tandem, name: str, now: float, change: float, time_before: float
) -> Iterator[tuple[float, str, str]]:
    for direction, factor in (("less", 1 - change), ("more", 1 + change)):
        value = now * factor
        time_after = tandem.time(**{name: value})
        if time_after is not None and (not name.startswith("servers") or value >= 1):
            yield 1 - time_after / time_before, direction, name


LEAST = re.compile(r"the least \S+, ([\d.]+), is at (.+?);")


def false_choose(tandem: Tandem, chance: random.Random, folder: Path) -> str:
    """Ask for the cheapest servers, and return the false statements of the first sentence."""
    spans = [range(1, max(2, c + chance.choice([1, 2, 3])) + 1) for c in tandem.servers]
    prices = [chance.choice([1, 2, 3, 5]) for _ in spans]
    limit = sum(tandem.services) * math.exp(chance.uniform(0.001, 3))
    vary = ", ".join(
        f"stations.s{k}.servers: {{from: 1, to: {max(span)}, step: 1}}"
        for k, span in enumerate(spans)
    )
    cost = ", ".join(f"stations.s{k}.servers: {price}" for k, price in enumerate(prices))
    monotone = str(chance.random() < 0.5).lower()
    sentences = question(
        tandem,
        f"choose: {{vary: {{{vary}}}, cost: {{{cost}}}, minimize: cost,"
        f" where: '{TIME} <= {limit!r} s', monotone: {monotone}}}",
        folder,
    )
    meet = {}
    for point in product(*spans):
        time = tandem.time(**{f"servers{k}": c for k, c in enumerate(point)})
        if time is not None and time <= limit:
            meet[point] = sum(p * c for p, c in zip(prices, point, strict=True))
    hit = LEAST.search(sentences[0])
    if hit is None:
        return f"{sentences[0]}\n  {min(meet, key=lambda p: meet[p])} meets it" if meet else ""
    point = tuple(int(count_text) for count_text in re.findall(r"servers = (\d+)", hit[2]))
    least_cost = min(meet.values(), default=math.inf)
    if point not in meet or meet[point] != least_cost or float(hit[1]) != least_cost:
        return f"{sentences[0]}\n  the least is {least_cost}"
    return ""


def main() -> int:
    """Draw as many questions of each kind, and print the false sentences and their number."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, help="by default the time; 1 where short")
    parser.add_argument("--questions", type=int, default=100, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="all by default")
    parser.add_argument("--short", action="store_true", help="three of each kind")
    options = parser.parse_args()
    count = 3 if options.short else options.questions
    drawn_seed = 1 if options.short else int(clock.time())
    seed = drawn_seed if options.seed is None else options.seed
    print(f"seed {seed}")
    wrong: list[str] = []
    with TemporaryDirectory() as folder:
        for kind, check in KINDS.items():
            if kind not in (options.kinds or KINDS):
                continue
            contradictions: list[str] = []
            for draw_number in range(count):
                chance = random.Random(f"{kind} {seed} {draw_number}")
                contradictions += filter(None, [check(chance, Path(folder))])
            print(f"{kind}: {len(contradictions)} of {count} sentences are false")
            wrong += contradictions
    for sentence in wrong:
        print(f"- {sentence}")
    return 1 if wrong else 0


def of_tandem(check: Callable[[Tandem, random.Random, Path], str]) -> Check:
    """Return a check of drawn tandems."""
    return lambda chance, folder: check(drawn(chance), chance, folder)


Check: TypeAlias = Callable[[random.Random, Path], str]
KINDS: dict[str, Check] = {
    "seek": of_tandem(false_seek),
    "rank": of_tandem(false_rank),
    "choose": of_tandem(false_choose),
    "scale": false_scale,
    "project": false_project,
    "fit": false_fit,
    "statements": false_statement,
}


if __name__ == "__main__":
    sys.exit(main())
