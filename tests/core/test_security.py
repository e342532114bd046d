"""Security schemes in all spellings that documents use."""

from typing import Any

import pytest

from registry.core.format_support.security import loose_auth, operation_auth, required_auth, scheme_of, schemes_of
from registry.core.model.documents import Json
from registry.core.model.services import Auth, AuthScheme

BASE = "https://mill.example/card.json"


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ({"type": "http", "scheme": "Bearer"}, "bearer"),
        ({"type": "http", "scheme": "digest"}, "custom"),
        ({"type": "basic"}, "http_basic"),
        ({"type": "apiKey", "in": "query", "name": "k"}, "api_key"),
        ({"type": "openIdConnect", "openIdConnectUrl": "https://mill.example/oidc"}, "openid"),
        ({"type": "mutualTLS"}, "mtls"),
        ({"httpAuthSecurityScheme": {"scheme": "bearer"}}, "bearer"),
        ({"mtlsSecurityScheme": {}}, "mtls"),
        ({"type": "carrier pigeon"}, "custom"),
        ({}, "custom"),
    ],
)
def test_kinds(written: dict[str, Json], kind: str) -> None:
    assert scheme_of(written, BASE).type == kind


def test_api_key_place_in_both_spellings() -> None:
    old = scheme_of({"type": "apiKey", "in": "query", "name": "k"}, BASE)
    new = scheme_of({"apiKeySecurityScheme": {"location": "query", "name": "k"}}, BASE)
    assert old == new == AuthScheme("api_key", "query", "k")


def test_oauth_takes_the_first_urls_and_all_scopes() -> None:
    flows: dict[str, Json] = {
        "implicit": {"authorizationUrl": "/authorize", "scopes": {"read": ""}},
        "clientCredentials": {"tokenUrl": "http://mill.example/token", "scopes": {"write": "", "read": ""}},
        "password": {"tokenUrl": "https://mill.example/token2", "scopes": {}},
    }
    scheme = scheme_of({"type": "oauth2", "flows": flows}, BASE)
    assert scheme.authorization_url == "https://mill.example/authorize"
    assert scheme.token_url == "https://mill.example/token2", "plain http is no place for a secret"
    assert scheme.scopes == ("read", "write")


def test_swagger_writes_the_flow_beside_the_type() -> None:
    scheme = scheme_of({"type": "oauth2", "flow": "application", "tokenUrl": "https://mill.example/t"}, BASE)
    assert scheme.token_url == "https://mill.example/t"


KNOWN = schemes_of({"key": {"type": "apiKey", "name": "K"}, "login": {"type": "oauth2", "flows": {}}}, BASE)


@pytest.mark.parametrize(
    ("requirements", "types", "required"),
    [
        ([{"key": []}], ["api_key"], True),
        ([{"key": []}, {}], ["api_key"], False),
        ([{"key": [], "login": ["a"]}], ["api_key", "oauth2"], True),
        ([{"schemes": {"login": {"list": ["a"]}}}], ["oauth2"], True),
        ([], ["none"], False),
        ([{}], ["none"], False),
        ([{"unknown": []}], [], True),
    ],
)
def test_requirements(requirements: list[Json], types: list[str], required: bool) -> None:
    auth = required_auth(requirements, KNOWN)
    assert auth is not None
    assert [scheme.type for scheme in auth.schemes] == types
    assert auth.required is required


def test_missing_requirements_do_not_mean_no_authentication() -> None:
    assert required_auth(None, KNOWN) is None
    assert required_auth("key", KNOWN) is None


def test_scopes_asked_for_replace_those_on_offer() -> None:
    auth = required_auth([{"login": ["write"]}], KNOWN)
    assert auth is not None
    assert auth.schemes[0].scopes == ("write",)


def test_a_part_does_not_repeat_what_the_service_says_at_length() -> None:
    known = {"key": AuthScheme("api_key", "header", "K", note="n" * 4_000, setup_url="https://mill.example/keys")}
    auth = operation_auth({"security": [{"key": []}]}, known)
    assert auth == Auth((AuthScheme("api_key", "header", "K"),), True)
    many = {f"s{i}": AuthScheme("api_key", name=f"s{i}") for i in range(200)}
    wide = operation_auth({"security": [{name: []} for name in many]}, many)
    assert wide is not None
    assert len(wide.schemes) <= 10


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("none", Auth((AuthScheme("none"),), False)),
        ({"schemes": ["none"]}, Auth((AuthScheme("none"),), False)),
        ({"required": True, "schemes": ["apiKey"]}, Auth((AuthScheme("api_key", "header"),), True)),
        ({"type": "apiKey", "in": "query", "name": "k"}, Auth((AuthScheme("api_key", "query", "k"),), None)),
        ({"schemes": ["riddle"]}, Auth((AuthScheme("custom", note="riddle"),), None)),
        (7, Auth()),
        (None, Auth()),
    ],
)
def test_loose_authentication(written: Json, expected: Auth) -> None:
    assert loose_auth(written, BASE) == expected


