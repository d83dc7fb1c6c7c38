"""Queueing networks from models of JSIM, the simulator of JMT: files .jsimg, .jsim and .xml.

Classes become chains with routes. Nodes where nothing takes time (sources, routers, loggers,
switches of classes) are passed through: a route leads from one service to the next with the
probability of all ways between. What a network does not have is refused where it changes which
customer is served when, and what changes an answer is a loss by name; see `losses`.

Format: SIMmodeldefinition.xsd of JMT, and models that JMT wrote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from slipstick.errors import short
from slipstick.late import dataclass, field
from slipstick_measure.imports import jmt_times
from slipstick_measure.imports.fields import declare_fields
from slipstick_measure.imports.imported import ImportedSpec, SpecAxes
from slipstick_measure.imports.jmt_fields import JSIM_TABLE, declare_parameters
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.imports.names import exact_number, is_rounded
from slipstick_measure.imports.tool import ToolModel
from slipstick_measure.readers.elements import XmlElement
from slipstick_measure.readers.reading import Reading

FORMAT = "jsim"
Place = tuple[str, str]
"""A class at a node, as the model calls them."""

SINK: Place = ("", "")
"""Where customers leave."""

MOST_ANALYSIS_VALUES = 200
"""Values of a what-if analysis."""

MOST_PASSED_NODES = 50
"""Nodes without service on one route."""

_SECTIONS_WITHOUT_SERVICE = ("ServiceTunnel", "LogTunnel", "ClassSwitch", "RandomSource")
_KNOWN_SECTIONS = ("Queue", "Router", "JobSink", *_SECTIONS_WITHOUT_SERVICE)
"""Sections beside servers that a network can express."""

_SECTIONS_OF_ACTIVITIES = (
    *("Fork", "Join", "Storage", "Enabling", "Timing", "Firing"),
    *("Cache", "Semaphore", "Scaler"),
)
"""Sections that a network does not have and an activity could express."""
_DISCIPLINE_OF_SERVER = {
    "Server": "fcfs",
    "PreemptiveServer": "fcfs",
    "PSServer": "ps",
    "Delay": "is",
}
_DISCIPLINE_OF_ORDER = {
    "TailStrategy": "fcfs",
    "HeadStrategy": "lcfs",
    "RandStrategy": "random",
    "TailStrategyPriority": "priority",
    "LCFSPRStrategy": "lcfs-pr",
    "TailStrategyPriorityPreemptive": "priority-preemptive",
    "FCFSPRStrategyPriority": "priority-preemptive",
}
_ADVICE_ON_ROUTING = {
    "ClassSwitchRoutingStrategy": "let a node ClassSwitch of JMT change the class",
    "WeightedRoundRobinStrategy": "write the shares of its weights as probabilities in JMT",
}
"""Advice on a strategy of routing that a network does not have."""

_QUEUE_ORDER = "FCFSstrategy"
"""The strategy by which customers leave a queue in the order in which they stand there."""

_QUANTUM_STRATEGY = "QBPSStrategy"
"""The strategy that shares a server in turns of a quantum."""

_OTHER_LIMITS = {
    "globalMemoryConstraint": "maxMemory",
    "classMemoryConstraint": "maxMemoryPerClass",
    "groupConstraint": "maxJobsPerGroup",
    "groupMemoryConstraint": "maxMemoryPerGroup",
}
"""Attributes of limits of regions that a network does not have; below 0 if there is none."""

_BLOCKING_OF_RULE = {"drop": "loss", "BAS blocking": "after-service"}


def _moments_of_hyperexponential(
    first_probability: float, first_rate: float, second_rate: float
) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of a choice between two exponential
    times.
    """
    mean = first_probability / first_rate + (1 - first_probability) / second_rate
    return mean, 2 * (
        first_probability / first_rate**2 + (1 - first_probability) / second_rate**2
    ) / mean**2 - 1


def _moments_of_coxian(
    first_rate: float, second_rate: float, end_probability: float
) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of two exponential phases, of which
    the second is skipped with a probability.
    """
    continue_probability = 1 - end_probability
    mean = 1 / first_rate + continue_probability / second_rate
    square = 2 / first_rate**2 + continue_probability * (
        2 / (first_rate * second_rate) + 2 / second_rate**2
    )
    return mean, square / mean**2 - 1


def _moments_of_weibull(scale: float, shape: float) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of a Weibull time."""
    mean = scale * math.gamma(1 + 1 / shape)
    return mean, math.gamma(1 + 2 / shape) * (scale / mean) ** 2 - 1


_DISTRIBUTIONS: dict[str, tuple[tuple[str, ...], Callable[..., tuple[float, float]]]] = {
    "Exponential": (("lambda",), lambda rate: (1 / rate, 1.0)),
    "Erlang": (("alpha", "r"), lambda rate, phases: (phases / rate, 1 / phases)),
    "HyperExp": (("p", "lambda1", "lambda2"), _moments_of_hyperexponential),
    "CoxianDistr": (("lambda0", "lambda1", "phi0"), _moments_of_coxian),
    "DeterministicDistr": (("t",), lambda time: (time, 0.0)),
    "Uniform": (
        ("min", "max"),
        lambda low, high: ((low + high) / 2, ((high - low) / (low + high)) ** 2 / 3),
    ),
    "GammaDistr": (("alpha", "beta"), lambda shape, size: (shape * size, 1 / shape)),
    "Lognormal": (
        ("mu", "sigma"),
        lambda mu, sigma: (math.exp(mu + sigma**2 / 2), math.expm1(sigma**2)),
    ),
    "Pareto": (
        ("alpha", "k"),
        lambda shape, least: (shape * least / (shape - 1), 1 / (shape * (shape - 2))),
    ),
    "Weibull": (("alpha", "r"), _moments_of_weibull),
    "Normal": (("mean", "standardDeviation"), jmt_times.moments_of_truncated_normal),
}
"""For each distribution, the names of its parameters, and the function from these to the mean and
the squared coefficient of variation."""

_DISTRIBUTIONS_BY_TWO_MOMENTS = (
    "HyperExp",
    "CoxianDistr",
    "Uniform",
    "GammaDistr",
    "Lognormal",
    "Pareto",
    "Weibull",
    "Normal",
)

_MATRICES = {
    "PhaseTypeDistr": (("alpha", "T"), "alpha adds up to 1, and no row of T to more than 0"),
    "MAPDistr": (("D0", "D1"), "rows of the two add up to 0 together"),
}
"""For each distribution of matrices, their names and the sums of their rows."""

_TIMES_OF_FILE = "Replayer"


