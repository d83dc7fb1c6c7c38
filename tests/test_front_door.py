"""What `import slipstick` offers, and how it says no."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import slipstick
from slipstick.errors import ModelError
from slipstick.model.steps import NEVER, NOTHING, Activity, Combination
from slipstick.schema.kinds.activity import activity_data


class Strange(Activity):
    """An activity that nobody knows."""

    made_of, executions, variation = (), (), NEVER
    combination, use = Combination.IN_TURN, NOTHING


def test_a_name_that_is_not_there_is_said_like_any_other() -> None:
    with pytest.raises(AttributeError) as caught:
        slipstick.solver  # type: ignore[attr-defined]  # noqa: B018
    assert (
        str(caught.value) == "module 'slipstick' has no attribute 'solver'; did you mean 'solve'?"
    )


@pytest.mark.turns(6)
def test_solve_and_run_are_functions_whatever_was_imported_first() -> None:
    code = (
        "import slipstick.method.closed_form, slipstick.study.run; from slipstick import run,"
        " solve; print(callable(run), callable(solve))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_importing_the_package_imports_no_library() -> None:
    code = (
        "import sys, slipstick; print(sorted({'numpy', 'sympy', 'pydantic', 'yaml', 'click'} &"
        " set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


STUB = ast.parse(Path(slipstick.__file__).with_suffix(".pyi").read_text())
IMPORTS = [each for each in STUB.body if isinstance(each, ast.ImportFrom)]
PUBLIC = [alias.name for each in IMPORTS for alias in each.names]


def test_every_name_of_the_stub_is_the_public_one() -> None:
    assert len(PUBLIC) == len(set(PUBLIC)) > 30
    assert getattr(slipstick, "__all__", None) == PUBLIC
    assert set(PUBLIC) <= set(dir(slipstick))


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_called_like_what_it_stands_for(name: str) -> None:
    found = getattr(slipstick, name)
    assert name.isupper() or found.__name__ == name


def test_a_line_of_the_stub_imports_one_name_as_type_checkers_export_it() -> None:
    assert all(
        len(each.names) == 1 and each.names[0].asname == each.names[0].name for each in IMPORTS
    )


@pytest.mark.turns(5)
def test_a_study_runs_in_one_call() -> None:
    results = slipstick.run("dvsm-operations")
    assert results.cases["fault-atm"]["time"] == pytest.approx(2258e-6, abs=2.5e-6)


@pytest.mark.parametrize("name", ["a b", "1x", "", "x" * 300, "a..b"])
def test_a_parameter_needs_a_name_that_can_stand_in_a_path(name: str) -> None:
    with pytest.raises(ModelError) as caught:
        slipstick.Parameter(name)
    assert (
        str(caught.value)
        == f"{name[:60]!r} cannot name a parameter: write letters, digits, _ - and dots"
    )


@pytest.mark.parametrize("name", ["a b", "1x", "x" * 70])
def test_a_step_needs_a_name_that_can_stand_in_a_path(name: str) -> None:
    with pytest.raises(ModelError) as caught:
        slipstick.delay(1.0, name=name)
    assert (
        str(caught.value)
        == f"{name[:64]!r} cannot be a name: write letters, digits, _ - and dots, starting with a"
        " letter"
    )


def test_an_activity_of_no_known_kind_is_not_written() -> None:
    with pytest.raises(ModelError) as caught:
        activity_data(slipstick.closed_model(Strange()))
    assert str(caught.value) == "a Strange cannot be written to a file"
