"""Models to the text of a file, which reads as an equal model."""

from __future__ import annotations

from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.schema.kinds.activity import activity_data
from slipstick.schema.kinds.queueing import network_data


def dump(model: Model | QueueingNetwork) -> str:
    """Write a model as the text of a file: of an activity, or of a queueing network."""
    import yaml

    data = network_data(model) if isinstance(model, QueueingNetwork) else activity_data(model)
    return str(yaml.safe_dump(data, sort_keys=False, width=100, default_flow_style=None))
