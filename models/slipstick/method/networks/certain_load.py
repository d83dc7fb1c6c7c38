"""The load of stations that no loss of customers can lower."""

from __future__ import annotations

from dataclasses import replace

from slipstick.late import NDArray, np
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.queueing.network import NetworkArrays
from slipstick.queueing.routes import traffic_equations
from slipstick.vocabulary import LOSS


def network_before_losses(network_points: NetworkPoints) -> NetworkArrays:
    """Return a network whose chains request only the service that comes before the first possible
    loss of a customer. The number of losses, and the service requested after them, are known only
    from a Markov chain or a simulation.
    """
    network = network_points.network
    if not network.loss_reason:
        return network
    may_lose = _is_place_of_losses(network_points)
    is_visited = network_points.visits.real > 0
    # Stations are visited in the order written: a loss at one leaves out the visits behind it.
    is_lost_before = np.cumsum(may_lose & is_visited, axis=2) - (may_lose & is_visited) > 0
    certain_visits = np.where(is_lost_before, 0.0, network_points.visits)
    chain_of_class = network_points.chain_of_class
    for chain_index, reference in enumerate(network_points.references):
        class_indices = np.flatnonzero(chain_of_class == chain_index)
        routes = network_points.routes
        if routes is None or not len(routes.among(class_indices.tolist())):
            continue  # the stations are visited in their order
        if network.closed[chain_index]:
            # Closed customers saturate no station.
            continue
        source_classes, source_stations = routes.source.T
        # Behind a place of losses no visit is certain, so that its routes are left out.
        certain_probabilities = np.where(
            may_lose[source_classes, source_stations], 0.0, routes.probability
        )
        visits_of_chain = traffic_equations(
            replace(routes, probability=certain_probabilities),
            class_indices.tolist(),
            reference,
            False,
            certain_visits.shape[1:],
        )
        certain_visits[:, class_indices] = visits_of_chain[:, class_indices]
    # A customer that abandons a queue or balks leaves before its service there.
    leaves_queue = _is_place_of_losses(network_points) & ~network.has_capacity
    demand = network_points.service * np.where(leaves_queue, 0.0, certain_visits)
    is_in_chain = chain_of_class == np.arange(len(network.classes))[:, None]
    demand_of_chains = np.einsum("cr,prk->pck", is_in_chain, demand)
    return replace(network, service=demand_of_chains, visits=np.ones_like(demand_of_chains))


def _is_place_of_losses(network_points: NetworkPoints) -> NDArray[np.bool_]:
    """Return where customers may be lost [classes, stations]: in queues that they abandon, at full
    stations, and on their arrival at a full station that blocks others.
    """
    network = network_points.network
    loses_all = network.has_capacity & (np.array(network.blocking) == LOSS)
    may_lose: NDArray[np.bool_] = np.tile(loses_all, (len(network_points.classes), 1))
    for class_index, station_index in network_points.references:
        may_lose[class_index, station_index] |= network.has_capacity[station_index]
    patience = network_points.patience.get("patience")
    if patience is not None:
        may_lose |= (patience.real > 0).any(axis=0)
    for class_name, station_name in network_points.balking:
        class_index = network_points.classes.index(class_name)
        may_lose[class_index, network.stations.index(station_name)] = True
    return may_lose
