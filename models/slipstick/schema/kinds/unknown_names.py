"""Classes and stations that are not there, told while other things are wrong with a queueing network as well."""

from __future__ import annotations

from typing import Any

from slipstick.errors import Fault
from slipstick.model.network import BY_CLASS, no_class, no_station


def unknown_names(data: object) -> list[Fault]:
    """Find the classes and stations that are not there, in a network that need not be right otherwise.

    Parameters
    ----------
    data : the file, as plain values
    """
    network = _table(data)
    classes, chains, stations = (_table(network.get(key)) for key in ("classes", "chains", "stations"))
    known = [*classes, *(str(label) for each in chains.values() for label in _listing(_table(each).get("classes")))]
    found = [
        Fault(("stations", name, key, label), no_class(label, known), key=True)
        for name, station in stations.items()
        for key in BY_CLASS
        for label in _table(_table(station).get(key))
        if known and label not in known
    ]
    for index, way in enumerate(_listing(network.get("routing"))):
        for key in ("from", "to"):
            pair = _listing(_table(way).get(key))
            if stations and len(pair) == 2 and isinstance(pair[1], str) and pair[1] not in stations:
                found.append(Fault(("routing", index, key, 1), no_station(pair[1], list(stations))))
    return found


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listing(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
