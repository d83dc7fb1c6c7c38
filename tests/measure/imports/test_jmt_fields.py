"""Each field of models of JMT is read, refused or equal, as its table says: a change of a field
that is read changes the spec, its axes or whether there is one, a change of an equal one changes
nothing, and a parameter that may be a loss is refused with its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from slipstick.errors import SpecError
from slipstick_measure.imports.fields import UNKNOWN_FIELDS
from slipstick_measure.imports.formats import import_spec
from slipstick_measure.imports.jmt_fields import (
    JMVA_ATTRIBUTES,
    JMVA_ELEMENTS,
    JSIM_ATTRIBUTES,
    JSIM_ELEMENTS,
    JSIM_PARAMETERS,
)
from slipstick_measure.imports.losses import EQUAL, READ
from slipstick_measure.measurements import Hints

STRATEGIES = "jmt.engine.NetStrategies."
Outcome = tuple[dict[str, Any], Any] | str


def _by_class(name: str, path: str, a: str, b: str) -> str:
    """Return a parameter with an element for each of the two classes."""
    children = f"<refClass>A</refClass>{a}<refClass>B</refClass>{b}"
    return f'<parameter array="true" classPath="{path}" name="{name}">{children}</parameter>'


def _strategy(folder: str, kind: str, inside: str = "") -> str:
    path = f"{STRATEGIES}{folder}.{kind}"
    return f'<subParameter array="true" classPath="{path}" name="x">{inside}</subParameter>'


def _number(name: str, value: str) -> str:
    return f'<subParameter classPath="n" name="{name}"><value>{value}</value></subParameter>'


def _exponential(rate: float) -> str:
    law = '<subParameter classPath="jmt.engine.random.Exponential" name="Exponential"/>'
    rates = f'<subParameter classPath="p" name="distrPar">{_number("lambda", str(rate))}'
    return _strategy("ServiceStrategies", "ServiceTimeStrategy", f"{law}{rates}</subParameter>")


def _service(a: float, b: float, name: str = "ServiceStrategy") -> str:
    path = f"{STRATEGIES}ServiceStrategy"
    return _by_class(name, path, _exponential(a), _exponential(b))


def _queue(order: str) -> str:
    put = _by_class("QueuePutStrategy", "p", *[_strategy("QueuePutStrategies", order)] * 2)
    return f'<section className="Queue">{_value("size", "-1")}{put}</section>'


def _value(name: str, value: str) -> str:
    return f'<parameter classPath="v" name="{name}"><value>{value}</value></parameter>'


def _router(to: str) -> str:
    way = _number("stationName", to) + _number("probability", "1.0")
    ways = _strategy("RoutingStrategies", "EmpiricalStrategy", way)
    return f'<section className="Router">{_by_class("RoutingStrategy", "p", ways, ways)}</section>'


def _node(name: str, *sections: str) -> str:
    return f'<node name="{name}">{"".join(sections)}</node>'


_ROW_A = f'<subParameter classPath="f" name="row">{_number("cell", "1")}'
_ROW_B = f'<subParameter classPath="f" name="row">{_number("cell", "0")}'
SWITCH = _by_class(
    "matrix",
    "o",
    f"{_ROW_A}{_number('cell', '0')}</subParameter>",
    f"{_ROW_B}{_number('cell', '1')}</subParameter>",
)
NODES = {
    "Source": ('<section className="RandomSource">', _service(0.2, 0.1), "</section>"),
    "Log": (_queue("TailStrategy"), '<section className="LogTunnel"/>'),
    "Pass": (_queue("TailStrategy"), '<section className="ServiceTunnel"/>'),
    "Switch": (_queue("TailStrategy"), f'<section className="ClassSwitch">{SWITCH}</section>'),
    "Shared": (
        _queue("TailStrategy"),
        '<section className="PSServer">',
        _value("maxJobs", "1"),
        _service(2.0, 3.0),
        _by_class("PSStrategy", "p", *[_strategy("PSStrategies", "DPSStrategy")] * 2),
        _by_class("serviceWeights", "d", _number("w", "1"), _number("w", "2")),
        "</section>",
    ),
    "Plain": (
        _queue("TailStrategyPriority"),
        '<section className="Server">',
        _value("maxJobs", "1"),
        _service(2.0, 2.5),
        "</section>",
    ),
    "Last": (
        _queue("LCFSPRStrategy"),
        '<section className="PreemptiveServer">',
        _value("maxJobs", "1"),
        _service(4.0, 5.0),
        "</section>",
    ),
    "Rest": (
        _queue("TailStrategy"),
        f'<section className="Delay">{_service(0.5, 0.4, name="ServerStrategy")}</section>',
    ),
}
REGION = """<blockingRegion name="Gate" type="default"><regionNode nodeName="Shared"/>
<regionNode nodeName="Plain"/><globalConstraint maxJobs="4"/>
<globalMemoryConstraint maxMemory="-1"/><classConstraint jobClass="A" maxJobsPerClass="-1"/>
<classMemoryConstraint jobClass="A" maxMemoryPerClass="-1"/>
<dropRules jobClass="A" dropThisClass="true"/><dropRules jobClass="B" dropThisClass="true"/>
<classWeight jobClass="A" weight="1"/><groupConstraint jobGroup="g" maxJobsPerGroup="-1"/>
<groupMemoryConstraint jobGroup="g" maxMemoryPerGroup="-1"/></blockingRegion>"""
PICTURE = """<jmodel><userClass color="#FF0000" name="A"/>
<parametric enabled="true" classPath="x.ArrivalRateParametricAnalysis">
<field name="To" value="0.4"/><field name="Steps" value="5"/>
<field name="Is single class" value="true"/><field name="Class" value="A"/></parametric></jmodel>"""


def _model(kind: str, region: str) -> str:
    """Return a model of JSIM, open or closed, whose nodes follow each other."""
    names = list(NODES) if kind == "open" else list(NODES)[1:]
    end = "Sink" if kind == "open" else names[0]
    following = [*names[1:], end]
    home = "Source" if kind == "open" else "Rest"
    customers = "" if kind == "open" else 'customers="3" '
    classes = "".join(
        f'<userClass name="{name}" type="{kind}" priority="{rank}" softDeadline="0.0"'
        f' cacheHitClass="A" cacheMissClass="B" {customers}referenceSource="{home}"/>'
        for rank, name in enumerate("AB")
    )
    nodes = [
        _node(name, *NODES[name], _router(to)) for name, to in zip(names, following, strict=True)
    ]
    ways = "".join(
        f'<connection source="{name}" target="{to}"/>'
        for name, to in zip(names, following, strict=True)
    )
    sink = _node("Sink", '<section className="JobSink"/>') if kind == "open" else ""
    settings = 'debug="false" seed="1" maxTime="9" maxSimulated="9" polling="1" maxSamples="10"'
    logs = 'maxEvents="-1" disableStatisticStop="false" logPath="/l" logDelimiter=","'
    return (
        f'<archive name="m" timestamp="today"><sim name="m" {settings} {logs} logReplaceMode="0"'
        f' logExecutionTimestamp="true" logDecimalSeparator=".">{classes}{"".join(nodes)}{sink}'
        f"{ways}{region}</sim>{PICTURE}</archive>"
    )


OPEN = _model("open", REGION)
CLOSED = _model("closed", "")
JSIM = (OPEN, CLOSED)

JMVA = (
    """<model jaba="false"><parameters><classes number="2">
