"""The reader: what it accepts, every refusal word for word, and that nothing else ever comes
out.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

import slipstick.schema.text as module
from slipstick.errors import SpecError
from slipstick.schema.text import (
    Mark,
    Node,
    Table,
    key_mark,
    plain_data,
    read_file,
    read_text,
    read_value,
    value_mark,
)

LOADERS = [yaml.CSafeLoader, yaml.SafeLoader]

ACTIVITY = """\
activity: 1
population: {processors: 8}
useful: [busy]
resources:
  {bus: {servers: 1, discipline: fcfs}, door: {lock: fifo}, meet: {barrier: central, cost: 5 us}}
cycle:
  - {name: work, delay: 9 ms, scv: 1, component: busy}
  - hold: door
    body: [{name: crit, service: bus, time: 1 ms, component: lock}]
  - {fork: [[{name: a, delay: 1 s}], [{name: b, delay: "2 s"}]]}
  - barrier: meet
"""
NETWORK = """\
# a central server
queueing-network: 1
title: |
  The central server,
    with a disk
classes:
  jobs: {population: 20, think_time: 5 s}
stations:
  cpu:
    servers: 1
    demand: {jobs: 5 ms}
  'disk': {servers: 2, discipline: fcfs, visits: {jobs: 3}}
  pool: {rates: [1, 2, 2.5], demand: {jobs: 1e-3 s}}
"""
STUDY = """\
study: 1
base: {machine: two-socket, workload: web}
cases:
  ssd: {workload.disk.demand: 1 ms}
  both: {use: [ssd], arrivals: 180 /s}
note: >-
  folded
  text
