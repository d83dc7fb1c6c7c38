"""Special functions of queueing and of networks: each one node with a stable evaluation and its
derivative.

They are nodes because composing them from arithmetic loses all digits somewhere: 1 - r^n over 1 - r
at r = 1, a^c / c! at c = 200. `operators` says how each is computed, `symbolic` what SymPy and
paper make of it. Arguments that count (servers, terms, stages) are whole numbers; there is no
derivative by them.
"""

from __future__ import annotations

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr, Like, Number, as_expr, function_of_counts, number_text


def exp(operand: Like) -> Expr:
    """Take the exponential of a plain number."""
    return function_of_counts("exp", operand)


def exprel(operand: Like) -> Expr:
    """Return (exp(x) - 1) / x, with its limit 1 at x = 0."""
    return function_of_counts("exprel", operand)


def log(operand: Like) -> Expr:
    """Take the natural logarithm of a plain number."""
    return function_of_counts("log", operand)


def real_power(base: Like, exponent: Like) -> Expr:
    """Raise a plain number of at least 0 to a power that is a plain number; ``x ** 3`` is for whole
    powers of quantities.

    >>> real_power(2, 0.5)
    pow(2, 0.5)
    """
    return function_of_counts("pow", base, exponent)


def geometric_sum(ratio: Like, terms: Like) -> Expr:
    """Return the sum of the first `terms` terms of 1 + r + r^2 + ...: (1 - r^n) / (1 - r), also at
    r = 1.

    Parameters
    ----------
    ratio : above 0 [1]
    terms : how many [1]
    """
    return function_of_counts("geometric_sum", ratio, terms)


def geometric_mean(ratio: Like, most: Like) -> Expr:
    """Return the mean of a count from 0 to `most` whose probabilities are proportional to 1, r,
    r^2, ...

    Parameters
    ----------
    ratio : above 0 [1]
    most : the largest count [1]
    """
    return function_of_counts("geometric_mean", ratio, most)


def erlang_b(load: Like, servers: Like) -> Expr:
    """Return the loss probability by Erlang's formula: (a^c / c!) / sum_{k=0..c} a^k / k!.

    Parameters
    ----------
    load : a, arrivals in a service time, above 0 [1]
    servers : c, at most ten million, no number beyond [1]

    Source: Erlang, 1917; the recursion 1/B_k = 1 + (k/a) / B_{k-1} never overflows before the
    answer is 0.
    """
    return function_of_counts("erlang_b", load, servers)


def palm(load: Like, services: Like) -> Expr:
    """Return 1 / A of Palm's function A = 1 + y/(x+1) + y^2/((x+1)(x+2)) + ..., for a queue with
    abandonment.

    Parameters
    ----------
    load : y, arrivals in a mean patience, at least 0 [1]
    services : x, services of all servers in a mean patience, above 0 [1]

    Source: Palm, Methods of judging the annoyance caused by congestion, Tele 4, 1953; every term is
    positive.
    """
    return function_of_counts("palm", load, services)


def engset(load: Like, servers: Like, sources: Like) -> Expr:
    """Return Engset's time congestion, the share of time with all servers busy: C(N,c) a^c /
    sum_{k=0..c} C(N,k) a^k.

    Parameters
    ----------
    load : a, requests of one idle source in a service time, above 0 [1]
    servers : c, at most ten million, no number beyond [1]
    sources : N, at least c [1]

    Raises
    ------
    ModelError : both are numbers, and there are fewer sources than servers

    Source: Engset, 1918.
    """
    server_node = as_expr(servers)
    source_node = as_expr(sources)
    if (
        isinstance(server_node, Number)
        and isinstance(source_node, Number)
        and source_node.value < server_node.value
    ):
        requirement = (
            "engset(load, servers, sources) takes at least as many sources as servers,"
            f" {number_text(server_node.value)}"
        )
        raise ModelError(f"{requirement}; got {number_text(source_node.value)} sources")
    return function_of_counts("engset", load, server_node, source_node)


def poisson(mean: Like, count: Like) -> Expr:
    """Return the probability of a count in a Poisson distribution of a given mean: a^n exp(-a) /
    n!.

    Parameters
    ----------
    mean : a, above 0 [1]
    count : n, whole, at least 0 [1]

    Source: Loader, Fast and accurate computation of binomial probabilities, 2000, for the digits of
    large counts.
    """
    return function_of_counts("poisson", mean, count)


def md1_number(load: Like, count: Like) -> Expr:
    """Return the probability of a number of customers present at a single server with Poisson
    arrivals and constant service.

    Parameters
    ----------
    load : arrivals in a service time, below 1 [1]
    count : customers present, in service included, at most 1000, no number beyond [1]

    Source: Ramaswami, Stochastic Models 4(1), 1988, for a recursion without differences.
    """
    return function_of_counts("md1_number", load, count)


def md1_late(load: Like, elapsed: Like) -> Expr:
    """Return the probability that the wait exceeds `elapsed` service times at a single server with
    Poisson arrivals, constant service and service in the order of arrival.

    Parameters
    ----------
    load : arrivals in a service time, below 1 [1]
    elapsed : the wait in service times, below 1000, no number beyond [1]

    Source: Erlang, 1909; Franx, Operations Research Letters 29(5), 2001, for a sum without
    differences.
    """
    return function_of_counts("md1_late", load, elapsed)


def drop_stages(rate: Like, inputs: Like, outputs: Like, stages: Like) -> Expr:
    """Return the rate on a link behind stages of switches that drop colliding requests: m <- 1 - (1
    - m/b)^a at each stage.

    Parameters
    ----------
    rate : requests on an input link in a cycle, 0 to 1 [1]
    inputs : a, of each switch [1]
    outputs : b, of each switch [1]
    stages : how many, at most 1024, no number beyond [1]

    Source: Patel, IEEE Transactions on Computers C-30(10), 1981.
    """
    return function_of_counts("drop_stages", rate, inputs, outputs, stages)


def retried_rate(rate: Like, inputs: Like, outputs: Like, stages: Like) -> Expr:
    """Return the rate on an input link when dropped requests are repeated: the root m' of m' = m /
    (m + P (1 - m)).

    P = (b/a)^n drop_stages(m', a, b, n) / m' is the share of requests that get through.

    Parameters
    ----------
    rate : m, new requests of a processor that is not waiting, in a cycle, 0 to 1 [1]
    inputs, outputs, stages : as of `drop_stages` [1]

    Source: Patel, IEEE Transactions on Computers C-30(10), 1981.
    """
    return function_of_counts("retried_rate", rate, inputs, outputs, stages)
