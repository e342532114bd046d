"""Which HTTP interfaces `waypost serve` has."""

from collections.abc import Sequence

from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS

from registry.api import app as api
from registry.api.documents import VERSION
from registry.edge.interfaces import Interface
from registry.mcp import http as mcp
from registry.mcp_registry import app as mcp_registry
from registry.self_description import app as self_description
from registry.self_description.service import McpServer
from registry.settings import Settings
from registry.wiring import Waypost

_ARD = "/ard"


def interfaces_of(waypost: Waypost, settings: Settings) -> Sequence[Interface]:
    """Return all interfaces, for an open registry. The caller opens and closes `waypost`."""
    routes = api.make_routes()
    own_api = api.interface(waypost, settings, routes)
    others = (mcp.interface(own_api, waypost, settings), mcp_registry.interface(waypost, settings))
    roots = {root for one in others for root in one.roots}
    described = self_description.interface(
        settings,
        VERSION,
        own_api.app,
        routes.openapi,
        mcp=McpServer("/mcp", tuple(SUPPORTED_PROTOCOL_VERSIONS)),
        ard=_ARD if _ARD in roots else None,
    )
    return (own_api, *others, described)
