"""Trees with places: paths, changes, and what keeps its place when something changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import ModelError, UnknownNameError
from slipstick.schema.text import (
    Entry,
    Listing,
    Mark,
    Node,
    Scalar,
    Table,
    from_plain,
    join_path,
    key_mark,
    leaves,
    merge,
    node_at,
    plain_data,
    read_text,
    read_value,
    replace,
    split_path,
    value_mark,
)

BASE = Mark("base.yaml", 1, 1)
CHANGE = Mark("change.yaml", 2, 2)
CYCLE = """\
cycle:
  - {name: work, delay: 9 ms}
  - hold: door
    body:
      - {name: crit, time: 1 ms}
  - {name: rest, delay: 1 s}
  - {name: rest, delay: 2 s}
  - {name: '1', delay: 3 s}
"""

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-999, 999)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
keys = st.sampled_from(["a", "b", "name", "c.d", "", '"', "\\", "0", "7", "é"]) | st.text(
    max_size=3
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
tables = st.dictionaries(keys, values, max_size=4)


def known_paths(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    children = (
        enumerate(value)
        if isinstance(value, list)
        else value.items()
        if isinstance(value, dict)
        else ()
    )
    return [above, *(path for key, child in children for path in known_paths(child, (*above, key)))]


def find(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("", ()),
        ("a", ("a",)),
        ("stations.cpu.demand", ("stations", "cpu", "demand")),
        ('ssd."disk.demand"', ("ssd", "disk.demand")),
        ('"a\\"b.c"', ('a"b.c',)),
        ('""', ("",)),
        ("a.", ("a", "")),
        (".", ("", "")),
        ('"open', ('"open',)),
        ('"a"b.c', ('"a"b', "c")),
    ],
)
def test_a_path_comes_apart(path: str, parts: tuple[str, ...]) -> None:
    assert split_path(path) == parts


@given(
    st.lists(st.text(max_size=6) | st.sampled_from(["a.b", '"', "\\", '"a"', "\\.", '"."', "\n"]))
)
def test_what_is_joined_comes_apart_into_the_same(parts: list[str]) -> None:
    assert split_path(join_path(parts)) == tuple(parts)


@given(values)
def test_plain_values_come_back(value: Any) -> None:
    assert plain_data(from_plain(value, BASE)) == value


def test_text_is_kept_as_it_would_be_written() -> None:
    scalars = [from_plain(value, BASE) for value in (None, True, 2, 2.5, "x")]
    assert [(each.text, each.quoted) for each in scalars if isinstance(each, Scalar)] == [
        ("null", False),
        ("true", False),
        ("2", False),
        ("2.5", False),
        ("x", True),
    ]


@pytest.mark.parametrize(("value", "kind"), [({1: 2}, "dict"), (b"x", "bytes"), ([{1}], "set")])
def test_other_values_are_refused(value: object, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        from_plain(value, BASE)
    assert (
        str(caught.value)
        == f"a {kind} cannot stand in a spec; use text keys, lists, text and numbers"
    )


@given(values)
def test_every_path_arrives(value: Any) -> None:
    tree = from_plain(value, BASE)
    for path in known_paths(value):
        node = node_at(tree, path)
        assert node is not None
        assert plain_data(node) == find(value, path)
        assert node_at(tree, join_path(path)) is node


@given(values)
def test_leaves_are_all_scalars_under_paths_that_lead_to_them(value: Any) -> None:
    tree = from_plain(value, BASE)
    found = list(leaves(tree))
    assert len({path for path, _ in found}) == len(found)
    assert all(node_at(tree, path) is scalar for path, scalar in found)
    assert len(found) == sum(
        not isinstance(find(value, path), list | dict) for path in known_paths(value)
    )


def test_items_go_by_a_name_of_their_own() -> None:
    tree = read_text(CYCLE, "f")
    assert [path for path, scalar in leaves(tree) if str(scalar.value).endswith("s")] == [
        "cycle.work.delay",
        "cycle.1.body.crit.time",
        "cycle.2.delay",
        "cycle.3.delay",
        "cycle.4.delay",  # '1' would be taken for a number
    ]
    assert node_at(tree, "cycle.work.delay") is node_at(tree, "cycle.0.delay")
    assert node_at(tree, "cycle.rest.delay") is None  # which of them?
    assert node_at(tree, ["cycle", 5]) is None
    assert node_at(tree, ["cycle", -1]) is None
    assert node_at(tree, "cycle.0.delay.unit") is None


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("cycle", (1, 1), (2, 3)),
        ("cycle.work", (2, 5), (2, 5)),
        ("cycle.work.delay", (2, 18), (2, 25)),
        ("cycle.work.scv", (2, 5), (2, 5)),  # missing: the nearest around it
        ("cycle.1.body.0.time.unit", (5, 22), (5, 28)),
        ("cycle.delay-step.work.delay", (2, 18), (2, 25)),  # the tag of a union in between
        ("none.at.all", (1, 1), (1, 1)),
        ("", (1, 1), (1, 1)),
    ],
)
def test_places_of_paths_that_exist_and_that_do_not(
    path: str, key: tuple[int, int], value: tuple[int, int]
) -> None:
    tree = read_text(CYCLE, "f")
    assert key_mark(tree, path) == Mark("f", *key)
    assert value_mark(tree, path) == Mark("f", *value)
    assert key_mark(tree, split_path(path)) == Mark("f", *key)


@given(tables, st.data())
def test_replace_changes_one_value_and_no_other(value: Any, data: st.DataObject) -> None:
    tree, new = from_plain(value, BASE), from_plain({"new": 1}, CHANGE)
    path = data.draw(st.sampled_from(known_paths(value)))
    changed = replace(tree, path, new)
    assert node_at(changed, path) is new
    assert value_mark(changed, path) == CHANGE
    assert plain_data(tree) == value
    for other in known_paths(value):
        if other[: len(path)] != path and path[: len(other)] != other:
            assert node_at(changed, other) is node_at(tree, other)


def test_replace_adds_a_key_where_its_table_exists() -> None:
    tree = read_text("cpu: {servers: 1}", "f")
    changed = replace(tree, 'cpu."disk.demand"', read_value("[1, 2]", "--set"))
    assert plain_data(changed) == {"cpu": {"servers": 1, "disk.demand": [1, 2]}}
    assert key_mark(changed, ["cpu", "disk.demand"]) == Mark("--set", 1, 1)
    assert key_mark(replace(tree, "cpu.servers", read_value("2", "--set")), "cpu.servers") == Mark(
        "f", 1, 7
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("cycl.work.delay", "there is no path 'cycl'; did you mean 'cycle'?"),
        ("cycle.wrok.delay", "there is no path 'wrok'; did you mean 'work'?"),
        ("cycle.9", "there is no path '9'; known: work, 1, 2, 3, 4"),
        ("cycle.rest.delay", "there is no path 'rest'; known: work, 1, 2, 3, 4"),
        ("cycle.work.delay.unit", "there is no path 'unit'"),
        ("x.y", "there is no path 'x'; known: cycle"),
    ],
)
def test_replace_needs_a_parent(path: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        replace(read_text(CYCLE, "f"), path, read_value("1", "--set"))
    assert str(caught.value) == message
    assert caught.value.kind == "path"


def merged(base: Any, changes: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    both = {key: merged(base[key], changes[key]) for key in base if key in changes}
    return {**base, **changes, **both}


@given(tables, tables)
def test_merge_goes_key_by_key(base: Any, changes: Any) -> None:
    tree = merge(from_plain(base, BASE), from_plain(changes, CHANGE))
    assert plain_data(tree) == merged(base, changes)
    for path, scalar in leaves(tree):
        assert scalar.mark in (BASE, CHANGE)
        assert scalar.mark == CHANGE or node_at(from_plain(changes, CHANGE), path) is None


@given(values)
def test_merging_with_nothing_or_with_itself_changes_nothing(value: Any) -> None:
    tree = from_plain(value, BASE)
    assert plain_data(merge(tree, tree)) == value
    if isinstance(value, dict):
        assert (
            plain_data(merge(from_plain({}, BASE), tree))
            == plain_data(merge(tree, from_plain({}, BASE)))
            == value
        )


def test_merge_marks_what_both_have_where_the_changes_are() -> None:
    base = read_text("a: {x: 1}\nb: {y: [1, 2]}", "base")
    tree = merge(base, read_text("\nb: {y: [3], z: 4}", "change"))
    assert [key_mark(tree, path).file for path in ("a", "a.x", "b", "b.y", "b.z")] == [
        "base"
    ] * 2 + ["change"] * 3
    assert value_mark(tree, "b") == Mark("change", 2, 4)


def test_nodes_made_by_hand_equal_those_that_are_read() -> None:
    scalar: Node = Scalar(1, "1", Mark("f", 1, 5), quoted=False)
    listing = Listing((scalar,), Mark("f", 1, 4))
    assert read_text("a: [1]", "f") == Table(
        {"a": Entry(Mark("f", 1, 1), listing)}, Mark("f", 1, 1)
    )
