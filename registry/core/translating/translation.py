"""Translate a service into a document of another format, checked by that format's own reader and rules.

A document in which the validator of this registry finds an error is never returned: the service is Untranslatable. It
is also Untranslatable if the format needs a statement that no document of the host makes (AWP section 14). If the host
serves the format itself, its own document is returned, without addresses that are not public.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, Literal

from registry.core.format_support.format import Format
from registry.core.format_support.manifest import clean_json
from registry.core.format_support.public_addresses import public_json
from registry.core.format_support.writing.task import CannotWrite, Loss, Task, Writer, WrittenDocument
from registry.core.formats import FORMATS
from registry.core.model.services import Service
from registry.core.reading.reader import MAX_CHARS
from registry.core.translating.compare import IN_ENVELOPE, compare, read_back
from registry.core.translating.source_losses import ReadBack, compare_sources, private_addresses, received_of
from registry.core.translating.sources import Readable, SourceDocument, model, origins_of, preference, readable

GENERATOR: Final = "waypost"
EXTENSION: Final = "x-synthetic"
"""Member that carries the marks of AWP section 14 in other formats: all of them ignore unknown members, and AWAS
reserves the prefix `x-` for extensions."""

_TARGETS: Final[Mapping[str, tuple[Format, Writer]]] = MappingProxyType(
    {form.slug: (form, form.writer) for form in FORMATS if form.writer is not None}
)
TARGETS: Final = tuple(_TARGETS)


@dataclass(frozen=True, slots=True)
class Translation:
    """`document` is JSON-ready; `media_type` is how it would be served at `path`; `losses` in no particular order.
    `compared_with`: the documents that losses were counted against. `own_url`: the host's own URL of this document;
    None for a generated one."""

    document: dict[str, Any]
    losses: tuple[Loss, ...]
    media_type: str
    path: str
    compared_with: Literal["documents", "model"] = "model"
    own_url: str | None = None


@dataclass(frozen=True, slots=True)
class Untranslatable:
    """The format cannot express anything truthful about the service. `reasons`: clauses for people, never empty."""

    reasons: tuple[str, ...]
    losses: tuple[Loss, ...] = ()


def translate(
    service: Service,
    target: str,
    *,
    host: str,
    seen_at: datetime,
    score: int,
    detail_url: Callable[[str], str] | None = None,
    sources: Sequence[SourceDocument] = (),
    version: str | None = None,
) -> Translation | Untranslatable:
    """Return the service as a document of the format `target`, or why it cannot be written.

    `target` is one of TARGETS; KeyError for another. Never raises on a service made by a reader or the merge.
    `host`: canonical, the host the service was found on. `seen_at` (aware): the document's `last_verified`. `score`: 0
    to 100. `detail_url`: of the ADP capability detail that this registry serves for a name, or None. `sources`: the
    documents that the service was merged from; one of the format `target` is returned unchanged, against the others
    losses are counted. `version`: for formats that demand one, where no document of the host names it.

    Confidence (AWP section 14) is score/100, times the share of the capabilities that the document carries, times the
    source's own confidence if the host serves a synthetic document itself. `last_verified` states the age.
    """
    form, writer = _TARGETS[target]
    read_sources = [source for source in map(readable, sources) if source is not None]
    own = min((source for source in read_sources if source.form.slug == target), key=preference, default=None)
    if own is not None:
        return _reuse_own(service, form, writer.title, own, read_sources)
    # each body once, at the URL that the service names as its source
    origins = [origin for capability in service.capabilities for origin in origins_of(capability)]
    named = {origin.document for origin in (*origins, *service.provenance.values())}
    by_body: dict[bytes, Readable] = {}
    for readable_source in sorted(read_sources, key=lambda source: source.source.url not in named):
        by_body.setdefault(readable_source.source.raw, readable_source)
    service = replace(service, version=service.version or version)
    result = _write(service, target, writer, host, seen_at, score, detail_url)
    if isinstance(result, Untranslatable):
        return result
    task, written, received, document = result
    note_count = len(task.losses)
    compare(task, written, received)
    if not by_body:
        return Translation(document, tuple(task.losses), form.media_types[0], form.paths[0])
    client = received_of(writer.title, received, document)
    for source, entry in zip(written.sources, model(received, "").capabilities, strict=True):
        for origin in origins_of(service.capabilities[source.capability]):
            client.entries[origin.document, origin.pointer] = entry[1]
            if source.enveloped:
                client.reasons[origin.document, origin.pointer] = IN_ENVELOPE
    losses = _losses(service, task.losses, note_count, client, list(by_body.values()))
    return Translation(document, tuple(losses), form.media_types[0], form.paths[0], "documents")


def declare(service: Service, target: str, *, host: str) -> Translation:
    """Return the document of the format `target` that `host` serves about itself, so without marks of a synthetic one.
    `target` is one of TARGETS; KeyError for another. Raise CannotWrite where the format cannot express the service, or
    where this registry's own validator finds an error."""
    form, writer = _TARGETS[target]
    task = Task(service, host, writer.title)
    written = writer.write(task)
    compare(task, written, read_back(task, target, written.document, written))
    return Translation(written.document, tuple(task.losses), form.media_types[0], form.paths[0])


