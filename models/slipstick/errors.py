"""Everything that can go wrong, as one tree.

::

    SlipstickError
    |-- InputError            the input is wrong; the command line ends with status 2
    |   |-- SpecError         problems in files, all at once, each with its place
    |   |-- UnitError         a quantity that cannot be read or turned into another unit
    |   |-- FormulaError      text that is not arithmetic on known names
    |   |-- ModelError        a model, law or expression that cannot be built
    |   |   `-- ModelFaultsError   faults of a model, all at once, each with its place in it
    |   |-- UnknownNameError  a name that is not there, with the nearest that are
    |   `-- MissingExtraError an optional library is not installed
    `-- NoAnswerError         the model has no answer; the command line ends with status 1
        `-- TooManyStatesError     its Markov chain is too large

Why this shape: callers act on two things only, whether the input or the model is at fault, and
where. So the two branches are the two exit statuses, and a place travels as a `Problem`, not as
text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Self, TypeVar

from slipstick.late import dataclass, late_pattern

T = TypeVar("T")

MOST_PROBLEMS_SHOWN = 20
"""The largest number of problems that the text of an error lists."""


class TypedSentence(str):
    """A sentence on an answer, or on why there is none, whose class states its kind, and whose
    fields name what it is about. Programs read the class and the fields, and never the words.

    It is compared, written and stored as its text. Text that is made from it, such as by an
    f-string, has no kind; `with_kind_of` gives it one.

    >>> MissingValue("t has no value: it is late", value_name="t", reason="it is late").reason
    'it is late'
    """

    def __new__(cls, text: str, **fields: Any) -> Self:
        sentence = super().__new__(cls, text)
        vars(sentence).update(fields)
        return sentence

    @classmethod
    def with_advice(cls, cause: str, advice: str, **fields: str) -> Self:
        """Return a sentence on a cause and a way out; `cause_of` returns the first alone."""
        return cls(f"{cause}; {advice}", cause=cause, **fields)

    def __str__(self) -> str:
        # The text of an error is ``str`` of its argument, which would lose the kind.
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self[:],), vars(self)


class KeyMeaning(TypedSentence):
    """The meaning of a key of a file, with a clause on how to write the key or on its default.
    `brief` is the meaning without this clause.
    """

    brief: str

    @classmethod
    def of(cls, brief: str, clause: str) -> Self:
        """Return the meaning with its clause.

        >>> KeyMeaning.of("number of visits in a cycle", "1 by default").brief
        'number of visits in a cycle'
        """
        return cls(f"{brief}; {clause}", brief=brief)


class Unsolvable(TypedSentence):
    """A sentence that a model has no answer, whatever the method."""


class Saturated(Unsolvable):
    """A sentence that a resource is saturated: arrivals bring it more work than it can do.
    `resource_name` names the resource if there are several.
    """

    resource_name: str = ""


class Unmet(TypedSentence):
    """A sentence that a requirement of the model does not hold; its cause has no formula."""


class NothingToEstimate(TypedSentence):
    """A sentence that a simulation was too short to estimate anything."""


class Doubt(TypedSentence):
    """A sentence on how certain an answer is: its usual error, what it leaves out, or whether it
    has converged.
    """


class MeasuredError(Doubt):
    """A sentence on the errors of an approximation that were measured. `construct` is what the
    models of the measurement had, `response_errors` are the median and the 95th percentile of the
    error of the response time [%].
    """

    construct: str
    response_errors: tuple[float, float]


class LongWork(TypedSentence):
    """An announcement of work with its estimated processor time in `seconds`."""

    seconds: float


class StatedError(Doubt):
    """A sentence on the errors of a model that its file states; `errors` is the file's text."""

    errors: str


class Prominent(Doubt):
    """A doubt that the first lines of an answer have."""


class MoreProcessors(Prominent):
    """A sentence that a model uses more processors than its machine has; `used` is their number."""

    used: float


class OperationKind(Doubt):
    """A sentence on the kind of operations whose rate the machine states; `kind` names it."""

    kind: str


