"""A network of many classes, whose derivatives would take minutes and are left out."""

from __future__ import annotations

from slipstick.api import solve
from slipstick.model.network import closed_class, network, station


def test_forty_classes_are_answered_without_derivatives() -> None:
    classes = {f"c{k}": closed_class(1) for k in range(40)}
    service = {name: 1e-3 * (1 + k) for k, name in enumerate(classes)}
    model = network(classes, {name: station(demand=service) for name in ("a", "b")})
    # The method is named, so that no second road is taken: only derivatives are looked at here.
    answer = solve(model, method="linearizer")
    assert answer["throughput[c0]"]
    assert not answer.share
