"""Activity files: every construct as a file and in Python, and what does not fit together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slipstick.api import dump
from slipstick.errors import SpecError
from slipstick.expression.nodes import COUNT, RATE, TIME, Expr, Number, Parameter
from slipstick.model.activity import (
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
)
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Barrier,
    ClosedPopulation,
    Group,
    Lock,
    Model,
    OpenPopulation,
    PhasedPopulation,
    Station,
    TaskPool,
    buffer,
)
from slipstick.model.tasks import Loop
from slipstick.schema.kinds.activity import ItemSpec, OperationSpec
from tests.closed_form import solve
from tests.specs import DESIGN, activity, built, refused, valid

ACTIVITIES = Path(__file__).parents[3] / "specs/activities"
RESOURCES = "resources: {bus: {}, door: {lock: fifo}, meet: {barrier: tree, cost: 5 us}}"
HEAD = f"population: {{processors: 2}}\n{RESOURCES}"


def model(folder: Path, text: str, **given: str) -> Model:
    found = built(folder, text, **given).model
    assert isinstance(found, Model)
    return found


def cycle(folder: Path, *items: str) -> Activity:
    population = model(folder, activity(*items, head=HEAD)).population
    assert isinstance(population, ClosedPopulation)
    return population.first.cycle


def time(path: str, seconds: float) -> Expr:
    return Parameter(path, TIME, seconds)


def count(path: str, number: float) -> Expr:
    return Parameter(path, COUNT, number)


WAITS = """activity: 1
resources:
  rw: {reader_writer_lock: fair, readers: 3}
  m: {monitor: {c: 1}}
  q: {buffer: 2, items: 1}
  s: {semaphores: {u: 1}}
  stack: {pool: fifo, trees: [[2, 0, 0]], time: 2 s, interior: 1 s, inside: 1 ms, queues: 2}
  loop: {pool: lifo, iterations: 9, chunk: 2, time: 1 s}
phases:
  - processors: 2
    cycle:
      - {hold: rw, mode: read, body: [{name: a, delay: 1 s}]}
      - {hold: m, body: [{wait: m.c}, {name: b, delay: 1 s}, {signal: m.c}]}
      - {put: q, body: [{name: c, delay: 1 s}]}
      - {get: q}
      - {wait: s.u}
      - {signal: s.u}
      - {ask: stack}
      - {ask: loop}
