"""Permits, servers and capacities that are arithmetic on parameters: equal to the numbers that it
gives, built anew where a parameter varies, refused at its place where it gives no whole number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slipstick import load, run, solve
from slipstick.errors import SpecError
from slipstick.model.system import need_model

ACTIVITY = """
activity: 1
parameters: {{connections: {connections}, cores: {cores}, work: 10 ms}}
population: {{processors: 6}}
resources:
  pool: {{permits: {permits}}}
  db: {{servers: {servers}}}
  shard: {{count: {count}}}
cycle:
- {{delay: 30 ms, scv: 1}}
- {{hold: pool, body: [{{name: query, service: db, time: work * cores, scv: 1}}]}}
- {{name: read, service: shard, time: 5 ms, scv: 1}}
"""
NETWORK = """
queueing-network: 1
parameters: {{cores: {cores}, room: {room}, work: 100 ms}}
classes: {{jobs: {{arrivals: 9 /s}}}}
stations: {{cpu: {{servers: {servers}, capacity: {capacity}, service: {{jobs: work * cores}}}}}}
"""


def written(folder: Path, text: str, name: str = "model.yaml", **values: Any) -> str:
    path = folder / name
    path.write_text(text.format(**values), "utf-8")
    return str(path)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("connections", "cores"), [(1, 2), (3, 1), (4, 2)])
def test_arithmetic_shapes_an_activity_as_its_number_does(
    tmp_path: Path, connections: int, cores: int
) -> None:
    said = {"connections": connections, "cores": cores}
    formulas = {"permits": "connections", "servers": "2 * cores - 1", "count": "cores * 1"}
    numbers = {"permits": connections, "servers": 2 * cores - 1, "count": cores}
    models = [
        need_model(load(written(tmp_path, ACTIVITY, f"{kind}.yaml", **said, **values)), "a test")
        for kind, values in (("formula", formulas), ("number", numbers))
    ]
    by_formula, by_number = map(solve, models)
    assert {name: each.value for name, each in by_formula.values.items()} == {
        name: each.value for name, each in by_number.values.items()
    }
    # A derivative by what also shapes the model would be that of its times alone.
    assert "parameters.cores" not in models[0].parameters
    assert "parameters.cores" in models[1].parameters


def test_arithmetic_shapes_a_network_as_its_number_does(tmp_path: Path) -> None:
    formulas = {"servers": "cores", "capacity": "cores + room"}
    values = [
        solve(written(tmp_path, NETWORK, cores=2, room=3, **said))["response_time[jobs]"]
        for said in (formulas, {"servers": 2, "capacity": 5})
    ]
    assert values[0] == values[1]
    one_core = written(tmp_path, NETWORK, cores=1, room=3, **formulas)
    moved = solve(one_core, set={"parameters.cores": 2})
    assert moved["response_time[jobs]"] == values[0]
    swept = solve(one_core, set={"parameters.cores": [1, 2]})
    assert float(swept.columns["response_time[jobs]"][1]) == values[0]


@pytest.mark.turns(4)
def test_a_study_varies_and_seeks_what_shapes_the_model(tmp_path: Path) -> None:
    said = {"permits": "connections", "servers": "cores", "count": 1}
    written(tmp_path, ACTIVITY, "model.yaml", connections=1, cores=3, **said)
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: 1\ntitle: Pool\nbase: {model: model.yaml}\nanswer: [throughput]\n"
        "vary: {pool: {axes: {parameters.connections: [1, 2, 3]}}}\n"
        "seek: {pool: {of: parameters.connections, from: 1, to: 6, step: 1,"
        " where: 'throughput * 1 s >= 100'}}\n",
        "utf-8",
    )
    results = run(str(study))
    rates = [float(each) for each in results.sweeps[0].columns["throughput"]]
    alone = [
        solve(written(tmp_path, ACTIVITY, f"{n}.yaml", connections=n, cores=3, **said))
        for n in (1, 2, 3)
    ]
    assert rates == pytest.approx([answer["throughput"] for answer in alone], rel=1e-12)
    assert rates[0] < rates[1] < rates[2]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"permits": "connections / 2"},
            (
                r":6:19: resources.pool.permits: connections / 2 is 1.5; it must be a whole number "
                r"from"
            ),
        ),
        ({"permits": "connections / (cores - 2)"}, "is inf; it must be a whole number"),
        ({"permits": "conections"}, "did you mean 'connections'"),
        ({"permits": "work"}, r"work gives a \[s\], but a \[1\] is wanted"),
        ({"count": "cores - 2"}, r"resources.shard.count: cores - 2 is 0; it must"),
        ({"permits": 2.5}, r"resources.pool.permits: write a whole number; got 2.5"),
    ],
)
def test_what_gives_no_whole_number_is_refused_at_its_place(
    tmp_path: Path, said: dict[str, Any], message: str
) -> None:
    values = {"permits": 1, "servers": 1, "count": 1, **said}
    with pytest.raises(SpecError, match=message):
        solve(written(tmp_path, ACTIVITY, connections=3, cores=2, **values))
