"""How a capability is called: template, credentials, example and command line of each protocol."""

import json
import shlex
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uritemplate import URITemplate

from registry.core.assessing.assess import assess_body
from registry.core.calling.call import example_of
from registry.core.calling.effort import Effort
from registry.core.calling.template import address_of, template, varname
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Invocation,
    Service,
)
from tests.core.calling.calls import HOST, KEY, PARAMS, TOOL, called, made_call, made_record
from tests.core.manifests import JSON_FIXTURES, Fixture, altered

PLACES = (("id", "path"), ("lang", "query"), ("tags", "query"), ("X-Trace", "header"), ("tenant", "cookie"),
          ("seats", "body"))  # fmt: skip
PUT = Invocation("http", f"{HOST}/trips/{{id}}", "PUT", places=PLACES, headers=(("X-Version", "3"),), templated=True)


def test_an_http_call_is_a_template_and_a_complete_example() -> None:
    call = called(PUT, service=Service(auth=Auth((KEY,), True)))
    assert call["request"] == {
        "method": "PUT",
        "url": f"{HOST}/trips/{{id}}{{?lang,tags*}}",
        "headers": {"X-Version": "3"},
        "content_type": "application/json",
        "parameters": [
            {"name": name, "in": place, "required": name in PARAMS["required"]} for name, place in PLACES
        ],
        "body_schema": {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]},
    }  # fmt: skip
    assert call["credentials"] == {
        "required": True,
        "alternatives": [
            [{"type": "api_key", "in": "header", "name": "X-Ferry-Key", "placeholder": "YOUR_FERRY_KEY",
              "value": "YOUR_FERRY_KEY"}]
        ],
    }  # fmt: skip
    assert call["example"] == {
        "method": "PUT",
        "url": f"{HOST}/trips/7?lang=nb&tags=example&tags=example",
        "headers": {
            "X-Version": "3",
            "X-Trace": "abc",
            "X-Ferry-Key": "YOUR_FERRY_KEY",
            "Cookie": "tenant=north",
            "Content-Type": "application/json",
        },
        "body": {"seats": 1},
    }
    assert (call["derived"], call["missing"]) == (["id", "tags", "seats"], [])
    words = shlex.split(call["curl"])
    assert words[:6] == ["curl", "--globoff", "--request", "PUT", "--url", call["example"]["url"]]
    assert words[-2:] == ["--data-raw", '{"seats":1}']
    assert [words[at + 1] for at, word in enumerate(words) if word == "--header"] == [
        f"{name}: {value}" for name, value in call["example"]["headers"].items()
    ]


def test_without_places_the_method_decides() -> None:
    params = {"properties": {"q": {"default": "a"}}}
    get = called(Invocation("http", f"{HOST}/search?x=1", "GET"), params=params)
    assert get["request"]["url"] == f"{HOST}/search?x=1{{&q}}"
    assert get["example"]["url"] == f"{HOST}/search?x=1&q=a"
    post = called(Invocation("http", f"{HOST}/search", "POST"), params=params)
    assert post["example"]["body"] == {"q": "a"}


@pytest.mark.parametrize(
    ("scheme", "place", "value"),
    [
        (AuthScheme("bearer", "header", "Authorization", "Bearer"), "header", "Bearer YOUR_ACCESS_TOKEN"),
        (AuthScheme("oauth2"), "header", "Bearer YOUR_ACCESS_TOKEN"),
        (AuthScheme("http_basic"), "header", "Basic YOUR_BASE64_OF_USER_AND_PASSWORD"),
        (AuthScheme("api_key", "header", "Authorization", "Token"), "header", "Token YOUR_API_KEY"),
        (AuthScheme("api_key", "header", "Authorization", "bearer"), "header", "Bearer YOUR_API_KEY"),
        (AuthScheme("api_key", "header", "Authorization", "BEARER "), "header", "Bearer YOUR_API_KEY"),
        (AuthScheme("oauth2", "header", "authorization", "bearer"), "header", "Bearer YOUR_ACCESS_TOKEN"),
        (AuthScheme("custom", "header", "Authorization", note="bearer"), "header", "Bearer YOUR_ACCESS_TOKEN"),
        (AuthScheme("custom", "header", "Authorization", "bearer"), "header", "Bearer YOUR_ACCESS_TOKEN"),
        (AuthScheme("custom", "header", "Authorization", "bearertoken"), "header", "bearertoken YOUR_API_KEY"),
        (AuthScheme("custom", "header", "Authorization", note="bearer of news"), "header", "YOUR_API_KEY"),
        (AuthScheme("api_key", "query", "appid"), "query", "YOUR_APPID"),
        (AuthScheme("session", "cookie", "sid"), "cookie", "YOUR_SID"),
        (AuthScheme("custom", "body", "token"), "body", "YOUR_TOKEN"),
        (AuthScheme("api_key", "path", "key"), "path", "YOUR_KEY"),
    ],
)
def test_a_credential_is_put_where_the_document_says(scheme: AuthScheme, place: str, value: str) -> None:
    params = {"properties": {"appid": {"type": "string"}}, "required": ["appid"]}  # also listed as a parameter
    invocation = Invocation("http", f"{HOST}/trips/{{key}}", "POST", places=(("appid", "query"),))
    call = called(invocation, service=Service(auth=Auth((scheme,), True)), params=params)
    (credential,) = call["credentials"]["alternatives"][0]
    assert (credential["in"], credential["value"]) == (place, value)
    example, url = call["example"], urlsplit(call["example"]["url"])
    assert {
        "header": lambda: next(value for name, value in example["headers"].items() if name.lower() == "authorization"),
        "query": lambda: dict(parse_qsl(url.query))["appid"],
        "cookie": lambda: example["headers"]["Cookie"].partition("=")[2],
        "body": lambda: example["body"]["token"],
        "path": lambda: url.path.rpartition("/")[2],
    }[place]() == value
    assert url.query.count("appid") == 1


