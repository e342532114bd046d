"""Where the calls of an API description go: to the host that it names, however it writes the address."""

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import assess_body
from registry.core.merging.listing import reason_not_to_list
from registry.core.model.services import Capability
from tests.support.holding import held

AT = "https://kelpfarm.com/docs/openapi.json"
Servers = list[dict[str, Any]]


def read(description: dict[str, Any], at: str = AT) -> tuple[list[Capability], dict[str, str]]:
    """Return the capabilities of a description, and its findings: pointer by code."""
    assessment = assess_body(json.dumps(description).encode(), at, "application/json")
    assert assessment.service is not None
    findings = {finding.rule.code: finding.pointer for finding in assessment.findings}
    return list(assessment.service.capabilities), findings


def listed(servers: object, path: str = "/tanks", **members: Any) -> tuple[Capability, dict[str, str]]:
    operation = {"operationId": "tanks", "responses": {"200": {"description": "All tanks."}}}
    description = {
        "openapi": "3.1.0",
        "info": {"title": "Kelp farm", "version": "1"},
        "paths": {path: {"get": operation}},
    }
    (capability,), findings = read({**description, "servers": servers, **members})
    return capability, findings


def old(**members: Any) -> tuple[Capability, dict[str, str]]:
    operation = {"operationId": "tanks", "responses": {"200": {"description": "All tanks."}}}
    description = {
        "swagger": "2.0",
        "info": {"title": "Kelp farm", "version": "1"},
        "paths": {"/tanks": {"get": operation}},
    }
    (capability,), findings = read({**description, **members})
    return capability, findings


def variables(**defaults: Any) -> dict[str, Any]:
    return {name: {"default": default} for name, default in defaults.items()}


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ({"url": ""}, "https://kelpfarm.com/tanks"),
        ({"url": "/v1/"}, "https://kelpfarm.com/v1/tanks"),
        ({"url": "v1"}, "https://kelpfarm.com/docs/v1/tanks"),
        ({"url": "//api.kelpfarm.com/v1"}, "https://api.kelpfarm.com/v1/tanks"),
        ({"url": "https://{bay}.kelpfarm.com", "variables": variables(bay="north")}, "https://north.kelpfarm.com/tanks"),
        ({"url": "{root}/v2", "variables": variables(root="https://algae.org")}, "https://algae.org/v2/tanks"),
        ({"url": "https://algae.org:{port}/{v}", "variables": variables(port=8443, v="2")}, "https://algae.org:8443/2/tanks"),
        ({"url": "https://algae.org/v2{end}", "variables": variables(end="")}, "https://algae.org/v2/tanks"),
        (
            {"url": "{way}://algae.org", "variables": {"way": {"default": "http", "enum": ["http", "https"]}}},
            "https://algae.org/tanks",
        ),
    ],
)  # fmt: skip
def test_a_legal_server_costs_nothing(server: dict[str, Any], address: str) -> None:
    capability, findings = listed([server])
    assert [call.endpoint for call in capability.invocations] == [address]
    assert capability.params == {"type": "object", "properties": {}}
    assert findings == {}


@pytest.mark.parametrize("servers", [None, []])
def test_without_servers_the_host_of_the_document_is_called(servers: object) -> None:
    capability, findings = listed(servers)
    assert capability.invocations[0].endpoint == "https://kelpfarm.com/tanks"
    assert findings == {}


@pytest.mark.parametrize(
    ("servers", "address", "pointer"),
    [
        ([{"url": "api.kelpfarm.com/v1"}], "https://api.kelpfarm.com/v1/tanks", "/servers/0/url"),
        ([{"url": "api.algae.org:8443"}], "https://api.algae.org:8443/tanks", "/servers/0/url"),
        ([{"url": "http://kelpfarm.com/v1"}], "https://kelpfarm.com/v1/tanks", "/servers/0/url"),
        ({"url": "https://algae.org"}, "https://algae.org/tanks", "/servers/url"),
        ([{"description": "Production"}], "https://kelpfarm.com/tanks", "/servers"),
        ([{"url": "https://{bay}.algae.org"}], "https://{bay}.algae.org/tanks", "/servers/0/url"),
    ],
)
def test_a_server_that_is_written_wrong_is_read_as_it_is_meant(servers: object, address: str, pointer: str) -> None:
    capability, findings = listed(servers)
    assert capability.invocations[0].endpoint == address
    assert findings["openapi.server"] == pointer


@pytest.mark.parametrize(
    ("host", "is_required"), [({}, True), ({"default": "localhost"}, True), ({"default": "BAYNAME"}, True)]
)
def test_a_host_of_the_callers_own_stays_a_variable(host: dict[str, Any], is_required: bool) -> None:
    capability, _ = listed([{"url": "{way}://{bay}/v1", "variables": {**variables(way="http"), "bay": host}}])
    call = capability.invocations[0]
    assert (call.endpoint, call.templated) == ("https://{bay}/v1/tanks", True)
    assert ("bay" in (capability.params or {}).get("required", ())) is is_required


