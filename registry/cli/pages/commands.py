"""docs/cli.md: every command with its arguments and options, and the exit codes."""

import inspect
from typing import Any

import typer
from rich.text import Text

from registry import cli
from registry.cli.pages.markdown import page, table


def commands_page() -> str:
    """Every command with its arguments and options, and the exit codes."""
    group: Any = typer.main.get_command(cli.app)
    commands = [command for command in group.commands.values() if not command.hidden]
    return page(
        "Commands",
        "`waypost COMMAND --help` says the same in the terminal. Settings come from the environment: "
        "[settings.md](settings.md).",
        table(("command", ""), ((f"[`{c.name}`](#waypost-{c.name})", _sentence(c.help)) for c in commands)),
        *(_command_section(command) for command in commands),
        "## Exit codes",
        _exit_codes(Text.from_markup(group.help).plain),
    )


def _command_section(command: Any) -> str:
    shown = [one for one in command.params if not one.hidden]
    arguments = [_argument_name(one) for one in shown if one.param_type_name == "argument"]
    parts = [f"## waypost {command.name}", f"`{' '.join(['waypost', command.name, '[OPTIONS]', *arguments])}`"]
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
