"""Authentication: schemes of all documents, completed by OAuth metadata of the same host (RFC 9728, RFC 8414).

Metadata alone does not mean that a token is required: a host with an authorization server may have services that need
none. Metadata completes schemes that a document declares; it adds one only for the resource that it names itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from registry.core.format_support.oauth import TOKEN_TYPES
from registry.core.formats import oauth_authorization_server, oauth_protected_resource
from registry.core.merging.held import HeldDocument, origin_of
from registry.core.model.services import Auth, AuthScheme, Invocation, Origin, Service
from registry.core.names.domains import host_of

_RESOURCE: Final = oauth_protected_resource.FORMAT.slug
_SERVER: Final = oauth_authorization_server.FORMAT.slug
_FILLED: Final = ("authorization_url", "token_url", "setup_url", "scopes")


@dataclass(frozen=True, slots=True)
class _MetadataScheme:
    """The scheme that a metadata document declares. `resource`: the protected URL; None for an authorization server."""

    origin: Origin
    scheme: AuthScheme
    resource: str | None = None


def united_auth(parts: Iterable[tuple[Origin, Auth]]) -> tuple[Auth, dict[str, Origin]]:
    """Return all schemes once, and their provenance. "none" is dropped if there are others."""
    schemes: dict[AuthScheme, Origin] = {}
    provenance: dict[str, Origin] = {}
    required: list[bool] = []
    combinations: list[tuple[AuthScheme, ...]] = []
    for origin, auth in parts:
        combinations += [tuple(auth.schemes[index] for index in indexes) for indexes in auth.combinations]
        required += [] if auth.required is None else [auth.required]
        if auth != Auth():
            provenance.setdefault("auth", origin)
        for scheme in auth.schemes:
            schemes.setdefault(scheme, origin)
    if any(scheme.type != "none" for scheme in schemes):
        schemes = {scheme: origin for scheme, origin in schemes.items() if scheme.type != "none"}
    for index, origin in enumerate(schemes.values()):
        if origin.document != provenance["auth"].document:
            provenance[f"auth/schemes/{index}"] = origin
    indexes = {scheme: index for index, scheme in enumerate(schemes)}
    needed_at_once = dict.fromkeys(tuple(indexes[s] for s in needed if s in indexes) for needed in combinations)
    return Auth(tuple(schemes), any(required) if required else None, tuple(needed_at_once)), provenance


def set_metadata_aside(documents: Sequence[HeldDocument]) -> list[HeldDocument]:
    """Return the documents; metadata documents lose their schemes."""
    result = []
    for document in documents:
        if document.assessment.format in (_RESOURCE, _SERVER):
            service = document.assessment.service or Service()
            provenance = {name: origin for name, origin in service.provenance.items() if name != "auth"}
            document = document.with_service(replace(service, auth=Auth(), provenance=provenance))
        result.append(document)
    return result


def complete_auth(service: Service, documents: Sequence[HeldDocument], host: str) -> Service:
    """Add addresses and scopes from the metadata to the schemes, and mark the calls of a protected resource."""
    resources = list(_metadata_schemes(documents, _RESOURCE, host))
    pointers = [pointer for document in documents for pointer in document.assessment.pointers]
    issuers = {pointer.url for pointer in pointers if pointer.rel == "authorization_server"}
    named = [document for document in documents if not issuers or issuers & {document.url, document.requested}]
    servers = list(_metadata_schemes(named, _SERVER, host))
    if servers:  # their metadata says more than its address
        resources = [replace(one, scheme=replace(one.scheme, setup_url=None)) for one in resources]
    provenance = dict(service.provenance)
    schemes = list(service.auth.schemes)
    if resources and not any(scheme.type in TOKEN_TYPES for scheme in schemes):
        schemes = [scheme for scheme in schemes if scheme.type != "none"] + [AuthScheme("oauth2")]
        source = resources[0].origin
        if provenance.setdefault("auth", source) != source:
            provenance[f"auth/schemes/{len(schemes) - 1}"] = source
    for index, scheme in enumerate(schemes):
        for metadata in (*resources, *servers) if scheme.type in TOKEN_TYPES else ():
            empty = [name for name in _FILLED if not getattr(schemes[index], name)]
            added = {name: value for name in empty if (value := getattr(metadata.scheme, name))}
            schemes[index] = replace(schemes[index], **added)
            provenance |= {f"auth/schemes/{index}/{name}": metadata.origin for name in added}
    capabilities = list(service.capabilities)
    for index, one in enumerate(capabilities if resources else ()):
        calls = tuple(_protected_call(call, resources) for call in one.invocations)
        capabilities[index] = replace(one, invocations=calls)
    auth = replace(service.auth, schemes=tuple(schemes))
    return replace(service, auth=auth, capabilities=tuple(capabilities), provenance=provenance)


def _protected_call(call: Invocation, resources: Sequence[_MetadataScheme]) -> Invocation:
    """Apply the longest resource that the call's URL is below, unless the call declares authentication itself."""
    url = call.endpoint
    bases = ((one, (one.resource or "").rstrip("/")) for one in resources)
    applicable = [one for one, base in bases if url and (url == base or url.startswith((f"{base}/", f"{base}?")))]
    if call.auth is not None or not applicable:
        return call
    scopes = max(applicable, key=lambda metadata: len(metadata.resource or "")).scheme.scopes
    return replace(call, auth=Auth((AuthScheme("oauth2"),)), scopes=call.scopes or scopes)


def _metadata_schemes(documents: Iterable[HeldDocument], slug: str, host: str) -> Iterator[_MetadataScheme]:
    """Yield what metadata documents of one format declare. Metadata of a resource on another host is ignored."""
    for document in documents:
        service = document.assessment.service
        if document.assessment.format != slug or service is None or not service.auth.schemes:
            continue
        resource = service.claims.get("resource")
        if slug == _SERVER or (resource is not None and host_of(resource) == host):
            origin = service.provenance.get("auth", origin_of(document))
            yield _MetadataScheme(origin, service.auth.schemes[0], resource)
