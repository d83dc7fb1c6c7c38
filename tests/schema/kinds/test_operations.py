"""Activities on machines: quantities of the machine in formulas, messages, collective
operations, arithmetic.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick import Model, dump, load, run, solve
from slipstick.errors import NoAnswerError, SpecError
from slipstick.law import LAWS
from slipstick.law.collectives import ALGORITHMS, CollectiveAlgorithm
from slipstick.study.check import check_file, check_reference

HEAD = "activity: 1\nmachine: gpu-node-h100\npopulation: {processors: 8}\ncycle:\n"


def time_of(
    path: str,
    given: dict[str, float | str] | None = None,
    name: str = "time",
    machine: str | None = None,
) -> float:
    value = solve(path, given, machine=machine)[name]
    assert value is not None
    return value


LATENCY = 2 * 0.39e-6
PER_BYTE = 1 / 367.6e9


def activity(folder: Path, *items: str, head: str = HEAD) -> str:
    path = folder / "model.yaml"
    path.write_text(head + "".join(f"  - {item}\n" for item in items))
    return str(path)


def test_a_message_costs_what_the_cost_table_of_its_network_says(tmp_path: Path) -> None:
    answer = solve(activity(tmp_path, "{message: 48.5 kB}"))
    assert answer["time"] == pytest.approx(2 * 40e-9 + 1e-6 + 2 * 0.445e-6 + 0.24e-6, rel=1e-12)
    assert answer.account == {"communication": pytest.approx(answer["time"])}
    near = solve(activity(tmp_path, "{message: 48.5 kB, placement: node}"))
    assert near["time"] == pytest.approx(LATENCY + 48.5e3 * PER_BYTE, rel=1e-12)
    far = time_of(activity(tmp_path, "{message: 48.5 kB}"), {"machine.network.switches": 3})
    assert far == pytest.approx(2 * 40e-9 + 1e-6 + 2 * 0.445e-6 + 3 * 0.24e-6, rel=1e-12)
    switch = activity(tmp_path, "{message: 48.5 kB, placement: switch}")
    assert solve(switch, {"machine.network.switches": 3})["time"] == pytest.approx(
        answer["time"], rel=1e-12
    )


def test_a_network_of_a_latency_and_a_rate_has_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "machine: 1\nsource: me\nsources: {me: measured}\nprocessors: {count: 64, flops: 2"
        " TFlop/s}\nnetwork: {protocol: {ranges: {all: {total: {fixed: 0.75 us}}}}, wire:"
        " {per_byte: 200 Gbit/s}}\n"
    )
    head = HEAD.replace("gpu-node-h100", str(tmp_path / "own.yaml"))
    path = activity(tmp_path, "{message: 1 MB}", "{flops: 4 GFlop}", head=head)
    assert time_of(path) == pytest.approx(1.5e-6 + 40e-6 + 2e-3, rel=1e-12)


def test_more_processors_than_the_machine_has_are_noted(tmp_path: Path) -> None:
    said = "uses 20,000 processors; the machine has 16,384"
    path = activity(tmp_path, "{collective: barrier}")
    assert said not in solve(path).notes
    answer = solve(path, {"population.processors": 20000})
    assert said in answer.notes
    # The first lines of an answer have the sentence, and its notes do not repeat it.
    first_paragraph, further_text = " ".join(str(answer).split()).split(" value ", 1)
    assert said in first_paragraph
    assert said not in further_text
    head = HEAD.replace("{processors: 8}", "{processors: n * m}").replace(
        "cycle:", "parameters: {n: 2000, m: 10}\ncycle:"
    )
    path = activity(tmp_path, "{collective: barrier}", head=head)
    assert said in solve(path).notes
    assert check_reference(path) == [f"activity; {said}"]
    assert said not in solve(path, {"machine.processors.count": 20000}).notes
    arriving = HEAD.replace("{processors: 8}", "{arrivals: 1 /s}")
    path = activity(tmp_path, "{flops: 4 GFlop}", head=arriving)
    assert not [note for note in solve(path).notes if "the machine has" in note]


def test_the_head_of_a_study_and_its_check_name_the_case_with_too_many_processors(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.yaml"
    study = (
        "study: 1\ntitle: How long is a step?\nbase: {model: training-step}\nanswer: [time]\n"
        "vary: {parameters.gpus: [8, 32768]}\n"
    )
    path.write_text(study)
    head = " ".join(str(run(path)).split())
    assert "the model uses 32,768 processors; the machine has 16,384" in head
    path.write_text(f"{study}cases: {{many: {{title: many GPUs, parameters.gpus: 65536}}}}\n")
    said = "uses 65,536 processors; the machine has 16,384"
    assert f"Many GPUs: {said}" in " ".join(str(run(path)).split())
    assert check_reference(str(path)) == [f"study; many: {said}"]


def test_an_answer_tells_of_which_kind_of_operations_the_rate_of_its_machine_is(
    tmp_path: Path,
) -> None:
    said = (
        "operations count as dense bf16 matrix products at 794.5 TFLOP/s; FP64 runs at most at 34"
        " TFLOP/s; in matrix products at 67 TFLOP/s"
    )
    path = activity(tmp_path, "{flops: 1 TFlop}")
    assert said in solve(path).notes
    # Another rate is of a kind that is not known; a time without a rate has no kind.
    assert said not in solve(path, {"machine.processors.flops": "34e12 /s"}).notes
    assert said not in solve(activity(tmp_path, "{collective: barrier}")).notes
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: 1\ntitle: Which machine is fastest?\nanswer: [time]\nbase: {model: model.yaml,"
        " title: GPU}\ncases: {other: {machine: MACHINE, title: other machine}}\n"
    )
    activity(tmp_path, "{flops: 1 TFlop}")
    text = study.read_text()
    study.write_text(text.replace("MACHINE", "epyc-genoa-9654"))
    assert f"GPU: {said}" in " ".join(str(run(study)).split())
    # Machines whose rates are of one kind compare like with like.
    study.write_text(text.replace("MACHINE", "gpu-node-a100"))
    assert "operations count as" not in str(run(study))
    study.write_text(
        text.partition("cases:")[0] + "vary: {machine: [gpu-node-h100, epyc-genoa-9654]}\n"
    )
    assert said in " ".join(str(run(study)).split())


def test_p_under_vary_leads_to_the_number_of_processors(tmp_path: Path) -> None:
    activity(tmp_path, "{flops: 1 TFlop}")
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: 1\ntitle: How long?\nbase: {model: model.yaml}\nanswer: [time]\nvary: {p: [1, 2]}\n"
    )
    with pytest.raises(SpecError, match=r"its path is population\.processors"):
        check_file(study)


def test_a_step_of_training_tells_how_many_gpus_it_uses() -> None:
    given = {"parameters.data": 2, "parameters.stages": 4, "parameters.batch": 8}
    assert solve("language-model-step", given)["amount[GPUs]"] == 64
    assert "amount[GPUs]" in str(solve("language-model-step", given)).split("component")[0]


@pytest.mark.turns(4)
def test_processors_by_a_formula_are_one_or_more_and_noted_where_not_whole(tmp_path: Path) -> None:
    head = HEAD.replace("{processors: 8}", "{processors: n / 2}").replace(
        "cycle:", "parameters: {n: 16}\ncycle:"
    )
    path = activity(tmp_path, "{collective: barrier}", head=head)
    assert not any("whole number" in note for note in solve(path).notes)
    (note,) = (each for each in solve(path, {"parameters.n": 5}).notes if "whole number" in each)
    assert note == "2.5 processors are no whole number; each formula takes them as they are"
    with pytest.raises(NoAnswerError, match=r"comes out as 0.5 processors; one or more work"):
        solve(path, {"parameters.n": 1})


MESSAGES = [each for each in ALGORITHMS if not each.in_switch]


@pytest.mark.turns(4)
@pytest.mark.parametrize("algorithm", MESSAGES, ids=lambda each: f"{each.operation}-{each.name}")
def test_a_collective_takes_the_time_of_its_law(
    algorithm: CollectiveAlgorithm, tmp_path: Path
) -> None:
    latency, per_byte = NETWORK
    sized = "" if algorithm.operation == "barrier" else "size: 3 MB, "
    combined = "combine: 0.002 ns/B, " if algorithm.combines else ""
    item = (
        f"{{collective: {algorithm.operation}, {sized}{combined}algorithm: {algorithm.name},"
        " placement: network}"
    )
    found = solve(
        activity(tmp_path, item),
        {"population.processors": [1.0, 5.0, 8.0, 24.0]},
        method="closed-form",
    )
    for ranks, time in zip((1, 5, 8, 24), found["time"], strict=True):
        given = {"ranks": ranks, "size": 3e6, "latency": latency, "per_byte": per_byte}
        if algorithm.operation == "barrier":
            wanted = np.ceil(np.log2(ranks)) * latency
        else:
            given |= {"combine": 2e-12} if algorithm.combines else {}
            wanted = LAWS[f"{algorithm.operation}-{algorithm.name}"](**given)
        assert time == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def test_the_best_algorithm_is_the_least_of_all_at_each_point(tmp_path: Path) -> None:
    names = [each.name for each in MESSAGES if each.operation == "allreduce"]
    points: dict[str, list[str] | list[float]] = {
        "parameters.n": ["8 B", "20 kB", "300 kB", "1 GB"],
        "population.processors": [2.0, 6.0, 64.0, 9.0],
    }
    head = HEAD.replace("cycle:", "parameters: {n: 1 kB}\ncycle:")
    times = {
        name: solve(
            activity(
                tmp_path,
                f"{{collective: allreduce, size: n, algorithm: {name}, placement: network}}",
                head=head,
            ),
            points,
            method="closed-form",
        )["time"]
        for name in [*names, "best"]
    }
    assert times["best"] == pytest.approx(
        np.min([times[name] for name in names], axis=0), rel=1e-12
    )
    assert len({int(np.argmin([times[name][k] for name in names])) for k in range(4)}) > 1


RING = {"allreduce": "ring", "reduce-scatter": "ring", "allgather": "ring", "alltoall": "pairwise"}
"""What the library of the shipped NVLink networks has."""


PROTOCOLS = ((0.5, 141e9, 0.0, 0.0), (0.92, 1e99, 7.4e-6, 1.3e-6), (1.0, 1e99, 1.8e-6, 2.8e-6))
"""Those of a ring in a node of H100: share of the rate, largest rate [B/s], what they add to the
start and to each step [s].
"""


def _best(operation: str, size: float, ranks: float, latency: float, per_byte: float) -> float:
    if latency == LATENCY and RING[operation] == "ring":
        return _ring(operation, size, ranks)
    given = {"ranks": ranks, "size": size, "latency": latency, "per_byte": per_byte}
    given |= {"combine": 0.0} if "reduce" in operation else {}
    names = [RING[operation]] if latency == LATENCY else []
    known = [each for each in MESSAGES if each.operation == operation]
    return min(float(each.law(**given)) for each in known if not names or each.name in names)


def _ring(operation: str, size: float, ranks: float) -> float:
    """Return the time of a ring by the quickest of its protocols, by hand."""
    rounds = (ranks - 1) * (2 if operation == "allreduce" else 1)
    return min(
        start + rounds * (LATENCY + step + size / ranks * max(PER_BYTE / share, 1 / most))
        for share, most, start, step in PROTOCOLS
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize("size", [512, 200e3, 2e6, 8e6, 64e6, 1e9])
def test_a_ring_takes_the_quickest_of_its_protocols(tmp_path: Path, size: float) -> None:
    item = f"{{collective: allgather, size: {size:g} B, placement: node}}"
    assert time_of(activity(tmp_path, item)) == pytest.approx(
        _ring("allgather", size, 8), rel=1e-12
    )


def test_the_protocols_of_a_ring_change_with_its_size() -> None:
    def quickest(size: float) -> int:
        times = [
            start + 7 * (LATENCY + step + size / 8 * max(PER_BYTE / share, 1 / most))
            for share, most, start, step in PROTOCOLS
        ]
        return int(np.argmin(times))

    assert [quickest(size) for size in (512, 8e6, 1e9)] == [0, 1, 2]


@pytest.mark.parametrize(("inside", "between"), [(0.5, 5.0), (1.0, 1.0), (0.2, 40.0)])
def test_a_ring_over_nodes_takes_the_mean_of_its_links(inside: float, between: float) -> None:
    """Ranks pass on what they got in the round before: 64 ranks on two nodes, round by round."""
    ranks, rounds = 64, 126
    links = np.full(ranks, inside)
    links[[0, 32]] = between
    done = np.zeros(ranks)
    for _ in range(rounds):
        done = np.maximum(done, np.roll(done, 1) + links)
    mean = (31 * inside + between) / 32
    # A path of 126 links has four of those between nodes; 126 means have 3.94.
    assert done.max() == pytest.approx(rounds * mean, rel=0.02)


def _in_switch(size: float, ranks: float) -> float:
    return 23e-6 + 2 * LATENCY + size * (1 + 1 / ranks) / 305e9


NETWORK = (2 * (40e-9 + 0.445e-6) + 0.24e-6, 1 / 48.5e9)


def test_the_switch_combines_where_its_network_tells_how(tmp_path: Path) -> None:
    named = "{collective: allreduce, size: 1 GB, placement: node, algorithm: in-switch}"
    assert time_of(activity(tmp_path, named)) == pytest.approx(_in_switch(1e9, 8), rel=1e-12)
    best = activity(tmp_path, "{collective: allreduce, size: 1 GB, placement: node}")
    assert time_of(best) == pytest.approx(_in_switch(1e9, 8), rel=1e-12)
    with pytest.raises(
        SpecError,
        match=r"in-switch needs switches that compute; give machine\.node\.network\.in_sw",
    ):
        time_of(activity(tmp_path, named), machine="gpu-node-a100")
    with pytest.raises(SpecError, match="switch-tree needs switches that compute"):
        time_of(activity(tmp_path, named.replace("in-switch", "switch-tree")))


@pytest.mark.turns(4)
def test_levels_overlap_and_ranks_fill_one_node_after_the_other(tmp_path: Path) -> None:
    points: dict[str, list[float]] = {
        "population.processors": [8, 9, 1024, 1024],
        "parameters.n": [1e9, 1e9, 1e9, 8],
    }
    head = HEAD.replace("cycle:", "parameters: {n: 1 kB}\ncycle:")
    path = activity(tmp_path, "{collective: allreduce, size: n}", head=head)

    def in_levels(size: float, nodes: int) -> float:
        def within(size: float) -> float:
            inside = (LATENCY, PER_BYTE)
            halves = _best("reduce-scatter", size, 8, *inside)
            halves += _best("allgather", size, 8, *inside)
            return min(halves, _in_switch(size, 8))

        def across(size: float) -> float:
            return _best("allreduce", size / 8, nodes, *NETWORK)

        return max(within(size) + across(0), within(0) + across(size))

    flat = [
        _best("allreduce", size, ranks, *NETWORK)
        for ranks, size in ((9, 1e9), (1024, 1e9), (1024, 8))
    ]
    levels = [in_levels(1e9, 2), in_levels(1e9, 128), in_levels(8, 128)]
    expected = [_in_switch(1e9, 8), *(min(pair) for pair in zip(flat, levels, strict=True))]
    found = solve(path, points, method="closed-form")
    assert found["time"] == pytest.approx(expected, rel=1e-9)
    assert expected[2] < flat[1] / 4
    assert expected[3] == flat[2]
    one = solve(path, {"population.processors": 16, "parameters.n": 1e9})
    assert not one.exact
    assert any("on several nodes is estimated" in note for note in one.notes)


@pytest.mark.turns(4)
def test_a_named_algorithm_has_no_levels(tmp_path: Path) -> None:
    item = "{collective: allreduce, size: 1 GB, algorithm: ring"
    for ranks, placement in ((8, "node"), (64, "network")):
        times = [
            time_of(activity(tmp_path, f"{item}{placed}}}"), {"population.processors": ranks})
            for placed in ("", f", placement: {placement}")
        ]
        assert times[0] == pytest.approx(times[1], rel=1e-12)


SHARED = """machine: 1
source: me
sources: {me: made up}
processors: {count: 64}
network: {protocol: {ranges: {all: {total: {fixed: 0.5 us}}}}, wire: {per_byte: 10 GB/s}}
node:
  processors: 32
  network: {protocol: {ranges: {all: {total: {fixed: 0.25 us}}}}, wire: {per_byte: 20 GB/s}}
