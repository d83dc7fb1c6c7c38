"""How often the intervals of fits hold the truth, and what the comparison of families makes of it.

Thirteen synthetic truths of several kinds, 1 % of noise, 1 to 32 processors, three times each. For
each truth: how often the 90 % intervals hold its parameters (those at a bound apart) and, if the
family is known, its time on 64 processors, by profile and, with ``--draws``, by bootstrap; the
largest error of the fitted family at 128 processors; how often the comparison leaves the truth's
family in, and how often its 90 % intervals, which carry the doubt about the family, hold the times
on 64 and 128.

Then truths drawn at random, which no family has: eleven kinds, 1 and 3 % of noise, 1 to 16 and 1 to
32 processors, three times each. For each kind: how often there is a prediction at 2 and 4 times the
largest number, and how often its interval holds the truth. Their seeds begin at 10,000; those below
served to choose how intervals are made.

Then truths that turn just beyond the largest number, which no row shows: a law that saturates
there, one that falls, one that is slower by a step, and one where a cost of pairs begins. A
prediction is to hold the first; the others show what a sentence of each prediction excludes.

Then tables of 5 to 25 rows with 1, 2.5 or 5 % of noise, of laws that a family has or nearly has,
and of others that no family can describe, such as a node that is slower. For each kind: how often
the fit says that no law describes the rows, and how often its intervals hold the truth: the times
at 1.5 and 2 times the largest number, the efficient processors, and the largest speed-up.

Last, throughput of one machine by customers, without repetitions and with the hardware told: six
kinds that no family has, at 2 and 4 times the largest number, where bounds that need no law may
answer.

Programs whose communication is measured in a column of its own: predictions with and without this
column, where the communication grows as a form that the law with causes has, or as none of them.

Rows of several machines, by an activity with two free constants: each machine is left out and
predicted by the others, where the machines do something that the activity does not have.

    python benchmarks/fit_coverage.py [--sets 40] [--draws 0] [--only NAME] [--outside 20]
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the truths are the tests' own

from slipstick.late import Array
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Scalar, from_plain
from slipstick_measure.fit.comparison import compare, fits
from slipstick_measure.fit.estimation import estimate_task
from slipstick_measure.fit.families import FAMILIES, cycle_times
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.intervals import FitIntervals, Interval, profile, resample
from slipstick_measure.fit.least_squares import FittedFormula, fit
from slipstick_measure.fit.measured_causes import MeasuredCause
from slipstick_measure.fit.request import EstimationRequest, prepare_estimation
from slipstick_measure.results import CAUSES, GroupError
from tests.measure.fit.truths import MEASURED, TRUTHS, Truth, noisy

LEVEL = 0.9
NEAR, FAR = np.array([64.0]), np.array([128.0])
Sure = Callable[[FittedFormula, int], FitIntervals]


def at_bound(name: str, value: float) -> bool:
    """Return whether a true parameter lies at the end of what it may be, where an interval always
    holds it.
    """
    return value == 0 or (name == "serial" and value == 1)


def holds(interval: Interval, value: float) -> bool:
    return bool(interval.low <= value <= interval.high)


def covered(truth: Truth, sets: int, sure: Sure) -> tuple[float, float]:
    """Return the share of intervals that contain the true parameters, and that of intervals that
    contain the true time on 64 processors, if the family is known.
    """
    inner_names = [name for name, value in truth.parameters.items() if not at_bound(name, value)]
    parameters = ahead = 0
    for seed in range(sets):
        fitted_formula = fit(FAMILIES[truth.family], noisy(truth, seed))
        intervals = sure(fitted_formula, seed)
        between = intervals.parameters(LEVEL)
        parameters += sum(holds(between[name], truth.parameters[name]) for name in inner_names)
        ahead += holds(
            intervals.interval_of_positive(fitted_formula.time_function_at(NEAR[0]), LEVEL),
            float(truth.time(NEAR)[0]),
        )
    return parameters / sets / len(inner_names), ahead / sets


def compared(truth: Truth, sets: int) -> tuple[float, float, list[float]]:
    """Return how often the truth's family is left in, the largest relative error at 128
    processors, and how often intervals hold.
    """
    excluded_count, largest_lead, held_counts = 0, 0.0, [0, 0]
    for seed in range(sets):
        comparison = compare(noisy(truth, seed))
        excluded_count += truth.family in [held_count.name for held_count in comparison.rivals]
        own = next(
            held_count for held_count in comparison.candidates if held_count.name == truth.family
        )
        largest_lead = max(
            largest_lead, abs(float(own.fitted_formula.predict(FAR)[0] / truth.time(FAR)[0]) - 1)
        )
        for at, p in enumerate((NEAR, FAR)):
            low, high = comparison.predict(float(p[0]), LEVEL)
            held_counts[at] += low <= truth.time(p)[0] <= high
    return excluded_count / sets, largest_lead, [held_count / sets for held_count in held_counts]


def single_station(demand: float, p: Array, servers: int = 1) -> Array:
    """Return the time of a shared work of 1 s outside a station, and some inside."""
    network = network_arrays(
        [demand], population=p.astype(int)[:, None], think=1.0, servers=servers
    )
    return np.asarray(1 / exact(network).throughput[:, 0])


def outside(seed: int) -> tuple[str, Callable[[Array], Array]]:
    """Draw a true time that no family describes, one kind after the other."""
    random = np.random.default_rng([seed, *b"truth"])

    def drawn(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    def harmonic(p: Array) -> Array:
        return np.array([np.sum(1 / np.arange(1, processors + 1)) for processors in p])

    serial_time, divided_time, slow = drawn(0.003, 0.05), drawn(0.05, 0.5), drawn(0.0005, 0.01)
    few, tasks, end = int(random.integers(2, 5)), int(random.integers(40, 400)), drawn(2, 8)
    three = [drawn(0.01, 0.06) for _ in range(3)]
    kinds: dict[str, Callable[[Array], Array]] = {
        "serial part and reduction": lambda p: (
            serial_time + (1 - serial_time) / p + slow * np.log2(p)
        ),
        "three stations": lambda p: cycle_times(1.0, np.array(three), p) / p,
        "several servers": lambda p: single_station(divided_time / 2, p, few),
        "harmonic": lambda p: (1 - divided_time + divided_time * harmonic(p)) / p,
        "bandwidth": lambda p: serial_time / 4 + (p**-end + three[0] ** end) ** (1 / end),
        "surface of a volume": lambda p: (
            1 / p + divided_time / 2 * p ** (-2 / 3) * (p > 1) + slow / 2 * np.log2(p)
        ),
        "whole tasks": lambda p: serial_time / 2 + np.ceil(tasks / p) / tasks,
        "nodes of 4 or 8": lambda p: (
            serial_time + 1 / p + slow * np.sqrt(np.ceil(p / (4 + 4 * (few > 3))) - 1)
        ),
        "lock and coherency": lambda p: single_station(three[1], p) * (1 + slow / 10 * p * (p - 1)),
        "cache": lambda p: serial_time + (1 + divided_time / (1 + p / end)) / p,
        "second half slower": lambda p: (
            (1 + divided_time * (p > 8 * (1 + (few > 3)))) / p + slow / 2 * np.log2(p)
        ),
    }
    return list(kinds.items())[seed % len(kinds)]


def turning(seed: int) -> tuple[str, Callable[[Array], Array]]:
    """Draw a true time whose growth changes just beyond the largest measured number, one kind after
    the other.
    """
    random = np.random.default_rng([seed, *b"turn"])

    def drawn(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    serial, pairs, divided_time, step = (
        drawn(0.001, 0.08),
        drawn(1e-5, 5e-4),
        drawn(0.05, 0.5),
        drawn(0.1, 1),
    )
    laws: list[Callable[[Array], Array]] = [
        lambda p: serial + (1 - serial) / p,
        lambda p: (1 + serial * (p - 1) + pairs * p * (p - 1)) / p,
        lambda p: single_station(serial, p),
        lambda p: 1 / p + serial / 20 * np.log2(p),
    ]
    law = laws[int(random.integers(len(laws)))]
    largest = float(largest_number(seed))
    kinds: dict[str, Callable[[Array], Array]] = {
        "saturates beyond": lambda p: law(np.minimum(p, largest)),
        "falls beyond": lambda p: (
            law(np.minimum(p, largest)) * (1 + divided_time * np.maximum(0, (p / largest) ** 2 - 1))
        ),
        "slower beyond": lambda p: law(p) * (1 + step * (p > largest)),
        "pairs cost beyond": lambda p: (
            law(p) * (1 + divided_time * np.maximum(0, (p / largest) ** 2 - 1))
        ),
    }
    return list(kinds.items())[seed % len(kinds)]


def largest_number(seed: int) -> int:
    """Return the largest number of processors that rows of a seed have."""
    return (16, 32)[seed // 10 % 2]


def foretold(seeds: range, draw: Callable[[int], tuple[str, Callable[[Array], Array]]]) -> None:
    """Predict truths that no family has; print how often there is a prediction, how often its
    interval holds, how wide it is, and by how much the worst is missed.
    """
    rows: dict[tuple[str, float], list[tuple[float, float] | None]] = {}
    for seed in seeds:
        name, time_of = draw(seed)
        largest, noise = largest_number(seed), (0.01, 0.03)[seed // 20 % 2]
        comparison = compare(
            noisy(Truth("none", False, time_of, {}), seed, noise, MEASURED[largest >= MEASURED])
        )
        for step in (2.0, 4.0):
            p = step * largest
            between = comparison.predictions([p], LEVEL).get(p)
            row = None
            if between:
                low, high = between
                time = float(time_of(np.array([p]))[0])
                row = high / low, max(time / high, low / time) - 1
            rows.setdefault((name, step), []).append(row)
            rows.setdefault(("together", step), []).append(row)
    print(f"\n{(draw.__doc__ or '').splitlines()[0]} Seeds {seeds.start} to {seeds.stop - 1}")
    for (name, step), kind_rows in sorted(rows.items(), key=lambda entry: entry[0][1]):
        ratios = np.array([row for row in kind_rows if row]).reshape(-1, 2)
        words = f"{name:<26} at {step:g} times: {len(ratios):3} of {len(kind_rows):3} predicted"
        if len(ratios):
            missed = ratios[ratios[:, 1] > 0, 1]
            words += (
                f", {len(ratios) - len(missed):3} held, high / low {np.median(ratios[:, 0]):4.2f}"
            )
            words += f", the worst {missed.max():.0%} beyond" if len(missed) else ""
        print(words)


NUMBERS_MEASURED = (
    (1, 2, 4, 8, 16),
    (1, 2, 4, 8, 16, 32),
    (1, 2, 4, 8, 12, 16, 24),
    (1, 2, 3, 4, 6, 8, 12),
    (2, 4, 6, 8, 16, 24, 32, 48),
)
LAWS_OF_TABLES = 6
"""Kinds of `small_table` that a family has or nearly has; the later ones no family can describe."""

GOAL = 0.6
"""The efficiency of which `small_tables` asks the processors."""


def small_table(seed: int) -> tuple[str, Timings, Callable[[Array], Array]]:
    """Draw 5 to 25 rows of a program, one kind after the other: the kind, the rows, the true
    time.
    """
    random = np.random.default_rng([seed, *b"table"])

    def drawn(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    serial, step, pairs = drawn(0.003, 0.06), drawn(0.0005, 0.01), drawn(1e-5, 5e-4)
    slower, tasks, power = drawn(0.15, 1.0), int(drawn(40, 200)), drawn(0.6, 1.0)
    numbers = NUMBERS_MEASURED[int(random.integers(len(NUMBERS_MEASURED)))]
    repetitions = int(random.integers(1, 1 + 25 // len(numbers)))
    basis: list[Callable[[Array], Array]] = [
        lambda p: serial + (1 - serial) / p,
        lambda p: 1 / p + serial / 4 + step * np.log2(p),
        lambda p: (1 + serial * (p - 1) + pairs * p * (p - 1)) / p,
        lambda p: single_station(serial, p),
    ]
    law = basis[int(random.integers(len(basis)))]
    kinds: dict[str, Callable[[Array], Array]] = {
        "serial part": basis[0],
        "serial part and steps": basis[1],
        "coherency": basis[2],
        "one station": basis[3],
        "power": lambda p: serial / 2 + p**-power,
        "steps and processors": lambda p: basis[1](p) + step / 5 * p,
        "last number slower": lambda p: law(p) * (1 + slower * (p > numbers[-2])),
        "last two slower": lambda p: law(p) * (1 + slower * (p > numbers[-3])),
        "steps between nodes": lambda p: (
            law(p) + slower / 8 * np.log2(1 + np.maximum(0, p / numbers[-3] - 1))
        ),
        "whole tasks": lambda p: serial / 4 + np.ceil(tasks / p) / tasks,
    }
    name, time_of = list(kinds.items())[seed % len(kinds)]
    noise = (0.01, 0.025, 0.05)[seed // len(kinds) % 3]
    p = np.repeat(np.array(numbers, dtype=float), repetitions)
    times = time_of(p) * np.exp(noise * random.standard_normal(len(p)))
    return name, Timings(p, np.ones(len(p)), times), time_of


def statements_on_table(
    timings: Timings, time_of: Callable[[Array], Array]
) -> dict[str, bool | None]:
    """Return, by name, whether each statement of a fit to rows holds: that a law describes them,
    the times beyond them, and the limits of scaling; None where there is no statement.
    """
    base, largest = float(timings.p.min()), float(timings.p.max())
    numbers = np.arange(base, 1 + 16 * largest)
    speedups = time_of(np.array([base]))[0] / time_of(numbers)
    efficiencies = speedups * base / numbers
    fitting = fits(timings, p=[1.5 * largest, 2 * largest], efficiency=GOAL)
    first_answer = fitting.answers[0]

    def holds_truth(name: str, true_value: float) -> bool | None:
        value = first_answer.values.get(name)
        if value is None or not fitting.has_law:
            return None
        low, high = value.ends
        if low is None and high is None:
            return value.value == true_value
        return (low or 0.0) * (1 - 1e-9) <= true_value <= (high or np.inf) * (1 + 1e-9)

    statements = {
        f"{step:g} times": holds_truth(
            f"time[{step * largest:g}]", float(time_of(np.array([step * largest]))[0])
        )
        for step in (1.5, 2.0)
    }
    inefficient = np.flatnonzero(efficiencies < GOAL)
    most_efficient = max(base, float(numbers[inefficient[0]] - 1)) if len(inefficient) else np.inf
    statements["efficient"] = holds_truth(
        "efficient_processors", min(most_efficient, first_answer["most_processors"] or 0.0)
    )
    place = first_answer.values.get("largest_speedup_processors")
    statements["speed-up"] = (
        holds_truth("largest_speedup", float(speedups[int((place.value or base) - base)]))
        if place
        else None
    )
    return {"described": fitting.has_law, **statements}


def small_tables(seeds: range) -> None:
    """Fit small tables; print for each kind how often no law is said to describe the rows, and how
    many of the statements hold.
    """
    rows: dict[str, list[dict[str, bool | None]]] = {}
    for seed in seeds:
        name, timings, time_of = small_table(seed)
        statements = statements_on_table(timings, time_of)
        rows.setdefault(name, []).append(statements)
        is_law = seed % 10 < LAWS_OF_TABLES
        rows.setdefault("laws together" if is_law else "others together", []).append(statements)
    print(f"\nsmall tables, seeds {seeds.start} to {seeds.stop - 1}")
    for name, tables in sorted(rows.items(), key=lambda entry: "together" in entry[0]):
        refused_count = sum(not table["described"] for table in tables)
        phrases = []
        for statement in [*tables[0]][1:]:
            outcomes = [table[statement] for table in tables if table[statement] is not None]
            phrases.append(f"{statement} {sum(map(bool, outcomes))} of {len(outcomes)}")
        print(
            f"{name:<22} no law in {refused_count:3} of {len(tables):3}; held: {', '.join(phrases)}"
        )


def machine_under_load(seed: int) -> tuple[str, int, Callable[[Array], Array]]:
    """Draw the throughput of a machine by customers: its kind, hardware threads, the time of a
    cycle.
    """
    random = np.random.default_rng([seed, *b"machine"])

    def drawn(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    cores = int(random.choice([4, 6, 8, 16]))
    outside_time, disk, pairs = drawn(0.05, 2.0), drawn(0.01, 0.2), drawn(1e-5, 3e-3)
    second_thread, lock = drawn(1.05, 1.5), drawn(0.005, 0.1)

    def rates(p: Array) -> Array:
        return np.minimum(p, cores) + (second_thread - 1) * np.clip(p - cores, 0, cores)

    def through(p: Array, demands: list[float], servers: list[int]) -> Array:
        network = network_arrays(
            demands, population=p.astype(int)[:, None], think=outside_time, servers=servers
        )
        return np.asarray(p / exact(network).throughput[:, 0])

    kinds: dict[str, Callable[[Array], Array]] = {
        "cores and a disk": lambda p: through(p, [1.0, disk], [cores, 1]),
        "cores, disk and lock": lambda p: through(p, [1.0, disk, lock], [cores, 1, 1]),
        "second threads of cores": lambda p: p / rates(p) * (1 + lock * np.log2(p)),
        "saturated at once": lambda p: np.maximum(1.0, p / cores),
        "cores and pairs": lambda p: through(p, [1.0], [cores]) + pairs * p * (p - 1),
        "slower with each core": lambda p: (
            np.maximum(1.0, p / cores) * (1 + disk * np.minimum(p, cores) / cores)
        ),
    }
    name, time_of = list(kinds.items())[seed % len(kinds)]
    return name, 2 * cores, time_of


def under_load(seeds: range) -> None:
    """Predict the throughput of machines; print how often there is an interval, by what, how wide
    it is, and how often it holds.
    """
    rows: dict[tuple[str, float], list[tuple[str, float, float]]] = {}
    for seed in seeds:
        name, threads, time_of = machine_under_load(seed)
        random = np.random.default_rng([seed, *b"runs"])
        p: Array = 2.0 ** np.arange((4, 5)[seed // 6 % 2] + 1.0)
        noise = (0.01, 0.03)[seed // 12 % 2]
        times = time_of(p) * np.exp(noise * random.standard_normal(len(p)))
        comparison = compare(Timings(p, np.ones(len(p)), times, True, servers=threads))
        for step in (2.0, 4.0):
            at = step * float(p[-1])
            bounds = comparison.intervals_by_bounds([at], LEVEL)
            predictions = comparison.predictions([at], LEVEL) | bounds
            way, width, excess = "refused", np.nan, 0.0
            if predictions:
                low, high = predictions[at]
                way = "bounds" if bounds else "laws"
                time = float(time_of(np.array([at]))[0])
                width, excess = high / low, max(0.0, time / high - 1, low / time - 1)
            rows.setdefault((name, step), []).append((way, width, excess))
    print(f"\nthroughput of one machine by customers, seeds {seeds.start} to {seeds.stop - 1}")
    for step in (2.0, 4.0):
        every = [row for (_, at), found_rows in rows.items() if at == step for row in found_rows]
        rows_by_name = {name: found_rows for (name, at), found_rows in rows.items() if at == step}
        for name, found_rows in {**rows_by_name, "together": every}.items():
            words = []
            for way in ("laws", "bounds"):
                answered = [row for row in found_rows if row[0] == way]
                held_count = sum(row[2] == 0 for row in answered)
                largest_error = max((row[2] for row in answered), default=0.0)
                width = np.median([row[1] for row in answered]) if answered else np.nan
                words.append(
                    f"{way} {len(answered):3}, held {held_count:3}, high / low {width:4.2f}, the"
                    f" worst {largest_error:.0%} beyond"
                )
            print(f"{name:<26} at {step:g} times, of {len(found_rows):3}: {'; '.join(words)}")


def program_with_column(
    seed: int,
) -> tuple[str, Callable[[Array], Array], Callable[[Array], Array]]:
    """Draw a program with a growing cause, one kind after the other: the name of the kind, the
    other time, and that of the cause.
    """
    random = np.random.default_rng([seed, *b"column"])
    serial = float(np.exp(random.uniform(np.log(0.002), np.log(0.08))))
    cost = float(np.exp(random.uniform(np.log(0.0005), np.log(0.01))))
    kinds: dict[str, Callable[[Array], Array]] = {
        "log2 p": lambda p: cost * np.log2(p),
        "sqrt p": lambda p: cost * np.sqrt(p) * (p > 1),
        "p": lambda p: cost / 8 * (p - 1),
        "log2 p squared": lambda p: cost / 3 * np.log2(p) ** 2,
        "none: p^0.87": lambda p: cost / 4 * p**0.87 * (p > 1),
        "none: log2 p and p": lambda p: cost * np.log2(p) + cost / 20 * (p - 1),
        "none: nodes of 8": lambda p: cost * (np.log2(p) + 2 * np.log2(np.ceil(p / 8))),
    }
    name, cause = list(kinds.items())[seed % len(kinds)]
    return name, lambda p: serial + (1 - serial) / p, cause


def with_columns(seeds: range) -> None:
    """Predict programs with and without the column of a cause; print for each kind how often the
    law with the cause leads, the errors of the leading laws, and how often intervals hold.
    """
    rows: dict[tuple[str, float], list[tuple[bool, float, float, bool]]] = {}
    for seed in seeds:
        name, other_time, cause = program_with_column(seed)
        random = np.random.default_rng([seed, *b"noise"])
        largest = largest_number(seed) * 2
        p = 2.0 ** np.arange(np.log2(largest) + 1)
        noise = np.exp(0.02 * random.standard_normal((2, len(p))))
        times = (other_time(p) + cause(p)) * noise[0]
        column = MeasuredCause("communication", p, cause(p) * noise[1])
        without = compare(Timings(p, np.ones(len(p)), times))
        comparison = compare(Timings(p, np.ones(len(p)), times, causes=(column,)))
        for step in (2.0, 4.0):
            at = np.array([step * largest])
            true_time = float((other_time(at) + cause(at))[0])
            error, error_without = (
                float(np.log(fitted_laws.best.fitted_formula.predict(at)[0] / true_time))
                for fitted_laws in (comparison, without)
            )
            low, high = comparison.predict(float(at[0]), LEVEL)
            has_lead = comparison.best.name == CAUSES
            row = (has_lead, error, error_without, bool(low <= true_time <= high))
            for kind in (name, "together"):
                rows.setdefault((kind, step), []).append(row)
    print(f"\nprograms with a column of a growing cause, 2 % of noise, seeds {seeds}")
    for (name, step), kind_rows in sorted(rows.items(), key=lambda entry: entry[0][1]):
        leads, with_column, without_column, held = np.array(kind_rows, dtype=float).T
        print(
            f"{name:<22} at {step:g} times: of {len(kind_rows):3} the law with the cause leads in"
            f" {leads.sum():3.0f}, root mean square error"
            f" {np.sqrt(np.mean(with_column**2)):.1%} beside"
            f" {np.sqrt(np.mean(without_column**2)):.1%} without the column, worst"
            f" {np.abs(with_column).max():.0%} beside {np.abs(without_column).max():.0%}, interval"
            f" held {held.mean():.0%}"
        )


COPY = """
activity: 1
parameters: {size: 1 GB, rate: 100 GB/s, share: 0.8, start: 20 us}
population: {processors: 1}
cycle:
  - {name: move, delay: size / rate / share}
  - {name: start, delay: start}