@pytest.mark.parametrize(
    ("server", "rule"),
    [
        ({"url": "https://localhost/v1"}, "endpoint.not_public"),
        ({"url": "http://localhost/v1"}, "endpoint.not_public"),
        ({"url": "http://kelp.internal"}, "endpoint.not_public"),
        ({"url": "https://keeper:secret@algae.org"}, "endpoint.not_public"),
        ({"url": "http://keeper:secret@algae.org"}, "endpoint.not_public"),
        ({"url": "http://algae.org"}, "openapi.plain_http"),
        ({"url": "HTTP://kelpfarm.com:8080"}, "openapi.plain_http"),
        ({"url": "{way}://algae.org", "variables": {"way": {"default": "http", "enum": ["http"]}}},
         "openapi.plain_http"),
    ],
)  # fmt: skip
def test_an_address_that_clients_may_not_call_is_left_out(server: dict[str, Any], rule: str) -> None:
    capability, findings = listed([server])
    assert [call.endpoint for call in capability.invocations] == [None]
    assert {"endpoint.not_public", "openapi.plain_http"} & findings.keys() == {rule}


@pytest.mark.parametrize(
    ("server", "is_listed"), [("http://algae.org/v1", True), ("http://localhost/v1", False), ("http://10.0.0.1", False)]
)
def test_an_api_of_plain_http_is_listed_without_calls(server: str, is_listed: bool) -> None:
    paths = {"/tanks": {"get": {"operationId": "listTanks"}}}
    value = {
        "openapi": "3.1.0",
        "info": {"title": "Tanks", "version": "1"},
        "servers": [{"url": server}],
        "paths": paths,
    }
    document = held("kelpfarm.com", "/openapi.json", value)
    assert document.assessment.service is not None
    reason = reason_not_to_list([document], document.assessment.service, "kelpfarm.com")
    assert (reason is None) is is_listed


def test_the_first_server_that_can_be_called_counts_and_keeps_its_choices() -> None:
    bay = {"default": "north", "enum": ["north", "south"]}
    servers = [{"url": "http://localhost"}, {"url": "https://{bay}.algae.org", "variables": {"bay": bay}}]
    description = {"openapi": "3.1.0", "info": {"title": "Kelp farm", "version": "1"}, "paths": {"/a": {"get": {}}}}
    body = json.dumps({**description, "servers": servers}).encode()
    service = assess_body(body, AT, "application/json").service
    assert service is not None
    assert service.base_url == "https://north.algae.org"
    assert service.provenance["base_url"].pointer == "/servers/1/url"
    assert service.native["openapi"]["servers"] == servers[1:]


def test_a_document_that_names_itself_is_the_base_of_relative_servers() -> None:
    capability, _ = listed([{"url": "v2"}], openapi="3.2.0", **{"$self": "https://api.kelpfarm.com/desc/openapi.json"})
    assert capability.invocations[0].endpoint == "https://api.kelpfarm.com/desc/v2/tanks"


@pytest.mark.parametrize(
    ("members", "address", "pointer"),
    [
        ({}, "https://kelpfarm.com/tanks", None),
        ({"host": "algae.org:8443", "basePath": "/v1/"}, "https://algae.org:8443/v1/tanks", None),
        ({"host": "algae.org", "basePath": "v1"}, "https://algae.org/v1/tanks", "/basePath"),
        ({"host": "algae.co", "basePath": "m/v1"}, "https://algae.co/m/v1/tanks", "/basePath"),
        ({"host": "https://algae.org/", "basePath": "/v1"}, "https://algae.org/v1/tanks", "/host"),
        ({"host": "algae.org/v1", "basePath": "/v1"}, "https://algae.org/v1/tanks", "/host"),
        ({"host": "algae.org/beds", "basePath": "/v1"}, "https://algae.org/beds/v1/tanks", "/host"),
        ({"host": "algae.org", "basePath": "https://algae.org/v1"}, "https://algae.org/v1/tanks", "/basePath"),
        ({"host": "algae.org", "basePath": "https://other.org/v1"}, "https://algae.org/v1/tanks", "/basePath"),
        ({"basePath": "https://algae.org/v1"}, "https://algae.org/v1/tanks", "/basePath"),
        ({"host": "kelpfarm.com", "schemes": ["http"]}, "https://kelpfarm.com/tanks", "/schemes"),
        ({"host": "algae.org", "schemes": ["http", "https"]}, "https://algae.org/tanks", None),
    ],
)
def test_host_and_base_path_are_joined_with_the_delimiters_that_they_lack(
    members: dict[str, Any], address: str, pointer: str | None
) -> None:
    capability, findings = old(**members)
    assert [call.endpoint for call in capability.invocations] == [address]
    assert findings.get("openapi.server") == pointer


