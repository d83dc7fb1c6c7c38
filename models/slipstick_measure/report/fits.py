"""Models fitted to measured times: what to believe first, then what to expect; for pages and for
the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from slipstick.answer import Answer, Value
from slipstick.late import Array, np
from slipstick.report.formatting import (
    TextBlock,
    TextTable,
    capitalized,
    join_phrases,
    percent,
    plain_decimal,
    terminal_blocks,
    uncapitalized,
    value_amount,
    with_article,
)
from slipstick.results.question import Decision
from slipstick.results.words import Words, is_plural
from slipstick_measure.report.count_comparison import comparison_in_title, numbers_in
from slipstick_measure.report.fit_titles import FitTitle
from slipstick_measure.report.measured import INDENT, LOST, amount_text, with_noun_for_processors
from slipstick_measure.results import CAUSES, Fitting, RefusedPrediction
from slipstick_pictures.look import (
    STROKES,
    axis_title,
    make_logarithmic,
    new_figure,
    with_title_and_legend,
)
from slipstick_questions.limits import NEAR_LIMIT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SIZE_NAME_PREFIX = "size_needed["
TIME_NAME_PREFIX = "time["
EFFICIENCY_NAME_PREFIX = "efficiency["

_NAMES_OF_DERIVED_VALUES = (
    "behind",
    "scatter",
    "missed",
    "fastest_processors",
    "fastest_time",
    "largest_speedup",
    "largest_speedup_processors",
    "level_processors",
    "efficient_processors",
    "needed_processors",
    "most_processors",
    "base_processors",
)


def fits_text(fitting: Fitting) -> str:
    """Return the results of fits as text for the terminal."""
    return terminal_blocks(fit_blocks(fitting), INDENT)


def fit_blocks(time_fits: Fitting) -> Iterator[TextBlock]:
    """Yield the blocks on fits: the main findings, a table of all families, and the families that
    the data support.

    Parameters
    ----------
    time_fits : the fits
    """
    words = Words(member=time_fits.member)
    fitted_answers = [answer for answer in time_fits.answers if not answer.failed]
    yield f"Fitted to {time_fits.source}." if time_fits.source else ""
    yield main_findings(time_fits)
    yield [f"warning: {with_noun_for_processors(warning, words)}" for warning in time_fits.warnings]
    yield _families_table(time_fits, fitted_answers)
    yield [
        f"{answer.model}: no fit: {answer.failed}" for answer in time_fits.answers if answer.failed
    ]
    for answer in fitted_answers:
        if answer is fitted_answers[0] or has_interval(answer) or answer.model == time_fits.laid:
            rows = [
                [name, amount_text(value), ends_in_words(value) if value.low is not None else ""]
                for name, value in fitted_values(answer).items()
            ]
            rows += [
                [name.replace("time", "throughput") if time_fits.rate else name, *prediction_text]
                for name, value in answer.values.items()
                if name.startswith(TIME_NAME_PREFIX)
                for prediction_text in [_prediction_and_ends(time_fits, name, value, "to")]
            ]
            yield f"{answer.model}: {answer.notes[0]}"
            yield TextTable([answer.model, "value", "between"], rows, [1, 2]) if rows else ""
            limits_text = _limits_sentence(answer, time_fits, is_alone=True)
            # What the laws agree on stands among the main findings.
            is_told = answer is time_fits.answers[0] and limits_text == _limits_sentence(
                answer, time_fits
            )
            # Of rows that no law describes, no law gives limits.
            is_told = is_told or not time_fits.has_law
            yield "" if is_told else with_noun_for_processors(limits_text, words)
            yield [f"note: {note}" for note in answer.notes[1:]]


def main_findings(time_fits: Fitting) -> list[str]:
    """Return the main findings: first those on the rows, then how far the preferred model scales,
    what limits it and what is lost; or that no law describes the rows.

    Parameters
    ----------
    time_fits : as for `fits_text`
    """
    best_answer = time_fits.answers[0]
    words = Words(member=time_fits.member)
    verdict = f"{time_fits.verdict[:1].upper()}{time_fits.verdict[1:]}."
    limits_text = _limits_sentence(best_answer, time_fits)
    row_sentences = [
        with_noun_for_processors(sentence, words)
        for sentence in filter(None, [_measured_goal_sentence(time_fits), *time_fits.findings])
    ]
    bound_sentences = [
        with_noun_for_processors(sentence, words) for sentence in _bound_sentences(time_fits)
    ]
    if not time_fits.has_law:
        return [*row_sentences, *bound_sentences, with_noun_for_processors(verdict, words)]
    sentences = [
        *row_sentences,
        *([f"By {_name_with_title(best_answer)}: {limits_text}"] if limits_text else []),
    ]
    if loss_sentence := _loss_sentence(time_fits, words):
        sentences.append(loss_sentence)
    for name, value in best_answer.values.items():
        if name.startswith(TIME_NAME_PREFIX) and float(name[5:-1]) not in time_fits.bounded:
            prediction, ends = _prediction_and_ends(time_fits, name, value, "and")
            sentences.append(f"On p = {name[5:-1]}: {prediction}{ends and f', between {ends}'}.")
        if name.startswith(_SIZE_NAME_PREFIX):
            sentences.append(_size_text(value, _goal_text(time_fits, name)))
    return [
        *(with_noun_for_processors(sentence, words) for sentence in sentences),
        *bound_sentences,
        with_noun_for_processors(verdict, words),
    ]


def _name_after_by(answer: Answer) -> str:
    """Return the name of a fitted law or model as a table has it, after the word by."""
    return f"by {answer.model}"


def _loss_sentence(
    time_fits: Fitting, words: Words, phrase_of: Callable[[Answer], str] = _name_after_by
) -> str:
    """Return what most processors are lost to: the measured cause, or that of each law or model
    which the data cannot distinguish; empty without losses. Laws are named by a phrase.
    """
    best_answer = time_fits.answers[0]
    losses = _losses(best_answer)
    if not losses:
        return ""
    cause, loss = losses[0]
    count_text = words.member_count(float(best_answer.point["p"]))
    if best_answer.model == CAUSES:
        return f"Most is lost to {cause}: {plain_decimal(loss.value or 0.0, 3)} of {count_text}."
    is_law = bool(_law_title(best_answer))
    rivaling_losses = [
        (further_cause, further_loss)
        for further_cause, further_loss in losses
        if further_cause == cause or (further_loss.high or 0.0) > (loss.low or np.inf)
    ]
    causes_text = join_phrases([words.component_phrase(name) for name, _ in rivaling_losses], "or")
    loss_text = f"{causes_text}: " + join_phrases(
        [_number_with_ends(rival_loss) for _, rival_loss in rivaling_losses], "or"
    )
    loss_text = f"{loss_text} of {count_text}"
    if loss.low is not None:
        loss_text += f", if the {'law' if is_law else 'model'} is right"
    causes_by_other_laws = {
        phrase_of(answer): other_losses[0][0]
        for answer in time_fits.undistinguished
        if (other_losses := _losses(answer))
    }
    # The first of two stations has a number in its name, an only one has none.
    differing_phrases = [
        f"{law_phrase} to {words.component_phrase(other_cause)}"
        for law_phrase, other_cause in causes_by_other_laws.items()
        if other_cause.rstrip("1") != cause.rstrip("1")
    ]
    sentence = f"{capitalized(phrase_of(best_answer))}, most is lost to {loss_text}"
    if differing_phrases:
        return f"{sentence}; {join_phrases(differing_phrases)}. Total times do not show which."
    # The causes of the user's own model are not read from the times.
    return f"{sentence}.{' Total times do not show causes.' if is_law else ''}"


def _losses(answer: Answer) -> list[tuple[str, Value]]:
    """Return the processors lost by cause, the largest loss first; empty if the answer names no
    cause.
    """
    return [
        (name[len(LOST) : -1], value)
        for name, value in answer.values.items()
        if name.startswith(LOST)
    ]


def _goal_text(time_fits: Fitting, name: str) -> str:
    """Return, in words, the goal for which a size is needed: the efficiency, over which number of
    processors unless over one, and the number of processors.
    """
    base_processors = time_fits.answers[0].values.get("base_processors")
    base_in_words = (
        f" over {base_processors.value:g}" if base_processors and base_processors.value else ""
    )
    processors_text = name.removeprefix(_SIZE_NAME_PREFIX)[:-1]
    return f"efficiency of {percent(time_fits.efficiency)}{base_in_words} at p = {processors_text}"


def _bound_sentences(time_fits: Fitting) -> list[str]:
    """Return sentences on the predicted intervals that need no law, on their assumptions, and on
    the numbers of processors to measure next; none without such intervals.
    """
    best_answer = time_fits.answers[0]
    interval_sentences = [
        f"On p = {p:g}: between {ends}{_prediction_by_law(time_fits, best_answer, p)}."
        for p, (low, high) in time_fits.bounded.items()
        for _, ends in [
            _prediction_and_ends(
                time_fits, f"{TIME_NAME_PREFIX}{p:g}]", Value(low, "s", low, high), "and"
            )
        ]
    ]
    if not interval_sentences:
        return []
    second_largest, largest_count = sorted({*time_fits.p})[-2:]
    reason = (
        f"This interval uses no law. It assumes that from p = {largest_count:g} on, throughput"
        f" grows at most as it did from p = {second_largest:g}, and falls at most by a cost for"
        f" each pair. Measure on {time_fits.next_runs} next."
    )
    return [*interval_sentences, reason]


def _prediction_by_law(time_fits: Fitting, best_answer: Answer, p: float) -> str:
    """Return the prediction of the best law in words, to be written after an interval that needs no
    law; empty if no law describes the rows.
    """
    name = f"{TIME_NAME_PREFIX}{p:g}]"
    if not time_fits.has_law or name not in best_answer.values:
        return ""
    return (
        f"; by {best_answer.model}"
        f" {_prediction_and_ends(time_fits, name, best_answer.values[name], '')[0]}"
    )


def _prediction_and_ends(
    time_fits: Fitting, name: str, predicted_time: Value, word_between_ends: str
) -> tuple[str, str]:
    """Return a predicted time and the ends of its interval in words, or the throughput p / T where
    throughputs were measured; the ends are empty without an interval.
    """
    if time_fits.rate is None:
        return amount_text(predicted_time), ends_in_words(
            predicted_time, word_between_ends
        ) if predicted_time.low is not None else ""
    unit, unit_size = time_fits.rate
    processors = float(name[len(TIME_NAME_PREFIX) : -1])

    def throughput_text(seconds: float | None) -> str:
        return f"{plain_decimal(processors / seconds / unit_size)} {unit}" if seconds else ""

    if predicted_time.low is None:
        return throughput_text(predicted_time.value), ""
    low_text, high_text = map(throughput_text, (predicted_time.high, predicted_time.low))
    return throughput_text(predicted_time.value), f"{low_text} {word_between_ends} {high_text}"


def _name_with_title(answer: Answer) -> str:
    """Return the name of a fitted law with its title in brackets; of a fitted model, its name."""
    title = _law_title(answer)
    return f"{answer.model} ({title})" if title else answer.model


def _law_title(answer: Answer) -> str:
    """Return the title of a fitted law; empty for a fitted model."""
    title = answer.notes[0].partition(":")[0] if answer.notes else ""
    return "" if title.startswith("the model ") else title


def _by_law(answer: Answer) -> str:
    """Return a phrase on the fitted law or model that a sentence is by."""
    title = _law_title(answer)
    return f"by the fit of {title}" if title else f"by the fitted model {answer.model}"


def fit_headline(time_fits: Fitting, words: Words) -> list[str]:
    """Return sentences on the measured rows and on the preferred model's efficiency, speed-up and
    needed size, with the reader's nouns.

    Parameters
    ----------
    time_fits : as for `fits_text`
    words : of the study
    """
    best_answer = time_fits.answers[0]
    title = FitTitle(words.title)
    sentences = [*_measured_sentences(time_fits, title)]
    comparison = comparison_in_title(time_fits, words.title)
    size_noun = words.meanings.get(time_fits.size_path, "") or "size"
    # What the law leaves out stands before what it says.
    law_index = int(bool(time_fits.growing_causes))
    law_line = law_sentence(best_answer, time_fits, title, size_noun) if time_fits.has_law else ""
    if law_line:
        sentences.insert(law_index, law_line)
    if time_fits.has_law:
        predictions = [
            f"on p = {processors:g}: {prediction_text(time_fits, processors, title)}"
            for processors in predicted_counts_in_title(words.title, best_answer)
        ]
        # What the title asks for first stands first.
        prediction_index = law_index + bool(title.asks_how_many and law_line)
        sentences[prediction_index:prediction_index] = predictions[: not comparison]
    size_names = [
        name
        for name in best_answer.values
        if name.startswith(_SIZE_NAME_PREFIX) and time_fits.has_law
    ]
    sentences += [
        _size_text(best_answer.values[name], _goal_text(time_fits, name), size_noun)
        for name in size_names[-1:]
    ]
    refusal = refused_in_title(time_fits, words.title)
    if not (time_fits.has_law or refusal):
        sentences.append(time_fits.verdict)
    # What the title asks for stands first, also where it is an interval or unknown.
    asked_counts = numbers_in(words.title)
    bound_sentences = [
        sentence
        for p, sentence in zip(time_fits.bounded, _bound_sentences(time_fits), strict=False)
        if p in asked_counts
    ]
    first_sentences = [comparison.sentence(words)] if comparison else bound_sentences[:1]
    asked_sentences = [*([refusal.cause] if refusal else []), *first_sentences]
    if title.asks_for_cause and time_fits.has_law:
        asked_sentences += filter(None, [uncapitalized(_loss_sentence(time_fits, words, _by_law))])
    asked_index = law_index + 1 if title.asks_how_many and law_line else 0
    sentences[asked_index:asked_index] = asked_sentences
    level = percent(time_fits.efficiency)
    is_asked = any(
        text in words.title.replace(" ", "")
        for text in (level.replace(" ", ""), f"{time_fits.efficiency:g}")
    )
    if time_fits.has_default_level and not is_asked:
        index = next((index for index, text in enumerate(sentences) if level in text), None)
        if index is not None:
            introduced_level = f"{level} (the level where none is asked for)"
            sentences[index] = sentences[index].replace(level, introduced_level, 1)
    return [with_noun_for_processors(sentence.rstrip("."), words) for sentence in sentences]


def _measured_sentences(time_fits: Fitting, title: FitTitle) -> Iterator[str]:
    """Yield what the measured rows say by themselves; on the default level of the efficiency only
    if an efficiency may answer the title, else which rows keep the goal, or on which number of
    processors the measured time is least.
    """
    is_level_told = not time_fits.has_default_level or (
        title.may_ask_for_efficiency and time_fits.goal is None
    )
    goal_text = _measured_goal_sentence(time_fits).replace("Measured:", "in the measured runs,")
    if goal_text and not time_fits.has_law:
        yield goal_text
    for finding in time_fits.findings:
        if is_level_told or percent(time_fits.efficiency) not in finding:
            yield f"measured {finding.removeprefix('Measured: ').rstrip('.')}"
    if goal_text and time_fits.has_law and time_fits.has_default_level:
        yield goal_text
    elif not is_level_told and (time_fits.rate or not time_fits.weak_scaling):
        yield _least_measured_sentence(time_fits)


def _least_measured_sentence(time_fits: Fitting) -> str:
    """Return a sentence on the number of processors with the least measured time, or with the
    highest throughput where throughputs were measured.
    """
    p, times = np.array(time_fits.p), np.array(time_fits.time)
    time_by_count = {count: float(np.median(times[p == count])) for count in {*time_fits.p}}
    best_count = min(
        time_by_count, key=lambda count: time_by_count[count] / (count if time_fits.rate else 1)
    )
    name = f"{TIME_NAME_PREFIX}{best_count:g}]"
    amount, _ = _prediction_and_ends(time_fits, name, Value(time_by_count[best_count], "s"), "")
    measured = "throughput is highest" if time_fits.rate else "time is least"
    remark = ", the most measured" if best_count == max(time_fits.p) else ""
    return f"the measured {measured} on p = {best_count:g}{remark}: {amount}"


def law_sentence(answer: Answer, time_fits: Fitting, title: FitTitle, size_noun: str) -> str:
    """Return what the preferred law says of the efficiency and of the speed-up, or how the laws
    that the data cannot distinguish differ in the speed-up; on how many processors the time is
    least, where the title asks for that.

    Parameters
    ----------
    answer : the fit of the law
    time_fits : all fits
    title : of the study
    size_noun : what a size counts
    """
    by_law = _by_law(answer)
    goal_text = goal_sentence(answer, time_fits)
    is_place_asked = title.asks_for_fastest_number or _laws_that_differ(answer, time_fits)
    is_fastest_asked = title.asks_for_fastest and is_place_asked and not goal_text
    # Without such a sentence, a throughput levels off, or is largest, with the speed-up below.
    if is_fastest_asked and (fastest_text := fastest_sentence(answer, time_fits, title)):
        return fastest_text
    efficient_text = ""
    if title.may_ask_for_efficiency or not time_fits.has_default_level:
        efficient_text = _efficiency_sentence(answer, time_fits, size_noun)
    if efficient_text and title.asks_how_many and not _base_clause(answer):
        efficient_text = (
            f"up to {_processors_text(answer, answer.values['efficient_processors'])}, {by_law},"
            " for an"
            f" efficiency of at least {percent(time_fits.efficiency)}"
            f"{_size_clause(time_fits, size_noun)}."
        )
    elif efficient_text:
        efficient_text = f"{by_law}, {uncapitalized(efficient_text)}"
    if goal_text:  # the study asks for this, so that the efficiency stands in the report alone
        efficient_text = f"{by_law}, {uncapitalized(goal_text)}"
    # A level that the title does not ask for stands behind the speed-up.
    is_level_last = not (goal_text or title.asks_for_efficiency) and time_fits.has_default_level
    speedup_text = _speedup_sentence(answer, time_fits)
    if speedup_text and title.asks_for_fastest and not goal_text:
        efficient_text = ""
    if speedup_text and (differing_laws := _laws_that_differ(answer, time_fits)):
        speedup_text = _difference_sentence(answer, differing_laws, time_fits)
    elif speedup_text and (not efficient_text or is_level_last):
        speedup_text = f"{by_law}, {uncapitalized(speedup_text)}"
        efficient_text = efficient_text.removeprefix(f"{by_law}, ")
    texts = [efficient_text, speedup_text]
    if is_level_last and speedup_text:
        texts = [speedup_text, capitalized(efficient_text)]
    return " ".join(filter(None, texts))


def fastest_sentence(answer: Answer, time_fits: Fitting, title: FitTitle) -> str:
    """Return a sentence on the number of processors with the least time by a fit, with the interval
    that all laws leave; empty if the rows contradict it, or if more processors do more work. The
    speed-up stands first where a title asks for it.
    """
    place = answer.values.get("largest_speedup_processors")
    if place is None or time_fits.weak_scaling:
        return ""
    by_law, base = _by_law(answer), _base_clause(answer)
    speedup = f"speed-up{base} {_number_with_ends(answer.values['largest_speedup'])}"
    if fastest_time := answer.values.get("fastest_time"):
        time = value_amount("time", fastest_time.value, "s", fastest_time.ends)
        amounts = [f"least time {time}", speedup]
        amounts_text = ", ".join(amounts[::-1] if title.asks_for_speedup else amounts)
        return f"on {_processors_text(answer, place)}, {by_law}: {amounts_text}."
    if "level_processors" in answer.values:
        return (
            f"{by_law}, no number is the fastest: the {speedup} is reached to {percent(NEAR_LIMIT)}"
            f" on about p = {answer['level_processors']:g}."
        )
    falls = (
        f"{by_law}, the time still falls at p = {place.value:g}, the most for which the rows can"
        f" test a prediction; {speedup} there."
    )
    return f"at least up to p = {place.low:g}. {capitalized(falls)}" if place.low else falls


def goal_sentence(answer: Answer, time_fits: Fitting) -> str:
    """Return a sentence on the number of processors that keeps the goal by a fit, with its
    interval; empty without a goal, or if the fit is not the preferred one.
    """
    count = answer.values.get("needed_processors")
    if time_fits.goal is None or count is None:
        return ""
    goal = capitalized(time_fits.goal.words)
    if count.value is None:
        doubt = f"; within the interval, p = {count.low:g} may" if count.low is not None else ""
        return (
            f"{goal} is not reached up to p = {time_fits.reach:g}, the most for which the rows can"
            f" test a prediction{doubt}."
        )
    verb = "needs"
    if time_fits.weak_scaling and time_fits.rate is None:
        verb = "is kept up to"
    elif count.value == min(time_fits.p):
        verb = "is kept already on the fewest measured,"
    return f"{goal} {verb} p = {count.value:g}{_count_ends_text(count)}."


def _measured_goal_sentence(time_fits: Fitting) -> str:
    """Return a sentence on the measured numbers of processors that keep the goal and on the others;
    empty without a goal.
    """
    if time_fits.goal is None:
        return ""
    p, times = np.array(time_fits.p), np.array(time_fits.time)
    phrases_by_state: dict[bool, list[str]] = {True: [], False: []}
    for processors in np.unique(p).tolist():
        time = float(np.median(times[p == processors]))
        amount, _ = _prediction_and_ends(
            time_fits, f"{TIME_NAME_PREFIX}{processors:g}]", Value(time, "s"), ""
        )
        is_kept = time <= time_fits.goal.time_on(processors)
        phrases_by_state[is_kept].append(f"p = {processors:g} ({amount})")
    kept_on, missed_on = (
        phrases[:1] if len(phrases) > 1 and state else phrases[-1:]
        for state, phrases in phrases_by_state.items()
    )
    clauses = [f"is kept on {phrase}" for phrase in kept_on]
    clauses += [f"is not kept on {phrase}" for phrase in missed_on]
    return f"Measured: {time_fits.goal.words} {join_phrases(clauses)}."


def refused_in_title(time_fits: Fitting, title: str) -> RefusedPrediction | None:
    """Return the warning that there is no prediction for a number of processors that a title names;
    None if there is none.
    """
    numbers = numbers_in(title)
    refusals = (warning for warning in time_fits.warnings if isinstance(warning, RefusedPrediction))
    return next((refusal for refusal in refusals if refusal.processors in numbers), None)


def predicted_counts_in_title(title: str, answer: Answer) -> list[float]:
    """Return the predicted numbers of processors that a title names.

    >>> fit = Answer("fit", "fit", {"time[64]": Value(2.0, "s"), "time[128]": Value(1.5, "s")})
    >>> predicted_counts_in_title("How long does it take on 64 processors?", fit)
    [64.0]
    """
    numbers_in_title = numbers_in(title)
    predicted_counts = [
        float(name[5:-1]) for name in answer.values if name.startswith(TIME_NAME_PREFIX)
    ]
    return [number for number in predicted_counts if number in numbers_in_title]


def prediction_text(time_fits: Fitting, processors: float, title: FitTitle) -> str:
    """Return the time or the throughput, and the efficiency or the speed-up, that the preferred fit
    predicts for a number of processors, in words.
    """
    cell = _prediction_cell(time_fits, f"{TIME_NAME_PREFIX}{processors:g}]")
    text = f"{'throughput' if time_fits.rate else 'time'} {cell}"
    answer = time_fits.answers[0]
    name = f"{EFFICIENCY_NAME_PREFIX}{processors:g}]"
    efficiency = answer.values.get(name)
    if efficiency is None:
        return text
    if title.asks_for_speedup:
        base_count = answer.values.get("base_processors", UNKNOWN_COUNT).value or 1.0
        ends = (
            None if end is None else end * processors / base_count
            for end in (efficiency.value, *efficiency.ends)
        )
        speedup = _number_with_ends(Value(next(ends), "1", *ends))
        return f"speed-up{_base_clause(answer)} {speedup}, {text}"
    amount = value_amount(name, efficiency.value, efficiency.unit, efficiency.ends)
    return f"{text} and efficiency {amount}"


def prediction_table(time_fits: Fitting, words: Words) -> Decision | None:
    """Return the table of the times and efficiencies that the preferred fit predicts, with a row
    for each number of processors; None with fewer than two of them.
    """
    best_answer = time_fits.answers[0]
    processor_counts = [
        float(name[len(TIME_NAME_PREFIX) : -1])
        for name in best_answer.values
        if name.startswith(TIME_NAME_PREFIX)
    ]
    efficiency_names = [
        f"{EFFICIENCY_NAME_PREFIX}{processor_count:g}]" for processor_count in processor_counts
    ]
    if len(processor_counts) < 2 or not all(
        name in best_answer.values for name in efficiency_names
    ):
        return None
    rows = []
    for processor_count, efficiency_name in zip(processor_counts, efficiency_names, strict=True):
        efficiency = best_answer.values[efficiency_name]
        rows.append(
            [
                words.member_count(processor_count),
                _prediction_cell(time_fits, f"{TIME_NAME_PREFIX}{processor_count:g}]"),
                value_amount(efficiency_name, efficiency.value, efficiency.unit, efficiency.ends),
            ]
        )
    return ["", "throughput" if time_fits.rate else "time", "efficiency"], rows


def _prediction_cell(time_fits: Fitting, name: str) -> str:
    """Return a predicted time, or a throughput where throughputs were measured, with its interval
    as a cell of a table.
    """
    predicted_time = time_fits.answers[0].values[name]
    if time_fits.rate is None:
        return value_amount(name, predicted_time.value, predicted_time.unit, predicted_time.ends)
    prediction, ends_text = _prediction_and_ends(time_fits, name, predicted_time, "to")
    return f"{prediction} ({ends_text})" if ends_text else prediction


def _size_clause(time_fits: Fitting, size_noun: str) -> str:
    """Return the size that the limits of a fit hold for, in words; empty where there is one size
    only.
    """
    return "" if time_fits.size is None else f" with {_size_in_words(time_fits.size, size_noun)}"


def _size_in_words(size: float, noun: str) -> str:
    """Return a size with its noun, or with its symbol if it has none.

    >>> _size_in_words(8e6, "cells"), _size_in_words(8e6, "size"), _size_in_words(8e6, "")
    ('8,000,000 cells', 'a size of 8,000,000', 'n = 8,000,000')
    """
    number_text = _size_with_separators(size)
    if not noun:
        return f"n = {number_text}"
    is_counted = is_plural(noun.partition(" ")[0])
    return f"{number_text} {noun}" if is_counted else f"{with_article(noun)} of {number_text}"


def _size_text(size: Value, goal_text: str, noun: str = "") -> str:
    """Return a needed size in words, with its interval and the goal that it is needed for."""
    if not size.value:
        return f"No size has an {goal_text}."
    phrase = f"An {goal_text} needs {_size_in_words(size.value, noun)}"
    if size.low is None:
        no_lower_limit = (
            f", at most {_size_with_separators(size.high)}; the data give no lower limit"
            if size.high is not None
            else ""
        )
        return f"{phrase}{no_lower_limit}."
    low_size = _size_with_separators(size.low)
    if size.high is None:
        return f"{phrase}, at least {low_size}; the data give no upper limit."
    return f"{phrase}, between {low_size} and {_size_with_separators(size.high)}."


def _size_with_separators(size: float) -> str:
    """Write a size with separated thousands."""
    text = plain_decimal(size)
    return f"{int(text):,}" if text.isdigit() else text


def _families_table(time_fits: Fitting, answers: Sequence[Answer]) -> TextTable:
    """Build the table of all families that have a fit; for generated data with their errors against
    the known truth.
    """
    true_time_by_count = time_fits.truth
    time_names = [name for name in answers[0].values if name.startswith(TIME_NAME_PREFIX)]
    true_times = {
        name: true_time_by_count[float(name[5:-1])] for name in time_names if true_time_by_count
    }
    headings = [
        "model",
        "AICc difference",
        "scatter",
        "error at the largest",
        *(f"p = {name[5:-1]}" for name in time_names),
    ]
    headings += [f"misses p = {name[5:-1]}" for name in true_times]
    rows = [
        [
            answer.model,
            f"{answer['behind']:.1f}",
            percent(answer["scatter"], 2),
            percent(answer["missed"] if "missed" in answer.values else None, 2),
            *(
                _prediction_and_ends(time_fits, name, answer.values[name], "")[0]
                for name in time_names
            ),
            *(
                percent((answer[name] or 0.0) / true_time - 1, 2)
                for name, true_time in true_times.items()
            ),
        ]
        for answer in answers
    ]
    return TextTable(headings, rows, range(1, len(headings)))


def fitted_values(answer: Answer) -> dict[str, Value]:
    """Return the parameters of a fit, without derived values.

    Parameters
    ----------
    answer : a fit
    """
    prefixes_of_derived = (LOST, _SIZE_NAME_PREFIX, TIME_NAME_PREFIX, EFFICIENCY_NAME_PREFIX)
    return {
        name: value
        for name, value in answer.values.items()
        if name not in _NAMES_OF_DERIVED_VALUES and not name.startswith(prefixes_of_derived)
    }


def ends_in_words(value: Value, word_between: str = "to") -> str:
    """Return the low and the high end of a value's interval as text, with a word between them."""
    low, high = (amount_text(Value(end, value.unit)) for end in (value.low, value.high))
    return f"{low} {word_between} {high}"


