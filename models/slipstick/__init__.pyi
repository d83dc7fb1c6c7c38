"""The public names, each written here and nowhere else; `slipstick` imports a name when it is first
used.
"""

from slipstick.answer import Answer as Answer
from slipstick.api import dump as dump
from slipstick.api import load as load
from slipstick.api import run as run
from slipstick.api import solve as solve
from slipstick.api import sweep as sweep
from slipstick.expression.nodes import Parameter as Parameter
from slipstick.law import LAWS as LAWS
from slipstick.model.activity import ask as ask
from slipstick.model.activity import attempt as attempt
from slipstick.model.activity import barrier as barrier
from slipstick.model.activity import choose as choose
from slipstick.model.activity import delay as delay
from slipstick.model.activity import fork as fork
from slipstick.model.activity import get as get
from slipstick.model.activity import hedge as hedge
from slipstick.model.activity import hold as hold
from slipstick.model.activity import if_late as if_late
from slipstick.model.activity import parallel as parallel
from slipstick.model.activity import pick as pick
from slipstick.model.activity import pipeline as pipeline
from slipstick.model.activity import put as put
from slipstick.model.activity import repeat as repeat
from slipstick.model.activity import reply as reply
from slipstick.model.activity import send as send
from slipstick.model.activity import serial as serial
from slipstick.model.activity import service as service
from slipstick.model.activity import signal as signal
from slipstick.model.activity import then as then
from slipstick.model.activity import wait as wait
from slipstick.model.network import QueueingNetwork as QueueingNetwork
from slipstick.model.network import chain as chain
from slipstick.model.network import closed_class as closed_class
from slipstick.model.network import guard as guard
from slipstick.model.network import network as network
from slipstick.model.network import open_class as open_class
from slipstick.model.network import region as region
from slipstick.model.network import route as route
from slipstick.model.network import station as station
from slipstick.model.system import Barrier as Barrier
from slipstick.model.system import Breaker as Breaker
from slipstick.model.system import Lock as Lock
from slipstick.model.system import Model as Model
from slipstick.model.system import Monitor as Monitor
from slipstick.model.system import Permits as Permits
from slipstick.model.system import ReaderWriterLock as ReaderWriterLock
from slipstick.model.system import Semaphores as Semaphores
from slipstick.model.system import Station as Station
from slipstick.model.system import TaskPool as TaskPool
from slipstick.model.system import buffer as buffer
from slipstick.model.system import closed_model as closed_model
from slipstick.model.system import grouped_model as grouped_model
from slipstick.model.system import open_model as open_model
from slipstick.model.system import phased_model as phased_model
from slipstick.model.system import superstep_model as superstep_model
from slipstick.model.tasks import Loop as Loop
from slipstick.model.tasks import Trees as Trees
from slipstick.program import PROGRAMS as PROGRAMS
from slipstick.sim.settings import Simulation as Simulation
from slipstick_chains.transient import time_until as time_until
from slipstick_chains.transient import transient as transient

__version__: str
