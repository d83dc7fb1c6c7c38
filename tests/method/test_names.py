"""The names of values are told without solving: what any method finds is listed, and little
else.
"""

from __future__ import annotations

import pytest

from slipstick.errors import SlipstickError
from slipstick.limits import with_limits
from slipstick.method.answers import Solution
from slipstick.method.methods import form_of
from slipstick.method.names import is_transient, names_of, steady_name_and_time_of
from slipstick.model.network import QueueingNetwork
from slipstick.schema.inputs import BuiltModel, build, resolve
from slipstick.schema.library import Library, names_of_kind
from slipstick.schema.text import Mark, Scalar
from slipstick.sim.settings import Simulation
from slipstick.units import parse
from slipstick.vocabulary import ACTIVITY, BOUNDS, CLOSED_FORM, MARKOV_CHAIN, METHODS, NETWORK

SHORT = Simulation(least=2, cycles=300)
MODELS = [(kind, name) for kind in (ACTIVITY, NETWORK) for name in names_of_kind(kind)]


def _built(name: str) -> BuiltModel:
    return build(resolve({"model": Scalar(name, name, Mark("here", 1, 1), quoted=True)}, Library()))


def _found(built: BuiltModel, method: str) -> tuple[Solution, list[str]] | None:
    """Return the columns and the names of the answer of a method; None where it has no answer."""
    try:
        with with_limits({"states": 500}):
            points = form_of(built.model, built.parameters, method, SHORT).points({})
            answer = points.answer(0)
    except SlipstickError:
        return None
    if answer.failed:
        return None
    limits = [f"limit[{each.pipeline}]" for each in answer.limits]
    return points.solution, [*points.columns(), *answer.names, *limits]


def _asked(model: object, method: str) -> bool:
    """Leave out Markov chains: their values have the names of every solver of networks, and
    large ones take long.
    """
    return not (isinstance(model, QueueingNetwork) and method == MARKOV_CHAIN)


@pytest.mark.turns(5)
@pytest.mark.parametrize(("kind", "name"), MODELS, ids=[name for _, name in MODELS])
def test_every_value_that_is_found_is_listed_with_its_unit(kind: str, name: str) -> None:
    built = _built(name)
    for method in (each for each in METHODS[kind] if _asked(built.model, each)):
        found = _found(built, method)
        if found is None:
            continue
        solution, values = found
        for listed in (names_of(built.model, method), names_of(built.model)):
            assert [each for each in values if each not in listed] == [], method
            assert {each: listed[each] for each in solution.values} == {
                each: solution.unit(each) for each in solution.values
            }


@pytest.mark.turns(5)
@pytest.mark.parametrize(("kind", "name"), MODELS, ids=[name for _, name in MODELS])
def test_what_closed_form_and_bounds_do_not_find_is_not_listed(kind: str, name: str) -> None:
    built = _built(name)
    for method in (CLOSED_FORM, BOUNDS) if kind == ACTIVITY else (BOUNDS,):
        if found := _found(built, method):
            missing = set(names_of(built.model, method)) - set(found[1])
            assert {
                each
                for each in missing
                if not each.startswith(("overhead", "technology[", "overlap["))
                and not is_transient(each)
            } == set(), method


@pytest.mark.parametrize("time", ["250 us", "1.5ms", "2e-1 s", "20 min", "2 h", "1 day"])
def test_the_time_of_a_transient_value_has_the_units_of_specs(time: str) -> None:
    at = steady_name_and_time_of(f"queue_length_at[door,{time}]")
    assert at is not None
    assert float(at[1]) == pytest.approx(parse(time)[0], rel=1e-15)
