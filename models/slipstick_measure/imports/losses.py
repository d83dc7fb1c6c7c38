"""The losses of imports as data: one registry for each format, and one function by which importers
declare a loss.

A loss that is *equal* is another word for the same, and silent. One that changes *shares* only is
noted. One that changes the *answer* is refused with its name, unless it is left out by name; then
the spec carries it, and every answer repeats it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from slipstick.errors import Problem, SpecError, UnknownNameError
from slipstick.late import dataclass, field
from slipstick.vocabulary import LEFT_OUT
from slipstick_measure.imports.imported import ImportedSpec
from slipstick_measure.readers.reading import Reading

READ = "read"
EQUAL = "equal"
SHARES = "shares"
ANSWER = "answer"
MOST_PLACES = 5
"""Most places that the message of a loss names."""


class Loss(NamedTuple):
    """A kind of loss.

    Parameters
    ----------
    kind : EQUAL, SHARES or ANSWER
    change : what the import does in its place
    """

    kind: str
    change: str


_UNKNOWN_FIELDS = Loss(ANSWER, "fields that the reader does not know are not there")

_LOSSES_OF_COMPUTERS = {
    "core-kinds": Loss(ANSWER, "all cores are alike"),
    "uneven-domains": Loss(ANSWER, "all memories have as many cores as the largest"),
    "memory-kinds": Loss(ANSWER, "all memory is as near and as fast as that of its cores"),
}

LOSSES: Mapping[str, Mapping[str, Loss]] = {
    "lqn": {
        "priorities": Loss(ANSWER, "requests are served in the order of arrival"),
        "shares": Loss(ANSWER, "the groups of a processor share it equally"),
        "polling": Loss(ANSWER, "requests of all entries are served in the order of arrival"),
        "mixed-replies": Loss(
            ANSWER, "of several callers the first that waits goes on with a reply from a branch"
        ),
        "quorum-threads": Loss(
            ANSWER, "branches of one thread may stand for those of another thread of the task"
        ),
        "geometric-calls": Loss(
            ANSWER, "calls are made a whole number of times or once more, not geometric times"
        ),
        "queue-length": Loss(ANSWER, "no request is lost at a full queue"),
        "communication-delays": Loss(ANSWER, "requests between processors take no time"),
        "lock-order": Loss(
            ANSWER, "readers and writers pass a lock in the order of arrival, none goes first"
        ),
        "decisions": Loss(
            ANSWER, "callers wait for each reply and call once, without timeouts and retries"
        ),
        "submodels": Loss(ANSWER, "models within the model are not there"),
        "unknown-fields": _UNKNOWN_FIELDS,
        "aborts": Loss(ANSWER, "a task that turns requests away lets them wait, as any other"),
        "bursts": Loss(ANSWER, "a source of bursts is read as customers with exponential times"),
        "solver-settings": Loss(EQUAL, "settings and results of the solver"),
        "quantum": Loss(EQUAL, "processor sharing has no quantum"),
    },
    "jsim": {
        "moments": Loss(ANSWER, "a time has the mean and variance of its distribution, no more"),
        "correlation": Loss(
            ANSWER, "successive times are independent, with the mean and variance of their process"
        ),
        "regions": Loss(ANSWER, "the customers in a region are not limited"),
        "weights": Loss(ANSWER, "the classes share a server equally"),
        "arrival-variance": Loss(ANSWER, "arrivals are Poisson"),
        "turns": Loss(ANSWER, "customers leave at random, with equal probabilities"),
        "full-queues": Loss(ANSWER, "the capacity of a queue is not limited"),
        "impatience": Loss(ANSWER, "all customers wait until they are served"),
        "preparation": Loss(ANSWER, "servers begin at once, without time to change or to start"),
        "several-servers": Loss(ANSWER, "a customer takes one server"),
        "server-kinds": Loss(ANSWER, "each server of a station serves all classes"),
        "sharing-limit": Loss(ANSWER, "all customers share a server, however many there are"),
        "priorities": Loss(ANSWER, "classes share a server without ranks"),
        "quantum": Loss(ANSWER, "customers share a server without turns and their changes"),
        "unknown-fields": _UNKNOWN_FIELDS,
        "simulation-settings": Loss(EQUAL, "measures, seeds and pictures of the simulation"),
    },
    "jmva": {
        "priorities": Loss(ANSWER, "classes share the stations without ranks"),
        "regions": Loss(ANSWER, "the customers in a region are not limited"),
        "unknown-fields": _UNKNOWN_FIELDS,
        "solutions": Loss(EQUAL, "solutions and settings of the algorithm"),
    },
    "pdq": {
        "discipline": Loss(
            SHARES, "queues of several classes share the server, which has PDQ's means"
        ),
        "branches": Loss(EQUAL, "names of numbers are taken as assigned"),
    },
    "kerncraft": {
        "write-rates": Loss(ANSWER, "memory is written at the rate at which it is read"),
        "caches": Loss(EQUAL, "caches, ports and compilers; steps say what goes to memory"),
    },
    "hwloc": _LOSSES_OF_COMPUTERS,
    "lstopo": _LOSSES_OF_COMPUTERS,
    "likwid-topology": _LOSSES_OF_COMPUTERS,
    "simgrid": {
        "backbone": Loss(ANSWER, "the backbone carries the messages of all hosts at once"),
        "limiter": Loss(ANSWER, "a host sends and receives at the full rate of its link at once"),
        "other-hosts": Loss(ANSWER, "hosts outside the cluster, and their links, take no part"),
        "network-factors": Loss(ANSWER, "the platform's factors of latencies and rates are 1"),
        "disks": Loss(EQUAL, "disks and properties of hosts; no step of a model uses them"),
    },
    "calculon": {
        "small-operations": Loss(ANSWER, "operations of all sizes run at the rate of the largest"),
        "latency-once": Loss(
            ANSWER, "each message of an operation has the latency that the operation has once"
        ),
        "communication-share": Loss(ANSWER, "communication takes nothing of the processors"),
        "middle-networks": Loss(
            ANSWER, "nodes are joined by the last network, without those between it and the first"
        ),
        "second-memory": Loss(EQUAL, "memory that operations reach through the first alone"),
    },
}
"""The losses of each format, by name."""


def loss_names(format: str | None = None) -> list[str]:
    """List the names of losses that imports may leave out, for one format or all."""
    formats = LOSSES.values() if format is None else [LOSSES.get(format, {})]
    return sorted(
        {name for losses in formats for name, loss in losses.items() if loss.kind == ANSWER}
    )


def check_left_out(names: Collection[str], format: str | None) -> None:
    """Raise UnknownNameError for a name that is not the name of a loss."""
    known_losses = loss_names(format)
    for name in names:
        if name not in known_losses:
            kind_in_words = f"loss of an import from {format}" if format else "loss of an import"
            raise UnknownNameError(kind_in_words, name, known_losses)


@dataclass
class FileLosses:
    """The losses of a file, collected while it is read.

    Parameters
    ----------
    format : a key of `LOSSES`
    input_file : the file, whose hints name the losses to leave out
    lines_by_loss_and_detail : lines of each loss, by its name and its detail
    """

    format: str
    input_file: Reading
    lines_by_loss_and_detail: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def declare(self, name: str, line: int, detail: str = "") -> None:
        """Declare a loss at a line of the file.

        Parameters
        ----------
        name : in the registry of the format
        line : where it stands
        detail : what it concerns, such as the name of a task
        """
        loss = LOSSES[self.format][name]
        if loss.kind == EQUAL:
            return
        self.lines_by_loss_and_detail.setdefault(name, {}).setdefault(detail, []).append(line)

    def close(self, spec: ImportedSpec) -> ImportedSpec:
        """Add notes on the losses to the spec, and return it; raise for losses that change the
        answer unless the user leaves them out.

        Raises
        ------
        SpecError : a problem for each loss, which names it and the way out
        """
        for name, lines_by_detail in self.lines_by_loss_and_detail.items():
            loss_in_words = self._loss_in_words(name, lines_by_detail)
            line = min(map(min, lines_by_detail.values()))
            if LOSSES[self.format][name].kind == SHARES:
                spec.add_note(f"noted: {loss_in_words}")
            elif name in self.input_file.hints.leave_out:
                spec.document.setdefault(LEFT_OUT, {})[name] = loss_in_words
            else:
                message = f"cannot be kept: {loss_in_words}; import with --leave-out {name}"
                self.input_file.problems.append(
                    Problem(self.input_file.file, line, 1, name, message)
                )
        if self.input_file.problems:
            raise SpecError(self.input_file.problems)
        if LEFT_OUT in spec.document:
            spec.add_note(f"left out: {', '.join(spec.document[LEFT_OUT])}; no answer is exact")
        return spec

    def _loss_in_words(self, name: str, lines_by_detail: Mapping[str, list[int]]) -> str:
        """Return what a loss changes, and its places, in words."""
        shown_places = [
            f"{detail} (line {min(lines)})" if detail else f"line {min(lines)}"
            for detail, lines in list(lines_by_detail.items())[:MOST_PLACES]
        ]
        hidden_count = len(lines_by_detail) - len(shown_places)
        hidden_in_words = [f"{hidden_count} more"] if hidden_count > 0 else []
        return f"{LOSSES[self.format][name].change}: {', '.join([*shown_places, *hidden_in_words])}"
