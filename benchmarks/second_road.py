"""What default answers are worth, and what the second road finds: fresh random models, against long
simulations with other random numbers.

Activities of all constructs (stations of every discipline, locks, reader-writer locks, permits,
choices, repeats with and without a fraction, forks, pipelines, barriers, groups, phases, open
streams) are drawn as random trees, with times of an scv from 0 to 4; networks have unlike services,
priorities, several servers and classes, so that none has product form. Each is answered by default
and simulated again, as long as it takes for half a percent. Printed are, by method and by verdict,
the numbers of models and the errors of the time (median, 95 and 99 of 100, worst), answers called
exact that the reference contradicts, what undecided and unchecked answers were off, and the share
of false alarms: answers that were rejected though they were within 5 % of the reference, which is
borne where 10 % is promised, of all models with a reference and of those that were looked at.

Usage: python benchmarks/second_road.py [--short] [FIRST [ACTIVITIES [NETWORKS [FILE]]]]
       python benchmarks/second_road.py --streams COUNT [FIRST]
       python benchmarks/second_road.py --cost

With --streams, the verdicts on as many open streams of which the busiest resource is 85 to 95 %
busy, without references: near saturation a run of any usual length seldom decides.

With --cost, the processor time of `slipstick solve` of each shipped activity and network, as a
multiple of that with `--check off`.

FIRST is the first seed: take one that was never used, for nothing may be tuned to these models.
FILE gets a line of JSON for each model; a run that was ended goes on with the models that are not
in FILE.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from time import process_time
from typing import Any

from slipstick import (
    Answer,
    Barrier,
    Lock,
    Permits,
    ReaderWriterLock,
    Simulation,
    Station,
    barrier,
    choose,
    closed_model,
    delay,
    fork,
    hold,
    network,
    open_model,
    phased_model,
    pipeline,
    repeat,
    serial,
    service,
    solve,
    then,
)
from slipstick.errors import SlipstickError
from slipstick.model.network import QueueingNetwork, closed_class, open_class, station
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Resource, grouped_model

SCVS = (0.0, 0.25, 0.6, 1.0, 2.0, 4.0)
PRECISION, EVENTS = 0.005, 3_000_000
REFERENCE_SEED = 77_003
PROMISED = 0.1
"""Relative error that mean value promises of the models that it answers by default [1]."""

TOLERANCE = 0.05
"""Relative error up to which an answer that was rejected counts as a false alarm [1]."""


class RandomActivity:
    """The source of a random activity: random numbers, resources, and a counter of steps.

    Parameters
    ----------
    seed : of the random source
    """

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.resources: dict[str, Resource] = {}
        self.steps = 0
        self.scvs: tuple[float, ...] = (1.0,)

    def scv(self) -> float:
        """Draw a squared coefficient of variation."""
        return self.random.choice(self.scvs)

    def capacity(self, cycle: Activity) -> float:
        """Return the throughput at which the busiest station of a cycle is always busy, by its
        bounds; 1 where these do not know it.
        """
        many = closed_model(cycle, 50, resources=self.resources)
        try:
            bound = solve(many, method="bounds").values.get("throughput")
        except SlipstickError:
            bound = None
        return (bound and bound.high) or 1.0


class Draw(RandomActivity):
    """A random activity: a tree over a few resources."""

    def __init__(self, seed: int) -> None:
        super().__init__(f"second road {seed}")
        common = self.random.choice([*SCVS, None, None])
        self.scvs = SCVS if common is None else (common,)
        disciplines = ("fcfs", "fcfs", "ps", "lcfs", "random")
        for index in range(self.random.randint(1, 3)):
            servers = self.random.choice([1, 1, 1, 2, 4])
            self.resources[f"s{index}"] = Station(servers, self.random.choice(disciplines))

    def time(self) -> float:
        """Draw a mean time, from 0.05 to 2 s."""
        return round(float(0.05 * 40 ** self.random.random()), 3)

    def step(self) -> Activity:
        """Draw a service, or seldom a delay."""
        self.steps += 1
        name = f"step{self.steps}"
        if self.random.random() < 0.25:
            return delay(self.time(), name=name, scv=self.scv())
        stations = [
            key for key, resource in self.resources.items() if isinstance(resource, Station)
        ]
        return service(self.random.choice(stations), self.time(), name=name, scv=self.scv())

    def hold(self, depth: int) -> Activity:
        """Hold a lock, permits or a reader-writer lock, taken in one order so that none is taken
        twice.
        """
        kind = self.random.choice(["lock", "lock", "permits", "rw"])
        name = f"{kind}{len(self.resources)}"
        if kind == "rw":
            order = self.random.choice(["fair", "reader-first", "writer-first"])
            self.resources[name] = ReaderWriterLock(order, self.random.choice([2, 1000]))
            read_body, write_body = self.body(depth + 1), self.body(depth + 1)
            return choose(
                (0.7, hold(name, read_body, "read")), (0.3, hold(name, write_body, "write"))
            )
        self.resources[name] = (
            Lock("fifo") if kind == "lock" else Permits(self.random.choice([2, 4]))
        )
        return hold(name, self.body(depth + 1))

    def body(self, depth: int = 0) -> Activity:
        """Draw one to three parts, one after the other."""
        return then(*(self.part(depth) for _ in range(self.random.randint(1, 3 - (depth > 1)))))

    def part(self, depth: int) -> Activity:
        """Draw a part: a step, or at less depth a construct."""
        kind = self.random.random()
        if depth > 1 or kind < 0.45:
            return self.step()
        if kind < 0.6:
            count = self.random.choice([2, 3, 5, 1.5])
            return repeat(count, self.body(depth + 1))
        if kind < 0.72:
            chance = self.random.choice([0.02, 0.1, 0.3, 0.5])
            return choose((chance, self.body(depth + 1)), (1 - chance, self.body(depth + 1)))
        if kind < 0.86:
            return self.hold(depth)
        if kind < 0.95:
            return fork(*(self.body(depth + 1) for _ in range(self.random.randint(2, 3))))
        self.steps += 1
        stages = [serial(self.step()) for _ in range(self.random.randint(2, 3))]
        return pipeline(stages, self.random.choice([3, 6]), name=f"pipe{self.steps}")


def activity(seed: int) -> Model:
    """Draw a model: a closed population, groups, phases or a stream."""
    draw = Draw(seed)
    think = delay(draw.time() * draw.random.choice([1, 5, 20]), name="think", scv=draw.scv())
    cycle = think >> draw.body()
    size = draw.random.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 50])
    kind = draw.random.random()
    if kind < 0.15:
        used_names = {key for key in draw.resources if key in str(cycle)}
        groups = {"a": (size, cycle), "b": (draw.random.choice([1, 3, 8]), then(draw.step()))}
        return grouped_model(groups, resources={**draw.resources} if used_names else None)
    if kind < 0.3:
        rounds = draw.random.choice([1, 3, 10])
        phases = [(rounds, size, draw.body()), (1, max(1, size // 2), draw.body())]
        return phased_model(*phases, resources=draw.resources)
    if kind < 0.45:
        rate = draw.random.choice([0.3, 0.6, 0.8]) * draw.capacity(cycle)
        return open_model(cycle, rate, resources=draw.resources)
    if kind < 0.7:
        draw.resources["meet"] = Barrier()
        return closed_model(cycle >> barrier("meet"), size, resources=draw.resources)
    return closed_model(cycle, size, resources=draw.resources)


def busy_stream(seed: int) -> Model:
    """Draw a stream of one to five visits to one to three stations of one or two servers, of which
    the busiest is 85 to 95 % busy.
    """
    draw = RandomActivity(f"streams near saturation {seed}")
    draw.scvs = SCVS[1:]
    names = [f"s{index}" for index in range(draw.random.randint(1, 3))]
    draw.resources |= {name: Station(draw.random.choice([1, 2])) for name in names}
    visits = [
        service(
            draw.random.choice(names),
            draw.random.uniform(0.1, 1.0),
            name=f"visit{number}",
            scv=draw.scv(),
        )
        for number in range(draw.random.randint(1, 5))
    ]
    used = {step.resource for step in visits}
    draw.resources = {name: draw.resources[name] for name in names if name in used}
    cycle = then(*visits)
    rate = draw.random.uniform(0.85, 0.95) * draw.capacity(cycle)
    return open_model(cycle, rate, resources=draw.resources)


def verdicts_on_streams(first: int, count: int) -> None:
    """Print the verdicts on drawn streams near saturation."""
    count_by_verdict: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            answer = solve(busy_stream(seed))
        except SlipstickError as error:
            count_by_verdict["no answer"] += 1
            print(f"stream {seed}: {error}", file=sys.stderr)
            continue
        verdict = answer.check.word if answer.check else f"by {answer.method}, not looked at"
        count_by_verdict[verdict] += 1
        print(f"stream {seed}: {answer.method}, {verdict}", flush=True)
    print(f"{count} streams: {dict(count_by_verdict.most_common())}")


def waiting_network(seed: int) -> QueueingNetwork:
    """Draw a network of several classes without product form."""
    draw = random.Random(f"networks of the second road {seed}")
    names = [f"c{index}" for index in range(draw.randint(1, 3))]
    is_open = draw.random() < 0.3
    stations = {}
    load: dict[str, float] = dict.fromkeys(names, 0.0)
    for index in range(draw.randint(1, 4)):
        service_times = {name: round(0.05 * 20 ** draw.random(), 3) for name in names}
        servers = draw.choice([1, 1, 2, 4])
        discipline = draw.choice(["fcfs", "fcfs", "priority", "priority-preemptive", "ps"])
        ranks = {name: draw.randint(1, 2) for name in names}
        scv = {name: draw.choice([0.25, 1.0, 2.0, 4.0]) for name in names}
        for name in names:
            load[name] = max(load[name], service_times[name] / servers)
        further_keys: dict[str, Any] = (
            {"priority": ranks} if discipline.startswith("priority") else {}
        )
        stations[f"k{index}"] = station(
            servers=servers, discipline=discipline, service=service_times, scv=scv, **further_keys
        )
    load_of_class = draw.choice([0.4, 0.7, 0.85]) / len(names)
    classes: dict[str, Any] = {
        name: open_class(load_of_class / load[name])
        if is_open
        else closed_class(draw.choice([2, 5, 10, 25]), think_time=draw.choice([0.0, 1.0, 5.0]))
        for name in names
    }
    return network(classes, stations)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of the comparison for one model."""

    name: str
    method: str
    verdict: str
    exact: bool
    error: float
    half: float
    rejected: float | None
    seconds: float
    without: float
    parts: dict[str, float]
    """Error of each wait, as a part of the time, and of each utilization, as a part of a server."""


