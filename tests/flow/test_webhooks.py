"""Webhooks as an operator uses them: commands, a worker process that crawls and delivers, a receiver over TLS."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from registry.cli import app
from registry.cli.common import DONE, NO, USAGE
from tests.support.builders import adp_manifest
from tests.support.receivers import HOST, URL, Receiver
from tests.support.running import DataFolder, new_data_folder
from tests.support.sites import Exchange, Reply, Sites

pytestmark = pytest.mark.slow  # processes and a database

SHOP = "shop.example"


async def silent(exchange: Exchange) -> None:
    await asyncio.Event().wait()


@pytest.fixture
def receiver() -> Receiver:
    return Receiver([silent])


@pytest.fixture
async def folder(
    tmp_path: Path, database_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[DataFolder]:
    manifest = {"/.well-known/agent": Reply(orjson.dumps(adp_manifest(SHOP, "create_parcel")))}
    async with Sites({HOST: receiver, SHOP: manifest}) as web:
        with new_data_folder(tmp_path / "data", web, web.write_authority(tmp_path), database_url) as data_folder:
            for name, value in data_folder.environment.items():
                monkeypatch.setenv(name, value)
            yield data_folder


async def webhooks(*arguments: str, code: int = DONE) -> list[Any]:
    """Run a command in a thread of this process and return its lines of JSON."""
    result = await asyncio.to_thread(
        CliRunner().invoke, app, ["webhooks", *arguments, "--json"], catch_exceptions=False
    )
    assert result.exit_code == code, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


async def test_a_killed_worker_delivers_the_same_message_again(folder: DataFolder, receiver: Receiver) -> None:
    [added] = await webhooks("add", URL, "--types", "service.*", "--domain", SHOP)
    receiver.secret = added["secret"]
    [sent] = await webhooks("verify", added["id"])
    assert sent["reason"] == "" and receiver.challenges == 1
    async with folder.opened() as waypost:
        await waypost.frontier.submit(SHOP)
    worker = folder.start("worker")
    [(first, content)] = await receiver.received(1)
    worker.send_signal(signal.SIGKILL)  # it has sent the message and waits for the answer
    await worker.exit_code()
    folder.start("worker")
    assert await receiver.received(2) == [(first, content)] * 2
    assert content["data"]["events"] == 1
    attempts: list[Any] = []
    while len(attempts) < 2:
        attempts = await webhooks("deliveries", added["id"])
    assert [(one["purpose"], one["status"], one["reason"]) for one in attempts] == [
        ("events", 204, ""), ("challenge", 200, ""),
    ]  # fmt: skip
    await webhooks("redeliver", added["id"], first)
    assert receiver.messages[2] == (first, content)


@pytest.mark.usefixtures("folder")
async def test_an_operator_manages_receivers(receiver: Receiver) -> None:
    receiver.answers = [Reply(status=410)]
    [added] = await webhooks("add", URL)
    [listed] = await webhooks("list")
    assert listed["state"] == "unverified" and "secret" not in listed
    await webhooks("verify", added["id"])
    [rotated] = await webhooks("rotate", added["id"], "--overlap", "1")
    for receiver.secret in (added["secret"], rotated["secret"]):
        [sent] = await webhooks("test", added["id"], code=DONE if receiver.messages else NO)
        assert sent["reason"] == ("" if len(receiver.messages) == 2 else "http_410")
    [listed] = await webhooks("list")
    assert listed["state"] == "active", "a test disables nothing"
    [enabled] = await webhooks("enable", added["id"])
    assert enabled["state"] == "unverified"
    removed = await asyncio.to_thread(CliRunner().invoke, app, ["webhooks", "remove", added["id"]])
    assert removed.exit_code == DONE
    assert await webhooks("list") == []
    for command in ("verify", "test", "rotate", "enable", "deliveries"):
        assert await webhooks(command, added["id"], code=NO) == []


@pytest.mark.parametrize(
    "arguments", [("http://receiver.example/",), ("https://10.0.0.1/",), ("https://localhost/",),
                  (URL, "--types", "service.exploded"), (URL, "--domain", "not a name")]
)  # fmt: skip
async def test_what_cannot_be_added_is_refused_in_one_line(folder: DataFolder, arguments: tuple[str, ...]) -> None:
    result = await asyncio.to_thread(CliRunner().invoke, app, ["webhooks", "add", *arguments])
    assert result.exit_code == USAGE
    assert len(result.output.strip().splitlines()) == 1 and "Traceback" not in result.output
