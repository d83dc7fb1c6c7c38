"""The library of specs: where each kind is, how files are read with every reference followed, and
JSON Schemas for editors.

A reference is the base that a spec `extends`, a network that a machine names, or the machine of a
model.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, create_model

from slipstick.errors import (
    SpecError,
    UnknownNameError,
    did_you_mean,
    nearest_names,
    short,
    suggestion_of,
)
from slipstick.extensions import FUNCTIONS, Registry, SpecKind, import_object
from slipstick.late import dataclass, field, late_pattern
from slipstick.limits import ANNOUNCE
from slipstick.schema.kinds.quantity import MACHINE_IN_A_YEAR, problems_of
from slipstick.schema.spec_files import ONLY_SHARED, is_shared_memory
from slipstick.schema.text import (
    STANDARD_INPUT,
    Entry,
    Mark,
    Node,
    Scalar,
    Table,
    file_text,
    join_path,
    leaves,
    merge,
    nearest_file,
    node_at,
    problem,
    read_file,
    read_text,
    replace,
    shown_name,
    standard_input,
)

_MODEL_DESCRIPTIONS = {"activity": "an activity", "queueing-network": "a queueing network"}
_SPEC_SOURCES = {
    "machine": ("machines", "kinds.machine:MachineSpec", "gpu-node-a100"),
    "network": ("networks", "kinds.machine:NetworkSpec", "infiniband-hdr"),
    "workload": ("workloads", "programs:WorkloadSpec", "sor"),
    "technology": ("technologies", "kinds.technology:TechnologySpec", "eight-times"),
    "fitted": ("fitted", "kinds.fitted:FittedSpec", "serving-vllm"),
    "activity": ("activities", "kinds.activity:ActivitySpec", "lock-and-bus"),
    "queueing-network": ("queueing", "kinds.queueing:QueueingNetworkSpec", "three-tier"),
    "study": ("studies", "kinds.study:StudySpec", "my-program"),
}

KINDS: Mapping[str, SpecKind] = Registry(
    "slipstick.kinds",
    {
        kind: SpecKind(
            folder,
            f"slipstick.schema.{model}",
            starter,
            _MODEL_DESCRIPTIONS.get(kind, ""),
            "slipstick.schema.arrivals:with_data" if kind in _MODEL_DESCRIPTIONS else "",
        )
        for kind, (folder, model, starter) in _SPEC_SOURCES.items()
    },
)
"""Every kind of spec; its folder is in the shipped catalogue, and in a folder ``specs`` of the
user's.
"""

TECHNOLOGY = "technology"
LONGEST_NAME = 100
"""Largest number of characters of a name that is looked up in the catalogue."""


def _read_shipped(path: Path) -> Node:
    """Read a shipped spec. Most models refer to several specs, which a process parses only once."""
    return _parse_text(file_text(path), shown_name(path))


@lru_cache(maxsize=128)
def _parse_text(text: str, name: str) -> Node:
    return read_text(text, name)


@cache
def catalogue_folder() -> Path:
    """Return the folder of the shipped specs: next to the code if slipstick is installed, at the
    root of a checkout otherwise.
    """
    package = Path(__file__).resolve().parent.parent
    installed_folder = package / "_specs"
    return installed_folder if installed_folder.is_dir() else package.parent.parent / "specs"


def names_of_kind(spec_kind: str) -> list[str]:
    """List the names of all specs of a kind, sorted; the user's own specs are among them, and take
    precedence when a name is looked up.
    """
    file_stems = {
        path.stem for folder in _folders_of_kind(spec_kind) for path in folder.glob("*.yaml")
    }
    return sorted(file_stems)


def spec_names() -> list[str]:
    """List the names of the specs of all kinds."""
    return list(dict.fromkeys(name for spec_kind in KINDS for name in names_of_kind(spec_kind)))


def find(spec_kind: str, reference: str, folder: Path | None = None) -> Path:
    """Return the path of a spec, from its name or its path.

    Parameters
    ----------
    spec_kind : what is wanted
    reference : a name in the catalogue, alone or as ``KIND/NAME``, or a path that ends in .yaml or
        .yml
    folder : folder that relative paths start from; the current one by default

    Raises
    ------
    UnknownNameError : no spec of that kind has the name
    """
    if is_file_name(reference):
        return Path(reference) if reference == STANDARD_INPUT else (folder or Path()) / reference
    if catalogue_path := _catalogue_path(spec_kind, reference):
        return catalogue_path
    if folder is None and (path := file_without_suffix(reference)):
        return path
    raise unknown_name(spec_kind, reference.removeprefix(f"{spec_kind}/"), names_of_kind(spec_kind))


def file_without_suffix(reference: str) -> Path | None:
    """Return the file that a command means by its name without the suffix, and announce it; None
    unless there is exactly one such file.
    """
    candidates = [Path(f"{reference[:LONGEST_NAME]}{suffix}") for suffix in (".yaml", ".yml")]
    files = [path for path in candidates if path.is_file()]
    if len(files) != 1:
        return None
    if announce := ANNOUNCE.get():
        announce(f"reading {files[0]}")
    return files[0]


_USE_TEXTS = {
    "study": "a study: slipstick run {name}",
    "workload": "a workload: slipstick solve MODEL --workload {name}",
    "machine": "a machine: slipstick solve MODEL --machine {name}",
    "technology": "a technology: slipstick solve MODEL --technology {name}",
    "program": "a program: slipstick solve {name} --machine M",
    "law": "a law: slipstick solve law/{name}",
}
"""By kind: what a spec of the kind is called, and the command that uses it. For all other kinds it
is the command that shows the spec.
"""


def unknown_name(spec_kind: str, name: str, known_names: Sequence[str]) -> UnknownNameError:
    """Return the error for a name that no spec of a kind has. Its message names another kind with a
    spec of that name, or the name or law that may be meant.

    >>> print(unknown_name("study", "lock-and-bus", []))
    there is no study 'lock-and-bus': it is an activity: slipstick solve lock-and-bus
    """
    hint = ""
    file_name = f"{name[:LONGEST_NAME]}.yaml"
    if Path(file_name).is_file():
        return UnknownNameError(spec_kind, name[:100], known_names, suggestion_of([file_name]))
    kind_by_name = _kinds_of_other_names(name, known_names)
    if name in kind_by_name and not any(
        known_name.endswith(f"/{name}") for known_name in known_names
    ):
        hint = f": it is {_use_text(kind_by_name[name], name)}"
    elif not nearest_names(name, known_names):
        # A part of a law's name is enough: their names are long.
        law_names = [
            known_name
            for known_name in known_names
            if known_name.startswith("law/") and name and name.casefold() in known_name
        ]
        # A name of another kind is farther off than one of its own kind, so it must be nearer in
        # letters.
        close_names = get_close_matches(name, kind_by_name, n=1, cutoff=0.8)
        close_names = close_names or get_close_matches(
            name.rpartition("/")[2], kind_by_name, n=1, cutoff=0.8
        )
        if law_names:
            hint = suggestion_of(law_names[:3])
        elif close_names:
            hint = (
                f"{suggestion_of(close_names)} It is"
                f" {_use_text(kind_by_name[close_names[0]], close_names[0])}"
            )
    return UnknownNameError(spec_kind, name[:100], known_names, hint)


def _kinds_of_other_names(name: str, known_names: Sequence[str]) -> dict[str, str]:
    """Return, by name, the kind of each spec, program and law that is not among the known names;
    empty for the name of a file.
    """
    if is_file_name(name) or not 0 < len(name) <= LONGEST_NAME:
        return {}
    from slipstick.law import LAWS

    bare_known_names = {
        known_name.rpartition("/")[2] if known_name.startswith("law/") else known_name
        for known_name in known_names
    }
    kind_by_name = dict.fromkeys(LAWS, "law") | dict.fromkeys(
        import_object("slipstick.program:PROGRAMS"), "program"
    )
    kind_by_name |= {
        own_name: spec_kind
        for spec_kind in reversed([*KINDS])
        for own_name in names_of_kind(spec_kind)
    }
    return {
        own_name: spec_kind
        for own_name, spec_kind in kind_by_name.items()
        if own_name not in bare_known_names
    }


def _use_text(spec_kind: str, name: str) -> str:
    """Return what a spec of a kind is called and the command that uses it, for a message."""
    if model_text := model_description(spec_kind):
        return f"{model_text}: slipstick solve {name}"
    return _USE_TEXTS.get(spec_kind, f"a {spec_kind}: slipstick show {spec_kind}/{{name}}").format(
        name=name
    )


def _catalogue_path(spec_kind: str, reference: str) -> Path | None:
    """Return the path of a spec in the catalogue, by its name or as ``KIND/NAME``; None if there is
    none.
    """
    name = reference.removeprefix(f"{spec_kind}/")
    # A name is looked up, and never leads out of the folder of the catalogue.
    if "/" in name or len(name) > LONGEST_NAME:
        return None
    return next(
        (
            candidate_path
            for folder in _folders_of_kind(spec_kind)
            if (candidate_path := folder / f"{name}.yaml").is_file()
        ),
        None,
    )


def is_file_name(reference: str) -> bool:
    """Return whether a reference is the path of a file, or a hyphen for standard input, and not a
    name in the catalogue.

    >>> is_file_name("mine/web.yaml"), is_file_name("activity/web")
    (True, False)
    """
    return reference.endswith((".yaml", ".yml")) or reference == STANDARD_INPUT


def kinds_with_name(reference: str) -> list[str]:
    """List the kinds that have a spec of that name in the catalogue; for ``KIND/NAME`` at most that
    kind.
    """
    return [
        spec_kind
        for spec_kind in KINDS
        if is_file_name(reference) or _catalogue_path(spec_kind, reference)
    ]


def _folders_of_kind(spec_kind: str) -> list[Path]:
    own_folder = Path("specs") / KINDS[spec_kind].folder
    shipped_folder = catalogue_folder() / KINDS[spec_kind].folder
    # At the root of a checkout both are the same folder, which would list each name twice.
    return (
        [own_folder, shipped_folder]
        if own_folder.is_dir()
        and not (shipped_folder.is_dir() and own_folder.samefile(shipped_folder))
        else [shipped_folder]
    )


# Files that extend one another in a chain.
MOST_EXTENDED = 32
"""Largest number of files that extend one another in a chain."""
T = TypeVar("T")


def model_description(spec_kind: str) -> str:
    """Return a description of the files of a kind whose files are models; empty for other kinds.

    >>> model_description("activity"), model_description("machine")
    ('an activity', '')
    """
    return KINDS[spec_kind].words if spec_kind in KINDS else ""


def spec_model(spec_kind: str, tree: Node | None = None) -> type[BaseModel]:
    """Return the pydantic model that checks a kind of spec; its module is imported only now, so
    that other kinds are checked quickly.

    There are two kinds of machines, told apart by their keys: processors on a network, and
    processors that share memory by an interconnect.
    """
    if spec_kind == "study":
        return cast(
            "type[BaseModel]", import_object("slipstick.schema.kinds.study:study_model")(tree)
        )
    is_shared = spec_kind == "machine" and tree is not None and is_shared_memory(tree)
    model: type[BaseModel] = (
        machine_model(is_shared)
        if spec_kind == "machine"
        else import_object(KINDS[spec_kind].model)
    )
    machine = (
        node_at(tree, ["machine"]) if model_description(spec_kind) and tree is not None else None
    )
    return (
        _model_on_machine(model, spec_model("machine", machine))
        if isinstance(machine, Table)
        else model
    )


def machine_model(is_shared: bool) -> type[BaseModel]:
    """Return the pydantic model that checks machines with shared memory, or machines on a
    network.
    """
    model: type[BaseModel] = import_object(
        "slipstick.schema.kinds.shared_memory:SharedMemorySpec"
        if is_shared
        else KINDS["machine"].model
    )
    return model


@cache
def _model_on_machine(
    model_class: type[BaseModel], machine_class: type[BaseModel]
) -> type[BaseModel]:
    """Build the pydantic model that checks a model's file together with its machine, because the
    kind of machine depends on the file.
    """
    # Pydantic 2.11 writes the kind of machine into the field, which the other models share.
    machine_field = (machine_class, copy(model_class.model_fields["machine"]))
    return create_model(model_class.__name__, __base__=model_class, machine=machine_field)


@dataclass
class Library:
    """The specs that were read, each file once, with the hashes of the files.

    Attributes
    ----------
    hashes : SHA-256 of every file read, by its path from the folder of the first, or in ``specs``
        if it is shipped
    sources : what each file says of the origin of its values, by the file's name in marks
    """

    hashes: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    _folders: dict[str, Path] = field(default_factory=dict)
    _trees: dict[Path, Table] = field(default_factory=dict)
    _loaded: dict[tuple[str, str, Path | None], Table] = field(default_factory=dict)
    _computed_values: dict[Hashable, tuple[Any, object]] = field(default_factory=dict)

    def load(
        self,
        spec_kind: str,
        reference: str,
        at_mark: Mark | None = None,
        at_path: str = "",
        extending_paths: tuple[Path, ...] = (),
    ) -> Table:
        """Read a spec and follow its references.

        Parameters
        ----------
        spec_kind : one of `slipstick.schema.library.KINDS`
        reference : name in the catalogue, or path of a file
        at_mark, at_path : where the reference is written, for problems with it
        extending_paths : files that extend one another on the way to this one

        Raises
        ------
        SpecError : all problems found
        """
        folder_of_file = self._folder_of_file(at_mark)
        if not extending_paths and (
            loaded_tree := self._loaded.get((spec_kind, reference, folder_of_file))
        ):
            return loaded_tree
        mark = at_mark or Mark(reference, 0, 0)
        try:
            file_path = find(spec_kind, reference, folder_of_file)
        except UnknownNameError as error:
            raise mark.error(str(error), at_path) from None
        message = _chain_message(file_path, extending_paths)
        # A missing file is a mistake of the spec that names it, not of a command.
        if (
            folder_of_file is not None
            and reference != STANDARD_INPUT
            and not os.path.lexists(file_path)
        ):
            message = f"there is no file {short(reference)}{nearest_file(file_path)}"
        if message:
            raise mark.error(message, at_path)
        tree = self._read_once(file_path)
        _refuse_other_kind(spec_kind, tree)
        resolved_tree = self._resolve_file(spec_kind, tree, (*extending_paths, file_path))
        if not extending_paths:  # what is read by way of `extends` is not whole
            self._loaded[spec_kind, reference, folder_of_file] = resolved_tree
        return resolved_tree

    def kind(self, reference: str, at_mark: Mark) -> str:
        """Return the kind of the file that a spec names at a place; empty if there is no such file,
        or it has no kind.
        """
        file_path = find("", reference, self._folder_of_file(at_mark))
        try:
            return (
                kind_of(self._read_once(file_path))
                if file_path.is_file() or str(file_path) == STANDARD_INPUT
                else ""
            )
        # What is wrong with the file is reported when it is loaded.
        except SpecError:
            return ""

    def open(self, path: Path) -> tuple[str, Table]:
        """Read a spec file of any kind; return its kind, which is its first key, and its tree.

        Raises
        ------
        SpecError : all problems found
        """
        tree = self._read_once(path)
        spec_kind = kind_of(tree)
        return spec_kind, self._resolve_file(spec_kind, tree, (path,))

    def resolve(self, spec_kind: str, tree: Table, extending_paths: tuple[Path, ...] = ()) -> Table:
        """Replace the references inside a tree by the trees that they name: files that it extends,
        the machine of a model, the networks of a machine.

        Parameters
        ----------
        spec_kind : one of `slipstick.schema.library.KINDS`
        tree : the file, or what is written in its place
        extending_paths : files that extend one another on the way to this one
        """
        # Old names first, then the files that it extends: what the whole names may be in any of
        # them.
        tree = with_present_names(spec_kind, tree)
        if _is_machine_in_a_year(spec_kind, tree):
            return cast("Table", FUNCTIONS["machine of a year"](tree, self))
        tree_with_base = self._merge_with_base(spec_kind, _with_bandwidth(tree), extending_paths)
        reference_paths = (
            [("network", "network"), ("network", "node", "network")]
            if spec_kind == "machine"
            else []
        )
        reference_paths += [("machine", "machine")] if model_description(spec_kind) else []
        for referenced_kind, *path in reference_paths:
            node = node_at(tree_with_base, path)
            if isinstance(node, Scalar) and isinstance(node.value, str):
                tree_with_base = _as_table(
                    replace(
                        tree_with_base,
                        path,
                        self.load(referenced_kind, node.value, node.mark, join_path(path)),
                    )
                )
            elif isinstance(node, Table):
                tree_with_base = _as_table(
                    replace(tree_with_base, path, self.resolve(referenced_kind, node))
                )
            elif (
                referenced_kind == "machine"
                and node is not None
                and not (isinstance(node, Scalar) and node.value is None)
            ):
                message = (
                    "write the name of a machine, a file that ends in .yaml, or its keys and values"
                )
                raise node.mark.error(message, path)
        reader = KINDS[spec_kind].reader
        return _as_table(import_object(reader)(tree_with_base, self)) if reader else tree_with_base

    def _resolve_file(
        self, spec_kind: str, tree: Table, extending_paths: tuple[Path, ...]
    ) -> Table:
        """Replace the references of a file; if one of them fails, report the other problems of the
        file too.
        """
        tree = with_present_names(spec_kind, tree)
        try:
            return self.resolve(spec_kind, tree, extending_paths)
        except SpecError as error:
            if _is_machine_in_a_year(spec_kind, tree):
                raise  # its keys are not those of a machine
            # One mistake is reported once, though both ways find it.
            reported_places = {problem.place for problem in error.problems}
            problems = problems_of(
                spec_model(spec_kind, tree), tree, is_partial="extends" in tree.entries
            )
            has_machine_in_a_year = _is_machine_in_a_year("machine", node_at(tree, ["machine"]))
            further_problems = [
                problem
                for problem in problems
                if problem.place not in reported_places
                # The name itself is no mistake; only the file that it names was not read any more.
                and problem.path.removeprefix("machine.") not in ("network", "node.network")
                and not (has_machine_in_a_year and problem.path.startswith("machine."))
            ]
            raise SpecError([*error.problems, *further_problems]) from None

    def measurement_file(self, reference: str, mark: Mark) -> Path:
        """Return the path of a file of measurements that a spec names, relative to the folder of
        the spec.

        Raises
        ------
        SpecError : there is no such file
        """
        path = (self._folder_of_file(mark) or Path()) / reference
        if not path.is_file():
            near_names = nearest_names(path.name, [file.name for file in path.parent.glob("*")])
            suggestion = suggestion_of(near_names) or "; check its name"
            message = f"there is no file of measurements {short(reference)}{suggestion}"
            raise mark.error(message, "data")
        return path

    def compute_once(
        self, key: Hashable, compute: Callable[[], T], held_object: object = None
    ) -> T:
        """Return the value of `compute` under a key; it is computed at the first call only.

        Parameters
        ----------
        key : the values that the result is computed from, each by value or by `id`
        compute : computes the result
        held_object : the object whose `id` is in the key; it is kept, so that no other object gets
            this `id`
        """
        # An `id` in the key may be given to another object once the first is gone: `held_object` is
        # kept.
        if key not in self._computed_values:
            self._computed_values[key] = (compute(), held_object)
        value: T = self._computed_values[key][0]
        return value

    def _read_once(self, path: Path) -> Table:
        """Read a file at the first call; record its hash, its folder and its stated source."""
        if path not in self._trees:
            read_file_at = _read_shipped if path.is_relative_to(catalogue_folder()) else read_file
            tree = _as_table(read_file_at(path))
            self._trees[path] = tree
            self.sources[tree.mark.file] = _stated_source(tree)
            self._folders.setdefault(tree.mark.file, path.parent)
            self.keep_hash(path)
        return self._trees[path]

    def _folder_of_file(self, mark: Mark | None) -> Path | None:
        """Return the folder of the file that contains a place, from which relative paths start;
        None if the place is in no file.
        """
        return self._folders.get(mark.file) if mark else None

    def keep_hash(self, path: Path) -> None:
        """Store the hash of a file under a name that is the same on every machine."""
        with BytesIO(standard_input()) if str(path) == STANDARD_INPUT else path.open("rb") as file:
            self.hashes[self.portable_name(path)] = hashlib.file_digest(file, "sha256").hexdigest()

    def portable_name(self, path: Path) -> str:
        """Return a name of a file that is the same on every machine: relative to the shipped specs,
        or to the folder of the first file.
        """
        resolved_path = path.resolve()
        shipped_folder = catalogue_folder().resolve()
        first_folder = next(iter(self._folders.values()), Path()).resolve()
        # The folder of a shipped first file says nothing of where the user's files are.
        start_folder = Path.cwd() if first_folder.is_relative_to(shipped_folder) else first_folder
        if resolved_path.is_relative_to(shipped_folder):
            return (Path("specs") / resolved_path.relative_to(shipped_folder)).as_posix()
        if os.path.commonpath([resolved_path, start_folder]) == resolved_path.anchor:
            return resolved_path.name  # else the name would hold the folders of this machine
        return Path(os.path.relpath(resolved_path, start_folder)).as_posix()

    def _merge_with_base(
        self, spec_kind: str, tree: Table, extending_paths: tuple[Path, ...]
    ) -> Table:
        base_node = node_at(tree, ["extends"])
        if not (
            isinstance(base_node, Scalar) and isinstance(base_node.value, str) and base_node.value
        ):
            return tree
        own_table = Table(
            {key: entry for key, entry in tree.entries.items() if key != "extends"}, tree.mark
        )
        base_table = self.load(
            spec_kind, base_node.value, base_node.mark, "extends", extending_paths
        )
        merged_table = _as_table(merge(base_table, own_table))
        _refuse_misspelt_names(base_table, own_table, merged_table)
        return _with_new_parameters_first(base_table, merged_table)


def _with_new_parameters_first(base_table: Table, merged_table: Table) -> Table:
    """Put each parameter that a file adds before the first parameter whose formula uses it, because
    formulas of inherited parameters may name added ones.
    """
    base_node, parameters_node = (
        node_at(table, ["parameters"]) for table in (base_table, merged_table)
    )
    if not isinstance(base_node, Table) or not isinstance(parameters_node, Table):
        return merged_table
    inherited_entries, entries = base_node.entries, parameters_node.entries
    ordered_entries: dict[str, Entry] = {}
    for first_name in entries:
        pending_names = [first_name]
        while pending_names:
            name = pending_names[-1]
            unordered_names = [
                used_name
                for used_name in _names_in_formula(entries[name].node)
                if used_name in entries
                and used_name not in ordered_entries
                and used_name not in pending_names
                if name not in inherited_entries or used_name not in inherited_entries
            ]
            if unordered_names:
                pending_names.append(unordered_names[0])
            else:
                ordered_entries[pending_names.pop()] = entries[name]
    entry = merged_table.entries["parameters"]
    ordered_entry = entry._replace(node=Table(ordered_entries, parameters_node.mark))
    return Table({**merged_table.entries, "parameters": ordered_entry}, merged_table.mark)


def _names_in_formula(node: Node) -> list[str]:
    """List the names in the formula of a parameter."""
    value = node_at(node, ["value"]) if isinstance(node, Table) else node
    return _NAME.findall(value.text) if isinstance(value, Scalar) else []


def _refuse_misspelt_names(base_table: Table, own_table: Table, merged_table: Table) -> None:
    """Raise if a file adds a parameter or a phase that nothing uses, and whose name is similar to a
    name in the file that it extends: the author probably meant the inherited one.
    """

    def names_in(table: Table, key: str) -> dict[str, Entry]:
        node = node_at(table, [key])
        return dict(node.entries) if isinstance(node, Table) else {}

    used_names = {name for _, leaf in leaves(merged_table) for name in _WORD.findall(leaf.text)}
    problems = [
        problem(own_table, (key, name), f"nothing uses it{did_you_mean(name, base_names)}", True)
        for key in ("parameters", "phases")
        if (base_names := names_in(base_table, key))
        for name in names_in(own_table, key)
        if name not in base_names
        and name not in used_names
        and get_close_matches(name[:80], base_names, n=1, cutoff=0.7)
    ]
    if problems:
        raise SpecError(problems)


_WORD, _NAME = late_pattern(r"\w+"), late_pattern(r"[\w.]+")


def _stated_source(tree: Table) -> str:
    """Return the source that a file states for all its values; a key of a source is replaced by its
    text.
    """
    source_node = node_at(tree, ["source"])
    source_text = source_node.text if isinstance(source_node, Scalar) else ""
    source_text_node = node_at(tree, ["sources", source_text]) if source_text else None
    return source_text_node.text if isinstance(source_text_node, Scalar) else source_text


def _chain_message(path: Path, extending_paths: tuple[Path, ...]) -> str:
    """Return why a chain of `extends` is refused: the chain is a circle, or too long. Empty if the
    chain is accepted.
    """
    if os.path.abspath(path) in map(os.path.abspath, extending_paths):
        return "goes in a circle: " + " extends ".join(
            extending_path.stem for extending_path in (*extending_paths, path)
        )
    return (
        f"extends more than {MOST_EXTENDED} others, one after the other"
        if len(extending_paths) > MOST_EXTENDED
        else ""
    )


def kind_of(tree: Table) -> str:
    """Return the kind of a spec, which is its first key.

    Raises
    ------
    SpecError : the first key is no kind
    """
    key, mark = next(
        ((key, entry.key_mark) for key, entry in tree.entries.items()), ("", tree.mark)
    )
    if key not in KINDS:
        examples_text = ", ".join(f"'{spec_kind}: 1'" for spec_kind in KINDS)
        suggestion = suggestion_of(nearest_names(key, list(KINDS)))
        raise mark.error(
            f"begin with the kind of spec, one of {examples_text}{suggestion}",
            key,
        )
    return key


_KINDS_OF_COMMANDS = ("activity", "queueing-network", "study")
_COMMAND_TEXTS = {
    "study": "; run it with: slipstick run FILE",
    "activity": "; solve it with: slipstick solve FILE",
    "queueing-network": "; solve it with: slipstick solve FILE",
    "machine": "; name it with --machine, beside a model",
    "workload": "; name it with --workload, beside a model",
    "technology": "; name it with --technology, beside a model",
}
"""The command that takes a file of a kind, behind the message that it is of another."""


def _refuse_other_kind(spec_kind: str, tree: Table) -> None:
    file_kind = kind_of(tree)
    if file_kind != spec_kind:
        mark = next(iter(tree.entries.values())).key_mark
        command_text = _COMMAND_TEXTS.get(file_kind, "") if spec_kind in _KINDS_OF_COMMANDS else ""
        way_out = command_text.replace("FILE", mark.file)
        wanted_kind_text = "" if way_out else f", but one of kind {spec_kind} is wanted"
        raise mark.error(f"this file is of kind {file_kind}{wanted_kind_text}{way_out}", file_kind)


def _with_bandwidth(tree: Table) -> Table:
    """Return a network whose wire has its `bandwidth` under the key of the time per byte; that key
    takes a time per byte or a rate.
    """
    for path in (["wire"], ["network", "wire"]):
        wire = node_at(tree, path)
        if (
            isinstance(wire, Table)
            and "bandwidth" in wire.entries
            and "per_byte" not in wire.entries
        ):
            new_entries = {
                "per_byte" if key == "bandwidth" else key: entry
                for key, entry in wire.entries.items()
            }
            tree = _as_table(replace(tree, path, Table(new_entries, wire.mark)))
    return tree


def _is_machine_in_a_year(spec_kind: str, tree: Node | None) -> bool:
    return spec_kind == "machine" and isinstance(tree, Table) and "base" in tree.entries


def _as_table(node: Node) -> Table:
    assert isinstance(node, Table)
    return node


def editor_schema(spec_kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of spec.

    A spec that extends another may leave out any key, so a missing key is an error only at the top
    of a spec that extends nothing; `slipstick check` finds the rest.

    Raises
    ------
    UnknownNameError : there is no such kind

    >>> editor_schema("network")["title"]
    'NetworkSpec'
    """
    _refuse_unknown_kind(spec_kind)
    schema = (
        _machine_schema()
        if spec_kind == "machine"
        else _schema_of_kind(spec_kind, spec_model(spec_kind))
    )
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def _refuse_unknown_kind(spec_kind: str) -> None:
    if spec_kind not in KINDS:
        raise UnknownNameError("kind of spec", spec_kind, list(KINDS))


