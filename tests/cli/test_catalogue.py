"""Looking things up, beginning new files, standard input, and what is printed for a terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from slipstick.cli.console import echo
from slipstick.cli.main import cli, main
from slipstick.law import LAWS
from slipstick.schema import text
from slipstick.schema.library import KINDS, names_of_kind, starter
from slipstick.study.check import check_file


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put a text on standard input."""

    def put(words: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(words.encode())))
        text.standard_input.cache_clear()

    yield put
    text.standard_input.cache_clear()


def test_the_command_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "slipstick [OPTIONS] [COMMAND]" in capsys.readouterr().out


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", KINDS)
def test_a_starter_of_every_kind_is_valid_and_says_what_its_keys_mean(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(starter(kind))
    assert check_file(path) == kind
    assert path.read_text().startswith(f"# yaml-language-server: $schema={kind}.schema.json\n")
    assert "\n# a title of one line, for tables and catalogues\ntitle: " in path.read_text()


@pytest.mark.parametrize(
    ("kind", "command"),
    [("batch-server", "solve"), ("profile", "measured"), ("queueing-network", "solve")],
)
def test_a_new_file_is_followed_by_the_command_that_uses_it(
    kind: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    assert main(["new", kind, "-o", str(path)]) == 0
    assert f"slipstick check {path}, slipstick {command} {path}\n" in capsys.readouterr().err
    assert main([command, str(path)]) == 0


def test_a_new_file_has_its_schema_beside_it_and_is_never_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    assert main(["new", "machine", "--from", "bbn-gp1000", "-o", str(path)]) == 0
    further = f"slipstick check {path}, slipstick solve MODEL --machine {path}"
    assert capsys.readouterr().err == (
        f"wrote {path}\nnext: change what differs, then {further}\n"
        f"wrote {tmp_path / 'machine.schema.json'}\n"
    )
    assert json.loads((tmp_path / "machine.schema.json").read_text())["title"] == "Machine"
    before = path.read_text()
    assert "# connection between processors and memory modules\ninterconnect:" in before
    assert main(["new", "machine", "-o", str(path)]) == 2
    assert "mine.yaml is there already; choose another name with --out" in capsys.readouterr().err
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "aktivity"], "there is no kind of spec 'aktivity'; did you mean 'activity'?"),
        (
            ["new", "machine", "--from", "lock-and-bus"],
            "it is an activity: slipstick solve lock-and-bus",
        ),
        (
            ["show", "--yaml", "law/flow-line"],
            "'law/flow-line': it is computed; slipstick explain has its equations",
        ),
        (
            ["list", "--search", "zzzz"],
            (
                "there is no name, title or term with 'zzzz'; slipstick list and slipstick "
                "glossary show what there is"
            ),
        ),
        (["run", "amdahl-speedup"], "it is a law: slipstick solve law/amdahl-speedup"),
        (["run", "amdahl-speedupp"], "did you mean 'amdahl-speedup'? It is a law"),
        (["run", "dvsm/lock"], "it is a program: slipstick solve dvsm/lock --machine M"),
        (["show", "dvsm/lokc"], "did you mean 'dvsm/lock'?"),
    ],
)
def test_what_cannot_be_found_is_told(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.turns(4)
def test_the_list_is_short_by_default_and_can_be_searched(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list"]) == 0
    short = capsys.readouterr().out
    assert f"network ({len(names_of_kind('network'))}): 100gbe-tcp, " in short
    assert len(short.splitlines()) < 45
    assert main(["list", "--search", "Multiprocessor TRACE"]) == 2
    assert main(["list", "--search", "ETHERNET"]) == 0
    found = capsys.readouterr().out
    assert "fast-ethernet" in found
    assert "rs6000-43p-fast-ethernet" in found
    assert "lock-and-bus" not in found
    assert main(["list", "--search", "how many gpus"]) == 0
    found = capsys.readouterr().out
    assert 0 < found.index("training-step") < found.index("gpus-for-users")
    assert main(["list", "law"]) == 0
    screen = capsys.readouterr().out
    assert len(screen.splitlines()) < 45
    assert f"and {len(LAWS) - 36} more: --all " in screen
    assert main(["list", "law", "--all"]) == 0
    assert list(LAWS)[-1] in capsys.readouterr().out


def test_a_file_whose_name_is_nearly_right_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "act.yaml").write_text("activity: 1\n")
    assert main(["check", str(tmp_path / "act.yml")]) == 2
    assert "there is no such file; did you mean 'act.yaml'?" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "other.yaml")]) == 2
    assert "there is no such file; check its name" in capsys.readouterr().err