class NotConverged(Doubt):
    """A sentence that a simulation has not converged. `reason` says how precise its estimate is, or
    why it has no interval.
    """

    reason: str

    @classmethod
    def because(cls, reason: str) -> Self:
        """Return the sentence with its reason."""
        return cls(f"not converged: {reason}", reason=reason)


class WaitingLeftOut(Doubt):
    """A sentence that an answer leaves out waiting at some resources."""

    resource_names: Sequence[str]


class Unanswered(Prominent):
    """A sentence on how many points of the ranges of settings have no answer."""


class Definition(TypedSentence):
    """A sentence on what a value means, or which parts it consists of."""


class CountedAtStation(Definition):
    """A sentence that the throughput of a class counts its customers at one station, and also those
    that other stations lose.
    """

    class_name: str
    station_name: str


class RunLength(TypedSentence):
    """A sentence on how long a simulation has run, and what ended it."""


class SlightlyBeyond(TypedSentence):
    """A sentence that an estimate lies beyond a bound by so few half-widths of its interval that it
    does not count as a contradiction; see `slipstick.answer.SURE_HALF_WIDTHS`.
    """


class AbsentValue(TypedSentence):
    """A sentence that no answer has a value that was requested."""


class DoubtfulRate(TypedSentence):
    """A sentence that a quantity was scaled to another year by a rate that is a guess, or is based
    on a weak series.
    """


class DoubtfulRates(TypedSentence):
    """A sentence that rates behind the answer to a question are guesses, of weak series, or that
    their data have ended.
    """

    titles: frozenset[str]


class DoubtfulSource(TypedSentence):
    """A sentence on the source of a quantity that was scaled to another year by a doubtful rate."""

    rate_in_words: str


class MissingValue(TypedSentence):
    """A sentence on the reason why an answer does not have a value."""

    value_name: str
    reason: str


def cause_of(sentence: str) -> str:
    """Return a sentence without its way out.

    >>> cause_of(Saturated.with_advice("it is saturated", "lower the arrivals"))
    'it is saturated'
    """
    return getattr(sentence, "cause", sentence)


def with_kind_of(text: str, *sentences: str) -> str:
    """Return a text as a message of the class of the first typed sentence, with its fields.

    >>> isinstance(with_kind_of("m: it is saturated", "too large", Saturated("x")), Saturated)
    True
    """
    typed_sentences = (sentence for sentence in sentences if isinstance(sentence, TypedSentence))
    first_sentence = next(typed_sentences, None)
    return text if first_sentence is None else type(first_sentence)(text, **vars(first_sentence))


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A problem in the input with its place: 1-based line and column (0 outside files), dotted
    path.
    """

    file: str
    line: int
    column: int
    path: str
    message: str

    @property
    def place(self) -> tuple[str, int, int]:
        """The place as file, line and column."""
        return self.file, self.line, self.column

    def __str__(self) -> str:
        # These places are on the command line, without a line number.
        is_option = self.file.startswith("--") or self.file in (
            "MODEL",
            "command line",
        )
        place_text = (
            f"{self.file}:{self.line}:{self.column}" if self.line and not is_option else self.file
        )
        option_name = self.file.removeprefix("--").removeprefix("set ").casefold()
        # The path would repeat the option.
        repeats_option = is_option and self.path.casefold() in (
            option_name,
            f"simulation.{option_name}",
        )
        # What a model on the command line lacks is no key of a file that the reader has.
        if (
            self.file == "MODEL"
            and self.message.startswith("key ")
            and " is missing" in self.message
        ):
            meaning = self.message.partition(" is missing")[2]
            return f"--set {self.path}=VALUE is missing{meaning}"
        return (
            f"{place_text}: {self.path}: {self.message}"
            if self.path and not repeats_option
            else f"{place_text}: {self.message}"
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a model, with the place of the faulty part in the model.

    Parameters
    ----------
    path : where, as keys and numbers
    message : what, and the way out
    is_at_key : whether the key at the end of the path is wrong, and not its value
    """

    path: tuple[str | int, ...]
    message: str
    is_at_key: bool = False

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.message}"