UNKNOWN_COUNT = Value(None, "1")


def _limits_sentence(answer: Answer, time_fits: Fitting, is_alone: bool = False) -> str:
    """Return sentences on the number of processors up to which a fit is efficient, and on its
    largest speed-up and least time, or how the laws that the data cannot distinguish differ in
    these.

    Parameters
    ----------
    answer : the fit
    time_fits : all fits
    is_alone : whether the sentences are on this law alone, with the doubts that others raise
    """
    goal_text = goal_sentence(answer, time_fits)
    efficient_text = f"{goal_text} {_efficiency_sentence(answer, time_fits)}".strip()
    speedup_text = _speedup_sentence(answer, time_fits)
    if speedup_text and (differing_laws := _laws_that_differ(answer, time_fits)):
        speedup_text = (
            f"By this law alone, {uncapitalized(speedup_text)}"
            if is_alone
            else _difference_sentence(answer, differing_laws, time_fits)
        )
    return f"{efficient_text} {speedup_text}".strip()


def _processors_text(answer: Answer, processors: Value) -> str:
    """Return a number of processors with its interval, and with a remark if it is the largest one
    examined.
    """
    is_largest = processors.value == answer["most_processors"]
    remark = ", the end of the range examined" if is_largest else ""
    return f"p = {processors.value or 0.0:g}{_count_ends_text(processors)}{remark}"


