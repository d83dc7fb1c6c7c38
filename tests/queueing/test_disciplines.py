"""Disciplines that serve in another order than that of arrival: equal means where theory says
so, and larger variances.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from slipstick import solve
from slipstick.answer import Answer
from slipstick.errors import ModelError, NoAnswerError
from slipstick.model.activity import delay, fork, service
from slipstick.model.network import QueueingNetwork, closed_class, network, open_class, station
from slipstick.model.system import Station, closed_model, grouped_model
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime, service_time
from slipstick.sim.plan.plan import Plan
from slipstick.vocabulary import OVERTAKING_DISCIPLINES, RANDOM, SAME_EXPONENTIAL, Discipline
from slipstick_chains.networks.solve import solve_markov_chain
from slipstick_compiled.kernel import AVAILABLE

SECOND_MOMENT: dict[str, Callable[[float], float]] = {
    "fcfs": lambda load: 1.0,
    "lcfs": lambda load: 1 / (1 - load),
    "random": lambda load: 2 / (2 - load),
}
"""Second moment of the waiting time in M/G/1, as a multiple of that of first come first served.

Source: Takacs, Bell System Technical Journal 42(2), 1963, 487-503.
"""


def test_an_order_that_no_method_serves_in_is_refused() -> None:
    """Simulated in another order, its answers would be called right."""
    for order, product_form, value in (
        ("shortest", SAME_EXPONENTIAL, "shortest"),
        (RANDOM, "always", "always"),
    ):
        with pytest.raises(ModelError) as caught:
            Discipline("sjf", "shortest job first", order, product_form)
        assert str(caught.value).startswith(f"the discipline sjf is by '{value}'; write one of '")


def one_server(discipline: str, load: float, scv: float) -> Plan:
    builder = Builder()
    builder.add_station("cpu", 1, discipline)
    builder.serve("cpu", service_time(1.0, scv))
    builder.add_open_group("jobs", ServiceTime("exponential", 1 / load), first_instruction=0)
    return builder.plan()


@pytest.mark.turns(10)
@pytest.mark.skipif(not AVAILABLE, reason="plain Python is too slow for so many cycles")
@pytest.mark.parametrize("discipline", SECOND_MOMENT)
@pytest.mark.parametrize(("load", "scv", "third"), [(0.5, 1.0, 6.0), (0.4, 0.0, 1.0)])
def test_response_times_vary_as_theory_says(
    discipline: str, load: float, scv: float, third: float
) -> None:
    from slipstick_compiled.kernel import CompiledKernel

    kernel = CompiledKernel(one_server(discipline, load, scv), 11)
    kernel.run(2_400_000)
    times = kernel.take_responses(0)[10_000:]
    wait = load * (1 + scv) / 2 / (1 - load)
    second = (2 * wait**2 + load * third / 3 / (1 - load)) * SECOND_MOMENT[discipline](load)
    assert times.mean() == pytest.approx(1 + wait, rel=0.02)
    assert times.var() == pytest.approx(second - wait**2 + scv, rel=0.06)


@pytest.mark.parametrize("discipline", OVERTAKING_DISCIPLINES)
class TestMeans:
    def test_exact_methods_take_one_exponential_service_time(self, discipline: str) -> None:
        def of(name: str) -> QueueingNetwork:
            cpu = station(
                service={"a": 1.0, "b": 1.0}, visits={"b": 3.0}, discipline=name, servers=2
            )
            disk = station(service={"a": 2.0}, discipline="ps")
            return network(
                {"a": closed_class(3, 1.0), "b": closed_class(2)}, {"cpu": cpu, "disk": disk}
            )

        reference, found = solve(of("fcfs")), solve(of(discipline))
        assert found.exact
        assert found.values == reference.values
        chain = solve(of(discipline), method="markov-chain")
        assert chain["throughput[b]"] == pytest.approx(reference["throughput[b]"], rel=1e-8)

    def test_one_class_has_the_queue_of_first_come_first_served(self, discipline: str) -> None:
        def of(name: str) -> QueueingNetwork:
            cpu = station(service={"a": 1.0}, scv={"a": 4.0}, discipline=name)
            return network({"a": closed_class(4, 2.0)}, {"cpu": cpu})

        for method in ("markov-chain", "linearizer", "bounds"):
            assert (
                solve(of(discipline), method=method).values
                == solve(of("fcfs"), method=method).values
            )

    @pytest.mark.turns(8)
    def test_classes_that_differ_are_simulated_as_the_chain_says(self, discipline: str) -> None:
        cpu = station(service={"a": 1.0, "b": 3.0}, scv={"b": 0.5}, discipline=discipline)
        model = network({"a": closed_class(3, 1.0), "b": closed_class(2, 1.0)}, {"cpu": cpu})
        chain, simulated = solve(model, method="markov-chain"), solve(model, method="simulation")
        for name in ("throughput[a]", "throughput[b]", "queue_length[a,cpu]"):
            assert simulated[name] == pytest.approx(chain[name], rel=0.03)

    def test_streams_from_outside_wait_as_at_first_come_first_served(self, discipline: str) -> None:
        arrays = [
            network_arrays([[1.0], [3.0]], arrivals=[0.2, 0.1], discipline=name, scv=[[1.0], [0.5]])
            for name in ("fcfs", discipline)
        ]
        first, other = (solve_markov_chain(each) for each in arrays)
        np.testing.assert_allclose(other.queue, first.queue, rtol=1e-9)

    def test_approximate_methods_refuse_classes_that_differ(self, discipline: str) -> None:
        cpu = station(service={"a": 1.0, "b": 3.0}, discipline=discipline)
        model = network({"a": closed_class(3, 1.0), "b": closed_class(2)}, {"cpu": cpu})
        with pytest.raises(
            (ModelError, NoAnswerError), match="approximate methods take that for one class only"
        ):
            solve(model, method="linearizer")

    def test_streams_are_approximated_as_at_first_come_first_served(self, discipline: str) -> None:
        def of(name: str) -> Answer:
            cpu = station(service={"a": 1.0, "b": 3.0}, discipline=name)
            return solve(
                network({"a": open_class(0.2), "b": open_class(0.1)}, {"cpu": cpu}),
                method="linearizer",
            )

        assert of(discipline).values == of("fcfs").values

    def test_processors_wait_on_average_as_at_first_come_first_served(
        self, discipline: str
    ) -> None:
        cycle = delay(2.0, name="think", scv=1.0) >> service("bus", 1.0, name="request", scv=1.0)
        models = [
            closed_model(cycle, 6, resources={"bus": Station(discipline=name)})
            for name in ("fcfs", discipline)
        ]
        first, other = (solve(model, method="mean-value") for model in models)
        assert other.exact
        assert other["time"] == first["time"]
        assert solve(models[1], method="simulation")["time"] == pytest.approx(
            first["time"], rel=0.03
        )
        assert solve(models[1], method="bounds").values == solve(models[0], method="bounds").values

    def test_maxima_of_waits_are_noted(self, discipline: str) -> None:
        branches = fork(service("bus", 1.0, name="left"), service("bus", 2.0, name="right"))
        model = closed_model(
            delay(2.0, name="think") >> branches,
            3,
            resources={"bus": Station(discipline=discipline)},
        )
        assert any(
            note.startswith("the variation of waits at bus is that of first come first served")
            for note in solve(model, method="mean-value").notes
        )

    def test_groups_are_refused_by_mean_value(self, discipline: str) -> None:
        cycle = delay(2.0, name="think") >> service("bus", 1.0, name="request")
        model = grouped_model(
            {"a": (2, cycle), "b": (2, cycle)}, resources={"bus": Station(discipline=discipline)}
        )
        with pytest.raises(NoAnswerError, match="groups wait unequally long"):
            solve(model, method="mean-value")


@pytest.mark.parametrize("discipline", OVERTAKING_DISCIPLINES)
def test_several_servers_have_a_product_form(discipline: str) -> None:
    arrays = network_arrays([1.0, 0.7], population=5, discipline=[discipline, "ps"], servers=[2, 1])
    np.testing.assert_allclose(solve_markov_chain(arrays).queue, exact(arrays).queue, rtol=1e-9)
