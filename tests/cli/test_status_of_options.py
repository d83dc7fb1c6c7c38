"""The status of a report whose run had options: the study is prepared again with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.cli.main import main

STUDY = "study: 1\nbase: {model: lock-and-bus, method: closed-form}\nanswer: [time]\n"


@pytest.mark.parametrize(
    "options",
    [[], ["--limit", "time=60s"], ["--set", "parameters.work=3 ms", "--limit", "states=1e5"]],
)
def test_a_report_of_a_run_with_options_is_up_to_date(
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(STUDY)
    assert main(["run", "s.yaml", "--out", "out", "--no-html", *options]) == 0
    capsys.readouterr()
    assert main(["status", "out"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("out is up to date: slipstick run s.yaml")
    assert all(option.partition("=")[0] in printed for option in options)
