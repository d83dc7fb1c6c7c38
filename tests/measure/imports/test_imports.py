"""Specs made from files of other tools: what is in them is found again, and damaged files are
refused by name.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from slipstick import solve
from slipstick.cli.main import main
from slipstick.errors import SlipstickError, SpecError
from slipstick.late import Array
from slipstick_measure.formats import read
from slipstick_measure.imports import jmt_times
from slipstick_measure.imports.formats import IMPORTS, import_spec
from slipstick_measure.imports.jsim import _DISTRIBUTIONS
from slipstick_measure.imports.names import is_rounded
from slipstick_measure.imports.network import message_ranges
from slipstick_measure.imports.program_text import _ruby_loop
from slipstick_measure.measurements import Hints
from slipstick_measure.readers.messages import PAIR_BENCHMARK
from tests.examples import examples
from tests.measure.damage import damaged
from tests.measure.data import sample

FILES = Path(__file__).parent / "files"
MACHINES = Path(__file__).parents[2] / "shelf" / "machines"
TOPOLOGIES = MACHINES.parent / "topologies"
BENCHMARKS = {
    each: sample(each)
    for each in ("osu_latency.txt", "imb_pingpong.txt", "ib_write_lat.txt", "loggp.txt")
}
ASKED: dict[str, tuple[Path, str, dict[str, object]]] = {
    **{name: (path, "network", {"placement": "switch"}) for name, path in BENCHMARKS.items()},
    "stream.txt": (FILES / "stream.txt", "machine", {"base": "linux-cluster"}),
    "hpcg.txt": (FILES / "hpcg.txt", "machine", {"base": "linux-cluster"}),
    "mlc.txt": (FILES / "mlc.txt", "machine", {"base": "two-socket-server"}),
    "perf.csv": (FILES / "perf.csv", "activity", {"hints": Hints(processors=4)}),
    "model.jsimg": (FILES / "model.jsimg", "queueing-network", {}),
    "model.jmva": (FILES / "model.jmva", "queueing-network", {}),
    "model.lqnx": (FILES / "model.lqnx", "activity", {}),
    "filled-in.yml": (
        MACHINES / "filled-in.yml",
        "machine",
        {"base": "nodes-2024", "hints": Hints(leave_out=("write-rates",))},
    ),
    "flat-cluster.xml": (MACHINES / "flat-cluster.xml", "machine", {}),
    "system.json": (
        MACHINES / "system.json",
        "machine",
        {"hints": Hints(leave_out=("small-operations", "latency-once", "communication-share"))},
    ),
    **{
        name: (TOPOLOGIES / name, "machine", {"base": "epyc-rome-7452"})
        for name in ("version-1.xml", "lstopo-2.txt", "likwid-topology.txt")
    },
    "model-pdq.c": (FILES / "model-pdq.c", "queueing-network", {}),
}
"""Every sample, the kind of its spec, and what has to be told."""


REAL: dict[str, tuple[Path, str, dict[str, object]]] = {
    "osu_latency_mpich.txt": (FILES / "osu_latency_mpich.txt", "network", {"placement": "node"}),
    "imb_mpi1_shared_memory.txt": (
        FILES / "imb_mpi1_shared_memory.txt",
        "network",
        {"placement": "node"},
    ),
    "stream_two_threads.txt": (
        FILES / "stream_two_threads.txt",
        "machine",
        {"base": "linux-cluster"},
    ),
}
"""What the tools printed on a host; `files/README.md` tells how."""


def test_every_format_has_a_sample() -> None:
    assert len(ASKED) == len(BENCHMARKS) + len(IMPORTS)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", [*ASKED, *REAL])
def test_a_spec_is_valid_and_says_where_each_value_is_from(name: str) -> None:
    path, kind, told = {**ASKED, **REAL}[name]
    spec = import_spec([path], **told)  # type: ignore[arg-type]
    assert spec.kind == kind
    text = spec.text()
    assert yaml.safe_load(text) == spec.document
    assert str(path) in text.splitlines()[0]

    def quantities(tree: object) -> list[dict[str, object]]:
        if isinstance(tree, dict) and "value" in tree:
            return [tree]
        inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
        return [found for each in inside for found in quantities(each)]

    found = quantities(spec.document)
    assert found
    assert all(each["source"] for each in found)


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", [*ASKED, *REAL])
def test_damaged_files_make_a_spec_or_are_refused_by_name(name: str, tmp_path: Path) -> None:
    known = {**ASKED, **REAL}
    text, chance, outcomes = known[name][0].read_text(), random.Random(name), set()
    for variant in range(examples(200)):
        if variant % 4 == 0:  # letters for numbers
            at = chance.choice([at for at, sign in enumerate(text) if sign.isdigit()])
            data = (text[:at] + chance.choice("xO?") + text[at + 1 :]).encode()
        else:
            data = damaged(text, chance)[1]
        (tmp_path / name).write_bytes(data)
        said = _refused(tmp_path / name, known[name][2], write=variant % 10 == 0)
        outcomes.add(bool(said))
        assert all(0 < len(each) < 500 for each in said)
    assert outcomes == {True, False}
    (tmp_path / name).write_text("")
    assert _refused(tmp_path / name, known[name][2]) == [
        "the file is empty; a measurement may have failed to write it"
    ]


def _refused(path: Path, told: dict[str, object], write: bool = True) -> list[str]:
    """Return what is wrong with a file; nothing if it makes a spec."""
    try:
        spec = import_spec([path], **told)  # type: ignore[arg-type]
        assert not write or spec.text()
    except SpecError as error:
        return [each.message for each in error.problems]
    return []


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("osu_latency_mpich.txt", "# Size"),
        ("osu_bw_mpich.txt", "# Size"),
        ("imb_mpi1_shared_memory.txt", "#bytes"),
    ],
)
def test_what_a_tool_printed_is_what_is_read(name: str, head: str) -> None:
    lines = (FILES / name).read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if line.strip().startswith(head))
    table = [line.split() for line in lines[first + 1 :]]
    column, scale = (2, 1e-6) if "imb" in name else (1, 1e6 if "bw" in name else 1e-6)
    wanted = [(float(row[0]), float(row[column]) * scale) for row in takewhile(bool, table)]
    metric = "throughput" if "bw" in name else "time"
    runs = [
        run
        for run in read(FILES / name).records
        if run.metric == metric and PAIR_BENCHMARK.fullmatch(run.region)
    ]
    assert [run.n for run in runs] == [size for size, _ in wanted]
    assert [run.value for run in runs] == pytest.approx([value for _, value in wanted])
    assert len(wanted) >= 23


def test_the_eager_limit_of_a_real_library_is_found() -> None:
    said = " ".join(import_spec([REAL["osu_latency_mpich.txt"][0]], placement="node").notes)
    assert (
        "the eager limit lies between 512 B and 1024 B; fixed part 6.33 us before, 10.6 us after"
        in said
    )


def test_the_ranges_of_a_made_up_network_are_found_within_the_noise() -> None:
    sizes = np.array([2.0**each for each in range(23)])
    exact: Array = np.select(
        [sizes <= 512, sizes <= 16384],
        [1e-6 + 2e-10 * sizes, 2e-6 + 1e-10 * sizes],
        8e-6 + 4e-11 * sizes,
    )
    for seed in range(10):
        times: Array = exact * np.exp(
            0.01 * np.random.default_rng(seed).standard_normal(len(sizes))
        )
        found = message_ranges(sizes, times)
        assert [sizes[each.last_index] for each in found] == [512, 16384, 2**22]
        assert [each.fixed_time for each in found] == pytest.approx([1e-6, 2e-6, 8e-6], rel=0.05)
        assert found[-1].time_per_byte == pytest.approx(4e-11, rel=0.05)
    assert len(message_ranges(sizes, sizes * 1e-10 + np.array(3e-6))) == 1


def test_a_message_on_the_imported_network_takes_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(sample("osu_latency.txt")), str(FILES / "osu_bw.txt")]
    assert main(["import", *files, "-o", str(tmp_path / "net.yaml"), "--placement", "switch"]) == 0
    assert "the eager limit lies between 8192 B and 16384 B" in capsys.readouterr().out
    (tmp_path / "nodes.yaml").write_text(
        "machine: 1\nsource: made up\nprocessors: {count: 2}\nnetwork: net.yaml\n"
    )
    for size, measured in (("8 B", 1.83e-6), ("64 KiB", 8.37e-6), ("4 MiB", 187e-6)):
        model = (
            "activity: 1\nmachine: nodes.yaml\npopulation: {processors: 1}\ncycle: [{name:"
            f" send, message: {size}}}]\n"
        )
        (tmp_path / "send.yaml").write_text(model)
        assert main(["check", str(tmp_path / "send.yaml")]) == 0
        assert _time(tmp_path / "send.yaml", capsys) == pytest.approx(measured, rel=0.03)


def _time(path: Path, capsys: pytest.CaptureFixture[str]) -> float:
    import json

    capsys.readouterr()
    assert main(["solve", str(path), "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    return float(answer["values"]["time"]["value"])


def test_memory_is_parted_among_processors() -> None:
    stream = import_spec([FILES / "stream.txt"], base="linux-cluster").document
    assert stream["memory"]["bandwidth"]["value"] == "9.85256 GB/s"
    hpcg = import_spec([FILES / "hpcg.txt"], base="linux-cluster").document
    assert (hpcg["processors"]["count"]["value"], hpcg["processors"]["flops"]["value"]) == (
        "32",
        "6.8e+08 /s",
    )
    mlc = import_spec([FILES / "mlc.txt"], base="two-socket-server")
    assert mlc.document["memory"]["access"]["value"] == "3.5605 ns"
    assert mlc.document["interconnect"]["hop"]["value"] == "38.8697 ns"
    assert len(mlc.table_rows) == 10
    assert max(abs(float(row[-1].split()[0])) for row in mlc.table_rows) < 30
    assert "left out: latencies of other nodes, 131.1 to 131.4 ns" in mlc.notes[-1]


def test_lines_of_memory_are_a_closed_system(tmp_path: Path) -> None:
    """By another road: the latency of a closed queueing network; and no machine with too many
    modules is written.
    """
    from slipstick_measure.imports.memory import _closed_latency

    (tmp_path / "lines.yaml").write_text(
        "queueing-network: 1\n"
        "classes: {lines: {population: 40}}\n"
        "stations:\n"
        "  way: {discipline: is,"
        " demand: {lines: 70 ns}}\n"
        + "".join(f"  m{k}: {{demand: {{lines: 2.5 ns}}}}\n" for k in range(4))
    )
    latency = solve(tmp_path / "lines.yaml")["response_time[lines]"]
    assert latency == pytest.approx(_closed_latency(40, 4, 10.0, 70.0) * 1e-9, rel=1e-9)
    (tmp_path / "few.yaml").write_text(
        "machine: 1\nextends: two-socket-server\nmemory: {modules: 1000}\n"
    )
    with pytest.raises(SpecError, match="name a machine with --extends that has as many modules"):
        import_spec([FILES / "mlc.txt"], base=str(tmp_path / "few.yaml"))


def test_counters_become_the_time_that_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.yaml"
    assert main(["import", str(FILES / "perf.csv"), "-o", str(out), "--processors", "4"]) == 0
    assert _time(out, capsys) == pytest.approx(4021.5e-3 / 4, rel=1e-5)


def test_models_of_other_tools_give_the_same_numbers(tmp_path: Path) -> None:
    """By hand: one class alone."""
    jmva = import_spec([FILES / "model.jmva"], Hints(unit="ms")).document
    assert jmva["stations"]["Disk-1"]["service"]["Batch-jobs"]["value"] == "8e-05 s"
    assert jmva["stations"]["Array"]["rates"] == [1.0, 2.0, 2.0]
    assert jmva["classes"]["Web"]["arrivals"]["value"] == "500 /s"
    pdq = import_spec([FILES / "model-pdq.c"]).document
    assert {name: each["demand"]["users"]["value"] for name, each in pdq["stations"].items()} == {
        "cpu": "0.02 s",
        "disk-1": "0.03 s",
        "network": "0.05 s",
    }
    assert [pdq["stations"]["cpu"]["servers"], pdq["stations"]["network"]["discipline"]] == [
        2,
        "is",
    ]


def test_a_model_of_jsim_keeps_classes_that_change_and_probabilities(tmp_path: Path) -> None:
    """By hand: Web visits the CPU 1 / 0.3 times; Jobs come back 3 to 1 as themselves, and night
    jobs at even odds of the disk.
    """
    spec = import_spec([FILES / "model.jsimg"])
    stations, chains = spec.document["stations"], spec.document["chains"]
    assert {name: each["discipline"] for name, each in stations.items()} == {
        "Think": "is",
        "CPU": "ps",
        "Disk-1": "fcfs",
    }
    assert stations["CPU"]["scv"]["Web"] == 0.25
    assert chains["Jobs-chain"]["population"] == 4
    assert "left_out" not in spec.document  # at processor sharing and delays means tell all
    (tmp_path / "shop.yaml").write_text(spec.text())
    answer = solve(tmp_path / "shop.yaml")
    assert answer.exact
    assert answer["utilization[Web,CPU]"] == pytest.approx(0.5 / 0.3 * 0.5 / 2)
    assert answer["utilization[Web,Disk-1]"] == pytest.approx(0.5 * 0.7 / 0.3 * 0.25)
    # Three of four visits of the reference station are of jobs: 2 visits of the CPU follow each,
    # whoever they are.
    cycles = (answer["throughput[Jobs-chain]"] or 0.0) + (answer["throughput[Night-jobs]"] or 0.0)
    assert answer["utilization[Jobs,Disk-1]"] == pytest.approx(cycles * 0.8 * 0.25)
    assert answer["utilization[Night-jobs,CPU]"] == pytest.approx(cycles * 0.2 * 2 * 0.5 / 2)


def jsim(change: str, to: str) -> str:
    text = (FILES / "model.jsimg").read_text()
    assert change in text
    return text.replace(change, to)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("change", "to", "message"),
    [
        (
            "RoutingStrategies.RandomStrategy",
            "RoutingStrategies.ShortestQueueLengthRoutingStrategy",
            "which a network does not have",
        ),
        ("<value>0.3</value>", "<value>0.2</value>", "add up to 0.9, not to 1"),
        ('"stationName"', '"station"', "a probability stands before the name of its node"),
        (
            "random.HyperExp",
            "random.BurstDistribution",
            "the time of Jobs at CPU is a 'BurstDistribution'",
        ),
        ("<value>Sink</value>", "<value>Sunk</value>", "there is no node 'Sunk' to go to"),
        (
            'className="JobSink"',
            'className="Fork"',
            "'Sink' is a Fork, which a network does not have",
        ),
        ('target="Disk 1"/>', 'target="Disk 9"/>', "there is no node 'Disk 9'"),
        (
            "PutStrategies.TailStrategy",
            "PutStrategies.SJFStrategy",
            "customers queue at 'Disk 1' by 'SJFStrategy'",
        ),
        (
            'referenceSource="Source "',
            'referenceSource="Sours"',
            "there is no node 'Sours' where 'Web' begin",
        ),
        (
            "<value>0.75</value>",
            "<value>0.5</value>",
            "change at 'Change' with probabilities of 0.75 in all, not 1",
        ),
    ],
)
def test_what_a_network_has_not_is_refused_of_jsim(
    change: str, to: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "model.jsimg").write_text(jsim(change, to))
    with pytest.raises(SpecError) as found:
        import_spec([tmp_path / "model.jsimg"])
    assert message in str(found.value)


def test_the_limit_of_an_adapter_is_that_of_messages_sent_inline() -> None:
    spec = import_spec([BENCHMARKS["ib_write_lat.txt"]], placement="switch")
    assert any("the inline limit lies between 128 B and 256 B" in words for words in spec.notes)
    assert list(spec.document["protocol"]["ranges"]) == ["inline", "by-address"]


def test_of_several_runs_in_one_file_one_is_taken_and_said_or_asked_for(tmp_path: Path) -> None:
    stream, hpcg = ((FILES / name).read_text() for name in ("stream.txt", "hpcg.txt"))
    (tmp_path / "stream.txt").write_text(stream + stream.replace("78820.5", "50000.0"))
    spec = import_spec([tmp_path / "stream.txt"], base="linux-cluster")
    assert spec.document["memory"]["bandwidth"]["value"] == "9.85256 GB/s"
    assert any("2 runs; the one of the largest triad is taken" in words for words in spec.notes)
    kernels = ("Copy", "Scale", "Add")
    alone = [line for line in stream.splitlines() if not line.startswith(kernels)]
    (tmp_path / "triad.txt").write_text("\n".join(alone))
    spec = import_spec([tmp_path / "triad.txt"], base="linux-cluster")
    assert not any("left out" in words for words in spec.notes)
    cut = stream[: stream.index("Triad")]
    (tmp_path / "cut.txt").write_text(stream + cut)
    spec = import_spec([tmp_path / "cut.txt"], base="linux-cluster")
    line = 1 + len(stream[: stream.index("Copy")].splitlines()) + len(stream.splitlines())
    assert any(f"those that begin in lines {line} are left out" in words for words in spec.notes)
    (tmp_path / "hpcg.txt").write_text(2 * hpcg)
    with pytest.raises(SpecError, match="stands in line 5 already; give the results of one run"):
        import_spec([tmp_path / "hpcg.txt"], base="linux-cluster")
    with pytest.raises(SpecError, match="give the file of its latencies as well"):
        import_spec([FILES / "osu_bw.txt"], placement="node")


def shared_class_of_jsim() -> str:
    """Two streams of which both become a third class at the second of two shared servers; times
    under the name that some files have.
    """
    strategy = 'classPath="jmt.engine.NetStrategies.{}"'

    def times(name: str, rates: dict[str, float]) -> str:
        made = [
            f"<refClass>{each}</refClass><subParameter"
            f" {strategy.format('ServiceStrategies.ServiceTimeStrategy')}>"
            f'<subParameter classPath="jmt.engine.random.Exponential"/><subParameter'
            f' classPath="ExponentialPar" name="distrPar">'
            "<subParameter"
            f' name="lambda"><value>{rate}</value></subParameter></subParameter></subParameter>'
            for each, rate in rates.items()
        ]
        return (
            f"<parameter {strategy.format('ServiceStrategy')}"
            f" name='{name}'>{''.join(made)}</parameter>"
        )

    rows = [
        f"<refClass>{each}</refClass><subParameter><refClass>C</refClass><subParameter><value>1</value></subParameter></subParameter>"
        for each in "ABC"
    ]
    nodes = {
        "source": (
            "<section"
            f" className='RandomSource'>{times('ServiceStrategy', {'A': 2, 'B': 1})}</section>"
        ),
        "first": (
            f"<section className='PSServer'>{times('ServerStrategy', {'A': 5, 'B': 4})}</section>"
        ),
        "turn": (
            "<section className='ClassSwitch'><parameter"
            f" name='matrix'>{''.join(rows)}</parameter></section>"
        ),
        "second": f"<section className='PSServer'>{times('ServerStrategy', {'C': 10})}</section>",
        "sink": "<section className='JobSink'/>",
    }
    classes = [f"<userClass name='{each}' type='open' referenceSource='source'/>" for each in "ABC"]
    ways = [f"<connection source='{one}' target='{other}'/>" for one, other in pairwise(nodes)]
    inside = [f"<node name='{name}'>{each}</node>" for name, each in nodes.items()]
    return f"<sim>{''.join([*classes, *inside, *ways])}</sim>"


def test_customers_of_two_streams_that_become_one_class_of_jsim_are_told_apart(
    tmp_path: Path,
) -> None:
    (tmp_path / "model.jsimg").write_text(shared_class_of_jsim())
    import_spec([tmp_path / "model.jsimg"]).write(tmp_path / "model.yaml")
    answer = solve(str(tmp_path / "model.yaml"))
    first, second = 1 - 2 / 5 - 1 / 4, 1 - 3 / 10
    for name, service in (("A", 1 / 5), ("B", 1 / 4)):
        assert answer[f"response_time[{name}-chain]"] == pytest.approx(
            service / first + 0.1 / second, rel=1e-6
        )
    assert answer["utilization[second]"] == pytest.approx(0.3)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("way", "servers", "weights"),
    [("DPS", 1, {"A": 3.0, "B": 1.0}), ("EPS", 1, None), ("GPS", 1, "lost"), ("DPS", 2, "lost")],
)
def test_weights_of_jsim_are_kept_where_customers_share_by_them(
    way: str, servers: int, weights: Any, tmp_path: Path
) -> None:
    def by_class(name: str, values: list[str]) -> str:
        made = "".join(f"<refClass>{each}</refClass>{values[n]}" for n, each in enumerate("AB"))
        return f"<parameter array='true' name='{name}'>{made}</parameter>"

    path = f"jmt.engine.NetStrategies.PSStrategies.{way}Strategy"
    ways = by_class("PSStrategy", [f"<subParameter classPath='{path}'/>"] * 2)
    numbers = [
        f"<subParameter name='serviceWeight'><value>{w}</value></subParameter>" for w in (3.0, 1.0)
    ]
    most = f"<parameter name='maxJobs'><value>{servers}</value></parameter>"
    text = shared_class_of_jsim().replace(
        "className='PSServer'>",
        f"className='PSServer'>{most}{ways}{by_class('serviceWeights', numbers)}",
        1,
    )
    (tmp_path / "model.jsimg").write_text(text)
    if weights == "lost":
        with pytest.raises(SpecError, match="the classes share a server equally: first"):
            import_spec([tmp_path / "model.jsimg"])
    else:
        document: Any = import_spec([tmp_path / "model.jsimg"]).document
        assert document["stations"]["first"].get("weight") == weights


@pytest.mark.parametrize(
    ("old", "new", "regions"),
    [
        ("", "", {"room": {"stations": ["Desk", "Till"], "capacity": 3, "blocking": "loss"}}),
        ('Class="true"', 'Class="false"', {"room": {"stations": ["Desk", "Till"], "capacity": 3}}),
        ('<regionNode nodeName="Till"/>', "", None),  # a capacity of Desk
        ('maxJobs="3"', 'maxJobs="-1"', None),
        (
            'name="room"',
            'name="Desk"',
            {"Desk-region": {"stations": ["Desk", "Till"], "capacity": 3, "blocking": "loss"}},
        ),
    ],
)
def test_regions_of_jsim_are_regions_of_the_network(
    old: str, new: str, regions: dict[str, Any] | None, tmp_path: Path
) -> None:
    text = (MACHINES.parent / "jsim" / "two-rooms.jsimg").read_text()
    (tmp_path / "rooms.jsimg").write_text(text.replace(old, new, 1) if old else text)
    document: dict[str, Any] = import_spec([tmp_path / "rooms.jsimg"]).document
    assert document.get("regions") == regions


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('maxJobs="3"/>', 'maxJobs="3"/><classWeight weight="2"/>'),
        ('nodeName="Till"', 'nodeName="Hall"'),
        (
            '<globalConstraint maxJobs="3"/>',
            '<globalConstraint maxJobs="3"/><classConstraint maxJobsPerClass="2"/>',
        ),
    ],
)
def test_regions_of_jsim_that_a_network_lacks_are_losses(
    old: str, new: str, tmp_path: Path
) -> None:
    text = (MACHINES.parent / "jsim" / "two-rooms.jsimg").read_text()
    (tmp_path / "rooms.jsimg").write_text(text.replace(old, new))
    with pytest.raises(SpecError, match="the customers in a region are not limited: room"):
        import_spec([tmp_path / "rooms.jsimg"])


def test_capacities_priorities_and_bursts_of_jsim_are_kept(tmp_path: Path) -> None:
    def imported(text: str) -> Any:
        (tmp_path / "model.jsimg").write_text(text)
        return import_spec([tmp_path / "model.jsimg"])

    full = imported(jsim("<value>-1</value>", "<value>7</value>")).document["stations"]
    assert [full[name].get("capacity") for name in ("Think", "CPU", "Disk-1")] == [None, 7, 7]
    ranked = jsim("PutStrategies.TailStrategy", "PutStrategies.TailStrategyPriority")
    ranked = imported(
        ranked.replace('name="Web" priority="0"', 'name="Web" priority="2"')
    ).document["stations"]["Disk-1"]
    assert ranked["priority"] == {"Web": 0, "Jobs": 2, "Night-jobs": 2}
    assert ranked["discipline"] == "priority"
    numbers = "".join(
        '<subParameter classPath="java.lang.Double"'
        f' name="{name}"><value>{value}</value></subParameter>'
        for name, value in (("lambda0", 0.2), ("lambda1", 1.5), ("sigma0", 0.1), ("sigma1", 0.5))
    )
    start, rest = (
        (FILES / "model.jsimg")
        .read_text()
        .split('<subParameter classPath="jmt.engine.random.ExponentialPar"', 1)
    )
    start = start.replace("jmt.engine.random.Exponential", "jmt.engine.random.MMPP2")
    _, rest = rest.split("</subParameter></subParameter></subParameter>", 1)
    text = (
        f'{start}<subParameter classPath="jmt.engine.random.MMPP2Par"'
        f' name="distrPar">{numbers}</subParameter></subParameter>{rest}'
    )
    web = imported(text).document["chains"]["Web"]
    told = [
        web[each]["value"] for each in ("arrivals", "burst_arrivals", "quiet_time", "burst_time")
    ]
    assert told == ["0.2 /s", "1.5 /s", "10 s", "2 s"]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("text", "told", "message"),
    [
        (
            "# OSU MPI Latency Test v7\n# Size  Latency (us)\n8 1.5\n16 1.5\n32 1.5\n",
            {},
            "where were the processes?",
        ),
        (
            "# OSU MPI Latency Test v7\n# Size  Latency (us)\n8 1.5\n",
            {"placement": "switch"},
            "1 sizes; a line needs 3",
        ),
        (
            "# OSU MPI Allreduce Latency Test v7\n# Size  Avg Latency(us)\n8 1.5\n",
            {"placement": "node"},
            "operation of all processes",
        ),
        (
            "Function    Best Rate MB/s\nTriad: 5 0 0 0\n",
            {"base": "linux-cluster"},
            "does not say how many threads ran",
        ),
        (
            "Number of Threads counted = 2\nFunction    Best Rate MB/s\nTriad: 5 0 0 0\n",
            {},
            "--extends NAME",
        ),
        (
            "CreateNode(NAMES[0], CEN, FCFS)",
            {},
            "what 'NAMES[0]' stands for is not known; write a name in quotes",
        ),
        ("CreateNode('a', CEN)", {}, "it has 3 arguments; here are 2"),
        ("CreateNode('a', CEN, FCFS)\nCreateSingleNode('a')", {}, "a network has nothing like it"),
        (
            "CreateNode('a', MSQ, FCFS)",
            {},
            "a network has no station of 'MSQ', 'FCFS'; nodes are CEN, MSO, MSC or DLY",
        ),
        ("CreateOpen('w', rate)", {}, "'rate' cannot be computed; give it with --set rate=NUMBER"),
        ("CreateOpen('w', 1)\nSetDemand('a', 'w', 1)", {}, "'a' is used before it is created"),
        (
            "CreateOpen('w', 1)\nCreateNode('a', CEN, FCFS)",
            {},
            "the calls before Solve create no station with a demand (by CreateNode and SetDemand",
        ),
        (
            '<!DOCTYPE a [<!ENTITY b "c">]><lqn-model/>',
            {},
            "a model file must not contain a document type or an entity",
        ),
        ("<lqn-model><processor", {}, "this is no XML: unclosed token; is the file cut off?"),
        ("<a>" * 99 + "<lqn-model/>", {}, "more than 60 elements inside one another"),
        ("<model><sim name='x'/></model>", {}, "the model has no class of customers or no station"),
        (
            "# OSU MPI Latency Test v7\n# Size  Latency (us)\n8 1\n16 1\n32 0\n",
            {"placement": "switch"},
            "time: is 0; a message takes some time",
        ),
        (
            (
                "# Benchmarking MPI_Put\n"
                " #bytes #repetitions  t[usec]  Mbytes/sec\n"
                " 8 9 1 1\n"
                "# Benchmarking PingPing\n"
                " #bytes #repetitions  t[usec]  Mbytes/sec\n 8 9 1 1\n"
            ),
            {"placement": "switch"},
            "latencies of several benchmarks, MPI_Put, PingPing; give one",
        ),
        (
            "# Benchmarking Bcast\n# #processes = 4\n #bytes #repetitions  t_avg[usec]\n 8 9 1\n",
            {"placement": "node"},
            "there is no latency of messages between two processes",
        ),
        (
            "# OSU MPI Latency Test v7\n# Size  Latency (us)\n8 1.5\n",
            {"placement": "rack"},
            "there is no placement 'rack'; known: node, switch, network",
        ),
        ("words\n", {"format": "osuu"}, "there is no format to import 'osuu'; did you mean 'osu'"),
        (
            "words\n",
            {},
            "the format of this file is unknown; name it with --format, one of osu, imb, perftest",
        ),
    ],
)
def test_what_cannot_be_imported_is_refused(
    text: str, told: dict[str, str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(SlipstickError) as caught:
        import_spec([tmp_path / "x.txt"], **told)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_file_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.yaml").write_text("")
    assert main(["import", str(FILES / "model.lqnx"), "-o", str(tmp_path / "x.yaml")]) == 2
    shown = capsys.readouterr()
    assert "a file already; add --force to replace it, or name another" in shown.err
    assert not shown.out
    assert main(["import", str(FILES / "model.lqnx"), "-o", str(tmp_path / "x.txt")]) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["x.yaml"]


def test_a_file_is_replaced_if_asked_for_and_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.yaml"
    out.write_text("mine: 1\n")
    (tmp_path / "x.txt").write_text("nothing known\n")
    assert main(["import", str(tmp_path / "x.txt"), "-o", str(out), "--force"]) == 2
    assert out.read_text() == "mine: 1\n"
    assert main(["import", str(FILES / "model.lqnx"), "-o", str(out), "--force"]) == 0
    assert "activity: 1" in out.read_text()
    capsys.readouterr()
    assert main(["import", str(FILES / "model.lqnx"), "-o", str(tmp_path), "--force"]) == 2
    assert "name a file that ends in .yaml" in capsys.readouterr().err


def test_what_was_imported_is_one_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "net.yaml"
    asked = [
        "import",
        str(sample("osu_latency.txt")),
        "-o",
        str(out),
        "--placement",
        "switch",
        "--json",
    ]
    assert main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spec"] == yaml.safe_load(out.read_text())
    assert (found["kind"], found["file"], found["problems"]) == ("network", str(out), [])
    assert found["fit"][0].keys() == {"size", "measured", "fitted", "error"}
    assert main(asked) == 2  # there is such a file already
    assert list(json.loads(capsys.readouterr().out)) == ["problems"]


def test_a_loop_of_python_over_a_call_is_gone_through(tmp_path: Path) -> None:
    """The bracket at the end of its header is that of the call."""
    path = tmp_path / "disks.py"
    path.write_text(
        """import pdq
