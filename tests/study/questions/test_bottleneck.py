"""Bottlenecks beside asymptotic bounds worked out by hand, and beside the network's own answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slipstick import solve
from slipstick.errors import NoAnswerError, SpecError
from slipstick.results.sweep import Provenance
from slipstick.results.words import Words
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick_questions.bottleneck import BottleneckResult, CaseBottlenecks, _range_sentences
from slipstick_questions.open_bottleneck import OpenBottleneck
from tests.questions import reported, result_of
from tests.specs import activity

HEAD = """\
parameters: {think: 9 ms, seek: 1 ms, work: 2 ms}
population: {processors: 4}
resources:
  {disk: {servers: 1, discipline: fcfs}, cpu: {servers: 2, discipline: fcfs}, door: {lock: fifo}}
"""
CYCLE = (
    "{name: think, delay: think}",
    "{name: compute, service: cpu, time: work, scv: 1}",
    "{hold: door, body: [{name: read, service: disk, time: seek, scv: 1}]}",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(activity(*CYCLE, head=HEAD))
    return tmp_path


def written(
    along: str, base: str = "{model: model.yaml, method: mean-value}", more: str = ""
) -> Path:
    path = Path("study.yaml")
    path.write_text(f"study: 1\nbase: {base}\nbottleneck: {{along: {{{along}}}{more}}}\n")
    return path


def found(along: str, base: str = "{model: model.yaml, method: mean-value}") -> CaseBottlenecks:
    (case,) = result_of(run(prepare(str(written(along, base)))), BottleneckResult).bottleneck
    return case


def test_the_saturation_population_is_that_of_the_demands_and_the_think_time(folder: Path) -> None:
    made = found("population.processors: [1, 8, 12, 13, 64]")
    # 9 + 2 + 1 ms in all; the disk 1 ms, the two processors together 1 ms, the lock as long as the
    # disk.
    assert made.cycle == pytest.approx([12e-3] * 5)
    assert {name: each[0] for name, each in made.demands.items()} == pytest.approx(
        {"cpu": 1e-3, "disk": 1e-3, "door": 1e-3}
    )
    assert made.saturation == pytest.approx([12.0] * 5)
    assert made.throughput_bound == pytest.approx([1 / 12e-3, 8 / 12e-3, 1000, 1000, 1000])


@pytest.mark.turns(4)
def test_no_method_is_above_the_bound_and_utilization_follows_from_the_throughput(
    folder: Path,
) -> None:
    for method, beyond in (("mean-value", 1e-9), ("simulation", 0.05)):
        made = found(
            "population.processors: [1, 4, 16, 32]", f"{{model: model.yaml, method: {method}}}"
        )
        assert np.all(made.throughput <= made.throughput_bound * (1 + beyond))
        assert made.throughput[0] == pytest.approx(1 / 12e-3, rel=0.05)
        assert made.utilization("disk") == pytest.approx(
            np.minimum(made.throughput, made.throughput_bound) * 1e-3
        )
        assert made.throughput[-1] > 0.85 * made.throughput_bound[-1]


def test_another_resource_takes_over_where_its_demand_is_the_larger(folder: Path) -> None:
    made = found("parameters.work: [1 ms, 1.9 ms, 2.1 ms, 4 ms]")
    assert made.bottlenecks == ("disk", "disk", "cpu", "cpu")
    # The lock "door" is held during the service of the disk alone, so that both demands are equal.
    lines = BottleneckResult((made,)).text().splitlines()
    assert lines[:2] == [
        "base: disk and door are the bottlenecks for parameters.work from 1 ms on",
        "base: cpu is the bottleneck from 2.1 ms on, disk and door up to 1.9 ms",
    ]
    assert lines[2].startswith(
        "base: not saturated anywhere; nearest at parameters.work = 4 ms with N = 4, and N* = 7"
    )


def test_equal_demands_are_all_named_and_rounding_saturates_nothing(folder: Path) -> None:
    Path("equal.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 8, think_time: 1 s}}\n"
        "stations:\n  cpu: {service: {jobs: 100 ms}}\n  disk: {service: {jobs: 100 ms}}\n"
    )
    made = found("classes.jobs.population: [1, 12, 13]", "{model: equal.yaml}")
    # (1 s + 0.1 s + 0.1 s) / 0.1 s, which is a little less than 12 in binary fractions.
    assert made.saturation == pytest.approx([12.0] * 3)
    assert made.is_saturated.tolist() == [False, False, True]
    result = BottleneckResult((made,))
    assert result.sentences()[0] == (
        "base: cpu and disk are the bottlenecks for classes.jobs.population from 1 to 13"
    )
    assert result.headline(Words()) == [
        "cpu and disk limit the throughput to 10 completions a second; 13 jobs reach 79.4 % of it"
    ]


def _throughput_by_recursion(customers: int, think: float, demands: Sequence[float]) -> float:
    """Return the throughput of a closed network by the recursion of mean value analysis."""
    queues = [0.0] * len(demands)
    throughput = 0.0
    for number in range(1, customers + 1):
        times = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        throughput = number / (think + sum(times))
        queues = [throughput * time for time in times]
    return throughput


@pytest.mark.parametrize(
    ("axis", "clause"),
    [
        ("[1, 12, 50, 64]", "95 % of it is reached from 16 jobs on"),
        ("[1, 12]", "12 jobs reach 83.6 % of it"),
        ("[32, 64]", "95 % of it is reached already with 32 jobs"),
    ],
)
def test_the_number_near_the_limit_is_solved_on_both_sides(
    folder: Path, axis: str, clause: str
) -> None:
    """Between the points 12 and 50 of the axis the number is bisected."""
    Path("one.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 8, think_time: 1 s}}\n"
        "stations:\n  cpu: {service: {jobs: 100 ms}}\n  disk: {service: {jobs: 60 ms}}\n"
    )
    below, above = (_throughput_by_recursion(number, 1.0, [0.1, 0.06]) for number in (15, 16))
    assert below < 0.95 * 10 <= above
    made = found(f"classes.jobs.population: {axis}", "{model: one.yaml}")
    assert BottleneckResult((made,)).headline(Words()) == [
        f"cpu limits the throughput to 10 completions a second; {clause}"
    ]


@pytest.mark.turns(8)
def test_numbers_that_are_not_solved_are_not_said_to_be_too_few(folder: Path) -> None:
    """Values with intervals are not bisected: only 2 and 30 jobs are known, and 16 reach 95 %."""
    Path("one.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 8, think_time: 1 s}}\n"
        "stations:\n  cpu: {service: {jobs: 100 ms}}\n  disk: {service: {jobs: 60 ms}}\n"
    )
    base = "{model: one.yaml, stations.disk.service.jobs: 50 ms..72 ms}"
    made = found("classes.jobs.population: [2, 30]", base)
    assert (made.near_limit, made.far_from_limit) == (30, 2)
    (line,) = BottleneckResult((made,)).headline(Words())
    assert line.endswith("; 95 % of it is reached with 30 jobs, and not yet with 2")


@pytest.mark.parametrize("values", ["[64, 50, 12, 1]", "[1, 64, 12]", "[4, 4, 8]"])
def test_an_axis_that_does_not_rise_is_refused(folder: Path, values: str) -> None:
    """A sentence on the numbers up to the last one would be about a number in the middle."""
    with pytest.raises(SpecError, match=r"list the values of population\.processors in rising"):
        prepare(str(written(f"population.processors: {values}")))


def test_a_network_gives_its_own_saturation_population_and_utilization(folder: Path) -> None:
    made = found("classes.jobs.population: [1, 20, 27, 28, 200]", "{model: central-server}")
    demands = {"cpu": 10 * 20e-3, "fast": 6 * 15e-3, "slow": 3 * 40e-3}
    assert {name: float(each[1]) for name, each in made.demands.items()} == pytest.approx(demands)
    assert made.saturation == pytest.approx([(5 + sum(demands.values())) / 0.2] * 5)
    assert made.bottlenecks == ("cpu",) * 5
    assert made.utilization("cpu")[-1] == pytest.approx(1.0, abs=1e-6)
    text = BottleneckResult((made,)).text()
    assert (
        "saturated from classes.jobs.population = 28 on, where N = 28 is above N* = 27.05" in text
    )


def test_a_throughput_above_the_bound_is_named_and_no_utilization_is_above_one(
    folder: Path,
) -> None:
    """The closed form of 64 processors takes 12 ms a cycle: 64 / 12 ms where the disk allows 1 /
    1 ms.
    """
    made = found("population.processors: [1, 8, 64]", "{model: model.yaml, method: closed-form}")
    assert made.is_above_bound.tolist() == [False, False, True]
    assert made.utilization("disk").tolist() == pytest.approx([1 / 12, 8 / 12, 1.0])
    lines = BottleneckResult((made,)).text().splitlines()
    assert (
        lines[-1]
        == "base: the throughput by closed-form is above the bound from population.processors = 64"
        " on, by up to 433 %; it leaves waiting out, mean-value and simulation do not"
    )


def test_a_station_of_several_rates_bounds_by_its_highest_speed(folder: Path) -> None:
    """10 ms of work at up to 2.5 times the speed: at most 250 /s, however few are present."""
    Path("rates.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 2}}\n"
        "stations: {pool: {rates: [1, 2, 2.5], discipline: ps, demand: {jobs: 10 ms}}}\n"
    )
    made = found("classes.jobs.population: [1, 2, 3, 30]", "{model: rates.yaml}")
    assert made.throughput == pytest.approx([100, 200, 250, 250])
    assert made.demands["pool"] == pytest.approx([4e-3] * 4)
    assert made.throughput_bound[1:] == pytest.approx([200, 250, 250])
    assert np.all(made.throughput <= made.throughput_bound * (1 + 1e-9))


@pytest.mark.turns(4)
def test_the_page_the_table_and_json_have_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written("population.processors: [8, 16]")
    printed, page, rows, found = reported("bottleneck", capsys)
    assert "base: saturated from population.processors = 16 on" in printed
    assert "## Bottlenecks\n" in page
    assert "| cpu" in page
    assert [float(row["throughput_bound [1/s]"]) for row in rows] == pytest.approx(
        [8 / 12e-3, 1000]
    )
    assert [row["bottleneck"] for row in rows] == ["cpu", "cpu"]
    (document,) = found["bottleneck"]
    populations = [each["values"]["saturation_population"]["value"] for each in found["answers"]]
    assert populations == pytest.approx([12.0, 12.0])
    assert [document[key] for key in ("path", "unit", "values")] == [
        "population.processors",
        "1",
        [8, 16],
    ]


@pytest.mark.parametrize(
    ("along", "base", "more", "message"),
    [
        (
            "population.processors: [1, 2]",
            "{model: model.yaml}",
            ", cases: [bass]",
            "there is no case 'bass'",
        ),
        ("population.procesors: [1, 2]", "{model: model.yaml}", "", "did you mean"),
        (
            "method: [mean-value, closed-form]",
            "{model: model.yaml}",
            "",
            "an axis of numbers is wanted, such as the number of processors",
        ),
        (
            "population.arrivals: [1 /s]",
            "{model: open.yaml}",
            "",
            "with arrivals, the bottleneck is that of each case as given; leave along out",
        ),
        (
            "population.processors: [1]",
            "{model: alone.yaml}",
            "",
            "base asks no resource for service",
        ),
        (
            "classes.jobs.population: [1, 2]",
            "{model: region.yaml}",
            "",
            "base has a region, whose limit is no demand at a station; a bottleneck is a station",
        ),
    ],
)
def test_what_has_no_bottleneck_is_refused(
    folder: Path, along: str, base: str, more: str, message: str
) -> None:
    Path("alone.yaml").write_text(
        activity(CYCLE[0], head="parameters: {think: 1 s}\npopulation: {processors: 2}\n")
    )
    Path("open.yaml").write_text(
        activity(*CYCLE, head=HEAD.replace("processors: 4", "arrivals: 3 /s"))
    )
    Path("region.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 2}}\n"
        "stations: {cpu: {demand: {jobs: 1 s}}}\nregions: {r: {stations: [cpu], capacity: 1}}\n"
    )
    with pytest.raises(SpecError, match=message):
        check_file(written(along, base, more).resolve())


def test_groups_at_a_buffer_lead_to_the_cases_that_show_what_limits_them(folder: Path) -> None:
    """A chip is made in 3 ms, and one processor packs it in 4 ms: packing limits."""
    Path("pipe.yaml").write_text(
        "activity: 1\nresources: {belt: {buffer: 8}}\ngroups:\n  makers: {processors: 1, cycle:"
        " [{name: make, delay: 3 ms}, {put: belt}]}\n  packers: {processors: 1, cycle: [{get:"
        " belt}, {name: pack, delay: 4 ms}]}\n"
    )
    path = Path("study.yaml").resolve()
    path.write_text("study: 1\nbase: {model: pipe.yaml}\nbottleneck: {}\n")
    with pytest.raises(SpecError) as refused:
        check_file(path)
    message = str(refused.value)
    assert "base has several groups, makers and packers, and a bottleneck is that of one" in message
    assert "cases: {more: {groups.packers.processors: NUMBER}}" in message
    names = ["throughput[packers]", "wait[belt.places]", "wait[belt.items]"]
    assert all(name in message for name in names)
    path.write_text(
        "study: 1\nbase: {model: pipe.yaml}\ncases: {more: {groups.packers.processors: 2}, other:"
        f" {{groups.makers.processors: 2}}}}\nanswer: {names}\n"
    )
    cases = run(prepare(str(path))).cases
    rates = [cases[name].find("throughput[packers]") for name in ("base", "more", "other")]
    assert rates == pytest.approx([250, 1000 / 3, 250], rel=0.01)
    assert (cases["base"].find("wait[belt.places]") or 0) > 0
    assert (cases["more"].find("wait[belt.items]") or 0) > 0


OPEN_MODEL = """\
activity: 1
parameters: {decode: 8 ms, detect: 22 ms, encode: 14 ms}
population: {arrivals: 60 /s}
resources: {decoder: {servers: 1}, gpu: {servers: 2}, encoder: {servers: 2}}
cycle:
  - {name: decode, service: decoder, time: decode, scv: 1}
  - {name: detect, service: gpu, time: detect, scv: 1}
  - {name: encode, service: encoder, time: encode, scv: 1}
