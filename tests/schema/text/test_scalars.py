"""What plain text means in a spec; what is refused stands in test_reader."""

from __future__ import annotations

import pytest

from slipstick.schema.text import Scalar, node_at, read_text

VALUES: list[tuple[str, object]] = [
    *[(text, None) for text in ("~", "null", "Null", "NULL", "")],
    *[("true", True), ("TRUE", True), ("False", False)],
    *[("0", 0), ("-5", -5), ("+5", 5), ("0o17", 15), ("0xfF", 255), ("9" * 18, 10**18 - 1)],
    *[(hex(10**18 - 1), 10**18 - 1), (oct(10**18 - 1), 10**18 - 1), ("-" + "9" * 18, 1 - 10**18)],
    *[
        ("1e3", 1e3),
        ("2.5e9", 2.5e9),
        ("1E+3", 1e3),
        (".5", 0.5),
        ("1.", 1.0),
        ("-1.5e-3", -1.5e-3),
        ("0e999", 0.0),
    ],
    *[
        (text, text)
        for text in (
            "no",
            "off",
            "yes",
            "on",
            "y",
            "N",
            "12:30",
            "1:30:00",
            "2026-01-02",
            "2026-13-45",
        )
    ],
    *[
        (text, text)
        for text in ("1_000", "0x", "0o9", "-0x1", "nan", "inf", "5 ms", "1e", "+", ".", "٣")
    ],
    *[("'017'", "017"), ('".inf"', ".inf"), ("''", ""), ('"a\\tb\\u00e9"', "a\tb\u00e9")],
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("text", "value"), VALUES, ids=[repr(text) for text, _ in VALUES])
def test_plain_text_means_what_the_core_schema_says(text: str, value: object) -> None:
    node = node_at(read_text(f"a: {text}\n", "f.yaml"), "a")
    assert isinstance(node, Scalar)
    assert (node.value, type(node.value), node.quoted) == (
        value,
        type(value),
        text[:1] in tuple("'\""),
    )
