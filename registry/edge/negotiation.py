"""Which of two representations a client gets: the page for people, or what programs read.

A page is sent only to clients that name `text/html`, as browsers do. `*/*` does not: it is what programs send that
have no opinion, and they got the other representation before there were pages.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from starlette.types import Message, Scope, Send

HTML: Final = "text/html"
_MAX_ACCEPT_CHARS: Final = 1_000


def prefers_html(scope: Scope) -> bool:
    """True when the request's `Accept` names HTML and nothing else with a higher weight (RFC 9110 section 12.5.1)."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return len(accepted) <= _MAX_ACCEPT_CHARS and _prefers_html(accepted.decode("latin-1"))


@lru_cache(1_000)
def _prefers_html(accept: str) -> bool:
    weights: dict[str, float] = {}
    for item in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        weights.setdefault(kind, weight_of(parameters))
    html = weights.pop(HTML, 0.0)
    # XHTML is what browsers name beside HTML, and no interface serves it
    others = (weight for kind, weight in weights.items() if not kind.startswith(("image/", "application/xhtml")))
    return html > 0 and html >= max(others, default=0.0)


def weight_of(parameters: Iterable[str]) -> float:
    """Return the parameter `q` of what a client accepts: 1 without one, 0 for one that is no number from 0 to 1."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                return 0.0
            return weight if 0.0 <= weight <= 1.0 else 0.0
    return 1.0


def with_vary(headers: Iterable[tuple[bytes, bytes]], field: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response with one more field in Vary."""
    every = list(headers)
    vary = [value for name, value in every if name == b"vary"]
    return [*((name, value) for name, value in every if name != b"vary"), (b"vary", b", ".join([*vary, field]))]


def varying(send: Send) -> Send:
    """Return a `send` that adds `Accept` to the response's Vary, so that caches keep the representations apart."""

    async def send_varying(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": with_vary(message.get("headers", ()), b"Accept")}
        await send(message)

    return send_varying
