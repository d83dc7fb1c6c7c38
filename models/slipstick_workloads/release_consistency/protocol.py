"""The parameters of the protocol: writers of a page, time of write notices, targets of requests,
sizes of messages.
"""

from __future__ import annotations

from typing import Literal

from slipstick.errors import ModelError
from slipstick.late import dataclass, field


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the parts of messages [B].

    The requests for diffs, pages and locks and the lock's reply are the paper's (Tables 3 to 6); so
    is the diff of one word, 20 B. The layouts of a diff and a write notice are not printed; these
    are ours. A full page makes a diff of 4112 B here, of 4120 B there.

    Parameters
    ----------
    request : for diffs of a page or for a whole page
    diff : head of a diff
    run : head of each run of neighbouring words in a diff
    lock_request : sent to the manager, and forwarded
    lock_reply : without the intervals that come with it
    barrier : a barrier's message without the intervals that come with it
    interval : head of an interval: its processor and number
    vector : one component of an interval's vector timestamp, of which there is one for each
        processor
    notice : one page named in an interval
    acknowledgement : of notices sent at an eager release
    """

    request: int = 12
    diff: int = 12
    run: int = 4
    lock_request: int = 24
    lock_reply: int = 4
    barrier: int = 16
    interval: int = 4
    vector: int = 2
    notice: int = 4
    acknowledgement: int = 4

    def diff_size(self, word_mask: int) -> int:
        """Return the size of the diff of a set of words [B]; each run of neighbouring words has a
        head.

        >>> Sizes().diff_size(0b1), Sizes().diff_size(0b1011)
        (20, 32)
        """
        runs = (word_mask & ~(word_mask << 1)).bit_count()
        return self.diff + self.run * runs + 4 * word_mask.bit_count()

    def intervals_size(self, intervals: int, notices: int, processors: int) -> int:
        """Return the size that intervals with their write notices add to a message [B]."""
        return intervals * (self.interval + self.vector * processors) + notices * self.notice


@dataclass(frozen=True, slots=True)
class Protocol:
    """A release-consistent shared memory.

    Parameters
    ----------
    writers : ``multiple`` processors may write one page at once, with twins and diffs, or only a
        ``single`` one, its owner, from which others fetch the whole page
    release : ``lazy``: write notices are sent with the next acquire; ``eager``: a release sends
        them to all holders of the page and waits for their acknowledgements
    grant : the reply to a request for a lock carries the write notices of all intervals ``known``
        to the giver when it answers, so an interval lasts over releases that no request follows; or
        only of those that come ``before`` the giver's release of this lock, where each release
        ends an interval and protects its pages. Then each of several locks whose data share a
        page makes the page invalid again, and has its own fault and diffs
    ask : a fault requests diffs of the ``latest`` writers only, those whose last unseen interval
        precedes no other writer's, which pass on the earlier diffs that they hold; or of ``every``
        writer with an unseen interval. For data that migrates under a lock, the first sends one
        request, the second one to each writer
    start : at the start all pages are ``absent`` except at the processor that touches them first,
        or ``valid`` everywhere
    collect_above : garbage is collected at a barrier when twins, write notices and diffs of a
        processor take more than this [B]; the diffs are its own and, if the latest writers pass
        diffs on, those that it received
    sizes : of the parts of messages

    Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, appendix; "diff requests in
    practice have few parts" there, which holds only for requests to the latest writers, as
    TreadMarks has them: Keleher, Dwarkadas, Cox, Zwaenepoel, USENIX Winter 1994. The appendix says
    that a grant has "any write notices that are associated with the lock", and that a release
    records them, which is ``before``; as recalled, not looked up, TreadMarks sends what the giver
    knows, and lazy release as first defined what comes before the release. Eager release and
    single writers: Keleher, Cox, Zwaenepoel, ISCA 1992; Keleher, ICDCS 1996.
    """

    writers: Literal["multiple", "single"] = "multiple"
    release: Literal["lazy", "eager"] = "lazy"
    grant: Literal["known", "before"] = "known"
    ask: Literal["latest", "every"] = "latest"
    start: Literal["absent", "valid"] = "absent"
    collect_above: int = 4 * 2**20
    sizes: Sizes = field(default_factory=Sizes)

    def __post_init__(self) -> None:
        allowed_by_name = {
            "writers": ("multiple", "single"),
            "release": ("lazy", "eager"),
            "grant": ("known", "before"),
            "ask": ("latest", "every"),
            "start": ("absent", "valid"),
        }
        for name, allowed_values in allowed_by_name.items():
            if getattr(self, name) not in allowed_values:
                raise ModelError(
                    f"{name} of a protocol is {' or '.join(allowed_values)}, got"
                    f" {getattr(self, name)!r}"
                )
        if not self.collect_above > 0:
            raise ModelError(f"collect_above must be more than 0 B, got {self.collect_above}")
