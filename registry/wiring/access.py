"""The decisions of this registry's operators: API keys, holds, the audit log, what waits."""

import asyncio
import secrets
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from registry.actions import access
from registry.actions.maintenance import forget as holding
from registry.actions.maintenance import opt_out as replaying
from registry.actions.queries import statistics as working
from registry.core.access.holds import BY_OPERATOR, Hold, HoldKind
from registry.core.access.tokens import ID_BYTES, SECRET_BYTES, ApiKey, Scope, Token
from registry.store.opt_out_file import OptOutFile
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now

if TYPE_CHECKING:
    from registry.wiring.searching import SearchActions


class AccessActions:
    def __init__(self, store: Store, search: "Callable[[], SearchActions]") -> None:
        self._store = store
        self._search = search

    async def make_key(self, name: str, scopes: Collection[str], *, days: int | None) -> tuple[ApiKey, Token]:
        """Return a new key with its token, which cannot be shown again. Raise BadKey."""
        return await access.make(
            self._store, name, scopes, key=secrets.token_hex(ID_BYTES), secret=secrets.token_urlsafe(SECRET_BYTES),
            days=days, now=utc_now(),
        )  # fmt: skip

    async def keys(self) -> Sequence[ApiKey]:
        return await access.keys(self._store)

    async def revoke_key(self, key: str) -> ApiKey | None:
        return await access.revoke(self._store, key, now=utc_now())

    async def check_key(self, token: Token, scope: Scope) -> ApiKey:
        """Return the key of a token that has the scope. Raise UnknownKey and MissingScope."""
        return await access.check(self._store, token, scope, now=utc_now())

    async def hold(self, name: str, kind: HoldKind, *, actor: str, reason: str) -> holding.HoldResult:
        """Set a hold. Raise InvalidName."""
        return await holding.hold(self._store, name, kind, actor=actor, reason=reason, now=utc_now())

    async def release(self, name: str, kind: HoldKind, *, actor: str, reason: str) -> holding.HoldResult:
        """End a hold. Raise InvalidName."""
        return await holding.release(self._store, name, kind, actor=actor, reason=reason, now=utc_now())

    async def holds(self, after: tuple[str, str, str], *, limit: int) -> Sequence[Hold]:
        """Return the holds of operators after this domain, host and kind, in this order."""
        return await holding.holds(self._store, after, BY_OPERATOR, limit=limit)

    async def audit(self, *, limit: int, cursor: str | None = None, host: str | None = None) -> access.AuditPage:
        """Return a page of the audit log. Raise BadCursor."""
        return await access.page(self._store, limit=limit, cursor=cursor, host=host)

    async def public_audit(self, *, limit: int, cursor: str | None = None) -> access.AuditPage:
        """Return a page of the public part of the audit log. Raise BadCursor."""
        return await access.public_page(self._store, limit=limit, cursor=cursor)

    async def decisions(self, host: str) -> Sequence[access.AuditRecord]:
        """Return the public decisions about a host."""
        return await access.decisions(self._store, host)

    async def workload(self) -> working.WorkloadFigures:
        """Return the waiting work. Includes the index lag, so the first call opens the search engine (slow)."""
        return await working.workload(self._store, self._search().backend.target, now=utc_now())

    async def opt_outs(self) -> tuple[Sequence[replaying.OptOutLine], int]:
        """Return the lines of this machine's file of opt-outs, and the number of unreadable ones."""
        file = self._store.opt_out_file
        return ([], 0) if file is None else await asyncio.to_thread(file.read)

    async def replay(self, path: Path) -> tuple[replaying.ReplayResult, int]:
        """Apply another machine's file of opt-outs, and write new lines to the local one; also return the number of
        unreadable lines. Raise OSError."""
        lines, unreadable = await asyncio.to_thread(OptOutFile(path).read_existing)
        return await replaying.replay(self._store, lines, now=utc_now()), unreadable
