"""The command `config`: the settings in force, where each is from, and its meaning. Secrets are never printed."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from registry.cli.clean import print_json
from registry.cli.terminal import console, escaped
from registry.settings import Settings, allowed, is_from_environment, is_secret, meanings, shown_value, variable

MAX_WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class SettingLine:
    """`value`: as in the environment; None if unset. `origin`: default, environment or command line."""

    name: str
    value: str | None
    origin: str
    meaning: str

    @property
    def is_changed(self) -> bool:
        return self.origin != "default"


def setting_lines(settings: Settings, *, has_data_option: bool) -> Iterator[SettingLine]:
    """Yield all settings in their order. `has_data_option`: the command line names the data folder."""
    described = meanings()
    for name in Settings.model_fields:
        origin = "environment" if is_from_environment(name) else "default"
        if name == "data" and has_data_option:
            origin = "command line"
        yield SettingLine(name, shown_value(name, getattr(settings, name)), origin, described[name])


def show_config(settings: Settings, *, has_data_option: bool, changed: bool, as_json: bool) -> None:
    """Print the settings; with `changed`, leave out those with their default."""
    width = min(console.width, MAX_WIDTH)
    shown = [
        line for line in setting_lines(settings, has_data_option=has_data_option) if line.is_changed or not changed
    ]
    for line in shown:
        if as_json:
            print_json(_facts(line))
            continue
        value = "unset" if line.value is None else f"= {line.value or '(empty)'}"
        console.print(f"[bold]{variable(line.name)}[/] {escaped(value)} [dim]({line.origin})[/]", soft_wrap=True)
        for text in textwrap.wrap(line.meaning, width - 4):
            console.print(f"    {escaped(text)}", soft_wrap=True)
    if not shown and not as_json:
        console.print("every setting has its default; without --changed, `waypost config` lists them")


def _facts(line: SettingLine) -> dict[str, Any]:
    secret = is_secret(line.name)
    return {
        "variable": variable(line.name),
        "value": None if secret else line.value,
        "set": line.value is not None,
        "secret": secret,
        "origin": line.origin,
        "allowed": allowed(line.name),
        "meaning": line.meaning,
    }
