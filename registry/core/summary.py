"""What the answers of one visit say together: what is here, where the host went, and one outcome for all of it.

Every host ends with a stored outcome (probe-plan.md section 7).
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from registry.core.documents import ABSENCE, Outcome, Purpose
from registry.core.domains import host_of
from registry.core.format import Role
from registry.core.probes import Seen, words_in
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.visits import Answer

_TELLING: Final = {Outcome.NEGATIVE: 0, Outcome.MALFORMED: 1, Outcome.GONE: 2, Outcome.NOT_A_MANIFEST: 3}
_PAGES: Final = frozenset({"html", "empty", "text"})  # a page at a manifest's path says no more than its absence
_ASKED: Final = frozenset({Purpose.MANIFEST, Purpose.POINTER})
_NEVER_LED: Final = frozenset({403, 429})


def served_here(answer: Answer, host: str) -> bool:
    return answer.fetched.final_url.startswith(f"https://{host}/")


def found(answers: Sequence[Answer], host: str) -> list[Answer]:
    """The documents that this host served."""
    return [one for one in answers if one.assessment.outcome is Outcome.FOUND and served_here(one, host)]


def summarise(host: str, answers: Sequence[Answer], known: Collection[str]) -> tuple[Outcome, str]:
    """FOUND when the host served a document that makes it a service, else the most informative reason why not.

    `known` are the URLs of documents it served before: what became of them says more than any other path.
    """
    here = found(answers, host)
    services = [one for one in here if _makes_a_service(one)]
    if services:
        return Outcome.FOUND, services[0].assessment.format or ""
    asked = [one for one in answers if one.probe.purpose in _ASKED]
    lost = [one for one in asked if one.probe.url in known and one.assessment.outcome is not Outcome.FOUND]
    if lost:
        return _verdict(lost[0])
    others = sorted({one.assessment.format or "" for one in here})
    telling = [one for one in asked if one.assessment.outcome in _TELLING and one.assessment.reason not in _PAGES]
    if telling:
        first = min(telling, key=lambda one: _TELLING[one.assessment.outcome])
        if first.assessment.outcome is not Outcome.NOT_A_MANIFEST or not others:
            return _verdict(first)
    if others:
        return Outcome.NOT_A_MANIFEST, "only " + ", ".join(others)
    return _most_common(asked or answers)


def moved_to(host: str, home: Answer | None, control: Answer | None) -> str | None:
    """The host that the front page and a random name both went to, the name under its path: the whole host moved."""
    if home is None or control is None or not control.fetched.final_url.endswith(_path(control.probe.url)):
        return None
    there = host_of(home.fetched.final_url)
    return there if there != host and there == host_of(control.fetched.final_url) else None


def gone_away(home: Answer | None, control: Answer | None) -> str | None:
    """The reason, where front page and a random name both lead to the same other site."""
    if home is None or control is None or home.assessment.outcome is not Outcome.REDIRECTED_AWAY:
        return None
    return home.assessment.reason if _verdict(home) == _verdict(control) else None


def only_refusals(answers: Sequence[Answer]) -> bool:
    """Whether every path so far was answered with 403 or 429: guessing on would only annoy."""
    asked = (Purpose.HOME, Purpose.CONTROL, Purpose.MANIFEST)
    statuses = [one.fetched.status for one in answers if one.probe.purpose in asked]
    return bool(statuses) and all(status in _NEVER_LED for status in statuses)


def seen(host: str, answers: Sequence[Answer], home: frozenset[str]) -> Seen:
    """The facts that conditional probes hang on. `home`: what the front page names (`words_in`)."""
    here = found(answers, host)
    return Seen(
        label=host.partition(".")[0],
        formats=frozenset(one.assessment.format or "" for one in here),
        outcomes={_path(one.probe.url): one.assessment.outcome for one in answers if host_of(one.probe.url) == host},
        words=home.union(*(words_in(one.fetched.body) for one in here)),
        rpc_here=any(_offers_rpc(one, host) for one in here),
    )


def _most_common(answers: Sequence[Answer]) -> tuple[Outcome, str]:
    """Absence when any path said so: what is unknown about the rest is unknown about paths, not about the host."""
    verdicts = [_verdict(one) for one in answers if one.assessment.outcome is not Outcome.SKIPPED]
    absences = [verdict for verdict in verdicts if verdict[0] in ABSENCE]
    counted = Counter(absences or verdicts).most_common(1)
    return counted[0][0] if counted else (Outcome.SKIPPED, "nothing_asked")


def _verdict(answer: Answer) -> tuple[Outcome, str]:
    return answer.assessment.outcome, answer.assessment.reason


def _makes_a_service(answer: Answer) -> bool:
    form = FORMAT_BY_SLUG.get(answer.assessment.format or "")
    return form is not None and form.role is Role.SERVICE


def _offers_rpc(answer: Answer, host: str) -> bool:
    service = answer.assessment.service
    if service is None:
        return False
    return any(one.id in ("mcp", "a2a") and one.endpoint and host_of(one.endpoint) == host for one in service.protocols)


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]
