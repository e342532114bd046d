"""`translate`: one service in the words of one target format, proven by the format's own reader and rules.

A document that our own validator finds an error in never leaves: it is Untranslatable, like a service of which the
format could only say something that no document of the host says (formats.md section 2; AWP section 14).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from registry.core.assess import Assessment, assess_body
from registry.core.documents import Outcome
from registry.core.findings import Severity
from registry.core.reader import MAX_BYTES
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.scoring.rubric import RUBRIC
from registry.core.services import Service
from registry.core.translate import a2a, adp, atp, awas, awp, woa
from registry.core.translate.compare import compare
from registry.core.translate.task import MAX_REASONS, Built, CannotSay, Loss, Task

GENERATOR: Final = "waypost"
EXTENSION: Final = "x-synthetic"
"""Where formats other than AWP carry the marks of AWP section 14: all of them ignore members they do not know, and
AWAS reserves the prefix for that."""

_BUILDERS: Final[Mapping[str, Callable[[Task], Built]]] = MappingProxyType(
    {"awp": awp.build, "atp": atp.build, "awas": awas.build, "adp": adp.build, "woa": woa.build, "a2a": a2a.build}
)
TARGETS: Final = tuple(_BUILDERS)


@dataclass(frozen=True, slots=True)
class Translation:
    """`document` is JSON-ready; `media_type` is how it would be served at `path`; `losses` in no particular order."""

    document: dict[str, Any]
    losses: tuple[Loss, ...]
    media_type: str
    path: str


@dataclass(frozen=True, slots=True)
class Untranslatable:
    """The format cannot say anything truthful about the service. `reasons`: clauses for people, never empty."""

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
    """The service as a document of the format `target` (one of TARGETS; KeyError for another). Never raises on any
    service that a format or the merge made.

    `host`: canonical, the host the service was found on. `seen_at` (aware): when its documents were last seen, the
    document's `last_verified`. `score`: 0 to 100. `detail_url`: absolute URL of the ADP capability detail that this
    registry serves for a capability's name; None where it serves none.

    Confidence (AWP section 14) is score/100, times the share of the capabilities that the document carries, times the
    source's own confidence where the host serves a synthetic document itself. It says how much of a well-described
    service the reader has in hand: a service whose documents leave much open, or one that the format tells by half,
    gets little. Age is no part of it: `last_verified` is beside it.
    """
    form = FORMAT_BY_SLUG[target]
    title = _TITLES[target]
    task = Task(service, host, title, detail_url)
    try:
        built = _BUILDERS[target](task)
        document = {**built.document, **_marks(target, _confidence(service, built, score), seen_at)}
        heard = _read_back(task, target, document, built)
    except CannotSay as refusal:
        return Untranslatable(refusal.reasons, tuple(task.losses))
    compare(task, built, heard)
    return Translation(document, tuple(task.losses), form.media_types[0], form.paths[0])


_TITLES: Final = {"awp": "AWP", "atp": "ATP", "awas": "AWAS", "adp": "ADP", "woa": "WoA", "a2a": "an A2A card"}


def _confidence(service: Service, built: Built, score: int) -> float:
    share = len(built.places) / len(service.capabilities) if service.capabilities else 1.0
    source = service.confidence if service.synthetic and service.confidence is not None else 1.0
    return round(score / 100 * share * source, 2)


def _marks(target: str, confidence: float, seen_at: datetime) -> dict[str, Any]:
    """AWP section 14, at the top of an AWP document and in an extension member of others."""
    marks = {
        "source": "synthetic",
        "generated_by": GENERATOR,
        "confidence": confidence,
        "last_verified": seen_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    return marks if target == "awp" else {EXTENSION: marks}


def _read_back(task: Task, target: str, document: dict[str, Any], built: Built) -> Service:
    """The document as a client of the format reads it. Raises CannotSay for what our own validator would refuse."""
    form = FORMAT_BY_SLUG[target]
    raw = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(raw) > MAX_BYTES:
        raise CannotSay(f"the document would be larger than readers take ({len(raw):,} of {MAX_BYTES:,} bytes)")
    judged = assess_body(raw, f"https://{task.host}{form.paths[0]}", form.media_types[0], expected=target)
    faults = _faults(judged, target)
    if faults or judged.service is None:
        raise CannotSay(*faults)
    heard = judged.service
    if built.details:
        heard = adp.with_details(heard, built, task.host)
    if len(heard.capabilities) != len(built.places):
        raise CannotSay(f"{task.title} would not be read back as it was written")
    return heard


def _faults(judged: Assessment, target: str) -> list[str]:
    if judged.outcome is not Outcome.FOUND or judged.format != target:
        return [f"the document would not be recognised ({judged.reason or judged.format or judged.outcome})"]
    errors = [one for one in judged.findings if RUBRIC[one.reason].severity is Severity.ERROR]
    return [f"the document would not be valid at {one.pointer or '/'}: {RUBRIC[one.reason].says}" for one in errors][
        :MAX_REASONS
    ]
