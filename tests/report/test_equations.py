"""Explanations: laws and models as equations, in plain text and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from slipstick import network, open_class, station
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    TIME,
    TIME_PER_BYTE,
    Booked,
    Expr,
    Parameter,
    maximum,
    total,
)
from slipstick.law import LAWS, Law
from slipstick.law.network import PROTOCOL_TIME, WIRE_TIME
from slipstick.law.pipeline import FLOW_LINE
from slipstick.method.closed_form import whole_time
from slipstick.model.activity import delay, pipeline, serial
from slipstick.model.system import Model, closed_model
from slipstick.report.formatting import WIDTH
from slipstick.schema.kinds.quantity import DescribedValue, Given
from slipstick_equations.equations import (
    Equations,
    Explanation,
    explain_latex,
    explain_text,
    latex_text,
    laws_in_expressions,
)

SIZE, ADDED = Parameter("reply", BYTES, 20.0), Parameter("wire.added", BYTES, 58.0)
WIRE = Booked(
    "wire",
    WIRE_TIME(per_byte=Parameter("wire.per_byte", TIME_PER_BYTE, 8e-8), size=SIZE, added=ADDED),
)
from tests.every_law import every_law

SEND = Booked("send", Parameter("send_call", TIME, 42e-6) / Parameter("speed", COUNT, 1.0))
PARTS = Parameter("parts", COUNT, 3.0)
STRUCTURE = FLOW_LINE(once=total([SEND, WIRE]), longest=maximum(SEND, WIRE), items=PARTS)
ENTRIES = {
    "reply": DescribedValue(
        "reply", Given(20.0, BYTES, "20 B"), "size of each reply", "Somebody, 1997"
    ),
    "send_call": DescribedValue(
        "send_call", Given(42e-6, TIME, "42 us", assumed=True), "extra time of a send", "A guess"
    ),
    "speed": DescribedValue("speed", Given(1.0, COUNT, "1"), "relative speed", "Somebody, 1997"),
}

LAW_TEXT = """\
law/wire-time: Time of one message on the wire

source: Somebody, 1997

    time = per_byte * (size + added)

symbol    unit    meaning
--------  ------  ----------------------------------------------
time      s       time from the first bit to the last
per_byte  s/B     time of a byte on the wire
size      B       message size
added     B       bytes that headers and framing add on the wire

holds for size >= 0

for                                            time    within  source
-----------------------------------------  --------  --------  ------------------------------------
per_byte 80 ns/B, size 4120 B, added 58 B  334.2 us      5 ns  reply of phase III on Fast Ethernet,
                                                               worked out from Table 4
"""

MODEL_TEXT = """\
demo: A pipeline

source: Somebody, 1997

processors that repeat a cycle: population.processors; useful: busy

    T = t[send] + t[wire] + (parts - 1) * max(t[send], t[wire])

t[x] is the time of one execution of step x, once[x] in answers:

    t[send] = send_call / speed
    t[wire] = wire.per_byte * (reply + wire.added)

symbol           value  meaning               source
-------------  -------  --------------------  -----------
parts                3
send_call        42 us  extra time of a send  [1] assumed
speed                1  relative speed        [2]
wire.per_byte  80 ns/B
reply             20 B  size of each reply    [2]
wire.added        58 B

[1] A guess
[2] Somebody, 1997

Made from:
law/flow-line: time = once + (items - 1) * longest
law/wire-time: time = per_byte * (size + added)

