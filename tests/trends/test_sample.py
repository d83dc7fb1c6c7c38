"""Samples beside the quantiles and the shares of the variance that theory gives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from scipy import stats

from slipstick.errors import SpecError
from slipstick.report.head import head_lines
from slipstick.study.check import check_file
from slipstick_trends.sample import SampleResult, SampleStudy, _quantiles_of_points
from slipstick_trends.specs import HistogramSpec
from tests.questions import reported, result_of
from tests.study.small_program import alone, found, in_folder

SAMPLE = """\
sample:
  of:
    parameters.memory: {distribution: normal, mean: 3 ms, deviation: 0.3 ms}
    parameters.computing: {distribution: normal, mean: 6 ms, deviation: 0.4 ms, assumed: true}
  samples: 4096
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return in_folder(tmp_path, monkeypatch)


def sampling(text: str = SAMPLE, base: str = "{model: model.yaml}", jobs: int = 1) -> SampleStudy:
    (made,) = result_of(found(text, base=base, jobs=jobs), SampleResult).samples
    return made


def test_a_sum_of_normals_is_normal_and_its_variance_is_shared_out(folder: Path) -> None:
    (time,) = sampling().outcomes
    theory = stats.norm(9.8e-3, 0.5e-3)
    assert time.mean == pytest.approx(9.8e-3, rel=1e-4)
    for part, (middle, low, high) in time.quantiles.items():
        assert middle == pytest.approx(theory.ppf(part), rel=2e-3)
        assert low < theory.ppf(part) < high
        assert high - low < 1e-4
    assert list(time.quantiles) == [0.05, 0.5, 0.95]
    # Nothing acts together: 0.16 and 0.09 of 0.25.
    assert [each.path for each in time.influences] == ["parameters.computing", "parameters.memory"]
    for found_, expected in zip(time.influences, (0.64, 0.36), strict=True):
        assert [found_.first_order, found_.total] == pytest.approx([expected] * 2, abs=0.02)


def test_the_part_of_the_draws_in_which_a_condition_is_true_is_that_of_theory(
    folder: Path,
) -> None:
    limits = {"9.8 ms": 0.5, "10 ms": stats.norm.cdf(0.4), "9 ms": stats.norm.cdf(-1.6)}
    watched = ", ".join(f"time <= {limit}" for limit in limits)
    conditions = sampling(f"{SAMPLE}  watch: [{watched}]\n").conditions
    for condition, part in zip(conditions, limits.values(), strict=True):
        assert condition.share == pytest.approx(part, abs=0.003)
        assert condition.low < part < condition.high
        assert condition.high - condition.low < 0.02


@pytest.mark.parametrize(
    ("title", "limit", "beginning"),
    [
        ("Does a step end in time?", "10 ms", "Probably: time is at most 10 ms in 65."),
        ("Does a step end in time?", "9 ms", "Probably not: time is at most 9 ms in 5."),
        ("Does a step end in time?", "9.8 ms", "Undecided: time is at most 9.8 ms in "),
        ("Does a step end in time?", "20 ms", "Yes: time is at most 20 ms in 100 % of the draws."),
        ("Does a step take longer than 10 ms?", "10 ms", "Time is at most 10 ms in 65."),
    ],
)
def test_a_title_that_asks_yes_or_no_is_answered_by_the_part_of_the_draws(
    title: str, limit: str, beginning: str, folder: Path
) -> None:
    """A statement about the values as given says nothing of uncertain ones."""
    statement = f"statements: {{short: {{value: time, of: [base], to: {limit}, says: It ends}}}}"
    text = (f"title: {title}", f"{SAMPLE}  watch: [time <= {limit}]", statement)
    head = head_lines(found(*text), ["time"])
    assert head[0].startswith(beginning)
    unwatched = head_lines(found(f"title: {title}", SAMPLE, statement), ["time"])
    assert unwatched[0].startswith("Time 9.798 ms (median)")
    assert any(line.startswith("With the inputs as the study has them: ") for line in unwatched)


