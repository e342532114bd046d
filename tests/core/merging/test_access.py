"""OAuth metadata completes what documents declare, and demands no authentication by itself."""

from typing import Any

import pytest

from registry.core.merging.merge import HeldDocument
from registry.core.model.services import AuthScheme
from tests.core.documents import service_of
from tests.support.holding import held

HOST = "vault.example"
RESOURCE = f"https://{HOST}/mcp"
SERVER_CARD: dict[str, Any] = {
    "serverInfo": {"name": "vault", "version": "1"},
    "transport": {"type": "streamable-http", "url": RESOURCE},
    "tools": [{"name": "open", "description": "Opens the vault."}],
}
API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Vault", "version": "1"},
    "servers": [{"url": f"https://{HOST}/v1"}],
    "paths": {"/coins": {"get": {"operationId": "listCoins"}}},
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
}


def resource(url: str = RESOURCE, *issuers: str) -> HeldDocument:
    servers = list(issuers) or [f"https://{HOST}"]
    body = {"resource": url, "authorization_servers": servers, "scopes_supported": ["coins"]}
    return held(HOST, "/.well-known/oauth-protected-resource", body)


def server(issuer: str = f"https://{HOST}") -> HeldDocument:
    urls = {"authorization_endpoint": f"https://{HOST}/authorize", "token_endpoint": f"https://{HOST}/token"}
    return held(HOST, "/.well-known/oauth-authorization-server", {"issuer": issuer, **urls})


def card(**members: Any) -> HeldDocument:
    return held(HOST, "/.well-known/mcp/server-card.json", SERVER_CARD | members)


COMPLETE = AuthScheme(
    "oauth2", authorization_url=f"https://{HOST}/authorize", token_url=f"https://{HOST}/token", scopes=("coins",)
)


def test_metadata_completes_a_declared_scheme() -> None:
    service = service_of(HOST, card(authentication={"required": True, "schemes": ["oauth2"]}), resource(), server())
    assert service.auth.schemes == (COMPLETE,)
    assert service.auth.required is True
    assert service.provenance["auth"].format == "mcp-server-card"
    assert service.provenance["auth/schemes/0/token_url"].format == "oauth-authorization-server"
    assert service.provenance["auth/schemes/0/scopes"].pointer == "/scopes_supported"


def test_a_protected_resource_declares_its_scheme() -> None:
    service = service_of(HOST, card(), resource(), server())
    assert service.auth.schemes == (COMPLETE,)
    assert service.provenance["auth"].format == "oauth-protected-resource"


def test_only_calls_below_the_resource_are_protected() -> None:
    service = service_of(HOST, card(), held(HOST, "/openapi.json", API), resource())
    capability_by_id = {capability.id: capability.invocations[0] for capability in service.capabilities}
    assert capability_by_id["open"].auth is not None
    assert [scheme.type for scheme in capability_by_id["open"].auth.schemes] == ["oauth2"]
    assert capability_by_id["open"].scopes == ("coins",)
    assert capability_by_id["listCoins"].auth is None
    assert [scheme.type for scheme in service.auth.schemes] == ["api_key", "oauth2"]
    assert service.provenance["auth/schemes/1"].format == "oauth-protected-resource"


def test_a_path_with_the_same_prefix_is_another_resource() -> None:
    tricked = card(transport={"type": "streamable-http", "url": f"{RESOURCE}-public"})
    assert service_of(HOST, tricked, resource()).capabilities[0].invocations[0].auth is None


LOGIN = "https://login.vault.example/.well-known/oauth-authorization-server"
OTHER_ISSUER = (resource(RESOURCE, "https://login.vault.example"), server())
NO_AUTH = card(authentication={"required": False, "schemes": ["none"]})


@pytest.mark.parametrize(
    ("documents", "schemes"),
    [
        ((card(), server()), ()),
        ((card(), *OTHER_ISSUER), (AuthScheme("oauth2", scopes=("coins",), setup_url=LOGIN),)),  # RFC 8414 section 3.3
        ((card(), resource("https://bank.example/mcp"), server()), ()),
        ((NO_AUTH, resource(), server()), (COMPLETE,)),
    ],
    ids=["a server alone", "another issuer", "a resource of another host", "no authentication is overridden"],
)
def test_only_metadata_of_the_own_resource_counts(documents: list[HeldDocument], schemes: tuple[Any, ...]) -> None:
    assert service_of(HOST, *documents).auth.schemes == schemes
