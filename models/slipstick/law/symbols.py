"""What several families of laws share: symbols, sources, conditions, and the probability that
all servers are busy.
"""

from __future__ import annotations

from typing import Any

from slipstick.expression.nodes import COUNT, RATE, TIME
from slipstick.expression.special import erlang_b
from slipstick.law.law import Symbol

HAND = "worked by hand"
PARSONS = "Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997"
SCALE_GRAPH = "Scale-Graph, IEEE TSE 1997"
DENNING_BUZEN = "Denning and Buzen, ACM Computing Surveys 10(3), 1978: asymptotic bounds"
GRAMA = "Grama, Gupta and Kumar, IEEE Parallel & Distributed Technology 1(3), 1993"
JAIN = "Jain, The Art of Computer Systems Performance Analysis, Wiley 1991, chapter 31"
KLEINROCK = "Kleinrock, Queueing Systems volume 1, Wiley 1975, chapter 3"
LITTLE = "Little, Operations Research 9(3), 1961"
MELLOR_CRUMMEY_SCOTT = "Mellor-Crummey and Scott, ACM Transactions on Computer Systems 9(1), 1991"
NANDA_NI = "Nanda and Ni, Supercomputing 1992"

PROCESSORS = Symbol("processors", COUNT, "number of processors", "N")
ELAPSED = Symbol("time", TIME, "elapsed time on all processors", "T_N")

ARRIVALS = Symbol("arrivals", RATE, "arrival rate", r"\lambda")
ALL_ARRIVALS = Symbol("arrivals", RATE, "arrival rate, including lost customers", r"\lambda")
SERVICE = Symbol("service", TIME, "mean service time of a customer", "S")
SCV = Symbol("scv", COUNT, "squared coefficient of variation of service times", "c_s^2")
SERVERS = Symbol("servers", COUNT, "number of servers", "c")
PRESENT = Symbol("count", COUNT, "number of customers present, including those in service", "n")
NUMBER = Symbol(
    "number", COUNT, "mean number of customers present, including those in service", "L"
)
PROBABILITY = Symbol("probability", COUNT, "share of time with n customers present", "P_n")
RESPONSE = Symbol("response", TIME, "mean time from arrival to departure", "R")
WAIT = Symbol("wait", TIME, "mean time from arrival to the start of service", "W")
LIMIT = Symbol("limit", TIME, "limit of the response time", "t")
LATE = Symbol("late", COUNT, "probability of a longer response time", r"P_{R>t}")
THROUGHPUT = Symbol("throughput", RATE, "rate of customers served", "X")


def all_busy_probability(servers: Any, load: Any) -> Any:
    """Return Erlang C from Erlang B: the share of Poisson arrivals that find all servers busy.

    Source: Kleinrock, Queueing Systems volume 1, Wiley 1975, chapter 3.
    """
    loss_probability = erlang_b(load, servers)
    # From Erlang B, since its recursion and its limits hold where the sums of Erlang C overflow.
    return loss_probability / (1 - load / servers * (1 - loss_probability))
