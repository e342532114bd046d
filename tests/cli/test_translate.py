"""`waypost translate`: documents on standard output, losses on standard error, exit codes that scripts can rely on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from registry.cli import app
from registry.cli.common import DONE, NO, USAGE
from registry.core.assessing.assess import assess_body
from registry.core.model.documents import Outcome
from registry.core.translating import TARGETS
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.support.builders import Page, adp_site, awp_manifest, crawl

BIKES = "bikes.example"
PIGEON = "api.pigeonpost.example"


def translate(*arguments: str, input: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["translate", *arguments], input=input, catch_exceptions=False)


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write an AWP file, and configure a database that cannot be reached."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(awp_manifest(BIKES)))
    return str(file)


@pytest.mark.parametrize(
    ("target", "path", "more"),
    [
        ("atp", "/x", ["--version", "1.0.0"]),
        ("awas", "/.well-known/ai-actions.json", []),
    ],
)
def test_a_file_is_translated_without_a_database(manifest: str, target: str, path: str, more: list[str]) -> None:
    result = translate(manifest, "--to", target, *more)
    assert result.exit_code == DONE, result.stderr
    assessed = assess_body(result.stdout.encode(), f"https://{BIKES}{path}")
    assert (assessed.outcome, assessed.format) == (Outcome.FOUND, target)
    assert f"https://{BIKES}" in result.stdout


def test_losses_are_printed_on_standard_error(manifest: str) -> None:
    result = translate(manifest, "--to", "awas")
    assert "lost: outputs: AWAS has no place for it (/actions/0/outputs)" in result.stderr.splitlines()
    assert "lost:" not in result.stdout


def test_json_holds_document_and_losses_on_one_line(manifest: str) -> None:
    result = translate(manifest, "--to", "awas", "--json")
    (line,) = result.stdout.splitlines()
    output = json.loads(line)
    assert output["document"]["actions"][0]["path"] == "/rent"
    assert output["compared_with"] == "documents"
    assert {
        "document": manifest,
        "pointer": "/actions/0/outputs",
        "what": "outputs",
        "why": "AWAS has no place for it",
    } in output["losses"]
    (named,) = [loss for loss in output["losses"] if loss["document"] is None]  # no member of the file: a substitute
    assert named["what"] == "descriptions of station"
    assert output["reasons"] == []


def test_standard_input_is_translated(manifest: str) -> None:
    result = translate("-", "--to", "atp", "--version", "1.0.0", input=Path(manifest).read_bytes())
    assert json.loads(result.stdout)["capabilities"][0]["id"] == "rent-bike"


def test_the_path_option_identifies_the_format(tmp_path: Path) -> None:
    action = {"id": "find", "name": "Find", "description": "Finds a book.", "path": "/find", "method": "GET"}
    file = tmp_path / "draft.json"
    file.write_text(json.dumps({"version": "1.0", "name": "B", "description": "Books.", "actions": [action]}))
    assert translate(str(file), "--to", "awp").exit_code == NO
    at = "https://books.example/.well-known/ai-actions.json"
    assert translate(str(file), "--to", "awp", "--at", at).exit_code == DONE


def test_the_folder_identifies_the_format(tmp_path: Path) -> None:
    action = {"id": "find", "name": "Find", "description": "Finds a book.", "path": "/find", "method": "GET"}
    file = tmp_path / "site" / ".well-known" / "ai-actions.json"
    file.parent.mkdir(parents=True)
    base = {"version": "1.0", "name": "B", "description": "Books.", "url": "https://books.example"}
    file.write_text(json.dumps({**base, "actions": [action]}))
    result = translate(str(file), "--to", "awp")
    assert result.exit_code == DONE, result.stderr
    assert result.stderr.splitlines()[0] == (
        "assumed: the host books.example, which the document names as its own; "
        "the path /.well-known/ai-actions.json, where the file lies"
    )
    assert json.loads(result.stdout)["domain"] == "books.example"


def test_no_host_is_made_up(tmp_path: Path) -> None:
    """A document without a host is translated for the host that its author names, and for no other."""
    value = awp_manifest(BIKES)
    del value["domain"]
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(value))
    for target in TARGETS:
        result = translate(str(file), "--to", target, "--json")
        assert "invalid" not in result.stdout and "localhost" not in result.stdout and "example" not in result.stdout
        assert json.loads(result.stdout)["served_as"]["host"] is None
    refused = translate(str(file), "--to", "awas")
    assert (refused.exit_code, refused.stdout) == (NO, "")
    assert (
        "not translated: the document does not say which host serves it; --at https://HOST/PATH does" in refused.stderr
    )
    given = translate(str(file), "--to", "awas", "--at", "https://Rent.Example/agent.json", "--json")
    output = json.loads(given.stdout)
    assert (given.exit_code, output["document"]["baseUrl"]) == (DONE, "https://rent.example/")
    assert output["served_as"] == {
        "host": "rent.example", "host_from": "--at", "path": "/agent.json", "path_from": "--at",
    }  # fmt: skip


def test_a_file_is_not_translated_to_adp(manifest: str) -> None:
    result = translate(manifest, "--to", "adp")
    assert result.exit_code == NO
    assert result.stdout == ""
    assert "not translated: " in result.stderr
    assert "a file cannot serve one" in result.stderr


@pytest.mark.parametrize("content", ["[]", "{", '{"hello": 1}', ""])
def test_a_file_that_is_no_manifest_is_not_translated(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    result = translate(str(file), "--to", "awp")
    assert result.exit_code == NO
    assert "no service is described in it" in result.stderr


def test_foreign_text_does_not_control_the_terminal(tmp_path: Path) -> None:
    value: dict[str, Any] = awp_manifest(BIKES)
    value["actions"].append({**value["actions"][0], "id": "\x1b[31m evil \u202e", "method": "BREW"})
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(value))
    result = translate(str(file), "--to", "awas")
    assert result.exit_code == DONE
    assert "evil" in result.stderr
    assert not {"\x1b", "\u202e"} & {*result.stdout, *result.stderr}


def test_an_unknown_target_format_is_a_usage_error(manifest: str) -> None:
    result = translate(manifest, "--to", "openapi")
    assert result.exit_code == USAGE
    assert "awp, atp, woa, adp, a2a, awas" in result.stderr


def test_a_listed_host_is_translated_from_the_registry(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_crawl(database_url))
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path))
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "https://registry.example/")
    result = translate(BIKES, "--to", "adp")
    assert result.exit_code == DONE, result.stderr
    (capability,) = json.loads(result.stdout)["capabilities"]
    assert capability["detail_url"] == f"https://registry.example/api/services/{BIKES}/capabilities/rent_bike"
    detailed = json.loads(translate(PIGEON, "--to", "awp").stdout)
    assert detailed["actions"][0]["endpoint"] == f"https://{PIGEON}/v1/create_parcel"
    unknown = translate("nobody.example", "--to", "awp")
    assert unknown.exit_code == NO
    assert "no service is listed under this host, and there is no such file" in unknown.stderr
    assert translate("not a host", "--to", "awp").exit_code == USAGE


async def _crawl(url: str) -> None:
    store = Store(make_engine(url, pool_size=2))
    try:
        await crawl(store, {BIKES: {"/agent.json": Page(awp_manifest(BIKES))}, PIGEON: adp_site(PIGEON)})
    finally:
        await store.close()
