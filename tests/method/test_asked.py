"""Every value that can be asked of a model is there, or the way to have it is told and leads
there.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from slipstick.answer import ANSWERED, OTHER_METHOD, AskedValue
from slipstick.api import solve
from slipstick.cli.main import main
from slipstick.errors import SpecError, UnknownNameError
from slipstick.law.law import LAWS
from slipstick.method.asked import needs_simulation, value_names_in_texts, value_states
from slipstick.method.methods import compute_answers
from slipstick.method.names import is_transient, names_of
from slipstick.model.activity import delay, service
from slipstick.model.system import grouped_model
from slipstick.schema.inputs import build_once
from slipstick.schema.library import Library
from slipstick.sim.settings import Simulation
from slipstick.study.check import check_file
from slipstick.study.run import prepare, run
from slipstick.vocabulary import ACTIVITY, METHODS, NETWORK
from tests.specs import settings

NETWORKS = {
    "closed": """\
classes: {jobs: {population: 3, think_time: 1 s}}
stations:
  cpu: {discipline: ps, service: {jobs: 10 ms}}
  disk: {servers: 2, discipline: fcfs, service: {jobs: 20 ms}, visits: {jobs: 2}}
""",
    "open": """\
classes: {jobs: {arrivals: 20 /s}}
stations:
  cpu: {discipline: fcfs, service: {jobs: 10 ms}}
  lines: {discipline: is, service: {jobs: 20 ms}}
""",
    "ranks": """\
classes: {high: {arrivals: 20 /s}, low: {arrivals: 30 /s}}
stations:
  cpu: {discipline: priority, service: {high: 10 ms, low: 15 ms}, priority: {high: 1, low: 2}}
""",
    "shifts": """\
classes: {calls: {arrivals: 20 /s}}
stations:
  desk: {service: {calls: 30 ms}, schedule: [{lasts: 5 s, servers: 2}, {lasts: 5 s, servers: 1}]}
""",
    "failing": """\
classes: {calls: {arrivals: 10 /s}}
stations: {desk: {service: {calls: 20 ms}, breakdown: {every: 5 s, repair: 200 ms}}}
""",
    "switching": """\
chains: {jobs: {classes: [read, write], population: 2, reference: [read, disk]}}
stations: {disk: {discipline: ps, service: {read: 1 s, write: 3 s}}}
routing:
  - {from: [read, disk], to: [write, disk], probability: 1}
  - {from: [write, disk], to: [read, disk], probability: 1}
""",
    "losing": """\
classes: {calls: {arrivals: 20 /s}}
stations: {desk: {servers: 2, discipline: fcfs, capacity: 3, service: {calls: 100 ms}}}
""",
    "patience": """\
classes: {calls: {arrivals: 20 /s}}
stations:
  desk: {servers: 2, discipline: fcfs, service: {calls: 100 ms}, patience: {calls: 200 ms}}
""",
}
ACTIVITIES = {
    "lock": """\
population: {processors: 3}
resources: {bus: {servers: 1, discipline: fcfs}, door: {lock: fifo}}
cycle:
  - {name: work, delay: 9 ms, scv: 1, component: busy}
  - {hold: door, body: [{name: crit, service: bus, time: 1 ms, component: lock}]}
""",
    "stream": """\
population: {arrivals: 20 /s}
resources: {pool: {permits: 2}}
cycle:
  - {hold: pool, body: [{name: serve, delay: 20 ms, scv: 1}]}
""",
    "barrier": """\
population: {processors: 3}
resources: {meet: {barrier: central, cost: 5 us}}
cycle:
  - {name: work, delay: 9 ms, scv: 1, component: busy}
  - {barrier: meet}
""",
    "pipeline": """\
population: {processors: 2}
resources: {bus: {servers: 1, discipline: fcfs}}
cycle:
  - name: line
    pipeline: 7
    stages:
      - serial: [{name: send, delay: 2 ms}]
      - serial: [{name: take, service: bus, time: 1 ms}]
