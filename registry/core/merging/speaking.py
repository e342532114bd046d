"""Find the other hosts that a host's documents speak for, and the confirmations that `verified` needs.

A host speaks for itself and for hosts below it. Statements about its parent or a sibling need a confirmation, and so
do access tokens of a site that is listed itself (docs/adr/0045).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from registry.core.format_support import common_rules
from registry.core.format_support.oauth import AUTHORIZATION_SERVER, issuers_of
from registry.core.merging.held import LocatedFinding
from registry.core.model.services import Service
from registry.core.names.authority import Relation, relation
from registry.core.names.domains import host_of, registrable_domain, same_site
from registry.core.names.impersonation import claimed_hosts
from registry.core.names.opt_out import names_above

MAX_NAMED: Final = 200  # other hosts of one service that are stored
SITE_MARK: Final = "*."
OWNER_MARK: Final = "@"
"""Prefix of a domain in `depends_on`: the trust depends on whether any of its hosts is listed, and on its owner."""

_TENANTS: Final = frozenset(
    ("accounts.dev", "authkit.app", "auth0.com", "b2clogin.com", "ciamlogin.com", "descope.com", "frontegg.com",
     "fusionauth.io", "kinde.com", "logto.app", "okta.com", "oktapreview.com", "onelogin.com", "pingone.com",
     "stytch.com", "zitadel.cloud")
)  # fmt: skip
"""Domains of identity providers that give each customer a host: such an issuer belongs to the customer, whether or not
the provider itself is listed."""


@dataclass(frozen=True, slots=True)
class Known:
    """Stored facts about other hosts: `listed` hosts with the hosts that their documents name, `sites` with a listed
    host, and `owners`, the proven ownership of each host."""

    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sites: frozenset[str] = frozenset()
    owners: Mapping[str, str] = field(default_factory=dict)


NOTHING_KNOWN: Final = Known()


@dataclass(frozen=True, slots=True)
class OtherHosts:
    """Other hosts in the documents of a host. `claimed`: of its site, it says that it is they. `called`: all that a
    client would call. `issuers`: where clients get their access tokens."""

    claimed: frozenset[str]
    called: frozenset[str]
    issuers: frozenset[str]


def spoken_of(host: str, service: Service, findings: Sequence[LocatedFinding]) -> OtherHosts:
    claims = [one.finding.evidence for one in findings if one.finding.rule is common_rules.CLAIM_OF_SITE]
    claimed = frozenset(other for text in claims for other in claimed_hosts(text) if _is_site(host, other))
    auths = [service.auth, *(call.auth for one in service.capabilities for call in one.invocations if call.auth)]
    schemes = [scheme for auth in auths for scheme in auth.schemes]
    return OtherHosts(
        claimed or frozenset({registrable_domain(host)} if claims else ()),
        frozenset(other for other in _hosts(_called_urls(service)) if relation(host, other) < Relation.BELOW),
        frozenset(other for other in issuers_of(schemes, service.pointers) if relation(host, other) < Relation.BELOW),
    )


def speaks_for_site(host: str, spoken: OtherHosts, known: Known) -> bool:
    """Return whether the host speaks for others of its site without a confirmation. A claim to be another host is
    confirmed by one owner of both. Calls are confirmed also by the called host, or one above it, if it is listed and
    names this host."""
    return any(not _has_one_owner(host, other, known) for other in spoken.claimed) or any(
        _is_site(host, other) and not _is_confirmed(host, other, known) for other in spoken.called
    )


def takes_tokens(host: str, spoken: OtherHosts, known: Known) -> bool:
    """Return whether tokens come from a listed site that does not name this host (RFC 9700 section 4.9, RFC 9728)."""
    return any(_is_listed(host, one, known) and not _is_confirmed(host, one, known) for one in spoken.issuers)


def depends_on(host: str, spoken: OtherHosts) -> tuple[str, ...]:
    """Return what `Known` is needed of for the answers, sorted: hosts, and domains with a mark."""
    domain = registrable_domain(host)
    others = {*spoken.claimed, *(one for one in (*spoken.called, *spoken.issuers) if _is_site(host, one))}
    names = {host, f"{OWNER_MARK}{domain}"} if others else set()
    for other in (*others, *spoken.issuers):
        above = names_above(other, registrable_domain(other))
        names |= {*above, *(f"www.{name}" for name in above)}
    names |= {f"{SITE_MARK}{registrable_domain(one)}" for one in spoken.issuers if not same_site(host, one)}
    return tuple(sorted(names))


def named_hosts(host: str, service: Service) -> tuple[str, ...]:
    """Return the other hosts that the documents name: they call or point to them, or give them access tokens."""
    metadata = service.native.get(AUTHORIZATION_SERVER, {})
    resources = metadata.get("protected_resources", ())
    urls = chain(
        (url for url in resources if isinstance(url, str)) if isinstance(resources, Sequence) else (),
        _called_urls(service),
        (pointer.url for pointer in service.pointers),
        (protocol.card_url for protocol in service.protocols),
    )
    return tuple(name for name in _hosts(urls) if relation(host, name) is not Relation.SAME)[:MAX_NAMED]


def _is_site(host: str, other: str) -> bool:
    return relation(host, other) is Relation.SITE


def _is_listed(host: str, issuer: str, known: Known) -> bool:
    domain = registrable_domain(issuer)
    if _is_site(host, issuer) or (domain in _TENANTS and issuer.removeprefix("www.") != domain):
        return any(relation(listed, issuer) is Relation.SAME for listed in known.listed)
    return domain in known.sites


def _is_confirmed(host: str, other: str, known: Known) -> bool:
    return _has_one_owner(host, other, known) or any(
        relation(listed, other) >= Relation.BELOW and any(relation(host, name) is Relation.SAME for name in names)
        for listed, names in known.listed.items()
    )


def _has_one_owner(host: str, other: str, known: Known) -> bool:
    owner = known.owners.get(host)
    return owner is not None and owner == known.owners.get(other)


def _called_urls(service: Service) -> Iterable[str | None]:
    yield service.base_url
    yield from (protocol.endpoint for protocol in service.protocols)
    yield from (call.endpoint for capability in service.capabilities for call in capability.invocations)


def _hosts(urls: Iterable[str | None]) -> dict[str, None]:
    return {host: None for url in urls if url and (host := host_of(url)) is not None}
