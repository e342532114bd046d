"""The OpenAPI document: complete, correct, and identical to the one in docs/."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import openapi_spec_validator
import orjson
import pytest

from registry.api.app import openapi_document as document
from registry.api.schemas import discovery, feed, monitoring, service, submission
from registry.api.schemas.base import example_of
from registry.edge import problems
from tests.api.sites import PIGEON
from tests.support.api import PUBLIC_URL, Api
from tests.support.shared import ROOT

DOCUMENT: dict[str, Any] = orjson.loads(document())
METHODS = ("get", "post", "put", "patch", "delete")
PROBLEM = "application/problem+json"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def is_stream(operation: dict[str, Any]) -> bool:
    """True for an operation whose answer does not end."""
    return "text/event-stream" in operation["responses"]["200"].get("content", ())


def is_json(operation: dict[str, Any]) -> bool:
    """True for an operation that answers with JSON, not with events or Atom, which have tests of their own."""
    return "application/json" in operation["responses"]["200"].get("content", ())


OPERATIONS = [pytest.param(*operation, id=f"{operation[1]} {operation[0]}") for operation in operations()]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the document's components, so that its references resolve."""
    return {**schema, "components": DOCUMENT["components"]}


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    return [
        f"{list(error.instance_path)}: {error.message}" for error in jsonschema_rs.iter_errors(resolved(schema), value)
    ]


def test_the_document_in_docs_is_the_one_the_code_makes() -> None:
    stored_document = Path(ROOT, "docs", "openapi.json")
    assert stored_document.read_bytes() == document(), "run `make docs`"


def test_the_document_is_valid_by_an_independent_validator() -> None:
    openapi_spec_validator.validate(DOCUMENT)


