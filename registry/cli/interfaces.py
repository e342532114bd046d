"""The HTTP interfaces of `waypost serve`."""

from collections.abc import Sequence

from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS

from registry.api import app as api
from registry.api.documents import VERSION
from registry.ard import app as ard
from registry.edge.interfaces import Interface
from registry.mcp import http as mcp
from registry.mcp_registry import app as mcp_registry
from registry.self_description import app as self_description
from registry.self_description.documents import start_links
from registry.self_description.service import McpServer
from registry.self_description.texts import terms
from registry.settings import Settings
from registry.web import app as web
from registry.wiring import Waypost

_MCP = McpServer("/mcp", tuple(SUPPORTED_PROTOCOL_VERSIONS))


def interfaces_of(waypost: Waypost, settings: Settings) -> Sequence[Interface]:
    """Return all interfaces over an open registry, which the caller closes."""
    routes = api.make_routes()
    own_api = api.interface(waypost, settings, routes)
    base = settings.public_url.rstrip("/")
    return (
        own_api,
        mcp.interface(own_api, waypost, settings),
        ard.interface(waypost, settings),
        mcp_registry.interface(waypost, settings),
        self_description.interface(settings, VERSION, own_api.app, routes.openapi, _MCP, ard.ROOT),
        web.interface(waypost, settings, own_api.app, start_links(base), terms(base, settings), routes.openapi),
    )