"""


@pytest.mark.parametrize(
    ("written", "source"), [("iterations: 9", Loop(9, 2)), ("work: [3, 0, 1]", Loop((3, 0, 1), 2))]
)
def test_waits_and_pools_are_read_and_written(written: str, source: Loop, tmp_path: Path) -> None:
    one = model(tmp_path, WAITS.replace("iterations: 9", written))
    assert one.resources["q"] == buffer(2, 1)
    pool = one.resources["loop"]
    assert isinstance(pool, TaskPool)
    assert pool.source == source
    again = model(tmp_path, dump(one))
    assert again.resources.keys() == one.resources.keys()
    assert dump(again) == dump(one)


POOL_ERRORS = [
    (
        "trees: [[2, 0, 0]]",
        "trees: [[2, 0]]",
        "resources.stack.trees: node 0 of a tree has 2 subtrees, but 1 follow it",
    ),
    ("iterations: 9, ", "", "write one of iterations, work and trees: the tasks of a pool"),
    (
        "trees: [[2, 0, 0]]",
        "trees: [[2, 0, 0]], chunk: 2",
        "chunk is of a loop; a pool of trees has none",
    ),
    (
        "iterations: 9, ",
        "iterations: 9, min_size: 2, ",
        "min_size is of trees; a pool of a loop has none",
    ),
    (
        "wait: m.c",
        "wait: m.d",
        (
            "wait('m.d') needs a semaphore, the places or items of a buffer, or a condition of a"
            " monitor"
        ),
    ),
    ("{signal: s.u}", "{name: d, delay: 1 s}", "no step signals s.u, so a wait for it never ends"),
    (
        "{buffer: 2, items: 1}",
        "{buffer: 2, items: 3}",
        "x.yaml:5:25: resources.q.items: at most as many as the buffer has places, 2; got 3",
    ),
    ("{get: q}", "{get: s}", ":15:15: phases.0.cycle.3.get: wait('s.items') needs a semaphore"),
    (
        "[{name: c, delay",
        "[{nmae: c, delay",
        "phases.0.cycle.2.body.0.nmae: unknown key; did you mean 'name'?",
    ),
    (
        "{ask: loop}",
        "{ask: lop}",
        "ask needs a pool of tasks called 'lop', which does not exist; did you mean 'loop'?",
    ),
]


@pytest.mark.parametrize(("good", "bad", "words"), POOL_ERRORS)
def test_wrong_waits_are_refused(tmp_path: Path, good: str, bad: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        model(tmp_path, WAITS.replace(good, bad, 1))
    assert words in str(caught.value)


A, B = "{name: a, delay: 1 s}", "{name: b, delay: 2 s}"


def a(path: str) -> Activity:
    return delay(time(f"{path}.a.delay", 1.0), name="a")


def b(path: str) -> Activity:
    return delay(time(f"{path}.b.delay", 2.0), name="b")


@pytest.mark.parametrize(
    ("items", "made"),
    [
        ([A], a("cycle")),
        ([A, B], a("cycle") >> b("cycle")),
        (
            ["{name: a, delay: 1 s, scv: 2, component: think, technology: wire}"],
            delay(
                time("cycle.a.delay", 1.0), name="a", scv=2.0, component="think", technology="wire"
            ),
        ),
        (["{service: bus, time: 1 s}"], service("bus", time("cycle.0.time", 1.0))),
        (
            ["{name: x, service: own, time: 1 s}"],
            service("own", time("cycle.x.time", 1.0), name="x"),
        ),
        ([f"{{hold: door, body: [{A}]}}"], hold("door", a("cycle.0.body"))),
        ([f"{{fork: [[{A}], [{B}]]}}"], fork(a("cycle.0.fork.0"), b("cycle.0.fork.1"))),
        (
            [f"{{choose: [{{p: 0.25, do: [{A}]}}, {{p: 0.75, do: [{B}]}}]}}"],
            choose(
                (count("cycle.0.choose.0.p", 0.25), a("cycle.0.choose.0.do")),
                (count("cycle.0.choose.1.p", 0.75), b("cycle.0.choose.1.do")),
            ),
        ),
        ([f"{{repeat: 3, body: [{A}]}}"], repeat(count("cycle.0.repeat", 3.0), a("cycle.0.body"))),
        (
            [f"{{repeat: 3, scv: 0.5, body: [{A}]}}"],
            repeat(count("cycle.0.repeat", 3.0), a("cycle.0.body"), scv=count("cycle.0.scv", 0.5)),
        ),
        (
            [f"{{repeat: [25 %, 0.75], body: [{A}]}}"],
            repeat(
                [count(f"cycle.0.repeat.{n}", p) for n, p in enumerate((0.25, 0.75))],
                a("cycle.0.body"),
            ),
        ),
        (
            [
                (
                    f"{{pipeline: 7, name: line, stages: [{{serial: [{A}], name: s}}, {{parallel:"
                    f" [{B}]}}]}}"
                )
            ],
            pipeline(
                [
                    serial(a("cycle.line.stages.s.serial"), name="s"),
                    parallel(b("cycle.line.stages.1.parallel")),
                ],
                count("cycle.line.pipeline", 7.0),
                name="line",
            ),
        ),
        (["{barrier: meet}"], barrier("meet")),
        (["{barrier: meet, parties: 1}"], barrier("meet", parties=1)),
        # The number of processors is known of the whole file only.
        (["{barrier: meet, parties: 2}"], barrier("meet", parties=2)),
    ],
)
def test_a_construct_is_that_of_python(tmp_path: Path, items: list[str], made: Activity) -> None:
    assert cycle(tmp_path, *items) == made


def test_uneven_pipelines_have_a_body_for_each_item(tmp_path: Path) -> None:
    text = (
        f"{{pipeline: 2, stages: [{{serial_each: [[{A}], [{B}]]}}, {{parallel_each: [[{{delay: 3"
        " s}], [{delay: 4 s}]]}]}"
    )
    stages = "cycle.0.stages"
    assert cycle(tmp_path, text) == pipeline(
        [
            serial(a(f"{stages}.0.serial_each.0"), b(f"{stages}.0.serial_each.1")),
            parallel(
                delay(time(f"{stages}.1.parallel_each.0.0.delay", 3.0)),
                delay(time(f"{stages}.1.parallel_each.1.0.delay", 4.0), name="delay.2"),
            ),
        ],
        2,
    )


def test_the_activity_of_the_design_is_read(tmp_path: Path) -> None:
    assert valid(tmp_path, DESIGN) == "activity"
    made = model(tmp_path, DESIGN)
    assert made.resources == {
        "bus": Station(),
        "door": Lock(),
        "meet": Barrier("central", time("resources.meet.cost", 5e-6)),
    }
    answer = solve(made)
    # 9 + 1 + max(1, 2 + 1) + 0.3 x 10 + 3 x 0.5 + (2 + 4 + 6 x 2) ms + 5 us
    assert answer["time"] == pytest.approx(35.505e-3, rel=1e-12)
    assert answer.account["lock"] == pytest.approx(1e-3)


def test_all_kinds_of_population(tmp_path: Path) -> None:
    item = "{name: a, delay: 1 s}"
    assert model(tmp_path, activity(item)).population == ClosedPopulation(
        (Group("", count("population.processors", 2.0), a("cycle")),)
    )
    arriving = model(tmp_path, activity(item, head="population: {arrivals: 0.3 /s}")).population
    assert arriving == OpenPopulation(Parameter("population.arrivals", RATE, 0.3), a("cycle"))
    phase = (
        "[{repeat: 4, processors: 8, cycle: [{name: a, delay: 1 s}]}, {processors: 2, cycle:"
        " [{name: b, delay: 2 s}]}]"
    )
    at_root = model(tmp_path, f"activity: 1\nphases: {phase}\n")
    inside = model(tmp_path, f"activity: 1\npopulation: {{phases: {phase}}}\n")
    assert isinstance(at_root.population, PhasedPopulation)
    assert [str(each.processors) for each in at_root.population.phases] == [
        "phases.0.processors",
        "phases.1.processors",
    ]
    assert str(at_root.population.phases[1].repeat) == "phases.1.repeat"
    assert solve(at_root).account == solve(inside).account
    assert solve(at_root)["time"] == solve(inside)["time"] == 4 * 1.0 + 2.0


def test_parameters_may_stand_in_times_and_counts(tmp_path: Path) -> None:
    head = (
        "parameters: {unit: 2 ms, parts: 4, twice: 2 * unit, rate: 0.5 /s}\npopulation:"
        " {processors: 2 * parts}\n" + RESOURCES
    )
    text = activity(
        "{delay: twice}",
        "{name: x, service: bus, time: 'max(unit, twice) / 2'}",
        "{repeat: parts - 1, body: [{name: y, delay: (unit + twice) * 2}]}",
        "{choose: [{p: 1 / parts, do: [{name: z, delay: 1 / rate}]}, {p: 1 - 1 / parts, do: []}]}",
        head=head,
    )
    answer = solve(model(tmp_path, text))
    assert answer["time"] == pytest.approx(4e-3 + 2e-3 + 3 * 12e-3 + 0.25 * 2.0, rel=1e-12)
    assert answer.share["time"]["parameters.unit"] > 0
    assert "parameters.twice" not in answer.share["time"]
    changed = solve(model(tmp_path, text, parameters__unit="4 ms"))
    assert changed["time"] == pytest.approx(2 * 42e-3 + 0.5, rel=1e-12)


def test_a_technology_scales_a_class_of_steps(tmp_path: Path) -> None:
    text = activity("{name: a, delay: 1 s, technology: wire}", B) + "technology: {wire: 0.5}\n"
    assert solve(model(tmp_path, text))["time"] == 2.5


def test_defaults_are_those_of_the_format(tmp_path: Path) -> None:
    made = model(tmp_path, activity("{delay: 1 s}", "{service: own, time: 1 s}", "{delay: 1 s}"))
    assert [(each.name, each.component, each.technology, each.scv) for each in made.steps] == [
        ("delay", "busy", "application", 0.0),
        ("own", "busy", "application", 0.0),
        ("delay.2", "busy", "application", 0.0),
    ]
    assert made.useful == ("busy",)
    assert model(tmp_path, activity("{delay: 1 s}", head=HEAD)).resources["bus"] == Station(
        1, "fcfs"
    )
    meeting = model(
        tmp_path,
        activity(
            "{barrier: m}", head="population: {processors: 2}\nresources: {m: {barrier: tree}}"
        ),
    )
    assert meeting.resources["m"] == Barrier("tree", Number(0.0, TIME))


def test_a_path_goes_by_name_or_by_number(tmp_path: Path) -> None:
    text = activity("{name: work, delay: 9 ms}", "{name: twice, delay: 1 ms}", "{delay: 2 ms}")
    for path in ("cycle__work__delay", "cycle__0__delay"):
        found = built(tmp_path, text, **{path: "5 ms"})
        assert found.parameters["cycle.work.delay"].value == 5e-3
        assert list(found.parameters) == [
            "population.processors",
            "cycle.work.delay",
            "cycle.twice.delay",
            "cycle.2.delay",
        ]


REPEATED = """\
activity: 1
population: {processors: 4}
resources: {memory: {discipline: ps, count: 2}, table: {lock: fifo, count: 2}}
cycle:
  - {name: read, service: memory, time: 1 us}
  - {name: first, service: memory.0, time: 2 us}
  - {hold: table, body: [{name: crit, delay: 3 us}]}