step    resource    component    technology class
------  ----------  -----------  ------------------
send    -           busy         application
wire    -           busy         application
"""

MODEL_LATEX = r"""% demo: A pipeline
% Somebody, 1997
\begin{align*}
T &= t_{\text{send}} + t_{\text{wire}} + \left(\mathrm{parts} - 1\right) \max\left(t_{\text{send}}, t_{\text{wire}}\right) \\
t_{\text{send}} &= \frac{\mathrm{send\_call}}{\mathrm{speed}} \\
t_{\text{wire}} &= \mathrm{wire.per\_byte} \left(\mathrm{reply} + \mathrm{wire.added}\right)
\end{align*}
\begin{tabular}{lll}
\text{parts} & \text{3} & \text{} \\
\text{send\_call} & \text{42 us} & \text{extra time of a send} \\
\text{speed} & \text{1} & \text{relative speed} \\
\text{wire.per\_byte} & \text{80 ns/B} & \text{} \\
\text{reply} & \text{20 B} & \text{size of each reply} \\
\text{wire.added} & \text{58 B} & \text{} \\
\end{tabular}
"""


def _model() -> Model:
    stages = [serial(delay(1.0, name="send")), serial(delay(2.0, name="wire"))]
    return closed_model(pipeline(stages, PARTS, name="parts"))


def test_a_law_word_for_word() -> None:
    law = LAWS["wire-time"]
    text = explain_text(Explanation("law/wire-time", law.title, "Somebody, 1997", law))
    assert text == LAW_TEXT


def test_a_model_word_for_word() -> None:
    assert (
        explain_text(
            Explanation("demo", "A pipeline", "Somebody, 1997", _model(), ENTRIES, STRUCTURE)
        )
        == MODEL_TEXT
    )


def test_a_model_in_latex() -> None:
    assert (
        explain_latex(
            Explanation("demo", "A pipeline", "Somebody, 1997", _model(), ENTRIES, STRUCTURE)
        )
        == MODEL_LATEX
    )


@pytest.mark.turns(4)
@every_law
def test_every_law_fits_the_terminal_and_has_one_equation_in_latex(law: Law) -> None:
    text = explain_text(Explanation(law.name, law.title, law.source, law))
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= WIDTH
    assert explain_latex(Explanation(law.name, law.title, law.source, law)).count("&=") == 1


def test_a_step_and_a_parameter_of_one_name_are_told_apart() -> None:
    step = Booked("compute", Parameter("compute", TIME, 1.0) / Parameter("speed"))
    assert Equations(2 * step).texts == ["T = 2 * t[compute]", "t[compute] = compute / speed"]


def test_names_that_no_parameter_may_have_are_shown_as_they_are() -> None:
    barrier = Booked("barrier:meet", Parameter("cost", TIME)) + Booked(
        "work[1]", Parameter("work", TIME)
    )
    assert Equations(barrier).texts[0] == "T = t[barrier:meet] + t[work[1]]"


def test_parts_that_come_up_often_in_a_long_structure_get_names() -> None:
    grown: Expr = SEND
    for index in range(12):
        grown = maximum(grown + WIRE, grown + Booked(f"s{index}", Parameter(f"p{index}", TIME)))
    lines = Equations(grown).texts
    assert lines[1].startswith("x1 = max(")
    assert max(map(len, lines)) < 1000
    assert not any("SYMBOL" in line for line in lines)


def test_long_sums_are_broken_in_latex() -> None:
    many = total([Booked(f"s{index}", Parameter(f"p{index}", TIME)) for index in range(9)])
    first = Equations(many).latex[0]
    assert first.count("\\\\") == 2
    assert len(re.findall(r"t_\{", first)) == 9


def test_laws_are_found_inside_factors_and_choices_but_not_inside_each_other() -> None:
    speed, rate = Parameter("speed"), Parameter("rate", TIME_PER_BYTE)
    protocol = PROTOCOL_TIME(fixed=Parameter("fixed", TIME), per_byte=rate, size=SIZE, added=ADDED)
    assert [law.name for law in laws_in_expressions(0.5 * (protocol / speed))] == ["protocol-time"]
    assert laws_in_expressions(Parameter("a", TIME) + Parameter("b", TIME)) == []


def test_signs_of_latex_are_spelt_out() -> None:
    assert (
        latex_text(r"a_b & 50% #1 $x$ {y} \z ~ ^")
        == r"\text{a\_b \& 50\% \#1 \$x\$ \{y\} \textbackslash{}z \textasciitilde{}"
        r" \textasciicircum{}}"
    )


def test_a_model_without_its_structure_still_has_its_steps() -> None:
    text = explain_text(Explanation("demo", "", "", _model()))
    assert text.startswith("demo\n\nprocessors that repeat a cycle")
    assert "T =" not in text


def test_what_the_time_of_a_model_leaves_out_is_told() -> None:
    told = Explanation(
        "demo",
        "",
        "",
        _model(),
        time_expression=whole_time(_model()),
        left_out=("leaves out waiting for bus",),
    )
    assert "This time leaves out waiting for bus; solve computes it by" in explain_text(told)


@pytest.mark.parametrize(
    ("traits", "loses"),
    [
        ({}, False),
        ({"capacity": 3}, True),
        ({"patience": {"calls": 2.0}}, True),
        ({"balking": {"calls": [0.0, 0.5]}}, True),
    ],
)
def test_arrivals_are_no_throughput_where_customers_are_lost(
    traits: Mapping[str, Any], loses: bool
) -> None:
    desk = network(
        {"calls": open_class(0.5)},
        {"desk": station(service={"calls": 1.0}, discipline="fcfs", **traits)},
    )
    text = explain_text(Explanation("desk", "", "", desk))
    assert ("X[calls] = " not in text) == loses
    assert ("A[calls] = " in text) == ("X[r] = A[r] * (1 - L[r])" in text) == loses
