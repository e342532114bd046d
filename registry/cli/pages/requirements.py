"""docs/requirements.md: every requirement of the five specifications, and which findings report it."""

from collections.abc import Iterable

from registry.cli.pages.markdown import page, table
from registry.core.format_support.format import Format
from registry.core.model.findings import Rule
from registry.core.scoring.coverage import checks, specified
from registry.core.scoring.rubric import RUBRIC


def requirements_page() -> str:
    """Return the page."""
    counts = table(
        ("specification", "demands", "reported by findings", "not to be seen from outside"),
        (
            (
                f"[{form.spec}](#{form.slug})",
                str(len(form.requirements)),
                str(len(form.requirements) - unobservable),
                str(unobservable),
            )
            for form, unobservable in ((form, _unobservable(form)) for form in specified())
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
        *(_specification(form) for form in specified()),
        "## Rules of our own",
        "Rules of the five formats that no demand of their texts is behind.",
        table(
            ("finding", "why"), ((_finding_codes([rule]), rule.rationale) for rule in RUBRIC.values() if rule.rationale)
        ),
    )


def _unobservable(form: Format) -> int:
    return sum(bool(row.unobservable) for row in form.requirements)


def _specification(form: Format) -> str:
    rules_by_requirement = checks(form)
    return "\n\n".join(
        [
            f'<a id="{form.slug}"></a>',
            f"## {form.spec}",
            table(
                ("section", "level", "demand", "reported by"),
                (
                    (row.section, row.level, row.says, _finding_codes(rules_by_requirement[row.id]) or row.unobservable)
                    for row in form.requirements
                ),
            ),
        ]
    )


def _finding_codes(rules: Iterable[Rule]) -> str:
    return ", ".join(f"`{rule.code}` ({rule.severity})" for rule in rules)
