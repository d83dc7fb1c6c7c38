"""Parameters estimated from rows: known truths come back, groups that differ are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slipstick.errors import NoAnswerError, SpecError
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Node, Scalar, from_plain
from slipstick_measure.fit.columns import ColumnUse, read_columns
from slipstick_measure.fit.estimation import (
    estimate_task,
    widening_factor,
    with_intervals_widened_by_others,
)
from slipstick_measure.fit.fitted_file import fitted_document, fitted_text
from slipstick_measure.fit.posterior import Prior, RowGroups, estimate, prior_spread
from slipstick_measure.fit.request import EstimationRequest, prepare_estimation
from slipstick_measure.report.estimation import _notes_on_parameters, estimation_text
from slipstick_measure.results import EstimatedParameter, Estimation, GroupError

ROOFLINE = """
activity: 1
parameters: {size: 1 GB, rate: 100 GB/s, share: 0.8, start: 20 us, width: 2}
population: {processors: 1}
cycle:
  - {name: move, delay: size * width / rate / share}
  - {name: start, delay: start}
"""

LOCK = """
activity: 1
parameters: {work: 9 ms, critical: 1 ms, p: 4}
population: {processors: p}
resources: {door: {lock: fifo}}
cycle:
  - {name: work, delay: work, scv: 1}
  - {hold: door, body: [{name: update, delay: critical, scv: 1, component: lock}]}
