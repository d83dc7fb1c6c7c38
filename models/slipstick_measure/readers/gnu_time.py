"""What GNU time prints with -v: the elapsed time and the memory of each command; and what the time
of zsh prints behind a command, or that of other shells below a prompt with it.

The processors are those that the command names: ranks behind a launcher times threads. The memory
is that of the largest process, so it is left out where a launcher starts several.

Format: GNU time 1.7 to 1.9 (time -v), one or several outputs in a file, each after its command; a
number of threads that the shell exports is that of the commands below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.cells import parse_seconds
from slipstick_measure.readers.reading import MOST_LINES_ABOVE, Coordinates, FileFormat, Reading

LONGEST_LINE = 1_000
"""Characters of a line of a shell."""

_COMMAND = late_pattern(r'\s*Command being timed: "(?P<command>.*)"\s*')
_SIGNAL = late_pattern(r"\s*Command terminated by signal (?P<signal>[0-9]+)\s*")
"""What stands before the output of a command that was killed, whose exit status is 0."""
_VALUE = late_pattern(
    r"\s*(?P<key>Elapsed \(wall clock\) time|Maximum resident set size|Exit status"
    r"|Percent of CPU this job got)[^:]*(?:\([^)]*\))?: (?P<value>[0-9:.]+)%?\s*"
)
_ZSH = late_pattern(
    r"\s*(?P<command>\S.*?)(?<!\s)\s++(?:[0-9.]+|[0-9:.]+m?)s? user\s+[0-9:.]+s? system\s+"
    r"(?P<percent>[0-9.]+)% cpu\s+(?P<elapsed>[0-9:.]+) total\s*"
)
_PROMPT_WITH_TIME = late_pattern(
    r"\s*(?:[\w.-]+@\S*[$#%]|[$%])\s+(?P<before>(?:\w+=\S+\s+)*)time\s+(?:-p\s+)?(?P<command>\S.*)"
)
_REAL = late_pattern(r"\s*real\s+(?:(?P<minutes>[0-9]+)m)?(?P<seconds>[0-9]+(?:[.,][0-9]+)?)s?\s*")
_EXPORTED_THREADS = late_pattern(
    r".*\bexport\s+(?:\w+=\S+\s+)*(?P<threads>OMP_NUM_THREADS=[0-9]+)\b.*"
)
_THREADS_ALONE = late_pattern(r"\s*OMP_NUM_THREADS ?[=:] ?(?P<threads>[0-9]+)\s*")
"""What a script prints before it times a program."""
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "srun", "aprun", "prun", "ibrun")
_SERIAL_LAUNCHERS = ("srun", "aprun")
"""Launchers that start one process where they are told no number, unless a job gave them one."""
_OTHER_LAUNCHERS = ("jsrun", "flux", "torchrun", "horovodrun", "parallel", "xargs")
_RANKS_IN_OTHER_WORDS = _OTHER_LAUNCHERS[:4]
"""Programs that start several processes, whose options count no ranks, or other things first."""
_RANKS = late_pattern(r"(?:-np|-n|--ntasks|--np|--n)(?:=?(?P<count>[0-9]+))?")
_FLAGS = frozenset(
    (
        *("oversubscribe", "allow-run-as-root", "use-hwthread-cpus", "report-bindings", "verbose"),
        *("bind-to-core", "bind-to-socket", "bycore", "bysocket", "bynode", "byslot", "tag-output"),
        *("nooversubscribe", "display-map", "display-allocation", "quiet", "nolocal", "exclusive"),
        *("label", "unbuffered", "overcommit", "v", "q", "l", "u", "O", "genvall", "envall"),
        *("print-rank-map", "prepend-rank", "timestamp-output", "nousize", "kill-on-bad-exit"),
    )
)
"""Options of launchers behind which no value stands."""
_WITH_VALUE = frozenset(
    (
        *("map-by", "bind-to", "rank-by", "host", "H", "hostfile", "machinefile", "f", "x", "wdir"),
        *("ppn", "perhost", "N", "nodes", "c", "cpus-per-task", "cpus-per-proc", "cpu-bind", "p"),
        *("partition", "A", "account", "t", "time", "mem", "gres", "gpus", "hint", "mpi", "J", "m"),
        *("distribution", "ntasks-per-node", "npernode", "hosts", "iface", "d", "j", "S", "cc"),
        *("cpu_bind", "mem-bind", "gpus-per-task", "gpus-per-node", "qos", "output", "o", "w"),
        *("nodelist", "prefix", "path", "report-state", "rankfile", "rf", "cpu-set"),
    )
)
"""Options of launchers behind which one value stands."""
_WITH_NUMBER = late_pattern(r"(?:N|c|t|p|j|d|S|m)[0-9][0-9:-]*")
"""Options of launchers whose value is in the same word."""
_WITH_TWO_VALUES = frozenset(("mca", "gmca", "omca", "genv", "env"))
_THREADS = late_pattern(
    r"\bOMP_NUM_THREADS=(?P<environment>[0-9]+)"
    r"|\s--?(?:num-?|n)?(?:threads|workers|jobs|procs|cores|cpus|cpus-per-task)[ =]"
    r"(?P<option>[0-9]+)"
    r"|\bsrun\s(?:\S+\s+)*?-c ?(?P<cpus>[0-9]+)(?=\s)"
    r"|\s-[tj] ?(?P<letter>[0-9]+)(?=\s|$)"
)


class _TimedCommand(NamedTuple):
    """A command that was timed: its line, its words, and the line and text of each value."""

    line: int
    command: str
    line_and_text_by_key: dict[str, tuple[int, str]]

    @property
    def is_launched(self) -> bool:
        """Whether the command starts several processes."""
        return any(_program_name(word) in (*_LAUNCHERS, *_OTHER_LAUNCHERS) for word in self.words)

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        return self.command.split()

    @property
    def rank_count(self) -> int:
        """The number of ranks that the options of the launcher state; 0 if they state none."""
        rank_index, _ = self._indices_of_ranks_and_program()
        match = _RANKS.fullmatch(self.words[rank_index]) if rank_index is not None else None
        if rank_index is None or match is None:
            return 0
        return int(match["count"] or self.words[rank_index + 1])

    def _indices_of_ranks_and_program(self) -> tuple[int | None, int]:
        """Return two indices of words of the command: of the launcher's option that counts ranks,
        None if there is none, and of the program, or of the first option that is not known. The
        program's own options may have the same letters as the launcher's.
        """
        words = self.words
        word_index = next(
            (
                launcher_index
                for launcher_index, word in enumerate(words)
                if _program_name(word) in _LAUNCHERS
            ),
            None,
        )
        if word_index is None:
            return None, 0
        if ":" in words[word_index:]:
            return None, word_index  # of several programs, each has its own ranks
        word_index += 1
        rank_index = None
        while word_index < len(words) and words[word_index].startswith("-"):
            option = words[word_index].lstrip("-")
            match = _RANKS.fullmatch(words[word_index])
            if match and (
                match["count"] or "".join(words[word_index + 1 : word_index + 2]).isdigit()
            ):
                rank_index = word_index if rank_index is None else rank_index
                word_index += 1 if match["count"] else 2
            elif "=" in option or option in _FLAGS or _WITH_NUMBER.fullmatch(option):
                word_index += 1
            elif option in _WITH_VALUE:
                word_index += 2
            elif option in _WITH_TWO_VALUES:
                word_index += 3
            else:
                return rank_index, word_index  # the next word may be a value or the program
        return rank_index, word_index

    def _thread_options(self) -> list[re.Match[str]]:
        """List the matches of options that set the number of threads. One-letter options are
        recognized only after the program's name, those of srun only before it.
        """
        _, program_index = self._indices_of_ranks_and_program()
        command = " ".join(self.words)
        program_start = len(" ".join(self.words[:program_index]))
        return [
            match
            for match in _THREADS.finditer(command)
            if not (match["cpus"] and match.start("cpus") > program_start)
            and not (match["letter"] and match.start() < program_start)
        ]

    @property
    def doubtful_thread_option(self) -> str:
        """The option of one letter that may count threads or be another argument of the program;
        empty if there is none, or if the time that the processors were busy decides.
        """
        thread_options = self._thread_options()[:1]
        if not thread_options or not thread_options[0]["letter"]:
            return ""
        thread_count, rank_count = int(thread_options[0]["letter"]), max(self.rank_count, 1)
        busy_processors = (
            float(self.line_and_text_by_key["Percent"][1]) / 100
            if "Percent" in self.line_and_text_by_key
            else None
        )
        if self.rank_count and (busy_processors is None or busy_processors <= 1.1 * rank_count):
            return thread_options[0][0].strip()
        is_idle = busy_processors is not None and thread_count > 1 and busy_processors < 1.1
        return thread_options[0][0].strip() if is_idle and not self.rank_count else ""

    @property
    def processor_count(self) -> int:
        """The ranks times the threads that the command names; 0 if it names none."""
        thread_counts = [
            int(next(filter(None, match.groups()))) for match in self._thread_options()
        ]
        program_names = {_program_name(word) for word in self.words}
        if not self.rank_count and program_names & {*_LAUNCHERS, *_RANKS_IN_OTHER_WORDS}:
            _, option_index = self._indices_of_ranks_and_program()
            is_option = "".join(self.words[option_index : option_index + 1]).startswith("-")
            if is_option or ":" in self.words or not program_names & {*_SERIAL_LAUNCHERS}:
                return 0
        rank_and_thread_counts = [
            *([self.rank_count] if self.rank_count else []),
            *thread_counts[:1],
        ]
        return prod(rank_and_thread_counts) if rank_and_thread_counts else 0

    @property
    def program(self) -> str:
        """The command without the numbers of ranks and threads, which tells programs apart."""
        words = self.words
        rank_index, _ = self._indices_of_ranks_and_program()
        if rank_index is not None:
            count_index = rank_index + (not words[rank_index][-1].isdigit())
            words[count_index] = words[count_index].rstrip("0123456789") + "N"
        without_ranks = " ".join(words)
        return _THREADS.sub(lambda match: match[0].rstrip("0123456789") + "N", without_ranks)[:200]


def _seconds_of_clock(text: str) -> float:
    """Return an elapsed time [s] that is written in seconds, or as a clock with minutes or
    hours.
    """
    return float(parse_seconds(text) or 0) if ":" in text else float(text)


def _program_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def _is_gnu_time(input_file: Reading) -> bool:
    """Return whether a file has an output of GNU time or of a shell's time."""
    lines = input_file.lines[:MOST_LINES_ABOVE]
    if any(_COMMAND.fullmatch(text) or _ZSH.fullmatch(text) for text in lines):
        return True
    return any(
        "Elapsed" in command.line_and_text_by_key for command in _commands_of_shells(input_file)
    )


