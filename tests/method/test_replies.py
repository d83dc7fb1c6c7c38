"""Replies inside a hold: simulation against Markov chains of the same system written with counters,
against a published model, and against the model without a reply where it changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import slipstick
from slipstick import Answer, Simulation, load, solve
from slipstick.errors import ModelError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.model.activity import (
    EarlyReply,
    attempt,
    barrier,
    choose,
    delay,
    fork,
    hold,
    pipeline,
    repeat,
    reply,
    service,
    signal,
    then,
    wait,
)
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Barrier,
    Lock,
    Model,
    Permits,
    Semaphores,
    Station,
    closed_model,
    grouped_model,
)
from slipstick.vocabulary import MARKOV_CHAIN, REPLIES, SIMULATION
from slipstick_compiled.kernel import AVAILABLE

SETTINGS = Simulation(seed=3, events=120_000 if AVAILABLE else 30_000)
SERVER = reply("server")


def step(name: str, time: float, scv: float = 1.0) -> Activity:
    return delay(time, name=name, scv=scv)


def model(body: Activity, threads: int = 1, users: int = 3, **resources: Any) -> Model:
    cycle = step("think", 1.0) >> hold("server", body)
    return closed_model(cycle, users, resources={"server": Permits(threads), **resources})


def within(found: Answer, name: str, exact: float | None, widths: float = 2.0) -> bool:
    value = found.values[name]
    assert value.value is not None
    assert value.high is not None
    assert exact is not None
    return abs(value.value - exact) <= widths * (value.high - value.value)


def test_a_reply_out_of_a_fork_equals_the_chain_of_its_counters() -> None:
    """The server is a processor for each branch; counters wake them, and give the thread back when
    both have ended.
    """
    body = fork(step("copy", 0.3) >> SERVER >> step("log", 0.4), step("archive", 0.6))
    user = [wait("s.free"), signal("s.copy"), signal("s.archive"), wait("s.answer")]
    first = [wait("s.copy"), step("copy", 0.3), signal("s.answer"), step("log", 0.4)]
    groups: dict[str, Any] = {
        "users": (3, then(step("think", 1.0), *user)),
        "first": (1, then(*first, wait("s.archived"), signal("s.free"))),
        "second": (1, then(wait("s.archive"), step("archive", 0.6), signal("s.archived"))),
    }
    units = {"free": 1, **dict.fromkeys(("copy", "archive", "answer", "archived"), 0)}
    exact = solve(grouped_model(groups, resources={"s": Semaphores(units)}), method=MARKOV_CHAIN)
    found = solve(model(body), simulation=SETTINGS)
    assert (found.method, exact.exact) == (SIMULATION, True)
    assert within(found, "time", exact["time[users]"])
    assert sum(found.account.values()) == pytest.approx(found["time"], rel=1e-9)


def test_replies_of_a_choice_are_solved_by_the_chain() -> None:
    options = (0.4, SERVER >> step("log", 0.5)), (0.6, step("more", 0.7) >> SERVER)
    body = step("work", 0.3) >> choose(*options) >> step("close", 0.1)
    exact = solve(model(body, 2), method=MARKOV_CHAIN)
    found = solve(model(body, 2), method=SIMULATION, simulation=SETTINGS)
    assert exact.exact
    for name in ("time", "utilization[server]", "queue_length[server]"):
        assert within(found, name, exact[name]), name


def test_a_layered_model_that_replies_out_of_a_fork_has_the_published_throughput() -> None:
    """Regression 87 of the layered solver: 0.789 within 0.009 by its simulator. The branches queue
    for one processor, each first as often. The number of calls is geometric.
    """

    def served(name: str) -> Activity:
        return service("p2", 0.1, name=name, scv=1.0)

    branches = served("b1") >> SERVER >> served("c1"), served("b2")
    orders = (0.5, fork(*branches)), (0.5, fork(*branches[::-1]))
    call = step("e1", 0.5) >> hold("server", served("a1") >> choose(*orders))
    cycle = repeat(1.0, call, spread="geometric") >> step("e1", 0.5)
    resources: dict[str, Any] = {"server": Permits(1), "p2": Station()}
    found = solve(closed_model(cycle, 1, resources=resources), simulation=Simulation(seed=1))
    assert found["throughput"] == pytest.approx(0.789, rel=0.02)


def test_a_reply_at_the_end_changes_nothing() -> None:
    """Behind the join it is no step at all; at the end of the longest branch it replies as late."""
    branches = step("short", 1.0, 0.0), step("long", 2.0, 0.0)
    plain = fork(*branches)
    assert hold("server", plain >> SERVER) == hold("server", plain)
    early, late, without = (
        solve(model(each, 4, 2), method=SIMULATION, simulation=Simulation(cycles=300))
        for each in (
            fork(branches[0] >> SERVER, branches[1]),
            fork(branches[0], branches[1] >> SERVER),
            plain,
        )
    )
    assert late["time"] == pytest.approx(without["time"], rel=1e-9)
    assert early["time"] == pytest.approx((without["time"] or 0.0) - 1.0, rel=0.05)


def test_a_reply_between_parts_of_a_body_is_a_second_phase() -> None:
    parts = step("work", 1.0), step("log", 2.0)
    assert hold("server", parts[0] >> SERVER >> parts[1]) == hold(
        "server", parts[0], after=parts[1]
    )
    assert REPLIES not in model(parts[0] >> SERVER >> parts[1]).constructs
    assert REPLIES in model(choose((1.0, SERVER))).constructs


def test_the_processor_goes_on_before_the_rest_of_the_body() -> None:
    """Both want the disk at the instant of the reply: the processor has it for 1 s, then the rest
    for 3 s while the processor thinks. In the other order a cycle takes 14 s.
    """
    rest = choose((1.0, SERVER >> service("disk", 3.0, name="log")))
    cycle = step("think", 10.0, 0.0) >> hold("server", rest) >> service("disk", 1.0)
    resources: dict[str, Any] = {"server": Permits(1), "disk": Station()}
    for kernel in ("plain", "compiled") if AVAILABLE else ("plain",):
        settings = Simulation(seed=1, events=4_000, kernel=kernel)
        found = solve(
            closed_model(cycle, 1, resources=resources), method=SIMULATION, simulation=settings
        )
        assert found["time"] == pytest.approx(11.0, rel=1e-9)


def test_both_kernels_reply_alike() -> None:
    """Replies inside each other, in an attempt, and with several permits."""
    inner = fork(step("find", 0.2) >> reply("db"), service("disk", 0.5, scv=1.0))
    called = attempt(hold("db", step("parse", 0.1) >> inner), patience=2.0)
    body = fork(called >> SERVER >> step("log", 0.2), service("disk", 0.3, name="trace", scv=1.0))
    held = hold("server", body, permits=2)
    cycle = step("think", 1.0) >> repeat(2, held)
    resources: dict[str, Any] = {"server": Permits(4), "db": Permits(1), "disk": Station()}
    made = closed_model(cycle, 5, resources=resources)
    plain, compiled = (
        solve(made, simulation=Simulation(seed=1, events=4_000, kernel=kernel))
        for kernel in ("plain", "compiled")
    )
    assert {name: value.value for name, value in plain.values.items()} == {
        name: value.value for name, value in compiled.values.items()
    }
    assert sum(plain.account.values()) == pytest.approx(plain["time"], rel=1e-9)


FILE = """
activity: 1
population: {processors: 3}
resources: {server: {permits: 2}}
cycle:
- {name: think, delay: 1 s, scv: 1}
- hold: server
  body:
  - fork:
    - [{name: copy, delay: 300 ms, scv: 1}, {reply: server}]
    - [{name: archive, delay: 900 ms, scv: 1}]