pdq.Init("disks")
pdq.CreateOpen("query", 0.5)
for disk in range(3):
    if float(disk):
        pdq.CreateNode("disk%d" % disk, pdq.CEN, pdq.FCFS)
        pdq.SetDemand("disk%d" % disk, "query", 0.25)
"""
    )
    assert list(import_spec([path]).document["stations"]) == ["disk1", "disk2"]


def test_a_program_of_pdq_that_computes_its_numbers_is_read(tmp_path: Path) -> None:
    program = """import pdq
p12, p13 = 0.3, 0.7
to = 0.7
back = 0.10
third = (to + 0.20 * 0.30) / (1 - 0.20 * back)  # visits
pdq.Init("office")
pdq.streams = pdq.CreateOpen("people", 0.003)
pdq.nodes = pdq.CreateNode("three", pdq.CEN, pdq.FCFS)
pdq.SetDemand("three", "people", 300.0 * third)
"""
    path = tmp_path / "office.py"
    path.write_text(program)
    spec = import_spec([path])
    third = (0.7 + 0.06) / 0.98
    demand = spec.document["stations"]["three"]["demand"]["people"]["value"]
    assert float(demand.split()[0]) == pytest.approx(300 * third, rel=1e-5)
    path.write_text(program.replace("back = 0.10", "back = 0.05\nback += 0.05"))
    again = import_spec([path]).document["stations"]["three"]["demand"]["people"]["value"]
    assert float(again.split()[0]) == pytest.approx(float(demand.split()[0]), rel=1e-12)
    path.write_text(program.replace("back = 0.10", "back = 0.10\nif rush:\n    back = 0.3"))
    with pytest.raises(SpecError, match=r"'300.0 \* third' cannot be computed; give .* with --set"):
        import_spec([path])
    rushed = import_spec([path], Hints(settings={"rush": "1"}))
    calm = import_spec([path], Hints(settings={"rush": "0"}))
    values = [
        each.document["stations"]["three"]["demand"]["people"]["value"] for each in (calm, rushed)
    ]
    assert values[0] == demand != values[1]


OPEN = """{kind}Init("m"){end}
{kind}CreateOpen("jobs", 1.0){end}
{node}{kind}CreateNode("cpu", {of}CEN, {of}FCFS){end}
{kind}SetDemand("cpu", "jobs", {demand}){end}
{kind}Solve({of}CANON){end}
"""


@pytest.mark.parametrize(
    ("head", "words", "seconds"),
    [
        pytest.param(
            "import pdq\n# terminals <-> cpu\nservice = [0.3, 0.1]\n",
            {"kind": "pdq.", "of": "pdq.", "demand": "service[1]"},
            0.1,
            id="an arrow in a comment is no assignment of R",
        ),
        pytest.param(
            'const pdq = require("pdq"); // int jobs\nconst a = "double b", n = 1;\n',
            {"kind": "pdq.", "of": "pdq.", "demand": "n / 4", "end": ";"},
            0.25,
            id="types in comments and texts are none",
        ),
        pytest.param(
            '#include "PDQ_Lib.h"\nint k = 1; k++; ++k;\n',
            {"kind": "PDQ_", "demand": "0.1 * k", "end": ";"},
            0.3,
            id="a variable is stepped in a statement of its own",
        ),
        pytest.param(
            '#include "PDQ_Lib.h"\ndouble d = 0; int k = 0;\nwhile (k < 4) { d += 0.1; k++; }\n',
            {"kind": "PDQ_", "demand": "d", "end": ";"},
            0.4,
            id="or in a loop",
        ),
        pytest.param(
            "use pdq;\n$d = 0.2;\n",
            {"kind": "pdq::", "of": "$pdq::", "demand": "$d", "node": "$pdq::nodes = ", "end": ";"},
            0.2,
            id="Perl counts nodes in a variable of the package",
        ),
    ],
)
def test_a_program_is_read_as_its_language_means_it(
    head: str, words: dict[str, str], seconds: float, tmp_path: Path
) -> None:
    path = tmp_path / "program.txt"
    path.write_text(head + OPEN.format(**{"of": "", "end": "", "node": "", **words}))
    spec = import_spec([path])
    demand = spec.document["stations"]["cpu"]["demand"]["jobs"]["value"]
    assert float(demand.split()[0]) == pytest.approx(seconds, rel=1e-12)
    assert not any("another model" in note for note in spec.notes)


@pytest.mark.parametrize(
    ("head", "text", "words"),
    [
        ("use pdq;\n$i = 3;\n", '"d$i"', {"kind": "pdq::", "of": "$pdq::", "end": ";"}),
        ("use pdq;\n$i = 3;\n", '"d${i}"', {"kind": "pdq::", "of": "$pdq::", "end": ";"}),
        ("<?php\n$i = 3;\n", '"d" . $i', {"end": ";"}),
        ("require 'pdq'\ni = 2\n", '"d#{i + 1}"', {"kind": "Pdq::", "of": "Pdq::"}),
        ("import pdq\ni = 2\n", 'f"d{i+1}"', {"kind": "pdq.", "of": "pdq."}),
    ],
)
def test_names_with_values_in_them_are_read(
    head: str, text: str, words: dict[str, str], tmp_path: Path
) -> None:
    program = OPEN.format(**{"kind": "", "of": "", "end": "", "node": "", "demand": "1", **words})
    path = tmp_path / "program.txt"
    path.write_text(head + program.replace('"cpu"', text))
    assert list(import_spec([path]).document["stations"]) == ["d3"]
    path.write_text(head.replace("i = ", "k = ") + program.replace('"cpu"', text))
    with pytest.raises(SpecError, match="stands for is not known; write a name in quotes"):
        import_spec([path])


def test_a_second_model_in_a_program_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "two.R"
    model = OPEN.format(kind="", of="", end="", node="", demand="0.5")
    path.write_text(f"library(pdq)\n{model}# Init again\n{model}")
    assert any("another model from line 8 on" in note for note in import_spec([path]).notes)


@pytest.mark.parametrize(
    ("what_if", "axes"),
    [
        ("className='a' type='Number of Customers' values='1;3'", {"classes.a.population": [1, 3]}),
        (
            "className='a' type='Population Mix' values='0.25;0.3;0.5'",
            {"classes.a.population": [1, 2], "classes.b.population": [3, 2]},
        ),
        (
            "className='a' stationName='s' type='Service Demands' values='0.4;0.8'",
            {"stations.s.service.a": ["0.2 s", "0.4 s"]},
        ),
        (
            "stationName='s' type='Service Demands' values='1;2'",
            {
                "stations.s.service.a": ["0.5 s", "1 s"],
                "stations.s.service.b": ["0.25 s", "0.5 s"],
            },
        ),
        ("stationName='s' type='Number of Servers' values='1;2'", {"stations.s.servers": [1, 2]}),
    ],
)
def test_each_range_of_jmva_is_an_axis_of_what_it_varies(
    tmp_path: Path, what_if: str, axes: Mapping[str, object]
) -> None:
    path = tmp_path / "x.jmva"
    path.write_text(
        "<model><parameters><classes><closedclass name='a' population='3'/>"
        "<closedclass name='b' population='1'/></classes><stations><listation name='s'>"
        "<servicetimes><servicetime customerclass='a'>0.5</servicetime>"
        "<servicetime customerclass='b'>0.25</servicetime></servicetimes>"
        "<visits><visit customerclass='a'>2</visit><visit customerclass='b'>1</visit></visits>"
        f"</listation></stations></parameters><whatIf {what_if}/></model>"
    )
    assert import_spec([path], Hints(unit="s")).axes == [axes]


def test_times_that_depend_on_the_load_are_read_as_jmva_writes_them(tmp_path: Path) -> None:
    inside = "<servicetimes><servicetimes customerclass='a'>{}</servicetimes></servicetimes>"
    station = (
        f"<ldstation name='s' servers='{{}}'>{inside}<visits><visit"
        " customerclass='a'>1</visit></visits></ldstation>"
    )
    head = "<model><parameters><classes><closedclass name='a' population='3'/></classes><stations>"
    path = tmp_path / "x.jmva"
    for servers, times, key, value in (
        ("1", "2;1;1", "rates", [1, 2, 2]),
        ("2", "2", "servers", 2),
    ):
        path.write_text(f"{head}{station.format(servers, times)}</stations></parameters></model>")
        assert import_spec([path]).document["stations"]["s"][key] == value
    idle = (
        "<delaystation name='idle'><servicetimes><servicetime"
        " customerclass='a'>0</servicetime></servicetimes></delaystation>"
    )
    path.write_text(f"{head}{station.format('1', '2')}{idle}</stations></parameters></model>")
    assert "idle" not in import_spec([path]).document["stations"]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("likwid-topology.txt", "*", " ", "there is no row of a hardware thread in it"),
        ("lstopo-1.txt", "Core L#", "Kern L#", "there is no core in it"),
    ],
)
def test_topologies_without_cores_are_refused(
    name: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = (TOPOLOGIES / name).read_text().replace(old, new).replace("PU L#", "XX L#")
    (tmp_path / name).write_text(text)
    named = "lstopo" if "lstopo" in name else None
    with pytest.raises(SpecError, match=message):
        import_spec([tmp_path / name], format=named, base="epyc-rome-7452")


def test_a_computer_extends_a_machine_with_a_network() -> None:
    with pytest.raises(SpecError, match="shares memory; extend a machine with a network"):
        import_spec([TOPOLOGIES / "lstopo-2.txt"], base="two-socket-server")
    plain = import_spec([TOPOLOGIES / "lstopo-2.txt"], base="linux-cluster")
    assert "node" not in plain.document
    assert any("has no bandwidth of a memory domain" in words for words in plain.notes)
    assert any("has no nodes" in words for words in plain.notes)


def test_cores_that_programs_may_not_use_are_left_out(tmp_path: Path) -> None:
    text = (TOPOLOGIES / "two-sockets.xml").read_text()
    text = text.replace('allowed_cpuset="0xffffffff"', 'allowed_cpuset="0x0fff0fff"')
    (tmp_path / "topology.xml").write_text(text)
    spec = import_spec(
        [tmp_path / "topology.xml"], Hints(leave_out=("memory-kinds",)), base="epyc-rome-7452"
    )
    assert spec.document["processors"]["count"]["value"] == "12"
    assert spec.document["memory"]["capacity"]["value"] == "8 GiB"
    assert any("4 cores are left out" in words for words in spec.notes)


@pytest.mark.parametrize(
    ("moments", "first", "second"),
    [
        pytest.param(jmt_times.phase_moments, [0.5, 0.2], [[-1, 0], [0, -1]], id="chances of 0.7"),
        pytest.param(jmt_times.phase_moments, [1.5, -0.5], [[-1, 0], [0, -1]], id="below 0"),
        pytest.param(jmt_times.phase_moments, [1, 0], [[-2, 3], [0, -2]], id="more than leave"),
        pytest.param(jmt_times.phase_moments, [1, 0], [[-2, -1], [0, -2]], id="a rate below 0"),
        pytest.param(jmt_times.arrival_moments, [[-1]], [[2]], id="more than leave a state"),
        pytest.param(jmt_times.arrival_moments, [[-2]], [[1]], id="fewer than leave a state"),
        pytest.param(
            jmt_times.arrival_moments, [[-1, 1], [1, -1]], [[1, -1], [-1, 1]], id="events below 0"
        ),
    ],
)
def test_matrices_of_rates_that_do_not_balance_give_no_moments(
    moments: Callable[..., object], first: list[object], second: list[object]
) -> None:
    with pytest.raises(ArithmeticError):
        moments(first, second)


@pytest.mark.parametrize(
    ("name", "numbers", "law"),
    [
        ("Erlang", (4.0, 3), stats.gamma(3, scale=1 / 4)),
        ("Uniform", (1.0, 4.0), stats.uniform(1, 3)),
        ("GammaDistr", (1.7, 0.3), stats.gamma(1.7, scale=0.3)),
        ("Lognormal", (-0.4, 0.7), stats.lognorm(0.7, scale=math.exp(-0.4))),
        ("Pareto", (3.5, 0.2), stats.pareto(3.5, scale=0.2)),
        ("Weibull", (0.6, 1.8), stats.weibull_min(1.8, scale=0.6)),
    ],
)
def test_times_of_jsim_have_the_moments_of_their_distribution(
    name: str, numbers: tuple[float, ...], law: Any
) -> None:
    _, moments = _DISTRIBUTIONS[name]
    assert moments(*numbers) == pytest.approx((law.mean(), law.var() / law.mean() ** 2))


@pytest.mark.parametrize(("mean", "deviation"), [(1.0, 1.0), (-0.5, 2.0), (3.0, 1.5)])
def test_normal_times_of_jsim_are_truncated_at_zero(mean: float, deviation: float) -> None:
    law = stats.truncnorm(-mean / deviation, np.inf, loc=mean, scale=deviation)
    expected_moments = (law.mean(), law.var() / law.mean() ** 2)
    moments = jmt_times.moments_of_truncated_normal(mean, deviation)
    assert moments == pytest.approx(expected_moments, rel=1e-9)


def test_times_of_a_file_are_all_that_come(tmp_path: Path) -> None:
    """The times are replayed in turn, so that their variance is not that of a sample."""
    (tmp_path / "times.txt").write_text("1 2\n6\n")
    model_file = str(tmp_path / "model.jsimg")
    moments = jmt_times.moments_of_file(model_file, "C:\\runs\\times.txt")
    assert moments == pytest.approx((3, (4 + 1 + 9) / 3 / 9))


def test_times_of_jsim_with_branches_have_the_moments_of_their_phases() -> None:
    """Of a sum of branches the moments add up; a second phase follows the first independently."""
    _, branches = _DISTRIBUTIONS["HyperExp"]
    mean, square = 0.3 / 2 + 0.7 / 5, 2 * (0.3 / 2**2 + 0.7 / 5**2)
    assert branches(0.3, 2.0, 5.0) == pytest.approx((mean, square / mean**2 - 1))
    _, phases = _DISTRIBUTIONS["CoxianDistr"]
    ends_at_once = 0.4
    mean = 1 / 2 + (1 - ends_at_once) / 5
    square = 2 / 2**2 + (1 - ends_at_once) * (2 / 5**2 + 2 / 2 / 5)
    assert phases(2.0, 5.0, ends_at_once) == pytest.approx((mean, square / mean**2 - 1))


@pytest.mark.parametrize(("size_count", "range_count"), [(7, 1), (8, 2), (9, 2)])
def test_a_second_range_of_sizes_needs_two_sizes_more_than_it_has_parameters(
    size_count: int, range_count: int
) -> None:
    """Of seven sizes six parameters have no judgement; a thousandfold jump is told at eight."""
    sizes = np.exp2(np.arange(size_count, dtype=np.float64))
    times = np.where(np.arange(size_count) < 4, 1e-6, 1e-3)
    ranges = message_ranges(sizes, times)
    assert [len(ranges), ranges[0].last_index] == [
        range_count,
        3 if range_count == 2 else size_count - 1,
    ]


@pytest.mark.parametrize(
    ("header", "meaning"),
    [
        ("unless n > 3", "if 0 == (n > 3)"),
        ("until done do", "while 0 == (done)"),
        ("while n < 3 do", "while n < 3"),
    ],
)
def test_a_loop_of_ruby_becomes_one_of_the_same_meaning(header: str, meaning: str) -> None:
    assert _ruby_loop(header) == meaning


@pytest.mark.parametrize(
    ("last", "rounded"), [(0.33, True), (0.325, False), (0.34, True), (0.32, False), (0.36, False)]
)
def test_probabilities_are_rounded_within_half_a_last_digit_each(
    last: float, rounded: bool
) -> None:
    assert is_rounded([0.33, 0.33, last]) == rounded


def test_blocks_of_a_program_are_told_apart_up_to_a_depth(tmp_path: Path) -> None:
    """What follows 60 blocks inside one another is read; of deeper ones the braces are not paired,
    however many there are.
    """

    def stations(depth: int) -> list[str]:
        path = tmp_path / "deep.c"
        nodes = [
            f'PDQ_CreateNode("{name}", CEN, FCFS);\nPDQ_SetDemand("{name}", "jobs", 0.3);\n'
            for name in ("first", "inner", "last")
        ]
        path.write_text(
            '#include "PDQ_Lib.h"\nint main(void) {\nPDQ_Init("deep");\n'
            f'PDQ_CreateOpen("jobs", 0.5);\n{nodes[0]}{"{" * (depth - 1)}\n{nodes[1]}'
            f"{'}' * (depth - 1)}\n{nodes[2]}}}\n"
        )
        return list(import_spec([path]).document["stations"])

    assert stations(1) == stations(31) == stations(60) == ["first", "inner", "last"]
    assert stations(70) == stations(5000) == ["first", "inner"]