"""


def word(text: str) -> Scalar:
    return Scalar(text, text, Mark("--free", 1, 1), quoted=True)


def settings(model: Path, **more: object) -> dict[str, Node]:
    return {
        name: from_plain(value, Mark("settings", 1, 1))
        for name, value in {"model": str(model), **more}.items()
    }


def found(
    folder: Path,
    rows: str,
    free: Sequence[str],
    model: str = ROOFLINE,
    choices: Sequence[str] = (),
    groups: Sequence[str] = (),
    uses: dict[str, ColumnUse] | None = None,
    **more: Any,
) -> Estimation:
    (folder / "mine.yaml").write_text(model)
    (folder / "rows.csv").write_text(rows)
    request = EstimationRequest(
        folder / "rows.csv",
        settings(folder / "mine.yaml", **more),
        [word(each) for each in free],
        uses or {},
        [word(each) for each in choices],
        groups,
    )
    return estimate_task(prepare_estimation(request, Library()))


def called(estimated: Estimation, path: str) -> EstimatedParameter:
    return next(each for each in estimated.parameters if each.path == path)


def table(shares: dict[str, float], noise: float, seed: int, width: int = 2) -> str:
    random = np.random.default_rng(seed)
    lines = ["machine_name,parameters.size,time [us]"]
    for name, share in shares.items():
        for size in np.geomspace(1e6, 1e9, 8):
            time = (size * width / 100e9 / share + 20e-6) * np.exp(noise * random.normal())
            lines.append(f"{name},{size:.0f} B,{1e6 * time:.6g}")
    return "\n".join(lines)


def test_a_truth_comes_back_with_its_units(tmp_path: Path) -> None:
    free = ["parameters.share=0.5..1", "parameters.start=1 us..100 us"]
    estimated = found(tmp_path, table({"one": 0.71}, 0.01, 11), free)
    share, start = (called(estimated, path.partition("=")[0]) for path in free)
    assert share.low < 0.71 < share.high
    assert start.low < 20e-6 < start.high
    assert share.value == pytest.approx(0.71, rel=0.01)
    assert estimated.noise[0] == pytest.approx(0.01, rel=0.6)
    assert "No group was left out" in estimation_text(estimated)


@pytest.mark.turns(6)
def test_noise_is_assumed_where_no_row_is_left_over(tmp_path: Path) -> None:
    """Two rows meet two parameters exactly, which says nothing of their noise; of few rows the
    intervals are those of Student.
    """
    free = ["share=0.1..10", "start=1 us..1 ms"]
    two = "parameters.size,time [us]\n1 MB,45\n1 GB,25020\n"
    estimated = found(tmp_path, two, free)
    assert estimated.noise_assumed
    assert estimated.noise[0] == pytest.approx(0.03 * 2.92 / 1.645 * 2.132 / 1.645, rel=0.1)
    assert "; partly assumed, as hardly a row is left over" in " ".join(
        estimation_text(estimated).split()
    )
    held = []
    for seed in range(40):
        rows = "\n".join(table({"one": 0.71}, 0.03, seed).splitlines()[::2])
        of_four = found(tmp_path, rows, free)
        assert not of_four.noise_assumed
        held.append(of_four.parameters[0].low < 0.71 < of_four.parameters[0].high)
    assert 0.8 < np.mean(held) < 0.98


def test_a_gross_outlier_hardly_matters(tmp_path: Path) -> None:
    rows = table({"one": 0.71}, 0.01, 12) + "\none,1e9 B,90000"
    free = ["parameters.share=0.5..1", "parameters.start=1 us..100 us"]
    assert called(found(tmp_path, rows, free), free[0][:16]).value == pytest.approx(0.71, rel=0.02)


def test_groups_that_differ_are_held_by_their_spread(tmp_path: Path) -> None:
    shares = {"a": 0.60, "b": 0.72, "c": 0.80, "d": 0.66, "e": 0.9}
    free = ["parameters.share=0.5..1@machine_name", "parameters.start=1 us..100 us"]
    estimated = found(tmp_path, table(shares, 0.01, 13), free)
    assert [each.name for each in estimated.groups] == list(shares)
    assert np.mean([each.coverage for each in estimated.groups]) > 0.85
    assert max(each.width for each in estimated.groups) < 4
    factors = {each.owner: each.factor for each in called(estimated, "parameters.share").owners}
    common = called(estimated, "parameters.share").value
    for name, share in shares.items():
        assert common * factors[f"machine_name={name}"] == pytest.approx(share, rel=0.03)


def test_groups_without_an_owner_are_widened_and_named(tmp_path: Path) -> None:
    shares = {"a": 0.60, "b": 0.72, "c": 0.80, "d": 0.66}
    free = ["parameters.share=0.3..1", "parameters.start=1 us..100 us"]
    estimated = found(tmp_path, table(shares, 0.002, 14), free, groups=["machine_name"])
    assert estimated.widened > 1
    text = " ".join(estimation_text(estimated).split())
    assert "The errors of other groups, left out in turn, widen the intervals of each" in text
    few_and_missed = replace(estimated.groups[0], rows=2, coverage=0.0)
    all_inside = replace(estimated.groups[1], rows=6, coverage=1.0)
    uneven = replace(estimated, groups=(few_and_missed, all_inside))
    text_of_uneven = " ".join(estimation_text(uneven).split())
    assert "Intervals of 90 % contain 75 % of the predicted rows;" in text_of_uneven
    assert f"the intervals of later answers are widened {estimated.widened:.2f} times." in text
    assert "parameters.share" in text


def left_out(ratios: Sequence[float], name: str = "a") -> GroupError:
    """Return a group whose residuals are some multiples of the half widths of its intervals."""
    halves = (0.2,) * len(ratios)
    residuals = tuple(0.2 * ratio for ratio in ratios)
    return GroupError(name, len(ratios), 0, 0, 0, 0, 0, 0, 0, (), residuals, halves)


def test_each_group_has_the_same_weight_in_the_widening() -> None:
    """Nine of ten rows of a large group and all rows of a small one: by rows 1.0 would be enough,
    by groups the small one decides.
    """
    large = left_out([0.5] * 99 + [1.5])
    assert widening_factor([large]) == 1.0
    assert widening_factor([large, left_out([2.0])]) == pytest.approx(2.0)
    assert widening_factor([left_out([ratio]) for ratio in range(1, 11)]) == 3.0
    assert widening_factor([left_out([-ratio / 5]) for ratio in range(1, 11)]) == 1.8
    assert widening_factor([]) == 1.0


def test_a_group_does_not_widen_its_own_intervals() -> None:
    one, other = with_intervals_widened_by_others([left_out([2.0, 0.1]), left_out([0.3], "b")])
    assert (one.widened, other.widened) == (1.0, 2.0)
    assert (one.coverage, other.coverage) == (0.5, 1.0)
    assert other.halves == pytest.approx((0.4,))
    assert other.width == pytest.approx(np.exp(0.8))


def test_later_answers_are_as_wide_as_the_check_asks(tmp_path: Path) -> None:
    """The file of a fit carries the widening of the parameters and of the noise, and the table of
    parameters shows it.
    """
    shares = {"a": 0.60, "b": 0.72, "c": 0.80, "d": 0.66}
    free = ["parameters.share=0.3..1", "parameters.start=1 us..100 us"]
    estimated = found(tmp_path, table(shares, 0.002, 14), free, groups=["machine_name"])
    assert estimated.widened > 1
    document = fitted_document(estimated)
    assert document["widened"] == pytest.approx(estimated.widened, rel=1e-5)
    assert document["noise"]["time"] == pytest.approx(
        estimated.noise[0] * estimated.widened, rel=1e-5
    )
    share = called(estimated, "parameters.share")
    deviation = estimated.covariance[0][0] ** 0.5
    assert np.log(share.high / share.low) == pytest.approx(
        2 * 1.6448536 * estimated.widened * deviation
    )


def test_a_choice_is_told_by_the_rows(tmp_path: Path) -> None:
    rows = table({"a": 0.7, "b": 0.75}, 0.01, 15, width=4)
    free = ["parameters.share=0.65..0.9", "parameters.start=1 us..100 us"]
    choices = ["parameters.width=2|4@machine_name"]
    estimated = found(tmp_path, rows, free, choices=choices, groups=["machine_name"])
    assert [each.weights[1] > 0.99 for each in estimated.choices] == [True, True]


def test_what_the_rows_do_not_tell_is_named(tmp_path: Path) -> None:
    rows = "parameters.size,time [ms]\n1 GB,25\n2 GB,50\n4 GB,100\n"
    free = ["parameters.share=0.5..1", "parameters.start=1 ns..10 ns"]
    estimated = found(tmp_path, rows, free)
    assert called(estimated, "parameters.start").kept > 0.9
    assert "the rows do not determine parameters.start" in " ".join(
        estimation_text(estimated).split()
    )


@pytest.mark.turns(3)
@pytest.mark.parametrize("method", ["mean-value", "simulation"])
def test_a_model_without_a_closed_form(tmp_path: Path, method: str) -> None:
    """Nine at work and one at the lock: the times are those of the machine repairman."""
    rows = "p,time [ms]\n1,10\n4,10.46\n8,11.6\n16,16.7\n32,32\n"
    free = ["parameters.work=5 ms..20 ms", "parameters.critical=0.5 ms..2 ms"]
    more: dict[str, Any] = {"method": method}
    if method == "simulation":
        more["simulation.cycles"] = 2000
    estimated = found(
        tmp_path, rows, free, LOCK, uses={"p": ColumnUse(path="parameters.p")}, **more
    )
    assert called(estimated, "parameters.work").value == pytest.approx(9e-3, rel=0.08)
    assert called(estimated, "parameters.critical").value == pytest.approx(1e-3, rel=0.05)


def test_several_values_each_with_its_noise(tmp_path: Path) -> None:
    rows = ["p,time [ms],throughput [1/s]"]
    random = np.random.default_rng(16)
    for p in (1, 2, 4, 8, 12, 16, 24, 32):
        time = (9 + 1) * (1 + p / 40) * 1e-3
        rows.append(f"{p},{1e3 * time * np.exp(0.05 * random.normal()):.5g},")
    (tmp_path / "x").mkdir()
    estimated = found(
        tmp_path,
        "\n".join(rows),
        ["parameters.work=5 ms..20 ms", "parameters.critical=0.1 ms..2 ms"],
        LOCK,
        uses={"p": ColumnUse(path="parameters.p")},
        method="mean-value",
    )
    assert estimated.measured == ("time", "throughput")
    assert len(estimated.noise) == 2


@pytest.mark.parametrize(
    ("rows", "free", "words"),
    [
        ("parameters.sise,time [s]\n1,1\n", ["parameters.share"], "did you mean 'parameters.size'"),
        (
            "parameters.size,tim\n1 B,1\n",
            ["parameters.share"],
            "no column is a measured value of mine",
        ),
        ("parameters.size,time [s]\n1 s,1\n", ["parameters.share"], "rows.csv:2:1"),
        (
            "parameters.size,time [s]\n1 B,-1\n",
            ["parameters.share"],
            "a measured value is at least 0; got -1",
        ),
        (
            "parameters.size,time [s]\n1 B,0\n2 B,0\n",
            ["parameters.share"],
            (
                "is above 0, so that nothing can be fitted to it; leave it out, or take another"
                " column"
            ),
        ),
        ("parameters.size,time [s]\n1 B\n", ["parameters.share"], "1 cells, where the heading"),
        ("parameters.size,time [s]\n1 B,1\n", ["parameters.shar=1..2"], "did you mean"),
        (
            "parameters.size,time [s]\n1 B,1\n",
            ["parameters.size"],
            "comes from the rows, so it cannot be free",
        ),
        (
            "parameters.size,time [s]\n1 B,1\n",
            ["parameters.share=2..1"],
            ": the first must be above 0 and less than the second",
        ),
        ("parameters.size,time [s]\n1 B,1\n", ["parameters.share=0..1"], "above 0"),
        (
            "parameters.size,time [s]\n1 B,1\n",
            ["parameters.share@gpu"],
            "group is what is left out together",
        ),
        (
            "parameters.size,time [s]\n1 B,1\n",
            ["parameters.share", "parameters.share=0.1..1"],
            "stands twice among the free parameters",
        ),
        (
            "parameters.size,time [s]\n1 B,1\n",
            ["parameters.start=1 s"],
            "=low..high, between which it lies in 9 of 10 cases; got",
        ),
        (
            "parameters.size,time [s]\n",
            ["parameters.share"],
            "a table needs a heading and at least one row below it",
        ),
        ("time,time\n1,1\n", ["parameters.share"], "two columns are called"),
        (
            "time,p\n" + "1" * 200_000 + ",1\n",
            ["parameters.share"],
            "this is no table: field larger",
        ),
        (
            "parameters.none,time [s]\n1,1\n",
            ["parameters.share"],
            "; rename the column if it is not meant to be one",
        ),
        (
            "size [B],time [s]\n,1\n",
            ["share"],
            "the cell is empty, and parameters.size needs a value in every row",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, rows: str, free: Sequence[str], words: str) -> None:
    with pytest.raises(SpecError, match=r".") as error:
        found(tmp_path, rows, free)
    assert words in str(error.value)


def test_a_fit_that_has_no_value_says_so(tmp_path: Path) -> None:
    model = ROOFLINE.replace("size * width / rate / share", "size * width / rate / (share - 5)")
    with pytest.raises(NoAnswerError) as error:
        found(tmp_path, "parameters.size,time [s]\n1 GB,1\n", ["parameters.share=0.5..1"], model)
    assert str(error.value) == (
        "mine has no finite value above 0 in line 2, where the free parameters have the middle of"
        " their ranges; are the ranges right?"
    )


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (["parameters.width=2"], "a choice has two values or more:"),
        (
            ["parameters.width=1|2|3|4|5|6|7", "parameters.rate=1 B/s|2 B/s|3 B/s|4 B/s|5 B/s"],
            "; leave out unlikely values",
        ),
    ],
)
def test_choices_that_are_none_or_too_many(
    tmp_path: Path, choices: Sequence[str], words: str
) -> None:
    rows = "parameters.size,time [s]\n1 GB,1\n2 GB,2\n"
    with pytest.raises((SpecError, NoAnswerError)) as error:
        found(tmp_path, rows, ["parameters.share=0.5..1"], choices=choices)
    assert words in str(error.value)


def test_columns_that_are_used_wrongly_are_named(tmp_path: Path) -> None:
    rows = "parameters.size,time [s],speed\n1 GB,1,2\n2 GB,2,4\n"
    for use, words in (
        (ColumnUse(measured="speeds"), "an answer for mine has no value 'speeds'"),
        (ColumnUse(settings={"2": {}}), "nothing says what '4' stands for"),
    ):
        with pytest.raises(SpecError) as error:
            found(tmp_path, rows, ["parameters.share=0.5..1"], uses={"speed": use})
        assert words in str(error.value)
    no_size = ROOFLINE.replace("start: 20 us", "start: 0 s")
    with pytest.raises(SpecError, match=", which says nothing of its size; write"):
        found(tmp_path, rows, ["parameters.start"], no_size)


def test_a_table_with_too_many_models_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipstick_measure.fit.columns.MOST_MODELS", 1)
    rows = "machine,parameters.size,time [s]\nnodes-2024,1 GB,1\ngpu-node-a100,1 GB,1\n"
    with pytest.raises(SpecError, match="shape a model; take fewer values of them"):
        found(tmp_path, rows, ["parameters.share=0.5..1"], f"{ROOFLINE}machine: nodes-2024\n")


def test_columns_are_read_as_people_write_them(tmp_path: Path) -> None:
    """Headings without paths, names of machines that the model does not have, and missing cells."""
    rows = "machine,Size (GB),time [s],note\nred,1,0.025,\nblue,2,n/a,cold\nblue,4,0.1,\n"
    estimated = found(tmp_path, rows, ["share=0.5..1@machine"])
    assert [group.rows for group in estimated.groups] == [1, 1]
    assert estimated.ignored == ("note",)
    assert estimated.parameters[0].path == "parameters.share"


def test_no_row_that_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(ROOFLINE)
    (tmp_path / "rows.csv").write_text("a,time [s]\n1,1\n")
    free, wanted = [word("parameters.share")], {"a": ["2"]}
    request = EstimationRequest(
        tmp_path / "rows.csv", settings(tmp_path / "mine.yaml"), free, cells_of_chosen_rows=wanted
    )
    with pytest.raises(SpecError, match="no row is left to compare a model with"):
        prepare_estimation(request, Library())


def test_the_most_probable_value_of_a_linear_model_is_that_of_the_formula() -> None:
    """With normal noise and one mean, the posterior is known: precisions add up."""
    random = np.random.default_rng(17)
    logs = 0.4 + 0.02 * random.normal(size=(1, 400))
    prior = Prior("x", 0.0, 0.5)
    none = RowGroups({"": [""] * 400})
    posterior = estimate(lambda at: (at.T, np.ones((1, len(at), 1))), logs, none, [prior])
    assert posterior.centre[0] == pytest.approx(logs.mean(), abs=0.003)
    assert posterior.deviations[0] == pytest.approx(0.02 / 20, rel=0.35)


def test_an_owner_that_is_new_adds_the_spread() -> None:
    random = np.random.default_rng(18)
    owners = [name for name in "abcdef" for _ in range(20)]
    offsets = {name: 0.4 * random.normal() for name in "abcdef"}
    logs = np.array([[offsets[name] + 0.01 * random.normal() for name in owners]])
    prior = Prior("x", 0.0, 2.0, ("machine",))
    groups = RowGroups({"machine": owners})
    posterior = estimate(lambda at: (at.T, np.ones((1, len(at), 1))), logs, groups, [prior])
    known, new = (posterior.parameters({"machine": name}) for name in ("a", "z"))
    assert known[0][0] == pytest.approx(offsets["a"], abs=0.02)
    assert known[1][0, 0] < 0.02**2
    assert new[1][0, 0] > posterior.spread_by_parameter_and_column[0, "machine"] ** 2
    assert prior_spread(6) < posterior.spread_by_parameter_and_column[0, "machine"] < 0.8


def test_headings_keep_their_case_and_brackets(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("# made up\nGPU;utilization[bus];time [ms]\nA;1;2\n\nB;2;3\n")
    table = read_columns(tmp_path / "x.csv")
    assert table.headings == ("GPU", "utilization[bus]", "time")
    assert table.unit_by_heading == {"time": "ms"}
    assert table.lines == (3, 5)


def test_the_file_of_a_fit_is_a_spec(tmp_path: Path) -> None:
    free = ["parameters.share=0.5..1@machine_name", "parameters.start=1 us..100 us"]
    estimated = found(tmp_path, table({"a": 0.6, "b": 0.7, "c": 0.8}, 0.01, 19), free)
    (tmp_path / "fit.yaml").write_text(fitted_text(estimated))
    tree = Library().load("fitted", str(tmp_path / "fit.yaml"))
    assert tree.entries["unknowns"]


def test_names_of_columns_tell_units_and_empty_cells_are_no_rows(tmp_path: Path) -> None:
    rows = "size [MB],move_ms\n1,0.0453\n10,0.2738\n100,\n1000,25.03\n"
    uses = {"move_ms": ColumnUse(measured="time")}
    estimate_found = found(tmp_path, rows, ["parameters.share=0.5..1"], uses=uses)
    assert estimate_found.rows == 3
    assert "compared with 3 rows of time" in estimation_text(estimate_found)


def test_columns_are_given_to_parameters_by_their_names(tmp_path: Path) -> None:
    rows = "Bytes,Rate,time [us]\n1e6,100,40\n1e8,100,2500\n1e9,200,12600\n"
    uses = {
        "Bytes": ColumnUse(path="size", unit="B"),
        "Rate": ColumnUse(path="parameters.rate", unit="GB/s"),
    }
    estimated = found(tmp_path, rows, ["share=0.5..1"], uses=uses)
    assert estimated.parameters[0].value == pytest.approx(0.8, rel=0.05)
    assert estimated.ignored_numbers == ()
    with pytest.raises(SpecError, match="the model has no parameter 'sise'; did you mean 'size'"):
        found(tmp_path, rows, ["share=0.5..1"], uses={"Bytes": ColumnUse(path="sise")})


def test_numbers_that_differ_and_are_not_used_are_named_first(tmp_path: Path) -> None:
    rows = "size [B],clients,note,time [us]\n1e6,1,a,40\n1e8,2,b,2500\n1e9,3,c,25100\n"
    estimated = found(tmp_path, rows, ["share=0.5..1"])
    assert estimated.ignored_numbers == ("clients",)
    first = " ".join(estimation_text(estimated).split("Nothing")[0].split())
    assert "The numbers of clients differ between rows and are not used." in first


def test_groups_without_a_measured_value_are_not_predicted(tmp_path: Path) -> None:
    rows = table({"a": 0.6, "b": 0.7, "c": 0.8}, 0.01, 20) + "\nd,1e9 B,n/a"
    free = ["share=0.5..1@machine_name", "start=1 us..100 us"]
    estimated = found(tmp_path, rows, free)
    assert [group.name for group in estimated.groups] == ["a", "b", "c"]


def test_chosen_rows_to_fit_widen_by_their_own_groups(tmp_path: Path) -> None:
    """Four groups of one share each, which one value for all does not meet: the fifth group is
    predicted as widely as these four need when each is left out.
    """
    shares = {"a": 0.55, "b": 0.72, "c": 0.85, "d": 0.66, "e": 0.95}
    (tmp_path / "mine.yaml").write_text(ROOFLINE)
    (tmp_path / "rows.csv").write_text(table(shares, 0.002, 21))
    free = [word("parameters.share=0.3..1.2"), word("parameters.start=1 us..100 us")]
    request = EstimationRequest(
        tmp_path / "rows.csv",
        settings(tmp_path / "mine.yaml"),
        free,
        group_headings=["machine_name"],
        cells_of_fitted_rows={"machine_name": ["a", "b", "c", "d"]},
    )
    (group,) = estimate_task(prepare_estimation(request, Library())).groups
    assert group.name == "e"
    assert group.widened > 1
    assert group.coverage == 1


def test_useless_intervals_are_written_in_few_digits(tmp_path: Path) -> None:
    """Times that the model misses by a factor of 400, in groups of one row."""
    rows = "machine_name,time [us]\na,60\nb,70\nc,80"
    text = estimation_text(found(tmp_path, rows, ["share=0.5..1"], groups=["machine_name"]))
    assert "over 10^" in text
    assert all(len(word) < 25 for word in text.split())


def test_a_prediction_that_is_too_wide_says_what_to_measure(tmp_path: Path) -> None:
    shares = {"a": 0.1, "b": 0.7, "c": 5.0}
    free = ["parameters.share=0.05..9@machine_name", "parameters.start=1 us..100 us"]
    text = " ".join(estimation_text(found(tmp_path, table(shares, 0.01, 22), free)).split())
    assert (
        "An interval whose ends differ by more than a factor of 4 is of no use; measure some rows"
        " of the new group, and fit them with the others."
    ) in text


@pytest.mark.parametrize(("group_count", "assumed"), [(4, True), (5, False), (6, False)])
def test_a_spread_between_fewer_than_five_groups_is_said_to_be_assumed(
    group_count: int, assumed: bool
) -> None:
    owner = SimpleNamespace(owner="host a")
    parameter = SimpleNamespace(
        path="parameters.work", kept=0.1, least=1.0, value=2.0, most=3.0, owners=(owner,)
    )
    estimation: Any = SimpleNamespace(
        parameters=(parameter,),
        groups=range(group_count),
        score=None,
        measured=(),
        noise=(),
        noise_assumed=False,
        zeros={},
    )
    note = next(_notes_on_parameters(estimation))
    assert note.startswith("with fewer than five groups") == assumed
