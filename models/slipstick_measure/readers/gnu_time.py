"""What GNU time prints with -v: the elapsed time and the memory of each command.

The processors are those that the command names: ranks behind a launcher times threads. The memory
is that of the largest process, so it is left out where a launcher starts several.

Format: GNU time 1.7 to 1.9 (time -v), one or several outputs in a file, each after its command.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.cells import parse_seconds
from slipstick_measure.readers.reading import Coordinates, FileFormat, Reading

_COMMAND = late_pattern(r'\s*Command being timed: "(?P<command>.*)"\s*')
_VALUE = late_pattern(
    r"\s*(?P<key>Elapsed \(wall clock\) time|Maximum resident set size|Exit status)[^:]*"
    r"(?:\([^)]*\))?: (?P<value>[0-9:.]+)\s*"
)
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "srun", "aprun", "prun", "ibrun")
_OTHER_LAUNCHERS = ("jsrun", "flux", "torchrun", "horovodrun", "parallel", "xargs")
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
_WITH_TWO_VALUES = frozenset(("mca", "gmca", "omca", "genv", "env"))
_THREADS = late_pattern(
    r"\bOMP_NUM_THREADS=(?P<environment>[0-9]+)"
    r"|\s--?(?:num-?|n)?(?:threads|workers|jobs|procs|cores|cpus|cpus-per-task)[ =]"
    r"(?P<option>[0-9]+)"
    r"|\bsrun\s(?:\S+\s+)*?-c ?(?P<cpus>[0-9]+)(?=\s)"
    r"|\s-[tj] ?(?P<letter>[0-9]+)(?=\s|$)"
)


class _Timed(NamedTuple):
    """A command that was timed: its line, its words, and the line and text of each value."""

    line: int
    command: str
    values: dict[str, tuple[int, str]]

    @property
    def is_launched(self) -> bool:
        """Whether the command starts several processes."""
        return any(_name_of(word) in (*_LAUNCHERS, *_OTHER_LAUNCHERS) for word in self.words)

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        return self.command.split()

    @property
    def ranks(self) -> int:
        """The number of ranks that the launcher is told; 0 if it is told none."""
        index = self._index_of_ranks()
        match = _RANKS.fullmatch(self.words[index]) if index is not None else None
        if index is None or match is None:
            return 0
        return int(match["count"] or self.words[index + 1])

    def _index_of_ranks(self) -> int | None:
        """Return the index of the option that counts ranks among the options before the program,
        whose own options may have the same letters; None if there is none.
        """
        words = self.words
        index = next((i for i, word in enumerate(words) if _name_of(word) in _LAUNCHERS), None)
        if index is None or ":" in words[index:]:
            return None  # of several programs, each has its own ranks
        index += 1
        while index < len(words) and words[index].startswith("-"):
            option = words[index].lstrip("-")
            match = _RANKS.fullmatch(words[index])
            if match and (match["count"] or "".join(words[index + 1 : index + 2]).isdigit()):
                return index
            if "=" in option or option in _FLAGS:
                index += 1
            elif option in _WITH_VALUE:
                index += 2
            elif option in _WITH_TWO_VALUES:
                index += 3
            else:
                return None  # the next word may be a value or the program
        return None

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
        words = self.words
        index = self._index_of_ranks()
        if index is not None:
            count = index + (not words[index][-1].isdigit())
            words[count] = words[count].rstrip("0123456789") + "N"
        without_ranks = " ".join(words)
        return _THREADS.sub(lambda match: match[0].rstrip("0123456789") + "N", without_ranks)[:200]


def _name_of(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


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
        if "Maximum" not in run.values:
            continue
        line, memory = run.values["Maximum"]
        if run.is_launched:
            message = "is that of the largest process and not of all, so it is left out"
            input_file.add_note(line, "Maximum resident set size", message)
        else:
            message = "is that of the largest process: of all only if the program starts no other"
            input_file.add_note(line, "Maximum resident set size", message)
            input_file.add(line, coordinates, "memory", memory, "KiB")
    return input_file.finished()


FORMATS = (FileFormat("gnu-time", _is_gnu_time, _read_gnu_time),)
