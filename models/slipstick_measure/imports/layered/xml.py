"""Layered queueing networks from LQNX, the XML form of LQNS.

Source: lqn.xsd, version 5.
"""

from __future__ import annotations

import re
from math import inf

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.imports.fields import declare_fields
from slipstick_measure.imports.layered.fields import XML_TABLE
from slipstick_measure.imports.layered.model import (
    CONVERGENCE,
    LOCK_KINDS,
    MOST_PHASES,
    ONE,
    SEMAPHORE_KINDS,
    TASK_KINDS,
    ZERO,
    Call,
    LayeredEntry,
    LayeredNetwork,
    ModelAmount,
    Precedence,
    Processor,
    ProcessorShare,
    Task,
    Work,
)
from slipstick_measure.imports.layered.variables import (
    INFINITE,
    MOST_RANGE_VALUES,
    Variables,
    parameter_name,
)
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.readers.elements import XmlElement, parse_xml
from slipstick_measure.readers.reading import Reading

_PROCESSOR_KINDS = (*("fcfs", "ps", "inf", "rand", "hol", "pp", "pri", "cfs", "ps-hol", "ps-pp"),)
CALL_ORDERS = ("STOCHASTIC", "DETERMINISTIC")
MOST_NESTED_LOOPS = 20
"""Loops around a solution of the model that are read."""

_COMMENT = late_pattern(r"(?s:/\*.*?\*/)|(?m:(?:#|//).*$)")
_VALUE_OF_ASSIGNMENT = late_pattern(r"(?:array_create|\[)?[\s\w.$+*/(),:-]+\]?")
"""A number, a formula or a list of numbers."""

_CONTROL_STATEMENT = late_pattern(r"\b(?:foreach|for|while|if|solve)\b")
"""The first word of a statement at which the reading of assignments ends, unless it is a loop over
numbers.
"""

_FIRST_SOLUTION = late_pattern(r"\s*+\(\s*+!?\s*+solve\b")
"""The condition after the word if of the first solution of the model."""

_FOREACH = late_pattern(r"foreach\s*\(\s*(?:\w+\s*,\s*)?(\$?\w+)\s+in\s+(\[[^\]]*\]|\$?\w+)\s*\)")
_FOR = late_pattern(
    r"for\s*+\(\s*+(\$?\w+)\s*+=\s*+([^;]+);\s*+(\$?\w+)\s*+(<=?)\s*+([^;]+);"
    r"\s*+\$?\w+\s*+=\s*+\(?\s*+(\$?\w+)\s*+\+\s*+([^)]+)\)?\s*+\)"
)
_ASSIGNMENT = late_pattern(
    r"(\$?\b\w+)\s*=(?!=)\s*((?:\[[^\]]*\])|(?:\"[^\"]*\")|[^\n;$]*(?:\$\w+(?!\s*=)[^\n;$]*)*)"
)
"""The assignment of a number, a formula or a list to a variable, in a program for LQX or SPEX."""


def _with_marked_variables(formula: str) -> str:
    """Return a formula with $ before all names except those of functions."""
    return re.sub(r"(?<![\w$.\"])([A-Za-z_]\w*)(?!\w*\s*\()", r"$\1", formula)


def _without_functions(text: str) -> str:
    """Return a program whose functions are replaced by empty lines."""
    while match := re.search(r"\bfunction\s+\w+\s*\([^)]*\)\s*\{", text):
        function_end = match.end()
        depth = 1
        while depth and function_end < len(text):
            depth += {"{": 1, "}": -1}.get(text[function_end], 0)
            function_end += 1
        text = (
            text[: match.start()]
            + "\n" * text.count("\n", match.start(), function_end)
            + text[function_end:]
        )
    return text


def _is_solved_inside(text: str, start: int) -> bool:
    """Return whether the body of a loop, which begins at a position, solves the model."""
    solve_match = re.compile(r"\bsolve\b").search(text, start)
    if solve_match is None:
        return False
    block_text = text[start : solve_match.start()].lstrip()
    if not block_text.startswith("{"):
        return re.match(r"(?:foreach|for|if)\b", block_text) is not None or ";" not in block_text
    depth = 0
    for brace_match in re.finditer("[{}]", block_text):
        depth += 1 if brace_match[0] == "{" else -1
        if depth == 0:
            return False
    return True