def test_what_acts_together_shows_in_the_totals_only(folder: Path) -> None:
    text = """\
sample:
  of:
    parameters.messages: {distribution: discrete, values: [0, 80]}
    parameters.latency: {distribution: discrete, values: [10 us, 30 us]}
    parameters.memory: {distribution: uniform, from: 3 ms, to: 3 ms}
  samples: 2048
"""
    (time,) = sampling(text).outcomes
    # n l with n 0 or 80 and l 10 or 30: variance 1600^2/2 ... first order of n 0.8, of l 0.1,
    # together 0.1
    values = np.array([0.0, 0.0, 800.0, 2400.0])
    whole = values.var()
    of_n, of_l = np.array([0.0, 1600.0]).var() / whole, np.array([400.0, 1200.0]).var() / whole
    got = {each.path: [each.first_order, each.total] for each in time.influences}
    assert got["parameters.messages"] == pytest.approx([of_n, 1 - of_l], abs=0.05)
    assert got["parameters.latency"] == pytest.approx([of_l, 1 - of_n], abs=0.05)
    assert got["parameters.memory"] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_points_are_those_solved_alone(folder: Path) -> None:
    text = SAMPLE.replace("4096", "16").replace(
        "  samples", "  indices: false\n  answer: [efficiency]\n  samples"
    )
    made = sampling(text + "  band: 50%\n")
    (outcome,) = made.outcomes
    assert outcome.name == "efficiency"
    assert list(outcome.quantiles) == [0.25, 0.5, 0.75]
    assert (outcome.influences, outcome.why) == ((), "")
    assert outcome.stated == pytest.approx(alone("efficiency"))


@pytest.mark.turns(4)
def test_the_result_is_the_same_for_any_number_of_workers(folder: Path) -> None:
    mean_value = "{model: model.yaml, method: mean-value}"
    one, four = (sampling(base=mean_value, jobs=jobs).outcomes[0] for jobs in (1, 4))
    assert one.points.tolist() == four.points.tolist()
    assert one.influences == four.influences
    assert sampling(SAMPLE + "  seed: 5\n").outcomes[0].points.tolist() != one.points.tolist()


def test_even_points_are_surer_than_random_ones(folder: Path) -> None:
    even, random = (
        sampling(SAMPLE + f"  draw: {draw}\n").outcomes[0] for draw in ("quasi-random", "random")
    )
    theory = stats.norm(9.8e-3, 0.5e-3).ppf(0.95)
    assert random.quantiles[0.95][0] == pytest.approx(theory, rel=5e-3)
    width = {
        each: high - low
        for each, (_, low, high) in (
            ("even", even.quantiles[0.5]),
            ("random", random.quantiles[0.5]),
        )
    }
    assert width["even"] < width["random"]


def test_points_without_an_answer_are_counted(folder: Path) -> None:
    text = (
        "sample:\n  of: {arrivals: {distribution: uniform, from: 1 /s, to: 3 /s}}\n  samples: 256\n"
        "  answer: [response_time]\n"
    )
    made = sampling(
        text.replace("response_time", "response"),
        base="{model: law/mm1-response-time, arrivals: 1 /s, service: 0.5 s}",
    )
    # Of 1 to 3 /s the upper half saturates the station.
    assert made.without == 128
    (outcome,) = made.outcomes
    assert outcome.why == "128 points have no answer, so the variance cannot be shared out"


def test_a_class_of_cost_is_sampled_around_its_middle(folder: Path) -> None:
    text = (
        "sample:\n  of: {technology.adapter: {distribution: triangular, from: 0.5, mode: 1, to:"
        " 2}}\n  samples: 64\n"
    )
    made = sampling(text)
    assert made.of == {"technology.adapter": "triangular: from 0.5, mode 1, to 2"}
    (outcome,) = made.outcomes
    assert [(each.first_order, each.total) for each in outcome.influences] == [(1.0, 1.0)]


