"""docs/requirements.md: every demand of the five specifications, and which findings report it."""

from collections.abc import Iterable

from registry.cli.pages.markdown import page, table
from registry.core.findings import Reason
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.requirements import OURS, REQUIREMENTS, Requirement
from registry.core.scoring.rubric import RUBRIC


def requirements_page() -> str:
    """Every demand of the five specifications, section by section."""
    counts = table(
        ("specification", "demands", "reported by findings", "not to be seen from outside"),
        (
            (f"[{FORMAT_BY_SLUG[slug].spec}](#{slug})", str(len(rows)), str(_seen(rows)), str(len(rows) - _seen(rows)))
            for slug, rows in REQUIREMENTS.items()
        ),
    )
    return page(
        "Requirements",
        "Every demand of the five specifications that waypost grades by, in our words: what they write in capitals or "
        "mark as required, their numbered rules and guidelines, and the types, words, lengths and sizes that they "
        "state. Each is reported by findings, whose sentences, prices and remedies are in [rubric.md](rubric.md), or "
        "the table says why no visit could see it, or where waypost itself keeps to it.",
        "*Level*: the word of the text; `LIMIT` where the text states a type, a set of words, a form, a length or a "
        "size without such a word; `REQUIRED` also for columns of that name. How severe a finding is follows from what "
        "the breach means for a reader, not from the word alone: an *error* makes the part unusable, a *warning* "
        "leaves its meaning clear, *info* is a note.",
        counts,
        *(_specification(slug, rows) for slug, rows in REQUIREMENTS.items()),
        "## Rules of our own",
        "Findings of the five formats that no demand of their texts is behind.",
        table(
            ("finding", "why"), ((_reported([reason]), f"{why[0].upper()}{why[1:]}.") for reason, why in OURS.items())
        ),
    )


def _seen(rows: Iterable[Requirement]) -> int:
    return sum(bool(row.reasons) for row in rows)


def _specification(slug: str, rows: Iterable[Requirement]) -> str:
    return "\n\n".join(
        [
            f'<a id="{slug}"></a>',
            f"## {FORMAT_BY_SLUG[slug].spec}",
            table(
                ("section", "level", "demand", "reported by"),
                ((row.section, row.level, row.says, _reported(row.reasons) or row.unseen) for row in rows),
            ),
        ]
    )


def _reported(reasons: Iterable[Reason]) -> str:
    return ", ".join(f"`{reason}` ({RUBRIC[reason].severity})" for reason in reasons)
