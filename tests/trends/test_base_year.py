"""A projection that begins after the year of its machine names the year of the other values."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.study.run import prepare, run
from slipstick_trends.project import ProjectResult
from slipstick_trends.sentences import headlines_by_subject
from tests.questions import result_of

MODEL = """\
activity: 1
machine: epyc-genoa-9654
population: {processors: 2}
cycle: [{name: sweep, bytes: 1 GB}]
"""
STUDY = """\
study: 1
title: x
base: {{model: code.yaml}}
answer: [time]
project: {{trends: [measured], years: {{from: {first}, to: 2030, step: 2}}}}
"""


@pytest.mark.parametrize(
    ("first", "is_said"),
    [(2022, False), (2026, True)],
)
def test_a_later_start_names_the_year_of_values_as_given(
    first: int, is_said: bool, tmp_path: Path
) -> None:
    (tmp_path / "code.yaml").write_text(MODEL)
    (tmp_path / "x.yaml").write_text(STUDY.format(first=first))
    result = result_of(run(prepare(str(tmp_path / "x.yaml"))), ProjectResult)
    heads = headlines_by_subject(result.projection, result.projection.words)
    text = " ".join(sentence for sentences in heads.values() for sentence in sentences)
    assert f"rom {first} to 2030 time " in text
    assert ("; values as given are those of 2022" in text) == is_said
