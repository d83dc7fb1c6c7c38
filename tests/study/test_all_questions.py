"""What holds of every question: a sentence, tables whose rows say how they were computed, in
words, in CSV and in JSON.
"""

from __future__ import annotations

import csv
import json
import re
from itertools import chain
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.report.formatting import PAGE_WIDTH, question_section
from slipstick.report.shorten import PAGE_LINES, printed_lines
from slipstick.results.question import ResultTable
from slipstick.schema.kinds.study import QUESTIONS
from slipstick.study.run import prepare, run
from slipstick.vocabulary import METHODS
from tests.heads import paths_in
from tests.questions import whole_report
from tests.study.small_program import in_folder

STUDY = """\
study: 1
base: {model: asks.yaml}
cases: {loose: {method: closed-form}, few: {population.processors: 2}}
answer: [time, efficiency]
vary: {population.processors: [1, 4]}
measured: {runs: {data: lucier-1988}}
fits: {made: {made: {case: base, processors: [1, 2, 4, 8, 16]}, families: [amdahl, usl], at: [32]}}
compare:
  - title: T
    unit: ms
    columns: [base, few]
    rows: [{row: time, sum: [time], printed: [20, 13], within: 0.5}]
agree: {methods: [closed-form, mean-value]}
traces: {simulated: {case: base, cycles: 12}}
rank:
  of: [cycle.ask.time]
  changes: {half: {times: {cycle.ask.time: 0.5}}, less: {times: {cycle.work.delay: 0.5}}}
project:
  trends: [trend.yaml]
  base_year: 2010
  years: [2010, 2012]
  samples: 16
  watch: ["time <= 12 ms"]
seek:
  fast:
    of: cycle.ask.time
    from: 1 us
    to: 3 ms
    where: "efficiency >= 0.6"
    cases: [base, loose]
    points: 9
choose:
  vary: {population.processors: [1, 2, 4, 8]}
  minimize: 0 - population.processors
  where: efficiency >= 0.6
sample:
  of: {cycle.ask.time: {distribution: uniform, from: 2 ms, to: 4 ms}}
  samples: 16
  indices: false
bottleneck: {along: {population.processors: [1, 8]}}
scale:
  processors: {population.processors: [1, 2, 8]}
  size: {cycle.work.delay: 1}
  threshold: 70%
  ways: [time-bound]
  time: 20 ms
validation:
  rows:
    data: rows.csv
    measured: {seen: "time [ms]"}
    groups: [host]
    free: [cycle.work.delay=5 ms..20 ms]
source: own
statements: {slow: {says: few is fast, value: time, of: [few], below: [base]}}
unpublished:
  draws: 8
  inputs:
    work: {title: work, reason: made up, path: cycle.work.delay, from: 5 ms, to: 9 ms}
"""
ACTIVITY = """\
activity: 1
population: {processors: 8}
resources: {bus: {}}
cycle:
  - {name: work, delay: 9 ms, scv: 1}
  - {name: ask, service: bus, time: 3 ms, scv: 1, component: io, technology: memory}
"""
TREND = (
    "trend: 1\nsource: made up\nrates: {processors: [{from: 2000, to: 2040, factor: 1.1, spread:"
    " 10%}]}\n"
)
ROWS = "host,population.processors,seen\na,1,12\na,4,16\nb,1,13\nb,8,26\n"
KNOWN = {*(name for names in METHODS.values() for name in names), "account", "fit"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    in_folder(tmp_path, monkeypatch)
    files = {"asks.yaml": ACTIVITY, "trend.yaml": TREND, "study.yaml": STUDY, "rows.csv": ROWS}
    for name, text in files.items():
        Path(name).write_text(text)
    return tmp_path


@pytest.mark.turns(4)
def test_every_question_has_a_sentence_and_tables_that_say_how_each_row_was_computed(
    folder: Path,
) -> None:
    results = run(prepare("study.yaml"))
    assert set(results.questions) == set(QUESTIONS)
    for key, found in results.questions.items():
        assert found.sentences(), key
        head = found.headline(results.words)
        assert head or key in ("traces", "measured", "statements"), key
        titles, rows = found.decision(results.words) or ([], [])
        assert not any(map(paths_in, [*head, *titles, *chain.from_iterable(rows)])), key
        section = question_section(found)
        assert re.match(rf"## {found.title}(: .*)?\n", section), key
        assert all(
            len(line) <= PAGE_WIDTH for line in section.splitlines() if line.startswith("|")
        ), key
        for table in found.parts():
            if isinstance(table, ResultTable):
                assert table.provenance is not None, (key, table.title)
                assert len(table.provenance.methods) == len(table.provenance.exact) == len(table), (
                    key,
                    table.title,
                )
                for method in table.provenance.methods:
                    assert set(method.split(" and ")) <= KNOWN, (key, method)


@pytest.mark.turns(8)
def test_every_row_of_the_table_and_every_answer_of_json_says_its_method(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "study.yaml", "--out", "here", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {each["model"].partition("/")[0] for each in document["answers"]} >= {
        *("seek", "changes", "project", "sample", "bottleneck", "scale")
    }
    for each in document["answers"]:
        assert set(each["method"].split(" and ")) <= KNOWN, each["model"]
        assert isinstance(each["exact"], bool)
    for name in ("results.csv", "fits.csv", "statements.csv"):
        with Path("here", name).open() as file:
            for row in csv.DictReader(file):
                assert set(row["method"].split(" and ")) <= KNOWN, row
                assert row["exact"] in ("yes", "no") or row["failed"], row


@pytest.mark.turns(6)
def test_the_page_begins_with_what_was_found_and_ends_with_the_inputs(folder: Path) -> None:
    assert main(["run", "study.yaml", "--out", "here"]) == 0
    assert printed_lines(Path("here/report.md").read_text()) <= PAGE_LINES
    text = whole_report()
    head = text.partition("\n## ")[0]
    assert 3 <= sum(line.startswith("- ") for line in head.splitlines()) <= 7
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings[-2:] == ["Cases", "Inputs"]


@pytest.mark.turns(4)
def test_reports_make_a_gallery(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = "pictures: [{kind: bars, name: bars, title: Bars, cases: [base], stack: component}]\n"
    Path("study.yaml").write_text(
        "study: 1\ntitle: Asks\ntext: How long?\nbase: {model: asks.yaml}\n" + picture
    )
    assert main(["run", "study.yaml", "--out", "reports/asks"]) == 0
    assert main(["gallery", "reports/asks", "reports", "--out", "reports/README.md"]) == 0
    text = Path("reports/README.md").read_text()
    assert "## [Asks](asks/report.md)\n\nTime " in text
    assert "\n\n[![Bars](asks/bars.png)](asks/bars.svg)\n" in text