def _loop_values(
    first_value: float, last_value: float, step: float, includes_last: bool
) -> list[float]:
    """List the values that the variable of a loop takes; empty if the loop has no end or too many
    values.
    """
    values: list[float] = []
    while step > 0 and (first_value < last_value or (includes_last and first_value == last_value)):
        values.append(first_value)
        first_value += step
        if len(values) > MOST_RANGE_VALUES:
            return []
    return values


def read_xml(input_file: Reading, file_losses: FileLosses) -> tuple[LayeredNetwork, Variables]:
    """Read a layered queueing network.

    Raises
    ------
    SpecError : a file that is no XML of LQNX or has values without a meaning, by line
    """
    reader = _XmlReader(input_file, file_losses)
    reader.read_file()
    reader.network.check()
    return reader.network, reader.variables


class _XmlReader:
    """A reader of one file of LQNX."""

    def __init__(self, input_file: Reading, file_losses: FileLosses) -> None:
        self.input_file = input_file
        self.file_losses = file_losses
        self.root = parse_xml(input_file)
        self.network = LayeredNetwork(input_file)
        self.variables = Variables(input_file)
        self._loop_variables: list[str] = []

    def read_file(self) -> None:
        """Read variables, processors, groups, tasks and entries."""
        declare_fields(self.root, self.file_losses, XML_TABLE)
        for element in self.root.descendants("convergence-collection", "spex-convergence"):
            self.input_file.refuse(element.line, element.tag, CONVERGENCE)
        for element in self.root.descendants(
            "lqx", "spex-parameters", "spex-parameter", "parameters"
        ):
            self._read_assignments(element)
        for processor in self.root.descendants("processor"):
            self._read_processor(processor)
        for group in self.root.descendants("group"):
            if group.get("share"):
                self._read_share(group)

    def amount(
        self, element: XmlElement, key: str, default: ModelAmount, least: float | None = 0.0
    ) -> ModelAmount:
        """Return an attribute of an element as a number or a formula; `default` if it is
        missing.
        """
        text = element.get(key)
        if not text:
            return default
        return self.variables.parse_amount(text, element.line, f"{element.tag} {key}", least)

    def whole_number(
        self, element: XmlElement, key: str, default: int, largest: int = 10**6
    ) -> int:
        """Return an attribute of an element as a whole number; `default` if it is missing."""
        amount = self.amount(element, key, ModelAmount(float(default)))
        if amount.value > largest or amount.value != int(amount.value):
            message = f"{short(element.get(key))} is no whole number up to {largest}"
            self.input_file.refuse(element.line, f"{element.tag} {key}", message)
        return int(amount.value)

    def _read_assignments(self, element: XmlElement) -> None:
        """Read the assignments of a program up to its first solution of the model; a loop around it
        becomes the range of its variable. The program is not executed.
        """
        text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), element.text)
        text = _without_functions(text)
        self._loop_variables.clear()
        # Words in texts that are printed begin no statement.
        program_without_comments = re.sub(r'"[^"\n]*"', lambda match: "_" * len(match[0]), text)
        position = 0
        while statement_match := _CONTROL_STATEMENT.search(program_without_comments, position):
            self._read_part_without_loops(element, text, position, statement_match.start())
            if not (
                loop_end := self._read_loop(element, program_without_comments, statement_match)
            ):
                position = statement_match.end()
                break
            position = loop_end
        else:
            self._read_part_without_loops(element, text, position, len(text))
            return
        first_solution = _FIRST_SOLUTION.match(program_without_comments, position)
        if re.search(
            r"\bsolve\b",
            program_without_comments[first_solution.end() if first_solution else position :],
        ):
            line = element.line + text.count("\n", 0, statement_match.start())
            message = (
                "from here on the program is not run: the values before are taken, and --set"
                " NAME=NUMBER takes others"
            )
            self.input_file.add_note(line, element.tag, message)

    def _read_part_without_loops(
        self, element: XmlElement, text: str, begin_position: int, end_position: int
    ) -> None:
        """Read the assignments in a part of a program without loops. Of a variable without $ only
        numbers, formulas of known variables, and lists are read.
        """
        for match in _ASSIGNMENT.finditer(text, begin_position, end_position):
            formula = _with_marked_variables(match[2].strip())
            # An index is that of a loop: such a variable stays without a value.
            has_index = re.search(r"\w\s*\[", formula)
            if has_index or not (match[1].startswith("$") or self._is_computed(formula)):
                continue
            line = element.line + text.count("\n", 0, match.start())
            if parameter_name(match[1]) in map(parameter_name, re.findall(r"\$\w+", formula)):
                formula = repr(self.variables.parse_amount(formula, line, match[1]).value)
                self._drop_ranges(element, line, match[1])
            self.variables.assign(match[1], formula.strip('"'), line)

    def _drop_ranges(self, element: XmlElement, line: int, variable: str) -> None:
        """Drop the ranges of the enclosing loops, with a note: a variable that is computed from its
        own earlier value depends on all earlier iterations.
        """
        if [
            name
            for name in self._loop_variables
            if self.variables.range_values_by_name.pop(name, None)
        ]:
            message = (
                f"{short(variable)} changes with each pass of a loop, which no range can say: the"
                " first pass is taken, and --set NAME=NUMBER takes others"
            )
            self.input_file.add_note(line, element.tag, message)

    def _is_computed(self, formula: str) -> bool:
        """Return whether the value of an assignment is a number, a list, or a formula of known
        variables.
        """
        names = re.findall(r"\$\w+", formula)
        are_known = all(parameter_name(name) in self.variables.value_by_name for name in names)
        has_numbers = re.search(r"[\d$]", formula) is not None
        return are_known and has_numbers and _VALUE_OF_ASSIGNMENT.fullmatch(formula) is not None

    def _read_loop(self, element: XmlElement, text: str, keyword_match: re.Match[str]) -> int:
        """Read the header of a loop over numbers that solves the model, as the range of its
        variable. Return the position after the header; 0 for other loops.
        """
        values_text = ""
        if match := _FOREACH.match(text, keyword_match.start()):
            values_text = match[2]
            if not values_text.startswith("["):
                range_values = self.variables.range_values_by_name.pop(parameter_name(match[2]), [])
                settings = self.input_file.hints.settings
                values_text = settings.get(parameter_name(match[1]), "")
                values_text = (
                    f"[{', '.join(map(repr, range_values))}]" if range_values else str(values_text)
                )
        elif (match := _FOR.match(text, keyword_match.start())) and len(
            {match[1], match[3], match[6]}
        ) == 1:
            bound_formulas = [_with_marked_variables(match[group].strip()) for group in (2, 5, 7)]
            if all(map(self._is_computed, bound_formulas)):
                line = element.line + text.count("\n", 0, match.start())
                first_value, last_value, step = (
                    self.variables.parse_amount(bound_formula, line, match[1]).value
                    for bound_formula in bound_formulas
                )
                loop_values = _loop_values(first_value, last_value, step, match[4] == "<=")
                values_text = f"[{', '.join(map(repr, loop_values))}]" if loop_values else ""
        if match is None or not values_text or not _is_solved_inside(text, match.end()):
            return 0
        if len(self._loop_variables) == MOST_NESTED_LOOPS:
            return 0
        line = element.line + text.count("\n", 0, match.start())
        self.variables.assign(match[1], values_text, line)
        self._loop_variables.append(parameter_name(match[1]))
        return match.end()

    def _read_processor(self, element: XmlElement) -> None:
        """Read a processor with its groups and tasks."""
        name = element.get("name")
        kind = element.get("scheduling") or "fcfs"
        if kind not in _PROCESSOR_KINDS:
            kinds_in_words = ", ".join(_PROCESSOR_KINDS)
            message = f"there is no scheduling {short(kind)}; there are {kinds_in_words}"
            self.input_file.refuse(element.line, "processor", message)
        quantum = element.get("quantum")
        if quantum and quantum.casefold() not in INFINITE:
            self.variables.parse_amount(quantum, element.line, "processor quantum", 0.0)
        processor = Processor(
            name,
            element.line,
            kind,
            self._multiplicity(element, kind),
            self.amount(element, "speed-factor", ONE, 1e-12),
            self.whole_number(element, "replication", 1),
        )
        self.network.add("processor", processor)
        for task in element.descendants("task"):
            self._read_task(task, name)

    def _multiplicity(self, element: XmlElement, kind: str) -> ModelAmount:
        """Return the number of servers of a processor or of threads of a task."""
        if kind == "inf":
            return ModelAmount(inf)
        return self.amount(element, "multiplicity", ONE, 1.0)

    def _read_share(self, element: XmlElement) -> None:
        """Read a group of tasks with its share of a processor."""
        processor_name = next(
            processor_element.get("name")
            for processor_element in self.root.descendants("processor")
            if element in processor_element.children
        )
        is_capped = element.get("cap").casefold() in ("1", "true", "yes")
        share = self.amount(element, "share", ONE).value
        group = ProcessorShare(element.get("name"), element.line, processor_name, share, is_capped)
        self.network.add("group", group)
        for task in element.descendants("task"):
            self.network.tasks[task.get("name")].group = group.name

    def _read_task(self, element: XmlElement, processor_name: str) -> None:
        """Read a task with its entries and activities."""
        kind = element.get("scheduling") or "fcfs"
        if kind not in TASK_KINDS:
            message = f"there is no scheduling {short(kind)}; there are {', '.join(TASK_KINDS)}"
            self.input_file.refuse(element.line, "task", message)
        task = Task(
            element.get("name"),
            element.line,
            processor_name,
            kind,
            self._multiplicity(element, kind),
            self.amount(element, "think-time", ZERO),
            self.whole_number(element, "priority", 0),
            self.whole_number(element, "replication", 1),
            self.whole_number(element, "queue-length", 0),
            self.whole_number(element, "initially", 0) if element.get("initially") else None,
        )
        self.network.add("task", task)
        for fan_element in element.descendants("fan-in"):
            task.fan_in[fan_element.get("source")] = self.whole_number(fan_element, "value", 1)
        for fan_element in element.descendants("fan-out"):
            task.fan_out[fan_element.get("dest")] = self.whole_number(fan_element, "value", 1)
        for child in element.children:
            if child.tag == "entry":
                self._read_entry(child, task)
            elif child.tag == "task-activities":
                self._read_activity_graph(child, task)

    def _read_entry(self, element: XmlElement, task: Task) -> None:
        """Read an entry of a task."""
        semaphore_kind = element.get("semaphore")
        lock_kind = element.get("rwlock")
        for text, kinds in ((semaphore_kind, SEMAPHORE_KINDS), (lock_kind, LOCK_KINDS)):
            if text and text.replace("r-", "read-").replace("w-", "write-") not in kinds:
                message = f"{short(text)} is not one of {', '.join(kinds)}"
                self.input_file.refuse(element.line, "entry", message)
        lock_kind = lock_kind.replace("r-", "read-", 1) if lock_kind.startswith("r-") else lock_kind
        lock_kind = (
            lock_kind.replace("w-", "write-", 1) if lock_kind.startswith("w-") else lock_kind
        )
        entry = LayeredEntry(
            element.get("name"),
            element.line,
            arrivals=self.amount(element, "open-arrival-rate", ZERO),
            priority=self.whole_number(element, "priority", 0),
            kind=semaphore_kind or lock_kind,
        )
        self.network.add("entry", entry, task.name)
        for child in element.descendants("forwarding"):
            probability = self.amount(child, "prob", ONE)
            entry.forwards.append((child.get("dest"), probability, child.line))
        for activities in element.descendants("entry-phase-activities"):
            for child in activities.children:
                if child.tag == "activity":
                    phase = self.whole_number(child, "phase", 1, MOST_PHASES)
                    if phase < 1 or phase in entry.phases:
                        message = f"{short(entry.name)} has phases 1 to {MOST_PHASES}, each once"
                        self.input_file.refuse(child.line, "activity", message)
                    entry.phases[phase] = self._read_work(child)

    def _read_work(self, element: XmlElement) -> Work:
        """Return the phase or the activity that an element describes."""
        call_order = element.get("call-order").upper() or CALL_ORDERS[0]
        if call_order not in CALL_ORDERS:
            message = (
                f"there is no call order {short(call_order)}; there are {', '.join(CALL_ORDERS)}"
            )
            self.input_file.refuse(element.line, "activity", message)
        work = Work(
            element.get("name") or "step",
            element.line,
            self.amount(element, "host-demand-mean", ZERO),
            self.amount(element, "host-demand-cvsq", ONE).value,
            self.amount(element, "think-time", ZERO),
            call_order == CALL_ORDERS[1],
        )
        for call in element.descendants("synch-call", "asynch-call"):
            count = self.amount(call, "calls-mean", ONE)
            if count.value or count.formula:
                waits = call.tag == "synch-call"
                work.calls.append(Call(call.get("dest"), count, call.line, waits))
        return work

    def _read_activity_graph(self, element: XmlElement, task: Task) -> None:
        """Read the activities of a task, their precedence, and their replies."""
        for child in element.children:
            if child.tag == "activity":
                name = child.get("name")
                if name in task.activities:
                    message = f"{short(name)} is defined twice; rename one"
                    self.input_file.refuse(child.line, "activity", message)
                task.activities[name] = self._read_work(child)
                if entry_name := child.get("bound-to-entry"):
                    self._set_first_activity(entry_name, name, child, task)
            elif child.tag == "precedence":
                self._read_precedence(child, task)
            elif child.tag == "reply-entry":
                for reply in child.descendants("reply-activity"):
                    task.replied_entries_by_activity.setdefault(reply.get("name"), []).append(
                        child.get("name")
                    )

    def _set_first_activity(
        self, entry: str, activity: str, element: XmlElement, task: Task
    ) -> None:
        """Record that requests to an entry begin with an activity."""
        if entry not in task.entries:
            message = f"{short(entry)} is not an entry of {short(task.name)}"
            self.input_file.refuse(element.line, "activity", message)
        if self.network.entries[entry].first_activity:
            message = f"{short(entry)} begins with two activities; take one binding out"
            self.input_file.refuse(element.line, "activity", message)
        self.network.entries[entry].first_activity = activity

    def _read_precedence(self, element: XmlElement, task: Task) -> None:
        """Read which activities of a task must end before which others start."""
        preceding_elements = [child for child in element.children if child.tag.startswith("pre")]
        following_elements = [child for child in element.children if child.tag.startswith("post")]
        preceding_activities = [
            activity.get("name")
            for precedence_element in preceding_elements
            for activity in precedence_element.descendants("activity")
        ]
        following_activities: list[tuple[str, ModelAmount]] = []
        for activity in (
            activity
            for precedence_element in following_elements
            for activity in precedence_element.descendants("activity")
        ):
            key = "count" if following_elements[0].tag == "post-LOOP" else "prob"
            following_activities.append((activity.get("name"), self.amount(activity, key, ONE)))
        join = preceding_elements[0].tag.partition("-")[2].lower() if preceding_elements else ""
        fork = following_elements[0].tag.partition("-")[2].lower() if following_elements else ""
        quorum = self.whole_number(preceding_elements[0], "quorum", 0) if preceding_elements else 0
        activity_after_loop = following_elements[0].get("end") if following_elements else ""
        precedence = Precedence(
            element.line,
            preceding_activities,
            following_activities,
            join,
            fork,
            quorum,
            activity_after_loop,
        )
        task.precedences.append(precedence)
