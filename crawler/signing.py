"""Signs the crawler's requests, so that sites and their firewalls can verify who asks (docs/politeness.md).

Signing takes a fifth of the CPU of a request, so a signature is sent again to the same host for some seconds. It names
the host, so it is worthless elsewhere; after a redirect or a refusal the next request gets a new one.
"""

import secrets
import time
from typing import Final, Self

import structlog

from crawler.guards import BadSetup
from registry.core.web_bot_auth import key_in_use, sign_request
from registry.settings import Settings
from registry.wiring.signing_keys import KeyRing, KeysUnusable, agent_of

NOT_SIGNED: Final[dict[str, str]] = {}  # never changed
_REFUSALS: Final = frozenset({401, 403, 429})
"""Statuses with which a site may ask for a signature that it has not seen (draft-ietf-webbotauth-httpsig-protocol,
"Requesting a Message Signature")."""

log = structlog.get_logger(__name__)


class RequestSigner:
    """Signs requests with the key that is in use. A changed key is taken up without a restart."""

    def __init__(self, settings: Settings, agent: str, keys: KeyRing) -> None:
        self._agent, self._keys, self._draft = agent, keys, settings.signature_draft
        self._seconds = settings.signature_seconds
        self.reuse_seconds = min(settings.signature_reuse, settings.signature_seconds // 2)

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Return the signer of the settings; None without an address for Signature-Agent. Raise guards.BadSetup if a
        key file cannot be used."""
        agent, keys = agent_of(settings), KeyRing(settings)
        try:
            keys.check()
        except KeysUnusable as error:
            raise BadSetup(str(error)) from None
        if agent is None:
            if keys.keys():
                log.warning("signing.off", says="WAYPOST_PUBLIC_URL or WAYPOST_SIGNATURE_AGENT must be https")
            return None
        return cls(settings, agent, keys)

    def fields(self, url: str) -> dict[str, str]:
        """Return the fields that sign a request for `url`; none without a key, or for a URL that is not signed."""
        now = int(time.time())
        key = key_in_use(self._keys.keys(), now, self._seconds)
        if key is None:
            return NOT_SIGNED
        # 64 bytes without padding in base64 and base64url alike: verifiers differ in which of the two they expect
        nonce = f"{secrets.token_hex(43)[:85]}A"
        return sign_request(
            key, url, self._agent, created=now, expires=now + self._seconds, nonce=nonce, draft=self._draft
        )


class SentSignatures:
    """The latest signature of one visit, for the host of nearly all its requests."""

    __slots__ = ("_fields", "_is_single", "_prefix", "_renew_at", "_signer")

    def __init__(self, signer: RequestSigner | None) -> None:
        self._signer = signer
        self._fields: dict[str, str] = NOT_SIGNED
        self._prefix, self._renew_at = "", 0.0
        self._is_single = False  # whether a refusal made each further request get its own

    def fields(self, url: str) -> dict[str, str]:
        """Return the fields for the next request: those of the last one to the same host, or new ones."""
        if self._signer is None:
            return NOT_SIGNED
        now = time.monotonic()
        if now >= self._renew_at or not url.startswith(self._prefix):  # guard: signature-host
            self._fields = self._signer.fields(url)
            self._prefix = "/".join(url.split("/", 3)[:3]) + "/"
            self._renew_at = 0.0 if self._is_single else now + self._signer.reuse_seconds
        return self._fields

    def forget(self) -> None:
        """Make the next request sign again."""
        self._renew_at = 0.0

    def see(self, status: int) -> None:
        """Sign every further request by itself after a refusal: the site may accept no signature twice."""
        if status in _REFUSALS:
            self._is_single, self._renew_at = True, 0.0
