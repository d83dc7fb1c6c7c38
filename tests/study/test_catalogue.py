"""The catalogue: what there is, and what is known of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import SpecError, UnknownNameError
from slipstick.law import LAWS
from slipstick.program import PROGRAMS
from slipstick.schema.library import KINDS, names_of_kind
from slipstick.study.catalogue import catalogue_entry, catalogue_lines, known_kinds
from tests.specs import DESIGN


@pytest.mark.turns(4)
def test_everything_is_listed_with_its_title() -> None:
    lines = catalogue_lines()
    assert list(dict.fromkeys(each.kind for each in lines)) == known_kinds()
    assert [each.name for each in lines if each.kind == "program"] == list(PROGRAMS)
    assert [each.name for each in lines if each.kind == "law"] == list(LAWS)
    for kind in KINDS:
        assert [each.name for each in catalogue_lines(kind)] == names_of_kind(kind)
    assert all(each.title for each in lines)
    assert (
        catalogue_lines("studies") == catalogue_lines("study")
        if "studies" in known_kinds()
        else catalogue_lines("machines") == catalogue_lines("machine")
    )


def test_a_broken_file_of_ones_own_is_listed_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "specs" / "activities"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(f"title: x\n{DESIGN}")
    (folder / "good.yaml").write_text(f"{DESIGN}title: A good one\n")
    monkeypatch.chdir(tmp_path)
    titles = {each.name: each.title for each in catalogue_lines("activity")}
    assert titles["good"] == "A good one"
    assert titles["mine"].startswith(
        "(cannot be read: specs/activities/mine.yaml:1:1: title: begin with the kind of spec"
    )


@pytest.mark.turns(5)
@pytest.mark.parametrize("kind", known_kinds())
def test_whatever_is_listed_can_be_shown(kind: str) -> None:
    for entry in catalogue_lines(kind):
        page = catalogue_entry(f"{kind}/{entry.name}")
        assert (page.kind, page.name, page.title) == (kind, entry.name, entry.title)
        assert page.entries or page.text, entry.name
        # A parameter of a file has a meaning only if its author writes one.
        assert all(
            described.meaning
            for path, described in page.entries.items()
            if not path.startswith("parameters.")
        ), entry.name
        if kind in ("machine", "network", "workload"):
            assert all(described.source for described in page.entries.values()), entry.name


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("touur", UnknownNameError, "there is no spec 'touur'; did you mean 'tour'?"),
        ("machin/x", UnknownNameError, "there is no kind 'machin'; did you mean 'machine'?"),
        ("law/x", UnknownNameError, "there is no law 'x'; known: "),
        ("program/x", UnknownNameError, "there is no program 'x'; known: dvsm/message, "),
        (
            "network/x",
            SpecError,
            (
                "network/x: there is no network 'x'; known: 100gbe-tcp, 10gbe-tcp, 1gbe-tcp,"
                " 25gbe-tcp, atm-oc3, "
            ),
        ),
    ],
)
def test_what_is_not_there_is_named(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        catalogue_entry(name)
    assert str(caught.value).startswith(message)