def test_credentials_that_are_needed_at_once_are_all_sent() -> None:
    schemes = (AuthScheme("api_key", "query", "app"), KEY, AuthScheme("mtls"))
    call = called(PUT, service=Service(auth=Auth(schemes, True, ((2,), (0, 1)))))
    assert [len(one) for one in call["credentials"]["alternatives"]] == [1, 2]
    assert "app=YOUR_APP" in call["example"]["url"]
    assert call["example"]["headers"]["X-Ferry-Key"] == "YOUR_FERRY_KEY"
    assert call["missing"] == []


@pytest.mark.parametrize(
    "auth", [Auth((AuthScheme("none"),), False), Auth((KEY,), False), Auth(), Auth((AuthScheme("payment"),), True)]
)
def test_without_a_need_no_credential_is_sent(auth: Auth) -> None:
    call = called(replace(PUT, auth=auth))
    assert "X-Ferry-Key" not in call["example"]["headers"]
    assert call["missing"] == []


@pytest.mark.parametrize(
    ("auth", "what"),
    [
        (Auth((AuthScheme("api_key"),), True), "credential api_key"),
        (Auth((AuthScheme("did"),), True), "credential did"),
        (Auth((), True), "credential"),
    ],
)
def test_a_credential_without_a_place_is_missing(auth: Auth, what: str) -> None:
    assert [part["what"] for part in called(replace(PUT, auth=auth))["missing"]] == [what]


LIST, BOTH = ["a", "b/c"], {"x": "a", "y": "b/c"}


@pytest.mark.parametrize(
    ("style", "value", "query", "expression"),
    [
        ({}, LIST, "v=a&v=b%2Fc", "{?v*}"),
        ({"explode": False}, LIST, "v=a%2Cb%2Fc", "{?v}"),
        ({"collectionFormat": "csv"}, LIST, "v=a%2Cb%2Fc", "{?v}"),
        ({"collectionFormat": "multi"}, LIST, "v=a&v=b%2Fc", "{?v*}"),
        ({"style": "pipeDelimited"}, LIST, "v=a%7Cb%2Fc", "{?v}"),
        ({"style": "pipeDelimited", "explode": True}, LIST, "v=a&v=b%2Fc", "{?v*}"),
        ({"style": "matrix"}, LIST, "v=a&v=b%2Fc", "{?v*}"),  # not a style of queries
        ({"collectionFormat": "ssv"}, LIST, "v=a%20b%2Fc", "{?v}"),
        ({"collectionFormat": "tsv"}, LIST, "v=a%09b%2Fc", "{?v}"),
        ({"style": "deepObject"}, LIST, "v%5B0%5D=a&v%5B1%5D=b%2Fc", "{?v}"),
        ({}, BOTH, "x=a&y=b%2Fc", "{?v*}"),
        ({"explode": False}, BOTH, "v=x%2Ca%2Cy%2Cb%2Fc", "{?v}"),
        ({"style": "deepObject"}, {"x": BOTH}, "v%5Bx%5D%5Bx%5D=a&v%5Bx%5D%5By%5D=b%2Fc", "{?v}"),
        ({"content": "application/json"}, BOTH, "v=%7B%22x%22%3A%22a%22%2C%22y%22%3A%22b%2Fc%22%7D", "{?v}"),
        ({"style": "querystring"}, BOTH, "x=a&y=b%2Fc", "{?v*}"),
    ],
)
def test_values_are_written_as_the_document_says(
    style: dict[str, Any], value: Any, query: str, expression: str
) -> None:
    kind = "array" if isinstance(value, list) else "object"
    params = {"properties": {"v": {"type": kind, "examples": [value]}}}
    call = called(Invocation("http", HOST, "GET"), params=params, native={"openapi": {"styles": {"v": style}}})
    assert call["example"]["url"] == f"{HOST}?{query}"
    assert call["request"]["url"] == HOST + expression