@pytest.mark.turns(4)
def test_the_page_the_table_and_json_have_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = "pictures:\n  - {name: hist, kind: histogram, title: Time, value: time}\n"
    Path("study.yaml").write_text("study: 1\nbase: {model: model.yaml}\n" + SAMPLE + picture)
    printed, page, rows, document = reported("sample", capsys)
    assert (
        " of the points, 9.8 ms on average, 9.8 ms as stated; parameters.computing causes the"
        " largest part of the variance" in printed
    )
    assert "- `parameters.computing`: normal: mean 6 ms, deviation 0.4 ms, a guess" in page
    assert Path("here/hist.png").is_file()
    assert [row["quantile"] for row in rows] == ["0.05", "0.5", "0.95"]
    assert float(rows[1]["low time [s]"]) < 9.8e-3 < float(rows[1]["high time [s]"])
    answers = document["answers"]
    assert [each["point"]["quantile"] for each in answers] == [0.05, 0.5, 0.95]


WRONG = [
    (
        "parameters.memory:",
        "parameters.memry:",
        ("no answer of base depends continuously on parameters.memry; did you mean"),
    ),
    (
        "mean: 3 ms, deviation: 0.3 ms",
        "mean: 3, deviation: 0.3",
        "parameters.memory has the unit [s], but its distribution has [1]",
    ),
    (
        "deviation: 0.3 ms",
        "deviation: 3 ms",
        "got -14.99 ms; one of its values is not allowed, so choose another distribution",
    ),
    (
        "distribution: normal, mean: 3 ms",
        "distribution: gauss, mean: 3 ms",
        "write 'normal', 'lognormal', 'uniform', ",
    ),
    ("deviation: 0.3 ms", "deviation: 0.3", "a [1] does not go with a [s]"),
    ("deviation: 0.3 ms", "deviation: -0.3 ms", "deviation: must be at least 0 s, got -300 us"),
    ("samples: 4096", "samples: 4000", "points come in powers of two; write 512 or 1024, not 4000"),
    (
        "samples: 4096",
        "cases: [bass]",
        "sample.cases.0: there is no case 'bass'; did you mean 'base'?",
    ),
    ("samples: 4096", "draw: sobol", "sample.draw: write 'quasi-random' or 'random'; got 'sobol'"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_before_anything_is_solved(
    folder: Path, old: str, new: str, words: str
) -> None:
    assert old in SAMPLE
    Path("study.yaml").write_text(
        "study: 1\nbase: {model: model.yaml}\n" + SAMPLE.replace(old, new)
    )
    with pytest.raises(SpecError) as caught:
        check_file(Path("study.yaml"))
    assert words in str(caught.value)


def test_a_picture_of_no_sample_is_refused(folder: Path) -> None:
    picture = "pictures: [{name: x, kind: histogram, title: x, value: time}]\n"
    Path("study.yaml").write_text("study: 1\nbase: {model: model.yaml}\n" + picture)
    with pytest.raises(
        SpecError, match="shows sample, which the study does not ask for; add the key sample"
    ):
        check_file(Path("study.yaml"))


def test_the_interval_of_a_quantile_is_that_of_a_mean_of_eight_sets() -> None:
    medians = np.arange(8.0)
    middle, low, high = _quantiles_of_points(np.repeat(medians, 5), 0.9)[0.5]
    half_width = stats.t.ppf(0.975, 7) * stats.sem(medians)
    assert (low, high) == pytest.approx((middle - half_width, middle + half_width))


MODEL_OF_TWO_STATIONS = """\
queueing-network: 1
title: One station for jobs, another for orders
parameters: {rate: 5 /s}
classes: {jobs: {arrivals: parameters.rate}, orders: {arrivals: 1 /s}}
stations:
  server: {service: {jobs: 100 ms}}
  clerk: {service: {orders: 100 ms}}
"""


def test_draws_that_saturate_a_server_miss_every_limit_of_a_time(folder: Path) -> None:
    """Of arrivals A, drawn evenly from 5 to 15 /s, a server of 10 /s answers within 0.4 s on
    average as 1 / (10 - A) <= 0.4, up to 7.5 /s: in a quarter of all draws.
    """
    (folder / "two.yaml").write_text(MODEL_OF_TWO_STATIONS.replace("parameters.rate", "rate"))
    made = sampling(
        "sample:\n  of: {parameters.rate: {distribution: uniform, from: 5 /s, to: 15 /s}}\n"
        "  answer: ['response_time[jobs]', 'response_time[orders]', 'utilization[server]']\n"
        "  watch: ['response_time[jobs] <= 0.4 s', 'response_time[jobs] > 0.4 s',"
        " 'response_time[orders] <= 0.4 s']\n",
        base="{model: two.yaml}",
    )
    assert (made.without, made.saturated, made.resources) == (512, 512, "server")
    within, beyond, orders = made.conditions
    assert within.share == pytest.approx(0.25, abs=0.002)
    assert beyond.share == pytest.approx(0.75, abs=0.002)
    # What the orders do beside a saturated server is not computed: half of the draws do not tell.
    assert np.isnan(orders.share)
    assert (orders.low, orders.high, orders.undecided) == (0.5, 1.0, 512)
    times, _, utilization = made.outcomes
    # The median of the rate is 10 /s, its 5 % quantile 5.5 /s.
    assert times.quantiles[0.05][0] == pytest.approx(1 / 4.5, rel=1e-2)
    assert times.quantiles[0.95][0] == times.mean == np.inf
    # Utilizations are of the draws with a steady state: evenly from 0.5 to 1.
    assert utilization.quantiles[0.5][0] == pytest.approx(0.75, abs=2e-3)


def test_the_head_says_in_how_many_draws_a_server_is_saturated(folder: Path) -> None:
    (folder / "two.yaml").write_text(MODEL_OF_TWO_STATIONS.replace("parameters.rate", "rate"))
    study = found(
        "title: Do jobs take 0.4 s at most?",
        "sample:\n  of: {parameters.rate: {distribution: uniform, from: 5 /s, to: 15 /s}}\n"
        "  answer: ['response_time[jobs]']\n  watch: ['response_time[jobs] <= 0.4 s']\n",
        base="{model: two.yaml}",
    )
    head = head_lines(study, ["response_time[jobs]"])
    assert head[0].startswith("Probably not: response time of jobs is at most 0.4 s in 25 %")
    assert head[0].endswith("of the draws; server is saturated in 512 of 1,024 draws.")
    assert "and infinity in 90 % of the draws" in head[1]


def test_a_histogram_has_the_parts_of_all_draws(folder: Path) -> None:
    (folder / "two.yaml").write_text(MODEL_OF_TWO_STATIONS.replace("parameters.rate", "rate"))
    made = sampling(
        "sample:\n  of: {parameters.rate: {distribution: uniform, from: 5 /s, to: 15 /s}}\n"
        "  answer: ['response_time[jobs]']\n",
        base="{model: two.yaml}",
    )
    spec = HistogramSpec(kind="histogram", name="hist", title="Time", value="response_time[jobs]")
    (axes,) = SampleResult((made,)).draw(spec, {}).axes
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    heights = sum(bar.get_height() for bar in bars if bar.get_height() < 1)
    # Half of the draws are saturated; of the others some are far beyond nine tenths of them.
    (label,) = (line.get_label() for line in axes.lines if "beyond" in str(line.get_label()))
    beyond = float(str(label).split()[0]) / 100
    assert 0.5 < beyond < 0.53
    assert heights + beyond == pytest.approx(1.0, abs=2e-3)


def test_the_shares_of_several_cases_are_one_sentence(folder: Path) -> None:
    (folder / "two.yaml").write_text(MODEL_OF_TWO_STATIONS.replace("parameters.rate", "rate"))
    study = found(
        "title: How likely do jobs take 0.4 s at most?",
        "cases: {slower: {title: slower, stations.server.service.jobs: 200 ms}}\n"
        "sample:\n  of: {parameters.rate: {distribution: uniform, from: 1 /s, to: 4 /s}}\n"
        "  cases: [base, slower]\n  answer: ['response_time[jobs]']\n"
        "  watch: ['response_time[jobs] <= 0.4 s']\n",
        base="{model: two.yaml}",
    )
    first, *_ = head_lines(study, ["response_time[jobs]"])
    # 1 / (5 - A) <= 0.4 up to 2.5 /s: a half of the draws.
    assert re.match(
        r"Response time of jobs is at most 0.4 s in 100 % .*of the draws for base;"
        r" in 50 % .*of the draws for slower",
        first,
    ), first
