"""A body of another shape is refused with places and rules, and nothing of it is repeated."""

from typing import Any

import pytest

from registry.api.schemas.ownership import ClaimSubmission, WebhookSubmission
from registry.api.schemas.submission import DomainSubmission
from registry.edge.bodies import checked
from registry.edge.problems import INVALID_BODY, Problem

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("shape", "body", "says"),
    [
        (ClaimSubmission, [SECRET], "the body: must be an object"),
        (ClaimSubmission, {"domain": [SECRET]}, "domain: must be a text; method: is required"),
        (ClaimSubmission, {"domain": "a", "method": SECRET}, "method: must be 'dns' or 'file'"),
        (
            ClaimSubmission,
            {"domain": "a", "method": "dns", SECRET: 1},
            "the body: has a member that is not defined here",
        ),
        (WebhookSubmission, {"url": "u" * 2_049}, "url: must have at most 2048 characters"),
        (WebhookSubmission, {"url": "u", "types": ["a", 1]}, "types.1: must be a text"),
    ],
)
def test_faults_name_places_and_rules(shape: Any, body: Any, says: str) -> None:
    with pytest.raises(Problem) as refused:
        checked(body, shape)
    assert (refused.value.kind, refused.value.detail, refused.value.members) == (INVALID_BODY, says, {})
    with pytest.raises(Problem) as listed:
        checked(body, shape, list_errors=True)
    assert listed.value.members == {"errors": says.split("; ")}


def test_open_shapes_keep_other_members() -> None:
    body: dict[str, Any] = {"domain": "a.example", "other": 1}
    assert checked(body, DomainSubmission) == body
