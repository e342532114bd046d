"""Networks of clients, as limits count them. An IPv6 customer of a provider may have a whole /48."""

from functools import lru_cache
from ipaddress import IPv6Network
from typing import Final

NETWORK_BITS: Final = 48
NETWORK_FACTOR: Final = 16
"""Allowances of all clients of one IPv6 network together. Several customers may share it, so one would be too few."""


@lru_cache(10_000)
def network_of(client: str) -> str:
    """Return the IPv6 /48 that contains a client's /64; return any other client unchanged."""
    if ":" not in client:
        return client
    return str(IPv6Network(client).supernet(new_prefix=NETWORK_BITS))