def time_names(answer: Answer) -> list[str]:
    """Name the times that are compared."""
    return [
        name
        for name in answer.values
        if name == "time" or name.startswith(("time[", "response_time["))
    ]


def part_errors(answer: Answer, reference: Answer) -> dict[str, float]:
    """Return the errors of waits and residence times, as parts of the time, and of utilizations, of
    which both answers have a value.
    """
    errors = {}
    for key, value in answer.values.items():
        truth = reference.values[key].value if key in reference.values else None
        kind, _, place = key.partition("[")
        times = ("time", f"response_time[{place.partition(',')[0]}]")
        time = next((reference[name] for name in times if name in reference.values), None)
        if value.value is None or truth is None:
            continue
        if kind == "utilization":
            errors[key] = value.value - truth
        elif kind in ("wait", "residence_time") and time:
            errors[key] = (value.value - truth) / time
    return errors


def outcome(name: str, model: Model | QueueingNetwork, events: int = EVENTS) -> Outcome | str:
    """Answer by default, and simulate at most so many events for the reference."""
    try:
        start = process_time()
        without = solve(model, simulation=Simulation(check="off"))
        end_unchecked = process_time()
        answer = solve(model)
        end_checked = process_time()
        settings = Simulation(seed=REFERENCE_SEED, precision=PRECISION, events=events)
        reference = solve(model, method="simulation", simulation=settings)
    except SlipstickError as error:
        return f"{name}: {error}"
    errors, halves = [], []
    for key in time_names(answer):
        value, truth = answer[key], reference.values.get(key)
        if value is None or truth is None or not truth.value or truth.high is None:
            continue
        errors.append(abs(value / truth.value - 1))
        halves.append((truth.high - truth.value) / truth.value)
    if not errors or not all(map(isfinite, errors)):
        return f"{name}: the reference knows no time"
    rejected = None
    if answer.check and answer.check.rejected:
        truth = reference.values[answer.check.rejected.name]
        rejected = abs(answer.check.rejected.value / (truth.value or 1.0) - 1)
    del without
    worst = max(range(len(errors)), key=errors.__getitem__)
    verdict = answer.check.word if answer.check else "-"
    return Outcome(
        name,
        answer.method,
        verdict,
        answer.exact,
        errors[worst],
        max(halves),
        rejected,
        end_checked - end_unchecked,
        end_unchecked - start,
        part_errors(answer, reference),
    )


