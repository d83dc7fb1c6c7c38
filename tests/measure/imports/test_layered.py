"""Layered activities from LQNX: published throughputs are found again, and what has no
counterpart is named or refused.
"""

from __future__ import annotations

import random
from math import prod
from pathlib import Path
from typing import Any

import pytest

from slipstick import Simulation, load, run, solve
from slipstick.errors import SpecError, UnknownNameError
from slipstick.vocabulary import GEOMETRIC_COUNT
from slipstick_measure.imports.formats import import_spec
from slipstick_measure.imports.layered.lowering import _digit_probabilities
from slipstick_measure.measurements import Hints
from tests.examples import examples
from tests.measure.damage import damaged

SHOP = Path(__file__).parent / "files" / "activities.lqnx"


def _element(tag: str, inside: str = "", **attributes: object) -> str:
    told = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f"<{tag}{told}>{inside}</{tag}>"


def _activity(name: str, demand: object, *calls: tuple[str, float], **more: object) -> str:
    made = "".join(_element("synch-call", dest=entry, calls_mean=many) for entry, many in calls)
    return _element("activity", made, name=name, host_demand_mean=demand, **more)


def _task(name: str, *activities: str, onward: str = "", **more: object) -> str:
    entry = _element(
        "entry", onward + _element("entry-phase-activities", "".join(activities)), name=name
    )
    return _element("task", entry, name=name, **{"scheduling": "fcfs", **more})


def _unlimited(name: str, demand: float) -> str:
    """Return a task with a thread for each request."""
    return _task(name, _activity(name, demand), scheduling="inf")


def _model(*processors: tuple[str, int, str]) -> str:
    made = (
        _element("processor", task, name=f"p{index}", scheduling=kind, multiplicity=servers)
        for index, (kind, servers, task) in enumerate(processors)
    )
    return _element("lqn-model", "".join(made))


def _users(many: int, think: float, demand: float, *calls: tuple[str, float]) -> str:
    return _task(
        "user",
        _activity("u", demand, *calls),
        scheduling="ref",
        multiplicity=many,
        think_time=think,
    )


USER = _users(2, 1, 0, ("s", 1))


def _row(*names: str) -> str:
    parts = ([_element("activity", name=each)] for each in names)
    first, second = (_element(tag, *each) for tag, each in zip(("pre", "post"), parts, strict=True))
    return _element("precedence", first + second)


ONE_AFTER_THE_OTHER = _element(
    "task",
    _element("entry", name="s", type="NONE")
    + _element(
        "task-activities",
        _activity("a", 5, bound_to_entry="s") + _activity("b", 1) + _row("a", "b"),
    ),
    name="t",
    scheduling="fcfs",
)
PUBLISHED = {
    "20-multiserver": (
        _model(
            ("inf", 1, _users(4, 0, 1, ("s", 1))),
            ("inf", 1, _task("s", _activity("s", 1), multiplicity=2)),
        ),
        1.7,
        1e-9,
    ),
    "machine-repair": (
        _model(("inf", 1, _users(4, 5, 0, ("s", 1))), ("fcfs", 2, _unlimited("s", 1))),
        0.66208,
        1e-5,
    ),
    "two-tasks": (
        _model(
            ("ps", 1, _users(100, 10, 1, ("s", 1), ("r", 1))),
            ("ps", 1, _unlimited("s", 3) + _unlimited("r", 1)),
        ),
        0.25,
        1e-9,
    ),
    "tutorial-10": (
        _model(("ps", 1, _users(10, 5, 1, ("s", 2.5))), ("ps", 1, _unlimited("s", 0.8))),
        0.497049,
        1e-6,
    ),
    # The exact chain of the two activities; the printed 0.08876 is that of one exponential service.
    "serial": (
        _model(("ps", 1, _users(10, 100, 1.6, ("s", 1))), ("ps", 1, ONE_AFTER_THE_OTHER)),
        0.0892045,
        1e-3,
    ),
}
"""Models with the throughput printed for them, and the relative error of mean value against it."""


def _imported(text: str, tmp_path: Path) -> tuple[Any, list[str]]:
    (tmp_path / "model.lqnx").write_text(text)
    spec = import_spec([tmp_path / "model.lqnx"])
    spec.write(tmp_path / "model.yaml")
    return load(str(tmp_path / "model.yaml")), spec.notes


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_has_its_printed_throughput(name: str, tmp_path: Path) -> None:
    text, printed, error = PUBLISHED[name]
    model, _ = _imported(text, tmp_path)
    assert solve(model)["throughput"] == pytest.approx(printed, rel=error)


