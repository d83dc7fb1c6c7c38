"""JSON Schemas for editors: every key has its words, and they accept and refuse what the loader
does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema
import pytest

from slipstick.errors import UnknownNameError
from slipstick.schema.kinds.quantity import problems_of
from slipstick.schema.library import KINDS, editor_schema, spec_model
from slipstick.schema.text import Node, plain_data, read_text
from tests.mutations import SHIPPED
from tests.specs import DESIGN, MACHINE, NETWORK, activity, line, study

KIND = {each.folder: kind for kind, each in KINDS.items()}


@cache
def validator(kind: str) -> Any:
    schema = editor_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def tree(text: str) -> Node:
    return read_text(text, "x.yaml")


@pytest.mark.turns(6)
@pytest.mark.parametrize("folder", sorted({name.partition("/")[0] for name in SHIPPED}))
def test_every_shipped_spec_is_valid_in_an_editor(folder: str) -> None:
    for name, text in SHIPPED.items():
        if name.startswith(f"{folder}/"):
            problems = list(validator(KIND[folder]).iter_errors(plain_data(tree(text))))
            assert problems == [], name


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("activity", DESIGN),
        ("machine", MACHINE),
        ("network", NETWORK),
        (
            "machine",
            "machine: 1\nextends: rs6000-43p-atm\nnetwork: {extends: atm-oc3, adapter: 5 us}\n",
        ),
        ("machine", "machine: 1\nbase: gpu-node-h100\nyear: 2034\ntrend: measured\n"),
        (
            "activity",
            f"{DESIGN}machine: {{base: gpu-node-h100, year: 2034, trend: measured}}\n",
        ),
        (
            "study",
            study("cases: {a: {machine: {base: gpu-node-h100, year: 2034, trend: measured}}}"),
        ),
        ("study", study("vary: {parties: [2, 3], call: {from: 1 us, to: 2 us, count: 3}}")),
        ("study", study("vary: {a: {axes: {parties: [2, 3]}, combine: zip}}")),
        (
            "activity",
            activity(
                "{delay: work * 2, scv: 1}",
                head="parameters: {work: 3 us}\npopulation: {processors: 2}",
            ),
        ),
        (
            "activity",
            "activity: 1\nphases: [{processors: 2, cycle: [{delay: {value: 3 us, source: me}}]}]\n",
        ),
    ],
)
def test_every_way_of_writing_is_valid_in_an_editor(kind: str, text: str) -> None:
    validator(kind).validate(plain_data(tree(text)))


WRONG = [
    ("machine", line(MACHINE, 2, "processors: {cuont: 8}")),
    ("machine", "machine: 1\nbase: gpu-node-h100\nyear: 2034\n"),
    ("machine", "machine: 1\nbase: gpu-node-h100\nyear: 20340\ntrend: measured\n"),
    ("machine", "machine: 1\nbase: gpu-node-h100\nyear: 2034\ntrend: measured\nmemory: {}\n"),
    ("machine", line(MACHINE, 2, "processors: 8")),
    ("machine", line(MACHINE, 2, "processors: {count: 0}")),
    ("machine", line(MACHINE, 2, "processors: {count: 8.5}")),
    ("machine", line(MACHINE, 3, "memory: {page: 4096}")),
    ("machine", line(MACHINE, 3, "memory: {page: {valeu: 4 KiB}}")),
    ("machine", line(MACHINE, 3, "memory: {page: true}")),
    ("machine", line(MACHINE, 3, "title: 5")),
    ("machine", line(MACHINE, 1, "machine: 2")),
    ("machine", line(MACHINE, 5, "netwerk: atm-oc3")),
    ("network", line(NETWORK, 10, "medium: shraed")),
    ("network", line(NETWORK, 10, "medium: no")),
    ("network", line(NETWORK, 5, "    two words: {total: {fixed: 1 us, per_byte: 1 us/B}}")),
    ("network", line(NETWORK, 8, "adapter: [25 us]")),
    ("workload", "workload: 1\nmodel: 5\n"),
    ("workload", "workload: 1\nmodel: dvsm/lock\ninput: {}\n"),
    ("activity", activity("{dellay: 1 s}")),
    ("activity", activity("{delay: 1}")),
    ("activity", activity("{delay: 1 s, svc: 1}")),
    ("activity", activity("{delay: 1 s, technology: wier}")),
    ("activity", activity("{delay: 1 s, name: a.b}")),
    ("activity", activity("{hold: door}")),
    ("activity", activity("{choose: [{p: 1.5, do: []}]}")),
    ("activity", activity("{barrier: meet, parties: 0}")),
    (
        "activity",
        activity("{delay: 1 s}", head="population: {processors: 2}\nresources: {bus: {serves: 2}}"),
    ),
    (
        "activity",
        activity("{delay: 1 s}", head="population: {processors: 2}\nparameters: {a.b: 3 us}"),
    ),
    ("study", study("vary: {a: {axis: {parties: [2]}}}")),
    ("study", study("vary: {a: 5}")),
    ("study", study("vary: {parties: {form: 1, to: 3, step: 1}}")),
    ("study", study("vary: {parties: {from: 1, to: 3, count: 1}}")),
    ("study", study("answer: [Time]")),
    ("study", study("pictures: [{name: a, title: b, kind: bar}]")),
    ("study", study("rank: {most: 0}")),
    ("study", study("compare: [{title: t, columns: [], rows: []}]")),
]


@pytest.mark.turns(6)
@pytest.mark.parametrize(("kind", "text"), WRONG)
def test_what_the_loader_refuses_an_editor_underlines(kind: str, text: str) -> None:
    assert problems_of(spec_model(kind), tree(text))
    assert not validator(kind).is_valid(plain_data(tree(text)))


def undescribed(schema: Any, path: str) -> Iterator[str]:
    """Yield the keys without words; what a quantity may be written as is described as a whole."""
    for key, each in schema.get("properties", {}).items():
        if "description" not in each and path.rpartition(".")[2] not in (
            "value",
            "low",
            "high",
            "source",
            "assumed",
        ):
            yield f"{path}.{key}"
    for name, each in schema.get("$defs", {}).items():
        yield from undescribed(each, f"{path}.{name}")


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_its_words(kind: str) -> None:
    schema = editor_schema(kind)
    assert list(undescribed(schema, kind)) == []
    assert json.loads(json.dumps(schema)) == schema
    assert schema["properties"][kind]["const"] == 1


def test_there_is_no_other_kind() -> None:
    with pytest.raises(UnknownNameError) as caught:
        editor_schema("machin")
    assert str(caught.value) == "there is no kind of spec 'machin'; did you mean 'machine'?"