"""


def test_a_step_at_a_repeated_resource_uses_one_of_them_at_random(tmp_path: Path) -> None:
    found = model(tmp_path, REPEATED)
    assert found.resources == {f"memory.{k}": Station(discipline="ps") for k in range(2)} | {
        f"table.{k}": Lock() for k in range(2)
    }
    read, crit = (
        time("cycle.read.time", 1e-6),
        delay(time("cycle.2.body.crit.delay", 3e-6), name="crit"),
    )
    assert found.population.bodies[0] == (
        choose(*((0.5, service(f"memory.{k}", read, name=f"read.{k}")) for k in range(2)))
        >> service("memory.0", time("cycle.first.time", 2e-6), name="first")
        >> choose(*((0.5, hold(f"table.{k}", crit)) for k in range(2)))
    )
    again = dump(found)
    assert "{name: read, service: memory, time: 1e-06 s}" in again
    assert "table: {lock: fifo, count: 2}" in again
    assert dump(model(tmp_path, again)) == again


FANNED = """activity: 1
population: {processors: 2}
resources: {shard: {count: 4}, door: {lock: fifo, count: 2}}
cycle:
  - {name: find, service: shard, time: 1 us, fan_out: 4, join: 3}
  - {name: half, service: shard, time: 2 us, fan_out: 2}
  - {hold: door, fan_out: 2, body: [{name: crit, delay: 3 us}]}
  - {name: any, service: shard, time: 4 us, fan_out: 1}
