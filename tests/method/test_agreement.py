"""What is said of answers that stand side by side."""

from __future__ import annotations

import pytest

from slipstick import Simulation, delay, service, solve
from slipstick.answer import Answer, Value
from slipstick.errors import WaitingLeftOut
from slipstick.model.system import closed_model
from slipstick.results.words import Words
from slipstick_questions.agree import AgreeResult
from slipstick_questions.agreement import agreement

SIMULATED = Answer("m", "simulation", {"time": Value(10.0, "s", 9.0, 11.0)}, converged=True)


def by(
    method: str,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    **more: object,
) -> Answer:
    return Answer("m", method, {"time": Value(value, "s", low, high)}, **more)  # type: ignore[arg-type]


SAID = [
    (
        by("exact", 10.5, exact=True),
        "exact is within the interval of simulation (5 % above its mean)",
    ),
    (
        by("exact", 11.5, exact=True),
        (
            "exact is at the edge of the interval of simulation (15 % above its mean); one in"
            " twenty is, by chance"
        ),
    ),
    (
        by("schweitzer", 10.5),
        "schweitzer is within the interval of simulation (5 % above its mean)",
    ),
    (
        by("schweitzer", 12.0, promise=0.25),
        "schweitzer is 20 % above simulation; its stated error is about 25 %",
    ),
    (
        by("closed-form", 5.0, notes=(WaitingLeftOut("leaves out waiting for bus"),)),
        "closed-form is 50 % below simulation, for it leaves out waiting for bus",
    ),
    (by("closed-form", 10.0, exact=True), "closed-form and simulation agree exactly"),
    (by("bounds", None, 8.0, 10.0), "simulation lies within the bounds"),
    (by("bounds", None, 8.0), "simulation lies within the bounds"),
    (by("bounds", None, 8.0, 9.0), "simulation lies within the bounds"),
    (by("bounds", None, 11.0, 12.0), "simulation lies within the bounds"),
    (by("bounds", None, 8.0, 9.5), "simulation lies within the bounds"),
]


@pytest.mark.parametrize(("answer", "words"), SAID, ids=range(len(SAID)))
def test_agreement_in_words(answer: Answer, words: str) -> None:
    found = agreement("m", [answer, SIMULATED])
    assert (found.verdicts, found.findings) == ((words,), ())


FOUND = [
    (by("exact", 13.0, exact=True), "exact is 30 % above simulation, outside its interval"),
    (
        by("schweitzer", 14.0, promise=0.25),
        "schweitzer is 40 % above simulation; its stated error is about 25 %",
    ),
    (by("bounds", None, 12.0, 13.0), "simulation lies below the lower of the bounds"),
    (by("bounds", None, 7.0, 8.0), "simulation lies above the upper of the bounds"),
]


@pytest.mark.parametrize(("answer", "words"), FOUND, ids=range(len(FOUND)))
def test_a_contradiction_is_a_finding(answer: Answer, words: str) -> None:
    found = agreement("m", [answer, SIMULATED])
    assert (found.verdicts, found.findings) == ((), (words,))


def test_a_simulation_that_did_not_converge_measures_nothing() -> None:
    unsure = Answer("m", "simulation", {"time": Value(10.0, "s")}, converged=False)
    found = agreement("m", [by("exact", 13.0, exact=True), unsure])
    assert found.verdicts == ("exact is 30 % above simulation, which did not converge",)


def test_who_has_no_answer_is_said_and_left_out() -> None:
    failed = Answer("m", "simulation", failed="deadlock")
    found = agreement(
        "m", [by("closed-form", 1.0, exact=True), by("bounds", None, 0.5, 2.0), failed]
    )
    assert found.failed == {"simulation": "deadlock"}
    assert found.verdicts == ("closed-form lies within the bounds",)
    assert [row.name for row in found.rows] == ["time"]
    assert agreement("m", [failed]).rows == ()


UNSURE = Answer("m", "simulation", {"time": Value(10.0, "s")}, converged=False)
FREE = by("closed-form", 2.5)
PROMISED = by("mean-value", 10.1, promise=0.1)
VERDICTS = [
    ([SIMULATED, PROMISED], "Yes", "all methods agree within their stated errors"),
    (
        [SIMULATED, PROMISED, FREE],
        "In part",
        (
            "simulation and mean value analysis agree within their stated errors; closed form,"
            " whose error is not known, is 75 % below simulation"
        ),
    ),
    (
        [SIMULATED, FREE],
        "No",
        "closed form, whose error is not known, is 75 % below simulation",
    ),
    (
        [UNSURE, FREE],
        "Undecided",
        "closed form cannot be judged by simulation",
    ),
    (
        [FREE, by("mean-value", 13.0, promise=0.1)],
        "Undecided",
        "mean value analysis cannot be judged by closed form",
    ),
    (
        [SIMULATED, by("schweitzer", 14.0, promise=0.25)],
        "No",
        "in 1 of 1 case methods differ by more than their stated errors: m",
    ),
]


@pytest.mark.parametrize(("answers", "word", "sentence"), VERDICTS)
def test_methods_agree_only_where_their_errors_are_known(
    answers: list[Answer], word: str, sentence: str
) -> None:
    verdict = AgreeResult((agreement("m", answers),)).verdict(Words(), {})
    assert (verdict.word, verdict.sentence) == (word, sentence)


