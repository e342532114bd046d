"""OAuth protected resource metadata (RFC 9728): adds to a service and names its authorization servers."""

from typing import Final

from registry.core.format_support import oauth
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import claims, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import MAX_TEXTS, Notes, list_of, texts_of, with_provenance
from registry.core.format_support.oauth import AUTHORIZATION_SERVER, https_url
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.shapes import LIST, TEXT
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Pointer, Policies, Service
from registry.core.reading.json_pointer import at

SLUG: Final = "oauth-protected-resource"


def dialect(document: Document) -> str | None:
    value = document.members
    return "" if "resource" in value and isinstance(value.get("authorization_servers"), list) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    resource_url = https_url(value.get("resource"), "/resource", document, notes)
    pointers = []
    for index, issuer in enumerate(list_of(value, "authorization_servers")[:MAX_TEXTS]):
        pointer = at("", "authorization_servers", index)
        issuer_url = https_url(issuer, pointer, document, notes)
        if issuer_url is None:
            continue
        # the well-known part is between the issuer's host and path (RFC 8414 section 3.1)
        host, _, path = issuer_url.removeprefix("https://").partition("/")
        metadata_url = link(f"https://{host}/.well-known/oauth-authorization-server/{path}".rstrip("/"), issuer_url)
        if metadata_url:
            pointers.append(Pointer(metadata_url, "authorization_server", pointer, AUTHORIZATION_SERVER))
    scheme = AuthScheme("oauth2", scopes=texts_of(value, "scopes_supported"))
    service = Service(
        claims=claims("resource", resource_url, document, "/resource", notes),
        docs_url=link(value.get("resource_documentation"), document.url),
        auth=Auth((scheme,)),
        policies=Policies(terms_url=link(value.get("resource_tos_uri"), document.url)),
        pointers=tuple(pointers),
    )
    pointers_of_fields = {
        "auth": "/scopes_supported" if scheme.scopes else "/resource",
        "claims": "/resource",
        "docs_url": "/resource_documentation",
        "policies": "/resource_tos_uri",
    }
    return with_provenance(service, document, SLUG, pointers_of_fields)


FORMAT: Final = Format(
    slug=SLUG,
    title="OAuth protected resource metadata",
    spec="RFC 9728 section 2",
    paths=("/.well-known/oauth-protected-resource",),
    role=Role.ENRICHER,
    read=read,
    parts=(Part("/authorization_servers/[]", "authorization server", TEXT, is_offered=False),),
    types={"/resource": TEXT, "/scopes_supported": LIST},
    rules=rules_in(oauth),
    probe_paths=(
        ProbePath("S4", 60, "/.well-known/oauth-protected-resource", when=lambda facts: facts.rpc_here),
        ProbePath("S1", 30, "/.well-known/oauth-protected-resource", sub_host="mcp"),
    ),
)
