"""`GET /api/rubric`: the rules behind every score, and the known formats."""

from fastapi import Request, Response

from registry.api.documents import errors
from registry.api.schemas.monitoring import Rubric
from registry.core.formats import FORMATS
from registry.core.merging.trust import LEVELS, REASONS
from registry.core.scoring.rubric import BESIDE, METHOD, QUESTIONS, RUBRIC, SECTION_POINTS, VERSION
from registry.edge.responses import json_response
from registry.edge.routing import strict_router

router = strict_router(tags=["about"])


@router.get(
    "/api/rubric",
    response_model=Rubric,
    responses=errors(),
    summary="The rules behind every score",
    description="Every reason that a score can name: what was seen, what it costs, how to fix it, and which "
    "specification requires it. `version` is stored with each score. `method` explains how a score is computed, "
    "`beside` what is shown beside it but is not part of it, such as freshness. "
    "`trust` says what the trust levels mean and why a level is not higher.",
)
async def rubric(request: Request) -> Response:
    content: Rubric = {
        "success": True,
        "version": VERSION,
        "sections": {section.value: points for section, points in SECTION_POINTS.items()},
        "about_sections": [
            {"section": section.value, "points": points, "question": QUESTIONS[section]}
            for section, points in SECTION_POINTS.items()
        ],
        "method": METHOD,
        "beside": BESIDE,
        "trust": {
            "levels": [
                {"trust_level": level, "checked": about.checked, "means": about.means}
                for level, about in LEVELS.items()
            ],
            "reasons": [{"reason": reason.code, "says": reason.says, "fix": reason.fix} for reason in REASONS.values()],
        },
        "data": [
            {
                "reason": rule.code,
                "severity": rule.severity.value,
                "section": rule.section.value,
                "points": rule.points,
                "says": rule.says,
                "fix": rule.fix,
                "spec": rule.spec,
            }
            for rule in RUBRIC.values()
        ],
        "formats": [
            {"slug": form.slug, "title": form.title, "spec": form.spec, "paths": form.paths, "role": form.role}
            for form in FORMATS
        ],
    }
    return json_response(request, content)
