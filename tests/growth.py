"""The lines of the package that some work executes, and the steps of a regular expression, counted:
a backtracking matcher that follows the parsed pattern as the `re` module does, and texts that make
it try again.

Steps do not depend on the machine, so that n and 4 n characters tell how they grow.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any

from slipstick.errors import SlipstickError

Rest = Callable[[int], bool]
IGNORECASE, MULTILINE, DOTALL = int(re.IGNORECASE), int(re.MULTILINE), int(re.DOTALL)
"""Flags as plain numbers: bits of an enumeration take ten times as long to test."""

_WORD = re.compile(r"\w")
MOST_STEPS = 1000
"""Steps for each character after which the growth is taken for one without end."""

LINEAR = 9.0
"""The largest ratio of steps for 4 times the turns of what grows in proportion: what is done once
makes it less than 4, and what only a longer text makes necessary makes it more."""

DEEPEST = 50_000
"""Calls inside each other: the matcher makes some for each character."""

_OTHERS = "0a. \n,-(["
"""Characters that most patterns take or refuse."""

_KNOWN = tuple(
    dict.fromkeys([*_OTHERS, *"\t=:%/_;+|\"'#eEbBsxX{}])<>&\\", *map(chr, range(33, 127)), "\x00"])
)


def lines_executed(work: Callable[[], object]) -> int:
    """Count the lines of the package that are executed while a function runs, also if it raises."""
    count = 0

    def lines(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return lines

    def calls(frame: FrameType, event: str, argument: Any) -> Any:
        return lines if "slipstick" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        work()
    except SlipstickError:
        pass
    finally:
        sys.settrace(before)
    return count


class Steps:
    """Count the steps of one pattern."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        self.flags = int(self.tree.state.flags)
        self.text, self.count = "", 0
        self._taken = dict[tuple[int, int, str], bool]()
        self.groups: dict[int, tuple[int, int]] = {}

    def of(self, text: str, how: str) -> int:
        """Return the steps of a search for the first match or for every one, of a match at the
        start, or of a match of the whole text.
        """
        self.text, self.count = text, 0
        start, last = 0, 0

        def end(at: int) -> bool:
            nonlocal last
            last = at
            return at == len(text) if how == "fullmatch" else True

        while start <= len(text):
            self.groups = {}
            found = self._match(self.tree.data, 0, start, end)
            if how in ("match", "fullmatch") or (found and how == "search"):
                break
            start = max(start + 1, last) if found else start + 1
        return self.count

    def _match(self, items: Sequence[Any], number: int, at: int, rest: Rest) -> bool:
        self.count += 1
        if self.count > MOST_STEPS * (len(self.text) + 1):
            raise OverflowError
        if number == len(items):
            return rest(at)
        code, value = items[number]

        def further(end: int) -> bool:
            return self._match(items, number + 1, end, rest)

        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            return self._repeat(code, value, at, further)
        if code is codes.SUBPATTERN:
            return self._group(value, at, further)
        if code is codes.BRANCH:
            return any(self._match(branch.data, 0, at, further) for branch in value[1])
        if code is codes.ATOMIC_GROUP:
            end = self._alone(value, at)
            return end is not None and further(end)
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            return self._look(value, at) is (code is codes.ASSERT) and further(at)
        if code is codes.AT:
            return self._place(value, at) and further(at)
        if code is codes.GROUPREF:
            start, end = self.groups.get(value, (0, 0))
            again = self.text[start:end]
            self.count += len(again)
            return self.text.startswith(again, at) and further(at + len(again))
        return at < len(self.text) and self.takes(code, value, self.text[at]) and further(at + 1)

    def _repeat(self, code: Any, value: Any, at: int, further: Rest) -> bool:
        least, most, body = value
        if code is codes.POSSESSIVE_REPEAT:
            times = 0
            while times < most and (end := self._alone(body, at)) is not None and end > at:
                at, times = end, times + 1
            return times >= least and further(at)
        if len(body) == 1 and body[0][0] in (codes.IN, codes.ANY, codes.LITERAL, codes.NOT_LITERAL):
            return self._run(code, value, at, further)

        def times_from(times: int, start: int) -> bool:
            def again(end: int) -> bool:
                return (end > start or times < least) and times_from(times + 1, end)

            more = times < most
            if code is codes.MAX_REPEAT:
                return (more and self._match(body.data, 0, start, again)) or (
                    times >= least and further(start)
                )
            return (times >= least and further(start)) or (
                more and self._match(body.data, 0, start, again)
            )

        return times_from(0, at)

    def _run(self, code: Any, value: Any, at: int, further: Rest) -> bool:
        """Match a repeated character without a level of calls for each."""
        least, most, body = value
        if code is codes.MIN_REPEAT:
            return self._lazy_run(value, at, further)
        end = at
        while end < len(self.text) and end - at < most and self._takes_next(body, end):
            end += 1
            self.count += 1
        for here in reversed(range(at + least, end + 1)):
            self.count += 1
            if further(here):
                return True
        return False

    def _lazy_run(self, value: Any, at: int, further: Rest) -> bool:
        least, most, body = value
        end = at
        while end - at < least or not further(end):
            self.count += 1
            if end == len(self.text) or end - at >= most or not self._takes_next(body, end):
                return False
            end += 1
        return True

    def _group(self, value: Any, at: int, further: Rest) -> bool:
        group, added, removed, body = value
        before = self.flags
        self.flags = (before | added) & ~removed

        def close(end: int) -> bool:
            self.groups[group] = (at, end)
            inside, self.flags = self.flags, before
            try:
                return further(end)
            finally:
                self.flags = inside

        try:
            return self._match(body.data, 0, at, close)
        finally:
            self.flags = before

    def _alone(self, body: Any, at: int) -> int | None:
        """Return the end of the match of a part that matches only once."""
        ends: list[int] = []

        def keep(end: int) -> bool:
            ends.append(end)
            return True

        self._match(body.data, 0, at, keep)
        return ends[0] if ends else None

    def _look(self, value: Any, at: int) -> bool:
        direction, body = value
        if direction > 0:
            return self._alone(body, at) is not None
        width = body.getwidth()[0]
        return at >= width and self._alone(body, at - width) is not None

    def _place(self, code: Any, at: int) -> bool:
        text = self.text
        lines = bool(self.flags & MULTILINE)
        if code is codes.AT_BEGINNING_STRING or (code is codes.AT_BEGINNING and not lines):
            return at == 0
        if code is codes.AT_BEGINNING:
            return at == 0 or text[at - 1] == "\n"
        if code is codes.AT_END_STRING:
            return at == len(text)
        if code is codes.AT_END:
            last = at == len(text) or text[at:] == "\n"
            return last or (lines and text[at] == "\n")
        inside = [0 <= k < len(text) and bool(_WORD.match(text[k])) for k in (at - 1, at)]
        return (inside[0] != inside[1]) is (code is codes.AT_BOUNDARY)

    def _takes_next(self, body: Any, at: int) -> bool:
        return self.takes(body[0][0], body[0][1], self.text[at])

    def takes(self, code: Any, value: Any, sign: str) -> bool:
        """Return whether a part of one character takes it, which is one step."""
        self.count += 1
        if code is codes.LITERAL and not self.flags & IGNORECASE:
            return bool(value == ord(sign))
        key = id(value) if code is codes.IN else hash((code, value)), self.flags, sign
        if key not in self._taken:
            self._taken[key] = self._takes(code, value, sign)
        return self._taken[key]

    def _takes(self, code: Any, value: Any, sign: str) -> bool:
        if code is codes.ANY:
            return bool(self.flags & DOTALL) or sign != "\n"
        if code is codes.IN:
            negated = value[0][0] is codes.NEGATE
            return negated != any(
                self._takes(inner, more, sign) for inner, more in value[1 if negated else 0 :]
            )
        if code is codes.CATEGORY:
            kinds = {
                "DIGIT": sign.isdigit(),
                "SPACE": sign.isspace(),
                "WORD": bool(_WORD.match(sign)),
            }
            name = str(value).removeprefix("CATEGORY_")
            return kinds[name.removeprefix("NOT_")] is not name.startswith("NOT_")
        signs = {sign, sign.lower(), sign.upper()} if self.flags & IGNORECASE else {sign}
        if code is codes.RANGE:
            return any(value[0] <= ord(each) <= value[1] for each in signs)
        taken = chr(value) in signs
        return taken if code is codes.LITERAL else not taken


