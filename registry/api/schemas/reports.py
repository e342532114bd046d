"""Reports about hosts."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, TypeAdapter

from registry.actions.reports.filing import MOST_OF_REPORT
from registry.actions.reports.reading import MOST_TEXTS
from registry.api.schemas.admin import NextCursor
from registry.api.schemas.base import EXAMPLE_HOST, HostName, Shape, Succeeded, Timestamp, UntrustedText
from registry.core.model.reports import ANSWER_CHARS, CODE_MEANS, CODES, LEAST_REASON_CHARS, REASON_CHARS, STATES

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
_State = Annotated[
    Literal["open", "in_review", "accepted", "rejected"],
    Field(json_schema_extra={"enum": list(STATES)}, examples=["open"]),
]
_Answer = Annotated[str | None, Field(description="Of this registry's operator.", examples=[None])]


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
            description="The secret address of the answer; null: you filed the same before and have it already, or "
            "the report was only counted.",
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
    state: _State
    answer: _Answer
    filed_at: Timestamp
    updated_at: Timestamp
    untrusted_text: UntrustedText


class ReportStatus(Succeeded):
    data: ReportData


class AboutReport(Shape):
    id: Annotated[str, Field(examples=["0193a5a4-7a10-7cc3-9f00-1d2c3b4a5968"])]
    domain: HostName
    code: _Code
    state: _State
    answer: _Answer
    filings: Annotated[
        int,
        Field(
            description=f"How often it was filed. Up to {MOST_OF_REPORT}, by as many clients; further ones are counted "
            "without telling clients apart.",
            examples=[1],
        ),
    ]
    filed_at: Timestamp
    updated_at: Timestamp


class FiledReport(AboutReport):
    texts: Annotated[
        Sequence[str],
        Field(
            description=f"What was written, the first {MOST_TEXTS}.",
            examples=[["Every call has answered 410 since last week."]],
        ),
    ]


class ReportsData(Shape):
    reports: list[FiledReport]
    cursor: NextCursor
    untrusted_text: UntrustedText


class Reports(Succeeded):
    data: ReportsData


class Resolution(Shape):
    state: _State
    answer: NotRequired[
        Annotated[
            str,
            Field(
                max_length=ANSWER_CHARS,
                description="Read by the owner of the host and by everyone who filed the report.",
                examples=["It answers again."],
            ),
        ]
    ]


RESOLUTION_SCHEMA: Final[dict[str, Any]] = TypeAdapter(Resolution).json_schema(
    ref_template="#/components/schemas/{model}"
)


class ResolvedData(AboutReport):
    changed: Annotated[bool, Field(description="false: it was so before.", examples=[True])]


class ReportResolved(Succeeded):
    data: ResolvedData
