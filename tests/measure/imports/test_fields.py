"""Each field of the formats of layered networks is read, refused or equal, as its table says: a
change of a field that is read changes the spec or is refused, a change of an equal one changes
nothing, and others are refused with the name under which they are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import slipstick
from slipstick.errors import SpecError
from slipstick_measure.imports.fields import UNKNOWN_FIELDS
from slipstick_measure.imports.formats import import_spec
from slipstick_measure.imports.layered.fields import TEXT_FIELDS, XML_ELEMENTS, XML_FIELDS
from slipstick_measure.imports.losses import EQUAL, LOSSES, READ, loss_names
from slipstick_measure.imports.pdq import FUNCTIONS
from slipstick_measure.measurements import Hints

SHOP = """<lqn-model name="shop" description="d" lqn-schema-version="1.0"
  lqncore-schema-version="1.1" xml-debug="false">
<solver-params comment="c" conv_val="1e-5" it_limit="50" print_int="5" underrelax_coeff="0.9"/>
<processor name="pu" scheduling="inf"><task name="users" scheduling="ref" multiplicity="3"
  think-time="2"><entry name="u" type="PH1PH2"><entry-phase-activities>
  <activity name="u1" phase="1" host-demand-mean="0.5" call-order="STOCHASTIC">
   <synch-call dest="e" calls-mean="1.5"/></activity></entry-phase-activities></entry></task>
</processor>
<processor name="ps" scheduling="ps" quantum="0.1" speed-factor="2" multiplicity="2">
 <task name="server" scheduling="fcfs" multiplicity="2" priority="0" queue-length="0"
  activity-graph="NO">
  <entry name="e" type="PH1PH2" open-arrival-rate="0.01" priority="0">
   <forwarding dest="g" prob="0.5"/><entry-phase-activities>
   <activity name="e1" phase="1" host-demand-mean="0.3" host-demand-cvsq="0.5" think-time="0.2"
    max-service-time="9"><asynch-call dest="f" calls-mean="0.5"/></activity>
   </entry-phase-activities></entry>
  <entry name="f" type="PH1PH2"><entry-phase-activities>
   <activity name="f1" phase="1" host-demand-mean="0.1"/></entry-phase-activities></entry></task>
 <task name="last" scheduling="fcfs"><entry name="g" type="PH1PH2"><entry-phase-activities>
   <activity name="g1" phase="1" host-demand-mean="0.2"/></entry-phase-activities></entry></task>
</processor></lqn-model>"""

USER = """<processor name="pu" scheduling="inf">
<task name="users" scheduling="ref" multiplicity="3">
<entry name="u" type="PH1PH2"><entry-phase-activities>
<activity name="u1" phase="1" host-demand-mean="1">CALLS</activity></entry-phase-activities>
</entry></task></processor>"""
CALL = '<synch-call dest="e" calls-mean="1"/>'

ACTIVITIES = "".join(
    f'<activity name="{name}" host-demand-mean="0.{tenths}"/>'
    for tenths, name in enumerate("bcdfghkm", 1)
)
GRAPH = f"""<lqn-model name="graph">{USER.replace("CALLS", CALL)}
<processor name="ps" scheduling="fcfs"><task name="server" scheduling="fcfs">
<entry name="e" type="NONE"/><task-activities>
{ACTIVITIES}
<activity name="a" bound-to-entry="e" host-demand-mean="0.1"/>
<precedence><pre><activity name="a"/></pre>
 <post-OR><activity name="b" prob="0.4"/><activity name="c" prob="0.6"/></post-OR></precedence>
<precedence><pre-OR><activity name="b"/><activity name="c"/></pre-OR>
 <post><activity name="d"/></post></precedence>
<precedence><pre><activity name="d"/></pre>
 <post-LOOP end="m"><activity name="f" count="2"/></post-LOOP></precedence>
<precedence><pre><activity name="m"/></pre>
 <post-AND><activity name="g"/><activity name="h"/></post-AND></precedence>
