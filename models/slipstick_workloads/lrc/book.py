"""The book: where each part of the protocol writes what it did, phase by phase."""

from __future__ import annotations

from slipstick.program.counts import Phase, Tally


class Book:
    """The tallies of the phase that runs, and those of the phases that ended."""

    def __init__(self, processors: int) -> None:
        self.tallies = [Tally() for _ in range(processors)]
        self.phases: list[Phase] = []

    def end_phase(self, name: str) -> None:
        """Put the phase that runs away under its name and begin a new one."""
        self.phases.append(Phase(name, tuple(self.tallies)))
        self.tallies = [Tally() for _ in self.tallies]

    def send(self, kind: str, source: int, target: int, size: int) -> None:
        """Count a message on both sides."""
        sent, received = self.tallies[source].sent, self.tallies[target].received
        number, total = sent.get(kind, (0, 0))
        sent[kind] = number + 1, total + size
        number, total = received.get(kind, (0, 0))
        received[kind] = number + 1, total + size

    def is_empty(self) -> bool:
        """Say whether nothing was counted since the last barrier."""
        return all(tally == Tally() for tally in self.tallies)