def _count_ends_text(count: Value) -> str:
    """Return the interval of a whole number in brackets; empty if it has no width or is unknown.

    >>> _count_ends_text(Value(28.0, "1", 27.0, 30.0)), _count_ends_text(Value(28.0, "1", 27.0))
    (' (27 to 30)', ' (27 or more)')
    """
    if count.low is None or count.low == count.value == count.high:
        return ""
    return (
        f" ({count.low:g} or more)" if count.high is None else f" ({count.low:g} to {count.high:g})"
    )


def _base_clause(answer: Answer) -> str:
    """Return the number of processors over which speed-ups are computed, unless it is one."""
    base_processors = answer.values.get("base_processors", UNKNOWN_COUNT).value
    return "" if base_processors is None else f" over p = {base_processors:g}"


def _efficiency_sentence(answer: Answer, time_fits: Fitting, size_noun: str = "") -> str:
    """Return a sentence on the number of processors up to which a fit is efficient; empty if the
    rows contradict it.

    Parameters
    ----------
    answer : the fit
    time_fits : all fits
    size_noun : what a size counts; empty for its symbol
    """
    if "efficient_processors" not in answer.values:
        return ""
    return (
        f"Efficiency{_base_clause(answer)} is at least {percent(time_fits.efficiency)} up to"
        f" {_processors_text(answer, answer.values['efficient_processors'])}"
        f"{_size_clause(time_fits, size_noun)}."
    )