<precedence><pre-AND quorum="0"><activity name="g"/><activity name="h"/></pre-AND>
 <post><activity name="k"/></post></precedence>
<reply-entry name="e"><reply-activity name="k"/></reply-entry></task-activities></task></processor>
</lqn-model>"""

COPIES = """<lqn-model name="copies"><processor name="pu" scheduling="inf" replication="USERS">
<task name="users" scheduling="ref" replication="USERS"><fan-out dest="server" value="OUT"/>
<entry name="u" type="PH1PH2"><entry-phase-activities><activity name="u1" phase="1"
 host-demand-mean="1"><synch-call dest="e" calls-mean="1"/></activity></entry-phase-activities>
</entry></task></processor>
<processor name="ps" scheduling="fcfs" replication="SERVERS"><task name="server" scheduling="fcfs"
 replication="SERVERS"><fan-in source="users" value="IN"/><entry name="e" type="PH1PH2">
<entry-phase-activities><activity name="e1" phase="1" host-demand-mean="0.3"/>
</entry-phase-activities></entry></task></processor></lqn-model>"""


def _copies(users: int, servers: int, out: int, into: int) -> str:
    """Return a model of replicas with its fans."""
    counts = {"USERS": users, "SERVERS": servers, "OUT": out, "IN": into}
    text = COPIES
    for word, count in counts.items():
        text = text.replace(f'"{word}"', f'"{count}"')
    return text


GROUPS = f"""<lqn-model name="groups">{USER.replace("CALLS", CALL)}
<processor name="ps" scheduling="cfs"><group name="half" share="0.5" cap="true">
<task name="server" scheduling="fcfs"><entry name="e" type="PH1PH2"><entry-phase-activities>
<activity name="e1" phase="1" host-demand-mean="0.3"/></entry-phase-activities></entry></task>
</group></processor></lqn-model>"""

TAKE = '<synch-call dest="take" calls-mean="1"/>'
GIVE = '<synch-call dest="give" calls-mean="1"/>'
TOKENS = f"""<lqn-model name="tokens">
{USER.replace("CALLS", TAKE + GIVE)}
<processor name="ps" scheduling="inf"><task name="tokens" scheduling="semaphore" multiplicity="1"
 initially="1"><entry name="take" type="PH1PH2" semaphore="wait"><entry-phase-activities>
