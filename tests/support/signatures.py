"""Verifies Web Bot Auth with the package http-message-signatures, as a site that fetched the key directory would."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import http_message_signatures as rfc9421
from http_message_signatures.algorithms import ED25519

from registry.core.web_bot_auth import SigningKey

DAY = timedelta(days=1)


@dataclass
class _Message:
    url: str
    headers: dict[str, str]
    method: str = "GET"


@dataclass
class _Answer:
    request: _Message
    headers: dict[str, str]
    status_code: int = 200


class Verifier:
    """A verifier that knows only the public keys."""

    def __init__(self, *keys: SigningKey) -> None:
        self._keys = {key.id: key.private.public_key() for key in keys}

    def resolve_public_key(self, key_id: str) -> Any:
        return self._keys.get(key_id)

    def resolve_private_key(self, key_id: str) -> Any:
        raise AssertionError("a verifier has no private keys")

    def verify_request(self, url: str, headers: Mapping[str, str], max_age: timedelta | None = DAY) -> Any:
        """Return the one signature of a request. Raise InvalidSignature."""
        verifier = rfc9421.HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=self)
        (verified,) = verifier.verify(
            _Message(url, dict(headers)), expect_tag="web-bot-auth", max_age=max_age, require_components=("@authority",)
        )
        return verified

    def verify_directory(self, url: str, headers: Mapping[str, str], body: bytes) -> list[Any]:
        """Return the signatures of a directory served at `url`. Raise InvalidSignature."""
        verifier = rfc9421.HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=self)
        return verifier.verify(
            _Answer(_Message(url, {}), dict(headers)), max_age=None, body=body,
            expect_tag="http-message-signatures-directory", require_components=('"@authority";req',),
        )  # fmt: skip