class SlipstickError(Exception):
    """Base of all errors that slipstick raises on purpose. Such an error can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is made again from its message alone, which most of these do not
        # take.
        return _rebuilt_error, (type(self), self.args, self.__dict__)


def _rebuilt_error(
    error_type: type[SlipstickError], args: tuple[object, ...], attributes: dict[str, object]
) -> SlipstickError:
    error = error_type.__new__(error_type, *args)
    error.__dict__.update(attributes)
    return error


class InputError(SlipstickError):
    """The error of a wrong input, which its author can correct."""


class SpecError(InputError):
    """The error of problems in files, collected and sorted by place."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        # Several cases find the same problem in a file that they share, and several values of an
        # axis one at their path.
        problem_by_text: dict[tuple[str, int, str, str], Problem] = {}
        for problem in sorted(problems):
            column = "" if problem.path else str(problem.column)
            problem_key = (problem.file, problem.line, problem.path or column, problem.message)
            problem_by_text.setdefault(problem_key, problem)
        self.problems: tuple[Problem, ...] = tuple(problem_by_text.values())
        lines = [str(problem) for problem in self.problems[:MOST_PROBLEMS_SHOWN]]
        hidden_count = len(self.problems) - len(lines)
        if hidden_count > 0:
            lines.append(f"and {hidden_count} more problems")
        super().__init__("\n".join(lines))


class UnitError(InputError):
    """The error of a quantity that cannot be read, or whose dimension is not the required one.

    `spelling` is the correct spelling of a unit that is often misspelled.
    """

    def __init__(self, message: str, spelling: str = "") -> None:
        self.spelling = spelling
        super().__init__(message)


class FormulaError(InputError):
    """The error of a text that is not arithmetic on known names; `column` is 1-based within the
    text, `name` is the unknown name, if any.
    """

    def __init__(self, message: str, column: int = 1, name: str = "") -> None:
        self.column = column
        self.name = name
        super().__init__(message)


class ModelError(InputError):
    """The error of a model, law or expression that cannot be built or evaluated as asked.

    `about` is the part of an activity that it concerns, for readers of files, which know its place.
    """

    about: object = None


@contextmanager
def note_part(part: object) -> Iterator[None]:
    """Record in a ModelError that the body raises which part of an activity it concerns, unless an
    inner block has recorded one.
    """
    try:
        yield
    except ModelError as error:
        # The innermost part is the one to look at.
        error.about = error.about or part
        raise