@pytest.mark.parametrize(
    ("style", "value", "path", "expression"),
    [
        ({}, "a/b", "a%2Fb", "{v}"),
        ({"allowReserved": True}, "/a/b?c", "a/b%3Fc", "{+v}"),
        ({}, LIST, "a,b%2Fc", "{v}"),
        ({"explode": True}, LIST, "a,b%2Fc", "{v*}"),
        ({}, BOTH, "x,a,y,b%2Fc", "{v}"),
        ({"explode": True}, BOTH, "x=a,y=b%2Fc", "{v*}"),
        ({"style": "label"}, "a", ".a", "{.v}"),
        ({"style": "label"}, LIST, ".a,b%2Fc", "{.v}"),
        ({"style": "label", "explode": True}, LIST, ".a.b%2Fc", "{.v*}"),
        ({"style": "label", "explode": True}, BOTH, ".x=a.y=b%2Fc", "{.v*}"),
        ({"style": "matrix"}, "a", ";v=a", "{;v}"),
        ({"style": "matrix"}, LIST, ";v=a,b%2Fc", "{;v}"),
        ({"style": "matrix", "explode": True}, LIST, ";v=a;v=b%2Fc", "{;v*}"),
        ({"style": "matrix"}, BOTH, ";v=x,a,y,b%2Fc", "{;v}"),
        ({"style": "matrix", "explode": True}, BOTH, ";x=a;y=b%2Fc", "{;v*}"),
    ],
)
def test_values_of_a_path_are_written_as_the_document_says(
    style: dict[str, Any], value: Any, path: str, expression: str
) -> None:
    params = {"properties": {"v": {"examples": [value]}}, "required": ["v"]}
    native = {"openapi": {"styles": {"v": style}}}
    call = called(Invocation("http", f"{HOST}/{{v}}/x", "GET"), params=params, native=native)
    assert call["example"]["url"] == f"{HOST}/{path}/x"
    assert call["request"]["url"] == f"{HOST}/{expression}/x"
    if not style.get("allowReserved"):
        assert URITemplate(call["request"]["url"]).expand(v=value) == call["example"]["url"]


@pytest.mark.parametrize(
    ("style", "value", "text"),
    [({}, LIST, "a,b/c"), ({}, BOTH, "x,a,y,b/c"), ({"explode": True}, BOTH, "x=a,y=b/c"),
     ({"content": "application/json"}, ["a"], '["a"]')],
)  # fmt: skip
def test_values_of_a_header_are_written_as_the_document_says(style: dict[str, Any], value: Any, text: str) -> None:
    params = {"properties": {"X-V": {"type": "array" if isinstance(value, list) else "object", "examples": [value]}}}
    invocation = Invocation("http", HOST, "GET", places=(("X-V", "header"),))
    call = called(invocation, params=params, native={"openapi": {"styles": {"X-V": style}}})
    assert call["example"]["headers"]["X-V"] == text


