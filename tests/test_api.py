"""`load`, `solve`, `sweep` and `run` take what the command line takes, and say the same."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
import sympy

from slipstick import (
    LAWS,
    Model,
    QueueingNetwork,
    Simulation,
    closed_model,
    delay,
    hold,
    load,
    network,
    open_class,
    parallel,
    run,
    service,
    solve,
    station,
    sweep,
)
from slipstick.api import MOST_WHOLE
from slipstick.cli.main import main
from slipstick.errors import (
    InputError,
    MissingExtraError,
    ModelError,
    NoAnswerError,
    SlipstickError,
    SpecError,
    UnknownNameError,
)
from slipstick.law import Law
from slipstick.model.machine import Machine, Network
from slipstick.study.points import SolvableModel
from slipstick.study.stream import StreamedPoints, write_points

OPERATION = "dvsm/diff-request"
CRITICAL = "parameters.critical"


class TestLoad:
    """A name, a kind with a name, or a file."""

    @pytest.mark.parametrize(
        ("reference", "kind"),
        [
            ("lock-and-bus", Model),
            ("activity/lock-and-bus", Model),
            ("central-server", QueueingNetwork),
            ("queueing-network/central-server", QueueingNetwork),
            ("machine/rs6000-43p-atm", Machine),
            ("network/atm-oc3", Network),
            ("law/flow-line", Law),
            ("specs/activities/lock-and-bus.yaml", Model),
            (Path("specs/machines/rs6000-43p-atm.yaml"), Machine),
            (Path("specs/networks/atm-oc3.yaml"), Network),
        ],
    )
    def test_every_reference_loads(self, reference: str | Path, kind: type) -> None:
        assert isinstance(load(reference), kind)

    def test_a_program_loads_on_its_machine(self) -> None:
        model = load(OPERATION, machine="rs6000-43p-atm", set={"parts": 3, "reply": "4120 B"})
        assert isinstance(model, Model)
        assert (
            solve(model)["time"]
            == solve(OPERATION, {"parts": 3, "reply": 4120}, machine="rs6000-43p-atm")["time"]
        )

    def test_a_machine_loads_with_values_set(self) -> None:
        machine = load(
            "machine/rs6000-43p-atm", set={"network": "fast-ethernet", "processors.count": 4}
        )
        assert isinstance(machine, Machine)
        assert machine.network.medium == "shared"

    @pytest.mark.parametrize(
        ("reference", "message"),
        [
            ("study/locks", "a study is run, not loaded: slipstick.run('study/locks')"),
            (
                "lock-and-buss",
                "model=: model: there is no model 'lock-and-buss'; did you mean 'lock-and-bus'?",
            ),
            ("machine/rs6000-43p", "load: there is no machine 'rs6000-43p'; did you mean"),
            ("nowhere.yaml", "nowhere.yaml:1:1: there is no such file; check its name"),
            (
                OPERATION,
                (
                    "model=: machine: dvsm/diff-request runs on a machine; name one of"
                    " linux-cluster, rs6000-43p-atm"
                ),
            ),
        ],
    )
    def test_what_does_not_load_is_refused(self, reference: str, message: str) -> None:
        with pytest.raises(InputError) as caught:
            load(reference)
        assert str(caught.value).startswith(message)

    def test_other_kinds_are_refused_with_those_that_load(self) -> None:
        with pytest.raises(ModelError) as caught:
            load("trend/anything")
        assert (
            str(caught.value)
            == "a trend cannot be loaded by itself; load takes a model, a machine or a network"
        )

    def test_a_dict_stands_for_a_file(self) -> None:
        activity = {
            "activity": 1,
            "population": {"processors": 2},
            "cycle": [{"name": "work", "delay": "1 s"}],
        }
        shop = {
            "queueing-network": 1,
            "classes": {"r": {"arrivals": 0.5}},
            "stations": {"a": {"service": {"r": 1.0}}},
        }
        loaded = load(activity)
        assert isinstance(loaded, Model)
        assert solve(activity)["time"] == solve(loaded)["time"] == 1.0
        assert solve(shop, {"classes.r.arrivals": [0.25, 0.5]})["response_time[r]"].tolist() == [
            4 / 3,
            2.0,
        ]
        assert (
            run(
                {"study": 1, "base": {"model": activity}, "cases": {"b": {"cycle.work.delay": 3}}}
            ).cases["b"]["time"]
            == 3
        )
        machine = load({"machine": 1, "extends": "rs6000-43p-atm"})
        assert isinstance(machine, Machine)
        assert machine.network.medium == "switched"
        with pytest.raises(
            SpecError, match=re.escape("model=: cycel: unknown key; did you mean 'cycle'?")
        ):
            solve({"activity": 1, "cycel": []})


class TestOnePoint:
    """Single values give one answer, as on the command line."""

    def test_numbers_are_in_base_units_and_text_has_its_unit(self) -> None:
        machine = "rs6000-43p-fast-ethernet"
        text = solve(
            OPERATION, machine=machine, set={"reply": "4120 B", "machine.processors.speed": "2"}
        )
        number = solve(
            OPERATION, machine=machine, set={"reply": 4120, "machine.processors.speed": 2}
        )
        assert text["time"] == number["time"] == pytest.approx(0.000826, abs=1e-6)

    def test_a_named_parameter_of_a_file_takes_a_number_in_its_own_unit(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "mine.yaml"
        path.write_text(
            "activity: 1\nparameters: {each: 2 ms}\npopulation: {processors: 1}\ncycle: [{delay: 3"
            " * each}]\n"
        )
        assert solve(path)["time"] == pytest.approx(0.006)
        assert solve(path, {"parameters.each": 0.001})["time"] == pytest.approx(0.003)

    def test_objects_take_text_and_numbers(self) -> None:
        model = load("lock-and-bus")
        assert isinstance(model, Model)
        assert solve(model, {CRITICAL: "2 ms"})["time"] == solve(model, {CRITICAL: 0.002})["time"]

    def test_a_law_gives_the_same_by_name_and_as_an_object(self) -> None:
        values: dict[str, float | str] = {"items": 3, "once": "10 us", "longest": 3e-6}
        assert (
            solve("law/flow-line", values)["time"]
            == solve(LAWS["flow-line"], values)["time"]
            == pytest.approx(16e-6)
        )

    def test_method_and_simulation_hold(self) -> None:
        settings = Simulation(seed=3, cycles=200)
        by_name = solve("lock-and-bus", method="simulation", simulation=settings)
        assert by_name.method == "simulation"
        assert (
            by_name["time"]
            == solve(load_model("lock-and-bus"), method="simulation", simulation=settings)["time"]
        )

    def test_of_several_bounds_the_tightest_are_given(self) -> None:
        assert solve("central-server", method="bounds").method == "bounds"

    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            (
                lambda: solve("lock-and-bus", {"population.procesors": 3}),
                "set: population.procesors: unknown key; did you mean 'processors'?",
            ),
            (
                lambda: solve(load_model("lock-and-bus"), {"population.procesors": 3}),
                (
                    "no parameter is named 'population.procesors'; did you mean"
                    " 'population.processors'?"
                ),
            ),
            (
                lambda: solve("lock-and-bus", {"population.processors": "3 s"}),
                (
                    "set: population.processors: '3 s' is a quantity in s, but a plain number is"
                    " wanted, such as '3'"
                ),
            ),
            (
                lambda: solve("lock-and-bus", workload="sor"),
                "workload=: workload: an activity runs on no workload",
            ),
            (
                lambda: solve(load_model("lock-and-bus"), machine="rs6000-43p-atm"),
                "a model that is built already takes no machine=",
            ),
            (lambda: solve(3), "solve takes a model, not a int; wrap an activity"),  # type: ignore[call-overload]
            (
                lambda: solve(OPERATION, machine=load("machine/rs6000-43p-atm")),  # type: ignore[call-overload]
                (
                    "solve: machine must be a name, a file, or a dict with the content of the "
                    "file, or None"
                ),
            ),
            (
                lambda: run({"study": 1, "base": {"model": "lock-and-bus"}}).cases["bas"],
                "there is no case 'bas'; did you mean 'base'?",
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, ask: Callable[[], Any], message: str) -> None:
        with pytest.raises(SlipstickError) as caught:
            ask()
        assert str(caught.value).startswith(message)

    def test_no_answer_is_raised(self) -> None:
        with pytest.raises(NoAnswerError):
            solve("lock-and-bus", {"parameters.work": "1e308 s", CRITICAL: "1.7e308 s"})


class TestManyPoints:
    """Arrays give a sweep: aligned, or every combination."""

    def test_arrays_of_a_model_by_name_and_of_an_object_agree(self) -> None:
        sizes, times = [1, 2, 4, 8], [1e-3, 2e-3, 1e-3, 2e-3]
        values: dict[str, list[int] | np.ndarray] = {
            "population.processors": sizes,
            CRITICAL: np.array(times),
        }
        named = solve("lock-and-bus", values, method="mean-value")
        built = solve(load_model("lock-and-bus"), values, method="mean-value")
        alone = [
            solve("lock-and-bus", {"population.processors": p, CRITICAL: t}, method="mean-value")[
                "time"
            ]
            for p, t in zip(sizes, times, strict=True)
        ]
        assert named.dims == built.dims == ("point",)
        assert named["time"].tolist() == pytest.approx(alone, rel=1e-12)
        assert built["time"].tolist() == pytest.approx(alone, rel=1e-12)
        assert named.answer(2)["time"] == pytest.approx(alone[2], rel=1e-12)

    def test_a_sweep_has_a_dimension_for_each_axis(self) -> None:
        found = solve(
            "lock-and-bus", sweep({"population.processors": [1, 2, 4], CRITICAL: ["1 ms", "2 ms"]})
        )
        assert found.coords == {"population.processors": (1.0, 2.0, 4.0), CRITICAL: (0.001, 0.002)}
        assert found["time"].shape == (3, 2)
        assert found["time"][0, 1] == pytest.approx(
            solve("lock-and-bus", {"population.processors": 1, CRITICAL: 0.002})["time"]
        )
        assert found[CRITICAL][0].tolist() == [0.001, 0.002]

    def test_names_vary_as_well(self) -> None:
        found = solve(
            OPERATION,
            sweep({"machine": ["rs6000-43p-atm", "rs6000-43p-fast-ethernet"], "parts": [1, 2]}),
        )
        assert found.dims == ("machine", "parts")
        assert found["time"].shape == (2, 2)

    def test_single_values_hold_at_all_points(self) -> None:
        found = solve(
            load_model("lock-and-bus"), sweep({"population.processors": [1, 2], CRITICAL: "2 ms"})
        )
        assert found.dims == ("population.processors",)
        assert found["time"][0] == pytest.approx(
            solve("lock-and-bus", {"population.processors": 1, CRITICAL: 0.002})["time"]
        )

    @pytest.mark.parametrize("model", ["lock-and-bus", "object"])
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (
                {"population.processors": [1, 2], CRITICAL: [1e-3]},
                "arrays need equally many values: population.processors has 2",
            ),
            (
                {"population.processors": []},
                "population.processors has no values; give at least one",
            ),
            (sweep({"population.processors": 2}), "sweep(...) needs a list or an array"),
            (
                {"population.processors": np.ones((2, 2))},
                "the values of population.processors are a list or an array of one dimension",
            ),
        ],
    )
    def test_arrays_that_make_no_points_are_refused(
        self, model: str, values: Any, message: str
    ) -> None:
        with pytest.raises(ModelError) as caught:
            solve(load_model("lock-and-bus") if model == "object" else model, values)
        assert str(caught.value).startswith(message)

    def test_a_column_that_is_not_there_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'efficiency'"):
            solve("lock-and-bus", {"population.processors": [1, 2]})["efficency"]


class TestStudies:
    """A study runs from a dict as from a file."""

    STUDY: dict[str, Any] = {  # noqa: RUF012
        "study": 1,
        "base": {"model": "lock-and-bus", CRITICAL: 0.002},
        "vary": {"population.processors": np.array([1, 2, 4])},
    }

    def test_a_dict_gives_what_the_file_gives(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.yaml"
        path.write_text(
            f"study: 1\nbase: {{model: lock-and-bus, {CRITICAL}: 2 ms}}\nvary:"
            " {population.processors: [1, 2, 4]}\n"
        )
        from_dict, from_file = run(self.STUDY), run(path)
        np.testing.assert_array_equal(from_dict.sweeps[0]["time"], from_file.sweeps[0]["time"])
        assert from_dict.cases["base"]["time"] == from_file.cases["base"]["time"]

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(SpecError) as caught:
            run({**self.STUDY, "bse": {}})
        assert str(caught.value) == "study: bse: unknown key; did you mean 'base'?"


def load_model(name: str) -> Model:
    """Load an activity."""
    model = load(name)
    assert isinstance(model, Model)
    return model


class TestPrinting:
    """An answer and a sweep print as tables; names that are not there are refused with the
    nearest.
    """

    def test_an_answer_prints_what_the_terminal_prints(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert (
            main(
                [
                    "solve",
                    "law/flow-line",
                    "--set",
                    "items=3",
                    "--set",
                    "once=2 us",
                    "--set",
                    "longest=1 us",
                ]
            )
            == 0
        )
        answer = solve("law/flow-line", {"items": "3", "once": "2 us", "longest": "1 us"})
        printed = capsys.readouterr().out
        assert str(answer).splitlines()[0] == printed.splitlines()[0]
        assert {" ".join(line.split()) for line in str(answer).splitlines()} >= {
            "time 4 us",
            "value amount",
        }

    def test_several_kinds_of_bounds_are_printed_one_by_one(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["solve", "central-server", "--with", "bounds"]) == 0
        assert capsys.readouterr().out.startswith("central-server by bounds/asymptotic: ")

    def test_the_repr_is_one_line(self) -> None:
        assert (
            repr(solve("law/flow-line", {"items": 3, "once": 2e-6, "longest": 1e-6}))
            == "<Answer for law/flow-line by closed-form: time = 4e-06 s>"
        )

    def test_a_number_of_an_account_goes_by_the_name_of_its_column(self) -> None:
        answer = solve("lock-and-bus")
        assert answer["account[busy]"] == answer.account["busy"]

    def test_a_misspelt_name_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'efficiency'"):
            solve("lock-and-bus")["efficency"]

    def test_a_sweep_prints_the_columns_that_fit(self) -> None:
        found = solve("lock-and-bus", {"population.processors": [1, 2]})
        lines = str(found).splitlines()
        assert ["method", "exact"] in [line.split()[-2:] for line in lines]
        assert max(map(len, lines)) <= 100
        assert repr(found).startswith("<Sweep of 2 points (population.processors: 2) with ")

    def test_a_sweep_is_a_table_of_polars(self) -> None:
        table = solve("lock-and-bus", {"population.processors": [1, 2]}).to_polars()
        assert table["population.processors"].to_list() == [1.0, 2.0]

    def test_a_library_that_reads_arrow_streams_takes_a_sweep(self) -> None:
        sweep = solve("lock-and-bus", {"population.processors": [1, 2]})
        assert polars.DataFrame(sweep).equals(sweep.to_polars())

    def test_a_library_that_reads_arrow_streams_takes_results(self) -> None:
        found = run(
            {
                "study": 1,
                "base": {"model": "lock-and-bus"},
                "vary": {"population.processors": [1, 2]},
            }
        )
        table = polars.DataFrame(found)
        assert table["sweep"].to_list() == [None, "vary", "vary"]
        assert table["time [s]"].to_list() == [
            found.cases["base"]["time"],
            *found.sweeps[0]["time"].tolist(),
        ]

    def test_a_law_of_another_name_is_told_with_the_nearest(self) -> None:
        with pytest.raises(KeyError, match="did you mean 'amdahl-"):
            LAWS["amdahl"]

    def test_a_library_that_is_not_installed_is_named(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "xarray", None)
        with pytest.raises(MissingExtraError, match="pip install xarray"):
            solve("lock-and-bus", {"population.processors": [1, 2]}).to_xarray()


class TestPointsInAFile:
    AXES: Mapping[str, Any] = {
        "population.processors": [1, 2, 4],
        "parameters.critical": ["1 ms", "2 ms"],
    }

    @pytest.mark.turns(4)
    def test_they_are_those_of_a_sweep_in_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slipstick.study.stream.ROWS_PER_GROUP", 4)
        for method in (None, "mean-value"):
            written = solve(
                "lock-and-bus", sweep(self.AXES, out=tmp_path / "points.parquet"), method=method
            )
            table, held = (
                written.scan().collect(),
                solve("lock-and-bus", sweep(self.AXES), method=method),
            )
            assert (len(written), written.failed, written.outside, written.units) == (
                6,
                0,
                0,
                {"time": "s"},
            )
            units = json.loads(polars.read_parquet_metadata(written.path)["units"])
            assert units == {"population.processors": "1", "parameters.critical": "s", "time": "s"}
            assert table["time"].to_list() == held["time"].ravel().tolist()
            assert table["parameters.critical"].to_list() == [0.001, 0.002] * 3
            assert table["method"].to_list() == list(held.provenance.methods)
            assert table["exact"].to_list() == list(held.provenance.exact)
        assert [each.name for each in tmp_path.iterdir()] == ["points.parquet"]

    def test_a_point_outside_of_its_bounds_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # No shipped approximation leaves its bounds at these points, so one of three points is said
        # to.
        said = property(
            lambda found: {1: "time is below its lower bound 1 s"} if len(found) == 3 else {}
        )
        monkeypatch.setattr("slipstick.method.answers.Answers.bound_violations", said)
        axes = sweep({"population.processors": [1, 2, 4]}, out=tmp_path / "x.parquet")
        written = solve("lock-and-bus", axes, method="mean-value")
        assert written.outside == 1
        assert written.scan().collect()["outside"].to_list() == [
            "",
            "time is below its lower bound 1 s",
            "",
        ]

    def test_points_without_an_answer_are_counted(self, tmp_path: Path) -> None:
        axes = sweep(
            {"items": [1, 2], "once": 0.001, "longest": [0.001, 0.002]}, out=tmp_path / "x.parquet"
        )
        written = solve(
            LAWS["flow-line"], axes
        )  # an item cannot take longer at one stage than at all of them
        assert (len(written), written.failed) == (4, 2)
        assert np.isnan(written.scan().collect()["time"].to_numpy()).tolist() == [False, True] * 2

    @pytest.mark.parametrize(
        ("axes", "method", "words"),
        [
            (
                {"population.processors": [2, 3]},
                "simulation",
                (
                    "simulation takes too long for a file of points; write another method, such as"
                    " closed-form"
                ),
            ),
            (
                {"machine": ["rs6000-43p-atm", "nodes-2024"]},
                None,
                (
                    "machine needs a model for each of its values; write a file of points for each"
                    " of them"
                ),
            ),
        ],
    )
    def test_what_is_not_computed_as_arrays_is_refused(
        self, axes: Mapping[str, Sequence[str]], method: str | None, words: str, tmp_path: Path
    ) -> None:
        model = "dvsm/diff-request" if "machine" in axes else "lock-and-bus"
        with pytest.raises(InputError, match=words):
            solve(model, sweep(axes, out=tmp_path / "x.parquet"), method=method)

    def test_a_path_that_nothing_is_computed_from_is_refused(self, tmp_path: Path) -> None:
        law = LAWS["flow-line"]
        solvable = SolvableModel(law, law.parameters, None, Simulation())
        with pytest.raises(ModelError) as caught:
            write_points([StreamedPoints(solvable, {"x": np.ones(2)})], tmp_path / "x.parquet")
        assert (
            str(caught.value)
            == "x is no number that time is computed from, so it cannot be varied within one file"
            " of points; write a file for each of its values"
        )


@pytest.mark.turns(4)
def test_a_model_made_in_python_goes_into_a_study_and_its_report(tmp_path: Path) -> None:
    model = closed_model(
        delay(9e-3, name="work") >> hold("table", service("bus", 1e-3, component="lock")),
        processors=8,
    )
    picture = {"kind": "lines", "name": "more", "title": "More", "sweep": "p", "y": ["time"]}
    found = run(
        {
            "study": 1,
            "title": "How many processors?",
            "base": {"model": model},
            "vary": {"p": {"axes": {"population.processors": [1, 2]}}},
            "pictures": [{**picture, "x": "population.processors"}],
        }
    )
    assert found.cases["base"]["time"] == solve(model)["time"]
    assert found.figure("more").axes
    assert found.figure().axes
    with pytest.raises(UnknownNameError, match="there is no picture 'less'"):
        found.figure("less")
    bare = {"study": 1, "title": "How long?", "base": {"model": model}, "answer": ["time"]}
    without_pictures = run(bare)
    advised = {"kind": "bars", "name": "parts", "title": "Parts", "cases": ["base"]}
    with pytest.raises(InputError) as caught:
        without_pictures.figure()
    assert str(caught.value) == (
        f"the study {without_pictures.name} has no pictures; name what to draw under pictures, such"
        " as [{kind: bars, name: parts, title: Parts, cases: [base], stack: component}]"
    )
    assert run({**bare, "pictures": [{**advised, "stack": "component"}]}).figure().axes
    written = [path.name for path in found.report(tmp_path / "report", html=False)]
    assert written == ["report.md", "results.csv", "more.png", "more.svg", "inputs.yaml"]
    assert found.cite().startswith("How many processors? Computed with slipstick ")
    assert " by the method simulation; seed of the simulation: 0." in found.cases["base"].cite()


def test_a_network_made_in_python_goes_into_a_study() -> None:
    model = network(
        classes={"jobs": open_class(1.0)}, stations={"cpu": station(service={"jobs": 0.5})}
    )
    found = run({"study": 1, "base": {"model": model}, "answer": ["response_time[jobs]"]})
    assert found.cases["base"]["response_time[jobs]"] == pytest.approx(1.0)


def test_a_law_takes_symbols_of_sympy() -> None:
    serial, count = sympy.symbols("s p")
    found = LAWS["amdahl-speedup"](serial=serial, processors=count)
    assert found.subs({serial: 0.05, count: 64}) == pytest.approx(15.42, abs=0.01)
    assert sympy.simplify(found - 1 / (serial + (1 - serial) / count)) == 0


def test_a_stage_is_no_activity_and_names_the_fork() -> None:
    message = (
        "parallel(...) is a stage of a pipeline, not an activity; write fork(a, b) for work "
        "done side by side, then(a, b) for one after the other"
    )
    with pytest.raises(ModelError, match=re.escape(message)):
        parallel(delay(1.0)) >> delay(1.0)


@pytest.mark.turns(4)
def test_results_of_a_study_can_be_pickled_with_its_questions() -> None:
    """The class of a study is built with the questions that it asks, so that none is imported
    unasked: pickle found another class under its name.
    """
    study = {
        "study": 1,
        "base": {"model": "lock-and-bus"},
        "cases": {"more": {"population.processors": 6}},
        "rank": {"most": 2},
        "vary": {"population.processors": [1, 2]},
    }
    for settings in (study, {key: value for key, value in study.items() if key != "rank"}):
        results = run(settings)
        copy = pickle.loads(pickle.dumps(results))
        assert copy.to_dict() == results.to_dict()
        assert copy.spec == results.spec


def test_a_case_of_a_study_takes_a_model_made_in_python() -> None:
    """Its numbers are of classes of their own, which a manifest writes as numbers."""

    def model(computing: float) -> Model:
        cycle = delay(computing, name="compute", scv=1) >> delay(1e-3, name="send", component="net")
        return closed_model(cycle, processors=2)

    found = run(
        {
            "study": 1,
            "base": {"model": model(9e-3), "method": "closed-form"},
            "cases": {"short": {"model": model(4e-3)}},
        }
    )
    assert found.cases["short"]["time"] == pytest.approx(5e-3)
    assert found.settings["short"]["model"].startswith("{activity: 1,")


WORKERS = {
    "queueing-network": 1,
    "title": "Workers",
    "classes": {"jobs": {"arrivals": "12 /s"}},
    "stations": {"worker": {"servers": 12, "service": {"jobs": "800 ms"}}},
}


def test_a_sweep_has_the_quantiles_of_its_whole_answers() -> None:
    name, servers = "response_time_quantile[jobs,0.95]", [9, 10, 11, 12]
    answers = solve(WORKERS, {"stations.worker.servers": servers})
    alone = [solve(WORKERS, {"stations.worker.servers": count})[name] for count in servers[1:]]
    assert answers[name][1:].tolist() == pytest.approx(alone)
    assert np.isnan(answers[name][0])  # 9 servers are saturated
    assert name not in answers.columns
    with pytest.raises(UnknownNameError, match="there is no column 'p95'"):
        answers["p95"]


def test_many_points_have_quantiles_by_the_way_that_their_message_names() -> None:
    name, path = "response_time_quantile[jobs,0.95]", "classes.jobs.arrivals"
    rates = np.linspace(1, 11, MOST_WHOLE + 1)
    model = {**WORKERS, "stations": {"worker": {"service": {"jobs": "80 ms"}}}}
    answers = solve(model, {path: rates})
    way_out = (
        "; these 1,001 points have only the usual columns: solve up to 1,000 points in one call, or"
        " run a study that names it in its answer"
    )
    with pytest.raises(UnknownNameError, match=re.escape(f"column {name!r}{way_out}")):
        answers[name]
    in_one_call = solve(model, {path: rates[:2]})[name]
    study = {"study": 1, "base": {"model": model}, "answer": [name], "vary": {path: [*rates[:2]]}}
    (named,) = run(study).sweeps
    assert named[name].tolist() == pytest.approx(in_one_call.tolist())


def test_the_table_of_a_sweep_names_numbered_columns_together() -> None:
    text = " ".join(str(solve(WORKERS, {"stations.worker.servers": [11, 12]})).split())
    assert text.endswith("utilization[worker], probability[worker,0 to 99]")


def test_a_study_prints_the_sentences_of_the_head_first() -> None:
    study = {
        "study": 1,
        "title": "How many workers finish the jobs within 1 s?",
        "base": {"model": WORKERS},
        "answer": ["response_time[jobs]"],
        "seek": {
            "few": {
                "of": "stations.worker.servers",
                "from": 1,
                "to": 20,
                "step": 1,
                "where": "response_time[jobs] <= 1 s",
            }
        },
    }
    title, first_sentence, *_, last_line = str(run(study)).splitlines()
    assert title == study["title"]
    # 11 servers take 1.128 s, 12 take 0.923 s.
    assert "12 or more worker servers" in first_sentence
    assert last_line.startswith("base: <Answer for ")