@pytest.mark.turns(8)
def test_a_graph_of_activities_is_a_nesting_of_steps(tmp_path: Path) -> None:
    """By hand, of one user alone: 4 + .2, .05, two branches side by side, .05 + 3 x .025 + .01,
    a choice, and reply.
    """
    document = import_spec([SHOP]).document
    first, *_ = (each for each in document["cycle"] if "choose" in each)
    (held,) = (each for each in first["choose"][0]["do"] if "hold" in each)
    assert held["hold"] == "shop-threads"
    assert document["resources"]["shop-threads"] == {"permits": 3}
    kinds = [next(iter(set(each) & {"fork", "choose"}), "step") for each in held["body"]]
    rounds = kinds[3:].index("step")
    # A loop of three rounds in the mean: the binary digits of a geometric number, each a choice.
    assert kinds == ["step", "fork", "step", *["choose"] * rounds, "step", "choose", "step"]
    assert rounds == 7
    model, words = _imported(
        SHOP.read_text().replace('multiplicity="6"', 'multiplicity="1"'), tmp_path
    )
    read = 0.06 + 0.5 * 0.02
    alone = 4 + 0.2 + 0.05 + 0.05 + 3 * 0.025 + 0.01 + 0.25 * 0.02 + 0.75 * (0.04 + read) + 0.005
    time = solve(model)["time"] or 0.0
    # The join waits for the longer branch: between the longer of the means, and their sum.
    assert alone + 0.1 + 2 * read < time < alone + 0.1 + 2 * read + 0.15
    assert "left out" not in " ".join(words)


def _problems(path: Path, write: bool) -> list[tuple[int, str]]:
    """Return what is wrong with a file; nothing if it makes a spec."""
    try:
        spec = import_spec([path])
        assert not write or spec.text()
    except SpecError as error:
        return [(each.line, each.message) for each in error.problems]
    return []


@pytest.mark.turns(4)
def test_damaged_graphs_make_a_spec_or_are_refused_by_name(tmp_path: Path) -> None:
    text, chance, outcomes = SHOP.read_text(), random.Random(15), set()
    for variant in range(examples(200)):
        (tmp_path / "x.lqnx").write_bytes(damaged(text, chance)[1])
        problems = _problems(tmp_path / "x.lqnx", write=variant % 10 == 0)
        outcomes.add("refused" if problems else "made")
        assert len(set(problems)) == len(problems)
        assert all(0 < len(message) < 500 for _, message in problems)
    assert outcomes == {"made", "refused"}


def test_two_kinds_of_callers_become_groups(tmp_path: Path) -> None:
    others = _task("batch", _activity("b", 2, ("s", 1)), scheduling="ref")
    model, _ = _imported(
        _model(("inf", 1, USER), ("fcfs", 1, _task("s", _activity("s", 1)) + others)), tmp_path
    )
    answer = {
        name: value.value or 0.0 for name, value in solve(model, method="mean-value").values.items()
    }
    # The server is busy at most all of the time, and both are slowed down.
    assert answer["throughput[user]"] + answer["throughput[batch]"] <= 1.0
    assert answer["throughput[batch]"] < 1 / 3


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("processors", "message"),
    [
        ([("inf", 1, _users(2, 1, 0, ("f", 1)))], "there is no entry 'f'"),
        (
            [("inf", 1, USER), ("fcfs", 1, _task("s", _activity("s", 1, ("s", 1))))],
            "'s' calls itself, by way of user, s",
        ),
        (
            [("fcfs", 1, _task("s", _activity("s", 1)))],
            "there is no reference task that calls others",
        ),
        ([("inf", 1, _users(2, 0, 0))], "a cycle without any time has no throughput"),
        (
            [("inf", 1, USER), ("fcfs", 1, _task("s", _activity("s", 1), scheduling="semaphore"))],
            "is no wait or signal",
        ),
        ([("inf", 1, USER), ("fcfs", 1, _task("s", _activity("s", "x")))], "'x' is not a number"),
        (
            [
                ("inf", 1, _users(2, 1, 0, *(("s", 1),) * 50)),
                (
                    "fcfs",
                    1,
                    _task("s", _activity("s", 1, *(("r", 1),) * 50))
                    + _task("r", _activity("r", 1)),
                ),
            ],
            "more than 3,000 steps",
        ),
    ],
)
def test_what_is_no_layered_activity_is_refused(
    processors: list[tuple[str, int, str]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=message):
        _imported(_model(*processors), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<pre-AND>", "<pre-OR>"),
        ('"price"/></post-AND>', '"prize"/></post-AND>'),
        ('prob="0.25"', 'prob="0.5"'),
    ],
)
def test_a_graph_that_is_no_nesting_is_refused(old: str, new: str, tmp_path: Path) -> None:
    text = SHOP.read_text().replace(old, new)
    text = text.replace("</pre-AND>", "</pre-OR>") if new == "<pre-OR>" else text
    with pytest.raises(
        SpecError, match=r"no nesting of sequences|add up to 1\.25|'prize', which does not exist"
    ):
        _imported(text, tmp_path)


