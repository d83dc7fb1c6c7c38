"""Views of traces: what must add up for any trace, and contention beside a walk along every
path.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slipstick.errors import ModelError, SpecError, UnknownNameError
from slipstick.method.simulation.flatten import timeline
from slipstick.model.activity import delay, fork, hold, service, then
from slipstick.model.system import Model, closed_model
from slipstick.results.study import Timeline, TimelineInterval
from slipstick.results.words import Words
from slipstick.schema.library import Library
from slipstick_measure.account import measured
from slipstick_measure.report.traces import draw_traces, traces_headline
from slipstick_measure.traces.readers import read_trace
from slipstick_measure.traces.trace import ProgramTrace, TraceColumns, trace_of_timeline
from slipstick_measure.traces.views import (
    SwitchedNetwork,
    access_matrix,
    checked_window_count,
    concurrency,
    conflicts_by_stage,
    network_of_machine,
    times_by_window,
    value_names,
    views_of,
)
from slipstick_pictures.timeline import chrome_trace_json
from tests.examples import examples

FILES = Path(__file__).parent / "files"

TIMES = st.integers(0, 400).map(lambda each: each / 7)
SPANS = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from(["busy", "work", "lock:door", "barrier"]), TIMES, TIMES
    ),
    min_size=1,
    max_size=25,
)
ACCESSES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 8), TIMES, st.integers(1, 9)), max_size=20
)


def made(
    spans: list[tuple[int, str, float, float]], accesses: list[tuple[int, int, float, int]]
) -> ProgramTrace:
    """Make a trace of processors 0 to 3."""
    found = TraceColumns("made")
    for processor in range(4):
        found.number_of_name(found.number_by_lane, processor)
    found.add_span(0, found.number_of_name(found.number_by_label, "busy"), 0.0, 1.0)
    for processor, label, start, length in spans:
        found.add_span(
            processor, found.number_of_name(found.number_by_label, label), start, start + length
        )
    for processor, target, time, count in accesses:
        found.add_access(processor, str(target), time, count)
    return found.finished(["0", "1", "2", "3"]).book()


def write_records(trace: ProgramTrace, path: Path) -> None:
    """Write a trace as a table of records, in the order of time."""
    rows = []
    columns = zip(
        *(getattr(trace.spans, name).tolist() for name in trace.spans.__slots__), strict=True
    )
    for processor, label, start, end in columns:
        rows.append((start, 1, trace.processors[processor], "enter", trace.labels[label], ""))
        rows.append((end, 0, trace.processors[processor], "leave", "", ""))
    if trace.objects is not trace.labels:
        used = zip(
            *(getattr(trace.accesses, name).tolist() for name in trace.accesses.__slots__),
            strict=True,
        )
        rows += [
            (at, 2, trace.processors[p], "access", trace.objects[to], repr(many))
            for p, to, at, many in used
        ]
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["time [s]", "processor", "event", "destination", "count"])
        table.writerows([repr(row[0]), *row[2:]] for row in sorted(rows))


def program() -> Model:
    """Return a model whose processors work, wait for a lock, and take two ways at once."""
    ways = fork(
        then(service("disk", 2.0), delay(0.4, name="late", component="late")),
        delay(2.1, name="check"),
    )
    body = (
        delay(3.0, name="work", scv=1.0)
        >> hold("door", delay(1.0, name="inside", component="lock"))
        >> ways
    )
    return closed_model(body, processors=4)


def booked_by_hand(spans: list[tuple[int, str, float, float]]) -> Counter[tuple[int, str]]:
    """Book each stretch between two ends to the span that began last, of those that began
    together to the one that ends first.
    """
    found = Counter[tuple[int, str]]()
    for processor in range(4):
        own = [
            (start, -(start + length), at, label)
            for at, (where, label, start, length) in enumerate([(0, "busy", 0.0, 1.0), *spans])
            if where == processor
        ]
        for one, other in pairwise(sorted({abs(each) for span in own for each in span[:2]})):
            if inside := [span for span in own if span[0] <= one and -span[1] >= other]:
                found[processor, max(inside)[3]] += other - one  # type: ignore[assignment]
    return found


@pytest.mark.turns(4)
@settings(max_examples=examples(60), deadline=None)
@given(SPANS, ACCESSES)
def test_views_of_any_trace_add_up(
    spans: list[tuple[int, str, float, float]], accesses: list[tuple[int, int, float, int]]
) -> None:
    trace = made(spans, accesses)
    views = views_of(trace, window_width=trace.duration / 7.3)
    assert {name for name in views.answer.units if "[" in name} <= value_names(trace, None, None)
    booked = trace.spans.ends - trace.spans.starts
    useful = float(
        booked[
            np.isin(
                trace.spans.label_indices,
                [trace.labels.index(each) for each in trace.useful_labels],
            )
        ].sum()
    )
    totals = Counter[tuple[int, str]]()
    for processor, label, length in zip(
        trace.spans.processor_indices, trace.spans.label_indices, booked, strict=True
    ):
        totals[int(processor), trace.labels[label]] += length
    assert dict(totals) == pytest.approx(dict(booked_by_hand(spans)), rel=1e-9)
    assert {*trace.useful_labels} == {*trace.labels} - {"lock:door", "barrier"}
    times, active = concurrency(trace)
    assert views.answer["largest_concurrency"] == max(active)
    integral = float(active @ np.diff(np.append(times, trace.duration)))
    assert integral == pytest.approx(useful, rel=1e-9)
    assert float(views.concurrency @ np.arange(len(views.concurrency))) == pytest.approx(
        useful, rel=1e-9
    )
    length = np.minimum(np.diff(views.edges), trace.duration - views.edges[:-1])
    assert float((views.utilization * length).sum()) == pytest.approx(useful, rel=1e-9)
    assert (views.utilization <= 1 + 1e-9).all()
    assert sum(float(each.sum()) for each in views.work.values()) == pytest.approx(
        float(booked.sum()), rel=1e-9
    )
    assert (views.answer["speedup"] or 0.0) * trace.duration == pytest.approx(useful, rel=1e-9)
    counts = access_matrix(trace)
    if accesses:
        rows, columns = Counter[int](), Counter[str]()
        for processor, target, _, count in accesses:
            rows[processor] += count
            columns[str(target)] += count
        assert counts.sum(axis=1).tolist() == [rows[each] for each in range(4)]
        assert counts.sum(axis=0).tolist() == [columns[each] for each in trace.objects]
        assert views.answer["hottest_object"] == max(columns.values())
    else:
        assert counts.sum() == len(spans) + 1


@settings(max_examples=examples(25), deadline=None)
@given(SPANS, ACCESSES)
def test_a_trace_written_and_read_gives_the_same_account(
    tmp_path_factory: pytest.TempPathFactory,
    spans: list[tuple[int, str, float, float]],
    accesses: list[tuple[int, int, float, int]],
) -> None:
    trace, path = made(spans, accesses), tmp_path_factory.mktemp("x") / "x.csv"
    written = [*trace.spans.ends, *(trace.accesses.times if accesses else [])]
    assume(
        max(written) == trace.duration
    )  # a span of no length may be the last; its end is not written
    write_records(trace, path)
    again = read_trace(path)
    assert set(again.processors) <= set(trace.processors)
    one, other = views_of(trace), views_of(again)
    for name in ("time", "accesses", "concurrency"):
        if name != "accesses" or trace.objects is not trace.labels:
            assert other.answer[name] == pytest.approx(one.answer[name], rel=1e-9)
    for name, each in one.work.items():
        assert float(other.work[name].sum()) == pytest.approx(float(each.sum()), rel=1e-9)


def test_a_simulated_run_written_and_read_gives_the_same_account(tmp_path: Path) -> None:
    found = timeline(program(), cycles=6)
    (tmp_path / "run.json").write_text(chrome_trace_json(found))
    here, read = trace_of_timeline(found, "model"), read_trace(tmp_path / "run.json")
    (one,), (other,) = (measured(each.measurements()).answers for each in (here, read))
    assert other.account == pytest.approx(one.account, rel=1e-9, abs=1e-12)
    assert here.processors == tuple(f"processor {each}" for each in range(4))
    assert here.duration == found.complete_until < found.until
    assert here.accesses.times.max() < here.duration
    assert max(start for _, _, start in found.visits) > here.duration  # which are left out
    # All that a processor does is known up to there, and each instant is booked once.
    assert one.account["idle"] == pytest.approx(0.0, abs=1e-9)
    assert {"lock:door", "wait:disk"} <= one.account.keys()
    views = views_of(here)
    assert (views.objects, views.answer["accesses[all,disk]"]) == (
        ("disk",),
        views.answer["accesses"],
    )
    rows = [views.answer[f"accesses[processor {each},disk]"] or 0.0 for each in range(4)]
    assert rows == [views.answer[f"accesses[processor {each},all]"] for each in range(4)]
    assert sum(rows) == views.answer["accesses"]
    assert min(rows) > 3
    waiting = views_of(read).contention
    assert views_of(read).answer.units["contention[door]"] == "s"
    assert float(waiting["door"].sum()) == pytest.approx(4 * one.account["lock:door"], rel=1e-6)


def test_visits_to_a_monitor_are_counted_as_far_as_all_processors_are_known() -> None:
    """The second processor is followed to 1.5 s, so the time and the second visit of the first
    after that are left out.
    """
    done = (
        (0, "take", 0.0, 1.0),
        (1, "step", 0.0, 1.0),
        (1, "take", 1.0, 1.5),
        (0, "step", 1.0, 2.0),
        (0, "take", 2.0, 3.0),
    )
    spans = tuple(
        TimelineInterval(member, 0, label, start, end) for member, label, start, end in done
    )
    told = {"take": "monitor", "step": "busy"}
    trace = trace_of_timeline(
        Timeline(spans, {}, 3.5, components=told, places={"take": "pool"}), "model"
    )
    assert (trace.duration, trace.accesses.times.tolist(), trace.objects) == (
        1.5,
        [0.0, 1.0],
        ("pool",),
    )
    (answer,) = measured(trace.measurements()).answers
    assert answer.account == pytest.approx({"busy": 0.75, "monitor": 0.75, "idle": 0.0})


def test_a_fork_is_booked_to_the_branch_that_ends_last() -> None:
    trace = trace_of_timeline(
        timeline(
            closed_model(
                fork(delay(2.0, name="a", component="a"), delay(1.0, name="b", component="b")),
                processors=1,
            ),
            cycles=2,
        ),
        "fork",
    )
    (answer,) = measured(trace.measurements()).answers
    assert answer.account["a"] == pytest.approx(trace.duration)
    assert "b" not in answer.account


def walked(network: SwitchedNetwork, source: int, target: int) -> list[tuple[int, int, int]]:
    """Walk from a processor to a module: shuffle the lines, then let the switch choose by the
    next digit.
    """
    k, line, outputs = network.radix, source, []
    for stage in range(network.stage_count):
        top, rest = divmod(line, k ** (network.stage_count - 1))
        line = rest * k + top
        switch = line // k
        line = switch * k + target // k ** (network.stage_count - 1 - stage) % k
        outputs.append((stage, switch, line % k))
    assert line == target
    return outputs


@pytest.mark.turns(4)
def test_contention_is_that_of_a_walk_along_every_path() -> None:
    chance = random.Random(5)
    for _ in range(1000):
        network = SwitchedNetwork(chance.choice([2, 3, 4]), chance.randrange(1, 4), 1.0)
        ports = network.radix**network.stage_count
        requests = [
            (
                chance.randrange(ports),
                chance.randrange(ports),
                chance.choice([0.0, 1.5, 1.75]),
                chance.randrange(1, 3),
            )
            for _ in range(chance.randrange(1, 12))
        ]
        wanted: dict[tuple[int, tuple[int, int, int]], set[int]] = {}
        for source, target, time, _ in requests:
            for output in walked(network, source, target):
                if source != target or output[0] == network.stage_count - 1:
                    wanted.setdefault((int(time), output), set()).add(source)
        beyond = [Counter[int]() for _ in range(network.stage_count)]
        for (slot, (stage, _, _)), who in wanted.items():
            beyond[stage][slot] += len(who) - 1
        sources, targets, times, counts = (
            np.array(column) for column in zip(*requests, strict=True)
        )
        found = conflicts_by_stage(network, sources, targets, times, counts.astype(float))
        for (slots, many), each in zip(found.values(), beyond, strict=True):
            assert [many[slots == slot].sum() for slot in (0.0, 1.0)] == [each[0], each[1]]
            assert many.sum() == each.total()


def test_a_permutation_passes_and_a_hot_module_does_not() -> None:
    network, all_, now = SwitchedNetwork(4, 3, 1e-6), np.arange(64), np.zeros(64, dtype=np.float64)
    shifted = conflicts_by_stage(network, all_, (all_ + 5) % 64, now, np.ones(64))
    assert sum(each.sum() for _, each in shifted.values()) == 0
    hot = conflicts_by_stage(network, all_, np.full(64, 9), now, np.ones(64))
    assert hot["module"][1].sum() == 63
    apart = conflicts_by_stage(
        network, all_, np.full(64, 9), (all_ * 2e-6).astype(np.float64), np.ones(64)
    )
    assert sum(each.sum() for _, each in apart.values()) == 0


def test_contention_on_a_machine() -> None:
    network = network_of_machine("bbn-gp1000", Library())
    assert (network.radix, network.stage_count, network.ports) == (4, 4, 256)
    assert network.slot_time == pytest.approx(
        4e-6
    )  # four stages there and back, the word and the module
    trace = made(
        [(p, "busy", 0.0, 9.0) for p in range(4)],
        [(p, 7, 1.0, 2) for p in range(4)] + [(2, 5, 6.5, 3)],
    )
    views = views_of(trace, window_width=1.0, network=network)
    assert (views.answer["contention[module]"], views.answer.units["contention[module]"]) == (
        3.0,
        "1",
    )
    assert np.flatnonzero(views.contention["module"]).tolist() == [1]
    assert views.contention["module"][1] == 3.0
    at_the_end = made([(p, "busy", 0.0, 9.0) for p in range(4)], [(p, 7, 8.5, 2) for p in range(4)])
    last = views_of(at_the_end, window_width=1.0, network=network).contention["module"]
    assert last.tolist() == [0.0] * 8 + [3.0]
    assert views.answer["remote_accesses"] == 11.0
    assert views.conflicts
    assert network_of_machine("sequent-symmetry-s81", Library()).ports is None
    with pytest.raises(
        SpecError, match="has no shared memory, so no network between processors and modules"
    ):
        network_of_machine("rs6000-43p-atm", Library())
    with pytest.raises(
        ModelError,
        match="'busy' is no number of a processor or module of the machine, which are 0 to 255",
    ):
        views_of(made([(0, "busy", 0.0, 1.0)], []), network=network)


def test_a_lone_processor_has_no_conflicts_and_its_own_module_is_not_remote() -> None:
    network = network_of_machine("bbn-gp1000", Library())
    trace = made([(0, "busy", 0.0, 9.0)], [(0, 7, 1.0, 10), (0, 0, 1.0, 5)])
    answer = views_of(trace, window_width=1.0, network=network).answer
    assert answer["contention[module]"] == 0.0
    assert (answer["remote_accesses"], answer["accesses"]) == (10.0, 15.0)


def test_parts_of_a_trace_are_chosen() -> None:
    trace = made(
        [(1, "lock:door", 2.0, 6.0), (1, "work", 4.0, 2.0)],
        [(1, 5, 3.0, 2), (1, 5, 5.0, 8), (2, 5, 9.0, 1)],
    )
    trace = replace(
        trace, waiting={"door": (np.array([0.0, 2.0, 4.0, 8.0]), np.array([0.0, 1.0, 2.0, 0.0]))}
    )
    part = trace.chosen_part("1", ["work", "lock:door"], 3.0, 5.0)
    views = views_of(part)
    assert part.accesses.times.tolist() == [0.0]
    assert views.answer["contention[door]"] == pytest.approx(
        1.0 + 2.0
    )  # one waits from 3 to 4 s, two from 4 to 5 s
    assert (part.processors, part.duration) == (("1",), 2.0)
    assert views.answer["concurrency"] == pytest.approx(1.0)
    assert views.answer["accesses"] == 2.0
    with pytest.raises(UnknownNameError, match="no processor in the trace 'x'"):
        trace.chosen_part("x")
    with pytest.raises(
        UnknownNameError, match="no activity in the trace 'wrok'; did you mean 'work'"
    ):
        trace.chosen_part(None, ["wrok"])
    with pytest.raises(ModelError, match="the trace lasts 9 s; there is nothing from 12 s to 9 s"):
        trace.chosen_part(first_time=12.0)


def test_what_is_too_much_for_a_view_is_refused() -> None:
    trace = made([(0, "busy", 0.0, 1.0)], [])
    with pytest.raises(
        ModelError, match="1,000,000 windows are too many; at most 10,000 are shown"
    ):
        views_of(trace, window_width=trace.duration / 1e6)
    many = TraceColumns("many")
    for each in range(3000):
        many.add_span(
            many.number_of_name(many.number_by_lane, each),
            many.number_of_name(many.number_by_label, f"a{each}"),
            0.0,
            1.0,
        )
    with pytest.raises(
        ModelError,
        match=(
            "3,000 processors and 3,000 objects are too many for a matrix; choose some with --only"
        ),
    ):
        checked_window_count(many.finished([str(each) for each in range(3000)]).outline)


def test_time_in_windows_is_parted_exactly() -> None:
    trace = made([(2, "work", 1.0, 5.0)], [])
    edges = np.array([0.0, 1.5, 3.0, 4.5, 6.0])
    own = trace.spans.select(trace.spans.processor_indices == 2)
    assert times_by_window(own, own.label_indices * 0, 1, edges).tolist() == [[0.5, 1.5, 1.5, 1.5]]


def test_accesses_to_the_module_of_another_number_are_remote() -> None:
    """Of seven accesses, four go to the module of the processor's own number."""
    trace = made([], [(0, 0, 0.1, 1), (1, 1, 0.2, 3), (2, 0, 0.3, 2), (3, 2, 0.4, 1)])
    assert views_of(trace, has_own_modules=True).answer["remote_accesses"] == 3.0
    assert views_of(trace).answer.find("remote_accesses") is None