def _speedup_sentence(answer: Answer, time_fits: Fitting) -> str:
    """Return a sentence on the largest speed-up of a fit and its least time. Speed-up is said to
    rise still only if it does by all laws that the data support and by both ends of the interval,
    and if the law has a term for each measured cause that grows.
    """
    sentence = ""
    if "largest_speedup" in answer.values:
        doubt_clause = ""
        rise_verb = "is largest,"
        if _still_rises(answer):
            doubt_clause = _reason_to_doubt_rise(answer, time_fits)
            speedup_low = answer.values["largest_speedup"].low
            is_beyond_rows = (answer["largest_speedup_processors"] or 0.0) > max(time_fits.p)
            if (
                speedup_low is not None
                and is_beyond_rows
                and speedup_low <= _last_measured_speedup(time_fits)
            ):
                doubt_clause += f"; it may rise or fall beyond p = {max(time_fits.p):g}"
            rise_verb = "would be" if doubt_clause else "still rises, to"
        largest_speedup = _number_with_ends(answer.values["largest_speedup"])
        if "level_processors" in answer.values:
            return (
                f"Speed-up{_base_clause(answer)} levels off at {largest_speedup};"
                f" {percent(NEAR_LIMIT)} of it is reached with about p ="
                f" {answer['level_processors']:g}."
            )
        place = answer.values["largest_speedup_processors"]
        # The end of the range examined is no estimate, which could have an interval.
        place = Value(place.value, "1") if _still_rises(answer) else place
        largest_text = _processors_text(answer, place)
        sentence = (
            f"Speed-up{_base_clause(answer)} {rise_verb} {largest_speedup}, at"
            f" {largest_text}{doubt_clause}."
        )
    if "fastest_processors" in answer.values:
        fastest_time = answer.values["fastest_time"]
        has_interval = fastest_time.low is not None
        time_text = (
            f"{amount_text(fastest_time)}{f' ({ends_in_words(fastest_time)})' * has_interval}"
        )
        fastest_count = answer["fastest_processors"]
        if fastest_count == answer.values.get("largest_speedup_processors", UNKNOWN_COUNT).value:
            return f"{sentence.removesuffix('.')}, in {time_text}, the least time."
        fastest_text = _processors_text(answer, answer.values["fastest_processors"])
        sentence = f"{sentence} Fastest at {fastest_text}, in {time_text}.".strip()
    return sentence


