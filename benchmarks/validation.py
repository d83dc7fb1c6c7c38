"""What models err by on published measurements that are too large to be copied.

The tables lie in a folder beside the project (``--data``, by default ``../shared/validation``); a
table of another person with the same columns takes their place (``--serving``, ``--database``).

Serving: times between tokens of servers of language models, each group of model, GPU and framework
left out whole and predicted by the others, and one framework by the other; the study is
``benchmarks/serving.yaml``. Database: throughput by threads, each curve known up to 8 or 16 threads
and predicted at 2 and 4 times as many by its siblings on the same machine, and by laws alone.
Speed: rows of a closed form that are fitted in a second.

    python benchmarks/validation.py [--data FOLDER] [--only serving|database|speed]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from slipstick import run
from slipstick.errors import NoAnswerError
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Scalar, from_plain
from slipstick_measure.fit.columns import read_columns
from slipstick_measure.fit.comparison import WIDEST, compare
from slipstick_measure.fit.estimation import estimation
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.request import EstimationRequest, prepare_estimation
from slipstick_measure.fit.siblings import SiblingPrediction, curves_of, left_out
from slipstick_measure.questions.validation import ValidationResult

ROOT = Path(__file__).parents[1]
STARTS, STEPS = (8.0, 16.0), (2.0, 4.0)


def serving(table: Path, new: Path | None = None) -> None:
    """Run the study on the table, and print the errors of each group; rows of a new table are
    predicted by a fit to all of the other.
    """
    text = (ROOT / "benchmarks" / "serving.yaml").read_text()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "serving.csv"
        if new is None:
            rows.symlink_to(table.resolve())
        else:
            rows.write_text(_joined(table, new))
            head, questions = text.split("validation:\n")
            every = questions[questions.index("  all:\n") : questions.index("  to-tensorrt-llm:\n")]
            text = f"{head}validation:\n{every}    fitted_to: {{origin: [known]}}\n"
        (Path(folder) / "serving.yaml").write_text(text)
        results = run(Path(folder) / "serving.yaml")
    found = results.questions["validation"]
    assert isinstance(found, ValidationResult)
    sets = found.sets
    for name, each in sets.items():
        print(f"\n{name}: {each.split}")
        for group in each.found.groups:
            print(
                f"  {group.name:<45} {group.rows:>4} rows: median {group.median:6.1%}, with sign"
                f" {group.bias:+6.1%}, 90 % below {group.ninth:6.1%}, held {group.coverage:4.0%},"
                f" high / low {group.width:.2f}"
            )
        for peer, error, of, _ in each.peers:
            print(f"  published: {peer} {error:.1%} ({of})")
        print(
            f"  median of groups {median(each.errors):.1%}, held {each.held:.0%}, interval score"
            f" {each.found.score or np.nan:.3f}, by other groups' errors"
            f" {each.found.simple_score or np.nan:.3f}"
        )


def _joined(table: Path, new: Path) -> str:
    """Return the rows of two tables of the same columns, with a column that says of which."""
    parts = {name: path.read_text().splitlines() for name, path in (("known", table), ("new", new))}
    heading = parts["known"][0]
    if parts["new"][0] != heading:
        raise SystemExit(f"{new} has other columns than {table}: {parts['new'][0]}")
    rows = [f"{line},{name}" for name, lines in parts.items() for line in lines[1:] if line]
    return "\n".join([f"{heading},origin", *rows])


def database(table: Path) -> None:
    """Predict each curve by its siblings, and by laws alone."""
    read = read_columns(table)
    columns = {name: read.column(name) for name in ("curve", "series", "hardware_threads")}
    threads = [float(cell) for cell in read.column("threads")]
    rates = [float(cell) for cell in read.column("transactions_per_s")]
    curves = curves_of(columns["curve"], threads, rates)
    alike = dict(zip(columns["curve"], columns["series"], strict=True))
    hardware = dict(zip(columns["curve"], map(int, columns["hardware_threads"]), strict=True))
    print(f"\n{len(curves)} curves of {len({*alike.values()})} series")
    for last in STARTS:
        for step in STEPS:
            _print(f"siblings, to {last:g}, at {step:g} times", left_out(curves, alike, step, last))
            alone = [
                found
                for name in curves
                if (found := _alone(curves[name], name, hardware[name], last, step))
            ]
            _print(f"laws alone, to {last:g}, at {step:g} times", alone, len(curves))


def _alone(
    curve: dict[float, float], name: str, servers: int, last: float, step: float
) -> SiblingPrediction | None:
    """Predict a curve by laws that know its hardware threads; None where that is refused."""
    p = np.array([each for each in curve if each <= last])
    rates = np.array([curve[each] for each in p.tolist()])
    try:
        found = compare(Timings(p, np.ones(len(p)), p / rates, True, servers=servers))
    except NoAnswerError:
        return None
    at = step * last
    if at not in curve or found.refusal(at):
        return None
    low, high = found.predict(at, 0.9)
    if high > WIDEST * low:
        return None
    value = at / float(np.sqrt(low * high))
    return SiblingPrediction(name, at, last, value, at / high, at / low, 0, curve[at])


def _print(title: str, found: list[SiblingPrediction], asked: int = 0) -> None:
    if not found:
        print(f"{title:<36} none predicted")
        return
    known = [each.measured or np.nan for each in found]
    errors = [abs(each.value / value - 1) for each, value in zip(found, known, strict=True)]
    held = [each.low <= value <= each.high for each, value in zip(found, known, strict=True)]
    print(
        f"{title:<36} {len(found):>3}{f' of {asked}' if asked else ''}: median {median(errors):5.1%},"
        f" worst {max(errors):4.0%}, held {np.mean(held):4.0%}, high / low"
        f" {median(each.high / each.low for each in found):.2f}"
    )


def speed(rows: int) -> None:
    """Fit made-up rows of a closed form, and print the processor time."""
    random = np.random.default_rng(20251125)
    batch, tensor = random.integers(1, 129, rows), random.choice([1, 2, 4, 8], rows)
    scatter = np.exp(0.03 * random.normal(size=rows))
    time_of = 6e-3 / tensor + 60e-6 * batch
    lines = [
        f"{each},{ways},{1e3 * value:.6g}"
        for each, ways, value in zip(batch, tensor, time_of * scatter, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rows.csv"
        table.write_text("\n".join(["batch,tensor,time [ms]", *lines]))
        free = ["share=0.5..1.2", "reach=0.3..1", "launch=1 us..90 us", "host=1 us..200 us"]
        mark = Mark("--free", 1, 1)
        request = EstimationRequest(
            table,
            {"model": from_plain("serving-step", mark)},
            [Scalar(text, text, mark, True) for text in (f"parameters.{each}" for each in free)],
        )
        begin = time.process_time()
        found = estimation(prepare_estimation(request, Library()))
    print(
        f"\n{rows:,} rows of a closed form, {len(found.parameters)} parameters:"
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
    parser.add_argument("--only", choices=["serving", "database", "speed"])
    parser.add_argument("--short", action="store_true", help="a thousand rows of speed alone")
    asked = parser.parse_args()
    if asked.short:
        speed(1000)
        return
    tables = {
        "serving": asked.serving or asked.data / "serving.csv",
        "database": asked.database or asked.data / "database-threads.csv",
    }
    for name, table in tables.items():
        if asked.only not in (None, name):
            continue
        if table.is_file():
            serving(table, asked.new) if name == "serving" else database(table)
        else:
            print(f"there is no {table}; name the folder by --data")
    if asked.only in (None, "speed"):
        speed(100_000)


if __name__ == "__main__":
    main()
