"""The account of measured runs: the published example, special cases, and what must always hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.schema.library import catalogue_folder
from slipstick_measure.account import measured
from slipstick_measure.fit.formula import observations_of
from slipstick_measure.formats import read
from slipstick_measure.measurements import STATISTICS, Hints, Measurements
from tests.measure.data import at, run, table

LUCIER = catalogue_folder() / "profiles" / "lucier-1988.yaml"


def test_the_published_check_of_the_assumptions() -> None:
    """Lucier 1988: the estimate rises from 6012 s with one processor to 6176 s with 16, against
    6050 s measured.
    """
    found = measured(read(LUCIER))
    assert at(found, 1)["one_processor_estimate"] == pytest.approx(6012, abs=0.5)
    assert at(found, 16)["one_processor_estimate"] == pytest.approx(6176, abs=0.5)
    assert at(found, 16)["one_processor_time"] == 6050
    assert at(found, 16)["one_processor_drift"] == pytest.approx(0.021, abs=0.0005)
    assert at(found, 16).account["locks"] == 175  # "about 175 s a processor"
    assert at(found, 16)["processors_lost[locks]"] == pytest.approx(4.99, abs=0.005)


def test_the_timer_s_own_cost_is_taken_off_where_asked() -> None:
    """15 us at each event are all of the 38 s on one processor, whose estimate is then the
    measured time.
    """
    found = measured(read(LUCIER), timer=15e-6)
    assert at(found, 1)["one_processor_estimate"] == pytest.approx(6050, abs=0.001)
    assert at(found, 16)["one_processor_estimate"] == pytest.approx(6176 + 38, abs=0.001)


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_work_that_grows_with_the_processors_is_weak_for_each_power_of_the_size(
    exponent: int,
) -> None:
    """Cells, the edge of a square and the edge of a cube: twice the time is half the efficiency."""
    sizes = {p: 100 * p ** (1 / exponent) for p in (1, 8, 64)}
    found = measured(
        table(*(run(p, "time", 2.0 if p == 64 else 1.0, n=n) for p, n in sizes.items()))
    )
    efficiencies = [at(found, p, n)["efficiency"] for p, n in sizes.items()]
    assert efficiencies == pytest.approx([1.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("p", "time", "waits", "speedup", "one"),
    [
        (1, 10.0, {}, 1.0, 10.0),  # nothing lost
        (4, 10.0, {"a": 0.0}, 4.0, 40.0),
        (4, 10.0, {"a": 20.0}, 2.0, 20.0),
        (16, 561.0, {"a": 1000.0, "b": 1800.0}, 16 - 2800 / 561, 6176.0),
        (8, 5.0, {"a": 35.0}, 1.0, 5.0),  # all but one wait all the time
    ],
)
def test_dritz_and_boyle(
    p: int, time: float, waits: dict[str, float], speedup: float, one: float
) -> None:
    """S_N = N - W_N / T_N and T_1 = N T_N - W_N, without a run on one processor."""
    records = [
        run(p, "time", time),
        *(run(p, "wait", wait, cause) for cause, wait in waits.items()),
    ]
    if not waits:
        records.append(run(p, "wait", 0.0, "a"))
    answer = at(measured(table(*records)), p)
    assert answer["speedup"] == pytest.approx(speedup)
    assert answer["one_processor_estimate"] == pytest.approx(one)
    for cause, wait in waits.items():
        assert answer[f"processors_lost[{cause}]"] == pytest.approx(wait / time)


@given(
    st.integers(1, 64),
    st.floats(1e-3, 1e6),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
    st.floats(1e-3, 1e3),
)
def test_the_account_adds_up_and_does_not_know_the_unit(
    p: int, time: float, parts: list[float], unit: float
) -> None:
    shares = [part / len(parts) for part in parts]

    def booked(scale: float) -> list[float]:
        records = [run(p, "time", time * scale)]
        records += [
            run(p, "wait", share * p * time * scale, f"c{at}") for at, share in enumerate(shares)
        ]
        answer = at(measured(table(*records)), p)
        assert sum(answer.account.values()) == pytest.approx(time * scale)
        return [
            answer[name] or 0.0
            for name in answer.values
            if name.startswith(("speedup", "processors_lost"))
        ]

    assert sum(booked(1.0)) == pytest.approx(p)
    assert booked(unit) == pytest.approx(booked(1.0), abs=1e-9)


def test_average_latency_by_source_counts_only_what_exceeds_one_processor() -> None:
    """Scale-Graph, equations 5 to 7: L = (ML + IT + PT) / N with ML = ML(N) - ML(1)."""
    records = [
        run(1, "time", 100.0),
        run(1, "wait", 20.0, "memory"),
        run(4, "time", 40.0),
        *(
            run(4, "wait", value, "memory", processor=each)
            for each, value in enumerate([8, 9, 7, 8], 1)
        ),
        *(run(4, "busy", value, processor=each) for each, value in enumerate([25, 25, 25, 25], 1)),
        run(4, "wait", 10.0, "barrier"),
    ]
    found = measured(table(*records, causes_of_excess=("memory",)))
    answer = at(found, 4)
    memory, idle, primitives = 32 - 20, 4 * 40 - 100 - 12 - 10, 10
    assert answer["latency"] == pytest.approx((memory + idle + primitives) / 4)
    assert answer.account == pytest.approx({"busy": 25, "memory": 3, "idle": 9.5, "barrier": 2.5})
    assert answer["time"] == pytest.approx(
        100 / 4 + (answer["latency"] or 0.0)
    )  # equation 3: W t_c / N + L
    assert at(found, 1).account == {"busy": 100.0, "memory": 0.0}


def test_without_waits_the_run_on_one_processor_is_what_is_useful() -> None:
    answer = at(measured(table(run(1, "time", 100.0), run(4, "time", 40.0))), 4)
    assert answer.account == {"busy": 25.0, "lost": 15.0}
    assert (answer["speedup"], answer["efficiency"], answer["latency"]) == (2.5, 0.625, 15.0)


def test_where_one_processor_is_missing_the_smallest_run_is_what_others_are_held_against() -> None:
    """4 of 2 processors in 40 s for 100 s: 2.5 times as fast, which is 125 % of twice as fast."""
    found = measured(table(run(2, "time", 100.0), run(4, "time", 40.0)))
    assert at(found, 2)["efficiency"] == 1.0
    assert at(found, 4)["relative_speedup"] == 2.5
    assert at(found, 4)["efficiency"] == 1.25
    assert at(found, 4)["processors_lost[lost]"] == pytest.approx(-1.0)
    assert "speedup" not in at(found, 4).values
    (alone,) = measured(table(run(2, "time", 100.0))).answers
    assert dict(alone.values) == {"time": alone.values["time"]}


def test_sizes_are_held_against_runs_of_the_same_size() -> None:
    found = measured(
        table(run(1, "time", 10.0, n=1.0), run(1, "time", 40.0, n=4.0), run(4, "time", 11.0, n=4.0))
    )
    assert at(found, 4)["speedup"] == pytest.approx(40 / 11)
    assert [(answer.point["n"], answer.point["p"]) for answer in found.answers] == [
        (1, 1),
        (4, 1),
        (4, 4),
    ]


def test_regions_lose_what_they_take_beyond_their_part() -> None:
    records = [run(1, "time", 10.0), run(1, "time", 8.0, "solve"), run(1, "time", 2.0, "read")]
    records += [run(4, "time", 4.5), run(4, "time", 2.25, "solve"), run(4, "time", 2.0, "read")]
    answer = at(measured(table(*records)), 4)
    assert answer["processors_lost[read]"] == pytest.approx((4 * 2 - 2) / 4.5)
    assert answer["processors_lost[solve]"] == pytest.approx((4 * 2.25 - 8) / 4.5)
    assert answer.account["other"] == pytest.approx(0.25)


def test_a_region_may_be_the_whole() -> None:
    records = [
        run(p, "time", value / p, region)
        for p in (1, 2)
        for region, value in (("a", 8.0), ("a->b", 6.0))
    ]
    assert at(measured(table(*records), region="a->b"), 2)["time"] == 3.0
    with pytest.raises(
        UnknownNameError, match="there is no region with a time 'c'; known: a, a->b"
    ):
        measured(table(*records), region="c")
    with pytest.raises(UnknownNameError, match="'c'; the runs name no regions: leave the region"):
        measured(table(run(1, "time", 8.0), run(2, "time", 4.0)), region="c")


@pytest.mark.parametrize("metric", ["time", "cycle", "throughput", "speedup"])
def test_a_program_among_several_has_its_own_points(metric: str) -> None:
    records = [
        run(p, metric, value, program)
        for program, p, value in (("a", 1, 1.0), ("a", 2, 2.0), ("b", 2, 3.0), ("b", 4, 6.0))
    ]
    answers = measured(table(*records), region="b").answers
    assert [answer.point["p"] for answer in answers] == [2, 4]
    assert not any(answer.failed for answer in answers)
    with pytest.raises(SpecError, match="which region is the whole\\? there are a, b"):
        measured(table(*records))


def test_pop_by_its_definitions() -> None:
    """Load balance is average over largest useful time, communication efficiency largest useful
    time over time.
    """
    busy = [8.0, 6.0, 7.0, 5.0]
    records = [
        run(4, "time", 10.0),
        *(run(4, "busy", value, processor=at) for at, value in enumerate(busy, 1)),
    ]
    answer = at(measured(table(*records)), 4)
    assert answer["load_balance"] == 6.5 / 8
    assert answer["communication_efficiency"] == 0.8
    assert answer["parallel_efficiency"] == answer["efficiency"] == 0.65
    assert answer.account == pytest.approx({"busy": 6.5, "imbalance": 1.5, "communication": 2.0})
    efficiencies = {
        "parallel_efficiency": 0.65,
        "communication_efficiency": 0.8,
        "load_balance": 0.8125,
    }
    table_of_pop = [
        run(4, "time", 10.0),
        *(run(4, name, value) for name, value in efficiencies.items()),
    ]
    assert at(measured(table(*table_of_pop)), 4).account == pytest.approx(answer.account)


def test_load_balance_and_communication_make_parallel_efficiency() -> None:
    records = [run(4, "load_balance", 0.8125), run(4, "communication_efficiency", 0.8)]
    assert at(measured(table(*records)), 4)["efficiency"] == pytest.approx(0.65)
    lone = at(measured(table(run(4, "parallel_efficiency", 0.65))), 4)
    assert lone["processors_lost[not-parallel]"] == pytest.approx(1.4)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_repetitions_become_one_value_and_their_spread_is_kept(statistic: str) -> None:
    records = [run(2, "time", value, repetition=at) for at, value in enumerate([9.0, 4.0, 5.0])]
    value = at(measured(table(*records), statistic), 2).values["time"]
    assert value.value == {"median": 5.0, "mean": 6.0, "min": 4.0}[statistic]
    assert (value.low, value.high) == (4.0, 9.0)
    with pytest.raises(UnknownNameError, match="there is no statistic 'max'"):
        measured(table(*records), "max")


def test_the_spread_of_a_rate_is_that_of_its_repetitions() -> None:
    records = [run(2, "throughput", value, repetition=at) for at, value in enumerate([8.0, 4.0])]
    value = at(measured(table(*records)), 2).values["throughput"]
    assert (value.low, value.value, value.high) == pytest.approx((4.0, 6.0, 8.0))


def test_a_cause_that_a_repetition_does_not_name_took_no_time_in_it() -> None:
    """Two runs of 2 s on two processors: 0.4 s are waited in one of them, so 0.2 s in the mean,
    a tenth of a processor.
    """
    first = [run(2, "time", 2.0, repetition=1), run(2, "wait", 0.4, "a", repetition=1)]
    second = [run(2, "time", 2.0, repetition=2), run(2, "wait", 0.6, "b", repetition=2)]
    found = measured(table(*first, *second))
    assert at(found, 2)["processors_lost[a]"] == pytest.approx(0.1)
    assert at(found, 2)["processors_lost[b]"] == pytest.approx(0.15)
    assert "wait of a at p = 2 is in 1 of 2 repetitions; assumed to be 0 in the others" in map(
        _said, found.notes
    )


def _said(note: Problem) -> str:
    return note.message


def test_a_throughput_stands_for_the_time_of_an_operation() -> None:
    """By 4 processors 350 operations a second, by one 100: a speed-up of 3.5, and half a
    processor lost.
    """
    found = measured(table(run(1, "throughput", 100.0), run(4, "throughput", 350.0)))
    assert at(found, 4)["throughput"] == pytest.approx(350)
    assert "time" not in at(found, 4).values
    assert at(found, 4)["speedup"] == pytest.approx(3.5)
    assert at(found, 4)["processors_lost[lost]"] == pytest.approx(0.5)
    (answer,) = measured(table(run(2, "throughput", 0.0))).answers
    assert answer.failed == "there is no elapsed time at this point"


def test_a_point_without_a_time_has_no_answer() -> None:
    (answer,) = measured(table(run(2, "wait", 1.0, "a"))).answers
    assert answer.failed == "there is no elapsed time at this point"
    (answer,) = measured(table(run(2, "time", 0.0), run(2, "busy", 0.0))).answers
    assert "the elapsed time is 0 at this point" in (answer.failed or "")


def test_a_timer_that_costs_more_than_the_wait_is_refused() -> None:
    records = [
        run(2, "time", 9.0),
        run(2, "wait", 1.0, "a", line=7),
        run(2, "events", 100.0, "a", line=8),
    ]
    with pytest.raises(SpecError) as caught:
        measured(table(*records), timer=0.1)
    why = "100 events of 0.1 s cost 10 s, more than the wait, 1 s; is the timer's cost right?"
    assert str(caught.value) == f"f:8:1: a: {why}"
    noted = measured(table(*records[:2]), timer=0.1).notes
    assert (
        str(noted[0]) == "f:7:1: a: no events of a at p = 2, so its wait keeps the timer's own cost"
    )


def test_idle_spans_of_a_trace_are_booked_with_what_busy_and_waits_leave() -> None:
    records = [
        run(2, "time", 9.0),
        run(2, "wait", 1.0, "a"),
        run(2, "wait", 1.0, "idle"),
        run(2, "busy", 15.0),
    ]
    answer = at(measured(table(*records)), 2)
    assert answer.account == {"busy": 7.5, "a": 0.5, "idle": 1.0}
    assert sum(answer.account.values()) == answer["time"]


def test_idle_is_what_busy_and_waits_leave() -> None:
    records = [run(2, "time", 9.0), run(2, "wait", 1.0, "a"), run(2, "busy", 15.0)]
    assert at(measured(table(*records)), 2).account == {"busy": 7.5, "a": 0.5, "idle": 1.0}


SUMS_OF_MPI = "Ranks,Elapsed (s),MPI time [s]\n1,914.42,0.00\n4,231.72,4.96\n16,62.48,44.16\n"


def read_text(folder: Path, text: str, *, mean_waits: bool | None = None) -> Measurements:
    path = folder / "runs.csv"
    path.write_text(text)
    return read(path, Hints(mean_waits=mean_waits))


def test_times_of_a_part_that_fit_only_as_sums_are_asked_about(tmp_path: Path) -> None:
    """44.16 s of MPI over 16 ranks are 0.707 of them; within a run of 62.48 s they would be 11.3,
    of 1.36 that are lost.
    """
    with pytest.raises(SpecError, match=r"is 44\.16 s at p = 16 a sum over all 16") as refusal:
        measured(read_text(tmp_path, SUMS_OF_MPI))
    assert "--waits sum, or --waits mean" in str(refusal.value)
    with pytest.raises(SpecError, match="a sum over all 16"):
        observations_of(read_text(tmp_path, SUMS_OF_MPI))


@pytest.mark.parametrize("rows", ["", "64,23.47,354.56\n"])
def test_times_of_a_part_are_read_as_sums_where_the_user_says_so(rows: str, tmp_path: Path) -> None:
    found = measured(read_text(tmp_path, SUMS_OF_MPI + rows, mean_waits=False))
    lost = at(found, 16)["processors_lost[MPI time]"]
    assert lost == pytest.approx(44.16 / 62.48)
    assert at(found, 16)["processors_lost[other]"] == pytest.approx(
        16 - 914.42 / 62.48 - 44.16 / 62.48
    )
    assert any(note.message.startswith("sums over processors") for note in found.notes)
    waits = SUMS_OF_MPI.replace("MPI time", "wait") + rows
    assert at(measured(read_text(tmp_path, waits)), 16)["processors_lost[waiting]"] == lost
    causes = observations_of(read_text(tmp_path, SUMS_OF_MPI + rows, mean_waits=False)).causes
    assert causes[0].seconds[2] == pytest.approx(44.16 / 16)


def test_parts_that_lose_more_than_the_run_are_noted(tmp_path: Path) -> None:
    found = measured(read_text(tmp_path, SUMS_OF_MPI, mean_waits=True))
    assert any(
        "-9.94 of 16 processors are left for the rest" in note.message for note in found.notes
    )
    # 3.4 s of MPI lie within what the run lost, up to the noise of its time.
    text = SUMS_OF_MPI.replace("4.96", "1.24").replace("44.16", "5.4")
    assert not measured(read_text(tmp_path, text)).notes[1:]


def test_a_part_that_the_smallest_run_does_not_have_is_noted(tmp_path: Path) -> None:
    text = "p,region,metric,value,unit\n1,,time,100,s\n4,,time,30,s\n4,mpi,time,3,s\n"
    found = measured(read_text(tmp_path, text))
    assert "processors_lost[lost]" in at(found, 4).values
    (note,) = found.notes
    assert note.message.startswith("left out, because the smallest run has no time of it: mpi;")
    found = measured(read_text(tmp_path, f"{text}1,mpi,time,0,s\n"))
    assert at(found, 4)["processors_lost[mpi]"] == pytest.approx(0.4)
    assert found.notes == ()


def test_shares_of_the_time_are_no_sums_whatever_is_said_of_waits(tmp_path: Path) -> None:
    text = "p,time [s],wait [%]\n1,100,0\n4,30,10\n"
    answers = [
        measured(read_text(tmp_path, text, mean_waits=mean)).answers for mean in (None, True, False)
    ]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][1]["processors_lost[waiting]"] == pytest.approx(0.4)


@pytest.mark.parametrize("metric", ["time", "wait"])
def test_a_column_of_a_part_is_named_as_the_notes_name_it(metric: str, tmp_path: Path) -> None:
    """23.6 % of 64 ranks are 15.1 of them, whether as a time within the run or as a wait."""
    path = tmp_path / "runs.csv"
    path.write_text("np;walltime;%MPI\n1;914.42 s;0.0\n64;23.47 s;23.6\n")
    runs = read(path, Hints(columns={f"{metric} of mpi": "%MPI"}))
    assert at(measured(runs), 64)["processors_lost[mpi]"] == pytest.approx(0.236 * 64)
    assert f"{metric} of mpi = %MPI" in runs.notes[0].message