"""
OPEN_NETWORK = """\
queueing-network: 1
classes: {reads: {arrivals: 30 /s}, writes: {arrivals: 10 /s}}
stations:
  cpu: {servers: 2, discipline: ps, service: {reads: 10 ms, writes: 30 ms}, visits: {writes: 2}}
  disk: {service: {reads: 8 ms, writes: 4 ms}}
  away: {discipline: is, service: {reads: 1 s, writes: 1 s}}
"""


def open_bottlenecks(model: str, more: str = "") -> tuple[OpenBottleneck, ...]:
    """Run the bottlenecks of a model with arrivals, and of the cases that `more` adds."""
    Path("open.yaml").write_text(model)
    Path("study.yaml").write_text(
        f"study: 1\nbase: {{model: open.yaml}}\n{more or 'bottleneck: {}'}"
    )
    return result_of(run(prepare("study.yaml")), BottleneckResult).with_arrivals


def test_arrivals_are_limited_by_the_resource_with_the_largest_utilization(folder: Path) -> None:
    more = "cases: {more: {resources.gpu.servers: 4}}\nbottleneck: {cases: [base, more]}\n"
    base, more_gpus = open_bottlenecks(OPEN_MODEL, more)
    # 22 ms / 2 = 11 ms at the gpu, 8 ms at the decoder, 14 ms / 2 = 7 ms at the encoder.
    assert base.demands == pytest.approx({"decoder": 8e-3, "gpu": 11e-3, "encoder": 7e-3})
    assert base.names == ("gpu",)
    assert base.largest_rate == pytest.approx(1 / 11e-3)
    # Twice the gpu is the other case.
    twice = base.with_twice_the_capacity
    assert twice.demands == pytest.approx(more_gpus.demands)
    assert (twice.names, more_gpus.names) == (("decoder",), ("decoder",))
    headline = BottleneckResult((), (base,)).headline(Words())[0]
    assert "limits the throughput to 90.91 completions a second, and is 66 % utilized" in headline
    assert "decoder would limit it to 125 completions a second" in headline


@pytest.mark.turns(4)
def test_the_utilization_and_the_largest_rate_are_those_of_the_simulation_and_the_search(
    folder: Path,
) -> None:
    (base,) = open_bottlenecks(OPEN_MODEL)
    simulated = solve("open.yaml", method="simulation")
    for name in base.demands:
        low, high = simulated.ends(f"utilization[{name}]")
        assert low is not None
        assert high is not None
        assert low * 0.98 < base.utilization(name) < high * 1.02
    just_below, just_above = (f"{factor * base.largest_rate!r} /s" for factor in (0.999, 1.001))
    assert solve("open.yaml", {"population.arrivals": just_below}, method="mean-value")["time"]
    with pytest.raises(NoAnswerError, match=f"station {base.names[0]} is saturated"):
        solve("open.yaml", {"population.arrivals": just_above}, method="mean-value")


def test_several_streams_are_limited_in_their_present_mix(folder: Path) -> None:
    (base,) = open_bottlenecks(OPEN_NETWORK)
    # (30 x 10 + 10 x 60) / 2 = 450 ms a second at the processors, 30 x 8 + 10 x 4 = 280 at the
    # disk.
    assert base.utilization("cpu") == pytest.approx(0.45)
    assert base.utilization("disk") == pytest.approx(0.28)
    assert base.demands.keys() == {"cpu", "disk"}
    assert base.largest_rate == pytest.approx(40 / 0.45)
    exact = solve("open.yaml")
    assert exact.find("utilization[cpu]") == pytest.approx(base.utilization("cpu"))
    # Twice the processors would be 22.5 % utilized, less than the disk.
    assert base.with_twice_the_capacity.names == ("disk",)
    headline = BottleneckResult((), (base,)).headline(Words())[0]
    assert "in the present mix" in headline


def test_a_bottleneck_that_stays_one_with_twice_its_capacity_has_twice_the_limit() -> None:
    alone = OpenBottleneck("base", 60.0, {"cpu": 20e-3, "disk": 5e-3})
    assert alone.with_twice_the_capacity.largest_rate == pytest.approx(100.0)
    headline = alone.headline("", Words())
    assert "asked for 120 % of what it can give" in headline
    assert headline.endswith("with twice its capacity, the limit would be 100 completions a second")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OPEN_NETWORK.replace("{arrivals: 10 /s}", "{population: 2}"), "not all arrivals"),
        (
            OPEN_NETWORK.replace("service: {reads: 8 ms", "capacity: 3, service: {reads: 8 ms"),
            "disk has a capacity, so that fewer are served than arrive",
        ),
        (
            "activity: 1\npopulation: {arrivals: 3 /s}\ncycle: [{name: think, delay: 1 s}]\n",
            "base asks no resource for service",
        ),
    ],
)
def test_what_has_no_bottleneck_of_arrivals_is_refused(
    folder: Path, model: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        open_bottlenecks(model)


@pytest.mark.parametrize(
    ("bus_demands", "sentences"),
    [
        ([2.0], ["bus is the bottleneck for n from 1 to 1"]),
        ([2.0, 2.0], ["bus is the bottleneck for n from 1 to 2"]),
        (
            [2.0, 0.5, 0.5],
            [
                "bus is the bottleneck for n from 1 on",
                "disk is the bottleneck from 2 on, bus up to 1",
            ],
        ),
    ],
)
def test_the_ranges_of_a_bottleneck_begin_with_that_of_the_first_point(
    bus_demands: list[float], sentences: list[str]
) -> None:
    count = len(bus_demands)
    bottlenecks = CaseBottlenecks(
        case="base",
        provenance=Provenance(["exact"] * count, [True] * count),
        path="n",
        unit="1",
        values=np.arange(1.0, count + 1),
        population=np.full(count, 2.0),
        throughput=np.full(count, 0.1),
        cycle=np.full(count, 10.0),
        demands={"bus": np.array(bus_demands), "disk": np.ones(count)},
    )
    assert _range_sentences(bottlenecks)[: len(sentences)] == sentences
