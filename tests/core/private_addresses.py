"""Documents with an address of a private network planted in them, and all that the registry hands out of them."""

import hashlib
import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from registry.core.assessing.assess import assess_body
from registry.core.formats.adp.detail_view import adp_detail
from registry.core.formats.adp.manifest_view import adp_manifest
from registry.core.merging.listing import make_listing
from registry.core.merging.merge import HeldDocument, MergeResult, merge
from registry.core.model.documents import Via
from registry.core.model.listing import TrustLevel
from registry.core.model.services import to_json
from registry.core.names.domains import host_of
from registry.core.translating import TARGETS, SourceDocument, Translation, translate
from tests.core.calling.calls import made_record
from tests.core.manifests import Fixture
from tests.core.translations import NOW

Place = tuple[str | int, ...]

HOST = "planted.internal"
URL = f"https://{HOST}/latest"

AMBIGUOUS = (
    "https://good.test\\@127.0.0.1/x", "https://good.test\\.127.0.0.1/x", "https://127.0.0.1\\@good.test/x",
    "https://good.test\\:80@127.0.0.1", "https:\\\\good.test\\@127.0.0.1", "https:good.test/@127.0.0.1",
    "https:/good.test/@127.0.0.1", "https:///good.test/@127.0.0.1", "http:/\\good.test/@127.0.0.1",
    "https:////good.test/@127.0.0.1", "https://\\good.test/@127.0.0.1", "ht\ttps://good.test/@127.0.0.1",
    "https:\n//good.test/@127.0.0.1", "https://good.t\nest/@127.0.0.1", "https://good.test\t@127.0.0.1/",
    "https://a@b@good.test/@127.0.0.1", "https://good.test@127.0.0.1@good.test/", "https://a\\b@good.test/127.0.0.1",
    "https://%67ood.test/@127.0.0.1", "https://good\u3002test/@127.0.0.1",
    "https://\uff47ood.test/@127.0.0.1", "https://go\u00adod.test/@127.0.0.1", "https://gro\u00df.test/@127.0.0.1",
    "https://\u2488good.test/@127.0.0.1", "https://good\u200d.test/@127.0.0.1", "https://0x8.8.8.8/@127.0.0.1",
    "https://010.8.8.8/@127.0.0.1", "https://8.8.2056/@127.0.0.1", "https://134744072/@127.0.0.1",
    "https://[2606:4700::1111%25eth0]/@127.0.0.1", "https://good.test:99999/@127.0.0.1", "wss://good.test\\@127.0.0.1/",
    "//good.test\\@127.0.0.1/", "/\\good.test/@127.0.0.1", "mcp://good.test\\@127.0.0.1/",
    "did:web:good.test%5C@127.0.0.1", "ftp://good.test\\@127.0.0.1/",
)  # fmt: skip
"""Addresses that one parser reads as good.test (or a public address), another not; all name 127.0.0.1 somewhere."""


def places(value: Any) -> Iterator[Place]:
    """Yield the keys that lead to each text of a JSON value."""
    if isinstance(value, str):
        yield ()
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from ((key, *below) for below in places(item))


def planted(value: Any, place: Place, text: str = URL) -> Any:
    """Return a copy of the value with another text at one place."""
    if not place:
        return text
    copy = deepcopy(value)
    holder = copy
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = text
    return copy


def merged(fixture: Fixture, raw: bytes) -> tuple[MergeResult, SourceDocument]:
    """Return the service of a host that serves one document in the place of a fixture; a detail with its manifest."""
    via = Via(fixture.url, "", "entry", fixture.expected) if fixture.expected else None
    assessment = assess_body(raw, fixture.url, fixture.media_type, {}, via=via)
    held = HeldDocument(fixture.url, fixture.url, assessment, hashlib.sha256(raw).digest(), NOW, via)
    documents = [held]
    if assessment.format == "adp-detail":
        documents = _with_manifest(fixture, raw)
    source = SourceDocument(fixture.url, raw, assessment.format or "", fixture.media_type, via)
    return merge(host_of(fixture.url) or "", documents), source


def _with_manifest(fixture: Fixture, raw: bytes) -> list[HeldDocument]:
    host = host_of(fixture.url)
    url = f"https://{host}/.well-known/agent"
    manifest = json.dumps({
        "spec_version": "1.0", "name": "Pigeonpost", "description": "Sends parcels by pigeon.",
        "base_url": f"https://{host}", "auth": {"type": "none"},
        "capabilities": [{"name": "send", "description": "Sends one parcel.", "detail_url": fixture.url}],
    }).encode()  # fmt: skip
    via = Via(url, "/capabilities/0/detail_url", "detail_url", "adp-detail")
    detail = assess_body(raw, fixture.url, fixture.media_type, {}, via=via)
    return [
        HeldDocument(url, url, assess_body(manifest, url, "application/json", {}), b"manifest", NOW),
        HeldDocument(fixture.url, fixture.url, detail, b"detail", NOW, via),
    ]


def handed_out(
    host: str, result: MergeResult, source: SourceDocument, targets: tuple[str, ...] = TARGETS
) -> Iterator[Any]:
    """Yield what every interface makes of a merged service: the record, calls, ADP's shapes, translations, listing."""
    service = result.service
    if service is None:
        return
    yield to_json(service)
    yield adp_manifest(host, service, lambda name: f"https://registry.example/{name}")
    yield make_listing(host, host, service, 50, TrustLevel.COMMUNITY, result.formats, None)
    for capability in service.capabilities:
        record = made_record(service, capability)
        yield record
        yield adp_detail(host, service, capability, record.get("call", {}).get("example"))
    for target in targets:
        translation = translate(service, target, host=host, seen_at=NOW, score=50, sources=(source,), version="1.0.0")
        yield translation.document if isinstance(translation, Translation) else translation.reasons
        yield [(loss.what, loss.why) for loss in translation.losses]
