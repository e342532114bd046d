"""`POST /api/validate`: what the registry thinks of a document, before its host serves it."""

import asyncio
import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Query, Request, Response

from registry.api import examples
from registry.api.answers import answer
from registry.api.documents import errors, example
from registry.api.problems import BODY_TOO_LARGE, UNREADABLE_BODY, Problem
from registry.api.schemas import Validated
from registry.api.strict import explain, strict_router
from registry.core.assess import Assessment, assess_body
from registry.core.documents import Json, Outcome
from registry.core.domains import host_of
from registry.core.findings import Finding, Severity
from registry.core.reader import Unreadable, read_json
from registry.core.scoring.rubric import RUBRIC

ADP_PATH: Final = "/.well-known/agent"
_NOWHERE: Final = "unpublished.invalid"
_CLAIMS: Final = ("base_url", "url", "domain", "baseUrl")

router = strict_router(tags=["submission"])


@dataclass(frozen=True, slots=True)
class Judged:
    """A document that was read and assessed as if its own host served it."""

    host: str | None  # the host it claims
    assessment: Assessment

    @property
    def errors(self) -> list[dict[str, Any]]:
        return [_fault(one) for one in self.assessment.findings if _severity(one) is Severity.ERROR]

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [_fault(one) for one in self.assessment.findings if _severity(one) is not Severity.ERROR]

    @property
    def valid(self) -> bool:
        return self.assessment.outcome is Outcome.FOUND and not self.errors


@router.post(
    "/api/validate",
    response_model=Validated,
    responses={
        200: example("VALIDATED"),
        **errors(
            UNREADABLE_BODY,
            BODY_TOO_LARGE,
            own={UNREADABLE_BODY.slug: {"valid": False, "errors": [{"path": "$", "message": "The body is not JSON."}]}},
        ),
    },
    summary="Check a document without publishing it",
    description="The body is the document itself, of any known format. Nothing is stored or fetched. An invalid "
    "document is a 200 with `valid: false`; only a body that is not JSON is a 400.",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {}, "example": examples.PASTED["manifest"]}},
        }
    },
)
async def validate(
    request: Request,
    at: Annotated[
        str,
        Query(
            pattern=r"^/[!-~]*$",
            max_length=500,
            description="The path at which the document would be served; a few formats are known only there.",
            examples=["/.well-known/ai-actions.json"],
        ),
    ] = ADP_PATH,
) -> Response:
    raw = await request.body()
    try:
        judged = await asyncio.to_thread(judge, raw, at)
    except Unreadable as error:
        said = explain(error)
        faults = [{"path": "$", "message": said}]
        raise Problem(UNREADABLE_BODY, said, valid=False, errors=faults, reason=error.reason.value) from None
    found = judged.assessment
    content = {
        "valid": judged.valid,
        "errors": judged.errors or ([] if judged.valid else [_unrecognised(found)]),
        "notes": judged.notes,
        "outcome": found.outcome,
        "format": found.format,
        "dialect": found.dialect,
    }
    return answer(request, content)


def judge(raw: bytes, path: str) -> Judged:
    """Read and assess a document as if the host it claims served it at `path`. Raises Unreadable. CPU-bound."""
    claimed = _claimed_host(read_json(raw))
    return Judged(claimed, assess_body(raw, f"https://{claimed or _NOWHERE}{path}", "application/json"))


def _claimed_host(value: Json) -> str | None:
    if not isinstance(value, dict):
        return None
    for key in _CLAIMS:
        claim = value.get(key)
        if isinstance(claim, str):
            return host_of(claim if "://" in claim else f"https://{claim}")
    return None


def dotted(pointer: str) -> str:
    """`/capabilities/2/name` as `capabilities[2].name`; the whole document is `$`."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    text = "".join(f"[{part}]" if re.fullmatch("[0-9]+", part) else f".{part}" for part in parts)
    return text.removeprefix(".") or "$"


def _severity(finding: Finding) -> Severity:
    return RUBRIC[finding.reason].severity


def _fault(finding: Finding) -> dict[str, Any]:
    rule = RUBRIC[finding.reason]
    return {
        "path": dotted(finding.pointer),
        "message": rule.says,
        "severity": rule.severity,
        "reason": finding.reason,
        "evidence": finding.evidence,
        "fix": rule.fix,
        "spec": rule.spec,
    }


def _unrecognised(found: Assessment) -> dict[str, Any]:
    """Not FOUND, though no finding is an error: the outcome itself is the fault."""
    return {"path": "$", "message": f"This is no document of a known format ({found.reason or found.outcome})."}
