"""How scores come about: the one table of rules, as a resource, and what each format is."""

from fastapi import Request, Response

from registry.api.answers import answer
from registry.api.documents import errors
from registry.api.schemas import Rubric
from registry.api.strict import strict_router
from registry.core.recognise import FORMATS
from registry.core.scoring.method import BESIDE, METHOD, QUESTIONS
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION

router = strict_router(tags=["about"])


@router.get(
    "/api/rubric",
    response_model=Rubric,
    responses=errors(),
    summary="The rules behind every score",
    description="Every reason that can stand in a score: what was seen, what it costs, how to repair it, and where "
    "that is demanded. `version` is stored beside each score. `method` tells how a score is computed, `beside` what is "
    "shown beside it and no part of it, such as freshness.",
)
async def rubric(request: Request) -> Response:
    return answer(
        request,
        {
            "success": True,
            "version": VERSION,
            "sections": {section.value: points for section, points in SECTION_POINTS.items()},
            "about_sections": [
                {"section": section.value, "points": points, "question": QUESTIONS[section]}
                for section, points in SECTION_POINTS.items()
            ],
            "method": METHOD,
            "beside": BESIDE,
            "data": [
                {
                    "reason": reason.value,
                    "severity": rule.severity.value,
                    "section": rule.section.value,
                    "points": rule.points,
                    "says": rule.says,
                    "fix": rule.fix,
                    "spec": rule.spec,
                }
                for reason, rule in RUBRIC.items()
            ],
            "formats": [
                {"slug": form.slug, "title": form.title, "spec": form.spec, "paths": form.paths, "role": form.role}
                for form in FORMATS
            ],
        },
    )
