"""No program reads the words of a sentence: a reason, a note or an error says its kind by its
class, see `slipstick.errors.TypedSentence`.
"""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipstick.errors import MissingValue, NoAnswerError, Saturated, with_kind_of
from tests.house.code import functions, modules, name_of

SENTENCES = re.compile(
    r"(^|_)(reason|note|message|refusal|sentence|failed|error|doubt|hint|suggestion)$"
)
"""Names of what holds a sentence."""

READERS = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "split",
}
READERS |= {"find", "index"}
MATCHERS = {"findall", "search", "match", "fullmatch"}

PROGRAMS = re.compile(
    r"slipstick(\.(method|study|structure|sim|results|cli|queueing|schema|expression|report)\b"
    r"|_(questions|trends|chains|mean_value|rounds|pages|pictures)\b)"
)
"""Packages whose code acts on answers. A reader of files reads the text of libraries."""

EXCEPTIONS: set[tuple[str, str]] = set()
"""Functions that read the words of a sentence, and why they must."""


def _name(node: ast.expr) -> str:
    """Return the last name of an expression: of `remarks.failed or ""`, `failed`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.BoolOp(values=[first, *_]) | ast.Call(func=ast.Name(id="str"), args=[first]):
            return _name(first)
        case ast.Call(func=ast.Attribute(value=inner)) | ast.Subscript(value=inner):
            return _name(inner)
    return ""


def _is_fixed_text(node: ast.expr) -> bool:
    """Return whether an expression is a text that is not empty, or a constant of a module."""
    match node:
        case ast.Constant(value=str(text)):
            return bool(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
    return isinstance(node, ast.JoinedStr)


def _read_sentences(node: ast.AST) -> list[ast.expr]:
    """Return the expressions whose words a piece of code reads."""
    match node:
        case ast.Call(func=ast.Attribute(value=text, attr=method)) if method in READERS:
            return [text]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[_, *texts]):
            return texts if method in MATCHERS else []
        case ast.Compare(left=words, ops=[ast.In() | ast.NotIn()], comparators=[text]):
            return [text] if _is_fixed_text(words) else []
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()], left=left, comparators=[right]):
            sides = (left, right)
            return list(sides) if any(map(_is_fixed_text, sides)) else []
    return []


def readers(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each place of a module that reads the words of a sentence, with its function."""
    for function in functions(path):
        for node in ast.walk(function):
            if any(SENTENCES.search(_name(text)) for text in _read_sentences(node)):
                yield name_of(path), function.name, ast.unparse(node)


def test_no_program_reads_the_words_of_a_sentence() -> None:
    found = {
        place for path in modules() if PROGRAMS.match(name_of(path)) for place in readers(path)
    }
    assert {place[:2] for place in found} == EXCEPTIONS, "\n".join(map(str, found))


@pytest.mark.parametrize(
    "code",
    [
        'reason.endswith("no time")',
        "SATURATED in (remarks.failed or '')",
        'next(note for note in notes if note.startswith(f"{name} has"))',
        'str(error) == "too short"',
        're.search("saturated", answer.failed)',
    ],
)
def test_the_rule_finds_what_reads_words(code: str, tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(f"def reader():\n    return {code}\n")
    nodes = ast.walk(ast.parse(path.read_text()))
    texts = [text for node in nodes for text in _read_sentences(node)]
    assert any(SENTENCES.search(_name(text)) for text in texts)


@pytest.mark.parametrize("code", ["row in failed", 'reason == ""', 'name.startswith("amount[")'])
def test_the_rule_passes_other_comparisons(code: str) -> None:
    nodes = ast.walk(ast.parse(code))
    texts = [text for node in nodes for text in _read_sentences(node)]
    assert not any(SENTENCES.search(_name(text)) for text in texts)


def test_the_kind_of_a_sentence_goes_with_an_error_and_between_processes() -> None:
    error = NoAnswerError(Saturated("door is saturated"))
    assert isinstance(str(error), Saturated)
    assert isinstance(str(pickle.loads(pickle.dumps(error))), Saturated)
    assert str(error) == "door is saturated"
    missing = MissingValue("t has no value: too large", value_name="t", reason="too large")
    for protocol in (2, 4, 5):
        note = pickle.loads(pickle.dumps(missing, protocol))
        assert (note, note.value_name, note.reason) == (missing, "t", "too large")
        assert type(note) is MissingValue


def test_a_text_takes_the_kind_of_the_first_sentence_with_one() -> None:
    assert type(with_kind_of("both", "plain", Saturated("x"))) is Saturated
    assert type(with_kind_of("both", "plain")) is str
    missing = MissingValue("t has no value: x", value_name="t", reason="x")
    note = with_kind_of("of case a: t has no value: x", "plain", missing, Saturated("y"))
    assert isinstance(note, MissingValue)
    assert (note, note.value_name, note.reason) == ("of case a: t has no value: x", "t", "x")
