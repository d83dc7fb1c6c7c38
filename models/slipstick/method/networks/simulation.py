"""Simulation of queueing networks: customers run from station to station, event by event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from slipstick.answer import Answer, Value
from slipstick.errors import NoAnswerError
from slipstick.method.names import LINEARIZER, SIMULATION
from slipstick.method.networks.answers import QUANTILES, THINK, assumed
from slipstick.method.networks.arrays import Compiled
from slipstick.method.networks.flatten import FlatNetwork, flatten, served, thinking, waited
from slipstick.method.networks.form import NetworkForm
from slipstick.method.networks.solvers import outside
from slipstick.method.networks.values import unit_of
from slipstick.method.simulation.estimated import ROUNDING, Differences, as_value, notes_of
from slipstick.method.simulation.form import SimulationForm
from slipstick.method.trial import Trial
from slipstick.model.network import Place, QueueingNetwork, Stream
from slipstick.sim.effort import Effort
from slipstick.sim.estimate.intervals import Estimate
from slipstick.sim.estimate.result import Result
from slipstick.sim.estimate.rows import Layout
from slipstick.sim.plan.streams import Array
from slipstick.sim.run import simulate

__all__ = ["simulation_of", "solve"]

NONE = Estimate(0.0, 0.0, 0.0)
"""What is known of those who are not there."""

NOBODY = "nobody is in the network, and nobody comes"


def simulation_of(model: QueueingNetwork, trial: Trial) -> SimulationForm:
    """Give the form that simulates a network.

    Parameters
    ----------
    model : the network
    trial : how to simulate it
    """
    compiled = Compiled(model)
    return SimulationForm(
        model.name,
        f"response_time[{next(iter(compiled.chains))}]",
        tuple(compiled.tape.parameters),
        unit_of,
        lambda values: _solved(compiled, values, trial),
    )


def solve(model: QueueingNetwork, values: Mapping[str, float] | None = None, trial: Trial | None = None) -> Answer:
    """Answer for a network at one point, by simulation; every value with its 95 % interval.

    A customer who comes to a station that is full is lost: one who arrived from outside leaves, one who goes
    round begins a new cycle. The response time is counted from the end of thinking. A station with rates is one server
    whose speed depends on how many are there; it may be fcfs or ps.

    Parameters
    ----------
    model : the network
    values : parameters that differ from the model's own, in base units
    trial : seed, precision wished (2 % by default) and budget

    Raises
    ------
    ModelError : a name is unknown, a value missing, or the network cannot be simulated
    NoAnswerError : a station is saturated, a number is out of its range, or a cycle takes no time

    >>> from slipstick.model.network import customers, network, queue
    >>> answer = solve(network({"jobs": customers(3)}, {"cpu": queue(demand={"jobs": 2.0}, scv={"jobs": 0})}))
    >>> answer["throughput[jobs]"], answer["response_time[jobs]"], answer["waiting_time[jobs,cpu]"]
    (0.5, 6.0, 4.0)
    """
    return _solved(Compiled(model), values or {}, trial or Trial())


def _solved(compiled: Compiled, values: Mapping[str, float], trial: Trial) -> Answer:
    flat = _flat(compiled, values)
    if not flat.groups:
        return _Seen(compiled, flat, None).answer()
    result = simulate(flat.plan, trial.seed, trial.effort, trial.kernel)
    answer = _Seen(compiled, flat, result).answer()
    return _with_shares(answer, compiled, values, result, trial) if trial.shares else answer


def _flat(compiled: Compiled, values: Mapping[str, float]) -> FlatNetwork:
    columns = compiled.columns(values)
    arrays = compiled.arrays(columns)
    if wrong := outside(arrays):
        raise NoAnswerError(wrong[0])
    return flatten(compiled, columns, arrays)


class _Seen:
    """What one run says of a network; without a run, that nobody was there."""

    def __init__(self, compiled: Compiled, flat: FlatNetwork, result: Result | None) -> None:
        self.compiled, self.flat, self.result = compiled, flat, result
        self.stations = compiled.model.stations
        self.layout = Layout(flat.plan)
        self.chain_of = {label: name for name, chain in compiled.chains.items() for label in chain.classes}

    def answer(self) -> Answer:
        """Read every value off the run."""
        result = self.result
        values = {name: as_value(each, unit_of(name)) for name, each in self._values() if each is not None}
        notes = notes_of(result) if result else (NOBODY,)
        certain = result is None or not result.plan.random
        return Answer(
            model=self.compiled.model.name,
            method=SIMULATION,
            values=values,
            account=self._account(),
            exact=certain and all(map(_narrow, (each for name, each in values.items() if "quantile" not in name))),
            notes=(*notes, *assumed(self.compiled)),
            seed=result.seed if result else None,
            converged=result.converged if result else None,
            interrupted=result is not None and result.stopped == "interrupted",
        )

    def _values(self) -> Iterator[tuple[str, Estimate | None]]:
        for name in self.compiled.chains:
            yield from self._of_chain(name)
        for name, station in self.stations.items():
            for label in station.visitors():
                yield from self._of_place((label, name))
        for name in self.stations:
            yield from self._of_station(name)
        for name in self.flat.groups:
            for p in QUANTILES:
                yield f"response_time_quantile[{name},{p:g}]", self._quantile(name, p)

    def _of_chain(self, name: str) -> Iterator[tuple[str, Estimate | None]]:
        chain, elapsed = self.compiled.chains[name], self._column(self.layout.time)
        yield f"throughput[{name}]", self._ratio(name, self.cycles(name), elapsed, NONE)
        yield f"response_time[{name}]", self.response(name, self.places(name))
        for label in chain.classes if chain.classes != (name,) else ():
            if isinstance(chain.members, Stream):
                passing = self.cycles(name) * (label == chain.reference[0])
            else:
                passing = self.passages((label, chain.reference[1]))
            yield f"throughput[{label}]", self._ratio(name, passing, elapsed, NONE)
            yield (
                f"response_time[{label}]",
                self.response(name, [each for each in self.places(name) if each[0] == label]),
            )

    def _of_place(self, place: Place) -> Iterator[tuple[str, Estimate | None]]:
        chain, station, key = self.chain_of[place[0]], self.stations[place[1]], f"[{place[0]},{place[1]}]"
        elapsed, time, waits = self._column(self.layout.time), self.time(place), self._booked(waited(place))
        per_visit = self.cycles(chain)
        if place in self.flat.visits:
            per_visit = self.passages(place) * (self.flat.told[place] / self.flat.visits[place])
        yield f"queue_length{key}", self._ratio(chain, time, elapsed, NONE)
        yield f"residence_time{key}", self.response(chain, [place])
        yield f"time_per_visit{key}", self._ratio(chain, time, per_visit)
        if not station.rates:
            yield f"waiting_time{key}", self._ratio(chain, waits, per_visit)
        if station.discipline != "is":
            yield f"utilization{key}", self._ratio(chain, self._busy(place), elapsed * station.servers, NONE)
        if station.capacity:
            tried, refused = self._gate(place)
            yield f"loss_probability{key}", self._ratio(chain, refused, tried, NONE)

    def _of_station(self, name: str) -> Iterator[tuple[str, Estimate | None]]:
        elapsed = self._column(self.layout.time)
        if self.stations[name].discipline == "is":
            times = sum((self.time(each) for each in self.flat.visits if each[1] == name), np.zeros(self.layout.width))
            yield f"queue_length[{name}]", self._ratio(None, times, elapsed)
            return
        index = self.flat.plan.resources.index(name)
        yield f"queue_length[{name}]", self._ratio(None, self._column(self.layout.area[index]), elapsed)
        used = self._column(self.layout.use[index])
        yield f"utilization[{name}]", self._ratio(None, used, elapsed * self.stations[name].servers)

    def _quantile(self, chain: str, p: float) -> Estimate | None:
        return None if self.result is None else self.result.time_quantile(p, self.flat.groups[chain])

    def places(self, chain: str) -> list[Place]:
        """List where a chain has service."""
        return [place for place in self.flat.visits if self.chain_of[place[0]] == chain]

    def response(self, chain: str, places: list[Place]) -> Estimate | None:
        """Estimate the time at places in a cycle [s]."""
        times = sum((self.time(place) for place in places), np.zeros(self.layout.width))
        return self._ratio(chain, times, self.cycles(chain))

    def cycles(self, chain: str) -> Array:
        """Pick the cycles of a chain: where customers are lost, its passages at the first station."""
        if chain in self.flat.first:
            first = self.flat.first[chain].items()
            return sum((self.passages(place) / visits for place, visits in first), np.zeros(self.layout.width))
        group = self.flat.groups.get(chain)
        return np.zeros(self.layout.width) if group is None else self._column(self.layout.cycles[group])

    def passages(self, place: Place) -> Array:
        """Pick the visits of a class to a station: counted at a gate, or as many as there must be."""
        if self.chain_of[place[0]] in self.flat.first:
            tried, refused = self._gate(place)
            return tried - refused
        return self.cycles(self.chain_of[place[0]]) * self.flat.visits.get(place, 0.0)

    def time(self, place: Place) -> Array:
        """Pick the time of a class at a station, waiting included."""
        return self._booked(served(place)) + self._booked(waited(place))

    def _gate(self, place: Place) -> tuple[Array, Array]:
        gates = self.flat.plan.gates
        if served(place) not in gates:
            return np.zeros(self.layout.width), np.zeros(self.layout.width)
        index = gates.index(served(place))
        return self._column(self.layout.tried[index]), self._column(self.layout.refused[index])

    def _busy(self, place: Place) -> Array:
        """Pick the time that a class keeps servers busy; of a station of rates, its part by the work done."""
        name = place[1]
        if not self.stations[name].rates or self.result is None:
            return self._booked(served(place))
        sums = self.result.batches.sum(axis=0)
        work = {each: float(sums @ self.passages(each)) * s for each, s in self.flat.service.items() if each[1] == name}
        part = work.get(place, 0.0) / (sum(work.values()) or 1.0)
        return part * self._column(self.layout.use[self.flat.plan.resources.index(name)])

    def _booked(self, label: str) -> Array:
        """Pick the time booked to a label, of whatever chain."""
        weights = np.zeros(self.layout.width)
        if label in self.flat.plan.labels:
            weights[np.array(self.layout.booked) + self.flat.plan.labels.index(label)] = 1.0
        return weights

    def _column(self, index: int) -> Array:
        weights = np.zeros(self.layout.width)
        weights[index] = 1.0
        return weights

    def _ratio(self, chain: str | None, top: Array, bottom: Array, nobody: Estimate | None = None) -> Estimate | None:
        """Estimate a ratio of what was seen; of a chain without anybody, what is known all the same."""
        if self.result is None or (chain is not None and chain not in self.flat.groups):
            opened = chain is not None and isinstance(self.compiled.chains[chain].members, Stream)
            return nobody if opened else NONE
        return self.result.ratio(top, bottom)

    def _account(self) -> dict[str, float]:
        """Follow one customer through a cycle; only where all are of one chain."""
        if len(self.compiled.chains) != 1 or self.result is None:
            return {}
        (chain,) = self.compiled.chains
        sums = self.result.batches.sum(axis=0)
        cycles = float(sums @ self.cycles(chain)) or 1.0
        found = {THINK: float(sums @ self._booked(thinking(chain))) / cycles}
        for name, station in self.stations.items():
            for place in (each for each in self.flat.visits if each[1] == name):
                parts = {name: self._booked(served(place)), f"wait:{name}": self._booked(waited(place))}
                if station.rates:
                    parts = {name: self.time(place)}
                for key, each in parts.items():
                    found[key] = found.get(key, 0.0) + float(sums @ each) / cycles
        return {name: each for name, each in found.items() if each}


def _narrow(value: Value) -> bool:
    return value.low is not None and value.value is not None and value.value - value.low <= ROUNDING * value.value


def _with_shares(answer: Answer, compiled: Compiled, values: Mapping[str, float], base: Result, trial: Trial) -> Answer:
    """Add shares of the first response time; which parameters have the largest is guessed by mean values."""
    chain = next(iter(compiled.chains))
    value = f"response_time[{chain}]"
    if value not in answer.values:
        return answer
    form = NetworkForm(compiled.model, LINEARIZER)
    guess = form.points(values).answer(0).share.get(value, {})
    powers = {name: each.dimension.time_power for name, each in compiled.tape.parameters.items()}
    ranked = sorted((name for name in form.smooth if powers[name]), key=lambda name: -abs(guess.get(name, 0.0)))

    def again(changed: Mapping[str, float], effort: Effort) -> Array:
        flat = _flat(compiled, {**values, **changed})
        run = simulate(flat.plan, trial.seed, effort, trial.kernel)
        seen = _Seen(compiled, flat, run)
        times = sum((seen.time(place) for place in seen.places(chain)), np.zeros(seen.layout.width))
        means: Array = (run.batches @ times) / (run.batches @ seen.cycles(chain))
        return means

    here = {name: values.get(name, each.value or 0.0) for name, each in compiled.tape.parameters.items()}
    return Differences(value, again, base).added_to(answer, ranked[: trial.shares], here, powers)