def quantile(values: list[float], probability: float) -> float:
    """Return the smallest value that so large a part does not exceed."""
    sorted_values = sorted(values)
    return sorted_values[min(int(probability * len(sorted_values)), len(sorted_values) - 1)]


def row(title: str, outcomes: list[Outcome]) -> str:
    """Write the errors of some models in percent."""
    errors = [100 * outcome.error for outcome in outcomes]
    error_quantiles = [quantile(errors, probability) for probability in (0.5, 0.95, 0.99)]
    worst_outcome = max(outcomes, key=lambda outcome: outcome.error)
    errors_in_words = " / ".join(f"{error:.1f}" for error in [*error_quantiles, max(errors)])
    return f"| {title} | {len(outcomes)} | {errors_in_words} | {worst_outcome.name} |"


def report(outcomes: list[Outcome]) -> None:
    """Print the tables."""
    referenced = [outcome for outcome in outcomes if outcome.half <= 2 * PRECISION]
    print(
        f"{len(outcomes)} models, {len(referenced)} with a reference within {200 * PRECISION:g} %"
    )
    if not referenced:
        return
    print("| | models | error of the time: median / 95 / 99 of 100 / worst [%] | worst |")
    print("| --- | --- | --- | --- |")
    print(row("all", referenced))
    for attribute in ("method", "verdict"):
        groups: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in referenced:
            groups[getattr(outcome, attribute)].append(outcome)
        for name, members in groups.items():
            print(row(f"{attribute} {name}", members))
    contradicted = [
        outcome
        for outcome in referenced
        if outcome.exact and outcome.error > max(3 * outcome.half, 1e-6)
    ]
    print(f"called exact and contradicted: {[outcome.name for outcome in contradicted]}")
    replaced = [outcome for outcome in referenced if outcome.verdict == "replaced"]
    errors = {
        outcome.name: outcome.rejected for outcome in replaced if outcome.rejected is not None
    }
    false_alarms = {name: error for name, error in errors.items() if error <= TOLERANCE}
    names_within_promise = [name for name, error in errors.items() if error <= PROMISED]
    checked = [outcome for outcome in referenced if outcome.verdict != "-"]
    shares = [f"{len(false_alarms) / max(len(models), 1):.2%}" for models in (referenced, checked)]
    alarms = ", ".join(f"{name} {error:.1%}" for name, error in false_alarms.items())
    print(
        f"replaced {len(replaced)}: {len(names_within_promise)} of them within the promise of 10 %"
    )
    print(
        f"false alarms, rejected though within {TOLERANCE:.0%}: {len(false_alarms)} of"
        f" {len(referenced)} models"
        f" ({shares[0]}), of which {len(checked)} were looked at ({shares[1]}): {alarms or 'none'}"
    )
    open_ended = [
        outcome for outcome in outcomes if outcome.verdict in ("undecided", "not checked")
    ]
    print(f"undecided or not checked: {len(open_ended)} of {len(outcomes)}")
    unreplaced = [
        outcome for outcome in outcomes if outcome.verdict in ("agreed", "undecided", "not checked")
    ]
    if unreplaced:
        look_times = sorted(outcome.seconds - outcome.without for outcome in unreplaced)
        mean, longest = (
            sum(look_times) / len(look_times),
            look_times[min(int(0.95 * len(look_times)), len(look_times) - 1)],
        )
        print(
            "a look, without a simulation behind it: median"
            f" {look_times[len(look_times) // 2]:.3f} s, mean"
            f" {mean:.3f} s, 95 of 100 within {longest:.3f} s"
        )


