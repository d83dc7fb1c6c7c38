"""The head of a report: the answer first, in a reader's words, then the choices side by side.

A sentence is made of titles, meanings and units; it has no path, no option and no name of a file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isclose, isfinite

from slipstick.answer import Answer, has_width
from slipstick.errors import (
    AbsentValue,
    Definition,
    DoubtfulRate,
    DoubtfulRates,
    MissingValue,
    MoreProcessors,
    NotConverged,
    OperationKind,
    Prominent,
    RunLength,
    SlightlyBeyond,
    StatedError,
    Unanswered,
    WaitingLeftOut,
    cause_of,
)
from slipstick.late import late_pattern
from slipstick.report.formatting import (
    NOTHING,
    TextTable,
    capitalized,
    do_overlap,
    join_phrases,
    losses_sentence,
    percent,
    plain_decimal,
    quantity,
    setting_phrase,
    uncapitalized,
    value_amount,
    with_article,
    with_noun,
)
from slipstick.results.question import QuestionResult, TitleAnswer
from slipstick.results.study import Results
from slipstick.results.sweep import Axis, Sweep, split_name
from slipstick.results.words import (
    WHICH_OF_TWO,
    Words,
    as_words,
    asks_yes_or_no,
    is_plural,
    may_ask_for_opposite,
)
from slipstick.vocabulary import VERDICTS

_MOST_LINES = 4
"""The largest number of sentences of questions at the head of a report."""
_MOST_COLUMNS = 3
"""The largest number of values in the table of the cases."""
_FEW_INPUTS = 2
_LONGEST_SENTENCE = 250
"""The largest number of letters of the clauses on how answers were computed that are joined into
one sentence.
"""
_FEW_CASES = 8
"""The largest number of cases that a head compares; more cases are a campaign, whose tables compare
them.
"""

_WORK_TOLERANCE = 0.02  # relative difference of work that a simulation may leave
_SAME_RATE = 0.005  # relative difference of values that a head does not call different
_HARDWARE_PATHS = (
    "machine",
    "model",
    "technology",
    "resources",
    "stations",
    "method",
    "simulation",
)
_LOAD_PATHS = ("classes", "population.arrivals", "workload")


def head_lines(results: Results, value_names: Sequence[str]) -> list[str]:
    """Return the sentences at the head of a report: the answers to its questions in their order,
    the base and what it is compared with, and the methods and doubts behind the answers.

    Parameters
    ----------
    results : of a study
    value_names : the values that were asked for
    """
    deciding_question, verdict = _verdict_on_title(results)
    names_and_lines = _lines_of_questions(results, deciding_question, verdict)
    question_lines = [line for _, line in names_and_lines[:_MOST_LINES]]
    question_lines += _not_examined_lines(results)
    are_cases_comparable = len(results.cases) <= 1 + _FEW_CASES and not any(
        question.has_own_cases for question in results.questions.values()
    )
    compare_cases = _what_if_lines if _WHAT_IF.match(results.title) else _comparison_lines
    comparison_lines = list(compare_cases(results, value_names)) if are_cases_comparable else []
    # A question that examined several cases compares them by itself, and a list of more than two
    # values is read in the table.
    has_compared_cases = any(
        len(results.cases) > 2 or (len(question.examined_cases()) > 1 and name != _PROJECTION)
        for name, question in results.questions.items()
    )
    asks_for_best = _asks_for_best_case(results)
    unlike_case_lines = (
        list(_unlike_case_lines(results, value_names))
        if compare_cases is _comparison_lines
        and are_cases_comparable
        and (asks_for_best or not has_compared_cases)
        else []
    )
    answer_lines = (
        [*comparison_lines, *question_lines]
        if results.cases_first
        else [*question_lines, *comparison_lines]
    )
    answer_lines = (
        [*unlike_case_lines, *answer_lines]
        if asks_for_best
        else [*answer_lines, *unlike_case_lines]
    )
    recommendation_lines = [*_recommendation_lines(results, value_names)]
    # A title that asks for a number is answered by the number of each case.
    lines = (
        [*answer_lines, *recommendation_lines]
        if _HOW_MANY.match(results.title)
        else [*recommendation_lines, *answer_lines]
    )
    if verdict.sentence:
        word_and_colon = f"{verdict.word}: " if verdict.word else ""
        lines.insert(0, f"{word_and_colon}{verdict.sentence}")
    # Where questions alone are answered, the first case is only their starting point.
    # A ranking of changes says nothing of the value itself.
    is_base_missing = not question_lines or results.questions.keys() <= {"rank"}
    base_lines = (
        list(_base_lines(results, value_names, bool(unlike_case_lines) or not is_base_missing))
        if comparison_lines or len(results.cases) == 1 or not question_lines
        else []
    )
    # So does a title that asks yes or no, where nothing answers it and it compares no cases.
    is_open = (
        asks_yes_or_no(results.title)
        and not may_ask_for_opposite(results.title)
        and not (verdict.sentence or question_lines)
    )
    asks_for_base = (
        (is_open or _HOW_MUCH.match(results.title)) and is_base_missing and not unlike_case_lines
    )
    lines = [*base_lines, *lines] if asks_for_base else [*lines, *base_lines]
    if not question_lines:
        sweep_lines = _sweep_lines if answer_lines or verdict.word else _sweep_or_end_lines
        lines_of_sweep = [
            line
            for sweep in results.sweeps[:1]
            for line in sweep_lines(sweep, value_names, results)
        ]
        asks_for_sweep = _HOW_IT_CHANGES.match(results.title)
        lines = [*lines_of_sweep, *lines] if asks_for_sweep else [*lines, *lines_of_sweep]
    lines = _with_second_answer(lines, names_and_lines, results.title)
    lines[:1] = ["; ".join([*lines[:1], *_unanswered_clauses(results)])]
    lines.append(_basis_sentence(results, value_names))
    return [f"{capitalized(_FOR.sub('', line)).rstrip('.')}." for line in lines if line]


_FOR = late_pattern(r" for(?= (?:with|without|on|at(?! least| most)|in|after|by) )")
"""A preposition before the title of a case that begins with another."""

_SECOND_QUESTION = late_pattern(
    r"[,;]? and (?:(?:for|from|with|by|at|in|until) )?"
    r"(?:which|what|how|where|when|whether|does|do|is|are|will|can)\b",
    re.IGNORECASE,
)
"""How the second question of a title begins."""


def _with_second_answer(
    lines: Sequence[str], names_and_lines: Sequence[tuple[str, str]], title: str
) -> list[str]:
    """Return the lines of a head; if the title asks two things, the first line has the headline of
    another question as well.

    >>> lines = ["The log limits it", "time 2 s", "half the log saves most"]
    >>> headlines = [("bottleneck", lines[0]), ("rank", lines[2])]
    >>> _with_second_answer(lines, headlines, "What limits it, and what would help most?")
    ['The log limits it; half the log saves most', 'time 2 s']
    """
    if not lines or not _SECOND_QUESTION.search(title):
        return [*lines]
    first_line, *further_lines = lines
    first_questions = {name for name, line in names_and_lines if line in first_line}
    for name, line in names_and_lines:
        if name not in first_questions and line in further_lines:
            further_lines.remove(line)
            return [f"{first_line.rstrip('.')}; {uncapitalized(line)}", *further_lines]
    return [*lines]


def _unanswered_clauses(results: Results) -> Iterator[str]:
    """Yield a clause for each case that has no answer at some points of its ranges."""
    for case, answer in results.cases.items():
        for note in answer.notes:
            if isinstance(note, Unanswered):
                yield f"{results.words.case(case)}: {note}" if len(results.cases) > 1 else note


def questions_not_fully_answered(results: Results) -> set[str]:
    """Return the names of the questions that the head answers only in part or not at all: the
    headline is missing, it leaves out answers, or the head has no room for it.
    """
    names_and_lines = _lines_of_questions(results, *_verdict_on_title(results))
    names_not_answered = {
        name
        for name, question in results.questions.items()
        if question.has_further_answers or not any(question.headline(results.words))
    }
    return names_not_answered | {name for name, _ in names_and_lines[_MOST_LINES:]}


def _lines_of_questions(
    results: Results, deciding_question: QuestionResult | None, verdict: TitleAnswer
) -> list[tuple[str, str]]:
    """Return the headlines of all questions, each with the question's name, without those that the
    verdict already states; first those of a question that answers for an amount in the title, then
    in the order in which the title asks.
    """
    title = results.title

    def place_in_title(item: tuple[str, QuestionResult]) -> tuple[bool, int]:
        question = item[1]
        match = question.asked_by and re.search(question.asked_by, title, re.IGNORECASE)
        return not question.answers_amount_in(title), match.start() if match else len(title)

    questions = sorted(results.questions.items(), key=place_in_title)
    answers = [*results.cases.values()]
    given_values = _varied_values(results, answers) if answers else []
    given_text = f", with {join_phrases(given_values)}" if given_values else ""
    return [
        (name, line + given_text * question.is_at_given_values)
        for name, question in questions
        for line in [*question.headline(results.words)][
            question is deciding_question and verdict.replaces_headline :
        ]
        if not (verdict.sentence and verdict.sentence in line)
    ]


_NO_VERDICT = TitleAnswer("", "", replaces_headline=False)


def _verdict_on_title(results: Results) -> tuple[QuestionResult | None, TitleAnswer]:
    """Return the first question that answers a title that asks yes or no, with its answer.

    Statements stand in their author's words, as the title does. A search has a condition only, and
    a title may ask for its opposite ("Does it take longer than 2 s?"), so that such a title needs
    statements.
    """
    if not asks_yes_or_no(results.title):
        return None, _NO_VERDICT
    questions = sorted(
        results.questions.values(), key=lambda question: not question.states_the_title
    )
    for question in questions:
        verdict = question.verdict(results.words, results.cases)
        if verdict is None:
            continue
        is_word_right = question.states_the_title or verdict.answers_opposite
        if is_word_right or not may_ask_for_opposite(results.title, verdict.condition):
            return question, verdict
        if verdict.stands_alone:
            return question, verdict._replace(word="")
    return None, _NO_VERDICT


def is_title_answered(results: Results) -> bool:
    """Return whether the title asks nothing, or a question of the study answers it with yes or no
    or with a likelihood.
    """
    return not asks_yes_or_no(results.title) or bool(_verdict_on_title(results)[1].sentence)


def decision_table(results: Results, value_names: Sequence[str]) -> TextTable | None:
    """Return the table of alternatives of the first question that has one, else the table of the
    cases.
    """
    words = results.words
    table_of_cases = _table_of_cases(results, value_names)
    if table_of_cases and _asks_for_best_case(results):
        return table_of_cases
    for question in results.questions.values():
        if table := question.decision(words):
            titles, rows = _with_loads(results, *table)
            for other_question in results.questions.values():
                for title, text_by_case in other_question.columns_by_case(words).items():
                    if text_by_case.keys() >= {row[0] for row in rows}:
                        titles = [*titles, title]
                        rows = [[*row, text_by_case[row[0]]] for row in rows]
            return TextTable(titles, rows, [*_numeric_columns(titles, rows)])
    return table_of_cases


_NETWORK_LOAD = late_pattern(r"classes\.[^.]+\.(?:arrivals|population)")
_MOST_LOADS = 2


def _with_loads(
    results: Results, titles: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Return a table of a decision with the load of each case beside its name: the arrivals or
    customers of a queueing network, unless a question searches them, or the table has other rows.
    """
    answer_by_title = {results.words.case(case): answer for case, answer in results.cases.items()}
    searched_paths = {
        path for question in results.questions.values() for path in question.searched_paths()
    }
    answers = [answer_by_title.get(row[0]) for row in rows]
    if len(results.cases) == len(rows) == 1:  # whatever its row is called
        answers = [*results.cases.values()]
    load_paths = dict.fromkeys(
        path
        for answer in answers
        for path in (answer.described if answer else ())
        if _NETWORK_LOAD.fullmatch(path) and path not in searched_paths
    )
    if not all(answers) or len(load_paths) > _MOST_LOADS:
        load_paths = {}
    load_titles = [*map(results.words.quantity, load_paths)]
    rows_with_loads = [
        [row[0], *(_load_cell(answer, path) for path in load_paths), *row[1:]]
        for row, answer in zip(rows, answers, strict=True)
    ]
    return [*titles[:1], *load_titles, *titles[1:]], rows_with_loads


