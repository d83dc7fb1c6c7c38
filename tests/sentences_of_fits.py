"""Draw measured times near saturation, and execute each sentence of a fit: a part of
benchmarks/sentences.py.

What is said of the rows is held against the rows, what is said of the fitted law against that law
on every number of processors that it is used for, and the best number of processors and the largest
speed-up against the truth that the rows were drawn from, within the rows.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick_measure.fit.comparison import TESTED_STEPS, compare, fits
from slipstick_measure.fit.formula import Timings
from slipstick_measure.report.fits import main_findings

FAR_OFF = 0.15
"""Part by which a law may be beside the truth within the rows: a law that misses them by more than
a tenth is said not to describe them."""


_ENDS = r"(?: \([^)]*\))?"
"""An interval in brackets behind a number."""


def drawn_truth(chance: random.Random) -> Callable[[float], float]:
    """Draw the time on p processors of a program that saturates a resource."""
    work, limit = 10 ** chance.uniform(0, 3), chance.uniform(2, 40)
    kind = chance.choice(["roof", "queue", "serial", "exchange", "lock"])
    slow = 10 ** chance.uniform(-4, -2)

    def queue(p: float) -> float:
        demand, number, cycle = 1 / limit, 0.0, 1.0
        for customers in range(1, round(p) + 1):
            residence = demand * (1 + number)
            cycle = 1 + residence
            number = customers * residence / cycle
        return work * cycle / p

    return {
        "roof": lambda p: max(work / p, work / limit),
        "queue": queue,
        "serial": lambda p: work * (1 / limit + (1 - 1 / limit) / p),
        "exchange": lambda p: work / p + work * slow * math.log2(max(p, 1)),
        "lock": lambda p: work / p + work * slow / 10 * p,
    }[kind]


def false_fit(chance: random.Random, folder: Path) -> str:
    """Fit laws to drawn rows, and return the sentences of the report that are false."""
    truth = drawn_truth(chance)
    largest = chance.choice([8, 16, 32, 64])
    numbers = [2**k for k in range(chance.choice([0, 0, 1]), largest.bit_length())]
    if chance.random() < 0.4:
        numbers = sorted({*chance.sample(range(1, largest + 1), min(6, largest)), largest})
    noise, repeats = chance.choice([0.0, 0.01, 0.03]), chance.choice([1, 3])
    p = np.repeat(np.array(numbers, dtype=float), repeats)
    time = np.array([truth(each) * math.exp(chance.gauss(0, noise)) for each in p.tolist()])
    timings = Timings(p, np.ones(len(p)), time)
    efficiency = chance.choice([0.5, 0.75, 0.9])
    ahead = [float(2 * largest)]
    try:
        fitting = fits(timings, p=ahead, efficiency=efficiency)
    except NoAnswerError:
        return ""
    lines = main_findings(fitting)
    found = _of_rows(lines[0], timings, efficiency)
    if (said := next(found, "")) or not fitting.has_law:
        return said
    comparison = compare(timings, None, sorted({*TESTED_STEPS, ahead[0] / largest}))
    fitted, reach = comparison.best.fitted_formula, comparison.useful_reach(0.95)
    last = min(fitted.formula.largest_extrapolation_ratio * largest, reach)
    every = np.arange(1.0, last + 1)
    law = fitted.predict(every.tolist())
    by_law = next((line for line in lines if line.startswith("By ")), "")
    return next(_of_law(by_law, every, law, efficiency), "") or next(
        _of_truth(by_law, truth, numbers), ""
    )


def _of_rows(sentence: str, timings: Timings, efficiency: float) -> Iterator[str]:
    numbers = sorted({*timings.p.tolist()})
    medians = [float(np.median(timings.time[timings.p == each])) for each in numbers]
    reached = [
        medians[0] * numbers[0] / (each * median)
        for each, median in zip(numbers, medians, strict=True)
    ]
    falls = re.search(
        (
            r"falls below \S+ % between (\S+) processors? \(([\d.]+) %\) and (\S+) processors? "
            r"\(([\d.]+) %\)"
        ),
        sentence,
    )
    short = [index for index, each in enumerate(reached) if each < efficiency]
    if bool(falls) != bool(short) or (not falls and "does not fall below" not in sentence):
        yield f"{sentence}\n  efficiencies {reached}"
    elif falls:
        places = numbers.index(float(falls[1])), numbers.index(float(falls[3]))
        if places[1] != short[0] or places[0] != max(short[0] - 1, 0):
            yield f"{sentence}\n  efficiencies {reached}"
        for place, text in zip(places, (falls[2], falls[4]), strict=True):
            if abs(100 * reached[place] - float(text)) > 0.051 + 5e-3 * float(text):
                yield f"{sentence}\n  it is {reached[place]}"
    if best := re.search(r"speed-up is highest at (\d+)", sentence):
        place = numbers.index(float(best[1]))
        if reached[place] * numbers[place] < max(map(lambda e, n: e * n, reached, numbers)) * (
            1 - 1e-9
        ):
            yield f"{sentence}\n  efficiencies {reached}"


def _of_law(sentence: str, every: np.ndarray, law: np.ndarray, efficiency: float) -> Iterator[str]:
    """Compare the sentences on a law with the law at every number of processors."""
    speedup = law[0] / law
    if hit := re.search(r"Efficiency is at least \S+ % up to (\d+)", sentence):
        short = np.flatnonzero(speedup / every < efficiency * (1 - 1e-9))
        most = every[short[0]] - 1 if len(short) else every[-1]
        if float(hit[1]) != max(most, 1.0):
            yield f"{sentence}\n  up to p = {most}"
    if hit := re.search(
        r"Speed-up (is largest,|still rises, to) ([\d.]+)(?: \([^)]*\))?, at (\d+)", sentence
    ):
        at = float(hit[3])
        if abs(speedup[int(at) - 1] / float(hit[2]) - 1) > 0.006:
            yield f"{sentence}\n  there it is {speedup[int(at) - 1]}"
        if speedup.max() > speedup[int(at) - 1] * (1 + 1e-6):
            yield f"{sentence}\n  at p = {every[speedup.argmax()]} it is {speedup.max()}"
        if ("still" in hit[1]) != (at == every[-1]):
            yield f"{sentence}\n  the last is {every[-1]}"
    if hit := re.search(
        r"Speed-up levels off at ([\d.]+)(?: \([^)]*\))?; 95 % of it is reached with about (\d+)",
        sentence,
    ):
        at, most = int(hit[2]), speedup.max()
        is_first = speedup[at - 1] >= 0.95 * most * (1 - 1e-9) > speedup[at - 2]
        if not is_first or speedup[at:].min() < 0.95 * most * (1 - 1e-9):
            yield f"{sentence}\n  the speed-ups are {speedup}"
        if abs(most / float(hit[1]) - 1) > 0.006:
            yield f"{sentence}\n  at p = {every[speedup.argmax()]} it is {most}"
    hit = re.search(rf"Fastest at (\d+) processors?{_ENDS}, in", sentence)
    if hit and law.min() < law[int(hit[1]) - 1] * (1 - 1e-6):
        yield f"{sentence}\n  it is fastest at {every[law.argmin()]}"


def _of_truth(sentence: str, truth: Callable[[float], float], numbers: list[int]) -> Iterator[str]:
    """Compare the largest speed-up and the efficient processors with the true times of the rows."""
    if hit := re.search(
        r"Speed-up (?:is largest,|still rises, to) ([\d.]+)(?: \([^)]*\))?, ", sentence
    ):
        most = max(truth(1) / truth(p) for p in range(1, numbers[-1] + 1))
        if numbers[0] == 1 and most > float(hit[1]) * (1 + FAR_OFF):
            yield f"{sentence}\n  within the rows the truth has {most}"
    if hit := re.search(
        rf"Fastest at (\d+) processors?{_ENDS}, in"
        rf"|at (\d+) processors?{_ENDS}, in .*, the least time",
        sentence,
    ):
        at = int(hit[1] or hit[2])
        best = min(range(1, numbers[-1] + 1), key=truth)
        if at <= numbers[-1] and truth(at) > truth(best) * (1 + FAR_OFF):
            yield f"{sentence}\n  the truth is fastest at {best}"
