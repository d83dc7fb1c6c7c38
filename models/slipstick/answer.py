"""Answers: labelled values with units, the account of time, shares, and how it was got."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import cached_property
from math import inf
from typing import Any

from slipstick.arguments import TEXT, checked
from slipstick.display import ShownAsTables, TableShown
from slipstick.errors import UnknownNameError, with_way_out
from slipstick.extensions import FUNCTIONS
from slipstick.late import dataclass, field
from slipstick.vocabulary import BOUNDS, NOT_CHECKED, SIMULATION, UNDECIDED

OVERHEAD, REDUCTION = "overhead", "overhead_reduction"
"""The names of two values: the time of a processor that is not useful work, and the fraction of
this time that a case saves of it, 1 - after / before.
"""

LOW = "low"
HIGH = "high"

SURE_HALF_WIDTHS = 2.0
"""Half-widths of its interval by which an estimate may differ from what is true without being
counted as a contradiction [1]. By chance alone one in twenty differs by over 1, and one in some
10,000 by over 2. More than chance is allowed, for short runs of times that hardly vary settle
slowly: of 40 seeds of a full bus (`grain/unit` with 256 processors) 16 were over 1 beyond a bound,
with a mean of -0.8 half-widths.
"""

_SECONDS = (
    *(
        "time",
        "time_alone",
        "time_quantile",
        "wait",
        "account",
        "technology",
        "step",
        "once",
        OVERHEAD,
    ),
    *(
        "response_time",
        "residence_time",
        "time_per_visit",
        "waiting_time",
        "response_time_quantile",
        "time_until",
    ),
    *("phase_time", "phase_time_quantile", "time_per_unit", "time_per_unit_quantile"),
    "phase_account",
    "round_time",
)
_UNITS = {
    "throughput": "1/s",
    "goodput": "1/s",
    "unit_rate": "1/s",
    "warps": "1/s",
    "bytes": "B",
    **dict.fromkeys(_SECONDS, "s"),
}


def unit_of(name: str) -> str:
    """Return the base unit of a value, or of an end of its interval, by its name; values without a
    special unit are plain numbers.

    >>> unit_of("low[throughput[jobs]]")
    '1/s'
    """
    value_kind, _, inner_name = name.partition("[")
    return unit_of(inner_name[:-1]) if value_kind in (LOW, HIGH) else _UNITS.get(value_kind, "1")


def labelled_name(value_kind: str, *labels: str) -> str:
    """Return the name of a value with its labels in brackets; empty labels, such as the label of a
    single group, are left out.

    >>> labelled_name("response_time", ""), labelled_name("response_time_quantile", "users", "0.9")
    ('response_time', 'response_time_quantile[users,0.9]')
    """
    labels_text = ",".join(filter(None, labels))
    return f"{value_kind}[{labels_text}]" if labels_text else value_kind


VALUES_OF_EACH_GROUP = ("time", "throughput", "time_quantile")
"""Kinds of values that each group of processors has for itself."""


def hint_of_group_names(name: str, group_names: Sequence[str]) -> str:
    """Return a hint, for a message, on the names to write for a value that each of several groups
    has; empty for other names.

    >>> hint_of_group_names("time", ["readers", "writers"])
    ' without a group; write time[readers] or time[writers]'
    >>> hint_of_group_names("time_quantile[0.95]", ["readers", "writers"])
    ' without a group; write time_quantile[readers,0.95] or time_quantile[writers,0.95]'
    >>> hint_of_group_names("time", ["readers"])
    ''
    """
    value_kind, _, label = name.removesuffix("]").partition("[")
    if (
        value_kind not in VALUES_OF_EACH_GROUP
        or len(group_names) < 2
        or "," in label
        or label in group_names
    ):
        return ""
    names_of_groups = (labelled_name(value_kind, group_name, label) for group_name in group_names)
    return f" without a group; write {' or '.join(names_of_groups)}"


VALUES_OF_ALL_GROUPS = ("wait", "utilization", "queue_length")
"""Kinds of values of a resource that hold for all groups together: a wait is the mean over all
visits.
"""


def hint_of_known_name(name: str, group_names: Sequence[str], known_names: Collection[str]) -> str:
    """Return a hint for an error message: the full name of a value, if the user wrote a component
    of the account alone or asked for one group at a resource; empty for other names.

    >>> hint_of_known_name("wait:db", [], ["wait[db]", "account[wait:db]"])
    '; as a part of the time of a cycle it is account[wait:db]'
    >>> hint_of_known_name("wait[db,web]", ["web", "batch"], ["wait[db]"])
    ' of one group; wait[db] is that of all groups'
    """
    if f"account[{name}]" in known_names:
        return f"; as a part of the time of a cycle it is account[{name}]"
    value_kind, _, label_list = name.removesuffix("]").partition("[")
    labels_in_brackets = label_list.split(",")
    has_group_label = value_kind in VALUES_OF_ALL_GROUPS and any(
        label in group_names for label in labels_in_brackets
    )
    for label in labels_in_brackets if has_group_label else ():
        if (name_for_all := f"{value_kind}[{label}]") in known_names:
            return f" of one group; {name_for_all} is that of all groups"
    return ""


def zero_if_rounding(share: float) -> float:
    """Return a fraction, or 0 if it may be due to rounding alone.

    >>> zero_if_rounding(-2.3e-20), zero_if_rounding(0.25)
    (0.0, 0.25)
    """
    # Some 45 times the precision of a double at 1.
    return 0.0 if abs(share) < 1e-14 else share


def has_width(ends: tuple[float | None, float | None]) -> bool:
    """Return whether both ends of an interval are known and differ.

    >>> has_width((1.0, 2.0)), has_width((1.0, 1.0)), has_width((None, 1.0))
    (True, False, False)
    """
    low, high = ends
    return low is not None and high is not None and low < high


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its base unit and, where the method gives them, bounds or an interval."""

    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Both ends of its bounds or interval; None for an end that is not known."""
        return self.low, self.high

    def __str__(self) -> str:
        interval_text = (
            f"{self.low:.4g} to {self.high:.4g}"
            if self.low is not None and self.high is not None
            else "unknown"
        )
        return (
            f"{interval_text if self.value is None else format(self.value, '.4g')} {self.unit}"
        ).removesuffix(" 1")


ANSWERED, OTHER_METHOD, NOT_DEFINED = "answered", "needs another method", "not defined here"
"""States of a value that was asked for."""


@dataclass(frozen=True, slots=True)
class AskedValue:
    """The state of a value that was requested by name.

    Parameters
    ----------
    state : `ANSWERED`, `OTHER_METHOD` or `NOT_DEFINED`
    method : that has the value; empty where none has
    why : the reason, where there is no value
    """

    state: str
    method: str = ""
    why: str = ""

    @property
    def way_to_value(self) -> str:
        """Describe how to obtain the value, or why there is none."""
        if self.state == OTHER_METHOD:
            return with_way_out(f"{self.why}; {self.method} has it", self.method)
        return self.why


@dataclass(frozen=True, slots=True)
class Takeover:
    """A change of the stage that limits a pipeline: when the parameter `path`, whose present value
    is `now`, reaches `value`, another stage becomes the longest.
    """

    path: str
    now: float
    value: float
    unit: str
    stage: str


@dataclass(frozen=True, slots=True)
class Limit:
    """The serial stage that limits a pipeline, and the changes at which another takes over.

    Parameters
    ----------
    pipeline, stage : their names
    stages : time of one item at each serial stage [s]
    takeovers : nearest change of the limiting stage along each parameter, the smallest change first
    """

    pipeline: str
    stage: str
    stages: Mapping[str, float]
    takeovers: tuple[Takeover, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that a check rejected: its method, and the value that was wrong."""

    method: str
    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the default check of an answer by a short simulation.

    Parameters
    ----------
    word : agreed, replaced (by the usual simulation), undecided or not checked
    reason : in words, where there is more to say
    rejected : what was replaced
    value : the name of the value that was compared
    mean, half_width : of that value by the short simulation, in its base unit
    parts : of waits and utilizations that the same run was compared with, by name: agreed or
        undecided

    >>> str(Verdict("agreed")), str(Verdict("not checked", "no cycle ended"))
    ('agreed', 'not checked: no cycle ended')
    """

    word: str
    reason: str = ""
    rejected: Rejected | None = None
    value: str = ""
    mean: float | None = None
    half_width: float | None = None
    parts: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Write the result as tables and JSON show it, with the reason if it is undecided."""
        needs_reason = self.word in (UNDECIDED, NOT_CHECKED) and self.reason
        return f"{self.word}: {self.reason}" if needs_reason else self.word