<activity name="t1" phase="1" host-demand-mean="0"/></entry-phase-activities></entry>
<entry name="give" type="PH1PH2" semaphore="signal"><entry-phase-activities>
<activity name="g1" phase="1" host-demand-mean="0"/></entry-phase-activities></entry></task>
</processor></lqn-model>"""

LOCKS = """<lqn-model name="locks">USER<processor name="ps" scheduling="inf">
<task name="lock" scheduling="rwlock" multiplicity="2">ENTRIES</task></processor></lqn-model>"""
KINDS = {"take": "r-lock", "give": "r-unlock", "begin": "w-lock", "finish": "w-unlock"}
LOCK = LOCKS.replace(
    "USER",
    USER.replace("CALLS", "".join(f'<synch-call dest="{name}" calls-mean="1"/>' for name in KINDS)),
).replace(
    "ENTRIES",
    "".join(
        f'<entry name="{name}" type="PH1PH2" rwlock="{kind}"><entry-phase-activities><activity'
        f' name="{name}1" phase="1" host-demand-mean="0.1"/></entry-phase-activities></entry>'
        for name, kind in KINDS.items()
    ),
)

RANKS = SHOP.replace('scheduling="fcfs"', 'scheduling="hol"').replace('"ps" q', '"hol" q')
LEFT_OUT = ("lock-order",)
MODELS = (SHOP, GRAPH, _copies(1, 2, 2, 1), _copies(2, 1, 1, 2), GROUPS, TOKENS, LOCK, RANKS)

VALUES = {
    "scheduling": "hol",
    "multiplicity": "4",
    "name": "other",
    "dest": "nowhere",
    "source": "nobody",
    "call-order": "DETERMINISTIC",
    "end": "b",
    "bound-to-entry": "x",
    "semaphore": "signal",
    "rwlock": "r-unlock",
    "cap": "false",
    "phase": "2",
    "prob": "0.25",
    "xml-debug": "true",
    "type": "NONE",
    "activity-graph": "YES",
    "quorum": "1",
    "priority": "3",
    "initially": "0",
}
"""By attribute, what it is changed to; others are doubled, or 1 where they are 0."""


def _read(text: str, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    path = Path(_folder) / "model.lqnx"
    path.write_text(text)
    return import_spec([path], Hints(leave_out=leave_out)).document


_folder = ""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path) -> None:
    global _folder
    _folder = str(tmp_path)


def _outcome(text: str, leave_out: tuple[str, ...] = ()) -> dict[str, Any] | str:
    """Return the spec, or why there is none."""
    try:
        return _read(text, leave_out)
    except SpecError as error:
        return str(error)


def _other_value(name: str, old: str) -> str:
    is_number = re.fullmatch(r"[0-9.e-]+", old)
    return VALUES.get(name) or (f"{2 * float(old) or 1:g}" if is_number else "other words")


def _changes(tag: str, name: str) -> Iterator[bool]:
    """Yield for each such attribute of all models whether a change of it changes what is read."""
    for text in MODELS:
        root = ElementTree.fromstring(text)
        before = _outcome(ElementTree.tostring(root, "unicode"), LEFT_OUT)
        assert isinstance(before, dict), before
        for element in root.iter(tag):
            if old := element.attrib.get(name):
                element.attrib[name] = _other_value(name, old)
                yield _outcome(ElementTree.tostring(root, "unicode"), LEFT_OUT) != before
                element.attrib[name] = old


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("tag", "name", "kind"),
    [(tag, name, kind) for tag, fields in XML_FIELDS.items() for name, kind in fields.items()],
)
def test_a_field_of_xml_becomes_what_its_table_says(tag: str, name: str, kind: str) -> None:
    changes = list(_changes(tag, name))
    assert changes
    assert any(changes) == (kind == READ)


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", [name for name in XML_ELEMENTS if XML_ELEMENTS[name] == EQUAL])
def test_an_element_of_results_changes_nothing(kind: str) -> None:
    end = 'underrelax_coeff="0.9"/>'
    within = SHOP.replace(end, f'{end}<{kind} name="x" value="2"><{kind}/></{kind}>')
    assert within != SHOP
    assert _read(within) == _read(SHOP)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("element", "name"),
    [
        ('<decision name="d" type="retry" max-retries="3"/>', "decisions"),
        ('<slot id="s" bind-target="x"/>', "submodels"),
        ("<call-list/>", UNKNOWN_FIELDS),
        ("<entry-activity-graph/>", UNKNOWN_FIELDS),
        ("<Task/>", UNKNOWN_FIELDS),
    ],
)
def test_an_element_that_is_not_read_is_refused_with_its_name(element: str, name: str) -> None:
    text = SHOP.replace("</task>", element + "</task>", 1)
    why = _outcome(text)
    assert isinstance(why, str)
    assert f"--leave-out {name}" in why
    spec = _outcome(text, (name,))
    assert isinstance(spec, dict)
    assert list(spec["left_out"]) == [name]


def test_an_unknown_attribute_is_refused_with_its_name() -> None:
    why = _outcome(SHOP.replace("think-time=", 'patience="4" think-time=', 1))
    assert isinstance(why, str)
    assert "patience of <task>" in why
    assert "--leave-out unknown-fields" in why


def test_attributes_of_xml_itself_and_comments_change_nothing() -> None:
    head = '<lqn-model xmlns:xsi="schema" xsi:noNamespaceSchemaLocation="lqn.xsd" comment="c"'
    assert _read(SHOP.replace("<lqn-model", head)) == _read(SHOP)


TEXT = """G "shop" 1e-5 50 5 0.9 -1
P 3
p pu i
p ps s 0.1
p pc c 0.1
d pu ps 0
-1
U 1
g half 0.5 c pc
-1
T 3
t users r u -1 pu z 2 m 3
t server n e f -1 ps
t capped n k -1 pc g half
I users server 1
O users server 1
-1
E 5
s u 0.5 -1
M u 9 -1
H u 1 0 : 9 20
f u 0 -1
y u e 1.5 -1
y u k 1 -1
s e 0.3 -1
c e 0.5 -1
Z e 0.2 -1
z e f 0.5 -1
p e 0
F e k 0.25 -1
a k 0.1
A f a
s k 0.1 -1
-1
A server
s a 0.1
s b 0.2
c b 0.5
f b 0
Z b 0.1
y b k 1
z b k 1
M b 9
H b 0 : 9 20
: a -> b
-1
"""
OPERATIONS = """G "operations" 1e-5 50 5 0.9 -1
P 2
p pu i
p ps i
-1
T 3
t users r u -1 pu m 3
t tokens S take give -1 ps m 2
t lock W rtake rgive wtake wgive -1 ps m 2
-1
E 7
s u 0.5 -1
y u take 1 -1
y u give 1 -1
y u rtake 1 -1
y u rgive 1 -1
y u wtake 1 -1
y u wgive 1 -1
P take
V give
R rtake
U rgive
W wtake
X wgive
-1
"""
FANS = """G "fans" 1e-5 50 5 0.9 -1
P 2
p pu i
p ps f r 2
-1
T 2
t users r u -1 pu
t server n e -1 ps r 2
-1
E 2
s u 1 -1
s e 0.2 -1
y u e 1 -1
i u e 1 -1
o u e 2 -1
-1
"""
ROWS = {
    "P p": ("p pu i", "p pu f"),
    "P d": ("d pu ps 0", "d pu ps 1"),
    "U g": ("g half 0.5", "g half 0.25"),
    "T t": ("m 3", "m 4"),
    "T I": ("I users server 1", "I users server 2"),
    "T O": ("O users server 1", "O users server 2"),
    "E s": ("s u 0.5", "s u 0.7"),
    "E M": ("M u 9", "M u 8"),
    "E H": ("H u 1 0 : 9 20", "H u 1 0 : 7 10"),
    "E f": ("f u 0", "f u 1"),
    "E y": ("y u e 1.5", "y u e 2.5"),
    "E c": ("c e 0.5", "c e 0.7"),
    "E Z": ("Z e 0.2", "Z e 0.3"),
    "E z": ("z e f 0.5", "z e f 0.7"),
    "E F": ("F e k 0.25", "F e k 0.5"),
    "E a": ("a k 0.1", "a k 0.2"),
    "E A": ("A f a", "A f b"),
    "E P": ("P take", "V take"),
    "E V": ("V give", "P give"),
    "E R": ("R rtake", "W rtake"),
    "E U": ("U rgive", "X rgive"),
    "E W": ("W wtake", "R wtake"),
    "E X": ("X wgive", "U wgive"),
    "E p": ("p e 0", "p e 1"),
    "E i": ("i u e 1", "i u e 2"),
    "E o": ("o u e 2", "o u e 1"),
    "A s": ("s b 0.2", "s b 0.3"),
    "A c": ("c b 0.5", "c b 0.7"),
    "A f": ("f b 0", "f b 1"),
    "A Z": ("Z b 0.1", "Z b 0.2"),
    "A y": ("y b k 1", "y b k 2"),
    "A z": ("z b k 1", "z b k 2"),
    "A M": ("M b 9", "M b 8"),
    "A H": ("H b 0 : 9 20", "H b 0 : 7 10"),
}
"""A row of each kind in the text form, and what it is changed to."""


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("section", "letter", "kind"),
    [
        (section, letter, kind)
        for section, rows in TEXT_FIELDS.items()
        for letter, kind in rows.items()
    ],
)
def test_a_row_of_text_becomes_what_its_table_says(section: str, letter: str, kind: str) -> None:
    old, new = ROWS[f"{section} {letter}"]
    text = next(model for model in (TEXT, OPERATIONS, FANS) if f"\n{old}" in model or old == "m 3")
    if letter == "p" and section == "E":
        text = text.replace("t server n", "t server h")
    before = _outcome(text, LEFT_OUT)
    assert isinstance(before, dict), before
    after = _outcome(text.replace(old, new), LEFT_OUT)
    assert (after != before) == (kind != EQUAL)
    if kind not in (READ, EQUAL):
        assert f"--leave-out {kind}" in str(after)


@pytest.mark.parametrize("row", ["q e 1 -1", "S e", "t e 3"])
def test_a_row_of_text_that_is_not_known_is_refused(row: str) -> None:
    assert "is due" in str(_outcome(TEXT.replace("F e k", f"{row}\nF e k")))


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("r u -1 pu", "r u v -1 pu", "is a reference task of 2 entries, between which no rule"),
        ("t server n e f -1 ps", "t server n e f -1 ps z 3", "is no reference task, so it cannot"),
        ("pc g half", "pc g third", "processor 'pc' has no group 'third'"),
        ("pc g half", "ps g half", "processor 'ps' has no group 'half'"),
        ("p pc c 0.1", "p pc s 0.1", "is a group of a processor without fair shares (cfs)"),
        ("a k 0.1", "F u k 1 -1", "is a reference task, whose requests end; call in its place"),
        ("s k 0.1", "A e a\ns k 0.1", "has phases and activities; take one of the two out"),
        ("A f a", "A f a\nA f b", "'f' begins with two activities; take one out"),
        (": a -> b", ": b -> a", "'a' begins an entry and stands after others"),
        (": a -> b", ": a", "'b' of 'server' come after no others and begin no entry"),
        ("f u 0 -1", "f u 1 -1", "'u_1' calls 'e' 1.5 times, though its calls are deterministic"),
        ("s k 0.1 -1", "", "'k' is called and has no work; write its service time"),
        (": a -> b", ": a -> b; a -> b", "'a' stands before others in two precedences"),
    ],
)
def test_what_a_task_cannot_have_is_refused(old: str, new: str, why: str) -> None:
    assert old in TEXT
    assert why in str(_outcome(TEXT.replace(old, new)))


def test_a_share_with_a_cap_slows_a_processor_whose_speed_is_a_variable() -> None:
    text = "$speed = 4\n" + TEXT.replace("p pc c 0.1", "p pc c 0.1 R $speed")
    plain = _outcome(TEXT.replace("p pc c 0.1", "p pc c 0.1 R 4"))
    named = _outcome(text)
    assert "k_1 / 2" in str(plain)
    assert "k_1 / (speed) / 0.5" in str(named)


def test_a_model_that_converges_is_refused_in_both_forms() -> None:
    why = "a model that changes its own parameters until they settle has no spec"
    collection = "<convergence-collection>$x = 1</convergence-collection></lqn-model>"
    assert why in str(_outcome(SHOP.replace("</lqn-model>", collection)))
    assert why in str(_outcome(TEXT + "C 1\n$x = 1\n-1\n"))


def test_parameters_of_xml_are_assigned() -> None:
    text = SHOP.replace("<solver-params", "<parameters>\n$n = 7\n</parameters><solver-params")
    spec = _outcome(text.replace('multiplicity="3"', 'multiplicity="$n"'))
    assert isinstance(spec, dict), spec
    assert spec["parameters"]["n"]["value"] == "7"


@pytest.mark.parametrize(
    ("graph", "mean"),
    [("a -> (0.5) b + (0.5) c; b[f]", "0.5"), ("a -> b & c; b[f]; c[f]", "2")],
)
def test_activities_that_do_not_reply_just_once_are_refused(graph: str, mean: str) -> None:
    text = TEXT.replace("z e f 0.5", "y e f 0.5").replace(": a -> b", f"s c 0.1\n: {graph}")
    why = f"callers of 'f' wait for a reply, and its activities give {mean} on average"
    assert why in str(_outcome(text))


def test_activities_without_a_reply_are_noted() -> None:
    path = Path(_folder) / "model.lqn"
    path.write_text(TEXT.replace("z e f 0.5", "y e f 0.5"))
    words = import_spec([path], Hints()).notes
    assert any(
        "no activity replies to 'f', so its callers wait for the last" in each for each in words
    )


def test_comments_of_a_program_end_with_their_line() -> None:
    program = "<lqx># first\n$n = 4; // four\n$m = 5;\n/* last */ $k = 6;\n</lqx></lqn-model>"
    text = SHOP.replace("</lqn-model>", program).replace('multiplicity="3"', 'multiplicity="$k"')
    spec = _outcome(text.replace('multiplicity="2"', 'multiplicity="$n"'))
    assert isinstance(spec, dict), spec
    assert {name: spec["parameters"][name]["value"] for name in "nk"} == {"n": "4", "k": "6"}


PDQ = """pdq::Init("shop")
pdq::CreateClosed("users", pdq::TERM, 3, 2.0)
pdq::CreateNode("cpu", pdq::CEN, pdq::FCFS)
pdq::CreateMultiNode(2, "disks", pdq::MSC, pdq::FCFS)
pdq::SetDemand("cpu", "users", 0.1)
pdq::SetVisits("disks", "users", 2, 0.05)
pdq::SetTUnit("Sec")
pdq::Solve(pdq::EXACT)
"""
CALLS = {
    "Init": ('Init("shop")', 'CreateOpen("lost", 1)\npdq::Init("shop")'),
    "CreateOpen": ('CreateClosed("users", pdq::TERM, 3, 2.0)', 'CreateOpen("users", 2)'),
    "CreateClosed": ("TERM, 3,", "TERM, 4,"),
    "CreateNode": ("pdq::CEN, pdq::FCFS", "pdq::CEN, pdq::PSHR"),
    "CreateMultiNode": ('2, "disks"', '3, "disks"'),
    "CreateMultiserverClosed": (
        'CreateMultiNode(2, "disks"',
        'CreateMultiserverClosed(3, "disks"',
    ),
    "SetDemand": ('"users", 0.1', '"users", 0.2'),
    "SetVisits": ('"users", 2, 0.05', '"users", 3, 0.05'),
    "SetTUnit": ('SetTUnit("Sec")', 'SetTUnit("ms")'),
    "Solve": ("pdq::Solve", 'pdq::SetDemand("cpu", "users", 9)\npdq::Solve'),
}
"""A change of what each function that is read tells."""


def _of_program(text: str) -> dict[str, Any] | str:
    path = Path(_folder) / "model.R"
    path.write_text(text)
    try:
        return import_spec([path], Hints()).document
    except SpecError as error:
        return str(error)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("name", "kind"), FUNCTIONS.items())
def test_a_function_of_pdq_becomes_what_its_table_says(name: str, kind: str) -> None:
    before = _of_program(PDQ)
    assert isinstance(before, dict), before
    if kind == READ and name != "Init":
        old, new = CALLS[name]
        assert old in PDQ
        assert _of_program(PDQ.replace(old, new)) != before
        return
    old, new = CALLS.get(name, ("pdq::Solve", f'pdq::{name}("x")\npdq::Solve'))
    after = _of_program(PDQ.replace(old, new))
    assert isinstance(after, dict), after
    assert after["stations"].keys() == before["stations"].keys()
    assert after["classes"].keys() == before["classes"].keys()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('CreateNode("cpu"', 'CreateFork("cpu"', "a network has nothing like it"),
        (
            'SetDemand("cpu"',
            'SetDemnd("cpu"',
            "SetDemnd: a network has nothing like it; did you mean",
        ),
        ("pdq::TERM", "pdq::TRANS", "TRANS is a stream, which CreateOpen makes"),
        ('SetTUnit("Sec")', "SetTUnit(unit)", "unit is no unit in quotes; give --unit s"),
    ],
)
def test_a_call_of_pdq_that_has_no_counterpart_is_refused(old: str, new: str, why: str) -> None:
    assert old in PDQ
    assert why in str(_of_program(PDQ.replace(old, new)))


def _with_call(call: str) -> dict[str, Any] | str:
    """Return what becomes of the program with one more call."""
    return _of_program(PDQ.replace("pdq::SetTUnit", f"pdq::{call}\npdq::SetTUnit"))


@pytest.mark.parametrize(
    ("call", "name"),
    [('CreateNode("cpu", pdq::CEN, pdq::FCFS)', "cpu"), ('CreateOpen("users", 1)', "users")],
)
def test_what_a_program_creates_twice_is_refused(call: str, name: str) -> None:
    assert f"'{name}' is created twice; rename one" in str(_with_call(call))


def test_the_last_demand_holds_and_zero_takes_it_back() -> None:
    spec = _with_call('SetDemand("cpu", "users", 0.3)')
    assert isinstance(spec, dict)
    assert spec["stations"]["cpu"]["demand"]["users"]["value"] == "0.3 s"
    spec = _with_call('SetDemand("cpu", "users", 0)')
    assert isinstance(spec, dict)
    assert list(spec["stations"]) == ["disks"]


def test_jobs_of_a_batch_do_not_think() -> None:
    spec = _of_program(PDQ.replace("pdq::TERM", "pdq::BATCH"))
    assert isinstance(spec, dict)
    assert spec["classes"]["users"] == {"population": 3}


def test_calls_by_pointer_are_read() -> None:
    text = """#include "PDQ_Lib.h"