<closedclass name="C" population="4" thinktime="2" priority="0"/>
<openclass name="O" rate="0.1" priority="0"/></classes><stations number="4">
<listation name="disk" servers="2"><servicetimes><servicetime customerclass="C">0.4</servicetime>
<servicetime customerclass="O">0.3</servicetime></servicetimes><visits>
<visit customerclass="C">2</visit><visit customerclass="O">1</visit></visits></listation>
<ldstation name="link" servers="2"><servicetimes><servicetimes customerclass="C">0.2</servicetimes>
</servicetimes><visits><visit customerclass="C">1</visit></visits></ldstation>
<delaystation name="rest"><servicetimes><servicetime customerclass="C">1</servicetime>
</servicetimes><visits><visit customerclass="C">1</visit></visits></delaystation></stations>
<ReferenceStation number="1"><Class name="C" refStation="disk"/></ReferenceStation></parameters>
<whatIf type="Service Demands" values="0.4;0.8" className="C" stationName="disk"/></model>""",
)

VALUES = {
    "array": "false",
    "className": "Fork",
    "enabled": "false",
    "dropThisClass": "false",
    "type": "mixed",
    "customerclass": "nobody",
    "refStation": "link",
    "referenceSource": "Plain",
}
"""By attribute, what it is changed to; others are doubled, or 3 where they are not above 0."""


def _outcome(folder: Path, text: str, suffix: str, leave_out: tuple[str, ...] = ()) -> Outcome:
    """Return the spec and its axes, or why there are none."""
    path = folder / f"model{suffix}"
    path.write_text(text)
    try:
        spec = import_spec([path], Hints(leave_out=leave_out))
    except SpecError as error:
        return str(error)
    document = {key: value for key, value in spec.document.items() if key != "source"}
    return document, spec.axes


def _other_value(name: str, old: str) -> str:
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", old):
        return f"{2 * float(old):g}" if float(old) > 0 else "3"
    return VALUES.get(name, "other")


def _changes(
    folder: Path, models: tuple[str, ...], suffix: str, tag: str, name: str
) -> Iterator[bool]:
    """Yield for each such attribute whether a change of it changes what is read."""
    for text in models:
        root = ElementTree.fromstring(text)
        elements = [element for element in root.iter(tag) if name in element.attrib]
        for element in elements:
            old = element.attrib[name]
            element.attrib[name] = _other_value(name, old)
            after = _outcome(folder, ElementTree.tostring(root, "unicode"), suffix)
            yield after != _before(folder, text, suffix)
            element.attrib[name] = old


_outcomes: dict[str, Outcome] = {}


def _before(folder: Path, text: str, suffix: str) -> Outcome:
    """Return what becomes of a model as it stands, which is read once."""
    if text not in _outcomes:
        _outcomes[text] = _outcome(folder, text, suffix)
    outcome = _outcomes[text]
    assert not isinstance(outcome, str), outcome
    return outcome


def _attributes(table: Any) -> list[tuple[str, str, str]]:
    return [(tag, name, kind) for tag, names in table.items() for name, kind in names.items()]


def _check(changes: Iterator[bool], kind: str) -> None:
    """Check that some change of a field changes what is read, or none."""
    first = next(changes)
    assert (first or any(changes)) == (kind == READ)


@pytest.mark.turns(5)
@pytest.mark.parametrize(("tag", "name", "kind"), _attributes(JSIM_ATTRIBUTES))
def test_an_attribute_of_jsim_becomes_what_its_table_says(
    tmp_path: Path, tag: str, name: str, kind: str
) -> None:
    _check(_changes(tmp_path, JSIM, ".jsimg", tag, name), kind)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("tag", "name", "kind"), _attributes(JMVA_ATTRIBUTES))
def test_an_attribute_of_jmva_becomes_what_its_table_says(
    tmp_path: Path, tag: str, name: str, kind: str
) -> None:
    _check(_changes(tmp_path, JMVA, ".jmva", tag, name), kind)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("tag", "kind"), [(tag, kind) for tag, kind in JSIM_ELEMENTS.items() if kind != READ]
)
def test_an_element_of_jsim_becomes_what_its_table_says(
    tmp_path: Path, tag: str, kind: str
) -> None:
    anchor = '<section className="PSServer">'
    text = OPEN.replace(anchor, f'<{tag} name="x"><y>3</y></{tag}>{anchor}')
    after = _outcome(tmp_path, text, ".jsimg")
    if kind == EQUAL:
        assert after == _before(tmp_path, OPEN, ".jsimg")
    else:
        assert f"--leave-out {kind}" in str(after)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("tag", "kind"), [(tag, kind) for tag, kind in JMVA_ELEMENTS.items() if kind != READ]
)
def test_an_element_of_jmva_becomes_what_its_table_says(
    tmp_path: Path, tag: str, kind: str
) -> None:
    text = JMVA[0].replace("<whatIf", f'<{tag} name="x"><y/></{tag}><whatIf')
    after = _outcome(tmp_path, text, ".jmva")
    if kind == EQUAL:
        assert after == _before(tmp_path, JMVA[0], ".jmva")
    else:
        assert f"--leave-out {kind}" in str(after)


TWO_KINDS = (
    '<parameter array="true" classPath="s" name="serverNames">'
    '<subParameter classPath="s" name="n"><value>one</value></subParameter>'
    '<subParameter classPath="s" name="n"><value>two</value></subParameter></parameter>'
)
TWICE = _service(2.0, 2.5).replace("</parameter>", _exponential(9.0) * 2 + "</parameter>")


def _preparation(name: str) -> tuple[str, str]:
    return "", _by_class(name, "o", _exponential(1.0), _exponential(1.0))


def _of_value(name: str) -> tuple[str, str]:
    return _value(name, "1"), _value(name, "2")


PARAMETERS = {
    "size": (_value("size", "-1"), _value("size", "5")),
    "dropStrategies": (
        _value("size", "5")
        + _by_class("dropStrategies", "s", _number("d", "drop"), _number("d", "drop")),
        _value("size", "5")
        + _by_class("dropStrategies", "s", _number("d", "drop"), _number("d", "waiting queue")),
    ),
    "FCFSstrategy": (
        f'<parameter classPath="{STRATEGIES}QueueGetStrategies.FCFSstrategy" name="FCFSstrategy"/>',
        f'<parameter classPath="{STRATEGIES}QueueGetStrategies.LCFSstrategy" name="FCFSstrategy"/>',
    ),
    "QueuePutStrategy": (
        _by_class("QueuePutStrategy", "p", *[_strategy("QueuePutStrategies", "TailStrategy")] * 2),
        _by_class("QueuePutStrategy", "p", *[_strategy("QueuePutStrategies", "HeadStrategy")] * 2),
    ),
    "Impatience": (
        "",
        _by_class("Impatience", "i", *['<subParameter classPath="r" name="Reneging"/>'] * 2),
    ),
    "retrialDistributions": _preparation("retrialDistributions"),
    "ServiceStrategy": (_service(2.0, 3.0), _service(2.0, 4.0)),
    "ServerStrategy": (
        _service(2.0, 3.0, name="ServerStrategy"),
        _service(2.0, 4.0, name="ServerStrategy"),
    ),
    "numberOfVisits": (
        _by_class("numberOfVisits", "i", _number("v", "1"), _number("v", "1")),
        _by_class("numberOfVisits", "i", _number("v", "1"), _number("v", "2")),
    ),
    "maxJobs": _of_value("maxJobs"),
    "SwitchoverStrategy": _preparation("SwitchoverStrategy"),
    "delayOffTime": _preparation("delayOffTime"),
    "setUpTime": _preparation("setUpTime"),
    "classParallelism": (
        _by_class("classParallelism", "i", _number("p", "1"), _number("p", "1")),
        _by_class("classParallelism", "i", _number("p", "1"), _number("p", "2")),
    ),
    "serverNames": (TWICE, TWICE + TWO_KINDS),
    "serverCompatibilities": (
        _by_class("serverCompatibilities", "o", _number("c", "true"), _number("c", "true")),
        _by_class("serverCompatibilities", "o", _number("c", "true"), _number("c", "false")),
    ),
    "serversPerServerType": _of_value("serversPerServerType"),
    "schedulingPolicy": _of_value("schedulingPolicy"),
    "PreemptiveStrategy": (
        "",
        _by_class(
            "PreemptiveStrategy", "p", *[_strategy("QueuePutStrategies", "HeadStrategy")] * 2
        ),
    ),
    "maxRunning": (_value("maxRunning", "-1"), _value("maxRunning", "2")),
    "PSPriorityUsed": (_value("PSPriorityUsed", "false"), _value("PSPriorityUsed", "true")),
    "PSStrategy": (
        _by_class("PSStrategy", "p", *[_strategy("PSStrategies", "DPSStrategy")] * 2),
        _by_class("PSStrategy", "p", *[_strategy("PSStrategies", "EPSStrategy")] * 2),
    ),
    "serviceWeights": (
        _by_class("serviceWeights", "d", _number("w", "1"), _number("w", "2")),
        _by_class("serviceWeights", "d", _number("w", "1"), _number("w", "3")),
    ),
    "matrix": (SWITCH, SWITCH.replace("<value>1<", "<value>0.5<")),
    "RoutingStrategy": (
        _by_class("RoutingStrategy", "p", *[_strategy("RoutingStrategies", "RandomStrategy")] * 2),
        _by_class(
            "RoutingStrategy", "p", *[_strategy("RoutingStrategies", "DisabledRoutingStrategy")] * 2
        ),
    ),
}
"""By parameter, as it may stand in a section, and changed; others are values of a log."""


def _with_parameter(section: str, name: str, form: str) -> str:
    """Return the open model with a parameter of a kind of section in the place of its own."""
    root = ElementTree.fromstring(OPEN)
    nodes = {node.get("name"): node for node in root.iter("node")}
    order = ["Plain", *nodes]
    element = next(
        found
        for node in order
        for found in nodes[node].iter("section")
        if found.get("className") == section
    )
    new = list(ElementTree.fromstring(f"<x>{form}</x>"))
    names = {name, *(parameter.get("name") for parameter in new)}
    if "ServerStrategy" in names:
        names.add("ServiceStrategy")
    for parameter in list(element):
        if parameter.get("name") in names:
            element.remove(parameter)
    element.extend(new)
    return ElementTree.tostring(root, "unicode")


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    ("section", "name", "kind"),
    [
        (section, name, kind)
        for section, names in JSIM_PARAMETERS.items()
        for name, kind in names.items()
    ],
)
def test_a_parameter_of_a_section_becomes_what_its_table_says(
    tmp_path: Path, section: str, name: str, kind: str
) -> None:
    before, after = (
        _outcome(tmp_path, _with_parameter(section, name, form), ".jsimg", ("regions",))
        for form in PARAMETERS.get(name, _of_value(name))
    )
    assert not isinstance(before, str), before
    assert (after != before) == (kind != EQUAL)
    if kind not in (READ, EQUAL):
        assert f"--leave-out {kind}" in str(after)


def test_fields_that_are_not_known_are_refused_with_their_names(tmp_path: Path) -> None:
    for old, new, named in [
        (
            '<section className="Delay">',
            f'<section className="Delay">{_value("pace", "2")}',
            "pace",
        ),
        ("<connection ", '<connection speed="2" ', "speed of <connection>"),
        ("<blockingRegion ", "<warmup/><blockingRegion ", "<warmup>"),
    ]:
        assert old in OPEN
        why = _outcome(tmp_path, OPEN.replace(old, new, 1), ".jsimg")
        assert f"--leave-out {UNKNOWN_FIELDS}" in str(why)
        assert named in str(why)
    why = _outcome(tmp_path, JMVA[0].replace("<visits>", '<visits unit="1">', 1), ".jmva")
    assert "unit of <visits>" in str(why)


@pytest.mark.parametrize(("way", "name"), [("GPSStrategy", "weights"), ("QBPSStrategy", "quantum")])
def test_ways_to_share_a_server_that_a_network_does_not_have_are_refused(
    tmp_path: Path, way: str, name: str
) -> None:
    """Parts of classes, not of customers, differ from equal parts even at equal weights."""
    text = OPEN.replace("DPSStrategy", way).replace(_number("w", "2"), _number("w", "1"))
    assert f"--leave-out {name}" in str(_outcome(tmp_path, text, ".jsimg"))


def test_ranks_of_classes_at_a_shared_server_are_refused(tmp_path: Path) -> None:
    text = OPEN.replace("DPSStrategy", "EPSStrategyPriority")
    assert "--leave-out priorities" in str(_outcome(tmp_path, text, ".jsimg"))


def test_a_region_whose_memory_is_limited_is_refused(tmp_path: Path) -> None:
    text = OPEN.replace('maxJobs="4"', 'maxJobs="-1"').replace('maxMemory="-1"', 'maxMemory="8"')
    assert "--leave-out regions" in str(_outcome(tmp_path, text, ".jsimg"))


PHASES = (Path(__file__).parents[2] / "shelf/jsim/phase-type.jsimg").read_text()
ENTRY = '<subParameter classPath="java.lang.Double" name="entry"><value>{}</value></subParameter>'


@pytest.mark.parametrize(
    ("number", "entries"), [("-1.0", ("-1.0", "0.0")), ("0.4", ("0.4", "0.0")), ("0.6", ())]
)
def test_phases_of_a_matrix_that_is_not_square_are_refused(
    number: str, entries: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "model.jsimg"
    path.write_text(PHASES)
    assert import_spec([path], Hints())
    path.write_text(PHASES.replace(ENTRY.format(number), "".join(map(ENTRY.format, entries))))
    with pytest.raises(SpecError, match="needs alpha and T of one size"):
        import_spec([path], Hints())