""",
}
BRIEF = Simulation(cycles=400)


def built(folder: Path, kind: str, text: str):  # type: ignore[no-untyped-def]
    path = folder / "model.yaml"
    path.write_text(f"{kind}: 1\n{text}")
    return build_once(settings(model=str(path)), Library())[1]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("kind", "name"),
    [("queueing-network", each) for each in NETWORKS] + [("activity", each) for each in ACTIVITIES],
)
def test_what_is_asked_is_answered_or_the_way_that_is_told_leads_there(
    tmp_path: Path, kind: str, name: str
) -> None:
    model = built(tmp_path, kind, (NETWORKS if kind != "activity" else ACTIVITIES)[name])
    names = [each for each in names_of(model.model) if not is_transient(each)]
    tried: dict[str, dict[str, AskedValue]] = {}

    def state(method: str | None, name: str) -> AskedValue:
        """Return the state of a value by a method, solved once for all names."""
        if str(method) not in tried:
            answer = compute_answers(model.model, model.parameters, method, BRIEF)[0]
            found = {} if answer.failed else value_states(model.model, answer, names)
            tried[str(method)] = tried[answer.method] = found
        return tried[str(method)][name]

    for method in (None, *METHODS[NETWORK if kind != "activity" else ACTIVITY]):
        for each in names:
            try:
                found = state(method, each)
            except KeyError:
                continue  # the method does not solve such a model, and says so
            if found.state == ANSWERED:
                continue
            assert found.why, each
            if found.state == OTHER_METHOD:
                other = state(found.method, each)
                nothing = any(
                    words in other.why for words in ("0 in this", "in the run", "no class thinks")
                )
                assert other.state == ANSWERED or nothing, (each, method, found, other)
            else:
                best = state("None", each)
                told = "0 in this answer" in found.why or "shares" in found.why
                assert best.state != ANSWERED or told, (each, method)


def test_what_is_asked_chooses_the_method(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = tmp_path / "closed.yaml", "response_time_quantile[jobs,0.95]"
    path.write_text(f"queueing-network: 1\n{NETWORKS['closed']}")
    assert main(["solve", str(path), "--value", name]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    by = next(index for index, line in enumerate(lines) if line.startswith("closed by "))
    assert lines[by].startswith("closed by simulation")
    assert any(name in line for line in lines[by : by + 5])
    assert main(["solve", str(path), "--with", "exact", "--value", name]) == 0
    assert "needs another method: no formula has it for this network" in capsys.readouterr().out
    path.write_text(f"queueing-network: 1\n{NETWORKS['open']}")  # of this it is exact
    assert main(["solve", str(path), "--value", name]) == 0
    assert "\nclosed by exact" in capsys.readouterr().out


@pytest.mark.turns(4)
def test_a_condition_chooses_the_method_of_its_study_and_is_refused_where_none_is_left(
    tmp_path: Path,
) -> None:
    (tmp_path / "closed.yaml").write_text(f"queueing-network: 1\n{NETWORKS['closed']}")
    study = """\
study: 1
base: {model: closed.yaml, simulation.cycles: 2000}
seek:
  q: {of: stations.disk.servers, from: 1, to: 2, where: "response_time_quantile[jobs,0.95] <= 10 s"}
"""
    path = tmp_path / "study.yaml"
    path.write_text(study)
    found = run(prepare(str(path)))
    assert found.cases["base"].method == "simulation"
    assert any(
        "simulated, because response_time_quantile[jobs,0.95]" in each for each in found.notes
    )
    path.write_text(study.replace("closed.yaml,", "closed.yaml, method: exact,"))
    with pytest.raises(
        Exception, match=r"study.yaml:4:\d+: seek.q.where: .* write method: simulation"
    ):
        check_file(path)


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(8))
def test_whether_a_formula_has_a_quantile_is_known_without_solving(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    kind = chance.choice(["arrivals: 20 /s", "population: 3"])
    kinds = ["discipline: is", "servers: 3, discipline: fcfs", "discipline: fcfs", "discipline: ps"]
    lines = [
        f"  s{k}: {{{chance.choice(kinds)}, service: {{jobs: 10 ms}}, "
        f"visits: {{jobs: {chance.choice([1, 1, 2])}}}}}"
        for k in range(chance.choice([1, 2, 3]))
    ]
    text = f"classes: {{jobs: {{{kind}}}}}\nstations:\n" + "\n".join(lines) + "\n"
    model = built(tmp_path, "queueing-network", text)
    name = "response_time_quantile[jobs,0.95]"
    (answer,) = compute_answers(model.model, model.parameters, "best")
    assert needs_simulation(model.model, name) == (answer.find(name) is None)


def test_names_of_values_are_found_in_conditions() -> None:
    text = "own.time_quantile[0.95] <= 2 * base.time_quantile[0.5] and time < 1 s"
    assert value_names_in_texts([text]) == {"time_quantile[0.95]", "time_quantile[0.5]"}


GROUPS = """\
activity: 1
resources: {bus: {servers: 1, discipline: fcfs}}
groups:
  gold: {processors: 3, cycle: [{name: a, delay: 1 s, scv: 1}, {name: b, service: bus, time: 1 s}]}
  iron: {processors: 2, cycle: [{name: c, delay: 5 s, scv: 1}, {name: d, service: bus, time: 1 s}]}