double rate = 2.0, demand = 0.1;
int main(void) {
  PDQ_Init("open");
  PDQ_CreateOpen_p("work", &rate);
  PDQ_CreateNode("cpu", CEN, FCFS);
  PDQ_SetDemand_p("cpu", "work", &demand);
  PDQ_Solve(CANON);
}
"""
    spec = _of_program(text)
    assert isinstance(spec, dict), spec
    assert spec["stations"]["cpu"]["demand"]["work"]["value"] == "0.1 s"
    direct = text.replace("PDQ_Solve", "getnode(0)->demand[0] = 3.0;\n  PDQ_Solve")
    assert "sets a table of PDQ itself, which is not read" in str(_of_program(direct))


def test_the_page_lists_the_losses_of_each_format() -> None:
    pages = Path(slipstick.__file__).parent / "documentation"
    page = (pages / "imports.md").read_text("utf-8")
    listed = {
        format.strip(): losses.split(", ")
        for formats, losses in re.findall(r"(?m)^\| ([a-z, -]+) \| ([a-z, -]+) \|$", page)
        for format in formats.split(",")
    }
    for format in LOSSES:
        assert listed.get(format, []) == loss_names(format), format


BRACES = """#include "PDQ_Lib.h"
int main()
{
  int fast = 0, i;
  char name[9];
  double time = 0.1;
  double rate = 2.0;
  if (fast == 1)
  {
    time = 0.01;
  }
  while (rate < 4.0) // a brace in a line of its own
  {
    PDQ_Init("open");
    PDQ_CreateOpen("work", rate);
    for (i = 0; i < 2; i++)
    {
      sprintf(name, "disk%d", i);
      PDQ_CreateNode(name, CEN, FCFS);
      PDQ_SetDemand(name, "work", time);
    }
    PDQ_Solve(CANON);
    rate = rate + 0.5;
  }
}
"""


def test_braces_in_lines_of_their_own_belong_to_the_line_before() -> None:
    path = Path(_folder) / "model.c"
    path.write_text(BRACES)
    spec = import_spec([path], Hints())
    demands = {
        name: station["demand"]["work"]["value"]
        for name, station in spec.document["stations"].items()
    }
    assert demands == {"disk0": "0.1 s", "disk1": "0.1 s"}
    assert any("this is its first model, with rate = 2" in words for words in spec.notes)
