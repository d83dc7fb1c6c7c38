"""Queueing-network files: what they mean, and every fault at its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from slipstick import QueueingNetwork, dump, load
from slipstick.errors import SpecError
from slipstick.expression.nodes import Parameter
from slipstick.schema.inputs import build, resolve
from slipstick.schema.library import Library, editor_schema
from slipstick.vocabulary import STATION_DISCIPLINES
from tests.mutations import SHIPPED
from tests.specs import line, refused, settings, valid

DESIGN = """\
queueing-network: 1
classes:
  jobs: {population: 20, think_time: 5 s}
stations:
  cpu:  {servers: 1, discipline: ps,   demand: {jobs: 5 ms}}
  disk: {servers: 2, discipline: fcfs, service: {jobs: 10 ms}, visits: {jobs: 3}}
  pool: {rates: [1, 2, 2.5], discipline: ps, demand: {jobs: 1 ms}}
  net:  {discipline: is, demand: {jobs: 2 ms}}
"""
"""The network of the design."""

SWITCHING = """\
queueing-network: 1
chains:
  users: {classes: [a, b], population: 3, reference: [a, cpu]}
stations:
  cpu: {discipline: ps, service: {a: 10 ms, b: 50 ms}}
  disk: {service: {b: 70 ms}}
routing:
  - {from: [a, cpu], to: [b, disk], probability: 1}
  - {from: [b, disk], to: [b, cpu], probability: 1}
  - {from: [b, cpu], to: [a, cpu], probability: 1}
