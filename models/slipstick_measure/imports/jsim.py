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
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from slipstick.errors import short
from slipstick_measure.imports import jmt_times
from slipstick_measure.imports.fields import declare_fields
from slipstick_measure.imports.imported import ImportedSpec, SpecAxes
from slipstick_measure.imports.jmt_fields import JSIM_TABLE, declare_parameters
from slipstick_measure.imports.losses import Ledger
from slipstick_measure.imports.names import exact_number, is_rounded
from slipstick_measure.imports.tool import ToolModel
from slipstick_measure.readers.elements import XmlElement
from slipstick_measure.readers.reading import Reading

FORMAT = "jsim"
Place = tuple[str, str]
"""A class at a node, as the model calls them."""

SINK: Place = ("", "")
"""Where customers leave."""

MOST_STEPS = 200
"""Values of a what-if analysis."""

MOST_PASSED = 50
"""Nodes without service on one way."""

_TUNNELS = ("ServiceTunnel", "LogTunnel", "ClassSwitch", "RandomSource")
_PASSED = ("Queue", "Router", "JobSink", *_TUNNELS)
"""Sections that a network has, beside servers."""

_ELSEWHERE = ("Fork", "Join", "Transition", "Storage", "Cache", "Semaphore", "Scaler")
"""Sections that an activity has."""
_SERVERS = {"Server": "fcfs", "PreemptiveServer": "fcfs", "PSServer": "ps", "Delay": "is"}
_ORDERS = {
    "TailStrategy": "fcfs",
    "HeadStrategy": "lcfs",
    "RandStrategy": "random",
    "TailStrategyPriority": "priority",
    "LCFSPRStrategy": "lcfs-pr",
    "TailStrategyPriorityPreemptive": "priority-preemptive",
    "FCFSPRStrategyPriority": "priority-preemptive",
}
_INSTEAD = {
    "ClassSwitchRoutingStrategy": "let a node ClassSwitch of JMT change the class",
    "WeightedRoundRobinStrategy": "write the shares of its weights as probabilities in JMT",
}
"""What to do in place of a way to leave a node."""

_GET = "FCFSstrategy"
"""How customers are taken from a queue, in whatever order they were put into it."""

_QUANTA = "QBPSStrategy"
"""A way to share a server in turns of a quantum."""

_OTHER_LIMITS = {
    "globalMemoryConstraint": "maxMemory",
    "classMemoryConstraint": "maxMemoryPerClass",
    "groupConstraint": "maxJobsPerGroup",
    "groupMemoryConstraint": "maxMemoryPerGroup",
}
"""Attributes of limits of regions that a network does not have; below 0 if there is none."""

_BLOCKING = {"drop": "loss", "BAS blocking": "after-service"}


def _hyperexponential(p: float, first: float, second: float) -> tuple[float, float]:
    mean = p / first + (1 - p) / second
    return mean, 2 * (p / first**2 + (1 - p) / second**2) / mean**2 - 1


def _coxian(first: float, second: float, ends: float) -> tuple[float, float]:
    """Return the mean and the squared coefficient of variation of two exponential phases, of which
    the second is skipped with a probability.
    """
    goes_on = 1 - ends
    mean = 1 / first + goes_on / second
    square = 2 / first**2 + goes_on * (2 / (first * second) + 2 / second**2)
    return mean, square / mean**2 - 1


def _weibull(size: float, shape: float) -> tuple[float, float]:
    mean = size * math.gamma(1 + 1 / shape)
    return mean, math.gamma(1 + 2 / shape) * (size / mean) ** 2 - 1


_DISTRIBUTIONS: dict[str, tuple[tuple[str, ...], Callable[..., tuple[float, float]]]] = {
    "Exponential": (("lambda",), lambda rate: (1 / rate, 1.0)),
    "Erlang": (("alpha", "r"), lambda rate, phases: (phases / rate, 1 / phases)),
    "HyperExp": (("p", "lambda1", "lambda2"), _hyperexponential),
    "CoxianDistr": (("lambda0", "lambda1", "phi0"), _coxian),
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
    "Weibull": (("alpha", "r"), _weibull),
    "Normal": (("mean", "standardDeviation"), jmt_times.truncated_normal),
}
"""Of each distribution its numbers, and its mean and squared coefficient of variation."""

