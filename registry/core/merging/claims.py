"""Find claims about other sites in a host's documents: names, well-known names, endpoints; verify signatures.

No host may list a service under another site's name. Such a name is replaced by the serving host, and the claim is a
finding; the readers report claims in other members (endpoints.claim). A host speaks only for itself, so a call to
another site is a finding. Signatures are verified with keys in documents of the same host (A2A 1.0 section 8.4).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from registry.core.format_support import common_rules
from registry.core.format_support.format import Role
from registry.core.format_support.signatures import SignatureVerdict, header_of, verify
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging import rules
from registry.core.merging.fields import Parts, place, relation_in
from registry.core.merging.held import HeldDocument, LocatedFinding, finding
from registry.core.model.findings import Finding
from registry.core.model.listing import Resemblance
from registry.core.model.services import Invocation, Provider, Service
from registry.core.names.authority import Relation
from registry.core.names.domains import host_of, is_confusable, parse_url, registrable_domain, same_site
from registry.core.names.impersonation import hosts_in, known_name_in, known_name_in_host, operator_in, owned_name
from registry.core.names.known_names import KnownName

_RULES: Final = {Relation.FOREIGN: common_rules.CLAIM_ELSEWHERE, Relation.SITE: common_rules.CLAIM_OF_SITE}


def claims(parts: Parts) -> Iterator[LocatedFinding]:
    """Yield a finding for each name, not of a text, that speaks of another site, or of a parent or sibling, of the host
    that serves it."""
    for origin, service in parts:
        form = FORMAT_BY_SLUG.get(origin.format)
        rule = _RULES.get(relation_in(origin, service.name))
        if form is not None and form.role is not Role.TEXT and rule is not None:
            source = place(origin, service, "name")
            yield LocatedFinding(finding(rule, source.pointer, service.name or ""), source.document)


def look_alikes(host: str, service: Service) -> Iterator[LocatedFinding]:
    """Yield a finding if the host can be taken for another name, and one if a well-known name is used."""
    if is_confusable(host):  # guard: look-alike-host
        yield LocatedFinding(finding(rules.LOOK_ALIKE_HOST, "", host))
    use = resemblance(host, service)
    if use is not None and not use.is_mention:  # guard: known-name
        yield LocatedFinding(finding(rules.KNOWN_NAME, "", f"{use.name} ({use.domain}), in the {use.seen_in}"))


def resemblance(host: str, service: Service) -> Resemblance | None:
    """Return a well-known name that the host, the service or its provider uses: the first that it uses as its own, else
    the first that it mentions. None on a host of its owner, and on a host of another known name's owner, who may
    mention all names."""
    if owned_name(host) is not None:
        return None
    uses = list(_uses(host, service))
    return next((use for use in uses if not use.is_mention), uses[0] if uses else None)


def _uses(host: str, service: Service) -> Iterator[Resemblance]:
    provider = service.provider or Provider()
    if found := known_name_in_host(host):
        yield Resemblance(found.known.name, found.known.domains[0], "host", found.is_mention)
    if service.name and not _is_own_host(host, service.name) and (found := known_name_in(service.name)):
        yield Resemblance(found.known.name, found.known.domains[0], "name", found.is_mention)
    if found := known_name_in(provider.name or ""):
        yield Resemblance(found.known.name, found.known.domains[0], "provider", found.is_mention)
    for known in (
        _owner_of(provider.url), _owner_of(service.homepage), _owner_of_picture(service.icon_url),
        operator_in(service.description or ""),
    ):  # fmt: skip
        if known is not None:
            yield Resemblance(known.name, known.domains[0], "provider")


def _is_own_host(host: str, name: str) -> bool:
    """Return whether the name is a host name of the same site; the labels of the host are judged separately."""
    hosts = hosts_in(name)
    return len(hosts) == 1 and " " not in name.strip() and same_site(hosts[0], host)


def _owner_of(url: str | None) -> KnownName | None:
    """Return the known name whose owner a page belongs to, unless people have pages of their own there."""
    host = host_of(url) if url else None
    known = owned_name(host) if host else None
    parsed = parse_url(url or "")
    is_page_of_others = known is not None and known.has_pages and parsed is not None and parsed.target != "/"
    return None if is_page_of_others else known


def _owner_of_picture(url: str | None) -> KnownName | None:
    """Return the known name whose owner a picture belongs to; only of those who handle money, because the sites of many
    others hold pictures of their users."""
    known = _owner_of(url)
    return known if known is not None and known.handles_money else None


MAX_NAMED: Final = 5


def mark_off_site(service: Service, domain: str) -> tuple[Service, list[Finding]]:
    """Mark the endpoints on another registrable domain. Return a finding for each of the first MAX_NAMED domains."""
    host_by_domain: dict[str, str] = {}

    def marked(call: Invocation) -> Invocation:
        host = host_of(call.endpoint) if call.endpoint else None
        if host is None or registrable_domain(host) == domain:
            return call
        host_by_domain.setdefault(registrable_domain(host), host)
        return replace(call, off_site=True)

    capabilities = tuple(
        replace(capability, invocations=tuple(marked(call) for call in capability.invocations))
        for capability in service.capabilities
    )
    findings = [finding(rules.ENDPOINT_OFF_SITE, "", host) for host in list(host_by_domain.values())[:MAX_NAMED]]
    return replace(service, capabilities=capabilities), findings


MAX_SIGNATURES: Final = 5  # of one document
_VERDICTS: Final = {
    SignatureVerdict.VERIFIED: (rules.SIGNATURE_VERIFIED, True),
    SignatureVerdict.BROKEN: (rules.SIGNATURE_BROKEN, False),
    SignatureVerdict.NO_KEY: (rules.SIGNATURE_NO_KEY, None),
    SignatureVerdict.UNSUPPORTED: (rules.SIGNATURE_UNSUPPORTED, None),
}


def with_signatures(documents: Sequence[HeldDocument], host: str) -> tuple[list[HeldDocument], list[LocatedFinding]]:
    """Return the documents with their signatures judged and without the texts that were signed, and the findings."""
    own = (document.assessment.service for document in documents if host_of(document.url) == host)
    keys = [key for service in own if service is not None for key in service.identity.keys]
    findings: list[LocatedFinding] = []
    result = []
    for document in documents:
        service = document.assessment.service
        if service is None or not service.identity.signatures:
            result.append(document)
            continue
        signatures = []
        for signature in service.identity.signatures[:MAX_SIGNATURES]:
            verdict = SignatureVerdict.UNSUPPORTED
            if service.identity.signed is not None:
                verdict = verify(signature, service.identity.signed, keys)
            rule, verified = _VERDICTS[verdict]
            signatures.append(replace(signature, verified=verified))
            header = header_of(signature.protected) or {}
            stated = (header.get(name) for name in ("alg", "kid"))
            words = " ".join(word for word in stated if isinstance(word, str) and word.isprintable())
            findings.append(LocatedFinding(finding(rule, signature.pointer, words), document.url))
        identity = replace(service.identity, signatures=tuple(signatures), signed=None)
        result.append(document.with_service(replace(service, identity=identity)))
    return result, findings
