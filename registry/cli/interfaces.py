"""Which HTTP interfaces `waypost serve` has."""

from collections.abc import Sequence

from registry.api import app as api
from registry.ard import app as ard
from registry.edge.interfaces import Interface
from registry.mcp_registry import app as mcp_registry
from registry.settings import Settings
from registry.wiring import Waypost


def interfaces_of(waypost: Waypost, settings: Settings) -> Sequence[Interface]:
    """Return all interfaces, for an open registry. The caller opens and closes `waypost`."""
    return (
        api.interface(waypost, settings),
        ard.interface(waypost, settings),
        mcp_registry.interface(waypost, settings),
    )
