"""Studies of queueing networks: the method is a setting like any other, and every question has
its answer.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from slipstick import QueueingNetwork, load, run, solve
from slipstick.cli.main import main
from slipstick.errors import SpecError, UnknownNameError
from slipstick.results.study import Results
from slipstick.study import sweep as sweep_module
from slipstick.study.cases import MOST_VALUES_CHECKED
from slipstick_questions.agree import AgreeResult
from slipstick_questions.rank import RankResult
from slipstick_questions.seek import SeekResult
from tests.questions import parameter, result_of
from tests.specs import refused

STUDY = """\
study: 1
base: {model: central-server}
cases:
  faster-cpu: {stations.cpu.service.jobs: 10 ms}
  two-cpus: {stations.cpu.servers: 2}
  by-schweitzer: {method: schweitzer}
"""
ROADS = """\
vary:
  method: [exact, convolution, linearizer]
  classes.jobs.population: [1, 20, 40]
answer: ["response_time[jobs]", "queue_length[jobs,cpu]"]
"""


def results(folder: Path, text: str, name: str = "mine") -> object:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return run(str(path))


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(STUDY)
    return path


@pytest.mark.turns(4)
def test_the_first_value_is_asked_for_where_nobody_says(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(study), "--out", str(study.parent / "out"), "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # What is said of them at the head of the report stands before.
    first = next(
        index for index, line in enumerate(lines) if line.split()[:2] == ["base", "central-server"]
    )
    assert [line.split()[:3] for line in lines[first : first + 4]] == [
        ["base", "central-server", "837.5"],
        ["faster-cpu", "central-server", "482"],
        ["two-cpus", "central-server", "552.8"],
        ["by-schweitzer", "central-server", "886.9"],
    ]
    head = (study.parent / "out" / "results.csv").read_text().splitlines()[0]
    assert head == "sweep,case,response_time[jobs] [s],method,exact,bound,failed"


def test_a_case_may_say_who_answers(study: Path) -> None:
    cases = run(str(study)).cases
    assert [each.method for each in cases.values()] == ["exact", "exact", "exact", "schweitzer"]
    assert cases["by-schweitzer"].given == {"method": "schweitzer"}
    central = load("queueing-network/central-server")
    assert isinstance(central, QueueingNetwork)
    assert cases["base"]["throughput[jobs]"] == solve(central)["throughput[jobs]"]


def test_methods_are_an_axis(study: Path) -> None:
    study.write_text(STUDY + ROADS)
    (sweep,) = run(str(study)).sweeps
    assert sweep.units == {**sweep.units, "response_time[jobs]": "s", "queue_length[jobs,cpu]": "1"}
    times = sweep.columns["response_time[jobs]"].reshape(3, 3)
    assert times[0] == pytest.approx(times[1], rel=1e-9)
    assert times[0] == pytest.approx(times[2], rel=0.01)
    assert list(sweep.points["method"]) == [
        name for name in ("exact", "convolution", "linearizer") for _ in range(3)
    ]


@pytest.mark.turns(4)
def test_simulation_is_a_method_like_any_other(study: Path) -> None:
    study.write_text(
        "study: 1\nbase: {model: bolch-8-4, simulation.seed: 1, simulation.precision: 5%}\n"
        "vary: {method: [exact, simulation], classes.jobs.population: [1, 3]}\n"
        "rank: {cases: [simulated], of: [stations.one.service.jobs]}\n"
        "cases: {simulated: {method: simulation}}\n"
        "agree: {methods: [exact, simulation, bounds], cases: [base]}\n"
        'answer: ["response_time[jobs]"]\n'
    )
    found = run(str(study))
    exact, simulated = found.sweeps[0].columns["response_time[jobs]"].reshape(2, 2)
    assert simulated == pytest.approx(exact, rel=0.1)
    assert result_of(found, AgreeResult).agreements[0].methods == ("exact", "simulation", "bounds")
    assert result_of(found, AgreeResult).agreements[0].findings == ()
    (row,) = result_of(found, RankResult).rankings[0].rows
    base = found.cases["base"]
    assert row["share"] == pytest.approx(
        base.share["response_time[jobs]"]["stations.one.service.jobs"], rel=0.1
    )
    assert found.cases["simulated"].seed == 1


def test_servers_and_customers_are_axes_of_numbers(study: Path) -> None:
    study.write_text(
        STUDY + "vary: {stations.cpu.servers: [1, 2, 4], classes.jobs.population: [1, 30]}\n"
    )
    (sweep,) = run(str(study)).sweeps
    assert [axis.unit for axis in sweep.axes] == ["1", "1"]
    column = sweep.columns["response_time[jobs]"]
    assert column[0] == pytest.approx(column[2]) == pytest.approx(column[4])
    assert column[1] > column[3] > column[5]


def test_what_would_help_most_is_ranked(study: Path) -> None:
    study.write_text(f"{STUDY}rank: {{}}\n")
    (ranking,) = result_of(run(str(study)), RankResult).rankings
    by_path = {parameter(row): row for row in ranking.rows}
    assert parameter(ranking.rows[0]) in ("stations.cpu.service.jobs", "stations.cpu.visits.jobs")
    assert sum(row["share"] or 0.0 for row in ranking.rows) == pytest.approx(1.0)
    assert (
        by_path["stations.slow.service.jobs"].point["meaning"]
        == "mean service time of a visit; or its distribution, in place of a demand"
    )
    assert by_path["classes.jobs.population"]["time_saved"] == pytest.approx(
        1
        - run_with(study, "classes.jobs.population: 10")
        / run_with(study, "classes.jobs.population: 20")
    )
    # Half a server cannot be tried, but twice as many can.
    servers = by_path["stations.cpu.servers"]
    assert (servers.point["change"], servers.point["without an answer"]) == ("twice", "half")
    assert servers["time_saved"] == pytest.approx(
        1 - run_with(study, "stations.cpu.servers: 2") / run_with(study, "stations.cpu.servers: 1")
    )


def run_with(study: Path, setting: str) -> float:
    path = study.parent / "other.yaml"
    path.write_text(f"study: 1\nbase: {{model: central-server, {setting}}}\n")
    value = run(str(path)).cases["base"]["response_time[jobs]"]
    assert value is not None
    return value


@pytest.mark.turns(4)
def test_a_saturated_point_fails_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "study: 1\nbase: {model: lazowska-open}\nvary: {classes.jobs.arrivals: [0.1 /s, 0.3 /s, 0.6"
        " /s]}\n"
    )
    assert main(["run", str(path), "--out", str(tmp_path / "out"), "--json"]) == 1
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [each["failed"] is None for each in answers] == [True, True, True, False]
    assert answers[3]["failed"].startswith(
        "station a is saturated: arrivals need 1.26 s of service a second"
    )
    assert answers[3]["method"] == "exact"
    assert answers[2]["share"]["response_time[jobs]"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            STUDY.replace("schweitzer}", "schweizer}"),
            "6:27: method: there is no method 'schweizer'; did you mean 'schweitzer'?",
        ),
        (
            STUDY.replace("method: schweitzer", "method: mean-value"),
            (
                "6:27: method: no method 'mean-value' answers for central-server; known: best,"
                " exact, convolution, schweitzer, linearizer, markov-chain, simulation, bounds"
            ),
        ),
        (
            STUDY + "vary: {method: [exact, closed-form]}\n",
            (
                "7:24: method: no method 'closed-form' answers for central-server; known: best,"
                " exact, convolution, schweitzer, linearizer, markov-chain, simulation, bounds"
            ),
        ),
        (
            STUDY + "vary: {classes.jobs.population: [1, 2.5]}\n",
            "7:37: classes.jobs.population: must be a whole number, got 2.5",
        ),
        (
            STUDY + "vary: {stations.cpu.service.job: [1 s]}\n",
            "7:35: stations.cpu.service.job: there is no class 'job'; did you mean 'jobs'?",
        ),
        (
            STUDY + "vary: {stations.cpx.service.jobs: [1 s]}\n",
            "7:36: stations.cpx.service.jobs: there is no path 'cpx'; did you mean 'cpu'?",
        ),
    ],
)
def test_a_mistake_in_a_study_is_told_at_its_line(text: str, problem: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text) == [f"x.yaml:{problem}"]


def test_an_answer_that_no_network_has_is_refused(study: Path) -> None:
    study.write_text(f'{STUDY}answer: ["response_time[job]"]\n')
    with pytest.raises(SpecError) as caught:
        run(str(study))
    assert str(caught.value).endswith(
        "answer.0: no answer has the value response_time[job]; did you mean 'response_time[jobs]'?"
    )


COMMANDS = {
    "solve central-server --all --with exact,bounds": "bounds/geometric",
    "solve bolch-8-4 --with exact,simulation,bounds --seed 2": (
        "simulation lies within the bounds\n"
    ),
    "solve bolch-8-4 --set method=simulation --precision 5%": (
        "by simulation: estimated, each value with its interval"
    ),
    "solve central-server --set method=linearizer": "by linearizer: not exact",
    (
        "solve central-server --set classes.jobs.population=1 --with convolution"
    ): "convolution: solved exactly",
    "explain lazowska-mixed": "D[a,disk] = parameters.second / 6",
    "explain schwetman-switching": "D[b,one] = stations.one.service.b * V.b.one",
    "explain lazowska-closed-classes": "X[a] = (D[b,cpu] + D[b,disk])/(",
    "explain lazowska-closed-classes --latex": (
        r"X_{\text{a}} &= \frac{D_{\text{b,cpu}} + D_{\text{b,disk}}}{"
    ),
    "explain bolch-8-4 --latex": r"D_{\text{jobs,one}} &=",
    "show queueing-network/bolch-8-3": "mean service time of a visit",
    "list queueing-network": "schwetman-terminals",
    "schema queueing-network": "QueueingNetworkSpec",
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_knows_networks(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    assert COMMANDS[command] in capsys.readouterr().out


def test_the_terminal_has_a_line_for_each_class_at_each_station(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["solve", "lazowska-closed-classes"]) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.startswith(("a  ", "b  "))]
    assert [row[:3] for row in rows] == [
        ["a", "cpu", "0.2105"],
        ["b", "cpu", "0.2632"],
        ["a", "disk", "0.7895"],
        ["b", "disk", "0.7368"],
    ]
    assert "what shortens response_time[a]" in out
    assert "probability" not in out
    assert max(map(len, out.splitlines())) <= 100


def test_json_has_bounds_without_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "central-server", "--with", "exact,bounds", "--json"]) == 0
    exact, *bounds = json.loads(capsys.readouterr().out)["answers"]
    assert [each["method"] for each in bounds] == [
        f"bounds/{kind}" for kind in ("asymptotic", "balanced-job", "proportional", "geometric")
    ]
    rate = exact["values"]["throughput[jobs]"]["value"]
    for each in bounds:
        value = each["values"]["throughput[jobs]"]
        assert value["value"] is None
        assert value["low"] < rate < value["high"]
        assert each["notes"]


def test_quantiles_of_an_exact_method_are_columns_of_a_sweep(tmp_path: Path) -> None:
    """M/M/1: the quantile of the response time is -ln(1 - q) / (mu - lambda)."""
    (tmp_path / "one.yaml").write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 1 /s}}\nstations: {one: {discipline: fcfs,"
        " service: {jobs: 0.5 s}}}\n"
    )
    path = tmp_path / "study.yaml"
    path.write_text(
        f"study: 1\nbase: {{model: {tmp_path / 'one.yaml'}}}\nanswer:"
        " ['response_time_quantile[jobs,0.99]']\nvary: {classes.jobs.arrivals: [0.5 /s, 1 /s, 1.5"
        " /s]}\n"
    )
    (sweep,) = run(str(path)).sweeps
    assert sweep["response_time_quantile[jobs,0.99]"] == pytest.approx(
        np.log(100) / (2 - np.array([0.5, 1.0, 1.5]))
    )


DOOR = """\
queueing-network: 1
classes: {guests: {arrivals: 1 /s}}
stations: {door: {service: {guests: 1 s}, capacity: 2}}
"""


@pytest.mark.turns(4)
def test_transient_values_are_swept_sought_and_solved_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up at rate a, down at rate 1: 1/a until one is there, then (1 + 1/a)/a more until two are."""
    (tmp_path / "door.yaml").write_text(DOOR)
    asked = [
        "time_until[door,2]",
        "probability_at[door,0,0]",
        "queue_length_at[door,20 min]",
        "time_until[door,3]",
    ]
    found = results(
        tmp_path,
        "study: 1\nbase: {model: door.yaml}\nvary: {classes.guests.arrivals: [0.5 /s, 1 /s, 2"
        f" /s]}}\nanswer: {json.dumps([*asked, 'queue_length[door]'])}\nseek: {{rate: {{of:"
        " classes.guests.arrivals, from: 0.5 /s, to: 2 /s, points: 3, where: 'time_until[door,2]"
        " <= 3 s and queue_length_at[door,20 min] <= 5'}}",
    )
    assert isinstance(found, Results)
    (sweep,), base = found.sweeps, found.cases["base"]
    rates = np.array([0.5, 1.0, 2.0])
    assert sweep["time_until[door,2]"] == pytest.approx(1 / rates + (1 + 1 / rates) / rates)
    assert sweep["probability_at[door,0,0]"].tolist() == [1.0, 1.0, 1.0]
    assert sweep["queue_length_at[door,20 min]"] == pytest.approx(sweep["queue_length[door]"])
    assert np.isnan(sweep["time_until[door,3]"]).all()
    assert base["time_until[door,2]"] == pytest.approx(3.0)
    assert base.unit("time_until[door,2]") == "s"
    assert (
        "time_until[door,3] has no value: never are 3 customers at door; at most 2 are"
        in base.notes
    )
    (lacking,) = [note for note in found.notes if note.startswith("no answer has a value of")]
    assert "time_until[door,3] at 3 of 3 points of vary; solve one of them alone" in lacking
    (search,) = result_of(found, SeekResult).searches
    assert [each.value for each in search.crossings] == [pytest.approx(1.0)]
    assert (
        main(["solve", str(tmp_path / "door.yaml"), "--value", "queue_length_at[guests,door,0.5]"])
        == 0
    )
    assert "\nqueue_length_at[guests,door,0.5]" in capsys.readouterr().out
    assert main(["solve", str(tmp_path / "door.yaml"), "--value", "time_until[dor,2]"]) == 2
    assert (
        "no value of an answer 'time_until[dor,2]'; did you mean 'time_until[door,1]'?"
        in capsys.readouterr().err
    )
    with pytest.raises(
        SpecError, match=r"no answer has the value time_untill.*did you mean 'time_until.door,1.'"
    ):
        results(tmp_path, "study: 1\nbase: {model: door.yaml}\nanswer: ['time_untill[door,2]']\n")
    assert main(["solve", "lock-and-bus", "--value", "time_until[buss,2]"]) == 2