def _load_cell(answer: Answer | None, path: str) -> str:
    """Return the load that a case has at a path, as a cell of a table."""
    entry = answer.described.get(path) if answer else None
    return quantity(entry.given.value, str(entry.given.dimension)) if entry else NOTHING


def _table_of_cases(results: Results, value_names: Sequence[str]) -> TextTable | None:
    """Return the table of the first values of the cases; None where there is nothing to compare."""
    words = results.words
    name_and_cases = _comparable_cases(results, value_names)
    if not 1 < len(results.cases) <= 1 + _FEW_CASES or name_and_cases is None:
        return None
    answers = {
        case: answer_of_case
        for case, answer_of_case in results.cases.items()
        if not answer_of_case.failed and any(map(answer_of_case.find, value_names))
    }
    # A value that is the same in all cases tells them not apart.
    shown_names = [
        name
        for name in value_names
        if any(answer.find(name) for answer in answers.values())
        and (
            len({_value_text(answer, name) for answer in answers.values()}) > 1
            or words.value(name) in results.title.lower()
        )
    ][:_MOST_COLUMNS]
    rows = [
        [words.case(case), *(_value_text(answer_of_case, name) for name in shown_names)]
        for case, answer_of_case in answers.items()
        if any(answer_of_case.find(name) is not None for name in shown_names)
    ]
    place = join_phrases(_varied_values(results, [*answers.values()]))
    titles = [f"with {place}" if place else "", *map(words.value, shown_names)]
    return TextTable(titles, rows, range(1, len(titles))) if len(rows) > 1 else None


