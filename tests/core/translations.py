"""Services of all kinds for the tests of translation, and an independent reader that checks translations."""

import json
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.formats.adp.detail_view import adp_detail
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Severity
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Confirmation,
    Invocation,
    Origin,
    Plan,
    Policies,
    Pricing,
    Protocol,
    Provider,
    RateLimit,
    Relations,
    Service,
    Workflow,
    to_json,
)
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line
from registry.core.translating import Translation, Untranslatable, translate
from registry.core.translating.sources import ITEM, Leaf, Path, model, scalar

HOST = "api.pigeonpost.dev"
SITE = f"https://{HOST}"
REGISTRY = "https://registry.example.org/api/services/x/capabilities/"
NOW = datetime(2026, 11, 20, 3, 0, 11, tzinfo=UTC)
SCORE = 80


def translated(service: Service, target: str, host: str = HOST) -> Translation | Untranslatable:
    return translate(service, target, host=host, seen_at=NOW, score=SCORE, detail_url=detail_url)


def detail_url(name: str) -> str:
    return REGISTRY + quote(name, safe="")


# --- any service ----------------------------------------------------------------------------------------------------

WORDS = st.text("abcXYZ019 _-./:~'\"<>&äß語🙂{}$", min_size=1, max_size=30).map(lambda t: line(t, 200)).filter(bool)
TEXTS = st.one_of(WORDS, st.sampled_from(["{{name}}", "a", "word " * 120, "Sends a parcel, and tells its price."]))
MAYBE = st.none()
FLAGS = st.sampled_from([None, True, False])
URLS = st.sampled_from(
    [f"{SITE}/v1/a", f"{SITE}/v1/b", f"{SITE}/v1/{{id}}/c", f"{SITE}/x?y=1", "https://elsewhere.dev/call", SITE + "/",
     "https://{tenant}.pigeonpost.dev/t", f"{SITE}/items/:id", "wss://api.pigeonpost.dev/live"]
)  # fmt: skip
AUTH_TYPES = st.sampled_from(
    ["none", "api_key", "http_basic", "bearer", "oauth2", "openid", "mtls", "did", "payment", "session", "custom"]
)
SCHEMES = st.builds(
    AuthScheme, type=AUTH_TYPES, location=st.sampled_from([None, "header", "query"]), name=MAYBE | WORDS,
    authorization_url=MAYBE | st.just(f"{SITE}/authorize"), token_url=MAYBE | st.just(f"{SITE}/token"),
    scopes=st.sampled_from([(), ("read", "write")]), setup_url=MAYBE | st.just(f"{SITE}/keys"),
    note=st.sampled_from([None, "delegated", "clientCredentials", "authorizationCode"]),
)  # fmt: skip
AUTHS = st.builds(
    Auth,
    st.lists(SCHEMES, max_size=2, unique_by=lambda scheme: scheme.type).map(tuple),
    FLAGS,
)
LIMITS = st.builds(RateLimit, st.sampled_from([None, 60]), st.sampled_from([None, "1m", "15m"]), MAYBE | TEXTS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6,
)  # fmt: skip
TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "array", "object", "null", ["string", "null"], ["integer", "string"], 7]
)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES, "description": TEXTS, "default": JSON, "enum": st.lists(WORDS, max_size=3) | st.none(),
        "format": st.sampled_from(["date", "uri", "email"]), "minimum": st.integers(0, 9), "pattern": WORDS,
        "examples": st.lists(JSON, max_size=2), "items": JSON, "properties": st.dictionaries(WORDS, JSON, max_size=2),
        "anyOf": st.lists(st.fixed_dictionaries({"type": TYPES}), max_size=2), "$ref": st.just("#/components/X"),
    },
)  # fmt: skip
PARAMS = st.one_of(
    st.none(),
    st.builds(
        lambda properties, needed: {"type": "object", "properties": properties, "required": needed},
        st.dictionaries(WORDS, RULES | st.booleans(), max_size=4), st.lists(WORDS, max_size=2),
    ).map(lambda schema: {**schema, "required": [*schema["required"], *list(schema["properties"])[:1]]}),
    st.dictionaries(WORDS, JSON, max_size=3),
)  # fmt: skip
CALLS = st.builds(
    Invocation,
    kind=st.sampled_from(["http", "http", "http", "rpc", "mcp_tool", "a2a_skill", "instructions", "navigation"]),
    endpoint=MAYBE | URLS, method=st.sampled_from([None, "GET", "POST", "DELETE", "HEAD", "PATCH"]),
    name=MAYBE | WORDS, auth=MAYBE | AUTHS, scopes=st.sampled_from([(), ("read",)]), rate_limit=MAYBE | LIMITS,
    origin=st.sampled_from([None, *(Origin(f"{SITE}/doc", "/a/0", form) for form in ("awp", "woa", "openapi"))]),
)  # fmt: skip
CAPABILITIES = st.builds(
    Capability,
    id=WORDS | st.sampled_from(["find", "find.quick", "find.slow", "listPets"]), name=WORDS, description=MAYBE | TEXTS,
    params=PARAMS, result=PARAMS, side_effects=FLAGS,
    confirmation=st.builds(Confirmation, st.booleans(), MAYBE | TEXTS) | MAYBE,
    idempotent=FLAGS, idempotency_key=FLAGS, reversible=FLAGS, deprecated=FLAGS,
    sensitivity=st.sampled_from([None, "standard", "irreversible", "odd"]), polling_url=MAYBE | st.just(f"{SITE}/jobs"),
    result_note=MAYBE | TEXTS, errors=st.sampled_from([{}, {"E": "wait"}]),
    pricing=MAYBE | st.builds(Pricing, st.sampled_from(["free", "unknown"]), note=MAYBE | TEXTS),
    tags=st.sampled_from([(), ("async",), ("data:query", "weather")]), examples=st.sampled_from([(), ("Say hello",)]),
    input_modes=st.sampled_from([(), ("text/plain",), ("image/png", "text/plain")]),
    docs_url=MAYBE | st.just(f"{SITE}/docs"), detail_url=MAYBE | st.just(f"{SITE}/caps/1"),
    invocations=st.lists(CALLS, max_size=3).map(tuple),
)  # fmt: skip
PROTOCOLS = st.builds(
    Protocol, st.sampled_from(["mcp", "a2a", "woa-rest", "x402", "adp", "odd id"]),
    st.sampled_from([None, "0.3.0", "1.0"]), MAYBE | URLS, st.sampled_from([None, "JSONRPC"]),
)  # fmt: skip
WORKFLOWS = st.builds(Workflow, WORDS, MAYBE | WORDS, MAYBE | TEXTS, st.sampled_from([(), ("find",), ("gone",)]))
SERVICES = st.builds(
    Service,
    name=MAYBE | WORDS, description=MAYBE | TEXTS, version=st.sampled_from([None, "1.2.0", "v7"]),
    provider=MAYBE | st.builds(Provider, MAYBE | WORDS, MAYBE | st.just(SITE + "/"), MAYBE | st.just("a@b.dev")),
    base_url=st.sampled_from([None, SITE, f"{SITE}/v1", "https://{tenant}.pigeonpost.dev"]),
    capabilities=st.lists(CAPABILITIES, max_size=4, unique_by=lambda capability: capability.name).map(tuple),
    auth=AUTHS,
    pricing=st.builds(
        Pricing, st.sampled_from(["free", "paid", "pay_per_call", "unknown"]), st.sampled_from([(), (Plan("A", "1"),)]),
        MAYBE | st.just(f"{SITE}/prices"),
    ),
    policies=st.builds(
        Policies, training=st.sampled_from([None, "deny", "ask us"]),
        caching=st.sampled_from([None, "allow, 60 s", "deny", "sometimes"]), rate_limit=MAYBE | LIMITS,
    ),
    protocols=st.lists(PROTOCOLS, max_size=3).map(tuple),
    relations=st.builds(
        Relations, workflows=st.lists(WORKFLOWS, max_size=2).map(tuple),
        dependencies=st.sampled_from([{}, {"find": ("find.quick",)}]), errors=st.sampled_from([{}, {"E": "wait 1 s"}]),
        operational=FLAGS,
    ),
    synthetic=st.booleans(), confidence=st.sampled_from([None, 0.5]),
)  # fmt: skip


