"""README is followed literally: `make demo`, then each console example against the registry that the demo filled."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from registry.cli import app
from tests.support.demo import forget_database, forget_remains
from tests.support.hang import HANG_SECONDS, NETWORK_ENVIRONMENT
from tests.support.shared import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
LEFT_OUT = "..."
PORT = "8000"


def examples() -> list[tuple[str, list[str]]]:
    """Return the commands of README's console blocks, each with the lines of output that it claims."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def claim_missing(claimed: list[str], output: str) -> str | None:
    """Return the first claimed line that the output lacks, in order. Numbers and line breaks may differ."""
    text, position = _comparable(output), 0
    for line in claimed:
        if line.strip() in ("", LEFT_OUT):
            continue
        wanted = _comparable(line)
        if (found := text.find(wanted, position)) < 0:
            return line
        position = found + len(wanted)
    return None


def _comparable(text: str) -> str:
    return re.sub(r"\d+", "0", "".join(text.split()))  # a terminal breaks long paths anywhere


def shape_differs(claimed: Any, actual: Any, place: str = "$") -> str | None:
    """Return the place of the first member that the answer lacks or has with another type."""
    if isinstance(claimed, dict) and isinstance(actual, dict):
        for name, value in claimed.items():
            if name not in actual:
                return f"{place}.{name}"
            if place_of := shape_differs(value, actual[name], f"{place}.{name}"):
                return place_of
        return None
    if isinstance(claimed, list) and isinstance(actual, list):
        pairs = [(value, actual[0]) for value in claimed] if actual else []
        return next((found for pair in pairs if (found := shape_differs(*pair, f"{place}[0]"))), None)
    numbers = (int, float)
    is_same = type(claimed) is type(actual) or (type(claimed) in numbers and type(actual) in numbers)
    return None if is_same else place


def without_gaps(text: str) -> Any:
    """Return JSON in which `...` stands for members or elements that are left out."""
    return json.loads(re.sub(r",\s*\.\.\.", "", text))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str], str]]:
    """Run `make demo` with a home of its own; yield the folder, the environment and the port, once the API answers."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / "Makefile").symlink_to(ROOT / "Makefile")
    home = folder / "home"
    home.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    prefixes = ("WAYPOST_", "DATABASE_", "XDG_", "SSL_CERT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    environment |= {"HOME": str(home), "COLUMNS": "80", **NETWORK_ENVIRONMENT}
    log = folder / "demo.log"
    forget_remains(home / ".local/share/waypost/demo/postgres")
    with log.open("wb") as output:
        demo = subprocess.Popen(
            ["make", "-o", ".venv/.demo", "demo", f"PORT={port}"],  # the environment that runs this test is installed
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while "api/discover?q=" not in log.read_text(errors="replace"):
            assert demo.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.2)
        yield folder, environment, port
    finally:
        os.killpg(demo.pid, signal.SIGINT)
        demo.wait(HANG_SECONDS)
        for data in (home / ".local/share/waypost/demo", home / ".local/share/waypost"):
            forget_database(data)


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".venv/bin/waypost").exists(), reason="the environment is not that of `make`")
def test_the_examples_work_after_make_demo(checkout: tuple[Path, dict[str, str], str]) -> None:
    folder, environment, port = checkout
    (first, claimed), *others = examples()
    assert first == "make demo"
    written = [line.replace(PORT, port).replace("~", environment["HOME"]) for line in claimed]
    assert claim_missing(written, (folder / "demo.log").read_text()) is None
    script = "".join(f"printf '\\n@@\\n'\n{command.replace(PORT, port)}\n" for command, _ in others)
    completed = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    outputs = completed.stdout.split("\n@@\n")[1:]
    assert len(outputs) == len(others) > 4, completed.stdout
    for (command, claimed), output in zip(others, outputs, strict=True):
        if command.startswith("curl"):
            assert shape_differs(without_gaps("\n".join(claimed)), json.loads(output)) is None, output
        else:
            assert claim_missing(claimed, output) is None, f"{command}\n{output}"


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".venv/bin/waypost").exists(), reason="the environment is not that of `make`")
def test_a_search_in_the_empty_registry_names_that_of_the_demo(checkout: tuple[Path, dict[str, str], str]) -> None:
    folder, environment, _ = checkout
    command = [str(folder / ".venv/bin/waypost"), "search", "send an email"]
    empty = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (empty.returncode, empty.stdout) == (1, "nothing found\n")
    match = re.search(r"add (--data \S+), or set (WAYPOST_DATA)=(\S+)", " ".join(empty.stderr.split()))
    assert match is not None, empty.stderr
    by_option = subprocess.run([*command, *shlex.split(match[1])], env=environment, capture_output=True, text=True)
    by_variable = subprocess.run(command, env={**environment, match[2]: match[3]}, capture_output=True, text=True)
    assert by_option.stdout == by_variable.stdout
    assert "mailroom.example" in by_option.stdout and "add --data" not in by_option.stderr


def test_the_commands_of_the_tables_exist() -> None:
    """Those that need the web are not run; their names and options are read as the command line reads them."""
    commands = re.findall(r"^\| `waypost ([^`]+)` \|", README, re.MULTILINE)
    assert len(commands) > 8
    group: Any = typer.main.get_command(app)
    for words in map(shlex.split, commands):
        name, command, rest = group.resolve_command(group.make_context("waypost", ["demo"]), words)
        while hasattr(command, "resolve_command"):
            name, command, rest = command.resolve_command(None, rest)
        folder = str(ROOT) if "DIR" in rest else None
        command.make_context(name, [folder or word if word == "DIR" else word for word in rest])


def test_a_false_claim_is_noticed() -> None:
    assert claim_missing(["a 1", LEFT_OUT, "b"], "a 27\nx\nb\n") is None
    assert claim_missing(["b", "a 1"], "a 27\nb\n") == "a 1"
    assert shape_differs({"a": [{"b": 1}]}, {"a": [{"b": 2.5, "c": 0}]}) is None
    assert shape_differs({"a": [{"b": 1}]}, {"a": [{"c": 1}]}) == "$.a[0].b"
    assert shape_differs({"a": "x"}, {"a": 1}) == "$.a"
    assert without_gaps('{"a": [1, ...], "b": {"c": 2, ...}, ...}') == {"a": [1], "b": {"c": 2}}
