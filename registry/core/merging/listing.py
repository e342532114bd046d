"""Make the listing of a merged service for search and the interfaces, or say why the host is not listed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final

from registry.core.format_support import common_rules
from registry.core.format_support.endpoints import is_sample
from registry.core.format_support.format import Role
from registry.core.formats.adp import manifest_view
from registry.core.merging import rules
from registry.core.merging.categories import category_of
from registry.core.merging.claims import resemblance
from registry.core.merging.held import HeldDocument, role_of
from registry.core.model.findings import Rule
from registry.core.model.listing import AuthKind, ListedCapability, Listing, PricingKind, TrustLevel
from registry.core.model.services import Auth, Capability, Service, is_semantic_type
from registry.core.names.domains import host_of, same_site
from registry.core.names.inside import SAMPLE_DOMAINS
from registry.core.reading.plain_text import plain

KEYWORDS_CHARS: Final = 500


def make_listing(
    domain: str,
    host: str,
    service: Service,
    score: int,
    trust: TrustLevel,
    formats: Iterable[str],
    seen_on: date | None,
    trust_reasons: tuple[str, ...] = (),
    *,
    claims_site: bool = False,
) -> Listing:
    """Return the listing of a service for search and the interfaces. Texts are cleaned and cut; words are ADP's, and
    `unknown`. `formats` are slugs, or `slug/dialect` pairs, which count by their slug."""
    return Listing(
        domain=domain,
        host=host,
        name=manifest_view.service_name(host, service),
        description=plain(service.description or "", manifest_view.DESCRIPTION_CHARS),
        trust_level=trust,
        score=score,
        formats=tuple(dict.fromkeys(entry.partition("/")[0] for entry in formats)),
        auth_type=auth_kind(service),
        pricing_type=pricing_kind(service),
        protocols=tuple(sorted({protocol.id for protocol in service.protocols})),
        capabilities=tuple(
            ListedCapability(
                capability.name,
                plain(capability.description or "", manifest_view.CAPABILITY_DESCRIPTION_CHARS),
                capability.side_effects,
                tuple(tag for tag in capability.tags if is_semantic_type(tag)),
                _keywords(capability),
            )
            for capability in service.capabilities
        ),
        seen_on=seen_on,
        languages=service.languages,
        keywords=_keywords(service),
        category=category_of(service),
        trust_reasons=trust_reasons,
        resembles=resemblance(host, service),
        claims_site=claims_site,
    )


def auth_kind(service: Service) -> AuthKind:
    """Return ADP's kind of credential, `unknown` where ADP's default `none` would say more than the documents do.
    `none` is known where a document says that no credential is needed or names payment instead of one, for the service
    or for each of its calls."""
    kind = manifest_view.adp_auth_type(service)
    if kind != "none" or _needs_no_credential(service.auth):
        return kind
    calls = [call for capability in service.capabilities for call in capability.invocations]
    is_said = service.auth == Auth() and calls and all(call.auth and _needs_no_credential(call.auth) for call in calls)
    return "none" if is_said else "unknown"


def pricing_kind(service: Service) -> PricingKind:
    """Return ADP's kind of pricing, `unknown` where ADP's default `free` would say more than the documents do."""
    kind = manifest_view.adp_pricing_type(service)
    return "unknown" if kind == "free" and service.pricing.model != "free" else kind


def _needs_no_credential(auth: Auth) -> bool:
    return auth.required is False or any(scheme.type in ("none", "payment") for scheme in auth.schemes)


def _keywords(owner: Service | Capability) -> tuple[str, ...]:
    """Return the short text beside the description, examples, then tags, as many as fit into KEYWORDS_CHARS. Examples
    resemble queries, so they come before tags."""
    title = owner.title if isinstance(owner, Capability) else _summary_of(owner)
    texts = [title] if title and title not in (owner.name, owner.description) else []
    keywords: list[str] = []
    remaining = KEYWORDS_CHARS
    for text in (plain(phrase, KEYWORDS_CHARS) for phrase in dict.fromkeys((*texts, *owner.examples, *owner.tags))):
        if text and len(text) <= remaining:
            keywords.append(text)
            remaining -= len(text)
    return tuple(keywords)


def _summary_of(service: Service) -> str | None:
    """Return the summary that an OpenAPI description has beside its description (OpenAPI 3.1 section 4.8.2)."""
    info = service.native.get("openapi", {}).get("info")
    summary = info.get("summary") if isinstance(info, Mapping) else None
    return summary if isinstance(summary, str) else None


_USABLE: Final = frozenset({"instructions", "navigation", "pointer"})
"""Kinds of calls that need no address: a text to follow, a page to operate, a value in a catalogue."""
_PLACEHOLDER: Final = re.compile(r"\{\{|<[A-Za-z][A-Za-z0-9 _-]*>|\bYOUR_[A-Z]")
_NAME: Final = re.compile(r"(?:/(?:info|serverInfo|agent))?/(?:name|title|display_?[nN]ame|name_for_human)")
_TO_AUTHOR: Final = re.compile(
    r"(?:describe|enter|insert|explain|write|replace|your|todo|a (?:short|brief))\b", re.IGNORECASE
)
_REFUSALS: Final = frozenset({
    common_rules.ENDPOINT_NOT_PUBLIC, common_rules.ENDPOINT_INVALID, common_rules.TEMPLATE,
    common_rules.ENDPOINT_SAMPLE,
})  # fmt: skip


def describes_service(document: HeldDocument) -> bool:
    """Return whether the document by itself says that its host is a service. A list of other servers does not."""
    service = document.assessment.service
    if role_of(document) is not Role.SERVICE or service is None:
        return False
    return bool(service.capabilities or service.protocols or service.packages or service.name)


def reason_not_to_list(documents: Sequence[HeldDocument], service: Service, host: str) -> Rule | None:
    """Return why a host is not listed; None for a service. `documents` are those found, without entries of catalogues
    that belong to other sites; `service` unites them. A catalogue whose entries are the host's own makes it a service,
    too. A service that names no address at all is one (its clients may know it); one whose every address is private,
    invalid or a template is not."""
    roles = {role_of(document) for document in documents}
    is_described = any(describes_service(document) for document in documents)
    catalogues = [one.assessment.service for one in documents if role_of(one) is Role.POINTERS]
    has_entries = any(catalogue is not None and catalogue.capabilities for catalogue in catalogues)
    if not is_described and not has_entries:
        targets = [pointer.url for catalogue in catalogues if catalogue is not None for pointer in catalogue.pointers]
        are_own = bool(targets) and all(url and same_site(host_of(url) or "", host) for url in targets)
        is_elsewhere = Role.POINTERS in roles and not are_own
        return rules.ONLY_ELSEWHERE if is_elsewhere else rules.NOTHING_CALLABLE if are_own else rules.ONLY_TEXTS
    if is_template(service, host) or (service.name is None and _has_template_name(documents)):
        return rules.TEMPLATE
    is_empty = not (service.capabilities or service.protocols or service.groups)
    is_refused = any(one.rule in _REFUSALS for document in documents for one in document.assessment.findings)
    return rules.NOTHING_CALLABLE if not is_callable(service, host) and (is_empty or is_refused) else None


def _has_template_name(documents: Sequence[HeldDocument]) -> bool:
    """Return whether the name in one of the documents was left out as a placeholder."""
    findings = (one for document in documents for one in document.assessment.findings)
    return any(one.rule is common_rules.TEMPLATE and _NAME.fullmatch(one.pointer) for one in findings)


def is_template(service: Service, host: str) -> bool:
    """Return whether the name is still a placeholder, or a sample asks its author for the description. A sample claims
    a domain reserved for documentation; a description alone may ask its readers for something."""
    if service.name is not None and _PLACEHOLDER.search(service.name):
        return True
    claims = (service.claims.get(key) or "" for key in ("domain", "origin"))
    claimed_hosts = {host_of(claim if "://" in claim else f"https://{claim}") for claim in claims if claim}
    is_sample = bool(claimed_hosts & SAMPLE_DOMAINS) and host not in claimed_hosts
    return is_sample and _TO_AUTHOR.match(service.description or "") is not None


def is_callable(service: Service, host: str) -> bool:
    """Return whether a client can call, run or follow anything in the service of the host."""

    def is_real(url: str | None) -> bool:
        return url is not None and not is_sample(host_of(url) or "", host)

    return bool(
        service.packages
        or service.relations.workflows
        or any(is_real(one.endpoint) or (one.endpoint is None and one.card_url) for one in service.protocols)
        or any(one.detail_url or one.detail or not one.invocations for one in service.capabilities)
        or any(
            is_real(call.endpoint) or call.kind in _USABLE for one in service.capabilities for call in one.invocations
        )
    )