def test_the_largest_difference_of_several_cases_is_told() -> None:
    cases = [("near", 9.0), ("far", 2.0), ("between", 5.0)]
    found = AgreeResult(
        tuple(agreement(case, [SIMULATED, by("closed-form", time)]) for case, time in cases)
    )
    assert found.headline(Words()) == [
        "closed form, whose error is not known, is up to 80 % below simulation, most for far"
    ]


def test_without_contention_or_chance_all_methods_agree_exactly() -> None:
    model = closed_model(delay(2.0, name="work") >> service("bus", 1.0))
    answers = [solve(model, method=method) for method in ("closed-form", "simulation", "bounds")]
    found = agreement("alone", answers)
    assert found.verdicts == (
        "closed-form and simulation agree exactly",
        "simulation lies within the bounds",
    )
    assert next(row for row in found.rows if row.name == "time").values[:2] == (
        Value(3.0, "s"),
        Value(3.0, "s", 3.0, 3.0),
    )


def test_a_busy_bus_is_seen_by_the_simulation_only() -> None:
    model = closed_model(
        delay(2.0, name="work", scv=1.0) >> service("bus", 1.0, scv=1.0), processors=8
    )
    answers = [
        solve(model, method=method, simulation=Simulation(seed=1, cycles=20_000))
        for method in ("closed-form", "simulation", "bounds")
    ]
    said = agreement("bus", answers)
    assert said.verdicts[0].endswith("% below simulation, for it leaves out waiting for bus")
    assert said.findings == ()


def test_a_promise_is_held_against_what_leaves_nothing_out_only() -> None:
    promised = by("mean-value", 13.0, promise=0.1)
    words = "mean-value is 30 % above closed-form; its stated error is about 10 %"
    assert agreement("m", [by("closed-form", 10.0), promised]).verdicts == (words,)
    assert agreement("m", [by("closed-form", 10.0, exact=True), promised]).findings == (words,)


def of_network(method: str, values: dict[str, Value], **more: object) -> Answer:
    return Answer("n", method, values, **more)  # type: ignore[arg-type]


def test_bounds_of_several_kinds_are_one_with_the_tightest_ends() -> None:
    kinds = [
        of_network("bounds/asymptotic", {"throughput[a]": Value(None, "1/s", 1.0, 3.0)}),
        of_network("exact", {"throughput[a]": Value(2.4, "1/s")}, exact=True),
        of_network("bounds/geometric", {"throughput[a]": Value(None, "1/s", 2.0, 4.0)}),
        of_network("bounds/proportional", {}, failed="not in product form"),
    ]
    found = agreement("n", kinds)
    assert found.methods == ("bounds", "exact")
    assert found.rows[0].values == (Value(None, "1/s", 2.0, 3.0), Value(2.4, "1/s"))
    assert found.verdicts == ("exact lies within the bounds",)
    assert found.failed == {}
    none = agreement("n", [kinds[3], kinds[1]])
    assert (none.methods, none.failed) == (("bounds", "exact"), {"bounds": "not in product form"})


def test_of_several_response_times_the_farthest_is_told() -> None:
    def pair(a: float, b: float, width: float = 0.0) -> dict[str, Value]:
        times = {"response_time[a]": a, "response_time[b]": b}
        ends = {name: Value(each, "s", each - width, each + width) for name, each in times.items()}
        return {
            "throughput[a]": Value(9.0, "1/s"),
            **(ends if width else {n: Value(t, "s") for n, t in times.items()}),
        }

    simulated = of_network("simulation", pair(1.0, 2.0, 0.1), converged=True)
    near = of_network("exact", pair(1.01, 2.05), exact=True)
    wrong = of_network("exact", pair(1.0, 3.0), exact=True)
    same = of_network("linearizer", pair(1.0, 2.0))
    assert agreement("n", [near, simulated]).verdicts == (
        (
            "response_time[b] differs most: exact is within the interval of simulation (2.5 % above"
            " its mean)"
        ),
    )
    assert agreement("n", [wrong, simulated]).findings == (
        "response_time[b] differs most: exact is 50 % above simulation, outside its interval",
    )
    assert agreement("n", [same, simulated]).verdicts == (
        "linearizer and simulation agree exactly",
    )
    bounds = of_network("bounds/asymptotic", {"response_time[a]": Value(None, "s", 0.5)})
    assert agreement("n", [bounds, simulated]).verdicts == ("simulation lies within the bounds",)
    far = of_network("bounds/asymptotic", {"response_time[a]": Value(None, "s", 0.5, 0.8)})
    assert agreement("n", [far, simulated]).findings == (
        "simulation lies above the upper of the bounds",
    )


def test_answers_about_different_things_are_not_compared() -> None:
    time, rate = (
        by("closed-form", 1.0),
        of_network("markov-chain", {"throughput[a]": Value(1.0, "1/s")}, exact=True),
    )
    assert agreement("n", [time, rate]).verdicts == (
        "closed-form gives nothing that markov-chain gives",
    )