"""


def test_a_fan_out_uses_copies_side_by_side_in_equal_parts(tmp_path: Path) -> None:
    found = model(tmp_path, FANNED)
    times = {
        name: time(f"cycle.{name}.time", seconds)
        for name, seconds in {"find": 1e-6, "half": 2e-6, "any": 4e-6}.items()
    }

    def at(name: str, *numbers: int) -> list[Activity]:
        return [service(f"shard.{k}", times[name], name=f"{name}.{k}") for k in numbers]

    crit = delay(time("cycle.2.body.crit.delay", 3e-6), name="crit")
    assert found.population.bodies[0] == (
        fork(*at("find", 0, 1, 2, 3), join=count("cycle.find.join", 3))
        >> choose((0.5, fork(*at("half", 0, 1))), (0.5, fork(*at("half", 2, 3))))
        >> fork(*(hold(f"door.{k}", crit) for k in range(2)))
        >> choose(*((0.25, each) for each in at("any", 0, 1, 2, 3)))
    )
    again = dump(found)
    assert "{name: find, service: shard, time: 1e-06 s, fan_out: 4, join: 3}" in again
    assert "{name: half, service: shard, time: 2e-06 s, fan_out: 2}" in again
    assert "{name: any, service: shard, time: 4e-06 s}" in again
    assert dump(model(tmp_path, again)) == again


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        (
            "fan_out: 2}",
            "fan_out: 3}",
            (
                "a fan_out of 3 divides the copies of a resource into equal parts, and shard has 4;"
                " give it a count that is a multiple of 3"
            ),
        ),
        ("fan_out: 4, ", "", "join at shard says how many copies are waited for; give it fan_out"),
    ],
)
def test_a_fan_out_of_unequal_parts_is_refused(
    tmp_path: Path, good: str, bad: str, words: str
) -> None:
    (said,) = refused(tmp_path, FANNED.replace(good, bad, 1))
    assert said.endswith(words)


def test_one_of_a_repeated_resource_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, REPEATED.replace("memory.0", "memory.2")) == [
        (
            "x.yaml:6:28: cycle.1.service: first needs a station called 'memory.2', which does "
            "not exist; did you mean 'memory.1'?"
        )
    ]


def test_a_step_may_be_done_twice_if_it_is_the_same(tmp_path: Path) -> None:
    head = "parameters: {t: 1 s}\npopulation: {processors: 2}"
    text = activity("{name: a, delay: t}", "{name: a, delay: t}", head=head)
    assert solve(model(tmp_path, text)).account == {"busy": 2.0}


UNREAD = [
    (["{delay: wrok}"], "", ["6:13: cycle.0.delay: there is no name 'wrok'; did you mean 'work'?"]),
    (
        ["{delay: 2 * parts}"],
        "",
        [
            (
                "2:33: parameters.parts: 3 lacks its unit; write '3 s' or '3 ms': "
                "cycle.0.delay wants a [s]"
            )
        ],
    ),
    (
        ["{repeat: work, body: [{delay: work}]}"],
        "",
        [
            (
                "6:14: cycle.0.repeat: work gives a [s], but a [1] is wanted; divide by a time, as "
                "in '/ 1 s'"
            )
        ],
    ),
    (
        ["{delay: work +}"],
        "",
        ["6:13: cycle.0.delay: a number, a name or '(' is wanted here, got the end"],
    ),
    (
        ["{delay: (3 us + work)}"],
        "",
        [
            (
                "6:13: cycle.0.delay: '3 us' holds time; name it under parameters, such as"
                " extra: 3 us, and write extra here, so that its share can be computed"
            )
        ],
    ),
    (
        ["{delay: 3 us + work}"],
        "",
        [
            (
                "6:13: cycle.0.delay: '3 us' holds time; name it under parameters, such as"
                " extra: 3 us, and write extra here, so that its share can be computed"
            )
        ],
    ),
    (
        ["{name: a, delay: work}", "{name: a, delay: 2 * work}"],
        "",
        ["7:12: cycle.1.name: another step is called a; give each a name of its own"],
    ),
    (
        [
            "{pipeline: 2, name: p, stages: [{serial: [{delay: work}]}]}",
            "{pipeline: 3, name: p, stages: [{serial: [{delay: work}]}]}",
        ],
        "",
        ["7:25: cycle.1.name: another pipeline is called p; give each a name of its own"],
    ),
    (
        ["{pipeline: 3, stages: [{serial_each: [[{delay: work}], [{delay: work}]]}]}"],
        "",
        ["6:5: cycle.0: stage delay has 2 bodies, one for each item, but the pipeline has 3 items"],
    ),
    (
        [
            (
                "{pipeline: 2, name: p, stages: [{serial: [{delay: work}], name: s}, {serial: "
                "[{delay: work}], name: s}]}"
            )
        ],
        "",
        ["6:5: cycle.0: the stages of pipeline p need names of their own; used twice: s"],
    ),
    (
        ["{choose: [{p: 0.5, do: []}, {p: 0.4, do: []}]}"],
        "",
        ["6:5: cycle.0: the probabilities of choose must add up to 1, got 0.9"],
    ),
    (
        ["{service: bos, time: work}"],
        "",
        [
            (
                "6:15: cycle.0.service: bos needs a station called 'bos', which does not "
                "exist; did you mean 'bus'?"
            )
        ],
    ),
    (
        ["{service: door, time: work}"],
        "",
        ["6:15: cycle.0.service: door needs a station, but 'door' is a lock"],
    ),
    (
        ["{hold: bus, body: [{delay: work}]}"],
        "",
        ["6:12: cycle.0.hold: hold needs a lock, permits or a monitor, but 'bus' is a station"],
    ),
    (
        ["{hold: door, permits: 2, body: [{delay: work}]}"],
        "",
        [
            (
                "6:12: cycle.0.hold: a hold takes several permits at once, and door is a lock; give"
                " it permits"
            )
        ],
    ),
    (
        ["{repeat: 2, body: [{barrier: met}]}"],
        "",
        [
            (
                "6:34: cycle.0.body.0.barrier: barrier needs a barrier called 'met', which"
                " does not exist; did you mean 'meet'?"
            )
        ],
    ),
    (
        ["{name: a, delay: work}"],
        "useful: [bussy]",
        ["7:10: useful.0: no step has the component 'bussy'; there are busy"],
    ),
    (
        ["{barrier: meet}"],
        "useful: [busy]",
        ["7:10: useful.0: no step has the component 'busy'; there are no steps"],
    ),
]


@pytest.mark.parametrize(
    ("items", "tail", "problems"), UNREAD, ids=[each[2][0][:60] for each in UNREAD]
)
def test_what_does_not_fit_is_refused_where_it_stands(
    tmp_path: Path, items: list[str], tail: str, problems: list[str]
) -> None:
    text = activity(*items, head=f"parameters: {{work: 1 ms, parts: 3}}\n{HEAD}") + tail
    assert refused(tmp_path, text) == [f"x.yaml:{each}" for each in problems]


def test_all_that_does_not_fit_comes_at_once(tmp_path: Path) -> None:
    head = (
        "parameters: {work: 1 ms, odd: 2 * wrok, more: odd + 1}\npopulation: {processors:"
        " parts}\nresources: {door: {lock: fifo}}"
    )
    text = activity(
        "{delay: odd}",
        "{hold: dor, body: [{delay: q}]}",
        "{service: bus, time: work * work}",
        head=head,
    )
    assert refused(tmp_path, text) == [
        "x.yaml:2:31: parameters.odd: there is no name 'wrok'; did you mean 'work'?",
        (
            "x.yaml:3:26: population.processors: there is no name 'parts'; known: work; write a"
            " number, or the name of a parameter"
        ),
        (
            "x.yaml:7:12: cycle.1.hold: hold needs a lock, permits or a monitor called 'dor', which"
            " does not exist; did you mean 'door'?"
        ),
        (
            "x.yaml:7:32: cycle.1.body.0.delay: there is no name 'q'; known: work; write '5 us', or"
            " the name of a parameter"
        ),
        (
            "x.yaml:8:15: cycle.2.service: bus needs a station called 'bus', which does not exist;"
            " known: door, own, other, each-other"
        ),
        "x.yaml:8:26: cycle.2.time: work * work gives a [s^2], but a [s] is wanted",
    ]


def test_what_is_nested_too_deep_for_a_path_is_refused_where_it_stands(tmp_path: Path) -> None:
    item = "{name: a, delay: 1 s}"
    for number in range(5):
        item = f"{{pipeline: 2, name: {'p' * 60}{number}, stages: [{{serial: [{item}]}}]}}"
    problems = refused(tmp_path, activity(item))
    path = "cycle." + "p" * 54
    assert problems[0].endswith(
        f": the path '{path[:56]}... is too long; use shorter names, or nest less"
    )
    assert all(each.startswith("x.yaml:4:") for each in problems)


@pytest.mark.parametrize(
    ("resource", "meant"),
    [
        ("{permit: 4}", "permits"),
        ("{lok: fifo}", "lock"),
        ("{bariers: central}", "barrier"),
        ("{server: 2}", "servers"),
    ],
)
def test_a_misspelt_key_of_a_resource_names_the_key_of_its_kind(
    resource: str, meant: str, tmp_path: Path
) -> None:
    head = f"population: {{processors: 2}}\nresources: {{pool: {resource}}}"
    (problem,) = refused(tmp_path, activity("{name: work, delay: 9 s}", head=head))
    assert problem.endswith(f"unknown key; did you mean {meant!r}?")


def kinds(spec: type[ItemSpec]) -> set[str]:
    """Return the keys of the kinds of steps; those that begin something general have none."""
    mine = {vars(spec)["key"]} if "key" in vars(spec) else set()
    return (
        set() if issubclass(spec, OperationSpec) else mine.union(*map(kinds, spec.__subclasses__()))
    )


SHOWING = (
    *("tour", "buffer-and-monitor", "task-pool", "connection-pool", "replicated-store"),
    *("early-reply", "hedged-reads"),
)


def test_seven_shipped_activities_show_every_step_that_needs_no_machine() -> None:
    shown: set[str] = set()
    for name in SHOWING:
        text = (ACTIVITIES / f"{name}.yaml").read_text()
        shown |= {key for key in kinds(ItemSpec) if re.search(rf"\b{key}:", text)}
    assert shown == kinds(ItemSpec)


OUTSIDE_ITS_HOLD = """\
activity: 1
population: {processors: 3}
resources: {pool: {permits: 2}, disk: {}}
cycle:
- hold: pool
  body: [{name: write, service: disk, time: 1 s}]
- choose:
  - p: 1
    do:
    - {reply: pool}
"""


@pytest.mark.parametrize(
    ("item", "path", "line_number"),
    [
        ("{reply: pool}", "cycle.1.choose.0.do.0", 10),
        ("{name: rest, delay: 1 s, think: true}", "cycle.1.choose.0.do.0", 10),
    ],
)
def test_what_only_the_whole_model_tells_of_an_item_is_reported_at_the_item(
    item: str, path: str, line_number: int, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as refused:
        model(tmp_path, OUTSIDE_ITS_HOLD.replace("{reply: pool}", item))
    (problem,) = refused.value.problems
    assert (problem.path, problem.line) == (path, line_number)