"""
FREE = ("parameters.share=0.4..1", "parameters.start=2 us..200 us")


def table_of_machines(seed: int) -> tuple[str, str]:
    """Draw the times of copies on several machines, one kind of hidden mechanism after the other:
    its name, and the table.
    """
    random = np.random.default_rng([seed, *b"machines"])
    names = ("nothing", "a bump", "a second rate", "a step", "growing noise", "two outliers")
    name = names[seed % len(names)]
    machines = int(random.choice([3, 4, 6, 9]))
    spread, noise = random.uniform(0.03, 0.3), random.choice([0.01, 0.04])
    sizes = np.geomspace(1e5, 1e9, int(random.choice([5, 9, 20])))
    lines = ["host,size [B],time [us]"]
    for host in range(machines):
        share = 0.7 * np.exp(spread * random.standard_normal())
        start = 20e-6 * np.exp(spread * random.standard_normal())
        times = sizes / 100e9 / share + start
        place = np.exp(random.uniform(np.log(3e5), np.log(3e8)))
        height = random.uniform(0.05, 0.5)
        if name == "a bump":
            times *= 1 + height * np.exp(-(np.log(sizes / place) ** 2) / 2)
        elif name == "a second rate":
            times += height * np.minimum(sizes, place) / 100e9
        elif name == "a step":
            times += height * 100e-6 * (sizes > place)
        scatter = noise * random.standard_normal(len(sizes))
        if name == "growing noise":
            scatter *= np.linspace(1, 6, len(sizes))
        if name == "two outliers":
            scatter[random.integers(len(sizes), size=2)] += height
        lines += [
            f"host-{host},{size:.6g},{1e6 * time:.6g}"
            for size, time in zip(sizes, times * np.exp(scatter), strict=True)
        ]
    return name, "\n".join(lines)


def machines_left_out(seeds: range) -> None:
    """Predict machines that were left out; print how many rows their intervals hold, with one value
    of each constant for all machines or one for each.
    """
    rows: dict[tuple[str, str], list[GroupError]] = {}
    mark = Mark("--free", 1, 1)
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder) / "copy.yaml", Path(folder) / "copies.csv"
        model.write_text(COPY)
        for seed in seeds:
            name, text = table_of_machines(seed)
            table.write_text(text)
            for owner in ("", "@host"):
                free = [Scalar(text + owner, text + owner, mark, True) for text in FREE]
                request = EstimationRequest(
                    table, {"model": from_plain(str(model), mark)}, free, group_headings=["host"]
                )
                groups = estimate_task(prepare_estimation(request, Library())).groups
                owners = "one for each machine" if owner else "one for all"
                for kind in (name, "together"):
                    rows.setdefault((owners, kind), []).extend(groups)
    print(f"\nmachines left out, with what the model does not have; seeds {seeds}")
    for (owners, kind), members in sorted(rows.items()):
        halves = np.concatenate([group.halves for group in members])
        relative_errors = np.concatenate(
            [np.array(group.halves) / group.widened for group in members]
        )
        residuals = np.abs(np.concatenate([group.residuals for group in members]))
        coverages = [group.coverage for group in members]
        print(
            f"constants {owners:<21} {kind:<15} {len(members):4} machines: held"
            f" {np.mean(residuals <= halves):4.0%} of {len(halves)} rows,"
            f" {np.mean(coverages):4.0%} in"
            f" the mean of machines, {np.mean(np.array(coverages) < 0.6):3.0%} under 60 %, high /"
            " low"
            f" {np.exp(2 * np.median(halves)):.2f}; by the fit alone"
            f" {np.mean(residuals <= relative_errors):4.0%},"
            f" {np.exp(2 * np.median(relative_errors)):.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=40, help="data sets of each truth")
    parser.add_argument(
        "--draws", type=int, default=0, help="of the bootstrap; none by default, for it takes long"
    )
    parser.add_argument("--only", choices=TRUTHS, help="one truth")
    parser.add_argument(
        "--outside", type=int, default=20, help="truths of each of the kinds that no family has"
    )
    parser.add_argument("--first", type=int, default=10_000, help="seed of the first of them")
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    if options.short:
        options.sets, options.outside, options.only = 1, 0.2, "serial part"
    methods: dict[str, Sure] = {"profile": lambda fitted, _: profile(fitted)}
    if options.draws:
        methods["bootstrap"] = lambda fitted, seed: resample(fitted, seed, options.draws)
    error = math.sqrt(LEVEL * (1 - LEVEL) / options.sets)
    print(
        f"{options.sets} sets of each truth; {LEVEL:.0%} intervals, so {LEVEL:.0%} +-"
        f" {2 * error:.0%}"
        " is to be expected"
    )
    for name, truth in TRUTHS.items():
        if options.only not in (None, name):
            continue
        begin = time.perf_counter()
        excluded_count, largest_lead, ahead_of_all = compared(truth, max(1, options.sets // 5))
        words = [
            (
                f"{name:<22} {truth.family:<14} left in {excluded_count:4.0%}, off at 128 by at"
                " most"
                f" {largest_lead:5.1%}, 64 and 128 held {ahead_of_all[0]:4.0%}"
                f" {ahead_of_all[1]:4.0%}"
            )
        ]
        for method, sure in methods.items():
            parameters, ahead = covered(truth, options.sets, sure)
            words.append(f"{method}: parameters {parameters:4.0%}, time on 64 if so {ahead:4.0%}")
        print("; ".join(words), f"({time.perf_counter() - begin:.0f} s)", flush=True)
    if options.outside:
        foretold(range(options.first, options.first + round(11 * options.outside)), outside)
        foretold(range(options.first, options.first + round(4 * options.outside)), turning)
        small_tables(range(options.first, options.first + round(10 * options.outside)))
        under_load(range(options.first, options.first + round(6 * options.outside)))
        with_columns(range(options.first, options.first + round(6 * options.outside)))
        machines_left_out(range(options.first, options.first + round(6 * options.outside)))


if __name__ == "__main__":
    main()
