"""README and the first hour are followed literally: each console example, beside the demo that they start."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from registry.cli import app
from tests.support.demo import forget_database, forget_remains
from tests.support.hang import HANG_SECONDS, NETWORK_ENVIRONMENT
from tests.support.shared import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_HOUR = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
LEFT_OUT = "..."
PORT, SITES_PORT = "8000", "8443"
LAST_LINE = "  a site  "
"""The end of what the demo prints once it answers."""


def examples(text: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a page's console blocks, each with the lines of output that it claims."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> "):  # the command goes on
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
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


@dataclass(frozen=True)
class Reader:
    """A reader who follows a page in a folder, with a separate home."""

    folder: Path
    environment: dict[str, str]
    port: str

    @property
    def log(self) -> Path:
        return self.folder / "demo.log"

    def typed(self, text: str) -> str:
        """Return text of a page as it is on this machine."""
        used = re.search(r"--connect-to ::127\.0\.0\.1:(\d+)", self.log.read_text() if self.log.exists() else "")
        text = text.replace(PORT, self.port).replace(SITES_PORT, used[1] if used else SITES_PORT)
        return text.replace("~", self.environment["HOME"])

    @contextmanager
    def demo(self, *command: str) -> Iterator[None]:
        """Run the demo while the block runs, which begins once it answers."""
        data = Path(self.environment["HOME"]) / ".local/share/waypost/demo"
        forget_remains(data / "postgres")
        with self.log.open("wb") as output:
            demo = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        try:
            deadline = time.monotonic() + HANG_SECONDS
            while LAST_LINE not in self.log.read_text(errors="replace"):
                assert demo.poll() is None and time.monotonic() < deadline, self.log.read_text(errors="replace")
                time.sleep(0.2)
            yield
        finally:
            os.killpg(demo.pid, signal.SIGINT)
            demo.wait(HANG_SECONDS)
            for folder in (data, data.parent):
                forget_database(folder)

    def follow(self, commands: list[tuple[str, list[str]]]) -> None:
        """Run commands in one shell, and compare what they print with what the page claims."""
        script = "".join(f"printf '\\n@@\\n'\n{self.typed(command)}\n" for command, _ in commands)
        completed = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_SECONDS, check=False,
        )  # fmt: skip
        outputs = completed.stdout.split("\n@@\n")[1:]
        assert len(outputs) == len(commands) > 1, completed.stdout
        for (command, claimed), output in zip(commands, outputs, strict=True):
            if command.startswith("curl"):
                assert shape_differs(without_gaps("\n".join(claimed)), json.loads(output)) is None, output
            else:
                assert claim_missing(claimed, output) is None, f"{command}\n{output}"

    def check_demo(self, claimed: list[str]) -> None:
        assert claim_missing([self.typed(line) for line in claimed], self.log.read_text()) is None


@pytest.fixture(scope="module")
def new_reader(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Reader]:
    def make() -> Reader:
        folder = tmp_path_factory.mktemp("reader")
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
        return Reader(folder, environment, port)

    return make


@pytest.fixture(scope="module")
def checkout(new_reader: Callable[[], Reader]) -> Iterator[Reader]:
    """Run `make demo`; yield its reader once the API answers. The environment that runs this test is installed."""
    reader = new_reader()
    with reader.demo("make", "-o", ".venv/.demo", "demo", f"PORT={reader.port}"):
        yield reader


NEEDS_MAKE = pytest.mark.skipif(
    not (ROOT / ".venv/bin/waypost").exists(), reason="the environment is not that of `make`"
)


@pytest.mark.slow
@NEEDS_MAKE
def test_the_examples_work_after_make_demo(checkout: Reader) -> None:
    (first, claimed), *others = examples(README)
    assert first == "make demo"
    checkout.check_demo(claimed)
    checkout.follow(others)
    lines = dict(re.findall(r"^  (\S+(?: \S+)?) {2,}(.+)$", checkout.log.read_text(), re.MULTILINE))
    for name in ("API", "terminal", "a site"):
        command = ["bash", "-c", lines[name]]
        completed = subprocess.run(
            command, cwd=checkout.folder, env=checkout.environment, capture_output=True, text=True, timeout=HANG_SECONDS
        )
        assert completed.returncode == 0 and completed.stdout, f"{lines[name]}\n{completed.stderr}"


@pytest.mark.slow
@NEEDS_MAKE
def test_the_first_hour_goes_from_a_manifest_to_its_call(new_reader: Callable[[], Reader]) -> None:
    reader = new_reader()
    reader.environment["PATH"] = f"{ROOT / '.venv/bin'}{os.pathsep}{reader.environment['PATH']}"
    commands = examples(FIRST_HOUR)
    start = next(number for number, (command, _) in enumerate(commands) if command.startswith("waypost demo"))
    reader.follow(commands[:start])
    with reader.demo(*shlex.split(commands[start][0]), "--port", reader.port):
        reader.check_demo(commands[start][1])
        reader.follow(commands[start + 1 :])


@pytest.mark.slow
@NEEDS_MAKE
def test_a_search_in_the_empty_registry_names_that_of_the_demo(checkout: Reader) -> None:
    environment = checkout.environment
    command = [str(checkout.folder / ".venv/bin/waypost"), "search", "send an email"]
    empty = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (empty.returncode, empty.stdout) == (1, "")
    match = re.search(r"add (--data \S+), or set (WAYPOST_DATA)=(\S+)", " ".join(empty.stderr.split()))
    assert match is not None, empty.stderr
    by_option = subprocess.run([*command, *shlex.split(match[1])], env=environment, capture_output=True, text=True)
    by_variable = subprocess.run(command, env={**environment, match[2]: match[3]}, capture_output=True, text=True)
    assert by_option.stdout == by_variable.stdout
    assert "mailroom.example" in by_option.stdout and "add --data" not in by_option.stderr


def test_the_commands_of_the_tables_exist() -> None:
    """Those that need the web are not run; their names and options are read as the command line reads them."""
    commands = re.findall(r"^\| `waypost ([^`]+)` \|", README, re.MULTILINE)
    assert len(commands) > 3
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
