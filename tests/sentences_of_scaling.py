"""Draw questions of `scale`, and execute each sentence: a part of benchmarks/sentences.py.

Two kinds of cases: a program whose time is a sum of terms in its size and its processors, of which
some grow with the size as the work or faster; and a queue of M/M/c with more servers, whose size is
its load, so that a time is kept just before saturation.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import sympy

from slipstick.study.run import prepare, run
from slipstick_scaling.question import ScaleResult

FURTHEST = 64
"""Doublings of a size, up or down, within which none is said to keep what is to be kept."""

PARTS = 16
"""Places in a doubling at which such a sentence is held against the formula."""

FAR = (1e30, 1e60)
"""Numbers of processors between which the growth of the work is measured."""


def response(arrivals: float, servers: float, service: float) -> float | None:
    """Return the response time of M/M/c; None where it is saturated."""
    load = arrivals * service
    if load >= servers or servers < 1 or servers != int(servers):
        return None
    blocked = 1.0
    for k in range(1, int(servers) + 1):
        blocked = load * blocked / (k + load * blocked)
    waiting = blocked / (1 - load / servers * (1 - blocked))
    return service + waiting * service / (servers - load)


@dataclass
class Program:
    """A program of time work n^power / N + the sum of its terms c n^a N^b log2(N)^q [s]."""

    work: float
    power: float
    terms: list[tuple[float, float, float, int]]
    size: float

    def parts(self, size: float, processors: float) -> list[float]:
        """Return the useful time of a processor, and the terms [s]."""
        logs = math.log2(processors)
        return [
            self.work * size**self.power / processors,
            *(c * size**a * processors**b * logs**q for c, a, b, q in self.terms),
        ]

    def text(self) -> str:
        """Write the activity."""
        useful = f"{_power('items', self.power)} / processors * step"
        lines = [f"- {{name: add, component: busy, delay: '{useful}'}}"]
        names = [f"step: {self.work!r} s"]
        for k, (c, a, b, q) in enumerate(self.terms):
            formula = f"{_power('items', a)} * {_power('processors', b)} * t{k}"
            formula += " * log2(processors)" * q
            lines.append(f"- {{name: t{k}, delay: '{formula}', component: lost{k}}}")
            names.append(f"t{k}: {c!r} s")
        return (
            "activity: 1\nparameters:"
            f" {{items: {self.size!r}, processors: 4, {', '.join(names)}}}\n"
            "population: {processors: processors}\ncycle:\n" + "\n".join(lines) + "\n"
        )


def _power(name: str, power: float) -> str:
    return f"pow({name}, {power!r})" if power % 1 else f"{name} ** {power:g}"


def drawn_program(chance: random.Random) -> Program:
    """Draw a program with one to three terms."""
    power = chance.choice([1.0, 1.0, 1.5, 2.0])
    terms = [
        (
            10 ** chance.uniform(-4, -1),
            chance.choice([0.0, 0.0, 0.5, 1.0, power, power + 0.5]),
            chance.choice([-1.0, -0.5, 0.0, 0.0, 1.0, 1.0, 2.0]),
            chance.choice([0, 0, 1, 2]),
        )
        for _ in range(chance.choice([1, 2, 2, 3]))
    ]
    return Program(10 ** chance.uniform(-3, -1), power, terms, 10 ** chance.uniform(1, 3))


FASTEST = re.compile(
    r"it is fastest on (\S+) processors?(, the \w+ number examined)?(?: \(of .*?\))?: "
)
LARGEST = re.compile(
    r"(?:(no number)|an efficiency of at least \S+ % on up to (\S+) processors?)(, the largest "
    r"number"
    r" examined)?[^;]*?(?:, but not on (.*))?$"
)
GROWS = re.compile(r"the work must grow as (.+?)(?:; the term .*from N = (\S+) on is (.+))?$")
NEVER = re.compile(r"Not scalable at .*?: (.*)$")


def solved(model: str, study: str, folder: Path) -> ScaleResult:
    """Answer a question of `scale`."""
    (folder / "model.yaml").write_text(model)
    (folder / "study.yaml").write_text(f"study: 1\n{study}\n")
    (result,) = run(prepare(str(folder / "study.yaml"))).questions.values()
    assert isinstance(result, ScaleResult)
    return result


def false_scale(chance: random.Random, folder: Path) -> str:
    """Scale a program, or a queue, and return the sentences of the report that are false."""
    return next(
        (_of_program if chance.random() < 0.75 else _of_queue)(chance, folder),
        "",
    )


def _of_program(chance: random.Random, folder: Path) -> Iterator[str]:
    program = drawn_program(chance)
    numbers = sorted({round(2 ** chance.uniform(0, 9)) for _ in range(chance.choice([2, 4, 6]))})
    if len(numbers) < 2:
        numbers = [1, 8]
    goal = chance.choice([0.3, 0.5, 0.7, 0.9])
    threshold = chance.choice([0.5, 0.8])
    seconds = sum(program.parts(program.size, numbers[-1])) * 10 ** chance.uniform(-1, 1)
    result = solved(
        program.text(),
        "base: {model: model.yaml}\n"
        f"scale: {{processors: {{parameters.processors: {numbers}}}, size: {{parameters.items: 1}},"
        f" ways: [fixed-size, time-bound, efficiency-conserved], time: {seconds!r} s,"
        f" efficiency: {goal!r}, threshold: {threshold!r}}}",
        folder,
    )
    lines = [line.partition(": ")[2] for line in result.sentences()]
    times = {
        count: sum(program.parts(program.size, count))
        for count in range(numbers[0], numbers[-1] + 1)
    }
    efficiencies = {
        count: program.parts(program.size, count)[0] / time for count, time in times.items()
    }
    yield from _fastest(lines[0], times)
    yield from _largest(lines[1], efficiencies, threshold)
    yield from _growth(lines[2], program, goal)

    def time_kept(size: float, count: float) -> float:
        return sum(program.parts(size, count)) / seconds - 1

    def efficiency_kept(size: float, count: float) -> float:
        parts = program.parts(size, count)
        return parts[0] / sum(parts) / goal - 1

    yield from _sizes(result, "time-bound", program.size, time_kept)
    yield from _sizes(result, "efficiency-conserved", program.size, efficiency_kept)


def _of_queue(chance: random.Random, folder: Path) -> Iterator[str]:
    service = math.exp(chance.uniform(-4, 1))
    servers = sorted({chance.randint(1, 12) for _ in range(3)} | {13})
    arrivals = servers[0] / service * chance.uniform(0.1, 0.9)
    seconds = service * math.exp(chance.uniform(0.001, 12))
    model = (
        f"activity: 1\nparameters: {{arrive: {arrivals!r} /s, servers: 4}}\n"
        "population: {arrivals: arrive}\nresources: {cpu: {servers: servers}}\n"
        f"cycle:\n- {{name: serve, service: cpu, time: {service!r} s, scv: 1}}\n"
    )
    result = solved(
        model,
        # Mean value is exact here, and a method that is named is not looked at by simulation.
        "base: {model: model.yaml, method: mean-value}\n"
        f"scale: {{processors: {{parameters.servers: {servers}}}, size: {{parameters.arrive: 1}},"
        f" ways: [fixed-size, time-bound], time: {seconds!r} s}}",
        folder,
    )
    lines = [line.partition(": ")[2] for line in result.sentences()]
    times = {count: response(arrivals, count, service) or math.inf for count in servers}
    yield from _fastest(lines[0], times)
    if "not defined" not in lines[1]:
        yield lines[1]

    def time_kept(size: float, count: float) -> float:
        time = response(size, count, service)
        return math.nan if time is None else time / seconds - 1

    yield from _sizes(result, "time-bound", arrivals, time_kept)


def _fastest(sentence: str, times: dict[int, float]) -> Iterator[str]:
    hit = FASTEST.search(sentence)
    best = min(times, key=lambda count: times[count])
    if hit is None:
        yield f"{sentence}\n  {best} is fastest"
        return
    count = int(float(hit[1]))
    if times[count] > times[best] * (1 + 1e-9):
        yield f"{sentence}\n  {best} takes {times[best]}, that {times[count]}"
    end = {min(times): "smallest", max(times): "largest"}.get(count)
    if hit[2] and str(end) not in hit[2]:
        yield f"{sentence}\n  {count} is not the {hit[2]}"


def _largest(sentence: str, efficiencies: dict[int, float], threshold: float) -> Iterator[str]:
    enough = [count for count, each in efficiencies.items() if each >= threshold * (1 - 1e-12)]
    hit = LARGEST.search(sentence)
    if hit is None or bool(hit[1]) == bool(enough):
        yield f"{sentence}\n  {enough} have it"
    elif enough and int(float(hit[2])) != max(enough):
        yield f"{sentence}\n  {max(enough)} has it"
    elif enough:
        missing = [count for count in efficiencies if count < max(enough) and count not in enough]
        if bool(missing) != bool(hit[4]):
            yield f"{sentence}\n  {missing} have not"


def _growth(sentence: str, program: Program, goal: float) -> Iterator[str]:
    """Compare an order of growth, or the statement that no size suffices, with the size that the
    formula needs.
    """
    never, grows = NEVER.search(sentence), GROWS.search(sentence)
    sizes = [_log_size(program, goal, math.log(count)) for count in FAR]
    if never:
        if all(size is not None for size in sizes):
            yield f"{sentence}\n  sizes are enough: {sizes}"
        if limit := re.search(r"on more than ([-+.e0-9]+)", never[1]):
            beside = [
                _log_size(program, goal, math.log(float(limit[1]) * (1 + off))) is not None
                for off in (-1e-3, 1e-3)
            ]
            if beside != [True, False]:
                yield f"{sentence}\n  enough below and above: {beside}"
        return
    if "the work need not grow" in sentence:
        if sizes[0] != sizes[1]:
            yield f"{sentence}\n  sizes: {sizes}"
        return
    if not grows or sizes[0] is None or sizes[1] is None:
        yield f"{sentence}\n  sizes: {sizes}"
        return
    order = sympy.sympify(grows[1].replace("^", "**"))
    (symbol,) = order.free_symbols or [sympy.Symbol("processors")]
    logs = [sympy.log(order.subs(symbol, sympy.Float(count, 40))) for count in FAR]
    # Logarithms of logarithms, and constants beside logarithms, vanish slowly.
    claimed, measured = float(logs[1] - logs[0]), program.power * (sizes[1] - sizes[0])
    if abs(claimed - measured) > 0.03 * abs(measured) + 0.5:
        yield f"{sentence}\n  the logarithm of the work grows by {measured}, not {claimed}"
    if grows[2]:
        yield from _dominant(sentence, grows, program, goal)


def _dominant(sentence: str, grows: re.Match[str], program: Program, goal: float) -> Iterator[str]:
    """Solve for the work that each term alone asks for, on both sides of the place that is
    named.
    """
    place, ratio = float(grows[2]), goal / (1 - goal)
    term = sympy.expand_log(sympy.sympify(grows[3]), force=True)
    numbers = {"items": 7.0, "processors": 5.0}
    numbers |= {f"t{index}": c for index, (c, _, _, _) in enumerate(program.terms)}
    value = float(term.subs({each: numbers[str(each)] for each in term.free_symbols}))

    def asked(index: int, count: float) -> float:
        c, a, b, q = program.terms[index]
        rest = math.log(ratio * c / program.work * math.log2(count) ** q) + (b + 1) * math.log(
            count
        )
        return max(rest / (program.power - a), 0.0)  # the smallest size is 1

    alone = [5.0 * c * 7.0**a * 5.0**b * math.log2(5.0) ** q for c, a, b, q in program.terms]
    named = min(range(len(alone)), key=lambda index: abs(alone[index] / value - 1))
    if abs(alone[named] / value - 1) > 1e-6:
        return  # several terms are one
    rivals = [index for index, (_, a, _, _) in enumerate(program.terms) if a < program.power]
    for beside in (place * 1.006, place * 1.2, place * 100):
        most = max(asked(index, beside) for index in rivals)
        if asked(named, beside) < most * (1 - 1e-6) - 1e-9:
            yield f"{sentence}\n  on {beside} another asks for more"
    before = place * 0.994
    if (
        place > 2.1
        and asked(named, before) > 0
        and all(asked(named, before) >= asked(index, before) for index in rivals)
    ):
        yield f"{sentence}\n  it asks for the most on {before}"


def _log_size(program: Program, goal: float, log_count: float) -> float | None:
    """Return the logarithm of the smallest size from which on a size keeps an efficiency; None if
    none does. Computed in logarithms, as sizes are beyond all numbers.
    """
    ratio = goal / (1 - goal)

    def spare(log_size: float) -> float:
        lost = [
            math.log(ratio * c)
            + a * log_size
            + (b + 1) * log_count
            + q * math.log(max(log_count / math.log(2), 1e-300))
            for c, a, b, q in program.terms
        ]
        most = max(lost)
        total = most + math.log(sum(math.exp(each - most) for each in lost))
        return math.log(program.work) + program.power * log_size - total

    places = [0.25 * step for step in range(8000)]  # the smallest size is 1
    good = [spare(place) >= 0 for place in places]
    if not any(good):
        return None
    first = good.index(True)
    if not first:
        return 0.0
    low, high = places[first - 1], places[first]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if spare(middle) >= 0 else (middle, high)
    return high


def _sizes(
    result: ScaleResult, way: str, own: float, missing: Callable[[float, float], float]
) -> Iterator[str]:
    """Compare each size with the formula, and search for a size where the report says that there is
    none.
    """
    (scaling,) = result.scalings
    sweep = scaling.ways[way]
    (path,) = [name for name in sweep.columns if name.startswith("parameters.")]
    for row, count in enumerate(scaling.numbers):
        if row not in sweep.failed:
            size = float(sweep.columns[path][row])
            if not abs(missing(size, count)) < 1e-6:
                yield f"{way}: {size!r} on {count}\n  off by {missing(size, count)}"
            continue
        places = [
            missing(own * 2.0 ** (step / PARTS), count)
            for step in range(-FURTHEST * PARTS, FURTHEST * PARTS + 1)
        ]
        known = [place for place in places if not math.isnan(place)]
        if any(place <= 0 for place in known) and any(place >= 0 for place in known):
            yield f"{way}, {count}: {sweep.failed[row]}\n  there is one"