"""


def test_ranks_that_share_an_adapter_wait_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text(SHARED)
    head = (
        "activity: 1\n"
        f"machine: {tmp_path / 'shared.yaml'}\n"
        f"population: {{processors: 64}}\n"
        "cycle:\n"
    )
    path = activity(tmp_path, "{collective: alltoall, size: 64 MB, algorithm: pairwise}", head=head)
    answer = solve(path)
    # Counted: each of 32 ranks sends 32 of its 64 blocks of 1 MB through the one adapter.
    through = 32 * 32 * 1e6 / 10e9
    assert answer["time"] == pytest.approx(63e-6 + through, rel=1e-12)
    (note,) = (each for each in answer.notes if "machine.node.adapters" in each)
    assert note.startswith("32 processors of a node share 1 adapter (machine.node.adapters)")
    assert not answer.exact
    more = solve(path, {"machine.node.adapters": 4})
    assert more["time"] == pytest.approx(63e-6 + through / 4, rel=1e-12)
    assert any("share 4 adapters" in note for note in more.notes)
    own = solve(path, {"machine.node.adapters": 32})
    assert own["time"] == pytest.approx(63e-6 + 63e6 / 10e9, rel=1e-12)
    assert not any("machine.node.adapters" in note for note in own.notes)
    inside = solve(path, {"population.processors": 32})
    assert inside["time"] == pytest.approx(31 * 0.5e-6 + 31 / 32 * 64e6 / 20e9, rel=1e-12)
    assert not any("machine.node.adapters" in note for note in inside.notes)


def test_messages_that_cross_an_adapter_together_wait_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text(SHARED)
    head = f"activity: 1\nmachine: {tmp_path / 'shared.yaml'}\npopulation: {{processors: 64}}\n"
    head += "parameters: {many: 32}\ncycle:\n"
    lone = solve(activity(tmp_path, "{message: 1 MB}", head=head))
    assert lone["time"] == pytest.approx(1e-6 + 1e6 / 10e9, rel=1e-12)
    (note,) = (each for each in lone.notes if "machine.node.adapters" in each)
    assert (
        "a message between nodes is assumed to be alone there; together: of the step says" in note
    )
    many = solve(activity(tmp_path, "{message: 1 MB, together: many}", head=head))
    assert many["time"] == pytest.approx(1e-6 + 32 * 1e6 / 10e9, rel=1e-12)
    assert not any("machine.node.adapters" in note for note in many.notes)
    few = solve(activity(tmp_path, "{message: 1 MB, together: 0.5}", head=head))
    assert few["time"] == lone["time"]
    inside = solve(activity(tmp_path, "{message: 1 MB, placement: node}", head=head))
    assert not any("machine.node.adapters" in note for note in inside.notes)


@pytest.mark.turns(4)
def test_a_library_that_knows_nodes_is_said_of_the_machine_or_the_operation(
    tmp_path: Path,
) -> None:
    (tmp_path / "flat.yaml").write_text(SHARED)
    (tmp_path / "aware.yaml").write_text(SHARED + "  collectives: levels\n")
    item = "{collective: allreduce, size: 64 MB}"
    times = {}
    for name, written in {
        "flat": item,
        "aware": item,
        "named": item.replace("}", ", algorithm: levels}"),
    }.items():
        machine = tmp_path / f"{'aware' if name == 'aware' else 'flat'}.yaml"
        head = f"activity: 1\nmachine: {machine}\npopulation: {{processors: 64}}\ncycle:\n"
        times[name] = time_of(activity(tmp_path, written, head=head))
    assert times["aware"] == times["named"] < times["flat"] / 5
    # Through the adapter, half of the vector there and half back; inside, 31/32 of it twice.
    assert times["named"] == pytest.approx(2 * 31 / 32 * 64e6 / 20e9, rel=0.05)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("library", "item", "expected"),
    [
        (
            "open-mpi",
            "{collective: allreduce, size: 8 kB}",
            5 * (0.5e-6 + 32 * 8e3 / 20e9) + 1e-6 + 32 * 8e3 / 10e9,
        ),
        (
            "open-mpi",
            "{collective: allreduce, size: 64 MB}",
            126 * (31 * (0.5e-6 + 32 * 1e6 / 20e9) + 1e-6 + 1e6 / 10e9) / 32,
        ),
        (
            "mpich",
            "{collective: allreduce, size: 64 MB}",
            10 * 0.5e-6 + 32 * 2 * 62e6 / 20e9 + 2e-6 + 32 * 2 * 1e6 / 10e9,
        ),
        (
            "mpich",
            "{collective: allgather, size: 64 kB}",
            5 * 0.5e-6 + 32 * 31e3 / 20e9 + 1e-6 + 32 * 32e3 / 10e9,
        ),
        (
            "mpich",
            "{collective: alltoall, size: 64 MB}",
            31 * (0.5e-6 + 32 * 1e6 / 20e9) + 32 * (1e-6 + 32 * 1e6 / 10e9),
        ),
        (
            "mpich",
            "{collective: alltoall, size: 6400 B}",
            5 * (0.5e-6 + 32 * 3200 / 20e9) + 1e-6 + 32 * 3200 / 10e9,
        ),
        (
            "open-mpi",
            "{collective: alltoall, size: 64 MB}",
            32 * (1e-6 + 32 * 1e6 / 10e9) + 31 * (0.5e-6 + 32 * 1e6 / 20e9 / 3),
        ),
    ],
)
def test_a_library_chooses_by_size_and_its_ranks_fill_nodes(
    tmp_path: Path, library: str, item: str, expected: float
) -> None:
    shared = SHARED.rstrip().removesuffix("}") + ", medium: shared}\n"
    machine = tmp_path / "library.yaml"
    machine.write_text(f"{shared}  collectives: {library}\n")
    head = f"activity: 1\nmachine: {machine}\npopulation: {{processors: 64}}\ncycle:\n"
    answer = solve(activity(tmp_path, item, head=head))
    assert answer["time"] == pytest.approx(expected, rel=1e-9)
    assert any(f"algorithm that {library} chooses by default" in note for note in answer.notes)


def library_machine(folder: Path, node: str) -> str:
    """Write a machine of two nodes with 32 ranks and one adapter; return the head of activities."""
    shared = SHARED.rstrip().removesuffix("}") + ", medium: shared}\n"
    machine = folder / "two-nodes.yaml"
    machine.write_text(f"{shared}  {node}\n")
    return f"activity: 1\nmachine: {machine}\npopulation: {{processors: 64}}\ncycle:\n"


def test_messages_inside_and_between_nodes_overlap_at_each_distance(tmp_path: Path) -> None:
    """At each distance the longer of the adapter's and of the memory's messages counts."""
    head = library_machine(tmp_path, "collectives: open-mpi")
    answer = solve(activity(tmp_path, "{collective: alltoall, size: 64 GB}", head=head))
    crossing = np.minimum(np.arange(1, 64), np.arange(63, 0, -1))
    by_distance = np.maximum(crossing * 1e9 / 10e9, (32 - crossing) * 1e9 / 20e9)
    assert answer["time"] == pytest.approx(by_distance.sum(), rel=0.02)


def test_each_block_of_bruck_costs_software(tmp_path: Path) -> None:
    item = "{collective: alltoall, size: 6400 B}"
    without, with_blocks = (
        solve(activity(tmp_path, item, head=library_machine(tmp_path, node))).values["time"].value
        or 0.0
        for node in ("collectives: mpich", "collectives: mpich\n  block: 100 ns")
    )
    assert with_blocks - without == pytest.approx(6 * 32 * 100e-9)


def test_arithmetic_takes_the_longer_of_computing_and_memory_traffic(tmp_path: Path) -> None:
    item = "{flops: 794.5e9, bytes: moved}"
    head = HEAD.replace("cycle:", "parameters: {moved: 1 GB}\ncycle:")
    found = solve(activity(tmp_path, item, head=head), {"parameters.moved": ["1 GB", "29.03 GB"]})
    assert found["time"] == pytest.approx([1e-3, 1e-2])
    assert solve(activity(tmp_path, "{bytes: 2.903 GB}"))["time"] == pytest.approx(1e-3)


def test_formulas_name_quantities_of_the_machine_which_any_machine_replaces(tmp_path: Path) -> None:
    path = activity(tmp_path, "{name: look, delay: 3 * machine.network.adapter}")
    assert solve(path)["time"] == pytest.approx(3 * 0.445e-6)
    assert solve(path, machine="rs6000-43p-atm")["time"] == pytest.approx(3 * 50e-6)
    assert solve(path, {"machine.network": "roce-400gbe"})["time"] == pytest.approx(3 * 0.545e-6)
    network = tmp_path / "network.yaml"
    network.write_text(
        "queueing-network: 1\nmachine: rs6000-43p-atm\nclasses: {jobs: {population: 1}}\n"
        "stations: {link: {demand: {jobs: 2 * machine.network.adapter}}}\n"
    )
    assert solve(str(network))["response_time[jobs]"] == pytest.approx(100e-6)


def test_a_technology_leaves_out_what_the_machine_does_not_give() -> None:
    answer, later = solve("allreduce"), solve("allreduce", technology="table-7")
    told = [each for each in later.notes if "machine.system.signal" in each]
    assert told == [
        "technology table-7 leaves signal as it is, because machine.system.signal is not given"
    ]
    assert later.technology["application"] == pytest.approx(answer.technology["application"] / 8)


def test_a_shared_medium_is_waited_for(tmp_path: Path) -> None:
    path = activity(tmp_path, "{name: work, delay: 1 ms}", "{message: 12 kB}")
    machine = "rs6000-43p-fast-ethernet"
    one, eight = (time_of(path, {"population.processors": n}, machine=machine) for n in (1.0, 8.0))
    assert eight > 1.5 * one
    assert time_of(path, {"population.processors": 8.0}, "utilization[wire]", machine=machine) > 0.9


def test_a_model_that_uses_nothing_of_its_machine_says_so() -> None:
    answer = solve("lock-and-bus", machine="gpu-node-a100")
    assert (
        "lock-and-bus uses nothing of its machine; every machine gives the same answer"
        in answer.notes
    )


@pytest.mark.turns(8)
def test_stages_are_repeated_by_count(tmp_path: Path) -> None:
    path = activity(
        tmp_path, "{pipeline: 32, stages: [{count: 64, serial: [{name: layer, delay: 1 ms}]}]}"
    )
    assert solve(path)["time"] == pytest.approx((32 + 64 - 1) * 1e-3)
    assert solve(path, {"cycle.0.stages.0.count": 8})["time"] == pytest.approx((32 + 8 - 1) * 1e-3)


@pytest.mark.parametrize(
    ("head", "item", "message"),
    [
        (
            "",
            "{message: 1 kB}",
            "message needs a machine; write machine: NAME in the file, or give one with --machine",
        ),
        (
            "",
            "{delay: machine.network.adapter}",
            "machine.network.adapter needs a machine; write machine: NAME",
        ),
        (
            "machine: ksr-1\n",
            "{message: 1 kB}",
            "message needs a machine with a network; this one shares memory",
        ),
        (
            "machine: rs6000-43p-atm\n",
            "{flops: 5}",
            "compute needs machine.processors.flops, which",
        ),
        (
            "machine: rs6000-43p-atm\n",
            "{message: 1 kB, placement: node}",
            "message is within a node, which this machine does not have; give machine.node",
        ),
        (
            "machine: rs6000-43p-atm\n",
            "{collective: allgather, size: 1 kB, algorithm: rabenseifner}",
            "allgather has no algorithm 'rabenseifner'",
        ),
        (
            "machine: rs6000-43p-atm\n",
            "{collective: allgather, size: 1 kB, algorithm: levels}",
            "allgather works in levels over nodes; give machine.node",
        ),
        (
            "machine: gpu-node-h100\n",
            "{collective: allgather, size: 1 kB, algorithm: levels, placement: node}",
            "allgather works in levels over nodes; leave placement out",
        ),
        (
            "machine: rs6000-43p-atm\n",
            "{collective: barrier, size: 1 kB}",
            "a barrier moves no bytes; leave size out",
        ),
        (
            "machine: rs6000-43p-atm\n",
            "{collective: reduce}",
            "reduce needs the size of its vector",
        ),
        (
            "machine: rs6000-43p-atm\n",
            "{delay: 2 * machine.netwrok.adapter}",
            "did you mean 'machine.network.adapter'?",
        ),
        ("machine: nowhere\n", "{delay: 1 s}", "there is no machine 'nowhere'"),
        ("machine: {title: x}\n", "{delay: 1 s}", "key 'processors' is missing"),
        *(
            (f"machine: {each}\n", "{delay: 1 s}", "machine: write the name of a machine")
            for each in ("5", "true", "[a]")
        ),
    ],
)
def test_what_is_missing_or_wrong_is_told_where_it_is_written(
    head: str, item: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as caught:
        solve(
            activity(
                tmp_path, item, head=f"activity: 1\n{head}population: {{processors: 8}}\ncycle:\n"
            )
        )
    assert message in str(caught.value)
    assert "model.yaml:" in str(caught.value)


def test_ranks_are_given_where_no_population_tells_them(tmp_path: Path) -> None:
    head = "activity: 1\nmachine: gpu-node-h100\npopulation: {arrivals: 3 /s}\ncycle:\n"
    with pytest.raises(SpecError, match="reduce needs its ranks here; write ranks: N"):
        solve(activity(tmp_path, "{collective: reduce, size: 1 kB}", head=head))


def test_a_program_names_what_its_machine_does_not_tell() -> None:
    with pytest.raises(
        SpecError,
        match=r"dvsm/page-fault needs machine\.memory\.page, which this machine does not give",
    ):
        solve("dvsm/page-fault", machine="gpu-node-a100")


NODE = """machine: 1
source: me
sources: {me: made up}
processors: {count: 64, flops: 1e9 /s, units: 4}
memory:
  bandwidth: 10 GB/s
  latency: 100 ns
  capacity: 64 GB
  domain: {processors: 4, bandwidth: 20 GB/s}