def test_every_operation_of_the_contract_is_documented() -> None:
    assert {(method, path) for path, method, _ in operations()} >= {
        ("get", "/api/discover"),
        ("get", "/api/services"),
        ("post", "/api/services"),
        ("get", "/api/services/{domain}"),
        ("get", "/api/services/{domain}/capabilities/{name}"),
        ("get", "/api/services/{domain}/status"),
        ("get", "/api/services/{domain}/manifest/{format}"),
        ("post", "/api/validate"),
        ("get", "/api/health"),
        ("get", "/api/health/{domain}"),
        ("post", "/api/health/{domain}"),
        ("post", "/api/verify/{domain}"),
        ("get", "/api/status"),
        ("post", "/api/reports"),
        ("get", "/api/rubric"),
        ("get", "/healthz"),
        ("get", "/readyz"),
    }


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_is_described(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"].endswith(".")
    assert operation["tags"]
    for parameter in operation.get("parameters", ()):
        assert parameter.get("description") or parameter["schema"].get("description"), parameter["name"]
    assert set(re.findall(r"\{(\w+)\}", path)) == {
        path_parameter["name"] for path_parameter in operation.get("parameters", ()) if path_parameter["in"] == "path"
    }


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_error_is_a_problem_with_an_example(path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    assert {"400", "429", "500", "503"} <= set(responses)
    kinds = {kind.slug: kind for kind in problems.PROBLEM_TYPES}
    for status, response in responses.items():
        assert response["description"]
        if int(status) < 400:
            continue
        assert list(response["content"]) == [PROBLEM], f"{status} is no problem"
        media = response["content"][PROBLEM]
        assert media["examples"]
        for slug, example in media["examples"].items():
            assert kinds[slug].status == int(status)
            assert faults(media["schema"], example["value"]) == []


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_examples_of_responses_match_their_schemas(path: str, method: str, operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        media = response.get("content", {}).get("application/json", {})
        if "example" in media:
            assert faults(media["schema"], media["example"]) == [], status
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for example in body.get("examples", {}).values():
        assert faults(body["schema"], example["value"]) == []
    if body:
        assert body.get("examples") or body.get("example")


def test_every_example_is_shown_somewhere() -> None:
    text = document()
    shapes = (
        discovery.Discovered, discovery.ServiceList, service.OneService, service.CapabilityDetail, service.Translated,
        submission.HostStatus, submission.Submitted, submission.Queued, submission.OptOut, submission.Validated,
        monitoring.CrawlLedger, monitoring.Health, monitoring.HostHealth, feed.FeedPage, feed.CloudEvent,
    )  # fmt: skip
    for shape in shapes:
        example = orjson.dumps(example_of(shape), option=orjson.OPT_SORT_KEYS)
        assert example in orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS), shape.__name__


def test_every_reference_resolves() -> None:
    defined = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    referenced = set(re.findall(r'"\$ref": "([^"]+)"', document().decode()))
    assert referenced <= defined
    assert "#/components/schemas/HTTPValidationError" not in defined


MANIFEST_ID = hashlib.sha256(f"https://{PIGEON}/.well-known/agent".encode()).hexdigest()

GETS = (
    ("/api/discover?q=create+a+parcel&include_unverified=true", "/api/discover"),
    ("/api/services?include_unverified=true&facets=format,min_score", "/api/services"),
    (f"/api/services/{PIGEON}?include_details=true", "/api/services/{domain}"),
    (f"/api/services/{PIGEON}/capabilities/create_parcel", "/api/services/{domain}/capabilities/{name}"),
    (
        f"/api/services/{PIGEON}/capabilities/create_parcel?as=openai-tool",
        "/api/services/{domain}/capabilities/{name}",
    ),
    (f"/api/services/{PIGEON}/status", "/api/services/{domain}/status"),
    (f"/api/services/{PIGEON}/crawl", "/api/services/{domain}/crawl"),
    (f"/api/services/{PIGEON}/audit", "/api/services/{domain}/audit"),
    (f"/api/services/{PIGEON}/evidence", "/api/services/{domain}/evidence"),
    (f"/api/services/{PIGEON}/evidence/{MANIFEST_ID}", "/api/services/{domain}/evidence/{id}"),
    (f"/api/services/{PIGEON}/history", "/api/services/{domain}/history"),
    (f"/api/services/{PIGEON}/scores", "/api/services/{domain}/scores"),
    (f"/api/services/{PIGEON}/changes", "/api/services/{domain}/changes"),
    (f"/api/services/{PIGEON}/similar", "/api/services/{domain}/similar"),
    (f"/api/services/{PIGEON}/uptime", "/api/services/{domain}/uptime"),
    (f"/api/services/{PIGEON}/manifest/awp", "/api/services/{domain}/manifest/{format}"),
    (f"/api/opt-outs/{PIGEON}", "/api/opt-outs/{domain}"),
    ("/api/audit", "/api/audit"),
    ("/api/feed", "/api/feed"),
    ("/dumps/manifest.json", "/dumps/manifest.json"),
    ("/api/health", "/api/health"),
    (f"/api/health/{PIGEON}", "/api/health/{domain}"),
    ("/api/status", "/api/status"),
    ("", "/api/submissions/{id}"),
    ("", "/api/reports/{token}"),
    ("", "/api/checks/{token}"),
    ("/api/reasons", "/api/reasons"),
    ("/api/reasons/adp.base_url", "/api/reasons/{code}"),
    ("/api/rubric", "/api/rubric"),
    (f"/api/services/{PIGEON}/identity", "/api/services/{domain}/identity"),
    ("/api/stats", "/api/stats"),
    ("/api/stats/history", "/api/stats/history"),
    ("/api/stats/operation", "/api/stats/operation"),
    ("/api/problems", "/api/problems"),
    ("/api/problems/not-found", "/api/problems/{slug}"),
    ("/healthz", "/healthz"),
    ("/readyz", "/readyz"),
)
"""A request for each operation with GET, and its path in the document. Empty: its address is a secret that another
operation makes."""

SECRETS = {
    "/api/submissions/{id}": ("/api/submissions", {"hosts": [PIGEON]}),
    "/api/reports/{token}": ("/api/reports", {"domain": PIGEON, "reason": "It is gone."}),
    "/api/checks/{token}": ("/api/checks", {"target": "never-seen.com"}),
}


@pytest.mark.parametrize(("path", "template"), GETS)
@pytest.mark.asyncio(loop_scope="module")
async def test_real_responses_match_the_document(api: Api, path: str, template: str) -> None:
    if path.startswith("/dumps/"):
        await api.waypost.dumps.export()
    if template in SECRETS:
        maker, body = SECRETS[template]
        path = (await api.post(maker, json=body)).json()["data"]["status_url"].removeprefix(PUBLIC_URL)
    response = await api.get(path)
    assert response.status_code == 200, response.text
    schema = DOCUMENT["paths"][template]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert faults(schema, response.json()) == []


def test_every_get_operation_is_checked_against_the_document() -> None:
    assert {template for _, template in GETS} == {
        path
        for path, method, operation in operations()
        if method == "get" and is_json(operation) and not operation.get("security")  # those have tests of their own
    }