def test_members_of_a_form_are_written_as_the_document_says() -> None:
    values = {"list": ["a", "b"], "object": {"x": 1}, "deep": {"x": 1}, "joined": ["a", "b"], "parts": [{"x": 1}]}
    styles = {"deep": {"style": "deepObject"}, "joined": {"explode": False}, "object": {"contentType": "text/json"}}
    params = {"properties": {name: {"examples": [value]} for name, value in values.items()}}
    places = tuple((name, "body") for name in values)
    form = Invocation("http", HOST, "POST", places=places, media_type="application/x-www-form-urlencoded")
    call = called(form, params=params, native={"openapi": {"styles": styles}})
    assert parse_qsl(shlex.split(call["curl"])[-1]) == [
        ("list", "a"), ("list", "b"), ("object", '{"x":1}'), ("deep[x]", "1"), ("joined", "a,b"), ("parts", '{"x":1}'),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shown", "body"),
    [
        ({"trip": {"to": "Oslo"}}, {"trip": {"to": "Oslo", "stops": ["Moss"]}, "note": "Hi"}),
        ({"trip[to]": "Oslo"}, {"trip[to]": "Oslo", "trip[stops][]": ["Moss"], "note": "Hi"}),
        ({"trip": "Oslo"}, {"trip[to]": "Oslo", "trip[stops][]": ["Moss"], "note": "Hi"}),
    ],
)
def test_members_are_nested_where_the_example_of_the_document_nests_them(shown: Any, body: Any) -> None:
    """Some details name the members of a JSON body as a form would."""
    params = {
        "type": "object",
        "properties": {
            "trip[to]": {"type": "string", "examples": ["Oslo"]},
            "trip[stops][]": {"type": "array", "examples": [["Moss"]]},
            "note": {"type": "string", "examples": ["Hi"]},
        },
        "required": ["trip[to]"],
    }
    call = called(
        Invocation("http", f"{HOST}/trips", "POST"), params=params, detail={"request_example": {"body": shown}}
    )
    assert call["example"]["body"] == body
    assert [row["name"] for row in call["request"]["parameters"]] == list(params["properties"])
    assert jsonschema_rs.is_valid(call["request"]["body_schema"], body)
    assert not jsonschema_rs.is_valid(call["request"]["body_schema"], {"note": "Hi"})
    assert not jsonschema_rs.is_valid(call["request"]["body_schema"], {"trip": {"stops": []}})


def test_members_are_not_nested_where_one_is_both_a_value_and_an_object() -> None:
    names = ["trip", "trip[to]", "trip[to][by]", "[]", "trip[trip]"]
    params = {"type": "object", "properties": {name: {"type": "string", "examples": ["Oslo"]} for name in names}}
    call = called(
        Invocation("http", f"{HOST}/trips", "POST"),
        params=params,
        detail={"request_example": {"body": {"trip": {"to": "Oslo"}}}},
    )
    assert list(call["request"]["body_schema"]["properties"]) == names


def test_a_variable_with_a_known_name_is_that_parameter() -> None:
    params = {
        "properties": {name: {"const": name} for name in (".format", "format")},
        "required": [".format", "format"],
    }
    call = called(Invocation("http", f"{HOST}/trips{{.format}}", "GET"), params=params)
    assert call["example"]["url"] == f"{HOST}/trips.format?format=format"


def test_a_deep_object_has_a_variable_for_each_member() -> None:
    schema = {"type": "object", "properties": {"from": {}, "to": {}}, "examples": [{"from": "A", "to": "B"}]}
    native = {"openapi": {"styles": {"at": {"style": "deepObject"}}}}
    call = called(Invocation("http", HOST, "GET"), params={"properties": {"at": schema}}, native=native)
    assert call["request"]["url"] == f"{HOST}{{?at%5Bfrom%5D,at%5Bto%5D}}"
    assert parse_qsl(urlsplit(call["example"]["url"]).query) == [("at[from]", "A"), ("at[to]", "B")]


def test_a_key_that_is_a_parameter_is_the_credential() -> None:
    params = {"properties": {"apiKey": {"type": "string"}, "q": {"type": "string"}}, "required": ["apiKey", "q"]}
    service = Service(auth=Auth((AuthScheme("api_key"),), True))
    call = called(Invocation("http", f"{HOST}/v2/{{apiKey}}/nfts", "GET"), service=service, params=params)
    assert call["credentials"]["alternatives"][0][0].items() >= {"in": "path", "name": "apiKey"}.items()
    assert call["example"]["url"] == f"{HOST}/v2/YOUR_APIKEY/nfts?q=example"
    assert call["missing"] == []


def test_a_form_and_a_whole_body() -> None:
    params = {"properties": {"a": {"const": "x y"}, "b": {"const": True}}, "required": ["a", "b"]}
    places = (("a", "body"), ("b", "body"))
    form = Invocation("http", HOST + "/f", "POST", places=places, media_type="application/x-www-form-urlencoded")
    assert shlex.split(called(form, params=params)["curl"])[-1] == "a=x+y&b=true"
    parts = shlex.split(called(replace(form, media_type="multipart/form-data"), params=params)["curl"])
    assert parts[-4:] == ["--form-string", "a=x y", "--form-string", "b=true"]
    assert "Content-Type: multipart/form-data" not in parts
    whole = replace(form, places=(("a", "whole_body"),), media_type="text/plain")
    assert (
        shlex.split(called(whole, params={"properties": {"a": {"const": "hi"}}, "required": ["a"]})["curl"])[-1] == "hi"
    )


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        (f"{HOST}/:id/x", f"{HOST}/{{id}}/x"),
        (f"{HOST}/{{user-id}}", f"{HOST}/{{user%2Did}}"),
        (f"{HOST}/{{+path}}", f"{HOST}/{{path}}"),
        (f"{HOST}/{{id:[0-9]+}}", f"{HOST}/{{id}}"),
        (f"{HOST}/a b{{?x,y}}#top", f"{HOST}/a%20b"),
        (f"{HOST}/{{}}", f"{HOST}/%7B%7D"),
    ],
)
def test_addresses_become_templates(endpoint: str, expected: str) -> None:
    assert template(address_of(endpoint), ()) == expected
    assert varname("a..b-~é") == "a%2E%2Eb%2D%7E%C3%A9"