class DeferredShares(Mapping[str, Mapping[str, float]]):
    """Shares or derivatives of an answer that are computed when first read, under the limits in
    force when the answer was computed.

    Parameters
    ----------
    compute : computes them
    seconds : estimate of the processor time [s]

    >>> shares = DeferredShares(lambda: {"time": {"service": 1.0}}, seconds=20.0)
    >>> shares.seconds, dict(shares)
    (20.0, {'time': {'service': 1.0}})
    """

    def __init__(
        self, compute: Callable[[], Mapping[str, Mapping[str, float]]], seconds: float
    ) -> None:
        self.seconds = seconds
        # Limits of cost are context variables, which are others when the shares are read.
        self._compute = compute
        self._context = copy_context()

    @cached_property
    def _computed_shares(self) -> Mapping[str, Mapping[str, float]]:
        return self._context.run(self._compute)

    def __getitem__(self, name: str) -> Mapping[str, float]:
        return self._computed_shares[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._computed_shares)

    def __len__(self) -> int:
        return len(self._computed_shares)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type, tuple[dict[str, Mapping[str, float]]]]:
        """Compute the values before pickling, because another process has neither the model nor the
        limits.
        """
        return dict, (dict(self),)


_MOST_SHARES = 3
"""The largest number of parts of the time that a sentence names."""

