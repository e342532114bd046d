"""The demands of a specification in a table. Each row names the rules that check it, or says why none does."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, TypeAlias

from registry.core.format_support.shapes import Kind
from registry.core.model.findings import Rule


class RequirementLevel(StrEnum):
    """How strongly the specification demands it."""

    MUST = "MUST"  # also MUST NOT
    SHOULD = "SHOULD"  # also SHOULD NOT, and a plain "should" of texts without capitals
    RECOMMENDED = "RECOMMENDED"  # also best practices and guidelines
    REQUIRED = "REQUIRED"  # a member marked required, in a table or in the outline of an object
    LIMIT = "LIMIT"  # a type, a set of words, a form, a length or a size, stated without any of these words


MUST, SHOULD, RECOMMENDED, REQUIRED, LIMIT = RequirementLevel


class RequirementVerdict(StrEnum):
    """Why no finding reports a requirement. OURS and CALLERS bind another party than the site."""

    OURS = "binds us"  # clients and registries: waypost keeps to it
    CALLERS = "binds callers"  # agents that call the service: waypost calls none
    NOT_OBSERVABLE = "not observable"  # no visit shows it, as visits are made
    NOT_GRADED = "not graded"  # a visit may show it, but nothing is concluded from it


@dataclass(frozen=True, slots=True)
class Remark:
    """The reason why no finding reports a requirement. `text` may be "" for CALLERS."""

    verdict: RequirementVerdict
    text: str


ours = partial(Remark, RequirementVerdict.OURS)
callers = partial(Remark, RequirementVerdict.CALLERS)
not_observable = partial(Remark, RequirementVerdict.NOT_OBSERVABLE)
not_graded = partial(Remark, RequirementVerdict.NOT_GRADED)

CALLER: Final = callers("")
RUNTIME: Final = not_observable("Shows only when the service is called; waypost reads documents and calls no service.")
AUTHOR: Final = not_observable("Only its author knows; a document does not show it.")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A demand of a specification, paraphrased. `section`: number or heading. `checked_by`: codes of rules. `remark`:
    why no rule checks it, None if one does."""

    id: str
    section: str
    level: RequirementLevel
    says: str
    remark: Remark | None
    checked_by: tuple[str, ...]


Row: TypeAlias = tuple[str, RequirementLevel, str, *tuple[Rule | str | Remark, ...]]
"""The end of the id, level, demand, and the rules that check it, those of other modules by their code; or a remark."""


def requirements_of(
    slug: str, sections: Mapping[str, Sequence[Row]], *, numbered: bool = True
) -> tuple[Requirement, ...]:
    """Return the rows of all sections. Ids begin with the slug and, if `numbered`, with the section's number."""
    return tuple(
        Requirement(
            "-".join((slug, section.partition(",")[0], end) if numbered else (slug, end)),
            section,
            level,
            says,
            next((remark for remark in checks if isinstance(remark, Remark)), None),
            tuple(rule.code if isinstance(rule, Rule) else rule for rule in checks if not isinstance(rule, Remark)),
        )
        for section, rows in sections.items()
        for end, level, says, *checks in rows
    )


def codes_in(requirements: Iterable[Requirement]) -> frozenset[str]:
    """Return the codes of the rules that check any of the requirements."""
    return frozenset(code for requirement in requirements for code in requirement.checked_by)


def type_rows(
    kinds: Mapping[str, Kind],
    rule: Rule,
    *,
    words: Rule | None = None,
    without: Collection[str] = (),
    prefix: str = "",
    of: str = "",
) -> Iterator[Row]:
    """Yield the demand for the type of each member in a table of `check_types`, which notes the same rules. `without`:
    members with rows of their own. `of`: the member that holds these."""
    for name, kind in kinds.items():
        member = f"{of}.{name}" if of else name
        end, says = prefix + re.sub("[._]", "-", member), f"{member} is {kind.says}"
        if name in without:
            continue
        if kind.words and words is not None:
            yield end, LIMIT, says, rule, words
        else:
            yield f"{end}-type", LIMIT, says, rule