class ModelFaultsError(ModelError):
    """The error of a model with faults."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


class UnknownNameError(InputError):
    """The error of a name that is not among the known ones."""

    def __init__(self, kind: str, name: str, known_names: Sequence[str], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known_names)
        super().__init__(f"there is no {kind} {name!r}{hint or did_you_mean(name, known_names)}")


def look_up(kind: str, name: str, value_by_name: Mapping[str, T]) -> T:
    """Return the value of a name in a mapping; raises UnknownNameError with a suggestion.

    Raises
    ------
    UnknownNameError : nothing has the name
    """
    if name not in value_by_name:
        raise UnknownNameError(kind, name, list(value_by_name))
    return value_by_name[name]


class UnknownKeyError(UnknownNameError, KeyError):
    """The error of an unknown name in a mapping such as a catalogue, which must be a KeyError."""


class MissingExtraError(InputError):
    """The error of an optional library that is not installed."""

    def __init__(self, library: str, purpose: str, extra: str) -> None:
        self.library = library
        self.extra = extra
        package = f"'slipstick[{extra}]'" if extra else library
        super().__init__(f"{purpose} needs {library}: pip install {package}")


def import_optional(library: str, purpose: str, extra: str = "report") -> Any:
    """Import an optional library or a module of it; `extra` is the extra of this package that
    installs it.

    Raises
    ------
    MissingExtraError : it is not installed
    """
    try:
        return import_module(library)
    except ImportError:
        raise MissingExtraError(library.partition(".")[0], purpose, extra) from None


class NoAnswerError(SlipstickError):
    """The error of a model that is well formed but has no answer, for instance because a time
    overflows.

    `other_method` names a method that was tried and has one; empty where none is known.
    """

    def __init__(self, message: str, other_method: str = "") -> None:
        self.other_method = other_method
        super().__init__(message)


def with_way_out(reason: str, other_method: str) -> str:
    """Return why there is no answer, with how to write the method that has one, if one is known.

    >>> with_way_out("ask for simulation", "simulation")
    'ask for simulation (--with simulation; in a file, method: simulation)'
    >>> with_way_out("it is too large", "")
    'it is too large'
    """
    if not other_method:
        return reason
    return f"{reason} (--with {other_method}; in a file, method: {other_method})"


class TooManyStatesError(NoAnswerError):
    """The error of a Markov chain that is too large; `size` is the number of states, for callers
    that know another way out.
    """

    def __init__(self, size: str, way_out: str) -> None:
        self.size = size
        super().__init__(f"{size}; {way_out}")


def nearest_names(name: str, known_names: Collection[str]) -> list[str]:
    """List the known names that a mistyped name is probably meant to be; empty if none is near.

    >>> nearest_names("adaptor", ["adapter", "switch"]), nearest_names("x", ["adapter", "switch"])
    (['adapter'], [])
    """
    # The comparison takes time with the square of the length: a name of a megabyte must not stop a
    # message.
    return (
        [
            known_name
            for word in _SYNONYMS.get(name.casefold(), ())
            for known_name in known_names
            if known_name.partition("[")[0] == word
        ][:3]
        or _quantile_names(name[:80], known_names)[:3]
        # The path of a parameter stands for its name.
        or [known_name for known_name in known_names if name == f"parameters.{known_name}"]
        or get_close_matches(name[:80], known_names, n=1, cutoff=0.6)
        or _names_with_letters(name, known_names)[:3]
    )


def suggestion_of(near_names: Sequence[str]) -> str:
    """Return a suggestion of names, as the end of a message; empty if there are none."""
    return f"; did you mean {' or '.join(map(repr, near_names))}?" if near_names else ""


def did_you_mean(name: str, known_names: Collection[str], most_names: int = 12) -> str:
    """Return a suggestion for a mistyped name, as the end of a message: the nearest known names,
    else the first of all.

    >>> did_you_mean("adaptor", ["adapter", "switch"])
    "; did you mean 'adapter'?"
    >>> did_you_mean("x", ["adapter", "switch"])
    '; known: adapter, switch'
    >>> did_you_mean("M/M/1", ["amdahl-speedup", "mm1-number", "mm1-response-time"])
    "; did you mean 'mm1-number' or 'mm1-response-time'?"
    >>> did_you_mean("mm1", ["amdahl-speedup", "mm1-number"])
    "; did you mean 'mm1-number'?"
    >>> did_you_mean("fifo", ["fcfs", "ps"])
    "; did you mean 'fcfs'?"
    >>> did_you_mean("p99", ["response_time[jobs]", "response_time_quantile[jobs,0.5]"])
    "; did you mean 'response_time_quantile[jobs,0.99]'?"
    >>> did_you_mean("percentile[jobs, 95%]", ["response_time_quantile[jobs,0.5]"])
    "; did you mean 'response_time_quantile[jobs,0.95]'?"
    >>> did_you_mean("delay_probability[db]", ["loss_probability[jobs,db]"])
    '; the probability that a customer waits is law/erlang-c'
    """
    if advice := _ADVICE.get(name.partition("[")[0].casefold()):
        return f"; {advice}"
    near_names = nearest_names(name, known_names)
    if near_names or not known_names:
        return suggestion_of(near_names)
    names_in_words = ", ".join(list(known_names)[:most_names])
    return f"; known: {names_in_words}" + (", ..." if len(known_names) > most_names else "")


_ADVICE = {
    **dict.fromkeys(
        ("delay_probability", "waiting_probability", "wait_probability"),
        "the probability that a customer waits is law/erlang-c",
    ),
    "lq": "subtract servers * utilization from queue_length, which counts customers in service too",
}
"""How to get values of the field that no answer has."""

_SYNONYMS = {
    "fifo": ("fcfs",),
    "fcfs": ("fifo",),
    "lifo": ("lcfs",),
    "round-robin": ("in-turn", "ps"),
    "mva": ("exact", "mean-value"),
    "ctmc": ("markov-chain",),
    "des": ("simulation",),
    "mutex": ("lock",),
    "usl": ("universal-scalability", "universal-scalability-peak"),
    "semaphore": ("permits",),
    "latency": ("response_time", "time"),
    "steps": ("cycle",),
    "sleep": ("delay",),
    "program": ("activity",),
    "service": ("queueing-network",),
    **dict.fromkeys(("threads", "cores", "workers", "ranks"), ("processors",)),
    **dict.fromkeys(("users", "customers", "clients", "jobs"), ("population", "processors")),
    **dict.fromkeys(("that", "condition", "conditions", "constraints", "until"), ("where",)),
    **dict.fromkeys(("path", "parameter"), ("of",)),
    "objective": ("minimize",),
    **dict.fromkeys(("price", "prices", "dollars", "euros"), ("cost",)),
    **dict.fromkeys(("find", "search"), ("seek", "choose")),
    **dict.fromkeys(("start", "first"), ("from",)),
    **dict.fromkeys(("end", "stop", "last"), ("to",)),
    **dict.fromkeys(("lambda", "rps", "qps"), ("arrivals",)),
    "file": ("data",),
    "scheduling": ("discipline",),
}
"""The words of slipstick for words of the field that are spelled otherwise."""


def _quantile_names(name: str, known_names: Collection[str]) -> list[str]:
    """Return the quantiles that a word such as p99 or percentile[jobs, 95%] means, by known names
    of quantiles; those of the class or group that the word names, if it names one.
    """
    if not _PERCENTILE.search(name):
        return []
    number_texts = _NUMBER.findall(name)
    level = float(number_texts[-1]) if number_texts else 0.95
    level = level / 100 if level > 1 else level
    matches = [_LAST_NUMBER.match(known_name) for known_name in known_names]
    name_stems = dict.fromkeys(match[1] for match in matches if match)
    named_stems = [
        name_stem
        for name_stem in name_stems
        if name_stem.partition("[")[2].strip(",") in _WORD.findall(name)
    ]
    return [f"{name_stem}{level:g}]" for name_stem in named_stems or name_stems if 0 < level < 1]


_PERCENTILE = late_pattern(r"(?i)percentile|quantile|(?:^|_)p_?[0-9]{2}(?:[.][0-9]{1,3})?(?!\w)")
_NUMBER = late_pattern(r"[0-9]+(?:[.][0-9]+)?")
_WORD = late_pattern(r"[\w-]+")
_LAST_NUMBER = late_pattern(r"([a-z_]+_quantile\[(?:[^,\]]*,)?)0[.][0-9]+\]")


def _names_with_letters(name: str, known_names: Collection[str]) -> list[str]:
    """Return the known names that contain the letters and digits of a name; of a name without other
    characters, those that begin with it as a word.
    """
    comparable_name = _letters_and_digits(name[:80])
    # One or two letters are in most names.
    if len(comparable_name) < 3:
        return []
    if comparable_name == name:
        return [known_name for known_name in known_names if known_name.startswith(f"{name}-")]
    matching_names = [
        known_name
        for known_name in known_names
        if comparable_name in _letters_and_digits(known_name)
    ]
    return sorted(matching_names, key=lambda known_name: len(known_name.partition("-")[0]))


def _letters_and_digits(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def short(text: str) -> str:
    """Quote a text of the user, in at most 60 characters.

    >>> short("ab" * 5000)
    "'abababababababababababababababababababababababababababab..."
    """
    quoted_text = repr(text[:60])
    return quoted_text if len(quoted_text) <= 60 else f"{quoted_text[:57]}..."
