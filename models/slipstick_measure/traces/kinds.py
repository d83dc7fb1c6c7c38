"""What the tracks and the spans of traces of programs are: names of waits, marks that are no
activity, and kinds of tracks, as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from slipstick.late import late_pattern

THREAD, STREAM = "thread", "GPU stream"
"""Kinds of tracks that are processors of an account."""

LOST_TIME_WORDS = ("wait", "lock", "entry", "task", "barrier", "idle", "unknown")
"""First words of the names under which an account books lost time."""

WAITS: tuple[str, ...] = (
    # GPUs: the host waits for a stream, a stream for other GPUs
    *(r"(cuda|hip)(Stream|Device|Event|Ctx)Synchronize", r"cu(Stream|Ctx|Event)Synchronize"),
    *(r"hsa_signal_wait\w*", r"(nccl|rccl)(Dev)?Kernel\w*", r"(nccl|rccl):\w+", r"ncclGroupEnd"),
    *(r"nccl_?(all_?reduce|all_?gather|reduce_?scatter|broadcast|send|recv)\w*",),
    # messages
    *(r"P?MPIX?_\w+", r"shmem_(barrier|wait|sync|quiet|fence)\w*", r"gloo:\w+", r"upc_barrier\w*"),
    *(r"gaspi_(wait|barrier|notify_waitsome)\w*",),
    # words of people
    r"(?i:wait(ing|s)?|idle|idling|blocked|stall(ed|ing)?)([ _-]\w.*)?",
    # threads
    *(r"(__)?(sys_)?futex(_wait\w*|_q)?", r"do_futex\w*"),
    *(r"(__)?pthread_(mutex_(timed)?lock|cond_(timed)?wait|barrier_wait|join|rwlock_\w*lock)",),
    *(r"(__)?sem_(timed)?wait", r"(std::)?condition_variable::wait\w*", r"(std::)?mutex::lock"),
    *(
        r"__kmpc_(barrier|critical|ordered)\w*",
        r"GOMP_(barrier|critical_start)\w*",
        r"gomp_\w*wait\w*",
    ),
    *(r"\.?(\w+\.)*(R?Lock|lock|Semaphore|SemLock|_SemLock)\.(acquire|__enter__)",),
    *(r"(\w+\.)*(Condition|Event|Barrier|condition|event|barrier)\.wait", r"(\w+\.)*Thread\.join"),
    *(r"(\w+\.)*(queue|Queue|SimpleQueue)\.get", r"(\w+\.)*lock\.acquire", r"_?thread\.lock\.\w+"),
    *(r"(epoll_|p)?(wait|poll|select|pselect|pause)", r"select\.\w+", r"time\.sleep"),
    *(r"(clock_)?nanosleep", r"u?sleep", r"wait4|waitpid|waitid", r"(\w+\.)*Process\.join"),
)
"""Patterns of names of waits, of the whole name up to a file or arguments in brackets."""

ANNOTATIONS = frozenset(
    (
        *("user_annotation", "gpu_user_annotation", "Trace", "overhead_annotation"),
        "cuda_sync",
    )
)
"""Categories of spans that mark a stretch of time for readers, over what goes on in it; of GPUs
also the stretches in which a stream or a whole device is waited for, which the host's spans hold.
"""

STREAM_CATEGORIES = frozenset(
    (
        *("kernel", "gpu_memcpy", "gpu_memset", "gpu_op", "cuda_kernel", "memcpy", "memset"),
        "cuda_profiler_range",
    )
)
"""Categories of spans that a stream of a GPU does, in lower case."""

_PATTERN = late_pattern("|".join(f"(?:{pattern})" for pattern in WAITS))
_ARGUMENTS_AT_END = late_pattern(r"(?<!\s)\s*+[(<\[].*$", re.DOTALL)


def is_wait(name: str) -> bool:
    """Return whether an activity is a wait by its name.

    >>> [
    ...     is_wait(name)
    ...     for name in (
    ...         "cudaStreamSynchronize",
    ...         "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
    ...     )
    ... ]
    [True, True]
    >>> [is_wait(name) for name in ("MPI_Recv", "lock:table", "lock.acquire", "sgemm", "waiter")]
    [True, True, True, False, False]
    """
    if name.partition(":")[0] in LOST_TIME_WORDS:
        return True
    return _PATTERN.fullmatch(_ARGUMENTS_AT_END.sub("", name).strip()) is not None


def named_waits(labels: Iterable[str]) -> list[str]:
    """Return the labels that are waits because they are names of a library's functions, and not
    because of slipstick's words for waits.
    """
    return [
        label
        for label in labels
        if is_wait(label) and label.partition(":")[0] not in LOST_TIME_WORDS
    ]
