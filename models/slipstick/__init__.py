"""slipstick: a performance-model calculator for parallel systems.

Describe a machine, a workload and a question; slipstick says where the processors go, why, and what would
help most.

>>> from slipstick import closed_model, delay, hold, service, solve
>>> cycle = delay(9e-3, name="work") >> hold("door", service("bus", 1e-3, name="update", component="lock"))
>>> answer = solve(closed_model(cycle, processors=8))
>>> answer["efficiency"], answer.account
(0.9, {'busy': 0.009, 'lock': 0.001})

Why this shape: data flows one way, model -> method -> answer -> report, and every package says in its first
line what it is. `expression` lies below `law` and `model`, which both speak it; `answer` and `results` are
what `method` and `study` hand to `report`, which cannot compute. Methods live in `method`, so that `solve` can
be the verb. The names below are the front door; they are imported when first used, so that the command line
starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slipstick.answer import Answer
    from slipstick.api import load, run, solve, sweep
    from slipstick.expression.nodes import Parameter
    from slipstick.law import ALL as LAWS
    from slipstick.method.networks.transient import time_until, transient
    from slipstick.model.activity import (
        barrier,
        choose,
        delay,
        fork,
        hold,
        parallel,
        pipeline,
        repeat,
        serial,
        service,
        then,
    )
    from slipstick.model.network import QueueingNetwork, chain, closed_class, network, open_class, route, station
    from slipstick.model.resources import Barrier, Lock, Station
    from slipstick.model.system import Model, closed_model, grouped_model, open_model, phased_model
    from slipstick.program import PROGRAMS
    from slipstick.schema.dump import dump
    from slipstick.sim.settings import Simulation

__version__ = "0.1.0"

__all__ = [
    "LAWS",
    "PROGRAMS",
    "Answer",
    "Barrier",
    "Lock",
    "Model",
    "Parameter",
    "QueueingNetwork",
    "Simulation",
    "Station",
    "arrivals",
    "arriving",
    "barrier",
    "chain",
    "choose",
    "closed_class",
    "closed_model",
    "delay",
    "dump",
    "fork",
    "grouped_model",
    "hold",
    "load",
    "network",
    "open_class",
    "open_model",
    "parallel",
    "phased_model",
    "pipeline",
    "repeat",
    "route",
    "run",
    "serial",
    "service",
    "solve",
    "station",
    "sweep",
    "then",
    "time_until",
    "transient",
]

_ACTIVITY = (
    "barrier",
    "choose",
    "delay",
    "fork",
    "hold",
    "parallel",
    "pipeline",
    "repeat",
    "serial",
    "service",
    "then",
)
_RESOURCES = ("Barrier", "Lock", "Station")
_SYSTEM = ("Model", "closed_model", "grouped_model", "open_model", "phased_model")
_NETWORK = ("QueueingNetwork", "open_class", "chain", "closed_class", "network", "station", "route")
_HOME = {
    **dict.fromkeys(_ACTIVITY, "slipstick.model.activity"),
    **dict.fromkeys(_RESOURCES, "slipstick.model.resources"),
    **dict.fromkeys(_SYSTEM, "slipstick.model.system"),
    **dict.fromkeys(_NETWORK, "slipstick.model.network"),
    "Answer": "slipstick.answer",
    "PROGRAMS": "slipstick.program",
    "Parameter": "slipstick.expression.nodes",
    "dump": "slipstick.schema.dump",
    "Simulation": "slipstick.sim.settings",
    "time_until": "slipstick.method.networks.transient",
    "transient": "slipstick.method.networks.transient",
    **dict.fromkeys(("load", "run", "solve", "sweep"), "slipstick.api"),
}


def __getattr__(name: str) -> Any:
    if name == "LAWS":
        return import_module("slipstick.law").ALL
    if name not in _HOME:
        raise AttributeError(f"module 'slipstick' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