def test_a_transient_value_beside_estimates_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "door.yaml").write_text(DOOR)
    asked = "time_until[door,2]"
    found = results(
        tmp_path,
        "study: 1\nbase: {model: door.yaml, method: simulation, simulation.precision:"
        f" 20%}}\nanswer: ['{asked}']\nvary: {{classes.guests.arrivals: [1 /s]}}\n",
    )
    assert isinstance(found, Results)
    assert found.cases["base"].ends(asked) == pytest.approx((3.0, 3.0))
    assert [each.tolist() for each in found.sweeps[0].ends(asked)] == [[pytest.approx(3.0)]] * 2


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "most", [MOST_VALUES_CHECKED, 2]
)  # of more values no model is built for each
def test_the_time_since_the_start_is_an_axis(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place for one, up at rate 1, down at rate 1: P(taken) = (1 - exp(-2 t)) / 2."""
    monkeypatch.setattr(sweep_module, "MOST_VALUES_CHECKED", most)
    (tmp_path / "door.yaml").write_text(
        DOOR.replace("capacity: 2", "capacity: 1") + "parameters: {when: 1 s}\n"
    )
    asked = "probability_at[door,1,parameters.when]"
    study = f"study: 1\nbase: {{model: door.yaml}}\nanswer: ['{asked}']\n"
    found = results(
        tmp_path, f"{study}vary: {{parameters.when: {{from: 0 s, to: 2 s, count: 5}}}}\n"
    )
    assert isinstance(found, Results)
    (sweep,) = found.sweeps
    assert sweep[asked] == pytest.approx((1 - np.exp(-2 * sweep["parameters.when"])) / 2, abs=1e-9)
    assert found.cases["base"][asked] == pytest.approx((1 - np.exp(-2.0)) / 2)
    assert not sweep.idle
    with pytest.raises(
        UnknownNameError, match=r"no quantity 'parameters\.wen'; did you mean 'parameters\.when'"
    ):
        results(tmp_path, study.replace("when]", "wen]"))
