"""Files that name one another: bases, networks, circles, and where their problems are told."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from slipstick.api import load, solve
from slipstick.errors import SpecError, UnknownNameError, did_you_mean
from slipstick.schema.kinds.machine import MachineSpec
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import MOST_EXTENDED, Library, find, names_of_kind
from slipstick.schema.text import Table, node_at, plain_data, value_mark
from tests.specs import MACHINE, NETWORK, line, refused, valid


def machine(folder: Path, text: str) -> MachineSpec:
    path = folder / "machine.yaml"
    path.write_text(text)
    return validate(MachineSpec, Library().load("machine", str(path)))


def test_a_machine_names_its_network_or_has_it_in_place(tmp_path: Path) -> None:
    by_name = machine(tmp_path, MACHINE)
    assert by_name.network.title.startswith("ATM")
    inside = "network:\n" + "".join(f"  {each}\n" for each in NETWORK.splitlines()[1:])
    assert machine(tmp_path, line(MACHINE, 5, inside)).network.adapter.text == "25 us"
    (tmp_path / "other.yaml").write_text(NETWORK)
    assert (
        machine(tmp_path, line(MACHINE, 5, "network: other.yaml")).network.adapter.text == "25 us"
    )
    changed = machine(
        tmp_path, line(MACHINE, 5, "network: {extends: atm-oc3, adapter: 5 us}")
    ).network
    assert (changed.adapter.text, changed.switch.text) == ("5 us", by_name.network.switch.text)


def test_a_base_holds_where_its_extension_is_silent(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(MACHINE)
    (tmp_path / "middle.yaml").write_text("machine: 1\nextends: base.yaml\nmemory: {page: 8 KiB}\n")
    spec = machine(
        tmp_path,
        "machine: 1\nextends: middle.yaml\nprocessors: {speed: 2}\nnetwork: {adapter: 1 us}\n",
    )
    assert (spec.processors.count.value, spec.processors.speed.value) == (8.0, 2.0)
    assert spec.memory.page is not None
    assert spec.system.signal is not None
    assert (spec.memory.page.text, spec.system.signal.text) == ("8 KiB", "40 us")
    assert (spec.network.adapter.text, spec.network.wire.per_byte.text) == ("1 us", "0.05926 us/B")


def test_a_list_and_a_named_network_are_replaced_whole(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        line(MACHINE, 5, "network: {extends: atm-oc3, adapter: 1 us}")
    )
    spec = machine(tmp_path, "machine: 1\nextends: base.yaml\nnetwork: fast-ethernet\n")
    assert (spec.network.medium, spec.network.adapter.text) == ("shared", "25 us")


def test_a_value_is_told_in_the_file_that_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(line(MACHINE, 4, "system: {signal: 40}"))
    problems = refused(tmp_path, "machine: 1\nextends: base.yaml\nmemory: {page: 4 us}\n")
    assert problems == [
        "base.yaml:4:18: system.signal: write a number with a unit, such as '5 us'; got 40",
        (
            "x.yaml:3:16: memory.page: '4 us' is a quantity in s, but a quantity in B is wanted,"
            " such as '4 MB'"
        ),
    ]


def test_places_of_both_files_are_kept(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(MACHINE)
    (tmp_path / "x.yaml").write_text("machine: 1\nextends: base.yaml\nprocessors: {speed: 2}\n")
    _, tree = Library().open(tmp_path / "x.yaml")
    places = {
        path: value_mark(tree, path)
        for path in ("processors.count", "processors.speed", "network.adapter")
    }
    assert {path: (Path(mark.file).name, mark.line) for path, mark in places.items()} == {
        "processors.count": ("base.yaml", 2),
        "processors.speed": ("x.yaml", 3),
        "network.adapter": ("atm-oc3.yaml", 16),
    }


CIRCLE = "extends: goes in a circle:"


def test_circles_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "machine: 1\nextends: x.yaml\n") == [
        f"x.yaml:2:10: {CIRCLE} x extends x"
    ]
    (tmp_path / "b.yaml").write_text("machine: 1\nextends: c.yaml\n")
    (tmp_path / "c.yaml").write_text("machine: 1\nextends: b.yaml\n")
    (problem,) = refused(tmp_path, "machine: 1\nextends: b.yaml\n")
    assert problem == f"c.yaml:2:10: {CIRCLE} x extends b extends c extends b"


def test_a_circle_is_seen_through_detours(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    assert refused(folder, "machine: 1\nextends: ../d/x.yaml\n") == [
        f"x.yaml:2:10: {CIRCLE} x extends x"
    ]


def test_a_chain_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(".")
    for number in range(60):
        (tmp_path / f"m{number}.yaml").write_text(f"machine: 1\nextends: here/m{number + 1}.yaml\n")
    with pytest.raises(SpecError) as caught:
        Library().open(tmp_path / "m0.yaml")
    assert (
        caught.value.problems[0].message
        == f"extends more than {MOST_EXTENDED} others, one after the other"
    )


def test_a_broken_reference_hides_nothing_else(tmp_path: Path) -> None:
    text = line(line(MACHINE, 2, "processors: {cuont: 8}"), 5, "network: atm-oc4")
    assert refused(tmp_path, text) == [
        "x.yaml:2:14: processors.cuont: unknown key; did you mean 'count'?",
        "x.yaml:5:10: network: there is no network 'atm-oc4'; did you mean 'atm-oc3'?",
    ]
    inside = line(
        line(MACHINE, 5, "network: atm-oc4"),
        2,
        "processors: {count: 8}\nnode: {processors: 8, network: nvlink-4}",
    )
    told = [each for each in refused(tmp_path, inside) if "network" in each]
    assert told == ["x.yaml:6:10: network: there is no network 'atm-oc4'; did you mean 'atm-oc3'?"]
    text = "machine: 1\nextends: nowhere\nnetwork: atm-oc3\nmemory: {page: 5}\nprocesors: {}\n"
    assert refused(tmp_path, text) == [
        (
            "x.yaml:2:10: extends: there is no machine"
            f" 'nowhere'{did_you_mean('nowhere', names_of_kind('machine'))}"
        ),
        "x.yaml:4:16: memory.page: write a number with a unit, such as '4 KiB'; got 5",
        "x.yaml:5:1: procesors: unknown key; did you mean 'processors'?",
    ]


def test_problems_of_a_named_network_are_told_with_those_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(line(NETWORK, 8, "adapter: 25"))
    text = line(line(MACHINE, 3, "memory: {page: 4}"), 5, "network: net.yaml")
    assert refused(tmp_path, text) == [
        "net.yaml:8:10: network.adapter: write a number with a unit, such as '5 us'; got 25",
        "x.yaml:3:16: memory.page: write a number with a unit, such as '4 KiB'; got 4",
    ]


def test_a_reference_to_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NETWORK)
    assert refused(tmp_path, "machine: 1\nextends: net.yaml\n") == [
        "net.yaml:1:1: network: this file is of kind network, but one of kind machine is wanted"
    ]


@pytest.mark.parametrize("text", ["{}", "wrong: 1", "1: 1", "Machine: 1"])
def test_a_file_begins_with_what_it_is(tmp_path: Path, text: str) -> None:
    (problem,) = refused(tmp_path, text)
    kinds = (
        "'machine: 1', 'network: 1', 'workload: 1', 'technology: 1', 'fitted: 1',"
        " 'activity: 1', 'queueing-network: 1', 'study: 1',"
        " 'profile: 1', 'trend: 1', 'batch-server: 1', 'counts: 1'"
    )
    assert f"begin with the kind of spec, one of {kinds}" in problem
    assert problem.startswith("x.yaml:1:1: ")


@pytest.mark.parametrize(
    "name", ["x" * 300, "../networks/atm-oc3", "a/b", ".", "..", "", "\x00", "~", "x\n"]
)
def test_a_name_is_looked_up_and_never_followed(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        Library().load("machine", name)
    assert str(caught.value).count(f"there is no machine {name[:100]!r}") == 1


def test_an_own_folder_of_specs_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "specs" / "networks"
    folder.mkdir(parents=True)
    (folder / "atm-oc3.yaml").write_text(NETWORK)
    (folder / "mine.yaml").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    assert "mine" in names_of_kind("network")
    assert "fast-ethernet" in names_of_kind("network")
    assert names_of_kind("network") == sorted(names_of_kind("network"))
    assert find("network", "atm-oc3") == Path("specs/networks/atm-oc3.yaml")
    assert valid(tmp_path, MACHINE) == "machine"


def test_each_file_is_read_once_and_its_hash_kept(tmp_path: Path) -> None:
    library = Library()
    library.load("machine", "rs6000-43p-atm")
    library.load("machine", "rs6000-43p-atm")
    assert list(library.hashes) == [
        "specs/machines/rs6000-43p-atm.yaml",
        "specs/machines/rs6000-43p-fast-ethernet.yaml",
        "specs/networks/fast-ethernet.yaml",
        "specs/networks/atm-oc3.yaml",
    ]
    assert all(len(each) == 64 for each in library.hashes.values())


def test_what_extends_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(MACHINE)
    (tmp_path / "x.yaml").write_text("machine: 1\nextends: base.yaml\n")
    _, tree = Library().open(tmp_path / "x.yaml")
    assert node_at(tree, "extends") is None
    assert plain_data(tree) == plain_data(Library().open(tmp_path / "base.yaml")[1])


def test_what_is_made_of_a_tree_is_made_once() -> None:
    library, made = Library(), Counter[int]()
    trees = [library.load("counts", name) for name in ("sor", "is", "sor")]

    def make(tree: Table) -> object:
        made[id(tree)] += 1
        return object()

    found = [library.compute_once(id(tree), partial(make, tree), tree) for tree in trees]
    assert set(made.values()) == {1}
    assert found[0] is found[2] is not found[1]


def test_a_shipped_spec_is_parsed_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Library()
    trees = [
        first.load(*spec) for spec in (("machine", "rs6000-43p-atm"), ("activity", "lock-and-bus"))
    ]
    monkeypatch.setattr("slipstick.schema.library.read_text", None)  # so that nothing is parsed
    again = Library()
    assert [
        again.load("machine", "rs6000-43p-atm"),
        again.load("activity", "lock-and-bus"),
    ] == trees
    assert again.hashes == first.hashes


def test_an_inherited_formula_may_use_a_parameter_that_is_added(tmp_path: Path) -> None:
    """What is added comes before the first that uses it, as formulas use those before them."""
    (tmp_path / "base.yaml").write_text(
        "batch-server: 1\nparameters: {rate: 9 /s, burst: 2 * rate, flush: 1 ms}\n"
        "customers: {arrivals: burst}\nphases: {commit: {work: 1}}\nround: {flush: flush}\n"
    )
    mine = tmp_path / "mine.yaml"

    def arrivals(lines: str) -> float:
        mine.write_text(f"batch-server: 1\nextends: base.yaml\nparameters: {{{lines}}}\n")
        answer = solve(mine)
        assert answer["throughput"] is not None
        return answer["throughput"]

    assert arrivals("rate: people * each, each: third / 2, third: 3 /s, people: 4") == (
        pytest.approx(12.0)
    )
    assert arrivals("more: burst / 9, flush: 1 / (9000 * more)") == pytest.approx(18.0)
    with pytest.raises(SpecError, match="there is no name 'rate'"):
        arrivals("rate: own * 2, own: rate / 2")


def test_a_misspelt_name_beside_that_of_the_extended_file_is_refused(tmp_path: Path) -> None:
    """A parameter that nothing uses would leave the one that was meant as it is."""
    (tmp_path / "base.yaml").write_text(
        "batch-server: 1\nparameters: {flush: 1 ms}\ncustomers: {arrivals: 9 /s}\n"
        "phases: {commit: {work: 1}}\nround: {flush: flush}\n"
    )
    extending = tmp_path / "mine.yaml"

    def problems(lines: str) -> list[str]:
        extending.write_text(f"batch-server: 1\nextends: base.yaml\n{lines}")
        try:
            load(extending)
        except SpecError as error:
            return [f"{problem.path}: {problem.message}" for problem in error.problems]
        return []

    assert problems("parameters: {flsuh: 2 ms}\nphases: {comit: {work: 2}}\n") == [
        "parameters.flsuh: nothing uses it; did you mean 'flush'?",
        "phases.comit: nothing uses it; did you mean 'commit'?",
    ]
    assert problems("parameters: {flsuh: 2 ms}\nround: {flush: flush + flsuh}\n") == []
    assert problems("parameters: {record: 2 ms}\n") == []


def test_a_machine_of_one_file_leaves_other_files_without() -> None:
    """Pydantic 2.11 writes an annotation into the field that a made class takes over."""
    load("llm-serving", set={"machine": "gpu-node-h200"})
    assert load("group-commit") == load("group-commit")


def test_one_name_of_another_kind_is_suggested_though_several_are_as_close() -> None:
    with pytest.raises(UnknownNameError) as caught:
        find("study", "queueing/bolch-8-7")
    message = str(caught.value)
    assert len(re.findall(r"did you mean 'bolch-8-\d'\?", message)) == 1
    assert " or 'bolch" not in message
