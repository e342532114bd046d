"""`waypost forget` asks before it deletes, and says when nothing was stored."""

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from registry.cli import app
from registry.cli.common import DONE, NO, USAGE
from tests.cli.conftest import BIKES
from tests.support.terminal import run_on_terminal


def waypost(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def is_stored(host: str) -> bool:
    return waypost("inspect", host).exit_code == DONE


def on_terminal(answer: bytes, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "registry.cli", "forget", *arguments]
    code, output = run_on_terminal(command, dict(os.environ), answer=answer)
    return code, " ".join(output.decode().split())


@pytest.mark.slow
def test_on_a_terminal_it_asks_first(registry: Path) -> None:
    code, output = on_terminal(b"n\n", BIKES)
    assert code == NO
    assert f"Delete everything stored about {BIKES} and all its hosts from the configured database? [y/N]" in output
    assert "nothing was deleted" in output
    assert on_terminal(b"\n", BIKES)[0] == on_terminal(b"\x04", BIKES)[0] == NO
    assert is_stored(BIKES)
    code, output = on_terminal(b"y\n", "--opt-out", BIKES)
    assert "and never visit it again? [y/N]" in output
    assert (code, "forgotten" in output, is_stored(BIKES)) == (DONE, True, False)


def test_without_a_terminal_it_deletes_only_when_told_to(registry: Path) -> None:
    refused = waypost("forget", BIKES)
    assert (refused.exit_code, refused.stdout) == (USAGE, "")
    assert "confirm with --yes" in refused.stderr
    assert is_stored(BIKES)
    forgotten = waypost("forget", BIKES, "--yes")
    assert forgotten.exit_code == DONE
    assert forgotten.stdout.splitlines()[0] == f"{BIKES}, the whole domain: forgotten"
    assert "  1 services" in forgotten.stdout.splitlines()
    assert not is_stored(BIKES)


def test_it_says_when_nothing_was_stored(registry: Path) -> None:
    waypost("forget", BIKES, "--yes")
    for host in (BIKES, "nobody.example"):
        again = waypost("forget", host, "--yes")
        assert again.exit_code == NO
        assert again.stdout.splitlines() == [
            f"{host}, the whole domain: nothing was stored",
            "  it can be named or submitted again",
        ]
    as_json = waypost("forget", "nobody.example", "--yes", "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout)["was_stored"]) == (NO, False)


def test_an_opt_out_of_an_unknown_host_is_no_failure(registry: Path) -> None:
    result = waypost("forget", "nobody.example", "--yes", "--opt-out")
    assert result.exit_code == DONE
    assert result.stdout.splitlines()[-2:] == [
        "nobody.example, the whole domain: nothing was stored",
        "  it will not be visited again",
    ]


@pytest.mark.parametrize("options", [(), ("--yes",)])
def test_a_name_that_is_none_is_refused_before_anything_is_asked(options: tuple[str, ...]) -> None:
    result = waypost("forget", "no host", *options)
    assert result.exit_code == USAGE
    assert "--yes" not in result.stderr
