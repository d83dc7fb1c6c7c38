"""The glossary on the command line, and that it knows the words of models and answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import slipstick
from slipstick.cli.main import main
from slipstick.vocabulary import BARRIERS, LOCKS, METHODS, STATION_DISCIPLINES
from tests.examples import sample

TEXT = (Path(slipstick.__file__).parent / "documentation" / "glossary.md").read_text("utf-8")
ANSWERS = (
    *(
        "throughput",
        "speed-up",
        "efficiency",
        "processors lost",
        "utilization",
        "queue length",
        "waiting time",
    ),
    *(
        "response time",
        "residence time",
        "loss probability",
        "think time",
        "account",
        "share",
        "gradient",
    ),
)


def test_the_glossary_is_printed_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["glossary"]) == 0
    assert capsys.readouterr().out == TEXT


def test_a_term_gives_the_entries_that_mention_it_its_own_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["glossary", "waiting time"]) == 0
    assert capsys.readouterr().out.startswith("waiting time: ")
    assert main(["glossary", "utilisaton"]) == 2
    assert "did you mean 'utilization'?" in capsys.readouterr().err


WORDS_OF_THE_FIELD = (
    *("Jackson", "Gordon Newell", "BCMP", "Erlang", "Little", "Amdahl", "Gustafson", "USL"),
    *("Kingman", "Pollaczek", "PASTA", "Kendall", "M/M/1", "M/M/c", "M/G/1", "fork join"),
    *("balanced job bounds", "Schweitzer", "product form", "round robin", "knee", "percentile"),
    *("hyperexponential", "Coxian", "LogP", "alpha-beta", "BSP", "weak scaling", "Karp-Flatt"),
    *("scaled speedup", "Brent", "false sharing", "NUMA", "TTFT", "all-reduce", "load balancer"),
    *("thread pool", "timeout", "retry", "LQN", "Petri net", "Markov chain", "Monte Carlo"),
    *("rate limiter", "token bucket", "jitter", "load shedding", "overflow", "unequal servers"),
    *("capacity of the system", "rush hour", "ageing", "waiting longer", "E/M/1", "hedged"),
    *("lifetime", "13B", "GPU memory", "mutex", "message queue", "memory GPU", "checkpoint"),
    *("AIC", "MTBF", "Moore", "headroom", "autoscaling", "SLO", "tail latency", "backpressure"),
    *("p50", "p95", "median", "SLA", "QPS", "RPS", "IOPS", "goodput", "offered load", "makespan"),
    *("coherence", "crosstalk", "roofline", "arithmetic intensity", "allreduce", "straggler"),
    *("load imbalance", "tail at scale", "thundering herd", "queue depth", "head-of-line blocking"),
    *("prefill", "decode", "pipeline parallelism", "expert parallelism", "bulkhead", "cache miss"),
    *("availability", "MTTR", "Pareto", "heavy tail", "queueing delay", "spinlock", "open loop"),
    *("continuous batching", "granularity"),
)


# A search of the list reads each shipped file, and one of the glossary a page.
@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["list", "--search"], sample(WORDS_OF_THE_FIELD, least=16)),
        (["glossary"], WORDS_OF_THE_FIELD),
    ],
    ids=["list", "glossary"],
)
def test_words_of_the_field_are_found(
    command: list[str], words: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [word for word in words if main([*command, word]) != 0] == []
    capsys.readouterr()
    assert main([*command, "Jackson"]) == 0
    assert "Jackson network" in capsys.readouterr().out.replace("jackson", "Jackson")


def test_the_glossary_has_every_word_of_models_and_answers() -> None:
    methods = [name for names in METHODS.values() for name in names]
    words = [*STATION_DISCIPLINES, *methods, *LOCKS, *BARRIERS, *ANSWERS]
    assert [word for word in dict.fromkeys(words) if word not in TEXT.lower()] == []


def test_customers_who_wait_are_found_by_their_symbol(capsys: pytest.CaptureFixture[str]) -> None:
    """Layered networks, whose short name begins alike, come after."""
    assert main(["glossary", "Lq"]) == 0
    assert capsys.readouterr().out.startswith("Lq: mean number of customers that wait at a station")
    assert main(["list", "--search", "Lq"]) == 0
    assert "customers that wait" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "first"), [("ring", "collective operation"), ("latency", "latency:")]
)
def test_a_word_is_found_from_its_beginning(
    word: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sharing is not a ring, and tail latency comes after latency."""
    assert main(["glossary", word]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(first)
    assert "sharing" not in printed
    assert "**" not in printed
