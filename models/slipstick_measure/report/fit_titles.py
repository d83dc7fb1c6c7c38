"""What the title of a study asks of a fit: how many processors, the fastest number, the cause of
the losses, an efficiency; and the limits and numbers that it states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from slipstick.errors import UnitError
from slipstick.expression.nodes import TIME
from slipstick.late import late_pattern
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
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_TIME_LIMIT = late_pattern(
    r"\b(?:within|at most|under|below|in|meets?|deadline of|(?:no more|less|faster|shorter|sooner)"
    rf" than) ({_NUMBER} ?[A-Za-z]+)\b(?!/)",
    re.IGNORECASE,
)
_PERCENTAGE = late_pattern(rf"({_NUMBER}) ?(?:%|percent\b)")
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
        """Whether the title asks how many times as fast the program is."""
        return bool(_SPEEDUP.search(self.text))

    @cached_property
    def asks_for_cause(self) -> bool:
        """Whether the title asks what limits the speed-up."""
        return bool(_CAUSE.search(self.text))

    @cached_property
    def may_ask_for_efficiency(self) -> bool:
        """Whether an efficiency may answer the title: it has a word for that, or no question, and
        does not ask for the least time.
        """
        if self.asks_for_fastest:
            return False
        return not self.text.endswith("?") or bool(_EFFICIENCY.search(self.text))

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
        """
        nouns = "|".join(filter(None, [_NOUNS, re.escape(member)]))
        pattern = rf"(?<![\w.,])(\d+) (?:{nouns})\b"
        return [int(number) for number in re.findall(pattern, self.text, re.IGNORECASE)]


def _times(texts: list[str]) -> Iterator[tuple[str, float]]:
    """Yield the texts that are times, with their values [s]."""
    for text in texts:
        try:
            value, dimension = parse(text)
        except UnitError:  # a number of things, which is no unit
            continue
        if dimension == TIME and value > 0:
            yield text, value
