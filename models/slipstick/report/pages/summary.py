"""The head of a report in three to seven sentences: what was asked, the answer, against the base, what limits, what is in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path

from slipstick.answer import Answer
from slipstick.report.formatting import counted, escape, overlap, percent, plain, quantity
from slipstick.results.study import Results, Sweep

_MOST_NAMES, _MOST_FOUND = 4, 3


def summary(results: Results, answer: Sequence[str]) -> str:
    """Write the sentences as a list in Markdown.

    Parameters
    ----------
    results : of a study
    answer : the values that it asks for
    """
    return "\n".join(f"- {escape(each)}" for each in summary_sentences(results, answer))


def summary_sentences(results: Results, answer: Sequence[str]) -> list[str]:
    """Say what was asked, what the base is and what it spends its time on, how the others compare, and what questions found.

    Parameters
    ----------
    results, answer : as for `summary`
    """
    found = [each.headline() for each in results.questions.values()]
    found += [words for sweep in results.sweeps for words in _swept(sweep, answer)]
    lines = [_asked(results, answer), *_base(results, answer), *_compared(results, answer)]
    lines += [*list(filter(None, found))[:_MOST_FOUND], _doubt(results)]
    return [f"{line[:1].upper()}{line[1:].rstrip('.')}." for line in lines]


def _asked(results: Results, answer: Sequence[str]) -> str:
    parts = []
    if results.cases:
        models = ", ".join(list(dict.fromkeys(each.model for each in results.cases.values()))[:_MOST_NAMES])
        names = ", ".join([*answer[:_MOST_NAMES], *(["more"] if len(answer) > _MOST_NAMES else [])])
        parts.append(f"{names} of {counted(len(results.cases), 'case')} of {models}")
    if results.sweeps:
        points = counted(sum(map(len, results.sweeps)), "point")
        parts.append(f"{counted(len(results.sweeps), 'sweep')} of {points}")
    parts += [each.title[:1].lower() + each.title[1:] for each in results.questions.values()]
    return f"asked: {'; '.join(parts)}"


def _first(each: Answer, answer: Sequence[str]) -> str:
    return next((name for name in (*answer, *each.values) if each.find(name) is not None), "")


def _base(results: Results, answer: Sequence[str]) -> Iterator[str]:
    """Say what the first case answers, and where its time goes."""
    if not results.cases:
        return
    case, each = next(iter(results.cases.items()))
    name = _first(each, answer)
    if each.failed or not name:
        yield f"{case} has no answer: {each.failed}"
        return
    words = f"{case}: {name} {quantity(each.find(name), each.unit(name), ends=each.ends(name))} by {each.method}"
    whole = sum(each.account.values())
    if len(each.account) > 1 and whole > 0:
        most, seconds = max(each.account.items(), key=lambda part: part[1])
        words += f"; {most} takes the most of a processor's time, {percent(seconds / whole)}"
    if each.limits:
        words += f"; {each.limits[0].pipeline} is limited by {each.limits[0].stage}"
    yield words


def _compared(results: Results, answer: Sequence[str]) -> Iterator[str]:
    """Hold the fastest and the slowest case of the same model against the first; other models do other work."""
    if not results.cases:
        return
    (base, first), *others = results.cases.items()
    name = _first(first, ["time", *answer])
    known = [(case, each) for case, each in others if each.model == first.model and name and each.find(name)]
    if not known or not first.find(name):
        return
    ranked = sorted(known, key=lambda pair: pair[1].find(name) or 0.0)
    (least, low), (most, high) = ranked[0], ranked[-1]
    if name == "time" or name.startswith("response_time"):
        words = [_speed(case, base, first, each, name) for case, each in {least: low, most: high}.items()]
        yield f"of {counted(len(known), 'other case')}, {' and '.join(words)}" if len(known) > 1 else words[0]
    else:
        shown = {least: low, most: high}
        ratios = " and ".join(f"{_times(each, first, name)} in {case}" for case, each in shown.items())
        yield f"against {base}, {name} is {ratios}"


def _speed(case: str, base: str, first: Answer, each: Answer, name: str) -> str:
    """Say how many times as fast as the first case another is, or how many times as long it takes."""
    if (first.find(name) or 0.0) >= (each.find(name) or 0.0):
        return f"{case} is {_times(first, each, name)} as fast as {base}"
    return f"{case} takes {_times(each, first, name)} as long as {base}"


def _times(over: Answer, under: Answer, name: str) -> str:
    """Give the ratio of two values; where their intervals overlap, the order is undecided."""
    ratio = (over.find(name) or 0.0) / (under.find(name) or 1.0)
    doubt = " (undecided)" if overlap(over.ends(name), under.ends(name)) else ""
    return f"{plain(ratio, 3)} times{doubt}"


def _swept(sweep: Sweep, answer: Sequence[str]) -> Iterator[str]:
    """Say between what the first value lies over a sweep, and where."""
    name = next((each for each in answer if each in sweep.columns), "")
    known = [row for row, value in enumerate(sweep.columns[name]) if isfinite(value)] if name else []
    if len(known) < 2:
        return
    column = sweep.columns[name]
    ends = (min(known, key=lambda row: float(column[row])), max(known, key=lambda row: float(column[row])))
    words = (f"{quantity(float(column[row]), sweep.units[name])} at {_place(sweep, row)}" for row in ends)
    yield f"over sweep {sweep.name}, {name} goes from {' to '.join(words)}"


def _place(sweep: Sweep, row: int) -> str:
    words = [sweep.cases[row]] if len(set(sweep.cases)) > 1 else []
    for axis in sweep.axes:
        value = sweep.points[axis.path][row]
        words.append(f"{axis.path} = {value if isinstance(value, str) else quantity(float(value), axis.unit)}")
    return ", ".join(words)


def _doubt(results: Results) -> str:
    """Say how much is exact, what has no answer, and what else is left out."""
    answers = list(results.cases.values())
    how = [(each.method, each.exact and not each.failed) for each in answers]
    how += [
        pair
        for sweep in results.sweeps
        for pair in zip(sweep.provenance.methods, map(bool, sweep.provenance.exact), strict=True)
    ]
    inexact = Counter(method for method, exact in how if not exact)
    words = []
    if inexact:
        by = ", ".join(f"{count} by {method}" for method, count in inexact.items())
        few = sum(inexact.values())
        words.append(f"{few} of {counted(len(how), 'answer')} {'is' if few == 1 else 'are'} not exact ({by})")
        notes = Counter(note for each in answers if not each.exact for note in each.notes)
        words += [note for note, _ in notes.most_common(1)]
    elif how:
        words.append("all answers are exact for what the models say")
    failed = sum(1 for each in answers if each.failed) + sum(len(sweep.failed) for sweep in results.sweeps)
    outside = sum(1 for each in answers if each.bound) + sum(len(each.provenance.outside) for each in results.sweeps)
    words += [f"{counted(failed, 'point has', 'points have')} no answer"] if failed else []
    words += [f"{counted(outside, 'answer lies', 'answers lie')} outside of the bounds"] if outside else []
    words += filter(None, (each.doubt() for each in results.questions.values()))
    return "; ".join(words) or "measured values are as certain as their source"


def gallery(folders: Sequence[Path]) -> str:
    """Lay out several reports as one page: the first picture of each, its question, its answer, and where it is.

    Parameters
    ----------
    folders : of reports, as `slipstick.report.pages.write.write` made them; one without a report is left out
    """
    parts = ["# Studies", "Each study with its question and what was found; made by `slipstick gallery`."]
    for folder in folders:
        path = folder / "report.md"
        if path.is_file():
            head, *rest = path.read_text("utf-8").split("\n\n")
            picture = next((each for each in rest if each.startswith("![")), "").replace("](", f"]({folder.name}/")
            found = next((each for each in rest if each.startswith("- Asked: ")), "")
            asked = next((each for each in rest if not each.startswith(("- ", "!", "Source: "))), "")
            told = "\n".join(found.splitlines()[:_MOST_NAMES])
            parts += [f"## [{head.removeprefix('# ')}]({folder.name}/report.md)", picture, asked, told]
    return "\n\n".join(part for part in parts if part) + "\n"