def test_schemes_in_a_list() -> None:
    written: list[Json] = [
        {"id": "key", "type": "apiKey", "location": "header", "name": "X-Mill-Key", "credentials": "Ask the foreman"},
        {"type": "oauth2", "tokenUrl": "https://mill.example/token", "scopes": ["read"]},
        "not a scheme",
    ]
    assert schemes_of(written, BASE) == {
        "key": AuthScheme("api_key", "header", "X-Mill-Key", note="Ask the foreman"),
        "1": AuthScheme("oauth2", token_url="https://mill.example/token", scopes=("read",)),
    }


@pytest.mark.parametrize(
    ("written", "auth"),
    [
        (
            {"schemes": ["apiKey"], "apiKeyHeader": "X-Mill-Key"},
            Auth((AuthScheme("api_key", "header", "X-Mill-Key"),)),
        ),
        (
            {"schemes": ["bearer"], "credentials": "A key as Authorization: Bearer"},
            Auth((AuthScheme("bearer", "header", "Authorization", "Bearer", note="A key as Authorization: Bearer"),)),
        ),
        (
            {"schemes": {"bearer": {"description": "a"}, "mtls": {}}},
            Auth((AuthScheme("bearer", "header", "Authorization", "Bearer", note="a"), AuthScheme("mtls"))),
        ),
        (["none"], Auth((AuthScheme("none"),), False)),
        (
            {"schemes": [{"scheme": "apiKey", "in": "header", "name": "X-Mill-Key"}, {"scheme": "Loom ticket"}]},
            Auth((AuthScheme("api_key", "header", "X-Mill-Key"), AuthScheme("custom", note="Loom ticket"))),
        ),
        (
            {"schemes": [{"in": "query", "name": "mill"}, {"name": "oauth2", "scopes": ["read"]}]},
            Auth((AuthScheme("api_key", "query", "mill"), AuthScheme("oauth2", scopes=("read",)))),
        ),
        (
            {"schemes": {"bearer": "Ask the foreman", "x402": True, "basic": False}},
            Auth(
                (
                    AuthScheme("bearer", "header", "Authorization", "Bearer", note="Ask the foreman"),
                    AuthScheme("payment"),
                )
            ),
        ),
        (
            "No key required for reading",
            Auth((AuthScheme("none", note="No key required for reading"),), False),
        ),
        ({"type": "apiKey", "query_param": "key"}, Auth((AuthScheme("api_key", "query", "key"),))),
    ],
)
def test_spellings_of_early_cards(written: Json, auth: Auth) -> None:
    assert loose_auth(written, BASE) == auth


KEYS = {name: AuthScheme("api_key", "header", name) for name in ("a", "b", "c")}


def test_schemes_that_are_needed_at_once_are_told_from_alternatives() -> None:
    at_once = required_auth([{"a": [], "b": []}, {"c": []}], KEYS)
    assert at_once == Auth(tuple(KEYS.values()), True, ((0, 1), (2,)))
    alternatives = required_auth([{"a": []}, {"b": []}], KEYS)
    assert alternatives is not None
    assert alternatives.combinations == ()


def test_the_page_that_gives_out_keys_keeps_the_place_in_it() -> None:
    scheme = scheme_of({"type": "apiKey", "name": "X-Key", "obtainAt": "https://mill.example/#keys"}, BASE)
    assert scheme.setup_url == "https://mill.example/#keys"


@pytest.mark.parametrize(
    ("written", "schemes"),
    [
        ({"header": "X-Mill-Key"}, [("api_key", "header", "X-Mill-Key", None)]),
        ({"query_param": "key", "note": "ask us"}, [("api_key", "query", "key", None)]),
        ({"type": "api_key", "header": "X-Mill-Key: <key>"}, [("api_key", "header", "X-Mill-Key", None)]),
        ({"type": "api_key", "header": "Authorization: Miller <key>"}, [
            ("api_key", "header", "Authorization", "Miller")]),
        ({"type": "api_key", "header": "Authorization", "prefix": "Miller"}, [
            ("api_key", "header", "Authorization", "Miller")]),
        ({"api_key": {"header": "X-Mill-Key"}, "bearer": True}, [
            ("api_key", "header", "X-Mill-Key", None), ("bearer", "header", "Authorization", "Bearer")]),
        ({"type": ["apiKey", "none"]}, [("api_key", "header", None, None), ("none", None, None, None)]),
        ({"guests": "10 sacks a day, no key needed", "members": "unlimited with an API key"}, [
            ("none", None, None, None), ("api_key", "header", None, None)]),
        ({"docs": "https://mill.example/oauth", "hours": "9 to 17"}, []),
    ],
)  # fmt: skip
def test_an_object_without_a_type_is_read_by_its_members(written: Json, schemes: list[Any]) -> None:
    found = loose_auth(written, BASE).schemes
    assert [(one.type, one.location, one.name, one.prefix) for one in found] == schemes
