"""Queueing networks from programs that call PDQ.

Format: the functions of Pretty Damn Quick, versions 6 and 7, in R, Python, C and Perl. The program
is read, and not run: see `program_text`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from slipstick.errors import did_you_mean, short
from slipstick.late import dataclass, field, late_pattern, replace
from slipstick_measure.imports.imported import ImportedSpec
from slipstick_measure.imports.losses import EQUAL, READ, FileLosses
from slipstick_measure.imports.program_text import (
    CalledFunction,
    ProgramText,
    program_without_comments,
)
from slipstick_measure.imports.tool import ToolModel
from slipstick_measure.readers.elements import XmlElement
from slipstick_measure.readers.reading import Reading

FORMAT = "pdq"
ARGUMENTS = {
    "CreateOpen": 2,
    "CreateClosed": 4,
    "CreateNode": 3,
    "CreateMultiNode": 4,
    "CreateMultiserverClosed": 4,
    "SetDemand": 3,
    "SetVisits": 4,
}
"""Calls that make a model, and how many arguments each has."""
FUNCTIONS = {
    **dict.fromkeys((*ARGUMENTS, "Init", "Solve", "SetTUnit"), READ),
    **dict.fromkeys(("SetWUnit", "SetComment", "SetDebug", "GetComment", "Report"), EQUAL),
    **dict.fromkeys(("GetResponse", "GetThruput", "GetThruMax", "GetLoadOpt"), EQUAL),
    **dict.fromkeys(("GetUtilization", "GetQueueLength", "GetResidenceTime"), EQUAL),
    **dict.fromkeys(("GetNodesCount", "GetStreamsCount"), EQUAL),
}
"""What becomes of each function of PDQ: read, or equal. Others that create or set are refused, such
as misspelt ones.
"""
OTHER_NAMES = {"CreateWorkloadOpen": "CreateOpen", "CreateWorkloadClosed": "CreateClosed"}
DISCIPLINE_OF_QUEUE = {"FCFS": "fcfs", "PSHR": "ps", "LCFS": "lcfs-pr"}
NODE_KINDS = ("CEN", "MSO", "MSC")
_TIME_UNIT = late_pattern(r"[Ss]etTUnit\s*\(\s*[\"'](\w+)[\"']\s*\)")
_UNITS = {
    "s": "s",
    "sec": "s",
    "min": "min",
    "h": "h",
    "hr": "h",
    "hou": "h",
    "hrs": "h",
    "day": "day",
    "ms": "ms",
    "mil": "ms",
    "mse": "ms",
    "us": "us",
    "mic": "us",
    "use": "us",
}
"""Units of time by the first letters of what programs call them."""
_TABLE_ASSIGNMENT = late_pattern(
    r"(?:\bgetnode\s*+\([^()]*+\)|\bnode\s*+\[[^\[\]]*+\])\s*+(?:->|\.)\s*+"
    r"(?:devtype|sched|servers|visits|service|demand)\b\s*+(?:\[[^\[\]]*+\])?\s*+=(?!=)"
)
"""An assignment to the tables of PDQ itself, which programs in C may do."""
_MODEL_CALL = late_pattern(
    r"(?:\bPDQ_|\b)(?:[Ii]nit|[Cc]reate\w+|[Ss]et(?:Demand|Visits)\w*)\s*+\("
)
_GO_OR_SCALA = late_pattern(r"(?m)^[^\S\n]*+package[^\S\n]++[\w.]++[^\S\n]*+$")
"""The first statement of a program in Go or Scala; that of Java, and of Perl, ends with a mark."""

_CONSTANTS = (*DISCIPLINE_OF_QUEUE, *NODE_KINDS, "MSQ", "ISRV", "DLY", "TERM", "BATCH", "TRANS")


def pdq_spec(input_file: Reading) -> ImportedSpec:
    """Build the spec of a network from the calls to PDQ in a program, up to the first one that
    solves the model.

    A queue that one class visits keeps its discipline; one of several classes shares its server,
    which has the means that PDQ computes.

    Raises
    ------
    SpecError : a name or a number is unknown, or a call has no counterpart in a network
    """
    unit_match = _TIME_UNIT.search(input_file.text)
    if (
        input_file.hints.unit is None
        and unit_match
        and (unit := _UNITS.get(unit_match[1][:3].casefold()))
    ):
        input_file.hints = replace(input_file.hints, unit=unit)
    return _PdqReader(input_file).spec()


@dataclass
class _PdqReader:
    """A reader of the calls to PDQ in the text of a program."""

    input_file: Reading
    classes: dict[str, Any] = field(default_factory=dict)
    stations: dict[str, Any] = field(default_factory=dict)
    line_by_station: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = ToolModel(self.input_file)
        self.file_losses = FileLosses(FORMAT, self.input_file)
        self.program = ProgramText(self.input_file, "Solve")
        self.program.value_by_variable |= dict.fromkeys(_CONSTANTS)
        for name in _CONSTANTS:
            self.program.value_by_variable[name] = name

    def spec(self) -> ImportedSpec:
        """Return the network of the calls up to the first solution."""
        solution_line = 0
        self._refuse_unread_language()
        self._refuse_written_tables()
        for call in self.program.calls():
            name = OTHER_NAMES.get(call.name.removesuffix("_p"), call.name.removesuffix("_p"))
            call = call._replace(name=name)
            if name == "Init":
                self.classes.clear()
                self.stations.clear()
            if name == "SetTUnit" and self.input_file.hints.unit is None:
                self._check_unit_is_quoted(call)
            solution_line = call.line if name == "Solve" else solution_line
            if name in ARGUMENTS and not call.is_certain:
                self.refuse(
                    call,
                    "whether it is called is not known; give the names of its condition with"
                    " --set NAME=NUMBER",
                )
            if name in ARGUMENTS and len(call.texts) == ARGUMENTS[name]:
                self._execute_call(call)
            elif name in ARGUMENTS or (name not in FUNCTIONS and _changes_model(call)):
                argument_count = ARGUMENTS.get(name)
                count_message = f"it has {argument_count} arguments; here are {len(call.texts)}"
                name_message = f"a network has nothing like it{did_you_mean(name, list(ARGUMENTS))}"
                self.refuse(call, count_message if argument_count else name_message)
        stations = {
            name: station for name, station in self.stations.items() if station.get("demand")
        }
        self._refuse_missing_parts(stations)
        for name, station in stations.items():
            if len(station["demand"]) > 1 and station["discipline"] == "fcfs":
                station["discipline"] = "ps"
                self.file_losses.declare("discipline", self.line_by_station[name], name)
        title = f"PDQ model {self.input_file.name}"
        imported_spec = self.model.spec(title, self.classes, stations)
        for note in self.input_file.notes:
            imported_spec.add_note(f"line {note.line}: {note.message}")
        unit_match = _TIME_UNIT.search(self.input_file.text)
        if unit_match and self.input_file.hints.unit is None:
            imported_spec.add_note(
                f"the program calls its unit of time {short(unit_match[1])}, which is not known"
            )
        loop_texts = [
            f"{name} = {value:g}"
            for name, (value, _, iteration_count) in self.program.loop_state_by_variable.items()
            if iteration_count > 1 and isinstance(value, float) and self._is_at_first_value(name)
        ]
        if loop_texts:
            imported_spec.add_note(
                "the program solves in a loop; this is its first model, with"
                f" {', '.join(loop_texts)}; --set {loop_texts[0].split()[0]}=NUMBER takes another"
            )
        if later_line := self._line_of_later_model(solution_line):
            imported_spec.add_note(
                f"the program makes another model from line {later_line} on, which is not read;"
                " give each model a program of its own"
            )
        return self.file_losses.close(imported_spec)

    def _refuse_unread_language(self) -> None:
        """Raise if the program is in a language whose assignments and divisions have other
        rules.
        """
        program = program_without_comments(self.input_file.text)
        if statement_match := _GO_OR_SCALA.search(program):
            message = (
                "a program in Go or Scala is not read; write its calls in one of R, Python, C,"
                " Java, Perl, Ruby, PHP and JavaScript"
            )
            line = program.count("\n", 0, statement_match.start()) + 1
            self.input_file.refuse(line, statement_match[0].strip(), message)

    def _refuse_missing_parts(self, stations: Mapping[str, object]) -> None:
        """Raise if the calls create no class of customers, or no station with demands."""
        missing_parts = [
            f"no {part_name} (by {calls})"
            for part_name, calls, is_created in (
                ("class of customers", "CreateOpen or CreateClosed", self.classes),
                ("station with a demand", "CreateNode and SetDemand or SetVisits", stations),
            )
            if not is_created
        ]
        if missing_parts:
            message = (
                f"the calls before Solve create {' and '.join(missing_parts)}; write all calls in"
                " one file, with names in quotes and numbers"
            )
            self.input_file.refuse(1, "", message)

    def _refuse_written_tables(self) -> None:
        """Refuse a program that writes into the tables of PDQ itself."""
        program = program_without_comments(self.input_file.text)
        if write_match := _TABLE_ASSIGNMENT.search(program):
            message = "sets a table of PDQ itself, which is not read; call SetDemand or SetVisits"
            line = program.count("\n", 0, write_match.start()) + 1
            self.input_file.refuse(line, " ".join(write_match[0].split()), message)

    def _check_unit_is_quoted(self, call: CalledFunction) -> None:
        """Refuse a unit of time that is not written in quotes."""
        if not _TIME_UNIT.search(self.input_file.text):
            self.refuse(call, f"{', '.join(call.texts)} is no unit in quotes; give --unit s")

    def _line_of_later_model(self, solution_line: int) -> int:
        """Return the line of the first call after the solution that makes or changes a model; 0 if
        there is none.
        """
        program_lines = program_without_comments(self.input_file.text).split("\n")
        return next(
            (
                line
                for line, text in enumerate(program_lines[solution_line:], solution_line + 1)
                if solution_line and _MODEL_CALL.search(text)
            ),
            0,
        )

    def _is_at_first_value(self, name: str) -> bool:
        """Return whether a loop's variable had its first value when the model was solved, and the
        user gives no value for it.
        """
        return (
            self.program.loop_state_by_variable[name][1] == 1
            and name not in self.input_file.hints.settings
        )

    def refuse(self, call: CalledFunction, reason: str) -> NoReturn:
        """Raise a SpecError at a call, with a reason."""
        self.input_file.refuse(call.line, call.name, reason)

    def _name_of_argument(self, call: CalledFunction, index: int) -> str:
        """Return the name in an argument of a call, as a spec writes it; raise if the argument is
        no name.
        """
        value = call.values[index]
        if not isinstance(value, str):
            message = (
                f"what {short(call.texts[index])} stands for is not known; write a name in quotes"
            )
            self.refuse(call, message)
        return self.model.name(XmlElement(call.name, {"name": value}, call.line))

    def _new_name(self, call: CalledFunction, index: int) -> str:
        """Return the name of the class or station that a call creates; refuse a name that exists
        already.
        """
        name = self._name_of_argument(call, index)
        if name in (self.stations if "Node" in call.name or "Multi" in call.name else self.classes):
            self.refuse(call, f"{short(name)} is created twice; rename one")
        return name

    def _number_of_argument(self, call: CalledFunction, index: int, least: float = 0.0) -> float:
        """Return the number in an argument of a call; raise if it is unknown, no number, or below
        `least`.
        """
        value = call.values[index]
        text = call.texts[index]
        if not isinstance(value, float) or not math.isfinite(value):
            self.refuse(call, f"{short(text)} cannot be computed; {self._way_out(text)}")
        if value < least:
            self.refuse(call, f"{short(text)} is {value:g}, no number of at least {least:g}")
        return value

    def _way_out(self, text: str) -> str:
        """Return in words how the user supplies a number that the text of the program does not
        give.
        """
        name = text.strip().lstrip("$")
        if name.replace("_", "a").replace(".", "a").isalnum() and name[:1].isalpha():
            return f"give it with --set {name}=NUMBER"
        return "give the names in it with --set NAME=NUMBER"

    def _execute_call(self, call: CalledFunction) -> None:
        """Execute a call: add the class or station that it creates, or set the demands that it
        states.
        """
        element = XmlElement(call.name, {}, call.line)
        if call.name == "CreateOpen":
            arrival_rate = self._number_of_argument(call, 1)
            self.classes[self._new_name(call, 0)] = {
                "arrivals": self.model.rate(element, arrival_rate)
            }
        elif call.name == "CreateClosed":
            customer_class: dict[str, Any] = {"population": self._whole_number_of_argument(call, 2)}
            think_time = self._number_of_argument(call, 3)
            if call.values[1] == "TRANS":
                self.refuse(call, "TRANS is a stream, which CreateOpen makes; write TERM or BATCH")
            if call.values[1] == "BATCH" and think_time:
                message = (
                    f"jobs of a BATCH do not think, so {think_time:g} is left out, as PDQ does"
                )
                self.input_file.add_note(call.line, call.name, message)
            elif think_time:
                customer_class["think_time"] = self.model.time(element, think_time)
            self.classes[self._new_name(call, 0)] = customer_class
        elif call.name.endswith("Node") or "Multiserver" in call.name:
            self._add_node(call, 1 if "Multi" in call.name else 0)
        else:
            self._add_demand(call, element)

    def _whole_number_of_argument(
        self, call: CalledFunction, index: int, least: float = 0.0
    ) -> int:
        """Return the whole number in an argument of a call; raise for other values."""
        value = self._number_of_argument(call, index, least)
        if abs(value - round(value)) > 1e-9:
            self.refuse(call, f"{short(call.texts[index])} is {value:g}, no whole number")
        return round(value)

    def _add_node(self, call: CalledFunction, name_index: int) -> None:
        """Add the station that a call creates."""
        server_count = self._whole_number_of_argument(call, 0, 1.0) if name_index else 1
        name = self._new_name(call, name_index)
        node_kind = call.values[name_index + 1]
        queue_kind = call.values[name_index + 2]
        if isinstance(node_kind, float):  # version 6 of MSQ gives the servers as the kind of node
            server_count = round(node_kind)
            node_kind = "CEN"
            queue_kind = "FCFS" if queue_kind == "MSQ" else queue_kind
        self.line_by_station[name] = call.line
        if queue_kind == "ISRV" or node_kind == "DLY":
            self.stations[name] = {"discipline": "is"}
        elif node_kind in NODE_KINDS and queue_kind in DISCIPLINE_OF_QUEUE:
            discipline = DISCIPLINE_OF_QUEUE.get(str(queue_kind), "fcfs")
            self.stations[name] = {"discipline": discipline, "servers": server_count}
        else:
            argument_texts = ", ".join(map(short, call.texts[name_index + 1 :]))
            kinds = f"{', '.join(NODE_KINDS)} or DLY, with {', '.join(DISCIPLINE_OF_QUEUE)} or ISRV"
            self.refuse(call, f"a network has no station of {argument_texts}; nodes are {kinds}")

    def _add_demand(self, call: CalledFunction, element: XmlElement) -> None:
        """Set the demand of a class at a station, a product of the arguments of a call."""
        station_name = self._name_of_argument(call, 0)
        class_name = self._name_of_argument(call, 1)
        for name, created_parts in ((station_name, self.stations), (class_name, self.classes)):
            if name not in created_parts:
                self.refuse(call, f"{short(name)} is used before it is created")
        factors = [self._number_of_argument(call, index) for index in range(2, len(call.texts))]
        demand_by_class = self.stations[station_name].setdefault("demand", {})
        demand_by_class.pop(class_name, None)
        if demand := math.prod(factors):
            demand_by_class[class_name] = self.model.time(element, demand)


def _changes_model(call: CalledFunction) -> bool:
    """Return whether a call creates or sets something in PDQ. Without a module before the name, the
    name decides, because a program may have functions of its own that set something.
    """
    is_of_module = call.module.casefold().startswith("pdq")
    own_prefixes = ("Set",) if is_of_module else ("SetDemand", "SetVisits")
    return call.name.startswith(("Create", *own_prefixes))
