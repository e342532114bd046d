"""`GET /api/services/{domain}/manifest/{format}`: a service as a document of a format that its host may not serve.

The document is generated and marked synthetic, unless the host serves the format itself: then the host's document is
returned unchanged, and `native_url` says where it is served (AWP 0.2 section 14: agents should prefer that).
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

import orjson
from fastapi import Path, Query, Request, Response

from registry.actions.queries.inspect import ServiceView, StoredService
from registry.api.documents import describe_read
from registry.api.params import DomainPath, OnlyTrue, existing, host_in
from registry.api.schemas.service import Translated, TranslationLoss
from registry.core.model.documents import Outcome
from registry.core.translating import TARGETS, Loss, SourceDocument, Translation, Untranslatable, translate
from registry.edge.limiter import charge_stored
from registry.edge.problems import BUSY, INVALID_PARAMETER, UNKNOWN_SERVICE, UNTRANSLATABLE, Problem
from registry.edge.requests import MAX_INLINE_TRANSLATION, base_url, computed, registry_of
from registry.edge.responses import capability_url, encoded_response
from registry.edge.routing import strict_router

MAX_POINTERS: Final = 20
_REFUSED: Final = {"reasons": ["an ATP capability is an HTTP call; 3 of 3 capabilities: called through MCP, not by "
                               "plain HTTP"]}  # fmt: skip

FormatPath = Annotated[
    str, Path(description="The format to translate to.", examples=["awp"], json_schema_extra={"enum": list(TARGETS)})
]

router = strict_router(tags=["services"])


@router.get(
    "/api/services/{domain}/manifest/{format}",
    **describe_read(
        Translated, INVALID_PARAMETER, UNKNOWN_SERVICE, UNTRANSLATABLE, BUSY, own={UNTRANSLATABLE.slug: _REFUSED}
    ),
    summary="One service as a manifest of another format",
    description="A synthetic document of the format, made from everything that the host's documents declare and valid "
    "by the format's own rules, with a list of what it cannot express: each member of those documents that it does not "
    "express. A document of the format that the host serves itself is returned as it is. If the format cannot express "
    "anything true about the service, the answer is a 409 with the reasons: no endpoint, method, parameter, version or "
    "authentication is invented.",
)
async def manifest(
    request: Request,
    domain: DomainPath,
    format: FormatPath,
    raw: Annotated[OnlyTrue, Query(description="`true`: the bare document, in its own media type.")] = False,
    version: Annotated[
        str | None,
        Query(
            description="Version of the document, for formats that need one, where no document of the host names one.",
            min_length=1,
            max_length=64,
        ),
    ] = None,
) -> Response:
    if format not in TARGETS:
        raise Problem(INVALID_PARAMETER, f"format: must be one of {', '.join(TARGETS)}", accepted=list(TARGETS))
    host = host_in(domain)
    queries = registry_of(request).queries
    stored = existing(await queries.stored_service(host, include_details=True))
    sources = await queries.sources(host)
    size = stored.size + sum(len(source.raw) for source in sources)
    charge_stored(request, size)
    wanted = (stored, sources, format, base_url(request), version, raw)
    body, media_type = await computed(request, size, MAX_INLINE_TRANSLATION, _encoded_translation, *wanted, host=host)
    return encoded_response(request, body, media_type=media_type)


def _encoded_translation(
    stored: StoredService, sources: Sequence[SourceDocument], target: str, base: str, version: str | None, raw: bool
) -> tuple[bytes, str]:
    """Return the JSON of the answer and its media type. Raise Problem."""
    view = stored.view()
    record = view.record
    translation = translate(
        view.service,
        target,
        host=record.host,
        seen_at=record.seen_at,
        score=record.score,
        detail_url=lambda name: capability_url(base, record.host, name),
        sources=sources,
        version=version,
    )
    if isinstance(translation, Untranslatable):
        detail, reasons = f"The format {target} cannot express this service.", list(translation.reasons)
        raise Problem(UNTRANSLATABLE, detail, reasons=reasons, untrusted_text=["reasons"])
    if raw:
        return orjson.dumps(translation.document), translation.media_type
    return orjson.dumps(_content(view, target, translation)), "application/json"


def _content(view: ServiceView, target: str, translation: Translation) -> Translated:
    served = [one.final_url for one in view.documents if one.format == target and one.outcome is Outcome.FOUND]
    return {
        "success": True,
        "format": target,
        "media_type": translation.media_type,
        "document": translation.document,
        "losses": grouped(translation.losses),
        "compared_with": translation.compared_with,
        "source_formats": (target,) if translation.own_url else view.record.formats,
        "native_url": translation.own_url or min(served, key=len, default=None),
        "synthetic": translation.own_url is None,
        "injection_flags": view.record.injection_flags,
        "untrusted_text": ["document", "losses.what", "losses.document", "losses.pointers", "native_url"],
    }


def grouped(losses: Iterable[Loss]) -> list[TranslationLoss]:
    """Return a row for each kind of loss and document, most frequent first, with its first MAX_POINTERS pointers."""
    pointers_by_kind: dict[tuple[str, str, str | None], list[str]] = {}
    for loss in losses:
        pointers_by_kind.setdefault((loss.what, loss.why, loss.document), []).append(loss.pointer)
    rows: list[TranslationLoss] = [
        {"what": part, "why": reason, "document": document, "count": len(pointers), "pointers": pointers[:MAX_POINTERS]}
        for (part, reason, document), pointers in pointers_by_kind.items()
    ]
    return sorted(rows, key=lambda row: -row["count"])
