"""Authentication: schemes of all documents, completed by OAuth metadata of the same host (RFC 9728, RFC 8414).

Metadata by itself asks nobody for a token: a host with an authorization server may have services that need none. It
completes schemes that a document declares, and declares one only for the resource that it names itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from registry.core.domains import host_of
from registry.core.formats import oauth
from registry.core.merging.held import Held, origin_of
from registry.core.services import Auth, AuthScheme, Capability, Invocation, Origin, Service

_TOKENS: Final = ("oauth2", "openid")
_FILLED: Final = ("authorization_url", "token_url", "setup_url", "scopes")


@dataclass(frozen=True, slots=True)
class _Told:
    """What one metadata document says. `resource` is what it protects; None for an authorization server."""

    origin: Origin
    scheme: AuthScheme
    resource: str | None = None


def united_auth(parts: Iterable[tuple[Origin, Auth]]) -> tuple[Auth, dict[str, Origin]]:
    """All schemes once, and their provenance. "none" beside others says nothing."""
    first: dict[AuthScheme, Origin] = {}
    provenance: dict[str, Origin] = {}
    needed: list[bool] = []
    for origin, auth in parts:
        needed += [] if auth.required is None else [auth.required]
        if auth != Auth():
            provenance.setdefault("auth", origin)
        for scheme in auth.schemes:
            first.setdefault(scheme, origin)
    if any(scheme.type != "none" for scheme in first):
        first = {scheme: origin for scheme, origin in first.items() if scheme.type != "none"}
    for index, origin in enumerate(first.values()):
        if origin.document != provenance["auth"].document:
            provenance[f"auth/schemes/{index}"] = origin
    return Auth(tuple(first), any(needed) if needed else None), provenance


class Metadata:
    """The OAuth metadata among the documents of a host."""

    def __init__(self, documents: Sequence[Held], host: str) -> None:
        self._resources = list(_told(documents, oauth.RESOURCE.slug, host))
        issuers = {p.url for one in documents for p in one.assessment.pointers if p.rel == "authorization_server"}
        servers = [one for one in documents if not issuers or issuers & {one.url, one.requested}]
        self._servers = list(_told(servers, oauth.SERVER.slug, host))

    @staticmethod
    def set_aside(documents: Sequence[Held]) -> list[Held]:
        """The documents without the schemes that metadata stands for."""
        return [_without_auth(one) if one.assessment.format in _SLUGS else one for one in documents]

    def complete(self, service: Service) -> Service:
        """Schemes with the addresses and scopes that the metadata gives, and calls of a protected resource marked."""
        provenance = dict(service.provenance)
        schemes = list(service.auth.schemes)
        if self._resources and not any(scheme.type in _TOKENS for scheme in schemes):
            schemes = [one for one in schemes if one.type != "none"] + [AuthScheme("oauth2")]
            source = self._resources[0].origin
            if provenance.setdefault("auth", source) != source:
                provenance[f"auth/schemes/{len(schemes) - 1}"] = source
        for index, scheme in enumerate(schemes):
            for told in (*self._resources, *self._servers) if scheme.type in _TOKENS else ():
                given = {n: v for n in _FILLED if not getattr(schemes[index], n) and (v := getattr(told.scheme, n))}
                schemes[index] = replace(schemes[index], **given)
                provenance |= {f"auth/schemes/{index}/{name}": told.origin for name in given}
        capabilities = tuple(self._marked(one) for one in service.capabilities) if self._resources else None
        return replace(
            service,
            auth=replace(service.auth, schemes=tuple(schemes)),
            capabilities=service.capabilities if capabilities is None else capabilities,
            provenance=provenance,
        )

    def _marked(self, capability: Capability) -> Capability:
        return replace(capability, invocations=tuple(self._protected(call) for call in capability.invocations))

    def _protected(self, call: Invocation) -> Invocation:
        """The longest resource that the address lies below protects it, where nobody said anything else."""
        over = [told for told in self._resources if call.endpoint and _is_below(call.endpoint, told.resource or "")]
        if call.auth is not None or not over:
            return call
        scopes = max(over, key=lambda told: len(told.resource or "")).scheme.scopes
        return replace(call, auth=Auth((AuthScheme("oauth2"),)), scopes=call.scopes or scopes)


_SLUGS: Final = frozenset({oauth.RESOURCE.slug, oauth.SERVER.slug})


def _told(documents: Iterable[Held], slug: str, host: str) -> Iterator[_Told]:
    """Metadata of a resource on another host is that host's affair."""
    for one in documents:
        service = one.assessment.service
        if one.assessment.format != slug or service is None or not service.auth.schemes:
            continue
        resource = service.claims.get("resource")
        if slug == oauth.SERVER.slug or (resource is not None and host_of(resource) == host):
            yield _Told(service.provenance.get("auth", origin_of(one)), service.auth.schemes[0], resource)


def _without_auth(one: Held) -> Held:
    service = one.assessment.service or Service()
    provenance = {name: origin for name, origin in service.provenance.items() if name != "auth"}
    silent = replace(service, auth=Auth(), provenance=provenance)
    return replace(one, assessment=replace(one.assessment, service=silent))


def _is_below(url: str, resource: str) -> bool:
    base = resource.rstrip("/")
    return url == base or url.startswith((f"{base}/", f"{base}?"))