SECOND = _model(
    ("inf", 1, _users(1, 0, 1, ("s", 1))),
    ("fcfs", 1, _task("s", _activity("s", 0.5, phase=1), _activity("t", 0.5, phase=2))),
)
ASYNCHRONOUS = _activity("w", 1).replace("></activity>", '><asynch-call dest="s"/></activity>')
SENT = _model(
    ("inf", 1, _task("user", ASYNCHRONOUS, scheduling="ref")),
    ("fcfs", 1, _task("s", _activity("s", 0.25))),
)


@pytest.mark.turns(4)
def test_a_thread_goes_on_after_its_reply_exactly(tmp_path: Path) -> None:
    """By hand, of two states of the server beside the client: 0.6 /s, where 0.5 /s would wait for
    the second phase.
    """
    model, _ = _imported(SECOND, tmp_path)
    answer = solve(model, method="markov-chain")
    assert answer["throughput[user]"] == pytest.approx(0.6, rel=1e-9)
    assert solve(model)["throughput[user]"] == pytest.approx(0.6, rel=0.03)


@pytest.mark.turns(4)
def test_a_request_without_reply_does_not_keep_its_caller(tmp_path: Path) -> None:
    """By hand: an M/M/1 queue of load 0.25 beside a client of 1 s."""
    model, _ = _imported(SENT, tmp_path)
    answer = solve(model, simulation=Simulation(seed=5, precision=0.01))
    assert answer["throughput[user]"] == pytest.approx(1.0, rel=0.02)
    assert answer["throughput[requests_s]"] == pytest.approx(1.0, rel=0.02)
    assert answer["utilization[p1]"] == pytest.approx(0.25, rel=0.03)


def test_numbers_of_calls_are_geometric() -> None:
    """The digits of a geometric number: their chances give its distribution."""
    for mean in (0.04, 0.5, 1.0, 2.5, 40.0):
        chances = list(_digit_probabilities(mean))
        assert sum(2**power * chance for power, chance in enumerate(chances)) == pytest.approx(
            mean, rel=1e-12
        )
        more = mean / (1 + mean)
        for number in range(min(2 ** len(chances), 64)):
            digits = (number >> power & 1 for power in range(len(chances)))
            found = prod(p if digit else 1 - p for p, digit in zip(chances, digits, strict=True))
            assert found == pytest.approx((1 - more) * more**number, rel=1e-4, abs=1e-9)


def test_calls_in_many_layers_stay_geometric(tmp_path: Path) -> None:
    """Their digits would need over 3,000 steps, so that they are geometric repeats; by hand, of one
    user alone: 1 + 0.01 (3 + 9 + 27 + 81 + 243).
    """
    depth = 5
    layers = [
        (
            "fcfs",
            1,
            _task(f"s{k}", _activity(f"s{k}", 0.01, *([(f"s{k + 1}", 3)] if k < depth else []))),
        )
        for k in range(1, depth + 1)
    ]
    model, words = _imported(_model(("inf", 1, _users(1, 0, 1, ("s1", 3))), *layers), tmp_path)
    assert not any("geometric" in word for word in words)
    assert GEOMETRIC_COUNT in model.constructs
    assert 1 / (solve(model)["throughput"] or 0) == pytest.approx(4.63, rel=1e-9)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("text", "loss", "change"),
    [
        (
            _model(
                ("inf", 1, USER),
                (
                    "hol",
                    1,
                    _task("s", _activity("s", 1), priority=3) + _task("r", _activity("r", 1)),
                ),
            ),
            "priorities",
            "in the order of arrival: p1 (line 1)",
        ),
        (
            _model(("inf", 1, USER), ("fcfs", 1, _task("s", _activity("s", 1), queue_length=4))),
            "queue-length",
            "no request is lost",
        ),
        (
            _model(("inf", 1, USER), ("fcfs", 1, _task("s", _activity("s", 1)))).replace(
                '"ref"', '"burst"'
            ),
            "bursts",
            "exponential",
        ),
    ],
)
def test_a_loss_is_refused_by_name_unless_it_is_left_out(
    text: str, loss: str, change: str, tmp_path: Path
) -> None:
    (tmp_path / "model.lqnx").write_text(text)
    with pytest.raises(SpecError, match=f"{loss}: cannot be kept: .*--leave-out {loss}"):
        import_spec([tmp_path / "model.lqnx"])
    spec = import_spec([tmp_path / "model.lqnx"], Hints(leave_out=(loss,)))
    assert list(spec.document["left_out"]) == [loss]
    assert change in spec.document["left_out"][loss]
    spec.write(tmp_path / "model.yaml")
    answer = solve(str(tmp_path / "model.yaml"))
    assert not answer.exact
    assert list(answer.left_out) == [loss]


