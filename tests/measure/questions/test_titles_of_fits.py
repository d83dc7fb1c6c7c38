"""The first line of a study of fits answers the question in its title."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slipstick.cli.main import main
from slipstick.report.head import head_lines
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick_measure.fit.comparison import fits
from slipstick_measure.fit.formula import Timings
from slipstick_measure.report.fit_titles import FitTitle
from slipstick_measure.report.fits import main_findings

LAW = "by the fit of the universal scalability law"
SINGLE, CONTENTION, COHERENCY = 120.0, 0.02, 0.0004
FASTEST = (0.98 / COHERENCY) ** 0.5
"""By hand: the derivative of the time below is 0 at p² = (1 - contention) / coherency."""


def time_on(p: float) -> float:
    """Return the time of the universal scalability law on a number of processors [s]."""
    return SINGLE * (1 + CONTENTION * (p - 1) + COHERENCY * p * (p - 1)) / p


def first_lines(folder: Path, title: str, keys: str = "at: [48, 128]") -> list[str]:
    """Return the lines at the head of a report on a fit with noise of 0.1 %."""
    chance = np.random.default_rng(5)
    rows = [
        f"{p},{time_on(p) * np.exp(0.001 * chance.standard_normal())}"
        for p in (1, 2, 4, 8, 16, 32)
        for _ in range(2)
    ]
    (folder / "runs.csv").write_text("\n".join(["p,time [s]", *rows]) + "\n")
    study = folder / "study.yaml"
    study.write_text(
        f"study: 1\ntitle: {title}\nfits:\n  runs: {{data: runs.csv, families: [usl, amdahl],"
        f" {keys}}}\n"
    )
    check_file(study)
    results = run(prepare(str(study)))
    return head_lines(results, results.answer)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("title", "beginning"),
    [
        (
            "Up to how many ranks does it become faster?",
            rf"On (4\d|5\d) processors \(\d+ or more\), {LAW}: least time [^,]*, speed-up",
        ),
        ("How many ranks give the shortest run?", rf"On (4\d|5\d) processors .*{LAW}: least time"),
        ("Where does it stop scaling?", rf"On (4\d|5\d) processors .*{LAW}: least time"),
        ("What is the optimal number of ranks?", rf"On (4\d|5\d) processors .*{LAW}: least time"),
        ("How fast can it get?", rf"{LAW}, speed-up is largest, 16\.\d .*, the least time"),
        ("When does adding ranks stop helping?", rf"On (4\d|5\d) processors .*{LAW}: least time"),
        ("What speed-up can we reach at most?", rf"{LAW}, speed-up is largest, 16\.\d"),
        ("How much faster is it on 64 ranks?", r"On 64 processors: speed-up 16\.\d .*, time 7\."),
        ("How long does it take on 48 ranks?", r"On 48 processors: time 7\.\d+ .* and efficiency"),
        ("Can we finish within 10 s?", r"Yes: a time of at most 10 s needs 18 processors"),
        ("Can we finish within 2 s?", r"No: a time of at most 2 s is not reached up to"),
        ("Do we meet 20 s with 16 ranks?", r"Yes, on 16 processors: time 10\.\d+"),
        ("Do we meet 5 s on 48 ranks?", r"No, on 48 processors: time 7\.\d+"),
        (
            "Up to how many ranks is the efficiency at least 60 %?",
            rf"Up to 2\d processors.*, {LAW}, for an efficiency of at least 60 %\.",
        ),
        (
            "What limits it on 48 ranks?",
            rf"{LAW}, most is lost to co[^:]*: [^:]* of 48 processors, if the law is right\.",
        ),
    ],
)
def test_the_first_line_answers_the_title(tmp_path: Path, title: str, beginning: str) -> None:
    lines = first_lines(tmp_path, title)
    assert re.match(beginning, lines[0], re.IGNORECASE), lines
    # Nobody asked for this level.
    assert not any("75 %" in line for line in lines), lines


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("title", "told"),
    [
        (
            "Which number of ranks is fastest?",
            "The measured time is least on 32 processors, the most measured: 7.5",
        ),
        (
            "Can we finish within 10 s?",
            "In the measured runs, a time of at most 10 s is kept on 32 processors (7.5",
        ),
        ("Should we use 48 ranks?", "75 % (the level where none is asked for)"),
    ],
)
def test_measured_rows_are_told_for_what_the_title_asks(
    tmp_path: Path, title: str, told: str
) -> None:
    lines = first_lines(tmp_path, title)
    assert any(told in line for line in lines), lines
    assert any("75 %" in line for line in lines) == ("75 %" in told)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("title", "beginning"),
    [
        ("Is it worth buying 128 cores?", r"No, on 128 processors, for an efficiency of at least"),
        ("Does it scale to 4 ranks?", r"Yes, on 4 processors, for an efficiency of at least 75 %"),
        ("Is 48 ranks too many?", r"Yes, on 48 processors, for an efficiency of at least 75 %"),
        ("Is 2 ranks too much?", r"No, on 2 processors, for an efficiency of at least 75 % \(the"),
        ("Will 32 ranks be faster than 16?", r"Yes: on 32 processors the program is 1\.3"),
        ("Is it faster on 16 ranks than on 32?", r"No: on 32 processors the program is 1\.3"),
        ("Are 32 ranks slower than 16?", r"No: on 32 processors the program is 1\.3"),
        ("Do we gain by going from 16 to 32 ranks?", r"Yes: on 32 processors the program is 1\.3"),
        ("Is it twice as fast on 32 ranks as on 16?", r"No: on 32 processors the program is 1\.3"),
        ("Are 48 ranks faster than 64?", r"Undecided: on 64 processors .* times\) as on 48: "),
        ("Should we run on 16 or on 32 ranks?", r"On 32 processors the program is 1\.3"),
        ("Should I use 64 ranks instead of 48?", r"Undecided: on 64 processors the program is "),
        ("Is it 10 times as fast on 48 ranks?", r"Yes, on 48 processors: speed-up 16\.\d"),
        ("Is a speed-up of 30 reached on 48 ranks?", r"No, on 48 processors: speed-up 16\.\d"),
        ("Can it reach a speed-up of 40?", rf"No: {LAW}, speed-up is largest, 16\.\d"),
        ("Can it reach a speed-up of 8?", rf"Yes: {LAW}, speed-up is largest, 16\.\d"),
        ("Does it become faster beyond 16 ranks?", r"Yes: on (4\d|5\d) processors \("),
        ("Does it stop scaling beyond 16 ranks?", r"No: on (4\d|5\d) processors \("),
        ("Does it gain anything beyond 32 ranks?", r"Undecided: on (4\d|5\d) processors \("),
        ("Does it become faster beyond 64 ranks?", r"Undecided: on (4\d|5\d) processors \("),
        ("Does it take longer than 6 s on 16 ranks?", r"Yes, on 16 processors: time 10\."),
        ("Does it take longer than 12 s on 16 ranks?", r"No, on 16 processors: time 10\."),
        ("Are 16 ranks enough for 12 s?", r"Yes, on 16 processors: time 10\."),
    ],
)
def test_a_title_that_asks_yes_or_no_is_answered_so(
    tmp_path: Path, title: str, beginning: str
) -> None:
    """By the true times, all answers but the undecided ones are right."""
    lines = first_lines(tmp_path, title)
    assert re.match(beginning, lines[0], re.IGNORECASE), lines
    amounts = lines[0].rpartition(": ")[2]
    assert sum(amounts in line for line in lines) == 1, lines


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    "title",
    ["Is half an hour enough on 48 ranks?", "Up to how many ranks is the speed-up at least 10?"],
)
def test_a_title_on_a_time_or_a_speedup_is_not_answered_by_an_efficiency(
    tmp_path: Path, title: str
) -> None:
    lines = first_lines(tmp_path, title)
    assert not any("75 %" in line for line in lines), lines
    assert not lines[0].startswith(("Yes", "No", "Undecided")), lines


@pytest.mark.turns(3)
@pytest.mark.parametrize("keys", ["at: [48]", "at: [48], efficiency: 75%"])
def test_the_default_level_stands_behind_the_speedup_where_the_title_asks_nothing(
    tmp_path: Path, keys: str
) -> None:
    first, *_ = first_lines(tmp_path, "Timings of a solver", keys)
    place_of_efficiency, place_of_speedup = map(first.lower().index, ("efficiency is", "speed-up"))
    assert (place_of_efficiency > place_of_speedup) == ("efficiency" not in keys), first


@pytest.mark.turns(4)
def test_a_limit_that_the_fit_states_itself_is_kept(tmp_path: Path) -> None:
    lines = first_lines(tmp_path, "Do 48 ranks finish within 20 s?", "at: [48], time: 6 s")
    assert not lines[0].startswith(("Yes", "No")), lines
    assert any("a time of at most 6 s" in line for line in lines), lines


@pytest.mark.turns(4)
def test_the_interval_of_the_fastest_number_holds_the_true_one() -> None:
    """The rows end at 32 and at 96; the true number is 49.5."""
    counts = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 96.0]
    for largest, has_upper_end in ((32.0, False), (96.0, True)):
        p = np.repeat([count for count in counts if count <= largest], 3)
        for seed in range(4):
            noise = np.exp(
                0.01 * np.random.default_rng([int(largest), seed]).standard_normal(len(p))
            )
            times = np.array([time_on(count) for count in p.tolist()]) * noise
            best = fits(Timings(p, np.ones(len(p)), times)).answers[0]
            place = best.values["largest_speedup_processors"]
            assert place.low is not None
            assert place.low <= FASTEST
            assert (place.high is not None) >= has_upper_end
            assert place.high is None or place.high >= FASTEST


@pytest.mark.turns(4)
def test_throughputs_level_off_or_are_largest_with_an_interval(tmp_path: Path) -> None:
    """A lock of 1 ms beside 9 ms of work serves 1000 /s; by mean value analysis, 14 threads are the
    first with 95 % of that. The throughput of the second law is largest on 22 threads.
    """

    def throughput_of_lock(p: float) -> float:
        present, throughput = 0.0, 0.0
        for customers in range(1, int(p) + 1):
            response = 0.001 * (1 + present)
            throughput = customers / (0.009 + response)
            present = throughput * response
        return throughput

    def first_line(throughput: Callable[[float], float], families: str) -> str:
        chance = np.random.default_rng(11)
        rows = [
            f"{p},{throughput(p) * np.exp(0.01 * chance.standard_normal())}"
            for p in (1, 2, 4, 6, 8, 12, 16, 24)
            for _ in range(3)
        ]
        (tmp_path / "runs.csv").write_text("\n".join(["threads,throughput [/s]", *rows]) + "\n")
        study = tmp_path / "study.yaml"
        study.write_text(
            "study: 1\ntitle: At how many threads does the throughput level off?\n"
            f"fits:\n  runs: {{data: runs.csv, families: {families}}}\n"
        )
        results = run(prepare(str(study)))
        return head_lines(results, results.answer)[0]

    by_queue = first_line(throughput_of_lock, "[queue-1, amdahl]")
    assert re.match(
        r"By the fit of a closed queue, speed-up levels off at (9\.\d*|10\.\d)", by_queue
    )
    assert "; 95 % of it is reached with about 14 threads" in by_queue
    by_usl = first_line(
        lambda p: 100 * p / (1 + 0.02 * (p - 1) + 0.002 * p * (p - 1)), "[usl, amdahl]"
    )
    match = re.search(r"largest, ([\d.]+) \(.*, at (\d+) threads \((\d+) to (\d+)\)", by_usl)
    assert match, by_usl
    assert int(match[3]) <= (0.98 / 0.002) ** 0.5 <= int(match[4])


@pytest.mark.turns(4)
def test_the_intervals_of_losses_hold_the_true_ones() -> None:
    """By hand, on p processors: a cause loses p times its share of the time. Nothing is called the
    largest loss where the intervals hold both orders.
    """
    p = np.repeat([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 3)
    held_count = 0
    for seed in range(8):
        noise = np.exp(0.02 * np.random.default_rng(seed).standard_normal(len(p)))
        times = np.array([time_on(count) for count in p.tolist()]) * noise
        fitting = fits(Timings(p, np.ones(len(p)), times), ["usl"], [48])
        values, count = fitting.answers[0].values, float(fitting.answers[0].point["p"])
        parts = {
            "contention": CONTENTION * (count - 1),
            "coherency": COHERENCY * count * (count - 1),
        }
        true_losses = {
            f"processors_lost[{cause}]": count * part / (1 + sum(parts.values()))
            for cause, part in parts.items()
        }
        for name, loss in true_losses.items():
            low, high = values[name].low, values[name].high
            assert low is not None
            assert high is not None
            held_count += low <= loss <= high
            assert high - low < 30
        first, second = (values[name] for name in values if name in true_losses)
        is_undecided = (second.high or 0.0) > (first.low or 0.0)
        (sentence,) = (text for text in main_findings(fitting) if "is lost to" in text)
        assert bool(re.search("lost to (contention or coherency|coherency or c)", sentence)) == (
            is_undecided
        )
    assert held_count >= 14


@pytest.mark.parametrize(
    ("title", "time"),
    [
        ("Does it finish in under 90 s on 64 ranks?", ("90 s", 90.0)),
        ("Do 8 nodes finish within 1.5 min?", ("1.5 min", 90.0)),
        ("Do 8 nodes meet the deadline of 2 h?", ("2 h", 7200.0)),
        ("Do 8 nodes finish within 3 s, or 5 nodes within 4 s?", None),
        ("Do 8 nodes give at least 24 ns/day?", None),
        ("Is it faster than 64 ranks?", None),
        ("Which runs take 20 s?", None),
    ],
)
def test_a_title_states_one_longest_time(title: str, time: tuple[str, float] | None) -> None:
    assert FitTitle(title).longest_time() == time


def test_a_percentage_of_a_title_is_an_efficiency_only_if_it_says_so() -> None:
    assert FitTitle("Is the efficiency 80 % on 64 ranks?").least_efficiency() == 0.8
    assert FitTitle("On how many ranks does MPI take less than 20 %?").least_efficiency() is None
    assert FitTitle("Is the efficiency between 50 % and 60 %?").least_efficiency() is None
    assert FitTitle("Is the efficiency 120 %?").least_efficiency() is None


def test_a_title_names_processors_by_their_noun() -> None:
    counts = FitTitle("Do 48 ranks, or 64 threads, solve 8000 cells?").processor_counts("images")
    assert counts == [48, 64]
    assert FitTitle("Do 12 images suffice?").processor_counts("images") == [12]
    assert FitTitle("Do 8,000 cells take 1.5 nodes?").processor_counts("") == []


def test_a_limit_beside_that_of_a_fit_is_not_said_to_be_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At least 5 s is no longest time."""
    first_lines(tmp_path, "Do 48 ranks take at least 5 s, and end within 20 s?")
    assert main(["check", str(tmp_path / "study.yaml")]) == 0
    notes = capsys.readouterr().err
    assert "the limit 20 s stands nowhere else in the study: the fit takes it" in notes
    assert "the limit 5 s stands nowhere else in the study: write time: 5 s in the fit" in notes
