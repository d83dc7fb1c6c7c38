"""Models of slipstick fitted to timings that came from them, or from elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick.errors import NoAnswerError, SpecError
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Scalar, from_plain
from slipstick_measure.fit.comparison import compare
from slipstick_measure.fit.families import FAMILIES
from slipstick_measure.fit.formula import Family, Timings
from slipstick_measure.fit.least_squares import fit
from slipstick_measure.fit.model import FitSettings, prepare_model
from tests.measure.fit.truths import MEASURED, TRUTHS, noisy

LOCK = """
activity: 1
parameters: {work: 1 s, critical: 500 ms}
population: {processors: 1}
resources:
  door: {lock: fifo}
cycle:
  - {name: work, delay: work, scv: 1}
  - {hold: door, body: [{name: update, delay: critical, scv: 1, component: lock}]}
"""

PHASES = """
activity: 1
parameters: {work: 10 s, step: 1 ms, p: 1}
population: {processors: 1}
resources:
  end: {barrier: central, cost: step}
cycle:
  - {name: work, delay: work / p}
  - {barrier: end}
"""


def word(text: str) -> Scalar:
    return Scalar(text, text, Mark("free.yaml", 3, 7), quoted=True)


def family(
    settings: dict[str, object], *free: str, cycles: float | None = None, **paths: str
) -> Family:
    nodes = {path: from_plain(value, Mark("free.yaml", 2, 1)) for path, value in settings.items()}
    found = {name: word(path) for name, path in paths.items()}
    asked = FitSettings(
        nodes, [word(each) for each in free], found.get("population"), found.get("size"), cycles
    )
    return prepare_model(asked, Library()).family()


def saved(folder: Path, text: str, name: str = "door.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.turns(4)
def test_an_activity_by_mean_value_finds_the_lock_and_is_a_closed_queue(tmp_path: Path) -> None:
    settings: dict[str, object] = {"model": saved(tmp_path, LOCK), "method": "mean-value"}
    model = family(settings, "parameters.work", "parameters.critical=1 ms..20 s")
    found = compare(noisy(TRUTHS["lock"], 0), [model, "queue-1", "usl"])
    fitted = {each.name: each.fitted_formula for each in found.candidates}
    assert fitted["door"].parameters["parameters.work"] == pytest.approx(9, rel=0.02)
    assert fitted["door"].parameters["parameters.critical"] == pytest.approx(1, rel=0.02)
    assert fitted["door"].theta == pytest.approx(fitted["queue-1"].theta, rel=1e-3)
    assert next(iter(fitted["door"].lost_processors(64))) == "lock:door"
    assert {each.name for each in found.rivals} == {"door", "queue-1"}


@pytest.mark.turns(4)
def test_a_network_and_a_shared_work_of_many_cycles() -> None:
    """A hundred cycles shared by all processors take 100 C(p) / p."""
    free = "classes.jobs.think_time", "stations.cpu.service.jobs"
    settings: dict[str, object] = {
        "model": "central-server",
        "stations.fast.service.jobs": "1 ns",
        "stations.slow.service.jobs": "1 ns",
    }
    fitted = fit(family(settings, *free, cycles=100), noisy(TRUTHS["lock, shared work"], 0))
    assert fitted.parameters[free[0]] == pytest.approx(0.95, rel=0.02)
    assert fitted.parameters[free[1]] * 10 == pytest.approx(0.05, rel=0.02)
    assert (
        fitted.formula.text
        == "T = 100 cycle of central-server / p, with classes.jobs.population = p"
    )
    single = fitted.predict([1.0])[0]
    (time,) = fitted.predict([32.0])
    assert sum(fitted.lost_processors(32.0).values()) == pytest.approx(32 - single / time, rel=1e-3)


def test_a_barrier_model_of_an_elapsed_time(tmp_path: Path) -> None:
    p = MEASURED
    timings = Timings(p, np.ones(len(p)), 40 / p + 0.5)
    fitted = fit(
        family(
            {"model": saved(tmp_path, PHASES)},
            "parameters.work",
            "parameters.step",
            population="parameters.p",
        ),
        timings,
    )
    assert fitted.theta == pytest.approx([40, 0.5], rel=1e-4)
    assert fitted.lost_processors(16.0) == pytest.approx({"barrier": 16 * 0.5 / (40 / 16 + 0.5)})


def test_a_law_with_a_size() -> None:
    p = np.tile(MEASURED, 2)
    n = np.repeat([1.0, 8.0], len(MEASURED))
    timings = Timings(p, n, 3 + 5 * n / p)
    settings: dict[str, object] = {
        "model": "law/parallel-time",
        "processors": 1,
        "work": 1,
        "operation": 1,
        "latency": "1 s",
    }
    settings |= {"work": "1 op", "operation": "1 s/op"}
    fitted = fit(family(settings, "operation", "latency", size="work"), timings)
    assert fitted.theta == pytest.approx([5, 3], rel=1e-5)
    assert fitted.lost_processors(8.0) == {}


@pytest.mark.parametrize(
    ("settings", "free", "message"),
    [
        (
            {},
            ["parameters.wrk"],
            "free.yaml:3:7: free: lock-and-bus has no number at 'parameters.wrk'; did you mean",
        ),
        (
            {},
            ["parameters.work=3 s"],
            "write parameters.work=low..high, such as parameters.work=9 ms..; got",
        ),
        ({}, ["parameters.work=3..4 s"], "'3' lacks its unit"),
        (
            {},
            ["parameters.work=4 s..3 s"],
            (
                "parameters.work is free from 4 s to 3 s: the first value must be less than the "
                "second, and not negative"
            ),
        ),
        (
            {},
            ["parameters.work", "parameters.work"],
            "parameters.work is free twice; leave one out",
        ),
        (
            {},
            ["population.processors"],
            "population.processors comes from the data, so it cannot be free",
        ),
        (
            {"method": "simulation"},
            ["parameters.work"],
            "a fit needs a smooth model; simulated times jump, so take another method",
        ),
        (
            {"model": "lazowska-closed-classes"},
            [],
            "is the number of processors (population); there are classes.",
        ),
        (
            {"model": "lazowska-closed-classes"},
            [],
            (
                "; if the columns are other numbers of it, say which: --column"
                " parameters.size=COLUMN --measured time=COLUMN"
            ),
        ),
    ],
)
def test_what_cannot_be_free_is_refused(
    settings: dict[str, object], free: list[str], message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        family({"model": "lock-and-bus", **settings}, *free)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "free", "truth", "cycles", "message"),
    [
        (
            {"model": "law/sequential-estimate", "processors": 1, "waits": "100 s", "time": "1 s"},
            "time=0 s..1 s",
            "lock",
            None,
            "law/sequential-estimate has no time at the points of the data: ",
        ),
        (
            {"model": "central-server"},
            "classes.jobs.think_time",
            "serial part",
            None,
            (
                "the data are times of a whole work; say how many cycles of central-server it has "
                "(cycles)"
            ),
        ),
        (
            {"model": "central-server"},
            "classes.jobs.think_time",
            "lock",
            3,
            (
                "the data are times of a cycle, so the number of cycles (cycles) says nothing; "
                "leave it out"
            ),
        ),
        (
            {"model": "law/amdahl-speedup", "serial": 0.5, "processors": 1},
            "serial",
            "lock",
            None,
            "law/amdahl-speedup gives a speedup, not a time, so no time can be compared with it",
        ),
        (
            {"model": "law/amdahl-time", "serial": "1 s", "parallel": "1 s", "processors": 1},
            "serial",
            "sized",
            None,
            "the data have several sizes; say which number of law/amdahl-time is the size (size)",
        ),
    ],
)
def test_data_that_a_model_cannot_be_held_against_are_refused(
    settings: dict[str, object], free: str, truth: str, cycles: float | None, message: str
) -> None:
    timings = noisy(TRUTHS["lock" if truth == "sized" else truth], 0)
    if truth == "sized":
        timings = Timings(timings.p, np.arange(1.0, len(timings) + 1), timings.time)
    with pytest.raises(NoAnswerError) as caught:
        fit(family(settings, free, cycles=cycles), timings)
    assert message in str(caught.value)


def test_slopes_beyond_all_numbers_leave_an_infinite_error() -> None:
    """A time of 1e303 s gave a traceback of the singular values."""
    p = np.array([1.0, 2.0, 4.0, 8.0])
    fitted = fit(FAMILIES["amdahl"], Timings(p, np.ones(4), 1.1 + 9 / p))
    assert (
        fitted.standard_error(lambda thetas: np.array([1.0, *[np.inf] * (len(thetas) - 1)]))
        == np.inf
    )


def test_a_best_value_at_the_lower_limit_is_found() -> None:
    """The search begins inside of the limits, however far apart they are."""
    p = MEASURED
    timings = Timings(p, np.ones(len(p)), 40 / p + 0.5)
    law: dict[str, object] = {
        "model": "law/amdahl-time",
        "serial": "5 s",
        "parallel": "90 s",
        "processors": 1,
    }
    free = ["serial=1 s..10 s", "parallel=1 s..1000 s"]
    fitted = fit(family(law, *free, population="processors"), timings)
    assert fitted.parameters["serial"] == pytest.approx(1.0)


def test_a_rate_of_arrivals_is_no_number_of_processors() -> None:
    settings: dict[str, object] = {"model": "lazowska-open"}
    words = (
        "is a rate of arrivals, and times are divided by processors; hold the model against rows:"
        " --column '"
    )
    with pytest.raises(SpecError) as error:
        family(settings, "stations.cpu.service.jobs", population="classes.jobs.arrivals")
    assert words in str(error.value)
