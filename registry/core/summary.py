"""One outcome for one visit of a host: every host ends with a stored outcome (probe-plan.md section 7)."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from registry.core.documents import ABSENCE, Outcome, Purpose
from registry.core.domains import host_of
from registry.core.format import Role
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.visits import Answer

_TELLING: Final = (Outcome.NEGATIVE, Outcome.MALFORMED)
_ASKED: Final = frozenset({Purpose.MANIFEST, Purpose.POINTER})


def served_here(answer: Answer, host: str) -> bool:
    return host_of(answer.fetched.final_url) == host


def found(answers: Sequence[Answer], host: str) -> list[Answer]:
    """The documents that this host served."""
    return [one for one in answers if one.assessment.outcome is Outcome.FOUND and served_here(one, host)]


def summarise(host: str, answers: Sequence[Answer], known: Collection[str]) -> tuple[Outcome, str]:
    """FOUND when the host served a document that makes it a service, else the most informative reason why not.

    `known` are the URLs of documents it served before: what became of them says more than any other path.
    """
    services = [one for one in found(answers, host) if _makes_a_service(one)]
    if services:
        return Outcome.FOUND, services[0].assessment.format or ""
    asked = [one for one in answers if one.probe.purpose in _ASKED]
    lost = [one for one in asked if one.probe.url in known and one.assessment.outcome is not Outcome.FOUND]
    telling = [one for one in asked if one.assessment.outcome in _TELLING]
    for group in (lost, telling):
        if group:
            return _of(group[0])
    others = sorted({one.assessment.format or "" for one in found(answers, host)})
    if others:
        return Outcome.NOT_A_MANIFEST, "only " + ", ".join(others)
    return _most_common(asked or list(answers))


def _most_common(answers: Sequence[Answer]) -> tuple[Outcome, str]:
    """Absence when any path said so: what is unknown about the rest is unknown about paths, not about the host."""
    verdicts = [_of(one) for one in answers if one.assessment.outcome is not Outcome.SKIPPED]
    absences = [verdict for verdict in verdicts if verdict[0] in ABSENCE]
    counted = Counter(absences or verdicts).most_common(1)
    return counted[0][0] if counted else (Outcome.SKIPPED, "nothing_asked")


def _of(answer: Answer) -> tuple[Outcome, str]:
    return answer.assessment.outcome, answer.assessment.reason


def _makes_a_service(answer: Answer) -> bool:
    form = FORMAT_BY_SLUG.get(answer.assessment.format or "")
    return form is not None and form.role is Role.SERVICE
