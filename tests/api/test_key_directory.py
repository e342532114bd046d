"""The directory of the crawler's keys, verified by an implementation of RFC 9421 that is not ours."""

import time
from pathlib import Path

import pytest
from http_message_signatures import InvalidSignature

from registry.core.web_bot_auth import DIRECTORY_PATH, DIRECTORY_TYPE
from registry.settings import Settings
from registry.wiring import signing_keys
from registry.wiring.signing_keys import KeyFiles
from tests.support.api import PUBLIC_URL, Api, make_client
from tests.support.signatures import Verifier

pytestmark = pytest.mark.asyncio(loop_scope="module")

DIRECTORY = f"{PUBLIC_URL}{DIRECTORY_PATH}"


async def test_without_a_key_there_is_no_directory(api: Api) -> None:
    response = await api.get(DIRECTORY_PATH)
    assert response.status_code == 404 and response.headers["content-type"] == "application/problem+json"
    assert "does not sign its requests" in (await api.get("/bot")).text


async def test_the_directory_lists_each_key_and_is_signed_by_it(api: Api, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, public_url=PUBLIC_URL)
    files = KeyFiles(settings)
    files.add(1)
    next_key = files.rotate(int(time.time()), lead=600)
    async with make_client(api.waypost, settings) as client:
        response = await client.get(DIRECTORY_PATH, headers={"Accept-Encoding": "gzip, zstd"})
        head = await client.head(DIRECTORY_PATH)
        again = await client.get(DIRECTORY_PATH, headers={"If-None-Match": response.headers["etag"]})
        page = (await client.get("/bot")).text
    assert response.status_code == head.status_code == 200 and again.status_code == 304
    assert response.headers["content-type"] == DIRECTORY_TYPE and head.content == b""
    assert "max-age=3600" in response.headers["cache-control"] and "content-encoding" not in response.headers
    listed = {key["kid"]: key for key in response.json()["keys"]}
    keys = files.read()
    assert listed.keys() == {key.id for key in keys} and len(listed) == 2
    assert listed[next_key.id]["nbf"] > time.time()  # listed before its first signature
    for answer in (response, head, again):
        verified = Verifier(*keys).verify_directory(DIRECTORY, answer.headers, response.content)
        assert {one.parameters["keyid"] for one in verified} == listed.keys()
        assert all(one.parameters["created"] < time.time() + 5 < one.parameters["expires"] for one in verified)
    assert DIRECTORY in page


async def test_another_host_cannot_have_the_keys_signed_for_itself(api: Api, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, public_url=f"{PUBLIC_URL}/here", signature_agent="https://bot.registry.example")
    key = KeyFiles(settings).add(1)
    async with make_client(api.waypost, settings) as client:
        response = await client.get(DIRECTORY_PATH, headers={"Host": "copy.example"})
    verifier = Verifier(key)
    (verified,) = verifier.verify_directory(
        f"https://bot.registry.example{DIRECTORY_PATH}", response.headers, response.content
    )
    assert verified.parameters["keyid"] == key.id
    for host in ("copy.example", "registry.example"):
        with pytest.raises(InvalidSignature):
            verifier.verify_directory(f"https://{host}{DIRECTORY_PATH}", response.headers, response.content)


async def test_new_keys_are_listed_without_a_restart(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing_keys, "REREAD_SECONDS", 0.0)
    settings = Settings(data=tmp_path, public_url=PUBLIC_URL)
    async with make_client(api.waypost, settings) as client:
        assert (await client.get(DIRECTORY_PATH)).status_code == 404
        key = KeyFiles(settings).add(1)
        assert [one["kid"] for one in (await client.get(DIRECTORY_PATH)).json()["keys"]] == [key.id]
