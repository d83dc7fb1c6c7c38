"""Networks beside activities of the same meaning, both typed from the documentation: where both are
exact, each value is the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from slipstick import solve


class Pair(NamedTuple):
    """The keys of a network, those of an activity, and the names of the values in both."""

    classes: str
    stations: str
    population: str
    resources: str
    cycle: str
    names: dict[str, str]
    further: str = ""


OF_STREAM = {"response_time[a]": "time", "queue_length[s]": "queue_length[s]"}
OF_CLOSED = {"response_time[a]": "response_time", "throughput[a]": "throughput"}
OF_STATION = {"queue_length[s]": "queue_length[s]", "utilization[s]": "utilization[s]"}
THINK = "{name: think, delay: 1 s, scv: 1, think: true}"
PAIRS = {
    "patience": Pair(
        "{a: {arrivals: 4 /s}}",
        "{s: {servers: 5, service: {a: 1 s}, patience: {a: 1.5 s}}}",
        "{arrivals: 4 /s}",
        "{s: {servers: 5}}",
        "[{attempt: [{service: s, time: 1 s, scv: 1}], patience: 1.5 s}]",
        {
            **OF_STREAM,
            **OF_STATION,
            "throughput[a]": "goodput[s]",
            "abandonment[a,s]": "abandonment[s]",
            "waiting_time[a,s]": "wait[s]",
        },
    ),
    "a full station": Pair(
        "{a: {arrivals: 2 /s}}",
        "{s: {servers: 2, service: {a: 1 s}, capacity: 5}}",
        "{arrivals: 2 /s}",
        "{s: {servers: 2}}",
        "[{attempt: [{service: s, time: 1 s, scv: 1}], queue: 3}]",
        {
            **OF_STATION,
            "throughput[a]": "goodput[s]",
            "loss_probability[a,s]": "abandonment[s]",
            "waiting_time[a,s]": "wait[s]",
        },
    ),
    "a full station and a second try": Pair(
        "{a: {arrivals: 1.5 /s}}",
        "{s: {service: {a: 0.5 s}, capacity: 2, retries: {a: 1}, back_off: {a: 0.3 s}}}",
        "{arrivals: 1.5 /s}",
        "{s: {servers: 1}}",
        "[{attempt: [{service: s, time: 0.5 s, scv: 1}], queue: 1, retries: 1, back_off: 0.3 s}]",
        {**OF_STREAM, **OF_STATION, "throughput[a]": "goodput[s]"},
    ),
    "speeds": Pair(
        "{a: {population: 5, think_time: 1 s}}",
        "{s: {discipline: ps, rates: [1, 1.6, 2, 1.8], service: {a: 0.9 s}}}",
        "{processors: 5}",
        "{s: {discipline: ps, rates: [1, 1.6, 2, 1.8]}}",
        f"[{THINK}, {{service: s, time: 0.9 s, scv: 1}}]",
        {**OF_CLOSED, "queue_length[s]": "queue_length[s]"},
    ),
    "a region of processors": Pair(
        "{a: {population: 6, think_time: 1 s}}",
        "{s: {servers: 2, discipline: ps, service: {a: 0.3 s}}, d: {service: {a: 0.2 s}}}",
        "{processors: 6}",
        "{s: {servers: 2, discipline: ps}, d: {servers: 1}, t: {permits: 3}}",
        f"[{THINK}, {{hold: t, body: [{{service: s, time: 0.3 s, scv: 1}},"
        " {service: d, time: 0.2 s, scv: 1}]}]",
        {**OF_CLOSED, **OF_STATION, "waiting_time[t]": "wait[t]"},
        "regions: {t: {stations: [s, d], capacity: 3}}",
    ),
    "a region of a stream": Pair(
        "{a: {arrivals: 2 /s}}",
        "{s: {service: {a: 0.3 s}}, d: {servers: 2, service: {a: 0.4 s}}}",
        "{arrivals: 2 /s}",
        "{s: {servers: 1}, d: {servers: 2}, t: {permits: 4}}",
        "[{hold: t, body: [{service: s, time: 0.3 s, scv: 1}, {service: d, time: 0.4 s, scv: 1}]}]",
        {**OF_STREAM, **OF_STATION, "utilization[t]": "utilization[t]"},
        "regions: {t: {stations: [s, d], capacity: 4}}",
    ),
    "servers that fail after a service": Pair(
        "{a: {population: 4, think_time: 1 s}}",
        "{s: {servers: 2, service: {a: 1 s}, breakdown: {every: 6 s, repair: 2 s},"
        " finish_service: true}}",
        "{processors: 4}",
        "{s: {servers: 2, breakdown: {every: 6 s, repair: 2 s}, finish_service: true}}",
        f"[{THINK}, {{service: s, time: 1 s, scv: 1}}]",
        {"throughput[a]": "throughput", **OF_STATION, "waiting_time[a,s]": "wait[s]"},
    ),
    "a circuit breaker": Pair(
        "{a: {arrivals: 2 /s}}",
        "{s: {service: {a: 0.5 s}, patience: {a: 0.4 s}}}",
        "{arrivals: 2 /s}",
        "{s: {servers: 1}, g: {breaker: 2, of: 4, open: 2 s, scv: 1}}",
        "[{attempt: [{service: s, time: 0.5 s, scv: 1}], patience: 0.4 s, breaker: g}]",
        {
            **OF_STATION,
            "throughput[a]": "goodput[s]",
            "open_share[g]": "open_share[g]",
            "refused_share[g]": "refused_share[g]",
        },
        "breakers: {g: {breaker: 2, of: 4, open: 2 s, scv: 1, stations: [s]}}",
    ),
    "balking and patience": Pair(
        "{a: {population: 5, think_time: 1 s}}",
        "{s: {servers: 2, service: {a: 0.7 s}, patience: {a: 1 s}, balking: {a: [0.2, 0.4]}}}",
        "{processors: 5}",
        "{s: {servers: 2}}",
        f"[{THINK}, {{attempt: [{{service: s, time: 0.7 s, scv: 1}}], patience: 1 s,"
        " balking: [0.2, 0.4]}]",
        OF_STATION,
    ),
    "random order": Pair(
        "{a: {population: 4, think_time: 1 s}}",
        "{s: {discipline: random, service: {a: 0.6 s}, scv: {a: 0.25}}}",
        "{processors: 4}",
        "{s: {servers: 1, discipline: random}}",
        f"[{THINK}, {{service: s, time: 0.6 s, scv: 0.25}}]",
        {**OF_CLOSED, **OF_STATION, "waiting_time[a,s]": "wait[s]"},
    ),
}


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", PAIRS)
def test_a_network_has_the_values_of_the_activity_that_means_the_same(
    name: str, tmp_path: Path
) -> None:
    pair = PAIRS[name]
    network, activity = tmp_path / "network.yaml", tmp_path / "activity.yaml"
    network.write_text(
        f"queueing-network: 1\nclasses: {pair.classes}\nstations: {pair.stations}\n{pair.further}\n"
    )
    activity.write_text(
        f"activity: 1\npopulation: {pair.population}\nresources: {pair.resources}\n"
        f"cycle: {pair.cycle}\n"
    )
    of_network, of_activity = (solve(str(path)) for path in (network, activity))
    for answer in (of_network, of_activity):
        assert answer.method == "markov-chain" or answer.exact
    values = {key: of_activity[other] for key, other in pair.names.items()}
    assert None not in values.values()
    assert {key: of_network[key] for key in values} == pytest.approx(values, rel=1e-9)