def _write(
    service: Service,
    target: str,
    writer: Writer,
    host: str,
    seen_at: datetime,
    score: int,
    detail_url: Callable[[str], str] | None,
) -> tuple[Task, WrittenDocument, Service, dict[str, Any]] | Untranslatable:
    """Return the written document with its task, and the service that a client reads in it. Members that only this
    format knows are written back, unless they make the document invalid. The marks are those of AWP section 14."""

    def others(native: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        return {slug: members for slug, members in native.items() if slug != target}

    capabilities = tuple(replace(capability, native=others(capability.native)) for capability in service.capabilities)
    without_native = replace(service, native=others(service.native), capabilities=capabilities)
    has_native = target in service.native or any(target in one.native for one in service.capabilities)
    confidence = service.confidence if service.synthetic and service.confidence is not None else 1.0
    refused = Untranslatable(())
    for candidate in (service, without_native) if has_native else (service,):
        task = Task(candidate, host, writer.title, detail_url)
        try:
            written = writer.write(task)
            share = len(written.sources) / len(service.capabilities) if service.capabilities else 1.0
            marks = {
                "source": "synthetic",
                "generated_by": GENERATOR,
                "confidence": round(score / 100 * share * confidence, 2),
                "last_verified": seen_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            }
            document = {**written.document, **(marks if target == "awp" else {EXTENSION: marks})}
            received = read_back(task, target, document, written)
        except CannotWrite as refusal:
            refused = Untranslatable(refusal.reasons, tuple(task.losses))
            continue
        task.service = service
        return task, written, received, document
    return refused


def _reuse_own(service: Service, form: Format, title: str, own: Readable, sources: Sequence[Readable]) -> Translation:
    """Return the document that the host serves itself; other documents of the format are compared with it."""
    url = own.source.url
    # without characters that cannot be seen and addresses that are not public
    document = public_json(clean_json(own.value, MAX_CHARS), url)  # guard: own-document
    own_service = own.service(own.value)
    client = received_of(title, own_service, document)
    others = [source for source in sources if source.form is form and source.source.raw != own.source.raw]
    entries = dict(model(own_service, url).capabilities)
    for capability in service.capabilities if others else ():
        places = [(origin.document, origin.pointer) for origin in origins_of(capability)]
        found = next((entries[pointer] for source, pointer in places if source == url and pointer in entries), None)
        client.entries |= dict.fromkeys(places, found) if found is not None else {}
    losses = [*private_addresses(own), *compare_sources(others, client)]
    return Translation(document, tuple(losses), form.media_types[0], form.paths[0], "documents", url)


def _losses(
    service: Service, of_model: Sequence[Loss], note_count: int, client: ReadBack, sources: Sequence[Readable]
) -> list[Loss]:
    """Return the losses against the sources, then what only the model shows: substituted texts, and losses of what
    comes from documents that have no keys. The first `note_count` losses `of_model` are notes of the writer."""
    compared = {source.source.url for source in sources}
    rest = []
    for number, loss in enumerate(of_model):
        places = _places(service, loss.pointer)
        is_capability = loss.what.startswith("capability ")
        if is_capability:
            client.left_out |= dict.fromkeys(places, loss.why)
        if (number < note_count and not is_capability) or not compared & {url for url, _ in places}:
            rest.append(loss)
    return [*compare_sources(sources, client), *rest]


def _places(service: Service, pointer: str) -> list[tuple[str, str]]:
    """Return the documents that state a part of the service, each with the place of the part's capability or field."""
    _, field, *further = pointer.split("/")
    if field == "capabilities":
        capability = service.capabilities[int(further[0])]
        return [(origin.document, origin.pointer) for origin in origins_of(capability)]
    origins = (service.provenance.get(name) for name in ("/".join((field, *further[:1])), field))
    return [(origin.document, origin.pointer) for origin in origins if origin is not None]
