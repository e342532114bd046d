"""`GET /api/services/{domain}/manifest/{format}`: a service in the words of a format that its host may not speak.

Always ours and always marked synthetic, also where the host serves the format itself: `native_url` then tells where,
and agents should prefer that (AWP 0.2 section 14).
"""

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any, Final

from fastapi import Path, Query, Request, Response

from registry.actions.answering.inspect import ServiceView
from registry.api.answers import answer, capability_url
from registry.api.documents import errors, example, not_modified
from registry.api.params import DomainPath, OnlyTrue, base_url, host_in, registry_of
from registry.api.problems import INVALID_PARAMETER, UNKNOWN_SERVICE, UNTRANSLATABLE, Problem
from registry.api.schemas import Translated
from registry.api.strict import strict_router
from registry.core.documents import Outcome
from registry.core.translate import TARGETS, Loss, Translation, Untranslatable, translate

MAX_POINTERS: Final = 20
_REFUSED: Final = {"reasons": ["an ATP capability is an HTTP call; 3 of 3 capabilities: called through MCP, not by "
                               "plain HTTP"]}  # fmt: skip

FormatPath = Annotated[
    str,
    Path(
        description="The format to translate to.",
        examples=["awp"],
        json_schema_extra={"enum": list(TARGETS)},
    ),
]

router = strict_router(tags=["services"])


@router.get(
    "/api/services/{domain}/manifest/{format}",
    response_model=Translated,
    responses={
        200: example("TRANSLATED"),
        **not_modified(),
        **errors(INVALID_PARAMETER, UNKNOWN_SERVICE, UNTRANSLATABLE, own={UNTRANSLATABLE.slug: _REFUSED}),
    },
    summary="One service as a manifest of another format",
    description="A synthetic document of the format, made from everything that the host's documents say and valid by "
    "the format's own rules, with a list of what it does not say. Where the format cannot say anything truthful of the "
    "service the answer is a 409 with the reasons: no endpoint, method, parameter or authentication is invented.",
)
async def manifest(
    request: Request,
    domain: DomainPath,
    format: FormatPath,
    raw: Annotated[OnlyTrue, Query(description="`true`: the bare document, in its own media type.")] = False,
) -> Response:
    if format not in TARGETS:
        raise Problem(INVALID_PARAMETER, "format: is none that services are translated to", accepted=list(TARGETS))
    host = host_in(domain)
    view = await registry_of(request).service(host, include_details=True)
    if view is None:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.")
    made = await asyncio.to_thread(_translated, view, format, base_url(request))
    if isinstance(made, Untranslatable):
        raise Problem(UNTRANSLATABLE, f"The format {format} cannot say this service.", reasons=list(made.reasons))
    if raw:
        return answer(request, made.document, media_type=made.media_type)
    return answer(request, _content(view, format, made))


def _translated(view: ServiceView, target: str, base: str) -> Translation | Untranslatable:
    record = view.record
    return translate(
        view.service,
        target,
        host=record.host,
        seen_at=record.seen_at,
        score=record.score,
        detail_url=lambda name: capability_url(base, record.host, name),
    )


def _content(view: ServiceView, target: str, made: Translation) -> dict[str, Any]:
    return {
        "success": True,
        "format": target,
        "media_type": made.media_type,
        "document": made.document,
        "losses": grouped(made.losses),
        "source_formats": view.record.formats,
        "native_url": _native_url(view, target),
        "synthetic": True,
        "untrusted_text": ["document", "losses.what"],
    }


def _native_url(view: ServiceView, target: str) -> str | None:
    """Where the host serves this very format; merge and store keep its most preferred document first."""
    served = [one for one in view.documents if one.format == target and one.outcome is Outcome.FOUND]
    return min((one.final_url for one in served), key=len, default=None)


def grouped(losses: Iterable[Loss]) -> list[dict[str, Any]]:
    """One row for losses of the same kind, with the first MAX_POINTERS places; the most frequent first."""
    rows: dict[tuple[str, str], list[str]] = {}
    for loss in losses:
        rows.setdefault((loss.what, loss.why), []).append(loss.pointer)
    found = [
        {"what": what, "why": why, "count": len(pointers), "pointers": pointers[:MAX_POINTERS]}
        for (what, why), pointers in rows.items()
    ]
    return sorted(found, key=lambda row: -len(rows[str(row["what"]), str(row["why"])]))