def _numeric_columns(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[int]:
    """Yield the indices of columns whose cells are amounts or empty.

    >>> list(
    ...     _numeric_columns(
    ...         ["case", "a", "b", "c"], [["x", "-3 %", "-", "-"], ["y", "2 %", "4", "none"]]
    ...     )
    ... )
    [1, 2]
    """
    for column_index in range(len(titles)):
        amount_texts = [
            row[column_index].lstrip("-") for row in rows if row[column_index] != NOTHING
        ]
        if amount_texts and all(amount[:1].isdigit() for amount in amount_texts):
            yield column_index


def _not_examined_lines(results: Results) -> Iterator[str]:
    """Yield a sentence on the cases that no search examined, if searches examined the first case
    only. Cases that differ in the searched quantity alone are left out, because they are points of
    the search.
    """
    case_names = list(results.cases)
    case_lists = [question.examined_cases() for question in results.questions.values()]
    if [case_names[:1]] != [
        list(examined_cases) for examined_cases in case_lists if examined_cases
    ]:
        return
    model = results.cases[case_names[0]].model
    searched_paths = dict.fromkeys(
        path for question in results.questions.values() for path in question.searched_paths()
    )
    cases_left_out = [
        case
        for case in case_names[1:]
        if results.cases[case].model == model
        and results.settings.get(case, {"": ""}).keys() - {*searched_paths, "method"}
    ]
    if cases_left_out and len(case_names) <= 1 + _FEW_CASES:
        words = results.words
        searched_text = join_phrases([f"the {words.quantity(path)}" for path in searched_paths])
        left_out_text = join_phrases([*map(words.case, cases_left_out)])
        yield (
            f"the search varies {searched_text or 'the year'} in one case only,"
            f" {words.case(case_names[0])}; it leaves out {left_out_text}"
        )


def _value_text(answer: Answer, name: str) -> str:
    """Write a value of an answer with its interval."""
    return value_amount(name, answer.find(name), answer.unit(name), answer.ends(name))


def _amount_in_sentence(answer: Answer, name: str, words: Words) -> str:
    """Write a value of an answer with its interval, a rate with what it counts."""
    return words.rate_with_noun(name, _value_text(answer, name))


def _recommendation_lines(results: Results, value_names: Sequence[str]) -> Iterator[str]:
    """Yield the sentence that recommends a case, if one case is best by all questions and by the
    compared value.
    """
    best_cases = (question.best(results.words) for question in results.questions.values())
    cases_and_reasons = [*filter(None, best_cases)]
    value_name, ranked_cases = _comparable_cases(results, value_names) or ("", [])
    if len(ranked_cases) < 2:
        return
    if _asks_for_best_case(results):
        cases_and_reasons = cases_and_reasons or [(ranked_cases[0][0], "")]
    if len({case for case, _ in cases_and_reasons}) != 1:
        return
    (first_case, best_answer), (second_case, second_answer), *_ = ranked_cases
    (best_case, reason), *_ = cases_and_reasons
    # Nothing is recommended where a question and the values disagree, or where the order lies
    # within intervals.
    if first_case != best_case or _order_doubt(best_answer, second_answer, value_name):
        return
    words = results.words
    best_amount = _value_text(best_answer, value_name)
    superlative = "fastest"
    if value_name != "time":
        superlative = "best"
        best_amount = f"the {_degree_and_value(value_name, words)}, {best_amount}"
    setting_text = join_phrases(_varied_values(results, [answer for _, answer in ranked_cases]))
    with_place = f" with {setting_text}" if setting_text else ""
    better_case_clauses = _better_cases_in_sweeps(
        results, value_name, [case for case, _ in ranked_cases]
    )
    # "Eight stages on a network are the best", and "two web servers".
    verb = "are" if is_plural(_PREPOSITION.split(words.case(first_case))[0]) else "is"
    sentence_beginning = (
        f"{words.case(first_case)} {verb} the {superlative} of {len(ranked_cases)}{with_place}"
    )
    clauses = [
        f"{sentence_beginning}: {best_amount}",
        f"next is {words.case(second_case)}, {_value_text(second_answer, value_name)}",
        *better_case_clauses,
        reason,
    ]
    yield "; ".join(filter(None, clauses))


_PREPOSITION = late_pattern(r" (?:on|with|of|for|in|at|under|without) ")


def _better_cases_in_sweeps(
    results: Results, value_name: str, ranked_cases: Sequence[str]
) -> Iterator[str]:
    """Yield a clause for each case that a sweep shows to be better than the recommended one, with
    the settings at which it is.

    Parameters
    ----------
    results : of the study
    value_name : the value by which cases are compared
    ranked_cases : the cases that do the same work, the recommended one first
    """
    adjective = "faster" if value_name == "time" else "better"
    for sweep in results.sweeps:
        if len(sweep.axes) != 1 or value_name not in sweep.columns:
            continue
        rows_by_case: dict[str, list[int]] = {}
        for row in _rows_of_better_cases(sweep, value_name, ranked_cases):
            rows_by_case.setdefault(sweep.cases[row], []).append(row)
        for case, rows in rows_by_case.items():
            setting_texts = [_setting_at(sweep, sweep.axes[0], row, results.words) for row in rows]
            settings_text = (
                join_phrases(setting_texts)
                if len(setting_texts) <= _MOST_VARIED
                else f"{len(setting_texts)} of the settings from {setting_texts[0]} to"
                f" {setting_texts[-1]}"
            )
            yield f"{results.words.case(case)} is {adjective} with {settings_text}"


def _rows_of_better_cases(
    sweep: Sweep, value_name: str, ranked_cases: Sequence[str]
) -> Iterator[int]:
    """Yield the row of the best case at each setting of a sweep along one axis at which it is not
    the recommended case, which comes first, and the order is decided.
    """
    rows_by_setting: dict[float | str, list[int]] = {}
    for row, setting in enumerate(sweep.points[sweep.axes[0].path]):
        if sweep.cases[row] in ranked_cases and _has_value(sweep, value_name, row):
            rows_by_setting.setdefault(setting, []).append(row)
    values = sweep.columns[value_name]
    lows, highs = sweep.ends(value_name)
    for rows in rows_by_setting.values():
        row_of_recommended = next(
            (row for row in rows if sweep.cases[row] == ranked_cases[0]), None
        )
        choose_best = max if _is_more_better(value_name) else min
        best_row = choose_best(rows, key=lambda row: values[row])
        if row_of_recommended is None or isclose(values[best_row], values[row_of_recommended]):
            continue
        ends = ((float(lows[row]), float(highs[row])) for row in (best_row, row_of_recommended))
        if not do_overlap(*ends):
            yield best_row


_PROJECTION = "project"  # compares each case with itself
_ASK_NO_CHOICE = {_PROJECTION, "rank"}
"""Questions that compare no cases with each other."""
_CHOOSE = {"choose", "sample", "fits"}
"""Questions that say by themselves what is best."""

_WHICH = late_pattern(
    rf"which\b|{WHICH_OF_TWO}"
    r"|(?:for|from|up to|at|with|beyond) (?:which|what)\b.*\b(?:bett|fast)er\b",
    re.IGNORECASE,
)
"""How a title begins that asks for one of the cases, or where one of them is better."""

_BEST = late_pattern(
    r"\b(?:best|better|most|least|(?:fast|slow|short|high|low|cheap)(?:er|est))\b", re.IGNORECASE
)
"""A word with which a title asks for the best of its cases."""


def _asks_for_best_case(results: Results) -> bool:
    """Return whether a title asks which case is best, or compares cases that it names, and no
    question chooses for it.
    """
    keys = results.questions.keys()
    title = results.title.casefold()
    asks_for_best = keys.isdisjoint(_CHOOSE) and _BEST.search(title)
    names_cases = sum(results.words.case(case).casefold() in title for case in results.cases) > 1
    return bool(
        (_WHICH.match(title) or (names_cases and asks_for_best))
        and (keys <= _ASK_NO_CHOICE or asks_for_best)
        and not any(
            question.answers_amount_in(results.title) for question in results.questions.values()
        )
    )


_WHAT_IF = late_pattern(r"what (?:happens )?(?:if|when)\b", re.IGNORECASE)
"""How a title begins that asks what the first case becomes in the others."""

_HOW_MUCH = late_pattern(
    r"how (?:long|fast|much(?! (?:more|less|better|\w+er)\b)|well)\b", re.IGNORECASE
)
"""How a title begins that asks for the value of the first case. "How much faster" asks for a
comparison.
"""

_HOW_MANY = late_pattern(
    r"(?:(?:up to|after|at|by|for|from|in|on|to|until|with) )?"
    r"how (?:many|much|large|long|often|high|far)\b",
    re.IGNORECASE,
)
"""How a title begins that asks for a number."""

_HOW_IT_CHANGES = late_pattern(
    r"how (?:does|do|did|will) .*\b(?:scale|depend|change|vary|grow|fall|rise)\b",
    re.IGNORECASE,
)
"""A title that asks how a value changes along an axis."""


def _comparable_cases(
    results: Results, value_names: Sequence[str]
) -> tuple[str, list[tuple[str, Answer]]] | None:
    """Return the value by which cases are compared, and the cases that do the same work, best
    first; None where there is nothing to compare.
    """
    if len(results.cases) < 2:
        return None
    (base_case, base_answer), *further_cases = results.cases.items()
    value_name = _compared_name(results, value_names)
    # A value of 0 gives no ratio.
    if not base_answer.find(value_name) or base_answer.failed:
        return None
    comparable_cases = [
        (case, answer_of_case)
        for case, answer_of_case in further_cases
        if answer_of_case.find(value_name)
        and not answer_of_case.failed
        and _do_same_work(results, base_case, case, value_name)
    ]
    return value_name, _rank_cases([(base_case, base_answer), *comparable_cases], value_name)


def _rank_cases(cases: Sequence[tuple[str, Answer]], value_name: str) -> list[tuple[str, Answer]]:
    """Return cases with their answers in the order of a value, best first."""
    return sorted(
        cases,
        key=lambda case_and_answer: case_and_answer[1].find(value_name) or 0.0,
        reverse=_is_more_better(value_name),
    )


def _do_same_work(results: Results, base_case: str, compared_case: str, value_name: str) -> bool:
    """Return whether two cases do the same work, so that their values can be compared.

    Either they have the same useful work, speed-up times time, or they differ in the machine or
    the technology alone; without useful work, in other hardware or in the file of the model alone.
    What is done in a second is compared where the load is the same.
    """
    base_answer = results.cases[base_case]
    case_answer = results.cases[compared_case]
    # Files of models may state different loads.
    base_items, case_items = (
        results.settings.get(case_name, {}).items()
        | {
            (path, entry.given.value)
            for path, entry in results.cases[case_name].described.items()
            if path.startswith(_LOAD_PATHS)
        }
        for case_name in (base_case, compared_case)
    )
    differing_paths = {path for path, _ in base_items ^ case_items}
    if any(path.startswith(_LOAD_PATHS) for path in differing_paths):
        return False
    # Throughput compares systems under any number of customers; times do so only for the same work.
    if split_name(value_name)[0] == "throughput":
        return True
    work_measures = [
        (compared_answer.find("speedup") or 0.0) * (compared_answer.find("time") or 0.0)
        for compared_answer in (base_answer, case_answer)
    ]
    # Speed-up is counted against one processor of the same machine: on another machine its product
    # with the time differs though the work is the same.
    if all(path.startswith(("machine", "technology")) for path in differing_paths):
        return True
    if all(work_measures):
        # Speed-up times time is the time of one processor, hence a measure of the work.
        return isclose(*work_measures, rel_tol=_WORK_TOLERANCE)
    return all(path.startswith((*_HARDWARE_PATHS, "population")) for path in differing_paths)


def _compared_name(results: Results, value_names: Sequence[str]) -> str:
    """Return the first requested value in which the cases differ. A throughput of arrivals that are
    all served, for example, is the same in all cases.
    """
    answers = [answer for answer in results.cases.values() if not answer.failed]
    first_name = _first_answered_value(
        answers[0] if answers else next(iter(results.cases.values())), value_names
    )
    for name in (first_name, *value_names):
        values = [answer.find(name) for answer in answers]
        numbers = [value for value in values if value is not None]
        if len(numbers) > 1 and not all(
            isclose(number, numbers[0], rel_tol=_SAME_RATE) for number in numbers
        ):
            return name
    return first_name


def _first_answered_value(first_answer: Answer, value_names: Sequence[str]) -> str:
    return next(
        (
            name
            for name in (*value_names, *first_answer.values)
            if first_answer.find(name) is not None
        ),
        "",
    )


def _base_lines(
    results: Results, value_names: Sequence[str], is_value_stated: bool
) -> Iterator[str]:
    """Yield a sentence on the answer of the first case and on the parts of its time. There is no
    sentence if it would have only the value, and another sentence states the value.
    """
    if not results.cases:
        return
    words = results.words
    case, base_answer = next(iter(results.cases.items()))
    value_name = _first_answered_value(base_answer, value_names)
    is_single = len(results.cases) == 1
    given_values = _varied_values(results, [base_answer])
    place_text = ", ".join(
        filter(None, [_year_as_given(results, case), join_phrases(given_values)])
    )
    opening_text = "" if is_single else words.case(case)
    if place_text or (is_single and (results.questions or results.sweeps)):
        opening_as_given = words.as_given if is_single else words.case_as_given(case)
        opening_text = f"{opening_as_given} ({place_text})" if place_text else opening_as_given
    opening_text = f"{opening_text}: " if opening_text else ""
    if base_answer.failed or not value_name:
        # A question that examines the case says what it has.
        if not any(case in question.examined_cases() for question in results.questions.values()):
            yield f"{opening_text}no answer: {base_answer.refusal}"
        return
    amount = _amount_in_sentence(base_answer, value_name, words)
    line = f"{opening_text}{words.value_with_amount(value_name, amount)}"
    if largest_shares := base_answer.largest_shares:
        shares_in_words = [
            f"{percent(share)} {'of its time ' if index == 0 else ''}on"
            f" {words.component_phrase(label, base_answer.useful)}"
            for index, (label, share) in enumerate(largest_shares.items())
        ]
        remaining_share = 1 - sum(largest_shares.values())
        if remaining_share >= _LEAST_REMAINING_SHARE:
            shares_in_words.append(f"{percent(remaining_share)} on the rest")
        group = f" of the group {as_words(base_answer.groups[0])}" if base_answer.groups else ""
        line += f"; {with_article(words.member)}{group} spends {join_phrases(shares_in_words)}"
    if base_answer.limits:
        line += f"; {base_answer.limits[0].pipeline} is limited by {base_answer.limits[0].stage}"
    if ";" in line or given_values or not is_value_stated:
        yield line


_MOST_VARIED = 3
_LEAST_REMAINING_SHARE = 0.05


def _varied_values(results: Results, answers: Sequence[Answer]) -> list[str]:
    """Return in words the values at which answers of cases hold, for the quantities that questions
    search or sweeps vary and that are the same in all of the cases; none if there are many
    quantities.
    """
    searched_paths = [
        path for question in results.questions.values() for path in question.searched_paths()
    ]
    varied_paths = [
        axis.path for sweep in results.sweeps for axis in sweep.axes if not axis.has_names
    ]
    # Searches come first; axes are told as well where there is room for them.
    paths = dict.fromkeys([*searched_paths, *varied_paths])
    paths = paths if len(paths) <= _MOST_VARIED else dict.fromkeys(searched_paths)
    return [
        setting_phrase(path, entry.given.value, str(entry.given.dimension), results.words)
        for path in paths
        if len(paths) <= _MOST_VARIED
        if (entry := answers[0].described.get(path))
        if all(
            (other_value := answer.described.get(path))
            and other_value.given.value == entry.given.value
            for answer in answers
        )
    ]


def _year_as_given(results: Results, case: str) -> str:
    """Return the year of the values of a case as given, where a question goes along the years."""
    years = (question.year_as_given(case) for question in results.questions.values())
    return next(filter(None, years), "")


def _comparison_lines(results: Results, value_names: Sequence[str]) -> Iterator[str]:
    """Yield sentences that compare the cases of the same work with the first case, best first."""
    value_name, ranked_cases = _comparable_cases(results, value_names) or ("", [])
    if len(ranked_cases) < 2:
        return
    words = results.words
    base_case, base_answer = next(iter(results.cases.items()))
    cases_by_ratio: dict[tuple[str, str], list[str]] = {}
    for case, case_answer in ranked_cases:
        if case != base_case:
            ratio_and_doubt = _ratio_and_doubt(base_answer, case_answer, value_name)
            cases_by_ratio.setdefault(ratio_and_doubt, []).append(words.case(case))
    ratio_clauses = [
        f"{ratio_text} for {join_phrases(cases)}{doubt}"
        for (ratio_text, doubt), cases in cases_by_ratio.items()
    ]
    # Cases that questions compare and that are alike as given need no sentence.
    if results.questions and all(
        ratio_text.startswith(("about", "exactly")) for ratio_text, _ in cases_by_ratio
    ):
        return
    # A list of several cases has an "and" of its own.
    has_lists = len(ratio_clauses) < sum(map(len, cases_by_ratio.values()))
    comparison_text = "; ".join(ratio_clauses) if has_lists else join_phrases(ratio_clauses)
    subject_text = "" if value_name == "time" else f"{words.value(value_name)} "
    setting_text = join_phrases(_varied_values(results, [answer for _, answer in ranked_cases]))
    with_place = f", with {setting_text}" if setting_text else ""
    by_fit = ", by the fitted values alone" * (words.as_given != "as given")
    years = {_year_as_given(results, case) for case, _ in ranked_cases}
    in_year = f", in {max(years)}" * (len(years) == 1 and any(years))
    comparison_text = f"{words.case(base_case)}{in_year}{with_place}{by_fit}: {comparison_text}"
    yield f"{subject_text}compared with {comparison_text}"


def _unlike_case_lines(results: Results, value_names: Sequence[str]) -> Iterator[str]:
    """Yield a sentence with the values of the first case and of the cases whose work differs or is
    unknown. The values are listed side by side, and none is called better.
    """
    name_and_cases = _comparable_cases(results, value_names)
    if name_and_cases is None:
        return
    value_name, ranked_cases = name_and_cases
    comparable_names = {case for case, _ in ranked_cases}
    (base_case, base_answer), *_ = results.cases.items()
    unlike_cases = [
        (case, case_answer)
        for case, case_answer in results.cases.items()
        if case not in comparable_names
        and not case_answer.failed
        and case_answer.find(value_name) is not None
    ]
    if not unlike_cases:
        return
    words = results.words
    compared_cases = [(base_case, base_answer), *unlike_cases]
    if _asks_for_best_case(results):
        extreme_lines = [*_extreme_line(results, compared_cases, value_name)]
        yield from extreme_lines
        if extreme_lines and len(compared_cases) <= _FEW_IN_BRACKETS:
            return
    value_texts = [
        f"{_amount_in_sentence(case_answer, value_name, words)} for {words.case(case)}"
        for case, case_answer in compared_cases
    ]
    yield words.value_with_amount(value_name, join_phrases(value_texts))


_FEW_IN_BRACKETS = 3
"""The largest number of cases whose values stand in one sentence with the best one."""


def _extreme_line(
    results: Results, cases: Sequence[tuple[str, Answer]], value_name: str
) -> Iterator[str]:
    """Yield a sentence on the case with the best value, which a title with "which" asks for, with
    its setting and the values of a few other cases, if its order before the next case is decided.
    """
    words = results.words
    ranked_cases = _rank_cases(cases, value_name)
    (first_case, first_answer), (_, second_answer), *_ = ranked_cases
    if _order_doubt(first_answer, second_answer, value_name):
        return
    # An order of cases may turn where a sweep or a search goes on: the sentence has its place.
    place = join_phrases(_varied_values(results, [answer for _, answer in ranked_cases]))
    with_place = f" with {place}" if place else ""
    further_amounts = [
        f"{words.case(case)} {_amount_in_sentence(answer, value_name, words)}"
        for case, answer in ranked_cases[1:]
    ]
    in_brackets = (
        f" ({join_phrases(further_amounts)})" if len(ranked_cases) <= _FEW_IN_BRACKETS else ""
    )
    yield (
        f"of {len(cases)}, {words.case(first_case)} has the"
        f" {_degree_and_value(value_name, words)}{with_place}:"
        f" {_amount_in_sentence(first_answer, value_name, words)}{in_brackets}"
    )


def _degree_and_value(value_name: str, words: Words) -> str:
    """Return a value in words after the word for its best amount, such as "shortest time of
    jobs".
    """
    title = words.value(value_name)
    if _is_more_better(value_name):
        return f"highest {title}"
    return f"{'shortest' if 'time' in title else 'lowest'} {title}"


_MORE_IS_BETTER = ("throughput", "speedup", "efficiency", "goodput")


def _is_more_better(value_name: str) -> bool:
    """Return whether more of a value is better: of a rate or a speed-up, not of a time."""
    return split_name(value_name)[0] in _MORE_IS_BETTER


def _what_if_lines(results: Results, value_names: Sequence[str]) -> Iterator[str]:
    """Yield, for each case but the first, a sentence that compares its value with the value of the
    first case, also where the two do different work.
    """
    (_, base_answer), *further_cases = results.cases.items()
    answers_with_values = [answer for answer in results.cases.values() if not answer.failed]
    if not answers_with_values:
        return
    value_name = _first_answered_value(answers_with_values[0], value_names)
    base_value = base_answer.find(value_name)
    words = results.words
    for case, case_answer in further_cases:
        case_value = case_answer.find(value_name)
        if case_value is None or case_answer.failed:
            reason = cause_of(case_answer.failed or "")
            yield f"{words.case(case)}: no answer{', because ' if reason else ''}{reason}"
            continue
        amount, base_amount = (
            _amount_in_sentence(answer, value_name, words) for answer in (case_answer, base_answer)
        )
        line = f"{words.case(case)}: {words.value_with_amount(value_name, amount)}"
        if base_value is None:
            # Another sentence tells why the first case has no answer.
            yield line
            continue
        line += f" instead of {base_amount}"
        doubt = _order_doubt(base_answer, case_answer, value_name)
        if base_value and not doubt:
            change = case_value / base_value - 1
            line += f", {percent(abs(change))} {'more' if change > 0 else 'less'}"
        yield f"{line}{doubt}"


def _order_doubt(first_answer: Answer, second_answer: Answer, value_name: str) -> str:
    """Return a remark that two answers are equal, or that their order is undecided; empty if it is
    decided. If both answers have draws of the same uncertain settings, the draws decide.
    """
    if isclose(first_answer.find(value_name) or 0.0, second_answer.find(value_name) or 0.0):
        return " (equal)"
    if value_name in first_answer.draws and first_answer.draws.keys() == second_answer.draws.keys():
        # Answers at the same draws are compared draw by draw: common uncertainty, which makes
        # intervals overlap, does not change their order.
        share_of_draws_below = float(
            (first_answer.draws[value_name] < second_answer.draws[value_name]).mean()
        )
        return (
            " (undecided within the ranges)"
            if MOST_DRAWS_AGAINST_ORDER < share_of_draws_below < 1 - MOST_DRAWS_AGAINST_ORDER
            else ""
        )
    return (
        " (undecided)"
        if do_overlap(first_answer.ends(value_name), second_answer.ends(value_name))
        else ""
    )


MOST_DRAWS_AGAINST_ORDER = 0.05
"""The largest fraction of the draws in which the order of two answers may be reversed, if the order
is to count as decided [1].
"""


def _ratio_and_doubt(base_answer: Answer, case_answer: Answer, value_name: str) -> tuple[str, str]:
    """Return the ratio of a case to the first case in words, how many times as fast or as much,
    and a remark where the order of both is undecided.
    """
    ratio = (case_answer.find(value_name) or 0.0) / (base_answer.find(value_name) or 1.0)
    # To three digits there is no difference.
    if "1" in (plain_decimal(ratio, 3), plain_decimal(1 / ratio, 3)):
        precision_word = "exactly" if ratio == 1 else "about"
        return f"{precision_word} {'as fast' if value_name == 'time' else 'the same'}", ""
    doubt = _order_doubt(base_answer, case_answer, value_name)
    if value_name == "time":
        is_faster = ratio < 1
        ratio_in_words = plain_decimal(1 / ratio if is_faster else ratio, 3)
        return f"{ratio_in_words} times as {'fast' if is_faster else 'long'}", doubt
    return f"{plain_decimal(ratio, 3)} times as {'long' if 'time' in value_name else 'much'}", doubt


def _sweep_lines(sweep: Sweep, value_names: Sequence[str], results: Results) -> Iterator[str]:
    """Yield a sentence on the first value of a sweep: its amounts at both ends of the axis, and
    where it is best. Only a sweep of one case along one numeric axis has this sentence.
    """
    words = results.words
    value_name = next((name_asked for name_asked in value_names if name_asked in sweep.columns), "")
    if (
        not value_name
        or len(sweep.axes) != 1
        or sweep.axes[0].has_names
        or len(set(sweep.cases)) > 1
    ):
        return
    axis = sweep.axes[0]
    column = sweep.columns[value_name]
    finite_rows = [row for row in range(len(sweep)) if isfinite(column[row])]
    if len(finite_rows) < 2:
        return
    # Of a rate more is better, of a time less.
    best_of = max if _is_more_better(value_name) else min
    best_row = best_of(finite_rows, key=lambda row: float(column[row]))
    first_text, last_text, best_text = (
        f"{_amount_at(sweep, value_name, row)} with {_setting_at(sweep, axis, row, words)}"
        for row in (finite_rows[0], finite_rows[-1], best_row)
    )
    case_text = f"{words.case(sweep.cases[0])}: " * (len(results.cases) > 1)
    line = f"{case_text}{words.value(value_name)} goes from {first_text} to {last_text}"
    end_values = [float(column[row]) for row in (finite_rows[0], finite_rows[-1])]
    if not any(isclose(column[best_row], value, rel_tol=_SAME_RATE) for value in end_values):
        line += f"; best of the points examined is {best_text}"
    yield line


def _sweep_or_end_lines(
    sweep: Sweep, value_names: Sequence[str], results: Results
) -> Iterator[str]:
    """Yield the sentence on a sweep of one case, or for several cases the values at the end of the
    axis, where the cases differ most.
    """
    if not 1 < len(set(sweep.cases)) <= _FEW_CASES:
        yield from _sweep_lines(sweep, value_names, results)
        return
    if len(sweep.axes) != 1 or sweep.axes[0].has_names:
        return
    words = results.words
    axis = sweep.axes[0]
    end_value = max(float(value) for value in sweep.points[axis.path])
    phrases_by_value: dict[str, list[str]] = {}
    for row, case in enumerate(sweep.cases):
        name = next((name for name in value_names if _has_value(sweep, name, row)), "")
        if name and float(sweep.points[axis.path][row]) == end_value:
            phrase = f"{_amount_at(sweep, name, row)} for {words.case(case)}"
            phrases_by_value.setdefault(name, []).append(phrase)
    if phrases_by_value:
        clauses_text = ", and ".join(
            words.value_clause(name, join_phrases(phrases))
            for name, phrases in phrases_by_value.items()
        )
        yield f"with {setting_phrase(axis.path, end_value, axis.unit, words)} {clauses_text}"


def _setting_at(sweep: Sweep, axis: Axis, row: int, words: Words) -> str:
    """Return the setting of an axis at a row of a sweep in words."""
    value = sweep.points[axis.path][row]
    if isinstance(value, str):
        return f"{words.quantity(axis.path)} {words.axis_value_title(value)}"
    return setting_phrase(axis.path, float(value), axis.unit, words)


def _amount_at(sweep: Sweep, name: str, row: int) -> str:
    """Return a value at a row of a sweep, with its interval."""
    low, high = sweep.ends(name)
    ends = float(low[row]), float(high[row])
    return value_amount(name, float(sweep.columns[name][row]), sweep.units[name], ends)


def _has_value(sweep: Sweep, name: str, row: int) -> bool:
    """Return whether a sweep has a value of a name at a row."""
    return name in sweep.columns and isfinite(sweep.columns[name][row])


def _methods_and_exactness(
    answers: Iterable[Answer], sweeps: Iterable[Sweep]
) -> Iterator[tuple[str, bool]]:
    """Yield the method of each case and sweep point that has an answer, and whether it is exact."""
    yield from ((answer.method, answer.exact) for answer in answers if not answer.failed)
    for sweep in sweeps:
        for index, method in enumerate(sweep.provenance.methods):
            if index not in sweep.failed:
                yield method, bool(sweep.provenance.exact[index])


def computed_by(results: Results) -> set[tuple[str, bool]]:
    """Return the methods of all solved cases and points, each with whether it is exact."""
    return {*_methods_and_exactness(results.cases.values(), results.sweeps)}


def _basis_sentence(results: Results, value_names: Sequence[str]) -> str:
    """Return the sentence on how the answers were computed and checked, on missing answers, and on
    other doubts.
    """
    answers = list(results.cases.values())
    methods_and_exactness = [*_methods_and_exactness(answers, results.sweeps)]
    clause_list = [
        *_method_clauses(methods_and_exactness, answers, results.words, value_names),
        *_verdict_clauses(answers, results.sweeps),
        *_not_converged_clauses(results),
    ]
    questions_with_estimates = [
        question for question in results.questions.values() if question.estimates
    ]
    names_with_interval = [
        name
        for name in value_names
        if any(case.exact and has_width(case.ends(name)) for case in answers)
    ]
    if methods_and_exactness and all(is_exact for _, is_exact in methods_and_exactness):
        # In the order of their first use, without repetition.
        method_names = dict.fromkeys(method_phrase(method) for method, _ in methods_and_exactness)
        formula_names = [name for name in method_names if name != "simulation"]
        exactness_clauses = []
        # The method makes no error; what the model leaves out, or a fit does not know, is another.
        if formula_names:
            by_method = f"by {join_phrases(formula_names)}"
            if names_with_interval and not questions_with_estimates:
                values_text = join_phrases([*map(results.words.value, names_with_interval)], "and")
                by_method += f", except {values_text} (approximate, with an interval)"
            exactness_clauses.append(f"the formulas of the model are solved exactly, {by_method}")
        if len(formula_names) < len(method_names):
            exactness_clauses.append(
                "each simulated answer is computed by one run; no time is random, so there is no"
                " sampling error"
            )
        doubts = ["its fitted parameters are estimates"] if questions_with_estimates else []
        doubts += _assumption_clauses(answers, results.words)
        clause_list[:0] = [*exactness_clauses, *doubts]
    clause_list += _loss_clauses(answers, results.sweeps)
    examined_cases = {
        case for question in results.questions.values() for case in question.examined_cases()
    }
    # Such a case is only where the question begins.
    shown_answers = {
        case: answer for case, answer in results.cases.items() if case not in examined_cases
    }
    clause_list += _missing_answer_clauses(shown_answers, results)
    clause_list += _distinct_doubts(
        question.doubt(results.words) for question in results.questions.values()
    )
    notes = list(
        chain.from_iterable(
            [answer.notes for answer in answers] + [sweep.notes for sweep in results.sweeps]
        )
    )
    clause_list += dict.fromkeys(note for note in notes if isinstance(note, DoubtfulRate))
    clause_list += _machine_clauses(results, notes)
    clause_list += _stated_error_clauses(results, notes)
    clause_list += [note for note in results.notes if isinstance(note, AbsentValue)]
    is_long = sum(map(len, clause_list)) > _LONGEST_SENTENCE
    clauses_text = ". ".join(map(capitalized, clause_list)) if is_long else "; ".join(clause_list)
    if not (clauses_text or answers):
        clauses_text = "measured values are as reliable as their source"
        if questions_with_estimates:
            clauses_text += "; what is fitted to them is an estimate"
    # A note may name the key to write; a head has none.
    return re.sub(r" \([a-z_]+(?:\.[a-z_]+)+\)", "", clauses_text)


def _machine_clauses(results: Results, notes: Iterable[str]) -> Iterator[str]:
    """Yield a clause on the largest number of processors beyond those of the machine, and on the
    kind of operations of each machine's rate if the compared machines state different kinds; each
    with its cases, unless they are all.
    """
    excesses = [note for note in notes if isinstance(note, MoreProcessors)]
    rates = [note for note in notes if isinstance(note, OperationKind)]
    kinds = [
        [note.kind for note in answer.notes if isinstance(note, OperationKind)]
        for answer in results.cases.values()
    ]
    are_compared = any(kind != kinds[0] for kind in kinds) or any(
        axis.path == "machine" for sweep in results.sweeps for axis in sweep.axes
    )
    for note in dict.fromkeys(
        [
            *sorted(excesses, key=lambda excess: excess.used)[-1:],
            *(rates if are_compared else ()),
        ]
    ):
        cases = [case for case, answer in results.cases.items() if note in answer.notes]
        is_everywhere = len(cases) in (0, len(results.cases))
        subject = "the model " if note in excesses else ""
        names_phrase = join_phrases([*map(results.words.case, cases)])
        yield f"{subject}{note}" if is_everywhere else f"{names_phrase}: {note}"


def _stated_error_clauses(results: Results, notes: Iterable[str]) -> Iterator[str]:
    """Yield a clause on each error that a model's file states, with the cases of that model unless
    all are.
    """
    for note in dict.fromkeys(note for note in notes if isinstance(note, StatedError)):
        cases = [case for case, answer in results.cases.items() if note in answer.notes]
        models = {results.cases[case].model for case in cases}
        if cases and any(answer.model not in models for answer in results.cases.values()):
            names_phrase = join_phrases([*map(results.words.case, cases)])
            yield f"measured error of the model of {names_phrase}: {note.errors}"
        else:
            yield note


def _assumption_clauses(answers: Iterable[Answer], words: Words) -> Iterator[str]:
    """Yield a clause on the inputs that files call assumed and that change a value, by their
    elasticity; of a method without derivatives, on all assumed inputs.
    """
    effect_by_path = Counter[str]()
    for answer in answers:
        for path, entry in answer.described.items():
            if entry.given.assumed:
                effects = [
                    abs(slopes.get(path, 0.0) * entry.given.value / (answer.find(name) or 1.0))
                    for name, slopes in answer.gradient.items()
                ]
                effect_by_path[path] = max(effect_by_path[path], *effects, 0.0 if effects else 1.0)
    paths = [path for path, effect in effect_by_path.most_common() if effect]
    if paths:
        names_phrase = join_phrases([*map(words.quantity, paths[:_FEW_INPUTS])])
        subject_text = (
            f"{len(paths)} of its inputs are" if len(paths) > 1 else "one of its inputs is"
        )
        such_as = ", such as" if len(paths) > _FEW_INPUTS else ":"
        yield f"{subject_text} assumed{such_as} {names_phrase}"


def _distinct_doubts(doubts: Iterable[str]) -> Iterator[str]:
    """Yield each doubt, except for those on rates that an earlier doubt is about.

    >>> doubts = [DoubtfulRates(text, titles=frozenset({"wire"})) for text in ("of wire", "again")]
    >>> list(_distinct_doubts([*doubts, ""]))
    ['of wire']
    """
    known_titles: frozenset[str] = frozenset()
    for doubt in filter(None, doubts):
        titles = doubt.titles if isinstance(doubt, DoubtfulRates) else {doubt}
        if not titles <= known_titles:
            yield doubt
        known_titles |= titles


def method_phrase(method: str) -> str:
    """Return the name of a method as a sentence has it."""
    return _METHODS.get(method, method.replace("-", " "))


_METHODS = {
    "closed-form": "closed form",
    "mean-value": "mean value analysis",
    "exact": "mean value analysis",
    "markov-chain": "Markov chain",
    "schweitzer": "Schweitzer's approximation",
    "linearizer": "the linearizer",
}


def _method_clauses(
    methods_and_exactness: Sequence[tuple[str, bool]],
    answers: Sequence[Answer],
    words: Words,
    value_names: Sequence[str],
) -> Iterator[str]:
    """Yield clauses on how many answers are approximate, by which methods, and with which note most
    often.
    """
    count_by_method = Counter(method for method, is_exact in methods_and_exactness if not is_exact)
    if not count_by_method:
        return
    approximate_count = sum(count_by_method.values())
    answer_count = len(methods_and_exactness)
    subject_text = f"{approximate_count} of {answer_count} answers"
    if approximate_count == answer_count:
        subject_text = {1: "the answer", 2: "both answers"}.get(answer_count, "all answers")
    is_single = approximate_count == 1
    subject_text += " is" if is_single else " are"
    if set(count_by_method) == {"simulation"}:
        has_value_without_interval = any(
            answer.find(name) and not has_width(answer.ends(name))
            for answer in answers
            if not answer.exact
            for name in value_names
        )
        intervals_text = "has an interval" if is_single else "have intervals"
        doubt_text = "; some values have none" if has_value_without_interval else ""
        yield f"{subject_text} simulated and {intervals_text}{doubt_text}"
    else:
        methods_phrase = join_phrases(
            [
                f"{count} by {method_phrase(method)}"
                if len(count_by_method) > 1
                else method_phrase(method)
                for method, count in count_by_method.items()
            ]
        )
        yield f"{subject_text} approximate ({methods_phrase})"
    estimated_answers = [answer for answer in answers if not answer.exact]
    note_counts = Counter(
        note
        for answer in estimated_answers
        for note in answer.notes
        if not isinstance(
            note,
            Definition
            | RunLength
            | MissingValue
            | NotConverged
            | OperationKind
            | Prominent
            | StatedError,
        )
    )
    for note, count in note_counts.most_common(1):
        scope_text = (
            f" on {count} of {len(answers)} cases" if count < len(estimated_answers) else ""
        )
        yield (
            f"waiting for {join_phrases(list(map(words.resource, note.resource_names)))} is ignored"
            if isinstance(note, WaitingLeftOut)
            else f"note{scope_text}: {note}"
        )


def _not_converged_clauses(results: Results) -> Iterator[str]:
    """Yield a clause on the cases whose simulation has not converged, with the precision of the
    first of them. A case that a question examines has other values in its answer.
    """
    examined_cases = {
        case for question in results.questions.values() for case in question.examined_cases()
    }
    words = results.words
    cases_and_notes = [
        (words.case_as_given(case) if case in examined_cases else words.case(case), note)
        for case, answer in results.cases.items()
        for note in answer.notes
        if isinstance(note, NotConverged)
    ]
    if not cases_and_notes:
        return
    (case, note), *_ = cases_and_notes
    count_text = with_noun(len(cases_and_notes), "simulation has", "simulations have")
    first_text = "the first " if len(cases_and_notes) > 1 else ""
    place_text = f", {first_text}for {case}" if len(results.cases) > 1 else ""
    yield f"{count_text} not converged{place_text}: {note.reason}"


def _verdict_clauses(answers: Sequence[Answer], sweeps: Sequence[Sweep]) -> list[str]:
    """Return a clause on how many answers a simulation checked, with its verdicts."""
    checks = [answer.check for answer in answers if answer.check]
    checks += [check for sweep in sweeps for check in sweep.provenance.checks.values()]
    count_by_verdict = Counter(check.word for check in checks)
    verdict_text = ", ".join(
        f"{count_by_verdict[verdict_word]} {verdict_word}"
        for verdict_word in VERDICTS
        if count_by_verdict[verdict_word]
    )
    return [f"checked by a short simulation: {verdict_text}"] if verdict_text else []


def _loss_clauses(answers: Sequence[Answer], sweeps: Sequence[Sweep]) -> list[str]:
    """Return a clause on the losses of each imported model, equal ones once."""
    losses_of_answers: list[Mapping[str, str]] = [answer.left_out for answer in answers]
    losses_of_answers += [
        losses for sweep in sweeps for losses in sweep.provenance.left_out.values()
    ]
    # A dictionary keeps the order, a set would not.
    distinct_sentences = {losses_sentence(losses): None for losses in losses_of_answers if losses}
    return list(distinct_sentences)


def _missing_answer_clauses(answers: Mapping[str, Answer], results: Results) -> Iterator[str]:
    """Yield clauses on the cases and points that have no answer, with the reason of the first ones,
    and on how many answers lie outside their bounds.
    """
    sweeps = results.sweeps
    failed_cases = [case for case, answer in answers.items() if answer.failed]
    failed_count = sum(len(sweep.failed) for sweep in sweeps)
    bound_texts = [answer.bound for answer in results.cases.values() if not answer.failed]
    bound_texts += [
        bound_text for sweep in sweeps for bound_text in sweep.provenance.outside.values()
    ]
    outside_count = sum(
        bool(bound_text) and not isinstance(bound_text, SlightlyBeyond)
        for bound_text in bound_texts
    )
    # A title that asks "what if" has a sentence on each case, and one case alone has its own.
    if failed_cases and len(results.cases) > 1 and not _WHAT_IF.match(results.title):
        names_phrase = join_phrases([*map(results.words.case, failed_cases[:_FEW_CASES])])
        reason = cause_of(answers[failed_cases[0]].failed or "")
        first_text = "for the first " if len(failed_cases) > 1 else ""
        yield f"no answer {results.words.as_given} for {names_phrase}, {first_text}because {reason}"
    if failed_count:
        sweep = next(sweep for sweep in sweeps if sweep.failed)
        row, reason = next(iter(sweep.failed.items()))
        place_text = join_phrases(
            [_setting_at(sweep, axis, row, results.words) for axis in sweep.axes]
        )
        case_text = f" for {results.words.case(sweep.cases[row])}" * (len(results.cases) > 1)
        first_text = "the first " if failed_count > 1 else ""
        yield (
            f"{with_noun(failed_count, 'point has', 'points have')} no answer, {first_text}with"
            f" {place_text}{case_text}: {cause_of(reason)}"
        )
    if outside_count:
        yield f"{with_noun(outside_count, 'answer lies', 'answers lie')} outside of the bounds"
