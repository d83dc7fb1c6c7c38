"""Compiled loops: the answers of the matrices, by another order of the sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from slipstick.errors import MissingExtraError
from slipstick.queueing import compiled
from slipstick.queueing.approximate import linearizer, schweitzer
from slipstick.queueing.compiled import compiled_loops
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays

NETWORKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "one class": (exact, {"service": [0.3, 0.2, 0.1], "population": 90, "think": 1.0}),
    "a curve": (exact, {"service": [0.3, 0.2], "population": [[1], [70], [3]]}),
    "two servers at a station": (
        exact,
        {"service": [0.3, 0.2], "population": 80, "servers": [1, 2]},
    ),
    "a lattice of three classes": (
        exact,
        {"service": [[0.3, 0.2], [0.1, 0.4], [0.2, 0.2]], "population": [4, 3, 5], "think": 0.5},
    ),
    "a lattice of two classes without delays at two points": (
        exact,
        {"service": [[[0.3, 0.2], [0.1, 0.4]], [[0.1, 0.2], [0.3, 0.4]]], "population": [4, 6]},
    ),
    "a lattice where one class has one customer and one has none": (
        exact,
        {"service": [[0.3, 0.2], [0.1, 0.4], [0.2, 0.2]], "population": [4, 1, 0], "think": 0.5},
    ),
    "three classes, one without customers": (
        schweitzer,
        {"service": [[0.3, 0.2], [0.1, 0.4], [0.2, 0.2]], "population": [20, 30, 0], "think": 0.5},
    ),
    "two classes, one of one customer": (
        schweitzer,
        {"service": [[0.3, 0.2], [0.1, 0.4]], "population": [20, 1], "think": 0.5},
    ),
    "two points near saturation": (
        schweitzer,
        {"service": [[[1.0, 0.99]], [[1.0, 0.5]]], "population": 1000},
    ),
    "an open class": (
        linearizer,
        {"service": [[0.3, 0.2], [0.1, 0.1]], "population": [9, 0], "arrivals": [0, 1.0]},
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_loops_give_the_answers_of_matrices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python runs them; what numba makes of them is compared in benchmarks/mva.py."""
    used: list[str] = []
    monkeypatch.setattr(compiled, "find_spec", lambda name: name)

    def as_python(function: Callable[..., Any]) -> Callable[..., Any]:
        used.append(function.__name__)
        return function

    monkeypatch.setattr(compiled, "_compiled_loop", as_python)
    method, given = NETWORKS[name]
    network = network_arrays(**given)
    plain = method(network)
    assert not used
    with compiled_loops():
        found = method(network)
    assert used
    assert found.iterations == plain.iterations
    for of in ("throughput", "queue", "residence"):
        assert np.allclose(getattr(found, of), getattr(plain, of), rtol=1e-11, atol=1e-14), of


def test_loops_leave_derivatives_to_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A complex demand carries its derivative, which a loop over real numbers would lose."""
    monkeypatch.setattr(compiled, "find_spec", lambda name: name)
    monkeypatch.setattr(
        compiled, "_compiled_loop", lambda function: pytest.fail(f"{function.__name__} was used")
    )
    with compiled_loops():
        for method in (exact, schweitzer):
            assert method(network_arrays([0.3 + 1e-20j, 0.2], population=80)).throughput.imag.any()


def test_compiled_loops_need_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for them without the extra is told which it is."""
    monkeypatch.setattr(compiled, "find_spec", lambda name: None)
    words = r"compiled loops of queueing networks needs numba: pip install 'slipstick\[fast\]'"
    with pytest.raises(MissingExtraError, match=words), compiled_loops():
        pass