def _last_measured_speedup(time_fits: Fitting) -> float:
    """Return the measured speed-up on the largest number of processors over the smallest one."""
    p, times = np.array(time_fits.p), np.array(time_fits.time)
    first_time, last_time = (float(np.median(times[p == end])) for end in (p.min(), p.max()))
    work_ratio = float(p.max() / p.min()) if time_fits.weak_scaling else 1.0
    return first_time / last_time * work_ratio


def _number_with_ends(number: Value) -> str:
    """Return a number with its interval in brackets, if it has one that is visible."""
    text, *end_texts = (
        plain_decimal(end or 0.0, 3) for end in (number.value, number.low, number.high)
    )
    is_visible = number.low is not None and end_texts != [text, text]
    return f"{text} ({' to '.join(end_texts)})" if is_visible else text


def _laws_that_differ(answer: Answer, time_fits: Fitting) -> list[Answer]:
    """Return a fit and the laws that the data cannot distinguish from it, if they do not agree on
    the largest speed-up; an empty list if they agree, or if the data exclude the fit.
    """
    laws = [law for law in time_fits.undistinguished if "largest_speedup" in law.values]
    do_laws_agree = answer not in laws or all(_agree_on_speedup(answer, law) for law in laws)
    return [] if do_laws_agree else laws


