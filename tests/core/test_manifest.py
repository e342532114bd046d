"""Small helpers: findings stay bounded, access never raises, ids stay unique, words find their meaning."""

import json

import pytest

from registry.core.assess import assess_body
from registry.core.documents import Document, Json
from registry.core.findings import EVIDENCE_CHARS, Finding, Reason
from registry.core.format import Format, Role
from registry.core.formats import adp
from registry.core.manifest import (
    FINDINGS_PER_REASON,
    MAX_CAPABILITIES,
    Notes,
    at,
    clean_json,
    count_of,
    flag_of,
    list_of,
    map_of,
    members,
    slug,
    text_of,
    texts_of,
    unique_name,
)
from registry.core.params import MAX_EXPANSION, listed, type_of
from registry.core.services import RateLimit, Service, to_json
from registry.core.vocabulary import auth_type, rate_limit_text


def test_repeated_findings_are_counted_not_listed() -> None:
    notes = Notes()
    for number in range(FINDINGS_PER_REASON + 7):
        notes.add(Reason.AWP_ACTION, f"/actions/{number}", {"a": 1})
    notes.add(Reason.AWP_INTENT, "/intent", None)
    found = notes.findings()
    assert len(found) == FINDINGS_PER_REASON + 1
    assert found[0] == Finding(Reason.AWP_ACTION, "/actions/0", "object")
    assert found[FINDINGS_PER_REASON - 1].evidence == "and 8 more of 12"
    assert found[-1] == Finding(Reason.AWP_INTENT, "/intent", "null")


@pytest.mark.parametrize(
    ("value", "evidence"),
    [(True, "true"), (1.5, "1.5"), ([], "array"), ("a\u200b\nb", "a b"), ("x" * 999, None)],
)
def test_evidence_is_short_and_clean(value: object, evidence: str | None) -> None:
    notes = Notes()
    notes.add(Reason.HTML, "", value)
    (found,) = notes.findings()
    assert len(found.evidence) <= EVIDENCE_CHARS
    if evidence is not None:
        assert found.evidence == evidence


def test_pointers_escape_and_cut_keys() -> None:
    assert at("/a", "b/c~d", 3) == "/a/b~1c~0d/3"
    assert len(at("", "x" * 10_000)) < 100


@pytest.mark.parametrize("holder", [None, [], "x", 5, {}, {"a": None}])
def test_access_never_raises(holder: Json) -> None:
    assert text_of(holder, "a") is None
    assert flag_of(holder, "a") is None
    assert count_of(holder, "a") is None
    assert map_of(holder, "a") == {}
    assert list_of(holder, "a") == []
    assert texts_of(holder, "a") == ()


def test_types_are_strict() -> None:
    assert flag_of({"a": 1}, "a") is None
    assert count_of({"a": True}, "a") is None
    assert count_of({"a": -1}, "a") is None
    assert texts_of({"a": ["x", 1, "x", " ", "y"]}, "a") == ("x", "y")


def test_names_are_made_unique_without_end() -> None:
    taken: set[str] = set()
    assert [unique_name("a", taken) for _ in range(3)] == ["a", "a-2", "a-3"]
    assert unique_name("a-2", taken) == "a-2-2"
    assert slug("  Søk & Finn! ") == "s_k_finn"
    assert slug("!!") == "item"


def test_arrays_are_capped_with_a_finding() -> None:
    notes = Notes()
    kept = list(members([{}] * (MAX_CAPABILITIES + 1), "/actions", Reason.AWP_ACTION, notes))
    assert len(kept) == MAX_CAPABILITIES
    assert notes.findings() == (Finding(Reason.TOO_MANY_CAPABILITIES, "/actions", str(MAX_CAPABILITIES + 1)),)


def test_texts_inside_schemas_are_cleaned() -> None:
    assert clean_json({"a\u200b": ["x\u202ey", 1, None, {"b": "\U000e0041"}]}) == {"a": ["xy", 1, None, {"b": ""}]}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("API Key", "api_key"), ("apiKey", "api_key"), ("OAuth 2.1", "oauth2"), ("http_basic", "http_basic"),
        ("Bearer", "bearer"), ("openIdConnect", "openid"), ("mutualTLS", "mtls"), ("none", "none"),
        ("carrier-pigeon", "custom"), ("", None), (None, None),
    ],
)  # fmt: skip
def test_words_for_authentication(word: str | None, kind: str | None) -> None:
    assert auth_type(word) == kind


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("30/minute", RateLimit(30, "1m")),
        ("1000 requests per hour", RateLimit(1000, "1h")),
        ("5 / s", RateLimit(5, "1s")),
        ("10 per days", RateLimit(10, "1d")),
        ("be gentle", RateLimit(note="be gentle")),
        (None, None),
    ],
)
def test_words_for_rate_limits(text: str | None, limit: RateLimit | None) -> None:
    assert rate_limit_text(text) == limit