"""


def test_files_have_replies(tmp_path: Path) -> None:
    (tmp_path / "store.yaml").write_text(FILE)
    made = load(tmp_path / "store.yaml")
    assert isinstance(made, Model)
    (tmp_path / "again.yaml").write_text(slipstick.dump(made))
    again = load(tmp_path / "again.yaml")
    assert isinstance(again, Model)
    for each in (made, again):
        assert any(isinstance(node, EarlyReply) for node in slipstick_steps(each))


def slipstick_steps(made: Model) -> list[Activity]:
    from slipstick.model.steps import distinct_activities

    return list(distinct_activities(made.bodies))


@pytest.mark.parametrize("copies", [1, 2])
def test_a_reply_to_a_resource_with_a_count_is_to_the_copy_that_is_held(
    tmp_path: Path, copies: int
) -> None:
    """Two copies in the place of two names, each of them chosen as often."""
    text = FILE.replace("{permits: 2}", f"{{permits: 2, count: {copies}}}")
    (tmp_path / "copies.yaml").write_text(text)
    of_copies = load(tmp_path / "copies.yaml")
    assert isinstance(of_copies, Model)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "copies.yaml").write_text(slipstick.dump(of_copies))
    assert load(tmp_path / "again" / "copies.yaml") == of_copies
    names = [name for name in of_copies.resources if name.startswith("server")]
    assert len(names) == copies
    options = [
        (1 / copies, hold(name, fork(step("copy", 0.3) >> reply(name), step("archive", 0.9))))
        for name in names
    ]
    cycle = step("think", 1.0) >> (choose(*options) if copies > 1 else options[0][1])
    by_hand = closed_model(cycle, 3, resources={name: Permits(2) for name in names})
    settings = Simulation(seed=1, events=4_000)
    expected = solve(by_hand, simulation=settings)["time"]
    assert solve(of_copies, simulation=settings)["time"] == pytest.approx(expected, rel=1e-9)


PLAIN = step("work", 1.0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            choose((1.0, reply("db"))),
            "a reply to db stands inside a hold of db; there is none around it",
        ),
        (
            repeat(2, SERVER),
            (
                "a reply to server cannot stand inside a repeat that may execute it several times, "
                "or goes on beside its processor; put it directly into the body of the hold, a "
                "choice, or a fork that waits for all branches"
            ),
        ),
        (
            fork(PLAIN >> SERVER, step("other", 1.0), join=1),
            "a reply to server cannot stand inside a fork",
        ),
        (pipeline([PLAIN >> SERVER], 3), "a reply to server cannot stand inside a pipeline"),
        (
            fork(PLAIN >> SERVER, step("other", 1.0) >> SERVER),
            (
                "the body of the hold of server may reply twice; its processor goes on once: leave "
                "one reply out, or put them into options of a choice"
            ),
        ),
        (
            PLAIN >> SERVER >> step("log", 1.0) >> SERVER >> step("close", 1.0),
            "the body of the hold of server may reply twice",
        ),
        (
            choose((0.5, SERVER), (0.5, PLAIN)) >> SERVER >> step("log", 1.0),
            "the body of the hold of server may reply twice",
        ),
        (
            choose((1.0, SERVER >> barrier("meet"))),
            "the second phase at server cannot wait for other processors",
        ),
    ],
)
def test_replies_that_mean_nothing_are_refused(body: Activity, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        model(body, db=Permits(1), meet=Barrier())


def test_holds_that_cannot_go_on_are_refused() -> None:
    body = choose((1.0, SERVER))
    with pytest.raises(
        ModelError,
        match=(
            "the hold of server has a reply, so what is done after it is part of its body; "
            "leave after out"
        ),
    ):
        closed_model(hold("server", body, after=PLAIN), 2, resources={"server": Permits(1)})
    with pytest.raises(
        ModelError,
        match=(
            "a reply to server stands in what is done after the body of its hold, when its "
            "processor has gone on; leave this reply out"
        ),
    ):
        closed_model(
            hold("server", PLAIN, after=SERVER >> PLAIN), 2, resources={"server": Permits(1)}
        )
    spinning = Lock("ttas", "bus", Parameter("access", TIME, 1e-6))
    with pytest.raises(
        ModelError, match="a second phase must hold a fifo lock or permits, not server"
    ):
        closed_model(hold("server", body), 2, resources={"server": spinning, "bus": Station()})
