"""Layered queueing networks, read from LQNX and from LQN text into one form, and written as
activities.

Why this shape: `xml` and `text` only read, each its own format, into the data of `model`;
`replicas` writes copies out; `graph` turns activity graphs into nested steps; `lowering` alone
knows the language of activities.
"""

from __future__ import annotations

from slipstick_measure.imports.imported import ImportedSpec
from slipstick_measure.imports.layered.lowering import lowered
from slipstick_measure.imports.layered.replicas import written_out
from slipstick_measure.imports.layered.text import read_text
from slipstick_measure.imports.layered.xml import read_xml
from slipstick_measure.imports.losses import Ledger
from slipstick_measure.imports.names import SpecNames
from slipstick_measure.readers.reading import Reading

FORMAT = "lqn"


def layered_spec(reading: Reading) -> ImportedSpec:
    """Read a layered queueing network, in XML or as text, as an activity.

    Raises
    ------
    SpecError : what cannot be read, or what an activity cannot say, each by name
    """
    ledger = Ledger(FORMAT, reading)
    read = read_xml if reading.text.lstrip()[:1] == "<" else read_text
    network, variables = read(reading, ledger)
    names = SpecNames(reading)
    network.parameters = {
        name: (variables.values[name], variables.lines[name])
        for name in variables.formulas
        if name in variables.used
    }
    spec = lowered(
        written_out(network), lambda: SpecNames(reading), ledger, f"Layered model {reading.name}"
    )
    if reading.hints.unit is None:
        spec.say("times are taken as seconds, for the model has no unit; say another with --unit")
    del names
    return ledger.close(spec)