def _commands_of_shells(input_file: Reading) -> Iterator[_TimedCommand]:
    """Yield the commands that a shell timed, with the elapsed time of each."""
    exported_threads = ""
    prompt_line_and_command: tuple[int, str] | None = None
    for line, text in enumerate(input_file.lines, 1):
        if len(text) > LONGEST_LINE:
            continue
        if export_match := _EXPORTED_THREADS.fullmatch(text):
            exported_threads = f"{export_match['threads']} "
        elif variable_match := _THREADS_ALONE.fullmatch(text):
            if prompt_line_and_command and not prompt_line_and_command[1]:
                yield _TimedCommand(prompt_line_and_command[0], exported_threads.strip(), {})
            exported_threads = f"OMP_NUM_THREADS={variable_match['threads']} "
            prompt_line_and_command = (line, "")
        elif match := _PROMPT_WITH_TIME.fullmatch(text):
            prompt_line_and_command = (
                line,
                f"{exported_threads}{match['before']}{match['command']}",
            )
        elif match := _ZSH.fullmatch(text):
            line_and_text_by_key = {
                "Percent": (line, match["percent"]),
                "Elapsed": (line, match["elapsed"]),
            }
            yield _TimedCommand(line, f"{exported_threads}{match['command']}", line_and_text_by_key)
            prompt_line_and_command = None
        elif (match := _REAL.fullmatch(text)) and prompt_line_and_command:
            seconds = 60 * int(match["minutes"] or 0) + float(match["seconds"].replace(",", "."))
            command = prompt_line_and_command[1] or exported_threads.strip()
            yield _TimedCommand(
                prompt_line_and_command[0], command, {"Elapsed": (line, repr(seconds))}
            )
            prompt_line_and_command = None
    if prompt_line_and_command and not prompt_line_and_command[1]:
        yield _TimedCommand(prompt_line_and_command[0], exported_threads.strip(), {})


