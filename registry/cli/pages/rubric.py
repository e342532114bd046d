"""docs/rubric.md: the whole table, by section, and how a score is made of it."""

from collections.abc import Iterable

from registry.cli.pages.markdown import page, table
from registry.core.findings import Reason
from registry.core.scoring.method import BESIDE, METHOD, QUESTIONS
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION, Rule, Section


def rubric_page() -> str:
    """The whole table, by section, and how a score is made of it."""
    sections = table(
        ("section", "points", "question"), ((s.value, f"{p:g}", QUESTIONS[s]) for s, p in SECTION_POINTS.items())
    )
    return page(
        "Rubric",
        f"Version `{VERSION}`. Every sentence, price and remedy below is a row of `registry/core/scoring/rubric.py`; "
        "the API serves the same rows at `/api/rubric`.",
        "## How a score is made",
        "A service starts with all points of all sections and only ever loses points, each to a reason:",
        sections,
        "\n".join(f"{number}. {step}" for number, step in enumerate(METHOD, 1)),
        "Shown beside the score, and no part of it:",
        "\n".join(f"- {one}" for one in BESIDE),
        "The version, the lines and the facts they were computed from are stored with the score, so that what is shown "
        "is what was computed; `waypost rescore` applies a new table to stored documents without asking any site.",
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
