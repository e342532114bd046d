"""docs/cli.md: every command with its arguments and options, and the exit codes."""

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from registry import cli
from registry.cli.pages.markdown import page, table


def commands_page() -> str:
    """Every command with its arguments and options, and the exit codes."""
    group: Any = typer.main.get_command(cli.app)
    commands = dict(_commands(group, "waypost"))
    return page(
        "Commands",
        "`waypost COMMAND --help` says the same in the terminal. Settings come from the environment: "
        "[settings.md](settings.md).",
        table(("command", ""), (_row(path, command) for path, command in commands.items())),
        *(_command_section(path, command) for path, command in commands.items()),
        "## Exit codes",
        _exit_codes(Text.from_markup(group.help).plain),
    )


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Whole names and commands; a group comes before its own."""
    for command in group.commands.values():
        if not command.hidden:
            yield f"{path} {command.name}", command
            if hasattr(command, "commands"):
                yield from _commands(command, f"{path} {command.name}")


def _row(path: str, command: Any) -> tuple[str, str]:
    return f"[`{path.removeprefix('waypost ')}`](#{path.replace(' ', '-')})", _sentence(command.help)


def _command_section(path: str, command: Any) -> str:
    shown = [one for one in command.params if not one.hidden]
    arguments = [_argument_name(one) for one in shown if one.param_type_name == "argument"]
    if hasattr(command, "commands"):
        arguments = ["COMMAND ..."]
    parts = [f"## {path}", f"`{' '.join([path, '[OPTIONS]', *arguments])}`"]
    parts.append(" ".join(inspect.cleandoc(command.help or "").split()))
    if shown:
        parts.append(table(("parameter", "default", "meaning"), (_parameter(one) for one in shown)))
    return "\n\n".join(parts)


def _argument_name(one: Any) -> str:
    return str(one.metavar or one.name.upper())


def _parameter(one: Any) -> tuple[str, str, str]:
    if one.param_type_name == "argument":
        return f"`{_argument_name(one)}`", "required" if one.required else "", one.help or ""
    names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    if not one.is_flag:
        names += f" `{one.metavar or one.name.upper()}`"
    return names, _option_default(one), one.help or ""


def _option_default(one: Any) -> str:
    if one.is_flag:
        return f"`{one.opts[0]}`" if one.default else ""
    return "" if one.default is None else f"`{one.default}`"


def _exit_codes(text: str) -> str:
    """The paragraph of the help about exit codes as a table, one row per code."""
    told = " ".join(text.partition("Exit codes:")[2].partition("\n\n")[0].split()).rstrip(".")
    return table(("code", "meaning"), (part.strip().partition(" ")[::2] for part in told.split(";")))


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split()).partition(". ")[0].rstrip(".")
