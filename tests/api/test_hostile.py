"""No request causes a 5xx, exposes an exception, or is echoed back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
import structlog
import structlog.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from registry.core.reading.reader import MAX_BYTES
from registry.store.engine import libpq
from tests.api.sites import PIGEON
from tests.support import shapes
from tests.support.api import Api, make_client
from tests.support.shapes import assert_shape

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "hunter2"
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b"  \n ",
    "half an object": b'{"domain": "',
    "an array": b"[1]",
    "a text": b'"x.dev"',
    "null": b"null",
    "NaN": b'{"domain": NaN}',
    "Infinity": b'{"domain": -Infinity}',
    "1e999": b'{"manifest": {"v": 1e999}}',
    "1e5000": b'{"manifest": {"v": 1e5000}}',
    "a huge integer": b'{"manifest": {"v": ' + b"9" * 5_000 + b"}}",
    "a lone surrogate": b'{"domain": "\\ud800.dev"}',
    "CESU-8": b'{"domain": "\xed\xa0\x80.dev"}',
    "NUL": b'{"domain": "x\\u0000.dev"}',
    "a NUL key": b'{"manifest": {"\\u0000": 1}}',
    "duplicate keys": b'{"domain": "a.dev", "domain": "b.dev"}',
    "escaped duplicate keys": b'{"domain": "a.dev", "\\u0064omain": "b.dev"}',
    "UTF-16": '{"domain": "x.dev"}'.encode("utf-16"),
    "UTF-32": '{"domain": "x.dev"}'.encode("utf-32"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "latin-1": '{"domain": "é.dev"}'.encode("latin-1"),
    "comments": b'{"domain": "x.dev" /* hi */}',
    "a trailing comma": b'{"domain": "x.dev",}',
    "single quotes": b"{'domain': 'x.dev'}",
    "deep arrays": b"[" * 100_000,
    "a deep object": b'{"manifest":' * 5_000 + b"1" + b"}" * 5_000,
    "many keys": b"{" + b",".join(b'"k%d":1' % n for n in range(5_000)) + b"}",
    "a long text": b'{"domain": "' + b"x" * 200_000 + b'"}',
    "two values": b"{} {}",
    "a form": b"domain=x.dev",
    "multipart": b"--x\r\nContent-Disposition: form-data; name=domain\r\n\r\nx.dev\r\n--x--",
    "XML": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    "a number as the domain": b'{"domain": 7}',
    "an object as the domain": b'{"domain": {"a": 1}}',
    "null as the domain": b'{"domain": null}',
    "an array as the manifest": b'{"manifest": []}',
    "a text as the manifest": b'{"manifest": "x"}',
    "a manifest of odd types": b'{"manifest": {"base_url": 7, "capabilities": {"a": []}, "auth": null, "name": []}}',
    "a secret": b'{"password": "hunter2", "domain": ["hunter2"]}',
    "odd capabilities": b'{"manifest": {"spec_version": "1.0", "base_url": "https://[::1", "capabilities": '
    b'[null, {}, [], {"detail_url": "http://[", "name": {}}]}}',
}  # fmt: skip
TYPES = (None, "application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
         "application/json; charset=utf-16", "x/y; charset=\x00", "application/xml")  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", ["/api/services?wait=0", "/api/validate"])
async def test_any_body_has_a_valid_response(api: Api, path: str, name: str) -> None:
    for kind in TYPES:
        headers = {} if kind is None else {"Content-Type": kind}
        response = await api.post(path, content=BODIES[name], headers=headers)
        assert_safe(response.text)
        if BODIES[name] and kind is not None and not kind.startswith("application/json"):
            assert response.status_code == 415, response.text
            assert_shape(shapes.FAILED, response.json())
            continue
        assert response.status_code in (200, 400, 413, 422), (response.status_code, response.text)
        if response.status_code >= 400:
            assert_shape(shapes.FAILED if path == "/api/services?wait=0" else shapes.VALIDATED, response.json())


@pytest.mark.parametrize("path", ["/api/services", "/api/validate"])
async def test_a_body_that_declares_too_much_is_not_read(api: Api, path: str) -> None:
    for declared in (str(MAX_BYTES + 1), "9" * 30):
        response = await api.post(path, content=b"{}", headers={"Content-Length": declared})
        assert response.status_code == 413


@pytest.mark.parametrize("path", ["/api/services", "/api/validate"])
async def test_a_body_without_a_length_is_limited(api: Api, path: str) -> None:
    sent_bytes = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent_bytes
        while True:
            sent_bytes += 65_536
            yield b" " * 65_536

    response = await api.post(path, content=endless())
    assert response.status_code == 413
    assert response.json()["type"] == "/api/problems/body-too-large"
    assert sent_bytes <= MAX_BYTES + 2 * 65_536


VALUES = (
    "", " ", "0", "-0", "-1", "1_0", " 10", "10 ", "+10", "1e3", "1.0", "0x10", "nan", "NaN", "inf", "-inf",
    "١٠", "٣", "１０", "99999999999999999999999", "true", "null", "[]", "{}", "%", "%00", "\x00", "\n", "\ud7ff",
    "\ufffd", "'", '"', "' OR 1=1 --", '" OR "" = "', "\\", "\\\"", "../../etc/passwd", "${jndi:ldap://x}", "{{7*7}}",
    "<script>", "\u202e", "a" * 5_000, "*", "AND", "OR", "NOT", "field:value", "(", ")", "~", "^", "\U0001f600",
    "e\u0301" * 200, ",", "adp,adp",
)  # fmt: skip
PARAMETERS = {
    "/api/discover?q=parcel": (
        "q", "limit", "cursor", "include_unverified", "format", "auth_type", "pricing_type", "protocol", "min_score",
    ),
    "/api/services?": (
        "search", "category", "sort", "limit", "offset", "include_unverified", "format", "auth_type", "pricing_type",
        "protocol", "min_score",
    ),
    f"/api/services/{PIGEON}?": ("include_details",),
    f"/api/health/{PIGEON}?": ("days",),
}  # fmt: skip


@pytest.mark.parametrize("path", PARAMETERS)
async def test_any_parameter_value_has_a_valid_response(api: Api, path: str) -> None:
    base, _, question = path.partition("?")
    for name in PARAMETERS[path]:
        for value in VALUES:
            params = dict([question.split("=")]) if question else {}
            response = await api.get(base, params={**params, name: value})
            assert response.status_code in (200, 400), (name, value, response.status_code, response.text)
            if response.status_code == 400:
                assert_shape(shapes.FAILED, response.json())
                assert_safe(response.text)


@pytest.mark.parametrize(
    "query",
    [b"q=%FF%FE", b"q=%ED%A0%80", b"q=%C0%80", b"q=%", b"q=%zz", b"%00=1", b"q=a&q=b", b"&&&==", b"q[]=x", b"=x"],
)
async def test_query_strings_of_invalid_bytes_are_handled(api: Api, query: bytes) -> None:
    response = await api.client.get("/api/discover?" + query.decode())
    assert response.status_code in (200, 400)


@pytest.mark.parametrize(
    "segment",
    [
        "%00",
        "%FF",
        "%ED%A0%80",
        "%2F",
        "%2E%2E%2F",
        "..%2F..",
        "%0A",
        "%20",
        "a%00b",
        "%F0%9F%98%80",
        "a" * 4_000,
        "%25",
        "*",
    ],
)
async def test_any_path_segment_has_a_valid_response(api: Api, segment: str) -> None:
    for path in (
        f"/api/services/{segment}",
        f"/api/services/{segment}/status",
        f"/api/services/{PIGEON}/capabilities/{segment}",
        f"/api/health/{segment}",
        f"/api/capabilities/{segment}",
        f"/api/problems/{segment}",
        f"/{segment}",
    ):
        response = await api.get(path)
        expected = 200 if path == "/%2F" else 404  # doubled slashes count as one: the root page
        assert response.status_code == expected, (path, response.status_code)
        if expected == 404:
            assert response.headers["content-type"] == "application/problem+json"


async def test_odd_header_values_are_ignored(api: Api) -> None:
    for name in (
        "If-None-Match",
        "Accept",
        "Content-Type",
        "X-Forwarded-For",
        "X-Request-Id",
        "Host",
        "Accept-Encoding",
    ):
        for value in ("", "\x7f", '"', "W/", "a" * 10_000, "\xff", "*, *", "999.999.999.999"):
            response = await api.get("/api/rubric", headers={name: value.encode("latin-1")})
            assert response.status_code in (200, 304), (name, value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=600))
async def test_any_query_is_answered_or_refused(api: Api, text: str) -> None:
    response = await api.get("/api/discover", params={"q": text.encode("utf-8", "replace")})
    assert response.status_code in (200, 400)
    if response.status_code == 200:
        assert_shape(shapes.DISCOVER, response.json())


@pytest.mark.asyncio(loop_scope="function")
async def test_hidden_services_are_in_no_response(own_api: Api) -> None:
    async with own_api.store.begin() as uow:
        await uow.services.hide("pigeonpost.example", [PIGEON])
    results = await own_api.json("/api/discover", q="create a parcel", include_unverified="true")
    assert PIGEON not in [row["service"]["domain"] for row in results["data"]]
    listed = await own_api.json("/api/services", include_unverified="true", search=PIGEON)
    assert listed["data"] == []
    for path in ("", "/capabilities/create_parcel"):
        assert (await own_api.get(f"/api/services/{PIGEON}{path}")).status_code == 404
    assert (await own_api.get(f"/api/health/{PIGEON}")).status_code == 404
    assert PIGEON not in (await own_api.get("/api/health")).text


async def test_an_internal_error_exposes_only_its_request_id(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def raise_error(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"password={SECRET} at /srv/registry/store.py")

    monkeypatch.setattr(type(api.waypost.queries), "health", raise_error)
    async with make_client(api.waypost, api.waypost.settings) as client:
        with structlog.testing.capture_logs() as logged:
            response = await client.get("/api/health")
    assert [(entry["event"], entry["error"]) for entry in logged] == [("request.failed", "RuntimeError")]
    assert logged[0]["request_id"] == response.headers["x-request-id"]
    assert "test_hostile.py" in logged[0]["frames"]
    assert SECRET not in str(logged)
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["access-control-allow-origin"] == "*"
    assert_shape(shapes.FAILED, response.json())
    assert_safe(response.text)


@pytest.mark.asyncio(loop_scope="function")
async def test_an_unavailable_database_is_a_503_until_it_returns(own_api: Api) -> None:
    _switch_connections(own_api, refuse=True)
    for path in ("/api/services", "/api/discover?q=parcel", "/api/health", f"/api/services/{PIGEON}"):
        response = await own_api.get(path)
        assert (response.status_code, response.headers["retry-after"]) == (503, "5"), response.text
        assert_shape(shapes.FAILED, response.json())
        assert_safe(response.text)
    ready = await own_api.get("/readyz")
    assert (ready.status_code, ready.json()["parts"]["database"]) == (503, "unavailable")
    assert (await own_api.get("/healthz")).status_code == 200
    _switch_connections(own_api, refuse=False)
    assert (await own_api.get("/api/services")).status_code == 200
    assert (await own_api.get("/readyz")).status_code == 200


def _switch_connections(api: Api, *, refuse: bool) -> None:
    """Let the database end every connection and refuse new ones, or accept them again."""
    url = api.store.engine.url
    name = url.database or ""
    with psycopg.connect(libpq(url.set(database="postgres")), autocommit=True) as admin:
        admin.execute(
            sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(sql.Identifier(name), sql.Literal(not refuse))
        )
        if refuse:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


async def test_many_concurrent_requests_are_all_answered(api: Api) -> None:
    requests = [api.get("/api/discover", params={"q": f"parcel {n}"}) for n in range(40)]
    assert {response.status_code for response in await asyncio.gather(*requests)} == {200}


def assert_safe(text: str) -> None:
    for leak in (SECRET, "Traceback", "psycopg", "sqlalchemy", "/srv/", 'File "', "pydantic", "/etc/passwd"):
        assert leak not in text
