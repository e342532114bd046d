"""Helpers for reading manifests: findings stay bounded, access never raises, ids stay unique, words are understood."""

import json

import pytest

from registry.core.assessing import rules as assessing_rules
from registry.core.assessing.assess import assess_body
from registry.core.format_support import common_rules
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import (
    FINDINGS_PER_REASON,
    MAX_CAPABILITIES,
    Notes,
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
from registry.core.format_support.params import MAX_EXPANSION, list_schema, type_of
from registry.core.format_support.vocabulary import auth_type, rate_limit_text
from registry.core.formats import adp
from registry.core.formats.awp import rules as awp_rules
from registry.core.model.documents import Document, Json
from registry.core.model.findings import EVIDENCE_CHARS, Finding
from registry.core.model.services import RateLimit, Service, to_json
from registry.core.reading.json_pointer import POINTER_KEY_CHARS, at


def test_repeated_findings_are_counted_not_listed() -> None:
    notes = Notes()
    for number in range(FINDINGS_PER_REASON + 7):
        notes.add(awp_rules.ACTION, f"/actions/{number}", {"a": 1})
    notes.add(awp_rules.INTENT, "/intent", None)
    findings = notes.findings()
    assert len(findings) == FINDINGS_PER_REASON + 1
    assert findings[0] == Finding(awp_rules.ACTION, "/actions/0", "object")
    assert findings[FINDINGS_PER_REASON - 1].evidence == "and 8 more of 12"
    assert findings[-1] == Finding(awp_rules.INTENT, "/intent", "null")


@pytest.mark.parametrize(
    ("value", "evidence"),
    [(True, "true"), (1.5, "1.5"), ([], "array"), ("a\u200b\nb", "a b"), ("x" * 999, None)],
)
def test_evidence_is_short_and_clean(value: object, evidence: str | None) -> None:
    notes = Notes()
    notes.add(assessing_rules.HTML, "", value)
    (finding,) = notes.findings()
    assert len(finding.evidence) <= EVIDENCE_CHARS
    if evidence is not None:
        assert finding.evidence == evidence


def test_pointers_escape_and_cut_keys() -> None:
    assert at("/a", "b/c~d", 3) == "/a/b~1c~0d/3"
    assert len(at("", "x" * 10_000)) == POINTER_KEY_CHARS + 1


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
    used_names: set[str] = set()
    assert [unique_name("a", used_names) for _ in range(3)] == ["a", "a-2", "a-3"]
    assert unique_name("a-2", used_names) == "a-2-2"
    assert slug("  Søk & Finn! ") == "s_k_finn"
    assert slug("!!") == "item"


def test_arrays_are_capped_with_a_finding() -> None:
    notes = Notes()
    items = list(members([{}] * (MAX_CAPABILITIES + 1), "/actions", awp_rules.ACTION, notes))
    assert len(items) == MAX_CAPABILITIES
    assert notes.findings() == (Finding(common_rules.TOO_MANY_CAPABILITIES, "/actions", str(MAX_CAPABILITIES + 1)),)


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
    schema = list_schema([{"name": "a", "type": "string[]", "required": True}, {"type": "string"}, "x", {"name": "b"}])
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {}},
        "required": ["a"],
    }
    assert type_of("airport_code") == {"type": "string", "format": "airport_code"}
    assert type_of("float") == {"type": "number"}


def sizes(value: dict[str, object], path: str) -> tuple[int, int]:
    """Return the number of characters of the document, and of the service made from it."""
    raw = json.dumps(value).encode()
    service = assess_body(raw, f"https://www.shop.example{path}", None, {}).service
    assert service is not None
    assert service.capabilities
    return len(raw), len(json.dumps(to_json(service)))


def test_repeated_references_are_not_expanded_without_limit() -> None:
    """Twelve schemas that each name the next 40 times would become 40^12 copies, one big schema 2,000 copies."""
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
    transports = {"rest": {"base": "https://www.shop.example", "invoke_path": "/i"}}
    woa: dict[str, object] = {
        "woa_version": "1",
        "agents": [agent | {"operations": operations}],
        "transports": transports,
    }
    for value, path in ((atp, "/.well-known/agent.json"), (awp, "/agent.json"), (woa, "/.well-known/woa.json")):
        document_chars, service_chars = sizes(value, path)
        assert service_chars < document_chars + 4 * MAX_EXPANSION


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


def test_notes_belong_to_one_reading() -> None:
    def read(document: Document, dialect: str, notes: Notes) -> Service:
        notes.add(awp_rules.INTENT, "/intent")
        return Service(name=document.url + dialect)

    form = Format(slug="x", title="X", spec="X 1", paths=(), role=Role.SERVICE, read=read)
    for url, dialect in (("https://a.example/", "1"), ("https://a.example/", "2"), ("https://b.example/", "1")):
        service, found, _ = form.judge(Document(b"", {}, url), dialect)
        assert (service, found) == (Service(name=url + dialect), (Finding(awp_rules.INTENT, "/intent"),))