last: 'it''s'
"""
SPECS = [ACTIVITY, NETWORK, STUDY]

SHARE = "is not allowed; share values with `extends:`, or put text in quotes"
FINITE = "is not a finite number; write one, or put quotes around text"
LONG = "is an integer of more than 18 digits; write it as in 1e20, or quote it as text"
DOUBLE = "a double; write 0, or a size from 5e-324 to 1.7e308"
KEY_LINE = "a key must be text on one line; a list, a mapping or a block cannot be one"
NO_KEY = "a key is missing; write a name, in quotes if it is 'null' or '~'"
NO_ESCAPE = "an escape in these quotes is not a character: a lone surrogate or above U+10FFFF"
CLOSE = "the bracket opened here must be closed, or a ',' written, before"
NOT_YAML = "this is not YAML; check indentation, brackets and quotes"
AMPERSAND = f"what begins with '&', '*' or '!' {SHARE}"

REFUSED = {
    "a: 017": "1:4: a: '017' is ambiguous; write 17 or 0o17",
    "a: {b: 08}": "1:8: a.b: '08' is ambiguous; write 8",
    "a: [1, -017]": "1:8: a.1: '-017' is ambiguous; write -17",
    "a: .inf": f"1:4: a: '.inf' {FINITE}",
    "a: -.INF": f"1:4: a: '-.INF' {FINITE}",
    "a: .NaN": f"1:4: a: '.NaN' {FINITE}",
    "a: 1e400": f"1:4: a: '1e400' overflows {DOUBLE}",
    "a: -1e400": f"1:4: a: '-1e400' overflows {DOUBLE}",
    "a: 1e-400": f"1:4: a: '1e-400' underflows {DOUBLE}",
    "a: 1234567890123456789": f"1:4: a: '1234567890123456789' {LONG}",
    "a: 0xffffffffffffffff": f"1:4: a: '0xffffffffffffffff' {LONG}",
    "a: " + "9" * 5000: f"1:4: a: '{'9' * 56}... {LONG}",
    "a: &b c": f"1:4: a: the anchor '&b' {SHARE}",
    "a: *b": f"1:4: a: the alias '*b' {SHARE}",
    "<<: {a: 1}": f"1:1: the merge key '<<' {SHARE}",
    "a: !x y": f"1:4: a: the tag '!x' {SHARE}",
    "a: !!timestamp x": f"1:4: a: the tag '!!timestamp' {SHARE}",
    "a: &": f"1:5: {AMPERSAND}",
    "a:\n  b: 1\n  c: 2\n  b: 3": "4:3: a.b: key 'b' already stands in line 2; keep one of them",
    "1: a\n'1': b": "2:1: 1: key '1' already stands in line 1; keep one of them",
    "? [a, b]\n: c": f"1:3: {KEY_LINE}",
    "a:\n  ? {b: 1}\n  : c": f"2:5: a: {KEY_LINE}",
    "? |\n  a\n: b": f"1:3: {KEY_LINE}",
    "null: a": f"1:1: {NO_KEY}",
    "~: a": f"1:1: {NO_KEY}",
    "'': a": f"1:1: {NO_KEY}",
    "a: 1\n---\nb: 2": "2:1: a second document begins here; write one per file",
    "": "1:1: the file is empty; begin with the kind of spec, as in 'activity: 1'",
    "# nothing\n": "1:1: the file is empty; begin with the kind of spec, as in 'activity: 1'",
    "---\n": "1:1: the file is empty; begin with the kind of spec, as in 'activity: 1'",
    "text": (
        "1:1: a spec consists of 'key: value' lines; begin with the kind of spec, as in "
        "'activity: 1'"
    ),
    "\n- 1\n": (
        "2:1: a spec consists of 'key: value' lines; begin with the kind of spec, as in "
        "'activity: 1'"
    ),
    "a:\n\tb: 1": "2:1: a tab stands here; write spaces",
    "a: b\0": "1:5: the character U+0000 is not text; remove it",
    "a: b\u2028c: d": "1:5: the character U+2028 is not text; remove it",
    "a: \ud800": "1:4: the character U+D800 is not text; remove it",
    'a: "\\x07"': "1:4: a: the character U+0007 is not text; remove it",
    'a: "\\ud800"': f"1:4: {NO_ESCAPE}",
    'a: "b\\q"': (
        r"1:4: a '\' between double quotes begins an escape; write '\\', or use single quotes"
    ),
    "# c\n\n%YAML 1.1\n---\na: 1": "3:1: a file needs no '%' line; leave it out",
    "a: " + "b" * 8193: "1:4: a: a text of 8,193 characters; at most 8,192 can be written",
    "b" * 257 + ": 1": f"1:1: the key '{'b' * 56}... has 257 characters; at most 256 are allowed",
    "a: " + "[" * 500: (
        f"1:67: a{'.0' * 63}: nested more than 64 deep; name the parts and use less depth"
    ),
    "a: [" + "1," * 60_000 + "]": (
        "1:100001: a.49998: more than 50,000 values; split the file, use `extends:`, "
        "or allow more with --limit spec_values=NUMBER (limits: in a study, limits= in Python)"
    ),
    "a" * (2**20 + 1): (
        "1:1: 1,048,577 bytes are too many; the limit is 1,048,576: split the file, use `extends:`,"
        " or allow more with --limit spec_bytes=1.1e+06 (limits: in a study, limits= in Python)"
    ),
    "a: b: c": "1:5: ':' cannot stand here; quote text with ': ' in it, or check the indentation",
    "a:\n  b {c: 1, d: 2}": "2:3: write a ':' and a space after b",
    "a:\n- b:{c: 1, d: 2}": "2:3: write a ':' and a space after b",
    "a: {b 5 ms}": (
        "1:5: a: 'b 5 ms' is no 'key: value'; write a ':' and a space after the key, or quotes"
        " around a text that has a comma"
    ),
    "a: {b = 5}": (
        "1:5: a: 'b = 5' is no 'key: value'; write a ':' and a space after the key, or quotes"
        " around a text that has a comma"
    ),
    "a: - b": "1:4: '-' cannot stand here; give each item a line of its own",
    "a: 1\nb\nc: 2": "2:1: this is no 'key: value'; write a ':' and a space after the key",
    "a: @b": "1:4: a value cannot begin with '@'; put it in quotes",
    "a: 1\nb: 'c\nd: 2": "2:4: the quotes opened here are not closed",
    "a: [1, 2\nb: 3": f"1:4: {CLOSE} ':' in line 2",
    "a: {b: 1": f"1:4: {CLOSE} the end of the file",
    "a: {b:}": "1:6: put a space after ':'",
    "a: [b?]": "1:6: text with '?' within brackets must be in quotes",
    "a: >#": "1:4: after '|' or '>' the text begins on the next line",
    "a: [,]": "1:5: a value is missing before ',' in line 1, or must be in quotes",
    "a:\n  b: 1\n c: 2": "3:2: this does not fit the block begun in line 1; check the indentation",
    "{a: 1} b": f"1:8: {NOT_YAML}",
}


@pytest.fixture(params=LOADERS, ids=["libyaml", "PyYAML"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOADER", request.param)


def refusal(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        read_text(text, "f.yaml")
    return str(caught.value)


@pytest.mark.turns(5)
@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "message"), REFUSED.items(), ids=[repr(text[:20]) for text in REFUSED]
)
def test_each_refusal_word_for_word(text: str, message: str) -> None:
    assert refusal(text) == f"f.yaml:{message}"


@pytest.mark.usefixtures("loader")
def test_all_problems_come_at_once_also_those_before_a_syntax_error() -> None:
    text = "a: 017\nb: *c\na: 1\nd: [\n"
    assert refusal(text).splitlines() == [
        "f.yaml:1:4: a: '017' is ambiguous; write 17 or 0o17",
        f"f.yaml:2:4: b: the alias '*c' {SHARE}",
        "f.yaml:3:1: a: key 'a' already stands in line 1; keep one of them",
        (
            "f.yaml:4:4: the bracket opened here must be closed, or a ',' written, before the end"
            " of the file"
        ),
    ]


def test_an_escape_beyond_unicode_is_refused_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    for loader in LOADERS:
        monkeypatch.setattr(module, "LOADER", loader)
        assert refusal('"\\Uffffffff"') == f"f.yaml:1:1: {NO_ESCAPE}"


@pytest.mark.usefixtures("loader")
def test_keys_are_the_text_that_was_written() -> None:
    assert plain_data(read_text("1: a\n1.0: b\ntrue: c\n'null': d\n'<<': e\n", "f")) == dict(
        zip(["1", "1.0", "true", "null", "<<"], "abcde", strict=True)
    )


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_key_and_value_knows_its_place(end: str, mark: str) -> None:
    tree = read_text(mark + NETWORK.replace("\n", end), "f")
    places = {
        "queueing-network": ((2, 1), (2, 19)),
        "title": ((3, 1), (3, 8)),
        "classes": ((6, 1), (7, 3)),
        "classes.jobs": ((7, 3), (7, 9)),
        "classes.jobs.think_time": ((7, 26), (7, 38)),
        "stations.cpu": ((9, 3), (10, 5)),
        "stations.cpu.demand.jobs": ((11, 14), (11, 20)),
        "stations.disk": ((12, 3), (12, 11)),
        "stations.disk.visits.jobs": ((12, 51), (12, 57)),
        "stations.pool.rates": ((13, 10), (13, 17)),
        "stations.pool.rates.2": ((13, 24), (13, 24)),
    }
    for path, (key, value) in places.items():
        assert key_mark(tree, path) == Mark("f", *key), path
        assert value_mark(tree, path) == Mark("f", *value), path


@pytest.mark.usefixtures("loader")
def test_a_missing_value_stands_where_its_key_does() -> None:
    tree = read_text("a: {b: , c}\nd:\ne:\n- \n", "f")
    assert [value_mark(tree, path).column for path in ("a.b", "a.c", "d", "e.0")] == [5, 10, 1, 2]


def read_with(loader: object, text: str) -> Node | SpecError:
    before, module.LOADER = module.LOADER, loader
    try:
        return read_text(text, "f")
    except SpecError as error:
        return error
    finally:
        module.LOADER = before


@st.composite
def mutated(draw: st.DrawFn, bits: str) -> str:
    text = draw(st.sampled_from(SPECS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        text = (
            text[:start] + draw(st.text(bits, max_size=3)) + text[start + draw(st.integers(0, 6)) :]
        )
    return text


@given(
    st.one_of(
        mutated(":-[]{},'\"#&*!|>?%@`<~=. \n\t\r\\\0\x85é\ud800017aeunx"),
        st.text(),
        st.binary().map(repr),
    )
)
@example('a: "\\U00110000"')
@example("? ")
def test_nothing_but_a_tree_or_problems_with_a_place(text: str) -> None:
    for loader in LOADERS:
        result = read_with(loader, text)
        assert isinstance(result, Table | SpecError)
        if isinstance(result, SpecError):
            assert all(
                1 <= problem.line <= text.count("\n") + text.count("\r") + 1
                for problem in result.problems
            )
            assert all(problem.column >= 1 for problem in result.problems)


@given(mutated(":-[]{},'\"#.0179e ?>|%@~ \nabn"))
def test_libyaml_and_pyyaml_accept_the_same(text: str) -> None:
    ours, other = (read_with(loader, text) for loader in LOADERS)
    if isinstance(ours, Table) or isinstance(other, Table):
        assert ours == other
    # Else both refuse. Of two syntax errors libyaml, which looks further ahead, may meet the other
    # one first.


@given(st.binary(max_size=200))
def test_any_bytes_as_a_file(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    with contextlib.suppress(SpecError):
        assert isinstance(read_file(path), Table)


@pytest.mark.parametrize("text", ["3", "20 B", "[20 B, 4120 B]", "true", "{a: 1}", ""])
def test_a_value_alone_means_what_it_means_in_a_spec(text: str) -> None:
    spec = read_text(f"a: {text}", "f")
    assert isinstance(spec, Table)
    assert plain_data(read_value(text, "--set")) == plain_data(spec.entries["a"].node)


def file_refusal(path: Path | str) -> str:
    with pytest.raises(SpecError) as caught:
        read_file(path)
    return str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = "this is a pipe or a device; only regular files are read"
    missing = "there is no such file; check its name"
    assert file_refusal(tmp_path / "pipe") == f"{tmp_path}/pipe:1:1: {pipe}"
    assert file_refusal("/dev/zero") == f"/dev/zero:1:1: {pipe}"
    assert file_refusal(tmp_path) == f"{tmp_path}:1:1: this is a directory; name a file in it"
    assert file_refusal(tmp_path / "none") == f"{tmp_path}/none:1:1: {missing}"
    assert file_refusal("a\0b") == f"'a\\x00b':1:1: {missing}"
    assert (
        file_refusal("/dev/null/a") == "/dev/null/a:1:1: the file cannot be read: Not a directory"
    )


def test_files_that_are_no_text_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("a: é\nb: ".encode() + b"\xff")
    assert file_refusal(path) == f"{path}:2:4: byte 0xff is not UTF-8; save the file as UTF-8 text"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    too_many = (
        "50,000,000 bytes are too many; the limit is 1,048,576: split the file, use `extends:`, or"
        " allow more with"
    )
    assert file_refusal(path).startswith(f"{path}:1:1: {too_many} --limit spec_bytes=5.2e+07 (")
    path.write_text(ACTIVITY)
    assert plain_data(read_file(path)) == plain_data(read_text(ACTIVITY, "f"))


def test_the_reader_starts_without_the_heavy_libraries() -> None:
    code = (
        "import sys, slipstick.schema.text as r; sys.exit(bool({'pydantic', 'numpy', 'sympy'} &"
        " set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.turns(4)
def test_whatever_is_no_text_cannot_be_printed() -> None:
    # The pattern is left out where everything can be printed, so it must find nothing there.
    odd = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if re.match(module._FORBIDDEN_CHARACTERS, chr(code))
    ]
    assert len(odd) > 2000
    assert not [each for each in odd if each.isprintable()]
    assert all(next(module._forbidden_characters(f"a\n{each}"))[0] == each for each in odd)
