"""docs/rubric.md: the whole table, by section, and how a score is made of it."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from registry.cli.pages.markdown import page, table
from registry.core.findings import Reason
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION, Rule, Section

_SECTIONS: Mapping[Section, str] = MappingProxyType(
    {
        Section.CONFORMANCE: "Does the document follow its own specification?",
        Section.COMPLETENESS: "Does an agent learn what it needs?",
        Section.SAFETY: "Are side effects told, and may the endpoints be called?",
        Section.OPERABILITY: "Is it served so that clients can use it?",
        Section.IDENTITY: "Does the host speak for itself?",
    }
)


def rubric_page() -> str:
    """The whole table, by section, and how a score is made of it."""
    sections = table(
        ("section", "points", "question"), ((s.value, f"{p:g}", _SECTIONS[s]) for s, p in SECTION_POINTS.items())
    )
    return page(
        "Rubric",
        f"Version `{VERSION}`. Every sentence, price and remedy below is a row of `registry/core/scoring/rubric.py`; "
        "the API serves the same rows at `/api/rubric`.",
        "## How a score is made",
        "A service starts with all points of all sections and only ever loses points, each to a reason:",
        sections,
        "1. The current documents of the host are merged into one service. Their findings, those that need two "
        "documents, and what no document says (`service.*`, `capability.*`) are collected. The silence of a format "
        "that has no place for something is no finding.\n"
        "2. Findings of one reason in one document are one line. It costs the points of its row, however often it was "
        "found; where it touches only some of the capabilities, their share of the points, at least a quarter.\n"
        "3. Each section keeps its points less those of its lines, never below zero. The score is the rounded sum.\n"
        "4. Severity does not change the price. An *error* means that a consumer cannot use the part, which is left "
        "out; a *warning* is a deviation whose meaning is clear; *info* is a note. A service whose documents have an "
        "error is not `verified`.",
        "The version, the lines and the facts they were computed from are stored with the score, so that what is shown "
        "is what was computed; `waypost rescore` applies a new table to stored documents without asking any site. Time "
        "alone changes no score, and only documents that were found are scored.",
        *(_rubric_section(section) for section in SECTION_POINTS),
    )


def _rubric_section(section: Section) -> str:
    rows = sorted(
        ((reason, rule) for reason, rule in RUBRIC.items() if rule.section is section),
        key=lambda row: -row[1].points,
    )
    costly = [row for row in rows if row[1].points]
    notes = [row for row in rows if not row[1].points]
    parts = [f"## {section.value.capitalize()}: {SECTION_POINTS[section]:g} points", _rules_table(costly)]
    if notes:
        parts += ["Without price: notes, and what keeps a document from being scored at all.", _rules_table(notes)]
    return "\n\n".join(parts)


def _rules_table(rows: Iterable[tuple[Reason, Rule]]) -> str:
    return table(
        ("reason", "severity", "points", "what was seen", "remedy", "reference"),
        ((f"`{reason}`", rule.severity, f"{rule.points:g}", rule.says, rule.fix, rule.spec) for reason, rule in rows),
    )