def spent(*arguments: str) -> float:
    """Return the processor time of a command, the smaller of two runs [s]."""
    times = []
    for _ in range(2):
        usage_before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "slipstick", *arguments]
        subprocess.run(command, check=False, capture_output=True)
        usage_after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(
            usage_after.ru_utime
            + usage_after.ru_stime
            - usage_before.ru_utime
            - usage_before.ru_stime
        )
    return min(times)


def cost() -> None:
    """Print what checks cost of each shipped activity and network."""
    specs = Path(__file__).parents[1] / "specs"
    files = sorted([*specs.glob("activities/*.yaml"), *specs.glob("queueing/*.yaml")])
    ratios = []
    for file in files:
        ratio = spent("solve", str(file)) / spent("solve", str(file), "--check", "off")
        ratios.append(ratio)
        print(f"{file.stem}: {ratio:.2f}", flush=True)
    print(
        f"{len(ratios)} models: median {quantile(ratios, 0.5):.2f}, 95 of 100 within"
        f" {quantile(ratios, 0.95):.2f}, at most {max(ratios):.2f}"
    )


def compare(
    name: str, make: Callable[[int], Model | QueueingNetwork], seed: int, events: int
) -> Outcome | str:
    """Return the outcome of a drawn model, or why there is none."""
    try:
        return outcome(name, make(seed), events)
    except SlipstickError as error:
        return f"{name} is no model: {error}"