def test_parameters_become_a_schema() -> None:
    schema = listed([{"name": "a", "type": "string[]", "required": True}, {"type": "string"}, "x", {"name": "b"}])
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {}},
        "required": ["a"],
    }
    assert type_of("airport_code") == {"type": "string", "format": "airport_code"}
    assert type_of("float") == {"type": "number"}


def grown(value: dict[str, object], path: str) -> tuple[int, int]:
    """Characters that came in, and characters of the service that came out."""
    raw = json.dumps(value).encode()
    service = assess_body(raw, f"https://www.shop.example{path}", None, {}).service
    assert service is not None
    assert service.capabilities
    return len(raw), len(json.dumps(to_json(service)))


def test_what_is_named_often_is_not_written_out_without_end() -> None:
    """Twelve schemas that each name the next one 40 times would be 40^12 copies; one big schema 2,000 copies."""
    chain = {f"S{n}": {"all": [{"$ref": f"#/schemas/S{n + 1}"}] * 40} for n in range(12)}
    calls = [
        {
            "id": f"c-{n}",
            "name": "C",
            "description": "c",
            "endpoint": "/c",
            "method": "GET",
            "response": {"$ref": "#/schemas/S0"},
        }
        for n in range(200)
    ]
    atp: dict[str, object] = {"@context": "https://atp.dev/schema/v1", "capabilities": calls, "schemas": chain}
    fields = {f"f{n}": "array[big]" for n in range(400)}
    actions = [{"id": f"a{n}", "endpoint": "/a", "method": "GET", "inputs": {"x": "big"}} for n in range(500)]
    awp: dict[str, object] = {"awp_version": "0.2", "actions": actions, "entities": {"big": {"fields": fields}}}
    schema = {"type": "object", "properties": {f"p{n}": {"description": "x" * 500} for n in range(200)}}
    operations = [{"name": f"o{n}", "description": "o"} for n in range(2_000)]
    agent = {"id": "a", "name": "A", "description": "a", "inputs": schema, "outputs": {}, "transports": ["rest"]}
    rest = {"rest": {"base": "https://www.shop.example", "invoke_path": "/i"}}
    woa: dict[str, object] = {"woa_version": "1", "agents": [agent | {"operations": operations}], "transports": rest}
    for value, path in ((atp, "/.well-known/agent.json"), (awp, "/agent.json"), (woa, "/.well-known/woa.json")):
        before, after = grown(value, path)
        assert after < before + 4 * MAX_EXPANSION


@pytest.mark.parametrize(
    ("base", "target", "url"),
    [
        ("https://api.shop.com/v1", "/orders/{id}", "https://api.shop.com/v1/orders/{id}"),
        ("https://api.shop.com/v1", "https://eu.shop.com/o", "https://eu.shop.com/o"),
        ("https://api.shop.com", "orders", None),
        ("https://api.shop.com", ".evil.com/orders", None),
        ("https://api.shop.com", "@evil.com/orders", None),
        ("https://api.shop.com", "http://api.shop.com/o", None),
        ("https://api.shop.com", "https://127.0.0.1/o", None),
        (None, "/orders", None),
        (None, "https://api.shop.com/o", "https://api.shop.com/o"),
        ("https://api.shop.com", None, None),
    ],
)
def test_adp_appends_endpoints_and_never_leaves_the_host(base: str | None, target: str | None, url: str | None) -> None:
    assert adp.endpoint(base, target) == url


def test_what_is_noted_belongs_to_one_reading() -> None:
    def read(document: Document, dialect: str, notes: Notes) -> Service:
        notes.add(Reason.AWP_INTENT, "/intent")
        return Service(name=document.url + dialect)

    form = Format("x", "X", "X 1", (), ("application/json",), Role.SERVICE, read)
    for url, dialect in (("https://a.example/", "1"), ("https://a.example/", "2"), ("https://b.example/", "1")):
        judgement = form.judge(Document(b"", {}, url), dialect)
        assert judgement == (Service(name=url + dialect), (Finding(Reason.AWP_INTENT, "/intent"),))
