"""Compression as clients ask for it: codings, ETags, what stays as it is."""

import asyncio
import gzip
import json
import os

import httpx2
import pytest
import zstandard
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from registry.edge import compression
from registry.edge.compression import MAX_INLINE_BYTES, MIN_BYTES, coding_for
from registry.edge.interfaces import Interface, compose
from registry.edge.middleware import Rules
from registry.settings import Settings
from tests.support.api import Api
from tests.support.hang import HANG_SECONDS

TEXT = json.dumps({"data": ["a text of some words"] * 100}).encode()
TAG = '"abc"'


def decoded(response: httpx2.Response, raw: bytes) -> bytes:
    match response.headers.get("content-encoding"):
        case "gzip":
            return gzip.decompress(raw)
        case "zstd":
            return zstandard.ZstdDecompressor().decompress(raw)
    return raw


async def fetch(app: object, path: str = "/", **headers: str) -> tuple[httpx2.Response, bytes]:
    """Return the response and its body as it was sent."""
    transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
    sent = {"Accept-Encoding": "identity"} | {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(transport=transport, base_url="http://testserver", timeout=HANG_SECONDS) as client,
        client.stream("GET", path, headers=sent) as response,
    ):
        return response, b"".join([part async for part in response.aiter_raw()])


def answering(response: Response) -> object:
    """Return an application behind the middleware that always answers this."""
    return compose([Interface(response, Rules(open=("/",)))], Settings())


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("GZIP;q=1.0, zstd;q=0.5", "gzip"),
        ("zstd;q=0, *", "gzip"),
        ("*;q=0.1", "zstd"),
        ("gzip;q=0.2, identity", ""),
        ("gzip;q=0.2, identity;q=0.1", "gzip"),
        ("identity;q=0", ""),
        ("gzip;q=0", ""),
        ("gzip;q=nan", ""),
        ("gzip;q=1e9", ""),
        ("gzip;q=", ""),
        ("br", ""),
        ("", ""),
        (";,;q=1,=", ""),
        ("gzip," + "x," * 500, ""),
        ("gzip\xff, \x00zstd", ""),
    ],
)
def test_the_highest_weight_wins(accepted: str, coding: str) -> None:
    assert coding_for(accepted.encode("latin-1")) == coding


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_text_is_compressed_and_its_etag_weak(coding: str) -> None:
    app = answering(Response(TEXT, headers={"ETag": TAG, "Vary": "Accept"}, media_type="application/json"))
    response, raw = await fetch(app, accept_encoding=coding)
    assert response.headers["content-encoding"] == coding
    assert decoded(response, raw) == TEXT
    assert int(response.headers["content-length"]) == len(raw) < len(TEXT)
    assert response.headers["etag"] == f"W/{TAG}"
    assert response.headers.get_list("vary") == ["Accept, Accept-Encoding"]
    plain, raw = await fetch(app)
    assert (raw, plain.headers["etag"], "content-encoding" in plain.headers) == (TEXT, TAG, False)
    assert plain.headers["vary"] == "Accept, Accept-Encoding"


@pytest.mark.parametrize(
    "response",
    [
        Response(TEXT[: MIN_BYTES - 1], media_type="application/json"),
        Response(TEXT, media_type="image/png"),
        Response(TEXT, media_type="application/zstd"),
        Response(TEXT),
        Response(TEXT, headers={"Content-Encoding": "br"}, media_type="application/json"),
        Response(TEXT, 206, {"Content-Range": "bytes 0-9/99"}, "application/json"),
        Response(TEXT, headers={"Accept-Ranges": "bytes"}, media_type="application/json"),
        Response(TEXT, headers={"Cache-Control": "no-store, no-transform"}, media_type="application/json"),
        Response(os.urandom(5_000), media_type="text/plain"),
    ],
    ids=["small", "image", "compressed type", "no type", "compressed", "part", "ranges", "secret", "incompressible"],
)
async def test_what_stays_as_it_is(response: Response) -> None:
    answer, raw = await fetch(answering(response), accept_encoding="gzip, zstd")
    assert raw == response.body
    assert answer.headers.get("content-encoding") == response.headers.get("content-encoding")
    assert answer.headers.get("content-length") == str(len(raw))