def _difference_sentence(answer: Answer, laws: Sequence[Answer], time_fits: Fitting) -> str:
    """Return a sentence that says how laws differ beyond the rows: their predictions at the largest
    number predicted beside the interval, or else the largest speed-up by each law.
    """
    beginning = f"Beyond p = {max(time_fits.p):g}, the laws that describe the rows differ"
    if name := _farthest_prediction_name(answer, time_fits):
        return _spread_sentence(name, answer, laws, time_fits)
    speedup_texts = [
        f"by {law.model}, speed-up"
        f" {'still rises, to' if _still_rises(law) else 'is largest,'}"
        f" {plain_decimal(law['largest_speedup'] or 0.0, 3)}, at"
        f" p = {law['largest_speedup_processors']:g}"
        for law in laws
    ]
    return f"{beginning}: {'; '.join(speedup_texts)}."


_LARGE_PART = 0.5  # of an interval, above which the laws explain it


def _spread_sentence(name: str, answer: Answer, laws: Sequence[Answer], time_fits: Fitting) -> str:
    """Return a sentence on the interval of a prediction beyond the rows: that laws differ, if their
    predictions span a large part of it, or that the extrapolation is uncertain.
    """
    times = [law.values[name] for law in laws if law[name] is not None]
    amounts = [time.value or 0.0 for time in times]
    lowest, highest = min(amounts), max(amounts)
    low, high = (end or 0.0 for end in answer.values[name].ends)
    beginning = f"Beyond p = {max(time_fits.p):g}"
    interval = _prediction_and_ends(time_fits, name, answer.values[name], "to")[1]
    place = f"at p = {name[len(TIME_NAME_PREFIX) : -1]}"
    spread_of_laws = Value(answer[name], "s", lowest, highest)
    spread = _prediction_and_ends(time_fits, name, spread_of_laws, "to")[1]
    if highest - lowest >= _LARGE_PART * (high - low):
        return (
            f"{beginning}, the laws that describe the rows differ: {place}, they give {spread}"
            f" (interval {interval})."
        )
    return (
        f"{beginning}, the extrapolation is uncertain: {place}, the interval is {interval}, though"
        f" the laws that describe the rows give {spread}."
    )


