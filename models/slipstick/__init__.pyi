"""The public names, each written here and nowhere else; `slipstick` imports one when it is first used."""

from slipstick.answer import Answer as Answer
from slipstick.api import load as load
from slipstick.api import run as run
from slipstick.api import solve as solve
from slipstick.api import sweep as sweep
from slipstick.expression.nodes import Parameter as Parameter
from slipstick.law import LAWS as LAWS
from slipstick.method.networks.transient import time_until as time_until
from slipstick.method.networks.transient import transient as transient
from slipstick.model.activity import barrier as barrier
from slipstick.model.activity import choose as choose
from slipstick.model.activity import delay as delay
from slipstick.model.activity import fork as fork
from slipstick.model.activity import hold as hold
from slipstick.model.activity import parallel as parallel
from slipstick.model.activity import pipeline as pipeline
from slipstick.model.activity import repeat as repeat
from slipstick.model.activity import serial as serial
from slipstick.model.activity import service as service
from slipstick.model.activity import then as then
from slipstick.model.network import QueueingNetwork as QueueingNetwork
from slipstick.model.network import chain as chain
from slipstick.model.network import closed_class as closed_class
from slipstick.model.network import network as network
from slipstick.model.network import open_class as open_class
from slipstick.model.network import route as route
from slipstick.model.network import station as station
from slipstick.model.system import Barrier as Barrier
from slipstick.model.system import Lock as Lock
from slipstick.model.system import Model as Model
from slipstick.model.system import Permits as Permits
from slipstick.model.system import Station as Station
from slipstick.model.system import closed_model as closed_model
from slipstick.model.system import grouped_model as grouped_model
from slipstick.model.system import open_model as open_model
from slipstick.model.system import phased_model as phased_model
from slipstick.model.system import superstep_model as superstep_model
from slipstick.program import PROGRAMS as PROGRAMS
from slipstick.schema.dump import dump as dump
from slipstick.sim.settings import Simulation as Simulation

__version__: str
