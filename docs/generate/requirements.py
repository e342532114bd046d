"""docs/requirements.md: every requirement of the five specifications, and the findings that report it."""

from collections.abc import Iterable

from docs.generate.markdown import page, table
from registry.core.format_support.format import Format
from registry.core.format_support.requirements import Requirement, RequirementVerdict
from registry.core.model.findings import Rule
from registry.core.scoring.rubric import RUBRIC
from registry.core.scoring.score import checks, specified


def requirements_page() -> str:
    """Return the page."""
    verdicts = list(RequirementVerdict)
    counts = table(
        ("specification", "demands", "reported by findings", *(verdict.value for verdict in verdicts)),
        (
            (
                f"[{form.spec}](#{form.slug})",
                str(len(form.requirements)),
                str(_count(form, None)),
                *(str(_count(form, verdict)) for verdict in verdicts),
            )
            for form in specified()
        ),
    )
    return page(
        "Requirements",
        "Every demand of the five specifications that waypost grades by, in our words: what they write in capitals or "
        "mark as required, their numbered rules and guidelines, and the types, words, lengths and sizes that they "
        "state. Each is reported by findings, whose sentences, prices and remedies are in [rubric.md](rubric.md), or "
        "the table says why not:",
        "- *binds us*: it is about clients or registries, and the table says where waypost keeps to it.\n"
        "- *binds callers*: it is about agents that call the service; waypost calls none.\n"
        "- *not observable*: no visit shows it, as visits are made: GET requests over https, of documents.\n"
        "- *not graded*: a visit may show it, but nothing is concluded from it, for the reason given.",
        "Some findings need more than one answer: whether `If-None-Match` is honoured shows on a revisit, a breaking "
        "change in the previous version of the document, a link in the front page that every whole plan requests.",
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


def _count(form: Format, verdict: RequirementVerdict | None) -> int:
    return sum((row.remark.verdict if row.remark else None) is verdict for row in form.requirements)


def _specification(form: Format) -> str:
    rules_by_requirement = checks(form)
    return "\n\n".join(
        [
            f'<a id="{form.slug}"></a>',
            f"## {form.spec}",
            table(
                ("section", "level", "demand", "reported by"),
                (
                    (row.section, row.level, row.says, _reported_by(row, rules_by_requirement[row.id]))
                    for row in form.requirements
                ),
            ),
        ]
    )


def _reported_by(row: Requirement, rules: Iterable[Rule]) -> str:
    if row.remark is None:
        return _finding_codes(rules)
    return f"*{row.remark.verdict.value}*" + (f": {row.remark.text}" if row.remark.text else "")


def _finding_codes(rules: Iterable[Rule]) -> str:
    return ", ".join(f"`{rule.code}` ({rule.severity})" for rule in rules)