async def test_a_large_body_is_compressed_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[object] = []

    async def to_thread(function: object, *arguments: object) -> object:
        threads.append(function)
        return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(compression.asyncio, "to_thread", to_thread)
    for size in (MAX_INLINE_BYTES, MAX_INLINE_BYTES + 1):
        body = b"x" * size
        response, raw = await fetch(answering(Response(body, media_type="text/plain")), accept_encoding="zstd")
        assert decoded(response, raw) == body
    assert len(threads) == 1


@pytest.mark.parametrize("media_type", ["text/event-stream", "application/x-ndjson", "text/plain"])
async def test_a_stream_leaves_part_by_part(media_type: str) -> None:
    """The second part is made only when the first has left: nothing waits for a whole."""
    sent: list[bytes] = []
    seen: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def parts():  # type: ignore[no-untyped-def]
            for number in range(3):
                seen.append(len(sent))
                yield b"%d" % number * 2_000

        await StreamingResponse(parts(), media_type=media_type)(scope, receive, send)

    async def send(message: object) -> None:
        if body := message.get("body"):  # type: ignore[attr-defined]
            sent.append(body)

    scope = {
        "type": "http", "method": "GET", "path": "/", "query_string": b"", "client": ("203.0.113.7", 1),
        "headers": [(b"accept-encoding", b"gzip, zstd")], "asgi": {"spec_version": "2.4"},
    }  # fmt: skip
    composed = compose([Interface(app, Rules())], Settings())
    await composed(scope, asyncio.Event().wait, send)  # type: ignore[arg-type]
    assert sent == [b"0" * 2_000, b"1" * 2_000, b"2" * 2_000]
    assert seen == [0, 1, 2]


async def test_fields_of_one_name_are_one_list() -> None:
    app = answering(Response(TEXT, media_type="application/json"))
    transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
    async with httpx2.AsyncClient(transport=transport, base_url="http://testserver") as client:
        answer = await client.get("/", headers=[("Accept-Encoding", "gzip"), ("Accept-Encoding", "zstd;q=0.5")])
    assert answer.headers["content-encoding"] == "gzip"


async def test_head_has_the_headers_of_get() -> None:
    app = answering(Response(TEXT, headers={"ETag": TAG}, media_type="application/json"))
    transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
    async with httpx2.AsyncClient(transport=transport, base_url="http://testserver") as client:
        get, head = [
            await client.request(method, "/", headers={"Accept-Encoding": "gzip"}) for method in ("GET", "HEAD")
        ]
    assert head.content == b""
    for name in ("content-length", "content-encoding", "etag", "vary", "content-type"):
        assert head.headers[name] == get.headers[name]


@pytest.mark.parametrize("path", ["/api/discover?q=parcel", "/api/services", "/openapi.json"])
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_compressed_answer_is_revalidated(own_api: Api, path: str, coding: str) -> None:
    first = await own_api.get(path, headers={"Accept-Encoding": coding})
    plain = await own_api.get(path)
    assert first.headers["content-encoding"] == coding
    assert first.content == plain.content
    tag = first.headers["etag"]
    assert tag == f"W/{plain.headers['etag']}"
    for accepted in (coding, "identity"):
        repeated = await own_api.get(path, headers={"Accept-Encoding": accepted, "If-None-Match": tag})
        assert (repeated.status_code, repeated.content) == (304, b"")
        assert repeated.headers["etag"] == (tag if accepted == coding else plain.headers["etag"])
        assert "Accept-Encoding" in repeated.headers["vary"]


async def test_a_cached_answer_is_compressed_once(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    compressed: list[int] = []

    def count(body: bytes) -> bytes:
        compressed.append(len(body))
        return gzip.compress(body)

    monkeypatch.setattr("registry.api.response_cache.LIFETIME_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(compression, "_CODINGS", {"gzip": count})
    compression._coding_for.cache_clear()
    try:
        answers = [await own_api.get("/api/discover?q=a+parcel", headers={"Accept-Encoding": "gzip"}) for _ in range(4)]
    finally:
        compression._coding_for.cache_clear()
    assert {answer.headers["content-encoding"] for answer in answers} == {"gzip"}
    assert len({answer.content for answer in answers}) == 1
    assert len(compressed) == 1
