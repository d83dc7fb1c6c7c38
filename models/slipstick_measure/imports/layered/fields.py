"""What each field of the formats of layered networks becomes: read, equal (it changes no answer),
or the name of a loss that is refused unless it is left out.

A field that is not here is a loss of its own, so no field of a file is passed over without a word.

Source: lqn.xsd of LQNS 5 and 6 and its reader of XML; the LQN input language of LQNS 5.
"""

from __future__ import annotations

from collections.abc import Mapping

from slipstick_measure.imports.fields import FieldTable
from slipstick_measure.imports.losses import EQUAL, READ

DECISIONS = "decisions"
SUBMODELS = "submodels"
_CALL = {"dest": READ, "calls-mean": READ}
_NAMED = {"name": READ}

XML_FIELDS: Mapping[str, Mapping[str, str]] = {
    "lqn-model": dict.fromkeys(
        ("name", "description", "lqn-schema-version", "lqncore-schema-version", "xml-debug"), EQUAL
    ),
    "solver-params": dict.fromkeys(
        ("comment", "conv_val", "it_limit", "print_int", "underrelax_coeff"), EQUAL
    ),
    "processor": {
        **dict.fromkeys(
            ("name", "scheduling", "multiplicity", "speed-factor", "replication"), READ
        ),
        "quantum": EQUAL,
    },
    "group": dict.fromkeys(("name", "share", "cap"), READ),
    "task": {
        **dict.fromkeys(("name", "scheduling", "multiplicity", "replication", "initially"), READ),
        **dict.fromkeys(("think-time", "priority", "queue-length"), READ),
        "activity-graph": EQUAL,
    },
    "fan-in": {"source": READ, "value": READ},
    "fan-out": {"dest": READ, "value": READ},
    "entry": {
        **dict.fromkeys(("name", "open-arrival-rate", "priority", "semaphore", "rwlock"), READ),
        "type": EQUAL,
    },
    "forwarding": {"dest": READ, "prob": READ},
    "entry-phase-activities": {},
    "task-activities": {},
    "activity": {
        **dict.fromkeys(("name", "phase", "bound-to-entry", "call-order", "prob", "count"), READ),
        **dict.fromkeys(("host-demand-mean", "host-demand-cvsq", "think-time"), READ),
        "max-service-time": EQUAL,
    },
    "synch-call": _CALL,
    "asynch-call": _CALL,
    "precedence": {},
    **{tag: {} for tag in ("pre", "pre-OR", "post", "post-OR", "post-AND")},
    "pre-AND": {"quorum": READ},
    "post-LOOP": {"end": READ},
    "reply-entry": _NAMED,
    "reply-activity": _NAMED,
    **{tag: {} for tag in ("lqx", "spex-parameters", "spex-parameter", "parameters")},
}
"""What becomes of each attribute of each element that is read."""

XML_ELEMENTS: Mapping[str, str] = {
    **dict.fromkeys(XML_FIELDS, READ),
    **dict.fromkeys(("pragma", "service", "plot-control"), EQUAL),
    **dict.fromkeys(("service-time-distribution", "queue-length-distribution"), EQUAL),
    **dict.fromkeys(("marginal-queue-probabilities", "results-collection"), EQUAL),
    **dict.fromkeys(("results-observe", "spex-results", "spex-result"), EQUAL),
    "decision": DECISIONS,
    "slot": SUBMODELS,
}
"""What becomes of each element; `service` only names what a model offers to others."""

TEXT_FIELDS: Mapping[str, Mapping[str, str]] = {
    "P": {"p": READ, "d": "communication-delays"},
    "U": {"g": READ},
    "T": {"t": READ, "I": READ, "O": READ},
    "E": {**dict.fromkeys("aAcfFpPRsUVWXyzZio", READ), "H": EQUAL, "M": EQUAL},
    "A": {**dict.fromkeys("scfyzZ", READ), "H": EQUAL, "M": EQUAL},
}
"""What becomes of each row of each section of the text form, whose reader knows no other rows; H
and M ask for results.
"""

XML_TABLE = FieldTable(XML_ELEMENTS, XML_FIELDS, result_tag_prefix="result-")