"""


def test_a_wait_is_the_mean_of_all_visits_and_the_account_is_of_a_cycle_of_one_group() -> None:
    """Both groups ask for the server once a cycle, so that their waits are weighed by throughputs;
    the account of the other group is that of the model in which it comes first.
    """
    bodies = {
        name: delay(pause, name=f"{name}-pause", scv=1) >> service("bus", 1.0, name=name, scv=1)
        for name, pause in (("gold", 1.0), ("iron", 5.0))
    }
    groups = {name: (2, body) for name, body in bodies.items()}
    answer = solve(grouped_model(groups))
    turned = solve(grouped_model(dict(reversed(groups.items()))))
    rates = [answer[f"throughput[{name}]"] or 0.0 for name in groups]
    waits = [answer.account["wait:bus"], turned.account["wait:bus"]]
    mean = sum(rate * wait for rate, wait in zip(rates, waits, strict=True)) / sum(rates)
    assert answer["wait[bus]"] == pytest.approx(mean, rel=1e-6)
    assert waits[0] != pytest.approx(waits[1], rel=0.01)


@pytest.mark.turns(4)
def test_values_of_several_groups_are_asked_by_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "groups.yaml").write_text(GROUPS)
    assert main(["solve", str(tmp_path / "groups.yaml"), "--all"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "those of the first group, gold" in said
    assert "time[gold]" in said
    assert main(["solve", str(tmp_path / "groups.yaml"), "--value", "time"]) == 2
    refused = " ".join(capsys.readouterr().err.split())
    assert "'time' without a group; write time[gold] or time[iron]" in refused
    assert main(["solve", str(tmp_path / "groups.yaml"), "--value", "wait[bus,iron]"]) == 2
    refused = " ".join(capsys.readouterr().err.split())
    assert "'wait[bus,iron]' of one group; wait[bus] is that of all groups" in refused
    assert main(["solve", str(tmp_path / "groups.yaml"), "--value", "wait:bus"]) == 2
    refused = " ".join(capsys.readouterr().err.split())
    assert "'wait:bus'; as a part of the time of a cycle it is account[wait:bus]" in refused
    answer = solve(str(tmp_path / "groups.yaml"))
    with pytest.raises(UnknownNameError, match=r"write throughput\[gold\] or throughput\[iron\]"):
        answer["throughput"]
    assert not {"time", "throughput"} & set(answer.names)
    assert main(["check", str(tmp_path / "groups.yaml")]) == 0
    assert "a valid activity; no scv, therefore constant: 2 of 4 times" in capsys.readouterr().out
    study = tmp_path / "study.yaml"
    text = "study: 1\nbase: {model: groups.yaml}\nanswer: [throughput]\n"
    study.write_text(text)
    with pytest.raises(SpecError, match=r"study.yaml:3:10: .* write throughput\[gold\] or"):
        check_file(study)
    compared = text.replace("throughput", "'time[gold]'")
    compared += (
        "compare: [{title: Rates, unit: s, columns: [base], rows: [{row: r, sum: [time], "
        "printed: [1.0]}]}]\n"
    )
    study.write_text(compared)
    with pytest.raises(SpecError, match=r"there is no time without a group; write time\[gold\]"):
        check_file(study)
    study.write_text(text.replace("[throughput]", "['throughput[gold]', 'time[iron]']"))
    assert check_file(study) == "study"


BLOCKING = """\
queueing-network: 1
classes: {c: {arrivals: 0.4 /s}}
stations:
  a: {servers: 1, demand: {c: 0.7 s}}
  b: {servers: 1, demand: {c: 1 s}, capacity: 3, blocking: after-service}
"""


@pytest.mark.turns(4)
def test_a_quantile_of_a_network_that_blocks_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "n.yaml").write_text(BLOCKING)
    name = "response_time_quantile[c,0.5]"
    assert main(["solve", str(tmp_path / "n.yaml"), "--value", name]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"by simulation, because {name} was asked for" in printed
    (tmp_path / "s.yaml").write_text(
        f"study: 1\ntitle: t\nbase: {{model: {tmp_path / 'n.yaml'}, method: markov-chain}}\n"
        f"choose: {{vary: {{stations.b.servers: [1, 2]}}, minimize: stations.b.servers,"
        f' where: "{name} < 3 s"}}\n'
    )
    assert main(["check", str(tmp_path / "s.yaml")]) == 2
    assert "write method: simulation in the base" in capsys.readouterr().err


def test_no_simulation_is_needed_beside_one_and_of_a_law(tmp_path: Path) -> None:
    desk = (
        "classes: {jobs: {population: 3}}\n"
        "stations: {desk: {discipline: ps, service: {jobs: 10 ms}}}\n"
    )
    model = built(tmp_path, "queueing-network", desk).model
    name = "response_time_quantile[jobs,0.95]"
    assert needs_simulation(model, name)
    assert not needs_simulation(model, name, "simulation")
    for law in LAWS.values():
        assert not any(needs_simulation(law, each) for each in (name, "time_quantile[0.9]"))