_LEAST_SHARE = 0.05
"""The smallest part of the time that a sentence names [1]."""


@dataclass(frozen=True, slots=True, repr=False)
class Answer(ShownAsTables):
    """The answer of one method for one model at one point.

    Parameters
    ----------
    model, method : names of the model and of the method
    values : the values by name, such as ``time`` or ``processors_lost[lock]``
    account : the time of one processor in a cycle or in the whole program, split by component; the
        parts add up to the time [s]
    technology : the same time, split by technology class [s]
    steps : the same time, split by step [s]
    once : time of one execution of each step [s]
    useful : components that count as useful work
    share : elasticity of each value with respect to each parameter, by value and path: the relative
        change of the value for a small relative change of the parameter. The sign is such that a
        positive share means that a faster part improves the value. The shares of a time or of a
        rate add up to 1
    gradient : derivative of each value with respect to each parameter, by value and path, in base
        units
    exact : whether the method solves the model exactly, except for rounding errors
    bound : the value that lies outside its bounds, and by how much; empty if there is none
    error : reason why the approximate method states no typical error for this model; else empty
    failed : the reason why there is no answer, or None
    other_method : name of another method that has an answer where this method has none; else empty
    notes : sentences on what the method neglected or assumed
    limits : the slowest stage of each pipeline, which limits its rate
    point : the point of a sweep, as values by path
    given : values that were set in place of those of the files
    seed : key of the random streams of a simulation; None for other methods
    converged : whether a simulation reached the requested precision; None for other methods
    promise : typical relative error of the time, such as 0.05 for 5 %, measured by a benchmark of
        the approximate method
    interrupted : whether the method was stopped before it was complete
    intervals : lower and upper end of the confidence interval of each part of the account, by names
        such as ``account[lock]`` and ``step[send]``
    check : result of the comparison with a short simulation. None if there was no comparison,
        because the answer is exact or simulated, or because its method was chosen by name
    left_out : features that were lost when the model was imported, by name, each with its effect;
        such an answer is never exact
    described : the meaning of each quantity by path, from the files
    asked : for each value that was requested by name, whether it was computed, needs another method
        or is not defined
    groups : names of the groups, if there are several; ``time`` and ``throughput`` then need the
        name of a group
    subject : the model that was solved, from which the equations are written; None if the answer
        does not keep it
    draws : if inputs have ranges, their random draws by path, and the values at these draws by
        name. Several answers use the same draws for the same path
    """

    model: str
    method: str
    values: Mapping[str, Value] = field(default_factory=dict)
    account: Mapping[str, float] = field(default_factory=dict)
    technology: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    once: Mapping[str, float] = field(default_factory=dict)
    useful: tuple[str, ...] = ()
    share: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    gradient: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    exact: bool = False
    bound: str = ""
    error: str = ""
    failed: str | None = None
    other_method: str = ""
    notes: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    point: Mapping[str, float | str] = field(default_factory=dict)
    given: Mapping[str, float | str] = field(default_factory=dict)
    seed: int | None = None
    converged: bool | None = None
    promise: float | None = None
    interrupted: bool = False
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    check: Verdict | None = None
    described: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    asked: Mapping[str, AskedValue] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    draws: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    subject: Any = field(default=None, repr=False, compare=False)

    @checked(name=TEXT)
    def __getitem__(self, name: str) -> float | None:
        """Return the number of a value in its base unit by its name; None if only bounds are known.

        Raises
        ------
        UnknownNameError : the answer has no number of that name; the message says which are near,
            or that each group has one

        >>> answer = Answer(
        ...     "m", "closed-form", values={"time": Value(3.0, "s")}, account={"lock": 2.0}
        ... )
        >>> answer["time"], answer["account[lock]"]
        (3.0, 2.0)
        """
        hint = hint_of_group_names(name, self.groups)
        if hint or (name not in self.values and self.find(name) is None):
            raise UnknownNameError(f"value in the answer for {self.model}", name, self.names, hint)
        return self.find(name)

    def __str__(self) -> str:
        """Write the answer as `slipstick solve` prints it."""
        return str(FUNCTIONS["text of an answer"](self)).rstrip()

    def equations(self) -> str:
        r"""Write the equations of the method that answered, in LaTeX (``align*`` of amsmath).

        Raises
        ------
        NoAnswerError : the answer does not keep its model, as those of a study, or no equations
            are written for the method

        >>> from slipstick import solve
        >>> print(solve("law/little", {"throughput": "10 /s", "time": "2 s"}).equations())
        \begin{align*}
        L &= X R
        \end{align*}
        """
        return str(FUNCTIONS["equations of an answer"](self))

    def cite(self) -> str:
        """Return a citation of the numbers: the model, slipstick, the method and the settings."""
        return str(FUNCTIONS["citation of an answer"](self))

    def shown_tables(self) -> Iterator[TableShown]:
        """Yield the values, the account and the notes."""
        yield from FUNCTIONS["tables of an answer"](self)

    @property
    def has_only_bounds(self) -> bool:
        """Whether the method computes bounds, and no values."""
        return self.method.partition("/")[0] == BOUNDS

    @property
    def largest_shares(self) -> dict[str, float]:
        """The largest shares of the time by component, largest first; empty if there is one."""
        total_time = sum(self.account.values())
        labels_and_times = sorted(
            self.account.items(), key=lambda label_and_time: -label_and_time[1]
        )
        return {
            label: time / total_time
            for label, time in labels_and_times[:_MOST_SHARES]
            if len(labels_and_times) > 1 and time >= _LEAST_SHARE * total_time > 0
        }

    @property
    def refusal(self) -> str:
        """The reason why there is no answer, and the method that has one; empty if there is an
        answer.
        """
        return with_way_out(self.failed or "", self.other_method)

    def __repr__(self) -> str:
        if self.failed is not None:
            return f"<Answer for {self.model} by {self.method}: no answer: {self.refusal}>"
        first_values_text = ", ".join(
            f"{name} = {value}" for name, value in list(self.named_values.items())[:2]
        )
        hidden_count = len(self.names) - 2
        return (
            f"<Answer for {self.model} by {self.method}:"
            f" {first_values_text}{f', and {hidden_count} more' if hidden_count > 0 else ''}>"
        )

    @property
    def named_values(self) -> dict[str, Value]:
        """The values whose names need no group. If there are several groups, `time` and
        `throughput` are not included.
        """
        return {
            name: value
            for name, value in self.values.items()
            if not hint_of_group_names(name, self.groups)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all numbers that `find` returns."""
        return (
            *self.named_values,
            *(
                f"{value_kind}[{label}]"
                for value_kind, number_by_label in self._labelled_numbers.items()
                for label in number_by_label
            ),
        )

    @checked(name=TEXT)
    def find(self, name: str) -> float | None:
        """Return a number in its base unit by its name; None if the answer has no such number.

        >>> Answer("m", "closed-form", account={"lock": 2.0}).find("account[lock]")
        2.0
        """
        if name in self.values:
            return self.values[name].value
        value_kind, _, label = name.partition("[")
        return (
            self._labelled_numbers[value_kind].get(label.removesuffix("]"))
            if value_kind in self._labelled_numbers
            else None
        )

    @checked(name=TEXT)
    def ends(self, name: str) -> tuple[float | None, float | None]:
        """Return the two ends of the interval of a number, in its base unit; None if it has no
        interval.

        They are infinite where a simulation does not know how sure its estimate is: it was too
        short, or drifts.

        >>> Answer(
        ...     "m", "simulation", account={"lock": 2.0}, intervals={"account[lock]": (1.9, 2.1)}
        ... ).ends("account[lock]")
        (1.9, 2.1)
        """
        value = self.values.get(name)
        interval = (
            (value.low, value.high) if value is not None else self.intervals.get(name, (None, None))
        )
        is_estimate = self.converged is not None and not self.exact and self.find(name) is not None
        # An estimate without an interval is not exact: infinite ends leave every comparison with it
        # undecided. The time of a step alone, ``once``, is given and not estimated.
        return (
            (-inf, inf)
            if is_estimate and None in interval and not name.startswith("once[")
            else interval
        )

    @checked(name=TEXT)
    def unit(self, name: str) -> str:
        """Return the base unit of a number by its name; empty if there is no such number."""
        if name in self.values:
            return self.values[name].unit
        return "s" if self.find(name) is not None else ""

    @property
    def units(self) -> dict[str, str]:
        """The base unit of every number, by its name."""
        return {name: self.unit(name) for name in self.names}

    @property
    def _labelled_numbers(self) -> dict[str, Mapping[str, float]]:
        """Return the numbers of the answer whose names have a label in brackets, such as
        ``utilization[bus]``.
        """
        return {
            "account": self.account,
            "technology": self.technology,
            "step": self.steps,
            "once": self.once,
        }


def exactness_words(answer: Answer) -> str:
    """Return in words whether an answer is exact, and whether its check confirmed it.

    A check that is undecided does not refute the equations that the method solves, but it does not
    confirm the answer either, and the words say so.

    >>> exactness_words(Answer("m", "mean-value", exact=True, check=Verdict(UNDECIDED)))
    'exact by its equations, not confirmed'
    >>> exactness_words(Answer("m", "simulation", exact=True))
    'without sampling error, since no time is random'
    """
    if not answer.exact:
        return "not exact"
    is_unconfirmed = answer.check is not None and answer.check.word in (UNDECIDED, NOT_CHECKED)
    if is_unconfirmed:
        return "exact by its equations, not confirmed"
    if answer.method == SIMULATION:
        return "without sampling error, since no time is random"
    return "solved exactly"
