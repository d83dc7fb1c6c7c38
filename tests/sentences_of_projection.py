"""Draw questions of `project`, and execute each sentence: a part of benchmarks/sentences.py.

Two kinds of cases: programs that spend time in three classes of cost, one of them on hardware of
which a class is better, and requests at two stations in a row that become saturated, or cease to
be. Rates change once, so that conditions begin and end.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from slipstick.study.run import prepare, run
from slipstick_trends.project import ProjectResult
from tests.sentences_of_scaling import response

BASE, LAST, TURN = 2005, 2025, 2013
CLASSES = {"application": "processors", "memory": "memory", "wire": "wire"}
"""The rate of each class of cost."""

FASTER = ("application",)
"""Classes whose technology is set as a factor of the speed; that of others is one of the time."""

WORDS = {"computation": "application", "memory traffic": "memory", "the wire": "wire"}
NEAR = 0.06
"""Years are written with one digit."""

Rates = dict[str, tuple[float, float]]


def drawn_rates(chance: random.Random) -> Rates:
    """Draw the factor a year of each rate, before and after a turn."""
    factors = (0.9, 0.97, 1.0, 1.03, 1.1, 1.2, 1.41)
    return {name: (chance.choice(factors), chance.choice(factors)) for name in CLASSES.values()}


def factor(rates: Rates, name: str, year: float) -> float:
    """Return how many times better a technology is than in the base year."""
    before, after = rates[name]
    return math.pow(before, min(year, TURN) - BASE) * math.pow(after, max(0.0, year - TURN))


def trend(rates: Rates) -> str:
    """Write the trend."""
    lines = [
        f"  {name}: [{{from: 2000, to: {TURN}, factor: {before!r}}},"
        f" {{from: {TURN}, to: 2030, factor: {after!r}}}]\n"
        for name, (before, after) in rates.items()
    ]
    return f"trend: 1\nsource: made up\nrates:\n{''.join(lines)}"


def false_project(chance: random.Random, folder: Path) -> str:
    """Project a program, or requests, over the years; return the sentences of the report that are
    false.
    """
    return next((_of_programs if chance.random() < 0.5 else _of_requests)(chance, folder), "")


def _answered(model: str, rates: Rates, study: str, folder: Path) -> list[str]:
    (folder / "model.yaml").write_text(model)
    (folder / "trend.yaml").write_text(trend(rates))
    (folder / "study.yaml").write_text(f"study: 1\nbase: {{model: model.yaml}}\n{study}")
    (result,) = run(prepare(str(folder / "study.yaml"))).questions.values()
    assert isinstance(result, ProjectResult)
    return result.sentences()


def _project(chance: random.Random, watch: list[str], answer: str) -> str:
    step = chance.choice([1, 4, 5, 10, 20])
    return (
        f"answer: [{answer}]\nproject:\n  trends: [trend.yaml]\n  base_year: {BASE}\n"
        f"  years: {{from: {BASE}, to: {LAST}, step: {step}}}\n  watch: {watch}\n  samples: 0\n"
    )


def _of_programs(chance: random.Random, folder: Path) -> Iterator[str]:
    rates = drawn_rates(chance)
    own = {name: math.exp(chance.uniform(-5, 0)) for name in CLASSES}
    better = {name: chance.choice([1.0, 0.5, 2.0, 4.0]) for name in CLASSES}

    def times(year: float, case: str) -> dict[str, float]:
        return {
            name: time
            / factor(rates, CLASSES[name], year)
            * (1.0 if case == "base" else 1 / better[name] if name in FASTER else better[name])
            for name, time in own.items()
        }

    limit = sum(own.values()) * math.exp(chance.uniform(-3, 1))
    share = chance.choice([0.3, 0.5, 0.7])

    def quick(year: float, case: str) -> bool:
        return sum(times(year, case).values()) <= limit

    def efficient(year: float, case: str) -> bool:
        return times(year, case)["application"] >= share * sum(times(year, case).values())

    def remembering(year: float, case: str) -> bool:
        return times(year, case)["memory"] > times(year, case)["wire"]

    conditions: dict[str, Callable[[float, str], bool]] = {
        f"time <= {limit!r} s": quick,
        f"efficiency >= {share}": efficient,
        "technology[memory] > technology[wire]": remembering,
    }
    names = ", ".join(f"{name}: {time!r} s" for name, time in own.items())
    steps = [
        f"- {{name: {name}, delay: {name}, technology: {name},"
        f" component: {'busy' if name == 'application' else name}}}\n"
        for name in own
    ]
    model = (
        f"activity: 1\nparameters: {{{names}}}\npopulation: {{processors: 4}}\n"
        f"cycle:\n{''.join(steps)}"
    )
    hardware = ", ".join(
        f"technology.{CLASSES[name]}: {value!r}" for name, value in better.items() if value != 1.0
    )
    cases = f"cases: {{other: {{{hardware}}}}}\n" if hardware else ""
    lines = _answered(
        model, rates, cases + _project(chance, list(conditions), "time, efficiency"), folder
    )
    for case in ["base", "other"] if cases else ["base"]:
        own_lines = [
            line.removeprefix(f"{case.capitalize()}: ")
            for line in lines
            if not cases
            or line.lower().startswith(case)
            or line.lower().startswith("in every case")
        ]
        for condition, holds in conditions.items():
            yield from _condition(own_lines, condition, partial(_of_case, holds, case))
        yield from _most(own_lines, partial(times, case=case))
        yield from _share(own_lines, partial(times, case=case))
    for line in lines:
        if hit := OVERTAKES.search(line):
            first, second = (each.strip().lower() for each in (hit[1], hit[2]))
            begin, end = float(hit[3]), float(hit[4] or LAST + 1)
            places = [year for year in _years() if begin + NEAR < year < end - NEAR]
            outside = [(begin - NEAR, False)] if begin - NEAR > BASE else []
            outside += [(end + NEAR, False)] if end + NEAR < LAST else []
            for year, claimed in [*((year, True) for year in places), *outside]:
                less = sum(times(year, first).values()) < sum(times(year, second).values())
                if less != claimed:
                    yield f"{line}\n  in {year} it does{'' if less else ' not'}"
                    break


def _of_case(holds: Callable[[float, str], bool], case: str, year: float) -> bool:
    return holds(year, case)


OVERTAKES = re.compile(r"^(.*?) takes less time than (.*?) from ([\d.]+)(?: on| to ([\d.]+))")
MOST = re.compile(
    r"^(?:[iI]n every case )?(.*?) takes? the most time (?:in all years|until ([\d.]+))(.*)"
)
SHARE = re.compile(
    r"by (\d+) (.*?) takes? ([\d.]+) %"
    r"(?:.*; infinitely fast processors alone(?:, which run it too,)? save at most ([\d.]+) %)?"
)
PLACES = re.compile(r"from ([\d.]+) on|until ([\d.]+)|in ([\d.]+)(?=,|$)")


def _years() -> list[float]:
    return [BASE + 0.01 * step for step in range(100 * (LAST - BASE) + 1)]


def _of_requests(chance: random.Random, folder: Path) -> Iterator[str]:
    rates = drawn_rates(chance)
    services = {name: math.exp(chance.uniform(-4, 0)) for name in ("application", "memory")}
    servers = {name: chance.choice([1, 1, 2, 4]) for name in services}
    most = min(servers[name] / services[name] for name in services)
    arrivals = most * chance.uniform(0.5, 1.3)
    limit = sum(services.values()) * math.exp(chance.uniform(-0.5, 5))

    def time(year: float) -> float:
        each = [
            response(arrivals, servers[name], service / factor(rates, CLASSES[name], year))
            for name, service in services.items()
        ]
        return math.inf if None in each else sum(filter(None, each))

    names = ", ".join(f"{name}: {service!r} s" for name, service in services.items())
    stations = ", ".join(f"{name}: {{servers: {count}}}" for name, count in servers.items())
    steps = [
        f"- {{name: at_{name}, service: {name}, time: {name}, technology: {name}, scv: 1}}\n"
        for name in services
    ]
    model = (
        f"activity: 1\nparameters: {{{names}, rate: {arrivals!r} /s}}\n"
        f"population: {{arrivals: rate}}\nresources: {{{stations}}}\ncycle:\n{''.join(steps)}"
    )
    condition = f"time < {limit!r} s"
    lines = _answered(model, rates, _project(chance, [condition], "time"), folder)

    def holds(year: float) -> bool:
        return time(year) < limit

    yield from _condition(lines, condition, holds)


def _condition(
    lines: list[str], condition: str, holds: Callable[[float], bool | None]
) -> Iterator[str]:
    """Compare the sentence on a condition with the condition itself, in all years."""
    words = {"time": "ime is", "efficiency": "fficiency is", "technology": "ime of memory"}
    begins = words[re.split(r"\W", condition)[0]]
    found = [
        line
        for line in lines
        if re.match(rf"(?:[Ww]hether )?.?{begins}", line)
        and re.search(r"throughout|in no year|wherever|has no answer|on|until", line)
        and "the most time" not in line
    ]
    if len(found) != 1:
        yield f"{len(found)} sentences on {condition}: {lines}"
        return
    (line,) = found
    said, _, without = line.partition(", without an answer ")
    places = sorted(
        (float(hit[1] or hit[2]), bool(hit[1])) for hit in PLACES.finditer(said) if not hit[3]
    )
    spans = [*_spans(without)]
    for year in _years():
        ends = [place for place, _ in places] + [end for span in spans for end in span]
        if any(abs(year - end) < NEAR for end in ends):
            continue
        inside = any(first <= year <= last for first, last in spans)
        value = holds(year)
        if (value is None) != inside and "has no answer" not in said:
            yield f"{line}\n  in {year:.2f} it has {'no' if value is None else 'an'} answer"
            return
        if value is None:
            continue
        if "has no answer" in said:
            yield f"{line}\n  in {year:.2f} it has an answer"
            return
        before = [starts for place, starts in places if place < year]
        claimed = before[-1] if before else not places[0][1] if places else "no year" not in said
        if claimed != value:
            yield f"{line}\n  in {year:.2f} it {'holds' if value else 'does not hold'}"
            return


def _spans(text: str) -> Iterator[tuple[float, float]]:
    for hit in re.finditer(
        r"until ([\d.]+)|from ([\d.]+) on|from ([\d.]+) to ([\d.]+)|in ([\d.]+)", text
    ):
        until, since, first, last, only = hit.groups()
        yield (
            (BASE - 1, float(until))
            if until
            else (float(since), LAST + 1)
            if since
            else (float(first), float(last))
            if first
            else (float(only), float(only))
        )


def _most(lines: list[str], times: Callable[[float], dict[str, float]]) -> Iterator[str]:
    """Compare the class that takes the most time with all other classes, in all years."""
    for line in lines:
        hit = MOST.search(line)
        if hit is None:
            continue
        turns = [(BASE - 1.0, WORDS[hit[1].lower()])]
        for later in re.finditer(r", (.*?) from ([\d.]+)(?=,|$)", hit[3] or ""):
            turns.append((float(later[2]), WORDS[later[1]]))
        for year in _years():
            if any(abs(year - place) < NEAR for place, _ in turns):
                continue
            named = [name for place, name in turns if place < year][-1]
            now = times(year)
            if now[named] < max(now.values()) * (1 - 1e-9):
                yield f"{line}\n  in {year:.2f} it is {max(now, key=lambda name: now[name])}"
                return


def _share(lines: list[str], times: Callable[[float], dict[str, float]]) -> Iterator[str]:
    """Compare the largest share of the last year, and what faster processors save, with the
    formula.
    """
    for line in lines:
        hit = SHARE.search(line)
        if hit is None:
            continue
        now = times(float(hit[1]))
        part = now[WORDS[hit[2].lower()]] / sum(now.values())
        if abs(100 * part - float(hit[3])) > 0.051 or part < max(now.values()) / sum(now.values()):
            yield f"{line}\n  it takes {part:.4%}"
        saved = now["application"] / sum(now.values())
        if hit[4] and abs(100 * saved - float(hit[4])) > 0.051:
            yield f"{line}\n  processors save {saved:.4%}"
