"""What the title of a study asks of a fit: how many processors, the fastest number, the cause of
the losses, an efficiency; and the limits and numbers that it states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from slipstick.errors import UnitError
from slipstick.expression.nodes import TIME
from slipstick.late import dataclass, late_pattern
from slipstick.units import parse
from slipstick_measure.readers.names import PROCESSOR_NOUNS

_HOW_MANY = late_pattern(
    r"(?:(?:up to|on|with|at) )?how many\b(?! (?:seconds|minutes|hours))", re.IGNORECASE
)
_PLACE = late_pattern(
    r"\b(?:how many|where|when|how far|up to|from which|number of)\b", re.IGNORECASE
)
_FASTEST = late_pattern(
    r"\b(?:soonest|fastest|quickest|shortest|optim(?:al|um)|how fast (?:can|could)"
    r"|(?:least|minimum) (?:run |wall )?time"
    r"|(?:highest|most|largest|best|maximum) (?:possible )?(?:throughput|speed-?up)"
    r"|speed-?up .*\bat most"
    r"|(?:become|get|grow|run|be|is|are)s? (?:any |still |no )?faster(?! than)"
    r"|stops? (?:scal|help|pay|gain|speed|improv|getting|being|becoming)\w*"
    r"|(?:no|any) longer|(?:no|any) more (?:gain|speed-?up)|levels? off|slower again)\b",
    re.IGNORECASE,
)
_SPEEDUP = late_pattern(
    r"\bhow (?:much|many times) (?:faster|as fast)|\bspeed-?up\b", re.IGNORECASE
)
_CAUSE = late_pattern(
    r"\bwhat (?:will |would |does )?(?:limit|hold|slow|cost|stop|keep)s?\b|\bwhy\b"
    r"|\bbottleneck\b|\bis (?:most )?lost\b",
    re.IGNORECASE,
)
_EFFICIENCY = late_pattern(
    r"\befficien|%|\bhow (?:many|far)\b|\bup to\b|\bworth\b|\bshould\b|\benough\b|\bscal",
    re.IGNORECASE,
)
_WORTH = late_pattern(
    r"\b(?:worth|enough|suffices?|should|scales?|makes? sense|pays? off|sensible|reasonable"
    r"|too (?:many|much))\b",
    re.IGNORECASE,
)
_OTHER_LIMIT = late_pattern(
    r"\b(?:speed-?up|hours?|minutes?|seconds?|deadline)\b(?!.*\befficien)", re.IGNORECASE
)
"""Words of a title that asks for a speed-up or a time, though it has words such as enough."""

_TOO_MANY = late_pattern(r"\btoo (?:many|much)\b", re.IGNORECASE)
_FASTER = late_pattern(
    r"\b(?:faster|quicker|sooner|earlier|shorter|less time|shorten|gains?|benefits?"
    r"|improves?|helps?)\b",
    re.IGNORECASE,
)
_SLOWER = late_pattern(r"\b(?:slower|longer|later|more time)\b", re.IGNORECASE)
_FROM_TO = late_pattern(r"\bfrom \d+ (?:\w+ )?to \d", re.IGNORECASE)
_WHICH_OF_TWO = late_pattern(r"\d(?: \w+)? or (?:\w+ )?\d", re.IGNORECASE)
_STOPS = late_pattern(r"\bstops? \w+ing\b|\b(?:slower|longer|no more)\b", re.IGNORECASE)
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_TIME_LIMIT = late_pattern(
    r"\b(?:within|at most|under|below|in|meets?|deadline of|(?:enough|suffices?) for|over|above"
    r"|exceeds?|(?:more|less|faster|shorter|sooner|longer|slower|later) than)"
    rf" ({_NUMBER} ?[A-Za-z]+)\b(?!/)",
    re.IGNORECASE,
)
_BEYOND = late_pattern(r"\b(?:beyond|past|above|over|after|more than) (\d+)\b", re.IGNORECASE)
_FACTOR = late_pattern(
    rf"\b({_NUMBER}) (?:times|x) (?:as (?:fast|quick)|faster)|\b(twice) as (?:fast|quick)"
    rf"|\bspeed-?up (?:of|reach(?:es)?|is|be|above|over|exceeds?)(?: at least| more than)?"
    rf" ({_NUMBER})",
    re.IGNORECASE,
)
_SHORTEST_TIME = late_pattern(
    r"(?<!\bno)(?<!\bnot)(?<!\bnever) (?:over|above|exceeds?|(?:more|longer|slower|later) than)"
    rf" {_NUMBER} ?[A-Za-z]+\b(?!/)",
    re.IGNORECASE,
)
_PERCENTAGE = late_pattern(rf"({_NUMBER}) ?(?:%|percent\b)")
_SECOND_COUNT = late_pattern(
    r"\b(?:than|of|from|to|and|or|as|on|with|at|using|between) (\d+)"
    r"(?= (?:to|and|or|in place|instead|rather)\b|\?|,|$)",
    re.IGNORECASE,
)
_NOUNS = "|".join(f"{noun}e?s?" for noun in (*PROCESSOR_NOUNS, "processor"))


@dataclass(frozen=True)
class FitTitle:
    """The question in the title of a study that has fits.

    Parameters
    ----------
    text : the title

    >>> FitTitle("Up to how many ranks does it become faster?").asks_for_fastest
    True
    """

    text: str

    @cached_property
    def asks_how_many(self) -> bool:
        """Whether the title begins with a question for a number of processors."""
        return bool(_HOW_MANY.match(self.text))

    @cached_property
    def asks_for_fastest(self) -> bool:
        """Whether the title asks for the least time, or for the largest speed-up."""
        return bool(_FASTEST.search(self.text))

    @cached_property
    def asks_for_fastest_number(self) -> bool:
        """Whether the title asks on how many processors the time is least."""
        return self.asks_for_fastest and bool(_PLACE.search(self.text))

    @cached_property
    def asks_for_speedup(self) -> bool:
        """Whether the title asks how many times as fast the program is, or states a speed-up."""
        return bool(_SPEEDUP.search(self.text)) or (self.least_factor() or 0.0) > 1

    @cached_property
    def asks_for_cause(self) -> bool:
        """Whether the title asks what limits the speed-up."""
        return bool(_CAUSE.search(self.text))

    @cached_property
    def may_ask_for_efficiency(self) -> bool:
        """Whether an efficiency may answer the title: it asks for one, or nothing."""
        is_question = self.text.endswith("?")
        return self.asks_for_efficiency or not (is_question or self.asks_for_fastest)

    @cached_property
    def asks_for_efficiency(self) -> bool:
        """Whether the title has a word for an efficiency, or for a number of processors that is
        efficient enough, and does not ask for the least time.
        """
        has_word = bool(_EFFICIENCY.search(self.text)) and not self.asks_for_fastest
        return has_word and not _OTHER_LIMIT.search(self.text)

    @property
    def asks_if_worth(self) -> bool:
        """Whether the title asks if a number of processors is efficient enough: it has a word for
        that, and no second number, which would be another limit.
        """
        numbers = re.findall(_NUMBER, self.text)
        has_other_limit = len(numbers) != 1 or _OTHER_LIMIT.search(self.text)
        return self.asks_if_one_is_worth_another and not has_other_limit

    @property
    def asks_if_one_is_worth_another(self) -> bool:
        """Whether the title asks if a number of processors is efficient enough, also in place of
        another number.
        """
        return bool(_WORTH.search(self.text))

    @property
    def asks_if_longer(self) -> bool:
        """Whether the title asks if the time is longer than one that it states."""
        return bool(_SHORTEST_TIME.search(self.text))

    @property
    def asks_if_too_many(self) -> bool:
        """Whether the title asks if processors are too many to be efficient enough."""
        return bool(_TOO_MANY.search(self.text))

    def least_factor(self) -> float | None:
        """Return how many times as fast a program is to be at least, by the title: the number that
        it states, or 1 if it asks whether the program is faster; None if it states no such thing.

        >>> FitTitle("Is it twice as fast on 64 ranks as on 16?").least_factor()
        2.0
        >>> FitTitle("Is a speed-up of 20 reached on 64 ranks?").least_factor()
        20.0
        """
        factors = [
            2.0 if twice else float(times or speedup)
            for times, twice, speedup in _FACTOR.findall(self.text)
        ]
        if len(factors) == 1:
            return factors[0]
        is_faster_or_slower = _FASTER.search(self.text) or _SLOWER.search(self.text)
        return 1.0 if is_faster_or_slower and not factors else None

    @property
    def asks_which_of_two(self) -> bool:
        """Whether the title asks which of two numbers of processors to choose."""
        return bool(_WHICH_OF_TWO.search(self.text))

    @property
    def asks_if_slower(self) -> bool:
        """Whether the title asks if the program is slower."""
        return bool(_SLOWER.search(self.text) and not _FASTER.search(self.text))

    @property
    def goes_from_first_to_second(self) -> bool:
        """Whether the second number of processors in the title is in place of the first."""
        return bool(_FROM_TO.search(self.text))

    def number_beyond(self) -> float | None:
        """Return the number of processors beyond which the title asks for a gain; None if it names
        none.

        >>> FitTitle("Does it become faster beyond 32 ranks?").number_beyond()
        32.0
        """
        numbers = _BEYOND.findall(self.text)
        is_gain_asked = self.asks_for_fastest or self.least_factor() == 1
        return float(numbers[0]) if len(numbers) == 1 and is_gain_asked else None

    @property
    def asks_if_it_stops(self) -> bool:
        """Whether the title asks if a gain ends."""
        return bool(_STOPS.search(self.text))

    def longest_time(self) -> tuple[str, float] | None:
        """Return the single time that the title states as a limit, as written and in seconds; None
        if it states none or several.

        >>> FitTitle("Do 48 ranks finish within 2 min?").longest_time()
        ('2 min', 120.0)
        """
        times = [*_times(_TIME_LIMIT.findall(self.text))]
        return times[0] if len(times) == 1 else None

    def least_throughput(self, unit: str) -> str:
        """Return the single throughput in a unit that the title states, as written; empty if it
        states none or several.

        >>> FitTitle("How many nodes give at least 24 ns/day?").least_throughput("ns/day")
        '24 ns/day'
        """
        pattern = rf"(?<![\w.])({_NUMBER} ?{re.escape(unit)})(?![\w/])"
        throughputs = re.findall(pattern, self.text) if unit else []
        return throughputs[0] if len(throughputs) == 1 else ""

    def least_efficiency(self) -> float | None:
        """Return the single percentage of a title on efficiency; None if it has none.

        >>> FitTitle("Up to how many ranks is the efficiency at least 60 %?").least_efficiency()
        0.6
        """
        percentages = [float(number) for number in _PERCENTAGE.findall(self.text)]
        is_efficiency = "efficien" in self.text.lower() and len(percentages) == 1
        return percentages[0] / 100 if is_efficiency and 0 < percentages[0] <= 100 else None

    def processor_counts(self, member: str) -> list[int]:
        """Return the numbers of processors in the title: those before a noun for them.

        >>> FitTitle("How long does it take on 48 ranks, with 8000 cells?").processor_counts(
        ...     "ranks"
        ... )
        [48]
        >>> FitTitle("Will 96 ranks be faster than 48?").processor_counts("ranks")
        [96, 48]
        >>> FitTitle("Should we run on 32 or on 64 ranks?").processor_counts("ranks")
        [64, 32]
        """
        nouns = "|".join(filter(None, [_NOUNS, re.escape(member)]))
        pattern = rf"(?<![\w.,])(\d+) (?:{nouns})\b"
        with_noun = re.findall(pattern, self.text, re.IGNORECASE)
        # A second number is often written without its noun.
        without_noun = _SECOND_COUNT.findall(self.text) if with_noun else []
        return [int(number) for number in [*with_noun, *without_noun]]


def _times(texts: list[str]) -> Iterator[tuple[str, float]]:
    """Yield the texts that are times, with their values [s]."""
    for text in texts:
        try:
            value, dimension = parse(text)
        except UnitError:  # a number of things, which is no unit
            continue
        if dimension == TIME and value > 0:
            yield text, value
