"""Answers and the catalogue for the terminal: plain text, the most important first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from slipstick.answer import ANSWERED, HELD, Answer, DeferredShares, Limit, Value, Verdict
from slipstick.display import TableShown
from slipstick.report.formatting import (
    NOTHING,
    Notes,
    TextBlock,
    TextTable,
    ascii_only,
    counted,
    losses_sentence,
    percent,
    plain_table,
    quantity,
    table_texts,
    telling,
    terminal_blocks,
    terminal_width,
    value_amount,
    wrapped,
)
from slipstick.results.words import Words
from slipstick.vocabulary import AGREED, CLOSED_FORM, REPLACED, UNDECIDED

if TYPE_CHECKING:
    from slipstick.results.study import Agreement
    from slipstick.results.sweep import Sweep
    from slipstick.schema.kinds.quantity import DescribedValue


_FIRST = (
    *("time", "response_time", "throughput", "speedup", "efficiency"),
    *("time_alone", "grain_efficiency", "grain_interference", "warps", "processors_lost"),
)

_DOUBTS = ("usual error", "leaves out", "takes the longest", "not converged", "stopped at")
"""Beginnings of notes on how sure an answer is."""

_TOLD = ("time", "response_time", "throughput", "efficiency")
"""Values that the first line has where none is asked for."""

_SCREEN = 40  # lines
_ROOMY, _TIGHT = (
    (14, 8, 5, 2),
    (8, 5, 3, 2),
)  # most values, components, shares and notes; tight where more than a screen
"""Rows of an answer that fits a screen."""

_FEWEST_FOLDED = 4
_LISTED = re.compile(
    r"\b(([A-Za-z][\w.-]*-)\d+)(?:, \2\d+){2,}, \2(\d+)"
)  # memory-0, memory-1 ... memory-7
_MOST_POINTS = 30
_INDENT = "  "
_PLACED = re.compile(
    r"(?P<kind>[a-z_]+)(?<!_at)\[(?P<label>[A-Za-z][^,]*),(?P<station>[A-Za-z].*)\]"
)  # a class at a station

_PLACES = {"phase_account": ("phase", "part")}
"""What the two labels of a kind of values name, where it is not a class and a station."""

_HEADS = {
    "phase_account": "time",
    "queue_length": "present",
    "residence_time": "residence",
    "time_per_visit": "per visit",
    "waiting_time": "waiting",
    "loss_probability": "lost",
    "abandonment": "abandons",
}

_COUNTED = re.compile(
    r"probability\[.*\]"
)  # of each number present: for programs, not for the terminal
_OPEN_PARTS = 3
"""Waits and utilizations that are named as undecided at most."""

SHOWN_UNASKED = 1.0
"""Estimated processor time up to which a screen has shares without `--all` [s]."""

Entries = Mapping[str, "DescribedValue"]


def answers_text(
    answers: Sequence[Answer], together: Agreement | None = None, whole: bool = False
) -> str:
    """Write several answers one below the other, after the text that compares them.

    Parameters
    ----------
    answers : in order
    together : the answers side by side, unless they are of one method, such as bounds; they stand
        alone unless `whole`
    whole : every part of every answer
    """
    if together and len(together.methods) < 2:
        together = None
    # The table has the values of all methods, and the answers in full would take several screens.
    if together and not whole:
        return (
            f"{agreement_text(together)}\nslipstick solve --all shows each answer: its account,"
            " shares and notes\n"
        )
    first = [agreement_text(together)] if together else []
    return ("\n" + "=" * 72 + "\n\n").join(
        [*first, *(answer_text(answer, whole) for answer in answers)]
    )


def answer_text(answer: Answer, whole: bool = False) -> str:
    """Write one answer in ASCII, at most 100 columns wide.

    Parameters
    ----------
    answer : of one method, at one point
    whole : every value and step; else what fits a screen

    >>> print(answer_text(Answer("demo", "closed-form", values={"time": Value(0.0017, "s")}, exact=True)), end="")
    demo: time 1.7 ms
    demo by closed-form: solved exactly
    <BLANKLINE>
    value    amount
    -------  --------
    time       1.7 ms
    """
    if whole:
        return _answer_text(answer, None)
    # What fits a screen is not cut further.
    text = _answer_text(answer, _ROOMY)
    return text if text.count("\n") <= _SCREEN else _answer_text(answer, _TIGHT)


def _answer_text(answer: Answer, most: tuple[int, int, int, int | None] | None) -> str:
    in_full = most is None
    values, components, shares, notes = most or (None, None, None, None)
    blocks = [_heading(answer)]
    if answer.failed is None:
        blocks = ["\n".join([*_answer_lines(answer), blocks[0]])]
        further_blocks = {
            "technology classes": _booked(
                "technology class", answer.technology, answer, "technology", None
            ),
            "steps": _steps(answer),
        }
        blocks += [
            _asked(answer),
            _values(answer, values),
            _by_station(answer, values),
            _booked("component", answer.account, answer, "account", components),
            *(further_blocks.values() if in_full else ()),
            _shares(answer, shares) if in_full or not _later(answer) else "",
            "\n".join(
                line for limit in answer.limits for line in _limit(limit)[: None if in_full else 1]
            ),
        ]
    blocks.append(_notes(answer, notes))
    if answer.failed is None and not in_full:
        # What is not shown is named, so that a reader knows what to ask for.
        left_out = [name for name, text in further_blocks.items() if text]
        left_out += [shares_later] if (shares_later := _later(answer)) else []
        left_out += ["what is counted above"] if any(map(_MORE.search, blocks)) else []
        left_out += ["takeovers"] if any(limit.takeovers for limit in answer.limits) else []
        blocks.append(
            wrapped(f"slipstick solve --all adds: {', '.join(left_out)}", _INDENT)
            if left_out
            else ""
        )
    return ascii_only("\n\n".join(block for block in blocks if block) + "\n")


def answer_tables(answer: Answer) -> Iterator[TableShown]:
    """Yield the tables that a notebook shows of an answer: its values, the account of time, and the
    notes.
    """
    title = f"{answer.model} by {answer.method}"
    if answer.failed is not None:
        yield title, ["no answer"], [[answer.refusal]]
        return
    total = sum(answer.account.values())
    yield (
        title,
        ["value", "amount"],
        [[name, _amount(value)] for name, value in answer.named_values.items()],
    )
    booked = [
        [name, quantity(time, "s"), percent(time / total)]
        for name, time in answer.account.items()
        if total
    ]
    if booked:
        yield "account of time", ["component", "time", "part"], booked
    losses = [losses_sentence(answer.left_out)] if answer.left_out else []
    losses += [check_sentence(answer.check)] if answer.check else []
    if losses or answer.notes:
        yield "", ["notes"], [[note] for note in (*losses, *answer.notes)]


def sweep_text(sweep: Sweep) -> str:
    """Write the points of a sweep in ASCII: the axes and the first values, as many as fit.

    Parameters
    ----------
    sweep : of a study, or of `slipstick.solve` with arrays

    >>> from slipstick import solve
    >>> print(sweep_text(solve("law/flow-line", {"items": [1, 2], "once": "2 us", "longest": "1 us"})))
    In every row: method closed-form, exact yes.
      items    time
    -------  ------
          1    2 us
          2    3 us
    """
    # The ends of an interval stand behind its value.
    ends = {f"{end}[{name}]" for name in sweep.columns for end in ("low", "high")}
    names = sorted((name for name in sweep.columns if name not in ends), key=_importance)
    from slipstick.results.question import sweep_table  # a single answer has no need of it

    table = sweep_table(sweep, names)
    if len(set(sweep.cases)) == 1:  # the name of the only case says nothing here
        table = replace(table, columns=table.columns[1:])
    head, rows, right = table_texts(table, markdown=False)
    above, kept_columns = telling(head, rows)
    widths = [
        max(len(head[column]) + 2, *(len(row[column]) for row in rows)) + 2
        for column in kept_columns
    ]
    # What does not fit is left out, the least important values first; how points were computed
    # stands in the last columns.
    left_out: list[str] = []
    while sum(widths) - 2 > terminal_width() and (
        optional := [
            column for column, index in enumerate(kept_columns) if head[index] in names[1:]
        ]
    ):
        # The first value of the sweep is always kept.
        left_out.insert(0, head[kept_columns.pop(optional[-1])])
        widths.pop(optional[-1])
    cells = [[row[column] for column in kept_columns] for row in rows[:_MOST_POINTS]]
    blocks = [
        wrapped(above, _INDENT),
        plain_table(
            [head[column] for column in kept_columns],
            cells,
            [index for index, column in enumerate(kept_columns) if column in right],
        ),
    ]
    if len(rows) > _MOST_POINTS:
        blocks.append(f"and {counted(len(rows) - _MOST_POINTS, 'more point')}")
    if left_out:
        blocks.append(
            wrapped(f"and {counted(len(left_out), 'more column')}: {', '.join(left_out)}", _INDENT)
        )
    return ascii_only("\n".join(block for block in blocks if block))


_MOST_ROWS = 24


def agreement_text(agreement: Agreement) -> str:
    """Write the comparison of several methods for the terminal."""
    return terminal_blocks(agreement_blocks(agreement), _INDENT)


def agreement_blocks(agreement: Agreement) -> Iterator[TextBlock]:
    """Yield the comparison of several methods: a table with a row for each value, then the
    verdicts.
    """
    head = [
        "value",
        *(f"{name} (exact)" if name in agreement.exact else name for name in agreement.methods),
    ]
    rows = []
    for row in agreement.rows[:_MOST_ROWS]:
        amounts = (NOTHING if value is None else _amount(value) for value in row.values)
        rows.append([row.name, *amounts])
    yield TextTable(head, rows, range(1, len(head)))
    # Values are in the order of their importance, so the last ones are hidden.
    hidden = len(agreement.rows) - _MOST_ROWS
    yield f"and {counted(hidden, 'more value')}" if hidden > 0 else ""
    findings = [f"finding: {words}" for words in agreement.findings]
    yield [
        *findings,
        *agreement.verdicts,
        *(f"{method} has no answer: {why}" for method, why in agreement.failed.items()),
    ]


_MOST_TOLD = 3
_LEAST_TOLD = 0.05  # part of the time that is named


def _answer_lines(answer: Answer) -> Iterator[str]:
    """Yield the lines for the requested value and for where the time goes."""
    words = Words()
    asked_names = [
        name for name, asked_value in answer.asked.items() if asked_value.state == ANSWERED
    ]
    ranked = sorted(answer.named_values, key=_importance)
    first = [name for name in ranked if name.partition("[")[0] in _TOLD]
    shares_told = [
        words.measured(name, value_amount(name, value.value, value.unit, value.ends))
        # The answer to the question comes first; without a question the usual values, else any.
        for name in (asked_names or first or ranked)[:_MOST_TOLD]
        if (value := answer.values.get(name)) is not None and value.value is not None
    ]
    if shares_told:
        yield wrapped(f"{answer.model}: {', '.join(shares_told)}", _INDENT)
    total = sum(answer.account.values())
    booked_times = sorted(answer.account.items(), key=lambda part: -part[1])
    booked = [
        f"{percent(time / total)} {words.part(label)}"
        for label, time in booked_times[:_MOST_TOLD]
        if total > 0 and time >= _LEAST_TOLD * total
    ]
    if len(answer.account) > 1 and booked:
        whose_time = f"the time of {answer.groups[0]}" if answer.groups else "the time"
        yield wrapped(f"where {whose_time} goes: {', '.join(booked)}", _INDENT)


def _but_for_intervals(answer: Answer) -> str:
    """Return a remark that some requested values have an interval though the solution is exact;
    empty if none has.
    """
    values = [answer.values[name] for name in answer.asked if name in answer.values]
    estimated = any(None not in value.ends for value in values)
    return "; some values have an interval" if estimated else ""


def _heading(answer: Answer) -> str:
    if answer.failed is not None:
        line = f"{answer.model} by {answer.method}: no answer: {answer.refusal}"
    # Only simulations have converged or not.
    elif answer.converged is not None and not answer.exact:
        sure = (
            "each value with its interval" if answer.converged else "but not as precisely as wished"
        )
        line = f"{answer.model} by {answer.method}: estimated, {sure}"
    elif answer.exact:
        line = f"{answer.model} by {answer.method}: solved exactly{_but_for_intervals(answer)}"
    elif answer.method == CLOSED_FORM and any(
        "leaves out waiting" in note for note in answer.notes
    ):
        line = f"{answer.model} in closed form, without queueing; the notes say what is left out"
    else:
        notes_say = answer.notes and not answer.left_out and answer.check is None
        why = "; the notes say what is left out" if notes_say else ""
        line = f"{answer.model} by {answer.method}: not exact{why}"
    line += f"; {check_sentence(answer.check)}" if answer.check and not answer.failed else ""
    # A bound that an interval holds is no doubt.
    line += f". {answer.bound}" if answer.bound and not answer.bound.endswith(HELD) else ""
    line += f". No error is promised: {answer.error}" if answer.error else ""
    line += f"; {losses_sentence(answer.left_out)}" if answer.left_out else ""
    where = [*_settings("at", answer.point, answer), *_settings("with", answer.given, answer)]
    return "\n".join([wrapped(line, _INDENT), *where])


def check_sentence(check: Verdict) -> str:
    """Write the result of the check of an answer by a short simulation.

    >>> check_sentence(Verdict(AGREED, "within 1.8 % of a short simulation"))
    'checked: within 1.8 % of a short simulation'
    """
    if check.word == AGREED:
        return f"checked: {check.reason}{_open_parts(check)}"
    rejected = check.rejected
    # The answer shown is the simulation's; the value that it replaces is shown beside it, since
    # earlier reports may have it.
    if check.word == REPLACED and rejected is not None:
        amount = quantity(rejected.value, rejected.unit)
        which = "" if rejected.name == "time" else f"{rejected.name} "
        return f"{rejected.method} was rejected ({which}{amount}, {check.reason})"
    return str(check)


def _open_parts(check: Verdict) -> str:
    """List the waits and utilizations that the check by simulation left undecided; empty if there
    are none.
    """
    names = [name for name, word in check.parts.items() if word == UNDECIDED]
    few = ", ".join(names[:_OPEN_PARTS])
    more = f" and {len(names) - _OPEN_PARTS} more" if len(names) > _OPEN_PARTS else ""
    return f" (undecided: {few}{more})" if names else ""


def _settings(lead: str, settings: Mapping[str, float | str], answer: Answer) -> list[str]:
    words = [
        f"{path} = {_setting(value, answer.described.get(path))}"
        for path, value in settings.items()
    ]
    return [wrapped(f"{lead} {', '.join(words)}", _INDENT)] if words else []


def _setting(value: float | str, entry: DescribedValue | None) -> str:
    if isinstance(value, str):
        return value
    return f"{value:g}" if entry is None else quantity(value, str(entry.given.dimension))


_MORE = re.compile(r"^and \d+ more(?: notes?)?$", re.MULTILINE)


def _cut(head: list[str], rows: Sequence[list[str]], right: Iterable[int], most: int | None) -> str:
    """Write the first `most` rows of a table, and the number of rows left out."""
    hidden = 0 if most is None else max(0, len(rows) - most)
    table = plain_table(head, rows[: len(rows) - hidden], right) if rows else ""
    return f"{table}\nand {hidden} more" if hidden else table


def _values(answer: Answer, most: int | None) -> str:
    names = sorted(
        (name for name, value in answer.named_values.items() if not _placed(name, value)),
        key=_importance,
    )
    rows = _folded(
        [name, _amount(answer.values[name])]
        for name in names
        if not _COUNTED.fullmatch(name) and name not in answer.asked
    )
    return _cut(["value", "amount"], rows, [1], most)


def _asked(answer: Answer) -> str:
    """Write the requested values of an answer, or how to obtain those that it lacks."""
    rows = [
        [name, _found(answer, name)]
        for name, asked_value in answer.asked.items()
        if asked_value.state == ANSWERED
    ]
    lines = [
        wrapped(f"{name}: {asked_value.state}: {asked_value.way}", _INDENT)
        for name, asked_value in answer.asked.items()
        if asked_value.state != ANSWERED
    ]
    table = plain_table(["asked for", "amount"], rows, [1]) if rows else ""
    return "\n\n".join(filter(None, (table, "\n".join(lines))))


def _found(answer: Answer, name: str) -> str:
    """Write one value of an answer by its name, from the table of the answer that has it."""
    kind, _, inside = name.partition("[")
    if kind == "limit":
        pipeline = inside.removesuffix("]")
        return next(limit.stage for limit in answer.limits if limit.pipeline == pipeline)
    if kind == "share" and name not in answer.values:
        value_name, _, path = inside.removesuffix("]").partition(",")
        return percent(answer.share[value_name][path])
    if name in answer.values:
        return _amount(answer.values[name])
    return quantity(answer.find(name), answer.unit(name), ends=answer.ends(name))


_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")


def _folded(rows: Iterable[list[str]]) -> list[list[str]]:
    """Merge rows whose names differ only in a number and whose other cells are equal, such as
    ``memory-0 to 255``.
    """
    groups: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    for row in rows:
        parts = _NUMBERED.fullmatch(row[0])
        key, number = ((parts[1], parts[3], *row[1:]), parts[2]) if parts else ((row[0],), "")
        groups.setdefault(key, []).append((number, row))
    folded_rows = []
    for key, members in groups.items():
        if len(members) < _FEWEST_FOLDED:
            folded_rows += [row for _, row in members]
        else:
            # Networks of many equal stations would fill screens with equal rows.
            numbers = sorted(int(number) for number, _ in members)
            consecutive = numbers == list(range(numbers[0], numbers[-1] + 1))
            numbered = (
                f"{numbers[0]} to {numbers[-1]}"
                if consecutive
                else f"{numbers[0]} to {numbers[-1]}, {len(numbers)} of them"
            )
            folded_rows.append([f"{key[0]}{numbered}{key[1]}, each", *members[0][1][1:]])
    return folded_rows


def _placed(name: str, value: Value) -> re.Match[str] | None:
    """Return the match of a value's name if the table by station shows it; None for other names,
    and for values with an interval, for which that table has no room.
    """
    # Values with intervals are too wide for a table with a column for each kind.
    return None if value.low != value.high else _PLACED.fullmatch(name)


def _by_station(answer: Answer, most: int | None) -> str:
    """Write the table of a network's values by station and class: one row for each pair, one column
    for each measure.
    """
    values_by_place: dict[tuple[str, str], dict[str, Value]] = {}
    for name, value in answer.values.items():
        if placed := _placed(name, value):
            values_by_place.setdefault((placed["label"], placed["station"]), {})[placed["kind"]] = (
                value
            )
    kinds = list(dict.fromkeys(kind for values in values_by_place.values() for kind in values))
    rows = []
    for where, values in values_by_place.items():
        amounts = (_amount(values[kind]) if kind in values else NOTHING for kind in kinds)
        rows.append([*where, *amounts])
    places = _PLACES.get(next(iter(kinds), ""), ("class", "station"))
    head = [*places, *(_HEADS.get(kind, kind.replace("_", " ")) for kind in kinds)]
    return _cut(head, rows, range(2, len(head)), most)


def _importance(name: str) -> int:
    kind = name.partition("[")[0]
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _amount(value: Value) -> str:
    return quantity(value.value, value.unit, ends=(value.low, value.high))


def _booked(
    title: str, account: Mapping[str, float], answer: Answer, kind: str, most: int | None
) -> str:
    """Write an account of time in seconds and percent by label; empty for a single label, which
    equals the time.
    """
    total = sum(account.values())
    rows = [
        [label, quantity(seconds, "s", ends=answer.ends(f"{kind}[{label}]")), _part(seconds, total)]
        for label, seconds in account.items()
        if seconds
    ]
    # One label would repeat the time itself.
    return _cut([title, "time", "part"], _folded(rows), [1, 2], most) if len(rows) > 1 else ""


def _part(seconds: float, total: float) -> str:
    return percent(seconds / total if total > 0 else None)


def _steps(answer: Answer) -> str:
    # Such as the steps of an option that is not taken here.
    taken = {step: seconds for step, seconds in answer.steps.items() if seconds}
    total = sum(taken.values())
    rows = []
    for step, seconds in taken.items():
        once = quantity(answer.once.get(step), "s")
        in_all = quantity(seconds, "s", ends=answer.ends(f"step[{step}]"))
        rows.append([step, once, in_all, _part(seconds, total)])
    head = ["step", "once", "in all", "part"]
    left_out = len(answer.steps) - len(taken)
    words = f"\nand {counted(left_out, 'step')} without any time" if left_out else ""
    return plain_table(head, _folded(rows), [1, 2, 3]) + words if len(rows) > 1 else ""


def _later(answer: Answer) -> str:
    """Return the remark that shares were left out because computing them takes long; empty if it
    does not.
    """
    share = answer.share
    if not isinstance(share, DeferredShares) or share.seconds <= SHOWN_UNASKED:
        return ""
    return f"shares (about {share.seconds:,.0f} s of processor time)"


def _shares(answer: Answer, most: int | None) -> str:
    times = [
        name
        for name in answer.share
        if name == "time" or name.startswith("response_time") or name in answer.asked
    ]
    return "\n\n".join(filter(None, (_share(name, answer, most) for name in times)))


STEEP = 5.0
"""Share above which a change of 1 % is no small change, and its saving is written with "about" [1]:
at an M/M/1 queue 80 % busy the slope says 5 %, and 4.8 % is right; at 95 % busy 20 and 16.8 %."""


def _share(name: str, answer: Answer, most: int | None) -> str:
    """Write the table of parameters, ranked by how much of a value a change of 1 % saves, to first
    order.

    The sign of the derivative says whether less or more of a parameter shortens the time: the sign
    of a share does not, because shares of rates are turned so that all add up to 1.
    """
    shares = answer.share[name]
    slopes = answer.gradient.get(name, {})
    ranked = sorted(
        (name_and_share for name_and_share in shares.items() if name_and_share[1]),
        key=lambda path_and_share: -abs(path_and_share[1]),
    )
    described = {
        path: [str(entry.given), entry.meaning] for path, entry in answer.described.items()
    }
    rows = []
    for path, share in ranked:
        # A falling slope means that a larger value saves, such as a faster processor.
        change = f"{'+' if slopes.get(path, share) < 0 else '-'}1 %"
        saved = f"{'about ' * (abs(share) > STEEP)}{percent(abs(share) / 100)}"
        rows.append([path, change, saved, percent(share), *described.get(path, ["", ""])])
    head = [
        f"what {'lowers' if name.startswith('amount[') else 'shortens'} {name}",
        "change",
        "saves",
        "share",
        "now",
        "meaning",
    ]
    # Models built in Python have no meanings and sources to show.
    if any(path in described for path, _ in ranked):
        return _cut(head, rows, [1, 2, 3, 4], most)
    return _cut(head[:4], [row[:4] for row in rows], [1, 2, 3], most)


def _limit(limit: Limit) -> list[str]:
    runs = [
        # Neighbouring stages of equal time are written as one range, since pipelines may have
        # hundreds.
        (quantity(time, "s"), list(run))
        for time, run in groupby(limit.stages, lambda stage_name: limit.stages[stage_name])
    ]
    long = [f"{run[0]} to {run[-1]} {time} each" if len(run) > 2 else "" for time, run in runs]
    stages = ", ".join(
        words or ", ".join(f"{stage} {time}" for stage in run)
        for words, (time, run) in zip(long, runs, strict=True)
    )
    first = wrapped(f"{limit.pipeline} is limited by {limit.stage} (one item: {stages})", _INDENT)
    further_lines = [
        f"{_INDENT}{to.path}, {quantity(to.now, to.unit)} now: {to.stage} from"
        f" {quantity(to.value, to.unit)} on"
        for to in limit.takeovers
    ]
    return [first, *(wrapped(line, 2 * _INDENT) for line in further_lines)]


def _notes(answer: Answer, most: int | None = None) -> str:
    # The error that is usual, and what is left out, stand before how it is computed.
    ranked = sorted(answer.notes, key=lambda note: not note.startswith(_DOUBTS))
    notes = [_LISTED.sub(r"\1 to \3", note) for note in ranked]
    lines = [wrapped(f"note: {note}", _INDENT) for note in notes[:most]]
    hidden = len(notes) - len(lines)
    return "\n".join(lines + ([f"and {counted(hidden, 'more note')}"] if hidden else []))


@dataclass(frozen=True, slots=True)
class CatalogueLine:
    """A line of the catalogue: kind, name and title of one entry."""

    kind: str
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """All contents of one entry of the catalogue.

    Parameters
    ----------
    kind, name, title, source : what it is
    entries : its quantities, with meaning and source
    text : what else there is to read: an equation, or the file as it stands
    """

    kind: str
    name: str
    title: str
    source: str
    entries: Mapping[str, DescribedValue]
    text: str = ""


def catalogue_text(lines: Sequence[CatalogueLine], whole: bool = True) -> str:
    """List names and titles, in one block for each kind; unless `whole`, as many as fit a
    screen.
    """
    blocks = []
    shown = len(lines) if whole or len(lines) <= _SCREEN else _SCREEN - 4
    for kind, group in groupby(lines[:shown], key=lambda line: line.kind):
        rows = [[line.name, line.title] for line in group]
        blocks.append(plain_table([kind, "title"], rows))
    if more := len(lines) - shown:
        blocks.append(
            wrapped(
                f"and {more} more: --all lists them, --search TEXT what has TEXT in its name or"
                " title"
            )
        )
    return ascii_only("\n\n".join(blocks))


def catalogue_summary(lines: Sequence[CatalogueLine], most: int = 12) -> str:
    """List for each kind the number of entries and the first names."""
    blocks = []
    for kind, group in groupby(lines, key=lambda line: line.kind):
        names = [line.name for line in group]
        more = f", and {len(names) - most} more" if len(names) > most else ""
        blocks.append(wrapped(f"{kind} ({len(names)}): {', '.join(names[:most])}{more}", "    "))
    advice = (
        "slipstick list KIND has all names of a kind with their titles, slipstick list --search"
        " TEXT what is about it"
    )
    return ascii_only("\n".join([*blocks, "", wrapped(advice)]))


def spec_text(shown: CatalogueEntry) -> str:
    """Write one spec for the terminal: its values with path, unit, meaning and source, then further
    text.
    """
    sources = Notes()
    rows = [_row(path, entry, sources) for path, entry in shown.entries.items()]
    blocks = [
        wrapped(
            f"{shown.kind}/{shown.name}: {shown.title}"
            if shown.title
            else f"{shown.kind}/{shown.name}"
        )
    ]
    if shown.source:
        blocks.append(wrapped(f"source: {shown.source}"))
    if rows:
        blocks.append(plain_table(["path", "value", "meaning", "source"], rows))
    return ascii_only("\n\n".join(block for block in (*blocks, sources.text, shown.text) if block))


def _row(path: str, entry: DescribedValue, sources: Notes) -> list[str]:
    quantity_given = entry.given
    value = quantity_given.text if quantity_given.text else str(quantity_given)
    mark = f"[{sources.number(entry.source)}]" if entry.source else ""
    follows = f"follows {quantity_given.technology}" if quantity_given.technology else ""
    meaning = "; ".join(filter(None, (entry.meaning, follows)))
    return [path, value, meaning, f"{mark} assumed" if quantity_given.assumed else mark]


def value_documents(entries: Mapping[str, DescribedValue]) -> dict[str, Any]:
    """Return the quantities of a spec as plain data for JSON, by path: base unit, text as written,
    meaning, source, and what it follows over the years.
    """
    from slipstick.results.question import as_data

    return {
        path: {
            "value": as_data(entry.given.value),
            "unit": str(entry.given.dimension),
            "text": entry.given.text,
            "meaning": entry.meaning,
            "source": entry.source,
            "assumed": entry.given.assumed,
            "technology": entry.given.technology,
        }
        for path, entry in entries.items()
    }