def test_a_host_that_the_api_calls_by_https_is_called_so_everywhere() -> None:
    paths = {
        "/a": {
            "get": {"servers": [{"url": "http://algae.org/beds"}]},
            "put": {"servers": [{"url": "http://other.org"}]},
        }
    }
    description = {
        "openapi": "3.1.0",
        "info": {"title": "Kelp", "version": "1"},
        "servers": [{"url": "https://algae.org"}],
    }
    capabilities, _ = read({**description, "paths": paths})
    assert [one.invocations[0].endpoint for one in capabilities] == ["https://algae.org/beds/a", None]


def test_a_host_that_azure_leaves_to_the_caller_stays_a_variable() -> None:
    described = [{"name": "endpoint", "in": "path", "type": "string", "description": "Your resource."}]
    capability, findings = old(
        **{"x-ms-parameterized-host": {"hostTemplate": "{endpoint}/v1", "parameters": described}}
    )
    assert capability.invocations[0].endpoint == "https://{endpoint}/v1/tanks"
    assert (capability.params or {})["properties"]["endpoint"]["description"] == "Your resource."
    assert "openapi.server" not in findings


def test_the_scheme_of_an_operation_counts() -> None:
    paths = {"/a": {"get": {"operationId": "a"}, "put": {"operationId": "b", "schemes": ["https"]}}}
    description = {
        "swagger": "2.0",
        "info": {"title": "Kelp", "version": "1"},
        "host": "algae.org",
        "schemes": ["http"],
    }
    capabilities, _ = read({**description, "paths": paths})
    assert [one.invocations[0].endpoint for one in capabilities] == [None, "https://algae.org/a"]


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("tanks", "https://algae.org/tanks"),
        (".evil.com/tanks", "https://algae.org/.evil.com/tanks"),
        ("@evil.com", "https://algae.org/@evil.com"),
        ("https://algae.org/tanks", "https://algae.org/tanks"),
        ("//evil.com/a", "https://algae.org//evil.com/a"),
    ],
)
def test_a_path_cannot_lead_to_another_host(path: str, address: str) -> None:
    capability, findings = listed([{"url": "https://algae.org"}], path)
    assert capability.invocations[0].endpoint == address
    assert ("openapi.path" in findings) is not path.startswith("/")


HOSTS = st.sampled_from(
    ["algae.org", "bay.algae.org", "kelpfarm.com", "api.kelpfarm.com", "algae.co", "xn--bcher-kva.org"]
)
PORTS = st.sampled_from(["", ":8443"])
PARTS = st.lists(st.sampled_from(["v1", "m", "beds", "a.b", "~x"]), max_size=3)


@st.composite
def written_servers(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return host and port, and a server whose URL has variables in the place of some pieces of its text."""
    host = draw(HOSTS) + draw(PORTS)
    url = "/".join([f"https://{host}", *draw(PARTS)]) + draw(st.sampled_from(["", "/"]))
    cuts = sorted(draw(st.sets(st.integers(0, len(url)), max_size=6)))
    pieces = [url[start:end] for start, end in zip([0, *cuts], [*cuts, len(url)], strict=True)]
    described, text = {}, ""
    for number, piece in enumerate(pieces):
        is_variable = draw(st.booleans())
        text += f"{{p{number}}}" if is_variable else piece
        described |= {f"p{number}": {"default": piece}} if is_variable else {}
    return host, {"url": text, "variables": described}


@given(written_servers(), st.sampled_from(["/tanks", "tanks", "/a/{id}", ".net", "@x.org", "/?a=b"]))
@settings(max_examples=200, deadline=None)
def test_the_host_of_a_call_is_the_host_of_the_substituted_server(
    server: tuple[str, dict[str, Any]], path: str
) -> None:
    host, written = server
    capability, _ = listed([written], path)
    endpoint = capability.invocations[0].endpoint
    assert endpoint is not None
    assert urlsplit(endpoint).netloc == host


@given(HOSTS, PORTS, PARTS, st.booleans(), st.booleans(), st.sampled_from(["", "https://", "//"]))
@settings(max_examples=200, deadline=None)
def test_no_base_path_changes_the_host(
    host: str, port: str, parts: list[str], begins: bool, ends: bool, scheme: str
) -> None:
    path = "/" * begins + "/".join(parts) + "/" * ends
    capability, _ = old(host=f"{scheme}{host}{port}", basePath=path)
    endpoint = capability.invocations[0].endpoint
    assert endpoint is not None
    assert urlsplit(endpoint).netloc == host + port
    assert urlsplit(endpoint).path == "/".join(["", *parts, "tanks"])
