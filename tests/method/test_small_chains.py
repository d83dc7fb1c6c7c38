"""Activities against chains that are written from the documentation alone, and solved here: tries
that fail, bounded buffers, and permits that are taken together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest

from slipstick import Permits, Simulation, Station, closed_model, delay, hold, service, solve
from slipstick.model.activity import attempt, choose, get, put
from slipstick.model.system import buffer, grouped_model, open_model

State = TypeVar("State", bound=Hashable)
Move = tuple[float, State, Mapping[str, int]]
"""Rate, next state, and how often each event happens in it."""


def solved_chain(
    start: State, moves: Callable[[State], Iterable[Move[State]]]
) -> tuple[dict[State, float], dict[str, float]]:
    """Return the probability of each state in the long run, and the rate of each event."""
    number = {start: 0}
    states = [start]
    arcs = []
    for state in states:  # grows while it is read
        for rate, target, events in moves(state):
            if target not in number:
                number[target] = len(states)
                states.append(target)
            arcs.append((number[state], number[target], rate, events))
    balance = np.zeros((len(states), len(states)))
    for source, target_number, rate, _ in arcs:
        balance[target_number, source] += rate
        balance[source, source] -= rate
    balance[-1] = 1.0
    probabilities = np.linalg.solve(balance, np.eye(len(states))[-1])
    rates: dict[str, float] = defaultdict(float)
    for source, _, rate, events in arcs:
        for event, count in events.items():
            rates[event] += rate * count * probabilities[source]
    return dict(zip(states, probabilities.tolist(), strict=True)), rates


class Clients(NamedTuple):
    """Where each client is: the number that thinks, and falls back; the number in a pause by try;
    the tries of those in service, and of those that wait, in order.
    """

    thinking: int
    fallback: int
    pauses: tuple[int, ...]
    served: tuple[int, ...]
    waiting: tuple[int, ...]


class Tries(NamedTuple):
    """Times and limits of clients that try a backend again; all times are exponential."""

    clients: int
    servers: int
    think: float
    time: float
    patience: float | None
    retries: int
    back_off: float | None
    otherwise: float
    queue: int | None = None
    doubling: bool = False
    limits: str = "wait"

    def activity(self) -> Any:
        """Write them as an activity."""
        traits = {"patience": self.patience, "back_off": self.back_off, "queue": self.queue}
        call = attempt(
            service("backend", self.time, scv=1.0),
            retries=self.retries,
            doubling=self.doubling,
            limits=self.limits,
            otherwise=delay(self.otherwise, name="fallback", scv=1.0),
            **{key: value for key, value in traits.items() if value is not None},  # type: ignore[arg-type]
        )
        cycle = delay(self.think, name="think", scv=1.0) >> call
        return closed_model(cycle, self.clients, resources={"backend": Station(self.servers)})

    def enter(self, now: Clients, tried: int, rate: float) -> Iterable[Move[Clients]]:
        """Let a client come to the backend, after so many failed tries."""
        if len(now.served) < self.servers:
            served = tuple(sorted((*now.served, tried)))
            yield rate, now._replace(served=served), {"try": 1}
        elif self.queue is not None and len(now.waiting) >= self.queue:
            for further_rate, state, events in self.fail(now, tried, rate):
                yield further_rate, state, {**events, "try": events.get("try", 0) + 1}
        else:
            yield rate, now._replace(waiting=(*now.waiting, tried)), {"try": 1}

    def fail(self, now: Clients, tried: int, rate: float) -> Iterable[Move[Clients]]:
        """Let a try fail: pause, try again at once, or fall back."""
        if tried == self.retries:
            yield rate, now._replace(fallback=now.fallback + 1), {"failed": 1}
        elif self.back_off:
            pauses = list(now.pauses)
            pauses[tried] += 1
            yield rate, now._replace(pauses=tuple(pauses)), {"failed": 1}
        else:
            for further_rate, state, events in self.enter(now, tried + 1, rate):
                yield further_rate, state, {**events, "failed": events.get("failed", 0) + 1}

    def moves(self, now: Clients) -> Iterable[Move[Clients]]:
        """Yield what can happen."""
        if now.thinking:
            called = now._replace(thinking=now.thinking - 1)
            yield from self.enter(called, 0, now.thinking / self.think)
        if now.fallback:
            back = now._replace(fallback=now.fallback - 1, thinking=now.thinking + 1)
            yield now.fallback / self.otherwise, back, {"cycle": 1}
        for tried, paused in enumerate(now.pauses):
            if paused:
                pauses = list(now.pauses)
                pauses[tried] -= 1
                mean = (self.back_off or 0.0) * 2 ** (tried * self.doubling)
                yield from self.enter(now._replace(pauses=tuple(pauses)), tried + 1, paused / mean)
        for place, tried in enumerate(now.served):
            served = now.served[:place] + now.served[place + 1 :]
            after = now._replace(
                served=tuple(sorted((*served, *now.waiting[:1]))), waiting=now.waiting[1:]
            )
            done = after._replace(thinking=now.thinking + 1)
            yield 1 / self.time, done, {"cycle": 1, "success": 1}
            if self.patience and self.limits == "visit":
                yield from self.fail(after, tried, 1 / self.patience)
        for place, tried in enumerate(now.waiting):
            if self.patience:
                waiting = now.waiting[:place] + now.waiting[place + 1 :]
                yield from self.fail(now._replace(waiting=waiting), tried, 1 / self.patience)


TRIES = {
    "after patience": Tries(3, 1, 1.0, 0.4, 0.3, 2, 0.2, 0.1),
    "pauses that double": Tries(4, 2, 0.2, 0.5, 0.25, 2, 0.3, 0.05, doubling=True),
    "at a full queue": Tries(5, 1, 1.0, 0.3, 0.5, 2, 0.4, 0.1, queue=1),
    "without a queue or patience": Tries(5, 1, 0.5, 0.3, None, 2, 0.4, 0.1, queue=0),
    "in service too": Tries(4, 1, 0.8, 0.3, 0.6, 1, 0.1, 0.2, limits="visit"),
    "at once": Tries(4, 1, 0.5, 0.3, 0.5, 2, None, 0.3),
}


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", TRIES)
def test_tries_that_fail_are_those_of_a_chain_of_clients(name: str) -> None:
    tries = TRIES[name]
    start = Clients(tries.clients, 0, (0,) * tries.retries, (), ())
    probabilities, rates = solved_chain(start, tries.moves)
    shares = probabilities.items()
    serving = sum(share * len(now.served) for now, share in shares)
    waiting = sum(share * len(now.waiting) for now, share in shares)
    paused = sum(share * sum(now.pauses) for now, share in shares)
    answer = solve(tries.activity(), method="markov-chain", limits={"states": 100_000})
    assert answer.exact
    values = {
        "time": tries.clients / rates["cycle"],
        "throughput": rates["cycle"],
        "utilization[backend]": serving / tries.servers,
        "queue_length[backend]": serving + waiting,
        "abandonment[backend]": rates["failed"] / rates["try"],
        "amplification[backend]": rates["try"] / rates["cycle"],
        "goodput[backend]": rates["success"],
    }
    assert {key: answer[key] for key in values} == pytest.approx(values, rel=1e-8)
    assert answer.account.get("wait:backend", 0.0) == pytest.approx(waiting / rates["cycle"])
    assert answer.account.get("back-off:backend", 0.0) == pytest.approx(paused / rates["cycle"])


class Makers(NamedTuple):
    """Where producers and consumers are: the producers that make, wait for a place and put in; the
    consumers that wait for an item, take out and use; and the items.
    """

    make: int
    put: int
    take: int
    use: int
    items: int
    places: int


@pytest.mark.parametrize(("places", "items"), [(1, 0), (2, 0), (4, 3)])
def test_a_bounded_buffer_is_that_of_a_chain_of_makers(places: int, items: int) -> None:
    """Two producers (1 s, put in 0.1 s) and three consumers (take out 0.2 s, 1.3 s)."""

    def granted(now: Makers) -> Makers:
        """Let those that wait have the free places and the items."""
        putting = min(now.places, 2 - now.make - now.put)
        taking = min(now.items, 3 - now.take - now.use)
        return Makers(
            now.make,
            now.put + putting,
            now.take + taking,
            now.use,
            now.items - taking,
            now.places - putting,
        )

    def moves(now: Makers) -> Iterable[Move[Makers]]:
        """Yield what can happen."""
        yield now.make / 1.0, granted(now._replace(make=now.make - 1)), {}
        put_in = now._replace(put=now.put - 1, make=now.make + 1, items=now.items + 1)
        yield now.put / 0.1, granted(put_in), {"made": 1}
        taken = now._replace(take=now.take - 1, use=now.use + 1, places=now.places + 1)
        yield now.take / 0.2, granted(taken), {}
        yield now.use / 1.3, granted(now._replace(use=now.use - 1)), {"used": 1}

    def possible(now: Makers) -> Iterable[Move[Makers]]:
        """Yield moves with a rate."""
        return [move for move in moves(now) if move[0] > 0]

    start = granted(Makers(2, 0, 0, 0, items, places - items))
    probabilities, rates = solved_chain(start, possible)
    shares = probabilities.items()
    waiting_producers = sum(share * (2 - now.make - now.put) for now, share in shares)
    waiting_consumers = sum(share * (3 - now.take - now.use) for now, share in shares)
    producer = delay(1.0, name="make", scv=1.0) >> put("store", delay(0.1, name="in", scv=1.0))
    consumer = get("store", delay(0.2, name="out", scv=1.0)) >> delay(1.3, name="use", scv=1.0)
    model = grouped_model(
        {"makers": (2, producer), "users": (3, consumer)},
        resources={"store": buffer(places, items)},
    )
    answer = solve(model, method="markov-chain")
    assert rates["made"] == pytest.approx(rates["used"])
    values = {
        "throughput[makers]": rates["made"],
        "time[users]": 3 / rates["used"],
        "wait[store.places]": waiting_producers / rates["made"],
        "wait[store.items]": waiting_consumers / rates["used"],
    }
    assert {key: answer[key] for key in values} == pytest.approx(values, rel=1e-8, abs=1e-12)


Desk = tuple[int, int, str]
"""The number of small and large customers that hold permits, and the line of those that wait."""


@pytest.mark.turns(8)
def test_permits_taken_together_are_granted_in_the_order_of_arrival() -> None:
    """Of four permits 60 % of the customers take one for 0.5 s, the others three for 0.4 s. The
    first that waits is passed by none, also where its permits are not enough for it and for another
    they would be. At most nine wait, which is hardly ever seen.
    """
    size, mean = {"small": 1, "large": 3}, {"small": 0.5, "large": 0.4}

    def granted(small: int, large: int, line: str) -> Desk:
        """Give permits to those that wait, in order."""
        while line and small + 3 * large + size["small" if line[0] == "s" else "large"] <= 4:
            small, large, line = small + (line[0] == "s"), large + (line[0] == "l"), line[1:]
        return small, large, line

    def moves(now: Desk) -> Iterable[Move[Desk]]:
        """Yield what can happen."""
        small, large, line = now
        if len(line) < 9:
            for kind, share in (("s", 0.6), ("l", 0.4)):
                yield 1.2 * share, granted(small, large, line + kind), {"come": 1}
        if small:
            yield small / mean["small"], granted(small - 1, large, line), {}
        if large:
            yield large / mean["large"], granted(small, large - 1, line), {}

    probabilities, rates = solved_chain((0, 0, ""), moves)
    present = sum(
        probability * (small + large + len(line))
        for (small, large, line), probability in probabilities.items()
    )
    full = sum(probability for (*_, line), probability in probabilities.items() if len(line) == 9)
    assert full < 1e-4
    both = choose(
        (0.6, hold("few", delay(0.5, name="small", scv=1.0))),
        (0.4, hold("few", delay(0.4, name="large", scv=1.0), permits=3)),
    )
    model = open_model(both, 1.2, resources={"few": Permits(4)})
    time = present / rates["come"]
    answer = solve(model, method="simulation", simulation=Simulation(seed=5, events=400_000))
    value = answer.values["time"]
    assert value.low is not None
    assert value.high is not None
    assert value.high - value.low < 0.06 * time
    slack = (value.high - value.low) / 2
    assert value.low - slack <= time <= value.high + slack
    utilization = sum(
        probability * (small + 3 * large) / 4
        for (small, large, _), probability in probabilities.items()
    )
    assert answer["utilization[few]"] == pytest.approx(utilization, rel=0.02)
