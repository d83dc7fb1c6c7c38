"""Programs: their inputs (machine, workload, data), the files that give these, and their models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field, create_model

from slipstick.errors import Problem, SpecError, did_you_mean, short
from slipstick.expression.nodes import Dimension, Expr, Parameter
from slipstick.model.machine import SharedMemory
from slipstick.model.system import Model
from slipstick.program import PROGRAMS
from slipstick.program.program import CountedProgram, Input, Program, ProgramData
from slipstick.program.program import InputValue as ProgramGiven
from slipstick.schema.inputs import (
    Inputs,
    Settings,
    apply_technology,
    input_problem,
    machine_tree,
    model_names,
    reference_name,
    refuse_mistyped,
)
from slipstick.schema.kinds.constraints import Name, Note
from slipstick.schema.kinds.quantity import (
    Described,
    DescribedValue,
    Factors,
    Formula,
    Given,
    Quantity,
    Spec,
    read_formula,
    validate,
)
from slipstick.schema.library import Library, machine_model, names_of_kind, spec_model
from slipstick.schema.spec_files import is_shared_memory
from slipstick.schema.text import Entry, Mark, Node, Scalar, Table, node_at, problem


class WorkloadSpec(Described):
    """Values for the inputs of a program, measured or assumed."""

    workload: Literal[1] = Field(description="version of this format")
    model: Note = Field(description="name of the program, as in `slipstick list`")
    inputs: dict[str, Any] = Field({}, description="values of the program's inputs, by name")


def machines_for(program: Program) -> list[str]:
    """List the machines of the catalogue on which a program runs: machines of the kind that it
    needs which give the costs of the operating system.
    """
    library = Library()
    machine_tree_by_name = {
        name: library.load("machine", name) for name in names_of_kind("machine")
    }
    return [
        name
        for name, machine_tree in machine_tree_by_name.items()
        if _fits_machine(program, machine_tree)
        and (
            is_shared_memory(machine_tree) or node_at(machine_tree, ["memory", "page"]) is not None
        )
    ]


def machines_for_workload(reference: Node, library: Library) -> list[str]:
    """List the machines of the catalogue on which the program of a workload runs; all machines if
    no such program exists.
    """
    spec, _ = _load_workload(reference, library)
    return (
        machines_for(PROGRAMS[spec.model]) if spec.model in PROGRAMS else names_of_kind("machine")
    )


def _fits_machine(program: Program, machine_node: Node) -> bool:
    return is_shared_memory(machine_node) == (program.machine is SharedMemory)


def _refuse_unfit_machine(program: Program, reference: Node, machine_node: Node) -> None:
    """Raise one error for a machine of the wrong kind, instead of one for each key."""
    if not _fits_machine(program, machine_node):
        needed_kind = "shared memory (an interconnect)"
        machine_kind = "a network"
        if program.machine is not SharedMemory:
            needed_kind, machine_kind = machine_kind, needed_kind
        fitting_names_text = ", ".join(machines_for(program))
        message = (
            f"{program.name} runs on a machine with {needed_kind}, and this one has {machine_kind};"
            f" name one of {fitting_names_text}"
        )
        raise input_problem(reference, "machine", message)


def program_inputs(
    name: str, settings: Settings, value_settings: Settings, library: Library
) -> Inputs:
    """Build the inputs of a program from its machine, its workload and the values set."""
    reference = settings.get("model", settings.get("workload"))
    mark = reference.mark if reference is not None else Mark("", 1, 1)
    if "machine" not in settings:
        refuse_mistyped("machine", settings)
        fitting_names_text = ", ".join(machines_for(PROGRAMS[name]))
        raise input_problem(
            settings.get("model"),
            "machine",
            f"{name} runs on a machine; name one of {fitting_names_text}",
        )
    machine_node = machine_tree(settings, library)
    _refuse_unfit_machine(PROGRAMS[name], settings["machine"], machine_node)
    input_entries = {"machine": Entry(settings["machine"].mark, machine_node)}
    if "workload" in settings:
        input_entries.update(_workload_inputs(name, settings["workload"], library))
    input_names = [program_input.name for program_input in PROGRAMS[name].inputs]
    tree, notes = apply_technology(
        Table(input_entries, mark), name, input_names, settings, value_settings, library
    )
    spec_type = program_spec(PROGRAMS[name])
    data_by_name = load_named_data(name, tree, library)
    if data_by_name or isinstance(PROGRAMS[name], CountedProgram):
        notes = (*notes, *_network_notes(machine_node, tree))
    return Inputs("program", name, tree, spec_type, library, notes=notes, data=data_by_name)


def load_named_data(name: str, tree: Table, library: Library) -> dict[str, ProgramData]:
    """Return the data that the inputs of a program name, by the name of the data."""
    data_by_name: dict[str, ProgramData] = {}
    for program_input in PROGRAMS[name].inputs:
        node = (
            tree.entries[program_input.name].node
            if program_input.data and program_input.name in tree.entries
            else None
        )
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
            data_by_name[node.value] = load_data(program_input.data, node.value, node.mark, library)
    return data_by_name


def _network_notes(machine_node: Node, tree: Table) -> Iterator[str]:
    """Yield a note if a machine's costs of shared memory were measured with another network than
    its present network.
    """
    current_machine_node = tree.entries["machine"].node
    if not (
        isinstance(machine_node, Table)
        and isinstance(current_machine_node, Table)
        and "dvsm" in current_machine_node.entries
    ):
        return
    cost_node = node_at(current_machine_node, ("dvsm", "send_call"))
    network_entry = current_machine_node.entries["network"]
    costs_differ = cost_node is not None and cost_node.mark.file != network_entry.key_mark.file
    if costs_differ or network_entry.node is not machine_node.entries["network"].node:
        yield (
            "the dvsm costs of the machine were measured on a network other than machine.network;"
            " send_call, page_call, lock_call and the delays stay as they are"
        )


def load_data(data_kind: str, reference: str, mark: Mark, library: Library) -> ProgramData:
    """Read the data of a program, such as counts, from the catalogue or from a file.

    Raises
    ------
    SpecError : there are none of that name; everything that is wrong with the file
    """
    tree = library.load(data_kind, reference, mark, data_kind)
    spec: Any = spec_model(data_kind, tree)
    return library.compute_once(
        id(tree), lambda: cast(ProgramData, validate(spec, tree).data), tree
    )


def _workload_inputs(program_name: str, reference: Node, library: Library) -> dict[str, Entry]:
    """Return the inputs that a workload sets; raise if it is for another program."""
    spec, tree = _load_workload(reference, library)
    if spec.model != program_name:
        raise input_problem(
            reference, "workload", f"this workload is for {spec.model}, not for {program_name}"
        )
    inputs_node = node_at(tree, ["inputs"])
    return dict(inputs_node.entries) if isinstance(inputs_node, Table) else {}


def model_of_workload(settings: Settings, library: Library) -> Node:
    """Return the name of the program that the workload in the settings is for."""
    if "workload" not in settings:
        refuse_mistyped("model", settings)
        # The settings of a case follow those of its base.
        last_setting = [None, *settings.values()][-1]
        raise input_problem(
            last_setting,
            "model",
            f"name a model, one of {', '.join(model_names())}, or the file of an activity or a"
            " queueing network",
        )
    _, tree = _load_workload(settings["workload"], library)
    model_node = node_at(tree, ["model"])
    assert model_node is not None
    return model_node


def _load_workload(reference: Node, library: Library) -> tuple[WorkloadSpec, Table]:
    tree = library.load(
        "workload", reference_name(reference, "workload"), reference.mark, "workload"
    )
    return validate(WorkloadSpec, tree), tree


@cache
def program_spec(program: Program) -> type[BaseModel]:
    """Build the pydantic model that checks all inputs of a program: machine, inputs, technology."""
    field_by_input: dict[str, Any] = {
        program_input.name: _field_of_input(program_input) for program_input in program.inputs
    }
    machine_field = Field(description="the machine: a name in the catalogue, a file, or in place")
    machine_type = machine_model(program.machine is SharedMemory)
    return create_model(
        program.name,
        __base__=Spec,
        machine=(machine_type, machine_field),
        technology=(Factors, Factors()),
        **field_by_input,
    )


def _whole_number_as_text(written_value: object) -> object:
    """Return a whole number as text: YAML reads the name of a choice such as ``passes: 1`` as a
    number.
    """
    return (
        str(written_value)
        if isinstance(written_value, int) and not isinstance(written_value, bool)
        else written_value
    )


def _field_of_input(program_input: Input) -> tuple[Any, Any]:
    """Return the pydantic field of an input, as its type and its definition. The default is None;
    the program itself has the default value.
    """
    if program_input.options:
        option_type: Any = Literal.__getitem__(program_input.options)
        field_type: Any = Annotated[option_type | None, BeforeValidator(_whole_number_as_text)]
        return field_type, Field(None, description=program_input.meaning)
    if program_input.named:
        return Name | None, Field(None, description=program_input.meaning)
    if program_input.data:
        return Note, Field(description=program_input.meaning, min_length=1)
    quantity = Quantity(
        program_input.dimension,
        least=program_input.least,
        most=program_input.most,
        whole=program_input.whole,
        formula=not program_input.many,
    )
    if program_input.many:
        return list[Annotated[Given, quantity]] | None, Field(
            None, description=program_input.meaning, min_length=1
        )
    return Annotated[Given | Formula, quantity] | None, Field(
        None, description=program_input.meaning
    )


def program_builders(
    inputs: Inputs, spec: Any, parameter_by_path: Mapping[str, Parameter]
) -> tuple[Callable[[], Model], Callable[[], Model] | None]:
    """Return a function that builds a program's model without the factors of its technology, and
    one that builds a sample of a large model, if there is one.

    Parameters
    ----------
    inputs, spec : what it is solved with, as written and checked
    parameter_by_path : every quantity of the inputs, by path

    Raises
    ------
    SpecError : a formula or a name is wrong
    """
    program = PROGRAMS[inputs.name]
    machine = spec.machine.build("", parameter_by_path, "machine")
    return program.builders(machine, **_values_of_inputs(program, inputs, spec, parameter_by_path))


def _values_of_inputs(
    program: Program, inputs: Inputs, spec: Any, parameter_by_path: Mapping[str, Parameter]
) -> dict[str, ProgramGiven]:
    """Return each input that is set: a parameter, a list of parameters, a formula over other
    inputs, a word, or data.
    """
    value_by_input: dict[str, ProgramGiven] = {}
    formula_by_input: dict[str, tuple[Formula, Dimension]] = {}
    problems: list[Problem] = []
    for program_input in program.inputs:
        value = getattr(spec, program_input.name)
        if isinstance(value, Formula):
            formula_by_input[program_input.name] = (value, program_input.dimension)
        elif isinstance(value, Given):
            value_by_input[program_input.name] = parameter_by_path[program_input.name]
        elif isinstance(value, str) and program_input.data:
            value_by_input[program_input.name] = inputs.data[value]
        elif isinstance(value, str):
            value_by_input[program_input.name] = value
            problems += _unknown_name_problems(program_input, value, inputs, spec)
        elif isinstance(value, list):
            value_by_input[program_input.name] = tuple(
                parameter_by_path[f"{program_input.name}.{index}"] for index in range(len(value))
            )
    expr_by_name: dict[str, Expr] = dict(parameter_by_path)
    for input_name, (formula, dimension) in formula_by_input.items():
        # In the order of the program's inputs; each may use parameters and the formulas before it.
        try:
            value_by_input[input_name] = expr_by_name[input_name] = read_formula(
                inputs.tree, (input_name,), formula, expr_by_name, dimension
            )
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return value_by_input


def _unknown_name_problems(
    program_input: Input, value: str, inputs: Inputs, spec: Any
) -> list[Problem]:
    """List a problem if an input names a lock or barrier that the machine does not have."""
    machine_names = getattr(spec.machine, program_input.named, {}) if program_input.named else {}
    if not program_input.named or value == "none" or value in machine_names:
        return []
    message = (
        f"this is none of the machine's {program_input.named}:"
        f" {short(value)}{did_you_mean(value, list(machine_names))}"
    )
    return [problem(inputs.tree, (program_input.name,), message)]


def default_entries(
    inputs: Inputs, value_by_path: Mapping[str, DescribedValue]
) -> dict[str, DescribedValue]:
    """Describe the inputs of a program that were not set but have a default."""
    return {
        program_input.name: DescribedValue(
            program_input.name,
            Given(program_input.default, program_input.dimension, ""),
            program_input.meaning,
            "default of the program",
        )
        for program_input in PROGRAMS[inputs.name].inputs
        if isinstance(program_input.default, float)
        and program_input.name not in value_by_path
        and program_input.name not in inputs.tree.entries
    }
