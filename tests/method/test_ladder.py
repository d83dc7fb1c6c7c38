"""Where no method is named, each point is answered by the first that accepts, compiles and solves
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np
import pytest

from slipstick import solve
from slipstick.errors import NoAnswerError, NothingToEstimate, Saturated, Unsolvable
from slipstick.expression.tape import Flags, Values
from slipstick.limits import with_limits
from slipstick.method.answers import CompiledModel, Remarks, Solution
from slipstick.method.closed_form import ClosedForm
from slipstick.method.ladder import (
    Acceptance,
    LadderForm,
    Method,
    Parameters,
    Subject,
    compile_named,
    reason_and_answering_method,
)
from slipstick.method.methods import default_answer, form_of, ladder
from slipstick.model.activity import delay, service
from slipstick.model.network import network, open_class, station
from slipstick.model.system import Model, closed_model
from slipstick.sim.settings import Simulation

THINK, ASK = delay(9.0, name="think", scv=1.0), service("bus", 1.0, scv=1.0)
MODEL = closed_model(THINK >> ASK, 4)
SHORT = Simulation(seed=1, events=20_000)


class Fixed(CompiledModel):
    """Times that are known, of some points; others are not taken, or refused."""

    parameters = ("population.processors",)

    def __init__(self, name: str, taken: float, solved: float) -> None:
        self.name, self.taken, self.solved = name, taken, solved

    def takes(self, values: Values) -> Flags:
        return np.asarray(values["population.processors"]) <= self.taken

    def solution(self, values: Values) -> Solution:
        sizes = np.asarray(values["population.processors"])
        refused = sizes > self.solved
        return Solution(
            model="fixed",
            method=self.name,
            count=len(sizes),
            exact=np.ones(len(sizes), dtype=bool),
            values={"time": np.where(refused, np.nan, sizes)},
            refused_points=frozenset(np.flatnonzero(refused).tolist()),
            remarks=lambda index: Remarks(failed="too many" if refused[index] else None),
        )


def fixed(name: str, taken: float = np.inf, solved: float = np.inf) -> Method:
    form = Fixed(name, taken, solved)
    return Method(name, "activity", lambda *_: form, 1.0, partial=taken < np.inf)


def broken(model: Subject, parameters: Parameters, simulation: Simulation) -> CompiledModel:
    raise NoAnswerError("it has no rule for this")


def on(*methods: Method) -> LadderForm:
    return LadderForm(MODEL, {}, SHORT, False, methods)


SIZES = {"population.processors": np.array([1.0, 2.0, 3.0, 4.0])}


def test_each_point_is_solved_by_the_first_method_that_takes_it() -> None:
    points = on(fixed("few", taken=2), fixed("many")).points(SIZES)
    assert points.provenance().methods == ["few", "few", "many", "many"]
    assert points.columns()["time"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_refusals_of_models_go_on_to_the_next_method() -> None:
    refusing = replace(fixed("choosy"), accepts=lambda *_: Acceptance(False, "it does not like it"))
    form = on(refusing, Method("broken", "activity", broken, 2.0), fixed("last"))
    assert form.points(SIZES).answer(3).method == form.method == "last"
    assert form.refusal_by_method == {
        "choosy": "it does not like it",
        "broken": "it has no rule for this",
    }


def test_refused_points_go_on_to_the_next_method_with_the_reason() -> None:
    points = on(fixed("small", solved=3), fixed("large")).points(SIZES)
    assert points.provenance().methods == ["small", "small", "small", "large"]
    assert points.columns()["time"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert points.answer(2).notes == ()
    assert points.answer(3).notes == ("large answers by default: too many",)


def test_the_first_reason_stands_where_no_method_solves_a_point() -> None:
    answer = on(fixed("small", solved=3), fixed("large", solved=3)).points(SIZES).answer(3)
    assert answer.failed == "too many"


def test_a_ladder_without_an_answer_names_every_refusal() -> None:
    with pytest.raises(NoAnswerError) as caught:
        on(Method("broken", "activity", broken, 1.0))
    assert str(caught.value) == "no method answers for model: broken: it has no rule for this"


def test_the_ladders_end_with_simulation() -> None:
    names = {kind: [method.name for method in ladder(kind)] for kind in ("activity", "law")}
    assert names == {
        "activity": ["closed-form", "markov-chain", "mean-value", "simulation"],
        "law": ["closed-form"],
    }
    networks = [method.name for method in ladder("queueing-network")]
    assert (networks[0], networks[-1]) == ("best", "simulation")


@pytest.mark.turns(5)
def test_a_network_that_no_solver_takes_is_simulated() -> None:
    losing = network(
        {"calls": open_class(0.5)},
        {"desk": station(demand={"calls": 1.0}, capacity=3_000)},
    )
    with with_limits({"states": 1000}):
        answer = default_answer(losing, {}, SHORT)
        smooth = form_of(losing, {}, simulation=SHORT, must_be_smooth=True).points({}).answer(0)
    assert answer.method == "simulation"
    assert any("the chain has more than 1,000 states" in note for note in answer.notes)
    assert smooth.failed
    assert "states" in smooth.failed


def test_points_of_an_activity_are_divided_as_before() -> None:
    form = form_of(MODEL, {})
    assert isinstance(form, LadderForm)
    assert isinstance(form.model, Model)
    assert form.points(SIZES).provenance().methods == ["closed-form", *["mean-value"] * 3]


class Failing(Fixed):
    """A method with a fault: from a size on it raises."""

    def __init__(self, error: Exception, fails_from: float = 0.0) -> None:
        super().__init__("faulty", np.inf, np.inf)
        self.error, self.fails_from = error, fails_from

    def solution(self, values: Values) -> Solution:
        if np.max(values["population.processors"]) >= self.fails_from:
            raise self.error
        return super().solution(values)


FAULTS = (
    *(np.linalg.LinAlgError("singular"), FloatingPointError("divided by zero")),
    *(RecursionError("too deep"), TypeError("unhashable"), KeyError("bus"), MemoryError()),
)


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_method_that_fails_leads_to_the_next_with_a_note(error: Exception) -> None:
    form = Failing(error, fails_from=3)
    faulty = Method("faulty", "activity", lambda *_: form, 1.0)
    points = on(faulty, fixed("sound")).points(SIZES)
    assert points.provenance().methods == ["faulty", "faulty", "sound", "sound"]
    assert points.columns()["time"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert points.answer(1).notes == ()
    failure = f"faulty failed, a fault of slipstick ({type(error).__name__}: {error})"
    assert points.answer(3).notes == (f"sound answers by default: {failure}",)


def test_a_method_that_fails_while_it_looks_at_points_leads_to_the_next() -> None:
    """A chain is solved to see whether it takes a point."""

    class Looking(Failing):
        def takes(self, values: Values) -> Flags:
            return np.isfinite(self.solution(values).values["time"])

    form = Looking(np.linalg.LinAlgError("singular"), fails_from=3)
    points = on(Method("faulty", "activity", lambda *_: form, 1.0), fixed("sound")).points(SIZES)
    assert points.provenance().methods == ["faulty", "faulty", "sound", "sound"]
    assert "LinAlgError: singular" in points.answer(3).notes[0]


def test_a_method_that_fails_while_it_is_compiled_is_noted_as_well() -> None:
    def compiled(*_: object) -> CompiledModel:
        raise ZeroDivisionError("nothing")

    answer = on(Method("faulty", "activity", compiled, 1.0), fixed("sound")).points(SIZES).answer(3)
    assert (answer.method, answer["time"]) == ("sound", 4.0)
    assert answer.notes == (
        (
            "sound answers by default: faulty failed, a fault of slipstick (ZeroDivisionError: "
            "nothing)"
        ),
    )


def test_the_last_method_that_fails_is_refused_in_words() -> None:
    faulty = Method("faulty", "activity", lambda *_: Failing(ArithmeticError("no")), 1.0)
    with pytest.raises(NoAnswerError, match="faulty failed, a fault of slipstick"):
        on(faulty).points(SIZES).answer(3)


def test_derivatives_of_a_method_that_fails_are_by_differences() -> None:
    class Steep(Fixed):
        def slopes(self, *_: object) -> NoReturn:
            raise OverflowError("too steep")

    method = Method("steep", "activity", lambda *_: Steep("steep", np.inf, np.inf), 1.0)
    slopes = on(method).slopes(SIZES, ["population.processors"], ["time"])
    assert slopes["time"][1]["population.processors"] == pytest.approx(np.ones(4))


def loads(*methods: Method) -> dict[str, Callable[[], Method]]:
    """Return what loads each of some methods, by name."""
    return {method.name: partial(replace, method) for method in methods}


@pytest.mark.parametrize("error", FAULTS[:5], ids=lambda error: type(error).__name__)
def test_a_named_method_that_fails_says_so_and_which_other_to_name(error: Exception) -> None:
    faulty = Method("faulty", "activity", lambda *_: Failing(error, fails_from=3), 1.0)
    others = [fixed("mean-value"), fixed("simulation")]
    form = compile_named(faulty, MODEL, {}, Simulation(), loads(*others))
    points = form.points(SIZES)
    assert points.columns()["time"][:2].tolist() == [1.0, 2.0]
    assert points.provenance().methods == ["faulty"] * 4
    assert points.answer(3).failed == (
        f"faulty failed, a fault of slipstick ({type(error).__name__}: {error}); please report it"
        " with the model, or name another method: mean-value, simulation"
    )
    assert not points.answer(0).failed


def test_a_named_method_that_fails_as_it_compiles_is_refused_in_words() -> None:
    def compiled(*_: object) -> CompiledModel:
        raise ZeroDivisionError("nothing")

    faulty = Method("faulty", "activity", compiled, 1.0)
    with pytest.raises(NoAnswerError, match=r"a fault of slipstick \(ZeroDivisionError: nothing\)"):
        compile_named(faulty, MODEL, {}, Simulation(), {})


def test_a_fault_of_a_named_method_is_an_answer_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Solution:
        raise TypeError("unhashable")

    monkeypatch.setattr(ClosedForm, "solution", fails)
    monkeypatch.setattr(ClosedForm, "brief", fails)
    why = "closed-form failed, a fault of slipstick (TypeError: unhashable); please report it"
    with pytest.raises(NoAnswerError) as refused:
        solve(MODEL, method="closed-form")
    assert str(refused.value).startswith(why)
    assert str(refused.value).endswith("another method: mean-value, markov-chain, simulation")
    assert solve(MODEL).method == "mean-value"


def refusing(name: str, reason: str) -> Method:
    """Return a method that has no answer at any point."""

    class Refused(Fixed):
        def solution(self, values: Values) -> Solution:
            refused = replace(super().solution(values), values={"time": np.full(1, np.nan)})
            return replace(refused, remarks=lambda _: Remarks(failed=reason))

    return Method(name, "activity", lambda *_: Refused(name, np.inf, -1), 1.0)


ONE = {"population.processors": np.array([3.0])}


def refusal_of(first: Method, *others: Method) -> str | None:
    return (
        compile_named(first, MODEL, {}, Simulation(), loads(*others)).points(ONE).answer(0).failed
    )


def test_a_refusal_names_a_method_that_has_an_answer_or_all_reasons() -> None:
    chain = refusing("chain", "too large; ask for simulation")
    loses = refusing("simulation", "it loses customers; ask for chain")
    assert refusal_of(chain, fixed("simulation")) == "too large; ask for simulation"
    lost = "simulation has no answer either: it loses customers; ask for chain"
    assert refusal_of(chain, loses, fixed("other")) == f"too large; ask for simulation; {lost}"
    assert refusal_of(chain, loses) == (
        f"too large; ask for simulation; no other method has an answer here; {lost}"
    )


def test_other_methods_are_tried_whatever_words_a_refusal_has() -> None:
    small = refusing("small", "it has bridges")
    answer = (
        compile_named(small, MODEL, {}, Simulation(), loads(fixed("other"))).points(ONE).answer(0)
    )
    assert (answer.failed, answer.other_method) == ("it has bridges", "other")
    for kind in (Saturated, Unsolvable, NothingToEstimate):
        tried: list[str] = []
        assert reason_and_answering_method(kind("m"), ["simulation"], tried.append) == ("m", "")  # type: ignore[arg-type]
        assert not tried
    refusals = {"simulation": Unsolvable("deadlock at 2 s"), "closed-form": ""}
    reason, method = reason_and_answering_method("no rule", list(refusals), refusals.__getitem__)
    assert (method, type(reason)) == ("", Unsolvable)


def test_where_no_method_of_the_ladder_answers_all_reasons_are_given() -> None:
    first, last = refusing("first", "it is too large"), refusing("last", "it loses customers")
    refused = replace(Fixed("first", np.inf, 0.0).solution(ONE), refused_points=frozenset({0}))
    refused = replace(refused, remarks=lambda _: Remarks(failed="it is too large"))
    form = Fixed("first", np.inf, 0.0)
    form.solution = lambda values: refused  # type: ignore[method-assign]
    first = replace(first, compile=lambda *_: form)
    failed = on(first, last).points(ONE).answer(0).failed
    assert failed == "it is too large; last has no answer either: it loses customers"
