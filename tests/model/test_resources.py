"""Locks that are done in several ways: what they cost with nobody in the way, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.api import dump, load
from slipstick.errors import SpecError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.methods import compute_answers
from slipstick.model.activity import choose, delay, hold, service
from slipstick.model.system import (
    Lock,
    Model,
    Monitor,
    Semaphores,
    Station,
    closed_model,
    scaled_model,
)
from slipstick.vocabulary import LOCKS
from tests.bounds import bounds
from tests.closed_form import solve

ACCESS = Parameter("access", TIME, 2.0)
CRITICAL = delay(9.0, name="critical")


def locked(kind: str, processors: int = 1) -> Model:
    lock = Lock(kind, "bus", ACCESS)
    return closed_model(
        hold("door", CRITICAL), processors, resources={"bus": Station(), "door": lock}
    )


@pytest.mark.parametrize(
    ("kind", "accesses"),
    [("fifo", 0), ("tas", 2), ("ttas", 3), ("ticket", 3), ("array", 4), ("mcs", 2)],
)
def test_acquire_and_release_access_the_lock_word(kind: str, accesses: int) -> None:
    answer = solve(locked(kind))
    assert answer["time"] == 9.0 + 2.0 * accesses
    assert answer.account == ({"lock:door": 2.0 * accesses} if accesses else {}) | {"busy": 9.0}
    assert answer.exact


def test_every_lock_is_handed_over_with_its_release() -> None:
    low = {kind: bounds(locked(kind, 10)).values["time"].low for kind in LOCKS}
    assert low == {
        "fifo": 90.0,
        "tas": 110.0,
        "ttas": 110.0,
        "ticket": 110.0,
        "array": 130.0,
        "mcs": 110.0,
    }


def test_accesses_to_the_lock_word_load_its_station() -> None:
    with_bus = closed_model(
        hold("door", delay(1.0, name="inside")) >> service("bus", 1.0),
        resources={"door": Lock("ttas", "bus", ACCESS), "bus": Station()},
    )
    assert solve(with_bus)["utilization[bus]"] == pytest.approx(7 / 8)


def test_a_lock_whose_word_is_nowhere_costs_nothing() -> None:
    model = closed_model(hold("door", CRITICAL), resources={"door": Lock("mcs")})
    assert solve(model)["time"] == 9.0


def test_faster_memory_makes_faster_locks() -> None:
    assert (
        solve(scaled_model(locked("tas"), {"memory": Parameter("half", value=0.5)}))["time"] == 11.0
    )


TEXT = """activity: 1
population: {processors: 4}
resources:
  bus: {servers: 1}
  door: {lock: tas, word: bus, access: 2 s, back_off: exponential, base: 1 s, most: 8 s}
cycle: [{hold: door, body: [{name: inside, delay: 9 s}]}]
"""


def test_a_lock_reads_as_it_is_written(tmp_path: Path) -> None:
    first = read(tmp_path / "mine.yaml", TEXT)
    again = read(tmp_path / "again.yaml", dump(first))
    for model in (first, again):
        lock = model.resources["door"]
        assert isinstance(lock, Lock)
        assert (lock.kind, lock.word, lock.back_off) == ("tas", "bus", "exponential")
        assert solve(model)["time"] == 13.0


def read(path: Path, text: str) -> Model:
    path.write_text(text)
    model = load(path)
    assert isinstance(model, Model)
    return model


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "lock: tas, word: bus",
            "write both the word of a lock and the time of an access, or neither",
        ),
        (
            "lock: tas, access: 2 s",
            "write both the word of a lock and the time of an access, or neither",
        ),
        (
            "lock: mcs, together: true",
            "locks that are taken together have the kind tas, a back-off, and no word",
        ),
        (
            "lock: tas, back_off: constant",
            "a back-off needs its base, the pause after the first failure",
        ),
        (
            "lock: tas, back_off: exponential, base: 1 s",
            "an exponential back-off needs its longest pause, most",
        ),
        (
            "lock: tsa",
            (
                "write 'fifo', 'tas', 'ttas', 'ticket', 'array' or 'mcs'; got 'tsa'; did you mean"
                " 'tas'?"
            ),
        ),
        (
            "lock: tas, word: bos, access: 2 s",
            "the word of lock door needs a station called 'bos', which does not exist",
        ),
        (
            "lock: tas, word: door, access: 2 s",
            "the word of lock door needs a station, but 'door' is a lock",
        ),
    ],
)
def test_a_lock_that_cannot_be_is_refused(written: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TEXT.replace(TEXT.splitlines()[4], f"  door: {{{written}}}"))
    with pytest.raises(SpecError) as caught:
        load(path)
    assert message in str(caught.value)


def test_options_of_a_choice_may_each_use_a_monitor_or_semaphores() -> None:
    """Mean value lumps alike uses by the hash of their resource."""
    options = [hold("desk", delay(t, name=f"read-{t:g}", scv=1.0)) for t in (1.0, 2.0)]
    cycle = delay(1.0, name="work", scv=1.0) >> choose((0.5, options[0]), (0.5, options[1]))
    model = closed_model(cycle, 4, resources={"desk": Monitor({"items": 1})})
    assert hash(model.resources["desk"]) == hash(Monitor({"items": 1}))
    assert hash(Semaphores({"places": 2})) is not None
    (found,) = compute_answers(model, {}, "mean-value")
    (chain,) = compute_answers(model, {}, "markov-chain")
    assert found["time"] == pytest.approx(chain["time"], rel=0.1)
