"""Services of all kinds for the tests of translate, and a reader that judges a translation without its help."""

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from registry.core.assess import Assessment, assess_body
from registry.core.details import adp_detail
from registry.core.documents import Outcome, Via
from registry.core.findings import Severity
from registry.core.merge import Held, merge
from registry.core.plain_text import line
from registry.core.scoring.rubric import RUBRIC
from registry.core.services import (
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
from registry.core.translate import Translation, Untranslatable, translate

HOST = "api.pigeonpost.dev"
SITE = f"https://{HOST}"
REGISTRY = "https://registry.example.org/api/services/x/capabilities/"
NOW = datetime(2026, 11, 20, 3, 0, 11, tzinfo=UTC)
SCORE = 80


def translated(service: Service, target: str, host: str = HOST) -> Translation | Untranslatable:
    return translate(service, target, host=host, seen_at=NOW, score=SCORE, detail_url=detail_url)


def detail_url(name: str) -> str:
    return REGISTRY + str(abs(hash(name)))


# --- any service ----------------------------------------------------------------------------------------------------

WORDS = st.text("abcXYZ019 _-./:~'\"<>&äß語🙂{}$", min_size=1, max_size=30).map(lambda t: line(t, 200)).filter(bool)
TEXTS = st.one_of(WORDS, st.sampled_from(["{{name}}", "a", "word " * 120, "Sends a parcel, and tells its price."]))
MAYBE = st.none()
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
    Auth, st.lists(SCHEMES, max_size=2, unique_by=lambda one: one.type).map(tuple), st.sampled_from([None, True, False])
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
    params=PARAMS, result=PARAMS, side_effects=st.sampled_from([None, True, False]),
    confirmation=st.builds(Confirmation, st.booleans(), MAYBE | TEXTS) | MAYBE,
    idempotent=st.sampled_from([None, True]),
    deprecated=st.sampled_from([None, True, False]),
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
    capabilities=st.lists(CAPABILITIES, max_size=4, unique_by=lambda one: one.name).map(tuple), auth=AUTHS,
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
        operational=st.sampled_from([None, True]),
    ),
    synthetic=st.booleans(), confidence=st.sampled_from([None, 0.5]),
)  # fmt: skip


@st.composite
def woa_services(draw: st.DrawFn) -> Service:
    """A service that a Web of Agents document made, merged with anything."""
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
    """A service that an agent card made, merged with anything."""
    url, version = f"{SITE}/a2a", draw(st.sampled_from([None, "0.3.0", "1.0"]))
    call = Invocation("a2a_skill", url, "POST", "skill", draw(MAYBE | AUTHS), origin=Origin(SITE, "/skills/0", "a2a"))
    drawn = draw(st.lists(CAPABILITIES, max_size=3, unique_by=lambda one: one.name))
    capabilities = tuple(replace(one, invocations=(*one.invocations[:1], call)) for one in drawn)
    service = draw(SERVICES)
    protocols = (Protocol("a2a", version, url, draw(st.sampled_from([None, "JSONRPC"]))), *service.protocols)
    return replace(service, version="1.2.0", capabilities=capabilities, protocols=protocols)


ANY = SERVICES | woa_services() | a2a_services()


# --- what a client reads --------------------------------------------------------------------------------------------


def heard(made: Translation, service: Service, target: str, host: str = HOST) -> Service:
    """The document as its format's reader understands it, ADP details included; asserts that no rule is broken."""
    judged = judge(made, target, host)
    assert judged.service is not None
    return judged.service if target != "adp" else _with_details(judged, made, service, host)


def judge(made: Translation, target: str, host: str = HOST) -> Assessment:
    judged = assess_body(json.dumps(made.document).encode(), f"https://{host}{made.path}", made.media_type)
    assert (judged.outcome, judged.format) == (Outcome.FOUND, target), judged.reason
    errors = [one for one in judged.findings if RUBRIC[one.reason].severity is Severity.ERROR]
    assert errors == []
    return judged


def _with_details(judged: Assessment, made: Translation, service: Service, host: str) -> Service:
    """As a client: follow each detail_url of this registry, and read what it answers."""
    url = f"https://{host}{made.path}"
    by_url = {detail_url(one.name): one for one in service.capabilities}
    by_url |= {one.detail_url: one for one in service.capabilities if one.detail_url}
    carried_over = carried(made, service)
    held = [Held(url, url, judged, b"", NOW)]
    for number, entry in enumerate(made.document["capabilities"]):
        capability = service.capabilities[carried_over[number]]
        assert entry["detail_url"] in by_url
        detail = adp_detail(host, service, capability)
        if detail is None:
            continue
        via = Via(url, f"/capabilities/{number}/detail_url", "detail_url", "adp-detail")
        at = f"https://{host}/detail/{number}"  # it speaks of the host, wherever it is served
        found = assess_body(json.dumps(detail).encode(), at, "application/json", via=via)
        held.append(Held(at, at, found, str(number).encode(), NOW, via))
    merged = merge(host, held).service
    assert merged is not None
    return merged


def carried(made: Translation, service: Service) -> list[int]:
    """Indexes of the capabilities in the document: those that no loss says are left out."""
    dropped = {one.pointer for one in made.losses if one.what.startswith("capability ")}
    return [number for number in range(len(service.capabilities)) if f"/capabilities/{number}" not in dropped]