def test_a_variable_of_the_host_stays_a_placeholder() -> None:
    call = called(Invocation("http", "https://{tenant}.ferry.example/x", "GET", templated=True), params=None)
    assert call["example"]["url"] == "https://YOUR_TENANT.ferry.example/x"


HOSTILE = "a'; rm -rf / #$(id)`id`\"\n\x1b[31m\\"


def test_texts_of_the_site_stay_single_words_of_the_command() -> None:
    params = {
        "properties": {name: {"const": HOSTILE} for name in ("p", "q", "b", HOSTILE)},
        "required": ["p", "q", "b"],
    }
    places = (("p", "path"), ("q", "query"), ("b", "body"), (HOSTILE, "header"))
    auth = Auth((AuthScheme("api_key", "header", "@/etc/passwd", note=HOSTILE),), True)
    headers = (("X-Ok", "it's"), ("X\r\nEvil", "1"))
    invocation = Invocation("http", f"{HOST}/{{p}}", "POST", places=places, auth=auth, headers=headers)
    call = called(invocation, params=params)
    words = shlex.split(call["curl"])
    assert words[:4] == ["curl", "--globoff", "--request", "POST"]
    assert all(word.startswith("--") for word in words[4::2])
    assert words[5].startswith(f"{HOST}/a%27%3B%20rm%20-rf%20%2F")
    assert not any("\n" in word or "\x1b" in word or word.startswith("@") for word in words)
    assert "Evil" not in call["curl"]
    assert json.loads(words[-1]) == {"b": HOSTILE}

    call = called(replace(invocation, headers=(("X-Bad", HOSTILE),)), params=params)
    assert "X-Bad" in call["example"]["headers"] and "curl" not in call
    assert call["curl_omitted"] == "a value has characters that shells read differently; send the example instead"


def test_a_page_is_opened() -> None:
    assert called(Invocation("navigation", f"{HOST}/trips/{{id}}"))["open"] == f"{HOST}/trips/{{id}}"
    assert called(Invocation("navigation", name="tel:+4712345678"))["open"] == "tel:+4712345678"


@pytest.mark.parametrize(
    "call",
    [
        Invocation("http"),
        Invocation("http", f"{HOST}/x"),
        Invocation("http", "http://api.ferry.example/x", "GET"),
        Invocation("pointer", f"{HOST}/x", "GET"),
        Invocation("instructions"),
        Invocation("rpc", f"{HOST}/x", "POST"),
        Invocation("rpc", "wss://api.ferry.example/x"),
        Invocation("mcp_tool", name="x"),
    ],
)
def test_what_the_documents_do_not_suffice_for_is_not_called(call: Invocation) -> None:
    capability = Capability("x", "x", invocations=(call,))
    assert made_call(Service(), capability) is None
    assert "call" not in made_record(Service(), capability)


def test_the_capabilities_of_one_answer_share_their_effort() -> None:
    params = {"properties": {"id": {"type": "integer"}}, "required": ["id"]}
    capability, alone = Capability("x", "x", params=params, invocations=(TOOL,)), Effort(10_000)
    example_of(Service(), capability, alone)
    whole = Effort(2 * (10_000 - alone.left) - 1)
    first, second = (example_of(Service(), capability, Effort(whole=whole)) for _ in "ab")
    assert first is not None and second is not None
    assert (first.missing, [part.why for part in second.missing]) == (
        (), ["the examples of this service would take too much work"],
    )  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(st.sampled_from(JSON_FIXTURES).flatmap(lambda fixture: st.tuples(st.just(fixture), altered(fixture.value))))
def test_any_document_gives_calls_of_json(drawn: tuple[Fixture, Any]) -> None:
    fixture, value = drawn
    service = assess_body(
        json.dumps(value).encode(), fixture.url, fixture.media_type, {}, expected=fixture.expected
    ).service
    for capability in service.capabilities[:20] if service else ():
        call = made_call(service or Service(), capability)
        if call is not None and "curl" in call:
            json.dumps(call)
            assert shlex.split(call["curl"])[0] == "curl"
            assert "\n" not in call["example"]["url"]
