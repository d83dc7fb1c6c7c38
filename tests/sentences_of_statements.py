"""Draw statements about requests near saturation, and execute each verdict and each cause of a
miss: a part of benchmarks/sentences.py.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slipstick.report.formatting import percent, quantity
from slipstick.study.run import prepare, run
from slipstick_papers.statements import StatementsResult
from tests.sentences_of_scaling import response

CASES = ("base", "c1", "c2", "c3")
STATEMENTS = 6

Statement = dict[str, Any]


def false_statement(chance: random.Random, folder: Path) -> str:
    """Check drawn statements, and return what is false of a verdict or a cause."""
    servers, service = chance.choice([1, 2, 4]), math.exp(chance.uniform(-4, 0))
    loads = [1 - math.exp(chance.uniform(-7, -0.5)) for _ in CASES]
    loads[-1] = chance.choice([loads[-1], 1.0, 1.2])  # saturated: longer than any time
    rates = [load * servers / service for load in loads]
    times = {
        case: time if (time := response(rate, servers, service)) else math.inf
        for case, rate in zip(CASES, rates, strict=True)
    }
    drawn = {f"s{number}": _drawn(chance, times) for number in range(STATEMENTS)}
    (folder / "model.yaml").write_text(
        f"activity: 1\nparameters: {{rate: {rates[0]!r} /s, work: {service!r} s}}\n"
        f"population: {{arrivals: rate}}\nresources: {{cpu: {{servers: {servers}}}}}\n"
        "cycle:\n- {name: serve, service: cpu, time: work, scv: 1}\n"
    )
    cases = ", ".join(
        f"{case}: {{parameters.rate: {rate!r} /s}}"
        for case, rate in zip(CASES[1:], rates[1:], strict=True)
    )
    lines = [
        (
            f"  {name}: {{value: time, "
            f"{', '.join(f'{key}: {value}' for key, value in spec.items() if key != 'cited')}}}"
        )
        for name, spec in drawn.items()
    ]
    (folder / "study.yaml").write_text(
        "study: 1\nbase: {model: model.yaml, method: mean-value}\n"
        f"cases: {{{cases}}}\nanswer: [time]\nstatements:\n" + "\n".join(lines) + "\n"
    )
    (result,) = run(prepare(str(folder / "study.yaml"))).questions.values()
    assert isinstance(result, StatementsResult)
    return next(_false_rows(result, drawn, times), "")


def _drawn(chance: random.Random, times: dict[str, float]) -> Statement:
    of = chance.sample(CASES, chance.choice([1, 2, 3]))
    near = next((time for case in of if math.isfinite(time := times[case])), 1.0)
    stated = near * math.exp(chance.gauss(0, 0.3))
    rest = [case for case in CASES if case not in of]
    form = chance.choice(["about", "from", "to", "above", "below", "greatest", "smallest"])
    cited = chance.sample(CASES, 2)
    statement: Statement = {
        "says": "'it is so'",
        "source": "made up",
        "missed": f"'it takes {{{cited[0]} time}}, {{{cited[0]} time / {cited[1]} time}}'",
        "cited": cited,
    }
    if form in ("greatest", "smallest"):
        statement |= {"of": list(CASES), form: chance.sample(of, min(2, len(of)))}
        return statement
    statement["of"] = of
    if len(of) > 1 and chance.random() < 0.5:
        statement["at_least"] = 1
    if form == "about":
        return statement | {form: f"{stated!r} s", "within": f"{stated / 5!r} s"}
    if form in ("from", "to"):
        return statement | {form: f"{stated!r} s"}
    return statement | {form: [chance.choice(rest)]}


def _false_rows(
    result: StatementsResult, drawn: dict[str, Statement], times: dict[str, float]
) -> Iterator[str]:
    confirmed = 0
    for row in result.statements:
        spec = drawn[row.name]
        wanted = _verdict(spec, times)
        confirmed += wanted == "hit"
        if row.verdict != wanted:
            yield f"{row.name} {spec}: {row.verdict}\n  it is {wanted}: {times}"
        first, second = (times[case] for case in spec["cited"])
        time_text, ratio = quantity(first, "s"), percent(first / second)
        if math.isinf(first):
            time_text = ratio = "beyond any limit (a resource is saturated)"
        elif math.isinf(second):
            ratio = "unknown"
        cause = f"it takes {time_text}, {ratio}"
        if row.missed != ("" if wanted == "hit" else cause):
            yield f"{row.name}: {row.missed}\n  {cause}, {wanted}"
    said = re.search(r"(\d+) of (\d+)", result.sentences()[0])
    if said and int(said[1]) != confirmed:
        yield f"{result.sentences()[0]}\n  {confirmed} hold"


def _verdict(spec: Statement, times: dict[str, float]) -> str:
    """Return whether enough of the times are as stated."""

    def holds(case: str) -> bool:
        time = times[case]
        if "about" in spec:
            return abs(time - float(spec["about"][:-2])) <= float(spec["within"][:-2])
        if "from" in spec or "to" in spec:
            least, most = (
                float(spec.get(key, text)[:-2]) for key, text in (("from", "0 s"), ("to", "inf s"))
            )
            return least <= time <= most
        key = next(key for key in ("above", "below", "greatest", "smallest") if key in spec)
        named = (
            spec[key]
            if key in ("above", "below")
            else [other for other in CASES if other not in spec[key]]
        )
        others = [times[other] for other in named]
        sign = 1 if key in ("above", "greatest") else -1
        return all(sign * time > sign * other for other in others)

    compared = spec.get("greatest") or spec.get("smallest") or spec["of"]
    known = [holds(case) for case in compared]
    needed = spec.get("at_least", len(known))
    return "hit" if known.count(True) >= needed else "miss"
