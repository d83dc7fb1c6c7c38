"""Queueing networks from programs that call PDQ.

Format: the functions of Pretty Damn Quick, versions 6 and 7.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from slipstick.errors import FormulaError, ModelError, short
from slipstick.expression.formula import read_expression
from slipstick.expression.nodes import Expr, Number
from slipstick_measure.imports.elements import XmlElement
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.imports.tool import ToolModel
from slipstick_measure.readers.reading import Reading

_PDQ_ARGUMENTS = {
    "CreateOpen": 2,
    "CreateClosed": 4,
    "CreateNode": 3,
    "CreateMultiNode": 4,
    "SetDemand": 3,
    "SetVisits": 4,
}
"""Calls that make a model, and how many arguments each has."""
_PDQ_QUEUES = ("FCFS", "PSHR", "LCFS")


def pdq_spec(reading: Reading) -> ImportedSpec:
    """Read the calls of PDQ in a program, in any language, with what is assigned to a name once and
    for all.

    Raises
    ------
    SpecError : what a name or a number is cannot be told, or has no counterpart
    """
    model = ToolModel(reading)
    classes: dict[str, Any] = {}
    stations: dict[str, Any] = {}
    for call, words in _pdq_calls(model):
        if call.tag == "CreateOpen":
            rate = model.number(call, words[1]) / model.second
            classes[_pdq_name(model, call, words[0])] = {
                "arrivals": quantity(rate, "/s", f"{reading.name}:{call.line}")
            }
        elif call.tag == "CreateClosed":
            made: dict[str, Any] = {"population": round(model.number(call, words[2]))}
            if think := model.number(call, words[3]):
                made["think_time"] = model.time(call, think)
            classes[_pdq_name(model, call, words[0])] = made
        elif call.tag.endswith("Node"):
            servers, name, kind, queue = words if len(words) == 4 else ["1", *words]
            delays = queue == "ISRV" or kind == "DLY"
            if not delays and (kind != "CEN" or queue not in _PDQ_QUEUES):
                reading.refuse(
                    call.line,
                    call.tag,
                    f"a network has no station {short(kind)} with {short(queue)}",
                )
            queued = {"discipline": "ps", "servers": round(model.number(call, servers, 1.0))}
            stations[_pdq_name(model, call, name)] = {"discipline": "is"} if delays else queued
        else:
            station, customer = (_pdq_name(model, call, word) for word in words[:2])
            for word, known in ((station, stations), (customer, classes)):
                if word not in known:
                    reading.refuse(call.line, call.tag, f"{short(word)} is not created before")
            parts = [model.number(call, each) for each in words[2:]]
            stations[station].setdefault("demand", {})[customer] = model.time(
                call, math.prod(parts)
            )
    spec = model.spec(
        f"PDQ model {reading.name}",
        classes,
        {name: each for name, each in stations.items() if "demand" in each},
    )
    spec.say(
        "the discipline of queues is taken as ps, which has the product form that PDQ computes"
    )
    spec.say(
        "names of numbers are taken as assigned, in whatever branch, and quotients as of real"
        " numbers"
    )
    return spec


def _pdq_calls(model: ToolModel) -> Iterator[tuple[XmlElement, list[str]]]:
    """Yield the calls that make a model, each with its arguments."""
    text = re.sub(
        r"(?s)/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), model.reading.text
    )
    text = re.sub(r"(?m)(#|//).*$", "", text)
    known = _assigned_once(text)
    for call in re.finditer(
        r"\b(?:PDQ_)?((?:Create|Set)[A-Za-z]+)\s*\(((?:[^()]|\([^()]*\))*)\)", text
    ):
        element = XmlElement(call[1], {}, text.count("\n", 0, call.start()) + 1)
        plain = (
            re.sub(r"^(pdq(\.|::)|\$)", "", each.strip())
            for each in re.split(r",(?![^()]*\))", call[2])
        )
        found = [(each, _computed(each, known)) for each in plain]
        words = [repr(value.value) if isinstance(value, Number) else each for each, value in found]
        wanted = _PDQ_ARGUMENTS.get(call[1])
        if wanted and len(words) == wanted:
            yield element, words
        elif wanted or call[1].startswith("Create"):
            asked = (
                f"it has {wanted} arguments; here are {len(words)}"
                if wanted
                else "a network has nothing like it"
            )
            model.reading.refuse(element.line, call[1], asked)


_ASSIGNED = (
    r"(?m)^[ \t]*(?:(?:const|static|float|double|int|my)[ \t]+)*\$?([A-Za-z_]\w*)["
    r" \t]*(?:=(?!=)|<-)[ \t]*([^\n;=]+)"
)
"""Of a number to a name, in Python, C, Perl and R."""
_CHANGED = r"\$?(\w+)\s*(?:[-+*/%]=|\+\+|--)|\bfor\b\W*(\w+)|\b(\w+)\[.*\]\s*="


def _assigned_once(text: str) -> dict[str, Number]:
    """Return the names that a program assigns one number, or one formula of such before, and does
    not change.
    """
    assigned = re.findall(_ASSIGNED, text)
    changed = {name for found in re.findall(_CHANGED, text) for name in found}
    texts: dict[str, str] = {}
    changed |= {name for name, formula in assigned if texts.setdefault(name, formula) != formula}
    known: dict[str, Number] = {}
    for name, formula in assigned:
        if name not in changed and isinstance(
            found := _computed(formula.replace("$", "").strip(), known), Number
        ):
            known[name] = found
    return known


def _computed(text: str, known: Mapping[str, Number]) -> Expr | None:
    with suppress(FormulaError, ModelError, ValueError):
        return read_expression(text, known)
    return None


def _pdq_name(model: ToolModel, call: XmlElement, word: str) -> str:
    quoted = re.fullmatch(r"([\"'])(.*)\1", word)
    if quoted is None:
        model.reading.refuse(
            call.line,
            call.tag,
            f"write a name in quotes, not {short(word)}, which is computed elsewhere",
        )
    return model.name(XmlElement(call.tag, {"name": quoted[2]}, call.line))
