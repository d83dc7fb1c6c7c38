"""Activities before their steady state: against networks, the long run, and passages by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick import (
    Model,
    Permits,
    closed_class,
    closed_model,
    delay,
    hold,
    network,
    open_model,
    service,
    solve,
    station,
    time_until,
    transient,
)
from slipstick.cli.main import main
from slipstick.errors import ModelError, NoAnswerError, UnknownNameError

AWAY = delay(4.0, name="away", scv=1.0, think=True)
WORKERS = closed_model(AWAY >> service("disk", 1.0, scv=1.0), 3)
POOL = closed_model(
    AWAY >> hold("pool", service("disk", 1.0, scv=1.0) >> delay(2.0, name="talk", scv=0.5)),
    3,
    resources={"pool": Permits(2)},
)
USERS = network({"jobs": closed_class(3, think_time=4.0)}, {"disk": station(service={"jobs": 1.0})})


def test_an_activity_and_a_network_fill_alike() -> None:
    times = [0.0, 0.5, 3.0]
    by_network, by_activity = transient(USERS, times), transient(WORKERS, times)
    for name, column in by_activity.items():
        assert column == pytest.approx(by_network[name], abs=1e-9), name
    for present in (1, 2, 3):
        filled = time_until(WORKERS, "disk", present)
        assert filled == pytest.approx(time_until(USERS, "disk", present), rel=1e-9)


def test_the_first_of_three_comes_after_a_third_of_the_time_away() -> None:
    assert time_until(WORKERS, "disk", 1) == pytest.approx(4.0 / 3)
    assert time_until(POOL, "pool", 1) == pytest.approx(4.0 / 3)
    # One processor is at the disk a time t after its start if it is in the second of two phases.
    single = closed_model(AWAY >> service("disk", 1.0, scv=1.0), 1)
    found = transient(single, [0.7])["queue_length[disk]"]
    assert found == pytest.approx([0.2 * (1 - np.exp(-1.25 * 0.7))])


@pytest.mark.parametrize("model", [WORKERS, POOL], ids=["a station", "permits"])
def test_in_the_end_it_is_as_in_the_long_run(model: Model) -> None:
    late, answer = transient(model, [500.0]), solve(model, method="markov-chain")
    for name in ("disk", *(["pool"] if model is POOL else [])):
        queue = f"queue_length[{name}]"
        assert late[queue][0] == pytest.approx(answer[queue], rel=1e-8)
        chances = [
            column[0] for key, column in late.items() if key.startswith(f"probability[{name}")
        ]
        assert sum(chances) == pytest.approx(1.0)


def test_what_an_activity_has_no_value_of_is_refused() -> None:
    with pytest.raises(NoAnswerError, match="never are 4 customers at disk; at most 3 are"):
        time_until(WORKERS, "disk", 4)
    with pytest.raises(UnknownNameError, match="disc"):
        time_until(WORKERS, "disc", 1)
    with pytest.raises(ModelError, match="no streams come to model, so leave out most"):
        transient(WORKERS, [1.0], most=3)
    with pytest.raises(ModelError, match="has no parameter 'speed' to look at on its way"):
        transient(WORKERS, [1.0], {"speed": 3.0})
    stream = open_model(service("disk", 1.0), 0.5)
    words = "values before the steady state need processors that repeat a cycle, and model"
    with pytest.raises(NoAnswerError, match=f"{words} has other work; ask for time"):
        transient(stream, [1.0])
    with pytest.raises(NoAnswerError, match=r"has scv 0: write from 0.01 \(1 is exponential\)$"):
        transient(closed_model(delay(1.0) >> service("disk", 1.0), 2), [1.0])


FILE = """
activity: 1
parameters: {moment: {value: 3 s, meaning: when to look}}
population: {processors: 3}
resources: {disk: {servers: 1}}
cycle: [{name: away, delay: 4 s, scv: 1}, {service: disk, time: 1 s, scv: 1}]
"""


def test_files_and_commands_have_them_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "disk.yaml").write_text(FILE)
    names = ["time_until[disk,2]", "queue_length_at[disk,3 s]"]
    options = [option for name in names for option in ("--value", name)]
    assert main(["solve", str(tmp_path / "disk.yaml"), *options]) == 0
    output = capsys.readouterr().out
    assert f"{time_until(WORKERS, 'disk', 2):.4g} s" in output
    assert f"{transient(WORKERS, [3.0])['queue_length[disk]'][0]:.4g}" in output
    assert main(["solve", str(tmp_path / "disk.yaml"), "--value", "time_until[dis,2]"]) == 2
    assert "did you mean 'time_until[disk,1]'" in capsys.readouterr().err
