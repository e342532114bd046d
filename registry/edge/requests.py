"""What a request brings along for every interface: the registry, its address, who asks."""

from typing import Any

from fastapi import Request

from registry.settings import Settings
from registry.wiring import Waypost


def provide(state: Any, waypost: Waypost, settings: Settings) -> None:
    """Give an application's `state` what the functions of this module return."""
    state.waypost = waypost
    state.settings = settings
    state.base_url = settings.public_url.rstrip("/")


def base_url(request: Request) -> str:
    """Return the URL of this registry without a trailing slash: from the settings, never from the Host header."""
    base: str = request.app.state.base_url
    return base


def registry_of(request: Request) -> Waypost:
    """Return the registry's operations that this application uses."""
    waypost: Waypost = request.app.state.waypost
    return waypost


def client_of(request: Request) -> str:
    """Return who asks: an address, an IPv6 /64, or `unknown`, as the rate limiter counts clients.

    It is personal data: keep it no longer than the limit that needs it.
    """
    client: str = request.scope.get("waypost.client", "unknown")
    return client
