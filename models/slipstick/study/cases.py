"""The parts of a study as written: values of axes, sweeps, cases, and the names by which parts
refer to each other.

Nothing here is built or solved, and no numerical library is imported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, overload

from slipstick.errors import Problem, SpecError, UnitError, did_you_mean, nearest_names
from slipstick.expression.nodes import COUNT, Dimension, number_text
from slipstick.late import dataclass, field, late_pattern
from slipstick.limits import check_cost
from slipstick.results.words import NO_WORDS, as_words
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.constraints import listed_twice_message
from slipstick.schema.kinds.study import (
    AxisSpec,
    BarsSpec,
    Drawn,
    LinesSpec,
    MapSpec,
    QuestionSpec,
    StudySpec,
    SweepSpec,
)
from slipstick.schema.library import Library
from slipstick.schema.text import (
    Entry,
    Listing,
    Mark,
    Node,
    Scalar,
    Table,
    key_mark,
    node_at,
    node_text,
    plain_data,
    problem,
    value_mark,
)
from slipstick.units import parse

MOST_VALUES_CHECKED = 500
"""The largest number of values of an axis that are all checked; of a longer axis, and of a range,
only the extremes are.
"""

Place = tuple[str | int, ...]
"""Keys and indices that lead from the root of a study to a value."""

PictureT = TypeVar("PictureT", bound=Drawn)


@dataclass(frozen=True, slots=True)
class _Range(Sequence[Node]):
    """A range of values in base units; the nodes of its values are built when they are first
    used.
    """

    numbers: Sequence[float]
    unit: Dimension
    mark: Mark

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Node]: ...
    def __getitem__(self, index: int | slice) -> Node | Sequence[Node]:
        if isinstance(index, slice):
            return _Range(self.numbers[index], self.unit, self.mark)
        return quantity_node(self.numbers[index], str(self.unit), self.mark)


def axis_nodes(
    spec: AxisSpec | Sequence[Any], node: Node, path: Place, *, may_repeat: bool = False
) -> Sequence[Node]:
    """List the values of an axis as nodes, each with the place in the file where the axis is
    written.

    Parameters
    ----------
    spec : checked: a list, or a range
    node, path : where it is written
    may_repeat : whether a name may stand there twice, as where axes move together

    Raises
    ------
    SpecError : the ends are of different dimensions, there are too many values, or a name stands
        there twice
    """
    if isinstance(spec, AxisSpec):
        return _RangeReader(spec, node, path).values()
    assert isinstance(node, Listing)
    if not node.items:
        raise node.mark.error("an axis needs at least one value", path)
    if not may_repeat and numbers_of(node.items) is None:  # each name is a model of its own
        # Each name is a model of its own, so one that stands twice would be solved twice.
        values_seen = set[object]()
        for index, item in enumerate(node.items):
            if isinstance(item, Scalar):
                if item.value in values_seen:
                    raise item.mark.error(listed_twice_message(item.text), (*path, index))
                values_seen.add(item.value)
    return node.items


def numbers_of(nodes: Sequence[Node]) -> list[float] | None:
    """Return the values of nodes in base units; None unless all are quantities of one dimension."""
    if isinstance(nodes, _Range):
        return list(nodes.numbers)
    try:
        quantities = [_parse_quantity(node.value) for node in nodes if isinstance(node, Scalar)]
    except UnitError:
        return None
    have_one_dimension = (
        len(quantities) == len(nodes) and len({dimension for _, dimension in quantities}) == 1
    )
    return [value for value, _ in quantities] if have_one_dimension else None


def indices_to_check(nodes: Sequence[Node]) -> list[int]:
    """Return the indices of the values of an axis that are checked one by one: all of them, or a
    sample of a long axis.

    The allowed values of a quantity are an interval, or the whole numbers in one. So if the
    extremes are allowed, and the first value that is not whole, all of them are. Names are checked
    one by one.
    """
    values = (
        numbers_of(nodes) if isinstance(nodes, _Range) or len(nodes) > MOST_VALUES_CHECKED else None
    )
    if values is None:
        return list(range(len(nodes)))
    # A value that is not whole is refused where the quantity is a count, so one is looked at.
    fractional_index = next(
        (index for index, value in enumerate(values) if value != math.floor(value)), 0
    )
    return sorted(
        {0, len(values) - 1, values.index(min(values)), values.index(max(values)), fractional_index}
    )


@dataclass(frozen=True, slots=True)
class _RangeReader:
    """Reader of one range of values, by number, factor or step."""

    spec: AxisSpec
    node: Node
    path: Place

    def values(self) -> Sequence[Node]:
        """Return the values of the range as nodes."""
        start_value, unit = self._parse_end(self.spec.first, "from")
        end_value, end_unit = self._parse_end(self.spec.to, "to")
        if unit != end_unit:
            raise self._error_at_key(
                "to", f"from is a [{unit}], but to is a [{end_unit}]; write a unit at both"
            )
        # Both ends are finite, but their difference may be too large for a double.
        self._check_width(end_value - start_value)
        return _Range(self._range_values(start_value, end_value, unit), unit, self.node.mark)

    def _range_values(self, start_value: float, end_value: float, unit: Dimension) -> list[float]:
        """Return the values of the range by its number, factor or step, in base units."""
        if self.spec.count is not None:
            return self._spaced_values(start_value, end_value, self.spec.count)
        if self.spec.factor is not None:
            factor = float(self.spec.factor)
            step_count = self._whole_step_count(
                math.log(self._ratio_of_ends(start_value, end_value)) / math.log(factor)
            )
            # By powers of the factor, not by repeated products, in which rounding would add up.
            return [start_value * factor**step_number for step_number in range(step_count + 1)]
        step, step_unit = self._parse_end(self.spec.step, "step")
        if step_unit != unit:
            raise self._error_at_key("step", f"from is a [{unit}], but the step is a [{step_unit}]")
        if step == 0:
            raise self._error_at_key("step", "a step of 0 never reaches the end; write another")
        return [
            start_value + step_number * step
            for step_number in range(self._whole_step_count((end_value - start_value) / step) + 1)
        ]

    def _spaced_values(self, start_value: float, end_value: float, value_count: int) -> list[float]:
        if self.spec.spacing == "geometric":
            ratio = self._ratio_of_ends(start_value, end_value)
            inner_values = [
                start_value * ratio ** (step_number / (value_count - 1))
                for step_number in range(1, value_count - 1)
            ]
        else:
            step = (end_value - start_value) / (value_count - 1)
            inner_values = [
                start_value + step_number * step for step_number in range(1, value_count - 1)
            ]
        # The ends are as written: the last would miss its value by rounding.
        return [start_value, *inner_values, end_value]

    def _ratio_of_ends(self, start_value: float, end_value: float) -> float:
        """Return the end of the range divided by its start; raise unless both are positive."""
        if not (start_value > 0 and end_value > 0):
            raise self._error_at_key("", "a geometric range needs positive ends")
        self._check_width(end_value / start_value)
        self._check_width(start_value / end_value)
        return end_value / start_value

    def _check_width(self, extent: float) -> None:
        if not math.isfinite(extent):
            raise self._error_at_key("", "the range is too wide for a double")

    def _whole_step_count(self, step_count: float) -> int:
        """Count the whole steps of a range, rounding up a last step that only rounding errors cut
        short.
        """
        # So written, NaN is refused too.
        if not step_count >= 0:
            raise self._error_at_key(
                "",
                "the range never gets from 'from' to 'to'; reverse the sign of the step, or invert"
                " the factor",
            )
        cost_text = f"the range has {step_count + 1:,.0f} values"
        check_cost(
            "values", step_count, cost_text, "take a larger step", partial(self._error_at_key, "")
        )
        # Steps such as 0.1 have no exact double: (0.3 - 0) / 0.1 is 2.9999999999999996.
        return math.floor(step_count + 1e-9)

    def _parse_end(self, value: Any, key: str) -> tuple[float, Dimension]:
        try:
            return _parse_quantity(value)
        except UnitError as error:
            raise self._error_at_key(key, str(error)) from None

    def _error_at_key(self, key: str, message: str) -> SpecError:
        mark = value_mark(self.node, [key]) if key else self.node.mark
        return mark.error(message, (*self.path, key) if key else self.path)


def _parse_quantity(value: Any) -> tuple[float, Dimension]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), COUNT
    if isinstance(value, str):
        return parse(value)
    raise UnitError("write a number, or a quantity such as '5 us'")


def quantity_node(value: float, unit: str, mark: Mark) -> Scalar:
    """Build the node of a value in base units, so that it is checked as if it were written in a
    file.
    """
    # Below 1e15 every whole number is an exact double, and is written with all of its digits.
    is_whole = value == int(value) and abs(value) < 1e15
    whole_number = int(value) if is_whole and unit == "1" else value
    text = number_text(value) if unit == "1" else f"{number_text(value)} {unit}"
    return Scalar(whole_number if unit == "1" else text, text, mark, quoted=False)


BASE = "base"
"""The key of the base, and the name of the case that has its settings unchanged."""

USE = "use"
"""The key of a case that names the cases whose settings it takes over."""

TITLE = "title"
"""The key of the base or of a case that holds its title in a report."""

PLAIN_SWEEP = "vary"
"""The name of the sweep whose axes are written without a name."""

LONGEST_USE_CHAIN = 32
"""The largest number of cases of which each uses the next."""


@dataclass(frozen=True, slots=True)
class SweepDefinition:
    """A sweep as a study defines it.

    Parameters
    ----------
    name : its own, or ``vary`` for axes that stand there plainly
    spec, node : checked, and as written: a table with ``axes``
    path : where the node stands; a plain sweep is its own axes
    """

    name: str
    spec: SweepSpec
    node: Node
    path: Place

    def path_of(self, *keys: str | int) -> Place:
        """Return the path, from the root of the study, of the value in the sweep to which some keys
        lead.
        """
        # Axes without a name stand directly under ``vary``, without the key ``axes``.
        axes_are_plain = len(self.path) == 1
        return (*self.path, *(keys[1:] if axes_are_plain and keys[:1] == ("axes",) else keys))

    def error_at(self, message: str, *keys: str | int) -> SpecError:
        """Return an error with a message about the value in the sweep to which some keys lead."""
        return value_mark(self.node, keys).error(message, self.path_of(*keys))

    def axes(self) -> dict[str, Sequence[Node]]:
        """List the values of each axis, by path as written."""
        nodes_by_path = {}
        for path, axis_spec in self.spec.axes.items():
            axis_node = node_at(self.node, ["axes", path])
            assert axis_node is not None
            nodes_by_path[path] = axis_nodes(
                axis_spec,
                axis_node,
                self.path_of("axes", path),
                may_repeat=self.spec.combine == "zip",
            )
        return nodes_by_path

    def check_lengths(self, length_by_path: Mapping[str, int]) -> None:
        """Raise if axes that are varied together have different lengths, or if there are too many
        points.
        """
        if self.spec.combine == "zip" and len(set(length_by_path.values())) > 1:
            lengths_in_words = ", ".join(
                f"{path} has {length}" for path, length in length_by_path.items()
            )
            raise self.error_at(f"zipped axes need equally many values: {lengths_in_words}", "axes")
        point_count = 1 if self.spec.combine == "zip" else math.prod(length_by_path.values())
        alternative = "write them to a file with slipstick points STUDY --out points.parquet"
        check_cost(
            "points",
            point_count,
            f"{point_count:,} points",
            alternative,
            lambda message: self.error_at(message, "axes"),
        )


_MODEL_KEYS = ("model", "workload")


def base_settings(study: Table) -> dict[str, Node]:
    """Return the settings of the base of a study, by path."""
    settings = _settings_of_table(node_at(study, [BASE]))
    settings.pop(TITLE, None)
    return settings


def case_titles(study: Table) -> dict[str, str]:
    """Return the titles written for the base and for the cases.

    Raises
    ------
    SpecError : a title is no text
    """
    cases_node = node_at(study, ["cases"])
    path_by_name: dict[str, list[str | int]] = {BASE: [BASE]}
    path_by_name |= {name: ["cases", name] for name in _settings_of_table(cases_node)}
    title_by_case = {}
    for name, path in path_by_name.items():
        if (node := _settings_of_table(node_at(study, path)).get(TITLE)) is None:
            continue
        if not isinstance(node, Scalar) or not node.text.strip():
            raise _error_at(study, [*path, TITLE], "write a title, a few words for the report")
        title_by_case[name] = node.text.strip()
    return title_by_case


_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
# Matches a number, with its unit after a space.
_NUMBER_WITH_UNIT = late_pattern(rf"({_NUMBER})(?:%| [a-zA-Z%/]+)?")


def derived_titles(study: Table) -> dict[str, str]:
    """Return titles for cases without one, derived from what the case sets or from the case that it
    uses.

    A case such as ``p16: {processors: 16}`` sets the one number that is in its name, ``sor-80:
    {use: [sor]}`` goes on from a case with a title.
    """
    title_by_case = case_titles(study)
    derived_title_by_case: dict[str, str] = {}
    for name, case_node in _settings_of_table(node_at(study, ["cases"])).items():
        own_settings = _settings_of_table(case_node)
        used_case = node_text(own_settings.pop(USE)).strip("[]") if USE in own_settings else ""
        if name in title_by_case or TITLE in own_settings:
            continue
        if used_case in title_by_case and name.startswith(f"{used_case}-"):
            derived_title_by_case[name] = (
                f"{title_by_case[used_case]}, {as_words(name.removeprefix(f'{used_case}-'))}"
            )
        elif not used_case and len(own_settings) == 1:
            ((path, node),) = own_settings.items()
            number_with_unit = _NUMBER_WITH_UNIT.fullmatch(setting_text := node_text(node))
            # A title of the changed value alone misleads where the name says something else.
            if number_with_unit and number_with_unit[1] in re.findall(_NUMBER, name):
                derived_title_by_case[name] = NO_WORDS.quantity_with_value(path, setting_text)
    return derived_title_by_case


def case_settings(study: Table, differing_settings: Settings | None = None) -> dict[str, Settings]:
    """Return the settings of every case; the base is the first case if it names a model or a
    workload.

    A difference may build on others by ``use: [names]``, which are laid over the base in that
    order, then its own values.

    Parameters
    ----------
    study : as written
    differing_settings : values by path to lay over the base

    Raises
    ------
    SpecError : a difference uses one that does not exist, or itself
    """
    settings_of_base = {**base_settings(study), **(differing_settings or {})}
    cases_node = node_at(study, ["cases"])
    entry_by_name = cases_node.entries if isinstance(cases_node, Table) else {}
    # A misspelt key is reported as such, not by all the cases that then lack a base.
    is_misspelt = any(nearest_names(path, _MODEL_KEYS) for path in settings_of_base)
    base_is_case = (
        settings_of_base.keys() & set(_MODEL_KEYS)
        or is_misspelt
        or (settings_of_base and not entry_by_name)
    )
    # A base without a model is only the common part of the cases.
    settings_by_case: dict[str, Settings] = {BASE: settings_of_base} if base_is_case else {}
    difference_by_name: dict[str, _Difference] = {}
    problems: list[Problem] = []
    for name in entry_by_name:
        try:
            changed_settings, _ = _settings_of_difference(name, study, (), difference_by_name)
            settings_by_case[name] = {**settings_of_base, **changed_settings}
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    # Studies of measurements have nothing to solve.
    if not settings_by_case and not (node_at(study, ["measured"]) or node_at(study, ["fits"])):
        raise _error_at(
            study,
            [BASE],
            "there is nothing to solve: name a model or a workload in base or cases",
        )
    return settings_by_case


def changed_settings_in_words(settings: Settings, base: Settings) -> dict[str, str]:
    """Return the settings in which a case differs from the base, as text."""
    changed_settings = {
        # By identity: a case may state the value of the base again, and means it.
        path: setting_node
        for path, setting_node in settings.items()
        if path not in base or base[path] is not setting_node
    }
    return {
        path: _setting_text(path, setting_node) for path, setting_node in changed_settings.items()
    }


def _setting_text(path: str, node: Node) -> str:
    """Return a setting as text; a whole model as its title."""
    title = node_at(node, ["title"]) if path == "model" else None
    return title.text if isinstance(title, Scalar) else node_text(node)


def sweeps_of(spec: StudySpec, tree: Table) -> list[SweepDefinition]:
    """List the sweeps of a study: the named sweeps, and one sweep over all axes that are written
    without a sweep.

    Raises
    ------
    SpecError : a sweep has the name of the plain one
    """
    sweeps: list[SweepDefinition] = []
    axis_specs: dict[str, Any] = {}
    for name, sweep_spec in spec.vary.items():
        if isinstance(sweep_spec, SweepSpec):
            sweeps.append(
                SweepDefinition(name, sweep_spec, _node_at(tree, ["vary", name]), ("vary", name))
            )
        else:
            axis_specs[name] = sweep_spec
    if axis_specs:
        vary_node = _node_at(tree, ["vary"])
        assert isinstance(vary_node, Table)
        plain_axes = Table({path: vary_node.entries[path] for path in axis_specs}, vary_node.mark)
        plain_node = Table({"axes": Entry(vary_node.mark, plain_axes)}, vary_node.mark)
        if any(sweep.name == PLAIN_SWEEP for sweep in sweeps):
            raise _error_at(
                tree,
                ["vary", PLAIN_SWEEP],
                "the axes without a name already form a sweep of this name; choose another",
            )
        sweeps.append(
            SweepDefinition(PLAIN_SWEEP, SweepSpec(axes=axis_specs), plain_node, ("vary",))
        )
    return sweeps


def _node_at(tree: Node, path: Sequence[str | int]) -> Node:
    node = node_at(tree, path)
    assert node is not None
    return node


_Difference = tuple[dict[str, Node], int]
"""The settings that a case changes, and how many cases the longest chain of uses behind it has."""


def _settings_of_difference(
    name: str,
    study: Table,
    using_cases: tuple[str, ...],
    difference_by_name: dict[str, _Difference],
) -> _Difference:
    """Return the settings that a case changes, including the settings of the cases that it uses;
    `difference_by_name` caches the results.
    """
    if name in difference_by_name:
        return difference_by_name[name]
    cases_node = node_at(study, ["cases"])
    assert isinstance(cases_node, Table)
    own_settings = _settings_of_table(cases_node.entries[name].node)
    used_names_node = own_settings.pop(USE, None)
    own_settings.pop(TITLE, None)
    for key, node in own_settings.items():
        if isinstance(plain_data(node), list) and nearest_names(key, [USE]):
            raise _error_at(study, ["cases", name, key], f"unknown key; did you mean {USE!r}?")
    settings: dict[str, Node] = {}
    chain_length = 1
    for use_index, used_name in enumerate(_used_names(study, name, used_names_node)):
        path: list[str | int] = ["cases", name, USE, use_index]
        if used_name == name or used_name in using_cases:
            raise _error_at(
                study,
                path,
                f"{name} uses itself" + (f", by way of {used_name}" if used_name != name else ""),
            )
        if used_name not in cases_node.entries:
            hint = did_you_mean(used_name, list(cases_node.entries))
            raise _error_at(study, path, f"there is no difference {used_name!r}{hint}")
        # A chain too long ends here, before the recursion could be too deep for Python.
        is_too_deep = len(using_cases) >= LONGEST_USE_CHAIN
        used_settings, used_chain_length = (
            ({}, LONGEST_USE_CHAIN)
            if is_too_deep
            else _settings_of_difference(used_name, study, (*using_cases, name), difference_by_name)
        )
        chain_length = max(chain_length, 1 + used_chain_length)
        if chain_length > LONGEST_USE_CHAIN:
            raise _error_at(
                study,
                path,
                f"over {LONGEST_USE_CHAIN} differences build on one another; name fewer",
            )
        settings |= used_settings
    # What a case sets itself comes last and wins.
    difference_by_name[name] = {**settings, **own_settings}, chain_length
    return difference_by_name[name]


def _used_names(study: Table, name: str, used_names_node: Node | None) -> list[str]:
    """Return the names of the cases that a case uses; raise if they are not written as a list."""
    if used_names_node is None:
        return []
    names = plain_data(used_names_node)
    if isinstance(names, list) and all(isinstance(used_name, str) for used_name in names):
        return names
    raise _error_at(
        study, ["cases", name, USE], "write a list of differences, such as [ssd, faster-disk]"
    )


def _settings_of_table(node: Node | None) -> dict[str, Node]:
    """Return the settings of a table by path; each key is a whole path with dots."""
    return (
        {path: entry.node for path, entry in node.entries.items()}
        if isinstance(node, Table)
        else {}
    )


def _error_at(study: Table, path: list[str | int], message: str) -> SpecError:
    return key_mark(study, path).error(message, path)


@contextmanager
def collect_problems(problems: list[Problem]) -> Iterator[None]:
    """Collect the problems that the body raises, so that checking continues."""
    try:
        yield
    except SpecError as error:
        problems += error.problems


@dataclass(frozen=True, slots=True)
class StudyContext:
    """The study and its cases, as questions read them.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    base : settings of the base
    cases : settings of each case
    library : every file that was read
    overrides : values by path that hold in every case, whatever the study says
    fitted : what a fit set in the base, with its `settings` by path; None without a fit
    """

    spec: StudySpec
    tree: Table
    base: Settings
    cases: Mapping[str, Settings]
    library: Library
    overrides: Settings = field(default_factory=dict)
    fitted: Any = None

    @classmethod
    def from_study(
        cls,
        spec: StudySpec,
        tree: Table,
        library: Library,
        overrides: Settings,
        fitted: Any = None,
    ) -> StudyContext:
        """Build the context of a study; fitted values replace the values of the base case."""
        case_titles(tree)  # raises for a title that is no text
        fitted_settings = fitted.settings if fitted else {}
        base = {**base_settings(tree), **fitted_settings, **overrides}
        cases = {
            name: {**settings, **overrides}
            for name, settings in case_settings(tree, fitted_settings).items()
        }
        return cls(spec, tree, base, cases, library, overrides, fitted)

    def problem(self, path: Place, message: str, *, is_at_key: bool = False) -> Problem:
        """Return a problem of the value at a path of the study, marked there or at its key."""
        return problem(self.tree, path, message, is_at_key=is_at_key)

    def refusal(self, path: Place, message: str, *, is_at_key: bool = False) -> SpecError:
        """Return an error with one problem at a path of the study."""
        return SpecError([self.problem(path, message, is_at_key=is_at_key)])

    def node_of(self, path: Place) -> Node:
        """Return the node at a path of the study."""
        return _node_at(self.tree, path)

    def sweep_over_axes(self, path: Place, axes: Mapping[str, Any], case: str) -> SweepDefinition:
        """Return the sweep of one case along the axes that are written inside a question."""
        axes_node = self.node_of(path)
        node = Table({"axes": Entry(axes_node.mark, axes_node)}, axes_node.mark)
        return SweepDefinition(
            str(path[0]), SweepSpec(axes=dict(axes), cases=[case]), node, path[:1]
        )

    def pictures(self, picture_type: type[PictureT]) -> Iterator[tuple[Place, PictureT]]:
        """Yield the pictures of one kind, each with its place."""
        for index, picture in enumerate(self.spec.pictures):
            if isinstance(picture, picture_type):
                yield ("pictures", index), picture


def check_names(study: StudyContext, sweeps: Sequence[SweepDefinition]) -> None:
    """Refuse names of cases and sweeps, and pictures of questions, that do not exist, before
    anything is built.

    Parameters
    ----------
    study : as read
    sweeps : those that are there

    Raises
    ------
    SpecError : every name that leads nowhere, or stands twice
    """
    named_cases = [
        (path, case)
        for path, case, names_answers in _named_cases(study, sweeps)
        if not names_answers
    ]
    problems = [
        # Names of answers can be checked only when the questions that add answers are read.
        *_unknown_cases(study, named_cases, list(study.cases)),
        *_picture_problems(study, [sweep.name for sweep in sweeps]),
    ]
    if problems:
        raise SpecError(problems)


def check_answer_names(study: StudyContext, added_names: Collection[str]) -> None:
    """Refuse names that belong neither to a case nor to an answer that a question adds, such as
    measured runs.

    Parameters
    ----------
    study : as read
    added_names : names of the answers that questions add

    Raises
    ------
    SpecError : every name that leads nowhere
    """
    known_cases = [*study.cases, *added_names]
    named_cases = [
        (path, case) for path, case, names_answers in _named_cases(study, ()) if names_answers
    ]
    if problems := list(_unknown_cases(study, named_cases, known_cases)):
        raise SpecError(problems)


def check_axes(study: StudyContext, paths_by_sweep: Mapping[str, Sequence[str]]) -> None:
    """Refuse pictures over axes that their sweep does not have.

    Parameters
    ----------
    study : as read
    paths_by_sweep : paths of the axes of each sweep, as results call them

    Raises
    ------
    SpecError : every axis that is not there
    """
    problems = []
    for index, picture in enumerate(study.spec.pictures):
        if not isinstance(picture, LinesSpec | MapSpec) or picture.sweep not in paths_by_sweep:
            continue
        axis_paths = paths_by_sweep[picture.sweep]
        for key in ("x", "series", "against") if isinstance(picture, LinesSpec) else ("x", "y"):
            axis_path = getattr(picture, key)
            if axis_path and axis_path not in axis_paths:
                hint = did_you_mean(axis_path, axis_paths)
                message = f"sweep {picture.sweep} has no axis {axis_path!r}{hint}"
                problems.append(study.problem(("pictures", index, key), message))
    if problems:
        raise SpecError(problems)


def _unknown_cases(
    study: StudyContext, named_cases: Sequence[tuple[Place, str]], case_names: Collection[str]
) -> Iterator[Problem]:
    for path, case in named_cases:
        if case not in case_names:
            yield study.problem(
                path, f"there is no case {case!r}{did_you_mean(case, list(case_names))}"
            )


def _named_cases(
    study: StudyContext, sweeps: Sequence[SweepDefinition]
) -> Iterator[tuple[Place, str, bool]]:
    """Yield every place that names a case, with the name, and whether it may instead name an answer
    that a question adds.
    """
    for sweep in sweeps:
        yield from (
            (sweep.path_of("cases", index), case, False)
            for index, case in enumerate(sweep.spec.cases)
        )
    for key, question in study.spec.questions.items():
        for path, question_spec in parts_of(question):
            yield from (
                ((key, *path, *inner_path), case, question_spec.names_answers)
                for inner_path, case in question_spec.named_cases()
            )
    for index, picture in enumerate(study.spec.pictures):
        paths_and_cases = picture.named_cases()
        yield from (
            (("pictures", index, *inner_path), case, picture.names_answers)
            for inner_path, case in paths_and_cases
        )


def cases_of(question: Any) -> list[str]:
    """List the cases that a question names; none if its names may also be answers that questions
    add.
    """
    return [
        case
        for _, question_spec in parts_of(question)
        if not question_spec.names_answers
        for _, case in question_spec.named_cases()
    ]


def parts_of(question: Any) -> Iterator[tuple[Place, QuestionSpec]]:
    """Yield the questions under one key, each with its place inside the key, which may hold several
    questions by name or in a list.
    """
    if isinstance(question, Mapping):
        yield from (((name,), question_spec) for name, question_spec in question.items())
    elif isinstance(question, list):
        yield from (((index,), question_spec) for index, question_spec in enumerate(question))
    else:
        yield (), question


def _picture_problems(study: StudyContext, sweep_names: Sequence[str]) -> Iterator[Problem]:
    taken_names: set[str] = set()
    for index, picture in enumerate(study.spec.pictures):
        if picture.name in taken_names:
            yield study.problem(
                ("pictures", index, "name"), f"another picture is called {picture.name}"
            )
        taken_names.add(picture.name)
        if isinstance(picture, BarsSpec) and picture.along:
            yield from _area_picture_problems(study, ("pictures", index), picture)
        if isinstance(picture, LinesSpec | MapSpec) and picture.sweep not in sweep_names:
            message = (
                f"there is no sweep {picture.sweep!r}{did_you_mean(picture.sweep, sweep_names)}"
            )
            yield study.problem(("pictures", index, "sweep"), message)
        elif picture.question and picture.question not in study.spec.questions:
            message = (
                f"a picture of kind {getattr(picture, 'kind', picture.name)} shows"
                f" {picture.question}, which the study does not ask for; add the key"
                f" {picture.question}, or leave the picture out"
            )
            yield study.problem(("pictures", index), message)


def _area_picture_problems(
    study: StudyContext, picture_path: Place, picture: BarsSpec
) -> Iterator[Problem]:
    """Yield a problem for each case that does not set a number for the horizontal axis of a picture
    of areas.
    """
    for index, case in enumerate(picture.cases):
        node = study.cases.get(case, {}).get(picture.along)
        if case in study.cases and (node is None or numbers_of([node]) is None):
            reason = f"case {case} sets no number {picture.along}, along which the areas are drawn"
            yield study.problem((*picture_path, "cases", index), reason)
