"""Activity files to models: the tree of items becomes the tree of activities.

The numbers of one file as expressions: named parameters, formulas over them, and what is wrong with them.

Formulas in specs: read where the parameters are known, refused where they are written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from slipstick.errors import FormulaError, ModelError, Problem, SpecError
from slipstick.expression.dimension import COUNT, RATE, TIME, Dimension
from slipstick.expression.nodes import Expr, Number, Parameter, zero
from slipstick.model.activity import (
    Activity,
    BarrierWait,
    Hold,
    Stage,
    Step,
    barrier,
    choose,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    then,
)
from slipstick.model.resources import Barrier, Lock, Resource, Station
from slipstick.model.system import (
    ClosedPopulation,
    Group,
    GroupedPopulation,
    Model,
    OpenPopulation,
    Phase,
    PhasedPopulation,
    Population,
)
from slipstick.schema.kinds.activity import (
    ActivitySpec,
    BarrierSpec,
    ChooseSpec,
    DelaySpec,
    ForkSpec,
    GroupSpec,
    HoldSpec,
    LockSpec,
    MeetingSpec,
    PhaseSpec,
    PipelineSpec,
    RepeatSpec,
    ServiceSpec,
    StageSpec,
    StationSpec,
)
from slipstick.schema.kinds.quantity import Formula, Given
from slipstick.schema.text.formula import read_expression
from slipstick.schema.text.nodes import Node, canonical, join, value_mark
from slipstick.schema.validate import problem


def read_formula(
    tree: Node, loc: Sequence[str | int], formula: Formula, known: Mapping[str, Expr], wanted: Dimension | None
) -> Expr:
    """Read one formula of a spec.

    Parameters
    ----------
    tree, loc : where it is written
    formula : its text
    known : what its names stand for
    wanted : the dimension it must have; None takes any

    Raises
    ------
    SpecError : it is no arithmetic on known names, or of another dimension
    """
    mark = value_mark(tree, loc)
    try:
        made = read_expression(formula.text, known)
    except FormulaError as error:
        raise SpecError([Problem(mark.file, mark.line, mark.column, join(loc), str(error))]) from None
    if wanted is not None and made.dimension != wanted:
        why = f"{formula.text} gives a [{made.dimension}], but a [{wanted}] is wanted"
        raise SpecError([Problem(mark.file, mark.line, mark.column, join(loc), why)])
    return made


Loc = tuple[str | int, ...]


class Values:
    """Reads the quantities of one checked file.

    Parameters
    ----------
    tree : where everything is written
    named : the file's own ``parameters``; a formula may use those before it
    parameters : every quantity of the file, by path (``cycle.work.delay``)

    Attributes
    ----------
    problems : what was found wrong so far; whoever builds the model adds to it
    """

    def __init__(self, tree: Node, named: Mapping[str, Given | Formula], parameters: Mapping[str, Parameter]) -> None:
        self._tree, self._parameters = tree, parameters
        self.problems: list[Problem] = []
        self._unread: list[str] = []
        self._known = self._read(named)

    def expr(self, value: Given | Formula | None, loc: Loc, dimension: Dimension) -> Expr:
        """Give the expression that a quantity stands for; a parameter without a value for a formula that is wrong."""
        if isinstance(value, Formula):
            made = self._formula(value, loc, self._known, dimension)
            return Parameter("unread", dimension) if made is None else made
        path = canonical(self._tree, loc)
        if path in self._parameters:
            return self._parameters[path]
        # A default that the file does not mention is a plain number.
        assert value is not None
        return Number(value.value, dimension)

    def refuse(self, loc: Loc, message: str, key: bool = False) -> None:
        """Note a problem at a place of the file."""
        self.problems.append(problem(self._tree, loc, message, key))

    def _read(self, named: Mapping[str, Given | Formula]) -> dict[str, Expr]:
        known: dict[str, Expr] = {}
        for name, value in named.items():
            loc = ("parameters", name)
            if not isinstance(value, Formula):
                known[name] = self._parameters[canonical(self._tree, loc)]
                continue
            made = self._formula(value, loc, known, None)
            if made is None:
                self._unread.append(name)
            else:
                known[name] = made
        return known

    def _formula(
        self, formula: Formula, loc: Loc, known: Mapping[str, Expr], dimension: Dimension | None
    ) -> Expr | None:
        try:
            return read_formula(self._tree, loc, formula, known, dimension)
        except SpecError as error:
            # What a parameter is that could not be read, nobody knows; one problem is enough.
            if not set(re.findall(r"\w+", formula.text)).intersection(self._unread):
                self.problems += error.problems
            return None


class ActivityReader:
    """Reads one checked activity file.

    Parameters
    ----------
    name : of the model
    tree : where everything is written
    spec : the checked file
    parameters : every quantity of the file, by path (``cycle.work.delay``)
    """

    def __init__(self, name: str, tree: Node, spec: ActivitySpec, parameters: Mapping[str, Parameter]) -> None:
        self._name, self._spec = name, spec
        self._values = Values(tree, spec.parameters, parameters)
        self._resources = {name: self._resource(name, each) for name, each in spec.resources.items()}
        self._taken: Counter[str] = Counter()
        self._numbers: Counter[str] = Counter()
        self._steps: dict[str, Step] = {}

    def model(self) -> Model:
        """Build the model; raises SpecError with every formula and name that does not fit."""
        population = self._population()
        if self._values.problems:
            raise SpecError(self._values.problems)
        made = Model(self._name, population, self._resources, tuple(self._spec.useful))
        self._check_useful(made)
        if self._values.problems:
            raise SpecError(self._values.problems)
        return made

    def _check_useful(self, model: Model) -> None:
        if "useful" not in self._spec.model_fields_set:
            return
        components = {step.component for step in model.steps}
        for index, name in enumerate(self._spec.useful):
            if name not in components:
                there = f"there are {', '.join(sorted(components))}" if components else "there are no steps"
                self._values.refuse(("useful", index), f"no step has the component {name!r}; {there}")

    def _population(self) -> Population:
        spec = self._spec
        if spec.phases is not None:
            return PhasedPopulation(
                tuple(self._phase(each, ("phases", index)) for index, each in enumerate(spec.phases))
            )
        if spec.groups is not None:
            return GroupedPopulation(tuple(self._group(name, each) for name, each in spec.groups.items()))
        assert spec.population is not None
        if spec.population.phases is not None:
            loc: Loc = ("population", "phases")
            return PhasedPopulation(
                tuple(self._phase(each, (*loc, index)) for index, each in enumerate(spec.population.phases))
            )
        assert spec.cycle is not None
        cycle = self._body(spec.cycle, ("cycle",))
        if spec.population.processors is not None:
            return ClosedPopulation(
                self._values.expr(spec.population.processors, ("population", "processors"), COUNT), cycle
            )
        return OpenPopulation(self._values.expr(spec.population.arrivals, ("population", "arrivals"), RATE), cycle)

    def _group(self, name: str, spec: GroupSpec) -> Group:
        loc: Loc = ("groups", name)
        return Group(
            name,
            self._values.expr(spec.processors, (*loc, "processors"), COUNT),
            self._body(spec.cycle, (*loc, "cycle")),
        )

    def _phase(self, spec: PhaseSpec, loc: Loc) -> Phase:
        times = self._values.expr(spec.repeat, (*loc, "repeat"), COUNT)
        processors = self._values.expr(spec.processors, (*loc, "processors"), COUNT)
        return Phase(times, processors, self._body(spec.cycle, (*loc, "cycle")))

    def _resource(self, name: str, spec: StationSpec | LockSpec | MeetingSpec) -> Resource:
        match spec:
            case LockSpec():
                access, base, most = (self._cost(name, spec, key) for key in ("access", "base", "most"))
                return Lock(spec.lock, spec.word, access, spec.back_off, base, most)
            case MeetingSpec():
                return Barrier(spec.barrier, self._cost(name, spec, "cost"))
            case StationSpec():
                return Station(spec.servers, spec.discipline)

    def _cost(self, name: str, spec: LockSpec | MeetingSpec, key: str) -> Expr:
        value = getattr(spec, key)
        return zero(TIME) if value is None else self._values.expr(value, ("resources", name, key), TIME)

    def _body(self, items: Sequence[Any], loc: Loc) -> Activity:
        return then(*(self._item(each, (*loc, index)) for index, each in enumerate(items)))

    def _item(self, spec: Any, loc: Loc) -> Activity:
        """Build an item; in the place of one that is wrong stands nothing, so that the rest is read as well."""
        try:
            made = self._made(spec, loc)
        except ModelError as error:
            self._values.refuse(loc, str(error))
            return then()
        self._check_use(made, loc)
        return made

    def _check_use(self, made: Activity, loc: Loc) -> None:
        """Refuse a resource that is not there, or of another kind, where it is named."""
        named: dict[type[Activity], tuple[str, Activity]] = {
            Step: ("service", made),
            BarrierWait: ("barrier", made),
            Hold: ("hold", hold(made.lock, then()) if isinstance(made, Hold) else made),
        }
        if type(made) not in named:
            return
        key, alone = named[type(made)]
        try:
            Model(self._name, ClosedPopulation(Number(1.0), alone), self._resources)
        except ModelError as error:
            self._values.refuse((*loc, key), str(error))

    def _made(self, spec: Any, loc: Loc) -> Activity:
        match spec:
            case DelaySpec():
                return self._step(spec, self._values.expr(spec.delay, (*loc, "delay"), TIME), None, loc)
            case ServiceSpec():
                return self._step(spec, self._values.expr(spec.time, (*loc, "time"), TIME), spec.service, loc)
            case HoldSpec():
                return hold(spec.hold, self._body(spec.body, (*loc, "body")))
            case ForkSpec():
                return fork(*(self._body(each, (*loc, "fork", index)) for index, each in enumerate(spec.fork)))
            case ChooseSpec():
                return choose(*(self._option(each, (*loc, "choose", index)) for index, each in enumerate(spec.choose)))
            case RepeatSpec():
                return repeat(
                    self._values.expr(spec.repeat, (*loc, "repeat"), COUNT), self._body(spec.body, (*loc, "body"))
                )
            case PipelineSpec():
                return self._pipeline(spec, loc)
            case BarrierSpec():
                return barrier(spec.barrier, spec.parties)
        raise TypeError(type(spec))

    def _option(self, spec: Any, loc: Loc) -> tuple[Expr, Activity]:
        return self._values.expr(spec.p, (*loc, "p"), COUNT), self._body(spec.do, (*loc, "do"))

    def _step(self, spec: DelaySpec | ServiceSpec, time: Expr, resource: str | None, loc: Loc) -> Step:
        scv = 0.0 if spec.scv is None else spec.scv.value
        name = spec.name or self._numbered(resource or "delay")
        step = Step(name, time, resource, spec.component, spec.technology, scv)
        if self._steps.setdefault(name, step) != step:
            self._values.refuse((*loc, "name"), f"another step is called {name}; give each a name of its own")
        self._taken[name] += 1
        return step

    def _numbered(self, name: str, mark: str = "") -> str:
        """Give a step without a name that of its resource, and a number from the second on."""
        candidate = name
        while self._taken[f"{mark}{candidate}"]:
            self._numbers[name] += 1
            candidate = f"{name}.{1 + self._numbers[name]}"
        return candidate

    def _pipeline(self, spec: PipelineSpec, loc: Loc) -> Activity:
        stages = [self._stage(each, (*loc, "stages", index)) for index, each in enumerate(spec.stages)]
        items = self._values.expr(spec.pipeline, (*loc, "pipeline"), COUNT)
        uneven = any(len(stage.bodies) > 1 for stage in stages)
        if uneven and isinstance(items, Parameter) and items.value is not None:
            # Bodies are counted when the model is built, so their number is not a quantity to vary.
            items = Number(items.value)
        # A space keeps the names of pipelines apart from those of steps.
        name = spec.name or self._numbered("pipeline", " ")
        if self._taken[f" {name}"]:
            self._values.refuse((*loc, "name"), f"another pipeline is called {name}; give each a name of its own")
        self._taken[f" {name}"] += 1
        return pipeline(stages, items, name)

    def _stage(self, spec: StageSpec, loc: Loc) -> Stage:
        for kind, make in (("serial", serial), ("parallel", parallel)):
            body, each = getattr(spec, kind), getattr(spec, f"{kind}_each")
            if body is not None:
                return make(self._body(body, (*loc, kind)), name=spec.name)
            if each is not None:
                bodies = (self._body(one, (*loc, f"{kind}_each", index)) for index, one in enumerate(each))
                return make(*bodies, name=spec.name)
        raise TypeError(type(spec))
