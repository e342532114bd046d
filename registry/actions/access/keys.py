"""Makes, lists, revokes and checks the API keys of this registry's operators. They are made on its own machine only."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from registry.core.access.audit import OPERATOR, AuditEntry
from registry.core.access.keys import KEY, MOST_NAME_CHARS, SCOPES, ApiKey, Scope
from registry.core.access.tokens import Token
from registry.store.unit_of_work import Store

MOST_DAYS: Final = 3_650


class BadKey(ValueError):
    """The name, the scopes or the time of a new key; the message says what is wrong."""


class UnknownKey(Exception):
    """There is no such key, or its secret is another, or it was revoked, or it has expired. Which is not told."""


class MissingScope(Exception):
    """The key is valid, and may not do this."""


async def make(
    store: Store, name: str, scopes: Collection[str], *, key: str, secret: str, days: int | None, now: datetime
) -> tuple[ApiKey, Token]:
    """Store a new key and return it with its token, of which nothing but the digest is stored.

    `key`, `secret`: random, as the parts of a token. `days` until it expires; None: never. Raise BadKey.
    """
    if not name.strip() or len(name) > MOST_NAME_CHARS or not name.isprintable():
        raise BadKey(f"a name has 1 to {MOST_NAME_CHARS} printable characters")
    if not scopes or not set(scopes) <= set(SCOPES):
        raise BadKey(f"scopes are one or more of {', '.join(SCOPES)}")
    if days is not None and not 0 < days <= MOST_DAYS:
        raise BadKey(f"a key expires after 1 to {MOST_DAYS} days")
    token = Token(KEY, key, secret)
    expires_at = None if days is None else now + timedelta(days=days)
    made = ApiKey(key, name.strip(), tuple(sorted(set(scopes))), token.digest, now, expires_at)
    async with store.begin() as uow:
        await uow.api_keys.add(made)
        await uow.audit.add(AuditEntry(OPERATOR, "key.made", detail=_facts(made)), now=now)
    return made, token


async def keys(store: Store) -> Sequence[ApiKey]:
    """Return all keys, revoked ones too, the oldest first."""
    async with store.begin() as uow:
        return await uow.api_keys.all()


async def revoke(store: Store, key: str, *, now: datetime) -> ApiKey | None:
    """Revoke the key with this id at once; None when it is unknown or revoked already."""
    async with store.begin() as uow:
        revoked = await uow.api_keys.revoke(key, now=now)
        if revoked is not None:
            await uow.audit.add(AuditEntry(OPERATOR, "key.revoked", detail=_facts(revoked)), now=now)
        return revoked


async def check(store: Store, token: Token, scope: Scope, *, now: datetime) -> ApiKey:
    """Return the key of the token, which may do what `scope` names. Raise UnknownKey and MissingScope."""
    async with store.begin() as uow:
        key = await uow.api_keys.get(token.id)
        if not (key or _NO_KEY).admits(token, now) or key is None:  # guard: key-valid
            raise UnknownKey
        if not key.may(scope):
            raise MissingScope
        await uow.api_keys.used(key.id, today=now.date())
        return key


def _facts(key: ApiKey) -> dict[str, object]:
    return {"key": key.id, "name": key.name, "scopes": list(key.scopes)}


# What an unknown id is compared with, so that it takes as long as a wrong secret.
_NO_KEY: Final = ApiKey("", "", (), bytes(32), datetime.min)
