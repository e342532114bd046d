"""`waypost --help`: what people use first stands first, and every line is whole at 80 columns."""

import re

from typer.testing import CliRunner

from registry.cli import app
from registry.cli.common import USAGE


def help_lines(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "80"}, catch_exceptions=False)
    return result.stdout.splitlines()


def test_commands_stand_in_the_order_of_use() -> None:
    lines = help_lines()
    listed = [match[1] for line in lines[lines.index("Commands:") :] if (match := re.match(r"  ([a-z-]+)  ", line))]
    assert listed[:5] == ["demo", "search", "check", "crawl", "serve"]
    assert set(listed) >= {"inspect", "translate", "forget", "seed", "migrate", "search-keys"}
    assert len(listed) == len(set(listed))


def test_no_line_of_help_is_cut() -> None:
    lines = [*help_lines()[1:], *help_lines("seed")[1:]]  # the first line ends in `COMMAND [ARGS]...`
    assert [line for line in lines if line.endswith("...") or len(line) > 80] == []


def test_a_wrong_name_suggests_the_right_one() -> None:
    result = CliRunner().invoke(app, ["serch", "x"], catch_exceptions=False)
    assert result.exit_code == USAGE
    assert "'search'" in result.stderr
