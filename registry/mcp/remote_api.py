"""The API of another registry as the source of the tools, over HTTPS. Every answer is bounded."""

import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import httpx2

from registry.core.reading.foreign_lists import count_values
from registry.mcp.source import Answer, Caller, Refused

T = TypeVar("T")

SECONDS: Final = 40.0
"""For one request to a remote registry, which may wait for 20 s itself when a host is submitted."""
MOST_BYTES: Final = 16_000_000
MOST_VALUES: Final = 500_000
"""Of an answer of a remote registry, before it is parsed."""


class RemoteApi:
    """The API of another registry, over HTTPS. No redirect is followed, and every answer is bounded."""

    def __init__(self, url: str) -> None:
        """Raise ValueError for an address that is none, or that is neither https nor on this machine."""
        self.url = checked_url(url)
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(SECONDS, connect=10),
            limits=httpx2.Limits(max_connections=8),
            follow_redirects=False,
            verify=ssl.create_default_context(),
            trust_env=True,
        )

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> Answer:
        url = f"{self.url}{quote(path)}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
        received = bytearray()
        try:
            method = "GET" if body is None else "POST"
            async with self._client.stream(method, url, content=body, headers=headers) as response:
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > MOST_BYTES:
                        raise Refused("unavailable", "The registry's answer is too large.")
        except httpx2.HTTPError:
            raise Refused("unavailable", "The registry does not answer.") from None
        if response.is_redirect:
            raise Refused("unavailable", "The registry is at another address now.")
        if count_values(received) > MOST_VALUES:
            raise Refused("unavailable", "The registry's answer has too many values.")
        return Answer(response.status_code, bytes(received))

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        return function(*arguments)

    async def close(self) -> None:
        await self._client.aclose()


def checked_url(url: str) -> str:
    """Return the address of a registry without a trailing slash. Raise ValueError."""
    parts = urlsplit(url)
    is_local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("the address of a registry looks like https://registry.example")
    if parts.scheme == "http" and not is_local:
        raise ValueError("a registry on another machine is asked over https only")
    return url.rstrip("/")
