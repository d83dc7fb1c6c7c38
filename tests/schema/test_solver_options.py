"""Settings that say how to solve."""

from __future__ import annotations

import pytest

from slipstick.errors import SpecError
from slipstick.schema.inputs import SolverOptions, is_solver_option, solver_options
from slipstick.schema.text import read_value


def read(**settings: str) -> SolverOptions:
    return solver_options(
        {path.replace("__", "."): read_value(value, "here") for path, value in settings.items()}
    )


def test_nothing_said_is_the_default() -> None:
    assert read() == SolverOptions()
    assert read().simulation.precision == 0.02


def test_what_is_said_is_read() -> None:
    found = read(
        method="simulation",
        simulation__seed="7",
        simulation__precision="0.5%",
        simulation__cycles="100",
    )
    assert found.method == "simulation"
    assert (found.simulation.seed, found.simulation.precision, found.simulation.cycles) == (
        7,
        0.005,
        100,
    )
    assert [
        is_solver_option(path) for path in ("method", "simulation.seed", "machine", "methods")
    ] == [
        True,
        True,
        False,
        False,
    ]


WRONG = [
    (
        {"method": "simulatoin"},
        "here:1:1: method: there is no method 'simulatoin'; did you mean 'simulation'?",
    ),
    ({"simulation__seeds": "3"}, "here:1:1: simulation.seeds: unknown key; did you mean 'seed'?"),
    ({"simulation__seed": "-3"}, "here:1:1: simulation.seed: at least 0; got -3"),
    ({"simulation__precision": "0%"}, "here:1:1: simulation.precision: must be more than 0, got 0"),
]


@pytest.mark.parametrize(("settings", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_with_its_place(settings: dict[str, str], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(**settings)
    assert str(caught.value) == words