@dataclass
class _JsimReader:
    """A model of JSIM while it is read."""

    model: ToolModel
    classes: dict[str, XmlElement] = field(default_factory=dict)
    nodes: dict[str, XmlElement] = field(default_factory=dict)
    two_moment_line_by_place: dict[Place, int] = field(default_factory=dict)
    regions: list[tuple[XmlElement, list[str]]] = field(default_factory=list)
    moments_by_place: dict[Place, tuple[float, float]] = field(default_factory=dict)
    routes_by_place: dict[Place, list[tuple[Place, float]]] = field(default_factory=dict)
    original_class_by_new_class: dict[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.file_losses = FileLosses(FORMAT, self.model.input_file)

    def refuse(self, element: XmlElement, reason: str) -> None:
        """Raise a SpecError at an element of the file, with a reason."""
        self.model.input_file.refuse(element.line, element.tag, reason)

    def find_section(self, node: str, *kinds: str) -> XmlElement | None:
        """Return the first section of a node that has one of the given kinds; None if it has
        none.
        """
        return next(
            (
                section
                for section in self.nodes[node].descendants("section")
                if section.get("className") in kinds
            ),
            None,
        )

    def elements_by_class(
        self, section: XmlElement | None, parameter: str
    ) -> dict[str, XmlElement]:
        """Return the XML element that holds the value of a parameter for each class. Values without
        a class name belong to the classes in their order.

        JSIM goes by the kind of a parameter: the times of a server that is shared stand under
        another name in some files.
        """
        element_by_class: dict[str, XmlElement] = {}
        for parameter_element in section.children if section else ():
            if parameter in (
                parameter_element.get("name"),
                parameter_element.get("classPath").rpartition(".")[2],
            ):
                class_name = ""
                classes_in_order = iter(self.classes)
                for child in parameter_element.children:
                    if child.tag == "refClass":
                        class_name = child.text.strip()
                    elif child.tag == "subParameter":
                        element_by_class[class_name or next(classes_in_order, "")] = child
                        class_name = ""
        return {
            known_class: element_by_class[known_class]
            for known_class in element_by_class
            if known_class in self.classes
        }

    def number_of_parameter(
        self, element: XmlElement, name: str, least: float = 0.0
    ) -> float | None:
        """Return the number that an element states for a parameter; None if it states none."""
        for child in element.descendants("parameter", "subParameter"):
            if child.get("name") == name:
                value_element = next(child.descendants("value"), child)
                return self.model.parse_number(value_element, value_element.text.strip(), least)
        return None

    def moments(self, distribution: XmlElement, place: Place) -> tuple[float, float] | None:
        """Return the mean and the squared coefficient of variation of a class's time at a node.
        Return None if the class has no time there, and a mean of 0 if its time is zero.
        """
        class_at_node = f"{place[0]} at {place[1]}"
        class_names = [
            child.get("classPath").rpartition(".")[2]
            for child in (distribution, *distribution.descendants("subParameter"))
        ]
        if class_names[0] == "ZeroServiceTimeStrategy":
            return 0.0, 0.0
        if class_names[0] == "DisabledServiceTimeStrategy" or len(class_names) == 1:
            return None
        distribution_name = class_names[1]
        if class_names[0] == "ServiceTimeStrategy" and distribution_name in (
            *_MATRICES,
            _TIMES_OF_FILE,
        ):
            return self._moments_of_process(distribution_name, distribution, place)
        if class_names[0] != "ServiceTimeStrategy" or distribution_name not in _DISTRIBUTIONS:
            self.refuse(
                distribution,
                f"the time of {class_at_node} is a {short(distribution_name)} by a"
                f" {short(class_names[0])}; a network"
                " has no such time: choose a distribution of the same mean and variance in JMT",
            )
        parameter_names, moments_of_parameters = _DISTRIBUTIONS[distribution_name]
        parameter_values = [
            self.number_of_parameter(distribution, name, -1e9 if name in ("mu", "mean") else 0.0)
            for name in parameter_names
        ]
        try:
            mean, scv = moments_of_parameters(*parameter_values)
        except (ArithmeticError, TypeError):
            mean = scv = math.nan
        if not (0 < mean < math.inf and 0 <= scv < math.inf):
            self.refuse(
                distribution,
                f"the {distribution_name} of {class_at_node} needs {', '.join(parameter_names)}"
                " that give a mean and a"
                " variance",
            )
        if distribution_name in _DISTRIBUTIONS_BY_TWO_MOMENTS:
            self.two_moment_line_by_place[place] = distribution.line
        return mean, scv

    def _moments_of_process(
        self, distribution_name: str, distribution: XmlElement, place: Place
    ) -> tuple[float, float]:
        """Return the mean and the squared coefficient of variation of a time that the model states
        by phases, by a Markovian arrival process, or by a file of times.
        """
        class_at_node = f"{place[0]} at {place[1]}"
        if distribution_name == _TIMES_OF_FILE:
            self.file_losses.declare("correlation", distribution.line, class_at_node)
            return self._moments_of_file(distribution, class_at_node)
        if distribution_name == "MAPDistr":
            self.file_losses.declare("correlation", distribution.line, class_at_node)
        else:
            self.two_moment_line_by_place[place] = distribution.line
        return self._moments_by_matrices(distribution_name, distribution, class_at_node)

    def _moments_of_file(self, distribution: XmlElement, class_at_node: str) -> tuple[float, float]:
        """Return the mean and the squared coefficient of variation of times from a file."""
        file_name = next(
            (child for child in distribution.descendants("value") if not child.children),
            distribution,
        ).text.strip()
        moments = jmt_times.moments_of_file(self.model.input_file.file, file_name)
        if moments is None:
            self.refuse(
                distribution,
                f"the times of {class_at_node} are in the file {short(file_name)}, which is not"
                " beside"
                " this model; put it there, with numbers alone, or choose a distribution in JMT",
            )
        assert moments is not None
        return moments

    def _moments_by_matrices(
        self, distribution_name: str, distribution: XmlElement, class_at_node: str
    ) -> tuple[float, float]:
        """Return the mean and the squared coefficient of variation of the time that the matrices of
        a phase-type distribution or of a Markovian arrival process define.
        """
        matrix_names, sums_rule = _MATRICES[distribution_name]
        matrix_d0, matrix_d1 = (self._rows_of_matrix(distribution, name) for name in matrix_names)
        is_square = matrix_d1 and all(len(row) == len(matrix_d1) for row in matrix_d1)
        try:
            if (
                not is_square
                or any(len(row) != len(matrix_d1) for row in matrix_d0)
                or not matrix_d0
            ):
                raise ArithmeticError
            if distribution_name == "MAPDistr":
                mean, scv = jmt_times.arrival_moments(matrix_d0, matrix_d1)
            else:
                mean, scv = jmt_times.phase_moments(matrix_d0[0], matrix_d1)
            if not (0 < mean < math.inf and 0 <= scv < math.inf):
                raise ArithmeticError
        except (ArithmeticError, ValueError):
            self.refuse(
                distribution,
                f"the {distribution_name} of {class_at_node} needs"
                f" {' and '.join(matrix_names)} of one size,"
                " of at most"
                f" {jmt_times.MOST_PHASES} states, that give a mean and a variance; {sums_rule}",
            )
        return mean, scv

    def _rows_of_matrix(self, distribution: XmlElement, name: str) -> jmt_times.Matrix:
        """Return the rows of a matrix of a distribution; an empty list if the distribution has no
        such matrix or it is too large.
        """
        for matrix in distribution.descendants("subParameter"):
            if matrix.get("name") == name:
                rows = [
                    row for row in matrix.descendants("subParameter") if row.get("name") == "vector"
                ]
                if len(rows) > jmt_times.MOST_PHASES:
                    return []
                return [
                    [
                        self.model.parse_number(cell, cell.text.strip(), -1e300)
                        for cell in row.descendants("value")
                    ]
                    for row in rows
                ]
        return []

    def read(self) -> None:
        """Read the classes, nodes, times, routes and regions of the model."""
        root = self.model.root
        declare_fields(root, self.file_losses, JSIM_TABLE)
        simulation_elements = list(root.descendants("sim"))
        simulation_element = simulation_elements[0] if simulation_elements else root
        for element in simulation_element.children:
            if element.tag in ("userClass", "node"):
                element_by_name = self.classes if element.tag == "userClass" else self.nodes
                _ = self.model.new_name(element, element.tag)
                element_by_name[element.get("name")] = element
        for node, element in self.nodes.items():
            declare_parameters(element, self.file_losses)
            for section in element.descendants("section"):
                self._refuse_unknown_section(section, node)
            server = self.find_section(node, *_DISCIPLINE_OF_SERVER)
            for name, strategy in self.elements_by_class(server, "ServiceStrategy").items():
                if (moments := self.moments(strategy, (name, node))) is not None and moments[0] > 0:
                    self.moments_by_place[name, node] = moments
        targets_by_node: dict[str, list[str]] = {}
        for connection in simulation_element.descendants("connection"):
            for end_key in ("source", "target"):
                if connection.get(end_key) not in self.nodes:
                    self.refuse(connection, f"there is no node {short(connection.get(end_key))}")
            targets_by_node.setdefault(connection.get("source"), []).append(
                connection.get("target")
            )
        for node in self.nodes:
            for name in self.classes:
                self.routes_by_place[name, node] = list(
                    self._routes_from(name, node, targets_by_node.get(node, []))
                )
        for region in simulation_element.descendants("blockingRegion"):
            region_node_names = [node.get("nodeName") for node in region.descendants("regionNode")]
            nodes_of_regions = {name for _, nodes in self.regions for name in nodes}
            if region_node_names and set(region_node_names) <= set(self.nodes) - nodes_of_regions:
                self.regions.append((region, region_node_names))
            else:
                self.file_losses.declare("regions", region.line, region.get("name"))

    def _refuse_unknown_section(self, section: XmlElement, node: str) -> None:
        """Raise if a network cannot express a section of a node."""
        section_class = section.get("className")
        if section_class in _DISCIPLINE_OF_SERVER or section_class in _KNOWN_SECTIONS:
            return
        advice = "let its customers queue in the order of arrival in JMT (FCFS)"
        if section_class in _SECTIONS_OF_ACTIVITIES:
            advice = "an activity has forks, semaphores and permits: write one by hand"
        self.refuse(
            section, f"{short(node)} is a {section_class}, which a network does not have; {advice}"
        )

    def _routes_from(
        self, class_name: str, node: str, targets: list[str]
    ) -> Iterator[tuple[Place, float]]:
        """Yield the places that follow a node for a class, with their probabilities; a switch may
        change the class.
        """
        router = self.elements_by_class(self.find_section(node, "Router"), "RoutingStrategy").get(
            class_name
        )
        strategy_name = router.get("classPath").rpartition(".")[2] if router else "RandomStrategy"
        if strategy_name == "DisabledRoutingStrategy":
            return
        share_by_destination = self._share_by_destination(
            class_name, node, targets, router, strategy_name
        )
        class_switch = self.elements_by_class(self.find_section(node, "ClassSwitch"), "matrix").get(
            class_name
        )
        probability_by_new_class = (
            {class_name: 1.0}
            if class_switch is None
            else self._probability_by_new_class(class_switch, class_name, node)
        )
        for new_class, change_probability in probability_by_new_class.items():
            for destination, share in share_by_destination.items():
                yield (
                    (
                        SINK
                        if self.find_section(destination, "JobSink")
                        else (new_class, destination)
                    ),
                    change_probability * share,
                )

    def _share_by_destination(
        self,
        class_name: str,
        node: str,
        targets: list[str],
        router: XmlElement | None,
        strategy_name: str,
    ) -> dict[str, float]:
        """Return the probability with which a class goes to each destination behind a node; refuse
        a strategy of routing that a network does not have.
        """
        is_closed = self.classes[class_name].get("type") == "closed"
        destinations = [
            target for target in targets if not (is_closed and self.find_section(target, "JobSink"))
        ]
        share_by_destination = {destination: 1 / len(destinations) for destination in destinations}
        if router and strategy_name == "EmpiricalStrategy":
            share_by_destination = self._share_by_named_node(router)
        elif router and strategy_name == "RoundRobinStrategy" and len(destinations) > 1:
            self.file_losses.declare("turns", router.line, f"{class_name} from {node}")
        elif (
            router
            and strategy_name not in ("RandomStrategy", "RoundRobinStrategy")
            and (len(destinations) > 1 or strategy_name == "ClassSwitchRoutingStrategy")
        ):
            other_advice = "an activity chooses by state (pick): write one by hand"
            self.refuse(
                router,
                f"{short(class_name)} leave {short(node)} by {short(strategy_name)}, which a"
                " network does"
                " not have;"
                f" {_ADVICE_ON_ROUTING.get(strategy_name, other_advice)}",
            )
        sum_of_shares = math.fsum(share_by_destination.values())
        if router and self._note_rounding(
            router, share_by_destination, f"{class_name} to leave {node}"
        ):
            share_by_destination = {
                destination: share / sum_of_shares
                for destination, share in share_by_destination.items()
            }
            sum_of_shares = 1.0
        if router and share_by_destination and not math.isclose(sum_of_shares, 1.0, rel_tol=1e-6):
            self.refuse(
                router,
                f"the probabilities of {short(class_name)} to leave {short(node)} add up to"
                f" {sum_of_shares:g}, not to 1",
            )
        return {
            destination: share / sum_of_shares
            for destination, share in share_by_destination.items()
        }

    def _share_by_named_node(self, router: XmlElement) -> dict[str, float]:
        """Return the routing probability of each node that a router names."""
        share_by_node = dict[str, float]()
        named_node = ""
        for node_element in router.descendants("subParameter"):
            if node_element.get("name") == "stationName":
                target_name = next(node_element.descendants("value"), node_element).text.strip()
                if target_name not in self.nodes:
                    self.refuse(node_element, f"there is no node {short(target_name)} to go to")
                named_node = target_name
            elif (
                node_element.get("name") == "probability"
                and (share := self.number_in(node_element)) > 0
            ):
                if not named_node:
                    self.refuse(
                        node_element,
                        "a probability stands before the name of its node; write stationName first",
                    )
                share_by_node[named_node] = share_by_node.get(named_node, 0.0) + share
        return share_by_node

    def number_in(self, element: XmlElement) -> float:
        """Return the number in an element."""
        value_element = next(element.descendants("value"), element)
        return self.model.parse_number(value_element, value_element.text.strip())

    def _probability_by_new_class(
        self, switch: XmlElement, class_name: str, node: str
    ) -> dict[str, float]:
        """Return the classes that a customer of one class may become at a switch, with their
        probabilities.
        """
        probability_by_class = dict[str, float]()
        named_class = ""
        classes_in_order = iter(self.classes)
        for child in switch.children:
            if child.tag == "refClass":
                named_class = child.text.strip()
            elif child.tag == "subParameter":
                new_class = named_class or next(classes_in_order, "")
                named_class = ""
                if new_class in self.classes and (probability := self.number_in(child)) > 0:
                    probability_by_class[new_class] = probability
        if self._note_rounding(switch, probability_by_class, f"{class_name} to change at {node}"):
            probability_sum = math.fsum(probability_by_class.values())
            probability_by_class = {
                new_class: probability / probability_sum
                for new_class, probability in probability_by_class.items()
            }
        if not math.isclose(
            probability_sum := math.fsum(probability_by_class.values()), 1.0, rel_tol=1e-6
        ):
            self.refuse(
                switch,
                f"{short(class_name)} change at {short(node)} with probabilities of"
                f" {probability_sum:g} in"
                " all, not 1",
            )
        return probability_by_class

    def _note_rounding(
        self, element: XmlElement, probabilities: Mapping[str, float], event: str
    ) -> bool:
        """Return whether the sum of probabilities differs from 1 only by the rounding of their
        digits; note it if so.
        """
        probability_sum = math.fsum(probabilities.values())
        if (
            not probability_sum
            or math.isclose(probability_sum, 1.0, rel_tol=1e-6)
            or not is_rounded(probabilities.values())
        ):
            return False
        note = (
            f"the probabilities of {event} add up to {probability_sum:.9g} by rounding, and"
            " are scaled to 1"
        )
        self.notes[note] = None
        return True

    def probability_by_next_place(self, place: Place, passed_nodes: int = 0) -> dict[Place, float]:
        """Return the probabilities of the next places at which a customer takes time after a place;
        nodes without a time are passed through.
        """
        share_by_place: dict[Place, float] = {}
        if passed_nodes > MOST_PASSED_NODES:
            self.refuse(
                self.nodes[place[1]],
                f"{short(place[0])} go round {short(place[1])} without any service",
            )
        for target, share in self.routes_by_place[place]:
            if target == SINK or target in self.moments_by_place:
                share_by_place[target] = share_by_place.get(target, 0.0) + share
                continue
            if (
                self.find_section(target[1], *_DISCIPLINE_OF_SERVER)
                and self.find_section(target[1], *_SECTIONS_WITHOUT_SERVICE) is None
                and not self._takes_no_time(target)
            ):
                self.refuse(
                    self.nodes[target[1]],
                    f"{short(target[0])} come to {short(target[1])}, which has no service for them",
                )
            if not self.routes_by_place[target]:
                self.refuse(
                    self.nodes[target[1]],
                    f"{short(target[0])} cannot leave {short(target[1])}: it has no route from"
                    " there",
                )
            for last_place, onward_share in self.probability_by_next_place(
                target, passed_nodes + 1
            ).items():
                share_by_place[last_place] = (
                    share_by_place.get(last_place, 0.0) + share * onward_share
                )
        return share_by_place

    def _takes_no_time(self, place: Place) -> bool:
        """Return whether the service time of a class at a node is zero."""
        class_name = self.original_class_by_new_class.get(place[0], place[0])
        strategy = self.elements_by_class(
            self.find_section(place[1], *_DISCIPLINE_OF_SERVER), "ServiceStrategy"
        ).get(class_name)
        return strategy is not None and strategy.get("classPath").endswith(
            "ZeroServiceTimeStrategy"
        )

    def split_stream(self, stream: str, class_names: list[str], shared_classes: list[str]) -> None:
        """Add new classes for the customers of an arrival stream, in place of the classes that they
        share with other streams.
        """
        new_class_by_shared = {
            shared_class: f"{shared_class} of {stream}" for shared_class in shared_classes
        }
        for shared_class, new_class in new_class_by_shared.items():
            element = self.classes[shared_class]
            self.classes[new_class] = XmlElement(
                element.tag, {**element.attributes, "name": new_class}, element.line
            )
            self.original_class_by_new_class[new_class] = shared_class
            self.moments_by_place |= {
                (new_class, node): moments
                for (class_name, node), moments in self.moments_by_place.items()
                if class_name == shared_class
            }
        for class_name, node in product(class_names, self.nodes):
            routes = [
                (
                    target
                    if target == SINK
                    else (new_class_by_shared.get(target[0], target[0]), target[1]),
                    share,
                )
                for target, share in self.routes_by_place[class_name, node]
            ]
            self.routes_by_place[new_class_by_shared.get(class_name, class_name), node] = routes


def jsim_spec(input_file: Reading) -> ImportedSpec:
    """Build the spec of a network from a model of JSIM.

    Raises
    ------
    SpecError : no XML of JSIM, a wrong number, or a feature that a network cannot express
    """
    jsim_reader = _JsimReader(ToolModel(input_file))
    jsim_reader.model.parse()
    jsim_reader.read()
    chains = dict[str, Any]()
    routing = list[dict[str, Any]]()
    reached_places = dict[Place, None]()
    for title, chain, places in _titles_chains_and_places(jsim_reader):
        chains[title] = chain
        reached_places |= dict.fromkeys(places)
        routing += _routes_from_stations(jsim_reader, places)
    stations = _station_documents(jsim_reader, reached_places)
    _declare_unanswered_blocking(
        jsim_reader, stations, sum(len(chain["classes"]) for chain in chains.values())
    )
    has_closed_classes = any("population" in chain for chain in chains.values())
    regions = dict(_region_documents(jsim_reader, reached_places, stations, has_closed_classes))
    spec_sections = {
        "chains": chains,
        "routing": routing,
        **({"regions": regions} if regions else {}),
    }
    spec = jsim_reader.model.spec(f"JSIM model {input_file.name}", {}, stations, **spec_sections)
    if has_closed_classes:
        spec.add_note(
            "a cycle of a closed class begins at its reference station, whose time is part of the"
            " response time; where classes change, here it ends where a customer comes there as the"
            " class in reference, in JMT as any class"
        )
    for note in jsim_reader.notes:
        spec.add_note(note)
    spec.axes = _what_if_axes(jsim_reader, chains)
    if not spec.axes and any(True for _ in jsim_reader.model.root.descendants("parametric")):
        spec.add_note("the what-if analysis of the file is left out; vary the spec in a study")
    return jsim_reader.file_losses.close(spec)


def _titles_chains_and_places(
    jsim_reader: _JsimReader,
) -> Iterator[tuple[str, dict[str, Any], list[Place]]]:
    """Yield the title and the plain data of each chain, and the places that its customers reach.
    Classes between which customers change form one chain; arrival streams come first, because they
    may share classes.
    """
    assigned_classes: set[str] = set()
    stream_classes = [
        first_class
        for first_class, element in jsim_reader.classes.items()
        if _arrivals_of_class(jsim_reader, element) is not None
    ]
    for first_class, element in sorted(
        jsim_reader.classes.items(), key=lambda item: item[0] not in stream_classes
    ):
        if first_class in assigned_classes:
            continue
        first_place = _first_place(jsim_reader, first_class, element)
        places = _reached_places(jsim_reader, first_place)
        chain_classes = list(dict.fromkeys(place[0] for place in places))
        shared_classes = [
            class_name
            for class_name in chain_classes
            if class_name != first_class
            and (class_name in assigned_classes or class_name in stream_classes)
        ]
        if first_class in stream_classes and shared_classes:
            jsim_reader.split_stream(first_class, chain_classes, shared_classes)
            places = _reached_places(jsim_reader, first_place)
            chain_classes = list(dict.fromkeys(place[0] for place in places))
        if assigned_classes & set(chain_classes):
            jsim_reader.refuse(
                element,
                f"{short(first_class)} come into classes of other customers; a network has one"
                " stream for each",
            )
        other_classes = [class_name for class_name in chain_classes if class_name != first_class]
        assigned_classes |= {first_class, *chain_classes}
        title = jsim_reader.model.name(element)
        if len(chain_classes) > 1:
            title = f"{title}-chain"
        customers = _customers_of_chain(jsim_reader, [first_class, *other_classes])
        class_names = [
            jsim_reader.model.name(jsim_reader.classes[class_name]) for class_name in chain_classes
        ]
        chain = {
            "classes": class_names,
            **customers,
            "reference": _names_of_place(jsim_reader, first_place),
        }
        yield title, chain, places


def _routes_from_stations(
    jsim_reader: _JsimReader, places: Iterable[Place]
) -> Iterator[dict[str, Any]]:
    """Yield the plain data of each route from the given places, with its probability."""
    for place in places:
        probability_by_place = jsim_reader.probability_by_next_place(place)
        for next_place, share in probability_by_place.items():
            target_names = "out" if next_place == SINK else _names_of_place(jsim_reader, next_place)
            probability = share / math.fsum(probability_by_place.values())
            yield {
                "from": _names_of_place(jsim_reader, place),
                "to": target_names,
                "probability": probability,
            }


def _what_if_axes(jsim_reader: _JsimReader, chains: Mapping[str, Any]) -> list[SpecAxes]:
    """Return the values over which the what-if analysis of a model varies arrival rates or the
    population of a class, by path; empty if it varies anything else.

    The range of one class is from its own value; that of all classes is in percent of their own.
    """
    for element in jsim_reader.model.root.descendants("parametric"):
        value_by_field = {
            field_element.get("name"): field_element.get("value")
            for field_element in element.descendants("field")
        }
        analysis_kind = element.get("classPath").rpartition(".")[2]
        if element.get("enabled") == "false" or not {"Steps", "To"} <= set(value_by_field):
            continue
        value_count = min(
            round(jsim_reader.model.parse_number(element, value_by_field["Steps"], 1.0)),
            MOST_ANALYSIS_VALUES,
        )
        last_value = jsim_reader.model.parse_number(element, value_by_field["To"])
        is_single_class = value_by_field.get("Is single class") == "true"
        varied_class = jsim_reader.model.spec_names.spec_name_by_original.get(
            value_by_field.get("Class", ""), ""
        )
        axes: SpecAxes = {}
        for title, chain in chains.items():
            if is_single_class and varied_class not in chain["classes"]:
                continue
            if analysis_kind.startswith("ArrivalRate") and "burst_arrivals" not in chain:
                if arrivals := chain.get("arrivals"):
                    rate = float(arrivals["value"].split()[0])
                    last_rate = (
                        last_value / jsim_reader.model.seconds_per_unit
                        if is_single_class
                        else rate * last_value / 100
                    )
                    axes[f"chains.{title}.arrivals"] = [
                        f"{exact_number(value)} /s"
                        for value in _evenly_spaced_values(rate, last_rate, value_count)
                    ]
            elif (
                analysis_kind.startswith("NumberOfCustomer")
                and is_single_class
                and _has_all_customers(jsim_reader, value_by_field, chain)
            ):
                populations = map(
                    round, _evenly_spaced_values(chain["population"], last_value, value_count)
                )
                axes[f"chains.{title}.population"] = list(dict.fromkeys(populations))
        if axes:
            return [axes]
    return []


def _has_all_customers(
    jsim_reader: _JsimReader, value_by_field: Mapping[str, str], chain: Mapping[str, Any]
) -> bool:
    """Return whether all customers of a closed chain are of the class that an analysis varies."""
    element = jsim_reader.classes[value_by_field["Class"]]
    class_customers = jsim_reader.model.parse_number(element, element.get("customers") or "0")
    return "population" in chain and round(class_customers) == chain["population"]


def _evenly_spaced_values(first_value: float, last_value: float, value_count: int) -> list[float]:
    """Return values at equal distances, from the first to the last value."""
    return [
        first_value + (last_value - first_value) * index / max(value_count - 1, 1)
        for index in range(value_count)
    ]


def _names_of_place(jsim_reader: _JsimReader, place: Place) -> list[str]:
    """Return the names that the class and the station of a place have in the spec."""
    return [
        jsim_reader.model.name(jsim_reader.classes[place[0]]),
        jsim_reader.model.name(jsim_reader.nodes[place[1]]),
    ]


def _first_place(jsim_reader: _JsimReader, class_name: str, element: XmlElement) -> Place:
    """Return the place where the cycle of a class begins: its reference station or, without service
    there, the only station that follows it. If several stations follow, a delay of 0 s is added at
    the reference station, so that its visits count the cycles.
    """
    reference_station = element.get("referenceSource")
    if reference_station not in jsim_reader.nodes:
        jsim_reader.refuse(
            element, f"there is no node {short(reference_station)} where {short(class_name)} begin"
        )
    if (class_name, reference_station) in jsim_reader.moments_by_place:
        return class_name, reference_station
    probability_by_place = jsim_reader.probability_by_next_place((class_name, reference_station))
    if len(probability_by_place) > 1:
        jsim_reader.moments_by_place[class_name, reference_station] = 0.0, 0.0
        return class_name, reference_station
    first_place = next(iter(probability_by_place), SINK)
    if first_place == SINK:
        jsim_reader.refuse(element, f"{short(class_name)} have no service at any station")
    return first_place


def _reached_places(jsim_reader: _JsimReader, first_place: Place) -> list[Place]:
    """Return all places that customers reach from a place; refuse one that they cannot leave."""
    reached_places = {first_place: None}
    unexpanded_places = [first_place]
    while unexpanded_places:
        place = unexpanded_places.pop()
        probability_by_place = jsim_reader.probability_by_next_place(place)
        if not probability_by_place:
            jsim_reader.refuse(
                jsim_reader.nodes[place[1]],
                f"{short(place[0])} cannot leave {short(place[1])}: it has no route from there",
            )
        if SINK in probability_by_place and jsim_reader.classes[place[0]].get("type") == "closed":
            jsim_reader.refuse(
                jsim_reader.nodes[place[1]],
                f"{short(place[0])} is a closed class with a route to a sink; closed customers"
                " cannot leave",
            )
        new_places = [
            next_place
            for next_place in probability_by_place
            if next_place != SINK and next_place not in reached_places
        ]
        reached_places.update(dict.fromkeys(new_places))
        unexpanded_places += new_places
    return list(reached_places)


def _customers_of_chain(jsim_reader: _JsimReader, class_names: list[str]) -> dict[str, Any]:
    """Return the plain data of the customers of a chain of classes: the population, or the
    arrivals.
    """
    elements = [jsim_reader.classes[name] for name in class_names]
    class_types = {element.get("type") for element in elements}
    if class_types == {"closed"}:
        return {
            "population": round(
                sum(
                    jsim_reader.model.parse_number(element, element.get("customers") or "0")
                    for element in elements
                )
            )
        }
    classes_with_arrivals = [
        (element, arrival_document)
        for element in elements
        if (arrival_document := _arrivals_of_class(jsim_reader, element)) is not None
    ]
    if class_types != {"open"} or len(classes_with_arrivals) != 1:
        jsim_reader.refuse(
            elements[0],
            f"{short(', '.join(class_names))} are of {len(classes_with_arrivals)} streams that"
            " change into each other",
        )
    return classes_with_arrivals[0][1]


def _arrivals_of_class(jsim_reader: _JsimReader, element: XmlElement) -> dict[str, Any] | None:
    """Return the plain data of the arrival stream of an open class; None if no source sends it."""
    class_name = element.get("name")
    reference_source = element.get("referenceSource")
    distribution = (
        jsim_reader.elements_by_class(
            jsim_reader.find_section(reference_source, "RandomSource"), "ServiceStrategy"
        ).get(class_name)
        if reference_source in jsim_reader.nodes
        else None
    )
    if distribution is None:
        return None
    if any(
        child.get("classPath").endswith((".MMPP2", ".MMPP2Distr"))
        for child in distribution.descendants("subParameter")
    ):
        quiet_rate, burst_rate, burst_begin_rate, burst_end_rate = (
            jsim_reader.number_of_parameter(distribution, parameter_name)
            for parameter_name in ("lambda0", "lambda1", "sigma0", "sigma1")
        )
        if quiet_rate is None or burst_rate is None or not burst_begin_rate or not burst_end_rate:
            jsim_reader.refuse(
                distribution,
                "an MMPP2 needs lambda0, lambda1, sigma0 and sigma1, the last two above 0",
            )
        assert burst_begin_rate
        assert burst_end_rate
        return {
            "arrivals": jsim_reader.model.rate(distribution, quiet_rate or 0.0),
            "burst_arrivals": jsim_reader.model.rate(distribution, burst_rate or 0.0),
            "quiet_time": jsim_reader.model.time(distribution, 1 / burst_begin_rate),
            "burst_time": jsim_reader.model.time(distribution, 1 / burst_end_rate),
        }
    if (
        moments := jsim_reader.moments(distribution, (class_name, reference_source))
    ) is None or not moments[0]:
        return None
    if moments[1] != 1:
        jsim_reader.file_losses.declare(
            "arrival-variance", distribution.line, f"{class_name} with an scv of {moments[1]:.4g}"
        )
    return {"arrivals": jsim_reader.model.rate(distribution, 1 / moments[0])}


def _station_documents(
    jsim_reader: _JsimReader, reached_places: dict[Place, None]
) -> dict[str, Any]:
    """Return the plain data of the stations that customers reach, by name."""
    document_by_station: dict[str, Any] = {}
    highest_priority = max(
        (
            jsim_reader.model.parse_number(class_element, class_element.get("priority") or "0")
            for class_element in jsim_reader.classes.values()
        ),
        default=0.0,
    )
    for node, node_element in jsim_reader.nodes.items():
        visitors = [name for name in jsim_reader.classes if (name, node) in reached_places]
        server = jsim_reader.find_section(node, *_DISCIPLINE_OF_SERVER)
        if not visitors:
            continue
        spec_name_by_class = {
            name: jsim_reader.model.name(jsim_reader.classes[name]) for name in visitors
        }
        if server is None:  # where customers only begin
            zero_time_by_class = {
                spec_name_by_class[name]: jsim_reader.model.time(node_element, 0.0)
                for name in visitors
            }
            document_by_station[jsim_reader.model.name(node_element)] = {
                "discipline": "is",
                "service": zero_time_by_class,
            }
            continue
        document_by_station[jsim_reader.model.name(node_element)] = _station_document(
            jsim_reader, node, server, visitors, highest_priority
        )
    return document_by_station


def _station_document(
    jsim_reader: _JsimReader,
    node: str,
    server: XmlElement,
    visitors: list[str],
    highest_priority: float,
) -> dict[str, Any]:
    """Return the plain data of a station with servers; declare the features of the station that a
    network cannot express.
    """
    element = jsim_reader.nodes[node]
    queue = jsim_reader.find_section(node, "Queue")
    spec_name_by_class = {
        class_name: jsim_reader.model.name(jsim_reader.classes[class_name])
        for class_name in visitors
    }
    _declare_losses(jsim_reader, node, server, queue, visitors)
    discipline = _DISCIPLINE_OF_SERVER[server.get("className")]
    if discipline == "fcfs":
        discipline = _discipline_of_queue(jsim_reader, node, queue, visitors)
    document: dict[str, Any] = {"discipline": discipline}
    server_count = (
        jsim_reader.number_of_parameter(server, "maxJobs", 1.0) if discipline != "is" else None
    )
    if server_count and server_count > 1:
        document["servers"] = round(server_count)
    moments_by_class = {
        class_name: jsim_reader.moments_by_place[class_name, node] for class_name in visitors
    }
    document["service"] = {
        spec_name_by_class[class_name]: jsim_reader.model.time(element, mean)
        for class_name, (mean, _) in moments_by_class.items()
    }
    if scv_by_class := {
        spec_name_by_class[class_name]: float(f"{scv:.9g}")
        for class_name, (_, scv) in moments_by_class.items()
        if scv != 1
    }:
        document["scv"] = scv_by_class
    if discipline.startswith("priority"):
        priority_by_class = {
            class_name: jsim_reader.model.parse_number(
                jsim_reader.classes[class_name],
                jsim_reader.classes[class_name].get("priority") or "0",
            )
            for class_name in visitors
        }
        document["priority"] = {
            spec_name_by_class[class_name]: round(highest_priority - priority)
            for class_name, priority in priority_by_class.items()
        }
    if discipline == "ps" and (
        weight_by_class := _sharing_weights(jsim_reader, node, server, visitors)
    ):
        if document.get("servers", 1) == 1:
            document["weight"] = {
                spec_name_by_class[class_name]: weight
                for class_name, weight in weight_by_class.items()
            }
        else:
            jsim_reader.file_losses.declare("weights", server.line, node)
    if discipline not in ("ps", "is", "lcfs-pr"):  # elsewhere means depend on means alone
        for class_name in visitors:
            if (class_name, node) in jsim_reader.two_moment_line_by_place:
                jsim_reader.file_losses.declare(
                    "moments",
                    jsim_reader.two_moment_line_by_place[class_name, node],
                    f"{class_name} at {node}",
                )
    document |= (
        _capacity_and_blocking(jsim_reader, node, queue, visitors) if discipline != "is" else {}
    )
    return document


def _declare_losses(
    jsim_reader: _JsimReader,
    node: str,
    server: XmlElement,
    queue: XmlElement | None,
    visitors: list[str],
) -> None:
    """Declare the features of a queue and its server in JMT that a network cannot express."""
    for name, element in jsim_reader.elements_by_class(queue, "Impatience").items():
        if name in visitors and element.get("name") in ("Reneging", "Balking"):
            jsim_reader.file_losses.declare("impatience", element.line, f"{name} at {node}")
    parameter_by_name = {
        element.get("name"): element for element in server.descendants("parameter")
    }
    for parameter_name in ("delayOffTime", "setUpTime", "SwitchoverStrategy"):
        if parameter_name in parameter_by_name:
            jsim_reader.file_losses.declare(
                "preparation",
                parameter_by_name[parameter_name].line,
                f"{node}, by {parameter_name}",
            )
    for name, element in jsim_reader.elements_by_class(server, "classParallelism").items():
        if name in visitors and jsim_reader.number_in(element) > 1:
            jsim_reader.file_losses.declare("several-servers", element.line, f"{name} at {node}")
    if _has_different_servers(parameter_by_name, len(jsim_reader.classes)):
        jsim_reader.file_losses.declare("server-kinds", server.line, node)
    if jsim_reader.number_of_parameter(server, "maxRunning", -1.0) not in (None, -1.0):
        jsim_reader.file_losses.declare("sharing-limit", parameter_by_name["maxRunning"].line, node)
    priorities = {jsim_reader.classes[name].get("priority") or "0" for name in visitors}
    if len(priorities) > 1 and _shares_by_rank(jsim_reader, server, visitors):
        jsim_reader.file_losses.declare("priorities", server.line, node)
    if _QUANTUM_STRATEGY in _strategies_of_sharing(jsim_reader, server, visitors):
        jsim_reader.file_losses.declare("quantum", server.line, node)


def _has_different_servers(parameter_by_name: Mapping[str, XmlElement], class_count: int) -> bool:
    """Return whether the servers of a station differ in their service times or in the classes that
    they serve.
    """
    compatibilities = parameter_by_name.get("serverCompatibilities")
    if compatibilities and any(
        value.text.strip() == "false" for value in compatibilities.descendants("value")
    ):
        return True
    server_names = parameter_by_name.get("serverNames")
    service_times = parameter_by_name.get(
        "ServiceStrategy", parameter_by_name.get("ServerStrategy")
    )
    return bool(
        server_names
        and service_times
        and len(server_names.children) > 1
        and sum(child.tag == "subParameter" for child in service_times.children) > class_count
    )


def _strategies_of_sharing(
    jsim_reader: _JsimReader, server: XmlElement, visitors: Iterable[str]
) -> set[str]:
    """Return the names of the strategies by which classes share a server, regardless of
    priorities.
    """
    return {
        element.get("classPath").rpartition(".")[2].removesuffix("Priority")
        for name, element in jsim_reader.elements_by_class(server, "PSStrategy").items()
        if name in visitors
    }


def _shares_by_rank(jsim_reader: _JsimReader, server: XmlElement, visitors: Iterable[str]) -> bool:
    """Return whether a shared server serves classes of a higher priority first."""
    uses_priorities = any(
        value.text.strip() == "true"
        for parameter in server.descendants("parameter")
        if parameter.get("name") == "PSPriorityUsed"
        for value in parameter.descendants("value")
    )
    strategies = jsim_reader.elements_by_class(server, "PSStrategy")
    return uses_priorities or any(
        strategies[name].get("classPath").endswith("Priority")
        for name in visitors
        if name in strategies
    )


def _sharing_weights(
    jsim_reader: _JsimReader, node: str, server: XmlElement, visitors: list[str]
) -> dict[str, float]:
    """Return the weights of the classes that share a server; empty if all have equal weights.
    Declare a loss if they share it in another way.
    """
    weight_by_class = {
        name: jsim_reader.model.parse_number(element, value.text.strip())
        for name, element in jsim_reader.elements_by_class(server, "serviceWeights").items()
        for value in element.descendants("value")
        if name in visitors
    }
    strategies = _strategies_of_sharing(jsim_reader, server, visitors)
    ignores_weights = bool(strategies) and strategies <= {"EPSStrategy", _QUANTUM_STRATEGY}
    are_equal_weights = strategies <= {"DPSStrategy"} and len(set(weight_by_class.values())) < 2
    if len(visitors) < 2 or ignores_weights or are_equal_weights:
        return {}
    if strategies != {"DPSStrategy"} or min(weight_by_class.values()) <= 0:
        jsim_reader.file_losses.declare("weights", server.line, node)
        return {}
    return weight_by_class


def _discipline_of_queue(
    jsim_reader: _JsimReader, node: str, queue: XmlElement | None, visitors: list[str]
) -> str:
    """Return the discipline in which servers take customers from a queue, by its name in a spec."""
    for parameter in queue.descendants("parameter") if queue else ():
        order_name = parameter.get("classPath").rpartition(".")[2]
        if parameter.get("name") == _QUEUE_ORDER and order_name not in ("", _QUEUE_ORDER):
            jsim_reader.refuse(
                parameter,
                f"customers are taken from the queue of {short(node)} by {short(order_name)},"
                " which a"
                " network does not have; let them queue in the order of arrival in JMT (FCFS)",
            )
    strategies = jsim_reader.elements_by_class(queue, "QueuePutStrategy")
    strategy_by_order = {
        strategies[name].get("classPath").rpartition(".")[2]: strategies[name]
        for name in visitors
        if name in strategies
    }
    for order_strategy, element in strategy_by_order.items():
        if order_strategy not in _DISCIPLINE_OF_ORDER or len(strategy_by_order) > 1:
            jsim_reader.refuse(
                element,
                f"customers queue at {short(node)} by {short(', '.join(strategy_by_order))},"
                " which a network"
                " does not have; let them queue in the order of arrival in JMT (FCFS)",
            )
    return _DISCIPLINE_OF_ORDER[next(iter(strategy_by_order))] if strategy_by_order else "fcfs"


def _capacity_and_blocking(
    jsim_reader: _JsimReader, node: str, queue: XmlElement | None, visitors: list[str]
) -> dict[str, Any]:
    """Return the capacity of a station, and what happens to customers that find it full."""
    queue_size = jsim_reader.number_of_parameter(queue, "size", -1.0) if queue else None
    if queue_size is None or queue_size < 1:
        return {}
    strategies = jsim_reader.elements_by_class(queue, "dropStrategies")
    rule_names = {
        next(strategies[name].descendants("value"), strategies[name]).text.strip()
        for name in visitors
        if name in strategies
    } or {"drop"}
    rule_name = next(iter(rule_names))
    if len(rule_names) > 1 or rule_name not in _BLOCKING_OF_RULE:
        detail = f"{node}, by the rule {', '.join(sorted(rule_names))[:80]}"
        jsim_reader.file_losses.declare("full-queues", queue.line if queue else 1, detail)
        return {}
    blocking = {} if rule_name == "drop" else {"blocking": _BLOCKING_OF_RULE[rule_name]}
    return {"capacity": round(queue_size), **blocking}


def _declare_unanswered_blocking(
    jsim_reader: _JsimReader, stations: dict[str, Any], class_count: int
) -> None:
    """Declare blocking after service as a loss unless a method answers it: one class, and single
    exponential servers at all stations.
    """
    is_answered = class_count == 1 and all(
        station["discipline"] != "is"
        and not station["discipline"].startswith("priority")
        and station.get("servers", 1) == 1
        and "scv" not in station
        for station in stations.values()
    )
    for node, element in jsim_reader.nodes.items():
        station = stations.get(jsim_reader.model.name(element), {})
        if not is_answered and station.get("blocking") == "after-service":
            detail = (
                f"{node}, which blocks after service: that is answered for one class at single"
                " exponential servers"
            )
            jsim_reader.file_losses.declare("full-queues", element.line, detail)
            del station["capacity"], station["blocking"]


def _region_documents(
    jsim_reader: _JsimReader,
    reached_places: Iterable[Place],
    stations: dict[str, Any],
    has_closed_classes: bool,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the plain data of each region. A region of one station that loses
    customers becomes a capacity of that station. A region of one station is left out if it has no
    effect: customers wait outside in the order of arrival, and it holds as many as there are
    servers.

    Parameters
    ----------
    jsim_reader, reached_places : the model, and the places that customers reach
    stations : the documents of the stations, by name
    has_closed_classes : whether customers may come back
    """
    for element, nodes in jsim_reader.regions:
        visitors = {name for name, node in reached_places if node in nodes}
        station_names = [jsim_reader.model.name(jsim_reader.nodes[node]) for node in nodes]
        station_names = [name for name in station_names if name in stations]
        elements_and_limits = _stated_limits(jsim_reader, element)
        if not station_names or not (
            elements_and_limits or _has_other_limits(jsim_reader, element)
        ):
            continue
        station = stations[station_names[0]]
        capacity = round(elements_and_limits[0][1]) if elements_and_limits else 0
        loss_flags = _loss_flags(element, visitors)
        has_single_limit = len(elements_and_limits) == 1 and (
            elements_and_limits[0][0].tag == "globalConstraint" or len(visitors) == 1
        )
        weight_texts = {weight.get("weight") for weight in element.descendants("classWeight")}
        has_blocking_station = any(
            stations[name].get("blocking", "loss") != "loss" for name in station_names
        )
        is_expressible = (
            has_single_limit
            and capacity >= 1
            and not weight_texts - {"", "1"}
            and not _has_other_limits(jsim_reader, element)
            and len(loss_flags) == 1
            and not has_blocking_station
        )
        if is_expressible and len(station_names) == 1:
            if loss_flags == {True} and "capacity" not in station:
                station["capacity"] = capacity
                continue
            is_in_order = station["discipline"] == "fcfs"
            if loss_flags == {False} and is_in_order and capacity >= station.get("servers", 1):
                continue
        if not is_expressible or (
            has_closed_classes
            and (True in loss_flags or _may_end_inside(jsim_reader, nodes, reached_places))
        ):
            jsim_reader.file_losses.declare("regions", element.line, element.get("name"))
            continue
        blocking = {"blocking": "loss"} if True in loss_flags else {}
        region_name = jsim_reader.model.name(element)
        region_name = region_name if region_name not in stations else f"{region_name}-region"
        yield region_name, {"stations": station_names, "capacity": capacity, **blocking}


def _has_other_limits(jsim_reader: _JsimReader, region: XmlElement) -> bool:
    """Return whether the memory of a region or its groups of classes are limited."""
    limits = (
        jsim_reader.model.parse_number(element, element.get(key), -1.0)
        for tag, key in _OTHER_LIMITS.items()
        for element in region.descendants(tag)
    )
    return any(limit >= 0 for limit in limits)


def _stated_limits(jsim_reader: _JsimReader, region: XmlElement) -> list[tuple[XmlElement, float]]:
    """List the limits of the number of customers in a region, each with its XML element."""
    limits = [
        (element, jsim_reader.model.parse_number(element, element.get(key), -1.0))
        for tag, key in (("globalConstraint", "maxJobs"), ("classConstraint", "maxJobsPerClass"))
        for element in region.descendants(tag)
    ]
    return [(element, limit) for element, limit in limits if limit >= 0]


def _loss_flags(region: XmlElement, visitors: Iterable[str]) -> set[bool]:
    """Return the set of answers, over the classes that visit a region, to whether the region loses
    customers that find it full.
    """
    loses_by_class = {
        rule_element.get("jobClass"): rule_element.get("dropThisClass").casefold() == "true"
        for rule_element in region.descendants("dropRules")
    }
    return {loses_by_class.get(name, False) for name in visitors}


def _may_end_inside(
    jsim_reader: _JsimReader, nodes: Sequence[str], reached_places: Iterable[Place]
) -> bool:
    """Return whether a cycle of a closed class may end at a station inside a region, on a route
    within the region.
    """
    first_places = [
        _first_place(jsim_reader, name, element)
        for name, element in jsim_reader.classes.items()
        if element.get("type") == "closed"
    ]
    return any(
        target in first_places and target[1] in nodes
        for place in reached_places
        if place[1] in nodes
        for target in jsim_reader.probability_by_next_place(place)
        if target != SINK
    )
