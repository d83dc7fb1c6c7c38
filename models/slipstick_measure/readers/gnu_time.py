"""What GNU time prints with -v: the elapsed time and the memory of each command.

The processors are those that the command names: ranks behind a launcher times threads. The memory
is that of the largest process, so it is that of the whole only without a launcher.

Format: GNU time 1.7 to 1.9 (time -v), one or several outputs in a file, each after its command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from slipstick.errors import short
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.cells import parse_seconds
from slipstick_measure.readers.reading import Coordinates, FileFormat, Reading

_COMMAND = re.compile(r'\s*Command being timed: "(?P<command>.*)"\s*')
_VALUE = re.compile(
    r"\s*(?P<key>Elapsed \(wall clock\) time|Maximum resident set size|Exit status)[^:]*"
    r"(?:\([^)]*\))?: (?P<value>[0-9:.]+)\s*"
)
_LAUNCHER = re.compile(
    r"\b(?:mpirun|mpiexec|orterun|srun|aprun|prun)(?:\s+-\S+(?:\s+[^-\s]\S*)?)*?"
    r"\s+(?:-np|-n|--ntasks|--np)[ =]?(?P<count>[0-9]+)(?=\s|$)"
)
"""The ranks among the options before the program, whose own options may have the same letters."""
_THREADS = re.compile(
    r"\bOMP_NUM_THREADS=(?P<environment>[0-9]+)"
    r"|\s--?(?:num-?|n)?(?:threads|workers|jobs|procs|cores|cpus|cpus-per-task)[ =]"
    r"(?P<option>[0-9]+)"
    r"|\s-[tj] ?(?P<letter>[0-9]+)(?=\s|$)"
)


class _Timed(NamedTuple):
    """A command that was timed: its line, its words, and the line and text of each value."""

    line: int
    command: str
    values: dict[str, tuple[int, str]]

    @property
    def ranks(self) -> int:
        """The number behind the launcher; 0 without one."""
        match = _LAUNCHER.search(self.command)
        return int(match["count"]) if match else 0

    @property
    def processors(self) -> int:
        """The ranks times the threads that the command names; 0 if it names none."""
        threads = [
            int(next(filter(None, match.groups()))) for match in _THREADS.finditer(self.command)
        ]
        counts = [*([self.ranks] if self.ranks else []), *threads[:1]]
        return prod(counts) if counts else 0

    @property
    def program(self) -> str:
        """The command without the numbers of ranks and threads, which tells programs apart."""
        words = self.command
        for pattern in (_LAUNCHER, _THREADS):
            words = pattern.sub(lambda match: match[0].rstrip("0123456789") + "N", words)
        return words[:200]


def _is_gnu_time(input_file: Reading) -> bool:
    return any(map(_COMMAND.fullmatch, input_file.lines))


def _timed_commands(input_file: Reading) -> Iterator[_Timed]:
    """Yield the commands with the values that are printed below each."""
    timed: _Timed | None = None
    for line, text in enumerate(input_file.lines, 1):
        if command := _COMMAND.fullmatch(text):
            if timed:
                yield timed
            timed = _Timed(line, command["command"], {})
        elif timed and (value := _VALUE.fullmatch(text)):
            timed.values[value["key"].partition(" ")[0]] = (line, value["value"])
    if timed:
        yield timed


def _read_gnu_time(input_file: Reading) -> Measurements:
    """Read the elapsed time of each command that succeeded, and its memory."""
    runs = list(_timed_commands(input_file))
    programs = {run.program for run in runs}
    for run in runs:
        status = run.values.get("Exit", (run.line, "0"))
        if status[1] != "0":
            message = f"the command failed with status {status[1]}, and is left out"
            input_file.add_note(status[0], "", message)
            continue
        p = run.processors or input_file.hints.processors
        if not p:
            message = (
                f"{short(run.command)} names no number of ranks or threads; write --processors N"
                " for one run, or a table with the heading p,time [s]"
            )
            input_file.refuse(run.line, "", message)
        if "Elapsed" not in run.values:
            input_file.add_note(
                run.line, "", "the run is cut before its elapsed time, and left out"
            )
            continue
        if (threads := _THREADS.search(run.command)) and threads["letter"]:
            input_file.add_note(run.line, threads[0].strip(), "is taken for the number of threads")
        line, clock = run.values["Elapsed"]
        region = run.program if len(programs) > 1 else ""
        coordinates = Coordinates(p, input_file.hints.size, region)
        input_file.add(line, coordinates, "time", repr(float(parse_seconds(clock) or 0)), "s")
        if "Maximum" in run.values and not run.ranks:
            line, memory = run.values["Maximum"]
            input_file.add(line, coordinates, "memory", memory, "KiB")
    return input_file.finished()


FORMATS = (FileFormat("gnu-time", _is_gnu_time, _read_gnu_time),)
