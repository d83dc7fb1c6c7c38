"""Answers and the catalogue for the terminal: plain text, the most important first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from math import isclose
from typing import TYPE_CHECKING, Any

from slipstick.answer import (
    ANSWERED,
    Answer,
    DeferredShares,
    Limit,
    Value,
    Verdict,
    exactness_words,
    has_width,
)
from slipstick.display import TableShown
from slipstick.errors import (
    CountedAtStation,
    Doubt,
    Prominent,
    RunLength,
    SlightlyBeyond,
    WaitingLeftOut,
)
from slipstick.expression.nodes import RATE
from slipstick.late import dataclass, late_pattern, replace
from slipstick.report.formatting import (
    NOTHING,
    Notes,
    TextBlock,
    TextTable,
    ascii_only,
    common_and_differing_columns,
    losses_sentence,
    percent,
    plain_table,
    quantity,
    table_texts,
    terminal_blocks,
    terminal_width,
    value_amount,
    with_noun,
    wrapped,
)
from slipstick.results.words import Words
from slipstick.units import choose_unit, with_rates_in
from slipstick.vocabulary import AGREED, CLOSED_FORM, REPLACED, UNDECIDED

if TYPE_CHECKING:
    from slipstick.results.study import Agreement
    from slipstick.results.sweep import Sweep
    from slipstick.schema.kinds.quantity import DescribedValue


_FIRST_KINDS = (
    *("time", "response_time", "within_target", "throughput", "speedup", "efficiency"),
    *("time_alone", "grain_efficiency", "grain_interference", "warps", "amount", "processors_lost"),
)

_USUAL_VALUES = ("time", "response_time", "within_target", "throughput", "efficiency")
"""Kinds of values in the first line if no value is requested."""

_SCREEN_LINES = 40
"""The number of lines of a screen."""

_ROWS_ON_SCREEN, _ROWS_WHERE_TIGHT = (
    (14, 8, 5, 2),
    (8, 5, 3, 2),
)
"""The largest numbers of values, components, shares and notes of an answer on a screen; the second
row applies if the answer exceeds a screen with the first.
"""

_FEWEST_FOLDED = 4
"""The least number of rows with numbered names that are merged into one."""
# Matches successive names with numbers, such as memory-0, memory-1, ... memory-7.
# Also values of states: probability[db,0], ... probability[db,99].
_NUMBERED_NAMES = late_pattern(
    r"\b(([A-Za-z][\w.-]*(?:-|\[[^],]*,))\d+)(?:\]?, \2\d+){2,}\]?, \2(\d+)"
)
_MOST_POINTS = 30
_INDENT = "  "
# Matches a value of a class at a station.
_LABEL_AT_STATION = late_pattern(
    r"(?P<kind>[a-z_]+)(?<!_at)\[(?P<label>[A-Za-z][^,]*),(?P<station>[A-Za-z].*)\]"
)

_LABEL_TITLES = {"phase_account": ("phase", "part")}
"""What the two labels of a kind of values name, where it is not a class and a station."""

_COLUMN_TITLES = {
    "phase_account": "time",
    "queue_length": "present",
    "residence_time": "residence",
    "time_per_visit": "per visit",
    "waiting_time": "waiting",
    "loss_probability": "lost",
    "abandonment": "abandons",
}

# Probabilities of each number present are for programs, not for the terminal.
_PROBABILITY = late_pattern(r"probability\[.*\]")
_MOST_UNDECIDED = 3
"""The largest number of undecided waits and utilizations that are named."""

MOST_SECONDS_OF_SHARES = 1.0
"""The largest estimated processor time up to which an answer on the screen has shares without
`--all` [s].
"""

Entries = Mapping[str, "DescribedValue"]


def answers_text(
    answers: Sequence[Answer], agreement: Agreement | None = None, in_full: bool = False
) -> str:
    """Write several answers one below the other, after the text that compares them.

    Parameters
    ----------
    answers : in order
    agreement : the answers side by side, unless they are of one method, such as bounds; they stand
        alone unless `in_full`
    in_full : every part of every answer
    """
    with with_rates_in(_rate_unit(answers[0])):
        comparison = agreement_text(agreement) if agreement and len(agreement.methods) > 1 else ""
    # The table has the values of all methods, and the answers in full would take several screens.
    if comparison and not in_full:
        return (
            f"{comparison}\nslipstick solve --all shows each answer: its account, shares and"
            " notes\n"
        )
    return ("\n" + "=" * 72 + "\n\n").join(
        [*filter(None, [comparison]), *(answer_text(answer, in_full) for answer in answers)]
    )


def answer_text(answer: Answer, in_full: bool = False) -> str:
    """Write one answer in ASCII, at most 100 columns wide.

    Parameters
    ----------
    answer : of one method, at one point
    in_full : every value and step; else what fits a screen

    >>> print(
    ...     answer_text(
    ...         Answer("demo", "closed-form", values={"time": Value(0.0017, "s")}, exact=True)
    ...     ),
    ...     end="",
    ... )
    demo: time 1.7 ms
    demo by closed-form: solved exactly
    <BLANKLINE>
    value    amount
    -------  --------
    time       1.7 ms
    """
    with with_rates_in(_rate_unit(answer)):
        # A large network has thousands of rows: they are written once, and then cut.
        value_and_account_rows = (
            _value_rows(answer),
            _account_rows(answer.account, answer, "account"),
        )
        if in_full:
            return _answer_text(answer, None, *value_and_account_rows)
        # What fits a screen is not cut further.
        screen_text = _answer_text(answer, _ROWS_ON_SCREEN, *value_and_account_rows)
        return (
            screen_text
            if screen_text.count("\n") <= _SCREEN_LINES
            else _answer_text(answer, _ROWS_WHERE_TIGHT, *value_and_account_rows)
        )


_WRITTEN_RATE_UNIT = late_pattern(r"/\s*(s|min|h)\s*$")
_ARRIVALS = ".arrivals"
_SAME_RATE = 0.02  # relative difference of a rate from its estimate by a simulation


def stated_rate_unit(answer: Answer) -> str:
    """Return the unit in which the model of an answer states a rate of arrivals: of a key for
    arrivals, or else a quantity as large as a throughput; empty if it states none. A rate of
    failures or a price says nothing about how often a program runs.
    """
    throughputs = [
        value.value or 0.0 for name, value in answer.values.items() if name.startswith("throughput")
    ]
    for path in sorted(answer.described, key=lambda path: not path.endswith(_ARRIVALS)):
        given = answer.described[path].given
        is_of_arrivals = path.endswith(_ARRIVALS) or any(
            isclose(given.value, throughput, rel_tol=_SAME_RATE) for throughput in throughputs
        )
        unit_match = _WRITTEN_RATE_UNIT.search(given.text)
        if unit_match and is_of_arrivals and given.dimension == RATE:
            return f"1/{unit_match[1]}"
    return ""


def _rate_unit(answer: Answer) -> str:
    """Return the unit of all rates of an answer: the stated one, or one that suits the largest."""
    rates = [value.value or 0.0 for value in answer.values.values() if value.unit == str(RATE)]
    return stated_rate_unit(answer) or choose_unit(rates, RATE)[0]


def _answer_text(
    answer: Answer,
    most_rows_by_part: tuple[int, int, int, int | None] | None,
    value_rows: Sequence[list[str]],
    account_rows: Sequence[list[str]],
) -> str:
    in_full = most_rows_by_part is None
    most_values, most_components, most_shares, most_notes = most_rows_by_part or [None] * 4
    blocks = [_heading_line(answer)]
    if answer.failed is None:
        blocks = ["\n".join([*_answer_lines(answer), blocks[0]])]
        text_by_title = {
            "technology classes": _account_table(
                "technology class",
                _account_rows(answer.technology, answer, "technology"),
                None,
            ),
            "steps": _step_table(answer),
        }
        blocks += [
            _requested_values(answer),
            _cut_table(["value", "amount"], value_rows[:most_values], [1], len(value_rows)),
            _station_table(answer, most_values),
            _account_table("component", account_rows, most_components),
            *(text_by_title.values() if in_full else ()),
            _share_tables(answer, most_shares) if in_full or not _shares_remark(answer) else "",
            "\n".join(
                line
                for limit in answer.limits
                for line in _limit_lines(limit)[: None if in_full else 1]
            ),
        ]
    blocks.append(_note_lines(answer, most_notes))
    if answer.failed is None and not in_full:
        # What is not shown is named, so that a reader knows what to ask for.
        hidden_parts = [name for name, text in text_by_title.items() if text]
        hidden_parts += filter(None, [_shares_remark(answer)])
        if any(map(_HIDDEN_ROWS.search, blocks)):
            hidden_parts.append("the rows that are left out above")
        hidden_parts += ["takeovers"] if any(limit.takeovers for limit in answer.limits) else []
        blocks.append(
            wrapped(f"slipstick solve --all adds: {', '.join(hidden_parts)}", _INDENT)
            if hidden_parts
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
    with with_rates_in(_rate_unit(answer)):
        value_rows = [[name, _amount_text(value)] for name, value in answer.named_values.items()]
    yield title, ["value", "amount"], value_rows
    if total_time := sum(answer.account.values()):
        account_rows = [
            [name, quantity(time, "s"), percent(time / total_time)]
            for name, time in answer.account.items()
        ]
        yield "account of time", ["component", "time", "part"], account_rows
    remarks = [losses_sentence(answer.left_out)] if answer.left_out else []
    remarks += [check_sentence(answer.check)] if answer.check else []
    remarks += answer.notes
    if remarks:
        yield "", ["notes"], [[remark] for remark in remarks]


def sweep_text(sweep: Sweep) -> str:
    """Write the points of a sweep in ASCII: the axes and the first values, as many as fit.

    Parameters
    ----------
    sweep : of a study, or of `slipstick.solve` with arrays

    >>> from slipstick import solve
    >>> print(
    ...     sweep_text(solve("law/flow-line", {"items": [1, 2], "once": "2 us", "longest": "1 us"}))
    ... )
    All rows have the same method (closed-form) and exact (yes).
      items    time
    -------  ------
          1    2 us
          2    3 us
    """
    # The ends of an interval stand behind its value.
    interval_columns = {f"{end}[{name}]" for name in sweep.columns for end in ("low", "high")}
    column_names = sorted(
        (name for name in sweep.columns if name not in interval_columns), key=_importance_rank
    )
    from slipstick.results.question import sweep_table  # a single answer has no need of it

    table = sweep_table(sweep, column_names)
    if len(set(sweep.cases)) == 1:  # the name of the only case says nothing here
        table = replace(table, columns=table.columns[1:])
    titles, rows, number_columns = table_texts(table, is_markdown=False)
    common_sentence, shown_columns = common_and_differing_columns(titles, rows)
    widths = [
        max(len(titles[column_index]) + 2, *(len(row[column_index]) for row in rows)) + 2
        for column_index in shown_columns
    ]
    # What does not fit is left out, the least important values first; how points were computed
    # stands in the last columns.
    hidden_titles: list[str] = []
    while sum(widths) - 2 > terminal_width() and (
        optional_positions := [
            position
            for position, column_index in enumerate(shown_columns)
            if titles[column_index] in column_names[1:]
        ]
    ):
        # The first value of the sweep is always kept.
        hidden_titles.insert(0, titles[shown_columns.pop(optional_positions[-1])])
        widths.pop(optional_positions[-1])
    shown_rows = [
        [row[column_index] for column_index in shown_columns] for row in rows[:_MOST_POINTS]
    ]
    blocks = [
        wrapped(common_sentence, _INDENT),
        plain_table(
            [titles[column_index] for column_index in shown_columns],
            shown_rows,
            [
                position
                for position, column_index in enumerate(shown_columns)
                if column_index in number_columns
            ],
        ),
    ]
    if len(rows) > _MOST_POINTS:
        blocks.append(f"and {with_noun(len(rows) - _MOST_POINTS, 'more point')}")
    if hidden_titles:
        names_text = _NUMBERED_NAMES.sub(r"\1 to \3", ", ".join(hidden_titles))
        blocks.append(
            wrapped(f"and {with_noun(len(hidden_titles), 'more column')}: {names_text}", _INDENT)
        )
    return ascii_only("\n".join(block for block in blocks if block))


_MOST_ROWS = 24
"""The largest number of values in the comparison of methods."""


def agreement_text(agreement: Agreement) -> str:
    """Write the comparison of several methods for the terminal."""
    return terminal_blocks(agreement_blocks(agreement), _INDENT)


def agreement_blocks(agreement: Agreement) -> Iterator[TextBlock]:
    """Yield the comparison of several methods: a table with a row for each value, then the
    verdicts.
    """
    titles = [
        "value",
        *(f"{name} (exact)" if name in agreement.exact else name for name in agreement.methods),
    ]
    rows = []
    for row in agreement.rows[:_MOST_ROWS]:
        amount_texts = (NOTHING if value is None else _amount_text(value) for value in row.values)
        rows.append([row.name, *amount_texts])
    yield TextTable(titles, rows, range(1, len(titles)))
    # Values are in the order of their importance, so the last ones are hidden.
    hidden_count = len(agreement.rows) - _MOST_ROWS
    yield f"and {with_noun(hidden_count, 'more value')}" if hidden_count > 0 else ""
    findings = [f"finding: {finding}" for finding in agreement.findings]
    yield [
        *findings,
        *agreement.verdicts,
        *(f"{method} has no answer: {reason}" for method, reason in agreement.failed.items()),
    ]


_MOST_NAMED = 3
"""The largest number of values in the first lines of an answer."""


def _answer_lines(answer: Answer) -> Iterator[str]:
    """Yield the lines for the requested value and for where the time goes."""
    words = Words(meanings=getattr(answer.subject, "phrases", {}))
    asked_names = [
        name for name, asked_value in answer.asked.items() if asked_value.state == ANSWERED
    ]
    ranked_names = sorted(answer.named_values, key=_importance_rank)
    usual_names = [
        name
        for name in ranked_names
        if name.partition("[")[0] in _USUAL_VALUES and not _has_other_name(answer, name)
    ]
    values_in_words = [
        words.value_with_amount(name, value_amount(name, value.value, value.unit, value.ends))
        + (_divisor_of_speedup(answer) if name == "efficiency" else "")
        + _served_by_all(answer, name)
        # The answer to the question comes first; without a question the usual values, else any.
        for name in (asked_names or usual_names or ranked_names)[:_MOST_NAMED]
        if (value := answer.values.get(name)) is not None and value.value is not None
    ]
    if values_in_words:
        doubts = [note for note in answer.notes if isinstance(note, Prominent)]
        first_line = "; ".join([f"{answer.model}: {', '.join(values_in_words)}", *doubts])
        yield wrapped(first_line, _INDENT)
    parts_in_words = [
        f"{percent(share)} {words.component_phrase(label, answer.useful)}"
        for label, share in answer.largest_shares.items()
    ]
    if parts_in_words:
        time_in_words = f"the time of {answer.groups[0]}" if answer.groups else "the time"
        yield wrapped(f"where {time_in_words} goes: {', '.join(parts_in_words)}", _INDENT)


def _divisor_of_speedup(answer: Answer) -> str:
    """Return by what the speed-up is divided to get the efficiency, in brackets; empty if that is
    the number of processors, as the part of their time that is useful then equals the efficiency.
    """
    time, throughput, speedup, efficiency = (
        answer.find(name) or 0.0 for name in ("time", "throughput", "speedup", "efficiency")
    )
    divisor = speedup / efficiency if efficiency else 0.0
    return (
        f" (speed-up divided by {divisor:.4g} processors and servers)"
        if divisor > time * throughput * (1 + 1e-9) > 0
        else ""
    )


def _served_by_all(answer: Answer, name: str) -> str:
    """Return in brackets how many of the customers that a throughput counts at their first station
    no later station loses; empty if all.
    """
    notes = [
        note
        for note in answer.notes
        if isinstance(note, CountedAtStation) and name == f"throughput[{note.class_name}]"
    ]
    throughput = counted_throughput = answer.find(name) or 0.0
    for note in notes:
        for value_name, loss in answer.values.items():
            name_start = f"loss_probability[{note.class_name},"
            class_and_station = value_name.removeprefix("loss_probability")
            time_per_visit = answer.find(f"time_per_visit{class_and_station}")
            if (
                not value_name.startswith(name_start)
                or value_name == f"{name_start}{note.station_name}]"
                or not time_per_visit
            ):
                continue
            # By Little's law, as many enter the station as it has for the time of a visit.
            entry_rate = (answer.find(f"queue_length{class_and_station}") or 0.0) / time_per_visit
            share_lost = loss.value or 0.0
            throughput -= entry_rate * share_lost / (1 - share_lost) if share_lost < 1 else 0.0
    if throughput >= counted_throughput:
        return ""
    amount = value_amount(name, max(throughput, 0.0), answer.unit(name))
    return f" ({amount} without those that later stations lose)"


def _has_other_name(answer: Answer, name: str) -> bool:
    """Return whether the report shows a value of a group under a more usual name: the time of
    customers who do not think is their response time, and values of the only group are those of the
    model.
    """
    kind, bracket, group_name = name.partition("[")
    if not bracket or kind not in ("time", "throughput"):
        return False
    other_names = [f"response_time[{group_name}"] if kind == "time" else []
    other_names += [] if answer.groups else [kind]
    value = answer.find(name) or 0.0
    return any(isclose(answer.find(other_name) or 0.0, value) for other_name in other_names)


def _interval_remark(answer: Answer) -> str:
    """Return a remark that some requested values have an interval though the solution is exact;
    empty if none has.
    """
    asked_values = [answer.values[name] for name in answer.asked if name in answer.values]
    has_interval = any(has_width(value.ends) for value in asked_values)
    return "; some values have an interval" if has_interval else ""


def _heading_line(answer: Answer) -> str:
    if answer.failed is not None:
        heading_line = f"{answer.model} by {answer.method}: no answer: {answer.refusal}"
    # Only simulations have converged or not.
    elif answer.converged is not None and not answer.exact:
        precision_in_words = (
            "each value with its interval" if answer.converged else "less precisely than requested"
        )
        heading_line = f"{answer.model} by {answer.method}: estimated, {precision_in_words}"
    elif answer.exact:
        words_with_interval = f"{exactness_words(answer)}{_interval_remark(answer)}"
        heading_line = f"{answer.model} by {answer.method}: {words_with_interval}"
    elif answer.method == CLOSED_FORM and any(
        isinstance(note, WaitingLeftOut) for note in answer.notes
    ):
        heading_line = (
            f"{answer.model} in closed form, without queueing; the notes say what is left out"
        )
    else:
        notes_explain = answer.notes and not answer.left_out and answer.check is None
        hint = "; the notes say what is left out" if notes_explain else ""
        heading_line = f"{answer.model} by {answer.method}: {exactness_words(answer)}{hint}"
    heading_line += (
        f"; {check_sentence(answer.check)}" if answer.check and not answer.failed else ""
    )
    # A bound that an interval holds is no doubt.
    if answer.bound and not isinstance(answer.bound, SlightlyBeyond):
        heading_line += f". {answer.bound}"
    heading_line += f". The error may be large: {answer.error}" if answer.error else ""
    heading_line += f"; {losses_sentence(answer.left_out)}" if answer.left_out else ""
    setting_lines = [
        *_settings_lines("at", answer.point, answer),
        *_settings_lines("with", answer.given, answer),
    ]
    return "\n".join([wrapped(heading_line, _INDENT), *setting_lines])


def check_sentence(check: Verdict) -> str:
    """Write the result of the check of an answer by a short simulation.

    >>> check_sentence(Verdict(AGREED, "within 1.8 % of a short simulation"))
    'checked: within 1.8 % of a short simulation'
    """
    if check.word == AGREED:
        return f"checked: {check.reason}{_undecided_text(check)}"
    rejected_answer = check.rejected
    # The answer shown is the simulation's; the value that it replaces is shown beside it, since
    # earlier reports may have it.
    if check.word == REPLACED and rejected_answer is not None:
        amount = quantity(rejected_answer.value, rejected_answer.unit)
        value_name = "" if rejected_answer.name == "time" else f"{rejected_answer.name} "
        return f"{rejected_answer.method} was rejected ({value_name}{amount}, {check.reason})"
    return str(check)


def _undecided_text(check: Verdict) -> str:
    """List the waits and utilizations that the check by simulation left undecided; empty if there
    are none.
    """
    undecided_names = [
        name for name, verdict_word in check.parts.items() if verdict_word == UNDECIDED
    ]
    first_names_text = ", ".join(undecided_names[:_MOST_UNDECIDED])
    other_count_text = (
        f" and {len(undecided_names) - _MOST_UNDECIDED} more"
        if len(undecided_names) > _MOST_UNDECIDED
        else ""
    )
    return f" (undecided: {first_names_text}{other_count_text})" if undecided_names else ""


def _settings_lines(
    preposition: str, settings: Mapping[str, float | str], answer: Answer
) -> list[str]:
    phrases = [
        f"{path} = {_setting_amount(value, answer.described.get(path))}"
        for path, value in settings.items()
    ]
    return [wrapped(f"{preposition} {', '.join(phrases)}", _INDENT)] if phrases else []


def _setting_amount(value: float | str, described_value: DescribedValue | None) -> str:
    middle_text = (
        quantity(described_value.given.value, str(described_value.given.dimension))
        if described_value
        else ""
    )
    if isinstance(value, str):
        # The values above are those at the middle of a range, their intervals those of all of it.
        return f"{value} (middle {middle_text})" if described_value else value
    return (
        quantity(value, str(described_value.given.dimension)) if described_value else f"{value:g}"
    )


_HIDDEN_ROWS = late_pattern(r"^and \d+ more(?: notes?)?$", re.MULTILINE)


def _cut_table(
    titles: Sequence[str], rows: Sequence[list[str]], number_columns: Iterable[int], row_count: int
) -> str:
    """Write the first rows of a table, and how many of its rows are left out."""
    table = plain_table(titles, rows, number_columns) if rows else ""
    hidden_count = row_count - len(rows)
    return f"{table}\nand {hidden_count} more" if hidden_count else table


def _value_rows(answer: Answer) -> list[list[str]]:
    """Return the rows of the table of values, which leaves out the values of a class at a
    station.
    """
    value_names = sorted(
        (name for name, value in answer.named_values.items() if not _station_match(name, value)),
        key=_importance_rank,
    )
    return _merge_rows(
        [name, _amount_text(answer.values[name])]
        for name in value_names
        if not _PROBABILITY.fullmatch(name) and name not in answer.asked
    )


def _requested_values(answer: Answer) -> str:
    """Write the requested values of an answer, or how to obtain the values that it lacks."""
    rows = [
        [name, _value_text(answer, name)]
        for name, asked_value in answer.asked.items()
        if asked_value.state == ANSWERED
    ]
    pair_lines = [
        wrapped(f"{name}: {asked_value.state}: {asked_value.way_to_value}", _INDENT)
        for name, asked_value in answer.asked.items()
        if asked_value.state != ANSWERED
    ]
    table = plain_table(["asked for", "amount"], rows, [1]) if rows else ""
    return "\n\n".join(filter(None, (table, "\n".join(pair_lines))))


def _value_text(answer: Answer, name: str) -> str:
    """Write one value of an answer by its name, from the table of the answer that has it."""
    value_kind, _, label_end = name.partition("[")
    if value_kind == "limit":
        pipeline = label_end.removesuffix("]")
        return next(limit.stage for limit in answer.limits if limit.pipeline == pipeline)
    if value_kind == "share" and name not in answer.values:
        value_name, _, path = label_end.removesuffix("]").partition(",")
        return percent(answer.share[value_name][path])
    if name in answer.values:
        return _amount_text(answer.values[name])
    return quantity(answer.find(name), answer.unit(name), ends=answer.ends(name))


_NAME_WITH_NUMBER = late_pattern(r"(.*?)(\d+)(\D*)")


def _merge_rows(rows: Iterable[list[str]]) -> list[list[str]]:
    """Merge rows whose names differ only in a number and whose other cells are equal, such as
    ``memory-0 to 255``.
    """
    rows_by_key: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    for row in rows:
        name_match = _NAME_WITH_NUMBER.fullmatch(row[0])
        key, row_number = (
            ((name_match[1], name_match[3], *row[1:]), name_match[2])
            if name_match
            else ((row[0],), "")
        )
        rows_by_key.setdefault(key, []).append((row_number, row))
    folded_rows = []
    for key, numbered_rows in rows_by_key.items():
        if len(numbered_rows) < _FEWEST_FOLDED:
            folded_rows += [row for _, row in numbered_rows]
        else:
            # Networks of many equal stations would fill screens with equal rows.
            row_numbers = sorted(int(row_number) for row_number, _ in numbered_rows)
            are_consecutive = row_numbers == list(range(row_numbers[0], row_numbers[-1] + 1))
            numbers_text = (
                f"{row_numbers[0]} to {row_numbers[-1]}"
                if are_consecutive
                else f"{row_numbers[0]} to {row_numbers[-1]}, {len(row_numbers)} of them"
            )
            folded_rows.append([f"{key[0]}{numbers_text}{key[1]}, each", *numbered_rows[0][1][1:]])
    return folded_rows


def _station_match(name: str, value: Value) -> re.Match[str] | None:
    """Return the match of a value's name if the table by station shows it; None for other names,
    and for values with an interval, for which that table has no room.
    """
    # Values with intervals are too wide for a table with a column for each kind.
    return None if value.low != value.high else _LABEL_AT_STATION.fullmatch(name)


def _station_table(answer: Answer, most_rows: int | None) -> str:
    """Write the table of a network's values by station and class: one row for each pair, one column
    for each measure.
    """
    values_by_labels: dict[tuple[str, str], dict[str, Value]] = {}
    for name, value in answer.values.items():
        if match := _station_match(name, value):
            values_by_labels.setdefault((match["label"], match["station"]), {})[match["kind"]] = (
                value
            )
    value_kinds = list(
        dict.fromkeys(kind for values in values_by_labels.values() for kind in values)
    )
    rows = []
    for labels, values in islice(values_by_labels.items(), most_rows):
        amount_texts = (
            _amount_text(values[kind]) if kind in values else NOTHING for kind in value_kinds
        )
        rows.append([*labels, *amount_texts])
    label_titles = _LABEL_TITLES.get(next(iter(value_kinds), ""), ("class", "station"))
    titles = [
        *label_titles,
        *(_COLUMN_TITLES.get(kind, kind.replace("_", " ")) for kind in value_kinds),
    ]
    return _cut_table(titles, rows, range(2, len(titles)), len(values_by_labels))


def _importance_rank(name: str) -> int:
    """Return the sort key of a value by its name: the most important first."""
    value_kind = name.partition("[")[0]
    return _FIRST_KINDS.index(value_kind) if value_kind in _FIRST_KINDS else len(_FIRST_KINDS)


def _amount_text(value: Value) -> str:
    return quantity(value.value, value.unit, ends=(value.low, value.high))


def _account_rows(account: Mapping[str, float], answer: Answer, value_kind: str) -> list[list[str]]:
    """Return the rows of an account of time in seconds and percent by label; none for a single
    label, which equals the time.
    """
    total_time = sum(account.values())
    rows = [
        [
            label,
            quantity(seconds, "s", ends=answer.ends(f"{value_kind}[{label}]")),
            _percent_of_time(seconds, total_time),
        ]
        for label, seconds in account.items()
        if seconds
    ]
    return _merge_rows(rows) if len(rows) > 1 else []


def _account_table(title: str, rows: Sequence[list[str]], most_rows: int | None) -> str:
    return _cut_table([title, "time", "part"], rows[:most_rows], [1, 2], len(rows))


def _percent_of_time(seconds: float, total_time: float) -> str:
    """Write seconds as a percentage of a total time."""
    return percent(seconds / total_time if total_time else None)


def _step_table(answer: Answer) -> str:
    # Such as the steps of an option that is not taken here.
    time_by_step = {step: seconds for step, seconds in answer.steps.items() if seconds}
    total_time = sum(time_by_step.values())
    rows = []
    for step, seconds in time_by_step.items():
        time_of_execution = quantity(answer.once.get(step), "s")
        time_in_all = quantity(seconds, "s", ends=answer.ends(f"step[{step}]"))
        rows.append([step, time_of_execution, time_in_all, _percent_of_time(seconds, total_time)])
    column_titles = ["step", "once", "in all", "part"]
    hidden_count = len(answer.steps) - len(time_by_step)
    remark = f"\nand {with_noun(hidden_count, 'step')} without any time" if hidden_count else ""
    return (
        plain_table(column_titles, _merge_rows(rows), [1, 2, 3]) + remark if len(rows) > 1 else ""
    )


def _shares_remark(answer: Answer) -> str:
    """Return the remark that shares were left out because computing them takes long; empty if it
    does not.
    """
    deferred_shares = answer.share
    if (
        not isinstance(deferred_shares, DeferredShares)
        or deferred_shares.seconds <= MOST_SECONDS_OF_SHARES
    ):
        return ""
    return f"shares (about {deferred_shares.seconds:,.0f} s of processor time)"


def _share_tables(answer: Answer, most_rows: int | None) -> str:
    value_names = [
        name
        for name in answer.share
        if name == "time" or name.startswith("response_time") or name in answer.asked
    ]
    return "\n\n".join(
        filter(None, (_share_table(name, answer, most_rows) for name in value_names))
    )


STEEP_SHARE = 5.0
"""Share above which a change of 1 % is no small change, and its saving is written with "about" [1]:
at an M/M/1 queue 80 % busy the slope says 5 %, and 4.8 % is right; at 95 % busy 20 and 16.8 %."""


NARROWEST_MEANING = 20
"""Columns of the screen below which meanings are left out: they would take a line for each word."""


def _share_table(name: str, answer: Answer, most_rows: int | None) -> str:
    """Write the table of parameters, ranked by how much of a value a change of 1 % saves, to first
    order.

    The sign of the derivative says whether less or more of a parameter shortens the time: the sign
    of a share does not, because shares of rates are turned so that all add up to 1.
    """
    share_by_path = answer.share[name]
    slope_by_path = answer.gradient.get(name, {})
    ranked_shares = sorted(
        (name_and_share for name_and_share in share_by_path.items() if name_and_share[1]),
        key=lambda path_and_share: -abs(path_and_share[1]),
    )
    rows = []
    for path, share in ranked_shares[:most_rows]:
        described_value = answer.described.get(path)
        value_and_meaning = ["", ""]
        if described_value:
            meaning = described_value.meaning
            value_and_meaning = [str(described_value.given), getattr(meaning, "brief", meaning)]
        # A falling slope means that a larger value saves, such as a faster processor.
        change_text = f"{'+' if slope_by_path.get(path, share) < 0 else '-'}1 %"
        saving_text = f"{'about ' * (abs(share) > STEEP_SHARE)}{percent(abs(share) / 100)}"
        rows.append([path, change_text, saving_text, percent(share), *value_and_meaning])
    titles = [
        f"what {'lowers' if name.startswith('amount[') else 'shortens'} {name}",
        "change",
        "saves",
        "share",
        "now",
        "meaning",
    ]
    # Models built in Python have no values and meanings to show, parameters often no meaning.
    shown_count = max((len(_without_empty_end(row)) for row in rows), default=len(titles))
    if shown_count == len(titles):
        widths = [
            max(map(len, cells)) + 2
            for cells in zip(titles[:-1], *(row[:-1] for row in rows), strict=True)
        ]
        shown_count -= sum(widths) + NARROWEST_MEANING > terminal_width()
    shown_rows = [row[:shown_count] for row in rows]
    number_columns = [1, 2, 3, 4][: shown_count - 1]
    return _cut_table(titles[:shown_count], shown_rows, number_columns, len(ranked_shares))


def _without_empty_end(row: Sequence[str]) -> Sequence[str]:
    """Return a row without the empty cells at its end."""
    return row if not row or row[-1] else _without_empty_end(row[:-1])


def _limit_lines(limit: Limit) -> list[str]:
    times_and_stages = [
        # Neighbouring stages of equal time are written as one range, since pipelines may have
        # hundreds.
        (quantity(time_text, "s"), list(equal_stages))
        for time_text, equal_stages in groupby(
            limit.stages, lambda stage_name: limit.stages[stage_name]
        )
    ]
    range_texts = [
        f"{equal_stages[0]} to {equal_stages[-1]} {time_text} each" if len(equal_stages) > 2 else ""
        for time_text, equal_stages in times_and_stages
    ]
    stages_text = ", ".join(
        range_text or ", ".join(f"{stage} {time_text}" for stage in equal_stages)
        for range_text, (time_text, equal_stages) in zip(range_texts, times_and_stages, strict=True)
    )
    first_line = wrapped(
        f"{limit.pipeline} is limited by {limit.stage} (one item: {stages_text})", _INDENT
    )
    further_lines = [
        f"{_INDENT}{takeover.path}, {quantity(takeover.now, takeover.unit)} now: {takeover.stage}"
        f" from {quantity(takeover.value, takeover.unit)} on"
        for takeover in limit.takeovers
    ]
    return [first_line, *(wrapped(line, 2 * _INDENT) for line in further_lines)]


def _note_lines(answer: Answer, most_notes: int | None = None) -> str:
    # The error that is usual, and what is left out, stand before how it is computed.
    # The first line has those on ranges.
    lower_notes = [note for note in answer.notes if not isinstance(note, Prominent)]
    ranked_notes = sorted(lower_notes, key=lambda note: not isinstance(note, Doubt | RunLength))
    notes = [_NUMBERED_NAMES.sub(r"\1 to \3", note) for note in ranked_notes]
    lines = [wrapped(f"note: {note}", _INDENT) for note in notes[:most_notes]]
    hidden_count = len(notes) - len(lines)
    return "\n".join(
        lines + ([f"and {with_noun(hidden_count, 'more note')}"] if hidden_count else [])
    )


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
    text : further text: the equation of a law, or the content of the file
    """

    kind: str
    name: str
    title: str
    source: str
    entries: Mapping[str, DescribedValue]
    text: str = ""


