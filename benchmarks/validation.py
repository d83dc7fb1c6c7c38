"""What models err by on published measurements that are too large to be copied.

The tables lie in a folder beside the project (``--data``, by default ``../shared/validation``); a
table of another person with the same columns takes their place (``--serving``, ``--database``).

Serving: times between tokens of servers of language models, each group of model, GPU and framework
left out whole and predicted by the others, and one framework by the other; the study is
``benchmarks/serving.yaml``. Database: throughput by threads, each curve known up to 8 or 16 threads
and predicted at 2 and 4 times as many by its siblings on the same machine, and by laws alone.
Study: the sets of the study `validation`, which are typed in. Ranks: collective operations of MPI
between two nodes, whose table ships but takes long to fit (``benchmarks/ranks.yaml``). Pool: of all
these sets, how many intervals of 90 % hold, how wide they are within twice and at four times the
range that was fitted, and their interval score beside that of intervals by the errors of the other
groups alone. Speed: rows of a closed form that are fitted in a second.

    python benchmarks/validation.py [--data FOLDER] [--only serving|database|study|ranks|speed]
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import yaml
from scipy.stats import binom

from slipstick import run
from slipstick.errors import NoAnswerError, SlipstickError
from slipstick.late import Array
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Scalar, from_plain
from slipstick_measure.fit.columns import ColumnTable, read_columns
from slipstick_measure.fit.comparison import compare
from slipstick_measure.fit.estimation import estimate_task, interval_scores_of_groups
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.request import EstimationRequest, prepare_estimation
from slipstick_measure.fit.siblings import (
    WIDEST_PREDICTION_RATIO,
    SiblingPrediction,
    curves_of,
    predict_held_out,
)
from slipstick_measure.questions.validation import ValidationResult, ValidationSet
from slipstick_measure.readers.cells import is_missing

ROOT = Path(__file__).parents[1]
STARTS, STEPS = (8.0, 16.0), (2.0, 4.0)
LEVEL = 0.9


@dataclass(frozen=True)
class Group:
    """Values of one set that were left out together.

    Parameters
    ----------
    of, name : the set, and the group
    residuals, halves : of logarithms, measured less predicted, and half the width of the intervals
    times : how many times the range that was fitted; 1 inside of it
    """

    of: str
    name: str
    residuals: Array
    halves: Array
    times: float = 1.0

    @property
    def is_inside(self) -> Array:
        """Whether each value lies in its interval."""
        return np.asarray(np.abs(self.residuals) <= self.halves)


def pool(groups: list[Group]) -> None:
    """Print how many intervals of each set and of all hold, how wide they are, and their scores."""
    print(f"\n{'pool, intervals of 90 %':<32} values groups  held   band of groups  score  simple")
    scores: list[Array] = []
    for of in dict.fromkeys(group.of for group in groups):
        members = [group for group in groups if group.of == of]
        is_inside = np.concatenate([group.is_inside for group in members])
        count = len(members)
        band = "{:.0%} to {:.0%}".format(*(binom.ppf([0.025, 0.975], count, LEVEL) / count))
        words = "not with fewer than three groups"
        if count >= 3:
            pair = interval_scores_of_groups([(group.residuals, group.halves) for group in members])
            scores.append(np.array(pair))
            words = f"{pair[0].mean():6.3f} {pair[1].mean():7.3f}"
        print(
            f"  {of:<30} {len(is_inside):>6} {count:>6} {is_inside.mean():>5.0%} {band:>16} {words}"
        )
    is_inside = np.concatenate([group.is_inside for group in groups])
    by_group = [float(group.is_inside.mean()) for group in groups]
    print(
        f"  all: {is_inside.mean():.1%} of {len(is_inside)} values, {np.mean(by_group):.1%} in the"
        " mean"
        f" of {len(groups)} groups, {sum(coverage < 0.6 for coverage in by_group)} of them under"
        " 60 %"
    )
    useful = (
        np.concatenate([group.halves for group in groups]) <= np.log(WIDEST_PREDICTION_RATIO) / 2
    )
    print(
        f"  {is_inside[useful].mean():.1%} of the {useful.sum()} with ends within a factor of"
        f" {WIDEST_PREDICTION_RATIO:g}; the others are of no use"
    )
    for words, low, high in (("within twice", 0, 2), ("from twice to four times", 2, 4)):
        halves = [group.halves for group in groups if low < group.times <= high]
        if halves:
            width = np.exp(2 * np.median(np.concatenate(halves)))
            print(f"  high / low {words} the range: {width:.2f} in the median")
    if not scores:
        return
    own, simple = np.concatenate(scores, axis=1).mean(axis=1)
    print(f"  interval score {own:.3f}, by the rms of left-out groups {simple:.3f}")


def _groups(
    name: str, validation_set: ValidationSet, times: Mapping[str, float] | None = None
) -> list[Group]:
    return [
        Group(
            name,
            group.name,
            np.array(group.residuals),
            np.array(group.halves),
            (times or {}).get(group.name, 1.0),
        )
        for group in validation_set.estimation.groups
    ]


def study() -> list[Group]:
    """Run the sets that are typed in; print them, and return their groups."""
    result = run("validation").questions["validation"]
    assert isinstance(result, ValidationResult)
    print()
    print("\n".join(result.sentences()))
    specs = yaml.safe_load((ROOT / "specs" / "studies" / "validation.yaml").read_text())[
        "validation"
    ]
    groups = []
    for name, validation_set in result.sets.items():
        times = _times_the_fitted(specs[name]) if "half" in validation_set.split else {}
        groups += _groups(name, validation_set, times)
    return groups


def _times_the_fitted(spec: Mapping[str, Any]) -> dict[str, float]:
    """Return by group how many times the largest size that was fitted its rows reach."""
    table = read_columns(ROOT / "specs" / "runs" / f"{spec['data']}.csv")
    columns = (spec["groups"][0], spec["beyond"], "half")
    rows = [*zip(*(table.column(name) for name in columns), strict=True)]
    largest = max(float(size) for _, size, half in rows if half == "smaller")
    reached = {group: float(size) for group, size, half in rows if half == "larger"}
    return {group: size / largest for group, size in reached.items()}


PEERS = {
    "vllm": [
        {
            "name": "AIConfigurator 0.12",
            "error": error,
            "of": f"median of 15 rows of 70B on {gpu}",
            "source": "run by its own script on these rows",
        }
        for error, gpu in (("4.2%", "H100"), ("5.1%", "H200"))
    ],
    "trtllm": [
        {
            "name": "AIConfigurator 0.12",
            "error": error,
            "of": f"median of {rows}",
            "source": "run by its own script on these rows",
        }
        for error, rows in (("33.9%", "12 rows of 70B on H200"), ("10%", "49 rows of Qwen3-32B"))
    ],
}
"""Errors that others publish on rows of a framework."""
BLIS = {
    "name": "BLIS",
    "error": "7.1%",
    "of": "median of the time between tokens on 36 other runs of 6 models",
    "source": "inference-sim",
}
SYSTEM_COLUMNS = ("model", "gpu", "framework")
"""What the rows of a group of servers have in common."""


def serving(table: Path, new: Path | None = None) -> list[Group]:
    """Run the study on the table, and print the errors of each group; rows of a new table are
    predicted by a fit to all of the other.
    """
    study = yaml.safe_load((ROOT / "benchmarks" / "serving.yaml").read_text())
    every_row = study["validation"]["all"]
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "serving.csv"
        if new is None:
            rows.write_text(table.read_text())
            study["validation"] = _sets_by_framework(read_columns(table), every_row)
        else:
            rows.write_text(_joined(table, new, every_row))
            study["validation"] = {"all": {**every_row, "fitted_to": {"origin": ["known"]}}}
        # By way of JSON, for the dump of an object that stands twice is an anchor.
        text = yaml.safe_dump(json.loads(json.dumps(study)), sort_keys=False)
        (Path(folder) / "serving.yaml").write_text(text)
        return left_out_sets(Path(folder) / "serving.yaml", "serving ")


def _sets_by_framework(table: ColumnTable, every_row: dict[str, Any]) -> dict[str, Any]:
    """Return the sets that a table allows: the groups of each framework and of all frameworks, each
    predicted by the others, and those of each framework predicted by all other frameworks.
    """
    systems = {*zip(*(table.column(name) for name in SYSTEM_COLUMNS), strict=True)}
    frameworks = list(dict.fromkeys(table.column("framework")))
    sets: dict[str, Any] = {}
    for framework in frameworks:
        if sum(system[-1] == framework for system in systems) > 1:
            rows = {"framework": [framework]}
            sets[framework] = {
                **every_row,
                "rows": rows,
                "peers": [BLIS, *PEERS.get(framework, [])],
            }
    if len(systems) > 1:
        sets["all"] = every_row
    for framework in frameworks if len(frameworks) > 1 else []:
        other_frameworks = [name for name in frameworks if name != framework]
        sets[f"to-{framework}"] = {**every_row, "fitted_to": {"framework": other_frameworks}}
    if not sets:
        raise SystemExit(
            f"{table.file} has one group of servers, which no other predicts; name it by --new, so"
            " that the rows of the table of --data predict it"
        )
    return sets


def left_out_sets(path: Path, kind: str = "") -> list[Group]:
    """Run a study, print the errors of each group of its sets, and return the groups."""
    result = run(path).questions["validation"]
    assert isinstance(result, ValidationResult)
    sets = result.sets
    for name, validation_set in sets.items():
        print(f"\n{name}: {validation_set.split}")
        for group in validation_set.estimation.groups:
            print(
                f"  {group.name:<45} {group.rows:>4} rows: median {group.median:6.1%}, with sign"
                f" {group.bias:+6.1%}, 90 % below {group.ninth:6.1%}, held {group.coverage:4.0%},"
                f" high / low {group.width:.2f}"
            )
        for peer, error, of, _ in validation_set.peers:
            print(f"  published: {peer} {error:.1%} ({of})")
        estimated_groups = validation_set.estimation
        scores = ""
        if estimated_groups.score is not None:
            scores = (
                f", interval score {estimated_groups.score:.3f}, by other groups' errors"
                f" {estimated_groups.simple_score:.3f}"
            )
        print(
            f"  median of groups {median(validation_set.errors):.1%},"
            f" held {validation_set.coverage:.0%}{scores}"
        )
    return [
        group
        for name, validation_set in sets.items()
        for group in _groups(f"{kind}{name}", validation_set)
    ]


def _joined(table: Path, new: Path, every_row: dict[str, Any]) -> str:
    """Return the rows of two tables, with a column that says of which; columns that the study does
    not use may be missing.
    """
    known_table, new_table = (read_columns(path) for path in (table, new))
    keys = ("paths", "names", "measured", "groups")
    used = list(
        dict.fromkeys(heading for rows_of_origin in keys for heading in every_row[rows_of_origin])
    )
    if missing := [heading for heading in used if heading not in new_table.headings]:
        raise SystemExit(f"{new} has no column {', '.join(missing)}")
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*used, "origin"])
    for name, rows_of_origin in (("known", known_table), ("new", new_table)):
        cells = zip(*(rows_of_origin.column(heading) for heading in used), strict=True)
        writer.writerows([*row, name] for row in cells)
    return text.getvalue()


def database(table: Path) -> list[Group]:
    """Predict each curve by its siblings, and by laws alone."""
    table_columns = read_columns(table)
    names, series = table_columns.column("curve"), table_columns.column("series")
    # A missing measurement is no row: the other points of its curve count.
    rows = [
        row
        for row, cell in enumerate(table_columns.column("transactions_per_s"))
        if not is_missing(cell)
    ]
    threads, rates, hardware_threads = (
        table_columns.positive_numbers(heading, rows)
        for heading in ("threads", "transactions_per_s", "hardware_threads")
    )
    curve_names = [names[row] for row in rows]
    curves = curves_of(curve_names, threads, rates)
    alike = {names[row]: series[row] for row in rows}
    hardware = dict(zip(curve_names, map(int, hardware_threads), strict=True))
    print(f"\n{len(curves)} curves of {len({*alike.values()})} series")
    groups: list[Group] = []
    for last_year in STARTS:
        for step in STEPS:
            siblings = predict_held_out(curves, alike, step, last_year)
            _print(f"siblings, to {last_year:g}, at {step:g} times", siblings)
            groups += _curves(f"siblings, {last_year:g} to {step * last_year:g}", siblings, step)
            fits_alone = [
                prediction
                for name in curves
                if (prediction := _alone(curves[name], name, hardware[name], last_year, step))
            ]
            _print(f"laws alone, to {last_year:g}, at {step:g} times", fits_alone, len(curves))
            groups += _curves(
                f"laws alone, {last_year:g} to {step * last_year:g}", fits_alone, step
            )
    return groups


def _curves(of: str, predictions: list[SiblingPrediction], step: float) -> list[Group]:
    return [
        Group(
            of,
            prediction.curve,
            np.log([(prediction.measured or np.nan) / np.sqrt(prediction.low * prediction.high)]),
            np.log([prediction.high / prediction.low]) / 2,
            step,
        )
        for prediction in predictions
    ]


def _alone(
    curve: dict[float, float], name: str, servers: int, last: float, step: float
) -> SiblingPrediction | None:
    """Predict a curve by laws that know its hardware threads; None where that is refused."""
    p = np.array([threads for threads in curve if threads <= last])
    rates = np.array([curve[threads] for threads in p.tolist()])
    try:
        comparison = compare(Timings(p, np.ones(len(p)), p / rates, True, servers=servers))
    except NoAnswerError:
        return None
    at = step * last
    interval_by_threads = comparison.predictions([at], LEVEL) | comparison.intervals_by_bounds(
        [at], LEVEL
    )
    if at not in curve or not interval_by_threads:
        return None
    low, high = interval_by_threads[at]
    value = at / float(np.sqrt(low * high))
    return SiblingPrediction(name, at, last, value, at / high, at / low, 0, 0.0, curve[at])


def _print(title: str, predictions: list[SiblingPrediction], options: int = 0) -> None:
    if not predictions:
        print(f"{title:<36} none predicted")
        return
    measured_values = [prediction.measured or np.nan for prediction in predictions]
    errors = [
        abs(prediction.value / value - 1)
        for prediction, value in zip(predictions, measured_values, strict=True)
    ]
    are_within = [
        prediction.low <= value <= prediction.high
        for prediction, value in zip(predictions, measured_values, strict=True)
    ]
    print(
        f"{title:<36} {len(predictions):>3}{f' of {options}' if options else ''}: median"
        f" {median(errors):5.1%}, worst {max(errors):4.0%}, held {np.mean(are_within):4.0%},"
        f" high / low {median(prediction.high / prediction.low for prediction in predictions):.2f}"
    )


def speed(rows: int) -> None:
    """Fit made-up rows of a closed form, and print the processor time."""
    random = np.random.default_rng(20251125)
    batch, tensor = random.integers(1, 129, rows), random.choice([1, 2, 4, 8], rows)
    scatter = np.exp(0.03 * random.normal(size=rows))
    time_of = 6e-3 / tensor + 60e-6 * batch
    lines = [
        f"{free_name},{ways},{1e3 * value:.6g}"
        for free_name, ways, value in zip(batch, tensor, time_of * scatter, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rows.csv"
        table.write_text("\n".join(["batch,tensor,time [ms]", *lines]))
        free = ["share=0.5..1.2", "reach=0.3..1", "launch=1 us..90 us", "host=1 us..200 us"]
        mark = Mark("--free", 1, 1)
        request = EstimationRequest(
            table,
            {"model": from_plain("serving-step", mark)},
            [
                Scalar(text, text, mark, True)
                for text in (f"parameters.{free_name}" for free_name in free)
            ],
        )
        begin = time.process_time()
        result = estimate_task(prepare_estimation(request, Library()))
    print(
        f"\n{rows:,} rows of a closed form, {len(result.parameters)} parameters:"
        f" {time.process_time() - begin:.1f} s of processor time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "validation")
    parser.add_argument("--serving", type=Path, help="another table of the same columns")
    parser.add_argument(
        "--new", type=Path, help="rows of servers that are predicted by a fit to the table"
    )
    parser.add_argument("--database", type=Path, help="another table of the same columns")
    parser.add_argument("--only", choices=["serving", "database", "study", "ranks", "speed"])
    parser.add_argument("--short", action="store_true", help="a thousand rows of speed alone")
    options = parser.parse_args()
    if options.short:
        speed(1000)
        return
    tables = {
        "serving": options.serving or options.data / "serving.csv",
        "database": options.database or options.data / "database-threads.csv",
    }
    groups = study() if options.only in (None, "study") else []
    if options.only in (None, "ranks"):
        groups += left_out_sets(ROOT / "benchmarks" / "ranks.yaml")
    for name, table in tables.items():
        if options.only not in (None, name):
            continue
        if table.is_file():
            groups += serving(table, options.new) if name == "serving" else database(table)
        else:
            print(f"there is no {table}; name the folder by --data")
    if groups:
        pool(groups)
    if options.only in (None, "speed"):
        speed(100_000)


if __name__ == "__main__":
    try:
        main()
    except SlipstickError as error:
        raise SystemExit(f"error: {error}") from None