@st.composite
def woa_services(draw: st.DrawFn) -> Service:
    """Draw a service as read from a Web of Agents document, merged with anything."""
    template = draw(
        st.sampled_from([f"{SITE}/agents/{{agent_id}}/invoke", f"{SITE}/invoke", f"{SITE}/a?id={{agent_id}}"])
    )
    capabilities = []
    for name in draw(st.lists(st.sampled_from(["find", "sort", "sort.up", "sort.down", "A-1"]), unique=True)):
        agent, _, operation = name.partition(".")
        call = Invocation(
            "rpc", template.replace("{agent_id}", agent), "POST", operation or agent, draw(MAYBE | AUTHS),
            origin=Origin(f"{SITE}/.well-known/woa.json", "/agents/0", "woa"),
        )  # fmt: skip
        drawn = draw(CAPABILITIES)
        others = draw(st.sampled_from([(), drawn.invocations]))
        label = f"Agent: {operation}" if operation else f"Agent {agent}"
        capabilities.append(replace(drawn, id=name, name=label, invocations=(*others, call)))
    service = draw(SERVICES)
    protocols = (Protocol("woa-rest", "1", template), *service.protocols)
    return replace(service, capabilities=(*capabilities, *service.capabilities[:1]), protocols=protocols)


@st.composite
def a2a_services(draw: st.DrawFn) -> Service:
    """Draw a service as read from an agent card, merged with anything."""
    url, version = f"{SITE}/a2a", draw(st.sampled_from([None, "0.3.0", "1.0"]))
    call = Invocation("a2a_skill", url, "POST", "skill", draw(MAYBE | AUTHS), origin=Origin(SITE, "/skills/0", "a2a"))
    drawn = draw(st.lists(CAPABILITIES, max_size=3, unique_by=lambda capability: capability.name))
    capabilities = tuple(replace(capability, invocations=(*capability.invocations[:1], call)) for capability in drawn)
    service = draw(SERVICES)
    protocols = (Protocol("a2a", version, url, draw(st.sampled_from([None, "JSONRPC"]))), *service.protocols)
    return replace(service, version="1.2.0", capabilities=capabilities, protocols=protocols)