def catalogue_text(lines: Sequence[CatalogueLine], in_full: bool = True) -> str:
    """List names and titles of the catalogue, one block for each kind. Without `in_full` each block
    is cut so that the list fits one screen.
    """
    blocks = []
    shown_count = len(lines) if in_full or len(lines) <= _SCREEN_LINES else _SCREEN_LINES - 4
    for kind, lines_of_kind in groupby(lines[:shown_count], key=lambda line: line.kind):
        rows = [[line.name, line.title] for line in lines_of_kind]
        blocks.append(plain_table([kind, "title"], rows))
    if hidden_count := len(lines) - shown_count:
        blocks.append(
            wrapped(
                f"and {hidden_count} more: --all lists them; --search TEXT lists those with TEXT"
                " in the name or title"
            )
        )
    return ascii_only("\n\n".join(blocks))


def catalogue_summary(lines: Sequence[CatalogueLine], most_names: int = 12) -> str:
    """List for each kind the number of entries and the first names."""
    blocks = []
    for kind, lines_of_kind in groupby(lines, key=lambda line: line.kind):
        spec_names = [line.name for line in lines_of_kind]
        hidden_text = (
            f", and {len(spec_names) - most_names} more" if len(spec_names) > most_names else ""
        )
        blocks.append(
            wrapped(
                f"{kind} ({len(spec_names)}): {', '.join(spec_names[:most_names])}{hidden_text}",
                "    ",
            )
        )
    advice = (
        "slipstick list KIND lists all names of a kind with their titles; slipstick list --search"
        " TEXT finds names by a word"
    )
    return ascii_only("\n".join([*blocks, "", wrapped(advice)]))