def shortest(items: Sequence[Any], steps: Steps) -> str:
    """Return a short text that a part of a pattern matches, without its optional parts."""
    words = []
    for code, value in items:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            words.append(shortest(value[2].data, steps) * value[0])
        elif code is codes.SUBPATTERN:
            words.append(shortest(value[3].data, steps))
        elif code is codes.ATOMIC_GROUP:
            words.append(shortest(value.data, steps))
        elif code is codes.BRANCH:
            words.append(min((shortest(each.data, steps) for each in value[1]), key=len))
        elif code not in (codes.ASSERT, codes.ASSERT_NOT, codes.AT, codes.GROUPREF):
            words.append(next(iter(characters(code, value, steps)), ""))
    return "".join(words)


def characters(code: Any, value: Any, steps: Steps) -> Iterator[str]:
    """Yield some characters that a part of a pattern matches."""
    yield from (sign for sign in _KNOWN if steps.takes(code, value, sign))


def repeats(items: Sequence[Any], before: str, steps: Steps) -> Iterator[tuple[str, list[str]]]:
    """Yield for each unlimited repeat a text that leads to it, and texts that one turn matches."""
    for code, value in items:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            if value[1] is codes.MAXREPEAT:
                body = value[2]
                if len(body) == 1 and body[0][0] in (codes.IN, codes.ANY, codes.NOT_LITERAL):
                    yield before, list(islice(characters(body[0][0], body[0][1], steps), 7))
                else:
                    yield before, [shortest(body.data, steps)]
            yield from repeats(value[2].data, before, steps)
        elif code is codes.SUBPATTERN:
            yield from repeats(value[3].data, before, steps)
        elif code is codes.ATOMIC_GROUP:
            yield from repeats(value.data, before, steps)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from repeats(branch.data, before, steps)
        before += shortest([(code, value)], steps)


