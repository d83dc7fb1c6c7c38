"""Layered queueing networks from the text form of LQNS (`.lqn`, `.xlqn`, `.in`).

Source: the LQN input language of LQNS 5, sections G (general), P (processors), U (groups), T
(tasks), E (entries), A (activities), R (results) and C (convergence), with variables before them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from typing import NamedTuple, NoReturn

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.imports.layered.fields import TEXT_FIELDS
from slipstick_measure.imports.layered.model import (
    CONVERGENCE,
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
from slipstick_measure.imports.layered.variables import Variables
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.readers.reading import Reading

FIRST_SECTION = r'(?m)^\s*(?:G\s*"|P\s+\d+\s*(?:#.*)?$)'
"""A regular expression for the first section of a text of LQNS: its general section, or its
processors.
"""

MOST_TOKENS = 500_000
_TOKEN = late_pattern(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"(?:\\.|[^"\\])*")|(?P<end>-1(?![\d.]))|(?P<arrow>->)
    |(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eEdD][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)
    |(?P<variable>\$\w+)|(?P<infinity>@infinity)|(?P<observed>%[a-z]+\d?)|(?P<sign>\*\*|[!<>=]=|&&|\|\||.)""",
    re.VERBOSE,
)
_PROCESSORS = {
    "f": "fcfs", "i": "inf", "r": "rand", "h": "hol", "p": "pp", "c": "cfs", "s": "ps",
}  # fmt: skip
_TASKS = {
    "b": "burst", "r": "ref", "i": "inf", "f": "fcfs", "n": "fcfs", "h": "hol", "P": "poll",
    "p": "pri", "W": "rwlock", "S": "semaphore", "u": "uniform",
}  # fmt: skip
_ENTRY_KINDS = {
    "P": "wait", "V": "signal", "R": "read-lock", "U": "read-unlock", "W": "write-lock",
    "X": "write-unlock",
}  # fmt: skip


class TextToken(NamedTuple):
    """A token of the file with its line and its position in the text."""

    kind: str
    text: str
    line: int
    start: int


def is_lqn_text(input_file: Reading) -> bool:
    """Return whether a file is a layered network in the text form."""
    return (
        re.search(FIRST_SECTION, input_file.text) is not None
        and re.search(r"(?m)^[ \t]*+T\s+\d+", input_file.text) is not None
    )


def read_text(input_file: Reading, file_losses: FileLosses) -> tuple[LayeredNetwork, Variables]:
    """Read a layered queueing network.

    Raises
    ------
    SpecError : a text that is no layered network, at the line of the error
    """
    reader = _TextReader(input_file, file_losses)
    reader.read_file()
    reader.network.check()
    return reader.network, reader.variables


