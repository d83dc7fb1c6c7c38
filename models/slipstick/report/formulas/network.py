"""Queueing networks as equations: what holds for every network, and this one's demands over the paths of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Expr, Parameter, parameters, zero
from slipstick.expression.symbolic import latex
from slipstick.expression.text import text
from slipstick.model.network import Customers, Queue, QueueingNetwork
from slipstick.report.formulas.equations import spelt
from slipstick.report.words import NOTHING, Notes, plain_table, quantity, wrapped

if TYPE_CHECKING:
    from slipstick.schema.describe import Entry

__all__ = ["network_latex", "network_parts", "network_symbols"]

_INDENT = "    "
_LAWS = {
    "closed": ("X[r] = N[r] / (Z[r] + R[r]), R[r] = sum over k of R[r,k]", r"X_r &= N_r / (Z_r + \sum_k R_{rk})"),
    "queue": (
        "R[r,k](n) = D[r,k] * (1 + Q[k](n less one of r)), at a queue of one server",
        r"R_{rk}(n) &= D_{rk} (1 + Q_k(n - e_r))",
    ),
    "several": (
        "R[r,k](n) = D[r,k] * sum over j of j / a[k](j) * P[k](j - 1, n less one of r), speed a with j present",
        r"R_{rk}(n) &= D_{rk} \sum_j \frac{j}{a_k(j)} p_k(j - 1, n - e_r)",
    ),
    "delay": ("R[r,k] = D[r,k], at a station without a queue", r"R_{rk} &= D_{rk}"),
    "little": ("Q[r,k] = X[r] * R[r,k]", r"Q_{rk} &= X_r R_{rk}"),
    "open": (
        "R[r,k] = D[r,k] * (1 + Q[k] of closed classes) / (1 - U[k] of open ones), for arrivals",
        r"R_{rk} &= D_{rk} (1 + Q_k) / (1 - U_k)",
    ),
}
"""What the methods build on, in text and on paper, by the kind of class or station it is for."""


@dataclass(frozen=True, slots=True)
class _Definition:
    """A symbol of a network, and what it stands for."""

    name: str
    on_paper: str
    right: Expr


def network_parts(model: QueueingNetwork, entries: Mapping[str, Entry], solved: tuple[str, ...]) -> list[str]:
    """Write a network for the terminal: equations, demands, symbols, stations.

    Parameters
    ----------
    model : the network
    entries : what the specs say of each path
    solved : throughput and response time over its demands, if it is small
    """
    sources = Notes()
    lines = [wrapped(_INDENT + words, 2 * _INDENT) for words, _ in _laws(model)]
    lines += ["", *(wrapped(_INDENT + f"{each.name} = {text(each.right)}", 2 * _INDENT) for each in _defined(model))]
    rows = list(network_symbols(model, entries, sources))
    return [
        "\n".join(lines),
        "\n".join(wrapped(_INDENT + line, 2 * _INDENT) for line in solved),
        plain_table(["symbol", "value", "meaning", "source"], rows, [1]) if rows else "",
        "\n".join(wrapped(f"[{number}] {source}", _INDENT) for number, source in sources.listed.items()),
        plain_table(
            ["station", "discipline", "servers", "visited by"], [_row(*each) for each in model.stations.items()]
        ),
    ]


def network_latex(model: QueueingNetwork) -> list[str]:
    """Write the equations of a network as lines of ``align*``."""
    laws = [on_paper for _, on_paper in _laws(model)]
    return [*laws, *(f"{each.on_paper} &= {latex(each.right, {})}" for each in _defined(model))]


def network_symbols(model: QueueingNetwork, entries: Mapping[str, Entry], sources: Notes) -> Iterator[list[str]]:
    """Give path, value, meaning and source of everything the network is written in."""
    for parameter in parameters(*(expr for _, expr in model.quantities())):
        entry = entries.get(parameter.name)
        if entry is None:
            yield [parameter.name, _value(parameter), "", ""]
        else:
            mark = f"[{sources.number(entry.source)}]" if entry.source else ""
            yield [parameter.name, str(entry.given), entry.meaning, mark]


def _laws(model: QueueingNetwork) -> Iterator[tuple[str, str]]:
    members = [*model.classes.values(), *(each.members for each in model.chains.values())]
    stations = list(model.stations.values())
    asked = {
        "closed": any(isinstance(each, Customers) for each in members),
        "queue": any(_plain(each) for each in stations),
        "several": any(each.discipline != "is" and not _plain(each) for each in stations),
        "delay": any(each.discipline == "is" for each in stations),
        "little": True,
        "open": not all(isinstance(each, Customers) for each in members),
    }
    yield from (_LAWS[key] for key, wanted in asked.items() if wanted)


def _plain(station: Queue) -> bool:
    return station.discipline != "is" and station.servers == 1 and not station.rates


def _defined(model: QueueingNetwork) -> Iterator[_Definition]:
    for name, each in {**model.classes, **{name: chain.members for name, chain in model.chains.items()}}.items():
        if isinstance(each, Customers):
            yield _definition("N", name, each.population)
            if each.think_time != zero(TIME):
                yield _definition("Z", name, each.think_time)
        else:
            yield _definition("X", name, each.arrivals)
    for place, station in model.stations.items():
        for name in station.visitors():
            work = station.demand.get(name)
            if work is None:
                visits = station.visits.get(name)
                service = station.service[name]
                routed = any(name in chain.classes for chain in model.chains.values())
                work = service if visits is None else service * visits
                if routed:
                    work = service * Parameter(f"V.{name}.{place}")
            yield _definition("D", f"{name},{place}", work)


def _definition(letter: str, inside: str, right: Expr) -> _Definition:
    return _Definition(f"{letter}[{inside}]", f"{letter}_{{{spelt(inside)}}}", right)


def _row(name: str, station: Queue) -> list[str]:
    speed = f"rates of {len(station.rates)}" if station.rates else str(station.servers)
    return [name, station.discipline, NOTHING if station.discipline == "is" else speed, ", ".join(station.visitors())]


def _value(parameter: Parameter) -> str:
    return NOTHING if parameter.value is None else quantity(parameter.value, str(parameter.dimension))
