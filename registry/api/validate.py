"""`POST /api/validate`: check a document before its host serves it."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, cast

import orjson
from fastapi import Query, Request, Response

from registry.api.documents import describe_write, json_body
from registry.api.schemas.base import example_of
from registry.api.schemas.service import CapabilityDetail
from registry.api.schemas.submission import (
    CauseRow,
    Located,
    LocatedLine,
    ManifestSubmission,
    Validated,
    ValidationFault,
)
from registry.core.assessing.assess import Assessment
from registry.core.assessing.drafts import UNKNOWN_HOST, judge_draft
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging.merge import HeldDocument
from registry.core.model.documents import Outcome
from registry.core.model.findings import Severity
from registry.core.reading.injection import injection_flags
from registry.core.reading.positions import refused_at
from registry.core.reading.reader import Unreadable, read_json
from registry.core.scoring.causes import causes_of
from registry.core.scoring.report import Report, ReportedFinding, report
from registry.edge.problems import BODY_TOO_LARGE, BUSY, INVALID_PARAMETER, UNREADABLE_BODY, Problem
from registry.edge.requests import MAX_INLINE_DOCUMENT, computed
from registry.edge.responses import encoded_response
from registry.edge.routing import strict_router

ADP_PATH: Final = "/.well-known/agent"
_BAD_JSON: Final[dict[str, Any]] = {
    "valid": False,
    "errors": [{"path": "$", "message": "A comma stands before a closing bracket. (line 3, column 27)", "line": 3,
                "column": 27}],
    "reason": "document.trailing_comma",
}  # fmt: skip

_UNTRUSTED: Final = (
    "dialect", "errors.path", "errors.pointer", "errors.evidence", "notes.path", "notes.pointer", "notes.evidence",
    "findings.pointer", "findings.evidence", "score_lines.pointer", "score_lines.evidence",
    "causes.places.pointer", "causes.places.evidence",
)  # fmt: skip

_VALIDATE: Final = describe_write(
    Validated, UNREADABLE_BODY, INVALID_PARAMETER, BODY_TOO_LARGE, BUSY,
    own={UNREADABLE_BODY.slug: _BAD_JSON}, side_effects=False,
)  # fmt: skip
_VALIDATE["openapi_extra"]["requestBody"] = json_body(
    {},
    manifest=("An ADP manifest", example_of(ManifestSubmission)["manifest"]),
    detail=("An ADP capability detail", example_of(CapabilityDetail)),
)

router = strict_router(tags=["submission"])


@dataclass(frozen=True, slots=True)
class DraftReport:
    """A document that was read and assessed as if its own host served it."""

    host: str | None  # the host it claims
    assessment: Assessment
    report: Report
    expected: str | None = None  # the format that the client expects

    @property
    def errors(self) -> list[ValidationFault]:
        """Findings of severity error; for an invalid document without any, the reason why it is invalid."""
        faults = [_fault(finding) for finding in self.report.findings if finding.rule.severity is Severity.ERROR]
        return faults or ([] if self.valid else [{"path": "$", "message": self._refusal()}])

    @property
    def notes(self) -> list[ValidationFault]:
        return [_fault(finding) for finding in self.report.findings if finding.rule.severity is not Severity.ERROR]

    @property
    def valid(self) -> bool:
        recognised = self.assessment.outcome is Outcome.FOUND and self.expected in (None, self.assessment.format)
        return recognised and not any(finding.rule.severity is Severity.ERROR for finding in self.report.findings)

    def _refusal(self) -> str:
        assessment = self.assessment
        if assessment.outcome is Outcome.FOUND:
            return f"This is a document of the format {assessment.format}, not {self.expected}."
        return f"This is not a document of a known format ({assessment.reason or assessment.outcome})."


@router.post(
    "/api/validate",
    **_VALIDATE,
    summary="Check a document without publishing it",
    description="The body is the document itself, of any known format, checked as if the host that it names served it. "
    "Nothing is stored or fetched. An invalid document is a 200 with `valid: false`; only a body that is not JSON is a "
    "400. `line` and `column` start at 1 in the body as it was sent; columns are characters.",
)
async def validate(
    request: Request,
    at: Annotated[
        str | None,
        Query(
            pattern=r"^/[!-~]*$",
            max_length=500,
            description="The path at which the document would be served. Without it, the document is judged as if it "
            "was served at the path that its format prescribes; a few unspecific formats are recognised only by it.",
            examples=["/.well-known/ai-actions.json"],
        ),
    ] = None,
    form: Annotated[
        str | None,
        Query(
            alias="format",
            max_length=40,
            description="The expected format, a slug of `/api/rubric`: it is then recognised at any path, and a "
            "document of another format is not valid.",
            examples=["awas"],
        ),
    ] = None,
) -> Response:
    if form is not None and form not in FORMAT_BY_SLUG:
        allowed = list(FORMAT_BY_SLUG)
        raise Problem(INVALID_PARAMETER, f"format: must be one of {', '.join(allowed)}", accepted=allowed)
    raw = await request.body()
    return encoded_response(request, await computed(request, len(raw), MAX_INLINE_DOCUMENT, _validated, raw, at, form))


def _validated(raw: bytes, path: str | None, expected: str | None) -> bytes:
    try:
        draft = check_draft(raw, path, expected)
    except Unreadable as error:
        # the answer of ADP registries to bad JSON, with line and column of the fault
        position, rule = refused_at(raw, error), error.rule
        message = f"{rule.says} (line {position.line}, column {position.column})"
        fault = {"path": "$", "message": message, "line": position.line, "column": position.column}
        raise Problem(UNREADABLE_BODY, message, valid=False, errors=[fault], reason=rule.code) from None
    assessment, draft_report = draft.assessment, draft.report
    lines = [{key: part for key, part in line.items() if key != "document"} for line in draft_report.score_lines()]
    content: Validated = {
        "valid": draft.valid,
        "errors": draft.errors,
        "notes": draft.notes,
        "outcome": assessment.outcome,
        "reason": assessment.reason,
        "format": assessment.format,
        "dialect": assessment.dialect,
        "score": draft_report.score.value if draft_report.score else None,
        "sections": draft_report.score.sections if draft_report.score else None,
        "entries": [{"noun": one.noun, "read": one.read, "not_read": one.not_read} for one in assessment.entries],
        "findings": [cast(Located, finding.to_json()) for finding in draft_report.findings],
        "score_lines": cast(list[LocatedLine], lines),
        "causes": [cast(CauseRow, cause.to_json()) for cause in causes_of(draft_report.everything)],
        "injection_flags": injection_flags(finding.rule.code for finding in draft_report.findings),
        "untrusted_text": _UNTRUSTED,
    }
    return orjson.dumps(content)


def check_draft(raw: bytes, path: str | None, expected: str | None = None) -> DraftReport:
    """Return a document as if its host served it, by default at its format's path. Raise Unreadable. CPU-bound."""
    read_json(raw, [])
    draft = judge_draft(raw, path, expected=expected)
    document = HeldDocument(draft.url, draft.url, draft.assessment, b"", datetime.now(UTC))
    draft_report = report(draft.host or UNKNOWN_HOST, [document], {draft.url: raw})
    return DraftReport(draft.host, draft.assessment, draft_report, expected)


def dotted(pointer: str) -> str:
    """Return the JSON Pointer `/capabilities/2/name` as `capabilities[2].name`, and the whole document as `$`."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    text = "".join(f"[{part}]" if re.fullmatch("[0-9]+", part) else f".{part}" for part in parts)
    return text.removeprefix(".") or "$"


def _fault(reported: ReportedFinding) -> ValidationFault:
    """Return a finding with the two keys of ADP registries first."""
    located = reported.to_json()
    fault = {"path": dotted(reported.finding.pointer), "message": located.pop("says"), **located}
    return cast(ValidationFault, fault)