def _farthest_prediction_name(answer: Answer, time_fits: Fitting) -> str:
    """Return the name of the prediction with an interval for the largest number of processors
    beyond the rows; empty if there is none.
    """
    predicted_names = [
        name
        for name, value in answer.values.items()
        if name.startswith(TIME_NAME_PREFIX)
        and value.low is not None
        and max(time_fits.p) < float(name[5:-1])
        and float(name[5:-1]) not in time_fits.bounded
    ]
    return max(predicted_names, key=lambda time_name: float(time_name[5:-1]), default="")


def _still_rises(answer: Answer) -> bool:
    """Return whether the speed-up of a fit rises up to the largest number examined."""
    return answer["largest_speedup_processors"] == answer["most_processors"]


LARGEST_DISAGREEMENT = 1.05
"""Ratio of two laws' speed-ups, and of their numbers of processors, up to which they agree."""


def _agree_on_speedup(law: Answer, rival: Answer) -> bool:
    """Return whether two laws agree on the largest speed-up, on its place, and on whether it still
    rises there.
    """
    # Of a level curve, the number with the largest value means nothing.
    are_level = all("level_processors" in answer.values for answer in (law, rival))
    processors_name = "level_processors" if are_level else "largest_speedup_processors"
    ascending_pairs = [
        sorted((law[name] or 0.0, rival[name] or 0.0))
        for name in ("largest_speedup", processors_name)
    ]
    return _still_rises(law) == _still_rises(rival) and all(
        high <= LARGEST_DISAGREEMENT * low for low, high in ascending_pairs
    )