ANY = SERVICES | woa_services() | a2a_services()


_APART = frozenset({
    "auth", "capabilities", "invocations", "params", "pointers", "claims", "provenance", "synthetic", "confidence",
    "origin", "detail", "detail_url", "templated", "off_site",
})  # fmt: skip
"""Members that are compared in another way, and the registry's own marks."""
_SUBSTITUTED = ("name", "description", "title", "native", "params", "result", "auth", "base_url")
"""Fields for which a writer may take another fact where the format demands one."""
_IMPLIED = {
    "awp": ("invocations/*/auth", "invocations/*/name", "confirmation", "side_effects", "sensitivity", "protocols",
            "pricing/model"),
    "adp": ("invocations/*/name", "invocations/*/endpoint", "invocations/*/method", "detail_url", "protocols"),
    "atp": ("homepage",),
    "awas": ("invocations/*/kind", "invocations/*/method"),
    "woa": ("tags",),
    "a2a": ("invocations/*/method", "protocols"),
}  # fmt: skip
"""Fields that a reader concludes from another one: AWP's `sensitivity` says that data changes and that agents ask."""


# --- what a client reads --------------------------------------------------------------------------------------------


def read_translation(translation: Translation, service: Service, target: str, host: str = HOST) -> Service:
    """Return the document as read back by its format, with ADP details; assert that it breaks no rule."""
    assessment = judge(translation, target, host)
    assert assessment.service is not None
    return assessment.service if target != "adp" else _with_details(assessment, translation, service, host)