def unlisted(made: Translation, service: Service, read: Service, target: str) -> list[str]:
    """Pointers of what the service says, the reader does not hear, and no loss names: must be empty."""
    listed = {one.pointer for one in made.losses}
    places = carried(made, service)
    if target == "woa":
        agents = list(dict.fromkeys(service.capabilities[one].id.partition(".")[0] for one in places))
        places.sort(key=lambda one: agents.index(service.capabilities[one].id.partition(".")[0]))
    assert len(read.capabilities) == len(places)
    found = []
    for number, other in zip(places, read.capabilities, strict=True):
        for path in _differences(service, service.capabilities[number], other, read, number, listed):
            parts = path.split("/")
            if not any("/".join(parts[:end]) in listed for end in range(3, len(parts) + 1)):
                found.append(path)
    return found


def _differences(
    service: Service, said: Capability, heard: Capability, read: Service, number: int, listed: set[str]
) -> Iterator[str]:
    at = f"/capabilities/{number}"
    for name in ("id", "name", "side_effects", "confirmation", "input_modes", "tags", "examples", "deprecated"):
        if getattr(said, name) not in (None, (), getattr(heard, name)):
            yield f"{at}/{name}"
    yield from _parameters(said.params, heard.params, f"{at}/params")
    calls = [place for place in range(len(said.invocations)) if f"{at}/invocations/{place}" not in listed]
    assert len(calls) <= 1
    for place in calls:
        call, other = said.invocations[place], (*heard.invocations, Invocation("pointer"))[0]
        for name in ("kind", "endpoint", "method"):
            if getattr(call, name) not in (None, getattr(other, name)):
                yield f"{at}/invocations/{place}/{name}"
        wanted, found = _needs(call, service), _needs(other, read)
        if wanted.required is not None and wanted.required != found.required and not _both_free(wanted, found):
            yield f"{at}/invocations/{place}/auth"
        if wanted.required is not False and _kinds(wanted) and _kinds(wanted) != _kinds(found):
            yield f"{at}/invocations/{place}/auth"


def invented(made: Translation, service: Service, read: Service, target: str) -> list[str]:
    """What the reader hears of a capability and no document says: methods, parameters, a need of credentials."""
    listed = {one.pointer for one in made.losses}
    by_id = {service.capabilities[number].id: service.capabilities[number] for number in carried(made, service)}
    found = []
    for number, heard in zip(carried(made, service), read.capabilities, strict=True):
        said = by_id[heard.id] if target == "woa" else service.capabilities[number]
        named, told = _properties(said.params), _properties(heard.params)
        enveloped = any(one.what == "parameters one by one" for one in made.losses)
        found += [f"{said.id}: parameter {name}" for name in told if name not in named and not enveloped]
        calls = [
            call for n, call in enumerate(said.invocations) if f"/capabilities/{number}/invocations/{n}" not in listed
        ]
        for call in calls if target != "woa" else ():
            other = heard.invocations[0]
            if other.kind == call.kind == "http" and other.method != call.method:
                found.append(f"{said.id}: method {other.method}")
            needs = _needs(call, service)
            unknown = not needs.schemes and needs.required is None
            if unknown and _needs(other, read).required is not None:
                found.append(f"{said.id}: whether credentials are required")
    kinds = _all_kinds(service) | ({"api_key", "oauth2"} if target == "adp" and _all_kinds(service) else set())
    return found + [f"credentials: {kind}" for kind in _all_kinds(read) - kinds]


def _all_kinds(service: Service) -> set[str]:
    calls = [call for one in service.capabilities for call in one.invocations]
    return set().union(_kinds(service.auth), *(_kinds(call.auth) for call in calls if call.auth))


def _needs(call: Invocation, service: Service) -> Auth:
    """A call that says nothing about credentials takes those of its service."""
    return service.auth if call.auth in (None, Auth()) else call.auth


def _both_free(wanted: Auth, found: Auth) -> bool:
    """Saying that nothing is needed, and naming nothing that could be, come to the same."""
    return wanted.required is False and found.required is None and not _kinds(found)


def _kinds(auth: Auth) -> Set[str]:
    return {one.type for one in auth.schemes} - {"none"}


def _parameters(said: Mapping[str, Any] | None, heard: Mapping[str, Any] | None, at: str) -> Iterator[str]:
    wanted, found = _properties(said), _properties(heard)
    for name, rules in wanted.items():
        escaped = name.replace("~", "~0").replace("/", "~1")
        if name not in found:
            yield f"{at}/properties/{escaped}"
        elif isinstance(rules, dict) and "type" in rules and rules["type"] != found[name].get("type"):
            yield f"{at}/properties/{escaped}/type"
        elif (name in (said or {}).get("required", ())) != (name in (heard or {}).get("required", ())):
            yield f"{at}/required"


def _properties(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    found = (schema or {}).get("properties")
    return found if isinstance(found, dict) else {}


def urls_in(value: Any) -> set[str]:
    """Every text of a JSON value that is an address."""
    if isinstance(value, str):
        return {value} if value.startswith(("https:", "wss:")) else set()
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(urls_in, children)) if children else set()


def known_urls(service: Service) -> set[str]:
    return urls_in(to_json(service))
