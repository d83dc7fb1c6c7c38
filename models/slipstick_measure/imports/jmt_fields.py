"""What each field of models of JMT becomes: read, equal (it changes no answer), or the name of a
loss that is refused unless it is left out.

A field that is not here is a loss of its own, so no field of a file is passed over without a word.

Source: SIMmodeldefinition.xsd, JMTmodel.xsd and the program that writes the files, of JMT 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from slipstick_measure.imports.fields import UNKNOWN_FIELDS, FieldTable
from slipstick_measure.imports.losses import EQUAL, READ, FileLosses
from slipstick_measure.readers.elements import XmlElement

_PREPARATION = "preparation"
_PARAMETER = {"name": READ, "classPath": READ, "array": EQUAL}

JSIM_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "archive": dict.fromkeys(("name", "timestamp"), EQUAL),
    "sim": {
        **dict.fromkeys(("name", "debug", "seed", "maxTime", "maxSimulated", "polling"), EQUAL),
        **dict.fromkeys(("maxSamples", "maxEvents", "disableStatisticStop"), EQUAL),
        **dict.fromkeys(("logPath", "logDelimiter", "logReplaceMode"), EQUAL),
        **dict.fromkeys(("logExecutionTimestamp", "logDecimalSeparator"), EQUAL),
    },
    "userClass": {
        **dict.fromkeys(("name", "type", "priority", "referenceSource", "customers"), READ),
        **dict.fromkeys(("softDeadline", "cacheMissClass", "cacheHitClass", "color"), EQUAL),
    },
    "node": {"name": READ},
    "section": {"className": READ},
    "parameter": _PARAMETER,
    "subParameter": _PARAMETER,
    "refClass": {},
    "value": {},
    "connection": {"source": READ, "target": READ},
    "blockingRegion": {"name": READ, "type": EQUAL},
    "regionNode": {"nodeName": READ},
    "globalConstraint": {"maxJobs": READ},
    "globalMemoryConstraint": {"maxMemory": READ},
    "classConstraint": {"jobClass": EQUAL, "maxJobsPerClass": READ},
    "classMemoryConstraint": {"jobClass": EQUAL, "maxMemoryPerClass": READ},
    "dropRules": {"jobClass": READ, "dropThisClass": READ},
    "classWeight": {"jobClass": EQUAL, "weight": READ},
    "groupConstraint": {"jobGroup": EQUAL, "maxJobsPerGroup": READ},
    "groupMemoryConstraint": {"jobGroup": EQUAL, "maxMemoryPerGroup": READ},
    "jmodel": {},
    "parametric": {"enabled": READ, "classPath": READ},
    "field": {"name": READ, "value": READ},
}
"""What becomes of each attribute of each element that is read. That a class has a limit, a weight
or a group is enough to refuse a region; deadlines change no order that is read, and the classes of
hits and misses are those of a cache, which is refused.
"""

JSIM_ELEMENTS: Mapping[str, str] = {
    **dict.fromkeys(JSIM_ATTRIBUTES, READ),
    **dict.fromkeys(("measure", "results", "preload", "classSoftDeadlines"), EQUAL),
    **dict.fromkeys(("classSize", "classSoftDeadline", "groupClassList"), EQUAL),
    **dict.fromkeys(("quantumSize", "quantumSwitchoverTime"), EQUAL),
    **dict.fromkeys(("station", "connectionShape"), EQUAL),
    "delayOff": _PREPARATION,
    "setUp": _PREPARATION,
}
"""What becomes of each element: preloads begin a run, sizes count against a memory, which is
refused, and quanta belong to a way of sharing that is refused; stations and shapes are the picture.
"""

_QUEUE = {
    **dict.fromkeys(("size", "dropStrategies", "FCFSstrategy", "QueuePutStrategy"), READ),
    "Impatience": "impatience",
    "retrialDistributions": EQUAL,
}
_SERVICE = {"ServiceStrategy": READ, "ServerStrategy": READ, "numberOfVisits": EQUAL}
_SERVER = {
    **_SERVICE,
    "maxJobs": READ,
    **dict.fromkeys(("SwitchoverStrategy", "delayOffTime", "setUpTime"), _PREPARATION),
    "classParallelism": "several-servers",
    "serverNames": READ,
    "serverCompatibilities": READ,
    **dict.fromkeys(("serversPerServerType", "schedulingPolicy", "PreemptiveStrategy"), EQUAL),
}

JSIM_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "RandomSource": {"ServiceStrategy": READ},
    "Queue": _QUEUE,
    "Server": _SERVER,
    "PreemptiveServer": _SERVER,
    "PSServer": {
        **_SERVER,
        "maxRunning": "sharing-limit",
        **dict.fromkeys(("PSPriorityUsed", "PSStrategy", "serviceWeights"), READ),
    },
    "Delay": _SERVICE,
    "ServiceTunnel": {},
    "LogTunnel": {
        **dict.fromkeys(("logfileName", "logfilePath", "logExecTimestamp"), EQUAL),
        **dict.fromkeys(("logLoggerName", "logTimeStamp", "logJobID", "logJobClass"), EQUAL),
        **dict.fromkeys(("logTimeSameClass", "logTimeAnyClass", "numClasses"), EQUAL),
    },
    "ClassSwitch": {"matrix": READ},
    "Router": {"RoutingStrategy": READ},
    "JobSink": {},
}
"""What becomes of each parameter of each section that a network has, or of which loss it may be a
case. JMT does not use the number of visits; times of a retrial belong to a rule that is refused,
and kinds of servers that differ are refused.
"""

_TIMES = {"customerclass": READ}

JMVA_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "model": {"jaba": EQUAL},
    "parameters": {},
    "classes": {"number": EQUAL},
    "closedclass": dict.fromkeys(("name", "population", "thinktime", "priority"), READ),
    "openclass": dict.fromkeys(("name", "rate", "priority"), READ),
    "stations": {"number": EQUAL},
    "listation": {"name": READ, "servers": READ},
    "ldstation": {"name": READ, "servers": READ},
    "delaystation": {"name": READ},
    "servicetimes": _TIMES,
    "servicetime": _TIMES,
    "visits": {},
    "visit": _TIMES,
    "ReferenceStation": {"number": EQUAL},
    "Class": {"name": READ, "refStation": READ},
    "whatIf": dict.fromkeys(("type", "values", "className", "stationName"), READ),
}
"""What becomes of each attribute of each element that is read."""

JMVA_ELEMENTS: Mapping[str, str] = {
    **dict.fromkeys(JMVA_ATTRIBUTES, READ),
    **dict.fromkeys(("description", "algParams", "solutions", "pragma"), EQUAL),
    "blockingRegion": "regions",
}
"""What becomes of each element."""

JSIM_TABLE = FieldTable(JSIM_ELEMENTS, JSIM_ATTRIBUTES)
JMVA_TABLE = FieldTable(JMVA_ELEMENTS, JMVA_ATTRIBUTES)


def declare_parameters(node: XmlElement, file_losses: FileLosses) -> None:
    """Declare the parameters of a node that the import does not know."""
    for section in node.descendants("section"):
        known_parameters = JSIM_PARAMETERS.get(section.get("className"))
        for parameter in section.children if known_parameters is not None else ():
            class_name = parameter.get("classPath").rpartition(".")[2]
            if known_parameters is not None and not {parameter.get("name"), class_name} & set(
                known_parameters
            ):
                detail = f"{parameter.get('name')} of {section.get('className')}"
                file_losses.declare(UNKNOWN_FIELDS, parameter.line, detail)
