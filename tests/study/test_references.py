"""What a reference means: the same for every command and for Python, from any folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slipstick import load
from slipstick.cli.main import main
from slipstick.errors import SpecError, UnknownNameError
from slipstick.schema.library import KINDS, Library, catalogue_folder
from slipstick.study.catalogue import catalogue_entry
from slipstick.study.check import check_reference

ONE_OF_EACH = {
    "machine": "rs6000-43p-atm",
    "network": "atm-oc3",
    "workload": "lock",
    "technology": "table-7",
    "trend": "milestones",
    "fitted": "serving-vllm",
    "activity": "tour",
    "queueing-network": "central-server",
    "batch-server": "group-commit",
    "study": "locks",
    "profile": "two-cores",
    "counts": "sphere-1",
}
STUDY = "study: 1\ntitle: t\nbase: {model: models/mine.yaml}\n"
OTHER = "study: 1\ntitle: t\nbase: {model: ../activities/tour.yaml}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Start in a folder that holds a copy of the shipped specs two folders down."""
    shutil.copytree(catalogue_folder(), tmp_path / "one" / "copy")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kinds_of(reference: str) -> list[str]:
    """List the kinds that a reference is found as, without what is told of their defaults."""
    return [line.partition(";")[0] for line in check_reference(reference)]


def test_there_is_one_of_each_kind() -> None:
    assert ONE_OF_EACH.keys() == KINDS.keys()


@pytest.mark.turns(4)
@pytest.mark.parametrize(("kind", "name"), ONE_OF_EACH.items())
def test_check_and_show_find_every_kind_by_name_and_by_path(
    folder: Path, kind: str, name: str
) -> None:
    file = Path("one", "copy", KINDS[kind].folder, f"{name}.yaml")
    assert kind in kinds_of(name)
    for reference in (f"{kind}/{name}", str(file), f"./{file}", str(folder / file)):
        assert kinds_of(reference) == [kind], reference
        assert (catalogue_entry(reference).kind, catalogue_entry(reference).name) == (kind, name), (
            reference
        )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("kind", "name"), [("activity", "lock-and-bus"), ("queueing-network", "central-server")]
)
def test_models_load_by_what_is_checked(folder: Path, kind: str, name: str) -> None:
    file = f"one/copy/{KINDS[kind].folder}/{name}.yaml"
    for reference in (name, f"{kind}/{name}", file, str(folder / file)):
        assert getattr(load(reference), "name") == name  # noqa: B009  # not of a machine, which is none of these
        assert main(["solve", reference]) == 0


def test_a_name_is_also_a_program_a_law_or_a_table(folder: Path) -> None:
    assert check_reference("dvsm/lock") == ["program"]
    assert check_reference("law/flow-line") == ["law"]
    assert kinds_of("my-program") == ["activity", "study"]
    with pytest.raises(UnknownNameError) as ambiguous:
        catalogue_entry("my-program")
    assert str(ambiguous.value).endswith("did you mean 'study/my-program'?")
    for table in ("one/copy/runs/my-program.csv", str(folder / "one/copy/runs/my-program.csv")):
        assert check_reference(table) == ["table of measurements"]
    with pytest.raises(SpecError) as caught:
        check_reference("tuor")
    assert str(caught.value) == "tuor: there is no spec 'tuor'; did you mean 'tour'?"


def test_a_path_in_an_option_starts_from_the_current_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree("one/copy/networks", "near")
    program = ["solve", "dvsm/lock", "--machine", "one/copy/machines/rs6000-43p-atm.yaml"]
    assert main([*program, "--set", "machine.network=near/fast-ethernet.yaml"]) == 0
    assert main([*program, "--set", "technology=one/copy/technologies/table-7.yaml"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.turns(6)
def test_two_files_of_one_name_have_a_hash_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "models" / "deeper" / "mine.yaml"
    base.parent.mkdir(parents=True)
    base.write_text((catalogue_folder() / "activities" / "lock-and-bus.yaml").read_text())
    (tmp_path / "models" / "mine.yaml").write_text(
        "activity: 1\nextends: deeper/mine.yaml\ntitle: mine\n"
    )
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path / "models")
    command = ["run", "../study.yaml", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    before = (tmp_path / "out" / "results.csv").read_text()
    with (tmp_path / "models" / "mine.yaml").open("a") as file:
        file.write("parameters: {work: 900 ms}\n")
    assert main(command) == 0
    assert (tmp_path / "out" / "results.csv").read_text() != before


def test_a_hash_goes_by_the_path_from_the_first_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = folder / "one" / "copy" / "studies" / "own.yaml"
    study.write_text(OTHER)
    for start, reference in (
        (".", str(study)),
        ("one/copy", "studies/own.yaml"),
        ("studies", "own.yaml"),
    ):
        monkeypatch.chdir(start)
        library = Library()
        tree = library.load("study", reference)
        model = tree.entries["base"].node
        library.load("activity", "../activities/tour.yaml", model.mark)
        assert list(library.hashes) == ["own.yaml", "../activities/tour.yaml"]
    library = Library()
    library.load("study", "locks")
    library.load("activity", "../activities/tour.yaml")
    assert list(library.hashes) == ["specs/studies/locks.yaml", "../activities/tour.yaml"]


def test_the_model_of_a_fit_is_looked_up_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (catalogue_folder() / "fitted" / "serving-vllm.yaml").read_text()
    line = text.splitlines().index("model: serving-step") + 1
    fit = tmp_path / "fit.yaml"
    fit.write_text(text.replace("model: serving-step", "model: serving-stp"))
    with pytest.raises(SpecError) as refused:
        check_reference("fit.yaml")
    (problem,) = refused.value.problems
    assert problem.line == line
    assert problem.message == (
        "there is no model 'serving-stp', and no file 'serving-stp.yaml'; did you mean"
        " 'serving-step'?"
    )
    (tmp_path / "serving-stp.yaml").write_text("activity: 1\n")
    assert check_reference("fit.yaml") == ["fitted"]
    fit.write_text(text.replace("model: serving-step", "model: of-mine"))
    (checked,) = check_reference("fit.yaml")
    note = (
        "there is no model 'of-mine', and no file 'of-mine.yaml' here: its parameters are not "
        "looked up"
    )
    assert checked == f"fitted; {note}"