class _TextReader:
    """A reader of the tokens of one file, section by section."""

    def __init__(self, input_file: Reading, file_losses: FileLosses) -> None:
        self.input_file = input_file
        self.file_losses = file_losses
        self.network = LayeredNetwork(input_file)
        self.variables = Variables(input_file)
        self.tokens = self._tokens()
        self.position = 0
        self._fan_rows: list[tuple[str, list[TextToken], int]] = []

    def _tokens(self) -> list[TextToken]:
        """Return the tokens of the file with their lines, followed by a token for its end."""
        tokens: list[TextToken] = []
        line = 1
        last_start = 0
        for match in _TOKEN.finditer(self.input_file.text):
            line += self.input_file.text.count("\n", last_start, match.start())
            last_start = match.start()
            kind = str(match.lastgroup)
            if kind != "space":
                tokens.append(TextToken(kind, match[0], line, match.start()))
            if len(tokens) > MOST_TOKENS:
                self.input_file.refuse(line, "", f"more than {MOST_TOKENS:,} words; solve a part")
        return [*tokens, TextToken("eof", "the end of the file", line, len(self.input_file.text))]

    @property
    def next_token(self) -> TextToken:
        """The next token, which is not yet consumed."""
        return self.tokens[self.position]

    def refuse(self, expected: str) -> NoReturn:
        """Raise a SpecError at the next token, with what was expected in its place."""
        cut_off_hint = "; is the file cut off?" if self.next_token.kind == "eof" else ""
        self.input_file.refuse(
            self.next_token.line,
            "",
            f"here stands {short(self.next_token.text)}, where {expected} is due{cut_off_hint}",
        )

    def take(self, expected: str, *kinds: str) -> TextToken:
        """Return the next token and move beyond it; raise if it is of none of the given kinds."""
        if self.next_token.kind not in kinds:
            self.refuse(expected)
        self.position += 1
        return self.tokens[self.position - 1]

    def take_sign(self, *texts: str) -> bool:
        """Move beyond the next token if it is one of the given signs or letters; return whether it
        is.
        """
        is_present = self.next_token.text in texts and self.next_token.kind in (
            "sign",
            "name",
            "arrow",
        )
        self.position += is_present
        return is_present

    def take_name(self, subject: str) -> TextToken:
        """Return the next token, which must be a name or a number that serves as a name."""
        return self.take(f"the name of {subject}", "name", "number")

    def take_amount(self, subject: str, least: float | None = 0.0) -> ModelAmount:
        """Read a number, a variable, or a formula in braces."""
        token = self.next_token
        if token.kind == "sign" and token.text == "{":
            first_position = self.position + 1
            while self.next_token.text != "}":
                if self.next_token.kind == "eof":
                    self.refuse("}")
                self.position += 1
            text = self.input_file.text[self.tokens[first_position].start : self.next_token.start]
            self.position += 1
        else:
            text = self.take(subject, "number", "variable", "infinity", "name").text
            text = re.sub(r"[dD]", "e", text) if token.kind == "number" else text
        return self.variables.parse_amount(text, token.line, subject, least)

    def take_whole_number(self, subject: str) -> int:
        """Read a whole number."""
        token = self.next_token
        amount = self.take_amount(subject)
        if amount.value != int(amount.value if amount.value < inf else 0):
            self.input_file.refuse(token.line, subject, f"{token.text} is no whole number")
        return int(amount.value)

    def skip_observed_values(self) -> None:
        """Skip the quantities that a model wants to be printed, such as %u $load."""
        while self.next_token.kind == "observed":
            self.position += 1
            if self.next_token.kind == "number":
                self.position += 1
            while self.next_token.kind == "variable":
                self.position += 1

    def read_file(self) -> None:
        """Read the assignments of variables and then all sections of the file."""
        self._read_assignments()
        sections: dict[str, Callable[[], None]] = {
            "G": self._skip_solver_settings,
            "P": lambda: self._read_section("P", self._read_processor, d=self._read_delay),
            "U": lambda: self._read_section("U", self._read_share),
            "T": lambda: self._read_section(
                "T", self._read_task, I=self._read_fan, O=self._read_fan
            ),
            "E": lambda: self._read_section(
                "E", self._read_entry, i=self._read_fan, o=self._read_fan
            ),
            "A": self._read_activities,
            "R": self._skip_results,
            "C": self._skip_convergence,
        }
        while self.next_token.kind != "eof":
            letter_token = self.take("a section: G, P, U, T, E, A, R or C", "name")
            if letter_token.text not in sections:
                self.position -= 1
                self.refuse("a section: G, P, U, T, E, A, R or C")
            sections[letter_token.text]()
        self._set_fans()

    def _read_assignments(self) -> None:
        """Read assignments `$name = formula`; each ends at the next assignment or at the first
        section.
        """
        while self.next_token.kind == "variable":
            variable = self.take("a variable", "variable")
            if not self.take_sign("="):
                self.refuse("=")
            first_position = self.position
            while self.next_token.kind != "eof" and not self._ends_assignment():
                self.position += 1
            text = self.input_file.text[self.tokens[first_position].start : self.next_token.start]
            text = re.sub(r"#[^\n]*", "", text).strip().rstrip(";")
            if variable.text.startswith(("$solver", "$spex_", "$convergence", "$iteration")):
                continue
            self.variables.assign(variable.text, text.strip('"'), variable.line)

    def _ends_assignment(self) -> bool:
        """Return whether the next token begins another assignment or a section."""
        next_but_one = (
            self.tokens[self.position + 1]
            if self.position + 1 < len(self.tokens)
            else self.next_token
        )
        if self.next_token.kind == "variable":
            return next_but_one.text == "="
        is_section_letter = self.next_token.kind == "name" and self.next_token.text in ("G", "P")
        return is_section_letter and next_but_one.kind in ("text", "number")

    def _skip_solver_settings(self) -> None:
        """Skip the general section, with a comment and the settings of the solver."""
        self.take("a comment in quotes", "text")
        while self.next_token.kind not in ("end", "eof"):
            self.position += 1
        self.take("-1", "end")
        self.skip_observed_values()

    def _read_section(
        self,
        section: str,
        read_row: Callable[[str], None],
        **special_readers: Callable[[str], None],
    ) -> None:
        """Read the rows of a section up to the `-1` that ends it. A row begins with a letter of
        `TEXT_FIELDS`; `read_row` reads it unless `special_readers` has a function for its letter.
        """
        reader_by_letter = {
            letter: special_readers.get(letter, read_row) for letter in TEXT_FIELDS[section]
        }
        if self.next_token.kind == "number":
            self.position += 1
        while self.next_token.kind != "end":
            letter_token = self.take(
                f"{' or '.join(reader_by_letter)}, or -1 at the end of the section", "name"
            )
            if letter_token.text not in reader_by_letter:
                self.position -= 1
                self.refuse(f"{' or '.join(reader_by_letter)}, or -1 at the end of the section")
            reader_by_letter[letter_token.text](letter_token.text)
            self.skip_observed_values()
        self.position += 1

    def _read_processor(self, letter: str) -> None:
        """Read a processor."""
        token = self.take_name("a processor")
        kind_token = self.take("the scheduling of the processor", "name")
        if kind_token.text not in _PROCESSORS:
            self.position -= 1
            self.refuse(f"a scheduling of {token.text}, one of {', '.join(_PROCESSORS)},")
        processor = Processor(token.text, token.line, _PROCESSORS[kind_token.text])
        processor.servers = ModelAmount(inf) if processor.kind == "inf" else processor.servers
        if self.next_token.kind in ("number", "variable"):
            self.take_amount("a quantum")
            self.file_losses.declare("quantum", token.line)
        while self.next_token.kind == "name" and self.next_token.text in ("i", "m", "r", "R"):
            option = self.take("an option", "name").text
            if option == "i":
                processor.servers = ModelAmount(inf)
            elif option == "m":
                processor.servers = self.take_amount("the number of servers", 1.0)
            elif option == "r":
                processor.replicas = self.take_whole_number("the number of copies")
            else:
                processor.speed = self.take_amount("the speed", 1e-12)
        self.network.add("processor", processor)

    def _read_delay(self, letter: str) -> None:
        """Read a communication delay between two processors; a spec cannot express it."""
        processor_tokens = [self.take_name("a processor") for _ in range(2)]
        if self.take_amount("a delay").value:
            self.network.delays.append(
                (" to ".join(token.text for token in processor_tokens), processor_tokens[0].line)
            )

    def _read_share(self, letter: str) -> None:
        """Read a group of tasks with its share of a processor."""
        group_token = self.take_name("a group")
        share_amount = self.take_amount("a share")
        is_capped = self.take_sign("c")
        processor = self.take_name("a processor").text
        self.network.add(
            "group",
            ProcessorShare(
                group_token.text, group_token.line, processor, share_amount.value, is_capped
            ),
        )

    def _read_task(self, letter: str) -> None:
        """Read a task with its entries and options."""
        token = self.take_name("a task")
        kind_token = self.take("the scheduling of the task", "name")
        if kind_token.text not in _TASKS:
            self.position -= 1
            self.refuse(f"a scheduling of {token.text}, one of {', '.join(_TASKS)},")
        entries: list[TextToken] = []
        while self.next_token.kind != "end":
            entries.append(self.take_name("an entry, or -1 after the last one"))
        self.position += 1
        processor = self.take_name("a processor").text
        task = Task(token.text, token.line, processor, _TASKS[kind_token.text])
        task.threads = ModelAmount(inf) if task.kind == "inf" else task.threads
        self.network.add("task", task)
        for entry in entries:
            self.network.add("entry", LayeredEntry(entry.text, entry.line), task.name)
        while True:
            if self.next_token.kind in ("number", "variable"):
                task.priority = self.take_whole_number("a priority")
            elif self.next_token.kind == "name" and self.next_token.text in (
                "T",
                "g",
                "i",
                "m",
                "q",
                "r",
                "z",
            ):
                self._set_task_option(task, self.take("an option", "name").text)
            else:
                break

    def _set_task_option(self, task: Task, option: str) -> None:
        """Set the option of a task that a letter stands for, from the next tokens."""
        if option == "T":
            task.tokens = self.take_whole_number("the tokens at the start")
        elif option == "g":
            task.group = self.take_name("a group").text
        elif option == "i":
            task.threads = ModelAmount(inf)
        elif option == "m":
            task.threads = self.take_amount("the number of threads", 1.0)
        elif option == "q":
            task.queue_length = self.take_whole_number("the length of the queue")
        elif option == "r":
            task.replicas = self.take_whole_number("the number of copies")
        else:
            task.think_time = self.take_amount("a think time")

    def _read_fan(self, letter: str) -> None:
        """Read the number of replicas of a task that each replica of another task calls. In files
        from before 1996 the row is in the section of entries and names two entries.
        """
        name_tokens = [self.take_name("a task") for _ in range(2)]
        replica_count = self.take_whole_number("a number of copies")
        if letter.islower():
            self.take("-1", "end")
        self._fan_rows.append((letter, name_tokens, replica_count))

    def _set_fans(self) -> None:
        """Set the number of replicas that each task calls of another, after all tasks were read."""
        task_by_entry = {
            entry_name: task.name
            for task in self.network.tasks.values()
            for entry_name in task.entries
        }
        for letter, name_tokens, replica_count in self._fan_rows:
            known_names = self.network.tasks if letter.isupper() else task_by_entry
            element_kind = "task" if letter.isupper() else "entry"
            for name_token in name_tokens:
                if name_token.text not in known_names:
                    self.input_file.refuse(
                        name_token.line,
                        letter,
                        f"there is no {element_kind} {short(name_token.text)}",
                    )
            source, target = (name_token.text for name_token in name_tokens)
            if letter.islower():
                source, target = task_by_entry[source], task_by_entry[target]
            if letter.upper() == "I":
                self.network.tasks[target].fan_in[source] = replica_count
            else:
                self.network.tasks[source].fan_out[target] = replica_count

    def _read_entry(self, letter: str) -> None:
        """Read a row of the section of entries, whose letter says what it states."""
        token = self.take_name("an entry")
        entry = self.network.entries.get(token.text)
        if entry is None:
            self.input_file.refuse(token.line, letter, f"there is no entry {short(token.text)}")
        if letter in _ENTRY_KINDS:
            entry.kind = _ENTRY_KINDS[letter]
        elif letter == "a":
            entry.arrivals = self.take_amount("a rate of arrivals")
        elif letter == "A":
            first_activity = self.take_name("an activity").text
            if entry.first_activity:
                message = f"{short(entry.name)} begins with two activities; take one out"
                self.input_file.refuse(token.line, "A", message)
            entry.first_activity = first_activity
        elif letter == "p":
            entry.priority = self.take_whole_number("a priority")
        elif letter == "H":
            self._skip_histogram()
        elif letter == "F":
            target_token = self.take_name("an entry")
            entry.forwards.append(
                (target_token.text, self.take_amount("a probability"), target_token.line)
            )
            self.take("-1", "end")
        else:
            target = self.take_name("an entry").text if letter in "yz" else ""
            for phase, amount in enumerate(self._read_phases(), 1):
                work = entry.phases.setdefault(phase, Work(f"{entry.name}_{phase}", token.line))
                self._set_value(work, letter, target, amount, token.line)

    def _read_phases(self) -> list[ModelAmount]:
        """Read up to three amounts, one for each phase, and the ``-1`` that ends the list."""
        amounts: list[ModelAmount] = []
        while self.next_token.kind != "end":
            if len(amounts) == 3:
                self.refuse("-1 after the third phase")
            amounts.append(self.take_amount("an amount of a phase"))
        self.position += 1
        return amounts

    def _skip_histogram(self) -> None:
        """Skip a range of times, first : last, with the number and the spacing of its bins."""
        while self.next_token.kind in ("number", "infinity"):
            self.position += 1
        if not self.take_sign(":"):
            self.refuse(":")
        while self.next_token.kind in ("number", "infinity"):
            self.position += 1
        self.position += self.next_token.text in ("log", "linear", "sqrt")

    def _set_value(
        self, work: Work, letter: str, target: str, amount: ModelAmount, line: int
    ) -> None:
        """Set the value of a phase or an activity that a row with a letter states."""
        if letter == "s":
            work.demand = amount
        elif letter == "c":
            work.scv = amount.value
        elif letter == "f":
            work.has_whole_calls = amount.value == 1
        elif letter == "Z":
            work.think_time = amount
        elif letter in "yz" and (amount.value or amount.formula):
            work.calls.append(Call(target, amount, line, letter == "y"))

    def _read_activities(self) -> None:
        """Read the activities of a task and, after a colon, their precedence."""
        token = self.take_name("a task")
        task = self.network.tasks.get(token.text)
        if task is None:
            self.input_file.refuse(token.line, "A", f"there is no task {short(token.text)}")
        while self.next_token.kind == "name" and self.next_token.text in TEXT_FIELDS["A"]:
            letter_token = self.take("a row", "name")
            activity = self.take_name("an activity")
            work = task.activities.setdefault(activity.text, Work(activity.text, activity.line))
            if letter_token.text == "H":
                self._skip_histogram()
                continue
            target = self.take_name("an entry").text if letter_token.text in "yz" else ""
            self._set_value(
                work, letter_token.text, target, self.take_amount("an amount"), letter_token.line
            )
            self.skip_observed_values()
        if self.take_sign(":"):
            self._read_connections(task)
        self.take("-1 at the end of the activities", "end")
        if self.next_token.kind == "name" and self.next_token.text in TEXT_FIELDS["A"]:
            message = (
                f"the -1 before this row ends the activities of {short(task.name)}; rows of"
                " activities have no -1, unlike those of entries: write it once, after the last one"
            )
            self.input_file.refuse(self.next_token.line, self.next_token.text, message)

    def _read_connections(self, task: Task) -> None:
        """Read the precedences of the activities of a task, up to the `-1` that ends them."""
        while self.next_token.kind != "end":
            line = self.next_token.line
            preceding_activities, join, quorum = self._read_left_side(task)
            following_activities = list[tuple[str, ModelAmount]]()
            fork = ""
            activity_after_loop = ""
            if self.take_sign("->"):
                following_activities, fork, activity_after_loop = self._read_right_side(task)
            task.precedences.append(
                Precedence(
                    line,
                    preceding_activities,
                    following_activities,
                    join,
                    fork,
                    quorum,
                    activity_after_loop,
                )
            )
            if not self.take_sign(";") and self.next_token.kind != "end":
                self.refuse("; or -1")

    def _read_activity(self, task: Task) -> str:
        """Read the name of an activity of a task; raise if there is no such activity."""
        token = self.take_name("an activity")
        if token.text not in task.activities:
            message = f"{short(task.name)} has no activity {short(token.text)}"
            self.input_file.refuse(token.line, "A", message)
        return token.text

    def _read_left_side(self, task: Task) -> tuple[list[str], str, int]:
        """Read the left side of a precedence: the names of activities, with their replies; how they
        join ("and", "or" or empty); and how many of them suffice (0: all).
        """
        names = list[str]()
        join_kind = ""
        quorum = 0
        while True:
            names.append(self._read_activity(task))
            while self.take_sign("["):
                replies = task.replied_entries_by_activity.setdefault(names[-1], [])
                replies.append(self.take_name("an entry").text)
                while self.take_sign(","):
                    replies.append(self.take_name("an entry").text)
                if not self.take_sign("]"):
                    self.refuse("]")
            if self.take_sign("("):
                quorum = self.take_whole_number("a quorum")
                if not self.take_sign(")"):
                    self.refuse(")")
            if self.take_sign("&"):
                join_kind = "and"
            elif self.take_sign("+"):
                join_kind = "or"
            else:
                return names, join_kind, quorum

    def _read_right_side(self, task: Task) -> tuple[list[tuple[str, ModelAmount]], str, str]:
        """Read the right side of a precedence: activities with their probabilities or counts; how
        they fork ("and", "or", "loop" or empty); and the activity after a loop.
        """
        following_activities = list[tuple[str, ModelAmount]]()
        fork_kind = ""
        while True:
            probability_or_count = ModelAmount(1.0)
            if self.take_sign("("):
                probability_or_count = self.take_amount("a probability")
                fork_kind = "or"
                if not self.take_sign(")"):
                    self.refuse(")")
            elif (
                self.next_token.kind in ("number", "variable")
                and self.tokens[self.position + 1].text == "*"
            ):
                probability_or_count = self.take_amount("a count")
                self.position += 1
                fork_kind = "loop"
            elif fork_kind == "loop":
                return following_activities, fork_kind, self._read_activity(task)
            following_activities.append((self._read_activity(task), probability_or_count))
            if self.take_sign("&"):
                fork_kind = "and"
            elif not self.take_sign("+", ","):
                return following_activities, fork_kind, ""

    def _skip_results(self) -> None:
        """Skip the section of results to print."""
        while self.next_token.kind not in ("end", "eof"):
            self.position += 1
        self.take("-1", "end")

    def _skip_convergence(self) -> None:
        """Raise a SpecError: slipstick has no counterpart to a section on convergence."""
        self.input_file.refuse(self.next_token.line, "C", CONVERGENCE)