def spec_text(catalogue_entry: CatalogueEntry) -> str:
    """Write one spec for the terminal: its values with path, unit, meaning and source, then further
    text.
    """
    source_notes = Notes()
    rows = [
        _entry_row(path, described_value, source_notes)
        # What the model itself says comes before what it takes from a machine.
        for path, described_value in sorted(
            catalogue_entry.entries.items(), key=lambda entry: entry[0].startswith("machine.")
        )
    ]
    blocks = [
        wrapped(
            f"{catalogue_entry.kind}/{catalogue_entry.name}: {catalogue_entry.title}"
            if catalogue_entry.title
            else f"{catalogue_entry.kind}/{catalogue_entry.name}"
        )
    ]
    if catalogue_entry.source:
        blocks.append(wrapped(f"source: {catalogue_entry.source}"))
    widths = [
        max((len(row[column_index]) for row in rows), default=0) for column_index in (0, 1, 3)
    ]
    if sum(widths) + _LEAST_MEANING > terminal_width():
        blocks.append(
            "\n".join(
                wrapped(f"{path} = {value} {source}".rstrip())
                + "\n"
                + (wrapped(f"{_INDENT}{meaning}", _INDENT) if meaning else "")
                for path, value, meaning, source in rows
            )
        )
    elif rows:
        blocks.append(plain_table(["path", "value", "meaning", "source"], rows))
    return ascii_only(
        "\n\n".join(block for block in (*blocks, source_notes.text, catalogue_entry.text) if block)
    )