def test_equal_priorities_are_no_loss(tmp_path: Path) -> None:
    server = _task("s", _activity("s", 1), priority=3)
    _, words = _imported(_model(("inf", 1, USER), ("hol", 1, server)), tmp_path)
    assert "left out" not in " ".join(words)


def test_a_name_that_no_loss_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.lqnx").write_text(SECOND)
    with pytest.raises(UnknownNameError, match="priorities"):
        import_spec([tmp_path / "model.lqnx"], Hints(leave_out=("priority",)))


TEXT = """$n = [1, 2]
$s = $n / 4
P 2
  p home i
  p cpu s 0.1
-1
T 2
  t user r go -1 home m $n z 1
  t disk n read -1 cpu i
-1
E 2
  s go 0 -1
  y go read 1 -1
  f go 1 -1
  s read {$s * 2} -1
-1
"""


def test_variables_are_parameters_and_ranges_are_axes_of_a_study(tmp_path: Path) -> None:
    """By hand: one user of 0.5 s and 1 s, and two of 1 s and 1 s: 2 / (1 + 1.5)."""
    (tmp_path / "model.lqn").write_text(TEXT)
    spec = import_spec([tmp_path / "model.lqn"])
    assert spec.document["parameters"]["s"] == "n / 4"
    assert spec.axes == [{"parameters.n": ["1", "2"]}]
    spec.write(tmp_path / "model.yaml")
    study = spec.study("model.yaml")
    study.write(tmp_path / "study.yaml")
    sweep = run(tmp_path / "study.yaml").sweeps[0]
    assert list(sweep.column("throughput")) == pytest.approx([1 / 1.5, 2 / 2.5])
    set_beside = import_spec([tmp_path / "model.lqn"], Hints(settings={"n": "2"}))
    set_beside.write(tmp_path / "two.yaml")
    assert not set_beside.axes
    assert solve(str(tmp_path / "two.yaml"))["throughput"] == pytest.approx(2 / 2.5)
    with pytest.raises(SpecError, match="no ranges of values; leave --study out"):
        set_beside.study("two.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("$n / 4", "$m / 4", r"2:1: parameter: '\$m' has no value in the file; .* --set m=NUMBER"),
        ("$n / 4", "rand() / 4", "cannot be computed"),
        ("[1, 2]", "[1 : 1e9, 1]", "needs 1 to 1000 values"),
        (
            "p cpu s",
            "p cpu x",
            "'x', where a scheduling of cpu, one of f, i, r, h, p, c, s, is due",
        ),
        ("t disk n", "t disk w", "a scheduling of disk, one of"),
        ("s go 0 -1", "s gone 0 -1", "there is no entry 'gone'"),
        ("y go read 1 -1", "y go rad 1 -1", "there is no entry 'rad'"),
        ("s go 0 -1", "s go 0 1 2 3 -1", "-1 after the third phase"),
        ("-1\nT 2", "-1\nC 1\n$n = 2\n-1\nT 2", "changes its own parameters until they settle"),
        ("s read", "O user none 2\n  s read", "'O', where a or A or c"),
    ],
)
def test_mistakes_in_a_text_are_named_at_their_line(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in TEXT
    (tmp_path / "model.lqn").write_text(TEXT.replace(old, new))
    with pytest.raises(SpecError, match=message):
        import_spec([tmp_path / "model.lqn"])


LOOPS = (Path(__file__).parents[2] / "shelf" / "lqnx" / "loops.lqnx").read_text()


@pytest.mark.parametrize(
    ("program", "users", "axes", "note"),
    [
        pytest.param(
            "$read = 1; foreach ( n in [1, 2] ) { $users = 2; $read = $read * n; solve(); }",
            "2",
            [],
            "'$read' changes with each pass of a loop",
            id="what changes by itself is no range",
        ),
        pytest.param(
            "$read = 1; $users = 4; for ( n = 1; n <= 2; n = n + 1 ) { $users = n; } solve();",
            "4",
            [],
            "from here on the program is not run",
            id="a loop without a solution is none",
        ),
        pytest.param(
            "$read = 1; $users = 4; for ( n = 1; n <= 2; n = n + 1 ) form = n; solve();",
            "4",
            [],
            "from here on the program is not run",
            id="a name that begins like a loop is none",
        ),
        pytest.param(
            "for ( $read = 1; $read <= 2; $read = $read + 1 )\nfor ( $users = 3; $users < 5;"
            " $users = $users + 1 ) { if ( solve() ) { println( 1 ); } }",
            "3",
            [{"parameters.read": ["1", "1", "2", "2"], "parameters.users": ["3", "4"] * 2}],
            "",
            id="loops without braces",
        ),
    ],
)
def test_loops_of_a_program_are_ranges_only_where_they_say_all(
    program: str, users: str, axes: list[Any], note: str, tmp_path: Path
) -> None:
    begin, end = LOOPS.index("<![CDATA[") + len("<![CDATA["), LOOPS.index("]]>")
    (tmp_path / "model.lqnx").write_text(LOOPS[:begin] + program + LOOPS[end:])
    spec = import_spec([tmp_path / "model.lqnx"])
    assert spec.document["parameters"]["users"]["value"] == users
    assert spec.axes == axes
    assert note in " ".join(spec.notes)


@pytest.mark.turns(4)
def test_damaged_texts_make_a_spec_or_are_refused_by_name(tmp_path: Path) -> None:
    chance, outcomes = random.Random(16), set()
    for variant in range(examples(200)):
        (tmp_path / "x.lqn").write_bytes(damaged(TEXT, chance)[1])
        problems = _problems(tmp_path / "x.lqn", write=variant % 10 == 0)
        outcomes.add("refused" if problems else "made")
        assert all(0 < len(message) < 500 for _, message in problems)
    assert outcomes == {"made", "refused"}


REPLICATED = """P 2
  p home i r 2
  p cpu s 0.1 r 2
-1
T 2
  t user r go -1 home m 3 z 1 r 2
  t disk n read -1 cpu i r 2
-1
E 2
  s go 0 -1
  y go read 1 -1
  f go 1 -1
  s read 0.5 -1
-1
"""


def test_a_model_of_which_all_is_replicated_is_that_many_models(tmp_path: Path) -> None:
    """Each copy is a cycle of three customers at one server: 1.5789 /s by mean value analysis."""
    path = tmp_path / "model.lqn"
    path.write_text(REPLICATED)
    copies = import_spec([path]).document
    assert set(copies["groups"]) == {"user_1", "user_2"}
    assert set(copies["resources"]) == {"cpu_1", "cpu_2"}
    path.write_text(REPLICATED.replace(" r 2", ""))
    single = import_spec([path]).document
    assert set(single["resources"]) == {"cpu"}
    assert single["population"] == {"processors": 3}


@pytest.mark.parametrize(("levels", "is_refused"), [(8, False), (70, True)])
def test_joins_that_wait_for_nothing_count_as_levels(
    levels: int, is_refused: bool, tmp_path: Path
) -> None:
    """Of two branches one ends, and a join of one branch leads the other to the next fork."""

    def some(tag: str, *names: str, **more: float) -> str:
        return _element(tag, "".join(_element("activity", "", name=name, **more) for name in names))

    activities = [_activity("a0", 1, bound_to_entry="s")]
    precedences = []
    for level in range(levels):
        activities += [_activity(f"{letter}{level}", 1) for letter in "bc"]
        activities.append(_activity(f"a{level + 1}", 1))
        fork = some("post-OR", f"b{level}", f"c{level}", prob=0.5)
        precedences.append(_element("precedence", some("pre", f"a{level}") + fork))
        onward = some("pre-OR", f"b{level}") + some("post", f"a{level + 1}")
        precedences.append(_element("precedence", onward))
    inside = _element("task-activities", "".join([*activities, *precedences]))
    entry = _element("entry", name="s", type="NONE")
    task = _element("task", entry + inside, name="s", scheduling="fcfs")
    text = _model(("inf", 1, USER), ("fcfs", 1, task))
    if is_refused:
        with pytest.raises(SpecError, match="nested too deep, or go round in a circle"):
            _imported(text, tmp_path)
    else:
        _imported(text, tmp_path)
