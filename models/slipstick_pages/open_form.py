"""Open networks of product form as formulas: each station is an M/M/c queue by itself.

A page evaluates them without a solver, for any number of servers and up to saturation.
"""

from __future__ import annotations

from collections.abc import Mapping

from slipstick.expression.nodes import COUNT, TIME, Booked, Expr, Number, Parameter, total
from slipstick.late import dataclass
from slipstick.model.network import NetworkStation, OpenClass, QueueingNetwork
from slipstick.vocabulary import DISCIPLINES, NEVER, SAME_EXPONENTIAL
from slipstick_laws.station import MMC_WAITING_TIME

__all__ = ["OpenForm", "open_form"]


@dataclass(frozen=True, slots=True)
class OpenForm:
    """The mean values of an open network of product form as expressions.

    Parameters
    ----------
    values : response time, residence times, utilizations and queue lengths, named as in answers
    utilizations : the utilization of each station that saturates, above 1 beyond saturation [1]
    accounted_time : the response time of the first class, booked to the stations [s]
    """

    values: Mapping[str, Expr]
    utilizations: Mapping[str, Expr]
    accounted_time: Expr


def open_form(model: QueueingNetwork) -> OpenForm | None:
    r"""Return the mean values of an open network of product form as expressions; None for other
    networks.

        a_k = sum over r of \lambda_r D_rk,    R_rk = D_rk (1 + C(c_k, a_k) / (c_k - a_k))

    with Erlang's C from `slipstick_laws.station`; a delay has R_rk = D_rk.

    Parameters
    ----------
    model : classes with Poisson arrivals, without routing, limits of capacity or patience

    Source: Baskett, Chandy, Muntz, Palacios, J. ACM 22(2), 1975, 248-260.

    >>> from slipstick.model.network import network, open_class, station
    >>> shop = network({"r": open_class(80.0)}, {"db": station(service={"r": 0.01})})
    >>> print(open_form(shop).utilizations["db"])
    classes.r.arrivals * stations.db.service.r / stations.db.servers
    """
    open_classes = {
        name: customer_class
        for name, customer_class in model.classes.items()
        if isinstance(customer_class, OpenClass) and _has_poisson_arrivals(customer_class)
    }
    if (
        not open_classes
        or model.chains
        or model.constructs
        or len(open_classes) < len(model.classes)
    ):
        return None
    if not all(map(_has_product_form, model.stations.values())):
        return None
    arrivals = {name: customer_class.arrivals for name, customer_class in open_classes.items()}
    expression_by_value: dict[str, Expr] = {}
    utilization_by_station: dict[str, Expr] = {}
    residence_by_class: dict[str, dict[str, Expr]] = {name: {} for name in open_classes}
    for name, station in model.stations.items():
        demands = {label: _demand_of_class(station, label) for label in station.visitors()}
        station_load = total(arrivals[label] * demand for label, demand in demands.items())
        servers = Parameter(f"stations.{name}.servers", COUNT, float(station.servers))
        is_delay = DISCIPLINES[station.discipline].delay
        for label, demand in demands.items():
            residence_time = _booked_residence_time(
                name, demand, servers, station_load, delay=is_delay
            )
            residence_by_class[label][name] = residence_time
            expression_by_value[f"residence_time[{label},{name}]"] = residence_time
        if not is_delay:
            utilization_by_station[name] = expression_by_value[f"utilization[{name}]"] = (
                station_load / servers
            )
        expression_by_value[f"queue_length[{name}]"] = total(
            arrivals[label] * residence_by_class[label][name] for label in demands
        )
    response_times: dict[str, Expr] = {
        f"response_time[{label}]": total(times.values(), TIME)
        for label, times in residence_by_class.items()
    }
    return OpenForm(
        {**response_times, **expression_by_value},
        utilization_by_station,
        next(iter(response_times.values())),
    )


def _has_poisson_arrivals(open_class: OpenClass) -> bool:
    """Return whether customers of a class arrive one by one in a Poisson stream."""
    return not open_class.bursty and open_class.batch == 1 and not open_class.trace


def _has_product_form(station: NetworkStation) -> bool:
    """Return whether a station is an M/M/c queue, or equivalent to one in its mean values."""
    product_form = DISCIPLINES[station.discipline].product_form
    station_constructs = (
        station.rates,
        station.capacity,
        station.patience,
        station.balking,
        station.timeout,
        station.priority,
    )
    if any(station_constructs) or product_form == NEVER:
        return False
    service_times = set(station.service.values())
    has_one_service_time = len(station.visitors()) < 2 or (
        not station.demand and len(service_times) == 1
    )
    is_exponential = all(scv == Number(1.0) for scv in station.scv.values())
    return product_form != SAME_EXPONENTIAL or (has_one_service_time and is_exponential)


def _demand_of_class(station: NetworkStation, label: str) -> Expr:
    """Return the service demand of a class [s]."""
    if label in station.demand:
        return station.demand[label]
    service = station.service[label]
    return service * station.visits[label] if label in station.visits else service


def _booked_residence_time(
    name: str, demand: Expr, servers: Expr, load: Expr, *, delay: bool
) -> Expr:
    """Return the residence time at a station as service time and waiting time, each booked to a
    label of its own.

    The wait is that of several servers whose only class brings the whole load.
    """
    if delay:
        return Booked(name, demand)
    wait: Expr = MMC_WAITING_TIME.equation(servers, demand, load / demand)
    return Booked(name, demand) + Booked(f"wait:{name}", wait)