def test_matrices_of_few_columns_stand_side_by_side_under_the_titles_of_their_cases() -> None:
    narrow = replace(made([], [(0, 0, 0.1, 1), (2, 0, 0.3, 2)]), file="word")
    wide = made([], [(k % 4, k % 9, 0.1 + k / 50, 1) for k in range(20)])
    traces = {
        "run-1": views_of(narrow, has_own_modules=True),
        "run-2": views_of(narrow),
        "run-3": views_of(wide),
    }
    figure = draw_traces(traces, "matrix", "Accesses", words=Words(titles={"word": "one word"}))
    heads = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert len(figure.subfigs) == 2
    assert [len(part.axes) for part in figure.subfigs] == [4, 2], "with their bars of colours"
    assert heads[0].replace("\n", " ") == "run-1: 3 accesses, 2 of them to other nodes"
    one = draw_traces(
        {"run-1": traces["run-1"], "run-3": traces["run-3"]},
        "matrix",
        "t",
        words=Words(titles={"word": "one word"}),
    )
    assert one.axes[0].get_title(loc="left").split(":")[0] == "one word"
    assert figure.get_figwidth() == 9
    assert draw_traces({"a": traces["run-2"]}, "matrix", "t").get_figwidth() < 5


def test_all_processors_of_traces_with_the_same_wait_are_accounted_for_in_their_sentence() -> None:
    """Of four processors over ten seconds, in the second trace two have nothing to do."""
    ends = [(processor, "busy", 6.0, 4.0) for processor in range(4)]
    long_waits = [(0, "lock:a", 1.0, 5.0)]
    long_waits += [(processor, "lock:a", 0.0, 6.0) for processor in range(1, 4)]
    short_waits = [(0, "lock:b", 1.0, 5.0), (1, "lock:b", 0.0, 4.0)]
    early_ends = [(2, "idle", 0.0, 10.0), (3, "idle", 0.0, 10.0), (1, "idle", 4.0, 2.0), *ends[:2]]
    views = {
        "a": views_of(made([*long_waits, *ends], [])),
        "b": views_of(made([*short_waits, *early_ends], [])),
    }
    assert traces_headline(views, Words()) == (
        "on average waiting for the lock takes 2.3 of 4 processors for a (1.7 do useful work) and"
        " 0.9 for b (0.9 do useful work, 2.2 are idle or have ended)"
    )
