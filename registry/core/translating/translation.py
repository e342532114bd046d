"""Translate a service into a document of another format, checked by that format's own reader and rules.

A document in which the validator of this registry finds an error is never returned: the service is Untranslatable. So
is one for which the format would need a statement that no document of the host makes (AWP section 14).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from registry.core.format_support.format import Format
from registry.core.format_support.writing.task import CannotWrite, Loss, Task, Writer, Written
from registry.core.formats import FORMATS
from registry.core.model.services import Service
from registry.core.translating.compare import compare
from registry.core.translating.read_back import read_back

GENERATOR: Final = "waypost"
EXTENSION: Final = "x-synthetic"
"""Member that carries the marks of AWP section 14 in other formats: all of them ignore members that they do not know,
and AWAS reserves the prefix `x-` for that."""

_TARGETS: Final[Mapping[str, tuple[Format, Writer]]] = MappingProxyType(
    {form.slug: (form, form.writer) for form in FORMATS if form.writer is not None}
)
TARGETS: Final = tuple(_TARGETS)


@dataclass(frozen=True, slots=True)
class Translation:
    """`document` is JSON-ready; `media_type` is how it would be served at `path`; `losses` in no particular order."""

    document: dict[str, Any]
    losses: tuple[Loss, ...]
    media_type: str
    path: str


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
) -> Translation | Untranslatable:
    """Return the service as a document of the format `target`, or why there is none.

    `target` is one of TARGETS; KeyError for another. Never raises on a service made by a reader or the merge.
    `host`: canonical, the host the service was found on. `seen_at` (aware): when its documents were last seen, the
    document's `last_verified`. `score`: 0 to 100. `detail_url`: absolute URL of the ADP capability detail that this
    registry serves for the name of a capability; None where it serves none.

    Confidence (AWP section 14) is score/100, times the share of the capabilities that the document carries, times the
    source's own confidence where the host serves a synthetic document itself. It expresses how much of a
    well-described service the reader has: little where the host's documents leave much open, or where the format
    expresses half of the service. Age is not part of it: `last_verified` states that.
    """
    form, writer = _TARGETS[target]
    task = Task(service, host, writer.title, detail_url)
    try:
        written = writer.write(task)
        document = {**written.document, **_marks(target, _confidence(service, written, score), seen_at)}
        received = read_back(task, target, document, written)
    except CannotWrite as refusal:
        return Untranslatable(refusal.reasons, tuple(task.losses))
    compare(task, written, received)
    return Translation(document, tuple(task.losses), form.media_types[0], form.paths[0])


def _confidence(service: Service, written: Written, score: int) -> float:
    share = len(written.sources) / len(service.capabilities) if service.capabilities else 1.0
    source_confidence = service.confidence if service.synthetic and service.confidence is not None else 1.0
    return round(score / 100 * share * source_confidence, 2)


def _marks(target: str, confidence: float, seen_at: datetime) -> dict[str, Any]:
    """AWP section 14: at the top of an AWP document, and in an extension member of others."""
    marks = {
        "source": "synthetic",
        "generated_by": GENERATOR,
        "confidence": confidence,
        "last_verified": seen_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    return marks if target == "awp" else {EXTENSION: marks}
