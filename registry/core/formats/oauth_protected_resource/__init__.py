"""OAuth protected resource metadata (RFC 9728): adds to a service and names its authorization servers."""

import re
from itertools import islice
from typing import Final

from registry.core.format_support import manifest, oauth
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import claims, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import MAX_TEXTS, Notes, texts_of, with_provenance
from registry.core.format_support.oauth import AUTHORIZATION_SERVER, RESOURCE, RESOURCE_PATH, https_url
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.shapes import LIST, TEXT
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Pointer, Policies, Service

SLUG: Final = RESOURCE
_PATH: Final = f"/{RESOURCE_PATH}"
_MARKS: Final = ("scopes_supported", "bearer_methods_supported", "resource_signing_alg_values_supported")


def dialect(document: Document) -> str | None:
    """Return "" for a resource with what only such metadata says of it; `authorization_servers` is optional."""
    value = document.members
    servers = value.get("authorization_servers")
    is_marked = isinstance(servers, list | str) or any(isinstance(value.get(key), list) for key in _MARKS)
    return "" if "resource" in value and is_marked else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    resource_url = https_url(value.get("resource"), "/resource", document, notes)
    pointers = []
    named = manifest.parts_of(value, "authorization_servers", "/authorization_servers", notes)
    for pointer, _, issuer in islice(named, MAX_TEXTS):
        issuer_url = https_url(issuer, pointer, document, notes)
        if issuer_url is None:
            continue
        # the well-known part is between the issuer's host and path (RFC 8414 section 3.1)
        host, _, path = issuer_url.removeprefix("https://").partition("/")
        metadata_url = link(f"https://{host}/.well-known/oauth-authorization-server/{path}".rstrip("/"), issuer_url)
        if metadata_url:
            pointers.append(Pointer(metadata_url, "authorization_server", pointer, AUTHORIZATION_SERVER))
    metadata_of_server = pointers[0].url if pointers else None  # often on the site of an identity provider: not read
    scheme = AuthScheme("oauth2", scopes=texts_of(value, "scopes_supported"), setup_url=metadata_of_server)
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
    about=(
        "An API names the authorization servers that issue its access tokens. Clients read it when a call is "
        "refused for want of a token."
    ),
    link="https://www.rfc-editor.org/rfc/rfc9728",
    example={"resource": "https://example.com", "authorization_servers": ["https://login.example.com"]},
    paths=(_PATH,),
    role=Role.ENRICHER,
    read=read,
    parts=(Part("/authorization_servers/[]", "authorization server", TEXT, is_offered=False),),
    types={"/resource": TEXT, "/scopes_supported": LIST},
    rules=rules_in(oauth),
    promised_pattern=re.compile(rf"^{_PATH}/"),
    probe_paths=(
        # not where the metadata of the endpoint's own path was found, to which the MCP formats point
        ProbePath("S4", 60, _PATH, when=lambda facts: facts.rpc_here and SLUG not in facts.formats),
        ProbePath("S1", 30, _PATH, sub_host="mcp"),
        ProbePath("S1", 31, f"{_PATH}/mcp", fallback_of=_PATH, sub_host="mcp"),
    ),
)
