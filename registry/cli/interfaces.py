"""Which HTTP interfaces `waypost serve` has."""

from collections.abc import Sequence

from registry.api import app as api
from registry.api.documents import VERSION
from registry.edge.interfaces import Interface
from registry.self_description import app as self_description
from registry.settings import Settings
from registry.wiring import Waypost


def interfaces_of(waypost: Waypost, settings: Settings) -> Sequence[Interface]:
    """Return all interfaces, for an open registry. The caller opens and closes `waypost`."""
    routes = api.make_routes()
    answering = api.interface(waypost, settings, routes)
    return (answering, self_description.interface(settings, VERSION, answering.app, routes.openapi))
