"""What check accepts, run solves: a study with any small mistake is refused by both, in the same
words.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from slipstick.cli.main import main
from slipstick.errors import NoAnswerError, SpecError
from slipstick.schema.inputs import build, build_once, resolve
from slipstick.schema.library import Library
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from tests.agreement import agree, spec

TECHNOLOGIES = """\
study: 1
base: {machine: rs6000-43p-fast-ethernet, workload: sphere-1, method: closed-form}
cases:
  faster: {technology: table-7-half}
  changed: {machine.network.adapter: 1 us, technology.processors: 16}
  other: {machine.network: atm-oc3}
seek:
  s: {of: technology.wire, from: 0.1, to: 1, where: efficiency > 0.5, points: 3, cases: [faster]}
"""

BASE = "study: 1\ntitle: t\nbase: {model: lock-and-bus}\n"
SAMPLE = (
    "sample: {of: {parameters.work: {distribution: uniform, from: 1 ms, to: 3 ms}}, samples: 16"
)


@pytest.mark.turns(4)
def test_cases_of_one_structure_share_what_follows_from_it_and_are_solved_with_their_own_numbers(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.yaml").write_text(TECHNOLOGIES)
    prepared = prepare(str(tmp_path / "s.yaml"))
    library, cases = prepared.context.library, prepared.context.cases
    built = {name: build_once(settings, library)[1] for name, settings in cases.items()}
    assert built["base"].shape is built["changed"].shape
    assert built["faster"].shape is not built["base"].shape, "it has prefetched faults"
    assert built["other"].shape is not built["base"].shape
    for name, each in built.items():
        alone = build(resolve(cases[name], Library()))
        assert each.model == alone.model, name
        assert each.free_paths == alone.free_paths == frozenset(alone.model.parameters), name
        assert list(each.shape.answer_names(None)) == list(alone.shape.answer_names(None)), name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "answer: ['acount[lock]']",
            "answer.0: no answer has the value acount[lock]; did you mean 'account[lock]'?",
        ),
        (
            f"{SAMPLE}, answer: [tme]}}",
            "sample.answer.0: no case has the value tme; did you mean 'time'?",
        ),
        (
            f"{SAMPLE}}}\npictures: [{{name: p, title: p, kind: histogram, value: speedup}}]",
            "pictures.0.value: sample does not ask for the value speedup; known: time",
        ),
        (
            (
                "vary: {population.processors: [1, 2]}\npictures: [{name: p, title: p, kind: lines,"
                " sweep: vary, x: population.processors, y: [sped]}]"
            ),
            "pictures.0.y.0: no point of vary has the value sped; did you mean 'speedup'?",
        ),
        (
            (
                "pictures: [{name: p, title: p, kind: bars, cases: [base], stack: {a:"
                " ['account[lok]']}}]"
            ),
            (
                "pictures.0.stack.a.0: no case of this picture has the value account[lok]; did you"
                " mean 'account[lock]'?"
            ),
        ),
        (
            "compare: [{title: t, columns: [base], rows: [{row: r, sum: [tme], printed: [1]}]}]",
            "compare.0.rows.0.sum.0: no case has the value tme; did you mean 'time'?",
        ),
        (
            (
                "compare: [{title: t, columns: [base], rows: [{row: r, sum: [efficiency], printed:"
                " [1]}]}]"
            ),
            "compare.0.rows.0.sum.0: efficiency is a [1]; a [us] is needed",
        ),
        (
            "agree: {methods: [convolution, bounds]}",
            "agree.methods.0: no method 'convolution' answers for base",
        ),
        (
            (
                "cases: {l: {model: law/flow-line, items: 3, once: 1 s, longest: 1 s}}\n"
                "pictures: [{name: p, title: p, kind: timeline, case: l}]"
            ),
            "a timeline takes a model",
        ),
        (
            "seek: {s: {of: parameters.work, from: 1 ms, to: 9 ms, where: own.tme > 1 s}}",
            "there is no name 'own.tme'",
        ),
        (
            "vary: {method: [closed-form, mean-value, closed-form]}",
            "vary.method.2: closed-form stands here twice",
        ),
        ("rank: {cases: [base, base]}", "rank.cases.1: base stands here twice; leave it out once"),
        (
            "rank: {of: [parameters.work, parameters.work]}",
            "rank.of.1: parameters.work stands here twice",
        ),
    ],
)
def test_a_value_that_nothing_has_is_refused_before_anything_is_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    study = Path("study.yaml")
    study.write_text(BASE + text)
    for reading in (lambda: check_file(study), lambda: prepare(str(study))):
        with pytest.raises(SpecError) as caught:
            reading()
        assert words in str(caught.value)


def test_efficiency_without_useful_work_says_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(
        "activity: 1\npopulation: {processors: 2}\n"
        "cycle: [{name: work, delay: 1 s, component: work}]\n"
    )
    Path("study.yaml").write_text("study: 1\nbase: {model: model.yaml}\nanswer: [efficiency]\n")
    words = "no component is useful; write useful: \\[COMPONENT\\] in the activity"
    with pytest.raises(SpecError, match=words):
        prepare("study.yaml")


def test_a_value_without_meaning_is_named_in_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(
        f"{BASE}  \nanswer: [time, 'time_quantile[0.5]']\n".replace(
            "bus}", "bus, method: mean-value}"
        )
    )
    with pytest.raises(SpecError, match="no answer has the value time_quantile"):
        prepare("study.yaml")
    Path("study.yaml").write_text(f"{BASE}answer: [time, 'fairness[bus]']\n")
    words = "no answer has a value of fairness[bus]: it counts waits for locks"
    assert any(note.startswith(words) for note in run(prepare("study.yaml")).notes)


def test_a_value_that_the_default_has_not_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(f"{BASE}answer: [time, 'time_quantile[0.99]']\n")
    assert main(["run", "study.yaml", "--no-html", "--out", "found", "--all"]) == 0
    assert "simulation" in capfd.readouterr().out
    words = "simulated, because time_quantile[0.99] is asked for"
    assert words in Path("found/report.md").read_text()


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_what_takes_too_much_is_one_message(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(reference: str) -> list[str]:
        raise error

    monkeypatch.setattr("slipstick.study.check.check_reference", broken)
    assert main(["check", "tour"]) == 2
    what = "memory" if error is MemoryError else "levels of calls"
    message = (
        f"error: this takes more {what} than there is; make the model, the axes or the file"
        " smaller\n"
    )
    assert capsys.readouterr().err == message


@pytest.mark.turns(6)
@pytest.mark.parametrize("number", range(40))
def test_check_and_solving_agree_about_generated_specs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    assert agree(spec(random.Random(f"agreement {number}")), tmp_path) == ""


def test_no_answer_is_not_wrong_input() -> None:
    assert not issubclass(NoAnswerError, SpecError)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            "seek: {of: parameters.work, from: 1 ms, to: 2 ms, where: time < 1 s}\n",
            "seek: each entry has a name; write seek: {NAME: {of: ...}}",
        ),
        (
            "seek: {w: {of: parameters.work, over: [1 ms, 2 ms], where: time < 1 s}}\n",
            "seek.w.over: unknown key; write from and to, and step for whole numbers",
        ),
    ],
)
def test_a_search_without_a_name_or_with_its_range_in_one_key_is_told_how_to_write_it(
    tmp_path: Path, lines: str, problem: str
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(BASE + lines)
    with pytest.raises(SpecError) as caught:
        check_file(path)
    assert any(str(found).endswith(f": {problem}") for found in caught.value.problems)
    assert {found.line for found in caught.value.problems} == {4}


def test_customers_of_a_class_are_its_population(tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_text(
        "queueing-network: 1\nclasses: {buy: {customers: 3}}\n"
        "stations: {web: {service: {buy: 1 ms}}}\n"
    )
    with pytest.raises(SpecError, match="customers: unknown key; did you mean 'population'"):
        check_file(path)