def judge(translation: Translation, target: str, host: str = HOST) -> Assessment:
    assessment = assess_body(
        json.dumps(translation.document).encode(), f"https://{host}{translation.path}", translation.media_type
    )
    assert (assessment.outcome, assessment.format) == (Outcome.FOUND, target), assessment.reason
    errors = [finding for finding in assessment.findings if finding.rule.severity is Severity.ERROR]
    assert errors == []
    return assessment


def _with_details(manifest_assessment: Assessment, translation: Translation, service: Service, host: str) -> Service:
    """Follow each detail_url of this registry as a client does, and merge the details."""
    url = f"https://{host}{translation.path}"
    by_url = {detail_url(candidate.name): candidate for candidate in service.capabilities}
    by_url |= {candidate.detail_url: candidate for candidate in service.capabilities if candidate.detail_url}
    indexes = carried_indexes(translation, service, "adp")
    documents = [HeldDocument(url, url, manifest_assessment, b"", NOW)]
    for number, entry in enumerate(translation.document["capabilities"]):
        capability = service.capabilities[indexes[number]]
        assert entry["detail_url"] in by_url
        detail = adp_detail(host, service, capability)
        if detail is None:
            continue
        via = Via(url, f"/capabilities/{number}/detail_url", "detail_url", "adp-detail")
        detail_location = f"https://{host}/detail/{number}"  # the detail describes the host, wherever it is served
        assessment = assess_body(json.dumps(detail).encode(), detail_location, "application/json", via=via)
        documents.append(HeldDocument(detail_location, detail_location, assessment, str(number).encode(), NOW, via))
    merged = merge(host, documents).service
    assert merged is not None
    return merged


def carried_indexes(translation: Translation, service: Service, target: str) -> list[int]:
    """Return the indexes of the capabilities in the document, in its order: all that no loss reports as left out."""
    dropped = {loss.pointer for loss in translation.losses if loss.what.startswith("capability ")}
    indexes = [number for number in range(len(service.capabilities)) if f"/capabilities/{number}" not in dropped]
    if target == "woa":  # operations stand below their agent
        agents = list(dict.fromkeys(service.capabilities[index].id.partition(".")[0] for index in indexes))
        indexes.sort(key=lambda index: agents.index(service.capabilities[index].id.partition(".")[0]))
    return indexes


def unlisted(translation: Translation, service: Service, reread: Service, target: str) -> list[str]:
    """Return pointers of what the service has, the reader does not find, and no loss names: must be empty."""
    listed = {loss.pointer for loss in translation.losses}
    indexes, after = carried_indexes(translation, service, target), model(reread, "")
    assert len(reread.capabilities) == len(indexes)
    value = to_json(service)
    missing = _missing({key: value[key] for key in value if key not in _APART}, "", after.service)
    for number, (_, leaves), capability in zip(indexes, after.capabilities, reread.capabilities, strict=True):
        pointer, original = f"/capabilities/{number}", value["capabilities"][number]
        calls = original.get("invocations", [])
        written = [index for index in range(len(calls)) if f"{pointer}/invocations/{index}" not in listed]
        assert len(written) <= 1
        missing += _missing({key: original[key] for key in original if key not in _APART}, pointer, leaves)
        missing += _parameters(service.capabilities[number].params, capability.params, f"{pointer}/params")
        for index in written:
            place, call = f"{pointer}/invocations/{index}", service.capabilities[number].invocations[index]
            parts = {key: calls[index][key] for key in calls[index] if key not in _APART}
            missing += _missing(parts, place, leaves, ("invocations", ITEM))
            other = (*capability.invocations, Invocation("pointer"))[0]
            missing += [] if _same_needs(_needs(call, service), _needs(other, reread)) else [f"{place}/auth"]
    return [pointer for pointer in missing if not any(f"{pointer}/".startswith(f"{place}/") for place in listed)]


def _missing(value: Any, pointer: str, leaves: Set[Leaf], path: Path = ()) -> list[str]:
    """Return the pointers of the scalars that are not among the leaves."""
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else ((number, item) for number, item in enumerate(value))
        step = (lambda key: str(key)) if isinstance(value, dict) else (lambda key: ITEM)
        return [
            place for key, item in entries for place in _missing(item, at(pointer, key), leaves, (*path, step(key)))
        ]
    return [] if value in (None, "") or (path, scalar(value)) in leaves else [pointer]


