"""Bearer tokens of requests (RFC 6750)."""

from typing import Final

from fastapi import Request

from registry.core.access.tokens import Token, parse_token
from registry.edge.problems import UNAUTHORIZED, Problem

_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


def bearer(request: Request, kind: str) -> Token:
    """Return the token of the request. Raise Problem when it has none of this kind: the token may still be unknown."""
    scheme, _, text = request.headers.get("authorization", "").strip().partition(" ")
    token = parse_token(text.strip(), kind) if scheme.lower() == "bearer" else None
    if token is None:
        raise unauthorized()
    return token


def unauthorized() -> Problem:
    """Return the problem of a request without a token, and equally of one with a wrong token."""
    return Problem(UNAUTHORIZED, "`Authorization: Bearer TOKEN` with a valid token is needed.", headers=_CHALLENGE)
