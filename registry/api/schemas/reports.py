"""Reports about hosts."""

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, TypeAdapter

from registry.api.schemas.base import EXAMPLE_HOST, HostName, Shape, Succeeded, Timestamp, UntrustedText
from registry.core.model.reports import CODE_MEANS, CODES, LEAST_REASON_CHARS, REASON_CHARS, STATES

_URL: Final = (
    "https://registry.example/api/reports/wp_report_0b8f4e9a6f0e4a51_3yMZ0QhPpJcVtq1vQ5nD2bYk8sWxUaL7oRfGhJiKlMn"
)
_Code = Annotated[
    str,
    Field(
        json_schema_extra={"enum": list(CODES)},
        description=" ".join(f"`{code}`: {means}" for code, means in CODE_MEANS.items()),
        examples=["dead"],
    ),
]


class NewReport(Shape):
    """What is wrong with a host."""

    domain: Annotated[str, Field(max_length=2_048, description="A host name.", examples=[EXAMPLE_HOST])]
    reason: Annotated[
        str,
        Field(
            min_length=LEAST_REASON_CHARS,
            description=f"In your words; cut after {REASON_CHARS} characters. The registry's operator reads it.",
            examples=["Every call has answered 410 since last week."],
        ),
    ]
    code: NotRequired[_Code]


REPORT_SCHEMA: Final[dict[str, Any]] = TypeAdapter(NewReport).json_schema(ref_template="#/components/schemas/{model}")


class FiledData(Shape):
    message: Annotated[str, Field(examples=["Filed: `status_url` shows the answer. Keep it, it is shown only here."])]
    domain: HostName
    code: _Code
    status_url: Annotated[
        str | None,
        Field(
            description="The secret address of the answer; null: you filed the same before, and have it already.",
            examples=[_URL],
        ),
    ]


class Filed(Succeeded):
    data: FiledData


class ReportData(Shape):
    domain: HostName
    code: _Code
    reason: Annotated[
        str, Field(description="What you wrote.", examples=["Every call has answered 410 since last week."])
    ]
    state: Annotated[
        Literal["open", "in_review", "accepted", "rejected"],
        Field(json_schema_extra={"enum": list(STATES)}, examples=["open"]),
    ]
    answer: Annotated[str | None, Field(description="Of this registry's operator.", examples=[None])]
    filed_at: Timestamp
    updated_at: Timestamp
    untrusted_text: UntrustedText


class ReportStatus(Succeeded):
    data: ReportData
