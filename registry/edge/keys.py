"""API keys of this registry's operators in requests."""

from fastapi import Request

from registry.actions.access.keys import MissingScope, UnknownKey
from registry.core.access.keys import KEY, ApiKey, Scope
from registry.edge.bearer import bearer, unauthorized
from registry.edge.problems import FORBIDDEN, Problem
from registry.edge.requests import registry_of


async def key_of(request: Request, scope: Scope) -> ApiKey:
    """Return the key that the request was made with, which has the scope. Raise Problem."""
    token = bearer(request, KEY)
    try:
        return await registry_of(request).access.check_key(token, scope)
    except UnknownKey:
        raise unauthorized() from None
    except MissingScope:
        raise Problem(FORBIDDEN, "This key may do other things; a key gets its scopes when it is made.") from None
