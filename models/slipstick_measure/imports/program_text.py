"""Programs in R, Python, C, Java, Perl, Ruby, PHP or JavaScript, read as far as they build a model:
assignments of numbers and names, loops over ranges, and calls of named functions. The program is
not executed. A value that cannot be determined stays unknown, and is refused if a model needs it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple

from slipstick.late import dataclass, field, late_pattern, replace
from slipstick_measure.readers.reading import Reading

MOST_STATEMENTS = 200_000
"""Statements that are gone through, those of loops each time."""
MOST_DEPTH = 60
MOST_COMPREHENDED = 1_000_000
"""Variables of all passes of a comprehension together."""


class ProgramInteger(float):
    """A whole number in a language whose division of whole numbers leaves out the remainder."""


class Dialect(NamedTuple):
    """The rules by which programming languages differ.

    Parameters
    ----------
    first_index : index of the first item of a list
    divides_whole_numbers : whether 7 / 2 is 3, as where whole numbers are divided without remainder
    has_slash_comments : whether // begins a comment
    insert_sign : sign before a name in a text in double quotes that holds its value: $ where a
        point joins texts, # before an expression in braces
    """

    first_index: int
    divides_whole_numbers: bool
    has_slash_comments: bool
    insert_sign: str = ""

    @property
    def is_python(self) -> bool:
        """Whether braces hold a dictionary and no statements."""
        return not (self.first_index or self.has_slash_comments or self.insert_sign)

    @property
    def is_ruby(self) -> bool:
        """Whether blocks end with a word."""
        return self.insert_sign == "#"


ProgramValue = float | str | list[Any] | dict[Any, Any] | None
"""A number, a text, a list, a dictionary of Python, or what is not known."""

_TOKEN = late_pattern(
    r"(?<!\s)\s*+(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)[lLfF]?"
    r"|(?P<text>[fr]?\"(?:\\.|[^\"\\])*+\"|[fr]?'(?:\\.|[^'\\])*+')"
    r"|(?P<open>[fr]?[\"'](?s:.)*+)"
    r"|(?P<name>[$@]?[A-Za-z_](?:[\w]|\.(?=[A-Za-z_])|::)*+)"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|&&|\|\||<-|.))"
)
_FOR = late_pattern(
    r"(?:for|foreach)\s*+(?P<open>\(?)\s*+(?:my\s++)?"
    r"\$?(?P<name>\w++(?:\s*+,\s*+\w++)*+)\s++in\s++(?P<of>.+)"
    r"|foreach\s++(?:my\s++)?\$(?P<each>\w++)\s*+\(\s*+(?P<list>.+)\)$"
    r"|for\s*+\(\s*+(?P<type>(?:(?:int|long|float|double|unsigned|my|var|let|auto)\s++)*+)"
    r"\$?(?P<counter>\w++)\s*+=\s*+(?P<first>[^;]++);"
    r"\s*+\$?\w++\s*+(?P<until>[<>]=?)\s*+(?P<last>[^;]++);(?P<step>[^;]*)\)$",
    re.DOTALL,
)
_PYTHON_BLOCK = late_pattern(
    r"^[ \t]*+(?:for|while|if|def)\b[^\n{]*:[ \t\r]*+(?:#.*)?$", re.MULTILINE
)
_APPLY = late_pattern(r"[sl]apply\s*+\(")
_FUNCTION_OF_APPLY = late_pattern(r",\s*+function\s*+\(\s*+(?P<name>\w++)\s*+\)$")
_CONDITION = late_pattern(
    r"(?P<word>if|while|elif|else\s++if)\s*+(?P<open>\(?)(?P<of>.+)", re.DOTALL
)
_TYPE_WORDS = (
    "const|static|final|public|private|unsigned|float|double|int|long|char|String|my|our|var"
    "|let|auto"
)
_ASSIGNMENT = late_pattern(
    rf"(?P<types>(?:(?:{_TYPE_WORDS})(?:\s*+\[\]\s*+|\s++))*+)\*?[$@]?"
    r"(?P<name>[A-Za-z_][\w.]*+)\s*+(?:\[(?P<at>[^\]]++)\]|\[\])?\s*+"
    r"(?P<how><<-|<-|[-+*/]?=(?!=))\s*+(?P<of>.+)$",
    re.DOTALL,
)
_DECLARATION = late_pattern(
    rf"(?P<types>(?:(?:{_TYPE_WORDS})(?:\s*+\[\]\s*+|\s++))++)(?P<of>.+)$",
    re.DOTALL,
)
_LIST_HEADER = late_pattern(
    rf"(?:(?:{_TYPE_WORDS})(?:\s*+\[\]\s*+|\s++))*+\*?(?P<name>\w++)\s*+(?:\[[^\]]*+\]\s*+)?=\s*+"
    r"(?:new\s++\w++\s*+\[\s*+\]\s*+)?$"
)
"""What stands before the items of a list between braces."""

_DEFINE = late_pattern(r"^[ \t]*+#[ \t]*+define[ \t]++(\w++)[ \t]++([^\n]+)$", re.MULTILINE)
_NEXT_BRACE = late_pattern(r"(?:\s|(?://|#)[^\n]*+\n)*+\{")
"""What a brace in a line of its own looks like from the end of the line before it."""

_TEXT_FUNCTION = late_pattern(
    r"(?P<how>snprintf|sprintf|strcpy|strcat)\s*+\(\s*+(?P<name>\w++)\s*+,\s*+(?P<of>.+)\)$",
    re.DOTALL,
)
"""Functions of C that write a text into a variable."""

_INCREMENT = late_pattern(r"(?:\+\+|--)\s*+[$]?(\w++)$|[$]?(\w++)\s*+(?:\+\+|--)$")
"""A statement that adds one to a variable, or takes one away."""

_TEXT_OR_COMMENT = late_pattern(
    r"\"{3}(?s:.)*?\"{3}|'{3}(?s:.)*?'{3}|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?"
    r"|(?:#(?!include|define)|//)[^\n]*+"
)
"""Texts, of which one that does not end ends with its line, and comments."""

_MULTIPLE_ASSIGNMENT = late_pattern(
    r"(?P<names>\w++(?:\s*+,\s*+\w++)++)\s*+=(?!=)\s*+(?P<of>.+)$", re.DOTALL
)
_CHANGE = late_pattern(
    r"(?P<name>\w++)\s*+\.\s*+(?P<method>\w++)\s*+\((?P<of>.*)\)$"
    r"|(?:del|delete|push|unshift|splice|pop|shift)\b\s*+\(?[\s$@%]*+(?P<changed>\w++)"
    r"|[$@]?(?P<item>\w++)\s*+(?:\[[^\]]*+\]\s*+){2,}[-+*/]?=(?!=)"
    r"|[$@]?(?P<result>\w++)\s*+(?:\[[^\]]*+\]\s*+)?(?:\*\*|//|%|<<|>>|&|\||\^)=(?!=)"
    r"|(?P<list>\w++)\s*+<<\s",
    re.DOTALL,
)
"""A statement that changes a variable otherwise than by an assignment that is read."""
_REMOVAL = late_pattern(r"\b(?P<name>\w++)\s*+\.\s*+(?:pop|popitem|shift|remove|setdefault)\s*+\(")
"""A call within an expression that changes a list or a dictionary."""
_LEAVE = late_pattern(
    r"(?P<how>break|last|continue|next)\s*+(?P<if>(?:if|unless)\b.*)?$", re.DOTALL
)
"""What ends a loop or a pass of it."""
_HANDLER = late_pattern(r"[)}\s]*+(?:except|catch|rescue)\b")
"""What begins a block that only an error executes."""
_ASSIGNED_CALL = late_pattern(
    r"^(?:(?:const|static|int|double)\s++)*[$]?[\w.:]++\s*+(?:<-|=)\s*+"
    r"(?=(?:PDQ_|(?i:pdq)(?:::|\.))?(?:Create|Set|Init|Solve))"
)
_CALL = late_pattern(
    r"(?P<module>PDQ_|\w++(?:::|\.|->))?(?P<name>(?:[A-Z]|create|set|init|solve)[A-Za-z]*+(?:_p\b)?)"
    r"\s*+\((?P<given>.*)\)$",
    re.DOTALL,
)


_QUALIFIER = late_pattern(
    r"^[$@]*(?:(?i:pdq)(?:\.|::)|(?:Node|QDiscipline|Methods|Job)\.(?=[A-Z]+$))?"
)
"""What stands before a name of PDQ: a module, or the class of constants in Java."""


class NotKnownError(ValueError):
    """Raised for an expression whose value is unknown."""


class CalledFunction(NamedTuple):
    """A call with the known values of its arguments, their texts, and the module or object before
    the name.
    """

    name: str
    values: list[ProgramValue]
    texts: list[str]
    line: int
    module: str = ""
    is_certain: bool = True


@dataclass
class _Statement:
    """A statement of a program, with the statements of its block."""

    text: str
    line: int
    block: list[_Statement] = field(default_factory=list)


@dataclass
class ProgramText:
    """Reader of a program that follows its statements.

    Parameters
    ----------
    input_file : its file, whose hints hold values that are set beside it
    last_function : the function that ends the model
    """

    input_file: Reading
    last_function: str
    value_by_variable: dict[str, ProgramValue] = field(default_factory=dict)
    loop_state_by_variable: dict[str, tuple[ProgramValue, int, int]] = field(default_factory=dict)
    line_by_variable: dict[str, int] = field(default_factory=dict)
    _statement_count: int = 0
    _has_stopped: bool = False
    _loop_depth: int = 0
    _block_being_left: str = ""
    _may_have_left: bool = False

    def __post_init__(self) -> None:
        self.dialect = _dialect(self.input_file.text)
        self.type_words_by_variable: dict[str, str] = {}
        self.value_by_variable["__name__"] = "__main__"
        self.value_by_variable |= dict.fromkeys(("True", "true", "TRUE"), 1.0)
        for name, value_text in self.input_file.hints.settings.items():
            self.value_by_variable[name] = self.value(value_text)

    def calls(self) -> Iterator[CalledFunction]:
        """Yield the calls in the order in which the program makes them, up to the call of
        `last_function`.
        """
        yield from self._calls_of_block(_nested_statements(self.input_file.text, self.dialect), 0)

    def value(self, text: str) -> ProgramValue:
        """Return the value of an expression; None where it depends on something unknown."""
        try:
            return _Expression(text, self.value_by_variable, self.dialect).complete_value()
        except (ValueError, ArithmeticError, IndexError, TypeError, KeyError, RecursionError):
            return None

    def _calls_of_block(self, block: list[_Statement], depth: int) -> Iterator[CalledFunction]:
        """Yield the calls of a block of statements, up to the end of the model."""
        was_branch_taken: ProgramValue = 0.0
        for statement in block:
            self._statement_count += 1
            if self._has_stopped or self._statement_count > MOST_STATEMENTS or depth > MOST_DEPTH:
                return
            if leave_match := _LEAVE.match(statement.text.strip()):
                ends_loop = leave_match["how"] in ("break", "last")
                if self._loop_depth and leave_match["if"]:
                    self._may_have_left = True
                elif self._loop_depth:
                    self._block_being_left = "loop" if ends_loop else "pass"
                    return
                continue
            if _HANDLER.match(statement.text.strip()):
                continue  # no error is taken to occur
            if re.match(r"[)\s]*+(?:else|elif|elsif)\b", statement.text):
                if was_branch_taken == 1.0:
                    continue
                was_branch_taken = yield from self._calls_of_condition(
                    statement, depth, was_branch_taken
                )
            elif re.match(r"if\b", statement.text.strip()):
                was_branch_taken = yield from self._calls_of_condition(statement, depth, 0.0)
            elif match := statement.block and _LIST_HEADER.match(statement.text.strip()):
                block_text = " ".join(inner_statement.text for inner_statement in statement.block)
                if match["name"] not in self.input_file.hints.settings:
                    self.value_by_variable[match["name"]] = [
                        self.value(argument) for argument in _split_arguments(block_text)
                    ]
            elif statement.block:
                yield from self._calls_of_loop_or_branch(statement, depth)
            else:
                for call in self._calls_of_simple_statement(statement):
                    yield call._replace(is_certain=False) if self._may_have_left else call
            if self._block_being_left:
                return

    def _calls_of_condition(
        self, statement: _Statement, depth: int, was_taken: ProgramValue
    ) -> Generator[CalledFunction, None, ProgramValue]:
        """Yield the calls of a conditional branch if it is or may be executed; return 1.0 if this
        or an earlier branch of the statement is executed, 0.0 if none is, None if that is unknown.
        """
        match = _CONDITION.search(statement.text.strip())
        condition_value = self.value(_bare_condition(match)) if match else 1.0
        condition_value = None if was_taken is None and condition_value != 0.0 else condition_value
        if condition_value == 0.0:
            return was_taken
        block = statement.block
        if not block and match is None:
            return was_taken
        if condition_value is not None:
            yield from self._calls_of_block(block, depth + 1)
            return 1.0
        values_before = deepcopy(self.value_by_variable)  # items of lists change in place
        for call in self._calls_of_block(block, depth + 1):
            yield call._replace(is_certain=False)
        self._may_have_left |= bool(self._block_being_left)
        self._block_being_left = ""
        changed_names = {
            name
            for name in self.value_by_variable
            if self.value_by_variable[name] != values_before.get(name)
        }
        self.value_by_variable |= dict.fromkeys(changed_names)
        return None

    def _calls_of_loop_or_branch(
        self, statement: _Statement, depth: int
    ) -> Iterator[CalledFunction]:
        """Yield the calls of all iterations of a loop, or of another statement with a block."""
        header = statement.text.strip()
        name, values = self._loop_variable_and_values(header)
        if name:
            values = (
                [self.value_by_variable[name]] if name in self.input_file.hints.settings else values
            )
            for iteration, value in enumerate(values, 1):
                if self._has_stopped:
                    return
                for variable, target_value in _values_of_targets(name, value):
                    self.value_by_variable[variable] = target_value
                    self.loop_state_by_variable[variable] = target_value, iteration, len(values)
                yield from self._calls_of_pass(statement.block, depth + 1)
                if self._has_left_loop():
                    break
            self._may_have_left &= self._loop_depth > 0
            return
        match = _CONDITION.match(header)
        if match is None or match["word"] != "while":
            yield from self._calls_of_block(statement.block, depth + 1)
            if re.match(r"switch\b", header):
                self._block_being_left = ""
            return
        condition = _bare_condition(match)
        counter_name = next(
            (name for name in re.findall(r"\w+", condition) if name in self.value_by_variable), ""
        )
        iteration = 0
        while not self._has_stopped and self._statement_count <= MOST_STATEMENTS:
            condition_value = self.value(condition)
            if condition_value == 0.0:
                return
            iteration += 1
            self.loop_state_by_variable[counter_name] = (
                self.value_by_variable.get(counter_name),
                iteration,
                iteration + 1,
            )
            yield from self._calls_of_pass(statement.block, depth + 1)
            if self._has_left_loop() or condition_value is None:
                return

    def _calls_of_pass(self, block: list[_Statement], depth: int) -> Iterator[CalledFunction]:
        """Yield the calls of one iteration of a loop."""
        self._loop_depth += 1
        yield from self._calls_of_block(block, depth)
        self._loop_depth -= 1

    def _has_left_loop(self) -> bool:
        """Return whether a statement of the last iteration ended the loop; forget that it did."""
        has_left = self._block_being_left == "loop"
        self._block_being_left = ""
        return has_left

    def _loop_variable_and_values(self, header: str) -> tuple[str, list[ProgramValue]]:
        """Return the variable of a loop over values, and these values; an empty name and no values
        for other statements.
        """
        if (match := _FOR.match(header)) is None:
            start_match = _APPLY.search(header)
            apply_match = _FUNCTION_OF_APPLY.search(header)
            if start_match is None or apply_match is None:
                return "", []
            item_values = self.value(header[start_match.end() : apply_match.start()])
            return apply_match["name"], item_values if isinstance(item_values, list) else [
                item_values
            ]
        groups = match.groupdict()
        if groups.get("counter"):
            return groups["counter"], self._values_of_counting_loop(match)
        name = groups.get("name") or groups.get("each") or ""
        values = self.value(groups["list"] or _bare_condition(match))
        values = [*values] if isinstance(values, dict) else values
        return name, values if isinstance(values, list) else [values]

    def _values_of_counting_loop(self, match: re.Match[str]) -> list[ProgramValue]:
        """List the values that the variable of a loop takes, from its start, its condition and its
        step as in C; None stands for values that are unknown.
        """
        name = match["counter"]
        comparison_sign = match["until"]
        first_value = self.value(match["first"])
        last_value = self.value(match["last"])
        if not isinstance(first_value, float) or not isinstance(last_value, float):
            return [None]
        if re.search("float|double", match["type"]):
            first_value = float(first_value)
        next_value_text = _next_value_expression(name, match["step"])
        value_before = self.value_by_variable.get(name)
        values: list[ProgramValue] = []
        value: ProgramValue = first_value
        while isinstance(value, float) and len(values) < MOST_STATEMENTS:
            if not _result_of_operation(comparison_sign, value, last_value):
                break
            values.append(value)
            self.value_by_variable[name] = value
            next_value = self.value(next_value_text)
            if next_value is None or next_value == value:
                values.append(None)  # how it goes on is not known
                break
            value = next_value
        self.value_by_variable[name] = value_before
        return values

    def _calls_of_simple_statement(self, statement: _Statement) -> Iterator[CalledFunction]:
        """Execute an assignment or a declaration without a block; yield the call if the statement
        is a call.
        """
        text = statement.text.strip()
        if (declaration_match := _DECLARATION.match(text)) and len(
            declarator_texts := _split_arguments(declaration_match["of"])
        ) > 1:
            for declarator in declarator_texts:
                single_declaration = _Statement(
                    f"{declaration_match['types']} {declarator}", statement.line
                )
                yield from self._calls_of_simple_statement(single_declaration)
            return
        if declaration_match and re.fullmatch(r"\w++", declaration_match["of"].strip()):
            self.type_words_by_variable[declaration_match["of"].strip()] = declaration_match[
                "types"
            ]
            return
        if assignment_match := _MULTIPLE_ASSIGNMENT.match(text):
            value_texts = _split_arguments(assignment_match["of"])
            self._assign_several(assignment_match["names"].split(","), value_texts)
            return
        if (change_match := _CHANGE.match(text)) and self._apply_change(change_match):
            return
        if increment_match := _INCREMENT.match(text):
            name = increment_match[1] or increment_match[2]
            text = f"{name} = {_next_value_expression(name, text)}"
        if call_match := _CALL.match(_ASSIGNED_CALL.sub("", text)):
            argument_texts = _split_arguments(call_match["given"])
            name = call_match["name"][0].upper() + call_match["name"][1:]
            argument_values = [
                self.value(text.removeprefix("&")) for text in argument_texts
            ]  # pointers of C, too
            yield CalledFunction(
                name,
                argument_values,
                argument_texts,
                statement.line,
                call_match["module"] or "",
            )
            self._has_stopped |= name == self.last_function
        elif text_match := _TEXT_FUNCTION.match(text):
            self._write_text(text_match)
        elif value_match := _ASSIGNMENT.match(text):
            self._assign(value_match, statement.line)

    def _assign_several(self, names: Sequence[str], value_texts: Sequence[str]) -> None:
        """Set several variables to as many values, or to the items of one list; their values become
        unknown if the numbers differ.
        """
        values = [self.value(text) for text in value_texts]
        if len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        for index, name in enumerate(map(str.strip, names)):
            if name not in self.input_file.hints.settings:
                is_known = len(values) == len(names)
                self.value_by_variable[name] = values[index] if is_known else None

    def _apply_change(self, match: re.Match[str]) -> bool:
        """Append an item to a list, or mark the variable as unknown that a statement changes in
        another way; return whether the statement changes a variable.
        """
        name = next(
            (match[group] for group in ("changed", "item", "result", "list") if match[group]),
            match["name"],
        )
        value = self.value_by_variable.get(name)
        if name not in self.value_by_variable or (
            match["name"] and not isinstance(value, list | dict)
        ):
            return False
        if match["method"] in ("append", "push", "add") and isinstance(value, list):
            value.append(self.value(match["of"]))
            return True
        for variable in [*self.value_by_variable]:
            is_same_object = value is not None and self.value_by_variable[variable] is value
            if variable == name or (is_same_object and isinstance(value, list | dict)):
                self.value_by_variable[variable] = None
        return True

    def _write_text(self, match: re.Match[str]) -> None:
        """Set a variable to the text that a C function, such as sprintf, writes into it."""
        argument_texts = _split_arguments(match["of"])
        argument_texts = argument_texts[1:] if match["how"] == "snprintf" else argument_texts
        values = [self.value(argument_text) for argument_text in argument_texts]
        if match["how"] == "strcat":
            values = [self.value_by_variable.get(match["name"]), *values]
        are_known = all(value is not None for value in values)
        are_all_texts = (
            all(isinstance(value, str) for value in values) and match["how"] != "sprintf"
        )
        new_text = (
            "".join(map(str, values)) if are_all_texts and "printf" not in match["how"] else None
        )
        if are_known and "printf" in match["how"]:
            new_text = _formatted_text(values)
        self.value_by_variable[match["name"]] = new_text

    def _value_of_type(self, name: str, value: ProgramValue) -> ProgramValue:
        """Return a value converted to the declared type of a variable."""
        type_words = self.type_words_by_variable.get(name, "")
        if (
            not self.dialect.divides_whole_numbers
            or not isinstance(value, float)
            or not math.isfinite(value)
        ):
            return value
        if re.search(r"\b(?:float|double)\b", type_words):
            return float(value)
        return ProgramInteger(int(value)) if re.search(r"\b(?:int|long)\b", type_words) else value

    def _assign(self, match: re.Match[str], line: int) -> None:
        """Set a variable, or an item of a list, to the value of an expression."""
        name = match["name"]
        if type_words := match["types"]:
            self.type_words_by_variable[name] = type_words
        if name in self.input_file.hints.settings:
            self.value_by_variable[name] = self._value_of_type(
                name, self.value_by_variable.get(name)
            )
            return
        expression = match["of"]
        if match["how"][0] in "-+*/":
            item_text = f"{name}[{match['at']}]" if match["at"] else name
            expression = f"{item_text} {match['how'][0]} ({expression})"
        value = self.value(expression)
        for removal_match in _REMOVAL.finditer(expression):
            if isinstance(self.value_by_variable.get(removal_match["name"]), list | dict):
                self.value_by_variable[removal_match["name"]] = None
        self.line_by_variable.setdefault(name, line)
        value = self._value_of_type(name, value)
        if type_words and match["at"]:  # the size of a list
            self.value_by_variable.setdefault(name, [])
            return
        if not match["at"]:
            self.value_by_variable[name] = value
            return
        index = self.value(match["at"])
        item_values = self.value_by_variable.get(name)
        if isinstance(item_values, dict):
            if isinstance(index, float | str):
                item_values[index] = value
            else:
                self.value_by_variable[name] = None
            return
        if isinstance(index, float) and self.dialect.first_index <= index < 10_000:
            item_values = item_values if isinstance(item_values, list) else []
            item_index = int(index) - self.dialect.first_index
            item_values += [None] * max(0, item_index + 1 - len(item_values))
            item_values[item_index] = value
            self.value_by_variable[name] = item_values


def _values_of_targets(names: str, value: ProgramValue) -> list[tuple[str, ProgramValue]]:
    """List the variables of a loop with their values in one iteration: a single variable takes the
    value, and several variables take one item of the value each.
    """
    targets = [name.strip() for name in names.split(",")]
    if len(targets) == 1:
        return [(names, value)]
    items = (
        value if isinstance(value, list) and len(value) == len(targets) else [None] * len(targets)
    )
    return [*zip(targets, items, strict=True)]


def program_without_comments(text: str) -> str:
    """Return a program with its comments removed and its texts emptied; line ends are kept."""
    return _TEXT_OR_COMMENT.sub(
        lambda match: ("" if match[0][0] in "#/" else '""') + "\n" * match[0].count("\n"),
        _without_comments(text),
    )


def _dialect(text: str) -> Dialect:
    """Return the rules of the programming language of a program, which is recognized by its
    keywords.
    """
    text = program_without_comments(text)
    if re.search(r"<-|\blibrary\s*\(|\bfor\s*\(\s*\w+\s+in\b|\bc\s*\(", text):
        return Dialect(1, False, False)  # R
    if _PYTHON_BLOCK.search(text) or re.search(
        r"(?m)^[^\S\n]*(?:import\s+[\w.]*\bpdq\b|from\s+[\w.]*\bpdq\s+import\b)[^;\n]*$", text
    ):
        is_python_2 = re.search(r"(?m)^[^\S\n]*print\s+[^(\s=]", text) is not None
        return Dialect(0, is_python_2, False)
    if re.search(r"(?m)^[^\S\n]*require\s+['\"]", text):
        return Dialect(0, True, False, "#")  # Ruby
    if re.search(
        r"(?m)^[^\S\n]*(?:use|require)\s+\w|\$pdq::|^[^\S\n]*(?:my\s+)?[$@]\w+\s*=|<\?php", text
    ):
        return Dialect(0, False, "<?php" in text, "$")  # Perl or PHP
    has_types = re.search(r"#include|\b(?:int|double|float|long)\b[\[\]\s*]+\w+|\bclass\b", text)
    return Dialect(0, has_types is not None, True)  # C or Java, else JavaScript


def _next_value_expression(name: str, step: str) -> str:
    """Return the expression for the next value of a loop's variable, from the step of the loop;
    empty if it is not understood.
    """
    step_text = step.replace("$", "").strip()
    if match := re.fullmatch(rf"(?:{name}\s*(\+\+|--)|(\+\+|--)\s*{name})", step_text):
        return f"{name} {(match[1] or match[2])[0]} 1"
    if match := re.fullmatch(rf"{name}\s*([-+*/])=\s*(.+)", step_text):
        return f"{name} {match[1]} ({match[2]})"
    match = re.fullmatch(rf"{name}\s*=\s*(.+)", step_text)
    return match[1] if match else ""


def _nested_statements(text: str, dialect: Dialect) -> list[_Statement]:
    """Split a program into nested statements, by braces or by indentation."""
    program = _without_comments(text)
    if dialect.has_slash_comments:
        program = _DEFINE.sub(r"\1 = \2;", program)
    if dialect.is_python:
        program = _with_dictionaries_as_calls(program)
    if dialect.is_ruby:
        program = _with_braces_of_ruby(program)
    has_python_blocks = dialect.is_python and _PYTHON_BLOCK.search(program) is not None
    scanner = _Scanner(
        _with_braces(program) if has_python_blocks else program, dialect.has_slash_comments
    )
    return [_with_body(statement, dialect) for statement in scanner.statements_of_block(0)]


_HEADER = late_pattern(r"(?:else\s++if|if|elif|elsif|else|for|foreach|while)\b")


def _with_body(statement: _Statement, dialect: Dialect) -> _Statement:
    """Return a statement whose body on the same line, as in `if (n > 1) break`, is its block."""
    if statement.block:
        inner_statements = [
            _with_body(inner_statement, dialect) for inner_statement in statement.block
        ]
        return replace(statement, block=inner_statements)
    text = statement.text.strip()
    if dialect.insert_sign and (modifier_match := _MODIFIED.fullmatch(_with_emptied_texts(text))):
        condition = text[modifier_match.end("word") :].strip()
        condition = condition if modifier_match["word"] == "if" else f"0 == ({condition})"
        conditional_statement = _Statement(text[: modifier_match.end("body")], statement.line)
        return replace(statement, text=f"if ({condition})", block=[conditional_statement])
    if (header_match := _HEADER.match(text)) is None:
        return statement
    header_end = _end_of_header(text, header_match.end(), dialect)
    body = text[header_end:].strip().removeprefix(":").strip()
    if not body or not header_end:
        return statement
    inner_statement = _with_body(_Statement(body, statement.line), dialect)
    return replace(statement, text=text[:header_end], block=[inner_statement])


def _end_of_header(text: str, start: int, dialect: Dialect) -> int:
    """Return the position in a statement at which its condition or its loop header ends: at the
    colon in Python, else after the closing bracket; 0 without brackets.
    """
    if text[:start].endswith("else") and not dialect.is_python:
        return start
    if not dialect.is_python and not text[start:].lstrip().startswith("("):
        return 0
    depth = 0
    code = _with_emptied_texts(text)
    for position in range(start, len(code)):
        sign = code[position]
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign == (":" if dialect.is_python else ")"):
            return position + (not dialect.is_python)
    return 0


def _with_emptied_texts(code: str) -> str:
    """Return code of the same length with blanks in place of its texts and comments."""
    return _TEXT_OR_COMMENT.sub(lambda match: " " * len(match[0]), code)


_MODIFIED = late_pattern(
    r"(?!if\b|unless\b)(?P<body>[^{}]*\S)\s++(?P<word>if|unless)\s++\S.*", re.DOTALL
)
"""A statement of Perl or Ruby whose condition stands behind it."""
_RUBY_START = late_pattern(r"(?:if|unless|while|until|case|begin|def|class|module|for)\b")
_RUBY_MIDDLE = late_pattern(r"(?:else|elsif|when|rescue|ensure)\b")
_RUBY_BLOCK = late_pattern(
    r"(?P<of>.+?)(?:\.(?P<how>each|each_with_index|times|upto\((?P<last>.+)\)))?\s+do"
    r"(?:\s*\|(?P<names>[^|]+)\|)?"
)
_RUBY_RANGE = late_pattern(r"\(?\s*([\w.]*\w)\s*\.\.(\.?)\s*([\w.]*\w)\s*\)?")


def _with_braces_of_ruby(text: str) -> str:
    """Return Ruby code with braces around its blocks, line by line, and with loops over an index in
    place of calls that take a block.
    """
    lines = list[str]()
    code_lines = program_without_comments(text).split("\n")
    for line, code_line in zip(text.split("\n"), code_lines, strict=True):
        line, code_line = line.strip(), code_line.strip()
        if re.match(r"end\b", code_line):
            line = f"}}{line[3:]}"
        elif _RUBY_MIDDLE.match(code_line):
            line = f"}} {line.removesuffix(' then')} {{"
        elif _RUBY_START.match(code_line) and not re.search(r"\bend$", code_line):
            line = f"{_ruby_loop(line.removesuffix(' then'))} {{"
        elif block_match := _RUBY_BLOCK.fullmatch(line):
            line = f"{_ruby_loop(_header_of_block(block_match))} {{"
        lines.append(line)
    return "\n".join(lines)


def _header_of_block(block_match: re.Match[str]) -> str:
    """Return the header of a loop that takes the place of a call of Ruby with a block."""
    iterator_name, names = block_match["how"] or "", block_match["names"] or ""
    if iterator_name == "times":
        return f"for {names or 'index_of_times'} in range({block_match['of']})"
    if iterator_name.startswith("upto"):
        return f"for {names} in range({block_match['of']}, {block_match['last']} + 1)"
    if iterator_name == "each_with_index":
        return f"for {', '.join(reversed(names.split(',')))} in enumerate({block_match['of']})"
    return (
        f"for {names} in {block_match['of']}"
        if iterator_name and names
        else "while unknown_condition"
    )


def _ruby_loop(header: str) -> str:
    """Return a header with a function in place of a range of Ruby, and if in place of unless."""
    header = re.sub(r"^(unless|until)\s+(.*)", _negated_condition, header)
    header = header.removesuffix(" do") if header.startswith(("for ", "while ")) else header
    if not header.startswith("for "):
        return header
    variable_names, separator, range_text = header.partition(" in ")
    return variable_names + separator + _RUBY_RANGE.sub(_call_of_range, range_text)


def _negated_condition(match: re.Match[str]) -> str:
    """Return the header with if or while that means the same as one with unless or until."""
    word = "if" if match[1] == "unless" else "while"
    return f"{word} 0 == ({match[2].removesuffix(' do')})"


def _call_of_range(match: re.Match[str]) -> str:
    """Return the call of the function range that means the same as a range of Ruby."""
    return f"range({match[1]}, {match[3]}{'' if match[2] else ' + 1'})"


_DICTIONARY = "python_dictionary"
"""The name of the function that a dictionary in braces is written as."""


def _with_dictionaries_as_calls(text: str) -> str:
    """Return Python code with calls of a function in place of its braces, which hold a dictionary
    and no statements. Texts and comments are kept.
    """
    code_parts = list[str]()
    position = 0
    for match in _TEXT_OR_COMMENT.finditer(text):
        code_parts += [_calls_for_braces(text[position : match.start()]), match[0]]
        position = match.end()
    return "".join([*code_parts, _calls_for_braces(text[position:])])


def _calls_for_braces(code: str) -> str:
    """Return code with each pair of braces written as a call of the function `_DICTIONARY`."""
    return code.replace("{", f"{_DICTIONARY}(").replace("}", ")")


def _without_comments(text: str) -> str:
    """Return a program without comments between /* and */, keeping line ends."""
    code_parts = list[str]()
    position = 0
    while (begin_position := text.find("/*", position)) >= 0 and (
        end_position := text.find("*/", begin_position + 2)
    ) >= 0:
        code_parts += [
            text[position:begin_position],
            "\n" * text.count("\n", begin_position, end_position),
        ]
        position = end_position + 2
    return "".join([*code_parts, text[position:]])


def _bare_condition(header_match: re.Match[str]) -> str:
    """Return the condition or the list in the header of a statement, without the colon behind it
    and the brackets around it.
    """
    text = header_match["of"].rstrip().removesuffix(":").rstrip()
    return text.removesuffix(")") if header_match["open"] else text


def _with_braces(text: str) -> str:
    """Return Python code with braces around its blocks, line by line."""
    lines: list[str] = []
    open_indentations = [0]
    open_brackets = 0
    code_lines = program_without_comments(text).split("\n")
    for line, code_line in zip(text.split("\n"), code_lines, strict=True):
        is_continued = open_brackets > 0
        open_brackets += sum((sign in "([{") - (sign in ")]}") for sign in code_line)
        if code_line.strip() and not is_continued:
            indentation = len(line) - len(line.lstrip())
            closing_braces = ""
            while indentation < open_indentations[-1]:
                open_indentations.pop()
                closing_braces += "}"
            if indentation > open_indentations[-1]:
                open_indentations.append(indentation)
                lines[-1] = re.sub(r":\s*+(#.*)?$", " {", lines[-1])
            line = f"{closing_braces} {line}" if closing_braces else line
        lines.append(line)
    return "\n".join(lines) + "}" * (len(open_indentations) - 1)


class _Scanner:
    """A splitter of text into statements, at line ends and semicolons outside of brackets."""

    def __init__(self, text: str, has_slash_comments: bool) -> None:
        self.text = text
        self.position = 0
        self.line = 1
        self.has_slash_comments = has_slash_comments

    def statements_of_block(self, depth: int) -> list[_Statement]:
        """Return the statements up to the next closing brace, or up to the end of the text."""
        statements: list[_Statement] = []
        begin_position = self.position
        statement_line = self.line
        open_brackets = 0
        while self.position < len(self.text):
            character = self.text[self.position]
            if character in "\"'":
                self._skip_quoted_text(character)
                continue
            if character == "#" or (
                self.has_slash_comments and self.text.startswith("//", self.position)
            ):
                line_end = self.text.find("\n", self.position)
                next_position = len(self.text) if line_end < 0 else line_end
                self.text = self.text[: self.position] + self.text[next_position:]
                continue
            open_brackets += (character in "([") - (character in ")]")
            ends_statement = open_brackets <= 0 and character in "\n;"
            if character == "\n" and ends_statement and _NEXT_BRACE.match(self.text, self.position):
                # The block of a statement begins in the next line.
                ends_statement = not self.text[begin_position : self.position].strip()
            if ends_statement or character in "{}":
                statement_text = self.text[begin_position : self.position].strip()
                self.position += 1
                self.line += character == "\n"
                if character == "{" and depth < MOST_DEPTH:
                    statements.append(
                        _Statement(
                            statement_text,
                            statement_line,
                            self.statements_of_block(depth + 1) or [_Statement("", statement_line)],
                        )
                    )
                    open_brackets = 0
                elif statement_text.strip(")"):
                    statements.append(_Statement(statement_text, statement_line))
                if character == "}":
                    return statements
                begin_position = self.position
                statement_line = self.line
                continue
            self.line += character == "\n"
            if not self.text[begin_position : self.position].strip():
                statement_line = self.line
            self.position += 1
        if statement_text := self.text[begin_position:].strip():
            statements.append(_Statement(statement_text, statement_line))
        return statements

    def _skip_quoted_text(self, quote: str) -> None:
        """Move the position beyond a text in quotes, at whose first quote it stands."""
        self.position += 1
        while self.position < len(self.text) and self.text[self.position] not in (quote, "\n"):
            self.position += 2 if self.text[self.position] == "\\" else 1
        self.position += self.position < len(self.text) and self.text[self.position] == quote


def _split_arguments(text: str) -> list[str]:
    """Split arguments at commas outside of brackets and quotes."""
    arguments = list[str]()
    depth = 0
    begin_position = 0
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and not depth:
            arguments.append(text[begin_position:position].strip())
            begin_position = position + 1
    last_argument = text[begin_position:].strip()
    return [*arguments, last_argument] if last_argument or arguments else []


_CASTS = {"double": "double", "float": "double", "int": "int", "long": "int"}
"""Casts of C and Java, each with the function that does the same."""


_TEXT_INSERTS = {
    "f": r"\{([^{}]*)\}",
    "#": r"#\{([^{}]*)\}",
    "$": r"\$\{(\w+)\}|\{(\$\w+)\}|(\$\w+(?:(?:\[|->|::).*)?)",
}
"""Expressions within texts, by the sign of their dialect: f of Python's own mark of such texts."""