_LEAST_MEANING = 24
"""Columns that meanings need beside their paths and values; else they stand on lines of their
own."""


def _entry_row(path: str, described_value: DescribedValue, source_notes: Notes) -> list[str]:
    given_quantity = described_value.given
    value_text = given_quantity.text if given_quantity.text else str(given_quantity)
    source_mark = (
        f"[{source_notes.number(described_value.source)}]" if described_value.source else ""
    )
    technology_text = f"follows {given_quantity.technology}" if given_quantity.technology else ""
    meaning = "; ".join(filter(None, (described_value.meaning, technology_text)))
    return [
        path,
        value_text,
        meaning,
        f"{source_mark} assumed" if given_quantity.assumed else source_mark,
    ]


def value_documents(entries: Mapping[str, DescribedValue]) -> dict[str, Any]:
    """Return the quantities of a spec as plain data for JSON, by path: base unit, text as written,
    meaning, source, and the trend that it follows over the years.
    """
    from slipstick.results.question import as_data

    return {
        path: {
            "value": as_data(described_value.given.value),
            "unit": str(described_value.given.dimension),
            "text": described_value.given.text,
            "meaning": described_value.meaning,
            "source": described_value.source,
            "assumed": described_value.given.assumed,
            "technology": described_value.given.technology,
        }
        for path, described_value in entries.items()
    }
