"""The actions on claims and ownerships. Secrets of tokens are made here."""

import asyncio
import secrets
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final

from registry.actions.frontier.recheck import Recheck
from registry.actions.maintenance.forget import ForgetResult, HoldResult
from registry.actions.ownership import claiming, owning
from registry.core.access.claims import CLAIM, OWNER, Answer, Method, Scope
from registry.core.access.tokens import ID_BYTES, SECRET_BYTES, Token
from registry.core.changes.kinds import Types
from registry.settings import Settings
from registry.store.unit_of_work import Store
from registry.store.webhooks import WebhookRecord
from registry.wiring.clock import utc_now

_POLL_SECONDS: Final = 0.25


class OwnershipActions:
    """`exempt`: names of the connect-to table, which may be special-use names."""

    def __init__(self, store: Store, settings: Settings, exempt: Collection[str]) -> None:
        self._store = store
        self._every = timedelta(hours=settings.claim_recheck_hours)
        self._exempt = exempt

    async def claim(self, name: str, method: Method, scope: Scope, *, client: str) -> tuple[claiming.ClaimView, Token]:
        """Return the claim and its token, which is not stored."""
        token = Token(CLAIM, secrets.token_hex(ID_BYTES), _secret())
        claimed = await claiming.claim(
            self._store, name, method, scope, token=token, client=client, now=utc_now(), exempt=self._exempt
        )
        return claimed, token

    async def claim_status(self, token: Token) -> claiming.ClaimView:
        return await claiming.status(self._store, token, now=utc_now())

    async def check_claim(self, token: Token, *, seconds: float) -> tuple[claiming.ClaimView, Token | None]:
        """Request a check of the claim and wait at most `seconds` for it. Return the claim, and the owner's token if it
        is proven and the token was not handed out before."""
        claimed = await claiming.ask(self._store, token, now=utc_now())
        deadline = asyncio.get_running_loop().time() + seconds
        while claimed.record.due_at is not None and claimed.state == "open":
            if asyncio.get_running_loop().time() >= deadline:
                break
            await asyncio.sleep(_POLL_SECONDS)
            claimed = await claiming.status(self._store, token, now=utc_now())
        if claimed.state != "proven" or claimed.record.owner_digest is not None:
            return claimed, None
        owner = Token(OWNER, token.id, _secret())
        is_new = await claiming.hand_out(self._store, token, owner, now=utc_now())
        return claimed, owner if is_new else None

    async def take(self, limit: int) -> Sequence[claiming.ClaimCheck]:
        """Return checks for the caller to make."""
        return await claiming.take(self._store, limit=limit, now=utc_now())

    async def settle(self, claim: str, answer: Answer) -> None:
        await claiming.settle(self._store, claim, answer, every=self._every, now=utc_now())

    async def overview(self, token: Token, host: str) -> owning.OwnershipOverview:
        return await owning.overview(self._store, token, host)

    async def hide(self, token: Token, host: str) -> HoldResult:
        return await owning.hide(self._store, token, host, now=utc_now())

    async def show(self, token: Token, host: str) -> HoldResult:
        return await owning.show(self._store, token, host, now=utc_now())

    async def set_note(self, token: Token, host: str, note: str) -> str:
        return await owning.set_note(self._store, token, host, note, now=utc_now())

    async def pin(self, token: Token, host: str, canonical: str | None, consent: Token | None) -> owning.Pinned:
        return await owning.pin(self._store, token, host, canonical, consent, now=utc_now())

    async def recheck(self, token: Token, host: str) -> Recheck:
        return await owning.recheck(self._store, token, host, now=utc_now())

    async def set_webhook(
        self, token: Token, host: str, url: str, types: Types, receiver_token: Token | None = None
    ) -> WebhookRecord:
        return await owning.set_webhook(
            self._store, token, host, url, types, receiver_token=receiver_token, now=utc_now(), exempt=self._exempt
        )

    async def remove_webhook(self, token: Token, host: str) -> bool:
        return await owning.remove_webhook(self._store, token, host, now=utc_now())

    async def rotate(self, token: Token, host: str) -> Token:
        """Return the new token of the owner; the old one is no longer valid."""
        new = Token(OWNER, token.id, _secret())
        await owning.rotate(self._store, token, host, new, now=utc_now())
        return new

    async def give_up(self, token: Token, host: str) -> None:
        await owning.give_up(self._store, token, host, now=utc_now())

    async def opt_out(self, token: Token, host: str) -> ForgetResult:
        return await owning.opt_out(self._store, token, host, now=utc_now())

    async def come_back(self, token: Token, host: str) -> None:
        await owning.come_back(self._store, token, host, now=utc_now())


def _secret() -> str:
    return secrets.token_urlsafe(SECRET_BYTES)