network: {protocol: {ranges: {all: {total: {fixed: 0.5 us}}}}, wire: {per_byte: 10 GB/s}}
"""


def on_node(folder: Path, *items: str, more: str = "") -> str:
    (folder / "node.yaml").write_text(NODE)
    head = (
        "activity: 1\n"
        f"machine: {folder / 'node.yaml'}\n"
        f"{more}population: {{processors: 1}}\n"
        "cycle:\n"
    )
    return activity(folder, *items, head=head)


def test_processors_fill_memory_domains_one_after_the_other(tmp_path: Path) -> None:
    """By hand: 20 GB/s for up to 4 processors, of which one alone takes 10; the first domain is
    the fullest.
    """
    path = on_node(tmp_path, "{bytes: 1 GB}")
    points: dict[str, list[float]] = {"population.processors": [1, 2, 3, 4, 5, 9]}
    times = solve(path, points, method="closed-form")["time"]
    assert times == pytest.approx([0.1, 0.1, 0.15, 0.2, 0.2, 0.2], rel=1e-12)


def test_a_step_belongs_to_the_technology_of_what_it_is(tmp_path: Path) -> None:
    items = ("{flops: 1e6}", "{bytes: 1 MB}", "{chase: 1000}", "{message: 1 kB}")
    answer = solve(on_node(tmp_path, *items))
    assert answer.technology == {
        "application": pytest.approx(1e-3),
        "memory": pytest.approx(1e-4),
        "memory_latency": pytest.approx(1e-4),
        "protocol": pytest.approx(1e-6),
        "wire": pytest.approx(1e-7),
        "adapter": 0.0,
        "switch": 0.0,
    }
    said = ("{bytes: 1 MB, technology: software}", "{message: 1 kB, technology: signal}")
    answer = solve(on_node(tmp_path, *said))
    assert answer.technology == {
        "software": pytest.approx(1e-4),
        "signal": pytest.approx(1.1e-6),
    }


def test_arithmetic_and_traffic_side_by_side_go_with_their_own_technology(tmp_path: Path) -> None:
    """With processors ten times as fast the traffic, half as long before, is the longer one."""
    path = on_node(tmp_path, "{flops: 2e6, bytes: 10 MB}", more="technology: {application: 1}\n")
    assert solve(path)["time"] == pytest.approx(2e-3)
    later = solve(path, {"technology.application": 0.1})
    assert later["time"] == pytest.approx(1e-3)
    assert later.technology == {"application": 0.0, "memory": pytest.approx(1e-3)}


def test_what_a_model_requires_is_refused_where_it_is_written_and_has_no_answer_in_a_sweep(
    tmp_path: Path,
) -> None:
    more = (
        "parameters: {state: 10 GB, parts: 3, blocks: 12}\nrequires:\n"
        "  fits: {that: state <= machine.memory.capacity, says: the state must fit}\n"
        "  whole: {that: floor(blocks / parts) == blocks / parts}\n"
        "  cooled: {that: machine.memory.page > 1 B}\n"
    )
    path = on_node(tmp_path, "{delay: machine.memory.latency}", more=more)
    answer = solve(path)
    assert "cooled is not checked: there is no machine.memory.page" in answer.notes
    again = tmp_path / "again.yaml"
    loaded = load(path)
    assert isinstance(loaded, Model)
    again.write_text(dump(loaded))
    words = "fits: {that: state <= machine_memory_capacity, says: the state must fit}"
    assert words in again.read_text()
    with pytest.raises(
        NoAnswerError,
        match=r"fits: the state must fit; 70e9 B is not at most 64e9 B \(state <= mach",
    ):
        solve(again, {"parameters.state": "70 GB"})
    with pytest.raises(NoAnswerError, match=r"64e9 B \(state <= machine\.memory\.capacity\)"):
        solve(path, {"parameters.state": "70 GB"})
    Path(path).write_text(
        Path(path).read_text().replace("parts: 3", "parts: 7").replace("10 GB", "70 GB")
    )
    with pytest.raises(SpecError) as caught:
        check_file(Path(path))
    said = str(caught.value)
    assert "requires.fits.that: fits: the state must fit; 70 GB is not at most 64 GB (state" in said
    assert "whole: 1 is not 1.714 (floor(blocks / parts) == blocks / parts)" in said
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: 1\n"
        f"base: {{model: {Path(path).name}, parameters.parts: 4, parameters.state: 10 GB}}\n"
        "cases:\n  large: {parameters.state: 80 GB}\n"
    )
    with pytest.raises(SpecError) as caught:
        check_file(study)
    # Of a study the case is named, not the line of the model.
    assert [str(problem).partition("; ")[0] for problem in caught.value.problems] == [
        f"{study}:4:10: cases.large: fits: the state must fit"
    ]
    Path(path).write_text(
        Path(path).read_text().replace("parts: 7", "parts: 3").replace("70 GB", "10 GB")
    )
    found = solve(path, {"parameters.parts": [3.0, 7.0, 4.0]}, method="closed-form")
    assert np.isfinite(found["time"]).tolist() == [True, False, True]
    wrong = on_node(tmp_path, "{delay: 1 s}", more="requires: {x: {that: nothing > 1}}\n")
    with pytest.raises(SpecError, match="there is no name 'nothing'"):
        solve(wrong)


@pytest.mark.turns(4)
def test_what_is_measured_on_a_machine_changes_with_it() -> None:
    a100, h100 = (
        time_of("language-model-step", machine=f"gpu-node-{name}") for name in ("a100", "h100")
    )
    assert a100 == pytest.approx(1.3268, rel=1e-3)
    assert h100 == pytest.approx(0.6184, rel=1e-3)
    for given, said in (
        ({"parameters.width": 16384, "parameters.layers": 126}, "must fit a GPU"),
        ({"parameters.data": 3}, "as many micro-batches"),
        ({"parameters.tensor": 7}, "as many heads each"),
    ):
        with pytest.raises(NoAnswerError, match=said):
            solve("language-model-step", given)


def test_domains_fill_as_measured_on_sapphire_rapids(tmp_path: Path) -> None:
    """All cores update the same number of bytes; cores, and GB/s of all as Kerncraft's machine file
    of the Xeon Platinum 8470 has them. Of it the machine has the values of 1 and 13 cores.
    """
    measured = {
        2: 41.72,
        4: 54.94,
        8: 61.70,
        14: 65.86,
        20: 95.06,
        26: 124.68,
        39: 191.54,
        52: 261.84,
    }
    head = "activity: 1\nmachine: xeon-8470\npopulation: {processors: 1}\ncycle:\n"
    path = activity(tmp_path, "{bytes: 1 GB}", head=head)
    points = {"population.processors": [float(each) for each in measured]}
    times = solve(path, points, method="closed-form")["time"]
    rates = np.array(list(measured)) / np.asarray(times)
    errors = rates / np.array(list(measured.values())) - 1
    assert np.abs(errors).max() < 0.22
    assert np.abs(errors[3:]).max() < 0.07


MIXTRAL = {
    "parameters.width": 4096,
    "parameters.layers": 32,
    "parameters.inner": 3.5,
    "parameters.matrices": 3,
    "parameters.kv": 0.25,
    "parameters.heads": 32,
    "parameters.words": 32000,
    "parameters.tokens": 4096,
    "parameters.again": 0,
    "parameters.tensor": 1,
    "parameters.micro": 1,
    "parameters.batch": 64,
    "parameters.experts": 8,
    "parameters.chosen": 2,
}


@pytest.mark.turns(4)
def test_experts_have_the_published_numbers_of_weights() -> None:
    """Mixtral 8x7B: 46.7e9 weights, of which a token meets 12.9e9 (arXiv 2401.04088, section 2.1).

    The words are counted once here, and twice there.
    """
    given = {**MIXTRAL, "parameters.causal": 0, "machine.memory.capacity": 1e15}
    account = solve("language-model-step", given, machine="gpu-node-h100").account
    machine = solve("language-model-step", given, machine="gpu-node-h100").described
    flops, bandwidth = (
        machine[f"machine.{path}"].given.value for path in ("processors.flops", "memory.bandwidth")
    )
    words = 32000 * 4096
    assert account["optimizer"] * bandwidth / 30 + words == pytest.approx(46.7e9, rel=2e-3)
    operations = account["busy"] * flops / (6 * 64 * 4096)
    assert operations + words == pytest.approx(12.9e9, rel=2e-3)


@pytest.mark.turns(6)
def test_a_sequence_that_is_shared_costs_its_products_and_the_exchange() -> None:
    """Two GPUs with half of each sequence have the products of two with half of the sequences."""
    given = {**MIXTRAL, "parameters.experts": 1, "parameters.chosen": 1, "parameters.kept": 1.0}
    shared, apart = (
        solve("language-model-step", {**given, f"parameters.{ways}": 2}, machine="gpu-node-h100")
        for ways in ("context", "data")
    )
    for component in ("busy", "gradients", "optimizer"):
        assert shared.account[component] == pytest.approx(apart.account[component])
    assert shared.account["context"] > 0
    assert apart.account["context"] == 0


@pytest.mark.turns(5)
def test_experts_that_are_spread_send_each_token_twice_forward_and_twice_back() -> None:
    given = {**MIXTRAL, "parameters.data": 32, "parameters.stages": 4}
    both, one = (
        solve("language-model-step", {**given, **more}, machine="gpu-node-h100").account
        for more in (
            {"parameters.spread": 8},
            {"parameters.spread": 8, "parameters.chosen": 1},
        )
    )
    assert both["experts"] == pytest.approx(2 * one["experts"], rel=0.01)
    for more, said in (
        ({"parameters.spread": 16}, "over which experts are spread have as many each"),
        ({"parameters.spread": 8, "parameters.context": 3}, "share a sequence have as many tokens"),
        (
            {"parameters.chosen": 9, "machine.memory.capacity": 1e15},
            "has the experts that a token is sent to",
        ),
        ({"parameters.stages": 1}, "the activations of as many micro-batches"),
        (
            {"parameters.spread": 8, "parameters.near": 1, "parameters.tensor": 2},
            "are of one node if",
        ),
    ):
        with pytest.raises(NoAnswerError, match=said):
            solve("language-model-step", {**given, **more}, machine="gpu-node-h100")
