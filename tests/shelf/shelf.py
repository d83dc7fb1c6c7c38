"""A shelf of foreign files: each is given to the product as a user would, and judged by what is
right in it.

One folder for each reader holds the files, and `cases.yaml`, which tells the commands and what is
right. `README.md` beside this module says how to add a file.
"""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import yaml

from slipstick.cli.main import main

SHELF = Path(__file__).parent
RIGHT, REFUSED_WELL = "right", "refused well"
REFUSED_BADLY, WRONG = "refused badly", "wrong"
VERDICTS = (RIGHT, REFUSED_WELL, REFUSED_BADLY, WRONG)
ROUNDING = 1e-9
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads the cases, which every process that collects tests does; at C speed where it is built."""
KEYS = {"file", "made_after", "run", "right", "says", "refused", "silent", "now", "why"}


@dataclass(frozen=True)
class Case:
    """One file, the commands that read it, and what is right.

    Attributes
    ----------
    reader : the folder
    file : the file in it
    number : of the case among those of the folder, for a file may have several
    run : command lines; {file} is the file and {out} an empty folder
    right : what the last command answers: by the name of a value, or by a path into its JSON
        document, the value, or a table of value and tolerance (relative)
    says, silent : words that the commands print, or must not print
    refused : words of the refusal: what is not read, and the way out
    now : the verdict of today where it is neither right nor refused well; `why` tells the cause
    """

    reader: str
    file: str
    number: int
    run: tuple[str, ...]
    right: Mapping[str, Any]
    says: tuple[str, ...]
    silent: tuple[str, ...]
    refused: tuple[str, ...]
    now: str

    @property
    def name(self) -> str:
        """The folder and the file, and the number of a further case."""
        return f"{self.reader}/{self.file}" + (f"#{self.number}" if self.number else "")

    @property
    def expected(self) -> str:
        """The verdict that the case has today."""
        return self.now or (REFUSED_WELL if self.refused else RIGHT)


def cases(folder: Path = SHELF) -> list[Case]:
    """List the cases of every reader; refuse a key that is not known, and a file that no case
    names.
    """
    listed: list[Case] = []
    for path in sorted(folder.glob("*/cases.yaml")):
        told = yaml.load(path.read_text("utf-8"), LOADER)
        named: dict[str, int] = {}
        for row in told["cases"]:
            if unknown := set(row) - KEYS:
                raise ValueError(f"{path}: unknown keys {', '.join(sorted(unknown))}")
            number = named.get(row["file"], -1) + 1
            named[row["file"]] = number
            words = {key: tuple(row.get(key, ())) for key in ("says", "silent", "refused")}
            listed.append(
                Case(
                    path.parent.name,
                    row["file"],
                    number,
                    tuple(row.get("run") or told["run"]),
                    row.get("right", {}),
                    words["says"],
                    words["silent"],
                    words["refused"],
                    row.get("now", ""),
                )
            )
        there = {each.name for each in path.parent.iterdir()} - {"cases.yaml"}
        if there != set(named):
            raise ValueError(f"{path}: files and cases differ: {sorted(there ^ set(named))}")
    return listed


@dataclass(frozen=True)
class Verdict:
    """What came of a case, and why in words."""

    verdict: str
    why: str = ""


def judged(
    case: Case, out: Path, shelf: Path = SHELF, most_seconds: float | None = None
) -> Verdict:
    """Run the commands of a case and judge what they print.

    Parameters
    ----------
    most_seconds : processor time beyond which a file is refused badly; None: not judged
    """
    begun, printed, status = process_time(), "", 0
    last = ""
    for line in case.run:
        place = {"file": str(shelf / case.reader / case.file), "out": str(out)}
        words = [word.format(**place) for word in shlex.split(line)]
        status, last, noted = _command(words)
        printed += last + noted
        if status:
            break
    if "Traceback" in printed or status not in (0, 1, 2):
        return Verdict(REFUSED_BADLY, f"status {status}: {printed[-200:]}")
    if most_seconds is not None and (seconds := process_time() - begun) > most_seconds:
        return Verdict(REFUSED_BADLY, f"{seconds:.1f} s of processor time")
    if status:
        return _refusal(case, printed)
    if case.refused:
        return Verdict(WRONG, "answered, where a refusal is right")
    missing = [word for word in case.says if word not in printed]
    too_much = [word for word in case.silent if word in printed]
    faults = [f"does not say {word!r}" for word in missing]
    faults += [f"says {word!r}" for word in too_much]
    faults += _faults(case.right, last)
    return Verdict(WRONG, "; ".join(faults)) if faults else Verdict(RIGHT)


def _command(words: Sequence[str]) -> tuple[int, str, str]:
    """Run one command; return its status, what it answers and what it notes."""
    output, notes = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(notes):
        try:
            status = main(list(words))
        except SystemExit as ended:
            status = int(ended.code or 0)
        except Exception as error:  # noqa: BLE001  # what a user would see as a traceback
            return 3, output.getvalue(), f"Traceback: {type(error).__name__}: {error}"
    return status, output.getvalue(), notes.getvalue()


def _refusal(case: Case, printed: str) -> Verdict:
    if not case.refused:
        return Verdict(REFUSED_BADLY, f"refused: {printed[:300]}")
    plain = " ".join(printed.split())
    if missing := [word for word in case.refused if word not in plain]:
        return Verdict(REFUSED_BADLY, f"without {missing}: {plain[:300]}")
    return Verdict(REFUSED_WELL)


def _faults(right: Mapping[str, Any], last: str) -> Iterator[str]:
    """Yield what of the last document is not as it is right."""
    if not right:
        return
    try:
        document = json.loads(last)
    except ValueError:
        yield "the last command prints no JSON; give it --json"
        return
    for name, told in right.items():
        wanted = told if isinstance(told, Mapping) else {"value": told}
        found = looked_up(document, name)
        if found is None and wanted["value"] is not None:
            yield f"there is no {name}"
        elif not _agrees(found, wanted["value"], float(wanted.get("tolerance", ROUNDING))):
            yield f"{name} is {found}, right is {wanted['value']}"
        elif _exact(document, name) and not _agrees(found, wanted["value"], 1e-3):
            yield f"{name} is {found} and called exact, right is {wanted['value']}"


def looked_up(document: Any, name: str) -> Any:
    """Return a value of the first answer by its name, or what stands at a path of a document."""
    answers = document.get("answers") if isinstance(document, Mapping) else None
    if answers and name in answers[0].get("values", {}):
        return answers[0]["values"][name]["value"]
    if answers and name in answers[0]:
        return answers[0][name]
    found = document
    for key in name.split("/"):
        if isinstance(found, Sequence) and not isinstance(found, str) and key.lstrip("-").isdigit():
            found = found[int(key)] if int(key) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _exact(document: Any, name: str) -> bool:
    answers = document.get("answers") if isinstance(document, Mapping) else None
    return bool(answers and name in answers[0].get("values", {}) and answers[0].get("exact"))


def _agrees(found: Any, wanted: Any, tolerance: float) -> bool:
    numbers = (int, float)
    if isinstance(found, bool) or isinstance(wanted, bool):
        return bool(found == wanted)
    if isinstance(found, numbers) and isinstance(wanted, numbers):
        return abs(found - wanted) <= tolerance * abs(wanted)
    return bool(found == wanted)