def _schema_of_kind(spec_kind: str, model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    for definition in schema.get("$defs", {}).values():
        if spec_kind == "network":
            definition.pop("required", None)
    _allow_extends(schema)
    _refuse_unmatched_keys(schema)
    return schema


def _machine_schema() -> dict[str, Any]:
    """Return the JSON Schema of machines. It distinguishes the two kinds of machines by keys that
    only one of them has.
    """
    from pydantic.json_schema import models_json_schema

    models = [machine_model(is_shared) for is_shared in (False, True)]
    _, schema = models_json_schema([(model, "validation") for model in models])
    definitions = schema["$defs"]
    model_names = [model.__name__ for model in models]
    for name, definition in definitions.items():
        if name in model_names:
            _allow_extends(definition)
        else:
            definition.pop("required", None)
    _refuse_unmatched_keys(schema)
    shared_only_schema = {
        "anyOf": [{"required": [key]} for key in ONLY_SHARED],
        "not": {"required": ["network"]},
    }
    network_reference, shared_reference = ({"$ref": f"#/$defs/{name}"} for name in model_names)
    properties = {"machine": definitions[model_names[0]]["properties"]["machine"]}
    head_schema = {"title": "Machine", "type": "object", "properties": properties}
    schema_by_kind = {"if": shared_only_schema, "then": shared_reference, "else": network_reference}
    title_schema = definitions[model_names[0]]["properties"]["title"]
    year_schema = {
        "properties": {**properties, "title": title_schema, **MACHINE_IN_A_YEAR},
        "required": list(MACHINE_IN_A_YEAR),
        "additionalProperties": False,
    }
    return {
        **head_schema,
        "$defs": definitions,
        "if": {"required": ["base"]},
        "then": year_schema,
        "else": schema_by_kind,
    }


def _allow_extends(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": ["extends"]}, {"required": schema.pop("required", [])}]


def _refuse_unmatched_keys(schema_node: Any) -> None:
    """Change a JSON Schema so that it refuses keys that do not match the pattern of a name."""
    if isinstance(schema_node, dict):
        if "patternProperties" in schema_node:
            schema_node["additionalProperties"] = False
        for schema_part in schema_node.values():
            _refuse_unmatched_keys(schema_part)
    elif isinstance(schema_node, list):
        for schema_part in schema_node:
            _refuse_unmatched_keys(schema_part)


def next_command(spec_kind: str, file: str = "FILE") -> str:
    """Return the command to type after a file of a kind was written."""
    further_command_by_kind = {
        "study": f", slipstick run {file}",
        "activity": f", slipstick solve {file}",
        "queueing-network": f", slipstick solve {file}",
        "batch-server": f", slipstick solve {file}",
        "profile": f", slipstick measured {file}",
        "counts": f", slipstick solve dvsm/application --machine NAME --set counts={file}",
        "machine": f", slipstick solve MODEL --machine {file}",
    }
    return f"slipstick check {file}{further_command_by_kind.get(spec_kind, '')}"


def starter(spec_kind: str, name: str = "") -> str:
    """Write a commented spec to start from: a spec of the catalogue, with the meaning of each key
    and with the keys that it leaves out.

    Its first line tells editors the JSON Schema, which stands beside it as ``KIND.schema.json``.

    Parameters
    ----------
    spec_kind : one of `KINDS`
    name : a spec of that kind by name, or its file

    Raises
    ------
    UnknownNameError : there is no such kind
    SpecError : there is no such spec, or it is wrong
    """
    _refuse_unknown_kind(spec_kind)
    name = name or KINDS[spec_kind].starter
    file_path = find(spec_kind, name)
    tree = Library().load(spec_kind, name)
    key_fields = spec_model(
        spec_kind, None if spec_kind == "study" else tree
    ).model_fields.items()  # of a study the keys of all questions
    meaning_by_key = {field.alias or key: field.description or "" for key, field in key_fields}
    starter_lines = [
        f"# yaml-language-server: $schema={spec_kind}.schema.json",
        (
            f"# `slipstick schema {spec_kind}` prints the schema by which editors complete and"
            " check this file."
        ),
        (
            f"# Made from {spec_kind}/{file_path.stem}; change what differs, then:"
            f" {next_command(spec_kind)}"
        ),
    ]
    text_lines = file_text(file_path).splitlines()
    # The first comments of the file are about that file alone.
    while text_lines and text_lines[0].startswith("#"):
        del text_lines[0]
    used_keys = set()
    for line in text_lines:
        key = line.partition(":")[0].strip("'\"")
        if key in meaning_by_key:
            starter_lines += ["", f"# {meaning_by_key[key]}"]
            used_keys.add(key)
        starter_lines.append(line)
    unused_lines = [
        f"# {key}: {meaning}" for key, meaning in meaning_by_key.items() if key not in used_keys
    ]
    return "\n".join([*starter_lines, "", "# Further keys:", *unused_lines, ""])


RENAMED = {"study": {"what_if": "cases"}}
"""New names of keys by kind of spec and old name. Since 0.2.0: `what_if`.

A key stands here from the version that gives it a new name to the next one, which takes it out: the
old name is read for one version, with a note, and is an unknown key from then on.
"""


def with_present_names(spec_kind: str, tree: Table) -> Table:
    """Return a spec in which old names of keys are replaced by the present ones, each with a note.

    Parameters
    ----------
    spec_kind : of the spec
    tree : as written in the file

    Raises
    ------
    SpecError : a key stands there by both names
    """
    new_name_by_key = RENAMED.get(spec_kind, {})
    old_keys = [key for key in tree.entries if key in new_name_by_key]
    if not old_keys:
        return tree
    announce = ANNOUNCE.get()
    for key in old_keys:
        mark = tree.entries[key].key_mark
        new_key = new_name_by_key[key]
        if new_key in tree.entries:
            raise mark.error(f"the key {new_key} stands there too; write one of them", key)
        if announce is not None:
            place_text = f"{mark.file}:{mark.line}:{mark.column}"
            announce(
                f"{place_text}: {key}: write {new_key}; the old name is read in this version only"
            )
    entries_by_new_name: dict[str, Entry] = {
        new_name_by_key.get(key, key): entry for key, entry in tree.entries.items()
    }
    return Table(entries_by_new_name, tree.mark)