def line_of(compared: Outcome | str) -> dict[str, Any] | str:
    """Return an outcome as what JSON can hold."""
    if isinstance(compared, str):
        return compared
    return {key: getattr(compared, key) for key in Outcome.__slots__}


def known_outcomes(rows: Path | None) -> dict[str, Outcome | str]:
    """Read the outcomes of an earlier run that was ended."""
    if rows is None or not rows.exists():
        return {}
    pairs = map(json.loads, rows.read_text().splitlines())
    return {name: Outcome(**row) if isinstance(row, dict) else row for name, row in pairs}


def main() -> None:
    """Draw, answer, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("first", nargs="?", type=int, default=1, help="seed of the first model")
    parser.add_argument("activities", nargs="?", type=int, default=300, help="their number")
    parser.add_argument("networks", nargs="?", type=int, default=60, help="their number")
    parser.add_argument("file", nargs="?", type=Path, help="gets a line of JSON for each model")
    parser.add_argument(
        "--short",
        action="store_true",
        help="a few models and short references, to see that it runs",
    )
    parser.add_argument("--cost", action="store_true", help="what checks cost of shipped models")
    parser.add_argument("--streams", type=int, metavar="COUNT", help="streams near saturation")
    options = parser.parse_args()
    if options.cost:
        cost()
        return
    if options.streams:
        verdicts_on_streams(options.first, options.streams)
        return
    first_seed, row_file = options.first, options.file
    activities, networks = (1, 1) if options.short else (options.activities, options.networks)
    events = 10_000 if options.short else EVENTS
    outcomes_by_kind: dict[str, list[Outcome]] = {"activities": [], "networks": []}
    known_by_name = known_outcomes(row_file)
    tasks: list[tuple[str, int, Callable[[int], Model | QueueingNetwork]]]
    tasks = [("activities", seed, activity) for seed in range(first_seed, first_seed + activities)]
    tasks += [
        ("networks", seed, waiting_network) for seed in range(first_seed, first_seed + networks)
    ]
    solve("lock-and-bus")
    for kind, seed, make in tasks:
        name = f"{kind} {seed}"
        compared = known_by_name.get(name) or compare(name, make, seed, events)
        if row_file is not None and name not in known_by_name:
            with row_file.open("a") as file:
                file.write(f"{json.dumps([name, line_of(compared)])}\n")
        if isinstance(compared, str):
            print(f"no comparison: {compared[:160]}", file=sys.stderr)
        else:
            outcomes_by_kind[kind].append(compared)
    for kind, outcomes in outcomes_by_kind.items():
        if outcomes:
            print(f"\n{kind}, seeds from {first_seed}")
            report(outcomes)


if __name__ == "__main__":
    main()