def invented(translation: Translation, service: Service, reread: Service, target: str) -> list[str]:
    """Return what the reader finds although no document has it: fields, the contrary of flags, parameters."""
    indexes, before, after = carried_indexes(translation, service, target), model(service, ""), model(reread, "")
    allowed = (*_SUBSTITUTED, *_IMPLIED.get(target, ()))
    pairs = [(before.service, after.service)]
    pairs += [
        (before.capabilities[index][1], leaves) for index, (_, leaves) in zip(indexes, after.capabilities, strict=True)
    ]
    inventions = []
    for old, new in pairs:
        stated = {path for path, _ in old}
        changes = ("/".join(path) for path, value in new - old if path not in stated or value[0] == "boolean")
        inventions += [change for change in changes if not change.startswith(allowed)]
    listed = {loss.pointer for loss in translation.losses}
    enveloped = any(loss.what == "parameters one by one" for loss in translation.losses)
    for index, capability in zip(indexes, reread.capabilities, strict=True):
        original = service.capabilities[index]
        known = _properties(original.params).keys() | _path_variables(original)
        if not enveloped:
            inventions += [name for name in _properties(capability.params) if name not in known]
        places = (f"/capabilities/{index}/invocations/{number}" for number in range(len(original.invocations)))
        written = [call for place, call in zip(places, original.invocations, strict=True) if place not in listed]
        for call, other in zip(written, capability.invocations[:1], strict=False):
            if call.kind == other.kind == "http" and call.method != other.method:
                inventions.append(f"method {other.method}")
    kinds = _all_kinds(service) | ({"api_key", "oauth2"} if target == "adp" and _all_kinds(service) else set())
    return inventions + [f"credentials: {kind}" for kind in _all_kinds(reread) - kinds]


def _path_variables(capability: Capability) -> set[str]:
    """Return the variables of the addresses: merge counts them among the parameters."""
    return {name for call in capability.invocations for name in re.findall(r"\{([^{}]+)\}", call.endpoint or "")}


def _all_kinds(service: Service) -> set[str]:
    calls = [call for capability in service.capabilities for call in capability.invocations]
    return set().union(_kinds(service.auth), *(_kinds(call.auth) for call in calls if call.auth))


def _needs(call: Invocation, service: Service) -> Auth:
    """Return the credentials of a call; a call without any takes those of its service."""
    return service.auth if call.auth in (None, Auth()) else call.auth


def _same_needs(expected: Auth, found: Auth) -> bool:
    is_free = expected.required is False and found.required is None and not _kinds(found)
    has_kinds = expected.required is False or not _kinds(expected) or _kinds(expected) == _kinds(found)
    return has_kinds and (expected.required in (None, found.required) or is_free)


def _kinds(auth: Auth) -> Set[str]:
    return {scheme.type for scheme in auth.schemes} - {"none"}


def _parameters(original: Mapping[str, Any] | None, reread: Mapping[str, Any] | None, location: str) -> Iterator[str]:
    expected, found = _properties(original), _properties(reread)
    for name, rules in expected.items():
        if name not in found:
            yield at(f"{location}/properties", name)
        elif isinstance(rules, dict) and "type" in rules and rules["type"] != found[name].get("type"):
            yield at(f"{location}/properties", name, "type")
        elif (name in (original or {}).get("required", ())) != (name in (reread or {}).get("required", ())):
            yield f"{location}/required"


def _properties(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    found = (schema or {}).get("properties")
    return found if isinstance(found, dict) else {}


def urls_in(value: Any) -> set[str]:
    """Return every text of a JSON value that is an address."""
    if isinstance(value, str):
        return {value} if value.startswith(("https:", "wss:")) else set()
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(urls_in, children)) if children else set()


def known_urls(service: Service) -> set[str]:
    return urls_in(to_json(service))
