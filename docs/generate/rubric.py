"""docs/rubric.md: all rules by section, and how a score is computed from them."""

from collections.abc import Iterable

from docs.generate.markdown import page, table
from registry.core.model.findings import Rule, Section
from registry.core.scoring.rubric import BESIDE, METHOD, QUESTIONS, RUBRIC, SECTION_POINTS, VERSION


def rubric_page() -> str:
    """Return the page."""
    sections = table(
        ("section", "points", "question"),
        ((section.value, f"{points:g}", QUESTIONS[section]) for section, points in SECTION_POINTS.items()),
    )
    return page(
        "Rubric",
        f"Version `{VERSION}`. Every sentence, price and remedy below belongs to a rule: those of a format stand in "
        "its folder, `registry/core/formats/<slug>/rules.py`. The API serves the same rules at `/api/rubric`.",
        "## How a score is made",
        "A service starts with all points of all sections and only ever loses points, each to a reason:",
        sections,
        "\n".join(f"{number}. {step}" for number, step in enumerate(METHOD, 1)),
        "Shown beside the score, and no part of it:",
        "\n".join(f"- {note}" for note in BESIDE),
        "The version, the lines and the facts they were computed from are stored with the score, so that what is shown "
        "is what was computed; `waypost rescore` applies a new table to stored documents without asking any site.",
        *(_rubric_section(section) for section in SECTION_POINTS),
    )


def _rubric_section(section: Section) -> str:
    rules = sorted((rule for rule in RUBRIC.values() if rule.section is section), key=lambda rule: -rule.points)
    costly = [rule for rule in rules if rule.points]
    notes = [rule for rule in rules if not rule.points]
    parts = [f"## {section.value.capitalize()}: {SECTION_POINTS[section]:g} points", _rules_table(costly)]
    if notes:
        parts += ["Without price: notes, and what keeps a document from being scored at all.", _rules_table(notes)]
    return "\n\n".join(parts)


def _rules_table(rules: Iterable[Rule]) -> str:
    return table(
        ("reason", "severity", "points", "what was seen", "remedy", "reference"),
        ((f"`{rule.code}`", rule.severity, f"{rule.points:g}", rule.says, rule.fix, rule.spec) for rule in rules),
    )