"""
NETWORKS = {name: text for name, text in SHIPPED.items() if name.startswith("queueing/")}


def built(folder: Path, text: str) -> QueueingNetwork:
    (folder / "x.yaml").write_text(text)
    made = load(folder / "x.yaml")
    assert isinstance(made, QueueingNetwork)
    return made


def test_the_design_reads_as_it_says(tmp_path: Path) -> None:
    assert valid(tmp_path, DESIGN) == "queueing-network"
    made = built(tmp_path, DESIGN)
    assert made.stations["disk"].service["jobs"] == Parameter(
        "stations.disk.service.jobs", made.stations["disk"].service["jobs"].dimension, 0.01
    )
    assert [each.servers for each in made.stations.values()] == [1, 2, 1, 1]
    assert [str(each) for each in made.stations["pool"].rates] == [
        f"stations.pool.rates.{n}" for n in range(3)
    ]


def test_numbers_may_be_formulas_over_parameters(tmp_path: Path) -> None:
    text = (
        line(DESIGN, 5, "  cpu: {discipline: ps, demand: {jobs: work / 2}}")
        + "parameters: {work: 10 ms}\n"
    )
    assert str(built(tmp_path, text).stations["cpu"].demand["jobs"]) == "parameters.work / 2"


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_that_is_written_reads_as_the_same(name: str, tmp_path: Path) -> None:
    made = built(tmp_path, NETWORKS[name])
    again = built(tmp_path, dump(made))
    if name == "queueing/autoscaled-service":  # what its shape was computed from is a plain number
        assert dump(again) == dump(made)
        return
    assert (again.stations, again.chains, again.routing) == (
        made.stations,
        made.chains,
        made.routing,
    )
    assert again.classes == made.classes


def test_what_becomes_of_who_finds_a_station_full_is_read_and_written(tmp_path: Path) -> None:
    made = built(
        tmp_path,
        line(DESIGN, 5, "  cpu: {demand: {jobs: 5 ms}, capacity: 3, blocking: before-service}"),
    )
    assert (made.stations["cpu"].capacity, made.stations["cpu"].blocking) == (3, "before-service")
    assert built(tmp_path, dump(made)).stations["cpu"] == made.stations["cpu"]


def test_ranks_are_written_as_whole_numbers(tmp_path: Path) -> None:
    ranked = line(
        DESIGN, 5, "  cpu: {discipline: priority, service: {jobs: 5 ms}, priority: {jobs: 1}}"
    )
    made = built(tmp_path, ranked)
    assert built(tmp_path, dump(made)).stations["cpu"] == made.stations["cpu"]


@pytest.mark.turns(4)
@pytest.mark.parametrize("text", [DESIGN, SWITCHING, *NETWORKS.values()])
def test_editors_take_what_the_loader_takes(text: str) -> None:
    schema = editor_schema("queueing-network")
    assert [
        each.message for each in Draft202012Validator(schema).iter_errors(yaml.safe_load(text))
    ] == []


def test_a_class_of_a_chain_may_be_listed_without_customers(tmp_path: Path) -> None:
    assert built(tmp_path, f"{SWITCHING}classes: {{a: {{}}}}\n").class_names == ("a", "b")


REFUSED: list[tuple[str, list[str]]] = [
    (
        line(
            line(DESIGN, 5, "  cpu: {discipline: ps, demand: {jbos: 5 ms}}"),
            6,
            "  disk: {demand: {jobs: 5}}",
        ),
        [
            "5:34: stations.cpu.demand.jbos: there is no class 'jbos'; did you mean 'jobs'?",
            "6:25: stations.disk.demand.jobs: write a number with a unit, such as '5 us'; got 5",
        ],
    ),
    (
        (
            "queueing-network: 1\nchains:\n  users: {classes: [a], population: 2.5, reference: [a,"
            " cpu]}\nstations:\n  cpu: {service: {a: 1 s, b: 1 s}}\nrouting:\n  - {from: [a, cup],"
            " to: [a, cpu], probability: 1}\n"
        ),
        [
            "3:37: chains.users.population: must be a whole number, got 2.5",
            "5:27: stations.cpu.service.b: there is no class 'b'; known: a",
            "7:16: routing.0.from.1: there is no station 'cup'; did you mean 'cpu'?",
        ],
    ),
    (
        line(DESIGN, 5, "  cpu: {discipline: ps, demand: {jbos: 5 ms}}"),
        ["5:34: stations.cpu.demand.jbos: there is no class 'jbos'; did you mean 'jobs'?"],
    ),
    (
        line(DESIGN, 5, "  cpu: {demand: {jobs: 5 ms}, service: {jobs: 1 ms}}"),
        [
            (
                "5:47: stations.cpu.service.jobs: jobs has both a demand and a service time at cpu;"
                " give one"
            )
        ],
    ),
    (
        line(DESIGN, 6, "  disk: {visits: {jobs: 3}}"),
        [
            "6:3: stations.disk: no class visits disk; give it a demand, or leave it out",
            (
                "6:25: stations.disk.visits.jobs: visits of jobs to disk have no service time; give"
                " it one"
            ),
        ],
    ),
    (
        line(DESIGN, 5, "  cpu: {demand: {jobs: 5}}"),
        ["5:24: stations.cpu.demand.jobs: write a number with a unit, such as '5 us'; got 5"],
    ),
    (
        line(DESIGN, 5, "  cpu: {demand: 5 ms}"),
        ["5:17: stations.cpu.demand: write keys and values, such as {CLASS: 5 ms}"],
    ),
    (
        line(DESIGN, 5, "  cpu: {demand: {jobs: -5 ms}}"),
        ["5:24: stations.cpu.demand.jobs: must be at least 0 s, got -5 ms"],
    ),
    (
        line(DESIGN, 5, "  cpu: {discipline: fifo, demand: {jobs: 5 ms}}"),
        [
            (
                "5:21: stations.cpu.discipline: write "
                f"{', '.join(map(repr, tuple(STATION_DISCIPLINES)[:-1]))} or "
                f"{tuple(STATION_DISCIPLINES)[-1]!r}; got 'fifo'; did you mean 'fcfs'?"
            )
        ],
    ),
    (
        line(DESIGN, 5, "  cpu: {servers: 1.5, demand: {jobs: 5 ms}}"),
        ["5:18: stations.cpu.servers: must be a whole number, got 1.5"],
    ),
    (
        line(DESIGN, 3, "  jobs: {population: 2.5}"),
        ["3:22: classes.jobs.population: must be a whole number, got 2.5"],
    ),
    (
        line(DESIGN, 3, "  jobs: {population: 2, arrivals: 1 /s}"),
        [
            (
                "3:35: classes.jobs.arrivals: closed with a population, or open with arrivals; "
                "give one of them"
            )
        ],
    ),
    (
        line(DESIGN, 3, "  jobs: {arrivals: 1 /s, think_time: 1 s}"),
        [
            (
                "3:38: classes.jobs.think_time: a think time belongs to a closed class; an "
                "open class has none"
            )
        ],
    ),
    (
        line(DESIGN, 3, "  jobs: {population: 2, burst_time: 1 s}"),
        ["3:37: classes.jobs.burst_time: bursts belong to an open class; give it arrivals"],
    ),
    (
        line(DESIGN, 3, "  jobs: {arrivals: 1 /s, quiet_time: 1 s}"),
        ["3:38: classes.jobs.quiet_time: bursts need both a burst_time and a quiet_time"],
    ),
    (
        line(DESIGN, 3, "  jobs: {population: 2, batch: 3}"),
        ["3:32: classes.jobs.batch: a batch belongs to an open class; give it arrivals"],
    ),
    (line(DESIGN, 3, "  jobs: {}"), ["3:9: classes.jobs: give the class a population or arrivals"]),
    (
        line(DESIGN, 7, "  pool: {rates: [1, 0], demand: {jobs: 1 ms}}"),
        ["7:21: stations.pool.rates.1: must be more than 0, got 0"],
    ),
    (line(DESIGN, 4, "station:"), ["4:1: station: unknown key; did you mean 'stations'?"]),
    (
        line(DESIGN, 5, "  cpu: {demand: {jobs: work}}"),
        [
            (
                "5:24: stations.cpu.demand.jobs: there is no name 'work'; write '5 us', or the "
                "name of a parameter"
            )
        ],
    ),
    (
        line(SWITCHING, 10, "  - {from: [b, cpu], to: [a, cpu], probability: 0.9}"),
        [
            (
                "10:49: routing.2.probability: the probabilities of leaving cpu as b must add "
                "up to 1, got 0.9"
            )
        ],
    ),
    (
        line(SWITCHING, 8, "  - {from: [a, cpu], to: [a, cpu], probability: 1}"),
        [
            "5:48: stations.cpu.service.b: no route takes b to cpu",
            "6:23: stations.disk.service.b: no route takes b to disk",
            "9:12: routing.1.from: no route leads from the reference of users to disk as b",
            "10:12: routing.2.from: no route leads from the reference of users to cpu as b",
        ],
    ),
    (
        line(SWITCHING, 3, "  users: {classes: [a, b], population: 3}"),
        [
            (
                "3:10: chains.users.reference: key 'reference' is missing: class and station at"
                " which a cycle begins, or at which customers arrive"
            )
        ],
    ),
    (
        line(SWITCHING, 3, "  users: {classes: [a, b], reference: [a, cpu]}"),
        ["3:10: chains.users: give the chain a population or arrivals"],
    ),
    (
        line(SWITCHING, 3, "  users: {classes: [a, b], population: 3, reference: [a, cup]}"),
        ["3:58: chains.users.reference.1: there is no station 'cup'; did you mean 'cpu'?"],
    ),
    (
        line(SWITCHING, 8, "  - {from: [a], to: [b, disk], probability: 1}"),
        ["8:12: routing.0.from: at least 2 needed; got a list"],
    ),
    (
        line(SWITCHING, 8, "  - {from: [a, cpu, b], to: [b, disk], probability: 1}"),
        ["8:12: routing.0.from: at most 2 wanted; got a list"],
    ),
    (
        line(SWITCHING, 8, "  - {from: [a, cpu], to: away, probability: 1}"),
        ["8:26: routing.0.to: write 'out'; got 'away'"],
    ),
    (
        line(SWITCHING, 8, "  - {from: [a, cpu], to: [b, disk], probability: 2}"),
        ["8:50: routing.0.probability: must be at most 1, got 2; write 2 % if this is a share"],
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("text", "problems"), REFUSED, ids=[each[0] for _, each in REFUSED])
def test_each_fault_is_told_at_its_line(text: str, problems: list[str], tmp_path: Path) -> None:
    assert refused(tmp_path, text) == [f"x.yaml:{each}" for each in problems]


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    text = line(
        line(DESIGN, 5, "  cpu: {demand: {jbos: wrok}}"), 8, "  net: {discipline: is, servers: 2}"
    )
    assert [each.split(": ")[1] for each in refused(tmp_path, text)] == [
        "stations.cpu.demand.jbos",
        "stations.cpu.demand.jbos",
        "stations.net",
        "stations.net.servers",
    ]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"method": "exactt"}, "--set method: there is no method 'exactt'; did you mean 'exact'?"),
        (
            {"workload": "sor"},
            (
                "--set workload: a queueing network runs on no workload; leave it out, or name a"
                " program to run on it"
            ),
        ),
        (
            {"stations__cpu__demand__job": "3 ms"},
            (
                "--set stations__cpu__demand__job: stations.cpu.demand.job: "
                "there is no class 'job'; did you mean 'jobs'?"
            ),
        ),
    ],
)
def test_what_is_set_is_checked_like_what_is_written(
    given: dict[str, Any], text: str, tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(DESIGN)
    with pytest.raises(SpecError) as caught:
        build(resolve(settings(model=str(tmp_path / "x.yaml"), **given), Library()))
    assert str(caught.value) == text
