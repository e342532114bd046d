"""How the crawler names itself to the sites it visits."""

from importlib.metadata import version
from typing import Final

from registry.core.visiting.robots import PRODUCT
from registry.settings import Settings

PRODUCT_AND_VERSION: Final = f"{PRODUCT}/{version('waypost')}"
"""Begins with the product token that robots.txt files match."""


def user_agent(settings: Settings) -> str:
    """Return the User-Agent: product and version, then the page that explains the crawler and the contact address."""
    return f"{PRODUCT_AND_VERSION} ({settings.reachable_at})"
