"""`POST /api/validate`: what the registry thinks of a document, before its host serves it."""

import asyncio
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import Query, Request, Response

from registry.api import examples
from registry.api.answers import answer
from registry.api.documents import errors, example
from registry.api.problems import BODY_TOO_LARGE, INVALID_PARAMETER, UNREADABLE_BODY, Problem
from registry.api.schemas import Validated
from registry.api.strict import strict_router
from registry.core.assess import Assessment
from registry.core.documents import Outcome
from registry.core.drafts import UNKNOWN_HOST, judge_draft
from registry.core.findings import Severity
from registry.core.merge import Held
from registry.core.positions import refused_at
from registry.core.reader import Unreadable, read_json
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.report import Report, Told, report
from registry.core.scoring.rubric import RUBRIC

ADP_PATH: Final = "/.well-known/agent"
_BAD_JSON: Final = examples.UNREADABLE

router = strict_router(tags=["submission"])


@dataclass(frozen=True, slots=True)
class Judged:
    """A document that was read and assessed as if its own host served it."""

    host: str | None  # the host it claims
    assessment: Assessment
    report: Report
    expected: str | None = None  # what the client says that it is

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Faults of severity error; where there are none and yet it is not valid, why not."""
        found = [_fault(one) for one in self.report.told if one.rule.severity is Severity.ERROR]
        return found or ([] if self.valid else [{"path": "$", "message": self._refusal()}])

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [_fault(one) for one in self.report.told if one.rule.severity is not Severity.ERROR]

    @property
    def valid(self) -> bool:
        recognised = self.assessment.outcome is Outcome.FOUND and self.expected in (None, self.assessment.format)
        return recognised and not any(one.rule.severity is Severity.ERROR for one in self.report.told)

    def _refusal(self) -> str:
        found = self.assessment
        if found.outcome is Outcome.FOUND:
            return f"This is a document of the format {found.format}, not {self.expected}."
        return f"This is no document of a known format ({found.reason or found.outcome})."


@router.post(
    "/api/validate",
    response_model=Validated,
    responses={
        200: example("VALIDATED"),
        **errors(UNREADABLE_BODY, INVALID_PARAMETER, BODY_TOO_LARGE, own={UNREADABLE_BODY.slug: _BAD_JSON}),
    },
    summary="Check a document without publishing it",
    description="The body is the document itself, of any known format, judged as if the host that it names served it. "
    "Nothing is stored or fetched. An invalid document is a 200 with `valid: false`; only a body that is not JSON is a "
    "400. `line` and `column` count from 1 in the body as it was sent, columns in characters.",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {},
                    "examples": {
                        "manifest": {"summary": "An ADP manifest", "value": examples.PASTED["manifest"]},
                        "detail": {"summary": "An ADP capability detail", "value": examples.PASTED_DETAIL},
                    },
                }
            },
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
    form: Annotated[
        str | None,
        Query(
            alias="format",
            max_length=40,
            description="The format that the document is meant to be, a slug of `/api/rubric`: it is then recognised "
            "wherever it lies, and a document of another format is not valid.",
            examples=["awas"],
        ),
    ] = None,
) -> Response:
    if form is not None and form not in FORMAT_BY_SLUG:
        raise Problem(INVALID_PARAMETER, "format: is not one of the known ones", accepted=list(FORMAT_BY_SLUG))
    raw = await request.body()
    try:
        judged = await asyncio.to_thread(judge, raw, at, form)
    except Unreadable as error:
        raise _unreadable(raw, error) from None
    found, told = judged.assessment, judged.report
    content = {
        "valid": judged.valid,
        "errors": judged.errors,
        "notes": judged.notes,
        "outcome": found.outcome,
        "reason": found.reason,
        "format": found.format,
        "dialect": found.dialect,
        "score": told.score.value if told.score else None,
        "sections": told.score.sections if told.score else None,
        "findings": [one.to_json() for one in told.told],
        "score_lines": [{key: value for key, value in one.items() if key != "document"} for one in told.score_lines()],
        "untrusted_text": ["errors.evidence", "notes.evidence", "findings.evidence", "score_lines.evidence"],
    }
    return answer(request, content)


def judge(raw: bytes, path: str, expected: str | None = None) -> Judged:
    """Read and assess a document as if the host it claims served it at `path`. Raises Unreadable. CPU-bound."""
    read_json(raw)
    draft = judge_draft(raw, path, "application/json", expected)
    held = Held(draft.url, draft.url, draft.assessment, b"", datetime.now(UTC))
    told = report(draft.host or UNKNOWN_HOST, [held], {draft.url: raw})
    return Judged(draft.host, draft.assessment, told, expected)


def _unreadable(raw: bytes, error: Unreadable) -> Problem:
    """The answer of ADP registries to bad JSON, and where it is bad."""
    place, says = refused_at(raw, error), RUBRIC[error.reason].says
    said = f"{says} (line {place.line}, column {place.column})"
    fault = {"path": "$", "message": said, "line": place.line, "column": place.column}
    return Problem(UNREADABLE_BODY, said, valid=False, errors=[fault], reason=error.reason.value)


def dotted(pointer: str) -> str:
    """`/capabilities/2/name` as `capabilities[2].name`; the whole document is `$`."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    text = "".join(f"[{part}]" if re.fullmatch("[0-9]+", part) else f".{part}" for part in parts)
    return text.removeprefix(".") or "$"


def _fault(told: Told) -> dict[str, Any]:
    """In the two keys of ADP registries, and in ours."""
    said = told.to_json()
    return {"path": dotted(told.finding.pointer), "message": said.pop("says"), **said}
