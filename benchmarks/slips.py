"""Mutants made by hand: typical slips in formulas, statistics and questions, and whether the tests
of the module notice them.

Each slip is one expression of a module that is written as a tired person might have: a factor of
two, the wrong power, a term without its weight, a strict comparison, the reverse of a rate. It is
put into a copy of the sources, never into the checkout, and the tests named with it and the
examples of the module run there until one fails. A slip that no test notices is a gap in the tests,
or changes no answer; which of both is judged by hand.

    python benchmarks/slips.py [--only TEXT] [--first NUMBER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 600
"""Longest run of the tests of a slip; a loop without an end counts as noticed."""


@dataclass(frozen=True)
class Slip:
    """A change of a module, and the tests that are to notice it."""

    module: str
    before: str
    after: str
    tests: str


LAW, QUEUEING, MEAN, SIM = "tests/law", "tests/queueing", "tests/method/mean_value", "tests/sim"
FIT, STUDY, QUESTIONS = "tests/measure/fit", "tests/study", "tests/study/questions"
SLIPS = (
    # law
    Slip(
        "slipstick_laws/general_service.py",
        "(1 - arrivals_scv) ** 2 / (3",
        "(1 - arrivals_scv) / (3",
        LAW,
    ),
    Slip(
        "slipstick_laws/general_service.py", "arrivals_scv + 4 * scv", "4 * arrivals_scv + scv", LAW
    ),
    Slip(
        "slipstick_laws/general_service.py",
        "arrivals * service * service * (1 + scv) / (2",
        "arrivals * service * (1 + scv) / (2",
        LAW,
    ),
    # expressions and random times
    Slip(
        "slipstick/random_times.py",
        "sign * 2.0 * together * together",
        "sign * together * together",
        "tests/test_random_times.py",
    ),
    Slip(
        "slipstick/random_times.py",
        "return RandomTime(first, second - first * first)",
        "return RandomTime(first, second)",
        "tests/test_random_times.py",
    ),
    Slip(
        "slipstick/random_times.py",
        "theta * (1 + excess / 8.8) ** -0.41",
        "theta * (1 + excess / 8.8) ** 0.41",
        "tests/test_random_times.py",
    ),
    # queueing
    Slip(
        "slipstick/queueing/residual_wait.py",
        "service * (1 + scv) / 2",
        "service * (1 + scv)",
        f"{QUEUEING}/test_residual_wait.py",
    ),
    Slip(
        "slipstick/queueing/residual_wait.py",
        "rates = np.arange(1, customers) / elsewhere",
        "rates = np.arange(customers - 1) / elsewhere",
        f"{QUEUEING}/test_residual_wait.py",
    ),
    Slip(
        "slipstick/queueing/residual_wait.py",
        "elsewhere * (MOST_SOURCES / customers)",
        "elsewhere * (customers / MOST_SOURCES)",
        f"{QUEUEING}/test_residual_wait.py {MEAN}/test_large_populations.py",
    ),
    Slip(
        "slipstick/queueing/residual_wait.py",
        "lost / (1 - busy / servers * (1 - lost))",
        "lost / (1 - busy / servers)",
        f"{QUEUEING}/test_residual_wait.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "(rank[None, :] <= rank[:, None])",
        "(rank[None, :] < rank[:, None])",
        f"{QUEUEING}/test_approximate.py {QUEUEING}/test_disciplines.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "wait = (waiting + residual_work) / servers",
        "wait = waiting + residual_work / servers",
        f"{QUEUEING}/test_approximate.py {QUEUEING}/test_disciplines.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "residual, station, ahead if kind.preemptive else None",
        "residual, station, None",
        f"{QUEUEING}/test_approximate.py {QUEUEING}/test_disciplines.py",
    ),
    Slip(
        "slipstick/queueing/approximate.py",
        "total = weighted.sum(axis=1, keepdims=True) - self.own * weighted",
        "total = weighted.sum(axis=1, keepdims=True) - weighted",
        f"{QUEUEING}/test_approximate.py",
    ),
    # mean value
    Slip(
        "slipstick_mean_value/open.py",
        "added(works_met) / queue.servers / nonzero",
        "added(works_met) / nonzero",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "(stretch * stretch + 2 * stretch) + mean * mean",
        "(stretch * stretch + 2 * stretch)",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "stretch = all_busy / (queue.servers - busy)",
        "stretch = all_busy / (1 - busy)",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "(1 - back) * residual[index] + back * services[index].mean",
        "residual[index] + back * services[index].mean",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/open.py",
        "varied = 2 / np.where(all_busy.real > 0, all_busy, 1.0) - 1",
        "varied = 1 / np.where(all_busy.real > 0, all_busy, 1.0)",
        f"{MEAN}/test_open.py",
    ),
    Slip(
        "slipstick_mean_value/features.py",
        "squares += count * mean * mean * (1 + visit.step.scv)",
        "squares += count * mean * mean * visit.step.scv",
        f"{MEAN}/test_features.py {MEAN}/test_promises.py",
    ),
    # simulation
    Slip(
        "slipstick/sim/estimate.py",
        "t_quantile(level, k - 1) * math.sqrt(inflation * squares * k / (k - 1))",
        "t_quantile(level, k) * math.sqrt(inflation * squares * k / (k - 1))",
        f"{SIM}/test_intervals.py",
    ),
    Slip(
        "slipstick/sim/estimate.py",
        "t_quantile(level, k - 1) * math.sqrt(inflation * squares * k / (k - 1))",
        "t_quantile(level, k - 1) * math.sqrt(inflation * squares)",
        f"{SIM}/test_intervals.py",
    ),
    Slip(
        "slipstick/sim/estimate.py",
        "counts[:index].sum() + 0.5 * counts[index]",
        "counts[:index].sum() + counts[index]",
        f"{SIM}/test_intervals.py",
    ),
    Slip(
        "slipstick/sim/estimate.py",
        "rest.astype(np.float64) ** 2",
        "rest.astype(np.float64)",
        f"{SIM}/test_intervals.py {SIM}/test_theory.py",
    ),
    Slip(
        "slipstick/sim/second_look.py",
        "inflation * count * squares / degrees",
        "inflation * squares / degrees",
        "tests/method/test_second_road.py tests/sim/test_theory.py",
    ),
    Slip(
        "slipstick/sim/second_look.py",
        "off > answer.tolerance + half and half <= WIDEST",
        "off > answer.tolerance and half <= WIDEST",
        "tests/method/test_second_road.py",
    ),
    Slip(
        "slipstick/sim/plan/distributions.py",
        "_exponential(1.0, stream, count) ** power / math.gamma(1 + power)",
        "_exponential(1.0, stream, count) ** power",
        "tests/test_time_distributions.py",
    ),
    Slip(
        "slipstick/sim/plan/distributions.py",
        "_normal(stream, count) - variance / 2)",
        "_normal(stream, count))",
        "tests/test_time_distributions.py",
    ),
    Slip(
        "slipstick_rounds/round_run.py",
        "self.used + claim > self.server.memory",
        "self.used > self.server.memory",
        "tests/rounds/test_round_run.py",
    ),
    # fits and measurements
    Slip(
        "slipstick_measure/fit/intervals.py",
        "len(fitted.residuals) / fitted.freedom",
        "fitted.freedom / len(fitted.residuals)",
        f"{FIT}/test_bootstrap.py",
    ),
    Slip(
        "slipstick_measure/fit/intervals.py",
        "far = float(t.ppf((1 + level) / 2, fitted.freedom))",
        "far = float(t.ppf(level, fitted.freedom))",
        f"{FIT}/test_profile.py",
    ),
    Slip(
        "slipstick_measure/fit/least_squares.py",
        "2 * k * count / (count - k - 1)",
        "2 * k",
        f"{FIT}/test_compare.py {FIT}/test_model.py",
    ),
    Slip(
        "slipstick_measure/fit/least_squares.py",
        "self.squares / self.freedom",
        "self.squares / len(self.residuals)",
        f"{FIT}/test_profile.py {FIT}/test_model.py",
    ),
    Slip(
        "slipstick_measure/fit/extrapolation.py",
        "int(point[0]) - 1",
        "int(point[0])",
        f"{FIT}/test_answers.py {FIT}/test_parts.py",
    ),
    Slip(
        "slipstick_measure/loads.py",
        "utilization *= (first.users - 1) / first.users",
        "utilization *= first.users / (first.users + 1)",
        "tests/measure/test_loads.py",
    ),
    Slip(
        "slipstick_measure/loads.py",
        "self.users / self.throughput - self.response",
        "self.users / self.throughput",
        "tests/measure/test_loads.py",
    ),
    Slip(
        "slipstick_measure/account.py",
        "values = [1 / value for value in time.values] if metric",
        "values = [value for value in time.values] if metric",
        "tests/measure/test_account.py",
    ),
    Slip(
        "slipstick_measure/account.py",
        "elapsed - busy / point.p - sum(lost.values())",
        "elapsed - busy / point.p",
        "tests/measure/test_account.py",
    ),
    # studies and their questions
    Slip(
        "slipstick/study/sweep.py",
        "numbers = [1.0 / number for number in numbers]",
        "numbers = [number for number in numbers]",
        f"{STUDY}/test_axes.py",
    ),
    Slip(
        "slipstick_trends/sample.py",
        "((1 - band) / 2, 0.5, (1 + band) / 2)",
        "(1 - band, 0.5, band)",
        "tests/trends/test_sample.py",
    ),
    Slip(
        "slipstick_trends/sample.py",
        "np.std(each_set, ddof=1)",
        "np.std(each_set)",
        "tests/trends/test_sample.py",
    ),
    Slip(
        "slipstick_questions/seek.py",
        "fraction = row[at] / (row[at] - row[at + 1])",
        "fraction = row[at + 1] / (row[at + 1] - row[at])",
        f"{QUESTIONS}/test_seek.py",
    ),
    Slip(
        "slipstick_questions/rank.py",
        "zero_if_rounding(answer.gradient[first].get(path, 0.0) * value / base)",
        "zero_if_rounding(answer.gradient[first].get(path, 0.0) / base)",
        f"{QUESTIONS}/test_rank.py",
    ),
    Slip(
        "slipstick_questions/choose.py",
        "if value < best",
        "if value <= best",
        f"{QUESTIONS}/test_choose.py",
    ),
    Slip(
        "slipstick_scaling/isoefficiency.py",
        "exponent = work.size / power",
        "exponent = power / work.size",
        "tests/scaling/test_isoefficiency.py",
    ),
    Slip(
        "slipstick_scaling/isoefficiency.py",
        "total_overhead = self.processors * self.time - self.work",
        "total_overhead = self.time - self.work",
        "tests/scaling/test_overhead.py",
    ),
    Slip(
        "slipstick/units.py",
        "factor ** int(power or 1), dimension ** int(power or 1)",
        "factor, dimension ** int(power or 1)",
        "tests/test_units.py",
    ),
)


def noticed(slip: Slip, sources: Path) -> str:
    """Return the test that fails with a slip in the sources; empty where all pass."""
    path = sources / slip.module
    text = path.read_text()
    if text.count(slip.before) != 1:
        raise SystemExit(f"{slip.module} has {text.count(slip.before)} times {slip.before!r}")
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
    path.write_text(text.replace(slip.before, slip.after))
    module = slip.module.removesuffix(".py").replace("/", ".")  # for its examples
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    try:
        run = subprocess.run(
            [*command, *slip.tests.split(), "--pyargs", module],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "without an end"
    finally:
        path.write_text(text)
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
    if run.returncode not in (0, 1):
        return f"pytest ended with {run.returncode}: {run.stdout[-300:]}"
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else ""


def main() -> int:
    """Try each slip and print what noticed it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="slips whose module has this text")
    parser.add_argument("--first", type=int, default=1, help="number of the first slip")
    parser.add_argument("--short", action="store_true", help="the first slip alone")
    options = parser.parse_args()
    slips = [slip for slip in SLIPS if options.only in slip.module][options.first - 1 :]
    slips = slips[:1] if options.short else slips
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "models"
        shutil.copytree(
            ROOT / "models", sources, ignore=shutil.ignore_patterns("__pycache__", "pictures")
        )
        for number, slip in enumerate(slips, options.first):
            by = noticed(slip, sources)
            survivors += [] if by else [slip]
            words = f"by {by}" if by else "SURVIVES"
            print(f"{number} {slip.module}: {slip.before} -> {slip.after}: {words}", flush=True)
    print(f"{len(slips) - len(survivors)} of {len(slips)} slips noticed")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