_TWO_MOMENTS = (
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
"""Of each distribution of matrices their names, and what they add up to."""

_OF_A_FILE = "Replayer"


@dataclass
class _Jsim:
    """A model of JSIM while it is read."""

    model: ToolModel
    classes: dict[str, XmlElement] = field(default_factory=dict)
    nodes: dict[str, XmlElement] = field(default_factory=dict)
    uneven: dict[Place, int] = field(default_factory=dict)
    regions: list[tuple[XmlElement, list[str]]] = field(default_factory=list)
    times: dict[Place, tuple[float, float]] = field(default_factory=dict)
    ways: dict[Place, list[tuple[Place, float]]] = field(default_factory=dict)
    made_of: dict[str, str] = field(default_factory=dict)
    words: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger = Ledger(FORMAT, self.model.reading)

    def refuse(self, element: XmlElement, why: str) -> None:
        self.model.reading.refuse(element.line, element.tag, why)

    def section(self, node: str, *kinds: str) -> XmlElement | None:
        """Return the first section of a node of some kinds."""
        return next(
            (
                section
                for section in self.nodes[node].every("section")
                if section.get("className") in kinds
            ),
            None,
        )

    def by_class(self, section: XmlElement | None, parameter: str) -> dict[str, XmlElement]:
        """Return the value of a parameter for each class; where classes have no names, in their
        order.

        JSIM goes by the kind of a parameter: the times of a server that is shared stand under
        another name in some files.
        """
        elements: dict[str, XmlElement] = {}
        for parameter_element in section.children if section else ():
            if parameter in (
                parameter_element.get("name"),
                parameter_element.get("classPath").rpartition(".")[2],
            ):
                named = ""
                order = iter(self.classes)
                for child in parameter_element.children:
                    if child.tag == "refClass":
                        named = child.text.strip()
                    elif child.tag == "subParameter":
                        elements[named or next(order, "")] = child
                        named = ""
        return {name: element for name, element in elements.items() if name in self.classes}

    def number(self, element: XmlElement, name: str, least: float = 0.0) -> float | None:
        """Return the number of a parameter by its name; None if it is missing."""
        for child in element.every("parameter", "subParameter"):
            if child.get("name") == name:
                value = next(child.every("value"), child)
                return self.model.number(value, value.text.strip(), least)
        return None

    def moments(self, distribution: XmlElement, place: Place) -> tuple[float, float] | None:
        """Return the mean and the squared coefficient of variation of a class's time at a node;
        None if it has no time there, a mean of 0 if the time is zero.
        """
        whose = f"{place[0]} at {place[1]}"
        paths = [
            child.get("classPath").rpartition(".")[2]
            for child in (distribution, *distribution.every("subParameter"))
        ]
        if paths[0] == "ZeroServiceTimeStrategy":
            return 0.0, 0.0
        if paths[0] == "DisabledServiceTimeStrategy" or len(paths) == 1:
            return None
        kind = paths[1]
        if paths[0] == "ServiceTimeStrategy" and kind in (*_MATRICES, _OF_A_FILE):
            return self._process(kind, distribution, place)
        if paths[0] != "ServiceTimeStrategy" or kind not in _DISTRIBUTIONS:
            self.refuse(
                distribution,
                f"the time of {whose} is a {short(kind)} by a {short(paths[0])}; a network has no"
                " such time: choose a distribution of the same mean and variance in JMT",
            )
        names, moments = _DISTRIBUTIONS[kind]
        numbers = [
            self.number(distribution, name, -1e9 if name in ("mu", "mean") else 0.0)
            for name in names
        ]
        try:
            mean, scv = moments(*numbers)
        except (ArithmeticError, TypeError):
            mean = scv = math.nan
        if not (0 < mean < math.inf and 0 <= scv < math.inf):
            self.refuse(
                distribution,
                f"the {kind} of {whose} needs {', '.join(names)} that give a mean and a variance",
            )
        if kind in _TWO_MOMENTS:
            self.uneven[place] = distribution.line
        return mean, scv

    def _process(self, kind: str, distribution: XmlElement, place: Place) -> tuple[float, float]:
        """Return the mean and the squared coefficient of variation of phases, a process of
        arrivals, or times from a file.
        """
        whose = f"{place[0]} at {place[1]}"
        if kind == _OF_A_FILE:
            self.ledger.declare("correlation", distribution.line, whose)
            return self._moments_of_file(distribution, whose)
        if kind == "MAPDistr":
            self.ledger.declare("correlation", distribution.line, whose)
        else:
            self.uneven[place] = distribution.line
        return self._moments_by_matrices(kind, distribution, whose)

    def _moments_of_file(self, distribution: XmlElement, whose: str) -> tuple[float, float]:
        """Return the mean and the squared coefficient of variation of times from a file."""
        file = next(
            (child for child in distribution.every("value") if not child.children), distribution
        ).text.strip()
        moments = jmt_times.moments_of_file(self.model.reading.file, file)
        if moments is None:
            self.refuse(
                distribution,
                f"the times of {whose} are in the file {short(file)}, which is not beside this"
                " model; put it there, with numbers alone, or choose a distribution in JMT",
            )
        assert moments is not None
        return moments

    def _moments_by_matrices(
        self, kind: str, distribution: XmlElement, whose: str
    ) -> tuple[float, float]:
        """Return the mean and the squared coefficient of variation of phases or of a process of
        arrivals.
        """
        names, sums = _MATRICES[kind]
        first, second = (self._matrix(distribution, name) for name in names)
        square = second and all(len(row) == len(second) for row in second)
        try:
            if not square or any(len(row) != len(second) for row in first) or not first:
                raise ArithmeticError
            if kind == "MAPDistr":
                mean, scv = jmt_times.arrival_moments(first, second)
            else:
                mean, scv = jmt_times.phase_moments(first[0], second)
            if not (0 < mean < math.inf and 0 <= scv < math.inf):
                raise ArithmeticError
        except (ArithmeticError, ValueError):
            self.refuse(
                distribution,
                f"the {kind} of {whose} needs {' and '.join(names)} of one size, of at most"
                f" {jmt_times.MOST_PHASES} states, that give a mean and a variance; {sums}",
            )
        return mean, scv

    def _matrix(self, distribution: XmlElement, name: str) -> jmt_times.Matrix:
        """Return the rows of a matrix by its name; none if it is missing or too large."""
        for matrix in distribution.every("subParameter"):
            if matrix.get("name") == name:
                rows = [row for row in matrix.every("subParameter") if row.get("name") == "vector"]
                if len(rows) > jmt_times.MOST_PHASES:
                    return []
                return [
                    [
                        self.model.number(cell, cell.text.strip(), -1e300)
                        for cell in row.every("value")
                    ]
                    for row in rows
                ]
        return []

    def read(self) -> None:
        """Read classes, nodes, times and routes."""
        root = self.model.root
        declare_fields(root, self.ledger, JSIM_TABLE)
        sims = list(root.every("sim"))
        simulation_element = sims[0] if sims else root
        self.classes = {
            element.get("name"): element
            for element in simulation_element.children
            if element.tag == "userClass"
        }
        self.nodes = {
            element.get("name"): element
            for element in simulation_element.children
            if element.tag == "node"
        }
        for node, element in self.nodes.items():
            declare_parameters(element, self.ledger)
            for section in element.every("section"):
                self._refuse_unknown_section(section, node)
            server = self.section(node, *_SERVERS)
            for name, strategy in self.by_class(server, "ServiceStrategy").items():
                if (time := self.moments(strategy, (name, node))) is not None and time[0] > 0:
                    self.times[name, node] = time
        targets: dict[str, list[str]] = {}
        for connection in simulation_element.every("connection"):
            for end in ("source", "target"):
                if connection.get(end) not in self.nodes:
                    self.refuse(connection, f"there is no node {short(connection.get(end))}")
            targets.setdefault(connection.get("source"), []).append(connection.get("target"))
        for node in self.nodes:
            for name in self.classes:
                self.ways[name, node] = list(self._ways(name, node, targets.get(node, [])))
        for region in simulation_element.every("blockingRegion"):
            names = [node.get("nodeName") for node in region.every("regionNode")]
            region_nodes = {name for _, nodes in self.regions for name in nodes}
            if names and set(names) <= set(self.nodes) - region_nodes:
                self.regions.append((region, names))
            else:
                self.ledger.declare("regions", region.line, region.get("name"))

    def _refuse_unknown_section(self, section: XmlElement, node: str) -> None:
        """Refuse a section that a network does not have."""
        kind = section.get("className")
        if kind in _SERVERS or kind in _PASSED:
            return
        way = "let its customers queue in the order of arrival in JMT (FCFS)"
        if kind in _ELSEWHERE:
            way = "an activity has forks, semaphores and permits: write one by hand"
        self.refuse(section, f"{short(node)} is a {kind}, which a network does not have; {way}")

    def _ways(self, name: str, node: str, targets: list[str]) -> Iterator[tuple[Place, float]]:
        """Yield the next places of a class after a node, with their probabilities; a switch may
        change the class.
        """
        router = self.by_class(self.section(node, "Router"), "RoutingStrategy").get(name)
        kind = router.get("classPath").rpartition(".")[2] if router else "RandomStrategy"
        if kind == "DisabledRoutingStrategy":
            return
        closed = self.classes[name].get("type") == "closed"
        destinations = [
            target for target in targets if not (closed and self.section(target, "JobSink"))
        ]
        shares = {destination: 1 / len(destinations) for destination in destinations}
        if router and kind == "EmpiricalStrategy":
            shares = {}
            last = ""
            for entry in router.every("subParameter"):
                if entry.get("name") == "stationName":
                    to = next(entry.every("value"), entry).text.strip()
                    if to not in self.nodes:
                        self.refuse(entry, f"there is no node {short(to)} to go to")
                    last = to
                elif entry.get("name") == "probability" and (share := self.number_of(entry)) > 0:
                    if not last:
                        self.refuse(
                            entry,
                            "a probability stands before the name of its node; write stationName"
                            " first",
                        )
                    shares[last] = shares.get(last, 0.0) + share
        elif router and kind == "RoundRobinStrategy" and len(destinations) > 1:
            self.ledger.declare("turns", router.line, f"{name} from {node}")
        elif (
            router
            and kind not in ("RandomStrategy", "RoundRobinStrategy")
            and (len(destinations) > 1 or kind == "ClassSwitchRoutingStrategy")
        ):
            self.refuse(
                router,
                f"{short(name)} leave {short(node)} by {short(kind)}, which a network does not"
                " have;"
                f" {_INSTEAD.get(kind, 'an activity chooses by state (pick): write one by hand')}",
            )
        total = math.fsum(shares.values())
        if router and self._is_rounded(router, shares, f"{name} to leave {node}"):
            shares = {to: share / total for to, share in shares.items()}
            total = 1.0
        if router and shares and not math.isclose(total, 1.0, rel_tol=1e-6):
            self.refuse(
                router,
                f"the probabilities of {short(name)} to leave {short(node)} add up to {total:g},"
                " not to 1",
            )
        switch = self.by_class(self.section(node, "ClassSwitch"), "matrix").get(name)
        row = {name: 1.0} if switch is None else self._row(switch, name, node)
        for new_class, changes in row.items():
            for to, share in shares.items():
                yield (
                    (SINK if self.section(to, "JobSink") else (new_class, to)),
                    changes * share / total,
                )

    def number_of(self, element: XmlElement) -> float:
        """Return the number of a parameter itself."""
        value = next(element.every("value"), element)
        return self.model.number(value, value.text.strip())

    def _row(self, switch: XmlElement, name: str, node: str) -> dict[str, float]:
        """Return the classes that a customer of one class may become at a switch, with the
        probability of each new class.
        """
        row = dict[str, float]()
        named = ""
        order = iter(self.classes)
        for child in switch.children:
            if child.tag == "refClass":
                named = child.text.strip()
            elif child.tag == "subParameter":
                new_class = named or next(order, "")
                named = ""
                if new_class in self.classes and (share := self.number_of(child)) > 0:
                    row[new_class] = share
        if self._is_rounded(switch, row, f"{name} to change at {node}"):
            total = math.fsum(row.values())
            row = {new_class: share / total for new_class, share in row.items()}
        if not math.isclose(total := math.fsum(row.values()), 1.0, rel_tol=1e-6):
            self.refuse(
                switch,
                f"{short(name)} change at {short(node)} with probabilities of {total:g} in all,"
                " not 1",
            )
        return row

    def _is_rounded(self, element: XmlElement, shares: Mapping[str, float], whose: str) -> bool:
        """Return whether probabilities differ from 1 by the rounding of their digits alone, with a
        note.
        """
        total = math.fsum(shares.values())
        if not total or math.isclose(total, 1.0, rel_tol=1e-6) or not is_rounded(shares.values()):
            return False
        note = (
            f"the probabilities of {whose} add up to {total:.9g} by rounding, and are scaled to 1"
        )
        self.words[note] = None
        return True

    def following(self, place: Place, passed: int = 0) -> dict[Place, float]:
        """Return the places that follow a place with their probabilities, skipping nodes without a
        time.
        """
        shares: dict[Place, float] = {}
        if passed > MOST_PASSED:
            self.refuse(
                self.nodes[place[1]],
                f"{short(place[0])} go round {short(place[1])} without any service",
            )
        for to, share in self.ways[place]:
            if to == SINK or to in self.times:
                shares[to] = shares.get(to, 0.0) + share
                continue
            if (
                self.section(to[1], *_SERVERS)
                and self.section(to[1], *_TUNNELS) is None
                and not self._no_time(to)
            ):
                self.refuse(
                    self.nodes[to[1]],
                    f"{short(to[0])} come to {short(to[1])}, which has no service for them",
                )
            if not self.ways[to]:
                self.refuse(
                    self.nodes[to[1]],
                    f"{short(to[0])} cannot leave {short(to[1])}: it has no route from there",
                )
            for last, fraction in self.following(to, passed + 1).items():
                shares[last] = shares.get(last, 0.0) + share * fraction
        return shares

    def _no_time(self, place: Place) -> bool:
        name = self.made_of.get(place[0], place[0])
        strategy = self.by_class(self.section(place[1], *_SERVERS), "ServiceStrategy").get(name)
        return strategy is not None and strategy.get("classPath").endswith(
            "ZeroServiceTimeStrategy"
        )

    def part(self, stream: str, members: list[str], shared: list[str]) -> None:
        """Make separate classes for the customers of a stream that share later classes with other
        streams.
        """
        new = {name: f"{name} of {stream}" for name in shared}
        for name, title in new.items():
            element = self.classes[name]
            self.classes[title] = XmlElement(
                element.tag, {**element.attributes, "name": title}, element.line
            )
            self.made_of[title] = name
            self.times |= {
                (title, node): time for (member, node), time in self.times.items() if member == name
            }
        for name, node in product(members, self.nodes):
            ways = [
                (to if to == SINK else (new.get(to[0], to[0]), to[1]), share)
                for to, share in self.ways[name, node]
            ]
            self.ways[new.get(name, name), node] = ways


def jsim_spec(reading: Reading) -> ImportedSpec:
    """Read a model of JSIM.

    Raises
    ------
    SpecError : no such XML, a number that is none, or what has no counterpart
    """
    jsim = _Jsim(ToolModel(reading))
    jsim.model.parse()
    jsim.read()
    chains = dict[str, Any]()
    routing = list[dict[str, Any]]()
    reached_places = dict[Place, None]()
    for title, chain, places in _chains(jsim):
        chains[title] = chain
        reached_places |= dict.fromkeys(places)
        routing += _routes(jsim, places)
    stations = _stations(jsim, reached_places)
    _leave_out_blocking(jsim, stations, sum(len(chain["classes"]) for chain in chains.values()))
    closed = any("population" in chain for chain in chains.values())
    regions = dict(_regions(jsim, reached_places, stations, closed))
    sections = {"chains": chains, "routing": routing, **({"regions": regions} if regions else {})}
    spec = jsim.model.spec(f"JSIM model {reading.name}", {}, stations, **sections)
    if closed:
        spec.say(
            "a cycle of a closed class begins at its reference station, whose time is part of the"
            " response time; where classes change, here it ends where a customer comes there as the"
            " class in reference, in JMT as any class"
        )
    for words in jsim.words:
        spec.say(words)
    spec.axes = _axes(jsim, chains)
    if not spec.axes and any(True for _ in jsim.model.root.every("parametric")):
        spec.say("the what-if analysis of the file is left out; vary the spec in a study")
    return jsim.ledger.close(spec)


def _chains(jsim: _Jsim) -> Iterator[tuple[str, dict[str, Any], list[Place]]]:
    """Yield the chains by title, each with the places that its customers reach. Classes that
    customers change between are one chain; streams come first, for they may share classes.
    """
    assigned: set[str] = set()
    streams = [
        name for name, element in jsim.classes.items() if _arrivals(jsim, element) is not None
    ]
    for name, element in sorted(jsim.classes.items(), key=lambda item: item[0] not in streams):
        if name in assigned:
            continue
        begin = _first_place(jsim, name, element)
        places = _places_reached(jsim, begin)
        members = list(dict.fromkeys(place[0] for place in places))
        shared = [
            member
            for member in members
            if member != name and (member in assigned or member in streams)
        ]
        if name in streams and shared:
            jsim.part(name, members, shared)
            places = _places_reached(jsim, begin)
            members = list(dict.fromkeys(place[0] for place in places))
        if assigned & set(members):
            jsim.refuse(
                element,
                f"{short(name)} come into classes of other customers; a network has one stream for"
                " each",
            )
        other_members = [member for member in members if member != name]
        assigned |= {name, *members}
        title = jsim.model.name(element)
        if len(members) > 1:
            title = f"{title}-chain"
        customers = _customers(jsim, [name, *other_members])
        class_names = [jsim.model.name(jsim.classes[member]) for member in members]
        chain = {"classes": class_names, **customers, "reference": _names_of_place(jsim, begin)}
        yield title, chain, places


def _routes(jsim: _Jsim, places: Iterable[Place]) -> Iterator[dict[str, Any]]:
    """Yield the ways from each place with their probabilities."""
    for place in places:
        ways = jsim.following(place)
        for to, share in ways.items():
            way = "out" if to == SINK else _names_of_place(jsim, to)
            probability = share / math.fsum(ways.values())
            yield {"from": _names_of_place(jsim, place), "to": way, "probability": probability}


def _axes(jsim: _Jsim, chains: Mapping[str, Any]) -> list[SpecAxes]:
    """Return the what-if analysis of a model as axes: rates of arrivals, or the population of a
    class; empty for others.

    The range of one class is from its own value; that of all classes is in percent of their own.
    """
    for element in jsim.model.root.every("parametric"):
        fields = {field.get("name"): field.get("value") for field in element.every("field")}
        kind = element.get("classPath").rpartition(".")[2]
        if element.get("enabled") == "false" or not {"Steps", "To"} <= set(fields):
            continue
        steps = min(round(jsim.model.number(element, fields["Steps"], 1.0)), MOST_STEPS)
        last = jsim.model.number(element, fields["To"])
        is_single_class = fields.get("Is single class") == "true"
        name = jsim.model.spec_names.names.get(fields.get("Class", ""), "")
        axes: SpecAxes = {}
        for title, chain in chains.items():
            if is_single_class and name not in chain["classes"]:
                continue
            if kind.startswith("ArrivalRate") and "burst_arrivals" not in chain:
                if own_arrivals := chain.get("arrivals"):
                    rate = float(own_arrivals["value"].split()[0])
                    end = last / jsim.model.second if is_single_class else rate * last / 100
                    axes[f"chains.{title}.arrivals"] = [
                        f"{exact_number(value)} /s" for value in _evenly_spaced(rate, end, steps)
                    ]
            elif (
                kind.startswith("NumberOfCustomer")
                and is_single_class
                and _is_all(jsim, fields, chain)
            ):
                counts = map(round, _evenly_spaced(chain["population"], last, steps))
                axes[f"chains.{title}.population"] = list(dict.fromkeys(counts))
        if axes:
            return [axes]
    return []


def _is_all(jsim: _Jsim, fields: Mapping[str, str], chain: Mapping[str, Any]) -> bool:
    """Return whether all customers of a closed chain are of the class that is varied."""
    element = jsim.classes[fields["Class"]]
    own_customers = jsim.model.number(element, element.get("customers") or "0")
    return "population" in chain and round(own_customers) == chain["population"]


def _evenly_spaced(first: float, last: float, count: int) -> list[float]:
    """Return values at equal distances, the ends among them."""
    return [first + (last - first) * step / max(count - 1, 1) for step in range(count)]


def _names_of_place(jsim: _Jsim, place: Place) -> list[str]:
    return [jsim.model.name(jsim.classes[place[0]]), jsim.model.name(jsim.nodes[place[1]])]


def _first_place(jsim: _Jsim, name: str, element: XmlElement) -> Place:
    """Return the place where a class begins: its reference station if it is served there, or if it
    goes from there to several others, where a delay of no time then counts its cycles.
    """
    home = element.get("referenceSource")
    if home not in jsim.nodes:
        jsim.refuse(element, f"there is no node {short(home)} where {short(name)} begin")
    if (name, home) in jsim.times:
        return name, home
    ways = jsim.following((name, home))
    if len(ways) > 1:
        jsim.times[name, home] = 0.0, 0.0
        return name, home
    first = next(iter(ways), SINK)
    if first == SINK:
        jsim.refuse(element, f"{short(name)} have no service at any station")
    return first


def _places_reached(jsim: _Jsim, begin: Place) -> list[Place]:
    reached_places = {begin: None}
    todo = [begin]
    while todo:
        place = todo.pop()
        ways = jsim.following(place)
        if not ways:
            jsim.refuse(
                jsim.nodes[place[1]],
                f"{short(place[0])} cannot leave {short(place[1])}: it has no route from there",
            )
        if SINK in ways and jsim.classes[place[0]].get("type") == "closed":
            jsim.refuse(
                jsim.nodes[place[1]],
                f"{short(place[0])} is a closed class with a route to a sink; closed customers"
                " cannot leave",
            )
        new = [way for way in ways if way != SINK and way not in reached_places]
        reached_places.update(dict.fromkeys(new))
        todo += new
    return list(reached_places)


def _customers(jsim: _Jsim, names: list[str]) -> dict[str, Any]:
    """Return the population or the arrivals of classes that customers change between."""
    elements = [jsim.classes[name] for name in names]
    kinds = {element.get("type") for element in elements}
    if kinds == {"closed"}:
        return {
            "population": round(
                sum(
                    jsim.model.number(element, element.get("customers") or "0")
                    for element in elements
                )
            )
        }
    streams = [
        (element, arrival)
        for element in elements
        if (arrival := _arrivals(jsim, element)) is not None
    ]
    if kinds != {"open"} or len(streams) != 1:
        jsim.refuse(
            elements[0],
            f"{short(', '.join(names))} are of {len(streams)} streams that change into each other",
        )
    return streams[0][1]


def _arrivals(jsim: _Jsim, element: XmlElement) -> dict[str, Any] | None:
    """Return the arrival stream of an open class; None if no source sends it."""
    name = element.get("name")
    home = element.get("referenceSource")
    distribution = (
        jsim.by_class(jsim.section(home, "RandomSource"), "ServiceStrategy").get(name)
        if home in jsim.nodes
        else None
    )
    if distribution is None:
        return None
    if any(
        child.get("classPath").endswith((".MMPP2", ".MMPP2Distr"))
        for child in distribution.every("subParameter")
    ):
        quiet, burst, begins, ends = (
            jsim.number(distribution, key) for key in ("lambda0", "lambda1", "sigma0", "sigma1")
        )
        if quiet is None or burst is None or not begins or not ends:
            jsim.refuse(
                distribution,
                "an MMPP2 needs lambda0, lambda1, sigma0 and sigma1, the last two above 0",
            )
        assert begins
        assert ends
        return {
            "arrivals": jsim.model.rate(distribution, quiet or 0.0),
            "burst_arrivals": jsim.model.rate(distribution, burst or 0.0),
            "quiet_time": jsim.model.time(distribution, 1 / begins),
            "burst_time": jsim.model.time(distribution, 1 / ends),
        }
    if (time := jsim.moments(distribution, (name, home))) is None or not time[0]:
        return None
    if time[1] != 1:
        jsim.ledger.declare(
            "arrival-variance", distribution.line, f"{name} with an scv of {time[1]:.4g}"
        )
    return {"arrivals": jsim.model.rate(distribution, 1 / time[0])}


def _stations(jsim: _Jsim, reached_places: dict[Place, None]) -> dict[str, Any]:
    """Return the stations that customers reach."""
    stations: dict[str, Any] = {}
    most = max(
        (
            jsim.model.number(element, element.get("priority") or "0")
            for element in jsim.classes.values()
        ),
        default=0.0,
    )
    for node, element in jsim.nodes.items():
        visitors = [name for name in jsim.classes if (name, node) in reached_places]
        server = jsim.section(node, *_SERVERS)
        queue = jsim.section(node, "Queue")
        if not visitors:
            continue
        class_names = {name: jsim.model.name(jsim.classes[name]) for name in visitors}
        if server is None:  # where customers only begin
            none = {class_names[name]: jsim.model.time(element, 0.0) for name in visitors}
            stations[jsim.model.name(element)] = {"discipline": "is", "service": none}
            continue
        _declare_losses(jsim, node, server, queue, visitors)
        kind = _SERVERS[server.get("className")]
        if kind == "fcfs":
            kind = _discipline_of_queue(jsim, node, queue, visitors)
        station: dict[str, Any] = {"discipline": kind}
        servers = jsim.number(server, "maxJobs", 1.0) if kind != "is" else None
        if servers and servers > 1:
            station["servers"] = round(servers)
        times = {name: jsim.times[name, node] for name in visitors}
        station["service"] = {
            class_names[name]: jsim.model.time(element, mean) for name, (mean, _) in times.items()
        }
        if uneven := {
            class_names[name]: float(f"{scv:.9g}") for name, (_, scv) in times.items() if scv != 1
        }:
            station["scv"] = uneven
        if kind.startswith("priority"):
            ranks = {
                name: jsim.model.number(
                    jsim.classes[name], jsim.classes[name].get("priority") or "0"
                )
                for name in visitors
            }
            station["priority"] = {
                class_names[name]: round(most - rank) for name, rank in ranks.items()
            }
        if kind == "ps" and (weights := _weights(jsim, node, server, visitors)):
            if station.get("servers", 1) == 1:
                station["weight"] = {class_names[name]: weight for name, weight in weights.items()}
            else:
                jsim.ledger.declare("weights", server.line, node)
        if kind not in ("ps", "is", "lcfs-pr"):  # elsewhere means depend on means alone
            for name in visitors:
                if (name, node) in jsim.uneven:
                    jsim.ledger.declare("moments", jsim.uneven[name, node], f"{name} at {node}")
        station |= _capacity(jsim, node, queue, visitors) if kind != "is" else {}
        stations[jsim.model.name(element)] = station
    return stations


def _declare_losses(
    jsim: _Jsim, node: str, server: XmlElement, queue: XmlElement | None, visitors: list[str]
) -> None:
    """Declare what a network's queues and servers do not have, as JMT writes it."""
    for name, element in jsim.by_class(queue, "Impatience").items():
        if name in visitors and element.get("name") in ("Reneging", "Balking"):
            jsim.ledger.declare("impatience", element.line, f"{name} at {node}")
    parameters = {element.get("name"): element for element in server.every("parameter")}
    for key in ("delayOffTime", "setUpTime", "SwitchoverStrategy"):
        if key in parameters:
            jsim.ledger.declare("preparation", parameters[key].line, f"{node}, by {key}")
    for name, element in jsim.by_class(server, "classParallelism").items():
        if name in visitors and jsim.number_of(element) > 1:
            jsim.ledger.declare("several-servers", element.line, f"{name} at {node}")
    if _has_unlike_servers(parameters, len(jsim.classes)):
        jsim.ledger.declare("server-kinds", server.line, node)
    if jsim.number(server, "maxRunning", -1.0) not in (None, -1.0):
        jsim.ledger.declare("sharing-limit", parameters["maxRunning"].line, node)
    ranks = {jsim.classes[name].get("priority") or "0" for name in visitors}
    if len(ranks) > 1 and _shares_by_rank(jsim, server, visitors):
        jsim.ledger.declare("priorities", server.line, node)
    if _QUANTA in _ways_to_share(jsim, server, visitors):
        jsim.ledger.declare("quantum", server.line, node)


def _has_unlike_servers(parameters: Mapping[str, XmlElement], classes: int) -> bool:
    """Return whether the servers of a station are of several kinds, of which each has its own times
    or does not serve all classes.
    """
    compatible = parameters.get("serverCompatibilities")
    if compatible and any(value.text.strip() == "false" for value in compatible.every("value")):
        return True
    names = parameters.get("serverNames")
    times = parameters.get("ServiceStrategy", parameters.get("ServerStrategy"))
    return bool(
        names
        and times
        and len(names.children) > 1
        and sum(child.tag == "subParameter" for child in times.children) > classes
    )


def _ways_to_share(jsim: _Jsim, server: XmlElement, visitors: Iterable[str]) -> set[str]:
    """Return the ways in which classes share a server, without their use of priorities."""
    return {
        element.get("classPath").rpartition(".")[2].removesuffix("Priority")
        for name, element in jsim.by_class(server, "PSStrategy").items()
        if name in visitors
    }


def _shares_by_rank(jsim: _Jsim, server: XmlElement, visitors: Iterable[str]) -> bool:
    """Return whether classes of a higher priority take a shared server first."""
    uses_priorities = any(
        value.text.strip() == "true"
        for parameter in server.every("parameter")
        if parameter.get("name") == "PSPriorityUsed"
        for value in parameter.every("value")
    )
    strategies = jsim.by_class(server, "PSStrategy")
    return uses_priorities or any(
        strategies[name].get("classPath").endswith("Priority")
        for name in visitors
        if name in strategies
    )


def _weights(jsim: _Jsim, node: str, server: XmlElement, visitors: list[str]) -> dict[str, float]:
    """Return the weights of the classes that share a server customer by customer; none where all
    are alike. That classes share it in other ways is declared.
    """
    weights = {
        name: jsim.model.number(element, value.text.strip())
        for name, element in jsim.by_class(server, "serviceWeights").items()
        for value in element.every("value")
        if name in visitors
    }
    ways = _ways_to_share(jsim, server, visitors)
    ignores_weights = bool(ways) and ways <= {"EPSStrategy", _QUANTA}
    are_alike = ways <= {"DPSStrategy"} and len(set(weights.values())) < 2
    if len(visitors) < 2 or ignores_weights or are_alike:
        return {}
    if ways != {"DPSStrategy"} or min(weights.values()) <= 0:
        jsim.ledger.declare("weights", server.line, node)
        return {}
    return weights


def _discipline_of_queue(
    jsim: _Jsim, node: str, queue: XmlElement | None, visitors: list[str]
) -> str:
    """Return the discipline of a queue in front of servers."""
    for parameter in queue.every("parameter") if queue else ():
        kind = parameter.get("classPath").rpartition(".")[2]
        if parameter.get("name") == _GET and kind not in ("", _GET):
            jsim.refuse(
                parameter,
                f"customers are taken from the queue of {short(node)} by {short(kind)}, which a"
                " network does not have; let them queue in the order of arrival in JMT (FCFS)",
            )
    strategies = jsim.by_class(queue, "QueuePutStrategy")
    orders = {
        strategies[name].get("classPath").rpartition(".")[2]: strategies[name]
        for name in visitors
        if name in strategies
    }
    for order, element in orders.items():
        if order not in _ORDERS or len(orders) > 1:
            jsim.refuse(
                element,
                f"customers queue at {short(node)} by {short(', '.join(orders))}, which a network"
                " does not have; let them queue in the order of arrival in JMT (FCFS)",
            )
    return _ORDERS[next(iter(orders))] if orders else "fcfs"


def _capacity(
    jsim: _Jsim, node: str, queue: XmlElement | None, visitors: list[str]
) -> dict[str, Any]:
    """Return the capacity of a station, and what happens to customers that find it full."""
    size = jsim.number(queue, "size", -1.0) if queue else None
    if size is None or size < 1:
        return {}
    strategies = jsim.by_class(queue, "dropStrategies")
    rules = {
        next(strategies[name].every("value"), strategies[name]).text.strip()
        for name in visitors
        if name in strategies
    } or {"drop"}
    rule = next(iter(rules))
    if len(rules) > 1 or rule not in _BLOCKING:
        detail = f"{node}, by the rule {', '.join(sorted(rules))[:80]}"
        jsim.ledger.declare("full-queues", queue.line if queue else 1, detail)
        return {}
    blocking = {} if rule == "drop" else {"blocking": _BLOCKING[rule]}
    return {"capacity": round(size), **blocking}


def _leave_out_blocking(jsim: _Jsim, stations: dict[str, Any], classes: int) -> None:
    """Declare blocking after service where no method answers it: it needs one class, and single
    exponential servers at all stations.
    """
    is_answered = classes == 1 and all(
        station["discipline"] != "is"
        and not station["discipline"].startswith("priority")
        and station.get("servers", 1) == 1
        and "scv" not in station
        for station in stations.values()
    )
    for node, element in jsim.nodes.items():
        station = stations.get(jsim.model.name(element), {})
        if not is_answered and station.get("blocking") == "after-service":
            detail = (
                f"{node}, which blocks after service: that is answered for one class at single"
                " exponential servers"
            )
            jsim.ledger.declare("full-queues", element.line, detail)
            del station["capacity"], station["blocking"]


def _regions(
    jsim: _Jsim, reached_places: Iterable[Place], stations: dict[str, Any], closed: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the regions by name. A region of one station that loses customers is a capacity of that
    station; one whose customers wait outside changes nothing at a queue in the order of arrival, if
    it holds as many as there are servers.

    Parameters
    ----------
    jsim, reached_places : the model, and the places that customers reach
    stations : as they are written, by name
    closed : customers may come back
    """
    for element, nodes in jsim.regions:
        visitors = {name for name, node in reached_places if node in nodes}
        names = [jsim.model.name(jsim.nodes[node]) for node in nodes]
        names = [name for name in names if name in stations]
        limits = _limits(jsim, element)
        if not names or not (limits or _has_other_limits(jsim, element)):
            continue
        station = stations[names[0]]
        capacity = round(limits[0][1]) if limits else 0
        loss_flags = _loses_customers(element, visitors)
        has_single_limit = len(limits) == 1 and (
            limits[0][0].tag == "globalConstraint" or len(visitors) == 1
        )
        weights = {weight.get("weight") for weight in element.every("classWeight")}
        blocks = any(stations[name].get("blocking", "loss") != "loss" for name in names)
        is_expressible = (
            has_single_limit
            and capacity >= 1
            and not weights - {"", "1"}
            and not _has_other_limits(jsim, element)
            and len(loss_flags) == 1
            and not blocks
        )
        if is_expressible and len(names) == 1:
            if loss_flags == {True} and "capacity" not in station:
                station["capacity"] = capacity
                continue
            ordered = station["discipline"] == "fcfs"
            if loss_flags == {False} and ordered and capacity >= station.get("servers", 1):
                continue
        if not is_expressible or (
            closed and (True in loss_flags or _ends_inside(jsim, nodes, reached_places))
        ):
            jsim.ledger.declare("regions", element.line, element.get("name"))
            continue
        blocking = {"blocking": "loss"} if True in loss_flags else {}
        title = jsim.model.name(element)
        title = title if title not in stations else f"{title}-region"
        yield title, {"stations": names, "capacity": capacity, **blocking}


def _has_other_limits(jsim: _Jsim, region: XmlElement) -> bool:
    """Return whether the memory of a region or its groups of classes are limited."""
    limits = (
        jsim.model.number(element, element.get(key), -1.0)
        for tag, key in _OTHER_LIMITS.items()
        for element in region.every(tag)
    )
    return any(limit >= 0 for limit in limits)


def _limits(jsim: _Jsim, region: XmlElement) -> list[tuple[XmlElement, float]]:
    """List the limits of a region that are stated."""
    limits = [
        (element, jsim.model.number(element, element.get(key), -1.0))
        for tag, key in (("globalConstraint", "maxJobs"), ("classConstraint", "maxJobsPerClass"))
        for element in region.every(tag)
    ]
    return [(element, most) for element, most in limits if most >= 0]


def _loses_customers(region: XmlElement, visitors: Iterable[str]) -> set[bool]:
    """Return, as a set, whether a region loses customers of each class that visits the region."""
    drops = {
        rule.get("jobClass"): rule.get("dropThisClass").casefold() == "true"
        for rule in region.every("dropRules")
    }
    return {drops.get(name, False) for name in visitors}


def _ends_inside(jsim: _Jsim, nodes: Sequence[str], reached_places: Iterable[Place]) -> bool:
    """Return whether a cycle of a closed class may end on a way that stays inside a region."""
    references = [
        _first_place(jsim, name, element)
        for name, element in jsim.classes.items()
        if element.get("type") == "closed"
    ]
    return any(
        target in references and target[1] in nodes
        for place in reached_places
        if place[1] in nodes
        for target in jsim.following(place)
        if target != SINK
    )