def _timed_commands(input_file: Reading) -> Iterator[_TimedCommand]:
    """Yield the commands with the values that are printed below each."""
    yield from _commands_of_shells(input_file)
    timed_command: _TimedCommand | None = None
    signal_line_and_number: tuple[int, str] | None = None
    for line, text in enumerate(input_file.lines, 1):
        if command_match := _COMMAND.fullmatch(text):
            if timed_command:
                yield timed_command
            timed_command = _TimedCommand(
                line,
                command_match["command"],
                {"Signal": signal_line_and_number} if signal_line_and_number else {},
            )
            signal_line_and_number = None
        elif match := _SIGNAL.fullmatch(text):
            signal_line_and_number = (line, match["signal"])
        elif timed_command and (value_match := _VALUE.fullmatch(text)):
            timed_command.line_and_text_by_key[value_match["key"].partition(" ")[0]] = (
                line,
                value_match["value"],
            )
    if timed_command:
        yield timed_command


def _read_gnu_time(input_file: Reading) -> Measurements:
    """Read the elapsed time of each command that succeeded, and its memory."""
    runs = list(_timed_commands(input_file))
    programs = {run.program for run in runs}
    for run in runs:
        status_line, status = run.line_and_text_by_key.get("Exit", (run.line, "0"))
        if "Signal" in run.line_and_text_by_key:
            line, signal = run.line_and_text_by_key["Signal"]
            message = f"the command was ended by signal {signal}, and is left out"
            input_file.add_note(line, "", message)
            continue
        if status != "0":
            message = f"the command failed with status {status}, and is left out"
            input_file.add_note(status_line, "", message)
            continue
        if (option := run.doubtful_thread_option) and not input_file.hints.processors:
            message = (
                f"does {short(option)} of {short(run.command)} count threads, or is it an argument"
                " of the program? write --processors N for one run, or a table with the heading"
                " p,time [s]"
            )
            input_file.refuse(run.line, "", message)
        processors = (
            input_file.hints.processors if run.doubtful_thread_option else run.processor_count
        )
        processors = processors or input_file.hints.processors
        if not processors:
            message = (
                f"{short(run.command)} names no number of ranks or threads; write --processors N"
                " for one run, or a table with the heading p,time [s]"
            )
            input_file.refuse(run.line, "", message)
        if "Elapsed" not in run.line_and_text_by_key:
            input_file.add_note(
                run.line, "", "the run is cut before its elapsed time, and left out"
            )
            continue
        for threads_match in run._thread_options()[:1]:
            if threads_match["letter"]:
                message = "is read as the number of threads"
                input_file.add_note(run.line, threads_match[0].strip(), message)
        line, elapsed_text = run.line_and_text_by_key["Elapsed"]
        region = run.program if len(programs) > 1 else ""
        coordinates = Coordinates(processors, input_file.hints.size, region)
        input_file.add(line, coordinates, "time", repr(_seconds_of_clock(elapsed_text)), "s")
        if "Maximum" not in run.line_and_text_by_key:
            continue
        line, memory_text = run.line_and_text_by_key["Maximum"]
        if run.is_launched:
            message = "is that of the largest process and not of all, so it is left out"
            input_file.add_note(line, "Maximum resident set size", message)
        else:
            message = "is that of the largest process: of all only if the program starts no other"
            input_file.add_note(line, "Maximum resident set size", message)
            input_file.add(line, coordinates, "memory", memory_text, "KiB")
    return input_file.finished()


FORMATS = (FileFormat("gnu-time", _is_gnu_time, _read_gnu_time),)