def test_a_network_without_stations_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "away.yaml"
    path.write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 2, think_time: 5 s}}\nstations: {}\n"
    )
    assert main(["explain", str(path)]) == 0
    assert "classes.jobs.think_time" in capsys.readouterr().out


def test_lookups_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    def document(*arguments: str) -> dict[str, object]:
        assert main([*arguments, "--json"]) == 0
        made: dict[str, object] = json.loads(capsys.readouterr().out)
        assert made["problems"] == []
        return made

    assert document("list", "network")["catalogue"][0]["name"] == "100gbe-tcp"  # type: ignore[index]
    adapter = document("show", "network/atm-oc3")["values"]["adapter"]  # type: ignore[index]
    assert (adapter["unit"], adapter["meaning"][:7]) == ("s", "latency")
    price = document("show", "activity/step-of-a-gpu")["values"]["parameters.price"]  # type: ignore[index]
    assert price["technology"] == "node_price"
    law = document("explain", "law/flow-line")
    assert law["name"] == "law/flow-line"
    assert "\\text" in str(law["latex"])


def test_what_a_parameter_follows_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "activity/step-of-a-gpu"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "follows node_price" in words


def test_a_spec_is_shown_as_its_file_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--yaml", "activity/lock-and-bus"]) == 0
    assert capsys.readouterr().out == Path("specs/activities/lock-and-bus.yaml").read_text()


def test_a_hyphen_is_standard_input(
    typed: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("check", "solve", "show", "explain"):
        typed(starter("activity"))
        assert main([command, "-"]) == 0, command
    typed("activity: 1\ncycle: [{dely: 1 ms}]\npopulation: {processors: 2}\n")
    assert main(["check", "-"]) == 2
    assert "standard input:2:10: cycle.0.dely: " in capsys.readouterr().err
    typed("p,time [s]\n1,10\n2,6\n4,4\n")
    assert main(["measured", "-"]) == 0


def test_tables_follow_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    widths = []
    for columns in ("80", "140"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["list", "law", "--all"]) == 0
        widths.append(max(map(len, capsys.readouterr().out.splitlines())))
    assert widths[0] <= 80
    assert 100 < widths[1] <= 140


def test_warnings_have_a_colour_unless_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(click, "echo", lambda words, err: printed.append(words))
    monkeypatch.delenv("NO_COLOR", raising=False)
    echo("time 3 s\nnote: a bound")
    monkeypatch.setenv("NO_COLOR", "1")
    echo("time 3 s\nnote: a bound")
    assert printed == [
        f"time 3 s\n{click.style('note', fg='yellow', bold=True)}: a bound",
        "time 3 s\nnote: a bound",
    ]


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        (["run"], "dvsm-what", ["dvsm-what-if"]),
        (["solve"], "law/amdahl-s", ["law/amdahl-speedup"]),
        (["solve", "x", "--machine"], "rs6000-43p-a", ["rs6000-43p-atm"]),
        (["show"], "infiniband-n", ["infiniband-ndr"]),
        (["check"], "mine/", ["mine/"]),
        (["check"], "act.y", ["act.yaml"]),
        (["show"], "network/infiniband-n", ["network/infiniband-ndr"]),
        (["list"], "la", ["law"]),
        ([], "gal", ["gallery"]),
        (["solve", "x", "--with"], "sim", ["simulation"]),
        (["solve", "x", "--with"], "simulation,closed", ["simulation,closed-form"]),
        (["solve", "x", "--with"], "simulation,sim", []),
        (["page", "x", "--with"], "boun", ["bounds"]),
    ],
)
def test_a_shell_completes_commands_names_and_paths(
    words: list[str], begun: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "act.yaml").touch()
    monkeypatch.chdir(tmp_path)
    completions = ShellComplete(cli, {}, "slipstick", "_SLIPSTICK_COMPLETE").get_completions(
        words, begun
    )
    assert [each.value for each in completions] == found


def test_each_key_of_a_file_to_begin_with_stands_below_its_meaning() -> None:
    lines = starter("machine", "rs6000-43p-atm").splitlines()
    for key, meaning in {"year: 1996": "# year in which", "network: atm-oc3": "# network"}.items():
        assert lines[lines.index(key) - 1].startswith(meaning)


def test_the_parameters_of_a_model_come_first_and_meanings_have_room(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Beside the long paths of a machine, a column of meanings would have 16 signs."""
    assert main(["show", "activity/language-model-step"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (first,) = (index for index, line in enumerate(lines) if line.startswith("parameters.tensor"))
    assert first < 8
    assert not any(line.startswith("machine.") for line in lines[:first])
    assert lines[first + 1] == "  GPUs that share each layer"
    assert max(map(len, lines[first : first + 40])) <= 100
