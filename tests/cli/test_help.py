"""`waypost --help`: commands in groups by purpose, every line whole at 80 columns; the version, and completion."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from registry.cli import GROUPS, app
from registry.cli.common import USAGE
from tests.support.hang import HANG_SECONDS


def run(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}, catch_exceptions=False)
    return result.stdout.splitlines()


def help_lines(*arguments: str) -> list[str]:
    return run(*arguments, "--help")


def test_commands_are_listed_in_groups_in_the_order_of_use() -> None:
    lines = help_lines()
    shown = {
        title: [
            match[1] for line in lines[lines.index(f"{title}:") + 1 :] if (match := re.match(r"  ([a-z-]+) ", line))
        ]
        for title in GROUPS
    }
    names = [name for group in GROUPS.values() for name in group]
    assert {title: found[: len(GROUPS[title])] for title, found in shown.items()} == {
        title: list(group) for title, group in GROUPS.items()
    }
    assert names[:3] == ["demo", "search", "check"]
    assert len(names) == len(set(names))


def test_every_command_is_in_a_group() -> None:
    commands = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    assert {name for group in GROUPS.values() for name in group} == commands | {
        str(group.name) for group in app.registered_groups
    }


def test_no_line_of_help_is_cut() -> None:
    lines = [*help_lines()[1:], *help_lines("seed")[1:]]  # the first line ends in `COMMAND [ARGS]...`
    assert [line for line in lines if line.endswith("...") or len(line) > 80] == []


@pytest.mark.parametrize("arguments", [(), ("search",), ("admin",), ("admin", "keys", "add"), ("seed", "file")])
def test_the_short_option_of_help_says_the_same(arguments: tuple[str, ...]) -> None:
    assert run(*arguments, "-h") == help_lines(*arguments)
    assert run(*arguments, "-h")[0].startswith("Usage:")


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_that_of_the_package(option: str) -> None:
    assert run(option) == [f"waypost {version('waypost')}"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [(("serch", "x"), "'search'"), (("admin", "blok"), "'block'"), (("search", "--limt"), "--limit")],
)
def test_a_wrong_name_suggests_the_right_one(wrong: tuple[str, ...], right: str) -> None:
    result = CliRunner().invoke(app, wrong, catch_exceptions=False)
    assert result.exit_code == USAGE
    assert right in result.stderr


BASH = """
source <(waypost completion bash)
for words in "waypost se" "waypost admin keys " "waypost mcp --profile "; do
    IFS=" " read -ra COMP_WORDS <<< "$words"
    [[ $words == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _waypost_completion waypost
    echo "${COMPREPLY[@]}"
done
"""
FISH = """
waypost completion fish | source
for words in "waypost se" "waypost admin keys " "waypost mcp --profile "
    complete --do-complete $words | string replace --regex "\t.*" "" | string join " "
end
"""
ZSH = r"""
autoload -Uz compinit && compinit -u -D
source <(waypost completion zsh)
_arguments() { print -r -- "$1" | grep -oE '"[a-z-]+"' | tr -d '"' }  # help texts have spaces
ask() { words=("$@") CURRENT=$#; _waypost_completion | xargs }
ask waypost se
ask waypost admin keys ""
ask waypost mcp --profile ""
"""


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "script"), [("bash", BASH), ("fish", FISH), ("zsh", ZSH)])
def test_shells_complete_commands_and_choices(shell: str, script: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    no_start_files = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}[shell]
    ended = subprocess.run(
        [shell, *no_start_files, "-c", script], env=environment, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    commands, subcommands, choices = (set(line.split()) for line in ended.stdout.splitlines())
    assert commands == {"search", "search-keys", "seed", "serve"}
    assert subcommands == {"add", "list", "revoke"}
    assert choices == {"lean", "full"}
