"""Merge the documents of one host into one service with per-field provenance (docs/merge.md).

Findings that need two documents are made in `merging/`; each contradiction names the documents, by path, and what each
states. Documents come with their assessments; nothing is read or fetched. A site's wishes about training and
attribution come from `policies` (ATP 0.1 section 3.8) and from robots.txt: `Content-Usage` (draft-ietf-aipref-attach,
category `train-ai`) and `Content-Signal` (`ai-train`). A refusal in either holds. An unknown word is no permission.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal

from registry.core.format_support import common_rules
from registry.core.format_support.format import Role
from registry.core.format_support.public_addresses import public_merged
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging import held, rules
from registry.core.merging.access import complete_auth, set_metadata_aside
from registry.core.merging.claims import claims, look_alikes, mark_off_site, with_signatures
from registry.core.merging.details import with_details, with_tool_lists
from registry.core.merging.fields import Parts, is_host_name, unite_parts
from registry.core.merging.held import HeldDocument, LocatedFinding, MergeResult, finding
from registry.core.merging.listing import reason_not_to_list
from registry.core.merging.referrals import with_referrals
from registry.core.model.documents import Outcome
from registry.core.model.findings import Finding
from registry.core.model.services import Auth, Origin, Policies
from registry.core.names.domains import registrable_domain
from registry.core.visiting.results import observed
from registry.core.visiting.robots import CAP, PRODUCT
from registry.core.visiting.visits import ProbeResult

_VALUE_CHARS = 60
_BROKEN: Final = frozenset({Outcome.MALFORMED, Outcome.NEGATIVE})
"""Outcomes of documents that do not count; their findings state why."""


def conflicts(parts: Parts) -> Iterator[Finding]:
    """Yield a finding per contradiction. `parts` are in order of precedence: the first document named counts."""
    names = []
    for origin, service in parts:
        form = FORMAT_BY_SLUG.get(origin.format)
        is_of_service = form is not None and form.role is not Role.TEXT and not is_host_name(origin, service.name)
        if service.name and is_of_service:  # more than the host's name, or the title of a text
            names.append((origin, service.name.strip()))
    if len({held.same_name(name) for _, name in names}) > 1:
        yield finding(rules.CONFLICT_NAME, "/name", _evidence(names))
    auths = [(origin, service.auth) for origin, service in parts]
    if {_requires_auth(auth) for _, auth in auths} >= {True, False}:
        auth_texts = []
        for origin, auth in auths:
            if auth != Auth():
                schemes = ",".join(dict.fromkeys(scheme.type for scheme in auth.schemes)) or "-"
                word = {None: "", True: " required", False: " not required"}[auth.required]
                auth_texts.append((origin, schemes + word))
        yield finding(rules.CONFLICT_AUTH, "/auth", _evidence(auth_texts))
    models = [(origin, service.pricing.model) for origin, service in parts if service.pricing.model != "unknown"]
    if len({model for _, model in models}) > 1:
        yield finding(rules.CONFLICT_PRICING, "/pricing", _evidence(models))


def _evidence(stated_values: Iterable[tuple[Origin, str]]) -> str:
    """Name one document for each distinct value."""
    distinct: dict[str, tuple[Origin, str]] = {}
    for origin, value in stated_values:
        distinct.setdefault(held.same_name(value), (origin, value))
    return " | ".join(f"{held.path_of(origin.document)}: {value[:_VALUE_CHARS]}" for origin, value in distinct.values())


def _requires_auth(auth: Auth) -> bool | None:
    """Return whether a caller has to authenticate, as listed schemes imply; None if the document does not state it."""
    if auth.required is not None or not auth.schemes:
        return auth.required
    return any(scheme.type != "none" for scheme in auth.schemes)


__all__ = ["HeldDocument", "LocatedFinding", "MergeResult", "held_from", "merge"]


def held_from(answer: ProbeResult, answers: Sequence[ProbeResult] = ()) -> HeldDocument:
    """Return the answer that the crawler brought back as a document that its host holds. `answers`: of its visit."""
    probe, fetched = answer.probe, answer.fetched
    seen = observed(answers, probe.url)
    return HeldDocument(fetched.final_url, probe.url, answer.assessment, fetched.sha256, fetched.at, probe.via, seen)


def merge(host: str, host_documents: Sequence[HeldDocument]) -> MergeResult:
    """Return one service from all current documents of `host`, in any order. Never raises on assessed documents."""
    host_documents = sorted(host_documents, key=held.precedence_of)
    documents = with_tool_lists(held.distinct_descriptions(host_documents))
    findings = [
        LocatedFinding(one, document.url)
        for document in chain(documents, (one for one in host_documents if one.assessment.outcome in _BROKEN))
        for one in document.assessment.findings
    ]
    findings += held.observations_of(documents)
    documents, detail_findings = with_details(documents, host_documents)
    documents, signature_findings = with_signatures(documents, host)
    documents, pointer_findings = with_referrals(documents, host_documents, host)
    findings += (*detail_findings, *signature_findings, *pointer_findings)
    formats = tuple(dict.fromkeys(one.assessment.format for one in documents if one.assessment.format))
    formats_and_urls = formats, tuple(document.url for document in documents)
    stated = set_metadata_aside(documents)
    parts = [(held.origin_of(one), one.assessment.service) for one in stated if one.assessment.service is not None]
    service = complete_auth(unite_parts(parts), documents, host)
    service, left_out = public_merged(service, host)  # guard: merge-gate
    findings += [LocatedFinding(finding(common_rules.ADDRESS_NOT_PUBLIC, "", address)) for address in left_out]
    reason = reason_not_to_list(documents, service, host) if documents else None
    if reason is not None or not documents:
        findings += [LocatedFinding(finding(reason, "", ", ".join(formats)))] if reason else []
        return MergeResult(None, tuple(findings), *formats_and_urls)
    service, off_site_findings = mark_off_site(service, registrable_domain(host))
    findings += (LocatedFinding(one) for one in chain(conflicts(parts), off_site_findings))
    findings += [one for one in claims(parts) if one not in findings]  # a claimed domain is the name in some formats
    findings += look_alikes(host, service)
    return MergeResult(service, tuple(findings), *formats_and_urls)


Training = Literal["allowed", "conditional", "forbidden", "unstated"]

_MAX_LINES: Final = 10_000
_LINE = re.compile(r"\s*(user-agent|content-usage|content-signal|allow|disallow|crawl-delay)\s*:\s*([^#]*)", re.I)
_TRAINING = re.compile(r"(?:^|[\s,;])(?:train-ai|ai-train|train)\s*=\s*\"?([a-z]+)", re.I)
_PATH = re.compile(r"(/\S*)\s+(.*)")
_ALLOWED: Final = frozenset({"allow", "allowed", "yes", "y", "true", "permitted", "permit"})
_CONDITIONAL: Final = frozenset({"conditional", "conditions", "license", "licence", "ask"})
_NO_ATTRIBUTION: Final = frozenset({"none", "no", "not_required", "false"})
_RANK: Final[dict[Training, int]] = {"unstated": 0, "allowed": 1, "conditional": 2, "forbidden": 3}


@dataclass(frozen=True, slots=True)
class Usage:
    """`training`: may models be trained on the texts. `attribution`: must their source be named. `stated`: what the
    documents say, as written; `robots`: the value of the preference in robots.txt, as written."""

    training: Training = "unstated"
    attribution: bool = False
    stated: tuple[tuple[str, str], ...] = ()
    robots: str | None = None

    @property
    def is_restricted(self) -> bool:
        """Return whether the site says anything about training except that it is allowed."""
        return self.training in ("forbidden", "conditional")

    def to_json(self) -> dict[str, Any]:
        return {
            "training": self.training,
            "attribution": "required" if self.attribution else "unstated",
            "stated": dict(self.stated),
            "robots": self.robots,
        }


def usage_of(policies: Policies, robots: bytes | None = None, preference: str | None = None) -> Usage:
    """Return a site's wishes. `robots`: the body of its robots.txt, if any; `preference`: the value that another
    registry read there."""
    if robots:
        preference = _preference(robots) or preference
    views = [_training(policies.training)]
    if preference is not None:
        views.append("forbidden" if preference[:1].lower() == "n" else _training(preference))
    words = {"training": policies.training, "inference": policies.inference, "caching": policies.caching,
             "attribution": policies.attribution, "terms_url": policies.terms_url}  # fmt: skip
    attribution = (policies.attribution or "").strip().lower()
    return Usage(
        max(views, key=_RANK.__getitem__),
        bool(attribution) and attribution not in _NO_ATTRIBUTION and attribution != "preferred",
        tuple((name, word) for name, word in words.items() if word),
        preference,
    )


def _training(word: str | None) -> Training:
    word = (word or "").strip().lower()
    if not word:
        return "unstated"
    if word in _ALLOWED:
        return "allowed"
    return "conditional" if word in _CONDITIONAL else "forbidden"


def _preference(body: bytes) -> str | None:
    """Return the preference on training of the group for this crawler, else of the group for all (RFC 9309, 2.2.1). A
    line for a path below the root says nothing about the site as a whole. Of several lines a refusal counts."""
    groups: dict[bool, list[str]] = {True: [], False: []}  # by whether the group names this crawler
    agents: set[str] = set()
    is_open = False  # whether the last line named an agent, so that the next one belongs to the same group
    for line in body[:CAP].decode("utf-8", "replace").splitlines()[:_MAX_LINES]:
        match = _LINE.match(line)
        if match is None:
            continue
        name, value = match[1].lower(), match[2].strip()
        if name == "user-agent":
            agents = {*(agents if is_open else ()), value.lower()}
            is_open = True
            continue
        is_open = False
        if name not in ("content-usage", "content-signal"):
            continue
        path = _PATH.fullmatch(value)
        if path is not None and path[1] != "/":
            continue
        found = _TRAINING.search(path[2] if path is not None else value)
        if found is not None:
            if PRODUCT.lower() in agents:
                groups[True].append(found[1])
            if "*" in agents or not agents:
                groups[False].append(found[1])
    values = groups[True] or groups[False]
    return min(values, key=lambda value: value[:1].lower() != "n", default=None)
