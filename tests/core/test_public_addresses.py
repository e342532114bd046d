"""No address of a private network leaves the registry, wherever a document has it, and a finding says where it was."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from itertools import islice
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.format_support.common_rules import ADDRESS_NOT_PUBLIC, ENDPOINT_NOT_PUBLIC
from registry.core.format_support.public_addresses import public_json, public_merged
from registry.core.formats import FORMATS
from registry.core.formats.adp.detail_view import adp_detail as adp_detail_view
from registry.core.merging.merge import merge
from registry.core.model.services import (
    Capability,
    Invocation,
    Origin,
    Package,
    Pointer,
    Provider,
    Service,
    from_json,
    to_json,
)
from registry.core.names.inside import inside_host
from registry.core.reading.plain_text import line
from registry.core.translating import TARGETS, Loss, SourceDocument, Translation, translate
from tests.core.calling.calls import called
from tests.core.documents import a2a_card
from tests.core.manifests import FOUND, Fixture
from tests.core.private_addresses import AMBIGUOUS, HOST, URL, Place, handed_out, merged, places, planted
from tests.core.translations import NOW
from tests.support.builders import adp_detail, adp_manifest
from tests.support.holding import findings_of, held

SHOP = "shop.example"


# --- every place of every format ------------------------------------------------------------------------------------


def texts_in(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text of what an interface hands out, keys of objects included, with the key that holds it."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield "", str(name)
            yield from texts_in(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item, key)


def addresses_in(shown: Any) -> list[str]:
    """Return what a client could take for the planted address: not a sentence that mentions it, but every word of a
    command."""
    found = []
    for key, text in texts_in(shown):
        words = shlex.split(text) if key == "curl" else [text.split(" ", 1)[0]]
        found += [text for word in words if HOST in word]
    return found


SLUGS = sorted({fixture.slug for fixture in FOUND})


def handed_out_at(fixture: Fixture, place: Place, text: str) -> tuple[list[Any], str, bool]:
    """Return what is handed out of a document with the text at one place, its findings, and whether it was read."""
    result, source = merged(fixture, json.dumps(planted(fixture.value, place, text)).encode())
    own = tuple(target for target in TARGETS if target == source.format)
    is_read = bool(source.format) and fixture.slug != "mcp-tools-list"  # a list that no card names is not merged
    evidence = "\n".join(located.finding.evidence for located in result.findings)
    return list(handed_out(_host(fixture), result, source, own)), evidence, is_read


@pytest.mark.slow  # thousands of documents
@pytest.mark.parametrize("slug", SLUGS)
def test_an_address_planted_anywhere_is_handed_out_nowhere(slug: str) -> None:
    """One document for each text of each fixture, with the address in its place."""
    leaks, silent = [], []
    for fixture, place in _all_places(slug):
        shown, evidence, is_read = handed_out_at(fixture, place, URL)
        leaks += [(fixture.name, place, text) for text in addresses_in(shown)]
        silent += [(fixture.name, place)] if is_read and HOST not in evidence else []
    assert (leaks, silent) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_an_address_that_parsers_read_differently_is_handed_out_nowhere(slug: str) -> None:
    """Each place has another spelling, so that a run covers them all."""
    leaks, silent = [], []
    for number, (fixture, place) in enumerate(_all_places(slug)):
        spelling = AMBIGUOUS[number % len(AMBIGUOUS)]
        shown, evidence, is_read = handed_out_at(fixture, place, spelling)
        leaks += [
            (fixture.name, place, spelling, text)
            for _, text in texts_in(shown)
            if text == spelling or ("127.0.0.1" in text and inside_host(text) is not None)
        ]
        is_ambiguous_still = inside_host(line(spelling, 200)) is not None  # without invisible characters
        if is_read and is_ambiguous_still and "127.0.0.1" not in evidence:
            silent.append((fixture.name, place, spelling))
    assert (leaks, silent) == ([], [])


@pytest.mark.slow  # thousands of translations
@pytest.mark.parametrize(
    "slug", ["awp", *(pytest.param(slug, marks=pytest.mark.long) for slug in SLUGS if slug != "awp")]
)
def test_an_address_planted_anywhere_is_in_no_translation(slug: str) -> None:
    """Into all formats, from every tenth place of the fullest fixture of the format."""
    fixture = max((fixture for fixture in FOUND if fixture.slug == slug), key=lambda one: len(json.dumps(one.value)))
    leaks = []
    for place in islice(places(fixture.value), None, None, 10):
        result, source = merged(fixture, json.dumps(planted(fixture.value, place)).encode())
        shown = handed_out(_host(fixture), result, source)
        leaks += [(place, text) for text in addresses_in(list(shown))]
    assert leaks == []


def test_a_leak_is_noticed() -> None:
    assert addresses_in({"x": [URL], "y": f"see {URL}"}) == [URL]
    assert len(addresses_in({"curl": f"curl --url {URL}", URL: 1, "z": (Provider(url=URL),)})) == 3


def _all_places(slug: str) -> Iterator[tuple[Fixture, Place]]:
    return ((fixture, place) for fixture in FOUND if fixture.slug == slug for place in places(fixture.value))


def _host(fixture: Fixture) -> str:
    return fixture.url.split("/")[2]


# --- every field of the model ---------------------------------------------------------------------------------------


def filled(kind: Any) -> Any:
    """Return a value of a type in which every text is the address."""
    if is_dataclass(kind) and isinstance(kind, type):
        if kind is Origin:
            return None
        return kind(**{field.name: value for field in fields(kind) if (value := filled(field.type)) is not None})
    parts = get_args(kind)
    if kind is bool:
        return True
    if get_origin(kind) is Literal:
        return parts[0]
    if get_origin(kind) is tuple:
        items = tuple(filled(part) for part in parts if part is not ...)
        return () if None in items else items
    if get_origin(kind) is not None and issubclass(get_origin(kind), Mapping):
        value = filled(parts[1])
        return {} if value is None else {"member": value, URL: value}
    if parts:
        return filled(next(part for part in parts if part is not NoneType))
    return {str: URL, Any: {"a": [URL], "b": URL}}.get(kind, None if kind in (int, float) else URL)


def test_every_field_of_the_model_is_covered() -> None:
    """A new field needs no thought: what it holds is found by its type."""
    service = filled(Service)
    service = replace(service, identity=replace(service.identity, signed=None))  # dropped by merge, like payloads
    service = replace(service, pointers=tuple(replace(pointer, payload=None) for pointer in service.pointers))
    assert len(json.dumps(to_json(service)).split(HOST)) > 120
    public, left_out = public_merged(service, SHOP)
    assert left_out == (URL,)
    assert HOST not in json.dumps(to_json(public))
    assert from_json(json.loads(json.dumps(to_json(public)))) == public


def test_nothing_is_copied_where_nothing_is_left_out() -> None:
    service = from_json(json.loads(json.dumps(to_json(filled(Service))).replace(HOST, SHOP)))
    assert public_merged(service, SHOP) == (service, ())
    assert public_merged(service, SHOP)[0] is service


@pytest.mark.parametrize(
    ("service", "public"),
    [
        (Service(provider=Provider(url=URL, contacts=("a", URL))), Service(provider=Provider(contacts=("a",)))),
        (
            Service(capabilities=(Capability("a", "a", invocations=(Invocation("http", URL), Invocation("rpc"))),)),
            Service(capabilities=(Capability("a", "a", invocations=(Invocation("rpc"),)),)),
        ),
        (Service(capabilities=(Capability("a", "a", invocations=(Invocation("pointer", URL),)),)), Service()),
        (Service(capabilities=(Capability(URL, "a"), Capability("b", URL))), Service()),
        (
            Service(capabilities=(Capability("a", "a", invocations=(Invocation("rpc", headers=(("X-To", URL),)),)),)),
            Service(capabilities=(Capability("a", "a", invocations=(Invocation("rpc"),)),)),
        ),
        (Service(packages=(Package("npm", "x", arguments=("--url", URL)), Package("npm", "y"))),
         Service(packages=(Package("npm", "y"),))),
        (Service(packages=(Package("npm", "x", url=URL),)), Service(packages=(Package("npm", "x"),))),
        (Service(pointers=(Pointer(URL, "entry"),)), Service(pointers=(Pointer(None, "entry"),))),
        (Service(claims={"domain": HOST, "origin": SHOP}), Service(claims={"origin": SHOP})),
        (Service(name=HOST, tags=("10.0.0.1",)), Service(name=HOST, tags=("10.0.0.1",))),
    ],
)  # fmt: skip
def test_what_is_wrong_without_its_address_is_left_out_with_it(service: Service, public: Service) -> None:
    assert public_merged(service, SHOP)[0] == public


def test_schemas_and_other_json_lose_only_the_address() -> None:
    value = {
        "properties": {"back": {"type": "string", "default": URL, "enum": [URL]}, URL: {}},
        "anyOf": [{"$ref": URL}, {"type": "string"}],
        "servers": [URL, f"https://{SHOP}/"],
        "args": ["--to", URL],
        "host": "10.0.0.1",
        "version": "10.0.0.1",
        "words": f"Ask at {URL}.",
    }
    assert public_json(value, f"https://{SHOP}/") == {
        "properties": {"back": {"type": "string"}},
        "anyOf": [{}, {"type": "string"}],
        "servers": [f"https://{SHOP}/"],
        "version": "10.0.0.1",
        "words": f"Ask at {URL}.",
    }


def test_addresses_of_the_serving_site_are_public() -> None:
    """Names of the connect-to table may be special-use; the crawler reached this one."""
    value = {"url": "https://api.lab.internal/x", "other": "https://api.other.internal/x"}
    assert public_json(value, "https://www.lab.internal/agent.json") == {"url": "https://api.lab.internal/x"}


# --- documents ------------------------------------------------------------------------------------------------------


def adp(**members: Any) -> dict[str, Any]:
    return adp_manifest(SHOP, "sell_shoes", **members)


def oauth(**addresses: str) -> dict[str, Any]:
    urls = {"authorization_url": f"https://{SHOP}/authorize", "token_url": f"https://{SHOP}/token"}
    return {"type": "oauth2", **urls, **addresses}


def a2a(**members: Any) -> dict[str, Any]:
    return a2a_card(SHOP, **members)


GOOGLE = "https://metadata.google.internal/computeMetadata/v1/"
DOCKER = "http://host.docker.internal:11434/"


@pytest.mark.parametrize(
    ("path", "document", "pointer", "address"),
    [
        ("/.well-known/agent", adp(auth=oauth(token_url=GOOGLE)), "/auth/token_url", GOOGLE),
        ("/.well-known/agent", adp(auth=oauth(authorization_url=GOOGLE)), "/auth/authorization_url", GOOGLE),
        ("/.well-known/agent", adp(auth=oauth(setup_url="https://[fd00:ec2::254]/")), "/auth/setup_url",
         "https://[fd00:ec2::254]/"),
        ("/.well-known/agent", adp(support={"page": DOCKER}), "/support/page", DOCKER),
        ("/.well-known/agent-card.json", a2a(provider={"organization": "S", "url": GOOGLE}), "/provider/url", GOOGLE),
        ("/.well-known/agent-card.json", a2a(documentationUrl=GOOGLE), "/documentationUrl", GOOGLE),
        ("/.well-known/agent-card.json", a2a(iconUrl="https://localhost/i.png"), "/iconUrl", "https://localhost/i.png"),
        ("/.well-known/agent-card.json", a2a(homepage="http://localhost:3000"), "/homepage", "http://localhost:3000"),
        ("/.well-known/agent-card.json", a2a(hosts=["db.internal"]), "/hosts/0", "db.internal"),
        ("/.well-known/api-catalog", {"linkset": [{"anchor": GOOGLE, "service-desc": [{"href": f"https://{SHOP}/o"}]}]},
         "/linkset/0/anchor", GOOGLE),
        ("/.well-known/ai-catalog.json", {"specVersion": "1.0", "entries": [
            {"identifier": f"urn:air:{SHOP}:a", "displayName": "A", "type": "application/a2a-agent-card+json",
             "url": GOOGLE}]}, "/entries/0/url", GOOGLE),
    ],
)  # fmt: skip
def test_a_finding_names_the_member(path: str, document: dict[str, Any], pointer: str, address: str) -> None:
    result = merge(SHOP, [held(SHOP, path, document)])
    assert findings_of(result, ADDRESS_NOT_PUBLIC) == [(f"https://{SHOP}{path}", pointer, address)]
    assert address not in json.dumps(to_json(result.service or Service()))


def test_an_endpoint_has_one_finding() -> None:
    manifest = adp()
    manifest["capabilities"].append(
        {"name": "sell_hats", "description": "Sells hats of all sizes.", "detail_url": GOOGLE}
    )
    result = merge(SHOP, [held(SHOP, "/.well-known/agent", manifest)])
    assert len(findings_of(result, ENDPOINT_NOT_PUBLIC)) == 1
    assert findings_of(result, ADDRESS_NOT_PUBLIC) == []


def test_a_list_of_thousands_is_left_out_and_located_in_part() -> None:
    manifest = adp(hooks=[f"http://10.0.{number // 250}.{number % 250}/" for number in range(3_000)], other=DOCKER)
    assessment = held(SHOP, "/.well-known/agent", manifest).assessment
    found = [finding for finding in assessment.findings if finding.rule is ADDRESS_NOT_PUBLIC]
    assert sum(finding.count for finding in found) < 1_100
    assert not any(text in json.dumps(to_json(assessment.service or Service())) for text in ("10.0.", "docker"))


def test_a_text_that_mentions_an_address_stays() -> None:
    text = f"Sells shoes. Developers run it at {DOCKER} themselves."
    result = merge(SHOP, [held(SHOP, "/.well-known/agent", adp(description=text, example=f"curl {DOCKER}"))])
    assert result.service.description == text
    assert result.service.native["adp"]["example"] == f"curl {DOCKER}"
    assert findings_of(result, ADDRESS_NOT_PUBLIC) == []


def test_another_documents_public_address_takes_the_place() -> None:
    documents = [
        held(SHOP, "/.well-known/agent-card.json", a2a(homepage=GOOGLE)),
        held(SHOP, "/.well-known/mcp/server-card.json", {
            "serverInfo": {"name": "Shoes", "version": "1.0.0"}, "websiteUrl": f"https://{SHOP}/start",
            "transport": {"type": "streamable-http", "endpoint": f"https://{SHOP}/mcp"},
        }),
    ]  # fmt: skip
    result = merge(SHOP, documents)
    assert result.service is not None and result.service.homepage == f"https://{SHOP}/start"


CLUSTER = "https://kubernetes.default.svc/api"


@pytest.mark.parametrize(
    "spelling",
    [
        CLUSTER.replace("/", "\\/"),
        CLUSTER.replace("default", "def\\u200bault"),
        CLUSTER.replace("kube", "\\u006bube"),
        CLUSTER.replace("//", "\\u002f/"),
        CLUSTER.replace("//", "/\\u200b/"),
        CLUSTER.replace("https", "http\\u200bs").replace("//", "/\\u200b/"),
    ],
)
def test_escapes_and_hidden_characters_do_not_help(spelling: str) -> None:
    body = json.dumps(adp(support={"page": "HERE"})).replace("HERE", spelling)
    result = merge(SHOP, [held(SHOP, "/.well-known/agent", body)])
    assert "kubernetes" not in json.dumps(to_json(result.service or Service()))
    place = (f"https://{SHOP}/.well-known/agent", "/support/page")
    assert findings_of(result, ADDRESS_NOT_PUBLIC) == [(*place, CLUSTER)]


def test_a_host_whose_only_entries_are_private_is_not_listed() -> None:
    entry = {"identifier": f"urn:air:{SHOP}:a", "displayName": "A", "type": "application/a2a-agent-card+json"}
    catalogue = {"specVersion": "1.0", "entries": [{**entry, "url": GOOGLE}]}
    result = merge(SHOP, [held(SHOP, "/.well-known/ai-catalog.json", catalogue)])
    assert result.service is None and result.formats == ("ai-catalog",)


def test_links_of_texts_are_public() -> None:
    text = f"# Shoes\n\nAsk {GOOGLE}ask.\n\n- [card]({GOOGLE}agent.json)\n- [ours](https://{SHOP}/agent.json)\n"
    assessment = assess_body(text.encode(), f"https://{SHOP}/llms.txt", "text/plain")
    assert [pointer.url for pointer in assessment.pointers] == [f"https://{SHOP}/agent.json"]
    refused = [(one.pointer, one.evidence) for one in assessment.findings if one.rule is ADDRESS_NOT_PUBLIC]
    assert refused == [("", f"{GOOGLE}agent.json")]


# --- what is joined behind the gate ---------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["@metadata.google.internal/x", ".internal/x", ":1@10.0.0.1/x", "http://localhost/"])
def test_a_detail_is_joined_only_to_its_own_host(target: str) -> None:
    """Clients append `endpoint` to the base_url."""
    detail = {**adp_detail("sell_shoes"), "endpoint": target}
    capability = Capability("sell_shoes", "sell_shoes", detail=detail)
    service = Service(base_url=f"https://{SHOP}", capabilities=(capability,))
    assert adp_detail_view(SHOP, service, capability) is None
    with_path = replace(service, base_url=f"https://{SHOP}/v1")
    assert (adp_detail_view(SHOP, with_path, capability) is None) is target.startswith("http")


@pytest.mark.parametrize("value", ["169.254.169.254", "localhost", "metadata.google.internal", "intranet"])
def test_values_of_a_variable_do_not_make_the_host_of_an_example_private(value: str) -> None:
    params = {"type": "object", "properties": {"host": {"enum": [value]}}, "required": ["host"]}
    call = called(Invocation("http", "https://{host}/trips", "GET", templated=True), params=params)
    assert call["request"]["url"] == "https://{host}/trips"
    assert value not in call["example"]["url"] and value not in call["curl"]


def test_the_own_document_of_a_host_is_handed_out_without_private_addresses() -> None:
    url = f"https://{SHOP}/.well-known/agent"
    manifest = adp(auth=oauth(token_url=GOOGLE))
    result = merge(SHOP, [held(SHOP, "/.well-known/agent", manifest)])
    assert result.service is not None
    source = SourceDocument(url, json.dumps(manifest).encode(), "adp", "application/json")
    translation = translate(result.service, "adp", host=SHOP, seen_at=NOW, score=50, sources=[source])
    assert isinstance(translation, Translation) and translation.own_url == url
    assert translation.document == adp(auth={key: text for key, text in oauth().items() if key != "token_url"})
    reason = "addresses that are not public are left out"
    assert translation.losses == (Loss("/auth/token_url", "token_url", reason, url),)


def test_every_format_has_fixtures_to_plant_in() -> None:
    texts_only = {"agents-txt", "ai-txt", "auth-md", "llms-full-txt", "llms-txt", "pricing-md"}
    assert {form.slug for form in FORMATS} - {fixture.slug for fixture in FOUND} <= texts_only | {"jwks"}
