"""ARD through a real server: generated requests, paths that clients normalise, and the description itself."""

import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import orjson
import pytest
from openapi_spec_validator import validate

from registry.ard.app import make_routes
from tests.support.hang import HANG_SECONDS
from tests.support.serving import assert_as_described, serving

DOCUMENT: dict[str, Any] = orjson.loads(orjson.dumps(make_routes().openapi()))


@pytest.fixture(scope="module")
def base(
    database_server: str, crawled_registry: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    with serving(database_server, crawled_registry, tmp_path_factory.mktemp("served")) as url:
        yield url


def ask(base: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request with the path as it is written."""
    address = urlsplit(base)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=HANG_SECONDS)
    try:
        connection.putrequest(method, path)
        content = b"" if body is None else orjson.dumps(body)
        connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        response = connection.getresponse()
        return response.status, orjson.loads(response.read() or b"null")
    finally:
        connection.close()


def faults(name: str, value: Any) -> list[str]:
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return [f"{list(fault.instance_path)}: {fault.message}" for fault in jsonschema_rs.iter_errors(schema, value)]


def test_the_description_is_valid() -> None:
    validate(DOCUMENT)
    operations = {(method, path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert operations == {
        ("get", "/ard"), ("get", "/ard/openapi.json"), ("post", "/ard/search"), ("post", "/ard/explore"),
        ("get", "/ard/agents"), ("get", "/ard/agents/{identifier}"),
    }  # fmt: skip


def test_answers_are_as_described(base: str) -> None:
    assert ask(base, "GET", "/ard/openapi.json") == (200, DOCUMENT)
    _, found = ask(base, "POST", "/ard/search", {"query": {"text": "parcels"}, "federation": "referrals"})
    assert found["results"]
    assert faults("SearchResponse", found) == []
    assert faults("SearchResponse", found | {"more": 1}) != []
    _, listed = ask(base, "GET", "/ard/agents")
    assert faults("ListResponse", listed) == []
    _, counted = ask(base, "POST", "/ard/explore", {"resultType": {"facets": [{"field": "type", "limit": 1}]}})
    assert faults("ExploreResponse", counted) == []
    for path in ("/ard/agents/x", "/ard/nothing"):
        assert faults("Problem", ask(base, "GET", path)[1]) == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ard/agents/urn%3Aair%3Atools.example%3Amcp-server-card%3Atools", 200),
        ("/ard/agents/urn:air:tools.example:mcp-server-card:tools?", 200),
        ("//ard/agents/urn%3Aair%3Atools.example%3Amcp-server-card%3Atools", 200),
        ("/ard/agents/urn%3Aair%3Atools.example%3Amcp-server-card%3Atools?x=1", 400),
        ("/ard/agents/urn%3Aair%3Atools.example%2Fmcp%3Atools", 400),
        ("/ard/agents/../../etc/passwd", 400), ("/ard/agents/%zz", 400), ("/ard/agents/%", 400),
        ("/ard/agents/%ff", 400),
        ("/ard/agents/urn%253Aair%253Atools.example%253Amcp-server-card%253Atools", 400),
        ("/ard/agents/agents/urn%3Aair%3Atools.example%3Amcp-server-card%3Atools", 400),
        ("/ard%2Fagents/x", 400), ("/ard/%61gents/urn%3Aair%3Atools.example%3Amcp-server-card%3Atools", 400),
    ],
)  # fmt: skip
def test_the_identifier_is_read_as_it_was_sent(base: str, path: str, status: int) -> None:
    assert ask(base, "GET", path)[0] == status


@pytest.mark.slow
def test_generated_requests_match_the_description(base: str, tmp_path: Path) -> None:
    assert_as_described(base, "/ard/openapi.json", tmp_path, examples=15)
