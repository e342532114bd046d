"""Webhooks as an operator uses them: commands, a worker that crawls and delivers, and a receiver over TLS."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

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
async def folder(tmp_path: Path, receiver: Receiver) -> AsyncIterator[DataFolder]:
    manifest = {"/.well-known/agent": Reply(orjson.dumps(adp_manifest(SHOP, "create_parcel")))}
    async with Sites({HOST: receiver, SHOP: manifest}) as web:
        with new_data_folder(tmp_path / "data", web, web.write_authority(tmp_path)) as data_folder:
            yield data_folder


async def waypost(folder: DataFolder, *arguments: str, code: int = DONE) -> list[Any]:
    """Run a command and return its lines of JSON."""
    command = folder.start("webhooks", *arguments, "--json")
    assert await command.exit_code() == code, command.output
    return [
        json.loads(line) for line in command.output.splitlines() if line.startswith('{"') and '"event":' not in line
    ]


async def test_a_killed_worker_delivers_the_same_message_again(folder: DataFolder, receiver: Receiver) -> None:
    [added] = await waypost(folder, "add", URL, "--types", "service.*", "--domain", SHOP)
    receiver.secret = added["secret"]
    [sent] = await waypost(folder, "verify", added["id"])
    assert sent["reason"] == "" and receiver.challenges == 1
    submitted = folder.start("submit", SHOP)
    assert await submitted.exit_code() == DONE, submitted.output
    worker = folder.start("worker")
    [(first, content)] = await receiver.received(1)
    worker.send_signal(signal.SIGKILL)  # it has sent the message and waits for the answer
    await worker.exit_code()
    folder.start("worker")
    assert await receiver.received(2) == [(first, content)] * 2
    assert content["data"]["events"] == 1
    attempts: list[Any] = []
    while len(attempts) < 2:
        attempts = await waypost(folder, "deliveries", added["id"])
    assert [(one["purpose"], one["status"], one["reason"]) for one in attempts] == [
        ("events", 204, ""), ("challenge", 200, ""),
    ]  # fmt: skip
    await waypost(folder, "redeliver", added["id"], first)
    assert receiver.messages[2] == (first, content)


async def test_an_operator_manages_receivers(folder: DataFolder, receiver: Receiver) -> None:
    receiver.answers = [Reply(status=410)]
    [added] = await waypost(folder, "add", URL)
    [listed] = await waypost(folder, "list")
    assert listed["state"] == "unverified" and "secret" not in listed
    await waypost(folder, "verify", added["id"])
    [rotated] = await waypost(folder, "rotate", added["id"], "--overlap", "1")
    for receiver.secret in (added["secret"], rotated["secret"]):
        [sent] = await waypost(folder, "test", added["id"], code=DONE if receiver.messages else NO)
        assert sent["reason"] == ("" if len(receiver.messages) == 2 else "http_410")
    [listed] = await waypost(folder, "list")
    assert listed["state"] == "active", "a test disables nothing"
    [enabled] = await waypost(folder, "enable", added["id"])
    assert enabled["state"] == "unverified"
    removed = folder.start("webhooks", "remove", added["id"])
    assert await removed.exit_code() == DONE
    assert await waypost(folder, "list") == []
    for command in ("verify", "test", "rotate", "enable", "deliveries"):
        assert await waypost(folder, command, added["id"], code=NO) == []


@pytest.mark.parametrize(
    "arguments", [("http://receiver.example/",), ("https://10.0.0.1/",), ("https://localhost/",),
                  (URL, "--types", "service.exploded"), (URL, "--domain", "not a name")]
)  # fmt: skip
async def test_what_cannot_be_added_is_refused_in_one_line(folder: DataFolder, arguments: tuple[str, ...]) -> None:
    command = folder.start("webhooks", "add", *arguments)
    assert await command.exit_code() == USAGE
    assert len(command.output.strip().splitlines()) == 1 and "Traceback" not in command.output