def texts(pattern: re.Pattern[str], size: int) -> list[str]:
    """Return texts in which one turn of a repeat of the pattern stands many times: after what leads
    to the repeat, and before nothing, a character that nothing takes, and the rest of the pattern.
    """
    steps = Steps(pattern)
    whole = shortest(steps.tree.data, steps)
    found: dict[str, None] = {}
    pumped = list(repeats(steps.tree.data, "", steps))
    units = dict.fromkeys([unit for _, of_it in pumped for unit in of_it] + [whole])
    for before in dict.fromkeys(["", *(before for before, _ in pumped)]):
        for unit in filter(None, units):
            many = unit * size
            for end in ("", "\x00", "\n\x00", whole):
                found[f"{before}{many}{end}"] = None
    return list(found)


def growth(pattern: re.Pattern[str], how: str, size: int = 24) -> tuple[float, str]:
    """Return the largest ratio of steps of a text of four times as many turns, and the text: 4
    where they grow as the text, 16 where they grow as its square.

    What looks like more than in proportion is looked at again with longer texts, for a short one
    may be matched at once.
    """
    steps, depth = Steps(pattern), sys.getrecursionlimit()

    def ratio(short: str, long: str) -> float:
        sys.setrecursionlimit(DEEPEST)
        try:
            many = steps.of(long, how)
            return many / steps.of(short, how) if many > 40 * size else 0.0
        except OverflowError:
            return float("inf")
        finally:
            sys.setrecursionlimit(depth)

    few, many = texts(pattern, size), texts(pattern, 4 * size)
    found = [(ratio(*pair), number) for number, pair in enumerate(zip(few, many, strict=True))]
    worst, number = max(found, default=(0.0, 0))
    if worst <= LINEAR:
        return worst, few[number] if few else ""
    most = texts(pattern, 16 * size)
    again = [
        (ratio(many[number], most[number]), number) for first, number in found if first > LINEAR
    ]
    worst, number = max(again)
    return worst, few[number]
