"""`waypost translate`: documents on standard output, losses on standard error, and exit codes a script can trust."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from registry.cli import app
from registry.cli.porch import DONE, NO, USAGE
from registry.core.assess import assess_body
from registry.core.documents import Outcome
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.support.builders import Page, adp_site, awp_manifest, crawl
from tests.support.database import database_server, database_template, database_url

__all__ = ["database_server", "database_template", "database_url"]

BIKES = "bikes.example"
PIGEON = "api.pigeonpost.example"


def translate(*arguments: str, input: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["translate", *arguments], input=input, catch_exceptions=False)


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An AWP file, and no database that could be reached."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(awp_manifest(BIKES)))
    return str(file)


@pytest.mark.parametrize(("target", "path"), [("atp", "/x"), ("awas", "/.well-known/ai-actions.json"), ("awp", "/x")])
def test_a_file_is_translated_without_a_database(manifest: str, target: str, path: str) -> None:
    answer = translate(manifest, "--to", target)
    assert answer.exit_code == DONE, answer.stderr
    judged = assess_body(answer.stdout.encode(), f"https://{BIKES}{path}")
    assert (judged.outcome, judged.format) == (Outcome.FOUND, target)
    assert f"https://{BIKES}" in answer.stdout


def test_what_is_lost_is_told_beside_the_document(manifest: str) -> None:
    answer = translate(manifest, "--to", "awas")
    assert "lost: result: AWAS has no place for it (/capabilities/0/result)" in answer.stderr.splitlines()
    assert "lost:" not in answer.stdout


def test_json_holds_document_and_losses_on_one_line(manifest: str) -> None:
    answer = translate(manifest, "--to", "awas", "--json")
    (line,) = answer.stdout.splitlines()
    told = json.loads(line)
    assert told["document"]["actions"][0]["path"] == "/rent"
    assert {"pointer": "/capabilities/0/result", "what": "result", "why": "AWAS has no place for it"} in told["losses"]
    assert told["reasons"] == []


def test_standard_input_is_a_file_too(manifest: str) -> None:
    answer = translate("-", "--to", "atp", input=Path(manifest).read_bytes())
    assert json.loads(answer.stdout)["capabilities"][0]["id"] == "rent-bike"


def test_the_path_tells_what_a_file_is_where_its_name_does_not(tmp_path: Path) -> None:
    action = {"id": "find", "name": "Find", "description": "Finds a book.", "path": "/find", "method": "GET"}
    file = tmp_path / "draft.json"
    file.write_text(json.dumps({"version": "1.0", "name": "B", "description": "Books.", "actions": [action]}))
    assert translate(str(file), "--to", "atp").exit_code == NO
    assert translate(str(file), "--to", "atp", "--at", "/.well-known/ai-actions.json").exit_code == DONE


def test_nobody_serves_adp_details_for_a_file(manifest: str) -> None:
    answer = translate(manifest, "--to", "adp")
    assert answer.exit_code == NO
    assert answer.stdout == ""
    assert "not translated: " in answer.stderr
    assert "no registry serves one for a file" in answer.stderr


@pytest.mark.parametrize("content", ["[]", "{", '{"hello": 1}', ""])
def test_what_is_no_manifest_is_not_translated(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    answer = translate(str(file), "--to", "awp")
    assert answer.exit_code == NO
    assert "no service is described in it" in answer.stderr


def test_text_of_strangers_does_not_steer_the_terminal(tmp_path: Path) -> None:
    value: dict[str, Any] = awp_manifest(BIKES)
    value["actions"].append({**value["actions"][0], "id": "\x1b[31m evil \u202e", "method": "BREW"})
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(value))
    answer = translate(str(file), "--to", "atp")
    assert answer.exit_code == DONE
    assert not {"\x1b", "\u202e"} & {*answer.stdout, *answer.stderr}


def test_another_format_is_wrong_usage(manifest: str) -> None:
    answer = translate(manifest, "--to", "openapi")
    assert answer.exit_code == USAGE
    assert "awp, atp, awas, adp, woa, a2a" in answer.stderr


def test_a_listed_host_is_translated_from_the_registry(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_crawl(database_url))
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path))
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "https://registry.example/")
    answer = translate(BIKES, "--to", "adp")
    assert answer.exit_code == DONE, answer.stderr
    (capability,) = json.loads(answer.stdout)["capabilities"]
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