_ProgramToken = tuple[str, str]
"""The kind of a token and its text."""


def _tokens(text: str) -> list[_ProgramToken]:
    """List the tokens of an expression."""
    return [
        (str(match.lastgroup), match[0].strip())
        for match in _TOKEN.finditer(text.strip())
        if match[0].strip()
    ]


def _texts_outside_of_brackets(tokens: Sequence[_ProgramToken]) -> list[str]:
    """List the texts of tokens, empty for texts in quotes and for what stands in brackets."""
    texts = list[str]()
    depth = 0
    for kind, text in tokens:
        is_sign = kind == "sign"
        depth -= is_sign and text in (")", "]")
        texts.append(text if depth == 0 and kind != "text" else "")
        depth += is_sign and text in ("(", "[")
    return texts


def _position_of_other_case(texts: Sequence[str], question_position: int) -> int:
    """Return the position of the colon that belongs to a question mark."""
    depth = 0
    for position in range(question_position + 1, len(texts)):
        if texts[position] == ":" and depth == 0:
            return position
        depth += (texts[position] == "?") - (texts[position] == ":")
    raise NotKnownError


class _Expression:
    """An evaluator of arithmetic, texts and lists with known variables; it raises NotKnownError for
    anything else.
    """

    def __init__(
        self,
        text: str | Sequence[_ProgramToken],
        variables: Mapping[str, ProgramValue],
        dialect: Dialect,
        depth: int = 0,
    ) -> None:
        self._variables = variables
        self._dialect = dialect
        self._tokens = _tokens(text) if isinstance(text, str) else [*text]
        self._position = 0
        self._depth = depth

    def complete_value(self) -> ProgramValue:
        """Return the value of the expression; raise NotKnownError if anything follows it."""
        value = self._value()
        if self._position < len(self._tokens):
            raise NotKnownError
        return value

    def key_and_value(self) -> tuple[Any, ProgramValue]:
        """Return a key of a dictionary and its value."""
        colon = _texts_outside_of_brackets(self._tokens).index(":")
        key = self._inner_expression(self._tokens[:colon]).complete_value()
        return key, self._inner_expression(self._tokens[colon + 1 :]).complete_value()

    def _inner_expression(
        self, tokens: Sequence[_ProgramToken], variables: Mapping[str, ProgramValue] | None = None
    ) -> _Expression:
        """Return the evaluator of a part of this expression."""
        known_variables = self._variables if variables is None else variables
        return _Expression(tokens, known_variables, self._dialect, self._depth + 1)

    def _value(self) -> ProgramValue:
        """Return the value up to a comma or the end of a bracket, perhaps one of two by a
        condition.
        """
        item_end = self._end_of_item(",")
        tokens = self._tokens[self._position : item_end]
        texts = _texts_outside_of_brackets(tokens)
        if self._dialect.is_python and "if" in texts and "else" in texts[texts.index("if") :]:
            first_word = texts.index("if")
            second_word = texts.index("else", first_word)
            chosen_tokens, condition_tokens = (
                tokens[:first_word],
                tokens[first_word + 1 : second_word],
            )
        elif "?" in texts and self._dialect.first_index == 0:
            first_word = texts.index("?")
            second_word = _position_of_other_case(texts, first_word)
            condition_tokens, chosen_tokens = (
                tokens[:first_word],
                tokens[first_word + 1 : second_word],
            )
        else:
            return self._value_of_level(0)
        self._position = item_end
        is_condition_met = bool(
            _as_number(self._inner_expression(condition_tokens).complete_value())
        )
        return self._inner_expression(
            chosen_tokens if is_condition_met else tokens[second_word + 1 :]
        ).complete_value()

    def _end_of_item(self, *separators: str) -> int:
        """Return the position of the next separator outside brackets, or of the end of the open
        bracket.
        """
        depth = 0
        for position in range(self._position, len(self._tokens)):
            kind, text = self._tokens[position]
            is_sign = kind == "sign"
            if depth == 0 and is_sign and text in (*separators, ")", "]"):
                return position
            depth += is_sign and text in ("(", "[")
            depth -= is_sign and text in (")", "]")
        return len(self._tokens)

    def _items_of_comprehension(self) -> list[_Expression] | None:
        """Return the item of a comprehension, once for each pass of its loops, and move to the end
        of its bracket; None where no comprehension is next.
        """
        item_end = self._end_of_item()
        tokens = self._tokens[self._position : item_end]
        texts = _texts_outside_of_brackets(tokens)
        loop_starts = [index for index, text in enumerate(texts) if text == "for"]
        if not loop_starts or not self._dialect.is_python:
            return None
        self._position = item_end
        variables_of_passes = [self._variables]
        for loop_start, loop_end in pairwise([*loop_starts, len(tokens)]):
            variables_of_passes = self._variables_of_passes(
                tokens[loop_start + 1 : loop_end], variables_of_passes
            )
        return [
            self._inner_expression(tokens[: loop_starts[0]], variables)
            for variables in variables_of_passes
        ]

    def _variables_of_passes(
        self,
        tokens: Sequence[_ProgramToken],
        variables_of_outer_passes: Sequence[Mapping[str, ProgramValue]],
    ) -> list[Mapping[str, ProgramValue]]:
        """Return the variables of each pass of a loop of a comprehension within other passes."""
        texts = _texts_outside_of_brackets(tokens)
        in_position = texts.index("in")
        names = "".join(text for _, text in tokens[:in_position]).strip("()")
        condition_starts = [index for index, text in enumerate(texts) if text == "if"] + [
            len(tokens)
        ]
        variables_of_inner_passes = list[Mapping[str, ProgramValue]]()
        for variables in variables_of_outer_passes:
            values = self._inner_expression(
                tokens[in_position + 1 : condition_starts[0]], variables
            ).complete_value()
            if not isinstance(values, list | dict) or len(values) > MOST_STATEMENTS:
                raise NotKnownError
            for value in values:
                inner_variables = {**variables, **dict(_values_of_targets(names, value))}
                conditions = (
                    self._inner_expression(
                        tokens[condition_start + 1 : next_start], inner_variables
                    )
                    for condition_start, next_start in pairwise(condition_starts)
                )
                if all(_as_number(condition.complete_value()) for condition in conditions):
                    variables_of_inner_passes.append(inner_variables)
                if len(variables_of_inner_passes) * len(inner_variables) > MOST_COMPREHENDED:
                    raise NotKnownError
        return variables_of_inner_passes

    def _take_if_next(self, *signs: str) -> str:
        """Move beyond the next token and return it if it is one of the given signs; else return an
        empty text.
        """
        if self._position < len(self._tokens) and self._tokens[self._position][1] in signs:
            self._position += 1
            return self._tokens[self._position - 1][1]
        return ""

    _LEVELS = (
        ("||", "or"),
        ("&&", "and"),
        ("==", "!=", "<", ">", "<=", ">="),
        ("+", "-", "."),
        ("*", "/", "//", "%"),
        (":",),
    )

    def _value_of_level(self, level: int) -> ProgramValue:
        """Return the value of an expression whose operators have the precedence `level` of
        `_LEVELS` or a higher one.
        """
        self._depth += 1
        if self._depth > 300:
            raise NotKnownError
        if level == len(self._LEVELS):
            value = self._value_of_power()
        else:
            value = self._value_of_level(level + 1)
            while operator := self._take_if_next(*self._LEVELS[level]):
                if operator == "." and self._dialect.insert_sign != "$":
                    raise NotKnownError
                right_value = self._value_of_level(level + 1)
                is_of_vectors = self._dialect.first_index == 1 and isinstance(value, list)
                is_of_vectors |= self._dialect.first_index == 1 and isinstance(right_value, list)
                combine = _result_for_vectors if is_of_vectors else _result_of_operation
                value = combine(operator, value, right_value)
        self._depth -= 1
        return value

    def _value_of_power(self) -> ProgramValue:
        """Return the value of a signed number, of a condition that is turned, or of a power."""
        if operator := self._take_if_next("!", "not"):
            level = 2 if operator == "not" else len(self._LEVELS)
            return float(not _as_number(self._value_of_level(level)))
        if operator := self._take_if_next("-", "+"):
            value = self._value_of_power()
            return (
                _result_of_operation("-", ProgramInteger(0.0), value) if operator == "-" else value
            )
        value = self._value_of_atom()
        if self._take_if_next("^", "**"):
            return float(_as_number(value) ** _as_number(self._value_of_power()))
        return value

    def _value_of_atom(self) -> ProgramValue:
        """Return the value of a number, a text, a list, a call, a variable, or an expression in
        brackets.
        """
        if self._position >= len(self._tokens):
            raise NotKnownError
        token_kind, token_text = self._tokens[self._position]
        self._position += 1
        if token_kind == "number":
            is_whole_number = self._dialect.divides_whole_numbers and token_text.isdigit()
            return (
                ProgramInteger(token_text) if is_whole_number else float(token_text.rstrip("lLfF"))
            )
        if token_kind == "text":
            return self._value_of_quoted_text(token_text)
        type_word, next_sign = (
            [token for _, token in self._tokens[self._position : self._position + 2]] + ["", ""]
        )[:2]
        if token_text == "(" and type_word in _CASTS and next_sign == ")":
            self._position += 2
            return _result_of_function(_CASTS[type_word], [self._value_of_power()], {})
        if token_text in ("(", "["):
            list_items = self._list_items(")" if token_text == "(" else "]")
            return list_items[0] if token_text == "(" and len(list_items) == 1 else list_items
        if token_kind != "name":
            raise NotKnownError
        if token_text == _DICTIONARY and self._take_if_next("("):
            dictionary = self._dictionary()
            next_text = "".join(text for _, text in self._tokens[self._position :][:3])
            if method_match := re.match(r"\.(\w+)\($", next_text):
                self._position += 3
                return _result_of_method(dictionary, method_match[1], self._list_items(")"))
            return dictionary
        container_name, _, method = token_text.rpartition(".")
        container = self._variables.get(container_name)
        if isinstance(container, dict) and self._take_if_next("("):
            return _result_of_method(container, method, self._list_items(")"))
        if self._take_if_next("("):
            value = _result_of_function(token_text, *self._argument_values())
            is_whole_number = (
                isinstance(value, ProgramInteger) and self._dialect.divides_whole_numbers
            )
            return float(value) if isinstance(value, float) and not is_whole_number else value
        name = _QUALIFIER.sub("", token_text)
        if name.endswith(".length") and name not in self._variables:
            items = self._variables[name.removesuffix(".length")]
            return ProgramInteger(len(items)) if isinstance(items, list) else None
        return self._value_of_item(self._variables[name])

    def _value_of_item(self, value: ProgramValue) -> ProgramValue:
        """Return the value at the keys in brackets that come next; the value itself if there are
        none.
        """
        while self._take_if_next("["):
            has_double_bracket = bool(self._take_if_next("["))  # of R
            key = self._list_items("]")[0]
            if has_double_bracket:
                self._take_if_next("]")
            if isinstance(value, dict):
                value = value[key]
                continue
            index = int(_as_number(key)) - self._dialect.first_index
            value = value[index] if isinstance(value, list) and index >= 0 else None
        return value

    def _dictionary(self) -> dict[Any, Any]:
        """Return a dictionary up to its end."""
        pair_expressions = self._items_of_comprehension()
        if pair_expressions is None:
            pair_expressions = []
            while self._position < len(self._tokens) and self._tokens[self._position][1] != ")":
                item_end = self._end_of_item(",")
                pair_expressions.append(
                    self._inner_expression(self._tokens[self._position : item_end])
                )
                self._position = item_end
                self._take_if_next(",")
        if not self._take_if_next(")"):
            raise NotKnownError
        return dict(pair_expression.key_and_value() for pair_expression in pair_expressions)

    def _value_of_quoted_text(self, quoted_text: str) -> str:
        """Return a text in quotes, with the values of the expressions within it."""
        unquoted_text = quoted_text.lstrip("fr")[1:-1]
        insert_sign = (
            "f"
            if quoted_text.startswith("f")
            else self._dialect.insert_sign * quoted_text.startswith('"')
        )
        return (
            re.sub(_TEXT_INSERTS[insert_sign], self._value_in_text, unquoted_text)
            if insert_sign
            else unquoted_text
        )

    def _value_in_text(self, match: re.Match[str]) -> str:
        """Return the value of an expression within a text."""
        expression = next(filter(None, match.groups()), "")
        return _text_of_value(
            _Expression(expression, self._variables, self._dialect).complete_value()
        )

    def _list_items(self, end_sign: str) -> list[Any]:
        """Return the values of the items of a list up to its end."""
        if (items := self._items_of_comprehension()) is not None:
            if not self._take_if_next(end_sign):
                raise NotKnownError
            return [item.complete_value() for item in items]
        item_values: list[Any] = []
        while not self._take_if_next(end_sign):
            item_values.append(self._value())
            if not self._take_if_next(",") and self._tokens[self._position][1] != end_sign:
                raise NotKnownError
        return item_values

    def _argument_values(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the values of the positional arguments of a call, and the values of named
        arguments by name.
        """
        positional_values = list[Any]()
        named_values = dict[str, Any]()
        if (items := self._items_of_comprehension()) is not None:
            if not self._take_if_next(")"):
                raise NotKnownError
            return [[item.complete_value() for item in items]], {}
        while not self._take_if_next(")"):
            next_sign = (
                self._tokens[self._position + 1][1]
                if self._position + 1 < len(self._tokens)
                else ""
            )
            if self._tokens[self._position][0] == "name" and next_sign == "=":
                name = self._tokens[self._position][1]
                self._position += 2
                named_values[name] = self._value()
            else:
                positional_values.append(self._value())
            if not self._take_if_next(",") and self._tokens[self._position][1] != ")":
                raise NotKnownError
        return positional_values, named_values


def _as_number(value: ProgramValue) -> float:
    """Return a value that is a number; raise NotKnownError for others."""
    if not isinstance(value, float):
        raise NotKnownError
    return value


def _text_of_value(value: ProgramValue) -> str:
    """Return a number or a text as text, whole numbers without decimals."""
    if isinstance(value, str):
        return value
    value_as_number = _as_number(value)
    return (
        str(int(value_as_number))
        if value_as_number == int(value_as_number)
        else repr(value_as_number)
    )


_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "%": math.fmod, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a and b), "||": lambda a, b: bool(a or b),
    "and": lambda a, b: a and b, "or": lambda a, b: a or b,
}  # fmt: skip


def _result_of_operation(operator: str, left: ProgramValue, right: ProgramValue) -> ProgramValue:
    """Return the result of an operation; joining and formatting of texts follow Python."""
    if operator == ".":
        return _text_of_value(left) + _text_of_value(right)
    if operator == "%" and isinstance(left, str):
        return _formatted_text([left, *(right if isinstance(right, list) else [right])])
    if operator == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    if operator in ("==", "!=") and isinstance(left, str) and isinstance(right, str):
        return float((left == right) == (operator == "=="))
    left_number = _as_number(left)
    right_number = _as_number(right)
    if operator == "//":
        return type(right_number)(math.floor(left_number / right_number))
    if (
        operator in "+-*/%"
        and isinstance(left, ProgramInteger)
        and isinstance(right, ProgramInteger)
    ):
        quotient = int(left_number / right_number) if operator == "/" else None
        return ProgramInteger(
            _OPERATIONS[operator](left_number, right_number) if quotient is None else quotient
        )
    if operator == ":":
        return [
            left_number + index
            for index in range(min(int(right_number - left_number) + 1, MOST_STATEMENTS))
        ]
    return float(_OPERATIONS[operator](left_number, right_number))


def _result_for_vectors(operator: str, left: ProgramValue, right: ProgramValue) -> ProgramValue:
    """Return the result of an operation of R on each item of a vector, where a single value goes
    with each item.
    """
    vector_length = max(len(operand) for operand in (left, right) if isinstance(operand, list))
    operands = [
        operand if isinstance(operand, list) else [operand] * vector_length
        for operand in (left, right)
    ]
    if operator == ":" or {len(operand) for operand in operands} != {vector_length}:
        raise NotKnownError
    return [_result_of_operation(operator, *pair) for pair in zip(*operands, strict=True)]


def _formatted_text(values: Sequence[Any]) -> str:
    """Return a format text, the first of the values, with the others in place of its marks such as
    %d.
    """
    format_text, *format_values = values
    remaining_values = iter(format_values)

    def format_next(match: re.Match[str]) -> str:
        """Return the next value as text, in the form of a mark such as %d."""
        value = next(remaining_values)
        if match[1] in "di":
            return str(int(_as_number(value)))
        return _text_of_value(value) if match[1] == "s" else f"{_as_number(value):g}"

    return re.sub(r"%[-\d.]*([disfg])", format_next, str(format_text))


def _result_of_method(
    value_by_key: Mapping[Any, Any], method: str, arguments: Sequence[Any]
) -> ProgramValue:
    """Return the result of a method of a dictionary."""
    if method == "get" and 1 <= len(arguments) <= 2:
        value: ProgramValue = value_by_key.get(*arguments)
        return value
    if arguments:
        raise NotKnownError
    if method == "items":
        return [[key, value] for key, value in value_by_key.items()]
    if method == "keys":
        return [*value_by_key]
    if method == "values":
        return [*value_by_key.values()]
    raise NotKnownError


def _result_of_function(name: str, values: list[Any], named_values: dict[str, Any]) -> ProgramValue:
    """Return the result of a function of R, Python, C or Perl."""
    name = name.rpartition("::")[2].removeprefix("String.").removeprefix("Math.")
    if name in ("paste", "paste0"):
        separator = "" if name == "paste0" else str(named_values.get("sep", " "))
        return separator.join(map(_text_of_value, values))
    if name in ("sprintf", "format"):
        return _formatted_text(values)
    if name == "dict" and named_values and not values:
        return named_values
    if name == "zip":
        return [[*items] for items in zip(*values, strict=False)]
    if name in ("enumerate", "sorted", "sum"):
        return _result_for_sequence(name, values, named_values)
    if name in ("list", "tuple") and len(values) == 1 and isinstance(values[0], list | dict):
        return [*values[0]]
    if name in ("c", "list"):
        return values
    if name == "ifelse" and len(values) == 3:
        chosen_value: ProgramValue = values[1] if _as_number(values[0]) else values[2]
        return chosen_value
    if name in ("seq", "seq_len", "range"):
        return _numbers_of_sequence(
            name, [_as_number(operand) for operand in (*values, *named_values.values())]
        )
    if name == "seq_along" and isinstance(values[0], list):
        return [float(index) for index in range(1, len(values[0]) + 1)]
    if name in ("length", "len"):
        return float(len(values[0]))
    if name == "rep":
        return [values[0]] * min(int(_as_number(values[1])), MOST_STATEMENTS)
    if name in ("str", "as.character"):
        return _text_of_value(values[0])
    if name in ("ceiling", "ceil", "math.ceil"):
        return float(math.ceil(_as_number(values[0])))
    if name in ("floor", "math.floor", "int", "as.integer"):
        argument = _as_number(values[0])
        return (
            type(argument)(math.floor(argument))
            if name != "int"
            else ProgramInteger(math.trunc(argument))
        )
    if name in ("float", "double", "as.double", "as.numeric", "round"):
        value = _as_number(values[0])
        return float(round(value)) if name == "round" else float(value)
    if name in ("max", "min"):
        arguments = [_as_number(value) for value in values]
        return max(arguments) if name == "max" else min(arguments)
    if name in ("sqrt", "exp", "log"):
        return float(getattr(math, name)(_as_number(values[0])))
    raise NotKnownError


def _result_for_sequence(
    name: str, values: Sequence[Any], named_values: Mapping[str, Any]
) -> ProgramValue:
    """Return the result of the Python function sum, sorted or enumerate for one list."""
    if len(values) != 1 or named_values:
        raise NotKnownError
    if not isinstance(values[0], list | dict):
        raise NotKnownError
    items = [*values[0]]
    if name == "sum":
        return float(sum(_as_number(item) for item in items))
    if name == "sorted":
        return sorted(items)
    return [[float(index), item] for index, item in enumerate(items)]


def _numbers_of_sequence(name: str, arguments: list[float]) -> list[Any]:
    """Return the numbers that seq or seq_len of R, or range of Python, returns for arguments."""
    if len(arguments) == 1:
        first_value, last_value, step = (
            (0.0, arguments[0] - 1, 1.0) if name == "range" else (1.0, arguments[0], 1.0)
        )
    else:
        first_value, last_value, step = (*arguments, 1.0)[:3]
        last_value -= step if name == "range" else 0.0
    number_count = math.floor((last_value - first_value) / step + 1e-9) + 1
    return [
        first_value + step * index for index in range(min(max(number_count, 0), MOST_STATEMENTS))
    ]