def _reason_to_doubt_rise(answer: Answer, time_fits: Fitting) -> str:
    """Return the reason why the speed-up may stop rising although it still rises by a fit; empty if
    there is none.
    """
    doubts = []
    if time_fits.growing_causes and answer is time_fits.answers[0]:
        doubts.append(f", without the growth of {join_phrases([*time_fits.growing_causes])}")
    processors_by_rival = {
        rival.model: rival["largest_speedup_processors"]
        for rival in time_fits.answers
        if rival is not answer
        and has_interval(rival)
        and "largest_speedup" in rival.values
        and rival["largest_speedup_processors"] != rival["most_processors"]
    }
    doubts += [
        f"; by {rival_model} it is highest at p = {processors:g}"
        for rival_model, processors in processors_by_rival.items()
    ]
    return "".join(doubts)


def has_interval(answer: Answer) -> bool:
    """Return whether the data support a fit, so that its values have intervals."""
    return any(value.low is not None for value in answer.values.values())


MOST_CURVES = 6
_LEGEND_WIDTH = 26  # letters in a line of a legend


def draw_fits(time_fits: Fitting, title: str) -> Figure:
    """Draw measured times and the fits over the number of processors, on logarithmic axes; a second
    panel below shows the efficiencies and the requested one.

    Where nothing was measured the ground is grey: there the curves are extrapolations.

    Parameters
    ----------
    time_fits : the fits, with curves
    title : heading
    """
    figure = new_figure(7.5, 6.6)
    time_axes, efficiency_axes = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_times(time_axes, time_fits)
    last_processors = max([max(time_fits.p), *(max(curve.p) for curve in time_fits.curves)])
    for panel in (time_axes, efficiency_axes):
        panel.axvspan(
            max(time_fits.p),
            last_processors,
            color="#000000",
            alpha=0.07,
            linewidth=0,
            label="beyond the data",
        )
    ticks = [
        2.0**power
        for power in range(int(last_processors).bit_length())
        if 2.0**power <= last_processors
    ]
    time_axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    time_axes.set_xlim(1 / 1.1, last_processors)
    members = Words(member=time_fits.member).members
    efficiency_axes.set_xlabel(
        members
        if time_fits.size is None
        else f"{members}; size n = {_size_with_separators(time_fits.size)}"
    )
    time_axes.set_ylabel(axis_title("time", "s"))
    _draw_efficiencies(efficiency_axes, time_fits)
    figure.legend(
        *time_axes.get_legend_handles_labels(), loc="outside right upper", alignment="left"
    )
    return with_title_and_legend(figure, title)


def _draw_times(time_axes: Axes, time_fits: Fitting) -> None:
    """Draw the curves of the fits with their intervals, and the measured times, on logarithmic
    axes.
    """
    for curve, (colour, _, dashes) in zip(
        time_fits.curves[:MOST_CURVES], STROKES[1:], strict=False
    ):
        curve_title = textwrap.fill(curve.title, _LEGEND_WIDTH, break_on_hyphens=False)
        time_axes.plot(curve.p, curve.time, color=colour, linestyle=dashes, label=curve_title)
        if len(curve.low) > 1:
            time_axes.fill_between(
                curve.at,
                curve.low,
                curve.high,
                color=colour,
                alpha=0.2,
                linewidth=0,
                label=textwrap.fill(
                    f"interval of {curve.title}", _LEGEND_WIDTH, break_on_hyphens=False
                ),
            )
    time_axes.plot(
        time_fits.p,
        time_fits.time,
        linestyle="",
        marker="o",
        color=STROKES[0][0],
        markersize=4,
        label="measured",
        zorder=5,
    )
    time_axes.set_xscale("log", base=2)
    make_logarithmic(
        time_axes.yaxis,
        np.array([*time_fits.time, *(time for curve in time_fits.curves for time in curve.time)]),
    )


def _draw_efficiencies(axes: Axes, time_fits: Fitting) -> None:
    """Draw the efficiency of each curve and of the measured times, over the smallest number of
    processors, with the requested efficiency as a limit.
    """
    from slipstick_pictures.pictures import LIMIT_COLOUR, write_limit

    measured_counts, measured_times = np.array(time_fits.p), np.array(time_fits.time)
    base_processors = float(measured_counts.min())

    def efficiencies(processor_counts: Array, times: Array, base_time: float) -> Array:
        """Return the efficiencies at numbers of processors in percent."""
        ratios: Array = (
            base_time
            / times
            * (1.0 if time_fits.weak_scaling else base_processors / processor_counts)
        )
        return ratios / 0.01

    for curve, (colour, _, dashes) in zip(
        time_fits.curves[:MOST_CURVES], STROKES[1:], strict=False
    ):
        processor_counts, times = np.array(curve.p), np.array(curve.time)
        base_time = float(np.interp(base_processors, processor_counts, times))
        axes.plot(
            processor_counts,
            efficiencies(processor_counts, times, base_time),
            color=colour,
            linestyle=dashes,
        )
    base_time = float(np.median(measured_times[measured_counts == base_processors]))
    measured_efficiencies = efficiencies(measured_counts, measured_times, base_time)
    axes.plot(
        measured_counts,
        measured_efficiencies,
        linestyle="",
        marker="o",
        color=STROKES[0][0],
        markersize=4,
    )
    drawn_lines = [*axes.lines]
    goal_percent = time_fits.efficiency / 0.01
    axes.axhline(goal_percent, color=LIMIT_COLOUR, linewidth=1.0, linestyle=(0, (6, 3)))
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel(
        axis_title(
            "efficiency" if base_processors == 1 else f"efficiency over {base_processors:g}", "%"
        )
    )
    write_limit(axes, goal_percent, f"limit {percent(time_fits.efficiency)}", drawn_lines)
