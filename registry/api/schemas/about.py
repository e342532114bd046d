"""How this registry works: the rubric and the problem types."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from registry.api.schemas.base import Severity, Shape, Succeeded, TrustReason
from registry.edge.problems import ProblemType


class RubricRule(Shape):
    reason: str
    severity: Severity
    section: str
    points: float
    says: str
    fix: str
    spec: str


class FormatRow(Shape):
    slug: str
    title: str
    spec: str
    paths: Sequence[str]
    role: str


class RubricSection(Shape):
    section: str
    points: Annotated[int, Field(description="All of them; a score is the sum of what is left of each section.")]
    question: str


class TrustLevelRow(Shape):
    trust_level: str
    checked: Annotated[str, Field(description="The value of `trust.checked`.")]
    means: str


class TrustTable(Shape):
    levels: list[TrustLevelRow]
    reasons: Annotated[list[TrustReason], Field(description="Why a level is not higher, the gravest first.")]


class Rubric(Succeeded):
    version: str
    sections: dict[str, int]
    about_sections: list[RubricSection]
    method: Annotated[Sequence[str], Field(description="How a score is computed, step by step.")]
    beside: Annotated[Sequence[str], Field(description="What is shown beside a score but is not part of it.")]
    trust: Annotated[TrustTable, Field(description="What trust levels mean. They do not follow from the score.")]
    data: list[RubricRule]
    formats: list[FormatRow]


class ProblemTypes(Succeeded):
    data: Sequence[ProblemType]


class OneProblemType(Succeeded):
    data: ProblemType
